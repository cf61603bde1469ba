"""Which calls are of one kind, and in what those of a kind differ.

Calls of a class are of one kind if they stand in one list, or if nearly the same layers are in them: Bottlenecks with
and without `downsample` are one kind, encoder and decoder of T5 are two. Sizes do not count. Within a kind, calls that
run the same ops in the same order have one structure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property

from torchrecorder.graph.model import Op
from torchrecorder.view import tuning
from torchrecorder.view.entries import is_list
from torchrecorder.view.facts import frames_around
from torchrecorder.view.node_kinds import SYMBOLS, plain
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.tree import Item

_SYMMETRIC = ("add", "mul", "eq", "maximum", "minimum")
"""Ops that do not mind the order of their inputs."""
_NUMBER = re.compile(r"\d+")
_COUNTER = re.compile(r"\d+(?:[a-z](?![a-z]))?")


class Kinds:
    def __init__(self, visible: Visibility) -> None:
        self.graph, self.tree, self.visible = visible.graph, visible.tree, visible
        self.places, self._gone = visible.places, visible.gone
        self._words: dict[tuple[int, int], tuple[tuple[str, str], ...] | None] = {}
        """By structures."""
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
        structure = [0] * len(self.graph.calls)
        for call in range(len(structure) - 1, -1, -1):
            module, row = self.tree.module(call), self.graph.calls[call]
            inside: list[Hashable] = []
            for item in self.tree.items[call]:
                if item.is_call:
                    inside.append(structure[item.id])
                elif not self.visible.contracted[item.id]:
                    inside.append(self._op(self.graph.ops[item.id]))
            key = (
                row.module if module is None else module.cls,
                () if self.tree.is_leaf(call) else tuple(inside),
                row.ok,
            )
            structure[call] = numbers.setdefault(key, len(numbers))
        return structure

    @cached_property
    def of(self) -> list[int]:
        kinds = [self._kind(call) for call in range(len(self.graph.calls))]
        for i, kind in enumerate(kinds):
            while kind in self._joined:
                kind = self._joined[kind]
            kinds[i] = kind
        return self._parted(kinds)

    @cached_property
    def models(self) -> dict[int, int]:
        """By kind the first call of those that show most, from which few words tell all others."""
        return {kind: max(calls, key=lambda call: self._amount[call]) for kind, calls in self.members.items()}

    @cached_property
    def _amount(self) -> list[int]:
        amount = [sum(not self.visible.contracted[op] for op in self.places.ops(row.id)) for row in self.graph.calls]
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

    def in_words(self, calls: Sequence[int], model: int) -> list[str] | None:
        """Differences of calls from one that is drawn: `2 without downsample`; None if no few words say them."""
        by_module = {(self.graph.calls[call].module, self.tree.picked.get(call)): call for call in calls}
        differences: dict[tuple[str, str], list[int]] = {}
        for call in by_module.values():
            words = self.words(call, model)
            if words is None:
                return None
            for word in words:
                differences.setdefault(word, []).append(call)
        together: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for (how, what), differing in differences.items():
            together.setdefault((how, tuple(differing)), []).append(what)
        said = [
            ("" if len(differing) == len(by_module) else f"{len(differing)} ") + f"{how} {', '.join(what)}".strip()
            for (how, differing), what in together.items()
        ]
        return said if len(differences) <= tuning.NAMED and len(" · ".join(said)) <= tuning.LONG_WORDS else None

    def words(self, call: int, other: int) -> tuple[tuple[str, str], ...] | None:
        """Things that a call has or has not, unlike another of its kind: `("without", "downsample")`."""
        key = self.structure[call], self.structure[other]
        if key not in self._words:
            differences = {} if key[0] == key[1] else self._compared(call, other)
            self._words[key] = tuple(differences) if len(differences) <= tuning.NAMED else None
        return self._words[key]

    def _compared(self, call: int, other: int) -> dict[tuple[str, str], None]:
        differences: dict[tuple[str, str], None] = {}
        more, less = Counter[str](), Counter[str]()
        pending = [(call, other)]
        while pending:
            a, b = pending.pop()
            if self.structure[a] == self.structure[b]:
                continue
            pairs = [pair for pair in self.places.children(a, b) if self._gone.isdisjoint(pair)]
            for x, y in pairs:
                if self._class(x) == self._class(y):
                    pending.append((x, y))
                else:
                    differences["", f"{self._word(x)} for {self._word(y)}"] = None
            names = self._only_in(a, b) | self._only_in(b, a)
            here, there = self._others(a, {x for x, _ in pairs}, names), self._others(b, {y for _, y in pairs}, names)
            n, m = self._others(a, (), names), self._others(b, (), names)
            if here + there and m.total() >= tuning.MANY and n.keys() == m.keys():
                differences["with", _of(n.total(), m.total(), "layers")] = None
            else:
                some = dict.fromkeys(word for word in here + there if n[word] and m[word] and n[word] != m[word])
                differences |= {("with", _of(n[word], m[word], word)): None for word in some}
                more += Counter({word: number for word, number in here.items() if word not in some})
                less += Counter({word: number for word, number in there.items() if word not in some})
            differences |= self._ops_differ(a, b)
        more, less = more - less, less - more
        differences |= dict.fromkeys(("with", word) for word in more)
        return differences | dict.fromkeys(("without", word) for word in less)

    def _others(self, call: int, matched: Collection[int], functions: Mapping[Item, str]) -> Counter[str]:
        """The layers in a call that are not matched; of a container its entries."""
        others: Counter[str] = Counter()
        pending = [child for child in reversed(self.tree.children[call]) if child not in matched]
        while pending:
            child = pending.pop()
            module = self.tree.module(child)
            is_number = self.graph.calls[child].module.rpartition(".")[2].isdigit()
            if child in self._gone:
                continue
            if module is not None and module.native and is_number and self.tree.children[child]:
                pending += reversed(self.tree.children[child])
            else:
                others[functions.get(Item(True, child)) or self._word(child)] += 1
        return others

    def _ops_differ(self, a: int, b: int) -> dict[tuple[str, str], None]:
        """The ops of a call, but for masks and positions, that the other has not, and has in place of them."""
        here, there = ([op for op in self.places.ops(call) if self._tells(op)] for call in (a, b))
        counts = [Counter(map(self._sign, ops)) for ops in (here, there)]
        more, less = counts[0] - counts[1], counts[1] - counts[0]
        if len(more) == len(less) == 1 and more.total() == less.total():
            return {("", f"{next(iter(more))} for {next(iter(less))}"): None}
        swapped = {}
        if not more and not less:
            pairs = zip(map(self._reads, here), map(self._reads, there), strict=True)
            turned = [op for op, (x, y) in zip(here, pairs, strict=True) if x != y and sorted(x) == sorted(y)]
            names = [self._sign(op) for op in turned if plain(self.graph.ops[op].name) not in _SYMMETRIC]
            swapped = {("", f"inputs of {name} swapped"): None for name in names}
        words = [("with", self._named(here, word, self._only_in(a, b))) for word in more]
        words += [("without", self._named(there, word, self._only_in(b, a))) for word in less]
        return dict.fromkeys(words) | swapped

    def _tells(self, op: int) -> bool:
        outputs = self.graph.ops[op].outputs
        return not self.visible.contracted[op] and not (outputs and self.visible.facts.aside.issuperset(outputs))

    def _reads(self, op: int) -> list[int]:
        """Distances to where what it reads was made; what comes from elsewhere in the order in which it came."""
        row = self.graph.ops[op]
        first = self.tree.first_op[row.call]
        made = [self.graph.values[value].producer for value in row.inputs]
        elsewhere = sorted({v for v, at in zip(row.inputs, made, strict=True) if at is None or at < first})
        pairs = zip(row.inputs, made, strict=True)
        return [op - at if at is not None and at >= first else -1 - elsewhere.index(value) for value, at in pairs]

    def _sign(self, op: int) -> str:
        name = plain(self.graph.ops[op].name)
        return SYMBOLS.get(name, name)

    def _named(self, ops: Sequence[int], word: str, functions: Mapping[Item, str]) -> str:
        """Name of an op that one of two calls has: its function, a `skip` or a `mask`; else the word itself."""
        around = {functions.get(Item(False, op), "") for op in ops if self._sign(op) == word}
        if len(around) == 1 and (name := around.pop()):
            return name
        values = [
            self.graph.values[v] for op in ops if word == "+" == self._sign(op) for v in self.graph.ops[op].inputs
        ]
        if any(value.id in self.visible.facts.blank for value in values):
            return "mask"
        first = min((self.tree.first_op[self.graph.ops[op].call] for op in ops), default=0)
        is_skip = any(v.kind != "param" and (v.producer is None or v.producer < first) for v in values)
        return "skip" if is_skip else word

    def _only_in(self, call: int, other: int) -> dict[Item, str]:
        """By op and call the function that is drawn for what runs in it, if that does not run in the other call."""
        ran = {name for item in self.tree.items[other] if (name := self._function(item))}
        names = ((item, self._function(item)) for item in self.tree.items[call])
        return {item: name for item, name in names if name and name not in ran}

    def _function(self, item: Item) -> str:
        facts, row = self.visible.facts, (self.graph.calls if item.is_call else self.graph.ops)[item.id]
        around = [at for at in frames_around(self.graph, row.frame) if at in facts.opaque and len(facts.ran_in[at]) > 1]
        return f"{self.graph.frames[around[-1]].short}()" if around else ""

    def _word(self, call: int) -> str:
        module, name = self.tree.module(call), self.graph.calls[call].module.rpartition(".")[2]
        is_plain = len(name) <= tuning.LONG_NAME and not _NUMBER.search(name)
        return name if module is None or is_plain else module.cls.rpartition(".")[2]

    def _class(self, call: int) -> str:
        module = self.tree.module(call)
        return self.graph.calls[call].module if module is None else module.cls

    def _op(self, op: Op) -> Hashable:
        first, reads = self.tree.first_op[op.call], []
        for value in op.inputs:
            row = self.graph.values[value]
            is_near = row.producer is not None and row.producer >= first
            reads.append(op.id - row.producer if is_near and row.producer is not None else row.kind == "param")
        return op.name, tuple(reads)

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
        alike = [
            kind
            for kind in kinds
            if (home and home in kind[0]) or len(inside & kind[1]) >= tuning.ALIKE * len(inside | kind[1])
        ]
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


def _of(number: int, others: int, word: str) -> str:
    return f"{number} of {others} {word}" if number < others else f"{number} {word} (not {others})"


def without_numbers(path: str) -> str:
    """The path with `#` for each part that is a number."""
    return ".".join("#" if part.isdigit() else part for part in path.split("."))


def entry(path: str) -> str:
    """The path with `#` for each number in its last part, with the letter behind it: `Mixed_5b` is `Mixed_#`."""
    around, dot, last = path.rpartition(".")
    return around + dot + _COUNTER.sub("#", last)
