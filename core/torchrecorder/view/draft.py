"""A View while steps change it: nodes are left out, drawn as one or put into boxes, and all is numbered in the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from torchrecorder.graph.model import Graph
from torchrecorder.view.model import Box, Edge, Node, View, in_order

Pair = tuple[int, int]
"""Tail and head of an edge."""


class Draft:
    """The nodes and boxes by id, in the order of things, and who feeds whom."""

    def __init__(self, graph: Graph, boxes: Iterable[Box], nodes: Iterable[Node]) -> None:
        self.graph = graph
        self.boxes = {box.id: box for box in boxes}
        self.nodes = {node.id: node for node in nodes}
        self.tails: dict[int, dict[int, int]] = {node: {} for node in self.nodes}
        """By head and tail the value that goes from one to the other."""
        self.heads: dict[int, dict[int, int]] = {node: {} for node in self.nodes}
        self.backs: dict[Pair, int] = {}
        """By tail and head what the next turn of a loop reads."""
        self.aside: tuple[int, ...] = ()
        """Values of inputs that are no longer drawn."""

    def copy(self) -> Draft:
        copied = Draft(self.graph, self.boxes.values(), self.nodes.values())
        copied.tails = {node: {**tails} for node, tails in self.tails.items()}
        copied.heads = {node: {**heads} for node, heads in self.heads.items()}
        copied.backs, copied.aside = {**self.backs}, self.aside
        return copied

    def join(self, tail: int, head: int, value: int) -> None:
        if tail != head:
            self.tails[head].setdefault(tail, value)
            self.heads[tail].setdefault(head, value)

    def part(self, tail: int, head: int) -> None:
        del self.tails[head][tail], self.heads[tail][head]

    def drop(self, node: int) -> None:
        for tail in [*self.tails[node]]:
            self.part(tail, node)
        for head in [*self.heads[node]]:
            self.part(node, head)
        self.backs = {pair: value for pair, value in self.backs.items() if node not in pair}
        del self.nodes[node], self.tails[node], self.heads[node]

    def is_looped(self, node: int) -> bool:
        """Whether a turn of a loop reads what the node gave in an earlier one, or it does so itself."""
        return any(node in pair for pair in self.backs)

    def is_read(self, node: int) -> bool:
        return bool(self.heads[node]) or any(node == tail != head for tail, head in self.backs)

    def merge(self, ids: Sequence[int], node: Node, *, last_gives: bool = False) -> None:
        """Draw several nodes as one, with the id of the first.

        With `last_gives`, what another node reads of several of them is what the last gives.
        """
        first, *others = ids
        at = dict.fromkeys(others, first)
        self.backs = {(at.get(tail, tail), at.get(head, head)): value for (tail, head), value in self.backs.items()}
        for other in others:
            for tail, value in self.tails[other].items():
                self.join(tail, first, value)
            for head, value in self.heads[other].items():
                if last_gives and head in self.heads[first]:
                    self.part(first, head)
                self.join(first, head, value)
            self.drop(other)
        self.nodes[first] = replace(node, id=first)

    def is_convex(self, ids: Iterable[int]) -> bool:
        """Whether no way leads out of a group of nodes and back into it: then it can be one node."""
        group = {*ids}
        pending = [head for node in group for head in self.heads[node] if head not in group]
        seen = {*pending}
        while pending:
            for head in self.heads[pending.pop()]:
                if head in group:
                    return False
                if head not in seen:
                    seen.add(head)
                    pending.append(head)
        return True

    def by_box(self) -> Iterable[list[Node]]:
        groups: dict[int | None, list[Node]] = {}
        for node in self.nodes.values():
            groups.setdefault(node.box, []).append(node)
        return groups.values()

    def settle(self) -> None:
        """Take out empty boxes, and order nodes so that every edge leads forward; one of a loop that cannot goes."""
        used: set[int] = set()
        for node in self.nodes.values():
            box = node.box
            while box is not None and box not in used:
                used.add(box)
                box = self.boxes[box].parent
        self.boxes = {id_: box for id_, box in self.boxes.items() if id_ in used or box.parent is None}
        pairs = {(tail, head): value for head, tails in self.tails.items() for tail, value in tails.items()}
        if all(tail < head for tail, head in pairs):
            return
        new = {node: place for place, node in enumerate(_forward([*self.nodes], pairs))}
        backs = {(new[tail], new[head]): value for (tail, head), value in self.backs.items()}
        nodes = sorted((replace(node, id=new[node.id]) for node in self.nodes.values()), key=lambda node: node.id)
        self.nodes, self.backs = {node.id: node for node in nodes}, backs
        self.tails, self.heads = {node: {} for node in self.nodes}, {node: {} for node in self.nodes}
        for (tail, head), value in sorted(pairs.items()):
            if new[tail] < new[head]:
                self.join(new[tail], new[head], value)

    def view(self, depth: int) -> View:
        self.settle()
        new = {node: place for place, node in enumerate(self.nodes)}
        boxes = {box: place for place, box in enumerate(self.boxes)}
        nodes = []
        for id_, node in enumerate(self.nodes.values()):
            box = None if node.box is None else boxes[node.box]
            parts = tuple(replace(part, id=id_, box=box) for part in node.parts)
            nodes.append(replace(node, id=id_, box=box, parts=parts))
        edges = [Edge(new[tail], new[head], v) for tail, heads in self.heads.items() for head, v in heads.items()]
        edges += [Edge(new[tail], new[head], value, back=True) for (tail, head), value in self.backs.items()]
        placed = (
            replace(box, id=id_, parent=None if box.parent is None else boxes[box.parent])
            for id_, box in enumerate(self.boxes.values())
        )
        return View(self.graph, tuple(placed), tuple(nodes), in_order(edges), (), depth, aside=self.aside)


def _forward(nodes: Sequence[int], edges: Collection[Pair]) -> list[int]:
    """The nodes in an order near to their own in which only edges of loops lead back."""
    below: dict[int, list[int]] = {node: [] for node in nodes}
    for tail, head in sorted(edges):
        below[tail].append(head)
    loop = _loops(below)
    members: dict[int, list[int]] = {}
    for node in nodes:
        members.setdefault(loop[node], []).append(node)
    waiting = dict.fromkeys(members, 0)
    between = {(loop[tail], loop[head]) for tail, head in edges if loop[tail] != loop[head]}
    after: dict[int, list[int]] = {}
    for first, second in sorted(between):
        waiting[second] += 1
        after.setdefault(first, []).append(second)
    ready = [first for first, count in waiting.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        first = heappop(ready)
        order += members[first]
        for second in after.get(first, ()):
            waiting[second] -= 1
            if not waiting[second]:
                heappush(ready, second)
    return order


def _loops(below: dict[int, list[int]]) -> dict[int, int]:
    """By node the first node of the loop that it is in, by Kosaraju's algorithm; itself if it is in none."""
    above: dict[int, list[int]] = {node: [] for node in below}
    for tail, heads in below.items():
        for head in heads:
            above[head].append(tail)
    ended: dict[int, None] = {}  # in the order in which the search below left them
    seen: set[int] = set()
    work = [*below]
    while work:
        if (node := work[-1]) in seen:
            ended.setdefault(work.pop())
        else:
            seen.add(node)
            work += (head for head in below[node] if head not in seen)
    loop: dict[int, int] = {}
    for start in reversed(ended):
        members = {start} - loop.keys()
        pending = [*members]
        while pending:
            new = {tail for tail in above[pending.pop()] if tail not in loop} - members
            members |= new
            pending += new
        loop.update(dict.fromkeys(members, min(members, default=start)))
    return loop
