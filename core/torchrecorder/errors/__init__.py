"""Every error that torchrecorder raises on purpose.

    TorchRecorderError
    ├── OptionError(ValueError)          all problems of one directive, fence or command at once
    ├── TargetError(ImportError)         the model cannot be found, imported or built
    │   ├── TargetNotFound               no such module or attribute; offers the near miss
    │   ├── TargetImportFailed           importing the model's module raised
    │   ├── TargetBuildFailed            building the model raised, or gave something else
    │   │   └── NotAModule               it is a class of something else, and was not built
    │   └── TargetRefused                it names what a page may not call
    ├── HubFailed(RuntimeError)          a name of the hub gives no configuration of a model
    ├── InputError(ValueError)           no input for the forward can be made
    ├── ForwardError(RuntimeError)       the forward raised; names the layer it happened in
    ├── WorkerError(RuntimeError)        the process that records could not do its job
    │   ├── TorchMissing                 its Python has no torch
    │   │   ├── TorchBroken              importing it raises
    │   │   └── TorchTooOld              older than the oldest that is supported
    │   ├── WorkerNotStarted             it ended before it could record
    │   ├── WorkerTimeout                it took too long
    │   ├── WorkerCrashed                it died
    │   └── FailedInside                 torchrecorder's own code raised
    ├── EngineError(RuntimeError)        the layout engine failed
    │   └── EngineNotFound               no layout engine is installed
    ├── OutOfDate(RuntimeError)          the model changed, and it cannot be recorded here
    ├── CollectFailed(RuntimeError)      the diagrams of a documentation project cannot be listed
    ├── ClusterFailed(RuntimeError)      a cluster that was to record cannot be used
    ├── CannotCompare(RuntimeError)      two models have nothing in common, or one is not there
    ├── NotDrawn                         requests are only collected, so nothing is drawn
    ├── LeftOut                          a class is not worth a picture that no author asked for
    ├── StylerError(RuntimeError)        a user's styler cannot be used
    ├── FormatError(ValueError)          a stored Graph cannot be read
    └── RecorderError                    a classic `Recorder` was given what it cannot keep
        ├── NotRecordable(RuntimeError)  neither a module nor a tensor nor an operation
        ├── NotRecorded(KeyError)        the thing referred to was not recorded before
        ├── NothingToConnect(AssertionError)
        │                                an edge has no end
        └── BadInputs(InputError, TypeError)
                                         the inputs of a classic recording cannot be made

How an error is made of its facts is in `torchrecorder.errors.base`.
"""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import field
from typing import Any

from torchrecorder.errors.base import LOG_LIMIT as LOG_LIMIT
from torchrecorder.errors.base import OUT_OF_MEMORY as OUT_OF_MEMORY
from torchrecorder.errors.base import FormatError as FormatError
from torchrecorder.errors.base import TorchRecorderError as TorchRecorderError
from torchrecorder.errors.base import chain as chain
from torchrecorder.errors.base import did_you_mean as did_you_mean
from torchrecorder.errors.base import listed as listed
from torchrecorder.errors.base import near_miss as near_miss
from torchrecorder.errors.base import shown_target as shown_target
from torchrecorder.errors.base import shown_text as shown_text
from torchrecorder.errors.base import text_of as text_of


class OptionError(TorchRecorderError, ValueError):
    """Options that are unknown or have a bad value, all of them together."""

    kind = "option"
    _summary = "{problems}"
    problems: tuple[str, ...]

    def shared(self) -> str:
        """Nothing: what is written is wrong."""
        return ""


class TargetError(TorchRecorderError, ImportError):
    """The model that a target names cannot be found, imported or built."""

    kind = "target"
    target: str


class TargetNotFound(TargetError):
    """A part of the dotted name does not exist."""

    parent: str
    """The longest part of the name that does exist; empty if not even the first part does."""
    missing: str
    near: tuple[str, ...] = ()
    layer: str = ""
    """The rest of the name, if what was found is a class of modules: most likely a layer of it."""
    models: str = ""
    """The models that the part which does exist has."""
    folder: str = ""
    """The folder beside that holds what is missing, though it is not on the Python path."""

    def summary(self) -> str:
        """Part of the name that is missing."""
        where = f"{self.parent} has no {self.missing!r}" if self.parent else f"no module {self.missing!r}"
        return f"cannot find {self.target}: {where}"

    def hint(self) -> str:
        """The near misses, or where names are looked for."""
        if self.folder:
            return f"{self.folder} holds it, and is not on the Python path: name that folder in the setting `path`"
        if self.near:
            return "did you mean " + " or ".join(self.near) + "?"
        if self.layer:
            return f"if it is a layer, write {self.parent} with the option `focus`: {self.layer}"
        if self.models:
            return f"write one of its classes: {self.models}"
        return "" if self.parent else "is it installed where models are recorded, or its folder on the Python path?"

    def shared(self) -> str:
        """The package, if it is not found: whatever of it is asked for, one path is wrong."""
        return "" if self.parent else self.missing


