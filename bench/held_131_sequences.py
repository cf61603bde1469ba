"""Nets of words, sounds, traffic and games as repositories write them, of the third list kept from all rules.

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
from torch.distributions import Normal

from tests.corpus.entry import Entry, given, numbers, whole, words


class NConv(nn.Module):
    """Neighbours' values by one matrix."""

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        """The same shape."""
        x = torch.einsum("ncvl,vw->ncwl", x, adj)
        return x.contiguous()


class DiffusionGCN(nn.Module):
    """Steps along several graphs, all of which are joined."""

    def __init__(self, c_in: int, c_out: int, dropout: float, support_len: int = 3, order: int = 2) -> None:
        super().__init__()
        self.nconv, self.dropout, self.order = NConv(), dropout, order
        self.mlp = nn.Conv2d((order * support_len + 1) * c_in, c_out, kernel_size=(1, 1))

    def forward(self, x: Tensor, support: list[Tensor]) -> Tensor:
        """One value for each node and time."""
        out = [x]
        for a in support:
            x1 = self.nconv(x, a)
            out.append(x1)
            for _ in range(2, self.order + 1):
                x2 = self.nconv(x1, a)
                out.append(x2)
                x1 = x2
        h = self.mlp(torch.cat(out, dim=1))
        return F.dropout(h, self.dropout, training=self.training)


class GraphWaveNet(nn.Module):
    """Traffic: gated dilated convolutions along time, diffusion along roads, some of which are learned."""

    supports: Tensor

    def __init__(
        self, num_nodes: int = 12, dropout: float = 0.3, out_dim: int = 6, channels: int = 16, blocks: int = 2
    ) -> None:
        super().__init__()
        self.dropout, self.blocks, self.layers = dropout, blocks, 2
        self.filter_convs, self.gate_convs = nn.ModuleList(), nn.ModuleList()
        self.skip_convs, self.bn, self.gconv = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        self.start_conv = nn.Conv2d(2, channels, kernel_size=(1, 1))
        roads = torch.rand(2, num_nodes, num_nodes)
        self.register_buffer("supports", roads / roads.sum(-1, keepdim=True))
        self.nodevec1 = nn.Parameter(torch.randn(num_nodes, 10), requires_grad=True)
        self.nodevec2 = nn.Parameter(torch.randn(10, num_nodes), requires_grad=True)
        receptive_field = 1
        for _ in range(blocks):
            additional_scope, new_dilation = 1, 1
            for _ in range(self.layers):
                self.filter_convs.append(nn.Conv2d(channels, channels, (1, 2), dilation=new_dilation))
                self.gate_convs.append(nn.Conv2d(channels, channels, (1, 2), dilation=new_dilation))
                self.skip_convs.append(nn.Conv2d(channels, channels * 4, (1, 1)))
                self.bn.append(nn.BatchNorm2d(channels))
                self.gconv.append(DiffusionGCN(channels, channels, dropout))
                new_dilation *= 2
                receptive_field += additional_scope
                additional_scope *= 2
        self.receptive_field = receptive_field
        self.end_conv_1 = nn.Conv2d(channels * 4, channels * 8, kernel_size=(1, 1), bias=True)
        self.end_conv_2 = nn.Conv2d(channels * 8, out_dim, kernel_size=(1, 1), bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """The next values of each node."""
        in_len = x.size(3)
        if in_len < self.receptive_field:
            x = F.pad(x, (self.receptive_field - in_len, 0, 0, 0))
        x = self.start_conv(x)
        skip: Any = 0
        adp = F.softmax(F.relu(torch.mm(self.nodevec1, self.nodevec2)), dim=1)
        new_supports = [*self.supports, adp]
        for i in range(self.blocks * self.layers):
            residual = x
            filt = torch.tanh(self.filter_convs[i](residual))
            gate = torch.sigmoid(self.gate_convs[i](residual))
            x = filt * gate
            s = self.skip_convs[i](x)
            skip = s if i == 0 else s + skip[:, :, :, -s.size(3) :]
            x = self.gconv[i](x, new_supports)
            x = x + residual[:, :, :, -x.size(3) :]
            x = self.bn[i](x)
        x = F.relu(skip)
        x = F.relu(self.end_conv_1(x))
        return self.end_conv_2(x)


def fftconv(u: Tensor, k: Tensor, d: Tensor) -> Tensor:
    """A convolution as long as the sequence."""
    seqlen = u.shape[-1]
    fft_size = 2 * seqlen
    k_f = torch.fft.rfft(k, n=fft_size) / fft_size
    u_f = torch.fft.rfft(u.to(dtype=k.dtype), n=fft_size)
    y = torch.fft.irfft(u_f * k_f, n=fft_size, norm="forward")[..., :seqlen]
    return (y + u * d.unsqueeze(-1)).to(dtype=u.dtype)


class Sin(nn.Module):
    """An activation of learned frequency."""

    def __init__(self, dim: int, w: float = 10.0) -> None:
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, dim))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return torch.sin(self.freq * x)


