"""Nets of shops, speech, games, films, pitches and plans as repositories write them, of the fifteenth list kept back.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_577_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.distributions import Categorical

from tests.corpus.entry import Entry, given, numbers, whole


class InterestRouter(nn.Module):
    """Interests of a shopper, as vectors to which the items of the past are routed by how well they agree."""

    def __init__(self, dim: int, n_interests: int, n_rounds: int) -> None:
        super().__init__()
        self.n_interests, self.n_rounds = n_interests, n_rounds
        self.vote = nn.Linear(dim, dim, bias=False)  # the same for all interests, as histories differ in length

    def how_many(self, present: Tensor) -> Tensor:
        """The interests that a history of that length is taken to have (batch, 1, interests)."""
        wanted = present.sum(dim=1).clamp(min=1).log2().floor().clamp(1, self.n_interests)
        return (torch.arange(self.n_interests, device=present.device) < wanted[:, None]).unsqueeze(1)

    @staticmethod
    def shorten(vectors: Tensor) -> Tensor:
        """Vectors of the same direction that are shorter than one."""
        length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
        return vectors * (length / (1 + length.square()))

    def forward(self, items: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Interests (batch, interests, dim), and which of them there are (batch, interests)."""
        votes = self.vote(items)
        there = self.how_many(present)
        # no interest is preferred, but they must not all begin alike
        agreement = torch.randn(*items.shape[:2], self.n_interests, device=items.device)
        interests = self.gather(votes, agreement, there, present)
        for _ in range(self.n_rounds - 1):
            agreement = agreement + torch.einsum("bld,bkd->blk", votes.detach(), interests)
            interests = self.gather(votes, agreement, there, present)
        return interests, there.squeeze(1)

    def gather(self, votes: Tensor, agreement: Tensor, there: Tensor, present: Tensor) -> Tensor:
        """The interests when each item is shared by its agreement with them."""
        shares = agreement.masked_fill(~there, -1e4).softmax(dim=-1) * present.unsqueeze(-1)
        return self.shorten(shares.mT @ votes)


class Shopper(NamedTuple):
    """Features of shoppers: who they are (batch, fields), what they looked at (batch, items), zeros are padding."""

    traits: Tensor
    history: Tensor


