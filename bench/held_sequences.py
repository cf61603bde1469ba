"""Nets of words, sounds, worlds and molecules as repositories write them, of the second list kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

State = dict[str, Tensor]


class DenseModel(nn.Module):
    """The perceptron that all parts of a world model are made of."""

    def __init__(self, n_in: int, n_out: int, layers: int = 2, hidden: int = 64) -> None:
        super().__init__()
        sizes = [n_in] + [hidden] * layers
        model: list[nn.Module] = []
        for i in range(layers):
            model += [nn.Linear(sizes[i], sizes[i + 1]), nn.LayerNorm(sizes[i + 1]), nn.SiLU()]
        self.model = nn.Sequential(*model, nn.Linear(sizes[-1], n_out))

    def forward(self, x: Tensor) -> Tensor:
        """Any number of axes before the last."""
        return self.model(x)


class ConvEncoder(nn.Module):
    """Frames of several games and times as one batch."""

    def __init__(self, depth: int = 8) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, depth, 4, 2, 1), nn.SiLU(), nn.Conv2d(depth, 2 * depth, 4, 2, 1), nn.SiLU(),
            nn.Conv2d(2 * depth, 4 * depth, 4, 2, 1), nn.SiLU(),
        )  # fmt: skip

    def forward(self, obs: Tensor) -> Tensor:
        """A vector for each."""
        x = self.conv(obs.flatten(0, 1))
        return x.reshape(*obs.shape[:2], -1)


class ConvDecoder(nn.Module):
    """Frames again."""

    def __init__(self, n_in: int, depth: int = 8) -> None:
        super().__init__()
        self.depth, self.linear = depth, nn.Linear(n_in, 4 * depth * 16)
        self.conv = nn.Sequential(
            nn.ConvTranspose2d(4 * depth, 2 * depth, 4, 2, 1), nn.SiLU(),
            nn.ConvTranspose2d(2 * depth, depth, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(depth, 3, 4, 2, 1),
        )  # fmt: skip

    def forward(self, features: Tensor) -> Tensor:
        """The mean of a distribution."""
        x = self.linear(features).view(-1, 4 * self.depth, 4, 4)
        return self.conv(x).view(*features.shape[:2], 3, 32, 32)


class RSSM(nn.Module):
    """A state with a part that is certain and a part that is drawn from categories."""

    def __init__(self, action: int, embed: int, deter: int = 64, categories: int = 8, classes: int = 8) -> None:
        super().__init__()
        self.categories, self.classes, self.deter, self.stoch = categories, classes, deter, categories * classes
        self.img_in = nn.Sequential(nn.Linear(self.stoch + action, deter), nn.LayerNorm(deter), nn.SiLU())
        self.cell = nn.GRUCell(deter, deter)
        self.img_out = DenseModel(deter, self.stoch, layers=1)
        self.obs_out = DenseModel(deter + embed, self.stoch, layers=1)

    def initial(self, batch: int) -> State:
        """Nothing is known."""
        return {"deter": torch.zeros(batch, self.deter), "stoch": torch.zeros(batch, self.stoch)}

    def suff_stats(self, logits: Tensor, unimix: float = 0.01) -> State:
        """A sample whose gradient goes straight through, and what it was drawn from."""
        logits = logits.view(*logits.shape[:-1], self.categories, self.classes)
        probs = (1 - unimix) * logits.softmax(-1) + unimix / self.classes
        onehot = F.one_hot(probs.argmax(-1), self.classes).to(probs)
        sample = onehot + probs - probs.detach()
        return {"logits": probs.log(), "stoch": sample.flatten(-2)}

    def img_step(self, prev: State, action: Tensor) -> State:
        """Imagined."""
        x = self.img_in(torch.cat([prev["stoch"], action], -1))
        deter = self.cell(x, prev["deter"])
        return {"deter": deter, **self.suff_stats(self.img_out(deter))}

    def obs_step(self, prev: State, action: Tensor, embed: Tensor, is_first: Tensor) -> tuple[State, State]:
        """Corrected by what is seen; a new game forgets the old one."""
        keep = 1.0 - is_first[:, None]
        prior = self.img_step({k: v * keep for k, v in prev.items() if k != "logits"}, action * keep)
        x = torch.cat([prior["deter"], embed], -1)
        return {"deter": prior["deter"], **self.suff_stats(self.obs_out(x))}, prior

    def observe(self, embed: Tensor, action: Tensor, is_first: Tensor) -> tuple[State, State]:
        """All steps, stacked."""
        state, posts, priors = self.initial(action.shape[0]), [], []
        for t in range(action.shape[1]):
            state, prior = self.obs_step(state, action[:, t], embed[:, t], is_first[:, t])
            posts.append(state)
            priors.append(prior)
        post, prior = ({k: torch.stack([s[k] for s in states], 1) for k in states[0]} for states in (posts, priors))
        return post, prior

    @staticmethod
    def get_feat(state: State) -> Tensor:
        """Features for the heads: both parts of the state, joined."""
        return torch.cat([state["stoch"], state["deter"]], -1)


class WorldModel(nn.Module):
    """Dreamer's: a state from which frames, rewards and endings are predicted (RSSM)."""

    def __init__(self, actions: int = 4, free: float = 1.0) -> None:
        super().__init__()
        self.free, self.encoder, self.dynamics = free, ConvEncoder(), RSSM(actions, 512)
        feat = self.dynamics.stoch + self.dynamics.deter
        self.heads = nn.ModuleDict(
            {"decoder": ConvDecoder(feat), "reward": DenseModel(feat, 21), "cont": DenseModel(feat, 1)}
        )

    def kl_loss(self, post: State, prior: State) -> Tensor:
        """Balanced: mostly the prior moves."""

        def kl(p: Tensor, q: Tensor) -> Tensor:
            return (p.exp() * (p - q)).sum((-1, -2)).clamp(min=self.free)

        dyn, rep = kl(post["logits"].detach(), prior["logits"]), kl(post["logits"], prior["logits"].detach())
        return 0.5 * dyn.mean() + 0.1 * rep.mean()

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        """Outputs of the heads, and the loss of the state."""
        embed = self.encoder(data["image"] - 0.5)
        post, prior = self.dynamics.observe(embed, data["action"], data["is_first"])
        feat = self.dynamics.get_feat(post)
        preds = {name: head(feat) for name, head in self.heads.items()}
        return {**preds, "kl": self.kl_loss(post, prior)}


