"""Which axes of the tensors of a forward are the batch, found while it is recorded.

The batch is the first axis of the inputs. Each operation that reads it has a rule for where it is in the result; what
has none gives tensors of which nothing is known. A size that the model's code asks for is a `BatchSize`, so that it is
known again where a shape is built from it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.recording.batch.rules import (
    FIXED,
    FREE,
    REST,
    TAKING_SIZES,
    UNSURE,
    Found,
    NoBatch,
    Rule,
    create,
    rule_for,
)
from torchrecorder.recording.batch_size import BatchSize, Origin, plain
from torchrecorder.recording.names import OpName
from torchrecorder.recording.values import Values, is_in_transform

_COUNTS = {"__len__", "numel", "nelement", "stride", "nbytes", "tolist", "item", "numpy", "__array__"}
ABOUT_SIZES = {*_COUNTS, "size", "__get__"}
"""Functions whose answers may be plain numbers that depend on sizes; shapes, or other attributes."""
_REARRANGING = {"t_", "transpose_", "swapaxes_", "swapdims_", "set_", "set_data"}
"""Operations in place that may give a tensor other axes of the same sizes."""
_OURS = str(Path(__file__).parents[1])
_TENSOR: str = Tensor.__reduce_ex__.__code__.co_filename
_NOT_SIZES = frozenset((Tensor, nn.Parameter, int, float, bool, str, type(None), torch.dtype, torch.device))


class BatchAxes:
    """The batch of one recording. Nothing is known until `begin`, and when it was found that there is none."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._found: dict[int, Found] = {}
        """By value; what is not in it is fixed."""
        self._origin: Origin | None = None
        self.was_asked = False
        """Whether the model's code was given sizes."""
        self._known: dict[tuple[Any, ...], Sequence[Found]] = {}
        """What rules gave. Most operations of a model come again with tensors of the same shapes."""
        self._once: dict[Found, Found] = {FIXED: FIXED, UNSURE: UNSURE}

    def begin(self, inputs: Iterable[int]) -> None:
        """The first axis of these values is the batch, if they agree on its size."""
        shapes = {value: meta.shape for value in inputs if (meta := self._values.rows[value].meta) and meta.shape}
        sizes = {shape[0] for shape in shapes.values()}
        if len(sizes) == 1 and type(size := sizes.pop()) is int and size > 0:
            self._origin = Origin(size)
            first = Found(frozenset((0,)), True)
            self._found = dict.fromkeys(shapes, self._once.setdefault(first, first))

    def axes(self) -> dict[int, tuple[int, ...]]:
        """The axes of each value that are the batch."""
        found = {} if self._origin is None or self._origin.has_decided else self._found
        return {value: tuple(sorted(of.axes)) for value, of in sorted(found.items()) if of.axes}

    def of(self, tensor: Tensor) -> Found:
        """What is known of a tensor."""
        value = self._values.own(tensor)
        if value is None:  # a parameter that has not been read, or a tensor of another shape than its value
            return FIXED if self._values.is_met(tensor) and not self._values.is_known(tensor) else UNSURE
        return self._found.get(value, FIXED)

    def times(self, size: object) -> bool | int | None:
        """Whether a number is a multiple of the batch; None, if it depends on it in some other way, -1 as it is."""
        if type(size) is int:
            return size == REST and REST
        return True if type(size) is BatchSize and size.origin is self._origin and size.is_multiple else None

    def is_part(self, size: int | str) -> bool:
        """Whether a size is that of a batch, or of several."""
        return self._origin is not None and type(size) is int and size > 0 and size % self._origin.batch == 0

    @property
    def has_leaked(self) -> bool:
        return self._origin is None or self._origin.has_leaked

    def answered(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], answer: Any) -> Any:
        """What the model's code is given for the answer to a question about a tensor."""
        origin, tensor = self._origin, args[0]
        is_shape = type(answer) is torch.Size
        if origin is None or is_in_transform() or not (is_shape or name in _COUNTS or type(answer) is int):
            return answer
        if not isinstance(tensor, Tensor) or self._values.own(tensor) is None or (found := self.of(tensor)) == FIXED:
            return answer
        if name in _COUNTS:
            origin.has_leaked = True
        elif _is_pickled():
            return answer
        elif is_shape:
            return torch.Size([self._size(n, axis, found) for axis, n in enumerate(answer)])
        elif name == "size" and isinstance(answer, int):
            return self._size(answer, kwargs.get("dim", args[-1]) % tensor.ndim, found)
        return answer

    def _size(self, size: int, axis: int, found: Found) -> int:
        assert self._origin is not None
        self.was_asked = True
        is_fixed = found.is_all and axis not in found.axes
        return size if is_fixed else BatchSize.of(size, self._origin, axis in found.axes or None)

    def before(self, name: OpName, tensors: Sequence[Tensor]) -> Sequence[Found]:
        """What was known of tensors that an operation overwrote, and is known of them still."""
        return [UNSURE if name.name in _REARRANGING else self.of(tensor) for tensor in tensors]

    def leak(self) -> None:
        """The model's code got numbers that may depend on sizes."""
        if self._origin is not None:
            self._origin.has_leaked = True

    def unsure(self, values: Iterable[int]) -> None:
        """Nothing is known of these."""
        self._found.update(dict.fromkeys(values, UNSURE))

    def called(self, func: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        """What a function of torch's gives, which is not shown what only the model's code need know."""
        if not _NOT_SIZES.issuperset(map(type, args)):
            args = [*map(plain, args)]
        return func(*args, **{name: plain(item) for name, item in kwargs.items()}) if kwargs else func(*args)

    def learn(self, value: int, found: Found) -> None:
        """It is known of a value where the batch is in it."""
        meta = self._values.rows[value].meta
        if self._origin is not None and found != FIXED and meta is not None:
            self._found[value] = found
            if not all(0 <= axis < len(meta.shape) and self.is_part(meta.shape[axis]) for axis in found.axes):
                self._origin = None  # a rule was wrong of it

    def follow(
        self,
        name: OpName,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        attrs: Mapping[str, str],
        given: Sequence[Tensor],
        read: Sequence[int],
        made: Sequence[Tensor],
        made_as: Sequence[int],
    ) -> None:
        """Learn where the batch is in what an operation made of the tensors given to it."""
        origin, values, found = self._origin, self._values, self._found
        if origin is None:
            return
        if values.constants:
            self.unsure(values.constants)
            values.constants.clear()
        if values.reads_are_own and len(read) == len(given):
            ones = [*map(found.get, read)]
        else:
            ones = [self.of(tensor) for tensor in given]
        rule = rule_for(name)
        sizes: Sequence[bool | int | None] = ()
        if rule not in FREE:
            items = (*args, *kwargs.values())
            if self.was_asked and not _NOT_SIZES.issuperset(map(type, items)):
                sizes = self._numbers(items)
        if not any(ones) and True not in sizes and None not in sizes and (given or rule is create):
            return
        if is_in_transform():
            self.unsure(made_as)
            return
        key = (name, *map(id, ones), *[id(values.rows[value].meta) for value in (*read, *made_as)])
        if rule not in FREE:
            key = (*key, origin.has_leaked, *attrs, *attrs.values(), *sizes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._by_rule(rule, args, kwargs, made, sizes)
            for value, one in zip(made_as, known, strict=True):
                self.learn(value, one)
        else:
            found.update(zip(made_as, known, strict=True))

    def _by_rule(
        self,
        rule: Rule | None,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        made: Sequence[Tensor],
        sizes: Sequence[bool | int | None],
    ) -> Sequence[Found]:
        is_known = rule is not None and (rule in TAKING_SIZES or not any(one is True or one is None for one in sizes))
        try:
            found = UNSURE if rule is None or not is_known else rule(self, made, *args, **kwargs)
        except NoBatch:
            self._origin, found = None, UNSURE
        except Exception:  # arguments of a form that the rule does not know
            found = UNSURE
        each = [found] * len(made) if isinstance(found, Found) else found
        return [self._once.setdefault(one, one) for one in each]

    def _numbers(self, items: Iterable[Any]) -> list[bool | int | None]:
        """Of each number among the arguments whether it is of the batch."""
        found: list[bool | int | None] = []
        for item in items:
            kind = type(item)
            if kind is BatchSize or kind is int:
                found.append(self.times(item))
            elif kind is tuple or kind is list or kind is torch.Size:
                found += self._numbers(item)
            elif kind is slice:
                found += self._numbers((item.start, item.stop, item.step))
        return found


def _is_pickled() -> bool:
    """Whether it is torch's own code of tensors that asks: what it writes is read by others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == _TENSOR
