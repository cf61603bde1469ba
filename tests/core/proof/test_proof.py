"""Pictures are proved, and what a proof finds is drawn with less merging."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.proof.folded_nets import FOLDED
from tests.core.proof.graphs import graphs
from tests.core.proof.loop_nets import LOOPS
from tests.core.proof.part_nets import PARTS, SEARCHED
from tests.core.proof.unseen_nets import UNSEEN
from tests.core.view.seeing import boxes, edges, shown
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.recording.run import capture
from torchrecorder.request.options import Depth
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views, make_view
from torchrecorder.view.plan.repeats import Repeats
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.simplified import _Asides

NETS = {entry.name: entry for entry in (*LOOPS, *UNSEEN, *FOLDED, *PARTS, SEARCHED)}
PLAINER = {"neural_ode", "variants", "streams"}
"""Nets of which the planned view does not say all that differs, so that it is drawn in a plainer way."""


@cache
def recorded(name: str) -> Graph:
    model, args, kwargs = NETS[name].load()
    with torch.no_grad():
        return capture(model, args, kwargs)


def proved(graph: Graph, options: DrawingOptions | None = None, *, contract: bool = True) -> View:
    return ProvedViews(Views(graph, options or DrawingOptions(), contract=contract)).view()


@pytest.mark.parametrize("depth", ["auto", 1, "all"])
@pytest.mark.parametrize("name", NETS)
def test_a_picture_is_proved(name: str, depth: Depth) -> None:
    view = proved(recorded(name), DrawingOptions(depth=depth))
    assert faults(view) == ()
    assert not view.weakened or name in PLAINER


def test_a_block_whose_turns_cannot_be_shown_is_opened_beside() -> None:
    view = proved(recorded("streams"))
    assert view.weakened
    (inset,) = view.insets
    assert len(inset.calls) == 3
    assert {"look", "tell", "out"} <= {name.rpartition(".")[2] for name in shown(inset.view)}


def test_an_input_that_a_function_only_checks_is_named() -> None:
    view = proved(recorded("kinds"))
    assert "function" in {node.kind for node in view.nodes}
    assert any("kinds" in note for note in view.notes)


@pytest.mark.parametrize(
    ("options", "contract"),
    [
        (DrawingOptions(fold=False), True),
        (DrawingOptions(expand=("**",)), True),
        (DrawingOptions(collapse=("*",)), True),
        (DrawingOptions(), False),
    ],
    ids=["fold", "expand", "collapse", "contract"],
)
@pytest.mark.parametrize("name", [*NETS][::2])
def test_a_picture_with_options_is_proved(name: str, options: DrawingOptions, contract: bool) -> None:
    assert faults(proved(recorded(name), options, contract=contract)) == ()


@pytest.mark.parametrize("name", [*NETS][1::2])
def test_the_inside_of_a_closed_layer_is_proved(name: str) -> None:
    graph = recorded(name)
    called = {call.parent for call in graph.calls}
    for call in [call for call in graph.calls[1:] if call.id in called][:3]:
        assert faults(proved(graph, DrawingOptions(focus=call.module))) == ()


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(graph=graphs(), depth=st.sampled_from(["auto", 1, "all"]), fold=st.booleans())
def test_a_picture_of_a_random_graph_is_proved(graph: Graph, depth: Depth, fold: bool) -> None:
    assert faults(proved(graph, DrawingOptions(depth=depth, fold=fold))) == ()


@pytest.mark.soak
@settings(max_examples=3000, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(graph=graphs(size=12), depth=st.sampled_from(["auto", 0, 1, 2, "all"]), fold=st.booleans())
def test_pictures_of_many_random_graphs_are_proved(graph: Graph, depth: Depth, fold: bool) -> None:
    assert faults(proved(graph, DrawingOptions(depth=depth, fold=fold))) == ()


@pytest.mark.parametrize("fold", [True, False])
def test_what_a_block_reads_in_vain_is_drawn(fold: bool) -> None:
    """An op whose result nobody reads is not worth a node; the block that it is in reads its data all the same."""
    net = Net("Random", params=100)
    x = net.input("x", 1, 4)
    a = net.op("add", x)
    with net.call("block", "Block", params=50):
        net.op("add", x)
        out = net.op("sin", a)
    graph = net.graph(out)
    graph = replace(graph, ops=tuple(replace(op, source="net.py:1", offset=0) for op in graph.ops))
    assert faults(proved(graph, DrawingOptions(fold=fold))) == ()


def test_a_shared_layer_with_another_between_is_drawn_twice() -> None:
    view = proved(recorded("shared"))
    assert edges(view) == ["input:x > p", "p > mid", "mid > p", "p > output:"]


def test_blocks_whose_layers_run_in_control_flow_are_the_same() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for block in ("blocks.0", "blocks.1", "blocks.2"):
        with net.call(block, "Block", params=40):
            with net.function("cond"):
                y = net.layer(f"{block}.a", "Linear", x, params=20)
                y = net.layer(f"{block}.b", "Linear", net.op("tanh", y), params=20)
            x = net.op("add", x, y)
    assert boxes(proved(net.graph(x), DrawingOptions(depth="all"))) == ["", "blocks.0 x3", "cond"]


def unregistered(*names: str) -> Graph:
    """Blocks with attention that is not registered, which calls layers of the block that are."""
    net = Net(params=144 * len(names))
    x = net.input("x", 1, 8)
    for i, name in enumerate(names):
        with net.call(f"layer.{i}", "Block", params=144):
            with net.call(name, "Attention"):
                query, key = (net.layer(f"layer.{i}.self.{it}", "Linear", x, params=72) for it in ("query", "key"))
                y = net.op("softmax", net.op("matmul", query, key))
            x = net.op("add", y, x)
    return net.graph(x)


@pytest.mark.parametrize("depth", [1, "all"])
def test_blocks_with_layers_that_are_not_registered_are_the_same(depth: Depth) -> None:
    view = proved(unregistered("~Attention", "~Attention:2", "~Attention:3"), DrawingOptions(depth=depth))
    assert view.weakened == ()
    assert "layer.0 x3" in (shown(view) if depth == 1 else boxes(view))


def test_blocks_that_share_a_layer_that_is_not_registered_are_not_the_same_as_others() -> None:
    view = proved(unregistered("~Attention", "~Attention", "~Attention:2"), DrawingOptions(depth=1))
    assert "layer.0 x3" not in shown(view)


def test_a_layer_between_calls_of_another_is_not_lost() -> None:
    names = shown(proved(recorded("shared_mixed")))
    assert {"mid", "cat"} <= {*names}
    assert names.count("p") == 4


def test_all_heads_of_nested_outputs_are_drawn() -> None:
    view = proved(recorded("nested"))
    outputs = [node.name for node in view.nodes if node.kind == "output"]
    assert outputs == ["det.cls", "det.box", "seg.mask", "seg.edge"]
    assert not view.notes


def test_a_word_that_was_chosen_goes_back_to_the_next_step() -> None:
    view = proved(recorded("greedy"))
    names = shown(view)
    assert {(names[e.tail], names[e.head]) for e in view.edges if e.back} == {("argmax", "emb"), ("cell", "cell")}
    assert boxes(view)[1].endswith("x3")


def test_the_running_sum_of_a_solver_goes_back() -> None:
    view = proved(recorded("rk2"))
    loop = next(box for box in view.boxes if box.repetition == "loop")
    assert loop.repeat == 3
    inside = [node for node in view.nodes if node.box == loop.id]
    assert sum(node.kind == "call" for node in inside) == 2
    last = max(node.id for node in inside)
    assert {edge.tail for edge in view.edges if edge.back} == {last}


def test_each_dilation_is_said() -> None:
    view = proved(recorded("dilation"))
    spans = [span for node in view.nodes for part in (node, *node.parts) for span in part.spans]
    spans += [span for inset in view.insets for node in inset.view.nodes for span in node.spans]
    assert ("1", "(2,)", "(4,)", "(8,)", "(16,)") in [span.values for span in spans if span.name == "dilation"]


def test_a_reciprocal_is_drawn() -> None:
    net = Net()
    x = net.op("div", net.input("x", 1, 4), attrs={"1": "1"})
    net.ops[-1] = replace(net.ops[-1], target="torch.Tensor.__rdiv__", kernels=("aten.reciprocal.default",))
    assert shown(proved(net.graph(x))) == ["input:x", "div", "output:"]


@pytest.mark.parametrize(
    ("name", "settings", "is_drawn"),
    [
        ("pad", {"1": "(0, 0)", "value": "None"}, False),
        ("pad", {"1": "(-1, 1)", "value": "None"}, True),
        ("interpolate", {"size": "(4,)", "scale_factor": "None"}, False),
        ("interpolate", {"size": "None", "scale_factor": "1.1"}, True),
    ],
)
def test_what_keeps_each_number_at_its_place_is_not_drawn(name: str, settings: dict[str, str], is_drawn: bool) -> None:
    net = Net()
    x = net.op("cos", net.op(name, net.op("sin", net.input("x", 1, 1, 4)), attrs=settings))
    view = proved(net.graph(x))
    assert (name in shown(view)) == is_drawn
    assert not view.weakened
    if not is_drawn:  # the proof says by itself that such an op is nothing
        ops = (replace(op, attrs={"1": "(-1, 1)"}) if op.name == name else op for op in view.graph.ops)
        assert faults(replace(view, graph=replace(view.graph, ops=tuple(ops)))) or name == "interpolate"


def test_a_line_that_pads_at_times_is_drawn_each_time() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for n in (0, 1):
        x = net.op("sin", net.op("pad", x, shape=(1, 4 + n), attrs={"1": f"(0, {n})"}), shape=(1, 4 + n))
    assert [name for name in shown(proved(net.graph(x))) if name == "pad"] == ["pad", "pad"]


def test_sizes_that_are_tensors_are_read_by_a_change_of_shape() -> None:
    net = Net()
    x, n = net.op("sin", net.input("x", 6, 4)), net.op("tensor", shape=())
    x = net.op("reshape", x, n, shape=(2, 3, 4))
    net.ops[-1] = replace(net.ops[-1], kernels=("aten._local_scalar_dense.default", "aten.view.default"))
    view = proved(net.graph(net.op("cos", x)))
    assert not view.weakened
    assert shown(view) == ["input:x", "sin", "cos", "output:"]


def test_what_is_lost_between_turns_of_a_stack_is_drawn_plainer() -> None:
    """Two streams, the second of which the last block does not give: it was taken for what nothing reads."""
    net = Net(params=300)
    x, y = net.input("x", 1, 8), net.input("y", 1, 8)
    for i in range(3):
        with net.call(f"blocks.{i}", "Block", params=100):
            x = net.op("add", net.layer(f"blocks.{i}.a", "Linear", x, params=50), y)
            y = y if i == 2 else net.layer(f"blocks.{i}.b", "Linear", y, params=50)
    view = proved(net.graph(x))
    assert faults(view) == ()
    drawn = {call for node in view.nodes for call in node.calls} | {call for box in view.boxes for call in box.calls}
    assert {call.id for call in view.graph.calls if call.module.endswith(".b")} <= {
        inner for call in drawn for inner in range(call, len(view.graph.calls))
    }


@pytest.mark.parametrize(
    ("name", "part", "false"),
    [
        ("searched", "2…4 of 4", "1…3 of 4"),
        ("searched", "2…4 of 4", "2…4 of 5"),
        ("rolled", "", "[:, :7]"),
        ("frames", "first", "1st half"),
        ("frames", "first", "1 of 2"),
        ("frames", "first", "others"),
    ],
)
def test_a_part_that_is_said_falsely_is_found(name: str, part: str, false: str) -> None:
    view = proved(recorded(name))
    tails = ("op", "function", *(("call",) if part else ()))
    (edge,) = (one for one in view.edges if one.part == part and view.nodes[one.tail].kind in tails)
    edges = tuple(replace(one, part=false) if one is edge else one for one in view.edges)
    assert any(false in fault.words for fault in faults(replace(view, edges=edges)))


@pytest.mark.parametrize("name", ["taken_apart", "cross_stage"])
def test_parts_that_the_first_turn_alone_gets_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines within blocks ×3 said `[:, :2]` and `[:, 2:]`, or twice `1st half`, as if each block took parts."""
    assert faults(make_view(recorded(name))) == ()
    monkeypatch.setattr(Visibility, "_beginning", lambda _: ())
    found = [fault.words for fault in faults(make_view(recorded(name)))]
    assert any("for the first turn of a row alone" in words for words in found)


