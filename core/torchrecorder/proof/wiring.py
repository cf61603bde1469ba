"""Whether what is drawn once for several calls reads in each of them what the picture shows that it reads.

Nodes are compared, not ops, since a picture shows no more. What one of two calls has alone hands on what it reads, as
words say of it that it is there or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import combinations

from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import JOINS, Fault
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view.model import Box, Node

_Place = tuple[object, ...]
"""A node, and in which turns of boxes; empty for what a call gets."""
_LOOSE = ("param", "buffer", "const")
_EVEN = ("add", "mul", "max", "min", "maximum", "minimum")
"""Ops that do the same with both of their arguments."""


class Wiring:
    def __init__(self, coverage: Coverage) -> None:
        self.coverage, self.facts, self.graph = coverage, coverage.facts, coverage.graph

    def faults(self, calls: Iterable[int]) -> Iterator[Fault]:
        """Faults of an inset for one of the calls that it stands for."""
        root, names = self.coverage.root, [row.module for row in self.graph.calls]
        for call in sorted({*calls} - {root}):
            ops = dict(self._pairs(call, root))
            here, there = self._read(call, ops), self._read(root, {op: op for op in ops.values()})
            for place in here.keys() & there.keys():
                (near, far), (near_there, far_there) = here[place], there[place]
                if not (near <= far_there and near_there <= far):
                    what = self.graph.ops[next(op for op in ops if self._place(ops[op]) == place)]
                    words = f"{what.name} of {names[what.call]} does not read what is drawn of {names[root]}"
                    yield Fault("sameness", words, (call, root))
                    break
            yield from self._other_data(call, ops)
            yield from self._other_orders(call, ops)

    def _pairs(self, call: int, root: int) -> Iterator[tuple[int, int]]:
        """The ops of a call and of the root at one place, but for layers that one of both runs more often."""
        moved, runs = set[int](), list[Counter[str]]()
        for at in (call, root):
            origin = [*range(len(self.graph.values))]
            moved |= {op for op in sorted(self.facts.ops_of([at])) if self.facts.moves(self.graph.ops[op], origin)}
            runs.append(Counter(row.module for row in self.graph.calls[at : self.facts.end[at]]))
        for pair in self.facts.match(call, root).ops.items():
            homes = [self.graph.calls[self.graph.ops[op].call].module for op in pair]
            if moved.isdisjoint(pair) and runs[0][homes[0]] == runs[1][homes[1]]:
                yield pair

    def _place(self, op: int) -> _Place:
        return (*self.coverage.nodes.get(op, ()), *sorted(self.coverage.turns.get(op, {}).items()))

    def _read(self, call: int, places: Mapping[int, int]) -> dict[_Place, tuple[set[_Place], set[_Place]]]:
        """By place the places that it reads, and those with what is behind ops without one."""
        values, given = self.graph.values, {*self.graph.calls[call].inputs.values()}
        known, read = dict[int, tuple[set[_Place], set[_Place]]](), dict[_Place, tuple[set[_Place], set[_Place]]]()
        origin = [*range(len(values))]
        weights = {row.id for row in values if row.kind in _LOOSE and row.id not in given}
        for id_ in sorted(self.facts.ops_of([call])):
            op, near, far = self.graph.ops[id_], set[_Place](), set[_Place]()
            module = self.graph.modules.get(self.graph.calls[op.call].module)
            if op.inputs and weights.issuperset(op.inputs) and id_ not in places:  # they stay weights
                weights.update(op.outputs)
                continue
            for value in self.facts.data_of(op):
                is_own = value in weights
                is_layer = (module is not None and module.native) or "conv" in op.name or op.name == "linear"
                before, behind = known.get(value, (set() if is_own else {()}, set() if is_own and is_layer else {()}))
                near, far = near if self.facts.is_side[value] else near | before, far | behind
            place = self._place(places[id_]) if id_ in places else ()
            if place:
                own = read.setdefault(place, (set(), set()))
                own[0].update(near - {place})
                own[1].update(far - {place})
                near = far = {place}
            elif not self.facts.moves(op, origin):
                near, far = set(), far or {()}
            known.update(dict.fromkeys(op.outputs, (near, far)))
        return read

    def _other_data(self, call: int, ops: Mapping[int, int]) -> Iterator[Fault]:
        """Faults of parameters that ops are drawn to read, where the call reads something else."""
        homes = [f"{self.graph.calls[at].module}." for at in (call, self.coverage.root)]
        entered = {value for node in self.coverage.view.nodes if node.kind == "input" for value in node.values}
        kinds = {op: self.coverage.view.nodes[nodes[0]].kind for op, nodes in self.coverage.nodes.items() if nodes}
        for op, twin in ((op, twin) for op, twin in ops.items() if kinds.get(twin) in ("op", "function")):
            for pair in zip(self.graph.ops[op].inputs, self.graph.ops[twin].inputs, strict=False):
                read, shown = (self.graph.values[self._moved_from(value, entered)] for value in pair)
                names = [(row.name or "").removeprefix(home) for row, home in zip((read, shown), homes, strict=True)]
                is_own = names[0] == names[1] and shown.name != names[1]
                if shown.kind in ("param", "buffer") and shown.id not in {read.id, *entered} and not is_own:
                    words = f"{shown.name} is read in {homes[1][:-1]}, and something else in {homes[0][:-1]}"
                    yield Fault("sameness", words, (call, self.coverage.root))
                    return

    def _other_orders(self, call: int, ops: Mapping[int, int]) -> Iterator[Fault]:
        """Faults of axes that what is not drawn puts elsewhere in a call, and not in the one that is drawn."""
        root, twins = self.coverage.root, self.facts.match(call, self.coverage.root).ops
        for op, twin in ops.items():
            for pair in zip(self.graph.ops[op].inputs, self.graph.ops[twin].inputs, strict=False):
                (made, *here), (made_there, *there) = map(self._ordered, pair, (call, root), (twins, {}))
                if made == made_there and all(a != b for a, b in zip(here, there, strict=True)):
                    names = [self.graph.calls[at].module for at in (call, root)]
                    words = (
                        f"{self.graph.ops[op].name} of {names[0]} reads axes in another order than that of {names[1]}"
                    )
                    yield Fault("sameness", words, (call, root))
                    return

    def _ordered(self, value: int, call: int, twins: Mapping[int, int]) -> tuple[int, list[list[int]], list[list[int]]]:
        """The op that is drawn for a value, and how axes changed places since: all, and but for those of one.

        -1 in place of an op outside of the call.
        """
        drawn, orders, without, inside = -1, list[list[int]](), list[list[int]](), range(call, self.facts.end[call])
        while (made := self.graph.values[value].producer) is not None and self.graph.ops[made].call in inside:
            op = self.graph.ops[made]
            if (
                not op.inputs
                or self.coverage.nodes.get(twins.get(made, made))
                or not self.facts.is_move(op, range(op.outputs[0] + 1))
            ):
                drawn = twins.get(made, made)
                break
            value, order, shape = op.inputs[0], self.facts.order(op), self.graph.values[op.inputs[0]].shape
            some = [axis for axis in order if shape[axis] != 1]
            orders += [order] if order else []
            without += [[*map(sorted(some).index, some)]] if some != sorted(some) else []
        return drawn, orders, without

    def _moved_from(self, value: int, entered: Set[int]) -> int:
        made, itself = self.graph.values[value].producer, range(len(self.graph.values))
        while made is not None and value not in entered and self.facts.is_move(op := self.graph.ops[made], itself):
            if not op.inputs:
                break
            made = self.graph.values[value := op.inputs[0]].producer
        return value


def of_entrances(coverage: Coverage, calls: Iterable[int]) -> Iterator[Fault]:
    """Faults of an inset: two things that any of its calls reads apart may not come into it as one."""
    view, graph, fed = coverage.view, coverage.graph, dict[int, frozenset[int]]()
    for node in view.nodes:
        tails = (edge.tail for edge in view.edges if edge.head == node.id)
        inputs = {link for tail in tails for link in (view.nodes[tail].links or (tail,))}
        fed[node.id] = frozenset(link for link in inputs if view.nodes[link].kind == "input")
    drawn = _from_outside(coverage, coverage.root, coverage.root)
    own = {op for op, _ in drawn}
    for call in calls:
        heads: dict[int, set[int]] = {}
        there: dict[int, set[int]] = {}
        """By what it reads what stands for that in the call that is drawn."""
        for place, value in _from_outside(coverage, call, coverage.root).items():
            if coverage.drawn_op(place[0]) in own:  # what the drawn call makes itself has no entrance
                heads.setdefault(value, set()).update(coverage.nodes.get(place[0], ()))
                there.setdefault(value, set()).add(drawn.get(place, -1))
        for one, other in combinations(heads, 2):
            pairs = ((fed[a], fed[b]) for a in heads[one] for b in heads[other])
            alone = {link for a, b in pairs if a == b and len(a) == 1 for link in a}
            if there[one].isdisjoint(there[other]):  # an entrance of several tensors says so
                alone = {link for link in alone if not there[one] | there[other] <= {*view.nodes[link].values}}
            if alone:
                paths = {value: path for path, value in [*graph.calls[call].inputs.items()][::-1]}
                what = " and ".join(paths.get(value, f"value {value}") for value in (one, other))
                words = f"{what} of {graph.calls[call].module} come into the inset as one"
                yield Fault("sameness", words, (call, coverage.root))
                break


def of_exits(coverage: Coverage, calls: Iterable[int]) -> Iterator[Fault]:
    """Faults of an inset: an output that something outside reads of any of its calls has to come out of it."""
    facts, graph, origin = coverage.facts, coverage.graph, [*range(len(coverage.graph.values))]
    moved = {op.id for op in graph.ops if facts.moves(op, origin)}
    read: dict[int, set[int]] = {}
    """By value the ops that read it, or what it is moved to."""
    for op in graph.ops:
        for value in facts.data_of(op) if op.id not in moved else ():
            read.setdefault(origin[value], set()).add(op.id)
    own, root = {*facts.ops_of([coverage.root])}, graph.calls[coverage.root]
    ends = (value for node in coverage.view.nodes if node.kind == "output" for value in node.values)
    given = {origin[value] for value in ends}
    made = {path: origin[at] for path, at in root.outputs.items() if graph.values[origin[at]].producer in own}
    hidden = {path for path, value in made.items() if value not in given}
    for row in (graph.calls[call] for call in sorted({*calls} - {root.id}) if hidden):
        inside, outputs = {*facts.ops_of([row.id])}, [path for path in row.outputs if path in hidden]
        values = {path: row.outputs[path] for path in outputs if not facts.is_side[row.outputs[path]]}
        if path := next((path for path, at in values.items() if not read.get(origin[at], inside) <= inside), ""):
            what = f"output {path} of {row.module} does not come out of the inset"
            yield Fault("sameness", what, (row.id, root.id))


def of_one_thing(sameness: Sameness) -> Iterator[Fault]:
    """Faults of nodes whose calls get one thing at two entrances of their inset, which is not said, or that do not."""
    insets = dict(zip(sameness.lettered, sameness.coverages[1:], strict=True))
    for coverage, again in zip(sameness.coverages, sameness.again, strict=True):
        for node in (node for node in coverage.view.nodes if node.inset in insets):
            inside, calls = insets[node.inset], [at for call in node.calls for at in (call, *again.get(call, ()))]
            ones = [{*_as_one(inside, call)} for call in calls]
            said = {frozenset(text.split(" is ")) for text in node.differs if " is " in text}
            if said != frozenset.intersection(*map(frozenset, ones)):
                words = (
                    f"what {coverage.graph.calls[node.calls[0]].module} gets as one thing in {node.inset} is not said"
                )
                yield Fault("sameness", words, node.calls)


def _as_one(inside: Coverage, call: int) -> Iterator[frozenset[str]]:
    """Names of two entrances of an inset at which a call gets the same."""
    view, (shown, there) = inside.view, (dict[int, list[int]](), dict[int, list[int]]())
    for reads, at in ((shown, inside.root), (there, call)):
        for (op, _), value in _from_outside(inside, at, inside.root).items():
            reads.setdefault(op, []).append(value)
    got: dict[str, set[int]] = {}
    for node in (node for node in view.nodes if node.kind == "input"):
        heads = {edge.head for edge in view.edges if edge.tail == node.id}
        for op in (op for op in shown.keys() & there.keys() if not heads.isdisjoint(inside.nodes.get(op, ()))):
            values = there[op] * len(shown[op]) if len(there[op]) == 1 else there[op]
            pairs = zip(shown[op], values, strict=False)
            got.setdefault(node.name, set()).update(value for own, value in pairs if own in node.values)
    yield from (
        frozenset(pair) for pair in combinations(got, 2) if len(got[pair[0]]) == 1 and got[pair[0]] == got[pair[1]]
    )


def of_turns(coverage: Coverage) -> Iterator[Fault]:
    """Faults of what is drawn once for a row: two things may not come into the first of it that are one in another."""
    boxes = [box for box in coverage.view.boxes if not box.around]
    things: tuple[Node | Box, ...] = (*coverage.view.nodes, *boxes)
    for calls in (thing.calls for thing in things if thing.repeat > 1 and thing.repetition == "series"):
        first = _from_outside(coverage, calls[0], calls[0])
        for call in calls[1:]:
            later = _from_outside(coverage, call, calls[0])
            as_one: dict[int, set[int]] = {}
            for place in first.keys() & later.keys():
                as_one.setdefault(later[place], set()).add(first[place])
            if any(len(values) > 1 for values in as_one.values()):
                words = f"what comes into {coverage.graph.calls[calls[0]].module} apart is one in a later turn"
                yield Fault("counts", words, calls)
                break


def of_results(coverage: Coverage) -> Iterator[Fault]:
    """Faults of arithmetic that is drawn as one and gives two things, of which no line says which it brings."""
    facts, graph = coverage.facts, coverage.graph
    returned = {value for node in coverage.view.nodes if node.kind == "output" for value in node.values}
    for node in coverage.view.nodes:
        given = set[int]()
        for op in node.ops if node.kind == "function" and node.op is not None else ():
            pending, seen = [*graph.ops[op].outputs], set[int]()
            while pending:
                if facts.is_side[value := pending.pop()]:  # zeros of its shape bring nothing of it
                    continue
                readers = {*facts.readers[value]}.difference(node.ops, seen)
                drawn = {reader for reader in readers if coverage.nodes.get(reader)}
                given |= {op} if drawn or value in returned else set()
                seen |= readers
                pending += (out for reader in readers - drawn for out in graph.ops[reader].outputs)
        if len(given) > 1:
            names = " and ".join(f"{graph.ops[op].name} at {graph.ops[op].source}" for op in sorted(given))
            yield Fault("flow", f"{names} come out of one node", coverage.around(node))


def of_last_turns(coverage: Coverage) -> Iterator[Fault]:
    """Faults of arithmetic that is drawn as one and holds what ran once with the last of several turns."""
    graph, places = coverage.graph, dict[object, set[int]]()
    rows = [graph.ops[op] for op in coverage.nodes if not any(coverage.turns.get(op, {}).values())]
    for op in rows:
        places.setdefault((op.call, op.source, op.offset), set()).add(op.id)
    for node in (node for node in coverage.view.nodes if node.kind == "function" and node.op is not None):
        own = {*node.ops}
        alike = [
            places.get((op.call, op.source, op.offset), set()) for op in map(graph.ops.__getitem__, own) if op.source
        ]
        if any(len(of) == 1 for of in alike) and (some := next((of for of in alike if not of <= own), None)):
            op = graph.ops[min(some)]
            yield Fault("flow", f"{op.name} at {op.source} is drawn apart, and in one node", coverage.around(node))


def of_columns(coverage: Coverage) -> Iterator[Fault]:
    """Faults of calls side by side that are drawn as one, of which something reads what some give, and not the rest."""
    facts, graph = coverage.facts, coverage.graph
    returned = {value for values in graph.outputs.values() for value in values}
    things: tuple[Node | Box, ...] = (*coverage.view.nodes, *coverage.view.boxes)
    for thing in (thing for thing in things if thing.repetition == "parallel" and thing.repeat > 1):
        step = len(thing.calls) // thing.repeat
        starts = range(0, len(thing.calls), step or 1)
        columns = [[*facts.ops_of(thing.calls[at : at + step])] for at in starts] or [[op] for op in thing.ops]
        inside = {op for column in columns for op in column}
        given = [[value for op in column for value in graph.ops[op].outputs] for column in columns]
        are_read = [any({*facts.readers[it]} - inside or it in returned for it in values) for values in given]
        if any(are_read) != all(are_read):
            path = graph.calls[graph.ops[columns[are_read.index(False)][0]].call].module
            yield Fault("flow", f"nothing reads what {path} gives, which is drawn with others", thing.calls)
        heads = [_heads(coverage, values, inside) for values in given]
        if any(of != heads[0] for of in heads):
            path = graph.calls[graph.ops[columns[0][0]].call].module
            yield Fault(
                "flow", f"other things read what {path} gives than what others give that it is for", thing.calls
            )


def of_outlets(coverage: Coverage) -> Iterator[Fault]:
    """Faults of turns of a row, of which others than the last give something to the outside, in silence or not all."""
    graph, returned = coverage.graph, {value for values in coverage.graph.outputs.values() for value in values}
    for box in (it for it in coverage.view.boxes if it.around and it.repetition == "series" and it.repeat > 1):
        turns = {op: of[box.id] for op, of in coverage.turns.items() if box.id in of}
        given = {op: [it for it in graph.ops[op].outputs if not coverage.facts.is_side[it]] for op in turns}
        giving = {
            turns[op] for op, its in given.items() if _heads(coverage, its, {*turns}) or returned.intersection(its)
        }
        said = [word for word in box.differs if "outputs" in word]
        if (giving - {box.repeat - 1} and not said) or (f"outputs ×{box.repeat}" in said and len(giving) < box.repeat):
            yield Fault("counts", f"{len(giving)} of {box.repeat} turns of box {box.id} give something", box.calls)


def of_sums(coverage: Coverage) -> Iterator[Fault]:
    """Faults of ops that are drawn as one sum: lines have to bring all of its terms, and only the last gives one."""
    graph, itself = coverage.graph, range(len(coverage.graph.values))
    entered = {value for node in coverage.view.nodes for value in node.values}
    for node in (it for it in coverage.view.nodes if it.kind == "op" and len(it.ops) > it.repeat and not it.parts):
        *before, last = rows = [graph.ops[op] for op in node.ops]
        between = {value for op in before for value in op.outputs}
        terms = [value for op in rows for value in op.inputs if value not in between]
        for i, value in enumerate(terms):
            while value not in entered and (made := graph.values[value].producer) is not None:
                if coverage.nodes.get(made) or not coverage.facts.is_move(graph.ops[made], itself):
                    break
                value = graph.ops[made].inputs[0]
            terms[i] = value
        makers = ((it, graph.values[it].producer) for it in terms)
        drawn = {it for it, made in makers if it in entered or coverage.nodes.get(-1 if made is None else made)}
        is_sum = all(op.name.strip("_") == "add" and not op.attrs for op in rows)
        if not is_sum or len(drawn) != len(rows) + 1 or _heads(coverage, between, {*node.ops}):
            yield Fault(
                "flow", f"{last.name} at {last.source} is drawn with others as no sum is", coverage.around(node)
            )


def _heads(coverage: Coverage, values: Iterable[int], inside: Set[int]) -> set[tuple[str, int]]:
    """The drawn ops that read some values, as they are or through what is not drawn, and as which argument."""
    pending, seen, heads = [*values], set[int](), set[tuple[str, int]]()
    while pending:
        value = pending.pop()
        for op in (coverage.graph.ops[at] for at in coverage.facts.readers[value] if at not in inside | seen):
            seen.add(op.id)
            nodes = coverage.nodes.get(op.id, ())
            is_even = op.name in JOINS or op.name.strip("_") in _EVEN
            heads |= {(op.name, 0 if is_even else op.inputs.index(value))} if nodes else set()
            pending += () if nodes else op.outputs
    return heads


def _from_outside(coverage: Coverage, call: int, first: int) -> dict[tuple[int, int], int]:
    """By op of the first call, and position, the data from outside that the one at its place in a call reads."""
    facts, graph, origin = coverage.facts, coverage.graph, [*range(len(coverage.graph.values))]
    matched, inside, read = facts.match(call, first).ops, {*facts.ops_of([call])}, dict[tuple[int, int], int]()
    given = {*graph.calls[call].inputs.values()}
    for op in map(graph.ops.__getitem__, sorted(inside)):
        if facts.moves(op, origin) or op.id not in matched:
            continue
        for i, value in enumerate(origin[value] for value in facts.data_of(op)):
            row = graph.values[value]
            if not facts.is_side[value] and (value in given or (row.kind == "op" and row.producer not in inside)):
                read[matched[op.id], i] = value
    return read
