"""The picture of a Graph as plain data: what the cache keeps, and what is checked when it comes from there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from torchrecorder.renderer.table import Row

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
    def svgs(self) -> tuple[str, ...]:
        """All pictures: its own, and those of the insides."""
        return self.svg, *(inside.svg for inside in self.insides)

    @property
    def digest(self) -> str:
        """Hash of its JSON."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that its pictures refer to, each once."""
        from torchrecorder.renderer.svg.links import classes

        return tuple(dict.fromkeys(cls for svg in self.svgs for cls in classes(svg)))

    @property
    def uid(self) -> str:
        """What its ids begin with."""
        found = _UID.search(self.svg)
        return found[0] if found else "tr"

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
            drawing = Drawing(
                **{
                    **data,
                    "notes": tuple(data["notes"]),
                    "insides": tuple(Inside(**inside) for inside in data["insides"]),
                    "table": tuple(Row(**row) for row in data["table"]),
                }
            )
        except (TypeError, KeyError):
            return None
        return drawing if drawing.is_whole() else None

    def is_whole(self) -> bool:
        """Whether every field is what it should be, which nobody has checked when it comes from a cache."""
        return (
            isinstance(self.facts, dict)
            and _are(str, self.text, self.alt, self.dot, *self.svgs, *self.notes, *self.facts, *self.facts.values())
            and _are(float, self.width, self.height, *(inside.width for inside in self.insides))
            and _are(int, *(inside.call for inside in self.insides))
            and _are(str, *(inside.path for inside in self.insides))
            and {inside.parent for inside in self.insides} <= {None, *(inside.call for inside in self.insides)}
            and all(map(_is_row, self.table))
        )


def _are(kind: type, *values: object) -> bool:
    return all(isinstance(value, kind) or (kind is float and isinstance(value, int)) for value in values)


def _is_row(row: Row) -> bool:
    return all(_are(int if field.type == "int" else str, getattr(row, field.name)) for field in fields(Row))


_UID = re.compile(r"\btr-[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class KeptDrawing:
    """A drawing of the cache, of which is known what it is before it is read."""

    digest: str
    """Hash of its JSON."""
    classes: tuple[str, ...]
    """As `Diagram.classes`."""
    load: Callable[[], Drawing]
