"""What flows where in a View, against what its Graph says.

Between two shown things there is an edge if and only if data goes from one to the other through what is not shown. What
carries no features, such as a mask or positions, may flow unseen if a note names what was left out, and no output
depends on an input through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product

from torchrecorder.graph.model import Op
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault
from torchrecorder.view.model import boxes_around

_Pair = tuple[int, int, bool]
"""Tail, head, and whether the next turn of a loop reads it."""
_SOURCES = ("input", "param", "buffer", "const")
_LOSSES = ("_loss", "cross_entropy", "kl_div")
_NO_TURNS: Mapping[int, int] = {}
_FEW_GIVERS = 3
"""Places at most in which a list is made that has to be drawn: more lines would cross all others."""


class FlowProof:
    def __init__(self, coverage: Coverage) -> None:
        self.coverage, self.facts = coverage, coverage.facts
        self.view, self.graph = coverage.view, coverage.graph
        self.left_out = {*self.view.left_out}
        self.origin = [*range(len(self.graph.values))]
        """For each value the one that moves have made it from."""
        self.come_from: dict[int, frozenset[int]] = {}
        """By value the shown ops that it comes from, through what is not shown; `-1 - v` for a value `v` of outside."""
        self.required: dict[_Pair, str] = {}
        """By edge that there must be what flows there."""
        self.allowed: set[_Pair] = set()
        """Further edges that would be true."""
        self.unshown: list[Fault] = []
        self.across: set[tuple[int, int, int, int]] = set()
        """Box, how many turns on, tail and head of what goes from turn to turn of a stack."""
        self.handed: dict[tuple[int, int], dict[int, set[int]]] = {}
        """By box and op by turn the ops of the turn before whose data it reads there, as those of the first turn."""
        self.entering: dict[tuple[int, int], dict[int, set[int]]] = {}
        """By box and head in it by turn the nodes outside of the box that it reads there."""
        self.fed: set[tuple[int, int]] = set()
        """Node and position of each of its calls that another of them feeds."""
        self.fed_turns: set[tuple[int, int]] = set()
        """Likewise box and turn."""
        self.idle: list[int] = []
        """The nodes of layers that ran no op."""
        self.beside: dict[tuple[int, int], int] = {}
        """By node of what carries no features, and another that reads its data though no line need say so, an op there;
        of what leads nowhere, and of inputs as they are given."""
        self.states = self._states()
        """Arguments with features in another call of the layer, and values made of them: zeros at the first step."""
        self.drawn = {*self._drawn_edges()}
        self.reading = {tail for tail, _, _ in self.drawn}
        self.brought: dict[int, list[int]] = {}
        """By value from outside the nodes that bring it."""
        for node in self.view.nodes:
            for part in (node, *node.parts):
                if part.kind in _SOURCES and part.op is None:
                    for value in part.values:
                        self.brought.setdefault(value, []).append(node.id)

    def faults(self) -> Iterator[Fault]:
        uncovered = {*self.coverage.uncovered()}
        closed = (call for node in self.view.nodes for part in (node, *node.parts) for call in part.calls)
        through = {value: got for call in dict.fromkeys(closed) for value, got in self.facts.given_back(call).items()}
        begun = {*self._begun()}
        for id_ in self.coverage.ops:
            op = self.graph.ops[id_]
            if not self.states.isdisjoint(self.facts.data_of(op)):
                self.states.update(op.outputs)
            if id_ in uncovered:  # it hands on what it reads, as one thing if it only moves data
                sources = frozenset[int]().union(*map(self._sources, self.facts.data_of(op)))
                is_left_out = self._is_left_out(id_) and begun.isdisjoint(op.outputs)
                if not self.facts.moves(op, self.origin) and not is_left_out:
                    words = f"{op.name} at {op.source or 'an unknown line'} is neither drawn nor named as left out"
                    self.unshown.append(Fault("coverage", words, (op.call,)))
                self.come_from.update((value, sources) for value in op.outputs)
            else:
                self._read(op)
                made = frozenset((id_,))
                for value in op.outputs:
                    self.come_from[value] = self._sources(through[value]) if value in through else made
        yield from self.unshown
        yield from self._wrongly_left_out(uncovered)
        yield from self._outputs()
        self._without_ops()
        yield from self._carried()
        yield from self._edges()
        yield from self._stacks()

    def _states(self) -> set[int]:
        root, side = self.graph.calls[self.coverage.root], self.facts.is_side
        others = [row.inputs for row in self.graph.calls if root.id and row.module == root.module]
        given = (item for item in root.inputs.items() if side[item[1]])
        return {at for path, at in given if any(not side[inputs.get(path, at)] for inputs in others)}

    def _begun(self) -> Iterator[int]:
        """Numbers that count something and depend on no input, where a later call of a drawn layer gets features."""
        side, rows, by_module = self.facts.is_side, self.graph.calls, dict[str, list[Mapping[str, int]]]()
        for row in rows:
            by_module.setdefault(row.module, []).append(row.inputs)
        for row in (rows[node.calls[0]] for node in self.view.nodes if node.calls and not node.parts):
            others = by_module[row.module]
            for value in (at for path, at in row.inputs.items() if any(not side[of.get(path, at)] for of in others)):
                made, behind = set[str](), [value] if side[value] else []
                for at in behind:
                    source = self.graph.values[at]
                    op = None if source.producer is None else self.graph.ops[source.producer]
                    made.add(source.kind if op is None else op.name)
                    behind += {*op.inputs}.difference(behind) if op is not None else ()
                if "arange" in made and "input" not in made:
                    yield value

    def _sources(self, value: int) -> frozenset[int]:
        sources = self.come_from.get(value)
        return frozenset((-1 - value,)) if sources is None else sources

    def _read(self, op: Op) -> None:
        nodes, turns_of = self.coverage.nodes, self.coverage.turns
        heads, turns = nodes.get(op.id, ()), turns_of.get(op.id, _NO_TURNS)
        is_shaped_like = not self.facts.data_of(op)
        for value in op.inputs:
            for source in self._sources(value):
                is_near = nodes.get(source) == heads and turns_of.get(source, _NO_TURNS) == turns
                if is_near and source not in self.coverage.calls:  # within one closed layer
                    continue
                is_free = is_shaped_like or (self._is_free(value, source) and not self._is_target(op, source))
                for head in heads:
                    self._flows(source, head, is_free, op, turns)
                tails = self.brought.get(-1 - source, ()) if source < 0 else nodes.get(source, ())
                given = (-1 - source,) if source < 0 else self.graph.ops[source].outputs
                is_given = not any(map(self.facts.telling.isdisjoint, (given, op.outputs)))
                for (box, turn), head in product(turns.items(), heads):
                    if box not in turns_of.get(source, _NO_TURNS):
                        self.entering.setdefault((box, head), {}).setdefault(turn, set()).update(tails)
                is_beside = is_free and not is_shaped_like and not self._is_of_block_before(source, turns)
                for tail, head in product(tails, heads) if is_beside else ():
                    if tail not in heads and (is_given or tail not in self.reading):
                        self.beside[tail, head] = op.id

    def _is_of_block_before(self, source: int, turns: Mapping[int, int]) -> bool:
        """Whether a block of a stack gives it to a later one, as blocks do without a line."""
        made = self.coverage.turns.get(source, _NO_TURNS)
        box = next((box for box, turn in turns.items() if made.get(box, turn) != turn), None)
        return box is not None and self.view.boxes[box].repetition == "series"

    def _is_free(self, value: int, source: int) -> bool:
        """Whether what flows there need not be drawn: weights, and what carries no features."""
        if not self.states.isdisjoint((value, -1 - source)):
            return False
        if self.facts.is_side[value]:
            return True
        row = self.graph.values[-1 - source] if source < 0 else None
        return row is not None and (row.kind in ("param", "buffer", "const") or self.facts.is_side[row.id])

    def _is_target(self, op: Op, source: int) -> bool:
        """Whether it is for a loss, which is of two things."""
        is_of_data = source >= 0 or self.graph.values[-1 - source].kind in ("input", "op")
        return is_of_data and any(word in op.name for word in _LOSSES)

    def _flows(
        self, source: int, head: int, is_free: bool, op: Op | None = None, turns: Mapping[int, int] = _NO_TURNS
    ) -> None:
        """Note data from a source to a node, where an op reads it; None for an output."""
        if source < 0:
            self._from_outside(-1 - source, head, is_free)
            return
        made = self.coverage.turns.get(source, _NO_TURNS)
        for box, turn in turns.items() if op is not None and turns != made else ():
            if made.get(box, turn) != turn:
                self._from_turn(box, made[box], turn, source, op, head, is_free)
                return
        tails = self.coverage.nodes.get(source, ())
        if head not in tails:
            for tail in tails:
                self._expect((tail, head, False), op, is_free or self.view.nodes[tail].kind == "const")
        elif source in self.coverage.calls and op is not None:
            self._within(source, op, head)

    def _from_outside(self, value: int, head: int, is_free: bool) -> None:
        nodes = self.brought.get(value, [])
        for node in nodes if is_free or len(nodes) > 1 else ():
            self.allowed.add((node, head, False))
        row = self.graph.values[value]
        is_said = value in self.view.aside and value not in self.facts.telling
        is_said |= 0 in row.shape  # a state before the first step has nothing to show
        if not nodes and (not is_free or (row.kind in ("input", "op") and not is_said)):
            words = f"{row.name or f'value {value}'} is read and not drawn"
            self.unshown.append(Fault("flow", words, (self.coverage.root,)))
        if is_free or not nodes:
            return
        if head not in nodes and not any((node, head, False) in self.required for node in nodes):
            leading = (node for node in nodes if (node, head, False) in self.drawn)
            self.required[next(leading, nodes[0]), head, False] = row.name or f"value {value}"

    def _from_turn(self, box: int, made: int, read: int, source: int, op: Op | None, head: int, is_free: bool) -> None:
        row = self.view.boxes[box]
        self.fed_turns.add((box, read))
        if op is not None and not is_free and read == made + 1:
            turns = self.handed.setdefault((box, self.coverage.drawn_op(op.id)), {})
            turns.setdefault(read, set()).add(self.coverage.drawn_op(source))
        for tail in self.coverage.nodes.get(source, ()):
            if row.repetition == "loop" and row.around:
                self._expect((tail, head, True), op, is_free)
            elif row.repetition in ("series", "loop"):
                if not is_free:
                    self.across.add((box, read - made, tail, head))
            elif not is_free:
                words = f"{self._name(tail)} and {self._name(head)} are drawn in parallel, and one feeds the other"
                self.unshown.append(Fault("counts", words, row.calls[:1]))

    def _within(self, source: int, op: Op, head: int) -> None:
        """Among calls that are drawn as one node in parallel none may feed another; in a row each is fed by one."""
        made = dict(self.coverage.calls[source]).get(head)
        read = dict(self.coverage.calls.get(op.id, ())).get(head)
        if made is None or read is None or made == read:
            return
        self.fed.add((head, read))
        if self.view.nodes[head].repetition in ("parallel", "shared"):
            words = f"calls of {self._name(head)} are drawn in parallel, and one feeds the other"
            self.unshown.append(Fault("counts", words, self._around(head)))

    def _expect(self, pair: _Pair, op: Op | None, is_free: bool) -> None:
        if is_free:
            self.allowed.add(pair)
        elif pair not in self.required:
            self.required[pair] = "an output" if op is None else f"{op.name} at {op.source or 'an unknown line'}"

    def _wrongly_left_out(self, uncovered: set[int]) -> Iterator[Fault]:
        """Faults of what is left out and has parameters, or gives data to something shown."""
        given = {value for path, values in self._given.items() for value in values if path not in self._caches}
        returned = {value for values in self.graph.outputs.values() for value in values}
        leads = {value for value in given if value in returned or self._is_read_outside(value)}
        for id_ in reversed(self.coverage.ops):
            op = self.graph.ops[id_]
            is_wanted = id_ not in uncovered or any(value in leads for value in op.outputs)
            if is_wanted:
                leads.update(self.facts.data_of(op))
            if not self._is_left_out(id_):
                continue
            if id_ not in uncovered:
                yield Fault("not drawn", f"{op.name} at {op.source} is drawn and named as left out", (op.call,))
            elif self.facts.reads_parameter(op):
                yield Fault("not drawn", f"{op.name} at {op.source} has parameters and is left out", (op.call,))
            elif is_wanted and not all(self.facts.is_side[value] for value in op.outputs):
                yield Fault("not drawn", f"{op.name} at {op.source} is left out and leads on", (op.call,))

    def _is_left_out(self, op: int) -> bool:
        """Whether an op is named as left out, or the one of the first turn for it."""
        return bool(self.left_out) and not self.left_out.isdisjoint(self.coverage.with_twins(op))

    @cached_property
    def _given(self) -> Mapping[str, tuple[int, ...]]:
        if self.coverage.root == 0:
            return self.graph.outputs
        return {path: (value,) for path, value in self.graph.calls[self.coverage.root].outputs.items()}

    @cached_property
    def _caches(self) -> set[str]:
        """Outputs in a list behind the first: made in layers that kept them, or drawn as made in many places."""
        lists: dict[str, list[str]] = {}
        for path in self._given if self.coverage.root == 0 else ():
            lists.setdefault(path.partition(".")[0], []).append(path)
        caches = set[str]()
        for paths in [*lists.values()][1:]:
            values = [value for path in paths for value in self._given[path]]
            if len(paths) > 1 and (all(map(self._is_kept, values)) or self._is_scattered(values)):
                caches.update(paths)
        return caches

    def _is_scattered(self, values: Iterable[int]) -> bool:
        """Whether a list is made in many places, which are not drawn as one."""
        sources = {source for value in values for source in self._sources(value)}
        return len(sources) > _FEW_GIVERS and len({tuple(self.coverage.nodes.get(op, ())) for op in sources}) > 1

    def _is_kept(self, value: int) -> bool:
        producer = self.graph.values[value].producer
        maker = None if producer is None else self.graph.calls[self.graph.ops[producer].call]
        return maker is not None and maker.parent is not None and value not in maker.outputs.values()

    def _outputs(self) -> Iterator[Fault]:
        nodes: dict[int, set[int]] = {}
        for node in self.view.nodes:
            for value in node.values if node.kind == "output" else ():
                nodes.setdefault(value, set()).add(node.id)
        given_back = self.facts.given_back(self.coverage.root) if self.coverage.root else {}
        for path, values in self._given.items():
            for value in (value for value in values if value not in given_back):
                for head, source in product(nodes.get(value, ()), self._sources(value)):
                    self._flows(source, head, self._is_free(value, source))
                if value in nodes:
                    continue
                is_read = self._is_read_outside(value) and not self.facts.is_side[value]
                if is_read or (self.coverage.root == 0 and path not in self._caches):
                    what = "the output " + path if path else "the output"
                    yield Fault("not drawn", f"{what} is not drawn", (self.coverage.root,))

    def _is_read_outside(self, value: int) -> bool:
        """Whether an op outside of what is shown reads a value, or what it is moved to."""
        pending, itself = [value], range(len(self.graph.values))
        while pending:
            for op in map(self.graph.ops.__getitem__, self.facts.readers[pending.pop()]):
                if op.id not in self._inside:
                    return True
                pending += op.outputs if self.facts.is_move(op, itself) else ()
        return False

    @cached_property
    def _inside(self) -> set[int]:
        return {*self.coverage.ops}

    def _without_ops(self) -> None:
        """Allow edges of layers that ran no op, because they raised or do nothing."""
        for node in self.view.nodes:
            if node.kind != "call" or self.facts.ops_of(node.calls):
                continue
            self.idle.append(node.id)
            of_model = self.graph.inputs if node.calls[0] == 0 else {}
            for value in (*self.graph.calls[node.calls[0]].inputs.values(), *of_model.values()):
                for source in self._sources(value):
                    tails = self.brought.get(-1 - source, ()) if source < 0 else self.coverage.nodes.get(source, ())
                    self.allowed.update((tail, node.id, False) for tail in tails)
            outputs = [other.id for other in self.view.nodes if other.kind == "output"]
            self.allowed.update((node.id, head, False) for head in outputs)

    def _edges(self) -> Iterator[Fault]:
        drawn = self.drawn
        for node in self.view.nodes:
            if node.kind in ("param", "buffer", "const") and node.id not in self.reading:
                yield Fault("flow", f"{self._name(node.id)} is drawn and feeds nothing", self._around(node.id))
        for (tail, head), id_ in self.beside.items():
            is_led = not drawn.isdisjoint(((tail, head, False), (tail, head, True)))
            if not is_led and self.view.nodes[tail].kind not in ("param", "buffer", "const"):
                op = self.graph.ops[id_]
                words = (
                    f"no line leads from {self._name(tail)} to {self._name(head)}: {op.name} at {op.source} reads it"
                )
                yield Fault("flow", words, (*self._around(tail), *self._around(head)))
        for tail, head, _ in sorted(drawn - self.allowed - self.required.keys()):
            words = f"the edge from {self._name(tail)} to {self._name(head)} is of nothing that flows there"
            yield Fault("flow", words, (*self._around(tail), *self._around(head)))
        for pair in sorted(self.required.keys() - drawn):
            tail, head, back = pair
            if any((tail, node, back) in drawn and (node, head, back) in drawn for node in self.idle):
                continue
            words = f"the edge {'back ' if back else ''}from {self._name(tail)} to {self._name(head)} is missing"
            yield Fault("flow", f"{words}: {self.required[pair]}", (*self._around(tail), *self._around(head)))

    def _drawn_edges(self) -> Iterator[_Pair]:
        nodes = self.view.nodes
        for edge in self.view.edges:
            tail, head = nodes[edge.tail], nodes[edge.head]
            tails = tail.links if tail.kind == "from" else (tail.id,)
            heads = head.links if head.kind == "to" else (head.id,)
            yield from ((t, h, edge.back) for t in tails for h in heads)

    def _stacks(self) -> Iterator[Fault]:
        """The turns of a stack, and the calls of a node, feed one another in a row."""
        for node in self.view.nodes:
            is_row = node.repetition in ("series", "loop")
            if is_row and any((node.id, i) not in self.fed for i in range(1, node.repeat)):
                yield Fault("counts", f"the calls of {self._name(node.id)} are not in a row", self._around(node.id))
        for stack in self.view.boxes:
            turns = range(1, stack.repeat if stack.repetition in ("series", "loop") else 0)
            if any((stack.id, turn) not in self.fed_turns for turn in turns):
                yield Fault("counts", f"the {stack.repeat} turns of box {stack.id} are not in a row", stack.calls)

    def _carried(self) -> Iterator[Fault]:
        """What goes from turn to turn enters the stack and leaves it, or there is an edge back."""
        for (box, op), turns in sorted(self.handed.items()):
            if any(sources != next(iter(turns.values())) for sources in turns.values()):
                words = f"{self.graph.ops[op].name} at {self.graph.ops[op].source} reads other parts of the turn before"
                yield Fault("flow", f"{words} in some turns", self.view.boxes[box].calls)
        drawn = {(tail, head) for tail, head, back in self.drawn if not back}
        for box, steps, tail, head in sorted(self.across):
            row = self.view.boxes[box]
            inside = {node.id for node in self.view.nodes if row in boxes_around(self.view.boxes, node.box)}
            leaves = any(t == tail and h not in inside for t, h in drawn)
            enters = any(h == head and t not in inside for t, h in drawn)
            loose = ("param", "buffer", "const")
            entered = (h for t, h in drawn if h in inside and t not in inside and self.view.nodes[t].kind not in loose)
            is_through = steps == 1 and leaves and enters and not self._are_in_a_row(box, inside, drawn)
            entrance = min(entered, default=head)
            read = self.entering.get((box, entrance), {})
            is_through &= not row.around or (
                (box, 1, tail, entrance) in self.across and bool(read.get(0, set()) - read.get(1, set()))
            )
            # where turns differ, what the drawn one does not read may be handed on
            if is_through or not all("outputs" in word for word in row.differs):
                continue
            words = f"{self._name(head)} reads {self._name(tail)} of the turn {steps} before it"
            if steps == 1 and row.around:
                self.required.setdefault((tail, head, True), words)
            else:
                yield Fault("flow", f"{words}, which is not to be seen", row.calls[:1])

    def _are_in_a_row(self, box: int, inside: set[int], drawn: set[tuple[int, int]]) -> bool:
        """Whether no layer of a turn needs an earlier one, so that what enters is read by each of them."""
        nodes = map(self.view.nodes.__getitem__, inside)
        calling = {node.id for node in nodes if any(part.calls for part in (node, *node.parts))}
        reached = {head for of, _, _, head in self.across if of == box}
        pending = [*reached]
        while pending:
            tail = pending.pop()
            heads = {head for start, head in drawn if start == tail and head in inside} - reached
            reached |= heads
            pending += heads
        return self.view.boxes[box].around and bool(calling) and calling.isdisjoint(reached)

    def _around(self, node: int) -> tuple[int, ...]:
        return self.coverage.around(self.view.nodes[node])

    def _name(self, node: int) -> str:
        row = self.view.nodes[node]
        if row.calls:
            return self.graph.calls[row.calls[0]].module or "the model"
        name = self.graph.ops[row.op].name if row.op is not None and not row.name else row.name
        return f"{row.kind} {name}".strip()
