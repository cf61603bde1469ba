"""Nets of series, words, genes, clicks and games as repositories write them, of the fifth list kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, words


class FilterLinear(nn.Module):
    """A layer whose weight is masked; with an identity each feature decays by itself."""

    def __init__(self, in_features: int, out_features: int, filter_square_matrix: Tensor, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.register_buffer("filter_square_matrix", filter_square_matrix)
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Small numbers."""
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the repository's name
        """As many features."""
        return F.linear(input, self.filter_square_matrix.mul(self.weight), self.bias)


class GRUD(nn.Module):
    """A series with gaps: what is missing decays towards the mean, and so does the state."""

    def __init__(self, input_size: int, hidden_size: int, x_mean: Tensor, num_classes: int = 2) -> None:
        super().__init__()
        self.hidden_size, self.delta_size, self.mask_size = hidden_size, input_size, input_size
        self.register_buffer("identity", torch.eye(input_size))
        self.register_buffer("x_mean", x_mean)
        self.zl = nn.Linear(input_size + hidden_size + self.mask_size, hidden_size)
        self.rl = nn.Linear(input_size + hidden_size + self.mask_size, hidden_size)
        self.hl = nn.Linear(input_size + hidden_size + self.mask_size, hidden_size)
        self.gamma_x_l = FilterLinear(self.delta_size, self.delta_size, torch.eye(input_size))
        self.gamma_h_l = nn.Linear(self.delta_size, hidden_size)
        self.fc, self.bn, self.drop = nn.Linear(hidden_size, num_classes), nn.BatchNorm1d(hidden_size), nn.Dropout(0.3)

    def step(self, x: Tensor, x_last_obsv: Tensor, x_mean: Tensor, h: Tensor, mask: Tensor, delta: Tensor) -> Tensor:
        """The next state."""
        delta_x = torch.exp(-torch.max(torch.zeros_like(delta), self.gamma_x_l(delta)))
        delta_h = torch.exp(-torch.max(torch.zeros_like(h), self.gamma_h_l(delta)))
        x = mask * x + (1 - mask) * (delta_x * x_last_obsv + (1 - delta_x) * x_mean)
        h = delta_h * h
        combined = torch.cat((x, h, mask), 1)
        z = torch.sigmoid(self.zl(combined))
        r = torch.sigmoid(self.rl(combined))
        combined_r = torch.cat((x, r * h, mask), 1)
        h_tilde = torch.tanh(self.hl(combined_r))
        return (1 - z) * h + z * h_tilde

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:  # noqa: A002 - the repository's name
        """Classes, and the states; the input has values, last values, masks and distances."""
        batch_size, step_size = input.size(0), input.size(2)
        hidden_state = torch.zeros(batch_size, self.hidden_size)
        x, x_last_obsv = torch.squeeze(input[:, 0, :, :], 1), torch.squeeze(input[:, 1, :, :], 1)
        mask, delta = torch.squeeze(input[:, 2, :, :], 1), torch.squeeze(input[:, 3, :, :], 1)
        outputs = None
        for i in range(step_size):
            hidden_state = self.step(
                torch.squeeze(x[:, i : i + 1, :], 1), torch.squeeze(x_last_obsv[:, i : i + 1, :], 1), self.x_mean,
                hidden_state, torch.squeeze(mask[:, i : i + 1, :], 1), torch.squeeze(delta[:, i : i + 1, :], 1),
            )  # fmt: skip
            if outputs is None:
                outputs = hidden_state.unsqueeze(1)
            else:
                outputs = torch.cat((outputs, hidden_state.unsqueeze(1)), 1)
        return torch.sigmoid(self.fc(self.drop(self.bn(hidden_state)))), outputs


def _gaps() -> Tensor:
    values, mask = torch.randn(3, 9, 6), (torch.rand(3, 9, 6) < 0.6).float()
    return torch.stack([values * mask, torch.randn(3, 9, 6), mask, torch.rand(3, 9, 6) * 3], 1)


