"""What a classic recording has found: nodes, edges and calls."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from torchrecorder.classic.steps import RecordedTensors, Step, Steps
from torchrecorder.errors import NothingToConnect, NotRecordable, NotRecorded
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.running.calls import CallLog, ModuleCall


@dataclass(slots=True, eq=False)
class ClassicCall(ModuleCall):
    """A call with the nodes of what it took and gave: a recorder's nodes say it once per module."""

    inputs: list[TensorNode] = field(default_factory=list)
    outputs: list[TensorNode] = field(default_factory=list)
    is_training: bool = False
    returned: bool = False
    replaced: list[tuple[Any, Any]] = field(default_factory=list)
    """Pairs of an argument and the tensor that the module got in its place, while it runs."""


class ClassicRecording:
    """The data of a `torchrecorder.Recorder`, which puts the hooks on that fill it; apart, so that those can know it.

    Attributes:
        calls: The calls of modules. 1.0.3's API has no place where global hooks could be put on and taken off, so the
            hooks of each module fill it.
        call_of: By `id` of an operation's node: the call it happened in.
        steps: The operations that autograd does not follow.
    """

    def __init__(self) -> None:
        self.nodes: OrderedDict[Any, BaseNode] = OrderedDict({None: BaseNode("ContextDummy")})
        self.fn_set: set[Any] = {None}
        self.fn_types: dict[str, int] = {}
        self.edges: set[tuple[Any, Any]] = set()
        self.calls = CallLog(ClassicCall)
        self.call_of: dict[int, int] = {}
        self._tensors = RecordedTensors(self.nodes)
        self.steps = Steps(self._tensors)

    def add_node(self, net: Any, depth: int = 0, parent: Any = None, name: str | None = None) -> None:
        """See `Recorder.add_node`; a module gets no hooks here."""
        kind = _node_class(net)
        scope = self.nodes.get(parent)
        if scope is None:
            raise NotRecorded(what=type(parent).__name__)
        node = self.nodes[net] = kind(self._name(net, depth, name), net, depth, parent)
        self.fn_set.add(net)
        if kind is OpNode:
            if (call := self.calls.current) is not None:
                self.call_of[id(node)] = call.id
        elif kind is not LayerNode:
            self._tensors.see(net)
        if isinstance(scope, LayerNode):
            scope.subnets.add(net)

    def add_dummy(self, dummy: Any, fn: Any) -> None:
        """Let `dummy` point to the node of `fn`, instead of creating a separate one.

        Args:
            dummy: A tensor or operation that should not be recorded itself.
            fn: A recorded object that will be connected to further operations.

        Raises:
            NotRecorded: There is no node of `fn` (a KeyError).
        """
        if fn not in self.nodes:
            raise NotRecorded(what=type(fn).__name__)
        self.point(dummy, self.nodes[fn])

    def point(self, dummy: Any, node: BaseNode) -> None:
        """Let `dummy` point to a node; see `add_dummy`."""
        self.nodes[dummy] = node
        self.fn_set.add(dummy)
        if isinstance(dummy, Tensor):
            self._tensors.see(dummy)

    def add_edge(self, _from: Any, _to: Any) -> None:
        """Construct an edge between two `fn`s.

        Raises:
            NothingToConnect: One of them is None (an AssertionError).
        """
        if _from is None or _to is None:
            raise NothingToConnect(tail=type(_from).__name__, head=type(_to).__name__)
        self.edges.add((_from, _to))

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        return self._tensors.node_of(tensor)

    def _name(self, net: Any, depth: int, name: str | None) -> str:
        kind = net.name if type(net) is Step else type(net).__name__
        count = self.fn_types[kind] = self.fn_types.get(kind, 0) + 1
        if name is None:
            return kind if count == 1 else f"{kind}-{count}"
        return f"{name}\n({kind})" if depth > 0 and isinstance(net, nn.Module) else name


def _node_class(fn: Any) -> type[BaseNode]:
    kind = type(fn)
    if kind is Tensor:  # the most frequent by far, and asking whether it is a Parameter takes long
        return TensorNode
    if isinstance(fn, Tensor):
        return ParamNode if kind is nn.Parameter or isinstance(fn, nn.Parameter) else TensorNode
    if isinstance(fn, nn.Module):
        return LayerNode
    if kind is Step or (hasattr(fn, "next_functions") and not isinstance(fn, type)):
        return OpNode
    raise NotRecordable(what=str(fn)[:200])
