"""Two sequences side by side: in order, with the largest sum, and equal ones at both ends together."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from torchrecorder.comparison import layers
from torchrecorder.comparison.layers import aligned

WORDS = st.text("abc", max_size=6)


def same(ones: str, others: str) -> list[tuple[int, int]]:
    return aligned(ones, others, lambda i, j: float(ones[i] == others[j]))


def longest(ones: str, others: str) -> int:
    """The length of the longest common subsequence, by trying all."""

    @cache
    def of(i: int, j: int) -> int:
        if i == len(ones) or j == len(others):
            return 0
        return max(of(i + 1, j), of(i, j + 1), (ones[i] == others[j]) + of(i + 1, j + 1))

    return of(0, 0)


@given(WORDS, WORDS)
def test_it_is_in_order_and_nothing_fits_better(ones: str, others: str) -> None:
    pairs = same(ones, others)
    assert all(a < b and c < d for (a, c), (b, d) in pairwise(pairs))
    assert all(ones[i] == others[j] for i, j in pairs)
    assert len(pairs) == longest(ones, others)


@given(WORDS)
def test_equal_sequences_are_paired_one_by_one(word: str) -> None:
    assert same(word, word) == [(i, i) for i in range(len(word))]


def test_a_score_of_zero_is_no_pair() -> None:
    assert aligned("ab", "cd", lambda i, j: 0.0) == []


def test_the_better_of_two_is_taken() -> None:
    assert aligned("x", "yz", lambda i, j: 0.4 if j == 0 else 0.9) == [(0, 1)]


def test_sequences_too_long_to_score_keep_what_is_equal() -> None:
    n = int(layers._LARGEST**0.5) + 50
    ones, others = [*range(n), -1], [-2, *range(n)]
    pairs = aligned(ones, others, lambda i, j: float("nan"))  # nothing is scored
    assert pairs == [(i, i + 1) for i in range(n)]
