"""The layout of a figure in a paper.

A straight spine, titles in bands of their own, right-angled skips, towers side by side, columns where a chain is higher
than a page. Graphviz gives ranks and orders; the coordinates are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from torchrecorder.errors import EngineError
from torchrecorder.layout import tuning
from torchrecorder.layout.model import Layout, Styles
from torchrecorder.layout.paper.check import Placement, price, too_many_crossings
from torchrecorder.layout.paper.page import on_page
from torchrecorder.layout.paper.ranks import CyclicPanel
from torchrecorder.layout.paper.sheet import Sheet
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View

_MAX_NODES = 300
_MAX_NESTED = 40
"""Boxes in one another; more leave no room for a page, and the layout goes through them by recursion."""


class _Page(NamedTuple):
    layout: Layout
    faults: Sequence[str]
    price: float


class PaperLayout:
    """The layout of a View with its insets: what the engine is asked, then the placement from its answers."""

    def __init__(
        self,
        view: View,
        *,
        show: Collection[str] = USUAL,
        styles: Sequence[Styles | None] = (),
        width: float = tuning.PAGE[0],
        is_sideways: bool = False,
    ) -> None:
        self._width = width
        self.reason = ""
        """Why there is none."""
        self._sheets: list[Sheet] = []
        n = len(view.nodes) + sum(len(inset.view.nodes) for inset in view.insets)
        if n > _MAX_NODES or not view.nodes:
            self.reason = f"{n} nodes"
            return
        if (nested := _nested(view)) > _MAX_NESTED:
            self.reason = f"{nested} boxes in one another"
            return
        try:
            views = [(view, ""), *((inset.view, inset.letter) for inset in view.insets)]
            for (one, letter), style in zip_longest(views, styles[: len(views)]):
                self._sheets.append(Sheet(one, show, style, letter, is_sideways=is_sideways))
        except CyclicPanel:
            self.reason = "boxes feed each other"

    @property
    def dots(self) -> list[str]:
        """Questions to the engine."""
        return [] if self.reason else [dot for sheet in self._sheets for dot in sheet.dots]

    def place(self, answers: Sequence[str | EngineError]) -> Layout | None:
        """The layout; None, with `reason`, where the layered one is better."""
        if self.reason:
            return None
        left = iter(answers)
        for sheet in self._sheets:
            sheet.read([*islice(left, len(sheet.dots))])
        # with insets the picture may be in columns above them, or one high column beside them
        heights = (tuning.ABOVE_INSETS, tuning.BESIDE_INSETS) if len(self._sheets) > 1 else (tuning.PAGE[1],)
        picture, *others = self._sheets
        pictures = picture.best(self._width, heights)
        insets = [sheet.best(self._width, tuning.PAGE[1:])[0] for sheet in others]
        page = min((self._page(one, insets) for one in pictures), key=lambda page: page.price)
        if page.layout.height > tuning.PAGE[1]:
            pictures += picture.narrow(self._width, heights)
            narrow = [
                (sheet.narrow(self._width, tuning.PAGE[1:]) or [inset])[0]
                for sheet, inset in zip(others, insets, strict=True)
            ]
            pages = [self._page(one, beside) for beside in (insets, narrow) for one in pictures]
            page = min(pages, key=lambda page: page.price)
        self.reason = "; ".join(page.faults)
        return None if page.faults else page.layout

    def _page(self, picture: Placement, insets: Sequence[Placement]) -> _Page:
        all_of_it = [picture, *insets]
        layout = on_page(picture.layout, [inset.layout for inset in insets], self._width)
        wrong = [fault for one in all_of_it for fault in one.faults]
        cost = price(layout, sum(one.crossings for one in all_of_it), wrong, self._width)
        if too_many := too_many_crossings(all_of_it):
            wrong.append(too_many)
        return _Page(layout, wrong, cost)


def _nested(view: View) -> int:
    """Depth of the boxes."""
    levels: dict[int | None, int] = {None: 0}
    for box in view.boxes:  # what is in a box stands behind it
        levels[box.id] = levels[box.parent] + 1
    return max(levels.values())
