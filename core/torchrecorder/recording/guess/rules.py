"""Another input for a refused one: of another size, with more or fewer axes, of integers, or with more room.

Each rule gives the likeliest first, from the message of the exception alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from torchrecorder.recording.blame import all_said, says
from torchrecorder.request import InputSpec


def with_integers(spec: InputSpec, cause: str, is_named: bool) -> Iterator[InputSpec]:
    """Integers for numbers, numbers for integers, or smaller integers."""
    if spec.dtype.startswith("float") and (says("wants integers", cause) or (is_named and says("integer", cause))):
        yield replace(spec, dtype="int64", high=2)
    if spec.dtype == "int64" and says("wants numbers", cause):
        yield replace(spec, dtype="float32", high=None)
    if spec.dtype == "int64" and spec.high != 1 and says("beyond", cause):
        yield replace(spec, high=1)
    if spec.dtype == "float32" and says("wants booleans", cause):
        yield replace(spec, dtype="bool")
    if spec.dtype == "bool" and says("has booleans", cause):
        others = [replace(spec, dtype="float32"), replace(spec, dtype="int64", high=2)]
        yield from reversed(others) if says("counts", cause) else others


def with_axes(spec: InputSpec, cause: str, is_named: bool) -> Iterator[InputSpec]:
    """More or fewer axes."""
    axes = len(spec.shape)
    if is_named and (written := says("names axes", cause)):
        words = re.split(", ?", written[1])
        sizes = {word: size for word, size in zip(words, spec.shape, strict=False) if len(words) == axes}
        yield replace(spec, shape=tuple(int(w) if w.isdigit() else sizes.get(w, 16) for w in words))
    if spec.dtype == "int64" and axes == 2:  # a code of each codebook, or what else a token has several of
        yield from (replace(spec, shape=(*spec.shape, new)) for old, new in _unequal(cause) if old == spec.shape[1])
    met = says("two beside three", cause)
    if axes == 3 and met is not None and (met[1] is None or {*map(int, met.groups())} == {*spec.shape[:2]}):
        yield replace(spec, shape=(spec.shape[0], spec.shape[2]))  # one row beside another
    for count in _counts(axes, cause, is_named):
        if count != axes:
            yield from (replace(spec, shape=shape) for shape in _reshaped(spec.shape, count))


def _counts(axes: int, cause: str, is_named: bool) -> list[int]:
    for number, word in enumerate(("one", "two", "three", "four", "five"), 1):
        cause = re.sub(rf"\b{word}[- ]dimension", f"{number}-dimension", cause)
    if found := says("unpacks", cause):
        wants, got = int(found[1]), found[2] and int(found[2])
        if not got or got == axes or is_named:
            return [wants]
        # What was unpacked may be the input without its first axes; one with a single axis more was not meant.
        return [axes + wants - got] if axes > 2 else []
    if found := says("permutes", cause):
        return [axes + int(found[2]) - int(found[1])]
    if found := says("one of two", cause) or says("batched", cause) or says("wants axes", cause):
        return [int(found[1])]
    if found := says("must have axes", cause):
        return [int(next(group for group in found.groups() if group))]
    if says("lacks an axis", cause):
        return [axes + 1, axes + 2]
    if says("has no axis", cause) and axes == 0:
        return [1]
    return [axes + 1] if says("no such axis", cause) else []


def _reshaped(shape: tuple[int, ...], axes: int) -> Iterator[tuple[int, ...]]:
    if axes < len(shape):
        if len(shape) == 4 and axes == 3:
            yield (shape[0], 16, shape[1])
        yield (*shape[: axes - 1], shape[-1]) if axes > 1 else shape[:1]
        yield shape[:axes]
        if axes > 1:
            yield shape[-axes:]
        return
    more = axes - len(shape)
    if len(shape) == 3 and axes >= 4:  # tokens or a signal where a picture or a film was wanted
        yield (shape[0], shape[2], *(_FRAMES,) * (axes == 5), *(32,) * 2)
    if len(shape) == 2 and axes == 3:  # a row of features where a sequence of them was wanted
        yield (shape[0], 16, shape[1])
    if len(shape) >= 2:
        yield (*shape[:2], *(_FRAMES,) * more, *shape[2:])
        yield (shape[0], *(_FRAMES,) * more, *shape[1:])
    if len(shape) == 4 and more == 1:  # two pictures to compare
        yield (shape[0], 2, *shape[1:])
    yield (*shape, *(16,) * more)
    yield (*(1,) * more, *shape)


_TOKENS = 2
"""Tokens that models put before those of a sequence, at most."""
_COLUMNS = 4
"""Numbers of a row that are taken away before a layer gets it, at most: where a patch lies, say."""


def _unequal(cause: str) -> list[tuple[int, int]]:
    """The two sizes that did not go together, either of which may be wrong."""
    if found := says("sizes differ", cause):
        one, other = (int(size) for size in found.groups() if size)
        return [(one, other), (other, one)]
    if found := says("does not broadcast", cause):
        shapes = [[int(size) for size in reversed(text.split(","))] for text in found.groups()]
        unequal = [pair for pair in zip(*shapes, strict=False) if pair[0] != pair[1] and 1 not in pair]
        return [pair for one, other in unequal for pair in ((one, other), (other, one))]
    return []


def resized(spec: InputSpec, axis: int, size: int) -> InputSpec:
    return replace(spec, shape=(*spec.shape[:axis], size, *spec.shape[axis + 1 :]))


def with_sizes(spec: InputSpec, cause: str, is_named: bool) -> Iterator[InputSpec]:
    """An axis of another size, of those that the error speaks of."""
    product = says("wants a size", cause)
    yield from _as_said(spec, cause, is_named, product)
    matrix = int((product and (product["wants"] or product["wants_fake"])) or 0)
    rows = [replace(spec, shape=(spec.shape[0], 16, matrix))] if matrix and len(spec.shape) == 4 else []
    side = math.isqrt(matrix // (spec.shape[1] or 1)) if rows else 0
    if side > 1 and side * side * spec.shape[1] == matrix:  # flattened patches where a picture was guessed
        yield rows.pop()
    pairs, is_certain = _sizes(cause, product)
    seen = set()
    for old, new in pairs:
        if old > 1 and len(spec.shape) > 3 and spec.shape.count(old) > 1:  # the sides of a picture
            yield replace(spec, shape=tuple(new if size == old else size for size in spec.shape))
        if (
            product
            and len(spec.shape) == 4
            and spec.shape[2] == spec.shape[3]
            and (side := _root(spec.shape[3], old, new))
        ):
            yield replace(spec, shape=(*spec.shape[:2], side, side))  # what layers made of it was put into one row
        for axis in reversed(range(len(spec.shape))):
            for other in _instead(spec.shape[axis], old, new, product, is_certain):
                if (found := resized(spec, axis, other)) not in seen:
                    seen.add(found)
                    yield found
    yield from rows
    if (said := says("says sides", cause)) and len(spec.shape) >= 4:
        sides = [int(group) for group in said.groups() if group]
        yield replace(spec, shape=(*spec.shape[:-2], *sides[-2:]))


def _root(side: int, old: int, new: int) -> int:
    """Side of the square of which layers make `new` where they make `old` of one with this side; 0 if it has none."""
    roots = math.isqrt(old), math.isqrt(new)
    is_square = (roots[0] ** 2, roots[1] ** 2) == (old, new) and old > 0
    return side * roots[1] // roots[0] if is_square and side * roots[1] % roots[0] == 0 else 0


def _as_said(spec: InputSpec, cause: str, is_named: bool, product: re.Match[str] | None) -> Iterator[InputSpec]:
    """The shape that follows from what the error says, without a search."""
    if (found := says("does not fit a row", cause)) and spec.shape:
        count, left = divmod(math.prod(spec.shape) * int(found[1]), int(found[2]))
        if count and not left and count % spec.shape[0] == 0:  # as many as are put into one row
            yield replace(spec, shape=(spec.shape[0], count // spec.shape[0]))
    if found := says("names an axis", cause):
        axis, new, old = map(int, found.groups())
        if spec.shape[axis : axis + 1] == (old,):
            yield resized(spec, axis, new)
    if is_named and (found := says("names channels", cause)):
        yield resized(spec, 1, int(found[1]))
    layer = product and next((kind for kind in ("conv", "norm") if product[f"wants_{kind}"]), None)
    if product and layer and len(spec.shape) > 2:
        old, new = int(product[f"is_{layer}"]), int(product[f"wants_{layer}"])
        if {old, new} <= set(spec.shape[1:]):  # the channels are its last axis
            there = {old: new, new: old}
            yield replace(spec, shape=(*spec.shape[:1], *(there.get(size, size) for size in spec.shape[1:])))


def _sizes(cause: str, product: re.Match[str] | None) -> tuple[list[tuple[int, int]], bool]:
    """Sizes that may be wrong, each with the right one, and whether the error is about these."""
    if product:
        known = {name.partition("_")[0]: int(size) for name, size in product.groupdict().items() if size}
        return [(known["is"], known["wants"])], True
    if pairs := _unequal(cause):
        return pairs, True
    numbers = [int(number) for number in all_said("numbers", cause)][:8]
    return [(old, new) for old in numbers for new in reversed(numbers) if old != new and new], False


def _instead(size: int, old: int, new: int, product: re.Match[str] | None, is_certain: bool) -> list[int]:
    """Other sizes of an axis, so that what was `old` is `new`: the axis itself, or what the layers made of it."""
    right = []
    # Directly, or as a part of what the layers made of it: as many times as large as the axis.
    if size and old % size == 0 and (new * size) % old == 0 and (size == old or (size > 1 and product)):
        right.append(new * size // old)
    if product and size > old > bool(product["wants_conv"]) and size % old == 0:  # each part of it went in
        right.append(new * size // old)
    # Or beside something else in one tensor, in patches of two by two, or behind a token that the model adds.
    if 1 < size < old and (size + new > old if is_certain else old - size <= _TOKENS < new):
        right.append(size - old + new)
    if product and 0 < size - old <= _COLUMNS:
        right.append(size - old + new)
    if product and 1 < size <= old // 4 and (new - old) % 4 == 0 and size + (new - old) // 4 > 0:
        right.append(size + (new - old) // 4)
    return right


def with_multiple(spec: InputSpec, cause: str) -> Iterator[InputSpec]:
    """The axis whose size the error says, as long as a multiple of the number that it has to be one of."""
    if found := says("divides", cause):
        by = int(found[1]) or 1
        for axis, size in enumerate(spec.shape):
            if axis and size % by and str(size) in all_said("numbers", cause):
                yield resized(spec, axis, -(-size // by) * by)


_FRAMES = 5
"""Frames of a film where a picture was refused."""


def with_room(spec: InputSpec, cause: str, _is_named: bool) -> Iterator[InputSpec]:
    """A longer signal or a larger picture, with sides that can be halved often."""
    kept = min(2, len(spec.shape) - 1)  # of a signal with a single channel, only the batch
    axes = len(spec.shape) - kept
    if kept < 1 or not spec.dtype.startswith("float"):
        return
    sides = spec.shape[kept:]
    if axes == 3 and spec.shape[2] == _FRAMES and says("film", cause):
        yield from (resized(spec, 2, frames) for frames in (9, 17))
    if found := says("divides", cause):
        by = int(found[1]) or 1
        yield replace(spec, shape=(*spec.shape[:kept], *(-(-side // by) * by for side in sides)))
    if says("wants two examples", cause) and spec.shape[0] == 1:
        yield resized(spec, 0, 2)
    if says("small", cause):
        if axes == 3:  # of a film its pictures first
            yield replace(spec, shape=(*spec.shape[:3], *(4 * side for side in sides[1:])))
        yield replace(spec, shape=(*spec.shape[:kept], *(2 * side for side in sides)))
        yield replace(spec, shape=(*spec.shape[:kept], *(8 * side for side in sides)))
    if says("sides", cause) and len(set(sides)) == 1:
        for side in (64, 96, 128, 32):
            yield replace(spec, shape=(*spec.shape[:kept], *(side,) * axes))
