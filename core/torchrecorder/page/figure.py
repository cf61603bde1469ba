"""What stands in a figure of an HTML page: the picture, the switch between depths, insides of layers, the table.

The same for every tool that writes HTML; tools add the figure around it, its caption, and two files.
Nothing here needs the script, and no element runs code of its own, so pages may forbid that.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchrecorder.drawing.model import MAX_NESTED_BYTES, Drawing, NestedDrawing
from torchrecorder.layout.codec import to_data
from torchrecorder.page.about import details
from torchrecorder.page.words import SCRIPT_WORDS, TABLE_HEAD, Translate, in_english
from torchrecorder.request import FigureOptions

if TYPE_CHECKING:
    from torchrecorder.page.diagram import Diagram
    from torchrecorder.write.links import Links
    from torchrecorder.write.text import LayerRow

_FEW = 8  # nodes in which readers look for nothing: a picture of no more, in which nothing opens, has no bar
_SOURCE = 7  # of a row of `drawing.details`
_NUMBER_COLUMNS = (4, 5)  # of `TABLE_HEAD`: parameters and FLOPs


class CopyNumbers:
    """Figures of one page: it counts them, because ids must be unique, and knows what stands in the page already."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self.has_script = False
        """Whether a figure of the page needs the script; the first such brings its words."""
        self.insides: dict[str, str] = {}
        """The ids of the insides of layers, by what they show, whichever figure they are of."""

    def add(self, diagram: Diagram, name: str = "") -> int:
        """The number of a figure: 1, unless one of its pictures or its name, or its model's, is in the page already."""
        names = [*(drawing.uid for drawing in diagram.drawings), _base(diagram, name)]
        copy = 1 + max(self._last.get(name, 0) for name in names)
        self._last.update(dict.fromkeys(names, copy))
        return copy

    def contents(
        self,
        diagram: Diagram,
        options: FigureOptions,
        *,
        copy: int = 1,
        urls: Mapping[str, str] = MappingProxyType({}),
        can_hide: bool = True,
        save: Callable[[str], str] | None = None,
        about: Sequence[str] = (),
        translate: Translate = in_english,
    ) -> str:
        """HTML inside of a figure, without its caption.

        Args:
            diagram: The diagram.
            options: Alternative text, width, and whether readers can zoom.
            copy: Its number by `add`.
            urls: Addresses by class, for those of `diagram.classes` that have one.
            can_hide: Whether the page has the style sheet; without it, the insides of layers would all be seen.
            save: Makes a file of an SVG and gives its address, seen from the page; else an address holds the SVG.
            about: Notes that readers can open, with the signs of the picture.
            translate: Gives the texts of `torchrecorder.page.words` in the language of the page.
        """
        if options.loading != "embed":
            rows, closed = diagram.drawing.table, details([diagram.drawing], about, translate)
            return _image(diagram, options, save) + closed + (_table(rows, translate) if rows else "")
        is_live = can_hide and options.zoom
        closed = details(diagram.drawings, about, translate) if can_hide else ""  # paper cannot be opened
        return "".join(_FigureWriter(diagram, options, copy, urls, translate, self, closed, is_live).parts())


def _base(diagram: Diagram, name: str) -> str:
    """Beginning of the ids in a figure; it does not change when the model does, so that addresses stay."""
    return "-".join((name or diagram.facts.get("model", "model")).split())


def _image(diagram: Diagram, options: FigureOptions, save: Callable[[str], str] | None) -> str:
    """The picture as a file: without links, zoom, and the insides of layers."""
    width, height = options.size(diagram.size[0])
    lazy = ' loading="lazy"' if options.loading == "lazy" else ""
    style = f"width:{width or 'auto'};max-width:100%;height:{height or 'auto'}"
    svg = diagram.without_foot().standalone_svg()
    address = (save or data_address)(svg)
    return f'<img src="{escape(address)}" alt="{escape(options.alt or diagram.alt)}"{lazy} style="{style}">'


