"""Which axes are the batch: a second run with twice as many examples says which sizes double."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from threading import get_ident
from time import thread_time
from warnings import catch_warnings, simplefilter

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from torchrecorder.graph import Graph, Op
from torchrecorder.graph.batch import is_of_batch
from torchrecorder.recording.devices import Devices
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.isolation.model_copy import CopiedArguments, RecordedIterator
from torchrecorder.recording.second_run import SecondRun, Shape, doubled
from torchrecorder.recording.trail import Differs, Trail
from torchrecorder.running import torch_private
from torchrecorder.running.nested import named

_MOST_OPS = 2000
"""Operations of a forward up to which it runs again."""
_SHARE = 0.3
"""Of the CPU time that the recording took, what the second run may take."""
_LEAST_S = 0.5
"""Seconds it may take in any case, so that a busy machine does not decide what a Graph says."""

Axes = dict[int, tuple[int, ...]]


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
            return _followed(graph, trail, journal, model, given, took_s)
    except (Exception, Differs):
        return {}


def _followed(
    graph: Graph,
    trail: Trail,
    journal: Journal,
    model: nn.Module,
    given: tuple[Sequence[object], Mapping[str, object]],
    took_s: float,
) -> Axes:
    copies = CopiedArguments(doubled, journal.keep, journal.keep)
    args, kwargs = copies.of(tuple(given[0])), copies.of(dict(given[1]))
    if copies.unseen or any(named((args, kwargs), RecordedIterator, objects=True)):
        return {}
    devices = Devices(lambda: (), {})
    second = SecondRun(graph, trail, devices, thread_time() + max(_LEAST_S, _SHARE * took_s))
    with _unnoticed(journal), devices.answering(), torch.no_grad(), second:
        model(*args, **kwargs)
    return _axes(graph, second.shapes) if second.is_same() else {}


def _can_run_again(graph: Graph, trail: Trail, model: nn.Module) -> bool:
    sizes = {meta.shape[0] for meta in (graph.values[v].meta for v in graph.inputs.values()) if meta and meta.shape}
    if len(sizes) != 1 or not all(type(size) is int and size > 0 for size in sizes):
        return False
    seen = {op for op, _ in trail.ops.values()}
    if len(graph.ops) > _MOST_OPS or not all(op.id in seen or op.kind == "pass" for op in graph.ops):
        return False
    # A hook of the user's often collects what it sees, in a list that is not the model's.
    return not any(_is_watched(module) for module in model.modules())


def _is_watched(module: nn.Module) -> bool:
    if getattr(module, "_compiled_call_impl", None) is not None:
        return True
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
            axes = tuple(axis for axis, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
            if not all(second[axis] == 2 * first[axis] and is_of_batch(first[axis], batch) for axis in axes):
                return {}
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
