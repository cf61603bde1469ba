"""Rules of how operations carry the batch from the axes of what they are given to those of what they make."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrecorder.recording.batch_sizes import BatchSize
from torchrecorder.running.nested import tensors_in


class Axes(NamedTuple):
    """The knowledge of a tensor's axes."""

    batch: frozenset[int]
    """Axes whose sizes are multiples of the batch."""
    unsure: frozenset[int]
    """Axes whose sizes may depend on it in some way; perhaps more than there are."""


_ANY = frozenset(range(64))  # axes that a tensor of torch may have
FIXED, UNSURE = Axes(frozenset(), frozenset()), Axes(frozenset(), _ANY)
COUNTING = Axes(frozenset(), frozenset((-1,)))
"""Of a tensor whose first number is the batch, as that of `batch_sizes` of packed sequences is."""


class Cut(NamedTuple):
    """One of the parts into which the batch was cut, of which a tensor is made."""

    sizes: tuple[int, ...]
    """Of all parts along the axis that was cut; none of single places, which lose it."""
    parts: int
    place: int


@dataclass(slots=True)
class Called:
    """A function of torch's that was called, and what is known of its arguments."""

    func: Callable[..., object]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    made: Sequence[Tensor]
    sizes: Sequence[BatchSize]
    """Those among the arguments."""
    has_leaked: bool
    """Whether plain numbers among them may depend on the batch."""
    is_apart: bool
    """Whether the number of tensors among them may."""
    is_guess: bool
    """Whether the batch is the first axis of some inputs only."""
    cuts: Sequence[Cut | None]
    """Of a join: what each of its tensors is made of."""
    of: Callable[[Tensor], Axes]
    enlarge: Callable[[Called], Sequence[Axes]]
    """Gives the axes that grow with the batch if the function runs on a larger one."""
    many: Callable[[Tensor], frozenset[int]]
    """Axes whose sizes are multiples of the batch, whether they follow it or not."""


class NoBatch(Exception):
    """The first axis of the inputs is not a batch: an operation relates the places along it with one another.

    Its arguments are the tensors of which only this can be said, if there are others.
    """


Way = Callable[[Called], Axes | Sequence[Axes]]


def _meeting(parts: Iterable[tuple[Axes, Iterable[Any], Sequence[int]]]) -> tuple[set[Any], set[Any], bool]:
    """Names of axes that are the batch, or unsure, and whether one is also fixed; axes of one name are of one size."""
    batch, fixed, unsure = set[Any](), set[Any](), set[Any]()
    for own, names, shape in parts:
        for axis, (name, n) in enumerate(zip(names, shape, strict=True)):
            if axis in own.batch or axis in own.unsure or n > 1:
                (batch if axis in own.batch else unsure if axis in own.unsure else fixed).add(name)
    return batch, unsure - batch - fixed, bool(batch & fixed)


def _combined(call: Called) -> Axes:
    """Axes of what is computed of tensors whose axes meet from the last one on."""
    tensors = tensors_in([*call.args, *call.kwargs.values()], [])
    return _met(call, [(tensor, call.of(tensor), tensor.shape) for tensor in tensors])


def _met(call: Called, parts: Sequence[tuple[Tensor, Axes, Sequence[int]]]) -> Axes:
    sizes = call.made[0].shape
    if any(len(shape) > len(sizes) for *_, shape in parts):  # so are the places that `where` finds
        return UNSURE
    if alone := [x for x, own, shape in parts if any(shape[axis] != sizes[axis - len(shape)] for axis in own.batch)]:
        raise NoBatch(*alone)
    places = [(own, range(len(sizes) - len(shape), len(sizes)), shape) for _, own, shape in parts]
    batch, unsure, is_both = _meeting(places)
    if is_both and not call.has_leaked:  # it runs with no other batch
        raise NoBatch
    return Axes(frozenset(batch), frozenset(unsure))


def from_data(call: Called) -> Axes:
    """The axes of data, which the model's code may have made in a loop over examples: no multiple of them is sure."""
    return UNSURE if call.has_leaked or call.is_apart else Axes(frozenset(), call.many(call.made[0]))


