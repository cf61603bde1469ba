"""What is drawn once with `×N`, and what is not."""

from __future__ import annotations

import pytest

from tests.core.graph.building import Net, residual_block, transformer
from tests.core.view.seeing import boxes, edges, reaches, shown
from torchrecorder.graph import Graph
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


def test_a_run_is_wired_as_one() -> None:
    view = make_view(transformer(80), DrawingOptions(depth="all"))
    assert boxes(view) == ["", "blocks.0 x80", "blocks.0.attn", "blocks.0.mlp"]
    found = edges(view)
    assert "embed > blocks.0.ln1" in found
    assert "embed > add (skip)" in found
    assert "add > norm" in found
    assert len(found) == len(set(found)) == len(edges(make_view(transformer(1), DrawingOptions(depth="all"))))


def test_the_members_are_known() -> None:
    view = make_view(transformer(3))
    run = next(box for box in view.boxes if box.repeat == 3)
    assert [view.graph.calls[call].module for call in run.calls] == ["blocks.0", "blocks.1", "blocks.2"]


def test_can_be_switched_off() -> None:
    assert len(make_view(transformer(3), DrawingOptions(fold=False, depth=2)).boxes) == 4


def test_query_key_and_value_are_three() -> None:
    assert {f"blocks.0.attn.{name}" for name in "qkv"} <= set(shown(make_view(transformer(2))))


def test_runs_within_runs() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for i in range(3):
        with net.call(f"stages.{i}", "Stage"):
            for j in range(2):
                x = net.layer(f"stages.{i}.{j}", "Linear", x, params=16)
            x = net.op("sin", x)
    view = make_view(net.graph(x), DrawingOptions(depth="all"))
    assert edges(view) == [
        "input:x > stages.0.0 x2",
        "stages.0.0 x2 > sin",
        "sin > output:",
    ]


def test_one_module_called_again_is_a_run_of_its_own() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for _ in range(4):
        x = net.layer("cell", "Linear", x, params=16)
    assert shown(make_view(net.graph(x)))[1:-1] == ["cell x4"]


@pytest.mark.parametrize("what", ["shape", "parameters", "settings", "arguments", "ops", "wiring", "tied", "name"])
def test_different_neighbours_are_two(what: str) -> None:
    net = Net()
    x = net.input("x", 1, 4)
    y = net.op("sin", x)
    tied = net.weight("tied", 16)
    for i in range(2):
        other = i == 1
        name = "last" if what == "name" and other else f"layers.{i}"
        with net.call(name, "Layer", params=32 if what == "parameters" and other else 16):
            said = "bias=False" if what == "settings" and other else ""
            shape = (1, 5) if what == "shape" and other else (1, 4)
            y = net.layer(f"{name}.fc", "Linear", y, shape, said, params=16)
            if what == "tied":
                y = net.op("mul", y, tied if other else net.weight(f"{name}.w", 16))
            y = net.op("roll", y, attrs={"1": "3" if what == "arguments" and other else "1"})
            y = net.op("cos" if what == "ops" and other else "tan", y)
            y = net.op("add", y, y if what == "wiring" and other else x)
    assert not any(box.repeat > 1 for box in make_view(net.graph(y), DrawingOptions(depth="all")).boxes)


def test_what_lies_outside_may_differ() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    masks = [net.input(f"mask{i}", 1, 4) for i in range(3)]
    for i, mask in enumerate(masks):
        with net.call(f"layers.{i}", "Layer"):
            x = net.op("add", net.op("sin", x), mask)
    view = make_view(net.graph(x), DrawingOptions(depth="all"))
    assert boxes(view) == ["", "layers.0 x3"]
    assert [edge for edge in edges(view) if "mask" in edge] == [f"input:mask{i} > add" for i in range(3)]


def test_an_output_of_each_leads_out_once() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    outs = []
    for i in range(3):
        x = net.layer(f"layers.{i}", "Linear", x, params=16)
        outs.append(x)
    view = make_view(net.graph(net.op("cat", *outs)))
    assert edges(view) == ["input:x > layers.0 x3", "layers.0 x3 > cat", "cat > output:"]


def test_the_two_relus_of_a_block_are_two() -> None:
    assert shown(make_view(residual_block(), DrawingOptions(depth="all"))).count("relu") == 2


def turns(pattern: str, *, shared: bool = False) -> Graph:
    """Blocks of two ops in a list, of the kinds that the letters of the pattern name."""
    net = Net("Turns")
    x = net.input("x", 1, 4)
    for i, letter in enumerate(pattern):
        path = f"layers.{ord(letter) if shared else i}"
        with net.call(path, f"Block{letter}"):
            x = net.op("add", net.op("sin" if letter == "a" else "cos", x), x)
    return net.graph(x)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abababab", ["layers.0 x4"]),
        ("aaabaaabaaabaaab", ["layers.0 x4", "layers.0 x3"]),
        ("abbabbabb", ["layers.0 x3", "layers.1 x2"]),
        ("abab", ["layers.0", "layers.1", "layers.2", "layers.3"]),
        ("aabababc", ["layers.0 x2", "layers.2", "layers.3", "layers.4", "layers.5", "layers.6", "layers.7"]),
        ("abcabcabca", ["layers.0 x3", "layers.9"]),
    ],
)
def test_kinds_that_take_turns(pattern: str, expected: list[str]) -> None:
    view = make_view(turns(pattern), DrawingOptions(depth="all"))
    groups = [name for name in boxes(view)[1:] if name in expected]
    assert groups[: len(expected)] == expected
    assert all(edge.tail < edge.head for edge in view.edges)
    assert reaches(view)


def test_a_turn_is_drawn_once_with_its_inner_edge() -> None:
    view = make_view(turns("abababab"), DrawingOptions(depth=1))
    assert shown(view) == ["input:x", "layers.0", "layers.1", "output:"]
    assert edges(view) == ["input:x > layers.0", "layers.0 > layers.1", "layers.1 > output:"]
    assert view.boxes[1].period == 2


def test_shared_layers_that_take_turns_are_one_kind_each() -> None:
    view = make_view(turns("abababab", shared=True), DrawingOptions(depth=1))
    assert view.boxes[1].repeat == 4
