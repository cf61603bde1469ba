"""The plugin's part of `mkdocs.yml`. MkDocs itself warns of keys that are not here."""

from __future__ import annotations

from mkdocs.config import config_options as c
from mkdocs.config.base import Config


class TorchRecorderConfig(Config):  # type: ignore[no-untyped-call] # of MkDocs
    """Paths are relative to the folder of `mkdocs.yml`."""

    enabled = c.Type(bool, default=True)
    """Whether fences become diagrams; if not, they are shown as code."""

    path = c.ListOfItems(c.Type(str), default=[])
    """Folders to import models from, before those of the Python that records."""

    cache = c.Type(str, default="")
    """Folder of recordings to commit with the project, outside of its pages; builds only read it."""

    on_stale = c.Choice(("warn", "error", "placeholder"), default="warn")
    """What is done with a diagram that is out of date where it cannot be recorded again."""

    python = c.Type(str, default="")
    """The Python that records models; that of the build, if not given."""

    memory = c.Type(str, default="")
    """Address space that a recording may take, as in `32G`; `0` for no limit."""

    remote = c.Type(str, default="")
    """A cache that a team shares: a URL that fsspec understands, or a folder."""

    engine = c.Type(str, default="auto")
    """`auto`, `pure`, `dot`, or the path of a Graphviz program."""

    options = c.Type(dict, default={})
    """Options for every diagram that does not set them itself, by name."""

    on_error = c.Choice(("warn", "raise"), default="warn")
    """`warn` and show a box in the page, or `raise` and end the build."""
