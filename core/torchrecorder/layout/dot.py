"""From a View to the text that a layout engine reads.

Colours are only a styler's: each thing says in its class what it is. What is not for layout, the shapes on edges and
the classes of layers, is a comment. Nodes stand in clusters and all edges at the root, where an edge cannot pull its
end into the wrong cluster. Names are n0, n1, …, so nothing of the user's is ever a name; labels are escaped and without
HTML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

import graphviz

from torchrecorder.labels.labels import EN_SPACE, Labels, is_loop
from torchrecorder.labels.op_words import Label
from torchrecorder.layout import tuning
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.layout.model import PARTS, SHARED, EdgeStyle, NodeStyle, Styles
from torchrecorder.layout.widths import BOLD, width
from torchrecorder.request.requests import USUAL
from torchrecorder.view import Box, Edge, Node, View

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
_MARGIN, _ROOMY = 10, 19
"""Room between the border of a box and what is in it, in points; a skip passes in the middle of the larger."""
_UNSEEN = 3.0  # points by which a bold name may come closer to the border of its node
_LOOSE = ("param", "buffer", "const", "from")
_SIGN: dict[str, str | float] = {"shape": "circle", "width": 0.26, "height": 0.26, "fixedsize": "true", "margin": 0}
_SMALL: dict[str, str | float] = {"width": 0.3, "height": 0.24, "margin": "0.1,0.03", "fontsize": tuning.SMALL}

NEXT_STEP = "next step"  # what is said, once in a loop, of data that the next turn reads
Lines = tuple[str, ...]  # the lines of a label
_ALWAYS_QUOTED = frozenset(("label", "class", "comment", "style", "fillcolor", "fontcolor", "color", "part"))
_PLAIN = re.compile(r"[\w.]+")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
"""What the engine takes literally between quotes; it would read `&lt;` as `<` even outside HTML."""


def to_dot(
    view: View,
    *,
    name: str = "",
    direction: str = "TB",
    show: Collection[str] = USUAL,
    styles: Sequence[Styles | None] = (),
) -> graphviz.Digraph:
    """The picture of a View and its insets, without positions; its colours are only those of a user's styler."""
    first, *others = styles or [None]
    dot = _DotWriter(view, Labels(view, name=name, show=show), show, first).digraph(direction)
    for inset, style in zip_longest(view.insets, others[: len(view.insets)]):
        writer = _DotWriter(inset.view, Labels(inset.view, show=show), show, style, inset.letter)
        dot.body.extend(writer.lines())
    return dot


