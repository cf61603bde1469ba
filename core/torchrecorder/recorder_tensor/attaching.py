"""Keeping the nodes of a tensor right while modules are entered and left.

A tensor holds a stack of nodes: its own, and one auxiliary node for each module, from the outermost, that is being run
with it. The last is the one that an operation on the tensor follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchrecorder.recorder_tensor.computation_node import FunctionNode, ModuleNode, TensorNode
from torchrecorder.recorder_tensor.ordered_set import OrderedSet

if TYPE_CHECKING:
    from torchrecorder.recorder_tensor.tensor import RecorderTensor


def tensor_name(depth: int, shallow: str = "output-tensor") -> str:
    """What the node of a tensor is called: on level 0, `shallow`; below, a hidden tensor."""
    return shallow if depth == 0 else "hidden-tensor"


def attach_node(
    kwargs: dict[str, Any], tensor_to_node: dict[RecorderTensor, TensorNode] | None = None
) -> Callable[..., Any]:
    """The function that gives a tensor a new node, which is a child of `kwargs["parents"]`.

    Under a ModuleNode the tensor, an input, gets one node more. Under a FunctionNode the tensor is an output: the new
    node is its first or, if the function worked in place, replaces its last.

    Args:
        kwargs: Arguments of `TensorNode`; `is_aux`, `parents`, `depth` and `context` must be there. The list
            `kwargs["context"]` gets the new node, as does `kwargs` itself a `main_node`.
        tensor_to_node: For auxiliary nodes, the node that each tensor's stands for.

    Raises:
        KeyError: (the function) An argument that must be there is not.
        AssertionError: (the function) The parent is neither of the two, or a tensor that enters a module has no nodes.
    """

    def _func(recorded_tensor: RecorderTensor) -> None:
        if kwargs["is_aux"] and tensor_to_node is not None:
            kwargs["main_node"] = tensor_to_node.get(recorded_tensor)
        node = TensorNode(recorded_tensor, **{key: value for key, value in kwargs.items() if key != "tensor_to_node"})
        parent = kwargs["parents"]
        if not isinstance(parent, (FunctionNode, ModuleNode)):
            raise AssertionError(f"Node {parent} to which to attach must be eitherFunctionNode or ModuleNode")
        _push(recorded_tensor, node, parent)
        kwargs["context"].append(node)
        parent.add_child(node)

    return _func


def _push(recorded_tensor: RecorderTensor, node: TensorNode, parent: FunctionNode | ModuleNode) -> None:
    nodes = getattr(recorded_tensor, "tensor_nodes", None)
    if isinstance(parent, ModuleNode):
        if nodes is None:
            raise AssertionError(f"RecorderTensor to be attached to the Node{parent} must have tensor node")
        nodes.append(node)
    elif nodes:
        nodes[-1] = node
    else:
        recorded_tensor.tensor_nodes = [node]


def pop_after_forward(r_in: RecorderTensor, recorded_output: OrderedSet[RecorderTensor]) -> None:
    """Take the node of a module that has been left from a tensor it was called with.

    If the module returned the tensor (it worked in place), the last node is the output's, and the one below it goes.
    Otherwise the last goes.

    Raises:
        AssertionError: The tensor is an output, but its last two nodes are not of one tensor.
    """
    nodes = r_in.tensor_nodes
    # Not `in`: of a list, it would compare the numbers of tensors.
    if any(r_in is tensor for tensor in recorded_output):
        if not id(r_in) == nodes[-1].tensor_id == nodes[-2].tensor_id:
            raise AssertionError("Tensor before and after inplace operation must have the same memory address")
        del nodes[-2]
    elif nodes:
        nodes.pop()


def process_output_node(cur_node: ModuleNode) -> Callable[..., Any]:
    """The function that makes the last node of a tensor an output of the module.

    The node rises to the module's depth. If the module returned its argument untouched, or used the output further
    inside, a hidden `empty-pass` and a node of its own come in between.
    """

    def _func(recorded_data: RecorderTensor) -> None:
        last = recorded_data.tensor_nodes[-1]
        if last.is_aux or not last.is_leaf():
            insert_empty_pass_node(recorded_data, last)
        node = recorded_data.tensor_nodes[-1]
        node.depth = cur_node.depth
        node.name = tensor_name(cur_node.depth)
        node.parent_hierarchy[cur_node.depth] = cur_node

    return _func


def _empty_pass() -> None:
    """The function that an `empty-pass` node is a call of."""


def insert_empty_pass_node(recorded_tensor: RecorderTensor, out_node: TensorNode) -> None:
    """Put `empty-pass` and then a new node of the tensor after `out_node`; the new node becomes the tensor's last."""
    empty = FunctionNode(_empty_pass, out_node.depth, out_node, name="empty-pass")
    out_node.add_child(empty)
    out_node.context.append(empty)
    passed = TensorNode(
        recorded_tensor,
        out_node.depth,
        parents=empty,
        context=out_node.context,
        parent_hierarchy={recorded_tensor.tensor_nodes[-1].depth: empty},
        collect_attributes=out_node.collect_attributes,
    )
    empty.add_child(passed)
    out_node.context.append(passed)
    recorded_tensor.tensor_nodes.append(passed)
