"""A finished layout as JSON, and back: what a cache keeps of a picture.

Others may have written it: it is read as numbers, known words and plain texts only, in rows by the order of fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from torchrecorder.layout.geometry import Curve, Point, Rect
from torchrecorder.layout.model import FLAGS, MAX_PEN, EdgeStyle, Figure, Layout, Line, NodeStyle, Title, Word

if TYPE_CHECKING:
    from torchrecorder.request.requests import ThemeName

_T = TypeVar("_T")

_MAX = 1e8
"""Points; no picture is so large."""
_UID = re.compile(r"tr-[0-9a-f]{12}(?:-i\d+)?", re.ASCII)
_KEY = re.compile(r"[A-Z]?b?\d*", re.ASCII)
_COLOUR = re.compile(r"(?:#[0-9a-f]{6})?")
_STROKES = ("", "solid", "dashed", "dotted")
_THEMES: tuple[ThemeName, ...] = ("modern", "classic")


def to_data(layout: Layout) -> list[object]:
    """The layout as lists, texts and numbers."""
    boxes, nodes, lines = (
        [(sorted(thing.flags), *thing[1:]) for thing in things] for things in (layout.boxes, layout.nodes, layout.lines)
    )
    placed = [layout.width, layout.height, boxes, nodes, lines, layout.titles, layout.words]
    return [*placed, layout.uid, layout.title, layout.description, layout.theme, layout.grey]


def from_data(data: Any) -> Layout:
    """The layout that `to_data` gave.

    Raises:
        ValueError: It gave something else; or another error that unpacking raises, TypeError.
    """
    width, height, boxes, nodes, lines, titles, words, uid, title, description, theme, grey = data
    return Layout(
        _number(width),
        _number(height),
        _rows(_figure, boxes),
        _rows(_figure, nodes),
        _rows(_line, lines),
        _rows(_title, titles),
        _rows(_word, words),
        _matching(_UID, uid),
        _text(title),
        _text(description),
        theme=_among(_THEMES, theme),
        grey=_bool(grey),
    )


def _figure(row: Any) -> Figure:
    flags, rect, is_round, words, reference, style, before, key = row
    label, fill, line, ink, pen, stroke = style
    if label is not None:
        first, second = label
        label = _text(first), _text(second)
    changed = NodeStyle(label, _colour(fill), _colour(line), _colour(ink), _pen(pen), _among(_STROKES, stroke))
    place, said = _rect(rect), tuple(_rows(_word, words))
    return Figure(
        _flags(flags), place, _bool(is_round), said, _text(reference), changed, _count(before), _matching(_KEY, key)
    )


def _line(row: Any) -> Line:
    flags, curve, tip, word, style, (tail, head), at, seen = row
    line, pen, stroke = style
    changed = EdgeStyle(_colour(line), _pen(pen), _among(_STROKES, stroke))
    ends = _matching(_KEY, tail), _matching(_KEY, head)
    points = (None if point is None else _point(point) for point in (tip, at))
    parts = None if seen is None else _rows(_curve, seen)
    return Line(_flags(flags), _curve(curve), next(points), _text(word), changed, ends, next(points), parts)


def _title(row: Any) -> Title:
    left, word, rect, reference, before, ink, is_rest, key = row
    place = _number(left), _word(word), _rect(rect)
    return Title(*place, _text(reference), _count(before), _colour(ink), _bool(is_rest), _matching(_KEY, key))


def _word(row: Any) -> Word:
    x, y, size, text = row
    return Word(_number(x), _number(y), _number(size), _text(text))


def _rect(row: Any) -> Rect:
    left, top, right, bottom = map(_number, row)
    return Rect(left, top, right, bottom)


def _curve(rows: Any) -> Curve:
    curve = _rows(_point, rows)
    if len(curve) != 2 and (len(curve) < 4 or len(curve) % 3 != 1):
        raise ValueError(f"a curve has {len(curve)} points")
    return curve


def _point(row: Any) -> Point:
    x, y = row
    return _number(x), _number(y)


def _rows(read: Callable[[Any], _T], rows: Any) -> list[_T]:
    return [read(row) for row in _typed(list, rows)]


def _typed(kind: type[_T], value: Any) -> _T:
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} expected")
    return value


def _number(value: Any) -> float:
    if type(value) not in (float, int) or not -_MAX < value < _MAX:  # also if it is not a number
        raise ValueError("a number expected")
    return float(value)


def _count(value: Any) -> int:
    return _typed(int, value)


def _bool(value: Any) -> bool:
    return _typed(bool, value)


def _text(value: Any) -> str:
    _typed(str, value).encode()  # no page could be written with half of a surrogate pair
    return str(value)


def _pen(value: Any) -> float:
    if not 0 <= (pen := _number(value)) <= MAX_PEN:
        raise ValueError("a width of a line expected")
    return pen


def _flags(value: Any) -> frozenset[str]:
    flags = frozenset(_rows(_text, value))
    if not flags <= FLAGS:
        raise ValueError(f"unknown kinds: {sorted(flags - FLAGS)}")
    return flags


def _colour(value: Any) -> str:
    return _matching(_COLOUR, value)


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    if pattern.fullmatch(_text(value)) is None:
        raise ValueError(f"{value!r} does not match {pattern.pattern}")
    return str(value)


def _among(known: tuple[_T, ...], value: Any) -> _T:
    for item in known:
        if item == value:
            return item
    raise ValueError(f"{value!r} is none of {known}")
