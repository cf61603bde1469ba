"""The collectors: what `reduce_data_info` may do with each recorded tensor it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrecorder.recorder_tensor.computation_node import NodeContainer, TensorNode, shape_of
from torchrecorder.recorder_tensor.ordered_set import OrderedSet

if TYPE_CHECKING:
    from torchrecorder.recorder_tensor.tensor import RecorderTensor


def collect_tensor_node(
    recorded_data: RecorderTensor, collected: NodeContainer[TensorNode], is_pop: bool = False
) -> None:
    """Add the newest node of a tensor; with `is_pop`, also take it from the tensor.

    A tensor without nodes, which did not come from an input, adds nothing.
    """
    nodes = getattr(recorded_data, "tensor_nodes", None)
    if nodes:
        collected.add(nodes.pop() if is_pop else nodes[-1])


def collect_tensor(recorded_data: RecorderTensor, collected: OrderedSet[RecorderTensor]) -> None:
    """Add the tensor itself."""
    collected.add(recorded_data)


def collect_shape(recorded_data: RecorderTensor, collected: list[tuple[int, ...]]) -> None:
    """Append the shape of the tensor, the batch included."""
    collected.append(shape_of(recorded_data))


def collect_tensor_node_id_dict(recorded_data: RecorderTensor, collected: dict[RecorderTensor, TensorNode]) -> None:
    """Map the tensor to the node that its newest node stands for."""
    nodes = getattr(recorded_data, "tensor_nodes", None)
    if nodes:
        collected[recorded_data] = nodes[-1].main_node
