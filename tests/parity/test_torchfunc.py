"""torchfunc's value recorders and registrators, as their reference document has them, and mended where it is broken."""

from __future__ import annotations

import copy
import inspect
import pathlib
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, resources
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from torchrecorder.torchfunc.hooks import recorders, registrators
from torchrecorder.torchfunc.hooks.recorders import (
    BackwardInput,
    BackwardOutput,
    ForwardInput,
    ForwardOutput,
    ForwardPre,
    ValueRecorder,
)

ALL = [ForwardPre, ForwardInput, ForwardOutput, BackwardInput, BackwardOutput]
FORWARD = ALL[:3]
INPUTS = [ForwardPre, ForwardInput]


def mnist() -> nn.Sequential:
    return nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))


def small(inplace: bool = False) -> nn.Sequential:
    layers = [nn.Linear(3, 4), nn.ReLU(inplace), nn.Linear(4, 4), nn.Flatten(), nn.ReLU(inplace), nn.Linear(4, 2)]
    return nn.Sequential(*layers)


class Reversed(nn.Module):
    """Calls its layers in another order than it defines them, and never the first."""

    def __init__(self) -> None:
        super().__init__()
        self.unused, self.last, self.first = nn.Linear(9, 9), nn.Linear(4, 2), nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.first(x))
        return out


