"""Nets of speech, translation, code, machines, series and games as repositories write them, of the seventeenth list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`, and how its
topics were drawn is in `held_647_vision.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole


class MaskedConv1d(nn.Module):
    """A convolution through time that sees zeros after the end of each recording."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, dilation: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        padding = dilation * (kernel_size - 1) // 2
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias=False)
        self.overlap = 2 * padding - dilation * (kernel_size - 1) - 1
        self.stride = stride

    def get_seq_len(self, lens: Tensor) -> Tensor:
        """Lengths of the outputs of recordings of such lengths."""
        return torch.div(lens + self.overlap, self.stride, rounding_mode="trunc") + 1

    def forward(self, x: Tensor, lens: Tensor) -> tuple[Tensor, Tensor]:
        """Features (batch, out_channels, frames / stride), and lengths."""
        mask = torch.arange(x.size(2), device=x.device).expand(x.size(0), -1) >= lens.unsqueeze(1)
        x = x.masked_fill(mask.unsqueeze(1), 0)
        return self.conv(x), self.get_seq_len(lens)


@dataclass
class BlockConfig:
    """A row of the table of a paper: so many convolutions alike, with or without a shortcut around them."""

    filters: int
    kernel: int
    repeat: int = 1
    stride: int = 1
    dilation: int = 1
    dropout: float = 0.0
    residual: bool = False
    separable: bool = True
    groups: int = 1


@dataclass
class SpeechConfig:
    """Sizes of a speech recogniser, much smaller than those of the paper."""

    features: int = 32
    vocabulary: Sequence[str] = tuple(" abcdefghijklmnopqrstuvwxyz'")
    blocks: Sequence[BlockConfig] = field(
        default_factory=lambda: [
            BlockConfig(32, 33, stride=2),
            BlockConfig(32, 33, repeat=3, residual=True),
            BlockConfig(32, 39, repeat=3, residual=True),
            BlockConfig(64, 51, repeat=3, residual=True),
            BlockConfig(64, 63, repeat=3, residual=True),
            BlockConfig(64, 87, dilation=2),
            BlockConfig(128, 1, separable=False),
        ]
    )


