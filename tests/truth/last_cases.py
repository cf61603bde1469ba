"""The last of the truth: faces of torch that few models show; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.cases import ActiveLayer, OneLayer, numbers

CASES = Cases()
case = CASES.case


@case("in:inputs.0 -> m:module -> out", numbers(2, 3))
class ParallelModel(nn.DataParallel[nn.Linear]):
    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 3))


@case("in:x -> m:sub.fc -> /add -> out; in:x -> sub/mul -> /add", numbers(2, 3))
class TuplePassed(nn.Module):
    class Inner(OneLayer):
        def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
            x, y = pair
            return self.fc(x), y * 2

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, x: Tensor) -> Any:
        a, b = self.sub((x, x))
        return a + b


@case("in:pair.0 -> out:0; in:pair.1 -> m:sub.fc -> out:1", lambda: (torch.ones(2, 3), torch.ones(2, 3)))
class HalfOfTuplePassed(nn.Module):
    class Inner(OneLayer):
        def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
            return pair[0], self.fc(pair[1])

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
        return self.sub(pair)


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 4, 3))
class CompiledPartOfModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.fast = [torch.compile(self.net, backend="eager")]

    def forward(self, x: Tensor) -> Any:
        compiled: Any = self.fast[0]
        return compiled._orig_mod(x)


@case(
    "in:i -> /sparse_coo_tensor -> /mm -> out; in:v -> /sparse_coo_tensor; in:x -> m:fc -> /mm",
    lambda: torch.tensor([[0, 1], [1, 0]]),
    numbers(2),
    numbers(2, 3),
    needs_numbers=True,
)
class SparseBuilt(OneLayer):
    def forward(self, i: Tensor, v: Tensor, x: Tensor) -> Any:
        return torch.sparse.mm(torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True), self.fc(x))


@case("in:x -> m:fc -> /to_sparse -> /to_dense -> out", numbers(2, 3), needs_numbers=True)
class SparseAndBack(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x).to_sparse().to_dense()


@case(
    """in:x -> /view_as_complex -> /abs -> out:0; /view_as_complex -> /real -> out:1
    /view_as_complex -> /conj -> /angle -> out:2""",
    numbers(3, 2),
)
class ComplexParts(nn.Module):
    def forward(self, x: Tensor) -> Any:
        z = torch.view_as_complex(x)
        return z.abs(), z.real, z.conj().angle()


@case("in:x -> m:fc -> /detach -> /mul -> out", numbers(2, 3))
class DetachedAndWatched(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x).detach() * 2


@case("in:x -> /T -> /matmul -> out; in:x -> /matmul", numbers(2, 3))
class TransposeProperty(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.T @ x


@case("in:x -> /getitem -> /add -> out; in:x -> /getitem#2 -> /add", numbers(4, 3))
class Halves(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x[::2] + x[1::2]


@case("in:x -> /getitem -> m:fc -> out; in:i -> /getitem", numbers(4, 3), lambda: torch.tensor([0, 2]))
class Gathered(OneLayer):
    def forward(self, x: Tensor, i: Tensor) -> Any:
        return self.fc(x[i])


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


@case("in:x -> m:a -> m:act -> /add -> out; in:x -> /add", numbers(2, 3))
class ActivationForEffect(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.act = nn.Linear(3, 3), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        y = self.a(x)
        self.act(y)
        return y + x


@case("in:x -> m:attn -> out; in:y -> m:attn", numbers(2, 4, 8), numbers(2, 5, 8))
class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.attn(x, y, y, need_weights=False)[0]


@case("in:x -> m:attn -> out; /triu -> m:attn; /full -> /triu", numbers(2, 4, 8), needs_numbers=True)
class MaskedAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(4)
        return self.attn(x, x, x, attn_mask=mask, need_weights=False)[0]


@case("in:x -> m:up -> m:shuffle -> m:flat -> out", numbers(1, 4, 2, 2))
class Reshapers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.shuffle, self.flat = nn.Upsample(scale_factor=2), nn.PixelShuffle(2), nn.Flatten()

    def forward(self, x: Tensor) -> Any:
        return self.flat(self.shuffle(self.up(x)))


@case("in:x -> m:flat -> /add -> out; in:x -> /add", numbers(2, 3))
class FlattenOfFlat(nn.Module):
    # The layer gives its argument back.
    def __init__(self) -> None:
        super().__init__()
        self.flat = nn.Flatten()

    def forward(self, x: Tensor) -> Any:
        return self.flat(x) + x


@case("in:x -> m:fc -> /relu -> out; in:x -> /mean", numbers(2, 3))
class StatisticsKept(OneLayer):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        self.mean = x.mean()
        return F.relu(self.fc(x))


@case("in:x -> m:a -> out", numbers(2, 3), lone=("m:b",))
class FailsAndGoesOn(nn.Module):
    # The call that failed is seen, though it gave nothing.
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        try:
            return self.b(x)
        except RuntimeError:
            return self.a(x)


@case(
    """in:x -> m:experts.0 -> /mul -> /add -> out; in:x -> m:gate -> /softmax -> /unbind -> /getitem -> /mul
    in:x -> m:experts.1 -> /mul#2 -> /add; /unbind -> /getitem#2 -> /mul#2""",
    numbers(2, 3),
)
class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Tensor) -> Any:
        a, b = self.gate(x).softmax(-1).unbind(1)
        return self.experts[0](x) * a[:, None] + self.experts[1](x) * b[:, None]


@case("in:x -> m:net -> out", numbers(2, 3), needs_numbers=True)
class TracedSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            self.net = torch.jit.trace(net, torch.ones(2, 3))  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:net.a -> net/relu -> out", numbers(2, 3))
class SymbolicallyTraced(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            return self.a(x).relu()

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.fx.symbolic_trace(self.Inner())

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:fc -> /add -> out; in:x -> m:fc#2 -> /add", numbers(2, 3))
class CalledInLambda(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x) + (lambda: self.fc(x))()


@case("in:x -> /mul -> /sum -> /grad -> out; in:x -> /grad", numbers(3), needs_numbers=True)
class GradientInForward(nn.Module):
    def forward(self, x: Tensor) -> Any:
        with torch.inference_mode(False), torch.enable_grad():
            x = x.clone() if x.is_inference() else x
            x.requires_grad_()
            return torch.autograd.grad((x * x).sum(), x)[0]
