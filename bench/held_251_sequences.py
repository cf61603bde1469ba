"""Nets of paths, cells, springs, series, clicks and facts as repositories write them, of the sixth held list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has Tensor.split

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole


def make_mlp(dim_list: list[int], activation: str = "relu", batch_norm: bool = True, dropout: float = 0) -> nn.Module:
    """Layers, each with its norm and activation."""
    layers: list[nn.Module] = []
    for dim_in, dim_out in pairwise(dim_list):
        layers.append(nn.Linear(dim_in, dim_out))
        if batch_norm:
            layers.append(nn.BatchNorm1d(dim_out))
        if activation == "relu":
            layers.append(nn.ReLU())
        elif activation == "leakyrelu":
            layers.append(nn.LeakyReLU())
        if dropout > 0:
            layers.append(nn.Dropout(p=dropout))
    return nn.Sequential(*layers)


class TrajectoryEncoder(nn.Module):
    """The last state of a recurrent net that reads a path."""

    def __init__(self, embedding_dim: int, h_dim: int, mlp_dim: int = 32, num_layers: int = 1) -> None:
        super().__init__()
        self.h_dim, self.embedding_dim, self.num_layers = h_dim, embedding_dim, num_layers
        self.encoder = nn.LSTM(embedding_dim, h_dim, num_layers)
        self.spatial_embedding = nn.Linear(2, embedding_dim)

    def forward(self, obs_traj: Tensor) -> Tensor:
        """The state of each pedestrian."""
        batch = obs_traj.size(1)
        obs_traj_embedding = self.spatial_embedding(obs_traj.reshape(-1, 2)).view(-1, batch, self.embedding_dim)
        state_tuple = (torch.zeros(self.num_layers, batch, self.h_dim), torch.zeros(self.num_layers, batch, self.h_dim))
        _, state = self.encoder(obs_traj_embedding, state_tuple)
        return state[0]


class PoolHiddenNet(nn.Module):
    """States of the others in the scene, by where they are from each pedestrian, and the largest of them."""

    def __init__(self, embedding_dim: int, h_dim: int, bottleneck_dim: int) -> None:
        super().__init__()
        self.h_dim, self.spatial_embedding = h_dim, nn.Linear(2, embedding_dim)
        self.mlp_pre_pool = make_mlp([embedding_dim + h_dim, 64, bottleneck_dim])

    def forward(self, h_states: Tensor, seq_start_end: Tensor, end_pos: Tensor) -> Tensor:
        """A vector for each pedestrian."""
        pool_h = []
        for start, end in seq_start_end.tolist():
            num_ped = end - start
            curr_hidden, curr_end_pos = h_states.view(-1, self.h_dim)[start:end], end_pos[start:end]
            curr_hidden_1 = curr_hidden.repeat(num_ped, 1)
            curr_end_pos_1 = curr_end_pos.repeat(num_ped, 1)
            curr_end_pos_2 = curr_end_pos.unsqueeze(1).repeat(1, num_ped, 1).view(-1, 2)
            curr_rel_embedding = self.spatial_embedding(curr_end_pos_1 - curr_end_pos_2)
            curr_pool_h = self.mlp_pre_pool(torch.cat([curr_rel_embedding, curr_hidden_1], dim=1))
            pool_h.append(curr_pool_h.view(num_ped, num_ped, -1).max(1)[0])
        return torch.cat(pool_h, dim=0)


class TrajectoryDecoder(nn.Module):
    """Steps of each pedestrian, one after another, with a look at the others after each."""

    def __init__(self, seq_len: int, embedding_dim: int, h_dim: int, bottleneck_dim: int) -> None:
        super().__init__()
        self.seq_len, self.embedding_dim, self.h_dim = seq_len, embedding_dim, h_dim
        self.decoder, self.pool_net = nn.LSTM(embedding_dim, h_dim, 1), PoolHiddenNet(embedding_dim, h_dim, 16)
        self.mlp = make_mlp([h_dim + bottleneck_dim, 32, h_dim])
        self.spatial_embedding, self.hidden2pos = nn.Linear(2, embedding_dim), nn.Linear(h_dim, 2)

    def forward(
        self, last_pos: Tensor, last_pos_rel: Tensor, state: tuple[Tensor, Tensor], seq_start_end: Tensor
    ) -> Tensor:
        """The steps."""
        batch, pred_traj_fake_rel = last_pos.size(0), []
        decoder_input = self.spatial_embedding(last_pos_rel).view(1, batch, self.embedding_dim)
        for _ in range(self.seq_len):
            output, state = self.decoder(decoder_input, state)
            rel_pos = self.hidden2pos(output.view(-1, self.h_dim))
            curr_pos = rel_pos + last_pos
            pool_h = self.pool_net(state[0], seq_start_end, curr_pos)
            decoder_h = self.mlp(torch.cat([state[0].view(-1, self.h_dim), pool_h], dim=1))
            state = (torch.unsqueeze(decoder_h, 0), state[1])
            decoder_input = self.spatial_embedding(rel_pos).view(1, batch, self.embedding_dim)
            pred_traj_fake_rel.append(rel_pos.view(batch, -1))
            last_pos = curr_pos
        return torch.stack(pred_traj_fake_rel, dim=0)


class SocialGAN(nn.Module):
    """Paths of a crowd from their beginnings and noise, and whether they look real."""

    def __init__(self, pred_len: int = 3, emb: int = 16, enc_h: int = 24, dec_h: int = 32, noise: int = 8) -> None:
        super().__init__()
        self.noise_dim, self.dec_h = noise, dec_h
        self.encoder, self.pool_net = TrajectoryEncoder(emb, enc_h), PoolHiddenNet(emb, enc_h, 16)
        self.mlp_decoder_context = make_mlp([enc_h + 16, 32, dec_h - noise])
        self.decoder = TrajectoryDecoder(pred_len, emb, dec_h, 16)
        self.d_encoder, self.real_classifier = TrajectoryEncoder(emb, 32), make_mlp([32, 16, 1])

    def add_noise(self, _input: Tensor, seq_start_end: Tensor) -> Tensor:
        """The states, with the same noise for all of a scene."""
        z_decoder, _list = torch.randn(seq_start_end.size(0), self.noise_dim), []
        for idx, (start, end) in enumerate(seq_start_end.tolist()):
            _vec = z_decoder[idx].view(1, -1)
            _list.append(torch.cat([_input[start:end], _vec.repeat(end - start, 1)], dim=1))
        return torch.cat(_list, dim=0)

    def forward(self, obs_traj: Tensor, obs_traj_rel: Tensor, seq_start_end: Tensor) -> tuple[Tensor, Tensor]:
        """Steps to come, and scores of the paths."""
        final_encoder_h = self.encoder(obs_traj_rel)
        pool_h = self.pool_net(final_encoder_h, seq_start_end, obs_traj[-1, :, :])
        context = torch.cat([final_encoder_h.view(-1, self.encoder.h_dim), pool_h], dim=1)
        decoder_h = torch.unsqueeze(self.add_noise(self.mlp_decoder_context(context), seq_start_end), 0)
        state = (decoder_h, torch.zeros(1, obs_traj.size(1), self.dec_h))
        fake = self.decoder(obs_traj[-1], obs_traj_rel[-1], state, seq_start_end)
        traj_rel = torch.cat([obs_traj_rel, fake], dim=0)
        return fake, self.real_classifier(self.d_encoder(traj_rel).squeeze(0))


class SubGraphLayer(nn.Module):
    """A layer for each vector of a line, and the largest of the line beside it."""

    def __init__(self, in_channels: int, hidden: int = 32) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(in_channels, hidden), nn.LayerNorm(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden)
        )

    def forward(self, x: Tensor, cluster: Tensor, num: int) -> Tensor:
        """Twice as many features."""
        x = self.mlp(x)
        index = cluster.unsqueeze(-1).expand_as(x)
        largest = x.new_zeros(num, x.size(-1)).scatter_reduce(0, index, x, reduce="amax", include_self=False)
        return torch.cat([x, largest[cluster]], dim=-1)


class SubGraph(nn.Module):
    """A vector of length one for each line."""

    def __init__(self, in_channels: int, num_layers: int = 3, hidden: int = 32) -> None:
        super().__init__()
        self.layer_seq = nn.Sequential()
        for i in range(num_layers):
            self.layer_seq.add_module(f"glp_{i}", SubGraphLayer(in_channels if i == 0 else hidden * 2, hidden))
        self.linear = nn.Linear(hidden * 2, hidden)

    def forward(self, x: Tensor, cluster: Tensor, num: int) -> Tensor:
        """Features of the lines."""
        for _name, layer in self.layer_seq.named_modules():
            if isinstance(layer, SubGraphLayer):
                x = layer(x, cluster, num)
        x = self.linear(x)
        index = cluster.unsqueeze(-1).expand_as(x)
        pooled = x.new_zeros(num, x.size(-1)).scatter_reduce(0, index, x, reduce="amax", include_self=False)
        return F.normalize(pooled, p=2.0, dim=1)


class SelfAttentionFCLayer(nn.Module):
    """Attention of all lines to those that are there."""

    def __init__(self, in_channels: int, width: int) -> None:
        super().__init__()
        self.q_lin, self.k_lin, self.v_lin = (nn.Linear(in_channels, width) for _ in range(3))
        self.scale_factor_d = 1 + int(math.sqrt(in_channels))

    def masked_softmax(self, x: Tensor, valid_lens: Tensor) -> Tensor:
        """Attention weights, zero where there is no edge."""
        mask = torch.arange(x.size(-1))[None, :] < valid_lens[:, None]
        x = x.masked_fill(~mask[:, None, :], -1e6)
        return F.softmax(x, dim=-1)

    def forward(self, x: Tensor, valid_len: Tensor) -> Tensor:
        """Features of the lines."""
        query, key, value = self.q_lin(x), self.k_lin(x), self.v_lin(x)
        scores = torch.bmm(query, key.transpose(1, 2)) / self.scale_factor_d
        return torch.bmm(self.masked_softmax(scores, valid_len), value)


class VectorNet(nn.Module):
    """The way of a car from lines of the map and of others; and a line that is hidden, from the others."""

    def __init__(self, in_channels: int = 8, width: int = 32, horizon: int = 6) -> None:
        super().__init__()
        self.k, self.horizon, self.subgraph = 2, horizon, SubGraph(in_channels, 3, width)
        self.global_graph = nn.Sequential()
        for i in range(1):
            self.global_graph.add_module(f"glp_{i}", SelfAttentionFCLayer(width + self.k, width))
        self.traj_pred = nn.Sequential(
            nn.Linear(width, 64), nn.LayerNorm(64), nn.ReLU(inplace=True), nn.Linear(64, horizon * self.k)
        )
        self.aux_mlp = nn.Sequential(nn.Linear(width, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, width))

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        """Places to come, and features of the hidden lines."""
        x, cluster, identifier = data["x"], data["cluster"], data["identifier"]
        valid_lens, time_step_len = data["valid_len"], int(data["time_step_len"][0])
        batch = valid_lens.numel()
        sub_graph_out = self.subgraph(x, cluster, batch * time_step_len)
        mask_polyline_indices = torch.arange(batch) * time_step_len + 1
        aux_gt = sub_graph_out[mask_polyline_indices]
        hidden = torch.zeros(batch * time_step_len, 1)
        hidden[mask_polyline_indices] = 1.0
        sub_graph_out = sub_graph_out * (1 - hidden)
        x = torch.cat([sub_graph_out, identifier], dim=1).view(batch, -1, sub_graph_out.size(1) + self.k)
        for layer in self.global_graph:
            x = layer(x, valid_lens)
        pred = self.traj_pred(x[:, [0]].squeeze(1)).view(batch, self.horizon, self.k).cumsum(dim=1)
        aux_in = x.reshape(-1, x.size(-1))[mask_polyline_indices]
        return {"pred": pred, "aux_out": self.aux_mlp(aux_in), "aux_gt": aux_gt}


def _scene() -> dict[str, Tensor]:
    return {
        **{"x": torch.randn(24, 8), "cluster": torch.arange(24) // 3, "identifier": torch.randn(8, 2)},
        **{"valid_len": torch.tensor([4, 3]), "time_step_len": torch.tensor([4, 4])},
    }


class EnergyMLP(nn.Module):
    """Two layers and an output, with a nonlinearity by name."""

    def __init__(self, input_dim: int, hidden_dim: int, output_dim: int, nonlinearity: str = "tanh") -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(input_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)
        self.linear3 = nn.Linear(hidden_dim, output_dim, bias=False)
        for layer in [self.linear1, self.linear2, self.linear3]:
            nn.init.orthogonal_(layer.weight)
        self.nonlinearity = {"tanh": torch.tanh, "relu": torch.relu, "softplus": F.softplus}[nonlinearity]

    def forward(self, x: Tensor) -> Tensor:
        """Numbers of each state."""
        h = self.nonlinearity(self.linear1(x))
        h = self.nonlinearity(self.linear2(h))
        return self.linear3(h)


class PixelHNN(nn.Module):
    """A pendulum in two frames, coded into a place and a momentum, and its motion by a learned energy."""

    M: Tensor

    def __init__(self, side: int = 16, latent: int = 2, hidden: int = 48, field_type: str = "solenoidal") -> None:
        super().__init__()
        self.field_type, self.latent = field_type, latent
        self.encoder = nn.ModuleList([nn.Linear(n, hidden) for n in (2 * side * side, hidden, hidden)])
        self.to_code = nn.Linear(hidden, latent)
        self.decoder = nn.ModuleList([nn.Linear(n, hidden) for n in (latent, hidden, hidden)])
        self.to_image = nn.Linear(hidden, 2 * side * side)
        self.differentiable_model = EnergyMLP(latent, hidden, 2)
        self.register_buffer("M", self.permutation_tensor(latent))

    def permutation_tensor(self, n: int, assume_canonical_coords: bool = True) -> Tensor:
        """The matrix that swaps places and momenta, one of them with its sign changed."""
        m = torch.eye(n)
        if assume_canonical_coords:
            return torch.cat([m[n // 2 :], -m[: n // 2]])
        m = torch.ones(n, n) * (1 - m)
        return m - m.tril() * 2

    def encode(self, x: Tensor) -> Tensor:
        """A place and a momentum."""
        h = F.relu(self.encoder[0](x))
        for layer in list(self.encoder)[1:]:
            h = h + F.relu(layer(h))
        return self.to_code(h)

    def decode(self, z: Tensor) -> Tensor:
        """Two frames."""
        h = F.relu(self.decoder[0](z))
        for layer in list(self.decoder)[1:]:
            h = h + F.relu(layer(h))
        return self.to_image(h)

    def time_derivative(self, x: Tensor) -> Tensor:
        """The change of a state."""
        with torch.enable_grad():
            x = x if x.requires_grad else x.detach().requires_grad_()
            f1, f2 = self.differentiable_model(x).split(1, 1)
            conservative_field, solenoidal_field = torch.zeros_like(x), torch.zeros_like(x)
            if self.field_type != "solenoidal":
                conservative_field = torch.autograd.grad(f1.sum(), x, create_graph=True)[0]
            if self.field_type != "conservative":
                df2 = torch.autograd.grad(f2.sum(), x, create_graph=True)[0]
                solenoidal_field = df2 @ self.M.t()
        return conservative_field + solenoidal_field

    def forward(self, x: Tensor, x_next: Tensor, dt: float = 0.05) -> dict[str, Tensor]:
        """The frames again, those to come, and the losses."""
        z, z_next = self.encode(x), self.encode(x_next)
        x_hat = self.decode(z)
        z_hat_next = z + dt * self.time_derivative(z)
        ae_loss = ((x - x_hat) ** 2).mean(1)
        hnn_loss = ((z_next - z_hat_next) ** 2).mean(1)
        w, dw = z.split(1, 1)
        cc_loss = ((dw - (z_next.split(1, 1)[0] - w)) ** 2).mean(1)
        loss = ae_loss.mean() + cc_loss.mean() + 1e-1 * hnn_loss.mean()
        return {"x_hat": x_hat, "x_hat_next": self.decode(z_hat_next), "loss": loss}


def one_hot(index: Tensor, n_cat: int) -> Tensor:
    """Ones at indices."""
    onehot = torch.zeros(index.size(0), n_cat)
    onehot.scatter_(1, index.type(torch.long), 1)
    return onehot.type(torch.float32)


class FCLayers(nn.Module):
    """Layers, each of which sees again which batch a cell is of."""

    def __init__(self, n_in: int, n_out: int, n_cat_list: list[int], n_layers: int, n_hidden: int) -> None:
        super().__init__()
        self.n_cat_list = [n if n > 1 else 0 for n in n_cat_list]
        sizes = [n_in, *[n_hidden] * (n_layers - 1), n_out]
        self.fc_layers = nn.ModuleDict({
            f"Layer {i}": nn.Sequential(
                nn.Linear(a + sum(self.n_cat_list), b), nn.BatchNorm1d(b, momentum=0.01, eps=0.001), nn.ReLU(),
                nn.Dropout(p=0.1),
            )
            for i, (a, b) in enumerate(pairwise(sizes))
        })  # fmt: skip

    def forward(self, x: Tensor, *cat_list: Tensor) -> Tensor:
        """Features of cells."""
        one_hot_cat_list = []
        for n_cat, cat in zip(self.n_cat_list, cat_list, strict=True):
            if n_cat > 1:
                one_hot_cat_list += [one_hot(cat, n_cat) if cat.size(1) != n_cat else cat]
        for layers in self.fc_layers.values():
            for layer in layers:  # type: ignore[attr-defined]
                if isinstance(layer, nn.Linear):
                    x = torch.cat((x, *one_hot_cat_list), dim=-1)
                x = layer(x)
        return x


class GeneEncoder(nn.Module):
    """A normal distribution of a code."""

    def __init__(self, n_input: int, n_output: int, n_cat_list: list[int], n_layers: int, n_hidden: int) -> None:
        super().__init__()
        self.encoder = FCLayers(n_input, n_hidden, n_cat_list, n_layers, n_hidden)
        self.mean_encoder, self.var_encoder = nn.Linear(n_hidden, n_output), nn.Linear(n_hidden, n_output)

    def forward(self, x: Tensor, *cat_list: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Its mean, its variance and a sample."""
        q = self.encoder(x, *cat_list)
        q_m, q_v = self.mean_encoder(q), torch.exp(self.var_encoder(q)) + 1e-4
        return q_m, q_v, q_m + q_v.sqrt() * torch.randn_like(q_m)


