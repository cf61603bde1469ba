"""A series, layers in parallel, one module that is called again, and a loop are four things."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from tests.core.view.seeing import boxes, edges, shown
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view
from torchrecorder.write.text import tree


def words(view: View) -> list[str]:
    labels = Labels(view)
    return [" | ".join(filter(None, labels.node(node)[:2])) for node in view.nodes if node.kind in ("call", "op")]


def chain(n: int) -> Graph:
    net = Net("Chain", params=72 * n)
    x = net.input("x", 1, 8)
    for i in range(n):
        x = net.layer(f"b.{i}", "Linear", x, said="in_features=8, out_features=8", params=72)
    return net.graph(x)


def fan(n: int) -> Graph:
    net = Net("Fan", params=72 * n)
    x = net.input("x", 1, 8)
    outs = [net.layer(f"b.{i}", "Linear", x, said="in_features=8, out_features=8", params=72) for i in range(n)]
    return net.graph(net.op("stack", *outs, shape=(n, 1, 8)))


def loop(n: int, *, closed: bool = True) -> Graph:
    """A decoder that reads what it wrote, cut to one column by one line of a loop."""
    net = Net("Loop", params=100)
    x = net.input("x", 1, 8)
    outs = []
    for _ in range(n):
        with net.call("cell", "Cell", params=100):
            x = net.layer("cell.fc", "Linear", net.op("tanh", x), said="in_features=8, out_features=8", params=100)
        x = net.op("softmax", x)
        net.ops[-1] = replace(net.ops[-1], source="net.py:7", offset=40)
        outs.append(x)
    return net.graph(net.op("cat", *outs, shape=(n, 8)))


def test_a_series_and_layers_in_parallel_differ() -> None:
    assert words(make_view(chain(6))) == ["b | Linear 8→8 ×6"]
    assert words(make_view(fan(6)))[0] == "b | Linear 8→8 · 6 in parallel"
    assert "×6" in tree(chain(6))
    assert "6 in parallel" in tree(fan(6))


def test_branches_of_two_are_series_side_by_side() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    outs = []
    for i in range(0, 6, 2):  # of four it is columns
        y = net.layer(f"b.{i}", "Linear", x, params=72)
        outs.append(net.layer(f"b.{i + 1}", "Linear", y, params=72))
    view = make_view(net.graph(net.op("cat", *outs)))
    assert shown(view)[1:4] == ["b.0 x2", "b.2 x2", "b.4 x2"]
    assert {node.repetition for node in view.nodes} == {"series"}


@pytest.mark.parametrize("depth", [1, 2])
def test_a_loop_is_a_box_of_one_turn(depth: int) -> None:
    view = make_view(loop(5), DrawingOptions(depth=depth))
    box = view.boxes[1]
    assert (box.repeat, box.repetition, box.around, len(box.calls), len(box.ops)) == (5, "loop", True, 5, 5)
    assert "softmax > cat" in edges(view)
    assert box.differs == ("outputs ×5",)
    backs = [(shown(view)[e.tail], shown(view)[e.head]) for e in view.edges if e.back]
    assert backs == [("softmax", "tanh" if depth == 2 else "cell")]
    assert "called 5 times · shared · loop" in tree(loop(5))


def test_calls_with_another_layer_between_are_no_loop() -> None:
    net = Net(params=144)
    x = net.layer("p", "Linear", net.input("x", 1, 8), params=72)
    x = net.layer("p", "Linear", net.layer("mid", "Linear", x, params=72), params=72)
    view = make_view(net.graph(x))
    assert edges(view) == ["input:x > p", "p > mid", "mid > p", "p > output:"]


def test_one_module_on_two_inputs_is_drawn_twice() -> None:
    net = Net(params=72)
    a, b = net.input("a", 1, 8), net.input("b", 1, 8)
    x, y = (net.layer("net", "Linear", value, params=72) for value in (a, b))
    view = make_view(net.graph(net.op("sub", x, y)))
    assert shown(view) == ["input:a", "input:b", "net", "net", "sub", "output:"]


def test_one_module_on_many_inputs_is_drawn_once() -> None:
    net = Net(params=72)
    outs = [net.layer("net", "Linear", net.input(f"x{i}", 1, 8), params=72) for i in range(4)]
    view = make_view(net.graph(net.op("cat", *outs)))
    assert shown(view)[4:] == ["net x4", "cat", "output:"]
    assert view.nodes[4].repetition == "shared"


def test_calls_of_modules_that_take_turns_in_no_loop_are_drawn_apart() -> None:
    net = Net(params=144)
    read = {"p": "q", "q": "p"}
    outs: dict[str, list[int]] = {"p": [], "q": []}
    for i in range(4):
        for name in ("p", "q") if i % 2 else ("q", "p"):
            before = outs[read[name]]
            x = before[i] if len(before) > i else net.input(f"{name}{i}", 1, 8)
            outs[name].append(net.layer(name, "Linear", x, params=72))
    view = make_view(net.graph(net.op("cat", *outs["p"], *outs["q"])))
    assert [shown(view).count(name) for name in ("p", "q")] == [4, 4]
    assert all(edge.tail < edge.head for edge in view.edges)


def test_calls_that_differ_are_told_and_counted_once() -> None:
    net = Net(params=72)
    x = net.input("x", 1, 8)
    for name in ("sin", "cos"):
        with net.call("cell", "Cell", params=72):
            x = net.layer("cell.fc", "Linear", net.op(name, x), said="in_features=8, out_features=8", params=72)
    view = make_view(net.graph(x), DrawingOptions(depth=2))
    titles = [Labels(view).box(box) for box in view.boxes[1:]]
    assert titles == ["cell · Cell · 1 of 2 · shared · 72 params", "cell · Cell · 2 of 2 · shared"]
    unfolded = make_view(net.graph(x), DrawingOptions(depth=1, fold=False))
    assert words(unfolded)[1] == "cell | Cell · 2 of 2 · shared"


def test_an_op_in_another_place_does_not_go_round() -> None:
    graph = loop(3)
    last = next(op for op in reversed(graph.ops) if op.name == "softmax")
    ops = tuple(replace(op, offset=60) if op is last else op for op in graph.ops)
    assert shown(make_view(replace(graph, ops=ops), DrawingOptions(depth=1))).count("softmax") == 2


def keeps(n: int, *outputs: int) -> Graph:
    net = Net()
    x = net.input("x", 1, 8)
    outs = [x := net.layer(f"layers.{i}", "Linear", x, params=72) for i in range(n)]
    return net.graph(*(outs[i] for i in outputs))


def test_a_stack_says_which_of_its_layers_give_outputs() -> None:
    view = make_view(keeps(4, 0, 1, 2, 3))
    assert shown(view) == ["input:x", "layers.0 x4", *(f"output:{i}" for i in range(4))]
    assert view.nodes[1].differs == ("outputs ×4",)
    assert [node.differs for node in view.nodes[2:]] == [(f"of layers.{i}",) for i in range(4)]
    some = make_view(keeps(10, 0, 2, 4, 6, 9))
    assert some.nodes[1].differs == ("outputs 0, 2, 4, 6, 9",)
    few = make_view(keeps(6, 1, 3, 5))
    assert shown(few)[1:4] == ["layers.0 x2", "layers.2 x2", "layers.4 x2"]
    assert [few.nodes[edge.tail].calls[-1] for edge in few.edges if few.nodes[edge.head].kind == "output"] == [2, 4, 6]
    assert shown(make_view(keeps(6, 2)))[1:3] == ["layers.0 x3", "layers.3 x3"]
    assert make_view(keeps(6, 5)).nodes[1].differs == ()


def test_a_list_of_what_a_stack_gives_is_one_output() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    outs = [x := net.layer(f"layers.{i}", "Linear", x, params=72) for i in range(4)]
    view = make_view(net.graph(**{"last": net.op("relu", x)} | {f"hidden.{i}": out for i, out in enumerate(outs)}))
    assert shown(view) == ["input:x", "layers.0 x4", "relu", "output:last", "output:hidden"]
    assert (view.nodes[1].differs, view.nodes[4].values) == (("outputs ×4",), tuple(outs))
    assert edges(view).count("layers.0 x4 > output:hidden") == 1


def shrinking(n: int) -> Graph:
    net = Net()
    size = 64
    x = net.input("x", 1, 8, size)
    for i in range(n):
        with net.call(f"b.{i}", "Sequential", params=72):
            size //= 2
            x = net.layer(f"b.{i}.0", "Conv2d", x, (1, 8, size), "8, 8, kernel_size=(3,), stride=(2,)", 72)
            x = net.layer(f"b.{i}.1", "ReLU", x)
        net.calls[-3] = replace(net.calls[-3], inputs=net.calls[-2].inputs, outputs=net.calls[-1].outputs)
    return net.graph(x)


def test_equal_layers_whose_sizes_change_say_so() -> None:
    view = make_view(shrinking(5), DrawingOptions(depth=1))
    assert words(view) == ["b | Conv · ReLU ×5 · 64→2 · 72 params each"]
    assert boxes(make_view(shrinking(5), DrawingOptions(depth="all")))[1:] == ["b.0 x5"]
    assert len(make_view(shrinking(2), DrawingOptions(depth=1)).nodes) == 4


def test_the_last_of_equal_layers_may_give_fewer_axes() -> None:
    net = Net("Reducing", params=216)
    x = net.input("x", 2, 12, 8)
    for i in range(3):
        x = net.layer(f"b.{i}", "Linear", x, (2, 8) if i == 2 else (2, 12, 8), "in_features=8, out_features=8", 72)
    assert words(make_view(net.graph(x))) == ["b | Linear 8→8 ×3"]


def test_sizes_are_said_only_from_what_the_first_layer_takes() -> None:
    """Blocks on spectra add an axis of channels: 257 frequencies become 129 in the first, and 5 in the last."""
    net = Net("Spectra", params=216)
    x = net.input("x", 2, 257)
    for i, size in enumerate((129, 65, 5)):
        x = net.layer(f"b.{i}", "Block", x, (2, size, 128), "", 72)
    assert words(make_view(net.graph(x))) == ["b | Block ×3 · 72 params each"]


def test_calls_of_one_layer_are_never_in_parallel() -> None:
    """As the activation behind each of the five maps of a RetinaNet, which is one object."""
    net = Net()
    x = net.input("x", 1, 8)
    outs = [net.layer("relu", "ReLU", x) for _ in range(5)]
    view = make_view(net.graph(net.op("cat", *outs)))
    assert [(node.repeat, node.repetition) for node in view.nodes if node.kind == "call"] == [(5, "shared")]
