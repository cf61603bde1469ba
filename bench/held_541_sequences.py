"""Nets of shops, speech, waves, sensors and texts as repositories write them, of the fourteenth list kept back.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_541_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers


class RecencyBias(nn.Module):
    """How much more or less an event counts by how many events and how much time ago it was."""

    def __init__(self, longest: int, n_spans: int) -> None:
        super().__init__()
        self.n_spans = n_spans
        self.by_count = nn.Embedding(longest, 1)
        self.by_time = nn.Embedding(n_spans, 1)

    def forward(self, times: Tensor) -> Tensor:
        """Biases (batch, 1, events, events); those of later events mean nothing."""
        order = torch.arange(times.size(1), device=times.device)
        ago = (order[:, None] - order[None, :]).clamp(min=0)
        seconds = (times[:, :, None] - times[:, None, :]).clamp(min=0)
        span = torch.log1p(seconds).mul(1.5).long().clamp(max=self.n_spans - 1)
        return (self.by_count(ago) + self.by_time(span)).squeeze(-1).unsqueeze(1)


class HistoryLayer(nn.Module):
    """Attention without a softmax, so that it says how often, and a gate in place of a perceptron after it."""

    def __init__(self, dim: int, n_heads: int, head_dim: int, longest: int, n_spans: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        inner = n_heads * head_dim
        self.norm = nn.LayerNorm(dim)
        self.to_heads = nn.Linear(dim, 3 * inner)
        self.to_gate = nn.Linear(dim, inner)
        self.bias = RecencyBias(longest, n_spans)
        self.read_norm = nn.LayerNorm(inner)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(inner, dim)

    def forward(self, x: Tensor, times: Tensor, visible: Tensor) -> Tensor:
        """The events (batch, events, dim)."""
        normed = self.norm(x)
        heads = F.silu(self.to_heads(normed)).unflatten(-1, (3, self.n_heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        gate = F.silu(self.to_gate(normed))
        strength = F.silu(query @ key.transpose(-1, -2) + self.bias(times))
        strength = torch.where(visible, strength, 0) / visible.sum(dim=-1, keepdim=True).clamp(min=1)
        read = (strength @ value).transpose(1, 2).flatten(2)
        return x + self.out(self.dropout(gate * self.read_norm(read)))


class ShopRecommender(nn.Module):
    """The next thing that a customer looks at, as a language model of what was looked at and what came of it."""

    def __init__(
        self, n_items: int = 200, n_outcomes: int = 5, dim: int = 48, n_heads: int = 3, head_dim: int = 16,
        n_layers: int = 3, longest: int = 32, n_spans: int = 24, dropout: float = 0.2, temperature: float = 0.05,
    ) -> None:  # fmt: skip
        super().__init__()
        self.temperature = temperature
        self.items = nn.Embedding(n_items, dim, padding_idx=0)
        self.outcomes = nn.Embedding(n_outcomes, dim // 4)
        self.mix = nn.Linear(dim + dim // 4, dim)
        self.places = nn.Parameter(torch.randn(longest, dim) / math.sqrt(dim))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            HistoryLayer(dim, n_heads, head_dim, longest, n_spans, dropout) for _ in range(n_layers)
        )

    def encode(self, items: Tensor, outcomes: Tensor, times: Tensor) -> Tensor:
        """Unit vectors (batch, events, dim) of what is wanted after each event."""
        x = self.mix(torch.cat([self.items(items), self.outcomes(outcomes)], dim=-1))
        x = self.dropout(x + self.places[: items.size(1)])
        known = items > 0
        visible = (known[:, None, :] & known[:, :, None]).tril().unsqueeze(1)
        for layer in self.layers:
            x = layer(x, times, visible) * known.unsqueeze(-1)
        return F.normalize(x, dim=-1)

    @torch.no_grad()
    def recommend(self, items: Tensor, outcomes: Tensor, times: Tensor, count: int = 10) -> Tensor:
        """The things that fit best after the last event (batch, count), none of which was looked at before."""
        wanted = self.encode(items, outcomes, times)[:, -1]
        fit = wanted @ F.normalize(self.items.weight, dim=1).t()
        return fit.scatter(1, items, -math.inf).topk(count, dim=1).indices

    def forward(self, items: Tensor, outcomes: Tensor, times: Tensor, others: Tensor) -> dict[str, Tensor]:
        """The fit of the next thing beside some others (batch, events - 1, 1 + others), and the loss."""
        wanted = self.encode(items, outcomes, times)[:, :-1]
        following = items[:, 1:]
        candidates = torch.cat([following.unsqueeze(-1), others.expand(*following.shape, -1)], dim=-1)
        fit = torch.einsum("bed,becd->bec", wanted, F.normalize(self.items(candidates), dim=-1)) / self.temperature
        is_same = candidates[..., 1:] == following.unsqueeze(-1)
        fit = torch.cat([fit[..., :1], fit[..., 1:].masked_fill(is_same, -1e4)], dim=-1)
        loss = -fit.log_softmax(dim=-1)[..., 0]
        return {"fit": fit, "loss": loss[following > 0].mean()}


class StepCode(nn.Module):
    """The vector of how far a diffusion has come."""

    waves: Tensor

    def __init__(self, n_steps: int, n_waves: int, dim: int) -> None:
        super().__init__()
        rates = torch.logspace(0, -4, n_waves)
        angles = torch.arange(n_steps)[:, None] * rates
        self.register_buffer("waves", torch.cat([angles.cos(), angles.sin()], dim=1), persistent=False)
        self.layers = nn.Sequential(nn.Linear(2 * n_waves, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())

    def forward(self, step: Tensor) -> Tensor:
        """Vectors (batch, dim)."""
        return self.layers(self.waves[step])


class BothAxes(nn.Module):
    """A layer of attention along the times of each sensor and one along the sensors of each time."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.along_times, self.along_sensors = (
            nn.TransformerEncoderLayer(dim, n_heads, 2 * dim, dropout, activation="gelu", batch_first=True)
            for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, sensors, times, dim)."""
        batch, n_sensors, n_times, _ = x.shape
        x = self.along_times(x.flatten(0, 1)).view(batch, n_sensors, n_times, -1)
        x = self.along_sensors(x.transpose(1, 2).flatten(0, 1))
        return x.view(batch, n_times, n_sensors, -1).transpose(1, 2)


class DenoiseBlock(nn.Module):
    """A block of the net that guesses the noise, with a gate, and with a share in the sum over all blocks."""

    def __init__(self, dim: int, side_dim: int, n_heads: int, dropout: float, is_last: bool) -> None:
        super().__init__()
        self.is_last = is_last
        self.from_step = nn.Linear(dim, dim)
        self.axes = BothAxes(dim, n_heads, dropout)
        self.widen = nn.Linear(dim, 2 * dim)
        self.from_side = nn.Linear(side_dim, 2 * dim)
        self.leave = nn.Linear(dim, dim if is_last else 2 * dim)

    def forward(self, x: Tensor, step: Tensor, side: Tensor) -> tuple[Tensor, Tensor]:
        """The input of the next block, and the share (batch, sensors, times, dim)."""
        inner = self.axes(x + self.from_step(step)[:, None, None])
        content, gate = (self.widen(inner) + self.from_side(side)).chunk(2, dim=-1)
        gated = content.tanh() * gate.sigmoid()
        if self.is_last:
            return x, self.leave(gated)
        share, change = self.leave(gated).chunk(2, dim=-1)
        return (x + change) / math.sqrt(2), share


class SensorImputer(nn.Module):
    """Values that sensors failed to report, by a diffusion that starts at noise and is led by the others."""

    keep: Tensor

    def __init__(
        self, n_sensors: int = 6, n_steps: int = 50, dim: int = 32, side_dim: int = 24, n_blocks: int = 3,
        n_heads: int = 4, dropout: float = 0.1, least_noise: float = 1e-4, most_noise: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        noise = torch.linspace(math.sqrt(least_noise), math.sqrt(most_noise), n_steps).square()
        self.register_buffer("keep", torch.cumprod(1 - noise, dim=0))
        self.clock = nn.Linear(2 * 8, side_dim)
        self.sensors = nn.Embedding(n_sensors, side_dim)
        self.steps = StepCode(n_steps, 16, dim)
        self.enter = nn.Linear(2, dim)
        self.blocks = nn.ModuleList(
            DenoiseBlock(dim, side_dim + 1, n_heads, dropout, is_last=i == n_blocks - 1) for i in range(n_blocks)
        )
        self.leave = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def side(self, clock: Tensor, seen: Tensor) -> Tensor:
        """Facts of each value besides the numbers (batch, sensors, times, side_dim + 1)."""
        angles = clock.unsqueeze(-1) / 10 ** torch.linspace(0, 3, 8, device=clock.device)
        of_time = self.clock(torch.cat([angles.sin(), angles.cos()], dim=-1))
        both = of_time.unsqueeze(1) + self.sensors.weight[:, None]
        return torch.cat([both, seen.unsqueeze(-1)], dim=-1)

    def noise_in(self, noisy: Tensor, values: Tensor, seen: Tensor, side: Tensor, step: Tensor) -> Tensor:
        """The noise in values (batch, sensors, times) of which those seen are given without it."""
        x = F.relu(self.enter(torch.stack([seen * values, (1 - seen) * noisy], dim=-1)))
        code = self.steps(step)
        total = torch.zeros_like(x)
        for block in self.blocks:
            x, share = block(x, code, side)
            total = total + share
        return self.leave(total / math.sqrt(len(self.blocks))).squeeze(-1)

    @torch.no_grad()
    def impute(self, values: Tensor, seen: Tensor, clock: Tensor) -> Tensor:
        """One way in which the values may have been (batch, sensors, times)."""
        side, x = self.side(clock, seen), torch.randn_like(values)
        for i in reversed(range(len(self.keep))):
            now, before = self.keep[i], self.keep[i - 1] if i else self.keep.new_ones(())
            noise = self.noise_in(x, values, seen, side, torch.full((len(x),), i, device=x.device))
            x = (x - (1 - now / before) / (1 - now).sqrt() * noise) / (now / before).sqrt()
            if i:
                x = x + ((1 - before) / (1 - now) * (1 - now / before)).sqrt() * torch.randn_like(x)
        return torch.where(seen > 0, values, x)

    def forward(self, values: Tensor, reported: Tensor, hidden: Tensor, clock: Tensor) -> tuple[Tensor, Tensor]:
        """The guess of the noise (batch, sensors, times), and the loss at those reported values that are hidden."""
        seen = reported * (1 - hidden)
        step = torch.randint(len(self.keep), (len(values),), device=values.device)
        keep = self.keep[step].view(-1, 1, 1)
        noise = torch.randn_like(values)
        noisy = keep.sqrt() * values + (1 - keep).sqrt() * noise
        guess = self.noise_in(noisy, values, seen, self.side(clock, seen), step)
        asked = reported * hidden
        return guess, (asked * (guess - noise) ** 2).sum() / asked.sum().clamp(min=1)


class ComplexLayer(nn.Module):
    """A layer with a complex weight, as two real layers; a complex tensor is the stack (2, …) of its two parts."""

    def __init__(self, make: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.direct, self.turned = make(), make()

    def apply_to_both(self, layer: nn.Module, parts: Tensor) -> Tensor:
        """The output of one of the real layers for both parts, which are one batch."""
        out = layer(parts.flatten(0, 1))
        out = out[0] if isinstance(out, tuple) else out
        return out.unflatten(0, (2, -1))

    def forward(self, parts: Tensor) -> Tensor:
        """Both parts of the output (2, batch, …)."""
        direct, turned = self.apply_to_both(self.direct, parts), self.apply_to_both(self.turned, parts)
        return torch.stack([direct[0] - turned[1], direct[1] + turned[0]])


class PartNorm(nn.Module):
    """A batch norm of each part by itself, with an activation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))
        self.slope = nn.PReLU(channels)

    def forward(self, parts: Tensor) -> Tensor:
        """Both parts (2, batch, channels, frequencies, frames)."""
        return torch.stack([self.slope(norm(part)) for norm, part in zip(self.norms, parts, strict=True)])


