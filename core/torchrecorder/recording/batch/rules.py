"""Where the batch is in what an operation makes, by the operation's name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrecorder.recording.names import OpName
from torchrecorder.running.nested import tensors_in


class Found(NamedTuple):
    """What is known of a tensor."""

    axes: frozenset[int]
    """Axes whose sizes are multiples of the batch."""
    is_all: bool
    """Whether the sizes of all other axes do not depend on it."""


FIXED, UNSURE = Found(frozenset(), True), Found(frozenset(), False)


class NoBatch(Exception):
    """The first axis of the inputs is not a batch: an operation relates the places along it with one another."""


Rule = Callable[..., Found | Sequence[Found]]
"""Of the batch, of what was made, and of the arguments: what is known of all that was made, or of each."""
REST = -1
"""The size that a reshape leaves to torch."""


def _moved(found: Found, place: Callable[[int], int | None]) -> Found:
    """The same axes at other places; None for one that is gone, after which nothing is sure."""
    places = [place(axis) for axis in found.axes]
    return Found(frozenset(at for at in places if at is not None), found.is_all and None not in places)


def _alone(found: Found, *related: int) -> Found:
    """The same, if none of these axes is the batch."""
    if found.axes & {*related}:
        raise NoBatch
    return found


def _met(b: Any, tensors: Sequence[Tensor], sizes: Sequence[int], last: int = 0) -> Found:
    """Of tensors whose axes, but for some last ones, meet from the last one on."""
    axes: set[int] = set()
    fixed: set[int] = set()
    for tensor in tensors:
        own, shape = b.of(tensor), tensor.shape[: max(0, tensor.ndim - last)]
        shift = len(sizes) - len(shape)
        axes |= {axis + shift for axis in own.axes if axis < len(shape)}
        fixed |= {axis + shift for axis, n in enumerate(shape) if own.is_all and n > 1 and axis not in own.axes}
        if any(shape[axis] != sizes[axis + shift] for axis in own.axes if axis < len(shape)):
            raise NoBatch
    if axes & fixed and not b.has_leaked:  # it runs with no other batch
        raise NoBatch
    return Found(frozenset(axes), all(b.of(tensor).is_all for tensor in tensors))


def _broadcast(b: Any, made: Sequence[Tensor], *args: Any, **kwargs: Any) -> Found:
    tensors = tensors_in([*args, *kwargs.values()], [])
    is_combined = all(one.ndim <= made[0].ndim for one in tensors)  # not so are the places that `where` finds
    return _met(b, tensors, made[0].shape) if is_combined else UNSURE


def _same(b: Any, made: Sequence[Tensor], x: Tensor, *_: Any, **__: Any) -> Found:
    """Axes whose sizes stay."""
    sizes = made[0].shape
    return _moved(b.of(x), lambda axis: axis if sizes[axis : axis + 1] == x.shape[axis : axis + 1] else None)


def _rows(b: Any, made: Sequence[Tensor], x: Tensor, *_: Any, first: int = 1, **__: Any) -> Found:
    """What lies along the first axes stays alone."""
    _alone(b.of(x), *range(first, x.ndim))
    return _same(b, made, x)


def _convolution(b: Any, made: Sequence[Tensor], x: Tensor, weight: Tensor, *_: Any, **__: Any) -> Found:
    _alone(b.of(x), *range(x.ndim == weight.ndim, x.ndim))
    return _rows(b, made, x) if b.of(weight) == FIXED else UNSURE


def _product(b: Any, made: Sequence[Tensor], x: Tensor, y: Tensor, *_: Any, **__: Any) -> Found:
    of_x, of_y = _alone(b.of(x), x.ndim - 1), _alone(b.of(y), max(0, y.ndim - 2))
    sizes, columns = made[0].shape, y.ndim > 1
    outer = _met(b, [one for one in (x, y) if one.ndim > 2], sizes[: len(sizes) - (x.ndim > 1) - columns], 2)
    axes = {len(sizes) - 1 - columns} if x.ndim - 2 in of_x.axes else set()
    axes |= {len(sizes) - 1} if columns and y.ndim - 1 in of_y.axes else set()
    return Found(outer.axes | axes, of_x.is_all and of_y.is_all)


def _einsum(b: Any, made: Sequence[Tensor], equation: str, *operands: Any) -> Found:
    given, arrow, result = equation.replace(" ", "").partition("->")
    pairs = [*zip(given.split(","), tensors_in(operands, []), strict=True)]
    if not arrow or "." in equation:
        return UNSURE
    letters = {word[axis] for word, tensor in pairs for axis in b.of(tensor).axes}
    if letters - {*result}:
        raise NoBatch
    axes = frozenset(axis for axis, letter in enumerate(result) if letter in letters)
    return Found(axes, all(b.of(tensor).is_all for _, tensor in pairs))


def _attention(b: Any, made: Sequence[Tensor], q: Tensor, k: Tensor, v: Tensor, *_: Any, **__: Any) -> Found:
    own, others = _alone(b.of(q), q.ndim - 2, q.ndim - 1), _alone(b.of(k), k.ndim - 2, k.ndim - 1)
    return Found(own.axes, own.is_all and others.is_all and b.of(v).is_all)


def _recurrent(b: Any, made: Sequence[Tensor], x: Tensor, *args: Any) -> Sequence[Found]:
    if len(args) != 8:  # packed
        return [UNSURE] * len(made)
    time = int(x.ndim == 3 and args[7])  # of one example it is the first, as of many if the batch is not
    return [_alone(b.of(x), time, 2), *[_moved(b.of(x), lambda axis: 1)] * (len(made) - 1)]


def _shaped(b: Any, own: Found, times: Sequence[Any], *, by_code: bool = True) -> Found:
    """Of a tensor with other axes: of each whether it is a multiple of the batch, or that it is the rest."""
    axes = {axis for axis, one in enumerate(times) if one is True}
    left, is_all = len(own.axes) - len(axes), own.is_all and None not in times
    if left < 0 and own.is_all:  # a size from elsewhere
        return UNSURE
    if left == 1 and REST in times and is_all and not (by_code and b.has_leaked):
        return Found(frozenset({*axes, times.index(REST)}), True)
    return Found(frozenset(axes), is_all and not left)


def _numbers(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Sizes or axes that are given one by one, or as one sequence."""
    items = [*args, *(kwargs[name] for name in ("size", "shape", "dims", "sizes") if name in kwargs)]
    return [
        *next((item for item in items if isinstance(item, (tuple, list))), [n for n in items if isinstance(n, int)])
    ]


