"""Where recordings and drawings are kept: on this machine, in the project, behind a URL. Needs no torch."""
