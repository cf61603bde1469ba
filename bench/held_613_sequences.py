"""Nets of sales, proteins, questions, voices, bytes and flows as repositories write them, of the sixteenth list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_613_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.distributions import NegativeBinomial
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.corpus.entry import Entry, given, numbers, words


class Sales(NamedTuple):
    """Items that were sold on each day (batch, days), what they are, and what is known of past and future days.

    The latter has more days than were sold on, and is (batch, days + horizon, facts).
    """

    sold: Tensor
    item: Tensor
    calendar: Tensor


class CountHead(nn.Module):
    """Distributions of whole numbers, for items of which few or many are sold."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mean = nn.Linear(dim, 1)
        self.spread = nn.Linear(dim, 1)

    def forward(self, state: Tensor, level: Tensor) -> NegativeBinomial:
        """A distribution for each state (batch, …, dim), around the level of its item (batch, …)."""
        mean = level * F.softplus(self.mean(state).squeeze(-1))
        spread = F.softplus(self.spread(state).squeeze(-1)) / level.sqrt() + 1e-4
        # of mean m and variance m + spread * m^2
        return NegativeBinomial(1 / spread, logits=(mean * spread + 1e-8).log())


class SalesForecaster(nn.Module):
    """Forecasts as many futures, each of which is drawn day by day with what it drew the day before."""

    levels: Tensor

    def __init__(
        self, n_items: int = 20, item_dim: int = 6, n_facts: int = 5, dim: int = 40, n_layers: int = 3,
        dropout: float = 0.1, n_futures: int = 30, levels: Sequence[float] = (0.1, 0.5, 0.9),
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_futures = n_futures
        self.register_buffer("levels", torch.tensor(levels))
        self.items = nn.Embedding(n_items, item_dim)
        self.memory = nn.LSTM(1 + n_facts + item_dim, dim, n_layers, batch_first=True, dropout=dropout)
        self.counts = CountHead(dim)

    def facts(self, sales: Sales) -> Tensor:
        """Facts of each day that are known beforehand (batch, days + horizon, n_facts + item_dim)."""
        item = self.items(sales.item).unsqueeze(1)
        return torch.cat([sales.calendar, item.expand(-1, sales.calendar.size(1), -1)], dim=-1)

    def forward(self, sales: Sales) -> dict[str, Tensor]:
        """Quantiles of the sales of the coming days (batch, horizon, levels), and the loss of the past ones."""
        facts = self.facts(sales)
        n_days = sales.sold.size(1)
        level = 1 + sales.sold.mean(dim=1, keepdim=True)
        day_before = F.pad(sales.sold[:, :-1], (1, 0)) / level
        states, memory = self.memory(torch.cat([day_before.unsqueeze(-1), facts[:, :n_days]], dim=-1))
        loss = -self.counts(states, level).log_prob(sales.sold).mean()
        futures = self.dream(sales.sold[:, -1:], facts[:, n_days:], level, memory)
        return {"quantiles": futures.quantile(self.levels, dim=1).movedim(0, -1), "loss": loss}

    @torch.no_grad()
    def dream(self, sold: Tensor, facts: Tensor, level: Tensor, memory: tuple[Tensor, Tensor]) -> Tensor:
        """Futures of each item (batch, futures, horizon)."""
        sold, facts, level = (it.repeat_interleave(self.n_futures, dim=0) for it in (sold, facts, level))
        hidden, cell = (it.repeat_interleave(self.n_futures, dim=1) for it in memory)
        days = []
        for fact in facts.split(1, dim=1):
            day = torch.cat([(sold / level).unsqueeze(-1), fact], dim=-1)
            state, (hidden, cell) = self.memory(day, (hidden, cell))
            sold = self.counts(state, level).sample()
            days.append(sold)
        return torch.cat(days, dim=1).unflatten(0, (-1, self.n_futures))


class FamilyStatistics(nn.Module):
    """Numbers of a family of proteins: which residues are where, and which pairs of places change together."""

    def __init__(self, n_residues: int, alike: float, ridge: float) -> None:
        super().__init__()
        self.n_residues, self.alike, self.ridge = n_residues, alike, ridge

    @property
    def n_features(self) -> int:
        """The features of a pair: couplings, how strong they are, and what is known of its two places."""
        return self.n_residues**2 + 1 + 2 * (2 * self.n_residues + 1)

    def member_weights(self, family: Tensor) -> Tensor:
        """The weight of each member, which is less the more others are nearly the same."""
        same = (family[:, None] == family[None, :]).float().mean(dim=-1)
        return 1 / (same > self.alike).sum(dim=1)

    def couplings(self, letters: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Partial correlations of all pairs (length, length, residues^2), and their strength (length, length, 1)."""
        n_members, length, n_residues = letters.shape
        x = letters.reshape(n_members, -1)
        share = (weights / weights.sum()).unsqueeze(1)
        x = (x - (share * x).sum(dim=0)) * share.sqrt()
        covariance = x.T @ x + self.ridge / weights.sum().sqrt() * torch.eye(x.size(1), device=x.device)
        inverse = torch.linalg.inv(covariance).view(length, n_residues, length, n_residues).transpose(1, 2)
        # the last residue stands for a gap, and two gaps say nothing of the fold
        strength = torch.linalg.matrix_norm(inverse[..., :-1, :-1])
        strength = strength * (1 - torch.eye(length, device=x.device))
        expected = strength.mean(dim=0, keepdim=True) * strength.mean(dim=1, keepdim=True) / strength.mean()
        return inverse.flatten(2), (strength - expected).unsqueeze(-1)

    def forward(self, family: Tensor) -> Tensor:
        """Features of pairs (1, n_features, length, length) of members (members, length), the first of them the one."""
        letters = F.one_hot(family, self.n_residues).float()
        weights = self.member_weights(family)
        profile = torch.einsum("ml,mlr->lr", weights[:, None].expand_as(family), letters) / weights.sum()
        entropy = torch.special.entr(profile).sum(dim=-1, keepdim=True)
        place = torch.cat([letters[0], profile, entropy], dim=-1)
        rows, columns = place.unsqueeze(1), place.unsqueeze(0)
        pairs = torch.broadcast_tensors(rows, columns)
        return torch.cat([*self.couplings(letters, weights), *pairs], dim=-1).movedim(-1, 0).unsqueeze(0)


class PairConvs(nn.Module):
    """Two convolutions of pairs, the further apart the larger the dilation, added to the input."""

    def __init__(self, dim: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.near = nn.Conv2d(dim, dim, 3, padding=dilation, dilation=dilation)
        self.far = nn.Conv2d(dim, dim, 3, padding=dilation, dilation=dilation)
        self.near_norm, self.far_norm = (nn.InstanceNorm2d(dim, affine=True) for _ in range(2))
        self.dropout = nn.Dropout2d(dropout)

    def forward(self, pairs: Tensor) -> Tensor:
        """Pairs of the same shape."""
        change = self.dropout(F.elu(self.near_norm(self.near(pairs))))
        return F.elu(pairs + self.far_norm(self.far(change)))


class FoldGeometry(nn.Module):
    """Distances and angles between the residues of a protein, each as a share of every bin."""

    def __init__(
        self, n_residues: int = 21, dim: int = 32, dilations: Sequence[int] = (1, 2, 4, 8, 16), n_rounds: int = 2,
        dropout: float = 0.15, alike: float = 0.8, ridge: float = 4.5,
    ) -> None:  # fmt: skip
        super().__init__()
        self.statistics = FamilyStatistics(n_residues, alike, ridge)
        self.enter = nn.Sequential(
            nn.Conv2d(self.statistics.n_features, dim, 1), nn.InstanceNorm2d(dim, affine=True), nn.ELU()
        )
        self.trunk = nn.Sequential(*(PairConvs(dim, it, dropout) for _ in range(n_rounds) for it in dilations))
        # what holds for both directions is learned of pairs that look the same from both ends
        self.directed = nn.ModuleDict({"theta": nn.Conv2d(dim, 25, 1), "phi": nn.Conv2d(dim, 13, 1)})
        self.mutual = nn.ModuleDict({"distance": nn.Conv2d(dim, 37, 1), "omega": nn.Conv2d(dim, 25, 1)})

    def forward(self, family: Tensor) -> dict[str, Tensor]:
        """Shares of the bins (1, bins, length, length) of each kind of distance or angle."""
        pairs = self.trunk(self.enter(self.statistics(family)))
        shares = {name: head(pairs).softmax(dim=1) for name, head in self.directed.items()}
        both_ways = (pairs + pairs.mT) / 2
        return shares | {name: head(both_ways).softmax(dim=1) for name, head in self.mutual.items()}


class TableQuestion(NamedTuple):
    """Questions on tables: words (batch, words), and names of columns (batch, columns, words); zeros are padding."""

    words: Tensor
    columns: Tensor


class PhraseReader(nn.Module):
    """States of the words of phrases of any length, read in both directions."""

    def __init__(self, word_dim: int, dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(word_dim, dim // 2, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, vectors: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """States of words (phrases, words, dim), and of whole phrases (phrases, dim)."""
        n_words = there.sum(dim=1).cpu()
        packed = pack_padded_sequence(vectors, n_words, batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        words, _ = pad_packed_sequence(states, batch_first=True, total_length=vectors.size(1))
        return words, torch.cat([last[-2], last[-1]], dim=-1)


class SlotReader(nn.Module):
    """Features of columns for one slot of a query, from what a question says of each of them."""

    def __init__(self, word_dim: int, dim: int) -> None:
        super().__init__()
        self.question, self.names = PhraseReader(word_dim, dim), PhraseReader(word_dim, dim)
        self.relevance = nn.Linear(dim, dim, bias=False)
        self.from_question, self.from_name = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)

    def forward(self, asked: TableQuestion, vectors: nn.Embedding) -> tuple[Tensor, Tensor]:
        """Features of columns (batch, columns, dim), and states of the words of the question (batch, words, dim)."""
        words, _ = self.question(vectors(asked.words), asked.words > 0)
        every_name = asked.columns.flatten(0, 1)
        _, names = self.names(vectors(every_name), every_name > 0)
        names = names.unflatten(0, asked.columns.shape[:2])
        scores = torch.einsum("bcd,bwd->bcw", self.relevance(names), words)
        share = scores.masked_fill((asked.words == 0).unsqueeze(1), -torch.inf).softmax(dim=-1)
        return torch.tanh(self.from_question(share @ words) + self.from_name(names)), words


class ValueCopier(nn.Module):
    """Values of conditions, copied word by word from the question."""

    def __init__(self, dim: int, n_copied: int) -> None:
        super().__init__()
        self.n_copied = n_copied
        self.start = nn.Parameter(0.1 * torch.randn(dim))
        self.step = nn.GRUCell(dim, dim)
        self.of_word, self.of_state = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.score = nn.Linear(dim, 1)

    def forward(self, condition: Tensor, words: Tensor, absent: Tensor) -> Tensor:
        """Logits (conditions, copied words, words) of which word comes next, for conditions (conditions, dim)."""
        keys = self.of_word(words)
        state, copied = condition, self.start.expand_as(condition)
        pointers = []
        for _ in range(self.n_copied):
            state = self.step(copied, state)
            logits = self.score(torch.tanh(keys + self.of_state(state).unsqueeze(1))).squeeze(-1)
            pointers.append(logits.masked_fill(absent, -torch.inf))
            best = pointers[-1].argmax(dim=1)
            copied = words[torch.arange(len(words), device=words.device), best]
        return torch.stack(pointers, dim=1)


class QuerySketch(nn.Module):
    """A query whose form is given: only its slots are filled from a question, and none waits for another's words."""

    def __init__(
        self, n_words: int = 300, word_dim: int = 24, dim: int = 32, n_aggregates: int = 6, n_operators: int = 3,
        n_conditions: int = 2, n_copied: int = 3,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_conditions = n_conditions
        self.vectors = nn.Embedding(n_words, word_dim, padding_idx=0)
        self.readers = nn.ModuleDict(
            {slot: SlotReader(word_dim, dim) for slot in ("select", "aggregate", "where", "operator", "value")}
        )
        self.select, self.where = nn.Linear(dim, 1), nn.Linear(dim, 1)
        self.aggregate = nn.Linear(dim, n_aggregates)
        self.how_many = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, n_conditions + 1))
        self.operator = nn.Linear(dim, n_operators)
        self.copier = ValueCopier(dim, n_copied)

    def forward(self, asked: TableQuestion) -> dict[str, Tensor]:
        """Logits of what fills each slot, and the columns that conditions are on (batch, conditions)."""
        features = {slot: reader(asked, self.vectors) for slot, reader in self.readers.items()}
        select = self.select(features["select"][0]).squeeze(-1)
        where = self.where(features["where"][0]).squeeze(-1)
        on = where.topk(self.n_conditions, dim=1).indices

        def at(slot: str, columns: Tensor) -> Tensor:
            return features[slot][0].take_along_dim(columns.unsqueeze(-1), dim=1)

        wanted = at("aggregate", select.argmax(dim=1, keepdim=True)).squeeze(1)
        in_all = (where.softmax(dim=1).unsqueeze(1) @ features["where"][0]).squeeze(1)
        words = features["value"][1].repeat_interleave(self.n_conditions, dim=0)
        absent = (asked.words == 0).repeat_interleave(self.n_conditions, dim=0)
        values = self.copier(at("value", on).flatten(0, 1), words, absent)
        return {
            "select": select,
            "aggregate": self.aggregate(wanted),
            "where": where,
            "count": self.how_many(in_all),
            "on": on,
            "operator": self.operator(at("operator", on)),
            "values": values.unflatten(0, on.shape),
        }


class SpectrumConvs(nn.Sequential):
    """Convolutions through time, each with a norm and an activation."""

    def __init__(self, widths: Sequence[int], activation: type[nn.Module], width: int = 5) -> None:
        layers = list[nn.Module]()
        for n_in, n_out in pairwise(widths):
            layers += [nn.Conv1d(n_in, n_out, width, padding="same"), nn.BatchNorm1d(n_out), activation()]
        super().__init__(*layers)


class VoicePrint(nn.Module):
    """The sound of a voice, whatever it says, as a vector of unit length."""

    def __init__(self, n_bands: int, dim: int, print_dim: int) -> None:
        super().__init__()
        self.listen = nn.LSTM(n_bands, dim, num_layers=2, batch_first=True)
        self.embed = nn.Linear(dim, print_dim)

    def forward(self, spectrum: Tensor) -> Tensor:
        """Vectors (batch, print_dim) of spectra (batch, frames, bands)."""
        return F.normalize(self.embed(self.listen(spectrum)[0][:, -1]), dim=-1)


class ContentSqueeze(nn.Module):
    """The words of a recording, in so few numbers that the voice does not fit in."""

    def __init__(self, n_bands: int, print_dim: int, dim: int, code_dim: int, hop: int) -> None:
        super().__init__()
        self.hop = hop
        self.convs = SpectrumConvs([n_bands + print_dim, dim, dim, dim], nn.ReLU)
        self.forwards = nn.LSTM(dim, code_dim, batch_first=True)
        self.backwards = nn.LSTM(dim, code_dim, batch_first=True)

    def forward(self, spectrum: Tensor, voice: Tensor) -> Tensor:
        """Codes (batch, frames / hop, 2 * code_dim)."""
        known = voice.unsqueeze(1).expand(-1, spectrum.size(1), -1)
        x = self.convs(torch.cat([spectrum, known], dim=-1).mT).mT
        past, _ = self.forwards(x)
        future, _ = self.backwards(x.flip(1))
        # of each stretch what was read by its end, from either side
        return torch.cat([past[:, self.hop - 1 :: self.hop], future.flip(1)[:, :: self.hop]], dim=-1)


class SpectrumWriter(nn.Module):
    """Spectra of codes that are spoken by a voice."""

    def __init__(self, n_in: int, n_bands: int, dim: int) -> None:
        super().__init__()
        self.before = nn.LSTM(n_in, dim, batch_first=True)
        self.convs = SpectrumConvs([dim, dim, dim, dim], nn.ReLU)
        self.after = nn.LSTM(dim, 2 * dim, num_layers=2, batch_first=True)
        self.bands = nn.Linear(2 * dim, n_bands)

    def forward(self, codes: Tensor) -> Tensor:
        """Spectra (batch, frames, bands)."""
        x = self.convs(self.before(codes)[0].mT).mT
        return self.bands(self.after(x)[0])


class VoiceSwap(nn.Module):
    """A speaker's words in the voice of another, of whom a single recording is enough."""

    def __init__(
        self, n_bands: int = 40, voice_dim: int = 24, print_dim: int = 16, dim: int = 32, code_dim: int = 4,
        hop: int = 8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.hop = hop
        self.voice = VoicePrint(n_bands, voice_dim, print_dim).requires_grad_(False)  # learned from other data
        self.content = ContentSqueeze(n_bands, print_dim, dim, code_dim, hop)
        self.writer = SpectrumWriter(2 * code_dim + print_dim, n_bands, dim)
        self.polish = nn.Sequential(
            SpectrumConvs([n_bands, dim, dim, dim], nn.Tanh),
            nn.Conv1d(dim, n_bands, 5, padding="same"),
            nn.BatchNorm1d(n_bands),
        )

    def speak(self, codes: Tensor, voice: Tensor) -> tuple[Tensor, Tensor]:
        """A draft and the final spectra (both batch, frames, bands)."""
        frames = codes.repeat_interleave(self.hop, dim=1)
        draft = self.writer(torch.cat([frames, voice.unsqueeze(1).expand(-1, frames.size(1), -1)], dim=-1))
        return draft, draft + self.polish(draft.mT).mT

    def forward(self, spectrum: Tensor, other: Tensor) -> dict[str, Tensor]:
        """The words of `spectrum` in the voice of `other`, and the losses of saying them in their own voice."""
        own = self.voice(spectrum)
        codes = self.content(spectrum, own)
        draft, same = self.speak(codes, own)
        losses = {
            "draft_loss": F.mse_loss(draft, spectrum),
            "loss": F.mse_loss(same, spectrum),
            "content_loss": F.l1_loss(self.content(same, own), codes),
        }
        return {"swapped": self.speak(codes, self.voice(other))[1], **losses}


class ByteBlock(nn.Module):
    """Causal attention and a feed-forward layer, each after a norm and added to its input."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.norm_attn, self.norm_ff = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, length, dim)."""
        qkv = self.to_qkv(self.norm_attn(x)).unflatten(-1, (3, self.n_heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        x = x + self.to_out(seen.transpose(1, 2).flatten(2))
        return x + self.ff(self.norm_ff(x))


class ByteLanguageModel(nn.Module):
    """Bytes that are read a patch at a time by a large model and spelled within each patch by a small one."""

    def __init__(
        self, dim: int = 96, local_dim: int = 32, depth: int = 4, local_depth: int = 2, n_heads: int = 4,
        patch: int = 4, n_patches: int = 16, n_bytes: int = 256, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.patch = patch
        part = dim // patch
        self.bytes = nn.Embedding(n_bytes, part)
        self.place = nn.Embedding(n_patches * patch, part)
        self.start = nn.Parameter(torch.randn(dim))
        self.large = nn.Sequential(*(ByteBlock(dim, n_heads, dropout) for _ in range(depth)), nn.LayerNorm(dim))
        self.narrow = nn.Linear(part, local_dim)
        self.local_bytes = nn.Embedding(n_bytes, local_dim)
        self.local_start = nn.Parameter(torch.randn(local_dim))
        self.small = nn.Sequential(
            *(ByteBlock(local_dim, n_heads, dropout) for _ in range(local_depth)), nn.LayerNorm(local_dim)
        )
        self.head = nn.Linear(local_dim, n_bytes)

    def context(self, text: Tensor) -> Tensor:
        """Features of the patches before each one (batch, patches, dim); of the first those of a learned start."""
        x = self.bytes(text) + self.place(torch.arange(text.size(1), device=text.device))
        x = x.unflatten(1, (-1, self.patch)).flatten(2)
        start = self.start.expand(text.size(0), 1, -1)
        return self.large(torch.cat([start, x[:, :-1]], dim=1))

    def forward(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (batch, length, bytes) and the loss in bits a byte, of text (batch, length) in whole patches."""
        told = self.narrow(self.context(text).unflatten(2, (self.patch, -1)))
        spelled = self.local_bytes(text.unflatten(1, (-1, self.patch)))[:, :, :-1]
        start = self.local_start.expand(*spelled.shape[:2], 1, -1)
        x = told + torch.cat([start, spelled], dim=2)
        logits = self.head(self.small(x.flatten(0, 1))).view(*text.shape, -1)
        return logits, F.cross_entropy(logits.flatten(0, 1), text.flatten()) / math.log(2)


class SmoothMLP(nn.Module):
    """Linear layers with tanh between, of inputs that are scaled to -1 … 1."""

    low: Tensor
    high: Tensor

    def __init__(self, low: Sequence[float], high: Sequence[float], n_out: int, dim: int, depth: int) -> None:
        super().__init__()
        self.register_buffer("low", torch.tensor(low))
        self.register_buffer("high", torch.tensor(high))
        sizes = [len(low), *[dim] * depth, n_out]
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        for layer in layers:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (points, n_out)."""
        x = 2 * (x - self.low) / (self.high - self.low) - 1
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def slope(of: Tensor, by: Tensor) -> Tensor:
    """The derivative of each point's value by that point's coordinate (points, 1)."""
    return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]


class FlowSolver(nn.Module):
    """A flow around a cylinder of which a few velocities are known, and that obeys the Navier-Stokes equations.

    Velocities are derivatives of a stream function, so that the flow neither gains nor loses mass.
    """

    def __init__(self, dim: int = 20, depth: int = 8, physics_weight: float = 1.0) -> None:
        super().__init__()
        self.physics_weight = physics_weight
        self.net = SmoothMLP((1.0, -2.0, 0.0), (8.0, 2.0, 20.0), 2, dim, depth)
        self.inertia = nn.Parameter(torch.ones(()))
        self.viscosity = nn.Parameter(torch.tensor(0.01))

    @torch.enable_grad()
    def forward(self, x: Tensor, y: Tensor, t: Tensor, known_u: Tensor, known_v: Tensor) -> dict[str, Tensor]:
        """Velocities and pressure at points (points, 1) of space and time, and how far they are from what is known."""
        x, y, t = (coordinate.detach().requires_grad_() for coordinate in (x, y, t))
        stream, pressure = self.net(torch.cat([x, y, t], dim=1)).split(1, dim=1)
        u, v = slope(stream, y), -slope(stream, x)
        u_x, u_y, v_x, v_y = slope(u, x), slope(u, y), slope(v, x), slope(v, y)
        rest_u = (
            slope(u, t) + self.inertia * (u * u_x + v * u_y) + slope(pressure, x)
            - self.viscosity * (slope(u_x, x) + slope(u_y, y))
        )  # fmt: skip
        rest_v = (
            slope(v, t) + self.inertia * (u * v_x + v * v_y) + slope(pressure, y)
            - self.viscosity * (slope(v_x, x) + slope(v_y, y))
        )  # fmt: skip
        data = F.mse_loss(u, known_u) + F.mse_loss(v, known_v)
        physics = rest_u.square().mean() + rest_v.square().mean()
        return {"u": u, "v": v, "pressure": pressure, "loss": data + self.physics_weight * physics}


def _sales() -> Sales:
    return Sales(torch.poisson(torch.full((3, 21), 4.0)), torch.randint(0, 20, (3,)), torch.randn(3, 28, 5))


def _family() -> Tensor:
    family = torch.randint(0, 21, (1, 18)).repeat(12, 1)
    return torch.where(torch.rand(12, 18) < 0.4, torch.randint(0, 21, (12, 18)), family)


def _questions() -> TableQuestion:
    words, columns = torch.randint(1, 300, (2, 11)), torch.randint(1, 300, (2, 5, 3))
    words[1, 8:] = 0
    columns[:, ::2, 2] = 0
    return TableQuestion(words, columns)


NETS = [
    Entry("own/deepar", SalesForecaster, given(_sales)),
    Entry("own/trrosetta", FoldGeometry, given(_family)),
    Entry("own/sqlnet", QuerySketch, given(_questions)),
    Entry("own/autovc", VoiceSwap, given(numbers(2, 64, 40), numbers(2, 48, 40))),
    Entry("own/megabyte", ByteLanguageModel, given(words(2, 32))),
    Entry("own/pinn", FlowSolver, given(*(numbers(64, 1) for _ in range(5)))),
]
