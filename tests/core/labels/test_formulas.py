"""Formulas of what is drawn as one: as a reader would write them, and true, as they compute what the ops did."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.core.proof.test_layout import layered, paper
from tests.core.proof.test_words import written
from torchrecorder.drawing.details import details
from torchrecorder.labels.formulas import bare_arguments, formula, in_short
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.operands import Names
from torchrecorder.layout.model import Layout
from torchrecorder.proof.formulas import faults as formula_faults
from torchrecorder.proof.formulas import is_computed
from torchrecorder.proof.layout import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Node, Span, View, make_view


class Computing(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4) for _ in range(3))
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.q(x), self.k(x), self.v(x))


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "softmax(q @ kᵀ / 2) @ v": lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v,
    "softmax(q @ kᵀ / √18) @ v": lambda q, k, v: torch.softmax(q @ k.mT * 18**-0.5, -1) @ v,
    "(q + k) × v": lambda q, k, v: (q + k) * v,
    "q − (k − v)": lambda q, k, v: q - (k - v),
    "q − k − v": lambda q, k, v: q - k - v,
    "q / (k × v)": lambda q, k, v: q / (k * v),
    "2 − q": lambda q, k, v: 2 - q,
    "q × q + k": lambda q, k, v: q * q + k,
    "(q + k)² × 0.5": lambda q, k, v: (q + k).pow(2) * 0.5,
    "q / √(k² + 1e−5)": lambda q, k, v: q * torch.rsqrt(k.square() + 1e-5),
    "q / √(k + v) − √k": lambda q, k, v: q / (k + v).sqrt() - k**0.5,
    "(|q − k| // 2) × (v % 3)": lambda q, k, v: (q - k).abs() // 2 * (v % 3),
    "k × (−q) + 1 / v": lambda q, k, v: k * -q + v.reciprocal(),
    "attention(q, k, v)": nn.functional.scaled_dot_product_attention,
    "cat(q, k[:, 0:1])": lambda q, k, v: torch.cat([q, k[:, 0:1]], 1),
    "q[:, …] + k": lambda q, k, v: q[:, np.array([0, 2, 1])] + k,
    "softmax(q[0] @ q[1]ᵀ)": lambda q, k, v: torch.softmax(q.chunk(2, -1)[0] @ q.chunk(2, -1)[1].transpose(1, 2), -1),
    "clamp(q, −5, 5)": lambda q, k, v: q.clamp(-5, 5),
    "sum(k, 1) + sum(k, −1)": lambda q, k, v: k.sum(1, keepdim=True) + k.sum(-1, keepdim=True),
    "int64(q) + k": lambda q, k, v: q.long() + k,
    "cat(q, zeros)": lambda q, k, v: torch.cat([q, torch.zeros(1, 3, 4)], 1),
    "q + normal": lambda q, k, v: q + k.mul(0).normal_(),
    "cat(q, new_zeros)": lambda q, k, v: torch.cat([q, q.new_zeros(1, 3, 4)], 1),
    "q[0][topk(sum(k, (0, 2)), 2, largest=False)]": lambda q, k, v: q[0][k.sum((0, 2)).topk(2, largest=False)[1]],
    "argsort(q, −1, descending=True) + k": lambda q, k, v: q.argsort(-1, descending=True) + k,
    "where(q < k, q, v)": lambda q, k, v: torch.where(q < k, q, v),
    "(q ≥ 0.5) × k": lambda q, k, v: (q >= 0.5) * k,
    "q[clamp(int64(k), 0, 0)]": lambda q, k, v: q[k.long().clamp(0, 0)],
    "k[0][topk(q[0, :, 0], 2)]": lambda q, k, v: k[0][q[0, :, 0].topk(2).indices],
    "masked_fill(q, k < 0, −inf)": lambda q, k, v: q.masked_fill(k < 0, float("-inf")),
    "einsum('bij,bkj->bik', q, k)": lambda q, k, v: torch.einsum("bij,bkj->bik", q, k),
}


@pytest.mark.parametrize("written", FORMULAS)
def test_a_formula_is_written_as_a_reader_would(written: str) -> None:
    graph = capture(Computing(FORMULAS[written]).eval(), (torch.ones(1, 3, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(Names(graph), ops, ops[-1], 160) == written
    assert is_computed(graph, [graph.ops[op] for op in ops], written)


def test_what_is_taken_of_a_tensor_is_written_though_no_node_shows_it() -> None:
    """As of a place before a camera, of which two coordinates are divided by the third one."""

    def drawn(function: Callable[..., Tensor]) -> str:
        graph = capture(Computing(function).eval(), (torch.ones(1, 3, 4),))
        ops = [op.id for op in graph.ops if op.call == 0 and op.name != "getitem"]
        return formula(Names(graph), ops, ops[-1], 160)

    assert drawn(lambda q, k, v: -q[..., :2] / q[..., 2:3]) == "(−q[..., :2]) / q[..., 2:3]"
    assert drawn(lambda q, k, v: q[:, None] + k[:, 0:]) == "q + k"  # all of it
    assert drawn(lambda q, k, v: q[:, np.array([1])] + k) == "q[:, …] + k"
    assert drawn(lambda q, k, v: q.view_as(k) + k) == "q + k"

    def often(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        for i in range(3):
            k = k + q[:, i]
        return k + q[:, 1]

    assert drawn(often).count("q[:, 1]") == 1  # another one in each turn has no index


def test_an_index_that_a_node_shows_is_not_written_again() -> None:
    graph = capture(Computing(lambda q, k, v: -q[..., :2] / k[..., 2:3]).eval(), (torch.ones(1, 3, 4),))
    ops, names = [op.id for op in graph.ops if op.call == 0 and op.name != "getitem"], Names(graph)
    names.drawn = [max(op.id for op in graph.ops if op.name == "getitem")]
    assert formula(names, ops, ops[-1], 160) == "(−q[..., :2]) / (·)"


def test_two_outputs_of_an_op_are_told_apart() -> None:
    def scaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        deviation, mean = torch.std_mean(q, dim=1, keepdim=True)
        return (q - mean) / deviation

    graph = capture(Computing(scaled).eval(), (torch.ones(1, 3, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(Names(graph), ops, ops[-1], 160) == "(q − std_mean(q, dim=1)[1]) / std_mean(q, dim=1)[0]"


def test_a_formula_that_is_too_long_is_not_written() -> None:
    graph = capture(Computing(lambda q, k, v: q + k).eval(), (torch.ones(1, 3, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(Names(graph), ops, ops[-1], 4) == ""


# --- random formulas, read by Python and computed again


UNARY: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.exp,
    torch.tanh,
    torch.neg,
    lambda x: x.pow(2),
    lambda x: x**3,
    lambda x: 2 - x,
    lambda x: 2 / x,
    lambda x: x * -0.5,
    lambda x: x * x,
    lambda x: x.clamp(-1, 1),
    lambda x: x.clamp(min=0),
    lambda x: x.transpose(-2, -1),
    lambda x: x.permute(0, 2, 1),
    lambda x: torch.softmax(x, -1),
    lambda x: torch.softmax(x, 1),
    lambda x: x + x.sum(1, keepdim=True),
    lambda x: x + x.mean(dim=-1, keepdim=True),
    lambda x: torch.cat(x.chunk(2, -1)[::-1], -1),
    lambda x: torch.div(x, 2, rounding_mode="floor"),
    lambda x: x % 3,
    torch.abs,
    torch.sqrt,
    torch.rsqrt,
    lambda x: x + x.long(),
)
BINARY: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    torch.add,
    torch.sub,
    torch.mul,
    torch.div,
    torch.matmul,
    torch.maximum,
    lambda x, y: torch.where(x > y, x, 0.5),
    lambda x, y: x * y[:, :1],
)
# An op has each tensor that it reads once, so `maximum(q, q)` is `maximum(q)`: no such trees.
TREES = st.recursive(
    st.sampled_from("qkv"),
    lambda tree: (
        st.tuples(st.sampled_from(UNARY), tree)
        | st.tuples(st.sampled_from(BINARY), tree, tree).filter(lambda found: found[1] != found[2])
    ),
    max_leaves=5,
)


def computed(tree: Any, known: dict[str, Tensor]) -> Tensor:
    return known[tree] if isinstance(tree, str) else tree[0](*(computed(part, known) for part in tree[1:]))


def read(text: str, known: dict[str, Tensor]) -> Tensor:
    """What a reader computes; sums and means keep the axis, which formulas leave unsaid."""
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text)
    signs = {"√": "root**", "×": "*", "−": "-", "ᵀ": ".mT", "²": "**2", "³": "**3", "^": "**"}
    for sign, python in signs.items():
        text = text.replace(sign, python)
    functions = {
        "softmax": lambda x, axis=-1: torch.softmax(x, axis),
        "sum": lambda x, axis=None, dim=None: x.sum(axis if dim is None else dim, keepdim=True),
        "mean": lambda x, axis=None, dim=None: x.mean(axis if dim is None else dim, keepdim=True),
        "cat": lambda *parts: torch.cat(parts, -1),
        "int64": torch.Tensor.long,
        "reciprocal": torch.reciprocal,
        "div": lambda x, y, rounding_mode: torch.div(x, y, rounding_mode=rounding_mode),
        "floor": "floor",
    }
    functions["root"] = _Root()
    functions |= {
        name: getattr(torch, name) for name in ("exp", "tanh", "neg", "clamp", "maximum", "where", "gt", "abs")
    }
    pieces = {name: _Pieces(value) for name, value in known.items()}
    found: Tensor = eval(text, {"__builtins__": {}}, functions | pieces)
    return found


class _Root:
    """`root**x` is the root of `x`."""

    def __pow__(self, value: Tensor) -> Tensor:
        return value.sqrt()


class _Pieces(Tensor):
    """A tensor of which `[0]` is the first of two pieces of its last axis."""

    @staticmethod
    def __new__(cls, value: Tensor) -> _Pieces:
        return value.as_subclass(cls)

    def __getitem__(self, index: Any) -> Any:
        return self.chunk(2, -1)[index] if isinstance(index, int) else super().__getitem__(index)


FALSE = (
    ("q / √(k² + 1e−5)", "q / (k² + 1e−5)"),
    ("q / √(k² + 1e−5)", "q × √(k² + 1e−5)"),
    ("q / √(k² + 1e−5)", "q / √(k² + 1e−4)"),
    ("q / √(k² + 1e−5)", "√(k² + 1e−5) / q"),
    ("q − (k − v)", "q − k − v"),
    ("q / (k × v)", "q / k × v"),
    ("k × (−q) + 1 / v", "k × q + 1 / v"),
    ("(|q − k| // 2) × (v % 3)", "((q − k) // 2) × (v % 3)"),
    ("(|q − k| // 2) × (v % 3)", "(|q − k| / 2) × (v % 3)"),
    ("clamp(q, −5, 5)", "clamp(q, −5, 6)"),
    ("where(q < k, q, v)", "where(q ≤ k, q, v)"),
    ("argsort(q, −1, descending=True) + k", "argsort(q, −1, descending=False) + k"),
    ("attention(q, k, v)", "attention(q, k)"),
    ("softmax(q @ kᵀ / √18) @ v", "softmax(q @ kᵀ / √8) @ v"),
)


@pytest.mark.parametrize(("written", "false"), FALSE)
def test_a_formula_of_something_else_is_not_proved(written: str, false: str) -> None:
    graph = capture(Computing(FORMULAS[written]).eval(), (torch.ones(1, 3, 4),))
    assert not is_computed(graph, [op for op in graph.ops if op.call == 0], false)


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_a_formula_computes_what_the_ops_did(tree: Any) -> None:
    net = Computing(lambda q, k, v: computed(tree, {"q": q, "k": k, "v": v}) * 1.5).eval()
    x = torch.linspace(-1, 2, 16).reshape(1, 4, 4)
    graph = capture(net, (x,))
    ops = [op.id for op in graph.ops if op.call == 0]
    written = formula(Names(graph), ops, ops[-1], 1000)
    assert is_computed(graph, [graph.ops[op] for op in ops], written), written
    known = {name: getattr(net, name)(x).detach() for name in "qkv"}
    expected = net(x).detach()
    torch.testing.assert_close(read(written, known).as_subclass(Tensor), expected, equal_nan=True, msg=written)


def test_a_number_that_is_another_one_elsewhere_is_in_no_formula() -> None:
    graph = capture(Computing(lambda q, k, v: (q + k) * 64).eval(), (torch.ones(1, 3, 4),))
    ops = tuple(op.id for op in graph.ops if op.call == 0)
    node = Node(0, "function", 0, op=ops[-1], ops=ops)
    assert in_short(Names(graph), node, 60) == "(q + k) × 64"
    assert in_short(Names(graph), replace(node, spans=(Span("mul", ("64", "16")),)), 60) == "2 operations"


def gated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    gain = k.exp() + 64
    return q - gain * v


def test_a_number_that_is_another_one_elsewhere_may_be_behind_a_variable() -> None:
    graph = capture(Computing(gated).eval(), (torch.ones(1, 3, 4),))
    ops = tuple(op.id for op in graph.ops if op.call == 0)
    node = Node(0, "function", 0, op=ops[-1], ops=ops, spans=(Span("add", ("64", "16")),))
    assert in_short(Names(graph), replace(node, spans=()), 60) == "q − (exp(k) + 64) × v"
    assert in_short(Names(graph), node, 60) == "q − gain × v · 4 ops: exp"
    assert in_short(Names(graph), replace(node, spans=(Span("mul", ("1", "2")),)), 60) == "4 operations: exp"


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        y = x.sum(1)
        rows = self.q(x)
        for t in range(3):
            y = torch.cat((y, rows[:, t]), -1)
        return y


def test_an_index_of_one_turn_is_in_no_formula() -> None:
    graph = capture(Steps().eval(), (torch.ones(1, 3, 4),))
    ops = tuple(op.id for op in graph.ops if op.name in ("getitem", "cat"))[:2]
    assert formula(Names(graph), ops, ops[-1], 60) == "cat(y, q[:, 0])"
    assert in_short(Names(graph), Node(0, "function", 0, op=ops[-1], ops=ops), 60) == "2 operations: cat"


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        weights = torch.softmax(self.q(x), -1).transpose(1, 2)
        keys = self.k(x).transpose(1, 2)
        return (weights * keys).sum(1)


def test_a_formula_names_what_comes_from_outside_alone() -> None:
    graph = capture(Weighted().eval(), (torch.ones(1, 4, 4),))
    ops = [op.id for op in graph.ops if op.call == 0]
    assert formula(Names(graph), ops, ops[-1], 60) == "sum(softmax(q)ᵀ × keys, 1)"
    assert formula(Names(graph), ops[-2:], ops[-1], 60) == "sum(weights × keys, 1)"


def test_a_tensor_without_a_name_has_none_in_a_formula() -> None:
    graph = capture(
        Computing(lambda q, k, v: (torch.sin(q).exp() + torch.cos(k).exp()) * v).eval(), (torch.ones(1, 3, 4),)
    )
    *_, product = (op.id for op in graph.ops if op.call == 0)
    total = graph.ops[product].inputs[0]
    made = graph.values[total].producer
    assert formula(Names(graph), [product], product, 60) == "(·) × v"
    assert made is not None
    assert "…" in formula(Names(graph), [product, made], product, 60)


def merged(branch: Tensor, trunk: Tensor, bias: Tensor) -> Tensor:
    return torch.einsum("bi,ni->bn", branch, trunk) + bias


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.exp() + 1, x.tanh() * 2


class Snake(nn.Module):
    def __init__(self, power: int) -> None:
        super().__init__()
        self.alpha, self.power = nn.Parameter(torch.ones(4)), power

    def forward(self, x: Tensor) -> Any:
        return (x + torch.sin(self.alpha * x).pow(self.power) / self.alpha).view(-1, 4)


class Closed(nn.Module):
    """Functions and layers that are closed in a picture of depth 1, and compute what a line has room to say."""

    def __init__(self, power: int) -> None:
        super().__init__()
        self.first, self.branch, self.trunk = (nn.Linear(4, 4) for _ in range(3))
        self.bias = nn.Parameter(torch.zeros(3))
        self.act, self.later = Snake(2), Snake(power)

    def forward(self, x: Tensor) -> Any:
        x, y = halves(self.act(self.first(self.later(x))))
        return merged(self.branch(x), self.trunk(y), self.bias)


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


def test_a_long_formula_of_a_function_is_left_to_the_panel() -> None:
    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Any:
            return self.last(turned(self.first(x), cosine, sine))

    view = make_view(capture(Rotary().eval(), (torch.ones(3, 8),) * 3), DrawingOptions())
    said = {label.name: label.line for label in map(Labels(view).node, view.nodes)}
    assert said["turned()"] == ""
    assert "cat(−second, first[0]) × sine" in details(view)  # `first` is the name of a layer there


class Tokens(nn.Module):
    """A patch encoder whose tokens and places are put to the patches in a method."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.last = nn.Linear(8, 8), nn.Linear(8, 8)
        self.class_token, self.teacher_token = (nn.Parameter(torch.zeros(1, 1, 8)) for _ in range(2))
        self.places = nn.Parameter(torch.zeros(1, 5, 8))

    def placed(self, patches: Tensor) -> Tensor:
        tokens = (token.expand(len(patches), -1, -1) for token in (self.class_token, self.teacher_token))
        return torch.cat((*tokens, patches), 1) + self.places

    def forward(self, x: Tensor) -> Any:
        return self.last(self.placed(self.embed(x)))


