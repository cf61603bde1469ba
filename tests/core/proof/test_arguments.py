"""The settings that an op says are its own, and others are not proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.core.proof.test_layout import paper
from tests.core.proof.test_words import written
from torchrecorder.proof.layout import faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view

OPS: dict[str, tuple[Callable[[Tensor], Tensor], str, str]] = {
    "max_pool2d 2×2": (lambda x: functional.max_pool2d(x, 2), "2×2", "3×3"),
    "max_pool2d 3×3 /2": (lambda x: functional.max_pool2d(x, 3, 2), "/2", "/3"),
    "avg_pool2d 3×2": (lambda x: functional.avg_pool2d(x, (3, 2)), "3×2", "2×3"),
    "adaptive_avg_pool2d → 1×1": (lambda x: functional.adaptive_avg_pool2d(x, 1), "1×1", "1×2"),
    "pad 1, 0": (lambda x: functional.pad(x, (1, 0)), "1, 0", "0, 1"),
    "pad 0, 6 at axes −3, −2": (lambda x: functional.pad(x, (0, 0, 0, 6, 0, 6)), "−3, −2", "−3, −1"),
    "pad 1, 2 · 3, 4 at axis −2": (lambda x: functional.pad(x, (1, 2, 3, 4)), "−2", "−3"),
    "pad 1, 1 at axes −2, −1 · reflect": (lambda x: functional.pad(x, (1,) * 4, mode="reflect"), "1, 1", "1, 2"),
    "clamp −5, 256": (lambda x: x.clamp(-5, 256), "256", "255"),
    "clamp min=2": (lambda x: x.clamp(min=2), "=2", "=3"),
    "repeat_interleave dim 1 by 3": (lambda x: x.repeat_interleave(repeats=3, dim=1), "dim 1", "dim 2"),
    "flip dim 1": (lambda x: x.flip(1), "dim 1", "dim 2"),
    "cumsum dim 1": (lambda x: x.cumsum(1), "dim 1", "dim 2"),
    "cumsum": (lambda x: x.cumsum(-1), "cumsum", "cumsum dim 1"),
}


@pytest.mark.parametrize("said", OPS)
def test_the_settings_of_an_op_are_its_arguments(said: str) -> None:
    function, true, lie = OPS[said]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 4, 1), nn.ReLU()

        def forward(self, x: Tensor) -> Any:
            return self.last(function(self.first(x)))

    view = make_view(capture(Net().eval(), (torch.ones(2, 3, 8, 8),)), DrawingOptions())
    layout = paper(view)
    assert said in {" ".join(word.text.removeprefix("· ") for word in figure.words) for figure in layout.nodes}
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, true, lie))
    assert "says a" in wrong