class Gives(nn.Module):
    """A network with one child that gives what a function makes of its arguments."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.child = Calls(function)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.child(*args, **kwargs)


class Calls(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any = None, scale: Any = None, **more: Any) -> Any:
        return self.function(x)


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


@dataclass
class Out:
    hidden: Tensor
    name: str = "out"


# ---- the document ----------------------------------------------------------------------------------------------------


def test_the_example_of_the_document(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("analysis").mkdir()
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 100),
        torch.nn.ReLU(),
        torch.nn.Linear(100, 50),
        torch.nn.ReLU(),
        torch.nn.Linear(50, 10),
    )
    recorder = torchrecorder.torchfunc.hooks.recorders.ForwardPre(reduction=lambda x, y: x + y)
    recorder.children(model, indices=(2, 3))
    for _ in range(3):
        model(torch.randn(1, 784))
    recorder.save(pathlib.Path("./analysis"))
    assert sorted(path.name for path in pathlib.Path("analysis").iterdir()) == ["0.pt", "1.pt"]
    assert torch.load("analysis/0.pt").shape == (1, 100)
    assert torch.load("analysis/1.pt").shape == (1, 50)


@pytest.mark.parametrize("cls", ALL)
def test_signatures(cls: type[ValueRecorder]) -> None:
    def names(function: Any) -> list[tuple[str, Any]]:
        return [(p.name, p.default) for p in inspect.signature(function).parameters.values()]

    empty = inspect.Parameter.empty
    assert names(cls) == [("condition", None), ("reduction", None), ("data_method", "sample")]
    assert names(cls.children) == [("self", empty), ("network", empty), ("types", None), ("indices", None)]
    assert names(cls.modules) == [("self", empty), ("module", empty), ("types", None), ("indices", None)]
    assert names(cls.save) == [("self", empty), ("path", empty), ("mkdir", False), ("args", empty), ("kwargs", empty)]
    assert names(cls.apply) == names(cls.apply_sample) == [("self", empty), ("function", empty)]
    assert names(cls.remove) == names(cls.samples) == [("self", empty), ("index", empty)]
    assert names(cls.iter_samples) == [("self", empty)]
    assert names(cls.set_data_method) == [("self", empty), ("data_method", empty)]


@pytest.mark.parametrize("cls", ALL)
def test_a_new_recorder(cls: type[ValueRecorder]) -> None:
    recorder = cls()
    name = f"torchrecorder.torchfunc.hooks.recorders.{cls.__name__}"
    assert (recorder.data, recorder.subrecorders, recorder.handles, len(recorder)) == ([], [], [], 0)
    assert str(recorder) == name
    assert repr(recorder) == (
        f"{name}(condition=None, reduction=None, data_method=sample, data=[], subrecorders=[], handles=[])"
    )


@pytest.mark.parametrize("cls", ALL)
def test_selection(cls: type[ValueRecorder]) -> None:
    net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1), nn.ReLU()), nn.ReLU())
    recorder = cls()
    assert recorder.children(net) is recorder
    assert recorder.modules(net) is recorder
    assert len(recorder) == len(recorder.data) == len(recorder.handles) == 3 + 6
    assert len(cls().children(net, types=(nn.Linear, nn.ReLU))) == 2
    assert len(cls().children(net, types=nn.Linear)) == 1
    assert len(cls().modules(net, types=[nn.Linear])) == 2
    assert len(cls().modules(net, indices=[0, 1, 99])) == 2
    assert len(cls().modules(net, indices=(place for place in (1, 2)))) == 2
    assert len(cls().children(net, types=nn.Linear | nn.ReLU)) == 2
    assert len(cls().children(net, types=((nn.Linear,), nn.ReLU))) == 2
    assert len(cls().children(net, indices=torch.tensor([0, 2]))) == 2


@pytest.mark.parametrize("cls", ALL)
def test_types_and_indices_must_both_hold(cls: type[ValueRecorder]) -> None:
    assert len(cls().children(mnist(), types=(nn.Linear,), indices=[0, 1, 2])) == 2
    assert len(cls().modules(mnist(), types=(nn.ReLU,), indices=[1])) == 0


def test_what_cannot_be_selected_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"^hooks go on a torch\.nn\.Module, not on list$"):
        ForwardPre().children([nn.Linear(1, 1)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^types must be a class or several, .* not 'Linear'$"):
        ForwardPre().children(mnist(), types="Linear")
    with pytest.raises(TypeError, match=r"^indices must be several integers, such as \(0, 2\), not 2$"):
        ForwardPre().children(mnist(), indices=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^indices must be several integers, such as \(0, 2\), not \['0'\]$"):
        ForwardPre().children(mnist(), indices=["0"])  # type: ignore[list-item]


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("name", ["condition", "reduction"])
def test_what_cannot_be_called_is_an_error(cls: type[ValueRecorder], name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be a function or None, not 3$"):
        cls(**{name: 3})  # type: ignore[arg-type]


# ---- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", INPUTS)
def test_inputs(cls: type[ValueRecorder]) -> None:
    net, x = small(), torch.randn(2, 3)
    recorder = cls().children(net)
    whole = cls(data_method="batch").children(net)
    net(x)
    hidden = net[0](x)
    assert recorder[0][0] is x
    assert torch.equal(recorder.data[1][0], hidden)
    assert whole[0][0] == (x,)
    assert list(recorder.iter_samples()) == [2, *[1] * 5]


def test_outputs() -> None:
    net, x = small(), torch.randn(2, 3)
    recorder, whole = ForwardOutput().children(net), ForwardOutput(data_method="batch").children(net)
    out = net(x)
    assert torch.equal(recorder[5][0], out[0])  # the first sample
    assert whole[5][0] is out
    assert out.grad_fn is not None
    assert whole[5][0].grad_fn is out.grad_fn


def test_input_after_forward_shows_what_forward_wrote() -> None:
    net = nn.Sequential(nn.ReLU(inplace=True))
    before = ForwardPre(reduction=lambda old, new: new).children(net)
    copies = ForwardInput().children(net)
    with torch.no_grad():
        net(torch.tensor([-1.0]))
    assert before[0].item() == copies[0][0].item() == 0


@pytest.mark.parametrize("cls", FORWARD)
def test_reduction_and_condition(cls: type[ValueRecorder]) -> None:
    net, allowed = small(), [True, False, True]
    recorder = cls(condition=lambda: allowed[0], reduction=lambda old, new: old + new).children(net, indices=[0])
    x = torch.ones(1, 3)
    while allowed:
        net(x)
        allowed.pop(0)
    assert recorder.samples(0) == 2
    total = recorder.remove(0)
    expected = 2 * (x if cls in INPUTS else net[0](x)[0])
    assert torch.allclose(total, expected)


@pytest.mark.parametrize("cls", ALL)
def test_a_condition_that_never_holds_records_nothing(cls: type[ValueRecorder]) -> None:
    net = small()
    plain, reduced = cls(condition=lambda: 0).children(net), cls(lambda: False, max).children(net)
    net(torch.randn(1, 3)).sum().backward()
    assert plain.data == [[]] * 6
    assert reduced.data == [None] * 6
    assert {*plain.iter_samples(), *reduced.iter_samples()} == {0}


@pytest.mark.parametrize("cls", ALL)
def test_slots_follow_registration_not_calls(cls: type[ValueRecorder]) -> None:
    net = Reversed()
    recorder = cls(data_method="batch").children(net)
    recorder.children(net, indices=[1])
    net(torch.randn(5, 3, requires_grad=True)).sum().backward()
    taken = cls in (ForwardPre, ForwardInput, BackwardInput)
    got = [value[0].shape[-1] if isinstance(value, tuple) else value.shape[-1] for (value,) in recorder.data[1:]]
    assert recorder[0] == []
    assert got == ([4, 3, 4] if taken else [2, 4, 2])


@pytest.mark.parametrize("cls", ALL)
def test_remove(cls: type[ValueRecorder]) -> None:
    net = small()
    recorder = cls().children(net)
    assert recorder.remove(0) == []
    net(torch.randn(1, 3, requires_grad=True)).sum().backward()
    removed = recorder.remove(1)
    assert len(removed) == 1
    assert len(recorder) == len(recorder.handles) == len(recorder.data) == 4
    last = recorder[-1]
    recorder.remove(-1)
    net(torch.randn(1, 3, requires_grad=True)).sum().backward()
    assert [one.index for one in recorder.subrecorders] == [0, 1, 2]
    assert [len(slot) for slot in recorder] == list(recorder.iter_samples()) == [2, 2, 2]
    assert len(last) == len(removed) == 1
    with pytest.raises(IndexError, match=r"^there is no subrecorder 3: this recorder has 3$"):
        recorder.remove(3)
    with pytest.raises(IndexError, match=r"^there is no subrecorder 7: this recorder has 3$"):
        recorder.samples(7)
    for _ in range(3):
        recorder.remove(0)
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in net.modules())


def test_removed_between_forward_and_backward() -> None:
    net = small()
    recorder = BackwardOutput().children(net, indices=[0])
    loss = net(torch.randn(1, 3)).sum()
    slot = recorder.remove(0)
    loss.backward()
    assert slot == []


def test_data_may_be_changed_and_emptied() -> None:
    net, x = small(), torch.ones(1, 3)
    recorder = ForwardPre(reduction=lambda old, new: old + new).children(net, indices=[0, 1])
    net(x)
    recorder[0] = torch.full((1, 3), 10.0)
    net(x)
    assert torch.equal(recorder[0], torch.full((1, 3), 11.0))
    recorder.data.clear()
    net(x)
    assert torch.equal(recorder[0], x)
    assert [slot.shape[1] for slot in recorder] == [3, 4]


@pytest.mark.parametrize("cls", ALL)
def test_attributes_may_be_assigned_at_any_time(cls: type[ValueRecorder]) -> None:
    net, x = small(), torch.ones(1, 3, requires_grad=True)
    recorder = cls().children(net, indices=[0, 2])

    def run() -> None:
        net(x).sum().backward()

    recorder.condition = lambda: False
    run()
    recorder.condition = None
    recorder.data_method = "batch"
    run()
    old = recorder.data
    recorder.data, recorder.reduction = [], lambda old, new: "reduced"
    run()
    assert [len(slot) for slot in old] == [1, 1]
    assert isinstance(old[0][0], tuple) or old[0][0].shape == (1, 4)
    run()
    assert recorder.data == ["reduced"] * 2
    recorder.reduction, recorder[0], recorder[1] = None, None, []
    run()
    assert [len(slot) for slot in recorder] == [1, 1]
    assert list(recorder.iter_samples()) == [4, 4]


def test_a_reduction_may_begin_with_a_value() -> None:
    net = small()
    recorder = ForwardPre(reduction=lambda old, new: old + new).children(net, indices=[0])
    recorder[0] = torch.full((1, 3), 10.0)
    net(torch.ones(1, 3))
    assert torch.equal(recorder[0], torch.full((1, 3), 11.0))


def test_apply_keeps_its_results() -> None:
    net, x = small(), torch.ones(1, 3)
    recorder = ForwardPre(reduction=lambda old, new: old + new).children(net)
    recorder.children(nn.Sequential(nn.ReLU()))  # without data: left alone
    for _ in range(4):
        net(x)
    recorder.apply_sample(lambda data, samples: data / samples)
    assert torch.equal(recorder[0], x)
    recorder.apply(torch.sum)
    assert recorder[0] == 3
    assert recorder[-1] is None


def test_appending_to_what_is_no_list() -> None:
    net = small()
    recorder = ForwardPre().children(net, indices=[0])
    net(torch.ones(1, 3))
    recorder.apply(torch.stack)
    with pytest.raises(RuntimeError, match=r"^subrecorder 0 appends to a list, but its data is of type Tensor now; .*"):
        net(torch.ones(1, 3))


def test_save(tmp_path: pathlib.Path) -> None:
    net = small()
    recorder = ForwardPre().children(net, indices=[0, 3])
    net(torch.ones(1, 3))
    folder = tmp_path / "a" / "b"
    with pytest.raises(RuntimeError, match="Parent directory"):
        recorder.save(folder)
    recorder.save(folder, True, parents=True)
    recorder.save(folder, mkdir=True, exist_ok=True)
    recorder.save(folder, mkdir=True)
    with pytest.raises(FileExistsError):
        recorder.save(folder, mkdir=True, exist_ok=False)
    with pytest.raises(FileExistsError):
        recorder.save(folder / "0.pt", mkdir=True)
    assert sorted(path.name for path in folder.iterdir()) == ["0.pt", "1.pt"]
    assert torch.equal(torch.load(folder / "0.pt")[0], torch.ones(1, 3))


def test_data_method() -> None:
    text = "Invalid value for parameter `data_method`. Expected either 'sample' or 'batch'. You put all"
    with pytest.raises(ValueError, match=text):
        ForwardPre(data_method="all")
    net = small()
    recorder = ForwardOutput().children(net, indices=[0])
    with pytest.raises(ValueError, match=text):
        recorder.set_data_method("all")
    net(torch.ones(2, 3))
    recorder.set_data_method("batch")
    net(torch.ones(2, 3))
    assert [value.shape for value in recorder[0]] == [(4,), (2, 4)]
    assert recorder.data_method == recorder.subrecorders[0].data_method == "batch"


@pytest.mark.parametrize(
    ("output", "first"),
    [
        ((1, 2), 1),
        ([[3], 4], [3]),
        ({"a": 5, "b": 6}, 5),
        (Out(hidden=torch.ones(1)), torch.ones(1)),
        (Pair(torch.zeros(2), torch.ones(1)), torch.zeros(2)),
        (torch.tensor(7), 7),
        (torch.ones(2, 3), torch.ones(3)),
        (None, None),
        ("text", "text"),
        ((), ()),
        ({}, {}),
    ],
)
def test_first_item_of_an_output(output: Any, first: Any) -> None:
    net = Gives(lambda x: output)
    recorder, whole = ForwardOutput().children(net), ForwardOutput(data_method="batch").children(net)
    net(torch.ones(1))
    assert whole[0][0] is output
    torch.testing.assert_close(recorder[0][0], first) if isinstance(first, Tensor) else None
    assert isinstance(first, Tensor) or recorder[0][0] == first


def test_an_empty_batch_is_recorded_as_it_is() -> None:
    net = nn.Sequential(nn.Linear(3, 4))
    recorder = ForwardOutput().children(net)
    net(torch.ones(0, 3))
    assert recorder[0][0].shape == (0, 4)


@pytest.mark.parametrize("cls", INPUTS)
def test_keywords_count_in_the_order_of_forward(cls: type[ValueRecorder]) -> None:
    net = Gives(lambda x: x)
    recorder, whole = cls().children(net), cls(data_method="batch").children(net)
    net(1, scale=2)
    net(scale=2, x=1)
    net(other=3, x=1)
    net()
    assert recorder[0] == [1, 1, 1, None]
    assert whole[0] == [(1, 2), (1, 2), (1, 3), ()]


# ---- gradients -------------------------------------------------------------------------------------------------------


def grad_of(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad


def weight_of(layer: nn.Module) -> Tensor:
    assert isinstance(layer.weight, Tensor)
    return layer.weight


def expected_gradients(net: nn.Sequential, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Of the inputs and of the outputs of each layer, by a graph of which every tensor keeps its gradient."""
    inputs, outputs = [], []
    for layer in net:
        inputs.append(x)
        x = layer(x).clone()
        x.retain_grad()
        outputs.append(x)
    (x**2).sum().backward()  # type: ignore[no-untyped-call]
    return [grad_of(one) for one in inputs], [grad_of(one) for one in outputs]


