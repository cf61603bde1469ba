"""An op with fewer lines than tensors names what it reads besides, and the proof asks for true names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.proof.test_layout import layered, paper
from tests.core.proof.test_words import written
from tests.core.recording.nets import record
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.op_words import op_label
from torchrecorder.labels.operands import Names
from torchrecorder.proof import words
from torchrecorder.proof.layout import faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view

TOKENS, LENGTHS = torch.zeros(2, 6, 8), torch.tensor([6, 4])


def length_mask(lengths: Tensor, longest: int) -> Tensor:
    return (torch.arange(longest)[None, :] < lengths[:, None]).unsqueeze(-1)


class Positions(nn.Module):
    def forward(self, n: int, width: int) -> Tensor:
        return torch.arange(n, dtype=torch.float32).outer(torch.ones(width))


class Pair(nn.Module):
    def forward(self, n: Tensor) -> tuple[Tensor, Tensor]:
        return n + 1, (n > 4)[:, None, None]


class Named(nn.Module):
    def forward(self, n: Tensor) -> tuple[Tensor, Tensor]:
        longer, padding = n + 1, (n > 4)[:, None, None]
        return longer, padding


class Reader(nn.Module):
    """Reads one drawn tensor and, with `how`, another one besides."""

    def __init__(self, how: Callable[[Reader, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.how, self.first, self.last = how, nn.Linear(8, 8), nn.Linear(8, 8)
        self.pair, self.named = Pair(), Named()
        self.pe, self.walls = Positions(), nn.Buffer(torch.ones(8))
        self.rates = torch.full((8,), 3.0)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        return self.last(self.how(self, self.first(x), lengths))


def variable(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    shift_mask = torch.zeros(6, 8)
    shift_mask = shift_mask - 1
    return x + shift_mask.unsqueeze(0)


def weighed(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    shares = torch.ones(8) - 0.5
    return torch.einsum("bij,j->bij", x, shares)


def of_function(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    mask = length_mask(lengths, 6)
    return x * mask


def not_of_function(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    mask = length_mask(lengths, 6)
    return x.masked_fill(~mask, 0.0)


def mask_and_its_inverse(n: Tensor) -> tuple[Tensor, Tensor]:
    mask = length_mask(n, 6)
    return ~mask, mask


def of_two(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    both = mask_and_its_inverse(lengths)
    return torch.where(both[1], x, both[0])


def count_and_shift(steps: Tensor) -> int:
    steps.add_(1)
    return len(steps)


def overwritten(of: Reader, x: Tensor, lengths: Tensor) -> Tensor:
    steps = torch.zeros(8).cumsum(0)
    number = count_and_shift(steps)
    return x * steps[:number]


def names(graph: Graph) -> set[str]:
    """Parts of the lines of all nodes."""
    view = make_view(graph, DrawingOptions())
    shown = [view, *(inset.view for inset in view.insets)]
    lines = (line for one in shown for node in one.nodes for line in Labels(one).node(node)[:2])
    return {part for line in lines for part in line.split(" · ")}


NETS: dict[str, tuple[Callable[[Reader, Tensor, Tensor], Tensor], str]] = {
    "variable": (variable, "+ shift_mask"),
    "function": (lambda of, x, n: x.masked_fill(~length_mask(n, 6), 0.0), "masked_fill"),
    "variable of a function": (of_function, "× mask"),
    "not mask": (not_of_function, "masked_fill not mask"),
    "one of two that a function gave": (of_two, "where"),
    "overwritten by a function": (overwritten, "× (steps + 1)"),
    "layer": (lambda of, x, n: x + of.pe(6, 8), "+ pe"),
    "buffer": (lambda of, x, n: of.walls[None] - x, "walls −"),
    "input": (lambda of, x, n: x.masked_fill((n == 4)[:, None, None], 0.0), "masked_fill lengths = 4"),
    "choice": (lambda of, x, n: torch.where((n == 4)[:, None, None], x, 0.0), "where lengths = 4"),
    "no name": (lambda of, x, n: x + of.rates, "+"),
    "parts of a row": (lambda of, x, n: torch.stack(x.chunk(2, -1), -1).flatten(2), "stack"),
    "output": (lambda of, x, n: x.masked_fill(of.pair(n)[1], 0.0), "masked_fill pair[1]"),
    "output with a name": (lambda of, x, n: x.masked_fill(of.named(n)[1], 0.0), "masked_fill padding"),
    "made": (lambda of, x, n: x * torch.zeros(8).cumsum(0), "× cumsum(zeros, 0)"),
    "made of one that has a name": (lambda of, x, n: x * (1 - of.walls), "× (1 − walls)"),
    "made of much": (lambda of, x, n: x * ((of.walls + 1).cos() * (of.walls - 2).sin() + 3), "× …"),
    "ones": (lambda of, x, n: torch.cat([x, torch.ones(*x.shape[:2], 1)], -1)[..., 1:], "cat ones"),
    "einsum": (weighed, "einsum shares"),
    "condition": (lambda of, x, n: torch.where(length_mask(n, 6), x, 0.0), "where"),
}


NAMED = ("variable", "variable of a function", "layer", "buffer", "choice", "ones")
MADE = {"no name": "constant", "made": "cumsum", "made of much": "cos", "parts of a row": "chunk"}
"""Names of ops, and for what has none, that are not to be written as if they were names of tensors."""


SILENT = (
    "function",
    "input",
    "output",
    "output with a name",
    "not mask",
    "one of two that a function gave",
    "overwritten by a function",
)


def graph_of(net: str) -> Graph:
    return record(Reader(NETS[net][0]), TOKENS, LENGTHS)


@pytest.mark.parametrize("net", NETS)
def test_a_node_names_the_tensor_that_no_line_brings(net: str) -> None:
    assert NETS[net][1] in names(graph_of(net))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("net", [net for net in NETS if net not in SILENT])
def test_the_proof_asks_for_a_true_name(net: str, kind: Callable[..., Any]) -> None:
    view = make_view(graph_of(net), DrawingOptions())
    layout = kind(view)
    assert faults(view, layout) == ()
    words = NETS[net][1]
    named = words.split() if net in NAMED else [words, MADE.get(net, "biases")]
    ops = ("where", "masked_fill", "stack", "cat")
    other = " ".join(MADE.get(net, "biases") if word.isidentifier() and word not in ops else word for word in named)
    wrong, *_ = faults(view, written(layout, rf"^{re.escape(words)}$", other))  # a formula is not computed either
    assert f"names {MADE.get(net, 'biases')}, which" in wrong


def test_the_proof_asks_for_both_sides_of_a_sign() -> None:
    view = make_view(graph_of("made of one that has a name"), DrawingOptions())
    (wrong,) = faults(view, written(paper(view), r"^× .*", "×"))
    assert "does not say what it takes besides" in wrong


class Counted(tuple[Any, ...]):
    """A tuple that counts how often it is gone through."""

    walks = 0

    def __iter__(self) -> Iterator[Any]:
        self.walks += 1
        return super().__iter__()


class Often(nn.Module):
    def __init__(self, times: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(times))

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        for layer in self.layers:
            mask = length_mask(lengths, 6)
            x = layer(x) * mask
        return x


def walks(times: int) -> list[int]:
    """How often the tables of a Graph are gone through for the names of all operands, and for their proof."""
    known = record(Often(times), TOKENS, LENGTHS)
    ops, values = Counted(known.ops), Counted(known.values)
    view = make_view(replace(known, ops=ops, values=values), DrawingOptions(depth="all", fold=False))
    products = [(node.id, ops[node.op]) for node in view.nodes if node.op is not None and ops[node.op].name == "mul"]
    assert len(products) == times
    ops.walks = values.walks = 0
    names = Names(view.graph)
    assert {names.of(op.inputs[1], op) for _, op in products} == {"mask"}
    of_names = [ops.walks, values.walks]
    assert [*words.faults(view, "", {str(node): "× mask" for node, _ in products})] == []
    return [*of_names, ops.walks, values.walks]


def test_the_names_of_many_operands_take_as_many_walks_as_those_of_few() -> None:
    assert walks(2) == walks(9)


def test_two_lines_need_no_words() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            return (self.a(x) + self.b(x)).cumsum(-1)

    assert "+" in names(record(Sum(), TOKENS))


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor, keep: Tensor) -> Any:
        return x + self.down(self.up(x).relu()).masked_fill(~keep, 0.0)


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Masked() for _ in range(4))

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x, length_mask(lengths, 6))
        return x


def test_in_what_is_drawn_once_the_argument_has_the_name_that_holds_for_all() -> None:
    assert "masked_fill not keep" in names(record(Stack(), TOKENS, LENGTHS))


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.up, self.down = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Any:
        q, k = self.q(x)[:, None], self.k(x)[:, None]
        x = x + nn.functional.scaled_dot_product_attention(q, k, k, keep)[:, 0]
        return x + self.down(self.up(x).relu())


class Windows(nn.Module):
    """Layers in a row that get masks of windows, by the number of what came before that is seen; None for all."""

    def __init__(self, *windows: int | None) -> None:
        super().__init__()
        self.windows, self.layers = windows, nn.ModuleList(Attending() for _ in windows)

    def forward(self, x: Tensor) -> Any:
        at = torch.arange(6)
        masks = [None if window is None else at[:, None] - window <= at for window in self.windows]
        for layer, mask in zip(self.layers, masks, strict=True):
            x = layer(x, mask)
        return x


@pytest.mark.parametrize(
    ("windows", "said", "depth"),
    [
        ((2, 4, 2, 4), "2 kinds of keep", 1),
        ((2, 4, 2, 4), "2 kinds of keep", "auto"),
        ((1, 2, 3), "3 kinds of keep", "auto"),
        ((None, 2, None), "1 of 3 with keep", "auto"),
        ((2, 2, 2), "", 1),
        ((2, 2, 2), "", "auto"),
    ],
)
def test_layers_in_a_row_say_that_they_get_other_masks(windows: tuple[int | None, ...], said: str, depth: Any) -> None:
    view = make_view(record(Windows(*windows), TOKENS), DrawingOptions(depth=depth))
    layout = paper(view)
    text = " · ".join(word.text for figure in (*layout.nodes, *layout.boxes) for word in figure.words)
    text += " · ".join(title.word.text for title in layout.titles or ())
    assert f"×{len(windows)}" in text
    assert said in text if said else " keep" not in text
    assert faults(view, layout) == ()
    for false in ("4 kinds of keep", "") if said else ():
        assert any(f"says “{said}”" in fault for fault in faults(view, written(layout, said, false)))


class Scored(nn.Module):
    """Scores that are joined with an empty cache and scaled by 1, and the mask that is added to them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.last, self.scale = nn.Linear(8, 8), nn.Linear(6, 6), 1.0

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        mask = torch.zeros(6, 6).cumsum(0)
        one = self.a(x).relu()
        keys = torch.cat([torch.tensor([]), one], -2)
        scores = one @ keys.transpose(1, 2) * self.scale
        scores = scores + mask
        return self.last(scores)


