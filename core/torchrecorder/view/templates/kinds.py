"""Which calls are of one kind, and in what those of a kind differ.

A picture opens each kind of layer once. Calls of a class are of one kind if they stand in one list, or if nearly the
same layers are in them: Bottlenecks with and without `downsample` are one kind, the encoder and the decoder of T5 are
two. Sizes do not count. Within a kind, calls that run the same ops in the same order have one structure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from functools import cached_property

from torchrecorder.graph.model import Module, Op
from torchrecorder.view.entries import is_list
from torchrecorder.view.op_families import JOINS, SUMS
from torchrecorder.view.plan.visibility import Visibility

_ALIKE = 0.8
"""How much of what is in two calls must be the same for them to be of one kind."""
_NAMED, _LONG = 2, 32
"""How many parts are named in a difference, in how many characters."""
VARIANT = "variant"
"""What differs in more than is named."""
_MANY = 4
"""Where one of so many parts is drawn for all, a reader knows what another number is the number of."""
_NUMBER = re.compile(r"\d+")
_COUNTER = re.compile(r"\d+(?:[a-z](?![a-z]))?")


class Kinds:
    def __init__(self, visible: Visibility) -> None:
        self.graph, self.tree, self.visible = visible.graph, visible.tree, visible
        self._gone = {call for call, state in enumerate(visible.states(0)) if state == "gone"}
        self._classes: dict[str, list[tuple[set[str], set[Hashable], int]]] = {}
        """By class its kinds: the lists that hold them, what is in the first of them, their number."""
        self._known: dict[tuple[str, int, str], int] = {}
        self._n_kinds = 0
        self._joined: dict[int, int] = {}
        """By kind the one that it has become part of."""

    @cached_property
    def structure(self) -> list[int]:
        """For each call a number that calls with the same classes, ops and wiring share."""
        numbers: dict[Hashable, int] = {}
        found = [0] * len(self.graph.calls)
        for call in range(len(found) - 1, -1, -1):
            module, row = self.tree.module(call), self.graph.calls[call]
            inside: list[Hashable] = []
            for item in self.tree.items[call]:
                if item.is_call:
                    inside.append(found[item.id])
                elif self.visible.handed[item.id] is None:
                    inside.append(self._op(self.graph.ops[item.id]))
            is_leaf = module is not None and module.native and not self.tree.children[call]
            key = (row.module if module is None else module.cls, () if is_leaf else tuple(inside), row.ok)
            found[call] = numbers.setdefault(key, len(numbers))
        return found

    @cached_property
    def of(self) -> list[int]:
        """For each call the number of its kind."""
        found = [self._kind(call) for call in range(len(self.graph.calls))]
        return [self._last(number) for number in found]

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """By kind its calls."""
        found: dict[int, list[int]] = {}
        for call, kind in enumerate(self.of):
            found.setdefault(kind, []).append(call)
        return found

    def differs(self, call: int, other: int) -> str:
        """What a call has that another of its kind has not, or has not: `without downsample`; empty if nothing.

        A difference that takes more than a few words to tell is a `variant`.
        """
        if self.structure[call] == self.structure[other]:
            return ""
        here, there = self._parts(call), self._parts(other)
        if here.keys() == there.keys():
            counts = {f"×{here[part]} for ×{there[part]}" for part in here if here[part] != there[part]}
            if len(counts) == 1 and max(there.values()) >= _MANY:
                return counts.pop()
            here, there = self._classes_in(call), self._classes_in(other)
        if here == there:
            here, there = self._joins_in(call), self._joins_in(other)
        more, less = here - there, there - here
        if len(more) + len(less) > _NAMED or here.keys() == there.keys():
            return VARIANT
        if more and less:
            text = f"{', '.join(more)} for {', '.join(less)}"
        else:
            text = f"with {', '.join(more)}" if more else f"without {', '.join(less)}"
        return text if len(text) <= _LONG else VARIANT

    def _op(self, op: Op) -> Hashable:
        """Its name, and how far back in the same call the ops lie that it reads."""
        first, reads = self.tree.first_op[op.call], []
        for value in op.inputs:
            row = self.graph.values[value]
            is_near = row.producer is not None and row.producer >= first
            reads.append(op.id - row.producer if is_near and row.producer is not None else row.kind == "param")
        return op.name, tuple(reads)

    def _kind(self, call: int) -> int:
        module = self.tree.module(call)
        cls = "" if module is None else module.cls
        path = self.graph.calls[call].module
        around, _, last = path.rpartition(".")
        home = without_numbers(around) if last.isdigit() else ""
        cls = f"{cls} {home}" if is_list(cls) else cls  # entries of other lists may have the same layers
        key = (cls, self.structure[call], home)
        if key not in self._known:
            self._known[key] = self._like(cls, home, self._inside(call, module))
        return self._known[key]

    def _like(self, cls: str, home: str, inside: set[Hashable]) -> int:
        """The number of the kind that is alike or stands in the same list; where these are two kinds, they are one."""
        kinds = self._classes.setdefault(cls, [])
        found = [
            kind
            for kind in kinds
            if (home and home in kind[0]) or len(inside & kind[1]) >= _ALIKE * len(inside | kind[1])
        ]
        if not found:
            found = [({home}, inside, self._n_kinds)]
            kinds += found
            self._n_kinds += 1
        first, *others = found
        first[0].add(home)
        for other in others:
            first[0].update(other[0])
            self._joined[other[2]] = first[2]
            kinds.remove(other)
        return first[2]

    def _last(self, kind: int) -> int:
        while kind in self._joined:
            kind = self._joined[kind]
        return kind

    def _inside(self, call: int, module: Module | None) -> set[Hashable]:
        """The paths in a call from its own on, without numbers; in a container, which has no others, with classes."""
        base, found = len(self.graph.calls[call].module), set[Hashable]()
        for inner in range(call + 1, self.tree.end[call]):
            called = self.tree.module(inner)
            if called is not None:
                name = _NUMBER.sub("#", self.graph.calls[inner].module[base:])
                found.add((name, called.cls) if module is not None and module.native else name)
        return found

    def _parts(self, call: int) -> Counter[str]:
        """The names of the layers in a call, of those in a container in place of its own."""
        found: Counter[str] = Counter()
        pending = [*self.tree.children[call]]
        while pending:
            child = pending.pop()
            module = self.tree.module(child)
            if module is None or child in self._gone:
                continue
            name = self.graph.calls[child].module.rpartition(".")[2]
            if module.native and self.tree.children[child] and name.isdigit() | (len(self.tree.children[call]) == 1):
                pending += self.tree.children[child]
            else:
                found[_class_name(module) if _NUMBER.search(name) else name] += 1
        return found

    def _classes_in(self, call: int) -> Counter[str]:
        inside = (inner for inner in range(call + 1, self.tree.end[call]) if inner not in self._gone)
        modules = (self.tree.module(inner) for inner in inside)
        return Counter(_class_name(module) for module in modules if module is not None and module.native)

    def _joins_in(self, call: int) -> Counter[str]:
        """The ops in it that join data, each once."""
        ops = (self.graph.ops[op] for op in self.tree.ops_of(call) if self.visible.handed[op] is None)
        return Counter({name: 1 for op in ops if (name := op.name.strip("_")) in JOINS | SUMS})


def without_numbers(path: str) -> str:
    """The path with `#` for each part that is a number."""
    return ".".join("#" if part.isdigit() else part for part in path.split("."))


def entry(path: str) -> str:
    """The path with `#` for each number in its last part, with the letter behind it: `Mixed_5b` is `Mixed_#`."""
    around, dot, last = path.rpartition(".")
    return around + dot + _COUNTER.sub("#", last)


def _class_name(module: Module) -> str:
    return module.cls.rpartition(".")[2]
