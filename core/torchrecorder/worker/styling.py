"""The styler of a user, asked in a process that may import torch: what it answers for pictures, or why it does not."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from torchrecorder.errors import TargetRefused, did_you_mean
from torchrecorder.request import Target, parse_target
from torchrecorder.request.stylers import StyledNode, StylerInput, StylerRequest
from torchrecorder.trace.allowed import may_call, may_import
from torchrecorder.trace.digests import source_digest
from torchrecorder.trace.ownership import is_user_code
from torchrecorder.worker.messages import Answer, Job


def answer(job: Job) -> Answer:
    """The styles of each picture of a job as JSON, and the modules of the user that were imported for that."""
    start, before, request = time.time(), {*sys.modules}, job.request
    assert isinstance(request, StylerRequest)
    sys.path[:] = dict.fromkeys([*job.path, *sys.path])
    os.environ.update(job.environment)
    try:
        styler = _loaded(parse_target(request.target), job.allow)
        styles = [_answer(styler, picture) for picture in request.pictures]
    except StylerRaised as error:
        styles = [_reason(error)] * len(request.pictures)
    digests: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in before and isinstance(file, str) and is_user_code(file):
            try:
                is_old = os.stat(file).st_mtime < start
                digests[name] = source_digest(Path(file).read_bytes()) if is_old else ""
            except OSError:
                digests[name] = ""
    return Answer(job=job.number, styles=tuple(styles), modules=digests)


class StylerRaised(Exception):
    """A styler raised an exception, or is not a styler."""

    def __init__(self, reason: str, trace: str = "") -> None:
        super().__init__(reason)
        self.reason, self.trace = reason, trace

    @staticmethod
    def by(doing: str, error: Exception) -> StylerRaised:
        trace = "".join(traceback.format_exception(error))
        return StylerRaised(f"{doing} raised {type(error).__name__}: {error}", trace)


def run_styler(styler: object, given: StylerInput) -> dict[str, list[object]]:
    """Answers of a styler for each node, box and edge, unchecked."""
    styler = _guarded("creating it", styler) if isinstance(styler, type) else styler
    of_node, of_edge = (getattr(styler, name, None) for name in ("style_node", "style_edge"))
    if not callable(of_node) and not callable(of_edge):
        raise StylerRaised(f"{type(styler).__name__} has no method style_node or style_edge")
    pairs = [(given.nodes[tail], given.nodes[head]) for tail, head in given.edges]
    return {
        "nodes": [_guarded(f"style_node for {node.label!r}", of_node, node) for node in given.nodes],
        "boxes": [_guarded(f"style_node for {box.label!r}", of_node, box) for box in given.boxes],
        "edges": [_guarded(f"style_edge from {a.label!r} to {b.label!r}", of_edge, a, b) for a, b in pairs],
    }


def _guarded(doing: str, method: Callable[..., object] | None, *arguments: StyledNode) -> object:
    try:
        return method(*arguments) if callable(method) else {}
    except Exception as error:
        raise StylerRaised.by(doing, error) from error


def _answer(styler: object, picture: StylerInput) -> str:
    """The answer for one picture, as JSON; the other side reports a value that JSON cannot say."""
    try:
        styles = {"styles": run_styler(styler, picture)}
        return json.dumps(styles, default=lambda value: f"<{type(value).__name__}>")
    except StylerRaised as error:
        return _reason(error)
    except (TypeError, ValueError, RecursionError) as error:  # a dict that contains itself, a key that is not a str
        return json.dumps({"reason": f"its answer cannot be written as JSON: {error}"})


def _reason(error: StylerRaised) -> str:
    return json.dumps({"reason": error.reason, "trace": error.trace})


def _loaded(target: Target, allow: Sequence[str]) -> object:
    """The styler of the name: the longest part that is a module, then attributes; called, if arguments were written."""
    parts = target.dotted.split(".")
    styler: object = None
    if not may_import(target.dotted, allow):
        raise StylerRaised(str(TargetRefused(str(target), target.dotted)))
    for depth, part in enumerate(parts):
        name = ".".join(parts[: depth + 1])
        if depth and hasattr(styler, part):
            styler = getattr(styler, part)
            continue
        try:
            styler = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
                raise StylerRaised.by(f"importing {name}", error) from error
            if not depth:
                reason = f"no module {part!r}: is its folder on the Python path of the build?"
                raise StylerRaised(reason) from error
            advice = did_you_mean(part, dir(styler), lead="; ")
            raise StylerRaised(f"{'.'.join(parts[:depth])} has no {part!r}{advice}") from error
        except Exception as error:
            raise StylerRaised.by(f"importing {name}", error) from error
    if (target.called or isinstance(styler, type)) and not may_call(target.dotted, styler, allow):
        raise StylerRaised(str(TargetRefused(str(target), target.dotted)))
    if not target.called:
        return styler
    return _guarded(f"creating {target}", lambda: styler(*target.args, **target.kwargs))  # type: ignore[operator]
