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
from xml.sax.saxutils import escape

from torchrecorder.layout.finish import place_edge_labels, place_titles
from torchrecorder.layout.geometry import Curve, Curves, arrow
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import MARKS, PARTS, SHARED, EdgeStyle, Figure, Layout, Line, Title, Word
from torchrecorder.request.requests import ThemeName
from torchrecorder.view import Mark
from torchrecorder.write.badges import badge, mark_line, mark_of, mark_paint, tag
from torchrecorder.write.links import link, refer_to
from torchrecorder.write.look import (
    COLOURS,
    FONT,
    THEMES,
    Theme,
    box_paint,
    line_paint,
    luminance,
    node_paint,
    variable,
)

_PX = 4 / 3
"""CSS pixels in a point."""
_MUTED = ".9"
"""Enough for a contrast of 4.5:1 in every theme that is tested, also where text is dark grey."""
_STACK = 3.0
_RHOMB = 4.0
"""Half of a diagonal."""
DECIDES = "the code takes one branch or another because of these numbers"
"""What a pointer over the rhomb of a node shows."""
_BACK = ' stroke-dasharray="3.5 2.5"'
"""Of data that the next turn of a loop reads: as short as lets the hook of a small node show two dashes."""
_UID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VARIABLE = re.compile(r"var\(--[\w-]+,(#[0-9a-f]{6})\)")
_PAINT = re.compile(r"var\(--torchrecorder-(?P<kind>[\w-]+),(?P<colour>#[0-9a-f]{6})\)|(?P<plain>#[0-9a-f]{6})")
_TAG = re.compile(r"<[^>]*>")
_KEYS = re.compile(r' data-(?:n|ends)="[^"]*"')
_DRAWN_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" style="[^"]*"')
_INK = {False: ("#1f2328", "#ffffff"), True: ("#e6edf3", "#16181d"), None: ("#767b82", "")}
"""Text and background of a picture that stands alone, by `dark`: a middle grey is read on white and on near-black."""


@dataclass(frozen=True, slots=True)
class FinishedSvg:
    svg: str
    width: float
    height: float


def finish(
    layout: str | Layout, *, uid: str, title: str, desc: str, theme: ThemeName = "modern", grey: bool = False
) -> FinishedSvg:
    """The picture, ready to stand inline in a page; an engine's layout is text."""
    if not _UID.fullmatch(uid):
        raise ValueError(f"{uid!r} is not a valid id")
    placed = layout if isinstance(layout, Layout) else arranged(layout)
    curves = Curves([line.curve for line in placed.lines], is_wide=placed.is_wide)
    titles = place_titles(placed, curves) if placed.titles is None else placed.titles
    taken = [title.rect for title in titles]
    words = place_edge_labels(placed, curves, taken)
    width, height = placed.width * _PX, placed.height * _PX
    style = f"width:100%;max-width:{width:.0f}px;height:auto"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="torchrecorder" role="group" aria-labelledby="{uid}-t {uid}-d"'
        f' viewBox="0 0 {_n(placed.width)} {_n(placed.height)}" style="{style}"'
        f' fill="currentColor" font-family="{FONT}" font-size="10.5" text-anchor="middle">'
        f'<title id="{uid}-t">{_text(title)}</title><desc id="{uid}-d">{_text(desc)}</desc>'
    )
    look = THEMES[theme]
    seen = curves.outside([*taken, *(node.inner for node in placed.nodes)])
    flags = [*(figure.flags for figure in (*placed.nodes, *placed.boxes)), *(line.flags for line in placed.lines)]
    is_diff = any(map(mark_of, flags))
    lines = (*_edges(placed, seen, look, is_diff=is_diff), *_edge_labels(words))
    parts = [head, *_boxes(placed, look), *lines, *_nodes(placed, titles, look, is_diff=is_diff), "</svg>"]
    svg = "".join(parts)
    if grey:
        svg = _TAG.sub(lambda tag: _PAINT.sub(_grey, tag[0]), svg)
    return FinishedSvg(svg, round(width, 1), round(height, 1))


def _grey(paint: re.Match[str]) -> str:
    """A colour as it is seen in grey; edges that skip stay apart from others by being as dark as the words."""
    if paint["kind"] == "skip":
        return "currentColor"
    light = luminance(paint["colour"] or paint["plain"])
    shade = round(255 * (12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055))
    return "#" + f"{shade:02x}" * 3


