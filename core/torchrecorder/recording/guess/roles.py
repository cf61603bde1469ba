"""An input for a parameter of some name."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from types import UnionType
from typing import Any, Union, get_args, get_origin

import torch
from torch import Tensor, nn

from torchrecorder.graph.model import Grade
from torchrecorder.recording.guess import layers
from torchrecorder.recording.guess.guess import Guess, configured, is_documented, is_flag, parameters, required
from torchrecorder.recording.guess.layers import Main
from torchrecorder.recording.shared_names import ALONE, GRAPH, ROLES, TABLE, role_of
from torchrecorder.request import InputSpec

NODES, EDGES = 4, 8  # of the smallest graph in which degrees differ
_LENGTH = 16  # of a sequence; also a width where nothing says one
_BINS = ("n_mels", "num_mels", "n_freq", "n_mel_channels")
"""What modules call the number of bins of the spectrograms that they take."""


def input_for(parameter: inspect.Parameter, model: nn.Module, main: InputSpec, batch: int) -> InputSpec | Any:
    """An input for any parameter: what its annotation or its name says, else the main one.

    What is not an `InputSpec` is passed as it is.
    """
    name, annotation = parameter.name, str(parameter.annotation)
    if annotation in ("<class 'int'>", "int", "<class 'float'>", "float", "<class 'bool'>", "bool"):
        return {"i": 8, "f": 1.0, "b": False}[annotation.removeprefix("<class '")[0]]
    if role_of(name, (ALONE,)) == "grid":
        return torch.tensor([[1, 4, 4]])  # frames, rows and columns of patches
    if name.endswith("_dict"):
        is_many = re.search(r"\[str, .*[Ll]ist\[", annotation)
        return {kind: [x, x] if is_many else x for kind, x in _by_kind(name, model, main).items()}
    if re.match(r"(typing\.)?list\[int\]", annotation, re.IGNORECASE):
        return [0, 1]  # as many as there are tensors in a list
    if re.match(r"(typing\.)?dict\b", annotation, re.IGNORECASE):
        return {}  # what has to be in it, the forward says
    if (sizes := _of_numbers(parameter.annotation, batch)) is not None:
        return sizes
    if role_of(name) == "length" and main.shape:
        is_share = is_documented(model, name, r"\b[Rr]elative\b")
        return torch.ones(main.shape[:1]) if is_share else _length("", main)
    spec = _named(name, model, main, batch)
    is_float, is_long = "FloatTensor" in annotation, re.search("LongTensor|IntTensor", annotation) is not None
    if is_float and not is_long and spec.dtype == "int64":
        spec = InputSpec((batch, _LENGTH, _LENGTH))
    if is_long and role_of(name, (ALONE,)) == "sizes":
        patch = configured(model, "patch_size")
        is_picture = len(main.shape) == 4 and type(patch) is int
        rows, columns = (side // patch for side in main.shape[2:]) if is_picture else (4, 4)
        return torch.tensor([[rows, columns]] * batch)  # of patches
    if is_long and not is_float and spec.dtype != "int64":
        spec = InputSpec(spec.shape if spec.dtype == "bool" else (batch, _LENGTH), "int64", high=2)
    return [spec, spec] if re.match(_MANY, annotation, re.IGNORECASE) else spec


_MANY = r"(typing\.)?(list|sequence|tuple)\[torch\.Tensor|.*\bList\[.*Tensor|(<class ')?list('>)?$"
"""Annotations of several tensors."""


def _of_numbers(annotation: object, batch: int) -> Any:
    """Sizes for tuples of integers, and for lists of such tuples, one for each example: frames, height and width."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind in (Union, UnionType):
        return next((found for one in inner if (found := _of_numbers(one, batch)) is not None), None)
    if kind is tuple and 1 < len(inner) < 4 and all(one is int for one in inner):
        return (1, 4, 4)[-len(inner) :]
    if kind is list and (found := _of_numbers(inner[0], 1)) is not None:
        return [found] * batch
    return None


