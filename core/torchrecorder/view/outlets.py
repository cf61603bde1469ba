"""Which of the layers that are drawn once for many give data to what stands outside of them.

Of a stack, a reader expects the last layer to give what comes out. Where others do too, the stack says so, and an
output says which layer it comes from.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from torchrecorder.view.model import Box
from torchrecorder.view.reads import Reads


class Outlets:
    def __init__(self, reads: Reads) -> None:
        self.plan, self.graph, self.reads = reads.plan, reads.graph, reads
        self._given: defaultdict[int, set[int]] = defaultdict(set)
        """By run the turns that something outside of it reads."""

    def note(self, value: int, reader: int | None) -> None:
        """A value is read in a call, or given back."""
        inside = self._turns(reader) if reader is not None else {}
        for run, turn in self._made_in(value).items():
            if run not in inside:
                self._given[run].add(turn)

    def series(self, value: int) -> tuple[int, int] | None:
        """The series that gives data of several turns, and the turn that the value comes from."""
        for run, turn in self._made_in(value).items():
            if self._is_told(run):
                return run, turn
        return None

    def giver(self, run: int, turn: int) -> str:
        """The path of the layer."""
        thing = self.plan.things[run]
        period = thing.period if isinstance(thing, Box) else 1
        return self.graph.calls[thing.calls[turn * period + period - 1]].module

    def mark(self) -> None:
        """Says at each stack which of its layers give data."""
        for run, turns in self._given.items():
            if not self._is_told(run):
                continue
            thing = self.plan.things[run]
            names = [self.giver(run, turn).rpartition(".")[2] for turn in sorted(turns)]
            which = f"outputs {', '.join(names)}" if all(name.isdigit() for name in names) else f"{len(turns)} outputs"
            marked = replace(thing, differs=(*thing.differs, f"outputs ×{thing.repeat}" if self._all(run) else which))
            if isinstance(marked, Box):
                self.plan.boxes[thing.id] = marked
            else:
                self.plan.nodes[thing.id] = marked

    def _is_told(self, run: int) -> bool:
        thing, turns = self.plan.things[run], self._given[run]
        return thing.repetition == "series" and not turns <= {thing.repeat - 1}

    def _all(self, run: int) -> bool:
        return len(self._given[run]) == self.plan.things[run].repeat

    def _made_in(self, value: int) -> dict[int, int]:
        producer = self.graph.values[self.reads.origin[value]].producer
        return {} if producer is None else self._turns(self.graph.ops[producer].call)

    def _turns(self, call: int) -> dict[int, int]:
        found: dict[int, int] = {}
        at: int | None = call
        while at is not None:
            found = self.plan.turns.get(at, {}) | found
            at = self.graph.calls[at].parent
        return found