class InterestRetrieval(nn.Module):
    """Items for shoppers of many interests, each found by the interest that it is nearest to."""

    def __init__(
        self, n_items: int = 200, field_sizes: Sequence[int] = (8, 5, 12), dim: int = 16, trait_dim: int = 6,
        n_interests: int = 4, n_rounds: int = 3, hidden_dim: int = 48, sharpness: float = 2.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.sharpness = sharpness
        self.items = nn.Embedding(n_items, dim, padding_idx=0)
        self.traits = nn.ModuleList(nn.Embedding(size, trait_dim) for size in field_sizes)
        self.router = InterestRouter(dim, n_interests, n_rounds)
        self.tower = nn.Sequential(
            nn.Linear(dim + trait_dim * len(field_sizes), hidden_dim), nn.PReLU(), nn.Linear(hidden_dim, dim)
        )

    def interests(self, shopper: Shopper) -> tuple[Tensor, Tensor]:
        """Vectors of unit length (batch, interests, dim), and which of them there are (batch, interests)."""
        found, there = self.router(self.items(shopper.history), shopper.history > 0)
        who = torch.cat([field(shopper.traits[:, i]) for i, field in enumerate(self.traits)], dim=1)
        of_both = torch.cat([found, who.unsqueeze(1).expand(-1, found.size(1), -1)], dim=-1)
        return F.normalize(self.tower(of_both), dim=-1), there

    @torch.no_grad()
    def recommend(self, shopper: Shopper, count: int = 10) -> Tensor:
        """The best items that the shopper did not look at yet (batch, count)."""
        vectors, there = self.interests(shopper)
        nearness = vectors @ F.normalize(self.items.weight, dim=-1).T
        score = nearness.masked_fill(~there.unsqueeze(-1), -math.inf).amax(dim=1)
        return score.scatter(1, shopper.history, -math.inf).topk(count).indices

    def forward(self, shopper: Shopper, bought: Tensor, others: Tensor, warmth: float = 0.1) -> dict[str, Tensor]:
        """The loss of telling what was bought (batch) from other items (others), and the weights of the interests."""
        vectors, there = self.interests(shopper)
        wanted = F.normalize(self.items(bought), dim=-1)
        nearness = torch.einsum("bkd,bd->bk", vectors, wanted).masked_fill(~there, -math.inf)
        weights = (nearness * self.sharpness / warmth).softmax(dim=1)  # the sharper, the more of the nearest alone
        taste = (weights.unsqueeze(-1) * vectors).sum(dim=1)
        right = (taste * wanted).sum(dim=1, keepdim=True)
        wrong = taste @ F.normalize(self.items(others), dim=-1).T
        wrong = wrong.masked_fill(others == bought[:, None], -math.inf)
        logits = torch.cat([right, wrong], dim=1) / warmth
        return {"loss": (logits.logsumexp(dim=1) - logits[:, 0]).mean(), "weights": weights}


class ChannelNorm(nn.GroupNorm):
    """A norm of all channels and moments of a sound together."""

    def __init__(self, channels: int) -> None:
        super().__init__(1, channels)


class SoundFrames(nn.Module):
    """Frames of a hundredth of a second each, from a wave of 16000 numbers a second."""

    def __init__(self, dim: int, windows: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for i, (width, hop) in enumerate(windows):
            conv = nn.Conv1d(dim if i else 1, dim, width, hop, padding=(width - hop + 1) // 2, bias=False)
            self.layers.append(nn.Sequential(conv, ChannelNorm(dim), nn.ReLU()))

    def forward(self, wave: Tensor) -> Tensor:
        """Frames (batch, frames, dim)."""
        x = wave.unsqueeze(1)
        for layer in self.layers:
            x = layer(x)
        return x.mT


class FutureGuess(nn.Module):
    """A guess of a frame some steps ahead, of the context alone, that is rated among frames of other sounds."""

    def __init__(self, context_dim: int, dim: int, ahead: int) -> None:
        super().__init__()
        self.ahead = ahead
        self.guess = nn.Linear(context_dim, dim, bias=False)

    def forward(self, context: Tensor, frames: Tensor) -> tuple[Tensor, Tensor]:
        """The loss, and the share of the frames that were found among those of all sounds at the same moment."""
        guessed, actual = self.guess(context[:, : -self.ahead]), frames[:, self.ahead :]
        scores = torch.einsum("itd,jtd->tij", guessed, actual)
        own = torch.arange(len(frames), device=frames.device).expand(scores.size(0), -1)
        loss = F.cross_entropy(scores.flatten(0, 1), own.flatten())
        return loss, (scores.argmax(dim=-1) == own).float().mean()


class SoundPredictor(nn.Module):
    """Features of speech without labels, which are good if they tell what comes next."""

    def __init__(
        self, dim: int = 32, context_dim: int = 48, n_ahead: int = 4,
        windows: Sequence[tuple[int, int]] = ((10, 5), (8, 4), (4, 2), (4, 2), (4, 2)),
        n_speakers: int = 12,
    ) -> None:  # fmt: skip
        super().__init__()
        self.frames = SoundFrames(dim, windows)
        self.history = nn.GRU(dim, context_dim, batch_first=True)
        self.guesses = nn.ModuleList(FutureGuess(context_dim, dim, ahead) for ahead in range(1, n_ahead + 1))
        self.speaker = nn.Linear(context_dim, n_speakers)  # only looks at what was learned, without changing it

    def forward(self, wave: Tensor, speaker: Tensor | None = None) -> dict[str, Tensor]:
        """The context (batch, frames, context_dim), the loss, hits for each step ahead, and the loss of a probe."""
        frames = self.frames(wave)
        context, _ = self.history(frames)
        losses, hits = zip(*(guess(context, frames) for guess in self.guesses), strict=True)
        result = {"context": context, "loss": torch.stack(losses).mean(), "hits": torch.stack(hits)}
        if speaker is not None:
            voices = self.speaker(context.detach().mean(dim=1))
            result["probe_loss"] = F.cross_entropy(voices, speaker)
        return result


class Step(NamedTuple):
    """Steps of a game while an option runs: screens before and after, what was done, what it brought, whether it ended.

    Screens are (batch, 4, height, width), all else (batch).
    """

    before: Tensor
    option: Tensor
    action: Tensor
    reward: Tensor
    after: Tensor
    over: Tensor


class ScreenEncoder(nn.Sequential):
    """Features of the last four screens of a game."""

    def __init__(self, channels: Sequence[int], size: int, dim: int) -> None:
        layers = list[nn.Module]()
        for n_in, n_out in pairwise([4, *channels]):
            layers += [nn.Conv2d(n_in, n_out, 4, stride=2, padding=1), nn.ELU()]
        cells = (size >> len(channels)) ** 2
        super().__init__(*layers, nn.Flatten(), nn.Linear(channels[-1] * cells, dim), nn.ELU())


class OptionPolicies(nn.Module):
    """A policy of actions for each option."""

    def __init__(self, dim: int, n_options: int, n_actions: int, warmth: float) -> None:
        super().__init__()
        self.warmth = warmth
        self.weight = nn.Parameter(torch.randn(n_options, n_actions, dim) / dim**0.5)
        self.bias = nn.Parameter(torch.zeros(n_options, n_actions))

    def forward(self, state: Tensor, option: Tensor) -> Categorical:
        """The actions that the option of each state may take."""
        preferred = torch.einsum("bad,bd->ba", self.weight[option], state) + self.bias[option]
        return Categorical(logits=preferred / self.warmth)


class OptionLearner(nn.Module):
    """A player that chooses options, each with a policy and an end of its own, all learned from the same rewards."""

    def __init__(
        self, channels: Sequence[int] = (8, 16, 16), size: int = 32, dim: int = 48, n_options: int = 4,
        n_actions: int = 6, discount: float = 0.99, linger: float = 0.01, entropy_weight: float = 0.01,
        warmth: float = 1.0, explore: float = 0.05,
    ) -> None:  # fmt: skip
        super().__init__()
        self.discount, self.linger, self.entropy_weight, self.explore = discount, linger, entropy_weight, explore
        self.see = ScreenEncoder(channels, size, dim)
        self.worth = nn.Linear(dim, n_options)
        self.end = nn.Linear(dim, n_options)
        self.policies = OptionPolicies(dim, n_options, n_actions, warmth)
        # rates what comes after, and follows slowly
        self.slow = copy.deepcopy(nn.Sequential(self.see, self.worth)).requires_grad_(False)

    @torch.no_grad()
    def follow(self, rate: float = 0.01) -> None:
        """A small step of the slow critic towards the one that learns."""
        for slow, fast in zip(self.slow.parameters(), [*self.see.parameters(), *self.worth.parameters()], strict=True):
            slow.lerp_(fast, rate)

    @torch.no_grad()
    def act(self, screens: Tensor, running: Tensor) -> tuple[Tensor, Tensor]:
        """The option of each game, which is a new one where the running one ends, and the action."""
        state = self.see(screens)
        worth = self.worth(state)
        ends = torch.bernoulli(self.end(state).sigmoid().gather(1, running[:, None]).squeeze(1)).bool()
        anything = torch.rand_like(worth[:, 0]) < self.explore
        chosen = torch.where(anything, torch.randint_like(running, worth.size(1)), worth.argmax(dim=1))
        option = torch.where(ends, chosen, running)
        return option, self.policies(state, option).sample()

    def target(self, step: Step) -> Tensor:
        """The reward and what is hoped for after it, be it with the same option or with the best."""
        with torch.no_grad():
            later = self.slow(step.after)
            ends = self.end(self.see(step.after)).sigmoid().gather(1, step.option[:, None]).squeeze(1)
            going_on = later.gather(1, step.option[:, None]).squeeze(1)
            hope = torch.lerp(going_on, later.amax(dim=1), ends)
            return step.reward + self.discount * (1 - step.over) * hope

    def forward(self, step: Step) -> dict[str, Tensor]:
        """Losses of the critic, of the policy that acted and of the end of its option."""
        state, target = self.see(step.before), self.target(step)
        worth = self.worth(state)
        mine = worth.gather(1, step.option[:, None]).squeeze(1)
        policy = self.policies(state, step.option)
        surprise = (target - mine).detach()
        policy_loss = -(policy.log_prob(step.action) * surprise + self.entropy_weight * policy.entropy()).mean()
        with torch.no_grad():
            after = self.see(step.after)
            future = self.worth(after)
            lead = future.gather(1, step.option[:, None]).squeeze(1) - future.amax(dim=1) + self.linger
        ends = self.end(after).sigmoid().gather(1, step.option[:, None]).squeeze(1)
        end_loss = (ends * lead * (1 - step.over)).mean()
        return {"critic": F.smooth_l1_loss(mine, target), "policy": policy_loss, "end": end_loss}


class TasteDistribution(nn.Module):
    """A normal distribution of tastes, from what someone has watched."""

    def __init__(self, n_items: int, hidden_dims: Sequence[int], taste_dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([n_items, *hidden_dims]))
        self.mean = nn.Linear(hidden_dims[-1], taste_dim)
        self.log_deviation = nn.Linear(hidden_dims[-1], taste_dim)

    def forward(self, watched: Tensor) -> tuple[Tensor, Tensor]:
        """Means and logarithms of deviations (batch, taste_dim)."""
        # many films count no more than few, and some are hidden so that they must be guessed
        x = self.dropout(F.normalize(watched, dim=1))
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.mean(x), self.log_deviation(x)


class FilmGuess(nn.Module):
    """Probabilities of the films to be the next one, given a taste."""

    def __init__(self, taste_dim: int, hidden_dims: Sequence[int], n_items: int) -> None:
        super().__init__()
        *inner, last = pairwise([taste_dim, *hidden_dims, n_items])
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in inner)
        self.films = nn.Linear(*last)

    def forward(self, taste: Tensor) -> Tensor:
        """Logarithms of shares (batch, items), which are one in sum."""
        for layer in self.hidden:
            taste = torch.tanh(layer(taste))
        return self.films(taste).log_softmax(dim=1)


class FilmRecommender(nn.Module):
    """Films for people by their tastes, which are learned from nothing but who watched which film."""

    n_steps: Tensor

    def __init__(
        self, n_items: int = 300, hidden_dims: Sequence[int] = (64,), taste_dim: int = 24, dropout: float = 0.5,
        strictness: float = 0.2, warmup: int = 1000,
    ) -> None:  # fmt: skip
        super().__init__()
        self.strictness, self.warmup = strictness, warmup
        self.tastes = TasteDistribution(n_items, hidden_dims, taste_dim, dropout)
        self.guess = FilmGuess(taste_dim, hidden_dims[::-1], n_items)
        self.register_buffer("n_steps", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def best(self, watched: Tensor, count: int = 10) -> Tensor:
        """The likeliest films that were not watched yet (batch, count)."""
        mean, _ = self.tastes(watched)
        return self.guess(mean).masked_fill(watched > 0, -math.inf).topk(count, dim=1).indices

    def forward(self, watched: Tensor, hidden: Tensor | None = None) -> dict[str, Tensor]:
        """The shares of films (batch, items), both losses, and the rank of a hidden film of each person (batch)."""
        mean, log_deviation = self.tastes(watched)
        taste = mean
        if self.training:
            taste = torch.normal(mean, log_deviation.exp())
            self.n_steps += 1
        log_share = self.guess(taste)
        error = -(log_share * watched).sum(dim=1)
        excess = 0.5 * (mean.square() + (2 * log_deviation).exp() - 1).sum(dim=1) - log_deviation.sum(dim=1)
        weight = self.strictness * (self.n_steps / self.warmup).clamp(max=1) if self.training else self.strictness
        result = {"log_share": log_share, "error": error.mean(), "divergence": weight * excess.mean()}
        if hidden is not None:
            open_films = log_share.masked_fill(watched > 0, -math.inf)
            result["rank"] = (open_films > open_films.gather(1, hidden[:, None])).sum(dim=1) + 1
        return result


class PitchLayer(nn.Sequential):
    """A convolution of a wave, its norm and a pooling by two, of which the first layer takes long steps as well."""

    def __init__(self, n_in: int, n_out: int, width: int, stride: int = 1, dropout: float = 0.25) -> None:
        super().__init__(
            nn.ConstantPad1d(((width - stride) // 2, width - stride - (width - stride) // 2), 0.0),
            nn.Conv1d(n_in, n_out, width, stride), nn.ReLU(), nn.BatchNorm1d(n_out), nn.MaxPool1d(2),
            nn.Dropout(dropout),
        )  # fmt: skip


class PitchScale(nn.Module):
    """A scale of pitches of equal steps, in hundredths of a semitone above ten vibrations a second."""

    cents: Tensor

    def __init__(self, n_pitches: int, step: float = 20.0, lowest: float = 32.7, around: int = 3) -> None:
        super().__init__()
        self.around, self.spread = around, 25.0
        cents = 1200 * math.log2(lowest / 10) + step * torch.arange(n_pitches)
        self.register_buffer("cents", cents, persistent=False)

    def soft_label(self, hertz: Tensor) -> Tensor:
        """Labels (…, pitches) of one at a pitch and less and less beside it, and of zeros where it is zero."""
        away = 1200 * torch.log2(hertz.clamp(min=1.0) / 10).unsqueeze(-1) - self.cents
        return torch.exp(-0.5 * (away / self.spread).square()) * (hertz > 0).unsqueeze(-1)

    def forward(self, sureness: Tensor) -> Tensor:
        """Vibrations a second: the mean of the likeliest pitch and its neighbours."""
        centre = sureness.argmax(dim=-1, keepdim=True)
        index = centre + torch.arange(-self.around, self.around + 1, device=sureness.device)
        weight = sureness.take_along_dim(index.clamp(0, len(self.cents) - 1), dim=-1)
        weight = weight * ((index >= 0) & (index < len(self.cents)))
        cents = (weight * self.cents[index.clamp(0, len(self.cents) - 1)]).sum(dim=-1) / weight.sum(dim=-1)
        return 10 * 2 ** (cents / 1200)


class PitchTracker(nn.Module):
    """The pitch of a voice through time, each moment of it straight from the wave around it."""

    def __init__(
        self, channels: Sequence[int] = (32, 8, 8, 8, 16, 32), n_pitches: int = 360, frame: int = 1024, hop: int = 160
    ) -> None:
        super().__init__()
        self.frame, self.hop = frame, hop
        first, *later = channels
        self.layers = nn.Sequential(PitchLayer(1, first, frame // 2, stride=4))
        for n_in, n_out in pairwise([first, *later]):
            self.layers.append(PitchLayer(n_in, n_out, frame // 16))
        left = frame // 4 >> len(channels)
        self.sureness = nn.Linear(channels[-1] * left, n_pitches)
        self.scale = PitchScale(n_pitches)

    def cut(self, wave: Tensor) -> Tensor:
        """Frames (batch, frames, samples) around every moment, all of the same loudness."""
        half = self.frame // 2
        frames = F.pad(wave, (half, half)).unfold(1, self.frame, self.hop)
        deviation, mean = torch.std_mean(frames, dim=-1, keepdim=True)
        return (frames - mean) / deviation.clamp(min=1e-8)

    def forward(self, wave: Tensor, hertz: Tensor | None = None) -> dict[str, Tensor]:
        """The pitch, how sure it is (both batch, frames), and the loss if the pitch is known; it is zero in silence."""
        frames = self.cut(wave)
        features = self.layers(frames.flatten(0, 1).unsqueeze(1))
        logits = self.sureness(features.mT.flatten(1)).unflatten(0, frames.shape[:2])
        sureness = logits.sigmoid()
        result = {"hertz": self.scale(sureness), "sure": sureness.amax(dim=-1)}
        if hertz is not None:
            label = self.scale.soft_label(hertz[:, : logits.size(1)])
            result["loss"] = F.binary_cross_entropy_with_logits(logits, label)
        return result


class GlobalMix(nn.Module):
    """A convolution of a map along with the largest of each channel anywhere, added to the map."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.near = nn.Conv2d(dim, dim, 3, padding=1)
        self.anywhere = nn.Linear(dim, dim)
        self.out = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """A map of the same shape."""
        largest = self.anywhere(x.amax(dim=(-2, -1)))[..., None, None]
        return x + self.out(torch.relu(self.near(x) + largest))


class GameModel(nn.Module):
    """A model of a game: its next screen and what an action earns."""

    def __init__(self, n_colours: int, n_actions: int, dim: int, n_mixes: int, n_rewards: int) -> None:
        super().__init__()
        self.action = nn.Embedding(n_actions, dim)
        self.screen = nn.Conv2d(n_colours, dim, 3, padding=1)
        self.mixes = nn.Sequential(*(GlobalMix(dim) for _ in range(n_mixes)))
        self.next_screen = nn.Conv2d(dim, n_colours, 1)
        self.reward = nn.Linear(2 * dim, n_rewards)

    def forward(self, screen: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the colours of the next screen (batch, colours, height, width) and of rewards (batch, rewards)."""
        x = self.mixes(torch.relu(self.screen(screen) + self.action(action)[..., None, None]))
        return self.next_screen(x), self.reward(torch.cat([x.amax(dim=(-2, -1)), x.mean(dim=(-2, -1))], dim=1))


class BoardReader(nn.Sequential):
    """Features of a screen as a vector."""

    def __init__(self, n_colours: int, channels: Sequence[int], size: int, dim: int) -> None:
        layers = list[nn.Module]()
        for n_in, n_out in pairwise([n_colours, *channels]):
            layers += [nn.Conv2d(n_in, n_out, 3, stride=2, padding=1), nn.ReLU()]
            size = (size + 1) // 2
        super().__init__(*layers, nn.Flatten(), nn.Linear(channels[-1] * size * size, dim), nn.ReLU())


class FutureReader(nn.Module):
    """A code of an imagined future, which is read from its end to its beginning."""

    def __init__(self, board: BoardReader, dim: int, n_rewards: int, code_dim: int) -> None:
        super().__init__()
        self.board = board
        self.back_in_time = nn.LSTM(dim + n_rewards, code_dim)

    def forward(self, screens: Tensor, rewards: Tensor) -> Tensor:
        """Codes (futures, code_dim) of screens and rewards that are both (steps, futures, …)."""
        boards = self.board(screens.flatten(0, 1)).unflatten(0, screens.shape[:2])
        _, (code, _) = self.back_in_time(torch.cat([boards, rewards], dim=-1).flip(0))
        return code.squeeze(0)


class ImaginativePlayer(nn.Module):
    """A player that imagines what follows each of its actions before it chooses one, and need not trust it."""

    def __init__(
        self, n_colours: int = 7, n_actions: int = 5, n_rewards: int = 5, size: int = 15, depth: int = 3,
        channels: Sequence[int] = (16, 16), dim: int = 32, code_dim: int = 24,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_colours, self.n_actions, self.depth = n_colours, n_actions, depth
        self.model = GameModel(n_colours, n_actions, dim, 2, n_rewards)
        # how the player goes on in its imagination: a quick copy of what it does
        self.habit = nn.Sequential(BoardReader(n_colours, channels, size, dim), nn.Linear(dim, n_actions))
        self.future = FutureReader(BoardReader(n_colours, channels, size, dim), dim, n_rewards, code_dim)
        self.reflex = BoardReader(n_colours, channels, size, dim)
        self.decide = nn.Sequential(nn.Linear(n_actions * code_dim + dim, 2 * dim), nn.ReLU())
        self.policy = nn.Linear(2 * dim, n_actions)
        self.worth = nn.Linear(2 * dim, 1)

    def imagine(self, screen: Tensor) -> tuple[Tensor, Tensor]:
        """Screens and rewards (steps, batch * actions, …) of one future for each first action."""
        screen = screen.repeat_interleave(self.n_actions, dim=0)
        action = torch.arange(len(screen), device=screen.device) % self.n_actions
        screens, rewards = [], []
        for step in range(self.depth):
            if step:
                preferred = self.habit(screen)
                action = Categorical(logits=preferred).sample() if self.training else preferred.argmax(dim=1)
            colours, reward = self.model(screen, action)
            screen = colours.softmax(dim=1)
            screens.append(screen)
            rewards.append(reward.softmax(dim=1))
        return torch.stack(screens), torch.stack(rewards)

    def forward(self, colours: Tensor) -> dict[str, Tensor]:
        """Logits of actions, worths and how far the habit is from the policy, of screens (batch, height, width)."""
        screen = F.one_hot(colours, self.n_colours).movedim(-1, 1).float()
        codes = self.future(*self.imagine(screen)).unflatten(0, (-1, self.n_actions))
        x = self.decide(torch.cat([codes.flatten(1), self.reflex(screen)], dim=1))
        logits = self.policy(x)
        habit = self.habit(screen).log_softmax(dim=1)
        distance = F.kl_div(habit, logits.detach().softmax(dim=1), reduction="batchmean")
        return {"logits": logits, "worth": self.worth(x).squeeze(1), "habit_loss": distance}


def _shoppers() -> Shopper:
    history = torch.randint(1, 200, (2, 12))
    history[1, 7:] = 0
    return Shopper(torch.randint(0, 5, (2, 3)), history)


def _steps() -> Step:
    screens = torch.rand(2, 3, 4, 32, 32)
    option, action = torch.randint(0, 4, (3,)), torch.randint(0, 6, (3,))
    return Step(screens[0], option, action, torch.rand(3), screens[1], torch.tensor([0.0, 0.0, 1.0]))


NETS = [
    Entry("own/mind", InterestRetrieval, given(_shoppers, whole(17, 42), lambda: torch.randint(1, 200, (30,)))),
    Entry("own/cpc", SoundPredictor, given(numbers(3, 2560), whole(4, 0, 7))),
    Entry("own/option_critic", OptionLearner, given(_steps)),
    Entry(
        "own/mult_vae",
        FilmRecommender,
        given(lambda: F.pad((torch.rand(3, 250) < 0.1).float(), (0, 50)), lambda: torch.randint(250, 300, (3,))),
    ),
    Entry("own/crepe", PitchTracker, given(numbers(2, 2400), lambda: 80 + 300 * torch.rand(2, 16))),
    Entry("own/i2a", ImaginativePlayer, given(lambda: torch.randint(0, 7, (2, 15, 15)))),
]
