"""The site of one build: what `conf.py` says of it, what its pages ask for, and what it says in Sphinx's log.

Failures are Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`. They come
at every build until the cause is gone: a build that fails once under `-W` and passes the next time has hidden it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.util import logging
from sphinx.util.display import status_iterator

from torchrecorder.site import SETTINGS, Body, Message, Site

TYPE = "torchrecorder"
_PREFIX = "torchrecorder_"
_OTHERS = {"sphinx.ext.linkcode", "sphinx.ext.viewcode"}  # extensions that show code
_LINES = re.compile(r"#L\d+(-L?\d+)?$")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Place of the pages that a diagram may stand in: a directive, or the description of a class."""

    docname: str
    location: str
    """`file:line`, as warnings show it."""
    target: str
    body: Body | None
    """What a directive says; None for a class, of which the settings and its docstring say it."""
    is_table: bool = False
    """Whether it shows the table of the layers and no picture."""
    own: str | None = None
    """Of a class, the field in its docstring; None if it has none."""
    obstacle: str = ""
    """Why the class is not even tried unasked; empty if it may be."""
    defined: str = ""
    """Name of the class where it is defined."""

    @property
    def is_automatic(self) -> bool:
        return self.body is None


def add_settings(app: Sphinx) -> None:
    """Let `conf.py` have our settings. Not "env": they change drawings, and `build` finds the pages of those."""
    for setting in SETTINGS:
        if setting.in_sphinx:
            types = {list: (list, tuple), bool: (bool, dict)}.get(type(setting.default), (type(setting.default),))
            app.add_config_value(_PREFIX + setting.name, setting.default, "", types, setting.help)


class SphinxSite(Site[Asked]):
    app: Sphinx
    setting, where = f"{_PREFIX}{{}}", f"`{_PREFIX}{{}}` in conf.py"

    def tell(self, message: Message) -> None:
        if message.kind:
            _logger.warning("%s", message.text, location=message.place or None, type=TYPE, subtype=message.kind)
        elif message.text:
            _logger.info("torchrecorder: %s", message.text)
        if message.details:
            _logger.verbose("%s", message.details, location=message.place or None)

    def locate(self, place: Asked) -> str:
        return place.location

    @property
    def shows_code(self) -> bool:
        return super().shows_code or not _OTHERS.isdisjoint(self.app.extensions)

    def address_of_line(self, place: Asked, module: str, file: Path, line: int) -> str:
        """By the pattern of the settings, else by `linkcode`, else of the definition around it in `viewcode`."""
        if self.settings.code:
            return super().address_of_line(place, module, file, line)
        from torchrecorder.site import names_at

        names, builder = names_at(file, line), self.app.builder
        resolve: Any = getattr(self.app.config, "linkcode_resolve", None)
        for name in names if callable(resolve) else ():
            with suppress(Exception):  # it is asked for what is not documented, too
                if address := resolve("py", {"module": module, "fullname": name}):
                    return _LINES.sub(f"#L{line}", str(address))
        shown: Any = getattr(self.app.env, "_viewcode_modules", {}).get(module)
        for name in names if builder.name in ("html", "dirhtml") else ():  # of others it writes no pages
            if shown and name in shown[2]:
                page = f"_modules/{module.replace('.', '/')}"
                return f"{builder.get_relative_uri(place.docname, page)}#{name}"
        return ""


def make_site(app: Sphinx) -> SphinxSite:
    """The site of this build; warns of settings that are wrong or that there are not, and leaves them out.

    What this machine records lies in the folder of Sphinx's own doctrees, for the same reasons: a build may write
    there, builders that share doctrees share recordings, and nothing of it is published as a page. `make clean` removes
    it too, because that is what people do who no longer trust a cache.
    """
    # Sphinx says nothing of values that no extension has declared, as misspelt ones are.
    all_names = [name for name in getattr(app.config, "_raw_config", {}) if str(name).startswith(_PREFIX)]
    written: dict[str, object] = {name.removeprefix(_PREFIX): None for name in all_names}
    written |= {setting.name: app.config[_PREFIX + setting.name] for setting in SETTINGS if setting.in_sphinx}
    written["machine_cache"] = str(Path(app.doctreedir, "torchrecorder"))
    # `-E` leaves the old environment where it is until all is read. Where there is none, an exception of another
    # extension ended the last build, and what failed then is as it was.
    retries = bool(app.fresh_env_used) and Path(app.doctreedir, ENV_PICKLE_FILENAME).exists()
    site = SphinxSite(Path(app.confdir), written, retries=retries, is_alone=app.parallel == 1)
    site.app = app
    if site.settings.committed is not None:
        folder = site.settings.committed.resolve()
        for name in ("html_extra_path", "html_static_path"):
            places = [Path(app.confdir, str(entry)).resolve() for entry in app.config[name]]
            if any(folder.is_relative_to(place) or place.is_relative_to(folder) for place in places):
                shown = written["cache"]
                text = f"torchrecorder_cache: {shown} lies in a folder of {name}, so it would be published; move it"
                site.warn(text, "cache")
    return site


@contextmanager
def progress_line(verbosity: int) -> Iterator[Callable[[str, str, int, int], None]]:
    """A function that shows the pipeline's progress as Sphinx shows its own.

    Sphinx shows progress while it iterates over something. We are called instead, so each call moves an iterator one
    step, over whatever is being worked on at that moment.
    """
    now, shown = "", ""
    line: Iterator[str] = iter(())

    def steps() -> Iterator[str]:
        while now:
            yield shown

    def end() -> None:
        nonlocal now
        now = ""
        for _ in line:
            pass

    def show(stage: str, target: str, done: int, total: int) -> None:
        nonlocal now, shown, line
        if now != stage:
            end()
            is_recording = stage == "recording"  # all pictures are laid out in one step
            title = "recording models... " if is_recording else "drawing diagrams... "
            line = status_iterator(steps(), title, "purple", total if is_recording else 1, verbosity)
        now, shown = stage, target or f"{total} of them"
        next(line)

    try:
        yield show
    finally:
        end()
