"""What a module or the arguments of a function were, as one line of text (`collect_attributes=True`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn.parameter import is_lazy

from torchrecorder.recorder_tensor.computation_node import shape_of

_CUT = "..."
_MOST_OUTSIDE, _MOST_INSIDE = 20, 5
"""How many attributes of an object are shown: of the one that is asked for, and of one that another holds."""


def stringify_attributes(obj: Any, max_depth: int = 3, current_depth: int = 0) -> str:
    """Text of a value and, for containers and objects, of what they hold.

    Args:
        obj: Any value. Of a tensor, shape and dtype are shown; of an object, its first public attributes.
        max_depth: Levels to go down; what lies deeper is `...`.
        current_depth: The level that `obj` is on.
    """
    if current_depth > max_depth:
        return _CUT
    if isinstance(obj, Tensor):
        return "Tensor(<uninitialized>)" if is_lazy(obj) else f"Tensor(shape={shape_of(obj)}, dtype={obj.dtype})"
    items = _named_items(obj)
    if items is not None:
        inner = ", ".join(f"{name}: {stringify_attributes(v, max_depth, current_depth + 1)}" for name, v in items)
        return "{" + inner + "}"
    if isinstance(obj, (list, tuple)):
        return "[" + ", ".join(stringify_attributes(item, max_depth, current_depth + 1) for item in obj) + "]"
    held = getattr(obj, "__dict__", None)
    if held is None:
        return repr(obj)
    public = [(name, value) for name, value in held.items() if not name.startswith("_")]
    shown = public[: _MOST_INSIDE if current_depth else _MOST_OUTSIDE]
    inner = ", ".join(f"{name}={stringify_attributes(value, max_depth, current_depth + 1)}" for name, value in shown)
    return f"{type(obj).__name__}({inner}{_CUT if len(shown) < len(public) else ''})"


def _named_items(obj: Any) -> list[tuple[Any, Any]] | None:
    return list(obj.items()) if isinstance(obj, Mapping) else None
