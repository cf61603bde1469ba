"""A note names the layers that lead nowhere, and says why if they got nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchrecorder.recording.run import capture
from torchrecorder.view import make_view


class Keypoints(nn.Module):
    """A head for what is found, whose output is read where something was."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.boxes, self.keypoints = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 6)

    def forward(self, x: Tensor, n: int = 0) -> dict[str, Tensor]:
        x = self.body(x).relu()
        boxes, found = self.boxes(x), self.keypoints(x[:n])
        return {"boxes": boxes, "keypoints": torch.stack([one.sigmoid() for one in found]) if n else boxes[:0]}


def notes(**options: int) -> str:
    with torch.no_grad():
        return "; ".join(make_view(capture(Keypoints(), (torch.randn(3, 8),), {**options})).notes)


def test_a_head_that_found_nothing_is_named() -> None:
    assert "nothing reads the output of keypoints, which got a tensor of no elements" in notes()


def test_a_head_that_found_something_is_not() -> None:
    assert "nothing reads" not in notes(n=2)
