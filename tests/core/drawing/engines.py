"""The layout engine of the tests, and pictures made with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from xml.etree import ElementTree

from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.finish import finished
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import Layout
from torchrecorder.request.requests import DrawingOptions, ThemeName
from torchrecorder.view import make_view
from torchrecorder.write.links import Links
from torchrecorder.write.svg import inline, neutral, standalone

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


class Finished(NamedTuple):
    """A finished layout, and the picture of it that belongs to no page yet."""

    layout: Layout

    @property
    def svg(self) -> str:
        return neutral(self.layout)

    @property
    def width(self) -> float:
        return self.layout.size_px[0]

    @property
    def height(self) -> float:
        return self.layout.size_px[1]


def finish(
    layout: str | Layout, *, uid: str, title: str, desc: str, theme: ThemeName = "modern", grey: bool = False
) -> Finished:
    """What an engine or the paper laid out, finished."""
    placed = layout if isinstance(layout, Layout) else arranged(layout)
    return Finished(finished(placed, uid=uid, title=title, desc=desc, theme=theme, grey=grey))


def link(
    made: Finished,
    urls: Mapping[str, str],
    paths: Mapping[int, str] = MappingProxyType({}),
    prefix: str = "",
) -> str:
    """The picture in a page that has addresses, and insides of closed layers."""
    return inline(made.layout, links=Links(urls, paths, prefix))


def fixed(made: Finished, *, dark: bool | None = False) -> str:
    """The picture that stands alone."""
    return standalone(made.layout, dark=dark)


def picture(graph: Graph, **options: object) -> Finished:
    view = make_view(graph, DrawingOptions(**options))  # type: ignore[arg-type]
    return finish(laid_out(to_dot(view).source), uid="p1", title="Net", desc="a net")


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def words(svg: str) -> list[str]:
    """Each text of a picture, its parts joined."""
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]
