"""Small graphs for the classes of torch_geometric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from torch import nn

from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.guess.roles import from_names, graphs


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """A small graph, of which each class of the library takes at least the nodes."""
    if is_from(model, "torch_geometric"):
        wanted = required(model) or parameters(model)[:1]
        for guess in chain(from_names(model, batch), graphs(model, wanted, batch)):
            yield replace(guess, grade="model")
