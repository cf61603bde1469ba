"""What the options say of each call and op: which are boxes, nodes, or not drawn, at any depth.

Changes of shape and copies hand on the data of one argument, so they are drawn as the edge, outside of layers: an
`nn.Flatten` is a layer that the author put into the model, so it stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Literal

from torchrecorder.errors import OptionError, did_you_mean
from torchrecorder.graph.model import Graph, Op
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view.facts import Facts, cuts_across, readers_of, regroups, sizes
from torchrecorder.view.model import Marks
from torchrecorder.view.node_kinds import is_reflected
from torchrecorder.view.op_families import DROPOUTS, EXCHANGES, JOINS, PIECES, POINTWISE, SHAPING, is_laid_out
from torchrecorder.view.plan.repeats import Repeats
from torchrecorder.view.tree import Places, call_tree

State = Literal["box", "node", "gone", "open"]
"""`open`: what is in it is drawn, without a box around it."""
_NUMBER = re.compile(r"-?\d+")
ALL_OF_IT = re.compile(r"\(?(\s*(None|\.\.\.|0?:)\s*,?)+\)?")
"""An index that takes everything, perhaps with new axes: `(..., None)`, `(:, 0:)`."""
_OF_AXIS = r"(\.\.\.|(-?\d+)?:(-?\d+)?)"
_STRETCH = re.compile(rf"\(?{_OF_AXIS}(, {_OF_AXIS})*\)?")
"""An index that takes a stretch of each axis: `1:`, `(:, :-1)`."""
_NONE = re.compile(r"(?<![\d:])0?:0(?![\d:])")
"""An index that takes nothing: `(:, :0)`."""

_ZERO, _ONE = ("0", "0.0"), ("1", "1.0")
_UNCHANGED = {"add": _ZERO, "sub": _ZERO, "mul": _ONE, "div": _ONE}
"""By op the numbers that leave the other side as it is; a sum over a list begins with such a zero."""


class Visibility:
    def __init__(
        self, graph: Graph, options: DrawingOptions, *, contract: bool = True, marks: Marks | None = None
    ) -> None:
        self.graph, self.options, self.contract, self.marks = graph, options, contract, marks
        self.tree = tree = call_tree(graph)
        self.facts = Facts(tree)
        self.root = _focused(graph, options.focus)
        """The call that is shown."""
        fold = options.fold if isinstance(options.fold, tuple) else ()
        self.facts.apart = frozenset(self.matching(path[1:] for path in fold if path.startswith("!")))
        self.facts.together = frozenset(self.matching(path for path in fold if not path.startswith("!")))
        self.repeats = Repeats(tree, self.facts.apart) if options.fold else None
        is_all = options.depth == "all"
        ran, marked = {op.call for op in graph.ops}, marks.calls if marks is not None else {}
        rows = (row for row in graph.calls if marked.get((row.module, row.index)) in ("added", "removed"))
        self._seen = {row.id for row in rows if row.id in ran}
        """Calls that are drawn though they do nothing, because they are new or gone."""
        failure = graph.info.failure
        self.failed = {row.id for row in graph.around(None if failure is None else failure.call)}
        """The calls that the exception which ended the forward came through; one that the model caught gave nothing."""
        seen = self._seen if contract else range(len(graph.calls))
        self.handed = [None if op.call in seen else handed_on(graph, op, is_all) for op in graph.ops]
        for op in _idle(graph) if contract and not is_all else ():
            self.handed[op.id] = op.inputs[0]
        if contract and not is_all:
            for id_ in (
                *_shuffling(graph, self.facts.ran_in.values(), self.handed),
                *self._regrouping(),
                *self._beginning(),
                *self._parting(),
            ):
                self.handed[id_] = None
        self.contracted = [value is not None for value in self.handed]
        """For each op the same by what it does alone, wherever its data come from."""
        for id_, value in _put_together(graph) if contract and not is_all else ():
            self.handed[id_] = value
        """For each op the value whose data it only gives another shape, type or place; None if it is a node."""
        self.atomic = [self._is_atomic(call) for call in range(len(graph.calls))]
        """For each call whether it is one node at every depth."""
        others = (op for op in graph.ops if op.name.removesuffix("_") not in POINTWISE)
        leaves = {c.id for c in graph.calls if tree.module(c.id) is not None and not tree.children[c.id]}
        written_out = leaves - {op.call for op in others if self.handed[op.id] is None}
        is_plain = options.depth == "all" or graph.info.recorder == "classic"
        self.formulas = set[int]() if is_plain else written_out | self.facts.kinds.layers.keys()
        """Activations and normalisations that the user has written as a formula, and calls that do the work of one
        layer. Torch's `RMSNorm` is one node; one that is written with five ops should not look like more."""
        self.asked = frozenset(self.matching(options.expand))
        """The calls that a reader asked to see inside."""
        self.opened: set[int] = set()
        """Those, and all around them."""
        for call in self.asked:
            self.opened.update(around.id for around in graph.around(call))
        self.collapsed = frozenset(self.matching(options.collapse))
        self._passed: dict[int, dict[int, int]] = {}
        self.strict: set[int] = set()
        """The calls that are drawn as one with none of another structure, since the proof found that wrong."""

    @cached_property
    def places(self) -> Places:
        return Places(self.tree)

    @cached_property
    def gone(self) -> frozenset[int]:
        """The calls that no view draws, since they do nothing."""
        return frozenset(call for call, state in enumerate(self.states(0)) if state == "gone")

    @cached_property
    def max_depth(self) -> int:
        level = self.tree.level
        calls = range(self.root, self.tree.end[self.root])
        is_closed = self.formulas - {self.root}
        deepest = [level[call] + 1 for call in calls if not self.atomic[call] and call not in is_closed]
        return max(deepest, default=level[self.root]) - level[self.root]

    def states(self, depth: int) -> list[State]:
        """By call its state if every call around it is a box and `depth` levels are."""
        limit = depth + self.tree.level[self.root]
        states: list[State] = ["node"] * len(self.graph.calls)
        for call in range(len(states) - 1, -1, -1):
            is_shut = call in self.formulas and call != self.root
            is_box = (self.tree.level[call] < limit and not is_shut) or call in self.opened
            if call != self.root and self._is_gone(call, states):
                states[call] = "gone"
            elif is_box and call not in self.collapsed and not self.atomic[call]:
                states[call] = "box"
        return states

    def matching(self, patterns: Iterable[str]) -> list[int]:
        """Calls of modules whose path matches."""
        is_like = like(patterns)
        return [row.id for row in self.graph.calls if row.kind == "module" and is_like(row.module)]

    def _is_atomic(self, call: int) -> bool:
        """Whether a call is one node in every view: functions that call no module, torch's own layers, and single ops.

        A box around one op says no more than a node. The root is opened even so, since a reader asked to see it.
        """
        module = self.tree.module(call)
        if module is None:
            inside = range(call + 1, self.tree.end[call])
            return not any(self.tree.module(inner) is not None and self.tree.n_ops[inner] for inner in inside)
        if any(self.tree.n_ops[child] or child in self.failed for child in self.tree.children[call]):
            return False
        if self.graph.info.recorder == "classic":  # whose pictures show the ops inside every layer
            return False
        ops = [item.id for item in self.tree.items[call] if not item.is_call]
        return module.native or sum(self.handed[op] is None for op in ops) < (1 if call == self.root else 2)

    def weaken(self, faulty: Iterable[int]) -> bool:
        """Draw less as one in calls that are drawn wrongly: equal ones only, then closed. False if nothing is left."""
        calls = {*faulty}
        again = (calls & self.strict) - self.collapsed - {self.root} - self.opened
        is_new = not calls <= self.strict
        self.strict |= calls
        self.collapsed |= again
        return is_new or bool(again)

    def draw_cuts(self, ops: Iterable[int]) -> bool:
        """Draw ops that take a part of a tensor, and those of their place in the code. False if they are drawn."""
        places = {self._place(op) for op in ops if self.handed[op] is not None}
        drawn = [op for op in range(len(self.handed)) if self._place(op) in places]
        for op in drawn:
            self.handed[op], self.contracted[op] = None, False
        self._passed.clear()
        return bool(drawn)

    def _place(self, op: int) -> tuple[object, ...]:
        row = self.graph.ops[op]
        return row.name, row.source, row.offset

    def can_open(self, call: int) -> bool:
        return bool(self.tree.n_ops[call]) and not self.atomic[call] and call not in self.collapsed

    def is_block(self, call: int) -> bool:
        return not self.atomic[call] and call not in self.formulas and call not in self.collapsed

    def is_read_outside(self, value: int, call: int) -> bool:
        inside, pending = range(call, self.tree.end[call]), [value]
        outputs = {value for values in self.graph.outputs.values() for value in values}
        while pending:
            read = pending.pop()
            if read in outputs:
                return True
            for op in self.readers.get(read, ()):
                is_handed = self.handed[op.id] == read
                if op.call not in inside and not is_handed:
                    return True
                pending += op.outputs if is_handed else ()
        return False

    def passed(self, call: int) -> Mapping[int, int]:
        """What a call gives back in some shape, beside features that it makes: by value what it got."""
        if call not in self._passed:
            self._passed[call] = dict(self._given_back(call))
        return self._passed[call]

    def _given_back(self, call: int) -> Iterator[tuple[int, int]]:
        outputs, inside = {*self.graph.calls[call].outputs.values()}, {*self.tree.all_ops_of(call)}
        if len(outputs) < 2:
            return
        got: dict[int, int] = {}
        for op in sorted(inside):
            row = self.graph.ops[op]  # a packed sequence comes out of an RNN with the lengths that went in
            source = row.inputs[0] if row.kind == "pass" and row.inputs else self.handed[op]
            is_outside = source is not None and self.graph.values[source].producer not in inside
            is_index = row.name == "getitem" and _NUMBER.search(row.attrs.get("1", ""))
            is_part = is_index or len(row.outputs) > 1  # the layer's own doing: the mask for what a convolution gives
            if source is not None and not is_part and (is_outside or source in got):
                got.update(dict.fromkeys(row.outputs, got.get(source, source)))
        made = outputs - got.keys() - self.facts.aside
        if any(self.graph.values[value].producer in inside for value in made):
            for value in sorted(outputs & got.keys()):
                if not any(reader.id in inside for reader in self.readers.get(value, ())):
                    yield value, got[value]

    @cached_property
    def readers(self) -> dict[int, list[Op]]:
        return readers_of(self.graph)

    def _regrouping(self) -> Iterator[int]:
        """Views with other axes and the ops that take a part along these, as in a shift of relative positions."""
        for op in (op for op in self.graph.ops if op.name in SHAPING and op.inputs):
            readers, size = self.readers.get(op.outputs[0], ()), prod(sizes(self.graph, op.outputs[0]))
            takers = [reader for reader in readers if prod(sizes(self.graph, reader.outputs[0])) < size]
            if takers and all(self.handed[taker.id] is not None for taker in takers):
                beside = (self.facts.ran_in[it.frame] if it.frame is not None else [] for it in takers)
                inner = (any(self.handed[at] is None for at in ops) for ops in beside)
                pairs = zip(takers, inner, strict=True)
                is_odd = regroups(self.graph, op)
                is_odd |= any(cuts_across(self.graph, op, taker, is_inner=is_inner) for taker, is_inner in pairs)
                yield from (op.id, *(taker.id for taker in takers)) if is_odd else ()

    def _beginning(self) -> Iterator[int]:
        """Ops that take the parts of a tensor which a row of layers begins with, each of which hands them on.

        Lines into the row would say such parts of each of its layers, where they are so of the first one alone. One
        line that does stands at the row's entry; two, of a block with a residual, are taken for what each block does.
        """
        for items in self.tree.children:
            rows = [self.graph.calls[call] for call in items if self.tree.module(call) is not None]
            alike = (pair for pair in pairwise(rows) if len({self.tree.cls(row.id) for row in pair}) == 1)
            for first, then in alike:
                given, made, places = {*first.outputs.values()}, dict[int, set[int]](), dict[int, int]()
                for path, value in first.inputs.items():
                    op = self.graph.values[value].producer
                    if op is None or self.handed[op] is None or then.inputs.get(path) not in given - {value}:
                        continue
                    if self.graph.ops[op].name in (*PIECES, "getitem"):
                        of = self.graph.ops[op].inputs[0]
                        made.setdefault(of, set()).add(op)
                        places[of] = places.get(of, 0) + self._reads(value, range(first.id, self.tree.end[first.id]))
                yield from (op for of, ops in made.items() if len(ops) > 1 or places[of] > 1 for op in ops)

    def _reads(self, value: int, calls: range) -> int:
        """The number of times that drawn ops read a value in some calls."""
        own = [op for op in self.readers.get(value, ()) if op.call in calls]
        return sum(sum(self._reads(it, calls) for it in op.outputs) if self.handed[op.id] == value else 1 for op in own)

    def _parting(self) -> Iterator[int]:
        """Ops that exchange axes in functions that do nothing else, where layers of a class call others in turns.

        Windows and grids of one attention would be the same edge.
        """
        turning: dict[str, dict[int, dict[str, list[int]]]] = {}
        for frame, ops in self.facts.ran_in.items():
            own = [op for op in ops if self.graph.ops[op].name in EXCHANGES]
            if own and all(self.handed[op] is not None for op in ops):
                row = self.graph.frames[frame]
                names = turning.setdefault(self.tree.cls(row.call), {}).setdefault(row.call, {})
                names.setdefault(row.short, []).extend(own)
        for calls in turning.values():
            for names in calls.values():
                lacking = (names.keys() - other for other in calls.values() if len(other) == len(names))
                yield from (op for name in set[str]().union(*lacking) for op in names[name])

    def _is_gone(self, call: int, states: Sequence[State]) -> bool:
        if call in self._seen or call in self.failed:
            return False
        if not self.tree.n_ops[call]:
            return True
        module = self.tree.module(call)
        if self.contract and module is not None and self.tree.is_leaf(call):
            # it gives back its argument: an `Identity`, or a dropout of nothing
            cls, is_nothing = module.cls.rpartition(".")[2], module.extra_repr.startswith(("p=0.0,", "p=0,"))
            if cls == "Identity" or (cls in DROPOUTS and is_nothing):
                return True
        if self.contract and self.options.depth != "all" and call != self.root and not self.tree.children[call]:
            ops = [self.graph.ops[op] for op in self.tree.all_ops_of(call)]
            # a `Rearrange`, of which the lines say the sizes; torch's own are known to readers
            is_own = module is not None and not module.native and call not in self.opened.union(self.collapsed)
            is_own &= len(self.graph.calls[call].outputs) == 1
            is_moving = is_own and all(op.name in SHAPING and self.handed[op.id] is not None for op in ops)
            if is_moving or [op.kind for op in ops] == ["pass"]:
                return True
        return all(item.is_call and states[item.id] == "gone" for item in self.tree.items[call])


