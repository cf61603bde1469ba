"""The process that asks a user's styler: `python -P -m torchrecorder.drawing.styler_child ANSWER`, for `styling`.

The job comes as JSON on the standard input; the answer goes into a file, because user code may print.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from torchrecorder.drawing.styles import Picture, StyledNode, StylerRaised, ask
from torchrecorder.request import Target, parse_target
from torchrecorder.trace.digests import source_digest
from torchrecorder.trace.ownership import is_user_code


def main() -> None:
    """Answer one job."""
    start = time.time()
    job = json.load(sys.stdin)
    sys.path[:0] = job["path"]
    pictures = [_picture(data) for data in job["pictures"]]
    try:
        styler = _styler(parse_target(job["styler"]))
        answers = [_answer(styler, picture) for picture in pictures]
    except StylerRaised as error:
        answers = [_reason(error)] * len(pictures)
    text = f'{{"answers": [{",".join(answers)}], "modules": {json.dumps(_modules(start))}}}'
    Path(sys.argv[1]).write_text(text, encoding="utf-8", errors="surrogatepass")


def _modules(start: float) -> dict[str, str]:
    """The user's modules that were imported, each with the digest of its file; empty if that changed meanwhile."""
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


def _answer(styler: Any, picture: Picture) -> str:
    """What is said of one picture, as JSON."""
    try:
        return json.dumps({"styles": ask(styler, picture)}, default=_no_json)
    except StylerRaised as error:
        return _reason(error)
    except (TypeError, ValueError, RecursionError) as error:  # an attribute that holds itself, a name that is no text
        return json.dumps({"reason": f"its answer is no plain data: {error}"})


def _reason(error: StylerRaised) -> str:
    return json.dumps({"reason": error.reason, "trace": error.trace})


def _picture(data: Mapping[str, Any]) -> Picture:
    nodes, boxes = (tuple(_node(row) for row in data[name]) for name in ("nodes", "boxes"))
    return Picture(nodes, boxes, tuple((tail, head) for tail, head in data["edges"]))


def _node(row: Mapping[str, Any]) -> StyledNode:
    return StyledNode(**{**row, "shape": tuple(row["shape"])})


def _styler(target: Target) -> Any:
    found = _found(target)
    if not target.called:
        return found
    try:
        return found(*target.args, **target.kwargs)
    except Exception as error:
        raise _raised(f"making {target}", error) from error


def _found(target: Target) -> Any:
    """The object of the name: the longest part that is a module, then attributes."""
    parts = target.dotted.split(".")
    found: Any = None
    for depth, part in enumerate(parts):
        name = ".".join(parts[: depth + 1])
        if depth and hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
                raise _raised(f"importing {name}", error) from error
            raise StylerRaised(_missing(parts[:depth], part, found)) from error
        except Exception as error:
            raise _raised(f"importing {name}", error) from error
    return found


def _missing(parents: list[str], part: str, parent: Any) -> str:
    if not parents:
        return f"no module {part!r}: is its folder on the Python path of the build?"
    near = get_close_matches(part, dir(parent), 1)
    return f"{'.'.join(parents)} has no {part!r}" + (f"; did you mean {near[0]}?" if near else "")


def _raised(doing: str, error: Exception) -> StylerRaised:
    trace = "".join(traceback.format_exception(error))
    return StylerRaised(f"{doing} raised {type(error).__name__}: {error}", trace)


def _no_json(value: object) -> str:
    """What stands for a value that JSON cannot say; the other side reports it."""
    return f"<{type(value).__name__}>"


if __name__ == "__main__":
    main()
