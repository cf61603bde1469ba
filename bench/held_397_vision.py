"""Nets of images, sounds, tables and games as repositories write them, of the tenth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS`, none of them, nor its family, of an earlier list, of which
`random.Random(397).sample(TOPICS.split(), 15)` were drawn. The seven nets of this file and of
`held_397_sequences.py` are of them; eight others came out too near to the code of known repositories.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole

TOPICS = """
aasist action_chunking_transformer adabins adain_style alphastar attend_infer_repeat attention_model_tsp attngan autoint
autovc awd_lstm bc_resnet bmn caser chem_vae clam_mil code2vec commnet conv_knrm conve cpc crepe csdi da_rnn dccrn
deep_equilibrium deepar deepdta deepmedic deepsleepnet deepvoice3 draw_rnn e2e_coref eqtransformer evolvegcn fedformer
feudal_network fibinet fourcastnet fractalnet fullsubnet gail gdn gqn graph_matching_network gru4rec gvp hstu i2a
inception_time itransformer kan kpconv lama levenshtein_transformer lift_splat liif lipnet maddpg maskgit mcan megabyte
mind mixture_of_depths mult_vae music_transformer musicvae ncf neural_additive neural_motifs neural_relational_inference
node nrms omnianomaly on_lstm onsets_and_frames open_unmix option_critic pangu_weather partial_conv particle_transformer
performer pinn pointer_network pointrend pranet quartznet randla_net recurrent_entity_network ripplenet rt1 scgpt scinet
sentence_vae seqgan simgnn siren soft_moe solov2 sound_of_pixels sparse_rcnn spliceai sqlnet stm tabpfn trade_dst
trrosetta unimol usad value_iteration voicefilter wavegrad
"""


class GatedAttention(nn.Module):
    """Scores of the patches of a slide, one of each class, by two layers of which one is a gate."""

    def __init__(self, in_dim: int, hidden_dim: int, n_scores: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention_V = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.Tanh(), nn.Dropout(dropout))
        self.attention_U = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.Sigmoid(), nn.Dropout(dropout))
        self.attention_w = nn.Linear(hidden_dim, n_scores)

    def forward(self, h: Tensor) -> Tensor:
        """The scores (n_scores x patches)."""
        return self.attention_w(self.attention_V(h) * self.attention_U(h)).t()


class InstanceHead(nn.Module):
    """Loss of the patches of a class: those most and least looked at are classified by themselves."""

    def __init__(self, dim: int, k_sample: int, loss_fn: nn.Module) -> None:
        super().__init__()
        self.k_sample, self.loss_fn = k_sample, loss_fn
        self.classifier = nn.Linear(dim, 2)

    def forward(self, scores: Tensor, h: Tensor, present: bool) -> tuple[Tensor, Tensor]:
        """The loss, and how many patches are classified as they should be."""
        k = min(self.k_sample, h.size(0))
        best = scores.topk(k).indices
        if present:  # the slide is of this class: the best are evidence of it and the worst are not
            worst = scores.topk(k, largest=False).indices
            patches = torch.cat([h[best], h[worst]])
            targets = torch.cat([torch.ones(k), torch.zeros(k)]).long().to(h.device)
        else:  # classes exclude one another, so that the best are false evidence
            patches, targets = h[best], torch.zeros(k, dtype=torch.long, device=h.device)
        logits = self.classifier(patches)
        correct = (logits.argmax(dim=1) == targets).float().mean()
        return self.loss_fn(logits, targets), correct


class CLAM(nn.Module):
    """A slide as a bag of patches, weighed by an attention of each class, whose patches are clustered as well."""

    def __init__(
        self, feature_dim: int = 128, embed_dim: int = 64, attention_dim: int = 32, n_classes: int = 3,
        k_sample: int = 8, dropout: float = 0.25, subtyping: bool = True, bag_weight: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_classes, self.subtyping, self.bag_weight = n_classes, subtyping, bag_weight
        self.encoder = nn.Sequential(nn.Linear(feature_dim, embed_dim), nn.ReLU(), nn.Dropout(dropout))
        self.attention = GatedAttention(embed_dim, attention_dim, n_classes, dropout)
        self.bag_classifiers = nn.ModuleList(nn.Linear(embed_dim, 1) for _ in range(n_classes))
        loss_fn = nn.CrossEntropyLoss()
        self.instance_heads = nn.ModuleList(InstanceHead(embed_dim, k_sample, loss_fn) for _ in range(n_classes))
        self.bag_loss = nn.CrossEntropyLoss()

    def instance_eval(self, attention: Tensor, h: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss of the patches, and their accuracy."""
        losses, accuracies = [], []
        of_slide = F.one_hot(label, self.n_classes).squeeze(0).tolist()
        for c, head in enumerate(self.instance_heads):
            if of_slide[c] or self.subtyping:
                loss, accuracy = head(attention[c], h, present=bool(of_slide[c]))
                losses.append(loss)
                accuracies.append(accuracy)
        return torch.stack(losses).mean(), torch.stack(accuracies).mean()

    def forward(self, features: Tensor, label: Tensor | None = None, attention_only: bool = False) -> Any:
        """The class of the slide, and the losses where it is known."""
        h = self.encoder(features)
        scores = self.attention(h)
        if attention_only:
            return scores
        attention = scores.softmax(dim=1)
        bags = attention @ h
        logits = torch.empty(1, self.n_classes, device=h.device)
        for c, classifier in enumerate(self.bag_classifiers):
            logits[0, c] = classifier(bags[c])
        results = {"logits": logits, "prob": logits.softmax(dim=1), "pred": logits.argmax(dim=1), "scores": scores}
        if label is not None:
            instance_loss, results["instance_acc"] = self.instance_eval(attention, h, label)
            bag_loss = self.bag_loss(logits, label)
            results["loss"] = self.bag_weight * bag_loss + (1 - self.bag_weight) * instance_loss
        return results


