"""Side by side with torchfunc itself, where it is installed: `nox -s tests -- -m parity`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.parity import originals
from torchrecorder.torchfunc import hooks
from torchrecorder.torchfunc.hooks import recorders, registrators

pytestmark = pytest.mark.parity

original = originals.original("torchfunc", "torchfunc.hooks")


def mnist() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return torch.equal(mine, theirs)


@pytest.mark.parametrize("name", ["ForwardPre", "ForwardInput", "ForwardOutput"])
@pytest.mark.parametrize("reduction", [None, lambda old, new: old + new])
@pytest.mark.parametrize("walk", ["children", "modules"])
@pytest.mark.parametrize("options", [{}, {"types": (nn.Linear,)}, {"indices": (2, 3)}])
def test_forward_recorders(name: str, reduction: Any, walk: str, options: dict[str, Any], tmp_path: Path) -> None:
    net = mnist()
    if walk == "modules" and options != {"types": (nn.Linear,)} and name != "ForwardPre":
        options = {"indices": (1, 2, 3)}  # the network itself ends last: the original would give it the wrong slot
    both = [getattr(room, name)(reduction=reduction) for room in (recorders, original.recorders)]
    for recorder in both:
        assert getattr(recorder, walk)(net, **options) is recorder
    for _ in range(3):
        net(torch.randn(4, 8))
    mine, theirs = both
    assert same(mine.data, theirs.data)
    assert len(mine) == len(theirs)
    assert list(mine.iter_samples()) == list(theirs.iter_samples())
    for recorder, folder in ((mine, tmp_path / "mine"), (theirs, tmp_path / "theirs")):
        recorder.save(folder, mkdir=True)
    files = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == files
    assert same(mine.remove(0), theirs.remove(0))
    assert str(mine).replace("torchrecorder.", "") == str(theirs)


@pytest.mark.filterwarnings("ignore")  # the original's hooks are deprecated
def test_output_gradients() -> None:
    """The original has the right ones, two layers in a slot: it gives slots in the order of the backward pass."""
    net = mnist()
    mine = recorders.BackwardOutput().children(net)
    theirs = original.recorders.BackwardOutput().children(net)
    net(torch.randn(4, 8)).sum().backward()
    assert same([[mine[place][0] for place in places] for places in ([4, 0], [3, 1], [2])], theirs.data)


@pytest.mark.parametrize("name", ["ForwardPre", "Forward"])
def test_registrators(name: str) -> None:
    calls: list[list[Any]] = []
    for room in (registrators, original.registrators):
        seen: list[Any] = []
        net = copy.deepcopy(mnist())
        registrator = getattr(room, name)(lambda module, *_, seen=seen: seen.append(type(module)))
        registrator.modules(net, types=(nn.Linear,))
        registrator.remove(0)
        net(torch.randn(1, 8))
        calls.append([len(registrator), *seen])
    assert calls[0] == calls[1]


@pytest.mark.parametrize("module", ["recorders", "registrators"])
def test_public_names(module: str) -> None:
    """Every class and each of its public methods, at the same place."""
    mine, theirs = getattr(hooks, module), getattr(original, module)
    for name, cls in vars(theirs).items():
        if isinstance(cls, type) and cls.__module__ == theirs.__name__ and not name.startswith("_"):
            methods = {one for one in dir(cls) if not one.startswith("_")}
            assert methods <= set(dir(getattr(mine, name)))
