"""What the user gives to run a model with: checks, and recorded copies of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, List, Optional, Union  # noqa: UP035 - the aliases below are torchview's

import torch
from torch import nn
from torch.jit import ScriptModule

from torchrecorder.torchview.computation_node import NodeContainer, TensorNode
from torchrecorder.torchview.tensor import (
    RecorderTensor,
    collect_tensor_node,
    reduce_data_info,
    traverse_data,
)

INPUT_DATA_TYPE = Union[torch.Tensor, Sequence[Any], Mapping[str, Any]]  # noqa: UP007
CORRECTED_INPUT_DATA_TYPE = Optional[Union[Iterable[Any], Mapping[Any, Any]]]  # noqa: UP007, UP045
INPUT_SIZE_TYPE = Sequence[Union[int, Sequence[Any], torch.Size]]  # noqa: UP007
CORRECTED_INPUT_SIZE_TYPE = List[Union[Sequence[Any], torch.Size]]  # noqa: UP006, UP007

COMPILED_MODULES = (ScriptModule,)
"""Modules of which little is seen, because they run without Python."""

_HALF = (torch.float16, torch.bfloat16)


def validate_user_params(
    model: nn.Module,
    input_data: INPUT_DATA_TYPE | None,
    input_size: INPUT_SIZE_TYPE | None,
    depth: int | float,
    device: torch.device | str | None,
    dtypes: list[torch.dtype] | None,
) -> None:
    """Check what `draw_graph` is called with.

    Raises:
        ValueError: `depth` is negative, or neither a whole number nor infinite.
        RuntimeError: Both or none of `input_data` and `input_size` are given.

    Warns:
        UserWarning: The model is compiled, or `dtypes` asks for half precision where that is none.
    """
    if depth < 0:
        raise ValueError(f"depth must be a non-negative number, depth={depth}")
    if depth != math.inf and depth % 1 != 0:
        raise ValueError(f"depth must be a whole number or infinite, depth={depth}")
    if isinstance(model, COMPILED_MODULES):
        warnings.warn(
            "Currently, traced modules are not fully supported: what runs inside of one is not seen.", stacklevel=3
        )
    if (input_data is None) == (input_size is None):
        raise RuntimeError("Only one of (input_data, input_size) should be specified.")
    if dtypes is not None and any(dtype in _HALF for dtype in dtypes):
        _warn_of_half(device, input_size)


def _warn_of_half(device: torch.device | str | None, input_size: INPUT_SIZE_TYPE | None) -> None:
    if input_size is not None:
        warnings.warn(
            "Half precision is not supported with input_size parameter, and may output incorrect results. "
            "Try passing input_data directly.",
            stacklevel=4,
        )
    if device is not None and torch.device(device).type == "cpu":
        warnings.warn(
            "Half precision is not supported on cpu. Set the `device` field or pass `input_data` using the correct "
            "device.",
            stacklevel=4,
        )


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
    """
    data: Any = None

    def recorded(tensor: torch.Tensor) -> RecorderTensor:
        return get_recorder_tensor(tensor, collect_attributes)

    if input_data is not None:
        given = [input_data] if isinstance(input_data, torch.Tensor) else input_data
        data = traverse_data(set_device(given, device), recorded, type)
    if input_size is not None:
        sizes = get_correct_input_sizes(input_size)
        data = get_input_tensor(sizes, dtypes or [torch.float32] * len(sizes), device, collect_attributes)
    named = traverse_data(kwargs, recorded, type)
    nodes = reduce_data_info([data, named], collect_tensor_node, NodeContainer[TensorNode]())
    return data, named, nodes


def set_device(data: Any, device: torch.device | str) -> Any:
    """The same nested values with their tensors on a device."""
    return traverse_data(data, lambda tensor: tensor.to(device, non_blocking=True), type)


def get_recorder_tensor(input_tensor: torch.Tensor, collect_attributes: bool = False) -> RecorderTensor:
    """A RecorderTensor on the memory of a tensor, with the node of an input."""
    tensor: RecorderTensor = input_tensor.as_subclass(RecorderTensor)
    tensor.tensor_nodes = [TensorNode(tensor, 0, name="input-tensor", collect_attributes=collect_attributes)]
    return tensor


def get_input_tensor(
    input_size: CORRECTED_INPUT_SIZE_TYPE,
    dtypes: list[torch.dtype],
    device: torch.device | str,
    collect_attributes: bool = False,
) -> list[RecorderTensor]:
    """Random inputs: for each shape and its dtype, numbers from [0, 1) cast to the dtype."""
    # Not the random inputs of others: torchview's are uniform, from the generator that the user may have seeded.
    drawn = [torch.rand(*size).to(device=device, dtype=dtype) for size, dtype in zip(input_size, dtypes, strict=False)]
    return [get_recorder_tensor(tensor, collect_attributes) for tensor in drawn]


def get_correct_input_sizes(input_size: INPUT_SIZE_TYPE) -> CORRECTED_INPUT_SIZE_TYPE:
    """The list of shapes that is meant by one shape or by several.

    Raises:
        TypeError: It is not a list or tuple.
        ValueError: It is empty, or a size is not positive.
    """
    if not isinstance(input_size, (list, tuple)):
        raise TypeError(
            "Input_size is not a recognized type. Please ensure input_size is valid.\n"
            "For multiple inputs to the network, ensure input_size is a list of tuple sizes. "
            "If you are having trouble here, please submit a GitHub issue."
        )
    if not input_size or any(size <= 0 for size in flatten(input_size)):
        raise ValueError("Input_data is invalid, or negative size found in input_data.")
    if isinstance(input_size, torch.Size):
        return [input_size]
    if all(isinstance(size, (list, tuple)) for size in input_size):
        return [size for size in input_size if isinstance(size, (list, tuple))]
    return [tuple(input_size)]


def flatten(nested_array: INPUT_SIZE_TYPE) -> Iterator[Any]:
    """The innermost elements of nested lists and tuples, in order."""
    for item in nested_array:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item
