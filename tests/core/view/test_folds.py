"""Arithmetic in patches, equal columns, lists used together, layers given to others, and what readers ask of these."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.proof.test_proof import proved, recorded
from tests.core.recording.nets import record
from tests.core.view.seeing import boxes, edges, shown
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph, Module
from torchrecorder.graph.model import ParamCount
from torchrecorder.labels.labels import Labels
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import USUAL, DrawingOptions
from torchrecorder.view import View, Views, make_view

# --- patches


def formula(n: int, *, with_layer: bool = False) -> Graph:
    """A layer, ops in a row, and another layer; one more between the ops if asked for."""
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    for i in range(n):
        x = net.op("exp", x)
        if with_layer and i == n // 2:
            x = net.layer("mid", "Linear", x, params=8)
    return net.graph(net.layer("leave", "Linear", x, params=8))


def words(view: View) -> list[str]:
    labels = Labels(view)
    nodes = (node for node in view.nodes if node.kind not in ("input", "output"))
    return [" | ".join(filter(None, labels.node(node)[:2])) for node in nodes]


def test_more_than_five_ops_are_one_node_by_the_name_of_the_last() -> None:
    assert words(make_view(formula(6)))[1] == "exp | exp(exp(exp(exp(exp(exp(enter))))))"
    assert words(make_view(formula(5)))[1:-1] == ["exp"] * 5


def gated(n: int, *, after: int = 0) -> Graph:
    """Ops in a row, among them a softmax, and `after` them layers that differ from one another."""
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    for i in range(n):
        x = net.op("softmax" if i == 1 else "log1p", x)
    for i in range(after):
        x = net.op("roll", net.layer(f"leave{'abcdefghijklmnopqrstuvwxyz'[i]}", f"Linear{i}", x, params=8 + i))
    return net.graph(x)


def test_a_long_patch_says_which_of_its_ops_tell_what_it_does() -> None:
    assert words(make_view(formula(16)))[1] == "exp | 16 operations: exp ×16"
    assert words(make_view(formula(400), DrawingOptions(depth=1)))[1] == "exp | 400 operations: exp ×400"
    assert words(make_view(gated(7, after=17)))[1].startswith("log1p | log1p(log1p(")


def test_a_patch_that_weighs_is_drawn_op_by_op_if_there_is_room() -> None:
    assert shown(make_view(gated(7, after=3)))[2:9] == ["log1p", "softmax", *["log1p"] * 5]
    full = make_view(gated(7, after=17))
    assert [node.kind for node in full.nodes if node.box is not None][1] == "function"
    assert faults(full) == ()


def with_core(n: int) -> Graph:
    """A block that is opened, layers that differ from one another, and three ops."""
    net = Net(params=1000)
    x = net.input("x", 1, 8)
    with net.call("core", "Core", params=700):
        for i in range(6):
            x = net.op("add", x, net.layer(f"core.{'abcdef'[i]}", f"Layer{i}", x, params=100))
    net.modules["core"] = replace(net.modules["core"], cls="pkg.Core")
    for i in range(n):
        x = net.op("roll", net.layer(f"part{'abcdefghij'[i]}", f"Part{i}", x, params=8 + i))
    for _ in range(3):
        x = net.op("exp", x)
    return net.graph(x)


def test_a_few_ops_are_one_node_in_a_full_picture() -> None:
    assert words(proved(with_core(3)))[-3:] == ["exp"] * 3
    assert words(proved(with_core(10)))[-1:] == ["exp | exp(exp(exp(roll(partj))))"]


class Clamped(nn.Module):
    """Arithmetic in a row, of which one step gives its shape to zeros as well."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        inner = (self.enter(x) / 2).exp().sin() * 2
        total = torch.zeros_like(inner)
        return self.leave((inner / 3).cos().log1p()) + total


def test_zeros_of_the_shape_of_a_step_are_no_second_result_of_a_patch() -> None:
    view = proved(record(Clamped(), torch.zeros(2, 8)))
    assert [len(node.ops) for node in view.nodes if node.kind == "function"] == [7]
    assert not view.weakened


def test_a_layer_between_them_parts_a_patch() -> None:
    assert shown(make_view(formula(9, with_layer=True))).count("exp") == 9


