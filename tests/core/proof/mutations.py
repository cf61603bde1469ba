"""Faults that are planted in a View that is right, each of which its proof has to find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from torchrecorder.graph import Graph
from torchrecorder.proof.facts import GraphFacts
from torchrecorder.view import Edge, Node, View
from torchrecorder.view.model import Box, Span

Mutation = Callable[[View], View | None]
"""The View with one fault; None if it has nothing that could be wrong in this way."""
T = TypeVar("T")
LAYERS = ("call", "op", "function")


def edge_removed(view: View) -> View | None:
    return _with_edge(view, _middle(edge for edge in _plain(view) if not edge.back and _is_data(view, edge)))


def edge_added(view: View) -> View | None:
    """Between two layers that have nothing to do with one another, or only by way of others."""
    drawn = {(edge.tail, edge.head) for edge in view.edges}
    layers = [node for node in view.nodes if node.kind in LAYERS]
    pairs = [(a.id, b.id) for a in layers for b in layers if a.id < b.id and (a.id, b.id) not in drawn]
    pair = _middle(pairs)
    return None if pair is None else replace(view, edges=_sorted([*view.edges, Edge(*pair, _made(view, pair[0]))]))


def edge_turned(view: View) -> View | None:
    edge = _middle(
        e for e in _plain(view) if not e.back and {view.nodes[i].kind for i in (e.tail, e.head)} <= {*LAYERS}
    )
    return None if edge is None else _with_edge(view, edge, replace(edge, tail=edge.head, head=edge.tail))


def edge_from_another(view: View) -> View | None:
    """An edge that begins one layer too early."""
    drawn = {(edge.tail, edge.head) for edge in view.edges}
    for edge in _plain(view):
        for tail in range(edge.tail - 1, -1, -1):
            if view.nodes[tail].kind in LAYERS and (tail, edge.head) not in drawn and not edge.back:
                return _with_edge(view, edge, replace(edge, tail=tail))
    return None


def back_removed(view: View) -> View | None:
    return _with_edge(view, _middle(edge for edge in view.edges if edge.back and _is_data(view, edge)))


def back_added(view: View) -> View | None:
    """Data that no next turn reads."""
    drawn = {(edge.tail, edge.head) for edge in view.edges if edge.back}
    layers = [node.id for node in view.nodes if node.kind in LAYERS]
    pair = _middle((b, a) for a in layers for b in layers if a <= b and (b, a) not in drawn)
    return (
        None
        if pair is None
        else replace(view, edges=_sorted([*view.edges, Edge(*pair, _made(view, pair[0]), back=True)]))
    )


def back_turned(view: View) -> View | None:
    """What the next turn reads, as if it were read in the same one."""
    drawn = {(edge.tail, edge.head) for edge in view.edges}
    edge = _middle(e for e in view.edges if e.back and e.tail != e.head and (e.head, e.tail) not in drawn)
    return None if edge is None else _with_edge(view, edge, replace(edge, tail=edge.head, head=edge.tail, back=False))


def layer_dropped(view: View) -> View | None:
    """A layer is missing, and what it read goes straight to its readers."""
    return _passed_by(view, _middle(node for node in view.nodes if node.kind == "call"))


def op_dropped(view: View) -> View | None:
    return _passed_by(view, _middle(node for node in view.nodes if node.kind == "op" and _computes(view, node.op)))


def op_left_out(view: View) -> View | None:
    """An op that leads to an output is named among those that are not drawn."""
    ops = (n for n in view.nodes if n.kind == "op" and not n.parts and _computes(view, n.op))
    node = _middle(n for n in ops if _is_read(view, n))
    found = _without(view, node)
    if node is None or node.op is None or found is None:
        return None
    return replace(found, left_out=(*view.left_out, *(node.ops or (node.op,))))


def left_out_unnamed(view: View) -> View | None:
    first = next((op for op in view.left_out if not _facts(view).is_move(view.graph.ops[op], ITSELF)), None)
    return None if first is None else replace(view, left_out=tuple(op for op in view.left_out if op != first))


def series_one_less(view: View) -> View | None:
    """One call less, or one op less of those side by side."""
    return _of_several(view, lambda node: replace(node, calls=node.calls[:-1], ops=node.ops[: len(node.calls) - 1]))


def series_one_more(view: View) -> View | None:
    node = _middle(node for node in view.nodes if node.repeat > 1 and not node.parts)
    others = [other.calls[0] for other in view.nodes if other.kind == "call" and other is not node]
    return _with_node(view, node and replace(node, calls=(*node.calls, others[0]))) if others else None


def parallel_for_series(view: View) -> View | None:
    """Layers in a row that are said to stand side by side, and the other way round."""
    other = {"series": "parallel", "parallel": "series", "shared": "series", "loop": "series"}
    return _of_several(view, lambda node: replace(node, repetition=other[node.repetition]))  # type: ignore[arg-type]


def box_one_less(view: View) -> View | None:
    box = _middle(box for box in view.boxes if box.repeat > 1)
    return _with_box(view, box and replace(box, calls=box.calls[: -box.period]))


def box_one_more(view: View) -> View | None:
    box = _middle(box for box in view.boxes if box.repeat > 1)
    return _with_box(view, box and replace(box, calls=(*box.calls, *box.calls[-box.period :])))


def box_period_wrong(view: View) -> View | None:
    """A loop of half as many turns that are twice as long."""
    box = _middle(box for box in view.boxes if box.repeat > 1 and box.repeat % 2 == 0)
    return _with_box(view, box and replace(box, period=2 * box.period))


def calls_swapped(view: View) -> View | None:
    """Two layers under each other's name."""
    modules = view.graph.modules
    layers = [n for n in view.nodes if n.kind == "call" and not n.parts and n.repeat == 1]
    kinds = [modules[path].cls if (path := view.graph.calls[n.calls[0]].module) in modules else "" for n in layers]
    for a, kind in zip(layers, kinds, strict=True):
        for b, other in zip(layers, kinds, strict=True):
            if a.id < b.id and kind != other:
                return _with_node(_with_node(view, replace(a, calls=b.calls)), replace(b, calls=a.calls))
    return None


