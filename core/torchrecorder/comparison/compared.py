"""`torchrecorder.diff`: two Graphs in, what changed out as text, Markdown or a picture; needs no torch."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torchrecorder.comparison.changes import Change, pattern, shown_paths
from torchrecorder.comparison.difference import Difference, ShapeChange
from torchrecorder.comparison.union import Union
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import LOG_LIMIT, CannotCompare, FormatError, OptionError, TorchRecorderError, shown_text
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.labels.names import clean, count
from torchrecorder.page.diagram import Diagram
from torchrecorder.page.files import FILE_TYPES
from torchrecorder.request import DrawingOptions
from torchrecorder.view.model import Mark

if TYPE_CHECKING:
    from torchrecorder.drawing.draw import DrawJob


_T = TypeVar("_T")
_MAX_ALT = 600  # characters that a reader of screens is given of a picture
_ADVICE = "`torchrecorder draw pkg.Net -o net.json` writes such a file"
_WORDS = {".md": "markdown", ".txt": "text"}
PICTURES = tuple(it.name for it in FILE_TYPES if it.name not in ("txt", "json", "mmd"))
"""The types of files that are made from the picture, so that they have its marks."""


class Diff:
    """Changes from an old model to a new one."""

    def __init__(
        self,
        old: Graph,
        new: Graph,
        names: tuple[str, str] = ("", ""),
        *,
        options: DrawingOptions | None = None,
        engine: str = "auto",
    ) -> None:
        """Compare them.

        Args:
            old: The model as it was.
            new: The model as it is.
            names: What the two are called; their classes if empty.
            options: Those of the picture.
            engine: `auto`, `pure`, `dot`, or the path of a Graphviz program.

        Raises:
            CannotCompare: The two have nothing in common.
        """
        classes = [graph.modules[""].cls.rpartition(".")[2] for graph in (old, new)]
        self.names = names[0] or classes[0], names[1] or classes[1]
        self._options, self._engine = options or DrawingOptions(), engine
        self._difference = self._guarded(lambda: Difference(old, new))
        if self._difference.is_unrelated:
            raise CannotCompare(
                f"{self.names[0]} and {self.names[1]} have no layers in common, so a diff would say that all is new",
                "`torchrecorder draw` draws each of them",
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed of what the model computes; code that was only moved changes nothing."""
        return self._difference.is_empty

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes in the order of the new model."""
        return tuple(self._difference.changes)

    @cached_property
    def text(self) -> str:
        """The changes, a line for each."""
        return as_text(self._difference, self.names)

    @cached_property
    def markdown(self) -> str:
        """The same for a comment on a pull request."""
        return as_markdown(self._difference, self.names)

    @cached_property
    def diagram(self) -> Diagram:
        """The picture of both: what is new, gone, changed or moved is marked.

        Raises:
            EngineError: It could not be laid out.
        """
        from torchrecorder.drawing.draw import draw  # loads Graphviz

        digest = hashlib.sha256("".join(map(to_json, (self._difference.old, self._difference.new))).encode())
        job = self.job(digest.hexdigest(), self._options)
        (drawing,) = draw([job], find_engine(self._engine))
        if isinstance(drawing, TorchRecorderError):
            raise drawing
        return Diagram(self.described(drawing), load_graph=lambda: self._difference.new, options=self._options)

    def job(self, digest: str, options: DrawingOptions) -> DrawJob:
        """The job of drawing both; `digest` names the picture in its page."""
        from torchrecorder.drawing.draw import DrawJob

        union = self._guarded(lambda: Union(self._difference.flow))
        return DrawJob(union.graph, digest, options, marks=union.marks)

    def _guarded(self, make: Callable[[], _T]) -> _T:
        try:
            return make()
        except Exception as error:  # our fault, and no reason to end a build with a traceback
            raise failed_inside(" and ".join(self.names), error, doing="compare") from error

    def described(self, drawing: Drawing) -> Drawing:
        """The drawing with the words of the diff in place of those of one model."""
        alt = clean(as_summary(self._difference, self.names), _MAX_ALT)
        matching = self._difference.matching
        around = matching.old.cls if matching.old not in matching.new_of else ""
        notes = (f"{around}, which was around the model, is not drawn",) if around else ()
        return replace(drawing, text=self.text, alt=alt, notes=notes, foot=notes, table=())

    def save(self, path: str | Path) -> None:
        """Write what changed to a file; its ending says how.

        `.md` and `.txt` are words, all others pictures, as of a `Diagram`.

        Raises:
            OptionError: The ending is another.
        """
        path = Path(path)
        if (name := _WORDS.get(path.suffix.lower())) is None:
            if path.suffix[1:].lower() not in PICTURES:
                endings = ", ".join((*_WORDS, *(f".{name}" for name in PICTURES)))
                raise OptionError((f"cannot write a diff as {path.name!r}: its name must end with {endings}",))
            self.diagram.save(path)
        else:
            path.write_text(f"{getattr(self, name)}\n", encoding="utf-8")

    def __repr__(self) -> str:
        count = len(self._difference.changes)
        return f"<Diff of {self.names[0]} and {self.names[1]}: {count} change{'' if count == 1 else 's'}>"

    def _repr_markdown_(self) -> str:
        return self.markdown


def diff(old: Graph | Diagram | str | os.PathLike[str], new: Graph | Diagram | str | os.PathLike[str]) -> Diff:
    """Changes from one model to another.

    Each is a Graph, as `capture` gives it, a Diagram, as `draw` gives it, or the `.json` file of a Graph.

    >>> import torch
    >>> import torchrecorder
    >>> old, new = (torchrecorder.capture(torch.nn.Linear(3, n), torch.zeros(1, 3)) for n in (4, 8))
    >>> print(torchrecorder.diff(old, new).text.splitlines()[-1])
    ~ : out_features 4 → 8  +16 params

    Args:
        old: The model as it was.
        new: The model as it is.

    Raises:
        CannotCompare: The two have nothing in common, or a file is not a Graph.
        OptionError: One of them is none of these.
    """
    graphs = [_graph(one) for one in (old, new)]
    names = [os.fspath(one) if isinstance(one, str | os.PathLike) else "" for one in (old, new)]
    return Diff(graphs[0], graphs[1], (names[0], names[1]))


def _graph(given: object) -> Graph:
    if isinstance(given, Graph):
        return given
    if isinstance(given, Diagram):
        return given.graph
    if isinstance(given, str | os.PathLike):
        return read_graph(Path(given))
    kind = type(given).__name__
    raise OptionError((f"{kind} is not compared as it is; write diff(capture(old, (x,)), capture(new, (x,)))",))


def read_graph(file: Path) -> Graph:
    """The Graph in a file; without one, `CannotCompare` is raised."""
    try:
        return graph_from(file.read_bytes(), str(file))
    except OSError as error:
        raise CannotCompare(f"cannot read {file}: {error.strerror or error}", _ADVICE) from error


def graph_from(data: bytes, name: str) -> Graph:
    """The Graph in the text of a file of that name; without one, `CannotCompare` is raised."""
    try:
        return from_json(data)
    except FormatError as error:
        raise CannotCompare(f"{name} is not the file of a Graph: {error.reason}", _ADVICE) from error


SIGNS: dict[Mark, str] = {"added": "+", "removed": "−", "changed": "~", "moved": "→"}
# Changes, shapes, and inputs and outputs that are listed: as much as a reviewer reads in a comment.
_MOST, _MOST_SHAPES, _MOST_ENDS = 60, 12, 8
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_ACTIVE = re.compile(r"\S*(?:@|://|www\.|#\d|GH-\d)\S*", re.IGNORECASE)
"""Texts that a platform turns into a mention, a link or a reference, even if escaped, but not within code."""
_LINE_ENDS = re.compile("[\t-\r\u2028\u2029]+")


def as_text(difference: Difference, names: tuple[str, str]) -> str:
    """All changes, a line for each, without the names of the files."""
    rows = (f"{name:<11} {old} → {new}  {delta}".rstrip() for name, old, new, delta in _numbers(difference))
    lines = [_title(difference, names), *rows]
    if difference.is_empty:
        return _joined((*lines, "nothing that the model computes has changed"))
    lines.append("")
    for change in difference.changes[:_MOST]:
        place = f"{change.place}: " if change.where else ""
        delta = f"  {_signed(change.params)} params" if change.params else ""
        lines.append(f"{SIGNS[change.mark]} {place}{change.text}{_times(change)}{delta}")
    if (more := len(difference.changes) - _MOST) > 0:
        lines.append(f"… and {more} more changes")
    shapes, hidden = _shown(difference.shapes)
    if shapes:
        lines += ["", "shapes", *(f"  {row.place}  {row.old} → {row.new}" for row in shapes)]
        lines += [f"  … and {hidden} more"] if hidden else []
    return _joined(lines).rstrip()


def as_markdown(difference: Difference, names: tuple[str, str]) -> str:
    """The same for a comment on a pull request."""
    lines = [f"### {escaped(_title(difference, names))}", ""]
    if difference.is_empty:
        return _joined((*lines, "Nothing that the model computes has changed."))
    if rows := [*_numbers(difference)]:
        lines += ["| | before | after | Δ |", "|---|---:|---:|---:|"]
        lines += [f"| {' | '.join(map(escaped, row))} |" for row in rows] + [""]
    for change in difference.changes[:_MOST]:
        place = f"{_code(change.place)}: " if change.where else ""
        delta = f" ({_signed(change.params)} parameters)" if change.params else ""
        what = change.text.replace(f" {change.mark}", "", 1)
        lines.append(f"- **{change.mark}** {place}{escaped(what)}{_times(change)}{delta}")
    if (more := len(difference.changes) - _MOST) > 0:
        lines.append(f"- … and {more} more changes")
    shapes, hidden = _shown(difference.shapes)
    if shapes:
        lines += ["", f"<details><summary>{len(difference.shapes)} layers give other shapes</summary>", ""]
        lines += ["| layer | before | after |", "|---|---|---|"]
        lines += [f"| {_code(row.place)} | {escaped(row.old)} | {escaped(row.new)} |" for row in shapes]
        lines += [f"| … and {hidden} more | | |"] if hidden else []
        lines += ["", "</details>"]
    return _joined(lines)


def as_summary(difference: Difference, names: tuple[str, str]) -> str:
    """A sentence for readers who cannot see the picture."""
    counts = {mark: sum(change.mark == mark for change in difference.changes) for mark in SIGNS}
    words = [f"{number} {mark}" for mark, number in counts.items() if number]
    first = "; ".join(
        f"{change.place}: {change.text}" if change.where else change.text for change in difference.changes[:3]
    )
    return f"{_title(difference, names)}. {', '.join(words) or 'Nothing has changed'}" + (f". {first}" if first else "")


def _title(difference: Difference, names: tuple[str, str]) -> str:
    old, new = names
    return old if old == new else f"{old} → {new}"


def _numbers(difference: Difference) -> Iterator[tuple[str, str, str, str]]:
    """Parameters and FLOPs of both, and by how much they differ, then inputs and outputs; only what does."""
    both = difference.old, difference.new
    params = [graph.modules[""].params for graph in both]
    pairs = [("parameters", [it.total for it in params])]
    if [it.trainable == it.total for it in params] != [True, True]:
        pairs.append(("trainable", [it.trainable for it in params]))
    pairs.append(("FLOPs", [sum(op.flops or 0 for op in graph.ops) for graph in both]))
    for name, (old, new) in pairs:
        if old != new:
            share = f"{100 * (new / old - 1):+.1f} %".replace("-", "−") if old else ""
            share = f" ({share})" if share.strip("+−0. %") else ""
            delta = _signed(new - old).replace("B", "G") if name == "FLOPs" else _signed(new - old)
            yield name, f"{old:,}", f"{new:,}", f"{delta}{share}"
    rows = [*difference.inputs, *difference.outputs]
    yield from ((row.place, row.old or "none", row.new or "none", "") for row in rows[:_MOST_ENDS])
    if (more := len(rows) - _MOST_ENDS) > 0:
        yield f"{more} more", "…", "…", ""


def _signed(number: int) -> str:
    return ("+" if number > 0 else "−") + count(abs(number))


def _times(change: Change) -> str:
    is_said = change.is_counted or "layers" in change.text
    return f" (×{len(change.where)})" if len(change.where) > 1 and not is_said else ""


def _shown(shapes: list[ShapeChange]) -> tuple[list[ShapeChange], int]:
    """The shapes that are listed, the outermost layers first if there are many, and how many are not."""
    if len(shapes) <= _MOST_SHAPES:
        return shapes, 0
    level = min(row.place.count(".") for row in shapes)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in shapes:
        if row.place.count(".") == level:
            alike.setdefault((pattern(row.place), row.old, row.new), []).append(row.place)
    rows = [ShapeChange(shown_paths(places), old, new) for (_, old, new), places in alike.items()][:_MOST_SHAPES]
    return rows, len(shapes) - sum(len(places) for places in [*alike.values()][:_MOST_SHAPES])


def one_line(text: str) -> str:
    """A text in which names of a foreign Graph may stand, as one line that does nothing to a terminal."""
    return shown_text(_LINE_ENDS.sub(" ", text), LOG_LIMIT)


def escaped(text: str) -> str:
    """The text as one line of Markdown, in which nothing is markup; what a platform would react to is code."""
    text, done, parts = one_line(text), 0, []
    for active in _ACTIVE.finditer(text):
        parts += [_MARKDOWN.sub(r"\\\1", text[done : active.start()]), _code(active[0])]
        done = active.end()
    return "".join([*parts, _MARKDOWN.sub(r"\\\1", text[done:])])


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', '').replace('|', '¦')}`"


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(map(one_line, lines))
