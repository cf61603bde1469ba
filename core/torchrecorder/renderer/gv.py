"""The renderer of torchrecorder 1.0.3: a recording as a `graphviz.Digraph`, and the colours it has there.

All edges stand at the root of the graph: written inside a cluster, an edge would pull its ends into it. Nodes are
called n0, n1, … in the order of recording, so that two recordings of one model give one text.
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
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, RecordedNodes, TensorNode
from torchrecorder.renderer.base import BaseRenderer

_LOCK = threading.RLock()
"""The name of the program is one for the whole graphviz package."""
_DEFAULTS = {"style": "filled", "align": "left", "color": "black"}
_COLOURS: dict[type[BaseNode], dict[str, str]] = {
    BaseNode: {},
    TensorNode: {"fillcolor": "lightblue"},
    ParamNode: {"fillcolor": "darkolivegreen"},
    OpNode: {"fillcolor": "orange", "shape": "box"},
    LayerNode: {"fillcolor": "lightgrey", "shape": "box"},
}


class GraphvizStyler:
    """Provide styling options before rendering to graphviz.

    The colours are those of torchrecorder 1.0.3. A subclass is given to `make_dot` as `styler_cls`.

    Args:
        **styler_args: Attributes of graphviz for all nodes; they win over the defaults. None is as if not given.

    Attributes:
        styles: The style properties of each subclass of `BaseNode`.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import GraphvizStyler, make_dot, record
        >>> class Bold(GraphvizStyler):
        ...     def style_edge(self, fnode, tnode):
        ...         return {"penwidth": "3"}
        >>> dot = make_dot(record(nn.ReLU(), "Net", (1, 3)), 0, styler_cls=Bold)
        >>> dot.source.count("penwidth=3")
        2
    """

    def __init__(self, **styler_args: Any) -> None:
        given = {name: value for name, value in styler_args.items() if value is not None}
        self.styles = {kind: {**_DEFAULTS, **colours, **given} for kind, colours in _COLOURS.items()}

    def style_node(self, node: BaseNode) -> dict[str, Any]:
        """Construct style properties for a node; can be overridden.

        A subclass of a node class has the style of that class.

        Args:
            node: The node.

        Returns:
            Attributes of graphviz with their values. The `label` is the node's name, and below it the shape of a
            tensor, batch axis included.
        """
        style = self.styles.get(type(node))
        if style is None:
            style = next((self.styles[kind] for kind in type(node).__mro__ if kind in self.styles), _DEFAULTS)
        label = node.name
        if isinstance(node, TensorNode) and (shape := getattr(node.fn, "shape", None)) is not None:
            label = f"{label}\n{list(shape)}"
        return {**style, "label": graphviz.nohtml(label) if label.startswith("<") else label}

    def style_edge(self, fnode: BaseNode, tnode: BaseNode) -> dict[str, Any]:
        """Construct style properties for an edge; can be overridden.

        Args:
            fnode: The node where it begins.
            tnode: The node where it ends.

        Returns:
            Attributes of graphviz with their values; none here.
        """
        return {}


class GraphvizRenderer(BaseRenderer):
    """Render information from a `Recorder` into a `graphviz.Digraph`.

    First come the nodes, each in the cluster it belongs to, then all edges, at the root: torchrecorder 1.0.3 looked for
    a cluster for each edge, and raised IndexError on most networks at its default depth.

    Args:
        rec: The recording.
        render_depth: How many layers around a node may be drawn as boxes around it.
        styler_cls: Class of the styler; `GraphvizStyler` if None.
        **styler_args: What it is made with.

    Attributes:
        styler: The styler.

    Examples:
        >>> import graphviz
        >>> from torch import nn
        >>> from torchrecorder import GraphvizRenderer, record
        >>> dot = GraphvizRenderer(record(nn.ReLU(), "Net", (1, 3)), render_depth=1)(graphviz.Digraph())
        >>> dot.source.count("subgraph cluster_")
        1
    """

    def __init__(self, rec: RecordedNodes, render_depth: int = 256, styler_cls: Any = None, **styler_args: Any) -> None:
        super().__init__(rec, render_depth)
        self.styler = (GraphvizStyler if styler_cls is None else styler_cls)(**styler_args)

    def __call__(self, dest: graphviz.Digraph) -> graphviz.Digraph:
        """Render everything into `dest`: first the nodes, each in the cluster it belongs to, then all edges.

        Args:
            dest: A graph, which may have nodes already.

        Returns:
            `dest` itself.
        """
        super().__call__(dest)
        return dest

    def _render(self, dest: graphviz.Digraph, nodes: list[BaseNode]) -> None:
        for node in nodes:
            if node in self.processed and self._scope(node) is None:
                self.render_node(dest, node)
        for node, heads in self.processed.items():
            for head in heads:
                self.render_edge(dest, node, head)

    # The document calls its first argument `g`, and that of the base class is `dest`.
    def render_node(self, g: graphviz.Digraph, node: BaseNode) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Render a node in graphviz, after applying its style; a layer above `render_depth` with what is in it.

        Args:
            g: Where to draw it.
            node: The node.
        """
        if node in self._children:
            self.render_recursive_node(g, node)
        else:
            g.node(self._id(node), **_texts(self.styler.style_node(node)))

    def render_recursive_node(self, g: graphviz.Digraph, node: BaseNode) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Render a layer and its subnets as a cluster of `g`.

        If edges end at the layer itself, because no operation in it is known, it is drawn as a box there too.

        Args:
            g: Where to draw it.
            node: The layer; its `depth` is smaller than `render_depth`.
        """
        cluster: Any = g.subgraph(name=f"cluster_{self._id(node)}")
        with cluster as inner:
            inner.attr("graph", **_texts(self._cluster_style(node)))
            inner.attr("node", group=str(node.depth))
            if node in self._ends or self.processed.get(node):
                inner.node(self._id(node), **_texts(self.styler.style_node(node)))
            for child in self._children.get(node, ()):
                self.render_node(inner, child)

    def _cluster_style(self, node: BaseNode) -> dict[str, Any]:
        return {**self.styler.style_node(node), "fillcolor": "white"}

    def render_edge(self, g: graphviz.Digraph, fnode: BaseNode, tnode: BaseNode) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Render an edge in graphviz, after applying its style.

        Args:
            g: Where to draw it.
            fnode: The node where it begins.
            tnode: The node where it ends.
        """
        tail, head = self._id(fnode), self._id(tnode)
        if style := self.styler.style_edge(fnode, tnode):
            g.edge(tail, head, **_texts(style))
        else:
            g.body.append(f"\t{tail} -> {head}\n")  # as `edge` writes it, which takes fifteen times as long

    def _process(self) -> None:
        super()._process()
        self._ends = {head for heads in self.processed.values() for head in heads}
        self._children: dict[BaseNode, list[BaseNode]] = {}
        for node in self.processed:
            if (scope := self._scope(node)) is not None and scope.depth < self.render_depth:
                self._children.setdefault(scope, []).append(node)

    def _scope(self, node: BaseNode) -> BaseNode | None:
        """The layer whose cluster the node stands in; None at the root."""
        scope = None if node.parent is None else self.rec.nodes.get(node.parent)
        return scope if isinstance(scope, LayerNode) and scope is not node else None

    def _id(self, node: BaseNode) -> str:
        return f"n{self._place.setdefault(node, len(self._place))}"


def _texts(style: dict[str, Any]) -> dict[str, str]:
    """Attributes as graphviz takes them; one that is None is left out."""
    return {key: value if isinstance(value, str) else str(value) for key, value in style.items() if value is not None}


class Digraph(graphviz.Digraph):
    """A `graphviz.Digraph`; `render`, `view` and `pipe` work without a system Graphviz too.

    Examples:
        >>> from torchrecorder.renderer.gv import Digraph
        >>> Digraph("net", body=["a -> b"]).pipe(format="svg", encoding="utf-8").count("<svg")
        1
    """

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