def test_what_a_line_brings_is_known_behind_a_scale_of_one_and_an_empty_cache() -> None:
    graph = record(Scored(), TOKENS, LENGTHS)
    assert "+ mask" in names(graph)
    assert not {"+ scores", "@ …", "@ keys"} & names(graph)
    view = make_view(graph, DrawingOptions())
    assert faults(view, paper(view)) == ()


class Picked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.a(x)[edge_index[0]] * self.b(x)[edge_index[1]]


def test_an_index_says_which_entry_it_is() -> None:
    words = names(record(Picked(), torch.zeros(5, 8), torch.zeros(2, 7, dtype=torch.long)))
    assert {"[edge_index[0]]", "[edge_index[1]]"} <= words


class Pairs:
    """All pairs of two maps, as a class that helps a model."""

    def __init__(self, a: Tensor, b: Tensor) -> None:
        self.scores = (a @ b.transpose(1, 2)).softmax(-1) / 2


class Matching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.last = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Any:
        return self.last(Pairs(self.a(x), self.b(x)).scores)


def test_a_constructor_has_the_name_of_its_class() -> None:
    assert "Pairs()" in names(record(Matching(), TOKENS))


def to_dense(x: Tensor) -> Tensor:
    rows = torch.zeros(5, 8)
    rows[torch.arange(4)] = x
    return rows[:4]


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        return self.last(to_dense(self.first(x)))


