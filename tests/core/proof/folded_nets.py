"""Nets with arithmetic, columns, lists that are used together, and layers that are given to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, ones


class Fields(nn.Module):
    """A table with fields: columns of two lists, and pairs of fields as one formula."""

    def __init__(self, n: int = 6) -> None:
        super().__init__()
        self.first = nn.ModuleList(nn.Embedding(10 + i, 1) for i in range(n))
        self.second = nn.ModuleList(nn.Embedding(10 + i, 8) for i in range(n))
        self.deep = nn.Linear(8 * n, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = torch.cat([table(x[:, i]) for i, table in enumerate(self.first)], 1).sum(1)
        two = torch.stack([table(x[:, i]) for i, table in enumerate(self.second)], 1)
        pairs = 0.5 * (two.sum(1).pow(2) - two.pow(2).sum(1)).sum(1)
        found: Tensor = one + pairs + self.deep(two.flatten(1))[:, 0]
        return found


class Clicks(nn.Module):
    """A table with a field a name, each of which has two embeddings."""

    def __init__(self, **fields: int) -> None:
        super().__init__()
        self.first = nn.ModuleDict({name: nn.Embedding(count, 1) for name, count in fields.items()})
        self.second = nn.ModuleDict({name: nn.Embedding(count, 8) for name, count in fields.items()})
        self.deep = nn.Linear(8 * len(fields), 1)

    def forward(self, click: dict[str, Tensor]) -> Tensor:
        one = sum(effect(click[name]) for name, effect in self.first.items())
        two = torch.cat([table(click[name]) for name, table in self.second.items()], 1)
        found: Tensor = self.deep(two) + one
        return found


class Routed(nn.Module):
    """Rows of one weight for the parts of a sequence, as experts of a mixture are."""

    def __init__(self, n: int = 4) -> None:
        super().__init__()
        self.weight, self.end = nn.Parameter(torch.ones(n, 6, 8)), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        parts = torch.split(x, [2, 1, 3, 2])
        given = [nn.functional.linear(part, self.weight[i]) for i, part in enumerate(parts)]
        found: Tensor = self.end(torch.cat(given))
        return found


class Scales(nn.Module):
    """Pools of growing sizes, each with a layer: columns that no node has room for."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.end = nn.Conv2d(3, 8, 3), nn.Conv2d(24, 2, 1)
        self.pools = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(b), nn.Conv2d(8, 4, 1), nn.ReLU()) for b in (1, 2, 3, 6)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        found: Tensor = self.end(
            torch.cat([x, *(nn.functional.interpolate(p(x), x.shape[-2:]) for p in self.pools)], 1)
        )
        return found


class Neighbours(nn.Module):
    """Layers `q_0`, `k_0`, … in a loop, with a state of the edges that nothing reads in the end."""

    def __init__(self, n: int = 4, d: int = 8) -> None:
        super().__init__()
        self.n, self.enter, self.edges = n, nn.Linear(3, d), nn.Linear(2, d)
        for i in range(n):
            for name in ("q", "k", "v", "e", "o", "f"):
                setattr(self, f"{name}_{i}", nn.Linear(d, d))
            self.add_module(f"norm_{i}", nn.LayerNorm(d))
            self.add_module(f"last_{i}", nn.LayerNorm(d))
        self.end = nn.Linear(d, 1)

    def forward(self, x: Tensor, e: Tensor) -> Tensor:
        x, e = self.enter(x), self.edges(e)
        for i in range(self.n):
            layer: Callable[[str], Any] = lambda name, i=i: getattr(self, f"{name}_{i}")  # type: ignore[misc] # noqa: E731
            q, k, v, b = layer("q")(x), layer("k")(x), layer("v")(x), layer("e")(e)
            weight = (q * k / 8).clamp(-5, 5).exp()
            mixed = weight * v / (weight.sum(0) + 1e-6)
            x = layer("norm")(x + layer("o")(mixed))
            e = layer("last")(e + layer("f")(b))
        found: Tensor = self.end(x)
        return found


