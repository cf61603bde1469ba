"""Telling the edges that lead past nodes from those that follow the spine.

The spine above a node is what is found by going back, each time, to the predecessor that is farthest from the inputs.
An edge whose tail is on the spine above its head, but not next to it, leads past something: a residual. If a sum is
fed by a side branch that leaves its spine somewhere and is shorter (a projection shortcut), the branch is one too. So
is an edge to a sum that gets the same data also by way of something, where the spine comes from elsewhere: in a
decoder it comes from the encoder.
Spines form a tree, so the first question costs one comparison per edge and the whole is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[int, int]


def skips(n: int, edges: Sequence[Pair], sums: Iterable[int]) -> set[Pair]:
    """Those of the edges that lead past a node.

    Args:
        n: Number of nodes; every edge leads from a smaller to a larger one.
        edges: Tail and head of each edge.
        sums: The nodes that add up what they get.
    """
    before: list[list[int]] = [[] for _ in range(n)]
    degree = [0] * n
    for tail, head in edges:
        before[head].append(tail)
        degree[tail] += 1
    spine, rank = _spine(before)
    enter, leave = _intervals(spine)
    found = {(t, h) for t, h in edges if spine[h] != t and enter[t] < enter[h] <= leave[t]}
    for head in sums:
        for tail in before[head]:
            if tail == spine[head] or (tail, head) in found:
                continue
            branch = _side_branch(tail, head, before, degree, spine, enter, leave, rank)
            found.update(branch or ([(tail, head)] if _comes_twice(tail, head, before) else []))
    return found


def _spine(before: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """For each node its farthest predecessor (-1 at a start) and its own distance from the starts."""
    spine, rank = [-1] * len(before), [0] * len(before)
    for node, tails in enumerate(before):
        for tail in tails:
            if rank[tail] + 1 > rank[node]:
                spine[node], rank[node] = tail, rank[tail] + 1
    return spine, rank


def _intervals(spine: Sequence[int]) -> tuple[list[int], list[int]]:
    """Numbers with which "t is above h on its spine" is `enter[t] < enter[h] <= leave[t]`."""
    below: list[list[int]] = [[] for _ in spine]
    size = [1] * len(spine)
    starts = []
    for node in range(len(spine) - 1, -1, -1):
        if spine[node] < 0:
            starts.append(node)
        else:
            below[spine[node]].append(node)
            size[spine[node]] += size[node]
    enter = [0] * len(spine)
    at = 0
    for start in starts:
        enter[start] = at
        at += size[start]
    for node, nodes in enumerate(below):
        at = enter[node] + 1
        for child in nodes:
            enter[child] = at
            at += size[child]
    return enter, [enter[node] + size[node] - 1 for node in range(len(spine))]


def _comes_twice(tail: int, head: int, before: Sequence[Sequence[int]]) -> bool:
    """Whether the tail also feeds another of the nodes that feed the head, or one before those."""
    pending = [other for other in before[head] if other > tail]
    seen = set(pending)
    while pending and len(seen) < _FAR_ENOUGH:
        for node in before[pending.pop()]:
            if node == tail:
                return True
            if node > tail and node not in seen:
                seen.add(node)
                pending.append(node)
    return False


_FAR_ENOUGH = 200
"""A branch around more nodes than this is not looked for, which keeps the whole linear."""


def _side_branch(
    tail: int,
    head: int,
    before: Sequence[Sequence[int]],
    degree: Sequence[int],
    spine: Sequence[int],
    enter: Sequence[int],
    leave: Sequence[int],
    rank: Sequence[int],
) -> list[Pair]:
    """The edges of a chain without forks that ends in `head` and leaves its spine above; else none."""
    branch = [(tail, head)]
    while not (enter[tail] < enter[head] <= leave[tail]):
        if degree[tail] != 1 or len(before[tail]) != 1:
            return []
        branch.append((before[tail][0], tail))
        tail = before[tail][0]
    is_shorter = len(branch) < rank[head] - rank[tail]
    return branch if is_shorter else []
