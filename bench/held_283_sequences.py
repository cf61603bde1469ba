"""Nets of fields, games, sentences, answers, graphs and sounds as repositories write them, of the seventh held list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.corpus.entry import Entry, given, numbers, whole, words

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "tanh": torch.tanh, "sin": torch.sin}


class FNN(nn.Module):
    """A fully connected net, with an activation by name and features that may be put before it."""

    def __init__(self, layer_sizes: Sequence[int], activation: str, last: bool = False, periodic: bool = False) -> None:
        super().__init__()
        self.activation, self.last, self.periodic = ACTIVATIONS[activation], last, periodic
        self.linears = nn.ModuleList()
        for fan_in, fan_out in pairwise(layer_sizes):
            linear = nn.Linear(fan_in, fan_out)
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
            self.linears.append(linear)

    def forward(self, inputs: Tensor) -> Tensor:
        """The output of the last layer."""
        x = inputs
        if self.periodic:
            x, t = x[:, :1] * 2 * math.pi, x[:, 1:]
            x = torch.cat([torch.cos(x), torch.sin(x), torch.cos(2 * x), torch.sin(2 * x), t], 1)
        for linear in self.linears[:-1]:
            x = self.activation(linear(x))
        x = self.linears[-1](x)
        return self.activation(x) if self.last else x


class BranchCNN(nn.Module):
    """Features of a function that is given on a grid."""

    def __init__(self, size: int, out: int, width: int = 8) -> None:
        super().__init__()
        self.size = size
        self.conv1, self.conv2 = nn.Conv2d(1, width, 5, stride=2), nn.Conv2d(width, 2 * width, 5, stride=2)
        left = ((size - 5) // 2 + 1 - 5) // 2 + 1
        self.fc1, self.fc2 = nn.Linear(2 * width * left**2, 64), nn.Linear(64, out)

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        x = x.view(-1, 1, self.size, self.size)
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


class DeepONetCartesianProd(nn.Module):
    """The solution of an equation at places, for each of the functions that it is given for."""

    def __init__(self, size: int = 16, basis: int = 20, num_outputs: int = 2, strategy: str = "split_branch") -> None:
        super().__init__()
        self.num_outputs, self.strategy = num_outputs, strategy
        outs = {
            "split_both": (num_outputs, num_outputs),
            "split_branch": (num_outputs, 1),
            "split_trunk": (1, num_outputs),
        }
        branch, trunk = outs[strategy]
        self.branch = BranchCNN(size, branch * basis)
        self.trunk = FNN([5, 64, 64, 64, trunk * basis], "tanh", last=True, periodic=True)
        self.b = nn.ParameterList([nn.Parameter(torch.tensor(0.0)) for _ in range(num_outputs)])

    def merge_branch_trunk(self, x_func: Tensor, x_loc: Tensor, index: int) -> Tensor:
        """One output."""
        y = torch.einsum("bi,ni->bn", x_func, x_loc)
        return y + self.b[index]

    def forward(self, inputs: tuple[Tensor, Tensor]) -> Tensor:
        """All outputs, for each function and place."""
        x_func, x_loc = inputs
        x_func, x_loc = self.branch(x_func), self.trunk(x_loc)
        shift, size = 0, x_loc.shape[1] if self.strategy == "split_branch" else x_func.shape[1] // self.num_outputs
        xs = []
        for i in range(self.num_outputs):
            func = x_func if self.strategy == "split_trunk" else x_func[:, shift : shift + size]
            loc = x_loc if self.strategy == "split_branch" else x_loc[:, shift : shift + size]
            xs.append(self.merge_branch_trunk(func, loc, i))
            shift += size
        return torch.stack(xs, 2)


class ImpalaNet(nn.Module):
    """An actor that learns from others' play: a residual net of frames, a memory that episodes end, and two heads."""

    def __init__(self, num_actions: int = 6, use_lstm: bool = True) -> None:
        super().__init__()
        self.num_actions, self.use_lstm = num_actions, use_lstm
        feat_convs, resnet1, resnet2 = list[nn.Module](), list[nn.Module](), list[nn.Module]()
        input_channels = 4
        for num_ch in [8, 16, 16]:
            feats = [nn.Conv2d(input_channels, num_ch, kernel_size=3, stride=1, padding=1)]
            feat_convs.append(nn.Sequential(*feats, nn.MaxPool2d(kernel_size=3, stride=2, padding=1)))
            input_channels = num_ch
            for resnet in (resnet1, resnet2):
                resnet_block: list[nn.Module] = []
                for _ in range(2):
                    resnet_block.append(nn.ReLU())
                    resnet_block.append(nn.Conv2d(input_channels, num_ch, kernel_size=3, stride=1, padding=1))
                resnet.append(nn.Sequential(*resnet_block))
        self.feat_convs = nn.ModuleList(feat_convs)
        self.resnet1, self.resnet2 = nn.ModuleList(resnet1), nn.ModuleList(resnet2)
        self.fc = nn.Linear(16 * 6 * 6, 64)
        core_output_size = self.fc.out_features + num_actions + 1
        if use_lstm:
            self.core = nn.LSTM(core_output_size, 64, num_layers=1)
            core_output_size = 64
        self.policy, self.baseline = nn.Linear(core_output_size, num_actions), nn.Linear(core_output_size, 1)

    def forward(
        self, inputs: dict[str, Tensor], core_state: tuple[Tensor, Tensor]
    ) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
        """The action and its value at each time step, and the state of the LSTM."""
        x = inputs["frame"]
        t, b, *_ = x.shape
        x = torch.flatten(x, 0, 1)
        x = x.float() / 255.0
        for i, fconv in enumerate(self.feat_convs):
            x = fconv(x)
            res_input = x
            x = self.resnet1[i](x)
            x += res_input
            res_input = x
            x = self.resnet2[i](x)
            x += res_input
        x = F.relu(x)
        x = x.view(t * b, -1)
        x = F.relu(self.fc(x))
        one_hot_last_action = F.one_hot(inputs["last_action"].view(t * b), self.num_actions).float()
        clipped_reward = torch.clamp(inputs["reward"], -1, 1).view(t * b, 1)
        core_input = torch.cat([x, clipped_reward, one_hot_last_action], dim=-1)
        if self.use_lstm:
            core_input = core_input.view(t, b, -1)
            core_output_list = []
            notdone = (~inputs["done"]).float()
            for inp, nd in zip(core_input.unbind(), notdone.unbind(), strict=True):
                nd = nd.view(1, -1, 1)
                core_state = (nd * core_state[0], nd * core_state[1])
                output, core_state = self.core(inp.unsqueeze(0), core_state)
                core_output_list.append(output)
            core_output = torch.flatten(torch.cat(core_output_list), 0, 1)
        else:
            core_output = core_input
        policy_logits, baseline = self.policy(core_output), self.baseline(core_output)
        if self.training:
            action = torch.multinomial(F.softmax(policy_logits, dim=1), num_samples=1)
        else:
            action = torch.argmax(policy_logits, dim=1)
        policy_logits, baseline = policy_logits.view(t, b, self.num_actions), baseline.view(t, b)
        return {"policy_logits": policy_logits, "baseline": baseline, "action": action.view(t, b)}, core_state


