"""The convenience functions of torchrecorder 1.0.3: record a network, make a graph of it, draw it into a file."""

from __future__ import annotations

import inspect
import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.errors import BadInputs
from torchrecorder.recorder import Recorder
from torchrecorder.running.facts import forward_parameters
from torchrecorder.running.nested import named_tensors
from torchrecorder.running.restore import restored

if TYPE_CHECKING:
    from graphviz import Digraph

__all__ = ["make_dot", "record", "render_network"]

Shapes = tuple[int, ...] | list[tuple[int, ...]] | None


def render_network(
    net: nn.Module,
    name: str,
    input_shapes: Shapes,
    directory: str,
    filename: str | None = None,
    fmt: str = "svg",
    input_data: Any = None,
    render_depth: int = 1,
    **styler_args: Any,
) -> None:
    """Render the structure of a `torch.nn.Module` to an image via graphviz.

    The network is recorded on the CPU in training mode; afterwards it is as it was (torchrecorder 1.0.3 left it there).

    Args:
        net: The network.
        name: Its name.
        input_shapes: A tuple for a single input, such as `(batch, channels, height, width)`, a list of tuples for
            several, None if `input_data` is given.
        directory: Where to store the image; made if it is not there.
        filename: Name of the image, with or without its ending; `<name>-<render_depth>` if None.
        fmt: Format of the image, as graphviz calls it: `svg`, `png`, `pdf`.
        input_data: A tensor, or a tuple of tensors for several inputs; see `record`.
        render_depth: How many layers around a node may be drawn as boxes around it; 0 is the network as one box.
        **styler_args: Node attributes to pass to graphviz, for all nodes.

    Raises:
        BadInputs: The inputs cannot be made (a ValueError and a TypeError).

    Examples:
        >>> import os, tempfile
        >>> from torch import nn
        >>> from torchrecorder import render_network
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     render_network(nn.Linear(3, 2), "Sample Net", (1, 3), directory=folder, render_depth=1)
        ...     os.listdir(folder)
        ['Sample Net-1.svg']
    """
    with restored(net, mode="train"):
        if not any(parameter.is_meta for parameter in net.parameters()):
            net.cpu()  # not `device=`: it also moves what modules hold beside parameters and buffers
        rec = record(net, name, input_shapes, input_data)
    graph = make_dot(rec, render_depth, **styler_args)
    graph.format = fmt
    graph.attr(label=f"{name} at depth = {render_depth}")
    stem = f"{name}-{render_depth}" if filename is None else str(filename).removesuffix(f".{fmt}")
    graph.render(stem, directory=Path(directory), cleanup=True)


def record(net: nn.Module, name: str, input_shapes: Shapes, input_data: Any = None) -> Recorder:
    """Record the graph by running a single pass of a `torch.nn.Module`.

    It runs in the mode it is in, with gradients switched on. The network, the input and the random numbers stay as
    they are, and no hook is left, also after an exception. Ported from torchrecorder 1.0.3; PORTS.toml lists where it
    differs.

    Args:
        net: The network; script modules too.
        name: Its name.
        input_shapes: A tuple for a single input, such as `(batch, features)`, a list of tuples for several, None if
            `input_data` is given. The inputs are normal numbers, the same each time.
        input_data: A tensor, or a tuple of tensors for several inputs; any other value is a single input. A list is
            several inputs if the forward takes that many, and one if its signature asks for a list or if several
            fail. `([image],)` is always one.

    Returns:
        A `Recorder` with the execution graph.

    Raises:
        BadInputs: The inputs cannot be made (a ValueError and a TypeError).

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import record
        >>> rec = record(nn.Linear(3, 2), "Net", (1, 3))
        >>> sorted((rec.nodes[tail].name, rec.nodes[head].name) for tail, head in rec.edges)[:2]
        [('AddmmBackward0', 'Output'), ('Input', 'AddmmBackward0')]
    """
    args = _arguments(net, input_shapes, input_data)
    is_single = isinstance(input_shapes, tuple) if input_data is None else isinstance(input_data, Tensor)
    try:
        return _recorded(net, name, args, is_single)
    except Exception as error:
        if not args or type(input_data) is not list or args[0] is input_data or not _takes(net, 1):
            raise
        try:
            return _recorded(net, name, (input_data,), is_single)
        except Exception:
            error.add_note(_AS_LIST)
            raise error from None


