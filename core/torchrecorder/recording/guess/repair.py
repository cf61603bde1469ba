"""Other inputs than those that a forward refused, from what it said and how far it came.

The message of an exception, the line that raised it and the layer that was called say what was wrong: the size of an
axis, the number of axes, integers where numbers were wanted, an argument that was left out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from torchrecorder.graph import Graph
from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, is_flag, parameters
from torchrecorder.recording.guess.roles import input_for
from torchrecorder.request import InputSpec

Values = Mapping[str, Any]
"""Inputs by the names of parameters, each an `InputSpec` or what is passed as it is."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a forward said of inputs that it did not accept."""

    cause: str
    """The exception as `Type: message`, its first line."""
    traceback: str
    graph: Graph | None
    """What had been recorded by then."""


def repairs(model: nn.Module, guess: Guess, refusal: Refusal, batch: int) -> Iterator[Guess]:
    """Guesses that differ from a refused one in what the error is about, the likeliest first."""
    names = [p.name for p in parameters(model) if p.kind is p.POSITIONAL_OR_KEYWORD]
    positional = [spec for spec in guess.specs if spec.name is None]
    if guess.arguments is not None or len(positional) > len(names):
        return
    values: dict[str, Any] = {spec.name: spec for spec in guess.specs if spec.name}
    values = {**dict(zip(names, positional, strict=False)), **values, **guess.fixed}
    for changed in _changes(model, values, refusal, batch):
        yield Guess.named(guess.why.removesuffix(_TOLD) + _TOLD, {**values, **changed})


_TOLD = ", and from what its forward raised"
_LEFT_OUT = r"None|must|requir|missing|specif|provid|Assert|KeyError|both|expected at least"


def _changes(model: nn.Module, values: Values, refusal: Refusal, batch: int) -> Iterator[Values]:
    cause = refusal.cause
    said = f"{cause}\n{refusal.traceback[-_LINES:]}"
    sizes = f"{cause} {' '.join(map(str, _sizes_named(model, cause)))}"
    specs = {name: value for name, value in values.items() if isinstance(value, InputSpec)}
    at_layer = _went_into_layer(refusal.graph)
    suspects = sorted(
        specs, key=lambda name: (not _mentions(cause, name), name not in at_layer, not _mentions(said, name))
    )
    yield from _in_dictionaries(model, values, cause, batch)
    if choices := re.search(r"\[(\d+)(?:, \d+)+\]", cause):
        yield from ({name: int(choices[1])} for name, value in values.items() if type(value) is int and name in cause)
    if re.search("same dtype", cause):
        yield from ({name: spec} for name in suspects for spec in _with_integers(specs[name], cause, False))
    elif re.search(_LEFT_OUT, cause):
        yield from _added(model, values, said, batch)
    if re.search(r"\bmatch", cause):
        yield from _as_long_as_computed(specs, cause, refusal.graph)
    if re.search(_CERTAIN, cause):
        for name in suspects:
            alike = [other for other in suspects if specs[other].shape == specs[name].shape]
            for spec in _with_sizes(specs[name], cause, False):
                yield {name: spec}
                if len(alike) > 1:  # two pictures that are compared
                    yield {other: replace(specs[other], shape=spec.shape) for other in alike}
    yield from _switched(model, values, f"{cause}\n{refusal.traceback}")
    yield from _of_layer(model, specs, refusal.graph, batch)
    for rule in (_with_integers, _with_axes, _with_sizes, _with_room):
        for name in suspects:
            yield from ({name: spec} for spec in rule(specs[name], sizes, _mentions(cause, name)))
    yield from _added(model, values, said, batch)


def _sizes_named(model: nn.Module, cause: str) -> Iterator[int]:
    """The sizes that an error calls by the names of the model's attributes."""
    for word in dict.fromkeys(re.findall(r"[a-z]\w*_\w+|\bdim\b|\bchannels\b", cause)):
        for holder in (model, getattr(model, "config", None)):
            if type(size := getattr(holder, word, None)) is int:
                yield size


