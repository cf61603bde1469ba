"""Lines into what minds which operand is which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from tests.core.graph.building import Net
from tests.core.proof.test_layout import layered, paper, view_of
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.layout.operands import with_operands
from torchrecorder.proof.layout import faults
from torchrecorder.view import View
from torchrecorder.view.templates.words import nth

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
    said = with_operands(view, "", layout)
    assert [line.part for line in said.lines if line.part] == ["2nd operand"]
    assert faults(view, said) == ()
    lines = [line._replace(part="" if line.part else "2nd operand") for line in said.lines]
    assert "is said to be another" in " ".join(faults(view, replace(said, lines=lines)))


def test_a_layered_layout_says_it_of_one_of_two_differences() -> None:
    words = []
    for turned in (False, True):
        view = view_of(beside("sub", turned=turned))
        layout = layered(view)
        words += [line.part for line in layout.lines if line.part]
        assert faults(view, layout) == ()
    assert words == ["2nd operand"]


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
        assert layout == with_operands(view, "", layout)
        assert faults(view, layout) == ()


def joined(op: str, order: Sequence[int], shape: tuple[int, ...] = (2, 4, 8), along: int = 1) -> Graph:
    """Three layers that one op joins in an order."""
    net = Net("Joined")
    x = net.input("x", *shape)
    ways = [net.layer(f"way{i}", name, x, shape) for i, name in enumerate(("Linear", "Conv1d", "GRU"))]
    made = tuple(size * (3 if axis == along and op == "cat" else 1) for axis, size in enumerate(shape))
    return net.graph(net.op(op, *(ways[i] for i in order), shape=made))


def words_of(view: View, layout: Layout) -> dict[str, str]:
    """What is said of the operand that each layer gives."""
    names = {str(node.id): node.name for node in view.nodes}
    return {names[line.ends[0]]: line.part for line in layout.lines if line.part}


@pytest.mark.parametrize("op", ["cat", "einsum"])
def test_tokens_and_sides_of_an_equation_that_come_in_out_of_their_turn_are_counted(op: str) -> None:
    said = dict[str, str]()
    for order in permutations(range(3)):
        view = view_of(joined(op, order))
        layout = paper(view)
        assert faults(view, layout) == ()
        assert words_of(view, layout) == {}
        other = view_of(joined(op, order[1:] + order[:1]))
        assert "operand" in " ".join(faults(other, layout))
        counted = with_operands(other, "", layout)
        assert faults(other, counted) == ()
        said |= words_of(other, counted)
        lines = [line._replace(part=line.part.replace("3rd", "2nd")) for line in counted.lines]
        assert ("is said to be another" in " ".join(faults(other, replace(counted, lines=lines)))) == (
            "3rd operand" in words_of(other, counted).values()
        )
    assert "3rd operand" in said.values()


def test_channels_are_joined_in_any_order() -> None:
    for order in permutations(range(3)):
        for shape, along in ((2, 4, 8, 8), 1), ((2, 4, 8), 2), ((4, 8, 8), 0):
            view = view_of(joined("cat", order, shape, along))
            layout = paper(view)
            assert words_of(view, layout) == {}
            assert faults(view, layout) == ()


@pytest.mark.parametrize(("reader", "n"), [("conv1d", 0), ("linear", 1)])
def test_a_convolution_tells_channels_of_a_sequence(reader: str, n: int) -> None:
    def graph(order: Sequence[int]) -> Graph:
        net = Net("Read")
        x = net.input("x", 2, 4, 8)
        ways = [net.layer(f"way{i}", name, x, (2, 4, 8)) for i, name in enumerate(("Linear", "GRU"))]
        return net.graph(net.op(reader, net.op("cat", *(ways[i] for i in order), shape=(2, 8, 8)), shape=(2, 8, 8)))

    first, other = (view_of(graph(order)) for order in ((0, 1), (1, 0)))
    counted = with_operands(other, "", paper(first))
    assert len(words_of(other, counted)) == n
    assert faults(other, counted) == ()
    assert bool(faults(other, paper(first))) == bool(n)


@pytest.mark.parametrize(("n", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")])
def test_operands_are_counted_in_english(n: int, said: str) -> None:
    assert nth(n - 1) == said
