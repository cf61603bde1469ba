"""The recorder of torchrecorder 1.0.3: hooks on every module, and a walk through autograd's graph between them.

Before and after each module the tensors that pass get a dummy operation (a copy), at which the walk stops. So every
operation is found in the module that ran it, under the name autograd gives it. What autograd leaves out (integers,
frozen weights, no_grad, detached tensors) is added from `classic.steps` while a recording runs, and where nothing is
known of a result, edges lead from the inputs of a module through it to that result.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.classic.calls import CallLog
from torchrecorder.classic.hooks import Before, backhook, posthook, prehook
from torchrecorder.classic.known import Known
from torchrecorder.classic.steps import Step, Steps
from torchrecorder.classic.to_graph import to_graph
from torchrecorder.classic.walk import leaf_dummy, op_acc, param_acc, tensor_acc
from torchrecorder.errors import NothingToConnect, NotRecordable, NotRecorded
from torchrecorder.graph import Graph
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.running.handles import Handle

__all__ = [
    "Recorder",
    "backhook",
    "leaf_dummy",
    "op_acc",
    "param_acc",
    "posthook",
    "prehook",
    "tensor_acc",
]


class Recorder:
    """Record and store execution graph information. Not thread-safe; one forward per recorder.

    Attributes:
        fn_set: The objects (`fn`s) that contain recordable information.
        nodes: The node of each `fn`; several `fn`s may lead to one node. `nodes[None]` is the scope around the model.
        fn_types: How many `fn`s of a type there were, by its name; numbers the names.
        edges: Pairs of `fn`s; `nodes` says between which nodes an edge leads.
    """

    def __init__(self) -> None:
        self.nodes: OrderedDict[Any, BaseNode] = OrderedDict({None: BaseNode("ContextDummy")})
        self.fn_set: set[Any] = {None}
        self.fn_types: dict[str, int] = {}
        self.edges: set[tuple[Any, Any]] = set()
        self.calls = CallLog()
        self._known = Known(self.nodes)
        self.steps = Steps(self._known)
        self._hooked: dict[nn.Module, tuple[Handle, Handle]] = {}

    def add_node(self, net: Any, depth: int = 0, parent: Any = None, name: str | None = None) -> None:
        """Construct a node that stores information related to `net`; a module gets its hooks too.

        Args:
            net: A module, tensor, parameter or `grad_fn`, stored as the node's `fn`.
            depth: The scope depth at which it is found.
            parent: The object as part of which it is run.
            name: What to call it; its class name, numbered from the second on, by default.

        Raises:
            NotRecordable: It is none of these (a RuntimeError).
            NotRecorded: There is no node of `parent` (a KeyError).
        """
        kind = _node_class(net)
        scope = self.nodes.get(parent)
        if scope is None:
            raise NotRecorded(what=type(parent).__name__)
        node = kind(self._name(net, depth, name), net, depth, parent)
        if isinstance(node, LayerNode):
            self._hook(net, node)
        self.nodes[net] = node
        self.fn_set.add(net)
        if kind is OpNode:
            self.calls.note(node)
        elif kind is not LayerNode:
            self._known.see(net)
        if isinstance(scope, LayerNode):
            scope.subnets.add(net)

    def _hook(self, net: nn.Module, node: LayerNode) -> None:
        """Put the two hooks on a module, in place of those that this recorder has put there before."""
        for handle in self._hooked.pop(net, ()):
            handle.remove()
        node.pre = net.register_forward_pre_hook(Before(prehook, rec=self, node=node), with_kwargs=True)
        node.post = net.register_forward_hook(partial(posthook, rec=self, node=node))
        self._hooked[net] = (node.pre, node.post)

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
            self._known.see(dummy)

    def add_edge(self, _from: Any, _to: Any) -> None:
        """Construct an edge between two `fn`s.

        Raises:
            NothingToConnect: One of them is None (an AssertionError).
        """
        if _from is None or _to is None:
            raise NothingToConnect(tail=type(_from).__name__, head=type(_to).__name__)
        self.edges.add((_from, _to))

    def register_hooks(self, net: nn.Module, depth: int = 0, parent: Any = None, name: str | None = None) -> None:
        """Register the hooks on a module and all modules in it: partial versions of `prehook` and `posthook`.

        A module that stands in several places keeps the first one.

        Args:
            net: The module.
            depth: Its scope depth.
            parent: The module it belongs to.
            name: Its name.
        """
        if net in self._hooked:
            return
        self.add_node(net, depth=depth, parent=parent, name=name)
        if not isinstance(net, torch.jit.ScriptModule):
            for key, child in net.named_children():
                self.register_hooks(child, depth=depth + 1, parent=net, name=key)

    def remove_hooks(self) -> None:
        """Remove the hooks from all modules; doing so twice does no harm."""
        while self._hooked:
            for handle in self._hooked.popitem()[1]:
                handle.remove()

    def to_graph(self) -> Graph:
        """The recording as plain data, for `Graph.from_recorder`."""
        return to_graph(self)

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        return self._known.node_of(tensor)

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