def fixed(svg: str, *, dark: bool | None = False, scale: float = 1.0) -> str:
    """The picture with colours of its own, for files and `<img>`.

    It paints its own background, white or near-black: a picture in `<img>` does not learn the colour of the page, and
    dark text on a dark page cannot be read. It has its natural size in pixels.

    Args:
        svg: A finished picture.
        dark: Which background; None leaves it out, and words have a grey that is read on either.
        scale: How much larger it becomes, if not 1; its size is in points then.
    """
    svg = _KEYS.sub("", link(svg, {}))
    ink, paper = _INK[dark]
    text = _TAG.sub(lambda tag: _VARIABLE.sub(r"\1", tag[0]).replace("currentColor", ink), svg)
    size = _DRAWN_WIDTH.search(text)
    if size is None:
        return text
    if scale == 1:
        width, height = (f"{float(side) * _PX:.0f}" for side in size.groups())
    else:  # for print, where pixels are too coarse
        width, height = (f"{float(side) * scale:.2f}pt" for side in size.groups())
    box = f'viewBox="0 0 {size[1]} {size[2]}" width="{width}" height="{height}"'
    text = text.replace(size[0], box, 1)
    return text.replace("</desc>", f'</desc><rect width="100%" height="100%" fill="{paper}"/>', 1) if paper else text


def _boxes(layout: Layout, look: Theme) -> Iterator[str]:
    if layout.boxes:
        yield f'<g class="boxes" fill-opacity="{look.box_opacity}" stroke="currentColor" stroke-opacity=".3">'
        for box in layout.boxes:
            paint = _error(box.flags) or box_paint(box.style) or mark_paint(box.flags, is_box=True)
            yield _stack(box, look.round_box) + _outline(box, look.round_box, paint) + badge(box) + tag(box)
        yield "</g>"


def _titles(titles: Sequence[Title]) -> Iterator[str]:
    yield f'<g class="titles" text-anchor="start" fill-opacity="{_MUTED}">'
    for title in titles:
        ink = f' fill="{title.ink}"' if title.ink else ""
        name, dot, rest = ("", "", title.word.text) if title.is_rest else title.word.text.partition(PARTS)
        words = (f'<tspan font-weight="600">{_text(name)}</tspan>' if name else "") + _text(dot + rest)
        text = f'<text x="{_n(title.left)}" y="{_n(title.word.y)}"{ink}{_key(title.key)}>{words}</text>'
        yield refer_to(text, title.reference)
    yield "</g>"


_Seen = tuple[Line, Sequence[Curve]]
"""An edge, and its parts that do not lie behind something."""


def _edges(layout: Layout, seen: Sequence[Sequence[Curve]], look: Theme, *, is_diff: bool) -> Iterator[str]:
    groups: dict[tuple[str, Mark | None, EdgeStyle], list[_Seen]]
    groups = {(kind, None, EdgeStyle()): [] for kind in ("edges", "skips", "backs")}
    for line, parts in zip(layout.lines, seen, strict=True):
        kind = "backs" if "back" in line.flags else "skips" if "skip" in line.flags else "edges"
        groups.setdefault((kind, mark_of(line.flags), line.style), []).append((line, parts))
    for (kind, mark, style), lines in groups.items():
        if not lines:
            continue
        colour, opacity = ("currentColor", ".55") if kind == "edges" else (look.skip, ".9")
        if is_diff:  # colours say what became of a thing
            colour, opacity = (variable(mark), ".9") if mark else ("currentColor", ".55")
        colour, opacity = (style.line, "1") if style.line else (colour, opacity)
        curves = "".join([_curve(part) for _, parts in lines for part in parts])
        heads = ""
        for corners in (arrow(line.curve[-1], line.tip) for line, _ in lines if line.tip):
            (x0, y0), (x1, y1), (x2, y2) = [(round(x * 10), round(y * 10)) for x, y in corners]
            steps = " ".join(map(_tenths, (x1 - x0, y1 - y0, x2 - x1, y2 - y1)))
            heads += f"M{_tenths(x0)} {_tenths(y0)}l{steps}z".replace(" -", "-")
        ends = ",".join(_ends(line, len(parts)) for line, parts in lines)
        joins = f' data-ends="{ends}"' if any(all(line.ends) for line, _ in lines) else ""
        paint = line_paint(style) + mark_line(mark)
        paint += _BACK if kind == "backs" and "dasharray" not in paint else ""
        yield f'<g class="{kind}"{joins}><path fill="none" stroke="{colour}" stroke-opacity="{opacity}"{paint}'
        yield f' d="{curves}"/>'
        yield f'<path fill="{colour}" fill-opacity="{opacity}" d="{heads}"/></g>'


def _ends(line: Line, parts: int) -> str:
    """What an edge joins, for scripts that look for its curves in the path of all.

    Between the nodes 0 and 1 it is `0 1`; `0 1 2` if it is in two parts, `0 1 1 0` if it has no arrow.
    """
    names = " ".join(line.ends)
    return f"{names} {parts} 0" if line.tip is None else names if parts == 1 else f"{names} {parts}"


def _edge_labels(words: Sequence[Word]) -> Iterator[str]:
    if words:
        yield f'<g class="shapes" font-size="{_n(words[0].size)}" fill-opacity="{_MUTED}">'
        for word in words:
            yield f'<text x="{_n(word.x)}" y="{_n(word.y)}">{_text(word.text)}</text>'
        yield "</g>"


