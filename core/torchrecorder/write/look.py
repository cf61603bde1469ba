"""What a picture looks like: colours, corners, lines and signs, what a user's styler changes, the notes at its foot.

Colours are CSS variables for pages, and numbers for everything else. The middle tones are chosen to be seen on white
and on near-black alike; a node is filled with its colour at low opacity under text in the page's own colour, so that
one picture is right in light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder.layout.model import KINDS, MARKS, PAD, SHARED, EdgeStyle, Figure, Layout, Line, NodeStyle
from torchrecorder.layout.widths import width

if TYPE_CHECKING:
    from torchrecorder.request.requests import ThemeName
    from torchrecorder.view.model import Mark

COLOURS: dict[str, str] = {
    "conv": "#3b82c4",
    "linear": "#7c6cd6",
    "norm": "#2a9d8f",
    "act": "#d98e04",
    "pool": "#5a9e3e",
    "attention": "#c2528b",
    "io": "#7d8590",
    "op": "#7d8590",
    "block": "#7d8590",
    "data": "#7d8590",
    "link": "#d98e04",
    "skip": "#d98e04",
    "error": "#d1242f",
    "added": "#1a85d6",
    "removed": "#d9480f",
    "changed": "#9a7d0a",
    "moved": "#8a63d2",
    "shared1": "#b0577f",
    "shared2": "#4f8f6b",
    "shared3": "#5b7bb5",
    "shared4": "#a3742f",
}
"""Colour by kind, of `skip` edges, of calls that failed (`error`), of what a diff marks, and of the tags of modules
that are called in several places: readers who see no red and green apart see blue and orange."""

FONT = "Helvetica,Arial,'Liberation Sans',Arimo,'Nimbus Sans',sans-serif"
"""Fonts as wide as the one that layout reckons with."""

_DASHES = {"dashed": "5 3", "dotted": "1.5 2"}
_MARK_DASHES: dict[Mark, str] = {"removed": "4 3", "moved": "1.5 2"}
_BACK_DASHES = "3.5 2.5"
"""Of data that the next turn of a loop reads: as short as lets the hook of a small node show two dashes."""
_BOX_OPACITY = ".2"  # a box is tinted only: what stands in it has the colours of the page
_MIDDLE = 0.18  # the luminance on which black and white words are seen equally well


def variable(kind: str) -> str:
    """The colour as a CSS variable that a site may set: `var(--torchrecorder-conv,#3b82c4)`."""
    return f"var(--torchrecorder-{kind},{COLOURS[kind]})"


@dataclass(frozen=True, slots=True)
class Colours:
    """The spelling of colours in one picture: a kind, `#rrggbb`, `currentColor` or `none` becomes what is written."""

    ink: str = "currentColor"
    """Of words, and of lines without a kind."""
    are_fixed: bool = False
    are_grey: bool = False

    def __call__(self, paint: str) -> str:
        if paint == "currentColor" or (paint == "skip" and self.are_grey):
            return self.ink  # skips stay apart from other edges by being as dark as the words
        colour = COLOURS.get(paint, paint)
        if self.are_grey and colour != "none":
            light = luminance(colour)
            shade = round(255 * (12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055))
            return "#" + f"{shade:02x}" * 3
        return variable(paint) if paint in COLOURS and not self.are_fixed else colour


class Look(NamedTuple):
    """Attributes of a shape, colours as `Colours` takes them; what is empty has the value of its group."""

    fill: str = ""
    fill_opacity: str = ""
    line: str = ""
    line_opacity: str = ""
    width: str = ""
    dashes: str = ""

    def styled(self, style: NodeStyle | EdgeStyle) -> Look:
        """The same with the line that a styler asks for."""
        look = self._replace(line=style.line or self.line)
        if style.pen or style.stroke:
            look = look._replace(width=f"{style.pen:g}" if style.pen else "", dashes=_DASHES.get(style.stroke, ""))
        return look


@dataclass(frozen=True, slots=True)
class Theme:
    paint: Callable[[str, bool], Look]
    """The fill and line of a node by its kind, and whether it is a layer."""
    round_node: float
    round_box: float
    box_opacity: str
    skip: str
    dashes: bool = True
    """Whether parameters, buffers, constants and links have a dashed outline."""
    inks: Mapping[str, str] | None = None
    """Colours of the words by that of the fill, where it is not the page's."""


_CLASSIC = {"io": "#add8e6", "data": "#556b2f", "link": "none"}
_LAYER, _OP = "#d3d3d3", "#ffa500"
"""Grey layers, orange ops, blue tensors, olive parameters: as torchrecorder 1.0.3 drew them, with words one can read
on each, and lines in the page's own colour, because black is not seen on a dark page."""


