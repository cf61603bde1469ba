"""Guesses of the inputs of a model for which none are given; each is tried before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from torchrecorder.recording.guess.guess import Guess, parameters
from torchrecorder.recording.guess.layers import from_layers
from torchrecorder.recording.guess.libraries import diffusers, timm, transformers
from torchrecorder.recording.guess.signature import from_annotations, from_names
from torchrecorder.recording.target import as_arguments


def guesses(model: nn.Module, batch: int = 1) -> Iterator[Guess]:
    """The guesses for a model, most trusted source first, equal inputs once."""
    seen: set[str] = set()
    for source in _SOURCES:
        for guess in _until_it_raises(source(model, batch)):
            key = guess.inputs()
            if key not in seen or not key:
                seen.add(key)
                yield guess


def _until_it_raises(guesses: Iterator[Guess]) -> Iterator[Guess]:
    # Attributes of a model may be properties, whose code may raise.
    try:
        yield from guesses
    except Exception:
        return


def _nothing(model: nn.Module, _batch: int) -> Iterator[Guess]:
    found = parameters(model)
    if found and all(p.kind is not p.VAR_POSITIONAL for p in found):
        return
    if not found and "forward" in vars(type(model)):
        yield Guess("nothing, since the forward has no parameters", arguments=((), {}))


def _lightning(model: nn.Module, _batch: int) -> Iterator[Guess]:
    example: Any = getattr(model, "example_input_array", None)
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))


_SOURCES: tuple[Callable[[nn.Module, int], Iterator[Guess]], ...] = (
    _nothing,
    _lightning,
    transformers,
    timm,
    diffusers,
    from_annotations,
    from_names,
    from_layers,
)
