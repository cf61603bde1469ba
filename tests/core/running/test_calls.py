"""The log of module calls, and the global hooks that fill it."""

from __future__ import annotations

import threading
import warnings

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from torchrecorder.running.handles import CallLog, ModuleCall, logged_calls


class Caller(nn.Module):
    """Calls a layer that fails, goes on, and calls itself."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = nn.Sequential(nn.Linear(9, 9))
        self.good = nn.Linear(3, 3)

    def forward(self, x: Tensor, again: bool = True) -> Tensor:
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            self.failing(x)
        out: Tensor = self(x, again=False) if again else self.good(x)
        return out


def test_calls_lie_in_calls_also_after_an_exception() -> None:
    net = Caller()
    with logged_calls() as log:
        net(torch.rand(1, 3))
    names = [type(call.module).__name__ for call in log.entries]
    assert names == ["Caller", "Sequential", "Linear"] * 2 + ["Linear"]
    assert [call.parent for call in log.entries] == [None, 0, 1, 0, 3, 4, 3]
    assert log.reentered() == {net}
    assert log.current is None


def test_other_threads_are_not_logged_and_nothing_is_left() -> None:
    net = nn.Linear(3, 3)
    with logged_calls() as log:
        thread = threading.Thread(target=lambda: net(torch.rand(1, 3)))
        thread.start()
        thread.join()
    assert not log.entries
    assert not torch_module._has_any_global_hook()  # type: ignore[no-untyped-call]
    assert not net._forward_hooks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.compile(net, backend="eager")(torch.rand(1, 3))


def test_calls_that_never_ended_are_given_up() -> None:
    log = CallLog(ModuleCall)
    outer, inner = log.enter("outer"), log.enter("inner")
    assert (log.current, inner.parent) == (inner, outer.id)
    assert log.running("unknown") is None
    assert log.running("outer") is log.current is outer
    log.leave()
    assert log.current is None