def log_zinb_positive(x: Tensor, mu: Tensor, theta: Tensor, pi: Tensor, eps: float = 1e-8) -> Tensor:
    """Logarithms of the probabilities of counts that may be lost."""
    softplus_pi, log_theta_eps = F.softplus(-pi), torch.log(theta + eps)
    log_theta_mu_eps = torch.log(theta + mu + eps)
    pi_theta_log = -pi + theta * (log_theta_eps - log_theta_mu_eps)
    case_zero = F.softplus(pi_theta_log) - softplus_pi
    case_non_zero = -softplus_pi + pi_theta_log + x * (torch.log(mu + eps) - log_theta_mu_eps)
    case_non_zero = case_non_zero + torch.lgamma(x + theta) - torch.lgamma(theta) - torch.lgamma(x + 1)
    return (x < eps).float() * case_zero + (x > eps).float() * case_non_zero


class SCVI(nn.Module):
    """Counts of genes in cells of several batches, coded and decoded as a distribution that may lose some."""

    def __init__(
        self, n_input: int = 60, n_batch: int = 3, n_hidden: int = 32, n_latent: int = 8, n_layers: int = 2,
        dispersion: str = "gene", log_variational: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.log_variational, self.dispersion, self.n_batch = log_variational, dispersion, n_batch
        rows = (n_input,) if dispersion == "gene" else (n_input, n_batch)
        self.px_r = nn.Parameter(torch.randn(*rows))
        self.z_encoder = GeneEncoder(n_input, n_latent, [n_batch], n_layers, n_hidden)
        self.l_encoder = GeneEncoder(n_input, 1, [n_batch], 1, n_hidden)
        self.px_decoder = FCLayers(n_latent, n_hidden, [n_batch], n_layers, n_hidden)
        self.px_scale_decoder = nn.Sequential(nn.Linear(n_hidden, n_input), nn.Softmax(dim=-1))
        self.px_dropout_decoder = nn.Linear(n_hidden, n_input)

    def forward(self, x: Tensor, batch_index: Tensor) -> dict[str, Any]:
        """The reconstruction, its loss and the code."""
        x_ = torch.log(1 + x) if self.log_variational else x
        qz_m, qz_v, z = self.z_encoder(x_, batch_index)
        ql_m, ql_v, library = self.l_encoder(x_, batch_index)
        px = self.px_decoder(z, batch_index)
        px_scale, px_dropout = self.px_scale_decoder(px), self.px_dropout_decoder(px)
        px_rate = torch.exp(torch.clamp(library, max=12)) * px_scale
        px_r: Tensor = self.px_r
        if self.dispersion == "gene-batch":
            px_r = F.linear(one_hot(batch_index, self.n_batch), px_r)
        reconst_loss = -log_zinb_positive(x, px_rate, torch.exp(px_r), px_dropout).sum(dim=-1)
        kl_z = 0.5 * (qz_v + qz_m**2 - 1 - torch.log(qz_v)).sum(dim=1)
        kl_l = 0.5 * (ql_v + (ql_m - math.log(200)) ** 2 - 1 - torch.log(ql_v)).sum(dim=1)
        return {"px": {"rate": px_rate, "dropout": px_dropout}, "z": z, "loss": torch.mean(reconst_loss + kl_z + kl_l)}


class TriangularCausalMask:
    """A mask of what comes later."""

    def __init__(self, b: int, length: int) -> None:
        with torch.no_grad():
            self._mask = torch.triu(torch.ones([b, 1, length, length], dtype=torch.bool), diagonal=1)

    @property
    def mask(self) -> Tensor:
        """The mask, true where attention must not look."""
        return self._mask


class AnomalyAttention(nn.Module):
    """Attention, and beside it a bell of a learned width around each moment."""

    distances: Tensor

    def __init__(self, win_size: int, mask_flag: bool = True, attention_dropout: float = 0.0) -> None:
        super().__init__()
        self.mask_flag, self.dropout = mask_flag, nn.Dropout(attention_dropout)
        places = torch.arange(win_size)
        self.register_buffer("distances", (places[:, None] - places[None]).abs().float())

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, sigma: Tensor, attn_mask: TriangularCausalMask | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The result, the weights, the bells and their widths."""
        b, length, _, e = queries.shape
        scale = 1.0 / math.sqrt(e)
        scores = torch.einsum("blhe,bshe->bhls", queries, keys)
        if self.mask_flag:
            if attn_mask is None:
                attn_mask = TriangularCausalMask(b, length)
            scores.masked_fill_(attn_mask.mask, -torch.inf)
        attn = scale * scores
        sigma = sigma.transpose(1, 2)
        sigma = torch.sigmoid(sigma * 5) + 1e-5
        sigma = torch.pow(3, sigma) - 1
        sigma = sigma.unsqueeze(-1).repeat(1, 1, 1, length)
        prior = self.distances.unsqueeze(0).unsqueeze(0).repeat(sigma.shape[0], sigma.shape[1], 1, 1)
        prior = 1.0 / (math.sqrt(2 * math.pi) * sigma) * torch.exp(-(prior**2) / 2 / (sigma**2))
        series = self.dropout(torch.softmax(attn, dim=-1))
        out = torch.einsum("bhls,bshd->blhd", series, values)
        return out.contiguous(), series, prior, sigma


class AnomalyLayer(nn.Module):
    """An attention between projections, then convolutions over single moments."""

    def __init__(self, win_size: int, d_model: int, n_heads: int, d_ff: int, activation: str) -> None:
        super().__init__()
        self.n_heads, self.inner_attention = n_heads, AnomalyAttention(win_size, mask_flag=False)
        self.query_projection, self.key_projection = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.value_projection, self.out_projection = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.sigma_projection = nn.Linear(d_model, n_heads)
        self.conv1, self.conv2 = nn.Conv1d(d_model, d_ff, kernel_size=1), nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.Dropout(0.1)
        self.activation = F.relu if activation == "relu" else F.gelu

    def forward(self, x: Tensor, attn_mask: TriangularCausalMask | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Features, weights and bells."""
        b, length, _ = x.shape
        q, k, v = (
            proj(x).view(b, length, self.n_heads, -1)
            for proj in (self.query_projection, self.key_projection, self.value_projection)
        )
        sigma = self.sigma_projection(x).view(b, length, self.n_heads)
        out, series, prior, _ = self.inner_attention(q, k, v, sigma, attn_mask)
        x = x + self.dropout(self.out_projection(out.view(b, length, -1)))
        y = x = self.norm1(x)
        y = self.dropout(self.activation(self.conv1(y.transpose(-1, 1))))
        y = self.dropout(self.conv2(y).transpose(-1, 1))
        return self.norm2(x + y), series, prior


def my_kl_loss(p: Tensor, q: Tensor) -> Tensor:
    """The divergence of two distributions, for each moment."""
    res = p * (torch.log(p + 0.0001) - torch.log(q + 0.0001))
    return torch.mean(torch.sum(res, dim=-1), dim=1)


class AnomalyTransformer(nn.Module):
    """A series again, and how odd each of its moments is."""

    pe: Tensor

    def __init__(self, win_size: int = 20, enc_in: int = 7, d_model: int = 32, e_layers: int = 3) -> None:
        super().__init__()
        self.token_conv = nn.Conv1d(enc_in, d_model, kernel_size=3, padding=1, padding_mode="circular", bias=False)
        pe, position = torch.zeros(win_size, d_model), torch.arange(0, win_size).float().unsqueeze(1)
        div_term = (torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model)).exp()
        pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.attn_layers = nn.ModuleList([AnomalyLayer(win_size, d_model, 4, 64, "gelu") for _ in range(e_layers)])
        self.norm, self.projection = nn.LayerNorm(d_model), nn.Linear(d_model, enc_in, bias=True)

    def forward(self, x: Tensor, temperature: float = 50) -> tuple[Tensor, Tensor]:
        """The series, and a score of each moment."""
        enc_out = self.token_conv(x.permute(0, 2, 1)).transpose(1, 2) + self.pe[:, : x.size(1)]
        series_list, prior_list = [], []
        for attn_layer in self.attn_layers:
            enc_out, series, prior = attn_layer(enc_out)
            series_list.append(series)
            prior_list.append(prior)
        out = self.projection(self.norm(enc_out))
        series_loss, prior_loss = torch.zeros(()), torch.zeros(())
        for series, prior in zip(series_list, prior_list, strict=True):
            prior = prior / torch.unsqueeze(torch.sum(prior, dim=-1), dim=-1)
            series_loss = series_loss + my_kl_loss(series, prior) * temperature
            prior_loss = prior_loss + my_kl_loss(prior, series) * temperature
        metric = torch.softmax((-series_loss - prior_loss), dim=-1)
        return out, metric * torch.mean((x - out) ** 2, dim=-1)


