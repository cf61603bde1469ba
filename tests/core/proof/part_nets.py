"""Nets that work on parts of a tensor, each as small as shows how."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers


class Gated(nn.Module):
    """One half goes by, the other one is worked on: the spatial gate of gMLP."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(4, 8), nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        u, v = self.up(x).chunk(2, -1)
        found: Tensor = self.down(u * self.norm(v))
        return found


class Frames(nn.Module):
    """The first frame goes by, all others are worked on; there is one other."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        first, others = self.up(x).split((1, x.shape[1] - 1), dim=1)
        return torch.cat((first.tanh(), self.norm(others)), dim=1)


class Coupling(nn.Module):
    """An affine coupling: one half decides how the other one is scaled and shifted."""

    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.mix, self.net = nn.Linear(size, size), nn.Linear(size // 2, size)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.mix(x).chunk(2, 1)
        scale, shift = self.net(a).chunk(2, 1)
        return torch.cat([a, (b + shift) * torch.sigmoid(scale)], 1)


class Partial(nn.Module):
    """A convolution of the first quarter of the channels: FasterNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.n = channels // 4
        self.conv, self.mlp = nn.Conv2d(self.n, self.n, 3, padding=1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        first, rest = torch.split(x, [self.n, x.shape[1] - self.n], dim=1)
        found: Tensor = x + self.mlp(torch.cat([self.conv(first), rest], 1)).relu()
        return found


class Stages(nn.Module):
    """Such blocks of growing width."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Sequential(Partial(8), Partial(8), Partial(8))
        self.down = nn.Conv2d(8, 16, 2, stride=2)
        self.two = nn.Sequential(Partial(16), Partial(16), Partial(16))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.two(self.down(self.one(x)))
        return found


class Modulated(nn.Module):
    """Six parts of one linear layer scale, shift and gate: DiT."""

    def __init__(self) -> None:
        super().__init__()
        self.ada, self.norm1, self.norm2 = nn.Linear(4, 24), nn.LayerNorm(4), nn.LayerNorm(4)
        self.attn, self.mlp = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        shift, scale, gate, shift2, scale2, gate2 = self.ada(c)[:, None].chunk(6, -1)
        x = x + gate * self.attn(self.norm1(x) * (1 + scale) + shift)
        found: Tensor = x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)
        return found


class ClassToken(nn.Module):
    """The first token goes by a step that the others take."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.turn, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x)
        found: Tensor = self.head(torch.cat([q[:, :1], self.turn(q[:, 1:])], 1))
        return found


class Latent(nn.Module):
    """The half that is the mean is decoded, the other one is dropped: an autoencoder with a distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(2, 8)

    def forward(self, x: Tensor) -> Tensor:
        mean, logvar = self.encoder(x).chunk(2, -1)
        logvar.clamp(-30, 20).exp()
        found: Tensor = self.decoder(mean)
        return found


class Heads(nn.Module):
    """Queries and keys are normalised, values are not."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.q_norm, self.k_norm, self.proj = (
            nn.Linear(4, 12),
            nn.LayerNorm(2),
            nn.LayerNorm(2),
            nn.Linear(4, 4),
        )

    def forward(self, x: Tensor) -> Tensor:
        b, n, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v)
        found: Tensor = self.proj(y.transpose(1, 2).reshape(b, n, 4))
        return found


