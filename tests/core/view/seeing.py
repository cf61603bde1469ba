"""Short ways to say what a View shows."""

from __future__ import annotations

from torchrecorder.view import Node, View


def name(view: View, node: Node) -> str:
    """The module, op or path of a node, with its repeats."""
    if node.kind == "call":
        times = f" x{len(node.calls)}" if len(node.calls) > 1 else ""
        return view.graph.calls[node.calls[0]].module + times
    if node.kind == "op" and node.op is not None:
        return view.graph.ops[node.op].name
    return f"{node.kind}:{node.name}"


def shown(view: View) -> list[str]:
    return [name(view, node) for node in view.nodes]


def boxes(view: View) -> list[str]:
    paths = [(view.graph.calls[box.calls[0]].module, box.repeat) for box in view.boxes]
    return [path + (f" x{repeat}" if repeat > 1 else "") for path, repeat in paths]


def edges(view: View) -> list[str]:
    names = shown(view)
    return [f"{names[e.tail]} > {names[e.head]}" + (" (skip)" if e.skip else "") for e in view.edges]


def reaches(view: View) -> bool:
    """Whether an output can be reached from an input."""
    reached = {node.id for node in view.nodes if node.kind == "input"}
    for edge in sorted(view.edges, key=lambda edge: edge.head):
        if edge.tail in reached:
            reached.add(edge.head)
    return any(node.kind == "output" and node.id in reached for node in view.nodes)
