"""Advice on how to say what a model is called with, in the words of its forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_origin

import torch
from torch import nn

from torchrecorder.errors import ForwardError, InputError
from torchrecorder.graph import Graph
from torchrecorder.recording.guess.guess import is_object, required
from torchrecorder.recording.guess.layers import accepted, from_layers
from torchrecorder.recording.guess.roles import from_roles
from torchrecorder.recording.inputs import Inputs, make_inputs
from torchrecorder.request import InputSpec, format_shapes
from torchrecorder.request.callables import example_of

_ABOUT_SHAPES = ("RuntimeError", "IndexError", "ValueError", "AssertionError", "TypeError", "EinopsError")
"""Exceptions that inputs with an axis too few lead to."""


def advice(model: nn.Module) -> str:
    """Advice where no inputs were given, and none are found."""
    function, first = "name a function that makes them with `inputs`", None
    with suppress(Exception):  # attributes of a model may be properties, whose code may raise
        if text := _on_objects(model):
            return text
        first = next(from_roles(model, 1), None) or next(from_layers(model, 1), None)
    if first is None:
        return function
    if not first.specs:
        return f"{function}: it gives {{{', '.join(f'{name!r}: …' for name in first.fixed)}}}"
    others = f", which gives {' and '.join(first.fixed)} too" if first.fixed else ""
    return f"say it, with your own sizes: `shape: {format_shapes(first.specs)}`, or {function}{others}"


def advice_on_shapes(
    error: ForwardError, model: nn.Module, specs: Sequence[InputSpec], record: Callable[[Inputs], Graph]
) -> str:
    """Advice where the forward refused inputs of these shapes; `record` records it with others.

    It does so only where the error may be about shapes: what recurses or fills the memory would do it again.
    """
    with suppress(Exception):
        if text := _on_objects(model):
            return text
        names = [p.name for p in required(model)]
        said = [replace(spec, name=spec.name or name) for spec, name in zip(specs, names, strict=False)]
        if missing := [name for name in names if name not in [spec.name for spec in said]]:
            shapes = "; ".join((*map(str, said), *(f"{name}=…" for name in missing)))
            return f"the forward takes {' and '.join(names)}: write `shape: {shapes}`"
    if not error.cause.startswith(_ABOUT_SHAPES):
        return ""
    batched = [replace(spec, shape=(1, *spec.shape)) for spec in specs]
    with suppress(ForwardError, InputError):
        record(make_inputs(batched, 0))
        return f"is the batch missing? With it the forward runs: `shape: {format_shapes(batched)}`"
    return ""


def _on_objects(model: nn.Module) -> str:
    """Advice if the forward reads keys or attributes of what it is given, which no shape can say."""
    forward = type(model).forward
    texts = {p.name: example_of(forward, p.name, torch.Tensor) for p in required(model)}
    for parameter in required(model):
        cls: Any = parameter.annotation
        if not texts[parameter.name] and is_object(cls):
            is_dictionary = dict in (cls, get_origin(cls))
            texts[parameter.name] = '{"key": …}' if is_dictionary else f"{cls.__name__}(…)"
    if not any(texts.values()):
        return ""
    spec = next((main.spec for main in accepted(model, 1)), InputSpec((1, 16)))
    sizes = ", ".join(map(str, spec.shape))
    tensor = f"torch.rand({sizes})" if spec.high is None else f"torch.randint({spec.high}, ({sizes}))"
    given = ", ".join(f'"{name}": {(text or "…").replace("…", tensor)}' for name, text in texts.items())
    module = type(model).__module__
    where = "" if module == "__main__" else f", as in `inputs: {module}.example`"
    imports = "import torch" + ("; from types import SimpleNamespace" if "SimpleNamespace" in given else "")
    lines = f"{imports}\ndef example():\n    return {{{given}}}"
    what = " and ".join(name for name, text in texts.items() if text)
    return f"{what} is not one tensor: write a function that gives it, and name it with `inputs`{where}\n{lines}"
