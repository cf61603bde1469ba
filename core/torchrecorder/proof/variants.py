"""Whether what is said of variants is so: `2 without downsample`, `with 3 blocks, without pool`.

What ran in the call that is drawn, in its order, is what ran in the other one, but for what is named, which is in one
of them only. Light things next to that come with it, as the norm behind a layer or the sum that takes it in. Settings
that differ are said where they are drawn. A convolution of single places or channels stands for no other, but for one
at its place in a list that is as long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations, product, takewhile
from typing import Any, NamedTuple

from torchrecorder.graph.model import Op
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import SIGNS, Fault
from torchrecorder.proof.sameness import UNSAID, Sameness
from torchrecorder.view.model import Box, Node

_SENTENCE = re.compile(r"(?:(\d+|first|every 2nd|\d+(?:st|nd|rd|th)\b.*?) )?(with(?:out)? .*)")
_PHRASE = re.compile(r"(with|without) (.*?)(?=, with(?:out)? |$)")
_WITHIN = re.compile(r"(.*) in (\d+) (\w+?)s?")
_SUMS = ("add", "sub", "cat", "concat", "stack")
_WEIGHTS, _HIDING = ("param", "buffer"), ("where", "masked_fill")
_HEAVY = ("matmul", "bmm", "einsum", "scaled_dot_product_attention")


class _Ran(NamedTuple):
    """A layer of torch's own that ran, or an op outside of those.

    `near` are the values that it reads and gives, and the layer that it is in, if that has no others; `place` is the
    path of its layer, and how many are called beside that.
    """

    op: int
    sign: object
    place: tuple[str, int]
    words: frozenset[str]
    is_heavy: bool
    near: frozenset[int]


class _Sentence(NamedTuple):
    """Words for `n` calls, for all if that is None; for those at `places` if there are any.

    A name is of words that all hold for a thing: `aa`, `conv1` of `aa in conv1`.
    """

    text: str
    n: int | None
    less: Set[frozenset[str]]
    more: Set[frozenset[str]]
    counted: Set[tuple[int, str]]
    places: tuple[int, ...] = ()
    inside: Set[tuple[bool, str, int, str]] = frozenset()
    """Whether so many entries of a list have a layer in them, or have it not, the layer, and the number and list."""

    def of_others(self, n: int) -> _Sentence:
        """`first with pool`, if the one that is drawn has it, says that the others of `n` calls have none."""
        is_turned = (self.places == (0,) or self.is_by_turns) and not self.less and not self.counted
        places = tuple(place for place in range(n) if place not in self.places)
        return self._replace(n=len(places), less=self.more, more=self.less, places=places) if is_turned else self

    def placed(self, n: int) -> _Sentence:
        """The sentence for `n` calls, where `every 2nd` is the 2nd, 4th and so on."""
        return self._replace(n=n // 2, places=tuple(range(1, n, 2))) if self.is_by_turns else self

    @property
    def is_by_turns(self) -> bool:
        return self.text.startswith("every 2nd ")


class Variants:
    """Sentences at the nodes and boxes of a View, each held against what ran."""

    def __init__(self, sameness: Sameness) -> None:
        self.sameness, self.facts, self.graph = sameness, sameness.facts, sameness.graph
        self._known: dict[int, list[_Ran]] = {}

    def faults(self) -> Iterator[Fault]:
        coverages = self.sameness.coverages
        insets = dict(zip(self.sameness.lettered, coverages[1:], strict=True))
        for coverage, again in zip(coverages, self.sameness.again, strict=True):
            things: tuple[Node | Box, ...] = (*coverage.view.nodes, *coverage.view.boxes)
            for thing in things:
                if missing := next(self._between(thing), ""):
                    words = f"{missing} is in the range of {self._path(thing.calls[0], 0)} and drawn elsewhere"
                    yield Fault("counts", words, thing.calls)
                for letter in getattr(thing, "unlike", ()):
                    roots = [insets[letter].root] if letter in insets else []
                    if not roots or not all(self._are_unlike(call, *roots) for call in self._named(thing, *roots)):
                        words = f"{self._path(thing.calls[0], 0)} is said to be unlike {letter}"
                        yield Fault("sameness", words, thing.calls)
                said = [*filter(None, map(_sentence, thing.differs))]
                if not said or not thing.calls or (isinstance(thing, Box) and thing.period > 1):
                    continue
                drawn = coverage if isinstance(thing, Box) else insets.get(thing.inset)
                here = range(coverage.root, self.facts.end[coverage.root])
                others = (other for call in thing.calls for other in again.get(call, ()) if other in here)
                calls = [*{self.graph.calls[call].module: call for call in (*thing.calls, *others)}.values()]
                said = [it.placed(len(calls)) for it in said]
                wrong = self._wrong(thing, drawn, calls, said)
                if wrong and self._wrong(thing, drawn, calls, [it.of_others(len(calls)) for it in said]):
                    words = f"“{wrong}” is not so of {self.graph.calls[thing.calls[0]].module}"
                    yield Fault("sameness", words, thing.calls)

    def _wrong(self, thing: Node | Box, drawn: Coverage | None, calls: Sequence[int], said: Sequence[_Sentence]) -> str:
        """The first sentence that is not so; empty if each is."""
        ways = [[*self._held(thing, drawn, call, said)] for call in calls]
        for i, sentence in enumerate(said):
            least, most = (sum(of(which[i] for which in choices) for choices in ways) for of in (all, any))
            n, places = len(calls) if sentence.n is None else sentence.n, sentence.places
            here = (any(which[i] is (at in places) for which in choices) for at, choices in enumerate(ways))
            if not all(ways) or (places and not all(here)) or not least <= n <= most:
                return sentence.text
        return ""

    def _named(self, thing: Node | Box, root: int) -> Sequence[int]:
        """The calls of a thing; of a Sequential the layer in each that is of the class of an inset."""
        classes = self.sameness.settings
        if classes(thing.calls[0])["class"] != "Sequential":
            return thing.calls
        inside = (at for call in thing.calls for at in self.facts.children[call])
        return [at for at in inside if classes(at)["class"] == classes(root)["class"]] or thing.calls

    def _are_unlike(self, call: int, other: int) -> bool:
        """Whether other ops run in a layer than in another one of its class, or read other things."""
        ran = list[object]()
        for ops in (self.facts.ops_of([call]), self.facts.ops_of([other])):
            made, own = dict[int, int | None](), list[object]()
            for op in map(self.graph.ops.__getitem__, sorted(ops)):
                is_move = self.facts.is_move(op, self.sameness.itself) and op.inputs
                own += [] if is_move else [(op.name, [made.get(value) for value in op.inputs])]
                made.update((value, made.get(op.inputs[0]) if is_move else len(own)) for value in op.outputs)
            ran.append(own)
        classes = {self.sameness.settings(at)["class"] for at in (call, other)}
        return ran[0] != ran[1] and len(classes) == 1

    def _between(self, thing: Node | Box) -> Iterator[str]:
        """The layers between those of a thing that are drawn elsewhere: `blocks.2` of `blocks.1–3`."""
        parts = (thing, *getattr(thing, "parts", ()))
        drawn = {self.graph.calls[call].module for part in parts for call in part.calls}
        inside = {*self.facts.ops_of([call for part in parts for call in part.calls])}
        like = {re.sub(r"\d+", "#", path) for path in drawn}
        rows = self.graph.calls[thing.calls[0] : max(thing.calls)] if len(drawn) > 1 and thing.calls else ()
        between = (row for row in rows if row.module not in drawn and re.sub(r"\d+", "#", row.module) in like)
        others = (row for row in between if self._items(row.id))  # a dropout computes nothing here
        yield from (row.module for row in others if not inside.issuperset(self.facts.ops_of([row.id])))

    def _held(
        self, thing: Node | Box, drawn: Coverage | None, call: int, said: Sequence[_Sentence]
    ) -> Iterator[tuple[bool, ...]]:
        """Choices of the sentences, each of which makes what ran in a call of what is drawn."""
        root = thing.calls[0] if drawn is None or isinstance(thing, Box) else drawn.root
        here, there = self._items(root), self._items(call)
        for which in product((False, True), repeat=len(said)):
            chosen = [sentence for sentence, holds in zip(said, which, strict=True) if holds]
            less, more = {name for it in chosen for name in it.less}, {name for it in chosen for name in it.more}
            idle = [(name, it in chosen) for it in said for name in it.less if self._is_idle(name, root)]
            if any(self._is_idle(name, call) == is_gone for name, is_gone in idle):
                continue
            less -= {name for name, _ in idle}
            lists = {frozenset((word,)) for it in chosen for _, word in it.counted}
            named = [[_is_one_of(it, less - more) for it in here], [_is_one_of(it, more - less) for it in there]]
            pairs = _aligned(here, there, _loose(here, less | lists), _loose(there, more | lists), named)
            if pairs is None or not all(n in self._numbers(call, word) for it in chosen for n, word in it.counted):
                continue
            if not all(n in self._numbers(call, word, name) for it in chosen for *name, n, word in it.inside):
                continue
            some = {frozenset((name,)) for it in chosen for _, name, _, _ in it.inside}
            new = (name for name in more - less - lists - some if not any(name <= it.words for it in here))
            if any(self._is_of_some(call, word) for name in new for word in name):
                continue
            partners = {i: there[j] for i, j in pairs.items()}, {j: here[i] for i, j in pairs.items()}
            gone, come = less - more - some, more - less - some
            is_so = _are_gone(here, gone, partners[0]) and _are_gone(there, come, partners[1])
            kept = [(here[i], it) for i, it in partners[0].items() if not _is_one_of(it, lists)]
            if is_so and all(self._is_said(a, b, thing, drawn) for a, b in kept):
                yield which

    def _is_idle(self, name: frozenset[str], root: int) -> bool:
        """Whether a name is for a dropout in a call, which computes nothing there, and for nothing else."""
        rows = map(self.graph.ops.__getitem__, self.facts.ops_of([root]))
        return not any(_is_one_of(it, {name}) for it in self._items(root)) and any(
            name <= {*self._words(row, row.inputs, root)} for row in rows if "dropout" in row.name
        )

    def _is_said(self, here: _Ran, there: _Ran, thing: Node | Box, around: Coverage | None) -> bool:
        """Whether the settings of a layer in which another at its place differs are said where it is drawn."""
        a, b = (self.sameness.settings(self.graph.ops[item.op].call) for item in (here, there))
        drawn = [around.view.nodes[at] for at in around.nodes.get(here.op, ())] if around is not None else []
        for letter in [node.inset for node in drawn]:  # what is in it may be drawn there
            drawn += [it for inner in self.sameness.view.insets if inner.letter == letter for it in inner.view.nodes]
        spans = [
            span for node in (thing, *drawn) for part in (node, *getattr(node, "parts", ())) for span in part.spans
        ]
        for name in a.keys() & b.keys() - {""} if isinstance(here.sign, tuple) else ():
            said = ({*span.values, *UNSAID} for span in spans if span.name == name)
            if a[name] != b[name] and not any({a[name], b[name]} <= values for values in said):
                return False
        return True

    def _numbers(self, call: int, word: str, inside: Sequence[Any] = ()) -> list[int]:
        """How many entries lists of a name in a call have; of those with a layer inside, or without it."""
        rows = (row for row in self.graph.calls[call + 1 : self.facts.end[call]] if self.facts.ops_of([row.id]))
        rows = (row for row in rows if word in self._entry(row.id, call))
        kept = (row for row in rows if not inside or self._has(row.id, inside[1]) is inside[0])
        return [*Counter(row.parent for row in kept).values()]

    def _is_of_some(self, call: int, name: str) -> bool:
        """Whether some entries of a list in a call have a layer of a name in them, and others have not."""
        lists: dict[object, list[bool]] = {}
        for row in self.graph.calls[call + 1 : self.facts.end[call]]:
            home, _, last = row.module.rpartition(".")
            if last.isdigit() and self._items(row.id):
                lists.setdefault((row.parent, home), []).append(self._has(row.id, name))
        return any(len({*entries}) > 1 for entries in lists.values())

    def _has(self, call: int, name: str) -> bool:
        """Whether a layer at a path that ends in a name does something in a call."""
        inside = (at for at in range(call + 1, self.facts.end[call]) if self._path(at, call).endswith(f".{name}"))
        return any(map(self._items, inside))

    def _items(self, root: int) -> list[_Ran]:
        facts, items, origin, pieces = self.facts, dict[object, _Ran](), dict[int, int](), set[int]()
        for op in map(self.graph.ops.__getitem__, sorted(facts.ops_of([root])) if root not in self._known else ()):
            is_side = all(facts.is_side[value] for value in op.outputs) or "dropout" in op.name
            after = [self.graph.ops[at] for value in op.outputs for at in facts.readers[value] if op.name == "pad"]
            homes = (op.call, self.graph.calls[op.call].parent)  # a layer that pads and convolves is one
            is_side |= bool(after) and all(it.name.startswith("conv") and it.call in homes for it in after)
            if is_side or facts.is_move(op, self.sameness.itself):
                moved = [value for value in op.inputs if not facts.is_side[value]] or op.inputs
                origin.update((value, origin.get(moved[0], moved[0])) for value in op.outputs if moved)
                pieces.update(op.outputs if len(op.outputs) > 1 or not pieces.isdisjoint(moved) else ())
                continue
            module = self.graph.modules.get(self.graph.calls[op.call].module)
            reads = [origin.get(value, value) for value in op.inputs]
            is_leaf = module is not None and module.native and not facts.children[op.call] and op.call != root
            rows, sign = [self.graph.values[value] for value in reads], op.name.strip("_")
            own = self.sameness.settings(op.call) if is_leaf else {}
            is_conv = "Conv" in own.get("class", "") and re.search(r"\.\d", self._path(op.call, root))
            is_point = {*own.get("kernel_size", "").strip("()").split(", ")} == {"1"}
            kind = (own.get("groups") == "depthwise", is_point) if is_conv else ()
            is_heavy = op.name in _HEAVY or any(row.kind == "param" and len(row.shape) > 1 for row in rows)
            words, near = frozenset(self._words(op, reads, root)), {*reads, *op.outputs}
            near |= set() if op.call == root or facts.children[op.call] else {-1 - op.call}  # all ops of one norm
            leaf = own.get("class"), kind, pieces.isdisjoint(op.inputs)  # a half is not all of it
            beside = facts.children[self.graph.calls[op.call].parent or 0]
            place = self._path(op.call, root), len(beside)
            item = _Ran(op.id, leaf if is_leaf else sign, place, words, is_heavy, frozenset(near))
            items.setdefault((is_leaf, op.call if is_leaf else op.id), item)
        return self._known.setdefault(root, [*items.values()])

    def _words(self, op: Op, reads: Sequence[int], root: int) -> Iterator[str]:
        """Names for an op: its own, of layers and functions around it, stretches of their paths, of what it reads."""
        name, graph, frame = op.name.strip("_"), self.graph, op.frame
        yield from (name, SIGNS.get(name, name), "attention" if name.startswith("scaled_dot") else name)
        while frame is not None:
            yield from (graph.frames[frame].short, f"{graph.frames[frame].short}()")
            frame = graph.frames[frame].parent
        for row in takewhile(lambda row: row.id > root, graph.around(op.call)):
            cls, parts = self.sameness.settings(row.id)["class"], self._path(row.id, root).split(".")
            yield from (cls, re.sub(r"[123]d$", "", cls), *self._entry(row.id, root))
            yield from (".".join(parts[i:j]) for i, j in combinations(range(len(parts) + 1), 2))
        rows, first = [graph.values[value] for value in reads], min(self.facts.ops_of([op.call]))
        given = {value: path for row in graph.around(op.call) for path, value in row.inputs.items() if row.id >= root}
        yield from ((row.name or given.get(row.id, "")).rpartition(".")[2] for row in rows)
        data = [row for row in rows if row.kind not in _WEIGHTS]
        yield from ("skip" for it in data if name in _SUMS and (it.producer is None or it.producer < first))
        if name in _HIDING or (name in SIGNS and any(self.facts.is_side[value] for value in op.inputs)):
            yield "mask"

    def _entry(self, call: int, root: int) -> set[str]:
        """`#block` of `blocks.1`, and its class likewise."""
        name = next((part for part in reversed(self._path(call, root).split(".")) if not part.isdigit()), "")
        return {f"#{word.rstrip('0123456789').rstrip('s')}" for word in (name, self.sameness.settings(call)["class"])}

    def _path(self, call: int, root: int) -> str:
        """With a dot in front."""
        return f".{self.graph.calls[call].module}".removeprefix(f".{self.graph.calls[root].module}")


def _sentence(text: str) -> _Sentence | None:
    if not (match := _SENTENCE.fullmatch(text)) or "inputs of " in text:
        return None
    less, more, counted, inside = {""}, {""}, set[tuple[int, str]](), set[tuple[bool, str, int, str]]()
    for how, names in _PHRASE.findall(match[2]):
        for name in re.split(", | and ", names):
            if within := _WITHIN.fullmatch(name):
                name, is_more = within[1].removeprefix("identity "), within[1] == within[1].removeprefix("identity ")
                inside.add((is_more and how == "with", name, int(within[2]), f"#{within[3]}"))
                name = within[1]
            new, is_exchange, old = name.removeprefix("another ").partition(" instead of ")
            if number := re.fullmatch(r"(\d+) (.*?)s?", name):
                counted.add((int(number[1]), f"#{number[2]}"))
            elif name.startswith("identity ") and not is_exchange:
                less.add(name.removeprefix("identity "))
            else:
                more |= {new} if is_exchange or new != name or how == "with" else set()
                less |= {old} if is_exchange else {new} if new != name or how == "without" else set()
    gone, come = ({frozenset(name.split(" in ")) for name in names - {""}} for names in (less, more))
    which = (match[1] or "").replace("first", "1st")
    spans = re.findall(r"(\d+)[a-z]+(?:–(\d+))?", which)
    places = tuple(place - 1 for a, b in spans for place in range(int(a), int(b or a) + 1))
    n = len(places) or int(which) if which else None
    return _Sentence(text, n, gone, come, counted, places, inside)


def _is_one_of(item: _Ran, names: Set[frozenset[str]]) -> bool:
    return any(name <= item.words for name in names)


def _are_gone(items: Sequence[_Ran], names: Set[frozenset[str]], partners: Mapping[int, _Ran]) -> bool:
    """Whether each name is for something that only one of two rows has, and, but for classes, for no layer of both.

    An op of both may be named after what it reads in the one.
    """
    for name in names:
        of_name = [i for i, item in enumerate(items) if name <= item.words]
        both = {i for i in of_name if i in partners and (name <= partners[i].words or isinstance(items[i].sign, tuple))}
        is_kept = any(items[i].is_heavy for i in both) and not any(word[:1].isupper() for word in name)
        if is_kept or len(both) == len(of_name):
            return False
    return True


def _loose(items: Sequence[_Ran], names: Set[frozenset[str]]) -> set[int]:
    """The items that a name is for, and light ones next to them."""
    loose = {i for i, item in enumerate(items) if _is_one_of(item, names)}
    for _ in range(2):
        near = frozenset(value for i in loose for value in items[i].near)
        loose |= {i for i, it in enumerate(items) if not it.is_heavy and not near.isdisjoint(it.near)}
    return loose


def _are_alike(here: _Ran, there: _Ran) -> bool:
    """Whether two things are of one sort, or layers of one class at one place of lists that are as long."""
    a, b = here.sign, there.sign
    are_layers = isinstance(a, tuple) and isinstance(b, tuple) and a[::2] == b[::2]
    return a == b or (are_layers and bool(here.place[0]) and here.place == there.place)


def _aligned(
    here: Sequence[_Ran], there: Sequence[_Ran], less: set[int], more: set[int], named: Sequence[Sequence[bool]]
) -> dict[int, int] | None:
    """Positions of like items of two rows, with the fewest left out that may be; None if others would have to be.

    Of several ways the one with most at their places. A layer that is named has no partner at another place.
    """
    best: dict[tuple[int, int], tuple[int, Any]] = {(len(here), len(there)): (0, ())}
    """From two positions on what that costs, and the first pair with those behind it."""
    cost = len(here) + 1  # more than any pairs from other places
    for i, j in product(range(len(here), -1, -1), range(len(there), -1, -1)):
        out = [best[at] for at, is_free in (((i + 1, j), i in less), ((i, j + 1), j in more)) if is_free and at in best]
        ways = [*([best[i, j]] if (i, j) in best else []), *((n + cost, behind) for n, behind in out)]
        if (i + 1, j + 1) in best and _are_alike(here[i], there[j]):
            n, behind = best[i + 1, j + 1]
            is_away = here[i].place[0] != there[j].place[0]
            if not (is_away and isinstance(here[i].sign, tuple) and (named[0][i] or named[1][j])):
                ways.insert(0, (n + is_away, (i, j, behind)))
        if ways:
            best[i, j] = min(ways, key=lambda way: way[0])
    pairs, rest = dict[int, int](), best.get((0, 0), (0, None))[1]
    while rest:
        i, j, rest = rest
        pairs[i] = j
    return None if rest is None else pairs
