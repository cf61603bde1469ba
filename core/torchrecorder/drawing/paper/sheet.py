"""One View on its way to a placement: its panels, what the engine is asked about them, and their coordinates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from torchrecorder.drawing.dot import edge_shapes
from torchrecorder.drawing.labels import Labels
from torchrecorder.drawing.paper.cards import Card, Cards
from torchrecorder.drawing.paper.columns import Columns
from torchrecorder.drawing.paper.compose import Composer
from torchrecorder.drawing.paper.figures import Figures
from torchrecorder.drawing.paper.lanes import Blocked
from torchrecorder.drawing.paper.panels import Panels
from torchrecorder.drawing.paper.ranks import CyclicPanel, Ranking
from torchrecorder.drawing.paper.ushape import NoWayAcross
from torchrecorder.drawing.styles import Styles
from torchrecorder.drawing.svg.arrange import PARTS
from torchrecorder.drawing.svg.layout import Layout
from torchrecorder.errors import EngineError
from torchrecorder.view import View

_TRIES = 20
_EN_SPACE = "\N{EN SPACE}"


class Sheet:
    def __init__(self, view: View, show: Collection[str], styles: Styles | None = None, letter: str = "") -> None:
        self._view, self._show, self._styles = view, show, styles
        self._letter = letter
        """Of an inset; empty for the picture that it belongs to."""
        self._is_plain = False
        """Whether nothing is laid out as a U."""
        self._panels = Panels(view)
        self._ranking = Ranking(self._panels)

    @property
    def dots(self) -> list[str]:
        return self._ranking.dots

    def read(self, answers: Sequence[str | EngineError]) -> None:
        """Takes what the engine answered."""
        self._ranking.read(answers)

    def simplify(self) -> bool:
        """Gives up what makes pictures wide or hard to read, a step at a time; whether there was anything left."""
        if not self._is_plain:
            self._is_plain = True
            return True
        if not self._panels.has_late:
            return False
        if self._ranking.is_stacked:
            self._panels.all_from_above = True
        return self._ranking.stack()

    def place(self, width: float, height: float) -> Layout | None:
        """The layout in about so much room; None if data cannot come where it is read."""
        columns = Columns(self._panels, self._ranking.rows, self._cards)
        columns.plan(height, width, with_u=not self._is_plain)
        composer = Composer(self._panels, self._ranking.rows, self._cards, self._titles, columns)
        for _ in range(_TRIES):
            try:
                piece = composer.compose(is_inset=bool(self._letter))
                break
            except Blocked as blocked:
                self._panels.not_late.add((blocked.box, blocked.source))
                if not self._ranked_again(blocked.box):
                    return None
            except NoWayAcross:  # `simplify` does without the U
                return None
        else:
            return None
        return Figures(self._view, self._labels, self._styles, self._shapes, self._letter).layout(piece)

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self._view, show=self._show)

    @cached_property
    def _cards(self) -> dict[int, Card]:
        rows = [[key for key in row if not key.is_port] for panel in self._ranking.rows.values() for row in panel]
        alone = {row[0].id for row in rows if len(row) == 1 and row[0].kind == "node"}
        cards = Cards(self._panels, self._labels, self._styles, alone, are_ends_bare=bool(self._letter))
        return {node.id: cards.of(node) for node in self._view.nodes}

    @cached_property
    def _shapes(self) -> dict[tuple[int, int], str]:
        return edge_shapes(self._view, self._show) if "shapes" in self._show else {}

    def _ranked_again(self, box: int) -> bool:
        """Whether there are rows for a box and what is around it, after less can come in by the side."""
        try:
            self._ranking.again_around(box)
        except CyclicPanel:
            return False
        return True

    @cached_property
    def _titles(self) -> list[str]:
        found = []
        for box in self._view.boxes:
            style = self._styles.boxes[box.id] if self._styles else None
            text = PARTS.join(filter(None, style.label)) if style and style.label else self._labels.box(box)
            if self._letter and box.parent is None:
                name, *rest = text.split(PARTS)
                kind, *facts = rest or [name]  # not the path: it stands for others, too
                text = PARTS.join([f"{self._letter}{_EN_SPACE}{kind}", *facts])
            found.append(text)
        return found
