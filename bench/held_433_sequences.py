"""Nets of news, words, tours, clicks, genes and facts as repositories write them, of the eleventh list kept from rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_433_vision.py`.
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

from tests.corpus.entry import Entry, given, whole


class QueryPool(nn.Module):
    """A weighted mean of several vectors, whose weights tell how well each answers a learned question."""

    def __init__(self, dim: int, question_dim: int) -> None:
        super().__init__()
        self.to_answer = nn.Linear(dim, question_dim)
        self.question = nn.Parameter(torch.randn(question_dim) / math.sqrt(question_dim))

    def forward(self, vectors: Tensor, present: Tensor) -> Tensor:
        """The mean over the axis before the last."""
        fit = torch.tanh(self.to_answer(vectors)) @ self.question
        share = fit.masked_fill(~present, -1e4).softmax(dim=-1)
        return torch.einsum("...n,...nd->...d", share, vectors)


class ContextPool(nn.Module):
    """One vector of a set: its members look at one another, and are then pooled."""

    def __init__(self, dim: int, n_heads: int, head_dim: int, question_dim: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.head_dim = n_heads, head_dim
        self.to_queries = nn.Linear(dim, n_heads * head_dim, bias=False)
        self.to_keys = nn.Linear(dim, n_heads * head_dim, bias=False)
        self.to_values = nn.Linear(dim, n_heads * head_dim, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.pool = QueryPool(n_heads * head_dim, question_dim)

    def by_heads(self, x: Tensor) -> Tensor:
        """Features (sets, heads, members, head_dim)."""
        return x.unflatten(-1, (self.n_heads, self.head_dim)).transpose(1, 2)

    def forward(self, members: Tensor, present: Tensor) -> Tensor:
        """A vector of each set (sets, n_heads * head_dim)."""
        projections = self.to_queries, self.to_keys, self.to_values
        q, k, v = (self.by_heads(project(members)) for project in projections)
        mixed = F.scaled_dot_product_attention(q, k, v, present[:, None, None])
        return self.pool(self.dropout(mixed.transpose(1, 2).flatten(2)), present)


class TitleReader(nn.Module):
    """Vectors of articles, from the words of their titles."""

    def __init__(self, n_words: int, word_dim: int, n_heads: int, head_dim: int, question_dim: int, p: float) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, word_dim, padding_idx=0)
        self.dropout = nn.Dropout(p)
        self.gather = ContextPool(word_dim, n_heads, head_dim, question_dim, p)

    def forward(self, titles: Tensor) -> Tensor:
        """A vector of each title, whatever axes there are before the words."""
        flat = titles.flatten(0, -2)
        present = flat > 0
        present[:, 0] = True  # an attention to nothing has no weights; titles that only fill up are masked later
        return self.gather(self.dropout(self.words(flat)), present).unflatten(0, titles.shape[:-1])


class NewsRanker(nn.Module):
    """Chances that a reader opens each of some articles, from those that were opened before."""

    def __init__(
        self, n_words: int, word_dim: int = 48, n_heads: int = 4, head_dim: int = 12, question_dim: int = 24,
        dropout: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.read_title = TitleReader(n_words, word_dim, n_heads, head_dim, question_dim, dropout)
        self.profile = ContextPool(n_heads * head_dim, n_heads, head_dim, question_dim, dropout)

    def forward(self, opened: Tensor, offered: Tensor, clicked: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """Logits of the offered articles (readers, articles), and the loss where it is known which one was clicked."""
        history = self.read_title(opened)
        reader = self.profile(history, opened.any(dim=-1))
        logits = torch.einsum("rd,rad->ra", reader, self.read_title(offered))
        if clicked is None:
            return logits
        return logits, F.cross_entropy(logits, clicked)


def _titles(readers: int, articles: int, n_words: int = 300, length: int = 8, filled: int = 0) -> Tensor:
    titles = torch.randint(1, n_words, (readers, articles, length))
    lengths = torch.randint(3, length + 1, (readers, articles, 1))
    titles = titles.masked_fill(torch.arange(length) >= lengths, 0)
    titles[-1, articles - filled :] = 0
    return titles


class ChannelDropout(nn.Module):
    """A dropout of whole channels, the same at all times of a text (time, batch, channels)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        if not self.training:
            return x
        return F.dropout1d(x.permute(1, 2, 0), self.rate).permute(2, 0, 1)


