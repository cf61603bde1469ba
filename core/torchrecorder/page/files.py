"""The types of files that a diagram can be written to, and pictures for a column of print.

`save`, the command and its help are made from the types. For print, the layout with the largest letters is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.errors import OptionError, did_you_mean
from torchrecorder.request import OPTIONS, DiagramRequest, DrawingOptions, one_depth
from torchrecorder.request.requests import FACTS

if TYPE_CHECKING:
    from torchrecorder.page.diagram import Diagram
    from torchrecorder.page.outcome import Outcome

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
    from torchrecorder.write.pdf import pdfium

    return pdfium()


_PNG, _HTML = "picture of 192 dots per inch; needs the extra `png`", "page of its own that works offline"
FILE_TYPES = (
    FileType("svg", "picture for any viewer", lambda diagram: diagram.standalone_svg() + "\n", _PRINTED),
    FileType("pdf", "picture of one page, in vectors", lambda diagram: diagram.to_pdf(), _PRINTED),
    FileType("tex", "picture for LaTeX, drawn with TikZ", lambda diagram: diagram.to_tikz(), _PRINTED),
    FileType("png", _PNG, lambda diagram: diagram.to_png(), _PRINTED, require=_pdfium),
    FileType("html", _HTML, lambda diagram: diagram.to_html(), _DRAWN | {"table"}, switches=True),
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


_LETTERS = 10.5  # points of the letters in a layout
_TRIED = (9.0, 8.0, 7.0, 6.0)  # the sizes of letters that a layout is tried for, in points
_SMALLEST = 4.5
"""Points of letters, less than half of a paper's text: smaller ones are an error, as they cannot be read."""
_PAGE = 648.0  # points that a page of print is high
_POINTS = {"in": 72.0, "cm": 72 / 2.54, "mm": 7.2 / 2.54, "pt": 1.0, "px": 0.75}
_PX = 4 / 3  # CSS pixels in a point


def points(width: str) -> float:
    """Points of a width of print; raises OptionError if it is not valid, or depends on a page or its font."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(\D*)", width, re.ASCII)
    if match is None:
        raise OptionError((f"width: {width!r} is not a valid width: write 3.25in or 8cm",))
    if match[2] not in _POINTS or not float(match[1]):
        raise OptionError((f"width: a file has no page around it, so {width!r} is not a width; write 3.25in or 8cm",))
    return float(match[1]) * _POINTS[match[2]]


def why_no_file(request: DiagramRequest, kind: FileType) -> tuple[str, ...]:
    """Reasons why a request makes no such file: a width that no paper has, depths to switch between."""
    depths = () if kind.switches or not request.depths else (one_depth(request.depths),)
    try:
        if request.figure.width and "width" in kind.heeds:
            points(request.figure.width)
    except OptionError as error:
        return (*error.problems, *depths)
    return depths


def laid_out_for(drawing: DrawingOptions, width: str) -> list[DrawingOptions]:
    """The same drawing, laid out for each size of letters."""
    return [replace(drawing, room=round(points(width) * _LETTERS / size * _PX)) for size in _TRIED]


def requests_for_print(request: DiagramRequest) -> list[DiagramRequest]:
    """The requests from whose outcomes `outcome_for_print` chooses; only itself if no width is asked for."""
    if not request.figure.width:
        return [request]
    return [replace(request, drawing=drawing) for drawing in laid_out_for(request.drawing, request.figure.width)]


def outcome_for_print(request: DiagramRequest, outcomes: Sequence[Outcome]) -> Outcome:
    """Outcome of the request; an error if its letters would be too small."""
    drawn = [outcome.loaded() for outcome in outcomes]
    diagrams = [outcome.diagram for outcome in drawn if outcome.diagram is not None]
    if not diagrams or not request.figure.width:
        return replace(drawn[0], request=request)
    try:
        return replace(drawn[0], request=request, diagram=for_print(diagrams, request.figure.width))
    except OptionError as error:
        return replace(drawn[0], request=request, diagram=None, error=error)


def for_print(diagrams: Sequence[Diagram], width: str) -> Diagram:
    """The diagram that is best read in a column so wide, made to fit; raises OptionError if no letters can be read."""
    room = points(width)
    # one that is narrower than the column has letters no larger than those that were tried for
    scales = [min(room / (diagram.size[0] / _PX), _TRIED[0] / _LETTERS) for diagram in diagrams]
    fitting = [i for i, diagram in enumerate(diagrams) if diagram.size[1] / _PX * scales[i] <= _PAGE]
    best = max(fitting or range(len(diagrams)), key=lambda i: (round(scales[i], 2), -diagrams[i].size[1] * scales[i]))
    diagram, scale = diagrams[best], scales[best]
    letters = _LETTERS * scale
    if letters < _SMALLEST:
        unit = width.lstrip("0123456789.")
        needed = room * _SMALLEST / letters / _POINTS[unit] + 0.05
        less = f"write a width of {needed:.1f}{unit} or more, or show less: a smaller depth, or a focus"
        raise OptionError((f"at a width of {width} the letters would be {letters:.1f} pt; {less}",))
    diagram = replace(diagram, scale=scale)
    wide, high = (side / 72 for side in diagram.file_size)
    notes = [f"{wide:.2f} × {high:.2f} in, with letters of {letters:.1f} pt"]
    if not fitting:
        notes.append(f"higher than a page of {_PAGE / 72:g} in; a smaller depth, or a focus, shows less")
    return replace(diagram, print_notes=tuple(notes))
