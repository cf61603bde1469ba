"""The last step of a layout: titles and the words of edges where they are read.

A layered layout lets edges run through the line of a title: it moves to the right end if that is free, else edges have
a gap there. A word on an edge would get a rank of its own from the engine, and the picture grows by half; so it is put
afterwards into the space between two ranks, on the side of the edge where the least is in the way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Curve, Curves, Rect, Rects, along, around, arrow, part, passes
from torchrecorder.layout.model import PARTS, Layout, Line, Title, Word, title_rect
from torchrecorder.layout.widths import width

if TYPE_CHECKING:
    from torchrecorder.request.requests import ThemeName

_UID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_DIGIT_HEIGHT = 0.72  # height of a digit as a part of the size; shapes have no signs that are higher or reach lower
_BELOW = 0.22  # how far a comma or a bracket reaches below its base line, as a part of the size
_STRAIGHT = 0.5  # points that a straight part may be off
_LATE = (0.85, 0.78, 0.7, 0.6, 0.92, 1.0, 0.5, 0.4, 0.3)  # parts of a line's length for what it carries
_FROM = tuning.WORD_FROM_LINE
_HIGH = (_DIGIT_HEIGHT + 0.18) * tuning.SMALL  # height of a word, with air


def finished(
    layout: Layout, *, uid: str, title: str, desc: str, theme: ThemeName = "modern", grey: bool = False
) -> Layout:
    """The layout with every word at its place, and with what else a writer needs."""
    if not _UID.fullmatch(uid):
        raise ValueError(f"{uid!r} is not a valid id")
    curves = Curves([line.curve for line in layout.lines], is_wide=layout.is_wide)
    titles = _placed_titles(layout, curves) if layout.titles is None else layout.titles
    taken = [title.rect for title in titles]
    words, gaps = _placed_words(layout, taken)
    seen = curves.outside([*taken, *gaps, *(node.inner for node in layout.nodes)])
    pairs = zip(layout.lines, seen, strict=True)
    lines = [line._replace(seen=None if parts == [line.curve] else parts) for line, parts in pairs]
    placed = replace(layout, lines=lines, titles=titles, words=words)
    return replace(placed, uid=uid, title=title, description=desc, theme=theme, grey=grey)


def _placed_titles(layout: Layout, curves: Curves) -> list[Title]:
    titles = []
    for box in layout.boxes:
        for word in box.words[:1]:
            name, dot, rest = word.text.partition(PARTS)
            length = width(name, word.size, bold=True) + width(dot + rest, word.size)
            left = box.rect.left + tuning.TITLE_INSET
            right = max(box.rect.right - tuning.TITLE_INSET - length, left)
            rect, at_right = (title_rect(at, word.y, word.size, length) for at in (left, right))
            if (crossing := curves.through(rect)) and curves.through(at_right) < crossing:
                left, rect = right, at_right
            titles.append(Title(left, word, rect, box.reference, box.before, box.style.ink, key=box.key))
    return titles


def _placed_words(layout: Layout, taken: Sequence[Rect]) -> tuple[list[Word], list[Rect]]:
    """The words of edges, and the places where lines have a gap for one.

    A shape that has room at the line of another node only is left out, since it is said again further down. A name is
    said nowhere else: it gets a place first, in its line if there is none beside it.
    """
    in_the_way = Rects([*_obstacles(layout), *taken, *_borders(layout)], is_wide=layout.is_wide)
    solid = Rects([*_obstacles(layout), *taken], is_wide=layout.is_wide)
    curves = Curves([_with_arrow(line) for line in layout.lines], is_wide=layout.is_wide)
    is_paper, known = layout.titles is not None, {figure.key for figure in layout.nodes}
    words, gaps = list[Word](), list[Rect]()

    def put(text: str, rect: Rect, below: float) -> None:
        in_the_way.add(rect)
        solid.add(rect)
        gaps.extend([rect] if curves.through(rect) else [])
        x, y, rows = (rect.left + rect.right) / 2, rect.bottom - below * tuning.SMALL, _in_two(text)
        if width(text, tuning.SMALL) > rect.width + 1.0:  # there was room for it in two lines
            words.append(Word(x, y - tuning.SMALL, tuning.SMALL, rows[0]))
            text = rows[-1]
        words.append(Word(x, y, tuning.SMALL, text))

    def has_room(rect: Rect, among: Rects = in_the_way) -> bool:
        return rect.left >= 0 and rect.right <= layout.width and not among.meeting(rect)

    def price(rect: Rect, line: Line, off: float = _FROM) -> tuple[bool, int, bool, int]:
        """Whether another line passes through a place; whether one does as near, or a border; how many lines do."""
        through = curves.passing(rect)
        is_within = any(_is_own(layout.lines[i], line) for i in through)  # its own line is nearer than any beside it
        near = curves.passing(rect.grown(1.0 if is_within else max(off, 3.0)))
        others = [{i for i in passing if not _is_own(layout.lines[i], line)} for passing in (through, near)]
        is_on_border = bool(in_the_way.meeting(rect))
        return bool(others[0]), bool(others[1]) + is_on_border, is_on_border, len(through)

    for line, at in ((it, it.at) for it in layout.lines if it.word and it.at is not None):
        rect = Rect.centred(*at, width(line.word, tuning.SMALL), _HIGH)
        if has_room(rect) and not curves.through(rect):
            put(line.word, rect, 0.09)
    for line in (line for line in layout.lines if line.part):
        ways = [*_beside_reader(line)] if is_paper else [(it, _FROM) for it in _places(line, line.part, _LATE)]
        if places := [way for way in ways if has_room(way[0], solid)]:
            put(line.part, min(places, key=lambda way: price(way[0], line, way[1]))[0], _BELOW)
    sizes = [it for it in layout.lines if it.word and it.at is None and it.word != it.part]  # said once is enough

    def is_clear(rect: Rect, line: Line) -> bool:
        """Whether nothing else is as near to a word, which reaches below the middle of its place."""
        return not price(rect._replace(bottom=rect.bottom + (_BELOW - 0.09) * tuning.SMALL), line)[1]

    def free(line: Line) -> list[Rect]:
        rects = _beside_ends(line) if is_paper else _places(line, line.word, tuning.WORD_PLACES)
        return [rect for rect in rects if has_room(rect) and not curves.through(rect)]

    def clean(line: Line) -> list[Rect]:
        return [rect for rect in free(line) if is_clear(rect, line)]

    entries = sorted((it for it in sizes if it.ends[0] not in known), key=lambda it: len(clean(it)))
    for line in (*entries, *(it for it in sizes if it.ends[0] in known)):
        own, named = clean(line), line._replace(part=line.word)
        if is_paper and not own and "×" not in line.word and free(line):
            own = [it for it in (*_at_reader(named), *_in_line(named)) if has_room(it) and is_clear(it, line)]
        if not own and "×" not in line.word and line.ends[0] not in known:  # of what enters an inset
            named = named._replace(curve=[line.tip, *line.curve[::-1]] if line.tip else line.curve[::-1], tip=None)
            tried = [it for it in (*_at_reader(named), *_in_line(named)) if has_room(it, solid)]
            tried = [it for it in tried if _is_along(line, it) or not price(it, line)[0]]
            own = sorted(tried, key=lambda rect: price(rect, line))
        if own:
            put(line.word, own[0], 0.09)
    return words, gaps


def _is_own(line: Line, of: Line) -> bool:
    """Whether a line carries the same, so that a word at it may be that of the other one."""
    return line.ends[0] == of.ends[0] and (not of.part or line.part == of.part)


def _is_along(line: Line, rect: Rect) -> bool:
    """Whether a line runs by a word from its beginning to its end, so that one across it is not taken for its own."""
    _, top, _, bottom = rect.grown(_FROM + 1.0)
    return all(passes(_with_arrow(line), Rect(x - 1.0, top, x + 1.0, bottom)) for x in (rect.left, rect.right))


def _with_arrow(line: Line) -> Curve:
    curve, tip = line.curve, line.tip
    if tip is None or tip == curve[-1]:
        return curve
    return [curve[0], tip] if len(curve) == 2 else [*curve, *(part(curve[-1], tip, at) for at in (1 / 3, 2 / 3, 1.0))]


def _obstacles(layout: Layout) -> Iterator[Rect]:
    """The nodes, with the sheets behind them, and the bands of titles that have their places."""
    for node in layout.nodes:
        left, top, right, bottom = node.rect
        sheets = tuning.STACK if "repeat" in node.flags else 0.0
        yield Rect(left, top, right + sheets, bottom + sheets)
    yield from (around(arrow(line.curve[-1], line.tip)) for line in layout.lines if line.tip)
    boxes = {box.key: box.rect for box in layout.boxes}
    for title in layout.titles or ():
        if title.key in boxes:
            left, top, right, _ = boxes[title.key]
            yield Rect(left, top, right, title.rect.bottom)


def _borders(layout: Layout) -> Iterator[Rect]:
    for left, top, right, bottom in (box.rect for box in layout.boxes):
        yield from (Rect(left, y - tuning.WORD_FROM_BORDER, right, y + tuning.WORD_FROM_BORDER) for y in (top, bottom))
        yield from (Rect(x - tuning.WORD_FROM_BORDER, top, x + tuning.WORD_FROM_BORDER, bottom) for x in (left, right))
    for left, top, right, bottom in (box.rect for box in layout.boxes if "repeat" in box.flags):  # its sheets
        yield Rect(left, bottom, right + tuning.STACK, bottom + tuning.STACK)
        yield Rect(right, top, right + tuning.STACK, bottom)


def _beside_ends(line: Line) -> Iterator[Rect]:
    """Beside the first part of a line of right angles, or the last: elsewhere it is far from what gives the data."""
    wide, high = width(line.word, tuning.SMALL), _HIGH
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
        way = 1 if end > y else -1
        half, sheets = (y + end) / 2, way * tuning.STACK / 2  # a repeated layer has sheets below it
        middles = [half, half + sheets] if abs(end - y) < 4 * high else [y + way * high, half]
        # above what crosses a short one; or between its reader and the border of a box that it leaves
        middles += [y + way * (high / 2 + tuning.WORD_FROM_LINE)]
        middles += [end - way * (high / 2 + tuning.WORD_FROM_BORDER)] if points is whole and end == whole[-1][1] else []
        for middle in middles:
            top, bottom = middle - high / 2, middle + high / 2
            yield Rect(x + tuning.WORD_FROM_LINE, top, x + tuning.WORD_FROM_LINE + wide, bottom)
            yield Rect(x - tuning.WORD_FROM_LINE - wide, top, x - tuning.WORD_FROM_LINE, bottom)


def _above_start(points: Curve, wide: float, high: float) -> Iterator[Rect]:
    """Above or below the first part of a line that begins across."""
    (x, y), end = points[0], points[0][0]
    for px, py in points:
        if abs(py - y) > 0.5:
            break
        end = px
    if abs(end - x) >= wide:
        middle = (x + end) / 2
        for top in (y - tuning.WORD_FROM_LINE - high, y + tuning.WORD_FROM_LINE):
            yield Rect(middle - wide / 2, top, middle + wide / 2, top + high)


def _in_two(text: str) -> list[str]:
    """A text in two lines, if it names several things; else in one."""
    names = text.split(", ")
    return [", ".join(names[:half]) + ",", ", ".join(names[half:])] if (half := len(names) // 2) else names


def _beside_reader(line: Line) -> Iterator[tuple[Rect, float]]:
    """Places of what a line says that it carries, each with how far it is from the line; the best ways first."""
    for rows, off in ((1, _FROM), (1, tuning.WORD_CLOSE), (2, _FROM)):
        yield from ((rect, off) for rect in _at_reader(line, rows, off))
    yield from ((rect, _FROM) for rect in _in_line(line))


def _at_reader(line: Line, rows: int = 1, off: float = _FROM) -> Iterator[Rect]:
    """Beside the parts of a line of right angles, from its end on, for so many lines of text."""
    texts = [line.part] if rows == 1 else _in_two(line.part)
    if len(texts) < rows:
        return
    wide, high = max(width(text, tuning.SMALL) for text in texts), rows * tuning.SMALL
    points = [*line.curve, line.tip or line.curve[-1]][::-1]
    is_first = True
    while len(points) > 1:
        (x, y), (px, py) = points[:2]
        is_down = abs(px - x) < abs(py - y)
        n = 2
        while n < len(points) and abs((points[n][0] - x) if is_down else (points[n][1] - y)) < _STRAIGHT:
            n += 1
        (to_x, to_y), points = points[n - 1], points[n - 1 :]
        way = math.copysign(1.0, to_y - y if is_down else to_x - x)
        long = abs(to_y - y if is_down else to_x - x)
        if is_down and (is_first or long >= high):  # a word is as high as an arrow
            air = max(min(1.0, (long - high) / 2), _STRAIGHT)
            for step in range(max(int((long - air) / high), 1)):
                middle = y + way * (high / 2 + air + step * high)
                for left in (x + off, x - off - wide):
                    yield Rect(left, middle - high / 2, left + wide, middle + high / 2)
        elif not is_down and long >= tuning.RADIUS:
            for near in (x + way, (x + to_x - way * wide) / 2, to_x - way * (wide + 1.0)):
                left = min(near, near + way * wide)
                for top in (y - off - high, y + off):
                    yield Rect(left, top, left + wide, top + high)
        is_first = False


def _in_line(line: Line) -> Iterator[Rect]:
    """In the middle of the straight parts of a line of right angles, from its end on, with some of it at both ends."""
    wide, high = width(line.part, tuning.SMALL), _HIGH
    for (x, y), (to_x, to_y) in pairwise([*line.curve, line.tip or line.curve[-1]][::-1]):
        if abs(to_x - x) + abs(to_y - y) >= (high if abs(to_x - x) < _STRAIGHT else wide) + 2 * tuning.ARROW:
            yield Rect.centred((x + to_x) / 2, (y + to_y) / 2, wide, high)


def _places(line: Line, word: str, parts: Sequence[float]) -> Iterator[Rect]:
    wide, high = width(word, tuning.SMALL), _HIGH
    points = along(line.curve, parts)
    for x, y in points:
        yield Rect(x + tuning.WORD_FROM_LINE, y - high / 2, x + tuning.WORD_FROM_LINE + wide, y + high / 2)
    for x, y in points:
        yield Rect(x - tuning.WORD_FROM_LINE - wide, y - high / 2, x - tuning.WORD_FROM_LINE, y + high / 2)
    (x0, y0), (x1, y1) = line.curve[0], line.curve[-1]
    if abs(x1 - x0) > abs(y1 - y0):
        for x, y in points:
            yield Rect(x - wide / 2, y - tuning.WORD_FROM_LINE - high, x + wide / 2, y - tuning.WORD_FROM_LINE)
