"""Nets of sensors, melodies, clicks, cells, series and talks as repositories write them, of the twelfth list kept back.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_467_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole


class SensorTable(nn.Module):
    """Vectors of sensors, and for each sensor those that are most like it."""

    def __init__(self, n_sensors: int, dim: int, n_neighbours: int) -> None:
        super().__init__()
        self.n_neighbours = n_neighbours
        self.vectors = nn.Embedding(n_sensors, dim)

    def forward(self) -> tuple[Tensor, Tensor]:
        """The vectors (sensors, dim), and the numbers of the neighbours (sensors, neighbours), itself the first."""
        vectors = self.vectors.weight
        directions = F.normalize(vectors.detach(), dim=1)
        likeness = directions @ directions.t()
        neighbours = likeness.fill_diagonal_(-math.inf).topk(self.n_neighbours, dim=1).indices
        own = torch.arange(len(vectors), device=vectors.device).unsqueeze(1)
        return vectors, torch.cat([own, neighbours], dim=1)


class NeighbourAttention(nn.Module):
    """Features of sensors, by an attention to their neighbours that depends on what they measure and who they are."""

    def __init__(self, n_in: int, dim: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.lift = nn.Linear(n_in, n_heads * dim, bias=False)
        self.asks = nn.Parameter(torch.empty(n_heads, 2 * dim))
        self.answers = nn.Parameter(torch.empty(n_heads, 2 * dim))
        nn.init.xavier_uniform_(self.asks)
        nn.init.xavier_uniform_(self.answers)
        self.merge = nn.Linear(n_heads * dim, dim)

    def forward(self, windows: Tensor, vectors: Tensor, neighbours: Tensor) -> tuple[Tensor, Tensor]:
        """Features (batch, sensors, dim), and the attention (batch, sensors, neighbours, heads)."""
        lifted = self.lift(windows).unflatten(-1, (self.n_heads, -1))
        known = torch.cat([lifted, vectors[:, None].expand_as(lifted)], dim=-1)
        asked, answered = (known * self.asks).sum(dim=-1), (known * self.answers).sum(dim=-1)
        scores = F.leaky_relu(asked.unsqueeze(2) + answered[:, neighbours], 0.2)
        attention = scores.softmax(dim=2)
        mixed = torch.einsum("bskh,bskhd->bshd", attention, lifted[:, neighbours])
        return self.merge(mixed.flatten(2)), attention


class PlantMonitor(nn.Module):
    """The next values of all sensors of a plant, and how far off the real ones are."""

    usual_error: Tensor
    error_spread: Tensor

    def __init__(
        self, n_sensors: int, window: int = 15, dim: int = 32, n_neighbours: int = 6, n_heads: int = 2,
        hidden_dim: int = 64, dropout: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.sensors = SensorTable(n_sensors, dim, n_neighbours)
        self.attention = NeighbourAttention(window, dim, n_heads)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        self.forecast = nn.Sequential(nn.Linear(dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))
        self.register_buffer("usual_error", torch.zeros(n_sensors))
        self.register_buffer("error_spread", torch.ones(n_sensors))

    @torch.no_grad()
    def calibrate(self, windows: Tensor, following: Tensor) -> None:
        """Set which errors are usual for each sensor, from a time in which all was well."""
        errors = (self.predict(windows)[0] - following).abs()
        low, middle, high = torch.quantile(errors, torch.tensor([0.25, 0.5, 0.75], device=errors.device), dim=0)
        self.usual_error.copy_(middle)
        self.error_spread.copy_((high - low).clamp(min=1e-3))

    def predict(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """The next values (batch, sensors), and the attention that they come of."""
        vectors, neighbours = self.sensors()
        x, attention = self.attention(windows, vectors, neighbours)
        x = self.dropout(F.elu(self.norm(x))) * vectors
        return self.forecast(x).squeeze(-1), attention

    def forward(self, windows: Tensor, following: Tensor) -> dict[str, Tensor]:
        """The next values, the loss, and for each time a score, which is that of the sensor that is furthest off."""
        predicted, attention = self.predict(windows)
        deviation = ((predicted - following).abs() - self.usual_error) / self.error_spread
        score, sensor = deviation.max(dim=1)
        loss = F.mse_loss(predicted, following)
        return {"predicted": predicted, "attention": attention, "score": score, "sensor": sensor, "loss": loss}


class MelodyEncoder(nn.Module):
    """A normal distribution of codes of a melody, read from both ends."""

    def __init__(self, note_dim: int, hidden_dim: int, code_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(note_dim, hidden_dim, num_layers=2, batch_first=True, bidirectional=True)
        self.mean = nn.Linear(2 * hidden_dim, code_dim)
        self.deviation = nn.Sequential(nn.Linear(2 * hidden_dim, code_dim), nn.Softplus())

    def forward(self, notes: Tensor) -> tuple[Tensor, Tensor]:
        """Means and deviations (batch, code_dim)."""
        _, (h, _) = self.lstm(notes)
        ends = torch.cat([h[-2], h[-1]], dim=1)
        return self.mean(ends), self.deviation(ends)


class StartState(nn.Module):
    """The first state of an LSTM, made of a code."""

    def __init__(self, code_dim: int, hidden_dim: int, n_layers: int) -> None:
        super().__init__()
        self.n_layers = n_layers
        self.linear = nn.Linear(code_dim, 2 * n_layers * hidden_dim)

    def forward(self, code: Tensor) -> tuple[Tensor, Tensor]:
        """The hidden states and the cells (layers, batch, hidden_dim)."""
        states = torch.tanh(self.linear(code)).unflatten(1, (2 * self.n_layers, -1)).transpose(0, 1)
        h, c = states.contiguous().chunk(2)
        return h, c


class Conductor(nn.Module):
    """Plans of all bars of a melody, out of its code."""

    def __init__(self, code_dim: int, hidden_dim: int, plan_dim: int, n_bars: int) -> None:
        super().__init__()
        self.start = StartState(code_dim, hidden_dim, 2)
        self.lstm = nn.LSTM(code_dim, hidden_dim, num_layers=2, batch_first=True)
        self.to_plan = nn.Linear(hidden_dim, plan_dim)
        self.n_bars = n_bars

    def forward(self, code: Tensor) -> Tensor:
        """The plans (batch, bars, plan_dim)."""
        steps = code.unsqueeze(1).repeat(1, self.n_bars, 1)
        hidden, _ = self.lstm(steps, self.start(code))
        return torch.tanh(self.to_plan(hidden))


class BarPlayer(nn.Module):
    """The notes of a bar, one after another; of the other bars it knows only by its plan."""

    def __init__(self, note_dim: int, plan_dim: int, hidden_dim: int, n_notes: int) -> None:
        super().__init__()
        self.start = StartState(plan_dim, hidden_dim, 2)
        self.lstm = nn.LSTM(note_dim + plan_dim, hidden_dim, num_layers=2, batch_first=True)
        self.to_note = nn.Linear(hidden_dim, n_notes)

    def forward(self, plan: Tensor, previous: Tensor) -> Tensor:
        """Logits (batch, steps, notes), given the plan and the note before each."""
        inputs = torch.cat([previous, plan.unsqueeze(1).expand(-1, previous.size(1), -1)], dim=-1)
        hidden, _ = self.lstm(inputs, self.start(plan))
        return self.to_note(hidden)


class MelodyVAE(nn.Module):
    """Melodies of several bars, and codes of them between which one can go in small steps."""

    def __init__(
        self, n_notes: int = 90, n_bars: int = 4, steps_per_bar: int = 8, note_dim: int = 24, hidden_dim: int = 48,
        code_dim: int = 32, plan_dim: int = 32, free_nats: float = 4.0, beta: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_bars, self.steps_per_bar = n_bars, steps_per_bar
        self.free_nats, self.beta = free_nats, beta
        self.notes = nn.Embedding(n_notes, note_dim)
        self.encoder = MelodyEncoder(note_dim, hidden_dim, code_dim)
        self.conductor = Conductor(code_dim, hidden_dim, plan_dim, n_bars)
        self.player = BarPlayer(note_dim, plan_dim, hidden_dim, n_notes)

    def play(self, code: Tensor, embedded: Tensor) -> Tensor:
        """Logits of all notes of a melody that is known (batch, steps, notes)."""
        previous = F.pad(embedded[:, :-1], (0, 0, 1, 0))
        bars = zip(self.conductor(code).unbind(dim=1), previous.split(self.steps_per_bar, dim=1), strict=True)
        return torch.cat([self.player(plan, before) for plan, before in bars], dim=1)

    def forward(self, melody: Tensor) -> dict[str, Tensor]:
        """Logits of the notes, the code, and the parts of the loss."""
        embedded = self.notes(melody)
        mean, deviation = self.encoder(embedded)
        code = mean + deviation * torch.randn_like(deviation) if self.training else mean
        logits = self.play(code, embedded)
        variance = deviation.square()
        nats = 0.5 * (mean.square() + variance - variance.clamp(min=1e-8).log() - 1).sum(dim=1)
        error = F.cross_entropy(logits.transpose(1, 2), melody, reduction="none").sum(dim=1)
        loss = error + self.beta * F.relu(nats - self.free_nats)
        return {"logits": logits, "code": code, "nats": nats.mean(), "loss": loss.mean()}


class UnionPatterns(nn.Module):
    """Features of the last items of a user: patterns of several items in a row, whenever they were."""

    def __init__(self, dim: int, lengths: Sequence[int], n_filters: int) -> None:
        super().__init__()
        self.by_length = nn.ModuleList(nn.Conv1d(dim, n_filters, length) for length in lengths)
        self.n_out = len(lengths) * n_filters

    def forward(self, recent: Tensor) -> Tensor:
        """Features (batch, n_out) of items (batch, times, dim)."""
        channels_first = recent.transpose(1, 2)
        return torch.cat([F.relu(conv(channels_first)).amax(dim=2) for conv in self.by_length], dim=1)


class PointPatterns(nn.Module):
    """Features of the last items of a user: weighted sums of them, in which each time has a weight."""

    def __init__(self, dim: int, n_times: int, n_sums: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(n_sums, n_times) / math.sqrt(n_times))
        self.n_out = n_sums * dim

    def forward(self, recent: Tensor) -> Tensor:
        """Features (batch, n_out)."""
        return (self.weights @ recent).flatten(1)


class NextItems(nn.Module):
    """Items that a user takes next, from the last few and from what the user likes in general."""

    def __init__(
        self, n_users: int, n_items: int, n_times: int = 6, dim: int = 32, n_filters: int = 8, n_sums: int = 3,
        dropout: float = 0.3,
    ) -> None:  # fmt: skip
        super().__init__()
        self.users = nn.Embedding(n_users, dim)
        self.items = nn.Embedding(n_items, dim, padding_idx=0)
        self.unions = UnionPatterns(dim, range(1, n_times + 1), n_filters)
        self.points = PointPatterns(dim, n_times, n_sums)
        self.dropout = nn.Dropout(dropout)
        self.summarize = nn.Sequential(nn.Linear(self.unions.n_out + self.points.n_out, dim), nn.ReLU())
        self.goals = nn.Embedding(n_items, 2 * dim)
        self.goal_bias = nn.Parameter(torch.zeros(n_items))

    def describe(self, users: Tensor, recent: Tensor) -> Tensor:
        """A vector of what each user is after (batch, 2 * dim)."""
        x = self.items(recent)
        patterns = self.dropout(torch.cat([self.unions(x), self.points(x)], dim=1))
        return torch.cat([self.summarize(patterns), self.users(users)], dim=1)

    def forward(
        self, users: Tensor, recent: Tensor, taken: Tensor | None = None, others: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits of all items (batch, items); with items that were taken and others that were not, the loss, too."""
        wish = self.describe(users, recent)
        logits = torch.addmm(self.goal_bias, wish, self.goals.weight.t())
        if taken is None or others is None:
            return logits
        good, bad = logits.gather(1, taken), logits.gather(1, others)
        return logits, F.softplus(-good).mean() + F.softplus(bad).mean()


