"""The proof of formulas: `x / √(var + 1e−5)` is read again from its text and held against the ops that compute it.

A sign, a power, a root, or the name of an op with its bracket must be that of an op which gives the tensor there, and
its sides must be what that op reads; a number must be one of its arguments. Which tensor a name stands for is proved
with the words. `…` and `·` stand for any tensor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from math import isclose
from typing import NamedTuple

from torchrecorder.graph import Graph, Op
from torchrecorder.proof.facts import COMPARISONS, MOVES, changes_nothing, is_longer
from torchrecorder.proof.words import frames
from torchrecorder.view import Node

_WORD = r"[^\W\d²³ᵀ](?:[^\W²³ᵀ]|\.)*…?"  # superscripts are letters to `re`
_TOKEN = re.compile(
    r"\s*(\d+(?:\.\d+)?(?:e[−-]?\d+)?|'[^']*'|\([\d, −]*(?::|\.\.\.|, )(?:[\d:., −]|None|…)*\)|\w+=(?!=)|"
    rf"{_WORD}|//|.)"
)
_NUMBER = re.compile(r"[−-]?(inf|\d+(\.\d+)?(e[-+−]?\d+)?)")
_COUNTED = re.compile(r"\d+ op")
_LISTED = re.compile(r"\d+ ops\b[^·…]*(?=·|$)")
_LIKEWISE = re.compile(r"(.*?) ((?:\S+, )*\S+) likewise\b")
_FORMULA = re.compile(r" [+−×/@%] | // |[√²³^|ᵀ]|\w\([^)]|^−")
_SIGNS = {
    "+": "add iadd radd",
    "−": "sub isub rsub subtract",
    "×": "mul imul rmul multiply",
    "/": "div truediv true_divide divide itruediv rtruediv rdiv",
    "@": "matmul bmm mm rmatmul",
    "//": "floordiv rfloordiv floor_divide",
    "%": "remainder mod rmod",
}
"""By sign the ops that it stands for."""
_NAMES_OF = {sign: frozenset(names.split()) for sign, names in _SIGNS.items()}
_NAMES_OF |= {sign: frozenset((name,)) for name, sign in COMPARISONS.items()}
_POWERS = {"square": 2.0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1.0}
_ONE_SIDE = {"−": "neg", "|": "abs"}
_LEVELS = (tuple(COMPARISONS.values()), ("+", "−"), ("×", "/", "@", "//", "%"))
"""Signs from the weakest to the strongest."""
_TURNS = frozenset("transpose permute t T mT H mH adjoint swapaxes swapdims".split())  # noqa: SIM905 - it reads as a sentence
_ATTENTION = "scaled_dot_product_attention"
_SAID_BY = {name: sign for sign, names in _NAMES_OF.items() for name in names} | {_ATTENTION: "attention("}
_TAKEN = {*COMPARISONS, *_POWERS, *_ONE_SIDE.values(), *(name for sign in "+−×/" for name in _NAMES_OF[sign])}
_TAKEN |= {*"pow rpow ipow getitem clamp clip arange zeros ones full empty linspace".split()}  # noqa: SIM905
"""Arithmetic, which a variable hides without a word."""
_ANEW = re.compile(r"_like$|^new_")
"""Likewise what takes no numbers from what it reads."""


class Term(NamedTuple):
    """A part of a formula: a sign, `power`, `call` or `index` with what it is of, a number, or a name."""

    kind: str
    sides: tuple[Term, ...] = ()
    name: str = ""
    number: float = 0.0


class _FormulaReader:
    """A formula, read from its text; raises `ValueError` where it is none."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def whole(self) -> Term:
        term = self._signs(0)
        if self._next:
            raise ValueError(self._next)
        return term

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self, wanted: str = "") -> str:
        token = self._next
        if not token or (wanted and token != wanted):
            raise ValueError(token)
        self._at += 1
        return token

    def _signs(self, level: int) -> Term:
        if level == len(_LEVELS):
            return self._powers()
        if level == 1 and self._next == "−":
            self._take()
            side = self._signs(2)
            term = Term("number", number=-side.number) if side.kind == "number" else Term("−", (side,))
        else:
            term = self._signs(level + 1)
        while self._next in _LEVELS[level] and self._next:
            term = _folded(Term(self._take(), (term, self._signs(level + 1))))
        return term

    def _powers(self) -> Term:
        if self._next == "√":
            self._take()
            return _folded(Term("power", (self._behind(self._atom()), Term("number", number=0.5))))
        term = self._behind(self._atom())
        while (sign := self._next) and sign in "²³^":
            self._take()
            exponent = self._atom() if sign == "^" else Term("number", number=2.0 if sign == "²" else 3.0)
            term = Term("power", (term, exponent))
        return self._behind(term)

    def _behind(self, term: Term) -> Term:
        while self._next in ("ᵀ", "["):
            if self._take() == "ᵀ":
                term = Term("turned", (term,))
                continue
            depth, text = 1, ""
            while depth:
                text += (token := self._take())
                depth += (token == "[") - (token == "]")
            term = Term("index", (term,), text[:-1])
        return term

    def _atom(self) -> Term:
        token = self._take()
        if _NUMBER.fullmatch(token):
            return Term("number", number=float(token.replace("−", "-")))
        if token in "(|":
            term = self._signs(0)
            self._take(")" if token == "(" else "|")
            return term if token == "(" else Term("|", (term,))
        if token[0] == "'" or (token[1:] and token[0] == "("):
            return Term("text", (), token)
        if token == "not" or not re.fullmatch(rf"{_WORD}|[…·]", token):
            return Term("name", (), self._atom().name) if token == "not" else _fail(token)
        if self._next == "(" and token not in "…·":
            return self._call(token)
        while re.fullmatch(rf"{_WORD}|\d+", self._next):  # `input ids`
            token += f" {self._take()}"
        return Term("name", (), token)

    def _call(self, name: str) -> Term:
        self._take("(")
        sides: list[Term] = []
        while self._next != ")":
            if self._next.endswith("=") and self._next != "=":
                key, depth, text = self._take(), 0, ""
                while depth or self._next not in (",", ")"):
                    text += (token := self._take())
                    depth += (token in ("(", "[")) - (token in (")", "]"))
                sides.append(Term("named", (), f"{key}{text}"))
            else:
                sides.append(self._signs(0))
            if self._next == ",":
                self._take()
        self._take(")")
        return Term("call", tuple(sides), name)


