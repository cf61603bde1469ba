"""The nodes of a classic recording, as torchrecorder 1.0.3 has them: what was recorded, its name, its scope.

They hold live objects but know nothing of torch, so that renderers can be written and tested without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Protocol


class RecordedNodes(Protocol):
    """Parts of a recording that a renderer reads; a `Recorder` has them, and so may anything else.

    Examples:
        >>> from graphviz import Digraph
        >>> from torchrecorder import GraphvizRenderer
        >>> from torchrecorder.nodes import BaseNode
        >>> class Two:
        ...     nodes = {None: BaseNode(), 1: BaseNode("in", 1, 0), 2: BaseNode("out", 2, 0)}
        ...     edges = {(1, 2)}
        >>> GraphvizRenderer(Two(), render_depth=1)(Digraph()).source.count("->")
        1
    """

    @property
    def nodes(self) -> Mapping[Any, BaseNode]:
        """The node of each recorded thing; `nodes[None]` is the scope around the model."""
        ...

    @property
    def edges(self) -> Set[tuple[Any, Any]]:
        """Pairs of recorded things."""
        ...


class BaseNode:
    """Wrapper object to encapsulate recorded information.

    The classes of nodes are those of torchrecorder 1.0.3.

    Args:
        name: What it is called in a picture.
        fn: The object that was recorded.
        depth: Its scope depth: 0 for the model and its inputs and outputs, one more for each layer around it.
        parent: The `fn` in whose scope it exists; None for the model.

    Attributes:
        name: What it is called in a picture.
        fn: The object that was recorded.
        depth: Its scope depth.
        parent: The `fn` in whose scope it exists.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> net = nn.Sequential(nn.Linear(3, 2))
        >>> node = record(net, "Net", (1, 3)).nodes[net[0].weight]
        >>> type(node).__name__, node.name, node.depth, node.parent is net[0]
        ('ParamNode', 'weight', 2, True)
    """

    def __init__(self, name: str = "", fn: Any = None, depth: int = -1, parent: Any = None) -> None:
        self.name = name
        self.fn = fn
        self.depth = depth
        self.parent = parent

    def __repr__(self) -> str:
        return f"{self.name}({','.join(self._facts())})"

    def _facts(self) -> list[str]:
        return [f"depth={self.depth}", f"fn_type={type(self.fn)}", f"parent_type={type(self.parent)}"]


class TensorNode(BaseNode):
    """Node to encapsulate a `torch.Tensor`: what a module takes or gives.

    Attributes:
        fn: The tensor. Its shape is that of the recorded forward, batch axis included.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> from torchrecorder.nodes import TensorNode
        >>> nodes = dict.fromkeys(record(nn.Linear(3, 2), "Net", (4, 3)).nodes.values())
        >>> [(node.name, tuple(node.fn.shape)) for node in nodes if type(node) is TensorNode]
        [('Input', (4, 3)), ('Output', (4, 2))]
    """


class ParamNode(TensorNode):
    """Node to encapsulate a `torch.nn.Parameter`.

    Attributes:
        fn: The parameter.
        parent: The module that holds it.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> net = nn.Linear(3, 2)
        >>> node = record(net, "Net", (4, 3)).nodes[net.bias]
        >>> node.name, node.parent is net
        ('bias', True)
    """


class OpNode(BaseNode):
    """Node to encapsulate an operation, under the name that autograd gives it.

    Attributes:
        fn: A `grad_fn` of a tensor, or a step that autograd does not follow.
        parent: The module that ran it.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> from torchrecorder.nodes import OpNode
        >>> rec = record(nn.Linear(3, 2), "Net", (4, 3))
        >>> sorted(node.name for node in rec.nodes.values() if type(node) is OpNode)
        ['AddmmBackward0', 'TBackward0']
    """


class LayerNode(BaseNode):
    """Node to encapsulate a `torch.nn.Module`; a module that is called twice has one.

    Args:
        name: What it is called in a picture: its attribute and, on a second line, its class.
        fn: The module.
        depth: Its scope depth.
        parent: The module it belongs to; None for the model.

    Attributes:
        fn: The module.
        subnets: The modules, operations, tensors and parameters in the scope of `fn`.
        pre: Handle of the hook that runs before `fn`.
        post: Handle of the hook that runs after `fn`.
        back: Always None; kept because 1.0.3 has it.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> net = nn.Sequential(nn.Linear(3, 2))
        >>> node = record(net, "Net", (4, 3)).nodes[net[0]]
        >>> node.depth, len(node.subnets)
        (1, 4)
    """

    def __init__(self, name: str = "", fn: Any = None, depth: int = -1, parent: Any = None) -> None:
        super().__init__(name, fn, depth, parent)
        self.pre: Any = None
        self.post: Any = None
        self.back: Any = None
        self.subnets: set[Any] = set()

    def _facts(self) -> list[str]:
        kinds = sorted(str(type(fn)) for fn in self.subnets)
        return [*super()._facts(), f"subnets_in_scope=[{', '.join(kinds)}]"]
