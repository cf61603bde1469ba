"""Which calls of a Graph are boxes, which are nodes, and which are not drawn at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import Literal

from torchrecorder.view.contract import does_nothing
from torchrecorder.view.opsets import POINTWISE
from torchrecorder.view.tree import CallTree

State = Literal["box", "node", "gone"]


def atomic_calls(tree: CallTree, handed: Sequence[int | None], root: int = 0) -> list[bool]:
    """For each call whether it is one node at every depth.

    That is so for custom autograd functions, for calls of torch's own modules that call no other module (the leaf
    view), and for calls that hold one op at most: a box around a single op says nothing that a node does not. The root
    is opened for a single op too, since it is what the reader asked to see.

    Args:
        tree: The nesting of the calls.
        handed: For each op the value it hands on; None if it is not contracted.
        root: The call that is shown.
    """
    return [_is_atomic(tree, call, handed, least=1 if call == root else 2) for call in range(len(tree.level))]


def formulas(tree: CallTree, handed: Sequence[int | None]) -> list[bool]:
    """For each call whether it is somebody's own activation or normalisation, written as a formula.

    Torch's `RMSNorm` is one node; one that is written with five ops should not look like more.
    """
    found = [tree.module(call) is not None and not tree.children[call] for call in range(len(tree.level))]
    for op in tree.graph.ops:
        if handed[op.id] is None and op.name.removesuffix("_") not in POINTWISE:
            found[op.call] = False
    return found


def states(
    tree: CallTree,
    atomic: Sequence[bool],
    *,
    root: int = 0,
    depth: int,
    closed: Sequence[bool] = (),
    contract: bool = True,
    opened: Set[int] = frozenset(),
    collapsed: Set[int] = frozenset(),
) -> list[State]:
    """How each call is drawn if every call around it is a box.

    Args:
        tree: The nesting of the calls.
        atomic: The calls that are never boxes.
        root: The call that the picture shows.
        depth: How many levels of calls are boxes; the root is the first.
        closed: The calls that are boxes only if they are `opened`.
        contract: Whether calls that do nothing are left out.
        opened: The calls that are boxes in spite of `depth`.
        collapsed: The calls that are nodes in spite of everything.
    """
    limit = depth + tree.level[root]
    found: list[State] = ["node"] * len(tree.level)
    for call in range(len(tree.level) - 1, -1, -1):
        is_shut = bool(closed) and closed[call] and call != root
        is_box = ((tree.level[call] < limit and not is_shut) or call in opened) and call not in collapsed
        if call != root and _is_gone(tree, call, found, contract):
            found[call] = "gone"
        elif is_box and not atomic[call]:
            found[call] = "box"
    return found


def matching(tree: CallTree, patterns: Iterable[str]) -> list[int]:
    """The calls of modules whose path matches one of the patterns.

    In a pattern `*` stands for anything without a dot and `**` for anything.
    """
    regexes = [_regex(pattern) for pattern in patterns]
    if not regexes:
        return []
    rows = (row for row in tree.graph.calls if row.kind == "module")
    return [row.id for row in rows if any(regex.fullmatch(row.module) for regex in regexes)]


def with_parents(tree: CallTree, calls: Iterable[int]) -> set[int]:
    """The calls and all calls around them."""
    found: set[int] = set()
    for call in calls:
        at: int | None = call
        while at is not None and at not in found:
            found.add(at)
            at = tree.graph.calls[at].parent
    return found


def _regex(pattern: str) -> re.Pattern[str]:
    signs = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts))


def _is_atomic(tree: CallTree, call: int, handed: Sequence[int | None], least: int) -> bool:
    module = tree.module(call)
    if module is None:
        return True
    if any(tree.n_ops[child] or not tree.graph.calls[child].ok for child in tree.children[call]):
        return False
    if tree.graph.info.recorder == "classic":  # whose pictures show the ops inside every layer
        return False
    ops = [item.id for item in tree.items[call] if not item.is_call]
    return module.native or sum(handed[op] is None for op in ops) < least


def _is_gone(tree: CallTree, call: int, found: Sequence[State], contract: bool) -> bool:
    if not tree.graph.calls[call].ok:
        return False
    if not tree.n_ops[call] or (contract and does_nothing(tree, call)):
        return True
    return all(item.is_call and found[item.id] == "gone" for item in tree.items[call])
