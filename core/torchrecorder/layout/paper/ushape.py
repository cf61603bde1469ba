"""A chain whose skips nest, as a U: down on the left, up on the right, skips across.

The second column is placed as if it flowed down, and then turned over; so are the boxes in it, but for their titles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.model import LEFT, RowItem, Wire
from torchrecorder.layout.paper.panels import Key, Panels, Segment, reached
from torchrecorder.layout.paper.ranks import Rows
from torchrecorder.layout.paper.strips import Strip
from torchrecorder.layout.paper.tracks import Tracks


class NoWayAcross(Exception):
    """A box of a U cannot take or give what leads across by the side where it comes."""


class UShape(NamedTuple):
    cut: int  # the last row of the first column
    bridges: frozenset[tuple[Key, Key, int]]  # the skips that lead across
    turned: frozenset[int]  # the boxes in the second column, at any depth
    early: frozenset[tuple[int, int]]  # boxes and sources whose data leaves by the side


def find_u(panels: Panels, rows: Mapping[int | None, Rows], box: int | None) -> UShape | None:
    """The shape of a panel that can be a U."""
    own = rows[box]
    at = {key: r for r, row in enumerate(own) for key in row}
    segments = [segment for segment in panels.by_box[box].segments if segment.tail in at and segment.head in at]
    main = _largest(own, segments)
    beside = [r for r, row in enumerate(own) if any(key not in main and not key.is_port for key in row)]
    if any(sum(not key.is_port and key in main for key in row) > 1 for row in own):
        return None
    if any(row[-1] not in main for row in own if any(key in main for key in row)):  # in the way of what leads across
        return None
    segments = [segment for segment in segments if segment.tail in main]
    far = [segment for segment in segments if _is_far(panels, segment, at)]
    pairs = sorted({(at[segment.tail], at[segment.head]) for segment in far}, key=lambda pair: (pair[0], -pair[1]))
    if not pairs or any(later[1] > first[1] for first, later in pairwise(pairs)):
        return None
    low, high = max(tail for tail, _ in pairs), min(head for _, head in pairs)
    cut = low + (high - low) // 2 if high - low > 1 else low
    across = [segment for segment in segments if at[segment.tail] <= cut < at[segment.head]]
    bridges = [segment for segment in across if segment in far]
    links = {(segment.tail, segment.source) for segment in across if segment not in far}
    linking = [(at[segment.tail], at[segment.head]) for segment in across if segment not in far]
    is_linked = len(links) == 1 and {*linking} == {(cut, cut + 1)}
    if (
        low >= high
        or not is_linked
        or max(beside, default=0) > cut
        or len({(segment.source, segment.head) for segment in bridges}) < tuning.LEAST_PAIRS
    ):
        return None
    early = early_exits(panels, rows, bridges)
    if None in early:
        return None
    second = {key.id for row in own[cut + 1 :] for key in row if key.kind == "box"}
    turned = {inner.id for inner in panels.view.boxes if second & {*panels.around(inner.id)}}
    bridging = frozenset((segment.tail, segment.head, segment.source) for segment in bridges)
    return UShape(cut, bridging, frozenset(turned), frozenset(exit_ for exit_ in early if exit_))


def _largest(rows: Rows, segments: Sequence[Segment]) -> set[Key]:
    """The most things of a panel that hang together."""
    near: dict[Key, list[Key]] = defaultdict(list)
    for segment in segments:
        near[segment.tail].append(segment.head)
        near[segment.head].append(segment.tail)
    groups: list[set[Key]] = []
    for key in (key for row in rows for key in row):
        if not any(key in group for group in groups):
            groups.append(reached(key, near))
    return max(groups, key=len, default=set())


def _is_far(panels: Panels, segment: Segment, at: Mapping[Key, int]) -> bool:
    """Whether it can lead across: past something, or into the side of a box."""
    if segment.tail.is_port or segment.head.is_port or segment.source < 0:
        return False
    if segment.head.kind == "box":
        return panels.is_late(segment.head.id, segment.source) and at[segment.tail] < at[segment.head]
    return at[segment.head] > at[segment.tail] + 1


def early_exits(
    panels: Panels, rows: Mapping[int | None, Rows], bridges: Sequence[Segment]
) -> list[tuple[int, int] | None]:
    """The boxes that a bridge leaves by the side; None where something is in the way."""
    exits: list[tuple[int, int] | None] = []
    for segment in bridges:
        if segment.tail.kind != "box":
            continue
        node = panels.node_of(segment.source)
        boxes = panels.around(panels.view.nodes[node].box)
        inner = [box for box in boxes[boxes.index(segment.tail.id) :] if box is not None]
        for box, below in zip(inner, [*(Key("box", box) for box in inner[1:]), Key("node", node)], strict=True):
            (row,) = (row for row in rows[box] if below in row)
            exits.append((box, segment.source) if row[-1] == below and len(row) == 1 else None)
    return exits


def join(
    strips: Sequence[Strip], bridges: Sequence[Wire], wires: list[Wire], lead: float, *, leaves_at_top: bool
) -> float:
    """Puts two columns beside each other, the second turned over; gives the height of both."""
    first, second = strips
    base = first.height
    over = max(lead + (0.0 if leaves_at_top else 2 * tuning.TURN) + second.height - base, 0.0)
    _lower(first, over)
    base += over
    turn_over([item for row in second.rows for item in row], second.wires, base)
    _spread(bridges)
    lanes = Tracks()
    for wire in bridges:
        y, at = leaving(wire)[1], _reached(wire, base)[1]
        if abs(y - at) >= 0.5:
            lanes.add(y, at, wire.source, partial(setattr, wire, "leaving"))
    room = tuning.GUTTER + tuning.LANE * max(lanes.settle(), 1)
    second.move(first.right + room - second.left, 0.0)
    for wire in bridges:
        (x, y), (end, at) = leaving(wire), _reached(wire, base)
        lane = first.right + tuning.GUTTER / 2 + tuning.LANE * (wire.leaving or 0)
        wire.points = [(x, y), (end, y)] if wire.leaving is None else [(x, y), (lane, y), (lane, at), (end, at)]
    low = base + tuning.TURN
    for port in (item for item in first.rows[-1] if item.key.kind == "out"):
        to = next(item for item in second.rows[0] if item.key.id == port.key.id)
        before = next(wire for wire in first.wires if wire.head is port)
        link = Wire(port, to, port.key.id, before.edges, before.is_skip)
        link.points = [(port.x, base), (port.x, low), (to.x, low), (to.x, base)]
        wires.append(link)
    wires += bridges
    height = low + tuning.BOX_MARGIN
    for wire in second.wires:
        if wire.head.key.kind == "out" and leaves_at_top:
            wire.points, wire.head.x = [wire.points[0], (wire.start, 0.0)], wire.start
        elif wire.head.key.kind == "out":  # down again beside the column
            second.right += tuning.LANE_AIR
            x, top = wire.start, wire.points[0][1] - tuning.TURN
            wire.points = [wire.points[0], (x, top), (second.right, top), (second.right, height)]
            wire.head.x = second.right
    return height


def lift(strip: Strip) -> None:
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


def leaving(wire: Wire) -> tuple[float, float]:
    """Start of a bridge."""
    tail = wire.tail
    if tail.piece:
        if wire.source not in tail.piece.early:
            raise NoWayAcross
        x, y = tail.piece.early[wire.source]
        return tail.x + x, tail.y + y
    return tail.x + tail.half, tail.y + tail.middle


def arriving(head: RowItem, source: int) -> float:
    """End of a bridge below the beginning of its head, in the direction of the flow."""
    if head.piece and source not in head.piece.late:
        raise NoWayAcross
    return head.piece.late[source].y if head.piece else head.middle


def _reached(wire: Wire, base: float) -> tuple[float, float]:
    head = wire.head
    if head.piece:
        side = head.piece.late.get(wire.source)
        if side is None or LEFT not in side.ends:
            raise NoWayAcross
        return head.x + side.ends[LEFT], head.y + head.height - side.y
    return head.x - head.half, head.y + head.middle + wire.shift


def _spread(bridges: Sequence[Wire]) -> None:
    """Orders the ends of several bridges at one node, that from above first."""
    into: dict[RowItem, list[Wire]] = defaultdict(list)
    for wire in sorted(bridges, key=lambda wire: leaving(wire)[1]):
        into[wire.head].append(wire)
    for head, wires in into.items():
        step = min(tuning.TRACK, (2 * head.card.body - 8.0) / max(len(wires) - 1, 1)) if head.card else 0.0
        for i, wire in enumerate(wires):
            wire.shift = (i - (len(wires) - 1) / 2) * step


def turn_over(items: Collection[RowItem], wires: Sequence[Wire], base: float) -> None:
    """Lets what flowed down from 0 flow up from a base."""
    for item in items:
        item.y = base - item.y - (2 * item.middle if item.card else item.height)
    for wire in wires:
        wire.points = [(x, base - y) for x, y in wire.points]
        wire.at = wire.at and (wire.at[0], base - wire.at[1])


def _lower(strip: Strip, by: float) -> None:
    for row in strip.rows:
        for item in row:
            item.y += by if item.key.kind != "in" else 0.0
    for wire in strip.wires:
        is_entry = wire.tail.key.kind == "in"
        wire.points = [(x, y if is_entry and not i else y + by) for i, (x, y) in enumerate(wire.points)]
