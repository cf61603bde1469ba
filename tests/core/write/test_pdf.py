"""The picture in files for print and for what shows no vectors."""

from __future__ import annotations

import re
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from tests.core.drawing.engines import NASTY, picture
from tests.core.graph.building import Net, mlp, residual_block, transformer
from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.write import pdf
from torchrecorder.write.pdf import to_pdf, to_png


def named(text: str) -> Graph:
    net = Net(text)
    return net.graph(net.layer(text, text, net.input(text, 1), said=text))


def made(graph: Graph) -> bytes:
    return to_pdf(picture(graph).layout, "what it shows: 卷积")


def opened(pdf: bytes) -> Any:
    return pytest.importorskip("pypdfium2").PdfDocument(pdf)


def words(pdf: bytes) -> str:
    return str(opened(pdf)[0].get_textpage().get_text_range())


def fonts_of(pdf: bytes) -> tuple[set[str], int]:
    """The names of the fonts, and how many files of fonts lie in it."""
    return set(re.findall(r"/FontName /([\w+]+)", pdf.decode("latin-1"))), len(re.findall(rb"/FontFile[23] ", pdf))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the fonts of a machine that has no others."""
    monkeypatch.setattr(pdf, "_folders", lambda: [tmp_path])
    monkeypatch.setattr(pdf, "_files", pdf._files.__wrapped__)
    return tmp_path


def write_font(file: Path, signs: str, *, may_embed: bool = True) -> None:
    """A font whose signs are squares."""
    pen = TTGlyphPen(None)
    for step in ((0, 0), (0, 700), (700, 700), (700, 0)):
        (pen.lineTo if pen.points else pen.moveTo)(step)
    pen.closePath()
    builder = FontBuilder(1000)
    builder.setupGlyphOrder([".notdef", "square"])
    builder.setupCharacterMap({ord(sign): "square" for sign in signs})
    builder.setupGlyf({".notdef": pen.glyph(), "square": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (1000, 0), "square": (1000, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupOS2(fsType=0 if may_embed else 2)
    builder.setupNameTable({"familyName": file.stem, "styleName": "Regular", "psName": file.stem})
    builder.setupPost()
    builder.save(file)


def test_words_and_their_fonts() -> None:
    pdf = made(residual_block())
    text = words(pdf)
    assert {"conv1", "Conv2d 3×3 /2 · 8→16 · BatchNorm · ReLU", "BasicBlock · 3.68 k params"} <= set(text.splitlines())
    names, files = fonts_of(pdf)
    assert {re.sub(r"^[A-Z]{6}\+", "", name) for name in names} == {"TorchrecorderSans", "TorchrecorderSansBold"}
    assert files == len(names) == 2


def test_subsets_of_two_pictures_have_different_names() -> None:
    assert not fonts_of(made(mlp()))[0] & fonts_of(made(residual_block()))[0]


def test_title_and_alternative_text() -> None:
    pdf = made(mlp())
    facts = opened(pdf).get_metadata_dict()
    assert (facts["Title"], facts["Subject"]) == ("Net", "what it shows: 卷积")
    assert b"/S /Figure" in pdf
    assert b"/Alt <feff%b>" % "what it shows: 卷积".encode("utf-16-be").hex().encode() in pdf


def test_several_stand_in_one_page_of_latex_which_takes_one_group() -> None:
    pdf = made(mlp())
    assert b"/Transparency" not in pdf
    assert b"/ca " in pdf


def test_the_same_bytes_each_time_and_few_of_them() -> None:
    pdf = made(transformer(12))
    assert pdf == made(transformer(12))
    assert len(pdf) < 40_000


@pytest.mark.parametrize("sign", "×→−≤∞é·…αЖ\u2002\u202f")
def test_signs_of_our_own(sign: str, machine: Path) -> None:
    assert sign.strip() in words(made(named(f"a {sign}")))


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:12]))
def test_no_name_breaks_the_file(text: str, machine: Path) -> None:
    try:
        assert len(opened(made(named(text)))) == 1
    except OptionError as error:
        assert {"עברית 漢字 🙂": 2, "\u202eoverride": 0}[text] == len(error.problems)  # noqa: PT017 (most raise nothing)


def test_fonts_of_the_machine(machine: Path) -> None:
    (machine / "broken.ttf").write_bytes(b"no font")
    write_font(machine / "AllBold.ttf", "卷积层")
    write_font(machine / "Closed.otf", "卷积层", may_embed=False)
    write_font(machine / "Some.ttf", "卷积")
    pdf = made(named("卷积 x"))
    assert "卷积 x" in words(pdf)
    names, files = fonts_of(pdf)
    assert files == 3
    assert {name[7:] for name in names} > {"Some"}
    assert {name[7:] for name in fonts_of(made(named("卷积层")))[0]} > {"Some", "AllBold"}


def test_a_sign_that_no_font_has(machine: Path) -> None:
    write_font(machine / "Closed.ttf", "卷", may_embed=False)
    with pytest.raises(OptionError) as caught:
        made(named("卷 🙂 שלום"))
    joined, lacking = caught.value.problems
    assert "cannot show ולם… (U+05D5, U+05DC, U+05DD, …)" in joined.replace("ש", "…")
    assert "write a .svg" in joined
    assert lacking == (
        "no font of this machine has 卷🙂 (U+5377, U+1F642), and a PDF or PNG holds its fonts; install one,"
        " such as Noto Sans CJK, or write a .svg"
    )


def test_a_long_page_is_made_smaller() -> None:
    assert opened(to_pdf(Layout(100, 28800, uid="p")))[0].get_size() == (50, 14400)


def test_a_png_of_192_dots_per_inch() -> None:
    pytest.importorskip("pypdfium2")
    drawn = picture(mlp())
    png = to_png(drawn.layout)
    assert png.startswith(b"\x89PNG")
    wide, high = struct.unpack(">II", png[16:24])
    assert (wide, high) == (pytest.approx(drawn.width * 2, abs=2), pytest.approx(drawn.height * 2, abs=2))
    assert len(set(zlib.decompress(png[png.index(b"IDAT") + 4 : -16]))) > 20


def test_without_pdfium_a_png_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(OptionError, match=r"pip install 'torchrecorder-docs\[png\]'"):
        to_png(picture(mlp()).layout)
