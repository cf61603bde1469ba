"""Why the process that records gave no Graph: errors of its Python, of its end, and of ourselves."""

from __future__ import annotations

import contextlib
import importlib.metadata

from torchrecorder.errors.base import TorchRecorderError


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
