"""Indices in a loop: `t` counts its turns."""

from __future__ import annotations

import pytest

from torchrecorder.view import Box
from torchrecorder.view.pieces import counting


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["(:, 0)", "(:, 1)", "(:, 2)"], "(:, t)"),
        (["(:, 1)", "(:, 2)", "(:, 3)"], "(:, t + 1)"),
        (["2", "1", "0"], "2 − t"),
        (["(:, 0:4)", "(:, 4:8)", "(:, 8:12)"], "(:, 4t:4t + 4)"),
        (["(:3, 0, :)", "(:3, 1, :)", "(:1, 2, :)"], "(:n, t, :)"),
        (["(:, 0)", "(:, 1)", "(:, 3)"], ""),  # no fixed step
        (["(:, 5, 0)", "(:, 1, 1)", "(:, 3, 2)"], ""),  # nor another number that is none of the batch
        (["(:, 0)", "(:, 1)"], ""),  # not in each turn
        (["(:, 0)", "(:, 0)", "(:, 0)"], ""),
        (["(:, -1)", "(:, -2)", "(:, -3)"], ""),
        (["0", "(:, 1)", "2"], ""),
    ],
)
def test_an_index_counts_the_turns(texts: list[str], expected: str) -> None:
    loop = Box(0, None, (1, 2, 3), 1, "loop", around=True)
    assert counting(texts, [loop], 0) == expected
    assert counting(texts, [loop], None) == ""
