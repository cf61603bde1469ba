"""One line that says what a layer is: `Conv2d 3×3 /2 · 8→16`.

A small rule per family of torch's own layers picks the two or three numbers that a reader of papers expects from its
`extra_repr`, `8, 16, kernel_size=(3, 3), stride=(2, 2)`; a layer without a rule shows that text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from torchrecorder.view.op_families import names

MAX_REST = 28
"""Cap on the `extra_repr` of a layer without a rule."""
MAX_READ = 2000
"""Longer texts are cut: a module may print a table."""
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)


def summary(cls: str, extra_repr: str) -> str:
    """The class and the numbers that matter."""
    rule = _RULES.get(cls) or next((rule for start, rule in _FAMILIES.items() if cls.startswith(start)), None)
    if rule:
        facts = rule(read(extra_repr))
    else:
        text = " ".join(extra_repr.split())
        facts = [text if len(text) <= MAX_REST else text[: MAX_REST - 1].rstrip(" ,") + "…"]
    first, *others = [fact for fact in facts if fact] or [""]
    return " · ".join([f"{cls} {first}".strip(), *others])


@dataclass(frozen=True)
class ReprArguments:
    unnamed: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)

    def get(self, position: int, name: str, default: str = "") -> str:
        if name in self.named:
            return self.named[name]
        return self.unnamed[position] if 0 <= position < len(self.unnamed) else default


_Rule = Callable[[ReprArguments], list[str]]


def read(extra_repr: str) -> ReprArguments:
    """The values in the text; what is not written as arguments are is left out."""
    unnamed: list[str] = []
    named: dict[str, str] = {}
    for part in _split(extra_repr[:MAX_READ]):
        match = _NAMED.fullmatch(part)
        if match:
            named[match[1]] = match[2]
        elif part:
            unnamed.append(part)
    return ReprArguments(tuple(unnamed), named)


def _split(text: str) -> list[str]:
    parts, level, start = [], 0, 0
    for position, sign in enumerate(text):
        if sign in "([{":
            level += 1
        elif sign in ")]}":
            level -= 1
        elif sign in ",\n" and level <= 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]


def _sizes(value: str) -> tuple[str, ...]:
    """The parts of a tuple, or the value alone: `(3, 3)` gives `3` and `3`."""
    return tuple(part for part in _split(value.strip().strip("()[]")) if part)


def _window(value: str, axes: int = 0) -> str:
    """A size of a window: `3×3`; `3` if no number of axes is known."""
    parts = _sizes(value)
    return "×".join(parts * axes if len(parts) == 1 and axes else parts)


def _common(value: str) -> str:
    parts = _sizes(value)
    return parts[0] if len(set(parts)) == 1 else "×".join(parts)


def _conv(args: ReprArguments) -> list[str]:
    step = _common(args.get(3, "stride")) or "1"
    channels = [args.get(0, "in_channels"), args.get(1, "out_channels")]
    window = _window(args.get(2, "kernel_size")) + ("" if step == "1" else f" /{step}")
    dilation, groups = _common(args.named.get("dilation", "1")), args.named.get("groups", "1")
    shared = "" if groups == "1" else "depthwise" if groups == channels[0] else f"{groups} groups"
    return [window, "→".join(filter(None, channels)), shared, "" if dilation == "1" else f"dilation {dilation}"]


def _embedding(args: ReprArguments) -> list[str]:
    return ["×".join(filter(None, (args.get(0, "num_embeddings"), args.get(1, "embedding_dim"))))]


def _recurrent(args: ReprArguments) -> list[str]:
    layers = args.named.get("num_layers", "1")
    depth = "" if layers == "1" else f"{layers} layers"
    both = "both ways" if args.named.get("bidirectional") == "True" else ""
    return ["→".join(args.unnamed[:2]), depth, both]


def _pool(args: ReprArguments) -> list[str]:
    window = args.get(0, "kernel_size")
    step = args.get(1, "stride", window)
    strided = "" if _sizes(step) == _sizes(window) else f" /{_common(step)}"
    return [_window(window, 2) + strided]


def _dropout(args: ReprArguments) -> list[str]:
    return [f"p={args.get(0, 'p')}"]


def _resize(args: ReprArguments) -> list[str]:
    factor = args.named.get("scale_factor") or args.named.get("upscale_factor") or ""
    size = args.named.get("size", "")
    return [f"×{_common(factor).removesuffix('.0')}" if factor else f"→ {_window(size)}"]


_SILENT = names(
    """
    ReLU ReLU6 GELU SiLU Mish Hardswish Hardsigmoid SELU Softplus Softmax LogSoftmax Flatten Unflatten
    BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LayerNorm RMSNorm
    InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm
    """
)
"""Layers whose settings a picture does not need: their size is that of the data, or they have none."""

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(
        ("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"),
        lambda args: ["→".join(filter(None, (args.get(0, "in_features"), args.get(1, "out_features"))))],
    ),
    "Bilinear": lambda args: [
        "{}, {}→{}".format(*(args.named.get(f"{side}_features", "?") for side in ("in1", "in2", "out")))
    ],
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), _recurrent),
    **dict.fromkeys(
        ("MaxPool1d", "AvgPool1d", "LPPool1d"),
        lambda args: [text.replace("×", " ").split(" ")[0] for text in _pool(args)],
    ),
    **dict.fromkeys(("MaxPool2d", "MaxPool3d", "AvgPool2d", "AvgPool3d", "LPPool2d"), _pool),
    **dict.fromkeys(
        ("AdaptiveAvgPool1d", "AdaptiveMaxPool1d"), lambda args: [f"→ {_window(args.get(0, 'output_size'))}"]
    ),
    "GroupNorm": lambda args: [f"{args.get(0, 'num_groups')} groups"],
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), _resize),
    **dict.fromkeys(("PixelShuffle", "PixelUnshuffle"), _resize),
    **dict.fromkeys(
        ("LeakyReLU", "ELU", "CELU"),
        lambda args: [args.named.get("negative_slope") or args.named.get("alpha") or ""],
    ),
    **dict.fromkeys(("AlphaDropout", "FeatureAlphaDropout"), _dropout),
    **dict.fromkeys(_SILENT, lambda args: []),
}
_FAMILIES: dict[str, _Rule] = {
    "Conv": _conv,
    "LazyConv": _conv,
    "Adaptive": lambda args: [f"→ {_window(args.get(0, 'output_size'), 2)}"],
    "Dropout": _dropout,
}
"""By how the names of classes begin."""