def following(values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The masks and the lengths of sequences whose length is changed, if they were as long."""
    found: dict[str, Any] = {}
    for name, new in changed.items():
        old = values.get(name)
        if not isinstance(old, InputSpec) or not isinstance(new, InputSpec) or len(old.shape) != len(new.shape):
            continue
        for other, value in values.items():
            is_mask = isinstance(value, InputSpec) and value.dtype == "bool" and len(old.shape) == 3
            if is_mask and value.shape == old.shape[:2] != new.shape[:2]:
                found[other] = replace(value, shape=new.shape[:2])
            elif isinstance(value, Tensor) and role_of(other, (ROLES, ALONE)) in ("length", "mask"):
                is_length = value.dim() == 1
                was = {*value.tolist()} if is_length else {value.shape[-1]}
                size = next((new.shape[i] for i, size in enumerate(old.shape) if i and {size} == was), None)
                if size is not None:
                    count = new.shape[0]
                    found[other] = torch.full((count,), size) if is_length else value.new_ones(count, size)
    return found


def masked(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same inputs, with masks as long as what they are for by their names: `text_mask` for `text_embeds`.

    If a sequence has a mask right behind it that is named like none, that is its mask. Lengths count the axis of time.
    """
    rows = {name: spec for name, spec in found.items() if isinstance(spec, InputSpec) and len(spec.shape) in (2, 3)}
    rows = {name: spec for name, spec in rows.items() if role_of(name, (ROLES, ALONE)) != "mask"}
    changed: dict[str, Any] = {}
    for name, mask in found.items():
        if isinstance(mask, Tensor) and role_of(name) == "length" and rows and not mask.is_floating_point():
            changed[name] = _length(*max(rows.items(), key=lambda row: _in_common(name, row[0])))
        if not isinstance(mask, InputSpec) or role_of(name, (ROLES, ALONE)) != "mask" or len(mask.shape) != 2:
            continue
        like = max(rows, key=lambda other: _in_common(name, other), default="")
        if like and _in_common(name, like) <= (0, 0):
            before = [*found][: [*found].index(name)][-1:]
            like = next((other for other in before if other in rows and len(rows[other].shape) == 3), "")
        if like:
            changed[name] = replace(mask, shape=rows[like].shape[:2])
    return {**found, **changed}


def _length(name: str, sequence: InputSpec) -> Tensor:
    """The length of each example of a sequence, whose frames stand last if it is a spectrogram."""
    axis = -1 if role_of(name, (ROLES, ALONE)) == "spectrogram" else min(1, len(sequence.shape) - 1)
    return torch.full(sequence.shape[:1], sequence.shape[axis])


def _in_common(name: str, other: str) -> tuple[int, int]:
    """How many words two names begin with alike, and whether they end alike."""
    words, others = name.split("_"), other.split("_")
    alike = len([*takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False))])
    return alike, int(alike > 0 and words[-1] == others[-1])


def _by_kind(name: str, model: nn.Module, main: InputSpec) -> dict[Any, Any]:
    """By the kinds of edges, triples of names in lists and among keys that modules hold, or by those of nodes."""
    keys = [[*module.keys()] for module in model.modules() if isinstance(module, nn.ModuleDict)]
    attributes = [value for module in model.modules() for value in vars(module).values()]
    items = [item for value in (*keys, *attributes) if isinstance(value, (list, tuple, dict)) for item in value]
    edges = [it for it in items if isinstance(it, tuple) and len(it) == 3 and all(isinstance(end, str) for end in it)]
    if role_of(name.removesuffix("_dict"), (ROLES,)) == "edges":
        return {kind: torch.arange(2 * EDGES).view(2, EDGES) % NODES for kind in edges}
    nodes = [end for source, _, target in edges for end in (source, target)] or [key for names in keys for key in names]
    return {kind: InputSpec((NODES, main.shape[-1] if main.shape else _LENGTH)) for kind in nodes}


def _named(name: str, model: nn.Module, main: InputSpec, batch: int) -> InputSpec:
    length = main.shape[1] if main.dtype == "int64" and len(main.shape) == 2 else _LENGTH
    role = role_of(name, (ROLES, ALONE))
    match role:
        case "time":
            return InputSpec((batch,), "int64")
        case "sizes":
            return InputSpec((batch, 2))
        case "distances" if len(main.shape) == 3:
            return InputSpec((1, 2 * main.shape[1] - 1, main.shape[2]))
        case "mask":
            return InputSpec((batch, length), "bool")
        case "words":
            words = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
            return InputSpec((batch, _LENGTH), "int64", high=words.num_embeddings if words else 2)
        case "index":
            return InputSpec((main.shape[0] if main.shape else batch,), "int64", high=1 if name != "y" else 2)
        case "picture":
            return main if len(main.shape) > 3 else InputSpec((batch, 3, 64, 64))
        case "sound":
            return main if len(main.shape) < 4 and main.dtype == "float32" else InputSpec((batch, 16000))
        case "spectrogram" if len(main.shape) < 3:
            bins = (getattr(module, name, None) for module in model.modules() for name in _BINS)
            return InputSpec((batch, next((size for size in bins if type(size) is int), _LENGTH), _LENGTH))
        case "pooled":
            return InputSpec((batch, main.shape[-1] if main.shape else _LENGTH))
        case "context":
            return InputSpec((batch, _LENGTH, main.shape[-1] if main.shape else _LENGTH))
    if main.dtype == "float32" and len(name) > 2:  # an embedding that is named after it, as `style_embedder` is
        parts = (module for path, module in model.named_modules() if path.rpartition(".")[2].startswith(f"{name}_emb"))
        if table := next((module for module in parts if isinstance(module, nn.Embedding)), None):
            return InputSpec((batch,), "int64", high=table.num_embeddings)
    return _of_graphs(role, name, model, main) or main


