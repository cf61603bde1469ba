"""The hooks that run before and after each module: they record the tensors that pass and put dummies in their place."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.classic.recording import ClassicCall, ClassicRecording
from torchrecorder.classic.walk import can_follow, dummy_of, leaf_acc, op_acc, own_parameters, tensor_acc
from torchrecorder.nodes import BaseNode, LayerNode, ParamNode, TensorNode
from torchrecorder.running import torch_private
from torchrecorder.running.nested import map_tensors

_Passed = tuple[Tensor, TensorNode | None]
"""The tensor that is passed on in the place of another, and its node."""

_Pairs = dict[int, tuple[Tensor, Tensor, TensorNode | None]]
"""By `id`: a tensor, the one that is passed on in its place, and its node."""


def prehook(module: nn.Module, inputs: Any, rec: ClassicRecording, node: LayerNode) -> Any:
    """Hook to record BEFORE the given module is run.

    Records the parameters of `module`, then the operations that made `inputs` since the end of the previous module,
    then `inputs` themselves.

    Args:
        module: The module.
        inputs: A tensor or a tuple of tensors; other values may be among them, at any depth.
        rec: The recorder for global information.
        node: The layer; `node.fn` is `module`.

    Returns:
        The leaf-equivalent of `inputs`.
    """
    with torch_private.without_torch_function():
        for name, param in own_parameters(module):
            known = rec.nodes.get(param)
            if known is None:
                rec.add_node(param, depth=node.depth + 1, parent=module, name=name)
            elif known.parent is not None:
                known.name = name  # that of the module that was called last, as in 1.0.3
        taken = _taken(inputs, rec, node)
        call = rec.calls.enter(module)
        call.is_training = module.training
        return _replaced(inputs, taken, call, rec)


def posthook(module: nn.Module, inputs: Any, outputs: Any, rec: ClassicRecording, node: LayerNode) -> Any:
    """Hook to record AFTER the given module has run and returned.

    Records the operations that made `outputs` inside `module`. An output that a module inside it gave already moves
    to the scope of this one. Where no operation is known, as with a module that returns its argument, edges lead from
    the inputs to `module` and from there to the output.

    Args:
        module: The module.
        inputs: A tensor or a tuple of tensors.
        outputs: A tensor or a tuple of tensors; other values may be among them, at any depth.
        rec: The recorder for global information.
        node: The layer; `node.fn` is `module`.

    Returns:
        The leaf-equivalent of `outputs`.
    """
    with torch_private.without_torch_function():
        call = rec.calls.running(module)
        nodes = map(rec.node_of, _tensors(inputs)) if call is None else call.inputs
        taken = [found for found in nodes if found is not None]
        given: _Pairs = {}
        for tensor in _tensors(outputs):
            if id(tensor) not in given:
                given[id(tensor)] = (tensor, *_give(tensor, rec, node, taken))
        if call is not None:
            call.outputs += [found for _, _, found in given.values() if found is not None]
            _write_back(call, rec, node)
            call.replaced.clear()
            call.returned = True
            rec.calls.leave()
        return _in_place_of(outputs, given)


def backhook(module: nn.Module, grad_inputs: Any, grad_outputs: Any, rec: ClassicRecording, node: LayerNode) -> None:
    """Do nothing; 1.0.3 has a function of this name that does nothing."""


class Before(partial[Any]):
    """`prehook` with its recorder and node, as the one hook of a module that sees keyword arguments too."""

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any] | None = None) -> Any:
        """The leaf-equivalents of both; of `args` only where there are no `kwargs`, as `prehook` gives them."""
        args = super().__call__(module, args)
        rec: ClassicRecording = self.keywords["rec"]
        if kwargs and (call := rec.calls.running(module)) is not None:
            with torch_private.without_torch_function():
                with rec.calls.suspended():
                    taken = _taken(kwargs, rec, self.keywords["node"])
                kwargs = _replaced(kwargs, taken, call, rec)
        return args if kwargs is None else (args, kwargs)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if type(value) is tuple and len(value) == 1 and isinstance(value[0], Tensor):
        return [value[0]]
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tensors(value, keep)
    return found


def _in_place_of(value: Any, pairs: _Pairs) -> Any:
    if type(value) is tuple and len(value) == 1 and isinstance(value[0], Tensor):
        return (pairs[id(value[0])][1],)
    return map_tensors(value, lambda tensor: pairs[id(tensor)][1])


def _taken(inputs: Any, rec: ClassicRecording, node: LayerNode) -> _Pairs:
    parent, caller = rec.nodes.get(node.parent), rec.calls.current
    is_elsewhere = caller is not None and caller.module is not node.parent
    if caller is not None and is_elsewhere and any(child is node.fn for child in caller.module.children()):
        parent = rec.nodes[caller.module]  # a second layer has it as a child, and calls it
    scope = parent if isinstance(parent, LayerNode) else None
    taken: _Pairs = {}
    for tensor in _tensors(inputs):
        if id(tensor) not in taken:
            taken[id(tensor)] = (tensor, *_take(tensor, rec, node, scope))
    return taken


def _take(tensor: Tensor, rec: ClassicRecording, node: LayerNode, scope: LayerNode | None) -> _Passed:
    known = rec.node_of(tensor)
    if scope is None and not can_follow(tensor):
        tensor_acc(tensor, rec, node)
        copy = tensor.clone()  # it is the user's own, and the forward may write to it
        rec.add_dummy(copy, tensor)
        return copy, rec.node_of(copy)
    if known is not None:
        is_dummy = tensor.grad_fn is not None and rec.nodes.get(tensor.grad_fn) is known
        return (tensor, known) if is_dummy or isinstance(known, ParamNode) else _followed(tensor, known, rec)
    if tensor.requires_grad and tensor.is_leaf and scope is not None:
        leaf_acc(tensor, rec, scope)
        return tensor, rec.node_of(tensor)
    origin = _origin(tensor, rec)
    fn = _new_fn(tensor, rec)
    op_acc(origin, rec, rec.nodes[None] if scope is None else scope)
    tensor_acc(fn, rec, node)
    if origin in rec.nodes and origin is not None:
        rec.add_edge(origin, fn)
    return _followed(tensor, rec.nodes[fn], rec)


def _give(tensor: Tensor, rec: ClassicRecording, node: LayerNode, taken: list[TensorNode]) -> _Passed:
    is_new_leaf = tensor.is_leaf and tensor.requires_grad and tensor not in rec.nodes
    if is_new_leaf:
        leaf_acc(tensor, rec, node)
    known = rec.node_of(tensor)
    is_leaf = is_new_leaf or isinstance(known, ParamNode)
    if known is not None and not is_leaf and not any(known is other for other in taken):
        _lift(known, rec, node)
        return tensor, known
    fn = _new_fn(tensor, rec)
    tensor_acc(fn, rec, node)
    origin = known.fn if known is not None and is_leaf else None if known is not None else _origin(tensor, rec)
    if origin is not None:
        op_acc(origin, rec, node)
        rec.add_edge(origin, fn)
    else:
        for source in [known] if known is not None else taken:
            rec.add_edge(source.fn, node.fn)
        rec.add_edge(node.fn, fn)
    return _followed(tensor, rec.nodes[fn], rec)


def _origin(tensor: Tensor, rec: ClassicRecording) -> Any:
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return tensor if tensor.requires_grad and rec.calls.current is not None else rec.steps.of(tensor)


def _new_fn(tensor: Tensor, rec: ClassicRecording) -> Tensor:
    """The tensor, or another face of it if it stands for something else already: it was written to, or passed on."""
    return tensor.detach() if tensor in rec.nodes else tensor


def _lift(known: TensorNode, rec: ClassicRecording, node: LayerNode) -> None:
    """Move what a layer inside gave to the scope around this one, which gives it too."""
    if known.depth <= node.depth:
        return
    inner, outer = rec.nodes.get(known.parent), rec.nodes.get(node.parent)
    if isinstance(inner, LayerNode):
        inner.subnets.discard(known.fn)
    known.depth, known.parent = node.depth, node.parent
    if isinstance(outer, LayerNode):
        outer.subnets.add(known.fn)


def _followed(tensor: Tensor, node: BaseNode, rec: ClassicRecording) -> _Passed:
    """The dummy of a recorded tensor, which requires grad if it may."""
    found = node if isinstance(node, TensorNode) else None
    if torch.is_grad_enabled() and can_follow(tensor):
        return dummy_of(tensor if tensor.requires_grad else tensor.detach().requires_grad_(), node, rec), found
    if tensor is not node.fn:
        rec.point(tensor, node)
    return tensor, found


def _replaced(value: Any, taken: _Pairs, call: ClassicCall, rec: ClassicRecording) -> Any:
    for tensor, dummy, found in taken.values():
        if found is not None:
            call.inputs.append(found)
        if dummy is not tensor:
            call.replaced.append((tensor, dummy))
    return _in_place_of(value, taken)


def _write_back(call: ClassicCall, rec: ClassicRecording, node: LayerNode) -> None:
    """What the module wrote into a dummy is written into the argument, which the caller may go on using."""
    if call.parent is None:  # the user's own tensors stay as they are
        return
    for tensor, dummy in call.replaced:
        if torch_private.version_of(dummy) == 0 or dummy.grad_fn is None:
            continue
        op_acc(dummy.grad_fn, rec, node)
        try:
            tensor.copy_(dummy)
        except RuntimeError:  # a leaf, or a view that cannot be written to
            continue
        if tensor.grad_fn is not None:
            rec.add_dummy(tensor.grad_fn, dummy.grad_fn)
