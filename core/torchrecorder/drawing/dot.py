"""From a View to the text that a layout engine reads.

The text carries no colours but a styler's: each thing says what it is in its class, and `svg` paints it. What is not
for layout, the shapes on edges and the classes of layers, travels as a comment. Nodes stand in clusters and all edges
at the root, where an edge cannot pull its end into the wrong cluster. Names are n0, n1, …, so nothing of the user's is
ever a name, and every label is escaped and without HTML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

import graphviz

from torchrecorder.drawing.hints import passed_inside, same_rank
from torchrecorder.drawing.labels.labels import Label, Labels
from torchrecorder.drawing.shapes import edge_shapes
from torchrecorder.drawing.styles.answer import EdgeStyle, NodeStyle, Styles
from torchrecorder.drawing.svg.metrics import BOLD, width
from torchrecorder.drawing.svg.titles import PARTS
from torchrecorder.garbage import no_garbage_collection
from torchrecorder.request.requests import USUAL
from torchrecorder.view import Box, Edge, Node, View

_FONT_SIZE, _SMALL_SIZE = 10.5, 9.0
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
_EDGE = {"arrowsize": "0.6"}
_MARGIN, _ROOMY = 10, 19
"""Room between the border of a box and what is in it, in points; a skip passes in the middle of the larger."""
_UNSEEN = 3.0
"""Points by which a bold name may come closer to the border of its node."""
_LOOSE = ("param", "buffer", "const", "from")
_SIGN = " shape=circle width=0.26 height=0.26 fixedsize=true margin=0"
_SMALL = ' width=0.3 height=0.24 margin="0.1,0.03" fontsize=9'


@no_garbage_collection()
def to_dot(
    view: View,
    *,
    name: str = "",
    direction: str = "TB",
    show: Collection[str] = USUAL,
    styles: Styles | None = None,
) -> graphviz.Digraph:
    """The picture of a View, without positions; its colours are only those of a user's styler.

    Args:
        view: What to show.
        name: What the model is called; its class if empty.
        direction: Where the data flows: `TB`, `LR`, `BT` or `RL`.
        show: What it says besides names and classes: `shapes` on edges where they change, `params`, ….
        styles: What a styler changes.
    """
    return _Drawing(view, Labels(view, name=name, show=show), show, styles).draw(direction)


class _Drawing:
    def __init__(self, view: View, labels: Labels, show: Collection[str], styles: Styles | None) -> None:
        self.view, self.labels, self.styles = view, labels, styles
        is_large = len(view.nodes) > _MANY
        care = "2" if len(view.nodes) <= _VERY_MANY else "0.5"
        self.effort = {"nslimit": care, "mclimit": "0.3"} if is_large else {}
        self.groups = same_rank(view)
        if is_large and len(view.boxes) < 2 and not self.groups:
            # ranks across boxes: without them the engine is a quarter faster, and finds the same but for ties
            self.effort["newrank"] = "false"
        self.shapes = edge_shapes(view, show) if "shapes" in show and not is_large else {}
        self.roomy = passed_inside(view)
        self.has_failed = view.graph.info.failure is not None
        self.nodes_in: dict[int | None, list[Node]] = {}
        self.boxes_in: dict[int | None, list[Box]] = {}
        for node in view.nodes:
            self.nodes_in.setdefault(node.box, []).append(node)
        for box in view.boxes:
            self.boxes_in.setdefault(box.parent, []).append(box)

    def draw(self, direction: str) -> graphviz.Digraph:
        dot: graphviz.Digraph = graphviz.Digraph("g")
        dot.attr("graph", rankdir=direction, **_GRAPH | self.effort)
        dot.attr("node", **_NODE)
        dot.attr("edge", **_EDGE)
        dot.body.extend(self._lines())
        for nodes in self.groups:
            dot.body.append("\t{rank=same; " + "; ".join(f"n{node}" for node in nodes) + "}\n")
        dot.body.extend(self._edge(position, edge) for position, edge in enumerate(self.view.edges))
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
        style = self.styles.boxes[box.id] if self.styles else _UNSTYLED
        words = "box" + (" repeat" if box.repeat > 1 else "") + ("" if self._is_ok(box.calls) else " error")
        text = PARTS.join(filter(None, style.label)) if style.label else self.labels.box(box)
        yield f"label={_quoted(text + _room_for_bold(text))}"
        yield f"class={_quoted(words + _is_styled(style))}"
        yield f"margin={_ROOMY if box.id in self.roomy else _MARGIN}"
        yield f'style="{_line_style(style.stroke)}"'
        yield from _painted(style)
        if cls := self.labels.cls(box.calls) if box.period == 1 else "":
            yield f"comment={_quoted(cls)}"

    def _node(self, node: Node) -> str:
        own = self.styles.nodes[node.id] if self.styles else _UNSTYLED
        label = Label(*own.label) if own.label else self.labels.node(node)
        kind = self.labels.kind(node)
        words = (
            kind
            + (" repeat" if node.kind == "call" and node.repeat > 1 else "")
            + ("" if self._is_ok(node.calls) else " error")
        )
        about = self.labels.reference(node)
        style = _SIGN if label.is_sign else _sized(label, is_small=kind in ("data", "link"))
        if own is not _UNSTYLED:
            words += _is_styled(own)
            style = " ".join((style, f'style="{_line_style(own.stroke)}"', *_painted(own)))
        return f"n{node.id} [label={_label(label.name, label.line)}{_facts(words, about, style)}]"

    def _edge(self, position: int, edge: Edge) -> str:
        shape = self.shapes.get((edge.tail, edge.head), "")
        is_loose = self.view.nodes[edge.tail].kind in _LOOSE or self.view.nodes[edge.head].kind == "to"
        weight = "1" if is_loose else "0" if edge.skip else "4"
        said = f" comment={_quoted(shape)}" if shape else ""
        words = "skip" if edge.skip else ""
        if self.styles and any(own := self.styles.edges[position]):
            words += " styled"
            said += f' style="{own.stroke or "solid"}"' + "".join(f" {part}" for part in _painted(own))
        return f"\tn{edge.tail} -> n{edge.head} [weight={weight}{said}{f' class={_quoted(words)}' if words else ''}]\n"

    def _is_ok(self, calls: tuple[int, ...]) -> bool:
        return not self.has_failed or all(self.view.graph.calls[call].ok for call in calls)


def _sized(label: Label, *, is_small: bool) -> str:
    """The size of a node: layout's own, unless a bold name would touch its border; layout measures the regular face."""
    style, size, margin = (_SMALL, _SMALL_SIZE, 7.2) if is_small else ("", _FONT_SIZE, 9.4)
    bold = width(label.name, size, bold=True)
    grows = bold - max(width(label.name, size), width(label.line, size))
    return f"{style} width={(bold + 2 * margin) / 72:.2f}" if grows > _UNSEEN else style


