"""From a View to the text that a layout engine reads.

The text carries no colours: each thing says what it is in its class, and `svg` paints it. What is not for layout, the
shapes on edges and the classes of layers, travels as a comment. Nodes stand in clusters and
all edges at the root, where an edge cannot pull its end into the wrong cluster. Names are n0, n1, …, so nothing of the
user's is ever a name, and every label is escaped and without HTML.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

import graphviz

from torchrecorder.graph import Box, Edge, Node, View
from torchrecorder.renderer.ranks import same_rank
from torchrecorder.renderer.shapes import edge_shapes
from torchrecorder.renderer.words.labels import Labels
from torchrecorder.renderer.words.shown import USUAL

FONT_SIZE, LINE_SIZE, EDGE_SIZE = 10.5, 9.5, 9.0
_MANY = 300
"""Above this many nodes layout is told to take less care, and edges carry no text."""
_VERY_MANY = 1000
_GRAPH = {
    "fontname": "Helvetica",
    "fontsize": "10.5",
    "ranksep": "0.33",
    "nodesep": "0.28",
    "newrank": "true",
    "labeljust": "l",
    "labelloc": "t",
    "bgcolor": "transparent",
    "margin": "0",
    "pad": "0.06",
}
_NODE = {"shape": "box", "style": "rounded", "fontname": "Helvetica", "fontsize": "10.5"}
_NODE |= {"margin": "0.13,0.06", "height": "0.3", "width": "0.8"}
_EDGE = {"fontname": "Helvetica", "fontsize": "9", "arrowsize": "0.6"}
_LOOSE = ("param", "buffer", "const", "from")
_SIGN = {"shape": "circle", "width": "0.26", "height": "0.26", "fixedsize": "true", "margin": "0"}
_SMALL = {"width": "0.3", "height": "0.24", "margin": "0.1,0.03", "fontsize": "9"}


def to_dot(view: View, *, name: str = "", direction: str = "TB", show: Collection[str] = USUAL) -> graphviz.Digraph:
    """The picture of a View, without positions and colours.

    Args:
        view: What to show.
        name: What the model is called; its class if empty.
        direction: Where the data flows: `TB`, `LR`, `BT` or `RL`.
        show: What it says besides names and classes: `shapes` on edges where they change, `params`, ….
    """
    return _Drawing(view, Labels(view, name=name, show=show), show).draw(direction)


class _Drawing:
    def __init__(self, view: View, labels: Labels, show: Collection[str]) -> None:
        self.view, self.labels = view, labels
        is_large = len(view.nodes) > _MANY
        care = "2" if len(view.nodes) <= _VERY_MANY else "0.5"
        self.effort = {"nslimit": care, "mclimit": "0.3"} if is_large else {}
        self.shapes = edge_shapes(view, show) if "shapes" in show and not is_large else {}
        self.nodes_in: dict[int | None, list[Node]] = {}
        self.boxes_in: dict[int | None, list[Box]] = {}
        for node in view.nodes:
            self.nodes_in.setdefault(node.box, []).append(node)
        for box in view.boxes:
            self.boxes_in.setdefault(box.parent, []).append(box)

    def draw(self, direction: str) -> graphviz.Digraph:
        dot: graphviz.Digraph = graphviz.Digraph("g")
        dot.attr("graph", rankdir=direction, **_GRAPH, **self.effort)
        dot.attr("node", **_NODE)
        dot.attr("edge", **_EDGE)
        dot.body.extend(self._lines())
        for nodes in same_rank(self.view):
            dot.body.append("\t{rank=same; " + "; ".join(f"n{node}" for node in nodes) + "}\n")
        for edge in self.view.edges:
            self._edge(dot, edge)
        return dot

    def _lines(self) -> Iterator[str]:
        """The nodes and boxes, each box around its own; without recursion, because boxes may nest deeply."""
        indent = "\t"
        pending: list[Box | Node | None] = [*self._content(None)]
        while pending:
            thing = pending.pop()
            if thing is None:
                indent = indent[:-1]
                yield f"{indent}}}\n"
            elif isinstance(thing, Node):
                yield f"{indent}{self._node(thing)}\n"
            else:
                yield f"{indent}subgraph cluster_{thing.id} {{\n"
                indent += "\t"
                yield from (f"{indent}{line}\n" for line in self._title(thing))
                pending.append(None)
                pending.extend(self._content(thing.id))

    def _content(self, box: int | None) -> list[Box | Node]:
        """What is directly in a box, last first."""
        return [*reversed(self.boxes_in.get(box, [])), *reversed(self.nodes_in.get(box, []))]

    def _title(self, box: Box) -> Iterator[str]:
        words = ["box", *(["repeat"] if box.repeat > 1 else []), *([] if self._is_ok(box.calls) else ["error"])]
        attributes = {"label": self.labels.box(box), "class": " ".join(words), "margin": "10", "style": "rounded"}
        cls = self.labels.cls(box.calls) if box.period == 1 else ""
        attributes |= {"comment": cls} if cls else {}
        return (f"{key}={_quoted(value)}" for key, value in attributes.items())

    def _node(self, node: Node) -> str:
        label = self.labels.node(node)
        kind = self.labels.kind(node)
        words = [kind, *(["repeat"] if node.kind == "call" and node.repeat > 1 else [])]
        words += [] if self._is_ok(node.calls) else ["error"]
        style = _SIGN if label.is_sign else _SMALL if kind in ("data", "link") else {}
        attributes = {"label": _label(label.name, label.line), "class": " ".join(words), **style}
        about = self.labels.reference(node)
        attributes |= {"comment": about} if about else {}
        inner = " ".join(f"{key}={value if key == 'label' else _quoted(value)}" for key, value in attributes.items())
        return f"n{node.id} [{inner}]"

    def _edge(self, dot: graphviz.Digraph, edge: Edge) -> None:
        shape = self.shapes.get((edge.tail, edge.head), "")
        is_loose = self.view.nodes[edge.tail].kind in _LOOSE or self.view.nodes[edge.head].kind == "to"
        weight = "1" if is_loose else "0" if edge.skip else "4"
        attributes = {"weight": weight, **({"comment": shape} if shape else {})}
        attributes |= {"class": "skip"} if edge.skip else {}
        inner = " ".join(f"{key}={_quoted(value)}" for key, value in attributes.items())
        dot.body.append(f"\tn{edge.tail} -> n{edge.head} [{inner}]\n")

    def _is_ok(self, calls: tuple[int, ...]) -> bool:
        failure = self.view.graph.info.failure
        return all(self.view.graph.calls[call].ok for call in calls) or failure is None


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    """The text as an attribute; cached, because a few hundred classes and sizes come thousands of times."""
    return str(graphviz.quoting.quote(_literal(text)))


def _label(*lines: str) -> str:
    """Lines of a label, quoted; a line break is the only thing in it that is not meant literally."""
    escaped = "\\n".join(_literal(line) for line in lines if line)
    return str(graphviz.quoting.quote(graphviz.nohtml(escaped)))


def _literal(text: str) -> str:
    """The text as the engine takes it literally; it would read `&lt;` as `<` even outside HTML."""
    return graphviz.escape(text.replace("&", "&amp;"))
