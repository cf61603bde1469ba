"""The title of a box: words in a band of its own, left and right of the lines that pass it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.model import PARTS, Word
from torchrecorder.layout.paper.model import Piece
from torchrecorder.layout.widths import width

_AT_TOP = 0.01  # points: rounding


class _Words(NamedTuple):
    """A title in at most two lines at the left of what enters, and two at the right."""

    left: tuple[Sequence[str], ...]
    right: tuple[Sequence[str], ...]

    @property
    def lines(self) -> int:
        return max(len(self.left), len(self.right))

    @property
    def price(self) -> float:
        split = tuning.SPLIT_COSTS if self.left and self.right else 0.0
        return split + (0.0 if self.left else tuning.REST_COSTS) + tuning.SECOND_LINE_COSTS * (self.lines - 1)


def set_title(piece: Piece, text: str, xs: Sequence[float], *, is_narrow: bool = False) -> None:
    """Puts words left and right of the lines that enter; the box grows where they need more room.

    A narrow box may grow in height instead, by a second line.
    """
    parts = text.split(PARTS)
    if room := _between(xs, _long(parts, bold=True), piece):
        piece.title.append((Word(room[0], tuning.TITLE_BASE, tuning.SIZE, text), room[1], False))
        return
    ways = [(words, *_sides(piece, words, xs)) for words in _ways(parts, is_narrow=is_narrow) if xs or not words.right]
    words, piece.left, piece.right = min(ways, key=lambda way: way[1] + way[2] + way[0].price)
    is_rest = False
    for lines, is_right in ((words.left, False), (words.right, True)):
        for i, line in enumerate(lines):
            long = _long(line, bold=not is_rest)
            x = piece.right - tuning.TITLE_INSET - long if is_right else -piece.left + tuning.TITLE_INSET
            base = tuning.TITLE_BASE + i * tuning.TITLE_LINE
            piece.title.append((Word(x, base, tuning.SIZE, PARTS.join(line)), long, is_rest))
            is_rest = True
    if words.lines > 1:
        _lower(piece)


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


def _sides(piece: Piece, words: _Words, xs: Sequence[float]) -> tuple[float, float]:
    """Distances of the borders from the spine, with a title."""
    left = max((_long(line, bold=not i) for i, line in enumerate(words.left)), default=0.0)
    right = max((_long(line, bold=not i and not words.left) for i, line in enumerate(words.right)), default=0.0)
    if not xs:
        return piece.left, max(piece.right, left + 2 * tuning.TITLE_INSET - piece.left)
    room = tuning.TITLE_INSET + tuning.TITLE_FROM_LINE
    sides = (
        max(piece.left, left + room - xs[0] if left else 0.0),
        max(piece.right, right + room + xs[-1] if right else 0.0),
    )
    return _balanced(piece, *sides) if len(xs) == 1 else sides


def _between(xs: Sequence[float], long: float, piece: Piece) -> tuple[float, float] | None:
    """The leftmost place of a whole title between two lines that enter."""
    if not xs or xs[0] + piece.left >= long + tuning.TITLE_INSET + tuning.TITLE_FROM_LINE:
        return None
    pairs = pairwise([*xs, piece.right - tuning.TITLE_INSET + tuning.TITLE_FROM_LINE])
    left = next((left for left, right in pairs if right - left >= long + 2 * tuning.TITLE_FROM_LINE), None)
    return None if left is None or left == xs[-1] else (left + tuning.TITLE_FROM_LINE, long)


def _lower(piece: Piece) -> None:
    """Makes room for a second line; what enters or leaves at the top still does."""
    for item in piece.items:
        item.y += tuning.TITLE_LINE if item.y > _AT_TOP or not item.is_port else 0.0
    for wire in piece.wires:
        wire.points = [(x, y + tuning.TITLE_LINE if y > _AT_TOP else y) for x, y in wire.points]
        wire.at = wire.at and (wire.at[0], wire.at[1] + tuning.TITLE_LINE)
    piece.late = {source: side._replace(y=side.y + tuning.TITLE_LINE) for source, side in piece.late.items()}
    piece.height += tuning.TITLE_LINE
    piece.band += tuning.TITLE_LINE


def _long(words: Sequence[str], *, bold: bool) -> float:
    rest = PARTS.join(["", *words[1:]])
    return width(words[0], tuning.SIZE, bold=bold) + width(rest, tuning.SIZE) if words else 0.0


def _balanced(piece: Piece, left: float, right: float) -> tuple[float, float]:
    """The sides of a box with one entry that has grown for its title, not too far from equal."""
    if left + right > tuning.NAME_WIDE:  # for a name, not for what is in the box
        return left, right
    if right > piece.right:
        left = max(left, tuning.SYMMETRY * right)
    elif left > piece.left:
        right = max(right, tuning.SYMMETRY * left)
    if abs(left - right) < tuning.ALMOST:
        left = right = max(left, right)
    return left, right
