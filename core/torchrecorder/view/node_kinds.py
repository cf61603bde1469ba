"""The kind of a node: what it is drawn as, by colour and shape.

A layer of torch's own is known by the module of torch that defines it. Any other layer that calls no further one is
known by the ops it ran, never by the spelling of its name: a class that computes a mean and a reciprocal root
normalises, whatever it is called. So is one that does the work of one layer: a subclass, a layer whose weight is
computed (`weight_norm`, a mask), and one around a layer that pads or scales besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from torchrecorder.graph import Call, Graph, Module, Op
from torchrecorder.view.model import Node, NodeKind
from torchrecorder.view.op_families import ACTIVATIONS, PIECES, POINTWISE, SHAPING, WEIGHTED

Kind = Literal["conv", "linear", "norm", "act", "pool", "attention", "io", "op", "block", "data", "link"]
"""`block`: layers whose inside is not drawn; `data`: a parameter, buffer or constant; `link`: an end of a cut edge."""

SYMBOLS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "matmul": "@", "bmm": "@", "mm": "@"}
"""Ops drawn as a sign in a circle."""
COMPARED = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}

_SPOKEN = {"scaled_dot_product_attention": "attention", "setitem": "write"}

_TOLD_BY_OPS: tuple[Kind, ...] = ("attention", "conv", "linear", "pool")
_TELLING: tuple[Kind, ...] = ("attention", "conv", "norm", "linear", "pool")

_OTHER_NODES: dict[NodeKind, Kind] = {"gap": "block", "from": "link", "to": "link"}

_TORCH_FILES: dict[str, Kind] = {
    "conv": "conv",
    "linear": "linear",
    "sparse": "linear",
    "rnn": "linear",
    "batchnorm": "norm",
    "normalization": "norm",
    "instancenorm": "norm",
    "activation": "act",
    "pooling": "pool",
    "upsampling": "pool",
    "pixelshuffle": "pool",
    "fold": "pool",
    "container": "block",
    "transformer": "block",
}
_OP_WORDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("attention", ("scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention")),
    (
        "norm",
        ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize", "local_response_norm"),
    ),
    ("conv", ("conv",)),
    ("linear", ("linear", "bilinear", "embedding", "addmm", "baddbmm", "einsum", "lstm", "gru", "rnn_")),
    (
        "pool",
        ("max_pool", "avg_pool", "adaptive_", "lp_pool", "interpolate", "upsample", "pixel_", "grid_sample", "unfold"),
    ),
    ("act", tuple(sorted(ACTIVATIONS))),
)
_ALIASES = {"truediv": "div", "iadd": "add", "imul": "mul", "isub": "sub", "itruediv": "div", "multiply": "mul"}
_ALIASES |= {"divide": "div", "subtract": "sub", "true_divide": "div", "true_div": "div", "rsub": "sub", "radd": "add"}


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """The name of an op without the signs of writing in place or of an operator: `add_` and `__add__` are `add`."""
    bare = name.strip("_") if name.startswith("__") else name.removesuffix("_")
    return _ALIASES.get(bare, bare)


def spoken(name: str) -> str:
    """The name of an op as a reader says it, or its sign: `+`, `attention`."""
    return SYMBOLS.get(name) or _SPOKEN.get(name, name)


def is_reflected(op: Op) -> bool:
    """Whether an operator was called with its sides exchanged, as for `1 - x`."""
    return op.target.rpartition(".")[2].startswith("__r")


_ONE_LAYER: tuple[Kind, ...] = ("conv", "linear", "norm")
_PADS = SHAPING | PIECES | {"pad", "getitem", "narrow", "cat"}
_SCALES = ("add", "sub", "mul", "div")
_PARAMETRIZED, _MADE = "torch.nn.utils.parametrize.Parametrized", ".parametrizations."
"""How torch names the class of a layer whose weight another module makes, and where that module is."""
_HOOKED = {"weight_g": "weight_norm", "weight_u": "spectral_norm", "weight_mask": "pruned"}
"""By the parameter or buffer that it adds how a hook of torch makes the weight."""


_UNKNOWN = Module("", "", native=True)


class OneLayer(NamedTuple):
    """The one layer whose work a call does."""

    kind: Kind
    like: str
    """Class of torch that has such settings: `Conv2d`."""
    said: str
    """What the layer says of itself, as its `extra_repr`."""
    made: tuple[str, ...]
    """How its weight is made: `weight_norm`."""
    name: str = ""
    """Class of torch that does the same, if the layer's own promises layers in it that do nothing here."""


