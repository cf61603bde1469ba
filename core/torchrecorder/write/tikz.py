"""The finished picture as TikZ, for papers.

A node or a box is one line with its name, so that a paper can draw more to it; what all of a kind have in common is a
style. Sizes and places are those of the SVG whatever the paper's font is: words have no width for TikZ, and are made
smaller where they would be wider than their node.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchrecorder.layout.geometry import Curve, Point, Rect, segments
from torchrecorder.layout.model import PARTS, Figure, Layout, Line, Title
from torchrecorder.layout.widths import width
from torchrecorder.write.links import in_reading_order
from torchrecorder.write.look import (
    BOXES,
    COLOURS,
    NODES,
    THEMES,
    Colours,
    Look,
    box_look,
    decimal,
    foot_lines,
    line_kind,
    line_look,
    mark_of,
    node_look,
    sides,
    signs,
)
from torchrecorder.write.svg import FOOT, MUTED, NODE_WORDS, TITLES, Lettering, head_of, is_circle, sheets
from torchrecorder.write.tex import document, escaped

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]+")
_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+")
_TAKES = {"M": 2, "l": 2, "h": 1, "v": 1, "c": 6}
_NEAR = 0.3  # points between the end of a line and its arrow, of which both are rounded
_ARROW = 6.0  # length of an arrow in points, where a picture has none
_Look = dict[str, str]

_MACROS = r"""\def\trline#1{\setbox0=\hbox{\strut #1}\dimen0=\dimexpr\pgfkeysvalueof{/pgf/minimum width}-2bp\relax
  \makebox[0pt]{\ifdim\wd0>\dimen0\resizebox{\dimen0}{!}{\box0}\else\box0\fi}}"""


def to_tikz(layout: Layout, details: str = "", alt: str = "", scale: float = 1.0, notes: Sequence[str] = ()) -> str:
    """A file of LaTeX that compiles alone and where a paper inputs it.

    In `details`, as of a `Drawing`, are the paths that become names of nodes; `alt` is a comment.
    """
    wide, high = (float(side) * scale for side in sides(layout, notes))
    writer = _TikzWriter(layout, json.loads(details or "{}"), scale)
    writer.write(notes)
    return document(layout.title, alt, [*writer.lines(wide, high)], wide, high)


@dataclass(frozen=True, slots=True)
class _StyledPart:
    """A thing in the style of its kind, but for its own options."""

    kind: str
    look: _Look
    command: str
    rest: str
    own: str = ""


class _TikzWriter:
    def __init__(self, layout: Layout, rows: Mapping[str, list[str]], scale: float) -> None:
        self.layout, self.scale = layout, scale
        self.theme, self.is_diff = THEMES[layout.theme], layout.is_diff
        self.arrow = _ARROW
        self.items: list[_StyledPart | str] = []
        self.colours: dict[str, str] = {}  # names by six hexadecimal digits
        self.paint = Colours(are_fixed=True, are_grey=layout.grey)
        self.wanted: Counter[str] = Counter()
        self.keys: dict[str, str] = {}  # names of nodes by their keys
        self.names: list[str] = []
        for node in layout.nodes:
            said = node.words[0].text if node.words else ""
            self.names.append(self.name((rows.get(node.key) or [""])[0] or said))
            self.keys[node.key] = self.names[-1]

    def name(self, text: str) -> str:
        """A name that is wanted for the first time, made of the characters that TikZ takes."""
        name = _NOT_NAME.sub("-", text).strip("-")[:80] or "node"
        self.wanted[name] += 1
        return name if self.wanted[name] == 1 else self.name(f"{name}-{self.wanted[name]}")

    def write(self, notes: Sequence[str]) -> None:
        layout = self.layout
        if layout.boxes:
            self.items.append("% boxes")
        for box in layout.boxes:
            self.sheets(box, self.theme.round_box, BOXES)
            look = _within(BOXES._replace(fill_opacity=self.theme.box_opacity), box_look(box))
            self.shape("box", box, self.theme.round_box, look, self.box_name(box), "")
            self.signs(box)
        self.edges()
        for word in layout.words:
            setting = Lettering(layout.words[0].size, opacity=MUTED)
            self.word("shape", setting, (word.x, word.y), escaped(word.text), plain=word.text)
        self.items.append("% nodes")
        names = iter(self.names)
        for item in in_reading_order(layout):
            if isinstance(item, Figure):
                self.node(item, next(names))
                continue
            for title in item:
                self.title(title)
        for x, y, line in foot_lines(layout, notes):
            self.word("foot", FOOT, (float(x), float(y)), escaped(line))

    def node(self, node: Figure, name: str) -> None:
        rows: dict[str, str] = {}  # a node of one row has its name and the rest side by side
        for i, word in enumerate(node.words):
            text, y = escaped(word.text), decimal(word.y)
            said = text if i and node.key else f"\\textbf{{{text}}}"  # all lines of a tag are a name
            rows[y] = (f"{rows[y]} " if y in rows else "") + said
        words = "\\\\".join(f"\\trline{{{row}}}" for row in rows.values())
        look = node_look(node, self.theme, is_diff=self.is_diff)
        self.sheets(node, self.theme.round_node, _within(NODES, Look(line=look.sheets)))
        radius = math.inf if look.is_oval else self.theme.round_node
        self.shape(look.kind, node, radius, _within(NODES, look.outline), name, words, look.ink)
        self.signs(node)

    def shape(self, kind: str, figure: Figure, radius: float, look: Look, name: str, words: str, ink: str = "") -> None:
        place = _place(figure)
        style = {
            "shape": "rectangle" if not figure.is_round else "circle" if place.width == place.height else "ellipse",
            "rounded corners": self.bp(0.0 if figure.is_round else _tenth(min(radius, figure.rect.height / 2))),
            **self.line(look),
            "fill": self.colour(look.fill),
            "fill opacity": _opacity(look.fill_opacity),
            "text": self.colour(ink),
        }
        size = f"minimum width={self.bp(place.width)}, minimum height={self.bp(place.height)}"
        rest = f"({name}) at {self.point(place.middle)} {{{words}}};"
        self.items.append(_StyledPart(kind, style, "\\node", rest, size))

    def sheets(self, figure: Figure, radius: float, look: Look) -> None:
        for right, top, down, back in sheets(figure, radius):
            x, y, r = _tenth(right), _tenth(top) + _tenth(down), _tenth(radius)
            corner = (x, y + 2 / 3 * r), (x - r / 3, y + r), (x - r, y + r)
            steps = [(x, _tenth(top))], [(x, y)], [*corner], [(x - r - _tenth(back), y + r)]
            self.items.append(_StyledPart("sheet", self.line(look), "\\draw", f"{self.steps(steps)};"))

    def signs(self, figure: Figure) -> None:
        for sign in signs(figure):
            for look, path, (cx, cy, r) in sign.parts:
                fill = self.colour(look.fill)
                if cx:
                    circle = f"circle [radius={self.bp(float(r))}]"
                    self.items.append(f"\\fill[{fill}] {self.point((float(cx), float(cy)))} {circle};")
                elif fill == "none":
                    options = _options(self.line(look))
                    self.items += [f"\\draw[{options}] {self.steps(part)};" for part in _parts(path)]
                else:
                    self.items += [f"\\fill[{fill}] {self.steps(part)} -- cycle;" for part in _parts(path)]

    def box_name(self, box: Figure) -> str:
        said = next((title.word.text for title in self.layout.titles or () if title.key == box.key), "")
        return self.name(f"box-{said.partition(PARTS)[0]}" if said else "box")

    def title(self, title: Title) -> None:
        (name, _), (rest, _) = title.spans
        text = (f"\\textbf{{{escaped(name)}}}" if name else "") + escaped(rest)
        self.word("title", TITLES, (title.left, title.word.y), text, ink=title.ink)

    def word(self, kind: str, setting: Lettering, place: Point, text: str, *, ink: str = "", plain: str = "") -> None:
        size = setting.size * self.scale
        look = {"font": _font(size), "text": self.colour(ink), "text opacity": _opacity(setting.opacity)}
        own = ""
        if plain:  # there is as much room for it beside its edge as its words take in the SVG
            own, text = f"minimum width={_n(width(plain, size) + 2)}bp", f"\\trline{{{text}}}"
        at = self.point((_tenth(place[0]), _tenth(place[1])))
        self.items.append(_StyledPart(kind, look, "\\node", f"at {at} {{{text}}};", own))

    def edges(self) -> None:
        groups: dict[str, dict[tuple[object, ...], list[Line]]] = {"edges": {}, "skips": {}, "backs": {}}
        for line in self.layout.lines:
            groups[line_kind(line)].setdefault((mark_of(line.flags), line.style), []).append(line)
        for kind, of_kind in groups.items():
            for lines in of_kind.values():
                self.items.append(f"% {kind}")
                mark, style = mark_of(lines[0].flags), lines[0].style
                look = self.line(line_look(kind, mark, style, self.theme, is_diff=self.is_diff))
                look["opacity"] = look.pop("draw opacity")  # of the arrow too
                for line in lines:
                    self.edge(kind.removesuffix("s"), line, look)

    def edge(self, kind: str, line: Line, look: _Look) -> None:
        corners = [(x / 10, y / 10) for x, y in head_of(line)]
        tail, head = (self.keys.get(key, "") for key in line.ends)
        for curve in line.parts:
            steps = _steps(curve)
            has_arrow = False
            if corners:
                (ax, ay), tip, (cx, cy) = corners
                base, (x, y) = ((ax + cx) / 2, (ay + cy) / 2), steps[-1][-1]
                has_arrow = abs(base[0] - x) < _NEAR and abs(base[1] - y) < _NEAR
                if has_arrow:
                    self.arrow = math.dist(base, tip)
                    steps[max(len(steps) - (len(steps[-1]) == 1), 1) :] = [[tip]]  # a line goes on, a curve does not
            said = f" % {tail} to {head}" if all(line.ends) else ""
            own = "tr/to" if has_arrow else ""
            self.items.append(_StyledPart(kind, look, "\\draw", f"{self.steps(steps)};{said}", own))

    def line(self, look: Look) -> _Look:
        dashes = look.dashes.split()
        return {
            "draw": self.colour(look.line or "none"),
            "draw opacity": _opacity(look.line_opacity),
            "line width": self.bp(float(look.width or "1")),
            "dash pattern": f"on {dashes[0]}bp off {dashes[1]}bp" if dashes else "",
        }

    def colour(self, paint: str) -> str:
        """Its name in LaTeX: that of the kind where it is a kind's, and that of the text if it is of no own."""
        colour = self.paint(paint) if paint else ""
        if not colour.startswith("#"):
            return "none" if colour == "none" else "."
        digits = colour[1:]
        return self.colours.setdefault(digits, f"tr{paint if paint in COLOURS and not self.layout.grey else digits}")

    def point(self, point: Point) -> str:
        return f"({_n(point[0] * self.scale)},{_n(point[1] * self.scale)})"

    def bp(self, points: float) -> str:
        return f"{_n(points * self.scale)}bp"

    def steps(self, path: Sequence[Sequence[Point]]) -> str:
        """The commands of a path: a point for a line, three for a curve."""
        text = self.point(path[0][0])
        for step in path[1:]:
            *controls, end = map(self.point, step)
            text += f" .. controls {' and '.join(controls)} .. {end}" if controls else f" -- {end}"
        return text

    def lines(self, wide: float, high: float) -> Iterator[str]:
        looks: dict[str, Counter[tuple[tuple[str, str], ...]]] = {}
        for item in self.items:
            if isinstance(item, _StyledPart):
                looks.setdefault(item.kind, Counter())[tuple(item.look.items())] += 1
        usual = {kind: dict(counted.most_common(1)[0][0]) for kind, counted in looks.items()}
        yield from (f"\\definecolor{{{name}}}{{HTML}}{{{digits.upper()}}}" for digits, name in self.colours.items())
        yield _MACROS
        yield "\\tikzset{"
        yield "  tr/word/.style={inner sep=0pt, outer sep=0pt},"
        font = _font(NODE_WORDS.size * self.scale)
        yield f"  tr/node/.style={{tr/word, align=center, text opacity=1, font={font}}},"
        yield f"  tr/to/.style={{-{{Triangle[length={self.bp(self.arrow)}, width={self.bp(0.7 * self.arrow)}]}}}},"
        for kind, look in usual.items():
            left = "tr/word, anchor=base west, "
            base = {"shape": "tr/word, anchor=base, ", "title": left, "foot": left}.get(kind, "")
            yield f"  tr/{kind}/.style={{{base or ('tr/node, ' if 'shape' in look else '')}{_options(look)}}},"
        yield "}"
        yield "\\begin{tikzpicture}[x=1bp, y=-1bp, tr/own/.try]"
        yield f"\\useasboundingbox (0,0) rectangle ({_n(wide)},{_n(high)});"
        for item in self.items:
            if isinstance(item, str):
                yield item
                continue
            own = {name: value for name, value in item.look.items() if usual[item.kind].get(name) != value}
            options = ", ".join(filter(None, (f"tr/{item.kind}", item.own, _options(own))))
            yield f"{item.command}[{options}] {item.rest}"
        yield "\\end{tikzpicture}"


