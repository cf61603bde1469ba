"""Nets of words, sounds, tables and graphs as repositories write them, of a list that no rule may be tuned on.

They were written before those rules were changed, and without a look at what is drawn of them. The list is in
`unseen.py`.
"""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn


class FeedForwardModule(nn.Module):
    """Half a step (Conformer)."""

    def __init__(self, d: int, expansion: int = 4, p: float = 0.1) -> None:
        super().__init__()
        self.sequential = nn.Sequential(
            nn.LayerNorm(d),
            nn.Linear(d, d * expansion),
            nn.SiLU(),
            nn.Dropout(p),
            nn.Linear(d * expansion, d),
            nn.Dropout(p),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Without the skip, which its user adds."""
        return self.sequential(x)


class ConvolutionModule(nn.Module):
    """A gated depthwise convolution over time."""

    def __init__(self, d: int, kernel_size: int = 31) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(d)
        self.pointwise1, self.glu = nn.Conv1d(d, 2 * d, 1), nn.GLU(dim=1)
        self.depthwise = nn.Conv1d(d, d, kernel_size, padding=kernel_size // 2, groups=d)
        self.batch_norm, self.activation = nn.BatchNorm1d(d), nn.SiLU()
        self.pointwise2, self.dropout = nn.Conv1d(d, d, 1), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        """Time and channels are exchanged inside."""
        x = self.glu(self.pointwise1(self.layer_norm(x).transpose(1, 2)))
        x = self.activation(self.batch_norm(self.depthwise(x)))
        return self.dropout(self.pointwise2(x)).transpose(1, 2)


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, convolution, half a feed-forward."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.ff1, self.ff2 = FeedForwardModule(d), FeedForwardModule(d)
        self.norm_attn, self.attn = nn.LayerNorm(d), nn.MultiheadAttention(d, heads, batch_first=True)
        self.conv, self.norm = ConvolutionModule(d), nn.LayerNorm(d)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """The same shape."""
        x = x + 0.5 * self.ff1(x)
        y = self.norm_attn(x)
        x = x + self.attn(y, y, y, key_padding_mask=key_padding_mask, need_weights=False)[0]
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.norm(x)


class SpeechRecognizer(nn.Module):
    """Subsampling, six blocks, CTC."""

    def __init__(self, n_mels: int = 80, d: int = 64, layers: int = 6, vocab: int = 100) -> None:
        super().__init__()
        self.subsample = nn.Sequential(nn.Conv2d(1, d, 3, 2), nn.ReLU(), nn.Conv2d(d, d, 3, 2), nn.ReLU())
        self.input_projection = nn.Linear(d * (((n_mels - 1) // 2 - 1) // 2), d)
        self.layers = nn.ModuleList(ConformerBlock(d, 4) for _ in range(layers))
        self.ctc_head = nn.Linear(d, vocab)

    def forward(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities, and their lengths."""
        x = self.subsample(features.unsqueeze(1))
        b, c, t, f = x.shape
        x = self.input_projection(x.transpose(1, 2).reshape(b, t, c * f))
        lengths = ((lengths - 1) // 2 - 1) // 2
        mask = torch.arange(t)[None, :] >= lengths[:, None]
        for layer in self.layers:
            x = layer(x, mask)
        return self.ctc_head(x).log_softmax(-1), lengths


class BidirectionalLSTM(nn.Module):
    """A recurrent layer and a linear one."""

    def __init__(self, n_in: int, n_hidden: int, n_out: int) -> None:
        super().__init__()
        self.rnn, self.embedding = nn.LSTM(n_in, n_hidden, bidirectional=True), nn.Linear(n_hidden * 2, n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Time is the first axis."""
        recurrent, _ = self.rnn(x)
        t, b, h = recurrent.size()
        return self.embedding(recurrent.view(t * b, h)).view(t, b, -1)


class CRNN(nn.Module):
    """Reads words in images."""

    def __init__(self, n_class: int = 37, nh: int = 64) -> None:
        super().__init__()
        cnn, nm = nn.Sequential(), [1, 16, 32, 64, 64, 128, 128, 128]
        for i, (k, p) in enumerate(zip([3, 3, 3, 3, 3, 3, 2], [1, 1, 1, 1, 1, 1, 0], strict=True)):
            cnn.add_module(f"conv{i}", nn.Conv2d(nm[i], nm[i + 1], k, 1, p))
            if i in (2, 4, 6):
                cnn.add_module(f"batchnorm{i}", nn.BatchNorm2d(nm[i + 1]))
            cnn.add_module(f"relu{i}", nn.ReLU(True))
            if i in (0, 1):
                cnn.add_module(f"pooling{i}", nn.MaxPool2d(2, 2))
            if i in (3, 5):
                cnn.add_module(f"pooling{i}", nn.MaxPool2d((2, 2), (2, 1), (0, 1)))
        self.cnn = cnn
        self.rnn = nn.Sequential(BidirectionalLSTM(128, nh, nh), BidirectionalLSTM(nh, nh, n_class))

    def forward(self, image: Tensor) -> Tensor:
        """Scores of letters along the width."""
        conv = self.cnn(image)
        assert conv.size(2) == 1, "the height of conv must be 1"
        return self.rnn(conv.squeeze(2).permute(2, 0, 1))


class RelPartialLearnableMultiHeadAttn(nn.Module):
    """Attention with relative positions and a memory (Transformer-XL)."""

    def __init__(self, n_head: int, d: int) -> None:
        super().__init__()
        self.n_head, self.d_head = n_head, d // n_head
        self.qkv_net, self.r_net = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.o_net, self.layer_norm = nn.Linear(d, d, bias=False), nn.LayerNorm(d)

    @staticmethod
    def _rel_shift(x: Tensor) -> Tensor:
        b, n, i, j = x.shape
        return F.pad(x, (1, 0)).view(b, n, j + 1, i)[:, :, 1:].view(b, n, i, j)

    def forward(self, w: Tensor, r: Tensor, u: Tensor, v: Tensor, mems: Tensor) -> Tensor:
        """With a skip."""
        qlen, cat = w.size(1), torch.cat([mems, w], 1)
        b, klen, _ = cat.shape
        q, k, val = torch.chunk(self.qkv_net(cat), 3, dim=-1)
        q = q[:, -qlen:].view(b, qlen, self.n_head, self.d_head)
        k, val = (t.view(b, klen, self.n_head, self.d_head) for t in (k, val))
        r_k = self.r_net(r).view(klen, self.n_head, self.d_head)
        ac = torch.einsum("bind,bjnd->bnij", q + u, k)
        bd = self._rel_shift(torch.einsum("bind,jnd->bnij", q + v, r_k))
        attn = ((ac + bd) / math.sqrt(self.d_head)).softmax(-1)
        vec = torch.einsum("bnij,bjnd->bind", attn, val).reshape(b, qlen, -1)
        return self.layer_norm(w + self.o_net(vec))


class TransformerXL(nn.Module):
    """A language model whose layers see the states of the segment before."""

    def __init__(self, vocab: int = 200, n_layer: int = 4, n_head: int = 4, d: int = 64) -> None:
        super().__init__()
        self.word_emb, self.d = nn.Embedding(vocab, d), d
        self.r_w_bias, self.r_r_bias = (nn.Parameter(torch.zeros(n_head, d // n_head)) for _ in range(2))
        self.layers = nn.ModuleList(
            nn.ModuleDict({
                "dec_attn": RelPartialLearnableMultiHeadAttn(n_head, d),
                "pos_ff": nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d)),
                "norm": nn.LayerNorm(d),
            })
            for _ in range(n_layer)
        )  # fmt: skip
        self.out = nn.Linear(d, vocab)
        self.out.weight = self.word_emb.weight

    def forward(self, data: Tensor, mems: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Scores, and the next memory."""
        h, new_mems = self.word_emb(data) * self.d**0.5, []
        klen = h.size(1) + mems[0].size(1)
        pos = torch.arange(klen - 1, -1, -1.0)
        freq = torch.outer(pos, 1 / (10000 ** (torch.arange(0.0, self.d, 2.0) / self.d)))
        r = torch.cat([freq.sin(), freq.cos()], -1)
        for layer, mem in zip(self.layers, mems, strict=True):
            block: Any = layer
            new_mems.append(h.detach())
            h = block["dec_attn"](h, r, self.r_w_bias, self.r_r_bias, mem)
            h = block["norm"](h + block["pos_ff"](h))
        return self.out(h), new_mems


class Highway(nn.Module):
    """Gates that let things pass."""

    def __init__(self, size: int, layers: int = 2) -> None:
        super().__init__()
        self.transforms = nn.ModuleList(nn.Linear(size, size) for _ in range(layers))
        self.gates = nn.ModuleList(nn.Linear(size, size) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g, t = torch.sigmoid(gate(x)), F.relu(transform(x))
            x = g * t + (1 - g) * x
        return x


class BiDAF(nn.Module):
    """Answers questions about a passage: attention both ways."""

    def __init__(self, vocab: int = 300, chars: int = 60, d: int = 32) -> None:
        super().__init__()
        self.char_emb, self.char_conv = nn.Embedding(chars, 8, padding_idx=0), nn.Conv2d(1, d, (5, 8))
        self.word_emb, self.highway = nn.Embedding(vocab, d), Highway(2 * d)
        self.context_lstm = nn.LSTM(2 * d, d, bidirectional=True, batch_first=True)
        self.att_weight_c, self.att_weight_q, self.att_weight_cq = (nn.Linear(2 * d, 1) for _ in range(3))
        self.modeling_lstm = nn.LSTM(8 * d, d, 2, bidirectional=True, batch_first=True)
        self.output_lstm = nn.LSTM(2 * d, d, bidirectional=True, batch_first=True)
        self.p1_g, self.p1_m, self.p2_g, self.p2_m = (nn.Linear(n * d, 1) for n in (8, 2, 8, 2))

    def embed(self, words: Tensor, chars: Tensor) -> Tensor:
        """Words from letters and from a table."""
        b, n, k = chars.shape
        c = self.char_conv(self.char_emb(chars).view(b * n, 1, k, -1)).squeeze(3).max(-1)[0].view(b, n, -1)
        return self.context_lstm(self.highway(torch.cat([c, self.word_emb(words)], -1)))[0]

    def att_flow_layer(self, c: Tensor, q: Tensor) -> Tensor:
        """Context with question, question with context."""
        cq = self.att_weight_cq(c[:, :, None] * q[:, None]).squeeze(-1)
        s = self.att_weight_c(c).expand(-1, -1, q.size(1)) + self.att_weight_q(q).permute(0, 2, 1) + cq
        c2q = torch.bmm(s.softmax(2), q)
        b = s.max(2)[0].softmax(1).unsqueeze(1)
        q2c = torch.bmm(b, c).expand(-1, c.size(1), -1)
        return torch.cat([c, c2q, c * c2q, c * q2c], -1)

    def forward(self, c_word: Tensor, c_char: Tensor, q_word: Tensor, q_char: Tensor) -> tuple[Tensor, Tensor]:
        """Where the answer begins and ends."""
        g = self.att_flow_layer(self.embed(c_word, c_char), self.embed(q_word, q_char))
        m = self.modeling_lstm(g)[0]
        m2 = self.output_lstm(m)[0]
        return (self.p1_g(g) + self.p1_m(m)).squeeze(-1), (self.p2_g(g) + self.p2_m(m2)).squeeze(-1)


class DeepFM(nn.Module):
    """A table with fields: linear, factorization machine and deep part added."""

    def __init__(self, feature_sizes: tuple[int, ...] = (50, 20, 30, 10, 40, 8), dense: int = 5, k: int = 8) -> None:
        super().__init__()
        self.fm_first_order = nn.ModuleList(nn.Embedding(n, 1) for n in feature_sizes)
        self.fm_second_order = nn.ModuleList(nn.Embedding(n, k) for n in feature_sizes)
        self.linear, self.bias = nn.Linear(dense, 1), nn.Parameter(torch.zeros(1))
        dims = [len(feature_sizes) * k + dense, 64, 32]
        self.dnn = nn.Sequential()
        for i in range(1, len(dims)):
            self.dnn.add_module(f"linear_{i}", nn.Linear(dims[i - 1], dims[i]))
            self.dnn.add_module(f"bn_{i}", nn.BatchNorm1d(dims[i]))
            self.dnn.add_module(f"relu_{i}", nn.ReLU())
            self.dnn.add_module(f"dropout_{i}", nn.Dropout(0.5))
        self.dnn_out = nn.Linear(dims[-1], 1)

    def forward(self, xi: Tensor, xv: Tensor) -> Tensor:
        """The chance of a click."""
        first = (
            torch.cat([emb(xi[:, i]) for i, emb in enumerate(self.fm_first_order)], 1).sum(1) + self.linear(xv)[:, 0]
        )
        embs = torch.stack([emb(xi[:, i]) for i, emb in enumerate(self.fm_second_order)], 1)
        second = 0.5 * (embs.sum(1).pow(2) - embs.pow(2).sum(1)).sum(1)
        deep = self.dnn_out(self.dnn(torch.cat([embs.flatten(1), xv], 1))).squeeze(1)
        return torch.sigmoid(first + second + deep + self.bias)


class Dice(nn.Module):
    """An activation that adapts to data."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.alpha, self.bn = nn.Parameter(torch.zeros(n)), nn.BatchNorm1d(n, affine=False)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        p = torch.sigmoid(self.bn(x))
        return p * x + (1 - p) * self.alpha * x


class DeepInterestNetwork(nn.Module):
    """Purchases of before, weighed by what is on offer."""

    def __init__(self, args: Namespace | None = None) -> None:
        super().__init__()
        args = args or Namespace(items=200, categories=20, users=100, dim=16)
        self.item_emb, self.cat_emb = nn.Embedding(args.items, args.dim), nn.Embedding(args.categories, args.dim)
        self.user_emb = nn.Embedding(args.users, args.dim)
        self.att = nn.Sequential(nn.Linear(8 * args.dim, 36), nn.PReLU(), nn.Linear(36, 1))
        self.fc = nn.Sequential(nn.Linear(5 * args.dim, 64), Dice(64), nn.Linear(64, 32), Dice(32), nn.Linear(32, 1))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """The chance of a click."""
        target = torch.cat([self.item_emb(batch["item"]), self.cat_emb(batch["category"])], -1)
        history = torch.cat([self.item_emb(batch["hist_items"]), self.cat_emb(batch["hist_categories"])], -1)
        t = target.unsqueeze(1).expand_as(history)
        w = self.att(torch.cat([t, history, t - history, t * history], -1)).squeeze(-1)
        w = w.masked_fill(batch["hist_items"] == 0, -1e9).softmax(-1)
        interest = torch.bmm(w.unsqueeze(1), history).squeeze(1)
        return self.fc(torch.cat([self.user_emb(batch["user"]), interest, target], -1)).squeeze(-1).sigmoid()


class NBeatsBlock(nn.Module):
    """Four layers, then what was and what will be."""

    def __init__(self, units: int, thetas: int, back: int, fore: int, kind: str) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3, self.fc4 = (nn.Linear(back if i == 0 else units, units) for i in range(4))
        self.theta_b, self.theta_f = nn.Linear(units, thetas, bias=False), nn.Linear(units, thetas, bias=False)
        self.kind, self.back, self.fore = kind, back, fore
        if kind == "generic":
            self.backcast_fc, self.forecast_fc = nn.Linear(thetas, back), nn.Linear(thetas, fore)

    def basis(self, theta: Tensor, n: int) -> Tensor:
        """Polynomials, or waves."""
        t = torch.arange(n) / n
        p = theta.size(1)
        if self.kind == "trend":
            return theta @ torch.stack([t**i for i in range(p)])
        half = p // 2
        waves = [f(2 * math.pi * i * t) for f in (torch.cos, torch.sin) for i in range(half)]
        return theta @ torch.stack(waves)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Backcast and forecast."""
        x = F.relu(self.fc4(F.relu(self.fc3(F.relu(self.fc2(F.relu(self.fc1(x))))))))
        theta_b, theta_f = self.theta_b(x), self.theta_f(x)
        if self.kind == "generic":
            return self.backcast_fc(theta_b), self.forecast_fc(theta_f)
        return self.basis(theta_b, self.back), self.basis(theta_f, self.fore)


class NBeats(nn.Module):
    """Stacks whose rest goes on and whose forecasts add up."""

    def __init__(self, back: int = 20, fore: int = 5, units: int = 32) -> None:
        super().__init__()
        kinds = (("trend", 4), ("seasonality", 6), ("generic", 8))
        self.stacks = nn.ModuleList(
            nn.ModuleList(NBeatsBlock(units, n, back, fore, kind) for _ in range(3)) for kind, n in kinds
        )
        self.fore = fore

    def forward(self, backcast: Tensor) -> tuple[Tensor, Tensor]:
        """The rest, and the forecast."""
        forecast = torch.zeros(backcast.size(0), self.fore)
        for stack in self.stacks:
            for block in stack:  # type: ignore[attr-defined]
                b, f = block(backcast)
                backcast, forecast = backcast - b, forecast + f
        return backcast, forecast


class GRN(nn.Module):
    """A gated residual network (Temporal Fusion Transformer)."""

    def __init__(self, n_in: int, n: int, n_out: int | None = None, context: int | None = None) -> None:
        super().__init__()
        n_out = n_out or n
        self.skip = nn.Linear(n_in, n_out) if n_in != n_out else nn.Identity()
        self.fc1, self.elu, self.fc2 = nn.Linear(n_in, n), nn.ELU(), nn.Linear(n, n)
        self.context = nn.Linear(context, n, bias=False) if context else None
        self.gate, self.norm = nn.Linear(n, 2 * n_out), nn.LayerNorm(n_out)

    def forward(self, x: Tensor, c: Tensor | None = None) -> Tensor:
        """With a skip."""
        h = self.fc1(x)
        if self.context is not None and c is not None:
            h = h + self.context(c)
        return self.norm(self.skip(x) + F.glu(self.gate(self.fc2(self.elu(h))), -1))


class VariableSelection(nn.Module):
    """Weighs the variables."""

    def __init__(self, num: int, n: int) -> None:
        super().__init__()
        self.transforms = nn.ModuleDict({f"x{i}": nn.Linear(1, n) for i in range(num)})
        self.grns = nn.ModuleDict({f"x{i}": GRN(n, n) for i in range(num)})
        self.flattened_grn = GRN(num * n, n, num, n)

    def forward(self, x: dict[str, Tensor], context: Tensor) -> tuple[Tensor, Tensor]:
        """Their mean, and the weights."""
        embs = [self.transforms[k](v.unsqueeze(-1)) for k, v in x.items()]
        weights = self.flattened_grn(torch.cat(embs, -1), context).softmax(-1).unsqueeze(-2)
        outs = torch.stack([self.grns[k](e) for k, e in zip(x, embs, strict=True)], -1)
        return (outs * weights).sum(-1), weights


class TFT(nn.Module):
    """Forecasts quantiles from what was and what is known to come."""

    def __init__(self, n: int = 16, past: int = 3, future: int = 2) -> None:
        super().__init__()
        self.static = nn.Linear(4, n)
        self.c_selection, self.c_state, self.c_enrichment = GRN(n, n), GRN(n, n), GRN(n, n)
        self.past_vsn, self.future_vsn = VariableSelection(past, n), VariableSelection(future, n)
        self.encoder, self.decoder = nn.LSTM(n, n, batch_first=True), nn.LSTM(n, n, batch_first=True)
        self.enrich, self.attn = GRN(n, n, context=n), nn.MultiheadAttention(n, 2, batch_first=True)
        self.post, self.out = GRN(n, n), nn.Linear(n, 3)

    def forward(self, static: Tensor, past: dict[str, Tensor], future: dict[str, Tensor]) -> dict[str, Tensor]:
        """Quantiles, with weights and attention."""
        s = self.static(static)
        selection = self.c_selection(s).unsqueeze(1)
        p, past_weights = self.past_vsn(past, selection)
        f, future_weights = self.future_vsn(future, selection)
        state = self.c_state(s).unsqueeze(0)
        enc, hc = self.encoder(p, (state, state))
        dec, _ = self.decoder(f, hc)
        x = self.enrich(torch.cat([enc, dec], 1), self.c_enrichment(s).unsqueeze(1))
        q = x[:, enc.size(1) :]
        y, attention = self.attn(q, x, x)
        y = self.out(self.post(y + q) + dec)
        return {"prediction": y, "attention": attention, "past": past_weights, "future": future_weights}


def scatter_add(src: Tensor, index: Tensor, n: int) -> Tensor:
    """Sums by node."""
    return torch.zeros(n, src.size(1)).index_add(0, index, src)


class CFConv(nn.Module):
    """A filter from distances."""

    def __init__(self, hidden: int, gaussians: int, filters: int, cutoff: float) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(hidden, filters, bias=False), nn.Linear(filters, hidden)
        self.mlp = nn.Sequential(nn.Linear(gaussians, filters), nn.Softplus(), nn.Linear(filters, filters))
        self.cutoff = cutoff

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, edge_attr: Tensor) -> Tensor:
        """Messages, summed."""
        c = 0.5 * (torch.cos(edge_weight * math.pi / self.cutoff) + 1.0)
        w = self.mlp(edge_attr) * c.view(-1, 1)
        row, col = edge_index
        return self.lin2(scatter_add(self.lin1(x)[col] * w, row, x.size(0)))


class SchNet(nn.Module):
    """The energy of a molecule from its atoms and where they are."""

    def __init__(self, hidden: int = 32, interactions: int = 3, gaussians: int = 20, cutoff: float = 5.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, hidden, padding_idx=0)
        self.offset: Tensor
        self.register_buffer("offset", torch.linspace(0.0, cutoff, gaussians))
        self.interactions = nn.ModuleList(CFConv(hidden, gaussians, hidden, cutoff) for _ in range(interactions))
        self.acts = nn.ModuleList(nn.Sequential(nn.Softplus(), nn.Linear(hidden, hidden)) for _ in range(interactions))
        self.lin1, self.lin2 = nn.Linear(hidden, hidden // 2), nn.Linear(hidden // 2, 1)

    def forward(self, z: Tensor, pos: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """One number for each molecule."""
        row, col = edge_index
        dist = (pos[row] - pos[col]).norm(dim=-1)
        rbf = torch.exp(-10.0 * (dist.view(-1, 1) - self.offset.view(1, -1)).pow(2))
        h = self.embedding(z)
        for interaction, act in zip(self.interactions, self.acts, strict=True):
            h = h + act(interaction(h, edge_index, dist, rbf))
        h = self.lin2(F.softplus(self.lin1(h)) - math.log(2.0))
        return scatter_add(h, batch, 2)


class GraphTransformer(nn.Module):
    """Attention among neighbours, with edges that are features, too."""

    def __init__(self, n_atoms: int = 28, n_bonds: int = 4, d: int = 32, heads: int = 4, layers: int = 4) -> None:
        super().__init__()
        self.heads, self.layers = heads, layers
        self.embedding_h, self.embedding_e, self.lap = (
            nn.Embedding(n_atoms, d),
            nn.Embedding(n_bonds, d),
            nn.Linear(8, d),
        )
        for i in range(layers):
            for name in ("q", "k", "v", "e", "o_h", "o_e"):
                setattr(self, f"{name}_{i}", nn.Linear(d, d))
            setattr(self, f"norm_h_{i}", nn.BatchNorm1d(d))
            setattr(self, f"norm_e_{i}", nn.BatchNorm1d(d))
            setattr(self, f"ffn_{i}", nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d)))
        self.mlp = nn.Sequential(nn.Linear(d, d // 2), nn.ReLU(), nn.Linear(d // 2, 1))

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor, pe: Tensor) -> Tensor:
        """One number for a molecule."""
        src, dst = edge_index
        h, e = self.embedding_h(h) + self.lap(pe), self.embedding_e(e)
        n, d = h.shape
        for i in range(self.layers):
            q, k, v = (getattr(self, f"{name}_{i}")(h).view(n, self.heads, -1) for name in "qkv")
            score = (
                k[src]
                * q[dst]
                / math.sqrt(d // self.heads)
                * getattr(self, f"e_{i}")(e).view(-1, self.heads, d // self.heads)
            )
            alpha = torch.exp(score.sum(-1, keepdim=True).clamp(-5, 5))
            wv = torch.zeros(n, self.heads, d // self.heads).index_add(0, dst, v[src] * alpha)
            z = torch.zeros(n, self.heads, 1).index_add(0, dst, alpha)
            h = getattr(self, f"norm_h_{i}")(h + getattr(self, f"o_h_{i}")((wv / (z + 1e-6)).reshape(n, d)))
            h = h + getattr(self, f"ffn_{i}")(h)
            e = getattr(self, f"norm_e_{i}")(e + getattr(self, f"o_e_{i}")(score.reshape(-1, d)))
        return self.mlp(h.mean(0, keepdim=True))


class ActorCritic(nn.Module):
    """Of agents that play from pictures and from numbers, with a state that is kept (PPO)."""

    def __init__(self, actions: int = 6, hidden: int = 64) -> None:
        super().__init__()

        def layer_init(layer: Any, std: float = math.sqrt(2)) -> Any:
            nn.init.orthogonal_(layer.weight, std)
            nn.init.constant_(layer.bias, 0.0)
            return layer

        self.network = nn.Sequential(
            layer_init(nn.Conv2d(4, 32, 8, stride=4)), nn.ReLU(), layer_init(nn.Conv2d(32, 64, 4, stride=2)), nn.ReLU(),
            layer_init(nn.Conv2d(64, 64, 3, stride=1)), nn.ReLU(), nn.Flatten(),
            layer_init(nn.Linear(64 * 7 * 7, hidden)), nn.ReLU(),
        )  # fmt: skip
        self.proprio = nn.Sequential(layer_init(nn.Linear(9, hidden)), nn.Tanh())
        self.lstm = nn.LSTM(2 * hidden, hidden)
        self.actor, self.critic = layer_init(nn.Linear(hidden, actions), 0.01), layer_init(nn.Linear(hidden, 1), 1.0)

    def forward(self, obs: dict[str, Tensor], state: tuple[Tensor, Tensor], done: Tensor) -> dict[str, Any]:
        """An action, what it is worth, and the next state."""
        h = torch.cat([self.network(obs["image"] / 255.0), self.proprio(obs["proprio"])], -1)
        steps, new = h.reshape(-1, state[0].shape[1], h.shape[-1]), []
        for x, d in zip(steps, done.reshape(-1, state[0].shape[1]), strict=True):
            y, state = self.lstm(
                x.unsqueeze(0), ((1.0 - d).view(1, -1, 1) * state[0], (1.0 - d).view(1, -1, 1) * state[1])
            )
            new.append(y)
        h = torch.cat(new).flatten(0, 1)
        logits = self.actor(h)
        action = logits.argmax(-1)
        logprob = logits.log_softmax(-1).gather(-1, action[:, None]).squeeze(-1)
        return {"action": action, "logprob": logprob, "value": self.critic(h).squeeze(-1), "state": state}


class MuZero(nn.Module):
    """Represent, then imagine five steps."""

    def __init__(self, d: int = 32, actions: int = 4, support: int = 21) -> None:
        super().__init__()
        self.actions = actions
        self.representation = nn.Sequential(nn.Linear(16, 64), nn.ELU(), nn.Linear(64, d))
        self.dynamics_state = nn.Sequential(nn.Linear(d + actions, 64), nn.ELU(), nn.Linear(64, d))
        self.dynamics_reward = nn.Sequential(nn.Linear(d, 64), nn.ELU(), nn.Linear(64, support))
        self.prediction_policy = nn.Sequential(nn.Linear(d, 64), nn.ELU(), nn.Linear(64, actions))
        self.prediction_value = nn.Sequential(nn.Linear(d, 64), nn.ELU(), nn.Linear(64, support))

    @staticmethod
    def normalize(s: Tensor) -> Tensor:
        """Between 0 and 1."""
        low, high = s.min(1, keepdim=True)[0], s.max(1, keepdim=True)[0]
        return (s - low) / (high - low + 1e-5)

    def forward(self, observation: Tensor, actions: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Values, rewards and policies."""
        state = self.normalize(self.representation(observation))
        value, policy = self.prediction_value(state), self.prediction_policy(state)
        predictions = [(value, torch.zeros_like(value), policy)]
        for i in range(actions.shape[1]):
            onehot = F.one_hot(actions[:, i], self.actions).float()
            following = self.dynamics_state(torch.cat((state, onehot), dim=1))
            reward = self.dynamics_reward(following)
            state = self.normalize(following)
            predictions.append((self.prediction_value(state), reward, self.prediction_policy(state)))
        return predictions


class LoRALinear(nn.Linear):
    """A layer of low rank beside one that is frozen."""

    def __init__(self, n_in: int, n_out: int, r: int = 4, alpha: int = 8) -> None:
        super().__init__(n_in, n_out)
        self.lora_A, self.lora_B = nn.Parameter(torch.randn(r, n_in) * 0.01), nn.Parameter(torch.zeros(n_out, r))
        self.scaling, self.weight.requires_grad = alpha / r, False

    def forward(self, x: Tensor) -> Tensor:
        """Both."""
        return F.linear(x, self.weight, self.bias) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class CausalSelfAttention(nn.Module):
    """As in the smallest of GPTs, with adapters."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj, self.n_head = LoRALinear(d, 3 * d), LoRALinear(d, d), heads

    def forward(self, x: Tensor) -> Tensor:
        """Without a look ahead."""
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.n_head, -1).transpose(1, 2) for y in self.c_attn(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class LoRAGPT(nn.Module):
    """A GPT of which only adapters are trained."""

    def __init__(self, vocab: int = 200, block: int = 32, d: int = 64, layers: int = 6, heads: int = 4) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab, d), "wpe": nn.Embedding(block, d), "drop": nn.Dropout(0.0),
            "h": nn.ModuleList(
                nn.ModuleDict({
                    "ln_1": nn.LayerNorm(d), "attn": CausalSelfAttention(d, heads), "ln_2": nn.LayerNorm(d),
                    "mlp": nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)),
                })
                for _ in range(layers)
            ),
            "ln_f": nn.LayerNorm(d),
        })  # fmt: skip
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Scores, and the loss if there are targets."""
        tf: Any = self.transformer
        x = tf.drop(tf.wte(idx) + tf.wpe(torch.arange(idx.size(1))))
        for block in tf.h:
            x = x + block["attn"](block["ln_1"](x))
            x = x + block["mlp"](block["ln_2"](x))
        x = tf.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Glow(nn.Module):
    """A flow: squeeze, then steps of actnorm, 1×1 convolution and coupling, at two scales."""

    class Step(nn.Module):
        """One step of flow."""

        def __init__(self, c: int, hidden: int = 32) -> None:
            super().__init__()
            self.loc, self.scale = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.ones(1, c, 1, 1))
            self.weight = nn.Parameter(torch.linalg.qr(torch.randn(c, c))[0])
            self.net = nn.Sequential(
                nn.Conv2d(c // 2, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, hidden, 1), nn.ReLU(),
                nn.Conv2d(hidden, c, 3, padding=1),
            )  # fmt: skip

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            """The code, and the logarithm of the determinant."""
            h, w = x.shape[-2:]
            x = self.scale * (x + self.loc)
            logdet = h * w * (self.scale.abs().log().sum() + torch.slogdet(self.weight)[1])
            a, b = F.conv2d(x, self.weight[:, :, None, None]).chunk(2, 1)
            log_s, t = self.net(a).chunk(2, 1)
            s = torch.sigmoid(log_s + 2)
            return torch.cat([a, (b + t) * s], 1), logdet + s.log().sum((1, 2, 3))

    def __init__(self, c: int = 3, steps: int = 4, scales: int = 2) -> None:
        super().__init__()
        self.blocks = nn.ModuleList()
        for _ in range(scales):
            c *= 4
            self.blocks.append(nn.ModuleList(self.Step(c) for _ in range(steps)))
            c //= 2

    def forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        """Codes of the scales, and the logarithm of the likelihood."""
        log_p, zs = torch.zeros(x.size(0)), []
        for i, block in enumerate(self.blocks):
            x = F.pixel_unshuffle(x, 2)
            for step in block:  # type: ignore[attr-defined]
                x, det = step(x)
                log_p = log_p + det
            if i < len(self.blocks) - 1:
                x, z = x.chunk(2, 1)
                zs.append(z)
                log_p = log_p - 0.5 * z.square().sum((1, 2, 3))
        return [*zs, x], log_p - 0.5 * x.square().sum((1, 2, 3))


class CharCNNTagger(nn.Module):
    """Letters, highway, two recurrent layers whose mix is learnt, and tags (ELMo)."""

    def __init__(self, chars: int = 60, d: int = 32, tags: int = 9) -> None:
        super().__init__()
        self.char_embedding = nn.Embedding(chars, 8)
        filters = ((1, 8), (2, 8), (3, 16), (4, 16), (5, 32))
        for i, (width, num) in enumerate(filters):
            self.add_module(f"char_conv_{i}", nn.Conv1d(8, num, kernel_size=width))
        self.n_filters = len(filters)
        self.highways, self.projection = Highway(80), nn.Linear(80, d)
        self.forward_layers = nn.ModuleList(nn.LSTM(d, d, batch_first=True) for _ in range(2))
        self.backward_layers = nn.ModuleList(nn.LSTM(d, d, batch_first=True) for _ in range(2))
        self.gamma = nn.Parameter(torch.ones(1))
        self.scalar_parameters = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(3))
        self.tag_projection = nn.Linear(2 * d, tags)

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        """Tags of words."""
        b, n, k = inputs.shape
        chars = self.char_embedding(inputs.view(b * n, k)).transpose(1, 2)
        convs = [F.relu(torch.max(getattr(self, f"char_conv_{i}")(chars), -1)[0]) for i in range(self.n_filters)]
        token = self.projection(self.highways(torch.cat(convs, -1))).view(b, n, -1)
        layers = [torch.cat([token, token], -1)]
        fwd, bwd = token, token.flip(1)
        for f, g in zip(self.forward_layers, self.backward_layers, strict=True):
            fwd, bwd = f(fwd)[0], g(bwd)[0]
            layers.append(torch.cat([fwd, bwd.flip(1)], -1))
        weights = F.softmax(torch.cat([*self.scalar_parameters]), 0)
        mixed = self.gamma * sum(w * layer for w, layer in zip(weights, layers, strict=True))
        logits = self.tag_projection(mixed)
        return {"logits": logits, "tags": logits.argmax(-1)}
