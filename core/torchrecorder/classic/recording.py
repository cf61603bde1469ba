"""What a classic recording has found, and the walk through autograd's graph between two tensors that are recorded.

Autograd keeps a path only between tensors that require grad. While a recording runs, a mode sees every call of torch's
public functions and keeps, for what autograd leaves out (integers, frozen weights, no_grad, detached tensors), which
recorded things the result was made from.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torchrecorder.errors import NothingToConnect, NotRecordable, NotRecorded
from torchrecorder.nodes import BaseNode, LayerNode, OpNode, ParamNode, TensorNode
from torchrecorder.running import torch_private
from torchrecorder.running.handles import CallLog, ModuleCall
from torchrecorder.running.nested import tensors_in

NEED_NO_GRAD: set[Any] = {Tensor.numpy, Tensor.__array__, Tensor.__deepcopy__}
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
        self._versions[id(tensor)] = torch_private.version_of(tensor) if version is None else version

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        grad_fn = tensor.grad_fn
        if grad_fn is not None and isinstance(node := self._nodes.get(grad_fn), TensorNode):
            return node
        seen = self._versions.get(id(tensor))
        node = self._nodes.get(tensor) if seen is not None and seen == torch_private.version_of(tensor) else None
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
        if func in NEED_NO_GRAD and isinstance(args[0], Tensor) and args[0].requires_grad:
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
            name = getattr(func, "__name__", type(func).__name__)
            if name == "__get__":  # of a property, `x.T`, whose name users write
                name = getattr(getattr(func, "__self__", None), "__name__", name)
            self._made[id(out)] = (weakref.ref(out), Step(str(name).strip("_") or "op", sources))

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


def op_acc(gf: Any, rec: ClassicRecording, node: BaseNode) -> None:
    """Operator accumulator: an `OpNode` for `gf` and for each operation it is connected to, if not yet recorded.

    An accumulation of gradients points to its tensor instead. The walk is iterative, since a
    recursive one, as in 1.0.3, exceeds Python's recursion limit on long chains.

    Args:
        gf: A `grad_fn` object obtained from a tensor; None is passed over.
        rec: The recorder whose nodes are updated.
        node: The layer whose `fn` the operation is a part of, or the scope around the model.

    Examples:
        >>> import torch
        >>> from torchrecorder.recorder import Recorder, op_acc
        >>> rec, x = Recorder(), torch.ones(3, requires_grad=True)
        >>> rec.add_node(x, name="Input")
        >>> op_acc((x * 2).relu().grad_fn, rec, rec.nodes[None])
        >>> [node.name for node in rec.nodes.values()][2:4]
        ['ReluBackward0', 'MulBackward0']
    """
    nodes, depth, scope = rec.nodes, node.depth + 1, node.fn
    if gf is None or gf in nodes or _is_leaf(gf, rec, node):
        return
    rec.add_node(gf, depth=depth, parent=scope)
    path = [(gf, nodes[gf], _sources(gf, rec))]
    while path:
        current, made, sources = path[-1]
        for source in sources:
            known = nodes.get(source)
            is_new = known is None and not _is_leaf(source, rec, node)
            if is_new:
                rec.add_node(source, depth=depth, parent=scope)
            if known is None:
                known = nodes[source]
            if known is not made:
                rec.add_edge(source, current)
            if is_new:
                path.append((source, known, _sources(source, rec)))
                break
        else:
            path.pop()


def _sources(fn: Any, rec: ClassicRecording) -> Iterator[Any]:
    if type(fn) is Step:
        return iter(fn.sources)
    followed = [source for source, _ in fn.next_functions if source is not None]
    beside = rec.steps.beside.get(fn) if rec.steps.beside else None
    return iter(followed + beside if beside else followed)


def _is_leaf(fn: Any, rec: ClassicRecording, node: BaseNode) -> bool:
    """Whether the walk stops at `fn`, which has no node yet: it is a leaf, and gets one now."""
    if hasattr(fn, "variable") and not fn.next_functions:  # an accumulation of gradients
        leaf_acc(fn.variable, rec, node)
        rec.point(fn, rec.nodes[fn.variable])
        return True
    if isinstance(fn, Tensor):
        leaf_acc(fn, rec, node)
        return True
    return False


def leaf_acc(leaf: Tensor, rec: ClassicRecording, node: BaseNode) -> None:
    """Record a leaf met inside a layer: a parameter of a module that was not called, or a tensor from elsewhere."""
    if leaf in rec.nodes:
        return
    for owner in [other for other in rec.nodes.values() if isinstance(other, LayerNode)]:
        for name, parameter in own_parameters(owner.fn):
            if parameter is leaf:
                param_acc(leaf, rec, owner)
                rec.nodes[leaf].name = name
                return
    param_acc(leaf, rec, node)


def tensor_acc(tensor: Tensor, rec: ClassicRecording, node: BaseNode) -> None:
    """Tensor accumulator: a `TensorNode` for `tensor`, if not yet recorded, in the same scope as `node`.

    Args:
        tensor: A tensor that `node.fn` takes or gives.
        rec: The recorder whose nodes are updated.
        node: The layer.

    Examples:
        >>> import torch
        >>> from torchrecorder.recorder import Recorder, tensor_acc
        >>> rec, net, x = Recorder(), torch.nn.ReLU(), torch.ones(3)
        >>> rec.add_node(net)
        >>> tensor_acc(x, rec, rec.nodes[net])
        >>> rec.nodes[x].name, rec.nodes[x].depth
        ('Tensor', 0)
    """
    if tensor not in rec.nodes:
        rec.add_node(tensor, depth=node.depth, parent=node.parent)


def param_acc(param: Tensor, rec: ClassicRecording, node: BaseNode) -> None:
    """Parameter accumulator: a `ParamNode` for `param`, if not yet recorded, inside `node.fn`.

    Args:
        param: A parameter.
        rec: The recorder whose nodes are updated.
        node: The layer whose `fn` contains it.

    Examples:
        >>> import torch
        >>> from torchrecorder.recorder import Recorder, param_acc
        >>> rec, net = Recorder(), torch.nn.Linear(3, 2)
        >>> rec.add_node(net)
        >>> param_acc(net.weight, rec, rec.nodes[net])
        >>> rec.nodes[net.weight].name, rec.nodes[net.weight].depth
        ('Parameter', 1)
    """
    if param not in rec.nodes:
        rec.add_node(param, depth=node.depth + 1, parent=node.fn)


def leaf_dummy(tensor: Tensor, rec: ClassicRecording) -> Tensor:
    """Perform a dummy operation (adding 0) on a recorded tensor, to tell what happens to it from what has.

    The dummy and its operation are not recorded, they point to the node of the tensor. Tensors that autograd cannot
    follow (integers, sparse ones) are their own dummy.

    Args:
        tensor: A recorded tensor.
        rec: The recorder whose nodes are updated.

    Returns:
        The tensor after adding 0.

    Raises:
        NotRecorded: `tensor` has not been recorded (a KeyError).

    Examples:
        >>> import torch
        >>> from torchrecorder.recorder import Recorder, leaf_dummy
        >>> rec, x = Recorder(), torch.ones(3, requires_grad=True)
        >>> rec.add_node(x, name="Input")
        >>> dummy = leaf_dummy(x, rec)
        >>> rec.nodes[dummy] is rec.nodes[dummy.grad_fn] is rec.nodes[x]
        True
    """
    if tensor not in rec.nodes:
        raise NotRecorded(what=type(tensor).__name__)
    return put_dummy(tensor + 0, rec.nodes[tensor], rec) if can_follow(tensor) else tensor


def put_dummy(dummy: Tensor, node: BaseNode, rec: ClassicRecording) -> Tensor:
    """Let a new tensor and the operation that made it point to a node; gives the tensor."""
    rec.nodes[dummy] = node
    rec.steps.see(dummy, 0)
    if dummy.grad_fn is not None:
        rec.nodes[dummy.grad_fn] = node
    return dummy


def own_parameters(module: nn.Module) -> Iterable[tuple[str, Tensor]]:
    """The parameters of a module itself with their names; `named_parameters` takes ten times as long."""
    own = module.__dict__.get("_parameters")
    if type(own) is not dict:
        # What is inside a script module is not called from Python, so its parameters are met here only.
        return module.named_parameters(recurse=isinstance(module, torch.jit.ScriptModule))
    return [(name, parameter) for name, parameter in own.items() if parameter is not None]


def can_follow(tensor: Tensor) -> bool:
    """Whether autograd can follow the tensor, and adding 0 gives one of the same kind."""
    if tensor.layout is not torch.strided or tensor.element_size() <= 1 or tensor.is_inference():
        return False
    if tensor.requires_grad:
        return True
    # Inside of vmap, jvp and grad, `requires_grad_` raises; `Steps` follows the operations.
    is_number = tensor.is_floating_point() or tensor.is_complex()
    return is_number and not torch_private.is_functorch_wrapped(tensor)