class SpectrumDown(nn.Module):
    """A complex convolution to half of the frequencies that sees this frame and the one before."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.convolve = ComplexLayer(lambda: nn.Conv2d(n_in, n_out, (5, 2), stride=(2, 1), padding=(2, 0)))
        self.norm = PartNorm(n_out)

    def forward(self, parts: Tensor) -> Tensor:
        """Both parts (2, batch, n_out, frequencies / 2, frames)."""
        return self.norm(self.convolve(F.pad(parts, (1, 0))))


class SpectrumUp(nn.Module):
    """A complex convolution to twice the frequencies, of what came up and of the encoder at this depth."""

    def __init__(self, n_in: int, n_out: int, last: bool = False) -> None:
        super().__init__()
        self.convolve = ComplexLayer(
            lambda: nn.ConvTranspose2d(2 * n_in, n_out, (5, 2), stride=(2, 1), padding=(2, 0), output_padding=(1, 0))
        )
        self.norm = nn.Identity() if last else PartNorm(n_out)

    def forward(self, parts: Tensor, skip: Tensor) -> Tensor:
        """Both parts (2, batch, n_out, 2 frequencies, frames); the frame after the last is cut off."""
        return self.norm(self.convolve(torch.cat([parts, skip], dim=2))[..., :-1])


class ComplexMemory(nn.Module):
    """Complex LSTMs over the frames, which see all channels and frequencies at once."""

    def __init__(self, n_features: int, dim: int, depth: int) -> None:
        super().__init__()
        dims = [n_features, *[dim] * depth]
        self.lstms = nn.ModuleList(ComplexLayer(self.maker(n_in, n_out)) for n_in, n_out in pairwise(dims))
        self.back = ComplexLayer(lambda: nn.Linear(dim, n_features))

    @staticmethod
    def maker(n_in: int, n_out: int) -> Callable[[], nn.Module]:
        """A function that makes one of the two real layers."""
        return lambda: nn.LSTM(n_in, n_out, batch_first=True)

    def forward(self, parts: Tensor) -> Tensor:
        """Both parts in the shape that they came in."""
        channels, frequencies = parts.shape[2:4]
        x = parts.permute(0, 1, 4, 2, 3).flatten(3)
        for lstm in self.lstms:
            x = lstm(x)
        return self.back(x).unflatten(-1, (channels, frequencies)).permute(0, 1, 3, 4, 2)


class SpeechCleaner(nn.Module):
    """Speech without its noise, by a mask of the spectrum that changes the phase as well."""

    window: Tensor

    def __init__(
        self, n_fft: int = 128, hop: int = 32, widths: Sequence[int] = (8, 16, 32, 32), memory_dim: int = 48,
        memory_depth: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        steps = list(pairwise([1, *widths]))
        self.down = nn.ModuleList(SpectrumDown(n_in, n_out) for n_in, n_out in steps)
        self.memory = ComplexMemory(widths[-1] * (n_fft // 2 >> len(widths)), memory_dim, memory_depth)
        self.up = nn.ModuleList(SpectrumUp(n_out, n_in, last=n_in == 1) for n_in, n_out in reversed(steps))

    def mask(self, parts: Tensor) -> Tensor:
        """The complex mask (2, batch, 1, frequencies, frames)."""
        skips = []
        for stage in self.down:
            parts = stage(parts)
            skips.append(parts)
        parts = self.memory(parts)
        for stage, skip in zip(self.up, reversed(skips), strict=True):
            parts = stage(parts, skip)
        return parts

    def forward(self, noisy: Tensor, clean: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """The speech (batch, samples); and the loss, if it is known how it is without noise."""
        spectrum = torch.stft(noisy, self.n_fft, self.hop, window=self.window, return_complex=True)
        parts = torch.stack([spectrum.real, spectrum.imag]).unsqueeze(2)
        real, imaginary = self.mask(parts[..., 1:, :]).squeeze(2)  # without the mean of the sound
        size = torch.tanh(torch.hypot(real, imaginary))
        turn = torch.atan2(imaginary, real)
        heard = spectrum[:, 1:]
        cleaned = torch.polar(heard.abs() * size, heard.angle() + turn)
        cleaned = F.pad(cleaned, (0, 0, 1, 0))
        speech = torch.istft(cleaned, self.n_fft, self.hop, window=self.window, length=noisy.size(1))
        if clean is None:
            return speech
        share = (speech * clean).sum(dim=1, keepdim=True) / clean.square().sum(dim=1, keepdim=True)
        goal = share * clean
        ratio = goal.square().sum(dim=1) / (goal - speech).square().sum(dim=1)
        return speech, -10 * ratio.log10().mean()


class RotaryAttention(nn.Module):
    """Attention of each token to those before it, whose places in the text are given and may have gaps."""

    rates: Tensor

    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query, self.key, self.value = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.out = nn.Linear(dim, dim, bias=False)
        self.register_buffer("rates", torch.logspace(0, -3, dim // n_heads // 2), persistent=False)

    def turn(self, x: Tensor, places: Tensor) -> Tensor:
        """Vectors (batch, heads, tokens, head_dim) whose pairs of numbers are turned by the places."""
        angles = places[:, None, :, None] * self.rates
        even, odd = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
        turned = torch.stack([even * angles.cos() - odd * angles.sin(), odd * angles.cos() + even * angles.sin()], -1)
        return turned.flatten(-2)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        """Vectors (batch, tokens, dim)."""
        query, key, value = (
            layer(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        read = F.scaled_dot_product_attention(self.turn(query, places), self.turn(key, places), value, is_causal=True)
        return self.out(read.transpose(1, 2).flatten(2))


class GatedMLP(nn.Module):
    """A perceptron with a gate."""

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_and_content = nn.Linear(dim, 2 * hidden_dim, bias=False)
        self.out = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors (batch, tokens, dim)."""
        gate, content = self.gate_and_content(x).tensor_split(2, dim=-1)
        return self.out(F.silu(gate) * content)


