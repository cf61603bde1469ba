"""Small models, and edits of them as pull requests have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from torchrecorder.graph import Graph
from torchrecorder.recording.run import capture


def named(name: str) -> Callable[[type[Any]], type[Any]]:
    """A class under the name that it had before an edit."""

    def rename(cls: type[Any]) -> type[Any]:
        cls.__name__ = cls.__qualname__ = name
        return cls

    return rename


class Mlp(nn.Module):
    def __init__(self, width: int, act: type[nn.Module] = nn.GELU) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(width, 4 * width), act(), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(x)))  # type: ignore[no-any-return]


class Listed(nn.Module):
    """Convolutions of a list that the forward calls, those after the first two with an activation."""

    def __init__(self, n: int, skips: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 8)
        self.convs = nn.ModuleList(nn.Conv1d(8, 8, 3, padding=1) for _ in range(n))
        self.skips = skips

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).transpose(1, 2)
        for i, conv in enumerate(self.convs):
            y = conv(x) if i < 2 else conv(x).relu()
            x = x + y if i in self.skips else y
        return x


class Attention(nn.Module):
    def __init__(self, width: int, *, has_bias: bool = True) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width, bias=has_bias) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(functional.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self, width: int, act: type[nn.Module], norm: type[nn.Module], *, has_bias: bool = True) -> None:
        super().__init__()
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attn, self.mlp = Attention(width, has_bias=has_bias), Mlp(width, act)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))  # type: ignore[no-any-return]


@named("Block")
class WithoutResidual(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))  # type: ignore[no-any-return]


@named("Block")
class NormBehind(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attn(x))
        return self.norm2(x + self.mlp(x))  # type: ignore[no-any-return]


@named("Attention")
class KeysFirst(Attention):
    """The same in another order of lines."""

    def forward(self, x: Tensor) -> Tensor:
        v = self.v(x)
        k = self.k(x)
        return self.out(functional.scaled_dot_product_attention(self.q(x), k, v))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    def __init__(
        self,
        depth: int = 4,
        width: int = 16,
        act: type[nn.Module] = nn.GELU,
        norm: type[nn.Module] = nn.LayerNorm,
        block: type[Block] = Block,
        words: int = 100,
        classes: int = 10,
        *,
        has_bias: bool = True,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(block(width, act, norm, has_bias=has_bias) for _ in range(depth))
        self.norm, self.head = norm(width), nn.Linear(width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))  # type: ignore[no-any-return]


class FirstToken(Encoder):
    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])  # type: ignore[no-any-return]


class Branches(nn.Module):
    """Two branches that are joined; `is_crossed`: the second reads the first."""

    def __init__(self, *, is_crossed: bool = False) -> None:
        super().__init__()
        self.left, self.right, self.join = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(16, 2)
        self.is_crossed = is_crossed

    def forward(self, x: Tensor) -> Tensor:
        left = self.left(x)
        right = self.right(left if self.is_crossed else x)
        return self.join(torch.cat([left, right], -1))  # type: ignore[no-any-return]


class Convs(nn.Sequential):
    def __init__(self, width: int = 8, kernel: int = 3) -> None:
        stack: list[nn.Module] = []
        for before, now in ((3, width), (width, 16), (16, 32)):
            stack += [nn.Conv2d(before, now, kernel, padding=kernel // 2), nn.ReLU()]
        super().__init__(*stack, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(32, 10))


def edited(net: nn.Module, edit: Callable[[Any], object]) -> nn.Module:
    edit(net)
    return net


def inserted(net: nn.Sequential, at: int, layer: nn.Module) -> nn.Sequential:
    layers = [*net]
    return nn.Sequential(*layers[:at], layer, *layers[at:])


def without(net: nn.Sequential, at: int) -> nn.Sequential:
    return nn.Sequential(*(layer for i, layer in enumerate(net) if i != at))


def renamed(net: nn.Module, old: str, new: str) -> nn.Module:
    """The model with another name for a layer of it; its forward looks for it under both."""
    layer = getattr(net, old)
    delattr(net, old)
    setattr(net, new, layer)
    object.__setattr__(net, old, layer)
    return net


class Wrapped(nn.Module):
    """The layers of a model in one of their own."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.backbone = net
        self.last = nn.Linear(10, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.backbone(x))  # type: ignore[no-any-return]


IDS = torch.zeros(2, 6, dtype=torch.long)
IMAGE, FEATURES = torch.zeros(2, 3, 16, 16), torch.zeros(2, 8)


def recorded(net: nn.Module) -> Graph:
    given = IMAGE if isinstance(net, nn.Sequential) else FEATURES if isinstance(net, Branches) else IDS
    return capture(net.eval(), (given,))
