"""A finished diagram: what a page shows of one model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph, to_json
from torchrecorder.renderer.table import Row, layer_table

VERSION = 3


@dataclass(frozen=True, slots=True)
class Inside:
    """The picture of a layer that is closed in another picture."""

    call: int
    """The number that the closed layer refers to it by."""
    path: str
    """Of the layer."""
    parent: int | None
    """The call of the inside in which it is closed; None if that is the main picture."""
    svg: str
    width: float
    """In CSS pixels."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture of a Graph, with what is said about it; plain data, kept in the cache."""

    svg: str
    """For inline use in HTML: it takes the page's colours. Its only ids begin with `tr-`; its only links are
    `torchrecorder:pkg.Class` and, at a closed layer, `torchrecorder:pkg.Class#12`, for which an address is put in."""
    width: float
    """In CSS pixels, of the SVG at its natural size."""
    height: float
    text: str
    """The tree of modules, for output without pictures."""
    alt: str
    """What the picture shows, in a sentence or two."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of the model, by a short name: `parameters`, `input`, …."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides, such as a guessed input or a part that is not drawn."""
    dot: str = ""
    """What the layout engine got, for other tools that read Graphviz's language."""
    insides: tuple[Inside, ...] = ()
    """Of closed layers, an inside before those that are closed in it."""
    table: tuple[Row, ...] = ()
    """The layers as rows, if they were asked for."""

    @property
    def uid(self) -> str:
        """What its ids begin with."""
        found = _UID.search(self.svg)
        return found[0] if found else "tr"

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data, with the version of the format."""
        return {"torchrecorder_drawing": VERSION, **asdict(self)}

    @staticmethod
    def from_json(data: Any) -> Drawing | None:
        """The drawing that `to_json` wrote; None for anything else."""
        if not isinstance(data, dict) or data.pop("torchrecorder_drawing", None) != VERSION:
            return None
        try:
            return Drawing(
                **{
                    **data,
                    "notes": tuple(data["notes"]),
                    "insides": tuple(Inside(**inside) for inside in data["insides"]),
                    "table": tuple(Row(**row) for row in data["table"]),
                }
            )
        except (TypeError, KeyError):
            return None


@dataclass(frozen=True)
class Diagram:
    """A drawing with the Graph it shows and the files that decide it."""

    drawing: Drawing
    sources: tuple[Path, ...] = ()
    """Files of the model's code; when one changes, the diagram may."""
    load_graph: Callable[[], Graph] = field(kw_only=True, repr=False)
    """Gives the Graph, which is read from the cache only if somebody asks."""
    depths: tuple[tuple[str, Drawing], ...] = ()
    """The drawings to switch between, each with its depth; `drawing` is the first."""

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All that there is to see of it."""
        return tuple(drawing for _, drawing in self.depths) or (self.drawing,)

    @property
    def svg(self) -> str:
        """The picture for inline use in HTML, without links: it takes the page's colours."""
        return self.inline_svg()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the picture can be linked to, `torch.nn.modules.conv.Conv2d`, each once."""
        from torchrecorder.renderer.svg.links import classes

        svgs = [svg for one in self.drawings for svg in (one.svg, *(inside.svg for inside in one.insides))]
        return tuple(dict.fromkeys(cls for svg in svgs for cls in classes(svg)))

    @property
    def text(self) -> str:
        """The tree of modules as text."""
        return self.drawing.text

    @property
    def alt(self) -> str:
        """What the picture shows, in a sentence or two."""
        return self.drawing.alt

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in CSS pixels."""
        return self.drawing.width, self.drawing.height

    @property
    def facts(self) -> Mapping[str, str]:
        """What is known of the model, by a short name."""
        return self.drawing.facts

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know besides."""
        return tuple(dict.fromkeys(note for drawing in self.drawings for note in drawing.notes))

    @property
    def table(self) -> tuple[Row, ...]:
        """The layers as rows: label, name, class, output, parameters, operations."""
        return self.drawing.table or layer_table(self.graph)

    @cached_property
    def graph(self) -> Graph:
        """What the model did, as plain data."""
        return self.load_graph()

    def inline_svg(
        self, *, copy: int = 1, alt: str = "", width: str = "", urls: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        """The picture for inline use, fitted to its place in a page.

        Args:
            copy: Counts the same picture in one page, because ids must be unique there.
            alt: What it shows, in place of its own title and description.
            width: As in CSS, in place of its natural width.
            urls: Addresses by class, for those of `classes` that have one. Only relative ones, `#…`, `http:`, `https:`
                and `mailto:` become links.
        """
        from torchrecorder.diagram.inline import fitted

        return fitted(self.drawing.svg, copy=copy, alt=alt, width=width, urls=urls)

    def standalone_svg(self) -> str:
        """The picture with colours of its own, for files and `<img>`."""
        from torchrecorder.renderer.svg import fixed

        return fixed(self.drawing.svg)

    def to_pdf(self) -> bytes:
        """The picture as a PDF of one page, in vectors."""
        from torchrecorder.renderer.svg.pdf import to_pdf

        return to_pdf(self.standalone_svg())

    def to_png(self) -> bytes:
        """The picture as a PNG of 192 dots per inch.

        Raises:
            OptionError: pypdfium2, the extra `png`, is not installed.
        """
        from torchrecorder.renderer.svg.png import to_png

        return to_png(self.standalone_svg())

    def save(self, path: str | Path) -> None:
        """Write the diagram to a file; its ending says how.

        `.svg`, `.pdf` and `.png` are pictures with colours of their own, `.txt` is the tree of modules, `.json` the
        Graph, `.dot` what the layout engine got.

        Raises:
            OptionError: The ending is another, or `.png` is not installed.
        """
        path = Path(path)
        if (write := _WRITERS.get(path.suffix.lower())) is None:
            raise OptionError((f"cannot write {path.name!r}: its name must end with {', '.join(_WRITERS)}",))
        written = write(self)
        path.write_bytes(written if isinstance(written, bytes) else written.encode())

    def _repr_svg_(self) -> str:
        """The picture for a notebook, which shows it apart from the page's own colours."""
        return self.standalone_svg()


_UID = re.compile(r"\btr-[0-9a-f]{12}\b")

_WRITERS: dict[str, Callable[[Diagram], str | bytes]] = {
    ".svg": lambda diagram: diagram.standalone_svg() + "\n",
    ".pdf": Diagram.to_pdf,
    ".png": Diagram.to_png,
    ".txt": lambda diagram: diagram.text + "\n",
    ".json": lambda diagram: to_json(diagram.graph) + "\n",
    ".dot": lambda diagram: diagram.drawing.dot,
}
