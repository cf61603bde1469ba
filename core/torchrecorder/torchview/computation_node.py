"""The nodes of a recorded graph (tensors, calls of modules and of functions), and the ordered set they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, MutableSet, Optional, Tuple, TypeVar  # noqa: UP035 - as torchview's users may subscript them

import torch
from torch import nn
from torch.nn.parameter import Parameter

from torchrecorder.running import torch_private

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose iteration order is the order of insertion, so that one model always gives one text of DOT."""

    def __init__(self, iterable: Any | None = None) -> None:
        elements: Iterable[T] = () if iterable is None else iterable
        self.map: dict[T, None] = dict.fromkeys(elements)

    def __len__(self) -> int:
        return len(self.map)

    def __contains__(self, value: object) -> bool:
        return value in self.map

    def add(self, value: T) -> None:
        """Put an element at the end; one that is there already keeps its place."""
        self.map.setdefault(value)

    def remove(self, value: T) -> None:
        """Take an element out; as in torchview, removing one that is not there does nothing."""
        self.discard(value)

    def discard(self, value: T) -> None:
        """Take an element out if it is there."""
        self.map.pop(value, None)

    def __iter__(self) -> Generator[T, Any, Any]:
        yield from self.map

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({list(self.map)})" if self.map else name


NodeContainer = OrderedSet
"""The name under which torchview's nodes use it."""


class Node:
    """Base class of the nodes of a recorded graph.

    Attributes:
        depth: Level in the hierarchy of modules; the model is on level 0.
        name: What the drawing calls it.
        parents: The nodes it comes from.
        children: The nodes that come from it.
        node_id: Names it in the drawing; nodes with the same id are drawn once.
    """

    def __init__(
        self,
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "node",
    ) -> None:
        self.children = _container(children)
        self.parents = _container(parents)
        self.name = name
        self.depth = depth
        self.node_id = "null"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{self.name} at {hex(id(self))}"

    def add_child(self, node: Node) -> None:
        """Make a node follow this one; the node itself is not changed."""
        self.children.add(node)

    def add_parent(self, node: Node) -> None:
        """Make a node precede this one; the node itself is not changed."""
        self.parents.add(node)

    def remove_child(self, node: Node) -> None:
        """Forget a child, if it is one."""
        self.children.remove(node)

    def remove_parent(self, node: Node) -> None:
        """Forget a parent, if it is one."""
        self.parents.remove(node)

    def set_children(self, node_arr: NodeContainer[Node]) -> None:
        """Replace all children."""
        self.children = node_arr

    def set_parents(self, node_arr: NodeContainer[Node]) -> None:
        """Replace all parents."""
        self.parents = node_arr

    def is_root(self) -> bool:
        """Whether nothing precedes it."""
        return not self.parents

    def is_leaf(self) -> bool:
        """Whether nothing follows it."""
        return not self.children

    def set_node_id(self) -> None:
        """Give the node the id that its kind of node has.

        Raises:
            NotImplementedError: This base class has none.
        """
        raise NotImplementedError("To be implemented by subclasses of Node Class !!!")


def _container(nodes: Any) -> NodeContainer[Node]:
    if nodes is None:
        return NodeContainer()
    if isinstance(nodes, Node):
        return NodeContainer([nodes])
    kept: NodeContainer[Node] = nodes
    return kept


def is_generator_empty(parameters: Iterable[Parameter]) -> bool:
    """Whether there is nothing to iterate over; the first element of an iterator is used up."""
    return not any(True for _ in parameters)


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape of a tensor; asking a recording one is not recorded."""
    with torch_private.without_subclass_function():
        return tuple(tensor.shape)


class TensorNode(Node):
    """A tensor, or the stand-in for one inside a module that was called with it.

    Attributes:
        tensor_id: `id()` of the tensor.
        tensor_shape: Its shape, the batch included.
        is_aux: Whether it is such a stand-in.
        main_node: The node it stands in for; else itself.
        context: The list of nodes, in order of execution, that it is in.
        parent_hierarchy: For each depth, the node whose output it is there.
        collect_attributes: Whether the nodes that come from it describe themselves.
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
        """The id of the node, of a stand-in that of its main node; with `children_id`, of it before those children."""
        if children_id is not None:
            self.node_id = f"{id(self)}-{children_id}"
        else:
            self.node_id = f"{id(self.main_node if self.is_aux else self)}"


