"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torchrecorder.drawing.dot import edge_shapes
from torchrecorder.drawing.labels import Labels
from torchrecorder.drawing.paper.cards import Cards
from torchrecorder.drawing.paper.check import faults
from torchrecorder.drawing.paper.columns import Columns
from torchrecorder.drawing.paper.compose import Composer
from torchrecorder.drawing.paper.figures import Figures
from torchrecorder.drawing.paper.lanes import Blocked
from torchrecorder.drawing.paper.panels import Panels
from torchrecorder.drawing.paper.ranks import CyclicPanel, Ranking
from torchrecorder.drawing.styles import Styles
from torchrecorder.drawing.svg.arrange import PARTS
from torchrecorder.drawing.svg.layout import Layout
from torchrecorder.errors import EngineError
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View

__all__ = ["PAGE", "PaperLayout"]

PAGE = 540.0, 675.0
"""Width and height of a page, in points: 720 by 900 CSS pixels."""
MAX_NODES = 300
_TRIES = 20


class PaperLayout:
    """One View, laid out in two steps: what the engine is asked, and the placement from its answers."""

    def __init__(
        self, view: View, *, show: Collection[str] = USUAL, styles: Styles | None = None, width: float = PAGE[0]
    ) -> None:
        self._view, self._show, self._styles, self._width = view, show, styles, width
        self.reason = ""
        """Why there is none."""
        self.dots: list[str] = []
        """What the engine is asked, in one run with everything else."""
        if len(view.nodes) > MAX_NODES or not view.nodes:
            self.reason = f"{len(view.nodes)} nodes"
            return
        self._panels = Panels(view)
        try:
            self._ranking = Ranking(self._panels)
        except CyclicPanel:
            self.reason = "boxes feed each other"
            return
        self.dots = self._ranking.dots

    def place(self, answers: Sequence[str | EngineError]) -> Layout | None:
        """The layout; None, with `reason`, where the layered one is better."""
        if self.reason:
            return None
        self._ranking.read(answers)
        labels = Labels(self._view, show=self._show)
        cards = Cards(self._panels, labels, self._styles)
        by_node = {node.id: cards.of(node) for node in self._view.nodes}
        styled = self._styles.boxes if self._styles else [None] * len(self._view.boxes)
        titles = [
            PARTS.join(filter(None, style.label)) if style and style.label else labels.box(box)
            for box, style in zip(self._view.boxes, styled, strict=True)
        ]
        cuts = Columns(self._panels, self._ranking.rows, by_node).plan(PAGE[1], self._width)
        composer = Composer(self._panels, self._ranking.rows, by_node, titles, cuts)
        for _ in range(_TRIES):
            try:
                piece = composer.compose()
                break
            except Blocked as blocked:
                self._panels.not_late.add((blocked.box, blocked.source))
        else:
            self.reason = "data cannot come in by the side"
            return None
        shapes = edge_shapes(self._view, self._show) if "shapes" in self._show else {}
        layout = Figures(self._view, labels, self._styles, shapes).layout(piece)
        self.reason = "; ".join(faults(layout))
        return None if self.reason else layout
