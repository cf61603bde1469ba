"""Which layer of one model is which of another: by path, then by what it is and what stands beside it.

The modules of a Graph are a tree in the order in which they run. Paths change when a layer is inserted or renamed, so a
layer is compared by its class, its settings and what is in it. Ids of equal subtrees come from one table for both
Graphs, so comparing two subtrees is comparing two numbers.

Neighbours in a matched layer are put side by side in order, so a layer that is inserted into a numbered `Sequential`
makes one difference and not one for each that follows. What is left then is looked for elsewhere: a layer that was
moved into another one, or out of it, is found by what it consists of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from torchrecorder.graph import Graph, Module
from torchrecorder.labels.names import clean
from torchrecorder.labels.summaries import summary
from torchrecorder.view.node_kinds import torch_kind
from torchrecorder.view.settings import SIZE_NAMES, read

Table = dict[object, int]
"""Ids of what was seen, shared by the two Graphs that are compared."""


@dataclass(eq=False, slots=True)
class Layer:
    """A module with those in it, in the order of their first calls."""

    path: str
    module: Module
    order: int
    """When it, or something in it, was called first."""
    parent: Layer | None = None
    children: list[Layer] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    exact: int = 0
    """The same for layers of which everything is equal but their paths."""
    loose: int = 0
    """The same for layers of which the classes are equal, not the settings."""
    inner: Counter[str] = field(default_factory=Counter)
    """How often each class of torch's own is in it, itself included."""

    @property
    def cls(self) -> str:
        """Its class without the Python module, which changes when code is moved."""
        return self.module.cls.rpartition(".")[2]

    @property
    def name(self) -> str:
        around = self.parent.path if self.parent is not None else ""
        return self.path[len(around) :].removeprefix(".")

    @property
    def is_leaf(self) -> bool:
        """Whether its settings say all of what it does."""
        return self.module.native and not self.children

    @property
    def kind(self) -> str:
        return torch_kind(self.module)

    def walk(self) -> Iterator[Layer]:
        pending: list[Layer] = [self]
        while pending:
            layer = pending.pop()
            yield layer
            pending.extend(reversed(layer.children))


def layer_tree(graph: Graph, table: Table) -> Layer:
    layers = {path: Layer(path, module, len(graph.calls)) for path, module in graph.modules.items()}
    for layer in layers.values():
        if layer.path:
            layer.parent = layers[_holder(layer.path, layers)]
    for call in graph.calls:
        at = layers.get(call.module) if call.kind == "module" else None
        while at is not None and at.order == len(graph.calls):
            at.order = call.id
            at = at.parent
    for layer in sorted(layers.values(), key=lambda layer: layer.order):
        if layer.parent is not None:
            layer.parent.children.append(layer)
    for value in graph.values:
        if value.kind == "param" and value.name and value.meta is not None:
            holder = layers[_holder(value.name, layers)]
            holder.params[value.name[len(holder.path) :].removeprefix(".")] = "×".join(map(str, value.meta.shape))
    for layer in reversed([*layers[""].walk()]):
        own = (layer.cls, layer.module.extra_repr, tuple(sorted(layer.params.items())))
        exact = ("exact", own, tuple(child.exact for child in layer.children))
        loose = ("loose", layer.cls, tuple(child.loose for child in layer.children))
        layer.exact, layer.loose = (table.setdefault(key, len(table)) for key in (exact, loose))
        layer.inner.update([layer.cls] if layer.module.native else [])
        for child in layer.children:
            layer.inner.update(child.inner)
    return layers[""]


def _holder(path: str, layers: dict[str, Layer]) -> str:
    while path:
        path = path.rpartition(".")[0]
        if path in layers:
            return path
    return ""