@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 3)])
@pytest.mark.parametrize("inplace", [False, True])
def test_gradients(shape: tuple[int, ...], inplace: bool) -> None:
    net, plain = small(inplace), small()
    plain.load_state_dict(net.state_dict())
    x = torch.randn(*shape)
    inputs, outputs = expected_gradients(plain, x.clone().requires_grad_())
    taken, given = BackwardInput().children(net), BackwardOutput().children(net)
    all_taken, all_given = (cls(data_method="batch").children(net) for cls in (BackwardInput, BackwardOutput))
    (net(x.clone().requires_grad_()) ** 2).sum().backward()
    for recorder, whole, expected in ((taken, all_taken, inputs), (given, all_given, outputs)):
        assert [len(slot) for slot in recorder] == [len(slot) for slot in whole] == [1] * 6
        for slot, slots, gradient in zip(recorder, whole, expected, strict=True):
            assert torch.allclose(slot[0], gradient)
            assert torch.allclose(slots[0][0], gradient)
    for mine, other in zip(net.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(grad_of(mine), grad_of(other))


def test_backward_input_of_a_linear_is_no_bias_gradient() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    recorder = BackwardInput().children(net)
    net(torch.randn(5, 3)).sum().backward()
    assert recorder[0] == []  # the input needs no gradient
    assert torch.allclose(recorder[1][0], torch.ones(5, 2) @ weight_of(net[1]))


def test_only_what_comes_through_the_module_counts() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Identity())
    recorder, given = BackwardInput().children(net), BackwardOutput().children(net)
    x = torch.randn(2, 3, requires_grad=True)
    hidden = net[0](x)
    (net[1](hidden) + 5 * hidden + 7 * x).sum().backward()
    assert torch.allclose(recorder[0][0], torch.full((2, 3), 6.0) @ weight_of(net[0]))
    assert torch.allclose(recorder[1][0], torch.ones(2, 3))
    assert torch.allclose(given[1][0], torch.ones(2, 3))
    assert torch.allclose(given[0][0], torch.full((2, 3), 6.0))