class _DotWriter:
    def __init__(
        self, view: View, labels: Labels, show: Collection[str], styles: Styles | None, letter: str = ""
    ) -> None:
        self.view, self.labels, self.styles = view, labels, styles
        self.letter = letter  # of an inset: what its names begin with
        is_large = len(view.nodes) > tuning.MANY
        care = "2" if len(view.nodes) <= tuning.VERY_MANY else "0.5"
        self.effort = {"nslimit": care, "mclimit": "0.3"} if is_large else {}
        self.groups = same_rank(view)
        if is_large and len(view.boxes) < 2 and not self.groups:
            # ranks across boxes: without them the engine is a quarter faster, and finds the same but for ties
            self.effort["newrank"] = "false"
        self.shapes = edge_shapes(view, show) if "shapes" in show and not is_large else {}
        backs = ([view.edges[position] for position in back] for back in edges_back(view).values())
        self.called = [max(edges, key=lambda edge: edge.tail - edge.head) for edges in backs]
        """Those that say what a dashed line is."""
        self.roomy = passed_inside(view)
        self.nodes_in: dict[int | None, list[Node]] = {}
        self.boxes_in: dict[int | None, list[Box]] = {}
        for node in view.nodes:
            self.nodes_in.setdefault(node.box, []).append(node)
        for box in view.boxes:
            self.boxes_in.setdefault(box.parent, []).append(box)

    def digraph(self, direction: str) -> graphviz.Digraph:
        dot: graphviz.Digraph = graphviz.Digraph("g")
        dot.attr("graph", rankdir=direction, **_GRAPH | self.effort)
        dot.attr("node", **_NODE)
        dot.attr("edge", arrowsize="0.6")
        dot.body.extend(self.lines())
        return dot

    def lines(self) -> Iterator[str]:
        yield from self._figures()
        for nodes in self.groups:
            names = " -> ".join(map(self._name, nodes))
            yield f"\t{{rank=same; {names} [style=invis]}}\n"
        for position, edge in enumerate(self.view.edges):
            style = self.styles.edges[position] if self.styles else EdgeStyle()
            yield f"\t{self._name(edge.tail)} -> {self._name(edge.head)} [{attributes(self.edge(edge, style))}]\n"

    def _name(self, node: int) -> str:
        return f"n{self.letter}{node}"

    def _figures(self) -> Iterator[str]:
        """The nodes and boxes, each box around its own; without recursion, because boxes may nest deeply."""
        indent = "\t"
        pending: list[Box | Node | None] = [*self._content(None)]
        while pending:
            thing = pending.pop()
            if thing is None:
                indent = indent[:-1]
                yield f"{indent}}}\n"
            elif isinstance(thing, Node):
                yield f"{indent}{self._name(thing.id)} [{attributes(self.node(thing))}]\n"
            else:
                yield f"{indent}subgraph cluster_{self.letter}{thing.id} {{\n"
                indent += "\t"
                yield from (f"{indent}{attributes({name: value})}\n" for name, value in self.box(thing).items())
                pending.append(None)
                pending.extend(self._content(thing.id))

    def _content(self, box: int | None) -> list[Box | Node]:
        return [*reversed(self.boxes_in.get(box, [])), *reversed(self.nodes_in.get(box, []))]

    def box(self, box: Box) -> dict[str, str | float]:
        style = self.styles.boxes[box.id] if self.styles else NodeStyle()
        text = box_title(self.labels, box, style, self.letter)
        # layout measures a title in the regular face: spaces as wide as it grows when its name is bold
        grows = (BOLD - 1) * width(text.partition(PARTS)[0], tuning.SIZE)
        row: dict[str, str | float] = {
            "label": text + " " * math.ceil(grows / width(" ", tuning.SIZE)),
            "class": " ".join(flags(self.labels, "box", box, style)),
            "margin": _ROOMY if box.id in self.roomy else _MARGIN,
            "style": f"rounded,{style.stroke}" if style.stroke else "rounded",
            **_paint(style),
        }
        cls = self.labels.cls(box)
        return row | ({"comment": cls} if cls else {})

    def node(self, node: Node) -> dict[str, str | float | Lines]:
        style = self.styles.nodes[node.id] if self.styles else NodeStyle()
        label = Label(*style.label) if style.label else self.labels.node(node)
        kind = self.labels.kind(node)
        is_small = kind in ("data", "link")
        row: dict[str, str | float | Lines] = {
            "label": (label.name, label.line) if label.line else label.name,
            "class": " ".join(flags(self.labels, kind, node, style)),
            **(_SIGN if label.is_sign else _SMALL if is_small else {}),
        }
        # layout measures the regular face: a node grows where a bold name would touch its border
        size, margin = (tuning.SMALL, 7.2) if is_small else (tuning.SIZE, 9.4)
        bold = width(label.name, size, bold=True)
        grows = bold - max(width(label.name, size), width(label.line, size))
        if grows > _UNSEEN and not label.is_sign:
            row["width"] = f"{(bold + 2 * margin) / 72:.2f}"
        if self.styles:
            row["style"] = f"rounded,{style.stroke}" if style.stroke else "rounded"
            row.update(_paint(style))
        reference = self.labels.reference(node)
        return row | ({"comment": reference} if reference else {})

    def edge(self, edge: Edge, style: EdgeStyle) -> dict[str, str | float]:
        is_loose = self.view.nodes[edge.tail].kind in _LOOSE or self.view.nodes[edge.head].kind == "to"
        row: dict[str, str | float] = {"weight": 1 if is_loose else 0 if edge.skip else 4}
        if edge.back:
            row = {"constraint": "false", "style": "dashed"}
        if word := NEXT_STEP if edge in self.called else self.shapes.get((edge.tail, edge.head), ""):
            row["comment"] = word
        if edge.part:
            row["part"] = edge.part
        words = [word for word, is_so in (("back", edge.back), ("skip", edge.skip)) if is_so]
        words += [edge.mark] if edge.mark else []
        if any(style):
            words.append("styled")
            row |= {"style": style.stroke or ("dashed" if edge.back else "solid"), **_paint(style)}
        return row | ({"class": " ".join(words)} if words else {})


def box_title(labels: Labels, box: Box, style: NodeStyle, letter: str) -> str:
    """The words of a box; that around an inset has its letter."""
    is_inset = letter and box.parent is None
    if style.label:
        return f"{letter}{EN_SPACE}" * bool(is_inset) + PARTS.join(filter(None, style.label))
    return labels.inset(box, letter) if is_inset else labels.box(box)