def _of_graphs(role: str, name: str, model: nn.Module, main: InputSpec) -> InputSpec | None:
    match role:
        case "edges":
            return InputSpec((2, EDGES), "int64", high=NODES)
        case "weight":
            return InputSpec((EDGES,))
        case "attributes":
            return InputSpec((EDGES, next(edge_widths(model), main.shape[-1] if main.shape else 1)))
        case "kind":
            return InputSpec((EDGES if "edge" in name else NODES,), "int64", high=1)
        case "group":
            return InputSpec((NODES,), "int64", high=1)
        case "adjacency":
            return InputSpec((NODES, NODES))
        case "place":
            return InputSpec((NODES, 3))
        case "element" if any(isinstance(module, nn.Embedding) for module in model.modules()):
            return InputSpec((NODES,), "int64")
    return None


def edge_widths(model: nn.Module) -> Iterator[int]:
    """Numbers of features of an edge, where a module says them."""
    held = (getattr(module, name, None) for name in ("edge_dim", "dim") for module in model.modules())
    return (width for width in held if type(width) is int)


_TEXT = "a photograph of a dog"
"""Texts that encoders can be called with: words that any vocabulary has."""


def of_texts(model: nn.Module, _batch: int) -> Iterator[Guess]:
    """A text for each required parameter, if all are annotated as texts, or as lists of them."""
    texts = {p.name: _text_for(p.annotation) for p in required(model)}
    if texts and all(texts.values()):
        yield Guess.named("a text, as the annotation of its parameter says", texts)


