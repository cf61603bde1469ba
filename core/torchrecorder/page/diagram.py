"""A finished diagram, and the names that its classes may be documented by."""

from __future__ import annotations

import hashlib
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from torchrecorder.drawing.model import CachedDrawing, Drawing
from torchrecorder.errors import OptionError
from torchrecorder.request.requests import DrawingOptions

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.write.text import LayerRow

_TURNED_DARK = "<style>@media (prefers-color-scheme:dark){svg{filter:invert(.93) hue-rotate(180deg)}}</style>"
"""White is what browsers call Canvas on a dark page, #121212, and hues stay."""
MAX_BYTES = 100_000
"""Size of all pictures of a switch together, as a server sends them: compressed."""


@dataclass(frozen=True, repr=False)
class Diagram:
    """A drawing with the Graph it shows and the files that decide it."""

    origin: Drawing | CachedDrawing
    sources: tuple[Path, ...] = ()
    """Files of the model's code; when one changes, the diagram may."""
    moved: tuple[Path, ...] = ()
    """Those of them whose lines may be others than those that were recorded."""
    load_graph: Callable[[], Graph] = field(kw_only=True, repr=False)
    """Gives the Graph, which is read from the cache only when it is needed."""
    options: DrawingOptions = field(default_factory=DrawingOptions)
    """What its drawing was made with."""
    code: Callable[[str], str] | None = field(default=None, repr=False)
    """Gives the address of a line of code, `pkg/net.py:12`; empty for what has none."""
    scale: float = 1.0
    """How much larger than laid out it is in files."""
    dark: bool = False
    """Whether its SVG for a file is light on dark."""
    follows_page: bool = False
    """Whether its SVG for a file is turned dark where the page that shows it says that it is, by `color-scheme`."""
    print_notes: tuple[str, ...] = ()
    """What is to be said of its size in print."""
    steps: tuple[tuple[str, Drawing | CachedDrawing], ...] = ()
    """The drawings to switch between, each with its depth, if there are several; the first is `origin`."""

    def __repr__(self) -> str:
        """A single line: a notebook keeps it beside the picture."""
        name = self.facts.get("model", "a model")
        return f"<Diagram of {name}: {self.size[0]:.0f} × {self.size[1]:.0f} px>"

    @staticmethod
    def of_depths(diagrams: Sequence[tuple[str, Diagram]]) -> Diagram:
        """Diagram of several of the same Graph, each with its depth; the first is shown first."""
        return replace(diagrams[0][1], steps=tuple((depth, diagram.origin) for depth, diagram in diagrams))

    @cached_property
    def _shown(self) -> tuple[tuple[str, Drawing], ...]:
        return _join_depths([(depth, it if isinstance(it, Drawing) else it.load()) for depth, it in self._origins])

    @property
    def _origins(self) -> tuple[tuple[str, Drawing | CachedDrawing], ...]:
        return self.steps or (("", self.origin),)

    @property
    def depths(self) -> tuple[tuple[str, Drawing], ...]:
        """The drawings to switch between, each with its depth; none if there is one drawing only."""
        return self._shown if len(self._shown) > 1 else ()

    @cached_property
    def drawings(self) -> tuple[Drawing, ...]:
        """Every drawing that a page shows of it."""
        return tuple(drawing for _, drawing in self._shown)

    @property
    def drawing(self) -> Drawing:
        """The drawing that is shown first; it is read from the cache only when it is needed.

        Raises:
            FormatError: The cache was changed since the diagram was found in it.
        """
        return self._shown[0][1]

    @cached_property
    def digest(self) -> str:
        """Names what is drawn: SHA-256 in hexadecimal digits."""
        names = [f"{depth}:{drawing.digest}" for depth, drawing in self._origins]
        return hashlib.sha256("\n".join(names).encode()).hexdigest()

    @property
    def svg(self) -> str:
        """The picture for inline use in HTML, without links: it takes the page's colours."""
        from torchrecorder.write.links import Links  # a build that writes no page does not need it
        from torchrecorder.write.svg import inline

        return inline(self.drawing.layout, links=Links())

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes that the picture can be linked to, `torch.nn.modules.conv.Conv2d`, each once."""
        return tuple(dict.fromkeys(cls for _, drawing in self._origins for cls in drawing.classes))

    @property
    def text(self) -> str:
        """The tree of modules as text."""
        return self.drawing.text

    @property
    def alt(self) -> str:
        """Sentence or two on what the picture shows."""
        return self.drawing.alt

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in CSS pixels."""
        return self.drawing.width * self.scale, self.drawing.height * self.scale

    @property
    def file_size(self) -> tuple[float, float]:
        """Width and height in points, as a file has them, with the notes at its foot."""
        from torchrecorder.write.look import sides

        wide, high = map(float, sides(self.drawing.layout, self._foot))
        return wide * self.scale, high * self.scale

    @property
    def _foot(self) -> tuple[str, ...]:
        """Notes for a picture that leaves its page, where nothing else says them."""
        return self.drawing.foot if self.options.foot else ()

    @property
    def facts(self) -> Mapping[str, str]:
        """Facts of the model, by a short name."""
        return self.drawing.facts

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers."""
        of_drawings = (note for drawing in self.drawings for note in drawing.notes)
        return tuple(dict.fromkeys((*of_drawings, *self.print_notes)))

    @property
    def weakened(self) -> tuple[str, ...]:
        """Parts that are shown in a plainer way than was planned, since their proof failed, each with the reason."""
        return tuple(dict.fromkeys(reason for drawing in self.drawings for reason in drawing.weakened))

    @property
    def table(self) -> tuple[LayerRow, ...]:
        """The layers as rows: label, name, class, output, parameters, operations."""
        from torchrecorder.write.text import layer_table

        return self.drawing.table or layer_table(self.graph)

    @cached_property
    def graph(self) -> Graph:
        """Graph of the forward, as plain data."""
        return self.load_graph()

    def without_foot(self) -> Diagram:
        """The same diagram for a page that says its notes below the picture."""
        return replace(self, options=replace(self.options, foot=False), follows_page=True)

    def standalone_svg(self) -> str:
        """The picture with colours of its own, for files and `<img>`; its notes stand at its foot."""
        from torchrecorder.write.svg import standalone

        svg = standalone(self.drawing.layout, dark=self.dark, scale=self.scale, notes=self._foot)
        opening, end, rest = svg.partition(">")
        return f"{opening}{end}{_TURNED_DARK if self.follows_page else ''}{rest}"

    def to_html(self) -> str:
        """A page with the figure, in which readers can do all that they can in a documentation; it loads nothing."""
        from torchrecorder.page.notebook import document

        return document(self)

    def to_mermaid(self) -> str:
        """The picture for Mermaid, which draws it where Markdown is read; of at most 60 nodes."""
        from torchrecorder.drawing.draw import views_of
        from torchrecorder.write.mermaid import to_mermaid

        return to_mermaid(lambda options: views_of(self.graph, options).view(beside=False), self.options)

    def to_pdf(self) -> bytes:
        """The picture as a PDF of one page, in vectors."""
        from torchrecorder.write.pdf import to_pdf

        return to_pdf(self.drawing.layout, self.alt, self.scale, self._foot)

    def to_tikz(self) -> str:
        """The picture as LaTeX with TikZ, which compiles alone and where a paper inputs it.

        Each layer is one line with its name, such as `layer1-0-conv1`; colours and lines are styles by kind.
        """
        from torchrecorder.write.tikz import to_tikz

        return to_tikz(self.drawing.layout, self.drawing.details, self.alt, self.scale, self._foot)

    def to_png(self) -> bytes:
        """The picture as a PNG of 192 dots per inch.

        Raises:
            OptionError: pypdfium2, the extra `png`, is not installed.
        """
        from torchrecorder.write.pdf import to_png

        return to_png(self.drawing.layout, self.scale, self._foot)

    def save(self, path: str | Path) -> None:
        """Write the diagram to a file; its ending says how, as `FILE_TYPES` lists them.

        Raises:
            OptionError: The ending is another, or `.png` is not installed.
        """
        from torchrecorder.page.files import type_of

        path = Path(path)
        path.write_bytes(type_of(path).write(self))

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Output of a notebook cell: a figure that readers can open and zoom, and a PDF for LaTeX."""
        from torchrecorder.page.notebook import cell

        shown = {"text/html": cell(self)}
        with suppress(OptionError):  # no font has the signs of a name
            shown["application/pdf"] = b64encode(self.to_pdf()).decode()
        return shown, {kind: {"alt": self.alt} for kind in shown}


