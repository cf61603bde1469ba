"""Which call, op and value of one forward is which of another, and what each reads.

The layers are matched already. What runs in a matched call is put side by side in order; a call whose layer has moved
is found through its layer. Changes of shape are looked through, as they are in a picture. What is left is what changed
in the forwards: ops, their order, and what reads what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import takewhile
from typing import NamedTuple

from torchrecorder.comparison.changes import Change, counted
from torchrecorder.comparison.layers import LONGEST, UNSEEN, Layer, Matching, aligned
from torchrecorder.errors import listed
from torchrecorder.graph import Graph, Op
from torchrecorder.labels.names import clean
from torchrecorder.labels.op_words import op_label
from torchrecorder.labels.operands import Names
from torchrecorder.view.model import Mark
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import CREATING, PIECES, SHAPING, SUMS, WEIGHTED
from torchrecorder.view.tree import CallTree, Item, call_tree

_CALL, _OP, _SHAPING = 3.0, 1.0, 0.1
"""What it is worth that two of them stand side by side."""


class Forward:
    def __init__(self, graph: Graph, other: Graph) -> None:
        self.graph = graph
        self.shared = {frame.name for frame in other.frames}
        """Names of functions that ran in the forward of the other model."""
        self.tree: CallTree = call_tree(graph)
        self.names = Names(graph)
        self.other: dict[Item, Item] = {}
        """Its calls and ops with what they are in the other Graph, as far as they are there."""

    def origin(self, value: int) -> int:
        """The value that was given its shape, type or place by ops that do nothing else."""
        ops, values = self.graph.ops, self.graph.values
        while (made_by := values[value].producer) is not None and is_shaping(self.graph, made_by):
            value = ops[made_by].inputs[0]
        return value

    def data(self, values: Iterable[int]) -> set[int]:
        """The origins of values that are computed or come in; not weights and constants."""
        rows = self.graph.values
        return {at for value in values if rows[at := self.origin(value)].kind in ("input", "op")}

    def reads(self, item: Item) -> set[int]:
        """The origins of what a call or an op reads from outside of it."""
        return self._of_calls[item.id] if item.is_call else self.data(self.graph.ops[item.id].inputs)

    @cached_property
    def _of_calls(self) -> list[set[int]]:
        found: list[set[int]] = [set() for _ in self.graph.calls]
        for op in self.graph.ops:
            for value in self.data(op.inputs):
                producer = self.graph.values[value].producer
                within = -1 if producer is None else self.graph.ops[producer].call
                for call in self.graph.around(op.call):
                    if call.id <= within < self.tree.end[call.id]:
                        break
                    found[call.id].add(value)
        return found

    def giver(self, value: int, call: int) -> Item | None:
        """The giver of a value that is read in a call: an op, or a call that ended before; None for an input."""
        producer = self.graph.values[value].producer
        if producer is None:
            return None
        at = self.graph.ops[producer].call
        if at <= call < self.tree.end[at]:
            return Item(False, producer)
        while (parent := self.graph.calls[at].parent) is not None and not parent <= call < self.tree.end[parent]:
            at = parent
        return Item(True, at)


def is_shaping(graph: Graph, op: int) -> bool:
    """Whether an op gives the data of its first input only another shape, type or place."""
    row = graph.ops[op]
    return bool(row.inputs) and not row.mutates and (row.kind == "pass" or row.name in SHAPING)


class Flow:
    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        old, new = matching.old_graph, matching.new_graph
        self.old, self.new = Forward(old, new), Forward(new, old)
        self.new_value: dict[int, int] = {}
        self.out_of_order: set[Item] = set()
        """Calls of the new Graph that the old one made elsewhere, or in another order."""
        self._match_calls(*self._roots())
        self._match_calls_elsewhere()
        self._match_values()

    def known(self, value: int) -> int | None:
        """The origin in the new Graph of an origin in the old one; None if nothing gives it any more."""
        found = self.new_value.get(value)
        return None if found is None else self.new.origin(found)

    def _roots(self) -> Iterator[Item]:
        """The calls of the two models, or of the layer that one of them is in the other now."""
        inner = self.matching.old_of.get(self.matching.new), self.matching.new_of.get(self.matching.old)
        for forward, layer in zip((self.old, self.new), inner, strict=True):
            path = "" if layer is None else layer.path
            yield Item(True, next(row.id for row in forward.graph.calls if row.module == path))

    def _match_calls(self, old: Item, new: Item) -> None:
        pending = [(old, new)]
        while pending:
            one, other = pending.pop()
            self._pair(one, other)
            ones = [it for it in self.old.tree.items[one.id] if not (it.is_call and it in self.old.other)]
            others = [it for it in self.new.tree.items[other.id] if not (it.is_call and it in self.new.other)]
            keys, other_keys = [self._key(self.old, it) for it in ones], [self._key(self.new, it) for it in others]
            for i, j in aligned(keys, other_keys, partial(_fit, keys, other_keys)):
                if ones[i].is_call:
                    pending.append((ones[i], others[j]))
                else:
                    self._pair(ones[i], others[j])

    def _pair(self, old: Item, new: Item) -> None:
        self.old.other[old], self.new.other[new] = new, old

    def _key(self, forward: Forward, item: Item) -> tuple[str, str]:
        """The name of an item in the new Graph."""
        if not item.is_call:
            return "op", plain(forward.graph.ops[item.id].name)
        call = forward.graph.calls[item.id]
        if call.kind == "function" or forward is self.new:
            return "function" if call.kind == "function" else "call", call.module
        layer = self.matching.new_of.get(self.matching.by_path[0][call.module])
        return ("call", layer.path) if layer is not None else ("gone", call.module)

    def _match_calls_elsewhere(self) -> None:
        made: dict[str, list[Item]] = {}
        for call in self.new.graph.calls:
            if call.kind == "module" and (item := Item(True, call.id)) not in self.new.other:
                made.setdefault(call.module, []).append(item)
        for call in self.old.graph.calls:
            item = Item(True, call.id)
            sort, path = self._key(self.old, item)
            if sort == "call" and item not in self.old.other:
                left = next((other for other in made.get(path, ()) if other not in self.new.other), None)
                if left is not None:
                    self.out_of_order.add(left)
                    self._match_calls(item, left)

    def _match_values(self) -> None:
        old, new = self.old.graph, self.new.graph
        others = {path: value for path, value in new.inputs.items() if path not in old.inputs}
        rest = [value for path, value in old.inputs.items() if path not in new.inputs]
        for path, value in old.inputs.items():
            if path in new.inputs:
                self.new_value[value] = new.inputs[path]
        if len(rest) == len(others):
            self.new_value.update(zip(rest, others.values(), strict=True))
        for one, other in self.old.other.items():
            if not one.is_call:
                self.new_value.update(zip(old.ops[one.id].outputs, new.ops[other.id].outputs, strict=False))
        for one, other in self.old.other.items():
            if not one.is_call:
                continue
            given, now = old.calls[one.id].outputs, new.calls[other.id].outputs
            by_path = {path: (given[path], now[path]) for path in given if path in now}
            for value, found in by_path.values() if by_path else zip(given.values(), now.values(), strict=False):
                self.new_value.setdefault(value, found)
                self.new_value.setdefault(self.old.origin(value), self.new.origin(found))


def _fit(keys: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], i: int, j: int) -> float:
    if keys[i] != others[j]:
        return 0.0
    sort, name = keys[i]
    return _CALL if sort != "op" else _SHAPING if name in SHAPING else _OP


def items_of(forward: Forward, call: int) -> Iterator[Item]:
    """Items that run directly in a call, but changes of shape."""
    return (it for it in forward.tree.items[call] if it.is_call or not is_shaping(forward.graph, it.id))


_FOLLOWING = WEIGHTED | PIECES | CREATING | {"getitem", "pad"}
"""Ops whose arguments follow from the shapes of what they read."""
_LISTED = 3  # ops that a change names; of more it says how many


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
        """The sources, in the new Graph, that it no longer reads and reads now, if nothing new or gone explains it."""
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
        for source in sorted(sources, key=lambda it: (it.giver or (2, 0), str(it.value), it.path)):
            if source.giver is not None:
                words.append(self._item(self.new, source.giver))
                continue
            inputs = self.new.graph.calls[call].inputs if call else self.new.graph.inputs
            names = [path for path, at in inputs.items() if self.new.origin(at) == source.value and path]
            words.append(f"the input {names[0]}" if names else "a value from outside")
        return ", ".join(dict.fromkeys(words))

    def _item(self, forward: Forward, item: Item) -> str:
        if not item.is_call:
            return _op_name(forward.names, forward.graph.ops[item.id])
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
        gaps = {it: self._gap(self.new, new, it) for it in come}
        removed: list[Item] = []
        for it in gone:
            before, is_known = self._gap(self.old, old, it), _is_known(self.old, it)
            instead = next((one for one in come if gaps[one] == before and is_known), None)
            if instead is None or not _is_known(self.new, instead):
                removed.append(it)
                continue
            come.remove(instead)
            yield "changed", f"{self._what(self.old, it, old)} → {self._what(self.new, instead, new)}"
        yield from _together("removed", self._names(self.old, removed, old))
        yield from _together("added", self._names(self.new, come, new))
        for item in items_of(self.new, new):
            if not item.is_call and (found := self.new.other.get(item)) is not None:
                one, other = self.old.graph.ops[found.id], self.new.graph.ops[item.id]
                if plain(one.name) not in _FOLLOWING and _settings(one) != _settings(other):
                    yield "changed", f"{_call_text(one)} → {_call_text(other)}"

    def _what(self, forward: Forward, item: Item, call: int) -> str:
        """A reader's name for an op: a residual connection that it closes, or a function of one model, or its own."""
        op = forward.graph.ops[item.id]
        if op.frame is not None:
            name = f"{forward.graph.frames[op.frame].name.rpartition('.')[2]}()"
            return f"{_op_name(forward.names, op)} in {name}" if _is_known(forward, item) else name
        skip = self._skipped(forward, item, call)
        return f"residual connection around {skip}" if skip else _op_name(forward.names, op)

    def _names(self, forward: Forward, items: Sequence[Item], call: int) -> list[str]:
        """Names of ops; a function of one model only is named once for each time that it ran."""
        names: dict[Item | int | None, str] = {}
        for item in items:
            one = item if _is_known(forward, item) else forward.graph.ops[item.id].frame
            names.setdefault(one, self._what(forward, item, call))
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


def _is_known(forward: Forward, item: Item) -> bool:
    """Whether it runs in the forward itself, or in a function that both models have."""
    frame = forward.graph.ops[item.id].frame
    return frame is None or forward.graph.frames[frame].name in forward.shared


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


def _op_name(names: Names, op: Op) -> str:
    label = op_label(names, op)
    return label.name if label.is_sign or not label.name.isidentifier() else f"{label.name}()"


def _settings(op: Op) -> list[str]:
    return [value for name, value in op.attrs.items() if name not in UNSEEN]


def _call_text(op: Op) -> str:
    words = [value if name.isdigit() else f"{name}={value}" for name, value in op.attrs.items() if name not in UNSEEN]
    text = ", ".join(words)
    return f"{plain(op.name)}({clean(text, LONGEST)})"