def test_a_write_in_a_helper_has_its_name_and_the_rest_of_it_is_no_part() -> None:
    graph = record(Dense(), torch.zeros(4, 8))
    assert "to_dense()" in names(graph)
    assert not [edge.part for edge in make_view(graph, DrawingOptions()).edges if edge.part]


class Padding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = nn.Embedding(9, 8), nn.Linear(8, 8)

    def forward(self, ids: Tensor) -> Any:
        padding = ids == 1
        return self.last(self.table(ids)), padding


def test_a_comparison_has_the_name_of_its_variable() -> None:
    graph = record(Padding(), torch.zeros(2, 6, dtype=torch.long))
    (op,) = (op for op in graph.ops if op.name == "eq")
    assert op_label(Names(graph), op)[:2] == ("padding", "= 1")


def softened(x: Tensor, mask: Tensor) -> Tensor:
    rows = torch.zeros(2, 6, 8)
    rows[:, torch.arange(6)] = x * mask
    for _ in range(16):  # too long for a formula, and for lines of their own
        rows = rows.cumsum(1)
    return rows * mask


class Softening(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        mask = length_mask(lengths, 6)
        return self.last(softened(self.first(x), mask))


def test_a_function_names_what_it_reads_besides() -> None:
    view = make_view(record(Softening(), TOKENS, LENGTHS), DrawingOptions())
    (function,) = (node for node in view.nodes if node.kind == "function")
    assert Labels(view).node(function)[:2] == ("softened()", "mask")
    layout = paper(view)
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, r"\bmask\b", "biases"))
    assert "names biases, which" in wrong


