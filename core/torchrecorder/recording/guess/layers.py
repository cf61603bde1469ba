"""Inputs that the first layers of a model could take."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from torch import Tensor, nn

from torchrecorder.graph.model import Grade
from torchrecorder.recording.guess.guess import Guess, configured, held, parameters, required
from torchrecorder.recording.shared_names import ALONE, ROLES, role_of
from torchrecorder.request import InputSpec

_LAYERS = 3
"""Layers that are looked at: the one registered first need not be the one called first."""

_SIDES = {1: (128, 16, 1000, 16000), 2: (224, 32, 28, 64, 299, 256, 384, 512), 3: (32, 16, 112, 64, 96)}
"""Sizes of the axes that a convolution slides over, by how many they are."""

_FILM: tuple[int, ...] = (16, 224, 224)
"""Frames, height and width of a film in colours, which need not be equal."""

_WITH_PARTS = (nn.MultiheadAttention, nn.RNNBase, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers that say what they take, even where they have layers inside."""

_OF_SEQUENCES = r"(^|_)(mask|lens|lengths?|hidden_states)$"
"""Names of parameters that forwards of sequences have; of those, no input is a single row of features."""


def from_layers(model: nn.Module, batch: int) -> Iterator[Guess]:
    """What the first layers with parameters take: the same for each argument of the forward, or a layer for each."""
    needed = required(model)
    found = [*accepted(model, batch)]
    if is_of_sequences(model):
        found = rows_last(found)
    tables = [tensor for name, tensor in model.named_parameters() if "pos" in name]
    if not any(grade == "model" for _, _, grade in found):
        yield from _in_patches(model, batch, tables, (3,))  # a picture of one patch would be taken, too
    labels = [p.name for p in needed[1:] if re.fullmatch(r"(.*_)?labels?", p.name)]
    for where, spec, grade in found:
        if labels:  # one for each example
            classes = dict.fromkeys(labels, InputSpec(spec.shape[:1], "int64", high=1))
            yield Guess.named(f"from {where}", {p.name: spec for p in needed} | classes, grade)
        yield Guess(f"from {where}", (spec,) * max(1, len(needed)), grade=grade)
    if len(needed) > 1:
        yield from _each_its_own(model, [p.name for p in needed], batch)
    elif needed and role_of(needed[0].name, (ROLES, ALONE)) != "words":
        # vectors, for rows that are put in the place of those that lie near, and not looked up by index
        for path, layer in islice(_leaves(model), _LAYERS):
            if isinstance(layer, nn.Embedding):
                for shape in ((layer.embedding_dim, 16, 16), (16, layer.embedding_dim)):
                    yield Guess(f"from {_name(path, layer)} as a codebook", (InputSpec((batch, *shape)),))
    others = [value for value in vars(model).values() if isinstance(value, Tensor)]
    yield from _in_patches(model, batch, [*model.parameters(), *others], (3, 1), 8)


def is_of_sequences(model: nn.Module) -> bool:
    return any(re.search(_OF_SEQUENCES, p.name) for p in parameters(model))


def rows_last(mains: Iterable[Main]) -> list[Main]:
    """Those that are not single rows of features first."""
    return sorted(mains, key=lambda main: main.spec.dtype == "float32" and len(main.spec.shape) < 3)


class Main(NamedTuple):
    """An input that something of the model takes."""

    where: str
    """What takes it; ends a sentence that begins with `from`."""
    spec: InputSpec
    grade: Grade = "layer"


def accepted(model: nn.Module, batch: int) -> Iterator[Main]:
    """What the model says that it takes, then what its first layers with parameters take."""
    yield from described(model, batch)
    for path, layer in islice(_leaves(model), _LAYERS):
        for spec in _accepted(layer, batch):
            yield Main(_name(path, layer), spec)


def described(model: nn.Module, batch: int) -> Iterator[Main]:
    """What the model says in attributes that hold sizes, its own or those of its configuration."""
    if type(model).__module__.startswith("torch."):
        return
    said = (configured(model, *names) for names in (_CHANNELS, _SIDE, _STEPS, _FEATURES))
    several = [tuple(value) if isinstance(value, (tuple, list)) else (value,) for value in said]
    channels, side, steps, features = (
        sizes if all(type(size) is int and 0 < size <= _LARGEST for size in sizes) else () for sizes in several
    )
    conv = next((m for m in model.modules() if isinstance(m, (nn.Conv1d, nn.Conv2d, nn.Conv3d))), None)
    if side:
        axes = 3 if isinstance(conv, nn.Conv3d) else 2
        yield Main("its size of images", InputSpec((batch, *(channels or (3,)), *(side * axes)[:axes])), "model")
    elif channels and steps:
        yield Main("its channels and steps", InputSpec((batch, *channels, *steps)), "model")
    elif channels and conv is not None and channels != (conv.in_channels,):
        axes = len(conv.kernel_size)
        for size in _SIDES[axes]:
            yield Main("its channels", InputSpec((batch, *channels, *(size,) * axes)), "model")
    elif features and conv is None and (steps or not any(True for it in _leaves(model) for _ in _accepted(it[1], 1))):
        yield Main("its features", InputSpec((batch, *(steps or (16,)), *features)), "model")