def _kept(call: Called) -> Axes:
    """Those axes of the first tensor whose sizes stay."""
    x, *others = tensors_in([*call.args, *call.kwargs.values()], [])
    own, sizes = call.of(x), call.made[0].shape
    batch = frozenset(axis for axis in own.batch if sizes[axis : axis + 1] == x.shape[axis : axis + 1])
    is_same = batch == own.batch and len(sizes) >= x.ndim and not any(call.of(tensor).unsure for tensor in others)
    return Axes(batch, own.unsure if is_same else _ANY - batch)


def _weighted(call: Called) -> Axes:
    """The same with a weight for all examples, or with one for each and all examples side by side as channels."""
    x, weight, *_ = tensors_in([*call.args, *call.kwargs.values()], [])
    if call.sizes and _is_of_each(*call.args, **call.kwargs):
        is_known = (call.of(x), call.of(weight)) == (_SECOND, _FIRST)
        return _SECOND if is_known else UNSURE
    return _kept(call) if call.of(weight) == FIXED else UNSURE


_FIRST, _SECOND = (Axes(frozenset((axis,)), frozenset()) for axis in (0, 1))


def _is_of_each(x: Tensor, weight: Tensor, *more: Any, groups: Any = 1, **_: Any) -> bool:
    """Whether the groups of a convolution grow with the batch, so that none is of two examples."""
    groups = [*more, *[groups] * 5][4]
    return x.ndim == weight.ndim and type(groups) is BatchSize and groups.is_multiple is True


def _beside(axis: int) -> Way:
    """The same for the first result, and the batch at another axis of what else is given: weights, states."""

    def way(call: Called) -> Sequence[Axes]:
        own = call.of(call.args[0])
        is_packed = COUNTING in map(call.of, tensors_in(call.args[1:2], []))
        batch = frozenset((axis,) if own.batch or is_packed else ())
        unsure = own.unsure - frozenset((0,) * is_packed)
        is_merged = not axis and 0 in own.batch  # words of all examples are compared
        return [own, *[UNSURE if is_merged else Axes(batch, unsure and _ANY - batch)] * (len(call.made) - 1)]

    return way


def _packed(call: Called) -> Axes | Sequence[Axes]:
    """Rows of all sequences, as many as their words, and how many sequences have a word at each place."""
    x, _, first = call.args
    is_known = call.of(x) == Axes(frozenset((int(not first),)), frozenset())
    return [Axes(frozenset(), frozenset((0,))), COUNTING] if is_known else UNSURE


def _padded(call: Called) -> Axes | Sequence[Axes]:
    data, counts, first, *_ = call.args
    unsure = frozenset(axis + 1 for axis in call.of(data).unsure if axis)
    padded = Axes(frozenset((int(not first),)), unsure), Axes(frozenset((0,)), frozenset())
    return padded if call.of(counts) == COUNTING else UNSURE


def _larger(call: Called) -> Sequence[Axes]:
    return call.enlarge(call)


def _reshaped(call: Called) -> Axes:
    """The axes that the code says, or that of the rest, unless the plain numbers beside it may be of the batch."""
    own = call.of(call.args[0])
    numbers: Sequence[Any] = [*call.args[1:], *call.kwargs.values()]
    numbers = next((item for item in numbers if isinstance(item, (tuple, list))), numbers)
    by_code = frozenset(axis for axis, n in enumerate(numbers) if type(n) is BatchSize and n.is_multiple)
    left = len(own.batch) - len(by_code)
    if left < 0 and not own.unsure:  # a size from elsewhere
        return UNSURE
    rest = [axis for axis, n in enumerate(numbers) if type(n) is int and n == -1]
    is_all = not own.unsure and all(size.is_multiple for size in call.sizes)
    if is_all and (not left or (left == 1 and rest and not call.has_leaked)):
        return Axes(by_code | {*rest[:left]}, frozenset())
    said = {axis for axis, n in enumerate(numbers) if type(n) is int and n != -1 and not call.has_leaked}
    return Axes(by_code, _ANY - by_code - said)


def _moved(call: Called) -> Axes | Sequence[Axes]:
    """The axes in the order in which the code says them, all of them or two that change places."""
    if call.kwargs:
        return _larger(call)
    x, *said = call.args
    order = [axis % x.ndim for axis in (said[0] if type(said[0]) in (tuple, list) else said)]
    if len(order) < x.ndim or call.func.__name__.startswith(("transpose", "swap")):
        first, second = order
        order = [{first: second, second: first}.get(axis, axis) for axis in range(x.ndim)]
    return Axes(*(frozenset(new for new, old in enumerate(order) if old in axes) for axes in call.of(x)))