_POSITIONS: dict[str, tuple[str, ...]] = {
    "Conv": ("in_channels", "out_channels"),
    "LazyConv": ("in_channels", "out_channels"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "BatchNorm": ("num_features",),
    "SyncBatchNorm": ("num_features",),
    "InstanceNorm": ("num_features",),
    "LayerNorm": ("normalized_shape",),
    "RMSNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    **dict.fromkeys(("RNN", "LSTM", "GRU"), ("input_size", "hidden_size", "num_layers")),
}
"""What the values without a name are, by how the names of classes begin."""
_WIDTHS = SIZE_NAMES - {"num_embeddings"} | {"groups"}
"""Settings that follow from the widths of the layers before."""
_DEFAULTS = {"padding": "0", "dilation": "1", "groups": "1", "bias": "True", "padding_idx": "None"}
"""What torch leaves out of the text of a layer."""
UNSEEN = ("inplace",)
"""Settings that change nothing of what a model computes."""
_TUPLE = re.compile(r"\((\d+(?:, \d+)*),?\)")
LONGEST = 60
"""Characters of the text of a setting, or of the arguments of an op."""


class Setting(NamedTuple):
    name: str
    old: str
    new: str

    @property
    def is_width(self) -> bool:
        return self.name in _WIDTHS and self.old.isdigit() and self.new.isdigit()

    def __str__(self) -> str:
        if not self.old or not self.new:
            return f"{self.name} {'' if self.new else 'was '}{self.new or self.old}"
        return f"{self.name} {self.old} → {self.new}"


def changed_settings(old: Layer, new: Layer) -> Iterator[Setting]:
    one, other = old.module.extra_repr, new.module.extra_repr
    if one == other:
        return
    settings, others = _by_name(old.cls, one), _by_name(new.cls, other)
    if not settings or not others:
        yield Setting("settings", _line(one), _line(other))
        return
    for name in dict.fromkeys((*settings, *others)):
        before, now = (found.get(name, _DEFAULTS.get(name, "")) for found in (settings, others))
        if before != now and name not in UNSEEN:
            yield Setting(name, _line(before), _line(now))


def described(layer: Layer) -> str:
    """A layer in words: `Conv2d 3×3 /2 · 8→16`; one that is not torch's own by its class."""
    return summary(layer.cls, layer.module.extra_repr) if layer.is_leaf else layer.cls


def _by_name(cls: str, extra_repr: str) -> dict[str, str]:
    arguments = read(extra_repr)
    positions = next((names for start, names in _POSITIONS.items() if cls.startswith(start)), ())
    found = {
        positions[i] if i < len(positions) else f"argument {i + 1}": value for i, value in enumerate(arguments.unnamed)
    } | arguments.named
    return {name: _TUPLE.sub(lambda it: it[1].replace(", ", "×"), value) for name, value in found.items()}


def _line(text: str) -> str:
    return clean(" ".join(text.split()), LONGEST)


_LIKELY = 0.3  # the least score of layers that are taken for one another where they stand at the same place
_SURE = 0.6  # the same where they stand at different places
_SAME_NAME = 0.25
"""Added to the score of likely layers for one name: of two that are about as likely, that one is taken."""
_MOST = 200_000
"""More pairs of layers than this are not compared wherever they stand: such models have little in common."""


class Matching:
    """The layers of an old and a new Graph, and which are the same."""

    def __init__(self, old: Graph, new: Graph) -> None:
        self.old_graph, self.new_graph = old, new
        table: Table = {}
        self.old, self.new = layer_tree(old, table), layer_tree(new, table)
        self.new_of: dict[Layer, Layer] = {}
        self.old_of: dict[Layer, Layer] = {}
        self._match(*self._roots())
        # so large that it is not by chance
        self._match_elsewhere(lambda old, new: old.exact == new.exact and bool(old.children))
        for one in self.old.walk():
            if (other := self.new_of.get(one)) is not None:
                for pair in _likely(*self._free(one, other)):
                    self._match(*pair)
        self._match_elsewhere(lambda old, new: old.exact == new.exact)
        self._match_elsewhere(_is_surely)

    def _roots(self) -> tuple[Layer, Layer]:
        """The two models; if one of them is a layer in the other now, that layer in its place."""
        if self.old.cls == self.new.cls:
            return self.old, self.new
        inner = [(likeness(self.old, it), self.old, it) for it in self.new.walk() if it.cls == self.old.cls]
        inner += [(likeness(it, self.new), it, self.new) for it in self.old.walk() if it.cls == self.new.cls]
        best = max(inner, key=lambda found: found[0], default=(0.0, self.old, self.new))
        return best[1:] if best[0] > max(_SURE, likeness(self.old, self.new)) else (self.old, self.new)

    @property
    def pairs(self) -> list[tuple[Layer, Layer]]:
        return sorted(((old, new) for new, old in self.old_of.items()), key=lambda pair: self.position[pair[1]])

    @cached_property
    def position(self) -> dict[Layer, int]:
        """Positions of layers in their models, an outer one before those in it."""
        return {layer: i for root in (self.old, self.new) for i, layer in enumerate(root.walk())}

    @cached_property
    def by_path(self) -> tuple[dict[str, Layer], dict[str, Layer]]:
        old, new = ({layer.path: layer for layer in root.walk()} for root in (self.old, self.new))
        return old, new

    def removed(self) -> list[Layer]:
        """Layers of the old model that the new one does not have; not those within another of them."""
        return _outermost(self.old, self.new_of)

    def added(self) -> list[Layer]:
        """The same of the new model."""
        return _outermost(self.new, self.old_of)

    def _match(self, old: Layer, new: Layer) -> None:
        """A pair, and what in it has the same name or is exactly the same."""
        pending = [(old, new)]
        while pending:
            one, other = pending.pop()
            self.new_of[one], self.old_of[other] = other, one
            pending += _certain(*self._free(one, other))

    def _free(self, old: Layer, new: Layer) -> tuple[list[Layer], list[Layer]]:
        ones = [child for child in old.children if child not in self.new_of]
        return ones, [child for child in new.children if child not in self.old_of]

    def _match_elsewhere(self, is_same: Callable[[Layer, Layer], bool]) -> None:
        """Pairs of layers that stand at different places, the largest first."""
        olds = [it for it in self.old.walk() if it not in self.new_of and it.module.params.total]
        olds.sort(key=lambda layer: (-layer.module.params.total, -sum(layer.inner.values())))
        left = [it for it in self.new.walk() if it not in self.old_of and it.module.params.total]
        if len(olds) * len(left) > _MOST:  # what has no parameters is too common to be known again
            return
        for old in olds:
            if old in self.new_of:
                continue
            news = [new for new in left if new not in self.old_of and is_same(old, new)]
            if news:
                self._match(old, max(news, key=lambda new: (new.name == old.name, -self.position[new])))


def _is_surely(old: Layer, new: Layer) -> bool:
    if not old.children or not new.children:
        return old.loose == new.loose and old.name == new.name
    return likeness(old, new) >= _SURE


def _certain(ones: list[Layer], others: list[Layer]) -> list[tuple[Layer, Layer]]:
    """The children of two layers that have one name, or are exactly the same in order."""
    named = {other.name: other for other in others if not other.name.isdigit()}
    pairs = [(one, named[one.name]) for one in ones if one.name in named]
    # One name may be that of a layer in one model and of what is around it in another.
    found = [(a, b) for a, b in pairs if bool(a.children) == bool(b.children) or likeness(a, b) >= _LIKELY]
    done = {layer for pair in found for layer in pair}
    return found + _in_order(*([it for it in them if it not in done] for them in (ones, others)), least=1.0)


def _likely(ones: list[Layer], others: list[Layer]) -> list[tuple[Layer, Layer]]:
    """The children of two layers that are about the same in order, or exactly the same in another order."""
    found = _in_order(ones, others, least=_LIKELY)
    done = {layer for pair in found for layer in pair}
    for one in (it for it in ones if it not in done):
        same = next((it for it in others if it not in done and it.exact == one.exact), None)
        if same is not None:
            done.add(same)
            found.append((one, same))
    return found


def _in_order(ones: list[Layer], others: list[Layer], *, least: float) -> list[tuple[Layer, Layer]]:
    def score(i: int, j: int) -> float:
        one, other = ones[i], others[j]
        fits = likeness(one, other)
        return fits + (_SAME_NAME if one.name == other.name else 0) if fits >= least else 0.0

    pairs = aligned([(it.name, it.exact) for it in ones], [(it.name, it.exact) for it in others], score)
    return [(ones[i], others[j]) for i, j in pairs]


def likeness(one: Layer, other: Layer) -> float:
    """A measure of how much two layers are the same, from 0 to 1."""
    if one.exact == other.exact:
        return 1.0
    if one.loose == other.loose:
        return 0.8
    common, size = sum((one.inner & other.inner).values()), sum((one.inner | other.inner).values())
    inside = common / size if size else 0.0
    if one.cls == other.cls:
        return 0.4 + 0.3 * inside
    if not one.children and not other.children:
        is_swap = one.module.native and other.module.native and one.kind == other.kind != "op"
        is_swap = is_swap and "Identity" not in (one.cls, other.cls)
        return 0.5 if is_swap else 0.0
    return 0.7 * inside if one.children and other.children else 0.0


def _outermost(root: Layer, known: dict[Layer, Layer]) -> list[Layer]:
    return [it for it in root.walk() if it not in known and (it.parent is None or it.parent in known)]


_LARGEST = 250_000  # more pairs than this are not scored one by one


def aligned(
    ones: Sequence[Hashable], others: Sequence[Hashable], score: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """The positions that stand side by side, in order, with the largest sum of scores.

    Args:
        ones: What is known of each thing of the first sequence; equal ones are preferred at both ends, and wherever
            the sequences are too long to score all pairs.
        others: The same of the second.
        score: How well the things at two positions fit together; 0 if they do not.
    """
    start, end = 0, 0
    shorter = min(len(ones), len(others))
    while start < shorter and ones[start] == others[start]:
        start += 1
    while end < shorter - start and ones[-1 - end] == others[-1 - end]:
        end += 1
    found = [(i, i) for i in range(start)]
    n, m = len(ones) - start - end, len(others) - start - end
    if n * m > _LARGEST:
        matcher = SequenceMatcher(None, ones[start : start + n], others[start : start + m], autojunk=False)
        inside = [(b.a + k, b.b + k) for b in matcher.get_matching_blocks() for k in range(b.size)]
    else:
        inside = _best(n, m, lambda i, j: score(start + i, start + j))
    found += [(start + i, start + j) for i, j in inside]
    return found + [(len(ones) - k, len(others) - k) for k in range(end, 0, -1)]


def _best(n: int, m: int, score: Callable[[int, int], float]) -> list[tuple[int, int]]:
    scores = [[score(i, j) for j in range(m)] for i in range(n)]
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        row, below, here = best[i], best[i + 1], scores[i]
        for j in range(m - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + here[j] if here[j] > 0 else 0.0)
    found, i, j = [], 0, 0
    while i < n and j < m:
        if scores[i][j] > 0 and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found
