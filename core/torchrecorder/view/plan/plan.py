"""Choosing the boxes and nodes of a View: what stands in each box, and what of it is drawn once for many."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from torchrecorder.view.model import Box, Node
from torchrecorder.view.plan.loops import Turns, modules_again, with_turns
from torchrecorder.view.plan.repeats import Run, place, place_of_frame
from torchrecorder.view.plan.visibility import State, Visibility
from torchrecorder.view.tree import Item


@dataclass(frozen=True, slots=True)
class Gap:
    calls: tuple[int, ...]
    ops: tuple[int, ...]


BoxItem = int | Run | Turns | Gap
"""What stands in a box: an op, by its id, calls, the turns of a loop, or a stretch of calls and ops."""


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
        """Make the plan of `root`, in place of the call that the options name.

        If `runs` are given, these alone are one box, by their first calls. With an `item_limit`, the things in the
        middle of a box that has more are a gap.
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
        self.loops: list[tuple[Turns, int]] = []
        """Each loop, the outer one before those in its turns, with its box."""
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
                again = item.calls, item.period, item.repetition, item.differs
                box = Box(len(self.boxes), parent, *again, around=item.period > 1)
                self.boxes.append(box)
                self._remember(item, box)
                return box.id, iter(self._inside(item))
            node = Node(id_, "call", parent, item.calls, repetition=item.repetition, differs=item.differs)
            self.nodes.append(node)
            self._remember(item, node)
            self.node_of_call.update(dict.fromkeys(item.calls, id_))
        elif isinstance(item, Turns):
            n, how = len(item.turns), item.repetition
            loop = Box(len(self.boxes), parent, item.calls, len(item.calls) // n, how, around=True, ops=item.ops)
            self.boxes.append(loop)
            self.loops.append((item, loop.id))
            return loop.id, iter([*self._as_drawn(item.turns[0])])
        elif isinstance(item, Gap):
            size = len(item.calls) + len(item.ops)
            self.nodes.append(Node(id_, "gap", parent, item.calls, ops=item.ops, size=size))
            for call in item.calls:
                self.states[call] = "node"
                self.node_of_call[call] = id_
            self.node_of_op.update(dict.fromkeys(item.ops, id_))
        else:
            self.nodes.append(Node(id_, "op", parent, op=item))
            self.node_of_op[item] = id_
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
            return [Run(part.calls) for part in repeats.runs(turn)] if repeats else [Run((call,)) for call in turn]
        call = run.calls[0]
        items = [*self._items(call)]
        without_ops = (child for child in self.tree.children[call] if not self.tree.n_ops[child])
        items += [Item(True, child) for child in without_ops if child in self.visible.failed]
        drawn = [*self._as_drawn(items)]
        if not self._item_limit or call in self.visible.asked:
            return drawn
        return [*self._with_gap(drawn)]

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
        repeats = self.visible.repeats
        if repeats is None:
            yield from (Run((item.id,)) if item.is_call else item.id for item in items)
            return
        given = {call: Run(tuple(run)) for call, run in (self._given or {}).items()}
        things = [*with_turns(self.tree, items, self._sign)]
        again = modules_again(self.tree, items)
        for is_plain, stretch in groupby(things, key=lambda thing: self._is_plain(thing, again, given)):
            if is_plain:
                calls = [item.id for item in stretch if isinstance(item, Item)]
                is_all = self._given is None
                yield from repeats.runs(calls, self._drawn, series=is_all)
                continue
            for item in stretch:
                if isinstance(item, Turns):
                    # a layer that is called again and again needs no box around it
                    yield item if len(item.turns[0]) > 1 else Run(item.calls, repetition=item.repetition)
                elif not item.is_call:
                    yield item.id
                else:
                    yield given.get(item.id, Run((item.id,)))

    def _is_plain(self, item: Item | Turns, again: Set[str], given: Mapping[int, Run]) -> bool:
        if isinstance(item, Turns) or not item.is_call or item.id in given:
            return False
        return self.tree.graph.calls[item.id].module not in again

    def _sign(self, item: Item) -> Hashable:
        """Key of a thing that another turn of a loop runs in its place."""
        graph = self.tree.graph
        if not item.is_call:
            op = graph.ops[item.id]
            return place(graph, op) if op.offset is not None else item.id
        row = graph.calls[item.id]
        if item.id in self.visible.facts.apart:
            return item.id
        return row.module, row.kind, row.source, self._layout(item.id), *place_of_frame(graph, row.frame)

    def _drawn(self, call: int) -> Hashable:
        """Key of equal calls that may be drawn as one."""
        handed = self.visible.handed
        ops = [handed[op] is None for op in self.tree.ops_of(call)] if self.states[call] == "box" else []
        return tuple(self.states[call : self.tree.end[call]]), tuple(ops)

    def _layout(self, call: int) -> Hashable:
        """Key of calls of one module that may be drawn as one: the same for all that are closed."""
        if self.states[call] != "box":
            return self.tree.graph.calls[call].ok
        if not self.tree.is_solid(call):
            return call
        ops = self.tree.graph.ops
        return self._drawn(call), tuple((ops[op].name, ops[op].call - call) for op in self.tree.ops_of(call))

    def _with_gap(self, items: Sequence[BoxItem]) -> Iterator[BoxItem]:
        first = self._item_limit // 2
        last = len(items) - (self._item_limit - first)
        rows, hidden = self.tree.graph.calls, list[BoxItem]()
        for position, item in enumerate(items):
            calls = item.calls if isinstance(item, Run | Turns) else ()
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
    calls, ops = list[int](), list[int]()
    for item in items:
        calls += item.calls if isinstance(item, Run | Turns) else ()
        ops += (item,) if isinstance(item, int) else item.ops if isinstance(item, Turns) else ()
    return [Gap(tuple(calls), tuple(ops))]
