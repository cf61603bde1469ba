"""The layer table, and that its numbers add up."""

from __future__ import annotations

from dataclasses import replace

from tests.core.graph.building import Net, residual_block, transformer
from torchrecorder.write.text import MAX_ROWS, layer_table


def test_rows_are_labelled_by_depth_and_number() -> None:
    rows = layer_table(residual_block())
    assert [(row.label, row.name, row.layer) for row in rows] == [
        ("0", "", "BasicBlock"),
        ("1-1", "conv1", "Conv2d"),
        ("1-2", "bn1", "BatchNorm2d"),
        ("1-3", "relu", "ReLU"),
        ("1-4", "conv2", "Conv2d"),
        ("1-5", "bn2", "BatchNorm2d"),
        ("1-6", "down", "Sequential"),
        ("2-1", "0", "Conv2d"),
        ("2-2", "1", "BatchNorm2d"),
        ("1-7", "relu", "ReLU"),
    ]
    assert rows[1].output == "1×16×8×8"


def test_repeats_are_one_row() -> None:
    (block,) = [row for row in layer_table(transformer(12), depth=1) if row.layer == "Block"]
    assert (block.name, block.repeat, block.params) == ("blocks", 12, 100)


def test_flops_are_the_sum_of_those_within() -> None:
    graph = residual_block()
    counted = replace(graph, ops=tuple(replace(op, flops=10) for op in graph.ops))
    rows = layer_table(counted)
    assert rows[0].flops == 10 * len(graph.ops)
    assert rows[0].flops - 10 == sum(row.flops for row in rows if row.level == 1)  # the sum is no layer's


def test_there_is_a_limit() -> None:
    net = Net()
    x = net.input("x", 1)
    for i in range(MAX_ROWS + 50):
        x = net.layer(str(i), "Linear", x, said=str(i))
    assert len(layer_table(net.graph(x))) == MAX_ROWS
