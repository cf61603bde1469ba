"""Shapes that operations give, without running them: on meta, torch computes many of them in Python, slowly.

A rule applies if what the operation reads differs from what it read in the recorded forward only where that cannot
matter; else it gives None, and the operation runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from torchrecorder.graph import Graph, Op
from torchrecorder.recording.batch.trail import Differs

Made = Tensor | tuple[Tensor | None, ...] | None
Rule = Callable[[Graph, Op, Sequence[Any], Mapping[str, Any]], Made]

_META = torch.device("meta")
_DTYPES: dict[str, torch.dtype] = {str(d)[6:]: d for d in vars(torch).values() if isinstance(d, torch.dtype)}


def _sizes(graph: Graph, value: int) -> Sequence[Any]:
    meta = graph.values[value].meta
    return () if meta is None else meta.shape


def _new(graph: Graph, op: Op, sizes: Sequence[int], index: int = 0) -> Tensor | None:
    meta = graph.values[op.outputs[index]].meta
    return None if meta is None else torch.empty(sizes, dtype=_DTYPES[meta.dtype], device=_META)


def _has_no_data(item: object) -> bool:
    return isinstance(item, nn.Parameter) or (isinstance(item, Tensor) and item.is_meta)


def _rows(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """Each example, along the first axis, is treated alone."""
    x = args[0] if args else None
    if not _has_no_data(x) or not isinstance(x, Tensor) or len(op.outputs) != 1:
        return None
    read, made = _sizes(graph, op.inputs[0]), _sizes(graph, op.outputs[0])
    if x.ndim < 2 or x.shape[1:] != tuple(read[1:]) or not made or made[0] != read[0]:
        return None
    return _new(graph, op, (x.shape[0], *made[1:]))


def _convolution(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    is_batched = len(args) > 1 and isinstance(args[1], Tensor) and args[0].ndim == args[1].ndim
    return _rows(graph, op, args, kwargs) if is_batched else None


def _elements(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """The result has the shape of the first argument, or is it."""
    x = args[0] if args else None
    if not isinstance(x, Tensor) or not x.is_meta or len(op.outputs) != 1:
        return None
    return x if op.mutates else _new(graph, op, x.shape)


def _broadcast(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """The tensors among the first three arguments are combined element by element."""
    tensors = [one for one in args[:3] if isinstance(one, Tensor)]
    if not any(map(_has_no_data, tensors)) or len(op.outputs) != 1:
        return None
    sizes = _broadcast_sizes([one.shape for one in tensors])
    if not op.mutates:
        return None if sizes is None else _new(graph, op, sizes)
    x: Tensor = args[0]
    return x if x.is_meta and sizes == [*x.shape] else None


def _broadcast_sizes(shapes: Sequence[Sequence[int]]) -> list[int] | None:
    found = [*max(shapes, key=len)]
    for sizes in shapes:
        for axis in range(-len(sizes), 0):
            size = sizes[axis]
            if size != found[axis]:
                if found[axis] == 1:
                    found[axis] = size
                elif size != 1:
                    return None
    return found


def _norm(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """As `_elements`, if the axes that have parameters are as they were."""
    if not args or not isinstance(args[0], Tensor):
        return None
    if op.name in BY_CHANNEL:
        read, sizes = _sizes(graph, op.inputs[0]), args[0].shape
        is_same = len(sizes) == len(read) > 1 and sizes[1] == read[1]
    else:
        normal = tuple(args[1]) if len(args) > 1 and isinstance(args[1], (tuple, list)) else None
        is_same = normal is not None and tuple(args[0].shape[-len(normal) :]) == normal
    return _elements(graph, op, args, kwargs) if is_same else None


BY_CHANNEL = {"batch_norm", "group_norm", "instance_norm"}


def _linear(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    x, weight = (*args, None, None)[:2]
    if not (isinstance(x, Tensor) and isinstance(weight, Tensor) and x.is_meta and weight.ndim == 2):
        return None
    return _new(graph, op, (*x.shape[:-1], weight.shape[0])) if x.shape[-1:] == weight.shape[1:] else None


def _addmm(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    is_plain = len(args) == 3 and all(isinstance(one, Tensor) for one in args) and args[0].ndim == 1
    if not is_plain or not any(map(_has_no_data, args)) or args[1].shape[1] != args[2].shape[0]:
        return None
    return _new(graph, op, (args[1].shape[0], args[2].shape[1]))


def _matmul(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    if len(args) != 2 or not all(isinstance(one, Tensor) and one.ndim > 1 for one in args):
        return None
    a, b = args
    outer = _broadcast_sizes([a.shape[:-2], b.shape[:-2]])
    if outer is None or a.shape[-1] != b.shape[-2] or not (_has_no_data(a) or _has_no_data(b)):
        return None
    return _new(graph, op, (*outer, a.shape[-2], b.shape[-1]))


def _embedding(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    if len(args) < 2 or not isinstance(args[0], Tensor) or not _has_no_data(args[1]):
        return None
    return _new(graph, op, (*args[0].shape, args[1].shape[-1]))


def _attention(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    if len(args) < 3 or not all(isinstance(one, Tensor) and one.ndim > 2 for one in args[:3]):
        return None
    return _rows(graph, op, args, kwargs) if args[0].shape[0] == args[1].shape[0] == args[2].shape[0] else None


def _concatenation(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    tensors: Sequence[Any] = args[0] if args and isinstance(args[0], (tuple, list)) else ()
    tensors = [one for one in tensors if one.shape != (0,)]
    axis = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    if not any(map(_has_no_data, tensors)) or type(axis) is not int or kwargs.keys() - {"dim"}:
        return None
    axis %= max(1, tensors[0].ndim)
    around = {(*one.shape[:axis], *one.shape[axis + 1 :]) for one in tensors}
    if len(around) != 1 or any(one.ndim != tensors[0].ndim for one in tensors):
        return None
    first = tensors[0].shape
    return _new(graph, op, (*first[:axis], sum(one.shape[axis] for one in tensors), *first[axis + 1 :]))


def _reduction(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    x, axes = (*args, None, None)[:2]
    axes = kwargs.get("dim", axes)
    axes = (axes,) if type(axis := axes) is int else axis
    is_known = (
        len(args) < 3 and not kwargs.keys() - {"dim", "keepdim"} and (axes is None or isinstance(axes, (tuple, list)))
    )
    if not is_known or not isinstance(x, Tensor) or not x.is_meta or not x.ndim or len(op.outputs) != 1:
        return None
    gone = {axis % x.ndim for axis in axes or range(x.ndim)}
    keeps = kwargs.get("keepdim", False)
    return _new(graph, op, [1 if i in gone else n for i, n in enumerate(x.shape) if keeps or i not in gone])


def _multi_head(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """What it reads is (length, batch, features), and the weights that it may give are (batch, …)."""
    query = args[0] if args else None
    if not isinstance(query, Tensor) or not query.is_meta or query.ndim != 3:
        return None
    read, weights = _sizes(graph, op.inputs[0]), _sizes(graph, op.outputs[1]) if len(op.outputs) == 2 else ()
    if query.shape[0] != read[0]:
        raise Differs
    if query.shape[2] != read[2] or len(op.outputs) > 2 or (weights and weights[0] != read[1]):
        return None
    attended = _new(graph, op, query.shape)
    return attended, _new(graph, op, (query.shape[1], *weights[1:]), 1) if weights else None


def _recurrent(graph: Graph, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Made:
    """The batch is the second axis of states, and the first or second of what is read and given."""
    x, axis = (args[0], 0 if args[8] is True else 1) if len(args) == 9 else (None, 0)
    if not isinstance(x, Tensor) or not x.is_meta or x.ndim != 3:
        return None
    read = _sizes(graph, op.inputs[0])
    if x.shape[1 - axis] != read[1 - axis]:
        raise Differs
    made = []
    for index, value in enumerate(op.outputs):
        sizes, at = [*_sizes(graph, value)], 1 if index else axis
        if len(sizes) != 3 or sizes[at] != read[axis]:
            return None
        sizes[at] = x.shape[axis]
        made.append(_new(graph, op, sizes, index))
    return tuple(made)


_NAMES: dict[Rule, str] = {
    _convolution: "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    _rows: (
        "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
        "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate pad "
        "_grouped_mm grouped_mm"
    ),
    _norm: "batch_norm layer_norm group_norm instance_norm rms_norm",
    _elements: (
        "dropout dropout1d dropout2d relu relu_ relu6 gelu silu elu selu leaky_relu hardswish hardsigmoid mish "
        "softplus softmax log_softmax normalize tanh sigmoid exp log sqrt rsqrt neg __neg__ abs sin cos erf logsigmoid "
        "float half double contiguous clone square type_as prelu cumsum"
    ),
    _broadcast: (
        "add add_ __add__ __radd__ __iadd__ sub __sub__ __rsub__ mul mul_ __mul__ __rmul__ __imul__ div __div__ "
        "__truediv__ pow __pow__ eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ where "
        "maximum minimum masked_fill masked_fill_ clamp clamp_min clamp_max __floordiv__ floor_divide"
    ),
    _linear: "linear",
    _addmm: "addmm",
    _matmul: "matmul bmm mm __matmul__",
    _embedding: "embedding",
    _attention: "scaled_dot_product_attention",
    _concatenation: "cat concat",
    _reduction: "mean sum amax amin all any",
    _multi_head: "multi_head_attention_forward",
    _recurrent: "lstm gru rnn_tanh rnn_relu",
}

RULES: dict[Any, Rule] = {}
"""By function."""
BROADCAST, CONCATENATION, CONVOLUTION, NORM = _broadcast, _concatenation, _convolution, _norm
BY_EXAMPLE = (_rows, _elements, _norm, _linear)
"""The rules of operations that treat each example alone."""
for _home in (Tensor, torch, F):
    for _rule, _listed in _NAMES.items():
        if _home is not Tensor or _rule not in (_embedding, _concatenation):
            RULES |= {getattr(_home, name): _rule for name in _listed.split() if hasattr(_home, name)}
