"""The best way to put two sequences side by side without changing their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher

_LARGEST = 250_000
"""More pairs than this are not scored one by one."""


def aligned(
    ones: Sequence[Hashable], others: Sequence[Hashable], score: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """The positions that stand side by side, in order, with the largest sum of scores.

    Args:
        ones: What is known of each thing of the first sequence; equal ones are preferred at both ends, and wherever
            the sequences are too long to score all pairs.
        others: The same of the second.
        score: How well the things at two positions fit together; 0 if they do not.
    """
    start, end = 0, 0
    shorter = min(len(ones), len(others))
    while start < shorter and ones[start] == others[start]:
        start += 1
    while end < shorter - start and ones[-1 - end] == others[-1 - end]:
        end += 1
    found = [(i, i) for i in range(start)]
    n, m = len(ones) - start - end, len(others) - start - end
    if n * m > _LARGEST:
        matcher = SequenceMatcher(None, ones[start : start + n], others[start : start + m], autojunk=False)
        inside = [(b.a + k, b.b + k) for b in matcher.get_matching_blocks() for k in range(b.size)]
    else:
        inside = _best(n, m, lambda i, j: score(start + i, start + j))
    found += [(start + i, start + j) for i, j in inside]
    return found + [(len(ones) - k, len(others) - k) for k in range(end, 0, -1)]


def _best(n: int, m: int, score: Callable[[int, int], float]) -> list[tuple[int, int]]:
    scores = [[score(i, j) for j in range(m)] for i in range(n)]
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        row, below, here = best[i], best[i + 1], scores[i]
        for j in range(m - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + here[j] if here[j] > 0 else 0.0)
    found, i, j = [], 0, 0
    while i < n and j < m:
        if scores[i][j] > 0 and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found
