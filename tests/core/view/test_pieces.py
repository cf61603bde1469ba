"""Edges say which part of a tensor they carry, where readers take different ones or the rest is dropped."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.proof.part_nets import PARTS
from tests.core.view.seeing import name
from torchrecorder.drawing.draw import views_of
from torchrecorder.graph import Graph
from torchrecorder.proof import faults
from torchrecorder.recording import run
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view, pieces
from torchrecorder.view.plan.visibility import Visibility

ENDS = ("mul: gate", "function:add: last")
SAID = {
    "gated": {"up > norm: 2nd half", "up > mul: 1st half"},
    "frames": {"up > tanh: [:, :1]", "up > norm: [:, 1:]"},  # and no halves, if they are as long today
    "coupling": {
        "0.mix > 0.net: 1st half",
        "0.mix > add: 2nd half",
        "0.mix > cat: 1st half",
        "0.net > add: 2nd half",
        "0.net > sigmoid: 1st half",
    },
    "stages": {"A input:x > one.0.conv: part 1 of 2", "A input:x > cat: part 2 of 2"},
    "modulated": {f"ada > mul: {part} of 6" for part in ("1–2", "3", "4–5", "6")},
    "class_token": {"q > turn: [:, 1:]", "q > cat: [:, :1]"},
    "latent": {"encoder > decoder: 1st half"},
    "heads": {"qkv > q_norm: 1 of 3", "qkv > k_norm: 2 of 3", "qkv > scaled_dot_product_attention: 3 of 3"},
    "steps": {
        "embed > step: [:, 0…2]",
        "mean > back: first step",
    },  # of the axes that are drawn, not of those behind a transposition
    "halves": {"sigmoid > back: first step"},
    "carried": {"stem > sum: [:, 5:]", "stem > layers.0: [:, :5]", "mul > sum: [:, 1:]"},
    "adas": {
        "A first.0.linear > mul: 1–2 of 4",
        "A first.0.linear > output:gate: 3 of 4",
        "A first.0.linear > output:last: 4 of 4",
        *(f"{layer} > {head}" for layer in ("first.0", "first.1", "second.0", "second.1") for head in ENDS),
        *("first.0 > mix.0: y", "first.1 > mix.1: y", "second.0 > mix.2: y", "second.1 > mix.3: y"),
        *("cos > first.1: x", "cos > second.1: x", "sin > second.0: x"),  # the other is `c`, as the input says itself
    },
    "taken_apart": set[str](),  # drawn before the blocks, of which only the first one gets parts
    "cross_stage": set[str](),
    "trimmed": {"conv > sum: [..., :-2, :-2]", "text > cat: [:, :, :4]"},
    "shifted": {"input:ids > embed: [:, :-1]", "input:ids > cross_entropy: [:, 1:]"},
    "slid": set[str](),  # of other axes than before: drawn
    "cropped": {"pad > softmax: [:, 1:] [..., :3]"},
    "stacked": {"both > matmul: 1st half", "both > matmul: 2nd half"},
    "skewed": set[str](),  # of other axes than before, too
    "all_of_it": set[str](),
    "no_history": set[str](),
}


def capture(*given: Any) -> Graph:
    """A Graph in which no part has a name, so that its place is said."""
    return replace(run.capture(*given), assigned={})


@cache
def recorded(net: str) -> Graph:
    model, args, kwargs = next(entry for entry in PARTS if entry.name == net).load()
    with torch.no_grad():
        return capture(model, args, kwargs)


def said(view: View) -> set[str]:
    """What each edge says, behind the names of its ends and the letter of its inset."""
    views = [("", view), *((f"{inset.letter} ", inset.view) for inset in view.insets)]
    ends = [(letter, one, edge) for letter, one in views for edge in one.edges if edge.part]
    return {
        f"{letter}{name(one, one.nodes[e.tail])} > {name(one, one.nodes[e.head])}: {e.part}" for letter, one, e in ends
    }


@pytest.mark.parametrize("net", SAID)
def test_an_edge_says_which_part_it_carries(net: str) -> None:
    view = make_view(recorded(net), DrawingOptions())
    assert said(view) == SAID[net]
    assert faults(view) == ()


NAMED = {
    "gated": SAID["gated"],  # `u` and `v` count
    "modulated": {f"ada > mul: {part}" for part in ("shift, scale", "gate", "shift2, scale2", "gate2")},
    "latent": {"encoder > decoder: mean"},
    "heads": {"qkv > q_norm: q", "qkv > k_norm: k", "qkv > scaled_dot_product_attention: v"},
}


@pytest.mark.parametrize("net", NAMED)
def test_a_part_is_called_by_the_variable_that_gets_it(net: str) -> None:
    model, args, kwargs = next(entry for entry in PARTS if entry.name == net).load()
    view = make_view(run.capture(model, args, kwargs), DrawingOptions())
    assert said(view) == NAMED[net]
    assert faults(view) == ()
    (edge, *_) = (edge for edge in view.edges if edge.part)
    others = {part.partition(": ")[2] for part in NAMED[net]} - {edge.part} or {"spread"}
    for other in others:
        edges = tuple(replace(one, part=other) if one is edge else one for one in view.edges)
        assert faults(replace(view, edges=edges))


@pytest.mark.parametrize("net", SAID)
def test_where_parts_are_drawn_as_steps_no_edge_repeats_them(net: str) -> None:
    words = said(make_view(recorded(net), DrawingOptions(depth="all")))
    assert {word for word in words if not word.endswith(": first step")} == set()


def taken(*indices: str, whole: bool = False, batch: int | str = 1) -> set[str]:
    """What is said of several stretches of one tensor, each of which a layer reads."""
    net = Net("Net")
    x = net.layer("stem", "Linear", net.input("x", batch, 8, 6))
    read = []
    for i, index in enumerate(indices):
        start, _, stop = index.partition(":")
        part = net.op("getitem", x, shape=(batch, int(stop) - int(start), 6), attrs={"1": f"(:, {index})"})
        read.append(net.layer(f"l{i}", f"Linear{i}", part))
    read += [net.layer("all", "Whole", x)] if whole else []
    return said(make_view(net.graph(net.op("cat", *read)), DrawingOptions()))


def test_readers_of_the_same_part_all_say_it() -> None:
    """Nine layers of a decoder read the half of the latent that is its mean, as if it was all of it."""
    assert taken("2:8", "2:8") == {"stem > l0: [:, 2:8]", "stem > l1: [:, 2:8]"}
    assert taken("2:8", "2:8", "2:8") == {f"stem > l{i}: [:, 2:8]" for i in range(3)}


def test_a_part_beside_the_whole_is_said_at_the_part() -> None:
    assert taken("2:8", whole=True) == {"stem > l0: [:, 2:8]"}


def test_a_size_may_be_known_by_name_alone() -> None:
    assert taken("2:8", whole=True, batch="N") == taken("2:8", whole=True)


def test_a_stretch_of_everything_is_no_part() -> None:
    assert taken("0:8", whole=True) == set()


@pytest.mark.parametrize("net", ["steps", "cropped", "stacked", "skewed"])
def test_an_index_is_of_the_tensor_that_is_drawn(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line out of 32×33 said [..., 32:] of what was flattened behind it, which reads as its last column."""
    monkeypatch.setattr(pieces._Parts, "_seen", lambda self, cut, axis, value: cut)
    monkeypatch.setattr(Visibility, "_regrouping", lambda self: ())
    found = faults(make_view(recorded(net), DrawingOptions()))
    assert any("does not carry" in fault.words for fault in found)


