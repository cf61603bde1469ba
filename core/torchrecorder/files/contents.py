"""What is written into files and between comments, of what became of the requests for it."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from torchrecorder.files.comments import REST
from torchrecorder.files.project import FilePart
from torchrecorder.page.files import FileType, file_name, file_type, outcome_for_print
from torchrecorder.page.outcome import Outcome
from torchrecorder.request import DiagramRequest
from torchrecorder.request.models import COLUMNS, NUMBERS

if TYPE_CHECKING:
    from torchrecorder.page.models import ModelRow

_MADE = "written by `torchrecorder update`, as pyproject.toml asks; edit that"
_MARKUP = re.compile(r"([\\*`_|])")
_THUMBNAIL_PX = 120  # width of a picture in a table: five columns beside it have room in a README on a forge


def content(part: FilePart, drawn: Mapping[DiagramRequest, Outcome]) -> bytes:
    """Content of a part.

    Raises:
        TorchRecorderError: A model that it needs could not be drawn.
    """
    outcomes = [drawn[request] for request in part.requests]
    if part.request is None:
        table = "\n".join(_table(part, outcomes))
        made = f".. {_MADE}" if part.file.endswith(REST) else f"<!-- {_MADE} -->"
        return (table if part.block else f"{made}\n\n{table}\n").encode()
    outcome = outcome_for_print(part.request, outcomes) if part.block is None else outcomes[0].loaded()
    if outcome.error is not None:
        raise outcome.error
    assert outcome.diagram is not None
    if isinstance(part.kind, FileType):
        data = part.kind.write(replace(outcome.diagram, dark=part.dark))
        return _with_own_ids(data, outcome.diagram.drawing.uid.encode())
    if part.kind == "mermaid":
        return b"```mermaid\n" + file_type("mmd").write(outcome.diagram) + b"```"
    return "\n".join(_picture(part, outcome)).encode()


def _with_own_ids(data: bytes, uid: bytes) -> bytes:
    """A file whose ids follow from what it shows: those of a drawing change with the lines of the code, too."""
    own = hashlib.sha256(data.replace(uid, b"")).hexdigest()[: len(uid) - len(b"tr-")]
    return data.replace(uid, f"tr-{own}".encode())


def _picture(part: FilePart, outcome: Outcome) -> Iterator[str]:
    """Lines of the element that shows a light or a dark file, as the reader's page is."""
    options, diagram = outcome.request.figure, outcome.diagram
    assert diagram is not None
    light, *dark = (_address(file, part) for file in part.links)
    shown = {"src": light, "alt": options.alt or diagram.alt}
    wide, high = options.size(diagram.size[0])
    if part.file.endswith(REST):
        yield from _rest_image(light, {"alt": shown["alt"], "width": wide, "height": high, "align": options.align})
        return
    shown |= {"width": _attribute(wide), "height": _attribute(high)}
    is_centred = options.align == "center"
    shown |= {"align": "" if is_centred else options.align}
    words = " ".join(f'{name}="{escape(text)}"' for name, text in shown.items() if text)
    yield from ['<p align="center">'] if is_centred else []
    yield "<picture>"
    yield from (f'  <source media="(prefers-color-scheme: dark)" srcset="{file}">' for file in dark)
    yield f"  <img {words}>"
    yield "</picture>"
    yield from ["</p>"] if is_centred else []


def _attribute(length: str) -> str:
    """A length of CSS as an attribute of HTML, where pixels are whole and have no unit."""
    return f"{float(length[:-2]):.0f}" if length.endswith("px") else length


def _address(file: str, part: FilePart) -> str:
    """Address of a file, seen from the Markdown that shows it."""
    return posixpath.relpath(file, os.path.dirname(part.file) or ".").replace(" ", "%20")


def _table(part: FilePart, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of a table, without the models of a pattern that cannot be drawn."""
    from torchrecorder.comparison.compared import escaped  # loads all that compares, which no picture needs
    from torchrecorder.page.models import ModelRow, line_of_inputs

    pictures = [picture.file for picture in pictures_of(part)] if part.links else [""] * len(outcomes)
    rows: list[ModelRow] = []
    for listed, outcome, file in zip(part.models, outcomes, pictures, strict=True):
        if outcome.error is not None:
            if outcome.is_skipped:
                continue
            raise outcome.error
        rows.append(ModelRow(listed, outcome, picture=_address(file, part) if file else ""))
    said, heads = line_of_inputs(rows, part.columns), [COLUMNS[name] for name in part.columns]
    if part.file.endswith(REST):
        yield from _rest_table(heads, ([_rest_cell(row, name) for name in part.columns] for row in rows), said)
        return
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join('---:' if name in NUMBERS else '---' for name in part.columns)}|"
    for row in rows:
        cells = (_image(row) if name == "picture" else escaped(row.cell(name)) for name in part.columns)
        yield f"| {' | '.join(cells)} |"
    if said:
        yield from ("", f"*{escaped(said)}*")


def _image(row: ModelRow) -> str:
    alt = escape(row.outcome.title())
    return f'<a href="{row.picture}"><img src="{row.picture}" width="{_THUMBNAIL_PX}" alt="{alt}"></a>'


def _rest_cell(row: ModelRow, column: str) -> list[str]:
    if column != "picture":
        return [_in_rest(row.cell(column))]
    shown = {"alt": row.outcome.title(), "width": f"{_THUMBNAIL_PX}px", "target": row.picture}
    return [*_rest_image(row.picture, shown)]


def has_row(table: bytes, target: str) -> bool:
    """Whether a table that was written has a row for a model of a pattern."""
    name = re.escape(target.rpartition(".")[2])
    text = table.decode(errors="replace").replace("\\", "")
    return re.search(rf"(\| |- ){name}( \||\r?$)", text, re.MULTILINE) is not None


def pictures_of(table: FilePart) -> list[FilePart]:
    """The files of the pictures that a table shows, one for each row; rows of one target have numbers."""
    parts: list[FilePart] = []
    names: dict[str, int] = {}
    for row, request in zip(table.models, table.requests, strict=True):
        name = file_name(request.recording.target)
        names[name] = names.get(name, 0) + 1
        number = f"-{names[name]}" if names[name] > 1 else ""
        asks = ("shown", row.body.target, dict(row.body.options))
        file = f"{table.links[0]}/{name}{number}.svg"
        parts.append(FilePart(table.place, file, file_type("svg"), asks, request))
    return parts


def _in_rest(text: str) -> str:
    """The text as one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _rest_image(address: str, options: Mapping[str, str]) -> Iterator[str]:
    """Lines of an image; options without a value are left out."""
    yield f".. image:: {address}"
    yield from (f"   :{name}: {' '.join(value.split())}" for name, value in options.items() if value)


def _rest_table(heads: Sequence[str], rows: Iterable[Sequence[Sequence[str]]], said: str = "") -> Iterator[str]:
    """Lines of a table, each cell of which has lines of its own, and of a sentence below it."""
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in ([[_in_rest(head)] for head in heads], *rows):
        for column, cell in enumerate(row):
            first, *more = cell
            yield f"   {' ' if column else '*'} - {first}".rstrip()
            yield from (f"       {line}" for line in more)
    if said:
        yield from ("", f"*{_in_rest(said)}*")
