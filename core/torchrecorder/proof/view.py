"""The proof of one View: coverage, what is not drawn, flow, and counts, in this order."""

from __future__ import annotations

from collections.abc import Iterator

from torchrecorder.graph.model import Graph
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Facts
from torchrecorder.proof.fault import Fault
from torchrecorder.proof.flow import Flow
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view.model import View


def faults(view: View) -> tuple[Fault, ...]:
    """What a View, with its insets, says of its Graph that is not so; none if it is proved."""
    return Prover(view.graph).faults(view)


class Prover:
    """Proves Views of one Graph."""

    def __init__(self, graph: Graph) -> None:
        self._facts = Facts(graph)

    def faults(self, view: View) -> tuple[Fault, ...]:
        """What a View, with its insets, says of the Graph that is not so; none if it is proved."""
        found = [*self._of_one(view)]
        for inset in view.insets:
            found += self._of_one(inset.view)
        found += Sameness(view, self._facts).faults()
        return tuple(dict.fromkeys(found))

    def _of_one(self, view: View) -> Iterator[Fault]:
        coverage = Coverage(view, self._facts)
        flow = Flow(coverage)
        yield from flow.faults()
        yield from coverage.faults
