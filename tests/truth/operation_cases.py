"""The truth about operations: reads and writes, functions of torch and of the user's; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.cases import OneLayer, numbers

CASES = Cases()
case = CASES.case


# Reads and writes


@case("in:x -> /add -> /add#2 -> out; in:x -> /add#2", numbers(2, 3))
class OutVariant(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x + 1
        return torch.add(x, 1.0, out=y)


@case("in:x -> m:fc -> /data -> /mul -> out", numbers(2, 3))
class DataAccess(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x).data * 2


@case("in:x -> m:fc -> /detach -> /mul -> /add -> out; m:fc -> /add", numbers(2, 3))
class Detached(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return y + y.detach() * 2


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


# Functions


@case("in:x -> /einsum -> out; in:y -> /einsum", numbers(2, 3), numbers(3, 4))
class Einsum(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.einsum("ij,jk->ik", x, y)


@case("in:x -> /split -> out:0; /split -> /mul -> out:1; in:x -> /chunk -> out:2", numbers(4, 3))
class UnusedPieces(nn.Module):
    def forward(self, x: Tensor) -> Any:
        a, b = x.split(2)  # type: ignore[no-untyped-call]
        return a, b * 2, x.chunk(2)[1]


@case("in:x -> /add -> out; /ones -> /mul -> /add; /randn -> /mul", numbers(2, 3))
class MadeInForward(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + torch.ones(2, 3) * torch.randn(3)


@case("in:x -> /rand_like -> /lt -> /where -> out; in:x -> /where; /tensor -> /where", numbers(2, 3))
class RandomMask(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(torch.rand_like(x) < 0.5, x, torch.tensor(0.0))


@case(
    """in:x -> m:fc -> /scaled_dot_product_attention -> out
    in:x -> m:fc#2 -> /scaled_dot_product_attention; in:x -> /scaled_dot_product_attention""",
    numbers(1, 2, 3),
)
class FusedAttention(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.scaled_dot_product_attention(self.fc(x), self.fc(x), x)


@case(
    """in:x -> /view_as_complex -> /mul -> /view_as_real -> /flatten -> out
    /polar -> /mul; /ones -> /polar; /arange -> /polar""",
    numbers(2, 3, 2),
)
class RotaryComplex(nn.Module):
    def forward(self, x: Tensor) -> Any:
        turn = torch.polar(torch.ones(3), torch.arange(3.0))
        return torch.view_as_real(torch.view_as_complex(x) * turn).flatten(1)


@case("in:x -> /pad -> /unfold -> /mean -> out", numbers(1, 2, 4))
class PadUnfold(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return F.pad(x, (1, 1)).unfold(-1, 3, 1).mean(-1)


@case("""in:x -> /pow -> /mean -> /add -> /rsqrt -> /mul -> /mul#2 -> out
    in:x -> /mul; p:w -> /mul#2""", numbers(2, 3))  # fmt: skip
class RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Any:
        return self.w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


@case("in:x -> /neg -> /abs -> /eq -> /all -> out; in:x -> /eq", numbers(2, 3))
class Operators(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return (abs(-x) == x).all()


@case("in:x -> /sub -> /div -> /pow -> /floordiv -> out", numbers(2, 3))
class ReflectedOperators(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return (2 ** (1 / (1 - x))) // 2


@case("in:x -> /to -> /add -> out; in:x -> /add", numbers(2, 3))
class Cast(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.to(torch.float64) + x.to(torch.float32)


@case("in:x -> /reshape -> out:0; in:x -> out:1; in:x -> /permute -> /contiguous -> out:2", numbers(2, 3))
class ViewsOrNot(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.reshape(3, 2), x.contiguous(), x.permute(1, 0).contiguous()


@case("in:x -> m:fc -> out:0; m:fc -> m:drop -> out:1", numbers(2, 3))
class EvalDropout(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return F.dropout(y, 0.5, self.training), self.drop(y)


@case("in:x -> m:fc -> m:a -> m:b -> /add -> out; m:fc -> /add", numbers(2, 3))
class IdentitiesInRow(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return y + self.b(self.a(y))


@case("in:x -> m:act -> /add -> out", numbers(2, 3))
class ActivationInPlace(nn.Module):
    # x itself is overwritten, so its second read is of what the layer wrote.
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        y = self.act(x)
        return x + y


@case("in:x -> m:pool -> m:unpool -> out", numbers(1, 1, 4, 4))
class IndicesBetweenLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> Any:
        return self.unpool(*self.pool(x))


class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, factor: float) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * ctx.factor, None


@case("in:x -> /Scale -> m:fc -> /Scale#2 -> out", numbers(2, 3))
class FunctionWithContext(OneLayer):
    def forward(self, x: Tensor) -> Any:
        scale = Scale.apply
        return scale(self.fc(scale(x, 2.0)), 3.0)  # type: ignore[no-untyped-call]


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


@case("in:x -> /StraightThrough -> /add -> out; in:x -> /add", numbers(2, 3))
class FunctionOfView(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + StraightThrough.apply(x)  # type: ignore[no-untyped-call]


class InPlaceFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * 2


@case("in:x -> m:fc -> /InPlaceFunction -> out:0; /InPlaceFunction -> out:1", numbers(2, 3))
class FunctionInPlace(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return InPlaceFunction.apply(y), y  # type: ignore[no-untyped-call]


class ReturnsArgument(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return -grads[0]


@case("in:x -> /add -> out; in:x -> m:fc -> /ReturnsArgument -> /add", numbers(2, 3), train=True)
class GradientReversal(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return x + ReturnsArgument.apply(self.fc(x))  # type: ignore[no-untyped-call]


@case("in:x -> /mul -> out; in:x -> /sum", numbers(2, 3), needs_numbers=True, leaves=True)
class ScalarLeaves(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * float(x.sum())


@case("in:x -> m:a.fc -> a/relu -> m:b.fc -> b/relu -> out", numbers(2, 3))
class NestedBlocks(nn.Module):
    class Block(OneLayer):
        def forward(self, x: Tensor) -> Any:
            return F.relu(self.fc(x))

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = self.Block(), self.Block()

    def forward(self, x: Tensor) -> Any:
        return self.b(self.a(x))


@case("in:x -> m:blk.fc -> blk/relu -> m:blk.fc#2 -> blk/relu#2 -> out", numbers(2, 3))
class SharedBlock(nn.Module):
    class Block(OneLayer):
        def forward(self, x: Tensor) -> Any:
            return F.relu(self.fc(x))

    def __init__(self) -> None:
        super().__init__()
        self.blk = self.Block()

    def forward(self, x: Tensor) -> Any:
        return self.blk(self.blk(x))


@case("in:x -> m:sub.fc -> sub/add -> /mul -> out", numbers(2, 3))
class OtherMethod(nn.Module):
    # `encode` is not the forward: what it computes belongs to the caller, the layer it calls to itself.
    class Inner(OneLayer):
        def forward(self, x: Tensor) -> Any:
            return self.fc(x) + 1

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def encode(self, x: Tensor) -> Any:
        return self.sub(x) * 2

    def forward(self, x: Tensor) -> Any:
        return self.encode(x)


@case("in:x -> m:rnn -> out:0; m:rnn -> out:1; in:h -> m:rnn", numbers(5, 2, 4), numbers(1, 2, 4))
class RecurrentState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, x: Tensor, h: Tensor) -> Any:
        return self.rnn(x, h)


@case(
    "in:x -> /unbind -> m:cell -> m:cell#2 -> /stack -> out; m:cell -> /stack; /unbind -> m:cell#2",
    numbers(2, 3, 4),
)
class UnrolledCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor) -> Any:
        states, outputs = None, []
        for step in x.unbind():
            states = self.cell(step, states)
            outputs.append(states[0])
        return torch.stack(outputs)


@case("in:x -> m:mix -> out; in:y -> m:mix", numbers(2, 3), numbers(2, 4))
class Bilinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Bilinear(3, 4, 5)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.mix(x, y)


@case("in:xs.0 -> /as_nested_tensor -> m:fc -> /to_padded_tensor -> out; in:xs.1 -> /as_nested_tensor",
      lambda: [torch.randn(2, 3), torch.randn(4, 3)], needs_numbers=True)  # fmt: skip
class Nested(OneLayer):
    def forward(self, xs: list[Tensor]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = torch.nested.as_nested_tensor(xs)
        return self.fc(both).to_padded_tensor(0.0)


@case("in:x -> m:fc -> /norm -> out", numbers(2, 3))
class LinalgNorm(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.linalg.norm(self.fc(x), dim=1)


@case("in:x -> m:rnn -> out", numbers(5, 2, 4))  # fmt: skip
class OnlyResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 4, 2, bidirectional=True)

    def forward(self, x: Tensor) -> Any:
        y, _ = self.rnn(x)
        return y
