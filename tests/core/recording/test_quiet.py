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
