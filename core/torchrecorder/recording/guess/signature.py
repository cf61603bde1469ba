"""Inputs from the signature of the forward: its annotations, and the names of its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import torch
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

_NODES, _EDGES = 4, 8

_ROLES = {
    "time": r"t|times?|timesteps?|steps?|time_?steps?|sigmas?|noise_(level|labels?)|log_snr",
    "length": r"(.*_)?(lengths?|lens?)",
    "mask": r"(.*_)?masks?",
    "edges": r"edge_index|edges",
    "weight": r"edge_weights?",
    "attributes": r"edge_(attrs?|attributes|features?)",
    "group": r"batch(_index|_idx)?",
    "adjacency": r"adj|adjacency(_matrix)?",
    "place": r"pos|coords|coordinates",
    "element": r"z|atomic_numbers",
    "categories": r"x_cat(eg|egorical)?|cat(egorical|_features)?|categ",
    "numbers": r"x_(cont|num|continuous|numerical)|cont(inuous)?|num(erical)?(_features)?",
}
"""What a parameter of some name usually holds."""

_TABLE = {"categories", "numbers"}
_GRAPH = {"edges", "weight", "attributes", "group", "adjacency", "place", "element"}
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
    roles = {
        p.name: next((role for role, name in _ROLES.items() if re.fullmatch(name, p.name.lower())), "") for p in needed
    }
    found = {role for role in roles.values() if role}
    if not found or any(p.kind is p.POSITIONAL_ONLY for p in needed):
        return
    if found & _GRAPH:
        yield from _graphs(model, roles)
    elif found & _TABLE:
        yield from _tables(model, roles, batch)
    else:
        yield from _sequences(model, roles, batch)


def _sequences(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    # What has a length or is masked is a sequence, rather than one row of features.
    needs_axis = set(roles.values()) & {"length", "mask"}
    mains = list(layers.accepted(model, batch))
    mains.sort(key=lambda found: bool(needs_axis) and found[1].dtype == "float32" and len(found[1].shape) < 3)
    for where, main in mains:
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
                elif role:  # no mask, or one that hides nothing
                    dtype = torch.bool if variant == 1 else torch.float32
                    fixed[name] = None if variant == 0 else torch.ones(main.shape[:2], dtype=dtype)
            yield Guess(f"from the names of its parameters and {where}", tuple(made), fixed=fixed)


def _graphs(model: nn.Module, roles: dict[str, str]) -> Iterator[Guess]:
    """A small graph; its nodes have as many features as the first layers take, or are of some kind."""
    embedding = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
    nodes = [InputSpec((_NODES, width)) for width in dict.fromkeys(islice(layers.widths(model), 6))]
    if embedding is not None:
        nodes += [InputSpec(shape, "int64", high=embedding.num_embeddings) for shape in ((_NODES,), (_NODES, 1))]
    edge_widths = [width for m in model.modules() if type(width := getattr(m, "edge_dim", None)) is int]
    for node in nodes:
        for edge_width in dict.fromkeys((*edge_widths, node.shape[-1])):
            specs = [_of_graph(name, role, node, edge_width) for name, role in roles.items()]
            yield Guess("a small graph, from the names of its parameters and its first layers", tuple(specs))


def _of_graph(name: str, role: str, node: InputSpec, edge_width: int) -> InputSpec:
    made = {
        "edges": InputSpec((2, _EDGES), "int64", name, _NODES),
        "weight": InputSpec((_EDGES,), name=name),
        "attributes": InputSpec((_EDGES, edge_width), name=name),
        "group": InputSpec((_NODES,), "int64", name, 1),
        "adjacency": InputSpec((_NODES, _NODES), name=name),
        "place": InputSpec((_NODES, 3), name=name),
        "element": InputSpec((_NODES,), "int64", name),
    }
    return made.get(role, InputSpec(node.shape, node.dtype, name, node.high))


def _tables(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    """Rows: a column of categories for each embedding, and as many numerical columns as some layer has weights for."""
    categories = sum(isinstance(module, nn.Embedding) for module in model.modules())
    sizes = [p.shape[0] for name, p in model.named_parameters() if re.search("cont|num", name) and p.dim()]
    for numbers in dict.fromkeys((*sizes, *islice(layers.widths(model), 6))):
        made = {"categories": (InputSpec((batch, categories), "int64", high=1)), "numbers": InputSpec((batch, numbers))}
        specs = [(name, made.get(role, made["numbers"])) for name, role in roles.items()]
        named = tuple(InputSpec(spec.shape, spec.dtype, name, spec.high) for name, spec in specs)
        yield Guess("a row of a table, from the names of its parameters and its layers", named)
