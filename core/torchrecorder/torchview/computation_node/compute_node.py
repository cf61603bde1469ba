"""The three kinds of nodes: tensors, calls of modules and calls of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Tuple  # noqa: UP035 - the signatures are torchview's, to the letter

import torch
from torch import nn

from torchrecorder.torchview.computation_node.base_node import Node, NodeContainer
from torchrecorder.torchview.utils import is_generator_empty, shape_of

__all__ = ["FunctionNode", "ModuleNode", "TensorNode"]


class TensorNode(Node):
    """A tensor, or the stand-in for one inside a module that was called with it.

    Args:
        tensor: The tensor; it is not kept.
        depth: Level in the hierarchy of modules; the model's inputs and outputs are on level 0.
        parents: The call it comes from.
        children: The calls it is given to.
        name: `input-tensor`, `hidden-tensor`, `output-tensor` or `auxiliary-tensor` in a recording.
        context: The list of nodes, in order of execution, that it is in.
        is_aux: Whether it is such a stand-in.
        main_node: The node it stands in for.
        parent_hierarchy: For each depth, the node whose output it is there.
        collect_attributes: Whether the nodes that come from it describe themselves.

    Attributes:
        tensor_id: `id()` of the tensor.
        tensor_shape: Its shape with all axes, the batch included, such as `(batch, channels, height, width)`.
        main_node: As given; else the node itself.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import TensorNode
        >>> node = TensorNode(torch.ones(1, 3, 8, 8), depth=0, name="input-tensor")
        >>> node.name, node.tensor_shape, node.is_root()
        ('input-tensor', (1, 3, 8, 8), True)
    """

    def __init__(
        self,
        tensor: torch.Tensor,
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "tensor",
        context: Any | None = None,
        is_aux: bool = False,
        main_node: TensorNode | None = None,
        parent_hierarchy: dict[int, ModuleNode | FunctionNode] | None = None,
        collect_attributes: bool = False,
    ):
        super().__init__(depth, parents, children, name)
        self.tensor_id = id(tensor)
        self.tensor_shape = shape_of(tensor)
        self.is_aux = is_aux
        self.main_node = self if main_node is None else main_node
        self.context: Any = [] if context is None else context
        self.parent_hierarchy = {} if parent_hierarchy is None else parent_hierarchy
        self.collect_attributes = collect_attributes
        self.set_node_id()

    def set_node_id(self, children_id: int | str | None = None) -> None:
        """Give the node its id; a stand-in has that of its main node.

        Args:
            children_id: Makes an id for the node before those children only.
        """
        if children_id is not None:
            self.node_id = f"{id(self)}-{children_id}"
        else:
            self.node_id = f"{id(self.main_node if self.is_aux else self)}"


class _ComputeNode(Node):
    def __init__(self, unit: object, depth: int, parents: Any, children: Any, name: str, text: str | None) -> None:
        super().__init__(depth, parents, children, name)
        self.compute_unit_id = id(unit)
        self.input_shape: list[tuple[int, ...]] = []
        self.output_shape: list[tuple[int, ...]] = []
        self.output_nodes = self.children
        self.attributes = text
        self.is_container = True

    def set_input_shape(self, input_shape: list[Tuple[int, ...]]) -> None:  # noqa: UP006
        """Set the shapes of the tensors it was called with, the batch included."""
        self.input_shape = input_shape

    def set_output_shape(self, output_shape: list[Tuple[int, ...]]) -> None:  # noqa: UP006
        """Set the shapes of the tensors it returned, the batch included."""
        self.output_shape = output_shape

    def add_output_nodes(self, output_node: Node) -> None:
        """Add the node of a tensor that it returned."""
        self.output_nodes.add(output_node)

    def set_node_id(self, output_id: int | str | None = None) -> None:
        """Give the call an id of its own or, to roll the graph, one that all calls alike share.

        Args:
            output_id: Says what follows the call. Calls of one function are alike if that is the same; so are calls of
                a module without parameters, since an activation may serve in many places. Calls of a module with
                parameters are alike whatever follows.
        """
        self.node_id = f"{id(self)}" if output_id is None else f"{self.compute_unit_id}-{output_id}"


class ModuleNode(_ComputeNode):
    """A call of a module.

    Args:
        module_unit: The module; it is not kept.
        depth: Level in the hierarchy of modules; the call of the model is on level 0.
        parents: The nodes of the tensors it was called with.
        children: The nodes of the stand-ins for those tensors.
        name: In a recording, the class of the module.
        output_nodes: The nodes of the tensors it returned.
        attributes: The module as text, if attributes are collected.

    Attributes:
        compute_unit_id: `id()` of the module.
        is_activation: Whether the module has no parameters, its children's included.
        is_container: Whether it holds functions only: it has no submodules but empty containers.
        input_shape: The shapes of the tensors it was called with, the batch included.
        output_shape: The shapes of the tensors it returned, the batch included.
        output_nodes: The nodes of those tensors.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview import ModuleNode
        >>> node = ModuleNode(nn.Sequential(nn.Linear(3, 4)), depth=0, name="Sequential")
        >>> node.is_activation, node.is_container
        (False, False)
        >>> node.set_output_shape([(1, 4)])
        >>> node.output_shape
        [(1, 4)]
    """

    def __init__(
        self,
        module_unit: nn.Module,
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "module-node",
        output_nodes: NodeContainer[Node] | None = None,
        attributes: Optional[str] = None,  # noqa: UP045
    ) -> None:
        super().__init__(module_unit, depth, parents, children, name, attributes)
        self.is_activation = is_generator_empty(module_unit.parameters())
        self.is_container = not any(map(_is_true, module_unit.children()))
        self.output_nodes = NodeContainer() if output_nodes is None else output_nodes
        self.set_node_id()

    def set_node_id(self, output_id: int | str | None = None) -> None:
        super().set_node_id(output_id if output_id is None or self.is_activation else "")


def _is_true(module: nn.Module) -> bool:
    """Truth of a child, as torchview asks for it: that of an empty container is false, without a length it is true."""
    try:
        return bool(module)
    except TypeError:  # a compiled module, which asks the module that it wraps
        return True


class FunctionNode(_ComputeNode):
    """One call of a function of torch.

    Args:
        function_unit: The function; it is not kept.
        depth: Level in the hierarchy of modules; functions that the model's own forward calls are on level 1.
        parents: The nodes of the tensors it was called with.
        children: The nodes of the tensors it returned.
        name: In a recording, the name of the function.
        attributes: Its arguments as text, if attributes are collected.

    Attributes:
        compute_unit_id: `id()` of the function.
        is_container: True; a function has no submodules.
        input_shape: The shapes of the tensors it was called with, the batch included.
        output_shape: The shapes of the tensors it returned, the batch included.
        output_nodes: The nodes of those tensors, which are its children.
        attributes: As given.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import FunctionNode, TensorNode
        >>> x, y = TensorNode(torch.ones(2), depth=1), TensorNode(torch.ones(2), depth=1)
        >>> call = FunctionNode(torch.relu, depth=1, parents=x, name="relu")
        >>> call.add_output_nodes(y)
        >>> list(call.children) == [y]
        True
    """

    def __init__(
        self,
        function_unit: Callable[..., Any],
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "function-node",
        attributes: Optional[str] = None,  # noqa: UP045
    ) -> None:
        super().__init__(function_unit, depth, parents, children, name, attributes)
        self.set_node_id()
