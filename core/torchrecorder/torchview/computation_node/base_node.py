"""What all nodes have in common, and the container in which they keep one another."""

from __future__ import annotations

from torchrecorder.torchview.utils import OrderedSet

__all__ = ["Node", "NodeContainer"]

NodeContainer = OrderedSet
"""The name under which torchview's nodes use it."""


class Node:
    """Base class of the nodes of a recorded graph.

    Args:
        depth: Level in the hierarchy of modules; the model is on level 0.
        parents: The node or nodes it comes from.
        children: The node or nodes that come from it.
        name: What the drawing calls it.

    Attributes:
        depth: As given.
        name: As given.
        parents: The nodes it comes from, in order of insertion.
        children: The nodes that come from it, in order of insertion.
        node_id: Names it in the drawing; nodes with the same id are drawn once. `null` in this base class.

    Examples:
        >>> from torchrecorder.torchview import Node
        >>> parent, child = Node(0, name="conv"), Node(0, name="norm")
        >>> parent.add_child(child)
        >>> parent.is_root(), parent.is_leaf(), [str(node) for node in parent.children]
        (True, False, ['norm'])
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


def _container(nodes: NodeContainer[Node] | Node | None) -> NodeContainer[Node]:
    if nodes is None:
        return NodeContainer()
    return NodeContainer([nodes]) if isinstance(nodes, Node) else nodes
