"""Nothing gets lost in silence: each input, parameter and buffer is disturbed, and what changes is looked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.truth.lost_cases import LOST, Lost
from torchrecorder.graph import Graph
from torchrecorder.graph.codec import problems
from torchrecorder.recording.run import capture
from torchrecorder.running.nested import named_tensors

_SEEDS = 3
"""Disturbances of each tensor; one alone may leave a maximum or a sign where it was."""


def inputs() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(5)
    return {name: torch.randn(2, 3, generator=generator) for name in "xy"}


def outputs(case: Lost, changed: str = "", seed: int = 0) -> dict[str, Tensor]:
    """What a model gives, with one of its tensors or inputs disturbed."""
    torch.manual_seed(0)
    model, given = case.build(), inputs()
    sources: dict[str, Tensor] = {**given, **dict(model.named_parameters()), **dict(model.named_buffers())}
    if changed:
        tensor = sources[changed]
        tensor.data.copy_(disturbed(tensor, seed))
    torch.manual_seed(0)
    return {path: tensor.detach().clone() for path, tensor in named_tensors(model(**given))}


def disturbed(tensor: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return tensor.detach() + torch.randn(tensor.shape, generator=generator) * 2


def dependent(case: Lost) -> Iterator[tuple[str, str]]:
    """Each source with each output that changes when it is disturbed."""
    before = outputs(case)
    model = case.build()
    for name in (*inputs(), *dict(model.named_parameters()), *dict(model.named_buffers())):
        after = [outputs(case, name, seed) for seed in range(_SEEDS)]
        for path, old in before.items():
            if not all(is_same(old, one.get(path)) for one in after):
                yield name, path


def is_same(old: Tensor, new: Tensor | None) -> bool:
    return new is not None and old.shape == new.shape and torch.equal(old.nan_to_num(), new.nan_to_num())


def reached(graph: Graph) -> set[tuple[str, str]]:
    """Each source with each output that is reached from it."""
    found: set[tuple[str, str]] = set()
    for path, values in graph.outputs.items():
        seen = dict.fromkeys(values)
        waiting = [*values]
        for value in waiting:
            row = graph.values[value]
            if row.name:
                found |= {(name, path) for name in graph.tied.get(row.name, (row.name,))}
            read = () if row.producer is None else graph.ops[row.producer].inputs
            waiting += [one for one in read if one not in seen]
            seen.update(dict.fromkeys(read))
    return found


@pytest.mark.parametrize("case", LOST, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore")
def test_what_is_lost_is_noted(case: Lost) -> None:
    torch.manual_seed(0)
    model, given = case.build(), inputs()
    graph: Any = capture(model, (), given)
    assert problems(graph) == []
    lost = {*dependent(case)} - reached(graph)
    assert not lost or any(note.startswith(case.note) for note in graph.info.notes if case.note), lost
    assert bool(case.note) == bool(graph.info.notes), graph.info.notes


def test_a_lost_edge_is_found() -> None:
    case = next(case for case in LOST if case.name == "SlicedLayer")
    graph = capture(case.build(), (), inputs())
    without = tuple(replace(op, inputs=op.inputs[:1]) if op.name == "linear" else op for op in graph.ops)
    assert {*dependent(case)} - reached(graph) == set()
    assert {*dependent(case)} - reached(replace(graph, ops=without)) >= {("fc.weight", ""), ("y", "")}
