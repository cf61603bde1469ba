"""A `graphviz.Digraph` that can be written without a system Graphviz.

The graphviz package starts the program `dot`. Where there is none, the one that graphviz-pure brings does its work; it
takes the same arguments and writes SVG and PNG.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import graphviz
from graphviz.backend import dot_command

from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineNotFound

_LOCK = threading.RLock()
"""The name of the program is one for the whole graphviz package."""


class Digraph(graphviz.Digraph):
    """A `graphviz.Digraph`; `render`, `view` and `pipe` work without a system Graphviz too."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Save the source and write the picture beside it; see graphviz."""
        with _program():
            return str(super().render(*args, **kwargs))

    def pipe(self, *args: Any, **kwargs: Any) -> Any:
        """The picture as bytes, or as text with `encoding`; see graphviz."""
        with _program():
            return super().pipe(*args, **kwargs)


@contextmanager
def _program() -> Iterator[None]:
    """Let graphviz start the program of graphviz-pure, if there is no `dot`; without either its own error is right."""
    if shutil.which(str(dot_command.DOT_BINARY)):
        yield
        return
    try:
        program = find_engine("pure").path
    except EngineNotFound:
        yield
        return
    with _LOCK:
        before = dot_command.DOT_BINARY
        dot_command.DOT_BINARY = program
        try:
            yield
        finally:
            dot_command.DOT_BINARY = before