THEMES: Mapping[ThemeName, Theme] = {
    "modern": Theme(lambda kind, _: Look(kind, ".16", kind), 8.0, 9.0, ".035", "skip"),
    "classic": Theme(
        lambda kind, is_layer: Look(
            _CLASSIC.get(kind) or (_LAYER if is_layer or kind == "block" else _OP), line="currentColor"
        ),
        0.0,
        0.0,
        "0",
        "currentColor",
        dashes=False,
        inks={"#add8e6": "#000000", "#556b2f": "#ffffff", _LAYER: "#000000", _OP: "#000000"},
    ),
}
BOXES = Look(line="currentColor", line_opacity=".3")
NODES = Look(width="1.2")  # what all boxes and all nodes of a picture have in common
_ERROR = Look(line="error", line_opacity="1", width="2", dashes="5 3")


def mark_of(flags: Collection[str]) -> Mark | None:
    return next((mark for mark in MARKS if mark in flags), None)


def _marked(mark: Mark | None) -> Look | None:
    return mark and Look(line=mark, line_opacity="1", width="1.6", dashes=_MARK_DASHES.get(mark, ""))


def box_look(box: Figure) -> Look:
    """The outline of a box: of a failed call, else as a styler says, else as a diff marks it."""
    if "error" in box.flags:
        return _ERROR
    style = box.style
    styled = Look(style.fill, _BOX_OPACITY if style.fill else "", line_opacity="1" if style.line else "").styled(style)
    marked = _marked(mark_of(box.flags)) if styled == Look() else None
    return marked._replace(fill=marked.line, fill_opacity=".07") if marked else styled


class NodeLook(NamedTuple):
    kind: str
    outline: Look
    sheets: str
    ink: str
    is_oval: bool


def node_look(node: Figure, theme: Theme, *, is_diff: bool) -> NodeLook:
    """A node as its theme has it, then as a styler changed it; its words are seen on the colour it is filled with."""
    kind = next((flag for flag in sorted(node.flags) if flag in KINDS or flag == "skip"), "op")
    mark = mark_of(node.flags)
    paint = look = theme.paint((mark or "op") if is_diff else kind, bool(node.reference))
    ink = theme.inks.get(paint.fill, "") if theme.inks else ""
    if outline := _ERROR if "error" in node.flags else _marked(mark):
        look = outline._replace(fill=paint.fill, fill_opacity=paint.fill_opacity)
    elif theme.dashes and kind in ("data", "link"):
        look = paint._replace(dashes="3 2")
    if "styled" in node.flags:
        style = node.style
        if style.fill:
            look = look._replace(fill=style.fill, fill_opacity="")
            ink = "#000000" if luminance(style.fill) > _MIDDLE else "#ffffff"  # whichever has more contrast
        look, ink = look.styled(style), style.ink or ink
    return NodeLook(kind, look, paint.line, ink, kind == "io" and not theme.round_node)


def line_kind(line: Line) -> str:
    """The group of a line: `edges`, `skips` or `backs`."""
    return "backs" if "back" in line.flags else "skips" if "skip" in line.flags else "edges"


def line_look(kind: str, mark: Mark | None, style: EdgeStyle, theme: Theme, *, is_diff: bool) -> Look:
    """The look of lines of one kind, mark and style."""
    look = Look(line="currentColor", line_opacity=".55")
    if is_diff:
        look = Look(line=mark, line_opacity=".9") if mark else look
    elif kind != "edges":
        look = Look(line=theme.skip, line_opacity=".9")
    if marked := _marked(mark):
        look = look._replace(width=marked.width, dashes=marked.dashes)
    look = look.styled(style)._replace(line_opacity="1" if style.line else look.line_opacity)
    return look if look.dashes or kind != "backs" else look._replace(dashes=_BACK_DASHES)


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2: 0 of black, 1 of white."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def decimal(value: float) -> str:
    """A number with one decimal, if it needs one."""
    return tenths(round(value * 10))


