"""Small graphs for the classes of torch_geometric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
from torchrecorder.recording.guess.roles import from_names, input_for, nodes


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """A small graph, of which each class of the library takes at least the nodes."""
    if is_from(model, "torch_geometric"):
        yield from (replace(guess, grade="model") for guess in from_names(model, batch))
        wanted = required(model) or parameters(model)[:1]
        for _, node, _ in nodes(model):
            found = {p.name: input_for(p, model, node, batch) for p in wanted}
            yield Guess.named("a small graph, for which the classes of torch_geometric are", found)
