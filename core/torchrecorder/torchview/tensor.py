"""The tensor that records what is done with it, and the functions that find such tensors and give them nodes.

A tensor holds a stack of nodes: its own, and one auxiliary node for each module, from the outermost, that is being run
with it. The last is the one that an operation on the tensor follows.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, TypeVar

from torch import ScriptMethod, Tensor, nn

from torchrecorder.running import torch_private
from torchrecorder.running.nested import Items, answer, walk
from torchrecorder.torchview.computation_node import FunctionNode, ModuleNode, NodeContainer, TensorNode
from torchrecorder.torchview.utils import OrderedSet, shape_of, stringify_attributes

L = TypeVar("L")
_MISSING: Any = object()


class _EqualToTensor(type(Tensor)):  # type: ignore[misc]
    """Makes `type(x) == Tensor` and `type(x) in (Tensor, Parameter)` true of a recording tensor.

    Models ask so to find out whether they got a tensor. `type(x) is Tensor` cannot be helped. The hash is not that of
    Tensor: torch keeps a set of the classes it has asked, and would not ask this one after a plain tensor.
    """

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is Tensor

    __hash__ = type.__hash__


class RecorderTensor(Tensor, metaclass=_EqualToTensor):
    """Subclass of torch.Tensor that records the functions it goes through.

    Args:
        x: A tensor, whose memory the new one shares.
        tensor_nodes: Its node, or its nodes in a list. The name `tensor_node` is good too.

    Attributes:
        tensor_nodes: Its nodes; the last is the one that the next function follows.

    Raises:
        TypeError: No nodes are given, or arguments that a tensor does not take.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import RecorderTensor, TensorNode
        >>> x = torch.ones(2, 3)
        >>> y = RecorderTensor(x, TensorNode(x, depth=0, name="input-tensor")).relu().sum(1)
        >>> y.shape
        torch.Size([2])
        >>> list(y.tensor_nodes[-1].parents), list(y.tensor_nodes[-1].parents)[0].input_shape  # doctest: +ELLIPSIS
        ([sum at 0x...], [(2, 3)])
    """

    tensor_nodes: list[TensorNode]

    def __new__(
        cls: Any, x: Any, tensor_nodes: Any = _MISSING, *args: Any, tensor_node: Any = _MISSING, **kwargs: Any
    ) -> Any:
        if tensor_nodes is _MISSING and tensor_node is _MISSING:
            raise TypeError("RecorderTensor.__new__() missing 1 required positional argument: 'tensor_nodes'")
        return super().__new__(cls, x, *args, **kwargs)

    def __init__(self, x: Any, tensor_node: Any = _MISSING, *, tensor_nodes: Any = _MISSING) -> None:
        nodes = tensor_node if tensor_nodes is _MISSING else tensor_nodes
        self.tensor_nodes = [nodes] if isinstance(nodes, TensorNode) else nodes

    @classmethod
    def __torch_function__(
        cls: Any, func: Callable[..., Any] | ScriptMethod[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a function of torch; if it returns tensors, make nodes for the call and for them.

        Args:
            func: The function.
            types: The classes of the arguments that override functions.
            args: Its arguments; those that come from an input are RecorderTensors.
            kwargs: Its keyword arguments.

        Returns:
            What the function returns, its tensors as RecorderTensors.
        """
        kwargs = {} if kwargs is None else kwargs
        inputs = reduce_data_info([args, kwargs], collect_tensor_node, NodeContainer[TensorNode]())
        run: Any = super().__torch_function__
        out = _OWN[func](*args, **kwargs) if func in _OWN else run(func, types, args, kwargs)
        if inputs and (outputs := recorders(out)):
            _record(func, inputs, [args, kwargs], outputs)
        return out


def _documented_new(cls: Any, x: Any, tensor_nodes: Any, *args: Any, **kwargs: Any) -> Any: ...


def _documented_init(self, x: Any, tensor_node: TensorNode | list[TensorNode]):  # type: ignore[no-untyped-def]
    ...


# Ours take both names of the second argument; what is shown is the signature that torchview documents.
RecorderTensor.__new__.__signature__ = inspect.signature(_documented_new)  # type: ignore[attr-defined]
RecorderTensor.__init__.__signature__ = inspect.signature(_documented_init)  # type: ignore[attr-defined]

_CLOSED = (str, bytes, type, nn.Module, Iterator, range)
"""What holds no tensors, or cannot be iterated over without changing it: a generator belongs to the model."""


def is_open(data: Any) -> bool:
    """Whether torchview iterates over it; tensors and arrays are values."""
    return isinstance(data, Iterable) and not isinstance(data, _CLOSED) and not hasattr(data, "__array__")


def opened(data: Any) -> Items:
    """Items of what torchview opens besides containers: namespaces, and whatever can be iterated over."""
    if isinstance(data, SimpleNamespace):
        return vars(data).items()
    # transformers' caches refuse, while a layer is unset
    return answer(lambda: list(enumerate(data)) if is_open(data) else (), ())