class FilterPositions(nn.Module):
    """Complex waves of a time that goes from 0 to 1."""

    z: Tensor
    t: Tensor

    def __init__(self, emb_dim: int, seq_len: int) -> None:
        super().__init__()
        t = torch.linspace(0, 1, seq_len)[None, :, None]
        bands = (emb_dim - 1) // 2
        w = 2 * math.pi * torch.linspace(0, seq_len - 1, seq_len)[None, :, None] / seq_len
        z = torch.exp(-1j * torch.linspace(1e-4, bands - 1, bands)[None, None] * w)
        self.register_buffer("z", torch.cat([t, z.real, z.imag], dim=-1))
        self.register_buffer("t", t)

    def forward(self, length: int) -> tuple[Tensor, Tensor]:
        """Of so many places."""
        return self.z[:, :length], self.t[:, :length]


class ExponentialModulation(nn.Module):
    """A window that decays, for each channel at a rate of its own."""

    deltas: Tensor

    def __init__(self, d_model: int, fast: float = 0.3, slow: float = 1.5, target: float = 1e-2) -> None:
        super().__init__()
        deltas = torch.linspace(math.log(target) / slow, math.log(target) / fast, d_model)[None, None]
        self.register_buffer("deltas", deltas)

    def forward(self, t: Tensor, x: Tensor) -> Tensor:
        """The same shape."""
        return x * (torch.exp(-t * self.deltas.abs()) + 0.05)


class HyenaFilter(nn.Module):
    """A long convolution whose kernel is a small net of the place."""

    def __init__(self, d_model: int, emb_dim: int = 5, order: int = 32, seq_len: int = 64, inner: int = 2) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(d_model))
        self.pos_emb, act = FilterPositions(emb_dim, seq_len), Sin(order)
        self.implicit_filter = nn.Sequential(nn.Linear(emb_dim, order), act)
        for _ in range(inner):
            self.implicit_filter.append(nn.Linear(order, order))
            self.implicit_filter.append(act)
        self.implicit_filter.append(nn.Linear(order, d_model, bias=False))
        self.modulation = ExponentialModulation(d_model)

    def filter(self, length: int) -> Tensor:
        """The kernel."""
        z, t = self.pos_emb(length)
        return self.modulation(t, self.implicit_filter(z))

    def forward(self, x: Tensor, length: int, k: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """Convolved, and a part of what came in."""
        if k is None:
            k = self.filter(length)
        bias = self.bias if bias is None else bias
        return fftconv(x, k, bias)


class HyenaOperator(nn.Module):
    """Products and long convolutions in turn, in place of attention."""

    def __init__(self, d_model: int, l_max: int, order: int = 2) -> None:
        super().__init__()
        self.d_model, self.l_max, self.order = d_model, l_max, order
        inner_width = d_model * (order + 1)
        self.in_proj, self.out_proj = nn.Linear(d_model, inner_width), nn.Linear(d_model, d_model)
        self.short_filter = nn.Conv1d(inner_width, inner_width, 3, padding=2, groups=inner_width)
        self.filter_fn = HyenaFilter(d_model * (order - 1), seq_len=l_max)

    def forward(self, u: Tensor) -> Tensor:
        """No place sees a later one."""
        l_filter = min(u.size(-2), self.l_max)
        u = self.in_proj(u).transpose(1, 2)
        uc = self.short_filter(u)[..., :l_filter]
        *x, v = uc.split(self.d_model, dim=1)
        k = self.filter_fn.filter(l_filter)[0].transpose(0, 1).reshape(self.order - 1, self.d_model, l_filter)
        bias = self.filter_fn.bias.view(self.order - 1, self.d_model)
        for o, x_i in enumerate(reversed(x[1:])):
            v = v * x_i
            v = self.filter_fn(v, l_filter, k=k[o], bias=bias[o])
        return self.out_proj((v * x[0]).transpose(1, 2))


class HyenaBlock(nn.Module):
    """The operator and a perceptron, each behind its norm."""

    def __init__(self, d_model: int, l_max: int, order: int) -> None:
        super().__init__()
        self.norm1, self.mixer = nn.LayerNorm(d_model), HyenaOperator(d_model, l_max, order)
        self.norm2, self.drop = nn.LayerNorm(d_model), nn.Dropout(0.1)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x: Tensor) -> Tensor:
        """With skips."""
        x = x + self.drop(self.mixer(self.norm1(x)))
        return x + self.drop(self.mlp(self.norm2(x)))


class HyenaLM(nn.Module):
    """A language model without attention."""

    def __init__(self, vocab: int = 100, d_model: int = 48, n_layer: int = 4, l_max: int = 64, order: int = 3) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList([HyenaBlock(d_model, l_max, order) for _ in range(n_layer)])
        self.ln_f, self.lm_head = nn.LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)
        self.lm_head.weight = self.word_embeddings.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        """Scores of the next words."""
        hidden_states = self.word_embeddings(input_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.lm_head(self.ln_f(hidden_states))


class NoisyLinear(nn.Module):
    """A linear layer with noise that is learned, which explores."""

    weight_epsilon: Tensor
    bias_epsilon: Tensor

    def __init__(self, in_features: int, out_features: int, std_init: float = 0.5) -> None:
        super().__init__()
        self.in_features, self.out_features, self.std_init = in_features, out_features, std_init
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features))
        self.weight_sigma = nn.Parameter(torch.empty(out_features, in_features))
        self.register_buffer("weight_epsilon", torch.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.empty(out_features))
        self.bias_sigma = nn.Parameter(torch.empty(out_features))
        self.register_buffer("bias_epsilon", torch.empty(out_features))
        self.reset_parameters()
        self.reset_noise()

    def reset_parameters(self) -> None:
        """Even, and the noise alike everywhere."""
        mu_range = 1 / math.sqrt(self.in_features)
        self.weight_mu.data.uniform_(-mu_range, mu_range)
        self.weight_sigma.data.fill_(self.std_init / math.sqrt(self.in_features))
        self.bias_mu.data.uniform_(-mu_range, mu_range)
        self.bias_sigma.data.fill_(self.std_init / math.sqrt(self.out_features))

    @staticmethod
    def _scale_noise(size: int) -> Tensor:
        x = torch.randn(size)
        return x.sign().mul_(x.abs().sqrt_())

    def reset_noise(self) -> None:
        """New noise, of both sides."""
        epsilon_in, epsilon_out = self._scale_noise(self.in_features), self._scale_noise(self.out_features)
        self.weight_epsilon.copy_(epsilon_out.ger(epsilon_in))
        self.bias_epsilon.copy_(epsilon_out)

    def forward(self, x: Tensor) -> Tensor:
        """Noisy while it learns."""
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        weight = self.weight_mu + self.weight_sigma * self.weight_epsilon
        return F.linear(x, weight, self.bias_mu + self.bias_sigma * self.bias_epsilon)