def test_ops_of_two_ends_are_no_patch() -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    y = net.op("exp", net.op("neg", net.op("exp", x)))
    sides = [net.layer(f"{name}", "Linear", net.op(name, net.op("tan", y)), params=8) for name in ("sin", "cos")]
    assert "function" not in {node.kind for node in make_view(net.graph(net.op("cat", *sides))).nodes}


def test_a_layer_that_is_all_arithmetic_shows_it_when_it_is_opened() -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    with net.call("snake", "Snake"):
        for _ in range(7):
            x = net.op("exp", x)
    view = make_view(net.graph(x), DrawingOptions(expand=("snake",)))
    assert shown(view).count("exp") == 7


def test_a_patch_is_called_by_the_variable_that_gets_it() -> None:
    pairs = "sum(sum(two, 1)² − sum(two², 1), 1) × 0.5"
    said = words(proved(recorded("fields")))
    assert f"pairs | {pairs}" in said or f"add | one + {pairs}" in said
    mixed = "mixed | weight × v_0 / (sum(weight, 0) + 1e−6) · 8 ops: exp"
    assert words(proved(recorded("neighbours"))).count(mixed) == 1


class Margin(nn.Module):
    """Arithmetic that weighs, over several lines, and in a function of several."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)
        self.kernel = nn.Parameter(torch.randn(8, 8))

    def forward(self, x: torch.Tensor) -> Any:
        cosine = torch.mm(self.first(x), self.kernel)
        sine = torch.sqrt(1 - cosine.clamp(-1, 1).pow(2))
        turned = cosine * 0.9 - sine * 0.4
        kept = torch.where(cosine > 0, turned, cosine - 0.2)
        return self.last(shifted(kept * 64))


def shifted(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    out[:, 1:] = x[:, :-1].exp().log1p().sin()
    out[:, :1] = x[:, -1:].cos()
    return out * 0.5


def test_lines_of_the_code_are_drawn_of_what_weighs_if_there_is_room() -> None:
    view = proved(record(Margin(), torch.ones(2, 8)))
    said = words(view)
    assert "sine | √(1 − clamp(cosine, −1, 1)²)" in said
    assert "turned | cosine × 0.9 − sine × 0.4" in said
    assert not any("operations" in text or "shifted()" in text for text in said)
    assert "write [:, :1]" in said
    assert faults(view) == ()


# --- columns


def test_columns_are_one_node_with_what_each_of_them_has() -> None:
    assert words(proved(recorded("fields")))[0] == "first | [:, 0 … 5] · Embedding 10×1 … 15×1 · 6 in parallel"


def test_columns_of_which_each_has_an_input_of_its_own_are_one_node() -> None:
    view = proved(recorded("clicks"))
    given, *_ = view.nodes
    assert Labels(view).node(given)[:2] == ("click", "page, reader, device, hour · N")
    assert words(view)[:3] == [
        "first | Embedding 9×1, 4×1, 7×1, 24×1 · 4 in parallel",
        "+ all 4",
        "second | Embedding 9×8, 4×8, 7×8, 24×8 · 4 in parallel",
    ]
    assert [edge.part for edge in view.edges if edge.tail == given.id] == ["one each"] * 2
    assert not view.weakened


def test_experts_that_are_rows_of_one_weight_are_one_node() -> None:
    view = proved(recorded("routed"))
    assert words(view) == ["linear | 8→6 · 4 in parallel", "cat", "end | Linear 6→2"]
    assert view.edges[0].part == "one each"
    assert not view.weakened
    silent = tuple(replace(edge, part="") for edge in view.edges)
    assert any("one to each" in fault.words for fault in faults(replace(view, edges=silent)))


def test_columns_of_several_shapes_say_none_behind_them() -> None:
    def columns(*sizes: int) -> View:
        net = Net()
        x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
        given = [net.op("sin", net.layer(f"fc.{i}", "Linear", x, (1, n)), shape=(1, n)) for i, n in enumerate(sizes)]
        return make_view(net.graph(net.layer("leave", "Linear", net.op("cat", *given, shape=(1, sum(sizes))))))

    assert "1×4" in edge_shapes(columns(4, 4, 4, 4), USUAL).values()
    assert {*edge_shapes(columns(4, 5, 6, 7), USUAL).values()} == {"1×22"}


def test_long_columns_are_a_box() -> None:
    view = proved(recorded("scales"))
    assert [(box.repeat, box.repetition) for box in view.boxes] == [(1, "series"), (4, "parallel")]
    assert words(view)[1:4] == [
        "AdaptiveAvgPool2d → 1×1, 2×2, 3×3, 6×6",
        "Conv2d 1×1 · 8→4 · ReLU",
        "interpolate | nearest",
    ]


@pytest.mark.parametrize(("n", "drawn"), [(3, 6), (4, 1)])
def test_a_row_is_drawn_side_by_side(n: int, drawn: int) -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    columns = [net.op("sin", net.layer(f"fc.{i}", "Linear", x, (1, i + 1), params=8 + i)) for i in range(n)]
    view = make_view(net.graph(net.layer("leave", "Linear", net.op("cat", *columns), params=8)))
    assert sum(node.kind == "call" or "sin" in name for node, name in zip(view.nodes, shown(view), strict=True)) == (
        drawn + 2
    )


def test_turns_that_take_parts_of_several_things_for_one_layer_are_a_box() -> None:
    view = proved(recorded("aligned"))
    assert [(box.repeat, box.repetition) for box in view.boxes] == [(1, "series"), (3, "shared")]
    assert [word for word in words(view) if word.startswith("[")] == ["[:, 1]"] * 2 + ["[:, 0 … 2]"] * 2
    assert not view.weakened


@pytest.mark.parametrize(("n", "boxed"), [(3, 1), (4, 4)])
def test_of_columns_in_columns_the_outer_ones_are_drawn_as_one(n: int, boxed: int) -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    columns = []
    for i in range(n):
        inner = [net.layer(f"fc.{i}.{k}", "Linear", x, (1, 8 + k), params=8 + k + i) for k in range(4)]
        columns.append(net.op("sin", net.op("cat", *inner, shape=(1, 38))))
    view = make_view(net.graph(net.layer("leave", "Linear", net.op("cat", *columns), params=8)))
    assert [box.repeat for box in view.boxes] == [1, boxed][: 1 + (n > 3)]
    assert not faults(view)


# --- sums


class Summed(nn.Module):
    """Layers in a row, each of which has a share of the result, at one place of the code or at two."""

    def __init__(self, *, together: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 8), nn.Linear(8, 4)])
        self.shares = nn.ModuleList([nn.Linear(4, 2), nn.Linear(8, 2), nn.Linear(4, 2)])
        self.together = together

    def forward(self, x: Tensor) -> Tensor:
        given = []
        for layer, share in zip(self.layers, self.shares, strict=True):
            x = layer(x).sin()
            given.append(share(x.cos()))
        if not self.together:
            return (given[0] + given[1]).exp() + given[2]  # type: ignore[no-any-return]
        total = given[0]
        for other in given[1:]:
            total = total + other
        return total.exp()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("together", "sums"), [(True, [2]), (False, [1, 1])])
def test_what_one_place_adds_up_is_one_sum(together: bool, sums: list[int]) -> None:
    view = proved(capture(Summed(together=together), (torch.zeros(2, 4),)))
    drawn = [node for node in view.nodes if "+" in Labels(view).node(node).name]
    assert [len(node.own_ops) for node in drawn] == sums
    assert [sum(edge.head == node.id for edge in view.edges) for node in drawn] == [n + 1 for n in sums]
    assert not view.weakened


def test_sums_between_which_something_reads_are_not_one() -> None:
    view = proved(capture(Summed(together=False), (torch.zeros(2, 4),)))
    first, last = (node for node in view.nodes if node.op is not None and view.graph.ops[node.op].name == "add")
    as_one = replace(last, ops=(*first.own_ops, *last.own_ops))
    nodes = tuple(as_one if node is last else node for node in view.nodes)
    assert any("as no sum is" in fault.words for fault in faults(replace(view, nodes=nodes)))


# --- turns that each give something


class Residuals(nn.Module):
    """Quantizers in a row: each reads what those before it have left over, and all that they found is one."""

    def __init__(self, n: int = 5) -> None:
        super().__init__()
        self.layers, self.end = nn.ModuleList(nn.Linear(4, 4) for _ in range(n)), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for layer in self.layers:
            found.append(layer(x).round())
            x = x - found[-1]
        return self.end(torch.stack(found)) * x.sum()  # type: ignore[no-any-return]


def test_turns_that_all_give_to_one_thing_behind_them_are_one_box() -> None:
    view = proved(capture(Residuals(), (torch.zeros(2, 4),)))
    _, box = view.boxes
    assert (box.repeat, box.differs, view.weakened) == (5, ("outputs ×5",), ())
    silent = tuple(replace(it, differs=()) for it in view.boxes)
    assert any("turns of box 1 give" in fault.words for fault in faults(replace(view, boxes=silent)))


# --- lists that are used together


def test_layers_of_several_lists_at_one_index_are_one_repeat() -> None:
    view = proved(recorded("neighbours"))
    assert [box.repeat for box in view.boxes] == [1, 4]
    assert not view.weakened


class Dense(nn.Module):
    """A shortcut beside the first layer, and each later one beside what is added up before it."""

    def __init__(self) -> None:
        super().__init__()
        self.shortcut, self.enter, self.leave = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        total = self.shortcut(x)
        for layer in (self.enter, *self.layers):
            x = layer(x)
            x = total = x + total
        return self.leave(torch.cumsum(x, 1))  # type: ignore[no-any-return]


def test_a_sum_before_the_first_turn_is_no_part_of_it() -> None:
    """The first turn began with the sum of the shortcut, and what was added last stood outside."""
    view = make_view(record(Dense(), torch.zeros(2, 4, 8)))
    ((box,),) = ([box.id for box in view.boxes if box.repeat == 3],)
    assert [name for name, node in zip(shown(view), view.nodes, strict=True) if node.box == box] == [
        "layers.0.0",
        "add",
    ]
    assert {"shortcut > add", "enter > add", "add > layers.0.0", "add > cumsum"} <= {*edges(view)}
    assert faults(view) == ()


class Block(nn.Module):
    def __init__(self, *, has_shortcut: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.shortcut = nn.Linear(8, 8) if has_shortcut else None

    def forward(self, x: Tensor) -> Any:
        kept = x if self.shortcut is None else self.shortcut(x)
        return kept + self.second(self.first(x).relu())


class Levels(nn.Module):
    """Levels of three blocks with an op behind each; the first block of the second level has a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = nn.ModuleList(
            nn.ModuleList(Block(has_shortcut=i == 1 and k == 0) for k in range(3)) for i in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        for level in self.levels:
            for block in level:  # type: ignore[attr-defined]
                x = block(x).clamp(-2, 2)
        return x


def test_a_first_turn_is_not_drawn_for_one_that_runs_more() -> None:
    """Levels were drawn as one by the first of them, in which the shortcut of the second had no place."""
    view = proved(record(Levels(), torch.zeros(2, 8)))
    assert not view.weakened
    assert [box.repeat for box in view.boxes] == [1, 3, 3]


def test_what_only_the_next_turn_reads_is_an_edge_back() -> None:
    view = proved(recorded("neighbours"))
    backs = {(view.graph.calls[view.nodes[edge.tail].calls[0]].module, edge.head) for edge in view.edges if edge.back}
    names = shown(view)
    assert {(tail, names[head]) for tail, head in backs} == {("last_0", "e_0"), ("last_0", "add")}


def test_turns_may_begin_with_an_op_whose_number_is_that_of_the_turn() -> None:
    view = proved(recorded("experts"))
    assert [box.repeat for box in view.boxes] == [1, 6]
    assert "eq | 0, 1, 2 … 5" in words(view)
    assert "gap" not in {node.kind for node in view.nodes}
    assert not view.weakened


def test_what_runs_on_beside_layers_in_a_row_is_an_edge_back() -> None:
    view = proved(recorded("kernels"))
    names = shown(view)
    assert [box.repeat for box in view.boxes] == [1, 3]
    assert {(names[edge.tail], names[edge.head]) for edge in view.edges if edge.back} == {("add", "add")}
    assert not view.weakened


def test_a_step_that_leads_forwards_in_the_next_turn_is_no_loop() -> None:
    net = Net()
    first = net.layer("0", "Linear", net.input("x", 1, 4), params=4)
    second = net.layer("1", "Linear", net.op("add", first), params=4)
    view = make_view(net.graph(net.op("add", second, first)))
    assert shown(view).count("add") == 2
    assert not any(edge.back for edge in view.edges)


class Turn(nn.Module):
    """A layer that reads a bias of positions, which the first of its kind makes for all."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, kept: list[torch.Tensor]) -> torch.Tensor:
        if not kept:
            kept.append(torch.arange(8).float().neg() * 0.5)
        return torch.tanh(self.q(x) + kept[0]) * self.k(x)  # type: ignore[no-any-return]


class Biased(nn.Module):
    """Turns of two layers, of which the first makes what all read; it, or the last, may be of another sort."""

    def __init__(self, *, is_twin: bool = True) -> None:
        super().__init__()
        self.norms, self.turns = nn.ModuleList(), nn.ModuleList()
        for _ in range(3):
            self.norms.append(nn.LayerNorm(8))
            self.turns.append(Turn())
        self.is_twin, self.last = is_twin, nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept: list[torch.Tensor] = []
        for i, (norm, turn) in enumerate(zip(self.norms, self.turns, strict=True)):
            if not self.is_twin and i == 2:  # its bias is made of features
                kept = [x.mean(0)]
            x = x + turn(norm(x), kept)
        return self.last(x)  # type: ignore[no-any-return]


def test_what_the_first_layer_makes_for_all_keeps_it_apart_from_none() -> None:
    view = proved(record(Biased(), torch.ones(2, 8)))
    assert [box.repeat for box in view.boxes] == [1, 3]
    assert view.weakened == ()


def test_a_layer_that_gets_features_for_positions_is_no_twin() -> None:
    view = proved(record(Biased(is_twin=False), torch.ones(2, 8)))
    assert max(box.repeat for box in view.boxes) < 3
    assert faults(view) == ()


class Phrases(nn.Module):
    """A row of things that hands on a part of a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.conv(x).relu().transpose(1, 2)
        return nn.functional.normalize(x + 1e-9, dim=-1), mask[:, 1:]


class Matching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.phrases, self.last = Phrases(), nn.Bilinear(8, 8, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        (a, of_a), (b, of_b) = self.phrases(x, mask), self.phrases(y, mask)
        return self.last(a * of_a.unsqueeze(-1), b * of_b.unsqueeze(-1))  # type: ignore[no-any-return]


def test_what_a_layer_takes_a_part_of_and_hands_on_comes_out_of_it() -> None:
    view = proved(record(Matching(), torch.ones(2, 8, 5), torch.ones(2, 8, 5), torch.ones(2, 5)))
    assert edges(view).count("input:mask > phrases") == edges(view).count("phrases > mul") == 2
    assert "input:mask > mul" not in edges(view)
    assert view.weakened == ()


class Headed(nn.Module):
    """A loop over layers that calls one norm and one head in each of its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x * self.head(self.norm(x)).sigmoid())) + x
        return self.norm(x)  # type: ignore[no-any-return]


def test_turns_may_call_one_layer_in_each_of_them() -> None:
    view = proved(record(Headed(), torch.ones(2, 8)))
    assert shown(view) == ["input:x", "norm", "head", "mul", "layers.0", "add", "norm", "output:"]
    assert Labels(view).box(view.boxes[1]) == "layers · (LayerNorm + 2 Linear) ×3"
    assert view.weakened == ()


# --- layers that are given to others


def test_a_layer_that_is_given_is_drawn_without_what_is_around_it() -> None:
    view = proved(recorded("annotated"))
    assert boxes(view) == ["", "layers.0 x6", "layers.0.attention"]
    assert shown(view)[1] == "layers.0.around.0.norm"


# --- what a reader asks for


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("fields", DrawingOptions(collapse=("first", "second")), ["first", "second"]),
        ("scales", DrawingOptions(collapse=("pools",)), ["pools"]),
        ("fields", DrawingOptions(fold=("!first.*",)), [f"first.{i}" for i in range(6)]),
        ("annotated", DrawingOptions(fold=("!layers.*",), depth=1), [f"layers.{i}" for i in range(6)]),
        ("fields", DrawingOptions(fold=("second.*",), depth=1), ["second.0 x6"]),
    ],
)
def test_a_wish_takes_one_option(name: str, options: DrawingOptions, expected: list[str]) -> None:
    view = proved(recorded(name), options)
    assert {*expected} <= {*shown(view)}
    assert view.notes == ()
    assert not view.weakened


def lists(n: int, *, together: bool) -> Graph:
    net = Net()
    x = net.input("x", 1, 8)
    for i in range(n):
        y = net.layer(f"a.{i}", "Linear", x, said=f"{8 + i}, {9 + i}", params=8 + i)
        x = net.layer(f"b.{i}", "Linear", y, params=8) if together else y
    graph = net.graph(x)
    kept = Module("a", "torch.nn.modules.container.ModuleList", True, ParamCount(0, 8 * n, 8 * n), "", ())
    return replace(graph, modules={**graph.modules, "a": kept})


def test_layers_that_nothing_folds_are_folded_if_asked_for() -> None:
    graph = lists(4, together=False)
    assert shown(make_view(graph))[1:-1] == ["a.0", "a.1", "a.2", "a.3"]
    view = proved(graph, DrawingOptions(fold=("a.*",)))
    assert shown(view)[1:-1] == ["a.0 x4"]
    assert not view.weakened


def test_what_cannot_be_done_is_said() -> None:
    graph = lists(4, together=True)
    assert make_view(graph, DrawingOptions(collapse=("a",))).notes == (
        "collapse: between the layers of 'a', others are called",
    )
    assert make_view(graph, DrawingOptions(fold=("c.*",))).notes == ("fold: no layer has a path like 'c.*'",)
    assert make_view(graph, DrawingOptions(fold=("!c.*",))).notes == ("fold: no layer has a path like '!c.*'",)
    net = Net()
    x = net.input("x", 1, 8)
    y = net.layer("a.0", "Linear", x, params=8)
    z = net.layer("a.1", "Linear", y, params=9)
    view = proved(net.graph(net.op("cat", z, net.layer("a.2", "Linear", x, params=7))), DrawingOptions(fold=("a.*",)))
    assert view.notes == ("fold: layers like 'a.*' are neither all in a row nor all side by side",)
    assert len(edges(view)) == 5


def test_settings_of_layers_are_shown_whole() -> None:
    net = Net()
    x = net.layer(
        "conv", "Conv2d", net.input("x", 1, 8, 4, 4), said="3, 8, kernel_size=(3, 3), padding=(1, 1)", params=9
    )
    view = make_view(net.graph(x))
    asked = Labels(view, show=("settings",))
    assert [asked.node(node)[:2] for node in view.nodes][1] == ("conv", "Conv2d 3×3 · 3→8 · padding 1")


# --- no picture hides most of the model


def test_a_closed_layer_does_not_hold_most_of_a_small_picture() -> None:
    net = Net(params=1000)
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=10)
    with net.call("body", "Body", params=980):
        for i in range(60):
            x = net.op("sin", net.layer(f"body.{chr(97 + i % 26) * (1 + i // 26)}", f"Layer{i}", x, params=16 + i))
    view = make_view(net.graph(net.layer("leave", "Linear", x, params=10)))
    assert "body" not in shown(view)
    assert shown(view)[2:6] == ["body.a", "sin", "body.b", "sin"]
    assert "gap" in {node.kind for node in view.nodes}


# --- what opens


def test_a_patch_and_a_function_are_opened_in_place() -> None:
    for name, path, first in (("fields", "/add", "sum"), ("neighbours", "/mixed", "mul")):
        (drawing,) = draw([DrawJob(recorded(name), "a" * 64, DrawingOptions())], find_engine("pure"))
        assert isinstance(drawing, Drawing)
        assert drawing.weakened == ()
        inside = next(nested for nested in drawing.nested if nested.path == path)
        closed = f"#{inside.call}"
        assert closed in {figure.reference for figure in drawing.layout.nodes}
        assert f"{path}/{first}" in inside.details


def test_what_is_opened_of_a_patch_is_true() -> None:
    views = ProvedViews(Views(recorded("neighbours")))
    patch = next(node for node in views.view().nodes if node.kind == "function")
    ((path, inside),) = views.opened({"/mixed": patch.ops})
    assert path == "/mixed"
    assert faults(inside) == ()
    assert [name for name in shown(inside) if name.startswith("input")] == ["input:q_0", "input:k_0", "input:v_0"]
    assert shown(inside).count("sum") == 1
