"""Nets of films, quakes, pianos, drugs, points and tunes as repositories write them, of the thirteenth list kept back.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_503_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole


class FilmFields(nn.Module):
    """Vectors of all fields of a view of a film: kinds, the mean of its genres, and numbers."""

    def __init__(self, kinds: Sequence[int], n_genres: int, n_numbers: int, dim: int) -> None:
        super().__init__()
        self.kinds = nn.ModuleList(nn.Embedding(count, dim) for count in kinds)
        self.genres = nn.EmbeddingBag(n_genres, dim, mode="mean", padding_idx=0)
        self.directions = nn.Parameter(torch.randn(n_numbers, dim) / math.sqrt(dim))
        self.count = len(kinds) + 1 + n_numbers

    def forward(self, kinds: Tensor, genres: Tensor, numbers: Tensor) -> Tensor:
        """The fields (batch, fields, dim); a genre of number zero is none."""
        of_kinds = [table(column) for table, column in zip(self.kinds, kinds.unbind(dim=1), strict=True)]
        single = torch.stack([*of_kinds, self.genres(genres)], dim=1)
        return torch.cat([single, numbers.unsqueeze(-1) * self.directions], dim=1)


class FieldInteraction(nn.Module):
    """Fields that are combined with those that they fit, in several heads, beside what they were."""

    def __init__(self, n_in: int, n_out: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.ask, self.answer = nn.Linear(n_in, n_out, bias=False), nn.Linear(n_in, n_out, bias=False)
        self.content = nn.Linear(n_in, n_out, bias=False)
        self.keep = nn.Linear(n_in, n_out, bias=False)
        self.dropout = nn.Dropout(dropout)

    def heads(self, x: Tensor) -> Tensor:
        """The same fields (batch, heads, fields, head_dim)."""
        return x.unflatten(-1, (self.n_heads, -1)).movedim(2, 1)

    def forward(self, fields: Tensor) -> Tensor:
        """Fields (batch, fields, n_out)."""
        fit = self.heads(self.ask(fields)) @ self.heads(self.answer(fields)).mT
        combined = self.dropout(fit.softmax(dim=-1)) @ self.heads(self.content(fields))
        return F.relu(combined.movedim(1, 2).flatten(2) + self.keep(fields))


class FilmRanker(nn.Module):
    """The chance that a viewer likes a film, from combinations of fields that are found by attention."""

    def __init__(
        self, kinds: Sequence[int], n_genres: int, n_numbers: int, dim: int = 16, widths: Sequence[int] = (32, 32, 32),
        n_heads: int = 2, deep: Sequence[int] = (64, 32), dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.fields = FilmFields(kinds, n_genres, n_numbers, dim)
        self.interactions = nn.Sequential(
            *(FieldInteraction(n_in, n_out, n_heads, dropout) for n_in, n_out in pairwise([dim, *widths]))
        )
        self.from_interactions = nn.Linear(self.fields.count * widths[-1], 1)
        self.perceptron = nn.Sequential()
        for n_in, n_out in pairwise([self.fields.count * dim, *deep]):
            self.perceptron.extend([nn.Linear(n_in, n_out), nn.ReLU(), nn.Dropout(dropout)])
        self.from_perceptron = nn.Linear(deep[-1], 1, bias=False)

    def forward(
        self, kinds: Tensor, genres: Tensor, numbers: Tensor, liked: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Chances (batch), and the loss if it is known what was liked."""
        fields = self.fields(kinds, genres, numbers)
        by_attention = self.from_interactions(self.interactions(fields).flatten(1))
        by_layers = self.from_perceptron(self.perceptron(fields.flatten(1)))
        logits = (by_attention + by_layers).squeeze(1)
        loss = None if liked is None else F.binary_cross_entropy_with_logits(logits, liked)
        return logits.sigmoid(), loss


