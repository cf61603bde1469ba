"""The words on ops: signs, indices with the names of what they index by, and what is written where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import NamedTuple

from torchrecorder.graph import Graph, Op
from torchrecorder.graph.batch import NUMBER
from torchrecorder.labels.names import clean
from torchrecorder.labels.operands import Names, turned, with_operands
from torchrecorder.labels.summaries import among, setting, summary
from torchrecorder.view import Span
from torchrecorder.view.differences import heads, values_of
from torchrecorder.view.node_kinds import COMPARED, SYMBOLS, is_reflected, plain, spoken
from torchrecorder.view.op_families import names
from torchrecorder.view.settings import is_range

MAX_NAME, MAX_LINE = 44, 60  # caps on the first and the second line; a node wider than that breaks the picture
_MAX_INDEX, _NAMED = 40, 3  # characters of an index or equation; parts of several indices at one place
_MAX_SQUARE = 100_000  # a root of more says no more than its number: no width of a layer is so large
_MAX_WHOLE = 1_000_000  # from here on a whole number is written with its power of ten
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_TENSOR = re.compile(r"\b(tensor)\b")
_AXES = re.compile(r"[(\[]?-?\d+(, -?\d+)*,?[)\]]?")
_BY_NUMBER = ("pixel_shuffle", "pixel_unshuffle", "repeat_interleave")
"""Ops whose first argument is a factor."""
_SETTINGS = {"topk": ("1", "k"), "stft": ("1", "n_fft", "hop_length"), "clamp": ("1", "2", "min", "max")}
"""By op the settings that tell two of its kind apart, which no line says."""
_POOL = re.compile(r"(adaptive_)?(avg|max)_pool(\dd)")
OVER_AXES = names(
    """
    repeat_interleave softmax log_softmax mean sum amax amin max min argmax argmin var std logsumexp prod gather
    quantile sort argsort cumsum cumprod flip norm normalize topk
    """
)
_AXIS_LAST = names("quantile norm normalize topk") | {*_BY_NUMBER}
"""Those whose axis is their second argument."""
_OPPOSITE = {"+": "−", "−": "+"}


_WITH_ONES, _ONES = 3, ("ones_like", "ones")
"""Tensors that a derivative of each number by itself reads: what it is of, by what, and ones."""


class Label(NamedTuple):
    """The lines of a node; a single one if the second would repeat it."""

    name: str
    line: str = ""
    is_sign: bool = False
    """Whether it is drawn in a circle."""


def op_label(
    known: Names,
    op: Op,
    spans: Sequence[Span] = (),
    others: Mapping[int, str] | None = None,
    seen: Sequence[int | str] | Mapping[int, int] | None = None,
    *,
    is_alone: bool = False,
) -> Label:
    """The lines of an op: a sign, or its name with what distinguishes it, and in what the ops differ at its place.

    `others` are the tensors that no line brings, by their position, `seen` the shape that a line brings, or its axes.
    If it `is_alone`, the node is drawn for no other op.
    """
    name = plain(op.name)
    if kinds := values_of(spans, ""):
        return Label(clean(with_operands(op, others or {}, among([*map(spoken, kinds)])), MAX_NAME))
    if name in ("getitem", "setitem") and len(spans) == 1:
        parts = zip(*(_bare(value).split(", ") for value in spans[0].values), strict=False)
        at = clean(", ".join(map(_turns, parts)), _MAX_INDEX)
        return Label(f"write [{at}]" if name == "setitem" else f"[{at}]")
    called = _derivative(known, op) or with_operands(op, others or {})
    if spans:
        facts = [_of_span(op, span) for span in spans]
        many = f"{len(spans[0].values)} numbers" if called in SYMBOLS.values() and not any(facts) else ""
        is_same = "dim" in op.attrs and all(span.name != "dim" for span in spans)
        called = clean(f"{called} {axes_of(known.graph, op, seen) if is_same else ''}".strip(), MAX_NAME)
        return Label(called, clean(" · ".join(filter(None, facts)) or many, MAX_LINE))
    if name in SYMBOLS:
        # a sign, with the number if the op's other side is one
        sign, number = SYMBOLS[name], op.attrs.get("1") or op.attrs.get("other") or op.attrs.get("0", "")
        is_batch = NUMBER.fullmatch(number) is not None
        if len(op.inputs) > 1 or not (is_batch or _NUMBER.fullmatch(number)):
            return Label(clean(called, MAX_NAME), is_sign=called == sign)
        text = number if is_batch else root_of(float(number)) or digits(float(number))
        if "0" in op.attrs or (name in ("sub", "div") and is_reflected(op)):  # `1 - x`
            return Label(f"{text} {sign}")
        is_less = text.startswith("−") and sign in _OPPOSITE  # `x - -2`
        sign, text = ("×", text[2:]) if sign == "÷" and text.startswith("1/") else (sign, text)
        return Label(f"{_OPPOSITE[sign]} {text[1:]}" if is_less else f"{sign} {text}")
    if name in COMPARED and len(op.inputs) == 1:  # `padding`, `= 0`
        how = f"{COMPARED[name]} {op.attrs.get('1') or op.attrs.get('other', '')}".strip()
        variable = known.graph.variable(op)
        return Label(clean(variable or how, MAX_NAME), clean(how, MAX_LINE) if variable else "")
    if name in ("getitem", "setitem"):
        number = op.attrs.get("2", "")
        what = f"write {float(number):.4g} at " if _NUMBER.fullmatch(number) else "write " if name == "setitem" else ""
        at = clean(_index(known, op), _MAX_INDEX)
        return Label(f"{what}[{at}]" if at else what.removesuffix("at ").strip() or "index")
    axes = axes_of(known.graph, op, seen)
    called, besides = in_two(called, 0 if axes else MAX_NAME) if others else (called, "")
    details = filter(None, [_weight(known.graph, op, is_alone), *("=".join(switch) for switch in turned(op).items())])
    line = f"{besides} {' · '.join(details)}".strip()
    return Label(clean(f"{called} {axes}".strip(), MAX_NAME), clean(line, MAX_LINE))


def _derivative(known: Names, op: Op) -> str:
    """`∂u/∂x` of one tensor by one that has a name, `∂/∂x` if the first has none."""
    made = known.graph.values[op.inputs[-1]].producer if len(op.inputs) == _WITH_ONES else None
    is_plain = len(op.inputs) == _WITH_ONES - 1 or (made is not None and known.graph.ops[made].name in _ONES)
    if op.name != "grad" or len(op.outputs) != 1 or not is_plain:
        return ""
    of, by = (known.of(value, op) for value in op.inputs[:2])
    return f"∂{of}/∂{by}" if by else ""


def _of_span(op: Op, span: Span) -> str:
    """The values of an argument in ops that are drawn once."""
    if span.name not in (op.name, "pad", "repeats"):
        return setting(span)
    if op.name == "pad":
        texts = dict.fromkeys(map(_padding, span.values))
        return " or ".join(texts) if len(texts) <= _NAMED else ""
    return f"{'by ' * (plain(op.name) in _BY_NUMBER)}{among(span.values)}"


def root_of(number: float) -> str:
    """`√768` or `1/√96` of a number that is one, and is not written in four digits."""
    square = round(max(number * number, 1 / (number * number))) if number and float(f"{number:.4g}") != number else 0
    for text, root in ((f"√{square}", square**0.5), (f"1/√{square}", square**-0.5 if square else 0.0)):
        if 0 < square <= _MAX_SQUARE and isclose(number, root, rel_tol=1e-9, abs_tol=0.0):
            return text
    return ""


def digits(number: float) -> str:
    """A number in four digits, `0.1768`, `−1e−6`, `10000`."""
    text = f"{number:.0f}" if number.is_integer() and abs(number) < _MAX_WHOLE else f"{number:.4g}"
    return re.sub(r"(?<=e[+-])0", "", text).replace("e+", "e").replace("-", "−")


def in_two(words: str, most: int = MAX_NAME) -> tuple[str, str]:
    """The name of an op, and apart from it the names of what it reads, if all are too long for one line."""
    name, _, names = words.partition(" ") if len(words) > most else (words, "", "")
    return name, names


def axes_of(graph: Graph, op: Op, seen: Sequence[int | str] | Mapping[int, int] | None = None) -> str:
    """The exponent of a power, and the axes of an op that is not over the last one, as no shape tells them.

    They are those of the shape that a reader sees, or `dim …` if they are not known there.
    """
    first = op.attrs.get("1", "")
    if op.name not in OVER_AXES:
        return first if plain(op.name) == "pow" else ""
    given = op.attrs.get("dim", op.attrs.get("2", "") if op.name in _AXIS_LAST else first)
    shape = graph.values[op.inputs[0]].shape
    axes = re.findall(r"-?\d+", given) if len(shape) > 1 and _AXES.fullmatch(given) else []
    numbers, n = [int(axis) for axis in axes], len(shape)
    if isinstance(seen, Mapping) and all(at % n in seen for at in numbers):
        numbers = [seen[at % n] for at in numbers]
        seen = None
    parts = [slice(at, None) if at < 0 else slice(at + 1) for at in numbers]
    if not {at % n for at in numbers} - {n - 1}:
        return ""
    is_seen = seen is None or (not isinstance(seen, Mapping) and all(seen[it] == shape[it] for it in parts))
    return f"dim {', '.join(map(str, numbers))}".replace("-", "−") if is_seen else "dim …"


def _place(op: Op) -> tuple[object, ...]:
    return op.source, op.offset, op.name


def _grown(graph: Graph, op: Op, is_alone: bool) -> list[str]:
    """`by 2` or `same size` of an interpolation, if all that its node or line of code does changes each size so."""
    rows = [op] if is_alone else [row for row in graph.ops if _place(row) == _place(op)]
    pairs = [[graph.values[value].shape[2:] for value in (row.inputs[0], row.outputs[0])] for row in rows]
    sides = [(a, b) for before, after in pairs for a, b in zip(before, after, strict=False)]
    factors = {b / a if isinstance(a, int) and isinstance(b, int) and a > 1 else 0.0 for a, b in sides}
    if is_alone and factors == {1.0}:
        return ["same size"]
    return [f"by {factor:.0f}" for factor in factors if len(factors) == 1 and factor > 1 and factor.is_integer()]


def _weight(graph: Graph, op: Op, is_alone: bool) -> str:
    """The sizes of the weight of a linear op, `8→16`, the kind of an attention or interpolation, or an equation."""
    if op.name == "interpolate":
        mode = op.attrs.get("mode", "").strip("'")
        return " · ".join((*_grown(graph, op, is_alone), mode)) if mode else ""  # else its arguments are not known
    if op.name in _BY_NUMBER:
        return f"by {number}" if (number := op.attrs.get("1") or op.attrs.get("repeats", "")).isdigit() else ""
    if op.name == "scaled_dot_product_attention":
        return _attention(graph, op)
    if op.name == "softmax":
        return f"{n} heads" if (n := heads(graph, op)) > 1 else ""
    if (said := _settings_of(op)) and all(row.attrs == op.attrs for row in graph.ops if _place(row) == _place(op)):
        return said
    if op.name == "einsum":  # as papers write it: `bd,bnd→bn`
        equation = op.attrs.get("0", "").strip("'").replace(" ", "").replace("->", "→").replace("...", "…")
        return equation if "→" in equation and len(equation) <= _MAX_INDEX else ""
    meta = graph.values[op.inputs[1]].meta if plain(op.name) == "linear" and len(op.inputs) > 1 else None
    return f"{meta.shape[1]}→{meta.shape[0]}" if meta is not None and len(meta.shape) == 2 else ""


def _settings_of(op: Op) -> str:
    """The settings that tell two ops of a kind apart, which no line says: `3×3 /2`, `→ 1×1`, `min=0`."""
    attrs = op.attrs
    if pool := _POOL.fullmatch(op.name):
        keys = ["output_size"] if pool[1] else ["kernel_size", "stride"]
        given = {key: attrs.get(str(i)) or attrs.get(key, "None") for i, key in enumerate(keys, 1)}
        like = f"{'Adaptive' if pool[1] else ''}{pool[2].capitalize()}Pool{pool[3]}"
        return summary("", ", ".join(f"{key}={text}" for key, text in given.items() if text != "None"), like=like)
    if op.name == "pad":
        mode = attrs.get("mode", "'constant'").strip("'")
        return " · ".join((_padding(attrs.get("1") or attrs.get("pad", "")), *([mode] if mode != "constant" else [])))
    said = [
        (key, attrs[key].replace("-", "−")) for key in _SETTINGS.get(op.name, ()) if attrs.get(key, "None") != "None"
    ]
    return ", ".join(text.removesuffix(".0") if key.isdigit() or key == "k" else f"{key}={text}" for key, text in said)


def _padding(text: str) -> str:
    """`1, 0` of the last axis, `0, 6 at axes −3, −2`, `none`."""
    sizes, at = re.findall(r"-?\d+", text), dict[str, list[str]]()
    for i, pair in enumerate(zip(sizes[::2], sizes[1::2], strict=False), 1):
        at.setdefault(", ".join(pair).replace("-", "−"), []).insert(0, f"−{i}")
    at.pop("0, 0", None)
    axes = {pair: f"{'axes' if of[1:] else 'axis'} {', '.join(of)}" for pair, of in at.items()}
    return " · ".join(pair if of == "axis −1" else f"{pair} at {of}" for pair, of in axes.items()) or "none"


def _attention(graph: Graph, op: Op) -> str:
    """`scaled dot-product · 8 heads · 2 key/value heads · causal`.

    Not scaled if a scale of one is given, for queries that are scaled.
    """
    how = "scaled dot-product"
    if scale := _NUMBER.fullmatch(op.attrs.get("scale", "")):  # and not a size that is computed with
        factor, size = float(scale[0]), graph.values[op.inputs[0]].shape[-1]
        if factor == 1:
            how = "dot-product"
        elif isinstance(size, int) and not isclose(factor * factor * size, 1, rel_tol=0.01):
            how = f"dot-product × {factor:.3g}"
    n = heads(graph, op)
    numbers = (f"{n} heads", *_key_heads(graph, op)) if n > 1 else ()
    return " · ".join((how, *numbers, *(["causal"] if op.attrs.get("is_causal") == "True" else [])))


def _key_heads(graph: Graph, op: Op) -> list[str]:
    """The heads of keys and values, if groups of queries share them, as many wherever the line of code ran."""
    alike = [row for row in graph.ops if _place(row) == _place(op) and row.attrs.get("enable_gqa") == "True"]
    numbers = {graph.values[row.inputs[1]].shape[-3] for row in alike if op.attrs.get("enable_gqa") == "True"}
    is_fewer = len(numbers) == 1 and numbers != {graph.values[op.inputs[0]].shape[-3]}
    return [f"{n} key/value head{'s' * (n != 1)}" for n in numbers if is_fewer]


def _index(known: Names, op: Op) -> str:
    """`:, 0` for the index `(:, 0)`, with names for the tensors in it: `:, context`; empty if one has none."""
    given = op.inputs[1:] if plain(op.name) == "getitem" else op.inputs[1:-1] or op.inputs[1:]
    known_as = [known.of(value, op) for value in given]
    text = _bare(op.attrs.get("1", "")) or ", ".join(["tensor"] * len(known_as[:1]))
    rest: Iterator[str] = iter(known_as)
    texts = [next(rest, "") if part == "tensor" else part for part in _TENSOR.split(text)]
    return "".join(texts) if all(texts[1::2]) else ""


def _turns(parts: Sequence[str]) -> str:
    """`0 … 5` of what stands at one place of several indices, `0 or 3 or 4`, or `…` if that is long."""
    texts = [*dict.fromkeys(parts)]
    is_wide = len(texts) > 1 and is_range(texts)
    return f"{texts[0]} … {texts[-1]}" if is_wide else " or ".join(texts) if len(texts) <= _NAMED else "…"


def _bare(text: str) -> str:
    return text[1:-1].rstrip(",") if text.startswith("(") else text