class Around(nn.Module):
    """A residual and a normalisation around a layer that it is given."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d)

    def forward(self, x: Tensor, layer: Callable[[Tensor], Tensor]) -> Tensor:
        found: Tensor = x + layer(self.norm(x))
        return found


class Mixer(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1) / 3, -1) @ self.v(x)
        return found


class AnnotatedLayer(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.attention, self.feed = Mixer(d), nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.around = nn.ModuleList(Around(d) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.around[1](self.around[0](x, lambda x: self.attention(x)), self.feed)
        return found


class Annotated(nn.Module):
    """An encoder as the annotated Transformer writes it."""

    def __init__(self, d: int = 16, n: int = 6) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(AnnotatedLayer(d) for _ in range(n)), nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        found: Tensor = self.norm(x)
        return found


class Experts(nn.Module):
    """A sum over experts, each weighed by how much of the best ones it is: the loop has its number in an op."""

    def __init__(self, n: int = 6, d: int = 8) -> None:
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 16), nn.GELU(), nn.Linear(16, d)) for _ in range(n))

    def forward(self, x: Tensor) -> Tensor:
        best, chosen = torch.softmax(self.gate(x), -1).topk(2, -1)
        found = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = (chosen == i).to(x.dtype) * best
            found = found + expert(x) * share.sum(-1, keepdim=True)
        return found


class Kernel(nn.Module):
    """A residual block."""

    def __init__(self, c: int, k: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv1d(c, c, k, padding=k // 2) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.second(torch.tanh(self.first(torch.tanh(x))))
        return found


class Kernels(nn.Module):
    """Blocks of several kernels that read one tensor, and the sum of what they give, as in HiFi-GAN."""

    def __init__(self, n: int = 4, c: int = 8) -> None:
        super().__init__()
        self.up, self.end = nn.ConvTranspose1d(4, c, 4, 2, 1), nn.Conv1d(c, 1, 7, padding=3)
        self.blocks = nn.ModuleList(Kernel(c, 2 * i + 3) for i in range(n))

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(x)
        total = self.blocks[0](x)
        for block in self.blocks[1:]:
            total = total + block(x)
        found: Tensor = self.end(total / len(self.blocks))
        return found


class Stream(nn.Module):
    """A block of two streams, the second of which reads a state that is empty before the first step."""

    def __init__(self, d: int = 8) -> None:
        super().__init__()
        self.norm, self.look, self.tell, self.out = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x: Tensor, u: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
        u = u + torch.tanh(self.look(torch.cat([held, self.norm(x)])))
        return x + self.tell(self.norm(x)) * torch.sigmoid(self.out(u)), u


class Streams(nn.Module):
    """Such blocks in a row, of which only the second stream is read in the end."""

    def __init__(self, n: int = 3, d: int = 8) -> None:
        super().__init__()
        self.first, self.second, self.end = nn.Linear(4, d), nn.Linear(4, d), nn.Linear(d, 2)
        self.steps = nn.ModuleList(Stream(d) for _ in range(n))

    def forward(self, x: Tensor) -> Tensor:
        x, u, held = self.first(x), self.second(x), torch.empty(0, 8)
        for step in self.steps:
            x, u = step(x, u, held)
        found: Tensor = self.end(u)
        return found


def _placed(x: Tensor, kinds: Tensor) -> Tensor:
    """What a function of whole numbers decides alone."""
    first = kinds[0].tolist()
    return (x * len(first)).exp()


class Kinds(nn.Module):
    """A function that only checks one of the inputs, beside data."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.end = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor, kinds: Tensor) -> Tensor:
        found: Tensor = self.end(_placed(self.enter(x), kinds))
        return found


def _picked(x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """Features at the beginning of each edge, and where it ends."""
    ends = edges[1]
    return x.index_select(0, edges[0]).tanh(), ends


def _gathered(x: Tensor, ends: Tensor) -> Tensor:
    """Sums over what ends at one node."""
    return torch.zeros(5, 8).index_add(0, ends, x.exp())


class Ends(nn.Module):
    """A part of an input that one function cuts out and another one reads."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.mid, self.end = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x, ends = _picked(self.enter(x), edges)
        found: Tensor = self.end(_gathered(self.mid(x), ends))
        return found


class Aligned(nn.Module):
    """Each frame of a film at two sizes, brought to the middle one by one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv1d(4, 4, 3, 1, 1), nn.Conv1d(4, 4, 3, 2, 1)
        self.align, self.end = Aligning(), nn.Conv1d(12, 2, 1)

    def forward(self, film: Tensor) -> Tensor:
        n, frames, *_ = film.shape
        fine = self.fine(film.flatten(0, 1))
        levels = [level.unflatten(0, (n, frames)) for level in (fine, self.coarse(fine))]
        middle = [level[:, 1] for level in levels]
        aligned = [self.align([level[:, i] for level in levels], middle) for i in range(frames)]
        found: Tensor = self.end(torch.cat(aligned, 1))
        return found


class Aligning(nn.Module):
    """A frame like another one, from both at two sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(8, 4, 3, 1, 1), nn.Conv1d(8, 4, 3, 1, 1)

    def forward(self, frame: list[Tensor], middle: list[Tensor]) -> Tensor:
        coarse = self.second(torch.cat((frame[1], middle[1]), 1)).repeat_interleave(2, -1)
        moved: Tensor = self.first(torch.cat((frame[0], middle[0]), 1)) + coarse
        return moved


CLICKS = {"page": 9, "reader": 4, "device": 7, "hour": 24}

FOLDED = (
    Entry("aligned", Aligned, given(numbers(2, 3, 4, 8))),
    Entry("ends", Ends, given(numbers(5, 4), ones(2, 3, dtype=torch.int64))),
    Entry("streams", Streams, given(numbers(2, 4))),
    Entry("kinds", Kinds, given(numbers(2, 4), ones(1, 3, dtype=torch.int64))),
    Entry("fields", Fields, given(ones(2, 6, dtype=torch.int64))),
    Entry(
        "clicks",
        lambda: Clicks(**CLICKS),
        given(lambda: {name: torch.zeros(2, dtype=torch.int64) for name in CLICKS}),
    ),
    Entry("routed", Routed, given(numbers(8, 8))),
    Entry("scales", Scales, given(numbers(1, 3, 16, 16))),
    Entry("neighbours", Neighbours, given(numbers(5, 3), numbers(5, 2))),
    Entry("annotated", Annotated, given(numbers(1, 5, 16))),
    Entry("kernels", Kernels, given(numbers(1, 4, 16))),
    Entry("experts", Experts, given(numbers(2, 5, 8))),
)
