"""What must not vanish from a picture, what is no part of it, and what a note says where something is lost."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net, record
from tests.core.view.seeing import shown
from torchrecorder.view import make_view

X = torch.ones(2, 3)


class OwnDropout(nn.Dropout):
    pass


@pytest.mark.parametrize("layer", [Net(lambda self, x: x), OwnDropout(0.5)], ids=["identity", "dropout"])
def test_a_layer_of_the_users_that_does_nothing_is_drawn(layer: nn.Module) -> None:
    view = make_view(record(Net(lambda self, x: self.layer(self.fc(x)), fc=nn.Linear(3, 3), layer=layer), X))
    assert shown(view) == ["input:args.0", "fc", "layer", "output:"]


def test_a_container_that_a_layer_gives_back_stays_the_callers() -> None:
    def body(self: Any, x: Tensor) -> Any:
        given = {"x": x}
        assert self.same(given) is given
        return given["x"] + 1

    assert [op.name for op in record(Net(body, same=Net(lambda self, given: given)), X).ops] == ["add"]


class TestOwnHooks:
    def hooked(self, hook: Any) -> nn.Module:
        inner = Net(lambda self, x: x + 1)
        inner.register_forward_hook(hook)
        return Net(lambda self, x: self.inner(x) * 2, inner=inner)

    def test_the_call_gives_what_its_hook_made_of_the_result(self) -> None:
        graph = record(self.hooked(lambda module, args, out: torch.relu(out)), X)
        assert [(op.name, graph.calls[op.call].module) for op in graph.ops] == [
            *[("add", "inner"), ("relu", "inner"), ("mul", "")]
        ]
        assert graph.calls[1].outputs == {"": graph.ops[1].outputs[0]}

    def test_a_hook_that_raises_ends_its_call(self) -> None:
        def refuses(module: nn.Module, args: Any, out: Tensor) -> None:
            raise ValueError("no")

        def body(self: Any, x: Tensor) -> Any:
            try:
                self.net(x)
            except ValueError:
                return torch.relu(x)

        graph = record(Net(body, net=self.hooked(refuses)), X)
        assert [(call.module, call.ok) for call in graph.calls] == [("", True), ("net", False), ("net.inner", False)]
        assert graph.calls[graph.ops[-1].call].module == ""

    def test_nothing_is_left_on_the_module(self) -> None:
        model = self.hooked(lambda module, args, out: None)
        (hook,) = model.inner._forward_hooks
        record(model, X)
        assert [*model.inner._forward_hooks] == [hook]
        assert not model.inner._forward_hooks_always_called
        assert not model.inner._forward_hooks_with_kwargs
