"""The proof of what is said: names, repeats, numbers of parameters, sizes on lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice, product
from typing import TYPE_CHECKING

from torchrecorder.graph import Graph, Op, symbolic
from torchrecorder.proof import formulas
from torchrecorder.proof import words as names
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import JOINS, Claim
from torchrecorder.proof.indices import beyond_span
from torchrecorder.view.model import boxes_around

if TYPE_CHECKING:
    from torchrecorder.layout.model import Layout
    from torchrecorder.view import Box, Edge, Node, View

_TIMES = re.compile(r"(?:(?:^|\s)×|\bcalled |\beach of )(\d+)(?=\s|$)|(?:^|\s)(\d+) in parallel\b")
"""`×4`, `called 5 times`, `each of 4 layers` and `6 in parallel`, but no sizes such as `3×3`."""
_SHARED = re.compile(r"params?, ([\d.]+)(?:\s([kMBT]))? shared\b")
_PARAMS = re.compile(r"(?:^|\s)([\d.]+)(?:\s([kMBT]))? params?\b( each)?")
_REST = re.compile(r"([\d.]+)(?: ([kMBT]))? not run\b")
_LESS = re.compile(r"\b(with|without) .*")
"""What some of the layers of a run have and others have not."""
_THOUSANDS = "kMBT"
_RECORDED = re.compile(r"([\d×]+)(?: · [^,·]+)* at N = (\d+)")
_SIZE = r"(?:\d+|\d*N(?:/\d+)?|…)"
_SHAPE = re.compile(rf"{_SIZE}(?:×{_SIZE})*(?:(?:, | → ){_SIZE}(?:×{_SIZE})*)*(?= · |$)")
_BETWEEN = re.compile(r"(, | → )")


def faults(coverage: Coverage, letter: str, layout: Layout, calls: Iterable[int] = ()) -> Iterator[str]:
    """Sentences on words in a picture, or in an inset with a letter for calls, that are not true of its Graph."""
    view, said = coverage.view, _words_of(layout)
    for box in view.boxes:
        yield from _numbers(view.graph, box, words := said.get(f"{letter}b{box.id}", ""))
        yield from _unlike(coverage, box, words) if words and box.repeat > 1 and box.repetition != "loop" else ()
    for node in view.nodes:
        yield from _recorded(view.graph, node, said.get(f"{letter}{node.id}", ""))
        if node.kind == "call" or node.repeat > 1:
            words = said.get(f"{letter}{node.id}", "")
            yield from _numbers(view.graph, node, words)
            yield from _unlike(coverage, node, words) if words and node.repeat > 1 else ()
            lost = [text for text in node.differs if (ops := _LESS.search(text)) and ops[0] not in words]
            yield from (f"“{words}” at {letter}{node.id} has lost “{text}”" for text in lost if words)
    yield from _shapes(coverage, letter, layout, calls)
    yield from _arguments(view, letter, layout)
    entrances = {line.ends[0]: line.word for line in layout.lines if line.word}  # of insets: no figures
    yield from names.faults(view, letter, entrances | _words_of(layout, " · "))
    computing = {f"{letter}{node.id}": node for node in view.nodes if node.kind in ("call", "function", "op")}
    for figure in (it for it in layout.nodes if it.key in computing and it.style.label is None):
        node = computing[figure.key]
        runs = [coverage.facts.ops_of([call]) for part in (node, *node.parts) for call in part.calls]
        for text in formulas.faults(view.graph, node, [word.text for word in figure.words], runs):
            yield Claim(f"“{text}” at {figure.key} is not what is computed there", figure.key)


def _recorded(graph: Graph, node: Node, words: str) -> Iterator[str]:
    """Sentences on sizes of one run that are not those of a tensor in it, or of another batch."""
    shapes = {"×".join(map(str, graph.values[value].shape)) for value in node.values}
    ends = [(graph.values[value].shape, symbolic(graph, value)) for value in graph.inputs.values()]
    batch = {n for shape, meta in ends if meta for n, symbol in zip(shape, meta.shape, strict=True) if symbol == "N"}
    for shape, n in _RECORDED.findall(words):
        if shape not in shapes or {int(n)} != batch:
            yield f"“{shape} at N = {n}” is not the size of {node.name} in the recording"


def _arguments(view: View, letter: str, layout: Layout) -> Iterator[str]:
    """Sentences on lines whose arguments are not in the order in which their layer gets the tensors.

    The names at the beginning of such a line are in that order, too.
    """
    calls = {f"{letter}{node.id}": node.calls[0] for node in view.nodes if node.kind == "call"}
    for line in (line for line in layout.lines if ", " in line.word and line.ends[1] in calls):
        inputs = view.graph.calls[calls[line.ends[1]]].inputs
        first = {path.partition(".")[0]: value for path, value in reversed([*inputs.items()])}
        places = [[*inputs.values()].index(first[name]) for name in line.word.split(", ") if name in first]
        if places != sorted(places):
            yield f"“{line.word}” on the line from {line.ends[0]} to {line.ends[1]} is not in the layer's order"


def _words_of(layout: Layout, between: str = " ") -> dict[str, str]:
    """By key of a node or box the words that stand at it, but for those of a styler."""
    unstyled = (figure for figure in (*layout.nodes, *layout.boxes) if figure.style.label is None)
    said = {figure.key: between.join(word.text for word in figure.words) for figure in unstyled}
    for title in layout.titles or ():
        if title.key in said:
            said[title.key] += f" {title.word.text}"
    return said


def _numbers(graph: Graph, thing: Box | Node, words: str) -> Iterator[str]:
    if not words:
        return
    where = next((graph.calls[call].module for call in thing.calls), "") or "the model"
    times = [int(match[1] or match[2]) for match in _TIMES.finditer(words)]
    if thing.repeat > 1 and thing.repeat not in times:
        yield f"“{words}” does not say that {where} stands for {thing.repeat} calls"
    if thing.repeat == 1 and times:
        yield f"“{words}” says {times[0]} calls of {where}, which is one"
    if "param" in words and (match := _PARAMS.search(words)):
        modules = dict.fromkeys(graph.calls[call].module for call in thing.calls)
        totals = [graph.modules[path].params.total for path in modules if path in graph.modules]
        ways = (totals, _read_apart(graph, thing.calls))
        if not any(_are_said(match, numbers if match[3] else [sum(numbers)]) for numbers in ways):
            yield f"“{words}” says other numbers of parameters than {where} has, {', '.join(map(str, totals[:3]))}"
    if match := _SHARED.search(words):
        inside, outside = dict[str, int](), dict[str, int]()
        for op in graph.ops:
            is_in = any(row.id in thing.calls for row in graph.around(op.call))
            (inside if is_in else outside).update(_read(graph, op))
        if not _are_said(match, [sum(inside[name] for name in inside.keys() & outside.keys() & graph.tied.keys())]):
            yield f"“{words}” says other numbers of parameters that are read in {where} and elsewhere"
    if match := _REST.search(words):
        read: dict[str, int] = {}
        for op in graph.ops:
            read |= _read(graph, op)
        rest = graph.modules[""].params.total - sum(read.values())
        if not _are_said(match, [rest]):
            yield f"“{words}” says other numbers of parameters that are not run than {rest}"


def _unlike(coverage: Coverage, thing: Box | Node, words: str) -> Iterator[str]:
    """Sentences on what no line brings and some calls get another one of, where that is not said, or is not so."""
    graph, facts, period = coverage.graph, coverage.facts, getattr(thing, "period", 1)
    entered = {value for node in coverage.view.nodes for value in node.values}
    start, true = min(facts.ops_of(thing.calls), default=0), set[str]()
    for rows in ([graph.calls[call] for call in thing.calls[i::period]] for i in range(period)):
        given: dict[str, dict[int, list[int]]] = {}
        for row in rows:
            for path, value in row.inputs.items():
                *_, name = ("", *(part for part in path.split(".") if not part.isdigit()))
                given.setdefault(name, {}).setdefault(row.id, []).append([*names.way(graph, value)][-1])
        for name, read in given.items():
            values = {value for of in read.values() for value in of}
            made = {op for value in values if (op := graph.values[value].producer) is not None}
            is_side = all(facts.is_side[value] for value in values) and entered.isdisjoint(values)
            if name and is_side and max(made, default=-1) < start and made.isdisjoint(coverage.nodes):
                kinds = {tuple(facts.recipes[value] for value in of) for of in read.values()}
                true |= {f"{len(kinds)} kinds of {name}"} if len(kinds) > 1 else set()
                is_some = len(read) < len(rows) and not thing.differs
                true |= {f"{len(read)} of {len(rows)} with {name}"} if is_some else set()
    said = {*re.findall(r"\d+ kinds of [\w.]+", words), *(text for text in true if text in words)}
    yield from (f"“{words}” says “{text}”, which is not so, or lacks it" for text in sorted(true ^ said))


def _are_said(match: re.Match[str], numbers: Iterable[int]) -> bool:
    """Whether numbers are what a number with a unit says: three digits, of which zeros at the end are left out."""
    exact = float(match[1]) * (1000 ** (_THOUSANDS.index(match[2]) + 1) if match[2] else 1)
    room = 0.5001 * 10 ** (math.floor(math.log10(exact)) - 2) if match[2] else 0
    return all(abs(number - exact) <= room for number in numbers)


def _read(graph: Graph, op: Op) -> dict[str, int]:
    """Sizes of the parameters that an op reads, by name."""
    params = (value for value in map(graph.values.__getitem__, op.inputs) if value.kind == "param")
    return {it.name or "": math.prod(size for size in it.shape if isinstance(size, int)) for it in params}


def _read_apart(graph: Graph, calls: Sequence[int]) -> list[int]:
    """How many parameters each call reads; nothing if two of them read the same one, which counts once."""
    read: dict[int, dict[str, int]] = {call: {} for call in calls}
    for op in graph.ops:
        for row in graph.around(op.call):
            if row.id in read:
                read[row.id] |= _read(graph, op)
    names = [name for sizes in read.values() for name in sizes]
    return [sum(sizes.values()) for sizes in read.values()] if len(names) == len({*names}) else []


def _shapes(coverage: Coverage, letter: str, layout: Layout, calls: Iterable[int]) -> Iterator[str]:
    """Sentences on lines that say a shape which nothing on their way has, or not that of what arrives.

    `…` is for any sizes; what is around it holds in all turns, and in all calls that an inset is for.
    """
    others: dict[int, list[int]] = {}
    """By op of an inset those at its place in the other calls."""
    for call in calls:
        for other, first in coverage.facts.match(call, coverage.root).ops.items() if call != coverage.root else ():
            others.setdefault(first, []).append(other)
    view = coverage.view
    edges: dict[tuple[str, str], list[Edge]] = {}
    for edge in view.edges:
        if "…" in edge.part and (wrong := beyond_span(edge.part, _cuts(coverage, edge, others))):
            yield f"“{edge.part}” in {letter or 'the picture'} {wrong}"
        tail = view.nodes[edge.tail]
        for key in {tail.id, *(tail.links if tail.kind == "from" else ())}:
            edges.setdefault((f"{letter}{key}", f"{letter}{edge.head}"), []).append(edge)
    reads: dict[int, list[int]] = {}
    """By node the values that its ops read, of what is drawn once in the first turn."""
    for op in view.graph.ops:
        for node in coverage.nodes.get(op.id, ()) if not any(coverage.turns.get(op.id, {}).values()) else ():
            reads.setdefault(node, []).extend(op.inputs)
    for line in layout.lines:
        said = _SHAPE.match(line.word)
        if said is None or said[0].isdigit() or line.ends not in edges:  # the number of an output
            continue
        shown = [(edge, [*_ways(view, edge, coverage, reads)]) for edge in edges[line.ends] if not edge.back]
        ways = [of for _, of in shown]
        carried = {value for of_edge in ways for way in of_edge for value in way}
        for edge in edges[line.ends]:  # a later turn of what is drawn once, or what is made on a way that is not drawn
            carried |= {*_moved(coverage, edge.value)}
        known, texts = {_shape(view, value) for value in carried} | {", ", " → "}, _BETWEEN.split(said[0])
        of_first = [*map("".join, product(*(filter(_like(text), known) for text in texts)))]
        what = _least_wrong(view, shown, of_first)
        if what and "…" in said[0]:  # each way may have other sizes there
            one_by_one = (_least_wrong(view, [(edge, [way])], of_first) for edge, of in shown for way in of)
            what = max(one_by_one, key=len, default=what)
        if not what and not all(_is_of_names(view, edge, texts[::2]) for edge, _ in shown if "→" not in said[0]):
            what = "what it names, in that order"
        if not what and any(_is_of_join(coverage, edge, texts[0]) for edge, _ in shown):
            what = "what was not yet joined with others"
        if not what and not all(_is_even(coverage, edge, of, others, texts) for edge, of in shown):
            what = "what it carries elsewhere"
        if what:
            where = "“{}” on the line from {} to {} is not the shape of".format(line.word, *line.ends)
            yield Claim(f"{where} {what}", *line.ends)


def _cuts(coverage: Coverage, edge: Edge, others: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """The indices in code of what the head of an edge reads, in all turns and calls."""
    facts, ops = coverage.facts, coverage.graph.ops
    for op in (ops[at] for at in coverage.ops if ops[at].name == "getitem"):
        if any(edge.head in coverage.nodes.get(reader, ()) for reader in facts.readers[op.outputs[0]]):
            rows = (ops[at] for at in (op.id, *others.get(op.id, ())))
            yield from (f"[{row.attrs.get('1', '').strip('()').rstrip(',')}]" for row in rows)


def _least_wrong(view: View, shown: Sequence[tuple[Edge, Sequence[Sequence[int]]]], texts: Sequence[str]) -> str:
    """The fault of the one of some shapes that fits a line best."""
    return min((_wrong(view, shown, text) for text in texts), key=len, default="what it carries")


def _wrong(view: View, shown: Sequence[tuple[Edge, Sequence[Sequence[int]]]], said: str) -> str:
    """Of what shapes without `…` are not those that a line has; empty of none."""
    if not all(_arrives(view, view.nodes[edge.head], of, said) for edge, of in shown):
        return "what arrives"
    wrong = (edge.part for edge, of in shown for way in of if not _is_of_index(view, way, edge.part, said))
    return next((f"what “{part}” is a part of" for part in wrong), "")


def _like(text: str) -> Callable[[str], object]:
    """Whether a shape is as a text says, in which `…` is for any sizes."""
    return re.compile(text.replace("…", r"[\dN/×]+")).fullmatch


def _is_even(
    coverage: Coverage,
    edge: Edge,
    ways: Sequence[Sequence[int]],
    others: Mapping[int, Sequence[int]],
    said: Sequence[str],
) -> bool:
    """Whether texts hold in other turns of the boxes around both ends as well, and in other calls."""
    view, facts, ops = coverage.view, coverage.facts, coverage.graph.ops
    tail, head = _boxes_around(view, edge)
    one_each = {box for box in head if view.boxes[box].repetition in ("parallel", "shared")}
    within = (tail & head) | (one_each if len(view.nodes[edge.tail].values) > 1 else set())
    for value, before in (pair for way in (*ways, [edge.value]) for pair in zip(way, (None, *way), strict=False)):
        made, shape = view.graph.values[value].producer, _shape(view, value)
        likes = [like for like in map(_like, said) if like(shape)]
        at = [op for op in facts.readers[value] if edge.head in coverage.nodes.get(op, ()) or before in ops[op].outputs]
        for op in (*at, *(() if made is None else (made,))) if likes else ():
            again = coverage.again.get(op, ())
            turns = (it for it in again if {box for box, turn in coverage.turns[it].items() if turn} <= within)
            for other in (ops[there] for it in (op, *turns) for there in (it, *others.get(it, ()))):
                sides = (ops[op].outputs, other.outputs), (ops[op].inputs, other.inputs)
                alike = [it for side in sides for own, it in zip(*side, strict=False) if own == value]
                if not all(like(_shape(view, it)) for it in alike for like in likes):
                    return False
    return True


def of_first_turns(coverage: Coverage) -> Iterator[Edge]:
    """Edges into boxes in which later turns read something else, such as what the turn before gives."""

    def source(value: int) -> int:
        return [*_moved(coverage, value)][-1]

    for edge in (edge for edge in coverage.view.edges if edge.head in coverage.repeated and not edge.back):
        tail, head = _boxes_around(coverage.view, edge)
        if any(source(it) != source(edge.value) for it in _again(coverage, edge, head - tail)):
            yield edge


def _moved(coverage: Coverage, value: int) -> Iterator[int]:
    """A value, and those that moves have made it from."""
    graph, same = coverage.graph, range(len(coverage.graph.values))
    yield value
    while (made := graph.values[value].producer) is not None:
        op = graph.ops[made]
        if not op.inputs or not coverage.facts.is_move(op, same):
            return
        value = op.inputs[0]
        yield value


def _boxes_around(view: View, edge: Edge) -> list[set[int]]:
    return [{box.id for box in boxes_around(view.boxes, view.nodes[end].box)} for end in (edge.tail, edge.head)]


def _again(coverage: Coverage, edge: Edge, boxes: Set[int]) -> Iterator[int]:
    """The values that are read in the place of an edge's in other turns of boxes."""
    ops = coverage.graph.ops
    for op in coverage.repeated.get(edge.head, ()) if boxes else ():
        for other in coverage.again[op]:
            if {box for box, turn in coverage.turns[other].items() if turn} <= boxes:
                pairs = zip(ops[op].inputs, ops[other].inputs, strict=False)
                yield from (read for value, read in pairs if value == edge.value)


