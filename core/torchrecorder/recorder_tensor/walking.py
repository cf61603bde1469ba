"""The walk over nested values that the functions of torchview share.

It goes further than `torchrecorder.running`, because torchview does: any iterable is opened, and no depth is too deep.
What it does not do is to use up a generator: that belongs to the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

_CLOSED = (str, bytes, int, float, complex, type, type(None), nn.Module, Iterator, torch.Size, torch.dtype, range)
"""What holds no tensors, or cannot be opened without changing it."""
_SCALARS = {int, float, bool, str, type(None)}
"""Most arguments are of these types; the walk runs for each function, and asking abstract classes is slow."""


def tensors_within(data: Any, outer: tuple[int, ...] = ()) -> Iterator[Tensor]:
    """Each tensor inside nested values, one that is there twice twice; containers that contain themselves are left."""
    if isinstance(data, Tensor):
        yield data
        return
    if id(data) not in outer:
        for part in _parts(data):
            yield from tensors_within(part, (*outer, id(data)))


def _parts(data: Any) -> Iterable[Any]:
    kind = type(data)
    if kind in _SCALARS:
        return ()
    if kind is tuple or kind is list:
        return data  # type: ignore[no-any-return]
    if isinstance(data, _CLOSED) or hasattr(data, "__array__"):
        return ()
    if isinstance(data, Mapping):
        return data.values()
    if isinstance(data, SimpleNamespace):
        return vars(data).values()
    if dataclasses.is_dataclass(data):
        return [getattr(data, field.name, None) for field in dataclasses.fields(data)]
    return _items(data)


def _items(data: Any) -> list[Any]:
    """The items of an iterable; none if it cannot be iterated, as transformers' caches while a layer is unset."""
    try:
        return list(data) if isinstance(data, Iterable) else []
    except Exception:
        return []


def traverse_data(data: Any, action_fn: Callable[..., Any], aggregate_fn: Callable[..., Any]) -> Any:
    """The same nested values with `action_fn(tensor)` in place of each tensor.

    Args:
        data: A tensor, or tensors in mappings, sequences, sets, dataclasses and namespaces. Anything else, such as a
            generator or an array, is given back as it is.
        action_fn: Makes the new value.
        aggregate_fn: Called with a container, gives what builds the new one; usually `type`.
    """
    if isinstance(data, Tensor):
        return action_fn(data)
    if isinstance(data, _CLOSED) or hasattr(data, "__array__"):
        return data

    def changed(value: Any) -> Any:
        return traverse_data(value, action_fn, aggregate_fn)

    if isinstance(data, SimpleNamespace):
        return type(data)(**{name: changed(value) for name, value in vars(data).items()})
    if dataclasses.is_dataclass(data):
        return _with_fields(data, changed)
    return _aggregated(data, changed, aggregate_fn)


def _aggregated(data: Any, changed: Callable[[Any], Any], aggregate_fn: Callable[..., Any]) -> Any:
    try:
        if isinstance(data, Mapping):
            return aggregate_fn(data)({key: changed(value) for key, value in data.items()})
        if isinstance(data, tuple) and hasattr(data, "_fields"):
            return aggregate_fn(data)(*map(changed, data))
        return aggregate_fn(data)([changed(item) for item in _items(data)]) if isinstance(data, Iterable) else data
    except TypeError:
        # A view of a dict, or a class with an __init__ of its own: nothing can be built of its items.
        return data


def _with_fields(data: Any, change: Callable[[Any], Any]) -> Any:
    changed = {field.name: change(getattr(data, field.name)) for field in dataclasses.fields(data) if field.init}
    return dataclasses.replace(data, **changed)
