"""What a page shows of one model: the finished diagram, its figure in HTML, and the text around it."""

from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.page.automatic import asked_for, is_closed, is_skipped, needs
from torchrecorder.page.diagram import Diagram, Outcome, names_of_class
from torchrecorder.page.files import FILE_TYPES, FileType, file_type, type_of
from torchrecorder.page.remarks import (
    LogEntry,
    failure,
    fatal_messages,
    is_build_wide,
    log_entries,
    message,
    problems_of,
    reader_notes,
    slowest,
    warning_text,
    with_code,
)
from torchrecorder.page.words import CATALOG, LOCALE, TABLE_HEAD, Translate, in_english, translated, translation

if TYPE_CHECKING:
    from torchrecorder.page.figure import CopyNumbers as CopyNumbers
    from torchrecorder.page.figure import contents as contents
    from torchrecorder.page.figure import table_cells as table_cells

ASSETS = Path(__file__).with_name("assets")
"""The folder with nothing but the style sheet and the script."""
STYLE, SCRIPT = "torchrecorder.css", "torchrecorder.js"

__all__ = [
    "ASSETS",
    "CATALOG",
    "FILE_TYPES",
    "LOCALE",
    "SCRIPT",
    "STYLE",
    "TABLE_HEAD",
    "CopyNumbers",
    "Diagram",
    "FileType",
    "LogEntry",
    "Outcome",
    "Translate",
    "asked_for",
    "contents",
    "failure",
    "fatal_messages",
    "file_type",
    "in_english",
    "is_build_wide",
    "is_closed",
    "is_skipped",
    "log_entries",
    "message",
    "names_of_class",
    "needs",
    "problems_of",
    "reader_notes",
    "slowest",
    "table_cells",
    "translated",
    "translation",
    "type_of",
    "warning_text",
    "with_code",
]


def __getattr__(name: str) -> object:
    if name not in ("CopyNumbers", "contents", "table_cells"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torchrecorder.page import figure  # a build that writes no page does not need it

    return getattr(figure, name)
