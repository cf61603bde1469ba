from __future__ import annotations

import functools
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from tests.truth.all import CASES
from tests.truth.case import Case
from tests.truth.neutral import to_neutral
from tests.truth.refused_cases import OF_GRADIENTS
from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.graph.codec import problems
from torchrecorder.recording.run import capture

GRAD_MODES = {"grad": nullcontext, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def record(case: Case) -> Graph:
    torch.manual_seed(0)
    model = case.build()
    args, kwargs = case.inputs()
    return capture(model, args, kwargs, mode="train" if case.train else "eval")


@functools.cache
def recorded(case: Case) -> Graph:
    """Recorded once, in the usual grad mode, for all tests that only read it."""
    return record(case)


@every_case
@pytest.mark.parametrize("grad_mode", GRAD_MODES)
def test_graph_is_exact(case: Case, grad_mode: str) -> None:
    if case.not_on and torch.__version__.startswith(case.not_on):
        pytest.skip(f"other operations run on torch {case.not_on}x")
    with GRAD_MODES[grad_mode]():
        if case.name in OF_GRADIENTS and not torch.func.grad(torch.sum)(torch.ones(1)).any():
            pytest.skip("torch gives no gradients here")
        graph = recorded(case) if grad_mode == "grad" else record(case)
    assert problems(graph) == []
    expected = {
        "values left PyTorch": case.leaves,
        "TorchScript ran": case.scripted,
        "one branch of": case.decides,
        "a tensor of unknown origin": case.unknown,
    }
    found = [next((text for text in expected if note.startswith(text)), note) for note in graph.info.notes]
    assert {*found} == {text for text, is_expected in expected.items() if is_expected}
    assert bool(graph.decisions) == case.decides
    nodes, edges = to_neutral(graph)
    assert edges == case.edges
    assert nodes == case.nodes


@every_case
def test_graph_survives_json(case: Case) -> None:
    graph = recorded(case)
    assert from_json(to_json(graph)) == graph


def test_graphs_are_the_same_in_every_process() -> None:
    program = "from tests.truth.test_truth import *\nfor case in CASES: print(to_json(record(case)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(("core", "."))}
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program],
            env={**environment, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        for seed in ("1", "2")
    ]
    texts = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert texts[0].count(b"torchrecorder_graph") == len(CASES)
    assert texts[0] == texts[1]
