"""In which settings the calls differ that are drawn once, said at the node that stands for them.

A node stands for its own calls, for those at its place in the repeats of the boxes around it, and, in an inset, for
those at its place in each call that is drawn with the letter. What is not the same in all of them becomes a Span; a
picture writes that in place of the setting of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, groupby, pairwise

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view.facts import frames_around
from torchrecorder.view.model import Box, Edge, Node, Span, View, boxes_around
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import EXCHANGES, JOINS, PIECES, SHAPED_LIKE, SHAPING, WEIGHTED
from torchrecorder.view.pieces import edges_with_parts
from torchrecorder.view.plan.repeats import sizes
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.settings import LISTED, SIZES, is_range, read

CLASS, PARAMS, HEADS, FUNCTION, EXPANSION = "class", "params", "heads", "function", "expansion"
"""Names of Spans beside those of settings: class, numbers of parameters and of heads; the functions that ran at the
place of one; by how much the first layer of a block widens."""
_EACH = "one each"
"""Words for several tensors of which each turn reads another."""
_OF_ONE = ("kernel_size", "stride", "dilation", "groups", HEADS)
"""Settings that each node with the letter of an inset says, where the inset gives them as lists."""
_NO_SETTINGS = SHAPING | PIECES | SHAPED_LIKE
"""Ops whose arguments follow from the sizes of the data."""
_OF_CONV = {
    "conv": {"3": "stride", "4": "padding", "5": "dilation", "6": "groups"},
    "conv_transpose": {"3": "stride", "4": "padding", "5": "output_padding", "6": "groups", "7": "dilation"},
}
_FOLLOWING = ("size", "normalized_shape", "dtype", "groups", "enable_gqa")
"""Arguments by name that do."""
_UNSAID = {"dilation": "1", "groups": "1", "padding": "0", "num_layers": "1", "bidirectional": "False", "bias": "True"}
_UNSAID |= {"is_causal": "False", "dropout_p": "0.0"}
"""What a layer of torch does not say of itself, or what an op is not given, since it is the default."""

_WIDTHS = re.compile(r"\d+, \d+")
_MOST_WIDTHS = 8
"""Channels that are written of blocks in a row."""
_OF_SIZES = re.compile(r"[\d×→, …]+")
_MOVING = SHAPING | PIECES | {"getitem"}
_Alike = Callable[[int], Iterable[int]]
"""The ops at the place of one in other turns."""
_Turn = Sequence[int | None]
"""Calls that a box stands for at one time, one for each that is drawn; None where there is none."""


def with_spans(view: View, visible: Visibility) -> View:
    """The View and its insets with what differs at each node."""
    return _Differences(view, visible).view()


class _Differences:
    def __init__(self, view: View, visible: Visibility) -> None:
        self._view, self.graph, self.tree, self._visible = view, view.graph, visible.tree, visible
        self.places = visible.places
        self._gone, self._contracted, self._aside = visible.gone, visible.contracted, visible.facts.aside
        self._said = visible.facts.kinds.said
        self._settings: dict[str, Mapping[str, str]] = {}

    def view(self) -> View:
        """Letters stand for the same wherever they are drawn, also in the insets of other letters."""
        insets = {inset.letter: inset for inset in self._view.insets}
        lettered: dict[str, set[int]] = {letter: {*inset.calls} for letter, inset in insets.items()}
        pending = [""]
        done: dict[str, View] = {}
        turned: dict[str, list[Sequence[_Turn]]] = {}
        while pending:
            letter = pending.pop()
            shown = insets[letter].view if letter else self._view
            calls = lettered.get(letter, set())
            turns, nodes = self._turns(shown, calls), list[Node]()
            turned[letter] = turns
            for node in shown.nodes:
                parts = tuple(replace(part, spans=self._spans(part, shown.boxes, turns)) for part in node.parts)
                runs = (self._calls(part, turns) for part in (node, *node.parts) if part.calls and node.differs)
                differs = reduce(self._of_all, runs, node.differs)
                nodes.append(replace(node, parts=parts, spans=self._spans(node, shown.boxes, turns), differs=differs))
            edges = edges_with_parts(shown, self._visible, partial(self._alike, shown.boxes, turns))
            if any(len(these) > 1 for these in turns) or any(len(node.values) > 1 for node in shown.nodes):
                edges = tuple(self._in_turns(edge, shown, turns) for edge in edges)
            edges = tuple(self._with_each(edge, shown) for edge in edges)
            boxes = tuple(self._of_turns(box, turns[box.id]) for box in shown.boxes)
            done[letter] = replace(shown, nodes=tuple(nodes), edges=edges, boxes=boxes)
            for node in (node for node in nodes if node.inset):
                more = {call for turn in self._calls(node, turns) for call in turn}
                if not more <= lettered[node.inset] or node.inset not in done:
                    lettered[node.inset] |= more
                    pending.append(node.inset)
        for letter, shown in [*done.items()]:
            nodes = [*shown.nodes]
            for node in (node for node in shown.nodes if node.inset):
                its = (*self._of_its_own(self._calls(node, turned[letter]), done[node.inset]),)
                nodes[node.id] = replace(node, own=its)
            done[letter] = replace(shown, nodes=tuple(nodes))
        changed = (replace(inset, view=done.get(inset.letter, inset.view)) for inset in self._view.insets)
        return replace(done[""], insets=tuple(changed))

    def _turns(self, view: View, calls: set[int]) -> list[Sequence[_Turn]]:
        """By box all turns that it stands for, the drawn one first."""
        turns: list[Sequence[_Turn]] = []
        for box in view.boxes:
            step = max(box.period, 1)  # the turns of a loop may hold no call
            own = [box.calls[i : i + step] for i in range(0, len(box.calls), step)] or [()]
            if box.parent is None:
                turns.append([*own, *((call,) for call in sorted(calls - {*box.calls}))])
            else:
                around = turns[box.parent]
                turns.append([[self._there(call, around, turn) for call in inner] for turn in around for inner in own])
        return turns

    def _there(self, call: int, turns: Sequence[_Turn], turn: _Turn) -> int | None:
        for a, b in zip(turns[0], turn, strict=False):
            if a is not None and a <= call < self.tree.end[a]:
                return None if b is None else self.places.call(call, a, b)
        first, other = next(iter(turns[0]), None), next(iter(turn), None)
        # a part beside the layers that take turns
        at = -1 if first is None or other is None else call - first + other
        return at if 0 <= at < len(self.graph.calls) and self.tree.cls(at) == self.tree.cls(call) else None

    def _of_turns(self, box: Box, turns: Sequence[_Turn]) -> Box:
        calls = [[*chain(*turns[i : i + box.repeat])] for i in range(0, len(turns), box.repeat)]
        return replace(box, spans=(*self._of_box(box, turns),), differs=self._of_all(box.differs, calls))

    def _of_all(self, differs: tuple[str, ...], runs: Sequence[Sequence[int | None]]) -> tuple[str, ...]:
        """Differences of the calls of a run, without sizes that are of one run alone: `1280→96`."""
        if len(runs) < 2 or not any(map(_OF_SIZES.fullmatch, differs)):
            return differs
        known = ([call for call in run if call is not None] for run in runs)
        ways = {(*sizes(self.graph, run), *sizes(self.graph, run, is_row=False)) for run in known if run}
        return differs if len(ways) < 2 else tuple(text for text in differs if not _OF_SIZES.fullmatch(text))

    def _of_box(self, box: Box, turns: Sequence[_Turn]) -> Iterator[Span]:
        step = len(turns) if box.parent is None else max(box.repeat, 1)  # the title of an inset names one path
        numbers = [tuple(self.tree.n_params(call) for call in turn if call is not None) for turn in turns]
        around = {*zip(*(numbers[i::step] for i in range(step)), strict=True)}
        if len(around) > 1:
            yield Span(PARAMS, tuple(dict.fromkeys(str(n) for row in numbers for n in row)))

    def _calls(self, node: Node, turns: Sequence[Sequence[_Turn]]) -> list[list[int]]:
        if node.box is None:
            return [[*node.calls]]
        around = turns[node.box]
        by_turn = [[self._there(call, around, turn) for call in node.calls] for turn in around]
        return [[call for call in calls if call is not None and call not in self._gone] for calls in by_turn]

    def _of_its_own(self, by_turn: Sequence[Sequence[int]], inside: View) -> Iterator[Span]:
        """Settings of the calls of a node, of those that its inset gives as lists.

        Nothing of a setting in which layers of one call differ: it would not tell which has which.
        """
        root, calls, found = inside.boxes[0].calls[0], [*chain(*by_turn)], dict[str, list[list[str]]]()
        of_all, is_of_widths = dict[str, set[str]](), False
        for node in inside.nodes:
            is_once = all(box.repeat == 1 for box in boxes_around(inside.boxes, node.box))
            for part in node.parts or (node,):
                sizes = {*values_of(part.spans, SIZES)} if part.kind == "call" else set[str]()
                is_of_widths |= len(sizes) > 1 and all(map(_WIDTHS.fullmatch, sizes))
                for span in (*(it for it in part.spans if it.name in _OF_ONE), *self._expansions(part, root)):
                    of_all.setdefault(span.name, set()).update(span.values)
                    for values, call in zip(found.setdefault(span.name, [[] for _ in calls]), calls, strict=True):
                        values += self._set(span.name, part, root, call) if is_once else ("", "none")
        widths = {_row_of([*map(self._channels, run)]) for run in by_turn if run} if is_of_widths else set[str]()
        if len(widths) == 1 and (text := widths.pop()):
            yield Span(SIZES, (text,))
        steps = {n for values in found.get("stride", ()) for value in values for n in re.findall(r"\d+", value)}
        is_aside = not steps <= {"1"} and all(map(self._keeps_resolution, calls))
        for name in ("kernel_size", "stride") if is_aside else ():  # of a layer beside the way through, such as `sr`
            found.pop(name, None)
        for name, every in found.items():
            own, all_of_it = tuple((values or ["none"])[0] for values in every if len({*values}) < 2), of_all[name]
            once, is_run = (*dict.fromkeys(own),), len(by_turn) == 1
            if len(own) != len(calls) or ("none" in once and not (is_run and _is_of_first(name, own))):
                continue
            is_first = len(once) == 2 and own.count(own[0]) == 1 and (name == "stride" or len(own) > LISTED)
            is_listed = is_run and len(once) > 1 and (is_first or len(own) <= LISTED)  # `first /2`
            if len(once) <= LISTED and (is_listed or "none" in once or {*once} < all_of_it):
                yield Span(name, own if is_listed else once)

    def _keeps_resolution(self, call: int) -> bool:
        row = self.graph.calls[call]
        shapes = [self.graph.values[it].shape for side in (row.inputs, row.outputs) for it in [*side.values()][:1]]
        return len(shapes) == 2 and len(shapes[0]) > 2 and shapes[0][2:] == shapes[1][2:]

    def _channels(self, call: int) -> tuple[str, str]:
        """The channels of what a block reads, `64` or `64+32` of two that are joined, and of what it gives.

        They are along the axis of the first layer with a weight on the way of its first input, or of any if there is no
        such layer and it gives another shape; else empty texts. The layer may read a part.
        """
        row, values = self.graph.calls[call], self.graph.values
        inputs = [*row.inputs.values()]
        found, given = self._channels_on({*inputs[:1]}, call), [values[it].shape for it in row.outputs.values()]
        is_kept = bool(inputs) and values[inputs[0]].shape in given
        return found if all(found) or is_kept else self._channels_on({*inputs}, call)

    def _channels_on(self, way: set[int], call: int) -> tuple[str, str]:
        row, values = self.graph.calls[call], self.graph.values
        for op in map(self.graph.ops.__getitem__, self.tree.all_ops_of(call)):
            if way.isdisjoint(op.inputs):
                continue
            way.update(op.outputs)
            if len(op.inputs) < 2:
                continue
            (of, weight), is_layer = (values[it] for it in op.inputs[:2]), re.match("linear|conv", op.name) is not None
            axis, rank = 1 if len(weight.shape) > 2 else -1, len(of.shape)
            sides = ([values[it].shape for it in side.values()] for side in (row.inputs, row.outputs))
            read, given = ([shape for shape in side if len(shape) == rank > 1] for side in sides)
            is_layer &= weight.kind == "param" and len(weight.shape) in (2, rank)
            if is_layer and read and given:
                own = [it for it in read if it[axis] == of.shape[axis]][:1] or read
                sizes, n = [it[axis] for it in own], of.shape[axis]
                rest = [[size for i, size in enumerate(it) if i != axis % rank] for it in (own[0], of.shape)]
                is_part = len(own) == 1 and rest[0] == rest[1]  # `58` of `116`
                is_read = is_part or sum(size for size in sizes if isinstance(size, int)) == n
                is_told = is_read and len({it[axis] for it in given}) == 1
                return ("+".join(map(str, sizes)), str(given[0][axis])) if is_told else ("", "")
        return "", ""

    def _set(self, name: str, part: Node, root: int, call: int) -> Iterator[str]:
        """The values of a setting at the places of a part in another call."""
        if name == HEADS:
            ops = (self.places.op(op, root, call) for op in part.own_ops)
            numbers = [heads(self.graph, self.graph.ops[op]) for op in ops if op is not None]
            yield from map(str, numbers and [max(numbers)])  # an op beside the attention of a function has 1
        layers = (self.places.call(own, root, call) for own in (part.calls if name != HEADS else ()))
        known = (self._own(at) for at in layers if at is not None)
        if name == EXPANSION:
            yield from (_expansion(own.get(SIZES, "")) for own in known)
            return
        values = (own.get(name, _UNSAID.get(name, "")) for own in known)
        yield from filter(None, values)  # an identity has none

    def _expansions(self, part: Node, root: int) -> Iterator[Span]:
        """By how much a block widens in its calls by the layer of a part, its first, if a later one narrows again."""
        values, rows = self.graph.values, map(self.graph.ops.__getitem__, self.tree.all_ops_of(root))
        layers = [op for op in rows if op.name.startswith(("conv", "linear")) and len(op.inputs) > 1]
        if not layers or layers[0].call not in part.calls:
            return
        shapes = [shape for op in layers if len(shape := values[op.inputs[1]].shape) > 1]
        wide = shapes[0][0] if shapes else 0
        is_narrowed = any(wide == shape[1] != shape[0] for shape in shapes)
        given = (size for value in self.graph.calls[root].outputs.values() for size in values[value].shape)
        factors = {*map(_expansion, values_of(part.spans, SIZES))} if is_narrowed and wide not in given else set[str]()
        if 1 < len(factors) <= LISTED and "" not in factors:
            yield Span(EXPANSION, (*factors,))

    def _spans(self, node: Node, boxes: Sequence[Box], turns: Sequence[Sequence[_Turn]]) -> tuple[Span, ...]:
        if node.kind == "call":
            by_turn = self._calls(node, turns)
            calls = sorted({call for calls in by_turn for call in calls})
            return tuple(self._of_calls(calls, by_turn, is_shown=bool(node.inset))) if len(calls) > 1 else ()
        if node.kind not in ("op", "function") or node.box is None:
            return ()
        spans: dict[Span, None] = {}
        for op in (node.op,) if node.kind == "op" and node.op is not None else node.ops:
            again = node.ops if node.kind == "op" and len({self.graph.ops[op].name for op in node.ops}) == 1 else (op,)
            alike = sorted({op, *again, *(at for one in again for at in self._ops(one, boxes[node.box], boxes, turns))})
            is_aside = node.kind == "op" and not self._tells(op)  # and drawn, since something needs it
            ops = [self.graph.ops[other] for other in alike if is_aside or other in again or self._tells(other)]
            spans.update(dict.fromkeys(self._of_ops(ops, is_drawn=node.kind == "op")))
            if node.kind == "function" and node.op is None:
                spans.update(dict.fromkeys(self._functions(op, alike, node.name)))
        return tuple(spans)

    def _functions(self, op: int, others: Sequence[int], name: str) -> Iterator[Span]:
        """The function that ran an op, and those that ran the ones at its place, if they are others."""
        ran = [
            [self.graph.frames[at].short for at in frames_around(self.graph, self.graph.ops[at].frame)]
            for at in (op, *others)
        ]
        at = ran[0].index(name) if name in ran[0] else len(ran[0])
        names = dict.fromkeys(of[at] for of in ran if len(of) > at)
        if len(names) > 1:
            yield Span(FUNCTION, tuple(names))

    def _alike(self, boxes: Sequence[Box], turns: Sequence[Sequence[_Turn]], op: int, node: Node) -> Iterator[int]:
        """The ops at the place of one that a node shows."""
        return iter(()) if node.box is None else self._ops(op, boxes[node.box], boxes, turns)

    def _in_turns(self, edge: Edge, view: View, turns: Sequence[Sequence[_Turn]]) -> Edge:
        """The edge with what it is in other turns of the boxes that both ends are in, or that it leads into."""
        tail, head = ([*boxes_around(view.boxes, view.nodes[end].box)] for end in (edge.tail, edge.head))
        around = next((box for box in tail if box in head), None) or next(iter(view.boxes), None)
        parts = (view.nodes[edge.head], *view.nodes[edge.head].parts)
        readers = dict.fromkeys(op for part in parts for op in self._visible.facts.ops_of(part))
        if around is not None and len(turns[around.id]) > 1:
            alike = partial(self._ops, box=around, boxes=view.boxes, turns=turns)
            edge = replace(edge, elsewhere=(*self._elsewhere(edge.value, readers, alike),))
        left = [box for box in tail[:1] if box not in head and box.repetition in ("parallel", "shared")]
        if others := self._given_by(view.nodes[edge.tail], left, readers):
            moved = (*map(self._source, (edge.value, *others)),)
            edge = replace(edge, elsewhere=(*edge.elsewhere, (edge.value, *others), moved))
        box = next((box for box in head if box not in tail and box.repeat > 1), None)
        if box is not None and not edge.back:
            brought = {*map(self._source, view.nodes[edge.tail].values)}
            own = [these[: len(these) // len(turns[0])] for these in turns]  # the title of an inset names one path
            alike = partial(self._ops, box=box, boxes=view.boxes, turns=own)
            for op in readers:
                read = [*self._read(edge.value, (op,), alike)]
                sources = [*map(self._source, read)]
                edge = replace(edge, is_first=edge.is_first or bool({*sources} - {self._source(edge.value)}))
                if len({*sources}) == len(sources) > 1 and {*sources} <= brought:
                    edge = replace(edge, part=edge.part or _EACH, elsewhere=(*edge.elsewhere, (edge.value, *read)))
        return edge

    def _with_each(self, edge: Edge, view: View) -> Edge:
        """The edge with words if each of what is drawn side by side reads another one of the tensors, or pieces."""
        tail, head, ops = view.nodes[edge.tail], view.nodes[edge.head], self.graph.ops
        if head.repetition != "parallel" or head.repeat < 2 or edge.part:
            return edge
        calls = [*zip(*(part.calls for part in head.parts or (head,) if part.calls), strict=True)]
        columns = [[op for call in row for op in self.tree.all_ops_of(call)] for row in calls] or [
            [op] for op in head.ops
        ]
        read = [{*self._taken_of(tail, [it for op in own for it in ops[op].inputs], head.repeat)} for own in columns]
        taken = set[int]().union(*read)
        is_whole = taken == {*tail.values} or {*map(self._source, taken)} == {self._source(edge.value)}
        is_each = is_whole and all(len(of) == 1 for of in read) and len(taken) == len(read)
        return replace(edge, part=_EACH) if is_each else edge

    def _taken_of(self, tail: Node, values: Iterable[int], n: int) -> Iterator[int]:
        """The tensors of a node of so many, or pieces of one thing that is cut into so many, that values are."""
        for value in values:
            while value not in tail.values or len(tail.values) != n:
                made = self.graph.values[value].producer
                handed = None if made is None else self._visible.handed[made]
                if made is None or handed is None:
                    break
                if len(self.graph.ops[made].outputs) == n:
                    yield value
                    break
                value = handed
            else:
                yield value

    def _elsewhere(self, value: int, readers: Iterable[int], alike: _Alike) -> Iterator[tuple[int, ...]]:
        """A value and those that it was moved from, each with those at its place that have other shapes.

        Also those of which not the same axes are known to follow the batch: their sizes are written in another way.
        """
        graph, row, axes = self.graph, self.graph.values[value], self.graph.batch.get(value)
        made = None if row.producer is None else graph.ops[row.producer]
        by_ops = [] if made is None else [graph.ops[op].outputs for op in alike(made.id)]
        given = (outputs[row.index] for outputs in by_ops if row.index < len(outputs))
        there = dict.fromkeys((*given, *self._read(value, readers, alike)))
        if others := [it for it in there if (graph.values[it].shape, graph.batch.get(it)) != (row.shape, axes)]:
            yield value, *others
        if made is not None and by_ops and made.inputs and (made.kind == "pass" or plain(made.name) in _MOVING):
            yield from self._elsewhere(made.inputs[0], (made.id,), alike)

    def _given_by(self, tail: Node, left: Sequence[Box], readers: Iterable[int]) -> list[int]:
        """The values that ops read of a node of several, and of a box of which each turn gives one and not the last."""
        inside = {op for box in left for call in box.calls for op in (*box.ops, *self.tree.all_ops_of(call))}
        own = {*map(self._source, tail.values)} if len(tail.values) > 1 else set[int]()
        read = dict.fromkeys(value for op in readers for value in self.graph.ops[op].inputs) if inside or own else ()
        return [value for value in read if self.graph.values[at := self._source(value)].producer in inside or at in own]

    def _read(self, value: int, readers: Iterable[int], alike: _Alike) -> Iterator[int]:
        """The values that ops at the places of the readers of one read in its place."""
        for op in (op for op in map(self.graph.ops.__getitem__, readers) if value in op.inputs):
            place, n = op.inputs.index(value), len(op.inputs)
            for inputs in (self.graph.ops[other].inputs for other in dict.fromkeys(alike(op.id))):
                if place < len(inputs):
                    yield inputs[place]
                elif n - place <= len(inputs):  # of fewer, as those that a shorter block joins: from the last on
                    yield inputs[place - n]

    def _source(self, value: int) -> int:
        """What a value is by ops that only hand it on."""
        made = self.graph.values[value].producer
        while made is not None and (handed := self._visible.handed[made]) is not None:
            value, made = handed, self.graph.values[handed].producer
        return value

    def _ops(self, op: int, box: Box, boxes: Sequence[Box], turns: Sequence[Sequence[_Turn]]) -> Iterator[int]:
        call, around = self.graph.ops[op].call, turns[box.id]
        for k, a in enumerate(around[0]):
            if a is not None and a <= call < self.tree.end[a]:
                places = (self.places.op(op, a, b) for turn in around if (b := turn[k]) is not None)
                yield from (place for place in places if place is not None)
                return
        step = len(box.ops) // max(box.repeat, 1)  # it runs between the calls of the box
        own = box.ops[box.ops.index(op) :: step] if op in box.ops[:step] else (op,)
        for other in own if box.parent is not None else ():
            yield from (other, *self._ops(other, boxes[box.parent or 0], boxes, turns))

    def _of_ops(self, ops: Sequence[Op], *, is_drawn: bool) -> Iterator[Span]:
        names = [*dict.fromkeys(plain(op.name) for op in ops)]
        if len(names) > 1:
            yield Span("", tuple(names))
        elif names and names[0] not in _NO_SETTINGS and (is_drawn or names[0] not in ("getitem", "pad")):
            is_weighted = names[0] in WEIGHTED  # then the sizes of the weights are among what it is given
            known = _OF_CONV.get(names[0].rstrip("123d"), {})  # by position, too
            for span in _differing([{known.get(key, key): value for key, value in op.attrs.items()} for op in ops]):
                if (names[0], span.name) == ("repeat_interleave", "output_size"):
                    continue  # follows from its input and its number
                is_named = span.name.isidentifier()
                if (is_named and span.name not in _FOLLOWING) or (not is_named and (is_drawn or not is_weighted)):
                    yield span if is_named else Span(ops[0].name, span.values)
            numbers = tuple(dict.fromkeys(str(heads(self.graph, op)) for op in ops))
            if len(numbers) > 1:
                yield Span(HEADS, numbers)
            shapes = [self.graph.values[op.inputs[1]].shape if len(op.inputs) > 1 else () for op in ops]
            weights = tuple(dict.fromkeys("→".join(map(str, reversed(shape))) for shape in shapes))
            if is_drawn and names[0] == "linear" and len(weights) > 1:
                yield Span("weight", weights)

    def _of_calls(self, calls: Sequence[int], by_turn: Sequence[Sequence[int]], *, is_shown: bool) -> Iterator[Span]:
        layers, settings = self._visible.facts.kinds.layers, [self._own(call) for call in calls]
        likes = (layers[call].like if call in layers else own[CLASS] for call, own in zip(calls, settings, strict=True))
        is_one_work = len({re.sub(r"\dd$", "", like) for like in likes}) == 1
        own = [*_differing(settings, by_call=True, is_one_work=is_one_work)]
        yield from own
        if not is_shown and not values_of(own, CLASS):
            known = {span.name for span in own}
            yield from dict.fromkeys(span for span in self._inside(calls) if span.name not in known)
        params = tuple(dict.fromkeys(sum(map(self.tree.n_params, turn)) for turn in by_turn if turn))
        if len(params) > 1:
            yield Span(PARAMS, tuple(map(str, params)))

    def _inside(self, calls: Sequence[int]) -> Iterator[Span]:
        """The named settings of the layers and ops in them, but not the sizes, which follow from the data."""
        first = calls[0]
        drawn = [call for call in range(first + 1, self.tree.end[first]) if call not in self._gone]
        columns = [self.places.matched(first, call) for call in calls]
        for call in drawn:
            alike = [column[call] for column in columns if call in column]
            yield from (span for span in _differing([*map(self._own, alike)]) if span.name not in (SIZES, CLASS))
        for op in (op for call in (first, *drawn) if not self.tree.is_leaf(call) for op in self.places.ops(call)):
            places = (self.places.op(op, first, call) for call in calls)
            ops = [self.graph.ops[place] for place in places if place is not None and self._tells(place)]
            yield from (
                span for span in self._of_ops(ops, is_drawn=False) if span.name not in ("", *{op.name for op in ops})
            )

    def _tells(self, op: int) -> bool:
        return not self._contracted[op] and not self._aside.issuperset(self.graph.ops[op].outputs)

    def _own(self, call: int) -> Mapping[str, str]:
        module = self.tree.module(call)
        if module is None:
            return {CLASS: self.graph.calls[call].module}
        if module.fqn not in self._settings:
            settings = {CLASS: module.cls.rpartition(".")[2]} | read(self._said(call)).by_name()
            if settings.get("groups", "1") != "1" and settings["groups"] == settings.get(SIZES, "").partition(",")[0]:
                settings["groups"] = "depthwise"  # as many as channels, however many these are
            if {*settings.get("kernel_size", "").strip("()").split(", ")} == {"1"}:
                settings.pop("dilation", None)  # of one place
            self._settings[module.fqn] = settings
        return self._settings[module.fqn]


def _differing(
    settings: Sequence[Mapping[str, str]], *, by_call: bool = False, is_one_work: bool = False
) -> Iterator[Span]:
    """Spans of what is not the same in all; of classes that do other work that alone: their settings are others."""
    names = dict.fromkeys(name for own in settings for name in own)
    for name in names:
        every = tuple(own.get(name, _UNSAID.get(name, "none")) for own in settings)
        values = tuple(dict.fromkeys(every))
        if len(values) > 1 and {*values} != {"none", "None"}:
            yield Span(name, every if by_call and name != CLASS else values)
            if name == CLASS and not is_one_work:
                return


def _is_of_first(name: str, own: Sequence[str]) -> bool:
    """Whether the first call of a run alone has a layer with a setting, or with a stride that does something."""
    first, *others = ({*re.findall(r"\d+", value)} for value in own)
    nothing = {"1"} if name == "stride" else set[str]()
    return not first <= nothing and all(other <= nothing for other in others)


def _expansion(sizes: str) -> str:
    """By how much a layer of such sizes widens, `6` of `16, 96`; empty if by no whole number."""
    before, after = map(int, sizes.split(", ")) if _WIDTHS.fullmatch(sizes) else (0, 0)
    return f"{after // before}" if before and after % before == 0 < after - before else ""


def _row_of(ways: Sequence[tuple[str, str]]) -> str:
    """The channels of blocks one after another, `24→40`, or `72→84→95` of some that give others; else nothing."""
    row = [ways[0][0], *(key for key, _ in groupby(way[1] for way in ways))]
    row = row[1:] if row[0] == row[1] and len(row) > 2 else row
    is_row = len({*ways}) == 1 or all(before[1] == way[0] for before, way in pairwise(ways))
    is_short = len(row) <= LISTED or (len(row) <= _MOST_WIDTHS and not is_range(row))  # of even steps the ends are said
    return "→".join(row) if is_row and all(map(all, ways)) and is_short else ""


def heads(graph: Graph, op: Op) -> int:
    """The heads of an attention: an axis that is moved beside the last one behind it, and made one with that; else 1.

    The number stands in no argument of the op. Of one that is written out, at its softmax.
    """
    made, by = {*op.outputs}, op if op.name == "scaled_dot_product_attention" else None
    for after in graph.ops[op.id + 1 :] if op.name == "softmax" else ():
        if not made.isdisjoint(after.inputs):
            made.update(after.outputs)
            if not (after.kind == "pass" or after.name == "dropout" or after.name in SHAPING):
                by = after if after.name in ("matmul", "bmm", "einsum") else None
                break
    if by is None:
        return 1
    op, shape = by, graph.values[by.outputs[0]].shape
    if len(shape) != 4 or not (isinstance(shape[1], int) and isinstance(shape[3], int)):
        return 1
    moved, is_exchanged = {*op.outputs}, False
    for after in graph.ops[op.id + 1 :]:
        if not moved.isdisjoint(after.inputs):
            if after.name not in SHAPING and not (after.name in JOINS and len(after.inputs) == 1):  # of one chunk
                break
            is_exchanged |= after.name in EXCHANGES
            moved.update(after.outputs)
            if is_exchanged and graph.values[after.outputs[0]].shape[-1:] == (shape[1] * shape[3],):
                return shape[1]
    return 1


def values_of(spans: Iterable[Span], name: str) -> tuple[str, ...]:
    return next((span.values for span in spans if span.name == name), ())