class Expert(nn.Module):
    """Two layers."""

    def __init__(self, input_size: int, output_size: int, hidden_size: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        """One opinion."""
        out = self.fc1(x)
        out = self.relu(out)
        out = self.dropout(out)
        return self.fc2(out)


class Tower(nn.Module):
    """Two layers, and a probability."""

    def __init__(self, input_size: int, output_size: int, hidden_size: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)
        self.relu, self.dropout, self.sigmoid = nn.ReLU(), nn.Dropout(0.4), nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        """Of a task."""
        out = self.dropout(self.relu(self.fc1(x)))
        return self.sigmoid(self.fc2(out))


class MMoE(nn.Module):
    """Tasks that share experts, each of which has a gate of its own: clicks and purchases of a user."""

    def __init__(
        self, user_features: dict[str, int], item_features: dict[str, int], num_dense: int = 8, emb_dim: int = 8,
        num_experts: int = 6, experts_out: int = 16, experts_hidden: int = 32, towers_hidden: int = 8, tasks: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.user_features, self.item_features = user_features, item_features
        self.num_experts, self.tasks = num_experts, tasks
        for name, size in (*user_features.items(), *item_features.items()):
            setattr(self, f"{name}_emb", nn.Embedding(size, emb_dim))
        input_size = emb_dim * (len(user_features) + len(item_features)) + num_dense
        self.softmax = nn.Softmax(dim=1)
        self.experts = nn.ModuleList([Expert(input_size, experts_out, experts_hidden) for _ in range(num_experts)])
        self.w_gates = nn.ParameterList(
            [nn.Parameter(torch.randn(input_size, num_experts), requires_grad=True) for _ in range(tasks)]
        )
        self.towers = nn.ModuleList([Tower(experts_out, 1, towers_hidden) for _ in range(tasks)])

    def embed(self, x: dict[str, Tensor]) -> Tensor:
        """All features in a row."""
        user = torch.cat([getattr(self, f"{name}_emb")(x[name]) for name in self.user_features], 1)
        item = torch.cat([getattr(self, f"{name}_emb")(x[name]) for name in self.item_features], 1)
        return torch.cat([user, item, x["dense"]], dim=1).float()

    def forward(self, x: dict[str, Tensor]) -> list[Tensor]:
        """A probability for each task, and of both together."""
        inputs = self.embed(x)
        experts_o = [e(inputs) for e in self.experts]
        experts_o_tensor = torch.stack(experts_o)
        gates_o = [self.softmax(inputs @ g) for g in self.w_gates]
        tower_input = [g.t().unsqueeze(2).expand(-1, -1, experts_o_tensor.size(2)) * experts_o_tensor for g in gates_o]
        tower_input = [torch.sum(ti, dim=0) for ti in tower_input]
        final_output = [t(ti) for t, ti in zip(self.towers, tower_input, strict=True)]
        final_output.append(final_output[0] * final_output[1])
        return final_output


def _user_and_item() -> dict[str, Tensor]:
    one = {name: torch.randint(0, 10, (4,)) for name in ("age", "city", "device", "item", "shop")}
    return {**one, "dense": torch.randn(4, 8)}


def fixed_pos_embedding(x: Tensor) -> tuple[Tensor, Tensor]:
    """Sines and cosines of places."""
    seq_len, dim = x.shape
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim) / dim))
    sinusoid_inp = torch.einsum("i , j -> i j", torch.arange(0, seq_len, dtype=torch.float), inv_freq).to(x)
    return torch.sin(sinusoid_inp), torch.cos(sinusoid_inp)


def rotate_every_two(x: Tensor) -> Tensor:
    """A quarter turn of each pair."""
    x1, x2 = x[:, :, ::2], x[:, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def duplicate_interleave(m: Tensor) -> Tensor:
    """Each number twice."""
    dim0 = m.shape[0]
    m = m.view(-1, 1)
    m = m.repeat(1, 2)
    return m.view(dim0, -1)


def apply_rotary_pos_emb(x: Tensor, sin: Tensor, cos: Tensor, scale: Tensor | float = 1) -> Tensor:
    """Turned by its place."""
    sin, cos = (duplicate_interleave(t * scale) for t in (sin, cos))
    return (x * cos[: x.shape[1]]) + (rotate_every_two(x) * sin)[:, : x.shape[1]]


class XPOS(nn.Module):
    """Turns whose length shrinks with the distance."""

    scale: Tensor

    def __init__(self, head_dim: int, scale_base: int = 512) -> None:
        super().__init__()
        self.head_dim, self.scale_base = head_dim, scale_base
        self.register_buffer("scale", (torch.arange(0, head_dim, 2) + 0.4 * head_dim) / (1.4 * head_dim))

    def forward(self, x: Tensor, offset: int = 0, downscale: bool = False) -> Tensor:
        """The same shape."""
        length = x.shape[1]
        min_pos, max_pos = 0, length + offset + 0
        scale = self.scale ** torch.arange(min_pos, max_pos, 1).to(self.scale).div(self.scale_base)[:, None]
        sin, cos = fixed_pos_embedding(scale)
        if scale.shape[0] > length:
            scale, sin, cos = scale[-length:], sin[-length:], cos[-length:]
        if downscale:
            scale = 1 / scale
        return apply_rotary_pos_emb(x, sin, cos, scale)


class SimpleRetention(nn.Module):
    """A head: attention without a softmax that fades by a factor of its own."""

    def __init__(self, hidden_size: int, gamma: float, head_size: int, double_v_dim: bool = False) -> None:
        super().__init__()
        self.v_dim, self.gamma = head_size * 2 if double_v_dim else head_size, gamma
        self.W_Q = nn.Parameter(torch.randn(hidden_size, head_size) / hidden_size)
        self.W_K = nn.Parameter(torch.randn(hidden_size, head_size) / hidden_size)
        self.W_V = nn.Parameter(torch.randn(hidden_size, self.v_dim) / hidden_size)
        self.xpos = XPOS(head_size)

    def _get_D(self, sequence_length: int) -> Tensor:  # noqa: N802 - the paper's letter
        n = torch.arange(sequence_length).unsqueeze(1)
        m = torch.arange(sequence_length).unsqueeze(0)
        d = (self.gamma ** (n - m)) * (n >= m).float()
        d[d != d] = 0
        return d

    def forward(self, x: Tensor) -> Tensor:
        """All places at once."""
        sequence_length = x.shape[1]
        d = self._get_D(sequence_length)
        q, k, v = x @ self.W_Q, x @ self.W_K, x @ self.W_V
        q, k = self.xpos(q), self.xpos(k, downscale=True)
        ret = (q @ k.permute(0, 2, 1)) * d.unsqueeze(0)
        return ret @ v


class MultiScaleRetention(nn.Module):
    """Heads that fade at different speeds, normed each by itself and gated."""

    def __init__(self, hidden_size: int, heads: int, double_v_dim: bool = False) -> None:
        super().__init__()
        self.heads, self.head_size = heads, hidden_size // heads
        self.v_dim = hidden_size * 2 if double_v_dim else hidden_size
        self.head_v_dim = self.v_dim // heads
        self.gammas = (1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), heads))).tolist()
        self.swish = lambda x: x * torch.sigmoid(x)
        self.W_G = nn.Parameter(torch.randn(hidden_size, self.v_dim) / hidden_size)
        self.W_O = nn.Parameter(torch.randn(self.v_dim, hidden_size) / hidden_size)
        self.group_norm = nn.GroupNorm(heads, self.v_dim)
        self.retentions = nn.ModuleList(
            [SimpleRetention(hidden_size, gamma, self.head_size, double_v_dim) for gamma in self.gammas]
        )

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        y = [self.retentions[i](x) for i in range(self.heads)]
        out = torch.cat(y, dim=2)
        y_shape = out.shape
        out = self.group_norm(out.reshape(-1, self.v_dim)).reshape(y_shape)
        return (self.swish(x @ self.W_G) * out) @ self.W_O