def test_a_function_says_the_tokens_that_it_puts_to_the_patches() -> None:
    view = make_view(capture(Tokens().eval(), (torch.ones(2, 3, 8),)), DrawingOptions())
    said = {label.name: label.line for label in map(Labels(view).node, view.nodes)}
    assert said["placed()"] == "cat(class_token, teacher_token, embed) + places"
    assert faults(view, paper(view)) == ()


class Tone:
    """The mean and the deviation of features."""

    def __init__(self, mean: Tensor, deviation: Tensor) -> None:
        self.mean, self.deviation = mean, deviation

    @classmethod
    def of(cls, x: Tensor) -> Tone:
        variance, mean = torch.var_mean(x, 1, keepdim=True)
        return cls(mean, (variance + 1e-5).sqrt())


def test_a_method_of_another_class_has_its_name_and_says_what_it_runs() -> None:
    class Toned(Tokens):
        def forward(self, x: Tensor) -> Any:
            tone = Tone.of(self.embed(x))
            return self.last(x * tone.deviation), self.last(x + tone.mean)

    view = make_view(capture(Toned().eval(), (torch.ones(2, 3, 8),)), DrawingOptions())
    said = {label.name: label.line for label in map(Labels(view).node, view.nodes)}
    assert said["Tone.of()"] == "3 operations: var_mean, sqrt"
    assert faults(view, paper(view)) == ()