_CHANNELS = ("in_channels", "in_chans", "num_channels", "n_chans", "n_channels", "input_channels", "audio_channels")
_SIDE = ("image_size", "img_size", "input_resolution")
_STEPS = ("n_times", "seq_len", "seq_length", "sequence_length")
_FEATURES = ("in_features", "input_size", "input_dim", "n_features", "enc_in", "emb_dim", "embed_dim", "d_model")
_LARGEST = 1 << 11
"""Above it, a size of the model is that of real data; a guess follows its layers then."""


def widths(model: nn.Module) -> Iterator[int]:
    """Numbers of features that layers take, in the order in which they are registered."""
    for module in model.modules():
        for attribute in ("in_features", "in_channels", "input_size", "embed_dim"):
            width = held(module, attribute)
            if type(width) is int and width > 0:
                yield width


def _name(path: str, layer: nn.Module) -> str:
    return f"{path} ({type(layer).__name__})" if path else type(layer).__name__


def _each_its_own(model: nn.Module, names: Sequence[str], batch: int) -> Iterator[Guess]:
    """For each argument the layer that is named like it, else the next one that no other argument has."""
    leaves = list(islice(_leaves(model), 16))
    chosen: list[tuple[str, nn.Module]] = []
    for name in names:
        free = [leaf for leaf in leaves if leaf not in chosen]
        like = [leaf for leaf in free if len(name) > 1 and name.lower() in leaf[0].lower()]
        chosen += (like or free)[:1]
    if len(chosen) == len(names):
        where = ", ".join(_name(*leaf) for leaf in chosen)
        for specs in zip(*(_accepted(layer, batch) for _, layer in chosen), strict=False):
            yield Guess(f"from {where}", specs)


def _in_patches(
    model: nn.Module, batch: int, tables: Sequence[Tensor], channels: Sequence[int], *usual: int
) -> Iterator[Guess]:
    """An image whose flattened patches are what the first layers take; tables of positions say how many."""
    counts = {count for tensor in tables if tensor.dim() <= 3 for count in tensor.shape[:-1]}
    squares = {n for count in counts for n in (count, count - 1) if n > 3 and math.isqrt(n) ** 2 == n}
    sides = [math.isqrt(n) for n in sorted(squares)]
    for path, layer in islice(_leaves(model), _LAYERS):
        features = getattr(layer, "in_features", None) or getattr(layer, "normalized_shape", (0,))[-1]
        for depth in channels:
            patch = math.isqrt(features // depth)
            if patch > 1 and patch * patch * depth == features:
                # A picture as wide as a row of features would be taken as rows.
                for side in (side for side in (*sides[-3:], *usual) if patch * side != features):
                    spec = InputSpec((batch, depth, patch * side, patch * side))
                    yield Guess(f"from {_name(path, layer)}, taking patches of {patch} by {patch}", (spec,))


def _leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for path, module in model.named_modules():
        is_leaf = not any(True for _ in module.children()) and any(True for _ in module.parameters(recurse=False))
        if is_leaf or isinstance(module, _WITH_PARTS):
            yield path, module


def _accepted(layer: nn.Module, batch: int) -> Iterator[InputSpec]:
    if isinstance(layer, nn.Embedding):
        yield InputSpec((batch, min(16, layer.num_embeddings)), "int64", high=layer.num_embeddings)
    elif isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        sides = [(size,) * len(layer.kernel_size) for size in _SIDES[len(layer.kernel_size)]]
        if isinstance(layer, nn.Conv3d) and layer.in_channels == 3:
            sides.insert(1, _FILM)
        yield from (InputSpec((batch, layer.in_channels or 3, *shape)) for shape in sides)
        if isinstance(layer, nn.Conv1d) and layer.in_channels == 1:
            yield InputSpec((batch, 16000))  # a waveform, to which the model adds the axis of channels
    elif isinstance(layer, nn.Linear):
        features = layer.in_features or 16
        yield InputSpec((batch, features))
        yield InputSpec((batch, 16, features))
        for channels in (1, 3):  # an image that the model flattens
            side = math.isqrt(features // channels)
            if side > 1 and side * side * channels == features:
                yield InputSpec((batch, channels, side, side))
    elif isinstance(layer, nn.MultiheadAttention):
        yield InputSpec((batch, 16, layer.embed_dim))
    elif isinstance(layer, nn.RNNBase):
        yield InputSpec((16, 1, layer.input_size) if not layer.batch_first else (batch, 16, layer.input_size))
    elif isinstance(layer, nn.RNNCellBase):
        yield InputSpec((batch, layer.input_size))
    elif isinstance(layer, nn.LayerNorm):
        yield InputSpec((batch, 16, *layer.normalized_shape))
        yield InputSpec((batch, *layer.normalized_shape))
    elif isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)):
        yield InputSpec((2, layer.num_features, 32, 32))
        yield InputSpec((2, layer.num_features))
