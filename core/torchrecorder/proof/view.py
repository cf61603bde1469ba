"""The proof of Views: coverage, what is not drawn, flow, counts and sameness, in this order."""

from __future__ import annotations

from torchrecorder.graph.model import Graph
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault, GraphFacts
from torchrecorder.proof.flow import FlowProof
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view.model import View


def faults(view: View) -> tuple[Fault, ...]:
    """What a View, with its insets, says of its Graph that is not so; none if it is proved."""
    return Prover(view.graph).faults(view)


class Prover:
    """Proves Views of one Graph."""

    def __init__(self, graph: Graph) -> None:
        self._facts = GraphFacts(graph)

    def faults(self, view: View) -> tuple[Fault, ...]:
        """What a View, with its insets, says of the Graph that is not so; none if it is proved."""
        faults: list[Fault] = []
        coverages = [Coverage(shown, self._facts) for shown in (view, *(inset.view for inset in view.insets))]
        for coverage in coverages:
            faults += FlowProof(coverage).faults()
            faults += coverage.faults
        faults += Sameness(view, self._facts, coverages).faults()
        return tuple(dict.fromkeys(faults))
