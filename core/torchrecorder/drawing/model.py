"""The picture of a Graph as plain data: what the cache keeps, and what is checked when it comes from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from torchrecorder.layout import codec
from torchrecorder.layout.model import Layout

if TYPE_CHECKING:
    from torchrecorder.write.text import LayerRow

VERSION = 6  # of this format
MAX_NESTED_BYTES = 64_000  # of all nested drawings of a figure together
_KINDS: dict[object, type] = {"int": int, "str": str}  # by the annotation of a field


@dataclass(frozen=True, slots=True)
class NestedDrawing:
    """The picture of a layer that is closed in another picture."""

    call: int
    """The number that the closed layer refers to it by."""
    path: str
    parent: int | None
    """The call of the nested drawing in which it is closed; None in the main picture."""
    layout: Layout
    svg_length: int
    """Characters of its SVG, which a page has no room for if they are too many."""
    details: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture of a Graph, with the texts that belong to it; plain data, as the cache keeps it."""

    layout: Layout
    """The picture, from which every file is written. Its ids begin with `tr-`; what its layers refer to are dotted
    names of classes and calls, for which a page has addresses."""
    text: str
    """The tree of modules, for output without pictures."""
    alt: str
    """What the picture shows, in a sentence or two."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of the model, by a short name: `parameters`, `input`, …."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides, such as a guessed input or a part that is not drawn."""
    foot: tuple[str, ...] = ()
    """Those of the notes that a file says at the foot of the picture: what is not drawn, and what was chosen."""
    weakened: tuple[str, ...] = ()
    """What is shown in a plainer way than was planned, since its proof failed, each with the reason."""
    dot: str = ""
    """What the layout engine got, for other tools that read Graphviz's language."""
    nested: tuple[NestedDrawing, ...] = ()
    """Of closed layers, one before those that are closed in it; `insides` in JSON."""
    table: tuple[LayerRow, ...] = ()
    """The layers as rows, if they were asked for."""
    details: str = ""
    """What a page can tell of each node, as JSON; a drawing of an earlier version has none."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that its pictures refer to, each once."""
        from torchrecorder.write.links import classes

        return tuple(dict.fromkeys(cls for layout in self.layouts for cls in classes(layout)))

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Its pictures, those of closed layers behind its own."""
        return self.layout, *(inside.layout for inside in self.nested)

    @property
    def svg(self) -> str:
        """The picture of no page yet, by which pictures are compared and measured."""
        from torchrecorder.write.svg import neutral

        return neutral(self.layout)

    @property
    def width(self) -> float:
        """CSS pixels."""
        return self.layout.size_px[0]

    @property
    def height(self) -> float:
        return self.layout.size_px[1]

    @property
    def uid(self) -> str:
        return self.layout.uid

    def to_bytes(self) -> bytes:
        """A line of JSON, as the cache keeps it: its fields, with the version of the format."""
        facts: dict[str, Any] = {"torchrecorder_drawing": VERSION}
        facts |= {field.name: getattr(self, field.name) for field in fields(self)}
        facts["layout"] = codec.to_data(self.layout)
        facts["table"] = [asdict(row) for row in self.table]
        facts["nested"] = [
            [inside.call, inside.path, inside.parent, codec.to_data(inside.layout), inside.svg_length, inside.details]
            for inside in self.nested
        ]
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Drawing | None:
        """The drawing that `to_bytes` wrote; None for anything else."""
        try:
            facts = json.loads(data)
            if facts.pop("torchrecorder_drawing") != VERSION:
                return None
            facts |= {name: tuple(facts[name]) for name in ("notes", "foot", "weakened")}
            rows = facts.pop("table")
            nested = tuple(
                NestedDrawing(call, path, parent, codec.from_data(layout), length, details)
                for call, path, parent, layout, length, details in facts.pop("nested")
            )
            table: tuple[LayerRow, ...] = ()
            if rows:
                from torchrecorder.write.text import LayerRow  # loads all that knows of Graphs, which few pictures need

                table = tuple(LayerRow(**row) for row in rows)
            facts["layout"] = codec.from_data(facts["layout"])
            drawing = Drawing(**facts, nested=nested, table=table)
            return drawing if drawing.is_whole() else None
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError, OverflowError):
            return None

    def is_whole(self) -> bool:
        """Whether every field is what it should be, which is not certain of a drawing that comes from a cache."""
        nested = self.nested
        return (
            isinstance(self.facts, dict)
            and _are((str,), self.text, self.alt, self.dot, *self.facts, *self.facts.values())
            and _are((str,), *self.notes, *self.foot, *self.weakened)
            and _are((str,), *(inside.path for inside in nested))
            and all(map(_is_table, (self.details, *(inside.details for inside in nested))))
            and _are((int,), *(number for inside in nested for number in (inside.call, inside.svg_length)))
            and _is_nested(nested)
            and all(_are((_KINDS[f.type],), getattr(row, f.name)) for row in self.table for f in fields(row))
        )


def _are(kinds: tuple[type, ...], *values: object) -> bool:
    """Raises UnicodeEncodeError for texts that no page could be written with."""
    for value in values:
        if isinstance(value, str):
            value.encode()
    return {*map(type, values)}.issubset(kinds)


def _is_nested(nested: tuple[NestedDrawing, ...]) -> bool:
    """Whether each call is there once, behind the one in which it is closed, so that following parents ends."""
    known: set[int | None] = {None}
    for inside in nested:
        if inside.parent not in known or inside.call in known:
            return False
        known.add(inside.call)
    return True


def _is_table(details: object) -> bool:
    """Whether it is an object of lists as JSON, or empty; scripts rely on it."""
    try:
        rows = json.loads(details or "{}") if isinstance(details, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(rows, dict) and _are((list,), *rows.values()) and _are((str,), details)


@dataclass(frozen=True, slots=True)
class CachedDrawing:
    """A drawing of the cache whose digest and classes are known before it is read."""

    digest: str
    classes: tuple[str, ...]
    load: Callable[[], Drawing]
