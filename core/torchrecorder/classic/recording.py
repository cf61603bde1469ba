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
from torchrecorder.running.handles import CallLog, ModuleCall
from torchrecorder.running.nested import tensors_in
from torchrecorder.running.torch_private import version_of

_NEED_NO_GRAD: set[Any] = {Tensor.numpy, Tensor.__array__, Tensor.__deepcopy__}
"""Functions that refuse a tensor which requires grad, as tensors of a recording do and those of the user may not."""


class Step:
    """Operation without a `grad_fn`; `sources` are the recorded things that its result was made from."""

    def __init__(self, name: str, sources: Sequence[Any]) -> None:
        self.name = name
        self.sources = tuple(sources)


class Steps(TorchFunctionMode):
    """Watches the operations of one recording. Tensors are kept weakly, sources as long as the recording lives.

    It holds the nodes and not the recorder, which would make a cycle.
    """

    def __init__(self, nodes: Mapping[Any, BaseNode]) -> None:
        super().__init__()
        self._nodes = nodes
        self._versions: dict[int, int] = {}
        self._made: dict[int, tuple[weakref.ref[Tensor], Step]] = {}
        self.beside: dict[Any, list[Any]] = {}
        """By `grad_fn`: what the operation read besides that which autograd follows."""

    def see(self, tensor: Tensor, version: int | None = None) -> None:
        """Remember that the tensor has a node as it is now; the version of a new one is 0."""
        self._versions[id(tensor)] = version_of(tensor) if version is None else version

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        grad_fn = tensor.grad_fn
        if grad_fn is not None and isinstance(node := self._nodes.get(grad_fn), TensorNode):
            return node
        seen = self._versions.get(id(tensor))
        node = self._nodes.get(tensor) if seen is not None and seen == version_of(tensor) else None
        return node if isinstance(node, TensorNode) else None

    def of(self, tensor: Tensor) -> Step | None:
        """The operation that made the tensor, if autograd does not know it."""
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
        if isinstance(out, Tensor):
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
        """Runs for every operation, most of which autograd follows with all that they read."""
        is_followed = out.requires_grad
        read: list[Tensor] = []
        for arg in args:
            if (kind := type(arg)) is Tensor or kind is nn.Parameter:
                read.append(arg)
            elif arg is not None:
                tensors_in((arg,), read)
        read = tensors_in(kwargs.values(), read) if kwargs else read
        read = [tensor for tensor in read if not (is_followed and tensor.requires_grad)]
        sources = [source for tensor in read if (source := self._source(tensor, out)) is not None]
        if not sources:
            return
        if is_followed:
            if out.grad_fn is not None:
                self.beside.setdefault(out.grad_fn, []).extend(sources)
        elif not (len(sources) == 1 and sources[0] is out and self.node_of(out) is not None):
            self._made[id(out)] = (weakref.ref(out), Step(_name(func), sources))

    def _source(self, tensor: Tensor, out: Tensor) -> Any:
        """The recorded thing that a tensor is or comes from; None for a constant.

        A tensor that was just written to is still known as what it was before.
        """
        if tensor.grad_fn is not None:
            return tensor.grad_fn
        if (tensor is out and tensor in self._nodes) or self.node_of(tensor) is not None:
            return tensor
        step = self.of(tensor)
        if step is not None:
            return step
        return tensor if isinstance(tensor, nn.Parameter) or tensor.requires_grad else None


def _name(func: Callable[..., Any]) -> str:
    """The function as users write it: `argmax`, `add`; of a property (`x.T`) the property."""
    name = getattr(func, "__name__", type(func).__name__)
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return str(name).strip("_") or "op"


Pairs = dict[int, tuple[Tensor, Tensor, TensorNode | None]]
"""By `id`: a tensor, the one that is passed on in its place, and its node."""


@dataclass(slots=True, eq=False)
class ClassicCall(ModuleCall):
    taken: Pairs = field(default_factory=dict)


