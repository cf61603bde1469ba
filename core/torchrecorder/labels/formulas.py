"""Formulas: what ops that are drawn as one compute, as a reader would write it, `softmax(q @ kᵀ / 8) @ v`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from torchrecorder.graph import Graph, Op
from torchrecorder.view.node_kinds import SYMBOLS, plain
from torchrecorder.view.op_families import PIECES, SHAPING

_BINDS = {"+": 1, "−": 1, "×": 2, "/": 2, "@": 2}
"""How strongly a sign holds its sides together."""
_TIGHT = 3
_TURNED = frozenset(("T", "mT", "t", "adjoint", "H"))
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_NAMES = {"scaled_dot_product_attention": "attention"}
_POWERS = {"2": "²", "2.0": "²", "3": "³", "-1": "⁻¹"}


def formula(graph: Graph, ops: Collection[int], last: int, limit: int) -> str:
    """Formula of the last of some ops, in terms of what they read; empty if it is longer than the limit."""
    text, _ = _FormulaWriter(graph, ops, limit).of_op(graph.ops[last])
    return text if len(text) <= limit else ""


class _FormulaWriter:
    def __init__(self, graph: Graph, ops: Collection[int], limit: int) -> None:
        self.graph, self.ops, self.limit = graph, frozenset(ops), limit
        self._known: dict[int, tuple[str, int]] = {}
        """By value its text, and how strongly that holds together."""

    @cached_property
    def _named(self) -> dict[int, str]:
        """By value the last name of the layer that gave it."""
        named: dict[int, str] = {}
        for call in self.graph.calls[1:]:
            *around, name = call.module.split(".")[-2:]
            name = ".".join((*around, name)) if name.isdigit() else name  # `linears.0`
            named.update(dict.fromkeys(call.outputs.values(), name))
        return named

    def of_op(self, op: Op) -> tuple[str, int]:
        name, sides = plain(op.name), self._sides(op)
        sign = "" if "alpha" in op.attrs else "/" if name == "div" else SYMBOLS.get(name, "")
        if op.target.rpartition(".")[2].startswith("__r"):  # `2 - x`
            sides = sides[::-1]
        if sign and len(sides) == 2:
            binds = _BINDS[sign]
            left, right = (self._held(side, binds + i) for i, side in enumerate(sides))
            return f"{left} {sign} {right}", binds
        if name == "pow" and len(sides) == 2:
            return f"{self._held(sides[0], _TIGHT)}{_POWERS.get(sides[1][0], f'^{sides[1][0]}')}", _TIGHT
        if name == "getitem":
            index = [text for text, _ in sides[1:]] or [op.attrs.get("1", "")]
            return f"{self._held(sides[0], _TIGHT)}[{', '.join(index).strip('()')}]", _TIGHT
        given = ", ".join(text for text, _ in sides[: len(op.inputs)])
        return f"{_NAMES.get(name, name)}({given})", _TIGHT

    def _sides(self, op: Op) -> Sequence[tuple[str, int]]:
        """Operands of an op in the order of its arguments, with a number where one stands in place of a tensor."""
        sides = [self._of_value(value) for value in op.inputs]
        first, other = op.attrs.get("0", ""), op.attrs.get("1") or op.attrs.get("other", "")
        if len(sides) == 1 and _NUMBER.fullmatch(first):
            return [(_short(first), _TIGHT), *sides]
        same = [*sides, *sides] if len(sides) == 1 and not other and plain(op.name) in SYMBOLS else sides
        return [*sides, (_short(other), _TIGHT)] if len(sides) == 1 and _NUMBER.fullmatch(other) else same

    def _held(self, side: tuple[str, int], binds: int) -> str:
        text, own = side
        return text if own >= binds else f"({text})"

    def _of_value(self, value: int) -> tuple[str, int]:
        if value not in self._known:
            self._known[value] = "…", _TIGHT  # for what is too long, and in place of a circle
            text, binds = self._written(value)
            self._known[value] = (text, binds) if len(text) <= self.limit else ("…", _TIGHT)
        return self._known[value]

    def _written(self, value: int) -> tuple[str, int]:
        row = self.graph.values[value]
        op = None if row.producer is None else self.graph.ops[row.producer]
        if op is not None and op.id in self.ops and op.name not in SHAPING | PIECES and op.kind != "pass":
            return self.of_op(op)
        if value in self._named and (op is None or op.kind != "pass"):
            return self._named[value], _TIGHT
        if op is None:
            return (row.name or row.kind).rpartition(".")[2], _TIGHT
        if op.name in SHAPING or op.name in PIECES or op.kind == "pass":
            text, binds = self._of_value(op.inputs[0])
            is_turned = op.name in _TURNED or (op.name == "transpose" and {*op.attrs.values()} == {"-2", "-1"})
            return (f"{self._held((text, binds), _TIGHT)}ᵀ", _TIGHT) if is_turned else (text, binds)
        return self.graph.variable(op) or plain(op.name), _TIGHT


def _short(number: str) -> str:
    return f"{float(number):.4g}".replace("-", "−") if _NUMBER.fullmatch(number) else number
