"""What goes to the log: progress, and one warning for each diagram that failed.

The logger's name makes MkDocs and ProperDocs count the warnings, so `--strict` fails; at every build until the cause is
gone. Without them, Python shows warnings on the standard error output.
"""

from __future__ import annotations

import logging

from torchrecorder.page import Outcome, author_notes
from torchrecorder.pipeline import Progress

logger = logging.getLogger("mkdocs.plugins.torchrecorder")


class DiagramsFailed(Exception):
    """Raised in place of going on, where `on_error` is `raise`; its text is that of all the warnings."""


class Report:
    """Warns, and remembers what it warned of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str, location: str = "", details: str = "") -> None:
        """Log a warning.

        Args:
            text: What happened.
            location: Page and line, as an editor understands them.
            details: A traceback, for those who debug.
        """
        self.warnings.append(f"{location}: torchrecorder: {text}" if location else f"torchrecorder: {text}")
        logger.warning("%s", self.warnings[-1])
        if details:
            logger.debug("%s", details)

    def info(self, text: str, details: str = "") -> None:
        """Log what needs no action.

        Args:
            text: What happened.
            details: For `mkdocs build -v`.
        """
        logger.info("torchrecorder: %s", text)
        if details:
            logger.debug("%s", details)


def tell_author(outcome: Outcome) -> None:
    """Log for `mkdocs build -v` what only the author of a model can use, where a page with its diagram is written."""
    for note in author_notes(outcome):
        logger.debug("torchrecorder: %s", note)


def show_progress(progress: Progress) -> None:
    """Log a step. A build in which nothing is recorded or drawn logs none."""
    if progress.stage == "recording":
        logger.info("torchrecorder: recording %d/%d: %s", progress.done + 1, progress.total, progress.target)
    else:
        logger.info("torchrecorder: drawing %d diagram%s", progress.total, "" if progress.total == 1 else "s")
