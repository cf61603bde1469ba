"""Pictures for a column of print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.core.graph.building import residual_block, transformer
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph
from torchrecorder.page import Diagram
from torchrecorder.page.files import for_print, laid_out_for, points
from torchrecorder.request import DrawingOptions


def drawn(graph: Graph, width: str, **options: object) -> Diagram:
    wanted = laid_out_for(DrawingOptions(**options), width)  # type: ignore[arg-type]
    found = draw([DrawJob(graph, f"{i}" * 64, one) for i, one in enumerate(wanted)], find_engine())
    return for_print([Diagram(one, load_graph=lambda: graph) for one in found if isinstance(one, Drawing)], width)


@pytest.mark.parametrize(("width", "size"), [("3.25in", 234), ("10cm", 283.46), ("50mm", 141.73), ("312px", 234)])
def test_widths_of_print(width: str, size: float) -> None:
    assert points(width) == pytest.approx(size, abs=0.01)


@pytest.mark.parametrize("width", ["80%", "20em", "0in", "50vw"])
def test_a_width_that_needs_a_page(width: str) -> None:
    with pytest.raises(OptionError, match=r"write 3.25in or 8cm"):
        points(width)


def test_every_format_has_the_size_that_is_named(tmp_path: Path) -> None:
    diagram = drawn(transformer(3), "3.25in", depth=3)
    (note,) = diagram.notes
    found = re.fullmatch(r"([\d.]+) × ([\d.]+) in, with letters of ([\d.]+) pt", note)
    assert found is not None
    wide, high, letters = map(float, found.groups())
    assert wide <= 3.25
    assert 6 <= letters <= 9
    for name in ("net.svg", "net.pdf", "net.tex"):
        diagram.save(tmp_path / name)
    svg = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', (tmp_path / "net.svg").read_text())
    pdf = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", (tmp_path / "net.pdf").read_bytes())
    tex = (tmp_path / "net.tex").read_text()
    page = re.search(r"paperwidth=([\d.]+)bp,paperheight=([\d.]+)bp", tex)
    assert svg
    assert pdf
    assert page
    for sides in (svg.groups(), pdf.groups(), page.groups()):
        assert [float(side) / 72 for side in sides] == pytest.approx([wide, high], abs=0.01)
    assert float(re.search(r"tr/node.*fontsize\{([\d.]+)bp", tex)[1]) == pytest.approx(letters, abs=0.06)  # type: ignore[index]


def test_letters_are_no_larger_where_there_is_room() -> None:
    assert drawn(residual_block(), "20in").notes[-1].endswith("with letters of 9.0 pt")


@pytest.mark.parametrize(("width", "unit"), [("0.5in", "in"), ("1.27cm", "cm"), ("12.7mm", "mm"), ("36pt", "pt")])
def test_a_column_that_is_too_narrow(width: str, unit: str) -> None:
    with pytest.raises(OptionError) as caught:
        drawn(residual_block(), width)
    advice = f"write a width of ([\\d.]+{unit}) or more, or show less: .*"
    said = re.fullmatch(f"at a width of {width} the letters would be [\\d.]+ pt; {advice}", str(caught.value))
    assert said is not None, "in the unit that was asked in"
    assert drawn(residual_block(), said[1]).notes


def test_shades_of_grey() -> None:
    svg = drawn(transformer(3), "3.25in", grey=True).standalone_svg()
    colours = set(re.findall(r"#[0-9a-f]{6}", svg)) - {"#1f2328", "#ffffff"}
    assert len(colours) > 2
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours)
