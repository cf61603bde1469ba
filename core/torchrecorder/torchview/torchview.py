"""`draw_graph`: run a model once on what the user gives, and draw what ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from torchrecorder.renderer.digraph import Digraph
from torchrecorder.running.restore import restored
from torchrecorder.torchview.computation_graph import ComputationGraph
from torchrecorder.torchview.computation_node import NodeContainer as NodeContainer
from torchrecorder.torchview.computation_node import TensorNode as TensorNode
from torchrecorder.torchview.inputs import (
    COMPILED_MODULES,
    CORRECTED_INPUT_DATA_TYPE,
    CORRECTED_INPUT_SIZE_TYPE,
    INPUT_DATA_TYPE,
    INPUT_SIZE_TYPE,
    flatten,
    get_correct_input_sizes,
    get_input_tensor,
    get_recorder_tensor,
    process_input,
    set_device,
    traverse_data,
    validate_user_params,
)
from torchrecorder.torchview.recorder_tensor import Recorder, module_forward_wrapper, one_at_a_time
from torchrecorder.torchview.tensor import RecorderTensor as RecorderTensor
from torchrecorder.torchview.tensor import collect_tensor_node as collect_tensor_node
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

_TEXT = {"fontsize": "10"}
_SPACE = {"height": "0.2", "margin": "0", "ranksep": "0.1"}
_NODE = {**_TEXT, **_SPACE, "fontname": "Linux libertine", "align": "left", "shape": "plaintext", "style": "filled"}
_MODES: dict[str, Literal["train", "eval"]] = {"train": "train", "eval": "eval"}


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
            _run(model, data, named, place, graph, mode or "eval", grad, _how_given(input_data))
        return graph

    graph = _with_grad_if_needed(recorded)
    graph.fill_visual_graph()
    if save_graph:
        canvas.render(format="png", quiet=True)
    return graph


def _how_given(input_data: object) -> str:
    """What to say of a forward that failed, where its argument may have been meant to be the list or dict itself."""
    if not isinstance(input_data, (list, tuple, Mapping)):
        return ""
    how = f"If it takes the {type(input_data).__name__} itself, write draw_graph(model, input_data=[input_data])."
    return f"\nEach item of input_data was an argument of the forward. {how}"


def _with_grad_if_needed(recorded: Callable[[bool], ComputationGraph]) -> ComputationGraph:
    """Record without gradients, which saves memory; a forward that asks for them is run again with them."""
    try:
        return recorded(False)
    except RuntimeError as error:
        if not isinstance(error.__cause__, RuntimeError) or "grad" not in str(error.__cause__):
            raise
    return recorded(True)


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
        if mode not in _MODES:
            raise RuntimeError(f"Specified model mode not recognized: {mode}")
        with (
            one_at_a_time,
            restored(model, mode=_MODES[mode], device=device),
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
