"""Which modules of a network get a hook: chosen by type, by index, or by both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from torch import nn

Walk = Literal["children", "modules"]


def selected(
    network: nn.Module,
    walk: Walk,
    types: type | Iterable[type] | None,
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


def _types(types: Any) -> tuple[type, ...] | None:
    if types is None:
        return None
    given: Any = (types,) if isinstance(types, type) else types
    kinds = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(kind, type) for kind in kinds):
        raise TypeError(f"types must be a class or several, such as (torch.nn.Linear, torch.nn.Conv2d), not {types!r}")
    return kinds


def _indices(indices: Any) -> frozenset[int] | None:
    if indices is None:
        return None
    if not isinstance(indices, Iterable):
        raise TypeError(f"indices must be several integers, such as (0, 2), not {_kind(indices)}")
    return frozenset(indices)


def _kind(value: object) -> str:
    return type(value).__name__
