"""Facts of a Graph for its proof: nesting of calls, ops that only move data, values without features, counterparts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Literal

from torchrecorder.graph.model import Graph, Op

MOVES = frozenset(
    """
    view _unsafe_view view_as reshape reshape_as _reshape_alias permute transpose t T mT H mH adjoint swapaxes swapdims
    movedim moveaxis expand expand_as broadcast_to repeat tile flatten unflatten ravel squeeze unsqueeze slice select
    narrow split split_with_sizes tensor_split hsplit vsplit dsplit chunk unbind as_strided alias detach clone
    contiguous to type type_as float half double bfloat16 long int cpu cuda _to_copy copy copy_ lift_fresh view_as_real
    view_as_complex lift_fresh_copy _conj unfold_view set_data view_of
    """.split()  # noqa: SIM905 - it reads as a sentence
)
"""Kernels, and where none were recorded ops, that give elements of one tensor at other places or in another type."""
_READ = "_local_scalar_dense"
"""The kernel that reads a number of a tensor, as a view does whose sizes are tensors."""
_SAME = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}
"""By kernel the number that changes nothing."""
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "matmul": "@", "bmm": "@", "mm": "@"}
COMPARISONS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
JOINS = frozenset(("cat", "concat", "concatenate", "stack", "_unsafe_cat"))
_LIKE = frozenset(
    """
    zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty new_tensor rand_like randn_like
    randint_like new_empty_strided
    """.split()  # noqa: SIM905 - it reads as a sentence
)
"""Ops that take nothing but the shape and type of their argument."""
_LIKE_OTHER = frozenset(("expand_as", "view_as", "reshape_as", "type_as", "to"))
"""Ops that take the shape or type of their second argument."""
_INTEGERS = ("int", "uint", "bool")
_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r":\d+$")
"""The end of the name of a module that is not registered, where several of its class are."""


FaultKind = Literal["coverage", "not drawn", "flow", "counts", "sameness", "settings", "skips"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A false or missing statement of a View."""

    kind: FaultKind
    words: str
    """A sentence for the log."""
    calls: tuple[int, ...]
    """Ids of the calls in which less should be drawn as one; of a skip the root of its picture and the line's ends."""
    cuts: tuple[int, ...] = ()
    """Ids of the ops on the way of a line that take a part, which its words do not say."""


class Claim(str):
    """A sentence on words in a picture that are not true, with the keys of their node or of the ends of their line."""

    keys: tuple[str, ...]

    def __new__(cls, text: str, *keys: str) -> Claim:
        made = super().__new__(cls, text)
        made.keys = keys
        return made


@dataclass(slots=True)
class Match:
    calls: dict[int, int] = field(default_factory=dict)
    """By call of the one that at its place in the other."""
    ops: dict[int, int] = field(default_factory=dict)
    unmatched: list[int] = field(default_factory=list)
    """The ops of the one that have no counterpart."""
    missing: list[int] = field(default_factory=list)
    """Those of the other."""


