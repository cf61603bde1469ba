"""What placing works on: items in rows, wires between them, and finished insides of boxes.

Coordinates grow to the right and in the direction in which data flows. A thing is at its spine, the line on which its
stream enters and leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.geometry import Point
from torchrecorder.layout.model import Word
from torchrecorder.layout.operands import is_sided
from torchrecorder.layout.paper.cards import Card
from torchrecorder.layout.paper.panels import Key

LEFT, RIGHT = -1, 1  # factors of what grows to the right


class Side(NamedTuple):
    """The end of a line that comes in beside the stream."""

    ends: dict[int, float]  # its place across, by the sides it may come from
    y: float
    is_end: bool = True  # whether it ends at a node; else it goes on to several


@dataclass(slots=True, eq=False)
class RowItem:
    """A node, a box or a port in a row."""

    key: Key
    left: float = 0.0
    right: float = 0.0  # how far it reaches from its spine
    height: float = 0.0
    order: int = 0
    weight: float = 0.1  # number of nodes in it
    card: Card | None = None
    piece: Piece | None = None
    x: float = 0.0
    y: float = 0.0
    row: int = 0
    last: int = 0  # the row that it ends in; a high one beside the spine takes several
    hooks: int = 0  # how much room a line back has that begins or ends there; 0 without
    exits: dict[int, float] = field(default_factory=dict)  # of a node, where its outputs leave it
    word: float = 0.0  # room along the flow for words at a line to what reads it; 0 without
    said: float = 0.0  # the same at a line that comes to it

    @property
    def is_port(self) -> bool:
        return self.key.is_port

    @property
    def is_sign(self) -> bool:
        return self.card is not None and self.card.is_sign

    @property
    def is_sided(self) -> bool:
        """Whether it is a sign whose operands are not the same in another order."""
        return self.card is not None and is_sided(self.card.figure)

    @property
    def middle(self) -> float:
        """Middle of the node itself, from the top of its room."""
        return self.card.above if self.card else self.height / 2

    @property
    def half(self) -> float:
        return self.card.half if self.card else self.left

    @property
    def sides(self) -> tuple[int, ...]:
        """The sides from which a line can come."""
        if self.card and self.card.beside:
            return (RIGHT,) if self.card.is_to_left else (LEFT,)
        return LEFT, RIGHT

    def entry(self, source: int) -> float:
        return self.piece.entries.get(source, 0.0) if self.piece else 0.0

    def exit(self, source: int) -> float:
        return (self.piece.exits if self.piece else self.exits).get(source, 0.0)

    def leave(self, given: Sequence[int], order: Sequence[int] = ()) -> None:
        """Sets where outputs leave a node: the first in the middle, others in an order or in turn beside it."""
        order = order or [*given[1::2][::-1], *given[::2]]
        middle = order.index(given[0]) if given else 0
        room = self.half - (tuning.LEAST_FAN if self.is_sign else tuning.LINE_INSET)
        step = min(tuning.FAN, room / max(1, middle, len(order) - 1 - middle))
        self.exits = {source: step * (order.index(source) - middle) for source in given}

    @property
    def top(self) -> float:
        """End of a line from above, from the top of its room."""
        return self.card.above - self.card.body if self.card else 0.0

    @property
    def bottom(self) -> float:
        """Start of a line downwards."""
        return self.card.above + self.card.body if self.card else self.height


@dataclass(slots=True, eq=False)
class Wire:
    """The way of data in a panel.

    It leads down from the tail, along a track in the gap, down a lane, perhaps along another track, and into the head.
    """

    tail: RowItem
    head: RowItem
    source: int
    edges: list[int]
    is_skip: bool
    is_late: bool = False
    side: int = 0  # the side of the head at which it ends; 0 at the top
    start: float = 0.0
    end: float = 0.0
    lane: float = 0.0
    leaving: int | None = None
    arriving: int | None = None  # positions of its tracks in the gap below the tail and in that above the head
    shift: float = 0.0  # distance of its end from the middle of the side
    argument: float = 0.5  # its place among the arguments of what reads it, from 0 to 1
    is_open: bool = False  # whether it ends at the border of an inset
    word: str = ""
    at: Point | None = None  # the middle of the word, if settled
    points: list[Point] = field(default_factory=list)

    @property
    def due(self) -> int:
        """The side from which a reader expects it, as an operand of a sign; 0 for any."""
        is_any = not self.head.is_sided or self.argument == 0.5
        return 0 if is_any else LEFT if self.argument < 0.5 else RIGHT

    @property
    def leaves_early(self) -> bool:
        """Whether it passes rows on its way out of the box."""
        return self.head.key.kind == "out" and self.head.row - self.tail.last > 1


@dataclass(slots=True, eq=False)
class Piece:
    """A panel with coordinates; 0 across is the spine, 0 along its beginning."""

    box: int | None
    left: float
    right: float
    height: float
    items: list[RowItem]
    wires: list[Wire]
    entries: dict[int, float]
    exits: dict[int, float]
    late: dict[int, Side]
    band: float = 0.0  # height of the band of its title
    early: dict[int, tuple[float, float]] = field(default_factory=dict)  # places where data leaves by the side
    title: list[tuple[Word, float, bool]] = field(default_factory=list)
    """Words, each with its width, and whether it continues the one before."""
