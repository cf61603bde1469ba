"""The truth about modules and the layers of torch, by kind; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, numbers

CASES = Cases()
case = CASES.case


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


@case("in:x -> m:norm -> m:attn -> out:0; m:attn -> out:1", numbers(2, 4, 8))
class AttentionWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        h = self.norm(x)
        return self.attn(h, h, h, need_weights=True)


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


@case("in:x -> m:layers.0 -> m:layers.1 -> m:heads.a -> /cat -> out; m:layers.1 -> m:heads.b -> /cat", numbers(2, 3))
class Containers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 1)})

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return torch.cat([head(x) for head in self.heads.values()], 1)


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


@case("in:x -> m:drop -> m:norm -> out", numbers(4, 3), train=True)
class TrainingLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Any:
        return self.norm(self.drop(x))


@case("in:x -> m:emb -> out; in:offsets -> m:emb", lambda: torch.tensor([1, 2, 3]), lambda: torch.tensor([0, 2]))
class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.EmbeddingBag(9, 4)

    def forward(self, x: Tensor, offsets: Tensor) -> Any:
        return self.emb(x, offsets)


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