def _within(group: Look, look: Look) -> Look:
    """A look with what its group has in common."""
    return Look(*(own or common for own, common in zip(look, group, strict=True)))


def _place(figure: Figure) -> Rect:
    """The rectangle around it as the SVG rounds it."""
    rect = figure.rect
    if is_circle(figure):
        x, y, r = map(_tenth, ((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2, rect.width / 2))
        return Rect(x - r, y - r, x + r, y + r)
    left, top, wide, high = map(_tenth, (rect.left, rect.top, rect.width, rect.height))
    return Rect(left, top, left + wide, top + high)


def _options(look: Mapping[str, str]) -> str:
    parts = {"dash pattern": "solid", "shape": look.get("shape", "")}
    return ", ".join(
        parts[name] if name == "shape" or not value else f"{name}={{{value}}}" if "," in value else f"{name}={value}"
        for name, value in look.items()
    )


def _parts(path: str) -> list[list[Curve]]:
    """The parts of a sign's path, each with its start and its steps."""
    parts: list[list[Curve]] = []
    letter, numbers = "", list[float]()
    for token in _TOKEN.findall(path):
        if token.isalpha():
            letter = token
            continue
        numbers.append(float(token))
        if len(numbers) < _TAKES[letter]:
            continue
        x, y = parts[-1][-1][-1] if letter != "M" else (0.0, 0.0)
        if letter in "hv":
            numbers.insert(1 if letter == "h" else 0, 0.0)
        points = [(x + dx, y + dy) for dx, dy in zip(numbers[::2], numbers[1::2], strict=True)]
        numbers.clear()
        if letter == "M":
            parts.append([points])
        else:
            parts[-1].append(points)
    return parts


def _tenth(value: float) -> float:
    return round(value * 10) / 10


def _steps(curve: Curve) -> list[Curve]:
    """Its start, then its segments without theirs; those along an axis are lines."""
    places = [(_tenth(x), _tenth(y)) for x, y in curve]
    steps = [places[:1]]
    for segment in segments(places):
        is_line = any(len({point[axis] for point in segment}) == 1 for axis in (0, 1))
        steps.append([segment[-1]] if is_line else [*segment[1:]])
    return steps


def _font(size: float) -> str:
    return f"\\fontsize{{{size:.4g}bp}}{{{size * 1.2:.4g}bp}}\\selectfont"


def _opacity(text: str) -> str:
    return f"{float(text or '1'):g}"


def _n(value: float) -> str:
    return f"{round(value, 2):g}"
