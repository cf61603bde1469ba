"""A ladder: stages down on the left, what is joined one after another beside them, each on the row of its stage.

Things stand in rails that lead down or up, side by side: the longest way is cut where the resolution begins to grow or
to shrink, and where stages of several resolutions are joined in one thing. What lies on a way from one rail to another,
or leaves a rail for good, stands between them or at their right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchrecorder.layout import tuning
from torchrecorder.layout.paper.panels import Key, Panels, Segment, reached, resolution
from torchrecorder.layout.paper.ranks import Rows

DOWN, UP = 1, -1  # factors of what grows downwards


class NoWayAcross(Exception):
    """A box of a ladder cannot take or give what leads across by the side where it comes."""


class Rail(NamedTuple):
    """Things one below the other, or one above the other, in the order of the flow."""

    keys: tuple[Key, ...]
    way: int = DOWN
    column: int = 0
    entered: tuple[Key, ...] = ()  # what it comes from in the direction of its flow; what else it reads is level
    is_below: bool = False  # whether it leads on below the columns left of what it comes from, as one of several heads


class Ladder(NamedTuple):
    rails: tuple[Rail, ...]
    bridges: frozenset[tuple[Key, Key, int]]  # what leads from one rail to another
    turned: frozenset[int]  # the boxes in rails that lead up, at any depth
    early: frozenset[tuple[int, int]]  # boxes and sources whose data leaves by the side
    necks: Mapping[int, Ladder]  # boxes that all stages come to by the side
    is_u: bool = False  # whether it is a chain whose skips nest: it needs no resolution, and says more than a chain


def find_u(panels: Panels, rows: Mapping[int | None, Rows], box: int | None) -> Ladder | None:
    """The shape of a panel that is a chain whose skips nest: down on the left, up on the right, skips across."""
    panel = panels.by_box[box]
    known = {key for row in rows[box] for key in row}
    segments = [part for part in panel.segments if part.tail in known and part.head in known]
    groups = sorted(_groups(panel.keys, segments), key=len, reverse=True)
    chains = [[key for row in rows[box] for key in row if key in group and not key.is_port] for group in groups]
    segments = [part for part in segments if not (part.tail.is_port or part.head.is_port)]
    if any(len({*row} & {*chain}) > 1 for row in rows[box] for chain in chains):
        return None
    at = {key: i for i, key in enumerate(chains[0] if chains else ())}
    far = [part for part in segments if part.tail in at and _is_far(panels, part, at)]
    pairs = sorted({(at[part.tail], at[part.head]) for part in far}, key=lambda pair: (pair[0], -pair[1]))
    if not pairs or any(later[1] > first[1] for first, later in pairwise(pairs)):
        return None
    low, high = max(tail for tail, _ in pairs), min(head for _, head in pairs)
    n_pairs = len({(part.source, part.head) for part in far})
    cut = low + (high - low) // 2 if high - low > 1 else low
    others = {(at[part.tail], at[part.head]) for part in segments if part.tail in at and part not in far}
    is_linked = (cut, cut + 1) in others and all(head == tail + 1 for tail, head in others)
    if low >= high or n_pairs < tuning.LEAST_PAIRS or not is_linked:
        return None
    down, up = chains[0][: cut + 1], chains[0][cut + 1 :]
    aside = [Rail(tuple(chain), column=i) for i, chain in enumerate(chain for chain in chains[1:] if chain)]
    rails = [Rail(tuple(down), column=len(aside)), Rail(tuple(up), UP, len(aside) + 1, (down[-1],)), *aside]
    return _with_exits(panels, rows, rails, far, {}, is_u=True)


def _groups(keys: Sequence[Key], segments: Sequence[Segment]) -> list[set[Key]]:
    """What hangs together."""
    near: dict[Key, list[Key]] = defaultdict(list)
    for segment in segments:
        near[segment.tail].append(segment.head)
        near[segment.head].append(segment.tail)
    groups: list[set[Key]] = []
    for key in keys:
        if not any(key in group for group in groups):
            groups.append(reached(key, near))
    return groups


def _is_far(panels: Panels, segment: Segment, at: Mapping[Key, int]) -> bool:
    """Whether it can lead across: past something, or into the side of a box."""
    if segment.source < 0:
        return False
    if segment.head.kind == "box":
        return panels.is_late(segment.head.id, segment.source)
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


def _with_exits(
    panels: Panels,
    rows: Mapping[int | None, Rows],
    rails: Sequence[Rail],
    bridges: Sequence[Segment],
    necks: Mapping[int, Ladder],
    *,
    is_u: bool = False,
) -> Ladder | None:
    """The ladder of rails in their columns; None where something is in the way of what leaves a box by the side."""
    last = {rail.keys[-1] for rail in rails}
    exits = early_exits(panels, rows, [part for part in bridges if is_u or part.tail not in last])
    if None in exits:
        return None
    second = {key.id for rail in rails if rail.way == UP for key in rail.keys if key.kind == "box"}
    turned = {inner.id for inner in panels.view.boxes if second & {*panels.around(inner.id)}}
    across = frozenset((part.tail, part.head, part.source) for part in bridges)
    return Ladder(tuple(rails), across, frozenset(turned), frozenset(exit_ for exit_ in exits if exit_), necks, is_u)


def find_ladder(
    panels: Panels, rows: Mapping[int | None, Rows], box: int | None, *, is_neck: bool = False
) -> Ladder | None:
    """The shape of a panel that can be a ladder; that of a neck has its stages outside."""
    panel = panels.by_box[box]
    keys = [key for key in panel.keys if not key.is_port or (is_neck and key.kind == "in")]
    segments = [part for part in panel.segments if part.tail in keys and part.head in keys]
    if is_neck and sum(key.is_port for key in keys) < tuning.LEAST_JOINED:
        return None
    if len({resolution(panels.view, part.edges[0]) for part in segments} - {0}) < tuning.LEAST_PAIRS:
        return None
    if any(key.kind == "node" and key.id in panels.hooked for key in keys):
        return None
    inside = {key.id: find_ladder(panels, rows, key.id, is_neck=True) for key in keys if key.kind == "box"}
    necks = {neck: ladder for neck, ladder in inside.items() if ladder}
    if len(keys) < tuning.LEAST_LADDER and not necks:
        return None
    finder = _Finder(panels, keys, segments, necks)
    rails = finder.rails()
    placed = _in_columns(rails, segments) if rails else None
    if placed is None:
        return None
    necks = {neck: ladder for neck, ladder in necks.items() if Key("box", neck) in finder.reached_by_side}
    at = {key: i for i, rail in enumerate(placed) for key in rail.keys}
    across = [part for part in segments if at[part.tail] != at[part.head]]
    return _with_exits(panels, rows, placed, across, necks)


class _Finder:
    def __init__(
        self, panels: Panels, keys: Sequence[Key], segments: Sequence[Segment], necks: Collection[int]
    ) -> None:
        self._panels, self._necks = panels, necks
        self.reached_by_side: set[Key] = set()
        self._into: dict[Key, list[Key]] = defaultdict(list)
        self._from: dict[Key, list[Key]] = defaultdict(list)
        for part in sorted(segments, key=lambda part: part.is_skip):
            if part.tail not in self._into[part.head]:
                self._into[part.head].append(part.tail)
                self._from[part.tail].append(part.head)
        self._keys = _in_order(keys, self._into)
        self._areas = self._measured(segments)

    def rails(self) -> list[Rail]:
        """The rails of a ladder; none if it is none."""
        stages = sorted((key for key in self._keys if key.is_port), key=lambda key: -self._areas.get(key, 0))
        if len({self._areas.get(key) for key in stages}) < len(stages):
            return []
        spine = [*stages, *_longest([key for key in self._keys if not key.is_port], self._into)]
        parts = self._cut(spine)
        if len(parts) < 2 or parts[0].way == UP:
            return []
        off = [key for key in self._keys if key not in spine]
        after = {
            key for part in parts for key in part.keys if len(part.entered) > 1 or part.keys[0] in self.reached_by_side
        }
        beside = [*self._beside(off, after)]
        singles = [rail.keys[0] for rail in beside if len(rail.keys) == 1]
        parts = [part for part in self._with_laterals(parts, off) if part.keys]
        parts = self._with_heads(parts, singles)
        if not any(self._is_joined(part, parts) for part in parts):
            return []
        return [*parts, *beside]

    def _measured(self, segments: Sequence[Segment]) -> dict[Key, int]:
        """Number of places of what each thing gives: height by width."""
        view, areas = self._panels.view, dict[Key, int]()
        self._read: dict[Key, set[int]] = defaultdict(set)  # by box the resolutions that come to it
        for part in segments:
            if area := resolution(view, part.edges[0]):
                areas.setdefault(part.tail, area)
                self._read[part.head].add(area)
        for key in self._keys:  # what nothing reads is as large as what it reads
            if key not in areas and self._into[key]:
                areas[key] = areas.get(self._into[key][0], 0)
        return areas

    def _cut(self, spine: Sequence[Key]) -> list[Rail]:
        """The rails of the longest way: cut where the resolution turns, and at what joins stages of several ones."""
        parts: list[list[Key]] = [[]]
        ways, entered = [0], list[tuple[Key, ...]]([()])
        last, is_joined = 0, False
        for key in spine:
            area = self._areas.get(key, 0)
            way = (area < last) - (area > last) if area and last and not is_joined else 0
            if not is_joined and self._joins_stages(key, spine, parts):
                is_joined = True
                parts.append([])
                ways.append(DOWN)
                entered.append(() if key in self.reached_by_side else tuple(self._into[key]))
            elif way and ways[-1] and way != ways[-1]:
                entered.append((parts[-1][-1],))
                parts.append([])
                ways.append(way)
            ways[-1] = ways[-1] or way
            parts[-1].append(key)
            last = area or last
        rows = zip(parts, ways, entered, strict=True)
        return [Rail(tuple(part), way or DOWN, entered=before) for part, way, before in rows]

    def _joins_stages(self, key: Key, spine: Sequence[Key], parts: Sequence[Sequence[Key]]) -> bool:
        """Whether a thing reads several stages of one rail beside what is before it."""
        if key.kind == "box" and key.id in self._necks and len(self._read[key]) >= tuning.LEAST_JOINED:
            self.reached_by_side.add(key)
            return True
        ends = [self._origin(tail, spine) for tail in self._into[key]]
        for part in parts:
            read = {end for end in ends if end in part}
            if len({self._areas.get(end) for end in read}) > 1 and len({*ends}) >= tuning.LEAST_JOINED:
                return True
        return False

    def _origin(self, key: Key, spine: Collection[Key]) -> Key:
        """The thing on the longest way that one beside it gets its data from."""
        while key not in spine and len(self._into[key]) == 1:
            (key,) = self._into[key]
        return key

    def _beside(self, off: Sequence[Key], after: Collection[Key]) -> Iterator[Rail]:
        """The rails beside the longest way; what is in short ones stands alone, but after what joins all stages."""
        left = [*off]
        while left:
            within = {key: [tail for tail in self._into[key] if tail in left] for key in left}
            way = _longest(left, within)
            left = [key for key in left if key not in way]
            area = [self._areas.get(key, 0) for key in (*self._into[way[0]][:1], *way)]
            changes = [(a > b) - (a < b) for a, b in pairwise(area) if a and b and a != b]
            if {*self._into[way[0]]} & {*after}:
                yield Rail(tuple(way), DOWN, entered=tuple(self._into[way[0]][:1]), is_below=True)
            elif len(way) > tuning.MOST_BESIDE or len({*changes}) > 1:
                yield Rail(tuple(way), changes[0] if changes else DOWN, entered=tuple(self._into[way[0]][:1]))
            else:
                yield from (Rail((key,)) for key in way)

    def _with_laterals(self, parts: Sequence[Rail], off: Sequence[Key]) -> Iterator[Rail]:
        """The same with what stands between the lowest stage and its reader as it does for the other stages."""
        own = {key: i for i, part in enumerate(parts) for key in part.keys}
        most = [0] * len(parts)  # the longest chain between a rail and another
        for key in off:
            chain = [key]
            while len(tails := self._into[chain[0]]) == 1 and tails[0] not in own:
                chain.insert(0, tails[0])
            heads = [own[head] for head in self._from[key] if head in own]
            is_beside = len(tails) == 1 and len(chain) <= tuning.MOST_BESIDE
            if is_beside and heads and min(heads) > own[tails[0]]:
                most[own[tails[0]]] = max(most[own[tails[0]]], len(chain))
        lifted: list[Key] = []
        for i, part in enumerate(parts):
            joins = any(len(self._into[key]) > 1 for key in part.keys)
            if i and part.way == UP and not joins and i + 1 < len(parts):  # nothing is joined on the way up
                lifted += part.keys
                continue
            flat = 0
            while (
                part.way == DOWN
                and i + 1 < len(parts)
                and flat < min(most[i], len(part.keys) - 1)
                and self._areas.get(part.keys[-1 - flat]) == self._areas.get(part.keys[-2 - flat])
            ):
                flat += 1
            lifted += part.keys[len(part.keys) - flat :]
            yield part._replace(keys=part.keys[: len(part.keys) - flat])
        yield from (Rail((key,)) for key in lifted)

    def _with_heads(self, parts: list[Rail], singles: Collection[Key]) -> list[Rail]:
        """The same with what follows the last thing joined beside it, as the heads of the other stages are."""
        last = max((i for i, part in enumerate(parts) if len(part.keys) > 1), default=0)
        rail = parts[last]
        heads = {tail for key in singles if not self._from[key] for tail in self._into[key]}
        after = 0
        while after < len(rail.keys) and len(self._into[rail.keys[-1 - after]]) == 1:
            after += 1
        if rail.way == UP and 0 < after <= tuning.MOST_BESIDE and len(heads & {*rail.keys}) >= tuning.LEAST_PAIRS:
            rest = [Rail((key,)) for key in rail.keys[len(rail.keys) - after :]]
            return [*parts[:last], rail._replace(keys=rail.keys[: len(rail.keys) - after]), *parts[last + 1 :], *rest]
        return parts

    def _is_joined(self, rail: Rail, parts: Sequence[Rail]) -> bool:
        """Whether several stages are joined in a rail, one after another or all at once."""
        spine = [key for part in parts for key in part.keys]
        joined = set()
        if self.reached_by_side & {*rail.keys}:
            return True
        for key in rail.keys:
            turns = rail.entered if len(rail.entered) == 1 else ()
            ends = {self._origin(tail, spine) for tail in self._into[key] if tail not in turns} - {*rail.keys}
            joined |= {self._areas.get(end) for end in ends if len(self._into[key]) > 1}
        return rail is not parts[0] and len(joined) >= tuning.LEAST_PAIRS


def _in_order(keys: Sequence[Key], into: Mapping[Key, Sequence[Key]]) -> list[Key]:
    """Everything after what it reads."""
    done: dict[Key, None] = {}
    pending = [*keys]
    while pending:
        ready = [key for key in pending if all(tail in done for tail in into.get(key, ()))]
        done |= dict.fromkeys(ready or pending)
        pending = [key for key in pending if key not in done]
    return [*done]


def _longest(keys: Sequence[Key], into: Mapping[Key, Sequence[Key]]) -> list[Key]:
    """The way that passes the most things; of ways as long, that which no skip is on."""
    long: dict[Key, int] = {}
    before: dict[Key, Key] = {}
    for key in keys:
        tails = [tail for tail in into.get(key, ()) if tail in long]
        if tails:
            before[key] = max(tails, key=lambda tail: long[tail])
        long[key] = 1 + max((long[tail] for tail in tails), default=0)
    way = [max(keys, key=lambda key: long[key])]
    while way[-1] in before:
        way.append(before[way[-1]])
    return way[::-1]


def _in_columns(rails: Sequence[Rail], segments: Sequence[Segment]) -> list[Rail] | None:
    """The rails in their columns, each right of all that it reads; None if they read each other."""
    at = {key: i for i, rail in enumerate(rails) for key in rail.keys}
    follow: dict[int, list[int]] = defaultdict(list)
    into: dict[Key, list[Key]] = defaultdict(list)
    for part in segments:
        tail, head = at[part.tail], at[part.head]
        if tail != head and head not in follow[tail]:
            follow[tail].append(head)
            into[Key("node", head)].append(Key("node", tail))
    if any(rail in reached(head, follow) for rail in range(len(rails)) for head in follow[rail]):
        return None
    columns = dict[int, int]()
    for key in _in_order([Key("node", i) for i in range(len(rails))], into):
        columns[key.id] = max((columns[tail.id] + 1 for tail in into[key]), default=0)
    taken: dict[int, int] = defaultdict(int)
    for i, rail in enumerate(rails):
        if rail.is_below and taken[at[rail.entered[0]]] < columns[at[rail.entered[0]]]:
            taken[at[rail.entered[0]]] += 1
            columns[i] = columns[at[rail.entered[0]]] - taken[at[rail.entered[0]]]
    ends = [
        i for i, rail in enumerate(rails) if not rail.is_below and not follow[i] and len(rail.keys) == 1 and columns[i]
    ]
    last = max((columns[i] for i in ends), default=0)
    for i in ends:  # heads stand below one another, and what only they read before them
        columns[i], column, alone = last, last, i
        while len(tails := into[Key("node", alone)]) == 1 and follow[alone := tails[0].id] == [i]:
            if len(rails[alone].keys) > 1 or not columns[alone]:
                break
            column -= 1
            columns[alone] = max(columns[alone], column)
            i = alone
    return [rail._replace(column=columns[i]) for i, rail in enumerate(rails)]
