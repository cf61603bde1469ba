"""From an engine's layout to the picture that stands in a page.

Words and edges have the colour of the text around the picture, kinds a colour that a site may set as a CSS variable, so
one picture is right in every theme, light and dark, without a style sheet. Everything that elements share stands on a
group around them; outlines are merged; positions have one decimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from xml.sax.saxutils import escape

from torchrecorder.drawing.links import opened
from torchrecorder.drawing.styles.answer import EdgeStyle
from torchrecorder.drawing.svg.callouts import place_words
from torchrecorder.drawing.svg.drawing import Drawing, Figure, Line, Word, read_drawing
from torchrecorder.drawing.svg.geometry import Curve, Rect
from torchrecorder.drawing.svg.numbers import arrow_head, curve
from torchrecorder.drawing.svg.numbers import number as _n
from torchrecorder.drawing.svg.own import box_paint, line_paint, node_paint
from torchrecorder.drawing.svg.palette import COLOURS, FONT, variable
from torchrecorder.drawing.svg.scene import Curves
from torchrecorder.drawing.svg.skips import keep_inside
from torchrecorder.drawing.svg.themes import THEMES, Theme
from torchrecorder.drawing.svg.titles import PARTS, Title, place_titles
from torchrecorder.garbage import no_garbage_collection
from torchrecorder.request.requests import ThemeName

_PX = 4 / 3
"""CSS pixels in a point."""
_MUTED = ".9"
"""Enough for a contrast of 4.5:1 in every theme that is tested, also where text is dark grey."""
_STACK = 3.0
_UID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture and its natural size in CSS pixels."""

    svg: str
    width: float
    height: float


@no_garbage_collection()
def finish(layout: str, *, uid: str, title: str, desc: str, theme: ThemeName = "modern") -> Picture:
    """The picture, ready to stand inline in a page.

    Args:
        layout: What the engine wrote.
        uid: Begins the two ids in the picture; must be unique in the page.
        title: Names the picture for those who do not see it.
        desc: Describes it.
        theme: The look.

    Raises:
        EngineError: `layout` cannot be read.
        ValueError: `uid` is no identifier.
    """
    if not _UID.fullmatch(uid):
        raise ValueError(f"{uid!r} is no identifier")
    drawing = read_drawing(layout)
    keep_inside(drawing)
    curves = Curves([line.curve for line in drawing.lines], is_wide=drawing.is_wide)
    titles = place_titles(drawing, curves)
    taken = [title.rect for title in titles]
    words = place_words(drawing, curves, taken)
    width, height = drawing.width * _PX, drawing.height * _PX
    style = f"width:100%;max-width:{width:.0f}px;height:auto"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="torchrecorder" role="group" aria-labelledby="{uid}-t {uid}-d"'
        f' viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" style="{style}"'
        f' fill="currentColor" font-family="{FONT}" font-size="10.5" text-anchor="middle">'
        f'<title id="{uid}-t">{_text(title)}</title><desc id="{uid}-d">{_text(desc)}</desc>'
    )
    look = THEMES[theme]
    seen = curves.outside([*taken, *map(_inner, drawing.nodes)])
    lines = (*_edges(drawing, seen, look), *_shapes(words))
    parts = [head, *_boxes(drawing, look), *lines, *_nodes(drawing, titles, look)]
    return Picture("".join((*parts, "</svg>")), round(width, 1), round(height, 1))


def _boxes(drawing: Drawing, look: Theme) -> Iterator[str]:
    if drawing.boxes:
        yield f'<g class="boxes" fill-opacity="{look.box_opacity}" stroke="currentColor" stroke-opacity=".3">'
        for box in drawing.boxes:
            yield _stack(box, look.round_box) + _outline(box, look.round_box, _error(box.flags) or box_paint(box.style))
        yield "</g>"


def _titles(titles: Sequence[Title]) -> Iterator[str]:
    yield f'<g class="titles" text-anchor="start" fill-opacity="{_MUTED}">'
    for title in titles:
        ink = f' fill="{title.ink}"' if title.ink else ""
        text = f'<text x="{_n(title.left)}" y="{_n(title.word.y)}"{ink}>{_first_bold(title.word.text)}</text>'
        yield opened(text, title.reference)
    yield "</g>"


def _first_bold(text: str) -> str:
    name, dot, rest = text.partition(PARTS)
    return f'<tspan font-weight="600">{_text(name)}</tspan>{_text(dot + rest)}'


def _inner(node: Figure) -> Rect:
    """Where no edge is seen: one that leads on from behind a node was led through it by the engine."""
    rect = node.rect
    corner = _CORNER if node.is_round else 0.0
    wide, high = _BEHIND + corner * rect.width, _BEHIND + corner * rect.height
    return Rect(rect.left + wide, rect.top + high, rect.right - wide, rect.bottom - high)


_BEHIND = 1.0
_CORNER = (1 - 0.5**0.5) / 2
"""How far the largest rectangle in an ellipse is from the one around it, as a part of each side."""


_Seen = tuple[Line, Sequence[Curve]]
"""An edge, and its parts that do not lie behind something."""


def _edges(drawing: Drawing, seen: Sequence[Sequence[Curve]], look: Theme) -> Iterator[str]:
    groups: dict[tuple[bool, EdgeStyle], list[_Seen]] = {(False, EdgeStyle()): [], (True, EdgeStyle()): []}
    for line, parts in zip(drawing.lines, seen, strict=True):
        groups.setdefault(("skip" in line.flags, line.style), []).append((line, parts))
    for (is_skip, style), lines in groups.items():
        colour, opacity = (look.skip, ".9") if is_skip else ("currentColor", ".55")
        yield from _line_group(lines, style.line or colour, "1" if style.line else opacity)


