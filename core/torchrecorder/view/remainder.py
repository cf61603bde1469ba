"""What a View does not show of its call, as data and as a note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Node, View
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.tree import CallTree


def with_remainder(view: View, visible: Visibility) -> View:
    """The View with the ops that no node stands for, and a note of them and of the ends that are not drawn."""
    facts, tree = visible.facts, visible.tree
    root = view.boxes[0].calls[0] if view.boxes else view.nodes[0].calls[0] if view.nodes[0].calls else 0
    inside = range(root, tree.end[root])
    covered = {*_covered(view, tree)}
    left_out = tuple(
        op.id
        for op in view.graph.ops
        if op.call in inside and op.id not in covered and visible.handed[op.id] is None and op.kind != "pass"
    )
    view = replace(view, left_out=left_out)
    if not (what := _words(view, facts, root)):
        return view
    advice = "" if visible.options.depth == "all" else "; depth: all draws everything"
    return replace(view, notes=(*view.notes, f"not drawn: {what}{advice}"))


def _covered(view: View, tree: CallTree) -> Iterator[int]:
    """The ops that nodes stand for, and those of repeats of boxes."""
    for node in view.nodes:
        for part in node.parts or (node,):
            yield from _ops_of(part, tree)
    for box in view.boxes:
        yield from box.ops[len(box.ops) // box.repeat :]
        for call in box.calls[box.period :]:
            yield from tree.all_ops_of(call)


def _ops_of(node: Node, tree: CallTree) -> Iterator[int]:
    if node.kind in ("call", "gap"):
        for call in node.calls:
            yield from tree.all_ops_of(call)
    yield from node.ops or (() if node.op is None else (node.op,))


def _words(view: View, facts: Facts, root: int) -> str:
    """`7 operations on constants, masks and positions, mask`."""
    graph = view.graph
    asides = [op for op in view.left_out if facts.aside.issuperset(graph.ops[op].outputs)]
    others = [op for op in view.left_out if op not in {*asides}]
    checked = {value for decision in graph.decisions for value in decision.values}
    checked.update(value for op in others for value in graph.ops[op].outputs if _is_number(view, value))
    for op in reversed(others):
        if not checked.isdisjoint(graph.ops[op].outputs):
            checked.update(graph.ops[op].inputs)
    checks = [op for op in others if not checked.isdisjoint(graph.ops[op].outputs)]
    names = [name for name, value in graph.inputs.items() if value in view.aside]
    if root == 0:
        shown = {value for node in view.nodes if node.kind == "output" for value in node.values}
        names += _groups(path for path, values in graph.outputs.items() if shown.isdisjoint(values))
    counted = (
        _counted(len(asides), "on constants, masks and positions"),
        _counted(len(checks), "that the code only asks"),
        _counted(len(others) - len(checks), "that nothing reads"),
    )
    return ", ".join(filter(None, (*counted, *names)))


def _is_number(view: View, value: int) -> bool:
    """Whether it is one number, as code asks for to choose its way."""
    meta = view.graph.values[value].meta
    return meta is not None and not meta.shape


def _groups(paths: Iterable[str]) -> list[str]:
    """The names of outputs, those of one nested list once."""
    return [*dict.fromkeys(path.partition(".")[0] for path in paths if path)]


def _counted(n: int, which: str) -> str:
    return f"{n} operation{'' if n == 1 else 's'} {which}" if n else ""
