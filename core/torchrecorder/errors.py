"""Every error that torchrecorder raises on purpose.

    TorchRecorderError
    ├── OptionError(ValueError)          all problems of one directive, fence or command at once
    ├── TargetError(ImportError)         the model cannot be had
    │   ├── TargetNotFound               no such module or attribute; offers the near miss
    │   ├── TargetImportFailed           importing the model's module raised
    │   └── TargetBuildFailed            building the model raised, or gave something else
    ├── InputError(ValueError)           no input for the forward can be made
    ├── ForwardError(RuntimeError)       the forward raised; names the layer it happened in
    ├── WorkerError(RuntimeError)        the process that records could not do its job
    │   ├── TorchMissing                 its Python has no torch
    │   ├── WorkerTimeout                it took too long
    │   └── WorkerCrashed                it died
    ├── EngineError(RuntimeError)        the layout engine failed
    │   └── EngineNotFound               there is none
    ├── OutOfDate(RuntimeError)          the model changed, and it cannot be recorded here
    ├── CollectFailed(RuntimeError)      the requests of a documentation project cannot be had
    ├── ClusterFailed(RuntimeError)      a cluster that was to record cannot be used
    ├── NotDrawn                         requests are only collected, so nothing is drawn
    ├── StylerError(RuntimeError)        a user's styler cannot be used
    ├── FormatError(ValueError)          a stored Graph cannot be read
    └── RecorderError                    a classic `Recorder` was given what it cannot keep
        ├── NotRecordable(RuntimeError)  neither a module nor a tensor nor an operation
        ├── NotRecorded(KeyError)        the thing referred to was not recorded before
        ├── NothingToConnect(AssertionError)
        │                                an edge has no end
        └── BadInputs(InputError, TypeError)
                                         the inputs of a classic recording cannot be made

An error is built from facts, which stay readable as attributes; its sentence is made of them. `to_json` and
`from_json` carry it through the worker's pipe, and pickling takes the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from torchrecorder.graph.model import Graph


@dataclass(eq=False)
class TorchRecorderError(Exception):
    """Base class; `kind` is the last part of the warning's name, `torchrecorder.<kind>`."""

    kind: ClassVar[str] = "error"

    def __str__(self) -> str:
        """What happened, then what to do next."""
        hint = self.hint()
        return f"{self.summary()}\n{hint}" if hint else self.summary()

    def summary(self) -> str:
        """What happened and where, in one sentence."""
        return type(self).__name__

    def hint(self) -> str:
        """What to do next; empty where the summary says it."""
        return ""

    def details(self) -> str:
        """What a person who debugs wants besides: a traceback or the tail of a log."""
        return ""

    def to_json(self) -> dict[str, Any]:
        """The error as plain data: its class name and its facts."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {"type": type(self).__name__, **facts}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> TorchRecorderError:
        """The error that `to_json` wrote.

        Raises:
            FormatError: `data` names no error of this module or lacks a fact.
        """
        facts = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "type"}
        try:
            return _by_name()[data["type"]](**facts)
        except (KeyError, TypeError) as error:
            raise FormatError(what="an error message", reason=f"{type(error).__name__}: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchRecorderError.from_json, (self.to_json(),)


def _by_name() -> dict[str, type[TorchRecorderError]]:
    found: dict[str, type[TorchRecorderError]] = {}
    pending = [TorchRecorderError]
    while pending:
        cls = pending.pop()
        found[cls.__name__] = cls
        pending += cls.__subclasses__()
    return found


@dataclass(eq=False)
class OptionError(TorchRecorderError, ValueError):
    """Options that are unknown or have a bad value, all of them together."""

    kind: ClassVar[str] = "option"
    problems: tuple[str, ...]

    def summary(self) -> str:
        """The problems, one in a line."""
        return "\n".join(self.problems)


@dataclass(eq=False)
class TargetError(TorchRecorderError, ImportError):
    """The model that a target names cannot be had."""

    kind: ClassVar[str] = "target"
    target: str


@dataclass(eq=False)
class TargetNotFound(TargetError):
    """A part of the dotted name does not exist."""

    parent: str
    """The longest part of the name that does exist; empty if not even the first part does."""
    missing: str
    near: tuple[str, ...] = ()

    def summary(self) -> str:
        """Which part of which name is missing."""
        where = f"{self.parent} has no {self.missing!r}" if self.parent else f"no module {self.missing!r}"
        return f"cannot find {self.target}: {where}"

    def hint(self) -> str:
        """The near misses, or where names are looked for."""
        if self.near:
            return "did you mean " + " or ".join(self.near) + "?"
        return "" if self.parent else "is its folder on the Python path of the build?"


@dataclass(eq=False)
class TargetImportFailed(TargetError):
    """Importing the module of the target raised an exception."""

    kind: ClassVar[str] = "import"
    module: str
    cause: str
    """The exception as `Type: message`."""
    origin: str = ""
    """`file:line` of the innermost frame, or the name of the module that failed."""
    advice: str = ""
    traceback: str = ""

    def summary(self) -> str:
        """The exception and where it was raised."""
        where = f" ({self.origin})" if self.origin else ""
        return f"cannot import {self.module}: {self.cause}{where}"

    def hint(self) -> str:
        """Advice for a failure that is well known."""
        return self.advice

    def details(self) -> str:
        """The traceback."""
        return self.traceback


@dataclass(eq=False)
class TargetBuildFailed(TargetError):
    """The target exists but gives no module."""

    kind: ClassVar[str] = "build"
    cause: str
    origin: str = ""
    advice: str = ""
    traceback: str = ""

    def summary(self) -> str:
        """What building the model gave instead."""
        where = f" ({self.origin})" if self.origin else ""
        return f"cannot build {self.target}: {self.cause}{where}"

    def hint(self) -> str:
        """How the target should be written."""
        return self.advice

    def details(self) -> str:
        """The traceback."""
        return self.traceback


@dataclass(eq=False)
class InputError(TorchRecorderError, ValueError):
    """The forward's inputs cannot be made from what was given."""

    kind: ClassVar[str] = "inputs"
    reason: str
    advice: str = ""
    tried: tuple[str, ...] = ()
    """The guesses that were tried, each with the reason why it was given up."""

    def summary(self) -> str:
        """Why there is no input."""
        return self.reason

    def hint(self) -> str:
        """The advice, then the guesses."""
        return "\n".join((*((self.advice,) if self.advice else ()), *(f"tried {guess}" for guess in self.tried)))