class NodeKinds:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.calling = {call.parent for call in graph.calls}
        self.ran: dict[int, set[str]] = {}
        self._acts: dict[int, list[str]] = {}
        """By call the first ops that run in it, but for those that only move data."""
        for op in graph.ops:
            is_root = op.name == "pow" and "-0.5" in op.attrs.values()
            name = "rsqrt" if is_root else self._name(op)
            self.ran.setdefault(op.call, set()).add(name)
            for row in graph.around(op.call) if op.kind != "pass" and name not in SHAPING else ():
                acts = self._acts.setdefault(row.id, [])
                acts += [name] if len(acts) < _MOST_ACTS else []

    def _name(self, op: Op) -> str:
        """The name of an op; of an `einsum` of data alone that of a product."""
        read = [*op.inputs] if op.name == "einsum" else []
        for value in read:
            made = self.graph.values[value].producer
            read += [] if made is None or self.graph.ops[made].name not in SHAPING else self.graph.ops[made].inputs[:1]
        is_data = read and all(self.graph.values[value].kind != "param" for value in read)
        return "matmul" if is_data else plain(op.name)

    def of(self, node: Node) -> Kind:
        if node.kind in ("input", "output"):
            return "io"
        if node.kind == "call":
            return self.of_call(node.calls[0])
        if node.kind == "op" and node.op is not None:
            return op_kind(self._name(self.graph.ops[node.op]))
        if node.kind == "function":
            return self._of_function({self._name(self.graph.ops[op]) for op in node.ops})
        return _OTHER_NODES.get(node.kind, "data")

    def _of_function(self, ran: set[str]) -> Kind:
        kinds = {op_kind(name) for name in ran}
        for kind in _TOLD_BY_OPS:
            if kind in kinds:
                return kind
        return "op"

    def of_call(self, call: int) -> Kind:
        row = self.graph.calls[call]
        module = self.graph.modules.get(row.module) if row.kind == "module" else None
        if module is None:
            return "op"
        if module.native and call not in self.calling:
            return torch_kind(module)
        return self.layers[call].kind if call in self.layers else self._of_ops(call)

    def _of_ops(self, call: int) -> Kind:
        ran = self.ran.get(call, set())
        kinds = {op_kind(name) for name in ran}
        if call in self.calling:
            return "attention" if "attention" in kinds and not is_norm(ran) else "block"
        if is_norm(ran):
            return "norm"
        for kind in _TELLING:
            if kind in kinds:
                return kind
        is_formula = ran <= POINTWISE | {name for name in ran if op_kind(name) == "act"}
        return "act" if "act" in kinds and is_formula else "op"

    @cached_property
    def layers(self) -> dict[int, OneLayer]:
        """By call the one layer whose work it does, but for layers of torch as they are."""
        works = _Works(self.graph)
        found = ((call.id, self._layer(call, works)) for call in self.graph.calls if call.kind == "module" and call.ok)
        return {call: layer for call, layer in found if layer is not None}

    def _layer(self, call: Call, works: _Works) -> OneLayer | None:
        module, is_leaf = self.graph.modules.get(call.module, _UNKNOWN), call.id not in works.busy
        made, plainly = (*works.made[call.id],), self._plainly(call, module)
        is_made = bool(made) and (module.cls.startswith(_PARAMETRIZED) or is_leaf)
        if module.native and not is_made:
            return None
        op = works.of(call.id)
        if op is not None and (is_made or is_leaf or works.is_padded[call.id]):
            inner, kind = self.graph.modules.get(self.graph.calls[op.call].module, module), op_kind(op.name)
            is_more = works.is_scaled[call.id] and not is_leaf  # as embeddings are that add places
            if kind == "norm" or (inner.params.total == module.params.total and not is_more):
                like = next((cls for start, cls in _LIKE.items() if op.name.startswith(start)), "")
                sizes = self._widths(op)
                said = sizes if "features=" not in inner.extra_repr and sizes else inner.extra_repr
                like = like or ("LayerNorm" if kind == "norm" else "Linear")
                return OneLayer(kind, like, said, made, plainly)
        is_plain = bool(plainly) and is_leaf
        return OneLayer(self._of_ops(call.id), plainly, module.extra_repr, made, plainly) if is_plain else None

    def _widths(self, op: Op) -> str:
        """The sizes of a linear layer from the one op that it ran; `addmm` reads its weight last, transposed."""
        weights = op.inputs[1:2] if op.name == "linear" else op.inputs[2:3] if op.name == "addmm" else ()
        shapes = (self.graph.values[value].shape for value in weights)
        widths = next((shape if op.name == "addmm" else shape[::-1] for shape in shapes if len(shape) == 2), ())
        return "in_features={}, out_features={}".format(*widths) if widths else ""

    def _plainly(self, call: Call, module: Module) -> str:
        """The class of torch in the name of one whose calls do as that does: `SiLU` in `SiLUActivation`.

        Padding is not said of any layer, but a `CausalConv1d` is named after it. A `LayerNorm2d` is over other axes.
        """
        cls, acts = module.cls.rpartition(".")[2], " ".join(self._acts.get(call.id, ()))
        known = _PLAINLY.get(acts.removeprefix("pad "), "")
        is_first = cls.startswith(known) and (not known.endswith("Norm") or call.id in self.calling)
        return known if is_first or (cls.endswith(known) and not acts.startswith("pad ")) else ""

    def said(self, call: int) -> str:
        """What the layer of a call says of itself, or the one whose work it does."""
        if call in self.layers:
            return self.layers[call].said
        module = self.graph.modules.get(self.graph.calls[call].module)
        return "" if module is None else module.extra_repr


