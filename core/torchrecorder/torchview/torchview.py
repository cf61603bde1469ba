"""`draw_graph`: run a model once on what the user gives, and draw what ran."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, List, Optional, Union  # noqa: UP035 - the aliases below are torchview's

import torch
from torch import nn
from torch.jit import ScriptModule

from torchrecorder.renderer.gv import Digraph
from torchrecorder.running.nested import items_of, rebuilt
from torchrecorder.running.restore import restored
from torchrecorder.torchview.computation_graph import ComputationGraph
from torchrecorder.torchview.computation_node import NodeContainer as NodeContainer
from torchrecorder.torchview.computation_node import TensorNode as TensorNode
from torchrecorder.torchview.recorder_tensor import Recorder, module_forward_wrapper, one_at_a_time
from torchrecorder.torchview.tensor import RecorderTensor as RecorderTensor
from torchrecorder.torchview.tensor import collect_tensor_node as collect_tensor_node
from torchrecorder.torchview.tensor import is_open, opened
from torchrecorder.torchview.tensor import reduce_data_info as reduce_data_info

__all__ = [
    "COMPILED_MODULES",
    "CORRECTED_INPUT_DATA_TYPE",
    "CORRECTED_INPUT_SIZE_TYPE",
    "INPUT_DATA_TYPE",
    "INPUT_SIZE_TYPE",
    "draw_graph",
    "flatten",
    "forward_prop",
    "get_correct_input_sizes",
    "get_input_tensor",
    "get_recorder_tensor",
    "process_input",
    "set_device",
    "traverse_data",
    "validate_user_params",
]

INPUT_DATA_TYPE = Union[torch.Tensor, Sequence[Any], Mapping[str, Any]]  # noqa: UP007
"""What `input_data` may be: a tensor, positional arguments, or keyword arguments."""
CORRECTED_INPUT_DATA_TYPE = Optional[Union[Iterable[Any], Mapping[Any, Any]]]  # noqa: UP007, UP045
"""What `process_input` makes of it: positional arguments or keyword arguments."""
INPUT_SIZE_TYPE = Sequence[Union[int, Sequence[Any], torch.Size]]  # noqa: UP007
"""What `input_size` may be: a shape, batch included, such as `(batch, channels, height, width)`; or several."""
CORRECTED_INPUT_SIZE_TYPE = List[Union[Sequence[Any], torch.Size]]  # noqa: UP006, UP007
"""What `get_correct_input_sizes` makes of it: shapes."""
COMPILED_MODULES = (ScriptModule,)
"""Modules of which little is seen, because they run without Python."""

_TEXT = {"fontsize": "10"}
_SPACE = {"height": "0.2", "margin": "0", "ranksep": "0.1"}
_NODE = {**_TEXT, **_SPACE, "fontname": "Linux libertine", "align": "left", "shape": "plaintext", "style": "filled"}


def draw_graph(
    model: nn.Module,
    input_data: INPUT_DATA_TYPE | None = None,
    input_size: INPUT_SIZE_TYPE | None = None,
    graph_name: str = "model",
    depth: int | float = 3,
    device: torch.device | str | None = None,
    dtypes: list[torch.dtype] | None = None,
    mode: str | None = None,
    strict: bool = True,
    expand_nested: bool = False,
    graph_dir: str | None = None,
    hide_module_functions: bool = True,
    hide_inner_tensors: bool = True,
    roll: bool = False,
    show_shapes: bool = True,
    save_graph: bool = False,
    filename: str | None = None,
    directory: str = ".",
    collect_attributes: bool = False,
    **kwargs: Any,
) -> ComputationGraph:
    """The graph of a model, recorded in one forward: what torchview's function of this name gives.

    The model stays on its device and in its modes; its buffers and torch's random numbers are put back.

    Args:
        model: The model. What runs inside a script module is not seen: it is one function, `forward`.
        input_data: A tensor; or positional arguments in a list, or keyword arguments in a dict. An argument that is a
            list or dict itself stands in a list: `input_data=[[image, image]]`.
        input_size: Instead: shape of a random input, such as `(batch, channels, height, width)`, or a list of shapes.
        graph_name: Name of the digraph, and of its file.
        depth: The deepest level of modules that is shown; the model is on level 0. `math.inf` shows all.
        device: Where to run; by default the GPU that CUDA has, else the CPU.
        dtypes: For `input_size`, one for each shape; float32 by default.
        mode: `eval`, the default, or `train`.
        strict: Draw several edges between two nodes as one.
        expand_nested: Draw dashed borders around modules whose inside is shown.
        graph_dir: `TB`, the default, `LR`, `BT` or `RL`.
        hide_module_functions: Leave out the functions inside modules that have no submodules.
        hide_inner_tensors: Draw no tensors but the model's inputs and outputs.
        roll: Draw calls of one module as one node.
        show_shapes: Show the shapes of tensors, inputs and outputs.
        save_graph: Write the text of DOT and a PNG.
        filename: For the text; the picture's has `.png` behind it. By default `graph_name` with `.gv`.
        directory: For both files.
        collect_attributes: Keep a text of each module, and of each function's arguments, in its node.
        kwargs: Keyword arguments for the model's forward.

    Returns:
        The graph; its `visual_graph` is a `graphviz.Digraph`, which a notebook shows.

    Raises:
        ValueError: `depth` is negative or a fraction, or a size is not positive.
        RuntimeError: Both or none of `input_data` and `input_size` are given; or the forward failed (text and cause).
        TypeError: `input_size` is not a list or tuple.
        AttributeError: `model` is not a module.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview import draw_graph
        >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        >>> graph = draw_graph(net, input_size=(1, 3, 32, 32), device="cpu")
        >>> [(node.name, node.output_shape) for _, node in graph.edge_list[:2]]
        [('Conv2d', [(1, 8, 30, 30)]), ('ReLU', [(1, 8, 30, 30)])]
    """
    place = device if device is not None else "cuda" if torch.cuda.is_available() else "cpu"
    validate_user_params(model, input_data, input_size, depth, place, dtypes)
    canvas = Digraph(
        graph_name, filename=filename, directory=directory, strict=strict, node_attr=_NODE, edge_attr=_TEXT
    )
    canvas.graph_attr.update(ordering="in", rankdir=graph_dir or "TB")
    shown = (show_shapes, expand_nested, hide_inner_tensors, hide_module_functions, roll, depth, collect_attributes)

    def recorded(grad: bool) -> ComputationGraph:
        with one_at_a_time, torch.random.fork_rng(devices=[]):
            data, named, nodes = process_input(input_data, input_size, kwargs, place, dtypes, collect_attributes)
            graph = ComputationGraph(canvas, nodes, *shown)
            _run(model, data, named, place, graph, mode or "eval", grad, _hint(input_data))
        return graph

    graph = _with_grad_if_needed(recorded)
    graph.fill_visual_graph()
    if save_graph:
        canvas.render(format="png", quiet=True)
    return graph


def _with_grad_if_needed(recorded: Callable[[bool], ComputationGraph]) -> ComputationGraph:
    """Record without gradients, which saves memory; a forward that asks for them is run again with them."""
    try:
        return recorded(False)
    except RuntimeError as error:
        if not isinstance(error.__cause__, RuntimeError) or "grad" not in str(error.__cause__):
            raise
    return recorded(True)


def _hint(input_data: object) -> str:
    """Advice on a forward that failed, where its argument may have been meant to be the list or dict itself."""
    if not isinstance(input_data, (list, tuple, Mapping)):
        return ""
    how = f"If it takes the {type(input_data).__name__} itself, write draw_graph(model, input_data=[input_data])."
    return f"\nEach item of input_data was an argument of the forward. {how}"


def forward_prop(
    model: nn.Module,
    x: CORRECTED_INPUT_DATA_TYPE,
    device: torch.device | str,
    model_graph: ComputationGraph,
    mode: str,
    **kwargs: Any,
) -> None:
    """Run a model on recorded inputs, without gradients.

    Args:
        model: The model; it is left as it was.
        x: Positional arguments in a list or tuple, or keyword arguments in a mapping.
        device: Where to run.
        model_graph: Gets what is recorded.
        mode: `train` or `eval`.
        kwargs: Further keyword arguments.

    Raises:
        RuntimeError: The forward, or the mode, failed; the exception is in the text and the cause.

    Examples:
        >>> import graphviz, torch
        >>> from torch import nn
        >>> from torchrecorder.torchview import ComputationGraph
        >>> from torchrecorder.torchview.torchview import forward_prop, process_input
        >>> x, named, inputs = process_input(None, (1, 3), {}, "cpu")
        >>> graph = ComputationGraph(graphviz.Digraph(), inputs)
        >>> forward_prop(nn.Linear(3, 4), x, "cpu", graph, "eval", **named)
        >>> [str(child) for node in inputs for child in node.children]
        ['Linear']
    """
    _run(model, x, kwargs, device, model_graph, mode, grad=False)


def _run(
    model: nn.Module,
    x: Any,
    named: Mapping[str, Any],
    device: torch.device | str,
    model_graph: ComputationGraph,
    mode: str,
    grad: bool,
    hint: str = "",
) -> None:
    if not isinstance(model, nn.Module):
        made = f"{model.__name__}()" if isinstance(model, type) else "net"
        raise AttributeError(f"{model!r} is not a module; write draw_graph({made}, ...)")
    try:
        if mode not in ("train", "eval"):
            raise RuntimeError(f"Specified model mode not recognized: {mode}")
        with (
            one_at_a_time,
            restored(model, mode=mode, device=device),  # type: ignore[arg-type]
            Recorder(nn.Module.__call__, module_forward_wrapper(model_graph), model_graph),
            torch.set_grad_enabled(grad),
        ):
            if isinstance(x, Mapping):
                model(**x, **named)
            elif isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
                model(*x, **named)
            else:
                raise ValueError(f"Unknown input type {type(x).__name__}: write draw_graph(model, input_data=[...])")
    except Exception as error:
        text = f"Failed to run torchgraph see error message: {type(error).__name__}: {error}{hint}"
        raise RuntimeError(text) from error


def validate_user_params(
    model: nn.Module,
    input_data: INPUT_DATA_TYPE | None,
    input_size: INPUT_SIZE_TYPE | None,
    depth: int | float,
    device: torch.device | str | None,
    dtypes: list[torch.dtype] | None,
) -> None:
    """Check what `draw_graph` is called with; warn of script modules, and of half precision where there is none.

    Args:
        model: Warned of, if it is a script module.
        input_data: Not None, if `input_size` is.
        input_size: Not None, if `input_data` is.
        depth: Whole or infinite, and not negative.
        device: For half precision, not the CPU.
        dtypes: Half precision, if it is among them, is warned of with `input_size` and on the CPU.

    Raises:
        ValueError: `depth` is negative, or neither a whole number nor infinite.
        RuntimeError: Both or none of `input_data` and `input_size` are given.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview.torchview import validate_user_params
        >>> validate_user_params(nn.ReLU(), None, (1, 3), depth=-1, device="cpu", dtypes=None)
        Traceback (most recent call last):
        ValueError: depth must be a non-negative number, depth=-1
    """
    if depth < 0:
        raise ValueError(f"depth must be a non-negative number, depth={depth}")
    if depth != math.inf and depth % 1 != 0:
        raise ValueError(f"depth must be a whole number or infinite, depth={depth}")
    found = []
    if isinstance(model, COMPILED_MODULES):
        found.append("Currently, traced modules are not fully supported: what runs inside of one is not seen.")
    if (input_data is None) == (input_size is None):
        raise RuntimeError("Only one of (input_data, input_size) should be specified.")
    is_half = dtypes is not None and any(dtype in (torch.float16, torch.bfloat16) for dtype in dtypes)
    if is_half and input_size is not None:
        found.append(
            "Half precision is not supported with input_size parameter, and may output incorrect results. "
            "Try passing input_data directly."
        )
    if is_half and device is not None and torch.device(device).type == "cpu":
        found.append(
            "Half precision is not supported on cpu. Set the `device` field or pass `input_data` using the correct "
            "device."
        )
    for text in found:
        warnings.warn(text, stacklevel=3)


def process_input(
    input_data: INPUT_DATA_TYPE | None,
    input_size: INPUT_SIZE_TYPE | None,
    kwargs: Any,
    device: torch.device | str,
    dtypes: list[torch.dtype] | None = None,
    collect_attributes: bool = False,
) -> tuple[CORRECTED_INPUT_DATA_TYPE, Any, NodeContainer[TensorNode]]:
    """Recorded inputs for a model.

    Args:
        input_data: A tensor; or positional arguments in a sequence, or keyword arguments in a mapping.
        input_size: Instead: the shape of the input, batch included, or a list of shapes; the values are random.
        kwargs: Further keyword arguments. Their tensors stay on their device.
        device: Where the tensors of `input_data` and the random ones are to be.
        dtypes: For `input_size`, one for each shape; float32 by default.
        collect_attributes: Kept by the nodes.

    Returns:
        The arguments and the keyword arguments, each tensor a RecorderTensor on the same memory, and the nodes.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.torchview import process_input
        >>> (x,), named, nodes = process_input(torch.ones(2, 3), None, {"scale": 0.5}, "cpu")
        >>> type(x).__name__, x.shape, named, [str(node) for node in nodes]
        ('RecorderTensor', torch.Size([2, 3]), {'scale': 0.5}, ['input-tensor'])
    """
    data: Any = None
    recorded = functools.partial(get_recorder_tensor, collect_attributes=collect_attributes)
    if input_data is not None:
        given = [input_data] if isinstance(input_data, torch.Tensor) else input_data
        data = traverse_data(set_device(given, device), recorded, type)
    if input_size is not None:
        sizes = get_correct_input_sizes(input_size)
        data = get_input_tensor(sizes, dtypes or [torch.float32] * len(sizes), device, collect_attributes)
    named = traverse_data(kwargs, recorded, type)
    return data, named, reduce_data_info([data, named], collect_tensor_node, NodeContainer[TensorNode]())


def get_input_tensor(
    input_size: CORRECTED_INPUT_SIZE_TYPE,
    dtypes: list[torch.dtype],
    device: torch.device | str,
    collect_attributes: bool = False,
) -> list[RecorderTensor]:
    """Random inputs: for each shape and its dtype, numbers from [0, 1) cast to the dtype.

    Args:
        input_size: The shapes, batch included.
        dtypes: One for each shape.
        device: Where the inputs are to be.
        collect_attributes: Kept by their nodes.

    Returns:
        As many inputs as there are shapes.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.torchview import get_input_tensor
        >>> [x.shape for x in get_input_tensor([(1, 3), (2,)], [torch.float32, torch.int64], "cpu")]
        [torch.Size([1, 3]), torch.Size([2])]
    """
    # Not the random inputs of others: torchview's are uniform, from the generator that the user may have seeded.
    pairs = zip(input_size, dtypes, strict=False)
    drawn = [torch.rand(*size).to(device=device, dtype=dtype) for size, dtype in pairs]
    return [get_recorder_tensor(tensor, collect_attributes) for tensor in drawn]


def get_recorder_tensor(input_tensor: torch.Tensor, collect_attributes: bool = False) -> RecorderTensor:
    """A RecorderTensor on the memory of a tensor, with the node of an input.

    Args:
        input_tensor: The tensor.
        collect_attributes: Whether the nodes that come from it describe themselves.

    Returns:
        The RecorderTensor.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.torchview import get_recorder_tensor
        >>> get_recorder_tensor(torch.ones(2, 3)).tensor_nodes[-1].tensor_shape
        (2, 3)
    """
    tensor: RecorderTensor = input_tensor.as_subclass(RecorderTensor)
    tensor.tensor_nodes = [TensorNode(tensor, 0, name="input-tensor", collect_attributes=collect_attributes)]
    return tensor


def get_correct_input_sizes(input_size: INPUT_SIZE_TYPE) -> CORRECTED_INPUT_SIZE_TYPE:
    """The list of shapes that is meant by one shape or by several.

    Args:
        input_size: A shape, batch included, as a list, tuple or `torch.Size`; or shapes in a list or tuple.

    Returns:
        The shapes.

    Raises:
        TypeError: It is not a list or tuple.
        ValueError: It is empty, or a size is not positive.

    Examples:
        >>> from torchrecorder.torchview.torchview import get_correct_input_sizes
        >>> get_correct_input_sizes([1, 3, 224, 224]), get_correct_input_sizes([(1, 3), (1, 5)])
        ([(1, 3, 224, 224)], [(1, 3), (1, 5)])
    """
    if not isinstance(input_size, (list, tuple)):
        raise TypeError(
            "Input_size is not a recognized type. Please ensure input_size is valid.\n"
            "For multiple inputs to the network, ensure input_size is a list of tuple sizes. "
            "If you are having trouble here, please submit a GitHub issue."
        )
    if not input_size or any(size <= 0 for size in flatten(input_size)):
        raise ValueError("Input_data is invalid, or negative size found in input_data.")
    shapes: CORRECTED_INPUT_SIZE_TYPE = [size for size in input_size if isinstance(size, (list, tuple))]
    return shapes if len(shapes) == len(input_size) else [tuple(input_size)]


def flatten(nested_array: INPUT_SIZE_TYPE) -> Iterator[Any]:
    """The innermost elements of nested lists and tuples, in order.

    Args:
        nested_array: The lists and tuples.

    Yields:
        Each element.

    Examples:
        >>> from torchrecorder.torchview.torchview import flatten
        >>> list(flatten([(1, 3), [8, [8]]]))
        [1, 3, 8, 8]
    """
    for item in nested_array:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item


def traverse_data(data: Any, action_fn: Callable[..., Any], aggregate_fn: Callable[..., Any]) -> Any:
    """The same nested values with `action_fn(tensor)` in place of each tensor.

    Args:
        data: A tensor, or tensors in mappings, sequences, sets, dataclasses and namespaces. Anything else, such as a
            generator or an array, is given back as it is.
        action_fn: Makes the new value.
        aggregate_fn: Called with a container, gives what builds the new one; usually `type`.

    Returns:
        New containers of the new values.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.torchview import traverse_data
        >>> traverse_data({"x": [torch.ones(2, 3), 7]}, lambda tensor: tuple(tensor.shape), type)
        {'x': [(2, 3), 7]}
    """
    if isinstance(data, torch.Tensor):
        return action_fn(data)
    # Not `map_tensors`, which builds containers by itself, and those only in which something has changed.
    changed = {key: traverse_data(item, action_fn, aggregate_fn) for key, item in items_of(data, opened)}
    if isinstance(data, SimpleNamespace) or (dataclasses.is_dataclass(data) and not isinstance(data, type)):
        return rebuilt(data, changed)
    try:
        if isinstance(data, Mapping):
            return aggregate_fn(data)(changed)
        if isinstance(data, tuple) and hasattr(data, "_fields"):
            return aggregate_fn(data)(*changed.values())
        return aggregate_fn(data)([*changed.values()]) if is_open(data) else data
    except TypeError:  # a view of a dict, or a class with a constructor of its own: nothing can be built of its items
        return data


def set_device(data: Any, device: torch.device | str) -> Any:
    """The same nested values with their tensors on a device.

    Args:
        data: As for `traverse_data`.
        device: Where the tensors are to be.

    Returns:
        New containers, with copies of the tensors that were elsewhere.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.torchview import set_device
        >>> set_device([torch.ones(2)], "meta")[0].device
        device(type='meta')
    """
    return traverse_data(data, lambda tensor: tensor.to(device, non_blocking=True), type)
