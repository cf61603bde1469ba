"""Folding neighbours into one: a series of one kind into a node, and layers that take turns into a box.

In a series each reads the one before, and all the same of what is around (the skips of a U-Net keep its blocks apart);
what reads one of the inner ones reads all of them. Blocks with different sizes are one series, but for a change of
resolution, which readers look for; unless each of many changes it.

Layers that take turns, as attention, sum, MLP, sum, attention, … stand in no call of their own. They belong together if
their paths are entries of one list, `layers.0.0`, `layers.0.1`, which keeps `norm1` and `norm2` of a block apart.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain, pairwise

from torchrecorder.graph.model import Call, Graph
from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft
from torchrecorder.view.model import Node
from torchrecorder.view.plan.repeats import place, sizes
from torchrecorder.view.settings import read
from torchrecorder.view.simplified.columns import as_one, box_turns
from torchrecorder.view.templates.kinds import Kinds, without_numbers
from torchrecorder.view.templates.words import entry
from torchrecorder.view.tree import counted

_NUMBER = re.compile(r"\d+")
_SOURCES = ("param", "buffer", "const")


def series_with_outputs(draft: Draft, kinds: Kinds) -> dict[int, tuple[int, ...]]:
    """The calls of each series of which more than the last gives an output, by the first.

    Behind a few that do it is parted, so that their lines begin where they leave.
    """
    outputs = {node.id for node in draft.nodes.values() if node.kind == "output"}
    series = _Series(draft, kinds, beside=outputs)
    found: dict[int, tuple[int, ...]] = {}
    for run in series.all():
        n_giving = sum(not outputs.isdisjoint(draft.heads[node.id]) for node in run[:-1])
        if n_giving and (n_giving == len(run) - 1 or n_giving > tuning.FEW_OUTPUTS):
            found[run[0].calls[0]] = tuple(call for node in run for call in node.calls)
    return found


def fold_series(draft: Draft, kinds: Kinds) -> None:
    """Draws each series as one node."""
    series = _Series(draft, kinds)
    folded = [(run, series.whole(run), [*series.copies_before(run)]) for run in series.all()]
    for run, whole, copies in folded:
        for copy, first in copies:
            if copy in draft.nodes:
                draft.merge([first, copy], draft.nodes[first])
        draft.merge([node.id for node in run], whole, last_gives=True)


class _Series:
    def __init__(self, draft: Draft, kinds: Kinds, *, beside: Collection[int] = ()) -> None:
        self.draft, self.kinds = draft, kinds
        self.graph, self.tree = draft.graph, kinds.tree
        self._beside = {*beside}
        """Readers that do not matter."""
        sources = (node for node in draft.nodes.values() if node.kind in _SOURCES)
        self._sources: dict[int, object] = {node.id: (node.kind, node.name, node.values) for node in sources}
        self._is_long = len(draft.nodes) > tuning.LONG_VIEW

    def all(self) -> Iterator[list[Node]]:
        for nodes in self.draft.by_box():
            at = 0
            while at < len(nodes):
                run = self._run(nodes, at)
                if len(run) > 1:
                    yield run
                at += len(run)

    def copies_before(self, run: Sequence[Node]) -> Iterator[tuple[int, int]]:
        """Copies of a source that all read, such as the queries of a decoder, each with the first."""
        first, *others = ([tail for tail in self.draft.tails[node.id] if tail in self._sources] for node in run)
        beside = {self._sources[node]: node for node in first}
        for node in (node for nodes in others for node in nodes):
            if beside[self._sources[node]] != node:
                yield node, beside[self._sources[node]]

    def _run(self, nodes: Sequence[Node], at: int) -> list[Node]:
        """The longest series that begins with the node at this position; the node alone if there is none."""
        stop = at + 1
        while stop < len(nodes) and self._continues(nodes[stop - 1], nodes[stop]):
            stop += 1
        run = [*nodes[at:stop]]
        steps = [a != b for a, b in pairwise(resolution(self.graph, node.calls[-1]) for node in run if len(run) > 1)]
        if any(steps) and not (all(steps) and len(run) > tuning.MANY_STEPS):
            run = run[: steps.index(True) + 1]
        while len(run) > 1 and not (self._is_closed(run) and self._is_said(run)):
            run.pop()
        return run

    def _is_said(self, run: Sequence[Node]) -> bool:
        calls = [call for node in run for call in node.calls]
        models = {calls[0], self.kinds.models[self.kinds.of[calls[0]]]} if not run[0].parts else ()
        return all(self.kinds.in_words(calls, model, is_series=True) is not None for model in models)

    def _continues(self, upper: Node, lower: Node) -> bool:
        is_looped = self.draft.is_looped(upper.id) or self.draft.is_looped(lower.id)
        if is_looped or lower.id not in self.draft.heads[upper.id] or upper.kind != "call" or lower.kind != "call":
            return False
        if upper.repetition != "series" or lower.repetition != "series" or len(upper.parts) != len(lower.parts):
            return False
        pairs = [*zip(upper.parts, lower.parts, strict=True)] or [(upper, lower)]
        return all(self._alike(x, y) for x, y in pairs)

    def _alike(self, upper: Node, lower: Node) -> bool:
        if upper.kind != lower.kind or upper.kind != "call":
            ops = [self.graph.ops[node.op].name for node in (upper, lower) if node.kind == "op" and node.op is not None]
            return len(ops) == 2 and ops[0] == ops[1]
        a, b = upper.calls[-1], lower.calls[0]
        paths = [self.graph.calls[call].module for call in (a, b)]
        here, there = self.tree.module(a), self.tree.module(b)
        is_again = paths[0] == paths[1] and a not in self.kinds.tree.picked
        if is_again or here is None or there is None or here.cls != there.cls:
            return False
        if not self.kinds.visible.facts.apart.isdisjoint((a, b)):
            return False
        if self.kinds.visible.is_block(a):
            # `encoder_layer_0` and `encoder_layer_1`, but not `self_attention` and `cross_attention`
            steps = [*zip(*(path.split(".") for path in paths), strict=False)]
            is_one_step = sum(x != y for x, y in steps) == 1  # as `blocks.0.mixer` and `blocks.1.mixer`
            is_place = without_numbers(paths[0]) == without_numbers(paths[1])
            is_entry = entry(paths[0]) == entry(paths[1]) or (is_place and is_one_step)
            is_solid = self.tree.is_solid(a) and self.tree.is_solid(b)
            around = self.graph.calls[a].parent
            if not self.kinds.visible.strict.isdisjoint((a, b, -1 if around is None else around)):
                is_solid &= self.kinds.structure[a] == self.kinds.structure[b]
            return is_solid and self.kinds.of[a] == self.kinds.of[b] and is_entry
        said = self.kinds.visible.facts.kinds.said
        steps = [(it.get("stride"), it.get("groups", "1") == "1") for it in (read(said(call)).named for call in (a, b))]
        is_same_size = said(a) == said(b) or (self._is_long and steps[0] == steps[1])  # a dense stem
        return is_same_size and without_numbers(paths[0]) == without_numbers(paths[1])

    def _is_closed(self, run: Sequence[Node]) -> bool:
        members = {node.id for node in run}
        tails = [self.draft.tails[node.id].keys() - members for node in run]
        before = [{self._sources.get(other, other) for other in others} for others in tails]
        after = [self.draft.heads[node.id].keys() - members - self._beside for node in run]
        same = all(others == before[1] for others in before[1:]) and before[1] <= before[0]
        rows = [(self.graph.calls[upper.calls[-1]], self.graph.calls[lower.calls[0]]) for upper, lower in pairwise(run)]
        aside = self.kinds.visible.facts.aside
        for here, there in rows:  # the same argument of both: attention may exchange its query and its key
            both = {*here.inputs.values()} & {*there.inputs.values()}
            same &= all(here.inputs.get(path) == value for path, value in there.inputs.items() if value in both)
            same &= _is_entered_alike(here, there, aside)
        handed = [
            {path for path, value in here.outputs.items() if value in there.inputs.values()} for here, there in rows
        ]
        same &= all(alike == handed[0] for alike in handed)
        return same and (not any(after[:-1]) or all(others == after[-1] for others in after[:-1]))

    def whole(self, run: Sequence[Node]) -> Node:
        first, members, heads = run[0], {node.id for node in run}, self.draft.heads
        calls = tuple(call for node in run for call in node.calls)
        is_dense = all(len(heads[node.id].keys() & members) == len(run) - 1 - i for i, node in enumerate(run))
        differs = ("densely connected",) if is_dense and len(run) > 2 else ()
        if not differs and heads[first.id].keys() - members:
            differs = (f"outputs ×{len(run)}",)
        parts = tuple(map(as_one, zip(*(node.parts for node in run), strict=True)))
        ops = tuple(op for node in run for op in node.ops)
        return replace(first, calls=calls, parts=parts, ops=ops, differs=(*_channels(self.graph, calls), *differs))


def _is_entered_alike(here: Call, there: Call, aside: Set[int]) -> bool:
    """Whether what comes into a call apart is not one thing in the next."""
    return len({*here.inputs.values()} - aside) <= len({*there.inputs.values()} - aside)


def resolution(graph: Graph, call: int) -> tuple[int | str, ...]:
    """The last two axes of what a call gives, if it is a batch of images; else nothing."""
    shape = next((graph.values[value].shape for value in graph.calls[call].outputs.values()), ())
    return shape[-2:] if len(shape) > 3 else ()


def _channels(graph: Graph, calls: Sequence[int]) -> Iterator[str]:
    """`64→2`: the first size that changes from one of the calls to the next."""
    for text in sizes(graph, calls):
        first, _, last = text.partition("→")
        pairs = zip(first.split("×"), last.split("×"), strict=True)
        yield next(f"{a}→{b}" for a, b in pairs if a != b) if first != last else text


def fold_turns(draft: Draft, kinds: Kinds) -> None:
    """Draws each stretch that comes again and again as one box around its first turn."""
    turns = _Turns(draft, kinds)
    stretches: list[tuple[list[Node], int]] = []
    for nodes in draft.by_box() if len(draft.nodes) > 3 else ():
        at = 0
        while at < len(nodes):
            period, times = turns.at(nodes, at)
            if times > 1:
                stretches.append((nodes[at : at + period * times], period))
            at += period * times
    for stretch, period in stretches:
        n, inside = len(stretch) // period, {node.id for node in stretch}
        gives = any(draft.heads[node.id].keys() - inside for node in stretch[:period])
        is_row, differs = turns.are_beside(stretch, period), (f"outputs ×{n}",) if gives else ()
        box_turns(draft, stretch, period, is_row=is_row, differs=differs)


class _Turns:
    def __init__(self, draft: Draft, kinds: Kinds) -> None:
        self.draft, self.graph, self.kinds = draft, draft.graph, kinds

    def at(self, nodes: Sequence[Node], at: int) -> tuple[int, int]:
        """Nodes in a turn from a position on, and number of turns; `1, 1` if there are none. What folds most is taken.

        Arguments may change from turn to turn, as the number of an expert does: what differs is said at the node.
        """
        best = 1, 1
        if nodes[at].kind not in ("call", "op", "function"):
            return best
        longest = min(tuning.MAX_PERIOD_OF_TURNS, (len(nodes) - at) // 2)
        to_call = next((n for n, node in enumerate(nodes[at : at + longest], start=1) if node.calls), longest + 1)
        for period in range(max(2, to_call), longest + 1):
            stop = at + period
            while stop < len(nodes) and self._alike(nodes[stop - period], nodes[stop], is_first=stop < at + 2 * period):
                stop += 1
            times, n_behind = divmod(stop - at, period)
            if times > 1 and n_behind and self._is_cut(nodes[at:stop], period):
                continue
            first, *later = (
                [nodes[at + n + period * i : at + n + period * (i + 1)] for i in range(times)]
                for n in range(n_behind + 1)
            )
            turns, n_handed = first, self._n_handed(first)
            if times > 1 and any(self._n_handed(row) < n_handed and self._is_series(row) for row in later):
                continue  # `x = x + layer(x)` begins with the layer, although a sum is before the first, too
            while len(turns) > 1 and not self._is_series(turns):
                turns.pop()
            is_more = len(turns) > 1 and period * len(turns) > best[0] * best[1]
            if is_more and self._leading_out(turns, 0):  # few are drawn one by one, and columns are not turns
                is_more = len(turns) >= tuning.MIN_TURNS and not self.are_beside([*chain(*turns)], period)
            if is_more and self._is_of_lists(turns):
                best = period, len(turns)
        return best

    def _n_handed(self, turns: Sequence[Sequence[Node]]) -> int:
        """How many things the second turn reads of the first."""
        tails = {tail for node in (turn for row in turns[1:2] for turn in row) for tail in self.draft.tails[node.id]}
        return len(tails & {node.id for node in turns[0]})

    def _is_cut(self, nodes: Sequence[Node], period: int) -> bool:
        """Whether a turn begins before its loop or in the middle: at another place, or with other entries of lists."""
        graph, pairs = self.graph, [*zip(nodes[:period], nodes[period:], strict=False)]
        if (ops := [graph.ops[node.op] for node in pairs[0] if node.op is not None]) and ops[0].offset is not None:
            return len({place(graph, op) for op in ops}) > 1
        paths = [[graph.calls[node.calls[0]].module for node in pair] for pair in pairs if pair[0].calls]
        paths = [of for of in paths if of[0] != of[1]]  # one layer that all turns call tells nothing
        entries = {next((a for a, b in zip(*map(_NUMBER.findall, of), strict=False) if a != b), "") for of in paths}
        return len(entries) > 1 and len({counted(of[0]) for of in paths}) == len(paths)

    def _is_of_lists(self, turns: Sequence[Sequence[Node]]) -> bool:
        """Whether they run entries of lists, or at least a few times layers whose names count, as `q_0`, `q_1`."""
        calls = ([node.calls[0] for node in turn if node.calls] for turn in turns[:2])
        paths = [[self.graph.calls[call].module for call in of_turn] for of_turn in calls]
        pairs = [(without_numbers(a), without_numbers(b)) for a, b in zip(*paths, strict=True)]
        return bool(pairs) and (len(turns) >= tuning.MIN_TURNS or all(a == b for a, b in pairs))

    def _alike(self, upper: Node, lower: Node, *, is_first: bool) -> bool:
        if upper.kind != lower.kind or len(upper.calls) != len(lower.calls) or len(upper.parts) != len(lower.parts):
            return False
        if upper.calls[1:] or self.draft.is_looped(upper.id) or self.draft.is_looped(lower.id):
            return False
        if upper.parts:
            pairs = zip(upper.parts, lower.parts, strict=True)
            return all(self._alike(x, y, is_first=is_first) for x, y in pairs)
        if upper.kind == "op" and upper.op is not None and lower.op is not None:
            x, y = self.graph.ops[upper.op], self.graph.ops[lower.op]
            return x.name == y.name and x.attrs.keys() == y.attrs.keys()
        if upper.kind == "function":
            return upper.name == lower.name and len(upper.ops) == len(lower.ops)
        return upper.kind == "call" and self._alike_calls(upper.calls[0], lower.calls[0], is_first=is_first)

    def _alike_calls(self, a: int, b: int, *, is_first: bool) -> bool:
        paths = [self.graph.calls[call].module for call in (a, b)]
        here, there = self.kinds.tree.module(a), self.kinds.tree.module(b)
        is_entry = counted(paths[0]) == counted(paths[1])  # or one layer that all turns call
        is_entry &= self.kinds.visible.facts.apart.isdisjoint((a, b))
        if not is_entry or here is None or there is None or not self._run_alike(a, b, is_first=is_first):
            return False
        kinds = self.kinds.visible.facts.kinds
        if self.kinds.tree.is_leaf(a) or a in kinds.layers:
            return kinds.said(a) == kinds.said(b)
        rows = (self.graph.calls[call].outputs.values() for call in (a, b))
        widths = [next((self.graph.values[value].shape[-1:] for value in of), ()) for of in rows]
        return resolution(self.graph, a) == resolution(self.graph, b) and widths[0] == widths[1]

    def _run_alike(self, a: int, b: int, *, is_first: bool) -> bool:
        """Whether two calls run the same; the first turn may run more, which words tell, such as zeros for a state."""
        kinds = self.kinds
        if not is_first or kinds.structure[a] == kinds.structure[b]:
            return kinds.structure[a] == kinds.structure[b]
        has_place = kinds.places.matched(b, a)  # the first turn is drawn for what runs in the others
        if any(kinds.tree.n_ops[call] and call not in has_place for call in range(b, kinds.tree.end[b])):
            return False
        return kinds.of[a] == kinds.of[b] and kinds.in_words((a, b), kinds.models[kinds.of[a]]) is not None

    def _is_series(self, turns: Sequence[Sequence[Node]]) -> bool:
        """Whether each turn is wired like the first, reads the one before and the same of what is around."""
        place = {node.id: (i, k) for i, turn in enumerate(turns) for k, node in enumerate(turn)}
        inner, across, around = [], [], []
        for i, turn in enumerate(turns):
            reads = [(k, tail, place.get(tail)) for k, node in enumerate(turn) for tail in self.draft.tails[node.id]]
            inner.append({(at[1], k) for k, _, at in reads if at is not None and at[0] == i})
            across.append({(i - at[0], at[1], k) for k, _, at in reads if at is not None and at[0] != i})
            sources = [(k, self.draft.nodes[tail]) for k, tail, at in reads if at is None]
            lists = {it.id: without_numbers(it.name) for _, it in sources if it.kind == "input" and it.name}
            around.append({(k, lists.get(it.id, it.id)) for k, it in sources})  # entries of one list are one
            if i < len(turns) - 1 and self._leading_out(turns, i) != self._leading_out(turns, 0):
                return False
        if not self._leading_out(turns, 0) <= self._leading_out(turns, -1):
            return False
        same_inside = all(edges == inner[0] for edges in inner)
        same_steps = all(steps == across[1] for steps in across[1:]) and {step for step, _, _ in across[1]} == {1}
        same_steps &= all(tail >= head for _, tail, head in across[1])  # an edge back that leads forwards is none
        return same_inside and same_steps and all(reads == around[1] and reads <= around[0] for reads in around[1:])

    def _leading_out(self, turns: Sequence[Sequence[Node]], turn: int) -> set[tuple[int, int]]:
        """The places in a turn that something behind all turns reads, each with that."""
        inside = {node.id for nodes in turns for node in nodes}
        return {
            (k, head) for k, node in enumerate(turns[turn]) for head in self.draft.heads[node.id] if head not in inside
        }

    def are_beside(self, stretch: Sequence[Node], period: int) -> bool:
        """Whether no layer depends on an earlier turn: only a sum of what layers side by side give runs on."""
        before, turn = {node.id for node in stretch[:period]}, {node.id: node for node in stretch[period : 2 * period]}
        depending = {id_ for id_ in turn if not before.isdisjoint(self.draft.tails[id_])}
        for id_ in turn:  # in the order of the forward
            if not depending.isdisjoint(self.draft.tails[id_]):
                depending.add(id_)
        return not any(part.calls for id_ in depending for part in (turn[id_], *turn[id_].parts))


def merge_lists(draft: Draft) -> None:
    """Draws inputs that are entries of one list and that one node reads as one, and such outputs that one node gives.

    Two of different shapes, or of one tuple, say more apart.
    """
    groups: dict[tuple[str, str, frozenset[int]], list[tuple[Node, list[str]]]] = {}
    for node in draft.nodes.values():
        parts, joined = node.name.split("."), draft.heads if node.kind == "input" else draft.tails
        places = [i for i, part in enumerate(parts) if part.isdigit()]
        places = places if node.kind == "input" else places[-1:]  # of a result, parts of one tuple or list alone
        if node.kind in ("input", "output") and places and not node.differs:
            name = ".".join("#" if i in places else part for i, part in enumerate(parts))
            row = node, [parts[i] for i in places]
            groups.setdefault((node.kind, name, frozenset(joined[node.id])), []).append(row)
    for (_, name, others), rows in groups.items():
        group, ends = zip(*rows, strict=True)
        values = tuple(dict.fromkeys(value for node in group for value in node.values))
        are_alike = name != "#" and len({draft.graph.values[value].shape for value in values}) == 1
        if len(others) == 1 and len(group) > (1 if are_alike else 2):
            is_run = [*ends] == [[str(number)] for number in range(int(ends[0][0]), int(ends[0][0]) + len(ends))]
            several = f"{ends[0][0]}–{ends[-1][0]}" if is_run else "*"
            draft.merge([node.id for node in group], replace(group[0], values=values, name=name.replace("#", several)))
