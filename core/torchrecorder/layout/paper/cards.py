"""A node as it stands in a row: how large it is, its words, and what is drawn beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from torchrecorder.labels.labels import Labels
from torchrecorder.labels.op_words import Label
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import flags
from torchrecorder.layout.geometry import Rect
from torchrecorder.layout.model import BASE, LINE_HEIGHT, PARTS, Figure, NodeStyle, Styles, Word, words_around
from torchrecorder.layout.paper.breaks import in_facts, in_lines
from torchrecorder.layout.paper.panels import Key, NamedEnd, Panels
from torchrecorder.layout.paper.ranks import Rows
from torchrecorder.layout.widths import width
from torchrecorder.view import Node
from torchrecorder.view.node_kinds import Kind

FROM, TO = "from ", "to "
"""Before the names at the ends of a line that is drawn in two parts."""
_LIGHT = ("norm", "act", "pool", "op")  # kinds that say all in one line


@dataclass(slots=True)
class Card:
    figure: Figure  # around 0, 0
    beside: list[Card] = field(default_factory=list)  # to its right, from top to bottom
    places: list[tuple[float, float]] = field(default_factory=list)  # their middles
    node: int = -1  # its node; -1 for the name of one that is drawn elsewhere
    shows: int = -1  # the node that it names
    named: NamedEnd | None = None  # the end of a line that it is at, if the line has a name at its other end too
    is_to_left: bool = False  # whether `beside` is at its left
    is_bare: bool = False  # whether only a line is seen that begins or ends there
    is_sideways: bool = False  # whether data flows to the right

    @property
    def is_sign(self) -> bool:
        return self.figure.is_round

    @property
    def half(self) -> float:
        """Half of the node itself, across the flow."""
        return self.figure.rect.bottom if self.is_sideways else self.figure.rect.right

    @property
    def body(self) -> float:
        """Half of it along the flow."""
        return self.figure.rect.right if self.is_sideways else self.figure.rect.bottom

    @property
    def right(self) -> float:
        stack = tuning.STACK if "repeat" in self.figure.flags else 0.0
        beside = [x + card.half for card, (x, _) in zip(self.beside, self.places, strict=True)]
        return max([self.half + stack, *beside])

    @property
    def above(self) -> float:
        return max([self.body, *(card.body - y for card, (_, y) in zip(self.beside, self.places, strict=True))])

    @property
    def below(self) -> float:
        stack = tuning.STACK if "repeat" in self.figure.flags else 0.0
        beside = [y + card.body for card, (_, y) in zip(self.beside, self.places, strict=True)]
        return max([self.body + stack, *beside])


class Said(NamedTuple):
    """What a picture says of its View, and how: the same in all of its parts."""

    labels: Labels
    styles: Styles | None
    shapes: Mapping[tuple[int, int], str]  # words at lines, by their ends
    titles: Sequence[str]  # of boxes
    letter: str  # of an inset
    is_sideways: bool  # whether data flows to the right


class Cards:
    def __init__(self, panels: Panels, said: Said, *, is_narrow: bool, text: Callable[[Node], float | None]) -> None:
        self._text = text  # how long a line of a node may be, if it has as many as that asks for
        self._panels, self._view = panels, panels.view
        self._labels, self._styles, self._shapes, is_sideways = said.labels, said.styles, said.shapes, said.is_sideways
        flows = (panels.ends.get(i, (edge.tail, edge.head)) for i, edge in enumerate(self._view.edges))
        self._parts = {ends: edge.part for ends, edge in zip(flows, self._view.edges, strict=True) if edge.part}
        self._is_narrow, self._is_sideways = is_narrow or is_sideways, is_sideways
        self._long = tuning.SIDEWAYS_LINES if is_sideways else tuning.NARROW_LINES if is_narrow else tuning.USUAL_LINES

    def in_rows(self, rows: Mapping[int | None, Rows]) -> dict[int, Card]:
        """The cards of all nodes; a single one of a row says all in one line, if that makes no row wider."""
        cards: dict[int, Card] = {}
        wide: dict[Key, float] = {}
        for box in (*(box.id for box in reversed(self._view.boxes)), None):  # a parent has a smaller id
            own = [[key for key in row if not key.is_port] for row in rows[box]]
            alone = [row[0] for row in own if len(row) == 1 and row[0].kind == "node"]
            shared = [row for row in own if row and row[0] not in alone]
            for key in (key for row in shared for key in row if key.kind == "node"):
                cards[key.id] = card = self._of(self._view.nodes[key.id])
                wide[key] = card.half + card.right
            widest = max((sum(wide[key] + tuning.APART for key in row) - tuning.APART for row in shared), default=0.0)
            for key in alone:
                room = self._long[0] if self._is_narrow else max(widest - 2 * tuning.CARD_MARGIN, self._long[0])
                cards[key.id] = card = self._of(self._view.nodes[key.id], room)
                widest = max(widest, card.half + card.right)
            if box is not None:
                wide[Key("box", box)] = widest + tuning.BOX_WIDE
        return cards

    def _of(self, node: Node, one_line: float = 0.0) -> Card:
        card = self._card(node, one_line)
        for giver in self._panels.beside.get(node.id, ()):
            part, is_only_here = self._parts.get((giver, node.id), ""), giver in self._panels.single
            own = self._card(self._view.nodes[giver], part=part) if is_only_here else self._tag(giver, said=part)
            card.beside.append(own)
        for end in sorted(self._panels.named.get(node.id, ()), key=lambda end: end.is_tail):
            edge = self._view.edges[end.edge]
            shape = self._shapes.get((edge.tail, edge.head), "") if end.is_tail and not edge.skip else ""
            said = shape if end.is_tail else edge.part
            card.beside.append(replace(self._tag(end.other, TO if end.is_tail else FROM, said), named=end))
        top = -(sum(2 * other.body for other in card.beside) + tuning.BETWEEN_BESIDE * (len(card.beside) - 1)) / 2
        for other in card.beside:
            card.places.append((card.half + tuning.BESIDE + other.half, top + other.body))
            top += 2 * other.body + tuning.BETWEEN_BESIDE
        return card

    def _card(self, node: Node, one_line: float = 0.0, part: str = "") -> Card:
        if node.id in self._panels.bare:
            return Card(Figure(frozenset(), Rect(0.0, 0.0, 0.0, 0.0), False, ()), is_bare=True)
        style = self._styles.nodes[node.id] if self._styles else NodeStyle()
        label = self._label(node)
        label = label._replace(name=PARTS.join((label.name, part))) if part else label
        if number := self._tags.get(node.id, ("", ""))[1]:
            label = label._replace(name=f"{label.name}{number}", is_sign=False)
        kind = self._labels.kind(node)
        marks = frozenset(flags(self._labels, kind, node, style))
        if label.is_sign:
            words: tuple[Word, ...] = (Word(0.0, tuning.SIZE * BASE, tuning.SIZE, label.name),)
            figure = Figure(marks, Rect.centred(0.0, 0.0, tuning.SIGN, tuning.SIGN), True, words, style=style)
            return self._shown(figure, node)
        one_line = max(one_line, self._long[0] if kind in _LIGHT else 0.0)
        text = self._text(node)
        most, one_line = (self._long[1], one_line) if text is None else (text, min(one_line, text))
        wide, high, words = _written(label, kind, one_line, most, in_lines=text is not None)
        rect = Rect.centred(0.0, 0.0, wide, high)
        figure = Figure(marks, rect, False, words, self._labels.reference(node), style)
        return self._shown(figure, node)

    def _shown(self, figure: Figure, node: Node) -> Card:
        return Card(figure, node=node.id, shows=node.id, is_sideways=self._is_sideways)

    def _tag(self, node: int, word: str = "", said: str = "") -> Card:
        """The name of a node beside another, with what its line carries."""
        lines = in_lines(word + "".join(self._tags[node]), tuning.END_WIDE if word else tuning.TAG_WIDE, tuning.SMALL)
        lines[-1] += PARTS + said if said else ""
        wide = max(width(line, tuning.SMALL, bold=True) for line in lines) + 2 * 5.0
        words = words_around(0.0, 0.0, tuning.SMALL, lines)
        rect = Rect.centred(0.0, 0.0, wide, tuning.SMALL * (1.4 + LINE_HEIGHT * (len(lines) - 1)))
        return replace(self._shown(Figure(frozenset(("data",)), rect, False, words), self._view.nodes[node]), node=-1)

    def _label(self, node: Node) -> Label:
        style = self._styles.nodes[node.id] if self._styles else NodeStyle()
        return Label(*style.label) if style.label else self._labels.node(node)

    @cached_property
    def _tags(self) -> dict[int, tuple[str, str]]:
        """Name and number of what is named beside others: a number if others have that name."""
        ends = self._panels.named
        names: dict[int, str] = {}
        for node in sorted({*self._panels.hubs, *ends}):
            name = self._label(self._view.nodes[node]).name
            names[node] = name if node in ends else name.removeprefix("… ")  # `15 more steps`
        alike = {name: [node for node, other in names.items() if other == name] for name in names.values()}
        taken = Counter(names.values())
        # a reader looks for the other end of a line in all of the picture, where lines leave, or where they arrive
        far = [end for of in ends.values() for end in of]
        sought = {(names[end.other], end.is_tail) for end in far} | {(names[node], False) for node in self._panels.hubs}
        for end, is_head in {(end, i > 0) for edge in self._view.edges for i, end in enumerate((edge.tail, edge.head))}:
            name = self._label(self._view.nodes[end]).name
            taken[name] += end not in names and (name, is_head) in sought
        numbers = {node: f" #{i}" for name, own in alike.items() if taken[name] > 1 for i, node in enumerate(own, 1)}
        return {node: (name, numbers.get(node, "")) for node, name in names.items()}


def _written(
    label: Label, kind: Kind, one_line: float, most: float, *, in_lines: bool
) -> tuple[float, float, tuple[Word, ...]]:
    is_small = kind in ("data", "link")
    size = tuning.SMALL if is_small else tuning.SIZE
    bold, line, dot = width(label.name, size, bold=True), width(label.line, size), width(PARTS, size)
    is_one = bool(label.line) and bold + dot + line < one_line
    rest_lines, parts = [label.line], label.line.split(PARTS)
    if in_lines:
        first, *more = in_facts(label.name, most, size) if bold > most else [label.name]
        label, bold = label._replace(name=first), width(first, size, bold=True)
        rest_lines = [*more, *in_facts(label.line, most, size)]
    elif line > most:  # in two of about the same length, a formula as well
        between = PARTS if len(parts) > 1 else " "
        parts = label.line.split(between)
        halves = [(between.join(parts[:k]), between.join(parts[k:])) for k in range(1, len(parts))]
        rest_lines = [*min(halves, key=lambda pair: max(width(text, size) for text in pair), default=rest_lines)]
    lines = [text for text in (label.name, *rest_lines) if text]
    high = size * LINE_HEIGHT * (1 if is_one else max(len(lines), 1))
    high = high + 4.5 if is_small else max(tuning.LEAST_HIGH, high + 6.6)
    inner = bold + dot + line if is_one else max(bold, *(width(text, size) for text in lines[1:]), 0.0)
    wide = inner + 2 * 7.0 if is_small else max(tuning.LEAST_WIDE, inner + 2 * tuning.CARD_MARGIN)
    if is_one:
        left, base = -inner / 2, size * BASE
        said = PARTS.lstrip() + label.line  # without the space, which stands between the two words
        rest = Word(left + bold + dot + line - width(said, size) / 2, base, size, said)
        return wide, high, (Word(left + bold / 2, base, size, label.name), rest)
    return wide, high, words_around(0.0, 0.0, size, lines)
