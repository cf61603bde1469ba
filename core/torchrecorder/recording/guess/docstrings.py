"""Inputs from docstrings: the shapes that that of a forward says, and the examples, which are read and never run."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from torch import nn

from torchrecorder.recording.examples import called_near
from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, by_name, configured, parameters, required, specs_in
from torchrecorder.recording.guess.roles import input_for, masked
from torchrecorder.recording.shared_names import role_of
from torchrecorder.recording.written.reader import Reader
from torchrecorder.recording.written.values import Call, is_given
from torchrecorder.request import InputSpec

_AXES = r"(?P<axes>[^()\[\]`]*,[^()\[\]`]*)"
_SHAPE = re.compile(rf"(?:shapes?|:math:)[^()]{{0,40}}\({_AXES}[)`]")
_TYPED = re.compile(rf"\A[ `]*(?:torch\.)?\w*Tensor[ `)]*:?[ `]*[(\[]{_AXES}[)\]]")
"""A shape that stands behind a type, `x : torch.Tensor (batch, time, channels)`; an example says more."""
_SECTION = re.compile(r"^[ \t]*Shape:?[ \t]*\n((?:[ \t]*-? ?[Ii]nput.*\n?)+)", re.MULTILINE)
"""What torch writes of its layers, and others after it: `Shape:` and below it `- Input: (N, C, H, W)`."""
_OF_BATCH = r"\*|b|bs|bsz|batch(_?size)?"
_SIZES = {
    r"f|t|(num_)?frames?": 5,
    r"[hw](_?\{\w+\}|\d)?|(\w+_)?(height|width)": 32,
    r"c(_?\{?in\}?)?|(num_|in_)?channels?": 0,
    r".*(text|prompt|caption).*(len|length|tokens|seq)": 8,
    r"n|[ls](_?\{?in\}?)?|(num|max|n)_\w+|.*(len|length|tokens|seq|time|samples)": 16,
}
"""Axes by name, where no attribute of the model says their size; of 0 channels there are as many as a layer takes."""
_LONGEST = 1 << 13
"""Above it, the size of an attribute is that of real data, and a guess has a shorter axis."""


def from_docstring(model: nn.Module, batch: int, *, is_typed: bool = False) -> Iterator[Guess]:
    """The shapes that the forward's docstring says, for the others what a first layer takes, or their names.

    With `is_typed`, shapes behind types are looked for, and in a section of the class.
    """
    known = documented(model, batch, is_typed=is_typed)
    wanted = required(model) or [p for p in parameters(model) if p.name in known][:1]
    if not any(p.name in known for p in wanted):
        return
    main = next(iter(known.values()))
    found = {p.name: known.get(p.name) or input_for(p, model, main, batch) for p in wanted}
    yield Guess.named("from the docstring of its forward", masked(found))


def documented(model: nn.Module, batch: int, *, is_typed: bool = False) -> dict[str, InputSpec]:
    """Inputs that the forward's docstring describes, by parameter."""
    found: dict[str, InputSpec] = {}
    taken = {p.name: p for p in parameters(model)}
    said = by_name(inspect.getdoc(type(model).forward))
    for name, text in (*said, *_of_section(model)) if is_typed else said:
        patterns = (_SHAPE, _TYPED) if is_typed else (_SHAPE,)
        shapes = (_shape(text, pattern, model, batch) for pattern in patterns if name in taken)
        shape = next(filter(None, shapes), None)
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
    if type(model).__module__.startswith("torch.nn."):  # whose attributes say it with their sizes
        return
    for doc in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        for section in _SECTION.finditer(doc or ""):
            names = [p.name for p in required(model) or parameters(model)[:1]]
            yield from zip(names, (f"shape {line.partition(':')[2]}" for line in section[1].splitlines()), strict=False)


def _shape(text: str, pattern: re.Pattern[str], model: nn.Module, batch: int) -> tuple[int, ...] | None:
    """The first shape in the text all of whose axes have a known size, one with an axis for examples before others."""
    found: list[tuple[bool, tuple[int, ...]]] = []
    for written in pattern.finditer(re.sub(r"\\text(?:tt)?\{([^{}]*)\}", r"\1", text.replace("\\_", "_"))):
        words = [word for axis in written["axes"].split(",") if (word := axis.strip())]
        if words[:1] == ["N"]:  # any other N is a number of things
            words[0] = "batch"
        axes = [size for word in words if (size := size_of(word, model, batch))]
        if axes and len(axes) == len(words) and "*" not in words[1:]:
            found.append((re.fullmatch(_OF_BATCH, words[0].lower()) is None, tuple(axes)))
    return min(found, key=lambda shape: shape[0])[1] if found else None


def size_of(axis: str, model: nn.Module, batch: int) -> int | None:
    if axis.isdigit():
        return int(axis)
    if parts := re.fullmatch(r"(.+?) *([*/]) *(.+)", axis):
        left, right = size_of(parts[1], model, batch), size_of(parts[3], model, batch)
        return (left * right if parts[2] == "*" else left // right) if left and right else None
    word = re.sub(r"[ -]+", "_", axis.removeprefix("self.").removeprefix("config.")).lower()
    if re.fullmatch(_OF_BATCH, word):
        return batch
    said = configured(model, word)
    if type(said) is int and 0 < said <= _LONGEST:
        return said
    size = next((size for pattern, size in _SIZES.items() if re.fullmatch(pattern, word)), None)
    if size == 0:
        own = configured(model, "in_channels")
        return own if type(own) is int else next(layers.widths(model), 3)
    return size


_LARGEST = 1 << 20
"""Numbers in an input above which an example is meant for real data: of many examples one is taken."""


def from_examples(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Arguments that the examples call the model with: shapes of tensors that they make, and numbers."""
    if type(model).__module__.startswith("torch.nn."):
        return
    for text in (inspect.getdoc(type(model).forward), inspect.getdoc(type(model))):
        yield from shown(model, (("", *it[1:]) for it in Reader().prompts(text or "").calls), batch)


def of_near(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What classes of the package with the same forward are called with."""
    return shown(model, called_near(type(model)), batch)


def shown(model: nn.Module, calls: Iterable[Call], batch: int = 1) -> Iterator[Guess]:
    """Inputs that a model is called with where its arguments are from, or in its docstring.

    A tensor has to be among it, and what is not written out can be made to fit.
    """
    taken = {p.name: p for p in parameters(model) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)}
    for place, args, kwargs in calls:
        if len(args) > len(taken) or not {*kwargs} <= {*taken}:  # it gives what the forward does not take
            continue
        given = _small({**dict(zip(taken, args, strict=False)), **kwargs})
        main = next(iter(specs_in(given)), None)
        unread = [name for name, value in given.items() if not is_given(value)]
        if main is not None and all(role_of(name) in ("mask", "length") for name in unread):
            given |= {name: input_for(taken[name], model, main, batch) for name in unread}
            where = place or f"an example in the docstring of {type(model).__name__}"
            yield Guess.named(f"from {where}", masked(given) if unread else given)


def _small(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments for one example, if there are more numbers than a guess has; nothing, if one has so many."""
    large = next((spec for spec in specs_in(given) if math.prod(spec.shape) > _LARGEST), None)
    if large is None:
        return given
    of_all = {n: s for n, s in given.items() if isinstance(s, InputSpec) and s.shape[:1] == large.shape[:1]}
    is_one = len(large.shape) < 3 or large.shape[0] == 1
    return {} if is_one else _small(given | {n: replace(s, shape=(1, *s.shape[1:])) for n, s in of_all.items()})
