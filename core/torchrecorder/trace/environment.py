"""Which environment variables the user's code asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from torchrecorder.trace.ownership import is_users

_PASSING = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
"""Where `os.environ.get`, `os.getenv` and `in` are written, between the question and the one who asks."""


class Environment:
    """Watches `os.environ` from `start` to `stop`.

    Only what the user's code asks for itself counts: libraries ask for dozens of names that change nothing.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.copied = False
        """Whether all of it was read at once, so that nobody knows what was meant."""
        self._class: Any = type(os.environ)
        self._originals: dict[str, Callable[..., Any]] = {}

    def start(self) -> None:
        """Watch from now on."""
        for name, watched in (("__getitem__", self._on_read), ("__iter__", self._on_copy)):
            self._originals[name] = getattr(self._class, name)
            setattr(self._class, name, watched(self._originals[name]))

    def stop(self) -> None:
        """Leave `os.environ` as it was."""
        for name, original in self._originals.items():
            setattr(self._class, name, original)

    def _on_read(self, original: Callable[..., str]) -> Callable[..., str]:
        def watched(environ: Any, name: Any) -> str:
            if environ is os.environ and isinstance(name, str) and _asked_by_user(sys._getframe(1)):
                self.names.add(name)
            return original(environ, name)

        return watched

    def _on_copy(self, original: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        def watched(environ: Any) -> Iterator[str]:
            if environ is os.environ and _asked_by_user(sys._getframe(1)):
                self.copied = True
            return original(environ)

        return watched


def _asked_by_user(frame: FrameType | None) -> bool:
    while frame is not None and (frame.f_code.co_filename.endswith(_PASSING) or frame.f_code.co_name == "expandvars"):
        frame = frame.f_back
    return frame is not None and is_users(frame.f_code.co_filename)