_LIKE = {
    "conv": "Conv2d",
    "embedding": "Embedding",
    "lstm": "LSTM",
    "gru": "GRU",
    "rnn": "RNN",
    "group_norm": "GroupNorm",
}
"""By how the names of ops begin; all others have the settings of a linear layer, or none."""

_PLAINLY = {"batch_norm": "BatchNorm", "layer_norm": "LayerNorm", "group_norm": "GroupNorm", "rms_norm": "RMSNorm"}
_PLAINLY |= {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}
_PLAINLY |= dict.fromkeys(("pow mean add rsqrt mul", "pow mean add rsqrt mul mul"), "RMSNorm")
_PLAINLY |= {f"conv{axes}d": f"Conv{axes}d" for axes in (1, 2, 3)}
"""Classes of torch, of norms without the number of axes, by the ops that do their work."""
_MOST_ACTS = 1 + max(len(acts.split()) for acts in _PLAINLY)
"""One more than any of these has."""


class _Works:
    """By call the one op with weights that runs in it, if all else only pads, moves and scales the same data."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made = [value.kind in ("param", "buffer", "const") for value in graph.values]
        """By value whether data has no part in it."""
        self._origin = [*range(len(graph.values))]
        self.ops: list[list[Op]] = [[] for _ in graph.calls]
        """By call the ops with weights in it, of more than one the first two."""
        self.is_more = [False] * len(graph.calls)
        acting = {op.call for op in graph.ops if op.kind != "pass"}
        self.busy = {row.id for call in acting for row in graph.around(graph.calls[call].parent)}
        """The calls in which a layer does something."""
        self.is_padded = [False] * len(graph.calls)
        """Whether more is done than to move data."""
        self.is_scaled = [False] * len(graph.calls)
        """Whether data are multiplied or added to besides."""
        self.made: list[dict[str, None]] = [{} for _ in graph.calls]
        """By call how weights in it are made: `weight_norm`, and names of classes of users."""
        for op in graph.ops:
            self._sort(op)
        for call in reversed(graph.calls):
            self.made[call.id] |= dict.fromkeys(self._parametrization(call))
            if call.parent is not None:
                self.ops[call.parent] = (self.ops[call.parent] + self.ops[call.id])[:2]
                self.is_more[call.parent] |= self.is_more[call.id]
                self.is_padded[call.parent] |= self.is_padded[call.id]
                self.is_scaled[call.parent] |= self.is_scaled[call.id]
                self.made[call.parent] |= self.made[call.id]

    def of(self, call: int) -> Op | None:
        return self.ops[call][0] if len(self.ops[call]) == 1 and not self.is_more[call] else None

    def _sort(self, op: Op) -> None:
        names = ((self.graph.values[value].name or "").rpartition(".")[2] for value in op.inputs)
        self.made[op.call] |= dict.fromkeys(_HOOKED[name] for name in names if name in _HOOKED)
        data, name = [self._origin[value] for value in op.inputs if not self._made[value]], plain(op.name)
        for value in op.outputs:
            self._made[value] = not data
        if name in WEIGHTED and op_kind(op.name) in _ONE_LAYER and len(data) == 1:
            self.ops[op.call].append(op)
        elif len({*data}) == 1 and (op.kind == "pass" or name in _PADS or (name in _SCALES and len(data) == 1)):
            for value in op.outputs:
                self._origin[value] = data[0]
            self.is_padded[op.call] |= name not in SHAPING | PIECES and op.kind != "pass"
            self.is_scaled[op.call] |= name in _SCALES
        elif data:
            self.is_more[op.call] = True

    def _parametrization(self, call: Call) -> Iterator[str]:
        module, (path, _, last) = self.graph.modules.get(call.module), call.module.rpartition(".")
        if module is not None and _MADE in f"{path}." and last.isdigit():
            name = module.cls.rpartition(".")[2]
            yield re.sub(r"(?<=.)(?=[A-Z])", "_", name.strip("_")).lower() if module.native else name


@lru_cache(maxsize=1024)
def op_kind(name: str) -> Kind:
    for kind, words in _OP_WORDS:
        if plain(name).startswith(words):
            return kind
    return "op"


def torch_kind(module: Module) -> Kind:
    """Kind of a layer of torch's own, by the file that defines it; `op` for all others."""
    if not module.native:
        return "op"
    *path, name = module.cls.split(".")
    if name == "MultiheadAttention":
        return "attention"
    for part in path:
        if part in _TORCH_FILES:
            return _TORCH_FILES[part]
    return "op"


def is_norm(ran: set[str]) -> bool:
    """Whether ops divide by a root of a mean and do little else, as a normalisation that is written out does."""
    is_divided = "rsqrt" in ran or {"sqrt", "div"} <= ran
    return is_divided and bool(ran & {"mean", "var"}) and ran <= POINTWISE | SHAPING