class Merge(nn.Module):
    def forward(self, levels: list[Tensor]) -> Any:
        return torch.stack(levels).sum(dim=0)


def test_a_closed_layer_names_the_ops_whose_formula_cannot_be_written() -> None:
    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.levels, self.merge = nn.ModuleList(nn.Linear(8, 8) for _ in range(3)), Merge()

        def forward(self, x: Tensor) -> Any:
            return self.merge([level(x.sin()) for level in self.levels]).relu()

    view = make_view(capture(Pyramid().eval(), (torch.ones(2, 8),)), DrawingOptions())
    layout = paper(view)
    assert ("merge", "Merge · 2 operations: stack, sum") in [Labels(view).node(node)[:2] for node in view.nodes]
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, "stack, sum", "stack, mean"))
    assert "names mean, which" in wrong


class Restore(nn.Module):
    def forward(self, mask: Tensor, sound: Tensor) -> Any:
        unbounded = torch.atanh((mask / 10).clamp(-0.999, 0.999)) * 20
        louder = (unbounded.exp().abs() + 1).log().mT
        return torch.tanh(louder * sound)


class Frames(nn.Module):
    def forward(self, sound: Tensor) -> Any:
        frames = nn.functional.pad(sound, (8, 8)).unfold(1, 16, 4).exp().log1p()
        deviation, mean = torch.std_mean(frames, dim=-1, keepdim=True)
        return (frames - mean) / deviation.clamp(min=1e-8)


