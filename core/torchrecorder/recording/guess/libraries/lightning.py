"""The example that a module of Lightning may hold."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from torchrecorder.recording.guess.guess import Guess
from torchrecorder.recording.target import as_arguments


def inputs(model: nn.Module, _batch: int) -> Iterator[Guess]:
    """Arguments from its `example_input_array`."""
    example = getattr(model, "example_input_array", None)
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))
