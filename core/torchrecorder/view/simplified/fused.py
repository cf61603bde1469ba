"""Layers in series that readers take for one: a convolution or linear layer with its normalisation and activation.

A chain is a stretch of nodes in one box of which each is read by the next one only. It is cut so that a heavy layer
keeps the light ones behind it. A normalisation that begins a chain belongs to the convolution behind it, as in a
pre-activation block; before anything else it stands alone, as in a transformer. An activation joins a sum or a
concatenation before it, and a dropout joins whatever it follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Marks, Node, View
from torchrecorder.view.node_kinds import Kind, plain
from torchrecorder.view.op_families import DROPOUTS, JOINS, SUMS
from torchrecorder.view.simplified.draft import Draft

_HEAVY: tuple[Kind, ...] = ("conv", "linear")
_LIGHT: tuple[Kind, ...] = ("norm", "act")


def fused(view: View, facts: Facts, *, fold: bool, marks: Marks | None = None) -> View:
    """The View with such layers as one node each, and equal ones in a row as one; what is new or gone stays alone."""
    fuser = _Fuser(view, facts, marks)
    for chain in fuser.chains():
        pieces = [*fuser.cut(chain)]
        for piece in pieces:
            if len(piece) > 1:
                fuser.draft.merge([node.id for node in piece], fuser.whole(piece))
    if fold:
        fuser.fold_equal()
    return fuser.draft.view()


class _Fuser:
    def __init__(self, view: View, facts: Facts, marks: Marks | None) -> None:
        self.draft, self.graph, self.marks = Draft(view), view.graph, marks
        self.kinds = facts.kinds

    def chains(self) -> Iterator[list[Node]]:
        """Nodes of which each is the only reader of the one before, and reads nothing else."""
        seen: set[int] = set()
        for node in [*self.draft.nodes.values()]:
            if node.id in seen or node.kind not in ("call", "op"):
                continue
            chain = [node]
            while (below := self._next(chain[-1])) is not None:
                chain.append(below)
            seen.update(one.id for one in chain)
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
        sorts = [self.sort(node) for node in chain]
        before = False
        piece: list[Node] = []
        held: set[str] = set()
        for i, (node, sort) in enumerate(zip(chain, sorts, strict=True)):
            if not i or sorts[i - 1] in ("join", "other"):
                before = self._begins_with_norm(chain, sorts, i)
            if piece and not self._joins(sort, held, before):
                yield piece
                piece, held = [], set()
            piece.append(node)
            held.add(sort)
        yield piece

    def _begins_with_norm(self, chain: list[Node], sorts: list[str], start: int) -> bool:
        """Whether a normalisation stands there, and a convolution is the first that is heavy behind it."""
        if sorts[start] != "norm":
            return False
        behind = range(start, len(chain))
        heavy = next((i for i in behind if sorts[i] not in ("norm", "act", "drop")), None)
        return heavy is not None and sorts[heavy] == "heavy" and self.kinds.of(chain[heavy]) == "conv"

    def _joins(self, sort: str, held: set[str], before: bool) -> bool:
        """Whether a node of that sort goes with the piece that holds those sorts."""
        if sort == "drop":
            return True
        if sort == "heavy":
            return before and "heavy" not in held and "other" not in held and "join" not in held
        if sort == "act":
            return bool(held & {"heavy", "join", "norm"}) and "act" not in held
        if sort == "norm":
            return "heavy" in held and "norm" not in held and not before
        return False

    def sort(self, node: Node) -> str:
        """`heavy`, `norm`, `act`, `join`, `drop` or `other`."""
        if node.repeat > 1 or node.ops or (self.marks is not None and self._is_marked(node, self.marks)):
            return "other"
        if node.kind == "op" and node.op is not None:
            name = plain(self.graph.ops[node.op].name)
            if name.endswith("dropout"):
                return "drop"
            if name in SUMS or name in JOINS:
                return "join"
        kind = self.kinds.of(node)
        if node.kind == "call":
            call = self.graph.calls[node.calls[0]]
            module = self.graph.modules.get(call.module) if call.kind == "module" else None
            if not call.ok or module is None:
                return "other"
            if module.native and module.cls.rpartition(".")[2] in DROPOUTS:
                return "drop"
        return "heavy" if kind in _HEAVY else kind if kind in _LIGHT else "other"

    def _is_marked(self, node: Node, marks: Marks) -> bool:
        names = [(self.graph.calls[call].module, self.graph.calls[call].index) for call in node.calls]
        found = [marks.calls.get(name) for name in names] or [marks.ops.get(node.op if node.op is not None else -1)]
        return "added" in found or "removed" in found

    def whole(self, piece: list[Node]) -> Node:
        """One node for the piece: the part with the most parameters, else the first that does something."""
        parts = tuple(part for node in piece for part in (node.parts or (node,)))
        main = max(piece, key=lambda node: (self._params(node), node is piece[0]))
        return replace(main, parts=parts, decides=any(node.decides for node in piece))

    def _params(self, node: Node) -> int:
        row = self.graph.calls[node.calls[0]] if node.kind == "call" else None
        module = self.graph.modules.get(row.module) if row is not None and row.kind == "module" else None
        return 0 if module is None else module.params.total

    def fold_equal(self) -> None:
        """Draws equal fused nodes once that follow one another."""
        for id_ in [*self.draft.nodes]:
            node = self.draft.nodes.get(id_)
            if node is None or not self._is_fused_layer(node):
                continue
            run = [node]
            while (below := self._again(run[-1])) is not None:
                run.append(below)
            if len(run) > 1:
                self.draft.merge([one.id for one in run], self._run(run))

    def _again(self, node: Node) -> Node | None:
        heads = self.draft.heads[node.id]
        below = self.draft.nodes[next(iter(heads))] if len(heads) == 1 else None
        if below is None or not self._is_fused_layer(below) or len(self.draft.tails[below.id]) != 1:
            return None
        is_same = (
            not self.draft.is_looped(below.id)
            and below.box == node.box
            and self._signature(below) == self._signature(node)
        )
        return below if is_same else None

    def _is_fused_layer(self, node: Node) -> bool:
        return node.kind == "call" and bool(node.parts) and all(part.kind == "call" for part in node.parts)

    def _signature(self, node: Node) -> tuple[object, ...]:
        found: list[object] = []
        for part in node.parts:
            call = self.graph.calls[part.calls[0]]
            module = self.graph.modules[call.module]
            shapes = [meta and meta.shape for v in call.outputs.values() if (meta := self.graph.values[v].meta)]
            found += [module.cls, module.extra_repr, module.params, *shapes]
        return tuple(found)

    def _run(self, run: list[Node]) -> Node:
        columns = zip(*(node.parts for node in run), strict=True)
        parts = tuple(replace(col[0], calls=tuple(c for part in col for c in part.calls)) for col in columns)
        return replace(run[0], parts=parts, calls=tuple(call for node in run for call in node.calls))
