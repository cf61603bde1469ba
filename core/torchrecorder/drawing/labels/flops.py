"""How much each call computes."""

from __future__ import annotations

from torchrecorder.graph import Graph


def flops_by_call(graph: Graph) -> dict[int, int]:
    """Floating-point operations in each call and in those within it, where a rule for them is known."""
    found: dict[int, int] = {}
    for op in graph.ops:
        if op.flops:
            found[op.call] = found.get(op.call, 0) + op.flops
    for call in reversed(graph.calls):
        if call.parent is not None and call.id in found:
            found[call.parent] = found.get(call.parent, 0) + found[call.id]
    return found