def recorders(data: Any) -> list[RecorderTensor]:
    """The RecorderTensors inside nested values, each as often as it is there."""
    found = walk(data, Tensor, opened, depth=sys.maxsize)
    return [tensor for _, tensor in found if isinstance(tensor, RecorderTensor)]


def reduce_data_info(recorded_data: Any, action_fn: Callable[..., Any], collected: L, **kwargs: Any) -> L:
    """Call `action_fn(tensor, collected, **kwargs)` for each RecorderTensor inside nested values.

    Args:
        recorded_data: Tensors in mappings, iterables, dataclasses, namespaces; an iterator is not used up, hence not
            looked into.
        action_fn: One of the collectors, or a function of yours.
        collected: What the collector adds to.
        kwargs: For the collector.

    Returns:
        `collected` itself.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import collect_shape, reduce_data_info
        >>> from torchrecorder.torchview.torchview import get_recorder_tensor
        >>> x = get_recorder_tensor(torch.ones(2, 3))
        >>> reduce_data_info({"x": [x, x.T], "plain": torch.ones(1)}, collect_shape, [])
        [(2, 3), (3, 2)]
    """
    for tensor in recorders(recorded_data):
        action_fn(tensor, collected, **kwargs)
    return collected


def traverse_data_inplace(recorded_data: Any, action_fn: Callable[..., Any], **kwargs: Any) -> None:
    """Call `action_fn(tensor, **kwargs)` for each RecorderTensor inside nested values, usually to change it.

    The tensors are found before the first is changed. One that is there twice is visited twice.

    Args:
        recorded_data: As for `reduce_data_info`.
        action_fn: What to do with a tensor.
        kwargs: For `action_fn`.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import traverse_data_inplace
        >>> from torchrecorder.torchview.torchview import get_recorder_tensor
        >>> x = get_recorder_tensor(torch.ones(2, 3))
        >>> traverse_data_inplace([x, torch.ones(1)], lambda tensor: tensor.tensor_nodes.clear())
        >>> x.tensor_nodes
        []
    """
    for tensor in recorders(recorded_data):
        action_fn(tensor, **kwargs)


def collect_tensor_node(
    recorded_data: RecorderTensor, collected: NodeContainer[TensorNode], is_pop: bool = False
) -> None:
    """Add the newest node of a tensor; one without nodes, which did not come from an input, adds nothing.

    Args:
        recorded_data: The tensor.
        collected: What the node is added to.
        is_pop: Also take the node from the tensor.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import collect_tensor_node, reduce_data_info
        >>> from torchrecorder.torchview.torchview import get_recorder_tensor
        >>> x = get_recorder_tensor(torch.ones(2))
        >>> reduce_data_info([x], collect_tensor_node, set()) == set(x.tensor_nodes)
        True
    """
    nodes = getattr(recorded_data, "tensor_nodes", None)
    if nodes:
        collected.add(nodes.pop() if is_pop else nodes[-1])


def collect_tensor(recorded_data: RecorderTensor, collected: OrderedSet[RecorderTensor]) -> None:
    """Add the tensor itself.

    Args:
        recorded_data: The tensor.
        collected: What it is added to.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import RecorderTensor, collect_tensor
        >>> from torchrecorder.torchview.utils import OrderedSet
        >>> found = OrderedSet()
        >>> collect_tensor(torch.ones(2, 3).as_subclass(RecorderTensor), found)
        >>> len(found)
        1
    """
    collected.add(recorded_data)


def collect_shape(recorded_data: RecorderTensor, collected: list[tuple[int, ...]]) -> None:
    """Append the shape of the tensor.

    Args:
        recorded_data: The tensor.
        collected: Gets a tuple of all axes, the batch included, such as `(batch, channels, height, width)`.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import collect_shape
        >>> shapes = [(1, 3)]
        >>> collect_shape(torch.ones(2, 3), shapes)
        >>> shapes
        [(1, 3), (2, 3)]
    """
    collected.append(shape_of(recorded_data))


def collect_tensor_node_id_dict(recorded_data: RecorderTensor, collected: dict[RecorderTensor, TensorNode]) -> None:
    """Map the tensor to the node that its newest node stands for; one without nodes adds nothing.

    Args:
        recorded_data: The tensor.
        collected: Gets the entry.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.recorder_tensor import collect_tensor_node_id_dict
        >>> from torchrecorder.torchview.torchview import get_recorder_tensor
        >>> tensor, nodes = get_recorder_tensor(torch.ones(2, 3)), {}
        >>> collect_tensor_node_id_dict(tensor, nodes)
        >>> nodes[tensor].name
        'input-tensor'
    """
    nodes = getattr(recorded_data, "tensor_nodes", None)
    if nodes:
        collected[recorded_data] = nodes[-1].main_node