class PointWiseFeedForward(nn.Module):
    """Two convolutions over single clicks, with a skip."""

    def __init__(self, hidden_units: int, dropout_rate: float) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(hidden_units, hidden_units, 1), nn.Conv1d(hidden_units, hidden_units, 1)
        self.dropout1, self.dropout2 = nn.Dropout(p=dropout_rate), nn.Dropout(p=dropout_rate)
        self.relu = nn.ReLU()

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the same shape."""
        outputs = self.dropout2(self.conv2(self.relu(self.dropout1(self.conv1(inputs.transpose(-1, -2))))))
        outputs = outputs.transpose(-1, -2)
        outputs += inputs
        return outputs


@dataclass
class Args:
    """Settings that a command line would give."""

    hidden_units: int = 32
    maxlen: int = 10
    num_blocks: int = 2
    num_heads: int = 1
    dropout_rate: float = 0.2
    norm_first: bool = False


class SASRec(nn.Module):
    """Clicks to come, by attention to those before."""

    def __init__(self, item_num: int, args: Args) -> None:
        super().__init__()
        d, self.norm_first = args.hidden_units, args.norm_first
        self.item_emb = nn.Embedding(item_num + 1, d, padding_idx=0)
        self.pos_emb = nn.Embedding(args.maxlen + 1, d, padding_idx=0)
        self.emb_dropout = nn.Dropout(p=args.dropout_rate)
        self.attention_layernorms, self.attention_layers = nn.ModuleList(), nn.ModuleList()
        self.forward_layernorms, self.forward_layers = nn.ModuleList(), nn.ModuleList()
        self.last_layernorm = nn.LayerNorm(d, eps=1e-8)
        for _ in range(args.num_blocks):
            self.attention_layernorms.append(nn.LayerNorm(d, eps=1e-8))
            self.attention_layers.append(nn.MultiheadAttention(d, args.num_heads, args.dropout_rate))
            self.forward_layernorms.append(nn.LayerNorm(d, eps=1e-8))
            self.forward_layers.append(PointWiseFeedForward(d, args.dropout_rate))

    def log2feats(self, log_seqs: Tensor) -> Tensor:
        """Features of each click, from those before it."""
        seqs = self.item_emb(log_seqs)
        seqs *= self.item_emb.embedding_dim**0.5
        poss = torch.arange(1, log_seqs.size(1) + 1).repeat(log_seqs.size(0), 1)
        poss = poss * (log_seqs != 0)
        seqs = self.emb_dropout(seqs + self.pos_emb(poss))
        tl = seqs.shape[1]
        attention_mask = ~torch.tril(torch.ones((tl, tl), dtype=torch.bool))
        for i in range(len(self.attention_layers)):
            seqs = torch.transpose(seqs, 0, 1)
            if self.norm_first:
                x = self.attention_layernorms[i](seqs)
                seqs = seqs + self.attention_layers[i](x, x, x, attn_mask=attention_mask)[0]
                seqs = torch.transpose(seqs, 0, 1)
                seqs = seqs + self.forward_layers[i](self.forward_layernorms[i](seqs))
            else:
                q = self.attention_layernorms[i](seqs)
                mha_outputs, _ = self.attention_layers[i](q, seqs, seqs, attn_mask=attention_mask)
                seqs = torch.transpose(q + mha_outputs, 0, 1)
                seqs = self.forward_layers[i](self.forward_layernorms[i](seqs))
        return self.last_layernorm(seqs)

    def forward(self, log_seqs: Tensor, pos_seqs: Tensor, neg_seqs: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the clicks that came, and of others."""
        log_feats = self.log2feats(log_seqs)
        pos_embs, neg_embs = self.item_emb(pos_seqs), self.item_emb(neg_seqs)
        pos_logits = (log_feats * pos_embs).sum(dim=-1)
        neg_logits = (log_feats * neg_embs).sum(dim=-1)
        return pos_logits, neg_logits


