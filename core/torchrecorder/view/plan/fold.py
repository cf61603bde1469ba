"""Finding which calls are the same thing again, so that a picture draws them once, with `×N`.

Two calls are equal if the same modules, parameters and ops stand at the same places in them and are wired in the same
way. What lies outside may differ (each layer reads the one before), but must have the same shapes and be used at the
same places. Modules with parameters of their own are never equal to a module that shares its parameters with another:
a picture that folds tied layers into untied ones would state a wrong number of parameters.

Nearly all unequal pairs differ in what is known without looking inside. Only what is left is compared op by op;
equal pairs are walked once, so the cost is linear in the ops of the folded calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torchrecorder.graph.model import Op
from torchrecorder.view.op_families import SHAPING
from torchrecorder.view.tree import CallTree

_DIGITS = re.compile(r"\d+")
_MAX_PERIOD = 8
_MIN_TURNS = 3


@dataclass(eq=False)
class Comparer:
    """Decides whether two calls are equal, and remembers it, because views of several depths ask again."""

    tree: CallTree
    sizes: bool = True
    """Whether equal calls have tensors of equal shapes; if not, only of as many axes."""
    known: dict[tuple[int, int], bool] = field(default_factory=dict)
    outsides: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """For each call that was asked about what equal calls have in common at least."""

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
        length = self.run(calls, start)
        # a shorter period would consist of equal calls only, and those are found
        longest = min(_MAX_PERIOD, (len(calls) - start) // _MIN_TURNS)
        for period in range(length + 1, longest + 1):
            stop = start + period
            while stop < len(calls) and self.equal(calls[start + (stop - start) % period], calls[stop]):
                stop += 1
            n_turns = (stop - start) // period
            if n_turns > 1:
                whole = calls[start : start + n_turns * period]
                n_turns = min(self._same_sharing([*whole[kind::period]]) for kind in range(period))
            if n_turns >= _MIN_TURNS and n_turns * period > length:
                return n_turns * period, period
        return length, 1

    def equal(self, a: int, b: int) -> bool:
        if self._outside(a) != self._outside(b):
            return False
        if (a, b) not in self.known:
            self.known[a, b] = _Pair(self.tree, a, b, self.sizes).is_equal()
        return self.known[a, b]

    def _outside(self, call: int) -> tuple[object, ...]:
        if call not in self.outsides:
            module, path = self.tree.module(call), _DIGITS.sub("#", self.tree.graph.calls[call].module)
            size = (self.tree.end[call] - call, self.tree.n_ops[call])
            self.outsides[call] = (path, *size, *(() if module is None else (module.cls, module.params)))
        return self.outsides[call]

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


class _Pair:
    """Two calls that look the same from outside; which outside value of one stands for which of the other."""

    def __init__(self, tree: CallTree, a: int, b: int, sizes: bool) -> None:
        self.tree, self.graph, self.sizes = tree, tree.graph, sizes
        self.a, self.b = a, b
        self.ops_a, self.ops_b = tree.ops_of(a), tree.ops_of(b)
        self.base_a, self.base_b = self.graph.calls[a].module, self.graph.calls[b].module
        self.there: dict[int, int] = {}
        self.back: dict[int, int] = {}

    def is_equal(self) -> bool:
        if not (self.tree.is_solid(self.a) and self.tree.is_solid(self.b)):
            return False
        calls = zip(range(self.a, self.tree.end[self.a]), range(self.b, self.tree.end[self.b]), strict=True)
        if not all(self.same_call(x, y) for x, y in calls):
            return False
        ops = self.graph.ops
        return all(self.same_op(ops[x], ops[y]) for x, y in zip(self.ops_a, self.ops_b, strict=True))

    def same_call(self, x: int, y: int) -> bool:
        one, two = self.graph.calls[x], self.graph.calls[y]
        if one.kind != two.kind or one.ok != two.ok or not self._same_name(one.module, two.module):
            return False
        if x != self.a and (two.parent is None or one.parent != two.parent + self.a - self.b):
            return False
        here, there = self.tree.module(x), self.tree.module(y)
        if here is None or there is None:
            return here is there
        same_settings = not here.native or here.extra_repr == there.extra_repr
        return here.cls == there.cls and here.params == there.params and same_settings

    def same_op(self, x: Op, y: Op) -> bool:
        if x.name != y.name or x.call != y.call + self.a - self.b or x.kind != y.kind:
            return False
        if len(x.inputs) != len(y.inputs) or len(x.outputs) != len(y.outputs):
            return False
        if x.attrs != y.attrs and (self.sizes or x.name not in SHAPING):
            return False
        outputs = all(map(self._same_shape, x.outputs, y.outputs))
        return outputs and all(map(self.same_input, x.inputs, y.inputs))

    def same_input(self, v: int, w: int) -> bool:
        """Whether two values that ops read are made at like places, or stand for one another."""
        one, two = self.graph.values[v], self.graph.values[w]
        if one.kind != two.kind and "op" not in (one.kind, two.kind):
            return False
        if one.producer in self.ops_a or two.producer in self.ops_b:
            if one.producer is None or two.producer is None or one.index != two.index:
                return False
            return (one.producer in self.ops_a) and one.producer - self.ops_a.start == two.producer - self.ops_b.start
        if one.kind in ("param", "buffer") or two.kind in ("param", "buffer"):
            return self._same_name(one.name or "", two.name or "") and self._same_shape(v, w)
        return self._same_shape(v, w) and self.there.setdefault(v, w) == w and self.back.setdefault(w, v) == v

    def _same_shape(self, v: int, w: int) -> bool:
        one, two = self.graph.values[v].meta, self.graph.values[w].meta
        if self.sizes or one is None or two is None:
            return one == two
        return one.dtype == two.dtype and len(one.shape) == len(two.shape)

    def _same_name(self, one: str, two: str) -> bool:
        """Whether two paths are the same from the two modules on, or the same path outside of both."""
        return _relative(one, self.base_a) == _relative(two, self.base_b)


def _relative(path: str, base: str) -> str:
    return "/" + path[len(base) :] if path == base or path.startswith(base + ".") else path
