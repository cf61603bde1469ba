"""Inputs from the signature of the forward: its annotations, and the names of its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import torch
from torch import nn

from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, required
from torchrecorder.recording.guess.names import GRAPH, ROLES, TABLE, role_of
from torchrecorder.recording.guess.roles import EDGES, edge_widths, input_for, nodes
from torchrecorder.request import InputSpec
from torchrecorder.request.shapes import DTYPES

_AXIS_SIZES = {
    **dict.fromkeys(("t", "l", "s", "seq", "time", "tokens", "len", "length", "sequence", "seq_len"), 16),
    **dict.fromkeys(("h", "w", "height", "width", "y", "x", "size"), 64),
    **dict.fromkeys(("c", "ch", "channels", "in_channels"), 3),
}
_BATCH_AXES = ("b", "n", "bs", "batch", "batch_size")

_VARIANTS = 3
"""Ways to fill a role: a time step is one number for each example, or one for all of them."""


def from_annotations(model: nn.Module, batch: int) -> Iterator[Guess]:
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


def from_names(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Inputs for parameters whose name says what they hold; the others are what the first layers take."""
    needed = required(model)
    roles = {p.name: role_of(p.name, (ROLES,)) for p in needed}
    found = {role for role in roles.values() if role}
    if not found or any(p.kind is p.POSITIONAL_ONLY for p in needed):
        return
    if found & GRAPH:
        yield from _graphs(model, roles, batch)
    elif found & TABLE:
        yield from _tables(model, roles, batch)
    else:
        yield from _sequences(model, roles, batch)


def _sequences(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    integers = {p.name: p for p in required(model) if roles[p.name] == "mask" and "LongTensor" in str(p.annotation)}
    # What has a length or is masked is a sequence, rather than one row of features.
    needs_axis = set(roles.values()) & {"length", "mask"}
    mains = list(layers.accepted(model, batch))
    mains.sort(key=lambda one: bool(needs_axis) and one.spec.dtype == "float32" and len(one.spec.shape) < 3)
    for where, main, grade in mains:
        specs = tuple(InputSpec(main.shape, main.dtype, name, main.high) for name, role in roles.items() if not role)
        for variant in range(_VARIANTS):
            made: list[InputSpec] = [*specs]
            fixed: dict[str, torch.Tensor | None] = {}
            for name, role in roles.items():
                if role == "time":
                    shape = () if variant == 1 else (batch,)
                    made.append(InputSpec(shape, "float32" if variant == 2 else "int64", name))
                elif role == "length":  # as long as the input is: along its second axis, or its last
                    axis = min(1, len(main.shape) - 1) if variant == 0 else -1
                    fixed[name] = torch.full((main.shape[0],), main.shape[axis])
                elif name in integers:
                    made.append(replace(input_for(integers[name], model, main, batch), name=name))
                elif role:  # no mask, or one that hides nothing
                    dtype = torch.bool if variant == 1 else torch.float32
                    fixed[name] = None if variant == 0 else torch.ones(main.shape[:2], dtype=dtype)
            yield Guess(f"from the names of its parameters and {where}", tuple(made), fixed=fixed, grade=grade)


def _graphs(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    needed = required(model)
    for _, node, grade in nodes(model):
        for edge_width in dict.fromkeys((*edge_widths(model), node.shape[-1])):
            found = {p.name: input_for(p, model, node, batch) for p in needed}
            for name, role in roles.items():
                if role == "attributes":
                    found[name] = InputSpec((EDGES, edge_width))
            yield Guess.named("a small graph, from the names of its parameters and its first layers", found, grade)


def _tables(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    """Rows: a column of categories for each embedding, and as many numerical columns as some layer has weights for."""
    categories = sum(isinstance(module, nn.Embedding) for module in model.modules())
    sizes = [p.shape[0] for name, p in model.named_parameters() if re.search("cont|num", name) and p.dim()]
    for numbers in dict.fromkeys((*sizes, *islice(layers.widths(model), 6))):
        made = {"categories": (InputSpec((batch, categories), "int64", high=1)), "numbers": InputSpec((batch, numbers))}
        specs = [(name, made.get(role, made["numbers"])) for name, role in roles.items()]
        named = tuple(InputSpec(spec.shape, spec.dtype, name, spec.high) for name, spec in specs)
        yield Guess("a row of a table, from the names of its parameters and its layers", named)