def test_variables_of_several_outputs_are_told_apart() -> None:
    net = nn.Sequential(Frames(), nn.Flatten(0, 1), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 4))
    view = make_view(capture(net, (torch.ones(2, 64),)))
    said = [label.line for label in map(Labels(view).node, view.nodes) if label.name == "div"]
    assert said == ["(log1p(exp(·)) − mean) / clamp(deviation, min=1e−8) · 6 ops: std_mean"]
    layout = paper(view)
    assert faults(view, layout) == ()
    assert "names median, which" in faults(view, written(layout, "− mean", "− median"))[0]
    (wrong,) = faults(view, written(layout, ": std_mean", ""))
    assert "6 ops” at" in wrong


def test_a_long_formula_has_variables_in_place_of_what_they_hold() -> None:
    class Masking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.widen, self.restore, self.out = nn.Linear(8, 8), Restore(), nn.Linear(8, 8)

        def forward(self, sound: Tensor) -> Any:
            return self.out(self.restore(self.widen(sound), sound))

    view = make_view(capture(Masking().eval(), (torch.ones(8, 8),)), DrawingOptions(depth=1))
    layout = paper(view)
    said = {label.name: label.line for label in map(Labels(view).node, view.nodes)}
    assert said["restore"] == "Restore · tanh(log(|exp(unbounded)| + 1)ᵀ × sound) · 11 ops: atanh"
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, "11 ops", "12 ops"))
    assert "says another number of ops" in wrong
    first, second = faults(view, written(layout, "unbounded", "quieter"))
    assert "names quieter, which" in first
    assert "is not what is computed there" in second


