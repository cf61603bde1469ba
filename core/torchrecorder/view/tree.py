"""The nesting of a Graph's calls, worked out once.

A Graph names the parent of each call and the call of each op. This is the other direction, as lists by call id, made in
one pass and without recursion, because a call may hold 20,000 ops and calls may nest deeply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from math import prod
from typing import NamedTuple

from torchrecorder.graph.model import Graph, Module
from torchrecorder.view.node_kinds import plain

SEQUENTIAL = "torch.nn.modules.container.Sequential"
_NUMBER = re.compile(r"\d+")
_COMPARED = 32  # calls in the longer of two at most, since each is compared with each


class Item(NamedTuple):
    is_call: bool
    id: int
    """Id of the call or of the op."""


@dataclass(frozen=True, eq=False)
class CallTree:
    """Nesting of calls, and ops in them; each list is by call id."""

    graph: Graph
    children: list[list[int]]
    """The calls made directly in the call, also those that ran no op."""
    items: list[list[Item]]
    """Ops and calls directly in the call, in the order of their first op; calls that ran no op are not in it."""
    level: list[int]
    """0 for the model's call, 1 for its children, …."""
    end: list[int]
    """The calls within call `c`, itself included, are `range(c, end[c])`."""
    first_op: list[int]
    n_ops: list[int]
    """Ops in the call and in the calls within it: ids from `first_op`, if `is_solid`."""
    last_op: list[int]

    def is_solid(self, call: int) -> bool:
        """Whether its ops have consecutive ids, which only a forward with threads or generators breaks."""
        return not self.n_ops[call] or self.n_ops[call] == self.last_op[call] - self.first_op[call] + 1

    def ops_of(self, call: int) -> range:
        return range(self.first_op[call], self.first_op[call] + self.n_ops[call])

    def all_ops_of(self, call: int) -> Sequence[int]:
        if self.is_solid(call):
            return self.ops_of(call)
        items = (item for inner in range(call, self.end[call]) for item in self.items[inner])
        return sorted(item.id for item in items if not item.is_call)

    def module(self, call: int) -> Module | None:
        """The module that was called; None for a custom autograd function."""
        row = self.graph.calls[call]
        return self.graph.modules.get(row.module) if row.kind == "module" else None

    def cls(self, call: int) -> str:
        """Class of the module with its path; empty for a custom autograd function."""
        module = self.module(call)
        return "" if module is None else module.cls

    def n_params(self, call: int) -> int:
        """Parameters of the module; of one that reads others in each call, those that this call reads."""
        module = self.module(call)
        if call in self.picked:
            return sum(self._sizes[name] for name in self.picked[call])
        return 0 if module is None else module.params.total

    @cached_property
    def again(self) -> dict[str, list[int]]:
        """By path of a module its calls."""
        again: dict[str, list[int]] = {}
        for row in self.graph.calls:
            again.setdefault(row.module, []).append(row.id)
        return again

    @cached_property
    def picked(self) -> dict[int, frozenset[str]]:
        """The parameters that calls read, of modules that read others in each of their calls.

        `blocks(x, i)` may run `convs[i]` alone: then each call is a block of its own, and no parameters are shared.
        """
        picked: dict[int, frozenset[str]] = {}
        for calls in self.again.values():
            again = [call for call in calls if self.n_ops[call]]
            if len(again) < 2 or (module := self.module(again[0])) is None or not module.params.total:
                continue
            first = frozenset(self._read(again[0]))
            if not first or not first.isdisjoint(self._read(again[1])):  # as of most
                continue
            read = [frozenset(self._read(call)) for call in again]
            if all(read) and sum(map(len, read)) == len(first.union(*read)):
                picked |= zip(again, read, strict=True)
        return picked

    def _read(self, call: int) -> Iterator[str]:
        values = self.graph.values
        for op in self.all_ops_of(call):
            yield from (values[v].name or "" for v in self.graph.ops[op].inputs if values[v].kind == "param")

    @cached_property
    def _sizes(self) -> dict[str, int]:
        params = (value for value in self.graph.values if value.kind == "param")
        return {value.name or "": prod(size for size in value.shape if isinstance(size, int)) for value in params}

    def is_leaf(self, call: int) -> bool:
        """Whether it is a layer of torch's own that calls no other."""
        module = self.module(call)
        return module is not None and module.native and not self.children[call]