def _room_for_bold(title: str) -> str:
    """Spaces as wide as a title grows when its name is bold: layout measures it in the regular face."""
    name = title.partition(PARTS)[0]
    return " " * math.ceil((BOLD - 1) * width(name, _FONT_SIZE) / width(" ", _FONT_SIZE))


_UNSTYLED = NodeStyle()


def _is_styled(style: NodeStyle) -> str:
    """The class that says that a thing brings colours or lines of its own."""
    return " styled" if any(style[1:]) else ""


def _line_style(stroke: str) -> str:
    return f"rounded,{stroke}" if stroke else "rounded"


def _painted(style: NodeStyle | EdgeStyle) -> Iterator[str]:
    """The attributes of a style that layout has no use for."""
    if isinstance(style, NodeStyle):
        if style.fill:
            yield f'fillcolor="{style.fill}"'
        if style.ink:
            yield f'fontcolor="{style.ink}"'
    if style.line:
        yield f'color="{style.line}"'
    if style.pen:
        yield f"penwidth={style.pen:g}"


@lru_cache(maxsize=4096)
def _facts(words: str, about: str, style: str) -> str:
    """What a node is besides its label; cached, because a few hundred classes come thousands of times."""
    return f" class={_quoted(words)}{style}" + (f" comment={_quoted(about)}" if about else "")


def _label(name: str, line: str) -> str:
    """Lines of a label, quoted; a line break is the only thing in it that is not meant literally."""
    return f'"{_literal(name)}\\n{_literal(line)}"' if line else f'"{_literal(name)}"'


def _quoted(text: str) -> str:
    """The text as an attribute."""
    return f'"{_literal(text)}"'


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
_PLAIN = re.compile(r'[^\\"&]*')


def _literal(text: str) -> str:
    """The text between quotes as the engine takes it literally; it would read `&lt;` as `<` even outside HTML."""
    return text if _PLAIN.fullmatch(text) else text.translate(_ESCAPES)
