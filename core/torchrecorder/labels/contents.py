"""The layers in a closed one: `4 Linear 8→16→16→16→2, 3 ReLU`, or `ReLU · Flatten · Linear` of a Sequential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from torchrecorder.graph import Op
from torchrecorder.labels.names import bare, class_name
from torchrecorder.labels.summaries import summary
from torchrecorder.view import Node
from torchrecorder.view.differences import values_of
from torchrecorder.view.node_kinds import op_kind, torch_kind
from torchrecorder.view.op_families import DROPOUTS
from torchrecorder.view.tree import SEQUENTIAL, CallTree

_ONE_WAY = re.compile(r"(?<![\d→])(\d+)→(\d+)(?![\d→])")
_MAX_CONTENTS = 36  # characters of the layers in a Sequential, one after another
_MAX_HELD, _MAX_KINDS, _MOST_HELD = 52, 4, 20  # characters of the layers in a closed one, their classes and number
_LEAST_NOT_HELD = 0.1  # share of the parameters in none of these above which they are not said
_IN_ROW, _EQUAL_IN_ROW = 5, 3  # widths of layers that are said, and of equal ones
_IS_HELD = re.compile(r"^\d|[,→]")  # one class alone tells no more than that of what is around it
_IDLE = (*map(bare, DROPOUTS), "Identity")


class Contents:
    def __init__(self, tree: CallTree) -> None:
        self.tree, self.graph = tree, tree.graph

    def of_sequential(self, node: Node, held: str) -> str:
        """The layers in a Sequential, whose name says nothing: `ReLU · Flatten · Linear`.

        Of many, and of one with a layer for which a reader would take what an inset shows, what is held.
        """
        inside = [*map(self.tree.module, self.tree.children[node.calls[0]])]
        if self.tree.cls(node.calls[0]) != SEQUENTIAL or None in inside:
            return ""
        names = [class_name(module) for module in inside if module is not None]
        words = " · ".join(bare(name) for name in names if name not in DROPOUTS)
        return words if len(words) <= _MAX_CONTENTS and not node.unlike else held or f"{len(names)} layers"

    def held(self, node: Node) -> str:
        """The layers in a closed one, if they are of few classes: `4 Linear 8→16→16→16→2, 3 ReLU`.

        `…` stands behind them if others have no place, or functions do the work of a layer.
        """
        tree, call = self.tree, node.calls[0]
        inside, is_even = range(call + 1, tree.end[call]), not values_of(node.spans, "params")
        layers = {self.graph.calls[at].module: at for at in reversed(inside) if not tree.children[at]}
        rest = tree.n_params(call) - sum(map(tree.n_params, layers.values()))
        is_all = len(layers) <= _MOST_HELD and rest <= _LEAST_NOT_HELD * tree.n_params(call)
        of_class: dict[str, list[int]] = {}
        for at in sorted(layers.values()) if is_all else ():
            of_class.setdefault(bare(tree.cls(at).rpartition(".")[2].removeprefix("Parametrized")), []).append(at)
        known = {cls: calls for cls, calls in of_class.items() if cls not in _IDLE}
        weighted = {cls: calls for cls, calls in known.items() if any(map(self._is_telling, calls))}
        is_more = any(op_kind(op.name) != "op" for op in self._in_none(call))
        for kinds in (known, weighted):
            rest_of = ", …" if is_more or kinds != known else ""
            names = {cls: f"{len(calls)} {cls}" if calls[1:] else cls for cls, calls in kinds.items()}
            rows = [f"{names[cls]} {self._row_of(calls, call)}".strip() for cls, calls in kinds.items()]
            for words in map(", ".join, (rows if is_even else (), names.values())):
                if len(kinds) <= _MAX_KINDS and len(words + rest_of) <= _MAX_HELD and _IS_HELD.search(words):
                    return words + rest_of
        return ""

    def _is_telling(self, call: int) -> bool:
        """Whether a layer has parameters or changes the resolution."""
        module = self.tree.module(call)
        return self.tree.n_params(call) > 0 or (module is not None and torch_kind(module) == "pool")

    def _in_none(self, call: int) -> Iterator[Op]:
        """The ops in a closed layer that run in none of those that call no further one."""
        ops = map(self.graph.ops.__getitem__, self.tree.all_ops_of(call))
        return (op for op in ops if self.tree.children[op.call])

    def _row_of(self, calls: Sequence[int], around: int) -> str:
        """The channels of layers in a closed one, `8→16→2`, of which each reads what the one before gives.

        A reader takes classes with channels for one row, so none of several is written if there is a branch.
        """
        tree, values, ways = self.tree, self.graph.values, dict[int, list[tuple[str, str]]]()
        for at in range(around + 1, tree.end[around]):
            module = None if tree.children[at] else self.tree.module(at)
            way = [] if module is None else _ONE_WAY.findall(summary(class_name(module), module.extra_repr))
            read = (values[value] for op in tree.all_ops_of(at) for value in self.graph.ops[op].inputs)
            is_other = module is not None and any(value.kind == "param" and len(value.shape) > 1 for value in read)
            ways |= {at: way} if way or is_other else {}
        between = [at for at in ways if calls[0] <= at <= calls[-1]]
        row = [ways[at] for at in between]
        is_one_way = between == [*calls] and all(len(way) == 1 for way in row)
        if (
            not is_one_way
            or any(a[0][1] != b[0][0] for a, b in pairwise(row))
            or (ways.keys() - calls[:1] and not self._is_straight(around, min(ways)))
        ):
            return ""
        widths = [row[0][0][0], *(way[0][1] for way in row)]
        return "→".join(widths) if len(widths) <= (_IN_ROW if len({*widths}) > 1 else _EQUAL_IN_ROW) else ""

    def _is_straight(self, around: int, first: int) -> bool:
        """Whether in a closed layer, from one in it on, all that runs reads only what the one before gives."""
        before, thing, made = set[int](), None, set[int]()
        for op in map(self.graph.ops.__getitem__, self.tree.all_ops_of(around)):
            if op.id < self.tree.first_op[first]:
                continue
            its = -op.id - 1 if self.tree.children[op.call] else op.call  # the layer, or the op in none
            before, made = (before, made) if its == thing else (made, set())
            data = {value for value in op.inputs if self.graph.values[value].kind in ("input", "op")}
            if before and not (data and data <= before | made):
                return False
            thing = its
            made |= {*op.outputs}
        return True
