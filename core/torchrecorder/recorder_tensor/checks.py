"""The small helpers that torchview's `utils` exports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.nn.parameter import Parameter


def is_generator_empty(parameters: Iterable[Parameter]) -> bool:
    """Whether there is nothing to iterate over; the first element of an iterator is used up."""
    return not any(True for _ in parameters)


def updated_dict(arg_dict: dict[str, Any], update_key: str, update_value: Any) -> dict[str, Any]:
    """A copy of the dict in which one key has another value.

    As in torchview, a key that is not there is not added.
    """
    return {key: update_value if key == update_key else value for key, value in arg_dict.items()}


def assert_input_type(func_name: str, valid_input_types: tuple[type, ...], in_var: Any) -> None:
    """Check the type of an argument.

    Raises:
        AssertionError: It is none of `valid_input_types`.
    """
    if not isinstance(in_var, valid_input_types):
        raise AssertionError(
            f"For an unknown reason, {func_name} function was given input with wrong type. "
            f"The input is of type: {type(in_var)}. But, it should be {valid_input_types}"
        )
