"""Which value an operation reads: identity, aliases, writes in place."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, drawn, edges, op_names, record
from torchrecorder.recording.run import capture
from torchrecorder.recording.values import Values

X = torch.ones(2, 3)


def test_addresses_that_are_used_again_do_not_confuse() -> None:
    def body(self: Any, x: Any) -> Any:
        for _ in range(200):
            (x * 2).add_(1)  # freed at once: the next turn gets the same address and the same memory
            x = torch.cos(x)
        return x

    graph = record(Net(body), X)
    assert op_names(graph) == ["mul", "add_", "cos"] * 200
    cosines = [op for op in graph.ops if op.name == "cos"]
    assert [graph.values[op.inputs[0]].producer for op in cosines[1:]] == [op.id for op in cosines[:-1]]


def test_memory_that_is_used_again_is_other_memory() -> None:
    def body(self: Any, x: Any) -> Any:
        for _ in range(200):
            x = torch.cos(x)
        return x

    with torch.no_grad():
        graph = record(Net(body), X)
    assert len({value.storage_group for value in graph.values}) == 201


def test_a_tensor_from_nowhere_at_an_address_that_is_used_again_is_a_constant() -> None:
    def body(self: Any, x: Any) -> Any:
        for _ in range(20):
            x * 2
            made: list[Tensor] = []
            other = threading.Thread(target=lambda: made.append(torch.ones(2, 3)))  # noqa: B023
            other.start()
            other.join()
            x = x + made.pop()
        return x

    graph = record(Net(body), X)
    assert sum(value.kind == "const" for value in graph.values) == 20


@pytest.mark.parametrize("grad_mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_writes_are_seen_through_every_alias(grad_mode: type[torch.no_grad]) -> None:
    def body(self: Any, x: Any) -> Any:
        y = x.clone()
        row = y[0]
        torch.sin(x[0], out=row)
        return y * 2

    with grad_mode():
        graph = record(Net(body), X)
    assert edges(graph) == drawn("in:x -> /clone -> /getitem -> /sin -> /mul -> out; in:x -> /getitem#2 -> /sin")


def test_a_write_names_what_it_overwrote() -> None:
    def body(self: Any, x: Any) -> Any:
        y = x.clone()
        y[0] = x[1]
        F.relu(y, inplace=True)
        return y

    graph = record(Net(body), X)
    assert {op.name: len(op.mutates) for op in graph.ops} == {"clone": 0, "getitem": 0, "setitem": 1, "relu": 1}


def test_lists_of_tensors_are_overwritten_one_by_one() -> None:
    def body(self: Any, x: Any) -> Any:
        a, b = x.clone(), x + 1
        torch._foreach_add_([a, b], 1)
        return a * b

    graph = record(Net(body), X)
    assert edges(graph) == drawn("in:x -> /clone -> /foreach_add_ -> /mul -> out; in:x -> /add -> /foreach_add_")


def test_a_layer_that_returns_its_parameter_is_a_node() -> None:
    model = Net(lambda self, x: x + self.drop(self.w), w=nn.Parameter(torch.ones(3)), drop=nn.Dropout())
    assert edges(record(model, X)) == drawn("in:x -> /add -> out; p:w -> m:drop -> /add")


def test_a_layer_that_returns_nested_arguments_keeps_their_form() -> None:
    def body(self: Any, x: Any) -> Any:
        pair = self.id({"a": (x, x + 1), "n": 3})
        assert type(pair["a"]) is tuple
        assert pair["n"] == 3
        return pair["a"][0] * pair["a"][1]

    assert edges(record(Net(body, id=nn.Identity()), X)) == drawn("in:x -> m:id -> /mul -> out; in:x -> /add -> m:id")


def test_two_arguments_that_are_one_tensor_are_two_inputs() -> None:
    graph = record(Net(lambda self, a, b: torch.cos(a) + b), X, X)
    assert edges(graph) == drawn("in:args.0 -> /cos -> /add -> out; in:args.1 -> /add")


def test_a_tensor_of_a_view_of_a_parameter_is_the_parameter() -> None:
    model = Net(lambda self, x: x @ self.w_t, w=nn.Parameter(torch.ones(3, 3)))
    model.w_t = model.w.detach().t()
    assert edges(record(model, X)) == drawn("in:x -> /matmul -> out; p:w -> /matmul")


def test_tied_parameters_are_one_value() -> None:
    model = Net(lambda self, x: self.a(x) + self.b(x), a=nn.Linear(3, 3), b=nn.Linear(3, 3))
    model.b.weight = model.a.weight
    graph = record(model, X)
    assert graph.tied == {"a.weight": ("a.weight", "b.weight")}
    assert [v.name for v in graph.values if v.kind == "param"] == ["a.weight", "a.bias", "b.bias"]
    assert graph.modules[""].params.total == 9 + 3 + 3


def test_unpacked_rows_come_from_their_tensor() -> None:
    def body(self: Any, x: Any) -> Any:
        a, b = x
        return a * b

    assert edges(record(Net(body), X)) == drawn("in:x -> /unbind -> /mul -> out")


def test_views_share_the_group_of_their_memory() -> None:
    graph = record(Net(lambda self, x: torch.cos(x.view(-1)).view(2, 3)), X)
    groups = [value.storage_group for value in graph.values]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_values_at_the_border_of_a_call_are_those_of_that_moment() -> None:
    sub = Net(lambda self, y: y.add_(1))
    graph = record(Net(lambda self, x: self.sub(x * 2), sub=sub), X)
    (call,) = graph.calls[1:]
    assert graph.values[call.inputs["args.0"]].producer == op_names(graph).index("mul")
    assert graph.values[call.outputs[""]].producer == op_names(graph).index("add_")


def test_gradients_computed_in_the_forward_are_an_op() -> None:
    def body(self: Any, x: Any) -> Any:
        x = x.detach().requires_grad_()
        (grad,) = torch.autograd.grad((x * x).sum(), x)
        return grad

    assert edges(record(Net(body), X)) == drawn("in:x -> /detach -> /mul -> /sum -> /grad -> out; /detach -> /grad")


def test_a_replaced_data_attribute_is_a_write() -> None:
    def body(self: Any, x: Any) -> Any:
        y = x.clone()
        y.data = x * 2
        return torch.cos(y)

    assert edges(record(Net(body), X)) >= drawn("in:x -> /mul -> /set_data -> /cos -> out")


def test_properties_that_compute_are_ops() -> None:
    def body(self: Any, x: Any) -> Any:
        assert x.is_leaf
        assert x.dtype is torch.float32
        return x.T @ x.mT.mT

    assert op_names(record(Net(body), X)) == ["T", "mT", "mT", "matmul"]


def test_memory_that_is_gone_is_forgotten_while_the_forward_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Values] = []
    seen: list[int] = []

    class Chain(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(500):
                x = x + 1
            seen.append(len(recorded[0]._storages))
            return x

    class Kept(Values):
        def __init__(self) -> None:
            super().__init__()
            recorded.append(self)

    monkeypatch.setattr("torchrecorder.recording.session.Values", Kept)
    with torch.no_grad():
        graph = capture(Chain(), (torch.zeros(1, 3),))
    assert len(graph.ops) == 500
    assert 0 < seen[0] < 5


def test_memory_whose_address_is_used_again_is_other_memory() -> None:
    values = Values()
    groups = set()
    for _ in range(100):  # an allocator gives the memory that was freed last
        groups.add(values.rows[values.add(torch.ones(3), "op")].storage_group)
    assert len(groups) == 100


def test_memory_is_known_as_long_as_a_view_of_it_is_there() -> None:
    values = Values()
    tensor = torch.ones(2, 3)
    first = values.add(tensor, "op")
    view = tensor.view(6)
    del tensor
    second = values.add(view, "op")
    assert values.rows[first].storage_group == values.rows[second].storage_group
