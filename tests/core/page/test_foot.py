"""The line at the foot of what leaves a page: in every format, in the description, and switched off."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.drawing.engines import SVG, parsed
from tests.core.graph.building import mlp
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.layout.widths import width
from torchrecorder.page import Diagram
from torchrecorder.page.figure import CopyNumbers
from torchrecorder.page.files import FILE_TYPES, for_print
from torchrecorder.request import DrawingOptions, FigureOptions, read_drawing

NOTE = "not drawn: 3 operations on `masks` & positions"
LONG = "closed, because the picture is full: " + ", ".join(f"layers.{i}.attention" for i in range(30))
WORD = "x" * 300


def diagram(*notes: str, **options: str) -> Diagram:
    graph = mlp(2)
    wanted = read_drawing(options)
    (drawing,) = draw([DrawJob(graph, "0" * 64, wanted)], find_engine())
    assert isinstance(drawing, Drawing)
    return Diagram(replace(drawing, notes=notes, foot=notes), load_graph=lambda: graph, options=wanted)


def foot(svg: str) -> list[str]:
    groups = [group for group in parsed(svg).iter(f"{SVG}g") if group.get("class") == "foot"]
    return [text.text or "" for group in groups for text in group]


def test_what_a_picture_does_not_show_is_said_by_the_drawing() -> None:
    (drawing,) = draw([DrawJob(mlp(2), "0" * 64, DrawingOptions(expand=("none",)))], find_engine())
    assert isinstance(drawing, Drawing)
    assert drawing.foot == ("expand: no layer has a path like 'none'",)
    assert Drawing.from_bytes(drawing.to_bytes()) == drawing


@pytest.mark.parametrize("notes", [(NOTE,), (NOTE, LONG), (WORD,)])
def test_the_foot_is_in_the_picture_and_below_all_else(notes: tuple[str, ...]) -> None:
    drawn = diagram(*notes)
    svg, plain = drawn.standalone_svg(), drawn.without_foot().standalone_svg()
    lines = foot(svg)
    assert "".join(lines).replace(" ", "") == " · ".join(notes).replace("`", "").replace(" ", "")
    assert all(width(line, 8) <= drawn.size[0] * 0.75 for line in lines)
    assert (len(lines) > 1) == (notes != (NOTE,))
    below = float(parsed(plain).get("viewBox", "").split()[3])
    ys = [float(text.get("y", "0")) for g in parsed(svg).iter(f"{SVG}g") if g.get("class") == "foot" for text in g]
    assert below < min(ys)
    assert max(ys) < float(parsed(svg).get("viewBox", "").split()[3])
    assert foot(plain) == []
    (said,) = (desc.text or "" for desc in parsed(svg).iter(f"{SVG}desc"))
    assert notes[0].replace("`", "") in said


def test_every_format_that_leaves_a_page_has_it_unless_it_is_switched_off(tmp_path: Path) -> None:
    drawn, without = diagram("not drawn: masks"), diagram("not drawn: masks", foot="no")
    for it in (it for it in FILE_TYPES if "foot" in it.heeds):
        without_it = replace(drawn, options=replace(drawn.options, foot=False))
        assert it.write(drawn) != it.write(without_it), it.name
        assert it.write(without) == it.write(without_it), it.name
    assert {it.name for it in FILE_TYPES if "foot" in it.heeds} == {"svg", "pdf", "tex", "png"}
    assert "not drawn: masks" in drawn.to_tikz()
    heights = [re.search(rb"/MediaBox \[0 0 [\d.]+ ([\d.]+)\]", one.to_pdf()) for one in (drawn, without)]
    assert heights[0]
    assert heights[1]
    assert float(heights[0][1]) == pytest.approx(float(heights[1][1]) + 10, abs=0.1)


def test_a_page_has_no_foot_since_its_notes_stand_below() -> None:
    drawn, files = diagram(NOTE), list[str]()
    shown = CopyNumbers().contents(drawn, FigureOptions())
    assert 'class="foot"' not in shown
    assert shown.count('data-foot="&lt;g class=&quot;foot&quot;') == 1, "for files that a reader saves"
    assert "data-foot" not in CopyNumbers().contents(diagram(NOTE, foot="no"), FigureOptions())
    CopyNumbers().contents(drawn, FigureOptions(loading="link"), save=lambda svg: files.append(svg) or "net.svg")  # type: ignore[func-returns-value]
    assert foot(files[0]) == []


def test_the_size_in_print_counts_the_foot() -> None:
    printed = for_print([diagram(NOTE)], "8cm")
    wide, high = printed.file_size
    assert f"{wide / 72:.2f} × {high / 72:.2f} in" in printed.notes[-1]
    assert high > for_print([diagram()], "8cm").file_size[1]


def test_a_picture_in_a_page_turns_dark_with_it_and_a_file_does_not() -> None:
    drawn = diagram(NOTE)
    assert "<style>" not in drawn.standalone_svg()
    shown = drawn.without_foot().standalone_svg()
    assert shown.count("@media (prefers-color-scheme:dark){svg{filter:invert(") == 1
    assert [it.tag for it in parsed(shown)][:2] == [f"{SVG}style", f"{SVG}title"]