def _arrives(view: View, head: Node, ways: Sequence[Sequence[int]], said: str) -> bool:
    """Whether shapes are of all things that go a way, or also of one that arrives, which views may have changed."""
    given, _, arriving = said.partition(" → ")
    if "," in given:
        texts, known = {*given.split(", ")}, [{_shape(view, value) for value in way} for way in ways]
        return len({way[-1] for way in ways}) >= len(texts) and not any(map(texts.isdisjoint, known))

    def is_end(value: int) -> bool:  # but for axes of one, and for a `kᵀ` in a formula
        texts = _shape(view, value).split("×"), (arriving or given).split("×")
        read, end = ([size for size in text if size not in ("1", "N")] for text in texts)
        return read == end or (head.kind == "function" and head.op is not None and sorted(read) == sorted(end))

    ends = (*((view.graph.values[way[at]].shape for at in (0, -1)) for way in ways),)
    is_cut = all(len({math.prod(n for n in shape if isinstance(n, int)) for shape in pair}) > 1 for pair in ends)
    within = head.op is None and (head.kind == "function" or bool(head.name))  # views may be its own
    is_told = any(any(map(is_end, way if within else way[:1])) for way in ways)
    return (is_told or is_cut) and all(given in (_shape(view, value) for value in way) for way in ways)


