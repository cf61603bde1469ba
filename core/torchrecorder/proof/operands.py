"""The proof of words at ops that have fewer lines than tensors: each names what the op reads beside its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from torchrecorder.graph import Graph, Op
from torchrecorder.view import View

_SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "truediv": "÷", "matmul": "@", "bmm": "@", "mm": "@"}
_OTHERS = frozenset(("masked_fill", "where", "gather"))
_WORDS = frozenset(("its", "transpose", "itself", "both", "constant", "not", "of", "zeros", "ones"))
"""What may be said in place of a name."""
_NAME = re.compile(r"[^\W\d]\w*…?")


def faults(view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
    """Sentences on ops of two tensors with one line that do not say what the other is, or say what it is not."""
    arguments: dict[int, list[str]] = {}
    for call in view.graph.calls:
        for path, value in call.inputs.items():
            arguments.setdefault(value, []).append(path)
    heads: dict[int, list[str]] = {}
    for edge in view.edges:
        heads.setdefault(edge.head, []).append(edge.part)
    for node in view.nodes:
        first = node.parts[0] if node.parts else node
        words, lines = said.get(f"{letter}{node.id}", ""), heads.get(node.id, [])
        if node.kind != "op" or first.op is None or not words or len(lines) != 1 or lines[0]:
            continue
        op = view.graph.ops[first.op]
        name = op.name.strip("_")
        if (name not in _SIGNS and name not in _OTHERS) or not _is_of_two(view.graph, op):
            continue
        rest = words.split(" · ")[0].replace(_SIGNS.get(name, name), "", 1).strip()
        known = _WORDS | {*_names(view.graph, op, arguments)}
        wrong = [word for word in _NAME.findall(rest) if not _is_one_of(word, known)]
        if not rest:
            yield f"“{words}” at node {letter}{node.id} does not say what {op.name} reads beside its line"
        elif wrong:
            yield f"“{words}” at node {letter}{node.id} names {wrong[0]}, which {op.name} does not read"


def _is_of_two(graph: Graph, op: Op) -> bool:
    full = [value for value in op.inputs if 0 not in graph.values[value].shape]
    return len(full) > 1 or (len(op.inputs) == 1 and op.name.strip("_") in _SIGNS and not op.attrs)


def _is_one_of(word: str, known: frozenset[str]) -> bool:
    return any(name.startswith(word[:-1]) for name in known) if word.endswith("…") else word in known


def _names(graph: Graph, op: Op, given: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """All names of what an op reads: of inputs, variables, arguments, and of the layers and functions behind them."""
    pending, seen = [*op.inputs], set[int]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        row = graph.values[value]
        yield from (part for path in (row.name or "", *given.get(value, ())) for part in path.split("."))
        if row.producer is not None:
            maker = graph.ops[row.producer]
            yield graph.variable(maker)
            yield maker.name
            yield from (part for call in graph.around(maker.call) for part in call.module.split("."))
            frame = maker.frame
            while frame is not None:
                yield graph.frames[frame].short
                frame = graph.frames[frame].parent
            pending += maker.inputs
