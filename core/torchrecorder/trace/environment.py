"""Which environment variables a recording asked for, and who asked."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Literal

from torchrecorder.trace.digests import salted_digest, text_digest
from torchrecorder.trace.ownership import caller, is_asked_for_user, is_stdlib, is_user_code

Asker = Literal["user", "package", "python"]
"""Who asks for a variable: the user's code itself, or what it calls: an installed package, or Python's library."""

ALL = "*"
"""In place of a variable's name: all of them, but those of a session."""
SWITCHES = "PYTHON*"
"""In place of a variable's name: those that Python itself reads, on which `sys.flags`, the filters of warnings, and the
encoding of files depend. They count whether they are asked for or not, in a committed cache only the next one."""
OF_THE_LANGUAGE = "PYTHONOPTIMIZE"
"""Leaves out `assert` and `__debug__`, so that the same sources are another program."""
FIXED_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What the worker runs with: one thread and no GPU keep recordings small, a fixed hash seed makes them equal."""
OURS = {*FIXED_ENVIRONMENT, "PYTHONPATH"}

_OF_A_MACHINE = (
    "HOME|USER|USERNAME|USERPROFILE|LOGNAME|LNAME|PATH|PWD|SHELL|HOSTNAME|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_.*"
)
_OF_A_MACHINE_TO_PACKAGES = f"{_OF_A_MACHINE}|CI|GITHUB_.*|XDG_.*|.*_HOME|.*_CACHE|.*_CACHE_DIR"
_OF_A_SESSION = (
    "_|OLDPWD|PWD|SHLVL|TERM.*|COLORTERM|COLUMNS|LINES|LS_COLORS|WINDOWID|DISPLAY|WAYLAND_.*|XDG_.*|DBUS_.*|SSH_.*"
    "|GPG_.*|INVOCATION_ID|JOURNAL_STREAM|TMUX.*|STY|VSCODE_.*|GIT_.*|PYTEST_.*|COV_.*|TORCHRECORDER_.*|READTHEDOCS.*"
    "|GITHUB_.*|RUNNER_.*|CI_.*|CI|VIRTUAL_ENV.*|CONDA_.*|PYENV_.*|NOX_.*|TOX_.*|PYTHON.*|PS1"
)
"""Variables that differ from terminal to terminal; no model is built by them."""


def is_of_a_machine(name: str, asker: Asker) -> bool:
    """Whether a variable says where it runs and not what a model is, so that it counts on one machine only."""
    if asker == "python" or name in (ALL, SWITCHES):
        return True
    names = _OF_A_MACHINE if asker == "user" else _OF_A_MACHINE_TO_PACKAGES
    return re.fullmatch(names, name) is not None


def value_digest(name: str, salt: Callable[[], str]) -> str | None:
    """The digest of a variable as it is now; None if it is not set."""
    value = _value(name)
    if value is None or name == SWITCHES:  # without a salt, which a committed cache would have to hold for it
        return value and text_digest(value)
    return salted_digest(value, salt())


def what_happened(name: str, then: str | None) -> str:
    """The change of a variable since it had that digest; empty if it is as it was."""
    value = _value(name)
    if value is None or then is None:
        return "" if value is then else "appeared" if then is None else "is gone"
    salt, has_salt, _ = then.partition("$")  # an earlier version took none
    return "" if (salted_digest(value, salt) if has_salt else text_digest(value)) == then else "changed"


def _value(name: str) -> str | None:
    if name == ALL:
        return repr(sorted(item for item in os.environ.items() if not re.fullmatch(_OF_A_SESSION, item[0])))
    if name == SWITCHES:
        names = (it for it in os.environ if it.startswith("PYTHON") and it not in OURS)
        return repr(found) if (found := sorted((it, os.environ[it]) for it in names if os.environ[it])) else None
    return os.environ.get(name) or None if name == OF_THE_LANGUAGE else os.environ.get(name)


class Environment:
    """Watches `os.environ` from `start` to `stop`.

    What the user's code asks for counts, itself or through a package that it calls; packages that are being imported
    ask for dozens of variables that change nothing.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Asker] = {}
        self.is_copied = False
        """Whether all of it was read at once, so that the variables that count are not known."""
        self._listed: list[str] = []
        """The names of the last such reading whose values have not been asked for yet: they will be, in order."""
        self._class = type(os.environ)
        self._originals: dict[str, Callable[..., object]] = {}

    def start(self) -> None:
        get: Callable[..., Any] = self._class.__getitem__
        iterate: Callable[..., Iterator[Any]] = self._class.__iter__

        def watched_get(environ: object, name: object) -> Any:
            self._note(name)
            return get(environ, name)

        def watched_iterate(environ: object) -> Iterator[Any]:
            who = _asker(sys._getframe(1))
            if who not in ("user", "package"):
                yield from iterate(environ)
                return
            self.is_copied = self.is_copied or who == "user"
            self.asked.setdefault(ALL, "package")
            self._listed.clear()
            for name in iterate(environ):
                self._listed.append(os.fsdecode(name))
                yield name

        self._originals = {"__getitem__": get, "__iter__": iterate}
        for name, watched in (("__getitem__", watched_get), ("__iter__", watched_iterate)):
            setattr(self._class, name, watched)

    def stop(self) -> None:
        for name, original in self._originals.items():
            setattr(self._class, name, original)

    def _note(self, name: object) -> None:
        if not isinstance(name, str | bytes):
            return
        text = os.fsdecode(name)
        if self._listed and self._listed[0] == text:
            del self._listed[0]
        elif (who := _asker(sys._getframe(2))) is not None and self.asked.get(text) != "user":
            self.asked[text] = who


_BETWEEN = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
"""Where `os.environ.get`, `os.getenv` and `in` are written, between a question and the code that asks it."""

_FOR_PROXIES = "getproxies_environment"
"""Reads the whole environment for each connection, also what Sphinx sets only while it reads pages."""


def _asker(frame: FrameType | None) -> Asker | None:
    """The one who asks, if it is on behalf of the user's code, and not for the way to the network."""
    while frame is not None and (frame.f_code.co_filename.endswith(_BETWEEN) or frame.f_code.co_name == "expandvars"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name == _FOR_PROXIES or not is_asked_for_user(frame):
        return None
    file = frame.f_code.co_filename
    if is_user_code(file) or caller(frame) is None:
        return "user"
    return "python" if is_stdlib(file) else "package"
