"""The check of finished pictures finds each fault that a picture is known to have, and no other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest

from tests.core.drawing.engines import finish
from tests.core.drawing.looking import (
    Box,
    Point,
    Seen,
    behind_nodes,
    behind_titles,
    crossings,
    faults,
    foreign_words,
    lone_boxes,
    merging,
    seen,
    words_on_borders,
    words_on_edges,
)

ABOVE, BELOW = (50.0, 190.0), (50.0, 10.0)


def node(name: str, at: Point, label: str = "conv") -> dict[str, str]:
    return {
        "_gvid": name[1:],
        "name": name,
        "pos": f"{at[0]},{at[1]}",
        "width": "0.6",
        "height": "0.3",
        "class": "conv",
        "label": label,
    }


def box(bounds: str, title: str = "stage · Sequential") -> dict[str, str]:
    _, _, _, top = bounds.split(",")
    return {"name": f"cluster_{bounds}", "bb": bounds, "lp": f"50,{float(top) - 10}", "label": title}


def edge(*points: Point, tip: Point | None = None) -> dict[str, str]:
    """A straight line from the first node to the second, as an engine writes it: y grows upwards."""
    (x0, y0), (x1, y1) = points
    thirds = [(x0 + (x1 - x0) * part / 3, y0 + (y1 - y0) * part / 3) for part in range(4)]
    end = f"e,{tip[0]},{tip[1]} " if tip else ""
    return {"pos": end + " ".join(f"{x:.1f},{y:.1f}" for x, y in thirds), "tail": "0", "head": "1"}


def picture(*things: dict[str, str], edges: tuple[dict[str, str], ...] = ()) -> Seen:
    layout = {"bb": "0,0,300,200", "objects": [*things], "edges": [*edges]}
    return seen(finish(json.dumps(layout), uid="p1", title="t", desc="d").svg)


ENDS = node("n0", ABOVE), node("n1", BELOW)
DOWN = edge((50, 178), (50, 28), tip=(50, 21))


def test_an_edge_that_is_cut_under_a_title_passes_behind_it() -> None:
    found = picture(*ENDS, box("0,0,100,160"), edges=(DOWN,))
    assert len(found.edges) == 2
    assert len(found.lines) == 1
    assert faults(found) == []
    assert behind_titles(found) == ["stage · Sequential"]


def test_an_edge_beside_a_title_does_not_pass_behind_it() -> None:
    beside = edge((150, 178), (150, 28), tip=(150, 21))
    assert behind_titles(picture(*ENDS, box("0,0,200,160"), edges=(beside,))) == []


def test_an_edge_that_ends_where_another_begins_is_not_one_with_it() -> None:
    first, second = edge((50, 178), (50, 125), tip=(50, 118)), edge((50, 98), (50, 28), tip=(50, 21))
    found = picture(*ENDS, node("n2", (50, 108)), edges=(first, second))
    assert len(found.lines) == 2
    assert behind_nodes(found) == []


def test_an_edge_that_is_cut_behind_a_node_meets_it() -> None:
    found = picture(*ENDS, node("n2", (50, 108)), edges=(DOWN,))
    assert len(found.edges) == 2
    assert faults(found) == []
    assert len(behind_nodes(found)) == 1


def test_an_edge_in_front_of_a_node_is_found_by_both() -> None:
    found = picture(*ENDS, edges=(DOWN,))
    found.nodes.append((30, 90, 70, 110))
    assert len(faults(found)) == len(behind_nodes(found)) == 1


def test_a_word_that_an_edge_runs_through() -> None:
    found = picture(*ENDS, edges=({**DOWN, "comment": "1×2×3"}, edge((90, 190), (90, 10))))
    assert [word for word, _ in found.words] == ["1×2×3"]
    assert words_on_edges(found) == []
    _, (left, top, right, bottom) = found.words[0]
    found.lines.append([(left - 5, (top + bottom) / 2), (right + 5, (top + bottom) / 2)])
    assert words_on_edges(found) == ["1×2×3"]


@pytest.mark.parametrize(("other", "is_near"), [(103.0, True), (112.0, False)])
def test_a_word_that_is_as_near_to_the_line_of_another_node(other: float, *, is_near: bool) -> None:
    lines = [[(50.0, 0.0), (50.0, 100.0)], [(other, 0.0), (other, 100.0)]]
    found = Seen((200, 200), lines=lines, ends=[("0", "2"), ("1", "3")], words=[("1×2", (55.0, 40.0, 100.0, 50.0))])
    assert foreign_words(found, [("1×2", ("0",))]) == ["1×2"] * is_near
    assert foreign_words(found, [("1×2", ("0",)), ("1×2", ("1",))]) == foreign_words(found, []) == []


def test_a_word_on_the_border_of_a_box() -> None:
    words = [("1×2", (90.0, 40.0, 120.0, 50.0)), ("3×4", (110.0, 40.0, 140.0, 50.0))]
    assert words_on_borders(Seen((200, 200), boxes=[(0.0, 0.0, 100.0, 100.0)], words=words)) == ["1×2"]


def test_a_box_with_one_node_is_told_from_one_with_two() -> None:
    around_both, around_one = "0,0,100,200", "10,5,90,60"
    found = picture(*ENDS, box(around_both), box(around_one))
    assert [bounds[3] - bounds[1] for bounds in lone_boxes(found)] == [pytest.approx(55)]


CROSS = [(0.0, 0.0), (100.0, 100.0)], [(0.0, 100.0), (100.0, 0.0)]
FORK = [(50.0, 0.0), (50.0, 50.0), (50.0, 100.0)], [(50.0, 0.0), (50.0, 40.0), (60.0, 50.0), (90.0, 50.0)]
MEETING = [(0.0, 0.0), (100.0, 0.0)], [(50.0, 80.0), (50.0, 0.0)]
TWICE = [(0.0, 0.0), (0.0, 100.0)], [(-20.0, 20.0), (20.0, 20.0), (20.0, 80.0), (-20.0, 80.0)]
FLAT = [(0.0, 0.0), (200.0, 0.0)], [(0.0, 10.0), (200.0, -10.0)]


@pytest.mark.parametrize(
    ("lines", "times"),
    [(CROSS, 1), (FORK, 0), (MEETING, 0), (TWICE, 2), (FLAT, 1)],
    ids=["crossing", "parting", "ending in the other", "twice", "at a flat angle"],
)
def test_crossings_are_counted(lines: tuple[list[Point], list[Point]], times: int) -> None:
    assert len(crossings(Seen((200, 200), lines=[*lines]))) == times


SIDE_BY_SIDE = (
    [(0.0, 0.0), (0.0, 50.0), (40.0, 50.0), (40.0, 90.0)],
    [(80.0, 0.0), (80.0, 50.0), (40.0, 50.0), (40.0, 90.0)],
)
IN_ONE_GAP = [(0.0, 0.0), (0.0, 30.0), (50.0, 30.0)], [(50.0, 0.0), (50.0, 20.0), (0.0, 20.0), (0.0, 60.0)]
APART = [(0.0, 0.0), (0.0, 50.0)], [(4.0, 0.0), (4.0, 50.0)]


@pytest.mark.parametrize(
    ("lines", "places"),
    [(CROSS, 0), (FORK, 1), (MEETING, 0), (SIDE_BY_SIDE, 1), (IN_ONE_GAP, 1), (APART, 0)],
    ids=["crossing", "parting", "ending in the other", "into one node", "one turns where the other goes on", "apart"],
)
def test_lines_of_two_nodes_that_are_one_to_the_eye(lines: tuple[list[Point], list[Point]], places: int) -> None:
    of_two = Seen((200, 200), lines=[*lines], ends=[("0", "2"), ("1", "2")])
    of_one = Seen((200, 200), lines=[*lines], ends=[("0", "2"), ("0", "3")])
    assert len(merging(of_two)) == places
    assert merging(of_one) == []


def test_round_corners_hide_no_stretch_that_two_lines_take() -> None:
    """Both take the way from 50 to 57, which is no longer than the corners of both."""
    one = [(0.0, 0.0), (0.0, 57.0), (60.0, 57.0)]
    other = [(60.0, 20.0), (60.0, 50.0), (0.0, 50.0), (0.0, 90.0)]
    round_ones = [[*_bent(points)] for points in (one, other)]
    assert len(merging(Seen((200, 200), lines=round_ones, ends=[("0", "2"), ("1", "3")]))) == 1


def _bent(points: list[Point], radius: float = 7.0, n: int = 20) -> Iterator[Point]:
    """Points along a line whose corners are round."""
    yield points[0]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = (_towards(corner, other, radius) for other in (before, after))
        for i in range(n + 1):
            t, u = i / n, 1 - i / n
            weights = u * u, 2 * u * t, t * t
            yield tuple(sum(w * p[k] for w, p in zip(weights, (start, corner, end), strict=True)) for k in (0, 1))  # type: ignore[misc]
    yield points[-1]


def _towards(point: Point, other: Point, by: float) -> Point:
    part = by / math.dist(point, other)
    return point[0] + part * (other[0] - point[0]), point[1] + part * (other[1] - point[1])


def test_two_edges_that_cross_in_a_finished_picture() -> None:
    sides = edge((10, 170), (90, 60)), edge((90, 170), (10, 60))
    assert len(crossings(picture(*ENDS, edges=sides))) == 1


def test_names_have_a_kind_and_a_size() -> None:
    assert picture(node("n0", ABOVE, "0–3 · Conv2d"), node("n1", BELOW)).names == [
        ("0–3 · Conv2d", "conv", 10.5),
        ("conv", "conv", 10.5),
    ]


def test_a_box_is_left_top_right_bottom() -> None:
    bounds: list[Box] = picture(*ENDS, box("0,0,100,160")).boxes
    left, top, right, bottom = bounds[0]
    assert left < right
    assert top < bottom
