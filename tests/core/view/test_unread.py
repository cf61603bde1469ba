"""A note names the layers that lead nowhere, and says why if they got nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.core.view.seeing import edges
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
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


def test_a_call_that_raised_and_was_caught_is_in_a_note_and_not_drawn() -> None:
    class Asking(nn.Module):
        """Offers lengths to each layer, and leaves them out for those that do not take any."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                try:
                    x = layer(x, lengths=None)
                except TypeError:
                    x = layer(x).relu()
            return x

    view = make_view(capture(Asking(), (torch.randn(3, 8),)))
    (layers,) = (node for node in view.nodes if node.kind == "call")
    assert layers.repeat == 5
    caught = "raised before any operation, which the model caught: layers.0, layers.1, layers.2 and 2 more"
    assert caught in view.notes


class Warp(nn.Module):
    """Keeps the grid that it made for the first image."""

    def __init__(self, kept: list[Tensor]) -> None:
        super().__init__()
        self.conv, self.kept = nn.Linear(4, 4), kept

    def forward(self, x: Tensor) -> Tensor:
        if not self.kept:
            self.kept.append(torch.linspace(-1, 1, 4).view(1, 4))
        found: Tensor = self.conv(x) + self.kept[0]
        return found


class Warps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        kept: list[Tensor] = []
        self.left, self.right = Warp(kept), Warp(kept)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.left(x) * self.right(y)  # type: ignore[no-any-return]


def test_a_constant_that_a_layer_kept_for_another_is_no_line() -> None:
    view = make_view(capture(Warps().eval(), (torch.ones(2, 4), torch.ones(2, 4))), DrawingOptions(depth=1))
    assert edges(view) == ["input:x > left", "input:y > right", "left > mul", "right > mul", "mul > output:"]