class WaveStage(nn.Sequential):
    """Features of waves at half the rate."""

    def __init__(self, n_in: int, n_out: int, width: int) -> None:
        super().__init__(nn.Conv1d(n_in, n_out, width, padding=width // 2), nn.ReLU(), nn.MaxPool1d(2))


class WaveResidual(nn.Module):
    """Two convolutions with their norms before them, beside what came in."""

    def __init__(self, channels: int, width: int, dropout: float) -> None:
        super().__init__()
        layers = list[nn.Module]()
        for _ in range(2):
            layers += [
                nn.BatchNorm1d(channels), nn.ReLU(), nn.Dropout1d(dropout),
                nn.Conv1d(channels, channels, width, padding="same"),
            ]  # fmt: skip
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, channels, times)."""
        return x + self.layers(x)


class BothWays(nn.Module):
    """Features that know of what was before and of what comes after."""

    def __init__(self, n_in: int, n_out: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(n_in, n_out, batch_first=True, bidirectional=True)
        self.narrow = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * n_out, n_out), nn.LayerNorm(n_out))

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, times, n_out)."""
        return self.narrow(self.lstm(x)[0])


class TimeAttention(nn.Module):
    """An attention of each time to all times, or to those no further off than its reach, by a sum of two vectors."""

    def __init__(self, n_in: int, dim: int, reach: int | None = None) -> None:
        super().__init__()
        self.reach = reach
        self.here, self.there = nn.Linear(n_in, dim), nn.Linear(n_in, dim, bias=False)
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, times, n_in)."""
        pairs = torch.tanh(self.here(x).unsqueeze(2) + self.there(x).unsqueeze(1))
        scores = self.score(pairs).squeeze(-1)
        if self.reach is not None:
            near = torch.ones_like(scores, dtype=torch.bool).tril(self.reach).triu(-self.reach)
            scores = scores.masked_fill(~near, -math.inf)
        return torch.bmm(scores.softmax(dim=-1), x)


class QuakeLayer(nn.Module):
    """Attention over the whole record and a perceptron, each with a norm of the sum after it."""

    def __init__(self, channels: int, attention_dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.attention = TimeAttention(channels, attention_dim)
        self.perceptron = nn.Sequential(
            nn.Linear(channels, hidden_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden_dim, channels)
        )
        self.attention_norm, self.perceptron_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, times, channels)."""
        x = self.attention_norm(x + self.attention(x))
        return self.perceptron_norm(x + self.perceptron(x))


class ChanceCurve(nn.Sequential):
    """The chance of each sample, at the full rate again."""

    def __init__(self, n_in: int, channels: Sequence[int], widths: Sequence[int]) -> None:
        layers = list[nn.Module]()
        for (n_before, n_after), width in zip(pairwise([n_in, *channels]), widths, strict=True):
            layers += [nn.Upsample(scale_factor=2), nn.Conv1d(n_before, n_after, width, padding="same"), nn.ReLU()]
        last = nn.Conv1d(channels[-1], 1, widths[-1], padding="same")
        super().__init__(*layers, last, nn.Flatten(), nn.Sigmoid())


