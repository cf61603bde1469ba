"""What a picture opens: each kind of layer once, if it tells enough for the room it takes.

Best first: how much of the model a kind is, times how much its inside tells, twice if it is of the model's own code.
The more of that, the more nodes the picture may have. A layer that stands at one node is opened in place; one that
stands at several is opened beside the picture, as an inset with a letter.

Two things come into an inset where any of its calls gets two, though the call that is drawn gets one twice: attention
that is drawn as self-attention reads one tensor as query, key and value; where it stands for cross-attention too, the
inset has an entrance for each of what that gets, with the name of the argument.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from string import ascii_uppercase
from typing import NamedTuple

from torchrecorder.errors import listed
from torchrecorder.graph.model import Graph
from torchrecorder.view import tuning
from torchrecorder.view.model import Box, Inset, Node, View, boxes_around, in_order
from torchrecorder.view.node_kinds import SYMBOLS, plain
from torchrecorder.view.op_families import DROPOUTS
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.templates.interiors import Interior, Interiors
from torchrecorder.view.templates.words import Shown
from torchrecorder.view.tree import SEQUENTIAL


def view_size(view: View) -> int:
    """Nodes that a reader takes in: not ends of cut edges, which spare lines, nor those of insets, which are frames."""
    inside = (node.kind for inset in view.insets for node in inset.view.nodes)
    n = sum(kind not in ("from", "to", "input", "output") for kind in inside)
    return n + sum(node.kind not in ("from", "to") for node in view.nodes)


def is_whole(view: View) -> bool:
    """Whether a picture has room for all of a view."""
    nodes = [node for shown in (view, *(inset.view for inset in view.insets)) for node in shown.nodes]
    return view_size(view) <= tuning.WHOLE + room_of_signs(view.graph, nodes)


def room_of_signs(graph: Graph, nodes: Iterable[Node]) -> float:
    """What signs in circles, such as `+`, leave of the room of as many nodes."""
    alone = (node.op for node in nodes if node.kind == "op" and not node.parts)
    return tuning.SIGN * sum(op is not None and plain(graph.ops[op].name) in SYMBOLS for op in alone)


class Choice:
    def __init__(self, interiors: Interiors, root: int, *, beside: bool = True) -> None:
        self.interiors, self.kinds, self.root = interiors, interiors.kinds, root
        self.beside = beside
        """Whether layers are opened beside the picture, too."""
        self._most: dict[int, float] = {}
        """By kind the nodes that the picture may have at most if it is the last that was opened."""
        file = interiors.graph.modules[""].cls.rpartition(".")[0]
        self._home = file.rpartition(".")[0] or file
        self._package = file.partition(".")[0]
        self.opened: dict[int, Interior] = {}
        self.closed: list[int] = []
        """Kinds that would tell something, if there was room."""
        self._scores: dict[int, float] = {}
        self._apart: set[int] = set()
        """Kinds that are not to be opened in place, where the picture would be too wide."""
        self.hides_own = False
        """Whether a layer of the model's own is closed for want of room."""
        while (best := max(self._scored(), key=lambda scored: scored[0], default=None)) is not None:
            score, kind, interior, is_known_for = best
            wanted = tuning.ROOM + score * tuning.ROOM_OF_ALL * (tuning.OWN if is_known_for else 1)
            most = tuning.AUTO_NODES + score * tuning.BEYOND * is_known_for
            members = self.kinds.members[kind]
            self.opened[kind], self._scores[kind] = interior, score
            has_products = is_known_for and interiors.flops[interior.call] > 0
            is_mixing = is_known_for and interior.call in interiors.mixing
            if is_mixing and has_products and (len(members) > 1 or interiors.share(members) > tuning.LARGE_KIND):
                most = max(most, tuning.MIXED)  # neither a stem nor a head
            inside = (node for shown in self._shown() for node in shown.nodes)
            most = min(most, tuning.WHOLE) + is_mixing * room_of_signs(interiors.graph, inside)
            wanted = max(wanted, most) if has_products and len(interior.nodes) <= tuning.SMALL_INSIDE else wanted
            self._most[kind] = most
            if self._count() > min(most, wanted):
                self.closed.append(self.opened.popitem()[0])
                self.hides_own |= self._weight(interior.call) > 1

    def give_way(self, n: int) -> bool:
        """Show beside the picture what was opened last in place, then close what was; False if nothing is left.

        Two go beside it before any is closed: that costs no width, and a closed layer hides what it is for.
        """
        for i in range(n):
            if not self.opened:
                return False
            places, end = self._places()[0] if self.beside else {}, self.interiors.tree.end
            outer = {call for call in places if i == 0 or not any(at < call < end[at] for at in places)}
            kinds = {self.kinds.of[call] for call in outer}
            last = next((kind for kind in reversed(self.opened) if kind in kinds), None)
            if last is not None and (i < 2 or last == [*self.opened][-1]):
                self._apart.add(last)
            else:
                self.closed.append(self.opened.popitem()[0])
        return bool(self.opened)

    @property
    def score(self) -> float:
        """Sum of the scores of what is opened."""
        return sum(self._scores[kind] for kind in self.opened)

    def view(self) -> View:
        view = self._composed()
        while self.opened and view_size(view) > self._most[[*self.opened][-1]]:
            self.closed.append(self.opened.popitem()[0])
            view = self._composed()
        shown = (node for each in (view, *(inset.view for inset in view.insets)) for node in each.nodes)
        blocks = (n for n in shown if self.interiors.is_block(n) and not n.inset)
        closed = (n for n in blocks if self.kinds.of[n.calls[0]] in self.closed)
        modules = (self.interiors.tree.module(node.calls[0]) for node in closed)
        names = [*dict.fromkeys(it.cls.rpartition(".")[2] for it in modules if it and not it.native)]
        note = f"closed, because the picture is full: {listed(names, tuning.NAMED)}; expand opens them"
        return replace(view, notes=(*view.notes, note)) if names and self.beside else view

    def _composed(self) -> View:
        in_place, letters = self._places()
        whole = self.interiors.exactly(self.root).view
        overview = self._drawn(self.root, in_place, letters, whole)
        shown = {letter: self.opened[kind] for kind, letter in letters.items()}
        views = {letter: self._drawn(inside.call, in_place, letters, inside.view) for letter, inside in shown.items()}
        calls: defaultdict[str, set[int]] = defaultdict(set)
        for node, boxes in ((node, view.boxes) for view in (overview, *views.values()) for node in view.nodes):
            drawn = {shown[node.inset].call} if node.inset else set[int]()
            calls[node.inset].update(node.calls, drawn.intersection(self._in_repeats(node, boxes)))
        of_letter = {letter: tuple(sorted(calls[letter])) for letter in views if calls[letter]}
        visible = self.interiors.visible
        whole_of = {letter: with_entrances(views[letter], of, visible) for letter, of in of_letter.items()}
        overview, *inner = (self._with_one_for_several(view, whole_of) for view in (overview, *whole_of.values()))
        insets = (Inset(letter, of, view) for (letter, of), view in zip(of_letter.items(), inner, strict=True))
        return replace(overview, insets=tuple(insets))

    def _with_one_for_several(self, view: View, insets: Mapping[str, View]) -> View:
        """The view with what each node gets as one where its inset has two entrances: `memory is x`."""
        nodes = [*view.nodes]
        for node in (node for node in nodes if node.inset in insets):
            visible, calls = self.interiors.visible, self._in_repeats(node, view.boxes)
            said = [_as_one(insets[node.inset], call, visible) for call in calls]
            words = (text for text in said[0] if all(text in other for other in said))
            nodes[node.id] = replace(node, differs=(*node.differs, *words))
        return replace(view, nodes=tuple(nodes))

    def _scored(self) -> Iterator[tuple[float, int, Interior, bool]]:
        """Score, kind and inside of what may be opened, and whether the model may be known for it.

        That is what is the model's own and in the overview, or of its package and computes products.
        """
        nodes: defaultdict[int, list[Node]] = defaultdict(list)
        again: defaultdict[int, list[int]] = defaultdict(list)
        level: dict[int, int] = {}
        for node, depth, boxes in self._nodes():
            kind = self.kinds.of[node.calls[0]]
            if kind not in self.opened and kind not in self.closed:
                nodes[kind].append(node)
                again[kind] += self._in_repeats(node, boxes)
                level[kind] = min(depth, level.get(kind, depth))
        is_small = self._count() < tuning.ROOMY
        for kind, of_kind in nodes.items():
            calls = [call for node in of_kind for call in node.calls]
            interior = self.richest(again[kind])
            if len(interior.nodes) < 2 or (len(of_kind) > 1 and not self.beside):
                continue
            share = self.interiors.share([*self.kinds.members[kind], *self._elsewhere(calls)])
            information, weight = self._information(interior, share), self._weight(interior.call)
            is_first = self._is_own(interior.call) and not level[kind]
            enough = tuning.LEAST_INFORMATION if is_first else tuning.FULL_INFORMATION
            has_products = self.interiors.flops[interior.call] > 0 and self._is_own(interior.call, self._package)
            is_short = has_products and weight > 1 and len(interior.nodes) <= tuning.SHORT_LIST
            if information >= enough and has_products and interior.call in self.interiors.mixing:
                share = max(share, tuning.LEAST_SHARE)
            is_telling = information >= tuning.LEAST_INFORMATION - is_first
            if is_telling or is_short or (is_small and share > tuning.MOST):
                fullness = min(1.0, max(information, is_short) / tuning.FULL_INFORMATION)
                score = share * fullness * tuning.DEEPER ** level[kind]
                score *= (tuning.AT_SEVERAL_PLACES if len(of_kind) > 1 else 1) * weight
                yield score, kind, interior, (is_first and weight > 0) or has_products

    def _elsewhere(self, calls: Sequence[int]) -> Iterator[int]:
        """What stands at the places of calls in the repeats of the layer around them, of whatever kind it is."""
        runs = [node.calls for interior in self._shown() for node in interior.nodes if len(node.calls) > 1]
        for around in (interior.call for interior in self.opened.values()):
            inside = range(around + 1, self.interiors.tree.end[around])
            others = next((run for run in runs if around in run), ())
            for call in (call for call in calls if call in inside):
                places = (self.interiors.visible.places.call(call, around, other) for other in others)
                yield from (place for place in places if place is not None)

    def _information(self, interior: Interior, share: float) -> int:
        """How much an inside tells; of a large part of the model, what is in its own layers counts too."""
        is_more = interior.is_chain and self._is_own(interior.call)
        return max([interior.information + is_more, self._deeper(interior) if share > tuning.LARGE_KIND else 0])

    def _deeper(self, interior: Interior) -> int:
        """What tells most in the layers of an inside and in theirs, less one for each layer around it."""
        inside = (self.interiors.of(node.calls[0]) for node in interior.nodes if self.interiors.is_block(node))
        return max((max(inner.information, self._deeper(inner)) - 1 for inner in inside), default=0)

    def _weight(self, call: int) -> float:
        """Factor on the score of a layer: more if the model is named for it, none without parameters or products."""
        module = self.interiors.tree.module(call)
        if module is not None and not module.params.total and not self.interiors.flops[call]:  # an activation
            return 0.0
        return tuning.OWN if self._is_own(call) else 1.0

    def _is_own(self, call: int, home: str = "") -> bool:
        """Whether a layer is of the model's own code: its class is defined in the folder that the model's is."""
        module = self.interiors.tree.module(call)
        return module is not None and not module.native and module.cls.startswith(f"{home or self._home}.")

    def richest(self, calls: list[int]) -> Interior:
        """The interior of the call that shows most: of the model of its kind, if it is among them."""
        model, structure = self.kinds.models[self.kinds.of[calls[0]]], self.kinds.structure
        alike = [call for call in calls if structure[call] == structure[model]] or calls
        return self.interiors.exactly(model if model in alike else alike[0])

    def _shown(self) -> list[Interior]:
        return [self.interiors.exactly(self.root), *self.opened.values()]

    def _nodes(self) -> Iterator[tuple[Node, int, Sequence[Box]]]:
        """Nodes of all interiors whose layers may be opened, each with how deep it lies and all boxes beside it."""
        level: dict[int, int] = {}
        for interior in self._shown():
            depth = level.get(self.kinds.of[interior.call], 0)
            for node in interior.nodes:
                if self.interiors.is_block(node):
                    level.setdefault(self.kinds.of[node.calls[0]], depth + 1)
                    yield node, depth, interior.view.boxes

    def _count(self) -> int:
        uses = self._uses()
        overview = self.interiors.exactly(self.root).view
        ends = sum(node.kind in ("input", "output") for node in overview.nodes)
        return ends + sum(len(interior.nodes) for interior in self._shown()) - sum(uses[k] == 1 for k in self.opened)

    def _uses(self) -> Counter[int]:
        return Counter(self.kinds.of[node.calls[0]] for node, _, _ in self._nodes())

    def _places(self) -> tuple[dict[int, tuple[int, ...]], dict[int, str]]:
        """By first call what is opened in place, and the letters of the other kinds, in the order of the picture."""
        uses, in_place = self._uses(), dict[int, tuple[int, ...]]()
        letters: dict[int, str] = {}
        for interior in self._shown():
            for node in interior.nodes:
                kind = self.kinds.of[node.calls[0]] if self.interiors.is_block(node) else -1
                if kind not in self.opened or kind in letters:
                    continue
                is_first = self.opened[kind].call == node.calls[0]
                # one of those that take turns is drawn for calls that are not at its node
                is_alone = uses[kind] == 1 and node.box == 0 and node.repetition == "series"
                is_alone &= kind not in self._apart
                # in a box ×N the proof asks for what goes from one to the next; an inset shows one of them
                is_alone &= len(node.calls) == 1 or self.interiors.visible.strict.isdisjoint(node.calls)
                if is_alone and is_first:
                    in_place[node.calls[0]] = node.calls
                elif self.beside:
                    letters[kind] = ascii_uppercase[len(letters)]
        return in_place, letters

    def _drawn(self, call: int, in_place: dict[int, tuple[int, ...]], letters: dict[int, str], known: View) -> View:
        inside = range(call + 1, self.interiors.tree.end[call])
        boxes = {first: calls for first, calls in in_place.items() if first in inside}
        view = self.interiors.view(call, boxes) if boxes else known
        nodes = tuple(self._lettered(node, letters, view.boxes) for node in view.nodes)
        said: list[Sequence[str]] = []
        for box in view.boxes:  # what the layers around it differ in is said there
            is_said = any(said[around.id] for around in boxes_around(view.boxes, box.parent))
            words = () if box.around or is_said else self.kinds.in_words(box.calls, box.calls[0])
            said.append(words or ())
        marked = (replace(box, differs=(*own, *box.differs)) for box, own in zip(view.boxes, said, strict=True))
        return replace(view, nodes=nodes, boxes=tuple(marked))

    def _lettered(self, node: Node, letters: dict[int, str], boxes: Sequence[Box]) -> Node:
        """A node with the letter of its kind, unless too much is different in it, and what differs.

        A reader would take a closed one for what an inset of its class shows, so that it is said to be unlike that, as
        is a Sequential with such a layer in it.
        """
        tree = self.interiors.tree
        if node.kind != "call" or node.parts:
            return node
        in_rows = (at for call in node.calls if tree.cls(call) == SEQUENTIAL for at in tree.children[call])
        named = (*node.calls, *in_rows)
        others = tuple(letters[it] for it in letters if self._are_unlike(named, self.opened[it].call))
        if not self.interiors.is_block(node):
            return replace(node, unlike=others)
        kind, calls = self.kinds.of[node.calls[0]], self._in_repeats(node, boxes)
        unlike = [it for it in letters if it != kind and self._are_unlike(node.calls, self.opened[it].call)]
        for it in (*(it for it in letters if it == kind), *unlike):
            inside = self.opened[it]
            shown, is_series = self._shown_in(inside), node.repetition == "series" and len(calls) == len(node.calls)
            if (words := self.kinds.in_words(calls, inside.call, shown, is_series=is_series)) is not None:
                return replace(node, inset=letters[it], differs=(*words, *node.differs))
        words = self.kinds.in_words(node.calls, node.calls[0]) or []
        return replace(node, unlike=others, differs=(*words, *node.differs))

    def _are_unlike(self, calls: Sequence[int], call: int) -> bool:
        """Whether other ops run in those of some calls that are of the class of one than in that.

        Else they are apart for want of a proof alone.
        """
        tree, rows, moves = self.interiors.tree, self.interiors.graph.ops, self.interiors.visible.contracted
        module, alike = tree.module(call), [at for at in calls if tree.cls(at) == tree.cls(call)]
        ran, *others = ([rows[op].name for op in tree.all_ops_of(at) if not moves[op]] for at in (call, *alike))
        return module is not None and not module.native and bool(others) and ran not in others

    def _shown_in(self, inside: Interior) -> Shown:
        """The layers that an inset shows closed, those that it shows at others, and dropouts that are nodes."""
        blocks = (node for node in inside.nodes if self.interiors.is_block(node))
        closed = (c for node in blocks for c in node.calls if self.kinds.of[c] not in self.opened)
        lines = ((() if node.name else node.calls, node.parts) for node in inside.nodes)  # a name is of what is around
        parts = (c for calls, of_node in lines for part in of_node for c in part.calls if c not in calls)
        alone = (node.calls[0] for node in inside.nodes if node.kind == "call" and not node.parts)
        idle = (c for c in alone if self.interiors.tree.cls(c).rpartition(".")[2] in DROPOUTS)
        return frozenset(closed), frozenset(parts), frozenset(idle)

    def _in_repeats(self, node: Node, boxes: Sequence[Box]) -> list[int]:
        calls = [*node.calls]
        end, places = self.interiors.tree.end, self.interiors.visible.places
        for box in boxes_around(boxes, node.box):
            known = [*calls]
            for i, other in enumerate(box.calls[box.period :]):
                first = box.calls[i % box.period]
                here = (places.call(call, first, other) for call in known if first <= call < end[first])
                calls += [call for call in here if call is not None]
        return calls


