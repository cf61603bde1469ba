"""The values for `conf.py`.

None of them makes Sphinx read or write a page again by itself (`rebuild=""`): they change drawings, and the pages whose
drawings have changed are found by `batch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from torchrecorder.diagram import Settings, site_options

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Declare the values."""
    add = app.add_config_value
    add("torchrecorder_path", [], "", (list, tuple), "Folders to import models from, relative to conf.py.")
    add("torchrecorder_cache", "", "", (str,), "Folder for recordings and drawings, relative to conf.py.")
    add(
        "torchrecorder_remote",
        "",
        "",
        (str,),
        "A cache that a team shares: a URL for fsspec, or a folder.",
    )
    add("torchrecorder_engine", "auto", "", (str,), "auto, pure, dot, or the path of a Graphviz program.")
    add("torchrecorder_options", {}, "", (dict,), "Options for every diagram that does not set them itself.")


def settings_of(app: Sphinx) -> Settings:
    """The settings of this build; warns about options for the site that are wrong, and leaves them out.

    Without `torchrecorder_cache`, recordings lie in the folder of Sphinx's own doctrees, for the same reasons: a build
    may write there, builders that share doctrees share recordings, and nothing of it is published as a page.
    `make clean` removes them too, because that is what people do who no longer trust a cache. A project that keeps
    recordings between clean builds, as a CI job may, names a folder of its own.
    """
    folders = app.config.torchrecorder_path
    return Settings.for_project(
        Path(app.confdir),
        cache=app.config.torchrecorder_cache or str(Path(app.doctreedir, "torchrecorder")),
        path=[str(folder) for folder in folders] if isinstance(folders, list | tuple) else [],
        engine=app.config.torchrecorder_engine,
        remote=str(app.config.torchrecorder_remote or ""),
        options=_site_options(app.config.torchrecorder_options),
    )


def _site_options(written: object) -> dict[str, str]:
    if not isinstance(written, Mapping):
        return {}  # Sphinx has said already that it should be a dict
    good, wrong = site_options(written)
    for problem in wrong:
        logger.warning("torchrecorder_options: %s", problem, type="torchrecorder", subtype="option")
    return good