class Angles(nn.Module):
    def forward(self, n: int) -> tuple[Tensor, Tensor]:
        turns = torch.arange(n, dtype=torch.float32)[:, None] / torch.ones(8)
        return turns.cos(), turns.sin()


def turned_by(x: Tensor, cos: Tensor, sin: Tensor | None) -> Tensor:
    for _ in range(17):
        x = x.cumsum(1)
    return x * cos if sin is None else x * cos + x.roll(4, -1) * sin


class Turning(nn.Module):
    """As layers that get `position_embeddings` of a layer that is drawn nowhere."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self.is_whole, self.angles, self.first, self.last = is_whole, Angles(), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        cos, sin = self.angles(6)
        return self.last(turned_by(self.first(x), cos, sin if self.is_whole else None))


@pytest.mark.parametrize(("is_whole", "read"), [(True, "angles"), (False, "cos")])
def test_a_function_names_the_layer_that_gave_all_that_it_reads_besides(*, is_whole: bool, read: str) -> None:
    view = make_view(record(Turning(is_whole=is_whole), TOKENS), DrawingOptions())
    (function,) = (node for node in view.nodes if node.kind == "function")
    assert Labels(view).node(function)[:2] == ("turned_by()", read)
    layout = paper(view)
    assert faults(view, layout) == ()
    found = faults(view, written(layout, rf"\b{read}\b", "angles"))
    assert bool(found) != is_whole  # of one of its two results it would not tell which


class Resetting(nn.Module):
    """A state that is nothing again where an episode has ended, as in IMPALA."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x: Tensor, done: Tensor, state: Tensor) -> Tensor:
        notdone = (~done).float()
        for seen, on in zip(x.unbind(), notdone.unbind(), strict=True):
            state = self.cell(seen, on.view(-1, 1) * state)
        return state


def test_a_factor_of_a_state_has_its_name_though_a_line_brings_what_it_is_made_of() -> None:
    view = make_view(record(Resetting(), torch.zeros(4, 2, 8), torch.zeros(4, 2, dtype=torch.bool), torch.zeros(2, 8)))
    (product,) = (node for node in view.nodes if node.op is not None and view.graph.ops[node.op].name == "mul")
    tails = {view.nodes[edge.tail].name for edge in view.edges if edge.head == product.id}
    assert {"done", "state"} < tails
    assert Labels(view).node(product).name == "× notdone"


def test_an_argument_has_its_own_name_and_not_that_of_a_list_that_holds_it_too() -> None:
    class Residual(nn.Module):
        def forward(self, x: Tensor, residual: Tensor, layer_hiddens: list[Tensor]) -> Tensor:
            return x + residual

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.add = nn.ModuleList(nn.Linear(8, 8) for _ in range(2)), Residual()

        def forward(self, x: Tensor) -> Tensor:
            hiddens = [x]
            for layer in self.layers:
                hiddens.append(self.add(layer(hiddens[-1]), hiddens[-1], hiddens))
            return hiddens[-1]

    graph = record(Layers(), TOKENS)
    add = next(op for op in graph.ops if op.name == "add")
    assert Names(graph).of(add.inputs[1], add, add.call) == "residual"


@pytest.mark.parametrize(("keys", "said"), [(("query", "other"), "angles"), (("query",), "angles.query")])
def test_a_key_that_is_a_variable_of_another_tensor_is_no_name(keys: tuple[str, ...], said: str) -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.to_q, self.to_k = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor, angles: dict[str, Tensor]) -> Tensor:
            query = self.to_q(x) + 1
            key = self.to_k(x) * angles["query"]
            return query @ key.mT  # type: ignore[no-any-return]

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turned, self.last = Turned(), nn.Linear(6, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.turned(x, dict.fromkeys(keys, torch.ones(6, 8).cumsum(0))))  # type: ignore[no-any-return]

    view = make_view(record(Outer(), TOKENS), DrawingOptions())
    layout = paper(view)
    assert f"× {said}" in names(view.graph)
    assert faults(view, layout) == ()
    assert any("names query, which" in wrong for wrong in faults(view, written(layout, rf"× {said}$", "× query")))


