"""The title of a box: words in a band of its own, left and right of the lines that pass it."""

from __future__ import annotations

from collections.abc import Sequence

from torchrecorder.drawing.paper.cards import SIZE
from torchrecorder.drawing.paper.model import Piece
from torchrecorder.drawing.svg.arrange import PARTS
from torchrecorder.drawing.svg.layout import Word
from torchrecorder.drawing.svg.themes import width

BAND = 17.0
"""Height of the band of a title."""
_BASE = 13.5
_INSET, _FROM_LINE = 9.0, 7.0
"""Between a title and the border, and between it and a line that enters."""
_SYMMETRY, _ALMOST = 0.62, 30.0
"""How much of the longer side of a box the shorter one has at least; sides that differ less are made equal."""
_NAME_WIDE = 500.0
_REST, _SPLIT = 6.0, 12.0
"""What it costs to have nothing of a title at the left, and to split it."""


def set_title(piece: Piece, text: str, xs: Sequence[float]) -> None:
    """Puts words left and right of the lines that enter; the box grows where they need more room."""
    parts = text.split(PARTS)
    low, high = (xs[0], xs[-1]) if xs else (piece.right, piece.right)
    best: tuple[float, float, float, int] | None = None
    for k in range(len(parts) + 1):
        long, rest = _long(parts[:k], bold=True), _long(parts[k:], bold=k == 0)
        if not xs and k < len(parts):
            continue
        left, right = piece.left, piece.right
        if xs:
            left = max(left, long + _INSET + _FROM_LINE - low) if long else left
            right = max(right, rest + _INSET + _FROM_LINE + high) if rest else right
        else:
            right = max(right, long + 2 * _INSET - left)
        if len(xs) == 1:
            left, right = _balanced(piece, left, right)
        cost = left + right + (_SPLIT if 0 < k < len(parts) else 0) + (_REST if k == 0 else 0)
        if best is None or cost < best[0]:
            best = (cost, left, right, k)
    assert best is not None
    _, piece.left, piece.right, k = best
    for words, is_rest in ((parts[:k], False), (parts[k:], k > 0)):
        if words:
            long = _long(words, bold=not is_rest)
            x = piece.right - _INSET - long if k == 0 or is_rest else -piece.left + _INSET
            piece.title.append((Word(x, _BASE, SIZE, PARTS.join(words)), long, is_rest))


def _long(words: Sequence[str], *, bold: bool) -> float:
    rest = PARTS.join(["", *words[1:]])
    return width(words[0], SIZE, bold=bold) + width(rest, SIZE) if words else 0.0


def _balanced(piece: Piece, left: float, right: float) -> tuple[float, float]:
    """The sides of a box with one entry that has grown for its title, not too far from equal."""
    if left + right > _NAME_WIDE:  # for a name, not for what is in the box
        return left, right
    if right > piece.right:
        left = max(left, _SYMMETRY * right)
    elif left > piece.left:
        right = max(right, _SYMMETRY * left)
    if abs(left - right) < _ALMOST:
        left = right = max(left, right)
    return left, right