def build_mlp(n_in: int, hidden: int, n_out: int, layers: int = 2, norm: bool = True) -> nn.Sequential:
    """Of encoder, processor and decoder."""
    sizes = [n_in] + [hidden] * layers + [n_out]
    mlp = nn.Sequential()
    for i in range(len(sizes) - 1):
        mlp.add_module(f"NN-{i}", nn.Linear(sizes[i], sizes[i + 1]))
        mlp.add_module(f"Act-{i}", nn.ReLU() if i < len(sizes) - 2 else nn.Identity())
    return nn.Sequential(mlp, nn.LayerNorm(n_out)) if norm else mlp


class InteractionNetwork(nn.Module):
    """Edges from their ends, nodes from their edges."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.edge_fn, self.node_fn = build_mlp(3 * latent, latent, latent), build_mlp(2 * latent, latent, latent)

    def forward(self, x: Tensor, edge_index: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        """Both with a skip."""
        senders, receivers = edge_index
        message = self.edge_fn(torch.cat([x[receivers], x[senders], e], dim=-1))
        aggregated = torch.zeros_like(x).index_add(0, receivers, message)
        update = self.node_fn(torch.cat([aggregated, x], dim=-1))
        return x + update, e + message


class EncodeProcessDecode(nn.Module):
    """A graph in, ten rounds of messages, accelerations out."""

    def __init__(self, node_in: int, edge_in: int, node_out: int, latent: int = 32, steps: int = 10) -> None:
        super().__init__()
        self.node_encoder, self.edge_encoder = build_mlp(node_in, latent, latent), build_mlp(edge_in, latent, latent)
        self.gnn_stacks = nn.ModuleList([InteractionNetwork(latent) for _ in range(steps)])
        self.decoder = build_mlp(latent, latent, node_out, norm=False)

    def forward(self, x: Tensor, edge_index: Tensor, e: Tensor) -> Tensor:
        """One vector for each node."""
        x, e = self.node_encoder(x), self.edge_encoder(e)
        for gnn in self.gnn_stacks:
            x, e = gnn(x, edge_index, e)
        return self.decoder(x)


class LearnedSimulator(nn.Module):
    """Particles that push one another (graph network simulator)."""

    boundaries: Tensor

    def __init__(self, dim: int = 2, history: int = 5, types: int = 4, radius: float = 0.3) -> None:
        super().__init__()
        self.radius = radius
        self.register_buffer("boundaries", torch.tensor([[0.0, 1.0]] * dim))
        self.register_buffer("vel_std", torch.ones(dim) * 0.01)
        self.particle_type_embedding = nn.Embedding(types, 16)
        self.net = EncodeProcessDecode(history * dim + 2 * dim + 16, dim + 1, dim)

    def encode(self, positions: Tensor, types: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Velocities, walls and kinds of nodes; how far the ends of edges are apart."""
        recent = positions[:, -1]
        velocities = (positions[:, 1:] - positions[:, :-1]) / self.get_buffer("vel_std")
        walls = torch.cat([recent - self.boundaries[:, 0], self.boundaries[:, 1] - recent], dim=1)
        walls = torch.clamp(walls / self.radius, -1.0, 1.0)
        near = torch.cdist(recent, recent) < self.radius
        senders, receivers = near.nonzero().unbind(1)
        offsets = (recent[senders] - recent[receivers]) / self.radius
        edges = torch.cat([offsets, offsets.norm(dim=-1, keepdim=True)], dim=-1)
        nodes = torch.cat([velocities.flatten(1), walls, self.particle_type_embedding(types)], dim=-1)
        return nodes, torch.stack([senders, receivers]), edges

    def forward(self, positions: Tensor, types: Tensor) -> Tensor:
        """Where the particles are next."""
        nodes, edge_index, edges = self.encode(positions, types)
        acceleration = self.net(nodes, edge_index, edges) * self.get_buffer("vel_std")
        velocity = positions[:, -1] - positions[:, -2] + acceleration
        return positions[:, -1] + velocity