class Painting(nn.Module):
    """A canvas begins as a colour that is learned, and each step adds to it."""

    def __init__(self) -> None:
        super().__init__()
        self.paper, self.fc = nn.Parameter(torch.ones(4)), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        canvas = self.paper.expand_as(x)
        for _ in range(4):
            canvas = canvas + self.fc(torch.cat([x, canvas.sigmoid()], -1))
        return canvas


def test_what_only_begins_a_loop_stands_outside_of_it() -> None:
    """`paper` stood in a loop with a line to its sum, as if each step added it."""
    with torch.no_grad():
        view = proved(capture(Painting(), (torch.randn(2, 4),), {}))
    loop = next(box for box in view.boxes if box.repetition == "loop")
    (paper,) = (node for node in view.nodes if node.name == "paper")
    assert paper.box == loop.parent
    assert faults(view) == ()
    nodes = tuple(replace(node, box=loop.id) if node is paper else node for node in view.nodes)
    assert any("only begins with it" in fault.words for fault in faults(replace(view, nodes=nodes)))
    assert {edge.part for edge in view.edges if edge.tail == paper.id} == {"first step"}
    given = next(node.id for node in view.nodes if node.kind == "input")  # each step reads it
    edges = tuple(replace(edge, part="first step") if edge.tail == given else edge for edge in view.edges)
    assert any("does not carry first step" in fault.words for fault in faults(replace(view, edges=edges)))
    heads = {edge.head for edge in view.edges if edge.tail == paper.id}
    nodes = tuple(
        replace(node, values=()) if node is paper else replace(node, parts=(node, paper)) if node.id in heads else node
        for node in view.nodes
    )
    assert any("only begins with it" in fault.words for fault in faults(replace(view, nodes=nodes)))  # `+ paper`


