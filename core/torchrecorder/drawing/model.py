"""The picture of a Graph as plain data: what the cache keeps, and what is checked when it comes from there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.write.text import LayerRow

VERSION = 5
MAX_NESTED_BYTES = 64_000
"""Of all nested drawings of a figure together."""
_KINDS: dict[object, type] = {"int": int, "str": str}
"""By the annotation of a field."""
_UID = re.compile(r"\btr-[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class NestedDrawing:
    """The picture of a layer that is closed in another picture."""

    call: int
    """The number that the closed layer refers to it by."""
    path: str
    """Of the layer."""
    parent: int | None
    """The call of the nested drawing in which it is closed; None if that is the main picture."""
    svg: str
    width: float
    """In CSS pixels."""
    details: str = ""
    """As of a `Drawing`."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture of a Graph, with the texts that belong to it; plain data, as the cache keeps it."""

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
    def svgs(self) -> tuple[str, ...]:
        return self.svg, *(one.svg for one in self.nested)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that its pictures refer to, each once."""
        from torchrecorder.write.links import classes

        return tuple(dict.fromkeys(cls for svg in self.svgs for cls in classes(svg)))

    @property
    def uid(self) -> str:
        found = _UID.search(self.svg)
        return found[0] if found else "tr"

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data, with the version of the format."""
        named = {"insides" if name == "nested" else name: value for name, value in asdict(self).items()}
        return {"torchrecorder_drawing": VERSION, **named}

    def to_bytes(self) -> bytes:
        """As it is kept in the cache: a line of JSON with its facts, then its long texts, one behind the other.

        In JSON, each quote sign of an SVG would be escaped, and unescaped again by each build that shows it.
        """
        facts = self.to_json()
        parts = [facts, facts, facts, *facts["insides"]]
        texts = [part.pop(name).encode() for part, name in zip(parts, _texts(len(parts)), strict=True)]
        facts["sizes"] = [*map(len, texts)]
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" + b"".join(texts)

    @staticmethod
    def from_bytes(data: bytes) -> Drawing | None:
        """The drawing that `to_bytes` wrote; None for anything else."""
        head, _, rest = data.partition(b"\n")
        try:
            facts = json.loads(head)
            sizes = facts.pop("sizes")
            parts = [facts, facts, facts, *facts["insides"]]
            end = 0
            for part, name, size in zip(parts, _texts(len(parts)), sizes, strict=True):
                part[name] = rest[end : end + size].decode()
                end += size
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return None
        return Drawing.from_json(facts) if end == len(rest) and min(sizes) >= 0 else None

    @staticmethod
    def from_json(data: object) -> Drawing | None:
        """The drawing that `to_json` wrote; None for anything else."""
        if not isinstance(data, dict) or data.pop("torchrecorder_drawing", None) != VERSION:
            return None
        try:
            data |= {name: tuple(data[name]) for name in ("notes", "foot", "weakened")}
            rows = data.pop("table")
            nested = tuple(NestedDrawing(**one) for one in data.pop("insides"))
            table: tuple[LayerRow, ...] = ()
            if rows:
                from torchrecorder.write.text import (
                    LayerRow,  # loads all that knows of Graphs, which few pictures need
                )

                table = tuple(LayerRow(**row) for row in rows)
            drawing = Drawing(**data, nested=nested, table=table)
            return drawing if drawing.is_whole() else None
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            return None

    def is_whole(self) -> bool:
        """Whether every field is what it should be, which is not certain of a drawing that comes from a cache."""
        nested = self.nested
        return (
            isinstance(self.facts, dict)
            and _are((str,), self.svg, self.text, self.alt, self.dot, *self.facts, *self.facts.values())
            and _are((str,), *self.notes, *self.foot, *self.weakened)
            and _are((float, int), self.width, self.height, *(one.width for one in nested))
            and _are((str,), *(text for one in nested for text in (one.svg, one.path)))
            and all(map(_is_table, (self.details, *(one.details for one in nested))))
            and _are((int,), *(one.call for one in nested))
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
    for one in nested:
        if one.parent not in known or one.call in known:
            return False
        known.add(one.call)
    return True


def _is_table(details: object) -> bool:
    """Whether it is an object of lists as JSON, or empty; scripts rely on it."""
    try:
        rows = json.loads(details or "{}") if isinstance(details, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(rows, dict) and _are((list,), *rows.values()) and _are((str,), details)


def _texts(parts: int) -> list[str]:
    return ["svg", "text", "dot", *["svg"] * (parts - 3)]


@dataclass(frozen=True, slots=True)
class CachedDrawing:
    """A drawing of the cache, of which is known what it is before it is read."""

    digest: str
    """As `Drawing.digest`."""
    classes: tuple[str, ...]
    """As `Diagram.classes`."""
    load: Callable[[], Drawing]