class BatchLinear(nn.Sequential):
    """Layers with activations between them."""

    def __init__(self, *sizes: int) -> None:
        layers: list[nn.Module] = []
        for i in range(1, len(sizes)):
            layers += [nn.Linear(sizes[i - 1], sizes[i]), nn.ReLU()]
        super().__init__(*layers[:-1])


class CrossAttender(nn.Module):
    """Summary of the context for each target."""

    def __init__(self, d_x: int, d: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.key_mlp, self.value_mlp = BatchLinear(d_x, d, d), nn.Linear(d, d)
        self.w_q, self.w_k, self.w_v = (nn.ModuleList(nn.Linear(d, d // heads) for _ in range(heads)) for _ in "qkv")
        self.w_o = nn.Linear(d, d)

    def forward(self, x_target: Tensor, x_context: Tensor, r: Tensor) -> Tensor:
        """Each head by itself."""
        q, k, v = self.key_mlp(x_target), self.key_mlp(x_context), self.value_mlp(r)
        rep = []
        for i in range(self.heads):
            qi, ki, vi = self.w_q[i](q), self.w_k[i](k), self.w_v[i](v)
            weights = torch.softmax(qi @ ki.transpose(1, 2) / math.sqrt(qi.shape[-1]), dim=-1)
            rep.append(weights @ vi)
        return self.w_o(torch.cat(rep, dim=-1))


class AttentiveNeuralProcess(nn.Module):
    """A function from few of its points, with a path that is drawn and one that is not."""

    def __init__(self, d_x: int = 1, d_y: int = 1, d: int = 64, latent: int = 32) -> None:
        super().__init__()
        self.latent_encoder = BatchLinear(d_x + d_y, d, d, d)
        self.penultimate, self.mean, self.log_var = nn.Linear(d, d), nn.Linear(d, latent), nn.Linear(d, latent)
        self.deterministic_encoder = BatchLinear(d_x + d_y, d, d, d)
        self.self_attention = nn.ModuleList(nn.MultiheadAttention(d, 4, batch_first=True) for _ in range(2))
        self.cross_attention = CrossAttender(d_x, d)
        self.decoder = BatchLinear(d_x + d + latent, d, d, d)
        self.head_mu, self.head_sigma = nn.Linear(d, d_y), nn.Linear(d, d_y)

    def encode_latent(self, x: Tensor, y: Tensor) -> torch.distributions.Normal:
        """A distribution of functions."""
        s = self.latent_encoder(torch.cat([x, y], dim=-1)).mean(dim=1)
        hidden = torch.relu(self.penultimate(s))
        sigma = 0.1 + 0.9 * torch.sigmoid(self.log_var(hidden))
        return torch.distributions.Normal(self.mean(hidden), sigma)

    def forward(self, x_ctx: Tensor, y_ctx: Tensor, x_tgt: Tensor, y_tgt: Tensor | None = None) -> Any:
        """Mean and deviation; and the loss if the answer is given."""
        prior = self.encode_latent(x_ctx, y_ctx)
        posterior = prior if y_tgt is None else self.encode_latent(x_tgt, y_tgt)
        z = posterior.rsample() if y_tgt is not None else prior.mean
        r = self.deterministic_encoder(torch.cat([x_ctx, y_ctx], dim=-1))
        for attention in self.self_attention:
            r = r + attention(r, r, r, need_weights=False)[0]
        r_tgt = self.cross_attention(x_tgt, x_ctx, r)
        z = z.unsqueeze(1).expand(-1, x_tgt.shape[1], -1)
        hidden = self.decoder(torch.cat([x_tgt, r_tgt, z], dim=-1))
        mu, sigma = self.head_mu(hidden), 0.1 + 0.9 * F.softplus(self.head_sigma(hidden))
        if y_tgt is None:
            return mu, sigma
        decoded: Any = torch.distributions.Normal(mu, sigma)
        nll = -decoded.log_prob(y_tgt).sum(-1).mean()
        kl = torch.distributions.kl_divergence(posterior, prior).sum(-1).mean()
        return mu, sigma, nll + kl / x_tgt.shape[1]


class SummaryEncoder(nn.Module):
    """Reads the article; its two last states become one."""

    def __init__(self, embedding: nn.Embedding, d: int, hidden: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.lstm = nn.LSTM(d, hidden, num_layers=1, batch_first=True, bidirectional=True)
        self.w_h = nn.Linear(hidden * 2, hidden * 2, bias=False)
        self.reduce_h, self.reduce_c = nn.Linear(hidden * 2, hidden), nn.Linear(hidden * 2, hidden)

    def forward(self, src: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """States, features for attention, and where the decoder starts."""
        outputs, (h, c) = self.lstm(self.embedding(src))
        h = F.relu(self.reduce_h(h.transpose(0, 1).flatten(1)))
        c = F.relu(self.reduce_c(c.transpose(0, 1).flatten(1)))
        return outputs, self.w_h(outputs), (h, c)


class CoverageAttention(nn.Module):
    """It knows where it has looked."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.w_c = nn.Linear(1, hidden * 2, bias=False)
        self.decode_proj, self.v = nn.Linear(hidden * 2, hidden * 2), nn.Linear(hidden * 2, 1, bias=False)

    def forward(
        self, s_t: Tensor, outputs: Tensor, features: Tensor, mask: Tensor, coverage: Tensor
    ) -> tuple[Tensor, Tensor]:
        """A mean of states, and its weights."""
        att = features + self.decode_proj(s_t).unsqueeze(1) + self.w_c(coverage.unsqueeze(-1))
        scores = self.v(torch.tanh(att)).squeeze(-1)
        dist = F.softmax(scores, dim=1) * mask
        dist = dist / dist.sum(1, keepdim=True)
        return torch.bmm(dist.unsqueeze(1), outputs).squeeze(1), dist


class PointerGenerator(nn.Module):
    """Writes summaries, word by word: from a vocabulary, or copied from the article."""

    def __init__(self, vocab: int = 200, d: int = 32, hidden: int = 48) -> None:
        super().__init__()
        self.vocab, self.hidden = vocab, hidden
        self.embedding = nn.Embedding(vocab, d, padding_idx=0)
        self.encoder = SummaryEncoder(self.embedding, d, hidden)
        self.attention = CoverageAttention(hidden)
        self.x_context, self.cell = nn.Linear(hidden * 2 + d, d), nn.LSTMCell(d, hidden)
        self.p_gen_linear = nn.Linear(hidden * 4 + d, 1)
        self.out1, self.out2 = nn.Linear(hidden * 3, hidden), nn.Linear(hidden, vocab)

    def step(self, y: Tensor, state: tuple[Tensor, Tensor], context: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The cell, fed with what was looked at before."""
        x = self.x_context(torch.cat((context, self.embedding(y)), 1))
        return x, self.cell(x, state)

    def forward(self, src: Tensor, src_extended: Tensor, tgt: Tensor, extra: int = 5) -> tuple[Tensor, Tensor]:
        """Probabilities of all words, those of the article included, and the loss of coverage."""
        outputs, features, state = self.encoder(src)
        mask = (src != 0).float()
        coverage, cover_loss = torch.zeros_like(mask), torch.zeros(src.size(0))
        context, final = outputs.new_zeros(src.size(0), 2 * self.hidden), []
        for t in range(tgt.size(1)):
            x, state = self.step(tgt[:, t], state, context)
            s_t = torch.cat(state, 1)
            context, attn = self.attention(s_t, outputs, features, mask, coverage)
            cover_loss = cover_loss + torch.min(attn, coverage).sum(1)
            coverage = coverage + attn
            p_gen = torch.sigmoid(self.p_gen_linear(torch.cat((context, s_t, x), 1)))
            output = self.out2(self.out1(torch.cat((state[0], context), 1)))
            vocab_dist = F.pad(p_gen * F.softmax(output, dim=1), (0, extra))
            final.append(vocab_dist.scatter_add(1, src_extended, (1 - p_gen) * attn))
        return torch.stack(final, 1), cover_loss / tgt.size(1)


class TimeMix(nn.Module):
    """A weighted sum over the past that is updated at each step (RWKV)."""

    def __init__(self, d: int, layer_id: int, n_layer: int) -> None:
        super().__init__()
        ratio = layer_id / max(n_layer - 1, 1)
        self.time_decay = nn.Parameter(torch.linspace(-5, 3, d) * (0.7 + 0.6 * ratio))
        self.time_first = nn.Parameter(torch.full((d,), math.log(0.3)))
        self.time_mix_k, self.time_mix_v, self.time_mix_r = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(3))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key, self.value, self.receptance, self.output = (nn.Linear(d, d, bias=False) for _ in range(4))

    @staticmethod
    def wkv(w: Tensor, u: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """In numbers that do not overflow."""
        aa = bb = torch.zeros_like(k[:, 0])
        pp, ys = torch.full_like(k[:, 0], -1e38), []
        for t in range(k.shape[1]):
            kt, vt = k[:, t], v[:, t]
            p = torch.maximum(pp, u + kt)
            e1, e2 = torch.exp(pp - p), torch.exp(u + kt - p)
            ys.append((e1 * aa + e2 * vt) / (e1 * bb + e2))
            p = torch.maximum(pp + w, kt)
            e1, e2 = torch.exp(pp + w - p), torch.exp(kt - p)
            aa, bb, pp = e1 * aa + e2 * vt, e1 * bb + e2, p
        return torch.stack(ys, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Without the skip."""
        xx = self.time_shift(x)
        xk = x * self.time_mix_k + xx * (1 - self.time_mix_k)
        xv = x * self.time_mix_v + xx * (1 - self.time_mix_v)
        xr = x * self.time_mix_r + xx * (1 - self.time_mix_r)
        k, v, sr = self.key(xk), self.value(xv), torch.sigmoid(self.receptance(xr))
        return self.output(sr * self.wkv(-torch.exp(self.time_decay), self.time_first, k, v))


class ChannelMix(nn.Module):
    """The feed-forward part, gated."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.time_mix_k, self.time_mix_r = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(2))
        self.key, self.receptance = nn.Linear(d, 4 * d, bias=False), nn.Linear(d, d, bias=False)
        self.value = nn.Linear(4 * d, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Without the skip."""
        xx = self.time_shift(x)
        xk = x * self.time_mix_k + xx * (1 - self.time_mix_k)
        xr = x * self.time_mix_r + xx * (1 - self.time_mix_r)
        k = torch.square(torch.relu(self.key(xk)))
        return torch.sigmoid(self.receptance(xr)) * self.value(k)


class RWKVBlock(nn.Module):
    """The first one has a norm more."""

    def __init__(self, d: int, layer_id: int, n_layer: int) -> None:
        super().__init__()
        self.layer_id = layer_id
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        if layer_id == 0:
            self.ln0 = nn.LayerNorm(d)
        self.att, self.ffn = TimeMix(d, layer_id, n_layer), ChannelMix(d)

    def forward(self, x: Tensor) -> Tensor:
        """Two skips."""
        if self.layer_id == 0:
            x = self.ln0(x)
        x = x + self.att(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class RWKV(nn.Module):
    """A recurrent language model that trains like a transformer."""

    def __init__(self, vocab: int = 200, d: int = 48, n_layer: int = 4) -> None:
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.Sequential(*[RWKVBlock(d, i, n_layer) for i in range(n_layer)])
        self.ln_out, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, idx: Tensor) -> Tensor:
        """Scores of the next words."""
        return self.head(self.ln_out(self.blocks(self.emb(idx))))


class GatedAttention(nn.Module):
    """Attention along one axis, with a bias and a gate (AlphaFold)."""

    def __init__(self, d: int, heads: int, d_pair: int | None = None) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(d)
        self.to_q, self.to_kv = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d, bias=False)
        self.gating, self.to_out = nn.Linear(d, d), nn.Linear(d, d)
        if d_pair is not None:
            self.to_bias = nn.Sequential(nn.LayerNorm(d_pair), nn.Linear(d_pair, heads, bias=False))

    def forward(self, x: Tensor, pair: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """The last axis but one is attended over."""
        x = self.norm(x)
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(-2, -3) for t in (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1))
        )
        dots = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if pair is not None:
            dots = dots + self.to_bias(pair).permute(0, 3, 1, 2).unsqueeze(1)
        if mask is not None:
            dots = dots.masked_fill(~mask[:, None, None, None, :], -1e9)
        out = (dots.softmax(-1) @ v).transpose(-2, -3).flatten(-2)
        return self.to_out(out * self.gating(x).sigmoid())


class TriangleMultiplication(nn.Module):
    """An edge from the two others of all its triangles."""

    def __init__(self, d: int, mix: str) -> None:
        super().__init__()
        self.equation = {"outgoing": "bikd,bjkd->bijd", "ingoing": "bkjd,bkid->bijd"}[mix]
        self.norm, self.to_out_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.left_proj, self.right_proj, self.to_out = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.left_gate, self.right_gate, self.out_gate = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        """Without the skip."""
        x = self.norm(x)
        left = self.left_proj(x) * self.left_gate(x).sigmoid()
        right = self.right_proj(x) * self.right_gate(x).sigmoid()
        out = self.to_out_norm(torch.einsum(self.equation, left, right))
        return self.to_out(out) * self.out_gate(x).sigmoid()


def transition(d: int) -> nn.Sequential:
    """A feed-forward part."""
    return nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))


class EvoformerBlock(nn.Module):
    """Alignment and pairs of residues, each informed by the other."""

    def __init__(self, d_msa: int, d_pair: int, heads: int) -> None:
        super().__init__()
        self.msa_row, self.msa_col = GatedAttention(d_msa, heads, d_pair), GatedAttention(d_msa, heads)
        self.msa_transition = transition(d_msa)
        self.outer_norm, self.outer_proj = nn.LayerNorm(d_msa), nn.Linear(d_msa, 2 * 8)
        self.outer_out = nn.Linear(8 * 8, d_pair)
        self.tri_out, self.tri_in = (
            TriangleMultiplication(d_pair, "outgoing"),
            TriangleMultiplication(d_pair, "ingoing"),
        )
        self.tri_start, self.tri_end = GatedAttention(d_pair, heads, d_pair), GatedAttention(d_pair, heads, d_pair)
        self.pair_transition = transition(d_pair)

    def outer_product_mean(self, msa: Tensor) -> Tensor:
        """Outer product of each two columns, its mean over the sequences."""
        a, b = self.outer_proj(self.outer_norm(msa)).chunk(2, dim=-1)
        return self.outer_out(torch.einsum("bsic,bsjd->bijcd", a, b).flatten(-2) / msa.shape[1])

    def forward(self, msa: Tensor, pair: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Both again."""
        msa = msa + self.msa_row(msa, pair, mask)
        msa = msa + self.msa_col(msa.transpose(1, 2)).transpose(1, 2)
        msa = msa + self.msa_transition(msa)
        pair = pair + self.outer_product_mean(msa)
        pair = pair + self.tri_out(pair)
        pair = pair + self.tri_in(pair)
        pair = pair + self.tri_start(pair, pair, mask)
        pair = pair + self.tri_end(pair.transpose(1, 2), pair.transpose(1, 2), mask).transpose(1, 2)
        return msa, pair + self.pair_transition(pair)


class ContactPredictor(nn.Module):
    """How far residues of a protein are apart."""

    def __init__(self, d_msa: int = 32, d_pair: int = 32, depth: int = 3, heads: int = 4, buckets: int = 37) -> None:
        super().__init__()
        self.token_emb, self.max_rel = nn.Embedding(21, d_msa), 8
        self.to_left, self.to_right = nn.Linear(d_msa, d_pair), nn.Linear(d_msa, d_pair)
        self.rel_pos = nn.Embedding(2 * self.max_rel + 1, d_pair)
        self.evoformer = nn.ModuleList(EvoformerBlock(d_msa, d_pair, heads) for _ in range(depth))
        self.recycle_norm, self.recycle_msa_norm = nn.LayerNorm(d_pair), nn.LayerNorm(d_msa)
        self.distogram = nn.Sequential(nn.LayerNorm(d_pair), nn.Linear(d_pair, buckets))
        self.plddt = nn.Linear(d_msa, 50)

    def forward(self, seq: Tensor, msa: Tensor, mask: Tensor, recycles: int = 1) -> dict[str, Tensor]:
        """Distances, and how sure they are."""
        n = seq.shape[1]
        x = self.token_emb(seq)
        pos = (torch.arange(n)[:, None] - torch.arange(n)).clamp(-self.max_rel, self.max_rel) + self.max_rel
        pair0 = self.to_left(x).unsqueeze(2) + self.to_right(x).unsqueeze(1) + self.rel_pos(pos)
        msa0 = self.token_emb(msa) + x.unsqueeze(1)
        m, z = msa0, pair0
        for i in range(recycles + 1):
            if i > 0:
                z = pair0 + self.recycle_norm(z.detach())
                m = torch.cat([(msa0[:, 0] + self.recycle_msa_norm(m[:, 0].detach())).unsqueeze(1), msa0[:, 1:]], 1)
            for block in self.evoformer:
                m, z = block(m, z, mask)
        z = 0.5 * (z + z.transpose(1, 2))
        return {"distogram": self.distogram(z), "plddt": self.plddt(m[:, 0])}


def get_mask_from_lengths(lengths: Tensor, max_len: int) -> Tensor:
    """True where there is nothing."""
    return torch.arange(max_len)[None, :] >= lengths[:, None]


class FFTBlock(nn.Module):
    """Attention, then convolutions over time (FastSpeech)."""

    def __init__(self, d: int, heads: int, d_inner: int) -> None:
        super().__init__()
        self.n_head = heads
        self.w_qs, self.w_ks, self.w_vs, self.fc = (nn.Linear(d, d) for _ in range(4))
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.w_1, self.w_2 = nn.Conv1d(d, d_inner, 9, padding=4), nn.Conv1d(d_inner, d, 1)
        self.dropout = nn.Dropout(0.2)

    def attend(self, x: Tensor, mask: Tensor) -> Tensor:
        """Heads are folded into the batch."""
        b, t, d = x.shape
        q, k, v = (
            w(x).view(b, t, self.n_head, -1).permute(2, 0, 1, 3).reshape(-1, t, d // self.n_head)
            for w in (self.w_qs, self.w_ks, self.w_vs)
        )
        attn = torch.bmm(q, k.transpose(1, 2)) / (d // self.n_head) ** 0.5
        attn = attn.masked_fill(mask.unsqueeze(1).repeat(self.n_head, t, 1), -1e9).softmax(2)
        return torch.bmm(attn, v).view(self.n_head, b, t, -1).permute(1, 2, 0, 3).reshape(b, t, d)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Nothing where there is nothing."""
        x = self.layer_norm1(self.dropout(self.fc(self.attend(x, mask))) + x)
        x = x.masked_fill(mask.unsqueeze(-1), 0)
        y = self.w_2(F.relu(self.w_1(x.transpose(1, 2)))).transpose(1, 2)
        x = self.layer_norm2(self.dropout(y) + x)
        return x.masked_fill(mask.unsqueeze(-1), 0)


class VariancePredictor(nn.Module):
    """Length, pitch or energy of each sound."""

    def __init__(self, d: int, filters: int = 48) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(d, filters, 3, padding=1), nn.Conv1d(filters, filters, 3, padding=1)
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(filters), nn.LayerNorm(filters), nn.Dropout(0.5)
        self.linear_layer = nn.Linear(filters, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """A number for each."""
        out = self.dropout(self.norm1(F.relu(self.conv1(x.transpose(1, 2))).transpose(1, 2)))
        out = self.dropout(self.norm2(F.relu(self.conv2(out.transpose(1, 2))).transpose(1, 2)))
        return self.linear_layer(out).squeeze(-1).masked_fill(mask, 0.0)


class VarianceAdaptor(nn.Module):
    """Pitch and energy are added, then each sound is made as long as it takes."""

    pitch_bins: Tensor
    energy_bins: Tensor

    def __init__(self, d: int, bins: int = 32) -> None:
        super().__init__()
        self.duration_predictor, self.pitch_predictor = VariancePredictor(d), VariancePredictor(d)
        self.energy_predictor = VariancePredictor(d)
        self.register_buffer("pitch_bins", torch.linspace(-2, 2, bins - 1))
        self.register_buffer("energy_bins", torch.linspace(-2, 2, bins - 1))
        self.pitch_embedding, self.energy_embedding = nn.Embedding(bins, d), nn.Embedding(bins, d)

    @staticmethod
    def length_regulate(x: Tensor, duration: Tensor) -> tuple[Tensor, Tensor]:
        """Sounds repeated, padded to the longest sentence."""
        expanded = [torch.repeat_interleave(xi, di, dim=0) for xi, di in zip(x, duration, strict=True)]
        lengths = torch.tensor([len(e) for e in expanded])
        return nn.utils.rnn.pad_sequence(expanded, batch_first=True), lengths

    def forward(self, x: Tensor, mask: Tensor, duration: Tensor | None = None) -> tuple[Tensor, Tensor, Any]:
        """Input of the decoder, its lengths, and the predictions."""
        log_duration = self.duration_predictor(x, mask)
        pitch = self.pitch_predictor(x, mask)
        x = x + self.pitch_embedding(torch.bucketize(pitch, self.pitch_bins))
        energy = self.energy_predictor(x, mask)
        x = x + self.energy_embedding(torch.bucketize(energy, self.energy_bins))
        if duration is None:
            duration = torch.clamp(torch.round(torch.exp(log_duration) - 1), min=1).long()
        x, mel_len = self.length_regulate(x, duration)
        return x, mel_len, (log_duration, pitch, energy)


class FastSpeech2(nn.Module):
    """Speech without recurrence: a spectrogram from phonemes, for one of several speakers."""

    def __init__(self, symbols: int = 100, d: int = 48, layers: tuple[int, int] = (3, 4), n_mels: int = 80) -> None:
        super().__init__()
        self.d = d
        self.src_word_emb, self.speaker_emb = nn.Embedding(symbols, d, padding_idx=0), nn.Embedding(4, d)
        self.encoder = nn.ModuleList(FFTBlock(d, 2, 96) for _ in range(layers[0]))
        self.variance_adaptor = VarianceAdaptor(d)
        self.decoder = nn.ModuleList(FFTBlock(d, 2, 96) for _ in range(layers[1]))
        self.mel_linear, self.postnet = nn.Linear(d, n_mels), nn.Sequential()
        sizes = [n_mels, 64, 64, 64, n_mels]
        for i in range(4):
            conv = nn.Conv1d(sizes[i], sizes[i + 1], 5, padding=2)
            act = nn.Tanh() if i < 3 else nn.Identity()
            self.postnet.append(nn.Sequential(conv, nn.BatchNorm1d(sizes[i + 1]), act, nn.Dropout(0.5)))

    def position_enc(self, n: int) -> Tensor:
        """Sines and cosines, in turn."""
        angles = torch.outer(torch.arange(n).float(), 10000 ** (-torch.arange(0, self.d, 2).float() / self.d))
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)

    def forward(self, speakers: Tensor, texts: Tensor, src_lens: Tensor, durations: Tensor | None = None) -> Any:
        """The spectrogram before and after the last net, and what was predicted."""
        mask = get_mask_from_lengths(src_lens, texts.shape[1])
        x = self.src_word_emb(texts) + self.position_enc(texts.shape[1])
        for layer in self.encoder:
            x = layer(x, mask)
        x = x + self.speaker_emb(speakers).unsqueeze(1)
        x, mel_lens, predictions = self.variance_adaptor(x, mask, durations)
        mel_mask = get_mask_from_lengths(mel_lens, x.shape[1])
        x = x + self.position_enc(x.shape[1])
        for layer in self.decoder:
            x = layer(x, mel_mask)
        mel = self.mel_linear(x)
        return mel, self.postnet(mel.transpose(1, 2)).transpose(1, 2) + mel, predictions, mel_lens


class BertLayer(nn.Module):
    """Words among themselves; in the upper half of the layers with a look at the image."""

    def __init__(self, d: int, heads: int, fusion: bool) -> None:
        super().__init__()
        self.attention, self.norm1 = nn.MultiheadAttention(d, heads, batch_first=True), nn.LayerNorm(d)
        if fusion:
            self.crossattention, self.norm_cross = nn.MultiheadAttention(d, heads, batch_first=True), nn.LayerNorm(d)
        self.intermediate, self.output, self.norm2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.LayerNorm(d)

    def forward(self, x: Tensor, padding: Tensor, image: Tensor | None = None) -> Tensor:
        """Norms come after the skips."""
        x = self.norm1(x + self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0])
        if image is not None:
            x = self.norm_cross(x + self.crossattention(x, image, image, need_weights=False)[0])
        return self.norm2(x + self.output(F.gelu(self.intermediate(x))))


class TextEncoder(nn.Module):
    """The lower layers read, the upper ones compare with the image."""

    def __init__(self, vocab: int, d: int, heads: int, layers: int) -> None:
        super().__init__()
        self.word_embeddings, self.position_embeddings = nn.Embedding(vocab, d, padding_idx=0), nn.Embedding(32, d)
        self.norm, self.fusion_layer = nn.LayerNorm(d), layers // 2
        self.layer = nn.ModuleList(BertLayer(d, heads, fusion=i >= layers // 2) for i in range(layers))

    def forward(self, ids: Tensor | None, padding: Tensor, embeds: Tensor | None = None, image: Any = None) -> Tensor:
        """From words, or from what the lower layers made of them."""
        if embeds is None:
            assert ids is not None
            positions = torch.arange(ids.shape[1])
            embeds = self.norm(self.word_embeddings(ids) + self.position_embeddings(positions))
        first, last = (0, self.fusion_layer) if image is None else (self.fusion_layer, len(self.layer))
        for layer in self.layer[first:last]:
            embeds = layer(embeds, padding, image)
        return embeds


class VisionTower(nn.Module):
    """A small vision transformer."""

    def __init__(self, d: int, heads: int, layers: int, patch: int = 8, size: int = 32) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, d, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d))
        self.pos_embed = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d) * 0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(d)

    def forward(self, image: Tensor) -> Tensor:
        """One more than there are patches."""
        x = self.patch_embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class ALBEF(nn.Module):
    """Images and sentences aligned before they are fused; are two of them a pair?"""

    def __init__(self, vocab: int = 200, d: int = 64, heads: int = 4, embed_dim: int = 32) -> None:
        super().__init__()
        self.visual_encoder, self.text_encoder = VisionTower(d, heads, 4), TextEncoder(vocab, d, heads, 6)
        self.vision_proj, self.text_proj = nn.Linear(d, embed_dim), nn.Linear(d, embed_dim)
        self.temp, self.itm_head = nn.Parameter(torch.tensor(0.07)), nn.Linear(d, 2)

    def forward(self, image: Tensor, ids: Tensor) -> dict[str, Tensor]:
        """The contrastive loss, and that of telling pairs from the hardest pairs that are none."""
        padding = ids == 0
        image_embeds = self.visual_encoder(image)
        image_feat = F.normalize(self.vision_proj(image_embeds[:, 0, :]), dim=-1)
        text_embeds = self.text_encoder(ids, padding)
        text_feat = F.normalize(self.text_proj(text_embeds[:, 0, :]), dim=-1)
        sim_i2t = image_feat @ text_feat.t() / self.temp
        targets = torch.arange(image.shape[0])
        loss_ita = (F.cross_entropy(sim_i2t, targets) + F.cross_entropy(sim_i2t.t(), targets)) / 2
        positive = self.text_encoder(None, padding, text_embeds, image_embeds)
        with torch.no_grad():
            same = torch.eye(image.shape[0], dtype=torch.bool)
            hard_image = sim_i2t.t().masked_fill(same, -1e4).argmax(1)
            hard_text = sim_i2t.masked_fill(same, -1e4).argmax(1)
        negative = self.text_encoder(
            None, torch.cat([padding, padding[hard_text]]), torch.cat([text_embeds, text_embeds[hard_text]]),
            torch.cat([image_embeds[hard_image], image_embeds]),
        )  # fmt: skip
        logits = self.itm_head(torch.cat([positive[:, 0, :], negative[:, 0, :]]))
        labels = torch.cat([torch.ones(image.shape[0]), torch.zeros(2 * image.shape[0])]).long()
        return {"loss_ita": loss_ita, "loss_itm": F.cross_entropy(logits, labels), "itm_logits": logits}
