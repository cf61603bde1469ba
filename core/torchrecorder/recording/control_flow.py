"""Operators that call functions of the user's: `torch.cond`, `while_loop`, `map`, `scan`, `associative_scan`.

torch runs those functions where no mode sees what they do. So each is given in a form that switches the recording on
again, and the operator becomes a call of its name, with the layers and operations of its functions inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor

from torchrecorder.recording.isolation.substitutes import has_numbers
from torchrecorder.running import torch_private
from torchrecorder.running.nested import answer, tensors_in

_OPERATORS = {"cond", "while_loop", "while_loop_stack_output", "map_impl", "scan", "associative_scan"}
_WITHOUT_MODES = {"cond", "scan"}
"""Operators that refuse to compute while a mode sees kernels; the others move tensors between their calls."""


def is_control_flow(func: object) -> bool:
    operator = torch_private.HIGHER_ORDER_CLASS.get()
    return operator is not None and isinstance(func, operator) and getattr(func, "__name__", "") in _OPERATORS


def captured(func: object, args: Sequence[object]) -> list[Tensor]:
    """Tensors that the functions close over which an operator of higher order is given; it may call them unseen."""
    if not isinstance(func, torch_private.HIGHER_ORDER_CLASS.get() or ()):
        return []
    items = [item for arg in args for item in (arg if type(arg) is tuple else (arg,))]
    cells = [cell for item in items for cell in getattr(item, "__closure__", None) or ()]
    return tensors_in([answer(lambda cell=cell: cell.cell_contents, None) for cell in cells], [])  # type: ignore[misc]


class Watched:
    """The functions that an operator is given, and what they gave."""

    def __init__(
        self,
        operator: Any,
        args: Sequence[object],
        switched_on: Callable[[], AbstractContextManager[object]],
        copied: Callable[[Tensor, Tensor], None],
    ) -> None:
        """Watch none yet.

        Args:
            operator: What calls the functions.
            args: Its arguments, with the functions.
            switched_on: In this, what runs is recorded.
            copied: Is given what a function is called with first, and the operand that it is or was made from.
        """
        self.operator = operator
        self._loops = operator.__name__.startswith("while_loop")
        self._operands = tensors_in([item for item in args[1:] if not callable(item) or isinstance(item, Tensor)], [])
        self._switched_on = switched_on
        self._copied = copied
        self._results: dict[int, list[Tensor]] = {}
        """By the position of the function. Of the body of a loop only what it gave last: the rest would fill memory."""

    @property
    def results(self) -> list[Tensor]:
        return [tensor for tensors in self._results.values() for tensor in tensors]

    def chose(self, args: Sequence[object]) -> list[Tensor]:
        """The tensors that said which function runs, or whether it runs again; none of an operator that runs all."""
        return tensors_in(args[:1], []) if self.operator.__name__ == "cond" else self._results[0] if self._loops else []

    def of(self, position: int, item: object) -> object:
        """A function that is recorded while it runs; anything else is given back as it is."""
        if not callable(item) or isinstance(item, Tensor):
            return item
        function: Callable[..., object] = item
        results = self._results[position] = []

        def watched(*args: object, **kwargs: object) -> object:
            given = tensors_in(args, [])
            if not results and len(given) == len(self._operands):  # `scan` of torch 2.14 calls with copies first
                for tensor, operand in zip(given, self._operands, strict=True):
                    self._copied(tensor, operand)
            with self._switched_on():
                out = function(*args, **kwargs)
            if self._loops and position:
                results.clear()
            tensors_in((out,), results)
            return out

        return watched


def computed(
    watched: Watched, args: Sequence[object], kwargs: Mapping[str, object], log: Callable[[object], object]
) -> tuple[object, bool]:
    """The result of the operator, and whether numbers chose what it ran. Its frame is found by `scopes`.

    On numbers, torch's own way of computing it is taken directly: the other way traces the functions for gradients.
    """
    operator = watched.operator
    args = [watched.of(position, item) for position, item in enumerate(args)]
    compute = torch_private.COMPUTE.get()
    dense = compute(operator) if compute is not None and all(map(has_numbers, tensors_in(args, []))) else None
    with (
        torch_private.without_kernel_modes()
        if dense and operator.__name__ in _WITHOUT_MODES
        else contextlib.nullcontext()
    ):
        out = (dense or operator)(*args, **kwargs)
    log(out)
    return out, dense is not None
