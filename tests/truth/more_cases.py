"""More of the truth: kinds of code that engines get wrong. The rules are those of `case`."""

from __future__ import annotations

import collections
import copy
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.truth.case import Cases
from tests.truth.cases import numbers

CASES = Cases()
case = CASES.case


# Arguments and results


@case("in:x -> m:fc -> /add -> /add#2 -> out; in:rest.0 -> /add; in:rest.1 -> /add#2", *[numbers(2, 3)] * 3)
class StarArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, *rest: Tensor) -> Any:
        x = self.fc(x)
        for other in rest:
            x = x + other
        return x


@case("in:x -> m:fc -> out", numbers(2, 3))
class DefaultArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None, scale: float = 1.0) -> Any:
        x = self.fc(x)
        return x if mask is None else x * mask


class Pair(NamedTuple):
    first: Tensor
    second: Tensor | None


@case("in:x -> m:fc -> out:first", numbers(2, 3))
class NamedResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return Pair(self.fc(x), None)


@dataclass
class Result:
    logits: Tensor
    states: tuple[Tensor, ...]
    loss: Tensor | None = None


@case("in:x -> m:fc -> out:logits; m:fc -> /tanh -> out:states.0; in:x -> out:states.1", numbers(2, 3))
class DataclassResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return Result(y, (torch.tanh(y), x))


class Batch:
    def __init__(self, x: Tensor) -> None:
        self.x = x


@case("in:batch.x -> m:fc -> out", lambda: Batch(torch.randn(2, 3)), needs_numbers=True)
class CustomObject(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, batch: Batch) -> Any:
        return self.fc(batch.x)


@case("in:x -> /topk -> out:0; /topk -> /gather -> out:1; in:x -> /gather", numbers(2, 5))
class TopK(nn.Module):
    def forward(self, x: Tensor) -> Any:
        values, indices = x.topk(2)
        return values, x.gather(1, indices)


@case("in:x -> /sort -> out:0; in:x -> /argmax -> out:1; in:x -> /unbind -> /add -> out:2", numbers(2, 5))
class SortedTuple(nn.Module):
    def forward(self, x: Tensor) -> Any:
        a, b = x.unbind()
        return x.sort().values, x.argmax(), a + b


@case("in:x -> /gt -> /where -> /sum -> out", numbers(2, 3), needs_numbers=True)
class WhereIndices(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(x > 0)[0].sum()


# Writes


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


# Modules


@case("in:x -> m:cell -> m:cell#2 -> m:cell#3 -> out; in:x -> m:cell#2; in:x -> m:cell#3", numbers(2, 3))
class CellLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = None
        for _ in range(3):
            h = self.cell(x, h)
        return h


@case("in:x -> m:a -> m:a#2 -> out", numbers(2, 3))
class TwoNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a

    def forward(self, x: Tensor) -> Any:
        return self.b(self.a(x))


@case("in:x -> m:~Linear -> m:~Linear#2 -> out", numbers(2, 3))
class PythonList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


@case("in:x -> m:fc -> /mul -> m:act -> out", numbers(2, 3))
class ReplacingHook(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.fc.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x: Tensor) -> Any:
        return self.act(self.fc(x))


@case("in:x -> m:fc -> out; in:x -> /mul -> m:fc; /zeros -> m:fc", numbers(3, 3))
class FunctionalCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        weights = {"weight": x * 2, "bias": torch.zeros(3)}
        return torch.func.functional_call(self.fc, weights, (x,))


@case("in:x -> m:norm -> m:attn -> out:0; m:attn -> out:1", numbers(2, 4, 8))
class AttentionWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        h = self.norm(x)
        return self.attn(h, h, h, need_weights=True)


@case(
    "in:x -> m:~Linear -> out; p:fc.weight -> /data -> /clone; p:fc.bias -> /data#2 -> /clone#2",
    numbers(2, 3),
    needs_numbers=True,
)
class DeepCopied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return copy.deepcopy(self.fc)(x)


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3), train=True)
class ReentrantCheckpoint(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checkpoint(lambda y: F.relu(self.fc(y)), x, use_reentrant=True)


class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Any:
        return x + y, x - y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] + grads[1], grads[0] - grads[1]


