"""What a user gives to `draw_graph`: checked, put on a device, and made into tensors that record."""

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

from torchrecorder.running.nested import items_of, rebuilt
from torchrecorder.torchview.computation_node import NodeContainer, TensorNode
from torchrecorder.torchview.tensor import RecorderTensor, collect_tensor_node, is_open, opened, reduce_data_info

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
    drawn = [torch.rand(*size).to(device=device, dtype=dtype) for size, dtype in zip(input_size, dtypes, strict=False)]
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
