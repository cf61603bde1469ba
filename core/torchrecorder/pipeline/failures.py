"""Failures that this machine remembers, so that a build in which nothing changed does not run into them again.

A recording that failed depended on as much as one that did not: on sources, files, variables, versions, and on imports
that were not found. As long as all of that is as it was, its error is given again as it was raised, with the part of
the Graph that ran. What may go otherwise the next time is not remembered: that of the machine (time, memory, a process
that died, no torch) and of the network. A class that a site only tries to draw is not tried again for those either.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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
from torchrecorder.request import RecordingRequest, parse_target
from torchrecorder.trace.digests import text_digest
from torchrecorder.trace.freshness import Freshness, Verdict
from torchrecorder.trace.manifest import Manifest, TraceResult

if TYPE_CHECKING:
    from torchrecorder.trace.finder import ModuleFinder
    from torchrecorder.worker.messages import Answer

_VERSION = 1
_REMEMBERED = (TargetError, InputError, ForwardError)
_OF_THE_MACHINE = (
    "MemoryError",
    "OutOfMemoryError",
    "can't allocate memory",
    "out of memory",
    "not enough memory",
    "No space left on device",
    "Too many open files",
)
_OURS = Path(__file__).parents[1]


class Failures:
    """Finds and keeps failures for one build, in the cache of this machine only."""

    def __init__(self, machine: Store, freshness: Freshness) -> None:
        self._machine = machine
        self._freshness = freshness

    def of(self, request: RecordingRequest, *, is_tried: bool) -> tuple[Manifest, TorchRecorderError] | None:
        """Why the request failed, with what that depended on; None if it is not known or something changed."""
        entry = dict(self._machine.entry("failure", request.key()) or {})
        if entry.pop("torchrecorder_failure", None) != _VERSION or entry.pop("recorder", None) != _recorder():
            return None
        written, was_tried = entry.pop("error", None), entry.pop("tried", False)
        manifest = Manifest.from_json(entry)
        if manifest is None or not manifest.is_of(request) or not isinstance(written, dict):
            return None
        try:
            error = TorchRecorderError.from_json(written)
        except FormatError:
            return None
        is_fresh = self._freshness.of(manifest).verdict is Verdict.FRESH
        return (manifest, error) if is_fresh and (is_tried if was_tried else isinstance(error, _REMEMBERED)) else None

    def put(self, request: RecordingRequest, answer: Answer, manifest: Manifest, graph: bytes) -> None:
        """Remember a failure, with the Graph of what ran before it, if anything did."""
        assert answer.error is not None
        entry = {
            **manifest.to_json(),
            "torchrecorder_failure": _VERSION,
            "recorder": _recorder(),
            "graph": manifest.graph,
            "error": answer.error.to_json(),
            "tried": not is_lasting(answer),
        }
        self._machine.put_entry("failure", request.key(), entry, graph)


def failed_drawing(machine: Store, key: str) -> OptionError | None:
    """Why the picture of a render key cannot be drawn with its options; None if it is not known."""
    entry = machine.entry("failure", key) or {}
    written = entry.get("error")
    if entry.get("torchrecorder_failed_drawing") != _VERSION or entry.get("recorder") != _recorder():
        return None
    try:
        error = TorchRecorderError.from_json(written if isinstance(written, dict) else {})
    except FormatError:
        return None
    return error if isinstance(error, OptionError) else None


def put_failed_drawing(machine: Store, key: str, error: OptionError) -> None:
    """Remember that options do not fit their Graph, such as a layer that it has not."""
    entry = {"torchrecorder_failed_drawing": _VERSION, "recorder": _recorder(), "error": error.to_json()}
    machine.put_entry("failure", key, {**entry, "graph": "", "modules": ""})


def is_lasting(answer: Answer) -> bool:
    """Whether the failure comes again as long as what was traced is as it was."""
    error, trace = answer.error, answer.trace
    if trace is None or not isinstance(error, _REMEMBERED) or isinstance(error, TargetRefused) or trace.has_connected:
        return False
    if isinstance(error, InputError) and error.ran_out_of_time:
        return False
    said = f"{error}\n{error.details()}"
    return not any(text in said for text in _OF_THE_MACHINE)


def trace_of_failure(request: RecordingRequest, trace: TraceResult | None, finder: ModuleFinder) -> TraceResult:
    """The trace as a failure is compared by; without one, as after a time-out, the file of the model's module.

    It has every name that was not found: the target's own is asked for by us, not by the user's code, and what
    installed packages try to import counts too, since one of them may be what failed. Sources are compared as whole
    files, because an error says lines of them.
    """
    if trace is None:
        files = [str(file) for name in _prefixes(request.target) if (file := finder.file(name)) is not None]
        trace = TraceResult({}, {}, None, {file: stamp_of(file) for file in files}, {}, (), {}, (), (), {})
    names = {*trace.missing, *trace.not_found, *_prefixes(request.target), *_prefixes(request.inputs)}
    return replace(trace, executed=None, missing=tuple(sorted(names)))


def _prefixes(target: str) -> Iterator[str]:
    with suppress(ValueError):
        parts = parse_target(target).dotted.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


@cache
def _recorder() -> str:
    """Changes when torchrecorder does, since another version of it may find what this one did not."""
    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("torchrecorder-docs")
        files = [Path(folder, name) for folder, _, names in os.walk(_OURS) for name in names if name.endswith(".py")]
        return text_digest(f"{version} {[(str(file), stamp_of(file)) for file in sorted(files)]}")
    return ""
