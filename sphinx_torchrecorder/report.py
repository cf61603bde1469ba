"""Failures as Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`.

Warned at every build until mended: a build that fails once under `-W` and passes the next time has hidden the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sphinx.util import logging

from sphinx_torchrecorder.environment import Asked
from torchrecorder.diagram import Outcome
from torchrecorder.errors import EngineNotFound, OptionError, TorchMissing, TorchRecorderError, WorkerError

logger = logging.getLogger(__name__)

_TYPE = "torchrecorder"
_OF_THE_MACHINE = (EngineNotFound, TorchMissing)
"""What no page can be blamed for; said once, however many diagrams it costs."""
_LOG_LINES = 5


def report(results: Mapping[Asked, Outcome | OptionError], store_problem: str = "") -> None:
    """Warn of each diagram that failed, where it is asked for; and of the machine's own problems, once."""
    concerned: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for asked, result in results.items():
        error = result.error if isinstance(result, Outcome) else result
        if isinstance(error, _OF_THE_MACHINE):
            concerned.setdefault(type(error), []).append(error)
        elif error is not None:
            _warn(error, asked.location)
    for errors in concerned.values():
        _warn_once(errors)
    if store_problem:
        logger.warning("%s", store_problem, type=_TYPE, subtype="cache")


def _warn(error: TorchRecorderError, location: str) -> None:
    logger.warning("%s", _message(error), location=location, type=_TYPE, subtype=error.kind)
    if details := error.details():
        logger.verbose("%s", details, location=location)


def _warn_once(errors: list[TorchRecorderError]) -> None:
    error, count = errors[0], len(errors)
    missing = "1 diagram is missing" if count == 1 else f"{count} diagrams are missing"
    logger.warning("%s: %s", missing, error, type=_TYPE, subtype=error.kind)


def _message(error: TorchRecorderError) -> str:
    """Its sentence; of a process that died, also its last words, since nothing else tells why."""
    if not isinstance(error, WorkerError):
        return str(error)
    return "\n".join([str(error), *error.details().splitlines()[-_LOG_LINES:]])