@dataclass(eq=False)
class ForwardError(TorchRecorderError, RuntimeError):
    """The model's forward raised an exception."""

    kind: ClassVar[str] = "forward"
    model: str
    cause: str
    """The exception as `Type: message`."""
    layer: str = ""
    """`path (Class)` of the innermost module that was running."""
    shapes: str = ""
    """The shapes that layer was called with."""
    origin: str = ""
    """`file:line` of the innermost frame outside torch."""
    advice: str = ""
    traceback: str = ""

    graph: Graph | None = field(default=None, init=False, repr=False)
    """What had been recorded when the forward raised; no part of the JSON."""

    def summary(self) -> str:
        """The exception and the layer it was raised in."""
        layer = f" in layer {self.layer}" if self.layer else ""
        shapes = f" called with {self.shapes}" if self.shapes else ""
        where = f" ({self.origin})" if self.origin else ""
        return f"the forward of {self.model} failed{layer}{shapes}: {self.cause}{where}"

    def hint(self) -> str:
        """Another way to run it, if there is one."""
        return self.advice

    def details(self) -> str:
        """The traceback."""
        return self.traceback


@dataclass(eq=False)
class WorkerError(TorchRecorderError, RuntimeError):
    """The process that records could not do its job."""

    kind: ClassVar[str] = "worker"
    target: str


@dataclass(eq=False)
class TorchMissing(WorkerError):
    """The Python that records has no torch."""

    python: str
    cause: str = ""

    def summary(self) -> str:
        """Which Python lacks torch."""
        cause = f" ({self.cause})" if self.cause else ""
        return f"cannot record {self.target}: {self.python} cannot import torch{cause}"

    def hint(self) -> str:
        """The three ways out."""
        return (
            "install torch there (a CPU build is enough), name another Python with the option `python`,"
            " or build with a cache made on a machine that has it"
        )


@dataclass(eq=False)
class WorkerTimeout(WorkerError):
    """The recording took longer than its time-out."""

    timeout_s: float
    log: str = ""

    def summary(self) -> str:
        """The limit that was reached."""
        return f"recording {self.target} took longer than {self.timeout_s:g} s and was stopped"

    def hint(self) -> str:
        """How to allow more."""
        return "a larger `timeout` gives it more time"

    def details(self) -> str:
        """The last lines it printed."""
        return self.log


@dataclass(eq=False)
class WorkerCrashed(WorkerError):
    """The recording process died without an answer."""

    how: str
    """`exit status 3`, `signal SIGSEGV`, …."""
    log: str = ""

    def summary(self) -> str:
        """How it died."""
        return f"recording {self.target} ended its process: {self.how}"

    def details(self) -> str:
        """The last lines it printed."""
        return self.log


