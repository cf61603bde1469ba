"""The recorder of torchrecorder 1.0.3: hooks on every module, and a walk through autograd's graph between them.

Before and after each module the tensors that pass get a dummy operation (a copy), at which the walk stops. So every
operation is found in the module that ran it, under the name autograd gives it. What autograd leaves out (integers,
frozen weights, no_grad, detached tensors) is added by `classic.recording.Steps` while a recording runs, and where
nothing is known of a result, edges lead from the inputs of a module through it to that result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchrecorder.classic.recording import (
    ClassicCall,
    ClassicRecording,
    Pairs,
    can_follow,
    leaf_acc,
    leaf_dummy,
    op_acc,
    own_parameters,
    param_acc,
    put_dummy,
    tensor_acc,
)
from torchrecorder.nodes import LayerNode, ParamNode, TensorNode
from torchrecorder.running import torch_private
from torchrecorder.running.handles import Handle
from torchrecorder.running.nested import map_tensors, named_tensors

__all__ = ["Recorder", "backhook", "leaf_dummy", "op_acc", "param_acc", "posthook", "prehook", "tensor_acc"]


class Recorder(ClassicRecording):
    """Record and store execution graph information. Not thread-safe; one forward per recorder.

    `torchrecorder.record` does what the example does, and leaves the network as it was. Ported from torchrecorder
    1.0.3, whose `edges` held a time too.

    Attributes:
        fn_set: The objects that contain recordable information, each the `fn` of a node.
        nodes: The node of each object; several may lead to one node. `nodes[None]` is the scope around the model.
        fn_types: How many objects of a type there were, by its name; numbers the names.
        edges: Pairs of objects; `nodes` says between which nodes an edge leads.

    Examples:
        >>> import torch
        >>> from torchrecorder import Recorder
        >>> net, rec = torch.nn.ReLU(), Recorder()
        >>> rec.register_hooks(net, name="Net")
        >>> x = torch.ones(1, 3, requires_grad=True)
        >>> rec.add_node(x, name="Input")
        >>> out = net(x)
        >>> rec.remove_hooks()
        >>> sorted((rec.nodes[tail].name, rec.nodes[head].name) for tail, head in rec.edges)
        [('Input', 'ReluBackward0'), ('ReluBackward0', 'Tensor-2')]
    """

    def __init__(self) -> None:
        super().__init__()
        self._hooked: dict[nn.Module, tuple[Handle, Handle]] = {}

    def _put_hooks(self, node: LayerNode) -> None:
        net = node.fn
        for handle in self._hooked.pop(net, ()):  # those that this recorder has put on before
            handle.remove()
        before, after = Before(prehook, rec=self, node=node), partial(posthook, rec=self, node=node)
        if isinstance(net, torch.jit.ScriptModule):  # most take no hooks, but all run those of all modules
            node.pre = register_module_forward_pre_hook(lambda module, x: before(net, x) if module is net else None)
            node.post = register_module_forward_hook(lambda module, x, y: after(net, x, y) if module is net else None)
        else:
            node.pre = net.register_forward_pre_hook(before, with_kwargs=True)
            node.post = net.register_forward_hook(after)
        self._hooked[net] = (node.pre, node.post)

    def register_hooks(self, net: nn.Module, depth: int = 0, parent: Any = None, name: str | None = None) -> None:
        """Register the hooks on a module and all modules in it: partial versions of `prehook` and `posthook`.

        A module that stands in several places keeps the first one. torch refuses hooks on a script module; for it they
        are put on all modules, and what is inside it is drawn as its own.

        Args:
            net: The module.
            depth: Its scope depth.
            parent: The module it belongs to.
            name: Its name.

        Raises:
            NotRecorded: `parent` has not been recorded (a KeyError).
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


_Passed = tuple[Tensor, TensorNode | None]
"""The tensor that is passed on in the place of another, and its node."""


