"""Which tensors are younger than a recording, so that none of them is taken for a constant in silence.

The garbage collector keeps new objects apart until its next look at them, in the order in which they came. So whenever
it is about to look, the tensors are remembered that came after the recording began. Nothing is asked of older objects,
of which a process has millions.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor


class Births:
    """The tensors that came into being while it is switched on, in any thread."""

    def __init__(self) -> None:
        self._remembered: dict[int, weakref.ref[Tensor]] = {}
        self._first: list[object] | None = None
        """The first of the new objects."""

    @contextmanager
    def noticed(self) -> Iterator[None]:
        self._first = []
        gc.callbacks.append(self._on_look)
        try:
            yield
        finally:
            self._first = None
            gc.callbacks.remove(self._on_look)

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor is new; it takes as long as looking at all new objects."""
        known = self._remembered.get(id(tensor))
        if known is not None and known() is tensor:
            return True
        return self._first is not None and any(item is tensor for item in self._new())

    def _new(self) -> list[Any]:
        """Objects since the beginning, or since the collector looked."""
        young = gc.get_objects(generation=0)
        at = next((place for place, item in enumerate(young) if item is self._first), -1)
        return young[at + 1 :]

    def _on_look(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            for item in self._new():
                if issubclass(type(item), Tensor):  # by its type: an object may lie about its class
                    self._remembered[id(item)] = weakref.ref(item)
