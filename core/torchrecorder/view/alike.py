"""Which calls and ops of one call stand at the place of which in another one that is drawn like it.

Children are matched by name; those of lists and containers, whose names are numbers, by class, in order. So the places
in a block with an added layer are still those of the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

from torchrecorder.view.node_kinds import plain
from torchrecorder.view.tree import CallTree


class Places:
    """The places in the calls of one Graph; each pair of calls is matched once."""

    def __init__(self, tree: CallTree) -> None:
        self.tree, self.graph = tree, tree.graph
        self._calls: dict[tuple[int, int], dict[int, int]] = {}
        self._ops: dict[tuple[int, int], dict[int, int]] = {}

    def matched(self, a: int, b: int) -> dict[int, int]:
        """By call in `a` the one in `b` that stands in its place; the two themselves included."""
        if (a, b) not in self._calls:
            found, pending = {a: b}, [(a, b)]
            while pending:
                pairs = self.children(*pending.pop())
                found.update(pairs)
                pending += pairs
            self._calls[a, b] = found
        return self._calls[a, b]

    def children(self, a: int, b: int) -> list[tuple[int, int]]:
        """The calls made in one call, each with the one at its place in the other."""
        here, there = self.tree.children[a], self.tree.children[b]
        return [(here[i], there[j]) for i, j in _pairs([*map(self._name, here)], [*map(self._name, there)])]

    def op(self, op: int, a: int, b: int) -> int | None:
        """The op in `b` at the place of one in `a`."""
        x = self.graph.ops[op].call
        y = self.matched(a, b).get(x)
        if y is None:
            return None
        if (x, y) not in self._ops:
            here, there = self.ops(x), self.ops(y)
            names = [[plain(self.graph.ops[one].name) for one in ops] for ops in (here, there)]
            self._ops[x, y] = {here[i]: there[j] for i, j in _pairs(*names)}
        return self._ops[x, y].get(op)

    def ops(self, call: int) -> list[int]:
        """The ops directly in a call."""
        return [item.id for item in self.tree.items[call] if not item.is_call]

    def _name(self, call: int) -> str:
        last = self.graph.calls[call].module.rpartition(".")[2]
        module = self.tree.module(call)
        return module.cls if module is not None and last.isdigit() else last


def _pairs(here: Sequence[Hashable], there: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The positions of like things in two sequences, and of those that stand in the place of others."""
    if here == there:
        return [(i, i) for i in range(len(here))]
    found: list[tuple[int, int]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and i_end - i == j_end - j):
            found += zip(range(i, i_end), range(j, j_end), strict=True)
    return found
