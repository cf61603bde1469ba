"""Lines back to the next step of a loop: where they run in the finished picture, and what is said of them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from tests.core.drawing.engines import SVG, finish, laid_out, parsed
from tests.core.drawing.looking import Point, Seen, behind_nodes, behind_titles, faults, seen, words_on_edges
from tests.core.drawing.looping import LOOPS, alone, greedy, runge_kutta, some_loop
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.layout.paper.placement import placement
from torchrecorder.view import View

ROOMS = {"page": (540.0, False), "phone": (259.0, False), "to the right": (540.0, True)}
TANGLED = (("runge_kutta", "to the right"), ("gates", "to the right"))
"""Where too many lines cross."""


def layout(view: View, room: str = "page") -> PaperLayout:
    width, is_sideways = ROOMS[room]
    return PaperLayout(view, width=width, is_sideways=is_sideways)


def drawn(view: View, room: str = "page") -> str:
    """The SVG; empty if the layered layout is better."""
    paper = layout(view, room)
    placed = paper.place([laid_out(dot) for dot in paper.dots])
    return finish(placed, uid="p1", title="t", desc="d").svg if placed is not None else ""


def backs(svg: str) -> dict[tuple[str, str], list[Point]]:
    """The dashed lines by the keys of the nodes that they join."""
    (group,) = (group for group in parsed(svg) if group.get("class") == "backs")
    assert group[0].get("stroke-dasharray")
    ends = [edge.split(" ") for edge in group.get("data-ends", "").split(",")]
    lone = f'<svg xmlns="{SVG[1:-1]}" viewBox="0 0 1 1"><g class="backs" data-ends="{group.get("data-ends")}">'
    lines = seen(f'{lone}<path fill="none" d="{group[0].get("d")}"/></g></svg>').lines
    return {(edge[0], edge[1]): line for edge, line in zip(ends, lines, strict=True)}


def tips(svg: str) -> list[Point]:
    """Where the arrows of dashed lines end."""
    (group,) = (group for group in parsed(svg) if group.get("class") == "backs")
    heads = group[1].get("d", "").split("M")[1:]
    lone = [f'<g class="backs"><path fill="none" d="M{head.replace("z", "")}"/></g>' for head in heads]
    svgs = [f'<svg xmlns="{SVG[1:-1]}" viewBox="0 0 1 1">{one}</svg>' for one in lone]
    return [seen(one).lines[0][40] for one in svgs]


def off(point: Point, picture: Seen) -> float:
    """How far a point is from the border of the nearest node."""
    x, y = point
    found = [abs(math.hypot(x - cx, y - cy) - r) for cx, cy, r in picture.circles]
    for left, top, right, bottom in picture.nodes:
        across, along = max(left - x, x - right), max(top - y, y - bottom)
        found.append(math.hypot(max(across, 0), max(along, 0)) or -max(across, along))
    return min(found)


def on_one_another(one: list[Point], two: list[Point]) -> float:
    """Over what length two lines cannot be told apart."""
    long = 0.0
    for p, q in pairwise(one):
        x, y = (p[0] + q[0]) / 2, (p[1] + q[1]) / 2
        long += math.dist(p, q) if any(abs(x - a) < 2 and abs(y - b) < 2 for a, b in two) else 0.0
    return long


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_line_back_passes_nothing_and_ends_at_nodes(name: str, room: str) -> None:
    view = LOOPS[name]()
    svg = drawn(view, room)
    if not svg:
        assert (name, room) in TANGLED
        return
    picture, lines = seen(svg), backs(svg)
    assert {*lines} == {(str(edge.tail), str(edge.head)) for edge in view.edges if edge.back}
    assert faults(picture) + behind_nodes(picture) + behind_titles(picture) + words_on_edges(picture) == []
    assert all(off(line[0], picture) < 0.3 for line in lines.values())
    assert len(tips(svg)) == len(lines)
    assert all(off(tip, picture) < 0.3 for tip in tips(svg))
    assert [word for word, _ in picture.words].count("next step") == 1


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("name", LOOPS)
def test_lines_have_lanes_of_their_own(name: str, room: str) -> None:
    svg = drawn(LOOPS[name](), room)
    lines = backs(svg) if svg else {}
    for (ends, one), (others, two) in combinations(lines.items(), 2):
        if ends[0] != others[0]:
            assert on_one_another(one, two) < 12, (ends, others)
    forward = [line for line in seen(svg).lines if line not in lines.values()] if svg else []
    for ends, one in lines.items():
        assert all(on_one_another(one, two) < 12 for two in forward), ends


def test_a_line_back_stays_in_its_box() -> None:
    for view in (greedy(), alone()):
        svg = drawn(view)
        inner = min(seen(svg).boxes, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]))
        for line in backs(svg).values():
            assert all(inner[0] + 4 < x < inner[2] - 4 and inner[1] + 17 < y < inner[3] - 1 for x, y in line)


def test_what_one_node_gives_parts_on_the_way() -> None:
    lines = [line for (tail, head), line in backs(drawn(runge_kutta())).items() if tail != head]
    starts = {(round(line[0][0], 1), round(line[0][1], 1)) for line in lines}
    assert len(lines) == 4
    assert len(starts) == 1


def test_a_node_that_reads_itself_has_a_hook() -> None:
    (line,) = backs(drawn(alone())).values()
    xs, ys = zip(*line, strict=True)
    assert line[0][1] > line[-1][1]
    assert max(max(xs) - min(xs), max(ys) - min(ys)) < 20


def test_without_lines_back_the_picture_is_the_same_inside() -> None:
    view = greedy()
    plain = replace(view, edges=tuple(edge for edge in view.edges if not edge.back))
    ys = [sorted({round(node[1] - node[3], 1) for node in seen(drawn(one)).nodes}) for one in (view, plain)]
    assert "backs" not in drawn(plain)
    assert "next step" not in drawn(plain)
    assert ys[0] == ys[1]


def test_lines_back_are_checked_as_others_are() -> None:
    paper = layout(greedy())
    placed = paper.place([laid_out(dot) for dot in paper.dots])
    assert placed is not None
    assert placement(placed, 540.0).faults == ()
    node = next(node.rect for node in placed.nodes if node.key == "2")
    through = [(node.left - 9, node.top + 8), (node.right + 9, node.top + 8)]
    lines = [line._replace(curve=through) if "back" in line.flags else line for line in placed.lines]
    assert placement(replace(placed, lines=lines), 540.0).faults == ("a line passes through a node",)


def test_a_line_back_without_a_way_gets_more_room() -> None:
    view = some_loop(random.Random(9))
    svg = drawn(view)
    assert {*backs(svg)} == {(str(edge.tail), str(edge.head)) for edge in view.edges if edge.back}


def test_loops_at_random() -> None:
    reasons = []
    for seed in range(30):
        view = some_loop(random.Random(seed))
        paper = layout(view)
        placed = paper.place([laid_out(dot) for dot in paper.dots])
        if placed is None:
            reasons.append(paper.reason)
            continue
        svg = finish(placed, uid="p1", title="t", desc="d").svg
        picture, lines = seen(svg), backs(svg)
        assert faults(picture) + behind_nodes(picture) + words_on_edges(picture) == [], seed
        assert {*lines} == {(str(edge.tail), str(edge.head)) for edge in view.edges if edge.back}, seed
        assert all(off(tip, picture) < 0.3 for tip in tips(svg)), seed
    assert len(reasons) < 11, reasons
