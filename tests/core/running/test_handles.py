"""Hooks that are always taken off again."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from torchrecorder.running.handles import Handles


def hooks_on(net: nn.Module) -> int:
    return len(net._forward_hooks) + len(net._forward_pre_hooks)


def put_on(net: nn.Module, handles: Handles) -> None:
    handles.add(net.register_forward_hook(lambda *_: None), net.register_forward_pre_hook(lambda *_: None))


def fail_with_hooks(net: nn.Module) -> None:
    with Handles() as handles:
        put_on(net, handles)
        raise ZeroDivisionError


def test_removes_at_the_end_and_after_an_exception() -> None:
    net = nn.Linear(1, 1)
    with Handles() as handles:
        put_on(net, handles)
        net(torch.ones(1))
        assert hooks_on(net) == 2
    assert hooks_on(net) == 0
    with pytest.raises(ZeroDivisionError):
        fail_with_hooks(net)
    assert hooks_on(net) == 0


def test_removing_twice_does_no_harm_and_leaves_others_alone() -> None:
    net = nn.Linear(1, 1)
    net.register_forward_hook(lambda *_: None)
    handles = Handles()
    put_on(net, handles)
    handles.remove()
    handles.remove()
    assert hooks_on(net) == 1