def test_each_backward_pass_records_once_and_leaves_keep_no_hooks() -> None:
    net, x = nn.Sequential(nn.Linear(3, 2)), torch.ones(1, 3, requires_grad=True)
    recorder = BackwardInput(reduction=lambda old, new: old + new).children(net)
    for _ in range(3):
        net(x).sum().backward()
    loss = net(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert recorder.samples(0) == 5
    assert torch.allclose(recorder[0], 5 * weight_of(net[0]).sum(0))
    with torch.no_grad():
        net(x)
    assert recorder.samples(0) == 5


class Shifted(nn.Module):
    """Adds a parameter that is viewed first."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.shift.unsqueeze(0)


@pytest.mark.parametrize("cls", [BackwardInput, BackwardOutput])
@pytest.mark.parametrize("method", ["sample", "batch"])
@pytest.mark.parametrize("before", [nn.Identity, nn.Flatten, Shifted])
def test_what_is_done_to_the_gradients_of_leaves_is_not_recorded(
    cls: type[ValueRecorder], method: str, before: type[nn.Module]
) -> None:
    net, x = nn.Sequential(before(), nn.Linear(3, 2)), torch.ones(1, 3, requires_grad=True)
    recorder = cls(data_method=method).children(net)
    for _ in range(2):
        net(x).sum().backward()
        for leaf in (x, *net.parameters()):
            grad_of(leaf).mul_(7)
    for slot in recorder:
        first, second = (value[0] if method == "batch" else value for value in slot)
        assert torch.equal(first, second)


def test_hooks_on_an_output_come_first() -> None:
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), torch.ones(1, 3)
    taken, given = BackwardInput().children(net), BackwardOutput().children(net)
    hidden = net[0](x)
    hidden.register_hook(lambda grad: grad * 2)
    hidden.retain_grad()
    net[1](hidden).sum().backward()
    assert torch.equal(given[0][0], hidden.grad)
    assert torch.equal(taken[1][0] * 2, hidden.grad)


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch calls both kinds unfinished
@pytest.mark.parametrize(
    ("make", "total"),
    [
        (lambda: torch.eye(3).to_sparse(), torch.sparse.sum),
        (lambda: torch.nested.nested_tensor([torch.ones(2, 3)], layout=torch.jagged), lambda x: x.values().sum()),
        (lambda: torch.nested.nested_tensor([torch.ones(2, 3)]), lambda x: x.to_padded_tensor(0).sum()),
    ],
)
@pytest.mark.parametrize("cls", [BackwardInput, BackwardOutput])
def test_tensors_without_strides(cls: type[ValueRecorder], make: Callable[[], Tensor], total: Any) -> None:
    net, x = nn.Sequential(nn.Identity(), nn.Identity()), make().requires_grad_()
    recorder = cls().children(net)
    total(net(x)).backward()
    assert [slot[0].layout for slot in recorder] == [x.layout] * 2


class TwoOutputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0] * 2 + grads[1] * 3


@pytest.mark.parametrize("part", [slice(None), slice(1)])
def test_writing_into_the_second_output_of_an_operation(part: slice) -> None:
    net = nn.ModuleList([nn.ReLU(inplace=True)])
    recorder = BackwardInput().children(net)
    one, two = TwoOutputs.apply(torch.ones(2, 3, requires_grad=True))  # type: ignore[no-untyped-call]
    out = net[0](two[part])
    (one.sum() + 5 * out.sum()).backward()
    assert torch.equal(recorder[0][0], torch.full_like(out, 5))


def test_a_call_that_fails_does_not_spoil_the_next() -> None:
    def forward(x: Tensor) -> Tensor:
        if len(x) > 1:
            raise ZeroDivisionError
        return x.mul_(2)

    net = Gives(forward)
    recorder = BackwardInput().children(net)
    with pytest.raises(ZeroDivisionError):
        net(torch.ones(2, requires_grad=True))
    x = torch.ones(1, requires_grad=True)
    net(x * 3).sum().backward()
    assert recorder[0][0].tolist() == [2]


def test_several_tensors() -> None:
    attention = nn.MultiheadAttention(4, 1)
    net = nn.ModuleList([attention])
    taken, given = BackwardInput(data_method="batch").children(net), BackwardOutput(data_method="batch").children(net)
    first = BackwardInput().children(net)
    query, memory = (torch.randn(3, 2, 4, requires_grad=True) for _ in range(2))
    out, _ = attention(query, value=memory, key=memory)
    out.sum().backward()
    ((of_query, of_key, of_value),) = taken[0]
    assert torch.allclose(of_query, grad_of(query))
    assert torch.allclose(of_key + of_value, grad_of(memory))
    assert torch.equal(first[0][0], of_query)
    ((of_out, of_weights),) = given[0]
    assert torch.equal(of_out, torch.ones_like(out))
    assert of_weights is None


def test_gradients_of_nested_and_keyword_inputs() -> None:
    net = Gives(lambda x: {"sum": x["a"][0] * 2 + x["b"]})
    recorder = BackwardInput(data_method="batch").children(net)
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    net(x={"a": [a], "b": b})["sum"].sum().backward()
    assert [grad.tolist() for grad in recorder[0][0]] == [[2, 2], [1, 1]]


def test_two_heads_with_a_backward_pass_each() -> None:
    trunk, heads = nn.Linear(3, 4), nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
    recorder = BackwardInput().children(heads)
    hidden = trunk(torch.ones(1, 2, 3))
    first, second = heads[0](hidden), heads[1](hidden)
    second.sum().backward(retain_graph=True)
    assert list(recorder.iter_samples()) == [0, 1]
    first.sum().backward()
    assert list(recorder.iter_samples()) == [1, 1]


def test_a_backward_pass_that_fails_does_not_spoil_the_next() -> None:
    net = nn.ModuleList([nn.Bilinear(2, 2, 1)])
    recorder = BackwardInput(data_method="batch").children(net)
    x, y = (torch.ones(1, 2, requires_grad=True) for _ in range(2))

    def fail(grad: Tensor) -> Tensor:
        raise ZeroDivisionError

    before = x * 1
    before.register_hook(fail)  # type: ignore[no-untyped-call]
    with pytest.raises(ZeroDivisionError):
        net[0](before, y).sum().backward()
    net[0](x, y).sum().backward()
    assert recorder.samples(0) == 1


@pytest.mark.parametrize("cls", ALL)
def test_a_copied_network_is_not_recorded(cls: type[ValueRecorder]) -> None:
    net = small()
    recorder = cls().children(net)
    net(torch.randn(1, 3, requires_grad=True)).sum().backward()
    twin = copy.deepcopy(net)
    twin(torch.randn(1, 3, requires_grad=True)).sum().backward()
    assert list(recorder.iter_samples()) == [1] * 6
    assert [len(slot) for slot in recorder] == [1] * 6


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda recorder: pickle.loads(pickle.dumps(recorder))])
def test_a_saved_network_is_not_recorded_and_a_copied_recorder_keeps_its_data(
    cls: type[ValueRecorder], duplicate: Callable[[ValueRecorder], ValueRecorder]
) -> None:
    net = small()
    recorder = cls(condition=lambda: True).children(net)
    twin = pickle.loads(pickle.dumps(net))
    twin(torch.randn(1, 3, requires_grad=True)).sum().backward()
    assert recorder.data == [[]] * 6
    recorder.condition = None
    net(torch.randn(1, 3, requires_grad=True)).sum().backward()
    recorder.apply(lambda slot: [value.detach() for value in slot])
    other = duplicate(recorder)
    net(torch.randn(1, 3, requires_grad=True)).sum().backward()
    assert list(recorder.iter_samples()) == [2] * 6
    assert list(other.iter_samples()) == [1] * 6
    assert torch.equal(other[3][0], recorder[3][0])
    assert len(other.remove(0)) == 1
    other.apply_sample(lambda slot, samples: samples)
    assert other.data == [1] * 5
    assert len(recorder) == 6


# ---- registrators ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [registrators.ForwardPre, registrators.Forward, registrators.Backward])
def test_registrators(cls: Any) -> None:
    seen: list[int] = []

    def hook(*args: Any) -> None:
        seen.append(len(args))

    net = mnist()
    registrator = cls(hook)
    assert [*inspect.signature(cls).parameters] == ["hook"]
    assert registrator.hook is hook
    assert registrator.modules(net, types=(nn.Linear,)) is registrator
    assert len(registrator) == len(registrator.handles) == len([*registrator]) == 3
    net(torch.randn(2, 784)).sum().backward()
    assert seen == [2 if cls is registrators.ForwardPre else 3] * 3
    registrator.remove(0)
    assert len(registrator) == 2
    assert str(registrator) == f"torchrecorder.torchfunc.hooks.registrators.{cls.__name__}"
    assert repr(registrator).startswith(f"{registrator}(hook=<function ")
    net(torch.randn(2, 784)).sum().backward()
    assert len(seen) == 5
    with pytest.raises(IndexError, match=r"^there is no hook 2: this registrator has 2$"):
        registrator.remove(2)
    registrator.remove(0)
    registrator.remove(0)
    assert len(cls(hook).children(net, types=nn.Linear, indices=[0, 1])) == 1


@pytest.mark.parametrize("inplace", [False, True])
def test_backward_hooks_see_inputs_and_outputs(inplace: bool) -> None:
    net, plain = small(inplace), small()
    plain.load_state_dict(net.state_dict())
    x = torch.randn(2, 1, 3)
    inputs, outputs = expected_gradients(plain, x.clone().requires_grad_())
    calls: list[Any] = []
    registrators.Backward(lambda *args: calls.append(args)).children(net)
    (net(x) ** 2).sum().backward()
    assert [module for module, _, _ in calls] == [*reversed(net)]
    for (_, taken, given), before, after in zip(reversed(calls), inputs, outputs, strict=True):
        assert torch.allclose(given[0], after)
        assert taken == (None,) or torch.allclose(taken[0], before)
    assert calls[-1][1] == (None,)


def test_a_backward_hook_may_replace_the_gradient_of_one_input() -> None:
    net, x = nn.Sequential(nn.Linear(3, 2)), torch.ones(1, 3, requires_grad=True)
    registrators.Backward(lambda module, taken, given: (taken[0] * 2,)).children(net)
    net(x).sum().backward()
    assert torch.allclose(grad_of(x), 2 * weight_of(net[0]).sum(0))
    several = nn.ModuleList([nn.Bilinear(2, 2, 1)])
    registrators.Backward(lambda module, taken, given: taken).children(several)
    y = torch.ones(1, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot replace the gradients of Bilinear"):
        several[0](y, y).sum().backward()


def test_hooks_survive_a_forward_that_raises() -> None:
    net = nn.Sequential(nn.Linear(3, 2))
    calls: list[Any] = []
    registrator = registrators.Backward(lambda *args: calls.append(args)).children(net)
    with pytest.raises(RuntimeError):
        net(torch.ones(1, 4))
    net(torch.ones(1, 3)).sum().backward()
    assert len(calls) == 1
    registrator.remove(0)
    assert not net[0]._forward_hooks
    assert not net[0]._forward_pre_hooks


# ---- script modules --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")
@pytest.mark.parametrize("cls", ALL)
def test_a_scripted_child_is_recorded(cls: type[ValueRecorder]) -> None:
    plain, x = small(), torch.randn(2, 3, requires_grad=True)
    net = nn.Sequential(plain[0], torch.jit.script(plain[1:3]), plain[3:])
    expected, recorder = (cls(data_method="batch").children(one) for one in (nn.Sequential(*plain), net))
    for one in (plain, net):
        one(x).sum().backward()
    last = 2 if cls in (ForwardOutput, BackwardOutput) else 1  # of what is one layer here
    (found,), (value,) = recorder[1], expected[last]
    found, value = (one[0] if isinstance(one, tuple) else one for one in (found, value))
    assert torch.allclose(found, value)
    recorder.remove(1)
    assert not net[1]._forward_hooks
    assert not net[1]._forward_pre_hooks


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")
@pytest.mark.parametrize("cls", [registrators.ForwardPre, registrators.Forward, registrators.Backward])
def test_hooks_on_a_scripted_child(cls: Any) -> None:
    seen: list[Any] = []
    net = nn.Sequential(torch.jit.script(nn.Linear(3, 2)))
    registrator = cls(lambda module, *_: seen.append(module)).children(net)
    net(torch.ones(1, 3)).sum().backward()
    assert seen == [net[0]]
    registrator.remove(0)
    net(torch.ones(1, 3))
    assert len(seen) == 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")
def test_children_of_a_script_module_are_an_error_that_says_what_to_do() -> None:
    net = torch.jit.script(mnist())
    text = (
        r"^the script module Sequential runs its children where no hook sees them; take modules\(network, "
        r"indices=\(0,\)\) for the whole, or the network as it was before torch\.jit\.script$"
    )
    with pytest.raises(TypeError, match=text):
        ForwardPre().children(net)
    recorder = ForwardPre().modules(net, indices=(0,))
    net(torch.ones(2, 784))
    assert recorder[0][0].shape == (2, 784)


class Kept(nn.Module):
    """Gives its input in several ways."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    "function", [lambda x: x, lambda x: x.view(-1), lambda x: [x, 1], lambda x: {"x": x[:1]}, lambda x: x.mul_(1)]
)
def test_what_shares_memory_with_an_input_may_be_written_to_after_the_call(function: Callable[[Tensor], Any]) -> None:
    net = nn.ModuleList([Kept(function)])
    recorder = BackwardInput().children(net)
    x = torch.ones(2, 3, requires_grad=True) * 1
    x.retain_grad()
    found = net[0](x)
    out = found["x"] if isinstance(found, dict) else found[0] if isinstance(found, list) else found
    out.mul_(3)
    out.sum().backward()
    assert recorder[0][0].shape == (2, 3)
    assert torch.equal(recorder[0][0].flatten()[:3], torch.full((3,), 3.0))


