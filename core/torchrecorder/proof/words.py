"""The proof of words: each name in a picture is one that the source has there, resolved from the Graph alone.

A tensor may be called by an input, parameter or buffer, by the variable or argument that holds it, or by the layer or
function that gave it; never by the op that made it. An op stands for itself at the head of a part of a text, before a
bracket, and in a list of operations. A layer is called by parts of its path and by its class.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from torchrecorder.graph import Call, Graph, Op
from torchrecorder.proof.facts import MOVES
from torchrecorder.view import Box, Node, View

_SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "truediv": "÷", "matmul": "@", "bmm": "@", "mm": "@"}
_OTHERS = frozenset(("masked_fill", "where", "gather"))
"""Ops that tell little without their second tensor, besides those that are drawn as signs."""
_ENGLISH = frozenset(
    """
    its transpose itself not at write index attention scaled dot product operations more steps layers scale shift
    weight of shared called times loop in parallel each step params experts top groups depthwise kernel stride dilation
    both ways heads function with without and instead identity only inputs swapped skip mask other or by op ops not run
    another computed densely connected outputs B M k T GFLOPs FLOPs inf nan True False None e param tensors N
    """.split()  # noqa: SIM905 - it reads as a sentence
)
_TOKEN = re.compile(r"(?<!\d[a-z]–)([^\W\d]\w*(?:\.\w+)*)(…?)(\(|=(?!=))?")
_NO_WORDS = re.compile(r"'[^']*'|[ᵀ²³¹⁻]")
"""What is written in quotes, and signs that stand at names."""
_TYPE = re.compile(r"u?int\d+|b?float\d+|bool|complex\d+")
_MADE = {"weight_g": "weight_norm", "original0": "weight_norm", "weight_u": "spectral_norm", "weight_mask": "pruned"}
"""What torch does to a weight, by the parameter or buffer that it adds."""
_LACKING = re.compile(r"without [^·]*")
_SIZES = re.compile(r" \d+→\d")
"""What stands behind the name of an op with weights."""
_PARTS = re.compile(r"[\W_]+")


class WordsProof:
    """Names that hold in one Graph, for the proof of its pictures."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._arguments: dict[int, list[tuple[int, str]]] = {}
        """By value the calls that it is an argument of, with its path there."""
        for call in graph.calls:
            for path, value in call.inputs.items():
                self._arguments.setdefault(value, []).append((call.id, path))
        self._leaving: dict[int, bool] = {}
        """By function whether it gives one tensor, once it was asked."""
        self._given: dict[int, list[int]] = {}
        """By value the calls that gave it."""
        for call in graph.calls:
            for value in call.outputs.values():
                self._given.setdefault(value, []).append(call.id)

    def faults(self, view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
        """Sentences on words without an origin, and on ops that keep to themselves what else they read."""
        for node in view.nodes:
            words = said.get(f"{letter}{node.id}", "")
            if node.kind in ("op", "function"):
                wrong = self._unknown(node, words)
            elif node.kind == "call":
                others = (text for key, text in said.items() if key[:1].isalpha() and key != f"{letter}{node.id}")
                wrong = self._unknown_of_layer(node, words, " ".join(others) if node.inset else None)
            else:
                continue
            if wrong:
                yield f"“{words}” at node {letter}{node.id} names {wrong}, which nothing has there"
        for box in view.boxes:
            words = said.get(f"{letter}b{box.id}", "").strip()
            if box.calls and (wrong := self._unknown_of_layer(box, words.removeprefix(letter), None)):
                yield f"“{words}” at box {letter}b{box.id} names {wrong}, which nothing has there"
        yield from self._unsaid(view, letter, said)

    def _unknown(self, node: Node, words: str) -> str:
        """The first word at an op that names nothing of what it does or reads."""
        parts = [node, *node.parts]
        ops = [self.graph.ops[op] for part in parts for op in self._ops_in(part)]
        done = {name for op in ops for name in (op.name, op.name.strip("_"), op.name.removesuffix("_"))}
        spans = {text for part in parts for span in part.spans for text in (span.name, *span.values)}
        said = spans | {word for text in spans for word in _PARTS.split(text)}
        done |= (
            said
            | {self.graph.frames[at].short for op in ops for at in self._frames(op)}
            | {*self._names_of_layers(parts)}
        )
        heads = done | {self.graph.variable(op) for op in ops} | {node.name.strip("_")}
        keys = {key for op in ops for key in op.attrs}
        values = {name for op in ops for value in op.inputs for name in self.names(value, op)}
        values |= {name for op in ops for text in op.attrs.values() for name in _PARTS.split(text)} | said
        values |= {name for part in parts for value in part.values for name in _path(self.graph.values[value].name)}
        text = _plain(words)
        is_list = "operations: " in text
        for match in _TOKEN.finditer(text):
            name, before = match[1], text[: match.start()].rstrip()
            is_head = (
                _SIZES.match(text, match.end())
                or not before
                or before.endswith(("·", ":", "/"))
                or (is_list and before.endswith(","))
            )
            known = (
                done | values if match[3] == "(" else keys if match[3] == "=" else heads | values if is_head else values
            )
            if not _is_in(match, known | _ENGLISH) and not _TYPE.fullmatch(name):
                return name
        return ""

    def _unknown_of_layer(self, thing: Node | Box, words: str, drawn: str | None) -> str:
        """The first word at a layer that is no part of its path, class, settings or contents."""
        parts = [thing, *(thing.parts if isinstance(thing, Node) else ())]
        known = {*self._names_of_layers(parts)} | {*_PARTS.split(self.graph.modules[""].cls)}
        spans = [span for part in parts if isinstance(part, Node) for span in part.spans]
        known |= {word for span in spans for text in (span.name, *span.values) for word in (text, *_PARTS.split(text))}
        own = [op for part in parts if isinstance(part, Node) for op in part.own_ops]
        inner = (op for part in parts for op in self._ops_in(part)) if thing.differs else ()  # that may be what differs
        ops = [self.graph.ops[op] for op in (*own, *inner)]
        known |= {thing.inset} if isinstance(thing, Node) else set()
        known |= {name for op in ops for name in (op.name, op.name.strip("_"), op.name.removesuffix("_"))}
        known |= {word for op in ops for text in op.attrs.values() for word in _PARTS.split(text)}
        known |= {self.graph.frames[at].short for op in ops for at in self._frames(op)}
        norms = {self.graph.ops[op].name for part in parts for op in self._ops_in(part)}
        known |= {name.replace("_", "") for name in norms if name.endswith("norm")}  # `BatchNorm`
        known |= {made for name, made in _MADE.items() if name in known}
        known |= {
            name for op in own for value in self.graph.ops[op].inputs for name in self.names(value, self.graph.ops[op])
        }
        has = words if drawn is None else _LACKING.sub("", words)
        for match in _TOKEN.finditer(_plain(has)):
            name = match[1]
            is_known = _is_in(match, known | _ENGLISH) or all(
                part in known or part.isdigit() for part in name.split(".")
            )
            is_known |= name.lower() in known or bool(_TYPE.fullmatch(name)) or name in (drawn or "")
            if not is_known:
                return name
        if drawn is not None and isinstance(thing, Node):
            lacking = (text.partition("without ")[2] for text in words.split(" · "))  # or is it in a drawn function?
            lacking = (text.partition(" in ")[2] or text for text in lacking)
            names = (match for text in lacking for match in _TOKEN.finditer(text.replace(" · ", ",")))
            return next((m[1] for m in names if m[1] not in drawn and m[1] not in _ENGLISH), "")
        return ""

    def _names_of_layers(self, parts: Iterable[Node | Box]) -> Iterator[str]:
        """Parts of the paths of the layers that things stand for, with those in and around them, and their classes."""
        calls = {inner for part in parts for call in part.calls for inner in self._within(call)}
        calls |= {row.id for part in parts for call in part.calls for row in self.graph.around(call)}
        for path in {self.graph.calls[call].module for call in calls}:
            module = self.graph.modules.get(path)
            cls = path if module is None else module.cls.rpartition(".")[2]
            said = "" if module is None else module.extra_repr
            yield from (*_path(path), cls, cls.removesuffix("1d").removesuffix("2d").removesuffix("3d"))
            yield cls.removeprefix("Parametrized")
            yield from _PARTS.split(said)
        for op in (self.graph.ops[op] for part in parts for op in self._ops_in(part)):
            yield from (name for value in op.inputs for name in _path(self.graph.values[value].name))

    def _within(self, call: int) -> range:
        return range(call, self._end[call])

    @cached_property
    def _end(self) -> list[int]:
        end = [*range(1, len(self.graph.calls) + 1)]
        for row in reversed(self.graph.calls):
            if row.parent is not None:
                end[row.parent] = max(end[row.parent], end[row.id])
        return end

    @cached_property
    def _of_call(self) -> dict[int, list[int]]:
        ops: dict[int, list[int]] = {}
        for op in self.graph.ops:
            ops.setdefault(op.call, []).append(op.id)
        return ops

    def _ops_in(self, part: Node | Box) -> Iterator[int]:
        yield from part.own_ops if isinstance(part, Node) else ()
        for call in part.calls:
            for inner in self._within(call):
                yield from self._of_call.get(inner, ())

    def _frames(self, op: Op | Call) -> Iterator[int]:
        frame = op.frame
        while frame is not None:
            yield frame
            frame = self.graph.frames[frame].parent

    def names(self, value: int, reader: Op) -> Iterator[str]:
        """The names that the source has for a tensor where an op reads it, or for the one that it was moved from."""
        inside, around = {row.id for row in self.graph.around(reader.call)}, {*self._frames(reader)}
        while True:
            row = self.graph.values[value]
            maker = None if row.producer is None else self.graph.ops[row.producer]
            yield from _path(row.name)
            yield from (name for call, path in self._arguments.get(value, ()) if call in inside for name in _path(path))
            for call in self._given.get(value, ()):
                outputs = [path for path, given in self.graph.calls[call].outputs.items() if given == value]
                yield from _path(outputs[0])
                which = f"[{outputs[0]}]" if len(self.graph.calls[call].outputs) > 1 else ""
                yield from (f"{name}{which}" for name in _path(self.graph.calls[call].module) if call not in inside)
            if maker is None:
                return
            if maker.call in inside and (maker.frame is None or maker.frame in self._scopes(reader)):
                yield self.graph.variable(maker)
            left = (at for at in self._frames(maker) if at not in around and self._gives_one(at))
            yield from (f"{self.graph.frames[at].short}(" for at in left)
            if not _moves(maker):
                break
            value = maker.inputs[0]
        if len(maker.inputs) == 1 and maker.name.strip("_") in _ASKING:  # `not mask`, `lengths = 4`
            yield from self.names(maker.inputs[0], reader)

    def _scopes(self, op: Op) -> set[int]:
        """The functions whose variables the code has at an op, or had where it was called from."""
        rows = [op, *self.graph.around(op.call)]
        return {at for row in rows for at in self._frames(row)}

    def _gives_one(self, frame: int) -> bool:
        """Whether only one tensor that is made in a function is read outside of it."""
        if frame not in self._leaving:
            inside = {op.id for op in self.graph.ops if frame in self._frames(op)}
            read = {value for op in self.graph.ops if op.id not in inside for value in op.inputs}
            read |= {value for values in self.graph.outputs.values() for value in values}
            made = (value for op in inside for value in self.graph.ops[op].outputs if value in read)
            self._leaving[frame] = len({[*self._way(value)][-1] for value in made}) == 1
        return self._leaving[frame]

    def _unsaid(self, view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
        lines: dict[int, list[tuple[str, int]]] = {}
        for edge in view.edges:
            lines.setdefault(edge.head, []).append((edge.part, edge.value))
        for node in view.nodes:
            first, words = node.parts[0] if node.parts else node, said.get(f"{letter}{node.id}", "")
            own = lines.get(node.id, [])
            if node.kind != "op" or first.op is None or not words or len(own) != 1 or own[0][0]:
                continue
            op = self.graph.ops[first.op]
            name = op.name.strip("_")
            rest = words.split(" · ")[0].replace(_SIGNS.get(name, name), "", 1).strip()
            others = [value for value in op.inputs if own[0][1] not in self._way(value)]
            is_known = len(others) == 1 < len(op.inputs) and any(self.names(others[0], op))
            is_of_one = not op.attrs.keys() & {"0", "1", "other"} and len({[*self._way(v)][-1] for v in op.inputs}) == 1
            if name in _SIGNS.keys() | _OTHERS and not rest and (is_known or (is_of_one and not others)):
                yield f"“{words}” at node {letter}{node.id} does not say what {op.name} reads beside its line"

    def _way(self, value: int) -> Iterator[int]:
        yield value
        made = self.graph.values[value].producer
        while made is not None and _moves(self.graph.ops[made]):
            yield (value := self.graph.ops[made].inputs[0])
            made = self.graph.values[value].producer


_ASKING = frozenset(("bitwise_not", "logical_not", "invert", "eq", "ne", "lt", "le", "gt", "ge"))


def _moves(op: Op) -> bool:
    is_index = op.name == "getitem" and len(op.inputs) == 1
    return bool(op.inputs) and (op.kind == "pass" or op.name in MOVES or is_index)


def _plain(words: str) -> str:
    return _NO_WORDS.sub(" ", words)


def _path(path: str | None) -> Iterator[str]:
    """Each end of a path: `layers.0.attn`, `0.attn`, `attn`; and each part of it."""
    parts = (path or "").split(".")
    yield from (name for part in parts for name in (part, part.strip("<>"), *_PARTS.split(part)) if name)
    yield from (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 2, len(parts) + 1))


def _is_in(match: re.Match[str], known: Collection[str]) -> bool:
    """Whether a word is known, alone, with the bracket behind it, or as the beginning of a name that is cut."""
    if match[2]:
        return any(name.startswith(match[1]) for name in known)
    after = match.string[match.end(1) :]
    return match[1] in known or f"{match[1]}{after.partition(']')[0]}]" in known or f"{match[1]}{after[:1]}" in known