def test_names_that_are_long_together_stand_below_their_op() -> None:
    net = Net("Padded")
    x, mask, padding = net.input("x", 1, 8), net.input("mask", 1, 8), net.input("padding", 1, 8)
    graph = net.graph(net.op("where", mask, x, padding))
    besides = {0: "text_embedding_mask", 2: "text_embedding_padding"}
    label = op_label(Names(graph), graph.ops[0], (), besides)
    assert label[:2] == ("where", "text_embedding_mask text_embedding_padding")


@pytest.mark.parametrize(
    ("name", "axis", "words"),
    [
        ("softmax", "1", "softmax dim 1"),
        ("softmax", "-2", "softmax dim −2"),
        ("softmax", "2", "softmax"),
        ("softmax", "-1", "softmax"),
        ("mean", "1", "mean dim 1"),
        ("mean", "(0, 1)", "mean dim 0, 1"),
        ("amax", "[-2, -1]", "amax dim −2, −1"),
        ("sum", "-1", "sum"),
    ],
)
def test_an_op_over_axes_says_them_unless_it_is_the_last(name: str, axis: str, words: str) -> None:
    net = Net("Weighing")
    graph = net.graph(net.op(name, net.input("x", 2, 3, 4), attrs={"dim": axis}))
    assert op_label(Names(graph), graph.ops[0]).name == words


class Framing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 8), nn.Linear(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.functional.pad(self.enter(x), (3, 2), mode="reflect")
        left: Tensor = self.leave(padded.topk(6).values)
        return left


def test_ops_say_the_settings_that_no_line_tells() -> None:
    view = make_view(record(Framing().eval(), torch.ones(2, 8)), DrawingOptions())
    layout = paper(view)
    said = [label[:2] for label in map(Labels(view).node, view.nodes)]
    assert ("pad", "3, 2 · reflect") in said
    assert ("topk", "6") in said
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, "3, 2", "3, 4"))
    assert "says a number that no argument is" in wrong


@pytest.mark.parametrize(("before", "words"), [(4, "by 2 · nearest"), (1, "nearest"), (8, "nearest"), (5, "nearest")])
def test_an_interpolation_to_a_size_says_its_factor(before: int, words: str) -> None:
    net = Net("Growing")
    x = net.input("x", 1, 3, before, before)
    graph = net.graph(net.op("interpolate", x, shape=(1, 3, 8, 8), attrs={"size": "(8, 8)", "mode": "'nearest'"}))
    assert op_label(Names(graph), graph.ops[0])[:2] == ("interpolate", words)


def test_a_normalisation_has_one_name_as_an_op_and_as_a_layer() -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x: Tensor) -> Any:
            x = nn.functional.layer_norm(self.first(x), (8,)).cumsum(-1)
            return self.norm(x.cumsum(0))

    view = make_view(record(Normed(), TOKENS), DrawingOptions())
    words = [" ".join(Labels(view).node(node)[:2]) for node in view.nodes]
    assert sum("LayerNorm" in word for word in words) == 2
    assert not any("layer_norm" in word for word in words)
    assert faults(view, paper(view)) == ()


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("+ its transpose", lambda x: x + x.mT),
        ("its transpose −", lambda x: x.transpose(1, 2) - x),
        ("− its transpose", lambda x: x - x.transpose(1, 2)),
    ],
)
def test_a_sign_of_a_tensor_and_its_transpose_says_so(said: str, how: Callable[[Tensor], Tensor]) -> None:
    class Square(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            return self.last(how(self.first(x)))

    view = make_view(record(Square(), torch.ones(2, 8, 8)))
    layout = paper(view)
    assert said in [" ".join(word.text for word in figure.words) for figure in layout.nodes]
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, said.replace("+", r"\+"), said.replace("its transpose", "").strip()))
    assert "does not say that one side is the other" in wrong
    view = make_view(record(Reader(lambda reader, x, _: x + reader.walls), TOKENS, LENGTHS))
    (wrong,) = faults(view, written(paper(view), r"\+ walls", "+ its transpose"))
    assert "says that one side is the other" in wrong
