"""The process that asks a user's styler: `python -P -m torchrecorder.drawing.styler_child ANSWER`.

The job comes as JSON on the standard input; the answer goes into a file, because user code may print.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from torchrecorder.drawing.styler import StyledNode, StylerInput, StylerRaised, run_styler
from torchrecorder.errors import TargetRefused
from torchrecorder.request import Target, parse_target
from torchrecorder.trace.allowed import may_call, may_import
from torchrecorder.trace.digests import source_digest
from torchrecorder.trace.ownership import is_user_code


def main() -> None:
    start = time.time()
    job = json.load(sys.stdin)
    sys.path[:0] = job["path"]
    pictures = [
        StylerInput(_nodes(data["nodes"]), _nodes(data["boxes"]), tuple((tail, head) for tail, head in data["edges"]))
        for data in job["pictures"]
    ]
    try:
        styler = _load(parse_target(job["styler"]), job["allow"])
        answers = [_answer(styler, picture) for picture in pictures]
    except StylerRaised as error:
        answers = [_reason(error)] * len(pictures)
    text = f'{{"answers": [{",".join(answers)}], "modules": {json.dumps(_modules(start))}}}'
    Path(sys.argv[1]).write_text(text, encoding="utf-8", errors="surrogatepass")


def _nodes(rows: list[dict[str, Any]]) -> tuple[StyledNode, ...]:
    return tuple(StyledNode(**{**row, "shape": tuple(row["shape"])}) for row in rows)


def _modules(start: float) -> dict[str, str]:
    """The user's modules that were imported, each with the digest of its file; empty if that changed since `start`."""
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and name != "__main__" and is_user_code(file):
            try:
                is_old = os.stat(file).st_mtime < start
                found[name] = source_digest(Path(file).read_bytes()) if is_old else ""
            except OSError:
                found[name] = ""
    return found


def _answer(styler: object, picture: StylerInput) -> str:
    """The answer for one picture, as JSON; the other side reports a value that JSON cannot say."""
    try:
        answer = {"styles": run_styler(styler, picture)}
        return json.dumps(answer, default=lambda value: f"<{type(value).__name__}>")
    except StylerRaised as error:
        return _reason(error)
    except (TypeError, ValueError, RecursionError) as error:  # a dict that contains itself, a key that is not a str
        return json.dumps({"reason": f"its answer cannot be written as JSON: {error}"})


def _reason(error: StylerRaised) -> str:
    return json.dumps({"reason": error.reason, "trace": error.trace})


def _load(target: Target, allow: Sequence[str]) -> object:
    """The styler of the name: the longest part that is a module, then attributes; called, if arguments were written."""
    parts = target.dotted.split(".")
    found: object = None
    if not may_import(target.dotted, allow):
        raise StylerRaised(str(TargetRefused(str(target), target.dotted)))
    for depth, part in enumerate(parts):
        name = ".".join(parts[: depth + 1])
        if depth and hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
                raise StylerRaised.by(f"importing {name}", error) from error
            if not depth:
                reason = f"no module {part!r}: is its folder on the Python path of the build?"
                raise StylerRaised(reason) from error
            near = get_close_matches(part, dir(found), 1)
            advice = f"; did you mean {near[0]}?" if near else ""
            raise StylerRaised(f"{'.'.join(parts[:depth])} has no {part!r}{advice}") from error
        except Exception as error:
            raise StylerRaised.by(f"importing {name}", error) from error
    if (target.called or isinstance(found, type)) and not may_call(target.dotted, found, allow):
        raise StylerRaised(str(TargetRefused(str(target), target.dotted)))
    if not target.called:
        return found
    try:
        return found(*target.args, **target.kwargs)  # type: ignore[operator]  # a TypeError if it is not callable
    except Exception as error:
        raise StylerRaised.by(f"creating {target}", error) from error


if __name__ == "__main__":
    main()
