"""What goes through the worker's pipe: a job one way, and what came of it the other way, each as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchrecorder.errors import TorchRecorderError
from torchrecorder.request import RecordingRequest
from torchrecorder.request.stylers import StylerRequest
from torchrecorder.trace.observed import TraceResult

FILLED = "it filled more than"
"""How the end of a job is described that filled more memory than it may."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request, with all that the process that answers it must know of the build."""

    request: RecordingRequest | StylerRequest
    path: tuple[str, ...]
    """Folders to import from, before those of the worker's own."""
    environment: Mapping[str, str]
    package: str
    """The package that other jobs of the build need too; empty if there is none."""
    build: int
    """Counts the builds that the process has served."""
    memory_bytes: int | None
    timeout_s: float
    """By the clock."""
    log: str
    """The file that takes what the job prints."""
    number: int = 0
    """Names it among those that run at once."""
    allow: tuple[str, ...] = ()
    """Whose functions the target may call; see `trace.allowed`."""
    needs_compiler: bool = False
    """Whether torch's compiler will be loaded, as fake tensors do."""
    cpu_s: float = 0.0
    """Seconds that it may compute; 0 for as many as it likes."""
    resident_bytes: int = 0
    """Memory that it may fill, which `memory_bytes` of addresses does not bound; 0 for as much as it likes."""

    def to_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "request": self.request.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Job:
        asked = data["request"]
        request = (StylerRequest if "styler" in asked else RecordingRequest).from_json(asked)
        return Job(**{**data, "request": request, "path": tuple(data["path"]), "allow": tuple(data["allow"])})


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a job; the first, before any job, says by its error why nothing can be recorded."""

    graph: str | None = None
    """The Graph as JSON text; a partial one beside an error of the forward."""
    error: TorchRecorderError | None = None
    trace: TraceResult | None = None
    """What the recording was seen to depend on; None if it ended too badly to say."""
    job: int = 0
    """The number of the job."""
    needed_compiler: bool = False
    """Whether torch's compiler was loaded in the end."""
    names: Mapping[str, str] | None = None
    """Of a pattern: the models that match, each with why it cannot be built by its name alone."""
    styles: tuple[str, ...] = ()
    """Of a styler: for each picture its answer as JSON text."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Of a styler: digests of the user's modules that were imported, by name."""
    seconds: float = 0.0
    """By the clock, from sending the job to its answer; not sent."""

    def to_json(self) -> dict[str, Any]:
        written: dict[str, Any] = {"job": self.job}  # the first, where it is read without the rest
        written |= {name: getattr(self, name) for name in self.__slots__ if name != "seconds"}
        written |= {name: written[name] and written[name].to_json() for name in ("error", "trace")}
        return written

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Answer:
        error, trace = data["error"], data["trace"]
        read = {"error": error and TorchRecorderError.from_json(error), "trace": trace and TraceResult.from_json(trace)}
        return Answer(**{**data, **read, "styles": tuple(data["styles"])})


def line_of(message: Job | Answer) -> bytes:
    return json.dumps(message.to_json()).encode() + b"\n"
