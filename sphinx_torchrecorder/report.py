"""Failures as Sphinx warnings, which `-W` counts and `suppress_warnings` can silence by `torchrecorder.<kind>`.

Warned at every build until mended: a build that fails once under `-W` and passes the next time has hidden the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sphinx.util import logging

from sphinx_torchrecorder.environment import Asked
from torchrecorder.diagram import Outcome, concerns_build, message
from torchrecorder.errors import OptionError, TorchRecorderError

logger = logging.getLogger(__name__)

_TYPE = "torchrecorder"


def report(results: Mapping[Asked, Outcome | OptionError], store_problem: str = "", notice: str = "") -> None:
    """Warn of each diagram that failed, where it is asked for; and of what concerns the whole build, once."""
    of_the_build: dict[type[TorchRecorderError], list[TorchRecorderError]] = {}
    for asked, result in results.items():
        error = result.error if isinstance(result, Outcome) else result
        if error is None:
            continue
        if concerns_build(error):
            of_the_build.setdefault(type(error), []).append(error)
        else:
            _warn(error, message(error), asked.location)
    for errors in of_the_build.values():
        _warn(errors[0], message(errors[0], missing=len(errors)))
    if store_problem:
        logger.warning("%s", store_problem, type=_TYPE, subtype="cache")
    if notice:
        logger.info("torchrecorder: %s", notice)


def _warn(error: TorchRecorderError, text: str, location: str | None = None) -> None:
    logger.warning("%s", text, location=location, type=_TYPE, subtype=error.kind)
    if details := error.details():
        logger.verbose("%s", details, location=location)
