"""Which axes of the tensors of a forward are the batch, found while it is recorded.

The batch is the first axis of the inputs. Three kinds of operations carry it on: those that combine tensors element by
element, those that keep the axes of the first one, and those whose sizes follow from sizes alone. The last are run once
more, on tensors without data whose batch is larger. What is none of these gives tensors of which nothing is known. A
size that the model's code asks for is a `BatchSize`, so that it is known again where a shape is built from it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrecorder.recording.batch_size import NO_SIZES, BatchSize, Origin, mapped, sizes_in
from torchrecorder.recording.names import OpName
from torchrecorder.recording.values import Values, running_transform
from torchrecorder.running import torch_private
from torchrecorder.running.nested import tensors_in

_COUNTS = {"__len__", "numel", "nelement", "stride", "nbytes", "tolist", "item", "numpy", "__array__"}
ABOUT_SIZES = {*_COUNTS, "size", "__get__"}
"""Functions whose answers may be plain numbers that depend on sizes; shapes, or other attributes."""
_REARRANGING = {"t_", "transpose_", "swapaxes_", "swapdims_", "set_", "set_data"}
"""Operations in place that may give a tensor other axes of the same sizes."""
_OURS = str(Path(__file__).parent)
_TENSOR: str = Tensor.__reduce_ex__.__code__.co_filename
_TIMES = 1009
"""How many batches the larger one holds: a prime, so that no size is a multiple of it by chance, and more than the
numbers at which code cuts a batch."""


class Axes(NamedTuple):
    """What is known of a tensor."""

    batch: frozenset[int]
    """Axes whose sizes are multiples of the batch."""
    is_all: bool
    """Whether the sizes of all other axes do not depend on it."""


FIXED, UNSURE = Axes(frozenset(), True), Axes(frozenset(), False)


@dataclass(slots=True)
class Called:
    """A function of torch's that was called."""

    func: Callable[..., object]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    made: Sequence[Tensor]
    sizes: Sequence[BatchSize] = ()
    """Those among the arguments."""


