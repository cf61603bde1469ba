"""The insides of layers that a picture shows closed, drawn with it, for readers who want to look into them.

A page carries them all, so there are not many: the layers of the picture first, then those that are closed in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torchrecorder.errors import TorchRecorderError
from torchrecorder.graph import Graph
from torchrecorder.view import Node, View, ViewOptions, make_view

MAX_INSIDES = 12
MAX_BYTES = 64_000
"""Of all insides of a picture together."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A closed layer, and what is seen of it when it is opened."""

    call: int
    path: str
    parent: int | None
    """The call of the layer in whose inside it is closed."""
    view: View


def open_layers(view: View, options: ViewOptions) -> list[Opened]:
    """The closed layers of a view that show something when they are opened, and those in them.

    Args:
        view: Of the whole picture.
        options: How it is drawn; insides are drawn likewise, as deep as stays readable.
    """
    inner = replace(options, depth="auto", expand=(), collapse=())
    found: list[Opened] = []
    pending: list[tuple[int | None, View]] = [(None, view)]
    seen: set[str] = {options.focus}
    for parent, around in pending:
        for call, path in _closed(around):
            if len(found) == MAX_INSIDES:
                return found
            if path in seen:
                continue
            seen.add(path)
            if (inside := _inside(view.graph, replace(inner, focus=path))) is not None:
                found.append(Opened(call, path, parent, inside))
                pending.append((call, inside))
    return found


def _closed(view: View) -> Iterator[tuple[int, str]]:
    """The calls of layers that are drawn as one node and ran something; a layer that is called again only once."""
    graph = view.graph
    calling = {call.parent for call in graph.calls}
    for node in view.nodes:
        if node.kind == "call":
            call = graph.calls[node.calls[0]]
            module = graph.modules.get(call.module) if call.kind == "module" else None
            if module is not None and call.module and (call.id in calling or not module.native):
                yield call.id, call.module


def _inside(graph: Graph, options: ViewOptions) -> View | None:
    """The view of a layer; None if it shows no more than its name."""
    try:
        view = make_view(graph, options)
    except TorchRecorderError:
        return None
    return view if view.boxes and sum(map(_says_something, view.nodes)) > 1 else None


def _says_something(node: Node) -> bool:
    return node.kind in ("call", "op", "gap")
