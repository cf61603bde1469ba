"""Inputs from what models of well-known libraries say of themselves; libraries that say much have a module each.

None of the libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from torch import nn

from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.docstrings import size_of
from torchrecorder.recording.guess.guess import Guess, held, is_from, parameters, required
from torchrecorder.recording.guess.roles import from_names, graphs
from torchrecorder.recording.target import as_arguments
from torchrecorder.request import InputSpec
from torchrecorder.request.shapes import DTYPES


def of_lightning(model: nn.Module, _batch: int) -> Iterator[Guess]:
    """Arguments from its `example_input_array`."""
    example = getattr(model, "example_input_array", None)
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))


def of_timm(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Images of the size that `pretrained_cfg` or the patch embedding says."""
    if not is_from(model, "timm"):
        return
    config = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None) or {}
    size = held(config, "input_size")
    channels = size[0] if size else 3
    own = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if isinstance(own, (tuple, list)):
        yield Guess("from the patch embedding", (InputSpec((batch, channels, *own)),))
    if size:
        yield Guess(f"from the default_cfg of {type(model).__name__}", (InputSpec((batch, *size)),))


def of_torch_geometric(model: nn.Module, batch: int) -> Iterator[Guess]:
    """A small graph, of which each class of the library takes at least the nodes."""
    if is_from(model, "torch_geometric"):
        wanted = required(model) or parameters(model)[:1]
        for guess in chain(from_names(model, batch), graphs(model, wanted, batch)):
            yield replace(guess, grade="model")


def of_jaxtyping(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What annotations such as `x: Float[Tensor, "batch 3 height width"]` say.

    Every required parameter must have one; an axis without a number gets a size by its name.
    """
    found = required(model)
    if not found or not all(isinstance(getattr(p.annotation, "dim_str", None), str) for p in found):
        return
    for other in dict.fromkeys((*layers.widths(model), 16)):
        specs = tuple(_annotated_input(p.annotation, p.name, model, batch, other) for p in found)
        yield Guess("from the annotations of its forward", specs)


def _annotated_input(annotation: Any, name: str, model: nn.Module, batch: int, other: int) -> InputSpec:
    words = [dim.rpartition("=")[2].lstrip("#?") for dim in annotation.dim_str.split()]
    words[:1] = ["batch" if word in ("n", "N") else word for word in words[:1]]
    shape = tuple(size_of(word, model, batch) or other for word in words if word not in ("...", "_") and word[0] != "*")
    dtypes = [*map(str, getattr(annotation, "dtypes", None) or ())]
    dtype = next((known for known in ("float32", "int64", "bool", *DTYPES) if known in dtypes), "float32")
    return InputSpec(shape, dtype, name, 2 if dtype.startswith(("int", "uint")) else None)
