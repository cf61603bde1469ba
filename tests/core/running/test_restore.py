"""A network that a recorder has run is as it was: so are its buffers' versions, which older losses rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from torchrecorder.running.restore import restored
from torchrecorder.scio.recorder import Recorder
from torchrecorder.torchview import draw_graph


def label(net: nn.Module) -> None:
    pytest.importorskip("torchinfo")
    Recorder(net, input_size=(3, 4))


def trace(net: nn.Module) -> None:
    draw_graph(net, input_size=(3, 4), device="cpu", mode="train")


def record(net: nn.Module) -> None:
    torchrecorder.record(net, "net", (3, 4))


RUNS = [label, trace, record]


class Masked(nn.Module):
    """Has a buffer that is given."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Any:
        return self.linear(x) * self.mask


def made_for_inference() -> Tensor:
    with torch.inference_mode():
        return torch.ones(3, 4)


@pytest.mark.parametrize("run", RUNS)
def test_an_older_loss_can_still_be_differentiated(run: Callable[[nn.Module], None]) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    for training in (False, True):
        net.train(training)
        loss = net(torch.rand(3, 4)).sum()
        run(net)
        loss.backward()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(4).expand(3, 4),
        lambda: torch.tensor([1.0, float("nan"), 1.0, 1.0]).expand(3, 4),
        made_for_inference,
    ],
    ids=["expanded", "with NaN", "made in inference mode"],
)
def test_buffers_that_cannot_be_written_to(make: Callable[[], Tensor], run: Callable[[nn.Module], None]) -> None:
    mask = make()
    net = Masked(mask)
    run(net)
    assert net.mask is mask


@pytest.mark.parametrize("run", [trace, record])
def test_in_inference_mode(run: Callable[[nn.Module], None]) -> None:
    net = nn.BatchNorm1d(4)
    with torch.inference_mode():
        run(net)
    assert net.num_batches_tracked == 0


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_buffers_of_script_modules() -> None:
    norm: Any = torch.jit.script(nn.BatchNorm1d(4))
    net, mean = nn.Sequential(nn.Linear(4, 4), norm), norm.running_mean
    with restored(net, mode="train"):
        net(torch.rand(3, 4))
        assert norm.running_mean.abs().sum() > 0
    assert norm.running_mean.data_ptr() == mean.data_ptr()
    assert mean.tolist() == [0.0] * 4


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_script_modules_on_another_device() -> None:
    norm: Any = torch.jit.script(nn.BatchNorm1d(4))
    kept = [*norm.named_parameters(), *norm.named_buffers()]
    with restored(nn.Sequential(nn.Linear(4, 4), norm), mode="eval", device="meta"):
        assert {tensor.device.type for tensor in (*norm.parameters(), *norm.buffers())} == {"meta"}
        assert norm(torch.rand(3, 4, device="meta")).device.type == "meta"
    after = [*norm.named_parameters(), *norm.named_buffers()]
    assert all(old.data_ptr() == new.data_ptr() for (_, old), (_, new) in zip(kept, after, strict=True))
    assert norm.training


@pytest.mark.filterwarnings("ignore:`torch.jit.(script|freeze)` is deprecated")
def test_a_frozen_script_module_has_no_mode() -> None:
    frozen: Any = torch.jit.freeze(torch.jit.script(nn.Linear(4, 4).eval()))
    with restored(nn.Sequential(frozen), mode="train", device="cpu"):
        frozen(torch.rand(3, 4))
    assert not hasattr(frozen, "training")


def fail(net: nn.Sequential) -> None:
    with restored(net, mode="eval", device="meta"):
        assert {tensor.device.type for tensor in (*net.parameters(), *net.buffers())} == {"meta"}
        assert net[0].weight is net[2].weight
        assert not net.training
        net[0].weight.requires_grad_(False)
        raise ZeroDivisionError


def test_device_mode_and_ties() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
    net[2].weight = net[0].weight
    net[1].eval()
    before = [*net.named_parameters(), *net.named_buffers()]
    with pytest.raises(ZeroDivisionError):
        fail(net)
    after = [*net.named_parameters(), *net.named_buffers()]
    assert all(old is new for (_, old), (_, new) in zip(before, after, strict=True))
    assert [module.training for module in net] == [True, False, True]
    assert net[0].weight.requires_grad