def op_of_another(view: View) -> View | None:
    """Two ops under each other's name."""
    ops = [node for node in view.nodes if node.kind == "op" and not node.parts and not node.ops]
    if len(ops) < 2:
        return None
    a, b = ops[0], ops[-1]
    return _with_node(_with_node(view, replace(a, op=b.op)), replace(b, op=a.op))


def span_removed(view: View) -> View | None:
    node = _middle(node for node in view.nodes if _settings(node))
    return _with_node(view, node and replace(node, spans=tuple(s for s in node.spans if s is not _settings(node)[0])))


def span_changed(view: View) -> View | None:
    """A setting that no call has."""
    node = _middle(node for node in view.nodes if _settings(node))
    if node is None:
        return None
    first = _settings(node)[0]
    changed = replace(first, values=(*first.values[:-1], "17"))
    return _with_node(view, replace(node, spans=tuple(changed if span is first else span for span in node.spans)))


def output_removed(view: View) -> View | None:
    return _without(view, _middle(node for node in view.nodes if node.kind == "output"))


def output_moved(view: View) -> View | None:
    """An output that another layer gives."""
    edge = _middle(edge for edge in view.edges if view.nodes[edge.head].kind == "output")
    drawn = {(one.tail, one.head) for one in view.edges}
    others = [n.id for n in view.nodes if n.kind in LAYERS and edge and (n.id, edge.head) not in drawn]
    return _with_edge(view, edge, replace(edge, tail=others[0])) if edge and others else None


def input_removed(view: View) -> View | None:
    return _without(view, _middle(node for node in view.nodes if node.kind == "input"))


def input_of_another(view: View) -> View | None:
    inputs = [node for node in view.nodes if node.kind == "input"]
    if len(inputs) < 2:
        return None
    a, b = inputs[0], inputs[-1]
    first, last = ({edge.head for edge in view.edges if edge.tail == node.id} for node in (a, b))
    if first == last:  # the picture is as true
        return None
    return _with_node(_with_node(view, replace(a, values=b.values)), replace(b, values=a.values))


def inset_call_missing(view: View) -> View | None:
    """A layer with a letter that the inset does not know."""
    if not (several := [i for i, inset in enumerate(view.insets) if len(inset.calls) > 1]):
        return None
    insets = [*view.insets]
    insets[several[0]] = replace(insets[several[0]], calls=insets[several[0]].calls[:-1])
    return replace(view, insets=tuple(insets))


