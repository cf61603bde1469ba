"""One request, from its text to the answer that goes back through the worker's pipe."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torchrecorder.errors import ForwardError, TorchRecorderError, WorkerCrashed
from torchrecorder.faults import failed_inside, is_own
from torchrecorder.graph import Graph, to_json
from torchrecorder.recording.classic import ClassicSession
from torchrecorder.recording.inputs import make_inputs
from torchrecorder.recording.run import Forward, capture, run_as
from torchrecorder.recording.target import load_arguments, load_model
from torchrecorder.request import RecordingRequest, parse_shapes
from torchrecorder.trace import Trace
from torchrecorder.worker import fork


def begin(job: Mapping[str, Any]) -> Trace:
    """Make this process one in which the job's code can run, and trace what it does from now on."""
    sys.path[:] = dict.fromkeys([*job["path"], *sys.path])
    os.environ.update(job["environment"])
    trace = Trace()
    trace.start()
    return trace


def answer(job: Mapping[str, Any], trace: Trace | None = None) -> dict[str, Any]:
    """Record the job's request and say, as plain data, what came of it and what it depended on.

    Args:
        job: As `diagram.worker` sends it.
        trace: Begun already, if the job's package has been imported before.
    """
    request = RecordingRequest.from_json(job["request"])
    trace = trace or begin(job)
    path = list(sys.path)
    try:
        result = _graph_or_error(request)
    finally:
        trace.stop()
    sys.path[:] = path  # the model's code may have changed it, and versions are looked up on it
    return {**result, "notes": trace.notes()}


def answer_line(job: Mapping[str, Any], trace: Trace | None = None) -> bytes:
    """The answer as a line of JSON, whatever happens."""
    try:
        return _line(answer(job, trace))
    except BaseException as error:  # what is left is our own fault, or no Exception, or one that cannot be told
        target = job["request"]["target"]
        if isinstance(error, Exception) and is_own(error):
            return _line({"error": failed_inside(target, error).to_json()})
        how = f"{type(error).__name__}: {error}"
        trace_text = "".join(traceback.format_exception(error))
        return _line({"error": WorkerCrashed(target, how, trace_text).to_json()})
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def answer_in_child(
    job: Mapping[str, Any], lifeline: int, *, not_theirs: Sequence[int], trace: Trace | None = None
) -> bytes:
    """The answer of a forked child, or what became of it, as a line.

    Args:
        job: As `diagram.worker` sends it.
        lifeline: Says something only when nobody wants the answer any more; then this process ends.
        not_theirs: Descriptors that the child must not keep open.
        trace: Begun already, if this process has imported the job's package.
    """

    def run(writer: int) -> None:
        fork.prepare(job["log"], job["memory_bytes"])
        line = answer_line(job, trace)
        try:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(line)
        except OSError:
            os._exit(fork.MUTE)

    pid, reader = fork.fork(run, not_theirs=not_theirs)
    line, ending = fork.read_line(reader, job["timeout_s"], lifeline)
    os.close(reader)
    how = fork.end(pid, by_itself=ending == "end")
    if ending == "builder gone":
        os._exit(1)
    if ending == "timeout":
        return _line({"timeout": job["timeout_s"]})
    return line or _line({"died": how})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def record(request: RecordingRequest) -> Graph:
    """Import the model of a request, make its inputs, and record one forward."""
    model = load_model(request.target, request.seed)
    guessed = ""
    if request.inputs:
        args, kwargs = load_arguments(request.inputs)
    else:
        specs = parse_shapes(request.shape) if request.shape else None
        made = make_inputs(model, specs, seed=request.seed, mode=request.mode)
        args, kwargs, guessed = made.args, made.kwargs, made.guessed
    if request.recorder == "classic":
        forward = Forward(model, args, kwargs, request.mode, request.seed, guessed)
        return run_as(request.run, forward, ClassicSession)
    options: dict[str, Any] = {"mode": request.mode, "run": request.run, "seed": request.seed, "guessed": guessed}
    try:
        with torch.no_grad():  # autograd would keep every activation
            return capture(model, args, kwargs, **options)
    except ForwardError:
        with contextlib.suppress(ForwardError):  # some forwards need it; if not even that helps, the first error counts
            return capture(model, args, kwargs, **options)
        raise


def _graph_or_error(request: RecordingRequest) -> dict[str, Any]:
    try:
        return {"graph": to_json(record(request))}
    except ForwardError as error:
        partial = {} if error.graph is None else {"graph": to_json(error.graph)}
        return {"error": error.to_json(), **partial}
    except TorchRecorderError as error:
        return {"error": error.to_json()}
    except SystemExit as error:
        return {"error": WorkerCrashed(request.target, f"its code called sys.exit({error.code!r})").to_json()}
