"""Panels with coordinates, from the inside out: strips side by side, a border, and a title in a band of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.backs import lead_back
from torchrecorder.layout.paper.cards import Said
from torchrecorder.layout.paper.columns import Columns
from torchrecorder.layout.paper.exchange import Orders, least_crossed
from torchrecorder.layout.paper.heights import stages_apart
from torchrecorder.layout.paper.ladder import UP, Ladder
from torchrecorder.layout.paper.model import LEFT, RIGHT, Piece, RowItem, Wire
from torchrecorder.layout.paper.panels import Key, Panel, Panels, Segment
from torchrecorder.layout.paper.ranks import Rows
from torchrecorder.layout.paper.rungs import Rungs
from torchrecorder.layout.paper.strips import Strip
from torchrecorder.layout.paper.titles import set_title, set_title_beside
from torchrecorder.layout.paper.towers import Towers, room_in
from torchrecorder.layout.widths import width

_AT_TOP = 0.01  # points: rounding


class Composer:
    def __init__(
        self,
        panels: Panels,
        said: Said,
        columns: Columns,
        orders: Orders,
        *,
        width: float,
        is_narrow: bool,
        towers: Towers | None,
    ) -> None:
        self._width, self._towers = width, towers
        self.hooks = 1  # how much room there is for lines back
        self._panels, self._rows, self._cards, self._orders = panels, columns.rows, columns.cards, orders
        self._words, self._titles = said.shapes, said.titles
        self._is_narrow, self._is_sideways = is_narrow, said.is_sideways
        self._band = 0.0 if self._is_sideways else tuning.BAND  # room for a title along the flow
        self._cuts, self._shapes = columns.cuts, columns.shapes
        self._turned = {box for shape in columns.shapes.values() for box in shape.turned}
        self._early: dict[int | None, set[int]] = defaultdict(set)
        self._apart: dict[int | None, dict[tuple[int, int], float]] = {}
        self._lifted: int | None = None  # a box whose data leaves at the top
        self._to_left: set[int] = set()  # nodes with a line that leaves at the right
        for shape in columns.shapes.values():
            for tail, _, source in shape.bridges:
                self._to_left.add(source if tail.kind == "box" else tail.id)
            for box, source in shape.early:
                self._early[box].add(source)

    def compose(self, *, is_inset: bool) -> Piece:
        pieces: dict[int, Piece] = {}
        frame = self._frame() if is_inset else None
        self._lifted = None if is_inset else self._only_u()
        for shape in self._shapes.values():
            if shape.necks:
                nodes = [key for rail in shape.rails for key in rail.keys if key.kind == "node"]
                apart = stages_apart(shape, {key: self._item(key, {}) for key in nodes})
                self._apart |= dict.fromkeys(shape.necks, apart)
        for box in reversed(self._panels.view.boxes):  # a parent has a smaller id
            pieces[box.id] = self._fitted(box.id, pieces, is_frame=box.id == frame)
        if frame is None:
            return self._fitted(None, pieces)
        piece = pieces[frame]
        self._open_ends(piece)
        item = self._item(Key("box", frame), pieces)
        return Piece(None, piece.left, piece.right, piece.height, [item], [], {}, {}, {})

    def _frame(self) -> int | None:
        """The box of an inset, if there is nothing around it but what it gets and gives."""
        nodes = self._panels.view.nodes
        keys = self._panels.by_box[None].keys
        boxes = [key.id for key in keys if key.kind == "box"]
        are_ends = all(nodes[key.id].kind in ("input", "output") for key in keys if key.kind == "node")
        are_ends &= all("box" in (part.tail.kind, part.head.kind) for part in self._panels.by_box[None].segments)
        are_ends &= all(nodes[n].box is not None for n in self._panels.hubs)
        return boxes[0] if len(boxes) == 1 and are_ends else None

    def _only_u(self) -> int | None:
        """The box of a U, if there is nothing around it but an input and an output."""
        rows, around = self._rows[None], self._panels.by_box[None].segments
        if [[key.kind for key in row] for row in rows] != [["node"], ["box"], ["node"]]:
            return None
        (entered,), (box,), (left,) = rows
        is_chain = sorted((part.tail, part.head) for part in around) == sorted([(entered, box), (box, left)])
        shape = self._shapes.get(box.id)
        if shape is None or not is_chain or self._cuts[None]:
            return None
        ends = [rail.keys[-1] for rail in shape.rails if rail.way == UP]
        gives = [part.tail for part in self._panels.by_box[box.id].segments if part.head.kind == "out"]
        return box.id if {*ends} & {*gives} else None

    def _open_ends(self, piece: Piece) -> None:
        """Lets lines begin and end inside the border of an inset, with names if they are several."""
        nodes = self._panels.view.nodes
        n = len({*piece.entries, *piece.late})
        named, ends = {-1}, {*piece.items}  # without the ports of columns
        given = [
            edge for wire in piece.wires if wire.head.key.kind == "out" and wire.head in ends for edge in wire.edges
        ]
        is_said = len(piece.exits) > 1 or any(self._panels.view.edges[edge].part for edge in given)
        piece.height += tuning.SMALL if is_said else 0.0
        for wire in piece.wires:
            if wire.tail.key.kind == "in" and wire.tail in ends and not wire.is_late:
                wire.points[0] = (wire.points[0][0], piece.band + tuning.OFF_TITLE)
                wire.word = nodes[wire.source].name if n > 1 and wire.source not in named else ""
                named.add(wire.source)
            if wire.head.key.kind == "out" and wire.head in ends:
                wire.is_open = True
                wire.points[-1] = (wire.points[-1][0], piece.height - 2.0)
                wire.word = self._exit_name(wire.edges) if len(piece.exits) > 1 else ""
        segments = self._panels.by_box[None].segments
        around = {segment.source: segment.edges for segment in segments if segment.head.kind == "box"}
        for source, side in piece.late.items():
            way = LEFT if LEFT in side.ends else RIGHT
            border = -piece.left if way == LEFT else piece.right
            port = RowItem(Key("in", source))
            wire = Wire(port, port, source, around[source], is_skip=False, is_open=side.is_end)
            wire.points = [(border, side.y), (side.ends[way], side.y)]
            wire.word = nodes[source].name if n > 1 and source >= 0 else ""
            piece.wires.append(wire)

    def _exit_name(self, edges: Sequence[int]) -> str:
        """What leaves an inset by one line."""
        heads = [*dict.fromkeys(self._panels.view.nodes[self._panels.view.edges[edge].head].name for edge in edges)]
        heads = [f"output {name}" if name[:1].isdigit() else name for name in heads]
        return ", ".join(heads if len(heads) < tuning.NAMED else [heads[0], "…", heads[-1]])

    def _make_room_for_names(self, panel: Panel, items: Mapping[Key, RowItem]) -> None:
        """Sets lines that leave an inset so far apart that their names stand between them."""
        leaving = {part.head: part.edges for part in panel.segments if part.head.kind == "out"}
        for key, edges in leaving.items() if len(leaving) > 1 else ():
            items[key].right = width(self._exit_name(edges), tuning.SMALL)

    def _named_entries(self, panel: Panel) -> bool:
        """Whether what comes into an inset is named there, since it is several things."""
        return sum(key.kind == "in" for key in panel.keys) > 1

    def _make_room_beside(self, piece: Piece) -> None:
        """Makes an inset so wide that the names of what comes in by the side stand at their lines."""
        panel = self._panels.by_box[piece.box]
        for source, side in piece.late.items() if self._named_entries(panel) else ():
            name = self._panels.view.nodes[source].name if source >= 0 else ""
            long = width(name, tuning.SMALL) + tuning.ARROW + 2 * tuning.WORD_FROM_LINE if name else 0.0
            way = LEFT if LEFT in side.ends else RIGHT
            parts = (part for wire in piece.wires if wire.source != source for part in pairwise(wire.points))
            passed = [way * x for (x, y), (_, to) in parts if min(y, to) < side.y < max(y, to)]
            begins = sorted([way * side.ends[way], *(x for x in passed if x > way * side.ends[way])])
            beyond = long + (begins[-1] if all(b - a < long for a, b in pairwise(begins[:2])) else begins[0])
            if way == LEFT:
                piece.left = max(piece.left, beyond)
            else:
                piece.right = max(piece.right, beyond)

    def _room(self, box: int | None) -> float:
        return self._towers.room(box) if self._towers is not None else room_in(self._width, self._panels, box)

    def _fitted(self, box: int | None, pieces: dict[int, Piece], *, is_frame: bool = False) -> Piece:
        """A panel, as a tower if it is wider than its room."""
        room, piece = self._room(box), self._panel(box, pieces, self._rows[box], is_frame=is_frame)
        if self._towers is None or piece.left + piece.right <= room:
            return piece
        tower = self._panel(box, pieces, self._towers.rows(box), is_frame=is_frame)
        return min(piece, tower, key=lambda piece: max(piece.left + piece.right, room))

    def _panel(self, box: int | None, pieces: dict[int, Piece], ranked: Rows, *, is_frame: bool = False) -> Piece:
        panel = self._panels.by_box[box]
        items = {key: self._item(key, pieces) for key in panel.keys}
        if is_frame:
            self._make_room_for_names(panel, items)
        early = [part for part in panel.segments if part.head.kind == "out" and part.source in self._early[box]]
        late_ports = {part.head for part in early if self._leaves_by_side_only(box, part.source)}
        wires, late = self._wires(box, items, late_ports)
        late_ports |= {Key("in", source) for source in late}
        left = [item for item in items.values() if item.key not in late_ports]
        shape = self._shapes.get(box)
        if shape:
            rungs = self._rungs(box, shape, left, wires)
            piece = self._framed(box, [rungs], rungs.wires, rungs.height, left, is_frame=is_frame)
            self._leave_early(piece, early, items)
            return piece
        rows = [[items[key] for key in row if key not in late_ports] for row in ranked]
        known = {item for row in rows for item in row}
        missing = [item for key, item in items.items() if item not in known and key not in late_ports]
        if missing:  # ports that cannot be at the side after all
            if not rows or not rows[0] or not rows[0][0].is_port:
                rows.insert(0, [])
            rows[0] = [*missing, *rows[0]]
        rows = [row for row in rows if row] or [[RowItem(Key("node", -1), 20.0, 20.0, 1.0)]]
        strips = self._strips(rows, wires, late, box)
        for i, strip in enumerate(strips):
            strip.is_tower = ranked is not self._rows[box]
            over_entries = tuning.NAMED_ENTRY if self._named_entries(panel) else tuning.OFF_TITLE
            strip.over_entries = over_entries if is_frame else 0.0
            strip.is_turned, strip.outside = box in self._turned, {} if i else self._outside(box)
            strip.compose(box, self._orders)
            if box is None and self._lifted is not None:
                _lift(strip)
        wires, height = [wire for strip in strips for wire in strip.wires], strips[0].height
        if len(strips) > 1:
            height = self._side_by_side(strips, wires, self._band if box is not None else 0.0)
        piece = self._framed(box, strips, wires, height, left, is_frame=is_frame)
        self._leave_early(piece, early, items)
        return piece

    def _outside(self, box: int | None) -> Mapping[Key, float]:
        """Where what enters a box stands in its row, as a part of that, if others read it as well."""
        if box is None or not self._panels.are_entries_shared(box):
            return {}
        outer = self._panels.view.boxes[box].parent
        place = {key: (i + 0.5) / len(row) for row in self._rows[outer] for i, key in enumerate(row)}
        around = [part for part in self._panels.by_box[outer].segments if part.head == Key("box", box)]
        return {Key("in", part.source): place[part.tail] for part in around if part.tail in place}

    def _rungs(self, box: int | None, shape: Ladder, items: Sequence[RowItem], wires: list[Wire]) -> Rungs:
        lead = self._band if box is not None and box not in self._turned else 0.0
        is_lifted = box is not None and box == self._lifted
        inside = {item.key: item for item in items}
        rungs = Rungs(shape, inside, wires, lead, box is not None, is_lifted, self._apart.get(box, {}))
        rungs.compose()
        return rungs

    @staticmethod
    def _leave_early(piece: Piece, early: Sequence[Segment], items: Mapping[Key, RowItem]) -> None:
        """Sets the places where data leaves a box by the side."""
        for segment in early:
            tail = items[segment.tail]
            x, y = tail.piece.early[segment.source] if tail.piece else (tail.half, tail.middle)
            piece.early[segment.source] = tail.x + x, tail.y + y

    def _wires(
        self, box: int | None, items: Mapping[Key, RowItem], hidden: Collection[Key]
    ) -> tuple[list[Wire], Mapping[int, list[Wire]]]:
        """Wires of a panel but for those to hidden ports, and those of what comes in by the side, by its source."""
        late: dict[int, list[Wire]] = defaultdict(list)
        wires = []
        for segment in self._panels.by_box[box].segments:
            tail, head = items[segment.tail], items[segment.head]
            argument = self._panels.argument(segment)
            wire = Wire(tail, head, segment.source, segment.edges, segment.is_skip, argument=argument)
            is_in = segment.tail.kind == "in" and box not in self._shapes
            if is_in and box is not None and self._panels.is_late(box, segment.source):
                wire.is_late = True
                late[segment.source].append(wire)
                continue
            if segment.head in hidden:
                continue
            wire.is_late = head.piece is not None and segment.source in head.piece.late
            wires.append(wire)
            edges = [self._panels.view.edges[position] for position in segment.edges]
            if not segment.is_skip and segment.head.kind != "out":
                said = [self._words.get((edge.tail, edge.head), "") for edge in edges]
                long = max(width(word, tuning.SMALL) for word in said) if self._is_sideways else 1.0
                tail.word = max([tail.word, *(long for word in said if word)])
            if head.card is not None:
                head.said = max([head.said, *(width(edge.part, tuning.SMALL) for edge in edges)])
        return wires, late

    def _leaves_by_side_only(self, box: int | None, source: int) -> bool:
        """Whether all that reads the data outside of a box is across a U."""
        if box is None:
            return False
        outer = self._panels.around(box)[-2]
        segments = self._panels.by_box[outer].segments
        bridges = self._shapes[outer].bridges if outer in self._shapes else frozenset()
        is_further = source in self._early[outer]
        return all(
            (Key("box", box), part.head, source) in bridges
            or (part.head.kind == "out" and is_further and self._leaves_by_side_only(outer, source))
            for part in segments
            if (part.tail, part.source) == (Key("box", box), source)
        )

    def _item(self, key: Key, pieces: dict[int, Piece]) -> RowItem:
        order = self._panels.order(key)
        if key.kind == "node":
            card = self._cards[key.id]
            card.is_to_left = key.id in self._to_left
            sides = (card.right, card.half) if card.is_to_left else (card.half, card.right)
            hooks = self.hooks if key.id in self._panels.hooked else 0
            item = RowItem(key, *sides, card.above + card.below, order, 1.0, card, hooks=hooks)
            item.leave(self._panels.given[key.id])
            return item
        if key.kind == "box":
            piece, size = pieces[key.id], self._panels.size[key.id]
            return RowItem(key, piece.left, piece.right, piece.height, order, 1.0 + size, piece=piece)
        return RowItem(key, order=order)

    def _strips(
        self, rows: list[list[RowItem]], wires: list[Wire], late: Mapping[int, list[Wire]], box: int | None
    ) -> list[Strip]:
        """The rows of each column; what passes from one to the next does so through ports."""
        lead = self._band if box is not None and box not in self._turned else 0.0
        cuts = self._cuts.get(box, [])
        if not cuts or late:
            return [Strip(rows, wires, late, lead, box is not None, is_sideways=self._is_sideways)]
        place = {key: r for r, row in enumerate(self._rows[box]) for key in row}
        column = {item: sum(cut < place.get(item.key, 0) for cut in cuts) for row in rows for item in row}
        ends = sorted([wire for wire in wires if wire.head.key.kind == "out"], key=lambda wire: column[wire.tail])
        leaving = {wire.head: column[wire.tail] for wire in ends}
        inside = [wire for wire in wires if wire.head not in leaving]
        onward = {(wire.source, column[wire.tail]) for wire in inside if column[wire.tail] < column[wire.head]}
        for port, c in leaving.items():  # one that leads to the last column anyway leaves there, beside all others
            is_alone = [*leaving.values()].count(c) == 1 and c == len(cuts) - 1
            column[port] = len(cuts) if is_alone and (port.key.id, c) in onward else c
        strips = []
        for c in range(len(cuts) + 1):
            own = [[item for item in row if column[item] == c] for row in rows]
            own = [row for row in own if row]
            exits = {item.key.id: item for item in own[-1] if item.key.kind == "out"}
            leads: dict[int, tuple[RowItem, Wire]] = {}
            inner = [wire for wire in wires if column[wire.tail] == column[wire.head] == c]
            ins: dict[int, RowItem] = {}
            for wire in wires:
                first, last = column[wire.tail], column[wire.head]
                if first < c == last:
                    port = ins.setdefault(wire.source, RowItem(Key("in", wire.source)))
                    inner.append(replace(wire, tail=port))
                elif first == c < last and wire.source not in leads:
                    port = exits.get(wire.source) or RowItem(Key("out", wire.source), order=len(self._cards))
                    leads[wire.source] = port, wire
                    if wire.source not in exits:
                        inner.append(replace(wire, head=port, is_late=False))
            outs = [*{**exits, **{source: port for source, (port, _) in leads.items()}}.values()]
            outs.sort(key=lambda port: (port.key.id in leads, port.order))  # that to the right is the last
            own = own[:-1] if exits else own
            own = [*([[*ins.values()]] if ins else []), *own, *([outs] if outs else [])]
            is_own = bool(exits) and ins.keys().isdisjoint(exits)
            prefer = LEFT if is_own or not c else RIGHT  # data comes to a further column from the left
            strip = Strip(own, inner, {}, 0.0 if c else lead, box is not None, prefer, is_sideways=self._is_sideways)
            strip.onward, strip.exits = leads, [*exits.values()]
            strips.append(strip)
        return strips

    def _framed(
        self,
        box: int | None,
        strips: Sequence[Strip | Rungs],
        wires: list[Wire],
        height: float,
        items: list[RowItem],
        *,
        is_frame: bool,
    ) -> Piece:
        first, last = strips[0], strips[-1]
        left, right = -min(strip.left for strip in strips), max(strip.right for strip in strips)
        exits = last.ports("out")
        for strip in strips[:-1]:
            exits |= {port.key.id: port.x for port in strip.exits} if isinstance(strip, Strip) else {}
        piece = Piece(box, left, right, height, items, wires, first.ports("in"), exits, first.sides)
        piece.band = tuning.BAND if box is not None and not self._is_sideways else 0.0
        if box in self._panels.back:
            edges = self._panels.view.edges
            back = [(position, edges[position]) for position in self._panels.back[box]]
            lead_back(piece, back, is_sideways=self._is_sideways)
            piece.late = {source: least_crossed(side, piece.wires)[0] for source, side in piece.late.items()}
        if box is not None:
            piece.left, piece.right = piece.left + tuning.BOX_MARGIN, piece.right + tuning.BOX_MARGIN
            if self._is_sideways:
                set_title_beside(piece, self._titles[box])
                return piece
            ports = [*(piece.exits if box in self._turned else piece.entries).values()]
            ports += piece.exits.values() if box == self._lifted else []
            if box in self._turned:
                for wire in wires:
                    if wire.head.key.kind == "out":
                        wire.points.append((wire.points[-1][0], height + tuning.BAND))
                piece.height += tuning.BAND
                _turn_over(piece.items, piece.wires, piece.height)  # but for lines from the side
            if is_frame:
                self._make_room_beside(piece)
            xs = [] if is_frame else sorted(ports)
            set_title(piece, self._titles[box], xs, self._room(box), is_narrow=self._is_narrow)
        return piece

    @staticmethod
    def _side_by_side(strips: list[Strip], wires: list[Wire], lead: float) -> float:
        """Height of columns that are moved beside each other, with lines from one to the next."""
        down = lead + 14.0
        ends: list[float] = []
        for strip, after in pairwise(strips):
            gutter = strip.right + tuning.GUTTER / 2
            # what leads back to where its data comes from parts from it on the way, behind its corner
            entering = (wire for wire in after.wires if wire.tail.key.kind == "in" and len(wire.points) > 2)
            parting = [wire for wire in entering if wire.points[2][0] < wire.start - _AT_TOP]
            by = strip.right + tuning.GUTTER + (tuning.RADIUS if parting else 0.0) - after.left
            after.move(by, down)
            for wire in parting:
                wire.points[:2] = [(gutter + tuning.RADIUS, down - 8.0), (wire.points[2][0], down - 8.0)]
            low = strip.height + (down if ends else 0.0) + tuning.TURN - 3.0
            ends.append(low)
            for source, (port, line) in strip.onward.items():
                x, to = port.x, after.ports("in")[source]
                wire = Wire(port, after.rows[0][0], source, line.edges, line.is_skip)
                begin = strip.height + (down if len(ends) > 1 else 0.0)
                wire.points = [(x, begin), (x, low), (gutter, low), (gutter, down - 8.0), (to, down - 8.0), (to, down)]
                wires.append(wire)
        last = strips[-1]
        height = max(last.height + down, *(end + tuning.BOX_MARGIN for end in ends))
        for strip in strips:
            for wire in (wire for wire in strip.wires if wire.head in strip.exits):
                wire.points[-1] = (wire.points[-1][0], height)
                wire.head.y = height
        return height


def _lift(strip: Strip) -> None:
    """Puts the output of a U level with its input, each as far from its line as both need room."""
    (gets,), (shape,), (gives,) = strip.rows
    (wire,) = (wire for wire in strip.wires if wire.head is gives)
    x, gives.y = wire.start, gets.y + gets.middle - gives.middle
    missing = max(gets.x + gets.right + tuning.GUTTER + gives.left - x, 0.0)
    gives.x = x + min(missing, gives.half - tuning.LANE_AIR)
    gets.x = min(gets.x, gives.x - gives.left - tuning.GUTTER - gets.right)
    wire.points = [(x, shape.y), (x, gives.y + gives.bottom)]
    strip.height = shape.y + shape.height
    strip.measure()


def _turn_over(items: Collection[RowItem], wires: Sequence[Wire], base: float) -> None:
    """Lets what flowed down from 0 flow up from a base."""
    for item in items:
        item.y = base - item.y - (2 * item.middle if item.card else item.height)
    for wire in wires:
        wire.points = [(x, base - y) for x, y in wire.points]
        wire.at = wire.at and (wire.at[0], base - wire.at[1])