class ClassicRecording:
    """The data of a `torchrecorder.Recorder`, which puts the hooks on that fill it; apart, so that those can know it.

    Attributes:
        calls: The calls of modules. 1.0.3's API has no place where global hooks could be put on and taken off, so the
            hooks of each module fill it.
        steps: The operations that autograd does not follow.
    """

    def __init__(self) -> None:
        self.nodes: OrderedDict[Any, BaseNode] = OrderedDict({None: BaseNode("ContextDummy")})
        self.fn_types: dict[str, int] = {}
        self.edges: set[tuple[Any, Any]] = set()
        self.calls = CallLog(ClassicCall)
        self.steps = Steps(self.nodes)
        self._kinds: dict[type, type[BaseNode]] = {Tensor: TensorNode, nn.Parameter: ParamNode, Step: OpNode}
        self._fn_set: set[Any] = set()
        self._listed = 0

    @property
    def fn_set(self) -> set[Any]:
        """All objects that have a node, collected when it is asked for."""
        if self._listed != len(self.nodes):
            self._fn_set.update(self.nodes)
            self._listed = len(self.nodes)
        return self._fn_set

    def add_node(self, net: Any, depth: int = 0, parent: Any = None, name: str | None = None) -> None:
        """Construct a node that stores information related to `net`; a module gets its hooks too.

        Args:
            net: A module, tensor, parameter or `grad_fn`, stored as the node's `fn`.
            depth: The scope depth at which it is found.
            parent: The object as part of which it is run.
            name: What to call it; its class name, numbered from the second on, by default.

        Raises:
            NotRecordable: It is none of these (a RuntimeError).
            NotRecorded: `parent` has not been recorded (a KeyError).
        """
        cls = type(net)
        kind = self._kinds.get(cls)
        if kind is None:  # asking takes long
            kind = self._kinds[cls] = _node_class(net)
        scope = self.nodes.get(parent)
        if scope is None:
            raise NotRecorded(what=type(parent).__name__)
        word: str = net.name if cls is Step else cls.__name__
        count = self.fn_types[word] = self.fn_types.get(word, 0) + 1
        if name is None:
            name = word if count == 1 else f"{word}-{count}"
        elif depth > 0 and kind is LayerNode:
            name = f"{name}\n({word})"
        node = self.nodes[net] = kind(name, net, depth, parent)
        if isinstance(node, LayerNode):
            self._put_hooks(node)
        elif kind is not OpNode:
            self.steps.see(net)
        if isinstance(scope, LayerNode):
            scope.subnets.add(net)

    def _put_hooks(self, node: LayerNode) -> None:
        raise NotImplementedError

    def add_dummy(self, dummy: Any, fn: Any) -> None:
        """Let `dummy` point to the node of `fn`, instead of creating a separate one.

        Args:
            dummy: A tensor or operation that should not be recorded itself.
            fn: A recorded object that will be connected to further operations.

        Raises:
            NotRecorded: `fn` has not been recorded (a KeyError).
        """
        if fn not in self.nodes:
            raise NotRecorded(what=type(fn).__name__)
        self.point(dummy, self.nodes[fn])

    def point(self, dummy: Any, node: BaseNode) -> None:
        """Let `dummy` point to a node; see `add_dummy`."""
        self.nodes[dummy] = node
        if isinstance(dummy, Tensor):
            self.steps.see(dummy)

    def add_edge(self, _from: Any, _to: Any) -> None:
        """Construct an edge between two `fn`s; `nodes` says between which nodes it leads.

        Args:
            _from: The recorded object where it begins.
            _to: The recorded object where it ends.

        Raises:
            NothingToConnect: One of them is None (an AssertionError).
        """
        if _from is None or _to is None:
            raise NothingToConnect(tail=type(_from).__name__, head=type(_to).__name__)
        self.edges.add((_from, _to))


def _node_class(fn: Any) -> type[BaseNode]:
    if isinstance(fn, Tensor):
        return ParamNode if isinstance(fn, nn.Parameter) else TensorNode
    if isinstance(fn, nn.Module):
        return LayerNode
    if hasattr(fn, "next_functions") and not isinstance(fn, type):
        return OpNode
    raise NotRecordable(what=str(fn)[:200])
