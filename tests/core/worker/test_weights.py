"""Constructors that want weights from the network get none, at once, and their picture says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torchrecorder.errors import TargetBuildFailed
from torchrecorder.graph import from_json
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

NETS = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("the network was used")
socket.getaddrinfo = refuse

import torch
import torch.utils.model_zoo
from enum import Enum
from torch import nn
from torch.hub import load_state_dict_from_url

URL = "https://example.com/models/net-12ab.pth"

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.BatchNorm1d(3)

    def forward(self, x):
        return self.b(self.a(x))

class Imported(Net):
    def __init__(self, pretrained=True):
        super().__init__()
        if pretrained:
            self.load_state_dict(load_state_dict_from_url(URL, progress=False))

class Inner(Net):
    def __init__(self):
        super().__init__()
        state = torch.hub.load_state_dict_from_url(URL, map_location="cpu")["state_dict"]
        state.pop("head.weight")
        del state["head.bias"]
        assert "head.weight" not in state
        self.load_state_dict({key.removeprefix("module."): value for key, value in state.items()})

class Parts(Net):
    def __init__(self):
        super().__init__()
        state = torch.utils.model_zoo.load_url(URL)
        self.load_state_dict({"a.weight": state["encoder.a.weight"], "a.bias": state["encoder.a.bias"]})

class Written(Net):
    def __init__(self):
        super().__init__()
        torch.hub.download_url_to_file(URL, "/nowhere/net.pth", progress=False)
        self.load_state_dict(torch.load("/nowhere/net.pth", weights_only=True), strict=True)

class ByAddress(Net):
    def __init__(self):
        super().__init__()
        self.load_state_dict(torch.load(URL))

class Own(Net):
    def __init__(self):
        super().__init__()
        state = {**Net().state_dict(), "a.bias": torch.zeros(3)}
        self.load_state_dict(state)
        try:
            self.load_state_dict({"wrong": torch.zeros(3)})
        except RuntimeError:
            return
        raise AssertionError("a wrong one was taken")

class Weights(Enum):
    BEST = 1

class Insists(Net):
    def __init__(self, width=3, weights=Weights.BEST, init_weights=True, encoder_weights="imagenet"):
        super().__init__()
        if weights is not None:
            weight = load_state_dict_from_url(URL)["a.weight"]
            self.a.weight.data[:] = weight[:3] * 2

class Asks(Net):
    def __init__(self, pretrained=True):
        super().__init__()
        if pretrained:
            raise ConnectionRefusedError("connection refused")

class Stubborn(Net):
    def __init__(self):
        super().__init__()
        raise ConnectionRefusedError("connection refused")
"""
HUB = """
def hf_hub_download(repo_id, filename, *, local_files_only=False):
    if not local_files_only:
        if filename == "config.json":
            return __file__
        raise AssertionError("the network was used")
    raise FileNotFoundError(filename)
"""
SAFE = """
def load_file(filename, device="cpu"):
    raise AssertionError("there is nothing to read")
"""
HUB_NET = """
from torch import nn
from huggingface_hub.file_download import hf_hub_download
from safetensors.torch import load_file

class Net(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        assert hf_hub_download("team/net", "config.json").endswith("file_download.py")
        self.load_state_dict(load_file(hf_hub_download("team/net", "model.safetensors"), device="cpu"))
"""

OWN_LOADER = """
def load_state_dict_from_url(url, **kwargs):
    raise AssertionError("the network was used")
"""
OWN_NET = """
from torch import nn
from kornia.core.download import load_state_dict_from_url

class Net(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        self.load_state_dict(load_state_dict_from_url(["https://example.com/a.pth", "https://example.com/b.pth"]))
"""
ENCODERS = """
from huggingface_hub.file_download import hf_hub_download
"""
UNET = """
from torch import nn
from segmentation_models_pytorch import encoders

class Unet(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        encoders.hf_hub_download("team/resnet34", filename="config.json")
        encoders.hf_hub_download("team/resnet34", filename="model.safetensors")
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("weights")
    files = {
        "wgt_nets.py": NETS,
        "wgt_hub.py": HUB_NET,
        "huggingface_hub/__init__.py": "",
        "huggingface_hub/file_download.py": HUB,
        "safetensors/__init__.py": "",
        "kornia/__init__.py": "",
        "kornia/core/__init__.py": "",
        "kornia/core/download.py": OWN_LOADER,
        "wgt_own.py": OWN_NET,
        "segmentation_models_pytorch/__init__.py": "",
        "segmentation_models_pytorch/encoders.py": ENCODERS,
        "wgt_unet.py": UNET,
        "safetensors/torch.py": SAFE,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with Worker([str(folder)]) as worker:
        yield worker


def ask(worker: Worker, target: str) -> Answer:
    return worker.record(RecordingRequest(target, "2,3"), timeout_s=60)


def notes(answer: Answer) -> str:
    assert answer.error is None, answer.error.details()
    assert answer.graph is not None
    return "\n".join(from_json(answer.graph).info.notes)


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "in a layer"])
@pytest.mark.parametrize("name", ["Imported", "Inner", "Parts", "Written", "ByAddress"])
def test_the_random_weights_stay_and_a_note_says_so(worker: Worker, name: str, is_shared: bool) -> None:
    requests = [RecordingRequest(f"wgt_nets.{other}") for other in ("Net", name)]
    worker.expect(requests if is_shared else [])
    answer = ask(worker, f"wgt_nets.{name}")
    text = "pretrained weights were not fetched, and random ones are in their place: net-12ab.pth"
    assert notes(answer) == text
    assert answer.trace is not None
    assert not answer.trace.has_connected


def test_what_asks_for_none_has_no_note(worker: Worker) -> None:
    worker.expect([])
    assert notes(ask(worker, "wgt_nets.Imported(pretrained=False)")) == ""
    assert notes(ask(worker, "wgt_nets.Own")) == "", "weights of its own are loaded as ever"


def test_files_of_a_hub(worker: Worker) -> None:
    worker.expect([])
    assert "random ones are in their place: model.safetensors" in notes(ask(worker, "wgt_hub.Net"))


@pytest.mark.parametrize(
    ("target", "file"),
    [("wgt_own.Net", "a.pth"), ("wgt_unet.Unet", "model.safetensors")],
    ids=["kornia's HardNet", "Unet of segmentation_models_pytorch"],
)
def test_a_library_with_a_loader_of_its_own(worker: Worker, target: str, file: str) -> None:
    worker.expect([])
    assert f"random ones are in their place: {file}" in notes(ask(worker, target))


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("wgt_nets.Insists(4)", "write wgt_nets.Insists(4, weights=None, encoder_weights=None)"),
        ("wgt_nets.Insists(encoder_weights=None)", "write wgt_nets.Insists(encoder_weights=None, weights=None)"),
        ("wgt_nets.Asks(pretrained=True)", "write wgt_nets.Asks(pretrained=False)"),
        ("wgt_nets.Stubborn", "build the model without them"),
    ],
)
def test_what_cannot_do_without_is_told_how_to(worker: Worker, target: str, written: str) -> None:
    worker.expect([])
    error = ask(worker, target).error
    assert isinstance(error, TargetBuildFailed)
    assert error.hint() == f"pretrained weights are not fetched for a picture: {written}"


def test_what_asks_by_default_is_built_without(worker: Worker) -> None:
    worker.expect([])
    assert "pretrained=False" in notes(ask(worker, "wgt_nets.Asks"))


def test_no_other_process_is_changed() -> None:
    import torch

    from torchrecorder.recording.machine import weights

    assert torch.hub.load_state_dict_from_url.__code__.co_filename != weights.__file__
