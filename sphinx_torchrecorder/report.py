"""Failures as Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`.

Warned at every build until mended: a build that fails once under `-W` and passes the next time has hidden the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sphinx.errors import ExtensionError
from sphinx.util import logging

from sphinx_torchrecorder.environment import Asked
from torchrecorder.errors import NotDrawn, OptionError, OutOfDate, TorchRecorderError
from torchrecorder.page import Outcome, concerns_build, message

logger = logging.getLogger(__name__)

_TYPE = "torchrecorder"


def report(results: Mapping[Asked, Outcome | OptionError], problems: Mapping[str, str], notice: str) -> None:
    """Warn of each diagram that failed, where it is asked for; and of what concerns the whole build, once.

    Raises:
        ExtensionError: A diagram is out of date, and the settings say that this ends the build.
    """
    _tell_doubts(results)
    of_the_build: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for asked, result in results.items():
        error = result.error if isinstance(result, Outcome) else result
        if error is None or isinstance(error, NotDrawn):
            continue
        if concerns_build(error):
            of_the_build.setdefault(type(error), []).append(error)
        else:
            warn(error, message(error), asked.location)
    for errors in of_the_build.values():
        warn(errors[0], message(errors[0], missing=len(errors)))
    for kind, text in problems.items():
        logger.warning("%s", text, type=_TYPE, subtype=kind)
    if notice:
        logger.info("torchrecorder: %s", notice)
    _stop_if_stale(results)


def _tell_doubts(results: Mapping[Asked, Outcome | OptionError]) -> None:
    for info in dict.fromkeys(result.info for result in results.values() if isinstance(result, Outcome)):
        if info:
            logger.info("torchrecorder: %s", info)


def _stop_if_stale(results: Mapping[Asked, Outcome | OptionError]) -> None:
    errors = [result.error for result in results.values() if isinstance(result, Outcome)]
    fatal = [error for error in errors if isinstance(error, OutOfDate) and error.is_fatal]
    if fatal:
        raise ExtensionError("\n".join(dict.fromkeys(map(message, fatal))), modname=_TYPE)


def warn(error: TorchRecorderError, text: str, location: str | None = None) -> None:
    """Warn of an error by the name of its kind; its details are for who looks closer."""
    logger.warning("%s", text, location=location, type=_TYPE, subtype=error.kind)
    if details := error.details():
        logger.verbose("%s", details, location=location)