class ThinnedLSTM(nn.Module):
    """A layer of an LSTM that goes without some of its recurrent weights, others for each text."""

    def __init__(self, n_in: int, n_out: int, thinning: float) -> None:
        super().__init__()
        self.n_out, self.thinning = n_out, thinning
        bound = 1 / math.sqrt(n_out)
        self.inward = nn.Parameter(torch.empty(4 * n_out, n_in).uniform_(-bound, bound))
        self.recurrent = nn.Parameter(torch.empty(4 * n_out, n_out).uniform_(-bound, bound))
        self.bias_in = nn.Parameter(torch.zeros(4 * n_out))
        self.bias_recurrent = nn.Parameter(torch.zeros(4 * n_out))

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Features of all times, and the last state."""
        if state is None:
            state = x.new_zeros(1, x.size(1), self.n_out), x.new_zeros(1, x.size(1), self.n_out)
        thinned = F.dropout(self.recurrent, self.thinning, self.training)
        weights = [self.inward, thinned, self.bias_in, self.bias_recurrent]
        outputs, h, c = torch.lstm(x, state, weights, True, 1, 0.0, self.training, False, False)
        return outputs, (h, c)


class RegularizedLM(nn.Module):
    """The next word of texts, by layers of an LSTM with a dropout wherever there can be one."""

    def __init__(
        self, n_words: int, word_dim: int = 32, hidden_dim: int = 56, n_layers: int = 3, drop_words: float = 0.1,
        drop_inputs: float = 0.4, drop_between: float = 0.25, drop_outputs: float = 0.4, thinning: float = 0.5,
        keep_small: float = 2.0, keep_slow: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.drop_words, self.keep_small, self.keep_slow = drop_words, keep_small, keep_slow
        self.word_vectors = nn.Parameter(torch.empty(n_words, word_dim).uniform_(-0.1, 0.1))
        self.word_bias = nn.Parameter(torch.zeros(n_words))
        widths = [word_dim, *[hidden_dim] * (n_layers - 1), word_dim]
        self.layers = nn.ModuleList(ThinnedLSTM(n_in, n_out, thinning) for n_in, n_out in pairwise(widths))
        rates = [*[drop_between] * (n_layers - 1), drop_outputs]
        self.drop_in = ChannelDropout(drop_inputs)
        self.drops = nn.ModuleList(map(ChannelDropout, rates))

    def embed(self, words: Tensor) -> Tensor:
        """Vectors of words; a word that is dropped is dropped everywhere in the text."""
        if not self.training:
            return F.embedding(words, self.word_vectors)
        some = F.dropout1d(self.word_vectors.unsqueeze(0), self.drop_words).squeeze(0)
        return F.embedding(words, some)

    def forward(
        self, words: Tensor, states: list[tuple[Tensor, Tensor]] | None = None, targets: Tensor | None = None
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]], Tensor | None]:
        """Logits of the next words (time, batch, words), the states, and the loss where these words are known."""
        x = self.drop_in(self.embed(words))
        raw, last_states = x, []
        for depth, (layer, drop) in enumerate(zip(self.layers, self.drops, strict=True)):
            raw, state = layer(x, states[depth] if states else None)
            x = drop(raw)
            last_states.append(state)
        logits = F.linear(x, self.word_vectors, self.word_bias)  # words are read and written by the same vectors
        if targets is None:
            return logits, last_states, None
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss = loss + self.keep_small * x.square().mean() + self.keep_slow * raw.diff(dim=0).square().mean()
        return logits, last_states, loss


class CityEncoderLayer(nn.Module):
    """Attention between all cities and a perceptron of each, both normed over the whole batch."""

    def __init__(self, dim: int, n_heads: int, ff_dim: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(dim, n_heads, bias=False, batch_first=True)
        self.perceptron = nn.Sequential(nn.Linear(dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, dim))
        self.norm_attended, self.norm_out = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)

    def forward(self, cities: Tensor) -> Tensor:
        """Features (batch, cities, dim)."""
        attended, _ = self.attend(cities, cities, cities, need_weights=False)
        cities = self.norm_attended((cities + attended).transpose(1, 2)).transpose(1, 2)
        return self.norm_out((cities + self.perceptron(cities)).transpose(1, 2)).transpose(1, 2)


class NextCity(nn.Module):
    """Logarithms of the chances of the cities to be the next, given where a tour began and is now."""

    def __init__(self, dim: int, n_heads: int, clip: float) -> None:
        super().__init__()
        self.n_heads, self.clip = n_heads, clip
        self.from_map = nn.Linear(dim, dim, bias=False)
        self.from_ends = nn.Linear(2 * dim, dim, bias=False)
        self.before_start = nn.Parameter(torch.empty(2 * dim).uniform_(-1, 1))
        self.of_cities = nn.Linear(dim, 3 * dim, bias=False)
        self.merge_heads = nn.Linear(dim, dim, bias=False)

    def prepare(self, cities: Tensor) -> tuple[Tensor, ...]:
        """Tensors that stay the same for a whole tour: a summary of the map, keys, values, and keys of the choice."""
        keys, values, choices = self.of_cities(cities).chunk(3, dim=-1)
        heads = [x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for x in (keys, values)]
        return self.from_map(cities.mean(dim=1)), *heads, choices

    def forward(self, prepared: tuple[Tensor, ...], ends: Tensor | None, open_: Tensor) -> Tensor:
        """The logarithms (batch, cities); those of cities that are not open any more are minus infinity."""
        summary, keys, values, choices = prepared
        query = summary + self.from_ends(self.before_start if ends is None else ends)
        query = query.unflatten(-1, (self.n_heads, 1, -1))
        glimpse = F.scaled_dot_product_attention(query, keys, values, open_[:, None, None])
        glimpse = self.merge_heads(glimpse.flatten(1))
        fit = torch.einsum("bd,bnd->bn", glimpse, choices) / math.sqrt(glimpse.size(-1))
        return (self.clip * torch.tanh(fit)).masked_fill(~open_, -math.inf).log_softmax(dim=-1)


class TourPlanner(nn.Module):
    """Short tours through all cities of a map, built one city after another."""

    def __init__(
        self, dim: int = 48, n_heads: int = 4, ff_dim: int = 96, n_layers: int = 3, clip: float = 10.0
    ) -> None:
        super().__init__()
        self.place = nn.Linear(2, dim)
        self.encoder = nn.Sequential(*(CityEncoderLayer(dim, n_heads, ff_dim) for _ in range(n_layers)))
        self.next_city = NextCity(dim, n_heads, clip)

    @staticmethod
    def tour_length(places: Tensor, tour: Tensor) -> Tensor:
        """Lengths of closed tours."""
        visited = places.take_along_dim(tour.unsqueeze(-1), dim=1)
        return (visited - visited.roll(1, dims=1)).norm(dim=-1).sum(dim=1)

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The order of the cities, its length, and the logarithm of its probability."""
        cities = self.encoder(self.place(places))
        prepared = self.next_city.prepare(cities)
        rows = torch.arange(places.size(0), device=places.device)
        open_ = torch.ones(places.shape[:2], dtype=torch.bool, device=places.device)
        ends, tour, log_p = None, list[Tensor](), places.new_zeros(places.size(0))
        for _ in range(places.size(1)):
            chances = self.next_city(prepared, ends, open_)
            here = torch.multinomial(chances.exp(), 1).squeeze(1) if self.training else chances.argmax(dim=1)
            log_p = log_p + chances[rows, here]
            open_ = open_.scatter(1, here.unsqueeze(1), value=False)
            tour.append(here)
            ends = torch.cat([cities[rows, tour[0]], cities[rows, here]], dim=-1)
        order = torch.stack(tour, dim=1)
        return order, self.tour_length(places, order), log_p


