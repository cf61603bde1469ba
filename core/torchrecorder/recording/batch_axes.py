"""Which axes of the tensors of a forward are the batch, found while it is recorded.

The batch is the first axis of the inputs. Three kinds of operations carry it on: those that combine tensors element by
element, those that keep the axes of the first one, and those whose sizes follow from sizes alone. The last are run once
more, on tensors without data whose batch is larger. What is none of these gives tensors of which nothing is known. A
size that the model's code asks for is a `BatchSize`, so that it is known again where a shape is built from it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torchrecorder.graph.batch import symbol
from torchrecorder.recording.axis_rules import (
    ELEMENTWISE,
    FIXED,
    NO_SIZES,
    TAKING_SIZES,
    UNSURE,
    Axes,
    AxisRule,
    BatchSize,
    Called,
    NoBatch,
    Origin,
    axis_rule,
    mapped,
    sizes_in,
)
from torchrecorder.recording.names import OpName
from torchrecorder.recording.values import Values, running_transform
from torchrecorder.running import torch_private
from torchrecorder.running.nested import tensors_in

_meta_of = operator.attrgetter("meta")
_COUNTS = {"__len__", "numel", "nelement", "stride", "nbytes", "tolist", "item", "numpy", "__array__"}
ABOUT_SIZES = {*_COUNTS, "size", "__get__"}
"""Functions whose answers may be plain numbers that depend on sizes; shapes, or other attributes."""
_REARRANGING = {"t_", "transpose_", "swapaxes_", "swapdims_", "set_", "set_data"}
"""Operations in place that may give a tensor other axes of the same sizes."""
_OURS = str(Path(__file__).parent)
_TENSOR: str = Tensor.__reduce_ex__.__code__.co_filename
_FIXED_IDS = {id(None), id(FIXED)}
_TIMES, _OTHERWISE = 1009, 1013
"""How many batches the larger one holds, and how much larger are sizes that may depend on it: primes, so that no size
is a multiple of them by chance, and more than the numbers at which code cuts a batch."""


class BatchAxes:
    """The batch of one recording. Nothing is known until `begin`, and when it was found that there is none."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._known: dict[int, Axes] = {}
        """By value; what is not in it is fixed."""
        self._origin: Origin | None = None
        self.was_asked = False
        """Whether the model's code was given sizes."""
        self.is_enlarging = False
        """Whether a function is running on a larger batch."""
        self._ruled: dict[tuple[Any, ...], Sequence[Axes]] = {}
        """What rules gave. Most operations of a model come again with tensors of the same shapes."""
        self._numbers: list[tuple[dict[str, str], str, str]] = []
        """Texts of arguments, the one that is computed with and is the batch, and the letter for it."""
        self._once: dict[Axes, Axes] = {FIXED: FIXED, UNSURE: UNSURE}

    def begin(self, inputs: Iterable[int]) -> None:
        """The first axis of these values is the batch, if they agree on its size."""
        shapes = {value: meta.shape for value in inputs if (meta := self._values.rows[value].meta) and meta.shape}
        sizes = {shape[0] for shape in shapes.values()}
        if len(sizes) == 1 and type(size := sizes.pop()) is int and size > 0:
            self._origin = Origin(size)
            first = Axes(frozenset((0,)), frozenset())
            self._known = dict.fromkeys(shapes, self._once.setdefault(first, first))

    def axes(self, outputs: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """The axes of each value that are the batch; none if an output may have it and it is not known where."""
        known = {} if self._origin is None or self._origin.has_decided else self._known
        for value in outputs:
            axes, meta = known.get(value, FIXED), self._values.rows[value].meta
            sizes = () if meta is None else [n for axis, n in enumerate(meta.shape) if axis in axes.unsure]
            if axes.unsure and not axes.batch and (meta is None or any(map(self._is_multiple, sizes))):
                return {}
        for attrs, place, letter in self._numbers if known else ():  # there is something that the letter is about
            attrs[place] = letter
        return {value: tuple(sorted(axes.batch)) for value, axes in sorted(known.items()) if axes.batch}

    def of(self, tensor: Tensor) -> Axes:
        """The knowledge of a tensor's axes."""
        value = self._values.own(tensor)
        if value is None:  # a parameter that has not been read, or a tensor of another shape than its value
            return FIXED if self._values.is_met(tensor) and not self._values.is_known(tensor) else UNSURE
        return self._known.get(value, FIXED)

    def _enlarge(self, call: Called) -> Sequence[Axes]:
        """The axes that are larger where the function itself runs on a larger batch, without data."""
        met: list[Tensor] = []

        def larger(tensor: Tensor) -> Tensor:
            met.append(tensor)
            axes, shape = self.of(tensor), [*tensor.shape]
            if not shape and axes == FIXED and not tensor.dtype.is_floating_point:  # a size, perhaps
                return tensor
            for axis, n in enumerate(shape):
                shape[axis] = n * _TIMES if axis in axes.batch else (n or 1) * _OTHERWISE if axis in axes.unsure else n
            return torch.empty(shape, dtype=tensor.dtype, device="meta")

        self.is_enlarging = True
        try:
            with torch_private.without_torch_function(), torch_private.without_dispatch():
                args = mapped(tuple(call.args), _enlarged, larger)
                kwargs = {name: mapped(item, _enlarged, larger) for name, item in call.kwargs.items()}
                if not met or "device" in kwargs:
                    kwargs["device"] = "meta"
                results = tensors_in((call.func(*args, **kwargs),), [])
        finally:
            self.is_enlarging = False
        return [self._grown(*pair) for pair in zip(call.made, results, strict=True)]

    def _grown(self, tensor: Tensor, larger: Tensor) -> Axes:
        pairs = [*enumerate(zip(tensor.shape, larger.shape, strict=True))]
        batch = frozenset(axis for axis, (size, more) in pairs if more == size * _TIMES and self._is_multiple(size))
        return Axes(batch, frozenset(axis for axis, (size, more) in pairs if size != more) - batch)

    def _is_multiple(self, size: object) -> bool:
        return self._origin is not None and type(size) is int and size > 0 and size % self._origin.batch == 0

    def answered(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], answer: Any) -> Any:
        """The answer that the model's code is given to a question about a tensor."""
        origin, tensor = self._origin, args[0]
        is_shape = type(answer) is torch.Size
        if (
            origin is None
            or running_transform() is not None
            or not (is_shape or name in _COUNTS or type(answer) is int)
        ):
            return answer
        if (
            not isinstance(tensor, Tensor)
            or (value := self._values.own(tensor)) is None
            or (axes := self._known.get(value, FIXED)) == FIXED
        ):
            return answer
        if name in _COUNTS:
            origin.has_leaked = True
        elif _is_pickled():
            return answer
        elif is_shape:
            return torch.Size([self._size(n, axis, axes) for axis, n in enumerate(answer)])
        elif name == "size" and isinstance(answer, int):
            return self._size(answer, kwargs.get("dim", args[-1]) % tensor.ndim, axes)
        return answer

    def _size(self, size: int, axis: int, axes: Axes) -> int:
        assert self._origin is not None
        self.was_asked = True
        is_fixed = axis not in axes.batch | axes.unsure
        return size if is_fixed else BatchSize.of(size, self._origin, axis in axes.batch or None)

    def before(self, name: OpName, tensors: Sequence[Tensor]) -> Sequence[Axes]:
        """The knowledge of overwritten tensors that is left."""
        return [UNSURE if name.name in _REARRANGING else self.of(tensor) for tensor in tensors]

    def leak(self) -> None:
        """The model's code got numbers that may depend on sizes."""
        if self._origin is not None:
            self._origin.has_leaked = True

    def unsure(self, values: Iterable[int]) -> None:
        """Nothing is known of these."""
        self._known.update(dict.fromkeys(values, UNSURE))

    def sizes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[BatchSize]:
        """The sizes of the batch among arguments."""
        items = (*args, *kwargs.values()) if kwargs else args
        return () if not self.was_asked or NO_SIZES.issuperset(map(type, items)) else sizes_in(items, [])

    def plain(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Arguments with plain numbers in place of sizes of the batch: torch looks long at an int of another class."""
        plain = {name: mapped(item, int.__index__) for name, item in kwargs.items()}
        return [mapped(item, int.__index__) for item in args], plain

    def learn(self, value: int, axes: Axes) -> None:
        """Keep where the batch is in a value."""
        meta = self._values.rows[value].meta
        if self._origin is not None and axes != FIXED and meta is not None:
            self._known[value] = axes
            if not all(axis < len(meta.shape) and self._is_multiple(meta.shape[axis]) for axis in axes.batch):
                self._origin = None  # a rule was wrong of it

    def follow(
        self, name: OpName, called: _Called, attrs: dict[str, str], given: Sequence[Tensor], read: Sequence[int],
        made_as: Sequence[int], is_wrapped: bool,
    ) -> None:  # fmt: skip
        """Learn where the batch is in what an operation made of the tensors given to it."""
        origin, values, known = self._origin, self._values, self._known
        if origin is None:
            return
        if values.constants:
            self.unsure(values.constants)
            values.constants.clear()
        is_own = values.reads_are_own and len(read) == len(given)
        axes = [*map(known.get, read)] if is_own else [self.of(tensor) for tensor in given]
        rule = axis_rule(name)
        sizes = () if rule.is_of_shapes else called[-1]
        for place, size in enumerate(called[1]) if called[-1] and rule is ELEMENTWISE else ():
            if type(size) is BatchSize and size.is_multiple:
                self._numbers.append((attrs, str(place), symbol(int.__index__(size), origin.batch)))
        is_fixed = _FIXED_IDS.issuperset(map(id, axes))  # so is what is made of it
        if is_fixed and not sizes and (given or rule.way is not None):
            return
        if is_wrapped:
            self.unsure(made_as)
            return
        rows = map(values.rows.__getitem__, (*read, *made_as))
        key = (name, *map(id, axes), *map(id, map(_meta_of, rows)))
        are_multiples = [size.origin is origin and size.is_multiple for size in sizes] if sizes else ()
        if not rule.is_of_shapes:
            key = (*key, origin.has_leaked, *attrs, *attrs.values(), *are_multiples)
        ruled = self._ruled.get(key)
        if ruled is None:
            has_leaked = origin.has_leaked or name.target.startswith("torch.ops.")  # the code of TorchScript
            call = Called(*called, has_leaked, self.of, self._enlarge)
            ruled = self._ruled[key] = self._by_rule(rule, call, are_multiples)
            for value, of in zip(made_as, ruled, strict=True):
                self.learn(value, of)
        else:
            known.update(zip(made_as, ruled, strict=True))

    def _by_rule(self, rule: AxisRule, call: Called, are_multiples: Sequence[bool | None]) -> Sequence[Axes]:
        ruled: Axes | Sequence[Axes] = UNSURE
        assert self._origin is not None
        try:
            # Of one number that depends on the batch in some other way nothing follows.
            if rule.way is not None and (
                not are_multiples or (rule.way in TAKING_SIZES and False not in are_multiples)
            ):
                for tensor, axis in rule.related(*call.args, **call.kwargs):
                    is_merged = "attention" in call.func.__name__ and tensor.shape[axis] > self._origin.batch
                    if axis in self.of(tensor).batch and not is_merged:
                        raise NoBatch
                ruled = rule.way(call)
        except NoBatch:
            self._origin = None
        except Exception:  # arguments of a form that the rule does not know
            pass
        each = [ruled] * len(call.made) if isinstance(ruled, Axes) else ruled
        pairs = zip(each, call.made, strict=True)  # a number has no axes
        return [self._once.setdefault(axes, axes) if made.ndim else FIXED for axes, made in pairs]


_Called = tuple[Callable[..., object], Sequence[Any], Mapping[str, Any], Sequence[Tensor], Sequence[BatchSize]]
"""A function, its arguments, what it made, and the sizes of the batch among the arguments."""


def _enlarged(size: BatchSize) -> int:
    return size.__index__() * (_TIMES if size.is_multiple else _OTHERWISE)


def _is_pickled() -> bool:
    """Whether it is torch's own code of tensors that asks: what it writes is read by others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == _TENSOR
