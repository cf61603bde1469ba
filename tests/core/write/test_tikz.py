"""The picture as TikZ: read back without LaTeX, and compiled where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.drawing.engines import NASTY, SVG, finish, laid_out, parsed, picture
from tests.core.graph.building import Net, mlp, residual_block, transformer
from torchrecorder.drawing.details import details
from torchrecorder.graph import Graph
from torchrecorder.layout.geometry import Rect
from torchrecorder.layout.model import Figure, Layout
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.view import make_view
from torchrecorder.write.svg import inline
from torchrecorder.write.tex import escaped
from torchrecorder.write.tikz import to_tikz

NODE = re.compile(
    r"\\node\[tr/(\w+), .*?minimum width=([\d.]+)bp, minimum height=([\d.]+)bp"
    r".*?\] \((\S+)\) at \(([\d.]+),([\d.]+)\) \{"
)
SIGNS = r"_ & % # $ \ { } ^ ~ < > | [a] * -- ' ` \" × → − ≤ ∞ é λ"
needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex is on the PATH: apt-get install texlive-pictures"
)


def layout_of(graph: Graph) -> Layout:
    return picture(graph).layout


def named(text: str) -> Graph:
    net = Net(text)
    return net.graph(net.layer(text, text, net.input("x", 1), said=text))


def figures(svg: str) -> list[tuple[float, ...]]:
    """Middle and size of each node and box."""
    root = parsed(svg)
    found: list[tuple[float, ...]] = []
    for shape in (*root.iter(f"{SVG}rect"), *root.iter(f"{SVG}circle")):
        get = {name: float(value) for name, value in shape.attrib.items() if re.fullmatch(r"[\d.]+", value)}
        if "cx" in get:
            found.append((get["cx"], get["cy"], 2 * get["r"], 2 * get["r"]))
        else:
            x, y, wide, high = (get[name] for name in ("x", "y", "width", "height"))
            found.append((x + wide / 2, y + high / 2, wide, high))
    return found


@pytest.mark.parametrize("graph", [mlp(), residual_block(), transformer(3)], ids=["mlp", "residual", "transformer"])
@pytest.mark.parametrize("scale", [1, 0.5])
def test_nodes_are_where_they_are_in_the_svg(graph: Graph, scale: float) -> None:
    layout = layout_of(graph)
    svg = inline(layout)
    written = NODE.findall(to_tikz(layout, scale=scale))
    places = sorted((float(x), float(y), float(wide), float(high)) for _, wide, high, _, x, y in written)
    expected = sorted(tuple(round(scale * number, 2) for number in figure) for figure in figures(svg))
    assert len(places) == len(expected) > 3
    for place, figure in zip(places, expected, strict=True):
        assert place == pytest.approx(figure, abs=0.02)


def test_names_are_paths_and_each_is_there_once() -> None:
    graph = transformer(3)
    tex = to_tikz(layout_of(graph), details(make_view(graph)))
    names = [name for _, _, _, name, _, _ in NODE.findall(tex)]
    assert {"x", "embed", "blocks-0-attn-q", "box-attn", "output"} <= set(names)
    assert len(set(names)) == len(names)
    assert re.search(r"\\draw\[tr/edge, tr/to\] .*; % x to embed$", tex, re.MULTILINE)


def test_a_node_of_one_row_has_all_its_words() -> None:
    (layout,) = [PaperLayout(make_view(mlp()))]
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None
    made = finish(placed, uid="p1", title="t", desc="d")
    assert "{\\trline{\\textbf{x} ${\\cdot}$ " in to_tikz(made.layout)


def test_edges_and_arrows() -> None:
    layout = layout_of(residual_block())
    svg, tex = inline(layout), to_tikz(layout)
    heads = sum(path.get("d", "").count("z") for path in parsed(svg).iter(f"{SVG}path") if path.get("fill") != "none")
    assert tex.count("tr/to]") == heads == 6
    assert tex.count("\\draw[tr/skip") == 2
    assert " .. controls (" in tex


def test_what_became_of_a_node() -> None:
    layout = layout_of(mlp())
    changed = Figure(frozenset(("changed",)), Rect(10, 10, 60, 30), is_round=False, words=())
    tex = to_tikz(replace(layout, nodes=[*layout.nodes, changed]))
    assert "\\fill[trchanged] (12,12) circle [radius=5.5bp];\n\\draw[draw=trffffff" in tex


def test_styles_by_kind_and_what_a_paper_can_change() -> None:
    tex = to_tikz(layout_of(residual_block()))
    assert re.search(r"tr/conv/\.style=\{.*draw=trconv, .*fill=trconv, fill opacity=0.16", tex)
    assert "\\definecolor{trconv}{HTML}{3B82C4}" in tex
    assert "\\begin{tikzpicture}[x=1bp, y=-1bp, tr/own/.try]" in tex


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b&c%d#e$f", r"a\_b\&c\%d\#e\$f"),
        ("\\{}", r"\textbackslash{}\{\}"),
        ("1×3 → ∞", r"1${\times}$3 ${\to}$ ${\infty}$"),
        ("é -- λ", r"é -{}-{} ${\lambda}$"),
        ("10\u202f000\u2002“a”", r"10\,000\enspace{}``a''"),
        ("卷积 a", r"\trother{卷积} a"),
        ("a\x07\u202eb", "ab"),
    ],
)
def test_words(text: str, written: str) -> None:
    assert escaped(text) == written


def compiled(folder: Path, text: str) -> str:
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    said = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, said[-2000:]
    return said


@needs_latex
def test_hostile_names_compile_alone_on_one_page(tmp_path: Path) -> None:
    net, x = Net("N"), 0
    x = net.input("x", 1)
    for text in (SIGNS, *(text for text in NASTY if text.isascii() and len(text) < 100)):
        x = net.layer(text, text, x, said=text)
    assert "(1 page" in compiled(tmp_path, to_tikz(layout_of(net.graph(x))))


@needs_latex
def test_a_paper_inputs_pictures_and_changes_their_looks(tmp_path: Path) -> None:
    for name, graph in (("one", residual_block()), ("two", named("a_b"))):
        (tmp_path / f"{name}.tex").write_text(to_tikz(layout_of(graph), scale=0.7), encoding="utf-8")
    own = "\\tikzset{tr/own/.style={tr/conv/.append style={fill=red}}}"
    body = "\\input{one} and \\input{two} \\begin{tikzpicture}\\draw (0,0) -- (1,1);\\end{tikzpicture}"
    head = "\\documentclass{article}\\usepackage{tikz}"
    said = compiled(tmp_path, f"{head}{own}\\begin{{document}}{body}\\end{{document}}")
    assert "(1 page" in said


@needs_latex
def test_without_tikz_or_a_font_latex_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "one.tex").write_text(to_tikz(layout_of(mlp())), encoding="utf-8")
    with pytest.raises(AssertionError, match="This picture is drawn with TikZ"):
        compiled(tmp_path, "\\documentclass{article}\\begin{document}\\input{one}\\end{document}")
    with pytest.raises(AssertionError, match="pdflatex has no font for some words"):
        compiled(tmp_path, to_tikz(layout_of(named("卷积"))))