class Futures(nn.Module):
    """One future for each first choice; later choices are what seems best."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.habit = Choice(), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.repeat_interleave(3, dim=0)
        choice = torch.arange(len(x)) % 3
        for at in range(4):
            if at:
                choice = self.habit(x).argmax(dim=1)
            x = self.step(x, choice)
        return x


class Choice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.move, self.fc = nn.Embedding(3, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, choice: Tensor) -> Tensor:
        found: Tensor = self.fc(x + self.move(choice)).relu()
        return found


def test_numbers_that_a_loop_begins_with_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """All choices seemed to come from the habit, and none to be tried."""
    with torch.no_grad():
        graph = capture(Futures(), (torch.randn(2, 4),), {})
    view = proved(graph)
    assert faults(view) == ()
    (choice,) = (node for node in view.nodes if node.kind == "const")
    assert {edge.part for edge in view.edges if edge.tail == choice.id} == {"first step"}
    assert view.boxes[choice.box or 0].repetition != "loop"
    assert Labels(view).node(choice).name == "constant choice"
    monkeypatch.setattr(_Asides, "_begins", lambda *_: False)
    assert any("neither drawn" in fault.words for fault in faults(make_view(graph, DrawingOptions())))


class Giving(nn.Module):
    """Gives two tensors, of which a stack hands on the one or the other."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.a(x).sigmoid(), self.b(x).tanh() * 1.5


