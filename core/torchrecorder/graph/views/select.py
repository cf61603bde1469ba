"""From a Graph to what one picture of it shows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torchrecorder.errors import OptionError
from torchrecorder.graph.model import Graph
from torchrecorder.graph.views.contract import handed_on
from torchrecorder.graph.views.ends import Ends
from torchrecorder.graph.views.folding import Comparer
from torchrecorder.graph.views.model import View
from torchrecorder.graph.views.plan import Plan, make_plan
from torchrecorder.graph.views.scopes import atomic_calls, formulas, matching, states
from torchrecorder.graph.views.tree import CallTree, call_tree

Depth = int | Literal["all", "auto"]
AUTO_NODES = 40
"""How many nodes a view of automatic depth shows at most."""


def make_view(
    graph: Graph,
    *,
    depth: Depth = "auto",
    fold: bool = True,
    contract: bool = True,
    focus: str = "",
    expand: Sequence[str] = (),
    collapse: Sequence[str] = (),
) -> View:
    """What a picture of the Graph shows.

    Args:
        graph: The Graph.
        depth: How many levels of calls are boxes: 0 shows the model as one node, 1 its children, …; `auto` is the
            deepest that shows at most `AUTO_NODES` nodes, but at least 1.
        fold: Whether equal neighbours are drawn once, with `×N`.
        contract: Whether changes of shape are drawn as edges.
        focus: Path of the module that is shown alone, at its first call; empty for the whole model.
        expand: Patterns of paths that are boxes at any depth.
        collapse: Patterns of paths that are nodes at any depth.

    Raises:
        OptionError: `focus` is no path of a module that was called.
    """
    viewer = _Viewer(graph, depth == "all", fold, contract, focus, tuple(expand), tuple(collapse))
    if depth == "auto":
        return viewer.deepest()
    return viewer.view(viewer.max_depth if depth == "all" else min(max(depth, 0), viewer.max_depth))


@dataclass(eq=False)
class _Viewer:
    """Makes views of several depths and works out once what they share."""

    graph: Graph
    everything: bool
    """Whether formulas are opened too."""
    fold: bool
    contract: bool
    focus: str
    expand: tuple[str, ...]
    collapse: tuple[str, ...]

    def __post_init__(self) -> None:
        self.tree = call_tree(self.graph)
        self.root = _focused(self.tree, self.focus)
        self.comparer = Comparer(self.tree) if self.fold else None
        self.handed = [handed_on(self.graph, op) if self.contract else None for op in self.graph.ops]
        self.atomic = atomic_calls(self.tree, self.handed, self.root)
        self.closed = [] if self.everything else formulas(self.tree, self.handed)
        self.max_depth = self._max_depth()

    def deepest(self) -> View:
        """The deepest view that shows few enough nodes."""
        depth = 1
        while depth < self.max_depth and self._fits(depth + 1):
            depth += 1
        view = self.view(min(depth, self.max_depth))
        while len(view.nodes) > AUTO_NODES and view.depth > 1:
            view = self.view(view.depth - 1)
        return view

    def view(self, depth: int) -> View:
        """The view of that depth."""
        plan = self._plan(depth)
        nodes, edges = Ends(plan, constants=self.contract).joined()
        view = View(self.graph, tuple(plan.boxes), nodes, edges, (), depth)
        return replace(view, notes=tuple(self._notes(view)))

    def _fits(self, depth: int) -> bool:
        return len(self._plan(depth).nodes) <= 2 * AUTO_NODES

    def _plan(self, depth: int) -> Plan:
        found = states(
            self.tree,
            self.atomic,
            root=self.root,
            depth=depth,
            closed=self.closed,
            contract=self.contract,
            expand=self.expand,
            collapse=self.collapse,
        )
        return make_plan(self.tree, found, self.comparer, handed=self.handed, root=self.root)

    def _max_depth(self) -> int:
        level = self.tree.level
        calls = range(self.root, self.tree.end[self.root])
        deepest = max((level[call] + 1 for call in calls if self._is_openable(call)), default=level[self.root])
        return deepest - level[self.root]

    def _is_openable(self, call: int) -> bool:
        is_closed = bool(self.closed) and self.closed[call] and call != self.root
        return not self.atomic[call] and not is_closed

    def _notes(self, view: View) -> Iterator[str]:
        for option, patterns in (("expand", self.expand), ("collapse", self.collapse)):
            for pattern in patterns:
                if not matching(self.tree, [pattern]):
                    yield f"{option}: no layer has a path like {pattern!r}"
        if self.root == 0:
            shown = {value for node in view.nodes if node.kind == "input" for value in node.values}
            unused = [path for path, value in view.graph.inputs.items() if value not in shown]
            if unused:
                yield "the forward does not use " + ", ".join(unused)


def _focused(tree: CallTree, focus: str) -> int:
    rows = tree.graph.calls
    if not focus:
        return 0
    found = next((row.id for row in rows if row.module == focus and row.kind == "module"), None)
    if found is None:
        raise OptionError(
            problems=(f"focus: no layer {focus!r} was called" + _near(focus, (row.module for row in rows)),)
        )
    return found


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, [*dict.fromkeys(names)], n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""
