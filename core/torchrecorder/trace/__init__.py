"""What a recording depended on: noted while it runs, kept as a manifest, checked later. Needs no torch."""
