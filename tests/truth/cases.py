"""The truth: small models, each with the graph that a careful reader of its code would draw; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.truth.case import Cases

CASES = Cases()
case = CASES.case


def numbers(*shape: int) -> Any:
    return lambda: torch.randn(*shape)


def ids() -> Tensor:
    return torch.tensor([[1, 2, 3]])


class OneLayer(nn.Module):
    """A model with one layer, `fc`."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)


class ActiveLayer(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.relu(self.fc(x))


# Basics


@case("in:x -> m:f.0 -> m:f.1 -> m:f.2 -> out", numbers(1, 3))
class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: Tensor) -> Any:
        return self.f(x)


@case(
    """in:inputs -> m:linear_1 -> /cat; in:inputs -> m:linear_2 -> /cat
    /cat -> m:linear_3 -> m:my_special_relu -> out""",
    numbers(1, 3),
)
class SampleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(3, 3)
        self.linear_2 = nn.Linear(3, 3)
        self.linear_3 = nn.Linear(6, 1)
        self.my_special_relu = nn.ReLU()

    def forward(self, inputs: Tensor) -> Any:
        both = torch.cat([self.linear_1(inputs), self.linear_2(inputs)], dim=1)
        return self.my_special_relu(self.linear_3(both))


@case("in:x -> m:lin -> m:lin#2 -> m:lin#3 -> out", numbers(2, 3))
class SharedLeaf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.lin(self.lin(self.lin(x)))


@case("in:x -> /mul -> out", numbers(2, 3))
class SquareSelf(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * x


@case("in:x -> out", numbers(2, 3))
class ReturnsInput(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x


@case("in:x -> m:fc -> out", numbers(2, 3), numbers(2, 3), lone=("in:unused",))
class UnusedInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, unused: Tensor) -> Any:
        return self.fc(x)


# Signatures


@case("in:a -> m:sub.fc -> sub/add -> out; in:b -> sub/add", a=numbers(2, 3), b=numbers(2, 3))
class KeywordsOnly(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, *, left: Tensor, right: Tensor) -> Any:
            return self.fc(left) + right

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, *, a: Tensor, b: Tensor) -> Any:
        return self.sub(left=a, right=b)


@case(
    "in:xs.0 -> /cat; in:xs.1 -> /cat; /cat -> m:fc -> out",
    lambda: [torch.randn(2, 2), torch.randn(2, 1)],
)
class ListInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, xs: list[Tensor]) -> Any:
        return self.fc(torch.cat(xs, 1))


@case("in:x -> m:enc.fc -> out:h; m:enc.fc -> enc/relu -> out:aux.r", numbers(2, 3))
class DictOutput(nn.Module):
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            h = self.fc(x)
            return {"h": h, "aux": {"r": F.relu(h), "k": 3}}

    def __init__(self) -> None:
        super().__init__()
        self.enc = self.Encoder()

    def forward(self, x: Tensor) -> Any:
        return self.enc(x)


# What autograd does not see


@case("in:ids -> m:emb -> /sum -> out", ids)
class Integers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(10, 4)

    def forward(self, ids: Tensor) -> Any:
        return self.emb(ids).sum(1)


@case("in:x -> m:a -> /mul -> /add -> out; m:a -> /add", numbers(2, 3))
class NoGradPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.a(x)
        with torch.no_grad():
            w = h * 2
        return h + w


@case(
    "in:x -> /gt -> /where -> out; in:x -> /where; /zeros_like -> /where; in:x -> /zeros_like",
    numbers(2, 3),
)
class Where(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(x > 0, x, torch.zeros_like(x))


@case("in:x -> m:proj -> /chunk -> /sigmoid -> /mul -> out; /chunk -> /mul", numbers(2, 4))
class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 8)

    def forward(self, x: Tensor) -> Any:
        a, b = self.proj(x).chunk(2, -1)
        return a * torch.sigmoid(b)


# Writes in place


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


# Tensors that no argument brings in


@case("/arange -> m:pos -> /add -> out; in:ids -> m:tok -> /add", ids)
class PositionEmbedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok = nn.Embedding(10, 4)
        self.pos = nn.Embedding(8, 4)

    def forward(self, ids: Tensor) -> Any:
        return self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))


@case("in:x -> /add -> out; b:pe -> /getitem -> /add", numbers(2, 3, 4))
class ReadsBuffer(nn.Module):
    pe: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pe", torch.randn(1, 8, 4))

    def forward(self, x: Tensor) -> Any:
        return x + self.pe[:, : x.size(1)]


