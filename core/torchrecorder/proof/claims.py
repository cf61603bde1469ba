"""The proof of numbers that a picture says besides repeats: what is chosen, `top 8, 16`, and what is `not run`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from torchrecorder.graph import Graph
from torchrecorder.view import View

_TOP = re.compile(r"\btop (\d+(?:, \d+)*)")
_REST = re.compile(r"([\d.]+)(?: ([kMBT]))? not run\b")
_THOUSANDS = "kMBT"


def faults(view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
    """Sentences on numbers of things chosen and of parameters that are not read, where they are others."""
    for node in view.nodes:
        words = said.get(f"{letter}{node.id}", "")
        if node.kind == "call" and (match := _TOP.search(words)):
            chosen = _chosen(view.graph, node.calls[0])
            if chosen != {*match[1].split(", ")}:
                yield f"“{words}” says top {match[1]}, and its layers choose {', '.join(sorted(chosen))}"
    for box in view.boxes:
        words = said.get(f"{letter}b{box.id}", "")
        if match := _REST.search(words):
            exact = float(match[1]) * 1000 ** (_THOUSANDS.index(match[2]) + 1 if match[2] else 0)
            rest = _unread(view.graph)
            room = 0.5001 * 10 ** (math.floor(math.log10(exact)) - 2) if match[2] else 0
            if abs(rest - exact) > room:
                yield f"“{words}” says other numbers of parameters that are not run than {rest}"


def _chosen(graph: Graph, call: int) -> set[str]:
    ops = (op for op in graph.ops if op.name == "topk" and any(row.id == call for row in graph.around(op.call)))
    return {op.attrs.get("k") or op.attrs.get("1", "") for op in ops}


def _unread(graph: Graph) -> int:
    """Number of the parameters that no op reads."""
    read = {graph.values[value].name: value for op in graph.ops for value in op.inputs}
    sizes = (graph.values[value].shape for value in read.values() if graph.values[value].kind == "param")
    return graph.modules[""].params.total - sum(math.prod(int(size) for size in shape) for shape in sizes)