class RetNet(nn.Module):
    """Words from the words before them."""

    def __init__(
        self, vocab: int = 100, layers: int = 3, hidden_dim: int = 32, ffn_size: int = 64, heads: int = 4
    ) -> None:
        super().__init__()
        self.layers, self.embed = layers, nn.Embedding(vocab, hidden_dim)
        self.retentions = nn.ModuleList([MultiScaleRetention(hidden_dim, heads, True) for _ in range(layers)])
        self.ffns = nn.ModuleList([
            nn.Sequential(nn.Linear(hidden_dim, ffn_size), nn.GELU(), nn.Linear(ffn_size, hidden_dim))
            for _ in range(layers)
        ])  # fmt: skip
        self.layer_norms_1 = nn.ModuleList([nn.LayerNorm(hidden_dim) for _ in range(layers)])
        self.layer_norms_2 = nn.ModuleList([nn.LayerNorm(hidden_dim) for _ in range(layers)])
        self.out = nn.Linear(hidden_dim, vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of each next word."""
        x = self.embed(tokens)
        for i in range(self.layers):
            y = self.retentions[i](self.layer_norms_1[i](x)) + x
            x = self.ffns[i](self.layer_norms_2[i](y)) + y
        return self.out(x)


def exponential_linspace_int(start: int, end: int, num: int, divisible_by: int = 1) -> list[int]:
    """Numbers of channels, each larger than the last by the same factor."""
    base = math.exp(math.log(end / start) / (num - 1))
    return [int(round(start * base**i / divisible_by) * divisible_by) for i in range(num)]


def get_positional_features_exponential(positions: Tensor, features: int, seq_len: int) -> Tensor:
    """How near, for half-lives that double."""
    max_range = math.log(seq_len) / math.log(2.0)
    half_life = 2 ** torch.linspace(3.0, max_range, features)
    half_life = half_life[None, ...]
    positions = positions.abs()[..., None]
    return torch.exp(-math.log(2.0) / half_life * positions)


def get_positional_features_central_mask(positions: Tensor, features: int, seq_len: int) -> Tensor:
    """Whether it is nearer than a power of two."""
    center_widths = 2 ** torch.arange(1, features + 1).float()
    center_widths = center_widths - 1
    return (center_widths[None, ...] > positions.abs()[..., None]).float()


def gamma_pdf(x: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
    """The density of a gamma distribution."""
    log_unnormalized_prob = torch.xlogy(concentration - 1.0, x) - rate * x
    log_normalization = torch.lgamma(concentration) - concentration * torch.log(rate)
    return torch.exp(log_unnormalized_prob - log_normalization)


def get_positional_features_gamma(positions: Tensor, features: int, seq_len: int, eps: float = 1e-8) -> Tensor:
    """How likely under densities whose means are farther and farther."""
    stddev = seq_len / (2 * features)
    start_mean = seq_len / features
    mean = torch.linspace(start_mean, seq_len, features)[None, ...]
    concentration = (mean / stddev) ** 2
    rate = mean / stddev**2
    probabilities = gamma_pdf(positions.float().abs()[..., None], concentration, rate)
    probabilities = probabilities + eps
    return probabilities / torch.amax(probabilities, dim=-1, keepdim=True)


def get_positional_embed(seq_len: int, feature_size: int) -> Tensor:
    """Of all distances, the same again with their sign."""
    distances = torch.arange(-seq_len + 1, seq_len)
    feature_functions = (
        get_positional_features_exponential, get_positional_features_central_mask, get_positional_features_gamma,
    )  # fmt: skip
    num_components = len(feature_functions) * 2
    if (feature_size % num_components) != 0:
        raise ValueError(f"feature size is not divisible by number of components ({num_components})")
    num_basis_per_class = feature_size // num_components
    embeddings = torch.cat([fn(distances, num_basis_per_class, seq_len) for fn in feature_functions], dim=-1)
    return torch.cat((embeddings, torch.sign(distances)[..., None] * embeddings), dim=-1)


def relative_shift(x: Tensor) -> Tensor:
    """From distances to places."""
    to_pad = torch.zeros_like(x[..., :1])
    x = torch.cat((to_pad, x), dim=-1)
    _, h, t1, t2 = x.shape
    x = x.reshape(-1, h, t2, t1)
    x = x[:, :, 1:, :]
    x = x.reshape(-1, h, t1, t2 - 1)
    return x[..., : ((t2 + 1) // 2)]


class Residual(nn.Module):
    """A skip around anything."""

    def __init__(self, fn: nn.Module) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        """The same shape."""
        return self.fn(x, **kwargs) + x


class GELU(nn.Module):
    """The approximation of the paper."""

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return torch.sigmoid(1.702 * x) * x


class AttentionPool(nn.Module):
    """Neighbours weighed by what they are."""

    def __init__(self, dim: int, pool_size: int = 2) -> None:
        super().__init__()
        self.pool_size = pool_size
        self.to_attn_logits = nn.Conv2d(dim, dim, 1, bias=False)
        nn.init.dirac_(self.to_attn_logits.weight)
        with torch.no_grad():
            self.to_attn_logits.weight.mul_(2)

    def pool_fn(self, x: Tensor) -> Tensor:
        """Neighbours in a dimension of their own."""
        b, d, n = x.shape
        return x.reshape(b, d, n // self.pool_size, self.pool_size)

    def forward(self, x: Tensor) -> Tensor:
        """Half as long, rounded up."""
        b, _, n = x.shape
        remainder = n % self.pool_size
        needs_padding = remainder > 0
        if needs_padding:
            x = F.pad(x, (0, remainder), value=0)
            mask = torch.zeros((b, 1, n), dtype=torch.bool)
            mask = F.pad(mask, (0, remainder), value=True)
        x = self.pool_fn(x)
        logits = self.to_attn_logits(x)
        if needs_padding:
            mask_value = -torch.finfo(logits.dtype).max
            logits = logits.masked_fill(self.pool_fn(mask), mask_value)
        attn = logits.softmax(dim=-1)
        return (x * attn).sum(dim=-1)


class TargetLengthCrop(nn.Module):
    """The middle of a sequence."""

    def __init__(self, target_length: int) -> None:
        super().__init__()
        self.target_length = target_length

    def forward(self, x: Tensor) -> Tensor:
        """As long as the target."""
        seq_len, target_len = x.shape[-2], self.target_length
        if target_len == -1:
            return x
        if seq_len < target_len:
            raise ValueError(f"sequence length {seq_len} is less than target length {target_len}")
        trim = (target_len - seq_len) // 2
        return x if trim == 0 else x[:, -trim:trim]


def ConvBlock(dim: int, dim_out: int | None = None, kernel_size: int = 1) -> nn.Sequential:  # noqa: N802
    """A norm, an activation and a convolution."""
    return nn.Sequential(
        nn.BatchNorm1d(dim), GELU(), nn.Conv1d(dim, dim_out or dim, kernel_size, padding=kernel_size // 2)
    )


class RelativeAttention(nn.Module):
    """Attention with biases for content and for distance."""

    def __init__(self, dim: int, *, num_rel_pos_features: int, heads: int, dim_key: int, dim_value: int) -> None:
        super().__init__()
        self.scale, self.heads = dim_key**-0.5, heads
        self.to_q = nn.Linear(dim, dim_key * heads, bias=False)
        self.to_k = nn.Linear(dim, dim_key * heads, bias=False)
        self.to_v = nn.Linear(dim, dim_value * heads, bias=False)
        self.to_out = nn.Linear(dim_value * heads, dim)
        nn.init.zeros_(self.to_out.bias)
        self.num_rel_pos_features = num_rel_pos_features
        self.to_rel_k = nn.Linear(num_rel_pos_features, dim_key * heads, bias=False)
        self.rel_content_bias = nn.Parameter(torch.randn(1, heads, 1, dim_key))
        self.rel_pos_bias = nn.Parameter(torch.randn(1, heads, 1, dim_key))
        self.pos_dropout, self.attn_dropout = nn.Dropout(0.01), nn.Dropout(0.05)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        b, n, h = x.shape[0], x.shape[-2], self.heads
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        q, k, v = (t.view(b, n, h, -1).transpose(1, 2) for t in (q, k, v))
        q = q * self.scale
        content_logits = torch.einsum("b h i d, b h j d -> b h i j", q + self.rel_content_bias, k)
        positions = self.pos_dropout(get_positional_embed(n, self.num_rel_pos_features))
        rel_k = self.to_rel_k(positions)
        rel_k = rel_k.view(rel_k.shape[0], h, -1).transpose(0, 1)
        rel_logits = torch.einsum("b h i d, h j d -> b h i j", q + self.rel_pos_bias, rel_k)
        rel_logits = relative_shift(rel_logits)
        attn = (content_logits + rel_logits).softmax(dim=-1)
        attn = self.attn_dropout(attn)
        out = torch.einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


class Enformer(nn.Module):
    """Tracks of genomes of two species from a sequence of bases."""

    def __init__(
        self, dim: int = 48, depth: int = 3, heads: int = 4, num_downsamples: int = 4, target_length: int = 12,
        output_heads: dict[str, int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        half_dim, twice_dim = dim // 2, dim * 2
        self.stem = nn.Sequential(
            nn.Conv1d(4, half_dim, 15, padding=7), Residual(ConvBlock(half_dim)), AttentionPool(half_dim, pool_size=2)
        )
        filter_list = exponential_linspace_int(half_dim, dim, num=num_downsamples - 1, divisible_by=8)
        filter_list = [half_dim, *filter_list]
        conv_layers = []
        for dim_in, dim_out in pairwise(filter_list):
            conv_layers.append(
                nn.Sequential(
                    ConvBlock(dim_in, dim_out, kernel_size=5), Residual(ConvBlock(dim_out, dim_out, 1)),
                    AttentionPool(dim_out, pool_size=2),
                )
            )  # fmt: skip
        self.conv_tower = nn.Sequential(*conv_layers)
        transformer = []
        for _ in range(depth):
            attn = RelativeAttention(dim, heads=heads, dim_key=16, dim_value=dim // heads, num_rel_pos_features=12)
            transformer.append(
                nn.Sequential(
                    Residual(nn.Sequential(nn.LayerNorm(dim), attn, nn.Dropout(0.4))),
                    Residual(
                        nn.Sequential(
                            nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.Dropout(0.4), nn.ReLU(),
                            nn.Linear(dim * 2, dim), nn.Dropout(0.4),
                        )
                    ),
                )
            )  # fmt: skip
        self.transformer = nn.Sequential(*transformer)
        self.crop_final = TargetLengthCrop(target_length)
        self.final_conv = ConvBlock(filter_list[-1], twice_dim, 1)
        self.final_act = nn.Sequential(nn.Dropout(0.05), GELU())
        output_heads = output_heads or {"human": 53, "mouse": 16}
        self._heads = nn.ModuleDict({
            key: nn.Sequential(nn.Linear(twice_dim, features), nn.Softplus()) for key, features in output_heads.items()
        })  # fmt: skip

    def trunk(self, x: Tensor) -> Tensor:
        """All but the heads."""
        x = x.transpose(1, 2)
        x = self.conv_tower(self.stem(x))
        x = x.transpose(1, 2)
        x = self.crop_final(self.transformer(x))
        return self.final_act(self.final_conv(x.transpose(1, 2)).transpose(1, 2))

    def forward(self, seq: Tensor) -> dict[str, Tensor]:
        """Tracks by species."""
        x = F.one_hot(seq, 4).float() if seq.dtype == torch.long else seq
        x = self.trunk(x)
        return {name: head(x) for name, head in self._heads.items()}


class FeaturesLinear(nn.Module):
    """A number for each value of each field."""

    offsets: Tensor

    def __init__(self, field_dims: list[int], output_dim: int = 1) -> None:
        super().__init__()
        self.fc = nn.Embedding(sum(field_dims), output_dim)
        self.bias = nn.Parameter(torch.zeros((output_dim,)))
        self.register_buffer("offsets", torch.tensor((0, *field_dims[:-1])).cumsum(0))

    def forward(self, x: Tensor) -> Tensor:
        """Their sum."""
        x = x + self.offsets.unsqueeze(0)
        return torch.sum(self.fc(x), dim=1) + self.bias


class FeaturesEmbedding(nn.Module):
    """A vector for each value of each field, all in one table."""

    offsets: Tensor

    def __init__(self, field_dims: list[int], embed_dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sum(field_dims), embed_dim)
        self.register_buffer("offsets", torch.tensor((0, *field_dims[:-1])).cumsum(0))
        nn.init.xavier_uniform_(self.embedding.weight.data)

    def forward(self, x: Tensor) -> Tensor:
        """One for each field."""
        return self.embedding(x + self.offsets.unsqueeze(0))


class CompressedInteractionNetwork(nn.Module):
    """Products of all fields with what the layer before made; half of a layer goes on, half is an output."""

    def __init__(self, input_dim: int, cross_layer_sizes: tuple[int, ...], split_half: bool = True) -> None:
        super().__init__()
        self.num_layers, self.split_half, self.conv_layers = len(cross_layer_sizes), split_half, nn.ModuleList()
        prev_dim, fc_input_dim = input_dim, 0
        for i, size in enumerate(cross_layer_sizes):
            cross_layer_size = size
            self.conv_layers.append(nn.Conv1d(input_dim * prev_dim, cross_layer_size, 1, stride=1, bias=True))
            if self.split_half and i != self.num_layers - 1:
                cross_layer_size //= 2
            prev_dim = cross_layer_size
            fc_input_dim += prev_dim
        self.fc = nn.Linear(fc_input_dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """A number for each row."""
        xs = []
        x0, h = x.unsqueeze(2), x
        for i in range(self.num_layers):
            x = x0 * h.unsqueeze(1)
            batch_size, f0_dim, fin_dim, embed_dim = x.shape
            x = x.view(batch_size, f0_dim * fin_dim, embed_dim)
            x = F.relu(self.conv_layers[i](x))
            if self.split_half and i != self.num_layers - 1:
                x, h = torch.split(x, x.shape[1] // 2, dim=1)
            else:
                h = x
            xs.append(x)
        return self.fc(torch.sum(torch.cat(xs, dim=1), 2))


class MultiLayerPerceptron(nn.Module):
    """Layers with norms."""

    def __init__(self, input_dim: int, embed_dims: tuple[int, ...], dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for embed_dim in embed_dims:
            layers.append(nn.Linear(input_dim, embed_dim))
            layers.append(nn.BatchNorm1d(embed_dim))
            layers.append(nn.ReLU())
            layers.append(nn.Dropout(p=dropout))
            input_dim = embed_dim
        layers.append(nn.Linear(input_dim, 1))
        self.mlp = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """A number for each row."""
        return self.mlp(x)


class ExtremeDeepFM(nn.Module):
    """The probability of a click, by a sum, products of fields, and layers."""

    def __init__(self, field_dims: list[int], embed_dim: int = 8, split_half: bool = True) -> None:
        super().__init__()
        self.embedding = FeaturesEmbedding(field_dims, embed_dim)
        self.embed_output_dim = len(field_dims) * embed_dim
        self.cin = CompressedInteractionNetwork(len(field_dims), (16, 16, 16), split_half)
        self.mlp = MultiLayerPerceptron(self.embed_output_dim, (32, 32), dropout=0.2)
        self.linear = FeaturesLinear(field_dims)

    def forward(self, x: Tensor) -> Tensor:
        """A probability."""
        embed_x = self.embedding(x)
        x = self.linear(x) + self.cin(embed_x) + self.mlp(embed_x.view(-1, self.embed_output_dim))
        return torch.sigmoid(x.squeeze(1))


class Flatten(nn.Module):
    """A vector of each image."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the repository's name
        """The batch stays."""
        return input.reshape(input.size(0), -1)


class CnnActorCriticNetwork(nn.Module):
    """Scores of actions, and the value of a state."""

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.feature = nn.Sequential(
            nn.Conv2d(in_channels=input_size, out_channels=16, kernel_size=8, stride=4), nn.LeakyReLU(),
            nn.Conv2d(in_channels=16, out_channels=32, kernel_size=4, stride=2), nn.LeakyReLU(),
            nn.Conv2d(in_channels=32, out_channels=32, kernel_size=3, stride=1), nn.LeakyReLU(), Flatten(),
            nn.Linear(7 * 7 * 32, 64), nn.LeakyReLU(),
        )  # fmt: skip
        self.actor = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, output_size))
        self.critic = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 1))
        for p in self.modules():
            if isinstance(p, (nn.Conv2d, nn.Linear)):
                nn.init.orthogonal_(p.weight, math.sqrt(2))
                p.bias.data.zero_()

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of actions, and a value."""
        x = self.feature(state)
        return self.actor(x), self.critic(x)


class ICMModel(nn.Module):
    """Curiosity: how badly the next features are guessed, which must tell the action that led to them."""

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.feature = nn.Sequential(
            nn.Conv2d(in_channels=input_size, out_channels=16, kernel_size=8, stride=4), nn.LeakyReLU(),
            nn.Conv2d(in_channels=16, out_channels=32, kernel_size=4, stride=2), nn.LeakyReLU(),
            nn.Conv2d(in_channels=32, out_channels=32, kernel_size=3, stride=1), nn.LeakyReLU(), Flatten(),
            nn.Linear(7 * 7 * 32, 64),
        )  # fmt: skip
        self.inverse_net = nn.Sequential(nn.Linear(64 * 2, 64), nn.ReLU(), nn.Linear(64, output_size))
        self.residual = nn.ModuleList(
            [nn.Sequential(nn.Linear(output_size + 64, 64), nn.LeakyReLU(), nn.Linear(64, 64)) for _ in range(8)]
        )
        self.forward_net_1 = nn.Sequential(nn.Linear(output_size + 64, 64), nn.LeakyReLU())
        self.forward_net_2 = nn.Sequential(nn.Linear(output_size + 64, 64))

    def forward(self, inputs: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """The next features, the guess of them, and the guess of the action."""
        state, next_state, action = inputs
        encode_state = self.feature(state)
        encode_next_state = self.feature(next_state)
        pred_action = torch.cat((encode_state, encode_next_state), 1)
        pred_action = self.inverse_net(pred_action)
        pred_next_state_feature_orig = torch.cat((encode_state, action), 1)
        pred_next_state_feature_orig = self.forward_net_1(pred_next_state_feature_orig)
        for i in range(4):
            pred_next_state_feature = self.residual[i * 2](torch.cat((pred_next_state_feature_orig, action), 1))
            pred_next_state_feature_orig = (
                self.residual[i * 2 + 1](torch.cat((pred_next_state_feature, action), 1)) + pred_next_state_feature_orig
            )
        pred_next_state_feature = self.forward_net_2(torch.cat((pred_next_state_feature_orig, action), 1))
        return encode_next_state, pred_next_state_feature, pred_action


class ICMAgent(nn.Module):
    """A step of training: the loss of the policy and of the model that is curious."""

    def __init__(self, input_size: int = 4, output_size: int = 6, eta: float = 0.01, clip: float = 0.1) -> None:
        super().__init__()
        self.output_size, self.eta, self.ppo_eps, self.ent_coef = output_size, eta, clip, 0.001
        self.model, self.icm = CnnActorCriticNetwork(input_size, output_size), ICMModel(input_size, output_size)

    def compute_intrinsic_reward(self, state: Tensor, next_state: Tensor, action_onehot: Tensor) -> Tensor:
        """The error of the guess."""
        real, pred, _ = self.icm((state, next_state, action_onehot))
        return self.eta * F.mse_loss(real, pred, reduction="none").mean(-1)

    def forward(
        self, s_batch: Tensor, next_s_batch: Tensor, y_batch: Tensor, log_prob_old: Tensor, adv: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The reward of curiosity and the loss."""
        action_onehot = F.one_hot(y_batch, self.output_size).float()
        with torch.no_grad():
            reward = self.compute_intrinsic_reward(s_batch, next_s_batch, action_onehot)
        real_next, pred_next, pred_action = self.icm((s_batch, next_s_batch, action_onehot))
        inverse_loss = F.cross_entropy(pred_action, y_batch)
        forward_loss = F.mse_loss(pred_next, real_next.detach())
        policy, value = self.model(s_batch)
        log_probs = F.log_softmax(policy, -1)
        log_prob = log_probs.gather(1, y_batch.unsqueeze(1)).squeeze(1)
        ratio = torch.exp(log_prob - log_prob_old)
        surr1 = ratio * adv
        surr2 = torch.clamp(ratio, 1.0 - self.ppo_eps, 1.0 + self.ppo_eps) * adv
        actor_loss = -torch.min(surr1, surr2).mean()
        critic_loss = F.mse_loss(value.sum(1), reward + adv)
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = (actor_loss + 0.5 * critic_loss - self.ent_coef * entropy) + forward_loss + inverse_loss
        return reward, loss


