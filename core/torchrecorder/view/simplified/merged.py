"""Merging what readers take for one thing: a function, a scale and a shift, a box of one node, a layer and its ends.

Each step edits a Draft in place, and says in its first line what it draws as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace

from torchrecorder.graph.model import Graph
from torchrecorder.view.draft import Draft
from torchrecorder.view.facts import Facts, frames_around
from torchrecorder.view.model import Box, Marks, Node
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import DROPOUTS, EXCHANGES, JOINS, PACKS, SHAPED_LIKE, SUMS
from torchrecorder.view.plan.visibility import Visibility

_VAGUE = {"setitem", "index_put", *EXCHANGES}
"""Ops that say less than the name of the function that they are alone in."""


def merge_functions(draft: Draft, visible: Visibility, asked: Set[int], closed: Set[int]) -> None:
    """Draw the ops of one function of the user's as one: `apply_rotary_pos_emb` for its sixteen steps.

    Of the frames in `closed`, which call no layer with parameters, or no heavy one, the outermost stands for those in
    it. One op says more than its function's name. A box that was asked for is not one function alone.
    """
    graph, facts = draft.graph, visible.facts
    groups: dict[tuple[int | None, int], list[Node]] = {}
    packs = _packs(graph)
    ran_in = facts.ran_in | {len(graph.frames) + pack: ops for pack, ops in packs.items()}
    packed = {op: len(graph.frames) + pack for pack, ops in packs.items() for op in ops}
    size = Counter([*(node.box for node in draft.nodes.values()), *(box.parent for box in draft.boxes.values())])
    whole = {box.id for box in draft.boxes.values() if not asked.isdisjoint(box.calls)}
    for node in draft.nodes.values() if graph.frames or packs else ():
        if node.kind == "op" and node.op is not None and node.op in packed:
            groups.setdefault((node.box, packed[node.op]), []).append(node)
        innermost = graph.ops[node.op].frame if node.kind == "op" and node.op is not None else None
        if node.kind == "call" and node.repeat == 1:
            innermost = graph.calls[node.calls[0]].frame
        for frame in frames_around(graph, innermost):
            if frame in closed:
                groups.setdefault((node.box, frame), []).append(node)
    in_gaps = {op for node in draft.nodes.values() if node.kind == "gap" for op in node.ops}
    done: set[int] = set()
    for (place, frame), group in sorted(groups.items(), key=lambda item: item[0][1]):  # an outer one before those in it
        ids = [node.id for node in group]
        is_all = place in whole and len(group) == size[place]
        is_thing = len(group) > 1 or _name(graph, group[0]) in _VAGUE
        if not is_thing or is_all or all(node.kind != "op" for node in group):
            continue
        if not done.isdisjoint(ids) or not draft.is_convex(ids):
            continue
        drawn = {op for node in group for op in facts.ops_of(node)}
        others = {op for node in draft.nodes.values() if node.id not in ids for op in facts.ops_of(node)}
        inside = {*ran_in[frame]} - others
        ops = tuple(op for op in ran_in[frame] if op in drawn or _is_inner(visible, inside, op))
        if not in_gaps.isdisjoint(ops):
            continue
        done.update(ids)
        shown = {value for node in draft.nodes.values() if node.kind == "input" for value in node.values}
        read = (value for op in ops for value in graph.ops[op].inputs if graph.values[value].kind == "input")
        draft.aside += tuple(value for value in dict.fromkeys(read) if value not in shown and value not in draft.aside)
        n = len(graph.frames)
        name = _function(graph, frame) if frame < n else plain(graph.ops[frame - n].name)
        decides = any(node.decides for node in group)
        draft.merge(ids, replace(group[0], kind="function", calls=(), op=None, ops=ops, name=name, decides=decides))


def _function(graph: Graph, frame: int) -> str:
    """The name of a function, with its class if that is not the one of the layer that it ran in: `Tone.of`."""
    row = graph.frames[frame]
    owner, module = row.name.rpartition(".")[0], graph.modules.get(graph.calls[row.call].module)
    is_own = module is None or owner == module.cls.rpartition(".")[2]
    return row.short if is_own or not owner or not row.name.endswith(f".{row.short}") else row.name


def _packs(graph: Graph) -> dict[int, list[int]]:
    """By op that a function of torch is named after, the ops of that function."""
    packs = [op for op in graph.ops if plain(op.name) in PACKS and op.offset is not None]
    lines: dict[object, list[int]] = {(op.call, op.frame, op.source, op.offset): [] for op in packs}
    for op in graph.ops if packs else ():
        if (line := (op.call, op.frame, op.source, op.offset)) in lines:
            lines[line].append(op.id)
    return {op.id: lines[op.call, op.frame, op.source, op.offset] for op in packs}


def _is_inner(visible: Visibility, inside: Set[int], op: int) -> bool:
    """Whether an op is aside, and no part of an input that is handed on to others, as the ends of edges are.

    What only gives its shape to what is aside has no node either.
    """
    outputs, handed = visible.graph.ops[op].outputs, visible.handed
    pending, read = [*outputs], set[int]()
    while pending:  # through changes of shape
        for reader in visible.readers.get(pending.pop(), ()):
            pending += reader.outputs if handed[reader.id] is not None and reader.id not in read else ()
            read.add(reader.id)
    if not visible.facts.aside.issuperset(outputs):
        names = {reader.name for value in outputs for reader in visible.readers.get(value, ())}
        return read <= inside and handed[op] is None and bool(names) and names <= SHAPED_LIKE
    return handed[op] is None or read <= inside


def merge_scale_and_shift(draft: Draft) -> None:
    """Draws `norm(x) * (1 + scale) + shift` as one, where one node gives both, as a condition in a diffusion model."""
    for product in [node for node in draft.nodes.values() if _name(draft.graph, node) == "mul"]:
        if group := _scale_and_shift(draft, product):
            ops = tuple(node.op for node in group[:-1] if node.op is not None)
            parts = replace(group[-2], ops=ops), group[-1]
            draft.merge([node.id for node in group], replace(group[-2], parts=parts))


def is_scale_and_shift(graph: Graph, node: Node) -> bool:
    return [_name(graph, part) for part in node.parts] == ["mul", "add"]


def _scale_and_shift(draft: Draft, product: Node) -> tuple[Node, ...]:
    graph = draft.graph
    if len(draft.heads[product.id]) != 1 or len(draft.tails[product.id]) != 2:
        return ()
    total = draft.nodes[next(iter(draft.heads[product.id]))]
    if _name(graph, total) != "add" or total.box != product.box or len(draft.tails[total.id]) != 2:
        return ()
    (shift,) = draft.tails[total.id].keys() - {product.id}
    for tail in sorted(draft.tails[product.id]):
        plus_one = draft.nodes[tail]
        is_alone = _name(graph, plus_one) == "add" and plus_one.box == product.box and len(draft.heads[tail]) == 1
        if is_alone and draft.tails[tail].keys() == {shift}:
            return plus_one, product, total
    return ()


def _name(graph: Graph, node: Node) -> str:
    return plain(graph.ops[node.op].name) if node.kind == "op" and node.op is not None and not node.parts else ""


def merge_single_boxes(draft: Draft, asked: Set[int]) -> bool:
    """Draw a box around one closed node as that node, unless it was asked for; whether there was one."""
    inside = Counter([*(node.box for node in draft.nodes.values()), *(box.parent for box in draft.boxes.values())])
    held = {node.box: node.id for node in draft.nodes.values()}
    n_boxes = len(draft.boxes)
    for box in reversed([*draft.boxes.values()]):  # what is in a box stands behind it
        is_loop = box.around and box.repetition == "loop"
        if box.parent is None or is_loop or inside[box.id] != 1 or not asked.isdisjoint(box.calls):
            continue
        alone = _joined(draft.graph, box, draft.nodes[held[box.id]]) if box.id in held else None
        if alone is not None:
            draft.nodes[alone.id] = alone
            held[box.parent] = alone.id
            del draft.boxes[box.id]
    return len(draft.boxes) < n_boxes


def _joined(graph: Graph, box: Box, node: Node) -> Node | None:
    """The node in the place of the box; None if no node says as much."""
    if node.kind not in ("call", "op", "function") or not graph.calls[box.calls[0]].ok:
        return None
    if node.kind == "call" and (not node.parts or all(part.kind == "call" for part in node.parts)):
        if box.repeat > 1 and node.repeat > 1:
            return None
        path = graph.calls[box.calls[0]].module if node.parts and box.repeat == 1 else ""
        return replace(_repeated(box, node), box=box.parent, name=path if box.repeat > 1 else path or node.name)
    if box.around:
        return None
    if node.parts:  # an op with what it reads says more than the class of the layer
        return replace(node, box=box.parent) if box.repeat == 1 else None
    whole = Node(node.id, "call", box.parent, box.calls, decides=node.decides)
    return replace(whole, repetition=box.repetition, differs=(*box.differs, *node.differs))


def _repeated(box: Box, node: Node) -> Node:
    """The node with what it is in each of the repeats of the box; equal calls have their inner calls at like places."""
    if box.repeat == 1:
        return node
    turn = box.calls[: box.period]

    def again(part: Node) -> Node:
        places = [(call, max(i for i, first in enumerate(turn) if first <= call)) for call in part.calls]
        later = [[call + other - turn[i] for other in box.calls[i :: box.period]] for call, i in places]
        calls = tuple(call for turns in zip(*later, strict=True) for call in turns)
        return replace(part, calls=calls, repetition=box.repetition)

    parts = tuple(again(part) for part in node.parts)
    return replace(again(node), parts=parts, differs=(*box.differs, *node.differs))


def merge_layers(draft: Draft, facts: Facts, *, fold: bool, marks: Marks | None = None) -> None:
    """Draw a convolution or linear layer with its normalisation and activation as one, and equal ones in a row as one.

    In a chain each node is read by the next one only. It is cut so that a heavy layer keeps the light ones behind it. A
    normalisation that begins a chain belongs to the convolution behind it, as in a pre-activation block; else it stands
    alone, as in a transformer. An activation joins a sum or a concatenation, and a dropout anything.
    """
    chains = _Chains(draft, facts, marks)
    for chain in chains.all():
        for piece in chains.cut(chain):
            if len(piece) > 1:
                draft.merge([node.id for node in piece], chains.whole(piece))
    if fold:
        chains.fold_equal()


class _Chains:
    def __init__(self, draft: Draft, facts: Facts, marks: Marks | None) -> None:
        self.draft, self.graph, self.marks = draft, draft.graph, marks or Marks({}, {}, {}, {}, {})
        self.kinds, self.tree, self.apart = facts.kinds, facts.tree, facts.apart

    def all(self) -> Iterator[list[Node]]:
        seen: set[int] = set()
        for node in [*self.draft.nodes.values()]:
            if node.id in seen or node.kind not in ("call", "op"):
                continue
            chain = [node]
            while (below := self._next(chain[-1])) is not None:
                chain.append(below)
            seen.update(member.id for member in chain)
            if len(chain) > 1:
                yield chain

    def _next(self, node: Node) -> Node | None:
        heads = self.draft.heads[node.id]
        if len(heads) != 1 or node.decides or self.draft.is_looped(node.id):
            return None
        below = self.draft.nodes[next(iter(heads))]
        is_plain = below.kind in ("call", "op") and below.box == node.box and not below.parts
        is_plain &= not any(below.id == head for _, head in self.draft.backs)
        return below if is_plain and len(self.draft.tails[below.id]) == 1 else None

    def cut(self, chain: list[Node]) -> Iterator[list[Node]]:
        sorts = [self._sort(node) for node in chain]
        before = False
        piece: list[Node] = []
        held: set[str] = set()
        for i, (node, sort) in enumerate(zip(chain, sorts, strict=True)):
            if not i or sorts[i - 1] in ("join", "other"):
                first = next((j for j in range(i, len(chain)) if sorts[j] not in ("norm", "act", "drop")), i)
                is_conv = sorts[first] == "heavy" and self.kinds.of(chain[first]) == "conv"
                before = sort == "norm" and is_conv
            if piece and not self._joins(sort, held, before):
                yield piece
                piece, held = [], set()
            piece.append(node)
            held.add(sort)
        yield piece

    def _joins(self, sort: str, held: set[str], before: bool) -> bool:
        if sort == "drop":
            return True
        if sort == "heavy":
            return before and held.isdisjoint(("heavy", "other", "join"))
        if sort == "act":
            return bool(held & {"heavy", "join", "norm"}) and "act" not in held
        return sort == "norm" and "heavy" in held and "norm" not in held and not before

    def _sort(self, node: Node) -> str:
        names = ((self.graph.calls[call].module, self.graph.calls[call].index) for call in node.calls)
        own = [self.marks.calls.get(name) for name in names]
        own += [] if own or node.op is None else [self.marks.ops.get(node.op)]
        if node.repeat > 1 or node.ops or "added" in own or "removed" in own:
            return "other"
        if node.kind == "op" and node.op is not None:
            name = plain(self.graph.ops[node.op].name)
            if name.endswith("dropout") or (name == "masked_fill" and len(self.draft.tails[node.id]) == 1):
                return "drop"
            if name in SUMS or name in JOINS:
                return "join"
        if node.kind == "call":
            module = self.tree.module(node.calls[0])
            if not self.graph.calls[node.calls[0]].ok or module is None:
                return "other"
            if module.native and module.cls.rpartition(".")[2] in DROPOUTS:
                return "drop"
        kind = self.kinds.of(node)
        return "heavy" if kind in ("conv", "linear") else kind if kind in ("norm", "act") else "other"

    def whole(self, piece: list[Node]) -> Node:
        parts = tuple(part for node in piece for part in (node.parts or (node,)))
        n_params = self.tree.n_params
        main = max(piece, key=lambda node: (n_params(node.calls[0]) if node.calls else 0, node is piece[0]))
        return replace(main, parts=parts, decides=any(node.decides for node in piece))

    def fold_equal(self) -> None:
        for id_ in [*self.draft.nodes]:
            node = self.draft.nodes.get(id_)
            if node is None or not self._is_of_layers(node):
                continue
            run = [node]
            while (below := self._again(run[-1])) is not None:
                run.append(below)
            if len(run) > 1:
                columns = zip(*(member.parts for member in run), strict=True)
                parts = tuple(replace(col[0], calls=tuple(c for part in col for c in part.calls)) for col in columns)
                whole = replace(node, parts=parts, calls=tuple(call for member in run for call in member.calls))
                self.draft.merge([member.id for member in run], whole)

    def _again(self, node: Node) -> Node | None:
        heads = self.draft.heads[node.id]
        below = self.draft.nodes[next(iter(heads))] if len(heads) == 1 else None
        if below is None or not self._is_of_layers(below) or len(self.draft.tails[below.id]) != 1:
            return None
        is_alone = not self.draft.is_looped(below.id) and below.box == node.box and self.apart.isdisjoint(below.calls)
        return below if is_alone and self._signature(below) == self._signature(node) else None

    def _is_of_layers(self, node: Node) -> bool:
        return node.kind == "call" and bool(node.parts) and all(part.kind == "call" for part in node.parts)

    def _signature(self, node: Node) -> list[object]:
        signature: list[object] = []
        for part in node.parts:
            call, module = self.graph.calls[part.calls[0]], self.tree.module(part.calls[0])
            shapes = [self.graph.values[value].shape for value in call.outputs.values()]
            signature += [module and (module.cls, self.kinds.said(call.id), module.params), *shapes]
        return signature
