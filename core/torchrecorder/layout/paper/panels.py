"""Cutting a View into panels: the inside of each box, with ports where data enters and leaves it.

An edge becomes one segment in each panel it passes. Ports are named after the node whose data they carry, so several
readers in a box share one entry. What one node alone reads, such as a weight, and what many read one after another,
such as the embedding of a time step, is drawn beside its readers and is in no panel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple, TypeVar

from torchrecorder.graph.model import Graph
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import edges_back
from torchrecorder.layout.operands import place_among
from torchrecorder.view import Node, View

LOOSE = ("param", "buffer", "const", "from")  # kinds of nodes that give data without being fed


_Place = TypeVar("_Place")


def reached(start: _Place, near: Mapping[_Place, Sequence[_Place]]) -> set[_Place]:
    """The places that ways lead to from one, with itself."""
    seen, pending = set[_Place](), [start]
    while pending:
        if (place := pending.pop()) not in seen:
            seen.add(place)
            pending += near.get(place, ())
    return seen


def resolution(view: View, edge: int) -> int:
    """Number of places of what an edge carries, height by width; 0 if it is not known."""
    meta = view.graph.values[view.edges[edge].value].meta
    sizes = [size for size in (meta.shape[2:] if meta else ()) if isinstance(size, int)]
    return prod(sizes) if sizes else 0


class Key(NamedTuple):
    kind: Literal["node", "box", "in", "out"]
    id: int  # of a port, its source: a node and which of its outputs, or, if several are bundled, -1 less their reader

    @property
    def is_port(self) -> bool:
        return self.kind in ("in", "out")


@dataclass(slots=True)
class Segment:
    """One output of a node on its way through one panel."""

    tail: Key
    head: Key
    source: int
    edges: list[int] = field(default_factory=list)
    is_skip: bool = False


@dataclass(slots=True)
class Panel:
    box: int | None
    keys: list[Key] = field(default_factory=list)  # nodes and boxes in the order of the forward, then ports
    segments: list[Segment] = field(default_factory=list)


class NamedEnd(NamedTuple):
    """One end of a line that is not drawn from node to node: at both ends it names the other one."""

    other: int
    edge: int  # position in the View
    is_tail: bool


class _Flow(NamedTuple):
    """An edge as it is drawn."""

    tail: int
    head: int
    position: int
    is_skip: bool


class Panels:
    """The panels of a View by their box, that of the whole by None."""

    def __init__(self, view: View, named: Collection[int] = (), *, is_inset: bool = False) -> None:
        self.view, self._is_inset = view, is_inset
        self.bare: set[int] = set()  # inputs and outputs that are only the ends of lines
        for kind in ("input", "output") if is_inset else ():
            ends = [node.id for node in view.nodes if node.kind == kind]
            self.bare.update(ends if len(ends) == 1 else ())
        self._parents = {box.id: box.parent for box in view.boxes}
        self._around: dict[int | None, tuple[int | None, ...]] = {None: (None,)}
        self.first: dict[int, int] = {}
        self.size: dict[int, int] = defaultdict(int)  # nodes in each box
        for node in view.nodes:
            for around in self.around(node.box)[1:]:
                assert around is not None
                self.first.setdefault(around, node.id)
                self.size[around] += 1
        flows = [*self._joined()]
        self.ends = {i: (edge.tail, edge.head) for i, edge in enumerate(view.edges) if edge.back}
        self.ends |= {flow.position: (flow.tail, flow.head) for flow in flows}
        """The nodes that each edge joins, by its position in the View."""
        self.beside: dict[int, list[int]] = defaultdict(list)  # by reader the nodes that are drawn beside it
        self.hubs = self._hubs(flows)
        fed = Counter(flow.head for flow in flows)
        led = [flow for flow in flows if flow.tail in self.hubs and fed[flow.head] == 1]  # a name alone feeds nothing
        led += [flow for flow in flows if view.edges[flow.position].is_first and flow not in led]  # nor for later turns
        aside = [flow for flow in flows if (flow.tail in self.hubs or flow.position in named) and flow not in led]
        flows = sorted([*self._set_aside([flow for flow in flows if flow not in led], self.hubs), *led])
        self.named: dict[int, list[NamedEnd]] = defaultdict(list)
        """By node the ends of lines at it that have names for the rest."""
        for flow in (flow for flow in flows if flow.position in named):
            self.named[flow.tail].append(NamedEnd(flow.head, flow.position, is_tail=True))
            self.named[flow.head].append(NamedEnd(flow.tail, flow.position, is_tail=False))
        flows = [flow for flow in flows if flow.position not in named]
        self.single = self._single(flows)  # nodes that are drawn beside their only reader
        flows = self._set_aside(flows, self.single)
        self.by_box: dict[int | None, Panel] = {None: Panel(None)}
        for box in view.boxes:
            self.by_box[box.id] = Panel(box.id)
        for box in view.boxes:
            self.by_box[box.parent].keys.append(Key("box", box.id))
        for node in view.nodes:
            if node.id not in self._dropped and node.id not in self.single:
                self.by_box[node.box].keys.append(Key("node", node.id))
        self.given: dict[int, list[int]] = defaultdict(list)
        """By node the sources of the lines that leave it: one for each of its outputs, and those of bundles."""
        self._cut(flows)
        self.back = edges_back(view)  # edges to the next turn of a loop; they say nothing about what is above what
        self.hooked = {end for edge in view.edges if edge.back for end in (edge.tail, edge.head)}
        heads = {segment.head for panel in self.by_box.values() for segment in panel.segments}
        self.below: dict[int | None, list[Segment]] = defaultdict(list)
        """Things fed by a name alone, or by nothing, as segments that are not drawn."""
        for panel, tail, head in (next(self._passed(flow, flow.tail)) for flow in aside):
            if head not in heads and not self._leads(panel, head, tail):
                self.below[panel].append(Segment(tail, head, tail.id))
        fed = Counter(edge.head for edge in view.edges)
        roots = [box.id for box in view.boxes if box.parent is None]
        for node in (node for node in view.nodes if node.kind == "output" and not fed[node.id]):
            self.below[None] += [Segment(Key("box", root), Key("node", node.id), root) for root in roots]
        self.all_from_above = False
        self.not_late: set[tuple[int, int]] = set()
        """Boxes with sources that cannot come in by the side, because something stands in the way."""
        self._also_late: set[tuple[int, int]] = set()
        self._also_late = {(box.id, source) for box in view.boxes for source in self._first_skips(box.id)}
        """Those that come in by the side since others do, though their reader is the first in the box."""

    def around(self, box: int | None) -> tuple[int | None, ...]:
        """The boxes around the inside of a box, outermost first, the picture as None."""
        if box not in self._around:
            self._around[box] = (*self.around(self._parents[box]), box)  # type: ignore[index]
        return self._around[box]

    def are_entries_shared(self, box: int | None) -> bool:
        """Whether others read what enters a box, so that its order is bound."""
        if box is None:
            return False
        around = self.by_box[self._parents[box]].segments
        feeds = Counter(segment.tail for segment in around)
        return any(feeds[segment.tail] > 1 for segment in around if segment.head == Key("box", box))

    def order(self, key: Key) -> int:
        """Place in the forward, or among the outputs; of what a box gives, that of the first that reads it."""
        if key.kind == "out":
            return self._first_readers[key.id]
        return self.first.get(key.id, 0) if key.kind == "box" else self._at(self.node_of(key.id))

    def argument(self, segment: Segment) -> float:
        """Place of data among the arguments of what reads it, from 0 to 1; that in the middle where it is not known."""
        if segment.head.kind != "node":
            return 0.5
        return place_among(self.view, self.view.nodes[segment.head.id], self.view.edges[segment.edges[0]].value)

    def _at(self, node: int) -> int:
        return self._outputs.get(node, node)

    @cached_property
    def _outputs(self) -> dict[int, int]:
        """By output its place behind all else, in the order in which the model or an inset gives them."""
        given = () if self._is_inset else self.view.graph.outputs.values()
        place = {value: i for i, values in enumerate(given) for value in values}
        nodes = self.view.nodes
        return {
            node.id: len(nodes) + min((place[value] for value in node.values if value in place), default=node.id)
            for node in nodes
            if node.kind == "output"
        }

    @cached_property
    def _first_readers(self) -> dict[int, int]:
        readers: dict[int, int] = {}
        for segment in (segment for panel in self.by_box.values() for segment in panel.segments):
            for head in (self.view.edges[position].head for position in segment.edges):
                readers[segment.source] = min(readers.get(segment.source, self._at(head)), self._at(head))
        return readers

    def node_of(self, source: int) -> int:
        """The node whose data a source is."""
        return source % len(self.view.nodes) if source >= 0 else source

    @property
    def has_late(self) -> bool:
        """Whether any data comes in by the side."""
        ports = ((panel.box, key) for panel in self.by_box.values() for key in panel.keys if key.kind == "in")
        return any(box is not None and self.is_late(box, key.id) for box, key in ports)

    def is_late(self, box: int, source: int) -> bool:
        """Whether data comes to a box beside its stream: all that reads it in the box also reads of what is inside."""
        if self.all_from_above or (box, source) in self.not_late:
            return False
        segments = self.by_box[box].segments
        if (box, source) in self._also_late:
            return True
        heads = [segment.head for segment in segments if segment.source == source and segment.tail.kind == "in"]
        return bool(heads) and all(self._is_fed(box, head, source) for head in heads)

    def _first_skips(self, box: int) -> list[int]:
        """Sources that the first node of a box reads besides its stream, where several others come in by the side."""
        readers: dict[int, list[Key]] = defaultdict(list)
        for segment in self.by_box[box].segments:
            if segment.tail.kind == "in":
                readers[segment.source].append(segment.head)
        first = sorted(source for source in readers if not self.is_late(box, source))
        if len(readers) - len(first) < tuning.SEVERAL or len(first) < tuning.SEVERAL:
            return []
        stream = readers[first[-1]]
        return [at for at in first[:-1] if all(key.kind == "node" and key in stream for key in readers[at])]

    def _is_fed(self, box: int, head: Key, source: int) -> bool:
        if head.kind == "box":
            return self.is_late(head.id, source)
        if head.is_port:
            return False
        tails = [segment.tail for segment in self.by_box[box].segments if segment.head == head]
        return any(t.kind == "box" or (t.kind == "node" and self.view.nodes[t.id].kind not in LOOSE) for t in tails)

    def _joined(self) -> Iterator[_Flow]:
        """The edges, those that the View cuts in one piece again."""
        nodes = self.view.nodes
        starts = {n.id for n in nodes if n.kind == "from" and len(n.links) == 1 and nodes[n.links[0]].kind != "gap"}
        ends = {n.id for n in nodes if n.kind == "to" and all(nodes[link].kind != "gap" for link in n.links)}
        self._dropped = starts | ends
        for position, edge in enumerate(self.view.edges):
            if edge.back:
                continue
            if edge.tail in starts:
                yield _Flow(nodes[edge.tail].links[0], edge.head, position, edge.skip)
            elif edge.head not in ends:
                yield _Flow(edge.tail, edge.head, position, edge.skip)

    def _hubs(self, flows: list[_Flow]) -> set[int]:
        readers: dict[int, list[int]] = defaultdict(list)
        for flow in flows:
            readers[flow.tail].append(flow.head)
        hubs = set()
        for source, heads in [*readers.items()]:
            if len(set(heads)) >= tuning.HUB and source not in self.bare:  # its name is not seen elsewhere
                after = reached(min(heads), readers)
                is_series = sum(head in after for head in set(heads)) >= tuning.HUB - 1  # not a fork
                if is_series and not self._is_stage(flows, source):
                    hubs.add(source)
        return hubs

    def _is_stage(self, flows: list[_Flow], source: int) -> bool:
        """Whether what reads a node first gives less resolution: stages are joined by lines, on rows of their own."""
        first = min(flow.head for flow in flows if flow.tail == source)
        edges = [next((flow.position for flow in flows if flow.tail == node), -1) for node in (source, first)]
        before, after = (resolution(self.view, edge) if edge >= 0 else 0 for edge in edges)
        return before > after > 0

    def _single(self, flows: list[_Flow]) -> set[int]:
        readers: dict[int, set[int]] = defaultdict(set)
        for flow in flows:
            readers[flow.tail].add(flow.head)
        nodes, fed = self.view.nodes, {flow.head for flow in flows}
        return {
            tail
            for tail, heads in readers.items()
            if nodes[tail].kind in LOOSE
            and tail not in fed
            and len(heads) == 1
            and tail not in self.hubs
            and tail not in self.named
            and nodes[tail].box == nodes[min(heads)].box
        }

    def _set_aside(self, flows: list[_Flow], sources: set[int]) -> list[_Flow]:
        for flow in flows:
            if flow.tail in sources and flow.tail not in self.beside[flow.head]:
                self.beside[flow.head].append(flow.tail)
        return [flow for flow in flows if flow.tail not in sources]

    def _cut(self, flows: list[_Flow]) -> None:
        into: dict[int, int] = defaultdict(int)
        for flow in flows:
            into[flow.head] += 1
        nodes = self.view.nodes
        bundled = {head for head, n in into.items() if n > tuning.BUNDLED and nodes[head].kind == "output"}
        segments: dict[tuple[int | None, Key, Key, int], Segment] = {}
        output = outputs(self.view, [(flow.tail, flow.position) for flow in flows])
        for flow in flows:
            source = flow.tail + output.get(flow.position, 0) * len(nodes)
            source = -1 - flow.head if flow.head in bundled else source
            if source not in self.given[flow.tail]:
                self.given[flow.tail].append(source)
            for box, tail, head in self._passed(flow, source):
                at = segments.get((box, tail, head, source))
                if at is None:
                    at = segments[box, tail, head, source] = Segment(tail, head, source, is_skip=True)
                    panel = self.by_box[box]
                    panel.segments.append(at)
                    panel.keys += [key for key in (tail, head) if key.is_port and key not in panel.keys]
                at.edges.append(flow.position)
                at.is_skip &= flow.is_skip

    def _leads(self, box: int | None, tail: Key, head: Key) -> bool:
        """Whether data comes from one thing of a panel to another."""
        follow: dict[Key, list[Key]] = defaultdict(list)
        for segment in self.by_box[box].segments:
            follow[segment.tail].append(segment.head)
        return head in reached(tail, follow)

    def _passed(self, flow: _Flow, source: int) -> Iterator[tuple[int | None, Key, Key]]:
        """The panels that an edge passes, and where it comes from and leads to in each."""
        nodes = self.view.nodes
        tails, heads = self.around(nodes[flow.tail].box), self.around(nodes[flow.head].box)
        common = sum(a == b for a, b in zip(tails, heads, strict=False))
        inner = [Key("box", box) for box in tails[common:] if box is not None] + [Key("node", flow.tail)]
        outer = [Key("box", box) for box in heads[common:] if box is not None] + [Key("node", flow.head)]
        yield tails[common - 1], inner[0], outer[0]
        for box, tail in zip(tails[common:], inner[1:], strict=True):
            yield box, tail, Key("out", source)
        for box, head in zip(heads[common:], outer[1:], strict=True):
            yield box, Key("in", source), head


_GIVING = ("call", "op", "function")
_MOVES = 30  # changes of shape that are followed from what is read to what was given


def outputs(view: View, flows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """By position of an edge the number of the output that it carries, 0 for the first that its tail gives.

    `flows` are the tails of edges and their positions.
    """
    numbers: dict[int, int] = {}
    given: dict[int, list[object]] = {}
    values: dict[int, set[int]] = {}
    for tail, position in flows:
        values.setdefault(tail, set()).add(view.edges[position].value)
    for tail, position in flows:
        node = view.nodes[tail]
        if node.kind in _GIVING and len(values[tail]) > 1:
            edge = view.edges[position]
            part = edge.part if view.nodes[edge.head].kind == "output" else ""  # each part has an end of its own
            known, output = given.setdefault(tail, []), (_output(view.graph, node, edge.value), part)
            known += [output] if output not in known else []
            numbers[position] = known.index(output)
    return numbers


def _output(graph: Graph, node: Node, value: int) -> object:
    """What tells an output from others of its node: its path in a call, or its op and place; None if not known."""
    calls = {call for part in (node, *node.parts) for call in part.calls}
    ops = {op for part in (node, *node.parts) for op in part.own_ops}
    for _ in range(_MOVES):
        producer = graph.values[value].producer
        if producer is None:
            return None
        op = graph.ops[producer]
        around = [row.id for row in graph.around(op.call) if row.id in calls]
        paths = (path for call in around for path, given in graph.calls[call].outputs.items() if given == value)
        if (path := next(paths, None)) is not None:
            return path
        if around or producer in ops:
            return op.name, op.source, graph.values[value].index
        if not op.inputs:
            return None
        value = op.inputs[0]
    return None
