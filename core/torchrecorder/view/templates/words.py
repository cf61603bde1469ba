"""Differences of a call from another of its kind, in the words of a picture: `without conv.0`, `with blocks ×2`.

A layer that only one of the two has is named by its path in the call, as at its node, or by its class if it is an entry
of a list and the other call has none of that class; what comes with it is not: the activation behind it, the sum that
it is added by. Layers that change nothing are not named at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import islice

from torchrecorder.view import tuning
from torchrecorder.view.facts import frames_around
from torchrecorder.view.node_kinds import SYMBOLS, plain, spoken
from torchrecorder.view.op_families import DROPOUTS, JOINS, PIECES, SHAPING, SUMS, WEIGHTED
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.tree import Item, counted

_SYMMETRIC = ("add", "mul", "eq", "maximum", "minimum")
"""Ops that do not mind the order of their inputs."""
_IDENTITY = "Identity"
_NO_LAYERS = ("skip", "mask")
"""Words for sums."""
_FILLS = ("where", "masked_fill")
"""Ops that put a number where a mask says so."""
_ATTENTION = spoken("scaled_dot_product_attention")
"""The word for what is named also where the layers that it reads are."""
_TELLS_NOTHING = frozenset(SYMBOLS.values()) | JOINS | PIECES | SHAPING | {"getitem", "repeat_interleave"}
"""Names of ops that name no difference."""
_LISTED, _MAX_PLACED = 4, 60
"""Stretches of calls in a row of which the places are said, and characters of differences with more than one."""
_COUNTER = re.compile(r"\d+(?:[a-z](?![a-z]))?")
_AXES = re.compile("[123]d$")
_SOURCES = ("param", "buffer")
_OWN = (*_SOURCES, "const")
Shown = tuple[frozenset[int], frozenset[int], frozenset[int]]
"""The layers in which a drawing of a call shows nothing, those that stand at another one by their class, and the
dropouts that are nodes of their own."""
NOTHING: Shown = (frozenset(), frozenset(), frozenset())
_Read = tuple[set[object], set[object]]
Difference = tuple[str, str]
"""`with` or `without`, and what: `("without", "downsample")`."""


class Words:
    def __init__(self, visible: Visibility, structure: Callable[[], Sequence[int]]) -> None:
        self.graph, self.tree, self.visible = visible.graph, visible.tree, visible
        self.places, self._gone, self._structure = visible.places, visible.gone, structure
        self._known: dict[tuple[int, int, str, Shown], tuple[Difference, ...] | None] = {}
        """By structures, place of the first, and how the second is drawn."""

    def said(
        self, calls: Sequence[int], model: int, shown: Shown = NOTHING, *, is_series: bool = False
    ) -> list[str] | None:
        """Differences of calls from one that is drawn: `2nd without downsample`; None if no few words say them."""
        by_module = {(self.graph.calls[call].module, self.tree.picked.get(call)): call for call in calls}
        differences: dict[Difference, list[int]] = {}
        for call in by_module.values():
            words = self.of(call, model, shown)
            if words is None:
                return None
            for word in words:
                differences.setdefault(word, []).append(call)
        together: dict[tuple[int, ...], dict[str, list[str]]] = {}
        for (how, what), differing in differences.items():
            together.setdefault((*differing,), {}).setdefault(how, []).append(what)
        every = [*by_module.values()]
        is_row = len(every) > 1 and (is_series or len({self.graph.calls[call].parent for call in every}) == 1)
        places = [[*map(every.index, its)] if is_row else [-1] * len(its) for its in together]
        for limit in (_LISTED, 1, 0):  # where that is long, the number of calls
            rows = zip(places, together.values(), strict=True)
            said = [_placed(at, len(every), by_how, limit) for at, by_how in rows]
            if len(" · ".join(said)) <= _MAX_PLACED:
                break
        is_short = len(said) <= tuning.PHRASES and len(" · ".join(said)) <= tuning.LONG_WORDS
        return said if len(differences) <= tuning.NAMED and is_short else None

    def of(self, call: int, other: int, shown: Shown = NOTHING) -> tuple[Difference, ...] | None:
        """Things that a call has or has not, unlike another of its kind; None if they are many."""
        structure = self._structure()
        key = structure[call], structure[other], counted(self.graph.calls[call].module), shown
        if key[0] != key[1] and call in self.visible.strict:
            return None
        if key not in self._known:
            differences = {} if key[0] == key[1] else _Compared(self, call, other, shown, structure).differences()
            is_told = differences is not None and len(differences) <= tuning.NAMED
            self._known[key] = tuple(differences or ()) if is_told else None
        return self._known[key]


_Named = Sequence[str]


def _placed(places: Sequence[int], n: int, by_how: Mapping[str, _Named], limit: int) -> str:
    """`first with pool`, `1st, 3rd–5th without roll` of `n` calls in a row; beyond the limit how many they are."""
    if by_how.keys() == {"without"} and [*places] == [*range(1, n)]:
        return f"first {_phrase(**{'with': by_how['without']})}"
    if n > _LISTED and limit and [*places] == [*range(1, n, 2)]:
        return f"every 2nd {_phrase(**by_how)}"
    if n > _LISTED and by_how.keys() == {"without"} and [*places] == [*range(0, n, 2)]:
        return f"every 2nd {_phrase(**{'with': by_how['without']})}"
    spans = list[tuple[int, int]]()
    for at in places:
        is_next = bool(spans) and at == spans[-1][1] + 1
        spans = [*spans[:-1], (spans[-1][0], at)] if is_next else [*spans, (at, at)]
    is_listed = -1 not in places and len(spans) <= limit and len(places) < n
    which = ", ".join(_span(*span) for span in spans) if is_listed else f"{len(places) % n or ''}"
    return f"{'first' if which == '1st' else which} {_phrase(**by_how)}".strip()


def _span(first: int, last: int) -> str:
    """`3rd`, `3rd, 4th` or `3rd–5th`."""
    if first == last:
        return nth(first)
    return f"{nth(first)}{'–' if last > first + 1 else ', '}{nth(last)}"


def nth(place: int) -> str:
    """The place in a row, of which the first is 0, in English: `1st`."""
    n = place + 1
    return f"{n}{'th' if n % 100 // 10 == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _phrase(**by_how: _Named) -> str:
    """`with three, without skip and conv.0`."""
    return ", ".join(f"{how} {_listed(by_how[how])}".strip() for how in ("with", "without") if how in by_how)


def _listed(names: _Named) -> str:
    """`a and b`; `roll and mask in window_attention()` of what is in one function."""
    homes = {name.rpartition("().")[0] for name in names}
    names = sorted((name.rpartition("().")[2] for name in names), key=lambda name: " in " in name)
    if (home := homes.pop()) and not homes and names != ["mask"]:
        return f"{_listed(names)} in {home}"
    return " and ".join(names) if len(names) < 3 else ", ".join(names)


class _Compared:
    """One call beside another, and in what they differ."""

    def __init__(self, words: Words, call: int, other: int, shown: Shown, structure: Sequence[int]) -> None:
        self.graph, self.tree, self.visible, self.places = words.graph, words.tree, words.visible, words.places
        self._words, self._gone, self._structure = words, words._gone, structure
        self._closed, self._merged, self._lone = shown
        self.call, self.other = call, other
        self._more: dict[str, None] = {}
        self._less: dict[str, None] = {}
        self._is_untold = False
        """Whether ops differ that have no name for a reader."""

    def differences(self) -> dict[Difference, None] | None:
        """What differs; None if no name says it, or a layer has another one in its place and more is different."""
        differences: dict[Difference, None] = {}
        pending, exchanged = [(self.call, self.other)], list[int]()
        while pending:
            a, b = pending.pop()
            if self._structure[a] == self._structure[b]:
                continue
            if b in self._closed:  # what differs in it, no reader can find
                differences[self._in_closed(a, b)] = None
                continue
            if self.visible.facts.kinds.layers.keys() >= {a, b}:  # its settings are said, and no padding
                continue
            pairs = [pair for pair in self.places.children(a, b) if self._gone.isdisjoint(pair)]
            entries = self.tree.children[b] if len(self.tree.children[a]) < len(self.tree.children[b]) else ()
            known = {self._structure[call] for call in entries}
            for x, y in pairs:
                if self._structure[x] in known and self._path(x, a).rpartition(".")[2].isdigit():
                    continue  # it is another entry of the longer list
                if self._class(x) == self._class(y):
                    pending.append((x, y))
                else:
                    differences["with", self._exchanged(x, y)] = None
                    exchanged += [*filter(self._is_heavy, (x, y))]
            alone = [
                [child for child in self.tree.children[call] if child not in matched and child not in self._gone]
                for call, matched in ((a, {x for x, _ in pairs}), (b, {y for _, y in pairs}))
            ]
            if self._are_elsewhere(a, b, alone):
                return None
            counted, named = self._counted(a, b, alone)
            differences |= dict.fromkeys(counted)
            self._name_layers(a, b, named)
            differences |= self._ops_differ(a, b, alone)
        both = self._more.keys() & self._less.keys()
        differences |= {("with", word): None for word in self._more if word not in both}
        differences |= {("without", word): None for word in self._less if word not in both}
        if self._is_untold or (exchanged and len(differences) > 1):
            return None
        is_counted = any(words[:1].isdigit() for _, words in differences)  # there are others to be read
        return differences if is_counted or self._are_wired_alike() else None

    def _are_wired_alike(self) -> bool:
        """Whether ops at like places read what like places give, where others between them hand on what they read."""
        matched = self.places.matched(self.call, self.other)
        handed, ops = self.visible.handed, self.tree.all_ops_of(self.call)
        twins = ((op, twin) for op in ops if (twin := self.places.op(op, self.call, self.other)) is not None)
        places: tuple[dict[int, int], ...] = {op: twin for op, twin in twins if handed[op] is handed[twin] is None}, {}
        places[1].update((twin, twin) for twin in places[0].values())
        shut = ((x, y) for x, y in matched.items() if y in self._closed and not self._does_nothing(x))
        for pair in shut:  # each is one thing
            for place, call in zip(places, pair, strict=True):
                place.update(dict.fromkeys(self.tree.all_ops_of(call), ~pair[1]))
        here, there = map(self._wiring, (self.call, self.other), places)
        pairs = ((here[place], there[place]) for place in here.keys() & there.keys())
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)

    def _wiring(self, call: int, places: Mapping[int, int]) -> dict[int, _Read]:
        """By place the places that it reads, None for what the call gets, and those behind what has no place.

        Behind a parameter that is data, and behind what is made of nothing, may be what another call gets.
        """
        inputs, aside = {*self.graph.calls[call].inputs.values()}, self.visible.facts.aside
        known, wiring, own_data = dict[int, _Read](), dict[int, _Read](), set[int]()
        for op in map(self.graph.ops.__getitem__, self.tree.all_ops_of(call)):
            handed, near, behind = self.visible.handed[op.id], set[object](), set[object]()
            is_layer = op.name in WEIGHTED or self.tree.is_leaf(op.call)
            own_data.update(v for v in op.inputs if self.graph.values[v].kind in _OWN and v not in inputs)
            if op.inputs and own_data.issuperset(op.inputs) and op.id not in places:  # a weight that is scaled
                own_data.update(op.outputs)
                continue
            for value in op.inputs if handed is None else (handed,):
                is_own = value in own_data
                outside: _Read = set() if is_own else {None}, set() if is_own and is_layer else {None}
                found = known.get(value, outside)
                near |= set() if value in aside else found[0]
                behind |= found[1]
            if handed is None and (place := places.get(op.id)) is not None:
                own = wiring.setdefault(place, (set(), set()))
                own[0].update(near - {place})
                own[1].update(behind - {place})
                near = behind = set[object]((place,))
            elif handed is None:
                near, behind = set[object](), behind or {None}
            elif op.name in PIECES and len(op.outputs) > 1:  # what reads a half does not read all of it
                near = set[object](("piece", at) for at in near)
                behind = set[object]((*behind, *(("piece", at) for at in behind)))
            known.update(dict.fromkeys(op.outputs, (near, behind)))
        return wiring

    def _in_closed(self, a: int, b: int) -> Difference:
        """What differs in a layer that is shown closed: `aa in conv1`; if that is much, that it is another one."""
        home, found = self._name(b, self.other), self._words.of(a, b) or ()
        how, what = found[0] if len(found) == 1 else ("", "")
        return (how, f"{what} in {home}") if how and " " not in what else ("with", f"another {home}")

    def _are_elsewhere(self, a: int, b: int, alone: Sequence[Sequence[int]]) -> bool:
        """Whether both have a layer by number that the other has not, and at other places in the row."""
        places = []
        for call, children in zip((a, b), alone, strict=True):
            row = [child for child in self.tree.children[call] if child not in self._gone]
            heavy = [*filter(self._is_heavy, children)]
            numbered = [child for child in heavy if self.graph.calls[child].module.rpartition(".")[2].isdigit()]
            kinds = {self._class(child) for child in numbered}
            places.append(({row.index(child) for child in numbered}, kinds))
        (here, kinds), (there, others) = places
        return bool(here and there) and here != there and kinds != others

    def _counted(self, a: int, b: int, alone: Sequence[Sequence[int]]) -> tuple[list[Difference], list[list[int]]]:
        """Numbers of layers in lists of equal ones, and the layers that only one call has and that are in no list."""
        both, words, counted = ((a, self.call), (b, self.other)), list[Difference](), set[str]()
        here, there = ([self._entry(child, top) for child in self.tree.children[call]] for call, top in both)
        odd = Counter(
            self._entry(child, top)[0] for children, (_, top) in zip(alone, both, strict=True) for child in children
        )
        for name, n in odd.items():
            n_here, n_there = (sum(other == name for other, _ in entries) for entries in (here, there))
            is_list = name.split(".")[-1] == "#" or n >= tuning.NAMED
            if n_here and n_there and is_list and len({cls for other, cls in (*here, *there) if other == name}) == 1:
                counted.add(name)
                # a number does not tell of one that what is drawn has nowhere
                drawn = {self._structure[child] for child in self.tree.children[b]}
                new = (child for child in alone[0] if self._structure[child] not in drawn)
                self._is_untold |= any(self._entry(child, self.call)[0] == name for child in new)
                lost = (child for child in alone[1] if self._entry(child, self.other)[0] == name)  # with its attention
                self._is_untold |= not self._parts([*lost]) <= self._parts(self.tree.children[a])
                cls = next(cls for other, cls in (*here, *there) if other == name)
                words.append(("with", _of_list(n_here, name, cls)))
        return words, [
            [child for child in children if self._entry(child, top)[0] not in counted]
            for children, (_, top) in zip(alone, both, strict=True)
        ]

    def _parts(self, calls: Iterable[int]) -> set[str]:
        """The classes of layers with parameters in calls."""
        inside = (inner for call in calls for inner in range(call, self.tree.end[call]))
        return {self._class(call) for call in inside if self.tree.n_params(call) and self._is_heavy(call)}

    def _entry(self, call: int, top: int) -> tuple[str, str]:
        """Its path in the call that is compared without the numbers of lists, and its class."""
        return entry(self._path(call, top)), self._class(call)

    def _name_layers(self, a: int, b: int, alone: Sequence[Sequence[int]]) -> None:
        functions = self._only_in(a, b) | self._only_in(b, a)
        for children, top, names in ((alone[0], self.call, self._more), (alone[1], self.other, self._less)):
            given = self._given(child for child in children if self.tree.n_params(child))
            heavy = [*filter(self._is_heavy, children)]
            heavy = [
                it for it in heavy if self.tree.n_params(it) or not given >= {*self.graph.calls[it].inputs.values()}
            ]
            for child in heavy or children:
                function = functions.get(Item(True, child))
                is_lone = child in self._lone and self.places.call(child, self.other, self.call) is None
                if function or is_lone or not self._does_nothing(child):
                    away, home = (b, self.other) if top == self.call else (a, self.call)
                    beside = [self._entry(other, home) for other in self.tree.children[away]]
                    place, kind = self._entry(child, top)
                    is_entry = place.rpartition(".")[2] == "#"
                    is_moving = is_entry and any(other == place for other, _ in beside)  # its number may be another's
                    is_other = child in self._merged or (is_moving and all(cls != kind for _, cls in beside))
                    cls = _AXES.sub("", self._class(child).rpartition(".")[2]) if is_other else ""
                    name = function or cls or self._name(child, top) + self._of_how_many(a, child, top)
                    if names is self._less and self._is_plain(child, a):
                        self._more[f"identity {name}"] = None
                    else:
                        names[name] = None

    def _of_how_many(self, around: int, child: int, top: int) -> str:
        """` in 2 layers` if so many of the entries of a list in the call, and not all, have a layer, or have it not."""
        rows, tree = self.graph.calls, self.tree
        entry = next((row for row in self.graph.around(around) if row.module.rpartition(".")[2].isdigit()), None)
        if entry is None or entry.id <= self.call:
            return ""
        kind, above = self._entry(entry.id, self.call), rows[rows[child].parent or 0].module
        inner = rows[around].module.removeprefix(entry.module) + rows[child].module.removeprefix(above)
        row = [it for it in tree.children[entry.parent or 0] if self._entry(it, self.call) == kind]
        inside = ((it, at) for it in row for at in range(it, tree.end[it]) if not self._does_nothing(at))
        having = {it for it, at in inside if rows[at].module == rows[it].module + inner}
        n = len(having) if top == self.call else len(row) - len(having)
        return f" in {_of_list(n, *kind)}" if n < len(row) else ""

    def _is_heavy(self, call: int) -> bool:
        return self.visible.facts.kinds.of_call(call) not in ("norm", "act")

    def _given(self, calls: Iterable[int]) -> set[int]:
        return {value for call in calls for value in self.graph.calls[call].outputs.values()}

    def _does_nothing(self, call: int) -> bool:
        module = self.tree.module(call)
        name = "" if module is None else module.cls.rpartition(".")[2]
        return name in DROPOUTS or name == _IDENTITY

    def _is_plain(self, child: int, parent: int) -> bool:
        """Whether an Identity or an empty list stands in place of a layer whose output is added to what led past it."""
        name, home = self.graph.calls[child].module.rpartition(".")[2], self.graph.calls[parent].module
        module = self.graph.modules.get(path := f"{home}.{name}" if home else name)
        if module is None or not module.cls.endswith((_IDENTITY, "Sequential")):
            return False
        if module.cls.endswith("Sequential") and any(other.startswith(f"{path}.") for other in self.graph.modules):
            return False
        given = {*self.graph.calls[child].outputs.values()}
        made = {*given}
        for op in self.graph.ops[self.tree.first_op[child] : self.tree.last_op[self.other] + 1]:
            if op.name in SUMS and not given.isdisjoint(op.inputs) and not made.issuperset(op.inputs):
                return True
            if not made.isdisjoint(op.inputs):
                made.update(op.outputs)
        return False

    def _exchanged(self, x: int, y: int) -> str:
        here, there = self._name(x, self.call), self._name(y, self.other)
        if here == there or any(self.graph.calls[call].module.rpartition(".")[2].isdigit() for call in (x, y)):
            here, there = (self._class(call).rpartition(".")[2] for call in (x, y))
        return f"{here} instead of {there}"

    def _ops_differ(self, a: int, b: int, alone: Sequence[Sequence[int]]) -> dict[Difference, None]:
        """The ops of a call, but for masks and positions, that the other has not, and has in place of them."""
        here, there = ([op for op in self.places.ops(call) if self._tells(op)] for call in (a, b))
        counts = [Counter(map(self._sign, ops)) for ops in (here, there)]
        more, less = counts[0] - counts[1], counts[1] - counts[0]
        if len(more) == len(less) == 1 and self._at(a, more) == self._at(b, less):
            return {("with", f"{next(iter(more))} instead of {next(iter(less))}"): None}
        swapped = {}
        if not more and not less:
            pairs = zip(map(self._reads, here), map(self._reads, there), strict=True)
            turned = [op for op, (x, y) in zip(here, pairs, strict=True) if x != y and sorted(x) == sorted(y)]
            signs = [self._sign(op) for op in turned if plain(self.graph.ops[op].name) not in _SYMMETRIC]
            swapped = {("with", f"inputs of {name} swapped"): None for name in signs}
        for some, ops, names, pair in ((more, here, self._more, (a, b)), (less, there, self._less, (b, a))):
            functions, layers = self._only_in(*pair), alone[0] if ops is here else alone[1]
            own = {word: [op for op in ops if self._sign(op) == word] for word in some}
            odd = {word: [op for op in its if self.places.op(op, *pair) is None] for word, its in own.items()}
            said = {word: self._named(its, odd[word] or its, word, functions, pair) for word, its in own.items()}
            named = [self.graph.ops[op] for word, its in own.items() if said[word] for op in odd[word] or its]
            near = self._given(layers) | {value for row in named for value in (*row.inputs, *row.outputs)}
            behind = self._behind(layers, pair[0], {op for its in odd.values() for op in its})
            for word, name in said.items():
                rows = [self.graph.ops[op] for op in own[word]]
                by = self._given(filter(self._is_heavy, layers) if name == "skip" else layers)
                by |= behind if word in _TELLS_NOTHING and name != "skip" else set()
                if name and (word == _ATTENTION or by.isdisjoint(value for row in rows for value in row.inputs)):
                    names[name] = None
                elif not name and odd[word]:  # else it is a join that has only one thing to join
                    ends = [{*row.inputs, *row.outputs} for row in rows]
                    for end in (*ends, *reversed(ends)):  # what is next to what is named comes with it, and so on
                        near |= set() if near.isdisjoint(end) else end
                    self._is_untold |= sum(not near.isdisjoint(end) for end in ends) < some[word]
        return swapped

    def _behind(self, layers: Sequence[int], call: int, odd: Container[int]) -> set[int]:
        """Values of layers that only one call has, and of what it alone computes of them."""
        behind = self._given(layers)
        for row in map(self.graph.ops.__getitem__, self.tree.all_ops_of(call) if behind else ()):
            if not behind.isdisjoint(row.inputs) and (row.id in odd or self.visible.contracted[row.id]):
                behind.update(row.outputs)
        return behind

    def _at(self, call: int, words: Container[str]) -> list[int]:
        """The places of ops among all that happens in a call."""
        items = (it for it in self.tree.items[call] if (it.id not in self._gone if it.is_call else self._tells(it.id)))
        return [i for i, it in enumerate(items) if not it.is_call and self._sign(it.id) in words]

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
        return spoken(plain(self.graph.ops[op].name))

    def _named(
        self, ops: Sequence[int], odd: Sequence[int], word: str, functions: Mapping[Item, str], pair: tuple[int, int]
    ) -> str:
        """Name of ops that the first of two calls has: their function, `skip`, `mask`, what they read, or the word.

        Empty of ops that tell nothing by themselves.
        """
        around = {functions.get(Item(False, op), "") for op in ops}
        if len(around) == 1 and (name := around.pop()):
            return name
        is_join = word == "+" or word in JOINS
        values = [self.graph.values[v] for op in odd if is_join for v in self.graph.ops[op].inputs]
        homes = {self._function(Item(False, op), least=2) for op in odd}
        home = f"{homes.pop()}." if len(homes) == 1 and "" not in homes else ""
        if any(value.id in self.visible.facts.blank for value in values) or word in _FILLS:
            return f"{home}mask"
        first = min((self.tree.first_op[self.graph.ops[op].call] for op in ops), default=0)
        sources = [self.graph.values[self._source(value.id, first)] for value in values]
        outside = [it.kind not in _SOURCES and (it.producer is None or it.producer < first) for it in sources]
        name = self._operand(odd, *pair) if word in _TELLS_NOTHING or any(outside) else word
        if any(outside) and not (word in JOINS and all(outside)) and (not name or "skip" in name):
            return "skip"  # of what both of the calls read, or that is called so
        return f"{home}{name}" if name else ""

    def _source(self, value: int, first: int) -> int:
        """What a value is in another shape or place, from an op on."""
        while (producer := self.graph.values[value].producer) is not None and producer >= first:
            op = self.graph.ops[producer]
            if op.kind != "pass" and op.name not in SHAPING:
                break
            value = op.inputs[0]
        return value

    def _operand(self, ops: Sequence[int], call: int, other: int) -> str:
        """The parameter, buffer or argument that ops of a call read, and its counterpart does not read."""
        graph, there = self.graph, self.graph.calls[other].inputs
        read = {value for op in self.tree.all_ops_of(other) for value in graph.ops[op].inputs}
        given = {value: path for path, value in graph.calls[call].inputs.items() if there.get(path) not in read}
        first, inputs = self.tree.first_op[call], [value for op in ops for value in graph.ops[op].inputs]
        values = [graph.values[self._source(value, first)] for value in inputs]
        names = (value.name if value.kind in _SOURCES else given.get(value.id) for value in values)
        return next((last for name in names if name and not (last := name.rpartition(".")[2]).isdigit()), "")

    def _only_in(self, call: int, other: int) -> dict[Item, str]:
        """By op and call the function that is drawn for what runs in it, if that does not run in the other call."""
        ran = {name for item in self.tree.items[other] if (name := self._function(item))}
        names = ((item, self._function(item, least=2)) for item in self.tree.items[call])
        return {item: name for item, name in names if name and name not in ran}

    def _function(self, item: Item, least: int = 0) -> str:
        """The function without layers that an op or a call ran in, if so many of its ops tell something."""
        facts, row = self.visible.facts, (self.graph.calls if item.is_call else self.graph.ops)[item.id]
        around = [at for at in frames_around(self.graph, row.frame) if at in facts.opaque and len(facts.ran_in[at]) > 1]
        around = [at for at in around if len([*islice(filter(self._tells, facts.ran_in[at]), least)]) == least]
        return f"{self.graph.frames[around[-1]].short}()" if around else ""

    def _path(self, call: int, top: int) -> str:
        """The path of a layer in the call that is compared."""
        path, home = self.graph.calls[call].module, self.graph.calls[top].module
        return path.removeprefix(f"{home}.") if home else path

    def _name(self, call: int, top: int) -> str:
        """The last name in its path, with the numbers behind it; its class if there are numbers alone."""
        module, parts = self.tree.module(call), self._path(call, top).split(".")
        at = next((i for i in reversed(range(len(parts))) if not parts[i].isdigit()), None)
        return module.cls.rpartition(".")[2] if at is None and module is not None else ".".join(parts[at or 0 :])

    def _class(self, call: int) -> str:
        module = self.tree.module(call)
        return self.graph.calls[call].module if module is None else module.cls


def _of_list(n: int, name: str, cls: str) -> str:
    """`2 blocks` of the list `blocks`; of one without a name so many of a class."""
    home = name.rstrip("#").rstrip(".").rpartition(".")[2].removesuffix("s")
    home = home if len(home) > 1 else cls.rpartition(".")[2]
    return f"{n} {home}s" if n > 1 and not home.endswith("s") else f"{n} {home}"


def entry(path: str) -> str:
    """The path with `#` for each number in its last part, with the letter behind it: `Mixed_5b` is `Mixed_#`."""
    around, dot, last = path.rpartition(".")
    return around + dot + _COUNTER.sub("#", last)
