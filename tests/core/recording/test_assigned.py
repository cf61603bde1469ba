"""Which variable of the code gets what an op makes."""

from __future__ import annotations

import dis
from types import FrameType, SimpleNamespace
from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.recording.code_info import CodeInfos
from torchrecorder.recording.run import capture


def thirds(x: Tensor) -> Tensor:
    return x / 3


class Assigning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        plain = x.exp()
        shaped = torch.stack([plain, plain * 3]).transpose(0, 1).reshape(-1, 4)
        half, _ = shaped.sin().chunk(2)
        through: Tensor = self.layer(half.cos())
        third = thirds(through).view(-1, 4)
        through = thirds(third) + 1
        return through.tanh()


def recorded() -> Graph:
    graph = capture(Assigning().eval(), (torch.ones(1, 4),))
    assert from_json(to_json(graph)) == graph
    return graph


def variables() -> dict[str, str]:
    graph = recorded()
    return {op.name: graph.variable(op) for op in graph.ops}


def test_the_variable_that_gets_a_result_perhaps_in_another_shape() -> None:
    found = variables()
    assert (found["exp"], found["stack"], found["reshape"]) == ("plain", "shaped", "shaped")


def test_no_variable_where_more_is_done_before() -> None:
    found = variables()
    assert {name: found[name] for name in ("mul", "sin", "cos", "tanh")} == dict.fromkeys(
        ("mul", "sin", "cos", "tanh"), ""
    )


def test_the_variable_that_gets_what_a_function_returns() -> None:
    graph = recorded()
    assert [graph.variable(frame) for frame in graph.frames] == ["third", ""]


class Parting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        shift, scale = x.chunk(2, -1)
        self.mean, self.spread = torch.split(x, 2, 1)
        first, _, third = x.reshape(3, -1)
        (inner, other), last = x.chunk(2), x[0]
        parts = (shift, scale, self.mean, self.spread, first, third, inner, other, last)
        return torch.stack([part.sum() for part in parts])


def test_the_variables_that_get_the_parts_of_a_tensor() -> None:
    graph = capture(Parting().eval(), (torch.ones(6, 4),))
    named = {op.name: [graph.variable(op, at) for at in range(len(op.outputs))] for op in reversed(graph.ops)}
    assert named["chunk"] == ["shift", "scale"]
    assert named["split"] == ["mean", "spread"]
    assert named["unbind"] == ["first", "", "third"]
    assert [graph.variable(op, 0) for op in graph.ops if op.name in ("chunk", "reshape")] == ["shift", "", ""]
    assert {graph.variable(op) for op in graph.ops} == {""}


class Packing(nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        packed_batch = pack_padded_sequence(x, n, batch_first=True)
        return packed_batch.data


def test_no_variable_for_what_a_function_of_torch_makes_on_the_way() -> None:
    graph = capture(Packing().eval(), (torch.ones(2, 3, 4), torch.tensor([3, 2])))
    assert {graph.variable(op) for op in graph.ops} == {""}


def frame(code: object, offset: int = 0) -> FrameType:
    return cast("FrameType", SimpleNamespace(f_code=code, f_globals=globals(), f_lasti=offset, f_lineno=1))


@pytest.mark.parametrize(("called", "variable"), [(pack_padded_sequence, []), (nn.Module.__call__, ["packed_batch"])])
def test_the_same_where_the_caller_of_a_function_stands_at_the_call(called: object, variable: list[str]) -> None:
    """As in Python 3.13; in 3.11 it stands behind the call."""
    code = Packing.forward.__code__.replace()  # that nothing is known of yet
    (offset,) = (step.offset for step in dis.get_instructions(code) if step.opname == "CALL")
    infos, here = CodeInfos(), frame(code, offset)
    place = infos.of_code(here).source(here, frame(getattr(called, "__code__", None)))
    assert [name for _, name in infos.assigned({f"{place}+{offset}"})] == variable


def test_a_graph_of_before_has_none() -> None:
    text = to_json(capture(nn.Linear(4, 4).eval(), (torch.ones(1, 4),)))
    assert "assigned" not in text
    assert from_json(text).assigned == {}
