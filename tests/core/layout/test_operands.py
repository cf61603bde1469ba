"""Lines into signs that mind which operand is which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from tests.core.proof.test_layout import layered, paper, view_of
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.layout.operands import SECOND, with_seconds
from torchrecorder.proof.layout import faults
from torchrecorder.view import View

SIGNS = {"sub": "−", "div": "÷", "matmul": "@"}


def beside(op: str, *, turned: bool, target: str = "") -> Graph:
    """A sign of a stream and of a line beside it."""
    net = Net("Beside")
    x = net.input("x", 8, 8)
    y = x
    for name in ("body", "head"):
        y = net.layer(name, "Linear", y, (8, 8))
    net.op(op, *((x, y) if turned else (y, x)))
    if target:
        net.ops[-1] = replace(net.ops[-1], target=target)
    return net.graph(net.layer("last", "Linear", len(net.values) - 1, (8, 8)))


def ends(layout: Layout, view: View, sign: str) -> list[str]:
    """The nodes whose lines come to a sign, from left to right."""
    (figure,) = (figure for figure in layout.nodes if [word.text for word in figure.words] == [sign])
    come = sorted((line.tip, line.ends[0]) for line in layout.lines if line.ends[1] == figure.key and line.tip)
    return [view.nodes[int(key)].kind for _, key in come]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("op", SIGNS)
def test_the_first_operand_comes_in_from_the_left(op: str, turned: bool) -> None:
    view = view_of(beside(op, turned=turned))
    layout = paper(view)
    assert ends(layout, view, SIGNS[op]) == (["input", "call"] if turned else ["call", "input"])
    assert [line.part for line in layout.lines if line.part] == []


@pytest.mark.parametrize("turned", [False, True])
def test_a_second_operand_that_comes_in_from_there_says_so(turned: bool) -> None:
    """The same lines are those of the other difference."""
    layout, view = paper(view_of(beside("sub", turned=turned))), view_of(beside("sub", turned=not turned))
    assert "stand the other way round" in " ".join(faults(view, layout))
    said = with_seconds(view, "", layout)
    assert [line.part for line in said.lines if line.part] == [SECOND]
    assert faults(view, said) == ()
    lines = [line._replace(part="" if line.part else SECOND) for line in said.lines]
    assert "is said to be the second" in " ".join(faults(view, replace(said, lines=lines)))


def test_a_layered_layout_says_it_of_one_of_two_differences() -> None:
    words = []
    for turned in (False, True):
        view = view_of(beside("sub", turned=turned))
        layout = layered(view)
        words += [line.part for line in layout.lines if line.part]
        assert faults(view, layout) == ()
    assert words == [SECOND]


@pytest.mark.parametrize("turned", [False, True])
def test_the_sides_of_an_operator_that_is_called_with_them_exchanged_are_those_of_the_code(turned: bool) -> None:
    view = view_of(beside("sub", turned=turned, target="torch.Tensor.__rsub__"))
    layout = paper(view)
    assert ends(layout, view, "−") == (["call", "input"] if turned else ["input", "call"])
    assert faults(view, layout) == ()


def test_a_sum_is_the_same_in_any_order() -> None:
    for turned in (False, True):
        view = view_of(beside("add", turned=turned))
        layout = paper(view)
        assert layout == with_seconds(view, "", layout)
        assert faults(view, layout) == ()
