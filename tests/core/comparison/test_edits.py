"""Edits of models, each described as a reviewer would."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from torch import nn

from tests.core.comparison.edits import (
    Branches,
    Convs,
    Encoder,
    FirstToken,
    KeysFirst,
    Listed,
    NormBehind,
    WithoutResidual,
    Wrapped,
    edited,
    inserted,
    recorded,
    renamed,
    without,
)
from torchrecorder import diff
from torchrecorder.comparison.difference import Difference
from torchrecorder.comparison.union import Union
from torchrecorder.graph import Graph
from torchrecorder.graph.codec import problems

Make = Callable[[], nn.Module]


@cache
def graph_of(make: Make) -> Graph:
    return recorded(make())


def _each(name: str, layer: Callable[[], nn.Module]) -> Make:
    """The encoder with another layer of that name in all blocks."""
    return lambda: edited(Encoder(), lambda net: [block.register_module(name, layer()) for block in net.blocks])


EDITS: dict[str, tuple[Make, Make, list[str]]] = {
    "layer inserted": (
        Convs,
        lambda: inserted(Convs(), 2, nn.BatchNorm2d(8)),
        ["+ 2: BatchNorm2d added, after ReLU  +16 params", "→ numbers: 2–9 are 3–10 now"],
    ),
    "equal layers": (
        lambda: Listed(2),
        lambda: Listed(4, skips=(3,)),
        [
            "+ relu() ×2 added",
            "+ residual connection around convs.3 added",
            "+ convs.2–3: Conv1d 3 · 8→8 ×2 added, after Conv1d  +400 params",
        ],
    ),
    "layer removed": (
        lambda: inserted(Convs(), 2, nn.BatchNorm2d(8)),
        Convs,
        ["− 2: BatchNorm2d removed  −16 params", "→ numbers: 3–10 are 2–9 now"],
    ),
    "dropout removed": (Convs, lambda: without(Convs(), 8), ["− 8: Dropout p=0.5 removed", "→ numbers: 9 is 8 now"]),
    "dropout rate": (Convs, lambda: edited(Convs(), lambda net: setattr(net[8], "p", 0.1)), ["~ 8: p 0.5 → 0.1"]),
    "kernel size": (
        Convs,
        lambda: Convs(kernel=5),
        ["~ 0, 2, 4: kernel_size 3×3 → 5×5, padding 1×1 → 2×2 (×3)  +10.6 k params"],
    ),
    "width of one layer": (
        Convs,
        lambda: Convs(width=12),
        ["~ 0: out_channels 8 → 12  +112 params", "~ 2: in_channels 8 → 12  +576 params"],
    ),
    "width of the model": (
        Encoder,
        lambda: Encoder(width=32),
        ["~ widths 16 → 32 in 35 layers, 64 → 128 in 8 layers  +39.5 k params"],
    ),
    "more blocks": (Encoder, lambda: Encoder(depth=6), ["+ blocks: 4 → 6 Block  +6.56 k params"]),
    "fewer blocks": (lambda: Encoder(depth=6), Encoder, ["− blocks: 6 → 4 Block  −6.56 k params"]),
    "activation": (Encoder, lambda: Encoder(act=nn.SiLU), ["~ blocks.*.mlp.act: GELU → SiLU (×4)"]),
    "norm": (
        Encoder,
        lambda: Encoder(norm=nn.RMSNorm),
        ["~ blocks.*.norm1, blocks.*.norm2, norm: LayerNorm → RMSNorm (×9)  −144 params"],
    ),
    "head of other classes": (Encoder, lambda: Encoder(classes=3), ["~ head: out_features 10 → 3  −119 params"]),
    "head replaced": (
        Encoder,
        lambda: edited(Encoder(), lambda net: setattr(net, "head", nn.Sequential(nn.Dropout(0.2), nn.Linear(16, 10)))),
        ["+ head: Sequential added around head, with Dropout p=0.2", "→ head.1: moved, was head"],
    ),
    "vocabulary": (Encoder, lambda: Encoder(words=120), ["~ embed: num_embeddings 100 → 120  +320 params"]),
    "bias": (
        Encoder,
        lambda: Encoder(has_bias=False),
        ["~ blocks.*.attn.q, blocks.*.attn.k, blocks.*.attn.v: bias True → False (×12)  −192 params"],
    ),
    "residual removed": (
        Encoder,
        lambda: Encoder(block=WithoutResidual),
        ["− blocks.0–3: residual connection around norm1 … attn removed (×4)"],
    ),
    "residual added": (
        lambda: Encoder(block=WithoutResidual),
        Encoder,
        ["+ blocks.0–3: residual connection around norm1 … attn added (×4)"],
    ),
    "norm behind": (
        Encoder,
        lambda: Encoder(block=NormBehind),
        [
            "→ blocks.0–3: norm1 runs after +, no longer at the start (×4)",
            "→ blocks.0–3: norm2 runs after +, no longer after + (×4)",
        ],
    ),
    "pooling": (Encoder, FirstToken, ["~ mean dim 1 → [:, 0]"]),
    "other input": (
        Branches,
        lambda: Branches(is_crossed=True),
        ["~ right reads left instead of the input x"],
    ),
    "renamed": (Encoder, lambda: renamed(Encoder(), "head", "classifier"), ["→ classifier: renamed, was head"]),
    "wrapped": (
        Encoder,
        lambda: Wrapped(Encoder()),
        ["+ Wrapped around Encoder, its layer backbone, added, with last · Linear 10→2  +22 params"],
    ),
    "unwrapped": (
        lambda: Wrapped(Encoder()),
        Encoder,
        ["− Wrapped around Encoder, its layer backbone, removed, with last · Linear 10→2  −22 params"],
    ),
    "one block": (
        Encoder,
        lambda: edited(Encoder(), lambda net: setattr(net.blocks[2], "mlp", nn.Identity())),
        ["~ blocks.2.mlp: Mlp replaced by Identity  −2.13 k params"],
    ),
    "frozen": (Encoder, lambda: edited(Encoder(), lambda net: net.embed.requires_grad_(False)), ["~ embed: frozen"]),
    "two at once": (
        Encoder,
        lambda: Encoder(depth=6, act=nn.ReLU),
        ["+ blocks: 4 → 6 Block  +6.56 k params", "~ blocks.*.mlp.act: GELU → ReLU (×4)"],
    ),
    "nothing": (Encoder, Encoder, []),
    "lines in another order": (Encoder, _each("attn", lambda: KeysFirst(16)), []),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_described_as_a_reviewer_would(name: str) -> None:
    make_old, make_new, expected = EDITS[name]
    old, new = graph_of(make_old), graph_of(make_new)
    found = diff(old, new)
    lines = [line for line in found.text.splitlines() if line[:2] in ("+ ", "− ", "~ ", "→ ")]
    assert lines == expected
    assert found.is_empty is (not expected)
    union = Union(Difference(old, new).flow)
    assert problems(union.graph) == []
    assert {*union.marks.calls.values(), *union.marks.ops.values(), *union.marks.reads.values()} <= {
        "added",
        "removed",
        "changed",
        "moved",
    }
