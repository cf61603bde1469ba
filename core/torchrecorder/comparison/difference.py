"""Two Graphs compared: what changed, by how many parameters and FLOPs, and which shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from torchrecorder.comparison.changes import NUMBER, Change, counted, folded, of_classes, of_settings, pattern
from torchrecorder.comparison.flow import Flow, WiringChanges
from torchrecorder.comparison.layers import Layer, Matching, Setting, changed_settings, described
from torchrecorder.errors import listed
from torchrecorder.graph import Graph, batch_size, symbolic
from torchrecorder.labels.names import shape
from torchrecorder.view.model import Mark

_FEW = 0.1  # a smaller part of the layers in common is nothing in common
_LISTED = 3  # layers that a change names; of more it says how many


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """Shapes of the results of a layer, before and now."""

    place: str
    """Its path; `input` and `output` for those of the model."""
    old: str
    new: str


class Difference:
    def __init__(self, old: Graph, new: Graph) -> None:
        self.old, self.new = old, new
        self.matching = Matching(old, new)
        self.flow = Flow(self.matching)
        self._position = self.matching.position
        self.changes = self._changes()
        self.inputs = [*_ends("input", *(self._shapes(graph, graph.inputs) for graph in (old, new)))]
        lasts = ({path: values[-1] for path, values in it.outputs.items() if values} for it in (old, new))
        self.outputs = [*_ends("output", *(self._shapes(*it) for it in zip((old, new), lasts, strict=True)))]
        self.shapes = [*self._changed_shapes()] if not self.inputs else []
        """Of layers in the model; with other inputs all of them differ, so there are none."""

    @property
    def is_empty(self) -> bool:
        """Whether a reader of the two models would see no difference."""
        return not (self.changes or self.inputs or self.outputs)

    @property
    def is_unrelated(self) -> bool:
        leaves = [layer for layer in self.matching.old.walk() if layer.module.params.own]
        kept = [it for it in leaves if it in self.matching.new_of and self.matching.new_of[it].cls == it.cls]
        others = sum(layer.module.params.own > 0 for layer in self.matching.new.walk())
        return bool(leaves and others) and len(kept) < _FEW * min(len(leaves), others)

    def _changes(self) -> list[Change]:
        changed: list[tuple[Layer, tuple[Setting, ...], int]] = []
        renamed: list[tuple[Layer, Layer]] = []
        found = [*_presence(self.matching), *WiringChanges(self.flow).changes()]
        for old, new in self.matching.pairs:
            found += self._of_place(old, new)
            if old.cls != new.cls and old.parent is not None and new.parent is not None:
                if old.module.native or new.module.native:
                    found.append(self._changed(new, f"{described(old)} → {described(new)}", old))
                else:
                    renamed.append((old, new))
            if settings := tuple(changed_settings(old, new)) if old.cls == new.cls else ():
                changed.append((new, settings, new.module.params.own - old.module.params.own))
            elif old.cls == new.cls or not (old.module.native or new.module.native):
                found += self._of_params(old, new)
            found += self._of_training(old, new)
        found += of_classes(renamed, self._position)
        return sorted(
            [*folded(found), *self._shifted(), *of_settings(changed, self._position)], key=lambda change: change.order
        )

    def _changed(self, new: Layer, text: str, old: Layer) -> Change:
        params = new.module.params.own - old.module.params.own
        return Change("changed", (new.path,) if new.path else (), text, params, self._position[new])

    def _of_place(self, old: Layer, new: Layer) -> Iterator[Change]:
        if old.parent is None or new.parent is None:
            return
        text = f"renamed, was {old.name}"
        if self.matching.new_of.get(old.parent) is not new.parent:
            is_alike = NUMBER.findall(old.path) == NUMBER.findall(new.path)
            text = f"moved, was {pattern(old.path) if is_alike else old.path}"
        elif pattern(old.name) == pattern(new.name):
            return
        yield Change("moved", (new.path,), text, 0, self._position[new])

    def _of_params(self, old: Layer, new: Layer) -> Iterator[Change]:
        """Parameters that a layer has of its own, where no setting says so."""
        for name in dict.fromkeys((*old.params, *new.params)):
            before, now = old.params.get(name, ""), new.params.get(name, "")
            if before != now:
                change = f"{before} → {now}" if before and now else f"{now} added" if now else f"{before} removed"
                yield self._changed(new, f"parameter {name} {change}", old)

    def _of_training(self, old: Layer, new: Layer) -> Iterator[Change]:
        if old.parent and self._is_frozen(old.parent) is not None:
            return
        if (frozen := self._is_frozen(old)) is not None:
            yield self._changed(new, "frozen" if frozen else "no longer frozen", new)

    def _is_frozen(self, old: Layer) -> bool | None:
        """Whether a layer has been frozen; None if it is as it was, or in part."""
        new = self.matching.new_of.get(old)
        if new is None:
            return None
        before, now = old.module.params, new.module.params
        was, is_ = before.trainable == 0 < before.total, now.trainable == 0 < now.total
        is_all = all(params.trainable in (0, params.total) and params.total for params in (before, now))
        return is_ if is_all and was != is_ else None

    def _shifted(self) -> Iterator[Change]:
        """Neighbours with numbers that moved on together: `3–20 are 4–21 now`."""
        for around in [new for _, new in self.matching.pairs]:
            stayed = [(self.matching.old_of[it], it) for it in around.children if it in self.matching.old_of]
            pairs = [
                (int(old.name), int(new.name))
                for old, new in stayed
                if old.parent is not None and self.matching.new_of.get(old.parent) is around
                if old.name.isdigit() and new.name.isdigit() and old.name != new.name
            ]
            if runs := [[*run] for _, run in groupby(pairs, lambda pair: pair[1] - pair[0])]:
                path = (around.path,) if around.path else ()
                words = [f"{_range(run, 0)} {'are' if run[1:] else 'is'} {_range(run, 1)} now" for run in runs]
                shown = f"{words[0]} … {words[-1]}" if len(words) > 2 else ", ".join(words)
                yield Change("moved", path, f"numbers: {shown}", 0, len(self._position))

    def _shapes(self, graph: Graph, values: Mapping[str, int]) -> dict[str, str]:
        has_batch = batch_size(self.old) is not None and batch_size(self.new) is not None
        metas = {path: symbolic(graph, it) if has_batch else graph.values[it].meta for path, it in values.items()}
        return {path: shape(meta.shape) for path, meta in metas.items() if meta is not None}

    def _changed_shapes(self) -> Iterator[ShapeChange]:
        seen: set[str] = {""}
        for new, old in sorted(self.flow.new.other.items()):
            if not new.is_call:
                continue
            one, other = self.old.calls[old.id], self.new.calls[new.id]
            if other.kind != "module" or other.module in seen:
                continue
            seen.add(other.module)
            before = [*self._shapes(self.old, dict(one.outputs)).values()]
            now = [*self._shapes(self.new, dict(other.outputs)).values()]
            if before != now and before and now:
                yield ShapeChange(other.module, ", ".join(before), ", ".join(now))


def _ends(word: str, old: dict[str, str], new: dict[str, str]) -> Iterator[ShapeChange]:
    if [*old.values()] == [*new.values()]:
        return
    for path in dict.fromkeys((*old, *new)):
        if old.get(path) != new.get(path):
            yield ShapeChange(f"{word} {path}".strip(), old.get(path, ""), new.get(path, ""))


def _range(pairs: list[tuple[int, int]], side: int) -> str:
    first, last = pairs[0][side], pairs[-1][side]
    return str(first) if first == last else f"{first}–{last}"


@dataclass(slots=True)
class _Neighbours:
    """Neighbours that are all added, or all removed; the layer around them and the one before are of the new model."""

    around: Layer
    after: Layer | None
    layers: list[Layer]

    @property
    def params(self) -> int:
        return sum(layer.module.params.total for layer in self.layers)

    @property
    def what(self) -> str:
        return listed(counted([described(layer) for layer in self.layers]), _LISTED, "more layers")


def _presence(matching: Matching) -> Iterator[Change]:
    """Layers of one model only: added, removed, replaced, more of them or fewer."""
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
            order = matching.position[run.after or run.around]
            for layer in run.layers:
                kept = sum(it.module.params.total for it in _apart(layer, matching.new_of))
                params = kept - layer.module.params.total
                yield Change("removed", (layer.path,), f"{described(layer)} removed", params, order)
            continue
        added.remove(instead)
        where = tuple(layer.path for layer in instead.layers)
        text = f"{run.what} replaced by {instead.what}"
        order = matching.position[instead.layers[0]]
        yield Change("changed", where, text, instead.params - run.params, order, is_counted=True)
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
        sides = (new.children, matching.old_of), (old.children, matching.new_of)
        added, removed = (
            [it for it in them if it not in known and it.children and it.name.rpartition(".")[2].isdigit()]
            for them, known in sides
        )
        for cls in dict.fromkeys(child.cls for child in (*added, *removed)):
            more, fewer = ([it for it in them if it.cls == cls] for them in (added, removed))
            now, before = ([it for it in them if cls in (it.cls, known.get(it, it).cls)] for them, known in sides)
            if bool(more) == bool(fewer) or not before or not now:
                continue
            params = sum(it.module.params.total for it in more) - sum(it.module.params.total for it in fewer)
            text = f"{len(before)} → {len(now)} {now[0].cls}"
            mark: Mark = "added" if more else "removed"
            yield Change(mark, (new.path,), text, params, matching.position[new]), more or fewer


def _runs(
    layers: Sequence[Layer], known: dict[Layer, Layer], in_new: Callable[[Layer], Layer | None]
) -> Iterator[_Neighbours]:
    wanted = {*layers}
    for around in dict.fromkeys(layer.parent for layer in layers if layer.parent is not None):
        here, after = in_new(around), None
        for is_run, group in groupby(around.children, wanted.__contains__):
            those = [*group]
            if is_run and here is not None:
                yield _Neighbours(here, after, those)
            elif not is_run:
                after = next((in_new(it) for it in reversed(those) if it in known), after)


def _apart(layer: Layer, known: dict[Layer, Layer]) -> list[Layer]:
    """Layers that both models have inside of a layer of only one; not those within them."""
    return [it for it in layer.walk() if it in known and it.parent not in known]


def _new(run: _Neighbours, matching: Matching) -> Iterator[Change]:
    place = ", as the first"
    if run.after is not None:  # by its class if its name is a number
        place = f", after {run.after.cls if pattern(run.after.name) == '*' else run.after.name}"
    place = "" if run.around.children == run.layers else place
    is_numbered = all(layer.name.isdigit() for layer in run.layers)
    if is_numbered and not any(_apart(layer, matching.old_of) for layer in run.layers):
        where = tuple(layer.path for layer in run.layers)
        order = matching.position[run.layers[0]]
        yield Change("added", where, f"{run.what} added{place}", run.params, order, is_counted=True)
        return
    for layer in run.layers:
        moved = _apart(layer, matching.old_of)
        params = layer.module.params.total - sum(it.module.params.total for it in moved)
        within = place
        if moved:
            around = listed([matching.old_of[it].path for it in moved], _LISTED)
            others = [described(it) for it in layer.children if it not in matching.old_of and it.module.native]
            besides = f", with {', '.join(others)}" if 0 < len(others) <= _LISTED else ""
            within = f" around {around}{besides}"
        yield Change("added", (layer.path,), f"{described(layer)} added{within}", params, matching.position[layer])
