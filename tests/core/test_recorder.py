"""The classic recorder, where the original breaks."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

import torchrecorder
from tests.core.recording.nets import Net
from torchrecorder import BaseRenderer, Recorder, errors, make_dot, record
from torchrecorder.nodes import LayerNode, TensorNode
from torchrecorder.recorder import leaf_dummy, op_acc, param_acc, posthook, prehook, tensor_acc

X = torch.ones(2, 3)


@dataclass
class Pair:
    first: Tensor
    second: Any = None


def named_edges(rec: Recorder) -> set[tuple[str, str]]:
    return {(rec.nodes[tail].name.split("\n")[0], rec.nodes[head].name.split("\n")[0]) for tail, head in rec.edges}


def reached(rec: Recorder, start: str) -> set[str]:
    edges, found, pending = named_edges(rec), {start}, [start]
    while pending:
        tail = pending.pop()
        new = {head for other, head in edges if other == tail} - found
        found |= new
        pending += new
    return found


def no_grad(net: Any, x: Tensor) -> Any:
    with torch.no_grad():
        return net.b(net.a(x) * 2)


def chain(net: Any, x: Tensor) -> Any:
    for _ in range(2000):
        x = x + 1
    return x


def linears() -> dict[str, nn.Module]:
    return {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}


class Nested(nn.Module):
    def forward(self, items: Any, nothing: None, number: int, *, pair: Pair) -> Any:
        return {"sum": items[0] + items[1]["key"], "pair": Pair(pair.first * number), "none": nothing}


ids = torch.tensor([[1, 2, 0]])
CASES: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "lstm": (lambda: Net(lambda net, x: net.r(x)[0][:, -1], r=nn.LSTM(3, 4, batch_first=True)), torch.ones(2, 5, 3)),
    "lstm alone": (lambda: nn.LSTM(3, 4), torch.ones(2, 5, 3)),
    "attention": (lambda: nn.MultiheadAttention(8, 2), (torch.ones(5, 1, 8),) * 3),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), torch.ones(5, 1, 8)),
    "transformer in eval mode": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval(),
        torch.ones(1, 5, 8),
    ),
    "embedding": (lambda: nn.Embedding(4, 3), ids),
    "argmax": (lambda: Net(lambda net, x: net.e(net.a(x).argmax(-1)), e=nn.Embedding(3, 2), **linears()), X),
    "no_grad": (lambda: Net(no_grad, **linears()), X),
    "detach": (lambda: Net(lambda net, x: net.b(net.a(x).detach()), **linears()), X),
    "numpy": (lambda: Net(lambda net, x: torch.from_numpy(net.a(x).numpy() * 2), **linears()), X),
    "chain": (lambda: Net(chain), X),
    "identity": (lambda: Net(lambda net, x: net.a(net.i(x)), i=nn.Identity(), **linears()), X),
    "identity alone": (nn.Identity, X),
    "dropout in eval mode": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Dropout()).eval(), X),
    "captured": (lambda: Net(lambda net, x: x + net.c, c=torch.ones(3, requires_grad=True)), X),
    "frozen": (lambda: nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 3)), X),
    "same twice": (lambda: Net(lambda net, x: [x.relu()] * 2), X),
    "bool": (lambda: Net(lambda net, x: x > 0), X),
    "scalar": (lambda: Net(lambda net, x: net.a(x).sum(), **linears()), X),
    "vmap": (lambda: Net(lambda net, x: torch.cos(torch.vmap(net.a)(x)), **linears()), X),
    "jvp": (lambda: Net(lambda net, x: torch.func.jvp(net.a, (x,), (torch.ones_like(x),))[0] + 1, **linears()), X),
    "nested": (
        lambda: Net(lambda net, x: net.n([x, {"key": net.a(x)}], None, 3, pair=Pair(x)), n=Nested(), **linears()),
        X,
    ),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script")  # torch.func.jvp uses it
@pytest.mark.parametrize("case", CASES)
def test_inputs_reach_outputs_and_every_depth_is_drawn(case: str) -> None:
    make, data = CASES[case]
    net = make()
    rec = record(net, "Net", None, data)
    outputs = {node.name for node in rec.nodes.values() if node.name.startswith("Output")}
    inputs = {node.name for node in rec.nodes.values() if node.name.startswith("Input")}
    assert outputs
    assert all(reached(rec, start) & outputs for start in inputs)
    for depth in (0, 1, 2, 256):
        assert make_dot(rec, depth).source == make_dot(record(net, "Net", None, data), depth).source
    assert {node.depth for node in rec.nodes.values() if node.name != "ContextDummy"} <= set(range(6))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


def test_what_autograd_does_not_follow_is_a_step() -> None:
    edges = named_edges(record(*_case("argmax")))
    assert {("Tensor-2", "argmax"), ("argmax", "Tensor-3"), ("Tensor-3", "EmbeddingBackward0")} <= edges
    assert ("weight", "AddmmBackward0") in named_edges(record(*_case("frozen")))
    assert ("Input", "EmbeddingBackward0") in named_edges(record(*_case("embedding")))
    assert {("a", "Output")}.isdisjoint(named_edges(record(*_case("no_grad"))))


def _case(name: str) -> tuple[nn.Module, str, None, Any]:
    make, data = CASES[name]
    return make(), "Net", None, data


def test_foreign_parameters_stand_in_their_module() -> None:
    net = nn.MultiheadAttention(8, 2)
    rec = record(net, "Net", [(5, 1, 8)] * 3)
    node = rec.nodes[net.out_proj.weight]
    assert (node.name, node.depth, node.parent) == ("weight", 2, net.out_proj)


def test_a_shared_module_has_one_node_and_operations_in_both_parents() -> None:
    shared = nn.Linear(3, 3)
    net = nn.Sequential(nn.Sequential(shared, nn.ReLU()), nn.Sequential(nn.Tanh(), shared))
    rec = record(net, "Net", (2, 3))
    assert sum(isinstance(node, LayerNode) and node.fn is shared for node in dict.fromkeys(rec.nodes.values())) == 1
    assert rec.fn_types["AddmmBackward0"] == 2


def test_writes_in_place_are_what_they_are_without_a_recorder() -> None:
    seen: list[Tensor] = []

    def body(net: Any, x: Tensor) -> Tensor:
        y = x * 2 - 4
        net.relu(y)
        y += 1
        seen.append(y.detach().clone())
        return y

    net = Net(body, relu=nn.ReLU(inplace=True))
    expected = net(X).clone()
    rec = record(net, "Net", None, X)
    assert torch.equal(seen[0], expected)
    assert torch.equal(seen[1], expected)
    assert ("ReluBackward0", "AddBackward0") in named_edges(rec)


def test_nothing_is_changed() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 3)).eval()
    net[1].train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    pointers = [value.data_ptr() for value in net.state_dict().values()]
    x, rng, state = torch.ones(4, 3), torch.get_rng_state(), random.getstate()
    rec = record(net, "Net", None, x)
    assert rec.nodes[x].fn is x
    assert not x.requires_grad
    assert [module.training for module in net.modules()] == [False, False, True, False]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert [value.data_ptr() for value in net.state_dict().values()] == pointers
    assert torch.equal(torch.get_rng_state(), rng)
    assert random.getstate() == state


def test_a_forward_cannot_write_to_the_users_input() -> None:
    x, n = torch.ones(3), torch.ones(3, dtype=torch.int64)
    record(Net(lambda net, x, n: (x.mul_(2), n.add_(1))), "Net", None, (x, n))
    assert x.sum() == n.sum() == 3


def test_render_network_records_in_training_mode_and_restores(tmp_path: Path) -> None:
    modes: list[bool] = []

    def body(net: Any, x: Tensor) -> Any:
        modes.append(net.training)
        return net.a(x)

    net = Net(body, **linears()).eval()
    torchrecorder.render_network(
        net, "Net", (1, 3), str(tmp_path), filename="my picture", fillcolor="red", shape="oval"
    )
    assert modes == [True]
    assert not net.training
    text = (tmp_path / "my picture.svg").read_text(encoding="utf-8")
    assert text.count('fill="red"') == 4  # Input, a, b, Output; not the cluster
    assert [path.name for path in tmp_path.iterdir()] == ["my picture.svg"]


@pytest.mark.parametrize("fmt", ["svg", "png"])
def test_pictures_need_no_system_graphviz(fmt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    torchrecorder.render_network(nn.Linear(3, 3), "Net", (1, 3), str(tmp_path), fmt=fmt)
    assert (tmp_path / f"Net-1.{fmt}").stat().st_size > 1000
    assert b"<svg" in make_dot(record(nn.Linear(3, 3), "Net", (1, 3))).pipe("svg")


def test_hooks_go_after_an_exception() -> None:
    def body(net: Any, x: Tensor) -> Tensor:
        net.a(x)
        raise ZeroDivisionError

    net = Net(body, **linears())
    with pytest.raises(ZeroDivisionError):
        record(net, "Net", (1, 3))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


def test_an_exception_that_the_forward_catches_is_no_harm() -> None:
    def body(net: Any, x: Tensor) -> Any:
        try:
            net.bad(x)
        except ZeroDivisionError:
            return net.a(x)

    def bad(net: Any, x: Tensor) -> Tensor:
        raise ZeroDivisionError

    rec = record(Net(body, bad=Net(bad), **linears()), "Net", (1, 3))
    assert "Output" in reached(rec, "Input")


@pytest.mark.parametrize("shapes", [None, "abc", 3, ((1, 3), (1, 3)), [1, 3], [(1, 3), "a"], [(-1, 3)]])
def test_bad_shapes_are_refused_with_advice(shapes: Any) -> None:
    for builtin in (TypeError, ValueError):
        with pytest.raises(builtin, match="a list of tuples those of several"):
            record(nn.ReLU(), "Net", shapes)


@pytest.mark.parametrize(
    ("shapes", "data", "names"),
    [
        ((2, 3), None, ["Input"]),
        (torch.Size((2, 3)), None, ["Input"]),
        ([(2, 3)], None, ["Input-1"]),
        (None, X, ["Input"]),
        (None, (X,), ["Input-1"]),
        (None, [X], ["Input-1"]),
    ],
)
def test_a_list_is_several_inputs_and_a_tuple_of_sizes_one(shapes: Any, data: Any, names: list[str]) -> None:
    rec = record(nn.ReLU(), "Net", shapes, data)
    assert [node.name for node in dict.fromkeys(rec.nodes.values()) if node.name.startswith("Input")] == names


class Detector(nn.Module):
    """Takes a list of images, as detection models do."""

    def forward(self, images: Any, targets: Any = None) -> Any:
        for image in images:
            if image.dim() != 3:
                raise ValueError("an image has three axes")
        return images[0] * 2


class Annotated(Detector):
    def forward(self, images: list[Tensor], targets: Any = None) -> Any:
        return torch.stack(images)


@pytest.mark.parametrize("net", [Detector(), Annotated()], ids=["by trying", "by its signature"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_list_is_one_input_of_a_forward_that_takes_a_list(net: nn.Module, number: int) -> None:
    rec = record(net, "Net", None, [torch.ones(3, 4, 4)] * number)
    assert "Output" in reached(rec, "Input-1")


def test_a_list_that_is_understood_neither_way_is_answered_with_the_call_to_write() -> None:
    with pytest.raises(ValueError, match="three axes") as caught:
        record(Detector(), "Net", None, [torch.ones(4)])
    (note,) = caught.value.__notes__
    assert "input_data=([...],) is one input that is a list" in note


@pytest.mark.filterwarnings("ignore:`torch.jit.:DeprecationWarning")
def test_script_modules_are_recorded_by_the_hooks_of_all_modules() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    frozen = torch.jit.freeze(torch.jit.script(nn.Linear(3, 3).eval()))
    traced = torch.jit.trace(nn.Sequential(nn.Linear(3, 3)), torch.ones(1, 3))  # type: ignore[no-untyped-call]
    for net in (scripted, nn.Sequential(scripted, nn.ReLU()), nn.Sequential(nn.Linear(3, 3), frozen), traced):
        rec = record(net, "Net", (1, 3))
        assert "Output" in reached(rec, "Input")
        assert not _global_forward_hooks
        assert not _global_forward_pre_hooks
    rec = record(scripted, "Net", (1, 3))
    assert {("0.weight", "TBackward0"), ("0.bias", "AddmmBackward0"), ("ReluBackward0", "Output")} < named_edges(rec)


def test_a_namespace_is_opened() -> None:
    inner = Net(lambda net, x: SimpleNamespace(sum=net.a(x), number=1), **linears())
    rec = record(Net(lambda net, x: SimpleNamespace(y=net.n(x).sum + 1), n=inner), "Net", (2, 3))
    edges = named_edges(rec)
    assert {("AddmmBackward0", "Tensor-2"), ("Tensor-2", "AddBackward0"), ("AddBackward0", "Output-1")} <= edges


def test_gradients_are_on_whatever_the_caller_has() -> None:
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert ("AddmmBackward0", "Output") in named_edges(record(nn.Linear(3, 3), "Net", (1, 3)))


def test_a_forward_may_call_autograd() -> None:
    def body(net: Any, x: Tensor) -> Tensor:
        x = x * 1
        (slope,) = torch.autograd.grad(net.a(x).sum(), x, create_graph=True)
        return slope + x

    assert "Output" in reached(record(Net(body, **linears()), "Net", (1, 3)), "Input")


def test_accumulators_by_hand() -> None:
    rec, net, x = Recorder(), nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True)
    rec.add_node(net, name="Net")
    node = rec.nodes[net]
    assert isinstance(node, LayerNode)
    rec.add_node(x, name="x")
    dummy = leaf_dummy(x, rec)
    assert rec.nodes[dummy] is rec.nodes[dummy.grad_fn] is rec.nodes[x]
    y = (dummy * 2).relu()
    op_acc(y.grad_fn, rec, node)
    tensor_acc(y, rec, node)
    param_acc(net.weight, rec, node)
    assert named_edges(rec) == {("x", "MulBackward0"), ("MulBackward0", "ReluBackward0")}
    assert [rec.nodes[fn].name for fn in (y, net.weight)] == ["Tensor-2", "Parameter"]
    assert (rec.nodes[y].depth, rec.nodes[net.weight].depth, rec.nodes[y.grad_fn].depth) == (0, 1, 1)
    assert op_acc(None, rec, node) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: (x,), lambda x: [x]], ids=["tensor", "tuple", "list"])
def test_hooks_by_hand(wrap: Callable[[Tensor], Any]) -> None:
    rec, net = Recorder(), nn.Linear(3, 3)
    rec.register_hooks(net, name="Net")
    rec.remove_hooks()
    rec.remove_hooks()
    node = rec.nodes[net]
    assert isinstance(node, LayerNode)
    inputs = prehook(net, wrap(X), rec, node)
    assert type(inputs) is type(wrap(X))
    (x,) = (inputs,) if isinstance(inputs, Tensor) else inputs
    outputs = posthook(net, inputs, wrap(net(x)), rec, node)
    assert type(outputs) is type(wrap(X))
    assert ("AddmmBackward0", "Tensor-2") in named_edges(rec)


def test_errors_keep_their_builtin() -> None:
    rec = Recorder()
    with pytest.raises(RuntimeError, match="Cannot create node for 3"):
        rec.add_node(3)
    with pytest.raises(AssertionError, match="Cannot draw edge involving"):
        rec.add_edge(X, None)
    with pytest.raises(KeyError):
        rec.add_dummy(X, torch.ones(1))
    with pytest.raises(errors.NotRecorded):
        rec.add_node(X, parent=nn.ReLU())
    with pytest.raises(errors.NotRecorded):
        leaf_dummy(X, rec)


def test_styles_take_any_attribute_and_any_node() -> None:
    class Mine(TensorNode):
        pass

    styler = torchrecorder.GraphvizStyler(fillcolor="red", shape="oval", penwidth=2)
    assert {style["fillcolor"] for style in styler.styles.values()} == {"red"}
    assert styler.style_node(Mine("mine", X))["label"] == "mine\n[2, 3]"
    assert styler.style_node(TensorNode("none"))["label"] == "none"
    assert "penwidth=2" in make_dot(record(nn.ReLU(), "<b>", (1, 3)), 0, penwidth=2).source
    assert 'label="<b>"' in make_dot(record(nn.ReLU(), "<b>", (1, 3)), 0).source


def test_a_style_that_is_none_is_not_given() -> None:
    rec = record(nn.ReLU(), "Net", (1, 3))
    assert torchrecorder.GraphvizStyler(style=None).styles == torchrecorder.GraphvizStyler().styles
    assert make_dot(rec, 1, fontname=None, color=None, tooltip=None).source == make_dot(rec, 1).source


def test_a_module_is_hooked_by_add_node_and_hooks_can_be_put_back() -> None:
    rec, net = Recorder(), nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    rec.add_node(net[1], name="relu")
    rec.register_hooks(net, name="Net")
    for module in net.modules():
        node = rec.nodes[module]
        (before,), (after,) = module._forward_pre_hooks.values(), module._forward_hooks.values()
        assert isinstance(node, LayerNode)
        assert isinstance(before, functools.partial)
        assert isinstance(after, functools.partial)
        assert (before.func, after.func) == (prehook, posthook)
        assert before.keywords == after.keywords == {"rec": rec, "node": node}
        assert node.pre is not None is not node.post
    rec.remove_hooks()
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in net.modules())
    rec.register_hooks(net, name="Net")
    rec.add_node(x := torch.ones(2, 3, requires_grad=True), name="x")
    net(x)
    rec.remove_hooks()
    assert ("x", "AddmmBackward0") in named_edges(rec)


class AsBefore(BaseRenderer):
    """Written after 1.0.3's GraphvizRenderer, which takes out what it has rendered."""

    def render_node(self, dest: Any, node: Any) -> None:
        if isinstance(node, LayerNode) and node.depth < self.render_depth:
            self.render_recursive_node(dest, node)
        else:
            dest.append(node.name)

    def render_recursive_node(self, dest: Any, node: Any) -> None:
        inner: list[Any] = [node.name]
        for fn in node.subnets:
            self.render_node(inner, self.rec.nodes[fn])
        for fn in node.subnets:
            child = self.rec.nodes[fn]
            for head in self.processed[child]:
                self.render_edge(inner, child, head)
            self.processed.pop(child)
        dest.append(inner)

    def render_edge(self, dest: Any, fnode: Any, tnode: Any) -> None:
        dest.append(f"{fnode.name} -> {tnode.name}")


def test_a_renderer_may_take_out_what_it_has_rendered() -> None:
    renderer = AsBefore(record(nn.Sequential(nn.ReLU()), "Net", (1, 3)), 1)
    for _ in range(2):
        nested, *rest = renderer([])
        assert nested[0] == "Net"
        assert sorted(nested[1:]) == ["0\n(ReLU)", "0\n(ReLU) -> Output"]
        assert rest == ["Input", "Input -> 0\n(ReLU)", "Output"]
    assert len(renderer.processed) == 4
