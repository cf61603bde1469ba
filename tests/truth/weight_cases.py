"""The truth about tensors that no argument brings: parameters, buffers, constants, parametrisations; see `case`."""

from __future__ import annotations

import collections
import copy
import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils import prune

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, ids, numbers

CASES = Cases()
case = CASES.case


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


@case("in:x -> m:a -> m:a#2 -> out", numbers(2, 3))
class TwoNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a

    def forward(self, x: Tensor) -> Any:
        return self.b(self.a(x))


@case(
    """in:x -> m:~Linear -> out; p:fc.weight -> /data -> /clone -> m:~Linear
    p:fc.bias -> /data#2 -> /clone#2 -> m:~Linear""",
    numbers(2, 3),
    needs_numbers=True,
)
class DeepCopied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return copy.deepcopy(self.fc)(x)


@case("in:x -> m:fc -> out", numbers(2, 3), needs_numbers=True)
class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.LazyLinear(4)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


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


@case("in:x -> /add -> out; /ones -> /mul -> /add; /randn -> /mul", numbers(2, 3))
class MadeInForward(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + torch.ones(2, 3) * torch.randn(3)


@case("in:x -> /rand_like -> /lt -> /where -> out; in:x -> /where; /tensor -> /where", numbers(2, 3))
class RandomMask(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.where(torch.rand_like(x) < 0.5, x, torch.tensor(0.0))


@case("in:x -> /mul -> /mul#2 -> out; p:ws.0 -> /mul; p:ws.1 -> /mul#2", numbers(3))
class Parameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ws = nn.ParameterList([torch.ones(3), torch.ones(3)])

    def forward(self, x: Tensor) -> Any:
        for w in self.ws:
            x = x * w
        return x


@case("in:x -> /mul -> out; p:ws.a -> /mul", numbers(3))
class ParameterDictionary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ws = nn.ParameterDict({"a": torch.ones(3)})

    def forward(self, x: Tensor) -> Any:
        return x * self.ws["a"]


@case("in:x -> m:fc -> out", numbers(2, 3))
class OldWeightNorm(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nn.utils.weight_norm(self.fc)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


LOOSE = torch.ones(3)


@case("in:x -> /mul -> out; c:0 -> /mul", numbers(2, 3))
class GlobalTensor(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * LOOSE


@case("in:x -> /mul -> /mul#2 -> out; c:0 -> /mul; c:1 -> /mul#2", numbers(2, 3))
class TensorsInPlainAttributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales: dict[str, Any] = {"a": torch.ones(3), "b": [torch.ones(3)]}

    def forward(self, x: Tensor) -> Any:
        return x * self.scales["a"] * self.scales["b"][0]


@case("in:x -> /mul -> out; c:0 -> /mul", numbers(2, 3))
class DefaultTensor(nn.Module):
    def forward(self, x: Tensor, scale: Tensor = LOOSE) -> Any:
        return x * scale


@case("in:x -> m:fc -> /cat -> out; p:token -> /expand -> /cat", numbers(2, 1, 3))
class ClassToken(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 3))

    def forward(self, x: Tensor) -> Any:
        return torch.cat([self.token.expand(x.size(0), -1, -1), self.fc(x)], 1)


@case("in:x -> /linear -> out; p:fc.weight -> /t -> /linear; p:fc.bias -> /linear", numbers(2, 3))
class WeightUsedByHand(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.linear(x, self.fc.weight.t(), self.fc.bias)


@case("in:x -> m:q -> /mul -> m:o -> out; in:x -> m:k -> /mul", numbers(2, 3))
class TiedWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.o = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.k.weight = self.q.weight

    def forward(self, x: Tensor) -> Any:
        return self.o(self.q(x) * self.k(x))


@case(
    """in:x -> /conv2d -> out; p:weight -> /view -> /std_mean -> /sub -> /div -> /conv2d
    /view -> /sub; /std_mean -> /div""",
    numbers(1, 2, 4, 4),
)
class WeightStandardised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2, 3, 3))

    def forward(self, x: Tensor) -> Any:
        w = self.weight.view(3, 2, 3, 3)
        std, mean = torch.std_mean(w, (1, 2, 3), keepdim=True)
        return F.conv2d(x, (w - mean) / std)


@case("in:x -> /mm -> out; b:adjacency -> /mm", numbers(3, 2), needs_numbers=True)
class SparseBuffer(nn.Module):
    adjacency: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("adjacency", torch.eye(3).to_sparse())

    def forward(self, x: Tensor) -> Any:
        return torch.mm(self.adjacency, x)


@case(
    "in:x -> m:mu -> /add -> out; in:x -> m:var -> /mul -> /exp -> /mul#2 -> /add; /exp -> /randn_like -> /mul#2",
    numbers(2, 3),
)
class Reparametrised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mu, self.var = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Any:
        mu = self.mu(x)
        std = torch.exp(0.5 * self.var(x))
        return mu + torch.randn_like(std) * std


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3))
class CopiedLayerMade(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.same = self.fc
        self.alias = [self.fc]

    def forward(self, x: Tensor) -> Any:
        return self.alias[0](self.same(x))


@case("""p:lin.parametrizations.weight.original -> m:lin.parametrizations.weight.0 -> lin/linear -> out
      in:x -> lin/linear; p:lin.bias -> lin/linear""", numbers(2, 3))  # fmt: skip
class SpectralNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        return self.lin(x)


@case(
    """p:lin.parametrizations.weight.original -> m:lin.parametrizations.weight.0 -> lin/linear -> out
    in:x -> lin/linear; p:lin.bias -> lin/linear""",
    numbers(2, 3),
    train=True,
)
class SpectralNormInTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        return self.lin(x)


class Symmetric(nn.Module):
    def forward(self, w: Tensor) -> Tensor:
        return w.triu() + w.triu(1).transpose(-1, -2)


@case(
    """p:lin.parametrizations.weight.original -> lin.parametrizations.weight.0/triu -> lin.parametrizations.weight.0/add
    p:lin.parametrizations.weight.original -> lin.parametrizations.weight.0/triu#2
    lin.parametrizations.weight.0/triu#2 -> lin.parametrizations.weight.0/transpose -> lin.parametrizations.weight.0/add
    lin.parametrizations.weight.0/add -> lin/linear -> out; in:x -> lin/linear; p:lin.bias -> lin/linear""",
    numbers(2, 3),
)
class OwnParametrization(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        nn.utils.parametrize.register_parametrization(self.lin, "weight", Symmetric())

    def forward(self, x: Tensor) -> Any:
        return self.lin(x)


@case("in:x -> m:fc -> out", numbers(2, 3))
class Pruned(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        prune.l1_unstructured(self.fc, "weight", 0.5)  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> m:fc -> /relu -> out; in:x -> /mean", numbers(2, 3))
class StatisticsKept(OneLayer):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        self.mean = x.mean()
        return F.relu(self.fc(x))