OBS_DIMS, ACT_DIMS = [8, 10, 10], [5, 5, 5]
"""Of an adversary and of two good agents."""


class FillMissing(nn.Module):
    """Means of the known rows in place of what is missing, beside marks of where that is."""

    def __init__(self, nan_mark: float = -2.0, inf_mark: float = 2.0) -> None:
        super().__init__()
        self.nan_mark, self.inf_mark = nan_mark, inf_mark

    def forward(self, x: Tensor, n_train: int) -> tuple[Tensor, Tensor]:
        """The filled values and the marks."""
        missing = ~torch.isfinite(x)
        marks = torch.isnan(x).to(x.dtype) * self.nan_mark + torch.isinf(x).to(x.dtype) * self.inf_mark
        known = torch.where(missing, 0.0, x)[:n_train].sum(0) / (~missing[:n_train]).sum(0).clamp(min=1)
        return torch.where(missing, known.expand_as(x), x), marks


class Standardize(nn.Module):
    """Columns with a mean of zero and a deviation of one over the known rows; what is far out is drawn in."""

    def __init__(self, n_sigma: float = 4.0, limit: float = 100.0) -> None:
        super().__init__()
        self.n_sigma, self.limit = n_sigma, limit

    def clip_softly(self, x: Tensor, n_train: int) -> Tensor:
        """Values that grow with a logarithm beyond some deviations."""
        mean, spread = x[:n_train].mean(0), self.n_sigma * x[:n_train].std(0)
        soft = torch.log1p(x.abs())
        x = torch.maximum(x, mean - spread - soft)
        return torch.minimum(x, mean + spread + soft)

    def forward(self, x: Tensor, n_train: int) -> Tensor:
        """The standardized values."""
        x = self.clip_softly(x, n_train)
        std, mean = torch.std_mean(x[:n_train], dim=0)
        return ((x - mean) / (std + 1e-12)).clamp(-self.limit, self.limit)


class ColumnEncoder(nn.Module):
    """A token of each group of columns in each row."""

    def __init__(self, group_size: int, d_model: int, standardize: bool = True, bias: bool = False) -> None:
        super().__init__()
        self.group_size = group_size
        self.fill_missing = FillMissing()
        self.standardize = Standardize() if standardize else None
        self.project = nn.Linear(2 * group_size, d_model, bias=bias)

    def forward(self, x: Tensor, n_train: int) -> Tensor:
        """The tokens (batch, rows, groups, d_model) of a table (rows, batch, columns)."""
        x = F.pad(x, (0, -x.size(-1) % self.group_size))
        x, marks = self.fill_missing(x, n_train)
        if self.standardize is not None:
            x = self.standardize(x, n_train)
        shape = (*x.shape[:-1], -1, self.group_size)
        x, marks = x.view(shape), marks.view(shape)
        used = (x != x[:1]).any(0).sum(-1, keepdim=True).clamp(min=1)  # constant columns say nothing
        x = x * torch.sqrt(self.group_size / used)
        return self.project(torch.cat([x, marks], dim=-1)).transpose(0, 1)


