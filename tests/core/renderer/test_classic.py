"""`theme: classic` of a classic recording: the picture of `make_dot`, from plain data."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from torch import nn

from tests.parity.classic_nets import NETS
from torchrecorder import Graph, make_dot, record
from torchrecorder.drawing.svg import finish, fixed
from torchrecorder.drawing.svg.pdf import rectangle, to_pdf
from torchrecorder.engine import find_engine
from torchrecorder.errors import FormatError, ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.recording.classic import ClassicSession
from torchrecorder.recording.run import Forward, run_as
from torchrecorder.renderer.classic import to_classic_dot


def facts(source: str) -> Any:
    """Labels and shapes of the nodes, edges between them, and for each box its title and what it holds."""
    nodes: dict[str, tuple[str, str]] = {}
    edges, boxes = set(), []
    stack: list[tuple[str, list[tuple[str, str]]]] = []
    for line in source.splitlines():
        if found := re.match(r"\s*(n\d+) \[(.*)\]", line):
            label = re.search(r'label=("(?:[^"])*"|\S+)', found[2])
            assert label is not None
            shape = "box" if "shape=box" in found[2] else "ellipse"
            nodes[found[1]] = (label[1].strip('"').replace("\\n", " "), shape)
            if stack:
                stack[-1][1].append(nodes[found[1]])
        elif found := re.match(r"\s*(n\d+) -> (n\d+)", line):
            edges.add((found[1], found[2]))
        elif "subgraph" in line:
            stack.append(("", []))
        elif stack and (found := re.search(r'graph \[.*label=("(?:[^"])*"|\S+)', line)):
            stack[-1] = (found[1].strip('"').replace("\\n", " "), stack[-1][1])
        elif line.strip() == "}" and stack:
            boxes.append(stack.pop())
    return nodes, edges, boxes


def joined(source: str) -> str:
    """Labels of several lines on one."""
    return re.sub(r'"[^"]*"', lambda found: found[0].replace("\n", " "), source)


@pytest.mark.parametrize("depth", [0, 1, 2, 256])
@pytest.mark.parametrize("name", NETS)
def test_it_is_the_picture_of_make_dot(name: str, depth: int) -> None:
    make, shapes = NETS[name]
    rec = record(make(), "Net", shapes)
    graph = from_json(to_json(Graph.from_recorder(rec)))
    assert facts(to_classic_dot(graph, depth=depth).source) == facts(joined(make_dot(rec, depth).source))


def drawn(graph: Graph, depth: int) -> str:
    (layout,) = find_engine("auto").layout([to_classic_dot(graph, depth=depth).source])
    assert isinstance(layout, str)
    return finish(layout, uid="x", title="t", desc="d", theme="classic").svg


def test_words_are_meant_literally() -> None:
    svg = drawn(Graph.from_recorder(record(nn.Sequential(nn.ReLU()), '<b> & "x" \\n', (1, 3))), 0)
    assert '>&lt;b&gt; &amp; "x" \\n</text>' in svg
    assert ">[1, 3]</text>" in svg


def test_tensors_are_ellipses_also_in_a_pdf() -> None:
    svg = drawn(Graph.from_recorder(record(nn.Linear(30, 3), "Net", (100000, 30))), 1)
    found = re.findall(r'width="([\d.]+)" height="([\d.]+)" rx="([\d.]+)" ry="([\d.]+)" fill="(#\w+)"', svg)
    assert {paint for *_, paint in found} == {"#add8e6", "#556b2f"}
    for wide, high, rx, ry, _ in found:
        assert abs(float(wide) - 2 * float(rx)) <= 0.2
        assert abs(float(high) - 2 * float(ry)) <= 0.2
    assert rectangle(0, 0, 8, 4, 4, 2).startswith("4.00 0.00 m 4.00 0.00 l 6.21 0.00 8.00 0.90 8.00 2.00 c")
    assert to_pdf(fixed(svg)).startswith(b"%PDF")


def test_the_layer_that_raised_is_marked() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
    with pytest.raises(ForwardError) as caught:
        run_as("real", Forward(net, (torch.zeros(1, 3),), {}), ClassicSession)
    assert caught.value.graph is not None
    source = to_classic_dot(caught.value.graph, depth=1).source
    assert 'class="block error"' in source
    assert 'class="box error"' in source
    assert source.count("error") == 2


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([["layer", "a", 0, 0, ""]], "stands in 0"),
        ([["op", "a", 0, None, ""], ["op", "b", 1, 0, ""]], "stands in 0"),
        ([["wheel", "a", 0, None, ""]], "has an unknown kind"),
    ],
)
def test_damaged_nodes_are_found(nodes: Any, problem: str) -> None:
    data = json.loads(to_json(Graph.from_recorder(record(nn.ReLU(), "Net", (1, 3)))))
    with pytest.raises(FormatError, match=problem):
        from_json(json.dumps({**data, "classic": [nodes, []]}))
    with pytest.raises(FormatError, match="leads to or from an unknown node"):
        from_json(json.dumps({**data, "classic": [data["classic"][0], [[0, 99]]]}))
