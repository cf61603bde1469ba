"""Writing a drawing to files, with or without a `dot` of the system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import graphviz
from graphviz.backend import dot_command

from torchrecorder.engine import find_engine


def save(visual_graph: graphviz.Digraph, image_format: str = "png") -> str:
    """Write the text of DOT and the picture beside it; the path of the picture.

    Raises:
        EngineNotFound: There is no layout engine.
    """
    with engine_of_ours():
        path: str = visual_graph.render(format=image_format, quiet=True)
    return path


@contextmanager
def engine_of_ours() -> Iterator[None]:
    """Have the graphviz package start the engine that torchrecorder finds, instead of a `dot` on the PATH."""
    module: Any = dot_command
    found = module.DOT_BINARY
    module.DOT_BINARY = Path(find_engine().path)
    try:
        yield
    finally:
        module.DOT_BINARY = found
