"""What a network is called with, as torchrecorder 1.0.3 reads it: a list of shapes is several inputs, a tuple one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.errors import BadInputs

_HOW = "a tuple is the shape of a single input, a list of tuples those of several; or give `input_data`"


def arguments_of(net: nn.Module, input_shapes: Any, input_data: Any) -> tuple[Any, ...]:
    """The positional arguments for a network.

    Normal numbers of the given shapes, from a generator of their own, with the device and type of the parameters; the
    data itself, if it is given.

    Raises:
        BadInputs: There is neither, or a shape is none.
    """
    if input_data is not None:
        return _from_data(net, input_data)
    if input_shapes is None:
        raise BadInputs("neither input_shapes nor input_data is given", _HOW)
    shapes = [input_shapes] if isinstance(input_shapes, tuple) else input_shapes
    if not isinstance(shapes, list) or not all(_is_shape(shape) for shape in shapes):
        raise BadInputs(f"{input_shapes!r} is neither a shape nor a list of shapes", _HOW)
    return _random(net, shapes)


def _from_data(net: nn.Module, data: Any) -> tuple[Any, ...]:
    if type(data) is tuple:
        return data
    return tuple(data) if type(data) is list and _takes(net, len(data)) else (data,)


def _takes(net: nn.Module, number: int) -> bool:
    """Whether the forward can be called with so many arguments."""
    try:
        inspect.signature(net.forward).bind(*range(number))
    except TypeError:
        return False
    except ValueError:  # it cannot be asked
        return True
    return True


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, (tuple, list)) and all(type(n) is int and n >= 0 for n in shape)


def _random(net: nn.Module, shapes: Sequence[Sequence[int]]) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    found = next((p for p in net.parameters() if p.is_floating_point() and not is_lazy(p)), None)
    device, dtype = (found.device, found.dtype) if found is not None else (torch.device("cpu"), torch.float32)
    return tuple(torch.randn(tuple(shape), generator=generator).to(device=device, dtype=dtype) for shape in shapes)
