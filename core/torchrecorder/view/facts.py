"""Facts of a whole Graph that the steps to what readers see ask for, worked out once for all its views."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

from torchrecorder.graph.model import Graph, Op
from torchrecorder.view import tuning
from torchrecorder.view.model import Node
from torchrecorder.view.node_kinds import NodeKinds, plain
from torchrecorder.view.op_families import EXCHANGES, IDEAS, JOINS, RANDOM, SHAPED_LIKE, SHAPING
from torchrecorder.view.tree import CallTree

_NO_FEATURES = ("int", "uint", "bool")


class Facts:
    def __init__(self, tree: CallTree) -> None:
        self.tree, self.graph = tree, tree.graph
        self.apart: frozenset[int] = frozenset()
        """The calls that a reader asked to draw each for itself."""
        self.together: frozenset[int] = frozenset()
        """Those to draw once for all that have their place."""

    @cached_property
    def kinds(self) -> NodeKinds:
        return NodeKinds(self.graph)

    @cached_property
    def aside(self) -> set[int]:
        """The values that only shapes, masks and positions are made of."""
        graph = self.graph
        aside = {value.id for value in graph.values if value.kind in ("const", "buffer")}
        aside |= {value.id for value in graph.values if value.kind == "input" and is_no_feature(graph, value.id)}
        aside = self._with_made_of(aside)
        return aside - self._joined(aside)

    def _joined(self, aside: set[int]) -> set[int]:
        """Values of inputs, and made of them, that are put beside features, as the number of an action may be."""
        graph, fed = self.graph, self.fed
        joins = (op.inputs for op in graph.ops if op.name in JOINS and not aside.issuperset(op.inputs))
        joined, pending = set[int](), [value for inputs in joins for value in inputs if value in aside & fed]
        while pending:
            if (value := pending.pop()) not in joined:
                joined.add(value)
                producer = graph.values[value].producer
                made_of = () if producer is None else graph.ops[producer].inputs
                pending += [read for read in made_of if read in aside & fed]
        return joined

    @cached_property
    def fed(self) -> set[int]:
        """The inputs, and the values that numbers in them have a part in."""
        fed = {value.id for value in self.graph.values if value.kind == "input"}
        for op in self.graph.ops:
            if not fed.isdisjoint(op.inputs) and op.name not in SHAPED_LIKE:
                fed.update(op.outputs)
        return fed

    @cached_property
    def blank(self) -> set[int]:
        """Values without any data, such as `new_zeros`: shapes and constants of the code decide them."""
        return self._with_made_of({value.id for value in self.graph.values if value.kind == "const"})

    def _with_made_of(self, values: set[int]) -> set[int]:
        """The values, and what ops make of nothing but those; of the other argument of `expand_as` it is the shape."""
        for op in self.graph.ops:
            data = op.inputs[:1] if op.name in SHAPING else op.inputs
            if (op.name in SHAPED_LIKE or values.issuperset(data)) and not op.name.startswith(RANDOM):
                values.update(op.outputs)
        return values

    def states(self, call: int) -> set[int]:
        """Values that a call gets where another call of its layer gets features: zeros, before the first step."""
        row = self.graph.calls[call]
        others = [other.inputs for other in self.graph.calls if call and other.module == row.module]
        given = (item for item in row.inputs.items() if item[1] in self.aside)
        return {value for path, value in given if any(it.get(path, value) not in self.aside for it in others)}

    @cached_property
    def opaque(self) -> set[int]:
        """The frames in which no layer with parameters is called."""
        return self._frames_without(self.tree.n_params)

    @cached_property
    def telling(self) -> set[int]:
        """The frames of some ops that weigh, gate or gather; of fewer a node says the formula."""
        sizes, rows = range(tuning.LARGE_PATCH + 1, tuning.LARGE_FUNCTION + 1), self.graph.ops
        few = {frame: ops for frame, ops in self.ran_in.items() if len(ops) in sizes}
        return {frame for frame, ops in few.items() if any(plain(rows[op].name) in IDEAS for op in ops)}

    @cached_property
    def light(self) -> set[int]:
        """The frames in which no layer with parameters is called but normalisations."""
        return self._frames_without(lambda call: self.tree.n_params(call) and self.kinds.of_call(call) != "norm")

    def _frames_without(self, is_heavy: Callable[[int], object]) -> set[int]:
        graph = self.graph
        frames = {frame.id for frame in graph.frames}
        for call in graph.calls:
            if call.frame is not None and (self.tree.module(call.id) is None or is_heavy(call.id)):
                frames.difference_update(frames_around(graph, call.frame))
        return frames

    @cached_property
    def ran_in(self) -> dict[int, list[int]]:
        """By frame the ops that ran in it, and in functions and layers that it called."""
        ran_in = dict[int, list[int]]()
        for op in self.graph.ops:
            for frame in frames_of(self.graph, op):
                ran_in.setdefault(frame, []).append(op.id)
        return ran_in

    def ops_of(self, node: Node) -> list[int]:
        return [op for call in node.calls for op in self.tree.all_ops_of(call)] + [*node.own_ops]


def is_no_feature(graph: Graph, value: int) -> bool:
    meta = graph.values[value].meta
    return meta is not None and meta.dtype.startswith(_NO_FEATURES)


def sizes(graph: Graph, value: int) -> list[int]:
    """Sizes of its axes, but for those of one and those that are known by name alone."""
    return [size for size in graph.values[value].shape if isinstance(size, int) and size != 1]


def regroups(graph: Graph, op: Op) -> bool:
    """Whether an op makes axes that are neither parts of those before nor several of them: of 6×12 those of 12×6."""
    ends = (*op.inputs[:1], *op.outputs[:1]) if op.name in SHAPING - EXCHANGES else ()
    shapes = [sizes(graph, value) for value in ends]
    bounds = [{*accumulate(reversed(shape), mul)} for shape in shapes]
    return len(ends) == 2 and prod(shapes[0]) == prod(shapes[1]) and not any(a <= b for a, b in (bounds, bounds[::-1]))


def cuts_across(graph: Graph, op: Op, taker: Op, *, is_inner: bool) -> bool:
    """Whether an op takes a stretch of an axis, which another makes of several, and no whole rows of these.

    A crop of several axes, of what was padded, tells itself where it is in a function that does more.
    """
    ends = [graph.values[value].shape for value in (op.inputs[0], taker.inputs[0], taker.outputs[0])]
    is_shaping = op.name in SHAPING - EXCHANGES and not any(isinstance(n, str) for shape in ends for n in shape)
    cut = [text for text in taker.attrs.get("1", "").split(", ") if any(map(str.isdigit, text))]
    if not is_shaping or len(ends[1]) != len(ends[2]) or (is_inner and len(cut) > 1):
        return False
    before, whole, taken = ([n for n in shape if isinstance(n, int)] for shape in ends)
    axis = next((i for i, (a, b) in enumerate(zip(whole, taken, strict=True)) if a != b), None)
    if axis is None:
        return False
    inner, outer = prod(whole[axis + 1 :]), prod(whole[axis:])
    rows = [size for size in accumulate(reversed(before), mul) if inner < size < outer]
    return bool(rows) and taken[axis] * inner % rows[-1] != 0


def readers_of(graph: Graph) -> dict[int, list[Op]]:
    """By tensor the ops that read it, once for each time."""
    readers: dict[int, list[Op]] = {}
    for op in graph.ops:
        for value in op.inputs:
            readers.setdefault(value, []).append(op)
    return readers


def frames_around(graph: Graph, frame: int | None) -> list[int]:
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = graph.frames[frame].parent
    return frames


def frames_of(graph: Graph, op: Op) -> set[int]:
    """The functions that an op ran in, those around the layers that it lies in included."""
    frames = (op.frame, *(call.frame for call in graph.around(op.call)))
    return {at for frame in frames for at in frames_around(graph, frame)}