def _clicks() -> Tensor:
    return torch.randint(1, 50, (2, 10)) * (torch.arange(10) >= torch.tensor([[0], [3]]))


def ccorr(a: Tensor, b: Tensor) -> Tensor:
    """The circular correlation of vectors."""
    return torch.fft.irfft(torch.conj(torch.fft.rfft(a)) * torch.fft.rfft(b), n=a.size(-1))


class CompGCNConv(nn.Module):
    """Neighbours of things, each composed with how they are related, along edges, against them, and to themselves."""

    def __init__(self, in_channels: int, out_channels: int, num_rels: int, opn: str = "corr") -> None:
        super().__init__()
        self.num_rels, self.opn = num_rels, opn
        for name in ("w_loop", "w_in", "w_out", "w_rel"):
            self.register_parameter(name, nn.Parameter(nn.init.xavier_normal_(torch.empty(in_channels, out_channels))))
        self.loop_rel = nn.Parameter(nn.init.xavier_normal_(torch.empty(1, in_channels)))
        self.drop, self.bn, self.act = nn.Dropout(0.1), nn.BatchNorm1d(out_channels), torch.tanh

    def rel_transform(self, ent_embed: Tensor, rel_embed: Tensor) -> Tensor:
        """A composition of both."""
        if self.opn == "corr":
            return ccorr(ent_embed, rel_embed)
        return ent_embed - rel_embed if self.opn == "sub" else ent_embed * rel_embed

    def compute_norm(self, edge_index: Tensor, num_ent: int) -> Tensor:
        """A weight of each edge by the degrees of its ends."""
        row, col = edge_index
        deg = torch.zeros(num_ent).index_add(0, row, torch.ones(row.numel()))
        deg_inv = deg.pow(-0.5)
        deg_inv[deg_inv == float("inf")] = 0
        return deg_inv[row] * deg_inv[col]

    def propagate(self, edges: Tensor, x: Tensor, edge_type: Tensor, rel: Tensor, norm: bool, mode: str) -> Tensor:
        """Sums of messages."""
        weight = getattr(self, f"w_{mode}")
        out = torch.mm(self.rel_transform(x[edges[1]], rel[edge_type]), weight)
        if norm:
            out = out * self.compute_norm(edges, x.size(0)).view(-1, 1)
        return torch.zeros(x.size(0), out.size(1)).index_add(0, edges[0], out)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor, rel: Tensor) -> tuple[Tensor, Tensor]:
        """Things and relations."""
        rel = torch.cat([rel, self.loop_rel], dim=0)
        num_edges, num_ent = edge_index.size(1) // 2, x.size(0)
        loop_index = torch.stack([torch.arange(num_ent), torch.arange(num_ent)])
        loop_type = torch.full((num_ent,), rel.size(0) - 1, dtype=torch.long)
        in_res = self.propagate(edge_index[:, :num_edges], x, edge_type[:num_edges], rel, True, "in")
        out_res = self.propagate(edge_index[:, num_edges:], x, edge_type[num_edges:], rel, True, "out")
        loop_res = self.propagate(loop_index, x, loop_type, rel, False, "loop")
        out = self.drop(in_res) / 3 + self.drop(out_res) / 3 + loop_res / 3
        return self.act(self.bn(out)), torch.matmul(rel, self.get_parameter("w_rel"))[:-1]