def _is_of_index(view: View, way: Sequence[int], part: str, said: str) -> bool:
    """Whether a line with an index says the shape of what its tail gives, of which the index is, last."""
    given, last = (
        [n for n in text.split("×") if n not in ("1", "N")]
        for text in (_shape(view, way[-1]), said.rpartition(" → ")[2])
    )
    return not part.startswith("[") or "," in said or given == last


def _is_of_names(view: View, edge: Edge, texts: Sequence[str]) -> bool:
    """Whether several shapes are those of the outputs of a layer that a line names, one each in their order."""
    shapes: dict[str, set[str]] = {}
    for row in (view.graph.calls[call] for call in view.nodes[edge.tail].calls):
        for path, value in row.outputs.items():
            for name in (path, view.graph.part(row.module, path)):
                shapes.setdefault(name, set()).add(_shape(view, value))
    named = [shapes.get(name, set()) for name in edge.part.split(", ")]
    if len(texts) < 2 or len(named) < 2 or not any(named):
        return True
    return len(texts) == len(named) and all(any(map(_like(it), own)) for it, own in zip(texts, named, strict=True))


def _is_of_join(coverage: Coverage, edge: Edge, said: str) -> bool:
    """Whether a shape is that of a join which is not drawn, and not of what its tail brings to it."""
    view, value, behind = coverage.view, edge.value, set[str]()
    while (made := view.graph.values[value].producer) is not None and made not in coverage.nodes:
        op, behind = view.graph.ops[made], behind | {_shape(view, value)}
        if value in view.nodes[edge.tail].values or not op.inputs:
            return False
        full = [it for it in op.inputs if 0 not in view.graph.values[it].shape]  # and not an empty cache
        if op.name in JOINS and len({*full}) > 1:
            own = (it for it in op.inputs if _gives(coverage, edge.tail, it))
            is_alone = all(_brings(coverage, edge.tail, it) for it in full)  # the halves of one thing, turned round
            return not is_alone and said in behind - {_shape(view, it) for it in own}
        value = (*full, op.inputs[0])[0]
    return False