class TextLayer(nn.Module):
    """The part that a layer of a language model adds to its input."""

    def __init__(self, dim: int, n_heads: int, hidden_dim: int) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.attention = RotaryAttention(dim, n_heads)
        self.mlp = GatedMLP(dim, hidden_dim)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        """The change of the vectors (batch, tokens, dim)."""
        read = self.attention(self.attention_norm(x), places)
        return read + self.mlp(self.mlp_norm(x + read))


class SelectiveLayer(nn.Module):
    """A layer that only some tokens of each text pass through, those that a score says are worth it."""

    def __init__(self, layer: nn.Module, dim: int, share: float) -> None:
        super().__init__()
        self.layer, self.share = layer, share
        self.score = nn.Linear(dim, 1, bias=False)
        self.foresee = nn.Sequential(nn.Linear(dim, dim // 4), nn.GELU(), nn.Linear(dim // 4, 1))

    def forward(self, x: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (batch, tokens, dim), and how badly it is foreseen without the later tokens which are chosen."""
        scores = self.score(x).squeeze(-1)
        count = max(1, round(self.share * x.size(1)))
        chosen, _ = scores.topk(count, dim=1).indices.sort(dim=1)
        index = chosen.unsqueeze(-1).expand(-1, -1, x.size(-1))
        change = self.layer(x.gather(1, index), places.gather(1, chosen))
        change = change * torch.sigmoid(scores.gather(1, chosen)).unsqueeze(-1)
        is_chosen = torch.zeros_like(scores).scatter(1, chosen, 1.0)
        foreseen = self.foresee(x.detach()).squeeze(-1)
        return x.scatter_add(1, index, change), F.binary_cross_entropy_with_logits(foreseen, is_chosen)


class ThriftyLanguageModel(nn.Module):
    """A language model in which every second layer is only for some of the tokens."""

    def __init__(
        self, n_tokens: int = 120, dim: int = 64, n_heads: int = 4, hidden_dim: int = 160, n_pairs: int = 3,
        share: float = 0.25, foresee_weight: float = 0.01,
    ) -> None:  # fmt: skip
        super().__init__()
        self.foresee_weight = foresee_weight
        self.embed = nn.Embedding(n_tokens, dim)
        self.layers = nn.ModuleList()
        for _ in range(n_pairs):
            self.layers.append(TextLayer(dim, n_heads, hidden_dim))
            self.layers.append(SelectiveLayer(TextLayer(dim, n_heads, hidden_dim), dim, share))
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, n_tokens, bias=False)
        self.head.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, tokens: Tensor, following: Tensor | None = None) -> dict[str, Tensor]:
        """Logits (batch, tokens, n_tokens), and the loss if the following tokens are known; one below zero is not."""
        places = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        x = self.embed(tokens)
        surprise = []
        for layer in self.layers:
            if isinstance(layer, SelectiveLayer):
                x, missed = layer(x, places)
                surprise.append(missed)
            else:
                x = x + layer(x, places)
        out = {"logits": self.head(self.norm(x))}
        if following is not None:
            error = F.cross_entropy(out["logits"].flatten(0, 1), following.flatten(), ignore_index=-1)
            out["loss"] = error + self.foresee_weight * sum(surprise)
        return out


class NoiseSteering(nn.Module):
    """The scale and the shift that features of a voice get from a noisy sound and from how noisy it is."""

    rates: Tensor

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.soften = nn.Sequential(nn.Conv1d(n_in, n_in, 3, padding=1), nn.LeakyReLU(0.2))
        self.scale, self.shift = (nn.Conv1d(n_in, n_out, 3, padding=1) for _ in range(2))
        self.register_buffer("rates", 5000 * torch.logspace(0, -4, n_in // 2).unsqueeze(1), persistent=False)

    def forward(self, x: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
        """Scales and shifts (batch, n_out, times) for levels (batch) of the sound in the noise."""
        angles = level.view(-1, 1, 1) * self.rates
        informed = self.soften(x) + torch.cat([angles.sin(), angles.cos()], dim=1)
        return 1 + self.scale(informed), self.shift(informed)


class NoisyDown(nn.Module):
    """Features of a noisy sound at a lower rate."""

    def __init__(self, n_in: int, n_out: int, factor: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool1d(factor)
        self.short = nn.Conv1d(n_in, n_out, 1)
        self.context = nn.Sequential()
        for n_before, reach in ((n_in, 1), (n_out, 2), (n_out, 4)):
            self.context.append(nn.LeakyReLU(0.2))
            self.context.append(nn.Conv1d(n_before, n_out, 3, padding=reach, dilation=reach))

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, times / factor)."""
        pooled = self.pool(x)
        return self.short(pooled) + self.context(pooled)


class VoiceUp(nn.Module):
    """Features of a voice at a higher rate, steered twice by a noisy sound in each of two halves."""

    def __init__(self, n_in: int, n_out: int, factor: int, dilations: Sequence[int]) -> None:
        super().__init__()
        self.grow = nn.Upsample(scale_factor=factor, mode="linear")
        self.short = nn.Conv1d(n_in, n_out, 1)
        widths = [n_in, *[n_out] * 3]
        self.enter, *rest = (
            nn.Conv1d(width, n_out, 3, padding=dilation, dilation=dilation)
            for width, dilation in zip(widths, dilations, strict=True)
        )
        self.rest = nn.ModuleList(rest)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """Features (batch, n_out, factor * times)."""
        steered, second, third = self.rest

        def steer(conv: nn.Module, features: Tensor) -> Tensor:
            return conv(F.leaky_relu(scale * features + shift, 0.2))

        grown = self.grow(x)
        x = self.short(grown) + steer(steered, self.enter(F.leaky_relu(grown, 0.2)))
        return x + steer(third, steer(second, x))


class VoiceGradient(nn.Module):
    """The noise in a sound that is said to be speech of which the spectrum is known, for a vocoder in a few steps."""

    keep: Tensor

    def __init__(
        self, n_mels: int = 32, factors: Sequence[int] = (4, 4, 2), up_widths: Sequence[int] = (48, 32, 24),
        down_widths: Sequence[int] = (12, 24, 32), n_steps: int = 200,
    ) -> None:  # fmt: skip
        super().__init__()
        self.factors = factors
        keep = torch.cumprod(1 - torch.linspace(1e-6, 0.01, n_steps), dim=0).sqrt()
        self.register_buffer("keep", F.pad(keep, (1, 0), value=1.0))
        self.listen = nn.Conv1d(1, down_widths[0], 5, padding=2)
        self.down = nn.ModuleList(
            NoisyDown(n_in, n_out, factor)
            for (n_in, n_out), factor in zip(pairwise(down_widths), reversed(factors[1:]), strict=True)
        )
        self.steering = nn.ModuleList(
            NoiseSteering(n_in, n_out) for n_in, n_out in zip(down_widths, reversed(up_widths), strict=True)
        )
        self.read = nn.Conv1d(n_mels, 2 * up_widths[0], 3, padding=1)
        self.up = nn.ModuleList(
            VoiceUp(n_in, n_out, factor, (1, 2, 4, 8) if factor < 4 else (1, 2, 1, 2))
            for (n_in, n_out), factor in zip(pairwise([2 * up_widths[0], *up_widths]), factors, strict=True)
        )
        self.speak = nn.Conv1d(up_widths[-1], 1, 3, padding=1)

    def noise_in(self, sound: Tensor, mels: Tensor, level: Tensor) -> Tensor:
        """The noise (batch, samples) in a sound, of which the speech is in it at some level (batch)."""
        x = self.listen(sound.unsqueeze(1))
        steered = [self.steering[0](x, level)]
        for down, steering in zip(self.down, self.steering[1:], strict=True):
            x = down(x)
            steered.append(steering(x, level))
        voice = self.read(mels)
        for up in self.up:
            scale, shift = steered.pop()
            voice = up(voice, scale, shift)
        return self.speak(voice).squeeze(1)

    @torch.no_grad()
    def synthesize(self, mels: Tensor, levels: Sequence[float]) -> Tensor:
        """Speech (batch, samples) in as many steps as there are levels, from almost none to almost one."""
        sound = torch.randn(len(mels), mels.size(2) * math.prod(self.factors), device=mels.device)
        for now, after in pairwise([*levels, 1.0]):
            noise = self.noise_in(sound, mels, sound.new_full((len(mels),), now))
            speech = (sound - math.sqrt(1 - now**2) * noise) / now
            sound = after * speech.clamp(-1, 1) + math.sqrt(1 - after**2) * noise
        return sound

    def forward(self, mels: Tensor, speech: Tensor) -> tuple[Tensor, Tensor]:
        """The guess of noise that is put into speech (batch, samples) at a level by chance, and how wrong it is."""
        step = torch.randint(1, len(self.keep), (len(speech),), device=speech.device)
        level = torch.lerp(self.keep[step], self.keep[step - 1], torch.rand_like(self.keep[step]))
        noise = torch.randn_like(speech)
        strength = level.unsqueeze(1)
        guess = self.noise_in(strength * speech + (1 - strength**2).sqrt() * noise, mels, level)
        return guess, F.l1_loss(guess, noise)


class FrameLSTM(nn.Module):
    """Numbers of each frame from those of all frames until it."""

    def __init__(self, n_in: int, dim: int, n_out: int, depth: int, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.lstm = nn.LSTM(n_in, dim, depth, batch_first=True)
        self.project = nn.Linear(dim, n_out)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Numbers (batch, frames, n_out)."""
        hidden, _ = self.lstm(x)
        out = self.project(hidden)
        return out if self.activation is None else self.activation(out)


class TwoScaleDenoiser(nn.Module):
    """Speech without noise, from one LSTM of the whole spectrum and one that sees each frequency with those near it."""

    window: Tensor

    def __init__(
        self, n_fft: int = 64, hop: int = 32, near: int = 4, wide_dim: int = 64, narrow_dim: int = 32, depth: int = 2,
        ahead: int = 2, limit: float = 10.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_fft, self.hop, self.near, self.ahead, self.limit = n_fft, hop, near, ahead, limit
        n_frequencies = n_fft // 2 + 1
        self.register_buffer("window", torch.hann_window(n_fft))
        self.wide = FrameLSTM(n_frequencies, wide_dim, n_frequencies, depth, nn.ReLU())
        self.narrow = FrameLSTM(2 * near + 2, narrow_dim, 2, depth)

    def spectrum(self, sound: Tensor) -> Tensor:
        """The complex spectrum (batch, frequencies, frames)."""
        return torch.stft(sound, self.n_fft, self.hop, window=self.window, return_complex=True)

    def mask(self, loudness: Tensor) -> Tensor:
        """Both parts of the mask, bounded (batch, frequencies, frames, 2), of a spectrum without its phase."""
        later = F.pad(loudness, (0, self.ahead))
        level = later.mean(dim=(1, 2), keepdim=True) + 1e-5
        overview = self.wide((later / level).transpose(1, 2)).transpose(1, 2)
        around = F.pad(later.transpose(1, 2), (self.near, self.near), mode="reflect")
        around = around.unfold(2, 2 * self.near + 1, 1).transpose(1, 2)
        local = torch.cat([around, overview.unsqueeze(-1)], dim=-1)
        local = local / (local.mean(dim=(2, 3), keepdim=True) + 1e-5)
        of_each = self.narrow(local.flatten(0, 1)).unflatten(0, local.shape[:2])
        return self.limit * torch.tanh(of_each[:, :, self.ahead :] / 20)

    def forward(self, noisy: Tensor, clean: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """The speech (batch, samples); and the loss, if it is known how it is without noise."""
        spectrum = self.spectrum(noisy)
        bounded = self.mask(spectrum.abs())
        unbounded = 2 * self.limit * torch.atanh((bounded / self.limit).clamp(-0.999, 0.999))
        cleaned = spectrum * torch.view_as_complex(unbounded)
        speech = torch.istft(cleaned, self.n_fft, self.hop, window=self.window, length=noisy.size(1))
        if clean is None:
            return speech
        ideal = torch.view_as_real(self.spectrum(clean) / (spectrum + 1e-8))
        return speech, F.mse_loss(bounded, self.limit * torch.tanh(ideal / (2 * self.limit)))


class SeriesConvs(nn.Sequential):
    """Changes of all series, no larger than one, from what they were around each time."""

    def __init__(self, n_series: int, hidden: int, width: int, dropout: float) -> None:
        super().__init__(
            nn.Conv1d(n_series, hidden, width, padding=width // 2 + 1, padding_mode="replicate"),
            nn.LeakyReLU(0.01),
            nn.Dropout(dropout),
            nn.Conv1d(hidden, n_series, 3),
            nn.Tanh(),
        )


class EvenOddExchange(nn.Module):
    """The values at even and at odd times, each changed by what the others say."""

    def __init__(self, n_series: int, hidden: int, width: int, dropout: float) -> None:
        super().__init__()
        parts = ("even_factor", "odd_factor", "even_term", "odd_term")
        self.convs = nn.ModuleDict({part: SeriesConvs(n_series, hidden, width, dropout) for part in parts})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both halves (batch, series, times / 2)."""
        even, odd = x.unflatten(2, (-1, 2)).unbind(dim=3)
        new_even = even * self.convs["even_factor"](odd).exp()
        new_odd = odd * self.convs["odd_factor"](even).exp()
        return new_even + self.convs["even_term"](new_odd), new_odd - self.convs["odd_term"](new_even)


class HalvingTree(nn.Module):
    """A tree of exchanges, in which each half is halved again, and all times are put in order in the end."""

    def __init__(self, depth: int, n_series: int, hidden: int, width: int, dropout: float) -> None:
        super().__init__()
        self.exchange = EvenOddExchange(n_series, hidden, width, dropout)
        self.halves = nn.ModuleList()
        if depth > 1:
            self.halves.extend(HalvingTree(depth - 1, n_series, hidden, width, dropout) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """The series (batch, series, times)."""
        even_and_odd = self.exchange(x)
        if self.halves:
            even_and_odd = [tree(half) for tree, half in zip(self.halves, even_and_odd, strict=True)]
        return torch.stack([*even_and_odd], dim=3).flatten(2)


class LoadForecast(nn.Module):
    """The next values of some series, as a first forecast and one that is made of it."""

    def __init__(
        self, n_series: int = 7, n_times: int = 48, horizon: int = 16, depth: int = 3, growth: float = 2,
        width: int = 5, n_stacks: int = 2, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.horizon = horizon
        hidden = int(growth * n_series)
        self.trees = nn.ModuleList(HalvingTree(depth, n_series, hidden, width, dropout) for _ in range(n_stacks))
        self.heads = nn.ModuleList(nn.Linear(n_times, horizon, bias=False) for _ in range(n_stacks))

    def forward(self, past: Tensor, future: Tensor | None = None) -> dict[str, Tensor]:
        """Forecasts (batch, horizon, series), the last and those before it, and the loss if the future is known."""
        x = past.transpose(1, 2)
        variance, mean = torch.var_mean(x, dim=2, keepdim=True)
        deviation = torch.sqrt(variance + 1e-5)
        x = (x - mean) / deviation
        forecasts = []
        for tree, head in zip(self.trees, self.heads, strict=True):
            forecast = head(x + tree(x))
            forecasts.append((forecast * deviation + mean).transpose(1, 2))
            x = torch.cat([x[..., self.horizon :], forecast], dim=2)
        out = {"forecast": forecasts[-1], "before": torch.stack(forecasts[:-1])}
        if future is not None:
            out["loss"] = torch.stack([F.l1_loss(forecast, future) for forecast in forecasts]).sum()
        return out


def _looked_at() -> Tensor:
    return torch.cat([F.pad(torch.randint(1, 200, (1, 9)), (3, 0)), torch.randint(1, 200, (1, 12))])


def _moments() -> Tensor:
    return torch.randint(1, 10_000, (2, 12)).cumsum(dim=1)


def _share_of(share: float, *shape: int) -> Callable[[], Tensor]:
    return lambda: (torch.rand(*shape) < share).float()


NETS = [
    Entry(
        "own/hstu",
        ShopRecommender,
        given(_looked_at, lambda: torch.randint(0, 5, (2, 12)), _moments, lambda: torch.randint(1, 200, (20,))),
    ),
    Entry(
        "own/csdi",
        SensorImputer,
        given(
            numbers(2, 6, 24),
            _share_of(0.8, 2, 6, 24),
            _share_of(0.2, 2, 6, 24),
            lambda: torch.arange(24.0).repeat(2, 1),
        ),
    ),
    Entry("own/dccrn", SpeechCleaner, given(numbers(2, 1600), numbers(2, 1600))),
    Entry(
        "own/mixture_of_depths",
        ThriftyLanguageModel,
        given(lambda: torch.randint(0, 120, (2, 24)), lambda: torch.randint(-1, 120, (2, 24))),
    ),
    Entry("own/wavegrad", VoiceGradient, given(numbers(2, 32, 12), lambda: torch.rand(2, 384) * 2 - 1)),
    Entry("own/fullsubnet", TwoScaleDenoiser, given(numbers(2, 960), numbers(2, 960))),
    Entry("own/scinet", LoadForecast, given(numbers(2, 48, 7), numbers(2, 16, 7))),
]
