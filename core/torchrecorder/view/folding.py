"""Finding neighbours that are the same thing again: the 80 layers of a language model, drawn once with `×80`.

Two calls are equal if the same modules, parameters and ops stand at the same places in them and are wired in the same
way. What lies outside may differ (each layer reads the one before), but must have the same shapes and be used at the
same places. Modules with parameters of their own are never equal to a module that shares its parameters with another:
a picture that folds tied layers into untied ones would state a wrong number of parameters.

What can be told of a call without looking inside is hashed, and nearly all unequal pairs differ in that. Only what is
left is compared pair by pair; equal pairs are walked once, so the cost is linear in the ops of the folded calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torchrecorder.graph.model import Op
from torchrecorder.view.tree import CallTree

_DIGITS = re.compile(r"\d+")
_MAX_PERIOD = 8
_MIN_TURNS = 3
"""Kinds that take turns fewer times than this are drawn one by one: a box around them would not save much."""


@dataclass(eq=False)
class Comparer:
    """Tells whether two calls are equal, and remembers it, because views of several depths ask again."""

    tree: CallTree
    known: dict[tuple[int, int], bool] = field(default_factory=dict)
    outsides: dict[int, int] = field(default_factory=dict)
    """For each call that was asked about a number; calls with unequal numbers are unequal."""
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)

    def run(self, calls: Sequence[int], start: int) -> int:
        """How many of `calls`, from position `start` on, are one thing repeated; at least 1."""
        first = calls[start]
        stop = start + 1
        while stop < len(calls) and self.equal(first, calls[stop]):
            stop += 1
        if stop - start > 2:
            stop = start + self._same_sharing([*calls[start:stop]])
        return stop - start

    def turns(self, calls: Sequence[int], start: int) -> tuple[int, int]:
        """How many of `calls` from `start` on repeat, and how many kinds of them take turns.

        Swin's layers with and without shifted windows alternate; of six of Gemma's, one attends globally.
        """
        length, period = self.run(calls, start), 1
        # a shorter period would consist of equal calls only, and those are found
        longest = min(_MAX_PERIOD, (len(calls) - start) // _MIN_TURNS)
        for candidate in range(length + 1, longest + 1):
            repeated = self._repeated(calls, start, candidate)
            if repeated >= _MIN_TURNS * candidate and repeated > length:
                return repeated, candidate
        return length, period

    def _repeated(self, calls: Sequence[int], start: int, period: int) -> int:
        """How many of the calls from `start` on, in whole turns, are equal to those one period before."""
        stop = start + period
        while stop < len(calls) and self.equal(calls[start + (stop - start) % period], calls[stop]):
            stop += 1
        n_turns = (stop - start) // period
        if n_turns > 1:
            whole = calls[start : start + n_turns * period]
            n_turns = min(self._same_sharing([*whole[kind::period]]) for kind in range(period))
        return n_turns * period

    def equal(self, a: int, b: int) -> bool:
        """Whether call `b` is call `a` again."""
        if self._outside(a) != self._outside(b):
            return False
        key = (a, b)
        if key not in self.known:
            self.known[key] = _equal(self.tree, a, b)
        return self.known[key]

    def _outside(self, call: int) -> int:
        number = self.outsides.get(call)
        if number is None:
            facts = _seen_from_outside(self.tree, call)
            number = self.outsides[call] = self.numbers.setdefault(facts, len(self.numbers))
        return number

    def _same_sharing(self, calls: list[int]) -> int:
        """Length of the longest start in which all modules are one or all differ."""
        names = [self.tree.graph.calls[call].module for call in calls]
        if names[0] == names[1]:
            return next((i for i, name in enumerate(names) if name != names[0]), len(names))
        seen: set[str] = set()
        for i, name in enumerate(names):
            if name in seen:
                return i
            seen.add(name)
        return len(names)


def _seen_from_outside(tree: CallTree, call: int) -> tuple[object, ...]:
    """What equal calls have in common at least."""
    row, module = tree.graph.calls[call], tree.module(call)
    path = _DIGITS.sub("#", row.module)
    size = (tree.end[call] - call, tree.n_ops[call])
    return (path, *size) if module is None else (path, *size, module.cls, module.params)


def _equal(tree: CallTree, a: int, b: int) -> bool:
    """Whether two calls that look the same from outside are."""
    if not (tree.is_solid(a) and tree.is_solid(b)):
        return False
    return _same_calls(tree, a, b) and _Wiring(tree, a, b).same()


def _same_calls(tree: CallTree, a: int, b: int) -> bool:
    rows = tree.graph.calls
    for x, y in zip(range(a, tree.end[a]), range(b, tree.end[b]), strict=True):
        if rows[x].kind != rows[y].kind or rows[x].ok != rows[y].ok or not _same_module(tree, x, y):
            return False
        if x != a and rows[x].parent != _shifted(rows[y].parent, a - b):
            return False
        if _relative(rows[x].module, rows[a].module) != _relative(rows[y].module, rows[b].module):
            return False
    return True


def _shifted(id_: int | None, by: int) -> int | None:
    return None if id_ is None else id_ + by


def _same_module(tree: CallTree, x: int, y: int) -> bool:
    one, two = tree.module(x), tree.module(y)
    if one is None or two is None:
        return one is two
    same_settings = not one.native or one.extra_repr == two.extra_repr
    return one.cls == two.cls and one.params == two.params and same_settings


def _relative(path: str, base: str) -> str:
    """The path from `base` on, with a sign that tells it from a path outside `base`."""
    return "/" + path[len(base) :] if path == base or path.startswith(base + ".") else path


class _Wiring:
    """Compares the ops of two calls; remembers which outside value of one stands for which of the other."""

    def __init__(self, tree: CallTree, a: int, b: int) -> None:
        self.graph = tree.graph
        self.a, self.b = tree.ops_of(a), tree.ops_of(b)
        self.base_a, self.base_b = self.graph.calls[a].module, self.graph.calls[b].module
        self.shift_calls = b - a
        self.there: dict[int, int] = {}
        self.back: dict[int, int] = {}

    def same(self) -> bool:
        ops = self.graph.ops
        return all(self._same_op(ops[x], ops[y]) for x, y in zip(self.a, self.b, strict=True))

    def _same_op(self, x: Op, y: Op) -> bool:
        if x.name != y.name or x.call != y.call - self.shift_calls or x.kind != y.kind:
            return False
        if x.attrs != y.attrs or len(x.inputs) != len(y.inputs) or len(x.outputs) != len(y.outputs):
            return False
        outputs = all(map(self._same_shape, x.outputs, y.outputs))
        return outputs and all(map(self._same_input, x.inputs, y.inputs))

    def _same_shape(self, v: int, w: int) -> bool:
        one, two = self.graph.values[v].meta, self.graph.values[w].meta
        return one is two or one == two

    def _same_input(self, v: int, w: int) -> bool:
        one, two = self.graph.values[v], self.graph.values[w]
        if one.kind != two.kind and "op" not in (one.kind, two.kind):
            return False
        in_a, in_b = one.producer in self.a, two.producer in self.b
        if in_a or in_b:
            return in_a and in_b and self._same_place(v, w)
        if one.kind in ("param", "buffer") or two.kind in ("param", "buffer"):
            return self._same_name(one.name or "", two.name or "") and self._same_shape(v, w)
        return self._same_shape(v, w) and self.there.setdefault(v, w) == w and self.back.setdefault(w, v) == v

    def _same_place(self, v: int, w: int) -> bool:
        one, two = self.graph.values[v], self.graph.values[w]
        if one.producer is None or two.producer is None or one.index != two.index:
            return False
        return one.producer - self.a.start == two.producer - self.b.start

    def _same_name(self, one: str, two: str) -> bool:
        return _relative(one, self.base_a) == _relative(two, self.base_b)