_LINES = 400
"""Characters at the end of a traceback: the line that raised, and the one that called it."""


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _added(model: nn.Module, values: Values, said: str, batch: int) -> Iterator[Values]:
    """Arguments that have a default: those that the error names, each and all, then those that hold tensors."""
    taken = parameters(model)
    if (key := re.search(r"^KeyError: '([^\W\d]\w*)'", said)) and any(p.kind is p.VAR_KEYWORD for p in taken):
        taken = [*taken, inspect.Parameter(key[1], inspect.Parameter.KEYWORD_ONLY, default=None)]
    free = [p for p in taken if p.name not in values and not is_flag(p)]
    main = next((value for value in values.values() if isinstance(value, InputSpec)), InputSpec((batch, 16)))
    named = [p for p in free if _mentions(said, p.name)]
    like = [p for p in free if ("Tensor" in str(p.annotation) or p.annotation is p.empty) and p not in named]
    for chosen in (*([p] for p in named), named, *([p] for p in like[:4]), like):
        if chosen:
            yield {p.name: input_for(p, model, main, batch) for p in chosen}


def _in_dictionaries(model: nn.Module, values: Values, cause: str, batch: int) -> Iterator[Values]:
    """A dictionary for a tensor that is asked for names, and what is missing in it."""
    if re.search(_ASKS_FOR_NAMES, cause):
        yield from ({name: {}} for name, value in values.items() if isinstance(value, InputSpec))
    main = next((spec for _, spec in layers.accepted(model, batch)), InputSpec((batch, 16)))
    held = {name: value for name, value in values.items() if isinstance(value, dict)}
    for key in dict.fromkeys(re.findall(r"[`']([^\W\d]\w*)[`']", cause) if held else ()):
        found = input_for(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY), model, main, batch)
        if isinstance(found, InputSpec):
            found = torch.ones(found.shape, dtype=getattr(torch, found.dtype))
        yield from ({name: {**value, key: found}} for name, value in held.items() if key not in value)


_ASKS_FOR_NAMES = r"__contains__ only supports .*'str'|\(got str\)|'Tensor' object has no attribute '(keys|items|get)'"


def _went_into_layer(graph: Graph | None) -> set[str]:
    """The inputs of the forward from which those of the call were computed that raised."""
    if graph is None or graph.info.failure is None or graph.info.failure.call is None:
        return set()
    by_value = {value: path for path, value in graph.inputs.items()}
    waiting = list(graph.calls[graph.info.failure.call].inputs.values())
    seen = set(waiting)
    while waiting:
        producer = graph.values[waiting.pop()].producer
        new = set() if producer is None else set(graph.ops[producer].inputs) - seen
        waiting += new
        seen |= new
    return {by_value[value] for value in seen & by_value.keys()}


def _switched(model: nn.Module, values: Values, said: str) -> Iterator[Values]:
    """`use_cache=False` where the error speaks of a cache: what is on by default needs more than is there."""
    for p in parameters(model):
        option = re.fullmatch(r"(?:use|with|enable|do|apply)_(\w+)", p.name)
        is_on = p.default is None or p.default is True
        if option and is_on and p.name not in values and "bool" in str(p.annotation) and option[1] in said.lower():
            yield {p.name: False}
        if p.default is False and p.name not in values and _mentions(said.partition("\n")[0], p.name):
            yield {p.name: True}  # what the error recommends


def _of_layer(model: nn.Module, specs: Mapping[str, InputSpec], graph: Graph | None, batch: int) -> Iterator[Values]:
    """What the layer takes that raised, for the inputs that went into it as they are."""
    if graph is None or graph.info.failure is None or graph.info.failure.call is None:
        return
    call = graph.calls[graph.info.failure.call]
    by_value = {value: path for path, value in graph.inputs.items()}
    layer = dict(model.named_modules()).get(call.module)
    if layer is None or layer is model:
        return
    for value in call.inputs.values():
        seen = value
        while (producer := graph.values[seen].producer) is not None and len(graph.ops[producer].inputs) == 1:
            seen = graph.ops[producer].inputs[0]
        name = by_value.get(seen, "")
        if name in specs:
            for _, spec in layers.accepted(layer, batch):
                if seen == value or spec.dtype != specs[name].dtype:
                    yield {name: spec}


def _as_long_as_computed(specs: Mapping[str, InputSpec], cause: str, graph: Graph | None) -> Iterator[Values]:
    """Rows as long as what had been computed when the forward raised, for the input whose name the error says."""
    if graph is None or not graph.ops:
        return
    for name, spec in specs.items():
        if not _mentions(cause, name) and not _mentions(cause, name.removesuffix("s")):
            continue
        for value in graph.ops[-1].outputs:
            meta = graph.values[value].meta
            sizes = tuple(size for size in meta.shape[:2] if isinstance(size, int)) if meta else ()
            if len(sizes) == 2 and sizes != spec.shape:
                yield {name: replace(spec, shape=sizes, dtype="int64", high=1)}