class Handing(nn.Module):
    """The last of its blocks reads another tensor of the one before it than the others do."""

    def __init__(self, n: int = 3) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Giving() for _ in range(n))

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for block in self.blocks[:-1]:
            x, y = block(x)
        found: Tensor = self.blocks[-1](y)[1]
        return found


@pytest.mark.parametrize("depth", ["auto", "all"])
def test_turns_that_hand_on_other_tensors_are_no_stack(depth: Depth) -> None:
    graph = capture(Handing().eval(), (torch.ones(2, 4),))
    view = proved(graph, DrawingOptions(depth=depth))
    assert faults(view) == ()
    assert not any(box.repeat > 2 for box in view.boxes)
    assert not any(node.repeat > 2 for node in view.nodes)


def test_a_stack_of_turns_that_hand_on_other_tensors_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeats, "_handed", lambda *_: set[tuple[int, int]]())
    graph = capture(Handing().eval(), (torch.ones(2, 4),))
    found = faults(Views(graph, DrawingOptions(depth="all")).view())
    assert any("reads other parts of the turn before in some turns" in fault.words for fault in found)


class Halving(nn.Module):
    """Its second output is read of none of the calls."""

    def __init__(self, *, gates: bool) -> None:
        super().__init__()
        self.a, self.gates = nn.Linear(4, 4), gates

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.a(x).relu() * x
        return y.sigmoid() if self.gates else y, (y * 1.5).cos()


class Halvings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Halving(gates=i != 1) for i in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)[0].sin() + 1
        return x


def test_what_is_made_for_an_output_that_nothing_reads_is_left_out_beside() -> None:
    view = proved(capture(Halvings().eval(), (torch.ones(2, 4),)))
    assert view.insets
    assert not view.weakened
