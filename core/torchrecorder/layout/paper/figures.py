"""From panels with coordinates to a Layout: figures, round lines, titles."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchrecorder.layout import tuning
from torchrecorder.layout.dot import flags
from torchrecorder.layout.geometry import Curve, Point, Rect, part
from torchrecorder.layout.model import PAD, EdgeStyle, Figure, Layout, Line, NodeStyle, Title, Word, title_rect
from torchrecorder.layout.operands import with_operands
from torchrecorder.layout.paper.cards import Card, Said
from torchrecorder.layout.paper.model import Piece, Wire
from torchrecorder.layout.paper.panels import Panels

_EDGE = 2.0  # points: half of a line, and what a stack reaches beyond its node


@dataclass(slots=True)
class _Path:
    source: int
    points: list[Point]
    look: tuple[frozenset[str], EdgeStyle]  # flags, and a styler's changes
    is_end: bool  # whether it ends with an arrow
    begins_at_port: bool
    ends: tuple[int, int]
    word: str = ""
    at: Point | None = None  # the middle of the word, if settled
    part: str = ""


class Figures:
    def __init__(self, panels: Panels, said: Said) -> None:
        self._view, self._ends = panels.view, panels.ends
        self._labels, self._styles, self._shapes, _, self._letter, self._is_sideways = said
        self._nodes: list[tuple[float, Figure]] = []
        self._boxes: dict[int, Figure] = {}
        self._titles: list[Title] = []
        self._paths: list[_Path] = []
        self._said: set[tuple[int, str]] = set()
        self._marks = {(edge.tail, edge.head): edge.mark for edge in self._view.edges}
        self._first = {}
        for node in reversed(self._view.nodes):
            box = node.box
            while box is not None:
                self._first[box] = node.id
                box = self._view.boxes[box].parent

    def layout(self, piece: Piece) -> Layout:
        pending = [(piece, piece.left + PAD, PAD)]
        for inside, left, top in pending:
            for item in inside.items:
                if item.card:
                    self._put_card(item.card, left + item.x, top + item.y + item.card.above, item.key.id)
                elif item.piece:
                    self._put_box(item.piece, left + item.x, top + item.y)
                    pending.append((item.piece, left + item.x, top + item.y))
            for wire in inside.wires:
                self._put_wire(wire, left, top)
        self._nodes.sort(key=lambda pair: pair[0])
        place = {order: i for i, (order, _) in reversed([*enumerate(self._nodes)])}
        ids = sorted(place)

        def position(node: int) -> int:
            return place[next((order for order in ids if order > node - 1), ids[-1])] if ids else 0

        boxes = [self._boxes[box]._replace(before=position(self._first.get(box, 0))) for box in sorted(self._boxes)]
        titles = [title._replace(before=position(title.before)) for title in self._titles]
        lines = [_line(path, self._letter) for path in _joined(self._paths)]
        wide, high = piece.left + piece.right + 2 * PAD + _EDGE, piece.height + 2 * PAD + _EDGE
        layout = Layout(*self._at(wide, high), boxes, [figure for _, figure in self._nodes], lines, titles)
        return with_operands(self._view, self._letter, layout)

    def _at(self, across: float, along: float) -> Point:
        return (along, across) if self._is_sideways else (across, along)

    def _put_card(self, card: Card, x: float, y: float, order: float) -> None:
        if card.is_bare:
            return
        figure = card.figure
        left, top = self._at(x, y)
        words = tuple([word.moved(left, top) for word in figure.words])
        key = f"{self._letter}{card.node}" if card.node >= 0 else ""
        self._nodes.append((order, figure._replace(rect=figure.rect.moved(left, top), words=words, key=key)))
        for i, (beside, (dx, dy)) in enumerate(zip(card.beside, card.places, strict=True)):
            own = float(beside.node) if beside.node >= 0 else order - 0.5 + i / 1000
            self._put_card(beside, x - dx if card.is_to_left else x + dx, y + dy, own)
            # several beside a low node come in one below the other
            reach = 0.0 if card.is_sign else card.body - 4.0
            way, at = -1 if card.is_to_left else 1, max(min(dy, reach), -reach)
            begin, end = x + way * (dx - beside.half), x + way * card.half
            turn = [(end + way * 7.0, y + dy), (end + way * 7.0, y + at)] if dy != at else []
            points = [self._at(*point) for point in ((begin, y + dy), *turn, (end, y + at))]
            ends = beside.shows, card.shows
            look = frozenset(filter(None, (self._marks.get(ends),))), EdgeStyle()
            if beside.named:
                ends, look = self._ends[beside.named.edge], self._look_of(beside.named.edge)
                points = points[::-1] if beside.named.is_tail else points
            self._paths.append(_Path(-1, points, look, True, False, ends))

    def _look_of(self, position: int) -> tuple[frozenset[str], EdgeStyle]:
        edge = self._view.edges[position]
        style = self._styles.edges[position] if self._styles else EdgeStyle()
        return frozenset(filter(None, ("skip" if edge.skip else "", edge.mark))), style

    def _put_box(self, piece: Piece, x: float, y: float) -> None:
        assert piece.box is not None
        box = self._view.boxes[piece.box]
        style = self._styles.boxes[box.id] if self._styles else NodeStyle()
        rect = Rect(*self._at(x - piece.left, y), *self._at(x + piece.right, y + piece.height))
        x, y = self._at(x, y)
        cls = self._labels.cls(box)
        marks = frozenset(flags(self._labels, "box", box, style))
        self._boxes[box.id] = Figure(marks, rect, False, (), cls, style, key=f"{self._letter}b{box.id}")
        for i, (word, long, is_rest) in enumerate(piece.title):
            left, base = x + word.x, y + word.y
            around = title_rect(left, base, word.size, long)
            said = Word(left, base, word.size, word.text)
            link = "" if i else cls  # one link for one box
            before, key = self._first.get(box.id, 0), f"{self._letter}b{box.id}"
            self._titles.append(Title(left, said, around, link, before, style.ink, is_rest, key))

    def _put_wire(self, wire: Wire, x: float, y: float) -> None:
        points = [self._at(px + x, py + y) for px, py in wire.points]
        style = self._styles.edges[wire.edges[0]] if self._styles and wire.edges else EdgeStyle()
        inside = wire.head.piece.late[wire.source] if wire.head.piece and wire.is_late else None
        is_end = wire.is_open or wire.head.card is not None or bool(inside and inside.is_end)
        begins_at_port = wire.tail is not wire.head and (wire.tail.is_port or wire.tail.piece is not None)
        edges = [self._view.edges[position] for position in wire.edges]
        ends = self._ends[wire.edges[0]]
        marks = {edge.mark for edge in edges}
        mark = next(iter(marks)) if len(marks) == 1 else None
        is_back = any(edge.back for edge in edges)
        look = frozenset(filter(None, ("skip" if wire.is_skip else "", "back" if is_back else "", mark)))
        path = _Path(wire.source, points, (look, style), is_end, begins_at_port, ends, wire.word)
        path.at = wire.at and self._at(wire.at[0] + x, wire.at[1] + y)
        if is_end:
            path.part = edges[0].part if len({edge.part for edge in edges}) == 1 else ""
        if wire.head.key.kind == "out" and wire.word:  # its name says what part it is
            path.word, path.part = "", wire.word
        if wire.tail.key.kind != "in" and wire.head.key.kind != "out" and not wire.is_skip:
            words = [self._shapes.get((edge.tail, edge.head), "") for edge in edges[:1]]  # a branch says its own
            word = next(filter(None, words), "")
            if word and (wire.source, word) not in self._said:
                self._said.add((wire.source, word))
                path.word = word
        self._paths.append(path)


def _joined(paths: Sequence[_Path]) -> list[_Path]:
    """Lines that go on from one panel to the next without a break."""
    begins: dict[tuple[int, int, int], list[_Path]] = defaultdict(list)
    for path in paths:
        if path.begins_at_port:
            begins[_place(path.source, path.points[0])].append(path)
    gone: set[int] = set()
    joined = []
    for path in sorted(paths, key=lambda path: path.begins_at_port):
        if id(path) in gone:
            continue
        gone.add(id(path))
        while not path.is_end:
            follows = [
                next_path
                for next_path in begins[_place(path.source, path.points[-1])]
                if id(next_path) not in gone and next_path.look == path.look
            ]
            if not follows:
                break
            gone.add(id(follows[0]))
            path = replace(
                path,
                points=[*path.points, *follows[0].points[1:]],
                is_end=follows[0].is_end,
                ends=(path.ends[0], follows[0].ends[1]),
                word=path.word or follows[0].word,
                part=follows[0].part,
            )
        joined.append(path)
    return joined


def _place(source: int, point: Point) -> tuple[int, int, int]:
    return source, round(point[0] * 10), round(point[1] * 10)


def _line(path: _Path, letter: str) -> Line:
    marks, style = path.look
    points, tip = [*path.points], None
    if path.is_end:
        tip, before = points[-1], points[-2]
        long = math.dist(before, tip)
        points[-1] = part(tip, before, min(tuning.ARROW / long, 0.9) if long else 0.0)
    tail, head = (f"{letter}{end}" for end in path.ends)
    return Line(marks, rounded(points), tip, path.word, style, (tail, head), path.at, part=path.part)


def rounded(points: Sequence[Point]) -> Curve:
    """A way of right angles with round corners, as Bézier segments; a straight one as its two ends."""
    kept = [points[0]]
    for point in points[1:]:
        if math.dist(point, kept[-1]) > 0.3:
            kept.append(point)
    i = 1
    while i < len(kept) - 1:
        (ax, ay), (bx, by), (cx, cy) = kept[i - 1 : i + 2]
        if abs((bx - ax) * (cy - by) - (by - ay) * (cx - bx)) < 0.3:
            del kept[i]
        else:
            i += 1
    if len(kept) < 3:
        return [kept[0], kept[-1]] if len(kept) == 2 else [kept[0], kept[0]]
    curve, at = [kept[0]], kept[0]
    for i in range(1, len(kept) - 1):
        corner, after = kept[i], kept[i + 1]
        before, long = math.dist(at, corner), math.dist(corner, after)
        radius = min(tuning.RADIUS, before, long / (2 if i < len(kept) - 2 else 1))
        start, end = part(corner, at, radius / before if before else 0.0), part(corner, after, radius / long)
        if math.dist(at, start) > 0.05:
            curve += _straight(at, start)
        curve += [part(start, corner, tuning.ROUNDNESS), part(end, corner, tuning.ROUNDNESS), end]
        at = end
    return curve + _straight(at, kept[-1]) if math.dist(at, kept[-1]) > 0.05 else curve


def _straight(start: Point, end: Point) -> list[Point]:
    return [part(start, end, 1 / 3), part(start, end, 2 / 3), end]