def unflattened(call: Called) -> Axes | Sequence[Axes]:
    x, dim, said = [*call.args, *call.kwargs.values()][:3]
    of_batch, own = [axis for axis, n in enumerate(said) if type(n) is BatchSize], call.of(x)
    is_counted = len(of_batch) == 1 and not call.has_leaked and all(type(n) is BatchSize or n > 0 for n in said)
    if is_counted and own == _FIRST and dim == 0:  # what the others leave, whatever it was computed from
        return Axes(frozenset(of_batch), frozenset())
    is_told = not call.has_leaked or bool(call.sizes) or dim % x.ndim not in own.batch
    return _larger(call) if is_told and all(size.is_multiple is not False for size in call.sizes) else UNSURE


def _item(call: Called) -> Axes | Sequence[Axes]:
    x, index = call.args
    items = index if type(index) is tuple else (index,)
    parts = [part for it in items for part in ((it.start, it.stop, it.step) if type(it) is slice else (it,))]
    own, ends = call.of(x), [item.stop for item in items if type(item) is slice]
    if own == FIXED and any(type(end) is BatchSize and end.is_multiple for end in ends):
        raise NoBatch  # a table that is cut to a length
    if call.sizes or not _PLACES.issuperset(map(type, parts)):
        return _picked(call, [(axis, item) for axis, item in _along(index) if isinstance(item, Tensor)])
    kept, axis = list[int | None](), 0
    place = items.index(...) if ... in items else len(items)
    left = x.ndim - sum(item is not None and item is not ... for item in items)
    for item in (*items[:place], *[slice(None)] * left, *items[place + 1 :]):
        if type(item) is slice and item != slice(None) and axis in own.batch | own.unsure:
            return _larger(call)
        kept += (None,) if item is None else (axis,) * (type(item) is slice)
        axis += item is not None
    return Axes(*(frozenset(new for new, old in enumerate(kept) if old in axes) for axes in own))


_PLACES = {int, type(None), type(...)}
"""Types of indices of which no tensor and no size says what they take."""


def _picked(call: Called, along: Iterable[tuple[int, Tensor]]) -> Sequence[Axes]:
    """The axes that are left of the first tensor. Nodes of a graph that edges look up are not a batch."""
    own = call.of(call.args[0])
    if call.is_guess and any(axis in own.batch and not call.of(index).batch for axis, index in along):
        raise NoBatch
    return _larger(call)


def _selected(call: Called) -> Sequence[Axes]:
    x, dim, index = (*call.args, *call.kwargs.values())
    return _picked(call, [(dim % x.ndim, index)])


def _reduced(call: Called) -> Axes:
    if len(tensors := tensors_in(call.args, [])) > 1:
        return _combined(call)
    (x,), own = tensors, call.of(tensors[0])
    dims = {axis for _, axis in _summed_over(*call.args, **call.kwargs)}
    gone = set() if call.made[0].ndim == x.ndim else dims
    return Axes(*(frozenset(axis - sum(dim < axis for dim in gone) for axis in axes - dims) for axes in own))


def _joined(call: Called) -> Axes:
    parts = [tensor for tensor in call.args[0] if tensor.shape != (0,)]  # that is a cache which is still empty
    dim = call.kwargs.get("dim", call.kwargs.get("axis", [*call.args, 0][1])) % call.made[0].ndim
    kinds = {(dim in of.batch, dim in of.unsure) for of in map(call.of, parts)}
    batch, unsure = _alike(call, parts)
    if cut := _whole(call):
        lengths, doubts = tuple(part.shape[dim] for part in parts), {dim in call.of(part).unsure for part in parts}
        is_alike = len({*lengths}) == 1 and not cut.sizes
        if (lengths == cut.sizes and doubts == {True}) or (is_alike and doubts == {False}):
            return Axes(batch | {dim}, unsure - {dim})
    is_sure = len(kinds) == 1 and (False, True) not in kinds and not _is_of_examples(call, parts)
    return Axes(batch, unsure) if is_sure else Axes(batch - {dim}, unsure | {dim})


