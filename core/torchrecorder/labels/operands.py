"""Names of what an op reads beside its lines: the mask of a `masked_fill`, the positions that are added.

An op of two tensors may have one line: the other tensor is not drawn, since no data has a part in it. Then its node
names the other as the source does: by its input or buffer, the variable or argument that holds it, or the layer that
gave it; or it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from torchrecorder.graph import Call, Graph, Op
from torchrecorder.labels.names import clean
from torchrecorder.view import Box, Edge, Node, View
from torchrecorder.view.facts import Facts, frames_around, frames_of, readers_of
from torchrecorder.view.model import boxes_around
from torchrecorder.view.node_kinds import COMPARED, SYMBOLS, is_reflected, plain, spoken
from torchrecorder.view.op_families import EXCHANGES, INDEXING, PIECES, SHAPED_LIKE, SHAPING, WEIGHTED, names
from torchrecorder.view.plan.visibility import handed_on
from torchrecorder.view.tree import CallTree

_MAX_NAME = 24
"""Characters of the name of a tensor."""
_OTHERS = names("setitem copy scaled_dot_product_attention multi_head_attention_forward") | WEIGHTED
_OTHERS |= INDEXING - {"gather"}
"""Ops that say what else they read in words of their own, or whose name says it."""
_NEGATED = names("bitwise_not logical_not invert")
_FILLING = names("eye ones ones_like rand rand_like randn randn_like zeros zeros_like")
"""Ops whose names say what is in the tensor that they make of no data."""
_ELEMENTWISE = names("add sub mul div")
_TRANSPOSING = names("transpose t T mT swapaxes swapdims")
"""Ops that exchange two axes; of a sum or product of both ways round a word says the second."""
_SIDED = names("sub div matmul bmm mm")
"""Signs that mind which side is which."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_NORMS = {"batch_norm": "BatchNorm", "layer_norm": "LayerNorm", "group_norm": "GroupNorm", "rms_norm": "RMSNorm"}
"""Ops that are called as the layers which do the same."""
_ENTRY = re.compile(r"\[\d+\]$")
_MASK = 3
"""Its position among what an attention reads."""
_MOST = 2
"""Tensors that are named at a node."""
_Step = tuple[int, Op | None]
"""A tensor, and the op that made it."""