def _join_depths(depths: Sequence[tuple[str, Drawing]]) -> tuple[tuple[str, Drawing], ...]:
    """The depths to choose from that have room in a page, without those that show the same as the one before.

    The first is shown first; the last has the notes of all.
    """
    if len(depths) == 1:
        return tuple(depths)
    joined: list[tuple[str, Drawing]] = []
    notes: list[str] = []
    room = MAX_BYTES
    last = None
    for depth, drawing in depths:
        notes += drawing.notes
        layout = replace(drawing.layout, uid="")
        if layout == last:
            continue
        room -= len(zlib.compress(drawing.svg.encode()))
        if room < 0 and joined:
            notes.append(f"depth {depth} is too large for the switch; a picture of its own, with that depth, shows it")
            break
        joined.append((depth, drawing))
        last = layout
    depth, drawing = joined[-1]
    return *joined[:-1], (depth, replace(drawing, notes=tuple(dict.fromkeys(notes))))


def names_of_class(cls: str) -> tuple[str, ...]:
    """The dotted name of a class, then those it may be known by to users, the likeliest first.

    Python calls a class by the module that defines it, documentation by the package that offers it:
    `torch.nn.modules.linear.Linear` is `torch.nn.Linear` there. Whether a package offers it is not known here, so a
    name says only where to look.
    """
    *package, name = cls.split(".")
    return tuple(".".join((*package[:depth], name)) for depth in range(len(package), 0, -1))
