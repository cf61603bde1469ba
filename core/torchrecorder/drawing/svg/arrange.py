"""Arranging what the engine laid out: skips back into their boxes, titles and the words of edges where they are read.

Layout gives a skip as much room as there is beside what it passes, and bends it widely: out of the box that it has
entered and in again, along the border. Where it would leave a box that both its ends are in, or by the side one that it
enters or leaves by the front, it is drawn anew, beside the border.

Layout reserves a line for the title of a box but lets edges run through it, since every edge into the box comes from
above. A title moves to the right end of its line if that is free; where no place is free, the edges have a gap there
and pass behind the words.

Layout could reserve room for a word on an edge, but then gives it a rank of its own: the picture grows by half and
edges bend around words. The space between two ranks is high enough for one line, so words are put there afterwards, on
the side of the edge where the least is in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchrecorder.drawing.svg.geometry import Curve, Curves, Point, Rect, Rects, along, around, extent, part, passes
from torchrecorder.drawing.svg.layout import PAD, Layout, Line, Title, Word, read_layout
from torchrecorder.drawing.svg.themes import width

_EDGE = 1.0
"""Between an edge and the end of the picture: half of a thick line."""
_AIR = 7.0
"""Between a skip and the border of the box it is in."""
_SAMPLES = [i / 24 for i in range(25)]
_BENDS = (0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03)
"""How much of its length an end of a skip takes to get beside what it passes; the first for which there is room."""
_ROUND = 0.6
"""How far the control points of a bend lie from its ends, as a part of its size."""

_INSET = 9.0
PARTS = " · "
"""Between the name in a title, which is bold, and the rest."""

WORD_SIZE = 9.0
_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_DIGIT_HEIGHT = 0.72
"""Height of a digit as a part of the size; shapes have no signs that are higher or reach lower."""
_GAP = 3.5
_SHEETS = 6.0
"""How far the sheets of what repeats reach to the right and down."""
_WORD_AIR = 1.2
"""What a word needs beside the line of a box."""


def arranged(text: str) -> Layout:
    """What the engine laid out, with skips that pass beside boxes, and room for all edges.

    Graphviz gives the place of nodes and boxes as that of the picture, and lets edges bow out of it.
    """
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
    boxes, nodes = (Rects((it.rect for it in them), is_wide=layout.is_wide) for them in (layout.boxes, layout.nodes))
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
        limits = [(sign * box[across + side] - _AIR, box) for box in entered]
        beyond = {at for at, box in limits if any(sign * p[across] > at for p in points if _is_beside(p, box, across))}
        if beyond:
            extent = around(line.curve)
            passed = [box for box in boxes.touching(extent) if box not in mine]
            passed += [node for node in nodes.touching(extent) if not any(node.grown(1).contains(e) for e in ends)]
            tried = (_beside(line.curve, across, sign * at, passed) for at in sorted(beyond))
            return next(filter(None, tried), line.curve)
    return line.curve


def _is_beside(point: Point, box: Rect, across: int) -> bool:
    """Whether the point is at the height of the box, or in a picture to the right, above or below it."""
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
    step = towards[across] - end[across]
    reach = max(_ROUND * (at - end[across]) / step, 0.0) if step else 0.0
    for bend in _BENDS:
        meets = end[1 - across] + bend * length
        before = meets - _ROUND * bend * length
        found = [end, part(end, towards, reach), _point(across, at, before), _point(across, at, meets)]
        if _is_free(found, passed):
            return found
    return None


def _point(across: int, at: float, place: float) -> Point:
    return (at, place) if across == 0 else (place, at)


def _is_free(curve: Curve, passed: Sequence[Rect]) -> bool:
    return not any(passes(curve, rect) for rect in passed)


def place_titles(layout: Layout, curves: Curves) -> list[Title]:
    """The titles of all boxes, each where the fewest edges are."""
    found = []
    for box in layout.boxes:
        for word in box.words[:1]:
            name, dot, rest = word.text.partition(PARTS)
            length = width(name, word.size, bold=True) + width(dot + rest, word.size)
            left = box.rect.left + _INSET
            right = max(box.rect.right - _INSET - length, left)
            top, bottom = word.y - 0.85 * word.size, word.y + 0.3 * word.size
            rect, at_right = (Rect(at - 3, top, at + length + 3, bottom) for at in (left, right))
            if (crossing := curves.through(rect)) and curves.through(at_right) < crossing:
                left, rect = right, at_right
            found.append(Title(left, word, rect, box.reference, box.before, box.style.ink, key=box.key))
    return found


def place_edge_labels(layout: Layout, curves: Curves, taken: Sequence[Rect]) -> list[Word]:
    """The words of all edges, each at its place.

    A word is left out where there is no room for it: the shape is said again further down.
    """
    lines = [line for line in layout.lines if line.word]
    if not lines:
        return []
    in_the_way = Rects([*_figures(layout), *taken, *_borders(layout)], is_wide=layout.is_wide)
    places = _places if layout.titles is None else _beside_ends
    found = []
    for line in sorted(lines, key=lambda line: line.at is None):
        for rect in places(line) if line.at is None else [_around_middle(line, line.at)]:
            is_inside = rect.left >= 0 and rect.right <= layout.width
            if is_inside and not in_the_way.meeting(rect) and not curves.through(rect):
                in_the_way.add(rect)
                middle, base = (rect.left + rect.right) / 2, rect.bottom - 0.09 * WORD_SIZE
                found.append(Word(middle, base, WORD_SIZE, line.word))
                break
    return found


def _around_middle(line: Line, at: Point) -> Rect:
    wide, high = width(line.word, WORD_SIZE), (_DIGIT_HEIGHT + 0.18) * WORD_SIZE
    return Rect(at[0] - wide / 2, at[1] - high / 2, at[0] + wide / 2, at[1] + high / 2)


def _figures(layout: Layout) -> Iterator[Rect]:
    """The nodes, with the sheets behind them, and the bands of titles that have their places."""
    for node in layout.nodes:
        left, top, right, bottom = node.rect
        sheets = _SHEETS if "repeat" in node.flags else 0.0
        yield Rect(left, top, right + sheets, bottom + sheets)
    around = {box.key: box.rect for box in layout.boxes}
    for title in layout.titles or ():
        if title.key in around:
            left, top, right, _ = around[title.key]
            yield Rect(left, top, right, title.rect.bottom)


def _borders(layout: Layout) -> Iterator[Rect]:
    """The four lines of each box, with the air that a word needs beside a line."""
    for left, top, right, bottom in (box.rect for box in layout.boxes):
        yield from (Rect(left, y - _WORD_AIR, right, y + _WORD_AIR) for y in (top, bottom))
        yield from (Rect(x - _WORD_AIR, top, x + _WORD_AIR, bottom) for x in (left, right))


def _beside_ends(line: Line) -> Iterator[Rect]:
    """Beside the first part of a line of right angles, or the last: elsewhere it is far from what gives the data."""
    wide, high = width(line.word, WORD_SIZE), (_DIGIT_HEIGHT + 0.18) * WORD_SIZE
    whole = [*line.curve, line.tip] if line.tip else line.curve  # a word fits beside an arrow, too
    for points in (whole, line.curve[::-1]):
        x, y = points[0]
        end = y
        for px, py in points:
            if abs(px - x) > 0.5:
                break
            end = py
        if abs(end - y) < high:
            yield from _above_start(points, wide, high)
            continue
        middles = [(y + end) / 2] if abs(end - y) < 4 * high else [y + (1 if end > y else -1) * high, (y + end) / 2]
        for middle in middles:
            top, bottom = middle - high / 2, middle + high / 2
            yield Rect(x + _GAP, top, x + _GAP + wide, bottom)
            yield Rect(x - _GAP - wide, top, x - _GAP, bottom)


def _above_start(points: Curve, wide: float, high: float) -> Iterator[Rect]:
    """Above or below the first part of a line that begins across."""
    (x, y), end = points[0], points[0][0]
    for px, py in points:
        if abs(py - y) > 0.5:
            break
        end = px
    if abs(end - x) >= wide:
        middle = (x + end) / 2
        for top in (y - _GAP - high, y + _GAP):
            yield Rect(middle - wide / 2, top, middle + wide / 2, top + high)


def _places(line: Line) -> Iterator[Rect]:
    wide, high = width(line.word, WORD_SIZE), (_DIGIT_HEIGHT + 0.18) * WORD_SIZE
    points = along(line.curve, _PLACES)
    for x, y in points:
        yield Rect(x + _GAP, y - high / 2, x + _GAP + wide, y + high / 2)
    for x, y in points:
        yield Rect(x - _GAP - wide, y - high / 2, x - _GAP, y + high / 2)
    (x0, y0), (x1, y1) = line.curve[0], line.curve[-1]
    if abs(x1 - x0) > abs(y1 - y0):
        for x, y in points:
            yield Rect(x - wide / 2, y - _GAP - high, x + wide / 2, y - _GAP)