def _whole(call: Called) -> Cut | None:
    """What was cut, if one part is made of each of its parts, in their order."""
    cut = call.cuts[0] if call.cuts else None
    return cut if cut and [*call.cuts] == [cut._replace(place=place) for place in range(cut.parts)] else None


def _is_of_examples(call: Called, parts: Sequence[Tensor]) -> bool:
    """Whether there may be as many parts as examples: one of each, or the same one again for each."""
    return call.is_apart or (call.has_leaked and len({*map(id, parts)}) == 1)


def _alike(call: Called, parts: Sequence[Tensor]) -> Axes:
    batch, unsure, _ = _meeting((call.of(part), range(part.ndim), part.shape) for part in parts)
    return Axes(frozenset(batch), frozenset(unsure))


def _stacked(call: Called) -> Axes:
    """Axes of a stack of tensors that are alike: those from the new one on are one further."""
    dim = call.kwargs.get("dim", [*call.args, 0][1]) % call.made[0].ndim
    batch, unsure = (frozenset(axis + (axis >= dim) for axis in axes) for axes in _alike(call, call.args[0]))
    if (cut := _whole(call)) and not cut.sizes:
        return Axes(batch | {dim}, unsure)
    is_unsure = _is_of_examples(call, call.args[0])
    return Axes(batch, unsure | call.many(call.made[0]) & {dim} if is_unsure else unsure)


def _parted(call: Called) -> Axes | Sequence[Axes]:
    """The axes as they are, but for one that is cut: parts of the batch may be of any size."""
    own = call.of(call.args[0])
    dim = cut_along(*call.args, **call.kwargs)
    if dim in own.batch | own.unsure or call.sizes:
        try:
            return _larger(call)
        except Exception:  # there would be more parts, or other sizes are said
            return Axes(own.batch - {dim}, own.unsure | {dim})
    return own


def _unbound(call: Called) -> Axes:
    """The other axes, for each of the places along one."""
    x, dim = call.args[0], [*call.args[1:], *call.kwargs.values(), 0][0]
    return Axes(*(frozenset(axis - (axis > dim % x.ndim) for axis in axes - {dim % x.ndim}) for axes in call.of(x)))


def _lettered(call: Called) -> Axes | Sequence[Axes]:
    """The axes whose letters stand for the batch in an equation."""
    given, _, result = call.args[0].replace(" ", "").partition("->")
    if "." in given or not result:
        return _larger(call)
    tensors = tensors_in(call.args[1:], [])
    *sure, is_both = _meeting((call.of(x), word, x.shape) for x, word in zip(tensors, given.split(","), strict=True))
    axes = (frozenset(axis for axis, letter in enumerate(result) if letter in letters) for letters in sure)
    return UNSURE if is_both else Axes(*axes)


def _multiplied(call: Called) -> Axes | Sequence[Axes]:
    """The axes of both but for those that are summed over, where nothing meets those of the other one."""
    pair = x, y = call.args[-2:]
    if x.ndim < 2 or y.ndim < 2:
        return _larger(replace(call, func=torch.matmul, args=pair, kwargs={}))
    sides = (x, x.ndim - 1, [*x.shape[:-1], 1]), (y, y.ndim - 2, [*y.shape[:-2], 1, y.shape[-1]])
    return _met(call, [(x, Axes(*(axes - {gone} for axes in call.of(x))), shape) for x, gone, shape in sides])


Places = Iterable[tuple[Tensor, int]]


def _single(x: Tensor, index: Any, *_: Any, **__: Any) -> Places:
    """Axes of which one place is taken that is not the first: the code goes over them, so they are drawn one by one."""
    return [(x, axis) for axis, item in _along(index) if type(item) is BatchSize or (type(item) is int and item)]


def _along(index: Any) -> Iterable[tuple[int, Any]]:
    """The items of an index as far as it is known which axes they are about, each with its axis."""
    items = takewhile(lambda item: item is not ..., index if type(index) is tuple else (index,))
    return enumerate(item for item in items if item is not None)


def _summed_over(x: Tensor, *args: Any, dim: Any = None, **kwargs: Any) -> Places:
    dim = kwargs.get("axis", next((arg for arg in args if type(arg) in (int, tuple, list)), dim))
    return [(x, axis % x.ndim) for axis in ([dim] if type(dim) is int else range(x.ndim) if dim is None else dim)]