_INTEGERS = (
    r"indices' to have|integer type|must be (long|int)|to be Long|IntTensor|dtype int64|int or byte|tensors used as ind"
)
_NUMBERS = (
    r"for 'Long'|Long and|found Long|mean\(\): could not|type \(long|but got Long|for 'Int'|LongTensor|long int"
    r"|Long.* != |Half != Long|dtype: Long|floating"
)
_BEYOND = r"out of range|out of bounds|larger than|Invalid"


def _with_integers(spec: InputSpec, cause: str, is_named: bool) -> Iterator[InputSpec]:
    """Integers for numbers, numbers for integers, or smaller integers."""
    if spec.dtype.startswith("float") and (re.search(_INTEGERS, cause) or (is_named and "integer" in cause)):
        yield replace(spec, dtype="int64", high=2)
    if spec.dtype == "int64" and re.search(_NUMBERS, cause):
        yield replace(spec, dtype="float32", high=None)
    if spec.dtype == "int64" and spec.high != 1 and re.search(_BEYOND, cause):
        yield replace(spec, high=1)
    if spec.dtype == "bool" and re.search(r"[Bb]ool", cause):
        others = [replace(spec, dtype="float32"), replace(spec, dtype="int64", high=2)]
        yield from reversed(others) if "bincount" in cause else others


def _with_axes(spec: InputSpec, cause: str, is_named: bool) -> Iterator[InputSpec]:
    """More or fewer axes."""
    axes = len(spec.shape)
    wanted: list[int] = []
    if is_named and (written := re.search(r"\(([a-z]\w*(?:, ?\w+)+)\)", cause)):
        words = re.split(", ?", written[1])
        sizes = {word: size for word, size in zip(words, spec.shape, strict=False) if len(words) == axes}
        yield replace(spec, shape=tuple(int(w) if w.isdigit() else sizes.get(w, 16) for w in words))
    for number, word in enumerate(("one", "two", "three", "four", "five"), 1):
        cause = re.sub(rf"\b{word}[- ]dimension", f"{number}-dimension", cause)
    if "to unpack" in cause and (found := re.search(r"expected (\d+)", cause)):
        got = re.search(r"got (\d+)", cause)
        wanted = [int(found[1])]
        if got is not None and int(got[1]) != axes and not is_named:
            # What was unpacked may be the input without its first axes; one with a single axis more was not meant.
            wanted = [axes + int(found[1]) - int(got[1])] if axes > 2 else []
    elif found := re.search(r"[Ee]xpected (?:\dD? \(unbatched\) or )?(\d)-?D", cause) or re.search(
        r"len\(dims\) = (\d)|(?:must|to) be (?:a |an )?(\d)-?[dD]|(\d)-dimension|expected (\d) dim", cause
    ):
        wanted = [int(next(group for group in found.groups() if group))]
        if "(unbatched)" in cause and (batched := re.search(r"(\d)D \(batched\)", cause)):
            wanted = [int(batched[1])]
    elif re.search(r"[Dd]imension out of range|too many indices|tuple index out of range|IndexError: Dimension", cause):
        wanted = [axes + 1, axes + 2]
    elif "0-d tensor" in cause and axes == 0:
        wanted = [1]
    for count in wanted:
        if count != axes:
            yield from (replace(spec, shape=shape) for shape in _reshaped(spec.shape, count))


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
    if len(shape) >= 2:
        yield (*shape[:2], *(_FRAMES,) * more, *shape[2:])
        yield (shape[0], *(_FRAMES,) * more, *shape[1:])
    if len(shape) == 4 and more == 1:  # two pictures to compare
        yield (shape[0], 2, *shape[1:])
    yield (*shape, *(16,) * more)
    yield (*(1,) * more, *shape)


_CERTAIN = (
    r"\(\d+x(?P<is>\d+) and (?P<wants>\d+)x\d+\)"
    r"|got \[(?:\d+, )*(?P<is_fake>\d+)\] X \[(?P<wants_fake>\d+), \d+\]"
    r"|to have (?P<wants_conv>\d+) channels, but got (?P<is_conv>\d+)"
    r"|(?<!\()expected (?P<wants_said>\d+),? (?:but )?got (?P<is_said>\d+)\b"
    r"|normalized_shape=\[(?P<wants_norm>\d+)\].*size ?\[(?:\d+, )*(?P<is_norm>\d+)\]"
    r"|hidden\[\d\] size \((?:\d+, )*(?P<wants_rnn>\d+)\), got \[(?:\d+, )*(?P<is_rnn>\d+)\]"
)
"""Messages that say which size was wrong."""


