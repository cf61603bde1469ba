"""Guesses of the inputs of a model for which none are given; each is tried before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

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
        with suppress(Exception):  # attributes of a model may be properties, whose code may raise
            for guess in source(model, batch):
                key = guess.inputs()
                if key not in seen or not key:
                    seen.add(key)
                    yield guess


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
)
