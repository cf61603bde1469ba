"""Whether what a node says of its own is so: `3×3 · first /2` at one that names an inset which lists kernels and steps.

Held against the layers of its calls at the places of those that have the list, each by what it says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, pairwise

from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view.model import Box, Node

_WAY = re.compile(r"([\d×]+)→([\d×]+)")


def of_own(sameness: Sameness) -> Iterator[Fault]:
    insets = dict(zip(sameness.lettered, sameness.coverages[1:], strict=True))
    for coverage, again in zip(sameness.coverages, sameness.again, strict=True):
        for node in (node for node in coverage.view.nodes if node.own and not node.is_unsaid):
            calls = [*dict.fromkeys((*node.calls, *(other for call in node.calls for other in again.get(call, ()))))]
            for span in (span for span in node.own if span.name not in ("heads", "")):  # these are proved elsewhere
                inside = insets.get(node.inset)
                is_run = len(span.values) == len(calls) > 1
                given = span.values if is_run else span.values[:1] * len(calls)
                pairs = zip(calls, given, strict=True) if inside else ()
                every = [{*_values(sameness, inside, span.name, *pair)} for pair in pairs if inside] or [set[str]()]
                true = set[str]().union(*every)
                is_so = all(map({*span.values}.intersection, every)) and true <= {*span.values}
                if is_run:  # one after another
                    is_so &= all(values <= {said} for values, said in zip(every, span.values, strict=True))
                if not is_so:
                    words = f"{span.name} {', '.join(span.values)} in {node.inset}, and it is {', '.join(sorted(true))}"
                    yield Fault("settings", words, node.calls)


def of_ways(sameness: Sameness) -> Iterator[Fault]:
    """Sizes between which a run leads, `1280→96`, that it does not in each of the calls that it is drawn for."""
    values, rows = sameness.graph.values, sameness.graph.calls
    for coverage, again in zip(sameness.coverages, sameness.again, strict=True):
        things: tuple[Node | Box, ...] = (*coverage.view.nodes, *coverage.view.boxes)
        for thing in things:
            for said in filter(None, map(_WAY.fullmatch, thing.differs)):
                parts: list[Node | Box] = [part for part in (thing, *getattr(thing, "parts", ())) if part.calls]
                ends = [[part.calls[at] for part in parts] for at in (0, -1)]
                for turn in zip(*((call, *again.get(call, ())) for call in chain(*ends)), strict=False):
                    read = (value for call in turn[: len(parts)] for value in rows[call].inputs.values())
                    given = (value for call in turn[len(parts) :] for value in rows[call].outputs.values())
                    known = [{str(size) for value in some for size in values[value].shape} for some in (read, given)]
                    if not all(of >= {*text.split("×")} for of, text in zip(known, said.groups(), strict=True)):
                        yield Fault("sameness", f"{said[0]} is not so of {rows[turn[0]].module}", thing.calls)
            channels = {text for span in getattr(thing, "own", ()) if not span.name for text in span.values}
            for turn in zip(*((it, *again.get(it, ())) for it in thing.calls), strict=False) if channels else ():
                ways = [_way(sameness, call) for call in turn]
                is_row = len({*ways}) == 1 or all(before[1] == way[0] for before, way in pairwise(ways))
                row = [text for text, _ in groupby((ways[0][0], *(way[1] for way in ways)))]
                if not is_row or "" in row or channels != {"→".join(row if row[1:] else row * 2)}:
                    yield Fault("settings", f"{channels} is not so of {rows[turn[0]].module}", thing.calls)


def _way(sameness: Sameness, call: int) -> tuple[str, str]:
    """The channels of what a call gets, `64+32` of several that its first weight reads as one, and of what it gives.

    The first weight is that of an op which the first thing that the call gets comes to; if that is none, and it gives
    nothing of such a shape, the first of all.
    """
    values, row, ops = sameness.graph.values, sameness.graph.calls[call], sameness.facts.ops_of([call])
    first = next(iter(row.inputs.values()), None)
    on_way = [op for op in ops if first is not None and _comes_from(sameness, first, op, min(ops))]
    is_changed = first is None or all(values[it].shape != values[first].shape for it in row.outputs.values())
    found = _way_by(sameness, call, on_way)
    return _way_by(sameness, call, ops) if is_changed and "" in found else found


def _way_by(sameness: Sameness, call: int, ops: Iterable[int]) -> tuple[str, str]:
    values, row = sameness.graph.values, sameness.graph.calls[call]
    for op in map(sameness.graph.ops.__getitem__, ops):
        weights = [values[value].shape for value in op.inputs[1:2] if values[value].kind == "param"]
        of, sides = values[op.inputs[0]].shape if op.inputs else (), (row.inputs, row.outputs)
        got, made = ([shape for it in side.values() if len(shape := values[it].shape) == len(of)] for side in sides)
        for weight in (it for it in weights if len(it) in (2, len(of)) and "embedding" not in op.name and got and made):
            axis = 1 if weight[2:] else len(of) - 1
            known = next(([it] for it in got if it[axis] == of[axis]), got)
            is_cut = len(known) == 1 and all(
                a == b or i == axis for i, (a, b) in enumerate(zip(known[0], of, strict=True))
            )
            if (is_cut or sum(int(it[axis]) for it in known) == of[axis]) and len({it[axis] for it in made}) == 1:
                return "+".join(str(it[axis]) for it in known), str(made[0][axis])
            return "", ""
    return "", ""


def _comes_from(sameness: Sameness, value: int, op: int, first: int) -> bool:
    """Whether an op, or one before it from a first one on, reads a value."""
    pending = [op]
    for at in pending:
        read = sameness.graph.ops[at].inputs
        if value in read:
            return True
        made = (sameness.graph.values[it].producer for it in read)
        pending += [it for it in made if it is not None and it >= first and it not in pending]
    return False


def _values(sameness: Sameness, inside: Coverage, name: str, call: int, said: str) -> Iterator[str]:
    """The values of a setting in the layers of a call at the places of those that list it.

    If it is said to have `none`, there may be no such layer but identities.
    """
    if name == "expansion":
        ops = (sameness.graph.ops[op] for op in sorted(sameness.facts.ops_of([call])))
        read = (sameness.graph.values[op.inputs[1]].shape for op in ops if re.match("conv|linear", op.name))
        yield from (f"{int(weight[0]) / int(weight[1]):g}" for weight in [*read][:1])
        return
    listing = (part for node in inside.view.nodes for part in node.parts or (node,) if _lists(part, name))
    drawn = {own for part in listing for own in part.calls}
    pairs = sameness.facts.match(call, inside.root).calls.items()
    matched = [(other, first) for other, first in pairs if inside.drawn_call(first) in drawn]
    matched = [pair for pair in matched if sameness.settings(pair[0])["class"] != "Identity"]
    if said == "none" and not matched:
        yield said
        return
    places = [other for other, first in matched if _is_grouped(sameness, other) == _is_grouped(sameness, first)]
    if not places:  # a number is another's
        kinds = [sameness.settings(own) for own in drawn]
        signs = [(own["class"], own.get("groups")) for own in kinds]
        rows = ((at, sameness.settings(at)) for at in range(call, sameness.facts.end[call]))
        places = [at for at, own in rows if (own["class"], own.get("groups")) in signs]
        places = places or [other for other, _ in matched]
    for other in places:  # a layer may hold the one that has it
        own, *inner = (sameness.settings(at).get(name) for at in range(other, sameness.facts.end[other]))
        yield from [own] if own else [*filter(None, inner)] or ["1"]


def _is_grouped(sameness: Sameness, call: int) -> bool:
    return sameness.settings(call).get("groups", "1") not in ("1", "none")


def _lists(part: Node, name: str) -> bool:
    return any(span.name == name for span in part.spans)


def of_dropouts(sameness: Sameness) -> Iterator[Fault]:
    """Nodes of calls without a dropout that is a node of its own in their inset, which is not said."""
    facts, ops, rows = sameness.facts, sameness.graph.ops, sameness.graph.calls
    for letter, inside in zip(sameness.lettered, sameness.coverages[1:], strict=True):
        alone = [node.calls[0] for node in inside.view.nodes if node.kind == "call" and not node.parts]
        for drawn in (call for call in alone if all("dropout" in ops[op].name for op in facts.ops_of([call]))):
            name = rows[drawn].module.rpartition(".")[2]
            for node in (node for coverage in sameness.coverages for node in coverage.view.nodes):
                calls = node.calls if node.inset == letter and not any(name in text for text in node.differs) else ()
                if any(drawn not in facts.match(call, inside.root).calls.values() for call in calls):
                    yield Fault("sameness", f"{name} is in {rows[inside.root].module} and not in all of", node.calls)
