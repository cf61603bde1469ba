"""The walk through autograd's graph: what was computed between two tensors that are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.classic.recording import ClassicRecording, Step
from torchrecorder.errors import NotRecorded
from torchrecorder.nodes import BaseNode, LayerNode
from torchrecorder.running import torch_private


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
    # Inside of vmap, jvp and grad, `requires_grad_` raises; `classic.recording.Steps` follows the operations.
    is_number = tensor.is_floating_point() or tensor.is_complex()
    return is_number and not torch_private.is_functorch_wrapped(tensor)
