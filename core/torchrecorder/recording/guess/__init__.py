"""Guesses of the inputs of a model for which none are given; the recording with them proves one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from torch import nn

from torchrecorder.errors import ForwardError
from torchrecorder.recording.guess.guess import Guess, parameters
from torchrecorder.recording.guess.layers import from_layers
from torchrecorder.recording.guess.libraries import diffusers, timm, transformers
from torchrecorder.recording.guess.repair import repairs
from torchrecorder.recording.guess.roles import advice as advice
from torchrecorder.recording.guess.roles import from_roles
from torchrecorder.recording.guess.signature import from_annotations, from_names
from torchrecorder.recording.target import as_arguments

_REPAIRED = 32
"""Guesses that are made from refused ones."""
_WORK = 20_000
"""Operations of refused guesses after which no more are made: an answer must come while a build waits for it."""


class Guesses:
    """The guesses for a model: first those of each source, the most trusted first, then the refused ones repaired.

    A refused guess whose forward came further is repaired before others. Equal inputs come once.
    """

    def __init__(self, model: nn.Module, batch: int = 1) -> None:
        self._model = model
        self._batch = batch
        self._seen: set[str] = set()
        self._refused: list[tuple[int, int, Iterator[Guess]]] = []
        self._count = 0
        self._done = 0

    def __iter__(self) -> Iterator[Guess]:
        for source in _SOURCES:
            with suppress(Exception):  # attributes of a model may be properties, whose code may raise
                yield from filter(self._is_new, source(self._model, self._batch))
        left = _REPAIRED
        while self._refused and left and self._done < _WORK:
            *_, others = self._refused[0]
            guess = None
            with suppress(Exception):
                guess = next(filter(self._is_new, others), None)
            if guess is None:
                self._refused = [entry for entry in self._refused if entry[2] is not others]
                heapq.heapify(self._refused)
                continue
            left -= 1
            yield guess

    def refused(self, guess: Guess, error: ForwardError) -> None:
        """Keep a guess that the forward did not accept, to be repaired."""
        graph = error.graph
        done = 0 if graph is None else len(graph.ops) + len(graph.calls)
        self._count += 1
        self._done += done
        found = repairs(self._model, guess, error, self._batch)
        heapq.heappush(self._refused, (-done, self._count, found))

    def _is_new(self, guess: Guess) -> bool:
        names = iter([p.name for p in parameters(self._model)])
        specs = tuple(spec if spec.name else replace(spec, name=next(names, None)) for spec in guess.specs)
        key = replace(guess, specs=specs).inputs()
        is_new = key not in self._seen or not key
        self._seen.add(key)
        return is_new


def _of_itself(model: nn.Module, _batch: int) -> Iterator[Guess]:
    if not parameters(model) and "forward" in vars(type(model)):
        yield Guess("nothing, since the forward has no parameters", arguments=((), {}))
    example = getattr(model, "example_input_array", None)  # of Lightning
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))


_SOURCES: tuple[Callable[[nn.Module, int], Iterator[Guess]], ...] = (
    _of_itself,
    transformers,
    timm,
    diffusers,
    from_annotations,
    from_names,
    from_layers,
    from_roles,
)
