"""Which call, op and value of one forward is which of another, and what each reads.

The layers are matched already. What runs in a matched call is put side by side in order; a call whose layer has moved
is found through its layer. Changes of shape are looked through, as they are in a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

from torchrecorder.comparison.matching import Matching, aligned
from torchrecorder.graph import Graph
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import SHAPING
from torchrecorder.view.tree import CallTree, Item, call_tree

_CALL, _OP, _SHAPING = 3.0, 1.0, 0.1
"""What it is worth that two of them stand side by side."""


class Forward:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tree: CallTree = call_tree(graph)
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
        self.old, self.new = Forward(matching.old_graph), Forward(matching.new_graph)
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
