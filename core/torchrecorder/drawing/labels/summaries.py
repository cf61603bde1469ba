"""One line that says what a layer is: `Conv2d 3×3 /2 · 8→16`.

A small rule per family of torch's own layers picks the two or three numbers that a reader of papers expects; a layer
without a rule shows what its `extra_repr` says.
"""

from __future__ import annotations

from collections.abc import Callable

from torchrecorder.drawing.labels.extra_repr import Said, read, sizes
from torchrecorder.view.op_families import names

_Rule = Callable[[Said], list[str]]
MAX_REST = 28
"""Cap on the `extra_repr` of a layer without a rule."""


def summary(cls: str, extra_repr: str) -> str:
    """The class and the numbers that matter.

    Args:
        cls: Name of the class, without its module.
        extra_repr: What the module says of itself.
    """
    rule = _RULES.get(cls) or next((_RULES[p] for p in _PREFIXES if cls.startswith(p)), None)
    said = read(extra_repr)
    facts = rule(said) if rule else _rest(extra_repr)
    first, *others = [fact for fact in facts if fact] or [""]
    return " · ".join([f"{cls} {first}".strip(), *others])


def square(value: str, axes: int = 0) -> str:
    """A size of a window: `3×3`; `3` if no number of axes is known."""
    parts = sizes(value)
    return "×".join(parts * axes if len(parts) == 1 and axes else parts)


def _conv(said: Said) -> list[str]:
    kernel, stride = said.get(2, "kernel_size"), said.get(3, "stride")
    window = square(kernel)
    step = _common(sizes(stride)) if stride else "1"
    strided = "" if step == "1" else f" /{step}"
    channels = [said.get(0, "in_channels"), said.get(1, "out_channels")]
    dilation = _common(sizes(said.named.get("dilation", "1")))
    spread = "" if dilation == "1" else f"dilation {dilation}"
    return [window + strided, "→".join(filter(None, channels)), _groups(said, channels), spread]


def _groups(said: Said, channels: list[str]) -> str:
    groups = said.named.get("groups", "1")
    if groups == "1":
        return ""
    return "depthwise" if groups == channels[0] else f"{groups} groups"


def _common(parts: tuple[str, ...]) -> str:
    """The one number of equal parts, or all of them."""
    return parts[0] if len(set(parts)) == 1 else "×".join(parts)


def _linear(said: Said) -> list[str]:
    return ["→".join(filter(None, (said.get(0, "in_features"), said.get(1, "out_features"))))]


def _bilinear(said: Said) -> list[str]:
    one, two, out = (said.named.get(f"{side}_features", "?") for side in ("in1", "in2", "out"))
    return [f"{one}, {two}→{out}"]


def _embedding(said: Said) -> list[str]:
    return ["×".join(filter(None, (said.get(0, "num_embeddings"), said.get(1, "embedding_dim"))))]


def _recurrent(said: Said) -> list[str]:
    layers = said.named.get("num_layers", "1")
    depth = "" if layers == "1" else f"{layers} layers"
    both = "both ways" if said.named.get("bidirectional") == "True" else ""
    return ["→".join(said.unnamed[:2]), depth, both]


def _pool(said: Said) -> list[str]:
    window = said.get(0, "kernel_size")
    step = said.get(1, "stride", window)
    strided = "" if sizes(step) == sizes(window) else f" /{_common(sizes(step))}"
    return [square(window, 0 if len(sizes(window)) > 1 else 2) + strided]


def _pool_1d(said: Said) -> list[str]:
    return [text.replace("×", " ").split(" ")[0] for text in _pool(said)]


def _adaptive(said: Said) -> list[str]:
    return [f"→ {square(said.get(0, 'output_size'), 2)}"]


def _adaptive_1d(said: Said) -> list[str]:
    return [f"→ {square(said.get(0, 'output_size'))}"]


def _dropout(said: Said) -> list[str]:
    return [f"p={said.get(0, 'p')}"]


def _group_norm(said: Said) -> list[str]:
    return [f"{said.get(0, 'num_groups')} groups"]


def _resize(said: Said) -> list[str]:
    factor = said.named.get("scale_factor") or said.named.get("upscale_factor") or ""
    size = said.named.get("size", "")
    return [f"×{_common(sizes(factor)).removesuffix('.0')}" if factor else f"→ {square(size)}"]


def _slope(said: Said) -> list[str]:
    return [said.named.get("negative_slope") or said.named.get("alpha") or ""]


def _nothing(said: Said) -> list[str]:
    return []


def _rest(extra_repr: str) -> list[str]:
    text = " ".join(extra_repr.split())
    return [text if len(text) <= MAX_REST else text[: MAX_REST - 1].rstrip(" ,") + "…"]


_SILENT = names(
    """
    ReLU ReLU6 GELU SiLU Mish Hardswish Hardsigmoid SELU Softplus Softmax LogSoftmax Flatten Unflatten
    BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LayerNorm RMSNorm
    InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm
    """
)
"""Layers whose settings a picture does not need: their size is that of the data, or they have none."""

_RULES: dict[str, _Rule] = {
    "Linear": _linear,
    "LazyLinear": _linear,
    "NonDynamicallyQuantizableLinear": _linear,
    "Bilinear": _bilinear,
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), _recurrent),
    **dict.fromkeys(("MaxPool1d", "AvgPool1d", "LPPool1d"), _pool_1d),
    **dict.fromkeys(("MaxPool2d", "MaxPool3d", "AvgPool2d", "AvgPool3d", "LPPool2d"), _pool),
    **dict.fromkeys(("AdaptiveAvgPool1d", "AdaptiveMaxPool1d"), _adaptive_1d),
    "GroupNorm": _group_norm,
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), _resize),
    **dict.fromkeys(("PixelShuffle", "PixelUnshuffle"), _resize),
    **dict.fromkeys(("LeakyReLU", "ELU", "CELU"), _slope),
    **dict.fromkeys(_SILENT, _nothing),
}
_RULES |= {"Conv": _conv, "LazyConv": _conv, "Adaptive": _adaptive}
_RULES |= dict.fromkeys(("Dropout", "AlphaDropout", "FeatureAlphaDropout"), _dropout)
_PREFIXES = ("Conv", "LazyConv", "Adaptive", "Dropout")