def _alone(places: Places) -> Places:
    """The places, if they are along one axis of several."""
    return places if len(places := [*places]) == 1 < places[0][0].ndim else []


def reduced_along(*args: Any, **kwargs: Any) -> Places:
    return _alone(_summed_over(*args, **kwargs))


def cut_along(x: Tensor, _: Any = None, dim: int = 0, **__: Any) -> int:
    """The axis that is cut into parts."""
    return dim % x.ndim


def _unbound_along(x: Tensor, dim: int = 0) -> Places:
    return [(x, dim % x.ndim)]


def _summed(equation: str, *operands: Any) -> Places:
    given, _, result = equation.replace(" ", "").partition("->")
    pairs = zip(given.split(","), tensors_in(operands, []), strict=True)
    return [(tensor, axis) for word, tensor in pairs for axis, letter in enumerate(word) if letter not in result]


def _sampled(x: Tensor, grid: Tensor, *_: Any, **__: Any) -> tuple[str, Tensor, Tensor]:
    """An equation with the axes of what is sampled: those of places are the grid's."""
    return "ncij,nhwv->nchw" if x.ndim == 4 else "ncijk,ndhwv->ncdhw", x, grid


def _from(first: int) -> Callable[..., Places]:
    return lambda x, *_, **__: [(x, axis) for axis in range(first, x.ndim)]


@dataclass(frozen=True, slots=True, eq=False)
class AxisRule:
    """The way in which an operation carries the batch on."""

    way: Way | None = None
    """Gives what is known of all that is made, or of each; raises an error for arguments that it does not know."""
    related: Callable[..., Places] = lambda *_, **__: ()
    """From the arguments, axes along which places are related with one another, so that none of them is the batch."""
    is_of_shapes: bool = False
    """Whether what else the arguments say is nothing that the shapes do not."""
    keeps_first: bool = False
    """Whether the first axis of the first argument is the batch of what is made, if only that argument has it, as its
    first axis, which stays as long, and none of the others has more axes."""


