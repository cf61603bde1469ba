"""The proof of a finished layout: whether its lines are the edges of the View, and its numbers those of the Graph.

Written from the View, from places and from the words that stand in the picture; it shares no code with what lays out or
words. A line that begins or ends at no node has to begin on another of the same tail, as a branch of a trunk, or to end
on another into the same head. One in two parts has at both ends the name of the other one, which no other node has.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from torchrecorder.proof import claims, operands
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import GraphFacts
from torchrecorder.proof.sameness import Sameness

if TYPE_CHECKING:
    from torchrecorder.layout.model import Figure, Layout, Line, Word
    from torchrecorder.view import Edge, Node, View

_Point = tuple[float, float]
_Edge = tuple[str, str]
"""The keys of its nodes."""
_TOUCHES = 3.0
"""Points from a border or a line within which another line touches it: round corners leave the corner by 2.9."""
_ON = 2.0
"""Points from its middle within which a line passes through a word."""
_PLACES = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
"""Places along a word, from its beginning to its end."""


def faults(view: View, layout: Layout) -> tuple[str, ...]:
    """Sentences on what a layout does not show as its View says it; none if it is proved."""
    sentences: list[str] = []
    figures: dict[str, Figure] = {}
    for figure in (*layout.nodes, *layout.boxes):
        if figure.key in figures:
            sentences.append(f"{_said(figure.key)} is drawn twice")
        if figure.key:
            figures[figure.key] = figure
    edges: dict[_Edge, dict[bool, str]] = {}
    leaving: dict[str, dict[_Edge, set[str]]] = {}
    known, facts, of_first_turns = set[str](), GraphFacts(view.graph), set[_Edge]()
    sameness = Sameness(view, facts, [Coverage(shown, facts) for shown in (view, *(it.view for it in view.insets))])
    sameness.grow()
    drawn = zip(sameness.coverages, (("", ()), *sameness.lettered.items()), strict=True)
    for coverage, (letter, calls) in drawn:
        shown = coverage.view
        sentences += _misplaced(shown, letter, figures)
        known |= {f"{letter}{node.id}" for node in shown.nodes} | {f"{letter}b{box.id}" for box in shown.boxes}
        for ends, edge in _edges(shown, letter, figures, {line.ends for line in layout.lines}):
            ways = edges.setdefault(ends, {})
            ways[edge.back] = ways.get(edge.back) or edge.part
            if ends[1] not in figures and (head := shown.nodes[edge.head]).kind == "output":
                leaving.setdefault(letter, {}).setdefault(ends, set()).add(head.name)
        sentences += (*claims.faults(coverage, letter, layout, calls), *operands.faults(shown, letter, layout))
        of_first_turns |= {(f"{letter}{it.tail}", f"{letter}{it.head}") for it in claims.of_first_turns(coverage)}
    sentences += [f"{_said(key)} is drawn and not a part of the picture" for key in figures if key not in known]
    several = (rows for rows in leaving.values() if len({head for _, head in rows}) > 1)
    lines = _Lines(layout, figures, edges, {ends: names for rows in several for ends, names in rows.items()})
    named = sorted({layout.lines[i].ends for i in lines.by_name} & of_first_turns)
    sentences += [
        "the line from {} to {} has a name that holds for the first turn alone".format(*ends) for ends in named
    ]
    return (*sentences, *lines.faults())


def unsaid(layout: Layout) -> Iterator[str]:
    """Sentences on lines of a finished layout without a word for which part of its data each carries, or what enters.

    A word that lies on the line of another node is said of its own only if that one runs by all of it.
    """
    rows = [*layout.words, *(word._replace(text=f"{a.text} {word.text}") for a, word in pairwise(layout.words))]
    known = {figure.key for figure in layout.nodes}
    for line in layout.lines:
        enters = line.word if line.ends[0] not in known and "×" not in line.word else ""
        for name in filter(None, dict.fromkeys((line.part, enters))):
            words = [word for word in rows if word.text == name and _off(line, word) <= len(name) * word.size]
            others = [other for other in layout.lines if other.ends[0] != line.ends[0]]
            if not any(_is_along(line, it) or all(_off(other, it) >= _ON for other in others) for it in words):
                yield "the line from {} to {} has no room for “{}”".format(*line.ends, name)


def _is_along(line: Line, word: Word) -> bool:
    return all(_off(line, word, (end,)) <= word.size for end in (-1.0, 1.0))


def _off(line: Line, word: Word, ends: Sequence[float] = _PLACES) -> float:
    """How far a line is from places in a word, of which each letter is taken to be 0.4 of its size wide."""
    half, y = 0.2 * len(word.text) * word.size, word.y - 0.3 * word.size
    return min(_nearest(a, b, (word.x + end * half, y))[0] for a, b in pairwise(_points(line)) for end in ends)


def _nearest(a: _Point, b: _Point, point: _Point) -> tuple[float, float]:
    """How far a point is from a straight part of a line, and how far along that its nearest place is."""
    (ax, ay), (bx, by), (x, y), long = a, b, point, math.dist(a, b)
    t = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / (long * long) if long else 0.0
    t = min(max(t, 0.0), 1.0)
    return math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y), t * long


def _said(key: str) -> str:
    return f"box {key}" if "b" in key else f"node {key}"


def _misplaced(view: View, letter: str, figures: Mapping[str, Figure]) -> Iterator[str]:
    """Things of a View that are not drawn, or not in their boxes."""
    parents = {box.id: box.parent for box in view.boxes}
    around: dict[str, set[int]] = {}
    for key, box in (*((f"{node.id}", node.box) for node in view.nodes), *((f"b{b.id}", b.parent) for b in view.boxes)):
        boxes = around[f"{letter}{key}"] = set()
        while box is not None:
            boxes.add(box)
            box = parents[box]
    for node in view.nodes:
        if f"{letter}{node.id}" not in figures and not _may_be_open(node, letter) and not node.links:
            yield f"node {letter}{node.id} is not drawn"
    full = {box for node in view.nodes for box in around[f"{letter}{node.id}"]}
    places = {box: figures[key].rect for box in parents if (key := f"{letter}b{box}") in figures}
    # one without nodes has no place in a layered picture
    yield from (f"box {letter}b{box} is not drawn" for box in sorted(full - places.keys()))
    for key, boxes in around.items():
        if key not in figures:
            continue
        left, top, right, bottom = figures[key].rect
        x, y = (left + right) / 2, (top + bottom) / 2
        for other, rect in places.items():
            is_inside = rect.left < x < rect.right and rect.top < y < rect.bottom
            is_around = left < rect.left and top < rect.top and right > rect.right and bottom > rect.bottom
            if is_inside != (other in boxes) and key != f"{letter}b{other}" and not is_around:
                yield f"{_said(key)} is drawn {'in' if is_inside else 'outside of'} box {letter}b{other}"


def _may_be_open(node: Node, letter: str) -> bool:
    """Whether only the open end of a line shows the node: what an inset gets or gives."""
    return bool(letter) and node.kind in ("input", "output")


def _edges(
    view: View, letter: str, figures: Mapping[str, Figure], drawn: Collection[_Edge]
) -> Iterator[tuple[_Edge, Edge]]:
    """Edges to be drawn, by what is drawn at their ends.

    Those cut may be in one piece again; outputs of one node that have no open end of their own are the first of them.
    """
    ends: dict[int, str] = {}
    for edge in view.edges:
        tail, head = view.nodes[edge.tail], view.nodes[edge.head]
        if tail.kind == "from" and f"{letter}{tail.id}" not in figures:
            tail = view.nodes[tail.links[0]]
        key = f"{letter}{head.id}"
        if key not in figures and _may_be_open(head, letter):
            first = ends.setdefault(tail.id, key)
            key = key if (f"{letter}{tail.id}", key) in drawn else first
        if head.kind != "to" or key in figures:
            yield (f"{letter}{tail.id}", key), edge


class _Lines:
    """The lines of a layout as ways from node to node."""

    def __init__(
        self,
        layout: Layout,
        figures: Mapping[str, Figure],
        edges: Mapping[_Edge, Mapping[bool, str]],
        leaving: Mapping[_Edge, Set[str]],
    ) -> None:
        self.lines, self.figures, self.edges = layout.lines, figures, edges
        """By ends, by whether it is to the next turn of a loop: both may be, and each has its line."""
        self.parts = {ends: next(filter(None, ways.values()), "") for ends, ways in edges.items()}
        self.leaving = leaving
        """The names of the outputs of an inset, by the line that carries them, where there are several lines."""
        self.said = {(line.ends, part) for line in layout.lines if (part := operands.without_operand(line.part))}
        """Edges with what their words say that they carry."""
        self.tags = [figure for figure in layout.nodes if not figure.key]
        self.names = [(node.key, _beginnings(node)) for node in layout.nodes if node.key and node.words]
        self.named: dict[tuple[str, str], str] = {}
        """By inset and word on a tag the key of the node that it stands for."""
        starts = [self._at(line.curve[0], line.ends[0]) for line in self.lines]
        self.leading = {
            i for i, line in enumerate(self.lines) if starts[i] and self._at_tag(line, line.tip, line.ends[1], "to ")
        }
        """Lines that lead to the name of the head."""
        self.resumed = {
            i
            for i, line in enumerate(self.lines)
            if not starts[i] and self._at_tag(line, line.curve[0], line.ends[0], "from ")
        }
        """Lines that lead from the name of the tail."""
        self.begins = [
            starts[i] or (i in self.resumed) or self._at_tag(line, line.curve[0], line.ends[0])
            for i, line in enumerate(self.lines)
        ]
        self.by_name = {i for i, begins in enumerate(self.begins) if begins and not starts[i]}
        """Lines that begin at the name of their tail."""
        self.arrives = [
            line.tip is not None and i not in self.leading and self._at(line.tip, line.ends[1])
            for i, line in enumerate(self.lines)
        ]
        self.along: dict[int, list[_Point]] = {}
        by_tail, by_head = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for i, line in enumerate(self.lines):
            by_tail[line.ends[0]].append(i)
            by_head[line.ends[1]].append(i)
        self.next: dict[int, dict[int, tuple[float, float]]] = defaultdict(dict)
        """The lines that part from one or that it ends in, with how far along the one and the other that is."""
        for i, line in enumerate(self.lines):
            is_open = line.ends[0] not in self.figures
            for j in by_tail[line.ends[0]] if is_open or not self.begins[i] else ():
                at = self._reached(j, line.curve[0]) if j != i else None
                if at is not None and (not is_open or at > _TOUCHES):
                    self.next[j][i], self.begins[i] = (at, 0.0), False
            for j in () if line.tip is not None else {*by_head[line.ends[1]], *by_tail[line.ends[0]]}:
                if j != i and (at := self._reached(j, line.curve[-1])) is not None:
                    self.next[i][j] = math.inf, at

    def faults(self) -> Iterator[str]:
        drawn = Counter[_Edge]()
        from_tail: set[int] = set()
        for i in (i for i, begins in enumerate(self.begins) if begins):
            reached = self._reached_from(i)
            from_tail |= reached
            drawn.update((self.lines[i].ends[0], self.lines[j].ends[1]) for j in reached if self.arrives[j])
        parted, resumed = (Counter(self.lines[i].ends for i in half) for half in (self.leading, self.resumed))
        for a, b in sorted(parted.keys() | resumed.keys()):
            if (parted[a, b], resumed[a, b]) != (1, 1):
                yield f"the line of an edge from {a} to {b} has a name at one end and none at the other"
        for i, line in enumerate(self.lines):
            if i in self.leading:
                continue
            said = "an edge from {} to {}".format(*line.ends)
            heads = {self.lines[j].ends[1] for j in self._reached_from(i) if self.arrives[j]}
            if line.ends not in self.edges:
                yield f"{said} is drawn and not a part of the picture"
            elif i not in from_tail or line.ends[1] not in heads:
                yield f"the line of {said} does not lead from one to the other"
        yield from (f"the edge from {a} to {b} is not drawn" for a, b in sorted(self.edges.keys() - drawn.keys()))
        for ends, part in sorted(self.parts.items()):
            others = {said for of, said in self.said if of == ends} - {part}
            if names := self.leaving.get(ends):
                if not any(_are_named(names, said) for said in others | {part}):
                    yield "the edge from {} to {} does not say which output it is".format(*ends)
            elif others or (part and (ends, part) not in self.said):
                words = f"carries {part}, which is not said" if part else f"is said to carry {', '.join(others)}"
                yield "the edge from {} to {} {}".format(*ends, words)
        for (a, b), n in drawn.items():
            if n != len(self.edges.get((a, b), ("one",))):
                yield f"the edge from {a} to {b} is drawn {n} times"
            if (a, b) not in self.edges:
                yield f"lines lead from {a} to {b}, between which there is no edge"

    def _reached_from(self, line: int) -> set[int]:
        first = {line: 0.0}
        """How far along each the way comes to it, at the earliest."""
        pending = [line]
        for i in pending:
            for j, (leaves, arrives) in self.next[i].items():
                if leaves >= first[i] - _TOUCHES and arrives < first.get(j, math.inf):
                    first[j] = arrives
                    pending.append(j)
        return {*first}

    def _at(self, point: _Point, key: str) -> bool:
        """Whether a line begins or ends at the border of a node, or in the open if the node is the end of lines.

        A name of such an end is not the open.
        """
        figure = self.figures.get(key)
        if figure is None:
            nodes = (other for k, other in self.figures.items() if "b" not in k)
            return not any(_is_at(point, other) for other in (*nodes, *self.tags))
        return _is_at(point, figure)

    def _at_tag(self, line: Line, point: _Point | None, key: str, before: str = "") -> bool:
        """Whether a line ends at the name of a node, which is that of no other."""
        tag = next((tag for tag in self.tags if point and _is_at(point, tag)), None)
        node = self.figures.get(key)
        if tag is None or node is None or not (word := _beginnings(tag)[-1]).startswith(before.strip()):
            return False
        word, part = word.removeprefix(before.strip()), self.parts.get(line.ends, "")
        if part and word.endswith(end := f" · {part}".replace(" ", "")):
            word = word.removesuffix(end)
            self.said.add((line.ends, part))
        is_name = any(word in names for names in _beginnings(node))
        if before:  # the only one in all of the picture, perhaps with a shape behind it
            named = (self._named(name, key, before) for name in (word, word.rpartition("·")[0]))
            is_name = next(filter(None, named), []) == [key]
        return is_name and self.named.setdefault((_letter(key), word), key) == key

    def _named(self, word: str, key: str, before: str) -> list[str]:
        """The nodes, where such a one is, whose name a word on a tag may be: they get lines, or lines leave them."""
        ends = {pair[before == "to "] for pair in self.edges}
        there = (names for names in self.names if names[0] in ends and _letter(names[0]) == _letter(key))
        return [other for other, names in there if word in names]

    def _reached(self, line: int, point: _Point) -> float | None:
        """Distance along a line at which a point lies on it; None if it does not."""
        if line not in self.along:
            self.along[line] = _points(self.lines[line])
        points, gone = self.along[line], 0.0
        for a, b in pairwise(points):
            off, along = _nearest(a, b, point)
            if off <= _TOUCHES:
                return gone + along
            gone += math.dist(a, b)
        return None


def _are_named(names: Set[str], said: str) -> bool:
    """Whether a text names these outputs, and no others, or a few of them and `…`."""
    parts = {part.removeprefix("output ") for part in said.split(", ")}
    return parts - {"…"} <= names and ("…" in parts or parts == names)


def _beginnings(figure: Figure) -> list[str]:
    """The words of a figure up to each of its lines, without spaces, which stand nowhere where a line ends."""
    return [*accumulate(word.text.replace(" ", "") for word in figure.words)]


def _letter(key: str) -> str:
    """The inset that a key belongs to."""
    return key.rstrip("0123456789")


def _is_at(point: _Point, figure: Figure) -> bool:
    (x, y), (left, top, right, bottom) = point, figure.rect
    if figure.is_round:
        wide, high = (right - left) / 2 or 1.0, (bottom - top) / 2 or 1.0
        off = math.hypot((x - left - wide) / wide, (y - top - high) / high) - 1.0
        return abs(off) * min(wide, high) <= _TOUCHES
    is_near = left - _TOUCHES <= x <= right + _TOUCHES and top - _TOUCHES <= y <= bottom + _TOUCHES
    return is_near and min(x - left, right - x, y - top, bottom - y) <= _TOUCHES


def _points(line: Line) -> list[_Point]:
    """Points along a line whose straight parts are those of the curve, about."""
    curve = line.curve
    points = [*curve] if len(curve) == 2 else [curve[0]]
    for i in range(0, len(curve) - 3, 3):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = curve[i : i + 4]
        for t in (0.25, 0.5, 0.75, 1.0):
            u = 1 - t
            a, b, c, d = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
            points.append((a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    return [*points, line.tip] if line.tip else points
