"""Loops of the user's code: which of the calls and ops in one call are turns of a `for`, and which are calls apart.

A loop runs the same places of the code again, so its turns are a stretch of calls and ops that comes several times in
a row. Calls of one module that follow in no such stretch are not a loop: `p(mid(p(x)))` runs `p` twice, with `mid`
between. They are drawn apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from torchrecorder.graph.model import Graph
from torchrecorder.view import tuning
from torchrecorder.view.plan.repeats import dependence
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
        return tuple(item.id for turn in self.turns for item in turn if item.is_call)

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(item.id for turn in self.turns for item in turn if not item.is_call)


def with_turns(tree: CallTree, items: Sequence[Item], sign: Callable[[Item], Hashable]) -> Iterator[Item | Turns]:
    """The calls and ops of one call in order, each loop as one; `sign` is equal for things at one place of turns."""
    shared = modules_again(tree, items)
    if not shared:
        yield from items
        return
    signs = [sign(item) for item in items]
    at = 0
    for start, period, times in _stretches(tree.graph, items, signs, shared):
        yield from items[at:start]
        turns = tuple(tuple(items[start + i * period : start + (i + 1) * period]) for i in range(times))
        is_loop = any(bits & (1 << i) - 1 for i, bits in enumerate(dependence(tree, turns)))
        at = start + period * times
        if is_loop or times > tuning.ROW:
            yield Turns(turns, "loop" if is_loop else "shared")
        else:
            yield from items[start:at]
    yield from items[at:]


def modules_again(tree: CallTree, items: Sequence[Item]) -> set[str]:
    """The modules with parameters that several of the calls are of."""
    with_params = (item.id for item in items if item.is_call and tree.n_params(item.id))
    count = Counter(tree.graph.calls[call].module for call in with_params if call not in tree.picked)
    return {fqn for fqn, n in count.items() if n > 1}


def _stretches(
    graph: Graph, items: Sequence[Item], signs: Sequence[Hashable], shared: set[str]
) -> list[tuple[int, int, int]]:
    """Start, length of a turn and number of turns of each loop that calls a module again, in order."""
    places: dict[Hashable, list[int]] = {}
    for position, sign in enumerate(signs):
        places.setdefault(sign, []).append(position)
    distances = Counter(b - a for of_sign in places.values() for a, b in pairwise(of_sign))
    stretches: list[tuple[int, int, int]] = []
    for period in sorted(period for period, _ in distances.most_common(tuning.PERIODS)):
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
