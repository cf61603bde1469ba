"""Each fault that is planted in a View is found by its proof."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from tests.core.proof.folded_nets import FOLDED
from tests.core.proof.loop_nets import LOOPS
from tests.core.proof.mutations import MUTATIONS, Mutation
from tests.core.proof.part_nets import PARTS
from tests.core.proof.unseen_nets import UNSEEN
from torchrecorder.proof import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


@cache
def views() -> dict[str, View]:
    """Views without a fault, by name."""
    found = {}
    for entry in (*LOOPS, *UNSEEN, *FOLDED, *PARTS):
        model, args, kwargs = entry.load()
        with torch.no_grad():
            graph = capture(model, args, kwargs)
        for options in (
            DrawingOptions(),
            DrawingOptions(depth=1),
            DrawingOptions(depth="all"),
            DrawingOptions(fold=False),
        ):
            view = make_view(graph, options)
            if not faults(view):
                found[f"{entry.name}, depth {options.depth}, fold {options.fold}"] = view
    return found


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda it: it.__name__)
def test_a_planted_fault_is_found(mutation: Mutation) -> None:
    planted = {name: changed for name, view in views().items() if (changed := mutation(view)) is not None}
    assert planted
    assert [name for name, view in planted.items() if not faults(view)] == []
