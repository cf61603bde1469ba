"""The truth about operations: functions of torch, operators, what autograd does not see; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, ids, numbers

CASES = Cases()
case = CASES.case


@case("in:ids -> m:emb -> /sum -> out", ids)
class Integers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(10, 4)

    def forward(self, ids: Tensor) -> Any:
        return self.emb(ids).sum(1)


@case(
    "in:x -> /gt -> /where -> out; in:x -> /where; /zeros_like -> /where; in:x -> /zeros_like",
    numbers(2, 3),
)
class Where(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(x > 0, x, torch.zeros_like(x))


@case("in:x -> m:fc -> /sum; m:fc -> /relu -> out; /sum -> /isnan", numbers(2, 3), needs_numbers=True, decides=True)
class DataDependent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.fc(x)
        if torch.isnan(h.sum()):
            return h
        return h.relu()


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


@case("in:x -> /fft -> /abs -> out", numbers(2, 4))
class Complex(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.fft.fft(x).abs()


@case("in:x -> /to_sparse -> /mm -> out; in:y -> /mm", numbers(2, 3), numbers(3, 2), needs_numbers=True)
class Sparse(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.sparse.mm(x.to_sparse(), y)


@case("in:x -> /split -> /cat -> out; /split -> /chunk -> /cat", numbers(2, 4))
class Pieces(nn.Module):
    def forward(self, x: Tensor) -> Any:
        a, b = torch.split(x, 2, dim=1)
        return torch.cat([b, *a.chunk(2, 1)], 1)


@case("in:x -> m:gate -> /mul -> out; in:x -> /mul; in:x -> m:probe", numbers(2, 3))
class DeadBranch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(3, 3)
        self.probe = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Any:
        self.probe(x)
        return x * self.gate(x)


@case("in:x -> m:fc -> /data -> /mul -> out", numbers(2, 3))
class DataAccess(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x).data * 2


@case("in:x -> m:fc -> /detach -> /mul -> /add -> out; m:fc -> /add", numbers(2, 3))
class Detached(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return y + y.detach() * 2


@case("in:x -> /einsum -> out; in:y -> /einsum", numbers(2, 3), numbers(3, 4))
class Einsum(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.einsum("ij,jk->ik", x, y)


@case("in:x -> /split -> out:0; /split -> /mul -> out:1; in:x -> /chunk -> out:2", numbers(4, 3))
class UnusedPieces(nn.Module):
    def forward(self, x: Tensor) -> Any:
        a, b = x.split(2)  # type: ignore[no-untyped-call]
        return a, b * 2, x.chunk(2)[1]


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


@case("in:x -> /mul -> out; in:x -> /sum", numbers(2, 3), needs_numbers=True, leaves=True)
class ScalarLeaves(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * float(x.sum())


@case("in:x -> m:fc -> /norm -> out", numbers(2, 3))
class LinalgNorm(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.linalg.norm(self.fc(x), dim=1)


@case("in:x -> m:fc -> /dropout -> out", numbers(2, 3), train=True)
class FunctionalDropout(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.dropout(self.fc(x), 0.5, self.training)


@case("in:x -> /batch_norm -> out; b:mean -> /batch_norm; b:var -> /batch_norm", numbers(4, 3), train=True)
class FunctionalBatchNorm(nn.Module):
    mean: Tensor
    var: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))

    def forward(self, x: Tensor) -> Any:
        return F.batch_norm(x, self.mean, self.var, training=self.training)


@case("in:x -> /unsqueeze -> /sub -> /pow -> /sum -> /sqrt -> out; in:x -> /unsqueeze#2 -> /sub", numbers(3, 2))
class Distances(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return ((x.unsqueeze(0) - x.unsqueeze(1)) ** 2).sum(-1).sqrt()


@case("in:q -> /matmul -> /div -> /softmax -> /matmul#2 -> out; in:k -> /transpose -> /matmul; in:v -> /matmul#2",
      numbers(2, 3), numbers(2, 3), numbers(2, 3))  # fmt: skip
class AttentionByHand(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Any:
        return F.softmax(q @ k.transpose(-2, -1) / 3**0.5, dim=-1) @ v


@case("in:x -> m:fc -> m:loss -> out:0; in:y -> m:loss; m:fc -> out:1", numbers(2, 3), lambda: torch.tensor([0, 1]))
class Loss(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = self.fc(x)
        return self.loss(z, y), z


@case("/arange -> /unsqueeze -> /lt -> /mul -> out; in:lengths -> /unsqueeze#2 -> /lt; in:x -> /mul",
      numbers(2, 3), lambda: torch.tensor([2, 3]))  # fmt: skip
class LengthMask(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        return x * (torch.arange(x.size(1)).unsqueeze(0) < lengths.unsqueeze(1))


@case("/ones -> /triu -> /masked_fill -> /softmax -> out; in:x -> /masked_fill", numbers(3, 3))
class CausalMask(nn.Module):
    def forward(self, x: Tensor) -> Any:
        mask = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
        return x.masked_fill(mask, float("-inf")).softmax(-1)


@case("in:x -> m:fc -> /softmax -> /multinomial -> m:emb -> out", numbers(2, 3))  # fmt: skip
class Sampled(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(3, 4)

    def forward(self, x: Tensor) -> Any:
        return self.emb(torch.multinomial(self.fc(x).softmax(-1), 1))


@case("in:x -> m:fc -> out:0; in:x -> out:1", numbers(2, 3))
class PassedInNone(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return [self.fc(x), x, None, 3, "text"]


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