@pytest.mark.parametrize("power", [2, 3])
def test_what_is_closed_says_its_formula(power: int) -> None:
    view = make_view(capture(Closed(power).eval(), (torch.ones(3, 4),)), DrawingOptions(depth=1))
    said = {label.name: label.line for label in map(Labels(view).node, view.nodes)}
    assert said["merged()"] == "einsum('bi,ni->bn', branch, trunk) + bias"
    assert said["halves()"] == "4 operations: exp, tanh"  # it gives two tensors
    of_all = "x + sin(alpha × x)² / alpha · " if power == 2 else ""  # no layer of the class computes anything else
    assert said["act"] == f"Snake · {of_all}4 params"


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize(
    ("true", "lie"),
    [(r"\+ sin", "− sin"), (r"\+ bias", "− bias"), (r"alpha × x", "alpha + x"), (r"trunk\) ", "trunk ")],
)
def test_formulas_at_layers_and_functions_are_computed_again(
    kind: Callable[[View], Layout], true: str, lie: str
) -> None:
    view = make_view(capture(Closed(2).eval(), (torch.ones(3, 4),)), DrawingOptions(depth=1))
    layout = kind(view)
    assert faults(view, layout) == ()
    changed = written(layout, true, lie)
    assert changed != layout
    wrong = faults(view, changed)
    assert wrong
    assert all("is not what is computed there" in fault for fault in wrong)


