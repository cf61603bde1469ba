"""Nets of words, sounds, proteins and opinions as repositories write them, of the fourth list kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.corpus.entry import Entry, given, numbers, whole


def max_out(x: Tensor) -> Tensor:
    """The larger of each two neighbours."""
    if x.size(-1) % 2:
        raise ValueError("maxout needs an even number of features")
    return x.view(*x.shape[:-1], x.size(-1) // 2, 2).max(-1)[0]


class UtteranceEncoder(nn.Module):
    """The last state of a sentence."""

    def __init__(self, vocab_size: int, emb_size: int, hid_size: int, num_lyr: int = 1, drp: float = 0.3) -> None:
        super().__init__()
        self.hid_size, self.num_lyr = hid_size, num_lyr
        self.embed, self.drop = nn.Embedding(vocab_size, emb_size, padding_idx=0), nn.Dropout(drp)
        self.rnn = nn.GRU(emb_size, hid_size, num_layers=num_lyr, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor, x_lens: Tensor) -> Tensor:
        """Of both directions."""
        bt_siz = x.size(0)
        h_0 = torch.zeros(2 * self.num_lyr, bt_siz, self.hid_size)
        x_emb = self.drop(self.embed(x))
        x_emb = pack_padded_sequence(x_emb, x_lens, batch_first=True, enforce_sorted=False)
        _, x_hid = self.rnn(x_emb, h_0)
        x_hid = torch.cat((x_hid[2 * self.num_lyr - 2, :, :], x_hid[2 * self.num_lyr - 1, :, :]), 1)
        return x_hid.unsqueeze(0).transpose(0, 1)


class SessionEncoder(nn.Module):
    """State of the dialogue after an utterance."""

    def __init__(self, hid_size: int, inp_size: int) -> None:
        super().__init__()
        self.hid_size = hid_size
        self.rnn = nn.GRU(inp_size, hid_size, num_layers=1, bidirectional=False, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """The last state."""
        h_0 = torch.zeros(1, x.size(0), self.hid_size)
        _, h_n = self.rnn(x, h_0)
        return h_n.view(x.size(0), -1, self.hid_size)


class DialogDecoder(nn.Module):
    """The words of an answer, each from a state, what has been said, and the word before."""

    def __init__(
        self, vocab_size: int, emb_size: int, ses_hid: int, hid_size: int, drp: float = 0.3, teacher: bool = True
    ) -> None:
        super().__init__()
        self.emb_size, self.hid_size, self.num_lyr, self.teacher_forcing = emb_size, hid_size, 1, teacher
        self.embed_in, self.drop = nn.Embedding(vocab_size, emb_size, padding_idx=0), nn.Dropout(drp)
        self.rnn = nn.GRU(hid_size + emb_size, hid_size, num_layers=1, batch_first=True)
        self.tanh, self.ses_to_dec = nn.Tanh(), nn.Linear(ses_hid, hid_size)
        self.ses_inp = nn.Linear(ses_hid, hid_size)
        self.dec_inf = nn.Linear(hid_size, emb_size * 2, bias=False)
        self.ses_inf = nn.Linear(ses_hid, emb_size * 2, bias=False)
        self.emb_inf = nn.Linear(emb_size, emb_size * 2, bias=True)
        self.embed_out = nn.Linear(emb_size, vocab_size, bias=False)

    def do_decode(self, target: Tensor, ses_encoding: Tensor) -> Tensor:
        """Scores of each word while the truth is known, or while it is not."""
        bt_siz, max_len = target.size()
        hid_n = self.tanh(self.ses_to_dec(ses_encoding)).transpose(0, 1).contiguous()
        ses_inf_vec, ses_inp_vec = self.ses_inf(ses_encoding), self.ses_inp(ses_encoding)
        if self.teacher_forcing:
            start = torch.ones(bt_siz, 1, dtype=torch.long)
            tok_vec = self.drop(self.embed_in(torch.cat([start, target[:, :-1]], 1)))
            hid_o, _ = self.rnn(torch.cat((tok_vec, ses_inp_vec.expand(-1, max_len, -1)), 2), hid_n)
            return self.embed_out(max_out(self.dec_inf(hid_o) + ses_inf_vec + self.emb_inf(tok_vec)))
        tok, preds = torch.ones(bt_siz, 1, dtype=torch.long), []
        for _ in range(max_len):
            tok_vec = self.embed_in(tok)
            hid_o, hid_n = self.rnn(torch.cat((tok_vec, ses_inp_vec), 2), hid_n)
            scores = self.embed_out(max_out(self.dec_inf(hid_o) + ses_inf_vec + self.emb_inf(tok_vec)))
            preds.append(scores)
            tok = scores.argmax(2)
        return torch.cat(preds, 1)

    def forward(self, target: Tensor, ses_encoding: Tensor) -> Tensor:
        """Scores."""
        return self.do_decode(target, ses_encoding)


class HRED(nn.Module):
    """The third turn of a conversation from the two before it."""

    def __init__(
        self, vocab_size: int = 100, emb_size: int = 32, ut_hid: int = 40, ses_hid: int = 64, teacher: bool = True
    ) -> None:
        super().__init__()
        self.base_enc = UtteranceEncoder(vocab_size, emb_size, ut_hid)
        self.ses_enc = SessionEncoder(ses_hid, 2 * ut_hid)
        self.dec = DialogDecoder(vocab_size, emb_size, ses_hid, hid_size=48, teacher=teacher)

    def forward(self, u1: Tensor, u1_lens: Tensor, u2: Tensor, u2_lens: Tensor, u3: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the words of the third turn, and their loss."""
        o1, o2 = self.base_enc(u1, u1_lens), self.base_enc(u2, u2_lens)
        qu_seq = torch.cat((o1, o2), 1)
        final_session_o = self.ses_enc(qu_seq)
        preds = self.dec(u3, final_session_o)
        loss = F.cross_entropy(preds.view(-1, preds.size(-1)), u3.view(-1), ignore_index=0)
        return preds, loss


def gather_edges(edges: Tensor, neighbor_idx: Tensor) -> Tensor:
    """Features of pairs for the neighbours only."""
    neighbors = neighbor_idx.unsqueeze(-1).expand(-1, -1, -1, edges.size(-1))
    return torch.gather(edges, 2, neighbors)


def gather_nodes(nodes: Tensor, neighbor_idx: Tensor) -> Tensor:
    """Features of nodes for the neighbours of each."""
    neighbors_flat = neighbor_idx.view((neighbor_idx.shape[0], -1))
    neighbors_flat = neighbors_flat.unsqueeze(-1).expand(-1, -1, nodes.size(2))
    neighbor_features = torch.gather(nodes, 1, neighbors_flat)
    return neighbor_features.view([*neighbor_idx.shape[:3], -1])


def cat_neighbors_nodes(h_nodes: Tensor, h_neighbors: Tensor, e_idx: Tensor) -> Tensor:
    """Edges and the nodes that they come from."""
    h_nodes = gather_nodes(h_nodes, e_idx)
    return torch.cat([h_neighbors, h_nodes], -1)


