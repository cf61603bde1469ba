"""The types of files that a diagram can be written to; `save`, the command and its help are made from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.errors import OptionError, did_you_mean
from torchrecorder.request import OPTIONS
from torchrecorder.request.requests import FACTS

if TYPE_CHECKING:
    from torchrecorder.page.diagram import Diagram

_DRAWN = frozenset(option.name for option in OPTIONS if option.stage == "drawing") - {"diff", "foot", "table"}
_PRINTED = _DRAWN | {"foot", "width"}
_MERMAID = _DRAWN - {"grey", "layout", "theme", "styler"}
_TREE = _DRAWN - {"direction", "grey", "theme", "styler"}


@dataclass(frozen=True, slots=True)
class FileType:
    """Type of file: how it is named, what it is, and how a diagram is written as it."""

    name: str
    """What the name of such a file ends with, without the dot; `--format` takes it too."""
    help: str
    make: Callable[[Diagram], str | bytes]
    heeds: frozenset[str]
    """The options of drawing and figure that change what is written; the command says so of the others."""
    facts: frozenset[str] = frozenset(FACTS)
    """What `show` and `hide` can change in it."""
    switches: bool = False
    """Whether its readers can switch between depths, as those of a page."""
    require: Callable[[], object] = lambda: None
    """Raises OptionError if what makes it is not installed; to be asked before a model is recorded for it."""

    def write(self, diagram: Diagram) -> bytes:
        """Contents of such a file."""
        made = self.make(diagram)
        return made if isinstance(made, bytes) else made.encode()


def _json(diagram: Diagram) -> str:
    from torchrecorder.graph import to_json  # loads all that knows of Graphs

    return to_json(diagram.graph) + "\n"


def _pdfium() -> object:
    from torchrecorder.write.png import pdfium

    return pdfium()


FILE_TYPES = (
    FileType("svg", "picture for any viewer", lambda diagram: diagram.standalone_svg() + "\n", _PRINTED),
    FileType("pdf", "picture of one page, in vectors", lambda diagram: diagram.to_pdf(), _PRINTED),
    FileType("tex", "picture for LaTeX, drawn with TikZ", lambda diagram: diagram.to_tikz(), _PRINTED),
    FileType(
        "png",
        "picture of 192 dots per inch; needs the extra `png`",
        lambda diagram: diagram.to_png(),
        _PRINTED,
        require=_pdfium,
    ),
    FileType(
        "html",
        "page of its own that works offline",
        lambda diagram: diagram.to_html(),
        _DRAWN | {"table"},
        switches=True,
    ),
    FileType("mmd", "Mermaid, which code forges draw", lambda diagram: diagram.to_mermaid(), _MERMAID),
    FileType("dot", "what the layout engine got", lambda diagram: diagram.drawing.dot, _DRAWN - {"grey", "layout"}),
    FileType("txt", "tree of modules", lambda diagram: diagram.text + "\n", _TREE, frozenset(FACTS) - {"weights"}),
    FileType("json", "recorded Graph", _json, frozenset()),
)


def type_of(path: Path) -> FileType:
    """Type that the ending of a file's name says; raises OptionError if none has that ending."""
    try:
        return file_type(path.suffix[1:])
    except OptionError as error:
        raise OptionError((f"cannot write {path.name!r}: the ending {error}",)) from None


def file_type(name: str) -> FileType:
    """Type of that name; raises OptionError if there is none."""
    by_name = {kind.name: kind for kind in FILE_TYPES}
    if (kind := by_name.get(name.lower())) is not None:
        return kind
    advice = did_you_mean(name.lower(), by_name, f"there are {', '.join(by_name)}")
    raise OptionError((f"{name!r} is not a type of file; {advice}",))


def file_name(target: str) -> str:
    """Name for a file of a target, without an ending."""
    return re.sub(r"[^\w.=+-]+", "-", target).strip("-")
