"""Loops of the user's code: which of the calls and ops in one call are turns of a `for`, and which are calls apart.

A loop runs the same places of the code again, so its turns are a stretch of calls and ops that comes several times in
a row. Calls of one module that follow in no such stretch are not a loop: `p(mid(p(x)))` runs `p` twice, with `mid`
between. They are drawn apart, unless there are many that do not depend on one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from torchrecorder.graph.model import Graph
from torchrecorder.view import tuning
from torchrecorder.view.tree import CallTree, Item


@dataclass(frozen=True, slots=True)
class Turns:
    """Calls and ops that a loop runs in each of its turns."""

    turns: tuple[tuple[Item, ...], ...]
    """At least two, of equal lengths."""
    repetition: Literal["loop", "shared"]
    """Whether a turn depends on an earlier one, or they only share weights."""

    @property
    def calls(self) -> tuple[int, ...]:
        """Those of all turns, turn by turn."""
        return tuple(item.id for turn in self.turns for item in turn if item.is_call)

    @property
    def ops(self) -> tuple[int, ...]:
        """The ops between the calls, turn by turn."""
        return tuple(item.id for turn in self.turns for item in turn if not item.is_call)


def with_turns(tree: CallTree, items: Sequence[Item], sign: Callable[[Item], Hashable]) -> Iterator[Item | Turns]:
    """The calls and ops of one call in their order, with each loop as one thing.

    Args:
        tree: The nesting of the Graph.
        items: What is drawn in the call.
        sign: What a thing has in common with those that another turn runs in its place.
    """
    shared = modules_again(tree, items)
    if not shared:
        yield from items
        return
    signs = [sign(item) for item in items]
    at = 0
    for start, period, times in _stretches(tree.graph, items, signs, shared):
        yield from items[at:start]
        turns = tuple(tuple(items[start + i * period : start + (i + 1) * period]) for i in range(times))
        is_loop = depends(tree, turns)
        at = start + period * times
        if is_loop or times > tuning.ROW:
            yield Turns(turns, "loop" if is_loop else "shared")
        else:
            yield from items[start:at]
    yield from items[at:]


def modules_again(tree: CallTree, items: Sequence[Item]) -> set[str]:
    """The modules with parameters that several of the calls are of."""
    modules = (tree.module(item.id) for item in items if item.is_call)
    count = Counter(module.fqn for module in modules if module is not None and module.params.total)
    return {fqn for fqn, n in count.items() if n > 1}


def _stretches(
    graph: Graph, items: Sequence[Item], signs: Sequence[Hashable], shared: set[str]
) -> list[tuple[int, int, int]]:
    """Start, length of a turn and number of turns of each loop that calls a module again, in order."""
    stretches: list[tuple[int, int, int]] = []
    for period in _periods(signs):
        start = 0
        while start + period < len(signs):
            stop = start
            while stop + period < len(signs) and signs[stop] == signs[stop + period]:
                stop += 1
            times = (stop - start) // period + 1
            turn = items[start : start + period]
            if times > 1 and any(item.is_call and graph.calls[item.id].module in shared for item in turn):
                stretches.append((start, period, times))
            start = max(stop, start + 1)
    chosen: list[tuple[int, int, int]] = []
    for start, period, times in sorted(stretches, key=lambda stretch: (-stretch[1] * stretch[2], stretch[1])):
        end = start + period * times
        if all(end <= other or start >= other + length * n for other, length, n in chosen):
            chosen.append((start, period, times))
    return sorted(chosen)


def _periods(signs: Sequence[Hashable]) -> list[int]:
    """The distances at which equal things follow one another."""
    places: dict[Hashable, list[int]] = {}
    for position, sign in enumerate(signs):
        places.setdefault(sign, []).append(position)
    count = Counter(b - a for of_sign in places.values() for a, b in pairwise(of_sign))
    return sorted(period for period, _ in count.most_common(tuning.PERIODS))


def depends(tree: CallTree, turns: Sequence[Sequence[Item]]) -> bool:
    """Whether a turn reads, over any way, what an earlier one made."""
    graph, turn_of_op, turn_of_call = tree.graph, dict[int, int](), dict[int, int]()
    for number, turn in enumerate(turns):
        for item in turn:
            if not item.is_call:
                turn_of_op[item.id] = number
            else:
                turn_of_call.update(dict.fromkeys(range(item.id, tree.end[item.id]), number))
    first = min(tree.first_op[item.id] if item.is_call else item.id for item in turns[0])
    last = max(tree.last_op[item.id] if item.is_call else item.id for item in turns[-1])
    latest: dict[int, int] = {}
    """By value the first turn that it depends on."""
    for op in graph.ops[first : last + 1]:
        come_from = min((latest[value] for value in op.inputs if value in latest), default=len(turns))
        here = turn_of_op.get(op.id, turn_of_call.get(op.call, len(turns)))
        if come_from < here < len(turns):
            return True
        if (earliest := min(come_from, here)) < len(turns):
            latest.update(dict.fromkeys(op.outputs, earliest))
    return False


def apart(
    tree: CallTree, items: Sequence[Item | Turns], drawn: Callable[[int], Hashable]
) -> dict[int, tuple[int, ...]]:
    """By call those of its module that are drawn as one with it, though they stand apart: many that are independent.

    Of several modules, those are drawn apart with which the drawing would have a cycle. Calls that are drawn in other
    ways, by what `drawn` says of them, are apart, too.
    """
    groups: dict[Hashable, list[int]] = {}
    for item in items:
        if isinstance(item, Turns) or not item.is_call:
            continue
        module = tree.module(item.id)
        if module is not None and module.params.total:
            groups.setdefault((module.fqn, drawn(item.id)), []).append(item.id)
    many = [group for group in groups.values() if len(group) > tuning.ROW]
    if not many:
        return {}
    merged = _Merged(tree, items)
    return {call: tuple(group) for group in many if merged.merge(group) for call in group}


class _Merged:
    """Who feeds whom among the things in a call, while some become one."""

    def __init__(self, tree: CallTree, items: Sequence[Item | Turns]) -> None:
        self._at: dict[int, int] = {}
        """By call its thing, by its first call or, from -1 down, op."""
        of_op: dict[int, int] = {}
        for item in items:
            parts = [part for turn in item.turns for part in turn] if isinstance(item, Turns) else [item]
            name = parts[0].id if parts[0].is_call else -1 - parts[0].id
            for part in parts:
                inside = range(part.id, tree.end[part.id]) if part.is_call else ()
                self._at.update(dict.fromkeys(inside, name))
                if not part.is_call:
                    of_op[part.id] = name
        self._below: dict[int, set[int]] = {}
        come_from: dict[int, set[int]] = {}
        for op in tree.graph.ops:
            here = of_op.get(op.id, self._at.get(op.call))
            sources = {source for value in op.inputs for source in come_from.get(value, ())}
            if here is not None:
                for source in sources - {here}:
                    self._below.setdefault(source, set()).add(here)
                sources = {here}
            if sources:
                come_from.update(dict.fromkeys(op.outputs, sources))

    def merge(self, calls: Sequence[int]) -> bool:
        """Makes calls one thing; False, and nothing is done, if a way leads from one of them to another."""
        names = {self._at[call] for call in calls}
        below = set[int]().union(*(self._below.get(name, set()) for name in names))
        seen, pending = {*below}, [*below]
        while pending:
            name = pending.pop()
            if name in names:
                return False
            new = self._below.get(name, set()) - seen
            seen |= new
            pending += new
        first = self._at[calls[0]]
        self._below[first] = below
        for heads in self._below.values():
            if not names.isdisjoint(heads):
                heads.difference_update(names)
                heads.add(first)
        self._at = {call: first if name in names else name for call, name in self._at.items()}
        return True