def _nodes(layout: Layout, titles: Sequence[Title], look: Theme, *, is_diff: bool) -> Iterator[str]:
    opening: dict[int, list[Title]] = {}
    for title in titles:
        opening.setdefault(title.before, []).append(title)
    yield '<g class="nodes" stroke-width="1.2">'
    for i, node in enumerate(layout.nodes):
        if i in opening:
            yield from _titles(opening.pop(i))
        yield refer_to(_node(node, look, is_diff=is_diff), node.reference)
    yield "</g>"
    yield from _titles([title for rest in opening.values() for title in rest]) if opening else ()


def _node(node: Figure, look: Theme, *, is_diff: bool) -> str:
    kind = next(
        (flag for flag in sorted(node.flags) if flag in COLOURS and flag not in ("error", *MARKS, *SHARED)), "op"
    )
    paint = look.paint((mark_of(node.flags) or "op") if is_diff else kind, bool(node.reference))
    fill = f' fill="{paint.fill}"' + (f' fill-opacity="{paint.opacity}"' if paint.opacity != "1" else "")
    dashes = ' stroke-dasharray="3 2"' if look.dashes and kind in ("data", "link") else ""
    marked = mark_paint(node.flags)
    outline = fill + (_error(node.flags) or (marked or f' stroke="{paint.stroke}"{dashes}'))
    ink = f' fill="{paint.ink}"' if paint.ink else ""
    if "styled" in node.flags:
        outline, ink = node_paint(node.style, outline, ink)
    is_oval = kind == "io" and not look.round_node
    shape = _outline(node, math.inf if is_oval else look.round_node, outline)
    parts = [f'<g class="{kind}"{_key(node.key)}>', _stack(node, look.round_node, paint.stroke), shape]
    style = ' font-weight="600"'
    for word in node.words:
        size = "" if word.size == 10.5 else f' font-size="{_n(word.size)}"'
        place = f'x="{_n(word.x)}" y="{_n(word.y)}"'
        parts.append(f'<text {place}{size}{style}{ink} stroke="none">{_text(word.text)}</text>')
        style = f' fill-opacity="{_MUTED}"'
    return "".join((*parts, _decides(node), badge(node), tag(node), "</g>"))


def _decides(node: Figure) -> str:
    """A rhomb at the upper right corner of a node of whose numbers it depends which way the code goes."""
    if "decides" not in node.flags:
        return ""
    inset = (1 - 0.5**0.5) / 2 * node.rect.width if node.is_round else _RHOMB
    x, y = node.rect.right - inset, node.rect.top + (inset if node.is_round else 0)
    r = _n(_RHOMB)
    path = f'<path fill="{variable("skip")}" stroke="none" d="M{_n(x)} {_n(y - _RHOMB)}l{r} {r} -{r} {r} -{r} -{r}z"/>'
    return f"<g><title>{DECIDES}</title>{path}</g>"


def _key(key: str) -> str:
    return f' data-n="{key}"' if key else ""


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
    if "repeat" not in figure.flags:
        return ""
    stroke = f' stroke="{colour}"' if colour else ""
    sheets, right, bottom, r = "", figure.rect.right, figure.rect.bottom, radius
    for by in (_STACK, 2 * _STACK):  # the right and lower edge of the rectangle, moved to the lower right
        down = bottom + by - r - (figure.rect.top + by + r / 2)
        back = right + by - r - (figure.rect.left + by + r / 2)
        start = f"M{_n(right + by)} {_n(figure.rect.top + by + r / 2)}v{_n(down)}"
        sheets += f"{start}q0 {_n(r)} {_n(-r)} {_n(r)}h{_n(-back)}"
    return f'<path fill="none"{stroke} d="{sheets}"/>'


def _text(text: str) -> str:
    return escape(_NOT_XML.sub(" ", text))


def _n(value: float) -> str:
    return _tenths(round(value * 10))


def _tenths(tenths: int) -> str:
    text = str(tenths)
    return f"{text[:-1]}.{text[-1]}" if tenths % 10 else str(tenths // 10)


def _curve(points: Curve) -> str:
    """Path data with relative steps; a segment along an axis is one number."""
    tenths = [(round(px * 10), round(py * 10)) for px, py in points]
    (x, y), others = tenths[0], tenths[1:]
    text, last = f"M{_tenths(x)} {_tenths(y)}", ""
    size = 1 if len(others) == 1 else 3
    for i in range(0, len(others), size):
        steps = [(px - x, py - y) for px, py in others[i : i + size]]
        x, y = others[i + size - 1]
        if all(dx == 0 for dx, _ in steps) or all(dy == 0 for _, dy in steps):
            dx, dy = steps[-1]
            letter, numbers = ("h", [dx]) if dx else ("v", [dy])
        else:
            letter, numbers = "l" if size == 1 else "c", [number for step in steps for number in step]
        text += (letter if letter != last else " ") + " ".join(map(_tenths, numbers))
        last = letter
    return text.replace(" -", "-")
