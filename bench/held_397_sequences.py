"""Nets of series, words, stories and speech as repositories write them, of the tenth list kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import copy
import math
from argparse import Namespace
from collections.abc import Sequence
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, cast

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils import rnn as rnn_utils
from torch.nn.utils.parametrizations import weight_norm

from tests.corpus.entry import Entry, given, whole


class Generator(nn.Module):
    """Words one after another, by a cell."""

    def __init__(self, vocab_size: int, emb_dim: int, hidden_dim: int, max_len: int, start_token: int = 0) -> None:
        super().__init__()
        self.hidden_dim, self.max_len, self.start_token = hidden_dim, max_len, start_token
        self.embeddings = nn.Embedding(vocab_size, emb_dim)
        self.cell = nn.LSTMCell(emb_dim, hidden_dim)
        self.to_vocab = nn.Linear(hidden_dim, vocab_size)
        for p in self.parameters():
            nn.init.normal_(p, std=0.1)

    def step(self, token: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Logarithms of the probabilities of the next word, and the state."""
        h, c = self.cell(self.embeddings(token), state)
        return F.log_softmax(self.to_vocab(h), dim=-1), (h, c)

    def start(self, batch_size: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The first word and a state of zeros."""
        zeros = self.to_vocab.weight.new_zeros(batch_size, self.hidden_dim)
        token = torch.full((batch_size,), self.start_token, device=zeros.device)
        return token, (zeros, zeros.clone())

    def forward(self, tokens: Tensor) -> Tensor:
        """Logarithms of the probabilities of the words of sentences, each after those before it (batch, words)."""
        token, state = self.start(tokens.size(0))
        log_probs = []
        for t in range(tokens.size(1)):
            log_p, state = self.step(token, state)
            token = tokens[:, t]
            log_probs.append(log_p.gather(1, token.unsqueeze(1)))
        return torch.cat(log_probs, dim=1)

    @torch.no_grad()
    def complete(self, prefix: Tensor) -> Tensor:
        """Sentences that begin as given and go on by chance."""
        token, state = self.start(prefix.size(0))
        sentence = list(prefix.unbind(1))
        for t in range(self.max_len):
            log_p, state = self.step(token, state)
            if t == len(sentence):
                sentence.append(torch.multinomial(log_p.exp(), 1).squeeze(1))
            token = sentence[t]
        return torch.stack(sentence, dim=1)

    def sample(self, batch_size: int) -> Tensor:
        """Sentences by chance."""
        nothing = torch.empty(batch_size, 0, dtype=torch.long, device=self.to_vocab.weight.device)
        return self.complete(nothing)


class Highway(nn.Module):
    """A layer and a gate that lets pass what came in."""

    def __init__(self, size: int, bias: float = -2.0) -> None:
        super().__init__()
        self.transform, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        t = torch.sigmoid(self.gate(x))
        return t * F.relu(self.transform(x)) + (1 - t) * x


class Discriminator(nn.Module):
    """Whether a sentence is real, by convolutions of several widths."""

    def __init__(
        self, vocab_size: int, emb_dim: int, filter_sizes: list[int], num_filters: list[int], dropout: float
    ) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, emb_dim)
        self.convs = nn.ModuleList(
            nn.Conv1d(emb_dim, n, width) for n, width in zip(num_filters, filter_sizes, strict=True)
        )
        self.highway = Highway(sum(num_filters))
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(sum(num_filters), 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of made and real."""
        x = self.embeddings(tokens).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=2) for conv in self.convs]
        x = self.highway(torch.cat(pooled, dim=1))
        return self.classifier(self.dropout(x))