class SessionNet(nn.Module):
    """The next click of visitors whose sessions are read side by side; when one ends, another takes its lane."""

    popularity: Tensor

    def __init__(
        self, n_items: int, item_dim: int = 32, widths: Sequence[int] = (48, 32), drop_items: float = 0.1,
        drop_hidden: float = 0.2, n_sampled: int = 12, score_penalty: float = 0.5, flatten_popularity: float = 0.75,
    ) -> None:  # fmt: skip
        super().__init__()
        self.widths, self.n_sampled, self.score_penalty = widths, n_sampled, score_penalty
        self.items = nn.Embedding(n_items, item_dim)
        self.drop_items, self.drop_hidden = nn.Dropout(drop_items), nn.Dropout(drop_hidden)
        self.cells = nn.ModuleList(nn.GRUCell(n_in, n_out) for n_in, n_out in pairwise([item_dim, *widths]))
        self.to_scores = nn.Embedding(n_items, widths[-1] + 1)  # the last number is how liked an item is by itself
        counts = torch.arange(n_items, 0, -1).float()  # items are numbered from those that are clicked most
        self.register_buffer("popularity", counts**flatten_popularity)

    def score(self, hidden: Tensor, items: Tensor) -> Tensor:
        """Scores (lanes, items) of some items in each lane."""
        vectors = self.to_scores(items)
        return torch.addmm(vectors[:, -1], hidden, vectors[:, :-1].t())

    def ranking_loss(self, scores: Tensor, wanted: Tensor, candidates: Tensor) -> Tensor:
        """A loss of the wanted items, the first candidates: it is low where none of the best of the others is above."""
        others = scores.masked_fill(candidates == wanted.unsqueeze(1), -math.inf).softmax(dim=1)
        ahead = torch.sigmoid(scores.diagonal().unsqueeze(1) - scores)
        penalty = (others * scores.square()).sum(dim=1)
        return (self.score_penalty * penalty - (others * ahead).sum(dim=1).clamp(min=1e-12).log()).mean()

    def forward(
        self, clicks: Tensor, wanted: Tensor, begins: Tensor, hidden: list[Tensor] | None = None
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """The last scores of all items (lanes, items), the loss, and the states of the lanes.

        Clicks, the wanted items, and whether a session begins there, are of each time and lane.
        """
        if hidden is None:
            hidden = [self.popularity.new_zeros(clicks.size(1), width) for width in self.widths]
        hidden = list(hidden)
        loss = self.popularity.new_zeros(())
        for now, goal, new in zip(clicks, wanted, begins, strict=True):
            x = self.drop_items(self.items(now))
            for depth, cell in enumerate(self.cells):
                hidden[depth] = cell(x, hidden[depth] * ~new.unsqueeze(1))
                x = self.drop_hidden(hidden[depth])
            sampled = torch.multinomial(self.popularity, self.n_sampled)
            candidates = torch.cat([goal, sampled])  # what one lane wants is a wrong answer for the others
            loss = loss + self.ranking_loss(self.score(x, candidates), goal, candidates)
        everything = torch.arange(self.items.num_embeddings, device=clicks.device)
        return self.score(x, everything), loss / len(clicks), hidden


def _new_sessions() -> Tensor:
    begins = torch.zeros(5, 4, dtype=torch.bool)
    begins[0] = begins[2, 1] = begins[3, 2] = True
    return begins


class DilatedUnit(nn.Module):
    """Two convolutions, each after a norm, beside what came in."""

    def __init__(self, channels: int, width: int, dilation: int) -> None:
        super().__init__()
        layers = list[nn.Module]()
        for _ in range(2):
            layers += [nn.BatchNorm1d(channels), nn.ReLU()]
            layers += [nn.Conv1d(channels, channels, width, dilation=dilation, padding="same")]
        self.change = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, channels, bases)."""
        return x + self.change(x)


class SpliceSites(nn.Module):
    """The kind of each base of a gene: the end of an intron, the start of one, or neither."""

    def __init__(self, channels: int, parts: Sequence[tuple[int, int, int]]) -> None:
        super().__init__()
        self.lift = nn.Conv1d(4, channels, 1)
        self.parts = nn.ModuleList(
            nn.Sequential(*(DilatedUnit(channels, width, dilation) for _ in range(n_units)))
            for width, dilation, n_units in parts
        )
        self.collect = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(len(parts) + 1))
        self.classify = nn.Conv1d(channels, 3, 1)
        self.flank = sum((width - 1) * dilation * n_units for width, dilation, n_units in parts)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (batch, 3, bases) of the bases that have whole flanks."""
        x = self.lift(x)
        collected = [self.collect[0](x)]
        for part, collect in zip(self.parts, self.collect[1:], strict=True):
            x = part(x)
            collected.append(collect(x))
        return self.classify(sum(collected)[..., self.flank : -self.flank])