@dataclass(eq=False)
class EngineError(TorchRecorderError, RuntimeError):
    """The layout engine failed on a picture."""

    kind: ClassVar[str] = "engine"
    engine: str
    reason: str

    def summary(self) -> str:
        """Which engine failed, and why."""
        return f"layout engine {self.engine} failed: {self.reason}"


@dataclass(eq=False)
class EngineNotFound(EngineError):
    """No layout engine is installed where one was looked for."""

    def summary(self) -> str:
        """Which engine is missing."""
        return f"no layout engine: {self.reason}"

    def hint(self) -> str:
        """The command that installs one."""
        return "python -m pip install graphviz-pure installs one that needs nothing else"


@dataclass(eq=False)
class OutOfDate(TorchRecorderError, RuntimeError):
    """What a kept diagram depended on has changed, and there is no torch to record it again."""

    kind: ClassVar[str] = "stale"
    target: str
    reasons: tuple[str, ...]
    """What changed, each in a few words."""
    is_fatal: bool = False
    """Whether the build is to fail, as its settings say."""

    def summary(self) -> str:
        """What changed."""
        more = f" and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        return f"the diagram of {self.target} is out of date: {'; '.join(self.reasons[:3])}{more}"

    def hint(self) -> str:
        """Who can mend it."""
        return "record it on a machine that has torch: torchrecorder update"


@dataclass(eq=False)
class CollectFailed(TorchRecorderError, RuntimeError):
    """The requests of a documentation project cannot be had."""

    kind: ClassVar[str] = "collect"
    docs: str
    reason: str

    def summary(self) -> str:
        """Which project, and what its tool said."""
        return f"cannot find the diagrams of {self.docs}: {self.reason}"


@dataclass(eq=False)
class ClusterFailed(TorchRecorderError, RuntimeError):
    """A cluster that was to record cannot be used."""

    kind: ClassVar[str] = "cluster"
    address: str
    reason: str
    advice: str

    def summary(self) -> str:
        """Which cluster, and why."""
        return f"cannot record on the dask cluster {self.address}: {self.reason}"

    def hint(self) -> str:
        """What to do about it."""
        return self.advice


@dataclass(eq=False)
class NotDrawn(TorchRecorderError):
    """Requests are only collected."""

    def summary(self) -> str:
        """Why there is no diagram."""
        return "nothing is drawn while requests are collected"


@dataclass(eq=False)
class StylerError(TorchRecorderError, RuntimeError):
    """A user's styler is not there, raised, took too long, or said what cannot be drawn."""

    kind: ClassVar[str] = "styler"
    styler: str
    """Its dotted name, or its class."""
    problems: tuple[str, ...]
    trace: str = ""
    """The traceback of the user's code, if it raised."""

    def summary(self) -> str:
        """The problems, one in a line."""
        return f"styler {self.styler}: " + "\n".join(self.problems)

    def details(self) -> str:
        """The traceback of the user's code."""
        return self.trace


@dataclass(eq=False)
class FormatError(TorchRecorderError, ValueError):
    """Stored data cannot be read."""

    kind: ClassVar[str] = "cache"
    what: str
    reason: str

    def summary(self) -> str:
        """What could not be read, and why."""
        return f"cannot read {self.what}: {self.reason}"


@dataclass(eq=False)
class RecorderError(TorchRecorderError):
    """A classic `Recorder` was given what it cannot keep."""

    kind: ClassVar[str] = "recorder"


@dataclass(eq=False)
class NotRecordable(RecorderError, RuntimeError):
    """Neither a module nor a tensor nor an operation."""

    what: str

    def summary(self) -> str:
        """What was given, in the words of torchrecorder 1.0.3."""
        return f"Cannot create node for {self.what}"

    def hint(self) -> str:
        """What can be recorded."""
        return "a node is made for a module, a tensor, a parameter or the grad_fn of a tensor"


@dataclass(eq=False)
class NotRecorded(RecorderError, KeyError):
    """Something is referred to that was not recorded before."""

    what: str
    """Its type."""

    def summary(self) -> str:
        """What is missing."""
        return f"this {self.what} was not recorded, so nothing can point to it"


@dataclass(eq=False)
class NothingToConnect(RecorderError, AssertionError):
    """An edge has no end."""

    tail: str
    head: str

    def summary(self) -> str:
        """Which end is missing, in the words of torchrecorder 1.0.3."""
        return f"Cannot draw edge involving({self.tail}, {self.head})"


@dataclass(eq=False)
class BadInputs(InputError, RecorderError, TypeError):
    """The inputs of a classic recording cannot be made; a TypeError too, because 1.0.3 raised one."""
