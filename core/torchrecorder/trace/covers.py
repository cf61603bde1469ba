"""Functions of Python's library that are covered while a recording runs, since no hook reports their calls."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


class Covers:
    """Covers functions from `put` to `remove`; who has bound a cover by then calls what it covered."""

    def __init__(self) -> None:
        self._is_on = True
        self._originals: list[tuple[ModuleType, str, object]] = []

    def put(self, module: ModuleType, name: str, note: Callable[..., object], *, is_after: bool = False) -> None:
        """Have `note` called before a function of a module is, with the frame that calls it and the arguments.

        If it `is_after`, the answer comes between them; None if the function raised.
        """
        original: Callable[..., Any] = getattr(module, name)

        @functools.wraps(original)
        def cover(*args: Any, **kwargs: Any) -> Any:
            if not is_after:
                self._tell(note, sys._getframe(1), *args, **kwargs)
                return original(*args, **kwargs)
            answer = None
            try:
                answer = original(*args, **kwargs)
                return answer
            finally:
                self._tell(note, sys._getframe(1), answer, *args, **kwargs)

        self._originals.append((module, name, original))
        setattr(module, name, cover)

    def _tell(self, note: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        if self._is_on:
            with contextlib.suppress(Exception):  # an exception of ours would be raised in the user's code
                note(*args, **kwargs)

    def remove(self) -> None:
        self._is_on = False
        while self._originals:
            setattr(*self._originals.pop())


def caller_name(frame: FrameType, asker: FrameType | None) -> str:
    """The name of the outermost function between a covered one and the code that asks; empty if that calls it.

    Where a thread of Python's own asks, which was given a function to call, it is the innermost.
    """
    if asker is None:
        return frame.f_code.co_name
    name = ""
    current: FrameType | None = frame
    while current is not None and current is not asker:
        name, current = current.f_code.co_name, current.f_back
    return name
