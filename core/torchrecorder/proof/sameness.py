"""Whether what is drawn once for several calls is the same in all of them, or says in what it is not."""

from __future__ import annotations

from torchrecorder.proof.facts import Facts
from torchrecorder.proof.fault import Fault
from torchrecorder.view.model import View


class Sameness:
    def __init__(self, view: View, facts: Facts) -> None:
        self.view, self.facts = view, facts

    def faults(self) -> list[Fault]:
        return []
