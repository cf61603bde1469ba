"""The layered layout: what the engine laid out, read with care, and its skips led beside boxes.

Positions become numbers, classes are looked up in a list, and words are those that we gave, so nothing of an engine's
own reaches a page. It bends a skip out of the box that it has entered and in again: such a skip is drawn anew, beside
the border.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from torchrecorder.errors import EngineError
from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Curve, Point, Rect, Rects, along, around, extent, is_straight, part, passes
from torchrecorder.layout.model import FLAGS, MAX_PEN, PAD, EdgeStyle, Figure, Layout, Line, NodeStyle, words_around

_MAX_SUM = 1e8  # of the numbers in a position or a curve
_INCH = 72.0  # points, in which the engine gives sizes
_ESCAPED = re.compile(r"\\(.)|&amp;", re.DOTALL)
_NAME = re.compile(r"n(([A-Z]?)(\d+))")
_CLUSTER = re.compile(r"cluster_([A-Z]?)(\d+)")
_HEX = re.compile(r"#[0-9a-f]{6}")
_EDGE = 1.0  # between an edge and the end of the picture: half of a thick line
_SAMPLES = [i / 24 for i in range(25)]


def arranged(text: str) -> Layout:
    """The layout of the engine's answer, with skips beside boxes, and room for edges that bow out of the picture."""
    layout = read_layout(text)
    _reroute_skips(layout)
    around_lines = extent(line.curve for line in layout.lines)
    if around_lines is None:
        return layout
    left, top, right, bottom = around_lines
    beyond = Rect(-left, -top, right - layout.width, bottom - layout.height)
    if max(beyond) <= -_EDGE:
        return layout
    layout = read_layout(text, Rect(*(max(by + PAD, 0.0) if by > -_EDGE else 0.0 for by in beyond)))
    _reroute_skips(layout)
    return layout


def _reroute_skips(layout: Layout) -> None:
    boxes, nodes = (
        Rects((figure.rect for figure in figures), is_wide=layout.is_wide) for figures in (layout.boxes, layout.nodes)
    )
    for i, line in enumerate(layout.lines):
        if "skip" in line.flags and len(line.curve) > 2:
            layout.lines[i] = line._replace(curve=_rerouted(line, boxes, nodes))


def _rerouted(line: Line, boxes: Rects, nodes: Rects) -> Curve:
    ends = line.curve[0], line.tip or line.curve[-1]
    (left, top), (right, bottom) = ends
    across = 0 if abs(bottom - top) >= abs(right - left) else 1
    mine = [*dict.fromkeys(box for point in ends for box in boxes.touching(around((point, point))))]
    entered = [box for box in mine if all(box.contains(end) or not _is_beside(end, box, across) for end in ends)]
    points = along(line.curve, _SAMPLES)
    for side, sign in ((2, 1), (0, -1)):
        limits = [(sign * box[across + side] - tuning.SKIP_AIR, box) for box in entered]
        beyond = {at for at, box in limits if any(sign * p[across] > at for p in points if _is_beside(p, box, across))}
        if beyond:
            extent = around(line.curve)
            passed = [box for box in boxes.touching(extent) if box not in mine]
            passed += [node for node in nodes.touching(extent) if not any(node.grown(1).contains(e) for e in ends)]
            tried = (_beside(line.curve, across, sign * at, passed) for at in sorted(beyond))
            return next(filter(None, tried), line.curve)
    return line.curve


def _is_beside(point: Point, box: Rect, across: int) -> bool:
    """Whether the point is at the height of the box; in a picture to the right, above or below it."""
    return box[1 - across] <= point[1 - across] <= box[3 - across]


def _beside(curve: Curve, across: int, at: float, passed: Sequence[Rect]) -> Curve | None:
    """A curve with the ends of another and a straight part between them; None if it would pass through something."""
    length = curve[-1][1 - across] - curve[0][1 - across]
    first = _bend(curve[0], curve[1], length, across, at, passed)
    last = _bend(curve[-1], curve[-2], -length, across, at, passed)
    if first is None or last is None or not _is_free([first[-1], last[-1]], passed):
        return None
    between = [part(first[-1], last[-1], 1 / 3), part(first[-1], last[-1], 2 / 3)]
    return [*first, *between, *reversed(last)]


def _bend(end: Point, towards: Point, length: float, across: int, at: float, passed: Sequence[Rect]) -> Curve | None:
    step, onward = towards[across] - end[across], abs(towards[1 - across] - end[1 - across])
    reach = max(tuning.BEND_ROUND * (at - end[across]) / step, 0.0) if step else 0.0
    for bend in tuning.BENDS:
        meets = end[1 - across] + bend * length
        before = meets - tuning.BEND_ROUND * bend * length
        near = min(reach, abs(bend * length) / onward) if onward else reach  # one that hardly turns would reach far
        curve = [end, part(end, towards, near), _point(across, at, before), _point(across, at, meets)]
        if _is_free(curve, passed):
            return curve
    return None


def _point(across: int, at: float, place: float) -> Point:
    return (at, place) if across == 0 else (place, at)


def _is_free(curve: Curve, passed: Sequence[Rect]) -> bool:
    return not any(passes(curve, rect) for rect in passed)


NO_ROOM = Rect(0, 0, 0, 0)


def read_layout(text: str, room: Rect = NO_ROOM) -> Layout:
    """The layout of the engine's answer, with so much more room at each side than it says."""
    try:
        return _LayoutReader(json.loads(text), room).layout
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise EngineError(engine="Graphviz", reason=f"its output cannot be read: {error}") from error


