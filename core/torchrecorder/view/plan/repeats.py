"""What repeats in a call: equal neighbours, in series or in parallel, and one module that is called again and again.

A stack with `×N` says that each layer reads the one before. So what is drawn once for many is a series; layers that do
not read one another; one module that is called several times; or a loop, where a call depends on an earlier one.

Two calls are equal if the same modules, parameters and ops stand at the same places in them and are wired in the same
way. What lies outside may differ, but must have the same shapes and be used at the same places. Tied layers are never
equal to untied ones: the picture would state a wrong number of parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view import tuning
from torchrecorder.view.model import Repetition
from torchrecorder.view.op_families import JOINS, SHAPING
from torchrecorder.view.settings import side_by_side
from torchrecorder.view.tree import CallTree, Item, call_tree

_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r"(?<=\w):\d+$")
"""The end of the name of a module that is not registered, where several of its class are: `~Attention:2`."""
_OF_EQUALS = JOINS | {"add", "add_", "mul", "mul_", "max", "min", "maximum", "minimum"}
"""Ops whose arguments are of one role."""


@dataclass(frozen=True, slots=True)
class Run:
    """Calls that are drawn once; often it is one call."""

    calls: tuple[int, ...]
    period: int = 1
    """How many kinds of calls take turns."""
    repetition: Repetition = "series"
    differs: tuple[str, ...] = ()
    """In what the calls differ."""


def _same(_call: int) -> bool:
    return False


class Comparer:
    """Equality of calls, remembered, because views of several depths ask again."""

    def __init__(self, tree: CallTree, *, sizes: bool = True, apart: Set[int] = frozenset()) -> None:
        self.tree, self.graph = tree, tree.graph
        self._apart = apart
        self._sizes = sizes
        """Whether equal calls have tensors of equal shapes; if not, only of as many axes."""
        self._outsides: dict[int, Hashable] = {}
        self._insides: dict[int, Hashable] = {}

    def run(self, calls: Sequence[int], start: int) -> int:
        """Number of `calls`, from `start` on, that are one thing repeated; at least 1."""
        stop = start + 1
        while stop < len(calls) and self.equal(calls[start], calls[stop]):
            stop += 1
        return self._same_sharing(calls[start:stop]) if stop - start > 2 else stop - start

    def turns(self, calls: Sequence[int], start: int) -> tuple[int, int]:
        """Number of `calls` from `start` on that repeat, and of kinds that take turns, as two of Swin's layers."""
        length = self.run(calls, start)
        # a shorter period would consist of equal calls only, and those are known
        longest = min(tuning.MAX_PERIOD_OF_CALLS, (len(calls) - start) // tuning.MIN_TURNS)
        for period in range(length + 1, longest + 1):
            stop = start + period
            while stop < len(calls) and self.equal(calls[stop - period], calls[stop]):
                stop += 1
            n_turns = (stop - start) // period
            if n_turns > 1:
                whole = calls[start : start + n_turns * period]
                n_turns = min(self._same_sharing(whole[kind::period]) for kind in range(period))
            if n_turns >= tuning.MIN_TURNS and n_turns * period > length:
                return n_turns * period, period
        return length, 1

    def equal(self, a: int, b: int) -> bool:
        """Whether two calls are equal; most that are not differ in what is known without looking inside."""
        return self._outside(a) == self._outside(b) and self._inside(a) == self._inside(b)

    def _outside(self, call: int) -> Hashable:
        if call not in self._outsides:
            module, path = self.tree.module(call), _without_numbers(self.graph.calls[call].module)
            size = (self.tree.end[call] - call, self.tree.n_ops[call])
            own = () if module is None else (module.cls, module.params)
            self._outsides[call] = (path, *size, *own) if call not in self._apart else call
        return self._outsides[call]

    def _inside(self, call: int) -> Hashable:
        if call not in self._insides:
            rows, base = self.graph.calls, self.graph.calls[call].module
            inner = range(call, self.tree.end[call])
            ops, outside = self.tree.ops_of(call), dict[int, int]()
            places = self._unregistered(call)
            is_picked = call in self.tree.picked
            named = partial(_numbered, met={}) if is_picked else partial(_relative, base=base, places=places)
            layers = tuple((named(rows[part].module), *self._layer(part, call)) for part in inner)
            steps = (self._op(self.graph.ops[op], call, ops, outside, named) for op in ops)
            self._insides[call] = hash((layers, *steps)) if self.tree.is_solid(call) else ("alone", call)
        return self._insides[call]

    @cached_property
    def _calls_of_unregistered(self) -> dict[str, list[int]]:
        """By name of a module that is not registered its calls and those of its parts."""
        calls: dict[str, list[int]] = {}
        for row in self.graph.calls:
            if row.module.startswith("~"):
                calls.setdefault(row.module.partition(".")[0], []).append(row.id)
        return calls

    def _unregistered(self, call: int) -> dict[str, tuple[str, int]]:
        """By name of a module that is not registered, and runs in a call alone, its class and its place among them."""
        first, end = call, self.tree.end[call]
        alone = (name for name, at in self._calls_of_unregistered.items() if first <= at[0] and at[-1] < end)
        return {name: (_NUMBERED.sub("", name), place) for place, name in enumerate(alone)}

    def _layer(self, inner: int, call: int) -> tuple[Hashable, ...]:
        row, module = self.graph.calls[inner], self.tree.module(inner)
        place = None if inner == call or row.parent is None else row.parent - call
        own = None if module is None else (module.cls, module.params, module.extra_repr if module.native else "")
        return row.kind, row.ok, place, own

    def _op(
        self, op: Op, call: int, ops: range, outside: dict[int, int], named: Callable[[str], Hashable]
    ) -> tuple[Hashable, ...]:
        """Key of an op; `outside` numbers what is read from outside of the call, in the order of reading."""
        attrs = () if not self._sizes and op.name in SHAPING else tuple(sorted(op.attrs.items()))
        reads = list[Hashable]()
        for value in op.inputs:
            row = self.graph.values[value]
            if row.producer is not None and row.producer in ops:
                reads.append((row.producer - ops.start, row.index))
            elif row.kind in ("param", "buffer"):
                reads.append((row.kind, named(row.name or ""), self._shape(value)))
            else:
                reads.append((outside.setdefault(value, len(outside)), self._shape(value)))
        return op.name, op.kind, op.call - call, attrs, tuple(map(self._shape, op.outputs)), tuple(reads)

    def _shape(self, value: int) -> Hashable:
        meta = self.graph.values[value].meta
        return meta if self._sizes or meta is None else (meta.dtype, len(meta.shape))

    def _same_sharing(self, calls: Sequence[int]) -> int:
        """Length of the longest start in which all modules are one or all differ."""
        names = [self.graph.calls[call].module for call in calls]
        is_one = names[0] == names[1]
        new = (i for i, name in enumerate(names) if (name != names[0] if is_one else name in names[:i]))
        return next(new, len(names))


def _without_numbers(path: str) -> str:
    return _DIGITS.sub("#", _NUMBERED.sub("", path))


def _relative(path: str, base: str, places: Mapping[str, tuple[str, int]]) -> Hashable:
    if path == base or path.startswith(base + "."):
        return "/" + path[len(base) :]
    name, _, inner = path.partition(".")
    return (places[name], inner) if name in places else path


def _numbered(path: str, met: dict[str, int]) -> tuple[str, int]:
    """The path with its position among those met in place of its numbers, which are others in each call."""
    return _DIGITS.sub("#", path), met.setdefault(path, len(met))


@dataclass(eq=False)
class Repeats:
    """Finds runs of calls; a View and the text beside it ask the same one."""

    tree: CallTree
    apart: Set[int] = frozenset()
    """The calls that are equal to no other."""
    exact: Comparer = field(init=False)
    loose: Comparer = field(init=False)

    def __post_init__(self) -> None:
        self.exact = Comparer(self.tree, apart=self.apart)
        self.loose = Comparer(self.tree, sizes=False, apart=self.apart)

    def all_of(self, calls: Sequence[int]) -> list[Run]:
        """The runs of calls that were made in one call, as if no ops stood between."""
        shared = self.shared(calls)
        runs: list[Run] = []
        rest: list[int] = []
        for call in calls:
            if call not in shared:
                rest.append(call)
                continue
            if shared[call].calls[0] == call:
                runs += [*self.runs(rest), shared[call]]
                rest = []
        return [*runs, *self.runs(rest)]

    def shared(self, calls: Sequence[int], drawn: Callable[[int], object] = _same) -> dict[int, Run]:
        """By call the run of those of one module with parameters, if it is called several times and drawn alike."""
        by_module: dict[tuple[str, object], list[int]] = {}
        for call in calls:
            if self.tree.n_params(call) and call not in self.tree.picked:
                by_module.setdefault((self.tree.graph.calls[call].module, drawn(call)), []).append(call)
        shared: dict[int, Run] = {}
        for group in by_module.values():
            if len(group) > 1:
                is_loop = any(dependence(self.tree, calls_alone(group)))
                run = Run(tuple(group), repetition="loop" if is_loop else "shared")
                shared.update(dict.fromkeys(group, run))
        return shared

    def runs(
        self,
        calls: Sequence[int],
        drawn: Callable[[int], object] = _same,
        *,
        series: bool = True,
    ) -> Iterator[Run]:
        """Neighbours in one call, those that are the same again and drawn alike as one, `series` if asked for."""
        at = 0
        while at < len(calls):
            length, period = self.exact.turns(calls, at) if series else (self.exact.run(calls, at), 1)
            changing = 1 if period > 1 else self.loose.run(calls, at)
            is_changing = changing > length and changing >= tuning.LEAST_CHANGING
            run = calls[at : at + (changing if is_changing else length)]
            alike = next((i for i in range(1, len(run)) if drawn(run[i]) != drawn(run[i % period])), len(run))
            if alike < len(run) and period > 1:
                alike = period = 1
            wired = self._wired([*run[:alike]], period)
            at += len(wired.calls)
            if wired.repetition == "series" and not series:
                yield from (Run((call,)) for call in wired.calls)
                continue
            yield wired

    @cached_property
    def _read(self) -> dict[int, list[int]]:
        """By value the ops that read it, -1 for an output of the model."""
        read = {value: [-1] for values in self.tree.graph.outputs.values() for value in values}
        for op in self.tree.graph.ops:
            for value in op.inputs:
                read.setdefault(value, []).append(op.id)
        return read

    def _readers(self, call: int) -> set[tuple[str, str, int]]:
        """What outside of a call reads what is made in it: names of ops, paths of their calls, as which argument."""
        graph, inside, readers = self.tree.graph, range(call, self.tree.end[call]), set[tuple[str, str, int]]()
        pending = [value for op in self.tree.all_ops_of(call) for value in graph.ops[op].outputs]
        for value, at in ((made, at) for made in pending for at in self._read.get(made, ())):
            op = graph.ops[at] if at >= 0 else None
            if op is None:
                readers.add(("", "", 0))
            elif op.name in SHAPING:
                pending += op.outputs
            elif op.call not in inside:
                side = 0 if op.name in _OF_EQUALS else op.inputs.index(value)
                readers.add((op.name, _without_numbers(graph.calls[op.call].module), side))
        return readers

    def _handed(self, first: int, then: int) -> set[tuple[int, int]]:
        """Where a call reads what one before it made: by op in it that of the other, counted in each."""
        made, read = ([*self.tree.ops_of(call)] for call in (first, then))
        ops = self.tree.graph.ops
        given = {value: i for i, op in enumerate(made) for value in ops[op].outputs}
        return {(i, given[value]) for i, op in enumerate(read) for value in ops[op].inputs if value in given}

    def _wired(self, calls: list[int], period: int) -> Run:
        if len(calls) == 1:
            return Run((calls[0],))
        before = dependence(self.tree, calls_alone(calls))
        if period > 1:
            is_chain = all(before[i] >> (i - 1) & 1 for i in range(period, len(calls), period))
            return Run(tuple(calls), period) if is_chain else Run((calls[0],))
        is_series = before[1] & 1
        stop = 2
        while stop < len(calls) and (before[stop] >> (stop - 1) & 1 if is_series else not before[stop]):
            stop += 1
        if is_series:  # what a turn gives the next is the same in all
            handed = [*map(self._handed, calls[: stop - 1], calls[1:stop])]
            stop = next((i + 1 for i, given in enumerate(handed) if given != handed[0]), stop)
        else:  # as one they would all be read, by the same
            readers = self._readers(calls[0])
            stop = next((i for i in range(1, stop) if self._readers(calls[i]) != readers), stop)
        run = tuple(calls[:stop])
        is_one = len({self.tree.graph.calls[call].module for call in run}) == 1 and run[0] not in self.tree.picked
        repetition: Repetition = "series" if is_series else "shared" if is_one else "parallel"
        return Run(run, 1, repetition, tuple(sizes(self.tree.graph, run, is_row=repetition != "parallel")))


def calls_alone(calls: Iterable[int]) -> list[list[Item]]:
    return [[Item(True, call)] for call in calls]


def dependence(tree: CallTree, groups: Sequence[Sequence[Item]]) -> list[int]:
    """By group of calls and ops the others that it depends on, as bits: bit `i` for `groups[i]`."""
    of_call: dict[int, int] = {}
    of_op: dict[int, int] = {}
    for i, group in enumerate(groups):
        for item in group:
            of_call.update(dict.fromkeys(range(item.id, tree.end[item.id]) if item.is_call else (), i))
            of_op.update({} if item.is_call else {item.id: i})
    with_ops = [call for call in of_call if tree.n_ops[call]]
    first = min((*of_op, *(tree.first_op[call] for call in with_ops)), default=0)
    last = max((*of_op, *(tree.last_op[call] for call in with_ops)), default=-1)
    depends_on = [0] * len(groups)
    come_from: dict[int, int] = {}
    for op in tree.graph.ops[first : last + 1]:
        bits = 0
        for value in op.inputs:
            bits |= come_from.get(value, 0)
        here = of_op.get(op.id, of_call.get(op.call))
        if here is not None:
            depends_on[here] |= bits & ~(1 << here)
            bits |= 1 << here
        if bits:
            come_from.update(dict.fromkeys(op.outputs, bits))
    return depends_on


def sizes(graph: Graph, calls: Sequence[int], *, is_row: bool = True) -> Iterator[str]:
    """`64→2`: the sizes that change from the first of equal calls to the last, if they do.

    `64, 32, 2`, or `64 … 2` of a range, if none reads the one before.
    """
    given = ([graph.values[value].shape for value in graph.calls[call].outputs.values()] for call in calls)
    shapes = [shape for shape in (next(filter(None, of_call), ()) for of_call in given) if shape]
    if len(shapes) < len(calls) or len(set(shapes)) == 1 or len({*map(len, shapes)}) > 1:
        return
    read = (graph.values[value].shape for value in graph.calls[calls[0]].inputs.values())
    first = next((shape for shape in read if len(shape) == len(shapes[0])), ())
    if is_row and not first:  # which of its axes are those of what is given is not known
        return
    shapes = [first, *shapes] if is_row else shapes
    axes = [i for i, along in enumerate(zip(*shapes, strict=True)) if len(set(along)) > 1]
    texts = ["×".join(str(shape[i]) for i in axes) for shape in shapes]
    different = [*dict.fromkeys(texts)]
    if text := f"{texts[0]}→{texts[-1]}" if is_row else side_by_side(different, ends=True):
        yield text


def place(graph: Graph, op: Op) -> tuple[object, ...]:
    """Place of an op in the code, the same for all turns of a loop."""
    return (op.name, op.call, op.source, op.offset, *place_of_frame(graph, op.frame))


def place_of_frame(graph: Graph, frame: int | None) -> Iterator[object]:
    while frame is not None:
        yield from (graph.frames[frame].source, graph.frames[frame].offset)
        frame = graph.frames[frame].parent


@dataclass(frozen=True, slots=True)
class CallRun:
    calls: tuple[int, ...]
    level: int
    """0 for the model."""
    repetition: Repetition = "series"
    differs: tuple[str, ...] = ()
    params: int = 0
    """Those of one of the calls."""


def call_runs(
    graph: Graph,
    depth: int | Literal["all"] = "all",
    opened: Set[int] | None = None,
    *,
    root: int = 0,
    fold: bool = True,
) -> list[CallRun]:
    """The calls in one down to a depth, or those `opened` alone, parents first; what is drawn once is one."""
    tree = call_tree(graph)
    repeats = Repeats(tree)
    runs: list[CallRun] = []
    pending = [CallRun((root,), 0)]
    while pending:
        run = pending.pop()
        runs.append(replace(run, params=tree.n_params(run.calls[0])))
        is_open = depth == "all" or run.level < depth
        around = run.calls[0] if is_open else None
        if opened is not None:
            around = next((call for call in run.calls if call in opened), None)
        if around is not None:
            rows = repeats.all_of(tree.children[around]) if fold else [Run((call,)) for call in tree.children[around]]
            inside = [CallRun(row.calls, run.level + 1, row.repetition, row.differs) for row in rows]
            pending.extend(reversed(inside))
    return runs
