"""One line that says what a layer is: `Conv2d 3×3 /2 · 8→16`.

A rule per family of torch's own layers picks the two or three numbers that a reader of papers expects from its
`extra_repr`; a layer without a rule shows that text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise, product

from torchrecorder.view import Span
from torchrecorder.view.node_kinds import spoken
from torchrecorder.view.op_families import names
from torchrecorder.view.settings import LISTED, SIZES, ReprArguments, is_range, read, side_by_side, split

_LEAST_SAVED = 3  # characters for which sizes are not written by their ends
_WIDTHS = 7  # that are written of layers one by one, or of more layers in as many groups: of an EfficientNet
_FACTORS = 3  # that are written of layers which widen by several
MAX_REST = 28  # cap on the `extra_repr` of a layer without a rule
_UNTOLD = names(
    """
    padding output_padding padding_mode padding_idx eps momentum inplace bias affine track_running_stats
    elementwise_affine ceil_mode count_include_pad return_indices class params index
    function
    """
)
"""Settings that a picture does not need to say of layers which it shows closed."""
_WORDS = {"kernel_size": "kernel", "stride": "stride"}


def summary(
    cls: str,
    extra_repr: str,
    spans: Sequence[Span] = (),
    *,
    limit: int | None = None,
    like: str = "",
    whole: bool = False,
    in_a_row: bool = False,
    per_turn: int = 1,
) -> str:
    """The class and the numbers that matter, or all; of what differs among layers that are drawn once, all values.

    If that is longer than the limit, of sizes that differ the least and greatest are written, or by how much they grow.
    `like` is the class of torch that has such settings, if it is another. Sizes of layers `in_a_row` are a way from one
    to the next. There may be several `per_turn` of what is around, whose values are not listed as theirs.
    """
    classes = next((span.values for span in spans if span.name == "class"), ())
    if classes and all(span.name in ("class", "params") for span in spans):  # whose settings may be others
        return among(classes)
    like = like or cls
    cls, spans = among(classes) or cls, [span for span in spans if span.name != "class"]
    rule = _RULES.get(like) or next((rule for start, rule in _FAMILIES.items() if like.startswith(start)), _written)
    rule = _every(rule) if whole and rule is not _written else rule
    args = read(extra_repr)
    for span in spans:
        if span.name not in args.by_name() and span.name != "params":  # it is at its default
            args = args.changed(span.name, span.values[0])
    facts = rule(args) if rule is not _written or spans else [_cut(" ".join(extra_repr.split()))]
    for span in spans:
        last = args
        for other in spans:  # a dilation is not said of the first, whose kernel is 1×1
            if other.name not in (span.name, "params"):
                last = last.changed(other.name, [*dict.fromkeys(other.values)][-1])
        facts = _with_span(facts, rule, last, span, per_turn, in_a_row=in_a_row) if span.name != "params" else facts
    text = _joined(cls, facts)
    if limit is not None and len(text) > limit:
        for at, texts in (_place(rule, args, span) for span in spans if span.name == SIZES):
            short = "" if "depthwise" in facts else _expansion(texts, per_turn)
            if at is not None and len(facts[at]) - len(short) >= _LEAST_SAVED:
                facts[at] = short
        text = _joined(cls, facts)
    return text


def _joined(cls: str, facts: Sequence[str]) -> str:
    first, *others = [fact for fact in facts if fact] or [""]
    step = " · stride " if re.search(", | or ", first) else " /"  # `3×3, 5×5 · stride 2`
    return " · ".join([f"{cls} {first}".strip(), *others]).replace(" · /", step)


def _with_span(
    facts: Sequence[str], rule: _Rule, args: ReprArguments, span: Span, per_turn: int, *, in_a_row: bool
) -> list[str]:
    """The facts of a layer with those of several in place of the one that a setting decides."""
    at, texts = _place(rule, args, span)
    changed = [*facts]
    if at is not None:
        is_whole, is_size = span.name in (SIZES, "kernel_size", "output_size", "scale_factor"), span.name == SIZES
        said = _of_calls(texts, per_turn, sizes=is_size, in_a_row=in_a_row) if is_whole else setting(span, per_turn)
        changed[at] = said or _expansion(texts, per_turn)
    return changed


def _place(rule: _Rule, args: ReprArguments, span: Span) -> tuple[int | None, Sequence[str]]:
    """The place of the fact that a setting decides, and that fact of each layer."""
    columns = zip(*(rule(args.changed(span.name, value)) for value in span.values), strict=False)
    return next(((at, texts) for at, texts in enumerate(columns) if len({*texts}) > 1), (None, ()))


def _of_calls(texts: Sequence[str], per_turn: int, *, sizes: bool = False, in_a_row: bool = False) -> str:
    """The settings of calls that are counted, in order, `2, 4, 8, 8`, or `8→8→16→16` of a row; else `2, 4 or 8`."""
    turn = _of_turn(texts, per_turn)
    once = [*dict.fromkeys(turn)] if sizes and turn else sorted({*texts}, key=_numbers)
    rows = [text.split("→") for text in turn]
    is_way = all(a[1:] == b[:1] for a, b in pairwise(rows))
    if in_a_row and len(rows) > 2 and is_way and not is_range(once):
        return "→".join((rows[0][0], *(row[-1] for row in rows)))
    text = among(turn if not sizes and 0 < len(turn) <= LISTED else once, sizes=sizes)
    return text if sizes or 0 < len(turn) <= LISTED or "…" in text else _any(text)


def _any(text: str) -> str:
    return " or ".join(text.rsplit(", ", 1))


def _of_turn(values: Sequence[str], per_turn: int) -> Sequence[str]:
    """The values of calls that a reader counts, if every turn of what is around has the same; else none."""
    turn = values[:per_turn]
    return turn if per_turn > 1 and [*values] == [*turn] * (len(values) // per_turn) else ()


def _numbers(text: str) -> tuple[list[float], str]:
    return [*map(float, re.findall(r"\d+(?:\.\d+)?", text))], text


def _expansion(texts: Sequence[str], per_turn: int = 1) -> str:
    """`expansion 4`: by what layers widen or narrow; `32–64→64 or 128` of others that give few; the ends of sizes.

    >>> _expansion(["32→128", "64→256"]), _expansion(["128→128", "64→64", "64→128"]), _expansion(["416→16", "100→16"])
    ('expansion 4', '64–128→64 or 128', '100–416→16')
    """
    mark = "×" if all("×" in text for text in texts) else "→"  # of tables
    if not texts or not all(re.fullmatch(rf"\d+{mark}\d+", text) for text in texts):
        return ""
    before, after = zip(*(map(int, text.split(mark)) for text in texts), strict=True)
    is_few = 1 < len({*after}) <= LISTED
    for word, ways in (("expansion", (before, after)), ("reduction", (after, before))) if mark == "→" else ():
        factors = sorted({b / a if a else 0.0 for a, b in zip(*ways, strict=True)})
        if len(factors) <= (1 if is_few else _FACTORS) and all(n > 1 and n.is_integer() for n in factors):
            return f"{word} {', '.join(f'{n:.0f}' for n in factors)}"
    read, given = ("–".join(map(str, sorted({min(side), max(side)}))) for side in (before, after))
    row, once = after[: len(_of_turn(texts, per_turn))], sorted({*after})
    listed = row if 0 < len(row) <= _WIDTHS else once if [n for n, _ in groupby(row or once)] == once else ()
    text = ", ".join(map(str, listed))
    if mark == "→" and len(once) > 1 and 0 < len(listed) <= _WIDTHS:
        given = text if listed is row else _any(text)
    return f"{read}{mark}{given}"


def setting(span: Span, per_turn: int = 0) -> str:
    """`dilation 1, 2, 4 … 128`; `padding 22 or (3, 4)`, of which each may be of two sides."""
    values = [_common(value) for value in span.values]
    if span.name == "padding" and len(once := dict(zip(values, span.values, strict=True))) <= LISTED:
        return f"padding {' or '.join(value if '×' in text else text for text, value in once.items())}"
    name = _WORDS.get(span.name) or spoken(span.name).replace("_", " ")
    said = _of_calls(values, per_turn or len(values))
    return f"{name} {said}" if said else ""


def settings(spans: Sequence[Span]) -> list[str]:
    """The settings that differ among closed layers, as far as a reader of papers asks for them."""
    named = (span for span in spans if span.name and span.name not in _UNTOLD and "none" not in span.values)
    return [*filter(None, map(setting, named))]


def of_its_own(spans: Sequence[Span], n: int) -> list[str]:
    """Settings of a node for `n` calls whose inset gives several: `3×3 /2`, `dilation 1, then 2`; `first /2`."""
    facts = {span.name: setting(span, n) if span.values[1:] else _alone(span.name, span.values[0]) for span in spans}
    for span in spans:
        name, (start, *others) = span.name, map(_common, span.values)
        if "none" in others:  # which is of layers that the first alone has
            facts[name] = f"first {_alone(name, span.values[0])}"
        elif len(others) >= LISTED and len({*others}) == 1:
            facts[name] = setting(Span(name, (start, others[0]))).replace(", ", ", then ")
        if name == "stride" and others and {*others} <= {"1", "none"}:
            facts[name] = f"first /{start}"
    widths, window, step = (facts.pop(name, "") for name in (SIZES, "kernel_size", "stride"))
    is_of_first = window.startswith("first ") and step.startswith("first ")
    step = step.removeprefix("first ") if is_of_first else step
    first = [f"{window} {step}"] if is_of_first or ("×" in window and step.startswith("/")) else [window, step]
    said = filter(None, (widths, *first, *facts.values()))
    return sorted(said, key=lambda text: text.startswith("first "))  # what else the first alone has goes on there


def _alone(name: str, value: str) -> str:
    """`3×3`, `/2`, `dilation 2`, `8 heads`; nothing of what is at its default."""
    if not name:  # `64→128`
        return value
    text = _common(value)
    if name == "kernel_size":
        return window if "×" in (window := _window(value)) else f"kernel {window}"
    if text == "1" and name != "heads":
        return ""
    name = "head" if (name, text) == ("heads", "1") else name
    step = f"{text} {name}" if name in ("head", "heads", "groups") else f"{name} {text}"
    return f"/{text}" if name == "stride" else text if text == "depthwise" else step


def among(values: Sequence[str], *, sizes: bool = False) -> str:
    """Values that differ, in their order: a few, or the ends of a range; of more words their number, of others nothing.

    >>> among(["1", "2", "4", "8", "16", "32"]), among(["64→64", "128→128", "256→256"], sizes=True)
    ('1, 2, 4 … 32', '64→64 … 256→256')
    """
    values = [*map(rounded, values)]
    are_words = any(value[:1].isalpha() for value in values)
    text = side_by_side(values, " or " if are_words else ", ", ends=sizes)
    return text.replace(", → ", ", ") or (f"{len(values)} kinds" if are_words else "")  # `→ 1×1, 2×2`


def rounded(text: str) -> str:
    """A number in four digits; any other text as it is."""
    return f"{float(text):.4g}" if _is_number(text) and "." in text else text


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).replace("e-", "", 1).isdigit()


_Rule = Callable[[ReprArguments], list[str]]


def _sizes(value: str) -> tuple[str, ...]:
    """The parts of a tuple, or the value alone: `(3, 3)` gives `3` and `3`."""
    return tuple(part for part in split(value.strip().strip("()[]")) if part)


def _window(value: str, axes: int = 0) -> str:
    """A size of a window: `3×3`; `3` if no number of axes is known."""
    parts = _sizes(value)
    return "×".join(parts * axes if len(parts) == 1 and axes else parts)


def _common(value: str) -> str:
    parts = tuple(map(rounded, _sizes(value)))
    return parts[0] if len(set(parts)) == 1 else "×".join(parts)


def _written(args: ReprArguments) -> list[str]:
    return [_cut(", ".join(args.unnamed)), *(f"{name}={value}" for name, value in args.named.items())]


def _every(rule: _Rule) -> _Rule:
    """The facts of a rule with all settings that it does not read."""

    def facts(args: ReprArguments) -> list[str]:
        usual = rule(args)
        unread = [name for name in args.named if rule(args.changed(name, "(5, 7)")) == usual]
        return [*usual, *(f"{name.replace('_', ' ')} {_common(args.named[name])}" for name in unread)]

    return facts


def _cut(text: str) -> str:
    return text if len(text) <= MAX_REST else text[: MAX_REST - 1].rstrip(" ,") + "…"


def _conv(args: ReprArguments) -> list[str]:
    step = _common(args.get(3, "stride")) or "1"
    channels = [args.get(0, "in_channels"), args.get(1, "out_channels")]
    window = _window(args.get(2, "kernel_size"))
    dilation, groups = _common(args.named.get("dilation", "1")), args.named.get("groups", "1")
    shared = "" if groups == "1" else "depthwise" if groups == channels[0] else f"{groups} groups"
    strided, wide = (
        "" if step == "1" else f"/{step}",
        "" if dilation == "1" or {*window.split("×")} == {"1"} else f"dilation {dilation}",
    )
    return [window, strided, "→".join(filter(None, channels)), shared, wide]


def _embedding(args: ReprArguments) -> list[str]:
    return ["×".join(filter(None, (args.get(0, "num_embeddings"), args.get(1, "embedding_dim"))))]


def _recurrent(args: ReprArguments) -> list[str]:
    layers = args.named.get("num_layers", "1")
    depth = "" if layers == "1" else f"{layers} layers"
    both = "both ways" if args.named.get("bidirectional") == "True" else ""
    return ["→".join(args.unnamed[:2]), depth, both]


def _pool(args: ReprArguments, axes: int) -> list[str]:
    window = args.get(0, "kernel_size")
    step = args.get(1, "stride", window)
    return [_window(window, axes), "" if _sizes(step) == _sizes(window) else f"/{_common(step)}"]


def _adaptive_pool(args: ReprArguments, axes: int) -> list[str]:
    return [f"→ {_window(args.get(0, 'output_size'), axes)}"]


def _pools() -> Iterator[tuple[str, _Rule]]:
    """The rules of pools; one number of theirs holds for each axis."""
    for axes, kind in product((1, 2, 3), ("Max", "Avg", "LP", "AdaptiveAvg", "AdaptiveMax")):
        yield f"{kind}Pool{axes}d", partial(_adaptive_pool if kind.startswith("Adaptive") else _pool, axes=axes)


def _dropout(args: ReprArguments) -> list[str]:
    return [f"p={args.get(0, 'p')}"]


def _resize(args: ReprArguments) -> list[str]:
    factor = next((args.named[key] for key in args.named if key.endswith("scale_factor")), "")
    size = args.named.get("size", "")
    how = args.named.get("mode", "").strip("'")
    return [f"by {_common(factor).removesuffix('.0')} {how}".strip() if factor else f"→ {_window(size)} {how}".strip()]


_SILENT = names(
    """
    ReLU ReLU6 PReLU GELU SiLU Mish Hardswish Hardsigmoid SELU Softplus Softmax LogSoftmax Flatten Unflatten
    BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LayerNorm RMSNorm
    InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm Quantize DeQuantize
    """
)
"""Layers whose settings a picture does not need: their size is that of the data, or they have none."""

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(
        ("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"),
        lambda args: ["→".join(filter(None, (args.get(0, "in_features"), args.get(1, "out_features"))))],
    ),
    "Bilinear": lambda args: [
        "{}, {}→{}".format(*(args.get(i, f"{side}_features", "?") for i, side in enumerate(("in1", "in2", "out"))))
    ],
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), _recurrent),
    **dict(_pools()),
    "GroupNorm": lambda args: ["1 group" if (n := args.get(0, "num_groups")) == "1" else f"{n} groups"],
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
    "Dropout": _dropout,
}
"""By how the names of classes begin."""
