"""Choosing the boxes and nodes of a View: which calls and ops stand for themselves, and which for others."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from torchrecorder.view.entries import Entry, Gap, Run, entries_of
from torchrecorder.view.folding import Comparer
from torchrecorder.view.model import Box, Node
from torchrecorder.view.scopes import State
from torchrecorder.view.tree import CallTree


@dataclass(frozen=True, slots=True)
class Choice:
    """What a plan follows."""

    states: list[State]
    """How each call is drawn."""
    comparer: Comparer | None
    """Folds what is equal; None to fold nothing."""
    handed: list[int | None]
    """For each op the value it hands on; None if it is a node."""
    root: int = 0
    """The call that is shown."""
    most: int = 0
    """How many things are drawn one by one in a box; 0 for all."""
    asked: Set[int] = frozenset()
    """The calls that a reader asked to see inside, which is drawn without a gap."""
    opened: Set[int] = frozenset()
    """Those, and all around them, which no gap takes in."""


@dataclass(eq=False)
class Plan:
    """The boxes and nodes of the calls and ops, and what each op of the Graph became."""

    tree: CallTree
    choice: Choice
    boxes: list[Box] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    node_of_call: dict[int, int] = field(default_factory=dict)
    node_of_op: dict[int, int] = field(default_factory=dict)
    run_head: dict[int, int] = field(default_factory=dict)
    """For each call of a run the one that is drawn for it."""
    turns: dict[int, dict[int, int]] = field(default_factory=dict)
    """For each call in runs how often each of the runs, by its number, had come round before."""
    n_runs: int = 0

    def __post_init__(self) -> None:
        self.states: list[State] = [*self.choice.states]
        self.handed, self.root = self.choice.handed, self.choice.root


def make_plan(tree: CallTree, choice: Choice) -> Plan:
    """The boxes and nodes of a View."""
    plan = Plan(tree, choice)
    pending = [_place(plan, Run((choice.root,)), None)]
    while pending:
        box, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
        else:
            pending.append(_place(plan, entry, box))
    return plan


def _place(plan: Plan, entry: Entry, parent: int | None) -> tuple[int | None, Iterator[Entry]]:
    """Draws an op, calls or a gap as a box or a node; returns the box and what is in it."""
    if isinstance(entry, int):
        plan.node_of_op[entry] = _add(plan, Node(len(plan.nodes), "op", parent, op=entry))
    elif isinstance(entry, Gap):
        _place_gap(plan, entry, parent)
    else:
        return _place_run(plan, entry, parent)
    return parent, iter(())


def _place_run(plan: Plan, run: Run, parent: int | None) -> tuple[int | None, Iterator[Entry]]:
    calls, period = run.calls, run.period
    first = calls[0]
    if len(calls) > 1:
        for i, call in enumerate(calls):
            plan.run_head[call] = calls[i % period]
            plan.turns.setdefault(call, {})[plan.n_runs] = i // period
        plan.n_runs += 1
    if period > 1:
        return _box(plan, run, parent), iter(entries_of(plan.tree, plan.choice, plan.states, calls[:period]))
    if plan.states[first] == "box":
        return _box(plan, run, parent), iter(entries_of(plan.tree, plan.choice, plan.states, first))
    plan.node_of_call[first] = _add(plan, Node(len(plan.nodes), "call", parent, calls))
    return parent, iter(())


def _place_gap(plan: Plan, gap: Gap, parent: int | None) -> None:
    node = _add(plan, Node(len(plan.nodes), "gap", parent, gap.calls, size=len(gap.calls) + len(gap.ops)))
    for call in gap.calls:
        plan.states[call] = "node"
        plan.node_of_call[call] = node
    plan.node_of_op.update(dict.fromkeys(gap.ops, node))


def _box(plan: Plan, run: Run, parent: int | None) -> int:
    plan.boxes.append(Box(len(plan.boxes), parent, run.calls, run.period))
    return len(plan.boxes) - 1


def _add(plan: Plan, node: Node) -> int:
    plan.nodes.append(node)
    return node.id
