"""Choosing the boxes and nodes of a View: which calls and ops stand for themselves, and which for others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torchrecorder.graph.views.folding import Comparer
from torchrecorder.graph.views.model import Box, Node
from torchrecorder.graph.views.scopes import State
from torchrecorder.graph.views.tree import CallTree, Item


@dataclass(eq=False)
class Plan:
    """The boxes and nodes of the calls and ops, and what each op of the Graph became."""

    tree: CallTree
    states: Sequence[State]
    root: int
    handed: Sequence[int | None]
    """For each op the value it hands on; None if it is a node."""
    boxes: list[Box] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    node_of_call: dict[int, int] = field(default_factory=dict)
    node_of_op: dict[int, int] = field(default_factory=dict)
    run_head: dict[int, int] = field(default_factory=dict)
    """For each call of a run the first one of the run."""

    def is_visible(self, item: Item) -> bool:
        """Whether a thing directly in a box is drawn."""
        if item.is_call:
            return self.states[item.id] != "gone"
        return self.handed[item.id] is None


def make_plan(
    tree: CallTree,
    states: Sequence[State],
    comparer: Comparer | None,
    *,
    handed: Sequence[int | None],
    root: int = 0,
) -> Plan:
    """The boxes and nodes of a View.

    Args:
        tree: The nesting of the calls.
        states: How each call is drawn.
        comparer: Folds what is equal; None to fold nothing.
        handed: For each op the value it hands on; None if it is not contracted.
        root: The call that is shown.
    """
    plan = Plan(tree, states, root, handed)
    pending = [_place(plan, (root,), None, comparer)]
    while pending:
        box, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
        elif isinstance(entry, int):
            plan.node_of_op[entry] = len(plan.nodes)
            plan.nodes.append(Node(len(plan.nodes), "op", box, op=entry))
        else:
            pending.append(_place(plan, entry, box, comparer))
    return plan


_Entry = int | tuple[int, ...]
"""Id of an op, or the ids of the calls of a run."""


def _place(
    plan: Plan, calls: tuple[int, ...], parent: int | None, comparer: Comparer | None
) -> tuple[int | None, Iterator[_Entry]]:
    """Draws the calls as a box or a node; returns the box and what is in it."""
    if len(calls) > 1:
        plan.run_head.update(dict.fromkeys(calls, calls[0]))
    if plan.states[calls[0]] == "box":
        box = Box(len(plan.boxes), parent, calls)
        plan.boxes.append(box)
        return box.id, iter(_entries(plan, calls[0], comparer))
    plan.node_of_call[calls[0]] = len(plan.nodes)
    plan.nodes.append(Node(len(plan.nodes), "call", parent, calls))
    return parent, iter(())


def _entries(plan: Plan, call: int, comparer: Comparer | None) -> Iterator[_Entry]:
    items = [item for item in plan.tree.items[call] if plan.is_visible(item)]
    items += [Item(True, failed) for failed in _failed_without_ops(plan.tree, call)]
    at = 0
    while at < len(items):
        if not items[at].is_call:
            yield items[at].id
            at += 1
            continue
        stop = at
        while stop < len(items) and items[stop].is_call:
            stop += 1
        yield from _runs(plan, [item.id for item in items[at:stop]], comparer)
        at = stop


def _failed_without_ops(tree: CallTree, call: int) -> list[int]:
    rows = tree.graph.calls
    return [child for child in tree.children[call] if not rows[child].ok and not tree.n_ops[child]]


def _runs(plan: Plan, calls: list[int], comparer: Comparer | None) -> Iterator[tuple[int, ...]]:
    at = 0
    while at < len(calls):
        length = comparer.run(calls, at) if comparer else 1
        run = calls[at : at + length]
        length = next((i for i, call in enumerate(run) if not _drawn_alike(plan, run[0], call)), len(run))
        yield tuple(run[:length])
        at += length


def _drawn_alike(plan: Plan, a: int, b: int) -> bool:
    end = plan.tree.end
    return plan.states[a : end[a]] == plan.states[b : end[b]]