def entrances_joined(view: View) -> View | None:
    """Two things that come into an inset as one, as if all of its calls got one thing twice."""
    views = (view, *(inset.view for inset in view.insets))
    said = {text for shown in views for node in shown.nodes for text in node.differs}
    for i, inset in enumerate(view.insets):
        inputs = [node for node in inset.view.nodes if node.kind == "input"]
        twice = [(a, b) for a in inputs for b in inputs if a.id < b.id and f"{b.name} is {a.name}" in said]
        for one, other in twice[:1]:
            here = {edge.head for edge in inset.view.edges if edge.tail == one.id}
            edges = [replace(e, tail=one.id) if e.tail == other.id else e for e in inset.view.edges]
            edges = [e for e in edges if e in inset.view.edges or e.head not in here]
            joined = _without(replace(inset.view, edges=_sorted(edges)), other)
            assert joined is not None
            insets = (*view.insets[:i], replace(inset, view=joined), *view.insets[i + 1 :])
            return replace(view, insets=insets)
    return None


def inset_of_another(view: View) -> View | None:
    """A letter at a layer that stands at no inset."""
    lettered = [node for node in view.nodes if node.inset]
    return _with_node(view, replace(lettered[0], inset="Z")) if lettered else None


def part_dropped(view: View) -> View | None:
    """Of several layers that are drawn as one, the last."""
    node = _middle(n for n in view.nodes if len(n.parts) > 1 and n.parts[-1].kind == "call")
    return _with_node(view, node and replace(node, parts=node.parts[:-1]))


def piece_unsaid(view: View) -> View | None:
    """An edge that does not say which part of a tensor it carries, beside others that carry other parts.

    A state is all of a tensor.
    """
    said = [edge for edge in view.edges if edge.part not in ("", "state") and not _is_returned(view, edge)]
    edge = _middle(edge for edge in said if any(one.part != "state" for one in _other_pieces(view, edge)))
    return _with_edge(view, edge, edge and replace(edge, part=""))


def pieces_exchanged(view: View) -> View | None:
    """Two edges that say each what the other one carries."""
    edge = _middle(edge for edge in view.edges if edge.part and _other_pieces(view, edge))
    if edge is None:
        return None
    other = _other_pieces(view, edge)[0]
    changed = _with_edge(view, edge, replace(edge, part=other.part))
    return changed and _with_edge(changed, other, replace(other, part=edge.part))


def piece_of_other_size(view: View) -> View | None:
    """One of more parts for one of two, or for one with a name, and a stretch that ends one later."""
    edge = _middle(edge for edge in view.edges if edge.part)
    other = {"1st half": "1 of 4", "2nd half": "2 of 4", "[:, 1:]": "[:, 2:]", "[:, :1]": "[:, :2]"}
    return _with_edge(view, edge, edge and replace(edge, part=other.get(edge.part, "1 of 9")))


def piece_claimed(view: View) -> View | None:
    """An edge that carries all of a tensor and is said to carry a half."""
    edge = _middle(edge for edge in _plain(view) if not edge.part and not edge.back and _is_data(view, edge))
    return _with_edge(view, edge, edge and replace(edge, part="1st half"))


def _other_pieces(view: View, edge: Edge) -> list[Edge]:
    return [one for one in view.edges if one.tail == edge.tail and one.part and one.part != edge.part]


def _is_returned(view: View, edge: Edge) -> bool:
    """Whether an edge has the name of an output, which the first one of a layer need not have."""
    calls = [view.graph.calls[call] for call in view.nodes[edge.tail].calls]
    return edge.part in (view.graph.part(call.module, path) or path for call in calls for path in call.outputs)


MUTATIONS: Sequence[Mutation] = (
    *(edge_removed, edge_added, edge_turned, edge_from_another, back_removed, back_added, back_turned),
    *(layer_dropped, op_dropped, op_left_out, left_out_unnamed, series_one_less, series_one_more, parallel_for_series),
    *(box_one_less, box_one_more, box_period_wrong, calls_swapped, op_of_another, span_removed, span_changed),
    *(
        output_removed,
        output_moved,
        input_removed,
        input_of_another,
        inset_call_missing,
        inset_of_another,
        entrances_joined,
        part_dropped,
    ),
    *(piece_unsaid, pieces_exchanged, piece_of_other_size, piece_claimed),
)