NAMED_AXIS = r"dim(?:ension)? (\d): expected (\d+),? (?:but )?got (\d+)"
"""A message after which hardly anything is left to guess."""


def _with_sizes(spec: InputSpec, cause: str, _is_named: bool) -> Iterator[InputSpec]:
    """An axis of another size, of those that the error speaks of."""
    if found := re.search(NAMED_AXIS, cause):
        axis, new, old = map(int, found.groups())
        if spec.shape[axis : axis + 1] == (old,):
            yield replace(spec, shape=(*spec.shape[:axis], new, *spec.shape[axis + 1 :]))
    if product := re.search(_CERTAIN, cause):
        known = {name.partition("_")[0]: int(size) for name, size in product.groupdict().items() if size}
        pairs = [(known["is"], known["wants"])]
    else:
        numbers = list(dict.fromkeys(map(int, re.findall(r"(?<![\w.])\d+(?![\w.]*[A-Za-z])", cause))))[:8]
        pairs = [(old, new) for old in numbers for new in reversed(numbers) if old != new and new]
    seen = set()
    for old, new in pairs:
        if old > 1 and spec.shape.count(old) > 1:  # the sides of a picture
            yield replace(spec, shape=tuple(new if size == old else size for size in spec.shape))
        for axis in reversed(range(len(spec.shape))):
            size = spec.shape[axis]
            right = []
            # Directly, or as a part of what the layers made of it: as many times as large as the axis.
            if size and old % size == 0 and (new * size) % old == 0 and (size == old or (size > 1 and product)):
                right.append(new * size // old)
            if product and size > old > 1 and size % old == 0:  # it was split into parts, each of which went in
                right.append(new * size // old)
            if product and 1 < size < old and size > old - new:  # or beside something else in one tensor
                right.append(size - old + new)
            for shape in [(*spec.shape[:axis], other, *spec.shape[axis + 1 :]) for other in right]:
                if shape not in seen:
                    seen.add(shape)
                    yield replace(spec, shape=shape)
    matrix = product and (product["wants"] or product["wants_fake"])
    if matrix and len(spec.shape) == 4:  # flattened patches where a picture was guessed
        yield replace(spec, shape=(spec.shape[0], 16, int(matrix)))
    if found := re.search(r"height.*?(\d+).*width.*?(\d+)|\((\d+)\*(\d+)\)", cause):
        sides = [int(group) for group in found.groups() if group]
        if len(spec.shape) >= 4:
            yield replace(spec, shape=(*spec.shape[:-2], *sides[-2:]))


_SMALL = (
    r"too small|greater than actual|at least|more than 1 spatial|smaller than|should be less than|larger than|empty"
)
_FRAMES = 5
"""Frames of a film where a picture was refused."""
_FILM = r"unflatten|is invalid for input of size|greater than actual|divisible"
_SPATIAL = r"divisible|multiple|must match the size|Sizes of tensors must match|is invalid for input of size|shape"


def _with_room(spec: InputSpec, cause: str, _is_named: bool) -> Iterator[InputSpec]:
    """A longer signal or a larger picture, with sides that can be halved often."""
    kept = min(2, len(spec.shape) - 1)  # of a signal with a single channel, only the batch
    axes = len(spec.shape) - kept
    if kept < 1 or not spec.dtype.startswith("float"):
        return
    sides = spec.shape[kept:]
    if axes == 3 and spec.shape[2] == _FRAMES and re.search(_FILM, cause):
        yield from (replace(spec, shape=(*spec.shape[:kept], frames, *spec.shape[3:])) for frames in (9, 17))
    if found := re.search(r"(?:divisible|multiple)\D*(\d+)", cause):
        by = int(found[1]) or 1
        yield replace(spec, shape=(*spec.shape[:kept], *(-(-side // by) * by for side in sides)))
    if re.search(r"at least (two|2) (samples|examples|rows)", cause) and spec.shape[0] == 1:
        yield replace(spec, shape=(2, *spec.shape[1:]))
    if re.search(_SMALL, cause):
        yield replace(spec, shape=(*spec.shape[:kept], *(2 * side for side in sides)))
        yield replace(spec, shape=(*spec.shape[:kept], *(8 * side for side in sides)))
    if re.search(_SPATIAL, cause) and len(set(sides)) == 1:
        for side in (64, 96, 128, 32):
            yield replace(spec, shape=(*spec.shape[:kept], *(side,) * axes))