class RNNAgent(nn.Module):
    """The values of an agent's actions, from its observation and its state."""

    def __init__(self, input_shape: int, rnn_hidden_dim: int, n_actions: int) -> None:
        super().__init__()
        self.rnn_hidden_dim = rnn_hidden_dim
        self.fc1, self.rnn = nn.Linear(input_shape, rnn_hidden_dim), nn.GRUCell(rnn_hidden_dim, rnn_hidden_dim)
        self.fc2 = nn.Linear(rnn_hidden_dim, n_actions)

    def init_hidden(self) -> Tensor:
        """Zeros like the weights."""
        return self.fc1.weight.new(1, self.rnn_hidden_dim).zero_()

    def forward(self, inputs: Tensor, hidden_state: Tensor) -> tuple[Tensor, Tensor]:
        """Of each action, and the next state."""
        x = F.relu(self.fc1(inputs))
        h_in = hidden_state.reshape(-1, self.rnn_hidden_dim)
        h = self.rnn(x, h_in)
        return self.fc2(h), h


class QMixer(nn.Module):
    """The value of all agents together, by a net whose weights are computed from the state and are never negative."""

    def __init__(self, n_agents: int, state_dim: int, embed_dim: int = 16, hypernet_embed: int = 32) -> None:
        super().__init__()
        self.n_agents, self.state_dim, self.embed_dim = n_agents, state_dim, embed_dim
        self.hyper_w_1 = nn.Sequential(
            nn.Linear(state_dim, hypernet_embed), nn.ReLU(), nn.Linear(hypernet_embed, embed_dim * n_agents)
        )
        self.hyper_w_final = nn.Sequential(
            nn.Linear(state_dim, hypernet_embed), nn.ReLU(), nn.Linear(hypernet_embed, embed_dim)
        )
        self.hyper_b_1 = nn.Linear(state_dim, embed_dim)
        self.V = nn.Sequential(nn.Linear(state_dim, embed_dim), nn.ReLU(), nn.Linear(embed_dim, 1))

    def forward(self, agent_qs: Tensor, states: Tensor) -> Tensor:
        """For each step."""
        bs = agent_qs.size(0)
        states = states.reshape(-1, self.state_dim)
        agent_qs = agent_qs.view(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w_1(states))
        b1 = self.hyper_b_1(states)
        w1 = w1.view(-1, self.n_agents, self.embed_dim)
        b1 = b1.view(-1, 1, self.embed_dim)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states))
        w_final = w_final.view(-1, self.embed_dim, 1)
        v = self.V(states).view(-1, 1, 1)
        y = torch.bmm(hidden, w_final) + v
        return y.view(bs, -1, 1)


