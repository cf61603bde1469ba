"""A user's own look: what a styler is asked about, and the class that it may start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StyledNode:
    """A node or a box of a picture, as a styler sees it."""

    kind: str
    """What it is drawn as: `conv`, `linear`, `norm`, `act`, `pool`, `attention`, `io`, `op`, `block`, `data`, `link`;
    `box` for a layer that is drawn around others."""
    label: str
    """Its words, one or two lines."""
    path: str = ""
    """The path of the layer in the model, `layer1.0.conv1`; empty for the model, an op and a value."""
    cls: str = ""
    """The class of the layer with its module, `torch.nn.modules.conv.Conv2d`; empty for an op and a value."""
    op: str = ""
    """The full name of the operation, `torch.cat`; empty for a layer and a value."""
    params: int = 0
    """Number of parameters in the layer."""
    repeat: int = 1
    """The N of `×N`."""
    shape: tuple[int | str, ...] = ()
    """The shape of what it gives, as far as it is one tensor."""


class Styler:
    """Styles the nodes, boxes and edges of a picture. A subclass overrides what it wants to change.

    Both methods return attributes by Graphviz's names, as `GraphvizStyler` of torchrecorder 1.0.3 did; what is not
    named stays as the theme has it. Nodes and boxes take `label`, `fillcolor`, `color` (of the line), `fontcolor`,
    `penwidth` (points, up to 6) and `style` (`solid`, `dashed`, `dotted`); edges take `color`, `penwidth` and `style`.
    A colour is `#rrggbb` or a name such as `orange`. A styler need not be a subclass: one of the methods is enough.
    """

    def style_node(self, node: StyledNode) -> Mapping[str, object]:
        """The attributes of a node or box; none if it stays as it is."""
        return {}

    def style_edge(self, tail: StyledNode, head: StyledNode) -> Mapping[str, object]:
        """The attributes of the edge from one node to another; none if it stays as it is."""
        return {}


@dataclass(frozen=True, slots=True)
class StylerInput:
    nodes: tuple[StyledNode, ...]
    boxes: tuple[StyledNode, ...]
    edges: tuple[tuple[int, int], ...]
    """Positions of tail and head among the nodes."""

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> StylerInput:
        nodes, boxes = (
            tuple(StyledNode(**{**row, "shape": tuple(row["shape"])}) for row in data[name])
            for name in ("nodes", "boxes")
        )
        return StylerInput(nodes, boxes, tuple((tail, head) for tail, head in data["edges"]))


@dataclass(frozen=True, slots=True)
class StylerRequest:
    """A styler that is asked about pictures, as a worker gets it among requests for recordings."""

    target: str
    """The dotted name of the styler, perhaps with arguments."""
    pictures: tuple[StylerInput, ...]
    run, seed = "", 0
    """It runs no forward, and no random numbers are drawn for it."""

    def root_module(self) -> str:
        """Of no package that could be imported beforehand."""
        return ""

    def to_json(self) -> dict[str, Any]:
        return {"styler": self.target, "pictures": [asdict(picture) for picture in self.pictures]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> StylerRequest:
        return StylerRequest(data["styler"], tuple(map(StylerInput.from_json, data["pictures"])))