class Mixed(nn.Module):
    """A step that takes some channels as they are, and others changed."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.change, self.leave = nn.Linear(8, 32), nn.Linear(10, 10), nn.Linear(28, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        out: Tensor = self.leave(torch.cat((self.change(x[..., :10]), x[..., 10:20], x[..., 24:]), dim=-1))
        return out


def test_two_parts_on_the_line_of_one_are_a_fault() -> None:
    """The proof read the two indices as one, and failed inside."""
    with torch.no_grad():
        view = make_view(capture(Mixed(), (torch.zeros(2, 16, 8),)), DrawingOptions())
    ids = {name(view, node): node.id for node in view.nodes}
    line = ids["enter"], ids["getitem"]
    two = "[..., 10:20], [..., 24:]"
    edges = tuple(replace(edge, part=two) if (edge.tail, edge.head) == line else edge for edge in view.edges)
    assert [fault.kind for fault in faults(replace(view, edges=edges))] == ["flow"]


class Swapped(nn.Module):
    """A step that puts parts of a tensor beside one another in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.both, self.rest = nn.Linear(8, 24), nn.Linear(16, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        a, b, c = self.enter(x).chunk(3, dim=-1)
        out: Tensor = self.both(torch.cat((c, a), dim=-1)) + self.rest(b)
        return out


class Changed(nn.Module):
    """What a second half of a batch has more than the first."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        before, after = self.enter(x).chunk(2)
        out: Tensor = self.leave(after - before)
        return out


class Rolled(nn.Module):
    """A step that gives its last steps first, with others between."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.rest, self.leave = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        first, last = torch.split(x, [10, 6], dim=1)
        out: Tensor = self.leave(torch.cat((last, self.rest(x), first), dim=1))
        return out


def test_both_sides_of_an_op_from_one_tensor_are_said() -> None:
    with torch.no_grad():
        view = make_view(capture(Changed(), (torch.zeros(2, 16, 8),)), DrawingOptions())
    assert said(view) == {"enter > sub: 2nd half − 1st half"}
    assert faults(view) == ()
    for false in ("", "1st half − 2nd half"):
        edges = tuple(replace(edge, part=false if edge.part else "") for edge in view.edges)
        assert any("as both of its sides" in it.words for it in faults(replace(view, edges=edges)))


@pytest.mark.parametrize(
    ("net", "turned", "false"),
    [(Swapped(), "3, 1 of 3", "1, 3 of 3"), (Rolled(), "[:, 10:], [:, :10]", "")],
)
def test_parts_in_another_order_are_said_in_it(net: nn.Module, turned: str, false: str) -> None:
    with torch.no_grad():
        view = make_view(capture(net, (torch.zeros(2, 16, 8),)), DrawingOptions())
    assert f"enter > cat: {turned}" in said(view)
    assert faults(view) == ()
    edges = tuple(replace(edge, part=false if edge.part == turned else edge.part) for edge in view.edges)
    assert [fault.kind for fault in faults(replace(view, edges=edges))] == ["flow"]


class Rising(nn.Module):
    """Steps of a decoder, each of which takes another of what an encoder has kept."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList([nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)) for _ in range(n)])

    def forward(self, x: Tensor, kept: list[Tensor]) -> Tensor:
        for step, other in zip(self.steps, reversed(kept), strict=True):
            x = step(torch.cat((x, other), dim=-1))
        return x


def test_a_line_of_several_tensors_says_that_each_turn_gets_one() -> None:
    with torch.no_grad():
        graph = capture(Rising(9), (torch.zeros(2, 8), [torch.ones(2, 8) * i for i in range(9)]))
    view = make_view(graph, DrawingOptions())
    assert [edge.part for edge in view.edges if view.nodes[edge.tail].name == "kept"] == ["one each"]
    assert faults(view) == ()
    for wrong in ("one each", ""):
        edges = tuple(replace(edge, part=wrong if bool(edge.part) != bool(wrong) else edge.part) for edge in view.edges)
        assert any("one to each turn" in fault.words for fault in faults(replace(view, edges=edges)))


class CutTwice(nn.Module):
    """A step that takes the first of what is left of a tensor without its first."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.few, self.all = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        out: Tensor = self.few(x[:, 1:][:, :2]) * self.all(x).sum(1, keepdim=True)
        return out


def test_a_part_of_a_part_is_said_as_two_indices() -> None:
    """The proof read the space between them as a third."""
    view = make_view(capture(CutTwice(), (torch.zeros(2, 6, 8),)), DrawingOptions())
    assert said(view) == {"enter > few: [:, 1:] [:, :2]"}
    assert faults(view) == ()


class Patched(nn.Module):
    """All patches but the last one are read, each of four places in a row, or of every third one: Megabyte's."""

    def __init__(self, *, turned: bool = False) -> None:
        super().__init__()
        self.enter, self.large, self.turned = nn.Linear(8, 8), nn.Linear(32, 8), turned

    def forward(self, x: Tensor) -> Tensor:
        y = self.enter(x)
        patches = y.unflatten(1, (4, 3)).mT.mT.transpose(1, 2).flatten(2) if self.turned else y.unflatten(1, (3, 4))
        out: Tensor = self.large(patches.flatten(2)[:, :-1]).cumsum(1)
        return out


def test_a_stretch_of_patches_is_one_of_the_places_that_are_drawn() -> None:
    """The words were those of the code, of which the proof said rightly that the tensor has no such part."""
    view = make_view(capture(Patched(), (torch.zeros(2, 12, 8),)), DrawingOptions())
    assert said(view) == {"enter > large: [:, :8]"}
    assert faults(view) == ()
    edges = tuple(replace(edge, part=edge.part.replace("8", "4")) for edge in view.edges)
    assert [fault.kind for fault in faults(replace(view, edges=edges))] == ["flow"]


def test_a_stretch_of_patches_that_lie_apart_is_not_said_as_one() -> None:
    view = make_view(capture(Patched(turned=True), (torch.zeros(2, 12, 8),)), DrawingOptions())
    assert "enter > large: [:, :8]" not in said(view)


class Nested(nn.Module):
    """Modulations of attention and MLP from one layer, each in three parts: Kandinsky's."""

    def __init__(self) -> None:
        super().__init__()
        self.ada, self.attn, self.mlp = nn.Linear(8, 48), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        for layer, params in zip((self.attn, self.mlp), self.ada(c).chunk(2, -1), strict=True):
            shift, scale, gate = params.chunk(3, -1)
            x = x + gate * layer(x * (1 + scale) + shift)
        return x


def test_parts_of_a_part_are_said_behind_it() -> None:
    """The proof read `1st half 3 of 3` as one word, and refused the picture."""
    view = make_view(capture(Nested(), (torch.zeros(2, 4, 8), torch.zeros(2, 1, 8))), DrawingOptions())
    halves = ("1st half", "2nd half")
    assert said(view) == {f"ada > mul: {half} {part} of 3" for half in halves for part in ("1–2", "3")}
    assert faults(view) == ()
    for wrong in ("1st half 2 of 3", "2nd half 3 of 3", "1st half", "1st half 3 of 3 and more"):
        edges = (replace(edge, part=wrong) if edge.part == "1st half 3 of 3" else edge for edge in view.edges)
        assert [fault.kind for fault in faults(replace(view, edges=tuple(edges)))] == ["flow"]


class Pyramid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a = self.a(x).relu()
        b = self.b(a).relu()
        return a, b, self.c(b)


class Refined(nn.Module):
    """A loop of which each turn reads another scale."""

    def __init__(self) -> None:
        super().__init__()
        self.pyramid, self.mix, self.head = Pyramid(), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        for y in self.pyramid(x):
            x = self.head(self.mix(y.sin() + x) * y.sigmoid()).softmax(-1)
        return x


def test_outputs_that_the_turns_of_a_loop_read_are_named() -> None:
    """The line said the name of the one that the first turn reads."""
    view = make_view(capture(Refined(), (torch.zeros(2, 4, 8),)), DrawingOptions(collapse=("pyramid",)))
    assert said(view) == {"pyramid > sin: a, b, c", "pyramid > sigmoid: a, b, c", "input:x > add: first step"}
    assert faults(view) == ()
    less = tuple(replace(edge, part=edge.part.replace(", c", "")) for edge in view.edges)
    assert faults(replace(view, edges=less)) != ()


class Pair(nn.Module):
    """A block for two streams."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other, self.mix = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, y: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        mixed = self.mix(torch.cat([x, y], 1)).relu()
        return self.one(mixed[:, :3]) + x + shift, (self.other(mixed[:, 3:]) + y)[None].squeeze(0)


class Streams(nn.Module):
    """Joins both streams behind the last block; `is_own` if each block takes a shift that is made for it."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__()
        self.pairs, self.is_own = nn.ModuleList(Pair() for _ in range(3)), is_own
        self.shift, self.head = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        shift = self.shift(x)
        for i, pair in enumerate(self.pairs):
            x, y = pair(x, y, torch.cumsum(shift[..., 8 * i : 8 * i + 8], 1) if self.is_own else shift[..., :8])
        return self.head(torch.cat([y, x], 1).sin())  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_own", [True, False])
def test_two_outputs_of_the_last_turn_are_named(*, is_own: bool) -> None:
    """The line had the shape of one of them."""
    graph = capture(Streams(is_own=is_own), (torch.zeros(2, 3, 8), torch.zeros(2, 4, 8)))
    view = make_view(graph, DrawingOptions(collapse=("pairs.*",)))
    assert 3 in [*(node.repeat for node in view.nodes), *(box.repeat for box in view.boxes)]
    assert [words.partition(" > ")[2] for words in said(view) if "> cat" in words] == ["cat: x, y"]
    assert faults(view) == ()
    silent = replace(view, edges=tuple(replace(edge, part="") for edge in view.edges))
    assert any("several outputs" in fault.words for fault in faults(silent))


class Tapped(nn.Module):
    """Keeps what it made for another layer, beside what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.kept = self.a(x).relu()
        found: Tensor = self.b(self.kept)
        return found


class Tapping(nn.Module):
    """Reads what its first layer kept, beside what that returned."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = Tapped(), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.down(x)
        found: Tensor = self.up(torch.cat([y.sin(), self.down.kept], 1))
        return found


def test_an_edge_says_that_a_layer_does_not_return_what_it_carries() -> None:
    view = make_view(capture(Tapping(), (torch.ones(2, 4),)), DrawingOptions(depth=1))
    assert said(view) == {"down > cat: not returned"}
    assert faults(view) == ()
    silent = replace(view, edges=tuple(replace(edge, part="") for edge in view.edges))
    assert any("does not return" in fault.words for fault in faults(silent))
    lied = replace(view, edges=tuple(replace(edge, part="not returned") for edge in view.edges))
    assert len([fault for fault in faults(lied) if "does not carry" in fault.words]) == len(view.edges) - 1


@pytest.mark.parametrize("lie", ["part 2 of 2", "part 1 of 3", "1 of 2", "1st half"])
def test_another_piece_than_a_line_says_is_found(lie: str) -> None:
    view = make_view(recorded("stages"))
    inside = view.insets[0].view
    edges = tuple(replace(edge, part=edge.part.replace("part 1 of 2", lie)) for edge in inside.edges)
    false = replace(view, insets=(replace(view.insets[0], view=replace(inside, edges=edges)),))
    assert edges != inside.edges
    assert {fault.kind for fault in faults(false)} == {"flow"}


class Pairs(nn.Module):
    """Differences, products and comparisons of all pairs of words, and what is not of pairs beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = self.embed(x)
        far = (x[:, :, None] - x[:, None]).abs()
        return far, x @ x.transpose(1, 2), x[..., :1] > x[..., 1:], x * x.tanh()


def test_an_op_of_all_pairs_says_so() -> None:
    """A difference of each two words had one line, as if it was of a word and itself."""
    with torch.no_grad():
        view = make_view(capture(Pairs(), (torch.zeros(2, 5, 8),)), DrawingOptions())
    assert said(view) == {
        "embed > sub: all pairs",
        "embed > matmul: all pairs",
        "embed > gt: [..., :1] > [..., 1:]",
    }
    assert faults(view) == ()
    for words, other in (("all pairs", ""), ("", "all pairs"), ("[..., :1] > [..., 1:]", "")):
        for edge in (edge for edge in view.edges if edge.part == words):
            edges = tuple(replace(it, part=other) if it is edge else it for it in view.edges)
            assert [fault.kind for fault in faults(replace(view, edges=edges))] == ["flow"]


class Conducted(nn.Module):
    """Two recurrent layers that begin with what a code says: one of torch's with two states, and a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.code, self.start, self.rnn, self.cell = nn.Linear(8, 4), nn.Linear(4, 12), nn.LSTM(4, 6), nn.GRUCell(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        code = self.code(x)
        h, c = self.start(code).tanh()[None].chunk(2, -1)
        out, _ = self.rnn(code.expand(3, -1, -1), (h.contiguous(), c.contiguous()))
        return self.cell(out[-1], h[0])  # type: ignore[no-any-return]


def test_a_line_says_that_it_brings_the_state_of_a_recurrent_layer() -> None:
    """The input and the state came on two lines of which none said which it was."""
    with torch.no_grad():
        view = make_view(capture(Conducted(), (torch.zeros(2, 8),)), DrawingOptions())
    assert {words for words in said(view) if "state" in words} == {"start > rnn: state"}
    assert faults(view) == ()
    line = next(edge for edge in view.edges if name(view, view.nodes[edge.head]) == "rnn" and edge.part != "state")
    edges = tuple(replace(it, part="state") if it is line else it for it in view.edges)
    assert [fault.kind for fault in faults(replace(view, edges=edges))] == ["flow"]


class Alternate(nn.Module):
    """Parts of each pair of neighbours, the halves of each head, and those of all."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.stem = how, nn.Linear(6, 8)
        self.first, self.second = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        if self.how == "unbind":
            one, other = x.view(*x.shape[:2], -1, 2).unbind(3)
        elif self.how == "heads":
            one, other = (part.flatten(2) for part in x.view(*x.shape[:2], 2, 4).chunk(2, -1))
        else:
            one, other = x.view(*x.shape[:2], 2, 4).unbind(2)
        return self.first(one) + self.second(other)  # type: ignore[no-any-return]


EVERY = ("[..., ::2]", "[..., 1::2]")


@pytest.mark.parametrize(
    ("how", "parts"),
    [("unbind", EVERY), ("heads", ("1 of 2", "2 of 2")), ("whole", ("1st half", "2nd half"))],
)
def test_a_half_is_a_run_of_places(how: str, parts: tuple[str, str]) -> None:
    view = make_view(capture(Alternate(how), (torch.zeros(3, 5, 6),), {}), DrawingOptions())
    assert {edge.part for edge in view.edges if edge.part} == {*parts}
    assert faults(view) == ()
    for false in {"[..., ::2]", "[..., 1::2]", "[:, ::2]", "1st half", "2nd half"} - {parts[0]}:
        edges = tuple(replace(edge, part=false) if edge.part == parts[0] else edge for edge in view.edges)
        assert faults(replace(view, edges=edges))


class Pooled(nn.Module):
    def forward(self, maps: list[Tensor]) -> list[Tensor]:
        return [*maps, maps[-1].cumsum(1)]


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, maps: list[Tensor]) -> Tensor:
        return torch.stack([layer(it) for layer, it in zip(self.layers, maps, strict=True)])


class Pyramids(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other, self.pooled, self.heads = nn.Linear(8, 8), nn.Conv1d(4, 4, 1), Pooled(), Heads()

    def forward(self, x: Tensor) -> Tensor:
        one = self.one(x)
        return self.heads(self.pooled([one, self.other(one)])).tanh()  # type: ignore[no-any-return]


def test_what_a_layer_hands_on_is_named_on_no_line_of_it() -> None:
    view = make_view(capture(Pyramids(), (torch.zeros(2, 4, 8),), {}), DrawingOptions(collapse=("pooled", "heads")))
    line = next(edge for edge in view.edges if name(view, view.nodes[edge.tail]) == "pooled")
    assert line.part == ""
    assert faults(view) == ()
    edges = tuple(replace(edge, part="3 outputs") if edge is line else edge for edge in view.edges)
    assert faults(replace(view, edges=edges)) != ()


class GatedNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.scale = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return self.norm(x * self.scale(gate).sigmoid())  # type: ignore[no-any-return]


class Mixer(nn.Module):
    """A layer gets a part by the name of the variable that holds it; a function drops what it has padded."""

    def __init__(self, *, is_padded: bool) -> None:
        super().__init__()
        self.is_padded, self.proj, self.conv, self.norm = is_padded, nn.Linear(6, 20), nn.Linear(12, 8), GatedNorm()

    def forward(self, x: Tensor) -> Tensor:
        gate, rest = self.proj(x).split([8, 12], -1)
        y = self.conv(rest)
        return self.norm(padded(y) if self.is_padded else y, gate)  # type: ignore[no-any-return]


def padded(x: Tensor) -> Tensor:
    x = nn.functional.pad(x, (0, 0, 0, 3))
    for _ in range(4):
        x = x.exp().cumsum(1) + x.softmax(-1)
    return x.unsqueeze(1).reshape(len(x), -1, 8)[:, :5]


@pytest.mark.parametrize("is_padded", [False, True])
def test_a_part_may_have_the_name_of_an_argument(is_padded: bool) -> None:
    """Layers stayed closed: the proof took `gate` for the argument alone, the view said what a function dropped."""
    net = Mixer(is_padded=is_padded)
    view = make_view(run.capture(net, (torch.zeros(3, 5, 6),), {}), DrawingOptions(collapse=("norm",)))
    assert said(view) == {"proj > conv: rest", "proj > norm: gate"}
    assert [name(view, node) for node in view.nodes if node.kind == "function"] == ["function:padded"] * is_padded
    assert faults(view) == ()
    for false in ("x", "rest", ""):
        edges = tuple(replace(edge, part=false) if edge.part == "gate" else edge for edge in view.edges)
        assert faults(replace(view, edges=edges))


class SharedOut(nn.Module):
    """Each half of what a condition gives is shared out to variables with names."""

    def __init__(self) -> None:
        super().__init__()
        self.ada, self.one, self.other = nn.Linear(6, 36), nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        for layer, half in zip((self.one, self.other), self.ada(c).chunk(2, -1), strict=True):
            y, gate = shared_out(x, half)
            x = x + gate * layer(y)
        return x


def shared_out(x: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    shift, scale, gate = half.chunk(3, -1)
    return x.softmax(-1) * (1 + scale) + shift, gate


def test_halves_are_shared_out_by_names() -> None:
    """Blocks stayed closed, since the proof read the names as two ways."""
    view = make_view(run.capture(SharedOut(), (torch.zeros(3, 5, 6), torch.zeros(3, 5, 6)), {}), DrawingOptions())
    assert {"ada > function:shared_out: 1st half shift, scale", "ada > mul: 1st half gate"} <= said(view)
    assert faults(view) == ()
    for false in ("1st half shift", "1st half shift, gate", "2nd half shift, scale", "shift, scale"):
        edges = tuple(replace(it, part=false) if it.part == "1st half shift, scale" else it for it in view.edges)
        assert edges != view.edges
        assert faults(replace(view, edges=edges)), false


class Tiled(nn.Module):
    """A map of half the size is laid out four times beside the whole one, or one place everywhere."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.conv, self.pool, self.times = nn.Conv2d(3, 3, 1), nn.AdaptiveAvgPool2d(size), 8 // size

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        small = self.pool(x).tile(1, 1, self.times, self.times)
        return torch.cat([x, small], 1)


@pytest.mark.parametrize("size", [1, 4])
def test_what_is_laid_out_several_times_is_drawn(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line from a map to a sum with one of four times the size had no word of it."""
    graph = run.capture(Tiled(size), (torch.zeros(2, 3, 8, 8),), {})
    view = make_view(graph, DrawingOptions())
    assert ("tile" in {name(view, node) for node in view.nodes}) == (size == 4)
    assert faults(view) == ()
    monkeypatch.setattr("torchrecorder.view.plan.visibility.is_laid_out", lambda graph, op: False)
    assert bool(faults(make_view(graph, DrawingOptions()))) == (size == 4)


def nearest(wanted: Tensor, points: Tensor) -> Tensor:
    return torch.cdist(wanted, points).topk(1, largest=False).values


class Thinned(nn.Module):
    """As in point clouds: of each set of points a smaller one, and the nearest of it to each of the larger one."""

    def __init__(self) -> None:
        super().__init__()
        self.lift, self.last = nn.Linear(3, 3), nn.Linear(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        points = self.lift(x)
        some = points[:, :4]
        return self.last(nearest(points, some) * nearest(some, some[:, :2]).sum())  # type: ignore[no-any-return]


class Padded(nn.Module):
    """A tensor that is padded by its own last channels, or put together of one half and of half of the other."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self.first, self.last, self.is_whole = nn.Linear(3, 8), nn.Linear(12 if is_whole else 6, 2), is_whole

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        parts = (y, y[..., 4:]) if self.is_whole else (y[..., :4][..., :2], y[..., 4:])
        return self.last(torch.cat(parts, -1))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("net", "drawn"), [(Thinned(), ["[:, :4]", "[:, :2]"]), (Padded(is_whole=True), ["[..., 4:]"])]
)
def test_a_line_of_a_tensor_and_of_a_part_of_it_is_parted(net: nn.Module, drawn: list[str]) -> None:
    """Of two sets of points that a function compares the line said the larger one alone."""
    graph = run.capture(net, (torch.zeros(2, 16, 3),), {})
    words = "carries a tensor and a part of it, and says one alone"
    assert any(fault.words.endswith(words) for fault in faults(make_view(graph, DrawingOptions())))
    view = views_of(graph, DrawingOptions()).view()
    cuts = (
        graph.ops[node.op].attrs["1"] for node in view.nodes if node.op is not None and name(view, node) == "getitem"
    )
    assert [f"[{cut.strip('()')}]" for cut in cuts] == drawn


def test_parts_that_one_reader_takes_are_said_where_they_are_not_all() -> None:
    """A join of them, which nothing else reads beside, had no word of what it drops."""
    view = make_view(run.capture(Padded(is_whole=False), (torch.zeros(2, 16, 3),), {}), DrawingOptions())
    assert said(view) == {"first > cat: [..., :4] [..., :2], [..., 4:]"}
    assert faults(view) == ()
    for false in ("", "[..., :4], [..., 4:]", "[..., :4] [..., :2]"):
        assert faults(replace(view, edges=tuple(replace(it, part=false) if it.part else it for it in view.edges)))


class Quarters(nn.Module):
    """Some channels of a map in quarters, or three of these, beside the whole of it."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.squeeze, self.widen, self.whole, self.n = nn.Conv2d(3, 8, 1), nn.Conv2d(2 * n, 8, 1), nn.Conv2d(8, 8, 1), n

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x)
        rows = x[:, :2].chunk(2, 2)
        quarters = torch.cat([part for row in rows for part in row.chunk(2, 3)][: self.n], 1)
        return self.widen(quarters).mean() * self.whole(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("n", "words"), [(4, "[:, :2]"), (3, "")])
def test_all_pieces_of_a_part_are_said_as_that_part(n: int, words: str) -> None:
    """A join that takes a quarter of the channels was drawn to take all of them."""
    view = make_view(run.capture(Quarters(n), (torch.zeros(2, 3, 8, 8),), {}), DrawingOptions())
    (edge,) = (edge for edge in view.edges if name(view, view.nodes[edge.head]) == "cat")
    assert edge.part == words
    assert faults(view) == ()
    for false in {"", "[:, :2]", "[:, 2:]", "[:, :2] 1st half"} - {words}:
        assert faults(replace(view, edges=tuple(replace(it, part=false) if it is edge else it for it in view.edges)))


class WrittenThenRead(nn.Module):
    """A loop that writes its steps into a tensor, and one whose turns read all of that beside a state."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.weigh = nn.LSTMCell(3, 8), nn.LSTMCell(8, 8), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Any:
        state = x.new_zeros(2, 8), x.new_zeros(2, 8)
        seen = x.new_zeros(2, 5, 8)
        for t in range(5):
            state = self.first(x[:, t], state)
            seen[:, t] = state[0]
        h, c = x.new_zeros(2, 8), x.new_zeros(2, 8)
        for _ in range(4):
            shares = self.weigh(torch.cat((h.unsqueeze(1).expand(2, 5, 8), seen), -1)).softmax(1)
            h, c = self.last((shares * seen).sum(1), (h, c))
        return h


def test_what_all_turns_read_is_no_first_step() -> None:
    with torch.no_grad():
        view = make_view(capture(WrittenThenRead(), (torch.ones(2, 5, 3),)), DrawingOptions(depth=9))
    (written,) = (node.id for node in view.nodes if node.op is not None and view.graph.ops[node.op].name == "setitem")
    assert not any(edge.part for edge in view.edges if edge.tail == written)
    assert faults(view) == ()


class Placed(nn.Module):
    """The table of a vision transformer without class token: the row of that is added to all places."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.table, self.head = nn.Linear(3, 8), nn.Parameter(torch.zeros(1, 7, 8)), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.stem(x) + self.table[:, 1:] + self.table[:, :1])


def test_parts_of_a_parameter_that_is_drawn_are_said() -> None:
    """Both sums seemed to add the whole table."""
    view = make_view(run.capture(Placed(), (torch.zeros(2, 6, 3),), {}), DrawingOptions())
    edges = [edge for edge in view.edges if view.nodes[edge.tail].kind == "param"]
    assert [edge.part for edge in edges] == ["[:, 1:]", "[:, :1]"]
    assert faults(view) == ()
    for edge, false in zip(edges, ("", "[:, 1:]"), strict=True):
        assert faults(replace(view, edges=tuple(replace(it, part=false) if it is edge else it for it in view.edges)))


class Normed(nn.Module):
    """A norm of scalars, and vectors by their lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.scalar_norm = nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        s, v = x
        return self.scalar_norm(s), v / v.norm(dim=-1, keepdim=True)


class Geometric(nn.Module):
    """What holds the norms of an argument has the name of that."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mix = Normed(), nn.Linear(11, 4)

    def forward(self, x: Any) -> Any:
        x = self.norm(x)
        return self.mix(torch.cat(x, -1).sin())


def test_an_output_is_not_named_as_the_argument_that_it_is_not() -> None:
    view = make_view(run.capture(Geometric(), ((torch.zeros(2, 8), torch.ones(2, 3)),), {}), DrawingOptions(depth=1))
    assert "norm > cat: 2 outputs" in said(view)
    assert faults(view) == ()
    for false in ("scalar_norm, x.1", "x.1"):
        edges = tuple(replace(it, part=false) if it.part == "2 outputs" else it for it in view.edges)
        assert faults(replace(view, edges=edges))


class Cached(nn.Module):
    """Gives what its blocks kept beside what they returned."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Tapped() for _ in range(3))

    def forward(self, x: Tensor) -> Any:
        for block in self.blocks:
            x = block(x)
        return (x.sin(), [block.kept for block in self.blocks]), x.cos()


def test_an_output_says_that_no_block_returned_what_it_holds() -> None:
    """It seemed to hold the hidden states of all blocks."""
    view = make_view(run.capture(Cached(), (torch.ones(2, 4),), {}), DrawingOptions(depth=1))
    lines = [edge for edge in view.edges if view.nodes[edge.head].kind == "output"]
    assert "not returned" in [edge.part for edge in lines]
    assert faults(view) == ()
    assert faults(replace(view, edges=tuple(replace(edge, part="") for edge in view.edges)))
    assert faults(replace(view, edges=tuple(replace(edge, part="not returned") for edge in view.edges)))
