"""The picture that torchrecorder 1.0.3 would have drawn of a Graph, as text for a layout engine: that of `renderer.gv`.

The text carries no colours: each thing says what it is in its class, and `svg` paints it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import graphviz

from torchrecorder.graph import Graph, Module, Value
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.renderer.gv import GraphvizRenderer
from torchrecorder.view.classic import classic_nodes

_KINDS: dict[type[BaseNode], str] = {LayerNode: "block", ParamNode: "data", TensorNode: "io", OpNode: "op"}
"""What `svg` calls them: grey, olive, blue and orange in its classic look."""
_FONT = {"fontname": "Helvetica", "fontsize": "10.5"}
_GRAPH = {**_FONT, "compound": "true", "ranksep": "0.5", "labelloc": "t", "labeljust": "l", "bgcolor": "transparent"}
_GRAPH |= {"margin": "0", "pad": "0.06"}


def to_classic_dot(graph: Graph, *, depth: int, direction: str = "TB") -> graphviz.Digraph:
    dot = graphviz.Digraph("g")
    dot.attr("graph", rankdir=direction, **_GRAPH)
    dot.attr("node", **_FONT, height="0.3", margin="0.1,0.05")
    dot.attr("edge", arrowsize="0.6")
    return _ClassicRenderer(classic_nodes(graph), depth, partial(_ClassicStyler, graph))(dot)


class _ClassicStyler:
    """Labels as 1.0.3 writes them, and the class of each node in the place of its colours."""

    def __init__(self, graph: Graph) -> None:
        failed = graph.info.failure is not None
        self._broken = {call.module for call in graph.calls if failed and not call.ok}

    def style_node(self, node: BaseNode) -> dict[str, str]:
        meta = node.fn.meta if isinstance(node.fn, Value) else None
        shape = [] if meta is None else [str(list(meta.shape))]
        label = "\\n".join(_literal(line) for line in [*node.name.split("\n"), *shape])
        form = "ellipse" if isinstance(node, TensorNode) else "box"
        return {"label": graphviz.nohtml(label), "shape": form, **self._about(node, _KINDS[type(node)])}

    def style_box(self, node: BaseNode) -> dict[str, str]:
        label = graphviz.nohtml(_literal(node.name.replace("\n", " ")))
        return {"label": label, "margin": "10", **self._about(node, "box")}

    def style_edge(self, tail: BaseNode, head: BaseNode) -> dict[str, str]:
        return {}

    def _about(self, node: BaseNode, kind: str) -> dict[str, str]:
        if not isinstance(node.fn, Module):
            return {"class": kind}
        flags = f"{kind} error" if node.fn.fqn in self._broken else kind
        return {"class": flags, "comment": _literal(node.fn.cls)}


class _ClassicRenderer(GraphvizRenderer):
    def _cluster_style(self, node: BaseNode) -> dict[str, Any]:
        styler: Any = self.styler
        return dict(styler.style_box(node))


def _literal(text: str) -> str:
    """The text as the engine takes it literally; it would read `&lt;` as `<` even outside HTML."""
    return str(graphviz.escape(text.replace("&", "&amp;")))