@case(
    "in:ids -> m:emb -> /linear -> out; p:emb.weight -> /linear",
    lambda: torch.tensor([[1, 2]]),
)
class TiedByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(10, 4)

    def forward(self, ids: Tensor) -> Any:
        return F.linear(self.emb(ids), self.emb.weight)


@case("in:x -> /mul -> out; c:0 -> /mul", numbers(2, 3))
class PlainAttribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x: Tensor) -> Any:
        return x * self.k


@case("in:x -> m:fc -> m:~ReLU -> out", numbers(2, 3))
class BuiltInForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return nn.ReLU()(self.fc(x))


# Modules of torch


@case("in:x -> m:id -> /add -> out; in:x -> /add", numbers(2, 3))
class IdentityResidual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.id = nn.Identity()

    def forward(self, x: Tensor) -> Any:
        return x + self.id(x)


@case(
    "in:x -> m:rnn -> /getitem -> m:fc -> out:0; m:rnn -> out:1.0; m:rnn -> out:1.1",
    numbers(2, 5, 4),
)
class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 6, batch_first=True)
        self.fc = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Any:
        y, states = self.rnn(x)
        return self.fc(y[:, -1]), states


@case(
    """in:x -> m:enc.self_attn -> m:enc.dropout1 -> enc/add -> m:enc.norm1 -> m:enc.linear1 -> enc/relu
    enc/relu -> m:enc.dropout -> m:enc.linear2 -> m:enc.dropout2 -> enc/add#2 -> m:enc.norm2 -> out
    in:x -> enc/add; m:enc.norm1 -> enc/add#2""",
    numbers(2, 5, 8),
)
class FastPath(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        return self.enc(x)


@case(
    "in:x -> /einsum -> /transpose -> /reshape -> /softmax -> out; p:w -> /einsum",
    numbers(2, 3, 4),
)
class Composite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 5))

    def forward(self, x: Tensor) -> Any:
        return torch.einsum("bij,jk->bik", x, self.w).transpose(1, 2).reshape(2, -1).softmax(-1)


# Scopes that no hook announces


class MySquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        return x * x + 0

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return 2 * ctx.saved_tensors[0] * grads[0]


@case("in:x -> m:fc -> /MySquare -> /add -> out; m:fc -> /add", numbers(2, 3))
class CustomFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.fc(x)
        return h + MySquare.apply(h)  # type: ignore[no-untyped-call]


@case("in:x -> m:blk.fc -> blk/relu -> /add -> out; in:x -> /add", numbers(2, 3), train=True)
class Checkpointed(nn.Module):
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            return F.relu(self.fc(x))

    def __init__(self) -> None:
        super().__init__()
        self.blk = self.Block()

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.blk, x, use_reentrant=False) + x


@case(
    "in:x -> m:fc -> /sum; m:fc -> /relu -> out; /sum -> /isnan",
    numbers(2, 3),
    needs_numbers=True,
)
class DataDependent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.fc(x)
        if torch.isnan(h.sum()):
            return h
        return h.relu()


@case("in:x -> m:fc -> sub/relu -> out", numbers(2, 3))
class DirectForward(nn.Module):
    # No hook runs for a forward that is called by name; the op still belongs to the module.
    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return F.relu(x)

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.sub = self.Inner()

    def forward(self, x: Tensor) -> Any:
        return self.sub.forward(self.fc(x))


# Other faces of torch


@case("in:x -> m:pre -> m:s -> m:post -> out", numbers(2, 3), needs_numbers=True)
class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pre = nn.Linear(3, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.s = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        self.post = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.post(self.s(self.pre(x)))


@case(
    """p:lin.parametrizations.weight.original0 -> m:lin.parametrizations.weight.0 -> lin/linear -> out
    p:lin.parametrizations.weight.original1 -> m:lin.parametrizations.weight.0
    in:x -> lin/linear; p:lin.bias -> lin/linear""",
    numbers(2, 3),
)
class WeightNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        return self.lin(x)


@case("in:x -> m:q.fc -> out", numbers(2, 3), needs_numbers=True)
class Quantized(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            return self.fc(x)

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.q = torch.ao.quantization.quantize_dynamic(self.Inner(), {nn.Linear})  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.q(x)


@case("in:x -> /mul -> /sum -> out", numbers(2, 3), needs_numbers=True)
class Vmapped(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda row: (row * 2).sum())(x)