class GeneTokens(nn.Module):
    """Tokens of the genes of a cell: which gene it is and how much of it is expressed, if that is not hidden."""

    def __init__(self, n_genes: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.gene = nn.Embedding(n_genes, dim, padding_idx=0)
        self.gene_norm = nn.LayerNorm(dim)
        self.amount = nn.Sequential(nn.Linear(1, dim), nn.GELU(), nn.Linear(dim, dim), nn.LayerNorm(dim))
        self.hidden_amount = nn.Parameter(torch.zeros(dim))
        self.dropout = nn.Dropout(dropout)

    def forward(self, genes: Tensor, counts: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens (cells, genes, dim), and the part of them that says which genes these are."""
        names = self.gene_norm(self.gene(genes))
        amounts = self.amount(torch.log1p(counts).unsqueeze(-1))
        amounts = torch.where(hidden.unsqueeze(-1), self.hidden_amount, amounts)
        return self.dropout(names + amounts), names


class CountHead(nn.Module):
    """How much of each gene is expressed, and the chance that it is at all."""

    def __init__(self, n_in: int, dim: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.LayerNorm(n_in), nn.Linear(n_in, dim), nn.GELU())
        self.to_level = nn.Linear(dim, 1)
        self.to_chance = nn.Linear(dim, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Levels and logits of the chance (cells, genes)."""
        x = self.trunk(x)
        return self.to_level(x).squeeze(-1), self.to_chance(x).squeeze(-1)


class CellQuery(nn.Module):
    """How much of each gene a cell expresses, from the vector of the cell alone."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.to_question = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.level_key = nn.Linear(dim, dim, bias=False)
        self.chance_key = nn.Linear(dim, dim, bias=False)

    def forward(self, cell: Tensor, names: Tensor) -> tuple[Tensor, Tensor]:
        """Levels and logits of the chance (cells, genes)."""
        questions = self.to_question(names)
        level = torch.einsum("cgd,cd->cg", questions, self.level_key(cell))
        return level, torch.einsum("cgd,cd->cg", questions, self.chance_key(cell))


class CellModel(nn.Module):
    """A model of cells as sets of genes, trained to fill in what is hidden, to tell kinds, and to forget machines."""

    def __init__(
        self, n_genes: int = 300, n_kinds: int = 9, n_machines: int = 3, dim: int = 48, n_heads: int = 4,
        n_layers: int = 4, dropout: float = 0.1, forget_strength: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.forget_strength = forget_strength
        self.tokens = GeneTokens(n_genes, dim, dropout)
        self.machine = nn.Embedding(n_machines, dim)
        self.cell = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, n_heads, 2 * dim, dropout, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers, nn.LayerNorm(dim), enable_nested_tensor=False)
        self.fill_in = CountHead(2 * dim, dim)
        self.query = CellQuery(dim)
        self.to_kind = nn.Sequential(nn.Dropout(dropout), nn.Linear(dim, n_kinds))
        self.to_machine = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, n_machines))

    def backwards(self, x: Tensor) -> Tensor:
        """The same numbers, with a gradient that goes the other way."""
        return (1 + self.forget_strength) * x.detach() - self.forget_strength * x

    def forward(self, genes: Tensor, counts: Tensor, hidden: Tensor, machine: Tensor) -> Mapping[str, Tensor]:
        """Levels of the genes by two ways, logits of the kind and of the machine, and the vector of each cell.

        Gene zero is none; counts are (cells, genes), and so is which of them are hidden.
        """
        tokens, names = self.tokens(genes, counts, hidden)
        tokens = torch.cat([self.cell.expand(len(genes), -1, -1), tokens], dim=1)
        absent = F.pad(genes == 0, (1, 0), value=False)
        encoded = self.encoder(tokens, src_key_padding_mask=absent)
        cell, encoded = encoded[:, 0], encoded[:, 1:]
        machine_vector = self.machine(machine).unsqueeze(1).expand_as(encoded)
        level, chance = self.fill_in(torch.cat([encoded, machine_vector], dim=-1))
        cell_level, cell_chance = self.query(cell, names)
        return {
            **{"level": level * chance.sigmoid(), "chance": chance},
            **{"cell_level": cell_level * cell_chance.sigmoid(), "cell_chance": cell_chance},
            "kind": self.to_kind(cell),
            "machine": self.to_machine(self.backwards(cell)),
            "cell": F.normalize(cell, dim=1),
        }


def _genes() -> Tensor:
    genes = torch.stack([1 + torch.randperm(299)[:24] for _ in range(3)])
    genes[-1, -5:] = 0
    return genes


class ManyLengths(nn.Module):
    """Features of a series by windows of several lengths, and by the largest value near each time."""

    def __init__(self, n_in: int, n_filters: int, lengths: Sequence[int], narrow: int) -> None:
        super().__init__()
        self.narrow = nn.Conv1d(n_in, narrow, 1, bias=False) if n_in > narrow else nn.Identity()
        n_narrow = min(n_in, narrow)
        self.windows = nn.ModuleList(
            nn.Conv1d(n_narrow, n_filters, length, padding="same", bias=False) for length in lengths
        )
        self.largest = nn.Sequential(nn.MaxPool1d(3, stride=1, padding=1), nn.Conv1d(n_in, n_filters, 1, bias=False))
        self.n_out = n_filters * (len(lengths) + 1)
        self.norm = nn.BatchNorm1d(self.n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, times)."""
        narrow = self.narrow(x)
        parts = [self.largest(x), *(window(narrow) for window in self.windows)]
        return F.relu(self.norm(torch.cat(parts, dim=1)))


class SkipGroup(nn.Module):
    """Three such layers, beside what came in."""

    def __init__(self, n_in: int, n_filters: int, lengths: Sequence[int], narrow: int, depth: int = 3) -> None:
        super().__init__()
        layers = list[ManyLengths]()
        n_now = n_in
        for _ in range(depth):
            layers.append(ManyLengths(n_now, n_filters, lengths, narrow))
            n_now = layers[-1].n_out
        self.layers = nn.Sequential(*layers)
        self.skip = nn.Sequential(nn.Conv1d(n_in, n_now, 1, bias=False), nn.BatchNorm1d(n_now))
        self.n_out = n_now

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return F.relu(self.layers(x) + self.skip(x))


class SeriesClassifier(nn.Module):
    """Classes of series, from features of which only the mean over time counts."""

    def __init__(
        self, n_channels: int, n_classes: int, n_filters: int, lengths: Sequence[int], narrow: int, n_groups: int
    ) -> None:
        super().__init__()
        self.groups = nn.Sequential()
        n_now = n_channels
        for _ in range(n_groups):
            group = SkipGroup(n_now, n_filters, lengths, narrow)
            self.groups.append(group)
            n_now = group.n_out
        self.classify = nn.Linear(n_now, n_classes)

    def activation_map(self, series: Tensor) -> Tensor:
        """Maps of the times that speak for each class (batch, classes, times)."""
        return torch.einsum("bct,kc->bkt", self.groups(series), self.classify.weight)

    def forward(self, series: Tensor) -> Tensor:
        """Logits (batch, classes)."""
        return self.classify(self.groups(series).mean(dim=2))


class SeriesEnsemble(nn.Module):
    """Classes of series by the mean vote of several nets that differ in nothing but where they began."""

    def __init__(
        self, n_channels: int, n_classes: int, n_nets: int = 3, n_filters: int = 16,
        lengths: Sequence[int] = (9, 19, 39), narrow: int = 16, n_groups: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.nets = nn.ModuleList(
            SeriesClassifier(n_channels, n_classes, n_filters, lengths, narrow, n_groups) for _ in range(n_nets)
        )

    def forward(self, series: Tensor) -> Tensor:
        """Probabilities (batch, classes) of series (batch, times, channels)."""
        x = series.transpose(1, 2)
        mean, deviation = x.mean(dim=2, keepdim=True), x.std(dim=2, keepdim=True)
        x = (x - mean) / (deviation + 1e-6)
        votes = [net(x).softmax(dim=1) for net in self.nets]
        return torch.stack(votes).mean(dim=0)


class TalkReader(nn.Module):
    """Vectors of the words of a talk, and one of all of it."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (batch, words, dim) and (batch, dim), in which both directions are added."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(embedded), lengths, batch_first=True, enforce_sorted=False
        )
        outputs, last = self.gru(packed)
        words, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=embedded.size(1))
        there, back = words.chunk(2, dim=-1)
        return there + back, last.sum(dim=0)


class ValueWriter(nn.Module):
    """The value of a slot, word after word, out of all words that there are and out of those of the talk."""

    def __init__(self, dim: int, n_steps: int, dropout: float) -> None:
        super().__init__()
        self.n_steps = n_steps
        self.dropout = nn.Dropout(dropout)
        self.cell = nn.GRUCell(dim, dim)
        self.to_source = nn.Linear(3 * dim, 1)
        self.to_use = nn.Linear(dim, 3)

    def forward(
        self, slots: Tensor, talk: tuple[Tensor, Tensor], tokens: Tensor, vocabulary: nn.Embedding,
        values: Tensor | None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Probabilities of words (slots, steps, words), and logits of what to do with the slot.

        All slots of all talks are written at once, so that talks and tokens are there for each of them. Values that
        are known (slots, steps) are what goes on being written.
        """
        words, hidden = talk
        x, outside = self.dropout(slots), (tokens == 0)
        written, contexts = [], []
        for step in range(self.n_steps):
            hidden = self.cell(x, hidden)
            fit = torch.einsum("sd,swd->sw", hidden, words).masked_fill(outside, -math.inf)
            attention = fit.softmax(dim=1)
            context = torch.einsum("sw,swd->sd", attention, words)
            contexts.append(context)
            spoken = F.linear(hidden, vocabulary.weight).softmax(dim=1)
            source = torch.sigmoid(self.to_source(torch.cat([x, hidden, context], dim=1)))
            chances = (source * spoken).scatter_add(1, tokens, (1 - source) * attention)
            written.append(chances)
            x = self.dropout(vocabulary(chances.argmax(dim=1) if values is None else values[:, step]))
        return torch.stack(written, dim=1), self.to_use(contexts[0])  # before anything is written


class StateTracker(nn.Module):
    """Tracker of a talk: the values of slots of several domains, from all that was said so far."""

    domain_of: Tensor
    topic_of: Tensor

    def __init__(
        self, n_words: int, slots: Sequence[tuple[str, str]], dim: int = 48, n_steps: int = 3, dropout: float = 0.2
    ) -> None:
        super().__init__()
        domains, topics = (sorted({*names}) for names in zip(*slots, strict=True))
        self.register_buffer("domain_of", torch.tensor([domains.index(domain) for domain, _ in slots]))
        self.register_buffer("topic_of", torch.tensor([topics.index(topic) for _, topic in slots]))
        self.words = nn.Embedding(n_words, dim, padding_idx=0)
        self.domains, self.topics = nn.Embedding(len(domains), dim), nn.Embedding(len(topics), dim)
        self.reader = TalkReader(dim, dropout)
        self.writer = ValueWriter(dim, n_steps, dropout)

    def forward(
        self, tokens: Tensor, lengths: Tensor, values: Tensor | None = None, uses: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Probabilities of words (batch, slots, steps, words), what to do with each slot, and the loss if it is known.

        A slot is left as it is, or does not matter, or gets the value that is written.
        """
        n_talks = len(tokens)
        words, last = self.reader(self.words(tokens), lengths)
        slots = self.domains(self.domain_of) + self.topics(self.topic_of)
        n_slots = len(slots)
        each = [x.repeat_interleave(n_slots, dim=0) for x in (words, last, tokens)]
        goal = None if values is None else values.flatten(0, 1)
        chances, use = self.writer(slots.repeat(n_talks, 1), (each[0], each[1]), each[2], self.words, goal)
        result = {"words": chances.unflatten(0, (n_talks, n_slots)), "use": use.unflatten(0, (n_talks, n_slots))}
        if goal is not None and uses is not None:
            likelihood = chances.gather(2, goal.unsqueeze(-1)).clamp(min=1e-8).log()
            result["loss"] = F.cross_entropy(use, uses.flatten()) - likelihood.mean()
        return result


SLOTS = [
    ("hotel", "area"), ("hotel", "price"), ("hotel", "stars"), ("restaurant", "area"), ("restaurant", "food"),
    ("train", "day"), ("train", "leave"),
]  # fmt: skip


def _talks() -> Tensor:
    return torch.randint(1, 120, (2, 18)).masked_fill(torch.arange(18) >= torch.tensor([[18], [12]]), 0)


NETS = [
    Entry("own/gdn", lambda: PlantMonitor(20), given(numbers(4, 20, 15), numbers(4, 20))),
    Entry("own/musicvae", MelodyVAE, given(lambda: torch.randint(0, 90, (2, 32)))),
    Entry(
        "own/caser",
        lambda: NextItems(40, 150),
        given(
            whole(4, 17, 31),
            lambda: torch.randint(1, 150, (3, 6)),
            lambda: torch.randint(1, 150, (3, 2)),
            lambda: torch.randint(1, 150, (3, 4)),
        ),
    ),
    Entry(
        "own/scgpt",
        CellModel,
        given(
            _genes,
            lambda: torch.randint(0, 40, (3, 24)).float(),
            lambda: torch.rand(3, 24) < 0.3,
            whole(0, 2, 1),
        ),
    ),
    Entry("own/inception_time", lambda: SeriesEnsemble(3, 5), given(numbers(4, 96, 3))),
    Entry("own/trade_dst", lambda: StateTracker(120, SLOTS), given(_talks, whole(18, 12))),
]
