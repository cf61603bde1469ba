"""A finished diagram: what a page shows of one model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph, to_json

if TYPE_CHECKING:
    from torchrecorder.renderer.table import Row

VERSION = 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture of a Graph, with what is said about it; plain data, kept in the cache."""

    svg: str
    """For inline use in HTML: it takes the page's colours. Its only ids begin with `tr-`; its only links are
    `torchrecorder:pkg.Class`, for which an address is put in."""
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

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data, with the version of the format."""
        return {"torchrecorder_drawing": VERSION, **asdict(self)}

    def to_bytes(self) -> bytes:
        """Its JSON, as it is kept in the cache."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: Any) -> Drawing | None:
        """The drawing that `to_json` wrote; None for anything else."""
        if not isinstance(data, dict) or data.pop("torchrecorder_drawing", None) != VERSION:
            return None
        try:
            drawing = Drawing(**{**data, "notes": tuple(data["notes"])})
        except (TypeError, KeyError):
            return None
        return drawing if drawing.is_whole() else None

    def is_whole(self) -> bool:
        """Whether every field is what it should be, which nobody has checked when it comes from a cache."""
        texts = [self.svg, self.text, self.alt, self.dot, *self.notes]
        numbers = [self.width, self.height]
        return (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(number, int | float) for number in numbers)
            and isinstance(self.facts, dict)
            and all(isinstance(item, str) for fact in self.facts.items() for item in fact)
        )


@dataclass(frozen=True, slots=True)
class KeptDrawing:
    """A drawing of the cache, of which is known what it is before it is read."""

    digest: str
    """Hash of its JSON."""
    classes: tuple[str, ...]
    """As `Diagram.classes`."""
    load: Callable[[], Drawing]


@dataclass(frozen=True)
class Diagram:
    """A drawing with the Graph it shows and the files that decide it."""

    origin: Drawing | KeptDrawing
    sources: tuple[Path, ...] = ()
    """Files of the model's code; when one changes, the diagram may."""
    load_graph: Callable[[], Graph] = field(kw_only=True, repr=False)
    """Gives the Graph, which is read from the cache only if somebody asks."""

    @cached_property
    def drawing(self) -> Drawing:
        """The drawing, which is read from the cache only if somebody asks.

        Raises:
            FormatError: The cache was changed since the diagram was found in it.
        """
        return self.origin if isinstance(self.origin, Drawing) else self.origin.load()

    @cached_property
    def digest(self) -> str:
        """Names the drawing: SHA-256 of its JSON, in hexadecimal digits."""
        if isinstance(self.origin, KeptDrawing):
            return self.origin.digest
        return hashlib.sha256(self.origin.to_bytes()).hexdigest()

    @property
    def svg(self) -> str:
        """The picture for inline use in HTML, without links: it takes the page's colours."""
        return self.inline_svg()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the picture can be linked to, `torch.nn.modules.conv.Conv2d`, each once."""
        if isinstance(self.origin, KeptDrawing):
            return self.origin.classes
        from torchrecorder.renderer.svg.links import classes

        return classes(self.origin.svg)

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
        return self.drawing.notes

    @property
    def table(self) -> tuple[Row, ...]:
        """The layers as rows: label, name, class, output, parameters, operations."""
        from torchrecorder.renderer.table import layer_table

        return layer_table(self.graph)

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
        from torchrecorder.renderer.svg.links import link

        head, end, body = link(self.drawing.svg, urls).partition("</desc>")
        if alt:
            head, end = _LABELS.sub(lambda _: f"aria-label={quoteattr(alt)}", head), ""
            head = _TITLES.sub("", head)
        elif copy > 1:
            head = _UID.sub(rf"\g<0>-{copy}", head)
        if width:
            head = _WIDTH.sub(f"width:{width};max-width:100%;", head, count=1)
        return head + end + body

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


_LABELS = re.compile(r'aria-labelledby="[^"]*"')
_TITLES = re.compile(r"<title\b.*", re.DOTALL)
_UID = re.compile(r"\btr-[0-9a-f]{12}\b")
_WIDTH = re.compile(r"width:100%;max-width:[^;\"]*;")

_WRITERS: dict[str, Callable[[Diagram], str | bytes]] = {
    ".svg": lambda diagram: diagram.standalone_svg() + "\n",
    ".pdf": Diagram.to_pdf,
    ".png": Diagram.to_png,
    ".txt": lambda diagram: diagram.text + "\n",
    ".json": lambda diagram: to_json(diagram.graph) + "\n",
    ".dot": lambda diagram: diagram.drawing.dot,
}