class CompGCNConvE(nn.Module):
    """The missing end of a fact, by a graph of facts and a convolution over its other end and its relation."""

    edge_index: Tensor
    edge_type: Tensor

    def __init__(self, num_ent: int, num_rel: int, edge_index: Tensor, edge_type: Tensor, k_w: int = 4) -> None:
        super().__init__()
        dim, self.k_w, self.k_h = 32, k_w, 8
        self.register_buffer("edge_index", torch.cat([edge_index, edge_index.flip(0)], 1))
        self.register_buffer("edge_type", torch.cat([edge_type, edge_type + num_rel]))
        self.init_embed = nn.Parameter(nn.init.xavier_normal_(torch.empty(num_ent, 24)))
        self.init_rel = nn.Parameter(nn.init.xavier_normal_(torch.empty(num_rel * 2, 24)))
        self.conv1, self.conv2 = CompGCNConv(24, dim, num_rel), CompGCNConv(dim, dim, num_rel)
        self.drop, self.bias = nn.Dropout(0.3), nn.Parameter(torch.zeros(num_ent))
        self.bn0, self.bn1, self.bn2 = nn.BatchNorm2d(1), nn.BatchNorm2d(16), nn.BatchNorm1d(dim)
        self.m_conv1 = nn.Conv2d(1, 16, kernel_size=(3, 3), stride=1, padding=0, bias=False)
        self.flat_sz = (2 * self.k_w - 2) * (self.k_h - 2) * 16
        self.fc = nn.Linear(self.flat_sz, dim)

    def concat(self, e1_embed: Tensor, rel_embed: Tensor) -> Tensor:
        """An image whose pixels are of both in turn."""
        dim = e1_embed.size(-1)
        stack_inp = torch.cat([e1_embed.view(-1, 1, dim), rel_embed.view(-1, 1, dim)], 1)
        return torch.transpose(stack_inp, 2, 1).reshape((-1, 1, 2 * self.k_w, self.k_h))

    def forward(self, sub: Tensor, rel: Tensor) -> Tensor:
        """The probability of each thing."""
        x, r = self.conv1(self.init_embed, self.edge_index, self.edge_type, self.init_rel)
        x, r = self.conv2(self.drop(x), self.edge_index, self.edge_type, r)
        all_ent = self.drop(x)
        sub_emb, rel_emb = torch.index_select(all_ent, 0, sub), torch.index_select(r, 0, rel)
        stk_inp = self.bn0(self.concat(sub_emb, rel_emb))
        h = F.relu(self.bn1(self.m_conv1(stk_inp)))
        h = self.fc(self.drop(h).view(-1, self.flat_sz))
        h = F.relu(self.bn2(self.drop(h)))
        h = torch.mm(h, all_ent.transpose(1, 0))
        h += self.bias.expand_as(h)
        return torch.sigmoid(h)


def _facts() -> nn.Module:
    return CompGCNConvE(12, 3, torch.randint(0, 12, (2, 30)), torch.randint(0, 3, (30,)))


NETS = [
    Entry("own/social_gan", SocialGAN, given(numbers(8, 5, 2), numbers(8, 5, 2), whole([0, 3], [3, 5]))),
    Entry("own/vectornet", VectorNet, given(_scene)),
    Entry("own/hamiltonian_nn", PixelHNN, given(numbers(4, 512), numbers(4, 512))),
    Entry("own/scvi", SCVI, given(lambda: torch.poisson(torch.rand(4, 60) * 3), whole([0], [1], [2], [1]))),
    Entry("own/anomaly_transformer", AnomalyTransformer, given(numbers(2, 20, 7))),
    Entry("own/sasrec", lambda: SASRec(50, Args()), given(_clicks, _clicks, _clicks)),
    Entry("own/compgcn", _facts, given(whole(3, 7), whole(1, 4))),
]