def flags(labels: Labels, kind: str, thing: Box | Node, style: NodeStyle) -> list[str]:
    """The words by which `svg` knows how to paint it."""
    calls, failed = labels.graph.calls, labels.graph.info.failure is not None
    is_stack = thing.repetition == "series" or (isinstance(thing, Box) and is_loop(thing))
    states = {"repeat": thing.repeat > 1 and is_stack}
    states["error"] = failed and not all(calls[call].ok for call in thing.calls)
    states["styled"] = any(style[1:])  # it brings colours or lines of its own
    states["decides"] = isinstance(thing, Node) and thing.decides
    marks = [thing.mark] if thing.mark else []
    shared = labels.shared(thing)
    tags = [*SHARED[shared : shared + 1]] if shared is not None else []  # beyond them the words alone tell
    return [kind, *(word for word, is_so in states.items() if is_so), *marks, *tags]


def _paint(style: NodeStyle | EdgeStyle) -> dict[str, str | float]:
    given: dict[str, str | float] = {"color": style.line, "penwidth": style.pen}
    if isinstance(style, NodeStyle):
        given = {"fillcolor": style.fill, "fontcolor": style.ink, **given}
    return {name: value for name, value in given.items() if value}


def attributes(values: Mapping[str, str | float | Lines]) -> str:
    r"""Attributes as DOT writes them: texts are quoted and taken literally, but for the break between lines.

    >>> attributes({"label": ("fc", "Linear 3→4"), "class": "linear", "margin": "0.1,0.03", "width": 0.3})
    'label="fc\\nLinear 3→4" class="linear" margin="0.1,0.03" width=0.3'
    """
    written = []
    for name, value in values.items():
        if isinstance(value, int | float):
            written.append(f"{name}={value:g}")
            continue
        text = r"\n".join(line.translate(_ESCAPES) for line in ((value,) if isinstance(value, str) else value))
        is_quoted = name in _ALWAYS_QUOTED or not _PLAIN.fullmatch(text)
        written.append(f'{name}="{text}"' if is_quoted else f"{name}={text}")
    return " ".join(written)


def same_rank(view: View) -> list[list[int]]:
    """Groups of nodes in one box that stand side by side, in the order in which they ran: query, key and value.

    One tensor alone feeds them, or each is fed by a step of its own and one node reads them all: layout would place
    each near its reader, in any order. They are calls of one class, so no shortcut stands beside the first layer it
    leads past.
    """
    tails: dict[int, list[int]] = {}
    heads: dict[int, list[int]] = {}
    for edge in view.edges:
        if view.nodes[edge.tail].kind not in ("param", "buffer", "const") and not edge.back:
            tails.setdefault(edge.head, []).append(edge.tail)
            heads.setdefault(edge.tail, []).append(edge.head)
    groups: dict[tuple[object, ...], list[int]] = {}
    for node in view.nodes:
        fed_by = tails.get(node.id, [])
        if node.kind == "call" and len(fed_by) == 1:
            module = view.graph.modules.get(view.graph.calls[node.calls[0]].module)
            above, below = fed_by[0], heads.get(node.id, [])
            is_own = len(heads[above]) == 1 and len(below) == 1
            between: object = (*below, *sorted(tails.get(above, ()))) if is_own and tails.get(above) else above
            groups.setdefault((node.box, between, module.cls if module else ""), []).append(node.id)
    return [nodes for nodes in groups.values() if len(nodes) > 1]


def passed_inside(view: View) -> set[int]:
    """Boxes that a skip enters or leaves in the middle, so that it runs beside what else is in them.

    Layout reckons with its ends only: without more room there, the skip would run on the border of the box.
    """
    parents = {box.id: box.parent for box in view.boxes}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for node in view.nodes:
        for box in _around(node.box, parents):
            first.setdefault(box, node.id)
            last[box] = node.id
    passed: set[int] = set()
    for edge in view.edges:
        if edge.skip:
            tails, heads = ([*_around(view.nodes[end].box, parents)] for end in (edge.tail, edge.head))
            for ends, others, outermost, at in ((heads, tails, first, edge.head), (tails, heads, last, edge.tail)):
                for box in ends:
                    if box in others:
                        break
                    if outermost[box] != at:
                        passed.add(box)
                    at = outermost[box]
    return passed


def edges_back(view: View) -> dict[int | None, list[int]]:
    """The positions of the edges to the next turn of a loop, by the innermost box around both their ends."""
    parents = {box.id: box.parent for box in view.boxes}
    by_box: dict[int | None, list[int]] = {}
    for position, edge in enumerate(view.edges):
        if edge.back:
            outer = {*_around(view.nodes[edge.head].box, parents)}
            common = (box for box in _around(view.nodes[edge.tail].box, parents) if box in outer)
            by_box.setdefault(next(common, None), []).append(position)
    return by_box


def _around(box: int | None, parents: dict[int, int | None]) -> Iterator[int]:
    while box is not None:
        yield box
        box = parents[box]
