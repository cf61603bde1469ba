"""`torchrecorder.diff`: two Graphs in, what changed out; needs no torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torchrecorder.comparison import report
from torchrecorder.comparison.changes import Change
from torchrecorder.comparison.difference import Difference
from torchrecorder.comparison.union import Union
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import CannotCompare, FormatError, OptionError, TorchRecorderError
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.labels.names import clean
from torchrecorder.page.diagram import Diagram
from torchrecorder.page.files import FILE_TYPES
from torchrecorder.request import DrawingOptions

if TYPE_CHECKING:
    from torchrecorder.drawing.draw import DrawJob

_T = TypeVar("_T")
_MAX_ALT = 600
"""Characters that a reader of screens is given of a picture."""
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
        return report.text(self._difference, self.names)

    @cached_property
    def markdown(self) -> str:
        """The same for a comment on a pull request."""
        return report.markdown(self._difference, self.names)

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
        alt = clean(report.summary(self._difference, self.names), _MAX_ALT)
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