class PositionWiseFeedForward(nn.Module):
    """The same two layers for each residue."""

    def __init__(self, num_hidden: int, num_ff: int) -> None:
        super().__init__()
        self.W_in, self.W_out = nn.Linear(num_hidden, num_ff, bias=True), nn.Linear(num_ff, num_hidden, bias=True)
        self.act = nn.GELU()

    def forward(self, h_v: Tensor) -> Tensor:
        """The same shape."""
        h = self.act(self.W_in(h_v))
        return self.W_out(h)


class EncLayer(nn.Module):
    """Messages to residues, then to edges."""

    def __init__(self, num_hidden: int, num_in: int, dropout: float = 0.1, scale: int = 30) -> None:
        super().__init__()
        self.scale = scale
        self.dropout1, self.dropout2, self.dropout3 = nn.Dropout(dropout), nn.Dropout(dropout), nn.Dropout(dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(num_hidden) for _ in range(3))
        self.W1 = nn.Linear(num_hidden + num_in, num_hidden, bias=True)
        self.W2, self.W3 = nn.Linear(num_hidden, num_hidden, bias=True), nn.Linear(num_hidden, num_hidden, bias=True)
        self.W11 = nn.Linear(num_hidden + num_in, num_hidden, bias=True)
        self.W12, self.W13 = nn.Linear(num_hidden, num_hidden, bias=True), nn.Linear(num_hidden, num_hidden, bias=True)
        self.act, self.dense = nn.GELU(), PositionWiseFeedForward(num_hidden, num_hidden * 4)

    def forward(
        self, h_v: Tensor, h_e: Tensor, e_idx: Tensor, mask_v: Tensor | None = None, mask_attend: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Both."""
        h_ev = cat_neighbors_nodes(h_v, h_e, e_idx)
        h_v_expand = h_v.unsqueeze(-2).expand(-1, -1, h_ev.size(-2), -1)
        h_ev = torch.cat([h_v_expand, h_ev], -1)
        h_message = self.W3(self.act(self.W2(self.act(self.W1(h_ev)))))
        if mask_attend is not None:
            h_message = mask_attend.unsqueeze(-1) * h_message
        dh = torch.sum(h_message, -2) / self.scale
        h_v = self.norm1(h_v + self.dropout1(dh))
        dh = self.dense(h_v)
        h_v = self.norm2(h_v + self.dropout2(dh))
        if mask_v is not None:
            h_v = mask_v.unsqueeze(-1) * h_v
        h_ev = cat_neighbors_nodes(h_v, h_e, e_idx)
        h_v_expand = h_v.unsqueeze(-2).expand(-1, -1, h_ev.size(-2), -1)
        h_ev = torch.cat([h_v_expand, h_ev], -1)
        h_message = self.W13(self.act(self.W12(self.act(self.W11(h_ev)))))
        h_e = self.norm3(h_e + self.dropout3(h_message))
        return h_v, h_e


class DecLayer(nn.Module):
    """Messages to residues, of edges that know what is decoded."""

    def __init__(self, num_hidden: int, num_in: int, dropout: float = 0.1, scale: int = 30) -> None:
        super().__init__()
        self.scale = scale
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(num_hidden), nn.LayerNorm(num_hidden)
        self.W1 = nn.Linear(num_hidden + num_in, num_hidden, bias=True)
        self.W2, self.W3 = nn.Linear(num_hidden, num_hidden, bias=True), nn.Linear(num_hidden, num_hidden, bias=True)
        self.act, self.dense = nn.GELU(), PositionWiseFeedForward(num_hidden, num_hidden * 4)

    def forward(self, h_v: Tensor, h_e: Tensor, mask_v: Tensor | None = None) -> Tensor:
        """The same shape."""
        h_v_expand = h_v.unsqueeze(-2).expand(-1, -1, h_e.size(-2), -1)
        h_ev = torch.cat([h_v_expand, h_e], -1)
        h_message = self.W3(self.act(self.W2(self.act(self.W1(h_ev)))))
        dh = torch.sum(h_message, -2) / self.scale
        h_v = self.norm1(h_v + self.dropout1(dh))
        h_v = self.norm2(h_v + self.dropout2(self.dense(h_v)))
        if mask_v is not None:
            h_v = mask_v.unsqueeze(-1) * h_v
        return h_v


class PositionalEncodings(nn.Module):
    """How far residues are apart in the chain, up to a largest distance; or that chains are different."""

    def __init__(self, num_embeddings: int, max_relative_feature: int = 32) -> None:
        super().__init__()
        self.max_relative_feature = max_relative_feature
        self.linear = nn.Linear(2 * max_relative_feature + 1 + 1, num_embeddings)

    def forward(self, offset: Tensor, mask: Tensor) -> Tensor:
        """For each edge."""
        far = self.max_relative_feature
        d = torch.clip(offset + far, 0, 2 * far) * mask + (1 - mask) * (2 * far + 1)
        d_onehot = F.one_hot(d, 2 * far + 1 + 1)
        return self.linear(d_onehot.float())


class ProteinFeatures(nn.Module):
    """The graph of the nearest residues: distances between all their atoms."""

    def __init__(self, edge_features: int, num_positional: int = 16, num_rbf: int = 16, top_k: int = 8) -> None:
        super().__init__()
        self.num_rbf, self.top_k = num_rbf, top_k
        self.embeddings = PositionalEncodings(num_positional)
        self.edge_embedding = nn.Linear(num_positional + num_rbf * 25, edge_features, bias=False)
        self.norm_edges = nn.LayerNorm(edge_features)

    def _dist(self, x: Tensor, mask: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
        mask_2d = torch.unsqueeze(mask, 1) * torch.unsqueeze(mask, 2)
        dx = torch.unsqueeze(x, 1) - torch.unsqueeze(x, 2)
        d = mask_2d * torch.sqrt(torch.sum(dx**2, 3) + eps)
        d_max, _ = torch.max(d, -1, keepdim=True)
        d_adjust = d + (1.0 - mask_2d) * d_max
        return torch.topk(d_adjust, min(self.top_k, x.shape[1]), dim=-1, largest=False)  # type: ignore[return-value]

    def _rbf(self, d: Tensor) -> Tensor:
        d_mu = torch.linspace(2.0, 22.0, self.num_rbf).view([1, 1, 1, -1])
        d_sigma = (22.0 - 2.0) / self.num_rbf
        return torch.exp(-(((torch.unsqueeze(d, -1) - d_mu) / d_sigma) ** 2))

    def _get_rbf(self, a: Tensor, b: Tensor, e_idx: Tensor) -> Tensor:
        d_a_b = torch.sqrt(torch.sum((a[:, :, None, :] - b[:, None, :, :]) ** 2, -1) + 1e-6)
        d_a_b_neighbors = gather_edges(d_a_b[:, :, :, None], e_idx)[:, :, :, 0]
        return self._rbf(d_a_b_neighbors)

    def forward(self, x: Tensor, mask: Tensor, residue_idx: Tensor, chain_labels: Tensor) -> tuple[Tensor, Tensor]:
        """Features of edges, and where they go."""
        b, c = x[:, :, 1, :] - x[:, :, 0, :], x[:, :, 2, :] - x[:, :, 1, :]
        a = torch.cross(b, c, dim=-1)
        cb = -0.58273431 * a + 0.56802827 * b - 0.54067466 * c + x[:, :, 1, :]
        ca, n, c, o = x[:, :, 1, :], x[:, :, 0, :], x[:, :, 2, :], x[:, :, 3, :]
        d_neighbors, e_idx = self._dist(ca, mask)
        rbf_all = [self._rbf(d_neighbors)]
        for first, second in product((ca, n, c, o, cb), repeat=2):
            if first is not ca or second is not ca:
                rbf_all.append(self._get_rbf(first, second, e_idx))
        offset = residue_idx[:, :, None] - residue_idx[:, None, :]
        offset = gather_edges(offset[:, :, :, None], e_idx)[:, :, :, 0]
        d_chains = ((chain_labels[:, :, None] - chain_labels[:, None, :]) == 0).long()
        e_chains = gather_edges(d_chains[:, :, :, None], e_idx)[:, :, :, 0]
        e_positional = self.embeddings(offset.long(), e_chains)
        e = self.edge_embedding(torch.cat([e_positional, *rbf_all], -1))
        return self.norm_edges(e), e_idx


class ProteinMPNN(nn.Module):
    """A sequence for a backbone: residues in any order, each from the structure and those that are there already."""

    def __init__(self, num_letters: int = 21, hidden_dim: int = 32, layers: int = 3, vocab: int = 21) -> None:
        super().__init__()
        self.hidden_dim, self.features = hidden_dim, ProteinFeatures(hidden_dim)
        self.W_e, self.W_s = nn.Linear(hidden_dim, hidden_dim, bias=True), nn.Embedding(vocab, hidden_dim)
        self.encoder_layers = nn.ModuleList([EncLayer(hidden_dim, hidden_dim * 2) for _ in range(layers)])
        self.decoder_layers = nn.ModuleList([DecLayer(hidden_dim, hidden_dim * 3) for _ in range(layers)])
        self.W_out = nn.Linear(hidden_dim, num_letters, bias=True)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(
        self, x: Tensor, s: Tensor, mask: Tensor, chain_m: Tensor, residue_idx: Tensor, chain_encoding_all: Tensor
    ) -> Tensor:
        """Logarithms of the probabilities of each residue."""
        e, e_idx = self.features(x, mask, residue_idx, chain_encoding_all)
        h_v = torch.zeros((e.shape[0], e.shape[1], e.shape[-1]))
        h_e = self.W_e(e)
        mask_attend = gather_nodes(mask.unsqueeze(-1), e_idx).squeeze(-1)
        mask_attend = mask.unsqueeze(-1) * mask_attend
        for layer in self.encoder_layers:
            h_v, h_e = layer(h_v, h_e, e_idx, mask, mask_attend)
        h_s = self.W_s(s)
        h_es = cat_neighbors_nodes(h_s, h_e, e_idx)
        h_ex_encoder = cat_neighbors_nodes(torch.zeros_like(h_s), h_e, e_idx)
        h_exv_encoder = cat_neighbors_nodes(h_v, h_ex_encoder, e_idx)
        chain_m = chain_m * mask
        decoding_order = torch.argsort((chain_m + 0.0001) * torch.abs(torch.randn(chain_m.shape)))
        mask_size = e_idx.shape[1]
        reverse = F.one_hot(decoding_order, num_classes=mask_size).float()
        earlier = 1 - torch.triu(torch.ones(mask_size, mask_size))
        order_mask_backward = torch.einsum("ij, biq, bjp->bqp", earlier, reverse, reverse)
        mask_attend = torch.gather(order_mask_backward, 2, e_idx).unsqueeze(-1)
        mask_1d = mask.view([mask.size(0), mask.size(1), 1, 1])
        mask_bw = mask_1d * mask_attend
        mask_fw = mask_1d * (1.0 - mask_attend)
        h_exv_encoder_fw = mask_fw * h_exv_encoder
        for layer in self.decoder_layers:
            h_esv = cat_neighbors_nodes(h_v, h_es, e_idx)
            h_esv = mask_bw * h_esv + h_exv_encoder_fw
            h_v = layer(h_v, h_esv, mask)
        return F.log_softmax(self.W_out(h_v), dim=-1)


class CausalConv1d(nn.Conv1d):
    """A convolution that does not hear what comes later."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.causal_padding = self.dilation[0] * (self.kernel_size[0] - 1)

    def forward(self, x: Tensor) -> Tensor:
        """Padded in front."""
        return self._conv_forward(F.pad(x, (self.causal_padding, 0)), self.weight, self.bias)


class CausalConvTranspose1d(nn.ConvTranspose1d):
    """Longer by the stride, without what would be heard early."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.causal_padding = self.kernel_size[0] - self.stride[0]

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        """Cut behind."""
        return super().forward(x, output_size)[..., : -self.causal_padding]


class ResidualUnit(nn.Module):
    """A dilated convolution and a narrow one."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.layers = nn.Sequential(
            CausalConv1d(in_channels, out_channels, kernel_size=7, dilation=dilation), nn.ELU(),
            nn.Conv1d(in_channels, out_channels, kernel_size=1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        return x + self.layers(x)


def encoder_block(out_channels: int, stride: int) -> nn.Sequential:
    """Three units, then fewer steps of more channels."""
    half = out_channels // 2
    units = [layer for d in (1, 3, 9) for layer in (ResidualUnit(half, half, dilation=d), nn.ELU())]
    return nn.Sequential(*units, CausalConv1d(half, out_channels, kernel_size=2 * stride, stride=stride))


def decoder_block(out_channels: int, stride: int) -> nn.Sequential:
    """More steps of fewer channels, then three units."""
    up = CausalConvTranspose1d(2 * out_channels, out_channels, kernel_size=2 * stride, stride=stride)
    units = [layer for d in (1, 3, 9) for layer in (nn.ELU(), ResidualUnit(out_channels, out_channels, dilation=d))]
    return nn.Sequential(up, *units)


class VectorQuantization(nn.Module):
    """The nearest entry of a codebook."""

    embed: Tensor

    def __init__(self, dim: int, codebook_size: int, decay: float = 0.99) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("embed", torch.randn(codebook_size, dim))
        self.register_buffer("embed_avg", self.embed.clone())
        self.register_buffer("cluster_size", torch.ones(codebook_size))

    def ema_update(self, flat: Tensor, embed_ind: Tensor) -> None:
        """Entries moved to the means of what they stand for."""
        onehot = F.one_hot(embed_ind, self.embed.shape[0]).type(flat.dtype)
        self.cluster_size.lerp_(onehot.sum(0), 1 - self.decay)
        self.embed_avg.lerp_(onehot.t() @ flat, 1 - self.decay)
        self.embed.copy_(self.embed_avg / self.cluster_size.clamp(min=1e-5).unsqueeze(1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Entries, their numbers, and how far they are from what came in."""
        flatten = x.reshape(-1, x.shape[-1])
        distance = flatten.pow(2).sum(1, keepdim=True) - 2 * flatten @ self.embed.t() + self.embed.pow(2).sum(1)
        embed_ind = (-distance).max(dim=-1).indices
        quantize = F.embedding(embed_ind.view(x.shape[:-1]), self.embed)
        if self.training:
            self.ema_update(flatten.detach(), embed_ind)
        commit_loss = F.mse_loss(quantize.detach(), x)
        quantize = x + (quantize - x).detach()
        return quantize, embed_ind.view(x.shape[:-1]), commit_loss


class ResidualVQ(nn.Module):
    """Codebooks, each of what those before it left over."""

    def __init__(self, num_quantizers: int, dim: int, codebook_size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([VectorQuantization(dim, codebook_size) for _ in range(num_quantizers)])

    def forward(self, x: Tensor, n: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """A sum of entries, all numbers and all losses."""
        quantized_out: Any = 0.0
        residual = x
        all_losses, all_indices = [], []
        for layer in self.layers[: n or len(self.layers)]:
            quantized, indices, loss = layer(residual)
            residual = residual - quantized.detach()
            quantized_out = quantized_out + quantized
            all_indices.append(indices)
            all_losses.append(loss)
        return quantized_out, torch.stack(all_indices, dim=-1), torch.stack(all_losses)


class SoundStream(nn.Module):
    """A codec of sounds."""

    def __init__(self, channels: int = 4, dim: int = 32, num_quantizers: int = 4, codebook_size: int = 64) -> None:
        super().__init__()
        strides, c = (2, 4, 5, 8), channels
        self.encoder = nn.Sequential(
            CausalConv1d(1, c, kernel_size=7), nn.ELU(),
            *[layer for i, s in enumerate(strides) for layer in (encoder_block(2 ** (i + 1) * c, s), nn.ELU())],
            CausalConv1d(16 * c, dim, kernel_size=3),
        )  # fmt: skip
        self.quantizer = ResidualVQ(num_quantizers, dim, codebook_size)
        self.decoder = nn.Sequential(
            CausalConv1d(dim, 16 * c, kernel_size=7), nn.ELU(),
            *[layer for i, s in enumerate(strides[::-1]) for layer in (decoder_block(2 ** (3 - i) * c, s), nn.ELU())],
            CausalConv1d(c, 1, kernel_size=7),
        )  # fmt: skip

    def forward(self, x: Tensor, n: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The sound again, its code, and the loss of the code."""
        e = self.encoder(x)
        e = e.permute(0, 2, 1)
        quantized, indices, commit_loss = self.quantizer(e, n)
        quantized = quantized.permute(0, 2, 1)
        o = self.decoder(quantized)
        return o, indices, commit_loss.sum()


class StackTime(nn.Module):
    """Neighbouring frames as one."""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor, x_lens: Tensor) -> tuple[Tensor, Tensor]:
        """Time first."""
        seq = [x]
        for i in range(1, self.factor):
            tmp = torch.zeros_like(x)
            tmp[:-i, :, :] = x[i:, :, :]
            seq.append(tmp)
        x_lens = torch.ceil(x_lens.float() / self.factor).int()
        return torch.cat(seq, dim=2)[:: self.factor, :, :], x_lens


class LSTMStack(nn.Module):
    """Recurrent layers whose gates begin open, with dropout behind."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, forget_gate_bias: float = 1.0) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers=num_layers, dropout=0.2 if num_layers > 1 else 0.0)
        self.dropout = nn.Dropout(0.2)
        for name, v in self.lstm.named_parameters():
            if "bias_ih" in name:
                v.data[hidden_size : 2 * hidden_size].fill_(forget_gate_bias)
            if "bias_hh" in name:
                v.data[hidden_size : 2 * hidden_size].fill_(0.0)

    def forward(self, x: Tensor, h: Any = None) -> tuple[Tensor, Any]:
        """Outputs and the last state."""
        x, h = self.lstm(x, h)
        return self.dropout(x), h


class RNNT(nn.Module):
    """Speech to letters: what is heard and what is written so far, joined at each pair of places (transducer)."""

    def __init__(
        self, n_classes: int = 29, in_feats: int = 40, enc_n_hid: int = 64, pred_n_hid: int = 32, joint_n_hid: int = 48
    ) -> None:
        super().__init__()
        self.encoder = nn.ModuleDict({
            "pre_rnn": LSTMStack(in_feats, enc_n_hid, num_layers=2),
            "stack_time": StackTime(factor=2),
            "post_rnn": LSTMStack(2 * enc_n_hid, enc_n_hid, num_layers=3),
        })  # fmt: skip
        self.prediction = nn.ModuleDict({
            "embed": nn.Embedding(n_classes - 1, pred_n_hid), "dec_rnn": LSTMStack(pred_n_hid, pred_n_hid, num_layers=2)
        })  # fmt: skip
        self.pred_n_hid, self.joint_pred = pred_n_hid, nn.Linear(pred_n_hid, joint_n_hid)
        self.joint_enc = nn.Linear(enc_n_hid, joint_n_hid)
        self.joint_net = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(joint_n_hid, n_classes))

    def encode(self, x: Tensor, x_lens: Tensor) -> tuple[Tensor, Tensor]:
        """Encoder of the audio."""
        x, _ = self.encoder["pre_rnn"](x, None)
        x, x_lens = self.encoder["stack_time"](x, x_lens)
        x, _ = self.encoder["post_rnn"](x, None)
        return x.transpose(0, 1), x_lens

    def predict(self, y: Tensor | None, state: Any = None, add_sos: bool = True) -> tuple[Tensor, Any]:
        """Prediction from the symbols so far; none at first."""
        if y is not None:
            y = self.prediction["embed"](y)
        else:
            y = torch.zeros((1 if state is None else state[0].size(1), 1, self.pred_n_hid))
        if add_sos:
            b, _, h = y.shape
            start = torch.zeros((b, 1, h))
            y = torch.cat([start, y], dim=1).contiguous()
        y = y.transpose(0, 1)
        g, hid = self.prediction["dec_rnn"](y, state)
        return g.transpose(0, 1), hid

    def joint(self, f: Tensor, g: Tensor) -> Tensor:
        """Scores for each frame and each letter."""
        f = self.joint_enc(f)
        g = self.joint_pred(g)
        f = f.unsqueeze(dim=2)
        g = g.unsqueeze(dim=1)
        return self.joint_net(f + g)

    def forward(self, x: Tensor, x_lens: Tensor, y: Tensor, state: Any = None) -> tuple[Tensor, Tensor, Any]:
        """Scores, lengths, and the state of the writer."""
        f, x_lens = self.encode(x, x_lens)
        g, pred_state = self.predict(y, state)
        return self.joint(f, g), x_lens, pred_state


def sequence_mask(length: Tensor, max_length: int) -> Tensor:
    """Where there is something."""
    x = torch.arange(max_length, dtype=length.dtype)
    return x.unsqueeze(0) < length.unsqueeze(1)


class ChannelNorm(nn.Module):
    """A norm over channels."""

    def __init__(self, channels: int, eps: float = 1e-4) -> None:
        super().__init__()
        self.eps = eps
        self.gamma, self.beta = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        n_dims = len(x.shape)
        mean = torch.mean(x, 1, keepdim=True)
        variance = torch.mean((x - mean) ** 2, 1, keepdim=True)
        x = (x - mean) * torch.rsqrt(variance + self.eps)
        shape = [1, -1] + [1] * (n_dims - 2)
        return x * self.gamma.view(*shape) + self.beta.view(*shape)


class ConvReluNorm(nn.Module):
    """A few convolutions before the attention."""

    def __init__(self, channels: int, kernel_size: int, n_layers: int, p_dropout: float) -> None:
        super().__init__()
        self.n_layers, self.conv_layers, self.norm_layers = n_layers, nn.ModuleList(), nn.ModuleList()
        for _ in range(n_layers):
            self.conv_layers.append(nn.Conv1d(channels, channels, kernel_size, padding=kernel_size // 2))
            self.norm_layers.append(ChannelNorm(channels))
        self.relu_drop, self.proj = nn.Sequential(nn.ReLU(), nn.Dropout(p_dropout)), nn.Conv1d(channels, channels, 1)
        self.proj.weight.data.zero_()
        nn.init.zeros_(self.proj.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, x_mask: Tensor) -> Tensor:
        """With a skip."""
        x_org = x
        for i in range(self.n_layers):
            x = self.conv_layers[i](x * x_mask)
            x = self.norm_layers[i](x)
            x = self.relu_drop(x)
        x = x_org + self.proj(x)
        return x * x_mask


class RelativeAttention(nn.Module):
    """Attention that knows how far keys are, within a window."""

    def __init__(self, channels: int, n_heads: int, window_size: int = 4, p_dropout: float = 0.0) -> None:
        super().__init__()
        self.n_heads, self.window_size, self.k_channels = n_heads, window_size, channels // n_heads
        self.conv_q, self.conv_k = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)
        self.conv_v, self.conv_o = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)
        self.drop, rel_stddev = nn.Dropout(p_dropout), self.k_channels**-0.5
        self.emb_rel_k = nn.Parameter(torch.randn(1, window_size * 2 + 1, self.k_channels) * rel_stddev)
        self.emb_rel_v = nn.Parameter(torch.randn(1, window_size * 2 + 1, self.k_channels) * rel_stddev)

    def _get_relative_embeddings(self, relative_embeddings: Tensor, length: int) -> Tensor:
        pad_length = max(length - (self.window_size + 1), 0)
        slice_start = max((self.window_size + 1) - length, 0)
        padded = F.pad(relative_embeddings, (0, 0, pad_length, pad_length)) if pad_length > 0 else relative_embeddings
        return padded[:, slice_start : slice_start + 2 * length - 1]

    @staticmethod
    def _relative_to_absolute(x: Tensor) -> Tensor:
        batch, heads, length, _ = x.size()
        x = F.pad(x, (0, 1))
        x_flat = F.pad(x.view([batch, heads, length * 2 * length]), (0, length - 1))
        return x_flat.view([batch, heads, length + 1, 2 * length - 1])[:, :, :length, length - 1 :]

    @staticmethod
    def _absolute_to_relative(x: Tensor) -> Tensor:
        batch, heads, length, _ = x.size()
        x = F.pad(x, (0, length - 1))
        x_flat = F.pad(x.view([batch, heads, length**2 + length * (length - 1)]), (length, 0))
        return x_flat.view([batch, heads, length, 2 * length])[:, :, :, 1:]

    def forward(self, x: Tensor, attn_mask: Tensor) -> Tensor:
        """Without the skip."""
        q, k, v = self.conv_q(x), self.conv_k(x), self.conv_v(x)
        b, d, t = k.size()
        query = q.view(b, self.n_heads, self.k_channels, t).transpose(2, 3)
        key = k.view(b, self.n_heads, self.k_channels, t).transpose(2, 3)
        value = v.view(b, self.n_heads, self.k_channels, t).transpose(2, 3)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.k_channels)
        key_relative_embeddings = self._get_relative_embeddings(self.emb_rel_k, t)
        rel_logits = torch.matmul(query, key_relative_embeddings.unsqueeze(0).transpose(-2, -1))
        scores = scores + self._relative_to_absolute(rel_logits) / math.sqrt(self.k_channels)
        scores = scores.masked_fill(attn_mask == 0, -1e4)
        p_attn = self.drop(F.softmax(scores, dim=-1))
        output = torch.matmul(p_attn, value)
        relative_weights = self._absolute_to_relative(p_attn)
        value_relative_embeddings = self._get_relative_embeddings(self.emb_rel_v, t)
        output = output + torch.matmul(relative_weights, value_relative_embeddings.unsqueeze(0))
        return self.conv_o(output.transpose(2, 3).contiguous().view(b, d, t))


class ConvFFN(nn.Module):
    """Two convolutions."""

    def __init__(self, channels: int, filter_channels: int, kernel_size: int, p_dropout: float = 0.0) -> None:
        super().__init__()
        self.conv_1 = nn.Conv1d(channels, filter_channels, kernel_size, padding=kernel_size // 2)
        self.conv_2 = nn.Conv1d(filter_channels, channels, kernel_size, padding=kernel_size // 2)
        self.drop = nn.Dropout(p_dropout)

    def forward(self, x: Tensor, x_mask: Tensor) -> Tensor:
        """Nothing where there is nothing."""
        x = self.conv_1(x * x_mask)
        x = self.drop(torch.relu(x))
        x = self.conv_2(x * x_mask)
        return x * x_mask


class TextEncoder(nn.Module):
    """Encoder of the letters, with their durations."""

    def __init__(self, n_vocab: int, out_channels: int, hidden: int, n_layers: int, p_dropout: float) -> None:
        super().__init__()
        self.hidden_channels, self.n_layers = hidden, n_layers
        self.emb, self.pre = nn.Embedding(n_vocab, hidden), ConvReluNorm(hidden, 5, 3, p_dropout=0.5)
        self.drop, self.attn_layers, self.norm_layers_1 = nn.Dropout(p_dropout), nn.ModuleList(), nn.ModuleList()
        self.ffn_layers, self.norm_layers_2 = nn.ModuleList(), nn.ModuleList()
        for _ in range(n_layers):
            self.attn_layers.append(RelativeAttention(hidden, 2, p_dropout=p_dropout))
            self.norm_layers_1.append(ChannelNorm(hidden))
            self.ffn_layers.append(ConvFFN(hidden, 2 * hidden, 3, p_dropout=p_dropout))
            self.norm_layers_2.append(ChannelNorm(hidden))
        self.proj_m, self.proj_s = nn.Conv1d(hidden, out_channels, 1), nn.Conv1d(hidden, out_channels, 1)
        self.proj_w = DurationPredictor(hidden, 2 * hidden, 3, p_dropout)

    def forward(self, x: Tensor, x_lengths: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Mean, spread and duration, and where there are letters."""
        x = self.emb(x) * math.sqrt(self.hidden_channels)
        x = torch.transpose(x, 1, -1)
        x_mask = torch.unsqueeze(sequence_mask(x_lengths, x.size(2)), 1).to(x.dtype)
        x = self.pre(x, x_mask)
        attn_mask = x_mask.unsqueeze(2) * x_mask.unsqueeze(-1)
        for i in range(self.n_layers):
            x = x * x_mask
            y = self.attn_layers[i](x, attn_mask)
            x = self.norm_layers_1[i](x + self.drop(y))
            y = self.ffn_layers[i](x, x_mask)
            x = self.norm_layers_2[i](x + self.drop(y))
        x = x * x_mask
        x_dp = torch.detach(x)
        return self.proj_m(x) * x_mask, self.proj_s(x) * x_mask, self.proj_w(x_dp, x_mask), x_mask


class DurationPredictor(nn.Module):
    """The logarithm of how long."""

    def __init__(self, in_channels: int, filter_channels: int, kernel_size: int, p_dropout: float) -> None:
        super().__init__()
        self.drop = nn.Dropout(p_dropout)
        self.conv_1 = nn.Conv1d(in_channels, filter_channels, kernel_size, padding=kernel_size // 2)
        self.conv_2 = nn.Conv1d(filter_channels, filter_channels, kernel_size, padding=kernel_size // 2)
        self.norm_1, self.norm_2 = ChannelNorm(filter_channels), ChannelNorm(filter_channels)
        self.proj = nn.Conv1d(filter_channels, 1, 1)

    def forward(self, x: Tensor, x_mask: Tensor) -> Tensor:
        """For each letter."""
        x = self.drop(self.norm_1(torch.relu(self.conv_1(x * x_mask))))
        x = self.drop(self.norm_2(torch.relu(self.conv_2(x * x_mask))))
        return self.proj(x * x_mask) * x_mask


class ActNorm(nn.Module):
    """A scale and a shift of each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.logs, self.bias = nn.Parameter(torch.zeros(1, channels, 1)), nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, x: Tensor, x_mask: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """Forth or back."""
        x_len = torch.sum(x_mask, [1, 2])
        if reverse:
            return (x - self.bias) * torch.exp(-self.logs) * x_mask, None
        return (self.bias + torch.exp(self.logs) * x) * x_mask, torch.sum(self.logs) * x_len


class InvConvNear(nn.Module):
    """A rotation of a few channels at once, the same for all groups of them."""

    def __init__(self, n_split: int = 4) -> None:
        super().__init__()
        self.n_split = n_split
        w_init = torch.linalg.qr(torch.randn(n_split, n_split))[0]
        if torch.det(w_init) < 0:
            w_init[:, 0] = -1 * w_init[:, 0]
        self.weight = nn.Parameter(w_init)

    def forward(self, x: Tensor, x_mask: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """Forth or back."""
        b, c, t = x.size()
        x_len = torch.sum(x_mask, [1, 2])
        x = x.view(b, 2, c // self.n_split, self.n_split // 2, t)
        x = x.permute(0, 1, 3, 2, 4).contiguous().view(b, self.n_split, c // self.n_split, t)
        if reverse:
            weight, logdet = torch.inverse(self.weight), None
        else:
            weight, logdet = self.weight, torch.logdet(self.weight) * (c / self.n_split) * x_len
        z = F.conv2d(x, weight.view(self.n_split, self.n_split, 1, 1))
        z = z.view(b, 2, self.n_split // 2, c // self.n_split, t)
        z = z.permute(0, 1, 3, 2, 4).contiguous().view(b, c, t) * x_mask
        return z, logdet


class WN(nn.Module):
    """Gated convolutions, whose halves go on and out."""

    def __init__(self, hidden_channels: int, kernel_size: int, dilation_rate: int, n_layers: int) -> None:
        super().__init__()
        self.hidden_channels, self.n_layers = hidden_channels, n_layers
        self.in_layers, self.res_skip_layers = nn.ModuleList(), nn.ModuleList()
        for i in range(n_layers):
            dilation = dilation_rate**i
            padding = (kernel_size * dilation - dilation) // 2
            in_layer = nn.Conv1d(hidden_channels, 2 * hidden_channels, kernel_size, dilation=dilation, padding=padding)
            self.in_layers.append(weight_norm(in_layer, name="weight"))
            res_skip_channels = 2 * hidden_channels if i < n_layers - 1 else hidden_channels
            res_skip_layer = nn.Conv1d(hidden_channels, res_skip_channels, 1)
            self.res_skip_layers.append(weight_norm(res_skip_layer, name="weight"))

    def forward(self, x: Tensor, x_mask: Tensor) -> Tensor:
        """The sum of what goes out."""
        output = torch.zeros_like(x)
        for i in range(self.n_layers):
            x_in = self.in_layers[i](x)
            acts = torch.tanh(x_in[:, : self.hidden_channels, :]) * torch.sigmoid(x_in[:, self.hidden_channels :, :])
            res_skip_acts = self.res_skip_layers[i](acts)
            if i < self.n_layers - 1:
                x = (x + res_skip_acts[:, : self.hidden_channels, :]) * x_mask
                output = output + res_skip_acts[:, self.hidden_channels :, :]
            else:
                output = output + res_skip_acts
        return output * x_mask


class CouplingBlock(nn.Module):
    """Half of the channels changed by the other half."""

    def __init__(self, in_channels: int, hidden_channels: int, n_layers: int) -> None:
        super().__init__()
        self.in_channels, self.start = in_channels, weight_norm(nn.Conv1d(in_channels // 2, hidden_channels, 1))
        self.end = nn.Conv1d(hidden_channels, in_channels, 1)
        self.end.weight.data.zero_()
        nn.init.zeros_(self.end.bias)  # type: ignore[arg-type]
        self.wn = WN(hidden_channels, 5, 1, n_layers)

    def forward(self, x: Tensor, x_mask: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """Forth or back."""
        x_0, x_1 = x[:, : self.in_channels // 2], x[:, self.in_channels // 2 :]
        h = self.start(x_0) * x_mask
        h = self.wn(h, x_mask)
        out = self.end(h)
        m, logs = out[:, : self.in_channels // 2, :], out[:, self.in_channels // 2 :, :]
        if reverse:
            z_1, logdet = (x_1 - m) * torch.exp(-logs) * x_mask, None
        else:
            z_1, logdet = (m + torch.exp(logs) * x_1) * x_mask, torch.sum(logs * x_mask, [1, 2])
        return torch.cat([x_0, z_1], 1), logdet


class FlowSpecDecoder(nn.Module):
    """A flow of spectrograms, two frames at a time."""

    def __init__(self, in_channels: int, hidden_channels: int, n_blocks: int, n_layers: int, n_sqz: int = 2) -> None:
        super().__init__()
        self.n_sqz, self.flows = n_sqz, nn.ModuleList()
        for _ in range(n_blocks):
            self.flows.append(ActNorm(channels=in_channels * n_sqz))
            self.flows.append(InvConvNear(n_split=4))
            self.flows.append(CouplingBlock(in_channels * n_sqz, hidden_channels, n_layers))

    def forward(self, x: Tensor, x_mask: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """Forth or back, and the logarithm of the determinant."""
        flows = reversed(self.flows) if reverse else self.flows
        logdet_tot: Any = None if reverse else 0
        b, c, t = x.size()
        x = x.view(b, c, t // self.n_sqz, self.n_sqz).permute(0, 3, 1, 2).contiguous().view(b, c * self.n_sqz, -1)
        mask = x_mask[:, :, self.n_sqz - 1 :: self.n_sqz]
        x = x * mask
        for f in flows:
            x, logdet = f(x, mask, reverse=reverse)
            if not reverse:
                logdet_tot = logdet_tot + logdet
        x = x.view(b, self.n_sqz, c, t // self.n_sqz).permute(0, 2, 3, 1).contiguous().view(b, c, t)
        return x * x_mask, logdet_tot


def maximum_path(value: Tensor, mask: Tensor) -> Tensor:
    """The best alignment: letters in turn, each with at least one frame."""
    scores = (value * mask).detach().cpu().numpy().astype(np.float32)
    path = np.zeros_like(scores)
    t_xs, t_ys = mask.sum(1)[:, 0].long().tolist(), mask.sum(2)[:, 0].long().tolist()
    for b, (t_x, t_y) in enumerate(zip(t_xs, t_ys, strict=True)):
        v = np.full((t_x + 1, t_y), -1e9, dtype=np.float32)
        for y in range(t_y):
            for x in range(max(0, t_x + y - t_y), min(t_x, y + 1)):
                before = max(v[x + 1, y - 1], v[x, y - 1]) if y else (0.0 if x == 0 else -1e9)
                v[x + 1, y] = before + scores[b, x, y]
        x = t_x - 1
        for y in range(t_y - 1, -1, -1):
            path[b, x, y] = 1
            if x and (x == y or v[x + 1, y - 1] < v[x, y - 1]):
                x -= 1
    return torch.from_numpy(path).to(dtype=value.dtype)


class GlowTTS(nn.Module):
    """Text to spectrograms: a flow, and the alignment that makes its code most likely."""

    def __init__(self, n_vocab: int = 60, out_channels: int = 20, hidden: int = 32, n_layers: int = 3) -> None:
        super().__init__()
        self.encoder = TextEncoder(n_vocab, out_channels, hidden, n_layers, p_dropout=0.1)
        self.decoder = FlowSpecDecoder(out_channels, hidden, n_blocks=3, n_layers=3)

    def forward(
        self, x: Tensor, x_lengths: Tensor, y: Tensor, y_lengths: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The code and what the text says of it; what the text says; alignment and durations."""
        x_m, x_logs, logw, x_mask = self.encoder(x, x_lengths)
        z_mask = torch.unsqueeze(sequence_mask(y_lengths, y.size(2)), 1).to(x_mask.dtype)
        attn_mask = torch.unsqueeze(x_mask, -1) * torch.unsqueeze(z_mask, 2)
        z, logdet = self.decoder(y, z_mask, reverse=False)
        with torch.no_grad():
            x_s_sq_r = torch.exp(-2 * x_logs)
            logp1 = torch.sum(-0.5 * math.log(2 * math.pi) - x_logs, [1]).unsqueeze(-1)
            logp2 = torch.matmul(x_s_sq_r.transpose(1, 2), -0.5 * (z**2))
            logp3 = torch.matmul((x_m * x_s_sq_r).transpose(1, 2), z)
            logp4 = torch.sum(-0.5 * (x_m**2) * x_s_sq_r, [1]).unsqueeze(-1)
            logp = logp1 + logp2 + logp3 + logp4
            attn = maximum_path(logp, attn_mask.squeeze(1)).unsqueeze(1).detach()
        z_m = torch.matmul(attn.squeeze(1).transpose(1, 2), x_m.transpose(1, 2)).transpose(1, 2)
        z_logs = torch.matmul(attn.squeeze(1).transpose(1, 2), x_logs.transpose(1, 2)).transpose(1, 2)
        logw_ = torch.log(1e-8 + torch.sum(attn, -1)) * x_mask
        return (z, z_m, z_logs, logdet, z_mask), (x_m, x_logs, x_mask), (attn, logw, logw_)


class CharCNN(nn.Module):
    """A vector for each word, from its letters."""

    def __init__(self, alphabet_size: int, embedding_dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.char_drop, self.char_embeddings = nn.Dropout(dropout), nn.Embedding(alphabet_size, embedding_dim)
        self.char_cnn = nn.Conv1d(embedding_dim, hidden_dim, kernel_size=3, padding=1)

    def forward(self, chars: Tensor) -> Tensor:
        """The largest of each feature."""
        batch_size, sent_len, word_len = chars.size()
        char_embeds = self.char_drop(self.char_embeddings(chars.view(-1, word_len)))
        char_cnn_out = self.char_cnn(char_embeds.transpose(2, 1))
        char_cnn_out = F.max_pool1d(char_cnn_out, char_cnn_out.size(2))
        return char_cnn_out.view(batch_size, sent_len, -1)


class CRF(nn.Module):
    """How well tags follow on each other."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self.num_tags = num_tags
        self.start_transitions = nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.end_transitions = nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags).uniform_(-0.1, 0.1))

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """How unlikely the tags are."""
        emissions, tags, mask = emissions.transpose(0, 1), tags.transpose(0, 1), mask.transpose(0, 1)
        numerator = self._compute_score(emissions, tags, mask)
        denominator = self._compute_normalizer(emissions, mask)
        return (denominator - numerator).mean()

    def _compute_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        seq_length, batch_size = tags.shape
        score = self.start_transitions[tags[0]] + emissions[0, torch.arange(batch_size), tags[0]]
        for i in range(1, seq_length):
            score = score + self.transitions[tags[i - 1], tags[i]] * mask[i]
            score = score + emissions[i, torch.arange(batch_size), tags[i]] * mask[i]
        seq_ends = mask.long().sum(dim=0) - 1
        last_tags = tags[seq_ends, torch.arange(batch_size)]
        return score + self.end_transitions[last_tags]

    def _compute_normalizer(self, emissions: Tensor, mask: Tensor) -> Tensor:
        score = self.start_transitions + emissions[0]
        for i in range(1, emissions.size(0)):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score = torch.logsumexp(next_score, dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
        return torch.logsumexp(score + self.end_transitions, dim=1)

    def decode(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The best tags (Viterbi)."""
        emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
        seq_length, batch_size = mask.shape
        score, history = self.start_transitions + emissions[0], []
        for i in range(1, seq_length):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score, indices = next_score.max(dim=1)
            keep = mask[i].unsqueeze(1).bool()
            score = torch.where(keep, next_score, score)
            history.append(torch.where(keep, indices, torch.arange(self.num_tags).expand(batch_size, -1)))
        best_tags = [(score + self.end_transitions).argmax(dim=1, keepdim=True)]
        for hist in reversed(history):
            best_tags.append(hist.gather(1, best_tags[-1]))
        return torch.cat(best_tags[::-1], dim=1) * mask.transpose(0, 1).long()


class BiLSTMCRF(nn.Module):
    """Names in a text: letters, words, a recurrent layer, and tags that fit each other."""

    def __init__(
        self, vocab: int = 100, alphabet: int = 50, num_tags: int = 9, word_dim: int = 40, hidden_dim: int = 64
    ) -> None:
        super().__init__()
        self.word_embedding, self.char_feature = nn.Embedding(vocab, word_dim), CharCNN(alphabet, 12, 20, 0.5)
        self.feature_embedding, self.drop = nn.Embedding(5, 6), nn.Dropout(0.5)
        input_size = word_dim + 20 + 6
        self.lstm = nn.LSTM(input_size, hidden_dim // 2, num_layers=2, batch_first=True, bidirectional=True)
        self.droplstm, self.hidden2tag, self.crf = nn.Dropout(0.5), nn.Linear(hidden_dim, num_tags), CRF(num_tags)

    def _get_lstm_features(self, words: Tensor, chars: Tensor, caps: Tensor, lengths: Tensor) -> Tensor:
        word_list = [self.word_embedding(words), self.char_feature(chars), self.feature_embedding(caps)]
        word_represent = self.drop(torch.cat(word_list, 2))
        packed_words = pack_padded_sequence(word_represent, lengths, batch_first=True)
        lstm_out, _ = self.lstm(packed_words, None)
        lstm_out, _ = pad_packed_sequence(lstm_out, batch_first=True)
        return self.hidden2tag(self.droplstm(lstm_out))

    def forward(
        self, words: Tensor, chars: Tensor, caps: Tensor, lengths: Tensor, tags: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The loss and the best tags."""
        mask = words.ne(0)
        outs = self._get_lstm_features(words, chars, caps, lengths)
        return self.crf(outs, tags, mask), self.crf.decode(outs, mask)


class SubNet(nn.Module):
    """Sounds or faces, already summed over time."""

    def __init__(self, in_size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(in_size), nn.Dropout(p=dropout)
        self.linear_1, self.linear_2 = nn.Linear(in_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.linear_3 = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """A vector for each."""
        normed = self.norm(x)
        dropped = self.drop(normed)
        y_1 = F.relu(self.linear_1(dropped))
        y_2 = F.relu(self.linear_2(y_1))
        return F.relu(self.linear_3(y_2))


class TextSubNet(nn.Module):
    """Encoder of an utterance."""

    def __init__(
        self, in_size: int, hidden_size: int, out_size: int, num_layers: int = 1, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.rnn = nn.LSTM(in_size, hidden_size, num_layers=num_layers, batch_first=True)
        self.dropout, self.linear_1 = nn.Dropout(dropout), nn.Linear(hidden_size, out_size)

    def forward(self, x: Tensor) -> Tensor:
        """A vector for each."""
        _, final_states = self.rnn(x)
        h = self.dropout(final_states[0].squeeze(0))
        return self.linear_1(h)


class TFN(nn.Module):
    """An opinion from sound, face and words: the products of all their features (tensor fusion)."""

    output_range: Tensor
    output_shift: Tensor

    def __init__(
        self, input_dims: tuple[int, int, int] = (24, 20, 48), hidden_dims: tuple[int, int, int] = (8, 8, 32),
        text_out: int = 16, post_fusion_dim: int = 32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.audio_in, self.video_in, self.text_in = input_dims
        self.audio_hidden, self.video_hidden, self.text_hidden = hidden_dims
        self.text_out, self.post_fusion_dim = text_out, post_fusion_dim
        self.audio_subnet = SubNet(self.audio_in, self.audio_hidden, 0.2)
        self.video_subnet = SubNet(self.video_in, self.video_hidden, 0.2)
        self.text_subnet = TextSubNet(self.text_in, self.text_hidden, self.text_out)
        self.post_fusion_dropout = nn.Dropout(p=0.2)
        fused = (self.text_out + 1) * (self.video_hidden + 1) * (self.audio_hidden + 1)
        self.post_fusion_layer_1 = nn.Linear(fused, self.post_fusion_dim)
        self.post_fusion_layer_2 = nn.Linear(self.post_fusion_dim, self.post_fusion_dim)
        self.post_fusion_layer_3 = nn.Linear(self.post_fusion_dim, 1)
        self.register_buffer("output_range", torch.FloatTensor([6]))
        self.register_buffer("output_shift", torch.FloatTensor([-3]))

    def forward(self, audio_x: Tensor, video_x: Tensor, text_x: Tensor) -> Tensor:
        """Between -3 and 3."""
        audio_h = self.audio_subnet(audio_x)
        video_h = self.video_subnet(video_x)
        text_h = self.text_subnet(text_x)
        batch_size = audio_h.shape[0]
        _audio_h = torch.cat((torch.ones(batch_size, 1), audio_h), dim=1)
        _video_h = torch.cat((torch.ones(batch_size, 1), video_h), dim=1)
        _text_h = torch.cat((torch.ones(batch_size, 1), text_h), dim=1)
        fusion_tensor = torch.bmm(_audio_h.unsqueeze(2), _video_h.unsqueeze(1))
        fusion_tensor = fusion_tensor.view(-1, (self.audio_hidden + 1) * (self.video_hidden + 1), 1)
        fusion_tensor = torch.bmm(fusion_tensor, _text_h.unsqueeze(1)).view(batch_size, -1)
        post_fusion_dropped = self.post_fusion_dropout(fusion_tensor)
        post_fusion_y_1 = F.relu(self.post_fusion_layer_1(post_fusion_dropped))
        post_fusion_y_2 = F.relu(self.post_fusion_layer_2(post_fusion_y_1))
        post_fusion_y_3 = torch.sigmoid(self.post_fusion_layer_3(post_fusion_y_2))
        return post_fusion_y_3 * self.output_range + self.output_shift


def _sentences(*lengths: int) -> Tensor:
    """Words up to the length of each sentence."""
    text = torch.randint(3, 99, (len(lengths), max(lengths)))
    return text.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], 0)


def _backbone() -> Tensor:
    """Atoms of residues in a chain, near each other."""
    return torch.randn(1, 24, 1, 3).cumsum(1) * 2 + torch.randn(1, 24, 4, 3)


NETS = [
    Entry(
        "own/hred",
        HRED,
        given(
            lambda: _sentences(9, 6, 7),
            whole(9, 6, 7),
            lambda: _sentences(5, 8, 8),
            whole(5, 8, 8),
            lambda: _sentences(7, 7, 4),
        ),
    ),
    Entry(
        "own/proteinmpnn",
        ProteinMPNN,
        given(
            _backbone,
            lambda: torch.randint(0, 20, (1, 24)),
            lambda: torch.ones(1, 24),
            lambda: torch.ones(1, 24),
            lambda: torch.arange(24)[None],
            lambda: torch.tensor([[1] * 14 + [2] * 10]),
        ),
    ),
    Entry("own/soundstream", SoundStream, given(numbers(1, 1, 1280))),
    Entry("own/rnnt", RNNT, given(numbers(32, 2, 40), whole(32, 26), lambda: torch.randint(0, 28, (2, 9)))),
    Entry(
        "own/glow_tts",
        GlowTTS,
        given(lambda: torch.randint(1, 60, (2, 12)), whole(12, 9), numbers(2, 20, 40), whole(40, 32)),
    ),
    Entry(
        "own/bilstm_crf",
        BiLSTMCRF,
        given(
            lambda: _sentences(8, 6),
            lambda: torch.randint(1, 50, (2, 8, 10)),
            lambda: torch.randint(0, 5, (2, 8)),
            whole(8, 6),
            lambda: torch.randint(0, 9, (2, 8)),
        ),
    ),
    Entry("own/tensor_fusion", TFN, given(numbers(4, 24), numbers(4, 20), numbers(4, 12, 48))),
]
