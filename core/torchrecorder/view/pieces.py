"""Which part of a tensor an edge carries, where ops that take parts of it are drawn as edges.

A half that goes by and a half that is worked on leave one node on two edges, so each says at its reader which one it
is: `2nd half`, `3 of 6`, `[:, 1:]`, as the code has it. Where all readers take the same, they say so.
Nothing is said of one reader that takes all parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from string import ascii_lowercase

from torchrecorder.graph.model import Op
from torchrecorder.view.cuts import Slice, bracket, cut_by_index, span_of, stretches
from torchrecorder.view.facts import frames_around
from torchrecorder.view.model import Edge, Node, View, boxes_around
from torchrecorder.view.node_kinds import COMPARED, SYMBOLS, is_reflected, plain
from torchrecorder.view.op_families import EXCHANGES, JOINS, PIECES, SHAPED_LIKE
from torchrecorder.view.plan.visibility import Visibility

_MOST = 2
"""Parts that are named each; of more nothing is said."""
_MOST_TURNED = 4
"""Likewise where a join turns their order round."""
_LISTED = re.compile(r"[\[(]1(, 1)+[\])]")
"""Sizes of pieces in a list that are one each: places, of which the last one is the rest of any length."""
_ORDINALS = ("1st", "2nd")
_NAMED = 1_000_003
"""Stands for a size that is known by name alone: more than any other, and the same each time."""
_LOOSE = ("param", "buffer", "const")
_LONG = 24
"""Characters of an argument from which on its name has no room beside a node; the inset has it."""
_LONG_NAMES = 40
"""Characters of several outputs from which on a line says how many they are."""
_UNRETURNED = "not returned"
"""Words for a tensor that a layer made and did not return: one that it keeps, or that the next layer overwrites."""
_BEGINNING = "first step"
"""Words for what the first turn of a loop alone reads, in the place of what the turn before gives to the others."""
_STATE = "state"
"""Words for what a recurrent layer of torch begins with, beside its input."""


_Part = tuple[Slice, ...]
"""The steps from a tensor to what is read of it; none if that is all of it."""
_Read = tuple[int, int]
"""Ids of a value and of the node that reads it."""


_Alike = Callable[[int, Node], Iterable[int]]
"""The ops in other turns at the place of one that a node shows."""


def edges_with_parts(view: View, visible: Visibility, alike: _Alike) -> tuple[Edge, ...]:
    """The edges of a view with the parts that they carry, or the arguments and outputs of layers that they are."""
    parts = _Parts(view, visible, alike)
    edges = parts.edges()
    arguments = {edge: word for edge in edges if (word := parts.argument(edge))}
    outputs = {edge: parts.output(edge) for edge in edges}
    several = {edge for edge, word in outputs.items() if word[:1].isdigit() or ", " in word or "–" in word}
    said = {edge: word for edge, word in outputs.items() if edge in several or word == _UNRETURNED}
    said |= {edge: _STATE for edge in edges if parts.is_state(edge)}
    said |= {edge: _BEGINNING for edge in edges if edge not in said and parts.only_begins(edge)}
    said |= _apart(outputs, [edge.tail for edge in outputs]) | _apart(arguments, [edge.head for edge in arguments])
    is_silent = {edge for edge in edges if edge.part or edge.back or said.get(edge) == view.nodes[edge.tail].name}
    return tuple(edge if edge in is_silent else replace(edge, part=said.get(edge, "")) for edge in edges)


def _apart(words: Mapping[Edge, str], ends: Sequence[int]) -> dict[Edge, str]:
    """The words of those edges that have others with other words at the same end."""
    by_end: dict[int, set[str]] = {}
    for end, word in zip(ends, words.values(), strict=True):
        by_end.setdefault(end, set()).add(word)
    return {edge: word for end, (edge, word) in zip(ends, words.items(), strict=True) if len(by_end[end]) > 1}


class _Parts:
    def __init__(self, view: View, visible: Visibility, alike: _Alike) -> None:
        self._view, self._graph, self._visible, self._alike = view, view.graph, visible, alike
        self._owner: dict[int, int] = {}
        """By op the node that shows it."""
        for node in view.nodes:
            for part in (node, *node.parts) if node.kind not in ("input", "output", "from", "to") else ():
                self._owner.update(dict.fromkeys(visible.facts.ops_of(part), node.id))
        inside = view.boxes[0].calls[0] if view.boxes else 0
        self._span = range(inside, visible.tree.end[inside])
        self._given = {value: node.id for node in view.nodes if node.kind != "output" for value in node.values}
        """By value the node that brings it from outside."""
        self._pairs = {(tail, edge.head) for edge in view.edges for tail in (edge.tail, *view.nodes[edge.tail].links)}
        self._taken: dict[int, dict[int, dict[_Part, None]]] = {}
        """By value and node that reads it, what that takes, in the order of reading."""
        calls = (node for node in view.nodes if node.kind == "call")
        self._first = {at: value for node in calls for at, value in self._outputs_again(node)}
        """By what a layer gives in a later turn what it gives in the first."""
        self._places: dict[str, str] = {}
        """By the words for a piece beside longer or shorter ones which of them it is, `part 2 of 3`."""
        self._read: dict[int, dict[int, list[_Part]]] = {}
        """By op what it takes of each tensor."""
        self._variables: dict[int, Sequence[str]] = {}
        """By op that splits a tensor."""
        self._ran: dict[int, set[int]] = {}
        """By node that is a function the runs in which all its ops are."""
        self._others: dict[_Read, dict[tuple[str, str], None]] = {}
        """The words of what it takes, each with those of what it takes in other turns, where these are others."""

    def edges(self) -> tuple[Edge, ...]:
        aside = self._visible.facts.aside
        for node, value, op in self._reads():
            origin, part = self._traced(value)
            may_hide = value in aside or self._graph.values[origin].kind in _LOOSE
            is_unseen = may_hide and (self._given.get(origin, self._tail(origin)), node.id) not in self._pairs
            if self._tail(origin) == node.id or is_unseen:
                continue
            self._taken.setdefault(origin, {}).setdefault(node.id, {})[part] = None
            if op is None or not part:
                continue
            for other in self._alike(op.id, node):
                if (said := self._there(op, value, part, other)) != _said(part):
                    self._others.setdefault((origin, node.id), {})[_said(part), said] = None
        words = dict(self._told())
        if not any(words.values()):
            return self._view.edges
        into: dict[int, list[int]] = {}
        for origin, by_node in self._taken.items():
            for reader in by_node:
                into.setdefault(reader, []).append(origin)
        return tuple(self._with_part(edge, words, into.get(edge.head, ())) for edge in self._view.edges)

    def _reads(self) -> Iterator[tuple[Node, int, Op | None]]:
        for id_, node in self._owner.items():
            op = self._graph.ops[id_]
            if op.name not in SHAPED_LIKE:
                yield from ((self._view.nodes[node], value, op) for value in op.inputs)
        for output in (node for node in self._view.nodes if node.kind == "output"):
            yield from ((output, value, None) for value in output.values)

    def _told(self) -> Iterator[tuple[_Read, str]]:
        for origin, by_node in self._taken.items():
            turned = {node: self._turned(origin, node, taken) for node, taken in by_node.items()}
            texts = {node: turned[node] or self._words({*taken}) for node, taken in by_node.items()}
            others = {node: self._others.get((origin, node), {}) for node in texts}
            turns = {
                node: (text, *(text.replace(part, said) if part in text else said for part, said in others[node]))
                for node, text in texts.items()
            }
            # what other turns differ in, a loop goes through; of other calls of an inset there is a span
            is_same = all(len(own) == 1 or self._are_calls(node, own) for node, own in turns.items())
            is_same &= len({*texts.values()}) == 1
            is_told = is_same
            is_told |= any(turned.values())
            if len({*texts.values()}) > 1 or is_told:
                for node, own in turns.items():
                    places = {self._places.get(text, "") for text in own}  # the sizes are other ones in each turn
                    place = places.pop() if len(own) > 1 and len(places) == 1 else ""
                    yield (origin, node), place or span_of(own)

    def _are_calls(self, node: int, texts: Sequence[str]) -> bool:
        """Whether several texts are of calls that an inset is for, and no turns of a box, and one span holds them."""
        around = boxes_around(self._view.boxes, self._view.nodes[node].box)
        return bool(span_of(texts)) and all(box.repeat == 1 for box in around)

    def _with_part(self, edge: Edge, words: Mapping[_Read, str], origins: Iterable[int]) -> Edge:
        if edge.back:
            return edge
        tail = self._view.nodes[edge.tail]
        tails = tail.links if tail.kind == "from" else (tail.id,)
        values = {value for link in tails for value in self._view.nodes[link].values}
        said = {
            words.get((origin, edge.head), "") for origin in origins if origin in values or self._tail(origin) in tails
        }
        if not said:  # what the last turn of a loop gives
            said = {words.get((self._traced(edge.value)[0], edge.head), "")}
        return replace(edge, part=said.pop()) if len(said) == 1 else edge

    def argument(self, edge: Edge) -> str:
        """Name of the argument that an edge brings to a layer with an inset; empty if it is a skip, or of several."""
        tail, head = self._view.nodes[edge.tail], self._view.nodes[edge.head]
        if not head.inset or edge.skip or tail.kind in _LOOSE:  # what stands beside its reader says its own name
            return ""
        names = self._arguments(edge)
        return name if len(names) == 1 and len(name := names.pop()) < _LONG else ""

    def is_state(self, edge: Edge) -> bool:
        """Whether an edge brings what a recurrent layer of torch begins with, and nothing else."""
        head = self._view.nodes[edge.head]
        is_recurrent = bool(head.calls) and self._visible.tree.cls(head.calls[0]).startswith("torch.nn.modules.rnn.")
        return is_recurrent and self._arguments(edge) == {"hx"}

    def only_begins(self, edge: Edge) -> bool:
        """Whether an edge leads into a loop whose first turn alone reads it: others read what the turn before gave."""
        is_carried = any(back.back and back.head == edge.head for back in self._view.edges)
        head_op = self._view.nodes[edge.head].op
        is_like = head_op is not None and self._graph.ops[head_op].name in SHAPED_LIKE  # it reads a shape alone
        tail, head = self._view.nodes[edge.tail], self._view.nodes[edge.head]
        is_aside = edge.value in self._visible.facts.aside and tail.kind != "const"
        if edge.back or not is_carried or is_like or is_aside:
            return False
        around = [*boxes_around(self._view.boxes, tail.box)]
        inside = [box for box in boxes_around(self._view.boxes, head.box) if box not in around]
        own = {*self._visible.facts.ops_of(head)}
        others = (at for op in own for at in self._alike(op, head) if at not in own)
        again = {self._traced(value)[0] for at in others for value in self._graph.ops[at].inputs}
        is_read = self._traced(edge.value)[0] in again
        is_read |= any(at in tail.values or self._tail(at) in (tail.id, *tail.links) for at in again)
        return any(box.repetition == "loop" for box in inside) and bool(again) and not is_read

    def _arguments(self, edge: Edge) -> set[str]:
        """The arguments of the layer at the head of an edge that come from its tail."""
        tail, inputs = self._view.nodes[edge.tail], self._graph.calls[self._view.nodes[edge.head].calls[0]].inputs
        origins = ((path.partition(".")[0], self._traced(value)[0]) for path, value in inputs.items())
        return {name for name, at in origins if at in tail.values or self._tail(at) in (tail.id, *tail.links)}

    def output(self, edge: Edge) -> str:
        """Name of what an edge brings of a layer: `h`, `output 1` if not the first, `cos, x.0–3`, or `2 outputs`.

        Those that other turns of the head read count, too, and of what repeats those that the last turn gives.
        """
        tail, head, value = self._view.nodes[edge.tail], self._view.nodes[edge.head], self._traced(edge.value)[0]
        if tail.kind != "call" or tail.parts or tail.repetition not in ("series", "loop"):
            return ""
        every = [output for call in tail.calls for output in self._graph.calls[call].outputs.values()]
        carried = {at for at, heads in self._taken.items() if head.id in heads and self._tail(at) == tail.id}
        is_inner = bool(every and carried) and carried.isdisjoint(self._moved(every))
        if head.kind == "output":
            return _UNRETURNED if is_inner else ""
        given, module = self._graph.calls[tail.calls[-1]].outputs, self._visible.tree.module(tail.calls[0])
        is_native = module is not None and module.native
        first = {at: output for at, output in self._first.items() if output in given.values()}
        first |= {output: output for output in given.values()}
        value = first.get(value, value)
        read = {output for at, output in first.items() if head.id in self._taken.get(at, ())}
        if head.box is not None and len(given) > 1:
            again = (at for op in self._visible.facts.ops_of(head) for at in self._alike(op, head))
            there = (self._traced(v)[0] for at in again for v in self._graph.ops[at].inputs)
            read |= {first[at] for at in there if at in first}
        makers = {at: self._tail(at) for at in read}  # what a layer hands on comes on the line of what made it
        read -= {at for at, made in makers.items() if made != tail.id and (made, head.id) in self._pairs}
        known = {origin: self._called(tail.calls[-1], path) for path, origin in given.items()}
        if (count := len(read)) > 1:
            # the layer's arguments, which the other end of the line may name, stand in its own order
            at_head = self._graph.calls[head.calls[0]].inputs.values() if head.kind == "call" else ()
            order = [first.get(at, at) for at, _ in map(self._traced, at_head)]
            placed = sorted(read.intersection(known), key=[*order, *known].index)
            words = [known[origin] for origin in placed]
            said = ", ".join(words)
            said = said if len(said) <= _LONG else ", ".join(_in_rows(words))
            is_long = len(said) > _LONG_NAMES or any(name[:1].isdigit() for name in words)
            # what an LSTM gives goes on packed, or with its states
            return "" if is_native else f"{count} outputs" if is_long else said
        if is_inner:
            return _UNRETURNED
        at, said = next(((i, known[value]) for i, output in enumerate(given.values()) if output == value), (0, ""))
        if not at and (len(given) < 2 or is_native or said[:1].isdigit()):
            return ""
        return f"output {said}" if said[:1].isdigit() else said

    def _called(self, call: int, path: str) -> str:
        """The name of an output, or its path: an entry of a variable that held an argument, `x.1`, would be that."""
        row = self._graph.calls[call]
        name = self._graph.part(row.module, path)
        around = {} if row.parent is None else self._graph.calls[row.parent].inputs
        return path if "." in name and around.get(name, row.outputs[path]) != row.outputs[path] else name or path

    def _outputs_again(self, node: Node) -> Iterator[tuple[int, int]]:
        """What a layer gives in each turn, and what it gives in the first."""
        for value in self._graph.calls[node.calls[0]].outputs.values() if node.box is not None else ():
            row = self._graph.values[value]
            for at in () if row.producer is None else self._alike(row.producer, node):
                yield self._graph.ops[at].outputs[row.index], value

    def _moved(self, values: Iterable[int]) -> list[int]:
        """Some values, and those that they were moved from."""
        moved = [*values]
        for value in moved:
            made = self._graph.values[value].producer
            source = None if made is None else self._visible.handed[made]
            moved += [] if source is None else [source]
        return moved

    def _tail(self, value: int) -> int | None:
        """The node whose op made a value."""
        made = self._graph.values[value].producer
        return None if made is None else self._owner.get(made)

    def _traced(self, value: int, most: int = -1) -> tuple[int, _Part]:
        """The tensor that a node gives, and which part of it the value is; through so many cuts if there is a limit."""
        cuts, axis = list[Slice](), -1
        while value not in self._given:
            made = self._graph.values[value].producer
            if made is None or (most < 0 and (made in self._owner or self._graph.ops[made].call not in self._span)):
                break
            if most < 0 and value in self._first:
                break
            op, source = self._graph.ops[made], self._visible.handed[made]
            if source is None and any(row.id in self._visible.gone for row in self._graph.around(op.call)):
                source = next(iter(op.inputs), None)
            if source is None:
                break
            if not self._is_in_function(op, source) and (cut := self._cut(op, source, value)):
                if len(cuts) == most:
                    break
                cuts[-1:] = [self._seen(cut, axis, value) for cut in cuts[-1:]]
                cuts, axis = [*cuts, cut], cut.axis
            else:
                axis = self._axis_before(op, source, value, axis)
            value = source
        cuts[-1:] = [self._seen(cut, axis, value) for cut in cuts[-1:]]
        return value, tuple(reversed(cuts))

    def _seen(self, cut: Slice, axis: int, value: int) -> Slice:
        """A cut in terms of the tensor that a reader sees, where it is along an axis; -1 if that is not one there."""
        behind, whole = len(self._shape(cut.of)) - cut.axis, self._shape(value)
        if cut.name:
            return cut._replace(words=cut.name)
        if cut.pieces:
            return cut._replace(words=self._place(cut.of, cut.axis, cut.start, cut.pieces, value))
        if cut.axis < 0 or axis == cut.axis or (cut.words.startswith("[...") and axis == len(whole) - behind):
            return cut
        if axis >= 0:
            words = bracket(axis, whole, cut.start, cut.stop)
            return cut._replace(words=words if ":" in cut.words.rpartition(",")[2] else f"[{':, ' * axis}{cut.start}]")
        n, at = self._shape(cut.of)[cut.axis], cut.start
        if cut.stop > at + 1:
            return cut._replace(words=self._in_order(cut, n, value) or cut.words)
        words = self._place(cut.of, cut.axis, at, n, value)
        return Slice(cut.of, 0, at, at + 1, words, n) if words else cut

    def _in_order(self, cut: Slice, n: int, seen: int) -> str:
        """A stretch of an axis of n runs of an axis that a reader sees; empty if that is in another order."""
        value, before, whole = cut.of, prod(self._shape(cut.of)[: cut.axis]), self._shape(seen)
        while value != seen:
            op = self._graph.ops[self._graph.values[value].producer or 0]
            source = self._visible.handed[op.id]
            source = op.inputs[0] if source is None else source
            if op.name in EXCHANGES or prod(self._shape(source)) != prod(self._shape(value)):
                return ""
            value = source
        axis = next((i for i, size in enumerate(whole) if prod(whole[:i]) == before and not size % n), None)
        return "" if axis is None else bracket(axis, whole, *(whole[axis] // n * end for end in (cut.start, cut.stop)))

    def _place(self, value: int, axis: int, at: int, n: int, seen: int) -> str:
        """One of n equal parts of an axis, as it lies in the tensor that a reader sees.

        A half is a run of places, and every other place of an axis an index; elsewhere neither is said.
        """
        is_run, size = True, self._shape(value)[axis]
        while n == len(_ORDINALS) and value != seen:
            op = self._graph.ops[self._graph.values[value].producer or 0]
            source = self._visible.handed[op.id]
            source = op.inputs[0] if source is None else source
            shape, before = self._shape(value), self._shape(source)
            if (there := self._axis_before(op, source, value, axis)) < 0:
                run, parted = prod(shape[axis:]) // n, [i for i, length in enumerate(before) if not length % n]
                there = next((i for i in parted if prod(before[i:]) == run * n), -1)
                if there < 0 and size == n:
                    there, is_run = next((i for i in parted if prod(before[i + 1 :]) == run), -1), False
                if there < 0:
                    return f"{at + 1} of {n}"
            axis, value = there, source
        if is_run:
            return f"{_ORDINALS[at]} half" if n == len(_ORDINALS) else f"{at + 1} of {n}"
        return bracket(axis, self._shape(seen), at, self._shape(seen)[axis])[:-1] + f":{n}]"

    def _axis_before(self, op: Op, source: int, value: int, axis: int) -> int:
        """The axis of what an op moves that becomes one of what it gives; -1 if none does."""
        before, shape = self._shape(source), self._shape(value)
        if axis < 0:
            return -1
        if op.name in EXCHANGES:
            axes = [int(number) % len(before) for number in re.findall(r"-?\d+", " ".join(op.attrs.values()))]
            if op.name == "permute":
                return axes[axis]
            i, j = axes if len(axes) == 2 else (len(before) - 2, len(before) - 1)
            is_swap = op.name in ("transpose", "swapaxes", "swapdims", "t", "mT")
            return {i: j, j: i}.get(axis, axis) if is_swap else -1
        if before[: axis + 1] == shape[: axis + 1]:
            return axis
        if before[(behind := axis - len(shape)) :] == shape[axis:]:
            return len(before) + behind
        kept = [at for at, size in enumerate(before) if size != 1]
        is_kept = [before[at] for at in kept] == [size for size in shape if size != 1] and shape[axis] != 1
        return kept[sum(size != 1 for size in shape[:axis])] if is_kept else -1

    def _is_in_function(self, op: Op, source: int) -> bool:
        """Whether a function that is drawn as one takes a part of what it gives."""
        tail = next((at for at in map(self._tail, self._moved([source])) if at is not None), None)
        node = None if tail is None else self._view.nodes[tail]
        if node is None or node.kind != "function" or node.op is not None:
            return False
        if node.id not in self._ran:
            inside = self._visible.facts.ran_in.items()
            self._ran[node.id] = {frame for frame, ran in inside if {*node.ops} <= {*ran}}
        return not self._ran[node.id].isdisjoint(frames_around(self._graph, op.frame))

    def _cut(self, op: Op, source: int, value: int) -> Slice | None:
        """The step from a tensor to what an op takes of it; None if that is all."""
        whole, taken = self._shape(source), self._shape(value)
        if op.name not in (*PIECES, "getitem") or prod(whole) == prod(taken):
            return None
        if op.name == "getitem":
            return cut_by_index(source, op.attrs.get("1", ""), whole)
        n, at = len(op.outputs), op.outputs.index(value)
        name = self._names(op)[at]
        shapes = [*map(self._shape, op.outputs)]
        axis = next((i for i, (a, b) in enumerate(zip(whole, taken, strict=False)) if a != b), 0)
        if len(taken) < len(whole):
            axis = int(op.attrs.get("dim") or op.attrs.get("1", "0")) % len(whole)
        if all(shape == shapes[0] for shape in shapes) and not any(map(_LISTED.fullmatch, op.attrs.values())):
            return Slice(source, axis, at, at + 1, "", n, name)
        start = sum(shape[axis] for shape in shapes[:at])
        stop = start + taken[axis]
        words = bracket(axis, whole, start, stop)
        self._places[words] = f"part {at + 1} of {n}"
        return Slice(source, axis, start, stop, words, name=name)

    def _names(self, op: Op) -> Sequence[str]:
        """The variables that get pieces, where nothing else in their call has the name, and they do not merely count.

        `x1` and `x2` do, and so do `a` and `b`, but not `q`, `k` and `v`.
        """
        if (known := self._variables.get(op.id)) is not None:
            return known
        names, around = [self._graph.variable(op, at) for at in range(len(op.outputs))], self._graph.around(op.call)
        others = {*self._graph.inputs, *(path.rpartition(".")[2] for row in around for path in row.inputs)}
        beside = (self._graph.ops[item.id] for item in self._visible.tree.items[op.call] if not item.is_call)
        rows = (row for row in beside if row.source != op.source)
        others.update(self._graph.variable(row, at) for row in rows for at in range(-1, len(row.outputs)))
        is_number = len({text.rstrip("0123456789") for text in names}) == 1 or "".join(names) in ascii_lowercase
        is_silent = is_number or self._graph.variable(op)  # which holds them all
        return self._variables.setdefault(op.id, ["" if is_silent or name in others else name for name in names])

    def _shape(self, value: int) -> list[int]:
        return [size if isinstance(size, int) else _NAMED for size in self._graph.values[value].shape]

    def _there(self, op: Op, value: int, part: _Part, other: int) -> str:
        """The words of what stands in the place of an op in another turn and reads there, if that is comparable."""
        inputs = self._graph.ops[other].inputs
        if len(inputs) != len(op.inputs):
            return _said(part)
        origin, again = self._traced(inputs[op.inputs.index(value)], len(part))
        own, here = self._traced(value, len(part))  # so far back that a cut may be of other axes than in its part
        return _said(again if self._is_like(own, origin, other) and _said(again) != _said(here) else part)

    def _is_like(self, own: int, origin: int, other: int) -> bool:
        """Whether a value is one in another turn: the same of outside, or made by what stands for its maker."""
        if own == origin or (own in self._given and self._graph.ops[other].call not in self._span):
            return True
        made, there = (self._graph.values[value].producer for value in (own, origin))
        node = self._tail(own)
        return made is not None and node is not None and there in {*self._alike(made, self._view.nodes[node])}

    def _turned(self, origin: int, node: int, taken: Collection[_Part]) -> str:
        """Parts that are both sides of an op, `2nd half − 1st half`, or that a join turns round, `3, 1 of 3`.

        `all pairs` if both sides are the whole tensor, and each of its entries meets each.
        """
        if (op := self._view.nodes[node].op) is None:
            return ""
        row = self._graph.ops[op]
        if {*taken} == {()} and self._are_pairs(row, origin):
            return "all pairs"
        if op not in self._read:  # a join of thousands of things is asked for each of them
            self._read[op] = {}
            for of, part in map(self._traced, row.inputs):
                self._read[op].setdefault(of, []).append(part)
        parts = self._read[op].get(origin, [])
        cuts, starts = [part[-1] for part in parts if len(part) == 1], [part[-1].start for part in parts if part]
        if {*parts} != {*taken} or len({(cut.of, cut.axis, cut.pieces) for cut in cuts}) != 1 or len(cuts) < len(parts):
            return ""
        if (sign := (SYMBOLS | COMPARED).get(plain(row.name))) and len(cuts) == len(row.inputs) == len({*cuts}) > 1:
            return f" {sign} ".join(cut.words for cut in (cuts[::-1] if is_reflected(row) else cuts))
        is_few = row.name in JOINS and len(cuts) <= _MOST_TURNED and cuts[0].axis >= 0
        if not is_few or starts == sorted(starts):
            return ""
        numbers = ", ".join(str(start + 1) for start in starts)
        is_of = cuts[0].pieces and not all(cut.name for cut in cuts)
        return f"{numbers} of {cuts[0].pieces}" if is_of else ", ".join(cut.words for cut in cuts)

    def _are_pairs(self, op: Op, origin: int) -> bool:
        """Whether both sides of an op are one tensor with axes at other places."""
        if len({*op.inputs}) != len(_ORDINALS) or plain(op.name) not in SYMBOLS | COMPARED:
            return False
        (a, b), rows = map(self._shape, op.inputs), [self._graph.values[value] for value in op.inputs]
        if any(self._traced(value) != (origin, ()) for value in op.inputs):
            return False
        if SYMBOLS.get(plain(op.name)) != "@":
            return prod(a) == prod(b) == prod(self._shape(origin)) < prod(self._shape(op.outputs[0]))
        made = [row.producer is not None and self._graph.ops[row.producer].name in EXCHANGES for row in rows]
        return sum(made) == 1 and a[-2:] == b[:-3:-1]

    def _words(self, parts: set[_Part]) -> str:
        if self._is_all(parts):
            return ""
        # all quarters of a half are that half, and so are halves of one that is read as well
        parts = {part[:1] if self._is_all({it[1:] for it in parts if it[:1] == part[:1]}) else part for part in parts}
        parts = {part for part in parts if not any(part[:n] in parts for n in range(1, len(part)))}
        if len({(part[:-1], part[-1].of, part[-1].axis) for part in parts}) == 1:
            first, last = min(parts)[:-1], self._together([part[-1] for part in sorted(parts)])
            return f"{_said(first)} {last}".strip() if last else ""
        texts = [*dict.fromkeys(map(_said, sorted(parts)))]
        return ", ".join(texts) if len(texts) <= _MOST else ""

    def _is_all(self, parts: set[_Part]) -> bool:
        if () in parts:
            return True
        behind: dict[Slice, set[_Part]] = {}
        for first, *rest in parts:
            behind.setdefault(first, set()).add(tuple(rest))
        groups: dict[tuple[int, int], list[Slice]] = {}
        for cut in (cut for cut, rest in behind.items() if cut.axis >= 0 and self._is_all(rest)):
            groups.setdefault((cut.of, cut.axis if not cut.pieces else -1), []).append(cut)
        for cuts in groups.values():
            (start, stop), *more = stretches(cuts)
            long = cuts[0].pieces or self._shape(cuts[0].of)[cuts[0].axis]
            if not more and (start, stop) == (0, long):
                return True
        return False

    def _together(self, cuts: Sequence[Slice]) -> str:
        """Several parts of one axis: `2–3 of 6`, `[:, 4:]`."""
        if len(cuts) == 1:
            return cuts[0].words
        runs, whole = [*stretches(cuts)], self._shape(cuts[0].of)
        if all(cut.name for cut in cuts) and len(said := ", ".join(cut.name for cut in cuts)) <= _LONG:
            return said
        if all(cut.pieces for cut in cuts):
            spans = (f"{a + 1}" if b == a + 1 else f"{a + 1}–{b}" for a, b in runs)
            return f"{', '.join(spans)} of {cuts[0].pieces}"
        if len(runs) == 1 and cuts[0].axis >= 0:
            return bracket(cuts[0].axis, whole, *runs[0])
        texts = [*dict.fromkeys(cut.words for cut in cuts)]
        return ", ".join(texts) if len(texts) <= _MOST else ""


def _said(part: _Part) -> str:
    return " ".join(cut.words for cut in part)


def _in_rows(names: Iterable[str]) -> Iterator[str]:
    """Entries of a list that follow each other as one name: `x.0–2` of `x.0, x.1, x.2`."""
    paths = [(name, *name.rpartition(".")) for name in names]
    rows = groupby(enumerate(paths), lambda at: (at[1][1], int(at[1][3]) - at[0] if at[1][3].isdigit() else at[0]))
    for _, row in rows:
        (first, *_), *rest = (path for _, path in row)
        yield f"{first}–{rest[-1][-1]}" if rest else first