class SeqGAN(nn.Module):
    """One step of a generator of sentences, which is rewarded for each word, against a discriminator."""

    def __init__(self, opt: SimpleNamespace) -> None:
        super().__init__()
        self.opt = opt
        self.generator = Generator(opt.vocab_size, opt.g_emb_dim, opt.g_hidden_dim, opt.max_len)
        self.discriminator = Discriminator(
            opt.vocab_size, opt.d_emb_dim, opt.d_filter_sizes, opt.d_num_filters, opt.d_dropout
        )
        # a copy of the generator that follows it slowly and finishes its sentences
        self.rollout = copy.deepcopy(self.generator).requires_grad_(False)

    @torch.no_grad()
    def update_rollout(self) -> None:
        """Moves the copy towards the generator."""
        for ours, theirs in zip(self.rollout.parameters(), self.generator.parameters(), strict=True):
            ours.lerp_(theirs, 1 - self.opt.update_rate)

    @torch.no_grad()
    def rewards(self, samples: Tensor) -> Tensor:
        """How real sentences look that begin with each word and those before it (batch, words)."""
        rewards = torch.zeros(samples.shape, device=samples.device)
        for _ in range(self.opt.rollout_num):
            for t in range(1, samples.size(1) + 1):
                finished = self.rollout.complete(samples[:, :t])
                rewards[:, t - 1] += self.discriminator(finished).softmax(dim=-1)[:, 1]
        return rewards / self.opt.rollout_num

    def forward(self, real: Tensor) -> dict[str, Tensor]:
        """The losses of the generator and the discriminator."""
        samples = self.generator.sample(real.size(0))
        rewards = self.rewards(samples)
        log_probs = self.generator(samples)
        g_loss = -(log_probs * rewards).sum(dim=1).mean()

        logits = self.discriminator(torch.cat([real, samples]))
        is_real = torch.arange(logits.size(0), device=real.device) < real.size(0)
        d_loss = F.cross_entropy(logits, is_real.long())
        return {"g_loss": g_loss, "d_loss": d_loss, "reward": rewards.mean()}


SEQGAN_OPT = SimpleNamespace(
    **{"vocab_size": 100, "g_emb_dim": 16, "g_hidden_dim": 16, "max_len": 6, "rollout_num": 2, "update_rate": 0.8},
    **{"d_emb_dim": 16, "d_filter_sizes": [1, 2, 3, 4], "d_num_filters": [16, 24, 24, 16], "d_dropout": 0.25},
)


def cumax(x: Tensor) -> Tensor:
    """How likely it is that an end lies before each place."""
    return x.softmax(dim=-1).cumsum(dim=-1)


class VariationalDropout(nn.Module):
    """A dropout that is the same at all times of a sentence."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Features (time, batch, channels)."""
        if not self.training or self.p == 0:
            return x
        keep = x.new_empty(1, *x.shape[1:]).bernoulli_(1 - self.p) / (1 - self.p)
        return x * keep


class EmbeddingDropout(nn.Embedding):
    """Embeddings, some words of which are left out of a whole text."""

    def __init__(self, num_words: int, dim: int, p: float) -> None:
        super().__init__(num_words, dim)
        self.p = p
        nn.init.uniform_(self.weight, -0.1, 0.1)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The embedded words."""
        weight = self.weight
        if self.training and self.p:
            weight = weight * weight.new_empty(weight.size(0), 1).bernoulli_(1 - self.p) / (1 - self.p)
        return F.embedding(input, weight)


class DropConnectLinear(nn.Linear):
    """A layer some of whose weights are left out of a whole sentence."""

    def __init__(self, in_features: int, out_features: int, p: float) -> None:
        super().__init__(in_features, out_features)
        self.p = p
        self.kept: Tensor | None = None

    def draw(self) -> None:
        """Chooses which weights are left out."""
        self.kept = torch.rand_like(self.weight) >= self.p if self.training else None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Features."""
        weight = self.weight * (1 - self.p) if self.kept is None else self.weight.masked_fill(~self.kept, 0.0)
        return F.linear(input, weight, self.bias)