def _line_group(lines: list[_Seen], colour: str, opacity: str) -> Iterator[str]:
    if not lines:
        return
    curves = "".join([curve(part) for _, parts in lines for part in parts])
    heads = "".join([arrow_head(line.curve[-1], line.tip) for line, _ in lines if line.tip])
    first, _ = lines[0]
    kind = "skips" if "skip" in first.flags else "edges"
    own = line_paint(first.style)
    yield f'<g class="{kind}"><path fill="none" stroke="{colour}" stroke-opacity="{opacity}"{own} d="{curves}"/>'
    yield f'<path fill="{colour}" fill-opacity="{opacity}" d="{heads}"/></g>'


def _shapes(words: Sequence[Word]) -> Iterator[str]:
    if words:
        yield f'<g class="shapes" font-size="{_n(words[0].size)}" fill-opacity="{_MUTED}">'
        for word in words:
            yield f'<text x="{_n(word.x)}" y="{_n(word.y)}">{_text(word.text)}</text>'
        yield "</g>"


def _nodes(drawing: Drawing, titles: Sequence[Title], look: Theme) -> Iterator[str]:
    """The nodes, and before the first of a box its title: the Tab key and screen readers visit links in this order."""
    opening: dict[int, list[Title]] = {}
    for title in titles:
        opening.setdefault(title.before, []).append(title)
    yield '<g class="nodes" stroke-width="1.2">'
    for i, node in enumerate(drawing.nodes):
        if i in opening:
            yield from _titles(opening.pop(i))
        yield opened(_node(node, look), node.reference)
    yield "</g>"
    yield from _titles([title for rest in opening.values() for title in rest]) if opening else ()


def _node(node: Figure, look: Theme) -> str:
    head, outline, stroke, ink, radius = _look(node.flags, bool(node.reference), look)
    if "styled" in node.flags:
        outline, ink = node_paint(node.style, outline, ink)
    if "repeat" in node.flags:
        head += _stack(node, look.round_node, stroke)
    parts = [head, _outline(node, radius, outline)]
    style = ' font-weight="600"'
    for word in node.words:
        size = "" if word.size == 10.5 else f' font-size="{_n(word.size)}"'
        place = f'x="{_n(word.x)}" y="{_n(word.y)}"'
        parts.append(f'<text {place}{size}{style}{ink} stroke="none">{_text(word.text)}</text>')
        style = f' fill-opacity="{_MUTED}"'
    return "".join((*parts, "</g>"))


@lru_cache(maxsize=256)
def _look(flags: frozenset[str], is_layer: bool, look: Theme) -> tuple[str, str, str, str, float]:
    """What nodes alike have in common: tag of the group, paint, colours of lines and words, corners."""
    kind = next((flag for flag in sorted(flags) if flag in COLOURS and flag != "error"), "op")
    paint = look.paint(kind, is_layer)
    fill = f' fill="{paint.fill}"' + (f' fill-opacity="{paint.opacity}"' if paint.opacity != "1" else "")
    dashes = ' stroke-dasharray="3 2"' if look.dashes and kind in ("data", "link") else ""
    outline = fill + (_error(flags) or f' stroke="{paint.stroke}"{dashes}')
    ink = f' fill="{paint.ink}"' if paint.ink else ""
    is_oval = kind == "io" and not look.round_node
    return f'<g class="{kind}">', outline, paint.stroke, ink, math.inf if is_oval else look.round_node


def _error(flags: frozenset[str]) -> str:
    if "error" not in flags:
        return ""
    return f' stroke="{variable("error")}" stroke-opacity="1" stroke-width="2" stroke-dasharray="5 3"'


def _outline(figure: Figure, radius: float, paint: str) -> str:
    rect = figure.rect
    place = f'x="{_n(rect.left)}" y="{_n(rect.top)}" width="{_n(rect.width)}" height="{_n(rect.height)}"'
    if figure.is_round and rect.width != rect.height:
        return f'<rect {place} rx="{_n(rect.width / 2)}" ry="{_n(rect.height / 2)}"{paint}/>'
    if figure.is_round:
        cx, cy = (rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2
        return f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(rect.width / 2)}"{paint}/>'
    return f'<rect {place} rx="{_n(min(radius, rect.height / 2))}"{paint}/>'


def _stack(figure: Figure, radius: float, colour: str = "") -> str:
    """What is seen of two sheets under a repeated box or node."""
    if "repeat" not in figure.flags:
        return ""
    stroke = f' stroke="{colour}"' if colour else ""
    sheets = "".join(_edge_of_sheet(figure.rect, radius, _STACK * i) for i in (1, 2))
    return f'<path fill="none"{stroke} d="{sheets}"/>'


def _edge_of_sheet(rect: Rect, radius: float, by: float) -> str:
    """The right and lower edge of the rectangle, moved to the lower right."""
    right, bottom, r = rect.right + by, rect.bottom + by, radius
    down, back = bottom - r - (rect.top + by + r / 2), right - r - (rect.left + by + r / 2)
    start = f"M{_n(right)} {_n(rect.top + by + r / 2)}v{_n(down)}"
    return f"{start}q0 {_n(r)} {_n(-r)} {_n(r)}h{_n(-back)}"


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> str:
    return escape(text if text.isprintable() else _NOT_XML.sub(" ", text))