def _fail(token: str) -> Term:
    raise ValueError(token)


def _folded(term: Term) -> Term:
    """The number that a sign of two numbers is."""
    if any(side.kind != "number" for side in term.sides) or term.kind not in ("/", "power"):
        return term
    first, second = (side.number for side in term.sides)
    return Term("number", number=first**second if term.kind == "power" else first / second)


def faults(graph: Graph, node: Node, lines: Sequence[str], runs: Sequence[Collection[int]] = ()) -> Iterator[str]:
    """The formulas in the lines of a node that its ops do not compute in the end, and what counts hide.

    `runs` are the ops of each layer there. A line may go on in the next one, so they are read in each way.
    """
    parts = [part.own_ops for part in (node, *node.parts)]
    own = [graph.ops[op] for ops in parts for op in ops]
    insides = [own, *([graph.ops[op] for op in sorted(ops)] for ops in (*parts, *runs))]
    known = dict[tuple[str, str], bool]()

    def is_so(text: str, name: str) -> bool:
        if (text, name) not in known:
            known[text, name] = any(is_computed(graph, ops, text, name) for ops in insides if ops)
        return known[text, name]

    first, *rest = (line.removeprefix("· ") for line in lines)
    ways = []
    for between in product((" · ", " "), repeat=len(rest)):
        name, *facts = "".join((first, *map("".join, zip(between, rest, strict=True)))).split(" · ")
        facts = [name, *facts] if node.kind != "op" or "(" in name else facts
        ways.append([it for it in facts if _FORMULA.search(it) and not _COUNTED.match(it) and not is_so(it, name)])
    yield from min(ways, key=len)
    words = " ".join(lines)
    if (twin := _LIKEWISE.search(words)) and not any(_is_likewise(graph, ops, twin) for ops in insides if ops):
        yield f"{twin[2]} likewise"
    if node.kind == "function" and (counted := _LISTED.search(words)) and any(_unsaid(own, words)):
        yield counted[0].strip()


def _unsaid(ops: Sequence[Op], words: str) -> Iterator[str]:
    """The ops behind variables that tell something, and are neither in the formula nor in the list."""
    known = {*re.findall(r"\w+", words)}
    for op in ops:
        name = _plain(op.name)
        is_taken = op.kind == "pass" or name in _TAKEN or op.name in MOVES or _ANEW.search(name)
        if not is_taken and name not in known and _SAID_BY.get(name, name) not in words:
            yield name