class JasperBlock(nn.Module):
    """Convolutions of one row, each of channels by themselves and then of single frames."""

    def __init__(self, inplanes: int, cfg: BlockConfig) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = inplanes
        for i in range(cfg.repeat):
            layers += self._conv_bn(channels, cfg)
            channels = cfg.filters
            if i < cfg.repeat - 1:
                layers += [nn.ReLU(), nn.Dropout(cfg.dropout)]
        self.mconv = nn.ModuleList(layers)
        self.res = None
        if cfg.residual:
            self.res = nn.ModuleList([MaskedConv1d(inplanes, cfg.filters, 1), nn.BatchNorm1d(cfg.filters, eps=1e-3)])
        self.mout = nn.Sequential(nn.ReLU(), nn.Dropout(cfg.dropout))

    @staticmethod
    def _conv_bn(channels: int, cfg: BlockConfig) -> list[nn.Module]:
        convs: list[nn.Module] = []
        if cfg.separable:
            convs.append(MaskedConv1d(channels, channels, cfg.kernel, cfg.stride, cfg.dilation, groups=channels))
            convs.append(MaskedConv1d(channels, cfg.filters, 1, groups=cfg.groups))
        else:
            convs.append(MaskedConv1d(channels, cfg.filters, cfg.kernel, cfg.stride, cfg.dilation))
        return [*convs, nn.BatchNorm1d(cfg.filters, eps=1e-3)]

    def forward(self, input_: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Features (batch, filters, frames / stride), and lengths."""
        xs, lens_orig = input_
        out, lens = xs, lens_orig
        for layer in self.mconv:
            if isinstance(layer, MaskedConv1d):
                out, lens = layer(out, lens)
            else:
                out = layer(out)
        if self.res is not None:
            conv, norm = self.res
            res_out, _ = conv(xs, lens_orig)
            out = out + norm(res_out)
        return self.mout(out), lens


class QuartzNet(nn.Module):
    """Letters of recordings, by convolutions so wide and so thin that they cost little."""

    def __init__(self, cfg: SpeechConfig | None = None) -> None:
        super().__init__()
        cfg = cfg or SpeechConfig()
        blocks, feat_in = [], cfg.features
        for block in cfg.blocks:
            blocks.append(JasperBlock(feat_in, block))
            feat_in = block.filters
        self.encoder = nn.Sequential(*blocks)
        self.blank = len(cfg.vocabulary)
        self.decoder_layers = nn.Conv1d(feat_in, len(cfg.vocabulary) + 1, 1, bias=True)
        self.loss = nn.CTCLoss(blank=self.blank, zero_infinity=True)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(m: nn.Module) -> None:
        """Weights whose spread is the same for all sizes."""
        if isinstance(m, nn.Conv1d):
            nn.init.xavier_uniform_(m.weight)

    def normalize(self, x: Tensor, lens: Tensor) -> Tensor:
        """Each band of each recording with mean zero and spread one over the frames that it has."""
        there = torch.arange(x.size(2), device=x.device) < lens[:, None, None]
        n = lens[:, None, None].to(x)
        mean = (x * there).sum(dim=2, keepdim=True) / n
        var = ((x - mean) * there).square().sum(dim=2, keepdim=True) / (n - 1)
        return (x - mean) / (var.sqrt() + 1e-5)

    def forward(self, signal: Tensor, signal_len: Tensor, text: Tensor, text_len: Tensor) -> dict[str, Tensor]:
        """Logarithms of chances (batch, frames, letters), the likeliest letter of each frame, and the loss."""
        encoded, encoded_len = self.encoder((self.normalize(signal, signal_len), signal_len))
        log_probs = self.decoder_layers(encoded).transpose(1, 2).log_softmax(dim=-1)
        loss = self.loss(log_probs.transpose(0, 1), text, encoded_len, text_len)
        return {"log_probs": log_probs, "lengths": encoded_len, "greedy": log_probs.argmax(dim=-1), "loss": loss}


@dataclass
class NATConfig:
    """Sizes of a translator, and the numbers of special words."""

    vocab: int = 120
    dim: int = 48
    ffn_dim: int = 96
    heads: int = 4
    encoder_layers: int = 3
    decoder_layers: int = 3
    early_exit: tuple[int, int, int] = (1, 2, 3)  # layers for deletion, for how many to insert, and for which words
    max_insert: int = 8
    max_positions: int = 64
    dropout: float = 0.1
    max_iter: int = 3
    bos: int = 0
    pad: int = 1
    eos: int = 2
    unk: int = 3


class TransformerLayer(nn.Module):
    """A layer of a transformer, which attends to another sentence too if it is one of the decoder."""

    def __init__(self, cfg: NATConfig, cross: bool) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(cfg.dim, cfg.heads, cfg.dropout, batch_first=True)
        self.self_attn_layer_norm = nn.LayerNorm(cfg.dim)
        self.encoder_attn = None
        if cross:
            self.encoder_attn = nn.MultiheadAttention(cfg.dim, cfg.heads, cfg.dropout, batch_first=True)
            self.encoder_attn_layer_norm = nn.LayerNorm(cfg.dim)
        self.fc1, self.fc2 = nn.Linear(cfg.dim, cfg.ffn_dim), nn.Linear(cfg.ffn_dim, cfg.dim)
        self.final_layer_norm = nn.LayerNorm(cfg.dim)
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, x: Tensor, padding: Tensor, memory: Tensor | None = None, away: Tensor | None = None) -> Tensor:
        """Features of the same shape; both masks are true where there is no word."""
        attended, _ = self.self_attn(x, x, x, key_padding_mask=padding, need_weights=False)
        x = self.self_attn_layer_norm(x + self.dropout(attended))
        if self.encoder_attn is not None:
            attended, _ = self.encoder_attn(x, memory, memory, key_padding_mask=away, need_weights=False)
            x = self.encoder_attn_layer_norm(x + self.dropout(attended))
        return self.final_layer_norm(x + self.dropout(self.fc2(F.relu(self.fc1(x)))))


def apply_del_words(tokens: Tensor, deleted: Tensor, cfg: NATConfig) -> Tensor:
    """Words without those that are deleted, and with padding at the end instead."""
    deleted = deleted.masked_fill(tokens == cfg.pad, True)
    deleted = deleted.masked_fill((tokens == cfg.bos) | (tokens == cfg.eos), False)
    order = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    reordering = order.masked_fill(deleted, tokens.size(1)).sort(1)[1]
    return tokens.masked_fill(deleted, cfg.pad).gather(1, reordering)


def apply_ins_masks(tokens: Tensor, counts: Tensor, cfg: NATConfig) -> Tensor:
    """Words with so many unknown ones between each two."""
    there = tokens != cfg.pad
    lengths = there.sum(1)
    counts = counts.masked_fill(~there[:, 1:], 0)
    places = (counts + there[:, 1:]).cumsum(1)
    out_lengths = lengths + counts.sum(1)
    max_len = int(out_lengths.max())
    filled = torch.arange(max_len, device=tokens.device)[None, :] < out_lengths[:, None]
    out = torch.full((tokens.size(0), max_len), cfg.pad, device=tokens.device).masked_fill(filled, cfg.unk)
    out[:, 0] = tokens[:, 0]
    return out.scatter(1, places, tokens[:, 1:].masked_fill(~there[:, 1:], cfg.eos))


class LevenshteinTransformer(nn.Module):
    """A translator that corrects a sentence all at once: it deletes words, makes room, and fills the room."""

    def __init__(self, cfg: NATConfig | None = None) -> None:
        super().__init__()
        self.cfg = cfg = cfg or NATConfig()
        self.embed_tokens = nn.Embedding(cfg.vocab, cfg.dim, padding_idx=cfg.pad)
        self.embed_positions = nn.Embedding(cfg.max_positions, cfg.dim)
        self.embed_scale = math.sqrt(cfg.dim)
        self.encoder = nn.ModuleList([TransformerLayer(cfg, cross=False) for _ in range(cfg.encoder_layers)])
        self.decoder = nn.ModuleList([TransformerLayer(cfg, cross=True) for _ in range(cfg.decoder_layers)])
        self.embed_word_del = nn.Linear(cfg.dim, 2, bias=False)
        self.embed_mask_ins = nn.Linear(2 * cfg.dim, cfg.max_insert, bias=False)
        self.dropout = nn.Dropout(cfg.dropout)
        nn.init.normal_(self.embed_tokens.weight, std=cfg.dim**-0.5)

    def embed(self, tokens: Tensor) -> Tensor:
        """Vectors of words and of where they stand."""
        positions = torch.arange(tokens.size(1), device=tokens.device)
        return self.dropout(self.embed_scale * self.embed_tokens(tokens) + self.embed_positions(positions))

    def encode(self, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the source, and where it has no words."""
        padding = src_tokens.eq(self.cfg.pad)
        x = self.embed(src_tokens)
        for layer in self.encoder:
            x = layer(x, padding)
        return x, padding

    def extract_features(self, tokens: Tensor, encoder_out: tuple[Tensor, Tensor], early_exit: int) -> Tensor:
        """Features of the target after so many layers."""
        x = self.embed(tokens)
        for layer in self.decoder[:early_exit]:
            x = layer(x, tokens.eq(self.cfg.pad), *encoder_out)
        return x

    def forward_word_del(self, tokens: Tensor, encoder_out: tuple[Tensor, Tensor]) -> Tensor:
        """Target without words that are thought to be wrong."""
        x = self.extract_features(tokens, encoder_out, self.cfg.early_exit[0])
        return apply_del_words(tokens, self.embed_word_del(x).log_softmax(-1).max(-1)[1].bool(), self.cfg)

    def forward_mask_ins(self, tokens: Tensor, encoder_out: tuple[Tensor, Tensor]) -> Tensor:
        """Target with room for words that are thought to lack."""
        x = self.extract_features(tokens, encoder_out, self.cfg.early_exit[1])
        between = torch.cat([x[:, :-1, :], x[:, 1:, :]], 2)
        counts = self.embed_mask_ins(between).log_softmax(-1).max(-1)[1]
        # twice the source and a few more are enough
        room = 2 * (~encoder_out[1]).sum(1, keepdim=True) + 4 - tokens.ne(self.cfg.pad).sum(1, keepdim=True)
        over = (counts.cumsum(1) - room).clamp(min=0)
        return apply_ins_masks(tokens, (counts - over).clamp(min=0), self.cfg)

    def forward_word_ins(self, tokens: Tensor, encoder_out: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Target with words in that room, and how sure each is."""
        x = self.extract_features(tokens, encoder_out, self.cfg.early_exit[2])
        scores, words = F.linear(x, self.embed_tokens.weight).log_softmax(-1).max(-1)
        unknown = tokens.eq(self.cfg.unk)
        return torch.where(unknown, words, tokens), scores.masked_fill(~unknown, 0.0)

    def forward(self, src_tokens: Tensor, prev_output_tokens: Tensor) -> dict[str, Tensor]:
        """Target words (batch, length) after some rounds, and how sure those of the last one are."""
        encoder_out = self.encode(src_tokens)
        tokens = prev_output_tokens
        scores = torch.zeros_like(tokens, dtype=torch.float32)
        for _ in range(self.cfg.max_iter):
            if (tokens.ne(self.cfg.pad).sum(1) > 2).any():  # an empty sentence has nothing to delete
                tokens = self.forward_word_del(tokens, encoder_out)
            tokens = self.forward_mask_ins(tokens, encoder_out)
            tokens, scores = self.forward_word_ins(tokens, encoder_out)
        return {"tokens": tokens, "scores": scores}


@dataclass
class Code2VecOptions:
    """Sizes of vocabularies and vectors."""

    terminal_count: int = 200
    path_count: int = 300
    label_count: int = 50
    terminal_embed_size: int = 32
    path_embed_size: int = 40
    encode_size: int = 64
    dropout_prob: float = 0.25
    angular_margin_loss: bool = True
    angular_margin: float = 0.5
    inverse_temp: float = 30.0


class PathContextEncoder(nn.Module):
    """Vectors of paths through a syntax tree, each with the two names at its ends."""

    def __init__(self, option: Code2VecOptions) -> None:
        super().__init__()
        self.terminal_embedding = nn.Embedding(option.terminal_count, option.terminal_embed_size, padding_idx=0)
        self.path_embedding = nn.Embedding(option.path_count, option.path_embed_size, padding_idx=0)
        in_features = 2 * option.terminal_embed_size + option.path_embed_size
        self.input_linear = nn.Linear(in_features, option.encode_size, bias=False)
        self.input_layer_norm = nn.LayerNorm(option.encode_size)
        self.input_dropout = nn.Dropout(option.dropout_prob)

    def forward(self, starts: Tensor, paths: Tensor, ends: Tensor) -> Tensor:
        """Vectors (batch, contexts, encode_size)."""
        embed_starts = self.terminal_embedding(starts)
        embed_paths = self.path_embedding(paths)
        embed_ends = self.terminal_embedding(ends)
        combined = torch.cat((embed_starts, embed_paths, embed_ends), dim=2)
        size = combined.size()
        combined = self.input_linear(combined.view(-1, size[2]))
        combined = torch.tanh(self.input_layer_norm(combined))
        return self.input_dropout(combined.view(size[0], size[1], -1))


class LabelScorer(nn.Module):
    """Scores of labels as angles to a vector of each; the right one must be nearer than others by a margin."""

    def __init__(self, option: Code2VecOptions) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(option.label_count, option.encode_size))
        nn.init.xavier_uniform_(self.weight)
        self.cos_m, self.sin_m = math.cos(option.angular_margin), math.sin(option.angular_margin)
        self.threshold = math.cos(math.pi - option.angular_margin)
        self.mm = math.sin(math.pi - option.angular_margin) * option.angular_margin
        self.inverse_temp = option.inverse_temp

    def forward(self, code_vector: Tensor, label: Tensor | None = None) -> Tensor:
        """Logits (batch, labels), of which that of the right label is lowered if it is given."""
        cosine = F.linear(F.normalize(code_vector), F.normalize(self.weight))
        if label is None:
            return cosine * self.inverse_temp
        sine = torch.sqrt((1.0 - cosine.square()).clamp(0, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine > self.threshold, phi, cosine - self.mm)
        one_hot = torch.zeros_like(cosine).scatter_(1, label.view(-1, 1), 1)
        return (one_hot * phi + (1.0 - one_hot) * cosine) * self.inverse_temp


class Code2Vec(nn.Module):
    """A name for a method, from a bag of paths of which attention picks those that tell most."""

    def __init__(self, option: Code2VecOptions | None = None) -> None:
        super().__init__()
        self.option = option = option or Code2VecOptions()
        self.encoder = PathContextEncoder(option)
        self.attention_parameter = nn.Parameter(torch.randn(option.encode_size, 1) / math.sqrt(option.encode_size))
        self.output_linear = (
            LabelScorer(option) if option.angular_margin_loss else nn.Linear(option.encode_size, option.label_count)
        )

    def get_attention(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Shares (batch, contexts) of contexts that are there."""
        attn_param = self.attention_parameter.unsqueeze(0).expand(vectors.size(0), -1, -1)
        attn_ca = torch.bmm(vectors, attn_param).squeeze(2)
        return F.softmax(attn_ca.masked_fill(~mask, -torch.inf), dim=1)

    def forward(self, contexts: dict[str, Tensor], label: Tensor) -> dict[str, Tensor]:
        """Logits (batch, labels), vectors of methods, shares of contexts, and the loss."""
        starts, paths, ends = contexts["starts"], contexts["paths"], contexts["ends"]
        vectors = self.encoder(starts, paths, ends)
        attention = self.get_attention(vectors, paths > 0)
        code_vector = torch.sum(vectors * attention.unsqueeze(-1), dim=1)
        if self.option.angular_margin_loss:
            loss = F.cross_entropy(self.output_linear(code_vector, label), label)
        else:
            loss = F.cross_entropy(self.output_linear(code_vector), label)
        logits = self.output_linear(code_vector)
        return {"logits": logits, "code_vector": code_vector, "attention": attention, "loss": loss}


class PlanarFlow(nn.Module):
    """A bend of space along one plane, whose change of volume is known."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.w = nn.Parameter(0.1 * torch.randn(dim))
        self.u = nn.Parameter(0.1 * torch.randn(dim))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Bent points (…, dim) and logarithms of changes of volume (…)."""
        wu = self.w @ self.u
        u_hat = self.u + (F.softplus(wu) - 1 - wu) * self.w / self.w.square().sum()  # so that it can be undone
        t = torch.tanh(z @ self.w + self.b)
        psi = (1 - t.square()).unsqueeze(-1) * self.w
        log_det = (1 + psi @ u_hat).abs().clamp(min=1e-6).log()
        return z + t.unsqueeze(-1) * u_hat, log_det


class GaussianHead(nn.Module):
    """Mean and spread of a normal distribution, after one dense layer or two."""

    def __init__(self, in_dim: int, hidden: Sequence[int], out_dim: int, eps: float = 1e-4) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in hidden:
            layers += [nn.Linear(in_dim, size), nn.ReLU()]
            in_dim = size
        self.hidden = nn.Sequential(*layers)
        self.mu = nn.Linear(in_dim, out_dim)
        self.sigma = nn.Linear(in_dim, out_dim)
        self.eps = eps

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the spread, both (…, out_dim)."""
        h = self.hidden(h)
        return self.mu(h), F.softplus(self.sigma(h)) + self.eps


def normal_log_prob(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Logarithms of densities, of each number by itself."""
    return -0.5 * ((x - mean) / std).square() - std.log() - 0.5 * math.log(2 * math.pi)


class InferenceNet(nn.Module):
    """Hidden variables of a window, each drawn with the one before it in mind, and bent by flows."""

    def __init__(self, x_dim: int, z_dim: int, rnn_hidden: int, dense_dim: int, n_flows: int) -> None:
        super().__init__()
        self.z_dim = z_dim
        self.rnn = nn.GRU(x_dim, rnn_hidden, batch_first=True)
        self.head = GaussianHead(rnn_hidden + z_dim, [dense_dim, dense_dim], z_dim)
        self.flows = nn.ModuleList([PlanarFlow(z_dim) for _ in range(n_flows)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Variables (batch, window, z_dim), and logarithms of their densities (batch, window)."""
        e, _ = self.rnn(x)
        z = x.new_zeros(x.size(0), self.z_dim)
        zs, log_qs = [], []
        for t in range(x.size(1)):
            mu, sigma = self.head(torch.cat([e[:, t], z], dim=-1))
            z = mu + sigma * torch.randn_like(sigma)
            log_q = normal_log_prob(z, mu, sigma).sum(-1)
            zs.append(z)
            log_qs.append(log_q)
        z_k, log_q_k = torch.stack(zs, dim=1), torch.stack(log_qs, dim=1)
        for flow in self.flows:
            z_k, log_det = flow(z_k)
            log_q_k = log_q_k - log_det
        return z_k, log_q_k


class GenerativeNet(nn.Module):
    """Values of sensors from hidden variables, which themselves move on from step to step by a linear rule."""

    def __init__(self, x_dim: int, z_dim: int, rnn_hidden: int, dense_dim: int) -> None:
        super().__init__()
        self.transition = nn.Linear(z_dim, z_dim, bias=False)
        self.observe = nn.Linear(z_dim, z_dim, bias=False)
        nn.init.eye_(self.transition.weight)
        nn.init.eye_(self.observe.weight)
        self.log_noise = nn.Parameter(torch.zeros(z_dim))
        self.rnn = nn.GRU(z_dim, rnn_hidden, batch_first=True)
        self.head = GaussianHead(rnn_hidden, [dense_dim, dense_dim], x_dim)

    def log_prior(self, z: Tensor) -> Tensor:
        """Logarithms of densities (batch, window) of each step given the one before, the first given zero."""
        previous = F.pad(z[:, :-1], (0, 0, 1, 0))
        expected = self.observe(self.transition(previous))
        return normal_log_prob(z, expected, self.log_noise.exp()).sum(-1)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means and spreads of sensors (batch, window, x_dim)."""
        d, _ = self.rnn(z)
        return self.head(d)


class OmniAnomaly(nn.Module):
    """A score of the last moment of a window of many sensors: how likely it is after what is usual."""

    def __init__(
        self, x_dim: int = 12, z_dim: int = 4, rnn_num_hidden: int = 32, dense_dim: int = 32, nf_layers: int = 3,
        test_n_z: int = 4, threshold: float = -20.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.test_n_z, self.threshold = test_n_z, threshold
        self.q_net = InferenceNet(x_dim, z_dim, rnn_num_hidden, dense_dim, nf_layers)
        self.p_net = GenerativeNet(x_dim, z_dim, rnn_num_hidden, dense_dim)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Loss, scores of the last moments, of each sensor and of all of them, and which of those are too low.

        Windows are (batch, window, x_dim).
        """
        n_z = 1 if self.training else self.test_n_z
        many = x.repeat(n_z, 1, 1)
        z, log_q = self.q_net(many)
        mean, std = self.p_net(z)
        log_px = normal_log_prob(many, mean, std)
        elbo = log_px.sum(-1) + self.p_net.log_prior(z) - log_q
        per_sensor = log_px[:, -1].view(n_z, *x.shape[::2]).mean(dim=0)
        score = per_sensor.sum(dim=-1)
        return {"loss": -elbo.mean(), "sensors": per_sensor, "score": score, "anomaly": score < self.threshold}


class InputAttentionEncoder(nn.Module):
    """States of a memory that, at each step, attends to those of many driving series that matter then."""

    def __init__(self, n_series: int, hidden: int, window: int) -> None:
        super().__init__()
        self.hidden, self.window = hidden, window
        self.lstm_cell = nn.LSTMCell(n_series, hidden)
        self.w_e = nn.Linear(2 * hidden, window, bias=False)
        self.u_e = nn.Linear(window, window, bias=False)
        self.v_e = nn.Linear(window, 1, bias=False)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """States (batch, window, hidden) and shares of series (batch, window, series)."""
        h = inputs.new_zeros(inputs.size(0), self.hidden)
        s = torch.zeros_like(h)
        u_x = self.u_e(inputs.transpose(1, 2))
        encoded = torch.zeros(inputs.size(0), self.window, self.hidden, device=inputs.device)
        alphas = []
        for t in range(self.window):
            w_h = self.w_e(torch.cat((h, s), dim=1)).unsqueeze(1)
            e = self.v_e(torch.tanh(w_h + u_x)).squeeze(2)
            alpha = F.softmax(e, dim=1)
            h, s = self.lstm_cell(alpha * inputs[:, t, :], (h, s))
            encoded[:, t, :] = h
            alphas.append(alpha)
        return encoded, torch.stack(alphas, dim=1)


class TemporalAttentionDecoder(nn.Module):
    """A second memory, of the target series, that attends to all states of the first."""

    def __init__(self, encoder_hidden: int, hidden: int, horizon: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.attn_layer = nn.Sequential(
            nn.Linear(2 * hidden + encoder_hidden, encoder_hidden), nn.Tanh(), nn.Linear(encoder_hidden, 1)
        )
        self.lstm_cell = nn.LSTMCell(1, hidden)
        self.fc = nn.Linear(encoder_hidden + 1, 1)
        self.fc_final = nn.Sequential(nn.Linear(hidden + encoder_hidden, hidden), nn.Linear(hidden, horizon))

    def forward(self, encoded: Tensor, y_history: Tensor) -> tuple[Tensor, Tensor]:
        """Values of the target that come next (batch, horizon), and shares of steps (batch, window, window)."""
        batch, window, _ = encoded.shape
        d, c = (encoded.new_zeros(batch, self.hidden) for _ in range(2))
        context, betas = encoded[:, 0], []
        for t in range(window):
            x = torch.cat((d.unsqueeze(1).repeat(1, window, 1), c.unsqueeze(1).repeat(1, window, 1), encoded), dim=2)
            beta = F.softmax(self.attn_layer(x).view(batch, window), dim=1)
            context = torch.bmm(beta.unsqueeze(1), encoded).squeeze(1)
            betas.append(beta)
            if t < window - 1:
                y_tilde = self.fc(torch.cat((context, y_history[:, t : t + 1]), dim=1))
                d, c = self.lstm_cell(y_tilde, (d, c))
        return self.fc_final(torch.cat((d, context), dim=1)), torch.stack(betas, dim=1)


class DARNN(nn.Module):
    """Forecasts of a share index from its own past and the prices of its shares."""

    mean: Tensor
    std: Tensor

    def __init__(
        self, n_series: int = 12, window: int = 8, encoder_hidden: int = 24, decoder_hidden: int = 24, horizon: int = 1
    ) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_series))
        self.register_buffer("std", torch.ones(n_series))
        self.encoder = InputAttentionEncoder(n_series, encoder_hidden, window)
        self.decoder = TemporalAttentionDecoder(encoder_hidden, decoder_hidden, horizon)

    def forward(self, driving: Tensor, y_history: Tensor, y_target: Tensor | None = None) -> dict[str, Tensor]:
        """Forecasts (batch, horizon) and both kinds of shares, and the loss if what came is known.

        The driving series are (batch, window, series), the history of the target is one step shorter.
        """
        encoded, alpha = self.encoder((driving - self.mean) / self.std)
        y_pred, beta = self.decoder(encoded, y_history)
        out = {"forecast": y_pred, "alpha": alpha, "beta": beta}
        if y_target is not None:
            out["loss"] = F.mse_loss(y_pred, y_target)
        return out


class DilatedLSTM(nn.Module):
    """A memory of several parts that take turns, so that each keeps what it knows for longer."""

    def __init__(self, input_size: int, hidden_size: int, radius: int) -> None:
        super().__init__()
        self.radius, self.hidden_size = radius, hidden_size
        self.rnn_cell = nn.LSTMCell(input_size, hidden_size)

    def initial(self, batch: int) -> tuple[Tensor, Tensor]:
        """Empty parts, both (radius, batch, hidden_size)."""
        zeros = torch.zeros(self.radius, batch, self.hidden_size, device=self.rnn_cell.weight_ih.device)
        return zeros, zeros

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor], tick: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The sum of all parts (batch, hidden_size), and the parts, of which one is new."""
        hx, cx = state
        turn = tick % self.radius
        h, c = self.rnn_cell(x, (hx[turn], cx[turn]))
        which = torch.tensor([turn], device=x.device)
        hx, cx = hx.index_copy(0, which, h[None]), cx.index_copy(0, which, c[None])
        return hx.sum(dim=0), (hx, cx)


class Perception(nn.Sequential):
    """Features of a screen."""

    def __init__(self, channels: int, screen: int, d: int) -> None:
        side = ((screen - 8) // 4 + 1 - 4) // 2 + 1
        super().__init__(
            nn.Conv2d(channels, 16, kernel_size=8, stride=4), nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=4, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * side * side, d), nn.ReLU(),
        )  # fmt: skip


class Manager(nn.Module):
    """A player that acts rarely: it sets directions in which the features of the game should move."""

    def __init__(self, d: int, radius: int, eps: float) -> None:
        super().__init__()
        self.Mspace = nn.Sequential(nn.Linear(d, d), nn.ReLU())
        self.Mrnn = DilatedLSTM(d, d, radius)
        self.critic = nn.Linear(d, 1)
        self.eps = eps

    def forward(
        self, z: Tensor, state: tuple[Tensor, Tensor], tick: int
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]:
        """The features and goal of a step (batch, d), how good things look (batch), and the memory."""
        s = self.Mspace(z)
        goal_hat, state = self.Mrnn(s, state, tick)
        value = self.critic(goal_hat).squeeze(-1)
        goal = F.normalize(goal_hat, dim=-1)
        if self.training and self.eps > 0:  # now and then any direction at all
            noise = F.normalize(torch.randn_like(goal), dim=-1)
            goal = torch.where(torch.rand(len(goal), 1, device=goal.device) < self.eps, noise, goal)
        return s, goal, value, state


class Worker(nn.Module):
    """A player that acts at each step, as the goals that it was given lately want it."""

    def __init__(self, d: int, k: int, num_actions: int) -> None:
        super().__init__()
        self.num_actions, self.k = num_actions, k
        self.Wrnn = nn.LSTMCell(d, k * num_actions)
        self.phi = nn.Linear(d, k, bias=False)
        self.critic = nn.Sequential(nn.Linear(k * num_actions, 50), nn.ReLU(), nn.Linear(50, 1))

    def forward(
        self, z: Tensor, goals: Sequence[Tensor], state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Logits of actions (batch, num_actions), how good things look (batch), and the memory."""
        hx, cx = self.Wrnn(z, state)
        w = self.phi(torch.stack(list(goals)).detach().sum(dim=0))
        u = hx.reshape(-1, self.num_actions, self.k)
        logits = torch.einsum("bak,bk->ba", u, w)
        return logits, self.critic(hx).squeeze(-1), (hx, cx)


class FeudalNetwork(nn.Module):
    """A manager and a worker who play together, and learn from rewards of the game and for goals that were reached."""

    def __init__(
        self, channels: int = 3, screen: int = 40, num_actions: int = 5, d: int = 64, k: int = 8, c: int = 3,
        radius: int = 3, eps: float = 0.01, gamma_w: float = 0.95, gamma_m: float = 0.99, alpha: float = 0.5,
        entropy_coef: float = 0.01,
    ) -> None:  # fmt: skip
        super().__init__()
        self.c, self.alpha, self.entropy_coef = c, alpha, entropy_coef
        self.gamma_w, self.gamma_m = gamma_w, gamma_m
        self.percept = Perception(channels, screen, d)
        self.manager = Manager(d, radius, eps)
        self.worker = Worker(d, k, num_actions)

    def intrinsic_reward(self, states: Tensor, goals: Tensor) -> Tensor:
        """Rewards (time, batch) for features that went the way of the goals of the last steps."""
        rewards = [torch.zeros_like(states[0, :, 0])]
        for t in range(1, len(states)):
            back = range(1, min(t, self.c) + 1)
            near = [F.cosine_similarity(states[t] - states[t - i], goals[t - i], dim=-1) for i in back]
            rewards.append(sum(near, torch.zeros_like(near[0])) / len(near))
        return torch.stack(rewards).detach()

    def discounted(self, rewards: Tensor, last: Tensor, masks: Tensor, gamma: float) -> Tensor:
        """Sums of rewards to come (time, batch)."""
        returns, ret = list[Tensor](), last.detach()
        for reward, mask in zip(reversed(rewards), reversed(masks), strict=True):
            ret = reward + gamma * ret * mask
            returns.insert(0, ret)
        return torch.stack(returns)

    def losses(self, rollout: dict[str, Tensor], out: dict[str, Tensor]) -> dict[str, Tensor]:
        """Losses of both players and of what each of them expects."""
        states, goals, masks = out["states"], out["goals"], 1 - rollout["done"]
        ret_m = self.discounted(rollout["reward"], out["value_manager"][-1], masks, self.gamma_m)
        wanted = rollout["reward"] + self.alpha * self.intrinsic_reward(states, goals)
        ret_w = self.discounted(wanted, out["value_worker"][-1], masks, self.gamma_w)
        adv_m, adv_w = ret_m - out["value_manager"], ret_w - out["value_worker"]
        moved = (states[self.c :] - states[: -self.c]).detach()
        loss_m = -(adv_m[: -self.c].detach() * F.cosine_similarity(moved, goals[: -self.c], dim=-1)).mean()
        log_prob = out["logits"].log_softmax(dim=-1)
        chosen = log_prob.gather(-1, rollout["action"].unsqueeze(-1)).squeeze(-1)
        entropy = -(log_prob.exp() * log_prob).sum(-1).mean()
        loss_w = -(adv_w.detach() * chosen).mean() - self.entropy_coef * entropy
        value_loss = 0.5 * (adv_w.square().mean() + adv_m.square().mean())
        return {"loss_worker": loss_w, "loss_manager": loss_m, "value_loss": value_loss}

    def forward(self, rollout: dict[str, Tensor]) -> dict[str, Tensor]:
        """Logits, values, goals and losses of what was played, all of it (time, batch, …)."""
        frames = rollout["frames"]
        time, batch = frames.shape[:2]
        zs = self.percept(frames.flatten(0, 1)).view(time, batch, -1)
        m_state = self.manager.Mrnn.initial(batch)
        w_state = (zs.new_zeros(batch, self.worker.k * self.worker.num_actions),) * 2
        kept: dict[str, list[Tensor]] = {
            it: [] for it in ("states", "goals", "value_manager", "logits", "value_worker")
        }
        for t in range(time):
            mask = (1 - rollout["done"][t - 1] if t else zs.new_ones(batch)).unsqueeze(-1)
            m_state = (m_state[0] * mask, m_state[1] * mask)
            w_state = (w_state[0] * mask, w_state[1] * mask)
            s, goal, value_m, m_state = self.manager(zs[t], m_state, t)
            kept["states"].append(s)
            kept["goals"].append(goal)
            logits, value_w, w_state = self.worker(zs[t], kept["goals"][-self.c :], w_state)
            kept["logits"].append(logits)
            kept["value_manager"].append(value_m)
            kept["value_worker"].append(value_w)
        out = {name: torch.stack(them) for name, them in kept.items()}
        return out | self.losses(rollout, out)


def _letters() -> Tensor:
    return torch.randint(0, 28, (2, 9))


def _source() -> Tensor:
    tokens = torch.randint(4, 120, (2, 9))
    tokens[:, 0], tokens[0, 8], tokens[1, 6], tokens[1, 7:] = 0, 2, 2, 1
    return tokens


def _methods() -> dict[str, Tensor]:
    contexts = {key: torch.randint(1, n, (2, 14)) for key, n in (("starts", 200), ("paths", 300), ("ends", 200))}
    for it in contexts.values():
        it[1, 9:] = 0
    return contexts


def _rollout() -> dict[str, Tensor]:
    return {
        "frames": torch.rand(6, 2, 3, 40, 40),
        "action": torch.randint(0, 5, (6, 2)),
        "reward": torch.randn(6, 2),
        "done": torch.zeros(6, 2),
    }


NETS = [
    Entry("own/quartznet", QuartzNet, given(numbers(2, 32, 120), whole(120, 90), _letters, whole(9, 6))),
    Entry("own/levenshtein_transformer", LevenshteinTransformer, given(_source, whole([0, 2], [0, 2]))),
    Entry("own/code2vec", Code2Vec, given(_methods, whole(4, 17))),
    Entry("own/omnianomaly", OmniAnomaly, given(numbers(2, 12, 12))),
    Entry("own/da_rnn", DARNN, given(numbers(2, 8, 12), numbers(2, 7), numbers(2, 1))),
    Entry("own/feudal_network", FeudalNetwork, given(_rollout)),
]
