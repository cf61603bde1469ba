"""Which axes are the batch: the operations say so, or a second run with twice as many examples, whose sizes double."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from threading import get_ident
from time import thread_time
from typing import Any
from warnings import catch_warnings, simplefilter

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from torchrecorder.graph import Graph, Op
from torchrecorder.graph.batch import is_of_batch
from torchrecorder.recording.batch.second_run import SecondRun, Shape, doubled
from torchrecorder.recording.batch.shape_rules import (
    BROADCAST,
    BY_CHANNEL,
    BY_EXAMPLE,
    CONCATENATION,
    CONVOLUTION,
    NORM,
    RULES,
    Rule,
)
from torchrecorder.recording.batch.trail import Differs, Trail
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.isolation.model_copy import CopiedArguments, RecordedIterator
from torchrecorder.recording.machine.devices import Devices
from torchrecorder.running import torch_private
from torchrecorder.running.facts import named_modules
from torchrecorder.running.nested import named

_MOST_OPS = 2000
"""Operations of a forward up to which it runs again."""
_SHARE = 0.3
"""Of the CPU time that the recording took, what the second run may take."""
_LEAST_S = 0.5
"""Seconds it may take in any case, so that a busy machine does not decide what a Graph says."""

Axes = dict[int, tuple[int, ...]]


def axes_by_rules(graph: Graph, trail: Trail) -> Axes | None:
    """The axes of each value that grow with the batch, where no second run is needed to see it; else None.

    So it is if no size was asked and each operation treats each example alone, as in most convolutional nets.
    """
    if not _is_one_batch(graph):
        return {}
    if not all(at in trail.ops or func in _NOT_OF_SIZE for at, func in enumerate(trail.calls)):
        return None
    rules = {op: RULES.get(trail.calls[at]) for at, (op, _) in trail.ops.items()}
    found: Axes = {value: (0,) for value in graph.inputs.values() if _sizes(graph, value)}
    for op in graph.ops:
        if op.id not in rules and op.kind != "pass":
            return None
        if not any(value in found for value in op.inputs):  # what depends on no input, and on no size
            continue
        if op.kind != "pass" and not _keeps_examples(graph, op, rules[op.id], found):
            return None
        found |= dict.fromkeys(op.outputs, (0,))
    return dict(sorted(found.items()))


def _is_one_batch(graph: Graph) -> bool:
    """Whether all inputs have the same first size."""
    sizes = {shape[0] for value in graph.inputs.values() if (shape := _sizes(graph, value))}
    return len(sizes) == 1 and all(type(size) is int and size > 0 for size in sizes)


def _sizes(graph: Graph, value: int) -> Sequence[Any]:
    meta = graph.values[value].meta
    return () if meta is None else meta.shape


def _keeps_examples(graph: Graph, op: Op, rule: Rule | None, found: Axes) -> bool:
    """Whether the examples along the first axis of what an operation reads are those of its results, one by one."""
    first, *others = op.inputs
    read, made = _sizes(graph, first), [_sizes(graph, value) for value in op.outputs]
    if rule is BROADCAST and (first in found or not op.mutates):  # axes meet from the last one on
        axes = len(made[0])
        met = {len(_sizes(graph, value)) for value in op.inputs if value in found}
        rest = [_sizes(graph, value) for value in op.inputs if value not in found]
        return met == {axes} and all(len(sizes) < axes or sizes[0] == 1 for sizes in rest)
    if first not in found or any(sizes[:1] != read[:1] for sizes in made):
        return False
    joins = rule is CONCATENATION
    if len(read) < 2 or any((value in found) is not joins for value in others):
        return False
    if op.name in _AXES_AT and op.target.rpartition(".")[0] in ("torch", "torch.Tensor"):
        texts = [op.attrs[name] for name in _AXES_AT[op.name] if name in op.attrs]
        touched = [int(axis) for text in texts for axis in _NUMBERS.findall(text)]
        if op.name == "permute":
            return touched[:1] == [0]
        most = max(len(read), len(made[0]))  # of these, axes are counted from the end
        return bool(touched) and all(axis % most for axis in touched)
    if rule is CONVOLUTION:
        return [len(_sizes(graph, weight)) for weight in others[:1]] == [len(read)]
    if rule is NORM and op.name not in BY_CHANNEL:
        return bool(others) and all(len(_sizes(graph, value)) < len(read) for value in others)
    return rule in BY_EXAMPLE and len(made) == 1


_NOT_OF_SIZE: frozenset[object] = frozenset(
    (
        *(F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, Tensor.contiguous, Tensor.float),
        *(Tensor.dim, Tensor.is_floating_point),
        *(Tensor.dtype.__get__, Tensor.ndim.__get__, Tensor.is_nested.__get__),  # type: ignore[attr-defined]
    )
)
"""Functions that do not say how large a tensor is: questions, and what may give its argument back."""
_AXES_AT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("cat", "concat", "mean", "sum", "amax", "amin", "squeeze", "unsqueeze"), ("dim", "1")),
    **dict.fromkeys(("split", "chunk"), ("dim", "2")),
    "flatten": ("start_dim", "1"),
    "transpose": ("dim0", "1", "dim1", "2"),
    "permute": ("dims", "1"),
}
"""Where operations name the axes that they join, split, move or take out: none of these may be the batch."""
_NUMBERS = re.compile(r"-?\d+")


def batch_axes(
    graph: Graph,
    trail: Trail,
    journal: Journal,
    model: nn.Module,
    given: tuple[Sequence[object], Mapping[str, object]],
    took_s: float,
) -> Axes:
    """The axes of each value that grow with the batch; none, if the second run differs, fails or takes too long.

    Args:
        graph: What was recorded.
        trail: The calls of that forward.
        journal: What puts back what the second one changes.
        model: The model, in the mode of the recording.
        given: The arguments of its forward.
        took_s: CPU time of the recording.
    """
    try:
        if not _can_run_again(graph, trail, model):
            return {}
        with torch_private.outside_of_fake_mode():
            copies = CopiedArguments(doubled, journal.keep, journal.keep)
            args, kwargs = copies.of(tuple(given[0])), copies.of(dict(given[1]))
            if copies.unseen or any(named((args, kwargs), RecordedIterator, objects=True)):
                return {}
            devices = Devices(lambda: (), {})
            second = SecondRun(graph, trail, devices, thread_time() + max(_LEAST_S, _SHARE * took_s))
            with _unnoticed(journal), devices.answering(), torch.no_grad(), second:
                model(*args, **kwargs)
        return _axes(graph, second.shapes) if second.is_same() else {}
    except (Exception, Differs):
        return {}


def _can_run_again(graph: Graph, trail: Trail, model: nn.Module) -> bool:
    seen = {op for op, _ in trail.ops.values()}
    if len(graph.ops) > _MOST_OPS or not all(op.id in seen or op.kind == "pass" for op in graph.ops):
        return False
    # A hook of the user's often collects what it sees, in a list that is not the model's.
    return not any(_is_watched(module) for _, module in named_modules(model))


def _is_watched(module: nn.Module) -> bool:
    if getattr(module, "_compiled_call_impl", None) is not None:
        return True
    if not (module._forward_pre_hooks or module._forward_hooks):
        return False
    hooks = (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
    return any(not (getattr(hook, "__module__", None) or type(hook).__module__).startswith("torch.") for hook in hooks)


@contextmanager
def _unnoticed(journal: Journal) -> Iterator[None]:
    """In this, what code prints or warns of is not seen a second time, and modules that no walk finds are kept."""
    handle, thread = logging.Logger.handle, get_ident()

    def handled(logger: logging.Logger, record: logging.LogRecord) -> None:
        if get_ident() != thread:
            handle(logger, record)

    logging.Logger.handle = handled  # type: ignore[method-assign, assignment]
    before = register_module_forward_pre_hook(lambda module, args: journal.meet(module)) if journal.met_others else None
    try:
        with catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            simplefilter("ignore")
            yield
    finally:
        logging.Logger.handle = handle  # type: ignore[method-assign]
        if before is not None:
            before.remove()


def _axes(graph: Graph, shapes: Mapping[int, Sequence[Shape]]) -> Axes:
    """Axes that doubled; none at all if there is a size that did something else."""
    found: Axes = {}
    known: dict[tuple[Sequence[object], Shape], tuple[int, ...]] = {}
    batch = 0
    for value in graph.inputs.values():
        meta = graph.values[value].meta
        if meta is not None and meta.shape:
            found[value], batch = (0,), int(meta.shape[0])
    for op in graph.ops:
        if op.id not in shapes:  # a layer that gives its argument back
            if op.inputs[0] in found:
                found[op.outputs[0]] = found[op.inputs[0]]
            continue
        for value, second in zip(op.outputs, shapes[op.id], strict=True):
            meta = graph.values[value].meta
            first = () if meta is None else meta.shape
            if first == second:
                continue
            axes = known.get((first, second))  # most shapes come again and again
            if axes is None:
                axes = tuple(axis for axis, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
                if not all(second[axis] == 2 * first[axis] and is_of_batch(first[axis], batch) for axis in axes):
                    return {}
                known[first, second] = axes
            found[value] = axes
        if op.name in _RELATING and _is_sequence(graph, op, found):
            return {}
    return dict(sorted(found.items()))


def _is_sequence(graph: Graph, op: Op, found: Axes) -> bool:
    """Whether the operation relates the places along an axis that doubled, as it never does with examples of a batch.

    So it is with the time of recurrent layers, and the words that attention compares: such a model has its first axis
    for a sequence.
    """
    axes = found.get(op.inputs[0], ()) if op.inputs else ()
    meta = graph.values[op.inputs[0]].meta if op.inputs else None
    if not axes or meta is None:
        return False
    last = len(meta.shape) - 1
    if op.name in _RECURRENT:
        return (0 if op.attrs.get("batch_first", op.attrs.get("8")) != "True" or last < 2 else 1) in axes
    if op.name == "multi_head_attention_forward":
        return 0 in axes
    if op.name == "scaled_dot_product_attention":
        return last - 1 in axes
    return op.name in _PRODUCTS and last in axes


_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
_PRODUCTS = {"matmul", "mm", "bmm"}
_RELATING = {*_RECURRENT, *_PRODUCTS, "multi_head_attention_forward", "scaled_dot_product_attention"}
