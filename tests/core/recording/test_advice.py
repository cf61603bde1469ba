"""Advice that works: what it says to write is written, and the model is there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from torchrecorder.errors import ForwardError, InputError, TargetBuildFailed, TargetNotFound, TorchRecorderError
from torchrecorder.recording.target import load_model
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.job import record

NETS = """
from dataclasses import dataclass

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.fc = nn.Linear(width, 4)
    def forward(self, x):
        return self.fc(x)

class Takes(Net):
    def forward(self, batch: dict):
        return self.fc(batch["x"]) * batch["w"].mean()

class Keyed(Net):
    def forward(self, batch):
        return self.fc(batch["x"])

class Object(Net):
    def forward(self, data):
        return self.fc(data.nodes)

class Two(Net):
    def forward(self, left, right):
        return self.fc(left) + self.fc(right)

class Configured(Net):
    def __init__(self, cfg):
        super().__init__(cfg.model.width)

class Keys(Net):
    def __init__(self, cfg):
        super().__init__(cfg["width"])

@dataclass
class Settings:
    width: int

class Typed(Net):
    def __init__(self, settings: Settings):
        self.settings = settings
        super().__init__(settings.width)

class Loads(Net):
    def __init__(self):
        super().__init__()
        self.load_state_dict(torch.load("weights/best.pt"))

class Reads(Net):
    def __init__(self):
        open("config.yaml")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    (folder / "adv_nets.py").write_text(NETS)
    for package in ("src/adv_here", "members/one/src/adv_member", ".hidden/adv_hidden", "build/adv_built"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(NETS)
    return folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()


def told(request: RecordingRequest, kind: type[TorchRecorderError]) -> str:
    with pytest.raises(kind) as caught:
        record(request, ("*",))
    return caught.value.hint()


def carried_out(advice: str, folder: Path, name: str) -> str:
    """The target or name that the lines of a piece of advice define, written into a module beside."""
    _, *lines = advice.split("\ntried ")[0].splitlines()
    assert len(lines) in (2, 3)
    text = "\n".join(lines).replace("=…", "=8").replace(": …", ": 8").replace("(…)", "(8)")
    (folder / f"{name}.py").write_text(f"from adv_nets import *\nimport torch\n{text}\n")
    importlib.invalidate_caches()
    (defined,) = (line.split()[1].partition("(")[0] for line in lines if line.startswith("def "))
    return f"{name}.{defined}"


@pytest.mark.parametrize("name", ["Takes", "Keyed", "Object"])
@pytest.mark.parametrize("shape", ["", "1,8"])
def test_inputs_that_are_no_tensors_come_from_a_function(name: str, shape: str, folder: Path) -> None:
    kind = ForwardError if shape else InputError
    advice = told(RecordingRequest(f"adv_nets.{name}", shape=shape), kind)
    assert advice.splitlines()[0].endswith(
        "is not one tensor: write a function that gives it, and name it with `inputs`, as in `inputs: adv_nets.example`"
    )
    assert "int64" not in advice.split("\ntried ")[0]
    inputs = carried_out(advice, folder, f"adv_inputs_{name}_{len(shape)}")
    assert record(RecordingRequest(f"adv_nets.{name}", inputs=inputs), ("*",)).outputs


@pytest.mark.parametrize("name", ["Configured", "Typed"])
def test_a_config_object_comes_from_a_function(name: str, folder: Path) -> None:
    advice = told(RecordingRequest(f"adv_nets.{name}"), TargetBuildFailed)
    assert f"write a function of three lines, and draw adv_nets.make_{name.lower()}" in advice
    assert "cfg=…" not in advice
    target = carried_out(advice, folder, f"adv_made_{name}")
    assert record(RecordingRequest(target, shape="1,8"), ("*",)).outputs


def test_a_config_that_is_a_dictionary_is_a_literal() -> None:
    advice = told(RecordingRequest("adv_nets.Keys"), TargetBuildFailed)
    target = 'adv_nets.Keys(cfg={"width": …})'
    assert advice == f"give the arguments in the target, as in {target}"
    assert record(RecordingRequest(target.replace("…", "8"), shape="1,8"), ("*",)).outputs


def test_a_literal_where_an_object_is_read() -> None:
    advice = told(RecordingRequest("adv_nets.Configured(cfg={'width': 3})"), TargetBuildFailed)
    assert "return Configured(cfg=SimpleNamespace(model=SimpleNamespace(width=…)))" in advice


def test_a_missing_input_is_named() -> None:
    advice = told(RecordingRequest("adv_nets.Two", shape="1,8"), ForwardError)
    assert advice == "the forward takes left and right: write `shape: left=1,8; right=…`"
    assert record(RecordingRequest("adv_nets.Two", shape="left=1,8; right=1,8"), ("*",)).outputs


def test_a_batch_that_is_no_help_is_not_named() -> None:
    assert told(RecordingRequest("adv_nets.Net", shape="1,7"), ForwardError) == ""


def test_weights_that_are_not_there_are_not_needed() -> None:
    advice = told(RecordingRequest("adv_nets.Loads"), TargetBuildFailed)
    assert advice == "a picture needs no weights: name a function that builds the model without them"
    assert told(RecordingRequest("adv_nets.Reads"), TargetBuildFailed) == ""


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("adv_net.Net", "did you mean adv_nets.Net?"),
        ("adv_net.Nothing", "did you mean adv_nets?"),
        ("adv_nets.py", "write one of its classes: adv_nets.Net, adv_nets.Takes, adv_nets.Keyed, adv_nets.Object and"),
        ("adv_here.Net", "src holds it, and is not on the Python path: name that folder in the setting `path`"),
        ("adv_member.Net", "members/one/src holds it, and is not on the Python path"),
        ("adv_hidden.Net", "is it installed where models are recorded"),
        ("adv_built.Net", "is it installed where models are recorded"),
    ],
)
def test_what_a_wrong_name_may_mean(target: str, hint: str) -> None:
    with pytest.raises(TargetNotFound) as caught:
        load_model(target, seed=0)
    assert caught.value.hint().startswith(hint)
    assert "adv_here" not in sys.modules
