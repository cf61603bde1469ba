"""The finished picture as TikZ, for papers: read again from the SVG, whose grammar is ours and small.

A node or a box is one line with its name, so that a paper can draw more to it; what all of a kind have in common is a
style. Sizes and places are those of the SVG whatever the paper's font is: words have no width for TikZ, and are made
smaller where they would be wider than their node.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from torchrecorder.layout.geometry import Point, Rect
from torchrecorder.layout.widths import width
from torchrecorder.write.tex import document, escaped

_SVG = "{http://www.w3.org/2000/svg}"
_COLOUR = re.compile(r"(?:var\(--torchrecorder-([\w-]+),)?#([0-9a-f]{6})\)?")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]+")
_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+")
_TAKES = {"M": 2, "l": 2, "h": 1, "v": 1, "c": 6, "q": 4}
_TITLE = 26.0
"""How far below the upper line of its box a title stands at most, in points."""
_LINES = ("edges", "skips", "backs")
_NEAR = 0.3
"""Points between what is at the same place, since the SVG rounds."""
_Path = list[list[Point]]
"""Where it begins, then one point for a line, three for a curve."""
_Look = dict[str, str]

_MACROS = r"""\def\trline#1{\setbox0=\hbox{\strut #1}\dimen0=\dimexpr\pgfkeysvalueof{/pgf/minimum width}-2bp\relax
  \makebox[0pt]{\ifdim\wd0>\dimen0\resizebox{\dimen0}{!}{\box0}\else\box0\fi}}"""


def to_tikz(svg: str, details: str = "", alt: str = "", scale: float = 1.0) -> str:
    """A file of LaTeX that compiles alone and where a paper inputs it.

    Args:
        svg: A finished picture for inline use, without links.
        details: The rows of `drawing.details`, whose paths become names of nodes.
        alt: What it shows, for a comment.
        scale: How much larger everything becomes.
    """
    root = ElementTree.fromstring(svg)
    wide, high = (float(size) * scale for size in root.get("viewBox", "").split()[2:])
    writer = _TikzWriter(root, json.loads(details or "{}"), scale)
    for group in root:
        writer.group(group)
    return document(root.findtext(f"{_SVG}title", ""), alt, [*writer.lines(wide, high)], wide, high)


@dataclass(frozen=True, slots=True)
class _StyledPart:
    """What is drawn in the style of its kind, but for what is its own."""

    kind: str
    look: _Look
    command: str
    rest: str
    own: str = ""


class _TikzWriter:
    def __init__(self, root: ElementTree.Element, rows: Mapping[str, list[str]], scale: float) -> None:
        self.scale, self.size = scale, float(root.get("font-size", "10.5"))
        self.arrow = 6.0
        """Its length in points."""
        self.items: list[_StyledPart | str] = []
        self.colours: dict[str, str] = {}
        """The name of each, by six hexadecimal digits."""
        groups = [*root.iter(f"{_SVG}g")]
        self.titles = [text for group in groups if group.get("class") == "titles" for text in group]
        self.keys: dict[str, str] = {}
        """Names of nodes by the keys that the SVG gives them."""
        self.names: dict[ElementTree.Element, str] = {}
        self.wanted: Counter[str] = Counter()
        for node in (node for group in groups if group.get("class") == "nodes" for node in group):
            if node.get("class") != "titles":
                key = node.get("data-n", "")
                text = node.find(f"{_SVG}text")
                said = "" if text is None else "".join(text.itertext())
                self.names[node] = self.keys[key] = self.name((rows.get(key) or [""])[0] or said)

    def name(self, text: str) -> str:
        """A name that is wanted for the first time, made of the signs that TikZ takes."""
        name = _NOT_NAME.sub("-", text).strip("-")[:80] or "node"
        self.wanted[name] += 1
        return name if self.wanted[name] == 1 else self.name(f"{name}-{self.wanted[name]}")

    def group(self, group: ElementTree.Element) -> None:
        kind = group.get("class", "")
        if kind in (*_LINES, "boxes", "nodes"):
            self.items.append(f"% {kind}")
        if kind in _LINES:
            self.edges(group, kind.removesuffix("s"))
            return
        for child in group:
            if kind in ("shapes", "titles", "foot"):
                self.word(child, kind.removesuffix("s"), group)
            elif kind == "boxes" and child.tag == f"{_SVG}g":
                self.sign(child)
            elif kind == "boxes":
                self.shape("box", child, group, lambda rect: (self.box_name(rect), ""))
            elif child.get("class") == "titles":
                self.group(child)
            elif kind == "nodes":
                self.node(child, group)

    def node(self, node: ElementTree.Element, around: ElementTree.Element) -> None:
        texts = node.findall(f"{_SVG}text")
        rows: dict[str, str] = {}  # a node of one row has its name and the rest side by side
        for text in texts:
            word, y = escaped("".join(text.itertext())), text.get("y", "")
            rows[y] = (f"{rows[y]} " if y in rows else "") + (
                f"\\textbf{{{word}}}" if "font-weight" in text.attrib else word
            )
        words = "\\\\".join(f"\\trline{{{row}}}" for row in rows.values())
        ink = texts[0].get("fill", "") if texts else ""
        for child in node:
            if child.tag == f"{_SVG}g":
                self.sign(child)
            elif child.tag != f"{_SVG}text":
                self.shape(node.get("class", "op"), child, around, lambda _: (self.names[node], words), ink)

    def sign(self, sign: ElementTree.Element) -> None:
        """What a corner of a node or a box says: that it decides which way the code goes, or what became of it."""
        for part in sign:
            fill, line = self.colour(part.get("fill", "")), self.line(part.attrib)
            if part.tag == f"{_SVG}circle":
                middle = self.point((float(part.get("cx", "0")), float(part.get("cy", "0"))))
                radius = float(part.get("r", "0")) * self.scale
                self.items.append(f"\\fill[{fill}] {middle} circle [radius={_bp(radius)}];")
            elif fill == "none":
                self.items += [f"\\draw[{_options(line)}] {self.steps(one)};" for one in _paths(part)]
            else:
                self.items += [f"\\fill[{fill}] {self.steps(one)} -- cycle;" for one in _paths(part)]

    def shape(
        self,
        kind: str,
        shape: ElementTree.Element,
        around: ElementTree.Element,
        said: Callable[[Rect], tuple[str, str]],
        ink: str = "",
    ) -> None:
        """A node or a box, or what is seen of the sheets behind one that repeats."""
        look = {**around.attrib, **shape.attrib}
        if shape.tag == f"{_SVG}path":
            self.items += [
                _StyledPart("sheet", self.line(look), "\\draw", f"{self.steps(one)};") for one in _paths(shape)
            ]
            return
        rect, is_round = _rect(shape), shape.tag == f"{_SVG}circle" or "ry" in look
        style = {
            "shape": "rectangle" if not is_round else "circle" if rect.width == rect.height else "ellipse",
            "rounded corners": _bp(0.0 if is_round else float(look.get("rx", "0")) * self.scale),
            **self.line(look),
            "fill": self.colour(look.get("fill", "")),
            "fill opacity": _opacity(look.get("fill-opacity", "1")),
            "text": self.colour(ink),
        }
        name, words = said(rect)
        middle = self.point(((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2))
        size = f"minimum width={_bp(rect.width * self.scale)}, minimum height={_bp(rect.height * self.scale)}"
        self.items.append(_StyledPart(kind, style, "\\node", f"({name}) at {middle} {{{words}}};", size))

    def box_name(self, rect: Rect) -> str:
        """After its title, which is the one that stands in its first line."""
        for text in self.titles:
            x, y = float(text.get("x", "0")), float(text.get("y", "0"))
            if rect.left <= x <= rect.right and rect.top < y < rect.top + _TITLE:
                return self.name("box-" + "".join(text.itertext()).partition(" · ")[0])
        return self.name("box")

    def word(self, text: ElementTree.Element, kind: str, around: ElementTree.Element) -> None:
        """A title, or the shape beside an edge."""
        bold, rest = text.find(f"{_SVG}tspan"), escaped("".join(text.itertext()))
        if bold is not None:
            rest = f"\\textbf{{{escaped(bold.text or '')}}}{escaped(bold.tail or '')}"
        size = float(around.get("font-size", self.size)) * self.scale
        look = {"font": f"\\fontsize{{{size:.4g}bp}}{{{size * 1.2:.4g}bp}}\\selectfont"}
        look |= {"text": self.colour(text.get("fill", "")), "text opacity": _opacity(around.get("fill-opacity", "1"))}
        place = self.point((float(text.get("x", "0")), float(text.get("y", "0"))))
        own = ""
        if kind == "shape":  # there is as much room for it beside its edge as its words take in the SVG
            own, rest = f"minimum width={_bp(width(''.join(text.itertext()), size) + 2)}", f"\\trline{{{rest}}}"
        self.items.append(_StyledPart(kind, look, "\\node", f"at {place} {{{rest}}};", own))

    def edges(self, group: ElementTree.Element, kind: str) -> None:
        """Each curve as a line of its own, with its arrow."""
        curves, heads = group.findall(f"{_SVG}path")
        look = self.line(curves.attrib)
        look["opacity"] = look.pop("draw opacity")  # of the arrow too
        corners = [[step[-1] for step in path] for path in _paths(heads)]
        tips = [((a[0] + c[0]) / 2, (a[1] + c[1]) / 2, tip) for a, tip, c in corners]
        ends = self.ends(group.get("data-ends", ""))
        for curve in _paths(curves):
            x, y = curve[-1][-1]
            tip = next((one for one in tips if abs(one[0] - x) < _NEAR and abs(one[1] - y) < _NEAR), None)
            if tip is not None:
                self.arrow = math.dist(tip[:2], tip[2])
                tips.remove(tip)
                curve[max(len(curve) - (len(curve[-1]) == 1), 1) :] = [[tip[2]]]  # a line goes on, a curve does not
            rest = f"{self.steps(curve)};{next(ends, '')}"
            self.items.append(_StyledPart(kind, look, "\\draw", rest, "tr/to" if tip else ""))

    def ends(self, text: str) -> Iterator[str]:
        """What each curve joins, as a comment; the parts of an edge follow one another."""
        for edge in text.split(",") if text else ():
            names = edge.split()
            if len(names) > 1:
                tail, head = (self.keys.get(key, "") for key in names[:2])
                yield from [f" % {tail} to {head}"] * int(names[2] if len(names) > 2 else 1)

    def line(self, look: Mapping[str, str]) -> _Look:
        dashes = look.get("stroke-dasharray", "").split()
        return {
            "draw": self.colour(look.get("stroke", "none")),
            "draw opacity": _opacity(look.get("stroke-opacity", "1")),
            "line width": _bp(float(look.get("stroke-width", "1")) * self.scale),
            "dash pattern": f"on {dashes[0]}bp off {dashes[1]}bp" if dashes else "",
        }

    def colour(self, paint: str) -> str:
        """Its name in LaTeX: that of the kind where it is a kind's, and that of the text if it is of no own."""
        found = _COLOUR.fullmatch(paint)
        if found is None:
            return "none" if paint == "none" else "."
        kind, digits = found.groups()
        return self.colours.setdefault(digits, f"tr{kind or digits}")

    def point(self, point: Point) -> str:
        return f"({_n(point[0] * self.scale)},{_n(point[1] * self.scale)})"

    def steps(self, path: _Path) -> str:
        text = self.point(path[0][0])
        for step in path[1:]:
            *controls, end = map(self.point, step)
            text += f" .. controls {' and '.join(controls)} .. {end}" if controls else f" -- {end}"
        return text

    def lines(self, wide: float, high: float) -> Iterator[str]:
        """Colours, styles, and the picture."""
        looks: dict[str, Counter[tuple[tuple[str, str], ...]]] = {}
        for item in self.items:
            if isinstance(item, _StyledPart):
                looks.setdefault(item.kind, Counter())[tuple(item.look.items())] += 1
        usual = {kind: dict(found.most_common(1)[0][0]) for kind, found in looks.items()}
        yield from (f"\\definecolor{{{name}}}{{HTML}}{{{digits.upper()}}}" for digits, name in self.colours.items())
        yield _MACROS
        size = self.size * self.scale
        font = f"\\fontsize{{{size:.4g}bp}}{{{size * 1.2:.4g}bp}}\\selectfont"
        yield "\\tikzset{"
        yield "  tr/word/.style={inner sep=0pt, outer sep=0pt},"
        yield f"  tr/node/.style={{tr/word, align=center, text opacity=1, font={font}}},"
        arrow = self.arrow * self.scale
        yield f"  tr/to/.style={{-{{Triangle[length={_bp(arrow)}, width={_bp(0.7 * arrow)}]}}}},"
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


