"""The plugin's part of `mkdocs.yml`. MkDocs itself warns of keys that are not here."""

from __future__ import annotations

from mkdocs.config import config_options as c
from mkdocs.config.base import Config

from mkdocs_torchrecorder.extension import MACHINE_CACHE, ON_ERROR
from torchrecorder.request import AUTOMATIC_SETTINGS, SITE_SETTINGS, SiteSetting


def _option(setting: SiteSetting) -> c.ListOfItems[str] | c.Choice[str] | c.Type[object]:
    if isinstance(setting.default, list):
        return c.ListOfItems(c.Type(str), default=setting.default)
    if setting.choices:
        return c.Choice(setting.choices, default=str(setting.default))
    if setting.name == "autodoc":
        return c.Type((bool, dict), default=setting.default)
    return c.Type(type(setting.default), default=setting.default)


class TorchRecorderConfig(Config):  # type: ignore[no-untyped-call] # of MkDocs
    """The settings of every site, and three of our own. Paths are relative to the folder of `mkdocs.yml`."""

    vars().update({setting.name: _option(setting) for setting in (*SITE_SETTINGS, *AUTOMATIC_SETTINGS)})

    on_error = _option(ON_ERROR)

    machine_cache = _option(MACHINE_CACHE)

    enabled = c.Type(bool, default=True)
    """Whether fences become diagrams; if not, they are shown as code."""