class VariantScorer(nn.Module):
    """Splice sites that a change of a gene makes or takes away, by a vote of several nets."""

    def __init__(
        self, n_nets: int = 3, channels: int = 16, parts: Sequence[tuple[int, int, int]] = ((11, 1, 4), (11, 4, 4))
    ) -> None:
        super().__init__()
        self.nets = nn.ModuleList(SpliceSites(channels, parts) for _ in range(n_nets))

    def sites(self, bases: Tensor) -> Tensor:
        """Probabilities of the three classes (batch, 3, bases); a base that is not known is a zero."""
        x = F.one_hot(bases, 5)[..., 1:].transpose(1, 2).float()
        return torch.stack([net(x).softmax(dim=1) for net in self.nets]).mean(dim=0)

    def forward(self, reference: Tensor, changed: Tensor) -> dict[str, Tensor]:
        """The largest gain and loss of each kind of site, and where they are."""
        before, after = self.sites(torch.cat([reference, changed])).chunk(2)
        change = after - before
        effects = {}
        for kind, name in enumerate(("acceptor", "donor"), start=1):
            effects[f"{name}_gain"], effects[f"{name}_gain_at"] = change[:, kind].max(dim=-1)
            effects[f"{name}_loss"], effects[f"{name}_loss_at"] = (-change[:, kind]).max(dim=-1)
        return effects


