"""One request, from its text to the answer that goes back through the worker's pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

import torch

from torchrecorder.errors import ForwardError, TorchRecorderError, WorkerCrashed
from torchrecorder.graph import Graph, to_json
from torchrecorder.recording import capture
from torchrecorder.recording.arguments import load_arguments
from torchrecorder.recording.classic import ClassicSession
from torchrecorder.recording.dependencies import imported_since
from torchrecorder.recording.inputs import make_inputs
from torchrecorder.recording.run import Forward, run_as
from torchrecorder.recording.target import load_model
from torchrecorder.request import RecordingRequest, parse_shapes


def answer(job: Mapping[str, Any]) -> dict[str, Any]:
    """Record the job's request and say, as plain data, what came of it and what it depended on."""
    request = RecordingRequest.from_json(job["request"])
    sys.path[:] = dict.fromkeys([*job["path"], *sys.path])
    path, before = list(sys.path), set(sys.modules)
    result = _graph_or_error(request)
    sys.path[:] = path  # the model's code may have changed it, and the dependencies are looked up on it
    return {**result, "dependencies": imported_since(before)}


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
