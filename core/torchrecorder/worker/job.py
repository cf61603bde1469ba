"""One job, from its request to the answer that goes back through the worker's pipe."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.machinery import PathFinder
from time import thread_time
from typing import Any

import torch
from torch import nn

from torchrecorder.errors import (
    FailedInside,
    ForwardError,
    InputError,
    TargetError,
    TorchRecorderError,
    WorkerCrashed,
    chain,
)
from torchrecorder.faults import failed_inside, is_own
from torchrecorder.graph import Graph, to_json
from torchrecorder.hub.models import with_facts
from torchrecorder.recording.examples import Way, ways
from torchrecorder.recording.guess.advice import advice_on_shapes
from torchrecorder.recording.guess.search import PATIENCE_S, SLOW_S, Search, leaves_weights
from torchrecorder.recording.inputs import Inputs, make_inputs
from torchrecorder.recording.machine.devices import NOT_THERE, on_devices_there
from torchrecorder.recording.machine.large import forget
from torchrecorder.recording.machine.memory import bound
from torchrecorder.recording.machine.weights import refuse_downloads, weights_note
from torchrecorder.recording.matching import matching_models, wants
from torchrecorder.recording.run import Run, capture, wants_memory
from torchrecorder.recording.target import load_arguments, models
from torchrecorder.request import RecordingRequest, is_pattern, parse_shapes
from torchrecorder.request.stylers import StylerRequest
from torchrecorder.trace.observed import has_unseen_cause
from torchrecorder.trace.trace import Trace
from torchrecorder.worker import styling
from torchrecorder.worker.messages import Answer, Job, line_of

_FOR_ONE_S = 5.0
"""Seconds of refused guesses for one way to build a model, if there may be others: an example may show its inputs."""

_FOR_A_TRIAL_S = 8.0
"""The same for all ways together to build a class that is only tried: of those with a picture the slowest of a sample
took five with all else, and those that find nothing take all that they get."""

_stat = os.stat  # bound when it is imported: a model's code may put another one there


def begin(job: Job) -> Trace:
    """Make this process one in which the job's code can run, and trace what it does from now on."""
    sys.path[:] = dict.fromkeys([*job.path, *sys.path])
    os.environ.update(job.environment)
    trace = Trace()
    trace.start()
    refuse_downloads()
    return trace


def answer(job: Job, trace: Trace | None = None) -> Answer:
    """Record the job's request and say what came of it and what it depended on."""
    request = job.request
    if isinstance(request, StylerRequest):
        return styling.answer(job)
    if trace is None:
        trace = begin(job)
    else:
        trace.opened.follow()
    path = list(sys.path)
    bound(job.resident_bytes)
    try:
        graph, answered = _graph_or_error(request, job.allow, is_trial=job.cpu_s > 0)
    finally:
        trace.stop()
    sys.path[:] = path  # the model's code may have changed it, and versions are looked up on it
    layers = () if graph is None else (module.cls for module in graph.modules.values())
    traced = trace.result({name.partition(".")[0] for name in (request.target, *layers)})
    if answered.error is not None and has_unseen_cause(answered.error, traced):
        traced = replace(traced, untracked=(*traced.untracked, "fails on something outside of what was seen"))
    return replace(answered, trace=traced, job=job.number, needed_compiler="torch._dynamo" in sys.modules)


def answer_line(job: Job, trace: Trace | None = None) -> bytes:
    target = job.request.target
    try:
        answered = answer(job, trace)
        if isinstance(answered.error, FailedInside | ForwardError) and (broken := _broken()):
            answered = replace(answered, graph=None, error=WorkerCrashed(target, broken, answered.error.details()))
        return line_of(answered)
    except BaseException as error:  # what is left is our own fault, the model's, or a KeyboardInterrupt
        how = _broken() or f"{type(error).__name__}: {error}"
        failed: TorchRecorderError = WorkerCrashed(target, how, "".join(traceback.format_exception(error)))
        if isinstance(error, Exception) and is_own(error) and not _broken():
            failed = failed_inside(target, error)
        return line_of(Answer(error=failed, job=job.number))
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


_GROUND: Mapping[str, Callable[[], object]] = {
    "took torch out of sys.modules, or put another module there": lambda: id(sys.modules.get("torch")),
    "took what finds modules out of sys.meta_path": lambda: PathFinder in sys.meta_path,
    "changed the root of the file system": lambda: _stat(os.sep)[1:3],
    "changed the user that it runs as": lambda: getattr(os, "getuid", int)(),
}
"""Ground that everything here stands on, by what a model's code did to it."""
_THEN = {what: of() for what, of in _GROUND.items()}


def _broken() -> str:
    """Ground that the model's code took away from us; empty if all is there, so that a fault is our own."""
    return next((f"its code {what}" for what, of in _GROUND.items() if of() != _THEN[what]), "")


def record(request: RecordingRequest, allow: Sequence[str] = (), *, is_trial: bool = False) -> Graph:
    """Build the model and record it; on the device that is there, if building asks for one that is not.

    `is_trial` says that the class was not named, so that its arguments may be found by their names alone.
    """
    notes: Iterable[str] = ()
    try:
        graph = _record(request, allow, is_trial)
    except (TargetError, InputError) as error:
        if not any(text in error.summary() for text in NOT_THERE):
            raise
        with on_devices_there() as notes:
            graph = _record(request, allow, is_trial)
    return _with_notes(graph, (*weights_note(), *notes))