def _options(look: Mapping[str, str]) -> str:
    parts = {"dash pattern": "solid", "shape": look.get("shape", "")}
    return ", ".join(
        parts[name] if name == "shape" or not value else f"{name}={{{value}}}" if "," in value else f"{name}={value}"
        for name, value in look.items()
    )


def _rect(shape: ElementTree.Element) -> Rect:
    get = shape.get
    if shape.tag == f"{_SVG}circle":
        x, y, r = (float(get(name, "0")) for name in ("cx", "cy", "r"))
        return Rect(x - r, y - r, x + r, y + r)
    x, y, wide, high = (float(get(name, "0")) for name in ("x", "y", "width", "height"))
    return Rect(x, y, x + wide, y + high)


def _paths(path: ElementTree.Element) -> list[_Path]:
    """The parts of a path of relative steps, each from its start."""
    found: list[_Path] = []
    letter, numbers = "", list[float]()
    for token in _TOKEN.findall(path.get("d", "")):
        if token.isalpha():
            letter = token
            continue
        numbers.append(float(token))
        if len(numbers) < _TAKES[letter]:
            continue
        x, y = found[-1][-1][-1] if letter != "M" else (0.0, 0.0)
        if letter in "hv":
            numbers.insert(1 if letter == "h" else 0, 0.0)
        points = [(x + dx, y + dy) for dx, dy in zip(numbers[::2], numbers[1::2], strict=True)]
        numbers.clear()
        if letter == "M":
            found.append([points])
        else:
            found[-1].append(_cubic((x, y), *points) if letter == "q" else points)
    return found


def _cubic(start: Point, control: Point, end: Point) -> list[Point]:
    one, two = ([p + 2 / 3 * (c - p) for p, c in zip(point, control, strict=True)] for point in (start, end))
    return [(one[0], one[1]), (two[0], two[1]), end]


def _opacity(text: str) -> str:
    return f"{float(text):g}"


def _bp(points: float) -> str:
    return f"{_n(points)}bp"


def _n(value: float) -> str:
    return f"{round(value, 2):g}"
