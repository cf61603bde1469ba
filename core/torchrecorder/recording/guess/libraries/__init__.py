"""Inputs from what models of well-known libraries say of themselves; libraries that say much have a module each.

None of the libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from torch import nn

from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, is_from, parameters, required
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
    size = getattr(config, "input_size", None) or (config.get("input_size") if isinstance(config, dict) else None)
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


_AXIS_SIZES = {
    **dict.fromkeys(("t", "l", "s", "seq", "time", "tokens", "len", "length", "sequence", "seq_len"), 16),
    **dict.fromkeys(("h", "w", "height", "width", "y", "x", "size"), 64),
    **dict.fromkeys(("c", "ch", "channels", "in_channels"), 3),
}
_BATCH_AXES = ("b", "n", "bs", "batch", "batch_size")


def of_jaxtyping(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What annotations such as `x: Float[Tensor, "batch 3 height width"]` say.

    Every required parameter must have one; an axis without a number gets a size by its name.
    """
    found = required(model)
    if not found or not all(isinstance(getattr(p.annotation, "dim_str", None), str) for p in found):
        return
    for other in dict.fromkeys((*layers.widths(model), 16)):
        specs = [_annotated_input(p.annotation, p.name, batch, other) for p in found]
        if all(specs):
            yield Guess("from the annotations of its forward", tuple(spec for spec in specs if spec))


def _annotated_input(annotation: object, name: str, batch: int, other: int) -> InputSpec | None:
    shape = []
    for dim in str(getattr(annotation, "dim_str", "")).split():
        word = dim.rpartition("=")[2].lstrip("#*?")
        if dim == "..." or dim.startswith("*") or word == "_":
            continue
        if not (word.isdigit() or word.isidentifier()):
            return None
        size = batch if word in _BATCH_AXES else _AXIS_SIZES.get(word, other)
        shape.append(int(word) if word.isdigit() else size)
    dtypes = [str(dtype) for dtype in getattr(annotation, "dtypes", ()) or ()]
    known = [dtype for dtype in ("float32", "int64", "bool", *DTYPES) if dtype in dtypes]
    dtype = known[0] if known else "float32"
    return InputSpec(tuple(shape), dtype, name, 2 if dtype.startswith(("int", "uint")) else None)
