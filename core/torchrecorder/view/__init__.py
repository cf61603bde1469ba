"""From a Graph to what one picture of it shows: which calls are boxes, which are nodes, what is drawn once for many.

A View is made in this order:

1. `entries` gives lists of lists of layers a call for each entry, as if the list had a forward.
2. `plan.visibility` says of each call and op whether the options let it be a box, a node, or nothing.
3. `templates` chooses which kinds of layers are opened; a depth other than `auto` opens all calls down to it.
4. `plan` places boxes and nodes, with loops and repeats as one thing, and joins them (`plan.reads`, `plan.edges`).
5. `simplified` edits this Draft: what is aside goes, and what readers take for one thing becomes one node.
6. `templates.series` folds what follows one another in it, for `depth: auto`. Then it is numbered, and a View.
7. `skips` marks the edges that lead past others and cuts those that lead too far.
8. `select` notes what is not drawn, `differences` in what layers differ that are drawn as one, and `marked` fates.

Words of the room, beside those of the glossary:

- *aside*: made of constants, masks, positions and shapes alone, so it carries no features.
- *contracted*: of an op, drawn as an edge, since it only gives data another shape, type or place.
- *solid*: of a call, with ops whose ids are consecutive.
- *run*: calls that are drawn once; *turn*: what a loop, or layers in a list, repeat; *period*: the length of a turn.
- *kind*: calls of a class with nearly the same in them; *structure*: calls of a kind that run the same ops.
- *patch*: ops without parameters that are drawn as one; *column*: one of several equal chains side by side.
- *interior*: what is in a call, each layer closed; *inset*: an interior that is drawn beside the picture.
- *spine*: from a node the way back along its main data; a skip leads past a stretch of it.
- *strict*: of a call, drawn once with its exact equals only, since a proof failed.

The numbers in all of this are in `tuning`.
"""

from torchrecorder.view.model import Box, Edge, Inset, Mark, Marks, Node, NodeKind, Repetition, Span, View
from torchrecorder.view.select import Views, make_view
from torchrecorder.view.tuning import AUTO_NODES

__all__ = [
    "AUTO_NODES",
    "Box",
    "Edge",
    "Inset",
    "Mark",
    "Marks",
    "Node",
    "NodeKind",
    "Repetition",
    "Span",
    "View",
    "Views",
    "make_view",
]