class OrderedLSTMCell(nn.Module):
    """An LSTM whose neurons are ordered, in chunks, by how long they remember."""

    def __init__(self, input_size: int, hidden_size: int, chunk_size: int, dropconnect: float = 0.0) -> None:
        super().__init__()
        if hidden_size % chunk_size:
            raise ValueError(f"{hidden_size} neurons are not chunks of {chunk_size}")
        self.hidden_size, self.chunk_size, self.n_chunks = hidden_size, chunk_size, hidden_size // chunk_size
        n_gates = 4 * hidden_size + 2 * self.n_chunks
        self.input_map = nn.Linear(input_size, n_gates)
        self.hidden_map = DropConnectLinear(hidden_size, n_gates, dropconnect)

    def forward(self, gates_x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor]:
        """The output, the state, and the level up to which is forgotten."""
        h, c = state
        gates = gates_x + self.hidden_map(h)
        master, rest = gates.split([2 * self.n_chunks, 4 * self.hidden_size], dim=-1)
        master_f, master_i = master.chunk(2, dim=-1)
        f, i, o, g = rest.view(-1, 4, self.n_chunks, self.chunk_size).unbind(dim=1)

        master_f = cumax(master_f)
        master_i = 1 - cumax(master_i)
        level = 1 - master_f.mean(dim=-1)
        master_f, master_i = master_f.unsqueeze(-1), master_i.unsqueeze(-1)
        overlap = master_f * master_i
        f = torch.sigmoid(f) * overlap + (master_f - overlap)
        i = torch.sigmoid(i) * overlap + (master_i - overlap)
        c = f * c + i * torch.tanh(g)
        h = (torch.sigmoid(o) * torch.tanh(c)).flatten(1)
        return h, (h, c), level

    def initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        """Zeros."""
        weight = self.hidden_map.weight
        return weight.new_zeros(batch_size, self.hidden_size), weight.new_zeros(
            batch_size, self.n_chunks, self.chunk_size
        )


class OrderedLSTM(nn.Module):
    """Layers of such cells over a sentence."""

    def __init__(self, sizes: list[int], chunk_size: int, dropout: float, dropconnect: float) -> None:
        super().__init__()
        self.cells = nn.ModuleList(
            OrderedLSTMCell(n_in, n_out, chunk_size, dropconnect) for n_in, n_out in pairwise(sizes)
        )
        self.dropout = VariationalDropout(dropout)

    def forward(
        self, x: Tensor, states: list[tuple[Tensor, Tensor]] | None = None
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]], Tensor]:
        """The outputs, the states, and the levels of all layers, of which a tree of the sentence is made."""
        new_states, levels = [], []
        for layer, cell in enumerate(cast("list[OrderedLSTMCell]", self.cells)):
            cell.hidden_map.draw()
            state = cell.initial_state(x.size(1)) if states is None else states[layer]
            outputs, layer_levels = [], []
            for gates_x in cell.input_map(x):
                h, state, level = cell(gates_x, state)
                outputs.append(h)
                layer_levels.append(level)
            x = torch.stack(outputs)
            if layer < len(self.cells) - 1:
                x = self.dropout(x)
            new_states.append(state)
            levels.append(torch.stack(layer_levels))
        return x, new_states, torch.stack(levels)


class ONLSTMLanguageModel(nn.Module):
    """The next word of texts, by ordered neurons; words are read and written by one matrix."""

    def __init__(
        self, num_words: int, emb_dim: int = 40, hidden_dim: int = 60, n_layers: int = 3, chunk_size: int = 10,
        dropout: float = 0.45, dropout_in: float = 0.5, dropout_hidden: float = 0.3, dropout_words: float = 0.1,
        dropconnect: float = 0.45,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = EmbeddingDropout(num_words, emb_dim, dropout_words)
        self.drop_in, self.drop_out = VariationalDropout(dropout_in), VariationalDropout(dropout)
        sizes = [emb_dim, *[hidden_dim] * (n_layers - 1), emb_dim]
        self.rnn = OrderedLSTM(sizes, chunk_size, dropout_hidden, dropconnect)
        self.decoder = nn.Linear(emb_dim, num_words)
        self.decoder.weight = self.embedding.weight
        nn.init.zeros_(self.decoder.bias)

    def forward(
        self, words: Tensor, states: list[tuple[Tensor, Tensor]] | None = None
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]], Tensor]:
        """Logits of the next words (time, batch, words), the states and the levels."""
        x = self.drop_in(self.embedding(words))
        x, states, levels = self.rnn(x, states)
        return self.decoder(self.drop_out(x)), states, levels