class GraphFacts:
    """Nesting, moves and side values of one Graph, made once for all its Views."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.settings: dict[str, dict[str, str]] = {}
        """By module what it says of itself, once it was read."""
        self._matches: dict[tuple[int, int], Match] = {}
        """By two calls the counterparts in them, once they were looked for."""
        self._names: dict[int, list[tuple[str, int]]] = {}
        """By call the paths of those in it, likewise."""
        self._moves: dict[tuple[str, str, Sequence[str]], tuple[bool, bool, bool, Sequence[str]]] = {}
        """By kind, name and kernels of ops what `_moving` says of them, likewise."""
        self.end = [*range(1, len(graph.calls) + 1)]
        """The calls in call `c`, itself included, are `range(c, end[c])`."""
        self.children: list[list[int]] = [[] for _ in graph.calls]
        self.ops_in: list[list[int]] = [[] for _ in graph.calls]
        """By call the ops directly in it."""
        for row in reversed(graph.calls):
            if row.parent is not None:
                self.end[row.parent] = max(self.end[row.parent], self.end[row.id])
        for row in graph.calls:
            if row.parent is not None:
                self.children[row.parent].append(row.id)
        for op in graph.ops:
            self.ops_in[op.call].append(op.id)
        self.readers: list[list[int]] = [[] for _ in graph.values]
        for op in graph.ops:
            for value in op.inputs:
                self.readers[value].append(op.id)
        self._with_kernels = any(op.kernels for op in graph.ops)
        self.is_side = [value.kind in ("const", "buffer") for value in graph.values]
        """For each value whether it carries no features: made of constants, whole numbers and truth values alone."""
        for value in graph.inputs.values():
            meta = graph.values[value].meta
            self.is_side[value] |= meta is not None and meta.dtype.startswith(_INTEGERS)
        for op in graph.ops:
            if op.name in _LIKE or all(self.is_side[value] for value in op.inputs):
                for value in op.outputs:
                    self.is_side[value] = True
        self._features_beside()
        resizing = [op for op in graph.ops if op.name in ("pad", "interpolate")]
        changing = {(op.source, op.offset) for op in resizing if not self._keeps_size(op)}
        self._idle = {op.id for op in resizing if (op.source, op.offset) not in changing}
        """The ops of lines that resize or pad, and change nothing wherever they run."""

    def _keeps_size(self, op: Op) -> bool:
        """Whether a tensor of its size is given back as it is: without padding, or at the very size that it has."""
        metas = [self.graph.values[value].meta for value in (*op.inputs, *op.outputs)]
        if len({meta and meta.shape for meta in metas}) > 1 or None in metas or len(op.inputs) > 1:
            return False
        if op.name == "interpolate":
            return op.attrs.get("scale_factor", op.attrs.get("2", "None")) == "None"
        return {*_DIGITS.findall(op.attrs.get("1", op.attrs.get("pad", "1")))} == {"0"}

    def _features_beside(self) -> None:
        """Numbers of the user's that an op puts beside features are features: the action that a model was given."""
        given = {*self.graph.inputs.values()}
        for op in self.graph.ops:
            if not given.isdisjoint(self.data_of(op)):
                given.update(op.outputs)
        pending = [
            value
            for op in self.graph.ops
            if op.name in JOINS and not all(self.is_side[read] for read in op.inputs)
            for value in op.inputs
        ]
        while pending:
            value = pending.pop()
            if self.is_side[value] and value in given:
                self.is_side[value] = False
                producer = self.graph.values[value].producer
                pending += () if producer is None else self.graph.ops[producer].inputs
        self.telling = {value for values in self.graph.outputs.values() for value in values}
        """The user's numbers and what they have a part in, as far as an output depends on it."""
        for op in reversed(self.graph.ops):
            if not self.telling.isdisjoint(op.outputs):
                self.telling.update(self.data_of(op))
        self.telling &= given

    @cached_property
    def recipes(self) -> list[int]:
        """By value a number that it shares with those which equal ops make of equal values."""
        numbers, of = dict[object, int](), list[int]()
        for value in self.graph.values:
            op = None if value.producer is None else self.graph.ops[value.producer]
            made = op and (op.target, value.index, *op.attrs.items(), *(of[read] for read in op.inputs))
            of.append(numbers.setdefault(made or value.id, len(numbers)))
        return of

    def ops_of(self, calls: Iterable[int]) -> list[int]:
        return [op for call in calls for inner in range(call, self.end[call]) for op in self.ops_in[inner]]

    def data_of(self, op: Op) -> Sequence[int]:
        """Values that an op reads for their data, and not for shape or type alone."""
        if op.name in _LIKE:
            return ()
        return op.inputs[:1] if op.name in _LIKE_OTHER else op.inputs

    def reads_parameter(self, op: Op) -> bool:
        return any(self.graph.values[value].kind == "param" for value in self.data_of(op))

    def is_move(self, op: Op, origin: Sequence[int]) -> bool:
        """Whether an op gives nothing but elements of one tensor, at other places or in another type.

        `origin` is by value the one that moves have made it from.
        """
        if op.id in self._idle:
            return True
        if is_longer(self.graph, op):
            return False
        key = op.kind, op.name, op.kernels
        if key not in self._moves:
            self._moves[key] = self._moving(op)
        always, of_one, is_view, same = self._moves[key]
        if always or not (of_one or is_view):
            return always
        sources = {origin[v] for v in self.data_of(op) if op.name not in JOINS or not self._is_nothing(v)}
        if len(sources) == 1:
            return of_one and all(changes_nothing(op, kernel) for kernel in same)
        return is_view and sum(not self.is_side[value] for value in op.inputs) <= 1

    def _is_nothing(self, value: int) -> bool:
        """Whether a value has no elements, and no data decides that."""
        row = self.graph.values[value]
        made = None if row.producer is None else self.graph.ops[row.producer]
        is_cut = made is not None and made.name == "getitem" and len(made.inputs) == 1
        return 0 in row.shape and (self.is_side[value] or is_cut)

    def order(self, op: Op) -> list[int]:
        """The axes of what an op reads in the order in which it gives them; empty if it exchanges none."""
        n = len(self.graph.values[op.inputs[0]].shape) if op.inputs else 0
        axes = [int(axis) % n for axis in re.findall(r"-?\d+", " ".join(op.attrs.values()))] if n > 1 else []
        if op.name in ("t", "T", "mT", "transpose", "swapaxes", "swapdims") and n > 1:
            i, j = axes or (n - 2, n - 1)
            axes = [{i: j, j: i}.get(axis, axis) for axis in range(n)]
            return axes if op.name != "T" or n == 2 else []
        return axes if op.name == "permute" and len(axes) == n else []

    def moves(self, op: Op, origin: list[int]) -> bool:
        """Whether an op `is_move`; what it gives then has the origin of what it moves."""
        if not op.inputs or not self.is_move(op, origin):
            return False
        main = next((v for v in op.inputs if not self.is_side[v]), op.inputs[0])
        for value in op.outputs:
            origin[value] = origin[main]
        return True

    def _moving(self, op: Op) -> tuple[bool, bool, bool, Sequence[str]]:
        """Whether such ops only move data: always, if it is of one tensor, if it is views alone.

        The last are kernels that must also change nothing.
        """
        kernels = [(*kernel.split("."), kernel)[1] for kernel in op.kernels if not kernel.startswith("prim.")]
        always = op.kind == "pass" or (self._with_kernels and not kernels and op.name not in JOINS)
        names = kernels or [op.name]
        plain = [name.removesuffix("_") if name != "copy_" else name for name in names]
        of_one = all(name in MOVES or name in JOINS or name in _SAME or name == "getitem" for name in plain)
        same = [name for name in plain if name in _SAME]
        is_view = any(name in MOVES for name in names) and all(name in MOVES or name == _READ for name in names)
        return always, of_one, is_view, same

    def given_back(self, call: int) -> dict[int, int]:
        """Outputs of a call that are moved from all of what it got, beside others that it makes, by what it got."""
        outputs = [*dict.fromkeys(self.graph.calls[call].outputs.values())]
        if len(outputs) < 2:
            return {}
        inside = {*self.ops_of([call])}
        moved: dict[int, int] = {}
        for value in outputs:
            source, producer = value, self.graph.values[value].producer
            while producer in inside and self.graph.ops[producer].inputs:
                op = self.graph.ops[producer]
                is_part = op.name == "getitem" and _DIGITS.search(op.attrs.get("1", "")) is not None
                if is_part or len(op.outputs) > 1 or not self.is_move(op, range(len(self.graph.values))):
                    break
                source = next((v for v in op.inputs if not self.is_side[v]), op.inputs[0])
                producer = self.graph.values[source].producer
            if source != value and producer not in inside:
                moved[value] = source
        others = (value for value in outputs if value not in moved and not self.is_side[value])
        made = [value for value in others if self.graph.values[value].producer in inside]
        is_read = {value: any(reader in inside for reader in self.readers[value]) for value in moved}
        return {value: source for value, source in moved.items() if made and not is_read[value]}

    def match(self, call: int, other: int) -> Match:
        """Counterparts of the calls and ops of one call in another, by paths and by where the code ran them."""
        if (call, other) in self._matches:
            return self._matches[call, other]
        result = self._matches[call, other] = Match()
        pending = [(call, other)]
        while pending:
            here, there = pending.pop()
            result.calls[here] = there
            self._match_ops(result, self.ops_in[here], self.ops_in[there])
            if not self.children[here] and not self.children[there]:
                continue
            names = dict(zip(self._named(there), self.children[there], strict=True))
            others = dict(zip(self._named(here), self.children[here], strict=True))
            kinds = {name: _DIGITS.sub("#", name[0]) for name in (*names, *others)}
            is_counted = others.keys().isdisjoint(names)  # `conv1_stage2`, where the other has `conv1_stage3`
            is_counted &= [kinds[name] for name in others] == [kinds[name] for name in names]
            pending += [(others.pop(name), names.pop(name)) for name in [*others] if name in names]
            if is_counted or self.graph.calls[here].module == self.graph.calls[there].module:  # it picks others
                for name in [*others]:
                    like = next((other for other in names if kinds[other] == kinds[name]), None)
                    if like is not None:
                        pending.append((others.pop(name), names.pop(like)))
            result.unmatched += self.ops_of(others.values())
            result.missing += self.ops_of(names.values())
        return result

    def _match_ops(self, result: Match, ops: Sequence[int], others: Sequence[int]) -> None:
        rows = self.graph.ops
        if [rows[op].name for op in ops] == [rows[op].name for op in others]:
            result.ops.update(zip(ops, others, strict=True))
            return
        kind = {op: (rows[op].name, rows[op].source, rows[op].offset) for op in (*ops, *others)}
        pairs = [*zip(reversed(ops), reversed(others), strict=False)]
        n_last = next((n for n, (op, other) in enumerate(pairs) if kind[op] != kind[other]), len(pairs))
        result.ops.update(pairs[:n_last])  # what both end with, such as the last transpose of an attention
        ops, others = ops[: len(ops) - n_last], others[: len(others) - n_last]
        left: dict[object, list[int]] = {}
        for op in others:
            left.setdefault(kind[op], []).append(op)
        for op in ops:
            alike = left.get(kind[op])
            if alike:
                result.ops[op] = alike.pop(0)
            else:
                result.unmatched.append(op)
        result.missing += [op for some in left.values() for op in some]

    def _named(self, call: int) -> list[tuple[str, int]]:
        """The path of each call in a call, from that of its module on, and how often that was called before."""
        if call not in self._names:
            rows = self.graph.calls
            # a function's name is in no path of a layer
            around = (row for row in self.graph.around(call) if row.kind != "function" or row.parent is None)
            own, *outer = (row.module for row in around)
            registered = next(path for path in (own, *outer, "") if not path.startswith("~"))
            count = Counter[str]()
            self._names[call] = names = []
            for child in self.children[call]:
                fqn = _NUMBERED.sub("", rows[child].module)
                base = own if fqn.startswith("~") else registered  # a layer that is not registered calls ones that are
                module = self.graph.modules.get(fqn)
                others = () if module is None else module.aliases  # one layer of all blocks
                path = min((_from(base, name) for name in (fqn, *others)), key=lambda name: name.count("^"))
                names.append((path, count[path]))
                count[path] += 1
        return self._names[call]


def _from(base: str, path: str) -> str:
    """The path of a module as one sees it from another, with `^` for each step up: of a layer given as an argument."""
    here, there = base.split(".") if base else [], path.split(".")
    n = len([*takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False))])
    return ".".join(("^" * (len(here) - n), *there[n:]))


def is_longer(graph: Graph, op: Op) -> bool:
    """Whether an axis of several places is given more than once, so that what it meets has another size."""
    if op.name not in ("repeat", "tile"):
        return False
    source, made = (graph.values[value].shape for value in (op.inputs[0], op.outputs[0]))
    new = len(made) - len(source)
    return any(size != 1 and made[new + axis] != size for axis, size in enumerate(source))


def changes_nothing(op: Op, kernel: str) -> bool:
    """Whether a kernel of an op leaves a tensor as it is: `0 + x`."""
    number = op.attrs.get("1") or op.attrs.get("other") or op.attrs.get("0") or ""
    try:
        return len(op.inputs) == 1 and float(number) == _SAME.get(kernel)
    except ValueError:
        return False
