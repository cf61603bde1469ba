"""The picture that torchrecorder 1.0.3 would have drawn of a recording, as text for a layout engine.

It is that of `gv`, drawn from plain data. The text carries no colours, as that of `dot`: each thing says what it is in
its class, and `svg` paints it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import graphviz

from torchrecorder.graph import ClassicNode, Graph
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.renderer.gv import GraphvizRenderer

_CLASSES: dict[str, type[BaseNode]] = {"layer": LayerNode, "param": ParamNode, "tensor": TensorNode, "op": OpNode}
_KINDS = {"layer": "block", "param": "data", "tensor": "io", "op": "op"}
"""What `svg` calls them: grey, olive, blue and orange in its classic look."""
_FONT = {"fontname": "Helvetica", "fontsize": "10.5"}
_GRAPH = {**_FONT, "compound": "true", "ranksep": "0.5", "labelloc": "t", "labeljust": "l", "bgcolor": "transparent"}
_GRAPH |= {"margin": "0", "pad": "0.06"}


def to_classic_dot(graph: Graph, *, depth: int, direction: str = "TB") -> graphviz.Digraph:
    """The picture of a classic recording, without positions and colours."""
    dot = graphviz.Digraph("g")
    dot.attr("graph", rankdir=direction, **_GRAPH)
    dot.attr("node", **_FONT, height="0.3", margin="0.1,0.05")
    dot.attr("edge", arrowsize="0.6")
    assert graph.classic is not None
    rows = enumerate(graph.classic.nodes)
    nodes = {place: _CLASSES[row.kind](row.name, row, row.depth, row.parent) for place, row in rows}
    recording = _PlainNodes(nodes, frozenset(graph.classic.edges))
    return _ClassicRenderer(recording, depth, partial(_ClassicStyler, graph))(dot)


@dataclass(frozen=True, slots=True)
class _PlainNodes:
    """Nodes and edges with positions in the place of live objects."""

    nodes: dict[int, BaseNode]
    edges: Set[tuple[int, int]]


class _ClassicStyler:
    """Labels as 1.0.3 writes them, and the class of each node in the place of its colours."""

    def __init__(self, graph: Graph) -> None:
        self._modules = graph.modules
        failed = graph.info.failure is not None
        self._broken = {call.module for call in graph.calls if failed and not call.ok}

    def style_node(self, node: BaseNode) -> dict[str, str]:
        row: ClassicNode = node.fn
        shape = [str(list(row.about))] if isinstance(row.about, tuple) else []
        label = "\\n".join(_literal(line) for line in [*row.name.split("\n"), *shape])
        form = "ellipse" if row.kind in ("tensor", "param") else "box"
        return {"label": graphviz.nohtml(label), "shape": form, **self._about(row, _KINDS[row.kind])}

    def style_box(self, node: BaseNode) -> dict[str, str]:
        """A layer whose inside is shown; its title is one line."""
        row: ClassicNode = node.fn
        label = graphviz.nohtml(_literal(row.name.replace("\n", " ")))
        return {"label": label, "margin": "10", **self._about(row, "box")}

    def style_edge(self, tail: BaseNode, head: BaseNode) -> dict[str, str]:
        return {}

    def _about(self, row: ClassicNode, kind: str) -> dict[str, str]:
        if row.kind != "layer" or not isinstance(row.about, str):
            return {"class": kind}
        module = self._modules.get(row.about)
        flags = f"{kind} error" if row.about in self._broken else kind
        return {"class": flags, **({} if module is None else {"comment": _literal(module.cls)})}


class _ClassicRenderer(GraphvizRenderer):
    def _cluster_style(self, node: BaseNode) -> dict[str, Any]:
        styler: Any = self.styler
        return dict(styler.style_box(node))


def _literal(text: str) -> str:
    """The text as the engine takes it literally; it would read `&lt;` as `<` even outside HTML."""
    return str(graphviz.escape(text.replace("&", "&amp;")))