class NGramEncoder(nn.Module):
    """Phrases of so many words, as vectors of one length."""

    def __init__(self, emb_dim: int, n_filters: int, n: int) -> None:
        super().__init__()
        self.n = n
        self.conv = nn.Sequential(nn.Conv1d(emb_dim, n_filters, n), nn.ReLU())

    def forward(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors (batch, phrases, filters), and which phrases are whole."""
        x = self.conv(embedded.transpose(1, 2)).transpose(1, 2)
        return F.normalize(x + 1e-9, p=2, dim=-1), mask[:, self.n - 1 :]


class KernelPooling(nn.Module):
    """How many similarities of two texts are near each of several values."""

    mu: Tensor
    sigma: Tensor

    def __init__(self, n_kernels: int, sigma: float = 0.1, exact_sigma: float = 0.001) -> None:
        super().__init__()
        width = 2.0 / (n_kernels - 1)
        mu = [1.0] + [1 - width / 2 - width * i for i in range(n_kernels - 1)]  # the first is for what is the same
        self.register_buffer("mu", torch.tensor(mu))
        self.register_buffer("sigma", torch.tensor([exact_sigma] + [sigma] * (n_kernels - 1)))

    def forward(self, query: Tensor, doc: Tensor, query_mask: Tensor, doc_mask: Tensor) -> Tensor:
        """A feature of each kernel."""
        sim = torch.matmul(query, doc.transpose(1, 2)).unsqueeze(-1)
        near = torch.exp(-0.5 * ((sim - self.mu) / self.sigma) ** 2)
        counts = (near * doc_mask[:, None, :, None]).sum(dim=2)
        log_counts = torch.log(counts.clamp(min=1e-10)) * 0.01
        return (log_counts * query_mask.unsqueeze(-1)).sum(dim=1)


class ConvKNRM(nn.Module):
    """How well a document answers a query, by similarities of their phrases of all lengths."""

    def __init__(self, opt: Namespace) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(opt.vocab_size, opt.emb_dim, padding_idx=0)
        self.ngrams = nn.ModuleList(NGramEncoder(opt.emb_dim, opt.n_filters, n + 1) for n in range(opt.max_ngram))
        self.pooling = KernelPooling(opt.n_kernels)
        self.score = nn.Linear(opt.n_kernels * opt.max_ngram**2, 1)

    def forward(self, query: Tensor, doc: Tensor, query_mask: Tensor, doc_mask: Tensor) -> Tensor:
        """A score of each pair."""
        query_emb, doc_emb = self.word_embeddings(query), self.word_embeddings(doc)
        query_grams = [encoder(query_emb, query_mask) for encoder in self.ngrams]
        doc_grams = [encoder(doc_emb, doc_mask) for encoder in self.ngrams]
        features = [self.pooling(q, d, q_mask, d_mask) for (q, q_mask), (d, d_mask) in product(query_grams, doc_grams)]
        return torch.tanh(self.score(torch.cat(features, dim=1))).squeeze(1)


KNRM_OPT = Namespace(vocab_size=300, emb_dim=50, n_kernels=11, n_filters=32, max_ngram=3)


def normed_linear(n_in: int, n_out: int, dropout: float = 0.0) -> nn.Module:
    """A layer whose weight is normed."""
    layer = nn.Linear(n_in, n_out)
    nn.init.normal_(layer.weight, std=math.sqrt((1 - dropout) / n_in))
    nn.init.zeros_(layer.bias)
    return weight_norm(layer)


def normed_conv(conv: nn.Conv1d | nn.ConvTranspose1d, gain: float = 4.0, dropout: float = 0.0) -> nn.Module:
    """A convolution whose weight is normed."""
    fan_in = conv.kernel_size[0] * conv.in_channels
    nn.init.normal_(conv.weight, std=math.sqrt(gain * (1 - dropout) / fan_in))
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return weight_norm(conv)


class PositionalEncoding(nn.Module):
    """Places of letters or frames as waves, at a rate that depends on the speaker."""

    angles: Tensor

    def __init__(self, dim: int, speaker_dim: int, rate: float, max_len: int = 128) -> None:
        super().__init__()
        self.rate = rate
        self.speaker_rate = normed_linear(speaker_dim, 1)
        power = torch.arange(dim).div(2, rounding_mode="floor") * 2 / dim
        self.register_buffer("angles", torch.arange(max_len).unsqueeze(1) / 10000**power)

    def forward(self, positions: Tensor, speaker: Tensor) -> Tensor:
        """Features of places; the place zero is a padding and has none."""
        rates = self.rate * torch.sigmoid(self.speaker_rate(speaker)).squeeze(-1)
        encoded = []
        for where, rate in zip(positions, rates, strict=True):  # each text has a table of its own
            table = rate * self.angles
            for begin, wave in enumerate((torch.sin, torch.cos)):
                table[1:, begin::2] = wave(table[1:, begin::2].clone())
            encoded.append(F.embedding(where, table))
        return torch.stack(encoded)


class ConvBlock(nn.Module):
    """A gated convolution that knows the speaker, with what came in beside it."""

    def __init__(
        self, channels: int, kernel_size: int, dilation: int, speaker_dim: int, dropout: float, causal: bool = False,
        residual: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.causal, self.residual = causal, residual
        self.reach = (kernel_size - 1) * dilation
        self.dropout = nn.Dropout(dropout)
        conv = nn.Conv1d(channels, 2 * channels, kernel_size, dilation=dilation)
        self.conv = normed_conv(conv, dropout=dropout)
        self.speaker_bias = normed_linear(speaker_dim, channels)

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        """Features (batch, channels, time)."""
        past = self.reach if self.causal else self.reach // 2
        padded = F.pad(self.dropout(x), (past, self.reach - past))
        values, gate = self.conv(padded).chunk(2, dim=1)
        values = values + F.softsign(self.speaker_bias(speaker)).unsqueeze(-1)
        out = values * torch.sigmoid(gate)
        return (x + out) * math.sqrt(0.5) if self.residual else out


class ConvStack(nn.ModuleList):
    """Blocks in turn, and convolutions of width one where the number of channels changes."""

    def __init__(self, n_in: int, specs: Sequence[tuple[int, int, int]], causal: bool = False, **options: Any) -> None:
        super().__init__()
        for channels, kernel_size, dilation in specs:
            if channels != n_in:
                self.append(nn.Sequential(normed_conv(nn.Conv1d(n_in, channels, 1), gain=1.0), nn.ReLU()))
            self.append(ConvBlock(channels, kernel_size, dilation, causal=causal, **options))
            n_in = channels

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        """Features."""
        for layer in self:
            x = layer(x, speaker) if isinstance(layer, ConvBlock) else layer(x)
        return x


class Encoder(nn.Module):
    """Keys and values of the letters of a text."""

    def __init__(self, n_symbols: int, hp: SimpleNamespace) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_symbols, hp.embed_dim, padding_idx=0)
        self.dropout = nn.Dropout(hp.dropout)
        self.speaker_in = normed_linear(hp.speaker_dim, hp.embed_dim, hp.dropout)
        self.speaker_out = normed_linear(hp.speaker_dim, hp.embed_dim, hp.dropout)
        self.stack = ConvStack(hp.embed_dim, hp.encoder, speaker_dim=hp.speaker_dim, dropout=hp.dropout)
        self.project = normed_conv(nn.Conv1d(hp.encoder[-1][0], hp.embed_dim, 1), gain=1.0)

    def forward(self, text: Tensor, speaker: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and the values (batch, letters, channels)."""
        embedded = self.dropout(self.embed(text)) + F.softsign(self.speaker_in(speaker)).unsqueeze(1)
        x = self.stack(embedded.transpose(1, 2), speaker)
        keys = self.project(x).transpose(1, 2) + F.softsign(self.speaker_out(speaker)).unsqueeze(1)
        return keys, (keys + embedded) * math.sqrt(0.5)


class AttentionBlock(nn.Module):
    """Attention of frames to letters."""

    def __init__(self, channels: int, embed_dim: int, dropout: float) -> None:
        super().__init__()
        self.query, self.out = normed_linear(channels, embed_dim), normed_linear(embed_dim, channels)
        self.key, self.value = normed_linear(embed_dim, embed_dim), normed_linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the frames (batch, frames, channels), and the attention."""
        scores = torch.bmm(self.query(x), self.key(keys).transpose(1, 2))
        alignment = scores.masked_fill(padding.unsqueeze(1), -math.inf).softmax(dim=-1)
        context = torch.bmm(self.dropout(alignment), self.value(values))
        context = context * math.sqrt(values.size(1))  # that its variance does not depend on the length
        return (x + self.out(context)) * math.sqrt(0.5), alignment


class Decoder(nn.Module):
    """Frames of a spectrogram, several at a time, from frames before them and from a text."""

    def __init__(self, hp: SimpleNamespace) -> None:
        super().__init__()
        self.r, self.mel_dim = hp.r, hp.mel_dim
        shared = {"speaker_dim": hp.speaker_dim, "dropout": hp.dropout}
        channels = hp.decoder[0][0]
        self.dropout = nn.Dropout(hp.dropout)
        self.query_positions = PositionalEncoding(channels, hp.speaker_dim, rate=1.0)
        self.key_positions = PositionalEncoding(hp.embed_dim, hp.speaker_dim, rate=hp.key_rate)
        self.prenet = ConvStack(hp.mel_dim * hp.r, hp.prenet, causal=True, **shared)
        self.convs = nn.ModuleList(ConvBlock(c, k, d, causal=True, residual=False, **shared) for c, k, d in hp.decoder)
        self.attentions = nn.ModuleList(
            AttentionBlock(channels, hp.embed_dim, hp.dropout) if attends else nn.Identity() for attends in hp.attends
        )
        self.to_mel = normed_conv(nn.Conv1d(channels, hp.mel_dim * hp.r, 1))
        self.to_done = normed_linear(hp.mel_dim * hp.r, 1)

    def forward(
        self, encoded: tuple[Tensor, Tensor], mel: Tensor, text_positions: Tensor, frame_positions: Tensor,
        speaker: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
        """The frames, whether the text ends, features of the frames, and the attention of each layer that has it."""
        keys, values = encoded
        keys = keys + self.key_positions(text_positions, speaker)
        queries = self.query_positions(frame_positions, speaker)
        padding = text_positions == 0

        x = self.dropout(mel.reshape(mel.size(0), -1, self.mel_dim * self.r)).transpose(1, 2)
        x = self.prenet(x, speaker)
        alignments = []
        for conv, attention in zip(self.convs, self.attentions, strict=True):
            before = x
            x = conv(x, speaker)
            if isinstance(attention, AttentionBlock):
                x, alignment = attention(x.transpose(1, 2) + queries, keys, values, padding)
                x = x.transpose(1, 2)
                alignments.append(alignment)
            x = (x + before) * math.sqrt(0.5)
        frames = self.to_mel(x).transpose(1, 2)
        done = torch.sigmoid(self.to_done(frames)).squeeze(-1)
        mel = torch.sigmoid(frames).reshape(mel.size(0), -1, self.mel_dim)
        return mel, done, x, torch.stack(alignments)


class Converter(nn.Module):
    """A linear spectrogram, four times as long, from features of frames."""

    def __init__(self, hp: SimpleNamespace) -> None:
        super().__init__()
        shared = {"speaker_dim": hp.speaker_dim, "dropout": hp.dropout}
        channels = hp.converter[0][0]
        self.reduce = normed_conv(nn.Conv1d(hp.decoder[-1][0], channels, 1), gain=1.0)
        self.upsamples, self.stacks = nn.ModuleList(), nn.ModuleList()
        for _ in range(int(math.log2(hp.r))):
            self.upsamples.append(normed_conv(nn.ConvTranspose1d(channels, channels, 2, stride=2), gain=1.0))
            self.stacks.append(ConvStack(channels, [(channels, 3, 1), (channels, 3, 3)], **shared))
        self.last = ConvStack(channels, hp.converter, **shared)
        self.to_linear = normed_conv(nn.Conv1d(hp.converter[-1][0], hp.linear_dim, 1), dropout=hp.dropout)

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        """The spectrogram (batch, frames, bins)."""
        x = self.reduce(x)
        for upsample, stack in zip(self.upsamples, self.stacks, strict=True):
            x = stack(upsample(x), speaker)
        x = self.last(x, speaker)
        return torch.sigmoid(self.to_linear(x)).transpose(1, 2)


class DeepVoice3(nn.Module):
    """Spectrograms of texts, spoken by one of several speakers, by convolutions alone."""

    def __init__(self, hp: SimpleNamespace) -> None:
        super().__init__()
        self.embed_speakers = nn.Embedding(hp.n_speakers, hp.speaker_dim)
        nn.init.normal_(self.embed_speakers.weight, std=0.1)
        self.encoder, self.decoder, self.converter = Encoder(hp.n_symbols, hp), Decoder(hp), Converter(hp)

    def forward(
        self, text: Tensor, mel: Tensor, speaker_ids: Tensor, text_positions: Tensor, frame_positions: Tensor
    ) -> dict[str, Tensor]:
        """Both spectrograms, the attention, and whether the text ends."""
        speaker = self.embed_speakers(speaker_ids)
        encoded = self.encoder(text, speaker)
        mel, done, states, alignments = self.decoder(encoded, mel, text_positions, frame_positions, speaker)
        linear = self.converter(states, speaker)
        return {"mel": mel, "linear": linear, "alignments": alignments, "done": done}


DEEPVOICE_HP = SimpleNamespace(
    **{"n_symbols": 60, "n_speakers": 4, "speaker_dim": 16, "embed_dim": 48, "mel_dim": 20, "linear_dim": 65, "r": 4},
    **{"dropout": 0.05, "key_rate": 1.29, "encoder": [(64, 3, 1), (64, 3, 3), (64, 3, 9), (64, 3, 1)]},
    **{"prenet": [(32, 3, 1), (32, 3, 3)], "decoder": [(32, 3, 1), (32, 3, 3), (32, 3, 9), (32, 3, 1)]},
    **{"attends": [True, False, False, True], "converter": [(64, 3, 1), (64, 3, 3), (128, 3, 1)]},
)


def _positions(*lengths: int) -> Tensor:
    longest = max(lengths)
    return torch.stack([F.pad(torch.arange(1, n + 1), (0, longest - n)) for n in lengths])


class SentenceEncoder(nn.Module):
    """The last state of a sentence, whose length is its own."""

    def __init__(self, emb_dim: int, hidden_dim: int, num_layers: int, bidirectional: bool) -> None:
        super().__init__()
        self.rnn = nn.GRU(emb_dim, hidden_dim, num_layers, batch_first=True, bidirectional=bidirectional)
        self.out_dim = hidden_dim * num_layers * (2 if bidirectional else 1)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """The states of all layers and directions, side by side."""
        packed = rnn_utils.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, h_n = self.rnn(packed)
        return h_n.transpose(0, 1).flatten(1)


class SentenceDecoder(nn.Module):
    """Words from those before them and a vector, which is the first state and goes beside each word."""

    def __init__(self, emb_dim: int, hidden_dim: int, latent_dim: int, vocab_size: int) -> None:
        super().__init__()
        self.to_state = nn.Linear(latent_dim, hidden_dim)
        self.rnn = nn.GRU(emb_dim + latent_dim, hidden_dim, batch_first=True)
        self.to_vocab = nn.Linear(hidden_dim, vocab_size)

    def forward(self, embedded: Tensor, z: Tensor, lengths: Tensor) -> Tensor:
        """Logits of the words."""
        h_0 = torch.tanh(self.to_state(z)).unsqueeze(0)
        beside = z.unsqueeze(1).expand(-1, embedded.size(1), -1)
        inputs = torch.cat([embedded, beside], dim=-1)
        packed = rnn_utils.pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, _ = self.rnn(packed, h_0)
        padded, _ = rnn_utils.pad_packed_sequence(outputs, batch_first=True, total_length=embedded.size(1))
        return self.to_vocab(padded)


class SentenceVAE(nn.Module):
    """Sentences through one vector each, some words of which the decoder does not see."""

    PAD, UNK, SOS, EOS = range(4)

    def __init__(
        self, vocab_size: int, emb_dim: int = 32, hidden_dim: int = 48, latent_dim: int = 16, num_layers: int = 1,
        bidirectional: bool = True, word_dropout: float = 0.4, emb_dropout: float = 0.3, anneal_steps: int = 2500,
    ) -> None:  # fmt: skip
        super().__init__()
        self.word_dropout, self.anneal_steps = word_dropout, anneal_steps
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=self.PAD)
        self.emb_dropout = nn.Dropout(emb_dropout)
        self.encoder = SentenceEncoder(emb_dim, hidden_dim, num_layers, bidirectional)
        self.to_mean = nn.Linear(self.encoder.out_dim, latent_dim)
        self.to_logvar = nn.Linear(self.encoder.out_dim, latent_dim)
        self.decoder = SentenceDecoder(emb_dim, hidden_dim, latent_dim, vocab_size)

    def drop_words(self, words: Tensor) -> Tensor:
        """Sentences in which an unknown word stands for some."""
        if not self.training or self.word_dropout == 0:
            return words
        special = (words == self.PAD) | (words == self.SOS)
        dropped = (torch.rand(words.shape, device=words.device) < self.word_dropout) & ~special
        return words.masked_fill(dropped, self.UNK)

    def kl_weight(self, step: int, slope: float = 0.0025) -> float:
        """A weight that grows from zero to one."""
        return 1 / (1 + math.exp(-slope * (step - self.anneal_steps)))

    def forward(self, words: Tensor, lengths: Tensor, step: int = 0) -> dict[str, Tensor]:
        """Logits of the next words, and the parts of the loss."""
        inputs, targets, lengths = words[:, :-1], words[:, 1:], lengths - 1
        h = self.encoder(self.embedding(inputs), lengths)
        mean, logvar = self.to_mean(h), self.to_logvar(h)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)

        logits = self.decoder(self.emb_dropout(self.embedding(self.drop_words(inputs))), z, lengths)
        nll = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=self.PAD, reduction="sum")
        kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum()
        loss = (nll + self.kl_weight(step) * kl) / words.size(0)
        return {"logits": logits, "z": z, "nll": nll, "kl": kl, "loss": loss}


def _sentences(*lengths: int, known: int = 120) -> Tensor:
    sentences = torch.randint(4, known, (len(lengths), max(lengths)))
    for row, length in zip(sentences, lengths, strict=True):
        row[length:] = 0
    return sentences


def _marked(*lengths: int) -> Tensor:
    sentences = _sentences(*lengths)
    sentences[:, 0] = SentenceVAE.SOS
    for row, length in zip(sentences, lengths, strict=True):
        row[length - 1] = SentenceVAE.EOS
    return sentences


def _filled(*lengths: int) -> Tensor:
    return (_positions(*lengths) > 0).float()


NETS = [
    Entry("own/seqgan", lambda: SeqGAN(SEQGAN_OPT), given(lambda: torch.randint(0, 100, (4, 6))), same_inputs=True),
    Entry("own/on_lstm", lambda: ONLSTMLanguageModel(200), given(lambda: torch.randint(0, 200, (6, 2)))),
    Entry(
        "own/conv_knrm",
        lambda: ConvKNRM(KNRM_OPT),
        given(
            lambda: _sentences(5, 3, known=300),
            lambda: _sentences(20, 14, known=300),
            lambda: _filled(5, 3),
            lambda: _filled(20, 14),
        ),
    ),
    Entry(
        "own/deepvoice3",
        lambda: DeepVoice3(DEEPVOICE_HP),
        given(
            lambda: _sentences(12, 9, known=60),
            lambda: torch.rand(2, 32, 20),
            whole(0, 3),
            lambda: _positions(12, 9),
            lambda: _positions(8, 8),
        ),
    ),
    Entry("own/sentence_vae", lambda: SentenceVAE(120), given(lambda: _marked(7, 10), whole(7, 10)), same_inputs=True),
]