class ArrivalHead(nn.Module):
    """The chance of each sample that a wave of some kind arrives there."""

    def __init__(self, dim: int, reach: int, channels: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.attention = TimeAttention(dim, dim, reach)
        self.curve = ChanceCurve(dim, channels, widths)

    def forward(self, x: Tensor) -> Tensor:
        """Chances (batch, samples)."""
        x, _ = self.lstm(x)
        return self.curve(self.attention(x).transpose(1, 2))


class QuakeListener(nn.Module):
    """Where in a seismic record there is a quake, and when its waves of both kinds arrive."""

    def __init__(
        self, channels: Sequence[int] = (8, 16, 16, 32, 32), widths: Sequence[int] = (11, 9, 7, 5, 3), dim: int = 16,
        residual_widths: Sequence[int] = (3, 3, 2, 2), n_both_ways: int = 2, n_layers: int = 2, reach: int = 3,
        dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.stages = nn.Sequential(
            *(
                WaveStage(n_in, n_out, width)
                for (n_in, n_out), width in zip(pairwise([3, *channels]), widths, strict=True)
            )
        )
        self.residuals = nn.Sequential(*(WaveResidual(channels[-1], width, dropout) for width in residual_widths))
        self.both_ways = nn.Sequential(
            BothWays(channels[-1], dim, dropout), *(BothWays(dim, dim, dropout) for _ in range(n_both_ways - 1))
        )
        self.forwards = nn.LSTM(dim, dim, batch_first=True)
        self.layers = nn.Sequential(*(QuakeLayer(dim, 2 * dim, 4 * dim, dropout) for _ in range(n_layers)))
        back = ([*channels[::-1][1:], channels[0]], widths[::-1])
        self.quake = ChanceCurve(dim, *back)
        self.arrivals = nn.ModuleDict({kind: ArrivalHead(dim, reach, *back) for kind in ("first", "second")})

    def forward(self, waves: Tensor) -> dict[str, Tensor]:
        """Chances (batch, samples) of a quake and of both arrivals, in waves of three directions."""
        spread, middle = torch.std_mean(waves, dim=2, keepdim=True)
        x = self.residuals(self.stages((waves - middle) / (spread + 1e-6)))
        x, _ = self.forwards(self.both_ways(x.transpose(1, 2)))
        x = self.layers(x)
        chances = {kind: head(x) for kind, head in self.arrivals.items()}
        return {"quake": self.quake(x.transpose(1, 2)), **chances}


class SoundLayer(nn.Sequential):
    """Features of the places of a spectrogram, perhaps with half as many bins."""

    def __init__(self, n_in: int, n_out: int, halve: bool, dropout: float) -> None:
        layers: list[nn.Module] = [nn.Conv2d(n_in, n_out, 3, padding="same", bias=False), nn.BatchNorm2d(n_out)]
        if halve:
            layers += [nn.AvgPool2d((1, 2)), nn.Dropout2d(dropout)]
        super().__init__(*layers, nn.ReLU())


class SoundReader(nn.Module):
    """Features of each frame of a sound, from the frames beside it."""

    def __init__(self, n_bins: int, channels: Sequence[int], dim: int, dropout: float) -> None:
        super().__init__()
        self.local = nn.Sequential(
            *(
                SoundLayer(n_in, n_out, depth > 0, dropout)
                for depth, (n_in, n_out) in enumerate(pairwise([1, *channels]))
            )
        )
        n_left = n_bins >> (len(channels) - 1)
        self.over_bins = nn.Conv2d(channels[-1], dim, (1, n_left))

    def forward(self, sound: Tensor) -> Tensor:
        """Features (batch, frames, dim) of a spectrogram (batch, frames, bins)."""
        return self.over_bins(self.local(sound.unsqueeze(1))).squeeze(3).mT


class KeyHead(nn.Module):
    """Logits of the keys of a piano at each frame, read from both ends."""

    def __init__(self, n_in: int, dim: int, n_keys: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(n_in, dim // 2, batch_first=True, bidirectional=True)
        self.to_keys = nn.Linear(dim, n_keys)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (batch, frames, keys)."""
        hidden, _ = self.lstm(x)
        return self.to_keys(hidden)


class PianoScribe(nn.Module):
    """The keys that are struck, held and let go in a record of a piano, and how hard they are struck."""

    def __init__(
        self, n_bins: int = 64, n_keys: int = 36, channels: Sequence[int] = (12, 16, 24), dim: int = 64,
        dropout: float = 0.25,
    ) -> None:  # fmt: skip
        super().__init__()
        self.struck_reader = SoundReader(n_bins, channels, dim, dropout)
        self.let_go_reader = SoundReader(n_bins, channels, dim, dropout)
        self.held_reader = SoundReader(n_bins, channels, dim, dropout)
        self.force_reader = SoundReader(n_bins, channels, dim, dropout)
        self.struck_head, self.let_go_head = KeyHead(dim, dim, n_keys), KeyHead(dim, dim, n_keys)
        self.first_guess = nn.Linear(dim, n_keys)
        self.held_head = KeyHead(3 * n_keys, dim, n_keys)
        self.force_head = nn.Linear(dim, n_keys)

    def listen(self, sound: Tensor) -> dict[str, Tensor]:
        """Logits (batch, frames, keys) of what happens to each key, and the force."""
        struck = self.struck_head(self.struck_reader(sound))
        let_go = self.let_go_head(self.let_go_reader(sound))
        guess = self.first_guess(self.held_reader(sound))
        edges = torch.cat([struck, let_go], dim=2).detach().sigmoid()  # the heads of edges learn of edges alone
        held = self.held_head(torch.cat([edges, guess.sigmoid()], dim=2))
        return {"struck": struck, "let_go": let_go, "held": held, "force": self.force_head(self.force_reader(sound))}

    def forward(self, sound: Tensor, held: Tensor, force: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """The notes heard, and the loss, given which keys are held (batch, frames, keys) and how hard they were struck.

        A key is struck at a frame if it is held there and was not before, and let go at the first where it is not.
        """
        heard = self.listen(sound)
        change = held.diff(dim=1, prepend=torch.zeros_like(held[:, :1]))
        known = {"struck": F.relu(change), "let_go": F.relu(-change), "held": held}
        loss = sound.new_zeros(())
        for name, truth in known.items():
            loss = loss + F.binary_cross_entropy_with_logits(heard[name], truth)
        off = known["struck"] * (heard["force"] - force).square()
        return heard, loss + off.sum() / known["struck"].sum().clamp(min=1)


class ChainReader(nn.Module):
    """A vector of a chain of letters, by patterns that grow from layer to layer, wherever they are."""

    def __init__(self, n_letters: int, letter_dim: int, filters: int, width: int, depth: int = 3) -> None:
        super().__init__()
        self.letters = nn.Embedding(n_letters + 1, letter_dim, padding_idx=0)
        sizes = [letter_dim, *(filters * (level + 1) for level in range(depth))]
        self.patterns = nn.ModuleList(nn.Conv1d(n_in, n_out, width) for n_in, n_out in pairwise(sizes))
        self.n_out = sizes[-1]

    def forward(self, chain: Tensor) -> Tensor:
        """The vector (batch, n_out)."""
        x = self.letters(chain).transpose(1, 2)
        for convolve in self.patterns:
            x = F.relu(convolve(x))
        return F.adaptive_max_pool1d(x, 1).squeeze(2)


class BindingForecast(nn.Module):
    """The strength with which a drug binds to a protein, from the letters that both are written with."""

    def __init__(
        self, drug_letters: int = 40, protein_letters: int = 25, letter_dim: int = 32, filters: int = 16,
        drug_width: int = 4, protein_width: int = 8, widths: Sequence[int] = (128, 128, 64), dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.drug = ChainReader(drug_letters, letter_dim, filters, drug_width)
        self.protein = ChainReader(protein_letters, letter_dim, filters, protein_width)
        hidden = [self.drug.n_out + self.protein.n_out, *widths]
        self.hidden = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(hidden))
        self.dropout = nn.Dropout(dropout)
        self.strength = nn.Linear(hidden[-1], 1)

    @torch.no_grad()
    def screen(self, drugs: Tensor, protein: Tensor, count: int) -> Tensor:
        """The drugs that bind best to one protein."""
        bound = self.bind(self.drug(drugs), self.protein(protein.unsqueeze(0)).expand(len(drugs), -1))
        return bound.topk(count).indices

    def bind(self, drug: Tensor, protein: Tensor) -> Tensor:
        """The affinity of pairs of vectors (batch)."""
        x = torch.cat([drug, protein], dim=1)
        for depth, layer in enumerate(self.hidden):
            x = F.relu(layer(x))
            if depth < len(self.hidden) - 1:
                x = self.dropout(x)
        return self.strength(x).flatten()

    def forward(self, drugs: Tensor, proteins: Tensor) -> Tensor:
        """The affinity of each drug to its protein (batch)."""
        return self.bind(self.drug(drugs), self.protein(proteins))


class Comparison(nn.Module):
    """Scores of things that are looked at with a question in mind."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_thing, self.of_question = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim)
        self.score = nn.Parameter(torch.randn(dim) / math.sqrt(dim))

    def forward(self, things: Tensor, question: Tensor, excluded: Tensor) -> Tensor:
        """Scores (batch, things)."""
        both = torch.tanh(self.of_thing(things) + self.of_question(question).unsqueeze(1))
        return (both @ self.score).masked_fill(excluded, -math.inf)


class HullPointer(nn.Module):
    """The corners of the hull of some points, one after another, each of which is pointed at among the points."""

    def __init__(self, dim: int = 48, n_layers: int = 1, glimpse: bool = True) -> None:
        super().__init__()
        self.lift = nn.Linear(2, dim)
        self.encoder = nn.LSTM(dim, dim, n_layers, batch_first=True)
        self.finish = nn.Parameter(0.1 * torch.randn(dim))
        self.begin = nn.Parameter(0.1 * torch.randn(dim))
        self.decoder = nn.LSTMCell(dim, dim)
        self.glimpse = Comparison(dim) if glimpse else None
        self.point = Comparison(dim)

    def look_again(self, things: Tensor, state: Tensor, excluded: Tensor) -> Tensor:
        """The state with a mean of what it looks at."""
        if self.glimpse is None:
            return state
        share = self.glimpse(things, state, excluded).softmax(dim=1)
        return state + torch.einsum("bn,bnd->bd", share, things)

    def forward(self, points: Tensor, n_points: Tensor, n_steps: int = 7) -> tuple[Tensor, Tensor]:
        """Logarithms of chances (batch, steps, points + 1) and the choices (batch, steps); the last choice is to stop.

        Points (batch, points, 2) beyond their number are not there. After the end it goes on to be chosen.
        """
        lifted = self.lift(points)
        encoded, (h, c) = self.encoder(lifted)
        h, c = h[-1], c[-1]
        stop = self.finish.expand(len(points), 1, -1)
        things, inputs = torch.cat([encoded, stop], dim=1), torch.cat([lifted, stop], dim=1)
        excluded = torch.arange(points.size(1), device=points.device) >= n_points.unsqueeze(1)
        excluded = F.pad(excluded, (0, 1))
        x = self.begin.expand_as(h)
        chances, corners = [], []
        for _ in range(n_steps):
            h, c = self.decoder(x, (h, c))
            scores = self.point(things, self.look_again(things, h, excluded), excluded)
            corner = scores.argmax(dim=1)
            chances.append(scores.log_softmax(dim=1))
            corners.append(corner)
            x = inputs[torch.arange(len(inputs), device=x.device), corner]
            taken = F.one_hot(corner, things.size(1)).bool()
            ended = taken[:, -1:]
            excluded = excluded | torch.cat([taken[:, :-1] | ended, torch.zeros_like(ended)], dim=1)
        return torch.stack(chances, dim=1), torch.stack(corners, dim=1)


class DistanceAttention(nn.Module):
    """An attention to what was before, that knows by how many events."""

    def __init__(self, dim: int, n_heads: int, furthest: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.furthest = n_heads, furthest
        self.projections = nn.ModuleDict({name: nn.Linear(dim, dim) for name in ("asked", "found", "told", "out")})
        self.by_distance = nn.Parameter(torch.randn(n_heads, furthest, dim // n_heads) / math.sqrt(dim))
        self.dropout = nn.Dropout(dropout)

    def project(self, name: str, x: Tensor) -> Tensor:
        """One of the three projections (batch, heads, events, head_dim)."""
        return self.projections[name](x).unflatten(2, (self.n_heads, -1)).transpose(1, 2)

    def distance_scores(self, asked: Tensor) -> Tensor:
        """The scores of distance alone, of each pair (batch, heads, events, events)."""
        count = asked.size(2)
        scores = asked @ self.by_distance[:, -count:].mT  # the last column is that of no distance
        return F.pad(scores, (1, 0)).flatten(2)[..., count:].unflatten(2, (count, count))

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, events, dim)."""
        asked, found, told = (self.project(name, x) for name in ("asked", "found", "told"))
        scores = (asked @ found.mT + self.distance_scores(asked)) / math.sqrt(asked.size(-1))
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        shares = self.dropout(scores.masked_fill(later, -math.inf).softmax(dim=-1))
        return self.projections["out"]((shares @ told).transpose(1, 2).flatten(2))


class TuneLayer(nn.Module):
    """One layer of a writer of tunes."""

    def __init__(self, dim: int, n_heads: int, hidden_dim: int, furthest: int, dropout: float) -> None:
        super().__init__()
        self.remember = nn.Sequential(nn.LayerNorm(dim), DistanceAttention(dim, n_heads, furthest, dropout))
        self.think = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, dim))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, events, dim)."""
        x = x + self.dropout(self.remember(x))
        return x + self.dropout(self.think(x))


class TuneWriter(nn.Module):
    """The next event of a tune: a key that goes down or up, how hard, or time that goes by."""

    def __init__(
        self, n_events: int = 100, dim: int = 64, n_heads: int = 4, hidden_dim: int = 128, n_layers: int = 4,
        longest: int = 64, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.longest = longest
        self.events = nn.Embedding(n_events, dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(TuneLayer(dim, n_heads, hidden_dim, longest, dropout) for _ in range(n_layers))
        self.next_event = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, n_events))

    @torch.no_grad()
    def improvise(self, tune: Tensor, count: int, heat: float = 1.0) -> Tensor:
        """The tune with so many events more."""
        for _ in range(count):
            chances = (self(tune[:, -self.longest :])[:, -1] / heat).softmax(dim=1)
            tune = torch.cat([tune, torch.multinomial(chances, 1)], dim=1)
        return tune

    def forward(self, tune: Tensor) -> Tensor:
        """Logits of the event after each (batch, events, n_events)."""
        x = self.dropout(math.sqrt(self.events.embedding_dim) * self.events(tune))
        for layer in self.layers:
            x = layer(x)
        return self.next_event(x)


KINDS = (60, 90, 2, 7)


def _views() -> Tensor:
    return torch.stack([torch.randint(0, count, (4,)) for count in KINDS], dim=1)


def _genres() -> Tensor:
    return torch.tensor([[3, 5, 0], [1, 0, 0], [2, 7, 9], [8, 4, 0]])


def _held() -> Tensor:
    return (torch.rand(2, 24, 36) < 0.2).float()


NETS = [
    Entry(
        "own/autoint",
        lambda: FilmRanker(KINDS, 12, 2),
        given(_views, _genres, lambda: torch.rand(4, 2), lambda: torch.tensor([1.0, 0.0, 0.0, 1.0])),
    ),
    Entry("own/eqtransformer", QuakeListener, given(numbers(2, 3, 1024))),
    Entry(
        "own/onsets_and_frames",
        PianoScribe,
        given(numbers(2, 24, 64), _held, lambda: torch.rand(2, 24, 36)),
    ),
    Entry(
        "own/deepdta",
        BindingForecast,
        given(lambda: torch.randint(1, 40, (3, 30)), lambda: torch.randint(1, 25, (3, 60))),
    ),
    Entry("own/pointer_network", HullPointer, given(lambda: torch.rand(3, 10, 2), whole(10, 8, 9))),
    Entry("own/music_transformer", TuneWriter, given(lambda: torch.randint(0, 100, (2, 32)))),
]