class _LayoutReader:
    """Moves everything so that the picture begins at 0, 0 and y grows downwards."""

    def __init__(self, data: Mapping[str, Any], room: Rect) -> None:
        left, bottom, right, top = _numbers(data["bb"], 4)
        left, bottom, right, top = left - room.left, bottom - room.bottom, right + room.right, top + room.top
        self.dx, self.dy = PAD - left, PAD + top
        self.layout = Layout(right - left + 2 * PAD, top - bottom + 2 * PAD)
        # nodes in the order of the forward, in which the Tab key visits links; engines list them box by box
        names = ((row, _NAME.fullmatch(str(row.get("name")))) for row in data.get("objects", ()))
        ordered = sorted(names, key=lambda pair: (pair[1][2], int(pair[1][3])) if pair[1] else ("", -1))
        rows = [row for row, _ in ordered]
        self.order = {row.get("_gvid"): i for i, row in enumerate(row for row in rows if "pos" in row)}
        self.keys = {row.get("_gvid"): name[1] for row in rows if (name := _NAME.fullmatch(str(row.get("name"))))}
        for row in rows:
            if "pos" in row:
                self.layout.nodes.append(self.node(row))
            elif "bb" in row and str(row["name"]).startswith("cluster"):  # other groups have no place of their own
                self.layout.boxes.append(self.box(row))
        drawn = (row for row in data.get("edges", ()) if row.get("style") != "invis")  # those keep nodes in order
        self.layout.lines.extend(self.line(row) for row in drawn)

    def node(self, row: Mapping[str, Any]) -> Figure:
        place = f"{row['pos']},{row['width']},{row['height']},{row.get('fontsize', tuning.SIZE)}"
        x, y, wide, high, size = _numbers(place, 5)
        x, y = x + self.dx, self.dy - y
        # an escaped line break parts the lines of a label, an escaped backslash does not
        label = re.sub(r"\\\\|\\n", lambda match: match[0] if match[0] == "\\\\" else "\n", row.get("label", ""))
        words = words_around(x, y, size, map(_plain, label.split("\n")))
        rect = Rect.centred(x, y, wide * _INCH, high * _INCH)
        is_round = row.get("shape") in ("circle", "ellipse")
        reference, key = _plain(row.get("comment", "")), self.keys.get(row.get("_gvid"), "")
        return Figure(_flags(row), rect, is_round, words, reference, _style(row), key=key)

    def box(self, row: Mapping[str, Any]) -> Figure:
        left, bottom, right, top = _numbers(row["bb"], 4)
        rect = Rect(left + self.dx, self.dy - top, right + self.dx, self.dy - bottom)
        text = _plain(row.get("label", ""))
        ((x, y),) = self._points(row["lp"]) if text else ((0.0, 0.0),)
        first = min((self.order[node] for node in row.get("nodes", ()) if node in self.order), default=0)
        words = words_around(x, y, tuning.SIZE, [text])
        cluster = _CLUSTER.fullmatch(str(row["name"]))
        key = f"{cluster[1]}b{cluster[2]}" if cluster else ""
        return Figure(_flags(row), rect, False, words, _plain(row.get("comment", "")), _style(row), first, key)

    def line(self, row: Mapping[str, Any]) -> Line:
        """An edge; one that looks like a straight line is one."""
        text = row["pos"]
        curve = self._points(text.removeprefix("e,"))
        tip = curve.pop(0) if text.startswith("e,") else None
        if len(curve) % 3 != 1 or len(curve) < 4:
            raise ValueError(f"a curve has {len(curve)} points")
        styled = EdgeStyle(**_line_style(row)) if "styled" in _flags(row) else EdgeStyle()
        shown = [curve[0], curve[-1]] if is_straight(curve) else curve
        ends = self.keys.get(row.get("tail"), ""), self.keys.get(row.get("head"), "")
        word, part = (_plain(row.get(name, "")) for name in ("comment", "part"))
        return Line(_flags(row), shown, tip, word, styled, ends, part=part)

    def _points(self, text: str) -> list[Point]:
        numbers = _numbers(text.replace(" ", ","))
        return [(x + self.dx, self.dy - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _flags(row: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(row.get("class", "")).split()) & FLAGS


def _style(row: Mapping[str, Any]) -> NodeStyle:
    """A styler's changes; read with care again, because an engine stands between."""
    if "styled" not in _flags(row):
        return NodeStyle()
    return NodeStyle(fill=_hex(row, "fillcolor"), ink=_hex(row, "fontcolor"), **_line_style(row))


def _line_style(row: Mapping[str, Any]) -> dict[str, Any]:
    (pen,) = _numbers(row.get("penwidth", "0"), 1)
    stroke = next((word for word in ("dashed", "dotted") if word in row.get("style", "")), "")
    return {"line": _hex(row, "color"), "pen": min(max(pen, 0.0), MAX_PEN), "stroke": stroke}


def _hex(row: Mapping[str, Any], name: str) -> str:
    text = row.get(name, "")
    return text if _HEX.fullmatch(text) else ""


def _plain(text: object) -> str:
    """The text that was escaped for the engine."""
    return _ESCAPED.sub(lambda match: match[1] or "&", str(text)).strip()


def _numbers(text: str, n: int | None = None) -> list[float]:
    numbers = [*map(float, text.split(","))]
    if not sum(map(abs, numbers)) < _MAX_SUM or n not in (None, len(numbers)):  # also if one is not a number
        raise ValueError(f"{text[:40]} is not a valid position")
    return numbers