def _is_likewise(graph: Graph, ops: Sequence[Op], said: re.Match[str]) -> bool:
    """Whether some ops give two tensors, and the second one by the same ops of the same, but for one other tensor.

    Its names are not those in the formula of the first.
    """
    own, ends = {op.id for op in ops}, _ends(graph, ops)
    known = {*re.findall(r"[\w.]+", said[1])}
    unlike = _unlike(graph, own, *ends) if len(ends) == 2 else {()}
    return len(unlike) == 1 and () not in unlike and known.isdisjoint(said[2].split(", "))


def _unlike(graph: Graph, own: Collection[int], one: int, other: int) -> set[tuple[int, ...]]:
    """The pairs of tensors, of other ops, that two are made of in the same way; an empty one if they are not."""
    if one == other:
        return set()
    rows = [graph.values[value] for value in (one, other)]
    a, b = (None if row.producer is None else graph.ops[row.producer] for row in rows)
    is_inner = any(op is not None and op.id in own and not _is_move(op) for op in (a, b))
    if a is None or b is None or rows[0].index != rows[1].index or (a.name, a.attrs) != (b.name, b.attrs):
        return {()} if is_inner else {(one, other)}
    if not (is_inner or (_is_move(a) and a.inputs)):
        return {(one, other)}
    return set[tuple[int, ...]]().union(*(_unlike(graph, own, *pair) for pair in zip(a.inputs, b.inputs, strict=True)))


def _is_move(op: Op) -> bool:
    return op.kind == "pass" or op.name in MOVES or (op.name == "getitem" and len(op.inputs) == 1)


def _ends(graph: Graph, ops: Sequence[Op]) -> Collection[int]:
    """The tensors that some ops give in the end."""
    own, made = {op.id for op in ops}, [value for op in ops for value in op.outputs]
    inside = {value for op in ops for value in op.inputs}
    outside = {value for op in graph.ops if op.id not in own for value in op.inputs}.union(*graph.outputs.values())
    unread = [value for value in made if value not in inside]
    return [it for it in unread if it in outside] or outside.intersection(made) or unread


def is_computed(graph: Graph, ops: Sequence[Op], text: str, name: str = "") -> bool:
    """Whether some ops compute a formula in the end; not if it cannot be read."""
    ends, proof = _ends(graph, ops), _FormulaProof(graph, {op.id for op in ops})
    text = f"· {text}" if text.startswith(("× ", "/ ")) else text  # `× √768` of what a line brings
    term = _term(text) or _term(f"{name}({text})")  # what is given to the op that stands before it, `cat · a, b`
    return term is not None and any(proof.is_so(term, end) for end in ends)


def _term(text: str) -> Term | None:
    try:
        return _FormulaReader(text).whole()
    except ValueError:
        return None


