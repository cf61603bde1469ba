"""The base class of torchrecorder 1.0.3's renderers: what of a recording is shown, and in what order."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torchrecorder.nodes import BaseNode, RecordedNodes


class BaseRenderer:
    """Base class for rendering information from a `Recorder`, in a format of your own.

    A subclass writes `render_node`, `render_recursive_node` and `render_edge`; calling it with a destination renders
    each node that is shown, and after it the edges that leave it, in the order of recording. Ported from
    torchrecorder 1.0.3, which emptied `processed` and drew in the order of a set.

    Args:
        rec: The recording.
        render_depth: Nodes with a greater depth are not rendered; their edges are drawn at the layer around them.

    Attributes:
        processed: The nodes that are shown, each with the nodes that its edges lead to.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import BaseRenderer, record
        >>> class Lines(BaseRenderer):
        ...     def render_node(self, dest, node):
        ...         dest.append(node.name)
        ...     def render_edge(self, dest, fnode, tnode):
        ...         dest.append(f"{fnode.name} -> {tnode.name}")
        >>> Lines(record(nn.Linear(3, 2), "Net", (1, 3)), render_depth=0)([])
        ['Net', 'Net -> Output', 'Input', 'Input -> Net', 'Output']
    """

    def __init__(self, rec: RecordedNodes, render_depth: int = 256) -> None:
        self.rec = rec
        self.render_depth = render_depth
        self.processed: OrderedDict[BaseNode, list[BaseNode]] = OrderedDict()
        self._place: dict[BaseNode, int] = {}
        self._done: tuple[int, ...] = ()
        self._process_anew()

    def __call__(self, dest: Any) -> Any:
        """Render everything into `dest`.

        Args:
            dest: What `render_node` and `render_edge` write to: a `graphviz.Digraph`, a list, a dict.

        Returns:
            `dest` itself.
        """
        self._process_anew()
        # A subclass may take out what it has rendered with the layer around it, as that of 1.0.3 does.
        kept, self.processed = self.processed, OrderedDict(self.processed)
        try:
            self._render(dest, list(kept))
        finally:
            self.processed = kept
        return dest

    def render_node(self, dest: Any, node: BaseNode) -> Any:
        """Render a node into `dest`; a subclass does.

        Args:
            dest: What the renderer was called with, or what `render_recursive_node` hands on.
            node: A node of `processed`.

        Raises:
            NotImplementedError: The subclass has no such method.
        """
        raise NotImplementedError("Base Class")

    def render_recursive_node(self, dest: Any, node: BaseNode) -> Any:
        """Render a layer with what is in it into `dest`; a subclass does, and calls it from its `render_node`.

        Args:
            dest: Where to render it.
            node: A `LayerNode` whose `depth` is smaller than `render_depth`.

        Raises:
            NotImplementedError: The subclass has no such method.
        """
        raise NotImplementedError("Base Class")

    def render_edge(self, dest: Any, fnode: BaseNode, tnode: BaseNode) -> Any:
        """Render an edge into `dest`; a subclass does.

        Args:
            dest: Where to render it.
            fnode: The node where it begins.
            tnode: The node where it ends.

        Raises:
            NotImplementedError: The subclass has no such method.
        """
        raise NotImplementedError("Base Class")

    def _render(self, dest: Any, nodes: list[BaseNode]) -> None:
        for node in nodes:
            if (heads := self.processed.get(node)) is not None:
                self.render_node(dest, node)
                for head in heads:
                    self.render_edge(dest, node, head)

    def _process_anew(self) -> None:
        """Process the recording, unless nothing was added to it since."""
        state = (len(self.rec.nodes), len(self.rec.edges), self.render_depth)
        if state != self._done:
            self._done = state
            self._process()

    def _process(self) -> None:
        """Fill `processed` from the recording. Edges are ordered by their ends: the set has no order of its own."""
        found, limit = self.rec.nodes, self.render_depth
        nodes = list(dict.fromkeys(found.values()))
        scope = found.get(None)  # around the model
        if scope is not None:
            nodes.remove(scope)
        place = self._place = {node: position for position, node in enumerate(nodes)}
        shown = self.processed = OrderedDict((node, []) for node in nodes if node.depth <= limit)
        pairs = set()
        for ends in self.rec.edges:
            tail, head = found[ends[0]], found[ends[1]]
            while tail.depth > limit and tail.parent is not None:
                tail = found[tail.parent]
            while head.depth > limit and head.parent is not None:
                head = found[head.parent]
            if tail is not head and tail in shown and head in shown:
                pairs.add((place[tail], place[head]))
        for from_, to in sorted(pairs):
            shown[nodes[from_]].append(nodes[to])