_Read = tuple[int, int]
"""An op of the call that is drawn, and which of the things that it gets from outside."""


class _Placed(NamedTuple):
    """What a call reads from outside, by the ops at their places in the call that is drawn."""

    call: int
    reads: dict[int, list[int]]

    def value(self, read: _Read, n: int) -> int | None:
        """What the op reads as one of `n` things, which may all be one."""
        values = self.reads.get(read[0], [])
        return values[read[1]] if len(values) == n else values[0] if len(values) == 1 else None


def with_entrances(view: View, calls: Sequence[int], visible: Visibility) -> View:
    """The inside of a call, each of whose inputs is one thing in all of the calls that it stands for."""
    root = view.boxes[0].calls[0]
    others = [_placed(call, root, visible) for call in calls if call != root]
    own = _Placed(root, _reads(root, visible) if others else {})
    slots = {op: max(len(placed.reads.get(op, ())) for placed in (own, *others)) for op in own.reads}
    reader = _readers(view, visible)
    for source in reversed(view.nodes):  # ids of those before one stay as they are
        if source.kind != "input" or len(source.values) != 1:
            continue
        heads = {edge.head for edge in view.edges if edge.tail == source.id}
        reads = ((op, i) for op, n in slots.items() for i in range(n) if reader.get(op) in heads)
        here = [read for read in reads if own.value(read, slots[read[0]]) in source.values]
        groups = _apart(here, others, slots)
        if len(groups) > 1:
            names = _named(source, groups, others, slots, visible)
            parted = [(name, {reader[op] for op, _ in group}) for name, group in zip(names, groups, strict=True)]
            view, more = _parted(view, source, parted), len(groups) - 1
            reader = {op: node if node <= source.id else node + more for op, node in reader.items()}
    return view


