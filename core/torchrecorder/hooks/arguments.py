"""What a call passed, whether it was spelled with keywords or not, and the first item of what it gave."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


def arguments(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of one call in the order of forward's parameters, so that `net(x)` and `net(x=x)` give the same."""
    return (*args, *in_order(module, kwargs).values()) if kwargs else args


def in_order(module: nn.Module, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments in the order of forward's parameters; what it takes as `**kwargs` comes last."""
    if len(kwargs) < 2:
        return dict(kwargs)
    known = (name for name in _parameters(module) if name in kwargs)
    return {name: kwargs[name] for name in dict.fromkeys((*known, *kwargs))}


def _parameters(module: nn.Module) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):  # a forward written in C, or a scripted one
        return ()
    return tuple(one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))


def first(value: Any) -> Any:
    """The first item of an output: a tensor's first sample, a container's first value, a dataclass's first field.

    What has no items (a scalar, an empty batch, `None`, any other object) is its own first item.
    """
    if isinstance(value, Tensor):
        try:
            return value[0]
        except IndexError:  # asking first would take longer, and nearly all tensors have one
            return value
    if isinstance(value, Mapping):
        return next(iter(value.values()), value)
    if isinstance(value, (tuple, list)):
        return value[0] if value else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return getattr(value, names[0]) if names else value
    return value
