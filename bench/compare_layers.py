"""What a graph says of layers: which layer calls occur, and which of them feeds which.

This is what the graphs of all tools can be reduced to. A layer call is a call of one of torch's own modules in which no
other module is called; operations between layers are left out, and what they pass on counts as passed from layer to
layer. Layers are known by their class, since not every tool keeps their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import networkx
from torch import nn

from tests.truth.case import Case
from tests.truth.neutral import to_neutral
from torchrecorder.graph import Graph

Key = Hashable


@dataclass
class Seen:
    """A tool's graph in words that all tools have."""

    inside: dict[Key, tuple[Key, ...]] = field(default_factory=dict)
    """Of each node, the module calls that it is in, outermost first; a layer that is a node itself is the last."""
    classes: dict[Key, str] = field(default_factory=dict)
    """Of each module call, the name of its class."""
    edges: set[tuple[Key, Key]] = field(default_factory=set)


def layers(seen: Seen) -> networkx.DiGraph[Any]:
    """The layer calls of a tool's graph, and which feeds which."""
    opened = {call for path in seen.inside.values() for call in path[:-1] if call in seen.classes}
    atoms = {node: _layer(path, seen.classes, opened) for node, path in seen.inside.items()}
    named = {call: _kind(seen.classes[call]) for call in atoms.values() if call is not None}
    return _contracted(named, [(_end(atoms, a), _end(atoms, b)) for a, b in seen.edges])


def _layer(path: tuple[Key, ...], classes: Mapping[Key, str], opened: set[Key]) -> Key | None:
    found = (call for call in path if call not in opened and hasattr(nn, _kind(classes.get(call, ""))))
    return next(found, None)


def _end(atoms: Mapping[Key, Key | None], node: Key) -> Key:
    atom = atoms.get(node)
    return ("between", node) if atom is None else atom


def _kind(name: str) -> str:
    """The class of a layer without what torch puts before it when it changes it."""
    return re.sub("^(Lazy|Parametrized)", "", name) or "?"


def truth(case: Case, model: nn.Module) -> networkx.DiGraph[Any]:
    """What is written by hand of a model."""
    return _neutral(case.nodes, case.edges, model)


def of_graph(graph: Graph, model: nn.Module) -> networkx.DiGraph[Any]:
    """What our Graph says."""
    return _neutral(*to_neutral(graph), model)


def _neutral(nodes: Iterable[str], edges: Iterable[tuple[str, str]], model: nn.Module) -> networkx.DiGraph[Any]:
    named = {node: _kind(_class_of(node, model)) for node in nodes if node.startswith("m:")}
    return _contracted(named, edges)


def _class_of(node: str, model: nn.Module) -> str:
    path = re.sub("#[0-9]+$", "", node.removeprefix("m:"))
    if path.startswith("~"):
        return path[1:]
    at: Any = model
    for step in re.findall(r"[^.\[\]]+", path):
        is_index = isinstance(at, list | tuple)
        at = at[int(step)] if is_index else at[step.strip("'\"")] if isinstance(at, dict) else getattr(at, step)
    return str(getattr(at, "original_name", type(at).__name__))


def _contracted(named: Mapping[Any, str], edges: Iterable[tuple[Any, Any]]) -> networkx.DiGraph[Any]:
    """The layers alone, with an edge where a path goes from one to the other through no third."""
    every: networkx.DiGraph[Any] = networkx.DiGraph()
    every.add_edges_from(edges)
    found: networkx.DiGraph[Any] = networkx.DiGraph()
    for node, kind in named.items():
        found.add_node(node, kind=kind)
    for start in named.keys() & every.nodes:
        waiting, met = [start], set()
        while waiting:
            for after in every.successors(waiting.pop()):
                if after not in met:
                    met.add(after)
                    if after not in named:
                        waiting.append(after)
        found.add_edges_from((start, after) for after in met if after in named and after != start)
    return found


def same_calls(one: networkx.DiGraph[Any], other: networkx.DiGraph[Any]) -> bool:
    """Whether both have the same layer calls."""
    return Counter(_kinds(one)) == Counter(_kinds(other))


def same_flow(one: networkx.DiGraph[Any], other: networkx.DiGraph[Any]) -> bool:
    """Whether in both the same layer calls feed the same."""
    return bool(networkx.is_isomorphic(one, other, node_match=lambda a, b: a["kind"] == b["kind"]))


def _kinds(graph: networkx.DiGraph[Any]) -> list[str]:
    return [kind for _, kind in graph.nodes(data="kind")]
