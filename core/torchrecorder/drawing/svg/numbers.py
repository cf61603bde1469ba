"""Numbers and outlines in as few signs as one decimal needs."""

from __future__ import annotations

from functools import lru_cache

from torchrecorder.drawing.svg.geometry import Curve, Point, arrow


def number(value: float) -> str:
    """The number with one decimal at most: `12.3`, `4`, `.5`."""
    return _tenths(round(value * 10))


@lru_cache(maxsize=1 << 16)
def _tenths(tenths: int) -> str:
    """Cached, because the steps within a picture are few and it has thousands of them."""
    if not tenths % 10:
        return str(tenths // 10)
    text = str(tenths)
    return f"{text[:-1]}.{text[-1]}"


def curve(points: Curve) -> str:
    """The path data of a curve or of a line."""
    (x, y), *others = [(round(px * 10), round(py * 10)) for px, py in points]
    start = f"M{_tenths(x)} {_tenths(y)}"
    if len(others) == 1:
        return _tight(f"{start}l{_tenths(others[0][0] - x)} {_tenths(others[0][1] - y)}")
    steps: list[str] = []
    for i, (px, py) in enumerate(others, 1):
        steps += (_tenths(px - x), _tenths(py - y))
        if not i % 3:
            x, y = px, py
    return _tight(f"{start}c{' '.join(steps)}")


def arrow_head(start: Point, tip: Point) -> str:
    """The path data of an arrow head."""
    (x0, y0), (x1, y1), (x2, y2) = [(round(x * 10), round(y * 10)) for x, y in arrow(start, tip)]
    steps = f"{_tenths(x1 - x0)} {_tenths(y1 - y0)} {_tenths(x2 - x1)} {_tenths(y2 - y1)}z"
    return _tight(f"M{_tenths(x0)} {_tenths(y0)}l{steps}")


def _tight(data: str) -> str:
    return data.replace(" -", "-")
