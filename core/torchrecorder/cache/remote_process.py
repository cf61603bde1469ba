"""Reads and writes files below a URL: `python -P -m torchrecorder.cache.remote_process URL`, started by `cache.remote`.

A process of its own, because a network must never be able to stop a build: whatever hangs here can be killed, what
takes too much memory hurts only itself, and no thread of an event loop stays in a process that Sphinx forks.

One JSON line asks, `{"read": name}` or `{"write": name, "data": text}`, and one answers: `{"data": text or null}`,
`{"written": true}`, or `{"error": text}`. Content travels as Base64.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from torchrecorder.cache.store import LARGEST
from torchrecorder.processes import bound

_MEMORY_BYTES = 4 << 30  # a server that sends without end must not fill the machine before its time is over


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what libraries print is not an answer
    bound(AS=_MEMORY_BYTES)
    try:
        from fsspec.core import url_to_fs

        files, root = url_to_fs(sys.argv[1])  # type: ignore[no-untyped-call]
    except Exception as error:  # an unknown protocol, a missing library, an invalid URL
        _send(answers, {"cannot": f"{type(error).__name__}: {error}"})
        return
    _send(answers, {"ready": True})
    for line in sys.stdin:
        _send(answers, _answer(files, root.rstrip("/"), json.loads(line)))


def _answer(files: Any, root: str, job: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if "read" in job:
            return {"data": _read(files, f"{root}/{job['read']}")}
        path = f"{root}/{job['write']}"
        with contextlib.suppress(NotImplementedError):  # object stores and HTTP have no folders
            files.makedirs(path.rpartition("/")[0], exist_ok=True)
        files.pipe_file(path, base64.b64decode(job["data"]))
        return {"written": True}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".rstrip(": ")}


def _read(files: Any, path: str) -> str | None:
    try:
        data = files.cat_file(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    if len(data) > LARGEST:
        raise OSError(f"it has {len(data) >> 20} MB, and no more than {LARGEST >> 20} MB are taken")
    return base64.b64encode(data).decode("ascii")


def _send(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
