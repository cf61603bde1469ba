"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from torchrecorder.drawing.paper.check import faults
from torchrecorder.drawing.paper.page import on_page, page_height
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
_ABOVE_INSETS, _BESIDE_INSETS = 450.0, 1350.0
"""Height of a picture that has insets, in points."""
_MAX_NODES = 300
_SMALL = 1.5
"""How much wider than its room a picture may be: words of 14 px are 9.3 px high then."""


class _Placed(NamedTuple):
    layout: Layout
    faults: tuple[str, ...]
    too_wide: float
    """How much wider it is than a picture whose words can be read where it stands."""

    @property
    def badness(self) -> float:
        return self.too_wide + 100.0 * len(self.faults)


class PaperLayout:
    """One View with its insets, laid out in two steps: what the engine is asked, and the placement from its answers."""

    def __init__(
        self, view: View, *, show: Collection[str] = USUAL, styles: Sequence[Styles | None] = (), width: float = PAGE[0]
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
            views = [(view, ""), *((inset.view, inset.letter) for inset in view.insets)]
            for (one, letter), style in zip_longest(views, styles[: len(views)]):
                self._sheets.append(Sheet(one, show, style, letter))
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
        for sheet in self._sheets:
            sheet.read([*islice(left, len(sheet.dots))])
        best = self._placed()
        while best.badness and self._simplify():
            best = min(best, self._placed(), key=lambda one: one.badness)
        self.reason = "; ".join(best.faults)
        return None if best.faults else best.layout

    def _simplify(self) -> bool:
        simpler = [sheet.simplify() for sheet in self._sheets]  # all of them, not only the first that can
        return any(simpler)

    def _placed(self) -> _Placed:
        """With insets the picture may be in columns above them, or one high column beside them."""
        heights = (_ABOVE_INSETS, _BESIDE_INSETS) if len(self._sheets) > 1 else (PAGE[1],)
        pictures = [self._sheets[0].place(self._width, height) for height in heights]
        insets = [sheet.place(self._width, PAGE[1]) for sheet in self._sheets[1:]]
        right = [inset for inset in insets if inset]
        pages = [on_page(picture, right, self._width) for picture in pictures if picture]
        if len(right) < len(insets) or not pages:
            return _Placed(Layout(0.0, 0.0), ("data cannot come in by the side",), 0.0)
        layout = min(pages, key=lambda page: page_height(page.width, page.height, self._width))
        return _Placed(layout, tuple(faults(layout)), max(layout.width / (_SMALL * self._width) - 1.0, 0.0))