def _text_for(annotation: object) -> Any:
    """The text, or a list with it; None if an annotation is for something else, too."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind in (Union, UnionType):
        found = [*map(_text_for, inner)]
        return None if None in found else found[0]
    if kind in (list, Sequence):
        return [_TEXT] if inner == (str,) else None
    return _TEXT if annotation is str else None


_VARIANTS = 3
"""Ways to fill a role: a time step is one number for each example, or one for all of them."""


def from_names(model: nn.Module, batch: int) -> Iterator[Guess]:
    """Inputs for parameters whose name says what they hold; the others are what the first layers take."""
    needed = required(model)
    roles = {p.name: role_of(p.name) for p in needed}
    kinds = {*roles.values()} - {""}
    if not kinds or any(p.kind is p.POSITIONAL_ONLY for p in needed):
        return
    if kinds & GRAPH:
        yield from graphs(model, needed, batch)
    elif kinds & TABLE:
        yield from _tables(model, roles, batch)
    else:
        yield from _sequences(model, needed, batch)


def _sequences(model: nn.Module, needed: list[inspect.Parameter], batch: int) -> Iterator[Guess]:
    mains = list(layers.accepted(model, batch))
    if any(role_of(p.name) in ("length", "mask") for p in needed):  # rather than one row of features
        mains = layers.rows_last(mains)
    for where, main, grade in mains:
        for variant in range(_VARIANTS):
            found: dict[str, Any] = {p.name: main for p in needed if not role_of(p.name)}
            for p in needed:
                role = role_of(p.name)
                if role == "time":
                    dtype = "float32" if variant == 2 else "int64"
                    found[p.name] = InputSpec(() if variant == 1 else (batch,), dtype)
                elif role == "length":  # as long as the input is: along its second axis, or its last
                    axis = min(1, len(main.shape) - 1) if variant == 0 else -1
                    found[p.name] = torch.full((main.shape[0],), main.shape[axis])
                elif role == "mask" and "LongTensor" in str(p.annotation):
                    found[p.name] = input_for(p, model, main, batch)
                elif role:  # no mask, or one that hides nothing
                    ones = torch.ones(main.shape[:2], dtype=torch.bool if variant == 1 else torch.float32)
                    found[p.name] = None if variant == 0 else ones
            yield Guess.named(f"from the names of its parameters and {where}", found, grade)


def graphs(model: nn.Module, wanted: list[inspect.Parameter], batch: int) -> Iterator[Guess]:
    """Small graphs, of all widths of nodes and of edges that the model says."""
    for _, node, grade in nodes(model):
        for width in dict.fromkeys((*edge_widths(model), node.shape[-1])):
            found = {p.name: input_for(p, model, node, batch) for p in wanted}
            found |= {p.name: InputSpec((EDGES, width)) for p in wanted if role_of(p.name) == "attributes"}
            yield Guess.named("a small graph, from the names of its parameters and its first layers", found, grade)


def _tables(model: nn.Module, roles: dict[str, str], batch: int) -> Iterator[Guess]:
    """Rows: a column of categories for each embedding, and as many numerical columns as some layer has weights for."""
    categories = sum(isinstance(module, nn.Embedding) for module in model.modules())
    sizes = [p.shape[0] for name, p in model.named_parameters() if re.search("cont|num", name) and p.dim()]
    for numbers in dict.fromkeys((*sizes, *islice(layers.widths(model), 6))):
        made = {"categories": InputSpec((batch, categories), "int64", high=1)}
        found = {name: made.get(role, InputSpec((batch, numbers))) for name, role in roles.items()}
        yield Guess.named("a row of a table, from the names of its parameters and its layers", found)


_BARE = ((3, 64, 64), (16,), (16, 16), (16000,), (1, 64, 64), (3, 16, 16, 16))
"""Shapes of one example that are tried where no layer says what it takes."""


def from_roles(model: nn.Module, batch: int) -> Iterator[Guess]:
    """An input for each required parameter, by its name; the others are what the first layers take, or anything."""
    wanted = required(model) or [p for p in parameters(model) if not is_flag(p)][:1]
    mains = list(layers.accepted(model, batch))
    bare = sorted(_BARE, key=lambda shape: len(shape) != 2) if layers.is_of_sequences(model) else _BARE
    mains += [Main("nothing but the names of its parameters", InputSpec((batch, *shape)), "names") for shape in bare]
    is_graph = any(role_of(p.name) in GRAPH or p.name.endswith("_dict") for p in wanted)
    if is_graph or any(role_of(p.name) == "edges" for p in parameters(model)):
        mains = [*nodes(model)]
    if is_grid := any(role_of(p.name, (ALONE,)) == "grid" for p in wanted):
        mains = list(_flat_patches(model))
    for where, main, grade in mains:
        found = masked({p.name: input_for(p, model, main, batch) for p in wanted})
        if wanted and (is_grid or role_of(wanted[0].name, (ROLES, ALONE)) == "context"):
            found[wanted[0].name] = main
        if found:
            yield Guess.named(f"from {where}", found, grade)


def _flat_patches(model: nn.Module) -> Iterator[Main]:
    """A row for each of 16 patches, as long as the first layer takes one."""
    for path, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Conv3d)):
            yield Main(path, InputSpec((16, math.prod(module.weight.shape[1:]))))
            yield Main(path, InputSpec((16, *module.weight.shape[1:])))
        elif isinstance(module, nn.Linear):
            yield Main(path, InputSpec((16, module.in_features)))
            return


def nodes(model: nn.Module) -> Iterator[Main]:
    """The nodes of a small graph, with as many features as the model or its first layers say, or of some kind."""
    widths: dict[int, Grade] = {}
    for own in (getattr(model, name, None) for name in ("in_channels", "channels", "in_features", "in_dim")):
        first = own.values() if isinstance(own, dict) else own if isinstance(own, (tuple, list)) else [own]
        widths |= {width: "model" for width in islice(first, 1) if type(width) is int and width > 0}
    for width in islice(layers.widths(model), 6):
        widths.setdefault(width, "layer")
    widths = widths or {_LENGTH: "names"}
    why = "the names of its parameters"
    yield from (Main(why, InputSpec((NODES, width)), grade) for width, grade in widths.items())
    embedding = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
    for shape in ((NODES,), (NODES, 1)):
        if embedding is not None:
            yield Main(why, InputSpec(shape, "int64", high=embedding.num_embeddings))
        elif shape == (NODES,) and "names" in widths.values():
            yield Main(why, InputSpec(shape, "int64", high=2), "names")
    yield from (Main(why, InputSpec((NODES, 3, width)), grade) for width, grade in islice(widths.items(), 1))
