"""A finished layout as JSON, and back: what a cache keeps of a picture.

Others may have written it: it is read as numbers, known words and plain texts only, in rows by the order of fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from torchrecorder.layout.geometry import Curve, Point, Rect
from torchrecorder.layout.model import FLAGS, MAX_PEN, EdgeStyle, Figure, Layout, Line, NodeStyle, Title, Word

if TYPE_CHECKING:
    from torchrecorder.request.requests import ThemeName

_T = TypeVar("_T")
_Reader = Callable[[Any], Any]

_MAX = 1e8  # points; no picture is so large
_STROKES = ("", "solid", "dashed", "dotted")
_THEMES: tuple[ThemeName, ...] = ("modern", "classic")


def to_data(layout: Layout) -> list[object]:
    """The layout as lists, texts and numbers."""
    boxes, nodes = ([(sorted(thing.flags), *thing[1:]) for thing in things] for things in (layout.boxes, layout.nodes))
    lines = [(sorted(line.flags), *line[1:-1]) for line in layout.lines]  # without the part, which has become a word
    placed = [layout.width, layout.height, boxes, nodes, lines, layout.titles, layout.words]
    return [*placed, layout.uid, layout.title, layout.description, layout.theme, layout.grey]


def from_data(data: Any) -> Layout:
    """The layout that `to_data` gave.

    Raises:
        ValueError: It gave something else; or another error that unpacking raises, TypeError.
    """
    return _row(Layout, _LAYOUT, data)


def _row(made: Callable[..., _T], readers: Sequence[_Reader], row: Any) -> _T:
    return made(*[read(value) for read, value in zip(readers, row, strict=True)])


def _rows(read: Callable[[Any], _T], rows: Any) -> list[_T]:
    return [read(row) for row in _typed(list, rows)]


def _optional(read: Callable[[Any], _T], value: Any) -> _T | None:
    return None if value is None else read(value)


def _pair(first: _T, second: _T) -> tuple[_T, _T]:
    return first, second


def _typed(kind: type[_T], value: Any) -> _T:
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} expected")
    return value


def _number(value: Any) -> float:
    if type(value) not in (float, int) or not -_MAX < value < _MAX:  # also if it is not a number
        raise ValueError("a number expected")
    return float(value)


def _text(value: Any) -> str:
    _typed(str, value).encode()  # no page could be written with half of a surrogate pair
    return str(value)


def _length(most: float, value: Any) -> float:
    if not 0 <= (length := _number(value)) <= most:
        raise ValueError("a length expected")
    return length


def _flags(value: Any) -> frozenset[str]:
    flags = frozenset(_rows(_text, value))
    if not flags <= FLAGS:
        raise ValueError(f"unknown kinds: {sorted(flags - FLAGS)}")
    return flags


@lru_cache(1024)  # a picture has few colours and keys
def _matching(pattern: str, value: Any) -> str:
    if re.fullmatch(pattern, _text(value), re.ASCII) is None:
        raise ValueError(f"{value!r} does not match {pattern}")
    return str(value)


def _among(known: tuple[_T, ...], value: Any) -> _T:
    for item in known:
        if item == value:
            return item
    raise ValueError(f"{value!r} is none of {known}")


def _curve(rows: Any) -> Curve:
    curve = [(_number(x), _number(y)) for x, y in _typed(list, rows)]
    if len(curve) != 2 and (len(curve) < 4 or len(curve) % 3 != 1):
        raise ValueError(f"a curve has {len(curve)} points")
    return curve


_bool, _count = partial(_typed, bool), partial(_typed, int)
_side, _pen = partial(_length, _MAX), partial(_length, MAX_PEN)
_key, _colour = partial(_matching, r"[A-Z]?b?\d*"), partial(_matching, "(?:#[0-9a-f]{6})?")
_point: Callable[[Any], Point] = partial(_row, _pair, (_number, _number))
_place, _parts = partial(_optional, _point), partial(_optional, partial(_rows, _curve))
_rect = partial(_row, Rect, 4 * (_number,))
_word = partial(_row, Word, (_number, _number, _number, _text))
_label, _stroke = partial(_optional, partial(_row, _pair, (_text, _text))), partial(_among, _STROKES)
_node_style = partial(_row, NodeStyle, (_label, _colour, _colour, _colour, _pen, _stroke))
_edge_style = partial(_row, EdgeStyle, (_colour, _pen, _stroke))
_ends = partial(_row, _pair, (_key, _key))
_figure = partial(
    _row, Figure, (_flags, _rect, _bool, lambda rows: tuple(_rows(_word, rows)), _text, _node_style, _count, _key)
)
_line = partial(_row, Line, (_flags, _curve, _place, _text, _edge_style, _ends, _place, _parts))
_title = partial(_row, Title, (_number, _word, _rect, _text, _count, _colour, _bool, _key))
_placed: list[_Reader] = [partial(_rows, read) for read in (_figure, _figure, _line, _title, _word)]
_uid = partial(_matching, r"tr-[0-9a-f]{12}(?:-i\d+)?")
_LAYOUT: tuple[_Reader, ...] = (_side, _side, *_placed, _uid, _text, _text, partial(_among, _THEMES), _bool)
"""Readers of the fields of a Layout."""
