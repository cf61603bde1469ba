"""Layers that one of two models has and the other has not: added, removed, replaced, more of them or fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torchrecorder.comparison.changes import Change, pattern
from torchrecorder.comparison.layers import Layer
from torchrecorder.comparison.matching import Matching
from torchrecorder.comparison.settings import described
from torchrecorder.errors import listed
from torchrecorder.view.model import Mark

_LISTED = 3


@dataclass(slots=True)
class _Stretch:
    """Neighbours that are all added, or all removed."""

    around: Layer
    """The layer that they are in, in the new model."""
    after: Layer | None
    """The layer before them, in the new model."""
    layers: list[Layer]

    @property
    def params(self) -> int:
        return sum(layer.module.params.total for layer in self.layers)

    @property
    def what(self) -> str:
        return listed([described(layer) for layer in self.layers], _LISTED, "more layers")


def presence(matching: Matching) -> Iterator[Change]:
    """What is there in one model only."""
    yield from _around(matching)
    known: set[Layer] = set()
    for change, layers in _counts(matching):
        yield change
        known.update(layers)
    added = [*_runs([it for it in matching.added() if it not in known], matching.old_of, lambda it: it)]
    removed = [*_runs([it for it in matching.removed() if it not in known], matching.new_of, matching.new_of.get)]
    for run in removed:
        instead = next((it for it in added if it.around is run.around and it.after is run.after), None)
        if instead is None:
            yield from _gone(run, matching)
            continue
        added.remove(instead)
        where = tuple(layer.path for layer in instead.layers)
        text = f"{run.what} replaced by {instead.what}"
        order = matching.position[instead.layers[0]]
        yield Change("changed", where, text, instead.params - run.params, order)
    for run in added:
        yield from _new(run, matching)


def _around(matching: Matching) -> Iterator[Change]:
    """The whole model, if the other one is a layer in it now, or was."""
    sides: tuple[tuple[Layer, dict[Layer, Layer], Mark], ...] = (
        (matching.new, matching.old_of, "added"),
        (matching.old, matching.new_of, "removed"),
    )
    for root, known, mark in sides:
        if root in known:
            continue
        (inner,) = _apart(root, known)
        others = [child for child in root.children if not any(it is inner for it in child.walk())]
        with_ = ", ".join(f"{child.name} · {described(child)}" for child in others[:_LISTED])
        besides = f", with {with_}" if with_ else ""
        params = root.module.params.total - inner.module.params.total
        text = f"{root.cls} around {inner.cls}, its layer {inner.path}, {mark}{besides}"
        yield Change(mark, (), text, params if mark == "added" else -params)


def _counts(matching: Matching) -> Iterator[tuple[Change, list[Layer]]]:
    """Blocks of which there are more or fewer than before, `6 → 23 Bottleneck`, and which these are."""
    for old, new in matching.pairs:
        added = [child for child in new.children if child not in matching.old_of and _is_block(child)]
        removed = [child for child in old.children if child not in matching.new_of and _is_block(child)]
        for cls in dict.fromkeys(child.cls for child in (*added, *removed)):
            more, fewer = ([it for it in them if it.cls == cls] for them in (added, removed))
            before = [it for it in old.children if cls in (it.cls, _class(matching.new_of.get(it)))]
            now = [it for it in new.children if cls in (it.cls, _class(matching.old_of.get(it)))]
            if bool(more) == bool(fewer) or not before or not now:
                continue
            params = sum(it.module.params.total for it in more) - sum(it.module.params.total for it in fewer)
            text = f"{len(before)} → {len(now)} {now[0].cls}"
            mark: Mark = "added" if more else "removed"
            yield Change(mark, (new.path,), text, params, matching.position[new]), more or fewer


def _class(layer: Layer | None) -> str:
    return "" if layer is None else layer.cls


def _is_block(layer: Layer) -> bool:
    return layer.name.rpartition(".")[2].isdigit() and bool(layer.children)


def _runs(
    layers: Sequence[Layer], known: dict[Layer, Layer], in_new: Callable[[Layer], Layer | None]
) -> Iterator[_Stretch]:
    """Neighbours of those layers, with where they are in the new model."""
    wanted = {*layers}
    for around in dict.fromkeys(layer.parent for layer in layers if layer.parent is not None):
        here = in_new(around)
        run: list[Layer] = []
        after: Layer | None = None
        for child in around.children:
            if child in wanted:
                run.append(child)
                continue
            if run and here is not None:
                yield _Stretch(here, after, run)
            run = []
            after = in_new(child) if child in known else after
        if run and here is not None:
            yield _Stretch(here, after, run)


def _gone(run: _Stretch, matching: Matching) -> Iterator[Change]:
    order = matching.position[run.after or run.around]
    for layer in run.layers:
        kept = sum(it.module.params.total for it in _apart(layer, matching.new_of))
        yield Change("removed", (layer.path,), f"{described(layer)} removed", kept - layer.module.params.total, order)


def _apart(layer: Layer, known: dict[Layer, Layer]) -> list[Layer]:
    """What is in a layer that only one model has, and is in both; not what is within that."""
    return [it for it in layer.walk() if it in known and it.parent not in known]


def _new(run: _Stretch, matching: Matching) -> Iterator[Change]:
    place = f", after {_called(run.after)}" if run.after is not None else ", as the first"
    place = "" if run.around.children == run.layers else place
    is_numbered = all(layer.name.isdigit() for layer in run.layers)
    if is_numbered and not any(_apart(layer, matching.old_of) for layer in run.layers):
        where = tuple(layer.path for layer in run.layers)
        yield Change("added", where, f"{run.what} added{place}", run.params, matching.position[run.layers[0]])
        return
    for layer in run.layers:
        moved = _apart(layer, matching.old_of)
        params = layer.module.params.total - sum(it.module.params.total for it in moved)
        within = _wrapped(layer, moved, matching) if moved else place
        yield Change("added", (layer.path,), f"{described(layer)} added{within}", params, matching.position[layer])


def _wrapped(layer: Layer, moved: Sequence[Layer], matching: Matching) -> str:
    """What a new layer is around, and what it has besides."""
    around = listed([matching.old_of[it].path for it in moved], _LISTED)
    others = [described(it) for it in layer.children if it not in matching.old_of and it.module.native]
    besides = f", with {', '.join(others[:_LISTED])}" if others and len(others) <= _LISTED else ""
    return f" around {around}{besides}"


def _called(layer: Layer) -> str:
    """What stands for a layer beside others: its name, or its class if it has a number."""
    return layer.cls if pattern(layer.name) == "*" else layer.name
