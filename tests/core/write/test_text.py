"""The model in words: the tree and the sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.graph.building import Net, mlp, nested, residual_block, transformer
from torchrecorder.write.text import MAX_LINES, caption_facts, describe, layer_table, tree

GOLDEN = Path(__file__).parents[2] / "golden"
GRAPHS = {"block": residual_block(), "encoder": transformer(12), "mlp": mlp()}


@pytest.mark.parametrize("name", GRAPHS)
def test_golden(name: str) -> None:
    assert tree(GRAPHS[name]) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_depth() -> None:
    assert len(tree(transformer(12), depth=1).splitlines()) == 5
    assert len(tree(transformer(12), depth=0).splitlines()) == 1


def test_a_long_tree_is_cut() -> None:
    lines = tree(nested(1000)).splitlines()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "… 601 more"


def test_describe() -> None:
    title, desc = describe(residual_block())
    assert title == "BasicBlock"
    assert desc == "3 layers, 3.68 k parameters; input 1×8×16×16, output 1×16×8×8"


def test_describe_names_several_ends() -> None:
    net = Net()
    a, b = net.input("ids", 1, 8), net.input("mask", 1, 8)
    graph = net.graph(logits=net.op("add", a, b), loss=net.op("sum", a, shape=()))
    assert describe(graph)[1] == (
        "0 layers, 0 parameters; input ids 1×8, input mask 1×8, output logits 1×8, output loss scalar"
    )


def test_sizes_that_may_follow_the_batch_are_not_said() -> None:
    net = Net()
    x = net.input("x", 2, 7)
    with net.call("some", "Some"):
        net.give(x, made := net.op("getitem", x, shape=(2, 9)))
    graph = replace(net.graph(made), batch={x: (0,)})
    assert describe(graph)[1].endswith("input N×7, output; N = 2")
    assert caption_facts(graph)["output"] == "?"
    assert "×9" not in tree(graph)
    assert layer_table(graph)[1].output == ""


def test_describe_says_that_it_failed() -> None:
    net = Net("MyNet")
    net.op("sin", net.input("x", 1))
    net.fail("RuntimeError: no")
    assert describe(net.graph()) == (
        "MyNet",
        "0 layers, 0 parameters; input 1; the forward failed: RuntimeError: no",
    )


def test_a_layer_in_control_flow_has_its_path_from_the_layer_around() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    with net.call("block", "Block", params=40), net.function("cond"):
        x = net.layer("block.b", "Linear", net.layer("block.a", "Linear", x, params=20), params=20)
    assert "─ a  Linear" in tree(net.graph(x))
