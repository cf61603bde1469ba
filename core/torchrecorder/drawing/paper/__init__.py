"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from torchrecorder.drawing.paper.check import faults
from torchrecorder.drawing.paper.page import on_page
from torchrecorder.drawing.paper.ranks import CyclicPanel
from torchrecorder.drawing.paper.sheet import Sheet
from torchrecorder.drawing.styles import Styles
from torchrecorder.drawing.svg.layout import Layout
from torchrecorder.errors import EngineError
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View

__all__ = ["PAGE", "PaperLayout"]

PAGE = 540.0, 675.0
"""Width and height of a page, in points: 720 by 900 CSS pixels."""
_BESIDE_INSETS = 450.0
"""Height of a picture that has insets below it."""
_MAX_NODES = 300


class PaperLayout:
    """One View with its insets, laid out in two steps: what the engine is asked, and the placement from its answers."""

    def __init__(
        self, view: View, *, show: Collection[str] = USUAL, styles: Styles | None = None, width: float = PAGE[0]
    ) -> None:
        self._width = width
        self.reason = ""
        """Why there is none."""
        self._sheets: list[Sheet] = []
        n = len(view.nodes) + sum(len(inset.view.nodes) for inset in view.insets)
        if n > _MAX_NODES or not view.nodes:
            self.reason = f"{n} nodes"
            return
        try:
            self._sheets.append(Sheet(view, show, styles))
            self._sheets += [Sheet(inset.view, show, letter=inset.letter) for inset in view.insets]
        except CyclicPanel:
            self.reason = "boxes feed each other"

    @property
    def dots(self) -> list[str]:
        """What the engine is asked, in one run with everything else."""
        return [] if self.reason else [dot for sheet in self._sheets for dot in sheet.dots]

    def place(self, answers: Sequence[str | EngineError]) -> Layout | None:
        """The layout; None, with `reason`, where the layered one is better."""
        if self.reason:
            return None
        left = iter(answers)
        placed = [*self._placed(left)]
        if None in placed:
            self.reason = "data cannot come in by the side"
            return None
        picture, *insets = [layout for layout in placed if layout]
        layout = on_page(picture, insets, self._width)
        self.reason = "; ".join(faults(layout))
        return None if self.reason else layout

    def _placed(self, answers: Iterator[str | EngineError]) -> Iterator[Layout | None]:
        for i, sheet in enumerate(self._sheets):
            height = _BESIDE_INSETS if len(self._sheets) > 1 and not i else PAGE[1]
            yield sheet.place([*islice(answers, len(sheet.dots))], self._width, height)
