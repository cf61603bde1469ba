"""Recording what runs: the modules and the functions that make tensors are replaced for a while."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.torchview.computation_graph import ComputationGraph
from torchrecorder.torchview.computation_node import FunctionNode, ModuleNode, NodeContainer, TensorNode
from torchrecorder.torchview.tensor import (
    RecorderTensor,
    attach_node,
    called,
    collect_shape,
    collect_tensor,
    collect_tensor_node,
    collect_tensor_node_id_dict,
    reduce_data_info,
    tensor_name,
    traverse_data_inplace,
)
from torchrecorder.torchview.utils import OrderedSet
from torchrecorder.torchview.utils import stringify_attributes as stringify_attributes

__all__ = [
    "Recorder",
    "RecorderTensor",
    "attach_node",
    "collect_shape",
    "collect_tensor",
    "collect_tensor_node",
    "collect_tensor_node_id_dict",
    "creation_ops_wrapper",
    "insert_empty_pass_node",
    "module_forward_wrapper",
    "orig_name_list",
    "pop_after_forward",
    "process_output_node",
    "reduce_data_info",
    "traverse_data_inplace",
]

_NAMES = """
as_tensor from_numpy zeros zeros_like ones ones_like arange range linspace logspace eye empty empty_like full
full_like complex heaviside bernoulli multinomial normal poisson rand rand_like randint randint_like randn
randn_like randperm
"""
orig_name_list = _NAMES.split()
"""The functions of torch whose tensors start a path of their own; `torch.tensor` is none of them, as in torchview."""

one_at_a_time = threading.RLock()
"""Held while functions of torch are replaced: two recordings that overlap would restore each other's replacements."""
_recording: list[int] = []
"""The thread of each recording that is running, the innermost last."""
_replaced: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What each function that is `nn.Module.__call__` for the time being replaces."""


class Recorder:
    """Context manager that replaces the call of modules and torch's creation functions, to record what runs.

    Leaving it restores what was found on entry, patches of others included, also after an exception. A second recording
    in another thread waits for the first; tensors that other threads create are not recorded.

    Args:
        orig_mod_forward: The call of modules as it was; kept for the reader, and not what is restored.
        new_mod_forward: What replaces `nn.Module.__call__`, made by `module_forward_wrapper`.
        model_graph: Gets the nodes of created tensors.

    Attributes:
        orig_module_forward: As given.
        new_module_forward: As given.
        model_graph: As given.

    Examples:
        >>> import graphviz, torch
        >>> from torch import nn
        >>> from torchrecorder.torchview import ComputationGraph
        >>> from torchrecorder.torchview.recorder_tensor import Recorder, module_forward_wrapper
        >>> from torchrecorder.torchview.torchview import process_input
        >>> (x,), _, inputs = process_input(torch.ones(1, 3), None, {}, "cpu")
        >>> graph = ComputationGraph(graphviz.Digraph(), inputs)
        >>> with torch.no_grad(), Recorder(nn.Module.__call__, module_forward_wrapper(graph), graph):
        ...     y = nn.Linear(3, 4)(x) + torch.ones(4)
        >>> [[str(parent) for parent in node.parents] for node in y.tensor_nodes[-1].parents]
        [['output-tensor', 'input-tensor']]
    """

    def __init__(
        self, orig_mod_forward: Callable[..., Any], new_mod_forward: Callable[..., Any], model_graph: ComputationGraph
    ) -> None:
        self.orig_module_forward = orig_mod_forward
        self.new_module_forward = new_mod_forward
        self.model_graph = model_graph

    def __enter__(self) -> None:
        one_at_a_time.acquire()
        _recording.append(threading.get_ident())
        self._found_call = nn.Module.__call__
        self._found_ops = {name: getattr(torch, name) for name in orig_name_list if hasattr(torch, name)}
        _replaced[self.new_module_forward] = self._found_call
        nn.Module.__call__ = self.new_module_forward  # type: ignore[method-assign]
        for name, found in self._found_ops.items():
            setattr(torch, name, creation_ops_wrapper(found, self.model_graph))

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> None:
        for name, found in self._found_ops.items():
            setattr(torch, name, found)
        nn.Module.__call__ = self._found_call  # type: ignore[method-assign]
        _replaced.pop(self.new_module_forward, None)
        _recording.pop()
        one_at_a_time.release()


def creation_ops_wrapper(_orig_op: Callable[..., Any], model_graph: ComputationGraph) -> Callable[..., Any]:
    """The function, its tensor being a RecorderTensor with a node in the module that runs.

    Args:
        _orig_op: A function that makes a tensor.
        model_graph: Says which module is running, by its `context_tracker`.

    Returns:
        A function of the same arguments. What is not a tensor, or is made in another thread than the one that records,
        it gives back as it is.

    Examples:
        >>> import graphviz, torch
        >>> from torchrecorder.torchview import ComputationGraph
        >>> from torchrecorder.torchview.computation_node import NodeContainer
        >>> from torchrecorder.torchview.recorder_tensor import creation_ops_wrapper
        >>> graph = ComputationGraph(graphviz.Digraph(), NodeContainer())
        >>> creation_ops_wrapper(torch.zeros, graph)(2, 3).tensor_nodes[-1].name
        'input-tensor'
    """

    @functools.wraps(_orig_op)
    def _func(*args: Any, **kwargs: Any) -> Any:
        made = _orig_op(*args, **kwargs)
        if not isinstance(made, Tensor) or (_recording and _recording[-1] != threading.get_ident()):
            return made
        tracker = model_graph.context_tracker
        tensor: RecorderTensor = made.as_subclass(RecorderTensor)
        depth, context, collects = tracker["current_depth"], tracker["current_context"], tracker["collect_attributes"]
        name = tensor_name(depth, "input-tensor")
        node = TensorNode(tensor, depth, name=name, context=context, collect_attributes=collects)
        tensor.tensor_nodes = [node]
        context.append(node)
        return tensor

    return _func


def module_forward_wrapper(model_graph: ComputationGraph) -> Callable[..., Any]:
    """What replaces `nn.Module.__call__`: it records a call whose arguments hold tensors that come from an input.

    Args:
        model_graph: Gets the module that is running, in its `context_tracker`.

    Returns:
        A function of a module and the arguments of its forward, for a `Recorder`.

    Examples:
        >>> import torch
        >>> from torch import nn
        >>> from torchrecorder.torchview import draw_graph
        >>> from torchrecorder.torchview.recorder_tensor import module_forward_wrapper
        >>> call = module_forward_wrapper(draw_graph(nn.ReLU(), input_size=(1, 3)))
        >>> call(nn.ReLU(), torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    at_first = nn.Module.__call__

    def _module_forward_wrapper(mod: nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Not what was there when this wrapper was made: that may have been the wrapper of another thread.
        found_call = _replaced.get(_module_forward_wrapper, at_first)
        inputs = reduce_data_info([args, kwargs], collect_tensor_node, NodeContainer[TensorNode]())
        if not inputs:
            return found_call(mod, *args, **kwargs)
        context, tracker = next(iter(inputs)).context, model_graph.context_tracker
        mains = reduce_data_info([args, kwargs], collect_tensor_node_id_dict, dict[RecorderTensor, TensorNode]())
        heights = {tensor: len(tensor.tensor_nodes) for tensor in mains}
        call, common = called(ModuleNode, mod, type(mod).__name__, inputs, [args, kwargs], mod)
        inside: list[Any] = []
        context.append({call: inside})
        tracker.update(current_context=inside, current_depth=call.depth + 1)
        common |= {"context": inside, "depth": call.depth + 1, "name": "auxiliary-tensor", "is_aux": True}
        for tensor in mains:
            attach_node(common, mains)(tensor)
        try:
            out = found_call(mod, *args, **kwargs)
        except BaseException:
            # The model may catch it and go on with the same tensors.
            for tensor, height in heights.items():
                del tensor.tensor_nodes[height:]
            raise
        finally:
            tracker.update(current_context=context, current_depth=call.depth)
        returned = reduce_data_info(out, collect_tensor, OrderedSet[RecorderTensor]())
        traverse_data_inplace(returned, process_output_node(call))
        for tensor in mains:
            pop_after_forward(tensor, returned)
        for node in reduce_data_info(out, collect_tensor_node, NodeContainer[TensorNode]()):
            node.context = context
            call.add_output_nodes(node)
        call.set_output_shape(reduce_data_info(out, collect_shape, []))
        return out

    return _module_forward_wrapper


def pop_after_forward(r_in: RecorderTensor, recorded_output: OrderedSet[RecorderTensor]) -> None:
    """Take the node of a module that has been left from a tensor it was called with.

    If the module returned the tensor (it worked in place), the last node is the output's, and the one below it goes.
    Otherwise the last goes.

    Args:
        r_in: The tensor.
        recorded_output: The tensors that the module returned.

    Raises:
        AssertionError: The tensor is an output, but its last two nodes are not of one tensor.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import RecorderTensor, TensorNode
        >>> from torchrecorder.torchview.recorder_tensor import pop_after_forward
        >>> x = torch.ones(2)
        >>> x = RecorderTensor(x, [TensorNode(x, 0, name="outside"), TensorNode(x, 1, name="inside")])
        >>> pop_after_forward(x, [])
        >>> [node.name for node in x.tensor_nodes]
        ['outside']
    """
    nodes = r_in.tensor_nodes
    # Not `in`: of a list, it would compare the numbers of tensors.
    if any(r_in is tensor for tensor in recorded_output):
        if not id(r_in) == nodes[-1].tensor_id == nodes[-2].tensor_id:
            raise AssertionError("Tensor before and after inplace operation must have the same memory address")
        del nodes[-2]
    elif nodes:
        nodes.pop()


def process_output_node(cur_node: ModuleNode) -> Callable[..., Any]:
    """The function that makes the last node of a tensor an output of the module.

    The node rises to the module's depth. If the module returned its argument untouched, or used the output further
    inside, a hidden `empty-pass` and a node of its own come in between.

    Args:
        cur_node: The call of the module.

    Returns:
        A function of one argument, the tensor.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import ModuleNode, RecorderTensor, TensorNode
        >>> from torchrecorder.torchview.recorder_tensor import process_output_node
        >>> x = torch.ones(2)
        >>> x = RecorderTensor(x, TensorNode(x, depth=1))
        >>> process_output_node(ModuleNode(torch.nn.ReLU(), depth=0))(x)
        >>> x.tensor_nodes[-1].name, x.tensor_nodes[-1].depth
        ('output-tensor', 0)
    """

    def _func(recorded_data: RecorderTensor) -> None:
        last = recorded_data.tensor_nodes[-1]
        if last.is_aux or not last.is_leaf():
            insert_empty_pass_node(recorded_data, last)
        node = recorded_data.tensor_nodes[-1]
        node.depth = cur_node.depth
        node.name = tensor_name(cur_node.depth)
        node.parent_hierarchy[cur_node.depth] = cur_node

    return _func


def _empty_pass() -> None: ...


def insert_empty_pass_node(recorded_tensor: RecorderTensor, out_node: TensorNode) -> None:
    """Put `empty-pass`, which is not drawn, and then a new node of the tensor after a node.

    Args:
        recorded_tensor: The tensor; the new node becomes its last.
        out_node: The node, usually its last so far.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview import RecorderTensor, TensorNode
        >>> from torchrecorder.torchview.recorder_tensor import insert_empty_pass_node
        >>> x = torch.ones(2)
        >>> x = RecorderTensor(x, TensorNode(x, depth=1))
        >>> insert_empty_pass_node(x, x.tensor_nodes[-1])
        >>> [str(node) for node in x.tensor_nodes[-1].parents]
        ['empty-pass']
    """
    depth, context, collects = out_node.depth, out_node.context, out_node.collect_attributes
    empty = FunctionNode(_empty_pass, depth, out_node, name="empty-pass")
    out_node.add_child(empty)
    hierarchy: dict[int, ModuleNode | FunctionNode] = {recorded_tensor.tensor_nodes[-1].depth: empty}
    passed = TensorNode(
        recorded_tensor, depth, empty, context=context, parent_hierarchy=hierarchy, collect_attributes=collects
    )
    empty.add_child(passed)
    context += [empty, passed]
    recorded_tensor.tensor_nodes.append(passed)
