"""Inputs from the docstring of the forward, where it says shapes: `x` (`Tensor` of shape `(batch, channels, time)`)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from torch import nn

from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, by_name, parameters, required
from torchrecorder.recording.guess.roles import input_for, masked
from torchrecorder.request import InputSpec

_AXES = r"(?P<axes{}>[^()\[\]`]*,[^()\[\]`]*)"
_SHAPE = re.compile(
    rf"(?:shapes?|:math:)[^()]{{0,40}}\({_AXES.format('')}[)`]"
    rf"|\A[ `]*(?:torch\.)?\w*Tensor[ `)]*:?[ `]*[(\[]{_AXES.format('_of_type')}[)\]]"
)
_SECTION = re.compile(r"^[ \t]*Shape:?[ \t]*\n((?:[ \t]*-? ?[Ii]nput.*\n?)+)", re.MULTILINE)
"""What torch writes of its layers, and others after it: `Shape:` and below it `- Input: (N, C, H, W)`."""
_OF_BATCH = r"\*|b|bs|bsz|batch(_?size)?"
_SIZES = {
    r"f|t|(num_)?frames?": 5,
    r"[hw](_?\{\w+\}|\d)?|(\w+_)?(height|width)": 32,
    r"c(_?\{?in\}?)?|(num_|in_)?channels?": 0,
    r".*(text|prompt|caption).*(len|length|tokens|seq)": 8,
    r"n|[ls](_?\{?in\}?)?|.*(len|length|tokens|seq|time|samples)": 16,
}
"""Axes by name, where no attribute of the model says their size; of 0 channels there are as many as a layer takes."""
_LONGEST = 1 << 13
"""Above it, the size of an attribute is that of real data, and a guess has a shorter axis."""


def from_docstring(model: nn.Module, batch: int) -> Iterator[Guess]:
    """The shapes that the forward's docstring says, for the others what a first layer takes, or their names."""
    known = documented(model, batch)
    wanted = required(model) or [p for p in parameters(model) if p.name in known][:1]
    if not any(p.name in known for p in wanted):
        return
    main = next(iter(known.values()))
    found = {p.name: known.get(p.name) or input_for(p, model, main, batch) for p in wanted}
    yield Guess.named("from the docstring of its forward", masked(found))


def documented(model: nn.Module, batch: int) -> dict[str, InputSpec]:
    """What the forward's docstring says of its parameters, by name."""
    found: dict[str, InputSpec] = {}
    taken = {p.name: p for p in parameters(model)}
    for name, text in (*by_name(inspect.getdoc(type(model).forward)), *_of_section(model)):
        shape = _shape(text, model, batch) if name in taken else None
        if shape is None:
            continue
        typed = f"{taken[name].annotation} {text.partition(')')[0]}"
        spec = input_for(taken[name], model, InputSpec(shape), batch)
        if isinstance(spec, InputSpec):
            is_integer = "LongTensor" in typed or "IntTensor" in typed or spec.dtype == "int64"
            dtype = "bool" if "BoolTensor" in typed else "int64" if is_integer else spec.dtype
            found.setdefault(name, replace(spec, shape=shape, dtype=dtype))
    return found


def _of_section(model: nn.Module) -> Iterator[tuple[str, str]]:
    """The lines of a section about shapes, for the first parameters."""
    if type(model).__module__.startswith("torch.nn."):  # whose attributes say it with their sizes
        return
    for doc in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        for section in _SECTION.finditer(doc or ""):
            names = [p.name for p in required(model) or parameters(model)[:1]]
            yield from zip(names, (f"shape {line.partition(':')[2]}" for line in section[1].splitlines()), strict=False)


def _shape(text: str, model: nn.Module, batch: int) -> tuple[int, ...] | None:
    """The first shape in the text all of whose axes have a known size, one with an axis for examples before others."""
    found: list[tuple[bool, tuple[int, ...]]] = []
    for written in _SHAPE.finditer(re.sub(r"\\text(?:tt)?\{([^{}]*)\}", r"\1", text.replace("\\_", "_"))):
        words = [word for axis in (written["axes"] or written["axes_of_type"]).split(",") if (word := axis.strip())]
        if words[:1] == ["N"]:  # any other N is a number of things
            words[0] = "batch"
        axes = [size for word in words if (size := _size(word, model, batch))]
        if axes and len(axes) == len(words) and "*" not in words[1:]:
            found.append((re.fullmatch(_OF_BATCH, words[0].lower()) is None, tuple(axes)))
    return min(found, key=lambda shape: shape[0])[1] if found else None


def _size(axis: str, model: nn.Module, batch: int) -> int | None:
    if axis.isdigit():
        return int(axis)
    if parts := re.fullmatch(r"(.+?) *([*/]) *(.+)", axis):
        left, right = _size(parts[1], model, batch), _size(parts[3], model, batch)
        return (left * right if parts[2] == "*" else left // right) if left and right else None
    word = re.sub(r"[ -]+", "_", axis.removeprefix("self.").removeprefix("config.")).lower()
    if re.fullmatch(_OF_BATCH, word):
        return batch
    config = getattr(model, "config", None)
    for holder in (config, model):
        size = holder.get(word) if isinstance(holder, Mapping) else getattr(holder, word, None)
        if type(size) is int and 0 < size <= _LONGEST:
            return size
    size = next((size for pattern, size in _SIZES.items() if re.fullmatch(pattern, word)), None)
    if size == 0:
        own = config.get("in_channels") if isinstance(config, Mapping) else getattr(model, "in_channels", None)
        return own if type(own) is int else next(layers.widths(model), 3)
    return size
