"""Nets of speech, robots, texts, weather, clicks, roads and games as repositories write them, of the eighth held list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, has-type"
# a call of a module has no type, nor has a module of a list of lists

from __future__ import annotations

import itertools
import math
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tests.corpus.entry import Entry, given, numbers, whole, words


class Hyperparams:
    """Sizes of the speaker."""

    E = 32
    K = 4
    n_mels = 20
    n_fft = 128
    r = 3
    token_num = 6
    num_heads = 4
    ref_enc_filters = (8, 8, 16, 16)


hp = Hyperparams


class PreNet(nn.Module):
    """Two layers with dropout."""

    def __init__(self, in_features: int, hidden_size: int = 32, out_features: int = 16) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(in_features, hidden_size), nn.Linear(hidden_size, out_features)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the same length."""
        y = self.dropout(self.relu(self.linear1(inputs)))
        return self.dropout(self.relu(self.linear2(y)))


class Conv1d(nn.Conv1d):
    """A convolution that pads to the same length, with time before channels on both sides if asked."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, padding: str = "same", causal: bool = False
    ) -> None:
        left = kernel_size - 1 if causal else (kernel_size - 1) // 2
        super().__init__(in_channels, out_channels, kernel_size)
        self.pads = (left, kernel_size - 1 - left) if padding.lower() == "same" else (0, 0)

    def forward(self, inputs: Tensor) -> Tensor:
        """The features."""
        inputs = torch.transpose(inputs, 1, 2)
        inputs = F.pad(inputs, self.pads)
        outputs = super().forward(inputs)
        return torch.transpose(outputs, 1, 2)


class BatchNorm1d(nn.Module):
    """A norm of features whose channels are last."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(num_features)

    def forward(self, inputs: Tensor) -> Tensor:
        """The normed features."""
        return self.bn(inputs.transpose(1, 2).contiguous()).transpose(1, 2)


class Conv1dBank(nn.Module):
    """Convolutions of widths one to K, side by side."""

    def __init__(self, K: int, in_channels: int, out_channels: int) -> None:  # noqa: N803
        super().__init__()
        self.bank = nn.ModuleList([Conv1d(in_channels, out_channels, kernel_size=k) for k in range(1, K + 1)])
        self.bn = BatchNorm1d(out_channels * K)

    def forward(self, inputs: Tensor) -> Tensor:
        """All of them, joined."""
        outputs = self.bank[0](inputs)
        for k in range(1, len(self.bank)):
            output = self.bank[k](inputs)
            outputs = torch.cat([outputs, output], dim=2)
        return F.relu(self.bn(outputs))


class SpeechHighway(nn.Module):
    """Features, or a layer of them, by a gate."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(in_features, out_features), nn.Linear(in_features, out_features)

    def forward(self, inputs: Tensor) -> Tensor:
        """The features."""
        h = F.relu(self.linear1(inputs))
        t = torch.sigmoid(self.linear2(inputs))
        c = 1.0 - t
        return h * t + inputs * c


class CBHG(nn.Module):
    """A bank of convolutions, a pool over two steps, two more, highways and a GRU of both ways."""

    def __init__(self, K: int, in_size: int, hidden_size: int, projections: Sequence[int]) -> None:  # noqa: N803
        super().__init__()
        self.conv1dbank = Conv1dBank(K, in_size, hidden_size)
        self.max_pool = nn.MaxPool1d(kernel_size=2, stride=1, padding=1)
        self.projections, self.norms = nn.ModuleList(), nn.ModuleList()
        channels = hidden_size * K
        for projection in projections:
            self.projections.append(Conv1d(channels, projection, kernel_size=3))
            self.norms.append(BatchNorm1d(projection))
            channels = projection
        self.pre_highway = nn.Linear(channels, hidden_size) if channels != hidden_size else None
        self.highways = nn.ModuleList([SpeechHighway(hidden_size, hidden_size) for _ in range(4)])
        self.gru = nn.GRU(hidden_size, hidden_size, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, inputs: Tensor, prev_hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """States of both ways, and the last."""
        y = self.conv1dbank(inputs)
        y = self.max_pool(y.transpose(1, 2))[:, :, : inputs.size(1)].transpose(1, 2)
        last = len(self.projections) - 1
        for i, (conv, norm) in enumerate(zip(self.projections, self.norms, strict=True)):
            y = norm(conv(y))
            if i < last:
                y = F.relu(y)
        if y.size(-1) == inputs.size(-1):
            y = y + inputs
        if self.pre_highway is not None:
            y = self.pre_highway(y)
        for highway in self.highways:
            y = highway(y)
        return self.gru(y, prev_hidden)


class TacotronEncoder(nn.Module):
    """States of letters."""

    def __init__(self, vocab: int = 40) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, hp.E, padding_idx=0)
        self.prenet = PreNet(in_features=hp.E, hidden_size=hp.E, out_features=hp.E // 2)
        self.cbhg = CBHG(hp.K, hp.E // 2, hp.E // 2, projections=(hp.E // 2, hp.E // 2))

    def forward(self, inputs: Tensor, prev_hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states, and the last of them."""
        inputs = self.embedding(inputs)
        inputs = self.prenet(inputs)
        return self.cbhg(inputs, prev_hidden)