class MultiHeadAttention(nn.Module):
    """Attention over the axis before the last, whose keys and values can be of other tokens than its queries."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.w_q = nn.Parameter(torch.empty(n_heads, d_model, d_model // n_heads))
        self.w_kv = nn.Parameter(torch.empty(2, n_heads, d_model, d_model // n_heads))
        self.w_out = nn.Parameter(torch.empty(n_heads, d_model // n_heads, d_model))
        for w in self.parameters():
            nn.init.xavier_uniform_(w)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Features of the queries."""
        context = x if context is None else context
        lead = x.shape[:-2]
        queries, context = x.flatten(0, -3), context.flatten(0, -3)
        q = torch.einsum("bnd,hde->bhne", queries, self.w_q)
        k, v = torch.einsum("bnd,chde->cbhne", context, self.w_kv)
        heads = F.scaled_dot_product_attention(q, k, v)
        out = torch.einsum("bhne,hed->bnd", heads, self.w_out)
        return out.reshape(*lead, *out.shape[-2:])


class FeedForward(nn.Sequential):
    """Two layers without bias, the second of which begins with zeros."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        second = nn.Linear(d_ff, d_model, bias=False)
        nn.init.zeros_(second.weight)
        super().__init__(nn.Linear(d_model, d_ff, bias=False), nn.GELU(), second)


class TwoWayLayer(nn.Module):
    """Attention between the columns of a row, attention between the rows of a column, and a perceptron."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attn_between_features = MultiHeadAttention(d_model, n_heads)
        self.attn_between_items = MultiHeadAttention(d_model, n_heads)
        self.mlp = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model, elementwise_affine=False) for _ in range(3))

    def items(self, x: Tensor, n_train: int) -> Tensor:
        """Features of the rows: all look at the known rows alone."""
        x = x.transpose(1, 2)
        train, test = x[:, :, :n_train], x[:, :, n_train:]
        out = [self.attn_between_items(train), self.attn_between_items(test, train)]
        return torch.cat(out, dim=2).transpose(1, 2)

    def forward(self, x: Tensor, n_train: int) -> Tensor:
        """Features (batch, rows, columns, d_model)."""
        sublayers: list[Any] = [self.attn_between_features, partial(self.items, n_train=n_train), self.mlp]
        for sublayer, norm in zip(sublayers, self.norms, strict=True):
            x = norm(x + sublayer(x))
        return x


class TabPFN(nn.Module):
    """Answers of rows of a table from rows whose answers are known, without learning from them."""

    def __init__(
        self, d_model: int = 48, n_heads: int = 4, d_ff: int = 96, n_layers: int = 3, n_out: int = 10,
        group_size: int = 2, seed: int = 420,
    ) -> None:  # fmt: skip
        super().__init__()
        self.d_model, self.seed = d_model, seed
        self.x_encoder = ColumnEncoder(group_size, d_model)
        self.y_encoder = ColumnEncoder(1, d_model, standardize=False, bias=True)
        self.column_embedding = nn.Linear(d_model // 4, d_model)
        self.layers = nn.ModuleList(TwoWayLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.decoder = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, n_out))

    def embed_columns(self, x: Tensor) -> Tensor:
        """Tokens that know of which columns they are, by noise that is the same each time."""
        generator = torch.Generator(x.device).manual_seed(self.seed)
        noise = torch.randn(x.size(2), self.d_model // 4, generator=generator, device=x.device)
        return x + self.column_embedding(noise)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Logits of the rows whose answers are not given (rows, batch, n_out)."""
        n_train = len(y)
        y = F.pad(y.unsqueeze(-1), (0, 0, 0, 0, 0, len(x) - n_train), value=math.nan)
        tokens = torch.cat([self.embed_columns(self.x_encoder(x, n_train)), self.y_encoder(y, n_train)], dim=2)
        for layer in self.layers:
            tokens = layer(tokens, n_train)
        return self.decoder(tokens[:, n_train:, -1]).transpose(0, 1)


def _table() -> Tensor:
    x = torch.randn(20, 2, 5)
    x[3, 0, 1] = x[7, 1, 4] = x[15, 1, 0] = torch.nan
    return x


def _answers() -> Tensor:
    return torch.randint(0, 3, (14, 2)).float()


NETS = [
    Entry("own/clam_mil", CLAM, given(numbers(60, 128), whole(1))),
    Entry("own/tabpfn", TabPFN, given(_table, _answers)),
]
