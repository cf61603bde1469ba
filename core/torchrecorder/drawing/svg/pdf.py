"""The finished picture as a PDF of vectors, for LaTeX and print.

Only what `finish` writes has to be understood: rectangles, circles, paths of relative steps, and text in one family.
Text is set in Helvetica, which every PDF reader has and which layout reckons with; signs that it lacks, arrows, in
Symbol. Nothing has to be installed, and the same picture gives the same bytes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

from torchrecorder.drawing.svg.themes import width
from torchrecorder.errors import OptionError

_MAX_SIDE = 14_400
"""Longer pages are measured in larger units, by a rule of the format."""
_FONTS = dict.fromkeys(("Helvetica", "Helvetica-Bold"), " /Encoding /WinAnsiEncoding") | {"Symbol": ""}
"""With how their signs are numbered."""
_SYMBOL = {"→": "\xae", "−": "-", "←": "\xac", "↑": "\xad", "↓": "\xaf", "≤": "\xa3", "≥": "\xb3", "∞": "\xa5"}
_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+")
_ARC = 0.5523
"""How far the control points of a quarter of a circle lie from its ends, as a part of the radius."""
_TAKES = {"M": 2, "l": 2, "h": 1, "v": 1, "c": 6, "q": 4}
_ESCAPES = {n: f"\\{n:03o}" for n in range(256) if not 32 <= n <= 126 or chr(n) in "\\()"}
"""What could end a text between brackets is written as a number."""
_RUNS = re.compile(f"[{''.join(_SYMBOL)}]+|[^{''.join(_SYMBOL)}]+")


def to_pdf(svg: str) -> bytes:
    root = ElementTree.fromstring(svg)
    wide, high = (float(size) for size in root.get("viewBox", "").split()[2:])
    unit = max(wide, high, _MAX_SIDE) / _MAX_SIDE
    painter = _Painter(wide, high)
    content = f"{1 / unit:.6g} 0 0 {-1 / unit:.6g} 0 {high / unit:.2f} cm\n" + "".join(painter.paint(root, _Style()))
    return _file(wide / unit, high / unit, unit, content, painter.alphas)


@dataclass(frozen=True, slots=True)
class _Style:
    """What an element takes from those around it."""

    fill: str = "#000000"
    stroke: str = "none"
    fill_opacity: float = 1
    stroke_opacity: float = 1
    stroke_width: float = 1
    stroke_dasharray: str = ""
    font_size: float = 10.5
    font_weight: str = ""
    text_anchor: str = "start"

    def within(self, attributes: Mapping[str, str]) -> _Style:
        found: dict[str, str | float] = {}
        for name in _NAMES & attributes.keys():
            text = attributes[name]
            field = name.replace("-", "_")
            found[field] = text if isinstance(getattr(self, field), str) else float(text)
        return replace(self, **found) if found else self  # type: ignore[arg-type]


_NAMES = frozenset(field.replace("_", "-") for field in _Style.__slots__)


class _Painter:
    """Writes the operators of a page, and keeps the opacities that they use."""

    def __init__(self, wide: float, high: float) -> None:
        self.wide, self.high = wide, high
        self.alphas: dict[tuple[float, float], str] = {}

    def paint(self, root: ElementTree.Element, style: _Style) -> Iterator[str]:
        pending = [(root, style)]
        while pending:
            element, around = pending.pop()
            own = around.within(element.attrib)
            tag = element.tag.rpartition("}")[2]
            if tag in ("svg", "g"):
                pending.extend((child, own) for child in reversed(element))
            elif tag == "text":
                yield from self.text(element, own)
            elif tag in ("rect", "circle", "path"):
                yield from self.shape(tag, element, own)

    def shape(self, tag: str, element: ElementTree.Element, style: _Style) -> Iterator[str]:
        get = element.get
        if tag == "path":
            path = outline(get("d", ""))
        elif tag == "circle":
            path = circle(float(get("cx", "0")), float(get("cy", "0")), float(get("r", "0")))
        elif get("width") == "100%":
            path = rectangle(0, 0, self.wide, self.high, 0)
        else:
            x, y, w, h, r = (float(get(name, "0")) for name in ("x", "y", "width", "height", "rx"))
            path = rectangle(x, y, w, h, r, float(get("ry", r)))
        is_filled, is_drawn = style.fill != "none", style.stroke != "none"
        operator = {(True, True): "B", (True, False): "f", (False, True): "S"}.get((is_filled, is_drawn))
        if path and operator:
            parts = [self._alpha(style.fill_opacity, style.stroke_opacity)]
            if is_filled:
                parts.append(f"{_rgb(style.fill)} rg")
            if is_drawn:
                dashes = f" [{style.stroke_dasharray.replace(',', ' ')}] 0 d" if style.stroke_dasharray else ""
                parts.append(f"{_rgb(style.stroke)} RG {style.stroke_width:g} w{dashes}")
            yield f"q {' '.join(parts)} {path} {operator} Q\n"

    def _alpha(self, fill: float, stroke: float) -> str:
        return f"/{self.alphas.setdefault((fill, stroke), f'A{len(self.alphas)}')} gs"

    def text(self, element: ElementTree.Element, style: _Style) -> Iterator[str]:
        spans = [(element.text or "", style)]
        for child in element:
            spans += [(child.text or "", style.within(child.attrib)), (child.tail or "", style)]
        runs = [run for text, own in spans for run in _runs(text, own)]
        x, y = float(element.get("x", "0")), float(element.get("y", "0"))
        if style.text_anchor == "middle":
            x -= sum(wide for _, _, wide in runs) / 2
        shown = []
        for font, text, wide in runs:
            shown.append(f"/F{font} {style.font_size:g} Tf 1 0 0 -1 {x:.2f} {y:.2f} Tm ({text.translate(_ESCAPES)}) Tj")
            x += wide
        yield f"q {self._alpha(style.fill_opacity, 1)} {_rgb(style.fill)} rg BT {' '.join(shown)} ET Q\n"


def _runs(text: str, style: _Style) -> Iterator[tuple[int, str, float]]:
    """The text in parts of one font each: its number, the text in the font's own signs, its width."""
    bold = bool(style.font_weight)
    for match in _RUNS.finditer(text):
        part = match[0]
        wide = width(part, style.font_size, bold=bold)
        if part[0] in _SYMBOL:
            yield 2, "".join(_SYMBOL[sign] for sign in part), wide
        else:
            yield int(bold), part.encode("cp1252", "replace").decode("latin-1"), wide


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[i : i + 2], 16) / 255:.3g}" for i in (1, 3, 5))


