"""Which line lies above which in a gap between rows."""

from __future__ import annotations

from itertools import permutations

import pytest

from torchrecorder.layout.paper.tracks import Tracks


def settled(*lines: tuple[float, float], users: str = "abcdefgh") -> tuple[list[int], int]:
    """The track of each line, from where it comes to where it leaves, and how many there are."""
    tracks, found = Tracks(), dict[int, int]()
    for i, (before, after) in enumerate(lines):
        tracks.add(before, after, users[i], lambda at, i=i: found.update({i: at}))  # type: ignore[misc]
    n = tracks.settle()
    return [found[i] for i in range(len(lines))], n


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_lines_that_fan_in_do_not_cross(order: tuple[int, ...]) -> None:
    lines = [(100.0, 10.0), (200.0, 20.0), (300.0, 30.0)]  # from the right, to places in the same order
    found, n = settled(*(lines[i] for i in order))
    assert [found[order.index(i)] for i in range(3)] == [0, 1, 2]
    assert n == 3


def test_lines_that_do_not_meet_share_a_track() -> None:
    assert settled((0.0, 10.0), (30.0, 20.0)) == ([0, 0], 1)


def test_lines_of_one_user_are_one_line() -> None:
    (first, again, other), n = settled((0.0, 50.0), (0.0, 90.0), (80.0, 20.0), users="aab")
    assert first == again != other
    assert n == 2


def test_no_lines_need_no_track() -> None:
    assert Tracks().settle() == 0


def test_a_line_does_not_go_on_where_another_turns() -> None:
    """With the second nearer to the border that is counted from, both would lead along 0 between the tracks."""
    (first, second), n = settled((0.0, 50.0), (30.0, 0.0))
    assert (first, second) == (0, 1)  # a crossing is less bad
    assert n == 2