class TargetImportFailed(TargetError):
    """Importing the module of the target raised an exception."""

    kind = "import"
    _summary = "cannot import {module}: {cause}[ ({origin})]"
    _hint = "{advice}"
    _details = "{traceback}"
    module: str
    cause: str
    """The exception as `Type: message`."""
    origin: str = ""
    """`file:line` of the innermost frame, or the name of the module that failed."""
    advice: str = ""
    traceback: str = ""

    def shared(self) -> str:
        """The exception and its place, whichever module of a package was asked for."""
        return f"{self.cause} {self.origin}"


class TargetBuildFailed(TargetError):
    """The target exists but gives no module."""

    kind = "build"
    _summary = "cannot build {target}: {cause}[ ({origin})]"
    _hint = "{advice}"
    _details = "{traceback}"
    cause: str
    origin: str = ""
    advice: str = ""
    traceback: str = ""


class NotAModule(TargetBuildFailed):
    """The target is a class of something else, so it is not built at all."""

    cause: str = "it is a class, but not a subclass of torch.nn.Module"


class TargetRefused(TargetError):
    """The target names what text in a page may not call."""

    kind = "refused"
    _summary = "{target} is not called: {reason}"
    _hint = "to allow it, add {dotted!r} to the setting `allow`"
    dotted: str  # the target without its arguments
    reason: str = "a page may call classes of nn.Module, functions of the project, and known builders of models"
    """The rule, or which of its arguments is why, and how."""

    def shared(self) -> str:
        """Nothing: each page that says it is named."""
        return ""


class HubFailed(TorchRecorderError, RuntimeError):
    """A name on the hub gives no configuration that a model can be built from."""

    kind = "hub"
    _summary = "cannot draw {target}: {reason}"
    _hint = "{advice}"
    target: str
    reason: str
    advice: str = ""


class InputError(TorchRecorderError, ValueError):
    """The forward's inputs cannot be made from what was given."""

    kind = "inputs"
    _summary = "{reason}"
    reason: str
    advice: str = ""
    tried: tuple[str, ...] = ()
    """The guesses that were tried, each with the reason why it was given up."""
    ran_out_of_time: bool = False
    """Whether there were more guesses than time, so that another run may come to another end."""

    def hint(self) -> str:
        """The advice, then the guesses."""
        return "\n".join((*((self.advice,) if self.advice else ()), *(f"tried {guess}" for guess in self.tried)))


class ForwardError(TorchRecorderError, RuntimeError):
    """The model's forward raised an exception."""

    kind = "forward"
    _summary = "the forward of {model} failed[ in layer {layer}][, called with {shapes}]: {cause}[ ({origin})]"
    _hint = "{advice}"
    _details = "{traceback}"
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

    graph: Any = field(default=None, init=False, repr=False)  # a Graph; that module imports this one for its own errors
    """The `torchrecorder.graph.Graph` of what ran before the forward raised, or None; no part of the JSON."""
    blame: Any = field(default=None, init=False, repr=False)
    """The `torchrecorder.recording.blame.Blame` for it, or None; no part of the JSON."""
    diagram: Any = field(default=None, init=False, repr=False)
    """The `torchrecorder.Diagram` of that, where `torchrecorder.draw` could draw it; no part of the JSON either."""
    _is_shown: bool = field(default=False, init=False, repr=False)

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython prints for it; above them a notebook shows what ran."""
        if self.diagram is not None and not self._is_shown:  # IPython asks again for what it stores of the cell
            self._is_shown = True
            ipython: Any = importlib.import_module("IPython")
            ipython.display.display(self.diagram)
        return super()._render_traceback_()


class WorkerError(TorchRecorderError, RuntimeError):
    """The process that records could not do its job."""

    kind = "worker"
    target: str


class TorchMissing(WorkerError):
    """The Python that records has no torch."""

    _summary = "cannot record {target}: {python} cannot import torch[ ({cause})]"
    _hint = (
        "install torch there, {python} -m pip install torch (a CPU build is enough), name another Python with"
        " the setting `python`, or build with a cache made on a machine that has it"
    )
    python: str
    cause: str = ""


class TorchBroken(TorchMissing):
    """The Python that records has a torch whose import raises."""

    _hint = "{python} -m pip install --force-reinstall torch repairs it"


class TorchTooOld(TorchMissing):
    """The Python that records has a torch that is older than the oldest that is supported."""

    _summary = "cannot record {target}: {python} has torch {version}, older than {oldest}"
    _hint = "{python} -m pip install 'torch>={oldest}' installs one that is supported"
    version: str = ""
    oldest: str = ""


class WorkerNotStarted(WorkerError):
    """The process that records ended before it could say which torch it has."""

    _summary = "cannot record {target}: {python} ended before it could record: {how}"
    _details = "{log}"
    python: str
    how: str
    log: str = ""


class FailedInside(WorkerError):
    """torchrecorder's own code raised an exception, not the user's."""

    _summary = "cannot {doing} {target}: torchrecorder failed inside[, with torch {torch}]: {cause}[ ({origin})]"
    _details = "{traceback}"
    cause: str
    """The exception as `Type: message`."""
    origin: str = ""
    """`file:line` of the innermost frame of torchrecorder."""
    torch: str = ""
    """The version of torch; empty before it is imported."""
    traceback: str = ""
    at_start: bool = False
    """Whether nothing at all can be recorded, and not only this target."""
    doing: str = "record"
    """Or `draw`."""

    def hint(self) -> str:
        """Address to report it at: the issue tracker that the distribution's metadata names, if it names one."""
        import importlib.metadata

        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            for link in importlib.metadata.metadata("torchrecorder-docs").get_all("Project-URL") or []:
                label, _, address = link.partition(", ")
                if label.lower() in ("issues", "issue tracker", "bug tracker"):
                    return f"please report it: {address}"
        return "please report it"


