"""Where in the user's code something happened, as `pkg/mod.py:12`.

Paths are relative to the folder a module was imported from: a Graph must be the same in another checkout, and a reader
must not be shown the folders of the machine that recorded it.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import torch

_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parent.parent)
_MACHINERY = ("<frozen", "<string>")


def innermost_origin(error: BaseException) -> str:
    """`file:line` of the innermost frame of the error that is the user's; empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{PurePath(error.filename).name}:{error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if is_users(frame.f_code.co_filename):
            return f"{import_path(frame.f_code.co_filename, frame.f_globals)}:{line}"
    return ""


def users_traceback(error: BaseException) -> str:
    """The traceback as the user's code sees it, without frames of torch and of ours; empty if no other code ran."""
    found = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [found]
    ran = False
    for one in pending:
        if one is not None:
            kept = [frame for frame in one.stack if is_users(frame.filename)]
            one.stack = traceback.StackSummary.from_list(kept)
            pending += [one.__cause__, one.__context__]
            ran = ran or bool(kept)
    return "".join(found.format()) if ran else ""


def is_users(filename: str) -> bool:
    """Whether the file is neither torch's nor ours nor part of the import machinery."""
    return not filename.startswith((_TORCH, _OURS, *_MACHINERY))


def import_path(filename: str, namespace: Mapping[str, Any]) -> str:
    """The file's path from the folder its module was imported from; its bare name for a script."""
    name = namespace.get("__name__")
    path = PurePath(filename)
    if not isinstance(name, str) or name == "__main__":
        return path.name
    depth = name.count(".") + (2 if path.stem == "__init__" else 1)
    return PurePath(*path.parts[-depth:]).as_posix()
