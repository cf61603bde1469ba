"""Which calls are of one kind, and in what those of a kind differ.

Calls of a class are of one kind if they stand in one list, or if nearly the same layers are in them: Bottlenecks with
and without `downsample` are one kind, encoder and decoder of T5 are two. Sizes do not count. Within a kind, calls that
run the same ops in the same order have one structure.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import accumulate

from torchrecorder.graph.model import Op
from torchrecorder.view import tuning
from torchrecorder.view.entries import is_list
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.templates.words import NOTHING, Shown, Words

_NUMBER = re.compile(r"\d+")


class Kinds:
    def __init__(self, visible: Visibility) -> None:
        self.graph, self.tree, self.visible = visible.graph, visible.tree, visible
        self.places, self._gone = visible.places, visible.gone
        self._words = Words(visible, lambda: self.structure)
        self._classes: dict[str, list[tuple[set[str], set[Hashable], int]]] = {}
        """By class its kinds: the lists that hold them, what is in the first of them, their number."""
        self._known: dict[tuple[str, int, str], int] = {}
        self._n_kinds = 0
        self._joined: dict[int, int] = {}
        """By kind the one that it has become part of."""

    @cached_property
    def structure(self) -> list[int]:
        """By call a number that calls with the same classes, ops and wiring share."""
        numbers: dict[Hashable, int] = {}
        structure, rank, made = [0] * len(self.graph.calls), self._rank, self._made
        outside: list[list[int]] = [[] for _ in structure]
        """By call the places before it of what made that which is read in it; -1 for what the model gets."""
        for call in range(len(structure) - 1, -1, -1):
            module, row, first = self.tree.module(call), self.graph.calls[call], self._ranks(call).start
            inside: list[Hashable] = []
            is_aside = not self._ranks(call)
            for item in self.tree.items[call]:
                if item.is_call:
                    if is_aside or self._ranks(item.id):
                        inside.append((structure[item.id], *(max(at - first, -1) for at in outside[item.id])))
                    outside[call] += (at for at in outside[item.id] if at < first)
                elif not self.visible.contracted[item.id] and (is_aside or rank[item.id] < rank[item.id + 1]):
                    read = [made.get(value) for value in self.graph.ops[item.id].inputs]
                    inside.append(self._op(self.graph.ops[item.id], first))
                    outside[call] += (at for at in read if at is not None and at < first)
            inside = [] if self.tree.is_leaf(call) else inside
            key = row.module if module is None else module.cls, tuple(inside), row.ok
            structure[call] = numbers.setdefault(key, len(numbers))
        return structure

    @cached_property
    def of(self) -> list[int]:
        kinds = [self._kind(call) for call in range(len(self.graph.calls))]
        while not self._joined.keys().isdisjoint(kinds):
            kinds = [self._joined.get(kind, kind) for kind in kinds]
        return self._parted(kinds)

    @cached_property
    def models(self) -> dict[int, int]:
        """By kind the first call of those that show most, from which few words tell all others.

        Of several the one that gets most things: what another does of one thing may be of two in it.
        """
        aside, rows = self.visible.facts.aside, self.graph.calls
        n_got = [len({*row.inputs.values()} - aside) for row in rows]
        of_kind = self.members.items()
        return {kind: max(calls, key=lambda call: (self._amount[call], n_got[call])) for kind, calls in of_kind}

    @cached_property
    def _amount(self) -> list[float]:
        """By call how much runs in it; a little less if it reads a parameter or constant where others may get data."""
        aside, amount = self.visible.facts.aside, [0.0] * len(self.graph.calls)
        for op in self.graph.ops:
            n_fixed = sum(self.graph.values[value].kind == "param" or value in aside for value in op.inputs)
            amount[op.call] += (not self.visible.contracted[op.id]) - n_fixed / tuning.MAX_NODES
        for row in reversed(self.graph.calls):
            if row.parent is not None and row.id not in self._gone:
                amount[row.parent] += amount[row.id] + 1
        return amount

    @cached_property
    def members(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for call, kind in enumerate(self.of):
            members.setdefault(kind, []).append(call)
        return members

    def in_words(
        self, calls: Sequence[int], model: int, shown: Shown = NOTHING, *, is_series: bool = False
    ) -> list[str] | None:
        """Differences of calls from one that is drawn; as `Words.said`."""
        return self._words.said(calls, model, shown, is_series=is_series)

    @cached_property
    def _rank(self) -> list[int]:
        """By op how many before it make features, here or where their line runs again.

        Masks and positions are made by the first layer for all.
        """
        aside, ops = self.visible.facts.aside, self.graph.ops
        places = [(op.name, op.source, op.offset) for op in ops]
        has_data = [not op.outputs or not aside.issuperset(op.outputs) for op in ops]
        with_data = {place for place, has in zip(places, has_data, strict=True) if has}
        return [*accumulate((place in with_data for place in places), initial=0)]

    @cached_property
    def _made(self) -> dict[int, int]:
        """By value the rank of the op that made it; -1 for what the model gets, and none for what is aside."""
        rank, aside, rows = self._rank, self.visible.facts.aside, self.graph.values
        made = {row.id: rank[at] for row in rows if (at := row.producer) is not None and rank[at] < rank[at + 1]}
        return made | {row.id: -1 for row in rows if row.kind == "input" and row.id not in aside}

    def _ranks(self, call: int) -> range:
        """The ranks of the ops in a call; empty if they make no features."""
        if self.tree.first_op[call] < 0:
            return range(0)
        return range(self._rank[self.tree.first_op[call]], self._rank[self.tree.last_op[call] + 1])

    def _op(self, op: Op, first: int) -> Hashable:
        here, rows = self._rank[op.id], (self.graph.values[value] for value in op.inputs)
        made = ((self._made.get(row.id, -1), row) for row in rows)
        return op.name, tuple(row.kind == "param" if at < first else here - at for at, row in made)

    def _kind(self, call: int) -> int:
        cls, path = self.tree.cls(call), self.graph.calls[call].module
        around, _, last = path.rpartition(".")
        home = without_numbers(around) if last.isdigit() else ""
        cls = f"{cls} {home}" if is_list(cls) else cls  # entries of other lists may have the same layers
        key = (cls, self.structure[call], home)
        if key not in self._known:
            self._known[key] = self._like(cls, home, self._inside(call))
        return self._known[key]

    def _like(self, cls: str, home: str, inside: set[Hashable]) -> int:
        """The number of the kind that is alike or stands in the same list; where these are two kinds, they are one."""
        kinds = self._classes.setdefault(cls, [])
        shares = ((kind, len(inside & kind[1]) >= tuning.ALIKE * len(inside | kind[1])) for kind in kinds)
        alike = [kind for kind, is_alike in shares if is_alike or (home and home in kind[0])]
        if not alike:
            alike = [({home}, inside, self._n_kinds)]
            kinds += alike
            self._n_kinds += 1
        first, *others = alike
        first[0].add(home)
        for other in others:
            first[0].update(other[0])
            self._joined[other[2]] = first[2]
            kinds.remove(other)
        return first[2]

    def _parted(self, kinds: list[int]) -> list[int]:
        """The kinds with those apart that no few words tell from the call with the most ops."""
        structures: dict[int, dict[int, int]] = {}
        for call, kind in enumerate(kinds):
            structures.setdefault(kind, {}).setdefault(self.structure[call], call)
        new: dict[tuple[int, int], int] = {}
        for kind, calls in structures.items():
            rest = sorted(calls.values(), key=lambda call: -self._amount[call])
            number, rounds = kind, 0
            while rest:
                alike = [call for call in rest if rounds < tuning.ROUNDS and self.in_words([call], rest[0]) is not None]
                new.update(((kind, self.structure[call]), number) for call in alike or rest[:1])
                rest = [call for call in rest if (kind, self.structure[call]) not in new]
                number, rounds, self._n_kinds = self._n_kinds, rounds + 1, self._n_kinds + 1
        return [new[kind, self.structure[call]] for call, kind in enumerate(kinds)]

    def _inside(self, call: int) -> set[Hashable]:
        """The paths in a call from its own on, without numbers; in a container, which has no others, with classes."""
        base, inside, module = len(self.graph.calls[call].module), set[Hashable](), self.tree.module(call)
        for inner in range(call + 1, self.tree.end[call]):
            called = self.tree.module(inner)
            if called is not None:
                name = _NUMBER.sub("#", self.graph.calls[inner].module[base:])
                inside.add((name, called.cls) if module is not None and module.native else name)
        return inside


def without_numbers(path: str) -> str:
    """The path with `#` for each part that is a number."""
    return ".".join("#" if part.isdigit() else part for part in path.split("."))
