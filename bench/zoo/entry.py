"""A model of some library, known by name, and how it is built; what it is called with is not said anywhere here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

LARGE = 30_000_000
"""Parameters above which a model is built without memory for them: drawing random ones would take most of the time."""


@dataclass(frozen=True)
class Entry:
    name: str
    """`library/model`."""
    build: Callable[[], nn.Module]


def small_or_meta(build: Callable[[], nn.Module], large: int = LARGE) -> nn.Module:
    """What `build` makes; a large model stays on meta, as it does for authors who document one."""
    try:
        with torch.device("meta"):
            model = build()
        if sum(p.numel() for p in model.parameters()) > large:
            return model
    except Exception:  # its constructor computes
        pass
    return build()


def filled(cls: Callable[..., nn.Module], values: Mapping[str, Any], **given: Any) -> nn.Module:
    """Call a class with values for those of its required parameters that are not given, by name."""
    parameters = inspect.signature(cls).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [p.name for p in needed if p.name not in given and p.name not in values]
    if missing:
        raise TypeError(f"the zoo has no value for {', '.join(missing)}")
    return cls(**{p.name: values[p.name] for p in needed if p.name not in given}, **given)


def classes(module: Any) -> dict[str, type[nn.Module]]:
    """The public module classes that a Python module offers, by name."""
    names = getattr(module, "__all__", None) or dir(module)
    found = {name: getattr(module, name, None) for name in names if not name.startswith("_")}
    return {name: cls for name, cls in sorted(found.items()) if isinstance(cls, type) and issubclass(cls, nn.Module)}
