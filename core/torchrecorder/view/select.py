"""How deep a View goes, how much it may show, and which of its edges are cut because they are long.

A reader takes in some forty nodes at once and finds a way through some three hundred; beyond five hundred a picture is
a wall. A view that would be larger is drawn at a smaller depth or with gaps, and a note says so and what shows more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from torchrecorder.errors import OptionError
from torchrecorder.graph.model import Graph
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view.differences import with_spans
from torchrecorder.view.entries import with_entries
from torchrecorder.view.model import Edge, Marks, Node, View, in_order
from torchrecorder.view.plan.edges import Ends
from torchrecorder.view.plan.plan import Plan
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.remainder import with_remainder
from torchrecorder.view.simplified import simplified
from torchrecorder.view.skips import with_skips
from torchrecorder.view.templates.choice import Choice, view_size
from torchrecorder.view.templates.interiors import Interiors

AUTO_NODES = 40
"""How many nodes a view of automatic depth shows at most."""
MANY_NODES = 300
"""A view of more gets a note."""
MAX_ASKED = 500
"""A view of a given depth shows at most this many."""
MAX_NODES = 5000
"""More than this are never drawn."""
_USUAL = DrawingOptions()
_MAX_LEVELS = 50
"""Calls that nest deeper are not compared by what is in them, which takes time by their number times their depth."""
_FEW = 2
"""A view that shows no more than this says nothing of the model."""
_MORE = "focus shows one layer alone, expand opens layers, and expand: ** opens all"


def make_view(graph: Graph, options: DrawingOptions = _USUAL, *, contract: bool = True) -> View:
    """What a picture of the Graph shows.

    Raises:
        OptionError: `focus` does not name a module that was called, or `expand` asks for more than can be drawn.
    """
    return Views(graph, options, contract=contract).view()


class Views:
    """The views of one Graph, with what they have in common made once.

    Args:
        graph: What is shown.
        options: What of it, and how deep.
        contract: Whether changes of shape are drawn as edges.
        marks: What became of the things of the Graph, if it is of two models.
    """

    def __init__(
        self, graph: Graph, options: DrawingOptions = _USUAL, *, contract: bool = True, marks: Marks | None = None
    ) -> None:
        is_simple = options.depth == "auto" and contract and graph.info.recorder != "classic"
        self.graph, self.options = with_entries(graph) if is_simple else graph, options
        self.visible = Visibility(self.graph, options, contract=contract, marks=marks)
        self.max_depth = self.visible.max_depth

    def view(self, *, beside: bool = True) -> View:
        """As `make_view`; without insets if nothing can stand beside the picture."""
        depth = self.options.depth
        if depth == "auto":
            chosen = self._chosen(self.visible.root, beside=beside)
            return self._finished(self._uniform() if chosen is None else chosen)
        return self._finished(self._at(self.max_depth if depth == "all" else min(max(depth, 0), self.max_depth)))

    def weaken(self, calls: Iterable[int]) -> bool:
        """Has less drawn as one in some calls from now on; False if nothing is left to weaken."""
        self.__dict__.pop("_interiors", None)
        return self.visible.weaken(calls)

    def plainer(self) -> Views | None:
        """The views without folds, then without contraction, where each call and op is drawn for itself; then none."""
        if self.options.fold:
            return self._with(replace(self.options, fold=False), contract=self.visible.contract)
        return self._with(self.options, contract=False) if self.visible.contract else None

    def inside(self, call: int) -> View:
        """What a reader sees who opens a layer that is closed."""
        options = replace(self.options, depth="auto", expand=(), collapse=())
        if self.options.expand or self.options.collapse:
            return self._with(options, contract=self.visible.contract).inside(call)
        chosen = self._chosen(call, beside=False)
        if chosen is None:
            focused = replace(options, focus=self.graph.calls[call].module)
            return self._with(focused, contract=self.visible.contract).view()
        return self._finished(chosen)

    def _with(self, options: DrawingOptions, *, contract: bool) -> Views:
        return Views(self.graph, options, contract=contract, marks=self.visible.marks)

    def _finished(self, view: View) -> View:
        insets = tuple(replace(inset, view=with_remainder(inset.view, self.visible)) for inset in view.insets)
        view = with_remainder(replace(view, insets=insets), self.visible)
        return with_spans(view, self.visible)

    @cached_property
    def _interiors(self) -> Interiors:
        return Interiors(self.visible)

    def _chosen(self, call: int, *, beside: bool = True) -> View | None:
        """The view of a call that opens each kind of layer once; None if none is right for it."""
        is_modern = self.graph.info.recorder != "classic"
        is_flat = max(self.visible.tree.level) <= _MAX_LEVELS
        if not self.options.fold or not is_modern or not is_flat or not self.visible.can_open(call):
            return None
        view = Choice(self._interiors, call, beside=beside).view()
        if view_size(view) > AUTO_NODES and not self.visible.asked:
            return None
        insets = tuple(replace(inset, view=shortened(with_skips(inset.view))) for inset in view.insets)
        level = self.visible.tree.level
        depth = 1 + max(level[box.calls[0]] for box in view.boxes) - level[call]
        view = replace(shortened(with_skips(view)), insets=insets, depth=depth)
        return _judged(replace(view, notes=(*self._notes(view), *view.notes)))

    def _uniform(self) -> View:
        """The deepest view that shows few enough nodes; where none does, one with gaps."""
        depth = step = 1
        while step and depth < self.max_depth:  # in steps that grow, since calls may nest deeply
            deeper = min(depth + step, self.max_depth)
            is_small = self._count(deeper) <= 2 * AUTO_NODES
            depth, step = (deeper, 2 * step) if is_small else (depth, step // 2)
        view = self._view(min(depth, self.max_depth))
        while view_size(view) > AUTO_NODES and view.depth > 1:
            view = self._view(view.depth - 1)
        if view_size(view) > AUTO_NODES and not self.visible.asked:
            return _judged(self._with_gaps(view.depth, AUTO_NODES))
        if self._count(view.depth) <= _FEW and view.depth < self.max_depth:
            with_gaps = self._with_gaps(view.depth + 1, AUTO_NODES)
            return with_gaps if view_size(with_gaps) <= AUTO_NODES else view
        return _judged(view)

    def _at(self, depth: int) -> View:
        """The view of that depth, or a smaller one if it would show too much.

        What `expand` asks for is drawn up to the last limit: who names single layers wants to see them.
        """
        n = self._count(depth)
        if self.visible.asked:
            if n > MAX_NODES:  # before edges are made
                raise _too_many(n)
            return _judged(self._view(depth))
        drawn = depth
        while n > MAX_ASKED and drawn > 1:
            drawn -= 1
            n = self._count(drawn)
        view = _judged(self._view(drawn) if n <= MAX_ASKED else self._with_gaps(drawn, MAX_ASKED))
        if drawn == depth:
            return view
        note = f"depth {depth} would show {self._count(depth)} nodes, so this is depth {drawn}; {_MORE}"
        return replace(view, notes=(*view.notes, note))

    def _view(self, depth: int, item_limit: int = 0) -> View:
        plan = Plan(self.visible, self.visible.states(depth), item_limit=item_limit)
        nodes, edges = Ends(plan).joined()
        view = View(self.graph, tuple(plan.boxes), nodes, edges, (), depth)
        asked = self.visible.asked | {self.visible.root}
        view = shortened(with_skips(simplified(view, self.visible, asked)))
        return replace(view, notes=(*self._notes(view), *view.notes))

    def _count(self, depth: int) -> int:
        """How many calls and ops the view of that depth shows, for a fraction of its cost."""
        return len(Plan(self.visible, self.visible.states(depth)).nodes)

    def _with_gaps(self, depth: int, node_limit: int) -> View:
        """The view with no more things in a box than keep it within the limit."""
        item_limit = node_limit
        view = self._view(depth, item_limit)
        while view_size(view) > node_limit and item_limit > 6:
            item_limit = item_limit * 3 // 4
            view = self._view(depth, item_limit)
        hidden = sum(node.size for node in view.nodes if node.kind == "gap")
        note = f"{hidden} steps in the middle are drawn as one node; expand: ** draws each of them"
        return replace(view, notes=(*view.notes, note)) if hidden else view

    def _notes(self, view: View) -> Iterator[str]:
        for option, patterns in (("expand", self.options.expand), ("collapse", self.options.collapse)):
            for pattern in patterns:
                if not self.visible.matching([pattern]):
                    yield f"{option}: no layer has a path like {pattern!r}"
        if view.boxes and view.boxes[0].calls[0] == 0:
            shown = {value for node in view.nodes if node.kind == "input" for value in node.values}
            shown.update(view.aside)
            hidden = {path: value for path, value in self.graph.inputs.items() if value not in shown}
            read = {value for op in self.graph.ops for value in op.inputs} if hidden else set()
            checked = [path for path, value in hidden.items() if value in read]
            unused = [path for path in hidden if path not in checked]
            if checked:
                yield "the forward only checks " + ", ".join(checked)
            if unused:
                yield "the forward does not use " + ", ".join(unused)


def _judged(view: View) -> View:
    n = len(view.nodes)
    if n > MAX_NODES:
        raise _too_many(n)
    if n <= MANY_NODES:
        return view
    note = f"this diagram shows {n} nodes; a smaller depth, collapse or focus make it easier to read"
    return replace(view, notes=(*view.notes, note))


def _too_many(n: int) -> OptionError:
    return OptionError(
        (f"this diagram would show {n} nodes, and at most {MAX_NODES} are drawn: give a smaller depth, or focus",)
    )


# The cost of a layout follows the sum of the spans of the edges: one mask that feeds every block of a deep model turns
# half a second into a minute. A far edge ends in a small node that names where the data goes, and begins again at
# another one that names where it comes from.
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
    forward = [edge for edge in view.edges if not edge.back and edge not in in_crowd]
    far = [edge for edge in forward if rank[edge.head] - rank[edge.tail] > FAR]
    groups = [*crowds, *_together(view, far, rank)]
    return _cut(view, groups, far) if groups else view


def ranks(n: int, edges: Iterable[Edge]) -> list[int]:
    """About the row in which layout will put each node.

    As far down as its inputs ask; then what has no more inputs than readers, such as a mask, moves down to its first
    reader.
    """
    before: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for edge in (edge for edge in edges if not edge.back):
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
    edges = {(edge.tail, edge.head): edge for edge in view.edges if not edge.back}
    backs = [edge for edge in view.edges if edge.back]
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
    moved = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in (*edges.values(), *backs)]
    return replace(
        view,
        nodes=tuple(replace(n, id=new[n.id], links=tuple(new[link] for link in n.links)) for n in nodes),
        edges=in_order(moved),
    )
