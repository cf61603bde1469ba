"""What a page shows of one model: the finished diagram, its figure in HTML, and the text around it."""

from torchrecorder.page.automatic import is_closed, is_skipped
from torchrecorder.page.diagram import Diagram, Outcome, names_of_class
from torchrecorder.page.figure import ASSETS, SCRIPT, STYLE, CopyNumbers, contents, table_cells
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
from torchrecorder.page.words import TABLE_HEAD, Translate, translated

__all__ = [
    "ASSETS",
    "SCRIPT",
    "STYLE",
    "TABLE_HEAD",
    "CopyNumbers",
    "Diagram",
    "LogEntry",
    "Outcome",
    "Translate",
    "contents",
    "failure",
    "fatal_messages",
    "is_build_wide",
    "is_closed",
    "is_skipped",
    "log_entries",
    "message",
    "names_of_class",
    "problems_of",
    "reader_notes",
    "slowest",
    "table_cells",
    "translated",
    "warning_text",
    "with_code",
]
