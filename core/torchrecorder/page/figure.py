"""What stands in a figure of an HTML page: the picture, the switch between depths, insides of layers, the table.

The same for every tool that writes HTML; tools add the figure around it, its caption, and the two files in `ASSETS`.
Nothing here needs the script, and no element runs code of its own, so pages may forbid that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchrecorder.drawing.model import Drawing, NestedDrawing
from torchrecorder.page.diagram import Diagram
from torchrecorder.page.picture import fitted
from torchrecorder.request import FigureOptions

if TYPE_CHECKING:
    from torchrecorder.drawing.text import LayerRow

ASSETS = Path(__file__).with_name("assets")
"""The folder with nothing but the style sheet and the script."""
STYLE, SCRIPT = "torchrecorder.css", "torchrecorder.js"

TABLE_HEAD = ("Layer", "Name", "Class", "Output", "Parameters", "FLOPs")
_NUMBER_COLUMNS = (4, 5)


class CopyNumbers:
    """Counts the pictures of one page, because ids must be unique in it."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def add(self, diagram: Diagram) -> int:
        """The number of the diagram: 1, unless one of its pictures is in the page already."""
        uids = [drawing.uid for drawing in diagram.drawings]
        copy = 1 + max(self._last.get(uid, 0) for uid in uids)
        self._last.update(dict.fromkeys(uids, copy))
        return copy


def contents(
    diagram: Diagram,
    options: FigureOptions,
    *,
    copy: int = 1,
    urls: Mapping[str, str] = MappingProxyType({}),
    can_hide: bool = True,
) -> str:
    """The HTML inside of a figure, without its caption.

    Args:
        diagram: What it shows.
        options: Alternative text, width, and whether readers can zoom.
        copy: Its number by the `CopyNumbers` of the page.
        urls: Addresses by class, for those of `diagram.classes` that have one.
        can_hide: Whether the page has the style sheet; without it, the insides of layers would all be seen.
    """
    has_insides = can_hide and options.zoom and not diagram.depths
    return "".join(_FigureWriter(diagram, options, copy, urls, has_insides=has_insides).parts())


def table_cells(row: LayerRow) -> tuple[str, ...]:
    """The texts of one row of the table of layers, a column each; of layers that repeat, the numbers of one of them."""
    times = f" ×{row.repeat}" if row.repeat > 1 else ""
    each = " each" if row.repeat > 1 else ""
    params, flops = (f"{number:,}{each}" if number else "" for number in (row.params, row.flops))
    return row.label, row.name + times, row.layer, row.output, params, flops


class _FigureWriter:
    def __init__(
        self, diagram: Diagram, options: FigureOptions, copy: int, urls: Mapping[str, str], *, has_insides: bool
    ) -> None:
        self.diagram, self.options, self.copy, self.urls = diagram, options, copy, urls
        self.prefix = diagram.drawing.uid + (f"-{copy}" if copy > 1 else "")
        self.insides = diagram.drawing.nested if has_insides else ()

    def parts(self) -> Iterator[str]:
        if self.diagram.depths:
            yield from self._switch()
        else:
            yield self._main(self.diagram.drawing)
            for inside in self.insides:
                yield from self._inside(inside)
        if table := self.diagram.drawing.table:
            yield _table(table)

    def _main(self, drawing: Drawing) -> str:
        return self._picture(drawing.svg, drawing.width, None, self.options.alt, self.options.width)

    def _picture(self, svg: str, natural_width: float, call: int | None, alt: str = "", width: str = "") -> str:
        # The frame scrolls before a wide picture becomes too small to read.
        doors = [inside.call for inside in self.insides if inside.parent == call]
        shown = fitted(svg, copy=self.copy, alt=alt, width=width, urls=self.urls, doors=doors, prefix=self.prefix)
        style = "" if width else f' style="--torchrecorder-width:{natural_width:.0f}px"'
        zoom = " torchrecorder-zoom" if self.options.zoom else ""
        return f'<div class="torchrecorder-picture{zoom}"{style}>{shown}</div>'

    def _switch(self) -> Iterator[str]:
        """Radio buttons, whose state the style sheet reads; where it does not, each picture has its name above."""
        yield '<fieldset class="torchrecorder-depths"><legend>Depth</legend><div class="torchrecorder-choices">'
        for i, (depth, _) in enumerate(self.diagram.depths):
            checked = "" if i else " checked"
            button = f'<input type="radio" name="{self.prefix}" value="{escape(depth)}"{checked}>'
            yield f"<label>{button}{escape(depth)}</label>"
        yield "</div>"
        for i, (depth, drawing) in enumerate(self.diagram.depths, 1):
            yield f'<div class="torchrecorder-depth d{i}"><p class="torchrecorder-path">Depth {escape(depth)}</p>'
            yield self._main(drawing) + "</div>"
        yield "</fieldset>"

    def _inside(self, inside: NestedDrawing) -> Iterator[str]:
        """The picture of a closed layer, with the way back to the node that it opens."""
        path = escape(inside.path)
        yield f'<div class="torchrecorder-inside" id="{self.prefix}-in-{inside.call}" tabindex="-1" role="group"'
        yield f' aria-label="{path}"><p class="torchrecorder-path">'
        way = [inside]
        while way[0].parent is not None:
            way.insert(0, next(one for one in self.insides if one.call == way[0].parent))
        names = [self.diagram.facts.get("model", "model"), *(one.path for one in way)]
        for name, child in zip(names, way, strict=False):
            yield f'<a href="#{self.prefix}-at-{child.call}">{escape(name)}</a> › '
        yield f"<strong>{path}</strong></p>{self._picture(inside.svg, inside.width, inside.call)}</div>"


def _table(rows: Iterable[LayerRow]) -> str:
    # Without classes of its own: every theme has a style for a bare table. Its frame scrolls, by keyboard too.
    lines = "".join(f"<tr>{_cells('td', table_cells(row))}</tr>" for row in rows)
    table = f"<table><thead><tr>{_cells('th', TABLE_HEAD)}</tr></thead><tbody>{lines}</tbody></table>"
    frame = f'<div tabindex="0" role="region" aria-label="Layers">{table}</div>'
    return f'<details class="torchrecorder-table"><summary>Layers as a table</summary>{frame}</details>'


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    classes = [' class="number"' if i in _NUMBER_COLUMNS else "" for i in range(len(texts))]
    return "".join(f"<{tag}{scope}{cls}>{escape(text)}</{tag}>" for text, cls in zip(texts, classes, strict=True))
