"""A View while it is changed: nodes are left out, passed by, or drawn as one, and the rest is numbered again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from torchrecorder.view.model import Box, Edge, Node, View, in_order
from torchrecorder.view.order import Pair, forward


class Draft:
    """The nodes and boxes of a View by id, and who feeds whom."""

    def __init__(self, view: View) -> None:
        self._view, self.graph = view, view.graph
        self.nodes = {node.id: node for node in view.nodes}
        self.boxes = {box.id: box for box in view.boxes}
        self.tails: dict[int, dict[int, int]] = {node.id: {} for node in view.nodes}
        """By head and tail the value that goes from one to the other."""
        self.heads: dict[int, dict[int, int]] = {node.id: {} for node in view.nodes}
        self.backs: dict[Pair, int] = {}
        """By tail and head what the next turn of a loop reads."""
        for edge in view.edges:
            if edge.back:
                self.backs[edge.tail, edge.head] = edge.value
            else:
                self.join(edge.tail, edge.head, edge.value)
        self.notes: list[str] = []

    def join(self, tail: int, head: int, value: int) -> None:
        if tail != head:
            self.tails[head].setdefault(tail, value)
            self.heads[tail].setdefault(head, value)

    def part(self, tail: int, head: int) -> None:
        """Takes the edge away."""
        del self.tails[head][tail], self.heads[tail][head]

    def drop(self, node: int) -> None:
        for tail in [*self.tails[node]]:
            self.part(tail, node)
        for head in [*self.heads[node]]:
            self.part(node, head)
        self.backs = {pair: value for pair, value in self.backs.items() if node not in pair}
        del self.nodes[node], self.tails[node], self.heads[node]

    def is_looped(self, node: int) -> bool:
        """Whether the next turn of a loop reads what a node gives, or it reads what an earlier one gave."""
        return any(node in pair for pair in self.backs)

    def is_read(self, node: int) -> bool:
        """Whether another node reads what a node gives, in this turn of a loop or in the next."""
        return bool(self.heads[node]) or any(node == tail != head for tail, head in self.backs)

    def merge(self, ids: Sequence[int], node: Node) -> None:
        """Draws several nodes as one, which takes the id of the first."""
        first, *others = ids
        at = dict.fromkeys(others, first)
        self.backs = {(at.get(tail, tail), at.get(head, head)): value for (tail, head), value in self.backs.items()}
        for other in others:
            for tail, value in [*self.tails[other].items()]:
                self.join(tail, first, value)
            for head, value in [*self.heads[other].items()]:
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

    def view(self) -> View:
        """What is left, with ids in the order of things; boxes without content are gone."""
        if self._is_unchanged():
            return self._view
        old = sorted(self.nodes)
        at = {node: position for position, node in enumerate(old)}
        pairs = {(at[tail], at[head]): value for head in old for tail, value in self.tails[head].items()}
        order, kept = forward(len(old), pairs)
        new = {position: i for i, position in enumerate(order)}
        box_ids = self._boxes_with_content()
        nodes = []
        for i, position in enumerate(order):
            node = self.nodes[old[position]]
            box = None if node.box is None else box_ids[node.box]
            if node.id != i or node.box != box or any(part.id != i or part.box != box for part in node.parts):
                parts = tuple(replace(part, id=i, box=box) for part in node.parts)
                node = replace(node, id=i, box=box, parts=parts)
            nodes.append(node)
        edges = [Edge(new[tail], new[head], pairs[tail, head]) for tail, head in kept]
        backs = {(new[at[tail]], new[at[head]]): value for (tail, head), value in self.backs.items()}
        edges += [Edge(*pair, value, back=True) for pair, value in backs.items()]
        boxes = [self._renumbered(self.boxes[id_], box_ids) for id_ in box_ids]
        notes = (*self._view.notes, *self.notes)
        return replace(self._view, nodes=tuple(nodes), boxes=tuple(boxes), edges=in_order(edges), notes=notes)

    def _is_unchanged(self) -> bool:
        view, n_edges = self._view, sum(map(len, self.tails.values())) + len(self.backs)
        is_whole = len(self.nodes) == len(view.nodes) and len(self._boxes_with_content()) == len(view.boxes)
        if not is_whole or n_edges != len(view.edges) or self.notes:
            return False
        same_boxes = all(self.boxes[box.id] is box for box in view.boxes)
        return same_boxes and all(self.nodes[node.id] is node for node in view.nodes)

    def _boxes_with_content(self) -> dict[int, int]:
        """By old id the new one, of the boxes that hold something."""
        used: set[int] = set()
        for node in self.nodes.values():
            box = node.box
            while box is not None and box not in used:
                used.add(box)
                box = self.boxes[box].parent
        roots = {box.id for box in self.boxes.values() if box.parent is None}
        return {id_: i for i, id_ in enumerate(sorted(used | roots))}

    def _renumbered(self, box: Box, new: dict[int, int]) -> Box:
        return replace(box, id=new[box.id], parent=None if box.parent is None else new[box.parent])