class BasicMAC(nn.Module):
    """All agents, which share a net and know which one they are."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__()
        self.args, self.n_agents = args, args["n_agents"]
        input_shape = args["obs_shape"] + (args["n_actions"] if args["obs_last_action"] else 0)
        input_shape += args["n_agents"] if args["obs_agent_id"] else 0
        self.agent = RNNAgent(input_shape, args["rnn_hidden_dim"], args["n_actions"])
        self.hidden_states: Any = None

    def init_hidden(self, batch_size: int) -> None:
        """Before an episode."""
        self.hidden_states = self.agent.init_hidden().unsqueeze(0).expand(batch_size, self.n_agents, -1)

    def _build_inputs(self, batch: dict[str, Tensor], t: int) -> Tensor:
        bs = batch["obs"].shape[0]
        inputs = [batch["obs"][:, t]]
        if self.args["obs_last_action"]:
            if t == 0:
                inputs.append(torch.zeros_like(batch["actions_onehot"][:, t]))
            else:
                inputs.append(batch["actions_onehot"][:, t - 1])
        if self.args["obs_agent_id"]:
            inputs.append(torch.eye(self.n_agents).unsqueeze(0).expand(bs, -1, -1))
        return torch.cat([x.reshape(bs * self.n_agents, -1) for x in inputs], dim=1)

    def forward(self, ep_batch: dict[str, Tensor], t: int) -> Tensor:
        """Of each agent and action, at a step."""
        agent_inputs = self._build_inputs(ep_batch, t)
        agent_outs, self.hidden_states = self.agent(agent_inputs, self.hidden_states)
        return agent_outs.view(ep_batch["obs"].shape[0], self.n_agents, -1)


QMIX = {
    "n_agents": 3,
    "n_actions": 5,
    "obs_shape": 12,
    "state_shape": 20,
    "rnn_hidden_dim": 32,
    "obs_last_action": True,
    "obs_agent_id": True,
    "double_q": True,
    "gamma": 0.99,
}


class QLearner(nn.Module):
    """The loss of a batch of episodes; targets come of older copies of agents and mixer."""

    def __init__(self, args: dict[str, Any] = QMIX) -> None:
        super().__init__()
        self.args = args
        self.mac, self.mixer = BasicMAC(args), QMixer(args["n_agents"], args["state_shape"])
        self.target_mac, self.target_mixer = copy.deepcopy(self.mac), copy.deepcopy(self.mixer)

    def _outputs(self, mac: BasicMAC, batch: dict[str, Tensor]) -> list[Tensor]:
        out = []
        mac.init_hidden(batch["obs"].shape[0])
        for t in range(batch["obs"].shape[1]):
            out.append(mac(batch, t=t))  # noqa: PERF401 - as repositories write it
        return out

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The loss, and what the team could expect."""
        rewards, actions = batch["reward"][:, :-1], batch["actions"][:, :-1]
        terminated, mask = batch["terminated"][:, :-1].float(), batch["filled"][:, :-1].float()
        mask[:, 1:] = mask[:, 1:] * (1 - terminated[:, :-1])
        avail_actions = batch["avail_actions"]
        mac_out = torch.stack(self._outputs(self.mac, batch), dim=1)
        chosen_action_qvals = torch.gather(mac_out[:, :-1], dim=3, index=actions).squeeze(3)
        target_mac_out = torch.stack(self._outputs(self.target_mac, batch)[1:], dim=1)
        target_mac_out[avail_actions[:, 1:] == 0] = -9999999
        if self.args["double_q"]:
            mac_out_detach = mac_out.clone().detach()
            mac_out_detach[avail_actions == 0] = -9999999
            cur_max_actions = mac_out_detach[:, 1:].max(dim=3, keepdim=True)[1]
            target_max_qvals = torch.gather(target_mac_out, 3, cur_max_actions).squeeze(3)
        else:
            target_max_qvals = target_mac_out.max(dim=3)[0]
        chosen_action_qvals = self.mixer(chosen_action_qvals, batch["state"][:, :-1])
        target_max_qvals = self.target_mixer(target_max_qvals, batch["state"][:, 1:])
        targets = rewards + self.args["gamma"] * (1 - terminated) * target_max_qvals
        td_error = chosen_action_qvals - targets.detach()
        mask = mask.expand_as(td_error)
        masked_td_error = td_error * mask
        return (masked_td_error**2).sum() / mask.sum(), chosen_action_qvals


