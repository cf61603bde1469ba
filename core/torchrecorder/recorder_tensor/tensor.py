"""The tensor that records what is done with it, and the two functions that find such tensors in nested values."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from torch import ScriptMethod, Tensor

from torchrecorder.recorder_tensor.attaching import attach_node, tensor_name
from torchrecorder.recorder_tensor.attributes import stringify_attributes
from torchrecorder.recorder_tensor.collecting import collect_shape, collect_tensor_node
from torchrecorder.recorder_tensor.computation_node import FunctionNode, NodeContainer, TensorNode
from torchrecorder.recorder_tensor.walking import tensors_within
from torchrecorder.running import torch_private

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

    Both names of the second argument are good: `RecorderTensor(x, tensor_nodes=[node])`, `RecorderTensor(x, node)`,
    `RecorderTensor(x, tensor_node=node)`. The new tensor shares the memory of `x`.

    Attributes:
        tensor_nodes: Its nodes; the last is the one that the next function follows.
    """

    tensor_nodes: list[TensorNode]

    def __new__(cls: Any, x: Any, tensor_nodes: Any = _MISSING, *args: Any, **kwargs: Any) -> Any:
        """A tensor of this class on the memory of `x`.

        Raises:
            TypeError: No nodes are given, or arguments that a tensor does not take.
        """
        named = kwargs.pop("tensor_node", _MISSING)
        if tensor_nodes is _MISSING and named is _MISSING:
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
        """
        kwargs = {} if kwargs is None else kwargs
        inputs = reduce_data_info([args, kwargs], collect_tensor_node, NodeContainer[TensorNode]())
        run: Any = super().__torch_function__
        out = _OWN[func](*args, **kwargs) if func in _OWN else run(func, types, args, kwargs)
        if inputs:
            _record(func, inputs, [args, kwargs], out)
        return out


def _documented_new(cls: Any, x: Any, tensor_nodes: Any, *args: Any, **kwargs: Any) -> Any: ...


def _documented_init(self, x: Any, tensor_node: TensorNode | list[TensorNode]):  # type: ignore[no-untyped-def]
    ...


# Ours take both names of the second argument; what is shown is the signature that torchview documents.
RecorderTensor.__new__.__signature__ = inspect.signature(_documented_new)  # type: ignore[attr-defined]
RecorderTensor.__init__.__signature__ = inspect.signature(_documented_init)  # type: ignore[attr-defined]


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
    """
    for tensor in tensors_within(recorded_data):
        if isinstance(tensor, RecorderTensor):
            action_fn(tensor, collected, **kwargs)
    return collected


def traverse_data_inplace(recorded_data: Any, action_fn: Callable[..., Any], **kwargs: Any) -> None:
    """Call `action_fn(tensor, **kwargs)` for each RecorderTensor inside nested values, usually to change it.

    The tensors are found before the first is changed. One that is there twice is visited twice.
    """
    for tensor in _recorders(recorded_data):
        action_fn(tensor, **kwargs)


def _recorders(data: Any) -> list[RecorderTensor]:
    return [tensor for tensor in tensors_within(data) if isinstance(tensor, RecorderTensor)]


def _record(
    func: Callable[..., Any] | ScriptMethod[..., Any],
    inputs: NodeContainer[TensorNode],
    arguments: list[Any],
    out: Any,
) -> None:
    outputs = _recorders(out)
    if not outputs:
        return
    first = next(iter(inputs))
    collects = any(node.collect_attributes for node in inputs)
    call = FunctionNode(
        func,
        first.depth,
        inputs,  # type: ignore[arg-type]
        name=func.name if isinstance(func, ScriptMethod) else func.__name__,
        attributes=stringify_attributes(arguments) if collects else None,
    )
    for node in inputs:
        node.add_child(call)
    first.context.append(call)
    # After the call, hence after what a function in place does to shapes, as in torchview.
    call.set_input_shape(reduce_data_info(arguments, collect_shape, []))
    _attach_outputs(call, outputs, first, collects)
    call.set_output_shape(reduce_data_info(out, collect_shape, []))


def _attach_outputs(call: FunctionNode, outputs: list[RecorderTensor], first: TensorNode, collects: bool) -> None:
    """A node for each output; for one that is there twice, as broadcast_tensors gives it, two, as in torchview."""
    for tensor in outputs:
        kwargs = {
            "depth": first.depth,
            "name": tensor_name(first.depth),
            "parents": call,
            "context": first.context,
            "is_aux": False,
            "parent_hierarchy": {first.depth: call},
            "collect_attributes": collects,
        }
        attach_node(kwargs)(tensor)


def _deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Any:
    """What `Tensor.__deepcopy__` gives, as one of ours: torch cannot make a new tensor of this class by itself."""
    with torch_private.without_subclass_function():
        plain = tensor.as_subclass(Tensor)
        copied = copy.deepcopy(plain, memo).as_subclass(type(tensor))
    memo[id(tensor)] = copied
    return copied


def _formatted(tensor: Tensor, how: str) -> str:
    """What `Tensor.__format__` gives: of a subclass with one number, torch formats the object, not the number."""
    with torch_private.without_subclass_function():
        return format(tensor.as_subclass(Tensor), how)


_OWN: dict[Any, Callable[..., Any]] = {Tensor.__deepcopy__: _deep_copy, Tensor.__format__: _formatted}
"""What is done in another way than torch does it."""