def _as_one(view: View, call: int, visible: Visibility) -> list[str]:
    """Pairs of entrances of an inset that are one thing in a call."""
    root, entrances = view.boxes[0].calls[0], [node for node in view.nodes if node.kind == "input"]
    if len(entrances) < 2:
        return []
    there, own = _placed(call, root, visible), _reads(root, visible)
    reader, got = _readers(view, visible), dict[str, set[int | None]]()
    for source in entrances:
        heads = {edge.head for edge in view.edges if edge.tail == source.id}
        reads = ((op, i) for op in own if reader.get(op) in heads for i in range(len(own[op])))
        here = (read for read in reads if own[read[0]][read[1]] in source.values)
        got[source.name] = {there.value(read, len(own[read[0]])) for read in here} - {None}
    return [f"{b} is {a}" for a, b in combinations(got, 2) if got[a] == got[b] and len(got[a]) == 1]


def _placed(call: int, root: int, visible: Visibility) -> _Placed:
    placed = ((visible.places.op(op, call, root), values) for op, values in _reads(call, visible).items())
    return _Placed(call, {op: values for op, values in placed if op is not None})


def _readers(view: View, visible: Visibility) -> dict[int, int]:
    """By op the node that shows it."""
    return {op: node.id for node in view.nodes for part in node.parts or (node,) for op in visible.facts.ops_of(part)}


