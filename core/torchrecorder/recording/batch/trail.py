"""What a recording keeps of its calls, so that a second run can be followed beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from torchrecorder.running.nested import tensors_in

_OF_ALL_ELEMENTS = {"equal", "allclose", "__contains__"}
"""Questions whose answer does not depend on the number of elements."""

Places = Sequence[tuple[bool, int]]
"""Where the results of an operation are: among its arguments (if it overwrote them) or in its result, and which one."""


class Differs(BaseException):
    """The second run is not as the first one. Not an `Exception`, which the user's code might catch and go on."""


class Trail:
    """The calls of torch's API that a forward made, in order."""

    def __init__(self) -> None:
        self.calls: list[Callable[..., object]] = []
        self.ops: dict[int, tuple[int, Places | None]] = {}
        """By the position of a call the id of its operation, and its results; None, if that is one tensor."""
        self.answers: dict[int, tuple[Sequence[int] | None, object]] = {}
        """By the position of a question its answer, and the shape of what was asked, if the answer depends on it."""

    def logged(
        self, op: int, given: Sequence[Tensor], overwritten: Sequence[Tensor], fresh: Sequence[Tensor], out: object
    ) -> None:
        """The call that was made last is an operation."""
        places: Places | None = None
        if overwritten or type(out) is not Tensor:
            made = tensors_in((out,), [])
            places = [(True, _place(tensor, given)) for tensor in overwritten]
            places += [(False, _place(tensor, made)) for tensor in fresh]
        self.ops[len(self.calls) - 1] = op, places

    def asked(self, name: str, args: Sequence[Any], answer: object) -> None:
        """The call that was made last asked a tensor for what it holds, or where it lies."""
        kind = type(answer)
        if kind is torch.device or name in _OF_ALL_ELEMENTS:
            self.answers[len(self.calls) - 1] = None, answer
        elif kind in (bool, int, float, complex, list):
            self.answers[len(self.calls) - 1] = tuple(args[0].shape), answer


def _place(tensor: Tensor, tensors: Sequence[Tensor]) -> int:
    return next((place for place, other in enumerate(tensors) if other is tensor), -1)
