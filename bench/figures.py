"""What every benchmark gives: figures beside their goals. One that is run by `nox -s bench` hands them over, too."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HANDED_OVER = "TORCHRECORDER_FIGURES"
"""The variable that names the file to which figures are added, a line of JSON each."""


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    reached: float
    unit: str = ""
    goal: float | None = None
    """Not to be exceeded."""
    curve: str = ""
    """The curve that the figure is a point of, if it is of one."""
    at: float = 0
    """Where on it: how many there were."""

    @property
    def is_met(self) -> bool:
        return self.goal is None or self.reached <= self.goal

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        goal = "" if self.goal is None else f"(goal {number(self.goal)}{'' if self.is_met else ', missed'})"
        return f"{self.what:66} {number(self.reached) + unit:>14}  {goal}".rstrip()


def number(value: float) -> str:
    """Three digits that say something, or all of a whole number."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show(figures: Iterable[Figure | str]) -> None:
    """Print figures as they come, and hand them over if they are asked for; texts are remarks."""
    for figure in figures:
        print(figure, flush=True)
        if isinstance(figure, Figure):
            hand_over(figure)


def hand_over(figure: Figure) -> None:
    """Add a figure to the file of those of all benchmarks, if there is one."""
    if asked := os.environ.get(HANDED_OVER):
        row = {"benchmark": Path(sys.argv[0]).stem, **asdict(figure)}
        with Path(asked).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
