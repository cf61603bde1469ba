"""What is written into files and between comments, of what became of the requests for it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape

from torchrecorder.files.project import Piece
from torchrecorder.page.files import FileType, file_name, file_type
from torchrecorder.page.outcome import Outcome
from torchrecorder.page.printed import outcome_for_print
from torchrecorder.request import DiagramRequest
from torchrecorder.request.models import COLUMNS

_MADE = "<!-- written by `torchrecorder update`, as pyproject.toml asks; edit that -->\n\n"


def content(piece: Piece, drawn: Mapping[DiagramRequest, Outcome]) -> bytes:
    """Content of a piece.

    Raises:
        TorchRecorderError: A model that it needs could not be drawn.
    """
    outcomes = [drawn[request] for request in piece.requests]
    if piece.request is None:
        table = "\n".join(_table(piece, outcomes))
        return (table if piece.block else f"{_MADE}{table}\n").encode()
    outcome = outcome_for_print(piece.request, outcomes) if piece.block is None else outcomes[0].loaded()
    if outcome.error is not None:
        raise outcome.error
    assert outcome.diagram is not None
    if isinstance(piece.kind, FileType):
        return piece.kind.write(replace(outcome.diagram, dark=piece.dark))
    if piece.kind == "mermaid":
        return b"```mermaid\n" + file_type("mmd").write(outcome.diagram) + b"```"
    return "\n".join(_picture(piece, outcome)).encode()


def _picture(piece: Piece, outcome: Outcome) -> Iterator[str]:
    """Lines of the element that shows a light or a dark file, as the reader's page is."""
    options, diagram = outcome.request.figure, outcome.diagram
    assert diagram is not None
    light, *dark = (_address(file, piece) for file in piece.links)
    shown = {"src": light, "alt": options.alt or diagram.alt}
    wide, high = options.size(diagram.size[0])
    shown |= {"width": wide.removesuffix("px"), "height": high.removesuffix("px")}
    is_centred = options.align == "center"
    shown |= {"align": "" if is_centred else options.align}
    words = " ".join(f'{name}="{escape(text)}"' for name, text in shown.items() if text)
    yield from ['<p align="center">'] if is_centred else []
    yield "<picture>"
    yield from (f'  <source media="(prefers-color-scheme: dark)" srcset="{file}">' for file in dark)
    yield f"  <img {words}>"
    yield "</picture>"
    yield from ["</p>"] if is_centred else []


def _address(file: str, piece: Piece) -> str:
    """Address of a file, seen from the Markdown that shows it."""
    return posixpath.relpath(file, os.path.dirname(piece.file) or ".").replace(" ", "%20")


def _table(piece: Piece, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of a table of Markdown, without the models of a pattern that cannot be drawn."""
    from torchrecorder.comparison.report import escaped  # loads all that compares, which no picture needs
    from torchrecorder.page.models import ModelRow

    numbers = ("parameters", "trainable", "flops", "memory", "depth")
    yield f"| {' | '.join(COLUMNS[name] for name in piece.columns)} |"
    yield f"|{'|'.join('---:' if name in numbers else '---' for name in piece.columns)}|"
    for listed, outcome in zip(piece.models, outcomes, strict=True):
        if outcome.error is not None:
            if outcome.is_skipped:
                continue
            raise outcome.error
        row = ModelRow(listed, outcome)
        cells = [_image(piece, row.outcome) if it == "picture" else escaped(row.cell(it)) for it in piece.columns]
        yield f"| {' | '.join(cells)} |"


def _image(piece: Piece, outcome: Outcome) -> str:
    address = _address(picture_file(piece, outcome.request), piece)
    return f'<a href="{address}"><img src="{address}" width="120" alt="{escape(outcome.title())}"></a>'


def picture_file(table: Piece, request: DiagramRequest) -> str:
    return f"{table.links[0]}/{file_name(request.recording.target)}.svg"


def pictures_of(table: Piece) -> Iterator[Piece]:
    """The files of the pictures that a table shows."""
    for row, request in zip(table.models, table.requests, strict=True):
        asks = ("shown", row.body.target, dict(row.body.options))
        yield Piece(table.place, picture_file(table, request), file_type("svg"), asks, request)