def _reads(call: int, visible: Visibility) -> dict[int, list[int]]:
    """Data from outside that each op in a call reads, as it was before changes of shape."""
    graph, inside, origin = visible.graph, {*visible.tree.all_ops_of(call)}, dict[int, int]()
    given = {*graph.calls[call].inputs.values()}
    reads: dict[int, list[int]] = {}
    for id_ in sorted(inside):
        op, handed = graph.ops[id_], visible.handed[id_]
        if handed is not None:
            origin.update(dict.fromkeys(op.outputs, origin.get(handed, handed)))
            continue
        rows = (graph.values[origin.get(value, value)] for value in op.inputs)
        outside = (row.id for row in rows if row.id in given or (row.kind == "op" and row.producer not in inside))
        if data := [value for value in dict.fromkeys(outside) if value not in visible.facts.aside]:
            reads[id_] = data
    return reads


def _apart(reads: Sequence[_Read], others: Sequence[_Placed], slots: Mapping[int, int]) -> list[list[_Read]]:
    """The reads of one value in groups, in none of which any call reads two."""
    groups: list[list[_Read]] = []
    known = {read: [placed.value(read, slots[read[0]]) for placed in others] for read in reads}
    for read in reads:
        for group in groups:
            pairs = (pair for other in group for pair in zip(known[read], known[other], strict=True))
            if all(a is None or b is None or a == b for a, b in pairs):
                group.append(read)
                break
        else:
            groups.append([read])
    return groups


