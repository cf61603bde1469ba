"""One View on its way to a placement: its panels, what the engine is asked about them, and their coordinates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from torchrecorder.errors import EngineError
from torchrecorder.labels.labels import Labels
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import box_title, edge_shapes
from torchrecorder.layout.model import NodeStyle, Styles
from torchrecorder.layout.paper.backs import NoWayBack
from torchrecorder.layout.paper.cards import Card, Cards
from torchrecorder.layout.paper.check import Placement, no_placement, placement
from torchrecorder.layout.paper.columns import Columns
from torchrecorder.layout.paper.compose import Composer
from torchrecorder.layout.paper.figures import Figures
from torchrecorder.layout.paper.lanes import Blocked
from torchrecorder.layout.paper.panels import Panels
from torchrecorder.layout.paper.ranks import CyclicPanel, Ranking
from torchrecorder.layout.paper.ushape import NoWayAcross
from torchrecorder.view import View


class Sheet:
    def __init__(
        self,
        view: View,
        show: Collection[str],
        styles: Styles | None = None,
        letter: str = "",
        *,
        is_sideways: bool = False,
    ) -> None:
        self._view, self._show, self._styles = view, show, styles
        self._letter = letter
        self._is_sideways = is_sideways
        self._is_plain = is_sideways
        """Whether nothing is laid out as a U."""
        self._is_narrow = False
        """Whether words are broken into more lines."""
        self._has_u = False
        self._panels = Panels(view)
        self._ranking = Ranking(self._panels)

    @property
    def dots(self) -> list[str]:
        return self._ranking.dots

    def read(self, answers: Sequence[str | EngineError]) -> None:
        self._ranking.read(answers)

    def best(self, width: float, heights: Sequence[float]) -> list[Placement]:
        """For some heights the best placement in such a width; simpler ways are tried for poor ones."""
        found = self._placements(width, heights)
        while any(it.is_poor for it in found) and self._simplify():
            simpler = self._placements(width, heights)
            if self._is_plain:
                simpler = [it._replace(price=it.price + tuning.GIVEN_UP) for it in simpler]
            found = [min(pair, key=lambda it: it.price) for pair in zip(found, simpler, strict=True)]
        return found

    def narrow(self, width: float, heights: Sequence[float]) -> list[Placement]:
        """The placements with words in more lines; none if that was tried."""
        if self._is_narrow:
            return []
        self._simplify()
        return self._placements(width, heights)

    def _simplify(self) -> bool:
        """Gives up what makes pictures wide or hard to read, a step at a time; whether that changed anything."""
        if not self._is_narrow:
            self._is_narrow = True
            del self._cards
            return True
        if not self._is_plain:
            self._is_plain = True
            if self._has_u:
                return True
        rows = {**self._ranking.rows}
        if (
            not self._ranking.is_stacked
            and self._panels.has_late
            and self._ranking.stack()
            and self._ranking.rows != rows
        ):
            return True
        if not self._panels.has_late:
            return False
        self._panels.all_from_above = True
        return self._ranking.stack()

    def _placements(self, width: float, heights: Sequence[float]) -> list[Placement]:
        found: list[Placement] = []
        plans: list[Columns] = []
        for height in heights:
            columns = Columns(self._panels, self._ranking.rows, self._cards)
            along, across = (width, height) if self._is_sideways else (height, width)
            columns.plan(along, across, with_u=not self._is_plain)
            same = next((i for i, other in enumerate(plans) if other.is_same(columns)), None)
            found.append(self._placed(columns, width) if same is None else found[same])
            plans.append(columns)
        self._has_u = any(columns.shapes for columns in plans)
        return found

    def _placed(self, columns: Columns, width: float) -> Placement:
        rows, cards, words = self._ranking.rows, self._cards, self._shapes
        composer = Composer(
            self._panels,
            rows,
            cards,
            self._titles,
            words,
            columns,
            is_narrow=self._is_narrow,
            is_sideways=self._is_sideways,
        )
        for _ in range(tuning.TRIES):
            try:
                piece = composer.compose(is_inset=bool(self._letter))
            except Blocked as blocked:
                self._panels.not_late.add((blocked.box, blocked.source))
                if not self._ranked_again(blocked.box):
                    break
            except NoWayAcross:  # `_simplify` does without the U
                break
            except NoWayBack:
                return no_placement("something stands in the way back to the next step")
            else:
                figures = Figures(
                    self._view,
                    self._labels,
                    self._styles,
                    words,
                    self._letter,
                    self._panels.ends,
                    is_sideways=self._is_sideways,
                )
                return placement(figures.layout(piece), width, is_sideways=self._is_sideways)
        return no_placement("data cannot come in by the side")

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self._view, show=self._show)

    @cached_property
    def _cards(self) -> dict[int, Card]:
        is_inset = bool(self._letter)
        cards = Cards(
            self._panels,
            self._labels,
            self._styles,
            are_ends_bare=is_inset,
            is_narrow=self._is_narrow,
            is_sideways=self._is_sideways,
        )
        return cards.in_rows(self._ranking.rows)

    @cached_property
    def _shapes(self) -> dict[tuple[int, int], str]:
        return edge_shapes(self._view, self._show) if "shapes" in self._show else {}

    def _ranked_again(self, box: int) -> bool:
        try:
            self._ranking.again_around(box)
        except CyclicPanel:
            return False
        return True

    @cached_property
    def _titles(self) -> list[str]:
        styles = self._styles.boxes if self._styles else [NodeStyle()] * len(self._view.boxes)
        pairs = zip(self._view.boxes, styles, strict=True)
        return [box_title(self._labels, box, style, self._letter) for box, style in pairs]
