"""The picture in files for print and for what shows no vectors."""

from __future__ import annotations

import re
import struct
import sys
import zlib

import pytest

from tests.core.drawing.engines import NASTY, picture
from tests.core.graph.building import Net, mlp, residual_block, transformer
from torchrecorder.drawing.svg import fixed
from torchrecorder.drawing.svg.pdf import outline, to_pdf, to_png
from torchrecorder.errors import OptionError


def content(pdf: bytes) -> str:
    found = re.search(rb"stream\n(.*?)\nendstream", pdf, re.DOTALL)
    assert found is not None
    return zlib.decompress(found[1]).decode("ascii")


def words(pdf: bytes) -> list[str]:
    shown = re.findall(r"\((.*?)(?<!\\)\) Tj", content(pdf))
    return [re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text) for text in shown]


def test_each_object_is_where_the_table_says() -> None:
    pdf = to_pdf(fixed(picture(residual_block()).svg))
    table = pdf[int(pdf.split()[-2]) :]
    starts = [int(row[:10]) for row in table.splitlines()[3:] if row.endswith(b"n ")]
    assert len(starts) == 7
    assert all(pdf[start:].startswith(b"%d 0 obj" % i) for i, start in enumerate(starts, 1))


def test_words_and_their_fonts() -> None:
    pdf = to_pdf(fixed(picture(residual_block()).svg))
    assert {"conv1", "Conv2d 3×3 /2 \xb7 8", "\xae", "BasicBlock", " \xb7 3.68 k params"} <= set(words(pdf))
    assert "/F2 10.5 Tf" in content(pdf)
    assert b"/BaseFont /Helvetica-Bold" in pdf


def test_every_shape_is_painted() -> None:
    svg = fixed(picture(residual_block()).svg)
    n_shapes = len(re.findall("<(?:rect|circle|path)", svg))
    operators = content(to_pdf(svg))
    assert len(re.findall(r" [BfS] Q$", operators, re.MULTILINE)) == n_shapes
    assert operators.count("BT") == operators.count("ET") == svg.count("<text")


def test_the_same_bytes_each_time() -> None:
    svg = fixed(picture(transformer(3)).svg)
    assert to_pdf(svg) == to_pdf(svg)
    assert len(to_pdf(svg)) < len(svg)


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:12]))
def test_no_name_breaks_the_file(text: str) -> None:
    net = Net(text)
    pdf = to_pdf(fixed(picture(net.graph(net.layer(text, text, net.input(text, 1), said=text))).svg))
    assert content(pdf).count("(") - content(pdf).count("\\(") == len(words(pdf))


def test_a_long_page_has_larger_units() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 28800"><path fill="#000000" d="M0 0l5 5z"/></svg>'
    assert b"/MediaBox [0 0 50.00 14400.00] /UserUnit 2 " in to_pdf(svg)


@pytest.mark.parametrize(
    ("data", "operators"),
    [
        ("M1 2l3-4z", "1.00 2.00 m 4.00 -2.00 l h"),
        ("M1 2v5h-1", "1.00 2.00 m 1.00 7.00 l 0.00 7.00 l"),
        ("M0 0c1 1 2 2 3 3 1 1 2 2 3 3", "0.00 0.00 m 1.00 1.00 2.00 2.00 3.00 3.00 c 4.00 4.00 5.00 5.00 6.00 6.00 c"),
        ("M0 0q0 3-3 3", "0.00 0.00 m 0.00 2.00 -1.00 3.00 -3.00 3.00 c"),
        ("M.5-.5l1 1", "0.50 -0.50 m 1.50 0.50 l"),
    ],
)
def test_outlines(data: str, operators: str) -> None:
    assert outline(data) == operators


def test_a_png_of_192_dots_per_inch() -> None:
    pytest.importorskip("pypdfium2")
    made = picture(mlp())
    png = to_png(fixed(made.svg))
    assert png.startswith(b"\x89PNG")
    wide, high = struct.unpack(">II", png[16:24])
    assert (wide, high) == (pytest.approx(made.width * 2, abs=2), pytest.approx(made.height * 2, abs=2))
    assert len(set(zlib.decompress(png[png.index(b"IDAT") + 4 : -16]))) > 20


def test_without_pdfium_a_png_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(OptionError, match=r"pip install 'torchrecorder-docs\[png\]'"):
        to_png(fixed(picture(mlp()).svg))