def _view(b: Any, made: Sequence[Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Found:
    return _shaped(b, b.of(x), [*map(b.times, _numbers(args, kwargs))])


def _split(b: Any, x: Tensor, first: int, last: int, sizes: Sequence[Any], *, by_code: bool = True) -> Found:
    """Axes from one to another are replaced by others."""
    times: list[Any] = [axis in b.of(x).axes for axis in range(x.ndim)]
    times[first % x.ndim : last % x.ndim + 1] = [*map(b.times, sizes)]
    return _shaped(b, b.of(x), times, by_code=by_code)


def _flatten(b: Any, made: Sequence[Tensor], x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Found:
    return _split(b, x, start_dim, end_dim, [REST], by_code=False)


def _unflatten(b: Any, made: Sequence[Tensor], x: Tensor, dim: int, sizes: Sequence[int]) -> Found:
    return _split(b, x, dim, dim, sizes)


def _expand(b: Any, made: Sequence[Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Found:
    times = [*map(b.times, _numbers(args, kwargs))]
    own = _met(b, [x], made[0].shape)
    return Found(own.axes | {axis for axis, one in enumerate(times) if one is True}, own.is_all and None not in times)


def _repeat(b: Any, made: Sequence[Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Found:
    times = [*map(b.times, _numbers(args, kwargs))]
    own = _moved(b.of(x), lambda axis: axis + len(times) - x.ndim)
    found = {axis for axis, one in enumerate(times) if one is True}
    return UNSURE if found & own.axes else Found(own.axes | found, own.is_all and None not in times)


def create(b: Any, made: Sequence[Tensor], *args: Any, **kwargs: Any) -> Found:
    times = [*map(b.times, _numbers(args, kwargs))]
    if len(times) != made[0].ndim:  # from 0 to an end, if not of another form
        times = times[-1:] if times[:-1] == [False] and type(args[0]) is int and not args[0] else [None]
    return Found(frozenset(axis for axis, one in enumerate(times) if one is True), None not in times)


def _permute(b: Any, made: Sequence[Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Found:
    return _moved(b.of(x), [axis % x.ndim for axis in _numbers(args, kwargs)].index)


def _transpose(b: Any, made: Sequence[Tensor], x: Tensor, dim0: int = 0, dim1: int = 1) -> Found:
    one, other = dim0 % x.ndim, dim1 % x.ndim
    return _moved(b.of(x), lambda axis: {one: other, other: one}.get(axis, axis))


def _select(b: Any, made: Sequence[Tensor], x: Tensor, dim: int = 0, *_: Any, **__: Any) -> Found:
    return _moved(b.of(x), lambda axis: None if axis == dim % x.ndim else axis - (axis > dim % x.ndim))


def _squeeze(b: Any, made: Sequence[Tensor], x: Tensor, dim: Any = None) -> Found:
    gone = {axis for axis in _dims(x, dim) if x.shape[axis] == 1}
    return _moved(b.of(x), lambda axis: None if axis in gone else axis - sum(one < axis for one in gone))


def _dims(x: Tensor, dim: Any) -> list[int]:
    return [*range(x.ndim)] if dim is None else [one % x.ndim for one in ([dim] if isinstance(dim, int) else dim)]


def _reduce(b: Any, made: Sequence[Tensor], x: Tensor, dim: Any = None, *_: Any, **kwargs: Any) -> Found:
    if isinstance(dim, Tensor):
        return _broadcast(b, made, x, dim)
    own, dims = b.of(x), _dims(x, kwargs.get("axis", dim))
    if x.ndim > 1 == len(dims):
        _alone(own, *dims)
    gone = [] if made[0].ndim == x.ndim else dims
    return Found(frozenset(a - sum(one < a for one in gone) for a in own.axes if a not in dims), own.is_all)


def _cat(b: Any, made: Sequence[Tensor], tensors: Sequence[Tensor], dim: int = 0, **kwargs: Any) -> Found:
    parts = [b.of(tensor) for tensor in tensors if tensor.shape != (0,)]
    dim = kwargs.get("axis", dim) % made[0].ndim
    joined = [dim in part.axes for part in parts]
    axes = frozenset[int]().union(*(part.axes for part in parts)) - (frozenset() if all(joined) else {dim})
    return Found(axes, all(part.is_all for part in parts) and any(joined) is all(joined))


def _parts(b: Any, made: Sequence[Tensor], x: Tensor, size: Any, dim: int = 0, *, chunks: bool = False) -> list[Found]:
    """Parts along an axis: along the batch, of as many examples as it has."""
    length, at = x.shape[dim], dim % x.ndim
    is_whole = b.times(size) is True if not chunks else length % size == 0 and b.is_part(length // size)
    found: Found = b.of(x) if is_whole else _along(b, made, x, at)
    return [found] * len(made)


def _along(b: Any, made: Sequence[Tensor], x: Tensor, dim: int, *_: Any, **__: Any) -> Found:
    """Some of the places along an axis."""
    return _moved(b.of(x), lambda axis: None if axis == dim % x.ndim else axis)


def _item(b: Any, made: Sequence[Tensor], x: Tensor, index: Any) -> Found:
    items = index if isinstance(index, tuple) else (index,)
    tensors = [item for item in items if isinstance(item, Tensor)]
    if any(isinstance(item, (bool, list)) for item in items) or any(one.dtype is torch.bool for one in tensors):
        return UNSURE
    own, axis, at, axes = b.of(x), 0, 0, set[int]()
    places: dict[int, int] = {}
    for item in items if any(one is Ellipsis for one in items) else (*items, Ellipsis):
        if item is Ellipsis:
            between = x.ndim - sum(one is not None and one is not Ellipsis for one in items)
            places |= {axis + more: at + more for more in range(between)}
            axis, at = axis + between, at + between
        elif isinstance(item, slice):
            is_length = b.times(item.stop) is True
            if is_length and axis not in own.axes and own.is_all:
                raise NoBatch  # a table that is cut to a length
            begins = item.step is None and (item.start is None or (type(item.start) is int and not item.start))
            is_whole = begins and (item.stop is None or is_length)
            places |= {axis: at} if axis not in own.axes or is_whole else {}
            axis, at = axis + 1, at + 1
        elif isinstance(item, Tensor) and tensors:  # the first of several, whose axes are together in its place
            most = max(tensors, key=Tensor.dim)
            axes |= {at + one for one in _met(b, tensors, most.shape).axes}
            axis, at, tensors = axis + 1, at + most.ndim, []
        else:
            axis, at = axis + (item is not None), at + (item is None)
    found = _moved(own, places.get)
    return Found(found.axes | axes, found.is_all)


_NAMES: dict[str, Rule] = {
    "dropout alpha_dropout softmax log_softmax normalize cumsum flip roll sort argsort contiguous clone detach to type "
    "float half double long int bool bfloat16 type_as prelu tril triu cpu scatter scatter_add index_add index_copy "
    "data masked_scatter zeros_like ones_like empty_like full_like rand_like randn_like gumbel_softmax embedding "
    "dropout1d dropout2d dropout3d": _same,
    "pad topk glu one_hot fft ifft rfft irfft fftn ifftn": lambda *args, **kwargs: _same(*args, **kwargs),
    "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate": functools.partial(
        _rows, first=2
    ),
    "batch_norm group_norm instance_norm local_response_norm pixel_shuffle pixel_unshuffle channel_shuffle unfold fold "
    "grid_sample affine_grid lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell": _rows,
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d": _convolution,
    "layer_norm rms_norm": lambda b, made, x, sizes, *_, **__: _alone(b.of(x), *range(x.ndim - len(sizes), x.ndim)),
    "where floor_divide floordiv mod and or xor hardswish hardsigmoid rsub maximum minimum expand_as": _broadcast,
    "linear grouped_mm": lambda b, made, x, weight, *_, **__: (
        _alone(b.of(x), x.ndim - 1) if b.of(weight) == FIXED else UNSURE
    ),
    "matmul bmm mm": _product,
    "addmm baddbmm": lambda b, made, _, x, y, **__: _product(b, made, x, y),
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    "multi_head_attention_forward": lambda b, made, q, *_, **__: [
        _alone(b.of(q), *{0, 1, 2} - {q.ndim - 2} | {0}),
        _moved(b.of(q), lambda axis: 0),
    ][: len(made)],
    "lstm gru rnn_tanh rnn_relu": _recurrent,
    "view reshape": _view,
    "view_as reshape_as": lambda b, made, x, other: b.of(other),
    "flatten": _flatten,
    "unflatten": _unflatten,
    "expand broadcast_to": _expand,
    "repeat": _repeat,
    "zeros ones empty full rand randn randint arange new_zeros new_ones new_empty new_full": create,
    "permute": _permute,
    "transpose swapaxes swapdims t": _transpose,
    "T": lambda b, made, x: _moved(b.of(x), lambda axis: x.ndim - 1 - axis),
    "mT": functools.partial(_transpose, dim0=-1, dim1=-2),
    "select unbind": _select,
    "unsqueeze": lambda b, made, x, dim: _moved(b.of(x), lambda axis: axis + (axis >= dim % (x.ndim + 1))),
    "squeeze": _squeeze,
    "mean sum prod amax amin max min all any argmax argmin var std var_mean std_mean logsumexp median": _reduce,
    "norm vector_norm": lambda b, made, x, p=2, dim=None, *_, **__: _reduce(b, made, x, dim),
    "cat concat concatenate": _cat,
    "stack": lambda b, made, tensors, dim=0: _moved(
        _met(b, tensors, tensors[0].shape), lambda axis: axis + (axis >= dim % made[0].ndim)
    ),
    "split tensor_split": _parts,
    "chunk": functools.partial(_parts, chunks=True),
    "narrow index_select": _along,
    "gather": lambda b, made, x, dim, index, **__: b.of(index),
    "getitem": _item,
}
_RULES = {name: rule for names, rule in _NAMES.items() for name in names.split()}
FREE = {
    _RULES[name] for name in ("where", "softmax", "conv2d", "batch_norm", "max_pool2d", "linear", "matmul", "addmm")
}
"""Rules for which what else the arguments say is nothing that the shapes do not."""
TAKING_SIZES = {_RULES[name] for name in ("view", "view_as", "unflatten", "expand", "repeat", "zeros", "getitem")}


@functools.cache
def rule_for(operation: OpName) -> Rule | None:
    """The rule of an operation of torch's; what torch says is computed element by element needs none of its own."""
    name, target = operation
    if not target.startswith("torch.") or (
        target.startswith("torch.ops.") and not target.startswith("torch.ops.aten.")
    ):
        return None
    name = name.rstrip("_")
    packet = None if name in _RULES else getattr(torch.ops.aten, name, None)
    if packet is not None and torch.Tag.pointwise in getattr(packet, packet.overloads()[0]).tags:
        return _broadcast
    return _RULES.get(name)
