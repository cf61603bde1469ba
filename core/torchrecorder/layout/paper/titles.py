"""The titles of boxes: left and right of the lines that enter, in as few lines as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.model import PARTS, Word
from torchrecorder.layout.paper.breaks import even, in_names
from torchrecorder.layout.paper.model import Piece
from torchrecorder.layout.widths import width

_AT_TOP = 0.01  # points: rounding


class _Words(NamedTuple):
    """A title in lines at the left of what enters, and at the right."""

    left: tuple[Sequence[str], ...]
    right: tuple[Sequence[str], ...]

    @property
    def lines(self) -> int:
        return max(len(self.left), len(self.right))

    @property
    def price(self) -> float:
        split = tuning.SPLIT_COSTS if self.left and self.right else 0.0
        return split + (0.0 if self.left else tuning.REST_COSTS) + tuning.SECOND_LINE_COSTS * (self.lines - 1)


def set_title(piece: Piece, text: str, xs: Sequence[float], room: float, *, is_narrow: bool = False) -> None:
    """Puts words left and right of the lines that enter; the box grows where they need more room.

    A narrow box may grow in height instead, by a second line; one that is wider than its room by more lines.
    """
    parts = text.split(PARTS)
    if between := _between(xs, _long(parts, bold=True), piece):
        piece.title.append((Word(between[0], tuning.TITLE_BASE, tuning.SIZE, text), between[1], False))
        return
    ways = [(words, *_sides(piece, words, xs)) for words in _ways(parts, is_narrow=is_narrow) if xs or not words.right]
    words, left, right = min(ways, key=lambda way: way[1] + way[2] + way[0].price)
    if left + right > room:
        ways = [(words, *_around(piece, words, xs)) for words in _many_lines(parts) if xs or not words.right]
        words, left, right = min(ways, key=lambda way: (max(way[1] + way[2], room), way[0].price, way[1] + way[2]))
    piece.left, piece.right = left, right
    for lines, is_right in ((words.left, False), (words.right, True)):
        is_name, said = not is_right or not words.left, 0
        for i, line in enumerate(lines):
            long = _long(line, bold=is_name)
            x = piece.right - tuning.TITLE_INSET - long if is_right else -piece.left + tuning.TITLE_INSET
            base = tuning.TITLE_BASE + i * tuning.TITLE_LINE
            piece.title.append((Word(x, base, tuning.SIZE, PARTS.join(line)), long, not is_name))
            said += len("".join(line).replace(" ", ""))
            is_name = is_name and said < len(parts[0].replace(" ", ""))
    _lower(piece, (words.lines - 1) * tuning.TITLE_LINE)


def _lower(piece: Piece, by: float) -> None:
    """Makes room for more lines of a title."""
    if not by:
        return
    for item in piece.items:  # what enters or leaves at the top still does
        item.y += by if item.y > _AT_TOP or not item.is_port else 0.0
    for wire in piece.wires:
        wire.points = [(x, y + by if y > _AT_TOP else y) for x, y in wire.points]
        wire.at = wire.at and (wire.at[0], wire.at[1] + by)
    piece.late = {source: side._replace(y=side.y + by) for source, side in piece.late.items()}
    piece.height += by
    piece.band += by


def set_title_beside(piece: Piece, text: str) -> None:
    """Puts a title where data flows to the right: left of the stream, which is above it in the picture.

    Its words have places across and along in this order turned: as they lie in the picture.
    """
    lines: list[list[str]] = [[]]
    room = piece.height - 2 * tuning.TITLE_INSET
    for part in text.split(PARTS):
        if lines[-1] and _long([*lines[-1], part], bold=len(lines) == 1) > room:
            lines.append([])
        lines[-1].append(part)
    longs = [_long(line, bold=not i) for i, line in enumerate(lines)]
    height = max(longs) + 2 * tuning.TITLE_INSET
    for wire in piece.wires if height > piece.height else ():
        if wire.head.key.kind == "out" and wire.head in piece.items:  # what leaves the box does so at its new end
            wire.points[-1] = (wire.points[-1][0], height)
            wire.head.y = height
    piece.height = max(piece.height, height)
    piece.left += tuning.BAND - tuning.BOX_MARGIN + 4.0 + tuning.TITLE_LINE * (len(lines) - 1)
    for i, (line, long) in enumerate(zip(lines, longs, strict=True)):
        base = -piece.left + tuning.TITLE_BASE + i * tuning.TITLE_LINE
        piece.title.append((Word(tuning.TITLE_INSET, base, tuning.SIZE, PARTS.join(line)), long, i > 0))


def _ways(parts: Sequence[str], *, is_narrow: bool) -> Iterator[_Words]:
    n = len(parts)
    for k in range(n + 1):
        yield _Words((parts[:k],) if k else (), (parts[k:],) if k < n else ())
    if not is_narrow:
        return
    for k in range(n + 1):
        for left in _halves(parts[:k]):
            yield from (_Words(left, right) for right in _halves(parts[k:]) if len(left) > 1 or len(right) > 1)


def _halves(parts: Sequence[str]) -> Iterator[tuple[Sequence[str], ...]]:
    yield (parts,) if parts else ()
    yield from ((parts[:i], parts[i:]) for i in range(1, len(parts)))


def _many_lines(parts: Sequence[str]) -> Iterator[_Words]:
    """All ways with the words at each side in lines of about one length; long words are broken where a reader may."""
    atoms = in_names(parts)
    n = len(atoms)

    def sides(first: int, last: int) -> list[tuple[Sequence[str], ...]]:
        lines = range(1, min(tuning.TITLE_LINES, last - first) + 1)
        return [tuple(even(atoms[first:last], k, partial(_long, bold=True))) for k in lines] or [()]

    for k in (k for k in range(n + 1) if k in (0, n) or atoms[k - 1][0] != atoms[k][0]):
        yield from (_Words(left, right) for left in sides(0, k) for right in sides(k, n))


def _around(piece: Piece, words: _Words, xs: Sequence[float]) -> tuple[float, float]:
    """Distances of the borders from the spine, as short as they can be."""
    left, right = (max((_long(line, bold=True) for line in lines), default=0.0) for lines in words)
    if not xs:
        return piece.left, max(piece.right, left + 2 * tuning.TITLE_INSET - piece.left)
    air = tuning.TITLE_INSET + tuning.TITLE_FROM_LINE
    return max(piece.left, left + air - xs[0] if left else 0.0), max(piece.right, right + air + xs[-1] if right else 0)


def _sides(piece: Piece, words: _Words, xs: Sequence[float]) -> tuple[float, float]:
    """Distances of the borders from the spine, with a title; around one entry not too far from equal."""
    left = max((_long(line, bold=not i) for i, line in enumerate(words.left)), default=0.0)
    right = max((_long(line, bold=not i and not words.left) for i, line in enumerate(words.right)), default=0.0)
    if not xs:
        return piece.left, max(piece.right, left + 2 * tuning.TITLE_INSET - piece.left)
    room = tuning.TITLE_INSET + tuning.TITLE_FROM_LINE
    left = max(piece.left, left + room - xs[0] if left else 0.0)
    right = max(piece.right, right + room + xs[-1] if right else 0.0)
    if len(xs) > 1 or left + right > tuning.NAME_WIDE:  # the latter for a name, not for what is in the box
        return left, right
    if right > piece.right:
        left = max(left, tuning.SYMMETRY * right)
    elif left > piece.left:
        right = max(right, tuning.SYMMETRY * left)
    return (max(left, right), max(left, right)) if abs(left - right) < tuning.ALMOST else (left, right)


def _between(xs: Sequence[float], long: float, piece: Piece) -> tuple[float, float] | None:
    """The leftmost place of a whole title between two lines that enter."""
    if not xs or xs[0] + piece.left >= long + tuning.TITLE_INSET + tuning.TITLE_FROM_LINE:
        return None
    pairs = pairwise([*xs, piece.right - tuning.TITLE_INSET + tuning.TITLE_FROM_LINE])
    left = next((left for left, right in pairs if right - left >= long + 2 * tuning.TITLE_FROM_LINE), None)
    return None if left is None or left == xs[-1] else (left + tuning.TITLE_FROM_LINE, long)


def _long(words: Sequence[str], *, bold: bool) -> float:
    rest = PARTS.join(["", *words[1:]])
    return width(words[0], tuning.SIZE, bold=bold) + width(rest, tuning.SIZE) if words else 0.0
