"""From recorded nodes to a `graphviz.Digraph`.

The white space in labels is torchview's: people keep its text of DOT in their repositories and compare it byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from graphviz import Digraph
from torch import nn

from torchrecorder.torchview.computation_node import FunctionNode, ModuleNode, Node, NodeContainer, TensorNode
from torchrecorder.torchview.utils import assert_input_type, updated_dict

__all__ = ["COMPUTATION_NODES", "ComputationGraph", "compact_list_repr", "get_output_id", "node2color"]

COMPUTATION_NODES = TensorNode | ModuleNode | FunctionNode
"""The three kinds of nodes."""

node2color: dict[type[Any], str] = {TensorNode: "lightyellow", ModuleNode: "darkseagreen1", FunctionNode: "aliceblue"}
"""The fill colour of each kind of node."""
_TABLE = {"border": 0, "cell_border": 1, "cell_spacing": 0, "cell_padding": 4, "col_span": 2, "row_span": 2}
"""The sizes in a label."""


class ComputationGraph:
    """A recorded graph and its drawing; `draw_graph` makes one.

    Args:
        visual_graph: What is drawn into.
        root_container: The nodes of the model's inputs.
        show_shapes: Whether labels show shapes.
        expand_nested: Whether modules whose inside is shown get a dashed border.
        hide_inner_tensors: Whether only inputs and outputs of the model are drawn as nodes.
        hide_module_functions: Whether a module without submodules is drawn as one node, its functions left out.
        roll: Whether calls of one module are drawn as one node.
        depth: The deepest level that is shown; the model is on level 0.
        collect_attributes: Whether nodes keep a text of their module or arguments.

    Attributes:
        node_hierarchy: The nodes, nested: lists in order of execution, a dict for each call of a module.
        node_set: `id()` of the nodes that are drawn.
        edge_list: The edges, each a pair of nodes.
        id_dict: The number that each node id has in the drawing.
        subgraph_dict: The number that each module whose inside is shown has.
        context_tracker: The list of nodes and the depth of the module that is running.
        html_config: The numbers with which tables are drawn: borders, padding, and what their cells span.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview import draw_graph
        >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> graph = draw_graph(net, input_size=(1, 3), device="cpu")
        >>> [head.name for tail, head in graph.edge_list]
        ['Linear', 'ReLU', 'output-tensor']
        >>> graph.visual_graph.source.splitlines()[0]
        'strict digraph model {'
    """

    node_hierarchy: dict[Any, list[Any]]

    def __init__(
        self,
        visual_graph: Digraph,
        root_container: NodeContainer[TensorNode],
        show_shapes: bool = True,
        expand_nested: bool = False,
        hide_inner_tensors: bool = True,
        hide_module_functions: bool = True,
        roll: bool = True,
        depth: int | float = 3,
        collect_attributes: bool = False,
    ):
        self.visual_graph = visual_graph
        self.root_container = root_container
        self.show_shapes = show_shapes
        self.expand_nested = expand_nested
        self.hide_inner_tensors = hide_inner_tensors
        self.hide_module_functions = hide_module_functions
        self.roll = roll
        self.depth = depth
        self.collect_attributes = collect_attributes
        self.html_config = dict(_TABLE)
        self.reset_graph_history()

    def reset_graph_history(self) -> None:
        """Forget what was recorded and drawn, down to the inputs; numbers begin at 0 again."""
        # Not the log of `running.handles`: torchview's users read this, and may fill it by a wrapper of their own.
        self.context_tracker: dict[str, Any] = {
            "current_context": [],
            "current_depth": 0,
            "collect_attributes": self.collect_attributes,
        }
        self.running_node_id = 0
        self.running_subgraph_id = 1
        self.id_dict: dict[str, int] = {}
        self.node_set: set[int] = set()
        self.edge_list: list[tuple[COMPUTATION_NODES, COMPUTATION_NODES]] = []
        # The hierarchy has one outermost module, above the model, which is not drawn.
        outermost = ModuleNode(nn.Identity(), -1)
        outermost.is_container = False
        self.subgraph_dict: dict[str, int] = {outermost.node_id: 0}
        inputs = list(self.root_container)
        self.node_hierarchy = {outermost: inputs}
        for node in inputs:
            node.context = inputs

    def fill_visual_graph(self) -> None:
        """Draw: nodes, then edges, then the size of the page."""
        self.render_nodes()
        self.render_edges()
        self.resize_graph()

    def render_nodes(self) -> None:
        """Draw the nodes of the hierarchy, and collect the edges between them."""
        self.traverse_graph(self.collect_graph, cur_node=self.node_hierarchy, subgraph=None)

    def render_edges(self) -> None:
        """Draw the edges as they were collected; the second between two nodes is labelled x2, and so on.

        In a strict graph those are one edge, with the last label.
        """
        drawn: Counter[tuple[int, int]] = Counter()
        for tail, head in self.edge_list:
            # Of a node inside a module that is drawn as one node, that of the module: a tensor leaves such a module
            # without being its output if it is kept as an attribute.
            node: Node | None = tail
            while node is not None and node.node_id not in self.id_dict:
                node = next(iter(node.parents), None)
            tail_id = None if node is None else self.id_dict[node.node_id]
            head_id = self.id_dict.get(head.node_id)
            if tail_id is not None and head_id is not None:
                drawn[tail_id, head_id] += 1
                self.add_edge((tail_id, head_id), drawn[tail_id, head_id])

    def traverse_graph(self, action_fn: Callable[..., None], **kwargs: Any) -> None:
        """Call `action_fn(cur_node=node, subgraph=subgraph)` for the nodes down to the depth that is shown.

        Args:
            action_fn: What to do with a node.
            kwargs: `cur_node`, a node or a part of the hierarchy; `subgraph`, the box of the drawing it is in (None
                outside of all); both go to `action_fn`, with any others.
        """
        cur_node = kwargs["cur_node"]
        assert_input_type("traverse_graph", (TensorNode, ModuleNode, FunctionNode, dict, list), cur_node)
        if kwargs["subgraph"] is None:
            kwargs = updated_dict(kwargs, "subgraph", self.visual_graph)
        if isinstance(cur_node, dict):
            for module, inside in cur_node.items():
                self._traverse_module(action_fn, module, inside, kwargs)
        elif isinstance(cur_node, list):
            for part in cur_node:
                self.traverse_graph(action_fn, **updated_dict(kwargs, "cur_node", part))
        elif cur_node.depth <= self.depth:
            action_fn(**kwargs)

    def _traverse_module(
        self, action_fn: Callable[..., None], module: ModuleNode, inside: list[Any], kwargs: dict[str, Any]
    ) -> None:
        if 0 <= module.depth <= self.depth:
            action_fn(**updated_dict(kwargs, "cur_node", module))
        if self.hide_module_functions and module.is_container:
            self.traverse_graph(action_fn, **updated_dict(kwargs, "cur_node", list(module.output_nodes)))
            return
        is_boxed = self.expand_nested and 1 <= module.depth < self.depth
        name = f"cluster_{self.subgraph_dict[module.node_id]}" if is_boxed else ""
        opened: Any = kwargs["subgraph"].subgraph(name=name) if is_boxed else nullcontext(kwargs["subgraph"])
        with opened as box:
            if is_boxed:
                box.attr(style="dashed", label=module.name, labeljust="l", fontsize="12")
            self.traverse_graph(action_fn, **{**kwargs, "cur_node": inside, "subgraph": box})

    def collect_graph(self, **kwargs: Any) -> None:
        """Draw a node if it is visible, and collect the edges at it.

        Args:
            kwargs: `cur_node` and `subgraph`, as `traverse_graph` gives them.
        """
        node = kwargs["cur_node"]
        if id(node) in self.node_set or (node.is_root() and node.is_leaf()):
            return
        self.check_node(node)
        if self.roll and not isinstance(node, TensorNode):
            self.rollify(node)
        if self._is_drawn(node):
            self.add_node(node, kwargs["subgraph"])
            self.node_set.add(id(node))
        elif isinstance(node, ModuleNode) and node.node_id not in self.subgraph_dict:
            self.subgraph_dict[node.node_id] = self.running_subgraph_id
            self.running_subgraph_id += 1
        if isinstance(node, TensorNode):
            tail = self.get_tail_node(node)  # edges begin at a tensor that is drawn, else at the call it comes from
            start: COMPUTATION_NODES = node if self._is_drawn(node.main_node) else tail
            if self._is_drawn(start.main_node if isinstance(start, TensorNode) else start):
                for child in node.children:
                    if self._is_drawn(child):  # type: ignore[arg-type]
                        self.edge_list.append((start, child))  # type: ignore[arg-type]
            if self._is_drawn(node) and tail is not node and self._is_drawn(tail):
                self.edge_list.append((tail, node))

    def rollify(self, cur_node: ModuleNode | FunctionNode) -> None:
        """Give calls that are alike one id, so that they become one node.

        What is alike depends on what follows the call: its first output or, where tensors are hidden, the call that
        takes it. A call without an output is alike no other.

        Args:
            cur_node: The call; its id is changed.
        """
        head: Any = next(iter(cur_node.output_nodes), None)
        if head is None:
            return
        if self.hide_inner_tensors and not head.is_leaf():
            head = next(iter(head.children))
        cur_node.set_node_id(output_id=get_output_id(head))

    def _is_drawn(self, node: COMPUTATION_NODES) -> bool:
        return node.depth <= self.depth and self.is_node_visible(node)

    def is_node_visible(self, compute_node: COMPUTATION_NODES) -> bool:
        """Whether a node is drawn as a node of its own, if it is not too deep to be drawn at all.

        Args:
            compute_node: The node.

        Returns:
            False for what is hidden: inner tensors, functions inside a module that is drawn as one node, and so on.

        Raises:
            AssertionError: It is not one of the three kinds of nodes.
        """
        assert_input_type("is_node_visible", (TensorNode, ModuleNode, FunctionNode), compute_node)
        if compute_node.name == "empty-pass":
            return False
        if isinstance(compute_node, TensorNode):
            if compute_node.is_aux or compute_node.main_node.depth < 0:
                return False
            is_outermost = compute_node.depth == 0 and (compute_node.is_root() or compute_node.is_leaf())
            return is_outermost or not self.hide_inner_tensors
        if isinstance(compute_node, ModuleNode):
            return compute_node.depth == self.depth or (self.hide_module_functions and compute_node.is_container)
        return True

    def get_tail_node(self, _tensor_node: TensorNode) -> COMPUTATION_NODES:
        """Where edges from a tensor that is not drawn begin: the visible call it is an output of.

        A tensor that passed through a module untouched leads on to where it came from; one that comes from nothing is
        its own.

        Args:
            _tensor_node: The node of the tensor.

        Returns:
            The node of that call; the tensor's own, if there is none.
        """
        node = _tensor_node.main_node if _tensor_node.is_aux else _tensor_node
        # From the outside: what is inside a module that is drawn as one node is not drawn.
        for _, call in sorted(node.parent_hierarchy.items()):
            if self._is_drawn(call):
                return call
        source: Any = next(iter(node.parents), None)
        if source is not None and source.name == "empty-pass":
            return self.get_tail_node(next(iter(source.parents)))
        return node

    def add_edge(self, edge_ids: tuple[int, int], edg_cnt: int) -> None:
        """Draw an edge.

        Args:
            edge_ids: The numbers of its two nodes in the drawing.
            edg_cnt: How many edges there are between the two by now; from the second on, the label says so: `x2`.
        """
        tail, head = edge_ids
        label = {"label": f" x{edg_cnt}"} if edg_cnt > 1 else {}
        self.visual_graph.edge(f"{tail}", f"{head}", **label)

    def add_node(self, node: COMPUTATION_NODES, subgraph: Digraph | None = None) -> None:
        """Draw a node; an id that is new gets the next number.

        Args:
            node: The node.
            subgraph: The box of the drawing that it is in; None outside of all.
        """
        if node.node_id not in self.id_dict:
            self.id_dict[node.node_id] = self.running_node_id
            self.running_node_id += 1
        target = self.visual_graph if subgraph is None else subgraph
        label, color = self.get_node_label(node), self.get_node_color(node)
        target.node(name=f"{self.id_dict[node.node_id]}", label=label, fillcolor=color)

    def get_node_label(self, node: COMPUTATION_NODES) -> str:
        """The HTML-like label of a node: a table of its name and depth and, if shapes are shown, those.

        Args:
            node: The node.

        Returns:
            The text, in the angle brackets that DOT wants; `html_config` has the sizes.
        """
        config, title = self.html_config, f"{node.name}<BR/>depth:{node.depth}"
        if isinstance(node, TensorNode) or not self.show_shapes:
            shape = f"<TD>{node.tensor_shape}</TD>" if self.show_shapes and isinstance(node, TensorNode) else ""
            rows = [f"    <TR><TD>{title}</TD>{shape}</TR>"]
        else:
            wide = f'    <TD COLSPAN="{config["col_span"]}">'
            given, returned = compact_list_repr(node.input_shape), compact_list_repr(node.output_shape)
            name = f'    <TD ROWSPAN="{config["row_span"]}">{title}</TD>'
            rows = ["<TR>", name, f"{wide}input:</TD>", f"{wide}{given} </TD>", "</TR>"]
            rows += ["<TR>", f"{wide}output: </TD>", f"{wide}{returned} </TD>", "</TR>"]
        opening = [
            f'<TABLE BORDER="{config["border"]}" CELLBORDER="{config["cell_border"]}"',
            f'CELLSPACING="{config["cell_spacing"]}" CELLPADDING="{config["cell_padding"]}">',
        ]
        return "\n".join(["<", *(20 * " " + line for line in (*opening, *rows, "</TABLE>>"))])

    def resize_graph(self, scale: float = 1.0, size_per_element: float = 0.3, min_size: float = 12) -> None:
        """Set the size of the page by the number of lines in the drawing.

        Args:
            scale: Factor for the result.
            size_per_element: Inches for a line.
            min_size: Inches before `scale`, at least.
        """
        size = scale * max(min_size, len(self.visual_graph.body) * size_per_element)
        self.visual_graph.graph_attr.update(size=f"{size},{size}")

    @staticmethod
    def get_node_color(node: COMPUTATION_NODES) -> str:
        """The fill colour of a node, which is that of its kind."""
        return node2color[type(node)]

    def check_node(self, node: COMPUTATION_NODES) -> None:
        """Check what the drawing relies on.

        Args:
            node: The node that is about to be drawn.

        Raises:
            AssertionError: A tensor has more than one parent, or a drawn node is drawn again.
        """
        if id(node) in self.node_set:
            raise AssertionError(f"node {node} is drawn already")
        if isinstance(node, TensorNode) and len(node.parents) > 1:
            raise AssertionError(f"tensor must have single input node {node}")


def compact_list_repr(x: list[Any]) -> str:
    """The elements in the order of their first appearance, those that are there n times as `n x element`.

    Args:
        x: Usually the shapes of several tensors.

    Returns:
        One line, without brackets.

    Examples:
        >>> from torchrecorder.torchview.computation_graph import compact_list_repr
        >>> compact_list_repr([(1, 8), (2, 8), (1, 8)])
        '2 x (1, 8), (2, 8)'
    """
    counted = Counter(x).items()
    return ", ".join(f"{count} x {element}" if count > 1 else f"{element}" for element, count in counted)


def get_output_id(head_node: COMPUTATION_NODES) -> str:
    """What follows a call, for finding out whether calls are alike.

    Args:
        head_node: The tensor that the call returns, or the call that takes it.

    Returns:
        The `id()` of the module, if the node is the call of one; else the id of the node.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview import ModuleNode
        >>> from torchrecorder.torchview.computation_graph import get_output_id
        >>> linear = nn.Linear(2, 2)
        >>> get_output_id(ModuleNode(linear, depth=1)) == str(id(linear))
        True
    """
    return f"{head_node.compute_unit_id}" if isinstance(head_node, ModuleNode) else head_node.node_id