ELEMENTWISE = AxisRule(_combined, is_of_shapes=True, keeps_first=True)
CONVOLUTIONS = {f"conv{way}{d}d" for way in ("", "_transpose") for d in (1, 2, 3)}
KNOWING_BATCH = {"multi_head_attention_forward", "lstm", "gru", "rnn_tanh", "rnn_relu", "pack_padded_sequence"}
"""Operations of which it is known which axis is the batch."""
JOINING = {_joined, _stacked}
TAKING_APART = {_single, _unbound_along, reduced_along}
CUTTING = {_parted, _unbound}
TAKING_SIZES = {_larger, _parted, _reshaped, _item, unflattened, _weighted}
_NAMES = {
    "dropout alpha_dropout softmax log_softmax normalize cumsum cumprod flip roll sort argsort contiguous clone detach "
    "to type float half double long int short byte char bool bfloat16 type_as prelu tril triu cpu scatter scatter_add "
    "index_add index_copy data masked_scatter zeros_like ones_like empty_like full_like rand_like randn_like "
    "gumbel_softmax embedding dropout1d dropout2d dropout3d glu softmin cummax cummin logcumsumexp": AxisRule(
        _kept, is_of_shapes=True, keeps_first=True
    ),
    "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate": AxisRule(
        _kept, _from(2), True, True
    ),
    "batch_norm group_norm instance_norm local_response_norm pixel_shuffle pixel_unshuffle channel_shuffle unfold fold "
    "affine_grid stft istft lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell": AxisRule(_kept, _from(1), True, True),
    "layer_norm rms_norm": AxisRule(_kept, lambda x, sizes, *_, **__: _from(x.ndim - len(sizes))(x)),
    "scaled_dot_product_attention": AxisRule(
        _kept, lambda query, key, *_, **__: [(x, axis) for x in (query, key) for axis in (x.ndim - 2, x.ndim - 1)]
    ),
    " ".join(CONVOLUTIONS): AxisRule(
        _weighted,
        lambda x, weight, *more, **named: _from((x.ndim == weight.ndim) + _is_of_each(x, weight, *more, **named))(x),
        keeps_first=True,
    ),
    "linear grouped_mm": AxisRule(_weighted, lambda x, *_, **__: [(x, x.ndim - 1)], True, True),
    "where floor_divide floordiv mod and or xor hardswish hardsigmoid rsub maximum minimum mse_loss l1_loss "
    "smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits softsign tanhshrink "
    "logsigmoid multiply divide subtract negative absolute polar complex": ELEMENTWISE,
    "multi_head_attention_forward": AxisRule(
        _beside(0), lambda q, *_, **__: [(q, axis) for axis in {0, 1, 2} - {q.ndim - 2} | {0}]
    ),
    "lstm gru rnn_tanh rnn_relu": AxisRule(  # of one example the time is the first axis
        _beside(1),
        lambda x, states, _, __, ___, ____, _____, ______, first: [
            *((x, int(x.ndim == 3 and first)), (x, 2)),
            *((state, 0) for state in tensors_in([states], [])),  # its layers
        ],
    ),
    "pack_padded_sequence": AxisRule(_packed, lambda x, _, first: [(x, int(first)), (x, 2)]),
    "pad_packed_sequence": AxisRule(_padded),
    "matmul bmm mm": AxisRule(_multiplied, lambda x, y, **__: [(x, x.ndim - 1), (y, max(0, y.ndim - 2))], True),
    "addmm baddbmm": AxisRule(_multiplied, lambda _, x, y, **__: [(x, x.ndim - 1), (y, y.ndim - 2)], True),
    "einsum": AxisRule(_lettered, _summed),
    "grid_sample": AxisRule(
        lambda call: _lettered(replace(call, args=_sampled(*call.args, **call.kwargs))),
        lambda *args, **kwargs: _summed(*_sampled(*args, **kwargs)),
        True,
    ),
    "view reshape": AxisRule(_reshaped),
    "unflatten": AxisRule(unflattened),
    "mean sum prod amax amin max min all any argmax argmin var std var_mean std_mean logsumexp median": AxisRule(
        _reduced, reduced_along
    ),
    "norm vector_norm linalg_vector_norm": AxisRule(
        lambda call: _reduced(replace(call, args=(*call.args[:1], *call.args[2:3]))),  # the second is the power
        lambda x, p=2, *args, **kwargs: _alone(_summed_over(x, *args[:1], **kwargs)),
    ),
    "cat concat concatenate": AxisRule(_joined),
    "tensor as_tensor": AxisRule(from_data),
    # On tensors without data, these need torch's compiler, which is not loaded for that.
    "stack": AxisRule(_stacked),
    "one_hot": AxisRule(
        lambda call: _kept(call) if call.kwargs.get("num_classes", [*call.args, -1][1]) > 0 else UNSURE
    ),
    "outer": AxisRule(lambda call: _lettered(replace(call, args=("i,j->ij", *call.args)))),
    "getitem": AxisRule(_item, _single),
    "index_select": AxisRule(_selected),
    "split split_with_sizes tensor_split chunk": AxisRule(_parted),
    "unbind": AxisRule(_unbound, _unbound_along),
    "permute transpose swapaxes swapdims": AxisRule(_moved),
    "flatten view_as view_as_real view_as_complex reshape_as expand expand_as broadcast_to repeat repeat_interleave "
    "zeros ones empty full linspace rand randn arange randint new_zeros new_ones new_empty new_full movedim t T mT "
    "select unsqueeze squeeze narrow gather pad topk moveaxis tile fft ifft "
    "rfft irfft fftn ifftn": AxisRule(_larger),
}
_RULES = {name: rule for names, rule in _NAMES.items() for name in names.split()}


@functools.cache
def axis_rule(operation: tuple[str, str]) -> AxisRule:
    """The rule of an operation of torch's; what torch says is computed element by element needs none of its own."""
    name, target = operation
    if not target.startswith("torch.") or (
        target.startswith("torch.ops.") and not target.startswith("torch.ops.aten.")
    ):
        return AxisRule()
    name = name.rstrip("_")
    packet = None if name in _RULES else getattr(torch.ops.aten, name, None)
    if packet is not None and torch.Tag.pointwise in getattr(packet, packet.overloads()[0]).tags:
        return ELEMENTWISE
    return _RULES.get(name, AxisRule())
