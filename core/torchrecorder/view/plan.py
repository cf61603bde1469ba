"""Choosing the boxes and nodes of a View: which calls are boxes or nodes, which are not drawn, and which are folded.

Readers do not want to see changes of shape, copies and modules that do nothing. Such ops hand on the data of one
argument; a picture draws the edge as if they were not there, and the shape at its head shows what they did. They are
contracted only outside of layers: an `nn.Flatten` is a layer that the author put into the model, so it stays.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from torchrecorder.errors import OptionError
from torchrecorder.graph.model import Graph, Op
from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Box, Node, ViewOptions
from torchrecorder.view.op_families import DROPOUTS, PIECES, POINTWISE, SHAPING
from torchrecorder.view.repeats import Repeats, Run, going_round
from torchrecorder.view.tree import Item, call_tree

State = Literal["box", "node", "gone", "open"]
"""`open`: what is in it is drawn, without a box around it."""
_NUMBER = re.compile(r"-?\d+")
_ALL_OF_IT = re.compile(r"\(?(\s*(None|\.\.\.|0?:)\s*,?)+\)?")
"""An index that takes everything, perhaps with new axes: `(..., None)`, `(:, 0:)`."""


class Visibility:
    """What the options say of the calls and ops of a Graph, for views of every depth."""

    def __init__(self, graph: Graph, options: ViewOptions) -> None:
        self.graph, self.options = graph, options
        self.tree = tree = call_tree(graph)
        self.facts = Facts(tree)
        self.root = _focused(graph, options.focus)
        """The call that is shown."""
        self.repeats = Repeats(tree) if options.fold else None
        is_all = options.depth == "all"
        self.handed = [_handed_on(graph, op, is_all) if options.contract else None for op in graph.ops]
        """For each op the value whose data it only gives another shape, type or place; None if it is a node."""
        self.atomic = [self._is_atomic(call) for call in range(len(graph.calls))]
        """For each call whether it is one node at every depth."""
        others = (op for op in graph.ops if op.name.removesuffix("_") not in POINTWISE)
        leaves = {c.id for c in graph.calls if tree.module(c.id) is not None and not tree.children[c.id]}
        written_out = leaves - {op.call for op in others if self.handed[op.id] is None}
        self.formulas = written_out if options.depth != "all" else set()
        """Activations and normalisations that the user has written as a formula. Torch's `RMSNorm` is one node; one
        that is written with five ops should not look like more."""
        self.asked = frozenset(self.matching(options.expand))
        """The calls that a reader asked to see inside."""
        self.opened: set[int] = set()
        """Those, and all around them."""
        for call in self.asked:
            at: int | None = call
            while at is not None and at not in self.opened:
                self.opened.add(at)
                at = graph.calls[at].parent
        self.collapsed = frozenset(self.matching(options.collapse))

    @cached_property
    def max_depth(self) -> int:
        level = self.tree.level
        calls = range(self.root, self.tree.end[self.root])
        is_closed = self.formulas - {self.root}
        deepest = [level[call] + 1 for call in calls if not self.atomic[call] and call not in is_closed]
        return max(deepest, default=level[self.root]) - level[self.root]

    def states(self, depth: int) -> list[State]:
        """How each call is drawn if every call around it is a box and `depth` levels of calls are."""
        limit = depth + self.tree.level[self.root]
        found: list[State] = ["node"] * len(self.graph.calls)
        for call in range(len(found) - 1, -1, -1):
            is_shut = call in self.formulas and call != self.root
            is_box = (self.tree.level[call] < limit and not is_shut) or call in self.opened
            if call != self.root and self._is_gone(call, found):
                found[call] = "gone"
            elif is_box and call not in self.collapsed and not self.atomic[call]:
                found[call] = "box"
        return found

    def matching(self, patterns: Iterable[str]) -> list[int]:
        """The calls of modules whose path matches one of the patterns.

        In a pattern `*` stands for anything without a dot and `**` for anything.
        """
        signs = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
        parts = [re.split(r"(\*\*|\*|\?)", pattern) for pattern in patterns]
        regexes = [re.compile("".join(signs.get(part) or re.escape(part) for part in pattern)) for pattern in parts]
        rows = self.graph.calls if regexes else ()
        return [r.id for r in rows if r.kind == "module" and any(regex.fullmatch(r.module) for regex in regexes)]

    def _is_atomic(self, call: int) -> bool:
        """Whether a call is one node in every view.

        True for custom autograd functions, for calls of torch's own modules that call no other module (the leaf
        view), and for calls that hold one op at most: a box around a single op says nothing that a node does not.

        The root is opened for a single op too, since it is what the reader asked to see.
        """
        module = self.tree.module(call)
        if module is None:
            return True
        if any(self.tree.n_ops[child] or not self.graph.calls[child].ok for child in self.tree.children[call]):
            return False
        if self.graph.info.recorder == "classic":  # whose pictures show the ops inside every layer
            return False
        ops = [item.id for item in self.tree.items[call] if not item.is_call]
        return module.native or sum(self.handed[op] is None for op in ops) < (1 if call == self.root else 2)

    def can_open(self, call: int) -> bool:
        """Whether there is something to see in a call that is shown alone."""
        return bool(self.tree.n_ops[call]) and not self.atomic[call] and call not in self.collapsed

    def is_block(self, call: int) -> bool:
        """Whether a closed layer may be opened."""
        return not self.atomic[call] and call not in self.formulas and call not in self.collapsed

    def _is_gone(self, call: int, found: Sequence[State]) -> bool:
        if not self.graph.calls[call].ok:
            return False
        if not self.tree.n_ops[call]:
            return True
        module = self.tree.module(call)
        if self.options.contract and module is not None and module.native and not self.tree.children[call]:
            # it gives back its argument: an `Identity`, or a dropout of nothing
            cls, is_nothing = module.cls.rpartition(".")[2], module.extra_repr.startswith(("p=0.0,", "p=0,"))
            if cls == "Identity" or (cls in DROPOUTS and is_nothing):
                return True
        first = self.graph.ops[self.tree.first_op[call]]
        is_handed_on = self.options.contract and self.options.depth != "all" and first.kind == "pass"
        if is_handed_on and self.tree.n_ops[call] == 1 and call != self.root:
            return True
        return all(item.is_call and found[item.id] == "gone" for item in self.tree.items[call])


def _focused(graph: Graph, focus: str) -> int:
    if not focus:
        return 0
    found = next((row.id for row in graph.calls if row.module == focus and row.kind == "module"), None)
    if found is None:
        near = difflib.get_close_matches(focus, [*dict.fromkeys(row.module for row in graph.calls)], n=2)
        advice = f"; did you mean {' or '.join(near)}?" if near else ""
        raise OptionError(problems=(f"focus: no layer {focus!r} was called{advice}",))
    return found


def _handed_on(graph: Graph, op: Op, is_all: bool) -> int | None:
    """The value whose data the op only gives another shape, type or place, or a part of; None if it does more."""
    if not op.inputs or op.mutates:
        return None
    if not is_all and _is_part(op):
        return op.inputs[0]
    if op.name in SHAPING or (op.name == "getitem" and _ALL_OF_IT.fullmatch(op.attrs.get("1", ""))):
        return op.inputs[0]
    if op.name not in ("cat", "concat") or len(op.outputs) != 1:
        return None
    metas = [(value, graph.values[value].meta) for value in op.inputs]
    full = [(value, meta) for value, meta in metas if meta is None or 0 not in meta.shape]
    joined = graph.values[op.outputs[0]].meta
    if len(full) != 1 or joined is None or full[0][1] is None:
        return None
    # joining with nothing leaves the tensor as it was, unless the same tensor is joined with itself
    return full[0][0] if full[0][1].shape == joined.shape else None


def _is_part(op: Op) -> bool:
    """Whether it gives pieces of a tensor, one element of its first axis, or the tensor times one."""
    other = op.attrs.get("1") or op.attrs.get("other", "")
    if op.name == "getitem":
        return len(op.inputs) == 1 and bool(_NUMBER.fullmatch(other))
    is_number_one = op.name in ("mul", "div", "mul_", "div_") and len(op.inputs) == 1 and other in ("1", "1.0")
    return op.name in PIECES or is_number_one


@dataclass(frozen=True, slots=True)
class Gap:
    calls: tuple[int, ...]
    ops: tuple[int, ...]


BoxItem = tuple[int, ...] | Run | Gap
"""What stands in a box: an op, by its id and those of its repeats in a loop, calls, or a stretch of both."""


class Plan:
    """The boxes and nodes of the calls and ops, and what each op of the Graph became."""

    def __init__(
        self,
        visible: Visibility,
        states: list[State],
        *,
        root: int | None = None,
        runs: Mapping[int, Sequence[int]] | None = None,
        item_limit: int = 0,
    ) -> None:
        """A plan of one call.

        Args:
            visible: What the options say.
            states: How each call is drawn.
            root: The call, in place of the one that the options name.
            runs: By its first call what is one box; if given, no other series is one.
            item_limit: How many things are drawn one by one in a box; 0 for all.
        """
        self.visible, self.tree = visible, visible.tree
        self.root = visible.root if root is None else root
        self._given, self._item_limit = runs, item_limit
        self._repeats = {call for run in (runs or {}).values() for call in run[1:]}
        self.states = states
        """How each call is drawn; those in a gap are nodes."""
        self.again: dict[int, int] = {}
        """For each call of a given run that is a box, but for the first, the first."""
        self.boxes: list[Box] = []
        self.nodes: list[Node] = []
        self.node_of_call: dict[int, int] = {}
        self.node_of_op: dict[int, int] = {}
        self.run_head: dict[int, int] = {}
        """For each call of a run the one that is drawn for it."""
        self.turns: dict[int, dict[int, int]] = {}
        """For each call in runs how often each of the runs, by its number, had come round before."""
        self.things: list[Box | Node] = []
        """By the number of a run what it is drawn as."""
        pending = [self._place(Run((self.root,)), None)]
        while pending:  # without recursion, because calls may nest deeply
            box, items = pending[-1]
            item = next(items, None)
            if item is None:
                pending.pop()
            else:
                pending.append(self._place(item, box))

    def _place(self, item: BoxItem, parent: int | None) -> tuple[int | None, Iterator[BoxItem]]:
        id_ = len(self.nodes)
        if isinstance(item, Run):
            if item.period > 1 or self.states[item.calls[0]] == "box":
                box = Box(len(self.boxes), parent, item.calls, item.period, item.repetition, item.differs)
                self.boxes.append(box)
                self._remember(item, box)
                return box.id, iter(self._inside(item))
            node = Node(id_, "call", parent, item.calls, repetition=item.repetition, differs=item.differs)
            self.nodes.append(node)
            self._remember(item, node)
            self.node_of_call.update(dict.fromkeys(item.calls, id_))
        elif isinstance(item, Gap):
            self.nodes.append(Node(id_, "gap", parent, item.calls, size=len(item.calls) + len(item.ops)))
            for call in item.calls:
                self.states[call] = "node"
                self.node_of_call[call] = id_
            self.node_of_op.update(dict.fromkeys(item.ops, id_))
        else:
            again = item if item[1:] else ()
            self.nodes.append(Node(id_, "op", parent, op=item[0], ops=again, repetition="loop" if again else "series"))
            self.node_of_op.update(dict.fromkeys(item, id_))
        return parent, iter(())

    def _remember(self, run: Run, thing: Box | Node) -> None:
        if len(run.calls) == 1:
            return
        if isinstance(thing, Box) and self._given is not None:
            self.again.update(dict.fromkeys(run.calls[1:], run.calls[0]))
        for i, call in enumerate(run.calls):
            if isinstance(thing, Box) and self._given is None:
                self.run_head[call] = run.calls[i % run.period]
            self.turns.setdefault(call, {})[len(self.things)] = i // run.period
        self.things.append(thing)

    def _inside(self, run: Run) -> list[BoxItem]:
        repeats = self.visible.repeats
        if run.period > 1:
            turn = run.calls[: run.period]
            return [Run(one.calls) for one in repeats.runs(turn)] if repeats else [Run((call,)) for call in turn]
        call, rows = run.calls[0], self.tree.graph.calls
        items = [*self._items(call)]
        without_ops = (child for child in self.tree.children[call] if not self.tree.n_ops[child])
        items += [Item(True, child) for child in without_ops if not rows[child].ok]
        found = [*self._as_drawn(items)]
        if not self._item_limit or call in self.visible.asked:
            return found
        return [*self._with_gap(found)]

    def _items(self, call: int) -> Iterator[Item]:
        """What is drawn in a box, in order; for a call that is `open` what is in it."""
        pending = [*reversed(self.tree.items[call])]
        while pending:
            item = pending.pop()
            if not item.is_call:
                if self.visible.handed[item.id] is None:
                    yield item
            elif self.states[item.id] == "open":
                pending.extend(reversed(self.tree.items[item.id]))
            elif self.states[item.id] != "gone" and item.id not in self._repeats:
                yield item

    def _as_drawn(self, items: Sequence[Item]) -> Iterator[BoxItem]:
        """The calls and ops in their order, what repeats as one thing where it begins."""
        repeats = self.visible.repeats
        if repeats is None:
            yield from (Run((item.id,)) if item.is_call else (item.id,) for item in items)
            return
        given = {call: Run(tuple(run)) for call, run in (self._given or {}).items()}
        shared = repeats.shared([item.id for item in items if item.is_call], self._layout)
        times = {len(run.calls) for run in shared.values()}
        shared |= given
        round_ = going_round(self.tree.graph, [item.id for item in items if not item.is_call], times)
        for (is_call, run), stretch in groupby(items, key=lambda it: (it.is_call, it.is_call and shared.get(it.id))):
            ids = [item.id for item in stretch]
            if isinstance(run, Run):
                if run.calls[0] == ids[0]:
                    yield run
            elif is_call:
                is_all = self._given is None
                yield from repeats.runs(ids, self._drawn, lambda call: self.states[call] == "node", series=is_all)
            else:
                yield from (round_.get(op, (op,)) for op in ids if round_.get(op, (op,))[0] == op)

    def _drawn(self, call: int) -> object:
        """What equal calls must have in common to be drawn as one."""
        handed = self.visible.handed
        ops = [handed[op] is None for op in self.tree.ops_of(call)] if self.states[call] == "box" else []
        return tuple(self.states[call : self.tree.end[call]]), tuple(ops)

    def _layout(self, call: int) -> object:
        """What calls of one module must have in common to be drawn as one: nothing for a closed layer."""
        if self.states[call] != "box":
            return self.tree.graph.calls[call].ok
        if not self.tree.is_solid(call):
            return call
        ops = self.tree.graph.ops
        return self._drawn(call), tuple((ops[op].name, ops[op].call - call) for op in self.tree.ops_of(call))

    def _with_gap(self, items: Sequence[BoxItem]) -> Iterator[BoxItem]:
        """The first and the last of the items, and what must be seen of those between."""
        first = self._item_limit // 2
        last = len(items) - (self._item_limit - first)
        rows, hidden = self.tree.graph.calls, list[BoxItem]()
        for position, item in enumerate(items):
            calls = item.calls if isinstance(item, Run) else ()
            must_be_seen = any(call in self.visible.opened or not rows[call].ok for call in calls)
            if first <= position < last and not must_be_seen:
                hidden.append(item)
                continue
            yield from _as_gap(hidden)
            hidden = []
            yield item
        yield from _as_gap(hidden)


def _as_gap(items: list[BoxItem]) -> list[BoxItem]:
    if len(items) < 2:
        return items
    calls = tuple(call for item in items if isinstance(item, Run) for call in item.calls)
    return [Gap(calls, tuple(op for item in items if isinstance(item, tuple) for op in item))]
