"""A user's styler asked about pictures, here or in a worker, and its answer checked.

Importing a styler often imports torch, which a documentation build must not, and one that hangs or prints must not
disturb the build. The answer goes into markup, so nothing is passed on as it is: a colour becomes six digits, a width a
number, a line one of three words, and a label is text like any other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from torchrecorder.errors import LOG_LIMIT, StylerError, WorkerCrashed, WorkerTimeout, did_you_mean, shown_text
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.names import clean
from torchrecorder.labels.op_words import MAX_LINE, MAX_NAME
from torchrecorder.layout.model import MAX_PEN, EdgeStyle, NodeStyle, Styles
from torchrecorder.request.stylers import StyledNode, StylerInput, StylerRequest
from torchrecorder.view import Box, Node, View
from torchrecorder.worker.styling import StylerRaised, run_styler

if TYPE_CHECKING:
    from torchrecorder.worker.client import Worker

OpenWorker: TypeAlias = "Callable[[], AbstractContextManager[Worker]]"

MAX_PROBLEMS = 8  # of one picture; a styler makes the same one at many nodes
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_SHORT_HEX = re.compile(r"#[0-9a-fA-F]{3}")
TIMEOUT_S = 120.0
"""Seconds that a styler may take for all pictures of a build; importing it may import a library as large as torch."""


def styler_input(view: View, labels: Labels) -> StylerInput:
    nodes = []
    for node in view.nodes:
        label, kind = labels.node(node), labels.kind(node)
        text = "\n".join(filter(None, (label.name, label.line)))
        if node.kind == "call":
            nodes.append(_layer(view, kind, text, node))
            continue
        op = view.graph.ops[node.op] if node.kind == "op" and node.op is not None else None
        shape = _shape(view, node.values if op is None else op.outputs)
        name = node.name if node.kind == "function" else "" if op is None else op.target
        nodes.append(StyledNode(kind, text, op=name, shape=shape))
    boxes = tuple(_layer(view, "box", labels.box(box), box) for box in view.boxes)
    return StylerInput(tuple(nodes), boxes, tuple((edge.tail, edge.head) for edge in view.edges))


def _layer(view: View, kind: str, text: str, thing: Node | Box) -> StyledNode:
    call = view.graph.calls[thing.calls[0]]
    module = view.graph.modules.get(call.module) if call.kind == "module" else None
    shape = _shape(view, tuple(call.outputs.values()))
    if module is None:
        return StyledNode(kind, text, op=call.module, repeat=thing.repeat, shape=shape)
    return StyledNode(kind, text, module.fqn, module.cls, "", module.params.total, thing.repeat, shape)


def _shape(view: View, values: tuple[int, ...]) -> tuple[int | str, ...]:
    return view.graph.values[values[0]].shape if len(values) == 1 else ()


def styles_by(styler: object, given: StylerInput) -> Styles:
    name = f"{getattr(styler, '__module__', '')}.{getattr(styler, '__qualname__', type(styler).__qualname__)}"
    try:
        answer = run_styler(styler, given)
    except StylerRaised as error:
        raise StylerError(name, (error.reason,), error.trace) from error
    return _checked(name, answer, given)


def styles_by_name(
    styler: str,
    given: Sequence[StylerInput],
    open_worker: OpenWorker,
    timeout_s: float = TIMEOUT_S,
    on_modules: Callable[[str, Mapping[str, str]], None] | None = None,
) -> list[Styles | StylerError]:
    """The answers of a named styler for each picture, or the error in their place; `on_modules` as for `draw`."""
    request = StylerRequest(styler, tuple(given))
    with open_worker() as worker:
        answer = worker.record(request, timeout_s=timeout_s)
    if answer.error is not None or len(answer.styles) != len(given):
        error = answer.error or WorkerCrashed(styler, "it returned no answer")
        log = error.log if isinstance(error, WorkerCrashed | WorkerTimeout) else error.details()
        how = error.how if isinstance(error, WorkerCrashed) else ""
        reason = f"its process ended with {how.removeprefix('exit ')}" if how else error.summary()
        if isinstance(error, WorkerTimeout):
            reason = f"it took longer than {error.timeout_s:g} s"
        return [StylerError(styler, (reason,), log)] * len(given)
    if on_modules is not None:
        on_modules(styler, answer.modules)
    return [_read(styler, text, picture) for text, picture in zip(answer.styles, given, strict=True)]


def _read(styler: str, text: str, picture: StylerInput) -> Styles | StylerError:
    try:
        row = dict(json.loads(text))
        if "reason" in row:
            trace = shown_text(str(row.get("trace", "")), LOG_LIMIT)
            raise StylerError(styler, (shown_text(str(row["reason"])),), trace)
        return _checked(styler, row.get("styles"), picture)
    except StylerError as error:
        return error
    except (ValueError, TypeError):  # code of the user's wrote the answer
        return StylerError(styler, ("its process returned no answer",))


def _checked(name: str, answer: object, given: StylerInput) -> Styles:
    styles, problems = check_styles(answer, given)
    if problems:
        raise StylerError(name, tuple(problems))
    return styles


def check_styles(answer: object, given: StylerInput) -> tuple[Styles, list[str]]:
    """The styles that an answer gives, and what is wrong with it."""
    given_rows = [answer.get(name) if isinstance(answer, dict) else None for name in ("nodes", "boxes", "edges")]
    nodes, boxes, edges = (rows if isinstance(rows, list) else [] for rows in given_rows)
    asked = (len(given.nodes), len(given.boxes), len(given.edges))
    if (len(nodes), len(boxes), len(edges)) != asked:
        return Styles([NodeStyle()] * asked[0], [NodeStyle()] * asked[1], [EdgeStyle()] * asked[2]), ["no answer"]
    where: dict[str, str] = {}  # each problem with the first thing that has it
    things = zip((*nodes, *boxes), (*given.nodes, *given.boxes), strict=True)
    styles = [NodeStyle(**_attributes(row, _NODE, f"style_node for {thing.label!r}", where)) for row, thing in things]
    labels = [node.label for node in given.nodes]
    of_edges = [
        EdgeStyle(**_attributes(row, _EDGE, f"style_edge from {labels[tail]!r} to {labels[head]!r}", where))
        for row, (tail, head) in zip(edges, given.edges, strict=True)
    ]
    problems = [f"{place} gave {what}" for what, place in where.items()]
    if (more := len(problems) - MAX_PROBLEMS) > 0:
        problems[MAX_PROBLEMS:] = [f"and {more} more problems"]
    return Styles(styles[: len(nodes)], styles[len(nodes) :], of_edges), problems


def _attributes(row: object, known: Mapping[str, _Attribute], place: str, problems: dict[str, str]) -> dict[str, Any]:
    if row is None:
        return {}
    if not isinstance(row, Mapping):
        problems.setdefault(f"{_shown(row)}: attributes by name are expected, as in {{'color': 'orange'}}", place)
        return {}
    fields: dict[str, Any] = {}
    for name, value in row.items():
        attribute = known.get(name) if isinstance(name, str) else None
        if attribute is None:
            advice = did_you_mean(str(name), known, f"the known ones are {', '.join(known)}")
            problems.setdefault(f"the attribute {_shown(name)}, {advice}", place)
            continue
        try:
            fields[attribute.field] = attribute.read(value)
        except ValueError as error:
            problems.setdefault(f"{name}={_shown(value)}: {error}", place)
    return fields


def _shown(value: object) -> str:
    return clean(repr(value), 60)


def _colour(value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    if _HEX.fullmatch(text):
        return text
    if _SHORT_HEX.fullmatch(text):
        return "#" + "".join(2 * digit for digit in text[1:])
    if text in COLOURS:
        return COLOURS[text]
    raise ValueError(f"write #rrggbb or the name of a colour{did_you_mean(text, COLOURS, lead='; ')}")


def _label(value: object) -> tuple[str, str]:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a str is expected")
    name, _, line = value[: 8 * (MAX_NAME + MAX_LINE)].strip().replace("\r\n", "\n").partition("\n")
    return clean(name, MAX_NAME), clean(line.replace("\n", " "), MAX_LINE)


def _pen(value: object) -> float:
    try:
        width = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        width = math.nan
    if not 0 < width <= MAX_PEN:
        raise ValueError(f"a width in points is expected, at most {MAX_PEN:g}")
    return round(width, 1) or 0.1


def _stroke(value: object) -> str:
    if value not in ("solid", "dashed", "dotted"):
        raise ValueError("write solid, dashed or dotted")
    return str(value)


class _Attribute(NamedTuple):
    field: str
    read: Callable[[object], str | float | tuple[str, str]]


_EDGE = {"color": _Attribute("line", _colour), "penwidth": _Attribute("pen", _pen)}
_EDGE["style"] = _Attribute("stroke", _stroke)
_NODE = {
    "label": _Attribute("label", _label),
    "fillcolor": _Attribute("fill", _colour),
    "fontcolor": _Attribute("ink", _colour),
    **_EDGE,
}

_NAMED = """
    aqua=00ffff black=000000 blue=0000ff brown=a52a2a cyan=00ffff darkblue=00008b darkgreen=006400
    darkolivegreen=556b2f darkorange=ff8c00 darkred=8b0000 fuchsia=ff00ff gold=ffd700 gray=808080 green=008000
    grey=808080 indigo=4b0082 lightblue=add8e6 lightgray=d3d3d3 lightgreen=90ee90 lightgrey=d3d3d3 lightpink=ffb6c1
    lightyellow=ffffe0 lime=00ff00 magenta=ff00ff maroon=800000 navy=000080 olive=808000 orange=ffa500 pink=ffc0cb
    purple=800080 red=ff0000 salmon=fa8072 silver=c0c0c0 skyblue=87ceeb steelblue=4682b4 tan=d2b48c teal=008080
    tomato=ff6347 violet=ee82ee white=ffffff yellow=ffff00
"""
COLOURS = {name: f"#{digits}" for name, _, digits in (pair.partition("=") for pair in _NAMED.split())}
"""The colours that have a name: those of HTML, and those of torchrecorder 1.0.3's own styler. Graphviz knows hundreds
and browsers others under the same names (`green` is two colours), so there is a short list."""