class _FormulaProof:
    def __init__(self, graph: Graph, own: Collection[int]) -> None:
        self.graph, self._own = graph, own

    def is_so(self, term: Term, value: int) -> bool:
        """Whether a term says how a tensor, or the one that it was moved from, is computed."""
        if term.kind == "name":
            return self._is_named(term.name, value)
        for at, op in self._way(value):
            if op is not None and self._is_op(term, op, at):
                return True
        return term.kind == "index" and self.is_so(term.sides[0], value)

    def _is_named(self, name: str, value: int) -> bool:
        """Whether a name may be that of a tensor: of one computed here only if a variable of that name has it."""
        known, op = set[str](), None
        for at, op in self._way(value):
            row = self.graph.values[at]
            known |= {self.graph.variable(op, row.index), _plain(op.name)} if op is not None else set()
            known |= (
                {self.graph.variable(self.graph.frames[frame]) for frame in frames(self.graph, op)} if op else set()
            )
        is_own = op is not None and op.id in self._own and op.name != "setitem"
        return not is_own or name.rstrip("…") in ("", "·") or name in known

    def _way(self, value: int) -> Iterator[tuple[int, Op | None]]:
        while True:
            made = self.graph.values[value].producer
            op = None if made is None else self.graph.ops[made]
            yield value, op
            is_move = op is not None and (op.kind == "pass" or op.name in MOVES or op.name == "getitem")
            if op is None or not op.inputs or not (is_move or changes_nothing(op, _plain(op.name))):
                return
            if is_longer(self.graph, op):
                return
            value = op.inputs[0]

    def _is_op(self, term: Term, op: Op, value: int) -> bool:
        name = _plain(op.name)
        if term.kind in ("turned", "index"):
            if (
                term.kind == "index" and len(op.outputs) > 1 and self._is_op(term.sides[0], op, value)
            ):  # `std_mean(x)[1]`
                return True
            is_that = op.name in _TURNS if term.kind == "turned" else name == "getitem" or len(op.outputs) > 1
            return is_that and bool(op.inputs) and self.is_so(term.sides[0], op.inputs[0])
        if term.kind in ("number", "named", "text", "name"):
            return False
        if term.kind == "call":
            return self._is_call(term, op, value)
        if len(term.sides) == 1:
            return name == _ONE_SIDE[term.kind] and self.is_so(term.sides[0], op.inputs[0])
        if term.kind == "power" or name in _POWERS:
            return self._is_power(term, op)
        left, right = term.sides
        if name == "addcmul" and term.kind == "+":
            return (
                self.is_so(left, op.inputs[0])
                and right.kind == "×"
                and all(map(self.is_so, right.sides, op.inputs[1:]))
            )
        if (factor := op.attrs.get("alpha")) and right.kind == "×":
            right = right.sides[1] if _is_number(right.sides[0], factor) else Term("number")
        if term.kind == "/" and name in _NAMES_OF["×"]:
            term, right = Term("×", term.sides), _folded(Term("/", (Term("number", number=1.0), right)))
        is_floor = name in _NAMES_OF["/"] and op.attrs.get("rounding_mode") == "'floor'"
        if not (term.kind == "//" if is_floor else name in _NAMES_OF.get(term.kind, ())):
            return False
        return any(self._reads(sides, op) for sides in self._orders(term.kind, op, (left, right)))

    def _orders(self, sign: str, op: Op, sides: tuple[Term, Term]) -> Iterator[tuple[Term, ...]]:
        is_reflected = op.target.rpartition(".")[2].startswith("__r") or op.name == "rsub"
        if not is_reflected or sign in "+×":
            yield sides
        if is_reflected or sign in "+×":
            yield sides[::-1]

    def _is_power(self, term: Term, op: Op) -> bool:
        name, one = _plain(op.name), Term("number", number=1.0)
        exponent = term.sides[1] if term.kind == "power" else one
        side = term.sides[0]
        if term.kind == "/" and term.sides[0] == one:  # `1 / √x`
            side = term.sides[1]
            is_root = side.kind == "power" and side.sides[1].number == 0.5
            exponent, side = Term("number", number=-0.5 if is_root else -1.0), side.sides[0] if is_root else side
        elif term.kind != "power":
            return False
        if name in _POWERS:
            return exponent.number == _POWERS[name] and self.is_so(side, op.inputs[0])
        return name in ("pow", "rpow", "ipow") and self._reads((side, exponent)[:: -1 if name == "rpow" else 1], op)

    def _is_call(self, term: Term, op: Op, value: int) -> bool:
        name, row = _plain(op.name), self.graph.values[value]
        if term.name not in (name, op.name, {_ATTENTION: "attention"}.get(name)):
            is_type = row.meta is not None and row.meta.dtype == term.name and len(term.sides) == 1
            return is_type and self.is_so(term.sides[0], op.inputs[0])
        return self._reads(term.sides, op)

    def _reads(self, sides: Sequence[Term], op: Op) -> bool:
        """Whether an op reads some terms in their order, and has the numbers and settings among them."""
        n_sides = sum(side.kind not in ("named", "text", "number") for side in sides)
        rest = [*op.inputs] * (2 if len(op.inputs) == 1 and n_sides == 2 else 1)  # of one tensor with itself
        for side in sides:
            if side.kind == "named":
                key, _, text = side.name.partition("=")
                if not _is_same(text, op.attrs.get(key, "")):
                    return False
            elif side.kind == "text":
                if not any(_is_same(side.name, text) for text in op.attrs.values()):
                    return False
            elif side.kind == "number" and any(_is_number(side, text) for text in op.attrs.values()):
                continue
            elif rest and self.is_so(side, rest[0]):
                rest = rest[1:]
            elif side.kind != "name" or rest:
                return False
        return not rest


def _plain(name: str) -> str:
    return name.strip("_") if name.startswith("__") else name.removesuffix("_")


def _is_number(term: Term, text: str) -> bool:
    """Whether a number in four digits is an argument, which may be the size of an axis."""
    return bool(_NUMBER.fullmatch(text)) and term.kind == "number" and isclose(float(text), term.number, rel_tol=1e-3)


def _is_same(said: str, text: str) -> bool:
    """Whether a setting is that of the op: `(−2,−1)`, or a number in four digits."""
    if _NUMBER.fullmatch(said) and _NUMBER.fullmatch(text):
        return isclose(float(said.replace("−", "-")), float(text), rel_tol=1e-3)
    return said.replace("−", "-").replace(" ", "") == text.replace(" ", "")