class RainbowDQN(nn.Module):
    """Distributions of what each action brings: a value and advantages, both in atoms."""

    support: Tensor

    def __init__(
        self, action_space: int = 6, atoms: int = 51, history: int = 4, hidden: int = 128, v_max: float = 10.0
    ) -> None:
        super().__init__()
        self.atoms, self.action_space = atoms, action_space
        self.register_buffer("support", torch.linspace(-v_max, v_max, atoms))
        self.convs = nn.Sequential(
            nn.Conv2d(history, 32, 8, stride=4, padding=0), nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2, padding=0), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1, padding=0), nn.ReLU(),
        )  # fmt: skip
        self.conv_output_size = 3136
        self.fc_h_v, self.fc_h_a = NoisyLinear(3136, hidden), NoisyLinear(3136, hidden)
        self.fc_z_v, self.fc_z_a = NoisyLinear(hidden, atoms), NoisyLinear(hidden, action_space * atoms)

    def dist(self, x: Tensor, log: bool = False) -> Tensor:
        """Probabilities of the atoms."""
        x = self.convs(x)
        x = x.view(-1, self.conv_output_size)
        v = self.fc_z_v(F.relu(self.fc_h_v(x)))
        a = self.fc_z_a(F.relu(self.fc_h_a(x)))
        v, a = v.view(-1, 1, self.atoms), a.view(-1, self.action_space, self.atoms)
        q = v + a - a.mean(1, keepdim=True)
        return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)

    def reset_noise(self) -> None:
        """New noise in all layers that have some."""
        for name, module in self.named_children():
            if "fc" in name:
                module.reset_noise()  # type: ignore[operator]

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Means of the actions, and the best of them."""
        q = (self.dist(state) * self.support).sum(2)
        return q, q.argmax(1)


class PBLSTM(nn.Module):
    """A recurrent layer that reads two frames at once."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.blstm = nn.LSTM(input_dim * 2, hidden_dim, 1, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Half as long."""
        batch_size, timestep, feature_dim = x.size()
        if timestep % 2:
            x = x[:, :-1]
        x = x.contiguous().view(batch_size, timestep // 2, feature_dim * 2)
        output, _ = self.blstm(x)
        return output


class Listener(nn.Module):
    """A pyramid of recurrent layers over the frames of speech."""

    def __init__(self, input_dim: int, hidden_dim: int, num_layers: int) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.plstm_layer0 = PBLSTM(input_dim, hidden_dim)
        for i in range(1, num_layers):
            setattr(self, f"plstm_layer{i}", PBLSTM(hidden_dim * 2, hidden_dim))

    def forward(self, input_x: Tensor) -> Tensor:
        """An eighth of the frames."""
        output = self.plstm_layer0(input_x)
        for i in range(1, self.num_layers):
            output = getattr(self, f"plstm_layer{i}")(output)
        return output


class SpellerAttention(nn.Module):
    """Several looks at what was heard, joined."""

    def __init__(self, input_dim: int, mlp_dim: int, multi_head: int = 2) -> None:
        super().__init__()
        self.mlp_dim, self.multi_head = mlp_dim, multi_head
        self.phi, self.psi = nn.Linear(input_dim, mlp_dim * multi_head), nn.Linear(input_dim, mlp_dim)
        self.dim_reduce, self.softmax = nn.Linear(input_dim * multi_head, input_dim), nn.Softmax(dim=-1)

    def forward(self, decoder_state: Tensor, listener_feature: Tensor) -> tuple[list[Tensor], Tensor]:
        """Weights of each look, and a vector."""
        comp_decoder_state = torch.relu(self.phi(decoder_state))
        comp_listener_feature = torch.relu(self.psi(listener_feature)).transpose(1, 2)
        attention_score, src = [], []
        for att_query in torch.split(comp_decoder_state, self.mlp_dim, dim=-1):
            score = self.softmax(torch.bmm(att_query, comp_listener_feature).squeeze(1))
            attention_score.append(score)
            src.append(torch.sum(listener_feature * score.unsqueeze(2), dim=1))
        return attention_score, self.dim_reduce(torch.cat(src, dim=-1))


class Speller(nn.Module):
    """Characters, one after another, each from a state and a look at what was heard."""

    def __init__(self, output_class_dim: int, hidden_dim: int, num_layers: int, mlp_dim: int, max_step: int) -> None:
        super().__init__()
        self.label_dim, self.max_step = output_class_dim, max_step
        self.rnn_layer = nn.LSTM(output_class_dim + hidden_dim, hidden_dim, num_layers, batch_first=True)
        self.attention = SpellerAttention(hidden_dim, mlp_dim)
        self.character_distribution = nn.Linear(hidden_dim * 2, output_class_dim)
        self.softmax = nn.LogSoftmax(dim=-1)

    def forward_step(self, input_word: Tensor, last_state: Any, listener_feature: Tensor) -> tuple[Any, ...]:
        """Scores, the next state, what was looked at, and the weights."""
        rnn_output, hidden_state = self.rnn_layer(input_word, last_state)
        attention_score, context = self.attention(rnn_output, listener_feature)
        concat_feature = torch.cat([rnn_output.squeeze(1), context], dim=-1)
        raw_pred = self.softmax(self.character_distribution(concat_feature))
        return raw_pred, hidden_state, context, attention_score

    def forward(self, listener_feature: Tensor, ground_truth: Tensor | None = None) -> tuple[Tensor, list[Any]]:
        """Scores of all characters; without the truth each step reads the best of the one before."""
        batch_size = listener_feature.size(0)
        output_word = F.one_hot(torch.zeros(batch_size, 1, dtype=torch.long), self.label_dim).float()
        rnn_input = torch.cat([output_word, listener_feature[:, 0:1, :]], dim=-1)
        hidden_state = None
        raw_pred_seq, attention_record = [], []
        max_step = self.max_step if ground_truth is None else ground_truth.size(1)
        for step in range(max_step):
            raw_pred, hidden_state, context, score = self.forward_step(rnn_input, hidden_state, listener_feature)
            raw_pred_seq.append(raw_pred)
            attention_record.append(score)
            if ground_truth is not None:
                output_word = F.one_hot(ground_truth[:, step : step + 1], self.label_dim).float()
            else:
                output_word = F.one_hot(raw_pred.argmax(-1, keepdim=True), self.label_dim).float()
            rnn_input = torch.cat([output_word, context.unsqueeze(1)], dim=-1)
        return torch.stack(raw_pred_seq, dim=1), attention_record


class LAS(nn.Module):
    """Speech to characters: listen, attend and spell."""

    def __init__(self, feature_dim: int = 40, hidden_dim: int = 32, num_characters: int = 30) -> None:
        super().__init__()
        self.listener = Listener(feature_dim, hidden_dim, num_layers=3)
        self.speller = Speller(num_characters, hidden_dim * 2, num_layers=2, mlp_dim=32, max_step=8)

    def forward(self, batch_data: Tensor, batch_label: Tensor | None = None) -> Tensor:
        """Scores."""
        listener_feature = self.listener(batch_data)
        raw_pred_seq, _ = self.speller(listener_feature, ground_truth=batch_label)
        return raw_pred_seq


def get_mask(sequences_batch: Tensor, sequences_lengths: Tensor) -> Tensor:
    """Where there are words."""
    max_length = int(sequences_lengths.max())
    mask = torch.ones(sequences_batch.size(0), max_length, dtype=torch.float)
    mask[sequences_batch[:, :max_length] == 0] = 0.0
    return mask


def masked_softmax(tensor: Tensor, mask: Tensor) -> Tensor:
    """Weights of words only."""
    tensor_shape = tensor.size()
    reshaped_tensor = tensor.view(-1, tensor_shape[-1])
    while mask.dim() < tensor.dim():
        mask = mask.unsqueeze(1)
    reshaped_mask = mask.expand_as(tensor).contiguous().float().view(-1, mask.size()[-1])
    result = F.softmax(reshaped_tensor * reshaped_mask, dim=-1)
    result = result * reshaped_mask
    result = result / (result.sum(dim=-1, keepdim=True) + 1e-13)
    return result.view(*tensor_shape)


def weighted_sum(tensor: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """A vector for each word of the other sentence."""
    weighted = weights.bmm(tensor)
    mask = mask.unsqueeze(2).expand_as(weighted).contiguous().float()
    return weighted * mask


class RNNDropout(nn.Dropout):
    """The same elements dropped at all places."""

    def forward(self, sequences_batch: Tensor) -> Tensor:
        """The same shape."""
        ones = sequences_batch.data.new_ones(sequences_batch.shape[0], sequences_batch.shape[-1])
        dropout_mask = F.dropout(ones, self.p, self.training, inplace=False)
        return dropout_mask.unsqueeze(1) * sequences_batch


class Seq2SeqEncoder(nn.Module):
    """A recurrent layer over sentences of several lengths."""

    def __init__(self, rnn_type: type[nn.RNNBase], input_size: int, hidden_size: int) -> None:
        super().__init__()
        self._encoder = rnn_type(input_size, hidden_size, batch_first=True, bidirectional=True)  # type: ignore[call-arg, arg-type]

    def forward(self, sequences_batch: Tensor, sequences_lengths: Tensor) -> Tensor:
        """As long as the longest sentence."""
        packed_batch = nn.utils.rnn.pack_padded_sequence(
            sequences_batch, sequences_lengths, batch_first=True, enforce_sorted=False
        )
        outputs, _ = self._encoder(packed_batch)
        return nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)[0]


class SoftmaxAttention(nn.Module):
    """Each sentence in words of the other."""

    def forward(self, premise: Tensor, mask_p: Tensor, hypothesis: Tensor, mask_h: Tensor) -> tuple[Tensor, Tensor]:
        """Of both."""
        similarity_matrix = premise.bmm(hypothesis.transpose(2, 1).contiguous())
        prem_hyp_attn = masked_softmax(similarity_matrix, mask_h)
        hyp_prem_attn = masked_softmax(similarity_matrix.transpose(1, 2).contiguous(), mask_p)
        attended_premises = weighted_sum(hypothesis, prem_hyp_attn, mask_p)
        return attended_premises, weighted_sum(premise, hyp_prem_attn, mask_h)


def replace_masked(tensor: Tensor, mask: Tensor, value: float) -> Tensor:
    """A tensor in which padding has a value of its own."""
    mask = mask.unsqueeze(1).transpose(2, 1)
    return tensor * mask + value * (1.0 - mask)


class ESIM(nn.Module):
    """Whether a sentence follows from another: both are read, aligned, compared and read again."""

    def __init__(self, vocab_size: int = 99, embedding_dim: int = 40, hidden_size: int = 32, num_classes: int = 3):
        super().__init__()
        self._word_embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=0)
        self._rnn_dropout = RNNDropout(p=0.5)
        self._encoding = Seq2SeqEncoder(nn.LSTM, embedding_dim, hidden_size)
        self._attention = SoftmaxAttention()
        self._projection = nn.Sequential(nn.Linear(4 * 2 * hidden_size, hidden_size), nn.ReLU())
        self._composition = Seq2SeqEncoder(nn.LSTM, hidden_size, hidden_size)
        self._classification = nn.Sequential(
            nn.Dropout(p=0.5), nn.Linear(2 * 4 * hidden_size, hidden_size), nn.Tanh(), nn.Dropout(p=0.5),
            nn.Linear(hidden_size, num_classes),
        )  # fmt: skip

    def compose(self, encoded: Tensor, attended: Tensor, lengths: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and maximum of a sentence that knows the other."""
        enhanced = torch.cat([encoded, attended, encoded - attended, encoded * attended], dim=-1)
        projected = self._rnn_dropout(self._projection(enhanced))
        v = self._composition(projected, lengths)
        v_avg = torch.sum(v * mask.unsqueeze(1).transpose(2, 1), dim=1) / torch.sum(mask, dim=1, keepdim=True)
        v_max, _ = replace_masked(v, mask, -1e7).max(dim=1)
        return v_avg, v_max

    def forward(
        self, premises: Tensor, premises_lengths: Tensor, hypotheses: Tensor, hypotheses_lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Scores and probabilities of the classes."""
        premises_mask = get_mask(premises, premises_lengths)
        hypotheses_mask = get_mask(hypotheses, hypotheses_lengths)
        embedded_premises = self._rnn_dropout(self._word_embedding(premises))
        embedded_hypotheses = self._rnn_dropout(self._word_embedding(hypotheses))
        encoded_premises = self._encoding(embedded_premises, premises_lengths)
        encoded_hypotheses = self._encoding(embedded_hypotheses, hypotheses_lengths)
        attended_premises, attended_hypotheses = self._attention(
            encoded_premises, premises_mask, encoded_hypotheses, hypotheses_mask
        )
        v_a_avg, v_a_max = self.compose(encoded_premises, attended_premises, premises_lengths, premises_mask)
        v_b_avg, v_b_max = self.compose(encoded_hypotheses, attended_hypotheses, hypotheses_lengths, hypotheses_mask)
        logits = self._classification(torch.cat([v_a_avg, v_a_max, v_b_avg, v_b_max], dim=1))
        return logits, F.softmax(logits, dim=-1)


class SessionGNN(nn.Module):
    """Gated messages along what was clicked after what, forwards and backwards."""

    def __init__(self, hidden_size: int, step: int = 1) -> None:
        super().__init__()
        self.step, self.hidden_size = step, hidden_size
        self.input_size, self.gate_size = hidden_size * 2, 3 * hidden_size
        self.w_ih = nn.Parameter(torch.empty(self.gate_size, self.input_size))
        self.w_hh = nn.Parameter(torch.empty(self.gate_size, hidden_size))
        self.b_ih, self.b_hh = nn.Parameter(torch.empty(self.gate_size)), nn.Parameter(torch.empty(self.gate_size))
        self.b_iah, self.b_oah = nn.Parameter(torch.empty(hidden_size)), nn.Parameter(torch.empty(hidden_size))
        self.linear_edge_in = nn.Linear(hidden_size, hidden_size, bias=True)
        self.linear_edge_out = nn.Linear(hidden_size, hidden_size, bias=True)

    def gnn_cell(self, a: Tensor, hidden: Tensor) -> Tensor:
        """States after one step."""
        n = a.shape[1]
        input_in = torch.matmul(a[:, :, :n], self.linear_edge_in(hidden)) + self.b_iah
        input_out = torch.matmul(a[:, :, n : 2 * n], self.linear_edge_out(hidden)) + self.b_oah
        inputs = torch.cat([input_in, input_out], 2)
        gi, gh = F.linear(inputs, self.w_ih, self.b_ih), F.linear(hidden, self.w_hh, self.b_hh)
        i_r, i_i, i_n = gi.chunk(3, 2)
        h_r, h_i, h_n = gh.chunk(3, 2)
        resetgate, inputgate = torch.sigmoid(i_r + h_r), torch.sigmoid(i_i + h_i)
        newgate = torch.tanh(i_n + resetgate * h_n)
        return newgate + inputgate * (hidden - newgate)

    def forward(self, a: Tensor, hidden: Tensor) -> Tensor:
        """States after all."""
        for _ in range(self.step):
            hidden = self.gnn_cell(a, hidden)
        return hidden


class SessionGraph(nn.Module):
    """The next click of a session, which is a graph of items (SR-GNN)."""

    def __init__(self, n_node: int = 200, hidden_size: int = 48, step: int = 2, nonhybrid: bool = False) -> None:
        super().__init__()
        self.hidden_size, self.n_node, self.nonhybrid = hidden_size, n_node, nonhybrid
        self.embedding, self.gnn = nn.Embedding(n_node, hidden_size), SessionGNN(hidden_size, step=step)
        self.linear_one = nn.Linear(hidden_size, hidden_size, bias=True)
        self.linear_two = nn.Linear(hidden_size, hidden_size, bias=True)
        self.linear_three = nn.Linear(hidden_size, 1, bias=False)
        self.linear_transform = nn.Linear(hidden_size * 2, hidden_size, bias=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All even."""
        stdv = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            weight.data.uniform_(-stdv, stdv)

    def compute_scores(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Scores of all items, from the last click and a sum over all clicks."""
        ht = hidden[torch.arange(mask.shape[0]).long(), torch.sum(mask, 1) - 1]
        q1 = self.linear_one(ht).view(ht.shape[0], 1, ht.shape[1])
        q2 = self.linear_two(hidden)
        alpha = self.linear_three(torch.sigmoid(q1 + q2))
        a = torch.sum(alpha * hidden * mask.view(mask.shape[0], -1, 1).float(), 1)
        if not self.nonhybrid:
            a = self.linear_transform(torch.cat([a, ht], 1))
        b = self.embedding.weight[1:]
        return torch.matmul(a, b.transpose(1, 0))

    def forward(self, items: Tensor, a: Tensor, alias_inputs: Tensor, mask: Tensor) -> Tensor:
        """Scores."""
        hidden = self.gnn(a, self.embedding(items))
        seq_hidden = torch.stack([hidden[i][alias_inputs[i]] for i in range(len(alias_inputs))])
        return self.compute_scores(seq_hidden, mask)


LOG_SIG_MAX, LOG_SIG_MIN, EPSILON = 2, -20, 1e-6


def weights_init_(m: nn.Module) -> None:
    """Xavier's weights."""
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight, gain=1)
        nn.init.constant_(m.bias, 0)


class QNetwork(nn.Module):
    """Two estimates of what an action brings."""

    def __init__(self, num_inputs: int, num_actions: int, hidden_dim: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(num_inputs + num_actions, hidden_dim)
        self.linear2, self.linear3 = nn.Linear(hidden_dim, hidden_dim), nn.Linear(hidden_dim, 1)
        self.linear4 = nn.Linear(num_inputs + num_actions, hidden_dim)
        self.linear5, self.linear6 = nn.Linear(hidden_dim, hidden_dim), nn.Linear(hidden_dim, 1)
        self.apply(weights_init_)

    def forward(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Both."""
        xu = torch.cat([state, action], 1)
        x1 = F.relu(self.linear1(xu))
        x1 = F.relu(self.linear2(x1))
        x1 = self.linear3(x1)
        x2 = F.relu(self.linear4(xu))
        x2 = F.relu(self.linear5(x2))
        x2 = self.linear6(x2)
        return x1, x2


class GaussianPolicy(nn.Module):
    """Actions drawn from a normal distribution and squashed."""

    action_scale: Tensor
    action_bias: Tensor

    def __init__(
        self, num_inputs: int, num_actions: int, hidden_dim: int, low: float = -2.0, high: float = 2.0
    ) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(num_inputs, hidden_dim), nn.Linear(hidden_dim, hidden_dim)
        self.mean_linear, self.log_std_linear = nn.Linear(hidden_dim, num_actions), nn.Linear(hidden_dim, num_actions)
        self.apply(weights_init_)
        self.register_buffer("action_scale", torch.full((num_actions,), (high - low) / 2.0))
        self.register_buffer("action_bias", torch.full((num_actions,), (high + low) / 2.0))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and spread."""
        x = F.relu(self.linear1(state))
        x = F.relu(self.linear2(x))
        log_std = torch.clamp(self.log_std_linear(x), min=LOG_SIG_MIN, max=LOG_SIG_MAX)
        return self.mean_linear(x), log_std

    def sample(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """An action, how likely it is, and the action without chance."""
        mean, log_std = self.forward(state)
        normal = Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob: Tensor = normal.log_prob(x_t)  # type: ignore[no-untyped-call]
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + EPSILON)
        return action, log_prob.sum(1, keepdim=True), torch.tanh(mean) * self.action_scale + self.action_bias


class SoftActorCritic(nn.Module):
    """An actor, two critics and their slow copies, and the losses of all."""

    def __init__(self, num_inputs: int = 17, num_actions: int = 6, hidden: int = 64, gamma: float = 0.99) -> None:
        super().__init__()
        self.gamma, self.target_entropy = gamma, -float(num_actions)
        self.critic = QNetwork(num_inputs, num_actions, hidden)
        self.critic_target = QNetwork(num_inputs, num_actions, hidden)
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.critic_target.requires_grad_(False)
        self.policy, self.log_alpha = GaussianPolicy(num_inputs, num_actions, hidden), nn.Parameter(torch.zeros(1))

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The losses of critics, policy and temperature."""
        state, mask, alpha = batch["state"], batch["mask"], self.log_alpha.exp()
        with torch.no_grad():
            next_state_action, next_state_log_pi, _ = self.policy.sample(batch["next_state"])
            qf1_next_target, qf2_next_target = self.critic_target(batch["next_state"], next_state_action)
            min_qf_next_target = torch.min(qf1_next_target, qf2_next_target) - alpha * next_state_log_pi
            next_q_value = batch["reward"] + mask * self.gamma * min_qf_next_target
        qf1, qf2 = self.critic(state, batch["action"])
        qf_loss = F.mse_loss(qf1, next_q_value) + F.mse_loss(qf2, next_q_value)
        pi, log_pi, _ = self.policy.sample(state)
        qf1_pi, qf2_pi = self.critic(state, pi)
        policy_loss = ((alpha.detach() * log_pi) - torch.min(qf1_pi, qf2_pi)).mean()
        alpha_loss = -(self.log_alpha * (log_pi + self.target_entropy).detach()).mean()
        return {"critic": qf_loss, "policy": policy_loss, "alpha": alpha_loss}


class LSTMController(nn.Module):
    """The controller of the heads that read and write the memory: an LSTM with a learnt first state."""

    def __init__(self, num_inputs: int, num_outputs: int, num_layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size=num_inputs, hidden_size=num_outputs, num_layers=num_layers)
        self.lstm_h_bias = nn.Parameter(torch.randn(num_layers, 1, num_outputs) * 0.05)
        self.lstm_c_bias = nn.Parameter(torch.randn(num_layers, 1, num_outputs) * 0.05)

    def create_new_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        """Learned."""
        return self.lstm_h_bias.clone().repeat(1, batch_size, 1), self.lstm_c_bias.clone().repeat(1, batch_size, 1)

    def forward(self, x: Tensor, prev_state: Any) -> tuple[Tensor, Any]:
        """One step."""
        outp, state = self.lstm(x.unsqueeze(0), prev_state)
        return outp.squeeze(0), state


def circular_convolve(w: Tensor, s: Tensor) -> Tensor:
    """Weights moved round by one row at most."""
    t = torch.cat([w[:, -1:], w, w[:, :1]], dim=1)
    return sum(t[:, i : i + w.shape[1]] * s[:, i : i + 1] for i in range(3))  # type: ignore[return-value]


class NTMMemory(nn.Module):
    """Rows that can be read and written by weights."""

    mem_bias: Tensor

    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.n, self.m = n, m
        stdev = 1 / math.sqrt(n + m)
        self.register_buffer("mem_bias", torch.empty(n, m).uniform_(-stdev, stdev))

    def reset(self, batch_size: int) -> None:
        """As at the start."""
        self.memory = self.mem_bias.clone().repeat(batch_size, 1, 1)

    def read(self, w: Tensor) -> Tensor:
        """A weighed row."""
        return torch.matmul(w.unsqueeze(1), self.memory).squeeze(1)

    def write(self, w: Tensor, e: Tensor, a: Tensor) -> None:
        """Erased, and then added to."""
        erase = torch.matmul(w.unsqueeze(-1), e.unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        self.memory = self.memory * (1 - erase) + add

    def address(self, k: Tensor, beta: Tensor, g: Tensor, s: Tensor, gamma: Tensor, w_prev: Tensor) -> Tensor:
        """Weights by content, then by place."""
        wc = F.softmax(beta * F.cosine_similarity(self.memory + 1e-16, k.unsqueeze(1) + 1e-16, dim=-1), dim=1)
        wg = g * wc + (1 - g) * w_prev
        w = circular_convolve(wg, s) ** gamma
        return torch.div(w, torch.sum(w, dim=1, keepdim=True) + 1e-16)


class NTMHeadBase(nn.Module):
    """Where in the memory."""

    def __init__(self, memory: NTMMemory, controller_size: int) -> None:
        super().__init__()
        self.memory, self.controller_size = memory, controller_size

    def create_new_state(self, batch_size: int) -> Tensor:
        """No place yet."""
        return torch.zeros(batch_size, self.memory.n)

    def _address_memory(self, k: Tensor, beta: Tensor, g: Tensor, s: Tensor, gamma: Tensor, w_prev: Tensor) -> Tensor:
        return self.memory.address(
            k.clone(), F.softplus(beta), torch.sigmoid(g), F.softmax(s, dim=1), 1 + F.softplus(gamma), w_prev
        )


class NTMReadHead(NTMHeadBase):
    """A head that reads."""

    def __init__(self, memory: NTMMemory, controller_size: int) -> None:
        super().__init__(memory, controller_size)
        self.read_lengths = [memory.m, 1, 1, 3, 1]
        self.fc_read = nn.Linear(controller_size, sum(self.read_lengths))

    def forward(self, embeddings: Tensor, w_prev: Tensor) -> tuple[Tensor | None, Tensor]:
        """The vector that is read, and the weights over the rows of the memory."""
        k, beta, g, s, gamma = torch.split(self.fc_read(embeddings), self.read_lengths, dim=1)
        w = self._address_memory(k, beta, g, s, gamma, w_prev)
        return self.memory.read(w), w


class NTMWriteHead(NTMHeadBase):
    """A head that writes."""

    def __init__(self, memory: NTMMemory, controller_size: int) -> None:
        super().__init__(memory, controller_size)
        self.write_lengths = [memory.m, 1, 1, 3, 1, memory.m, memory.m]
        self.fc_write = nn.Linear(controller_size, sum(self.write_lengths))

    def forward(self, embeddings: Tensor, w_prev: Tensor) -> tuple[Tensor | None, Tensor]:
        """Nothing, and where."""
        k, beta, g, s, gamma, e, a = torch.split(self.fc_write(embeddings), self.write_lengths, dim=1)
        w = self._address_memory(k, beta, g, s, gamma, w_prev)
        self.memory.write(w, torch.sigmoid(e), a)
        return None, w


class NTM(nn.Module):
    """A step of the machine."""

    def __init__(self, num_inputs: int, num_outputs: int, controller: LSTMController, memory: NTMMemory) -> None:
        super().__init__()
        size = controller.lstm.hidden_size
        self.controller, self.memory, self.num_outputs = controller, memory, num_outputs
        self.heads = nn.ModuleList([NTMReadHead(memory, size), NTMWriteHead(memory, size)])
        self.init_r = torch.randn(1, memory.m) * 0.01
        self.fc = nn.Linear(size + memory.m, num_outputs)

    def create_new_state(self, batch_size: int) -> Any:
        """Of controller and heads."""
        heads_state = [head.create_new_state(batch_size) for head in self.heads]  # type: ignore[operator]
        return [self.init_r.clone().repeat(batch_size, 1)], self.controller.create_new_state(batch_size), heads_state

    def forward(self, x: Tensor, prev_state: Any) -> tuple[Tensor, Any]:
        """An output, and the state."""
        prev_reads, prev_controller_state, prev_heads_states = prev_state
        inp = torch.cat([x, *prev_reads], dim=1)
        controller_outp, controller_state = self.controller(inp, prev_controller_state)
        reads, heads_states = [], []
        for head, prev_head_state in zip(self.heads, prev_heads_states, strict=True):
            r, head_state = head(controller_outp, prev_head_state)
            if r is not None:
                reads.append(r)
            heads_states.append(head_state)
        o = torch.sigmoid(self.fc(torch.cat([controller_outp, *reads], dim=1)))
        return o, (reads, controller_state, heads_states)


class CopyMachine(nn.Module):
    """A neural Turing machine that is shown a sequence and then asked for it."""

    def __init__(self, num_inputs: int = 9, num_outputs: int = 8, controller_size: int = 48, n: int = 32, m: int = 16):
        super().__init__()
        self.num_inputs, self.memory = num_inputs, NTMMemory(n, m)
        controller = LSTMController(num_inputs + m, controller_size, num_layers=1)
        self.ntm = NTM(num_inputs, num_outputs, controller, self.memory)

    def forward(self, x: Tensor) -> Tensor:
        """The sequence again; its last row is the sign to begin."""
        inp_seq_len, batch_size, _ = x.size()
        self.memory.reset(batch_size)
        state = self.ntm.create_new_state(batch_size)
        for i in range(inp_seq_len):
            _, state = self.ntm(x[i], state)
        y_out = []
        for _ in range(inp_seq_len - 1):
            o, state = self.ntm(torch.zeros(batch_size, self.num_inputs), state)
            y_out.append(o)
        return torch.stack(y_out)


def _sentences(*lengths: int) -> Tensor:
    """Words up to the length of each sentence."""
    text = torch.randint(3, 99, (len(lengths), max(lengths)))
    return text.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], 0)


def _moves() -> dict[str, Tensor]:
    return {
        **{"state": torch.randn(4, 17), "action": torch.randn(4, 6), "next_state": torch.randn(4, 17)},
        **{"reward": torch.randn(4, 1), "mask": torch.ones(4, 1)},
    }


def _clicked_after() -> Tensor:
    """Incoming and outgoing adjacency of five items."""
    a = torch.randint(0, 2, (2, 5, 5)).float()
    forth, back = a / a.sum(1, keepdim=True).clamp(min=1), a.transpose(1, 2) / a.sum(2).clamp(min=1)[:, None]
    return torch.cat([forth.transpose(1, 2), back.transpose(1, 2)], 2)


NETS = [
    Entry("own/graph_wavenet", GraphWaveNet, given(numbers(2, 2, 12, 12))),
    Entry("own/hyena", HyenaLM, given(words(1, 32))),
    Entry("own/rainbow", RainbowDQN, given(numbers(1, 4, 84, 84))),
    Entry("own/listen_attend_spell", LAS, given(numbers(2, 48, 40), words(2, 6, 29))),
    Entry(
        "own/esim",
        ESIM,
        given(lambda: _sentences(9, 6), whole(9, 6), lambda: _sentences(5, 7), whole(5, 7)),
    ),
    Entry(
        "own/sr_gnn",
        SessionGraph,
        given(
            lambda: torch.randint(1, 200, (2, 5)),
            _clicked_after,
            lambda: torch.randint(0, 5, (2, 7)),
            lambda: (torch.arange(7) < torch.tensor([[7], [5]])).long(),
        ),
    ),
    Entry("own/soft_actor_critic", SoftActorCritic, given(_moves)),
    Entry("own/ntm", CopyMachine, given(numbers(5, 2, 9))),
]