def data_address(svg: str) -> str:
    """An address that holds the picture itself."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def table_cells(row: LayerRow, translate: Translate = in_english) -> tuple[str, ...]:
    """The texts of one row of the table of layers, a column each; of layers that repeat, the numbers of one of them."""
    times = f" ×{row.repeat}" if row.repeat > 1 else ""
    each = translate("{} each") if row.repeat > 1 else "{}"
    params, flops = (each.format(f"{number:,}") if number else "" for number in (row.params, row.flops))
    return row.label, row.name + times, row.layer, row.output, params, flops


@dataclass(frozen=True, slots=True)
class _Inside:
    nested: NestedDrawing
    owner: Drawing  # the drawing that it comes with
    above: tuple[NestedDrawing, ...]  # those in which it is closed, the outermost first


@dataclass
class _FigureWriter:
    diagram: Diagram
    options: FigureOptions
    copy: int
    urls: Mapping[str, str]
    translate: Translate
    page: CopyNumbers
    about: str
    is_live: bool

    def __post_init__(self) -> None:
        base = _base(self.diagram, self.options.name)
        self.prefix = f"{base}-{self.copy}:" if self.copy > 1 else f"{base}:"
        self.insides = _insides(self.diagram.drawings) if self.is_live else {}
        self.named = set[str]()
        """The layers whose id is in the page already."""

    def parts(self) -> Iterator[str]:
        pictures = [*self._switch()] if self.diagram.depths else [self._main(self.diagram.drawing)]
        for inside in self.insides.values():
            pictures += self._inside(inside)
        if self.is_live:
            words = SCRIPT_WORDS if not self.page.has_script else ()
            self.page.has_script = True
            said = {text: other for text in words if (other := self.translate(text)) != text}
            data = _data("words", said) + _data("code", self._code())
            yield f'<div class="torchrecorder-views torchrecorder-zoom" id="{escape(self.prefix)}"{data}>'
            most = max(len(drawing.layout.nodes) for drawing in self.diagram.drawings)
            yield '<div class="torchrecorder-tools"></div>' if most > _FEW or len(pictures) > 1 else ""
        yield from pictures
        yield self.about
        yield "</div>" if self.is_live else ""
        if table := self.diagram.drawing.table:
            yield _table(table, self.translate)

    def _code(self) -> dict[str, str]:
        if self.diagram.code is None or not self.options.links:
            return {}
        from torchrecorder.write.links import is_safe

        said = [drawing.details for drawing in self.diagram.drawings]
        said += [inside.nested.details for inside in self.insides.values()]
        rows = [row for text in said for row in json.loads(text or "{}").values() if len(row) > _SOURCE]
        sources = dict.fromkeys(row[_SOURCE] for row in rows if row[_SOURCE])
        return {source: url for source in sources if (url := self.diagram.code(source)) and is_safe(url)}

    def _main(self, drawing: Drawing) -> str:
        from torchrecorder.write.svg import foot, inline  # a build that writes no page does not need it

        width, height = size = self.options.size(drawing.layout.size_px[0])
        links = self._links(drawing, None)
        alt = self.options.alt
        shown = inline(drawing.layout, copy=self.copy, alt=alt, width=width, height=height, links=links)
        notes = drawing.foot if self.is_live and self.diagram.options.foot else ()
        said = f' data-foot="{escape(foot(drawing.layout, notes))}"' if notes else ""
        return self._frame(drawing, shown, self._details(drawing) + said, has_size=any(size))

    def _links(self, owner: Drawing, call: int | None) -> Links:
        """Links of the layers of a drawing, or of its inside of a call."""
        from torchrecorder.write.links import Links

        paths = {it.call: it.path for it in owner.nested if it.parent == call and it.path in self.insides}
        links = Links(self.urls, paths, self.prefix, frozenset(self.named))
        self.named.update(paths.values())
        return links

    def _frame(self, drawn: Drawing | NestedDrawing, shown: str, said: str, *, has_size: bool = False) -> str:
        """The frame of a picture, which scrolls before a wide one becomes too small to read."""
        style = "" if has_size else f' style="--torchrecorder-width:{drawn.layout.size_px[0]:.0f}px"'
        return f'<div class="torchrecorder-picture"{style}{said}>{shown}</div>'

    def _details(self, drawn: Drawing | NestedDrawing) -> str:
        return f" data-details='{_in_quotes(drawn.details or '{}')}'" if self.is_live else ""

    def _switch(self) -> Iterator[str]:
        """Radio buttons, whose state the style sheet reads; where it does not, each picture has its name above."""
        legend = escape(self.translate("Depth"))
        yield f'<fieldset class="torchrecorder-depths"><legend>{legend}</legend><div class="torchrecorder-choices">'
        for i, (depth, _) in enumerate(self.diagram.depths):
            checked = "" if i else " checked"
            button = f'<input type="radio" name="{escape(self.prefix)}" value="{escape(depth)}"{checked}>'
            yield f"<label>{button}{escape(depth)}</label>"
        yield "</div>"
        for i, (depth, drawing) in enumerate(self.diagram.depths, 1):
            name = escape(self.translate("Depth {}").format(depth))
            yield f'<div class="torchrecorder-depth d{i}"><p class="torchrecorder-path">{name}</p>'
            yield self._main(drawing) + "</div>"
        yield "</fieldset>"

    def _inside(self, inside: _Inside) -> Iterator[str]:
        """The picture of a closed layer, with the way back to the node that it opens."""
        from torchrecorder.write.links import fragment, layer_id

        path = inside.nested.path
        id_ = escape(layer_id(self.prefix, path))
        yield f'<div class="torchrecorder-inside" id="{id_}/" tabindex="-1" role="group" aria-label="{escape(path)}">'
        yield '<p class="torchrecorder-path">'
        way = [nested.path for nested in (*inside.above, inside.nested)]
        for name, child in zip([self.diagram.facts.get("model", "model"), *way], way, strict=False):
            yield f'<a href="{escape(fragment(layer_id(self.prefix, child)))}">{escape(name)}</a> › '
        yield f"<strong>{escape(path)}</strong></p>{self._inside_picture(inside)}</div>"

    def _inside_picture(self, inside: _Inside) -> str:
        """The picture; or, if the same one stands in the page, what shows that one until the script puts in a copy."""
        from torchrecorder.write.links import fragment, layer_id
        from torchrecorder.write.svg import inline, stand_in

        nested = inside.nested
        links = self._links(inside.owner, nested.call)
        id_ = layer_id(self.prefix, nested.path) + "/svg"
        shares = fragment(self.prefix)[1:] == escape(self.prefix) == self.prefix  # else ids and addresses differ
        first = self.page.insides.setdefault(_look(nested, links), id_) if shares else id_
        if first != id_:
            return self._frame(nested, stand_in(nested.layout, nested.path, first, fragment(first)), "")
        shown = inline(nested.layout, copy=self.copy, links=links, id_=id_ if shares else "")
        return self._frame(nested, shown, self._details(nested))


def _look(nested: NestedDrawing, links: Links) -> str:
    """Digest of what is seen of an inside and said of it, but for what ids begin with."""
    from torchrecorder.write.links import classes

    urls = [links.urls.get(cls) for cls in classes(nested.layout)]
    named = [path in links.named for path in links.paths.values()]
    layout = to_data(replace(nested.layout, uid=""))
    seen = json.dumps([layout, nested.details, urls, [*links.paths.items()], named])
    return hashlib.sha256(seen.encode()).hexdigest()


def _insides(drawings: Sequence[Drawing]) -> dict[str, _Inside]:
    """Insides of layers in a figure, by path: a layer has one, in however many depths it is closed."""
    insides: dict[str, _Inside] = {}
    room = MAX_NESTED_BYTES
    for drawing in drawings:
        ways: dict[int | None, tuple[NestedDrawing, ...]] = {None: ()}
        for nested in drawing.nested:
            room -= nested.svg_length if nested.path not in insides else 0
            if nested.parent not in ways or room < 0:
                continue
            ways[nested.call] = (*ways[nested.parent], nested)
            insides.setdefault(nested.path, _Inside(nested, drawing, ways[nested.parent]))
    return insides


def _in_quotes(text: str) -> str:
    """Text in an attribute between single quotes, in which JSON keeps its double ones."""
    return text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")


def _data(name: str, value: Mapping[str, str]) -> str:
    return f" data-{name}='{_in_quotes(json.dumps(value, ensure_ascii=False))}'" if value else ""


def _table(rows: Iterable[LayerRow], translate: Translate) -> str:
    # Without classes of its own: every theme has a style for a bare table. Its frame scrolls, by keyboard too.
    lines = "".join(f"<tr>{_cells('td', table_cells(row, translate))}</tr>" for row in rows)
    head = _cells("th", tuple(map(translate, TABLE_HEAD)))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    frame = f'<div tabindex="0" role="region" aria-label="{escape(translate("Layers"))}">{table}</div>'
    summary = escape(translate("Layers as a table"))
    return f'<details class="torchrecorder-table"><summary>{summary}</summary>{frame}</details>'


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    classes = [' class="number"' if i in _NUMBER_COLUMNS else "" for i in range(len(texts))]
    return "".join(f"<{tag}{scope}{cls}>{escape(text)}</{tag}>" for text, cls in zip(texts, classes, strict=True))
