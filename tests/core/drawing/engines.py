"""The layout engine of the tests, and pictures made with it."""

from __future__ import annotations

from xml.etree import ElementTree

from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view
from torchrecorder.write.svg import FinishedSvg, finish

SVG = "{http://www.w3.org/2000/svg}"
NASTY = (
    '"quoted"',
    "<lambda>",
    "<b>bold</b>",
    "</svg><script>alert(1)</script>",
    "]]>",
    "back\\slash\\",
    "\\N \\G \\l",
    "nul\x00bell\x07",
    "&amp; &lt; &#0; &",
    "עברית 漢字 🙂",
    "\u202eoverride",
    "a:b:c",
    "x" * 200_000,
    "\ud800",
    "<!-- -->",
    "{rec|ord}",
    "line\nbreak",
)


def laid_out(source: str) -> str:
    layout = find_engine().layout([source])[0]
    assert isinstance(layout, str), layout
    return layout


def picture(graph: Graph, **options: object) -> FinishedSvg:
    view = make_view(graph, DrawingOptions(**options))  # type: ignore[arg-type]
    return finish(laid_out(to_dot(view).source), uid="p1", title="Net", desc="a net")


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def words(svg: str) -> list[str]:
    """Each text of a picture, its parts joined."""
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]
