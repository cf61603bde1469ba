"""The recorder of torchrecorder 1.0.3: hooks on every module, and a walk through autograd's graph between them.

Before and after each module the tensors that pass get a dummy operation (a copy), at which the walk stops. So every
operation is found in the module that ran it, under the name autograd gives it. What autograd leaves out (integers,
frozen weights, no_grad, detached tensors) is added by `classic.recording.Steps` while a recording runs, and where
nothing is known of a result, edges lead from the inputs of a module through it to that result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchrecorder.classic.hooks import Before, backhook, posthook, prehook
from torchrecorder.classic.recording import ClassicRecording
from torchrecorder.classic.walk import leaf_dummy, op_acc, param_acc, tensor_acc
from torchrecorder.nodes import LayerNode
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
