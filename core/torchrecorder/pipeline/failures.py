"""Failures that this machine remembers, so that a build in which nothing changed does not run into them again.

A recording that failed depended on as much as one that did not: on sources, files, variables, versions, and on imports
that were not found. As long as all of that is as it was, its error is given again as it was raised, with the part of
the Graph that ran. One whose cause the trace did not see (a file that compiled code opens, a program, the clock) is
tried again by each build, but no more than some of them. What may go otherwise the next time is not remembered: that of
the machine (time, memory, a process that died, no torch) and of the network. A class that a site only tries to draw is
not tried again for any of those.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from torchrecorder.cache.index import stamp_of
from torchrecorder.cache.store import Store
from torchrecorder.errors import (
    FormatError,
    ForwardError,
    InputError,
    OptionError,
    TargetError,
    TargetRefused,
    TorchRecorderError,
)
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.digests import text_digest
from torchrecorder.trace.freshness import Freshness, Verdict
from torchrecorder.trace.manifest import Manifest

TRIES = 5
"""Failures that one build tries again though nothing changed that was seen: each costs about a second beside the import
of torch, and a build of a site with a hundred of them must not take minutes."""
REMEMBERED = (TargetError, InputError, ForwardError)
"""Errors of the model's own."""
_FRAME = re.compile(r'^ *File "(.+)", line \d', re.MULTILINE)
_NOT_THE_USERS = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
_OURS = Path(__file__).parents[1]


class Failures:
    """Failures of one build, in the cache of this machine only."""

    def __init__(self, machine: Store, freshness: Freshness, allow: Sequence[str]) -> None:
        self._machine = machine
        self._freshness = freshness
        self._allow = [*allow]  # the setting, of which it depends what is refused

    def of(self, request: RecordingRequest, *, is_tried: bool) -> tuple[Manifest, TorchRecorderError] | None:
        """Failure of a request, with what it depended on; None if it is not known or something changed."""
        entry = dict(self._machine.entry("failure", request.key()) or {})
        if entry.pop("torchrecorder_failure", None) != _recorder():
            return None
        error = _error(entry.pop("error", None))
        was_tried, allow = entry.pop("tried", False), entry.pop("allow", None)
        manifest = Manifest.from_json(entry)
        if manifest is None or error is None or not manifest.is_of(request):
            return None
        if isinstance(error, TargetRefused) and allow != self._allow:
            return None
        is_fresh = self._freshness.of(manifest).verdict is Verdict.FRESH
        return (manifest, error) if is_fresh and (is_tried if was_tried else isinstance(error, REMEMBERED)) else None

    def tried_ns(self, request: RecordingRequest) -> int:
        return (stamp_of(self._machine.entry_file("failure", request.key())) or [0])[0]

    def put(
        self, request: RecordingRequest, error: TorchRecorderError, manifest: Manifest, graph: bytes, *, was_tried: bool
    ) -> None:
        """Remember a failure, with the Graph of what ran before it; `was_tried`: of a class that a site only tries."""
        entry = {
            **manifest.to_json(),
            "torchrecorder_failure": _recorder(),
            "graph": manifest.graph,
            "error": error.to_json(),
            "tried": was_tried,
            "allow": self._allow,
        }
        self._machine.put_entry("failure", request.key(), entry, graph)


def failed_drawing(machine: Store, key: str) -> OptionError | None:
    """Error of a picture that cannot be drawn with its options, by its key; None if none is known."""
    entry = machine.entry("failure", key) or {}
    error = _error(entry.get("error")) if entry.get("torchrecorder_failed_drawing") == _recorder() else None
    return error if isinstance(error, OptionError) else None


def _error(written: object) -> TorchRecorderError | None:
    with suppress(FormatError):
        return TorchRecorderError.from_json(written if isinstance(written, dict) else {})
    return None


def put_failed_drawing(machine: Store, key: str, error: OptionError) -> None:
    """Remember that options do not fit their Graph, such as a layer that it has not."""
    entry = {"torchrecorder_failed_drawing": _recorder(), "error": error.to_json()}
    machine.put_entry("failure", key, {**entry, "graph": "", "modules": ""})


def files_of(error: TorchRecorderError | None) -> tuple[Path, ...]:
    """The user's files in the traceback of an error.

    A module that raises when it is imported is not among the modules, and a server must watch it for its correction.
    """
    named = map(Path, _FRAME.findall(error.details() if error else ""))
    return tuple(
        file
        for file in dict.fromkeys(named)
        if not any(file.is_relative_to(folder) for folder in (*_NOT_THE_USERS, _OURS)) and file.is_file()
    )


@cache
def _recorder() -> str:
    """Changes when torchrecorder does, since another version of it may find what this one did not."""
    import importlib.metadata

    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("torchrecorder-docs")
        files = [Path(folder, name) for folder, _, names in os.walk(_OURS) for name in names if name.endswith(".py")]
        return text_digest(f"{version} {[(str(file), stamp_of(file)) for file in sorted(files)]}")
    return ""
