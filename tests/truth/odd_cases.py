"""Still more of the truth: what a hostile reader of the rules would ask; see `case`."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

from tests.truth.case import Cases
from tests.truth.cases import ActiveLayer, OneLayer, numbers

CASES = Cases()
case = CASES.case

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


@case("in:x -> m:conv -> out", numbers(1, 2, 4, 4))
class SubclassOfConv(nn.Module):
    # A user's class derived from a layer is not atomic: what its forward does is seen.
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3)

    def forward(self, x: Tensor) -> Any:
        return self.conv(x)


class Padded(nn.Conv1d):
    def forward(self, x: Tensor) -> Any:
        return super().forward(F.pad(x, (2, 0)))


@case(
    "in:x -> conv/pad -> conv/conv1d -> out; p:conv.weight -> conv/conv1d; p:conv.bias -> conv/conv1d", numbers(1, 2, 5)
)
class CausalConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = Padded(2, 2, 3)

    def forward(self, x: Tensor) -> Any:
        return self.conv(x)


class Norm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Any:
        return F.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias).type_as(x)


@case(
    """in:x -> norm/float -> norm/layer_norm -> norm/type_as -> out; in:x -> norm/type_as
    p:norm.weight -> norm/layer_norm; p:norm.bias -> norm/layer_norm""",
    lambda: torch.randn(2, 3).half(),
)
class NormInFloats(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = Norm(3)

    def forward(self, x: Tensor) -> Any:
        return self.norm(x)


@case("in:x -> m:a -> /add -> out; in:x -> m:b -> /add; in:x -> m:c", numbers(2, 3))
class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: Tensor) -> Any:
        a, b, _ = [layer(x) for layer in (self.a, self.b, self.c)]
        return a + b


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 3))
class CompiledModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.run = torch.compile(self.net.forward, backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.run(x)


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3))
class CompiledFunction(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.act = torch.compile(F.relu, backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.act(self.fc(x))


@torch.jit.script_if_tracing  # type: ignore[untyped-decorator]
def doubled(x: Tensor) -> Tensor:
    return x * 2


@case("in:x -> /mul -> m:fc -> out", numbers(2, 3))
class ScriptedIfTracing(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(doubled(x))


@case("in:x -> m:fc -> /dropout -> out", numbers(2, 3), train=True)
class FunctionalDropout(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return F.dropout(self.fc(x), 0.5, self.training)


@case("in:x -> m:drop -> m:norm -> out", numbers(4, 3), train=True)
class TrainingLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Any:
        return self.norm(self.drop(x))


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


@case("in:x -> /unsqueeze -> /sub -> /pow -> /sum -> /sqrt -> out; in:x -> /unsqueeze#2 -> /sub", numbers(3, 2))
class Distances(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return ((x.unsqueeze(0) - x.unsqueeze(1)) ** 2).sum(-1).sqrt()


@case("in:q -> /matmul -> /div -> /softmax -> /matmul#2 -> out; in:k -> /transpose -> /matmul; in:v -> /matmul#2",
      numbers(2, 3), numbers(2, 3), numbers(2, 3))  # fmt: skip
class AttentionByHand(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Any:
        return F.softmax(q @ k.transpose(-2, -1) / 3**0.5, dim=-1) @ v


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3))
class PartialLayer(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return functools.partial(self.fc)(self.fc(x))


@case("in:x -> m:sub.fc -> sub/relu -> out", numbers(2, 3))
class ForwardReplaced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = OneLayer()
        self.sub.forward = lambda x: F.relu(self.sub.fc(x))

    def forward(self, x: Tensor) -> Any:
        return self.sub(x)


@case("in:x -> m:a -> m:b -> out", numbers(2, 3))
class ModulesFromAttributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name in "ab":
            setattr(self, name, nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        for name in "ab":
            x = getattr(self, name)(x)
        return x


@case("in:x -> m:~Sequential.0 -> m:~Sequential.1 -> out", numbers(2, 3))
class HiddenSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = [nn.Sequential(nn.Linear(3, 3), nn.ReLU())]

    def forward(self, x: Tensor) -> Any:
        return self.hidden[0](x)


@case("in:x -> m:fc -> /add -> out; in:x -> /relu -> /add", numbers(2, 3))
class ResultOfBranch(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.enable_grad() if torch.is_grad_enabled() else nullcontext():
            y = self.fc(x)
        return y + torch.relu(x)


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


@case("in:x -> m:rnn -> out", numbers(3, 2, 4))
class HiddenOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x: Tensor) -> Any:
        _, (h, _) = self.rnn(x)
        return h


@case("in:x -> m:emb -> out; in:offsets -> m:emb", lambda: torch.tensor([1, 2, 3]), lambda: torch.tensor([0, 2]))
class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.EmbeddingBag(9, 4)

    def forward(self, x: Tensor, offsets: Tensor) -> Any:
        return self.emb(x, offsets)


@case("in:x -> m:fc -> m:loss -> out:0; in:y -> m:loss; m:fc -> out:1", numbers(2, 3), lambda: torch.tensor([0, 1]))
class Loss(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = self.fc(x)
        return self.loss(z, y), z


@case("in:x -> /mm -> out; b:adjacency -> /mm", numbers(3, 2), needs_numbers=True)
class SparseBuffer(nn.Module):
    adjacency: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("adjacency", torch.eye(3).to_sparse())

    def forward(self, x: Tensor) -> Any:
        return torch.mm(self.adjacency, x)


@case("in:a -> m:fc -> out", numbers(2, 3), lone=("in:b.0", "in:b.1"), b=lambda: [torch.ones(1), torch.ones(1)])
class UnusedList(OneLayer):
    def forward(self, a: Tensor, b: list[Tensor]) -> Any:
        return self.fc(a)


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


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3), train=True)
class CheckpointedFunction(OneLayer):
    def inner(self, x: Tensor) -> Tensor:
        return F.relu(self.fc(x))

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.inner, x, use_reentrant=False)


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


@case("in:x -> /sin -> /cos -> out", numbers(3), needs_numbers=True)
class VmappedMethods(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda v: v.sin().cos())(x)


@case("in:x -> m:fc -> out:0; in:x -> out:1", numbers(2, 3))
class PassedInNone(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return [self.fc(x), x, None, 3, "text"]


@case("in:x -> m:fc -> /detach; c:0 -> /mul -> out", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughNumpy(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.from_numpy(self.fc(x).detach().numpy() + 1) * 2


@case("in:x -> m:fc; /tensor -> /mul -> out", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughList(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.tensor(self.fc(x).tolist()) * 2