_HOW = "a tuple is the shape of a single input, a list of tuples those of several; or give `input_data`"
_AS_LIST = (
    "input_data is a list, which was taken as several inputs and then as one; "
    "input_data=([...],) is one input that is a list, input_data=(..., ...) are several"
)
_LISTS = re.compile(r"(<class '|typing\.|collections\.abc\.)?(list|sequence|iterable)\b", re.IGNORECASE)
"""How the annotation of a parameter that takes a list begins, as text or as what stands for it."""


def _arguments(net: nn.Module, input_shapes: Any, input_data: Any) -> tuple[Any, ...]:
    """The data; without it normal numbers of the given shapes, on the device and of the type of the parameters."""
    if input_data is not None:
        if type(input_data) is tuple:
            return input_data
        if type(input_data) is not list or not _takes(net, len(input_data)):
            return (input_data,)
        says = [str(parameter.annotation) for parameter in forward_parameters(net)[:1]]
        return (input_data,) if says and _LISTS.match(says[0]) else tuple(input_data)
    if input_shapes is None:
        raise BadInputs("neither input_shapes nor input_data is given", _HOW)
    shapes = [input_shapes] if isinstance(input_shapes, tuple) else input_shapes
    if not isinstance(shapes, list) or not all(
        isinstance(shape, (tuple, list)) and all(type(n) is int and n >= 0 for n in shape) for shape in shapes
    ):
        raise BadInputs(f"{input_shapes!r} is not a shape or a list of shapes", _HOW)
    # Not `recording.inputs.make_tensor`, which lies above this module and makes tensors on the CPU.
    generator = torch.Generator().manual_seed(0)
    found = next((p for p in net.parameters() if p.is_floating_point() and not is_lazy(p)), None)
    device, dtype = (found.device, found.dtype) if found is not None else (torch.device("cpu"), torch.float32)
    return tuple(torch.randn(tuple(shape), generator=generator).to(device=device, dtype=dtype) for shape in shapes)


def _takes(net: nn.Module, number: int) -> bool:
    """Whether the forward can be called with so many arguments, as far as can be known."""
    parameters = forward_parameters(net)
    try:
        inspect.Signature(parameters).bind(*range(number))
    except TypeError:
        return not parameters
    return True


def _recorded(net: nn.Module, name: str, args: tuple[Any, ...], is_single: bool) -> Recorder:
    rec = Recorder()
    with restored(net), ExitStack() as stack:
        stack.callback(rec.remove_hooks)
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        rec.register_hooks(net, name=name)
        for word, tensor in _numbered("Input", args, is_single):
            if tensor not in rec.nodes:
                rec.add_node(tensor, name=word)
        stack.enter_context(rec.steps)
        result = net(*args)
    for word, tensor in reversed(_numbered("Output", result, isinstance(result, Tensor))):
        node = rec.steps.node_of(tensor)
        if node is not None:
            node.name = word
    return rec


def _numbered(word: str, value: Any, is_single: bool) -> list[tuple[str, Tensor]]:
    """The tensors in a value with their names: `Input`, or `Input-1`, `Input-2`, …."""
    tensors = [tensor for _, tensor in named_tensors(value)]
    return [(word if is_single else f"{word}-{number}", tensor) for number, tensor in enumerate(tensors, 1)]


def make_dot(rec: Recorder, render_depth: int = 256, styler_cls: Any = None, **styler_args: Any) -> Digraph:
    """Produce a Graphviz representation from a `Recorder` object.

    Args:
        rec: The recording.
        render_depth: Depth until which nodes should be rendered, in layers around a node; 0 is the network as one box.
        styler_cls: Styler class to instantiate when styling nodes; `GraphvizStyler` if None.
        **styler_args: Styler properties to be set for all nodes; a `fontname` is that of the whole graph.

    Returns:
        A `graphviz.Digraph` with the rendered nodes. It can be written without a system Graphviz too. Two recordings
        of one network give one text, which those of torchrecorder 1.0.3 do not.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder import make_dot, record
        >>> dot = make_dot(record(nn.ReLU(), "Net", (1, 3)), render_depth=0, fontname="Lato")
        >>> [line.strip() for line in dot.source.splitlines() if "->" in line]
        ['n0 -> n2', 'n1 -> n0']
    """
    from torchrecorder.renderer.gv import Digraph, GraphvizRenderer

    font = {} if styler_args.get("fontname") is None else {"fontname": str(styler_args["fontname"])}
    graph_attr = {"compound": "true", "ranksep": "0.5", "fontsize": "24", **font}
    graph = Digraph(graph_attr=graph_attr, node_attr={"fontsize": "20", **font})
    return GraphvizRenderer(rec, render_depth, styler_cls, **styler_args)(graph)
