"""Which call and op of one call stands at the place of which of another, by paths and by where the code ran them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchrecorder.proof.facts import GraphFacts, Match

_NUMBERED = re.compile(r":\d+$")
"""The end of the name of a module that is not registered, where several of its class are."""


def match(facts: GraphFacts, call: int, other: int) -> Match:
    """What stands where in two calls."""
    if (call, other) in facts.matches:
        return facts.matches[call, other]
    found = facts.matches[call, other] = Match()
    pending = [(call, other)]
    while pending:
        here, there = pending.pop()
        found.calls[here] = there
        _match_ops(facts, found, facts.ops_in[here], facts.ops_in[there])
        names = dict(zip(_names(facts, there), facts.children[there], strict=True))
        for name, child in zip(_names(facts, here), facts.children[here], strict=True):
            if name in names:
                pending.append((child, names.pop(name)))
            else:
                found.unmatched += facts.ops_of([child])
        found.missing += facts.ops_of(names.values())
    return found


def _match_ops(facts: GraphFacts, found: Match, ops: Iterable[int], others: Iterable[int]) -> None:
    rows = facts.graph.ops
    if [rows[op].name for op in ops] == [rows[op].name for op in others]:
        found.ops.update(zip(ops, others, strict=True))
        return
    left: dict[object, list[int]] = {}
    for op in others:
        left.setdefault((rows[op].name, rows[op].source, rows[op].offset), []).append(op)
    for op in ops:
        alike = left.get((rows[op].name, rows[op].source, rows[op].offset))
        if alike:
            found.ops[op] = alike.pop(0)
        else:
            found.unmatched.append(op)
    found.missing += [op for some in left.values() for op in some]


def _names(facts: GraphFacts, call: int) -> list[tuple[str, int]]:
    """The path of each call in a call, from that of its module on, and how often that was called before."""
    if call in facts.names:
        return facts.names[call]
    rows, around = facts.graph.calls, facts.graph.calls[call]
    while around.kind == "function" and around.parent is not None:  # whose name is in no path of a layer
        around = rows[around.parent]
    base = around.module
    count: dict[str, int] = {}
    names = facts.names[call] = list[tuple[str, int]]()
    for child in facts.children[call]:
        path = _NUMBERED.sub("", rows[child].module).removeprefix(f"{base}." if base else "")
        count[path] = count.get(path, -1) + 1
        names.append((path, count[path]))
    return names
