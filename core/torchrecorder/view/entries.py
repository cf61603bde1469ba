"""What is directly in a box, in order: ops, calls that are one thing repeated, and gaps where there is too much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder.view.scopes import State
from torchrecorder.view.tree import CallTree, Item

if TYPE_CHECKING:
    from torchrecorder.view.plan import Choice


class Run(NamedTuple):
    """A call, or several that are the same again."""

    calls: tuple[int, ...]
    period: int = 1
    """How many kinds of calls take turns."""


class Gap(NamedTuple):
    """A stretch that is drawn as one node."""

    calls: tuple[int, ...]
    ops: tuple[int, ...]


Entry = int | Run | Gap
"""Id of an op, or calls, or a gap."""


def entries_of(tree: CallTree, choice: Choice, states: Sequence[State], inside: int | tuple[int, ...]) -> list[Entry]:
    """What is in the box of a call, or in that around calls that take turns."""
    if not isinstance(inside, int):
        return [*_once(tree, choice, states, [*inside])]
    items = [item for item in tree.items[inside] if _is_visible(choice, states, item)]
    items += [Item(True, failed) for failed in _failed_without_ops(tree, inside)]
    found: list[Entry] = []
    for calls, op in _stretches(items):
        found.extend(_runs(tree, choice, states, calls) if op is None else [op])
    return found if not choice.most or inside in choice.asked else [*_with_gap(tree, choice, found)]


def _is_visible(choice: Choice, states: Sequence[State], item: Item) -> bool:
    return states[item.id] != "gone" if item.is_call else choice.handed[item.id] is None


def _failed_without_ops(tree: CallTree, call: int) -> list[int]:
    rows = tree.graph.calls
    return [child for child in tree.children[call] if not rows[child].ok and not tree.n_ops[child]]


def _stretches(items: Sequence[Item]) -> Iterator[tuple[list[int], int | None]]:
    """Calls that follow one another, or one op."""
    calls: list[int] = []
    for item in items:
        if item.is_call:
            calls.append(item.id)
            continue
        if calls:
            yield calls, None
            calls = []
        yield [], item.id
    if calls:
        yield calls, None


def _runs(tree: CallTree, choice: Choice, states: Sequence[State], calls: list[int]) -> Iterator[Run]:
    at = 0
    while at < len(calls):
        length, period = choice.comparer.turns(calls, at) if choice.comparer else (1, 1)
        if length == 1:
            yield Run((calls[at],))
            at += 1
            continue
        run = calls[at : at + length]
        alike = next((i for i, call in enumerate(run) if not _alike(tree, states, run[i % period], call)), len(run))
        if alike < length and period > 1:
            run, period = run[:1], 1
        run = run[:alike]
        yield Run(tuple(run), period)
        at += len(run)


def _once(tree: CallTree, choice: Choice, states: Sequence[State], calls: list[int]) -> Iterator[Run]:
    """The calls of one turn, equal neighbours as one."""
    at = 0
    while at < len(calls):
        length = choice.comparer.run(calls, at) if choice.comparer else 1
        yield Run(tuple(calls[at : at + length]))
        at += length


def _alike(tree: CallTree, states: Sequence[State], a: int, b: int) -> bool:
    """Whether two equal calls are drawn in the same way."""
    return states[a : tree.end[a]] == states[b : tree.end[b]]


def _with_gap(tree: CallTree, choice: Choice, entries: list[Entry]) -> Iterator[Entry]:
    """The first and the last of the entries, and what must be seen of those between."""
    first = choice.most // 2
    last = len(entries) - (choice.most - first)
    hidden: list[Entry] = []
    for position, entry in enumerate(entries):
        if first <= position < last and not _must_be_seen(tree, choice, entry):
            hidden.append(entry)
            continue
        yield from _as_gap(hidden)
        hidden = []
        yield entry
    yield from _as_gap(hidden)


def _must_be_seen(tree: CallTree, choice: Choice, entry: Entry) -> bool:
    calls = entry.calls if isinstance(entry, Run) else ()
    return any(call in choice.opened or not tree.graph.calls[call].ok for call in calls)


def _as_gap(entries: list[Entry]) -> list[Entry]:
    if len(entries) < 2:
        return entries
    calls = tuple(call for entry in entries if isinstance(entry, Run) for call in entry.calls)
    return [Gap(calls, tuple(entry for entry in entries if isinstance(entry, int)))]
