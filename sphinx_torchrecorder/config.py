"""The values for `conf.py`: the settings of every site, named `torchrecorder_…`.

None of them makes Sphinx read or write a page again by itself (`rebuild=""`): they change drawings, and the pages whose
drawings have changed are found by `batch`.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from torchrecorder.request import SITE_SETTINGS, Settings, site_settings

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    for setting in SITE_SETTINGS:
        types = (list, tuple) if isinstance(setting.default, list) else (type(setting.default),)
        app.add_config_value(f"torchrecorder_{setting.name}", setting.default, "", types, setting.help)


def settings_of(app: Sphinx) -> Settings:
    """The settings of this build; warns about values for the site that are wrong, and leaves them out.

    What this machine records lies in the folder of Sphinx's own doctrees, for the same reasons: a build may write
    there, builders that share doctrees share recordings, and nothing of it is published as a page. `make clean` removes
    it too, because that is what people do who no longer trust a cache.
    """
    _warn_of_place(app)
    written = {setting.name: app.config[f"torchrecorder_{setting.name}"] for setting in SITE_SETTINGS}
    cache = str(Path(app.doctreedir, "torchrecorder"))
    settings, wrong = site_settings(Path(app.confdir), written, cache=cache)
    for name, problems in wrong.items():
        for problem in problems:
            logger.warning("torchrecorder_%s: %s", name, problem, type="torchrecorder", subtype="option")
    return settings


def _warn_of_place(app: Sphinx) -> None:
    """Warn of a cache that Sphinx would publish."""
    if not (cache := app.config.torchrecorder_cache):
        return
    folder = Path(app.confdir, str(cache)).resolve()
    for name in ("html_extra_path", "html_static_path"):
        places = [Path(app.confdir, str(entry)).resolve() for entry in app.config[name]]
        if any(folder.is_relative_to(place) or place.is_relative_to(folder) for place in places):
            text = "torchrecorder_cache: %s lies in a folder of %s, so it would be published; move it"
            logger.warning(text, cache, name, type="torchrecorder", subtype="cache")
