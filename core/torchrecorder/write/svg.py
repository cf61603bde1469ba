"""From a finished layout to the picture that stands in a page, or in a file of its own.

Words and edges have the colour of the text around the picture, kinds a colour that a site may set as a CSS variable, so
one picture is right in every theme, light and dark, without a style sheet. Everything that elements share stands on a
group around them; outlines are merged; positions have one decimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from torchrecorder.layout.geometry import Curve, arrow
from torchrecorder.layout.model import PX, EdgeStyle, Figure, Layout, Line, Title
from torchrecorder.write.links import XLINK, Links, Reference, References, in_reading_order
from torchrecorder.write.look import (
    BOXES,
    FONT,
    FOOT_SIZE,
    NODES,
    THEMES,
    Colours,
    Look,
    box_look,
    decimal,
    described,
    foot_lines,
    line_kind,
    line_look,
    mark_of,
    node_look,
    sides,
    signs,
    tenths,
)

if TYPE_CHECKING:
    from torchrecorder.view.model import Mark

MUTED = ".9"  # enough for a contrast of 4.5:1 in every theme that is tested, also where text is dark grey
FOOT_MUTED = ".75"  # a contrast of 7:1 on white, less than that of the words in the picture
_STACK = 3.0  # points between the sheets behind what repeats
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INK = {False: ("#1f2328", "#ffffff"), True: ("#e6edf3", "#16181d"), None: ("#767b82", "")}
"""Text and background of a picture that stands alone, by `dark`: a middle grey is read on white and on near-black."""


class Lettering(NamedTuple):
    """The setting of the words of a group."""

    size: float = 10.5
    anchor: str = "middle"
    opacity: str = "1"


TITLES, NODE_WORDS = Lettering(anchor="start", opacity=MUTED), Lettering()
FOOT = Lettering(FOOT_SIZE, "start", FOOT_MUTED)


class SvgWriter:
    def __init__(self, layout: Layout, colours: Colours, links: Links | References) -> None:
        self.layout, self.colours, self.links = layout, colours, links
        self.theme, self.is_diff = THEMES[layout.theme], layout.is_diff
        self.has_links = False  # whether a link of a page was written
        self._has_keys = True
        self._escapes: dict[str, str] = {}

    def opening(self, label: str, size: str, id_: str = "") -> str:
        first = (f" id={quoteattr(id_)}" if id_ else "") + (f' xmlns:xlink="{XLINK}"' if self.has_links else "")
        return (
            f'<svg{first} xmlns="http://www.w3.org/2000/svg" class="torchrecorder" {label} {size}'
            f' fill="{self.colours("currentColor")}" font-family="{FONT}" font-size="{NODE_WORDS.size:g}"'
            f' text-anchor="{NODE_WORDS.anchor}">'
        )

    def called(self, uid: str, description: str) -> str:
        title = self._text(self.layout.title)
        return f'<title id="{uid}-t">{title}</title><desc id="{uid}-d">{self._text(description)}</desc>'

    def body(self) -> str:
        return "".join((*self._boxes(), *self._lines(), self._words(), *self._nodes()))

    def foot(self, notes: Sequence[str]) -> str:
        said = "".join(self.text(FOOT, x, y, [(line, False)]) for x, y, line in foot_lines(self.layout, notes))
        look = f'text-anchor="{FOOT.anchor}" font-size="{FOOT.size:g}" fill-opacity="{FOOT.opacity}"'
        return f'<g class="foot" {look}>{said}</g>' if said else ""

    def _boxes(self) -> Iterator[str]:
        if self.layout.boxes:
            paint = f' fill-opacity="{self.theme.box_opacity}"{self._attributes(BOXES)}'
            yield f'<g class="boxes"{paint}>'
            for box in self.layout.boxes:
                radius = self.theme.round_box
                yield self._sheets(box, radius) + self._outline(box, radius, box_look(box)) + self._signs(box)
            yield "</g>"

    def _lines(self) -> Iterator[str]:
        groups: dict[tuple[str, Mark | None, EdgeStyle], list[Line]]
        groups = {(kind, None, EdgeStyle()): [] for kind in ("edges", "skips", "backs")}
        for line in self.layout.lines:
            groups.setdefault((line_kind(line), mark_of(line.flags), line.style), []).append(line)
        for (kind, mark, style), lines in groups.items():
            if not lines:
                continue
            look = line_look(kind, mark, style, self.theme, is_diff=self.is_diff)
            curves = "".join([_curve(part) for line in lines for part in line.parts])
            heads = ""
            for (x0, y0), (x1, y1), (x2, y2) in (head_of(line) for line in lines if line.tip):
                steps = " ".join(map(tenths, (x1 - x0, y1 - y0, x2 - x1, y2 - y1)))
                heads += f"M{tenths(x0)} {tenths(y0)}l{steps}z".replace(" -", "-")
            joins = any(all(line.ends) for line in lines) and self._has_keys
            ends = f' data-ends="{",".join(map(_ends, lines))}"' if joins else ""
            yield f'<g class="{kind}"{ends}><path fill="none"{self._attributes(look)} d="{curves}"/>'
            yield f'<path fill="{self.colours(look.line)}" fill-opacity="{look.line_opacity}" d="{heads}"/></g>'

    def _words(self) -> str:
        if not (words := self.layout.words):
            return ""
        setting = Lettering(words[0].size, opacity=MUTED)
        texts = "".join(self.text(setting, decimal(word.x), decimal(word.y), [(word.text, False)]) for word in words)
        return f'<g class="shapes" font-size="{decimal(setting.size)}" fill-opacity="{MUTED}">{texts}</g>'

    def _nodes(self) -> Iterator[str]:
        yield f'<g class="nodes"{self._attributes(NODES)}>'
        items = [*in_reading_order(self.layout)]
        last = [items.pop()] if items and isinstance(items[-1], list) else []
        for item in items:
            yield from (self._node(item),) if isinstance(item, Figure) else self._titles(item)
        yield "</g>"
        for titles in last:  # of boxes without a node
            assert isinstance(titles, list)
            yield from self._titles(titles)

    def _titles(self, titles: Iterable[Title]) -> Iterator[str]:
        yield f'<g class="titles" text-anchor="start" fill-opacity="{MUTED}">'
        for title in titles:
            place = decimal(title.left), decimal(title.word.y)
            text = self.text(TITLES, *place, title.spans, ink=title.ink, key=title.key)
            yield self._linked(text, Reference.of(title.reference))
        yield "</g>"

    def _node(self, node: Figure) -> str:
        look = node_look(node, self.theme, is_diff=self.is_diff)
        radius, reference = self.theme.round_node, Reference.of(node.reference)
        parts = [f'<g class="{look.kind}"{self._key(node.key)}>', self._sheets(node, radius, look.sheets)]
        parts.append(self._outline(node, math.inf if look.is_oval else radius, look.outline))
        if reference is not None and self.links.opens(reference) and not is_circle(node):
            left, top, wide = (float(decimal(at)) for at in (*node.rect[:2], node.rect.width))
            cross = f"M{left + wide - 7.5:.4g} {top + 5:.4g}h4m-2-2v4"
            parts.append(f'<path fill="none" stroke="{self.colours("currentColor")}" d="{cross}"/>')
        text = partial(self.text, NODE_WORDS, ink=look.ink, is_in_node=True)
        for i, word in enumerate(node.words):
            is_name = not (i and node.key)  # all lines of a tag are
            place, opacity = (decimal(word.x), decimal(word.y)), "" if is_name else MUTED
            parts.append(text(*place, [(word.text, is_name)], size=word.size, opacity=opacity))
        return self._linked("".join((*parts, self._signs(node), "</g>")), reference)

    def text(
        self,
        setting: Lettering,
        x: str,
        y: str,
        spans: Sequence[tuple[str, bool]],
        *,
        size: float = 0.0,
        opacity: str = "",
        ink: str = "",
        key: str = "",
        is_in_node: bool = False,
    ) -> str:
        """A line of words in the setting of its group; `x` begins it, or is its middle.

        Each span says whether it is bold; size, opacity and ink are its own; `key` is that of the box which it titles.
        """
        look = f' font-size="{decimal(size)}"' if size and size != setting.size else ""
        look += ' font-weight="600"' if is_in_node and spans[0][1] else ""
        look += f' fill-opacity="{opacity}"' if opacity else ""
        look += f' fill="{self.colours(ink)}"' if ink else ""
        look += self._key(key) + (' stroke="none"' if is_in_node else "")
        words = ""
        for text, is_bold in spans:
            said = self._text(text)
            words += f'<tspan font-weight="600">{said}</tspan>' if said and is_bold and not is_in_node else said
        return f'<text x="{x}" y="{y}"{look}>{words}</text>'

    def _text(self, text: str) -> str:
        return escape(without_controls(text), self._escapes)

    def _linked(self, element: str, reference: Reference | None) -> str:
        tag = self.links.tag(reference) if reference is not None else ""
        self.has_links = self.has_links or "xlink:" in tag
        return f"{tag}{element}</a>" if tag else element

    def _key(self, key: str) -> str:
        return f' data-n="{key}"' if key and self._has_keys else ""

    def _attributes(self, look: Look) -> str:
        colours, text = self.colours, ""
        for name, value in zip(_ATTRIBUTES, look, strict=True):
            if value:
                text += f' {name}="{colours(value) if name in ("fill", "stroke") else value}"'
        return text

    def _outline(self, figure: Figure, radius: float, look: Look) -> str:
        rect, paint = figure.rect, self._attributes(look)
        place = f'x="{decimal(rect.left)}" y="{decimal(rect.top)}"'
        place += f' width="{decimal(rect.width)}" height="{decimal(rect.height)}"'
        if is_circle(figure):
            middle = f'cx="{decimal((rect.left + rect.right) / 2)}" cy="{decimal((rect.top + rect.bottom) / 2)}"'
            return f'<circle {middle} r="{decimal(rect.width / 2)}"{paint}/>'
        if figure.is_round:
            return f'<rect {place} rx="{decimal(rect.width / 2)}" ry="{decimal(rect.height / 2)}"{paint}/>'
        return f'<rect {place} rx="{decimal(min(radius, rect.height / 2))}"{paint}/>'

    def _sheets(self, figure: Figure, radius: float, colour: str = "") -> str:
        corner = f"q0 {decimal(radius)} {decimal(-radius)} {decimal(radius)}"
        edges = ((*map(decimal, (x, y, down, -back)),) for x, y, down, back in sheets(figure, radius))
        path = "".join(f"M{x} {y}v{down}{corner}h{back}" for x, y, down, back in edges)
        return f'<path fill="none"{self._attributes(Look(line=colour))} d="{path}"/>' if path else ""

    def _signs(self, figure: Figure) -> str:
        text = ""
        for name, parts in signs(figure):
            text += f"<g><title>{name}</title>"
            for look, path, (cx, cy, r) in parts:
                shape = f'<circle cx="{cx}" cy="{cy}" r="{r}"' if cx else "<path"
                text += shape + self._attributes(look) + (f' d="{path}"/>' if path else "/>")
            text += "</g>"
        return text


def without_controls(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _NOT_XML.sub(" ", text)


_ATTRIBUTES = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray")
"""Those of a `Look`, in its order."""


def inline(
    layout: Layout,
    *,
    copy: int = 1,
    alt: str = "",
    width: str = "",
    height: str = "",
    links: Links | None = None,
    id_: str = "",
) -> str:
    """The picture for inline use in HTML: it takes the page's colours, and leads where its page has addresses.

    One with links is a group for those who do not see it, one without is an image, whose inside is not read out. `copy`
    counts the same picture in one page, where ids must be unique; width and height are as in CSS, else natural.
    """
    writer = SvgWriter(layout, Colours(are_grey=layout.grey), links or Links())
    body = writer.body()
    role = "group" if writer.has_links else "img"
    size = f"width:{width or 'auto'};max-width:100%;height:{height or 'auto'}"
    style = f'style="{size}"' if width or height else _size(layout)
    first, *others = layout.uid.partition("-i")  # behind it stands the call of a picture in another
    uid = "".join((f"{first}-{copy}", *others)) if copy > 1 else layout.uid
    opening = writer.opening(_labelled(role, uid, alt), f"{_view_box(layout)} {style}", id_)
    return opening + ("" if alt else writer.called(uid, layout.description)) + body + "</svg>"


def neutral(layout: Layout) -> str:
    """The picture of no page yet: what a layer refers to stands as it is where its address will be."""
    writer = SvgWriter(layout, Colours(are_grey=layout.grey), References())
    opening = writer.opening(_labelled("group", layout.uid), f"{_view_box(layout)} {_size(layout)}")
    return opening + writer.called(layout.uid, layout.description) + writer.body() + "</svg>"


def stand_in(layout: Layout, label: str, same: str, address: str) -> str:
    """A picture that shows another one of its page, with the id `same`, until the script puts in a copy."""
    writer = SvgWriter(layout, Colours(are_grey=layout.grey), Links())
    writer.has_links = True
    role = f'role="img" aria-label={quoteattr(label)} data-same={quoteattr(same)}'
    opening = writer.opening(role, f"{_view_box(layout)} {_size(layout)}")
    return f'{opening}<use xlink:href="{escape(address)}"/></svg>'


def foot(layout: Layout, notes: Sequence[str]) -> str:
    return SvgWriter(layout, Colours(), Links()).foot(notes)


def standalone(
    layout: Layout, *, dark: bool | None = False, scale: float = 1.0, notes: Sequence[str] = (), quotes: str = '"'
) -> str:
    """The picture with colours of its own, for files and `<img>`.

    It paints its own background, white or near-black: a picture in `<img>` does not inherit the colour of the page, and
    dark text on a dark page cannot be read. Without one (`dark` is None) words have a grey that is read on either. Its
    size is that in pixels, or in points if it is scaled.
    """
    text = document(FileWriter(layout, dark, quotes), scale, notes)
    return text if quotes == '"' else text.replace("'", "&apos;").replace('"', quotes)


class FileWriter(SvgWriter):
    def __init__(self, layout: Layout, dark: bool | None = False, quotes: str = '"') -> None:
        ink, self.paper = _INK[dark]
        super().__init__(layout, Colours(ink, are_fixed=True, are_grey=layout.grey), Links())
        self._has_keys = False
        self._escapes = {} if quotes == '"' else {'"': "&quot;"}


def document(writer: FileWriter, scale: float, notes: Sequence[str]) -> str:
    layout = writer.layout
    wide, high = sides(layout, notes)
    if scale == 1:
        size = f'width="{float(wide) * PX:.0f}" height="{float(high) * PX:.0f}"'
    else:  # for print, where pixels are too coarse
        size = f'width="{float(wide) * scale:.2f}pt" height="{float(high) * scale:.2f}pt"'
    opening = writer.opening(_labelled("img", layout.uid), f'viewBox="0 0 {wide} {high}" {size}')
    paper = f'<rect width="100%" height="100%" fill="{writer.paper}"/>' if writer.paper else ""
    called = writer.called(layout.uid, described(layout, notes))
    return opening + called + paper + writer.body() + writer.foot(notes) + "</svg>"


def _labelled(role: str, uid: str, alt: str = "") -> str:
    return f'role="{role}" ' + (f"aria-label={quoteattr(alt)}" if alt else f'aria-labelledby="{uid}-t {uid}-d"')


def _view_box(layout: Layout) -> str:
    return f'viewBox="0 0 {decimal(layout.width)} {decimal(layout.height)}"'


def _size(layout: Layout) -> str:
    return f'style="width:100%;max-width:{layout.width * PX:.0f}px;height:auto"'


def sheets(figure: Figure, radius: float) -> Iterator[tuple[float, float, float, float]]:
    """The edges of the sheets behind what repeats: its start, the way down, and back to the left."""
    left, top, right, bottom = figure.rect
    for by in (_STACK, 2 * _STACK) if "repeat" in figure.flags else ():
        y = top + by + radius / 2
        yield right + by, y, bottom + by - radius - y, right + by - radius - (left + by + radius / 2)


def is_circle(figure: Figure) -> bool:
    return figure.is_round and figure.rect.width == figure.rect.height


def head_of(line: Line) -> tuple[tuple[int, int], ...]:
    """The corners of its arrow in tenths of a point; none if it has no arrow."""
    corners = arrow(line.curve[-1], line.tip) if line.tip else ()
    return tuple((round(x * 10), round(y * 10)) for x, y in corners)


def _ends(line: Line) -> str:
    """Ends of an edge, for scripts that look for its curves in the path of all.

    Between the nodes 0 and 1 it is `0 1`; `0 1 2` if it is in two parts, `0 1 1 0` if it has no arrow.
    """
    names, parts = " ".join(line.ends), len(line.parts)
    return f"{names} {parts} 0" if line.tip is None else names if parts == 1 else f"{names} {parts}"


def _curve(points: Curve) -> str:
    """Path data with relative steps; a segment along an axis is one number."""
    places = [(round(px * 10), round(py * 10)) for px, py in points]
    (x, y), others = places[0], places[1:]
    text, last = f"M{tenths(x)} {tenths(y)}", ""
    size = 1 if len(others) == 1 else 3
    for i in range(0, len(others), size):
        steps = [(px - x, py - y) for px, py in others[i : i + size]]
        x, y = others[i + size - 1]
        if all(dx == 0 for dx, _ in steps) or all(dy == 0 for _, dy in steps):
            dx, dy = steps[-1]
            letter, numbers = ("h", [dx]) if dx else ("v", [dy])
        else:
            letter, numbers = "l" if size == 1 else "c", [number for step in steps for number in step]
        text += (letter if letter != last else " ") + " ".join(map(tenths, numbers))
        last = letter
    return text.replace(" -", "-")