def tensor_name(depth: int, shallow: str = "output-tensor") -> str:
    return shallow if depth == 0 else "hidden-tensor"


def attach_node(
    kwargs: dict[str, Any], tensor_to_node: dict[RecorderTensor, TensorNode] | None = None
) -> Callable[..., Any]:
    """The function that gives a tensor a new node, which is a child of `kwargs["parents"]`.

    Under a ModuleNode the tensor, an input, gets one node more. Under a FunctionNode the tensor is an output: the new
    node is its first or, if the function worked in place, replaces its last.

    Args:
        kwargs: Arguments of `TensorNode`; `is_aux`, `parents`, `depth` and `context` must be there. The list
            `kwargs["context"]` gets the new node, as does `kwargs` itself a `main_node`.
        tensor_to_node: For auxiliary nodes, the node that each tensor's stands for.

    Returns:
        A function of one argument, the tensor, which it changes. It raises what is below.

    Raises:
        KeyError: An argument that must be there is not.
        AssertionError: The parent is neither of the two, or a tensor that enters a module has no nodes.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import FunctionNode, RecorderTensor
        >>> from torchrecorder.torchview.recorder_tensor import attach_node
        >>> call, context = FunctionNode(torch.ones, depth=1, name="ones"), []
        >>> made = torch.ones(2).as_subclass(RecorderTensor)
        >>> attach_node({"parents": call, "depth": 1, "context": context, "is_aux": False, "name": "made"})(made)
        >>> [node.name for node in made.tensor_nodes], context == list(call.children) == made.tensor_nodes
        (['made'], True)
    """

    def _func(recorded_tensor: RecorderTensor) -> None:
        if kwargs["is_aux"] and tensor_to_node is not None:
            kwargs["main_node"] = tensor_to_node.get(recorded_tensor)
        node = TensorNode(recorded_tensor, **{key: value for key, value in kwargs.items() if key != "tensor_to_node"})
        parent = kwargs["parents"]
        if not isinstance(parent, (FunctionNode, ModuleNode)):
            raise AssertionError(f"Node {parent} to which to attach must be eitherFunctionNode or ModuleNode")
        nodes = getattr(recorded_tensor, "tensor_nodes", None)
        if isinstance(parent, ModuleNode):
            if nodes is None:
                raise AssertionError(f"RecorderTensor to be attached to the Node{parent} must have tensor node")
            nodes.append(node)
        elif nodes:
            nodes[-1] = node
        else:
            recorded_tensor.tensor_nodes = [node]
        kwargs["context"].append(node)
        parent.add_child(node)

    return _func


def _record(
    func: Callable[..., Any] | ScriptMethod[..., Any],
    inputs: NodeContainer[TensorNode],
    arguments: list[Any],
    outputs: list[RecorderTensor],
) -> None:
    name = func.name if isinstance(func, ScriptMethod) else func.__name__
    # After the call, hence after what a function in place does to shapes, as in torchview.
    call, kwargs = called(FunctionNode, func, name, inputs, arguments, arguments)
    first = next(iter(inputs))
    first.context.append(call)
    kwargs |= {"context": first.context, "depth": first.depth, "name": tensor_name(first.depth), "is_aux": False}
    for tensor in outputs:  # one that is there twice, as broadcast_tensors gives it, has two nodes, as in torchview
        attach_node({**kwargs, "parent_hierarchy": {first.depth: call}})(tensor)
    call.set_output_shape([shape_of(tensor) for tensor in outputs])


def called(
    kind: Callable[..., Any], unit: Any, name: str, inputs: NodeContainer[TensorNode], given: Any, described: Any
) -> tuple[Any, dict[str, Any]]:
    """The node of a call with those inputs, and what the nodes of tensors at it have in common."""
    collects = any(node.collect_attributes for node in inputs)
    text = stringify_attributes(described) if collects else None
    call = kind(unit, next(iter(inputs)).depth, inputs, name=name, attributes=text)
    for node in inputs:
        node.add_child(call)
    call.set_input_shape(reduce_data_info(given, collect_shape, []))
    return call, {"parents": call, "collect_attributes": collects}


def _deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Any:
    """A copy as `Tensor.__deepcopy__` makes it, of our class: torch cannot make a new tensor of that by itself."""
    with torch_private.without_subclass_function():
        plain = tensor.as_subclass(Tensor)
        copied = memo[id(tensor)] = copy.deepcopy(plain, memo).as_subclass(type(tensor))
    return copied


def _formatted(tensor: Tensor, how: str) -> str:
    """The text of `Tensor.__format__`: of a subclass with one number, torch formats the object, not the number."""
    with torch_private.without_subclass_function():
        return format(tensor.as_subclass(Tensor), how)


_OWN: dict[Any, Callable[..., Any]] = {Tensor.__deepcopy__: _deep_copy, Tensor.__format__: _formatted}
"""What is done in another way than torch does it."""
