"""Cutting the edges that lead too far for an eye to follow, and for a layout to be quick.

The cost of a layout follows the sum of the spans of the edges: one mask that feeds every block of a deep model turns
half a second into a minute, and draws a curtain over the picture. A far edge ends in a small node that names where the
data goes, and begins again at another one that names where it comes from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from torchrecorder.view.model import Edge, Node, View

FAR = 25
"""An edge that spans more ranks than this is cut."""
_TOGETHER = 10
"""Readers of one thing that lie within so many ranks, in one box, share the node that names it."""
_CROWD, _CROWD_SPAN = 4, 5
"""A node that gets more residuals than this, as in a DenseNet, gets those from farther away by one node for all."""

_Group = list[Edge]
"""Cut edges that one node begins anew."""


def shortened(view: View) -> View:
    """The View with its far edges cut; itself if there are none."""
    rank = ranks(len(view.nodes), view.edges)
    skips_to: defaultdict[int, _Group] = defaultdict(list)
    for edge in view.edges:
        if edge.skip:
            skips_to[edge.head].append(edge)
    crowds = []
    for head, group in skips_to.items():
        from_afar = [edge for edge in group if rank[head] - rank[edge.tail] > _CROWD_SPAN]
        if len(group) > _CROWD and len(from_afar) > 1:
            crowds.append(from_afar)
    in_crowd = {edge for group in crowds for edge in group}
    far = [edge for edge in view.edges if rank[edge.head] - rank[edge.tail] > FAR and edge not in in_crowd]
    groups = [*crowds, *_together(view, far, rank)]
    return _cut(view, groups, far) if groups else view


def ranks(n: int, edges: Iterable[Edge]) -> list[int]:
    """About the row in which layout will put each node.

    As far down as its inputs ask; then what has no more inputs than readers, such as a mask, moves down to its first
    reader.

    Args:
        n: Number of nodes; every edge leads from a smaller to a larger one.
        edges: The edges.
    """
    before: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for edge in edges:
        before[edge.head].append(edge.tail)
        below[edge.tail].append(edge.head)
    rank = [0] * n
    for node in range(n):
        rank[node] = max((rank[tail] + 1 for tail in before[node]), default=0)
    for node in range(n - 1, -1, -1):
        if below[node] and len(before[node]) <= len(below[node]):
            rank[node] = min(rank[head] for head in below[node]) - 1
    return rank


def _together(view: View, far: Iterable[Edge], rank: Sequence[int]) -> Iterator[_Group]:
    """The far edges of one tail whose heads lie together."""
    by_place: defaultdict[tuple[int, int | None], _Group] = defaultdict(list)
    for edge in far:
        by_place[edge.tail, view.nodes[edge.head].box].append(edge)
    for edges in by_place.values():
        edges.sort(key=lambda edge: (rank[edge.head], edge.head))
        group = edges[:1]
        for edge in edges[1:]:
            if rank[edge.head] - rank[group[0].head] > _TOGETHER:
                yield group
                group = []
            group.append(edge)
        yield group


def _cut(view: View, groups: Iterable[_Group], far: Iterable[Edge]) -> View:
    """The View without the edges of the groups, with the nodes that stand for them at both ends."""
    edges = {(edge.tail, edge.head): edge for edge in view.edges}
    order = [(2 * node.id, node) for node in view.nodes]
    for group in groups:
        first, id_ = min(edge.head for edge in group), len(order)
        tails = tuple(dict.fromkeys(edge.tail for edge in group))
        order.append((2 * first - 1, Node(id_, "from", view.nodes[first].box, links=tails)))
        for edge in group:
            del edges[edge.tail, edge.head]
            edges[id_, edge.head] = replace(edge, tail=id_)
    marked: dict[int, _Group] = {}
    # by tail the far edges whose beginning is marked; an input or a constant stands under its own name again
    for edge in far:
        if view.nodes[edge.tail].kind in ("call", "op"):
            marked.setdefault(edge.tail, []).append(edge)
    for tail, group in marked.items():
        id_ = len(order)
        heads = tuple(edge.head for edge in group)
        order.append((2 * tail + 1, Node(id_, "to", view.nodes[tail].box, links=heads)))
        edges[tail, id_] = replace(group[0], head=id_)
    # ids count up in the order of things again
    nodes = [node for _, node in sorted(order, key=lambda pair: (pair[0], pair[1].id))]
    new = {node.id: position for position, node in enumerate(nodes)}
    moved = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in edges.values()]
    return replace(
        view,
        nodes=tuple(replace(n, id=new[n.id], links=tuple(new[link] for link in n.links)) for n in nodes),
        edges=tuple(sorted(moved, key=lambda edge: (edge.tail, edge.head))),
    )
