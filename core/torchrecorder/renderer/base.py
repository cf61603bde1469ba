"""The base class of torchrecorder 1.0.3's renderers: what of a recording is shown, and in what order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchrecorder.nodes import BaseNode, RecordedNodes


class BaseRenderer:
    """Base class for rendering information from a `Recorder`.

    A subclass writes `render_node`, `render_recursive_node` and `render_edge`; calling it with a destination renders
    each node that is shown, and after it the edges that leave it, in the order of recording.

    Args:
        rec: The recording.
        render_depth: Nodes with a greater depth are not rendered; their edges are drawn at the layer around them.

    Attributes:
        rec: The recording.
        render_depth: The depth.
        processed: The nodes that are shown, each with the nodes that its edges lead to.
    """

    def __init__(self, rec: RecordedNodes, render_depth: int = 256) -> None:
        self.rec = rec
        self.render_depth = render_depth
        self.processed: OrderedDict[BaseNode, list[BaseNode]] = OrderedDict()
        self._done: tuple[int, ...] = ()
        self._place: dict[int, int] = {}
        self._process_anew()

    def __call__(self, dest: Any) -> Any:
        """Render everything into `dest`, and give it back."""
        with self._taking_out() as nodes:
            for node in nodes:
                if (heads := self.processed.get(node)) is None:
                    continue
                self.render_node(dest, node)
                for head in heads:
                    self.render_edge(dest, node, head)
        return dest

    @contextmanager
    def _taking_out(self) -> Iterator[list[BaseNode]]:
        """All nodes in order, while `processed` is a copy.

        A subclass may take nodes out of it that it has rendered with the layer around them, as that of 1.0.3 does.
        """
        self._process_anew()
        kept, self.processed = self.processed, OrderedDict(self.processed)
        try:
            yield list(kept)
        finally:
            self.processed = kept

    def render_node(self, dest: Any, node: BaseNode) -> Any:
        """Render a node into `dest`; a subclass does."""
        raise NotImplementedError("Base Class")

    def render_recursive_node(self, dest: Any, node: BaseNode) -> Any:
        """Render a layer with what is in it into `dest`; a subclass does."""
        raise NotImplementedError("Base Class")

    def render_edge(self, dest: Any, fnode: BaseNode, tnode: BaseNode) -> Any:
        """Render an edge into `dest`; a subclass does."""
        raise NotImplementedError("Base Class")

    def _process_anew(self) -> None:
        """Process the recording, unless nothing was added to it since."""
        state = (len(self.rec.nodes), len(self.rec.edges), self.render_depth)
        if state != self._done:
            self._done = state
            self._process()

    def _process(self) -> None:
        """Fill `processed` from the recording. Edges are ordered by their ends: the set has no order of its own."""
        scope = self.rec.nodes.get(None)  # the scope around the model
        nodes = [node for node in dict.fromkeys(self.rec.nodes.values()) if node is not scope]
        self._place = {id(node): position for position, node in enumerate(nodes)}
        spots = self._spots(nodes)
        pairs, found = set(), self.rec.nodes
        for from_, to in self.rec.edges:
            tail, head = spots[id(found[from_])], spots[id(found[to])]
            if tail != head and tail >= 0 and head >= 0:
                pairs.add((tail, head))
        self.processed = OrderedDict((node, []) for node in nodes if node.depth <= self.render_depth)
        for tail, head in sorted(pairs):
            self.processed[nodes[tail]].append(nodes[head])

    def _spots(self, nodes: list[BaseNode]) -> dict[int, int]:
        limit, within, spots = self.render_depth, dict[Any, int](), dict[int, int]()
        for position, node in enumerate(nodes):
            if node.depth <= limit:
                spots[id(node)] = position
                continue
            if node.parent not in within:
                shown = self._visible(node)
                within[node.parent] = -1 if shown is None else self._place[id(shown)]
            spots[id(node)] = within[node.parent]
        return spots

    def _visible(self, node: BaseNode) -> BaseNode | None:
        """The node, or the layer around it that is shown in its place."""
        while node.depth > self.render_depth:
            if node.parent is None:
                return None
            node = self.rec.nodes[node.parent]
        return None if node is self.rec.nodes.get(None) else node