def _record(request: RecordingRequest, allow: Sequence[str], is_trial: bool) -> Graph:
    """The recording of the first way to build the model with which it succeeds.

    One on inputs guessed from names alone, or whose forward read no weights of a model that has some, counts if no
    other way has a better one.
    """
    guessed: Graph | None = None
    failed: tuple[Callable[[float, float], Graph] | None, InputError | ForwardError] | None = None
    arguments = partial(ways, is_common=request.is_common, is_trial=is_trial)
    patience_s = PATIENCE_S if "(" in request.target else _FOR_ONE_S
    left_s = _FOR_A_TRIAL_S if is_trial else math.inf
    for model, way in models(request.target, request.seed, allow, arguments):
        asked: dict[str, Any] = {"run": request.run, "seed": request.seed, "mode": request.mode, "way": way}
        search = Search(model, partial(_recorded, request, model), **asked)
        recorded = partial(_of_model, request, model, way, allow, search)
        start = thread_time()
        try:
            graph = recorded(min(patience_s, left_s), min(SLOW_S, left_s / 2))
        except (InputError, ForwardError) as error:
            may_go_on = failed is None and isinstance(error, InputError) and error.ran_out_of_time and not is_trial
            failed = failed or (recorded if may_go_on and "(" not in request.target else None, error)
            # Frames of the error hold the memory of the refused model, and so do parts that know their parents.
            if not may_go_on:
                forget(model)
            for raised in chain(error):
                traceback.clear_frames(raised.__traceback__)
            del model, search, recorded  # the next one wants its memory
            gc.collect()
            if (left_s := left_s - (thread_time() - start)) <= 0:
                break
            continue
        is_idle = not (request.inputs or request.shape) and leaves_weights(model, graph)
        if graph.info.grade != "names" and not is_idle:
            if way is not None:
                way.depend()
            return graph
        guessed = guessed or graph
    if guessed is not None:
        return guessed
    assert failed is not None
    go_on, first = failed
    if go_on is not None:
        return go_on(PATIENCE_S, SLOW_S)
    raise first


def _of_model(
    request: RecordingRequest,
    model: nn.Module,
    way: Way | None,
    allow: Sequence[str],
    search: Search,
    patience_s: float,
    slow_s: float,
) -> Graph:
    graph = _on_inputs(request, model, allow, partial(search.result, patience_s, slow_s))
    graph = with_facts(graph, model)
    return _with_notes(graph, [way.note]) if way is not None and way.note else graph


def _on_inputs(
    request: RecordingRequest, model: nn.Module, allow: Sequence[str], guessed: Callable[[], Graph]
) -> Graph:
    recorded = partial(_recorded, request, model)
    if request.inputs:
        return recorded(Inputs(*load_arguments(request.inputs, allow)), request.run)
    if not request.shape:
        return guessed()
    try:
        return recorded(make_inputs(parse_shapes(request.shape), request.seed), request.run)
    except ForwardError as first:
        if not request.is_common:
            again = partial(recorded, run=request.run)
            first.advice = first.advice or advice_on_shapes(first, model, parse_shapes(request.shape), again)
            raise
        with contextlib.suppress(InputError, ForwardError):
            return guessed()
        raise first from None


def _recorded(request: RecordingRequest, model: nn.Module, inputs: Inputs, run: Run) -> Graph:
    captured = partial(
        capture,
        model,
        inputs.args,
        inputs.kwargs,
        mode=request.mode,
        run=run,
        seed=request.seed,
        guessed=inputs.guessed,
        recorder=request.recorder,
    )
    # With gradients on, autograd keeps every activation; only a classic picture needs its graph.
    is_on = request.recorder == "classic"
    try:
        with torch.set_grad_enabled(is_on):
            return captured()
    except ForwardError as first:
        # Some forwards need the other; if not even that helps, the first error counts. A guess may be wrong otherwise.
        # With gradients no forward takes less memory.
        if (is_on or not wants_memory(first)) and (not inputs.guessed or "grad" in first.cause):
            with contextlib.suppress(ForwardError), torch.set_grad_enabled(not is_on):
                cause = first.cause.partition("\n")[0]
                note = f"operations have their ordinary names, since with autograd the forward failed: {cause}"
                return _with_notes(captured(), after=[note] if is_on else [])
        raise


def _with_notes(graph: Graph, notes: Iterable[str] = (), after: Iterable[str] = ()) -> Graph:
    return replace(graph, info=replace(graph.info, notes=(*notes, *graph.info.notes, *after)))


def _graph_or_error(request: RecordingRequest, allow: Sequence[str], *, is_trial: bool) -> tuple[Graph | None, Answer]:
    try:
        if is_pattern(request.target):
            about = wants if request.is_common else matching_models
            return None, Answer(names=about(request.target, allow))
        graph = record(request, allow, is_trial=is_trial)
        return graph, Answer(to_json(graph))
    except ForwardError as error:
        return error.graph, Answer(None if error.graph is None else to_json(error.graph), error)
    except TorchRecorderError as error:
        return None, Answer(error=error)
    except SystemExit as error:
        return None, Answer(error=WorkerCrashed(request.target, f"its code called sys.exit({error.code!r})"))