class Steps(nn.Module):
    """A loop that goes through a sequence, which is also read as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.step, self.back = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        seq = self.embed(x).transpose(0, 1)
        h = seq.mean(0)
        for t in range(3):
            h = torch.tanh(self.step(seq[t]) + self.back(h))
        found: Tensor = h
        return found


class Halves(nn.Module):
    """A loop that goes through two halves of what is also read as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.step, self.back = nn.Linear(4, 4), nn.Linear(2, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.embed(x)
        h = y.sigmoid()
        for half in y.chunk(2, 1):
            h = torch.tanh(self.step(half) + self.back(h))
        found: Tensor = h
        return found


class Carried(nn.Module):
    """The first layer takes the first three, each later one what is left of what the one before gave."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.layers = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        last, y = y[:, 5:].sum(1, keepdim=True), y[:, :5]
        for layer in self.layers.children():
            y = (layer(y).relu() * last)[:, 1:]
        out: Tensor = y.sum(1)
        return out


class Ada(nn.Module):
    """Gives what is normalised and scaled, and two gates."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(4), nn.Linear(4, 16)

    def forward(self, x: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scale, shift, gate, last = self.linear(c.relu())[:, None].chunk(4, -1)
        return self.norm(x) * (1 + scale) + shift, gate, last


class Adas(nn.Module):
    """Blocks of four such layers each."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (nn.ModuleList(Ada() for _ in range(2)) for _ in range(2))
        self.mix = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        for i, ada in enumerate([*self.first.children(), *self.second.children()]):
            y, gate, last = ada(x, c)
            x = x * gate + self.mix[i](y) * last.tanh()
            x = x.sin() if i % 2 else x.cos()
        return x


class AllOfIt(nn.Module):
    """Parts that need no word: all of them for one reader, new axes, all turns of a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.conv, self.down = nn.Linear(4, 8), nn.Conv2d(1, 1, 3, padding=1), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.up(x).chunk(2, -1)
        y = self.conv(torch.maximum(a, b)[:, None])
        found: Tensor = self.down(y[:, 0:].flatten(1, 2)[..., 0:])
        return found


class Trimmed(nn.Module):
    """What padding added is cut off behind a convolution, and half of the features of a text are put aside."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.text, self.down = nn.Conv2d(1, 1, 3, padding=2), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x[:, None])[..., :-2, :-2].sum(1)
        found: Tensor = self.down(torch.cat((self.text(x)[:, :, :4], y), dim=-1))
        return found


class Shifted(nn.Module):
    """A text whose each token is guessed from those before it: numbers are read in two parts."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.logits = nn.Embedding(5, 8), nn.Linear(8, 5)

    def forward(self, ids: Tensor) -> Tensor:
        guessed = self.logits(self.embed(ids[:, :-1]))
        return nn.functional.cross_entropy(guessed.transpose(1, 2), ids[:, 1:])


class Slid(nn.Module):
    """Scores of distances that become scores of places by sliding each row: the attention of Transformer-XL."""

    def __init__(self) -> None:
        super().__init__()
        self.far = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.pad(self.far(x), (1, 0))
        b, n, m = y.shape
        return y.view(b, m, n)[:, 1:].reshape(b, n, m - 1)[..., :3].softmax(-1)


class Cropped(nn.Module):
    """All but the first row, and then of each of its columns some."""

    def __init__(self) -> None:
        super().__init__()
        self.far = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.pad(self.far(x), (1, 0))[:, 1:].transpose(1, 2)[:, :3].softmax(-1)


class Unbound(nn.Module):
    """A batch of one that is taken apart, of whose only sequence the padding is cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.far = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        only: Tensor
        (only,) = self.far(x).unbind(0)
        return only[:2]


def joined(windows: Tensor) -> Tensor:
    """The map of windows, without what it was padded with."""
    return windows.view(-1, 2, 2, 3, 3, 4).transpose(2, 3).reshape(-1, 6, 6, 4)[:, :5, :4]


class Windows(nn.Module):
    """Windows of a padded map, which are put together again and cropped: the blocks of ViTDet."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.functional.pad(self.norm(x), (0, 0, 0, 2, 0, 1)).view(-1, 2, 3, 2, 3, 4)
        found: Tensor = x + joined(self.mix(padded.transpose(2, 3).reshape(-1, 3, 3, 4)))
        return found


class Stacked(nn.Module):
    """Keys and values of one layer, on an axis that they have behind a permutation alone."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.near = nn.Linear(4, 8), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        keys = self.both(x).reshape(2, 3, 2, 4).permute(2, 0, 1, 3)
        return (self.near(x) @ keys[0].mT).softmax(-1) @ keys[1]  # type: ignore[no-any-return]


class Skewed(nn.Module):
    """The shift of relative positions as a stretch of rows that are put together."""

    def __init__(self) -> None:
        super().__init__()
        self.far = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.pad(self.far(x), (1, 0))
        return y.flatten(1)[:, 3:].view(2, 3, 3).softmax(-1)


class Nearest(nn.Module):
    """The first of an order, spread over as many channels as each of three readers has."""

    def __init__(self) -> None:
        super().__init__()
        self.far, self.k, self.v = nn.Linear(4, 3), nn.Linear(4, 2), nn.Linear(4, 8)

    def forward(self, x: Tensor) -> Tensor:
        first = self.far(x).argsort()[..., :1]
        near = [torch.gather(of, 1, first.expand(-1, -1, of.shape[-1])) for of in (x, self.k(x), self.v(x))]
        return torch.cat(near, -1)


def rolled(x: Tensor) -> Tensor:
    """In a larger tensor, of which the rest is not given back."""
    rows = torch.zeros(2, 10, 4)
    rows[:, :8] = x
    return rows.roll(1, 1)[:, :8]


class Rolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.last(rolled(self.first(x)))
        return found


class Searched(nn.Module):
    """Branches with a weight each, some of which are drawn once."""

    def __init__(self) -> None:
        super().__init__()
        self.alphas, self.first = nn.Linear(4, 4), nn.Linear(4, 4)
        self.rest = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights = self.alphas(x).softmax(-1).mean((0, 1))
        found: Tensor = sum(w * op(x) for w, op in zip(weights, (self.first, *self.rest), strict=True))
        return found


class Mixing(nn.Module):
    """A block of two streams, each of which goes by as well."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.gate = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, text: Tensor, video: Tensor) -> tuple[Tensor, Tensor]:
        gate = self.gate(text.mean(1, keepdim=True)).sigmoid()
        return text + self.a(text) * gate, video + self.b(video) * gate


class TakenApart(nn.Module):
    """One sequence is taken apart before the first block; the others get what the one before them gives."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Linear(4, 4), nn.Linear(4, 2)
        self.blocks = nn.ModuleList(Mixing() for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).tanh()
        text, video = x[:, :2], x[:, 2:]
        for block in self.blocks:
            text, video = block(text, video)
        found: Tensor = self.out(torch.cat((text, video), 1))
        return found


class NoHistory(nn.Module):
    """A state that is given to the steps of a history, of which there are none yet, and goes on by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.project, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        state = self.embed(state)
        x = torch.cat((state[:, None].expand(-1, 0, -1), x), 1)
        found: Tensor = self.out(x + self.project(state.tanh())[:, None])
        return found


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 6), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.two(self.one(x).relu())
        return found


class CrossStage(nn.Module):
    """One half of a tensor goes through all blocks with a residual each, the other half past them."""

    def __init__(self) -> None:
        super().__init__()
        self.widen, self.out = nn.Linear(4, 8), nn.Linear(8, 2)
        self.blocks = nn.Sequential(*(Residual() for _ in range(4)))

    def forward(self, x: Tensor) -> Tensor:
        worked_on, kept = self.widen(x).split(4, dim=1)
        found: Tensor = self.out(torch.cat((self.blocks(worked_on), kept), 1))
        return found


PARTS = [
    Entry("gated", Gated, given(numbers(2, 3, 4))),
    Entry("frames", Frames, given(numbers(3, 2, 4))),
    Entry("coupling", lambda: nn.Sequential(Coupling(), Coupling(), Coupling()), given(numbers(2, 4))),
    Entry("stages", Stages, given(numbers(1, 8, 8, 8))),
    Entry("modulated", Modulated, given(numbers(2, 3, 4), numbers(2, 4))),
    Entry("class_token", ClassToken, given(numbers(2, 3, 4))),
    Entry("latent", Latent, given(numbers(2, 8))),
    Entry("heads", Heads, given(numbers(2, 3, 4))),
    Entry("steps", Steps, given(numbers(2, 3, 4))),
    Entry("halves", Halves, given(numbers(2, 4))),
    Entry("carried", Carried, given(numbers(2, 6, 4))),
    Entry("adas", Adas, given(numbers(2, 3, 4), numbers(2, 4))),
    Entry("taken_apart", TakenApart, given(numbers(3, 5, 4))),
    Entry("cross_stage", CrossStage, given(numbers(3, 4))),
    Entry("trimmed", Trimmed, given(numbers(2, 3, 4))),
    Entry("shifted", Shifted, given(lambda: torch.zeros(2, 6, dtype=torch.int64))),
    Entry("slid", Slid, given(numbers(2, 3, 4))),
    Entry("cropped", Cropped, given(numbers(2, 3, 4))),
    Entry("unbound", Unbound, given(numbers(1, 3, 4))),
    Entry("windows", Windows, given(numbers(2, 5, 4, 4))),
    Entry("stacked", Stacked, given(numbers(2, 3, 4))),
    Entry("skewed", Skewed, given(numbers(2, 3, 4))),
    Entry("nearest", Nearest, given(numbers(2, 3, 4))),
    Entry("rolled", Rolled, given(numbers(2, 8, 4))),
    Entry("all_of_it", AllOfIt, given(numbers(2, 3, 4))),
    Entry("no_history", NoHistory, given(numbers(2, 3, 4), numbers(2, 4))),
]
"""Each net with what it is called with."""

SEARCHED = Entry("searched", Searched, given(numbers(2, 3, 4)))
"""A net apart from the mutations: a line may say which part each turn reads, but it does not have to."""
