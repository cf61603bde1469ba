"""Whether an inset keeps apart what any of its calls gets apart.

Two things that such a call reads from outside, in layers that the inset draws, may not come into the inset as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault, GraphFacts


class Entrances:
    """The entrances of one inset, by the node that data come to."""

    def __init__(self, coverage: Coverage, facts: GraphFacts) -> None:
        self.coverage, self.facts, self.graph = coverage, facts, facts.graph
        self._origin = [*range(len(facts.graph.values))]
        view, self.fed = coverage.view, dict[int, frozenset[int]]()
        """By node the inputs of the inset that lead to it."""
        for node in view.nodes:
            tails = (edge.tail for edge in view.edges if edge.head == node.id)
            inputs = {link for tail in tails for link in (view.nodes[tail].links or (tail,))}
            self.fed[node.id] = frozenset(link for link in inputs if view.nodes[link].kind == "input")

    def faults(self, calls: Iterable[int]) -> Iterator[Fault]:
        """One for each call that gets two things where the inset has one entrance."""
        own = {op for op, _ in self._read(self.coverage.root)}
        for call in calls:
            heads: dict[int, set[int]] = {}
            for op, value in self._read(call):
                if op in own:  # what the drawn call makes itself has no entrance
                    heads.setdefault(value, set()).update(self.coverage.nodes.get(op, ()))
            for one, other in combinations(heads, 2):
                ways = ((a, b) for a in heads[one] for b in heads[other])
                if any(self.fed[a] == self.fed[b] and len(self.fed[a]) == 1 for a, b in ways):
                    what = " and ".join(self._name(call, value) for value in (one, other))
                    words = f"{what} of {self.graph.calls[call].module} come into the inset as one"
                    yield Fault("sameness", words, (call, self.coverage.root))
                    break

    def _read(self, call: int) -> list[tuple[int, int]]:
        """Ops of the drawn call, and what those at their places in another read of data from outside of it."""
        matched, inside = self.facts.match(call, self.coverage.root).ops, {*self.facts.ops_of([call])}
        given, origin = {*self.graph.calls[call].inputs.values()}, self._origin
        read, moved = list[tuple[int, int]](), list[int]()
        for id_ in sorted(inside):
            op = self.graph.ops[id_]
            if op.inputs and self.facts.is_move(op, origin):
                main = next((v for v in op.inputs if not self.facts.is_side[v]), op.inputs[0])
                moved += op.outputs
                for value in op.outputs:
                    origin[value] = origin[main]
            elif id_ in matched:
                for row in (self.graph.values[origin[value]] for value in self.facts.data_of(op)):
                    is_outside = row.id in given or (row.kind == "op" and row.producer not in inside)
                    if is_outside and not self.facts.is_side[row.id]:
                        read.append((self.coverage.drawn_op(matched[id_]), row.id))
        for value in moved:  # for another call it is what it gets
            origin[value] = value
        return read

    def _name(self, call: int, value: int) -> str:
        paths = (path for path, given in self.graph.calls[call].inputs.items() if given == value)
        return next(paths, f"value {value}")
