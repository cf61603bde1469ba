"""The kind of a node: what it is drawn as, by colour and shape.

A layer of torch's own is known by the module of torch that defines it. Any other layer that calls no further one is
known by the ops it ran, never by the spelling of its name: a class that computes a mean and a reciprocal root
normalises, whatever it is called.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from torchrecorder.graph import Graph, Module
from torchrecorder.view.model import Node, NodeKind
from torchrecorder.view.op_families import ACTIVATIONS, POINTWISE

Kind = Literal["conv", "linear", "norm", "act", "pool", "attention", "io", "op", "block", "data", "link"]
"""`block`: layers whose inside is not drawn; `data`: a parameter, buffer or constant; `link`: an end of a cut edge."""

SYMBOLS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "matmul": "@", "bmm": "@", "mm": "@"}
"""Ops drawn as a sign in a circle."""

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


class NodeKinds:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.calling = {call.parent for call in graph.calls}
        self.ran: dict[int, set[str]] = {}
        for op in graph.ops:
            self.ran.setdefault(op.call, set()).add(plain(op.name))

    def of(self, node: Node) -> Kind:
        if node.kind in ("input", "output"):
            return "io"
        if node.kind == "call":
            return self.of_call(node.calls[0])
        if node.kind == "op" and node.op is not None:
            return op_kind(self.graph.ops[node.op].name)
        if node.kind == "function":
            return self._of_function({plain(self.graph.ops[op].name) for op in node.ops})
        return _OTHER_NODES.get(node.kind, "data")

    def _of_function(self, ran: set[str]) -> Kind:
        if "softmax" in ran and ran & {"matmul", "bmm", "einsum", "baddbmm"}:
            return "attention"
        if is_norm(ran):
            return "norm"
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


@lru_cache(maxsize=1024)
def op_kind(name: str) -> Kind:
    bare = plain(name)
    for kind, words in _OP_WORDS:
        if bare.startswith(words):
            return kind
    return "op"


def torch_kind(module: Module) -> Kind:
    """Kind of a layer of torch's own, by the file that defines it; `op` for all others."""
    if not module.native:
        return "op"
    path = module.cls.split(".")
    if path[-1] == "MultiheadAttention":
        return "attention"
    for part in path[:-1]:
        if part in _TORCH_FILES:
            return _TORCH_FILES[part]
    return "op"


def is_norm(ran: set[str]) -> bool:
    """Whether ops divide by a root of a mean, as a normalisation that is written out does."""
    return "rsqrt" in ran and bool(ran & {"mean", "var"})
