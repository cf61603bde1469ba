"""What a page shows of one model: the finished diagram, its figure in HTML, and the text around it."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.page.automatic import asked_for, is_closed, is_skipped, needs
from torchrecorder.page.diagram import Diagram, Outcome, names_of_class
from torchrecorder.page.remarks import (
    LogEntry,
    author_notes,
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
    from torchrecorder.page.files import FILE_TYPES as FILE_TYPES
    from torchrecorder.page.files import FileType as FileType
    from torchrecorder.page.files import file_type as file_type
    from torchrecorder.page.files import type_of as type_of

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
    "author_notes",
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


_LATER = {
    **dict.fromkeys(("CopyNumbers", "contents", "table_cells"), "figure"),
    **dict.fromkeys(("FILE_TYPES", "FileType", "file_type", "type_of"), "files"),
}
"""What a build that writes no page does not need, by the module that has it."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
