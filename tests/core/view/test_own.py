"""What of a model is shown open: its own layers before arithmetic, which folds for them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.core.graph.building import Net
from tests.core.view.seeing import boxes, edges, shown
from torchrecorder import capture
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.proof import ProvedViews
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views, make_view
from torchrecorder.view.tuning import AUTO_NODES, WHOLE


def cls(graph: Graph, call: int) -> str:
    return graph.modules[graph.calls[call].module].cls.rpartition(".")[2]


def proved(graph: Graph, options: DrawingOptions | None = None) -> View:
    """The View of a Graph, which nothing in it weakened."""
    view = ProvedViews(Views(graph, options or DrawingOptions())).view()
    assert view.weakened == ()
    return view


# --- arithmetic folds for what is the model's own


def closed_by_arithmetic(cls: str = "pkg.Core", n: int = 8) -> View:
    """A net with rows of four ops between its layers, and a block with most of the parameters at two places."""
    net = Net(params=2000)
    x = net.input("x", 1, 8)
    for i in range(n):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", x, params=10 + i)
        for name in ("sin", "cos", "tan", "exp"):
            x = net.op(name, x)
    for at in ("upper", "lower"):
        with net.call(at, "Core", params=800):
            a = net.layer(f"{at}.a", "Conv2d", x, params=400)
            b = net.op("mul", net.layer(f"{at}.b", "Linear", a, params=400), net.op("tanh", x))
            x = net.op("add", x, b)
        net.modules[at] = replace(net.modules[at], cls=cls)
    return proved(net.graph(net.layer("leave", "Linear", x, params=8)))


def test_arithmetic_folds_where_a_layer_of_the_models_own_is_closed_for_it() -> None:
    view = closed_by_arithmetic()
    assert [node.name for node in view.nodes if node.kind == "function"] == ["exp"] * 8
    assert [inset.letter for inset in view.insets] == ["A"]


def test_arithmetic_is_drawn_op_by_op_where_nothing_is_closed_for_it() -> None:
    view = closed_by_arithmetic(n=2)
    assert "function" not in {node.kind for node in view.nodes}
    assert [inset.letter for inset in view.insets] == ["A"]


def test_arithmetic_does_not_fold_for_a_block_of_a_library() -> None:
    view = closed_by_arithmetic("other.layers.Core")
    assert "function" not in {node.kind for node in view.nodes}


def test_a_patch_of_several_ends_is_cut_into_what_leads_to_each() -> None:
    net = Net(params=2000)
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=8)
    base = net.op("exp", net.op("cos", net.op("sin", x)))
    towards, away = (net.op(name, net.op("tan", net.op("sinh", base))) for name in ("atan", "asin"))
    x = net.op("sub", net.layer("left", "Conv2d", towards, params=8), net.layer("right", "Conv3d", away, params=8))
    for i in range(13):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", net.op("roll", x), params=2)
    for at in ("upper", "lower"):
        with net.call(at, "Core", params=900):
            a = net.layer(f"{at}.a", "Conv2d", x, params=400)
            x = net.op("add", x, net.op("mul", net.layer(f"{at}.b", "Linear", a, params=500), net.op("tanh", x)))
        net.modules[at] = replace(net.modules[at], cls="pkg.Core")
    view = proved(net.graph(net.layer("last", "Linear", x, params=8)))
    assert [(node.name, len(node.ops)) for node in view.nodes if node.kind == "function"] == [
        ("exp", 3),
        ("atan", 3),
        ("asin", 3),
    ]
    assert [inset.letter for inset in view.insets] == ["A"]


def beside_many(n: int, share: int, name: str = "roll") -> View:
    """A layer of the model's own with sums and one other op, behind many others."""
    net = Net(params=1000)
    x = net.input("x", 1, 8)
    for i in range(n):
        x = net.op("roll", net.layer(f"part{'abcdefghijklmnopqrstuvwxyz'[i]}", f"Part{i}", x, params=2))
    at = "core"
    with net.call(at, "Core", params=share):
        for i in range(8):
            x = net.op("add", x, net.layer(f"{at}.{'abcdefgh'[i]}", f"Layer{i}", x, params=share // 8))
        x = net.op(name, x)
    net.modules[at] = replace(net.modules[at], cls="pkg.Core")
    return proved(net.graph(x))


@pytest.mark.parametrize(
    ("n", "share", "is_open"), [(13, 700, True), (15, 100, False), (18, 700, True), (18, 150, False), (22, 900, False)]
)
def test_a_picture_may_be_larger_for_what_is_much_of_the_model(n: int, share: int, *, is_open: bool) -> None:
    view = beside_many(n, share)
    assert len(view.nodes) <= WHOLE
    assert (len(view.nodes) > AUTO_NODES, "core.a" in shown(view)) == (is_open, is_open)


@pytest.mark.parametrize(("n", "name", "is_open"), [(20, "softmax", True), (20, "roll", False), (22, "softmax", False)])
def test_signs_leave_room_for_a_layer_in_which_places_meet(n: int, name: str, *, is_open: bool) -> None:
    assert ("core.a" in shown(beside_many(n, 800, name))) == is_open


class Codes(nn.Module):
    """The entry of a table that is nearest to each vector."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(2, 8)

    def forward(self, x: Tensor) -> Any:
        far = x.square().sum(-1, keepdim=True) - 2 * x @ self.table.weight.T
        return x + (self.table(far.argmin(-1)) - x).tanh()


class Stem(nn.Module):
    """Layers that differ in sizes alone."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (8, 4, 5, 6, 7, 8)
        self.layers = nn.Sequential(*(nn.Linear(*pair) for pair in pairwise(sizes)))

    def forward(self, x: Tensor) -> Any:
        return self.layers(x)


class Long(nn.Module):
    """A part among many others."""

    def __init__(self, part: nn.Module, n: int) -> None:
        super().__init__()
        for name in "abcdefghijkl"[:n]:
            setattr(self, f"{name}_first", nn.Linear(8, 8))
            setattr(self, f"{name}_second", nn.LayerNorm(8))
        self.part = part

    def forward(self, x: Tensor) -> Any:
        for i, layer in enumerate([*self.children()][:-1]):
            x = layer(x.roll(i, 1))
        return self.part(x.roll(1, 1))


def around_part(part: nn.Module, n: int, home: str = "") -> View:
    graph = capture(Long(part, n), torch.randn(2, 6, 8))
    row = graph.modules["part"]
    own = replace(row, cls=f"{home}.{type(part).__name__}") if home else row
    return proved(replace(graph, modules={**graph.modules, "part": own}))


@pytest.mark.parametrize(("home", "is_open"), [("tests.layers", True), ("other.layers", False)])
def test_what_computes_products_is_opened_if_it_is_of_the_models_package(home: str, *, is_open: bool) -> None:
    assert ("part" in boxes(around_part(Codes(), 4, home))) == is_open


class Gated(nn.Module):
    """A perceptron with a gate, which works place by place."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.enter, self.leave = nn.LayerNorm(8), nn.Linear(8, 2), nn.Linear(1, 8)

    def forward(self, x: Tensor) -> Any:
        value, gate = self.enter(self.norm(x)).chunk(2, -1)
        return x + self.leave(value * gate.sigmoid())


class Waves(nn.Module):
    """A product with numbers that are no data, which works place by place too."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.leave = nn.LayerNorm(8), nn.Linear(8, 1)
        self.table: Tensor
        self.register_buffer("table", torch.randn(8, 8))

    def forward(self, x: Tensor) -> Any:
        return x + self.leave((self.norm(x) @ self.table).sin())


class Pair(nn.Module):
    """Two of a kind."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.first, self.second = kind(), kind()

    def forward(self, x: Tensor) -> Any:
        return self.second(self.first(x).sin())


@pytest.mark.parametrize(("kind", "is_open"), [(Codes, True), (Gated, False), (Waves, False)])
def test_a_full_picture_has_room_for_what_lets_places_meet_and_not_for_what_works_place_by_place(
    kind: type[nn.Module], *, is_open: bool
) -> None:
    graph = capture(Long(Pair(kind), 9), torch.randn(2, 6, 8))
    rows = {path: replace(graph.modules[path], cls="tests.layers.Kind") for path in ("part.first", "part.second")}
    view = proved(replace(graph, modules={**graph.modules, **rows}))
    assert bool(view.insets) == is_open


class Held(nn.Module):
    """A layer with another one inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.enter, self.codes = nn.LayerNorm(8), nn.Linear(8, 8), Codes()

    def forward(self, x: Tensor) -> Any:
        return x + self.codes(self.enter(self.norm(x)).tanh().roll(1, 1))


@pytest.mark.parametrize(("home", "is_open"), [("tests.layers", True), ("other.layers", False)])
def test_products_of_the_models_package_have_twice_the_room_wherever_they_lie(home: str, *, is_open: bool) -> None:
    graph = capture(Long(Held(), 4), torch.randn(2, 6, 8))
    codes = replace(graph.modules["part.codes"], cls=f"{home}.Codes")
    view = proved(replace(graph, modules={**graph.modules, "part.codes": codes}))
    assert ("part.codes" in boxes(view)) == is_open


def test_a_chain_of_the_models_own_in_the_overview_is_opened() -> None:
    assert "part" in boxes(around_part(Stem(), 1))


def test_a_chain_of_few_layers_is_said_by_the_node_of_the_layer_around_them() -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.experts = nn.LayerNorm(8), nn.ModuleList(FeedForward() for _ in range(4))
            self.mixer = FeedForward()

        def forward(self, x: Tensor) -> Tensor:
            x = self.enter(x)
            mixed: Tensor = self.mixer(torch.stack([expert(x) for expert in self.experts]).tanh().sum(0))
            return mixed

    graph = capture(Experts(), torch.randn(2, 8))
    view = proved(graph)
    words = [" · ".join(Labels(view).node(node)[:2]) for node in view.nodes]
    assert "experts · Linear 8→32 · relu · Linear 32→8 · 4 in parallel" in words
    assert "mixer · Linear 8→32 · relu · Linear 32→8" in words
    assert "mixer" in shown(make_view(graph, DrawingOptions(collapse=("mixer",))))


def test_what_is_one_node_when_it_is_opened_has_no_box() -> None:
    view = around_part(Stem(), 4)
    assert boxes(view) == [""]
    assert [node.repeat for node in view.nodes if node.kind == "call"][-1] == 5


def test_what_makes_a_picture_wide_is_opened_beside_it_and_then_closed() -> None:
    views, seen = Views(capture(Long(Stem(), 1), torch.randn(2, 6, 8))), [0] * 0
    for _ in range(3):
        view = views.view()
        seen += [len(boxes(view)), len(view.insets)]
        can_give_way = views.open_fewer()
    assert (seen, can_give_way) == ([2, 0, 1, 1, 1, 0], False)


class Scaled(nn.Module):
    """A layer that is told how much to weigh what it reads by another function of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.weight, self.gain = nn.LayerNorm(8), nn.Parameter(torch.ones(8)), nn.Parameter(torch.ones(8))

    def prepare(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scale = torch.sigmoid(torch.tanh(self.norm(x) * self.weight).exp().sin() + self.gain)
        return x * scale, (x - scale).cos()

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return x + (y * self.gain).tanh()


class Deep(nn.Module):
    """Two kinds of layers that take turns, each with the same preparation."""

    def __init__(self, n: int = 4) -> None:
        super().__init__()
        kinds = (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)), nn.Linear(8, 8))
        self.layers = nn.ModuleList(nn.ModuleList([Scaled(), *self._twice(kinds[i % 2])]) for i in range(n))

    @staticmethod
    def _twice(layer: nn.Module) -> list[nn.Module]:
        return [nn.LayerNorm(8), layer]

    def forward(self, x: Tensor) -> Any:
        layers: Any = self.layers
        for scaled, norm, layer in layers:
            inner, rest = scaled.prepare(x)
            x = scaled(rest, layer(norm(inner)))
        return x


def test_a_function_that_calls_but_a_normalisation_folds_before_steps_are_left_out() -> None:
    view = proved(capture(Deep(12), torch.randn(2, 8)))
    assert "gap" not in {node.kind for node in view.nodes}
    assert [node.name for node in view.nodes if node.kind == "function"].count("Scaled.prepare") >= 1


def test_what_gives_only_its_shape_inside_a_function_is_a_part_of_it() -> None:
    def summed(x: Tensor) -> Any:
        total, seen = torch.zeros_like(x[:, 0]), torch.ones_like(x[:, 0])
        for i in range(3):
            total, seen = total + x[:, i] * seen, seen * x[:, i].exp()
        return total

    class Sums(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.leave = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            return self.leave(summed(self.enter(x)))

    assert shown(proved(capture(Sums(), torch.randn(2, 3, 8))))[1:4] == ["enter", "function:summed", "leave"]


# --- what repeats


def test_layers_at_one_place_of_the_entries_of_a_list_are_a_series() -> None:
    net = Net(params=4000)
    x = net.input("x", 1, 8)
    for i in range(4):
        with net.call(f"blocks.{i}", "Block", params=1000), net.call(f"blocks.{i}.mixer", "Mixer", params=1000):
            y = net.layer(f"blocks.{i}.mixer.fc", "Linear", x, params=1000)
            x = net.op("add", x, net.op("roll", y))
    assert boxes(proved(net.graph(net.layer("leave", "Linear", x, params=8)))) == ["", "blocks.0.mixer x4"]


class Matcher(nn.Module):
    """Two streams that each layer changes, every other one by what it knows of the other stream."""

    def __init__(self, n: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Bilinear(8, 8, 8) for _ in range(n))
        self.enter, self.leave = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        x, y = x + self.enter(x), y + self.enter(y)
        for i, layer in enumerate(self.layers):
            a, b = (y, x) if i % 2 else (x, y)
            by_x, by_y = layer(x, a), layer(y, b)
            x, y = x + by_x, y + by_y
        return self.leave(x) @ self.leave(y).T


def test_a_turn_begins_where_the_code_of_the_loop_does_and_carries_both_streams() -> None:
    view = proved(capture(Matcher(), (torch.randn(4, 8), torch.randn(4, 8))))
    (loop,) = (box for box in view.boxes if box.around)
    inside = [node for node in view.nodes if node.box == loop.id]
    assert loop.repeat == 4
    assert [node.kind for node in inside] == ["call", "call", "op", "op"] * 2
    into = {edge.head for edge in view.edges if edge.back} | {
        edge.head for edge in view.edges if view.nodes[edge.tail].box != loop.id
    }
    assert {inside[0].id, inside[1].id} <= into
    assert any(edge.back for edge in view.edges)


class Machine(nn.Module):
    """Reads a sequence in one loop, and writes in another one, with the same cell."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.leave = nn.GRUCell(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        state, given = torch.zeros(2, 8), []
        for i in range(5):
            state = self.cell(x[i], state)
        for _ in range(4):
            state = self.cell(torch.tanh(state), state)
            given.append(self.leave(state))
        return torch.stack(given)


def test_two_loops_that_call_one_module_are_two() -> None:
    view = proved(capture(Machine(), torch.randn(5, 2, 8)))
    assert [box.repeat for box in view.boxes] == [1, 4]
    assert [node.repeat for node in view.nodes if node.kind == "call"] == [5, 1, 1]


class Step(nn.Module):
    """Two states in a nested list, and an output that the reading steps are not asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.first, self.second, self.leave = nn.Linear(16, 8), *(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor, state: Any) -> Any:
        (a,), (b, c) = state[0], state[1]
        y = torch.relu(self.enter(torch.cat([x, a], 1)))
        a, b, c = self.first(b) * y, self.second(c) + y, c * b
        return torch.sigmoid(self.leave(a + b)), [[a], [b, c]]


class Copying(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step, self.a, self.b = Step(), nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.randn(2, 8))

    def forward(self, x: Tensor) -> Any:
        state, given = [[self.a * 1], [self.b * 1, self.b * 2]], []
        for i in range(5):
            _, state = self.step(x[i], state)
        for _ in range(4):
            o, state = self.step(torch.zeros(2, 8), state)
            given.append(o)
        return torch.stack(given)


def test_a_step_of_two_loops_is_opened_with_all_that_either_of_them_reads() -> None:
    view = proved(capture(Copying(), torch.randn(5, 2, 8)))
    (inset,) = view.insets
    assert cls(view.graph, inset.calls[0]) == "Step"
    inputs = [node.name for node in inset.view.nodes if node.kind == "input"]
    assert inputs == ["x", "state.0.0", "state.1.0", "state.1.1"]
    assert {"sigmoid"} < {node.name for node in inset.view.nodes if node.kind == "output"}


class Levels(nn.Module):
    """Two lists whose layers take turns; the first of the one has another layer more, which is said."""

    def __init__(self) -> None:
        super().__init__()
        widths = [4, 8, 8, 8]
        self.spatial = nn.ModuleList(Widening(a, b) for a, b in pairwise(widths))
        self.temporal = nn.ModuleList(Widening(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(3):
            x = self.spatial[i](x)
            x = self.temporal[i](x)
        return x


class Widening(nn.Module):
    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.norm, self.fc, self.skip = nn.LayerNorm(a), nn.Linear(a, b), nn.Linear(a, b) if a != b else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.skip(x) + self.fc(self.norm(x)).relu()
        return out


def test_a_turn_does_not_begin_in_the_middle_of_the_code_of_the_loop() -> None:
    view = proved(capture(Levels(), torch.randn(2, 4)))
    (turns,) = (box for box in view.boxes if box.around)
    assert [view.graph.calls[call].module for call in turns.calls[:2]] == ["spatial.0", "temporal.0"]


# --- layers that are given others


class Kernels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.z = nn.Parameter(torch.randn(4, 8))

    def forward(self, hyper: nn.Module) -> Any:
        return torch.cat([hyper(row) for row in self.z])


class Hyper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w2 = nn.Parameter(torch.randn(8, 64)), nn.Parameter(torch.randn(64, 8))

    def forward(self, z: Tensor) -> Tensor:
        return ((z @ self.w1).tanh() @ self.w2)[None]


class Primary(nn.Module):
    """A net whose kernels are made by another one, which all its layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.hyper, self.zs = Hyper(), nn.ModuleList(Kernels() for _ in range(3))
        self.blocks = nn.ModuleList(nn.Bilinear(8, 8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(3):
            x = self.blocks[i](x, self.zs[i](self.hyper)[:2])
        return x


def test_a_layer_is_as_much_of_the_model_as_what_it_is_given_to_call() -> None:
    view = proved(capture(Primary(), torch.randn(2, 8)))
    drawn = {cls(view.graph, shown.boxes[0].calls[0]) for shown in (view, *(inset.view for inset in view.insets))}
    assert drawn == {"Primary", "Kernels", "Hyper"}


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Any:
        return self.leave(self.enter(x).relu())


class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fn = FeedForward()

    def forward(self, x: Tensor) -> Any:
        return self.fn(x) * 0.5


class Macaron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.mixer, self.second = Half(), nn.MultiheadAttention(8, 2), Half()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.first(x)
        x = x + self.mixer(x, x, x)[0]
        out: Tensor = x + self.second(x)
        return out


def test_a_number_beside_the_only_layer_of_a_layer_is_drawn() -> None:
    view = proved(capture(Macaron(), torch.randn(2, 8)))
    words = [" · ".join(Labels(view).node(node)[:2]) for node in view.nodes]
    for name in ("first", "second"):
        assert f"{name} · Linear 8→32 · relu · Linear 32→8 · × 0.5" in words


def test_the_step_of_a_number_that_an_embedding_reads_is_said() -> None:
    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.cell, self.leave = nn.Embedding(9, 8), nn.GRUCell(8, 8), nn.Linear(8, 9)

        def forward(self, words: Tensor) -> Any:
            state, given = torch.zeros(len(words), 8), []
            for i in range(words.shape[1]):
                state = self.cell(self.embedding(words[:, i]), state)
                given.append(self.leave(state).softmax(-1))
            return torch.stack(given, 1)

    view = proved(capture(Decoder(), torch.randint(0, 9, (2, 6))))
    assert [box.repeat for box in view.boxes] == [1, 6]


# --- masks and indices


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.leave = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Tensor, padding: Any = None) -> Any:
        padding = torch.arange(8) >= 3 if padding is None else padding
        return self.leave(torch.sin(self.norm(x).masked_fill(padding, 0)))


def test_a_mask_that_is_not_drawn_joins_the_layer_that_it_hides_parts_of() -> None:
    view = proved(capture(Masked(), torch.randn(2, 8)))
    (norm,) = (node for node in view.nodes if "norm" in " ".join(shown(view)[node.id : node.id + 1]))
    assert [part.kind for part in norm.parts] == ["call", "op"]


def test_a_mask_that_is_given_is_an_input() -> None:
    view = proved(capture(Masked(), (torch.randn(2, 8), torch.zeros(2, 8, dtype=torch.bool))))
    assert shown(view) == ["input:x", "input:padding", "norm", "masked_fill", "sin", "leave", "output:"]


def test_an_index_in_the_shape_of_the_data_is_an_index() -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.leave = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor, index: Tensor) -> Any:
            x = self.enter(x)
            index = (index * 2 + 1).clamp(max=3)
            return self.leave(x.new_zeros(4, 8).scatter_add_(0, index[:, None].expand_as(x), x))

    view = proved(capture(Pooled(), (torch.randn(5, 8), torch.randint(0, 2, (5,)))))
    assert "clamp > scatter_add_" in " ".join(edges(view))


class Summed(nn.Module):
    """A sum over neighbours that a layer without parameters takes, called from a function of another one."""

    def forward(self, x: Tensor, index: Tensor) -> Any:
        return x.new_zeros(5, 8).scatter_add_(0, index[:, None].expand_as(x), x).tanh()


class Passing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.summed, self.leave = nn.Linear(8, 8), Summed(), nn.Linear(8, 8)

    def propagate(self, x: Tensor, edges: Tensor) -> Any:
        near = x[edges[0]].sin() * 2
        for _ in range(12):  # more ops than are drawn line by line
            near = near.tan()
        return self.summed(near + near.cos(), edges[1])

    def forward(self, x: Tensor, edges: Tensor) -> Any:
        edges = torch.cat([edges, torch.arange(5).repeat(2, 1)], 1)
        return self.leave(self.propagate(self.enter(x), edges))


@pytest.mark.parametrize("options", [DrawingOptions(), DrawingOptions(expand=("**",))])
def test_an_index_that_goes_through_a_function_to_a_layer_stays_an_edge(options: DrawingOptions) -> None:
    view = proved(capture(Passing(), (torch.randn(5, 8), torch.randint(0, 5, (2, 7)))), options)
    assert "function:propagate" in shown(view)


class Gathering(nn.Module):
    """Layers of different kinds whose outputs are gathered beside the last one."""

    def __init__(self, n: int) -> None:
        super().__init__()
        kinds = (nn.Linear(8, 8), nn.LayerNorm(8), nn.Bilinear(8, 8, 8), nn.GRUCell(8, 8), nn.Linear(8, 4))
        self.layers = nn.ModuleList(kinds[:n])

    def forward(self, x: Tensor) -> Any:
        states = []
        for layer in self.layers:
            x = layer(x, x) if isinstance(layer, nn.Bilinear) else layer(x)
            states.append((x,))
        return x.sum(-1), states


@pytest.mark.parametrize(("n", "are_drawn"), [(3, True), (4, False), (5, False)])
def test_a_list_of_what_many_layers_give_is_named_below(n: int, are_drawn: bool) -> None:
    view = proved(capture(Gathering(n), (torch.randn(2, 8),)))
    ends = [node for node in view.nodes if node.kind == "output"]
    assert len(ends) == (2 if are_drawn else 1), "one for all of the list"
    assert any(note.startswith("not drawn: 1") for note in view.notes) != are_drawn


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.gru, self.out = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        logits: Tensor = self.out(states)
        return logits


def test_packing_sequences_is_one_thing() -> None:
    view = proved(capture(Packed(), (torch.randint(9, (2, 5)), torch.tensor([3, 5]))))
    functions = [node.name for node in view.nodes if node.kind == "function"]
    assert functions == ["pack_padded_sequence", "pad_packed_sequence"]
    assert not [node for node in view.nodes if node.kind == "op"]
    assert not view.weakened


class Fused(nn.Module):
    """Two streams, each of which reads the other one."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, streams: list[Tensor]) -> Any:
        wide, narrow = streams
        return [wide + self.down(narrow).tanh(), narrow + self.up(wide).tanh()]


class Stage(nn.Sequential):
    """Layers in a row that hand on two streams; with `all_of_them`, what each of them gives leads on."""

    def __init__(self, n: int, *, all_of_them: bool = False) -> None:
        super().__init__(*(Fused() for _ in range(n)))
        self.all_of_them = all_of_them

    def forward(self, streams: list[Tensor]) -> Any:
        given = []
        for layer in self:
            streams = layer(streams)
            given.append(streams[0])
        return [streams[1], *given] if self.all_of_them else streams


class Streams(nn.Module):
    def __init__(self, *, all_of_them: bool) -> None:
        super().__init__()
        self.enter, self.stage = nn.Linear(8, 4), Stage(3, all_of_them=all_of_them)
        self.leave = nn.Bilinear(8, 4, 4)

    def forward(self, x: Tensor) -> Any:
        narrow, wide = self.enter(x), x
        streams = self.stage([wide, narrow])
        return self.leave(sum(streams[1:]), streams[0]) if self.stage.all_of_them else self.leave(*streams)


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_row_of_layers_with_several_streams_is_opened_as_the_row_it_is(*, all_of_them: bool) -> None:
    graph = capture(Streams(all_of_them=all_of_them), torch.randn(2, 8))
    view = proved(graph, DrawingOptions(collapse=("stage.*",)))
    rows = [cls(graph, node.calls[0]) for node in view.nodes if node.repeat == 3]
    assert rows == ([] if all_of_them else ["Fused"])


def test_what_the_proof_closes_has_given_way() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Held(), Stem()

        def forward(self, x: Tensor) -> Any:
            return self.second(self.first(x).roll(1, 1))

    graph = capture(Two(), torch.randn(2, 6, 8))
    views, (first,) = Views(graph), [row.id for row in graph.calls if row.module == "first"]
    views.view()
    views.open_fewer()
    views.view()
    assert views.weaken([first])
    assert views.weaken([first])
    view = views.view()
    assert (boxes(view), view.insets) == (["", "second"], ())
