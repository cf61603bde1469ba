"""A torch that cannot record, and faults of our own: one sentence each, with the command that puts it right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from torchrecorder.errors import (
    FailedInside,
    TorchBroken,
    TorchMissing,
    TorchRecorderError,
    TorchTooOld,
    WorkerNotStarted,
)
from torchrecorder.faults import OLDEST_TORCH
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker

starts = pytest.mark.usefixtures("real_processes")

ROOT = Path(__file__).parents[2]

TORCHES = {
    "missing": "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')",
    "broken": "raise OSError('libtorch_cpu.so: cannot open shared object file')",
    "in parts": "import parts_of_torch_that_are_not_there",
    "too old": "__version__ = '1.13.1+cu117'",
    "other": "",
}
"""What stands in `torch.py`."""

SAID: dict[str, tuple[type[TorchRecorderError], str]] = {
    "missing": (TorchMissing, r"No module named 'torch'\)\ninstall torch there, \S+ -m pip install torch \(a CPU"),
    "broken": (TorchBroken, r"\(OSError: libtorch_cpu.so: .*\)\n\S+ -m pip install --force-reinstall torch repairs"),
    "in parts": (TorchBroken, r"No module named 'parts_of_torch_that_are_not_there'\)\n\S+ -m pip install --force-re"),
    "too old": (TorchTooOld, rf"has torch 1\.13\.1\+cu117, .*\n\S+ -m pip install 'torch>={OLDEST_TORCH}' installs"),
    "other": (TorchBroken, r"torch\.py is not PyTorch, but has its name\)\n\S+ -m pip install --force-reinstall"),
}


@pytest.fixture
def torch_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def write(text: str, name: str = "torch.py") -> None:
        (tmp_path / name).write_text(text)
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT / 'core'}")

    return write


def error_of(target: str = "torch.nn.Linear(3, 4)", path: tuple[str, ...] = ()) -> TorchRecorderError | None:
    with Worker(path) as worker:
        first = worker.record(RecordingRequest(target, "1,3"), timeout_s=60)
        again = worker.record(RecordingRequest(target, "1,3"), timeout_s=60)
    assert str(first.error) == str(again.error)
    return first.error


# First, because the fixture of the tests below it stays until the end of the file.
@pytest.mark.parametrize("function", ["make_inputs", "capture"])
def test_a_fault_of_ours_in_a_job_is_told(function: str, torch_of: Any, tmp_path: Path) -> None:
    (tmp_path / "breaking.py").write_text(
        "import torchrecorder.worker.job as job\nfrom torch.nn import Linear\n"
        f"def broken(*args, **options): {{}}['no such key']\n"
        f"broken.__code__ = broken.__code__.replace(co_filename=job.__file__)\njob.{function} = broken\n"
    )
    torch_of("", "unused.py")
    error = error_of("breaking.Linear(3, 4)", (str(tmp_path),))
    assert isinstance(error, FailedInside)
    assert not error.at_start
    assert "KeyError: 'no such key' (torchrecorder/worker/job.py:" in str(error)


@starts
@pytest.mark.parametrize("which", TORCHES)
def test_a_worker_tells_what_is_wrong_with_torch(which: str, torch_of: Any) -> None:
    torch_of(TORCHES[which])
    kind, words = SAID[which]
    error = error_of()
    assert type(error) is kind
    assert re.search(words, str(error)), str(error)


@starts
@pytest.mark.parametrize("name", ["draw", "capture", "Recorder", "helpers"])
@pytest.mark.parametrize("which", TORCHES)
def test_so_does_the_package(which: str, name: str, torch_of: Any) -> None:
    torch_of(TORCHES[which])
    done = run(f"import torchrecorder; torchrecorder.{name}")
    (said,) = re.findall(r"^ImportError: (.*)$", done.stderr, re.MULTILINE)
    words = r"which this Python does not have; python -m pip" if which == "missing" else r"; \S+ -m pip install"
    assert re.search(words, said), said


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)


@starts
def test_the_doctor_tells_too(torch_of: Any, tmp_path: Path) -> None:
    torch_of(TORCHES["too old"])
    done = subprocess.run(
        [sys.executable, "-m", "torchrecorder", "doctor"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert f"pip install 'torch>={OLDEST_TORCH}'" in done.stdout
    assert "has torch 1.13.1+cu117" in done.stdout


@starts
def test_without_numpy_everything_is_recorded(torch_of: Any) -> None:
    torch_of("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')", "numpy.py")
    assert error_of("torch.nn.TransformerEncoderLayer(3, 1, 8)") is None
    program = "import torchrecorder, torch; print(torchrecorder.draw(torch.nn.Linear(3, 4), shape=(1, 3)).svg[:4])"
    done = run(program)
    assert done.stdout == "<svg\n", done.stderr


BREAKS = """
import importlib.abc, sys

class Breaks(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torchrecorder.recording.ops":
            raise AttributeError("'builtin_function_or_method' object has no attribute '__func__'")

sys.meta_path.insert(0, Breaks())
"""


@starts
def test_a_fault_of_ours_is_not_that_of_torch(torch_of: Any) -> None:
    torch_of(BREAKS, "sitecustomize.py")
    error = error_of()
    assert isinstance(error, FailedInside)
    assert error.at_start
    said = r"torchrecorder failed inside, with torch 2\.\S+: AttributeError: 'builtin_.*' \(torchrecorder/rec\S+:\d+\)"
    assert re.search(said, str(error)), str(error)
    assert "please report it" in str(error)
    assert "import torch" not in str(error)
    done = run("import torchrecorder; torchrecorder.draw")
    assert re.search(said, done.stderr), done.stderr


@starts
def test_a_python_that_ends_at_once(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'no more memory' >&2\nexit 3\n")
    python.chmod(0o755)
    with Worker([], python=str(python)) as worker:
        error = worker.record(RecordingRequest("torch.nn.Linear(3, 4)", "1,3"), timeout_s=60).error
    assert isinstance(error, WorkerNotStarted)
    assert str(error).endswith("ended before it could record: exit status 3")
    assert error.details() == "no more memory"


def test_the_oldest_torch_is_what_the_project_promises() -> None:
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["torch"]
    assert f"torch>={OLDEST_TORCH}" in promised
