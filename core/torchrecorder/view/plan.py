"""Choosing the boxes and nodes of a View: which calls and ops stand for themselves, and which for others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from torchrecorder.view.fold import in_runs
from torchrecorder.view.model import Box, Node
from torchrecorder.view.tree import Item
from torchrecorder.view.visible import State, Visibility


@dataclass(frozen=True, slots=True)
class Run:
    """A call, or several that are the same again."""

    calls: tuple[int, ...]
    period: int = 1
    """How many kinds of calls take turns."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch that is drawn as one node."""

    calls: tuple[int, ...]
    ops: tuple[int, ...]


BoxItem = int | Run | Gap
"""What stands in a box: an op, by its id, calls, or a stretch of both."""


class Plan:
    """The boxes and nodes of the calls and ops, and what each op of the Graph became.

    Args:
        visible: What the options say of calls and ops.
        depth: How many levels of calls are boxes.
        item_limit: How many things are drawn one by one in a box; 0 for all.
    """

    def __init__(self, visible: Visibility, depth: int, item_limit: int = 0) -> None:
        self.visible, self.tree, self.root = visible, visible.tree, visible.root
        self._item_limit = item_limit
        self.states: list[State] = visible.states(depth)
        """How each call is drawn; those in a gap are nodes."""
        self.boxes: list[Box] = []
        self.nodes: list[Node] = []
        self.node_of_call: dict[int, int] = {}
        self.node_of_op: dict[int, int] = {}
        self.run_head: dict[int, int] = {}
        """For each call of a run the one that is drawn for it."""
        self.turns: dict[int, dict[int, int]] = {}
        """For each call in runs how often each of the runs, by its number, had come round before."""
        self._n_runs = 0
        pending = [self._place(Run((self.root,)), None)]
        while pending:  # without recursion, because calls may nest deeply
            box, items = pending[-1]
            item = next(items, None)
            if item is None:
                pending.pop()
            else:
                pending.append(self._place(item, box))

    def _place(self, item: BoxItem, parent: int | None) -> tuple[int | None, Iterator[BoxItem]]:
        """Draws an op, calls or a gap as a box or a node; returns the box and what is in it."""
        id_ = len(self.nodes)
        if isinstance(item, Run):
            if len(item.calls) > 1:
                for i, call in enumerate(item.calls):
                    self.run_head[call] = item.calls[i % item.period]
                    self.turns.setdefault(call, {})[self._n_runs] = i // item.period
                self._n_runs += 1
            if item.period > 1 or self.states[item.calls[0]] == "box":
                self.boxes.append(Box(len(self.boxes), parent, item.calls, item.period))
                return self.boxes[-1].id, iter(self._inside(item))
            self.nodes.append(Node(id_, "call", parent, item.calls))
            self.node_of_call[item.calls[0]] = id_
        elif isinstance(item, Gap):
            self.nodes.append(Node(id_, "gap", parent, item.calls, size=len(item.calls) + len(item.ops)))
            for call in item.calls:
                self.states[call] = "node"
                self.node_of_call[call] = id_
            self.node_of_op.update(dict.fromkeys(item.ops, id_))
        else:
            self.nodes.append(Node(id_, "op", parent, op=item))
            self.node_of_op[item] = id_
        return parent, iter(())

    def _inside(self, run: Run) -> list[BoxItem]:
        """What is in the box of a call, or in that around calls that take turns."""
        if run.period > 1:
            return [Run(turn.calls) for turn in in_runs(self.visible.comparer, run.calls[: run.period])]
        call, rows = run.calls[0], self.tree.graph.calls
        handed, states = self.visible.handed, self.states
        items = [
            item
            for item in self.tree.items[call]
            if (states[item.id] != "gone" if item.is_call else handed[item.id] is None)
        ]
        without_ops = (child for child in self.tree.children[call] if not self.tree.n_ops[child])
        items += [Item(True, child) for child in without_ops if not rows[child].ok]
        found: list[BoxItem] = []
        for is_call, stretch in groupby(items, key=lambda item: item.is_call):
            ids = [item.id for item in stretch]
            found.extend(self._runs(ids) if is_call else ids)
        if not self._item_limit or call in self.visible.asked:
            return found
        return [*self._with_gap(found)]

    def _runs(self, calls: list[int]) -> Iterator[Run]:
        """Calls that follow one another, those that are the same again and drawn alike as one."""
        comparer, at = self.visible.comparer, 0
        while at < len(calls):
            length, period = comparer.turns(calls, at) if comparer else (1, 1)
            run = calls[at : at + length]
            drawn = [self.states[call : self.tree.end[call]] for call in run]
            alike = next((i for i in range(length) if drawn[i] != drawn[i % period]), length)
            if alike < length and period > 1:
                alike = period = 1
            yield Run(tuple(run[:alike]), period)
            at += alike

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
    return [Gap(calls, tuple(item for item in items if isinstance(item, int)))]
