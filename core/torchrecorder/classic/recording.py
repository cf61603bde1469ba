"""What a classic recording has found: nodes, edges, calls, and the operations that autograd does not follow.

Autograd keeps a path only between tensors that require grad. While a recording runs, a mode sees every call of torch's
public functions and keeps, for what autograd leaves out (integers, frozen weights, no_grad, detached tensors), which
recorded things the result was made from.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torchrecorder.errors import NothingToConnect, NotRecordable, NotRecorded
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.running.calls import CallLog, ModuleCall
from torchrecorder.running.nested import tensors_in
from torchrecorder.running.torch_private import version_of

_NEED_NO_GRAD: set[Any] = {Tensor.numpy, Tensor.__array__, Tensor.__deepcopy__}
"""Functions that refuse a tensor which requires grad, as tensors of a recording do and those of the user may not."""


class RecordedTensors:
    """Looks tensors up among the nodes of a recording. It does not hold the recorder, which would make a cycle."""

    def __init__(self, nodes: Mapping[Any, Any]) -> None:
        self._nodes = nodes
        self._versions: dict[int, int] = {}

    def see(self, tensor: Tensor) -> None:
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
        return tensor in self._nodes


class Step:
    """One operation without a `grad_fn`; `sources` are the recorded things that its result was made from."""

    def __init__(self, name: str, sources: Sequence[Any]) -> None:
        self.name = name
        self.sources = tuple(sources)


class Steps(TorchFunctionMode):
    """Watches the operations of one recording. Tensors are kept weakly, sources as long as the recording lives."""

    def __init__(self, recorded: RecordedTensors) -> None:
        super().__init__()
        self._recorded = recorded
        self._made: dict[int, tuple[weakref.ref[Tensor], Step]] = {}
        self.beside: dict[Any, list[Any]] = {}
        """By `grad_fn`: what the operation read besides that which autograd follows."""

    def of(self, tensor: Tensor) -> Step | None:
        made = self._made.get(id(tensor))
        return made[1] if made is not None and made[0]() is tensor else None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in _NEED_NO_GRAD and isinstance(args[0], Tensor) and args[0].requires_grad:
            args = (args[0].detach(), *args[1:])
        out = func(*args, **kwargs) if kwargs else func(*args)
        if type(out) is Tensor or isinstance(out, Tensor):
            self._note(func, args, kwargs, out)
        elif isinstance(out, (tuple, list)):
            for item in out:
                # What broadcast_tensors gives back as it got it was made before.
                if isinstance(item, Tensor) and not any(item is arg for arg in args):
                    self._note(func, args, kwargs, item)
        elif func is Tensor.__setitem__:
            self._note(func, args, kwargs, args[0])
        return out

    def _note(self, func: Callable[..., Any], args: Any, kwargs: Any, out: Tensor) -> None:
        """It runs for every operation, most of which autograd follows with all that they read."""
        if not out.requires_grad:
            self._note_step(func, _read(args, kwargs), out)
            return
        unseen = [tensor for tensor in _read(args, kwargs) if not tensor.requires_grad]
        beside = self._sources(unseen, out) if unseen else None
        if beside and out.grad_fn is not None:
            self.beside.setdefault(out.grad_fn, []).extend(beside)

    def _note_step(self, func: Callable[..., Any], read: Sequence[Tensor], out: Tensor) -> None:
        sources = self._sources(read, out)
        if sources and not (len(sources) == 1 and sources[0] is out and self._recorded.node_of(out) is not None):
            self._made[id(out)] = (weakref.ref(out), Step(_name(func), sources))

    def _sources(self, tensors: Sequence[Tensor], out: Tensor) -> list[Any]:
        found = []
        for tensor in tensors:
            source = self._source(tensor, tensor is out)
            if source is not None:
                found.append(source)
        return found

    def _source(self, tensor: Tensor, is_written: bool) -> Any:
        """The recorded thing that a tensor is or comes from; None for a constant.

        A tensor that was just written to is still known as what it was before.
        """
        if tensor.grad_fn is not None:
            return tensor.grad_fn
        if (is_written and self._recorded.has(tensor)) or self._recorded.node_of(tensor) is not None:
            return tensor
        step = self.of(tensor)
        if step is not None:
            return step
        return tensor if isinstance(tensor, nn.Parameter) or tensor.requires_grad else None


def _read(args: Any, kwargs: Any) -> list[Tensor]:
    read: list[Tensor] = []
    for arg in args:
        if (kind := type(arg)) is Tensor or kind is nn.Parameter:
            read.append(arg)
        elif arg is not None:
            tensors_in((arg,), read)
    return tensors_in(kwargs.values(), read) if kwargs else read


def _name(func: Callable[..., Any]) -> str:
    """The function as users write it: `argmax`, `add`; of a property (`x.T`) the property."""
    name = getattr(func, "__name__", type(func).__name__)
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return str(name).strip("_") or "op"


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
