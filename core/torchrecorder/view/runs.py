"""The calls of a Graph as a list in the order of a tree, equal neighbours as one entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torchrecorder.graph.model import Graph
from torchrecorder.view.folding import Comparer
from torchrecorder.view.tree import CallTree, call_tree


@dataclass(frozen=True, slots=True)
class CallRun:
    """A call, or several that are the same again."""

    calls: tuple[int, ...]
    level: int
    """0 for the model."""


def call_runs(graph: Graph, depth: int | Literal["all"] = "all") -> list[CallRun]:
    """The calls down to a depth; a parent stands before its children.

    Args:
        graph: The Graph.
        depth: How many levels below the model are listed.
    """
    nesting = call_tree(graph)
    comparer = Comparer(nesting)
    found: list[CallRun] = []
    pending = [CallRun((0,), 0)]
    while pending:
        run = pending.pop()
        found.append(run)
        if depth == "all" or run.level < depth:
            pending.extend(reversed(_inside(nesting, comparer, run)))
    return found


def _inside(nesting: CallTree, comparer: Comparer, run: CallRun) -> list[CallRun]:
    calls = nesting.children[run.calls[0]]
    found, at = [], 0
    while at < len(calls):
        length = comparer.run(calls, at)
        found.append(CallRun(tuple(calls[at : at + length]), run.level + 1))
        at += length
    return found
