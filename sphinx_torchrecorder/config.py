"""The values for `conf.py`.

None of them makes Sphinx read or write a page again by itself (`rebuild=""`): they change drawings, and the pages whose
drawings have changed are found by `batch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from torchrecorder.errors import OptionError
from torchrecorder.request import Settings, site_options

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Declare the values."""
    add = app.add_config_value
    add("torchrecorder_path", [], "", (list, tuple), "Folders to import models from, relative to conf.py.")
    add("torchrecorder_cache", "", "", (str,), "Folder of recordings to commit with the project, relative to conf.py.")
    add("torchrecorder_on_stale", "warn", "", (str,), "warn, error or placeholder: what cannot be recorded again here.")
    add("torchrecorder_python", "", "", (str,), "The Python that records models; that of the build, if empty.")
    add("torchrecorder_memory", "", "", (str,), "Address space a recording may take, as in 32G; 0 for no limit.")
    add("torchrecorder_remote", "", "", (str,), "A cache that a team shares: a URL for fsspec, or a folder.")
    add("torchrecorder_engine", "auto", "", (str,), "auto, pure, dot, or the path of a Graphviz program.")
    add("torchrecorder_options", {}, "", (dict,), "Options for every diagram that does not set them itself.")


def settings_of(app: Sphinx) -> Settings:
    """The settings of this build; warns about values for the site that are wrong, and leaves them out.

    What this machine records lies in the folder of Sphinx's own doctrees, for the same reasons: a build may write
    there, builders that share doctrees share recordings, and nothing of it is published as a page. `make clean` removes
    it too, because that is what people do who no longer trust a cache.
    """
    _warn_of_place(app)
    folders = app.config.torchrecorder_path
    settings = partial(
        Settings.for_project,
        Path(app.confdir),
        cache=str(Path(app.doctreedir, "torchrecorder")),
        committed=str(app.config.torchrecorder_cache),
        path=[str(folder) for folder in folders] if isinstance(folders, list | tuple) else [],
        engine=app.config.torchrecorder_engine,
        remote=str(app.config.torchrecorder_remote or ""),
        options=_site_options(app.config.torchrecorder_options),
        python=str(app.config.torchrecorder_python),
    )
    try:
        return settings(on_stale=app.config.torchrecorder_on_stale, memory=str(app.config.torchrecorder_memory))
    except OptionError as error:
        for problem in error.problems:
            logger.warning("torchrecorder_%s", problem, type="torchrecorder", subtype="option")
        return settings()


def _warn_of_place(app: Sphinx) -> None:
    """Tell of a cache that Sphinx would publish."""
    if not (cache := app.config.torchrecorder_cache):
        return
    folder = Path(app.confdir, str(cache)).resolve()
    for name in ("html_extra_path", "html_static_path"):
        places = [Path(app.confdir, str(entry)).resolve() for entry in app.config[name]]
        if any(folder.is_relative_to(place) or place.is_relative_to(folder) for place in places):
            text = "torchrecorder_cache: %s lies in a folder of %s, so it would be published; move it"
            logger.warning(text, cache, name, type="torchrecorder", subtype="cache")


def _site_options(written: object) -> dict[str, str]:
    if not isinstance(written, Mapping):
        return {}  # Sphinx has said already that it should be a dict
    good, wrong = site_options(written)
    for problem in wrong:
        logger.warning("torchrecorder_options: %s", problem, type="torchrecorder", subtype="option")
    return good
