"""What goes to the log: progress, and one warning for each diagram that failed.

The logger's name makes MkDocs and ProperDocs count the warnings, so `--strict` fails; at every build until the cause is
gone. Without them, Python shows warnings on the standard error output.
"""

from __future__ import annotations

import logging

from torchrecorder.site import Message, Progress

logger = logging.getLogger("mkdocs.plugins.torchrecorder")


class DiagramsFailed(Exception):
    """Raised in place of going on, where `on_error` is `raise`; its text is that of all the warnings."""


def tell(message: Message) -> None:
    """Put a message into the log; its place is page and line, as an editor understands them."""
    text = f"{message.place}: torchrecorder: {message.text}" if message.place else f"torchrecorder: {message.text}"
    if message.kind:
        logger.warning("%s", text)
    elif message.text:
        logger.info("%s", text)
    if message.details:
        logger.debug("%s", message.details)


def show_progress(progress: Progress) -> None:
    """Log a step. A build in which nothing is recorded or drawn logs none."""
    if progress.stage == "recording":
        logger.info("torchrecorder: recording %d/%d: %s", progress.done + 1, progress.total, progress.target)
    else:
        logger.info("torchrecorder: drawing %d diagram%s", progress.total, "" if progress.total == 1 else "s")
