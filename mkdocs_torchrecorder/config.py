"""The plugin's part of `mkdocs.yml`. MkDocs itself warns of keys that are not here."""

from __future__ import annotations

from mkdocs.config import config_options as c
from mkdocs.config.base import Config

from mkdocs_torchrecorder.extension import MACHINE_CACHE, ON_ERROR
from torchrecorder.request import AUTOMATIC_SETTINGS, SITE_SETTINGS, SiteSetting


def _option(setting: SiteSetting) -> c.Type[object]:
    """An option of MkDocs that takes any value: what is wrong with it is a warning, as in Sphinx, and no end."""
    return c.Type(object, default=setting.default)


class TorchRecorderConfig(Config):  # type: ignore[no-untyped-call] # of MkDocs
    """The settings of every site, and three of our own. Paths are relative to the folder of `mkdocs.yml`."""

    vars().update({setting.name: _option(setting) for setting in (*SITE_SETTINGS, *AUTOMATIC_SETTINGS)})

    on_error = _option(ON_ERROR)

    machine_cache = _option(MACHINE_CACHE)

    enabled = c.Type(bool, default=True)
    """Whether fences become diagrams; if not, they are shown as code."""
