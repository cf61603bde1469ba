"""Views of one Graph at several depths, with what they share worked out once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from torchrecorder.errors import OptionError
from torchrecorder.graph.model import Graph
from torchrecorder.view.contract import handed_on
from torchrecorder.view.ends import Ends
from torchrecorder.view.far import shortened
from torchrecorder.view.folding import Comparer
from torchrecorder.view.model import View
from torchrecorder.view.plan import Choice, Plan, make_plan
from torchrecorder.view.scopes import atomic_calls, formulas, matching, states, with_parents
from torchrecorder.view.tree import CallTree, call_tree


@dataclass(frozen=True, slots=True)
class Wish:
    """What a reader asked for, but for the depth."""

    everything: bool = False
    """Whether formulas are opened too."""
    fold: bool = True
    contract: bool = True
    focus: str = ""
    expand: tuple[str, ...] = ()
    collapse: tuple[str, ...] = ()
    weights: bool = False
    """Whether the parameters of layers are nodes."""


class Viewer:
    """Makes views of several depths."""

    def __init__(self, graph: Graph, wish: Wish) -> None:
        self.graph, self.wish = graph, wish
        self.tree = call_tree(graph)
        self.root = _focused(self.tree, wish.focus)
        self.comparer = Comparer(self.tree) if wish.fold else None
        self.handed = [handed_on(graph, op) if wish.contract else None for op in graph.ops]
        self.atomic = atomic_calls(self.tree, self.handed, self.root)
        self.closed = [] if wish.everything else formulas(self.tree, self.handed)
        self.asked = frozenset(matching(self.tree, wish.expand))
        self.opened = frozenset(with_parents(self.tree, self.asked))
        self.collapsed = frozenset(matching(self.tree, wish.collapse))

    @cached_property
    def max_depth(self) -> int:
        """The depth from which on a view shows everything."""
        level = self.tree.level
        calls = range(self.root, self.tree.end[self.root])
        deepest = max((level[call] + 1 for call in calls if self._is_openable(call)), default=level[self.root])
        return deepest - level[self.root]

    def view(self, depth: int, most: int = 0) -> View:
        """The view of that depth.

        Args:
            depth: How many levels of calls are boxes.
            most: How many things are drawn one by one in a box; 0 for all.
        """
        plan = self._plan(depth, most)
        nodes, edges = Ends(plan, constants=self.wish.contract, weights=self.wish.weights).joined()
        view = shortened(View(self.graph, tuple(plan.boxes), nodes, edges, (), depth))
        return replace(view, notes=tuple(self._notes(view)))

    def count(self, depth: int) -> int:
        """How many calls and ops the view of that depth shows, for a fraction of its cost."""
        return len(self._plan(depth).nodes)

    def _plan(self, depth: int, most: int = 0) -> Plan:
        found = states(
            self.tree,
            self.atomic,
            root=self.root,
            depth=depth,
            closed=self.closed,
            contract=self.wish.contract,
            opened=self.opened,
            collapsed=self.collapsed,
        )
        choice = Choice(found, self.comparer, self.handed, self.root, most, self.asked, self.opened)
        return make_plan(self.tree, choice)

    def _is_openable(self, call: int) -> bool:
        is_closed = bool(self.closed) and self.closed[call] and call != self.root
        return not self.atomic[call] and not is_closed

    def _notes(self, view: View) -> Iterator[str]:
        for option, patterns in (("expand", self.wish.expand), ("collapse", self.wish.collapse)):
            for pattern in patterns:
                if not matching(self.tree, [pattern]):
                    yield f"{option}: no layer has a path like {pattern!r}"
        if self.root == 0:
            shown = {value for node in view.nodes if node.kind == "input" for value in node.values}
            hidden = {path: value for path, value in view.graph.inputs.items() if value not in shown}
            read = {value for op in view.graph.ops for value in op.inputs} if hidden else set()
            checked = [path for path, value in hidden.items() if value in read]
            unused = [path for path in hidden if path not in checked]
            if checked:
                yield "the forward only checks " + ", ".join(checked)
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
