"""What a forward may want, best guess first: what the model declares, its annotations, its first layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from torchrecorder.recording.arguments import as_arguments
from torchrecorder.recording.guess import annotated, declared, diffusion, layers, named
from torchrecorder.recording.guess.guess import Guess, parameters


def guesses(model: nn.Module, batch: int = 1) -> Iterator[Guess]:
    """The guesses for a model, each kind of inputs once."""
    rungs = [_nothing(model), _example(model)]
    rungs += [rung.guesses(model, batch) for rung in (declared, diffusion, annotated, named, layers)]
    seen: set[str] = set()
    for rung in rungs:
        for guess in _while_it_can(rung):
            key = guess.inputs()
            if key not in seen or not key:
                seen.add(key)
                yield guess


def _while_it_can(rung: Iterator[Guess]) -> Iterator[Guess]:
    """The guesses of a rung until looking at the model raises: its attributes may be code that does."""
    try:
        yield from rung
    except Exception:
        return


def _nothing(model: nn.Module) -> Iterator[Guess]:
    found = parameters(model)
    if found and all(p.kind is not p.VAR_POSITIONAL for p in found):
        return
    if not found and "forward" in vars(type(model)):
        yield Guess("nothing, since the forward has no parameters", arguments=((), {}))


def _example(model: nn.Module) -> Iterator[Guess]:
    """What a Lightning module keeps for its own summary."""
    example: Any = getattr(model, "example_input_array", None)
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))
