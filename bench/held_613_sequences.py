"""Nets of sales, proteins, questions, voices, bytes and flows as repositories write them, of the sixteenth held list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_613_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.distributions import NegativeBinomial

from tests.corpus.entry import Entry, given


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
        """What is known of each day beforehand (batch, days + horizon, n_facts + item_dim)."""
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


def _sales() -> Sales:
    return Sales(torch.poisson(torch.full((3, 21), 4.0)), torch.randint(0, 20, (3,)), torch.randn(3, 28, 5))


def _family() -> Tensor:
    family = torch.randint(0, 21, (1, 18)).repeat(12, 1)
    return torch.where(torch.rand(12, 18) < 0.4, torch.randint(0, 21, (12, 18)), family)


NETS = [
    Entry("own/deepar", SalesForecaster, given(_sales)),
    Entry("own/trrosetta", FoldGeometry, given(_family)),
]
