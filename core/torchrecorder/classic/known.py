"""The node of a tensor: known by the operation that made it or by identity, and forgotten when it is written to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from torchrecorder.nodes import TensorNode
from torchrecorder.running.torch_private import version_of


class Known:
    """Looks tensors up among the nodes of a recording. It does not hold the recorder, which would make a cycle.

    Args:
        nodes: The recorder's nodes, by recorded thing.
    """

    def __init__(self, nodes: Mapping[Any, Any]) -> None:
        self._nodes = nodes
        self._versions: dict[int, int] = {}

    def see(self, tensor: Tensor) -> None:
        """The tensor is a key of the nodes, as it is now."""
        self._versions[id(tensor)] = version_of(tensor)

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        nodes, grad_fn = self._nodes, tensor.grad_fn
        if grad_fn is not None and isinstance(node := nodes.get(grad_fn), TensorNode):
            return node
        seen = self._versions.get(id(tensor))
        node = nodes.get(tensor) if seen is not None and seen == version_of(tensor) else None
        return node if isinstance(node, TensorNode) else None

    def has(self, tensor: Tensor) -> bool:
        """Whether the tensor is a key of the nodes, written to or not."""
        return tensor in self._nodes
