"""Equal columns side by side, drawn once: entries of a ModuleList of which each reads its own part of a table."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft
from torchrecorder.view.facts import Facts
from torchrecorder.view.model import Box, Node, Repetition
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import WEIGHTED
from torchrecorder.view.tree import counted


def merge_asked(draft: Draft, facts: Facts) -> None:
    """Draw layers that a reader asked to fold as one, if each reads the one before or none reads another."""
    groups: dict[Hashable, list[Node]] = {}
    for node in draft.nodes.values() if facts.together else ():
        if node.kind == "call" and not facts.together.isdisjoint(node.calls) and not draft.is_looped(node.id):
            path = counted(draft.graph.calls[node.calls[0]].module)
            groups.setdefault((node.box, path, len(node.parts)), []).append(node)
    for nodes in groups.values():
        ids = [node.id for node in nodes]
        is_series = all(b in draft.heads[a] for a, b in pairwise(ids))
        is_row = not is_series and all(draft.heads[node].keys().isdisjoint(ids) for node in ids)
        if len(ids) < 2 or not draft.is_convex(ids) or not (is_series or is_row):
            continue
        gives = is_series and any(draft.heads[node].keys() - {*ids} for node in ids[:-1])
        differs = (f"outputs ×{len(ids)}",) if gives else ()
        whole = replace(_whole(facts, [[node] for node in nodes]), repetition="series" if is_series else "parallel")
        draft.merge(ids, replace(whole, differs=differs), last_gives=is_series)


def merge_columns(draft: Draft, facts: Facts) -> None:
    """Draw more than a row of columns that read and feed the same as one, whatever the sizes of their layers.

    A row is enough if they are turns of a loop that calls one layer and takes several things for it.
    """
    done: set[int] = set()
    for group in _columns(draft, facts):
        ids = {node.id for column in group for node in column}
        sorts = {_sort(draft, facts, node) for node in group[0] if node.kind == "op"}
        is_layer = len(group[0]) == 1 and not sorts.isdisjoint(WEIGHTED)  # one expert a row of a weight
        if not done.isdisjoint(ids) or not (is_layer or any(node.kind == "call" for node in group[0])):
            continue
        calls = [[node.calls[0] for node in column if node.calls] for column in group]
        names = {draft.graph.calls[call].module for column in calls for call in column}
        is_one = len(names) == 1 == len(calls[0]) and calls[0][0] not in facts.tree.picked
        is_chain = all(len(draft.tails[node.id]) == 1 for node in group[0][1:])
        if len(group) == tuning.ROW and (is_chain or not is_one):  # query, key and value stay apart
            continue
        done |= ids
        repetition: Repetition = "shared" if is_one else "parallel"
        n_parts = sum(max(len(node.parts), 1) for node in group[0])
        is_closed = any(facts.tree.children[call] for call in calls[0])
        if n_parts > 1 and (is_closed or n_parts > tuning.PARTS or not is_chain):
            box_turns(draft, [node for column in group for node in column], len(group[0]), repetition)
        else:
            whole = replace(_whole(facts, group), repetition=repetition)
            draft.merge([node.id for column in group for node in column], whole)


def merge_entries(draft: Draft, facts: Facts) -> None:
    """Draw the tensors of one argument as one, if only the first layers of equal columns read them, each its own."""
    rows: dict[str, list[Node]] = {}
    for node in (node for node in draft.nodes.values() if node.kind == "input"):
        rows.setdefault(node.name.partition(".")[0], []).append(node)
    for name, nodes in rows.items():
        heads = [[draft.nodes[head] for head in draft.heads[node.id]] for node in nodes]
        is_each = all(it.calls and _is_plain(draft, it) and len(draft.tails[it.id]) == 1 for row in heads for it in row)
        ends = {tuple(_end(draft, facts, it) for it in row) for row in heads}
        if len(nodes) > tuning.ROW and is_each and len(ends) == 1 and () not in ends:
            values = tuple(value for node in nodes for value in node.values)
            draft.merge([node.id for node in nodes], replace(nodes[0], name=name, values=values))


def _end(draft: Draft, facts: Facts, node: Node) -> Hashable:
    """What columns that end with a node have alike."""
    return node.box, frozenset(draft.heads[node.id]), *(_sort(draft, facts, part) for part in (node.parts or (node,)))


def merge_sums(draft: Draft) -> None:
    """Draw what one place of the code adds up, as a loop or `sum(…)` does, as one sum of what different nodes give."""
    for node in [*draft.nodes.values()]:
        run = [node] if node.id in draft.nodes and _place_of_sum(draft, node) else []
        while run and len(heads := draft.heads[run[-1].id]) == 1:
            below = draft.nodes[next(iter(heads))]
            if _place_of_sum(draft, below) != _place_of_sum(draft, node):
                break
            run.append(below)
        ids = [member.id for member in run]
        terms = {tail for id_ in ids for tail in draft.tails[id_]}.difference(ids)
        if len(ids) > 1 and len(terms) == len(ids) + 1:
            draft.merge(ids, replace(run[-1], ops=tuple(op for member in run for op in member.own_ops)))


def _place_of_sum(draft: Draft, node: Node) -> Hashable:
    """The box and the source position of a node that adds two tensors; None for any other node."""
    op = draft.graph.ops[node.op] if node.kind == "op" and node.op is not None and not node.parts else None
    if op is None or op.source is None or plain(op.name) != "add" or op.attrs or not _is_plain(draft, node):
        return None
    if not len(draft.tails[node.id]) == len(op.inputs) == 2:  # an operand that no line brings is in the words
        return None
    return node.box, op.call, op.source, op.offset


def _columns(draft: Draft, facts: Facts) -> Iterator[list[list[Node]]]:
    """Groups of columns that read and feed the same: each is a node with what only it reads, directly or not."""
    numbers: dict[Hashable, int] = {}  # of equal columns, so that no key holds the key of another one
    number: dict[int, int] = {}
    own: dict[int, set[int]] = {}
    groups: dict[Hashable, list[int]] = {}
    for node in (node for node in draft.nodes.values() if _is_plain(draft, node)):
        tails = draft.tails[node.id]
        above = [tail for tail in tails if tail in number and draft.nodes[tail].box == node.box]
        own[node.id] = {tail for tail in above if len(draft.heads[tail]) == 1}
        reads = (number[tail] if tail in own[node.id] else (tail,) for tail in tails)
        sorts = (_sort(draft, facts, part) for part in (node.parts or (node,)))
        number[node.id] = numbers.setdefault((*reads, None, *sorts), len(numbers))
        if tails and draft.heads[node.id]:
            key = node.box, frozenset(draft.heads[node.id]), number[node.id]
            groups.setdefault(key, []).append(node.id)
    for lasts in sorted(groups.values(), key=max, reverse=True):  # a column before those in it
        if len(lasts) >= tuning.ROW and all(last in draft.nodes for last in lasts):
            yield [[draft.nodes[id_] for id_ in sorted(_above(last, own))] for last in lasts]


def _above(last: int, own: Mapping[int, Collection[int]]) -> list[int]:
    column = [last]
    for node in column:
        column += own[node]
    return column


def _is_plain(draft: Draft, node: Node) -> bool:
    is_one = node.kind == "op" or (node.kind == "call" and node.repeat == 1)
    return is_one and not node.decides and not draft.is_looped(node.id)


def _sort(draft: Draft, facts: Facts, part: Node) -> Hashable:
    if not facts.apart.isdisjoint(part.calls):
        return part.id
    if part.kind == "call":
        return facts.tree.cls(part.calls[0]) or part.calls[0]
    return plain(draft.graph.ops[part.op].name) if part.op is not None and not part.ops else part.id


def _whole(facts: Facts, columns: Sequence[Sequence[Node]]) -> Node:
    rows = [[part for node in column for part in (node.parts or (node,))] for column in columns]
    parts = tuple(map(as_one, zip(*rows, strict=True)))
    main = max(parts, key=lambda part: facts.tree.n_params(part.calls[0]) if part.calls else -1)
    return replace(main, parts=parts if len(parts) > 1 else ())


def as_one(alike: Sequence[Node]) -> Node:
    """The first of several nodes with the calls and ops of all."""
    calls = tuple(call for node in alike for call in node.calls)
    return replace(alike[0], calls=calls, ops=tuple(op for node in alike for op in node.own_ops))


def _going_on(draft: Draft, two: Sequence[Node], drawn: Mapping[int, int]) -> set[int]:
    """What the second of two turns reads where data first enter the first: that goes through them to the eye.

    Nothing does if the second reads all that enters the first as well.
    """

    def is_stream(tail: int) -> bool:
        return tail not in drawn and draft.nodes[tail].kind not in ("param", "buffer", "const")

    first, second = two[: len(two) // 2], two[len(two) // 2 :]
    entered = next((node.id for node in first if any(map(is_stream, draft.tails[node.id]))), None)
    read = {tail for node in second if drawn[node.id] == entered for tail in draft.tails[node.id]}
    return read if entered is not None and draft.tails[entered].keys() - drawn.keys() - read else set()


def box_turns(
    draft: Draft,
    stretch: Sequence[Node],
    period: int,
    repetition: Repetition = "series",
    *,
    is_row: bool = False,
    differs: tuple[str, ...] = (),
) -> None:
    """Put the first turn of a stretch into a box, and take the others out: the first gives what the last gave.

    What goes from turn to turn is drawn as an edge back, unless it enters the first and leaves the last; that too if
    the layers of the turns stand in a row, so that what enters them is read by each, or if something else enters a
    turn before it, which would be taken for what goes through.
    """
    parts = [part for node in stretch for part in (node.parts or (node,))]
    calls = tuple(call for part in parts for call in part.calls)
    ops = tuple(op for part in parts for op in part.own_ops)
    n_turns = len(stretch) // period
    home, n_calls = stretch[0].box, len(calls) // n_turns
    box = Box(max(draft.boxes) + 1, home, calls, n_calls, repetition, differs, around=True, ops=ops)
    draft.boxes[box.id] = box
    drawn = {node.id: stretch[i % period].id for i, node in enumerate(stretch)}
    leaving = {drawn[node.id] for node in stretch[-period:] if not drawn.keys() >= draft.heads[node.id].keys()}
    entered = {node.id for node in stretch[:period] if not drawn.keys() >= draft.tails[node.id].keys()}
    going_on = _going_on(draft, stretch[: 2 * period], drawn)
    for node in stretch[period : 2 * period]:
        for tail, value in draft.tails[node.id].items():
            is_before = drawn.get(tail) == tail  # in the first turn
            is_through = not is_row and tail in leaving and drawn[node.id] in entered and tail in going_on
            if is_before and not is_through:
                draft.backs[tail, drawn[node.id]] = value
    for i, node in enumerate(stretch):
        outside = {head: value for head, value in draft.heads[node.id].items() if head not in drawn}
        if i < period:
            draft.nodes[node.id] = replace(node, box=box.id)
            for head in outside:
                draft.part(node.id, head)
            continue
        for tail, value in draft.tails[node.id].items():
            if tail not in drawn:
                draft.join(tail, drawn[node.id], value)
        for head, value in outside.items() if i >= len(stretch) - period else ():
            draft.join(drawn[node.id], head, value)
    for node in stretch[period:]:
        draft.drop(node.id)