def like(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path matches one of them: `*` stands for anything without a dot, `**` for anything."""
    signs = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    parts = [re.split(r"(\*\*|\*|\?)", pattern) for pattern in patterns]
    texts = ["".join(signs.get(part) or re.escape(part) for part in pattern) for pattern in parts]
    regex = re.compile("|".join(texts) if texts else "(?!)")
    return lambda path: regex.fullmatch(path) is not None


def _focused(graph: Graph, focus: str) -> int:
    if not focus:
        return 0
    focused = next((row.id for row in graph.calls if row.module == focus and row.kind == "module"), None)
    if focused is None:
        advice = did_you_mean(focus, dict.fromkeys(row.module for row in graph.calls), lead="; ", count=2)
        raise OptionError(problems=(f"focus: no layer {focus!r} was called{advice}",))
    return focused


def _is_born_empty(graph: Graph, value: int) -> bool:
    """Whether the code makes it empty, as a cache before the first step, and not the data."""
    row = graph.values[value]
    op = None if row.producer is None else graph.ops[row.producer]
    is_cut = op is not None and op.name == "getitem" and _NONE.search(op.attrs.get("1", "")) is not None
    is_made = row.kind in ("input", "op") and (op is None or (bool(op.inputs) and not is_cut))
    return row.meta is not None and 0 in row.meta.shape and not is_made


def _idle(graph: Graph) -> Iterator[Op]:
    """The ops of lines that change nothing wherever they run: padding by zero, resizing to the size that is there."""
    resizing = [op for op in graph.ops if op.name in ("pad", "interpolate")]
    changing = {(op.source, op.offset) for op in resizing if not _is_idle(graph, op)}
    return (op for op in resizing if (op.source, op.offset) not in changing)


def _is_idle(graph: Graph, op: Op) -> bool:
    metas = [graph.values[value].meta for value in (*op.inputs, *op.outputs)]
    shapes = [meta and meta.shape for meta in metas]
    if len(shapes) != 2 or None in shapes or shapes[0] != shapes[1]:
        return False
    if op.name == "interpolate":
        return op.attrs.get("scale_factor", op.attrs.get("2", "None")) == "None"
    return {*_NUMBER.findall(op.attrs.get("1") or op.attrs.get("pad", ""))} == {"0"}


def handed_on(graph: Graph, op: Op, is_all: bool) -> int | None:
    """Value whose data the op only gives another shape, type or place, or a part of; None if it does more."""
    if not op.inputs or op.mutates:
        return op.inputs[0] if op.inputs and not is_all and _changes_nothing(op) else None
    other = op.attrs.get("1") or op.attrs.get("other", "")
    is_taken = len(op.inputs) == 1 and bool(_NUMBER.fullmatch(other) or _STRETCH.fullmatch(other))
    is_part = is_taken if op.name == "getitem" else op.name in PIECES or _changes_nothing(op)
    if is_part and not is_all:
        return op.inputs[0]
    if is_laid_out(graph, op) and not is_all:
        return None
    if op.name in SHAPING or (op.name == "getitem" and ALL_OF_IT.fullmatch(op.attrs.get("1", ""))):
        return op.inputs[0]
    if op.name not in ("cat", "concat") or len(op.outputs) != 1:
        return None
    full = [(value, graph.values[value].meta) for value in op.inputs if not _is_born_empty(graph, value)]
    joined = graph.values[op.outputs[0]].meta
    if len(full) != 1 or joined is None or full[0][1] is None:
        return None
    # joining with nothing leaves the tensor as it was, unless the same tensor is joined with itself
    return full[0][0] if full[0][1].shape == joined.shape else None


def _shuffling(graph: Graph, functions: Iterable[Sequence[int]], handed: Sequence[int | None]) -> Iterator[int]:
    """Ops that exchange axes in functions that do nothing else and keep the shape: only the order of elements changes.

    As an edge such a channel shuffle would not be seen, since no size tells of it.
    """
    for ops in functions:
        if any(handed[op] is None for op in ops):
            continue
        rows = [graph.ops[op] for op in ops]
        ends = [graph.values[value].shape for row in rows for value in (row.inputs[0], row.outputs[0])]
        without = [[size for size in shape if size != 1] for shape in ends]
        turning = [i for i, row in enumerate(rows) if row.name in EXCHANGES and without[2 * i] != without[2 * i + 1]]
        if len(turning) == 1 and ends[0] == ends[-1]:
            yield rows[turning[0]].id


def _put_together(graph: Graph) -> Iterator[tuple[int, int | None]]:
    """Ops that put stretches of a tensor together in another order, with the tensor that they hand on.

    If the stretches are not all of it, they are drawn: then they come, with None.
    """
    cut = {op.outputs[0]: op for op in graph.ops if op.name == "getitem" and len(op.inputs) == 1 and op.outputs}
    for op in graph.ops:
        joined = [value for value in op.inputs if 0 not in graph.values[value].shape] if op.name in JOINS else []
        pieces = [cut[value] for value in joined if value in cut]
        sources = {piece.inputs[0] for piece in pieces}
        if len(pieces) > len(sources):
            source = pieces[0].inputs[0]
            is_all = len(pieces) == len(joined) and len(sources) == 1
            if is_all and graph.values[source].shape == graph.values[op.outputs[0]].shape:
                yield op.id, source
            else:
                yield from ((piece.id, None) for piece in pieces)


def _changes_nothing(op: Op) -> bool:
    """Whether a tensor stays as it is, or is moved to a device with `x.data = x.data.to(device)`."""
    if op.name == "set_data":
        return len(op.inputs) == 1
    name, other = op.name.removesuffix("_"), op.attrs.get("1") or op.attrs.get("other", "")
    is_turned = is_reflected(op) and name in ("sub", "div")  # `1 / x`
    return len(op.inputs) == 1 and other in _UNCHANGED.get(name, ()) and not is_turned
