"""Inputs from annotations of jaxtyping: `x: Float[Tensor, "batch 3 height width"]`."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, required
from torchrecorder.request import InputSpec
from torchrecorder.request.shapes import DTYPES

_AXIS_SIZES = {
    **dict.fromkeys(("t", "l", "s", "seq", "time", "tokens", "len", "length", "sequence", "seq_len"), 16),
    **dict.fromkeys(("h", "w", "height", "width", "y", "x", "size"), 64),
    **dict.fromkeys(("c", "ch", "channels", "in_channels"), 3),
}
_BATCH_AXES = ("b", "n", "bs", "batch", "batch_size")


def inputs(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What annotations such as `x: Float[Tensor, "batch 3 height width"]` of jaxtyping say.

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
