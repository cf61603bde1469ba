"""Layers of a network, chosen by type, by index, or by both; what recorders and registrators have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from types import UnionType
from typing import Any, Literal, Self, TypeAlias

from torch import nn
from torch.jit import RecursiveScriptModule  # type: ignore[attr-defined]  # it has, and does not list it

Types: TypeAlias = "type | UnionType | Iterable[Types]"
"""What `isinstance` takes, or another collection of it."""


class OnLayers:
    """Puts something on layers. `str` gives `module.Class`, `repr` the public attributes too."""

    def children(self, network: nn.Module, types: Types | None = None, indices: Iterable[int] | None = None) -> Self:
        """Put it on children of `network`: those of the types and at the indices, all of them by default.

        Args:
            network: Whose direct children to choose from.
            types: A class or several.
            indices: Positions among the children, from 0.

        Returns:
            This object.

        Raises:
            TypeError: `network` is not a module, or a script module, which runs its children where no hook sees them;
                or `types` and `indices` are not what they should be.
        """
        return self._register(selected(network, "children", types, indices))

    def modules(self, module: nn.Module, types: Types | None = None, indices: Iterable[int] | None = None) -> Self:
        """Put it on `module` and on what is below it: those of the types and at the indices, all of them by default.

        Of a script module only the whole is called where hooks see it.

        Args:
            module: What to choose from, and all modules below it.
            types: A class or several.
            indices: Positions in `module.modules()`, from 0, which is `module` itself.

        Returns:
            This object.

        Raises:
            TypeError: `module` is not one, or `types` and `indices` are not what they should be.
        """
        return self._register(selected(module, "modules", types, indices))

    def _register(self, modules: Sequence[nn.Module]) -> Self:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{self}({shown})"


def selected(network: Any, walk: Literal["children", "modules"], types: Any, indices: Any) -> list[nn.Module]:
    """The modules for which both conditions hold; a condition that is `None` always does."""
    if not isinstance(network, nn.Module):
        raise TypeError(f"hooks go on a torch.nn.Module, not on {type(network).__name__}")
    if walk == "children" and isinstance(network, RecursiveScriptModule):
        raise TypeError(
            f"the script module {network.original_name} runs its children where no hook sees them; "
            "take modules(network, indices=(0,)) for the whole, or the network as it was before torch.jit.script"
        )
    # `isinstance` takes a class, a union of classes, or a tuple; another collection becomes one.
    is_collection = isinstance(types, Iterable) and not isinstance(types, (type, tuple))
    kinds: Any = tuple(types) if is_collection else types
    try:
        isinstance(None, () if kinds is None else kinds)
    except TypeError:
        raise TypeError(
            f"types must be a class or several, such as (torch.nn.Linear, torch.nn.Conv2d), not {types!r}"
        ) from None
    try:  # a number in a tensor is equal to an integer, but has another hash
        places = None if indices is None else frozenset(index(place) for place in indices)
    except TypeError:
        raise TypeError(f"indices must be several integers, such as (0, 2), not {indices!r}") from None
    return [
        module
        for place, module in enumerate(getattr(network, walk)())
        if (kinds is None or isinstance(module, kinds)) and (places is None or place in places)
    ]