class ReferenceEncoder(nn.Module):
    """The style of a recording: six halvings of its spectrum, and the last state of a GRU."""

    def __init__(self) -> None:
        super().__init__()
        k = len(hp.ref_enc_filters)
        filters = [1, *hp.ref_enc_filters]
        convs = [nn.Conv2d(filters[i], filters[i + 1], (3, 3), stride=(2, 2), padding=(1, 1)) for i in range(k)]
        self.convs = nn.ModuleList(convs)
        self.bns = nn.ModuleList([nn.BatchNorm2d(num_features=hp.ref_enc_filters[i]) for i in range(k)])
        out_channels = self.calculate_channels(hp.n_mels, 3, 2, 1, k)
        self.gru = nn.GRU(input_size=hp.ref_enc_filters[-1] * out_channels, hidden_size=hp.E // 2, batch_first=True)

    def forward(self, inputs: Tensor) -> Tensor:
        """The style."""
        n = inputs.size(0)
        out = inputs.view(n, 1, -1, hp.n_mels)
        for conv, bn in zip(self.convs, self.bns, strict=True):
            out = conv(out)
            out = bn(out)
            out = F.relu(out)
        out = out.transpose(1, 2)
        t = out.size(1)
        out = out.contiguous().view(n, t, -1)
        _, out = self.gru(out)
        return out.squeeze(0)

    def calculate_channels(self, size: int, kernel_size: int, stride: int, pad: int, n_convs: int) -> int:
        """The width that is left of the bands."""
        for _ in range(n_convs):
            size = (size - kernel_size + 2 * pad) // stride + 1
        return size


class StyleAttention(nn.Module):
    """Attention of heads that are split by chunks and stacked."""

    def __init__(self, query_dim: int, key_dim: int, num_units: int, num_heads: int) -> None:
        super().__init__()
        self.num_units, self.num_heads, self.key_dim = num_units, num_heads, key_dim
        self.W_query = nn.Linear(query_dim, num_units, bias=False)
        self.W_key = nn.Linear(key_dim, num_units, bias=False)
        self.W_value = nn.Linear(key_dim, num_units, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """The values by the weights of their keys."""
        querys, keys, values = self.W_query(query), self.W_key(key), self.W_value(key)
        split_size = self.num_units // self.num_heads
        querys = torch.stack(torch.split(querys, split_size, dim=2), dim=0)
        keys = torch.stack(torch.split(keys, split_size, dim=2), dim=0)
        values = torch.stack(torch.split(values, split_size, dim=2), dim=0)
        scores = torch.matmul(querys, keys.transpose(2, 3))
        scores = scores / (self.key_dim**0.5)
        scores = F.softmax(scores, dim=3)
        out = torch.matmul(scores, values)
        return torch.cat(torch.split(out, 1, dim=0), dim=3).squeeze(0)


class STL(nn.Module):
    """A mixture of style tokens, by attention of the style to them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Parameter(torch.empty(hp.token_num, hp.E // hp.num_heads))
        self.attention = StyleAttention(hp.E // 2, hp.E // hp.num_heads, hp.E, hp.num_heads)
        nn.init.normal_(self.embed, mean=0, std=0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        """The mixture."""
        n = inputs.size(0)
        query = inputs.unsqueeze(1)
        keys = torch.tanh(self.embed).unsqueeze(0).expand(n, -1, -1)
        return self.attention(query, keys)


class GST(nn.Module):
    """Global style tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.stl = ReferenceEncoder(), STL()

    def forward(self, inputs: Tensor) -> Tensor:
        """A style of each recording."""
        enc_out = self.encoder(inputs)
        return self.stl(enc_out)


class AttentionRNN(nn.Module):
    """A cell, and what of the text its state looks at, by an additive score."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRUCell(hp.E // 2 + hp.E, hp.E)
        self.W, self.U, self.V = nn.Linear(hp.E, hp.E), nn.Linear(hp.E, hp.E), nn.Linear(hp.E, 1)

    def forward(self, inputs: Tensor, memory: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """The state, what it looks at, and the weights."""
        hidden, context = state
        hidden = self.gru(torch.cat([inputs, context], dim=-1), hidden)
        energy = self.V(torch.tanh(self.W(hidden).unsqueeze(1) + self.U(memory))).squeeze(-1)
        alpha = F.softmax(energy, dim=-1)
        context = torch.bmm(alpha.unsqueeze(1), memory).squeeze(1)
        return hidden, context, alpha


class TacotronDecoder(nn.Module):
    """Frames of a spectrum, some at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.prenet = PreNet(hp.n_mels)
        self.attention_rnn = AttentionRNN()
        self.proj_to_decoder = nn.Linear(hp.E * 2, hp.E)
        self.decoder_rnns = nn.ModuleList([nn.GRUCell(hp.E, hp.E) for _ in range(2)])
        self.final_projection = nn.Linear(hp.E, hp.n_mels * hp.r)
        self.cbhg = CBHG(hp.K, hp.n_mels, hp.E // 2, projections=(hp.E, hp.n_mels))
        self.last_projection = nn.Linear(hp.E, hp.n_fft // 2 + 1)

    def forward(self, inputs: Tensor | None, memory: Tensor, max_iter: int = 4) -> tuple[Tensor, Tensor, Tensor]:
        """Both spectra, and where each step looked."""
        n = memory.size(0)
        hidden, context = memory.new_zeros(n, hp.E), memory.new_zeros(n, hp.E)
        states = [memory.new_zeros(n, hp.E) for _ in self.decoder_rnns]
        frame = memory.new_zeros(n, hp.n_mels)
        steps = max_iter if inputs is None else inputs.size(1) // hp.r
        outputs, attn_weights = [], []
        for i in range(steps):
            if inputs is not None and i > 0:
                frame = inputs[:, i * hp.r - 1]
            prenet_out = self.prenet(frame)
            hidden, context, alpha = self.attention_rnn(prenet_out, memory, (hidden, context))
            x = self.proj_to_decoder(torch.cat([hidden, context], dim=-1))
            for j, rnn in enumerate(self.decoder_rnns):
                states[j] = rnn(x, states[j])
                x = x + states[j]
            output = self.final_projection(x).view(n, hp.r, hp.n_mels)
            frame = output[:, -1]
            outputs.append(output)
            attn_weights.append(alpha)
        mels_hat = torch.cat(outputs, dim=1)
        out, _ = self.cbhg(mels_hat)
        mags_hat = self.last_projection(out)
        return mels_hat, mags_hat, torch.stack(attn_weights, dim=1)


class Tacotron(nn.Module):
    """Speech from letters, in the style of a recording."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.gst, self.decoder = TacotronEncoder(), GST(), TacotronDecoder()

    def forward(
        self, texts: Tensor, mels: Tensor | None = None, ref_mels: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Both spectra, and where each step looked."""
        memory, _ = self.encoder(texts)
        if ref_mels is None:
            ref_mels = mels
        style_embed = self.gst(ref_mels)
        style_embed = style_embed.expand_as(memory)
        memory = memory + style_embed
        return self.decoder(mels, memory)


class SinusoidalPosEmb(nn.Module):
    """Waves of a time."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Sines and cosines."""
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        embs = torch.exp(torch.arange(half_dim, device=x.device) * -emb)
        embs = x[:, None] * embs[None, :]
        return torch.cat((embs.sin(), embs.cos()), dim=-1)


class Downsample1d(nn.Module):
    """Half as many steps."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, 3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The steps."""
        return self.conv(x)


class Upsample1d(nn.Module):
    """Twice as many steps."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(dim, dim, 4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The steps."""
        return self.conv(x)


class Conv1dBlock(nn.Module):
    """A convolution, a norm of groups and Mish."""

    def __init__(self, inp_channels: int, out_channels: int, kernel_size: int, n_groups: int = 8) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(inp_channels, out_channels, kernel_size, padding=kernel_size // 2),
            nn.GroupNorm(n_groups, out_channels),
            nn.Mish(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.block(x)


class ConditionalResidualBlock1D(nn.Module):
    """Two convolutions, between which a condition scales and shifts."""

    def __init__(
        self, in_channels: int, out_channels: int, cond_dim: int, kernel_size: int = 3, n_groups: int = 8,
        cond_predict_scale: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.blocks = nn.ModuleList(
            [
                Conv1dBlock(in_channels, out_channels, kernel_size, n_groups=n_groups),
                Conv1dBlock(out_channels, out_channels, kernel_size, n_groups=n_groups),
            ]
        )
        cond_channels = out_channels * 2 if cond_predict_scale else out_channels
        self.cond_predict_scale, self.out_channels = cond_predict_scale, out_channels
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond_dim, cond_channels), nn.Unflatten(-1, (-1, 1)))
        # make sure dimensions compatible
        self.residual_conv = nn.Conv1d(in_channels, out_channels, 1) if in_channels != out_channels else nn.Identity()

    def forward(self, x: Tensor, cond: Tensor) -> Tensor:
        """Features."""
        out = self.blocks[0](x)
        embed = self.cond_encoder(cond)
        if self.cond_predict_scale:
            embed = embed.reshape(embed.shape[0], 2, self.out_channels, 1)
            scale = embed[:, 0, ...]
            bias = embed[:, 1, ...]
            out = scale * out + bias
        else:
            out = out + embed
        out = self.blocks[1](out)
        return out + self.residual_conv(x)


class ConditionalUnet1D(nn.Module):
    """The noise of a plan of actions, by a time of diffusion and what the robot saw."""

    def __init__(
        self, input_dim: int, global_cond_dim: int | None = None, diffusion_step_embed_dim: int = 32,
        down_dims: Sequence[int] = (16, 32, 64), kernel_size: int = 3, n_groups: int = 8,
        cond_predict_scale: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        all_dims = [input_dim, *down_dims]
        start_dim = down_dims[0]
        dsed = diffusion_step_embed_dim
        self.diffusion_step_encoder = nn.Sequential(
            SinusoidalPosEmb(dsed), nn.Linear(dsed, dsed * 4), nn.Mish(), nn.Linear(dsed * 4, dsed)
        )
        cond_dim = dsed
        if global_cond_dim is not None:
            cond_dim += global_cond_dim

        def block(dim_in: int, dim_out: int) -> ConditionalResidualBlock1D:
            return ConditionalResidualBlock1D(dim_in, dim_out, cond_dim, kernel_size, n_groups, cond_predict_scale)

        in_out = list(itertools.pairwise(all_dims))
        mid_dim = all_dims[-1]
        self.mid_modules = nn.ModuleList([block(mid_dim, mid_dim), block(mid_dim, mid_dim)])
        down_modules = nn.ModuleList([])
        for ind, (dim_in, dim_out) in enumerate(in_out):
            is_last = ind >= (len(in_out) - 1)
            down_modules.append(
                nn.ModuleList(
                    [
                        block(dim_in, dim_out),
                        block(dim_out, dim_out),
                        Downsample1d(dim_out) if not is_last else nn.Identity(),
                    ]
                )
            )
        up_modules = nn.ModuleList([])
        for dim_in, dim_out in reversed(in_out[1:]):
            up_modules.append(nn.ModuleList([block(dim_out * 2, dim_in), block(dim_in, dim_in), Upsample1d(dim_in)]))
        self.final_conv = nn.Sequential(
            Conv1dBlock(start_dim, start_dim, kernel_size=kernel_size), nn.Conv1d(start_dim, input_dim, 1)
        )
        self.up_modules, self.down_modules = up_modules, down_modules

    def forward(self, sample: Tensor, timestep: Tensor | int, global_cond: Tensor | None = None) -> Tensor:
        """The noise, in the shape of the actions."""
        sample = sample.moveaxis(1, 2)
        timesteps = timestep
        if not torch.is_tensor(timesteps):
            timesteps = torch.tensor([timesteps], dtype=torch.long, device=sample.device)
        elif timesteps.dim() == 0:
            timesteps = timesteps[None].to(sample.device)
        timesteps = timesteps.expand(sample.shape[0])
        global_feature = self.diffusion_step_encoder(timesteps)
        if global_cond is not None:
            global_feature = torch.cat([global_feature, global_cond], dim=-1)
        x = sample
        h = []
        for resnet, resnet2, downsample in self.down_modules:  # type: ignore[misc]
            x = resnet(x, global_feature)
            x = resnet2(x, global_feature)
            h.append(x)
            x = downsample(x)
        for mid_module in self.mid_modules:
            x = mid_module(x, global_feature)
        for resnet, resnet2, upsample in self.up_modules:  # type: ignore[misc]
            x = torch.cat((x, h.pop()), dim=1)
            x = resnet(x, global_feature)
            x = resnet2(x, global_feature)
            x = upsample(x)
        x = self.final_conv(x)
        return x.moveaxis(2, 1)


class SpatialSoftmax(nn.Module):
    """Where in an image each of some features is, by the mean place of its weights."""

    pos_grid: Tensor

    def __init__(self, input_shape: tuple[int, int, int], num_kp: int = 8) -> None:
        super().__init__()
        c, h, w = input_shape
        self.nets, self.num_kp = nn.Conv2d(c, num_kp, kernel_size=1), num_kp
        pos_y, pos_x = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        self.register_buffer("pos_grid", torch.stack([pos_x.reshape(-1), pos_y.reshape(-1)], dim=1))

    def forward(self, features: Tensor) -> Tensor:
        """Two numbers of each feature."""
        features = self.nets(features)
        attention = F.softmax(features.flatten(-2), dim=-1)
        return (attention @ self.pos_grid).flatten(1)


class MultiImageObsEncoder(nn.Module):
    """A vector of all that the robot sees and knows of itself, by the names of its cameras and joints."""

    def __init__(self, shape_meta: dict[str, dict[str, Any]], share_rgb_model: bool = False) -> None:
        super().__init__()
        self.rgb_keys = sorted(key for key, attr in shape_meta.items() if attr["type"] == "rgb")
        self.low_dim_keys = sorted(key for key, attr in shape_meta.items() if attr["type"] == "low_dim")
        self.key_model_map, self.share_rgb_model = nn.ModuleDict(), share_rgb_model
        for key in ["rgb"] if share_rgb_model else self.rgb_keys:
            self.key_model_map[key] = nn.Sequential(
                *(nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.GroupNorm(4, 16), nn.ReLU()),
                *(nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.ReLU()),
                SpatialSoftmax((16, 8, 8)),
                nn.Linear(16, 16),
            )

    def forward(self, obs_dict: dict[str, Tensor]) -> Tensor:
        """The vector."""
        features: list[Tensor] = []
        if self.share_rgb_model:
            imgs = torch.cat([obs_dict[key] for key in self.rgb_keys], dim=0)
            feature = self.key_model_map["rgb"](imgs)
            features.extend(feature.chunk(len(self.rgb_keys)))
        else:
            for key in self.rgb_keys:
                img = obs_dict[key]
                feature = self.key_model_map[key](img)
                features.append(feature)
        for key in self.low_dim_keys:
            features.append(obs_dict[key])  # noqa: PERF401
        return torch.cat(features, dim=-1)


class DiffusionUnetImagePolicy(nn.Module):
    """A robot's plan: noise that becomes actions, step by step."""

    alphas_cumprod: Tensor

    def __init__(
        self, shape_meta: dict[str, dict[str, Any]], action_dim: int = 2, horizon: int = 8, n_action_steps: int = 4,
        n_obs_steps: int = 2, num_inference_steps: int = 3, num_train_timesteps: int = 30,
    ) -> None:  # fmt: skip
        super().__init__()
        self.obs_encoder = MultiImageObsEncoder(shape_meta)
        obs_feature_dim = sum(16 if attr["type"] == "rgb" else attr["shape"][0] for attr in shape_meta.values())
        self.model = ConditionalUnet1D(
            input_dim=action_dim, global_cond_dim=obs_feature_dim * n_obs_steps, cond_predict_scale=True
        )
        self.horizon, self.action_dim, self.n_action_steps = horizon, action_dim, n_action_steps
        self.n_obs_steps, self.num_inference_steps = n_obs_steps, num_inference_steps
        betas = torch.linspace(1e-4, 0.02, num_train_timesteps)
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - betas, 0))
        self.normalizer = nn.ParameterDict(
            {key: nn.Parameter(torch.tensor([2.0, -1.0]), requires_grad=False) for key in [*shape_meta, "action"]}
        )

    def step(self, model_output: Tensor, t: int, prev_t: int, sample: Tensor) -> Tensor:
        """The plan with a little less noise."""
        alpha = self.alphas_cumprod[t]
        alpha_prev = self.alphas_cumprod[prev_t] if prev_t >= 0 else torch.ones(())
        pred_original_sample = (sample - (1 - alpha) ** 0.5 * model_output) / alpha**0.5
        pred_original_sample = pred_original_sample.clamp(-1, 1)
        return alpha_prev**0.5 * pred_original_sample + (1 - alpha_prev) ** 0.5 * model_output

    def conditional_sample(self, trajectory: Tensor, global_cond: Tensor) -> Tensor:
        """The plan without noise."""
        stride = len(self.alphas_cumprod) // self.num_inference_steps
        for i in reversed(range(self.num_inference_steps)):
            model_output = self.model(trajectory, i * stride, global_cond=global_cond)
            trajectory = self.step(model_output, i * stride, (i - 1) * stride, trajectory)
        return trajectory

    def forward(self, obs_dict: dict[str, Tensor], noise: Tensor | None = None) -> dict[str, Tensor]:
        """The actions that are done, and the whole plan."""
        nobs = {k: v * self.normalizer[k][0] + self.normalizer[k][1] for k, v in obs_dict.items()}
        b, to = next(iter(nobs.values())).shape[0], self.n_obs_steps
        this_nobs = {k: v[:, :to, ...].reshape(-1, *v.shape[2:]) for k, v in nobs.items()}
        nobs_features = self.obs_encoder(this_nobs)
        global_cond = nobs_features.reshape(b, -1)
        if noise is None:
            noise = torch.randn(b, self.horizon, self.action_dim)
        nsample = self.conditional_sample(noise, global_cond)
        action_pred = (nsample - self.normalizer["action"][1]) / self.normalizer["action"][0]
        start = to - 1
        action = action_pred[:, start : start + self.n_action_steps]
        return {"action": action, "action_pred": action_pred}


SHAPE_META: dict[str, dict[str, Any]] = {
    "image": {"type": "rgb", "shape": (3, 32, 32)},
    "wrist": {"type": "rgb", "shape": (3, 32, 32)},
    "agent_pos": {"type": "low_dim", "shape": (2,)},
}


def _seen() -> dict[str, Tensor]:
    return {
        "image": torch.rand(2, 2, 3, 32, 32),
        "wrist": torch.rand(2, 2, 3, 32, 32),
        "agent_pos": torch.rand(2, 2, 2),
    }


class WordAttention(nn.Module):
    """A vector of each sentence: states of its words, of which some count more."""

    def __init__(self, vocab_size: int, emb_size: int, rnn_size: int, att_size: int, dropout: float) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, emb_size)
        self.word_rnn = nn.GRU(emb_size, rnn_size, num_layers=1, bidirectional=True, batch_first=True)
        self.word_attention = nn.Linear(2 * rnn_size, att_size)
        self.word_context_vector = nn.Linear(att_size, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sentences: Tensor, words_per_sentence: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors, and how much each word counts."""
        packed_words = pack_padded_sequence(
            sentences, lengths=words_per_sentence.tolist(), batch_first=True, enforce_sorted=False
        )
        embedded = PackedSequence(
            data=self.dropout(self.embeddings(packed_words.data)),
            batch_sizes=packed_words.batch_sizes,
            sorted_indices=packed_words.sorted_indices,
            unsorted_indices=packed_words.unsorted_indices,
        )
        packed_states, _ = self.word_rnn(embedded)
        att_w = self.word_attention(packed_states.data)
        att_w = torch.tanh(att_w)
        att_w = self.word_context_vector(att_w).squeeze(1)
        max_value = att_w.max()  # scalar, for numerical stability during exponent calculation
        att_w = torch.exp(att_w - max_value)
        att_w, _ = pad_packed_sequence(packed_states._replace(data=att_w), batch_first=True)
        word_alphas = att_w / torch.sum(att_w, dim=1, keepdim=True)
        sentences, _ = pad_packed_sequence(packed_states, batch_first=True)
        sentences = sentences * word_alphas.unsqueeze(2)
        sentences = sentences.sum(dim=1)
        return sentences, word_alphas


class SentenceAttention(nn.Module):
    """A vector of each document: states of its sentences, of which some count more."""

    def __init__(
        self, vocab_size: int, emb_size: int, word_rnn_size: int, sentence_rnn_size: int, word_att_size: int,
        sentence_att_size: int, dropout: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.word_attention = WordAttention(vocab_size, emb_size, word_rnn_size, word_att_size, dropout)
        self.sentence_rnn = nn.GRU(2 * word_rnn_size, sentence_rnn_size, bidirectional=True, batch_first=True)
        self.sentence_attention = nn.Linear(2 * sentence_rnn_size, sentence_att_size)
        self.sentence_context_vector = nn.Linear(sentence_att_size, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, documents: Tensor, sentences_per_document: Tensor, words_per_sentence: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The vectors, and how much each word and each sentence counts."""
        lengths = sentences_per_document.tolist()
        packed_sentences = pack_padded_sequence(documents, lengths=lengths, batch_first=True, enforce_sorted=False)
        packed_lengths = pack_padded_sequence(
            words_per_sentence, lengths=lengths, batch_first=True, enforce_sorted=False
        )
        sentences, word_alphas = self.word_attention(packed_sentences.data, packed_lengths.data)
        sentences = self.dropout(sentences)
        packed_states, _ = self.sentence_rnn(packed_sentences._replace(data=sentences))
        att_s = torch.tanh(self.sentence_attention(packed_states.data))
        att_s = self.sentence_context_vector(att_s).squeeze(1)
        att_s = torch.exp(att_s - att_s.max())
        att_s, _ = pad_packed_sequence(packed_states._replace(data=att_s), batch_first=True)
        sentence_alphas = att_s / torch.sum(att_s, dim=1, keepdim=True)
        documents, _ = pad_packed_sequence(packed_states, batch_first=True)
        documents = documents * sentence_alphas.unsqueeze(2)
        documents = documents.sum(dim=1)
        word_alphas, _ = pad_packed_sequence(packed_sentences._replace(data=word_alphas), batch_first=True)
        return documents, word_alphas, sentence_alphas


class HierarchialAttentionNetwork(nn.Module):
    """The topic of a document."""

    def __init__(self, n_classes: int = 5, vocab_size: int = 100, dropout: float = 0.5) -> None:
        super().__init__()
        self.sentence_attention = SentenceAttention(vocab_size, 24, 16, 16, 20, 20, dropout)
        self.fc, self.dropout = nn.Linear(2 * 16, n_classes), nn.Dropout(dropout)

    def forward(
        self, documents: Tensor, sentences_per_document: Tensor, words_per_sentence: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, and how much each word and each sentence counts."""
        document_embeddings, word_alphas, sentence_alphas = self.sentence_attention(
            documents, sentences_per_document, words_per_sentence
        )
        scores = self.fc(self.dropout(document_embeddings))
        return scores, word_alphas, sentence_alphas


class TypedGraph(NamedTuple):
    """Edges from nodes to nodes, and how many of the latter there are."""

    src: Tensor
    dst: Tensor
    num_dst: int


class MeshGraphMLP(nn.Module):
    """Layers with SiLU, and a norm."""

    def __init__(
        self, input_dim: int, output_dim: int = 32, hidden_dim: int = 32, hidden_layers: int | None = 1,
        norm_type: str | None = "LayerNorm",
    ) -> None:  # fmt: skip
        super().__init__()
        self.model: nn.Module = nn.Identity()
        if hidden_layers is not None:
            layers: list[nn.Module] = [nn.Linear(input_dim, hidden_dim), nn.SiLU()]
            for _ in range(hidden_layers - 1):
                layers += [nn.Linear(hidden_dim, hidden_dim), nn.SiLU()]
            layers.append(nn.Linear(hidden_dim, output_dim))
            if norm_type is not None:
                layers.append(getattr(nn, norm_type)(output_dim))
            self.model = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.model(x)


class MeshGraphEdgeMLPSum(nn.Module):
    """Features of edges and of both ends: the first layer of joined ones, as a sum of three smaller ones."""

    def __init__(self, efeat_dim: int, src_dim: int, dst_dim: int, output_dim: int = 32, hidden_dim: int = 32) -> None:
        super().__init__()
        self.lin_efeat = nn.Linear(efeat_dim, hidden_dim, bias=False)
        self.lin_src = nn.Linear(src_dim, hidden_dim, bias=False)
        self.lin_dst = nn.Linear(dst_dim, hidden_dim, bias=True)
        self.model = nn.Sequential(nn.SiLU(), nn.Linear(hidden_dim, output_dim), nn.LayerNorm(output_dim))

    def forward(self, efeat: Tensor, nfeat: Tensor | tuple[Tensor, Tensor], graph: TypedGraph) -> Tensor:
        """New features of edges."""
        src_feat, dst_feat = (nfeat, nfeat) if isinstance(nfeat, Tensor) else nfeat
        mlp_efeat = self.lin_efeat(efeat)
        mlp_src = self.lin_src(src_feat)
        mlp_dst = self.lin_dst(dst_feat)
        return self.model(mlp_efeat + mlp_src[graph.src] + mlp_dst[graph.dst])


def aggregate_and_concat(efeat: Tensor, nfeat: Tensor, graph: TypedGraph, aggregation: str = "sum") -> Tensor:
    """Nodes, each with the edges that come to it."""
    h_dest = efeat.new_zeros(graph.num_dst, efeat.size(-1)).index_add(0, graph.dst, efeat)
    if aggregation == "mean":
        degree = efeat.new_zeros(graph.num_dst).index_add(0, graph.dst, efeat.new_ones(graph.dst.numel()))
        h_dest = h_dest / degree.clamp(min=1).unsqueeze(-1)
    return torch.cat((h_dest, nfeat), -1)


class MeshGraphEncoder(nn.Module):
    """From the grid to the mesh."""

    def __init__(self, dim: int, aggregation: str = "sum") -> None:
        super().__init__()
        self.aggregation = aggregation
        self.edge_mlp = MeshGraphEdgeMLPSum(dim, dim, dim, dim, dim)
        self.src_node_mlp, self.dst_node_mlp = MeshGraphMLP(dim, dim, dim), MeshGraphMLP(2 * dim, dim, dim)

    def forward(self, g2m_efeat: Tensor, grid: Tensor, mesh: Tensor, graph: TypedGraph) -> tuple[Tensor, Tensor]:
        """Features of both."""
        efeat = self.edge_mlp(g2m_efeat, (grid, mesh), graph)
        cat_feat = aggregate_and_concat(efeat, mesh, graph, self.aggregation)
        mesh = mesh + self.dst_node_mlp(cat_feat)
        grid = grid + self.src_node_mlp(grid)
        return grid, mesh


class MeshEdgeBlock(nn.Module):
    """New edges of the mesh."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.edge_mlp = MeshGraphEdgeMLPSum(dim, dim, dim, dim, dim)

    def forward(self, efeat: Tensor, nfeat: Tensor, graph: TypedGraph) -> tuple[Tensor, Tensor]:
        """Edges and nodes."""
        efeat_new = self.edge_mlp(efeat, nfeat, graph) + efeat
        return efeat_new, nfeat


class MeshNodeBlock(nn.Module):
    """New nodes of the mesh."""

    def __init__(self, dim: int, aggregation: str = "sum") -> None:
        super().__init__()
        self.aggregation, self.node_mlp = aggregation, MeshGraphMLP(2 * dim, dim, dim)

    def forward(self, efeat: Tensor, nfeat: Tensor, graph: TypedGraph) -> tuple[Tensor, Tensor]:
        """Edges and nodes."""
        cat_feat = aggregate_and_concat(efeat, nfeat, graph, self.aggregation)
        nfeat_new = self.node_mlp(cat_feat) + nfeat
        return efeat, nfeat_new


class GraphCastProcessor(nn.Module):
    """Edges and nodes in turn."""

    def __init__(self, dim: int, processor_layers: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(processor_layers):
            layers.append(MeshEdgeBlock(dim))
            layers.append(MeshNodeBlock(dim))
        self.processor_layers, self.num_processor_layers = nn.ModuleList(layers), len(layers)

    def forward(self, efeat: Tensor, nfeat: Tensor, graph: TypedGraph) -> tuple[Tensor, Tensor]:
        """Both."""
        for module in self.processor_layers:
            efeat, nfeat = module(efeat, nfeat, graph)
        return efeat, nfeat


class MeshGraphDecoder(nn.Module):
    """From the mesh to the grid."""

    def __init__(self, dim: int, aggregation: str = "sum") -> None:
        super().__init__()
        self.aggregation = aggregation
        self.edge_mlp, self.node_mlp = MeshGraphEdgeMLPSum(dim, dim, dim, dim, dim), MeshGraphMLP(2 * dim, dim, dim)

    def forward(self, m2g_efeat: Tensor, grid: Tensor, mesh: Tensor, graph: TypedGraph) -> Tensor:
        """The grid."""
        efeat = self.edge_mlp(m2g_efeat, (mesh, grid), graph)
        cat_feat = aggregate_and_concat(efeat, grid, graph, self.aggregation)
        return self.node_mlp(cat_feat) + grid


class GraphCastNet(nn.Module):
    """The weather in six hours, on a grid of the world, by a mesh that is coarser."""

    mesh_ndata: Tensor

    def __init__(
        self, input_res: tuple[int, int] = (6, 12), channels: int = 5, dim: int = 32, processor_layers: int = 4,
        mesh_nodes: int = 20,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_res, self.channels, grid_nodes = input_res, channels, input_res[0] * input_res[1]
        sizes = {"g2m": (grid_nodes, mesh_nodes, 90), "mesh": (mesh_nodes, mesh_nodes, 60)}
        sizes["m2g"] = (mesh_nodes, grid_nodes, grid_nodes * 3)
        self.num_dst = {name: num_dst for name, (_, num_dst, _) in sizes.items()}
        for name, (num_src, num_dst, edges) in sizes.items():
            self.register_buffer(f"{name}_src", torch.randint(0, num_src, (edges,)), persistent=False)
            self.register_buffer(f"{name}_dst", torch.randint(0, num_dst, (edges,)), persistent=False)
            self.register_buffer(f"{name}_edata", torch.randn(edges, 4), persistent=False)
        self.register_buffer("mesh_ndata", torch.randn(mesh_nodes, 3), persistent=False)
        self.encoder_embedder = nn.ModuleDict(
            {
                "grid_node_mlp": MeshGraphMLP(2 * channels + 3, dim, dim),
                "mesh_node_mlp": MeshGraphMLP(3, dim, dim),
                "mesh_edge_mlp": MeshGraphMLP(4, dim, dim),
                "grid2mesh_edge_mlp": MeshGraphMLP(4, dim, dim),
            }
        )
        self.decoder_embedder = MeshGraphMLP(4, dim, dim)
        self.encoder = MeshGraphEncoder(dim)
        # the first and the last layer of the processor are checkpointed apart from the rest
        self.processor_encoder = GraphCastProcessor(dim, 1)
        self.processor = GraphCastProcessor(dim, processor_layers - 2)
        self.processor_decoder = GraphCastProcessor(dim, 1)
        self.decoder = MeshGraphDecoder(dim)
        self.finale = MeshGraphMLP(dim, channels, dim, norm_type=None)

    def graph(self, name: str) -> TypedGraph:
        """One of the three graphs."""
        return TypedGraph(self.get_buffer(f"{name}_src"), self.get_buffer(f"{name}_dst"), self.num_dst[name])

    def prepare_input(self, invar: Tensor, static: Tensor) -> Tensor:
        """Nodes of the grid, of two times and of what stays."""
        assert invar.size(0) == 1, "GraphCast does not support batch size > 1"
        x = torch.concat((invar[0].flatten(0, 1), static), dim=0)
        return x.view(x.size(0), -1).permute(1, 0)

    def forward(self, invar: Tensor, static: Tensor) -> Tensor:
        """The weather."""
        grid_nfeat = self.prepare_input(invar, static)
        embed = self.encoder_embedder
        grid = embed["grid_node_mlp"](grid_nfeat)
        mesh = embed["mesh_node_mlp"](self.mesh_ndata)
        g2m_efeat = embed["grid2mesh_edge_mlp"](self.get_buffer("g2m_edata"))
        mesh_efeat = embed["mesh_edge_mlp"](self.get_buffer("mesh_edata"))
        m2g_efeat = self.decoder_embedder(self.get_buffer("m2g_edata"))
        grid, mesh = self.encoder(g2m_efeat, grid, mesh, self.graph("g2m"))
        mesh_efeat, mesh = self.processor_encoder(mesh_efeat, mesh, self.graph("mesh"))
        mesh_efeat, mesh = self.processor(mesh_efeat, mesh, self.graph("mesh"))
        _, mesh = self.processor_decoder(mesh_efeat, mesh, self.graph("mesh"))
        grid = self.decoder(m2g_efeat, grid, mesh, self.graph("m2g"))
        outvar = self.finale(grid)
        outvar = outvar.permute(1, 0).view(self.channels, *self.input_res)
        return torch.unsqueeze(outvar, dim=0) + invar[:, -1]


class GELU(nn.Module):
    """The activation, by its formula."""

    def forward(self, x: Tensor) -> Tensor:
        """The activated features."""
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class TokenEmbedding(nn.Embedding):
    """Vectors of items."""

    def __init__(self, vocab_size: int, embed_size: int = 32) -> None:
        super().__init__(vocab_size, embed_size, padding_idx=0)


class PositionalEmbedding(nn.Module):
    """Vectors of places."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.pe = nn.Embedding(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """All of them, for each sequence."""
        batch_size = x.size(0)
        return self.pe.weight.unsqueeze(0).repeat(batch_size, 1, 1)


class BERTEmbedding(nn.Module):
    """Vectors of items and places."""

    def __init__(self, vocab_size: int, embed_size: int, max_len: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.token = TokenEmbedding(vocab_size=vocab_size, embed_size=embed_size)
        self.position = PositionalEmbedding(max_len=max_len, d_model=embed_size)
        self.dropout, self.embed_size = nn.Dropout(p=dropout), embed_size

    def forward(self, sequence: Tensor) -> Tensor:
        """Their sum."""
        x = self.token(sequence) + self.position(sequence)
        return self.dropout(x)


class ScaledAttention(nn.Module):
    """Attention by a scaled product."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: nn.Module | None = None
    ) -> tuple[Tensor, Tensor]:
        """The values by the weights of their keys, and the weights."""
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p_attn = F.softmax(scores, dim=-1)
        if dropout is not None:
            p_attn = dropout(p_attn)
        return torch.matmul(p_attn, value), p_attn


class MultiHeadedAttention(nn.Module):
    """Attention of heads."""

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.linear_layers = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(3)])
        self.output_linear, self.attention = nn.Linear(d_model, d_model), ScaledAttention()
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Features."""
        batch_size = query.size(0)
        query, key, value = [
            lin(x).view(batch_size, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linear_layers, (query, key, value), strict=True)
        ]
        x, _attn = self.attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(batch_size, -1, self.h * self.d_k)
        return self.output_linear(x)


class PositionwiseFeedForward(nn.Module):
    """Two layers of each item."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout, self.activation = nn.Dropout(dropout), GELU()

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.w_2(self.dropout(self.activation(self.w_1(x))))


class SublayerConnection(nn.Module):
    """A norm before a layer, and what came in beside it."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(size, eps=1e-6), nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Features."""
        return x + self.dropout(sublayer(self.norm(x)))


class BERTTransformerBlock(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self, hidden: int, attn_heads: int, feed_forward_hidden: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadedAttention(h=attn_heads, d_model=hidden, dropout=dropout)
        self.feed_forward = PositionwiseFeedForward(d_model=hidden, d_ff=feed_forward_hidden, dropout=dropout)
        self.input_sublayer = SublayerConnection(size=hidden, dropout=dropout)
        self.output_sublayer = SublayerConnection(size=hidden, dropout=dropout)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Features."""
        x = self.input_sublayer(x, lambda _x: self.attention.forward(_x, _x, _x, mask=mask))
        x = self.output_sublayer(x, self.feed_forward)
        return self.dropout(x)


class ItemBERT(nn.Module):
    """Features of items, from those on both sides."""

    def __init__(self, args: Namespace) -> None:
        super().__init__()
        self.hidden, dropout = args.bert_hidden_units, args.bert_dropout
        self.embedding = BERTEmbedding(args.num_items + 2, self.hidden, args.bert_max_len, dropout)
        self.transformer_blocks = nn.ModuleList(
            [
                BERTTransformerBlock(self.hidden, args.bert_num_heads, self.hidden * 4, dropout)
                for _ in range(args.bert_num_blocks)
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        mask = (x > 0).unsqueeze(1).repeat(1, x.size(1), 1).unsqueeze(1)
        x = self.embedding(x)
        for transformer in self.transformer_blocks:
            x = transformer.forward(x, mask)
        return x


class BERT4RecModel(nn.Module):
    """Items that are hidden in a sequence of clicks, from the others."""

    def __init__(self, args: Namespace) -> None:
        super().__init__()
        self.bert = ItemBERT(args)
        self.out = nn.Linear(self.bert.hidden, args.num_items + 1)
        self.ce = nn.CrossEntropyLoss(ignore_index=0)

    def forward(self, seqs: Tensor, labels: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Scores of all items at each place, and the loss where they are hidden."""
        logits = self.out(self.bert(seqs))
        if labels is None:
            return logits, None
        loss = self.ce(logits.view(-1, logits.size(-1)), labels.view(-1))
        return logits, loss


BERT_ARGS = Namespace(
    num_items=50, bert_max_len=10, bert_hidden_units=32, bert_num_heads=4, bert_num_blocks=2, bert_dropout=0.1
)


def _clicks() -> Tensor:
    return torch.randint(1, 52, (2, 10)) * (torch.arange(10) >= torch.tensor([[0], [4]]))


class Align(nn.Module):
    """Features with as many channels as are asked for, by a convolution or by zeros."""

    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        self.c_in, self.c_out = c_in, c_out
        self.align_conv = nn.Conv2d(in_channels=c_in, out_channels=c_out, kernel_size=(1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        if self.c_in > self.c_out:
            x = self.align_conv(x)
        elif self.c_in < self.c_out:
            batch_size, _, timestep, n_vertex = x.shape
            x = torch.cat([x, torch.zeros([batch_size, self.c_out - self.c_in, timestep, n_vertex]).to(x)], dim=1)
        return x


class CausalConv2d(nn.Conv2d):
    """A convolution that may be padded in front."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, int], pads: bool = False) -> None:
        self.__padding = [kernel_size[i] - 1 for i in range(len(kernel_size))] if pads else [0, 0]
        super().__init__(in_channels, out_channels, kernel_size)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The features."""
        if any(self.__padding):
            input = F.pad(input, (self.__padding[1], 0, self.__padding[0], 0))  # noqa: A001
        return super().forward(input)


class TemporalConvLayer(nn.Module):
    """A gated convolution over time."""

    def __init__(self, kt: int, c_in: int, c_out: int, act_func: str) -> None:
        super().__init__()
        self.kt, self.c_out, self.act_func = kt, c_out, act_func
        self.align = Align(c_in, c_out)
        gated = act_func in ("glu", "gtu")
        self.causal_conv = CausalConv2d(c_in, 2 * c_out if gated else c_out, kernel_size=(kt, 1))
        self.relu, self.silu = nn.ReLU(), nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        """Features of fewer steps."""
        x_in = self.align(x)[:, :, self.kt - 1 :, :]
        x_causal_conv = self.causal_conv(x)
        if self.act_func in ("glu", "gtu"):
            x_p = x_causal_conv[:, : self.c_out, :, :]
            x_q = x_causal_conv[:, -self.c_out :, :, :]
            if self.act_func == "glu":
                return torch.mul((x_p + x_in), torch.sigmoid(x_q))
            return torch.mul(torch.tanh(x_p + x_in), torch.sigmoid(x_q))
        if self.act_func == "relu":
            return self.relu(x_causal_conv + x_in)
        if self.act_func == "silu":
            return self.silu(x_causal_conv + x_in)
        raise NotImplementedError(f"ERROR: The activation function {self.act_func} is not implemented.")


class ChebGraphConv(nn.Module):
    """A convolution over roads, by Chebyshev polynomials of their graph."""

    def __init__(self, c_in: int, c_out: int, ks: int, gso: Tensor, bias: bool) -> None:
        super().__init__()
        self.ks, self.gso = ks, gso
        self.weight = nn.Parameter(torch.empty(ks, c_in, c_out))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if bias:
            self.bias = nn.Parameter(torch.zeros(c_out))
        else:
            self.register_parameter("bias", None)

    def forward(self, x: Tensor) -> Tensor:
        """Features, channels last."""
        x = torch.permute(x, (0, 2, 3, 1))
        if self.ks - 1 < 0:
            raise ValueError("the graph convolution kernel size Ks has to be a positive integer")
        x_list = [x]
        if self.ks - 1 >= 1:
            x_list.append(torch.einsum("hi,btij->bthj", self.gso, x))
        for k in range(2, self.ks):
            x_list.append(torch.einsum("hi,btij->bthj", 2 * self.gso, x_list[k - 1]) - x_list[k - 2])
        x = torch.stack(x_list, dim=2)
        cheb_graph_conv = torch.einsum("btkhi,kij->bthj", x, self.weight)
        if self.bias is not None:
            cheb_graph_conv = torch.add(cheb_graph_conv, self.bias)
        return cheb_graph_conv


class GraphConvLayer(nn.Module):
    """A convolution over roads, and what came in."""

    def __init__(self, c_in: int, c_out: int, ks: int, gso: Tensor, bias: bool) -> None:
        super().__init__()
        self.align = Align(c_in, c_out)
        self.cheb_graph_conv = ChebGraphConv(c_out, c_out, ks, gso, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x_gc_in = self.align(x)
        x_gc = self.cheb_graph_conv(x_gc_in)
        x_gc = x_gc.permute(0, 3, 1, 2)
        return torch.add(x_gc, x_gc_in)


class STConvBlock(nn.Module):
    """Convolutions over time, over roads and over time again."""

    def __init__(
        self, kt: int, ks: int, n_vertex: int, last_channel: int, channels: Sequence[int], act_func: str, gso: Tensor
    ) -> None:
        super().__init__()
        self.tmp_conv1 = TemporalConvLayer(kt, last_channel, channels[0], act_func)
        self.graph_conv = GraphConvLayer(channels[0], channels[1], ks, gso, bias=True)
        self.tmp_conv2 = TemporalConvLayer(kt, channels[1], channels[2], act_func)
        self.tc2_ln = nn.LayerNorm([n_vertex, channels[2]], eps=1e-12)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(p=0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = self.tmp_conv1(x)
        x = self.graph_conv(x)
        x = self.relu(x)
        x = self.tmp_conv2(x)
        x = self.tc2_ln(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.dropout(x)


class OutputBlock(nn.Module):
    """One step from those that are left."""

    def __init__(
        self, ko: int, last_channel: int, channels: Sequence[int], end_channel: int, n_vertex: int, act_func: str
    ) -> None:
        super().__init__()
        self.tmp_conv1 = TemporalConvLayer(ko, last_channel, channels[0], act_func)
        self.fc1, self.fc2 = nn.Linear(channels[0], channels[1]), nn.Linear(channels[1], end_channel)
        self.tc1_ln = nn.LayerNorm([n_vertex, channels[0]], eps=1e-12)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(p=0.5)

    def forward(self, x: Tensor) -> Tensor:
        """The step."""
        x = self.tmp_conv1(x)
        x = self.tc1_ln(x.permute(0, 2, 3, 1))
        x = self.fc1(x)
        x = self.relu(x)
        x = self.dropout(x)
        return self.fc2(x).permute(0, 3, 1, 2)


class STGCNChebGraphConv(nn.Module):
    """The traffic of each road in a while."""

    def __init__(self, args: Namespace, blocks: Sequence[Sequence[int]], n_vertex: int) -> None:
        super().__init__()
        gso = torch.rand(n_vertex, n_vertex)
        gso = (gso + gso.T) / n_vertex
        modules: list[nn.Module] = []
        for i in range(len(blocks) - 3):
            modules += [STConvBlock(args.Kt, args.Ks, n_vertex, blocks[i][-1], blocks[i + 1], args.act_func, gso)]
        self.st_blocks = nn.Sequential(*modules)
        self.ko = args.n_his - (len(blocks) - 3) * 2 * (args.Kt - 1)
        if self.ko > 1:
            self.output = OutputBlock(self.ko, blocks[-3][-1], blocks[-2], blocks[-1][0], n_vertex, args.act_func)
        elif self.ko == 0:
            self.fc1 = nn.Linear(in_features=blocks[-3][-1], out_features=blocks[-2][0])
            self.fc2 = nn.Linear(in_features=blocks[-2][0], out_features=blocks[-1][0])
            self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """The traffic."""
        x = self.st_blocks(x)
        if self.ko > 1:
            x = self.output(x)
        elif self.ko == 0:
            x = self.fc1(x.permute(0, 2, 3, 1))
            x = self.relu(x)
            x = self.fc2(x).permute(0, 3, 1, 2)
        return x


def _stgcn() -> nn.Module:
    args = Namespace(Kt=3, Ks=3, n_his=12, act_func="glu")
    return STGCNChebGraphConv(args, [[1], [16, 8, 16], [16, 8, 16], [32, 32], [1]], n_vertex=15)


@dataclass
class GoConfig:
    """Sizes of the board and of the tower."""

    board_size: int = 7
    num_stack: int = 3
    num_res_block: int = 3
    num_filters: int = 16
    num_fc_units: int = 24
    use_se: bool = True


class SqueezeExcite(nn.Module):
    """Channels scaled and shifted by what the whole board is like."""

    def __init__(self, channels: int, reduction: int = 4) -> None:
        super().__init__()
        self.channels = channels
        self.fc1, self.fc2 = nn.Linear(channels, channels // reduction), nn.Linear(channels // reduction, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        out = F.relu(self.fc1(x.mean(dim=(2, 3))))
        gamma, beta = self.fc2(out)[:, :, None, None].split(self.channels, dim=1)
        return torch.sigmoid(gamma) * x + beta


class ResNetBlock(nn.Module):
    """Two convolutions, and what came in."""

    def __init__(self, num_filters: int, use_se: bool = False) -> None:
        super().__init__()
        self.conv_block1 = nn.Sequential(
            nn.Conv2d(num_filters, num_filters, kernel_size=3, stride=1, padding=1, bias=False),
            nn.BatchNorm2d(num_features=num_filters),
            nn.ReLU(),
        )
        self.conv_block2 = nn.Sequential(
            nn.Conv2d(num_filters, num_filters, kernel_size=3, stride=1, padding=1, bias=False),
            nn.BatchNorm2d(num_features=num_filters),
        )
        self.se = SqueezeExcite(num_filters) if use_se else None

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        residual = x
        out = self.conv_block1(x)
        out = self.conv_block2(out)
        if self.se is not None:
            out = self.se(out)
        out += residual
        return F.relu(out)


class NetworkOutputs(NamedTuple):
    """Policy and value of a board for a search, and a loss where the moves are known."""

    pi_prob: Tensor
    value: Tensor
    loss: Tensor | None


class AlphaZeroNet(nn.Module):
    """Moves and who wins, from the last boards."""

    def __init__(self, cfg: GoConfig) -> None:
        super().__init__()
        self.cfg, n = cfg, cfg.board_size
        self.num_actions = n * n + 1  # with a pass
        self.conv_block = nn.Sequential(
            nn.Conv2d(2 * cfg.num_stack + 1, cfg.num_filters, kernel_size=3, stride=1, padding=1, bias=False),
            nn.BatchNorm2d(num_features=cfg.num_filters),
            nn.ReLU(),
        )
        self.res_blocks = nn.Sequential(*[ResNetBlock(cfg.num_filters, cfg.use_se) for _ in range(cfg.num_res_block)])
        self.policy_head = nn.Sequential(
            nn.Conv2d(cfg.num_filters, 2, kernel_size=1, stride=1, bias=False),
            nn.BatchNorm2d(num_features=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * n * n, self.num_actions),
        )
        self.value_head = nn.Sequential(
            nn.Conv2d(cfg.num_filters, 1, kernel_size=1, stride=1, bias=False),
            nn.BatchNorm2d(num_features=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(n * n, cfg.num_fc_units),
            nn.ReLU(),
            nn.Linear(cfg.num_fc_units, 1),
            nn.Tanh(),
        )

    def observation(self, boards: Tensor, to_play: Tensor) -> Tensor:
        """A plane for the stones of each side on each board, and one for the side whose turn it is."""
        side = to_play.view(-1, 1, 1, 1)
        mine, theirs = boards == side, boards == -side
        planes = torch.stack([mine, theirs], dim=2).flatten(1, 2).float()
        colour = (side == 1).float().expand(-1, 1, *boards.shape[2:])
        return torch.cat([planes, colour], dim=1)

    def forward(
        self, boards: Tensor, to_play: Tensor, legal: Tensor | None = None,
        target: tuple[Tensor, Tensor] | None = None,
    ) -> NetworkOutputs:  # fmt: skip
        """How likely each move is, and who wins."""
        x = self.observation(boards, to_play)
        x = self.conv_block(x)
        x = self.res_blocks(x)
        pi_logits = self.policy_head(x)
        value = self.value_head(x)
        if legal is not None:
            pi_logits = pi_logits.masked_fill(~legal, torch.finfo(pi_logits.dtype).min)
        loss = None
        if target is not None:
            pi, v = target
            value_loss = F.mse_loss(value.squeeze(-1), v, reduction="mean")
            policy_loss = torch.mean(-torch.sum(pi * F.log_softmax(pi_logits, dim=-1).clamp(min=-50), dim=1))
            loss = value_loss + policy_loss
        return NetworkOutputs(F.softmax(pi_logits, dim=-1), value, loss)


def _boards() -> Tensor:
    return torch.randint(-1, 2, (2, 3, 7, 7))


def _legal() -> Tensor:
    return torch.cat([torch.rand(2, 49) > 0.3, torch.ones(2, 1, dtype=torch.bool)], dim=1)


def _played() -> tuple[Tensor, Tensor]:
    return torch.softmax(torch.randn(2, 50), 1), torch.tensor([1.0, -1.0])


NETS = [
    Entry("own/tacotron_gst", Tacotron, given(words(2, 12, 40), numbers(2, 12, 20), numbers(2, 32, 20))),
    Entry(
        "own/diffusion_policy",
        lambda: DiffusionUnetImagePolicy(SHAPE_META),
        given(_seen, numbers(2, 8, 2)),
    ),
    Entry(
        "own/han",
        HierarchialAttentionNetwork,
        given(
            lambda: torch.randint(1, 100, (3, 4, 7)), whole(4, 2, 3), whole([7, 3, 5, 2], [4, 6, 1, 1], [2, 5, 7, 1])
        ),
    ),
    Entry("own/graphcast", GraphCastNet, given(numbers(1, 2, 5, 6, 12), numbers(3, 6, 12))),
    Entry("own/bert4rec", lambda: BERT4RecModel(BERT_ARGS), given(_clicks, lambda: torch.randint(0, 51, (2, 10)))),
    Entry("own/stgcn", _stgcn, given(numbers(2, 1, 12, 15))),
    Entry("own/alphazero", lambda: AlphaZeroNet(GoConfig()), given(_boards, whole(1, -1), _legal, _played)),
]
