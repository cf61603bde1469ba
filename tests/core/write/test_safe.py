"""The whitelist for pictures of a shared cache: all that we write passes, and nothing else."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.drawing.engines import NASTY, finish, laid_out
from tests.core.graph.building import Net, chain, mlp, residual_block, transformer
from tests.core.graph.drawn import graphs
from tests.core.write.safe import is_safe
from torchrecorder.drawing import StyledNode
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.request import DrawingOptions
from torchrecorder.view import make_view
from torchrecorder.write.svg import neutral

UID = "tr-0123456789ab"


def drawn(graph: Graph, *, title: str = "Net", theme: Literal["modern", "classic"] = "modern", **view: object) -> str:
    source = to_dot(make_view(graph, DrawingOptions(**view)), show=("shapes", "dtypes", "memory", "flops")).source  # type: ignore[arg-type]
    return finish(laid_out(source), uid=UID, title=title, desc=title, theme=theme).svg


def failed() -> Graph:
    net = Net("Failed")
    with net.call("a", "pkg.Block", params=3):
        net.op("add", net.input("x", 1, 4), net.weight("w", 4))
        net.fail("too wide")
    return net.graph()


def linked() -> Graph:
    net = Net("Linked")
    with net.call("block", "größe.Блок", "3 -> 4", params=3):
        x = net.layer("block.fc", "Linear", net.input("x", 1, 4))
    return net.graph(x)


GRAPHS = [mlp(), residual_block(), transformer(3), chain(30), failed(), linked(), Net().graph()]
PICTURE = drawn(linked(), depth="all")


@pytest.mark.parametrize("theme", ["modern", "classic"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_what_we_write_passes(graph: Graph, theme: Literal["modern", "classic"]) -> None:
    assert is_safe(drawn(graph, theme=theme))
    assert is_safe(drawn(graph, theme=theme, depth="all", show=("weights",)))


class Loud:
    """A styler that changes all that can be changed."""

    def style_node(self, node: StyledNode) -> dict[str, str]:
        paint = {"fillcolor": "pink", "color": "#ABC", "fontcolor": "navy", "penwidth": "2.5", "style": "dashed"}
        return {**paint, "label": f"<{node.label}> url(x) & expression()"}

    def style_edge(self, tail: StyledNode, head: StyledNode) -> dict[str, str]:
        return {"color": "red", "penwidth": "3", "style": "dotted"}


@pytest.mark.parametrize("graph", GRAPHS)
def test_what_stylers_do_passes(graph: Graph) -> None:
    (drawing,) = draw([DrawJob(graph, "a" * 64, DrawingOptions(depth=1), Loud())], find_engine())
    assert isinstance(drawing, Drawing), drawing
    assert all(map(is_safe, [*map(neutral, drawing.layouts)]))


def test_insides_pass() -> None:
    (drawing,) = draw([DrawJob(transformer(3), "a" * 64, DrawingOptions(depth=1))], find_engine())
    assert isinstance(drawing, Drawing)
    assert len([*map(neutral, drawing.layouts)]) > 1
    assert all(map(is_safe, [*map(neutral, drawing.layouts)]))


def test_references_are_among_it() -> None:
    assert 'href="torchrecorder:pkg.größe.Блок"' in PICTURE
    assert is_safe(PICTURE)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.one_of(st.text(max_size=30), st.sampled_from([text[:300] for text in NASTY])))
def test_whatever_the_model_passes(graph: Graph, title: str) -> None:
    assert is_safe(drawn(graph, title=title, depth="all", show=("weights",)))


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT>alert(1)</SCRIPT>",
    "<svg:script xmlns:svg='http://www.w3.org/2000/svg'>alert(1)</svg:script>",
    '<x:g xmlns:x="http://www.w3.org/2000/svg"/>',
    '<g onload="alert(1)"/>',
    '<g ONLOAD="alert(1)"/>',
    "<g class='nodes'/>",
    '<g class="md-overlay"/>',
    '<g class="nodes md-overlay"/>',
    '<g id="search"/>',
    '<g id="tr-0123456789ab-t-x"/>',
    '<image href="https://example.org/x.png"/>',
    '<use href="https://example.org/x.svg#a"/>',
    '<a href="https://example.org"><text>x</text></a>',
    '<a href="javascript:alert(1)"><text>x</text></a>',
    '<a href="torchrecorder:javascript:alert(1)"><text>x</text></a>',
    '<a href="torchrecorder:pkg"><text>x</text></a>',
    '<a href="torchrecorder:pkg.Net" target="_top"><text>x</text></a>',
    '<a xlink:href="javascript:alert(1)" xmlns:xlink="http://www.w3.org/1999/xlink"/>',
    '<animate attributeName="href" values="javascript:alert(1)"/>',
    '<set attributeName="onmouseover" to="alert(1)"/>',
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>',
    "<style>@import 'https://example.org/x.css'</style>",
    '<rect fill="url(https://example.org/x)"/>',
    '<rect fill="var(--torchrecorder-conv,url(x))"/>',
    '<rect fill="var(--other,#000000)"/>',
    '<rect style="background:url(x)"/>',
    '<rect style="width:100%;max-width:9px;height:auto;position:fixed"/>',
    '<rect width="100%"/>',
    "<title><g/></title>",
    "<desc><g/></desc>",
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    "<!-- --!><script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='x'?>",
    '<g xmlns="http://www.w3.org/1999/xhtml"/>',
    "<math/>",
    "&xxe;",
    "</g>",
    "<g>",
]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("place", ["</svg>", "<desc", '<g class="nodes"'])
def test_nothing_else_does(hostile: str, place: str) -> None:
    assert not is_safe(PICTURE.replace(place, hostile + place, 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "<svg/>",
        "<svg></svg>",
        '<g xmlns="http://www.w3.org/2000/svg"/>',
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>',
        PICTURE + PICTURE,
        PICTURE.replace("<svg", '<svg onload="alert(1)"', 1),
        PICTURE.replace(UID, "search"),
        PICTURE.encode().decode("latin-1") + "\ud800",
    ],
)
def test_no_picture(text: str) -> None:
    assert not is_safe(text)


def test_a_deep_one_is_no_crash() -> None:
    inner = "<g>" * 100_000 + "</g>" * 100_000
    is_safe(PICTURE.replace("</svg>", f"{inner}</svg>"))


TAGS = st.text(alphabet="<>/=\"'&;: !-[]?abcdginoprstvxyz\n", max_size=24)


@settings(max_examples=300, deadline=None)
@given(TAGS, st.integers(0, len(PICTURE)))
def test_what_is_put_in_is_text_or_refused(text: str, at: int) -> None:
    changed = PICTURE[:at] + text + PICTURE[at:]
    if is_safe(changed):
        tags = [re.sub(r'"[^"]*"', "", tag) for tag in re.findall("<[^>]*>", changed)]
        allowed = r"</?(?:svg|g|path|rect|circle|text|tspan|a|title|desc)(?: [A-Za-z-]+=)*/?>"
        assert all(re.fullmatch(allowed, tag) for tag in tags)
        assert not re.search(r"\bon\w+=|script|url\(|<!", "".join(tags))
