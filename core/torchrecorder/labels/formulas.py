"""Formulas: what ops that are drawn as one compute, as a reader would write it, `softmax(q @ kᵀ / 8) @ v`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import product
from math import prod

from torchrecorder.graph import Graph, Op
from torchrecorder.labels.names import clean
from torchrecorder.labels.op_words import OVER_AXES, axes_of, digits, root_of
from torchrecorder.labels.operands import Names, moves, origin, turned
from torchrecorder.view import Node
from torchrecorder.view.facts import regroups
from torchrecorder.view.node_kinds import COMPARED, SYMBOLS, is_reflected, plain
from torchrecorder.view.op_families import (
    CREATING,
    EXCHANGES,
    JOINS,
    PIECES,
    SHAPED_LIKE,
    SHAPING,
    WEIGHTED,
    is_laid_out,
    names,
)
from torchrecorder.view.plan.visibility import ALL_OF_IT, handed_on

_BINDS = dict.fromkeys(COMPARED.values(), 0) | {"+": 1, "−": 1, "×": 2, "/": 2, "@": 2, "//": 1.5, "%": 1.5}
"""How strongly a sign holds its sides together."""
_INVERSE, _POWER, _TIGHT = 2.5, 3, 4
"""Likewise `1 / x`, by which a product divides; a power, of which another one is taken in brackets; and a name or what
stands in brackets."""
_SIGNS = SYMBOLS | COMPARED | {"div": "/"} | dict.fromkeys(("floordiv", "floor_divide", "rfloordiv"), "//")
_SIGNS |= dict.fromkeys(("remainder", "mod", "rmod"), "%")
_TURNED = names("T mT t adjoint H")
_EXCHANGES = names("transpose swapaxes swapdims")
_OF_LAST_AXIS = names("softmax log_softmax")
"""Ops whose axis is not written where it is the last."""
_UNSAID = names("eps keepdim dtype device layout inplace training requires_grad memory_format _stacklevel compute_mode")
_SWITCHES = names("True False None 'mean' 'constant' 'zeros'")
"""Values of settings that are as good as none: what they are mostly, by default."""
_LESS = names("dim mode p reduction length")
"""Settings that a formula leaves out if it is too long with them."""
_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_MINUS = re.compile(r"-(?=\d|inf)")
_CLASS = re.compile(r"\b(?!None\b|True\b|False\b)[^\W\d]\w*")  # `ndarray`, in place of an index without a name
_NAMES = {"scaled_dot_product_attention": "attention"}
_REPLACING = names("normal_ uniform_ exponential_ zero_")
"""Ops that write over their argument and do not read it."""
NAMELESS = "(·)"
_POWERS = {"2": "²", "2.0": "²", "3": "³"}
_AS_POWER = {"sqrt": "0.5", "rsqrt": "−0.5", "reciprocal": "−1", "square": "2"}
_CUTS = (48, 40, 32, 24, 16, 8, 0)
"""Characters of a text above which the variable that holds it is said instead."""
_CODE = re.compile(r"setitem\(|(, \d+){3}|(?=.{45}).*\[\d")
"""Code that readers would have to run in their heads: arguments to count, and in a long formula pieces by number."""
_NEVER = re.compile("(?!)")
_ARITHMETIC = names("add sub mul div neg pow square getitem") | PIECES | SHAPING
"""What a reader takes for granted between the ops that tell something."""
_TAKEN = _ARITHMETIC | CREATING | SHAPED_LIKE | COMPARED.keys() | names("sqrt rsqrt reciprocal abs clamp clip")
"""Likewise behind a variable of a formula."""


def in_short(
    known: Names, node: Node, limit: int, base: int = 0, aside: Collection[int] = (), *, is_again: bool = True
) -> str:
    """Formula of ops that are drawn as one; without it, of a patch, `10 operations: softmax ×2, bmm ×2, max`.

    In it are those `aside`, which are not drawn. `is_again` says whether they stand for those of other turns, too.
    """
    graph, ops = known.graph, node.ops
    spans = {span.name for span in node.spans}
    turning = frozenset(op for op in ops if not spans.isdisjoint((graph.ops[op].name, *graph.ops[op].attrs)))
    ends = _ends(known, ops) if node.op is None else [node.op]
    last, written, twin = ends[0] if ends else None, "", _twin(known, node, ends, base)
    for inside in ({*ops, *aside}, ops):
        if last is None or written or (ends[1:] and not twin):
            break
        text = formula(known, inside, last, limit, base, turning)
        is_whole = text and "…" not in text and not (node.op is None and _CODE.search(text))
        written = text if is_whole else _by_variables(known, node, inside, last, limit, base, turning)
    reads = (graph.ops[op] for op in ops if graph.ops[op].name == "getitem" and graph.ops[op].source)
    places: dict[tuple[str | None, int | None], Op] = {(op.source, op.offset): op for op in reads}
    twins = ((op, twin) for place, twin in places.items() for op in known.at_place[place])
    is_turn = is_again and any(op.call == twin.call and op.attrs != twin.attrs for op, twin in twins)
    likewise = ", ".join(other for name, other in twin.items() if name in _NAME.findall(written))
    written = "" if is_turn or (ends[1:] and not likewise) else written  # another one in each turn
    written = f"{written} · {likewise} likewise" if likewise else written
    written = written if len(written) <= limit else ""
    return written if written or node.op is None else in_numbers(graph, ops, limit)


def in_numbers(graph: Graph, ops: Collection[int], limit: int) -> str:
    """The number of some ops, and those that tell something: `10 operations: softmax ×2, bmm ×2, max`."""
    counted = Counter(plain(graph.ops[op].name) for op in sorted(ops))
    telling = [f"{name} ×{n}" if n > 1 else name for name, n in counted.items() if name not in _ARITHMETIC]
    text = f"{len(ops)} operations"
    return clean(f"{text}: {', '.join(telling)}", limit) if telling else text


def bare_arguments(text: str, name: str) -> str:
    """Arguments of the op that stands before a formula, `amax(x), mean(x)` behind `cat`; else the formula.

    A single argument would be taken for the whole formula.
    """
    first, _, behind = text.partition(" · ")
    inner, depths = first.removeprefix(f"{name}(").removesuffix(")"), [0]
    for sign in inner:
        depths.append(depths[-1] + (sign in "([") - (sign in ")]"))
    is_list = any(sign == "," and not depth for sign, depth in zip(inner, depths, strict=False))
    is_call = is_list and len(inner) == len(first) - len(name) - 2 and min(depths) == 0
    return " · ".join(filter(None, (inner, behind))) if is_call else text


def operand(known: Names, ops: Collection[int], last: int, limit: int, base: int) -> str:
    """Formula of a side of a sign, in brackets if they are needed; `…` if it is long or what it reads has no name."""
    writer = _FormulaWriter(known, ops, limit, base)
    text = writer._held(writer.of_op(known.graph.ops[last]), _TIGHT)
    return "…" if len(text) > limit or "…" in text or NAMELESS in text else text


def formula(
    known: Names, ops: Collection[int], last: int, limit: int, base: int = 0, turning: Collection[int] = ()
) -> str:
    """Formula of the last of some ops, in terms of what they read; empty if it is longer than the limit.

    `(·)` is what has no name, and a `…` what is more than one such thing, or has the name of another, or is made by
    one of the ops that have other settings in other turns.
    """
    op, text = known.graph.ops[last], ""
    # each op takes a character at least, and the writer follows them from one to the next
    for bare in (False, True) if len(ops) <= limit else ():
        text, _ = _FormulaWriter(known, ops, limit, base, turning, bare=bare).of_value(op.outputs[0], op)
        if "…" not in text:
            return text
    return "" if text == "…" else text


def _by_variables(
    known: Names, node: Node, ops: Collection[int], last: int, limit: int, base: int, turning: Collection[int]
) -> str:
    """The longest formula with variables of the code in place of what they hold: `istft(cleaned, 64) · 7 ops`.

    Behind it are those ops that tell something, and are not in it: `strength @ value · 5 ops: silu`.
    """
    op, found, code = known.graph.ops[last], [("", "")], _CODE if node.op is None else _NEVER
    for most, bare in product(_CUTS, (False, True)) if len(ops) <= limit else ():
        writer = _FormulaWriter(known, ops, limit, base, turning, bare=bare, most=most)
        text, _ = writer.of_value(op.outputs[0], op)
        hidden = ", ".join(writer.hidden(text))
        whole = f"{text} · {len(node.ops)} ops{': ' * bool(hidden)}{hidden}"
        found += [] if "…" in text or code.search(text) or len(whole) > limit else [(text, whole)]
    return max(found, key=lambda it: len(it[0]))[1]


def _ends(known: Names, ops: Collection[int]) -> list[int]:
    """The ops that give the tensors which others read; none if nothing is computed, or one gives several."""
    graph, ops = known.graph, {*ops}
    rows = [graph.ops[op] for op in sorted(ops)]
    ends = [(op, value) for op in rows for value in op.outputs if _is_read(known, value, ops)]
    is_moved = all(op.name in SHAPING | PIECES or op.kind == "pass" for op in rows)
    return [] if is_moved or any(op.outputs[0] != value for op, value in ends) else [op.id for op, _ in ends]


def _twin(known: Names, node: Node, ends: Sequence[int], base: int) -> dict[str, str]:
    """By name the one in its place where the second of two ends is computed, `{"q": "k"}`, if one tensor alone is."""
    graph, ops, twin, replaced = known.graph, {*node.ops}, dict[str, str](), set[tuple[int, int]]()
    if len(ends) != 2:
        return {}
    first, second = (graph.ops[op] for op in ends)
    pending = [(first.outputs[0], second.outputs[0], first, second)]
    for one, other, *readers in pending:
        rows = [graph.values[value] for value in (one, other)]
        made = [graph.ops[row.producer] for row in rows if row.producer is not None]
        is_own, is_moved = any(op.id in ops for op in made), all(map(moves, made))
        if one != other and (is_moved or not is_own):
            of_one, of_other = (known.own(row.id, op, base) for row, op in zip(rows, readers, strict=True))
            twin |= {of_one: of_other} if of_one and of_other != of_one else {}
        acts = {(row.index, op.name, *op.attrs.items()) for row, op in zip(rows, made, strict=False)}
        if one == other:
            continue
        if len(made) == 2 and len(acts) == 1 and (is_moved or is_own):
            reader, other_reader = made
            pairs = zip(reader.inputs, other_reader.inputs, strict=True)
            pending += ((read, other_read, reader, other_reader) for read, other_read in pairs)
        elif is_own and not is_moved:
            return {}
        else:
            replaced.add((one, other))
    return twin if len(replaced) == 1 and "" not in twin.values() else {}


def _is_read(known: Names, value: int, inside: Collection[int]) -> bool:
    """Whether a tensor is given by the model, or read by an op that is not inside, perhaps once others moved it."""
    values = [value]
    for moved in values:
        readers = [op for op in known.readers.get(moved, ()) if op.id not in inside]
        if moved in known.given or not all(op.name in SHAPING or op.kind == "pass" for op in readers):
            return True
        values += (output for op in readers for output in op.outputs)
    return False


class _FormulaWriter:
    def __init__(
        self,
        known: Names,
        ops: Collection[int],
        limit: int,
        base: int,
        turning: Collection[int] = (),
        *,
        bare: bool = False,
        most: int | None = None,
    ) -> None:
        self._turning = turning
        self.unsaid, self._most = _UNSAID | _LESS if bare else _UNSAID, most
        self.names, self.graph, self.ops, self.limit, self.base = known, known.graph, frozenset(ops), limit, base
        self._known: dict[int, tuple[str, float]] = {}
        """By value its text, and how strongly that holds together."""
        self._values: dict[str, int] = {}
        """By name the tensor that has it."""

    @cached_property
    def _taken(self) -> set[str]:
        """The names that other tensors have: what is read from outside, and what the ops give."""
        rows = [self.graph.ops[op] for op in self.ops]
        made = {value for op in rows for value in op.outputs}
        read = [(value, op) for op in rows for value in op.inputs if origin(self.graph, value) not in made]
        ends = made.difference(origin(self.graph, value) for op in rows for value in op.inputs)
        ends_of = {self.graph.variable(op) for op in rows if not ends.isdisjoint(op.outputs)}
        return ends_of | {self.names.of(value, op, self.base) for value, op in read}

    def hidden(self, text: str) -> dict[str, None]:
        """The names of the ops that tell something, and are not in a text."""
        rows = [self.graph.ops[op] for op in sorted(self.ops)]
        rows = [op for op in rows if op.kind != "pass" and plain(op.name) not in _TAKEN]
        return dict.fromkeys(plain(op.name) for op in rows if self.of_op(op)[0].removeprefix("1") not in text)

    def of_op(self, op: Op) -> tuple[str, float]:
        if op.id in self._turning:
            return "…", _TIGHT
        if op.name in OVER_AXES and axes_of(self.graph, op) != axes_of(self.graph, op, self._seen(op.inputs[0], op)):
            return "…", _TIGHT
        if op.name == "getitem" and not (self._is_of_seen(op) and self._is_in_all(op)):
            return "…", _TIGHT
        name, (given, named) = plain(op.name), self._arguments(op)
        if name in CREATING | SHAPED_LIKE or op.name in _REPLACING:  # whose sizes are those of one run
            return name, _TIGHT
        sign = "//" if named.get("rounding_mode") == "'floor'" else _SIGNS.get(name, "")
        if sign == "//":
            named.pop("rounding_mode", None)
        if sign and len(given) == 1:  # of one tensor with itself
            given = [*given, *given]
        if is_reflected(op):  # `2 - x`
            given = given[::-1]
        if sign and len(given) == 2 and not named:
            binds = _BINDS[sign]
            if sign == "×" and given[1][1] == _INVERSE:
                return f"{self._held(given[0], binds)} / {given[1][0].partition('/')[2].strip()}", binds
            left, right = (self._held(side, binds + i) for i, side in enumerate(given))
            return f"{left} {sign} {right}", _INVERSE if (left, sign) == ("1", "/") else binds
        texts = [text for text, _ in given]
        if name == "neg" and not named:
            return f"−{self._held(given[0], _BINDS['×'])}", _BINDS["−"]
        if name == "abs" and "|" not in texts[0]:
            return f"|{texts[0]}|", _TIGHT
        if (name == "pow" and len(given) == 2) or name in _AS_POWER:
            return self._power(given[0], given[1] if name == "pow" else (_AS_POWER[name], _TIGHT))
        if name == "getitem":
            return f"{self._held(given[0], _TIGHT)}[{', '.join(map(_opened, texts[1:]))}]", _TIGHT
        texts += [f"{key}={_short(value)}" for key, value in named.items()]
        inner = ", ".join(text.strip("()") if text == NAMELESS else text for text in texts)
        return f"{_NAMES.get(name, name)}({inner})", _TIGHT

    def _power(self, side: tuple[str, float], exponent: tuple[str, float]) -> tuple[str, float]:
        """`x²`, `√x`, `1 / √x`, `x^y`."""
        held = self._held(side, _TIGHT)
        if exponent[0] in ("0.5", "−0.5", "−1"):
            root = held if exponent[0] == "−1" else f"√{held}"
            return (f"1 / {root}", _INVERSE) if exponent[0].startswith("−") else (root, _POWER)
        return f"{held}{_POWERS.get(exponent[0]) or f'^{self._held(exponent, _TIGHT)}'}", _POWER

    def _arguments(self, op: Op) -> tuple[list[tuple[str, float]], dict[str, str]]:
        """The arguments in their order, numbers in their places among the tensors, and those that are named."""
        name, tensors = plain(op.name), [self.of_value(value, op) for value in op.inputs]
        said = {key: value for key, value in op.attrs.items() if key not in self.unsaid and value not in _SWITCHES}
        said |= turned(op)
        if name in JOINS or name in WEIGHTED:
            return tensors, {}
        if name in _OF_LAST_AXIS:
            said = {key: value for key, value in said.items() if value != "-1"}
        numbers = {int(key): value for key, value in said.items() if key.isdigit()}
        if name == "getitem":
            numbers = {at: _CLASS.sub("…", value) for at, value in numbers.items()}
        if name in _SIGNS and "other" in said:
            numbers[1] = said.pop("other")
        given, rest = [], iter(tensors)
        for position in range(len(tensors) + len(numbers)):
            text = numbers.pop(position, None)
            given.append(next(rest, None) if text is None else (_short(text), _bound(text)))
        after = [(_short(text), _bound(text)) for text in numbers.values()]
        return [*filter(None, given), *after], {key: value for key, value in said.items() if not key.isdigit()}

    def _held(self, side: tuple[str, float], binds: float) -> str:
        text, own = side
        return text if own >= binds else f"({text})"

    def of_value(self, value: int, reader: Op) -> tuple[str, float]:
        if value not in self._known:
            self._known[value] = "…", _TIGHT  # for what is too long, and in place of a circle
            text, binds = self._written(value, reader)
            self._known[value] = (text, binds) if len(text) <= self.limit else ("…", _TIGHT)
        return self._known[value]

    def _written(self, value: int, reader: Op) -> tuple[str, float]:
        row = self.graph.values[value]
        op = None if row.producer is None else self.graph.ops[row.producer]
        is_idle = op is not None and plain(op.name) in SYMBOLS
        if op is not None and is_idle and handed_on(self.graph, op, False) is not None:  # `x * 1.0` is not drawn
            return self.of_value(op.inputs[0], reader)
        is_taken = op is not None and op.name == "getitem" and len(op.inputs) == 1 and op.id not in self.ops
        is_move = op is not None and (op.name in SHAPING or op.name in PIECES or op.kind == "pass" or is_taken)
        is_move |= op is not None and op.name == "getitem" and bool(ALL_OF_IT.fullmatch(op.attrs.get("1", "")))
        is_move &= op is None or op.id not in self.ops or not is_laid_out(self.graph, op)
        if op is not None and op.id in self.ops and not is_move:
            text, binds = self.of_op(op)
            is_long = self._most is not None and (len(text) > self._most or "…" in text)
            if is_long and len(name := self.names.own(value, reader, self.base)) > 1 and name not in self._taken:
                return name if self._values.setdefault(name, value) == value else "…", _TIGHT
            read = {*op.outputs}.intersection(at for it in self.ops for at in self.graph.ops[it].inputs)
            return (f"{text}[{row.index}]", binds) if len(read) > 1 else (text, binds)  # `std_mean(x)[1]`
        first = origin(self.graph, value)
        if op is not None and op.id in self.ops and regroups(self.graph, op):  # an index behind it is of other axes
            return "…", _TIGHT
        if (is_inner := self.graph.values[first].producer in self.ops) and not is_move:  # no reader sees its variable
            return "…", _TIGHT
        name = "" if is_inner else self.names.own(value, reader, self.base)
        if name or op is None or not is_move:
            name, whole = name or self.names.of(value, reader, self.base) or NAMELESS, self._unparted(value)
            is_free = self._values.setdefault(name, whole) == whole
            if is_free or op is None or op.name not in PIECES:  # else it is `x[0]`
                return name if is_free else "…", _TIGHT if " " not in name else 0  # `mask ≠ 0`
        if is_taken and (op.id in self.names.drawn or not self._is_of_seen(op)):  # what a line brings
            return NAMELESS if self._values.setdefault(NAMELESS, value) == value else "…", _TIGHT
        text, binds = self.of_value(op.inputs[0], reader)
        if is_inner and self._values.get(text) == op.inputs[0] and text == self.names.own(value, reader, self.base):
            self._values[text] = value  # the variable has it as it was moved
            return text, binds
        if self._is_turned(op):
            return f"{self._held((text, binds), _TIGHT)}ᵀ", _TIGHT
        if kind := self._rounded_to(op):
            return f"{kind}({text})", _TIGHT
        shapes = (self.graph.values[at].shape for at in (op.inputs[0], value))
        n_read, n_taken = (prod(size for size in shape if isinstance(size, int)) for shape in shapes)
        alike = (row.attrs for row in self.names.at_place[op.source, op.offset])
        if is_taken and n_taken < n_read and all(attrs == op.attrs for attrs in alike):  # in each turn and layer
            index = _CLASS.sub("…", op.attrs.get("1", "")).strip("()")
            return f"{self._held((text, binds), _TIGHT)}[{index}]", _TIGHT
        is_piece = op.name in PIECES and len(op.outputs) > 1
        return (f"{self._held((text, binds), _TIGHT)}[{row.index}]", _TIGHT) if is_piece else (text, binds)

    def _unparted(self, value: int) -> int:
        """The tensor, or the part of one, that a tensor is in another shape."""
        made = self.graph.values[value].producer
        op = None if made is None else self.graph.ops[made]
        is_move = op is not None and (op.name in SHAPING or op.kind == "pass" or op.name == "detach")
        return self._unparted(op.inputs[0]) if op is not None and op.inputs and is_move else value

    def _seen(self, value: int, reader: Op) -> Sequence[int | str]:
        """The shape of a tensor as its text has it, which says no reshaping; empty if axes changed places."""
        row = self.graph.values[value]
        op = None if row.producer is None else self.graph.ops[row.producer]
        is_inner = self.graph.values[origin(self.graph, value)].producer in self.ops
        if op is None or not op.inputs or not (op.name in SHAPING or op.kind == "pass"):
            return row.shape
        if not is_inner and self.names.own(value, reader, self.base):
            return row.shape
        before = self._seen(op.inputs[0], reader)
        return (*before[:-2], *before[:-3:-1]) if self._is_turned(op) else () if op.name in EXCHANGES else before

    def _is_of_seen(self, op: Op) -> bool:
        """Whether an index is of axes that the text of what it is of has there."""
        shape, seen = self.graph.values[op.inputs[0]].shape, self._seen(op.inputs[0], op)
        first, _, last = op.attrs.get("1", "").strip("()").partition("...")
        n, m = (len([*filter(None, part.split(", "))]) for part in (first, last))
        return seen[:n] == shape[:n] and seen[len(seen) - m :] == shape[len(shape) - m :]

    def _is_in_all(self, op: Op) -> bool:
        """Whether an index is the same in other layers that run the line, for which the formula may stand, too."""
        others = (row for row in self.names.at_place[op.source, op.offset] if row.call != op.call)
        return all(row.attrs == op.attrs for row in others if op.source)

    def _rounded_to(self, op: Op) -> str:
        """The dtype, if it makes integers of numbers that need not be any."""
        kinds = [meta.dtype for value in (*op.inputs, *op.outputs) if (meta := self.graph.values[value].meta)]
        return kinds[-1] if len(kinds) > 1 and "float" in kinds[0] and "int" in kinds[-1] else ""

    def _is_turned(self, op: Op) -> bool:
        """Whether it exchanges the last two axes alone."""
        meta = self.graph.values[op.inputs[0]].meta
        n = len(meta.shape) if meta is not None else 0
        axes = [int(axis) % n for axis in _INTEGER.findall(" ".join(op.attrs.values()))] if n > 1 else []
        if op.name == "permute":
            return axes == [*range(n - 2), n - 1, n - 2]
        return op.name in _TURNED or (op.name in _EXCHANGES and {*axes} == {n - 2, n - 1})


def _opened(text: str) -> str:
    """The text of an index without the brackets of a tuple: `:, 0`; `topk(x, 8)` stays whole."""
    return text[1:-1] if text.startswith("(") and text.find(")") == len(text) - 1 else text


def _bound(text: str) -> float:
    return _BINDS["−"] if text.startswith("-") else _INVERSE if "/" in _short(text) else _TIGHT


def _short(number: str) -> str:
    if not _NUMBER.fullmatch(number):
        return _MINUS.sub("−", number)
    return root_of(float(number)) or digits(float(number))