class PairImage(nn.Module):
    """Features of an entity and a relation, whose vectors are laid out as the two halves of an image."""

    def __init__(self, height: int, width: int, channels: int, drops: tuple[float, float, float]) -> None:
        super().__init__()
        self.half_shape = (1, height, width)
        self.convolve = nn.Sequential(
            nn.BatchNorm2d(1), nn.Dropout(drops[0]), nn.Conv2d(1, channels, 3),
            nn.BatchNorm2d(channels), nn.ReLU(), nn.Dropout2d(drops[1]),
        )  # fmt: skip
        dim = height * width
        self.flatten = nn.Sequential(
            nn.Flatten(), nn.Linear(channels * (2 * height - 2) * (width - 2), dim),
            nn.Dropout(drops[2]), nn.BatchNorm1d(dim), nn.ReLU(),
        )  # fmt: skip

    def forward(self, entity: Tensor, relation: Tensor) -> Tensor:
        """A vector of each pair, as long as that of an entity."""
        halves = [vector.unflatten(1, self.half_shape) for vector in (entity, relation)]
        return self.flatten(self.convolve(torch.cat(halves, dim=2)))


class FactCompleter(nn.Module):
    """Entities that fit to the open end of a fact, for each of its two ends."""

    def __init__(
        self, n_entities: int, n_relations: int, height: int = 6, width: int = 8, channels: int = 16,
        drops: tuple[float, float, float] = (0.2, 0.2, 0.3), smoothing: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_entities, self.n_relations, self.smoothing = n_entities, n_relations, smoothing
        self.entities = nn.Embedding(n_entities, height * width)
        self.relations = nn.Embedding(2 * n_relations, height * width)  # the second half is the first, read backwards
        self.pair = PairImage(height, width, channels, drops)
        self.liking = nn.Parameter(torch.zeros(n_entities))
        for table in (self.entities, self.relations):
            nn.init.xavier_normal_(table.weight)

    def answer(self, entity: Tensor, relation: Tensor) -> Tensor:
        """Logits of all entities."""
        return self.pair(self.entities(entity), self.relations(relation)) @ self.entities.weight.t() + self.liking

    def forward(self, facts: Tensor, known: Tensor | None = None) -> dict[str, Tensor]:
        """Logits of tails and of heads for facts (batch, 3), the ranks of the right ones, and a loss.

        What else is known to be true (2 * batch, n_entities) is wanted as well and does not count for a rank.
        """
        head, relation, tail = facts.unbind(dim=1)
        logits = self.answer(torch.cat([head, tail]), torch.cat([relation, relation + self.n_relations]))
        right = torch.cat([tail, head]).unsqueeze(1)
        wanted = torch.zeros_like(logits).scatter(1, right, 1.0)
        if known is not None:
            wanted = torch.maximum(wanted, known)
        others = logits.masked_fill(wanted > 0, -math.inf)
        rank = 1 + (others > logits.gather(1, right)).sum(dim=1)
        target = torch.lerp(wanted, torch.full_like(wanted, 1 / self.n_entities), self.smoothing)
        loss = F.binary_cross_entropy_with_logits(logits, target)
        tails, heads = logits.chunk(2)
        return {"tails": tails, "heads": heads, "rank": rank, "loss": loss}


NETS = [
    Entry(
        "own/nrms", lambda: NewsRanker(300), given(lambda: _titles(2, 6, filled=2), lambda: _titles(2, 4), whole(1, 0))
    ),
    Entry("own/awd_lstm", lambda: RegularizedLM(200), given(lambda: torch.randint(0, 200, (12, 2)))),
    Entry("own/attention_model_tsp", TourPlanner, given(lambda: torch.rand(3, 9, 2))),
    Entry(
        "own/gru4rec",
        lambda: SessionNet(80),
        given(lambda: torch.randint(0, 80, (5, 4)), lambda: torch.randint(0, 80, (5, 4)), _new_sessions),
    ),
    Entry(
        "own/spliceai",
        VariantScorer,
        given(lambda: torch.randint(0, 5, (2, 500)), lambda: torch.randint(1, 5, (2, 500))),
    ),
    Entry("own/conve", lambda: FactCompleter(120, 7), given(lambda: torch.randint(0, 7, (4, 3)))),
]
