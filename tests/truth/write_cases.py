"""The truth about writes: in place, through views, into buffers and results; see `case`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, numbers

CASES = Cases()
case = CASES.case


@case("in:x -> m:conv -> /relu_ -> /add -> out; in:x -> /add", numbers(1, 2, 4, 4))
class ReluInPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Any:
        y = self.conv(x)
        torch.relu_(y)
        return y + x


@case("in:x -> /clone -> /getitem -> /add_ -> /setitem -> /sum -> out", numbers(2, 3))
class SetItem(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        y[:, 0] += 1
        return y.sum()


@case(
    "in:x -> /clone -> /view -> /cos -> out; /clone -> /add_ -> /cos",
    numbers(2, 3),
)
class WriteUnderView(nn.Module):
    # The view was taken before its base was written: cos reads what add_ wrote, arranged by the view.
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        v = y.view(-1)
        y.add_(1)
        return torch.cos(v)


@case("/empty -> /copy_ -> /mul -> out; in:x -> m:fc -> /copy_", numbers(2, 3))
class CopyInto(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        room = torch.empty(2, 3)
        room.copy_(self.fc(x))
        return room * 2


@case("in:x -> /add -> out; in:x -> /mul -> /add; /empty_like -> /add; in:x -> /empty_like", numbers(2, 3))
class OutArgument(nn.Module):
    def forward(self, x: Tensor) -> Any:
        room = torch.empty_like(x)
        torch.add(x, x * 2, out=room)
        return room


@case("in:x -> /clone -> /setitem -> out; in:x -> /lt -> /setitem; in:x -> /clone", numbers(2, 3))
class MaskedSetItem(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        y[x < 0] = 0.0
        return y


@case("in:x -> /clone -> /getitem -> /mul_ -> out", numbers(2, 3))
class WriteThroughView(nn.Module):
    # The base is read after a view of it was written.
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        y[0].mul_(2)
        return y


@case(
    "/zeros -> /scatter_add_ -> out; in:ids -> /scatter_add_; in:x -> /scatter_add_",
    numbers(1, 3),
    lambda: torch.tensor([[0, 1, 1]]),
)
class Scatter(nn.Module):
    def forward(self, x: Tensor, ids: Tensor) -> Any:
        return torch.zeros(1, 2).scatter_add_(1, ids, x)


@case("in:x -> /detach -> /mul_ -> /add -> out; in:x -> /detach", numbers(2, 3))
class DetachShares(nn.Module):
    # A detached tensor shares memory: reading x afterwards reads what was written.
    def forward(self, x: Tensor) -> Any:
        d = x.detach()
        d.mul_(2)
        return x + 1


@case(
    "in:x -> /clone -> /index_put_ -> out; in:ids -> /index_put_; in:y -> /index_put_",
    numbers(3),
    lambda: torch.tensor([0, 2]),
    numbers(2),
)
class IndexPut(nn.Module):
    def forward(self, x: Tensor, ids: Tensor, y: Tensor) -> Any:
        return x.clone().index_put_((ids,), y)


@case("in:x -> /add -> /add#2 -> out; in:x -> /add#2", numbers(2, 3))
class OutVariant(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x + 1
        return torch.add(x, 1.0, out=y)


@case("in:x -> /clone -> /unbind -> /mul_ -> /stack -> out; /clone -> /unbind; /unbind -> /stack", numbers(2, 3))
class WriteToPiece(nn.Module):
    # The second piece shares memory with the first, which is written: rule 3.
    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            a, b = x.clone().unbind()
            a.mul_(2)
        return torch.stack([a, b])


@case("in:x -> /clone -> /fill_diagonal_ -> /add_ -> out; in:x -> /add_", numbers(3, 3))
class ChainInPlace(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        y.fill_diagonal_(0).add_(x)
        return y


@case(
    "in:x -> m:fc -> /masked_fill -> /softmax -> out; in:mask -> /masked_fill",
    numbers(2, 3),
    lambda: torch.ones(2, 3).bool(),
)
class MaskedFill(OneLayer):
    def forward(self, x: Tensor, mask: Tensor) -> Any:
        return self.fc(x).masked_fill(mask, -1e9).softmax(-1)


@case(
    "in:x -> /new_zeros -> /index_add_ -> out; in:x -> /index_add_; in:ids -> /index_add_",
    numbers(2, 3),
    lambda: torch.tensor([0, 0]),
)
class IndexAdd(nn.Module):
    def forward(self, x: Tensor, ids: Tensor) -> Any:
        return x.new_zeros(2, 3).index_add_(0, ids, x)


@case(
    """in:x -> /clone -> /getitem -> /sub_ -> /setitem -> out
    in:ids -> /getitem; in:ids -> /setitem; /clone -> /setitem""",
    numbers(4, 3),
    lambda: torch.tensor([0, 2]),
)
class AdvancedInPlace(nn.Module):
    # y[ids] is a copy: what is written comes back through setitem.
    def forward(self, x: Tensor, ids: Tensor) -> Any:
        y = x.clone()
        y[ids] -= 1
        return y


@case("in:x -> m:norm -> out", numbers(4, 3), train=True)
class BatchNormTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Any:
        return self.norm(x)


@case("b:steps -> /add_; in:x -> /add -> out; /add_ -> /add", numbers(2, 3))
class BufferCounted(nn.Module):
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        self.steps += 1
        return x + self.steps


@case("b:mean -> /mul -> /add -> /mul#3 -> out; in:x -> /mean -> /mul#2 -> /add; in:x -> /mul#3", numbers(2, 3))
class BufferReplaced(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        self.mean = self.mean * 0.9 + x.mean() * 0.1
        return x * self.mean


@case("p:w -> /copy_ -> /mul -> out; in:x -> /mul; /zeros -> /copy_", numbers(3))
class ParameterWritten(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.w.copy_(torch.zeros(3))
        return x * self.w


@case("in:x -> m:act -> /add -> out", numbers(2, 3))
class ActivationInPlace(nn.Module):
    # x itself is overwritten, so its second read is of what the layer wrote.
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        y = self.act(x)
        return x + y


@case("in:x -> m:fc -> /setitem -> /mul -> out; /zeros -> /setitem", numbers(2, 3))  # fmt: skip
class FilledRoom(OneLayer):
    def forward(self, x: Tensor) -> Any:
        room = torch.zeros(4, 3)
        room[:2] = self.fc(x)
        return room * 2


@case("in:x -> m:fc -> m:fc#2 -> /cat -> out; m:fc -> /cat; in:x -> /cat", numbers(2, 3))
class GrowingList(OneLayer):
    def forward(self, x: Tensor) -> Any:
        features = [x]
        for _ in range(2):
            features.append(self.fc(features[-1]))
        return torch.cat(features, 1)


@case("in:x -> m:fc -> /add -> out; in:x -> /add", numbers(2, 3))
class AddedInPlaceAfterwards(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return torch.add(x, y, alpha=2)


@case("in:x -> m:fc -> /add_ -> out; in:x -> /add_", numbers(2, 3))
class ResidualInPlace(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        y += x
        return y


@case("in:x -> /clone -> /getitem -> /zero_ -> m:fc -> out", numbers(4, 3))
class ZeroedRow(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = x.clone()
        y[0].zero_()
        return self.fc(y)


@case("in:x -> /add_ -> out:0; in:x -> m:fc -> out:1", numbers(2, 3))
class ReadBeforeWrite(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        x.add_(1)
        return x, y