class _ComputeNode(Node):
    """What the calls of modules and of functions have in common."""

    input_shape: list[tuple[int, ...]]
    output_shape: list[tuple[int, ...]]
    output_nodes: NodeContainer[Node]

    def set_input_shape(self, input_shape: list[Tuple[int, ...]]) -> None:  # noqa: UP006
        """Set the shapes of the tensors it was called with."""
        self.input_shape = input_shape

    def set_output_shape(self, output_shape: list[Tuple[int, ...]]) -> None:  # noqa: UP006
        """Set the shapes of the tensors it returned."""
        self.output_shape = output_shape

    def add_output_nodes(self, output_node: Node) -> None:
        """Add the node of a tensor that it returned."""
        self.output_nodes.add(output_node)


def _is_true(module: nn.Module) -> bool:
    """As torchview asks for children: an empty container is false, and a module without a length is true."""
    try:
        return bool(module)
    except TypeError:  # a compiled module, which asks the module that it wraps
        return True


class ModuleNode(_ComputeNode):
    """One call of a module.

    Attributes:
        compute_unit_id: `id()` of the module.
        is_activation: Whether the module has no parameters, its children's included.
        is_container: Whether it holds functions only: it has no submodules but empty containers.
        input_shape: The shapes of the tensors it was called with.
        output_shape: The shapes of the tensors it returned.
        output_nodes: The nodes of those tensors.
        attributes: The module as text, if attributes are collected.
    """

    def __init__(
        self,
        module_unit: nn.Module,
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "module-node",
        output_nodes: NodeContainer[Node] | None = None,
        attributes: Optional[str] = None,  # noqa: UP045 - the signature is torchview's, to the letter
    ) -> None:
        super().__init__(depth, parents, children, name)
        self.compute_unit_id = id(module_unit)
        self.is_activation = is_generator_empty(module_unit.parameters())
        self.is_container = not any(map(_is_true, module_unit.children()))
        self.input_shape = []
        self.output_shape = []
        self.output_nodes = NodeContainer() if output_nodes is None else output_nodes
        self.attributes = attributes
        self.set_node_id()

    def set_node_id(self, output_id: int | str | None = None) -> None:
        """An id for this call alone or, with `output_id`, one that all calls alike share when they are rolled.

        Calls of a module with parameters are alike if the module is the same; without parameters (an activation may
        serve in many places), what follows them must be the same too.
        """
        if output_id is None:
            self.node_id = f"{id(self)}"
        else:
            self.node_id = f"{self.compute_unit_id}-{output_id if self.is_activation else ''}"


class FunctionNode(_ComputeNode):
    """One call of a function of torch.

    Attributes:
        compute_unit_id: `id()` of the function.
        is_container: True; a function has no submodules.
        input_shape: The shapes of the tensors it was called with.
        output_shape: The shapes of the tensors it returned.
        output_nodes: The nodes of those tensors, which are its children.
        attributes: Its arguments as text, if attributes are collected.
    """

    def __init__(
        self,
        function_unit: Callable[..., Any],
        depth: int,
        parents: NodeContainer[Node] | Node | None = None,
        children: NodeContainer[Node] | Node | None = None,
        name: str = "function-node",
        attributes: Optional[str] = None,  # noqa: UP045 - the signature is torchview's, to the letter
    ) -> None:
        super().__init__(depth, parents, children, name)
        self.compute_unit_id = id(function_unit)
        self.is_container = True
        self.input_shape = []
        self.output_shape = []
        self.output_nodes = self.children
        self.attributes = attributes
        self.set_node_id()

    def set_node_id(self, output_id: int | str | None = None) -> None:
        """An id for this call alone or, with `output_id`, one that all calls alike share when they are rolled.

        Calls of a function are alike if what follows them is the same.
        """
        self.node_id = f"{id(self)}" if output_id is None else f"{self.compute_unit_id}-{output_id}"
