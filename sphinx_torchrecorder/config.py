"""The values of `conf.py`: how Sphinx knows them, and the site that they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.application import Sphinx

from sphinx_torchrecorder.report import tell
from torchrecorder.site import SETTINGS, Site, Tool

if TYPE_CHECKING:
    from sphinx_torchrecorder.build import Asked

_PREFIX = "torchrecorder_"


def add_settings(app: Sphinx) -> None:
    """Let `conf.py` have our settings. Not "env": they change drawings, and `build` finds the pages of those."""
    for setting in SETTINGS:
        if setting.in_sphinx:
            types = {list: (list, tuple), bool: (bool, dict)}.get(type(setting.default), (type(setting.default),))
            app.add_config_value(_PREFIX + setting.name, setting.default, "", types, setting.help)


def make_site(app: Sphinx) -> Site[Asked]:
    """The site of this build; warns of settings that are wrong or that there are not, and leaves them out.

    What this machine records lies in the folder of Sphinx's own doctrees, for the same reasons: a build may write
    there, builders that share doctrees share recordings, and nothing of it is published as a page. `make clean` removes
    it too, because that is what people do who no longer trust a cache.
    """
    names = [setting.name for setting in SETTINGS if setting.in_sphinx]
    # Sphinx says nothing of values that no extension has declared, as misspelt ones are.
    all_names = [name for name in getattr(app.config, "_raw_config", {}) if str(name).startswith(_PREFIX)]
    unknown = {name.removeprefix(_PREFIX): None for name in all_names} if all_names else {}
    written = {**unknown, **{name: app.config[_PREFIX + name] for name in names}}
    written["machine_cache"] = str(Path(app.doctreedir, "torchrecorder"))
    tool: Tool[Asked] = Tool(tell, lambda asked: asked.location, f"{_PREFIX}{{}}", f"`{_PREFIX}{{}}` in conf.py")
    retries = bool(app.fresh_env_used)  # that is `-E`
    site = Site(Path(app.confdir), written, tool, retries=retries, is_alone=app.parallel == 1)
    if site.settings.committed is not None:
        folder = site.settings.committed.resolve()
        for name in ("html_extra_path", "html_static_path"):
            places = [Path(app.confdir, str(entry)).resolve() for entry in app.config[name]]
            if any(folder.is_relative_to(place) or place.is_relative_to(folder) for place in places):
                shown = written["cache"]
                text = f"torchrecorder_cache: {shown} lies in a folder of {name}, so it would be published; move it"
                site.warn(text, "cache")
    return site
