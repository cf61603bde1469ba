"""From an engine's SVG to the one that stands in a page.

Written anew from positions and words (see `drawing`). Words and edges have the colour of the text around the picture,
kinds a colour that a site may set as a CSS variable, so one picture is right in every theme, light and dark, without a
style sheet. Everything that elements share stands on a group around them; outlines are merged; positions have one
decimal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from torchrecorder.renderer.svg.callouts import place_words
from torchrecorder.renderer.svg.drawing import Drawing, Figure, Line, read_drawing
from torchrecorder.renderer.svg.geometry import Curve, Rect, without
from torchrecorder.renderer.svg.palette import COLOURS, FONT, variable
from torchrecorder.renderer.svg.scene import Rects
from torchrecorder.renderer.svg.titles import Title, place_titles

_PX = 4 / 3
"""CSS pixels in a point."""
_MUTED = ".8"
_ROUND_NODE, _ROUND_BOX, _STACK = 8.0, 9.0, 3.0
_UID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture and its natural size in CSS pixels."""

    svg: str
    width: float
    height: float


def finish(svg: str, *, uid: str, title: str, desc: str) -> Picture:
    """The picture, ready to stand inline in a page.

    Args:
        svg: What the engine wrote.
        uid: Begins the two ids in the picture; must be unique in the page.
        title: Names the picture for those who do not see it.
        desc: Describes it.

    Raises:
        EngineError: `svg` cannot be read.
        ValueError: `uid` is no identifier.
    """
    if not _UID.fullmatch(uid):
        raise ValueError(f"{uid!r} is no identifier")
    drawing = read_drawing(svg)
    titles = place_titles(drawing)
    width, height = drawing.width * _PX, drawing.height * _PX
    style = f"width:100%;max-width:{width:.0f}px;height:auto"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="torchrecorder" role="img" aria-labelledby="{uid}-t {uid}-d"'
        f' viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" style="{style}"'
        f' fill="currentColor" font-family="{FONT}" font-size="10.5" text-anchor="middle">'
        f'<title id="{uid}-t">{_text(title)}</title><desc id="{uid}-d">{_text(desc)}</desc>'
    )
    parts = [head, *_boxes(drawing), *_edges(drawing, titles), *_titles(titles), *_nodes(drawing), "</svg>"]
    return Picture("".join(parts), round(width, 1), round(height, 1))


def _boxes(drawing: Drawing) -> Iterator[str]:
    if drawing.boxes:
        yield '<g class="boxes" fill-opacity=".035" stroke="currentColor" stroke-opacity=".3">'
        for box in drawing.boxes:
            yield _stack(box, _ROUND_BOX) + _outline(box, _ROUND_BOX, _error(box))
        yield "</g>"


def _titles(titles: list[Title]) -> Iterator[str]:
    if titles:
        yield f'<g class="titles" text-anchor="start" fill-opacity="{_MUTED}">'
        for title in titles:
            yield f'<text x="{_n(title.left)}" y="{_n(title.word.y)}">{_first_bold(title.word.text)}</text>'
        yield "</g>"


def _first_bold(text: str) -> str:
    name, dot, rest = text.partition(" · ")
    return f'<tspan font-weight="600">{_text(name)}</tspan>{_text(dot + rest)}'


def _edges(drawing: Drawing, titles: list[Title]) -> Iterator[str]:
    taken = [title.rect for title in titles]
    gaps = Rects(taken)
    yield from _line_group([line for line in drawing.lines if "skip" not in line.flags], gaps, "currentColor", ".55")
    yield from _line_group([line for line in drawing.lines if "skip" in line.flags], gaps, variable("skip"), ".9")
    words = place_words(drawing, taken)
    if words:
        yield f'<g class="shapes" font-size="{_n(words[0].size)}" fill-opacity="{_MUTED}">'
        for word in words:
            yield f'<text x="{_n(word.x)}" y="{_n(word.y)}">{_text(word.text)}</text>'
        yield "</g>"


def _line_group(lines: list[Line], gaps: Rects, colour: str, opacity: str) -> Iterator[str]:
    if not lines:
        return
    curves = "".join(_curve(part) for line in lines for part in without(line.curve, gaps.meeting))
    heads = "".join(_polygon(line) for line in lines if line.head)
    kind = "skips" if "skip" in lines[0].flags else "edges"
    yield f'<g class="{kind}"><path fill="none" stroke="{colour}" stroke-opacity="{opacity}" d="{curves}"/>'
    yield f'<path fill="{colour}" fill-opacity="{opacity}" d="{heads}"/></g>'