class NoBatch(Exception):
    """The first axis of the inputs is not a batch: an operation relates the places along it with one another."""


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
        self._once: dict[Axes, Axes] = {FIXED: FIXED, UNSURE: UNSURE}

    def begin(self, inputs: Iterable[int]) -> None:
        """The first axis of these values is the batch, if they agree on its size."""
        shapes = {value: meta.shape for value in inputs if (meta := self._values.rows[value].meta) and meta.shape}
        sizes = {shape[0] for shape in shapes.values()}
        if len(sizes) == 1 and type(size := sizes.pop()) is int and size > 0:
            self._origin = Origin(size)
            first = Axes(frozenset((0,)), True)
            self._known = dict.fromkeys(shapes, self._once.setdefault(first, first))

    def axes(self) -> dict[int, tuple[int, ...]]:
        """The axes of each value that are the batch."""
        known = {} if self._origin is None or self._origin.has_decided else self._known
        return {value: tuple(sorted(axes.batch)) for value, axes in sorted(known.items()) if axes.batch}

    def of(self, tensor: Tensor) -> Axes:
        """What is known of a tensor."""
        value = self._values.own(tensor)
        if value is None:  # a parameter that has not been read, or a tensor of another shape than its value
            return FIXED if self._values.is_met(tensor) and not self._values.is_known(tensor) else UNSURE
        return self._known.get(value, FIXED)

    def grown(self, tensor: Tensor, larger: Tensor, is_all: bool) -> Axes:
        """Which axes are as many times larger as the batch is."""
        pairs = [*enumerate(zip(tensor.shape, larger.shape, strict=True))]
        batch = frozenset(axis for axis, (size, more) in pairs if more == size * _TIMES and self._is_multiple(size))
        return Axes(batch, is_all and all(size == more for axis, (size, more) in pairs if axis not in batch))

    def _is_multiple(self, size: object) -> bool:
        return self._origin is not None and type(size) is int and size > 0 and size % self._origin.batch == 0

    @property
    def has_leaked(self) -> bool:
        return self._origin is None or self._origin.has_leaked

    def answered(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], answer: Any) -> Any:
        """What the model's code is given for the answer to a question about a tensor."""
        origin, tensor = self._origin, args[0]
        is_shape = type(answer) is torch.Size
        if (
            origin is None
            or running_transform() is not None
            or not (is_shape or name in _COUNTS or type(answer) is int)
        ):
            return answer
        if not isinstance(tensor, Tensor) or self._values.own(tensor) is None or (axes := self.of(tensor)) == FIXED:
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
        is_fixed = axes.is_all and axis not in axes.batch
        return size if is_fixed else BatchSize.of(size, self._origin, axis in axes.batch or None)

    def before(self, name: OpName, tensors: Sequence[Tensor]) -> Sequence[Axes]:
        """What was known of tensors that an operation overwrote, and is known of them still."""
        return [UNSURE if name.name in _REARRANGING else self.of(tensor) for tensor in tensors]

    def leak(self) -> None:
        """The model's code got numbers that may depend on sizes."""
        if self._origin is not None:
            self._origin.has_leaked = True

    def unsure(self, values: Iterable[int]) -> None:
        """Nothing is known of these."""
        self._known.update(dict.fromkeys(values, UNSURE))

    def called(self, func: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        """What a function of torch's gives, which is not shown what only the model's code need know.

        It looks long at an int of another class.
        """
        if not NO_SIZES.issuperset(map(type, args)):
            args = [mapped(item, int.__index__) for item in args]
        return func(*args, **{name: mapped(item, int.__index__) for name, item in kwargs.items()})

    def learn(self, value: int, axes: Axes) -> None:
        """It is known of a value where the batch is in it."""
        meta = self._values.rows[value].meta
        if self._origin is not None and axes != FIXED and meta is not None:
            self._known[value] = axes
            if not all(axis < len(meta.shape) and self._is_multiple(meta.shape[axis]) for axis in axes.batch):
                self._origin = None  # a rule was wrong of it

    def follow(
        self, name: OpName, call: Called, attrs: Mapping[str, str], given: Sequence[Tensor], read: Sequence[int],
        made_as: Sequence[int],
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
        rule = _rule(name)
        sizes: list[bool | None] = []
        if self.was_asked and not rule.is_of_shapes:
            call.sizes = sizes_in(*call.args, *call.kwargs.values())
            sizes = [size.origin is origin and size.is_multiple for size in call.sizes]
        if not any(axes) and not sizes and (given or rule.way is not None):
            return
        if running_transform() is not None:
            self.unsure(made_as)
            return
        key = (name, *map(id, axes), *[id(values.rows[value].meta) for value in (*read, *made_as)])
        if not rule.is_of_shapes:
            key = (*key, origin.has_leaked, *attrs, *attrs.values(), *sizes)
        ruled = self._ruled.get(key)
        if ruled is None:
            ruled = self._ruled[key] = self._by_rule(rule, call, sizes)
            for value, of in zip(made_as, ruled, strict=True):
                self.learn(value, of)
        else:
            known.update(zip(made_as, ruled, strict=True))

    def _by_rule(self, rule: AxisRule, call: Called, sizes: Sequence[bool | None]) -> Sequence[Axes]:
        ruled: Axes | Sequence[Axes] = UNSURE
        try:
            # Of one number that depends on the batch in some other way nothing follows.
            if rule.way is not None and (not sizes or (rule.way in _TAKING_SIZES and False not in sizes)):
                if any(axis in self.of(tensor).batch for tensor, axis in rule.related(*call.args, **call.kwargs)):
                    raise NoBatch
                ruled = rule.way(self, call)
        except NoBatch:
            self._origin = None
        except Exception:  # arguments of a form that the rule does not know
            pass
        each = [ruled] * len(call.made) if isinstance(ruled, Axes) else ruled
        return [self._once.setdefault(axes, axes) for axes in each]


def _is_pickled() -> bool:
    """Whether it is torch's own code of tensors that asks: what it writes is read by others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == _TENSOR


Way = Callable[[BatchAxes, Called], Axes | Sequence[Axes]]


def _combined(b: BatchAxes, call: Called) -> Axes:
    """Of tensors whose axes meet from the last one on."""
    tensors, sizes = tensors_in([*call.args, *call.kwargs.values()], []), call.made[0].shape
    batch: set[int] = set()
    fixed: set[int] = set()
    for tensor in tensors:
        own, shift = b.of(tensor), len(sizes) - tensor.ndim
        if shift < 0:  # so are the places that `where` finds
            return UNSURE
        batch |= {axis + shift for axis in own.batch}
        fixed |= {axis + shift for axis, n in enumerate(tensor.shape) if own.is_all and n > 1 and axis not in own.batch}
        if any(tensor.shape[axis] != sizes[axis + shift] for axis in own.batch):
            raise NoBatch
    if batch & fixed and not b.has_leaked:  # it runs with no other batch
        raise NoBatch
    return Axes(frozenset(batch), all(b.of(tensor).is_all for tensor in tensors))


def _kept(b: BatchAxes, call: Called) -> Axes:
    """Of the axes of the first tensor those whose sizes stay."""
    x, *others = tensors_in([*call.args, *call.kwargs.values()], [])
    own, sizes = b.of(x), call.made[0].shape
    batch = frozenset(axis for axis in own.batch if sizes[axis : axis + 1] == x.shape[axis : axis + 1])
    return Axes(batch, batch == own.batch and all(b.of(tensor).is_all for tensor in (x, *others)))


def _weighted(b: BatchAxes, call: Called) -> Axes:
    """The same with a weight for all examples."""
    _, weight, *_ = tensors_in([*call.args, *call.kwargs.values()], [])
    return _kept(b, call) if b.of(weight) == FIXED else UNSURE


def _beside(axis: int) -> Way:
    """The same for the first result, and the batch at another axis of what else is given: weights, states."""

    def way(b: BatchAxes, call: Called) -> Sequence[Axes]:
        own = b.of(call.args[0])
        return [own, *[Axes(frozenset(own.batch and (axis,)), own.is_all)] * (len(call.made) - 1)]

    return way


def _larger(b: BatchAxes, call: Called) -> Sequence[Axes]:
    """What the function itself gives for a larger batch, without data."""
    is_all = [bool(size.is_multiple) for size in call.sizes]

    def larger(tensor: Tensor) -> Tensor:
        axes = b.of(tensor)
        is_all.append(axes.is_all or tensor.shape == (0,))  # that is a cache which is still empty
        shape = [n * _TIMES if axis in axes.batch else n for axis, n in enumerate(tensor.shape)]
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    b.is_enlarging = True
    try:
        with torch_private.without_torch_function(), torch_private.without_dispatch():
            args = mapped(tuple(call.args), _enlarged, larger)
            kwargs = {name: mapped(item, _enlarged, larger) for name, item in call.kwargs.items()}
            if len(is_all) == len(call.sizes) or "device" in kwargs:
                kwargs["device"] = "meta"
            results = tensors_in((call.func(*args, **kwargs),), [])
    finally:
        b.is_enlarging = False
    return [b.grown(*pair, all(is_all)) for pair in zip(call.made, results, strict=True)]


def _enlarged(size: BatchSize) -> int:
    return size.__index__() * (_TIMES if size.is_multiple else 1)


def _reshaped(b: BatchAxes, call: Called) -> Axes:
    """The axes that the code says, or that of the rest, unless the plain numbers beside it may be of the batch."""
    own = b.of(call.args[0])
    numbers: Sequence[Any] = [*call.args[1:], *call.kwargs.values()]
    numbers = next((item for item in numbers if isinstance(item, (tuple, list))), numbers)
    by_code = frozenset(axis for axis, n in enumerate(numbers) if type(n) is BatchSize and n.is_multiple)
    is_all = own.is_all and all(size.is_multiple for size in call.sizes)
    left = len(own.batch) - len(by_code)
    if left < 0 and own.is_all:  # a size from elsewhere
        return UNSURE
    rest = [axis for axis, n in enumerate(numbers) if type(n) is int and n == -1]
    if left == 1 and rest and is_all and not b.has_leaked:
        return Axes(by_code | {*rest}, True)
    return Axes(by_code, is_all and not left)


def _flattened(b: BatchAxes, call: Called) -> Axes:
    (axes,), start = _larger(b, call), call.kwargs.get("start_dim", [*call.args, 0][1])
    return axes if axes.is_all else Axes(axes.batch & {*range(start)}, False)


def _item(b: BatchAxes, call: Called) -> Sequence[Axes]:
    x, index = call.args
    ends = [item.stop for item in (index if type(index) is tuple else (index,)) if type(item) is slice]
    if BatchSize in map(type, ends) and b.of(x) == FIXED:
        raise NoBatch  # a table that is cut to a length
    return _larger(b, call)


def _reduced(b: BatchAxes, call: Called) -> Axes:
    if len(tensors := tensors_in(call.args, [])) > 1:
        return _combined(b, call)
    (x,), own = tensors, b.of(tensors[0])
    dims = {axis for _, axis in _summed_over(*call.args, **call.kwargs)}
    gone = set() if call.made[0].ndim == x.ndim else dims
    return Axes(frozenset(axis - sum(dim < axis for dim in gone) for axis in own.batch - dims), own.is_all)


def _joined(b: BatchAxes, call: Called) -> Axes:
    parts = [b.of(tensor) for tensor in call.args[0] if tensor.shape != (0,)]  # that is a cache which is still empty
    dim = call.kwargs.get("dim", call.kwargs.get("axis", [*call.args, 0][1])) % call.made[0].ndim
    of_batch = [dim in part.batch for part in parts]
    batch = frozenset[int]().union(*(part.batch for part in parts)) - (frozenset() if all(of_batch) else {dim})
    return Axes(batch, all(part.is_all for part in parts) and any(of_batch) is all(of_batch))


def _stacked(b: BatchAxes, call: Called) -> Axes:
    """Of tensors that are alike, whose axes from the new one on are one further."""
    first, *others = map(b.of, call.args[0])
    dim = call.kwargs.get("dim", [*call.args, 0][1]) % call.made[0].ndim
    if any(other != first for other in others):
        return UNSURE
    return Axes(frozenset(axis + (axis >= dim) for axis in first.batch), first.is_all)


def _lettered(b: BatchAxes, call: Called) -> Axes | Sequence[Axes]:
    """The axes whose letters stand for the batch in an equation."""
    given, _, result = call.args[0].replace(" ", "").partition("->")
    if "." in given or not result:
        return _larger(b, call)
    batch, fixed = set[str](), set[str]()
    for word, tensor in zip(given.split(","), tensors := tensors_in(call.args[1:], []), strict=True):
        own = b.of(tensor)
        batch |= {word[axis] for axis in own.batch}
        fixed |= {letter for axis, letter in enumerate(word) if axis not in own.batch and tensor.shape[axis] > 1}
    if batch & fixed:
        return UNSURE
    is_all = all(b.of(tensor).is_all for tensor in tensors)
    return Axes(frozenset(axis for axis, letter in enumerate(result) if letter in batch), is_all)


def _counted(b: BatchAxes, call: Called) -> Axes:
    """The axes of the first tensor, and behind them one for as many classes as the code says."""
    return _kept(b, call) if call.kwargs.get("num_classes", [*call.args, -1][1]) > 0 else UNSURE


def _multiplied(b: BatchAxes, call: Called) -> Axes | Sequence[Axes]:
    x, y = call.args[-2:]
    if b.of(y) == FIXED and y.ndim == 2 and x.ndim == call.made[0].ndim:  # a weight
        return b.of(x)
    return _larger(b, Called(torch.matmul, call.args[-2:], {}, call.made))


Places = Iterable[tuple[Tensor, int]]


def _summed_over(x: Tensor, *args: Any, dim: Any = None, **kwargs: Any) -> Places:
    dim = kwargs.get("axis", next((arg for arg in args if type(arg) in (int, tuple, list)), dim))
    return [(x, axis % x.ndim) for axis in ([dim] if type(dim) is int else range(x.ndim) if dim is None else dim)]


def _alone(places: Places) -> Places:
    """If it is one axis of several."""
    return places if len(places := [*places]) == 1 < places[0][0].ndim else []


def _summed(equation: str, *operands: Any) -> Places:
    given, _, result = equation.replace(" ", "").partition("->")
    pairs = zip(given.split(","), tensors_in(operands, []), strict=True)
    return [(tensor, axis) for word, tensor in pairs for axis, letter in enumerate(word) if letter not in result]


def _from(first: int) -> Callable[..., Places]:
    return lambda x, *_, **__: [(x, axis) for axis in range(first, x.ndim)]


class AxisRule(NamedTuple):
    """How an operation carries the batch on."""

    way: Way | None = None
    """Gives what is known of all that is made, or of each; raises an error for arguments that it does not know."""
    related: Callable[..., Places] = lambda *_, **__: ()
    """From the arguments, axes along which places are related with one another, so that none of them is the batch."""
    is_of_shapes: bool = False
    """Whether what else the arguments say is nothing that the shapes do not."""


_TAKING_SIZES = {_larger, _reshaped, _item}
_NAMES = {
    "dropout alpha_dropout softmax log_softmax normalize cumsum flip roll sort argsort contiguous clone detach to type "
    "float half double long int bool bfloat16 type_as prelu tril triu cpu scatter scatter_add index_add index_copy "
    "data masked_scatter zeros_like ones_like empty_like full_like rand_like randn_like gumbel_softmax embedding "
    "dropout1d dropout2d dropout3d": AxisRule(_kept, is_of_shapes=True),
    "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate": AxisRule(
        _kept, _from(2), True
    ),
    "batch_norm group_norm instance_norm local_response_norm pixel_shuffle pixel_unshuffle channel_shuffle unfold fold "
    "grid_sample affine_grid lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell": AxisRule(_kept, _from(1), True),
    "layer_norm rms_norm": AxisRule(_kept, lambda x, sizes, *_, **__: _from(x.ndim - len(sizes))(x)),
    "scaled_dot_product_attention": AxisRule(
        _kept, lambda q, k, *_, **__: [(x, axis) for x in (q, k) for axis in (x.ndim - 2, x.ndim - 1)]
    ),
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d": AxisRule(
        _weighted, lambda x, weight, *_, **__: _from(x.ndim == weight.ndim)(x), True
    ),
    "linear grouped_mm": AxisRule(_weighted, lambda x, *_, **__: [(x, x.ndim - 1)], True),
    "where floor_divide floordiv mod and or xor hardswish hardsigmoid rsub maximum minimum": AxisRule(
        _combined, is_of_shapes=True
    ),
    "multi_head_attention_forward": AxisRule(
        _beside(0), lambda q, *_, **__: [(q, axis) for axis in {0, 1, 2} - {q.ndim - 2} | {0}]
    ),
    "lstm gru rnn_tanh rnn_relu": AxisRule(  # of one example the time is the first axis
        _beside(1), lambda x, _, __, ___, ____, _____, ______, _______, first: [(x, int(x.ndim == 3 and first)), (x, 2)]
    ),
    "matmul bmm mm": AxisRule(_multiplied, lambda x, y, **__: [(x, x.ndim - 1), (y, max(0, y.ndim - 2))], True),
    "addmm baddbmm": AxisRule(_multiplied, lambda _, x, y, **__: [(x, x.ndim - 1), (y, y.ndim - 2)], True),
    "einsum": AxisRule(_lettered, _summed),
    "view reshape": AxisRule(_reshaped),
    "flatten": AxisRule(_flattened),
    "unflatten": AxisRule(lambda b, call: UNSURE if b.has_leaked else _larger(b, call)),
    "mean sum prod amax amin max min all any argmax argmin var std var_mean std_mean logsumexp median": AxisRule(
        _reduced, lambda *args, **kwargs: _alone(_summed_over(*args, **kwargs))
    ),
    "cat concat concatenate": AxisRule(_joined),
    # On tensors without data, these three need torch's compiler, which is not loaded for that.
    "stack": AxisRule(_stacked),
    "glu": AxisRule(_kept),
    "one_hot": AxisRule(_counted),
    "getitem": AxisRule(_item),
    "view_as reshape_as expand expand_as broadcast_to repeat zeros ones empty full rand randn randint arange new_zeros "
    "new_ones new_empty new_full permute transpose swapaxes swapdims movedim t T mT select unbind unsqueeze squeeze "
    "split tensor_split chunk narrow index_select gather pad topk fft ifft rfft irfft fftn ifftn": AxisRule(_larger),
}
_RULES = {name: rule for names, rule in _NAMES.items() for name in names.split()}


@functools.cache
def _rule(operation: OpName) -> AxisRule:
    """The rule of an operation of torch's; what torch says is computed element by element needs none of its own."""
    name, target = operation
    if not target.startswith("torch.") or (
        target.startswith("torch.ops.") and not target.startswith("torch.ops.aten.")
    ):
        return AxisRule()
    name = name.rstrip("_")
    packet = None if name in _RULES else getattr(torch.ops.aten, name, None)
    if packet is not None and torch.Tag.pointwise in getattr(packet, packet.overloads()[0]).tags:
        return _RULES["where"]
    return _RULES.get(name, AxisRule())
