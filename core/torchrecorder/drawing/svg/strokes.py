"""Outlines as a PDF draws them: from the relative steps of a picture to absolute points."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+")
_ARC = 0.5523
"""How far the control points of a quarter of a circle lie from its ends, as a part of the radius."""
_TAKES = {"M": 2, "l": 2, "h": 1, "v": 1, "c": 6, "q": 4}


def outline(data: str) -> str:
    """The path of an SVG: `M` in absolute, `l h v c q` in relative numbers, `z`."""
    found: list[str] = []
    letter, numbers = "", [0.0][:0]
    x = y = 0.0
    for token in _TOKEN.findall(data):
        if token.isalpha():
            letter = token
            if token in "zZ":
                found.append("h")
            continue
        numbers.append(float(token))
        if len(numbers) == _TAKES[letter]:
            text, x, y = _step(letter, numbers, x, y)
            found.append(text)
            numbers.clear()
    return " ".join(found)


def _step(letter: str, n: list[float], x: float, y: float) -> tuple[str, float, float]:
    """One step from a point: its operator, and the point it leads to."""
    if letter == "M":
        return f"{_point(n[0], n[1])} m", n[0], n[1]
    if letter == "c":
        points = _point(x + n[0], y + n[1]), _point(x + n[2], y + n[3]), _point(x + n[4], y + n[5])
        return f"{' '.join(points)} c", x + n[4], y + n[5]
    if letter == "q":
        end_x, end_y = x + n[2], y + n[3]
        middle = x + n[0], y + n[1]
        one = _point(x + 2 / 3 * (middle[0] - x), y + 2 / 3 * (middle[1] - y))
        two = _point(end_x + 2 / 3 * (middle[0] - end_x), end_y + 2 / 3 * (middle[1] - end_y))
        return f"{one} {two} {_point(end_x, end_y)} c", end_x, end_y
    dx, dy = (n[0], 0.0) if letter == "h" else (0.0, n[0]) if letter == "v" else (n[0], n[1])
    return f"{_point(x + dx, y + dy)} l", x + dx, y + dy


def rectangle(x: float, y: float, wide: float, high: float, rx: float, ry: float | None = None) -> str:
    """A rectangle with round corners; if they meet, an ellipse."""
    if not rx:
        return f"{_point(x, y)} {_point(wide, high)} re"
    ry = rx if ry is None else ry
    kx, ky = rx * (1 - _ARC), ry * (1 - _ARC)
    right, bottom = x + wide, y + high
    return " ".join(
        (
            f"{_point(x + rx, y)} m {_point(right - rx, y)} l",
            f"{_point(right - kx, y)} {_point(right, y + ky)} {_point(right, y + ry)} c {_point(right, bottom - ry)} l",
            f"{_point(right, bottom - ky)} {_point(right - kx, bottom)} {_point(right - rx, bottom)} c",
            f"{_point(x + rx, bottom)} l",
            f"{_point(x + kx, bottom)} {_point(x, bottom - ky)} {_point(x, bottom - ry)} c {_point(x, y + ry)} l",
            f"{_point(x, y + ky)} {_point(x + kx, y)} {_point(x + rx, y)} c h",
        )
    )


def circle(cx: float, cy: float, radius: float) -> str:
    """A circle."""
    return rectangle(cx - radius, cy - radius, 2 * radius, 2 * radius, radius)


def _point(x: float, y: float) -> str:
    return f"{x:.2f} {y:.2f}"