def _named(
    source: Node,
    groups: Sequence[Sequence[_Read]],
    others: Sequence[_Placed],
    slots: Mapping[int, int],
    visible: Visibility,
) -> list[str]:
    """Arguments of a call that gets each of the groups as another one; else the name of the source with numbers."""
    for placed in others:
        paths = {value: path for path, value in reversed([*visible.graph.calls[placed.call].inputs.items()])}
        values = ((placed.value(read, slots[read[0]]) for read in group) for group in groups)
        names = [next((paths.get(v, "") for v in of_group if v is not None), "") for of_group in values]
        if all(names) and len({*names}) == len(groups):
            return names
    return [f"{source.name} {i + 1}".strip() for i in range(len(groups))]


def _parted(view: View, source: Node, groups: Sequence[tuple[str, set[int]]]) -> View:
    """The view with an input as several, each with its name and what reads it."""
    new = [node.id if node.id <= source.id else node.id + len(groups) - 1 for node in view.nodes]
    nodes: list[Node] = []
    for node in view.nodes:
        parts = tuple(replace(part, id=new[node.id]) for part in node.parts)
        nodes.append(replace(node, id=new[node.id], parts=parts, links=tuple(new[link] for link in node.links)))
    inputs = (replace(source, id=source.id + i, name=name) for i, (name, _) in enumerate(groups))
    nodes[source.id : source.id + 1] = inputs
    edges = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in view.edges if edge.tail != source.id]
    for edge in view.edges:
        if edge.tail == source.id:
            tails = [i for i, (_, heads) in enumerate(groups) if edge.head in heads] or [0]
            edges += [replace(edge, tail=source.id + i, head=new[edge.head]) for i in tails]
    return replace(view, nodes=tuple(nodes), edges=in_order(edges))