@case("in:x -> /Split -> /mul -> out; in:x -> m:fc -> /Split", numbers(2, 3))
class FunctionOfMany(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        a, b = Split.apply(x, self.fc(x))  # type: ignore[no-untyped-call]
        return a * b


# Faces of torch


@case("in:x -> /fft -> /abs -> out", numbers(2, 4))
class Complex(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.fft.fft(x).abs()


@case("in:x -> /to_sparse -> /mm -> out; in:y -> /mm", numbers(2, 3), numbers(3, 2), needs_numbers=True)
class Sparse(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.sparse.mm(x.to_sparse(), y)


@case("in:x -> m:fc -> out", numbers(2, 3), needs_numbers=True)
class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.LazyLinear(4)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> m:net -> out", numbers(2, 3), needs_numbers=True)
class Traced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.net = torch.jit.trace(nn.Tanh(), torch.ones(2, 3))  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case(
    "in:x -> m:sub.fc -> sub/mul -> /add -> out; in:x -> /add",
    numbers(2, 3),
)
class StatefulDict(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor, cache: dict[str, Tensor]) -> None:
            cache["y"] = self.fc(x) * 2

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, x: Tensor) -> Any:
        cache: dict[str, Tensor] = collections.OrderedDict()
        self.sub(x, cache)
        return cache["y"] + x


@case("in:ids -> m:emb -> m:head -> out", lambda: torch.tensor([[1, 2]]))
class TiedModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(9, 4)
        self.head = nn.Linear(4, 9, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids: Tensor) -> Any:
        return self.head(self.emb(ids))


@case("in:x -> /split -> /cat -> out; /split -> /chunk -> /cat", numbers(2, 4))
class Pieces(nn.Module):
    def forward(self, x: Tensor) -> Any:
        a, b = torch.split(x, 2, dim=1)
        return torch.cat([b, *a.chunk(2, 1)], 1)


@case(
    "in:x -> /clone -> /index_put_ -> out; in:ids -> /index_put_; in:y -> /index_put_",
    numbers(3),
    lambda: torch.tensor([0, 2]),
    numbers(2),
)
class IndexPut(nn.Module):
    def forward(self, x: Tensor, ids: Tensor, y: Tensor) -> Any:
        return x.clone().index_put_((ids,), y)


@case("in:x -> m:gate -> /mul -> out; in:x -> /mul; in:x -> m:probe", numbers(2, 3))
class DeadBranch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(3, 3)
        self.probe = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Any:
        self.probe(x)
        return x * self.gate(x)


@case("in:x -> m:a -> /stack -> out; in:x -> m:a#2 -> /stack; in:x -> m:b -> /stack", numbers(2, 3))
class Comprehension(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return torch.stack(list(layer(x) for layer in (self.a, self.a, self.b)))  # noqa: C400


@case("in:x -> /add -> /mul -> /sum -> out", numbers(2, 3), needs_numbers=True)
class VmappedChain(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda row: ((row + 1) * 2).sum())(x)


@case(
    """in:tgt -> m:layer.self_attn -> m:layer.dropout1 -> layer/add -> m:layer.norm1 -> m:layer.multihead_attn
    in:tgt -> layer/add; in:memory -> m:layer.multihead_attn -> m:layer.dropout2 -> layer/add#2 -> m:layer.norm2
    m:layer.norm1 -> layer/add#2; m:layer.norm2 -> m:layer.linear1 -> layer/relu -> m:layer.dropout
    m:layer.dropout -> m:layer.linear2 -> m:layer.dropout3 -> layer/add#3 -> m:layer.norm3 -> out
    m:layer.norm2 -> layer/add#3""",
    numbers(2, 4, 8),
    numbers(2, 5, 8),
)
class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, tgt: Tensor, memory: Tensor) -> Any:
        return self.layer(tgt, memory)
