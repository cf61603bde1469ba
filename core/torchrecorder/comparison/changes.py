"""What changed, in the words of a reviewer; what is the same change at several places is one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from torchrecorder.comparison.layers import Layer, Setting
from torchrecorder.errors import listed
from torchrecorder.view.model import Mark

NUMBER = re.compile(r"(?<![^.\[])\d+(?![^.\]])")
"""A part of a path that counts."""
_DIGITS = re.compile(r"\d+")
_LISTED = 4  # paths, or widths, that are named; more are a number
_MOST_WIDTHS = 4  # more changes of widths than this are said as numbers that changed all over the model


@dataclass(frozen=True, slots=True)
class Change:
    mark: Mark
    where: tuple[str, ...]
    """The paths of the layers, in the new model if they are in it; empty for the model itself."""
    text: str
    """What it is, without the path: `kernel_size 3×3 → 5×5`."""
    params: int = 0
    """By how many parameters all of them have more or less."""
    order: int = 0
    """Position of its layer, by which changes are listed."""
    is_counted: bool = False
    """Whether the text says how many layers these are."""

    @property
    def place(self) -> str:
        """Its place in a few words: `blocks.*.mlp`."""
        return shown_paths(self.where)


def counted(words: Sequence[str]) -> list[str]:
    """Each word once, with how often it is there: `relu() ×2`."""
    return [f"{word} ×{n}" if n > 1 else word for word, n in Counter(words).items()]


def shown_paths(paths: Sequence[str]) -> str:
    """Paths as one: `layer1.0.conv1`, `blocks.*.mlp`, or the first ones and how many more."""
    if len(paths) == 1:
        return paths[0]
    if in_row := _row(paths):
        return in_row
    if all(path.isdigit() for path in paths[:_LISTED]) and len(paths) <= _LISTED:
        return ", ".join(paths)
    for of_path in (pattern, lambda path: _DIGITS.sub("*", path)):
        kinds: dict[str, list[str]] = {}
        for path in paths:
            kinds.setdefault(of_path(path), []).append(path)
        names = [those[0] if len(those) == 1 else kind for kind, those in kinds.items()]
        if len(names) <= _LISTED:
            return ", ".join(names)
    return listed(names, _LISTED)


def _row(paths: Sequence[str]) -> str:
    """`features.2–3` for neighbours with numbers; empty if they are not."""
    parts = [path.rpartition(".") for path in paths]
    if len({around for around, _, _ in parts}) > 1 or not all(name.isdigit() for _, _, name in parts):
        return ""
    numbers = [int(name) for _, _, name in parts]
    is_row = numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    return f"{paths[0]}–{numbers[-1]}" if is_row else ""


def pattern(path: str) -> str:
    return NUMBER.sub("*", path)


def folded(changes: Iterable[Change]) -> list[Change]:
    found: dict[tuple[Mark, str, str], Change] = {}
    for change in sorted(changes, key=lambda change: change.order):
        name = pattern(change.where[0]) if change.where else ""
        # the same at many places is one change, however these are called; with few it matters how
        keys: list[tuple[Mark, str, str]] = [(change.mark, "", change.text), (change.mark, name, change.text)]
        for key in keys:
            if (before := found.get(key)) is not None:
                where = tuple(dict.fromkeys((*before.where, *change.where)))
                found[key] = replace(before, where=where, params=before.params + change.params)
                break
        else:
            found[change.mark, "" if change.where else name, change.text] = change
    return sorted(found.values(), key=lambda change: change.order)


def of_settings(changed: Sequence[tuple[Layer, tuple[Setting, ...], int]], position: dict[Layer, int]) -> list[Change]:
    """The changes of settings of layers, each with what they change of its parameters.

    Widths are said with the other settings while few layers have others, else as numbers that changed all over the
    model: nearly each layer follows from the one before.
    """

    def said(of: Callable[[Setting], bool]) -> list[Change]:
        rows = [(it, params, ", ".join(str(one) for one in them if of(one))) for it, them, params in changed]
        return folded(Change("changed", (it.path,), text, params, position[it]) for it, params, text in rows if text)

    if len(said(lambda setting: setting.is_width)) <= _MOST_WIDTHS:
        return said(lambda _: True)
    layers: dict[tuple[str, str], set[Layer]] = {}
    for layer, settings, _ in changed:
        for setting in settings:
            if setting.is_width:
                layers.setdefault((setting.old, setting.new), set()).add(layer)
    counts = sorted(((pair, len(those)) for pair, those in layers.items()), key=lambda it: -it[1])
    words = [f"{old} → {new} in {n} layer{'s' if n > 1 else ''}" for (old, new), n in counts]
    text = f"widths {listed(words, _LISTED, 'more numbers')}"
    params = sum(params for *_, params in changed)
    others = [replace(change, params=0) for change in said(lambda setting: not setting.is_width)]
    return [Change("changed", (), text, params, 0), *others]


def of_classes(renamed: Sequence[tuple[Layer, Layer]], position: dict[Layer, int]) -> list[Change]:
    families: dict[tuple[str, str], list[tuple[Layer, Layer]]] = {}
    for old, new in renamed:
        families.setdefault(_parts_that_differ(old.cls, new.cls), []).append((old, new))
    found = []
    for (before, now), pairs in families.items():
        kinds = [*dict.fromkeys((old.cls, new.cls) for old, new in pairs)]
        shown = ", ".join(f"{old} → {new}" for old, new in kinds[:2])
        is_family = len(kinds) > 2 and before and now
        text = f"class {shown}" if len(kinds) == 1 else f"classes {shown}"
        if is_family:
            text = f"{len(kinds)} classes {before}… → {now}…, such as {kinds[0][0]} → {kinds[0][1]}"
        where = () if is_family else tuple(new.path for _, new in pairs)
        found.append(Change("changed", where, text, 0, min(position[new] for _, new in pairs)))
    return found


def _parts_that_differ(old: str, new: str) -> tuple[str, str]:
    """The beginnings of two names without the end that they share: `Bert` and `Roberta`."""
    shared = 0
    while shared < min(len(old), len(new)) and old[-1 - shared] == new[-1 - shared]:
        shared += 1
    tail = re.search(r"[A-Z].*", old[len(old) - shared :])  # whole words: not the `rt` of both
    size = len(tail[0]) if tail else 0
    return (old[: len(old) - size], new[: len(new) - size]) if size else (old, new)