class Operands:
    def __init__(
        self, view: View, tree: CallTree, operand: Callable[[Names, Collection[int], int, int, int], str]
    ) -> None:
        self.view, self.graph, self.tree, self.names = view, view.graph, tree, Names(view.graph)
        self._operand = operand
        self.names.drawn = self._owners

    def said(self, node: Node, op: Op) -> dict[int, str]:
        """By position among the tensors that an op reads, the words of those that no line brings."""
        if len(op.inputs) < 2 or op.name in SHAPED_LIKE or plain(op.name) in _OTHERS:
            return {}
        edges = self._edges.get(node.id, [])
        if len(edges) == 1 and (transposed := self._transposed(op)):
            return transposed
        carried = {*self._carried(op, edges)}  # a line of its own, and perhaps another one into the first turn
        away = [i for i in self._away(op, self._lines(node, edges)) if i not in carried]
        bringing = {edge.tail for edge in edges if not edge.back and self._is_given(edge)}
        away = away[: max(len(op.inputs) - max(len(bringing), len(carried)), 0)]
        words = {i: clean(self.names.of(op.inputs[i], op, self.base(node)), _MAX_NAME) for i in away}
        if any(box.around and box.repetition == "loop" for box in boxes_around(self.view.boxes, node.box)):
            words = {i: _ENTRY.sub("", word) for i, word in words.items()}  # that of the first turn
        if plain(op.name) in SYMBOLS:
            known = {i: word or self._computed(op.inputs[i], node) for i, word in words.items()}
            words = {i: word for i, word in known.items() if word}
        return words if all(words.values()) and len(words) <= _MOST else {}

    def _transposed(self, op: Op) -> dict[int, str]:
        """By position the words for a side that is the other one with two axes exchanged."""
        if plain(op.name) not in _ELEMENTWISE:
            return {}
        rows = [self.graph.values[value] for value in op.inputs]
        for i, row in enumerate(rows):
            made, other = None if row.producer is None else self.graph.ops[row.producer], rows[1 - i]
            is_turned = made is not None and made.name in _TRANSPOSING and made.inputs == (other.id,)
            if is_turned and row.shape == other.shape:
                return {i: "its transpose"}
        return {}

    def seen(self, op: Op) -> Sequence[int | str] | Mapping[int, int]:
        """The shape of what an op reads where it was last drawn; if axes changed places since, by axis that there.

        An axis is known by its size, so those of the same size are left out, and all if the tensor was reshaped, too.
        """
        values, value, is_turned, is_whole = self.graph.values, op.inputs[0] if op.inputs else -1, False, True
        shape = values[value].shape
        while value not in self._drawn and (made := values[value].producer) is not None:
            row = self.graph.ops[made]
            if made in self._owners or not row.inputs or not (row.name in SHAPING or row.kind == "pass"):
                break
            is_turned |= row.name in EXCHANGES
            is_whole &= row.name in EXCHANGES or values[row.inputs[0]].shape == values[value].shape
            value = row.inputs[0]
        before = values[value].shape
        if not is_turned:
            return before
        return {i: before.index(n) for i, n in enumerate(shape) if is_whole and before.count(n) == 1}

    def masked(self, node: Node, op: Op) -> list[str]:
        """`masked` of an attention that gets a mask which no line brings."""
        is_attention = op.name == "scaled_dot_product_attention" and len(op.inputs) > _MASK
        is_away = is_attention and _MASK in self._away(op, self._lines(node, self._edges.get(node.id, [])))
        return ["masked"] if is_away else []

    def _computed(self, value: int, node: Node) -> str:
        """How ops that are not drawn make a tensor, `(1 − hidden)`; `…` if that is long, nothing if none make it."""
        base, last = self.base(node), self.graph.values[origin(self.graph, value)].producer
        hidden = self._hidden(value, base)
        if last not in hidden:
            return ""
        return "…" if self._is_sized(hidden) else self._operand(self.names, hidden, last, _MAX_NAME, base)

    def aside(self, node: Node) -> set[int]:
        """The ops that are not drawn and make what those of a node read, where that has no name."""
        base, rows, aside = self.base(node), [self.graph.ops[op] for op in node.ops], set[int]()
        for value in dict.fromkeys(value for op in rows for value in op.inputs if not self.names.of(value, op, base)):
            hidden = self._hidden(value, base)
            aside |= set() if self._is_sized(hidden) else hidden
        return aside

    def _hidden(self, value: int, base: int) -> set[int]:
        """The ops that are not drawn and make a tensor of what has a name, or is drawn."""
        hidden, pending = set[int](), [value]
        while pending:
            made = self.graph.values[pending.pop()].producer
            if made is not None and made not in hidden and made not in self._owners:
                hidden.add(made)
                reader = self.graph.ops[made]
                pending += (read for read in reader.inputs if not self.names.of(read, reader, base))
        return hidden

    def _is_sized(self, ops: Collection[int]) -> bool:
        """Whether some ops make numbers of no tensor, which are those of one run."""
        return any(not self.graph.ops[op].inputs for op in ops)

    def read(self, node: Node) -> str:
        """Names of what a function reads besides what lines bring, `mask`; nothing if they are many."""
        edges, words = self._edges.get(node.id, []), dict[str, None]()
        ops = [self.graph.ops[op] for op in node.ops if self.graph.ops[op].name not in SHAPED_LIKE]
        lines = self._lines(node, edges)
        away = [(op.inputs[i], op) for op in ops for i in self._away(op, lines)]
        ways = {value: {at for at, _ in _way(self.graph, value)} for value, _ in away}
        read, givers = set[int]().union(*ways.values()), dict[int, str]()
        for call in self.graph.calls:  # `rotary_emb` tells more than the `position_embeddings` that it gave
            if call.kind == "module" and call.outputs and read.issuperset(call.outputs.values()):
                givers |= {at: givers.get(at, _last(call.module)) for at in call.outputs.values()}
        for value, op in away:
            if self.graph.values[origin(self.graph, value)].kind != "param":
                giver = next((givers[at] for at in ways[value] if givers.get(at)), "")
                words |= {clean(giver or self.names.of(value, op, self.base(node)), _MAX_NAME): None}
        return ", ".join(words) if len(words) <= _MOST and all(words) else ""

    def unlike(self, thing: Box | Node) -> Iterator[str]:
        """Words for things besides lines that only some of the calls drawn once get: `2 kinds of mask`."""
        period, calls = getattr(thing, "period", 1), thing.calls if thing.repeat > 1 else ()
        start = next((op for call in calls[:1] for op in self.tree.all_ops_of(call)), 0)
        for rows in ([self.graph.calls[call].inputs for call in calls[i::period]] for i in range(period)):
            for name in dict.fromkeys(name for row in rows for path in row if (name := _last(path))):
                given = [tuple(origin(self.graph, row[path]) for path in row if _last(path) == name) for row in rows]
                values = {value for of in given for value in of}
                if len({*given}) > 1 and values <= self._aside and self._is_before(values, start):
                    if (n := sum(map(bool, given))) < len(given) and not thing.differs:  # else other layers read it
                        yield f"{n} of {len(given)} with {name}"
                    if (n := len({tuple(self._alike[value] for value in of) for of in given if of})) > 1:
                        yield f"{n} kinds of {name}"

    def _is_before(self, values: Collection[int], start: int) -> bool:
        """Whether tensors are there before an op, and no node shows them."""
        made = {op for value in values if (op := self.graph.values[value].producer) is not None}
        return max(made, default=-1) < start and self._owners.keys().isdisjoint(made) and self._drawn.isdisjoint(values)

    @cached_property
    def _aside(self) -> set[int]:
        return Facts(self.tree).aside

    @cached_property
    def _alike(self) -> Sequence[int]:
        """By tensor the first one that the same ops make of the same."""
        alike, firsts = [*range(len(self.graph.values))], dict[Hashable, int]()
        for op in self.graph.ops:
            way = (op.name, *sorted(op.attrs.items()), *(alike[value] for value in op.inputs))
            for i, value in enumerate(op.outputs):
                alike[value] = firsts.setdefault((i, way), value)
        return alike

    def position(self, first: Node, data: Node) -> int:
        """The position of a parameter or buffer among the tensors that an op reads."""
        read = self.graph.ops[first.op].inputs if first.op is not None else ()
        ways = ({at for at, _ in _way(self.graph, value)} for value in read)
        return next((i for i, way in enumerate(ways) if not way.isdisjoint(data.values)), 1)

    def _is_given(self, edge: Edge) -> bool:
        """Whether an edge brings what its tail gives, and not a mask that is made of it on the way."""
        _, op = _way(self.graph, edge.value)[-1]
        return op is None or op.id not in self.view.left_out

    def _lines(self, node: Node, edges: Sequence[Edge]) -> tuple[set[int], set[int]]:
        """The tensors that a node has or lines bring, and the nodes that those come from, with `~box` around them."""
        shown = {node.id, *(link for edge in edges for link in (edge.tail, *self.view.nodes[edge.tail].links))}
        given = {value for part in node.parts for value in part.values}
        given |= {value for tail in shown for value in self.view.nodes[tail].values}
        shown |= {~box.id for tail in [*shown] for box in boxes_around(self.view.boxes, self.view.nodes[tail].box)}
        return given, shown

    def _away(self, op: Op, lines: tuple[set[int], set[int]]) -> Iterator[int]:
        """Positions of the tensors that no node gives which has a line to this one."""
        given, shown = lines
        for i, value in enumerate(op.inputs):
            way = _way(self.graph, value) if 0 not in self.graph.values[value].shape else []
            while way and (last := way[-1][1]) and (before := handed_on(self.graph, last, False)) is not None:
                way += _way(self.graph, before)  # a product with 1, or joined with an empty cache, is on the line
            owners = [self._owners.get(op.id, set()) for _, op in way if op is not None]
            if way and given.isdisjoint(at for at, _ in way) and all(map(shown.isdisjoint, owners)):
                yield i

    def _carried(self, op: Op, edges: Sequence[Edge]) -> Iterator[int]:
        """Positions of the tensors that an earlier turn of a loop gives."""
        carried = {edge.value for edge in edges if edge.back}
        for other in self.names.at_place[op.source, op.offset] if carried else ():
            yield from (i for i, value in enumerate(other.inputs) if value in carried)

    @cached_property
    def _drawn(self) -> set[int]:
        """The values that nodes bring, give or are of."""
        return {value for node in self.view.nodes for value in node.values}

    @cached_property
    def _edges(self) -> dict[int, list[Edge]]:
        """By node the edges that lead to it."""
        edges: dict[int, list[Edge]] = {}
        for edge in self.view.edges:
            edges.setdefault(edge.head, []).append(edge)
        return edges

    @cached_property
    def _owners(self) -> dict[int, set[int]]:
        """By op the nodes that show it, and `~box` of one that is drawn once for it."""
        owners: dict[int, set[int]] = {}
        shown: list[tuple[int, Sequence[int], Sequence[int]]] = [
            (node.id, part.calls, part.own_ops) for node in self.view.nodes for part in (node, *node.parts)
        ]
        again = [box for box in self.view.boxes if box.repeat > 1]
        shown += [(~box.id, box.calls[box.period :], box.ops[len(box.ops) // box.repeat :]) for box in again]
        for id_, calls, ops in shown:
            for op in (*ops, *(op for call in calls for op in self.tree.all_ops_of(call))):
                owners.setdefault(op, set()).add(id_)
        return owners

    def base(self, node: Node) -> int:
        """The call whose arguments have names that hold for all that the node stands for."""
        around = [*boxes_around(self.view.boxes, node.box)]
        drawn = next((box for box in around if box.repeat > 1 and not box.around), around[-1] if around else None)
        return drawn.calls[0] if drawn is not None and drawn.calls else 0


class Names:
    """Names that the source has for tensors where ops read them, of one Graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.given = set[int]().union(*graph.outputs.values())
        """The tensors that the model gives."""
        self.drawn: Collection[int] = ()
        """The ops that nodes of a picture show."""

    @cached_property
    def readers(self) -> dict[int, list[Op]]:
        return readers_of(self.graph)

    @cached_property
    def at_place(self) -> dict[tuple[str | None, int | None], list[Op]]:
        """By place in the code the ops that run there, in each turn and layer."""
        at_place: dict[tuple[str | None, int | None], list[Op]] = {}
        for op in self.graph.ops:
            at_place.setdefault((op.source, op.offset), []).append(op)
        return at_place

    def of(self, value: int, reader: Op, base: int = 0) -> str:
        """A name of a tensor for the reader of an op, which the source has there; empty if there is none.

        That of an argument of the call `base`, of an input or buffer, of a variable, of the layer that gave it, or of
        an output of the model. The name of an op is none.
        """
        graph = self.graph
        way, of_base = _way(graph, value), _arguments(graph, graph.calls[base])
        known = [(at, of_base.get(at, "")) for at, _ in way]
        known += [(way[-1][0], _last(graph.values[way[-1][0]].name or ""))]
        known += [(at, self.own(at, reader, base)) for at, _ in way]
        known += [(at, self._returned.get(at, "")) for at, _ in way]
        named = next(((at, name) for at, name in known if name), None)
        return self._maker(way[-1][1], reader, base) if named is None else named[1] + _entry(graph, way, named[0])

    def own(self, value: int, reader: Op, base: int = 0) -> str:
        """The name of a tensor itself, not of one that it was moved from."""
        graph, row, around = self.graph, self.graph.values[value], [*self.graph.around(reader.call)]
        op = None if row.producer is None else graph.ops[row.producer]
        is_near = op is not None and op.call in {call.id for call in around}
        variable = "" if op is None or not is_near else self._variable(value, op, frames_of(graph, reader))
        if op is not None and op.name == "setitem" and not variable:  # what is written into keeps its name
            variable = self.own(op.inputs[0], reader, base)
        inner = [*takewhile(lambda call: call.id != base, around)]
        of_base, *arguments = (_arguments(graph, call).get(value, "") for call in (graph.calls[base], *reversed(inner)))
        layer = _layer(graph, value, {call.id for call in around})
        return next(filter(None, (of_base, _last(row.name or ""), variable, layer, *arguments)), "")

    @cached_property
    def _returned(self) -> dict[int, str]:
        """By tensor that the model gives under a name of its own that name."""
        rows = [(path, values) for path, values in self.graph.outputs.items() if path.isidentifier()]
        return {value: path for path, values in rows for value in values}

    def _variable(self, value: int, op: Op, frames: Collection[int]) -> str:
        """The variable that gets a tensor where functions run: of one from another function, if it gave it alone."""
        function = next((at for at in reversed(frames_around(self.graph, op.frame)) if at not in frames), None)
        if function is None:
            return self.graph.variable(op, self.graph.values[value].index)
        return self.graph.variable(self.graph.frames[function]) if self._given.get(function) == {value} else ""

    @cached_property
    def _given(self) -> dict[int, set[int]]:
        """By function the tensors made in it that are read outside of it; -1 for any in memory that it got."""
        graph, given = self.graph, dict[int, set[int]]()
        inside = [frames_of(graph, op) for op in graph.ops]
        firsts = {row.storage_group: row.producer for row in reversed(graph.values)}
        reads = [(value, inside[op.id]) for op in graph.ops for value in op.inputs]
        for value, there in (*reads, *((value, set[int]()) for values in graph.outputs.values() for value in values)):
            made, group = graph.values[value].producer, graph.values[value].storage_group
            for function in () if made is None else inside[made] - there:
                first = firsts[group] if graph.ops[made or 0].mutates and group is not None else made
                is_own = first is not None and function in inside[first]
                given.setdefault(function, set()).add(value if is_own else -1)
        return given

    def _maker(self, op: Op | None, reader: Op, base: int) -> str:
        """The words for a tensor without a name: a test of one that has one, `not mask`, or its content, `ones`."""
        called, number = ("", "") if op is None else (plain(op.name), op.attrs.get("1") or op.attrs.get("other", ""))
        is_test = called in COMPARED and op is not None and len(op.inputs) == 1 and _NUMBER.fullmatch(number)
        if op is not None and (is_test or (called in _NEGATED and op.inputs)):
            name = self.of(op.inputs[0], reader, base)
            said = f"not {name}" if called in _NEGATED else f"{name} {COMPARED[called]} {number}"
            return said if name else ""
        return called if called in _FILLING else ""


_TURNS = {"largest": "False", "descending": "True", "right": "True"}
"""Switches by name that make another op of it, as the smallest numbers in place of the largest."""


def is_masked(graph: Graph, op: Op) -> bool:
    """Whether torch's attention of several heads reads a mask, which stands behind weights of its own."""
    own = [(graph.values[value].name or "").startswith(f"{graph.calls[op.call].module}.") for value in op.inputs]
    return any(own) and not all(own[own.index(True) :])


def turned(op: Op) -> dict[str, str]:
    return {name: value for name, value in op.attrs.items() if _TURNS.get(name) == value}


def _layer(graph: Graph, value: int, inside: Collection[int]) -> str:
    """The outermost layer that gave a tensor, `linears.0`; of several the name that it has for it, or `attn[1]`."""
    made = graph.values[value].producer
    op = None if made is None else graph.ops[made]
    around = [] if op is None else [row for row in graph.around(op.call) if row.id not in inside]
    paths = {at: path for row in around[-1:] for path, at in row.outputs.items()}
    if op is None or value not in paths or (op.kind == "pass" and op.call == around[-1].id):  # a dropout is not drawn
        return ""
    *_, before, last = ("", *around[-1].module.split("."))
    name = f"{before}.{last}" if before and last.isdigit() else last
    if len(paths) > 1:
        return graph.part(around[-1].module, paths[value]) or f"{name}[{paths[value]}]"
    return name


def _way(graph: Graph, value: int) -> list[_Step]:
    """A tensor, and those that it was moved from, with the ops that made them."""
    way: list[_Step] = []
    while True:
        producer = graph.values[value].producer
        op = None if producer is None else graph.ops[producer]
        way.append((value, op))
        if op is None or not op.inputs or not moves(op):
            return way
        value = op.inputs[0]


def origin(graph: Graph, value: int) -> int:
    """The tensor that one was moved from."""
    return _way(graph, value)[-1][0]


def moves(op: Op) -> bool:
    is_index = op.name == "getitem" and len(op.inputs) == 1
    return op.name in SHAPING or op.name in PIECES or op.kind == "pass" or is_index


def _entry(graph: Graph, way: Sequence[_Step], whole: int) -> str:
    """`[0]` if one entry of a named tensor is read."""
    for value, op in takewhile(lambda step: step[0] != whole, way):
        if op is not None and op.name == "unbind":
            return f"[{graph.values[value].index}]"
        if op is not None and op.name == "getitem" and _NUMBER.fullmatch(op.attrs.get("1", "")):
            return f"[{op.attrs['1']}]"
    return ""


def _arguments(graph: Graph, call: Call) -> dict[int, str]:
    """Names of its arguments by value; that of its own before that of a list that holds it as well.

    A key of a dictionary stands behind the name of that where a variable is called so, and not where it is one of two.
    """
    names, variables = dict[int, str](), graph.assigned.values()
    for path, value in sorted(call.inputs.items(), key=lambda given: given[0].count("."), reverse=True):
        whole, name = _last(path.rpartition(".")[0]), _last(path)
        keyed = f"{whole}.{name}" if whole and name in variables and path.endswith(f".{name}") else name
        is_twin = bool(whole) and names.get(value, keyed) not in (keyed, whole)
        names |= {value: whole if is_twin else keyed} if name else {}
    return names


def _last(path: str) -> str:
    """The last name in a path: `mask` of `batch.mask.0`; nothing if there are numbers alone, or no name that tells."""
    parts = [part for part in path.split(".") if not part.isdigit()]
    return parts[-1] if parts and parts[-1] not in ("args", "kwargs") else ""


def with_operands(op: Op, words: Mapping[int, str], said: str = "") -> str:
    """The name of an op, or what is said in place of it, with those of tensors: `+ pe`, `walls −`, `where mask`."""
    called, first = plain(op.name), len(op.inputs) - 1 if is_reflected(op) else 0
    is_sided = called in SYMBOLS and (called in _SIDED or len([*filter(None, words.values())]) == _MOST)
    before = [word for i, word in words.items() if i == first and word and is_sided]
    behind = [word for i, word in words.items() if word and not (i == first and is_sided)]
    return " ".join((*before, said or _NORMS.get(called) or spoken(called), *behind))