def test_a_formula_in_the_brackets_of_an_op_keeps_them_if_it_is_one_argument() -> None:
    assert bare_arguments("mean(q − k[:, 0])", "mean") == "mean(q − k[:, 0])"
    assert bare_arguments("cat(q, k[:, 0]) · 5 ops", "cat") == "q, k[:, 0] · 5 ops"


def both_turned(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return turned(q, cos, sin), turned(k, cos, sin)


def one_turned_back(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return turned(q, cos, sin), turned(k, sin, cos)


class Turning(nn.Module):
    def __init__(self, turn: Callable[..., tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.turn, self.to_q, self.to_k, self.last = turn, *(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Any:
        q, k = self.turn(self.to_q(x), self.to_k(x), cos, sin)
        return self.last(q @ k.mT)


def test_a_function_of_two_tensors_says_the_one_and_that_the_other_is_likewise() -> None:
    """As rotary positions of queries and keys."""
    known = torch.ones(2, 4, 4), torch.ones(4, 4), torch.ones(4, 4)
    options = DrawingOptions(depth=1)
    view = make_view(capture(Turning(both_turned).eval(), known), options)
    layout = paper(view)
    assert "to_q × cos + cat(−second, first) × sin · to_k likewise" in [Labels(view).node(it).line for it in view.nodes]
    assert faults(view, layout) == ()
    assert any(
        "names quieter, which" in fault for fault in faults(view, written(layout, "to_k likewise", "quieter likewise"))
    )
    (wrong,) = faults(view, written(layout, "to_k likewise", "sin likewise"))
    assert "“sin likewise” at" in wrong
    unlike = make_view(capture(Turning(one_turned_back).eval(), known), options)
    assert not any("likewise" in Labels(unlike).node(node).line for node in unlike.nodes)
    (node,) = (node for node in unlike.nodes if node.kind == "function")
    assert [*formula_faults(unlike.graph, node, ("turn()", "to_q × cos + cat(−second, first) × sin", "to_k likewise"))]


def centred(x: Tensor, width: Tensor) -> Tensor:
    return 2 * x / width - 1


class Scaled(nn.Module):
    """Coordinates between limits, which the source computes with and has no name for."""

    low: Tensor
    high: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 4)
        self.register_buffer("low", torch.zeros(4))
        self.register_buffer("high", torch.ones(4))

    def forward(self, x: Tensor) -> Any:
        return self.last(centred(x - self.low, self.high - self.low))


def test_what_is_not_drawn_and_has_no_name_is_written_out() -> None:
    view = make_view(capture(Scaled().eval(), (torch.ones(3, 4),)), DrawingOptions())
    layout = paper(view)
    assert "(·) × 2 / (high − low) − 1" in [Labels(view).node(node).line for node in view.nodes]
    assert faults(view, layout) == ()
    assert any(
        "is not what is computed" in fault for fault in faults(view, written(layout, "high − low", "high + low"))
    )


class Trimmed(nn.Module):
    """A layer of which only so many places are kept."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.q, self.n = nn.Linear(4, 4), n

    def forward(self, x: Tensor) -> Any:
        return torch.cat((self.q(x)[:, : self.n], x), 1)


@pytest.mark.parametrize(("n", "written"), [(2, "cat(q[:, :2], x)"), (3, "…")])
def test_an_index_that_another_layer_has_not_is_not_written(n: int, written: str) -> None:
    """Upsamplers of a HunyuanVideo keep half of their channels, and the formula said the half of the first."""
    graph = capture(nn.Sequential(Trimmed(2), Trimmed(n)), torch.zeros(2, 4, 4))
    ops = tuple(op.id for op in graph.ops if op.name in ("getitem", "cat"))[:2]
    assert written in formula(Names(graph), ops, ops[-1], 60, graph.ops[ops[-1]].call)
