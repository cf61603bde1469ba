"""What changed in the forwards of matched layers: ops, their order, and what reads what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from torchrecorder.comparison.changes import Change, counted
from torchrecorder.comparison.flow import Flow, Forward, items_of
from torchrecorder.comparison.layers import LONGEST, UNSEEN, Layer
from torchrecorder.errors import listed
from torchrecorder.graph import Graph, Op
from torchrecorder.labels.names import clean
from torchrecorder.labels.op_words import op_label
from torchrecorder.view.model import Mark
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import CREATING, PIECES, SUMS, WEIGHTED
from torchrecorder.view.tree import Item

_FOLLOWING = WEIGHTED | PIECES | CREATING | {"getitem", "pad"}
"""Ops whose arguments follow from the shapes of what they read."""
_LISTED = 3
"""Ops that a change names; of more it says how many."""


class _Source(NamedTuple):
    """A source of a value that is read: an op, a call with the path of its result, or a value from outside."""

    giver: Item | None
    path: str = ""
    value: int = -1


class WiringChanges:
    def __init__(self, flow: Flow) -> None:
        self.flow, self.matching = flow, flow.matching
        self.old, self.new = flow.old, flow.new
        self._explained: dict[int | None, set[_Source]] = {None: set()}
        """By call of the new Graph the values of which it is said, there or around it, that they are read or not."""

    def changes(self) -> Iterator[Change]:
        """The changes in all matched calls, an outer call before those in it."""
        seen: set[tuple[str, str]] = set()
        for item, was in sorted(self.new.other.items()):
            layer, before = (self._layer(forward, it) for forward, it in ((self.new, item), (self.old, was)))
            if layer is None or before is None or layer.is_leaf or before.is_leaf:
                continue
            for mark, text in self._of_call(was.id, item.id):
                if (layer.path, text) not in seen:  # of a layer that is called several times
                    seen.add((layer.path, text))
                    where = (layer.path,) if layer.path else ()
                    yield Change(mark, where, text, 0, self.matching.position[layer])

    def _layer(self, forward: Forward, item: Item) -> Layer | None:
        by_path = self.matching.by_path[forward is self.new]
        return by_path.get(forward.graph.calls[item.id].module) if item.is_call else None

    def _of_call(self, old: int, new: int) -> Iterator[tuple[Mark, str]]:
        yield from self._ops(old, new)
        around = self._explained.get(self.new.graph.calls[new].parent, set())
        explained = self._explained[new] = {*around}
        moved = [it for it in items_of(self.new, new) if it in self.flow.out_of_order]
        found = []
        for item in items_of(self.new, new):
            was = self.new.other.get(item)
            if was is None:
                continue
            lost, gained = self._differs(was, item, old, new)
            if lost or gained:
                explained |= lost | gained
                if item in moved and self.old.graph.calls[was.id].parent == old:
                    yield "moved", self._order(was, item, old, new)
                elif not lost | gained <= around:
                    found.append(self._reading(item, lost, gained, new))
        for text in found if not moved else ():
            yield "changed", text

    def _differs(self, was: Item, item: Item, old: int, new: int) -> tuple[set[_Source], set[_Source]]:
        """The sources, in the new Graph, that it no longer reads, and those that it reads now.

        There are none if something between that is new or gone explains it.
        """
        known = [self._known(value, old) for value in self.old.reads(was)]
        before, now = {*filter(None, known)}, {_source(self.new, value, new) for value in self.new.reads(item)}
        if None in known or any(it.giver and it.giver not in self.new.other for it in now - before):
            return set(), set()
        return before - now, now - before

    def _known(self, value: int, call: int) -> _Source | None:
        """A source of the old Graph in the new one; None if it is gone."""
        found = _source(self.old, value, call)
        if found.giver is not None:
            now = self.old.other.get(found.giver)
            return None if now is None else found._replace(giver=now)
        known = self.flow.known(value)
        return None if known is None else found._replace(value=known)

    def _reading(self, item: Item, lost: set[_Source], gained: set[_Source], call: int) -> str:
        name, reads, others = self._item(self.new, item), self._named(gained, call), self._named(lost, call)
        if reads == others:
            return f"{name} reads another result of {reads}"
        if reads and others:
            return f"{name} reads {reads} instead of {others}"
        return f"{name} also reads {reads}" if reads else f"{name} no longer reads {others}"

    def _named(self, sources: set[_Source], call: int) -> str:
        words = []
        for source in sorted(sources, key=_rank):
            if source.giver is not None:
                words.append(self._item(self.new, source.giver))
                continue
            inputs = self.new.graph.calls[call].inputs if call else self.new.graph.inputs
            names = [path for path, at in inputs.items() if self.new.origin(at) == source.value and path]
            words.append(f"the input {names[0]}" if names else "a value from outside")
        return ", ".join(dict.fromkeys(words))

    def _item(self, forward: Forward, item: Item) -> str:
        if not item.is_call:
            return _op_name(forward.graph, forward.graph.ops[item.id])
        layer = self._layer(forward, item)
        call = forward.graph.calls[item.id]
        if layer is not None and layer.name.isdigit():  # the list that it is in, as seen from what calls it
            return call.module.removeprefix(f"{forward.graph.calls[call.parent or 0].module}.")
        return call.module if layer is None else layer.name or layer.cls

    def _order(self, was: Item, item: Item, old: int, new: int) -> str:
        places = []
        for forward, one, call in ((self.new, item, new), (self.old, was, old)):
            before = [*takewhile(lambda it, one=one: it != one, items_of(forward, call))]  # type: ignore[misc]
            places.append(f"after {self._item(forward, before[-1])}" if before else "at the start")
        return f"{self._item(self.new, item)} runs {places[0]}, no longer {places[1]}"

    def _ops(self, old: int, new: int) -> Iterator[tuple[Mark, str]]:
        gone = [it for it in items_of(self.old, old) if not it.is_call and it not in self.old.other]
        come = [it for it in items_of(self.new, new) if not it.is_call and it not in self.new.other]
        others = {frame.name for frame in self.new.graph.frames}, {frame.name for frame in self.old.graph.frames}
        before, now = (
            {it: self._gap(self.old, old, it) for it in gone},
            {it: self._gap(self.new, new, it) for it in come},
        )
        removed: list[Item] = []
        for it in gone:
            is_known = self._is_known(self.old, it, others[0])
            instead = next((one for one in come if now[one] == before[it] and is_known), None)
            if instead is None or not self._is_known(self.new, instead, others[1]):
                removed.append(it)
                continue
            come.remove(instead)
            what = self._what(self.old, it, old, others[0])
            yield "changed", f"{what} → {self._what(self.new, instead, new, others[1])}"
        yield from _together("removed", self._names(self.old, removed, old, others[0]))
        yield from _together("added", self._names(self.new, come, new, others[1]))
        for item in items_of(self.new, new):
            if not item.is_call and (found := self.new.other.get(item)) is not None:
                one, other = self.old.graph.ops[found.id], self.new.graph.ops[item.id]
                if plain(one.name) not in _FOLLOWING and _settings(one) != _settings(other):
                    yield "changed", f"{_call_text(one)} → {_call_text(other)}"

    def _is_known(self, forward: Forward, item: Item, others: set[str]) -> bool:
        """Whether it runs in the forward itself, or in a function that both models have."""
        frame = forward.graph.ops[item.id].frame
        return frame is None or forward.graph.frames[frame].name in others

    def _what(self, forward: Forward, item: Item, call: int, others: set[str]) -> str:
        """A reader's name for an op: a residual connection that it closes, or a function of one model only.

        Else it is its name, perhaps with the function that both have.
        """
        op = forward.graph.ops[item.id]
        if op.frame is not None:
            name = f"{forward.graph.frames[op.frame].name.rpartition('.')[2]}()"
            return f"{_op_name(forward.graph, op)} in {name}" if self._is_known(forward, item, others) else name
        skip = self._skipped(forward, item, call)
        return f"residual connection around {skip}" if skip else _op_name(forward.graph, op)

    def _names(self, forward: Forward, items: Sequence[Item], call: int, others: set[str]) -> list[str]:
        """Names of ops; a function of one model only is named once for each time that it ran."""
        names: dict[Item | int | None, str] = {}
        for item in items:
            one = item if self._is_known(forward, item, others) else forward.graph.ops[item.id].frame
            names.setdefault(one, self._what(forward, item, call, others))
        return [*names.values()]

    def _gap(self, forward: Forward, call: int, item: Item) -> Item | None:
        """The matched item before an item, as of the new Graph; None if there is none."""
        before = None
        for other in takewhile(lambda it: it != item, items_of(forward, call)):
            if (known := forward.other.get(other)) is not None:
                before = other if forward is self.new else known
        return before

    def _skipped(self, forward: Forward, item: Item, call: int) -> str:
        """The layers that a sum leads past, if one side of it depends on the other: `attn`, `conv1 … bn2`."""
        op = forward.graph.ops[item.id]
        sources = sorted(forward.data(op.inputs))
        if plain(op.name) not in SUMS or len(sources) != 2:
            return ""
        first, last = sources
        passed: list[Item] = []
        reached = {first}
        graph = forward.graph
        for other in takewhile(lambda it: it != item, items_of(forward, call)):
            if reached & forward.reads(other):
                passed.append(other)
                outputs = graph.calls[other.id].outputs.values() if other.is_call else graph.ops[other.id].outputs
                reached |= {forward.origin(value) for value in outputs}
        if last not in reached:
            return ""
        names = [self._item(forward, it) for it in passed if it.is_call] or [self._item(forward, it) for it in passed]
        return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}" if names else ""


def _rank(source: _Source) -> tuple[int, str, str]:
    giver = source.giver
    return (2, str(source.value), "") if giver is None else (giver.is_call, str(giver.id), source.path)


def _source(forward: Forward, value: int, call: int) -> _Source:
    giver = forward.giver(value, call)
    if giver is None:
        return _Source(None, value=value)
    outputs = forward.graph.calls[giver.id].outputs if giver.is_call else {}
    return _Source(giver, next((path for path, at in outputs.items() if forward.origin(at) == value), ""))


def _together(mark: Mark, names: Sequence[str]) -> Iterator[tuple[Mark, str]]:
    """Few things one by one, many as one change; equal ones are counted."""
    names = counted(names)
    if len(names) > _LISTED:
        names = [listed(names, _LISTED, "more ops")]
    for name in names:
        yield mark, f"{name} {mark}"


def _op_name(graph: Graph, op: Op) -> str:
    label = op_label(graph, op)
    return label.name if label.is_sign or not label.name.isidentifier() else f"{label.name}()"


def _settings(op: Op) -> list[str]:
    return [value for name, value in op.attrs.items() if name not in UNSEEN]


def _call_text(op: Op) -> str:
    words = [value if name.isdigit() else f"{name}={value}" for name, value in op.attrs.items() if name not in UNSEEN]
    text = ", ".join(words)
    return f"{plain(op.name)}({clean(text, LONGEST)})"
