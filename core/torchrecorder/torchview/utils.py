"""The ordered set in which nodes are kept, and small functions over parameters, arguments and attributes."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, MutableSet, TypeVar  # noqa: UP035 - as torchview's users may subscript it

from torch import Tensor
from torch.nn.parameter import Parameter, is_lazy

from torchrecorder.running import torch_private

__all__ = ["OrderedSet", "assert_input_type", "is_generator_empty", "stringify_attributes", "updated_dict"]

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose iteration order is the order of insertion, so that one model always gives one text of DOT.

    Args:
        iterable: The first elements.

    Attributes:
        map: The elements, as the keys of a dict.

    Examples:
        >>> from torchrecorder.torchview.utils import OrderedSet
        >>> names = OrderedSet(["conv", "norm", "conv"])
        >>> names.add("act")
        >>> names
        OrderedSet(['conv', 'norm', 'act'])
        >>> names - {"norm"}
        OrderedSet(['conv', 'act'])
    """

    def __init__(self, iterable: Any | None = None) -> None:
        elements: Iterable[T] = () if iterable is None else iterable
        self.map: dict[T, None] = dict.fromkeys(elements)

    def __len__(self) -> int:
        return len(self.map)

    def __contains__(self, value: object) -> bool:
        return value in self.map

    def add(self, value: T) -> None:
        """Put an element at the end; one that is there already keeps its place."""
        self.map.setdefault(value)

    def remove(self, value: T) -> None:
        """Take an element out; as in torchview, removing one that is not there does nothing."""
        self.discard(value)

    def discard(self, value: T) -> None:
        """Take an element out if it is there."""
        self.map.pop(value, None)

    def __iter__(self) -> Generator[T, Any, Any]:
        yield from self.map

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({list(self.map)})" if self.map else name


def is_generator_empty(parameters: Iterable[Parameter]) -> bool:
    """Whether there is nothing to iterate over; the first element of an iterator is used up.

    Args:
        parameters: Usually `module.parameters()`.

    Returns:
        True for a module without parameters, such as an activation.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.torchview.utils import is_generator_empty
        >>> is_generator_empty(nn.ReLU().parameters()), is_generator_empty(nn.Linear(2, 2).parameters())
        (True, False)
    """
    return not any(True for _ in parameters)


def updated_dict(arg_dict: dict[str, Any], update_key: str, update_value: Any) -> dict[str, Any]:
    """A copy of a dict in which one key has another value.

    Args:
        arg_dict: The dict, which is not changed.
        update_key: The key. As in torchview, one that is not there is not added.
        update_value: Its value in the copy.

    Returns:
        The copy.

    Examples:
        >>> from torchrecorder.torchview.utils import updated_dict
        >>> updated_dict({"depth": 1, "name": "conv"}, "depth", 2)
        {'depth': 2, 'name': 'conv'}
    """
    return {key: update_value if key == update_key else value for key, value in arg_dict.items()}


def assert_input_type(func_name: str, valid_input_types: tuple[type, ...], in_var: Any) -> None:
    """Check the type of an argument.

    Args:
        func_name: The function it was given to.
        valid_input_types: The types it may have.
        in_var: The argument.

    Raises:
        AssertionError: It is an instance of none of `valid_input_types`.

    Examples:
        >>> from torchrecorder.torchview.utils import assert_input_type
        >>> assert_input_type("draw", (int, float), 3)
    """
    if not isinstance(in_var, valid_input_types):
        raise AssertionError(
            f"For an unknown reason, {func_name} function was given input with wrong type. "
            f"The input is of type: {type(in_var)}. But, it should be {valid_input_types}"
        )


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor; asking a recording one is not recorded."""
    with torch_private.without_subclass_function():
        return tuple(tensor.shape)


_MOST_OUTSIDE, _MOST_INSIDE = 20, 5
"""How many attributes of an object are shown: of the one that is asked for, and of one that another holds."""


def stringify_attributes(obj: Any, max_depth: int = 3, current_depth: int = 0) -> str:
    """Text of a value and, for containers and objects, of what they hold.

    Args:
        obj: Any value. Of a tensor, shape and dtype are shown; of an object, its first public attributes.
        max_depth: Levels to go down; what lies deeper is `...`.
        current_depth: The level that `obj` is on.

    Returns:
        One line.

    Examples:
        >>> import torch
        >>> from torchrecorder.torchview.utils import stringify_attributes
        >>> stringify_attributes(torch.nn.Linear(3, 4))
        'Linear(training=True, in_features=3, out_features=4)'
        >>> stringify_attributes([torch.ones(2, 3), {"p": 0.5}])
        '[Tensor(shape=(2, 3), dtype=torch.float32), {p: 0.5}]'
    """
    if current_depth > max_depth:
        return "..."
    if isinstance(obj, Tensor):
        return "Tensor(<uninitialized>)" if is_lazy(obj) else f"Tensor(shape={shape_of(obj)}, dtype={obj.dtype})"

    def text(held: Any) -> str:
        return stringify_attributes(held, max_depth, current_depth + 1)

    if isinstance(obj, Mapping):
        return "{" + ", ".join(f"{name}: {text(value)}" for name, value in obj.items()) + "}"
    if isinstance(obj, (list, tuple)):
        return f"[{', '.join(map(text, obj))}]"
    if not hasattr(obj, "__dict__"):
        return repr(obj)
    public = [name for name in vars(obj) if not name.startswith("_")]
    shown = public[: _MOST_INSIDE if current_depth else _MOST_OUTSIDE]
    inner = ", ".join(f"{name}={text(vars(obj)[name])}" for name in shown)
    return f"{type(obj).__name__}({inner}{'...' if len(shown) < len(public) else ''})"