class _Itself(Sequence[int]):
    """For each value itself."""

    def __getitem__(self, value: Any) -> Any:
        return value

    def __len__(self) -> int:
        return 0


ITSELF = _Itself()


FACTS: dict[int, tuple[Graph, GraphFacts]] = {}
"""By identity of a Graph, which is kept for that."""


def _facts(view: View) -> GraphFacts:
    return FACTS.setdefault(id(view.graph), (view.graph, GraphFacts(view.graph)))[1]


def _is_data(view: View, edge: Edge) -> bool:
    """Whether it is more than a mask, positions or a shape, which may flow unseen."""
    facts, op = _facts(view), view.nodes[edge.head].op
    return not facts.is_side[edge.value] and (op is None or bool(facts.data_of(view.graph.ops[op])))


def _computes(view: View, op: int | None) -> bool:
    """Whether an op is more than a change of place, on more than masks or positions."""
    if op is None:
        return False
    row, facts = view.graph.ops[op], _facts(view)
    return not facts.is_move(row, ITSELF) and not all(facts.is_side[value] for value in row.outputs)


def _settings(node: Node) -> list[Span]:
    """What a leaf says of settings; numbers of parameters are not proved, nor values of layers that are closed."""
    is_leaf = node.kind == "op" or any(part.spans == node.spans for part in node.parts)
    return [span for span in node.spans if span.name != "params" and (is_leaf or span.name in ("dilation", "stride"))]


def _middle(found: Iterable[T]) -> T | None:
    items = [*found]
    return items[len(items) // 2] if items else None


def _plain(view: View) -> list[Edge]:
    """The edges that are not cut because they are long."""
    return [edge for edge in view.edges if not {view.nodes[i].kind for i in (edge.tail, edge.head)} & {"from", "to"}]


def _made(view: View, node: int) -> int:
    """A value that a node gives."""
    return next((edge.value for edge in view.edges if edge.tail == node), 0)


def _is_read(view: View, node: Node) -> bool:
    return any(edge.tail == node.id for edge in view.edges)


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (edge.tail, edge.head)))


def _with_edge(view: View, old: Edge | None, new: Edge | None = None) -> View | None:
    if old is None:
        return None
    return replace(view, edges=_sorted([*(e for e in view.edges if e is not old), *([] if new is None else [new])]))


def _with_node(view: View | None, node: Node | None) -> View | None:
    if view is None or node is None:
        return None
    return replace(view, nodes=(*view.nodes[: node.id], node, *view.nodes[node.id + 1 :]))


def _with_box(view: View, box: Box | None) -> View | None:
    return None if box is None else replace(view, boxes=(*view.boxes[: box.id], box, *view.boxes[box.id + 1 :]))


def _of_several(view: View, change: Callable[[Node], Node]) -> View | None:
    node = _middle(node for node in view.nodes if node.repeat > 1 and not node.parts)
    return _with_node(view, node and change(node))


def _without(view: View, node: Node | None) -> View | None:
    """The View without a node and its edges, with ids that are positions again."""
    if node is None:
        return None
    new = {old.id: i for i, old in enumerate(one for one in view.nodes if one.id != node.id)}
    nodes = tuple(
        replace(one, id=new[one.id], links=tuple(new[link] for link in one.links if link in new))
        for one in view.nodes
        if one.id in new
    )
    edges = (replace(e, tail=new[e.tail], head=new[e.head]) for e in view.edges if node.id not in (e.tail, e.head))
    return replace(view, nodes=nodes, edges=_sorted(edges))


def _passed_by(view: View, node: Node | None) -> View | None:
    if node is None:
        return None
    drawn = {(edge.tail, edge.head) for edge in view.edges}
    tails = [edge for edge in view.edges if edge.head == node.id and not edge.back]
    heads = [edge for edge in view.edges if edge.tail == node.id and not edge.back]
    joined = {(a.tail, b.head): replace(b, tail=a.tail) for a in tails for b in heads if (a.tail, b.head) not in drawn}
    return _without(replace(view, edges=_sorted([*view.edges, *joined.values()])), node)
