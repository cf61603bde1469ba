"""A user's styler asked about pictures, here or in a worker, and its answer checked.

Importing a styler often imports torch, which a documentation build must not, and one that hangs or prints must not
disturb the build. The answer goes into markup, so nothing is passed on as it is: a colour becomes six digits, a width a
number, a line one of three words, and a label is text like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeAlias

from torchrecorder.drawing.styles import check_styles
from torchrecorder.errors import LOG_LIMIT, StylerError, TorchRecorderError, WorkerCrashed, WorkerTimeout, shown_text
from torchrecorder.labels.labels import Labels
from torchrecorder.layout.model import Styles
from torchrecorder.request.stylers import StyledNode, StylerInput, StylerRequest
from torchrecorder.view import Box, Node, View
from torchrecorder.worker.styling import StylerRaised, run_styler

if TYPE_CHECKING:
    from torchrecorder.worker.client import Worker

OpenWorker: TypeAlias = "Callable[[], AbstractContextManager[Worker]]"

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
        answer = worker.ask(request, timeout_s=timeout_s)
    if answer.error is not None or len(answer.styles) != len(given):
        error = answer.error or WorkerCrashed(styler, "it returned no answer")
        log = error.log if isinstance(error, WorkerCrashed | WorkerTimeout) else error.details()
        return [StylerError(styler, (_ending(error),), log)] * len(given)
    if on_modules is not None:
        on_modules(styler, answer.modules)
    return [_read(styler, text, picture) for text, picture in zip(answer.styles, given, strict=True)]


def _ending(error: TorchRecorderError) -> str:
    if isinstance(error, WorkerTimeout):
        return f"it took longer than {error.timeout_s:g} s"
    how = error.how if isinstance(error, WorkerCrashed) else ""
    return f"its process ended with {how.removeprefix('exit ')}" if how else error.summary()


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