def _nodes(drawing: Drawing) -> Iterator[str]:
    yield '<g class="nodes" stroke-width="1.2">'
    for node in drawing.nodes:
        kind = next((flag for flag in sorted(node.flags) if flag in COLOURS and flag != "error"), "op")
        yield f'<g class="{kind}">{_stack(node, _ROUND_NODE, kind)}{_outline(node, _ROUND_NODE, _paint(node, kind))}'
        for i, word in enumerate(node.words):
            style = ' font-weight="600"' if i == 0 else f' fill-opacity="{_MUTED}"'
            size = "" if word.size == 10.5 else f' font-size="{_n(word.size)}"'
            yield f'<text x="{_n(word.x)}" y="{_n(word.y)}"{size}{style} stroke="none">{_text(word.text)}</text>'
        yield "</g>"
    yield "</g>"


def _paint(node: Figure, kind: str) -> str:
    colour = variable(kind)
    dashes = ' stroke-dasharray="3 2"' if kind in ("data", "link") else ""
    paint = f' fill="{colour}" fill-opacity=".16" stroke="{colour}"{dashes}'
    return paint if "error" not in node.flags else f' fill="{colour}" fill-opacity=".16"{_error(node)}'


def _error(figure: Figure) -> str:
    if "error" not in figure.flags:
        return ""
    return f' stroke="{variable("error")}" stroke-opacity="1" stroke-width="2" stroke-dasharray="5 3"'


def _outline(figure: Figure, radius: float, paint: str) -> str:
    rect = figure.rect
    if figure.is_round:
        cx, cy = (rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2
        return f'<circle cx="{_n(cx)}" cy="{_n(cy)}" r="{_n(rect.width / 2)}"{paint}/>'
    place = f'x="{_n(rect.left)}" y="{_n(rect.top)}" width="{_n(rect.width)}" height="{_n(rect.height)}"'
    return f'<rect {place} rx="{_n(min(radius, rect.height / 2))}"{paint}/>'


def _stack(figure: Figure, radius: float, kind: str = "") -> str:
    """What is seen of two sheets under a repeated box or node."""
    if "repeat" not in figure.flags:
        return ""
    stroke = f' stroke="{variable(kind)}"' if kind else ""
    sheets = "".join(_edge_of_sheet(figure.rect, radius, _STACK * i) for i in (1, 2))
    return f'<path fill="none"{stroke} d="{sheets}"/>'


def _edge_of_sheet(rect: Rect, radius: float, by: float) -> str:
    """The right and lower edge of the rectangle, moved to the lower right."""
    right, bottom, r = rect.right + by, rect.bottom + by, radius
    down, back = bottom - r - (rect.top + by + r / 2), right - r - (rect.left + by + r / 2)
    start = f"M{_n(right)} {_n(rect.top + by + r / 2)}v{_n(down)}"
    return f"{start}q0 {_n(r)} {_n(-r)} {_n(r)}h{_n(-back)}"


def _curve(points: Curve) -> str:
    x, y = _r(points[0][0]), _r(points[0][1])
    text = [f"M{_n(x)} {_n(y)}c"]
    for i in range(1, len(points), 3):
        moved = [(_r(px), _r(py)) for px, py in points[i : i + 3]]
        text.append(" ".join(f"{_n(px - x)} {_n(py - y)}" for px, py in moved) + " ")
        x, y = moved[-1]
    return "".join(text).rstrip().replace(" -", "-")


def _polygon(line: Line) -> str:
    (x, y), *others = [(_r(px), _r(py)) for px, py in line.head[:-1]]
    text = [f"M{_n(x)} {_n(y)}l"]
    for px, py in others:
        text.append(f"{_n(px - x)} {_n(py - y)} ")
        x, y = px, py
    return ("".join(text).rstrip() + "z").replace(" -", "-")


def _r(number: float) -> float:
    return round(number, 1)


def _n(number: float) -> str:
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> str:
    return escape(_NOT_XML.sub(" ", text))


_VARIABLE = re.compile(r"var\(--[\w-]+,(#[0-9a-f]{6})\)")
_TAG = re.compile(r"<[^>]*>")
_DRAWN_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" style="[^"]*"')
_INK = {False: ("#1f2328", "#ffffff"), True: ("#e6edf3", "#16181d")}
"""Text and background of a picture that stands alone, by `dark`."""


def fixed(svg: str, *, dark: bool = False) -> str:
    """The picture with colours of its own, for files and `<img>`.

    It paints its own background, white or near-black: a picture in `<img>` does not learn the colour of the page, and
    dark text on a dark page cannot be read. It has its natural size in pixels.

    Args:
        svg: What `finish` gave.
        dark: Whether it is for a dark page.
    """
    ink, paper = _INK[dark]
    text = _TAG.sub(lambda tag: _VARIABLE.sub(r"\1", tag[0]).replace("currentColor", ink), svg)
    size = _DRAWN_WIDTH.search(text)
    if size is None:
        return text
    width, height = float(size[1]), float(size[2])
    box = f'viewBox="0 0 {size[1]} {size[2]}" width="{width * _PX:.0f}" height="{height * _PX:.0f}"'
    text = text.replace(size[0], box, 1)
    return text.replace("</desc>", f'</desc><rect width="100%" height="100%" fill="{paper}"/>', 1)
