"""What a picture shows of a Graph, as plain data: boxes, nodes in them, edges between nodes.

A View names things by their ids in its Graph, so a renderer finds every fact there and a View repeats none. Node ids
and box ids are positions, in the order in which things happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from torchrecorder.graph.model import Graph

NodeKind = Literal["input", "output", "call", "op", "function", "param", "buffer", "const", "gap", "from", "to"]
"""`function`: ops that ran in one function of the user's; `gap`: a stretch of what happened in a box, as one; `from`
and `to`: the ends of an edge that is cut."""
Repetition = Literal["series", "parallel", "shared", "loop"]
"""How calls that are drawn once follow one another: each reads the one before; all read the same; they are calls of one
module; they are, and each depends on the one before."""

Mark = Literal["added", "removed", "changed", "moved"]
"""What became of a thing from one Graph to another."""


CallName = tuple[str, int]
"""The module of a call, and which of its calls it is: ids of calls change where lists become calls."""


@dataclass(frozen=True, eq=False, slots=True)
class Marks:
    """Fates of the things of a Graph that holds two models, an old and a new one."""

    calls: Mapping[CallName, Mark]
    ops: Mapping[int, Mark]
    values: Mapping[int, Mark]
    """Of inputs, outputs and parameters, by id."""
    reads: Mapping[tuple[int, int], Mark]
    """By the ids of a value and of an op that reads it in one of the models only."""
    words: Mapping[CallName, str]
    """What is said of a call that has changed: `was 512→1000`."""


@dataclass(frozen=True, slots=True)
class Box:
    """A call whose inside is drawn; several if they are the same again and drawn once."""

    id: int
    parent: int | None
    """Id of the box around it; a parent has a smaller id."""
    calls: tuple[int, ...]
    """Ids of the calls it stands for, in order; its nodes are those of the first."""
    period: int = 1
    """How many kinds of calls take turns; if more than one, the box is around one call of each kind."""
    repetition: Repetition = "series"
    """How its calls follow one another, if they are several."""
    differs: tuple[str, ...] = ()
    """In what its calls differ from one another: `64→2`."""
    mark: Mark | None = None
    around: bool = False
    """Whether its calls stand in it as nodes or boxes: layers that take turns, or the turns of a loop. Any other box
    shows the inside of one call."""
    ops: tuple[int, ...] = ()
    """If it is around its calls: the ids of the ops that ran between them, turn by turn."""
    spans: tuple[Span, ...] = ()
    """`params` if its calls have other numbers of parameters in repeats of the boxes around it."""

    @property
    def repeat(self) -> int:
        """The N of `×N`."""
        return len(self.calls) // self.period


@dataclass(frozen=True, slots=True)
class Span:
    """A setting of a layer that is drawn once for several which do not share it."""

    name: str
    """As the layer's `extra_repr` names it, `dilation`; empty for the sizes before the named settings, `8, 16`, and for
    the names of ops; `class` and `params` for the classes of layers and their numbers of parameters."""
    values: tuple[str, ...]
    """In the order of the calls: that of each, or what is in them, classes and numbers of parameters, each once."""


@dataclass(frozen=True, slots=True)
class Node:
    """Thing without visible inside."""

    id: int
    kind: NodeKind
    box: int | None
    """Id of the innermost box it stands in; None for inputs and outputs."""
    calls: tuple[int, ...] = ()
    """For a call: the ids of the calls it stands for, in order."""
    op: int | None = None
    """For an op: its id. For a constant that ops made: the last of them."""
    values: tuple[int, ...] = ()
    """For an input, output, parameter, buffer or constant: the ids of its values."""
    name: str = ""
    """For those: its path or qualified name, as in the code. For parts that are all there is in a layer: its path."""
    links: tuple[int, ...] = ()
    """For `from` and `to`: the ids of the nodes at the other ends."""
    size: int = 1
    """For a gap: how many things it holds."""
    decides: bool = False
    """Whether the code went one way or another because of the numbers in what it gives."""
    ops: tuple[int, ...] = ()
    """For a function: the ids of the ops that ran in it. For a gap: those that it holds beside its calls. For a
    constant: those that made it."""
    parts: tuple[Node, ...] = ()
    """The nodes that are drawn as this one, in order, such as a convolution with its normalisation and activation;
    empty if it is drawn for itself. Its other fields are those of the part with the most parameters."""
    repetition: Repetition = "series"
    """How its calls follow one another, if they are several."""
    inset: str = ""
    """The letter of the inset that shows what is in it."""
    differs: tuple[str, ...] = ()
    """In what its calls differ from what the inset shows or from one another: `2 without downsample`."""
    unlike: tuple[str, ...] = ()
    """If it is closed: the letters of the insets that show other layers of its class."""
    mark: Mark | None = None
    spans: tuple[Span, ...] = ()
    """The settings in which the calls that it is drawn for differ, those in repeats of boxes around it included."""
    own: tuple[Span, ...] = ()
    """If an inset shows its inside, and gives a setting as a list: that of its own calls, once or in their order."""
    is_unsaid: bool = False
    """Whether no words say its settings, since the proof of what they said failed."""

    @property
    def repeat(self) -> int:
        """The N of `×N`."""
        is_row = self.kind == "op" and self.repetition == "parallel"
        return max(len(self.calls), 1) if self.kind == "call" else len(self.ops) if is_row else 1

    @property
    def own_ops(self) -> tuple[int, ...]:
        """Ids of its ops, but for those in its calls and parts."""
        return self.ops or (() if self.op is None else (self.op,))


@dataclass(frozen=True, slots=True)
class Edge:
    """Data that one node gives to another, drawn once however many values it is."""

    tail: int
    head: int
    value: int
    """Id of the value as the head reads it, after contracted changes of shape."""
    skip: bool = False
    """Whether it leads past at least one node: a residual, or a part of a side branch that ends in a sum."""
    mark: Mark | None = None
    back: bool = False
    """Whether the next turn of a loop reads it: then it leads from a node to one before it in the same loop, or to
    itself."""
    part: str = ""
    """Which part of what the tail gives it carries, if other readers get another: `2nd half`, `[:, 1:]`."""
    elsewhere: tuple[tuple[int, ...], ...] = ()
    """Ids of a value on its way and of those at its place, if these have other shapes: in other turns of a box that
    both ends are in, and in the other calls that an inset is for."""
    is_first: bool = False
    """Whether later turns of a box that it leads into read something else, such as what the turn before gives."""


def boxes_around(boxes: Sequence[Box], box: int | None) -> Iterator[Box]:
    """A box by its id, and those that it lies in, from the inside out; none for None."""
    while box is not None:
        yield boxes[box]
        box = boxes[box].parent


def in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """The edges by the ids of their ends."""
    return tuple(sorted(edges, key=lambda edge: (edge.tail, edge.head, edge.back)))


@dataclass(frozen=True, slots=True)
class View:
    """Contents of a picture."""

    graph: Graph
    boxes: tuple[Box, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...]
    """What a reader should know of the choice, such as a pattern that matches nothing."""
    depth: int
    """How many levels of calls are boxes; 0 if the whole is one node."""
    aside: tuple[int, ...] = ()
    """Values of inputs that are not drawn, because only masks, positions and shapes need them."""
    insets: tuple[Inset, ...] = ()
    """What is opened beside the picture, in the order of the letters."""
    left_out: tuple[int, ...] = ()
    """The ids of ops that no node stands for and that do more than change a shape; a note names them."""
    silent: frozenset[tuple[int, ...]] = frozenset()
    """The nodes whose formulas, and the edges, by both ends, whose shapes a proof refused: they are not said."""
    weakened: tuple[str, ...] = ()
    """What is drawn with less merging than was planned, since its proof failed, each with the reason."""


@dataclass(frozen=True, slots=True)
class Inset:
    """A kind of layer that is opened once, beside the picture in which it is closed."""

    letter: str
    """A, B, …: it stands at each node that the inset shows the inside of."""
    calls: tuple[int, ...]
    """Ids of all calls that are drawn with the letter, in order."""
    view: View
    """The inside of one of them, with ids of its own."""
