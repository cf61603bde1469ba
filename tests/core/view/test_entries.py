"""Entries of lists of lists, whose layers the code calls one by one, are blocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from tests.core.view.seeing import edges, reaches, shown
from torchrecorder.graph import Graph, Module, ParamCount
from torchrecorder.graph.codec import problems
from torchrecorder.labels.labels import Labels
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view
from torchrecorder.view.entries import with_entries

LIST = "torch.nn.modules.container.ModuleList"


def lists(net: Net, name: str, n: int, params: int, cls: str = LIST) -> None:
    for path in (name, *(f"{name}.{i}" for i in range(n))):
        net.modules[path] = Module(path, LIST if path == name else cls, True, ParamCount(0, params, params))


def at(net: Net, line: int, *inputs: int, op: str = "add") -> int:
    """An op of a line of the forward."""
    found = net.op(op, *inputs)
    net.ops[-1] = replace(net.ops[-1], source=f"net.py:{line}", offset=line)
    return found


def step(net: Net, path: str, x: int, params: int = 1000) -> int:
    """A layer of the user's with two of torch's."""
    with net.call(path, "Step", params=2 * params):
        y = net.layer(f"{path}.first", "Linear", x, params=params)
        y = net.layer(f"{path}.second", "Linear", net.op("tanh", y), params=params)
    net.give(x, y)
    return y


def unet(n: int = 2, *, others: int = 0, cls: str = LIST) -> Graph:
    """Two lists: in an entry of the second, a `cat` stands before its layers, in both a sum behind them."""
    net = Net("UNet", params=20_000)
    for name in ("downs", "ups"):
        lists(net, name, n, 6000, cls)
    x = net.input("x", 1, 8)
    x = net.layer("stem", "Linear", x, params=64)
    held = []
    for i in range(n):
        x = step(net, f"downs.{i}.0", x)
        held.append(x)
        x = at(net, 1, x, step(net, f"downs.{i}.1", x))
        for j in range(others):
            x = net.layer(f"between{j}", "Linear", x, params=9)
    for i in range(n):
        x = at(net, 2, x, held.pop(), op="cat")
        x = step(net, f"ups.{i}.0", x)
        x = at(net, 3, x, step(net, f"ups.{i}.1", x))
    return net.graph(net.op("mean", at(net, 4, x, x, op="cat")))


def inside(graph: Graph, path: str) -> list[str]:
    """The ops and calls directly in an entry."""
    (call,) = (row.id for row in graph.calls if row.module == path)
    ops = [op.name for op in graph.ops if op.call == call]
    return ops + [row.module for row in graph.calls if row.parent == call]


def test_an_entry_is_a_call_with_what_stands_between_its_layers() -> None:
    found = with_entries(unet())
    assert inside(found, "downs.0") == ["add", "downs.0.0", "downs.0.1"]
    assert inside(found, "ups.1") == ["cat", "add", "ups.1.0", "ups.1.1"]
    assert [op.name for op in found.ops if op.call == 0] == ["cat", "mean"], "what ran behind the list is not in it"
    assert not problems(found)


def test_an_entry_says_what_it_gets_and_gives() -> None:
    graph = with_entries(unet())
    rows = {row.module: row for row in graph.calls}
    assert [*rows["ups.0"].inputs] == ["x", "downs"]
    assert [*rows["downs.0"].outputs] == ["0", "1"]
    assert rows["ups.1"].outputs[""] in {value for op in graph.ops if op.call == 0 for value in op.inputs}


def test_an_entry_gets_first_what_its_first_layer_is_called_with_first() -> None:
    net = Net("Decoder", params=20_000)
    lists(net, "ups", 2, 6000)
    x, style = net.layer("stem", "Linear", net.input("x", 1, 8), params=64), net.input("style", 1, 8)
    for i in range(2):
        id_, before = len(net.calls), x
        with net.call(f"ups.{i}.0", "Step", params=2000):
            scale = net.layer(f"ups.{i}.0.scale", "Linear", style, params=1000)
            x = net.op("mul", x, scale)
        net.calls[id_] = replace(net.calls[id_], inputs={"x": before, "style": style}, outputs={"": x})
        x = step(net, f"ups.{i}.1", x)
    rows = {row.module: row for row in with_entries(net.graph(x)).calls}
    assert [*rows["ups.1"].inputs] == ["x", "style"]


def test_an_entry_calls_what_it_gives_by_the_layers_that_give_it() -> None:
    net = Net("Encoder", params=20_000)
    lists(net, "levels", 2, 6000, "torch.nn.modules.container.ModuleDict")
    x, kept = net.layer("stem", "Linear", net.input("x", 1, 8), params=64), []
    for i in range(2):
        for name in ("blocks", "downsample"):
            id_, x = len(net.calls), step(net, f"levels.{i}.{name}", x)
            net.calls[id_] = replace(net.calls[id_], outputs={"": x})
            kept.append(x)
    rows = {row.module: row for row in with_entries(net.graph(net.op("cat", *kept))).calls}
    assert [*rows["levels.0"].outputs] == ["blocks", "downsample"]


@pytest.mark.parametrize("cls", [LIST, "torch.nn.modules.module.Module"])
def test_entries_are_opened_as_blocks(cls: str) -> None:
    view = make_view(unet(3, cls=cls))
    assert [name for name in shown(view) if name[:2] in ("do", "up")] == [
        f"{a}.{i}" for a in ("downs", "ups") for i in range(3)
    ]
    assert len([edge for edge in edges(view) if edge.endswith("(skip)")]) == 2
    assert reaches(view)
    titles = [Labels(inset.view).inset(inset.view.boxes[0], inset.letter) for inset in view.insets]
    assert any("\N{EN SPACE}ups · ups." in title for title in titles)


def test_equal_entries_in_a_row_are_drawn_once() -> None:
    net = Net("Stack", params=20_000)
    lists(net, "blocks", 3, 6000)
    x = net.input("x", 1, 8)
    for i in range(3):
        x = net.op("add", x, step(net, f"blocks.{i}.0", x))
        x = net.op("add", x, step(net, f"blocks.{i}.1", x))
    view = make_view(net.graph(net.layer("head", "Linear", x, params=9)))
    assert any(box.calls and len(box.calls) == 3 for box in view.boxes)
    assert reaches(view)


def test_a_layer_between_two_entries_is_in_none() -> None:
    found = with_entries(unet(others=1))
    assert [row.module for row in found.calls if row.parent == 0][:5] == [
        "stem",
        "downs.0",
        "between0",
        "downs.1",
        "between0",
    ]


@pytest.mark.parametrize(
    ("options", "contract"),
    [(DrawingOptions(depth=1), True), (DrawingOptions(depth="all"), True), (DrawingOptions(), False)],
)
def test_other_depths_show_what_was_called(options: DrawingOptions, contract: bool) -> None:
    view = make_view(unet(), options, contract=contract)
    assert view.graph == unet()


def test_lists_that_are_no_chain_of_blocks_are_left() -> None:
    net = Net("Left", params=20_000)
    for name in ("sides", "turns", "single"):
        lists(net, name, 2, 6000)
    x = net.input("x", 1, 8)
    x = net.op("add", *[step(net, f"sides.{i}.1", step(net, f"sides.{i}.0", x)) for i in range(2)])
    for i in range(2):  # one layer each
        x = step(net, f"single.{i}.0", x)
    for k in range(2):  # first the first of each, then the second
        for i in range(2):
            x = step(net, f"turns.{i}.{k}", x)
    graph = net.graph(x)
    assert with_entries(graph) is graph


def test_a_focus_on_an_entry_shows_it() -> None:
    view: View = make_view(unet(), DrawingOptions(focus="ups.1"))
    assert "ups.1.0" in " ".join(shown(view))
    assert [node.name for node in view.nodes if node.kind == "input"] == ["x", "downs"]