def call_tree(graph: Graph) -> CallTree:
    """The nesting of the Graph's calls, in time linear in its size."""
    n = len(graph.calls)
    lists: tuple[list[list[int]], list[list[Item]]] = ([[] for _ in range(n)], [[] for _ in range(n)])
    tree = CallTree(graph, *lists, [0] * n, [*range(1, n + 1)], [-1] * n, [0] * n, [-1] * n)
    for row in graph.calls:
        if row.parent is not None:
            tree.children[row.parent].append(row.id)
            tree.level[row.id] = tree.level[row.parent] + 1
    for op in graph.ops:
        tree.items[op.call].append(Item(False, op.id))
        tree.n_ops[op.call] += 1
        call: int | None = op.call
        while call is not None and tree.first_op[call] < 0:
            tree.first_op[call] = op.id
            parent = graph.calls[call].parent
            if parent is not None:
                tree.items[parent].append(Item(True, call))
            call = parent
        tree.last_op[op.call] = op.id
    for row in reversed(graph.calls):  # children before their parents
        if row.parent is not None:
            tree.end[row.parent] = max(tree.end[row.parent], tree.end[row.id])
            tree.n_ops[row.parent] += tree.n_ops[row.id]
            tree.last_op[row.parent] = max(tree.last_op[row.parent], tree.last_op[row.id])
    return tree


class Places:
    """Calls and ops of one call, with those at their places in another that is drawn like it.

    Children are matched by name; those of lists and containers by class, in order, so an added layer moves no place.
    Of several of a class those are pairs whose layers say most alike of themselves.
    """

    def __init__(self, tree: CallTree) -> None:
        self.tree, self.graph = tree, tree.graph
        self._calls: dict[tuple[int, int], dict[int, int]] = {}
        self._ops: dict[tuple[int, int], dict[int, int]] = {}

    def matched(self, a: int, b: int) -> dict[int, int]:
        """By call in `a` the one in `b` that stands in its place; the two themselves included."""
        if (a, b) not in self._calls:
            matched, pending = {a: b}, [(a, b)]
            while pending:
                pairs = self.children(*pending.pop())
                matched.update(pairs)
                pending += pairs
            self._calls[a, b] = matched
        return self._calls[a, b]

    def children(self, a: int, b: int) -> list[tuple[int, int]]:
        here, there = self.tree.children[a], self.tree.children[b]
        names = [[*map(self._name, calls)] for calls in (here, there)]
        pairs = [(here[i], there[j]) for i, j in _pairs(*names)]
        if max(len(here), len(there)) > _COMPARED:
            return pairs
        if len(here) < len(there) and {x for x, _ in pairs} == {*here}:
            return self._likest(here, there) or pairs
        if len(here) > len(there) and {y for _, y in pairs} == {*there}:
            return [(x, y) for y, x in self._likest(there, here)] or pairs
        return pairs

    def _likest(self, few: Sequence[int], many: Sequence[int]) -> list[tuple[int, int]]:
        """Few calls in order with those of their names among many that are most like them; nothing if there are none.

        The first of two convolutions may be the second of three: the depthwise one.
        """
        best: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])] * (len(many) + 1)
        for n, x in enumerate(few):
            row: list[tuple[float, list[tuple[int, int]]]] = [(-1.0, [])]
            for y, (score, before) in zip(many, best, strict=False):
                is_one = len(before) == n and self._name(x) == self._name(y)
                one = (score + self._likeness(x, y), [*before, (x, y)]) if is_one else row[-1]
                row.append(max(row[-1], one, key=lambda found: found[0]))
            best = row
        return best[-1][1]

    def _likeness(self, a: int, b: int) -> float:
        """The share of what layers in two calls say of themselves, but for sizes, that both say."""
        both = []
        for call in (a, b):
            modules = [module for at in range(call, self.tree.end[call]) if (module := self.tree.module(at))]
            said = [word for module in modules for word in module.extra_repr.split(", ") if "=" in word]
            names = [word.partition("=")[0] for word in said]
            both.append(Counter([*(module.cls for module in modules), *said, *names]))
        return (both[0] & both[1]).total() / max((both[0] | both[1]).total(), 1)

    def call(self, call: int, a: int, b: int) -> int | None:
        return call if a == b else self.matched(a, b).get(call)

    def op(self, op: int, a: int, b: int) -> int | None:
        if a == b:
            return op
        x = self.graph.ops[op].call
        y = self.matched(a, b).get(x)
        if y is None:
            return None
        if (x, y) not in self._ops:
            here, there = self.ops(x), self.ops(y)
            names = [[plain(self.graph.ops[place].name) for place in ops] for ops in (here, there)]
            self._ops[x, y] = {here[i]: there[j] for i, j in _pairs(*names)}
        return self._ops[x, y].get(op)

    def ops(self, call: int) -> list[int]:
        return [item.id for item in self.tree.items[call] if not item.is_call]

    def _name(self, call: int) -> str:
        last = self.graph.calls[call].module.rpartition(".")[2]
        return self.tree.cls(call) or last if last.isdigit() else last


def _pairs(here: Sequence[Hashable], there: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of like things in two sequences, and of those that stand in the place of others."""
    if here == there:
        return [(i, i) for i in range(len(here))]
    pairs: list[tuple[int, int]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and i_end - i == j_end - j):
            pairs += zip(range(i, i_end), range(j, j_end), strict=True)
    return pairs


def counted(path: str) -> str:
    """The path with `#` for each number in it: `q_0` is `q_#`."""
    return _NUMBER.sub("#", path)