def prehook(module: nn.Module, inputs: Any, rec: ClassicRecording, node: LayerNode) -> Any:
    """Hook to record BEFORE the given module is run.

    Records the parameters of `module`, then the operations that made `inputs` since the end of the previous module,
    then `inputs` themselves. `Recorder.register_hooks` puts it on; after 1.0.3, which took tensors and tuples only.

    Args:
        module: The module.
        inputs: A tensor or a tuple of tensors; other values may be among them, at any depth.
        rec: The recorder for global information.
        node: The layer; `node.fn` is `module`.

    Returns:
        The leaf-equivalent of `inputs`.

    Examples:
        >>> from torch import nn, ones
        >>> from torchrecorder.recorder import Recorder, prehook
        >>> rec, net = Recorder(), nn.Linear(3, 2)
        >>> rec.add_node(net, name="Net")
        >>> x = prehook(net, (ones(1, 3),), rec, rec.nodes[net])
        >>> [node.name for node in rec.nodes.values()][1:5]
        ['Net', 'weight', 'bias', 'Tensor']
    """
    return Before(prehook, rec=rec, node=node)(module, inputs)


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

    Examples:
        >>> from torch import nn, ones
        >>> from torchrecorder.recorder import Recorder, posthook, prehook
        >>> rec, net = Recorder(), nn.ReLU()
        >>> rec.register_hooks(net, name="Net")
        >>> rec.remove_hooks()
        >>> x = prehook(net, ones(3), rec, rec.nodes[net])
        >>> y = posthook(net, x, net(x), rec, rec.nodes[net])
        >>> rec.nodes[y].name
        'Tensor-2'
    """
    with torch_private.without_torch_function():
        call = rec.calls.running(module)
        if call is None:
            nodes = [rec.steps.node_of(tensor) for _, tensor in named_tensors(inputs)]
        else:
            nodes = [known for _, _, known in call.taken.values()]
        taken = [known for known in nodes if known is not None]
        outputs = _swapped(outputs, {}, partial(_give, rec=rec, node=node, taken=taken))
        if call is not None:
            if call.parent is not None:  # the user's own tensors stay as they are
                _write_back(call, rec, node)
            call.taken = {}
            rec.calls.leave()
        return outputs


def backhook(module: nn.Module, grad_inputs: Any, grad_outputs: Any, rec: ClassicRecording, node: LayerNode) -> None:
    """Do nothing; 1.0.3 has a function of this name that does nothing.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.recorder import Recorder, backhook
        >>> backhook(nn.ReLU(), (), (), Recorder(), None)
    """


class Before(partial[Any]):
    """`prehook` with its recorder and node, as the one hook of a module that sees keyword arguments too."""

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any] | None = None) -> Any:
        """The leaf-equivalents of both; of `args` only where there are no `kwargs`, as `prehook` gives them."""
        rec: ClassicRecording = self.keywords["rec"]
        node: LayerNode = self.keywords["node"]
        with torch_private.without_torch_function():
            for name, param in own_parameters(module):
                known = rec.nodes.get(param)
                if known is None:
                    rec.add_node(param, depth=node.depth + 1, parent=module, name=name)
                elif known.parent is not None:
                    known.name = name  # that of the module that was called last, as in 1.0.3
            taken: Pairs = {}
            # the layer from which this one is called now; None for the model
            scope, caller = rec.nodes.get(node.parent), rec.calls.current
            is_elsewhere = caller is not None and caller.module is not node.parent
            if caller is not None and is_elsewhere and any(child is node.fn for child in caller.module.children()):
                scope = rec.nodes[caller.module]  # a second layer has it as a child, and calls it
            take = partial(_take, rec=rec, node=node, scope=scope if isinstance(scope, LayerNode) else None)
            args = _swapped(args, taken, take)
            if kwargs:
                kwargs = _swapped(kwargs, taken, take)
            rec.calls.enter(module).taken = taken
        return args if kwargs is None else (args, kwargs)


def _swapped(value: Any, pairs: Pairs, swap: Callable[[Tensor], _Passed]) -> Any:
    """The value with another tensor in the place of each; `pairs` has those that were met before."""
    is_alone = type(value) is tuple and len(value) == 1
    tensor = value[0] if is_alone else value
    if isinstance(tensor, Tensor):  # nearly always
        pairs[id(tensor)] = pair = (tensor, *swap(tensor))
        return (pair[1],) if is_alone else pair[1]

    def once(tensor: Tensor) -> Tensor:
        if id(tensor) not in pairs:
            pairs[id(tensor)] = (tensor, *swap(tensor))
        return pairs[id(tensor)][1]

    return map_tensors(value, once)


def _take(tensor: Tensor, rec: ClassicRecording, node: LayerNode, scope: LayerNode | None) -> _Passed:
    known = rec.steps.node_of(tensor)
    if scope is None and not can_follow(tensor):
        tensor_acc(tensor, rec, node)
        copy = tensor.clone()  # it is the user's own, and the forward may write to it
        rec.add_dummy(copy, tensor)
        return copy, rec.steps.node_of(copy)
    if known is not None:
        is_dummy = tensor.grad_fn is not None and rec.nodes.get(tensor.grad_fn) is known
        return (tensor, known) if is_dummy or isinstance(known, ParamNode) else _followed(tensor, known, rec)
    if tensor.requires_grad and tensor.is_leaf and scope is not None:
        leaf_acc(tensor, rec, scope)
        return tensor, rec.steps.node_of(tensor)
    origin = _origin(tensor, rec)
    op_acc(origin, rec, rec.nodes[None] if scope is None else scope)
    fn = _added(tensor, rec, node)
    if origin is not None and origin in rec.nodes:
        rec.add_edge(origin, fn)
    return _followed(tensor, rec.nodes[fn], rec)


def _give(tensor: Tensor, rec: ClassicRecording, node: LayerNode, taken: list[TensorNode]) -> _Passed:
    is_new_leaf = tensor.requires_grad and tensor.is_leaf and tensor not in rec.nodes
    if is_new_leaf:
        leaf_acc(tensor, rec, node)
    known = rec.steps.node_of(tensor)
    if known is None:
        origin = _origin(tensor, rec)
    elif is_new_leaf or isinstance(known, ParamNode):
        origin = known.fn
    elif any(known is other for other in taken):
        origin = None
    else:
        _lift(known, rec, node)
        return tensor, known
    fn = _added(tensor, rec, node)
    if origin is None:
        for source in taken if known is None else [known]:
            rec.add_edge(source.fn, node.fn)
        origin = node.fn
    else:
        op_acc(origin, rec, node)
    rec.add_edge(origin, fn)
    return _followed(tensor, rec.nodes[fn], rec)


def _added(tensor: Tensor, rec: ClassicRecording, node: LayerNode) -> Tensor:
    """Record the tensor, or its alias if it was rewritten or passed on."""
    fn = tensor.detach() if tensor in rec.nodes else tensor
    rec.add_node(fn, depth=node.depth, parent=node.parent)
    return fn


def _origin(tensor: Tensor, rec: ClassicRecording) -> Any:
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return tensor if tensor.requires_grad and rec.calls.current is not None else rec.steps.of(tensor)


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


def _followed(tensor: Tensor, node: Any, rec: ClassicRecording) -> _Passed:
    """The dummy of a recorded tensor, which requires grad if it may. A clone takes half as long as adding 0."""
    if torch.is_grad_enabled() and can_follow(tensor):
        leaf = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        return put_dummy(leaf.clone(), node, rec), node
    if tensor is not node.fn:
        rec.point(tensor, node)
    return tensor, node


def _write_back(call: ClassicCall, rec: ClassicRecording, node: LayerNode) -> None:
    """Write what the module wrote into a dummy into the argument, which the caller may go on using."""
    for tensor, dummy, _ in call.taken.values():
        if dummy is tensor or dummy.grad_fn is None or torch_private.version_of(dummy) == 0:
            continue
        op_acc(dummy.grad_fn, rec, node)
        try:
            tensor.copy_(dummy)
        except RuntimeError:  # a leaf, or a view that cannot be written to
            continue
        if tensor.grad_fn is not None:
            rec.add_dummy(tensor.grad_fn, dummy.grad_fn)
