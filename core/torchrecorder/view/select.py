"""How deep a View goes, how much it may show, and which of its edges are cut because they are long.

A view that would be too large is drawn at a smaller depth or with gaps, and a note says so and what shows more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace

from torchrecorder.errors import OptionError, listed
from torchrecorder.graph.model import Graph
from torchrecorder.graph.worth import LEAVES
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import tuning
from torchrecorder.view.differences import with_spans
from torchrecorder.view.entries import with_entries, with_functions, with_lists
from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Marks, View
from torchrecorder.view.plan.edges import Ends
from torchrecorder.view.plan.plan import Plan
from torchrecorder.view.plan.visibility import Visibility, like
from torchrecorder.view.simplified import simplified
from torchrecorder.view.simplified.patches import Folding
from torchrecorder.view.skips import shortened, with_skips
from torchrecorder.view.templates.choice import Choice, is_whole, view_size
from torchrecorder.view.templates.interiors import Interiors
from torchrecorder.view.tree import counted

_USUAL = DrawingOptions()
_MORE = "focus shows one layer alone, expand opens layers, and expand: ** opens all"


def make_view(graph: Graph, options: DrawingOptions = _USUAL, *, contract: bool = True) -> View:
    """The View for a picture of the Graph.

    Raises:
        OptionError: `focus` does not name a module that was called, or `expand` asks for more than can be drawn.
    """
    return Views(graph, options, contract=contract).view()


class Views:
    """The views of one Graph, with what they have in common made once.

    With `contract`, changes of shape are drawn as edges. `marks` are for a Graph of two models.
    """

    def __init__(
        self, graph: Graph, options: DrawingOptions = _USUAL, *, contract: bool = True, marks: Marks | None = None
    ) -> None:
        is_simple = options.depth == "auto" and contract and graph.info.recorder != "classic"
        graph = with_entries(graph) if is_simple else graph
        self.graph = with_lists(graph, like(options.collapse)) if options.collapse else graph
        self.options = options
        self.visible = Visibility(self.graph, options, contract=contract, marks=marks)
        self.max_depth = self.visible.max_depth
        self._fewer, self._has_opened = 0, False
        self._interiors: dict[Folding, Interiors] = {}

    def view(self, *, beside: bool = True) -> View:
        """As `make_view`; without insets if nothing can stand beside the picture."""
        depth = self.options.depth
        if depth == "auto":
            chosen = self._chosen(self.visible.root, beside=beside, fewer=self._fewer)
            return self._finished(self._uniform() if chosen is None else chosen)
        return self._finished(self._at(self.max_depth if depth == "all" else min(max(depth, 0), self.max_depth)))

    def weaken(self, calls: Iterable[int]) -> bool:
        """Draw less as one in some calls from now on; False if nothing is left to weaken."""
        self._interiors.clear()
        closed = self.visible.collapsed
        is_weaker = self.visible.weaken(calls)
        self._fewer -= self.visible.collapsed > closed and self._fewer > 0  # what is closed has given way
        return is_weaker

    def draw_cuts(self, ops: Iterable[int]) -> bool:
        """Draw ops that take a part as nodes from now on; False if they are."""
        self._interiors.clear()
        return self.visible.draw_cuts(ops)

    def open_fewer(self) -> bool:
        """Give way from now on with what the view opened last; False if it opened nothing of its own accord."""
        self._fewer += self._has_opened
        return self._has_opened

    def plainer(self) -> Views | None:
        """The views without folds, then without contraction, where each call and op is drawn for itself; then none."""
        if self.options.fold:
            return self._with(replace(self.options, fold=False), contract=self.visible.contract)
        return self._with(self.options, contract=False) if self.visible.contract else None

    def inside(self, call: int) -> View:
        """The View for a reader who opens a layer that is closed."""
        options = replace(self.options, depth="auto", expand=(), collapse=())
        if self.options.expand or self.options.collapse:
            return self._with(options, contract=self.visible.contract).inside(call)
        chosen = self._chosen(call, beside=False)
        if chosen is None:
            focused = replace(options, focus=self.graph.calls[call].module)
            return self._with(focused, contract=self.visible.contract).view()
        return self._finished(chosen)

    def opened(self, groups: Mapping[str, Collection[int]]) -> tuple[Views, dict[str, int]]:
        """Views in which groups of ops are calls that can be opened, and these calls, by path."""
        rows, readers = self.graph.ops, self.visible.readers
        whole: dict[str, set[int]] = {}
        for path, ops in groups.items():
            inside = whole[path] = {*ops}
            for op in rows[max(ops) : min(ops) : -1]:  # what only moves data between them
                read = [reader.id for value in op.outputs for reader in readers.get(value, ())]
                if (
                    op.call == rows[min(ops)].call
                    and self.visible.handed[op.id] is not None
                    and inside.issuperset(read)
                ):
                    inside.add(op.id)
        options = replace(self.options, depth="auto", expand=(), collapse=(), focus="")
        views = Views(with_functions(self.graph, whole), options, contract=self.visible.contract)
        return views, {row.module: row.id for row in views.graph.calls if row.module in groups}

    def _with(self, options: DrawingOptions, *, contract: bool) -> Views:
        return Views(self.graph, options, contract=contract, marks=self.visible.marks)

    def _finished(self, view: View) -> View:
        insets = tuple(replace(inset, view=_with_remainder(inset.view, self.visible)) for inset in view.insets)
        view = _with_remainder(replace(view, insets=insets), self.visible)
        return with_spans(view, self.visible)

    def _chosen(self, call: int, *, beside: bool = True, fewer: int = 0) -> View | None:
        """The view of a call that opens each kind of layer once; None if none is right for it."""
        is_modern = self.graph.info.recorder != "classic"
        is_flat = max(self.visible.tree.level) <= tuning.MAX_LEVELS
        if not self.options.fold or not is_modern or not is_flat or not self.visible.can_open(call):
            return None
        view = self._folded(call, beside=beside, fewer=fewer)
        if not is_whole(view) and not self.visible.asked:
            return None
        insets = tuple(replace(inset, view=shortened(with_skips(inset.view))) for inset in view.insets)
        level = self.visible.tree.level
        depth = 1 + max(level[box.calls[0]] for box in view.boxes) - level[call]
        view = replace(shortened(with_skips(view)), insets=insets, depth=depth)
        return _judged(replace(view, notes=(*self._notes(view), *view.notes)))

    def _folded(self, call: int, *, beside: bool, fewer: int) -> View:
        """The view that opens most of what is the model's own, with arithmetic op by op as far as there is room."""
        usual = self._choice(call, "usual", beside=beside)
        view, chosen = usual.view(), usual
        is_full = view_size(view) > tuning.FULL
        if usual.hides_own or (is_full if usual.opened else not is_whole(view)):
            tight = self._choice(call, "tight", beside=beside)
            folded = tight.view()
            if tight.score >= usual.score and (is_whole(folded) or not is_whole(view)):
                view, chosen = folded, tight
        is_left = chosen.give_way(fewer)
        if call == self.visible.root:
            self._has_opened = is_left
        if fewer:
            return chosen.view()
        shown = (node for shown in (view, *(inset.view for inset in view.insets)) for node in shown.nodes)
        has_more = bool(self.visible.facts.telling) or any(node.kind == "function" for node in shown)
        if not usual.hides_own and has_more and view_size(view) < tuning.AUTO_NODES:
            roomy = self._choice(call, "full" if is_full else "roomy", beside=beside)
            drawn = roomy.view()
            view = drawn if view_size(drawn) <= tuning.AUTO_NODES and roomy.score >= chosen.score else view
        return view

    def _choice(self, call: int, folding: Folding, *, beside: bool) -> Choice:
        if folding not in self._interiors:
            kinds = next((other.kinds for other in self._interiors.values()), None)
            self._interiors[folding] = Interiors(self.visible, folding, kinds)
        return Choice(self._interiors[folding], call, beside=beside)

    def _uniform(self) -> View:
        """The deepest view that shows few enough nodes; where none does, one with gaps."""
        depth = step = 1
        while step and depth < self.max_depth:  # in steps that grow, since calls may nest deeply
            deeper = min(depth + step, self.max_depth)
            is_small = self._count(deeper) <= 2 * tuning.AUTO_NODES
            depth, step = (deeper, 2 * step) if is_small else (depth, step // 2)
        view = self._view(min(depth, self.max_depth))
        while view_size(view) > tuning.AUTO_NODES and view.depth > 1:
            view = self._view(view.depth - 1)
        if view_size(view) > tuning.AUTO_NODES and not self.visible.asked:
            return _judged(self._with_gaps(view.depth, tuning.AUTO_NODES))
        tree, root = (
            self.visible.tree,
            self.visible.root,
        )  # where there is room, no closed layer holds most of the model
        size = tree.n_params if tree.n_params(root) else tree.n_ops.__getitem__
        closed = (node.calls[0] for node in view.nodes if node.kind == "call" and self.visible.is_block(node.calls[0]))
        if view_size(view) < tuning.ROOMY and any(size(call) > tuning.MOST * size(root) for call in closed):
            with_gaps = self._with_gaps(min(view.depth + 1, self.max_depth), tuning.AUTO_NODES)
            return with_gaps if view_size(with_gaps) <= tuning.AUTO_NODES else view
        return _judged(view)

    def _at(self, depth: int) -> View:
        """The view of that depth, or a smaller one if it would show too much and no single layer was asked for."""
        n = self._count(depth)
        if self.visible.asked:
            if n > tuning.MAX_NODES:  # before edges are made
                raise _too_many(n)
            return _judged(self._view(depth))
        drawn = depth
        while n > tuning.MAX_ASKED and drawn > 1:
            drawn -= 1
            n = self._count(drawn)
        view = _judged(self._view(drawn) if n <= tuning.MAX_ASKED else self._with_gaps(drawn, tuning.MAX_ASKED))
        if drawn == depth:
            return view
        note = f"depth {depth} would show {self._count(depth)} nodes, so this is depth {drawn}; {_MORE}"
        return replace(view, notes=(*view.notes, note))

    def _view(self, depth: int, item_limit: int = 0) -> View:
        plan = Plan(self.visible, self.visible.states(depth), item_limit=item_limit)
        draft = simplified(Ends(plan).joined(), self.visible, self.visible.asked | {self.visible.root})
        view = shortened(with_skips(draft.view(depth)))
        return replace(view, notes=(*self._notes(view),))

    def _count(self, depth: int) -> int:
        return len(Plan(self.visible, self.visible.states(depth)).nodes)

    def _with_gaps(self, depth: int, node_limit: int) -> View:
        item_limit = node_limit
        view = self._view(depth, item_limit)
        while view_size(view) > node_limit and item_limit > 6:
            item_limit = item_limit * 3 // 4
            view = self._view(depth, item_limit)
        hidden = sum(node.size for node in view.nodes if node.kind == "gap")
        note = f"{hidden} steps in the middle are drawn as one node; expand: ** draws each of them"
        return replace(view, notes=(*view.notes, note)) if hidden else view

    def _notes(self, view: View) -> Iterator[str]:
        options = self.options
        fold = options.fold if isinstance(options.fold, tuple) else ()
        for option, patterns in (("expand", options.expand), ("collapse", options.collapse), ("fold", fold)):
            for pattern in patterns:
                calls = {*self.visible.matching([pattern.removeprefix("!")])}
                if not calls:
                    is_list = option == "collapse" and any(map(like([pattern]), self.graph.modules))
                    is_mixed = f"between the layers of {pattern!r}, others are called"
                    yield f"{option}: {is_mixed if is_list else f'no layer has a path like {pattern!r}'}"
                elif option == "fold" and not pattern.startswith("!") and _is_apart(view, calls):
                    yield f"fold: layers like {pattern!r} are neither all in a row nor all side by side"
        if view.boxes and view.boxes[0].calls[0] == 0:
            shown = {value for node in view.nodes if node.kind == "input" for value in node.values}
            shown.update(view.aside)
            hidden = {path: value for path, value in self.graph.inputs.items() if value not in shown}
            read = {value for op in self.graph.ops for value in op.inputs} if hidden else set()
            checked = [path for path, value in hidden.items() if value in read]
            unused = [path for path in hidden if path not in checked]
            yield from self._unread(view)
            caught = (row for row in self.graph.calls if not row.ok and row.id not in self.visible.failed)
            if names := [*dict.fromkeys(row.module for row in caught if not self.visible.tree.n_ops[row.id])]:
                yield f"raised before any operation, which the model caught: {listed(names, tuning.NAMED)}"
            if checked:
                yield "the forward only checks " + ", ".join(checked)
            if unused and any(note.startswith(LEAVES) for note in self.graph.info.notes):
                yield f"no operation reads {', '.join(unused)}; what numbers decide outside of PyTorch is not drawn"
            elif unused:
                yield "the forward does not use " + ", ".join(unused)

    def _unread(self, view: View) -> Iterator[str]:
        """Layers that lead nowhere, most often since there was nothing for them to do: a head without detections."""
        read, given = {edge.tail for edge in view.edges}, {edge.head: edge.value for edge in view.edges}
        idle = [node for node in view.nodes if node.kind == "call" and node.id not in read and node.calls[0]]
        idle = [node for node in idle if self.visible.tree.n_params(node.calls[0])]
        if idle and self.graph.info.failure is None:
            names = listed([self.graph.calls[node.calls[0]].module for node in idle], tuning.NAMED)
            is_empty = all(0 in self.graph.values[given[node.id]].shape for node in idle if node.id in given)
            why = ", which got a tensor of no elements" if is_empty else ""
            yield f"nothing reads the output of {names}{why}"


def _is_apart(view: View, calls: Set[int]) -> bool:
    """Whether calls that would have one place are drawn at several nodes."""
    shown = (node for node in view.nodes if not calls.isdisjoint(node.calls))
    places = [(node.box, counted(view.graph.calls[node.calls[0]].module)) for node in shown]
    return len({*places}) < len(places)


def _judged(view: View) -> View:
    n = len(view.nodes)
    if n > tuning.MAX_NODES:
        raise _too_many(n)
    if n <= tuning.MANY_NODES:
        return view
    note = f"this diagram shows {n} nodes; a smaller depth, collapse or focus make it easier to read"
    return replace(view, notes=(*view.notes, note))


def _too_many(n: int) -> OptionError:
    return OptionError(
        (
            f"this diagram would show {n} nodes, and at most {tuning.MAX_NODES} are drawn: "
            "give a smaller depth, or focus",
        )
    )


def _with_remainder(view: View, visible: Visibility) -> View:
    """The View with the ops that no node stands for, and a note of them and of the ends that are not drawn."""
    facts, tree = visible.facts, visible.tree
    root = view.boxes[0].calls[0] if view.boxes else view.nodes[0].calls[0] if view.nodes[0].calls else 0
    covered = {op for node in view.nodes for part in (node.parts or (node,)) for op in facts.ops_of(part)}
    for box in view.boxes:  # and what is drawn for those of repeats
        covered.update(box.ops[len(box.ops) // box.repeat :])
        covered.update(op for call in box.calls[box.period :] for op in tree.all_ops_of(call))
    rows = (view.graph.ops[op] for op in tree.all_ops_of(root))
    left_out = (op.id for op in rows if op.id not in covered and visible.handed[op.id] is None and op.kind != "pass")
    view = replace(view, left_out=tuple(left_out))
    if not (what := _words(view, facts, root)):
        return view
    advice = "" if visible.options.depth == "all" else "; depth: all draws everything"
    return replace(view, notes=(*view.notes, f"not drawn: {what}{advice}"))


def _words(view: View, facts: Facts, root: int) -> str:
    """`7 operations on constants, masks and positions, mask`."""
    graph = view.graph
    asides = {op for op in view.left_out if facts.aside.issuperset(graph.ops[op].outputs)}
    others = [op for op in view.left_out if op not in asides]
    checked = {value for decision in graph.decisions for value in decision.values}
    made = (graph.values[value] for op in others for value in graph.ops[op].outputs)
    checked.update(value.id for value in made if value.meta is not None and not value.meta.shape)  # one number
    for op in reversed(others):
        if not checked.isdisjoint(graph.ops[op].outputs):
            checked.update(graph.ops[op].inputs)
    n_checks = sum(not checked.isdisjoint(graph.ops[op].outputs) for op in others)
    names = [name for name, value in graph.inputs.items() if value in view.aside]
    if root == 0:
        shown = {value for node in view.nodes if node.kind == "output" for value in node.values}
        hidden = (path for path, values in graph.outputs.items() if path and shown.isdisjoint(values))
        names += dict.fromkeys(path.partition(".")[0] for path in hidden)  # those of one nested list once
    counted = (
        (len(asides), "on constants, masks and positions"),
        (n_checks, "that the code only asks"),
        (len(others) - n_checks, "that nothing reads"),
    )
    operations = [f"{n} operation{'' if n == 1 else 's'} {which}" for n, which in counted if n]
    return ", ".join((*operations, *names))
