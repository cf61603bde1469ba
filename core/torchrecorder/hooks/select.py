"""Which modules of a network get a hook: chosen by type, by index, or by both."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from types import UnionType
from typing import Any, Literal, TypeAlias

from torch import nn

Walk = Literal["children", "modules"]

Types: TypeAlias = "type | UnionType | Iterable[Types]"
"""What `isinstance` takes, or another collection of it."""


def selected(
    network: nn.Module,
    walk: Walk,
    types: Types | None,
    indices: Iterable[int] | None,
) -> list[nn.Module]:
    """The modules for which both conditions hold; a condition that is `None` always does.

    Args:
        network: Where to look.
        walk: `children` looks at the direct children, `modules` at the network and everything below it.
        types: A type or several, as for `isinstance`.
        indices: Positions in that walk, from 0. One that does not exist selects nothing.

    Raises:
        TypeError: `network` is no module, or a condition is of another kind.
    """
    if not isinstance(network, nn.Module):
        raise TypeError(f"hooks go on a torch.nn.Module, not on {_kind(network)}")
    kinds, places = _types(types), _indices(indices)
    return [
        module
        for place, module in enumerate(getattr(network, walk)())
        if (kinds is None or isinstance(module, kinds)) and (places is None or place in places)
    ]


def _types(types: Any) -> Any:
    """What `isinstance` takes: a class, a union of classes, or a tuple; another collection becomes one."""
    is_collection = isinstance(types, Iterable) and not isinstance(types, (type, tuple))
    kinds: Any = tuple(types) if is_collection else types
    try:
        isinstance(None, () if kinds is None else kinds)
    except TypeError:
        raise TypeError(
            f"types must be a class or several, such as (torch.nn.Linear, torch.nn.Conv2d), not {types!r}"
        ) from None
    return kinds


def _indices(indices: Any) -> frozenset[int] | None:
    if indices is None:
        return None
    try:
        return frozenset(index(place) for place in indices)  # a number in a tensor is equal to an integer, but no key
    except TypeError:
        raise TypeError(f"indices must be several integers, such as (0, 2), not {indices!r}") from None


def _kind(value: object) -> str:
    return type(value).__name__
