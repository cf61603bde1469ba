"""What lies where in a finished picture, read from its SVG alone, and what lies on something it should not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from xml.etree import ElementTree

from tests.core.drawing.engines import SVG, parsed
from torchrecorder.layout.widths import width

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
_HAIR = 1.2
"""Things may touch by this much: lines have a width, and numbers one decimal."""
_AIR = 4.0
"""What is left at least between a word and the border of its node."""
_TURN, _APART = 6.0, 0.4
"""Lines cross if so far before and behind the place they lie on both sides of each other, by so much at least."""
_BESIDE, _ALONG = 1.5, 5.0
"""Lines that are no further apart are one to the eye; two may meet over so much, which is no longer than an arrow."""
_BY_LINE = 6.0
"""How far a word stands from its line at most."""
_NUMBERS = {"M": 2, "l": 2, "c": 6, "h": 1, "v": 1}
_TOKEN = re.compile(r"[Mlchv]|-?\d*\.?\d+")


@dataclass
class Seen:
    """Texts, nodes and edges of a picture."""

    size: Point
    nodes: list[Box] = field(default_factory=list)
    circles: list[tuple[float, float, float]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    titles: list[tuple[str, Box]] = field(default_factory=list)
    words: list[tuple[str, Box]] = field(default_factory=list)
    labels: list[tuple[str, Box]] = field(default_factory=list)
    """The words in nodes."""
    names: list[tuple[str, str, float]] = field(default_factory=list)
    """The bold words of each node, its kind, and the size of the words in points."""
    tags: int = 0
    """How many of the nodes only refer to another, which stands elsewhere."""
    edges: list[list[Point]] = field(default_factory=list)
    """Points along each drawn part of an edge."""
    lines: list[list[Point]] = field(default_factory=list)
    """Points along each edge, also where it is cut because it lies behind something."""
    ends: list[tuple[str, ...]] = field(default_factory=list)
    """Keys of the nodes that each of the lines joins, the tail first."""


def seen(svg: str) -> Seen:
    root = parsed(svg)
    _, _, wide, high = (float(number) for number in root.get("viewBox", "").split())
    found = Seen((wide, high))
    for group in root:
        kind = group.get("class")
        size = float(group.get("font-size", "10.5"))
        if kind == "boxes":
            found.boxes += [_rect(rect) for rect in group.iter(f"{SVG}rect")]
        elif kind == "shapes":
            found.words += [_text(text, size, "middle") for text in group.iter(f"{SVG}text")]
        elif kind in ("edges", "skips", "backs"):
            parts = _curves(next(path for path in group if path.get("fill") == "none").get("d", ""))
            found.edges += parts
            whole = [*_joined(group.get("data-ends", ""), parts)]
            found.lines += [points for _, points in whole]
            found.ends += [ends for ends, _ in whole]
        elif kind == "nodes":
            for rect in group.iter(f"{SVG}rect"):
                left, top, right, bottom = box = _rect(rect)
                is_round = abs(2 * float(rect.get("rx", "0")) - (right - left)) < 0.2
                if is_round:
                    found.circles.append(((left + right) / 2, (top + bottom) / 2, (right - left) / 2))
                else:
                    found.nodes.append(box)
            circles = group.iter(f"{SVG}circle")
            found.circles += [tuple(float(c.get(k, "0")) for k in ("cx", "cy", "r")) for c in circles]  # type: ignore[misc]
            found.labels += [_text(text, size, "middle") for text in _texts(group, of_titles=False)]
            found.names += _names(group, size)
            kinds = [(node.get("class"), node.get("data-n")) for node in group.iter(f"{SVG}g")]
            found.tags = sum(1 for kind, key in kinds if kind == "data" and not key) if any(k for _, k in kinds) else 0
        found.titles += [_text(text, size, "start") for text in _texts(group, of_titles=True)]
    return found


def _names(group: ElementTree.Element, size: float) -> Iterator[tuple[str, str, float]]:
    for node in group.iter(f"{SVG}g"):
        if (kind := node.get("class")) and kind not in ("nodes", "titles"):
            bold = [text for text in node.iter(f"{SVG}text") if text.get("font-weight") == "600"]
            if bold:
                said = " ".join("".join(text.itertext()) for text in bold)
                yield said, kind, float(bold[0].get("font-size", str(size)))


def _joined(ends: str, parts: Sequence[list[Point]]) -> Iterator[tuple[tuple[str, ...], list[Point]]]:
    """Whole edges with the keys of their nodes; a group says of each in how many parts it is drawn."""
    edges = [edge.split(" ") for edge in ends.split(",")] if ends else [[]] * len(parts)
    at = 0
    for edge in edges:
        n = int(edge[2]) if len(edge) > 2 else 1
        if n:
            yield tuple(edge[:2]), [point for part in parts[at : at + n] for point in part]
        at += n
    assert at == len(parts), f"{len(parts)} parts of edges, of which {at} are told"


def _texts(group: ElementTree.Element, *, of_titles: bool) -> Iterator[ElementTree.Element]:
    """The texts of titles, which stand among the nodes in the order of reading; or the others."""
    titles = [titles for titles in group.iter(f"{SVG}g") if titles.get("class") == "titles"]
    of_them = {id(text): text for title in titles for text in title.iter(f"{SVG}text")}
    yield from of_them.values() if of_titles else (t for t in group.iter(f"{SVG}text") if id(t) not in of_them)


def faults(seen: Seen) -> list[str]:
    """Each thing that lies on another."""
    return [*_edges_on_things(seen), *_texts_on_texts(seen), *_texts_outside(seen)]


def _edges_on_things(seen: Seen) -> Iterator[str]:
    for points in seen.edges:
        where = f"edge {points[0][0]:.0f},{points[0][1]:.0f} – {points[-1][0]:.0f},{points[-1][1]:.0f}"
        for box in seen.nodes:
            if any(_inside(point, box) for point in points):
                yield f"{where} runs through the node at {box}"
        for x, y, radius in seen.circles:
            if any((px - x) ** 2 + (py - y) ** 2 < (radius - _HAIR) ** 2 for px, py in points):
                yield f"{where} runs through the sign at {x, y}"
        for text, box in seen.titles:
            if any(_inside(point, box) for point in points):
                yield f"{where} runs through the title {text!r}"


def behind_titles(seen: Seen) -> list[str]:
    """The titles that an edge passes behind; it is not drawn there, but the eye follows it into the words."""
    return [title for title, box in seen.titles if any(_meets(points, box) for points in seen.lines)]


def behind_nodes(seen: Seen) -> list[str]:
    """Each edge that passes behind or before a node that is not one of its ends."""
    return [
        f"an edge from {_said(points[0])} to {_said(points[-1])} meets the node at {box}"
        for points in seen.lines
        for box in seen.nodes
        if _meets(points, _grown(box, -_HAIR))
    ]


def words_on_edges(seen: Seen) -> list[str]:
    """The words beside edges that an edge runs through."""
    return [word for word, box in seen.words if any(_meets(points, box) for points in seen.lines)]


def foreign_words(seen: Seen, said: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    """The words that stand as near to another line as to their own, of which we know the tail, or both ends.

    One that is far from each such line says something else, such as the name of an argument.
    """
    known: dict[str, set[tuple[str, ...]]] = {}
    for word, ends in said:
        known.setdefault(word, set()).add(ends)
    lines = [(ends, _corners(points)) for points, ends in zip(seen.lines, seen.ends, strict=True)]
    found = []
    for word, box in seen.words:
        far = {True: math.inf, False: math.inf}
        for ends, points in lines if word in known else ():
            is_own = any(ends[: len(own)] == own for own in known[word])
            far[is_own] = min([far[is_own], *(_off(p, q, box) for p, q in pairwise(points))])
        if far[False] <= far[True] < _BY_LINE:
            found.append(word)
    return found


def words_on_borders(seen: Seen) -> list[str]:
    """The words beside edges that the border of a box runs through."""
    sides = [
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        for left, top, right, bottom in seen.boxes
    ]
    return [word for word, box in seen.words if any(_meets(points, box) for points in sides)]


def lone_boxes(seen: Seen) -> list[Box]:
    """The boxes with no more than one node in them."""
    middles = [((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in seen.nodes]
    middles += [(x, y) for x, y, _ in seen.circles]
    return [box for box in seen.boxes if sum(_inside(point, box) for point in middles) < 2]


def crossings(seen: Seen) -> list[Point]:
    """Where edges cross. Those that part from a common line, or end in one, do not."""
    lines = [_corners(points) for points in seen.lines]
    frames = [_frame(points) for points in lines]
    found = []
    for i, j in combinations(range(len(frames)), 2):
        if _is_near(frames[i], frames[j]):
            found += _crossings(lines[i], lines[j])
    return found


def merging(seen: Seen, least: float = _ALONG) -> list[str]:
    """Lines of two tails that cannot be told apart over some length, in points."""
    lines = [_unrounded(points) for points in seen.lines]
    frames = [_grown(_frame(points), _BESIDE) for points in lines]
    found = []
    for i, j in combinations(range(len(lines)), 2):
        one, other = seen.ends[i], seen.ends[j]
        if one[:1] != other[:1] and one[:1] and _is_near(frames[i], frames[j]):
            shared = [part for a in pairwise(lines[i]) for b in pairwise(lines[j]) if (part := _shared(a, b))]
            if sum(math.dist(*part) for part in shared) > least:
                place = max(shared, key=lambda part: math.dist(*part))
                found.append(
                    f"{'→'.join(one)} and {'→'.join(other)} are one from {_said(place[0])} to {_said(place[1])}"
                )
    return found


def _unrounded(points: Sequence[Point]) -> list[Point]:
    """The points of a line of right angles whose corners are not round; other curves as they are."""
    parts: list[tuple[bool, float, Point, Point]] = []  # whether it is upright, where, and its ends
    for p, q in pairwise(points):
        for is_upright, across in ((True, 0), (False, 1)):
            if abs(p[across] - q[across]) < 0.05 < abs(p[1 - across] - q[1 - across]):
                if parts and parts[-1][0] == is_upright and abs(parts[-1][1] - p[across]) < 0.5:
                    parts[-1] = (*parts[-1][:3], q)
                else:
                    parts.append((is_upright, p[across], p, q))
    if any(a[0] == b[0] for a, b in pairwise(parts)):  # a curve
        return _corners(points)
    turns = [(a[1], b[1]) if a[0] else (b[1], a[1]) for a, b in pairwise(parts)]
    return [points[0], *turns, points[-1]]


def _shared(a: tuple[Point, Point], b: tuple[Point, Point]) -> tuple[Point, Point] | None:
    """The stretch of a straight part beside which another one lies, if both are upright or both level."""
    for along in (0, 1):
        across = 1 - along
        if any(abs(p[across] - q[across]) > 0.1 for p, q in (a, b)) or abs(a[0][across] - b[0][across]) > _BESIDE:
            continue
        (low, high), (first, last) = sorted(p[along] for p in a), sorted(p[along] for p in b)
        start, end = max(low, first), min(high, last)
        if end > start:
            at = a[0][across]
            return ((start, at), (end, at)) if along == 0 else ((at, start), (at, end))
    return None


def _corners(points: Sequence[Point]) -> list[Point]:
    """The points without those on the straight line between their neighbours."""
    found = [points[0]]
    for point, following in pairwise(points[1:]):
        if abs(_side(found[-1], following, point)) > 0.01:
            found.append(point)
    return [*found, points[-1]]


def _is_near(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _crossings(a: Sequence[Point], b: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    frame = _frame(a)
    near = [(j, r, s) for j, (r, s) in enumerate(pairwise(b)) if _is_near(_frame((r, s)), frame)]
    for i, (p, q) in enumerate(pairwise(a)):
        for j, r, s in near:
            place = _meeting(p, q, r, s)
            if place is None or any(math.dist(place, other) < _TURN for other in found):
                continue
            ends = _from(a[i::-1], place), _from(a[i + 1 :], place)
            others = _from(b[j::-1], place), _from(b[j + 1 :], place)
            sides, back = ([_side(*chord, point) for point in both] for chord, both in ((ends, others), (others, ends)))
            if all(min(pair) < -_APART and max(pair) > _APART for pair in (sides, back)):
                found.append(place)
    return found


def _meeting(p: Point, q: Point, r: Point, s: Point) -> Point | None:
    """Where two straight parts meet."""
    d = (q[0] - p[0]) * (s[1] - r[1]) - (q[1] - p[1]) * (s[0] - r[0])
    if not d:
        return None
    t = ((r[0] - p[0]) * (s[1] - r[1]) - (r[1] - p[1]) * (s[0] - r[0])) / d
    u = ((r[0] - p[0]) * (q[1] - p[1]) - (r[1] - p[1]) * (q[0] - p[0])) / d
    return (p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])) if 0 <= t <= 1 and 0 <= u <= 1 else None


def _from(points: Sequence[Point], place: Point) -> Point:
    """The first of the points that is some way off a place, or the last."""
    return next((point for point in points if math.dist(point, place) > _TURN), points[-1])


def _side(start: Point, end: Point, point: Point) -> float:
    """How far a point lies to the right of a line; negative to its left."""
    across = (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])
    return across / (math.dist(start, end) or 1)


def _meets(points: Sequence[Point], box: Box) -> bool:
    left, top, right, bottom = _grown(box, -_HAIR)
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    if any(left < x < right and top < y < bottom for x, y in points):
        return True
    frame = _frame(points)
    if frame[0] > right or frame[2] < left or frame[1] > bottom or frame[3] < top:
        return False
    return any(_meeting(p, q, r, s) is not None for p, q in pairwise(points) for r, s in pairwise(corners))


def _off(p: Point, q: Point, box: Box) -> float:
    """How far a straight part passes a box."""
    if _meets((p, q), box):
        return 0.0
    (left, top, right, bottom), (long_x, long_y) = box, (q[0] - p[0], q[1] - p[1])
    far = [math.hypot(max(left - x, 0.0, x - right), max(top - y, 0.0, y - bottom)) for x, y in (p, q)]
    for x, y in ((left, top), (right, top), (left, bottom), (right, bottom)):
        along = ((x - p[0]) * long_x + (y - p[1]) * long_y) / (long_x**2 + long_y**2 or 1.0)
        along = min(max(along, 0.0), 1.0)
        far.append(math.dist((x, y), (p[0] + along * long_x, p[1] + along * long_y)))
    return min(far)


def _frame(points: Sequence[Point]) -> Box:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _said(point: Point) -> str:
    return f"{point[0]:.0f},{point[1]:.0f}"


def along_borders(seen: Seen, least: float = 30.0) -> list[str]:
    """Each edge that cannot be told from the side of a box over some length, in points."""
    found = []
    for points in seen.edges:
        for left, top, right, bottom in seen.boxes:
            for side in (left, right):
                on_it = [y for x, y in points if abs(x - side) < 3 and top < y < bottom]
                if on_it and max(on_it) - min(on_it) > least:
                    found.append(f"an edge runs along {side:.0f} from {min(on_it):.0f} to {max(on_it):.0f}")
    return found


def _texts_on_texts(seen: Seen) -> Iterator[str]:
    texts = [*seen.titles, *seen.words, *seen.labels]
    for (one, a), (two, b) in combinations(texts, 2):
        if _overlap(a, b):
            yield f"{one!r} lies on {two!r}"
    for word, a in seen.words:
        if any(_overlap(a, node) for node in seen.nodes):
            yield f"{word!r} lies on a node"


def _texts_outside(seen: Seen) -> Iterator[str]:
    page = (-0.5, -0.5, seen.size[0] + 0.5, seen.size[1] + 0.5)
    for text, box in [*seen.titles, *seen.words, *seen.labels]:
        if box[0] < page[0] or box[2] > page[2] or box[1] < page[1] or box[3] > page[3]:
            yield f"{text!r} leaves the picture"
    for label, (left, top, right, bottom) in seen.labels:
        nodes = [node for node in seen.nodes if node[0] <= (left + right) / 2 <= node[2] and node[1] <= top <= node[3]]
        if any(left < node[0] + _AIR or right > node[2] - _AIR or bottom > node[3] for node in nodes):
            yield f"{label!r} touches the border of its node"
    for title, (left, top, right, _) in seen.titles:
        around = [box for box in seen.boxes if box[0] <= left and box[1] <= top <= box[3] and left <= box[2]]
        if around and right > min(around, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]))[2]:
            yield f"the title {title!r} leaves its box"


def _inside(point: Point, box: Box) -> bool:
    left, top, right, bottom = box
    return left + _HAIR < point[0] < right - _HAIR and top + _HAIR < point[1] < bottom - _HAIR


def _overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > _HAIR and min(a[3], b[3]) - max(a[1], b[1]) > _HAIR


def _rect(rect: ElementTree.Element) -> Box:
    x, y, wide, high = (float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
    return x, y, x + wide, y + high


def _text(text: ElementTree.Element, size: float, anchor: str) -> tuple[str, Box]:
    said = "".join(text.itertext())
    size = float(text.get("font-size", str(size)))
    bold = text.get("font-weight") == "600"
    parts = [text, *text]
    long = sum(width(part.text or "", size, bold=bold or part.get("font-weight") == "600") for part in parts)
    long += sum(width(part.tail or "", size, bold=bold) for part in text)
    x, y = float(text.get("x", "0")), float(text.get("y", "0"))
    left = x - long / 2 if anchor == "middle" else x
    return said, (left, y - 0.72 * size, left + long, y + 0.2 * size)


def _curves(data: str) -> list[list[Point]]:
    """Points along each curve of path data as we write it: `M`, then `l`, `h`, `v` or `c` with relative steps."""
    found: list[list[Point]] = []
    tokens = _TOKEN.findall(data)
    at, letter = 0, ""
    while at < len(tokens):
        if tokens[at] in "Mlchv":
            letter = tokens[at]
            at += 1
        n = _NUMBERS[letter]
        numbers = [float(token) for token in tokens[at : at + n]]
        at += n
        if letter == "M":
            found.append([(numbers[0], numbers[1])])
            continue
        x, y = found[-1][-1]
        if letter in "hv":
            numbers = [numbers[0], 0.0] if letter == "h" else [0.0, numbers[0]]
        steps = [(x + dx, y + dy) for dx, dy in zip(numbers[::2], numbers[1::2], strict=True)]
        b, c, d = steps if letter == "c" else [(x, y), steps[0], steps[0]]
        found[-1] += _along((x, y), b, c, d)
    return found


def _along(a: Point, b: Point, c: Point, d: Point, n: int = 40) -> Iterator[Point]:
    for i in range(1, n + 1):
        t, u = i / n, 1 - i / n
        k = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
        x, y = (k[0] * a[axis] + k[1] * b[axis] + k[2] * c[axis] + k[3] * d[axis] for axis in (0, 1))
        yield x, y
