"""The modules that generated code came from: each node of an fx graph keeps those it stood in when it was made.

`torch.export` and `torch.fx` write one forward for a whole model. What runs is that forward; its lines are looked up
when an operation is placed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import fx

from torchrecorder.running.facts import class_name

_ASSIGNED = re.compile(r"\s+(\w+)\s*(:[^=]*)?=")
"""A line of generated code gives one node, under its name."""

Stack = tuple[tuple[str, str, str], ...]
"""The modules around a node, outermost first: a key that tells two calls of a module apart, its path, its class."""


@dataclass(slots=True, eq=False)
class Generated:
    """A call that generated code does not make any more."""

    path: str
    cls: str
    call: int | None = None
    """Its id; None before its first operation."""


class GeneratedCalls:
    """The calls inside one run of a forward that was generated."""

    def __init__(self, module: fx.GraphModule) -> None:
        nodes = {node.name: node for node in module.graph.nodes}
        lines = (_ASSIGNED.match(line) for line in module.code.splitlines())
        numbered = [(number, nodes.get(match[1])) for number, match in enumerate(lines, 1) if match]
        self._stacks = {number: _stack(node) for number, node in numbered if node is not None}
        self._met: dict[Stack, Generated] = {}
        self.code = getattr(module.forward, "__code__", None)
        roots = (stack[0] for stack in self._stacks.values() if stack)
        self.cls = next((cls for _, path, cls in roots if not path), "")
        """The class of the model that the code was made from; empty if the graph does not say."""

    def around(self, frame: FrameType) -> Sequence[Generated]:
        """The calls that the line which runs stands in, innermost first; none are the forward's own."""
        stack = self._stacks.get(frame.f_lineno, ())
        stacks = [stack[: depth + 1] for depth, (_, path, _) in enumerate(stack) if path]
        return [self._met.setdefault(entries, Generated(*entries[-1][1:])) for entries in reversed(stacks)]

    def left_out(self) -> list[str]:
        """Paths of what no operation was met in, such as a dropout in evaluation, which gives back its argument."""
        within = {path for stack in self._met for _, path, _ in stack}
        return sorted({path for stack in self._stacks.values() for _, path, _ in stack if path} - within)


def _stack(node: fx.Node) -> Stack:
    stack: dict[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    named = [(key, path, class_name(cls) if isinstance(cls, type) else str(cls)) for key, (path, cls) in stack.items()]
    if node.op == "call_module":  # which hooks announce
        return tuple(named[:-1]) if named and named[-1][1] == node.target else ()
    return tuple(named)