@lru_cache(1 << 14)  # all places of a few pictures
def tenths(number: int) -> str:
    text = str(number)
    return f"{text[:-1]}.{text[-1]}" if number % 10 else str(number // 10)


FOOT_SIZE, _STEP, _BASE = 8.0, 10.0, 6.0
"""Points of its letters, smaller than all words of a picture; from line to line, which the script of pages knows, too;
and from the top of a line to its base."""


def foot_lines(layout: Layout, notes: Sequence[str]) -> list[tuple[str, str, str]]:
    """Notes at the foot of a picture that leaves its page, in lines as wide as it is, each with its place."""
    high = float(decimal(layout.height))
    lines = enumerate(_lines(_joined(notes), float(decimal(layout.width)) - 2 * PAD))
    return [(f"{PAD:g}", f"{high + _BASE + i * _STEP:.1f}", line) for i, line in lines]


def sides(layout: Layout, notes: Sequence[str]) -> tuple[str, str]:
    """Width and height of a picture with notes at its foot, in points, as its file says them."""
    if n := len(foot_lines(layout, notes)):
        return f"{float(decimal(layout.width)):g}", f"{float(decimal(layout.height)) + n * _STEP:.1f}"
    return decimal(layout.width), decimal(layout.height)


def described(layout: Layout, notes: Sequence[str]) -> str:
    return f"{layout.description}. {said}" if (said := _joined(notes)).strip() else layout.description


def _joined(notes: Sequence[str]) -> str:
    return " · ".join(note.replace("`", "") for note in notes)


def _lines(text: str, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}", FOOT_SIZE) > room:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while width(line, FOOT_SIZE) > room and len(line) > 1:
            part = next(n for n in range(len(line) - 1, 0, -1) if n == 1 or width(line[:n], FOOT_SIZE) <= room)
            yield line[:part]
            line = line[part:]
    if line:
        yield line


DECIDES = "the code takes one branch or another because of these numbers"
"""What a pointer over the rhomb of a node shows."""
_RHOMB = 4.0  # half of a diagonal of the rhomb, in points
_RADIUS = 5.5  # points, around the paths below
_INSET = 2.0  # of the middle of a badge from the corner of its figure, in points
_BADGES = {
    "added": "M-3 0h6M0 -3v6",
    "removed": "M-3 0h6",
    "changed": "M-3.2 .6c1 -2.4 2.2 -2.4 3.2 -.6c1 1.8 2.2 1.8 3.2 -.6",
    "moved": "M-3.2 0h6.2M.6 -2.4l2.6 2.4l-2.6 2.4",
}
"""Around 0, 0, in points: forms tell also those apart to whom blue and orange are alike."""
_TAGS = {
    "shared1": "M-3 0c0 -1.66 1.34 -3 3 -3c1.66 0 3 1.34 3 3c0 1.66 -1.34 3 -3 3c-1.66 0 -3 -1.34 -3 -3z",
    "shared2": "M0 -3.9l3.9 3.9 -3.9 3.9 -3.9 -3.9z",
    "shared3": "M0 -3.8l3.9 6.6h-7.8z",
    "shared4": "M-2.7 -2.7h5.4v5.4h-5.4z",
}
"""The tags of modules whose calls are drawn apart, around 0, 0: their forms differ, as hues do not in print."""


class SignPart(NamedTuple):
    look: Look
    path: str = ""  # path data as in an SVG; empty for a circle
    circle: tuple[str, str, str] = ("", "", "")  # middle and radius


class Sign(NamedTuple):
    name: str  # what a pointer over it shows
    parts: tuple[SignPart, ...]


def signs(figure: Figure) -> Iterator[Sign]:
    """Signs at its corners: a change in a diff, a call of a module used elsewhere, a branch decided."""
    rect = figure.rect
    inset = (1 - 0.5**0.5) / 2 * rect.width
    if "decides" in figure.flags:
        x = rect.right - (inset if figure.is_round else _RHOMB)
        y = rect.top + (inset if figure.is_round else 0.0) - _RHOMB
        yield Sign(DECIDES, (SignPart(Look("skip", line="none"), f"M{decimal(x)} {decimal(y)}l4 4 -4 4 -4 -4z"),))
    inset = inset if figure.is_round else _INSET
    x, y = rect.left + inset, rect.top + inset
    if mark := mark_of(figure.flags):
        circle = SignPart(Look(mark, "1", "none"), circle=(f"{x:.1f}", f"{y:.1f}", str(_RADIUS)))
        path = _moved(_BADGES[mark], x, y)
        yield Sign(mark, (circle, SignPart(Look("none", "", "#ffffff", "1", "1.5"), path)))
    elif tag := next((name for name in SHARED if name in figure.flags), ""):
        yield Sign("shared", (SignPart(Look(tag, "1", "none"), _moved(_TAGS[tag], x, y)),))


def _moved(path: str, x: float, y: float) -> str:
    moved = ""
    for part in path.split("M")[1:]:
        end = next(i for i, letter in enumerate(part) if letter.isalpha())
        dx, dy = map(float, part[:end].split())
        moved += f"M{x + dx:.1f} {y + dy:.1f}{part[end:]}"
    return moved
