"""Which tensors are younger than a recording, so that none of them is taken for a constant in silence.

The garbage collector keeps new objects apart until its next look at them. So it looks at the beginning, and whenever
it is about to look again, the tensors among the new objects are remembered. Nothing is asked of older objects, of which
a process has millions.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor


class Births:
    """The tensors that came into being while it is switched on, in any thread."""

    def __init__(self) -> None:
        self._remembered: dict[int, weakref.ref[Tensor]] = {}
        self._is_on = False

    @contextmanager
    def noticed(self) -> Iterator[None]:
        gc.collect(0)
        gc.callbacks.append(self._on_look)
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False
            gc.callbacks.remove(self._on_look)

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor is new; it takes as long as looking at all new objects."""
        known = self._remembered.get(id(tensor))
        if known is not None and known() is tensor:
            return True
        return self._is_on and any(item is tensor for item in gc.get_objects(generation=0))

    def _on_look(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            for item in gc.get_objects(generation=0):
                if issubclass(type(item), Tensor):  # by its type: an object may lie about its class
                    self._remembered[id(item)] = weakref.ref(item)