def _file(wide: float, high: float, unit: float, content: str, alphas: Mapping[tuple[float, float], str]) -> bytes:
    """The objects of a document of one page, and where each begins."""
    stream = zlib.compress(content.encode("ascii"), 9)
    fonts = " ".join(f"/F{i} {i + 5} 0 R" for i in range(len(_FONTS)))
    states = " ".join(f"/{name} << /ca {fill:g} /CA {stroke:g} >>" for (fill, stroke), name in alphas.items())
    used = f"/Resources << /Font << {fonts} >> /ExtGState << {states} >> >>"
    page = f"/MediaBox [0 0 {wide:.2f} {high:.2f}] /UserUnit {unit:g} /Contents 4 0 R {used}"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {page} >>".encode(),
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        *(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{name}{encoding} >>".encode()
            for name, encoding in _FONTS.items()
        ),
    ]
    parts, starts = [b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n"], []
    for number, body in enumerate(objects, 1):
        starts.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    rows = "".join(f"{start:010d} 00000 n \n" for start in starts)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return b"".join((*parts, f"{end}startxref\n{sum(map(len, parts))}\n%%EOF\n".encode()))


def outline(data: str) -> str:
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
    return rectangle(cx - radius, cy - radius, 2 * radius, 2 * radius, radius)


def _point(x: float, y: float) -> str:
    return f"{x:.2f} {y:.2f}"


DPI = 192
_MAX_PIXELS = 100_000_000
"""A larger picture is painted more coarsely, since its pixels must fit into memory."""


def to_png(svg: str) -> bytes:
    """The PNG of a finished picture, at `DPI` dots per inch."""
    try:
        import pypdfium2  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise OptionError(("a .png needs pypdfium2: pip install 'torchrecorder-docs[png]'",)) from error
    document: Any = pypdfium2.PdfDocument(to_pdf(svg))
    try:
        page = document[0]
        wide, high = page.get_size()
        scale = min(DPI / 72, (_MAX_PIXELS / (wide * high)) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
        wide, high, stride, pixels = bitmap.width, bitmap.height, bitmap.stride, bytes(bitmap.buffer)
    finally:
        document.close()
    # rows of red, green and blue
    rows = b"".join(b"\0" + pixels[row * stride : row * stride + 3 * wide] for row in range(high))
    per_metre = round(scale * 72 / 0.0254)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)),
        (b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    pack = struct.Struct(">I").pack
    chunks = (pack(len(data)) + kind + data + pack(zlib.crc32(kind + data)) for kind, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