def _games() -> dict[str, Tensor]:
    return {
        **{"frame": torch.randint(0, 256, (3, 2, 4, 42, 42), dtype=torch.uint8), "reward": torch.randn(3, 2)},
        **{
            "last_action": torch.randint(0, 6, (3, 2)),
            "done": torch.tensor([[False, False], [True, False], [False] * 2]),
        },
    }


class ChildSumTreeLSTM(nn.Module):
    """A memory that goes up a tree, each node with a gate for each of its children."""

    def __init__(self, in_dim: int, mem_dim: int) -> None:
        super().__init__()
        self.in_dim, self.mem_dim = in_dim, mem_dim
        self.ioux, self.iouh = nn.Linear(in_dim, 3 * mem_dim), nn.Linear(mem_dim, 3 * mem_dim)
        self.fx, self.fh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)

    def node_forward(self, inputs: Tensor, child_c: Tensor, child_h: Tensor) -> tuple[Tensor, Tensor]:
        """The state of a node."""
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        iou = self.ioux(inputs) + self.iouh(child_h_sum)
        i, o, u = torch.split(iou, iou.size(1) // 3, dim=1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        fc = torch.mul(f, child_c)
        c = torch.mul(i, u) + torch.sum(fc, dim=0, keepdim=True)
        h = torch.mul(o, torch.tanh(c))
        return c, h

    def forward(self, parents: Sequence[int], inputs: Tensor, node: int = 0) -> tuple[Tensor, Tensor]:
        """The state of a node, after those of all that hangs from it."""
        children = [child for child, parent in enumerate(parents) if parent == node]
        states = [self.forward(parents, inputs, child) for child in children]
        if not states:
            child_c = inputs[0].detach().new(1, self.mem_dim).fill_(0.0).requires_grad_()
            child_h = inputs[0].detach().new(1, self.mem_dim).fill_(0.0).requires_grad_()
        else:
            child_c, child_h = (torch.cat(x, dim=0) for x in zip(*states, strict=True))
        return self.node_forward(inputs[node : node + 1], child_c, child_h)


class Similarity(nn.Module):
    """How near two sentences are, by product and distance of their vectors."""

    def __init__(self, mem_dim: int, hidden_dim: int, num_classes: int) -> None:
        super().__init__()
        self.wh, self.wp = nn.Linear(2 * mem_dim, hidden_dim), nn.Linear(hidden_dim, num_classes)

    def forward(self, lvec: Tensor, rvec: Tensor) -> Tensor:
        """Logarithms of how likely each degree is."""
        mult_dist = torch.mul(lvec, rvec)
        abs_dist = torch.abs(torch.add(lvec, -rvec))
        vec_dist = torch.cat((mult_dist, abs_dist), 1)
        out = torch.sigmoid(self.wh(vec_dist))
        return F.log_softmax(self.wp(out), dim=1)


class SimilarityTreeLSTM(nn.Module):
    """How near two parsed sentences are."""

    def __init__(self, vocab_size: int = 100, in_dim: int = 16, mem_dim: int = 24, freeze: bool = True) -> None:
        super().__init__()
        self.emb = nn.Embedding(vocab_size, in_dim, padding_idx=0)
        self.emb.weight.requires_grad = not freeze
        self.childsumtreelstm, self.similarity = ChildSumTreeLSTM(in_dim, mem_dim), Similarity(mem_dim, 16, 5)

    def forward(self, ltree: Sequence[int], linputs: Tensor, rtree: Sequence[int], rinputs: Tensor) -> Tensor:
        """Logarithms of how likely each degree is."""
        linputs, rinputs = self.emb(linputs), self.emb(rinputs)
        lstate, _ = self.childsumtreelstm(ltree, linputs)
        rstate, _ = self.childsumtreelstm(rtree, rinputs)
        return self.similarity(lstate, rstate)


def mask_logits(target: Tensor, mask: Tensor) -> Tensor:
    """Scores that are very low where the mask is zero."""
    return target * mask + (1 - mask) * (-1e30)


class DepthwiseSeparableConv(nn.Module):
    """A convolution of each channel and then one of all of them at each place."""

    def __init__(self, in_ch: int, out_ch: int, k: int, dim: int = 1, bias: bool = True) -> None:
        super().__init__()
        conv = nn.Conv1d if dim == 1 else nn.Conv2d
        self.depthwise_conv = conv(in_ch, in_ch, k, groups=in_ch, padding=k // 2, bias=False)
        self.pointwise_conv = conv(in_ch, out_ch, 1, padding=0, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.pointwise_conv(self.depthwise_conv(x))


class Highway(nn.Module):
    """Layers each of which says how much of its input stays."""

    def __init__(self, layer_num: int, size: int) -> None:
        super().__init__()
        self.n = layer_num
        self.linear = nn.ModuleList([nn.Conv1d(size, size, 1) for _ in range(self.n)])
        self.gate = nn.ModuleList([nn.Conv1d(size, size, 1) for _ in range(self.n)])

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        for i in range(self.n):
            gate = torch.sigmoid(self.gate[i](x))
            nonlinear = F.dropout(self.linear[i](x), p=0.1, training=self.training)
            x = gate * nonlinear + (1 - gate) * x
        return x


class QAEmbedding(nn.Module):
    """Vectors of words and of their letters, through highways."""

    def __init__(self, wemb_dim: int, cemb_dim: int, d_model: int) -> None:
        super().__init__()
        self.conv2d = DepthwiseSeparableConv(cemb_dim, d_model, 5, dim=2, bias=True)
        self.conv1d = nn.Conv1d(wemb_dim + d_model, d_model, 1, bias=False)
        self.high = Highway(2, d_model)

    def forward(self, ch_emb: Tensor, wd_emb: Tensor) -> Tensor:
        """A vector for each word."""
        ch_emb = ch_emb.permute(0, 3, 1, 2)
        ch_emb = F.dropout(ch_emb, p=0.05, training=self.training)
        ch_emb = F.relu(self.conv2d(ch_emb))
        ch_emb, _ = torch.max(ch_emb, dim=3)
        wd_emb = F.dropout(wd_emb, p=0.1, training=self.training).transpose(1, 2)
        return self.high(self.conv1d(torch.cat([ch_emb, wd_emb], dim=1)))


class QASelfAttention(nn.Module):
    """Attention of words to those of the same text, with projections by convolutions."""

    def __init__(self, d_model: int, num_head: int) -> None:
        super().__init__()
        self.d_model, self.num_head = d_model, num_head
        self.mem_conv, self.query_conv = (nn.Conv1d(d_model, n * d_model, 1, bias=False) for n in (2, 1))

    def split_last_dim(self, x: Tensor) -> Tensor:
        """The features in heads, heads first."""
        return x.view(*x.shape[:-1], self.num_head, x.shape[-1] // self.num_head).permute(0, 2, 1, 3)

    def forward(self, queries: Tensor, mask: Tensor) -> Tensor:
        """Features of the same shape."""
        memory, query = self.mem_conv(queries).transpose(1, 2), self.query_conv(queries).transpose(1, 2)
        query = self.split_last_dim(query)
        key, value = [self.split_last_dim(tensor) for tensor in torch.split(memory, self.d_model, dim=2)]
        query = query * (self.d_model // self.num_head) ** -0.5
        logits = torch.matmul(query, key.permute(0, 1, 3, 2))
        logits = mask_logits(logits, mask.view(mask.size(0), 1, 1, -1))
        weights = F.dropout(F.softmax(logits, dim=-1), p=0.1, training=self.training)
        x = torch.matmul(weights, value).permute(0, 2, 1, 3)
        return x.reshape(x.size(0), x.size(1), -1).transpose(1, 2)


class QAEncoderBlock(nn.Module):
    """Convolutions, attention and a layer, each with a norm before it and a skip that may take its place."""

    pos: Tensor

    def __init__(self, conv_num: int, d_model: int, num_head: int, k: int, length: int = 40) -> None:
        super().__init__()
        self.convs = nn.ModuleList([DepthwiseSeparableConv(d_model, d_model, k) for _ in range(conv_num)])
        self.self_att = QASelfAttention(d_model, num_head)
        self.ffn_1, self.ffn_2 = nn.Conv1d(d_model, d_model, 1), nn.Conv1d(d_model, d_model, 1)
        self.norm_c = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(conv_num)])
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.conv_num, self.dropout = conv_num, 0.1
        scales = 10000 ** (-torch.arange(0, d_model, 2).float() / d_model)
        signal = torch.arange(length)[:, None] * scales[None]
        self.register_buffer("pos", torch.cat([torch.sin(signal), torch.cos(signal)], 1).t()[None], persistent=False)

    def layer_dropout(self, inputs: Tensor, residual: Tensor, dropout: float) -> Tensor:
        """The skip, alone or with what was made of it."""
        if self.training:
            if torch.rand(1).item() < dropout:
                return residual
            return F.dropout(inputs, dropout, training=self.training) + residual
        return inputs + residual

    def forward(self, x: Tensor, mask: Tensor, start: int, blks: int) -> Tensor:
        """Features of the same shape."""
        total_layers = (self.conv_num + 1) * blks
        out = x + self.pos[:, :, : x.size(2)]
        for i, conv in enumerate(self.convs):
            res = out
            out = self.norm_c[i](out.transpose(1, 2)).transpose(1, 2)
            out = F.relu(conv(out))
            out = self.layer_dropout(out, res, self.dropout * float(start) / total_layers)
            start += 1
        res = out
        out = self.norm_1(out.transpose(1, 2)).transpose(1, 2)
        out = self.self_att(out, mask)
        out = self.layer_dropout(out, res, self.dropout * float(start) / total_layers)
        res = out
        out = self.norm_2(out.transpose(1, 2)).transpose(1, 2)
        out = self.ffn_2(F.relu(self.ffn_1(out)))
        return self.layer_dropout(out, res, self.dropout * float(start + 1) / total_layers)


class CQAttention(nn.Module):
    """Attention between a text and a question, both ways."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w4C, self.w4Q = nn.Parameter(torch.empty(d_model, 1)), nn.Parameter(torch.empty(d_model, 1))
        self.w4mlu, self.bias = nn.Parameter(torch.empty(1, 1, d_model)), nn.Parameter(torch.zeros(1))
        for weight in (self.w4C, self.w4Q, self.w4mlu):
            nn.init.xavier_uniform_(weight)

    def forward(self, c: Tensor, q: Tensor, cmask: Tensor, qmask: Tensor) -> Tensor:
        """The text beside what the question says about it."""
        c, q = c.transpose(1, 2), q.transpose(1, 2)
        subres0 = torch.matmul(c, self.w4C).expand([-1, -1, q.size(1)])
        subres1 = torch.matmul(q, self.w4Q).transpose(1, 2).expand([-1, c.size(1), -1])
        subres2 = torch.matmul(c * self.w4mlu, q.transpose(1, 2))
        s = subres0 + subres1 + subres2 + self.bias
        s1 = F.softmax(mask_logits(s, qmask.unsqueeze(1)), dim=2)
        s2 = F.softmax(mask_logits(s, cmask.unsqueeze(2)), dim=1)
        a = torch.bmm(s1, q)
        b = torch.bmm(torch.bmm(s1, s2.transpose(1, 2)), c)
        out = torch.cat([c, a, torch.mul(c, a), torch.mul(c, b)], dim=2)
        return F.dropout(out, p=0.1, training=self.training).transpose(1, 2)


class QANet(nn.Module):
    """Where in a text the answer to a question begins and ends."""

    def __init__(self, d: int = 32, num_head: int = 4, wemb_dim: int = 24, cemb_dim: int = 12, blocks: int = 3) -> None:
        super().__init__()
        self.char_emb, self.word_emb = nn.Embedding(40, cemb_dim), nn.Embedding(100, wemb_dim)
        self.emb, self.num_blocks = QAEmbedding(wemb_dim, cemb_dim, d), blocks
        self.emb_enc = QAEncoderBlock(conv_num=4, d_model=d, num_head=num_head, k=7)
        self.cq_att, self.cq_resizer = CQAttention(d), nn.Conv1d(d * 4, d, 1, bias=False)
        self.model_enc_blks = nn.ModuleList([QAEncoderBlock(2, d, num_head, k=5) for _ in range(blocks)])
        self.w1, self.w2 = nn.Conv1d(2 * d, 1, 1, bias=False), nn.Conv1d(2 * d, 1, 1, bias=False)

    def forward(self, cwid: Tensor, ccid: Tensor, qwid: Tensor, qcid: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the words."""
        mask_c, mask_q = (cwid != 0).float(), (qwid != 0).float()
        c = self.emb(self.char_emb(ccid), self.word_emb(cwid))
        q = self.emb(self.char_emb(qcid), self.word_emb(qwid))
        ce, qe = self.emb_enc(c, mask_c, 1, 1), self.emb_enc(q, mask_q, 1, 1)
        x = self.cq_att(ce, qe, mask_c, mask_q)
        m0 = F.dropout(self.cq_resizer(x), p=0.1, training=self.training)
        outputs = [m0]
        for _ in range(3):
            m = outputs[-1]
            for i, blk in enumerate(self.model_enc_blks):
                m = blk(m, mask_c, i * (2 + 2) + 1, self.num_blocks)
            outputs.append(m)
        _, m1, m2, m3 = outputs
        p1 = mask_logits(self.w1(torch.cat([m1, m2], dim=1)).squeeze(1), mask_c)
        p2 = mask_logits(self.w2(torch.cat([m1, m3], dim=1)).squeeze(1), mask_c)
        return p1, p2


def _letters(length: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(1, 40, (2, length, 8))


class ConvEncoder(nn.Module):
    """Features of the words of a sentence by gated convolutions."""

    scale: Tensor

    def __init__(self, input_dim: int, emb_dim: int, hid_dim: int, n_layers: int, k: int, max_length: int = 30) -> None:
        super().__init__()
        assert k % 2 == 1, "Kernel size must be odd!"
        self.register_buffer("scale", torch.sqrt(torch.FloatTensor([0.5])), persistent=False)
        self.tok_embedding, self.pos_embedding = nn.Embedding(input_dim, emb_dim), nn.Embedding(max_length, emb_dim)
        self.emb2hid, self.hid2emb = nn.Linear(emb_dim, hid_dim), nn.Linear(hid_dim, emb_dim)
        self.convs = nn.ModuleList([nn.Conv1d(hid_dim, 2 * hid_dim, k, padding=(k - 1) // 2) for _ in range(n_layers)])
        self.dropout = nn.Dropout(0.25)

    def forward(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """The features, and the same with the vectors of the words added."""
        batch_size, src_len = src.shape
        pos = torch.arange(0, src_len).unsqueeze(0).repeat(batch_size, 1)
        embedded = self.dropout(self.tok_embedding(src) + self.pos_embedding(pos))
        conv_input = self.emb2hid(embedded).permute(0, 2, 1)
        for conv in self.convs:
            conved = conv(self.dropout(conv_input))
            conved = F.glu(conved, dim=1)
            conved = (conved + conv_input) * self.scale
            conv_input = conved
        conved = self.hid2emb(conved.permute(0, 2, 1))
        combined = (conved + embedded) * self.scale
        return conved, combined


class ConvDecoder(nn.Module):
    """The next words, by gated convolutions that look back only and at the other sentence after each."""

    scale: Tensor

    def __init__(
        self, output_dim: int, emb_dim: int, hid_dim: int, n_layers: int, k: int, max_length: int = 30
    ) -> None:
        super().__init__()
        self.kernel_size, self.trg_pad_idx = k, 1
        self.register_buffer("scale", torch.sqrt(torch.FloatTensor([0.5])), persistent=False)
        self.tok_embedding, self.pos_embedding = nn.Embedding(output_dim, emb_dim), nn.Embedding(max_length, emb_dim)
        self.emb2hid, self.hid2emb = nn.Linear(emb_dim, hid_dim), nn.Linear(hid_dim, emb_dim)
        self.attn_hid2emb, self.attn_emb2hid = nn.Linear(hid_dim, emb_dim), nn.Linear(emb_dim, hid_dim)
        self.fc_out, self.dropout = nn.Linear(emb_dim, output_dim), nn.Dropout(0.25)
        self.convs = nn.ModuleList([nn.Conv1d(hid_dim, 2 * hid_dim, k) for _ in range(n_layers)])

    def calculate_attention(
        self, embedded: Tensor, conved: Tensor, encoder_conved: Tensor, encoder_combined: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Weights of the words of the other sentence, and features with what they say."""
        conved_emb = self.attn_hid2emb(conved.permute(0, 2, 1))
        combined = (conved_emb + embedded) * self.scale
        energy = torch.matmul(combined, encoder_conved.permute(0, 2, 1))
        attention = F.softmax(energy, dim=2)
        attended_encoding = self.attn_emb2hid(torch.matmul(attention, encoder_combined))
        return attention, (conved + attended_encoding.permute(0, 2, 1)) * self.scale

    def forward(self, trg: Tensor, encoder_conved: Tensor, encoder_combined: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the next words, and the weights of the last layer."""
        batch_size, trg_len = trg.shape
        pos = torch.arange(0, trg_len).unsqueeze(0).repeat(batch_size, 1)
        embedded = self.dropout(self.tok_embedding(trg) + self.pos_embedding(pos))
        conv_input = self.emb2hid(embedded).permute(0, 2, 1)
        hid_dim = conv_input.shape[1]
        for conv in self.convs:
            conv_input = self.dropout(conv_input)
            padding = torch.zeros(batch_size, hid_dim, self.kernel_size - 1).fill_(self.trg_pad_idx)
            conved = F.glu(conv(torch.cat((padding, conv_input), dim=2)), dim=1)
            attention, conved = self.calculate_attention(embedded, conved, encoder_conved, encoder_combined)
            conved = (conved + conv_input) * self.scale
            conv_input = conved
        conved = self.hid2emb(conved.permute(0, 2, 1))
        return self.fc_out(self.dropout(conved)), attention


class ConvSeq2Seq(nn.Module):
    """A translation without recurrence."""

    def __init__(
        self, src_vocab: int = 100, trg_vocab: int = 100, emb: int = 24, hid: int = 32, layers: int = 4
    ) -> None:
        super().__init__()
        self.encoder = ConvEncoder(src_vocab, emb, hid, layers, 3)
        self.decoder = ConvDecoder(trg_vocab, emb, hid, layers, 3)

    def forward(self, src: Tensor, trg: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the next words, and what they look at."""
        encoder_conved, encoder_combined = self.encoder(src)
        output, attention = self.decoder(trg, encoder_conved, encoder_combined)
        return output, attention


class GRUPlain(nn.Module):
    """A recurrent net with layers before and behind it, that keeps its state."""

    def __init__(
        self, input_size: int, embedding_size: int, hidden_size: int, num_layers: int,
        has_input: bool = True, has_output: bool = False, output_size: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_layers, self.hidden_size = num_layers, hidden_size
        self.has_input, self.has_output = has_input, has_output
        if has_input:
            self.input = nn.Linear(input_size, embedding_size)
        self.rnn = nn.GRU(embedding_size if has_input else input_size, hidden_size, num_layers, batch_first=True)
        if has_output:
            self.output = nn.Sequential(
                nn.Linear(hidden_size, embedding_size), nn.ReLU(), nn.Linear(embedding_size, output_size)
            )
        self.relu, self.hidden = nn.ReLU(), torch.zeros(num_layers, 1, hidden_size)

    def init_hidden(self, batch_size: int) -> Tensor:
        """A state of nothing."""
        return torch.zeros(self.num_layers, batch_size, self.hidden_size)

    def forward(self, input_raw: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States, or what the layers behind make of them; beside them the states."""
        x = self.relu(self.input(input_raw)) if self.has_input else input_raw
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        packed, self.hidden = self.rnn(packed, self.hidden)
        raw = pad_packed_sequence(packed, batch_first=True)[0]
        return (self.output(raw) if self.has_output else raw), raw


class GraphRNN(nn.Module):
    """A graph, node by node, and of each node the edges to those before it one by one."""

    def __init__(self, max_prev_node: int = 6, emb: int = 16, hidden: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.max_prev_node, self.layers = max_prev_node, layers
        self.rnn = GRUPlain(max_prev_node, emb, hidden, layers, has_output=True, output_size=24)
        self.output = GRUPlain(1, 8, 24, layers, has_output=True, output_size=1)

    def forward(self, x: Tensor, y: Tensor, y_len: Tensor) -> tuple[Tensor, Tensor]:
        """How likely each edge is, and the loss."""
        y_reshape = pack_padded_sequence(y, y_len, batch_first=True).data
        idx = torch.arange(y_reshape.size(0) - 1, -1, -1)
        y_reshape = y_reshape.index_select(0, idx).unsqueeze(-1)
        output_x = torch.cat((torch.ones(y_reshape.size(0), 1, 1), y_reshape[:, 0:-1, 0:1]), dim=1)
        output_y_len = torch.full((y_reshape.size(0),), self.max_prev_node)
        self.rnn.hidden = self.rnn.init_hidden(batch_size=x.size(0))
        h, _ = self.rnn(x, y_len)
        h = pack_padded_sequence(h, y_len, batch_first=True).data
        h = h.index_select(0, idx)
        hidden_null = torch.zeros(self.layers - 1, h.size(0), h.size(1))
        self.output.hidden = torch.cat((h.view(1, h.size(0), h.size(1)), hidden_null), dim=0)
        y_pred, _ = self.output(output_x, output_y_len)
        y_pred = torch.sigmoid(y_pred)
        return y_pred, F.binary_cross_entropy(y_pred, y_reshape)


def _edges() -> Tensor:
    return torch.randint(0, 2, (2, 7, 6)).float()


class ConvPreWavBlock(nn.Module):
    """Two convolutions of a wave, and a pool."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(in_channels, out_channels, 3, stride=1, padding=1, bias=False)
        self.conv2 = nn.Conv1d(out_channels, out_channels, 3, stride=1, dilation=2, padding=2, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm1d(out_channels), nn.BatchNorm1d(out_channels)

    def forward(self, x: Tensor, pool_size: int) -> Tensor:
        """Features, fewer by the size of the pool."""
        x = F.relu_(self.bn1(self.conv1(x)))
        x = F.relu_(self.bn2(self.conv2(x)))
        return F.max_pool1d(x, kernel_size=pool_size)


class SoundConvBlock(nn.Module):
    """Two convolutions of a picture of sound, and a pool of a kind."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, (3, 3), stride=(1, 1), padding=(1, 1), bias=False)
        self.conv2 = nn.Conv2d(out_channels, out_channels, (3, 3), stride=(1, 1), padding=(1, 1), bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(out_channels), nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor, pool_size: tuple[int, int] = (2, 2), pool_type: str = "avg") -> Tensor:
        """Features."""
        x = F.relu_(self.bn1(self.conv1(x)))
        x = F.relu_(self.bn2(self.conv2(x)))
        if pool_type == "max":
            return F.max_pool2d(x, kernel_size=pool_size)
        if pool_type == "avg":
            return F.avg_pool2d(x, kernel_size=pool_size)
        return F.avg_pool2d(x, kernel_size=pool_size) + F.max_pool2d(x, kernel_size=pool_size)


class LogmelExtractor(nn.Module):
    """The spectrum of a wave in bands, by convolutions with waves that are not learned."""

    mel_w: Tensor

    def __init__(self, n_fft: int = 64, hop: int = 40, mel_bins: int = 32) -> None:
        super().__init__()
        self.n_fft, out = n_fft, n_fft // 2 + 1
        self.conv_real, self.conv_imag = (nn.Conv1d(1, out, n_fft, hop, bias=False) for _ in range(2))
        window = torch.hann_window(n_fft)
        angles = 2 * math.pi / n_fft * torch.arange(out)[:, None] * torch.arange(n_fft)[None]
        for conv, wave in ((self.conv_real, torch.cos(angles)), (self.conv_imag, -torch.sin(angles))):
            conv.weight.data = (wave * window)[:, None]
            conv.weight.requires_grad = False
        self.register_buffer("mel_w", torch.rand(out, mel_bins))

    def forward(self, x: Tensor) -> Tensor:
        """The bands, in decibels."""
        x = F.pad(x[:, None, :], (self.n_fft // 2, self.n_fft // 2), mode="reflect")
        real, imag = (conv(x)[:, None, :, :].transpose(2, 3) for conv in (self.conv_real, self.conv_imag))
        mel_spectrogram = torch.matmul(real**2 + imag**2, self.mel_w)
        return 10.0 * torch.log10(torch.clamp(mel_spectrogram, min=1e-10, max=torch.inf))


class WavegramLogmelCnn(nn.Module):
    """A tagger of sounds in a wave, from its spectrum and from a learned one."""

    def __init__(self, classes_num: int = 12, c: int = 16, mel_bins: int = 32) -> None:
        super().__init__()
        self.pre_conv0, self.pre_bn0 = nn.Conv1d(1, c, 11, stride=5, padding=5, bias=False), nn.BatchNorm1d(c)
        self.pre_block1, self.pre_block2 = ConvPreWavBlock(c, c), ConvPreWavBlock(c, 2 * c)
        self.pre_block3 = ConvPreWavBlock(2 * c, 2 * c)
        self.pre_block4 = SoundConvBlock(in_channels=4, out_channels=c)
        self.logmel_extractor, self.bn0 = LogmelExtractor(mel_bins=mel_bins), nn.BatchNorm2d(mel_bins)
        self.conv_block1 = SoundConvBlock(in_channels=1, out_channels=c)
        self.conv_block2 = SoundConvBlock(in_channels=2 * c, out_channels=2 * c)
        self.conv_block3 = SoundConvBlock(in_channels=2 * c, out_channels=4 * c)
        self.conv_block4 = SoundConvBlock(in_channels=4 * c, out_channels=8 * c)
        self.fc1, self.fc_audioset = nn.Linear(8 * c, 8 * c), nn.Linear(8 * c, classes_num)

    def forward(self, inp: Tensor) -> dict[str, Tensor]:
        """How likely each sound is, and a vector of the wave."""
        a1 = F.relu_(self.pre_bn0(self.pre_conv0(inp[:, None, :])))
        a1 = self.pre_block1(a1, pool_size=2)
        a1 = self.pre_block2(a1, pool_size=2)
        a1 = self.pre_block3(a1, pool_size=2)
        a1 = a1.reshape((a1.shape[0], 4, -1, a1.shape[-1])).transpose(2, 3)
        a1 = self.pre_block4(a1, pool_size=(2, 1))
        x = self.logmel_extractor(inp)
        x = x.transpose(1, 3)
        x = self.bn0(x)
        x = x.transpose(1, 3)
        x = self.conv_block1(x, pool_size=(2, 2), pool_type="avg")
        a1 = F.interpolate(a1, size=x.shape[2:])
        x = torch.cat((x, a1), dim=1)
        for block in (self.conv_block2, self.conv_block3, self.conv_block4):
            x = F.dropout(x, p=0.2, training=self.training)
            x = block(x, pool_size=(2, 2), pool_type="avg")
        x = F.dropout(x, p=0.2, training=self.training)
        x = torch.mean(x, dim=3)
        x1, _ = torch.max(x, dim=2)
        x2 = torch.mean(x, dim=2)
        x = x1 + x2
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.relu_(self.fc1(x))
        embedding = F.dropout(x, p=0.5, training=self.training)
        clipwise_output = torch.sigmoid(self.fc_audioset(x))
        return {"clipwise_output": clipwise_output, "embedding": embedding}


NETS = [
    Entry("own/deeponet", DeepONetCartesianProd, given(lambda: (torch.randn(3, 256), torch.rand(20, 2)))),
    Entry("own/impala", ImpalaNet, given(_games, lambda: (torch.zeros(1, 2, 64), torch.zeros(1, 2, 64)))),
    Entry(
        "own/tree_lstm",
        SimilarityTreeLSTM,
        given(lambda: (-1, 0, 0, 2, 2), whole(5, 9, 20, 31, 8), lambda: (-1, 0, 1, 1), whole(7, 9, 44, 3)),
    ),
    Entry("own/qanet", QANet, given(words(2, 20), _letters(20), words(2, 6), _letters(6))),
    Entry("own/convs2s", ConvSeq2Seq, given(words(2, 9), words(2, 7))),
    Entry("own/graphrnn", GraphRNN, given(_edges, _edges, whole(7, 5))),
    Entry("own/panns", WavegramLogmelCnn, given(numbers(1, 3200))),
]