# ---- moving over -----------------------------------------------------------------------------------------------------

DOORS = """
import torchrecorder
hooks = torchrecorder.torchfunc.hooks
print(hooks.recorders.ForwardPre.__name__, hooks.registrators.Forward.__name__, torchrecorder.scio.recorder.__name__)
"""


def test_the_doors_need_no_import_of_their_own() -> None:
    done = subprocess.run([sys.executable, "-c", DOORS], capture_output=True, text=True, check=True)
    assert done.stdout == "ForwardPre Forward torchrecorder.scio.recorder\n"


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("hooks", ["recorders", "registrators"]),
        ("hooks.recorders", ["BackwardInput", "BackwardOutput", "ForwardInput", "ForwardOutput", "ForwardPre"]),
        ("hooks.registrators", ["Backward", "Forward", "ForwardPre"]),
    ],
)
def test_every_public_name_is_at_its_place(module: str, names: list[str]) -> None:
    found = import_module(f"torchrecorder.torchfunc.{module}")
    assert [name for name in names if not hasattr(found, name)] == []


# ---- the record of the port ------------------------------------------------------------------------------------------


def test_the_port_record() -> None:
    record = tomllib.loads(resources.files("torchrecorder").joinpath("PORTS.toml").read_text(encoding="utf-8"))
    for seed in ("torchfunc", "scio"):
        assert record[seed]["licence"] == "MIT"
        assert record[seed]["version"]
        assert all(entry["name"] and entry["reason"] for entry in record[seed]["deviations"])


def test_public_names() -> None:
    assert sorted(recorders.__all__) == sorted(cls.__name__ for cls in ALL)
    assert registrators.__all__ == ["Backward", "Forward", "ForwardPre"]