class WorkerTimeout(WorkerError):
    """The recording took longer than its time-out."""

    _summary = "recording {target} took longer than {timeout_s:g} s and was stopped"
    _hint = "a larger `timeout` gives it more time, unless a loop in it never ends"
    _details = "{log}"
    timeout_s: float
    log: str = ""


class WorkerCrashed(WorkerError):
    """The recording process died without an answer."""

    _summary = "recording {target} ended its process: {how}"
    _details = "{log}"
    how: str
    """`exit status 3`, `signal SIGSEGV`, …."""
    log: str = ""


class EngineError(TorchRecorderError, RuntimeError):
    """The layout engine failed on a picture."""

    kind = "engine"
    _summary = "layout engine {engine} failed: {reason}"
    engine: str
    reason: str
    at_limit: bool = False
    """Whether it took more time, memory or output than it may."""


class EngineNotFound(EngineError):
    """No layout engine is installed where one was looked for."""

    _summary = "no layout engine: {reason}"
    _hint = (
        "python -m pip install graphviz-pure installs one that needs nothing else; where that has none for the machine,"
        " the extra `wasm` of torchrecorder-docs does"
    )


class OutOfDate(TorchRecorderError, RuntimeError):
    """A cached diagram depends on something that has changed, and torch or a package is missing to record it again."""

    kind = "stale"
    _hint = "record it on a machine that has torch and the model's packages: torchrecorder update {docs}"
    target: str
    reasons: tuple[str, ...]
    """What changed, each in a few words."""
    is_fatal: bool = False
    """Whether the build is to fail, as its settings say."""
    docs: str = "docs"
    """The folder that the command takes."""

    def summary(self) -> str:
        """The first three changes, and how many more there are."""
        more = f" and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        return f"the diagram of {self.target} is out of date: {'; '.join(self.reasons[:3])}{more}"


class CollectFailed(TorchRecorderError, RuntimeError):
    """The diagrams that a documentation project asks for cannot be listed."""

    kind = "collect"
    _summary = "cannot find the diagrams of {docs}: {reason}"
    docs: str
    reason: str


class ClusterFailed(TorchRecorderError, RuntimeError):
    """A cluster that was to record cannot be used."""

    kind = "cluster"
    _summary = "cannot record on the dask cluster {address}: {reason}"
    _hint = "{advice}"
    address: str
    reason: str
    advice: str


class CannotCompare(TorchRecorderError, RuntimeError):
    """Two models cannot be compared, or one of them is not where it is looked for."""

    kind = "diff"
    _summary = "{reason}"
    _hint = "{advice}"
    reason: str
    advice: str = ""


class NotDrawn(TorchRecorderError):
    """Requests are only collected."""

    _summary = "nothing is drawn while requests are collected"


class LeftOut(TorchRecorderError):
    """A class gets no picture, since that would tell readers little, and no author has asked for it."""

    _summary = "{target} gets no picture unasked: {reason}"
    _hint = 'a pattern with its name asks for it: "{target}": True'
    target: str
    reason: str


class StylerError(TorchRecorderError, RuntimeError):
    """A user's styler does not exist, raised, took too long, or gave what cannot be drawn."""

    kind = "styler"
    _summary = "styler {styler}: {problems}"
    _details = "{trace}"
    styler: str
    """Its dotted name, or its class."""
    problems: tuple[str, ...]
    trace: str = ""
    """The traceback of the user's code, if it raised."""


class RecorderError(TorchRecorderError):
    """A classic `Recorder` was given what it cannot keep."""

    kind = "recorder"


class NotRecordable(RecorderError, RuntimeError):
    """Neither a module nor a tensor nor an operation; in the words of torchrecorder 1.0.3."""

    _summary = "Cannot create node for {what}"
    _hint = "a node is made for a module, a tensor, a parameter or the grad_fn of a tensor"
    what: str


class NotRecorded(RecorderError, KeyError):
    """Something is referred to that was not recorded before."""

    _summary = "this {what} was not recorded, so nothing can point to it"
    what: str
    """Its type."""


class NothingToConnect(RecorderError, AssertionError):
    """An edge has no end; in the words of torchrecorder 1.0.3."""

    _summary = "Cannot draw edge involving({tail}, {head})"
    tail: str
    head: str


class BadInputs(InputError, RecorderError, TypeError):
    """The inputs of a classic recording cannot be made; a TypeError too, because 1.0.3 raised one."""
