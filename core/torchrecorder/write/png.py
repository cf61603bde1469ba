"""The picture as PNG, painted from its PDF by PDFium."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from torchrecorder.errors import OptionError
from torchrecorder.layout.model import Layout
from torchrecorder.write.pdf import to_pdf

DPI = 192  # two dots in a CSS pixel
_MAX_PIXELS = 100_000_000  # a larger picture is painted more coarsely, since its pixels must fit into memory


def pdfium() -> Any:
    """The module that paints.

    Raises:
        OptionError: It is not installed.
    """
    try:
        return import_module("pypdfium2")
    except ImportError as error:
        raise OptionError(("a .png needs pypdfium2: pip install 'torchrecorder-docs[png]'",)) from error


def to_png(layout: Layout, scale: float = 1.0, notes: Sequence[str] = ()) -> bytes:
    """The PNG of a finished layout, at `DPI` dots per inch."""
    document = pdfium().PdfDocument(to_pdf(layout, scale=scale, notes=notes))
    try:
        page = document[0]
        wide, high = page.get_size()
        density = min(DPI / 72, (_MAX_PIXELS / (wide * high)) ** 0.5)
        bitmap = page.render(scale=density, rev_byteorder=True, prefer_bgrx=False)
        wide, high, stride, pixels = bitmap.width, bitmap.height, bitmap.stride, bytes(bitmap.buffer)
    finally:
        document.close()
    # rows of red, green and blue
    rows = b"".join(b"\0" + pixels[row * stride : row * stride + 3 * wide] for row in range(high))
    per_metre = round(density * 72 / 0.0254)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)),
        (b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    pack = struct.Struct(">I").pack
    chunks = (pack(len(data)) + kind + data + pack(zlib.crc32(kind + data)) for kind, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
