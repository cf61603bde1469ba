"""The arguments of a recorded forward: copies of what the user gave, so that the forward cannot change it.

Tensors are copied wherever they hide: in containers, in caches and in other objects. What is drawn from an iterator is
kept, and is an input as any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

import torch
from torch import Tensor

from torchrecorder.recording.skeleton import Skeleton
from torchrecorder.recording.substitutes import Substitute

Announce = Callable[[int, Any], None]
"""Is told the position and the stand-in of what is about to be drawn."""

ITERATORS: tuple[type[Any], ...] = (
    GeneratorType,
    *(map, filter, zip, enumerate, reversed, itertools.chain, itertools.cycle, itertools.islice, itertools.repeat),
    *map(type, (iter([]), iter(()), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""))),
)
"""Iterators that hold no more than what is drawn from them, unlike files and what users write themselves."""


class Stream:
    """Stands in for an iterator among the arguments. What it draws from the user's is gone there, as in any call."""

    def __init__(self, source: Iterator[Any], copy: Callable[[Any], Any]) -> None:
        self._source = source
        self._copy = copy
        self._count = itertools.count()
        self.draw: Callable[[Callable[[], Any]], Any] = lambda take: take()
        """Runs what takes the next item; a recording puts one here that is not recorded."""
        self.announce: Announce = lambda position, item: None

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        item = self.draw(lambda: self._copy(next(self._source)))
        self.announce(next(self._count), item)
        return item


class Given(Skeleton):
    """Copies arguments. A tensor that was given twice becomes two on one memory, since it is two inputs."""

    def __init__(self, model: Skeleton, substitute: Substitute) -> None:
        super().__init__(substitute)
        self._model = model
        self.unseen: dict[str, None] = {}
        """Classes of objects that were not looked into."""

    def keep(self, obj: Any, new: Any) -> None:
        """Not for tensors."""
        if not isinstance(new, Tensor):
            super().keep(obj, new)

    def _copy(self, kind: type, obj: Any) -> Any:
        if hasattr(kind, "__array_interface__"):  # an array of numpy's: torch can be given it, without a word
            self.unseen[kind.__name__] = None
        return super()._copy(kind, obj)

    def _module(self, module: Any) -> Any:
        return self._model.of(module)

    def _shared(self, obj: Any) -> Any:
        if isinstance(obj, ITERATORS):
            return Stream(obj, self._drawn)
        self.unseen[type(obj).__name__] = None
        return obj

    def _drawn(self, item: Any) -> Any:
        with torch.inference_mode(False):
            return self.of(item)
