"""Flowcharts of Mermaid; its own parser reads those of hostile names where Node.js is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.core.graph.building import Net, mlp, nested, residual_block, transformer
from tests.node import node_with
from torchrecorder.drawing.draw import views_of
from torchrecorder.graph import Graph
from torchrecorder.request import DrawingOptions
from torchrecorder.write import mermaid
from torchrecorder.write.mermaid import MAX_NODES

HOSTILE = (
    *(
        'a"]',
        "end",
        "`x`",
        "</div><script>alert(1)</script>",
        '%%{init: {"theme":"dark"}}%%',
        "1. one",
        "- two",
        "&lt;",
    ),
    *("__init__", "$$x$$", "#35;", 'click n0 "javascript:alert(1)"', "\\n", "a|b", "é\u202e", "{{x}}", "subgraph", ";"),
    *("x --> y", "** bold **", "http://x.y/z", "@{ shape: x }", "😀", "层", "n0", " ", "a\nb"),
)
LINE = re.compile(
    r"flowchart (TB|LR)|  acc(Title|Descr): [^#;{}<>\"]+|  %% [^{}<>\"]+|  classDef \w+ [\w#:,]+|  class [\w,]+ \w+"
    r'|  n\d+ (-->|-\.->)(\|"[^"`<>$]+"\|)? n\d+| +subgraph b\d+\["[^"`<>$]+"\]| +end'
    r'| +n\d+(\(|\(\(|\(\[)"([^"`<>$]|<br>)+"(\)|\)\)|\]\))'
)


def to_mermaid(graph: Graph, options: DrawingOptions) -> str:
    return mermaid.to_mermaid(lambda given: views_of(graph, given).view(beside=False), options)


def hostile(name: str) -> Graph:
    net = Net(f"Net{name}")
    x = net.input(name, 1, 4)
    with net.call(name, name):
        x = net.layer(f"{name}.b", name, net.layer(f"{name}.a", "Linear", x))
    return net.graph(x)


GRAPHS = {"mlp": mlp(), "residual": residual_block(), "deep": nested(12), "transformer": transformer(3)}
CASES = [
    *((graph, options) for graph in GRAPHS.values() for options in (DrawingOptions(), DrawingOptions(direction="LR"))),
    *((hostile(name), DrawingOptions(depth="all")) for name in HOSTILE),
]


@pytest.mark.parametrize(("graph", "options"), CASES)
def test_lines_are_of_few_kinds(graph: Graph, options: DrawingOptions) -> None:
    lines = to_mermaid(graph, options).splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert lines[0] == f"flowchart {options.direction}"


def test_boxes_hold_what_is_in_them() -> None:
    text = to_mermaid(transformer(2), DrawingOptions(depth=2))
    assert text.count("  subgraph ") == text.count("  end\n") > 0
    assert re.search(r'subgraph b0\["[^"]*"\]\n    \S', text)
    assert "×2" in text, "equal neighbours are drawn once"
    assert "-.->" in text


@pytest.mark.parametrize(
    "options", [DrawingOptions(depth="all", fold=False), DrawingOptions(expand=("**",), fold=False)]
)
def test_a_chart_has_few_nodes_and_says_what_is_left_out(options: DrawingOptions) -> None:
    text = to_mermaid(transformer(12), options)
    nodes = set(re.findall(r"^ +(n\d+)[([]", text, re.MULTILINE))
    assert 10 < len(nodes) <= MAX_NODES
    assert re.search(r"%% smaller than asked for, which would be \d{3} nodes", text)


def test_many_inputs() -> None:
    net = Net("Wide")
    inputs = [net.input(f"x{i}", 1, 4) for i in range(70)]
    text = to_mermaid(net.graph(net.op("cat", *inputs)), DrawingOptions())
    assert all(map(LINE.fullmatch, text.splitlines()))


@pytest.mark.node
def test_the_parser_of_mermaid_reads_them(tmp_path: Path) -> None:
    node = node_with(tmp_path, "mermaid@11", "jsdom@26")
    files = [tmp_path / f"{i}.mmd" for i in range(len(CASES))]
    for file, (graph, options) in zip(files, CASES, strict=True):
        file.write_text(to_mermaid(graph, options), encoding="utf-8")
    (tmp_path / "wrong.mmd").write_text('flowchart TB\n  n0("a"]")', encoding="utf-8")
    shutil.copy(Path(__file__).with_name("parse_mermaid.mjs"), tmp_path)
    read = subprocess.run(
        [node, "parse_mermaid.mjs", *(file.name for file in files), "wrong.mmd"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout.split() == [*("flowchart-v2" for _ in files), "refused"], read.stderr
