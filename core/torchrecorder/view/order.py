"""An order of nodes in which every edge leads forward, if loops are left out.

What a loop repeats is drawn once, so the data of one turn that the next one reads leads back. Such edges are not drawn:
the mark of the loop says what they would.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush

Pair = tuple[int, int]
"""Tail and head of an edge."""


def forward(n: int, edges: Collection[Pair]) -> tuple[list[int], set[Pair]]:
    """The nodes in an order that is near to their own, and the edges without those that lead back in it."""
    if all(tail < head for tail, head in edges):
        return [*range(n)], {*edges}
    below: list[list[int]] = [[] for _ in range(n)]
    for tail, head in sorted(edges):
        below[tail].append(head)
    loop = _loops(below)
    members: dict[int, list[int]] = {}
    for node in range(n):
        members.setdefault(loop[node], []).append(node)
    waiting = dict.fromkeys(members, 0)
    between = {(loop[tail], loop[head]) for tail, head in edges if loop[tail] != loop[head]}
    after: dict[int, list[int]] = {}
    for first, second in sorted(between):
        waiting[second] += 1
        after.setdefault(first, []).append(second)
    ready = [one for one, count in waiting.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        one = heappop(ready)
        order += members[one]
        for other in after.get(one, ()):
            waiting[other] -= 1
            if not waiting[other]:
                heappush(ready, other)
    place = {node: i for i, node in enumerate(order)}
    return order, {(tail, head) for tail, head in edges if place[tail] < place[head]}


def _loops(below: list[list[int]]) -> list[int]:
    """For each node the first node of the loop that it is in, by Tarjan's algorithm; itself if it is in none."""
    n = len(below)
    seen, low, found = [-1] * n, [0] * n, [-1] * n
    stack: list[int] = []
    count = 0
    for start in range(n):
        work = [(start, iter(below[start]))] if seen[start] < 0 else []
        while work:
            node, heads = work[-1]
            if seen[node] < 0:
                seen[node] = low[node] = count
                count += 1
                stack.append(node)
            head = next(heads, None)
            if head is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == seen[node]:
                    members = [stack.pop()]
                    while members[-1] != node:
                        members.append(stack.pop())
                    first = min(members)
                    for member in members:
                        found[member] = first
            elif seen[head] < 0:
                work.append((head, iter(below[head])))
            elif found[head] < 0:
                low[node] = min(low[node], seen[head])
    return found