def _episodes() -> dict[str, Tensor]:
    actions = torch.randint(0, 5, (2, 6, 3, 1))
    return {
        **{"obs": torch.randn(2, 6, 3, 12), "state": torch.randn(2, 6, 20), "reward": torch.randn(2, 6, 1)},
        **{"actions": actions, "actions_onehot": F.one_hot(actions.squeeze(-1), 5).float()},
        **{"terminated": torch.zeros(2, 6, 1), "filled": torch.ones(2, 6, 1)},
        "avail_actions": (torch.rand(2, 6, 3, 5) < 0.8).long(),
    }


NETS = [
    Entry("own/grud", lambda: GRUD(6, 24, torch.zeros(6)), given(_gaps)),
    Entry(
        "own/mmoe",
        lambda: MMoE({"age": 10, "city": 30, "device": 10}, {"item": 80, "shop": 20}),
        given(_user_and_item),
    ),
    Entry("own/retnet", RetNet, given(words(1, 12))),
    Entry("own/enformer", Enformer, given(lambda: torch.randint(0, 4, (1, 256)))),
    Entry("own/xdeepfm", lambda: ExtremeDeepFM([10, 20, 30, 8, 50]), given(lambda: torch.randint(0, 8, (4, 5)))),
    Entry(
        "own/icm",
        ICMAgent,
        given(
            *(numbers(2, 4, 84, 84), numbers(2, 4, 84, 84), lambda: torch.randint(0, 6, (2,))),
            *(lambda: torch.full((2,), -1.8), numbers(2)),
        ),
    ),
    Entry("own/qmix", QLearner, given(_episodes)),
]
