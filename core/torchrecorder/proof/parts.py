"""Whether edges say which part of a tensor they carry, where what takes parts of it is not drawn.

Parts are compared as elements: by the indices that the code has written, and by the sizes of pieces. If two readers get
different parts of one tensor, both edges have to say theirs; what an edge says has to be what flows there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from math import prod

from torchrecorder.graph.model import Op
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import COMPARISONS, JOINS, SIGNS, Fault
from torchrecorder.proof.indices import Stretch, is_in_span, is_within, stretches_of, together
from torchrecorder.proof.words import frames
from torchrecorder.view.model import Node, boxes_around

_Step = tuple[int, int]
"""An op that takes parts, and the position of one of them in its outputs."""
_Path = tuple[_Step, ...]
"""From a tensor to what is read of it; empty if that is all."""
_Turn = tuple[tuple[int, int], ...]
_NAMES = re.compile(r"[^\W\d]\w*(?:, [^\W\d]\w*)+")
"""Of variables that hold several parts."""
_TOKENS = re.compile(rf"\[[^\]]*\]|1st half|2nd half|(?:part )?\d[\d–…, ]* of \d+|{_NAMES.pattern}|\S+")
_APART = re.compile(r", (?![^\[]*\])")
"""A comma outside of an index."""
_OF = re.compile(r"(?:part )?([\d–, ]+) of (\d+)")
_NAMED = 1_000_003
"""Stands for a size that is known by name alone: more than any other, and the same each time."""
_MOST = 2
"""Parts that a line has to say; of more there may be no words."""
_MOST_TURNED = 4
"""Likewise where a join puts them in another order."""
_ROW = re.compile(r"([\w.]+\.)(\d+)–(\d+)")
"""Entries of a list that follow each other."""
_EACH = "one each"
_BEGINNING = "first step"
_SIGN = re.compile(" [+−×÷@=≠<≤>≥] ")
"""The sign of an op between its two sides."""
_SIGNS = SIGNS | COMPARISONS
_PAIRS, _SIDES = "all pairs", 2
_SAME_ORDER = frozenset(
    """
    unsqueeze squeeze unbind view reshape getitem flatten unflatten to float half bfloat16 type type_as contiguous clone
    detach pass cat
    """.split()  # noqa: SIM905 - it reads as a sentence
)
"""Moves that leave axes of more than one in their order, if their sizes are the same."""
_REPEATS = frozenset(("expand", "expand_as"))
"""Moves that give an axis of one many places, or none for a history of no steps: no part of it that has words."""
_EVERY = re.compile(r"\[(\.\.\., |(?::, )*)(\d*)::(\d+)\]")
_HALVES = {"1st half": 0, "2nd half": 1}


class PartsProof:
    """The parts that reach the nodes of a View."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage, self.facts = coverage, coverage.facts
        self.view, self.graph = coverage.view, coverage.graph
        tails = ((edge.head, (edge.tail, *self.view.nodes[edge.tail].links)) for edge in self.view.edges)
        self._pairs = {(tail, head) for head, ends in tails for tail in ends}
        self._origin = [*range(len(self.graph.values))]
        self._taken: dict[int, tuple[int, _Path] | None] = {}
        """By value that is not drawn the tensor it is of, and the steps to it; None if it is of several."""
        self._read: dict[int, dict[int, dict[_Turn, dict[_Path, int]]]] = {}
        """By tensor and node, for each turn of the boxes around, the ways to what is read, each with a value."""
        self._around: dict[int, set[int]] = {}
        """By node that is a function the runs of functions around all its ops."""

    def faults(self) -> Iterator[Fault]:
        for id_ in self.coverage.ops:
            op, nodes = self.graph.ops[id_], self.coverage.nodes.get(id_, ())
            if not nodes:
                self._pass_by(op)
            for value in self.facts.data_of(op) if nodes else ():
                turn = tuple(sorted(self.coverage.turns.get(id_, {}).items()))
                self._note(value, nodes, turn)
        for node in self.view.nodes:
            for value in node.values if node.kind == "output" else ():
                self._note(value, (node.id,), ())
        carried: dict[tuple[int, int], list[int]] = {}
        for tensor, readers in self._read.items():
            for head in readers:
                carried.setdefault((self._tail(tensor), head), []).append(tensor)
        rows = self.view.nodes
        edges = [edge for edge in self.view.edges if not edge.back and rows[edge.head].kind != "to"]
        said = {(tail, edge.head): edge.part for edge in edges for tail in rows[edge.tail].links or (edge.tail,)}
        for pair, words in said.items():
            yield from self._judged(pair, words, carried.get(pair, ()))
        begun: dict[int, dict[Node, str]] = {}
        for (tail, head), words in said.items():
            parts = (it for it in carried.get((tail, head), ()) if words and self._part(self._read[it][head]))
            if any(self._begins(tail, rows[head], it) for it in parts):
                begun.setdefault(tail, {})[rows[head]] = words
        for tail, heads in begun.items():
            if len(heads) > 1:
                what = " and ".join(dict.fromkeys(heads.values()))
                what += f" of {rows[tail].kind} {tail} are parts for the first turn of a row alone"
                yield Fault("flow", what, self.coverage.around(next(iter(heads))))
        yield from self._beginnings()
        for op in map(self.graph.ops.__getitem__, self.coverage.ops):
            for head in self.coverage.nodes.get(op.id, ()) if op.name in JOINS or op.name.strip("_") in _SIGNS else ():
                yield from self._turned(op, self.view.nodes[head], said)

    def _turned(self, op: Op, head: Node, said: Mapping[tuple[int, int], str]) -> Iterator[Fault]:
        """Faults of an op that takes parts of one tensor in another order, or as both of its sides, in silence."""
        sign = _SIGNS.get(op.name.strip("_"))
        taken: dict[int, list[_Step]] = {}
        for tensor, path in filter(None, map(self._way, op.inputs)):
            taken.setdefault(tensor, []).extend(path[-1:] if len(path) == 1 else ())
        for tensor, steps in taken.items():
            shape, starts = self._shape(tensor), [i for _, i in steps]
            if len({op for op, _ in steps}) > 1:
                places = zip(*(self._region(step, shape) for step in steps), strict=True)
                axes = [[start for start, _ in stretches] for stretches in places if len({*stretches}) > 1]
                starts = axes[0] if len(axes) == 1 else []
            words = said.get((self._tail(tensor), head.id), "") if head.op == op.id else None
            is_wanted = len(steps) == len(op.inputs) == 2 if sign else starts != sorted(starts)
            if words is not None and is_wanted and len({*steps}) == len(steps) <= _MOST_TURNED:
                texts = [{*self._texts(step)} for step in (steps[::-1] if "__r" in op.target else steps)]
                one = [f"{text} of {of[2]}" for text in of[1].split(", ")] if (of := _OF.fullmatch(words)) else []
                each = one or (words.split(f" {sign} ") if sign else _APART.split(words))
                each = [f"{_HALVES[word] + 1} of 2" if word in _HALVES else word for word in each]
                if len(each) != len(texts) or not all(word in text for word, text in zip(each, texts, strict=True)):
                    what = f"parts of value {tensor} in another order, or as both of its sides, which is not said"
                    yield Fault("flow", f"{op.name} at {op.source} takes {what}", self.coverage.around(head))

    def _judged(self, pair: tuple[int, int], words: str, tensors: Sequence[int]) -> Iterator[Fault]:
        tail, head = (self.view.nodes[id_] for id_ in pair)
        name = f"the edge from {tail.kind} {tail.id} to {head.kind} {head.id}"
        turns = [self._largest(paths) for tensor in tensors for paths in self._read[tensor][head.id].values()]
        is_end = bool(words) and (self._is_argument(words, tail.id, head) or self._is_output(words, tail, head.id))
        is_end &= not (words.isidentifier() and self._are_true(words, turns))  # of an argument and of a part
        words, are_each = "" if is_end else words, self._are_each(tail, head)
        calls = (*self.coverage.around(tail), *self.coverage.around(head))
        if nested := [op for tensor in tensors for op in self._nested(tensor, head)]:
            yield Fault("flow", f"{name} carries a tensor and a part of it, and says one alone", calls, (*nested,))
        if (words == _PAIRS) != (are_pairs := any(self._are_pairs(head, tensor) for tensor in tensors)):
            yield Fault("flow", f"{name} brings {'all' if are_pairs else 'no'} pairs of entries", calls)
        words = "" if words == _PAIRS else words
        if words == _BEGINNING and self._is_carried(head.id):
            words = "" if tensors and all(self._begins(tail.id, head, it, "loop") for it in tensors) else words
        if not is_end and (words == _EACH if not are_each else not words):
            yield Fault("flow", f"{name} brings {'' if are_each else 'not '}one to each turn", calls)
        words = "" if are_each and (words == _EACH or head.repeat == 1) else words
        if not is_end and not words and self._is_later_output(tail, head, tensors):
            yield Fault("flow", f"{name} carries an output beside others, and does not say which", calls)
        if not words and not is_end and self._are_several(tail, head):
            yield Fault("flow", f"{name} carries several outputs, and does not say so", calls)
        if not words and not is_end and self._is_inner(tail, head, tensors):
            yield Fault("flow", f"{name} carries what its layer does not return, and does not say so", calls)
        if words and not self._are_true(_SIGN.sub(", ", words), turns):
            yield Fault("flow", f"{name} does not carry {words}", calls, _cuts(turns))
        are_alike = len({self._part(self._read[tensor][head.id]) for tensor in tensors}) == 1  # one for each turn
        are_alike &= all(len({*map(self._named, paths)}) <= _MOST for paths in turns)
        if not words and are_alike and all(self._is_needed(tensor, head.id) for tensor in tensors):
            what = f"carries a part of value {tensors[0]}, which is not said"
            yield Fault("flow", f"{name} {what}", calls, _cuts(turns))

    def _beginnings(self) -> Iterator[Fault]:
        """Faults of parameters that stand in a loop of which the first turn alone reads them, as a first state."""
        kinds = {"param", "buffer", "const", "input"}
        from_outside = [by_turn for at, by_turn in self._read.items() if self.graph.values[at].kind in kinds]
        again = {head for of in from_outside for head, turns in of.items() if any(n for at in turns for _, n in at)}
        for around, node in ((whole.box, part) for whole in self.view.nodes for part in (whole, *whole.parts)):
            is_inside = any(box.repetition == "loop" for box in boxes_around(self.view.boxes, around))
            if node.kind in ("param", "buffer") and is_inside and node.values:
                readers = self._read.get(node.values[0], {})
                if readers and again.isdisjoint(readers) and all(self._is_carried(head) for head in readers):
                    what = f"{node.kind} {node.id} is drawn in a loop that only begins with it"
                    yield Fault("flow", what, self.coverage.around(self.view.nodes[next(iter(readers))]))

    def _is_carried(self, head: int) -> bool:
        return any(edge.back and edge.head == head for edge in self.view.edges)

    def _nested(self, tensor: int, head: Node) -> Iterator[int]:
        """The ops that take a part of what an op or a function gets beside that part."""
        if head.kind != "op" and (head.kind != "function" or head.op is not None):  # a layer may pad what it gets
            return
        for paths in self._read[tensor][head.id].values():
            data = [path for path, value in paths.items() if not self.facts.is_side[value]]
            given = {(*takewhile(lambda step: not self._runs_in(step[0], head.id), path),) for path in data}
            for path in given:
                n = max((n for n in range(len(path)) if path[:n] in given), default=len(path))
                yield from (op for op, _ in path[n:])

    def _begins(self, tail: int, head: Node, tensor: int, repetition: str = "series") -> bool:
        """Whether only the first turn of a row of layers, or of a loop, which the tail is not in, reads a tensor."""
        outer = [*boxes_around(self.view.boxes, self.view.nodes[tail].box)]
        rows = [it for it in boxes_around(self.view.boxes, head.box) if it not in outer and it.repetition == repetition]
        return any(it.repeat > 1 and {dict(at).get(it.id) for at in self._read[tensor][head.id]} == {0} for it in rows)

    def _are_pairs(self, head: Node, tensor: int) -> bool:
        """Whether a node is an op of two sides that are both one tensor, of which each entry meets each."""
        op = self.graph.ops[head.op or 0]
        if head.op is None or op.name.strip("_") not in _SIGNS or len({*op.inputs}) != _SIDES:
            return False
        if any(self._way(value) != (tensor, ()) for value in op.inputs):
            return False
        (a, _), (b, _) = map(self._axes, op.inputs)
        if -2 in (*a, *b):
            return False
        if SIGNS.get(op.name.strip("_")) == "@":
            return len(a) > 1 and a[:-2] == b[:-2] and a[-2:] == b[:-3:-1] and -1 not in a[-2:]
        n = max(len(a), len(b))
        pairs = zip(*([-1] * (n - len(of)) + of for of in (a, b)), strict=True)
        unlike = [(x, y) for x, y in pairs if x != y]
        return bool(a and b) and len(unlike) == _SIDES and unlike[0] == unlike[1][::-1] and -1 in unlike[0]

    def _are_each(self, tail: Node, head: Node) -> bool:
        """Whether each turn of a box around the head alone reads another one of several tensors that a node brings.

        Or each of what is drawn side by side does, or another one of the pieces that a tensor is cut into.
        """
        columns = self._columns(head) if head.repetition == "parallel" and head.repeat > 1 else []
        taken = [{*self._one_of_many(tail, ways, len(columns))} for ways in columns]
        if columns and all(len(of) == 1 for of in taken) and len(set[object]().union(*taken)) == len(columns):
            return True
        read = [{*self._read[tensor][head.id]} for tensor in tail.values if head.id in self._read.get(tensor, {})]
        (around, outer) = ([*boxes_around(self.view.boxes, node.box)] for node in (head, tail))
        n = next((box.repeat for box in around if box not in outer and box.repeat > 1), 0)
        return len(read) == n > 1 and all(len(turns) == 1 for turns in read) and len(set[_Turn]().union(*read)) == n

    def _columns(self, head: Node) -> list[list[tuple[int, _Path]]]:
        """For each of what is drawn side by side the ways to what it reads."""
        rows = zip(*(part.calls for part in head.parts or (head,) if part.calls), strict=True)
        columns = [[*self.facts.ops_of(row)] for row in rows] or [[op] for op in head.ops]
        read = ([self._way(value) for op in ops for value in self.graph.ops[op].inputs] for ops in columns)
        return [[way for way in ways if way is not None] for ways in read]

    def _one_of_many(self, tail: Node, ways: Iterable[tuple[int, _Path]], n: int) -> Iterator[object]:
        """Which ones of so many tensors of a node, or of so many pieces of one, ways lead to."""
        for tensor, path in ways:
            if tensor in tail.values and len(tail.values) == n:
                yield tensor
            elif path and self._tail(tensor) == tail.id and len(self.graph.ops[path[0][0]].outputs) == n:
                yield path[0]

    def _is_argument(self, words: str, tail: int, head: Node) -> bool:
        """Whether words are the name of an argument that a layer gets from a node, or the state of one of torch's."""
        inputs = [item for call in head.calls for item in self.graph.calls[call].inputs.items()]
        modules = (self.graph.modules.get(self.graph.calls[call].module) for call in head.calls)
        is_state = words == "state" and all(it and it.cls.startswith("torch.nn.modules.rnn.") for it in modules)
        name = "hx" if is_state else words
        ways = (self._way(value) for path, value in inputs if path.partition(".")[0] == name)
        given = {way[0] for way in ways if way is not None}
        others = (self._way(value) for path, value in inputs if is_state and path.partition(".")[0] != name)
        if tail in (self._tail(way[0]) for way in others if way is not None):
            return False
        return tail in map(self._tail, given) or not given.isdisjoint(self.view.nodes[tail].values)

    def _is_direct(self, tail: Node, head: Node) -> bool:
        return any((edge.tail, edge.head, edge.back) == (tail.id, head.id, False) for edge in self.view.edges)

    def _is_later_output(self, tail: Node, head: Node, tensors: Sequence[int]) -> bool:
        """Whether a line that is not cut brings one output of a layer but the first, and others bring another one."""
        if len(tensors) != 1 or tail.parts or len(tail.calls) != 1 or head.kind == "output":
            return False
        if not self._is_direct(tail, head):
            return False
        given = dict.fromkeys(self.graph.calls[tail.calls[0]].outputs.values())
        outputs = [value for value in given if self._tail(value) == tail.id]  # a dict may hold its inputs, too
        kept = {id_ for id_, node in enumerate(self.view.nodes) if node.kind != "output"} - {tail.id}
        read = [value for value in outputs if not kept.isdisjoint(self._read.get(value, ()))]
        return len(read) > 1 and tensors[0] in outputs[1:]

    def _is_output(self, words: str, tail: Node, head: int) -> bool:
        """Whether words say an output of a layer that a node gets, or that it gets none."""
        if words == "not returned":
            return self._is_inner(tail, self.view.nodes[head], [at for at in self._read if self._tail(at) == tail.id])
        for call in tail.calls:
            outputs = self.graph.calls[call].outputs
            got = self._outputs_read(call, head)
            if (count := len({*got.values()})) > 1:
                names = {value: self._called(call, at) or at for at, value in got.items()}
                order = self._arguments_in_order(head)
                row = sorted(names, key=lambda value: order.index(value) if value in order else len(order))
                return _ROW.sub(_listed, words) in (f"{count} outputs", ", ".join(map(names.__getitem__, row)))
            for path, value in outputs.items():
                said = self._called(call, path)
                if words in (path, f"output {path}", said) and self._is_read(value, head):
                    return True
        return False

    def _called(self, call: int, path: str) -> str:
        """The name of an output of a call; none that is an entry of an argument of the call around, `x.1`, as well."""
        row = self.graph.calls[call]
        name, outer = self.graph.part(row.module, path), row.parent
        entrances = (
            {} if outer is None else {at: value for at, value in self.graph.calls[outer].inputs.items() if "." in at}
        )
        return "" if entrances.get(name, row.outputs[path]) != row.outputs[path] else name

    def _arguments_in_order(self, head: int) -> list[int]:
        """The tensors that a layer gets, in the order of its arguments."""
        calls = self.view.nodes[head].calls if self.view.nodes[head].kind == "call" else ()
        ways = (self._way(value) for call in calls for value in self.graph.calls[call].inputs.values())
        return [way[0] for way in ways if way is not None]

    def _outputs_read(self, call: int, head: int) -> dict[str, int]:
        """The outputs of a call that a node reads, or another turn of it, by path; not what another line brings."""
        tails = (self.view.nodes[edge.tail] for edge in self.view.edges if edge.head == head)
        lines = {tail.id for tail in tails if call not in tail.calls}
        outputs = self.graph.calls[call].outputs.items()
        return {path: at for path, at in outputs if self._is_read(at, head) and self._tail(at) not in lines}

    def _is_read(self, value: int, head: int) -> bool:
        """Whether a node reads a value, or what another turn gives in its place."""
        row = self.graph.values[value]
        again = self.coverage.again.get(-1 if row.producer is None else row.producer, ())
        return any(
            head in self._read.get(at, {}) for at in (value, *(self.graph.ops[op].outputs[row.index] for op in again))
        )

    def _are_several(self, tail: Node, head: Node) -> bool:
        """Whether a line that is not cut brings several outputs of the user's layer."""
        is_one = tail.kind == "call" and not tail.parts and tail.repetition in ("series", "loop")
        if not is_one or head.kind == "output" or not self._is_direct(tail, head):
            return False
        module = self.graph.modules.get(self.graph.calls[tail.calls[-1]].module)
        is_theirs = module is not None and not module.native
        return is_theirs and len({*self._outputs_read(tail.calls[-1], head.id).values()}) > 1

    def _is_inner(self, tail: Node, head: Node, tensors: Sequence[int]) -> bool:
        """Whether a layer that is closed returns nothing of what a node gets of it."""
        ops = {*self.facts.ops_of(tail.calls)}
        read = {at for at in tensors if head.id in self._read[at] and self.graph.values[at].producer in ops}
        given = [value for call in tail.calls for value in self.graph.calls[call].outputs.values()]
        for value in given:  # in any shape
            made = self.graph.values[value].producer
            is_moved = made is not None and self.facts.is_move(self.graph.ops[made], self._origin)
            given += self.facts.data_of(self.graph.ops[made])[:1] if made is not None and is_moved else ()
        is_one = bool(tail.calls) and not tail.parts and tail.repetition in ("series", "loop")
        return is_one and bool(given) and bool(read) and read.isdisjoint(given)

    def _is_needed(self, tensor: int, head: int) -> bool:
        """Whether a node gets less than all of a tensor, the same in each turn, and the rest is dropped or goes on."""
        is_loose = self.graph.values[tensor].kind in ("param", "buffer", "const")
        if is_loose and (self._tail(tensor), head) not in self._pairs:  # a name alone says what has no line
            return False
        return len(self._part(self._read[tensor][head])) == 1

    def _part(self, by_turn: Mapping[_Turn, Mapping[_Path, int]]) -> frozenset[object]:
        """What is read in some turn; empty for a whole tensor."""
        is_less = any(map(self._is_less, by_turn.values()))
        return frozenset(frozenset(map(self._named, paths)) for paths in by_turn.values() if is_less)

    def _pass_by(self, op: Op) -> None:
        sources = [*dict.fromkeys(v for v in self.facts.data_of(op) if not self.facts.is_side[v])] or [*op.inputs[:1]]
        is_move = bool(op.inputs) and self.facts.is_move(op, self._origin)
        whole = self._way(sources[0]) if is_move and len(sources) == 1 else None
        for i, value in enumerate(op.outputs):
            self._origin[value] = self._origin[sources[0]] if is_move else value
            is_less = bool(sources) and self._size(value) < self._size(sources[0])
            is_less &= op.name not in _REPEATS
            is_less &= whole is None or not self._runs_in(op.id, self._tail(whole[0]))  # which gives the part alone
            self._taken[value] = whole and (whole[0], (*whole[1], *([(op.id, i)] if is_less else [])))

    def _runs_in(self, op: int, id_: int) -> bool:
        """Whether a node is a function, and an op runs in it."""
        node = self.view.nodes[id_]
        if id_ < 0 or node.kind != "function" or node.op is not None:
            return False
        if (around := self._around.get(id_)) is None:
            first, *rest = ({*frames(self.graph, self.graph.ops[row])} for row in node.ops)
            around = self._around[id_] = first.intersection(*rest)
        return not around.isdisjoint(frames(self.graph, self.graph.ops[self.coverage.drawn_op(op)]))

    def _way(self, value: int) -> tuple[int, _Path] | None:
        return self._taken.get(value, (value, ()))

    def _note(self, value: int, nodes: Iterable[int], turn: _Turn) -> None:
        if (way := self._way(value)) is None:
            return
        made = self.graph.values[way[0]].producer
        for node in nodes:
            is_seen = not self.facts.is_side[value] or (self._tail(way[0]), node) in self._pairs  # it may flow unseen
            if is_seen and node not in self.coverage.nodes.get(-1 if made is None else made, ()):
                self._read.setdefault(way[0], {}).setdefault(node, {}).setdefault(turn, {})[way[1]] = value

    def _tail(self, tensor: int) -> int:
        made = self.graph.values[tensor].producer
        if made is not None and (nodes := self.coverage.nodes.get(made)):
            return nodes[0]
        return next((node.id for node in self.view.nodes if node.kind != "output" and tensor in node.values), -1)

    def _shape(self, value: int) -> list[int]:
        return [size if isinstance(size, int) else _NAMED for size in self.graph.values[value].shape]

    def _size(self, value: int) -> int:
        return prod(self._shape(value))

    def _is_less(self, paths: Collection[_Path]) -> bool:
        """Whether what is read is less than the whole tensor: elements in several parts count twice."""
        if () in paths:
            return False
        taken = (self.graph.ops[op].outputs[i] for op, i in (path[-1] for path in paths))  # before it is expanded
        parts = dict(zip(map(self._named, paths), map(self._size, taken), strict=True))
        whole = self.graph.ops[next(iter(paths))[0][0]].inputs[0]
        return sum(parts.values()) < self._size(whole)

    def _largest(self, paths: Collection[_Path]) -> list[_Path]:
        """The ways to parts that are in no other of them; all pieces of a part are that part."""
        joined = [path[:1] if self._is_all([of[1:] for of in paths if of[:1] == path[:1]]) else path for path in paths]
        return [path for path in dict.fromkeys(joined) if not any(path[:n] in joined for n in range(1, len(path)))]

    def _is_all(self, paths: Collection[_Path]) -> bool:
        """Whether some ways lead to all of a tensor: itself, or all pieces that an op cuts it into."""
        for op in (self.graph.ops[id_] for id_ in {path[0][0] for path in paths if path}):
            behind = ([path[1:] for path in paths if path[:1] == ((op.id, i),)] for i in range(len(op.outputs)))
            if self._size(op.inputs[0]) == sum(map(self._size, op.outputs)) and all(map(self._is_all, behind)):
                return True
        return () in paths

    def _named(self, path: _Path) -> tuple[object, ...]:
        """A way as the code says it, which two ops may say alike."""
        rows = ((self.graph.ops[op], i) for op, i in path)
        return tuple((op.name, tuple(op.attrs.items()), i) for op, i in rows)

    def _are_true(self, words: str, turns: Sequence[Sequence[_Path]]) -> bool:
        return bool(turns) and all(self._is_true(words, paths) for paths in turns)

    def _is_true(self, words: str, paths: Sequence[_Path]) -> bool:
        if () in paths:
            return False
        if len({path[:-1] for path in paths}) == 1:  # the last step alone has several
            way, steps = _TOKENS.findall(words), [[*dict.fromkeys(column)] for column in zip(*paths, strict=True)]
            if len(way) == len(steps) and all(map(self._are, way, steps)):
                return True
        tokens = [_TOKENS.findall(text) for text in _APART.split(words)]
        ways = {path: [way for way in tokens if len(way) == len(path)] for path in paths}
        return all(any(all(map(self._are, way, ([it] for it in path))) for way in ways[path]) for path in paths)

    def _are(self, words: str, steps: Sequence[_Step]) -> bool:
        """Whether parts that are taken of one value are together what some words say."""
        ops = {op for op, _ in steps}
        first = self.graph.ops[steps[0][0]]
        shape = self._shape(first.inputs[0])
        if words.isidentifier():
            return all(words in self._texts(step) for step in steps)
        if _NAMES.fullmatch(words):
            own, texts = words.split(", "), [{*self._texts(step)} for step in steps]
            return len(own) == len(texts) and all(any(name in text for text in texts) for name in own)
        if (every := _EVERY.fullmatch(words)) and "::" not in first.attrs.get("1", ""):
            return all(self._is_every(step, *every.groups()) for step in steps)
        if words in _HALVES and not self._is_run(steps[0]):
            return False
        if (of := _OF.fullmatch(words)) or words in _HALVES:
            runs = [run.partition("–") for run in of[1].split(", ")] if of else []  # `1–2, 4`
            wanted = {at - 1 for start, _, last in runs for at in range(int(start), int(last or start) + 1)}
            wanted, n = (wanted, int(of[2])) if of else ({_HALVES[words]}, len(_HALVES))
            single = [self._single(step) for step in steps]
            axis = single[0][0]
            if axis >= 0 and all(at == axis for at, _ in single):  # an index would be of none of the axes there
                is_away = self._axes(first.inputs[0])[0][axis] < 0
                return is_away and {at for _, at in single} == wanted and shape[axis] == n
            is_equal = self._is_shared(first)
            is_equal |= words.startswith("part ")  # which is one of several sizes
            return len(ops) == 1 and is_equal and len(first.outputs) == n and {i for _, i in steps} == wanted
        if "…" in words and words[0] != "[":
            return all(any(is_in_span(words, text) for text in self._texts(step)) for step in steps)
        if len(_APART.split(words)) > 1:  # each is judged alone
            return False
        union, (made, seen) = together([self._region(step, shape) for step in steps]), self._made_of(first.inputs[0])
        region = [(0, size) for size in seen]
        for parts, size, (start, stop) in zip(made, shape, union or (), strict=False):
            axis, pace, n = next(iter(parts), (-1, 1, 1)) if len(parts) < 2 else (-1, 1, 1)
            if (start, stop) != (0, size) and axis >= 0 and pace * n == seen[axis]:  # runs of an axis that is drawn
                region[axis] = start * pace, stop * pace
            elif (start, stop) != (0, size):
                return False
        return union is not None and is_within(region, words, seen)

    def _place(self, step: _Step) -> tuple[int, int]:
        """The axis of which a part takes one of equal parts, and which; -1 if it takes another part."""
        op = self.graph.ops[step[0]]
        return self._single(step) if op.name == "getitem" else (self._sizes(op, self._shape(op.inputs[0]))[0], step[1])

    def _is_run(self, step: _Step) -> bool:
        """Whether halves of an axis are stretches of an axis that is drawn, and no places between others."""
        (axes, seen), (at, _) = self._made_of(self.graph.ops[step[0]].inputs[0]), self._place(step)
        axis, pace, size = axes[at][0] if at >= 0 and axes[at] else (-1, 1, 1)
        return axis >= 0 and pace * size == seen[axis] and size % len(_HALVES) == 0

    def _is_every(self, step: _Step, before: str, start: str, pace: str) -> bool:
        """Whether a part is each second place of an axis that is drawn, `[:, 1::2]`."""
        op = self.graph.ops[step[0]]
        (axes, seen), (axis, at) = self._made_of(op.inputs[0]), self._place(step)
        there = len(seen) - 1 if "..." in before else before.count(":")
        is_place = self._size(op.inputs[0]) == int(pace) * self._size(op.outputs[step[1]])
        return is_place and axis >= 0 and (axes[axis], at) == ([(there, 1, int(pace))], int(start or 0))

    def _single(self, step: _Step) -> tuple[int, int]:
        """The axis of which an index takes a single place, and that place; -1 if it takes another part."""
        op = self.graph.ops[step[0]]
        indices = op.attrs.get("1", "").strip("()").rstrip(",").split(", ") if op.name == "getitem" else []
        numbers = [(at, int(index)) for at, index in enumerate(indices) if index.strip("-").isdigit()]
        is_one = len(numbers) == 1 and all(index in (":", indices[numbers[0][0]]) for index in indices)
        return (numbers[0][0], numbers[0][1] % self._shape(op.inputs[0])[numbers[0][0]]) if is_one else (-1, -1)

    def _axes(self, value: int) -> tuple[list[int], list[int]]:
        """By axis of a value that of the tensor that is drawn for it, or of its part said before, and its shape.

        -1 for an axis of one or a repeated one, -2 for one that is none there.
        """
        made, seen = self._made_of(value)
        ends = [next(iter(parts), (-1, 1, 1))[0] if len(parts) < 2 else -2 for parts in made]
        shape = zip(ends, self._shape(value), strict=True)
        return [-1 if size == 1 else axis if axis < 0 or seen[axis] == size else -2 for axis, size in shape], seen

    def _made_of(self, value: int) -> tuple[list[list[tuple[int, int, int]]], list[int]]:
        """By axis of a value the axes of what is drawn that it is made of, each with the step and how many places."""
        tensor, path = self._way(value) or (value, ())
        tensor, shape = self.graph.ops[path[-1][0]].outputs[path[-1][1]] if path else tensor, self._shape(value)
        made = self.graph.values[value].producer
        if value == tensor or made is None:
            return [[(axis, 1, size)] for axis, size in enumerate(shape)], shape
        op = self.graph.ops[made]
        source = next((at for at in self.facts.data_of(op) if not self.facts.is_side[at]), op.inputs[0])
        (axes, seen), before = self._made_of(source), self._shape(source)
        if order := self.facts.order(op):
            return [axes[axis] for axis in order], seen
        if op.name in _REPEATS:
            behind = len(shape) - len(before)
            is_kept = [i >= behind and before[i - behind] == size for i, size in enumerate(shape)]
            return [axes[i - behind] if kept else [(-1, 1, shape[i])] for i, kept in enumerate(is_kept)], seen
        if op.name not in _SAME_ORDER:
            return [[(-2, 1, size)] for size in shape], seen
        rest, found = [part for parts in axes for part in parts if part[2] != 1], list[list[tuple[int, int, int]]]()
        for i, size in enumerate(shape):
            found.append([])
            while size != 1 and rest:
                axis, step, length = rest.pop(0)
                if size % length and length % size:
                    rest, behind = [], i + len(before) - len(shape)
                    found[-1] = axes[behind] if behind >= 0 and before[behind:] == shape[i:] else [(-2, 1, size)]
                    break
                part = min(size, length)
                rest[:0] = [(axis, step, length // part)] if length != part else []
                found[-1].append((axis, step * (length // part), part))
                size //= part
        return found, seen

    def _region(self, step: _Step, shape: Sequence[int]) -> list[Stretch]:
        op = self.graph.ops[step[0]]
        if op.name == "getitem":
            return stretches_of(op.attrs.get("1", ""), shape)
        axis, sizes = self._sizes(op, shape)
        start = sum(sizes[: step[1]])
        region = [(0, size) for size in shape]
        region[axis] = start, start + sizes[step[1]]
        return region

    def _is_shared(self, op: Op) -> bool:
        """Whether an op shares a tensor out in equal parts, and not by a list of single places, as a first and a rest.

        Where that rest is one today, it is still no half.
        """
        is_list = any(text[:1] in "[(" and {*text[1:-1].split(", ")} == {"1"} for text in op.attrs.values() if text)
        return len({self.graph.values[value].shape for value in op.outputs}) == 1 and not is_list

    def _sizes(self, op: Op, shape: Sequence[int]) -> tuple[int, list[int]]:
        """The axis that pieces are of, and how long each is there."""
        shapes = [*map(self._shape, op.outputs)]
        if any(len(other) < len(shape) for other in shapes):  # of `unbind`, each at one place
            return int(op.attrs.get("dim") or op.attrs.get("1", "0")) % len(shape), [1] * len(shapes)
        axis = next((i for i, size in enumerate(shape) if any(size != other[i] for other in shapes)), 0)
        return axis, [other[axis] for other in shapes]

    def _texts(self, step: _Step) -> Iterator[str]:
        """A part as an index, in each way that it may be written."""
        op = self.graph.ops[step[0]]
        if not self.graph.variable(op):  # one that holds them all
            yield self.graph.variable(op, step[1])
        if op.name == "getitem":
            yield f"[{op.attrs.get('1', '').strip('()').rstrip(',')}]"
            return
        if self._is_shared(op):
            yield f"{step[1] + 1} of {len(op.outputs)}"
            return
        shape = self._shape(op.inputs[0])
        axis, sizes = self._sizes(op, shape)
        ends = [0, *accumulate(sizes)][step[1] : step[1] + 2]
        text = f"{ends[0] or ''}:{ends[1] if ends[1] != shape[axis] else ''}"
        yield from (f"[{':, ' * axis}{text}]", f"[..., {text}]")


def _listed(row: re.Match[str]) -> str:
    return ", ".join(f"{row[1]}{entry}" for entry in range(int(row[2]), int(row[3]) + 1))


def _cuts(turns: Iterable[Iterable[_Path]]) -> tuple[int, ...]:
    return tuple({op: None for paths in turns for path in paths for op, _ in path})