def _gives(coverage: Coverage, tail: int, value: int) -> bool:
    made = coverage.graph.values[value].producer
    return value in coverage.view.nodes[tail].values or tail in coverage.nodes.get(-1 if made is None else made, ())


def _brings(coverage: Coverage, tail: int, value: int) -> bool:
    """Whether a value is what a node gives, or was moved from it with nothing drawn between."""
    way, values = names.way(coverage.graph, value), coverage.graph.values
    drawn = (at for at in way if values[at].producer in coverage.nodes or _gives(coverage, tail, at))
    return any(_gives(coverage, tail, at) for at in islice(drawn, 1))


def _shape(view: View, value: int) -> str:
    meta = symbolic(view.graph, value)
    return "×".join(map(str, meta.shape)) if meta is not None else ""


def _ways(view: View, edge: Edge, coverage: Coverage, reads: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """From each value that the head reads those that it is made of, up to the one that the tail gives."""
    values, nodes = view.graph.values, coverage.nodes
    tails, heads = ({end, *view.nodes[end].links} for end in (edge.tail, edge.head))
    whole = [part for tail in tails for part in (view.nodes[tail], *view.nodes[tail].parts)]
    if any(part.kind in ("call", "op", "function") for part in whole):  # a parameter in such a node is read there
        whole = [part for part in whole if part.kind not in ("param", "buffer", "const")]
    given = {value for part in whole for value in part.values}
    read = (value for head in heads for value in reads.get(head, ()))
    for value in dict.fromkeys((*read, *view.nodes[edge.head].values)):
        way = [value]
        while (made := values[way[-1]].producer) is not None and made not in nodes and way[-1] not in given:
            if not view.graph.ops[made].inputs:
                break
            way.append(view.graph.ops[made].inputs[0])
        if way[-1] in given or not tails.isdisjoint({*nodes.get(-1 if made is None else made, ())} - heads):
            yield way
