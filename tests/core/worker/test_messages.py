"""What goes through the worker's pipe comes out as it went in."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from torchrecorder.errors import ForwardError, TorchMissing, WorkerTimeout
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.observed import TraceResult
from torchrecorder.worker.messages import Answer, Job, line_of

JOB = Job(
    RecordingRequest("pkg.Net(3)", "1,3; 2", mode="train", seed=7, depends=("data", "$HOME")),
    ("/one", "/two"),
    {"PATH": "/bin", "NAME": "\udce9 é\n"},
    "pkg",
    3,
    None,
    0.5,
    "/tmp/log",
)
TRACE = TraceResult(
    {"pkg.net": "/src/pkg/net.py"},
    {"/src/pkg/net.py": [1, 2, 3, 2**64 - 1]},
    {"/src/pkg/net.py": (["", "Net."], ["Net.forward"])},
    {"/src/data": [1, 1, 1, 1], "/src/gone": None},
    {"/src/asked": "folder", "/src/nothing": None},
    {"/src": [1, 1, 1, 1]},
    {"HOME": "user"},
    ("numpy",),
    ("uses the network",),
    {"torch": "2.13.0"},
)


@pytest.mark.parametrize("trace", [None, TRACE])
@pytest.mark.parametrize(
    ("graph", "error"),
    [
        ("{}", None),
        ('{"part": 1}', ForwardError("pkg.Net", "ValueError: no", layer="fc (Linear)")),
        (None, WorkerTimeout("pkg.Net", 1.5, "last words")),
    ],
)
def test_an_answer(graph: str | None, error: ForwardError | WorkerTimeout | None, trace: TraceResult | None) -> None:
    line = line_of(Answer(graph, error, trace))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    again = Answer.from_json(json.loads(line))
    assert (again.graph, again.trace) == (graph, trace)
    assert type(again.error) is type(error)
    if error is not None and again.error is not None:
        assert again.error.to_json() == error.to_json()


def test_a_trace_that_was_disturbed() -> None:
    values = {field.name: getattr(TRACE, field.name) for field in fields(TRACE)}
    trace = TraceResult(**{**values, "executed": None})
    assert TraceResult.from_json(json.loads(json.dumps(trace.to_json()))) == trace


def test_a_job() -> None:
    assert Job.from_json(json.loads(line_of(JOB))) == JOB


@pytest.mark.parametrize("problem", [None, TorchMissing("", "python", "ImportError: no torch")])
def test_a_greeting(problem: TorchMissing | None) -> None:
    found = Answer.from_json(json.loads(line_of(Answer(error=problem)))).error
    assert (found and found.to_json()) == (problem and problem.to_json())
