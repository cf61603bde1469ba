"""Models with more weights than one picture should cost are built without the numbers of these.

A forward that is followed by shape reads none, and two billion random ones take a minute and the memory of the machine.
Tensors that nothing was written to take addresses only. The meta device would save no more, and lose what constructors
compute: tables of positions, masks, rates of their layers.

Where a number decides after all, `with_numbers` builds the model again.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from torchrecorder.recording.machine.memory import most
from torchrecorder.running.nested import tensors_in
from torchrecorder.running.restore import start_random_numbers

LARGE = 300_000_000
"""Parameters above which a model is not computed unless asked: it takes seconds and gigabytes for one picture."""
_BYTES = 8
"""Of the memory that a trial may fill, for each parameter: its number, and as much for what is computed with it."""
_SMALL = 30_000_000
"""Parameters up to which all are given their numbers at once; they take a quarter of a second.

A larger model that is only tried has none unless they decide: to build it again, and to compute it, takes seconds.
"""
_LEFT_EMPTY = 1 << 20
"""Numbers of a tensor from which on it stays empty: a smaller one costs nothing, and its constructor may read it."""
_WRITES = {
    *("normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_"),
    *("xavier_normal_", "xavier_uniform_"),
    *("constant_", "orthogonal_", "bernoulli_", "exponential_", "random_", "fill_", "zero_", "copy_", "erfinv_"),
    *("add_", "sub_", "mul_", "div_", "pow_", "log_", "clamp_", "clip_"),
}
"""Functions with which constructors write weights in place."""
_LEAVES = {
    *("__bool__", "__float__", "__int__", "__index__", "__array__"),
    *("item", "tolist", "numpy", "is_nonzero", "equal"),
}
"""Functions by which a constructor gets to know numbers."""
_LEFT = {"empty", "empty_like", "new_empty", "empty_strided"}
"""Functions that give tensors without numbers."""
_builders: dict[int, tuple[nn.Module, Callable[[], object], int, int]] = {}
"""Of the large models of this process, which records one, by id, with their seeds and parameters; a user's class may
refuse to be a key."""


def largest() -> int:
    """Parameters of the largest model that is computed here unless asked."""
    return LARGE if most() == sys.maxsize else _SMALL


def built(build: Callable[[], object], seed: int) -> object:
    """Result of a builder, whose random numbers start at a seed; a large model has none in its large weights.

    Whether it is large is known in the end: from some size on, weights are left empty, and if that is all of it, it is
    built again.
    """
    start_random_numbers(seed)
    numberless = _Numberless()
    counting = register_module_parameter_registration_hook(numberless.count)
    try:
        with _Filled(), numberless:
            model = build()
    except Exception:
        if numberless.counted <= _SMALL:
            raise
        model = None  # it may have read its weights
    finally:
        counting.remove()
    if isinstance(model, nn.Module) and numberless.counted > largest() and not numberless.were_read:
        _builders[id(model)] = model, build, seed, numberless.counted
    elif numberless.counted > _SMALL:
        model = None  # the next one wants its memory
        start_random_numbers(seed)
        with _Filled():
            model = build()
    return model


def is_numberless(model: nn.Module) -> bool:
    return id(model) in _builders


def is_too_large(model: nn.Module) -> bool:
    """Whether it has no numbers, and they would not fit what this process may fill, or take too long."""
    return is_numberless(model) and _builders[id(model)][3] > min(LARGE, most() // _BYTES)


def with_numbers(model: nn.Module) -> nn.Module:
    """The same model with all its numbers, as its builder makes it; itself, if it has them."""
    if not is_numberless(model):
        return model
    _, build, seed, _ = _builders[id(model)]
    with torch.random.fork_rng(devices=()):
        start_random_numbers(seed)
        again = build()
    return again if isinstance(again, nn.Module) else model


def forget(model: nn.Module) -> None:
    """Let a model go that is not recorded in the end."""
    _builders.pop(id(model), None)


class _Filled(TorchFunctionMode):
    """Has integers that a constructor leaves to weights be 0, which any table has a row for, and not what is there."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in _LEFT and isinstance(result, Tensor) and not result.dtype.is_floating_point:
            result.zero_()
        return result


class _Numberless(TorchFunctionMode):
    """Leaves large tensors empty, once so many parameters were counted, and sees whether a constructor reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = 0
        """Numbers in the parameters that modules were given."""
        self._empty: dict[int, weakref.ref[Tensor]] = {}
        """Tensors that nothing was written to, and what was computed of them, by id."""
        self.were_read = False

    def count(self, module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and not is_lazy(parameter):
            self.counted += parameter.numel()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if self.counted > _SMALL and name in _WRITES:
            written = args[0] if args else (kwargs or {}).get("tensor")
            if isinstance(written, Tensor) and written.numel() >= _LEFT_EMPTY:
                self._empty[id(written)] = weakref.ref(written)
                return written
        given = tensors_in((*args, *(kwargs or {}).values()), []) if self._empty else ()
        if not any((kept := self._empty.get(id(tensor))) is not None and kept() is tensor for tensor in given):
            return func(*args, **(kwargs or {}))
        is_torch = sys._getframe(1).f_globals.get("__name__") == nn.init.__name__
        if is_torch and name.strip("_") in ("lt", "gt"):  # `trunc_normal_` draws until none is outside; none is drawn
            return torch.zeros((), dtype=torch.bool)
        result = func(*args, **(kwargs or {}))
        self.were_read = self.were_read or (name in _LEAVES and not is_torch)
        self._empty |= {id(tensor): weakref.ref(tensor) for tensor in tensors_in((result,), [])}
        return result
