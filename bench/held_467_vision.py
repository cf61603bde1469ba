"""Nets of images, tables, games and particles as repositories write them, of the twelfth list kept from all rules.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve of the eleventh list, `random.Random(467).sample(that, 12)`:

    gdn particle_transformer musicvae caser alphastar neural_motifs commnet scgpt inception_time gqn ncf trade_dst

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from bench.held_397_vision import TOPICS as _OF_THREE_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from tests.corpus.entry import Entry, given, numbers, whole

_DRAWN_BEFORE = {*random.Random(397).sample(_OF_THREE_LISTS.split(), 15), *_OF_SEED_433}
TOPICS = random.Random(467).sample([it for it in sorted(_OF_THREE_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


def pairwise_features(momenta: Tensor, eps: float = 1e-6) -> Tensor:
    """Logarithms of angle, transverse momentum, momentum share and mass of all pairs (batch, particles, particles, 4).

    Momenta are (batch, particles, 4): px, py, pz and energy.
    """
    energy, pz = momenta[..., 3], momenta[..., 2]
    transverse = torch.linalg.vector_norm(momenta[..., :2], dim=-1).clamp(min=eps)
    rapidity = torch.atanh((pz / energy.clamp(min=eps)).clamp(eps - 1, 1 - eps))
    azimuth = torch.atan2(momenta[..., 1], momenta[..., 0])
    turn = azimuth[:, :, None] - azimuth[:, None, :]
    angle = torch.hypot(rapidity[:, :, None] - rapidity[:, None, :], torch.atan2(turn.sin(), turn.cos()))
    softer = torch.minimum(transverse[:, :, None], transverse[:, None, :])
    share = softer / (transverse[:, :, None] + transverse[:, None, :])
    total = momenta[:, :, None] + momenta[:, None, :]
    mass_squared = total[..., 3].square() - total[..., :3].square().sum(dim=-1)
    stacked = torch.stack([angle, softer * angle, share, mass_squared], dim=-1)
    return stacked.clamp(min=eps).log()


class InteractionEmbedding(nn.Sequential):
    """Biases of attention, one for each head, from features of pairs."""

    def __init__(self, n_features: int, dims: Sequence[int], n_heads: int) -> None:
        layers = list[nn.Module]()
        for n_in, n_out in pairwise([n_features, *dims]):
            layers += [nn.Linear(n_in, n_out), nn.LayerNorm(n_out), nn.GELU()]
        super().__init__(nn.LayerNorm(n_features), *layers, nn.Linear(dims[-1], n_heads))

    def forward(self, pairs: Tensor) -> Tensor:
        """Biases (batch, heads, particles, particles)."""
        return super().forward(pairs).permute(0, 3, 1, 2)


class HeadScaledAttention(nn.Module):
    """Attention with a learned scale of each head and an optional bias of each pair."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.head_scale = nn.Parameter(torch.ones(n_heads, 1, 1))
        self.output = nn.Linear(dim, dim)

    def split_heads(self, x: Tensor) -> Tensor:
        """Features (batch, heads, tokens, head_dim)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, context: Tensor, bias: Tensor) -> Tensor:
        """Features of `x` that have looked at the context."""
        keys, values = self.key_value(context).chunk(2, dim=-1)
        q, k, v = self.split_heads(self.query(x)), self.split_heads(keys), self.split_heads(values)
        heads = F.scaled_dot_product_attention(q, k, v, bias, self.dropout if self.training else 0.0)
        return self.output((self.head_scale * heads).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """A perceptron with a norm before each of its layers, and a learned scale of what it is added to."""

    def __init__(self, dim: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, ratio * dim), nn.GELU(), nn.LayerNorm(ratio * dim),
            nn.Dropout(dropout), nn.Linear(ratio * dim, dim), nn.Dropout(dropout),
        )  # fmt: skip
        self.residual_scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.layers(x) + self.residual_scale * x


class ParticleLayer(nn.Module):
    """Attention between particles, biased by what is known of each pair, and a perceptron."""

    def __init__(self, dim: int, n_heads: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.norm_in, self.norm_out = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = HeadScaledAttention(dim, n_heads, dropout)
        self.feed_forward = FeedForward(dim, ratio, dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Features (batch, particles, dim)."""
        normed = self.norm_in(x)
        return self.feed_forward(x + self.norm_out(self.attention(normed, normed, bias)))


class SummaryLayer(nn.Module):
    """Attention of a class token to itself and all particles, and a perceptron."""

    def __init__(self, dim: int, n_heads: int, ratio: int) -> None:
        super().__init__()
        self.norm_context, self.norm_out = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = HeadScaledAttention(dim, n_heads, 0.0)
        self.feed_forward = FeedForward(dim, ratio, 0.0)

    def forward(self, token: Tensor, particles: Tensor, bias: Tensor) -> Tensor:
        """The token (batch, 1, dim)."""
        context = self.norm_context(torch.cat([token, particles], dim=1))
        return self.feed_forward(token + self.norm_out(self.attention(token, context, bias)))


class JetTagger(nn.Module):
    """The kind of particle that a jet comes from."""

    def __init__(
        self, n_features: int = 7, n_classes: int = 10, embed_dims: Sequence[int] = (64, 128, 64),
        pair_dims: Sequence[int] = (32, 32), n_heads: int = 4, n_particle_layers: int = 4, n_summary_layers: int = 2,
        ratio: int = 4, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        dim = embed_dims[-1]
        self.input_norm = nn.BatchNorm1d(n_features)
        self.embed = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(n_in, n_out), nn.GELU(), nn.Dropout(dropout))
                for n_in, n_out in pairwise([n_features, *embed_dims])
            ),
            nn.LayerNorm(dim),
        )
        self.interactions = InteractionEmbedding(4, pair_dims, n_heads)
        self.particle_layers = nn.ModuleList(
            ParticleLayer(dim, n_heads, ratio, dropout) for _ in range(n_particle_layers)
        )
        self.summary = nn.Parameter(torch.zeros(1, 1, dim))
        nn.init.trunc_normal_(self.summary, std=0.02)
        self.summary_layers = nn.ModuleList(SummaryLayer(dim, n_heads, ratio) for _ in range(n_summary_layers))
        self.classifier = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, n_classes))

    def forward(self, features: Tensor, momenta: Tensor, present: Tensor) -> Tensor:
        """Logits (batch, classes) of jets: features and momenta of their particles, and which of these are there."""
        x = self.embed(self.input_norm(features.transpose(1, 2)).transpose(1, 2))
        x = x * present.unsqueeze(-1)
        absent = torch.zeros(present.shape, device=x.device).masked_fill(~present, -math.inf)[:, None, None]
        bias = self.interactions(pairwise_features(momenta)) + absent
        for layer in self.particle_layers:
            x = layer(x, bias)
        token = self.summary.expand(x.size(0), -1, -1)
        absent = F.pad(absent, (1, 0))
        for layer in self.summary_layers:
            token = layer(token, x, absent)
        return self.classifier(token.squeeze(1))


class RegionBackbone(nn.Module):
    """Features of an image at an eighth of its size."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.stages = nn.Sequential(
            *(
                nn.Sequential(
                    nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(),
                    nn.Conv2d(n_out, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(), nn.MaxPool2d(2),
                )
                for n_in, n_out in pairwise([3, *widths])
            )
        )  # fmt: skip

    def forward(self, image: Tensor) -> Tensor:
        """Features (1, channels, height, width)."""
        return self.stages(image)


class RegionPooling(nn.Module):
    """Features of boxes of an image, as vectors; boxes are corners in parts of the image."""

    def __init__(self, channels: int, size: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.project = nn.Sequential(
            nn.Flatten(), nn.Linear(channels * size**2, dim), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(dim, dim), nn.ReLU(),
        )  # fmt: skip

    def crop(self, features: Tensor, boxes: Tensor) -> Tensor:
        """The features inside the boxes (boxes, channels, size, size)."""
        low, high = boxes.split(2, dim=1)
        scale, centre = torch.diag_embed(high - low), low + high - 1
        theta = torch.cat([scale, centre.unsqueeze(-1)], dim=-1)
        shape = [len(boxes), features.size(1), self.size, self.size]
        grid = F.affine_grid(theta, shape, align_corners=False)
        return F.grid_sample(features.expand(len(boxes), -1, -1, -1), grid, align_corners=False)

    def forward(self, features: Tensor, boxes: Tensor, marks: Tensor | None = None) -> Tensor:
        """Vectors of the boxes (boxes, dim); marks are added to what is in them."""
        inside = self.crop(features, boxes)
        return self.project(inside if marks is None else inside + marks)


class ContextEncoder(nn.Module):
    """Vectors of objects that know of all other objects of the image, read from left to right and back."""

    def __init__(self, n_in: int, hidden_dim: int, n_layers: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(n_in, hidden_dim // 2, n_layers, dropout=dropout, bidirectional=True)

    def forward(self, objects: Tensor, order: Tensor) -> Tensor:
        """Vectors (objects, hidden_dim) in the order in which the objects came."""
        context, _ = self.lstm(objects[order])
        return context[order.argsort()]


class LabelDecoder(nn.Module):
    """Labels of objects, one after another, each of which knows the label before it."""

    def __init__(self, n_in: int, hidden_dim: int, n_classes: int, label_dim: int) -> None:
        super().__init__()
        self.labels = nn.Embedding(n_classes + 1, label_dim)  # the last one is that of the beginning
        self.cell = nn.LSTMCell(n_in + label_dim, hidden_dim)
        self.classify = nn.Linear(hidden_dim, n_classes)

    def forward(self, objects: Tensor, order: Tensor, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits (objects, classes) and the labels; known labels are taken as they are."""
        h = c = objects.new_zeros(1, self.cell.hidden_size)
        previous = order.new_full((1,), self.labels.num_embeddings - 1)
        logits, labels = [], []
        for index in order:
            h, c = self.cell(torch.cat([objects[index].unsqueeze(0), self.labels(previous)], dim=1), (h, c))
            logits.append(self.classify(h))
            previous = logits[-1].argmax(dim=1) if known is None else known[index].unsqueeze(0)
            labels.append(previous)
        back = order.argsort()
        return torch.cat(logits)[back], torch.cat(labels)[back]


class SceneGraphNet(nn.Module):
    """Objects in the boxes of an image and the relations between them."""

    def __init__(
        self, n_classes: int = 30, n_relations: int = 12, widths: Sequence[int] = (16, 32, 48), dim: int = 64,
        hidden_dim: int = 64, label_dim: int = 24, pool_size: int = 7, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.pool_size = pool_size
        self.backbone = RegionBackbone(widths)
        self.object_features = RegionPooling(widths[-1], pool_size, dim, dropout)
        self.pair_features = RegionPooling(widths[-1], pool_size, hidden_dim, dropout)
        self.first_guess = nn.Linear(dim, n_classes)
        self.guess_embed = nn.Linear(n_classes, label_dim, bias=False)
        self.position = nn.Sequential(nn.Linear(4, 32), nn.LayerNorm(32), nn.Tanh())
        self.object_context = ContextEncoder(dim + label_dim + 32, hidden_dim, 2, dropout)
        self.decoder = LabelDecoder(hidden_dim + dim, hidden_dim, n_classes, label_dim)
        self.relation_labels = nn.Embedding(n_classes, label_dim)
        self.relation_context = ContextEncoder(hidden_dim + label_dim + dim, hidden_dim, 2, dropout)
        self.draw_boxes = nn.Sequential(
            nn.Conv2d(2, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(16, widths[-1], 3, stride=2, padding=1)
        )  # fmt: skip
        self.as_subject, self.as_object = nn.Linear(hidden_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)
        self.relate = nn.Linear(hidden_dim, n_relations)
        self.habit = nn.Parameter(torch.zeros(n_classes, n_classes, n_relations))  # how often there is a relation

    def masks_of(self, boxes: Tensor, frames: Tensor) -> Tensor:
        """Masks of the places inside the boxes, in the frames around pairs (pairs, side, side)."""
        side = 4 * self.pool_size - 3
        at = torch.linspace(0, 1, side, device=boxes.device)
        x = torch.lerp(frames[:, 0, None], frames[:, 2, None], at)
        y = torch.lerp(frames[:, 1, None], frames[:, 3, None], at)
        in_x = (x >= boxes[:, 0, None]) & (x <= boxes[:, 2, None])
        in_y = (y >= boxes[:, 1, None]) & (y <= boxes[:, 3, None])
        return (in_y.unsqueeze(2) & in_x.unsqueeze(1)).to(boxes.dtype)

    def features_of_pairs(self, features: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """Vectors of what is in and between two boxes (pairs, hidden_dim)."""
        around = torch.cat([torch.minimum(first, second)[:, :2], torch.maximum(first, second)[:, 2:]], dim=1)
        masks = torch.stack([self.masks_of(first, around), self.masks_of(second, around)], dim=1)
        return self.pair_features(features, around, self.draw_boxes(masks - 0.5))

    def forward(self, image: Tensor, boxes: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        """Logits of the objects (objects, classes), of the relations (pairs, relations), and the pairs."""
        features = self.backbone(image)
        seen = self.object_features(features, boxes)
        guess = self.guess_embed(self.first_guess(seen).softmax(dim=1))
        position = self.position(torch.cat([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], dim=1))
        order = (boxes[:, 0] + boxes[:, 2]).argsort()
        context = self.object_context(torch.cat([seen, guess, position], dim=1), order)
        logits, named = self.decoder(torch.cat([context, seen], dim=1), order, labels)
        context = self.relation_context(torch.cat([context, self.relation_labels(named), seen], dim=1), order)
        pairs = torch.combinations(torch.arange(len(boxes), device=boxes.device))
        pairs = torch.cat([pairs, pairs.flip(1)])
        head, tail = pairs.unbind(dim=1)
        together = self.as_subject(context)[head] * self.as_object(context)[tail]
        together = together * self.features_of_pairs(features, boxes[head], boxes[tail])
        return {
            "objects": logits,
            "relations": self.relate(together) + self.habit[named[head], named[tail]],
            "pairs": pairs,
        }


class ViewEncoder(nn.Module):
    """A code of a scene from one image and the camera that saw it."""

    def __init__(self, view_dim: int, channels: int, code_dim: int) -> None:
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, channels, 2, stride=2), nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()
        )
        self.camera = nn.Linear(view_dim, channels)
        self.fine = nn.Sequential(
            nn.Conv2d(channels, channels // 2, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 3, padding=1),
        )
        self.halve = nn.Conv2d(channels, code_dim, 2, stride=2)
        self.coarse = nn.Sequential(
            nn.Conv2d(code_dim, code_dim, 3, padding=1), nn.ReLU(), nn.Conv2d(code_dim, code_dim, 3, padding=1)
        )

    def forward(self, images: Tensor, cameras: Tensor) -> Tensor:
        """Codes (views, code_dim, height, width) at a quarter of the size of the images."""
        x = self.image(images) + self.camera(cameras)[..., None, None]
        x = F.relu(self.halve(F.relu(x + self.fine(x))))
        return F.relu(x + self.coarse(x))


class ConvMemory(nn.Module):
    """A cell of an LSTM whose gates are convolutions."""

    def __init__(self, n_in: int, hidden: int, width: int = 5) -> None:
        super().__init__()
        self.hidden = hidden
        self.to_gates = nn.Conv2d(n_in + hidden, 4 * hidden, width, padding=width // 2)

    def start(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """The state before the first step, for maps of the size of those that are given."""
        empty = like.new_zeros(like.size(0), self.hidden, *like.shape[2:])
        return empty, empty

    def forward(self, inputs: Sequence[Tensor], state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The next state: what is shown and what is kept."""
        shown, kept = state
        write, show, forget, new = self.to_gates(torch.cat([*inputs, shown], dim=1)).chunk(4, dim=1)
        kept = torch.sigmoid(forget) * kept + torch.sigmoid(write) * torch.tanh(new)
        return torch.sigmoid(show) * torch.tanh(kept), kept


class GaussianHead(nn.Conv2d):
    """A normal distribution of maps."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, 2 * n_out, 5, padding=2)

    def forward(self, x: Tensor) -> Normal:  # type: ignore[override]
        """The distribution."""
        mean, spread = super().forward(x).chunk(2, dim=1)
        return Normal(mean, F.softplus(spread) + 1e-4)


class Sketch(NamedTuple):
    """State of an image between two steps of drawing it."""

    canvas: Tensor
    drawing: tuple[Tensor, Tensor]
    looking: tuple[Tensor, Tensor]


class DrawingStep(nn.Module):
    """One step of drawing a scene: a latent map is sampled, and something is added to the canvas for it."""

    def __init__(self, scene_dim: int, hidden: int, latent: int, canvas: int) -> None:
        super().__init__()
        self.look = ConvMemory(scene_dim + canvas + hidden + 3, hidden)
        self.draw = ConvMemory(scene_dim + latent, hidden)
        self.prior, self.posterior = GaussianHead(hidden, latent), GaussianHead(hidden, latent)
        self.shrink_target = nn.Conv2d(3, 3, 4, stride=4)
        self.shrink_canvas = nn.Conv2d(canvas, canvas, 4, stride=4)
        self.paint = nn.ConvTranspose2d(hidden, canvas, 4, stride=4)

    def forward(self, scene: Tensor, sketch: Sketch, target: Tensor | None) -> tuple[Sketch, Tensor]:
        """The next sketch, and the divergence of what is seen in the target from what was expected (batch)."""
        canvas, drawing, looking = sketch
        prior = self.prior(drawing[0])
        if target is None:
            latent, divergence = prior.sample(), canvas.new_zeros(len(canvas))
        else:
            seen = [self.shrink_target(target), self.shrink_canvas(canvas), scene, drawing[0]]
            looking = self.look(seen, looking)
            posterior = self.posterior(looking[0])
            latent = posterior.rsample()
            divergence = kl_divergence(posterior, prior).flatten(1).sum(dim=1)
        drawing = self.draw([scene, latent], drawing)
        return Sketch(canvas + self.paint(drawing[0]), drawing, looking), divergence


class SceneRenderer(nn.Module):
    """An image of a scene from a camera that has not been there, out of images of some others."""

    def __init__(
        self, view_dim: int = 7, channels: int = 32, code_dim: int = 48, hidden: int = 32, latent: int = 3,
        canvas: int = 24, n_steps: int = 4, share_steps: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_steps, self.canvas = n_steps, canvas
        self.encode = ViewEncoder(view_dim, channels, code_dim)
        self.steps = nn.ModuleList(
            DrawingStep(code_dim + view_dim, hidden, latent, canvas) for _ in range(1 if share_steps else n_steps)
        )
        self.to_image = nn.Conv2d(canvas, 3, 1)

    def scene_code(self, images: Tensor, cameras: Tensor) -> Tensor:
        """The sum of the codes of all views of each scene."""
        codes = self.encode(images.flatten(0, 1), cameras.flatten(0, 1))
        return codes.unflatten(0, images.shape[:2]).sum(dim=1)

    def forward(
        self, images: Tensor, cameras: Tensor, camera: Tensor, target: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The image from the camera (batch, 3, height, width), and a bound of how unlikely the target is.

        Images (batch, views, 3, height, width) and their cameras (batch, views, view_dim) are what is known.
        """
        code = self.scene_code(images, cameras)
        scene = torch.cat([code, camera[..., None, None].expand(-1, -1, *code.shape[2:])], dim=1)
        canvas = code.new_zeros(code.size(0), self.canvas, *images.shape[3:])
        first = cast("DrawingStep", self.steps[0])
        sketch = Sketch(canvas, first.draw.start(code), first.look.start(code))
        divergence = code.new_zeros(len(code))
        for at in range(self.n_steps):
            sketch, more = self.steps[at % len(self.steps)](scene, sketch, target)
            divergence = divergence + more
        image = torch.sigmoid(self.to_image(sketch.canvas))
        if target is None:
            return {"image": image}
        error = F.binary_cross_entropy(image, target, reduction="none").flatten(1).sum(dim=1)
        return {"image": image, "divergence": divergence, "bound": error + divergence}


class UnitEncoder(nn.Module):
    """Vectors of the units of a game, which know of one another, and one of all of them."""

    def __init__(self, n_kinds: int, n_stats: int, dim: int, n_heads: int, n_layers: int) -> None:
        super().__init__()
        self.kind = nn.Embedding(n_kinds, dim, padding_idx=0)
        self.owner = nn.Embedding(3, dim)
        self.stats = nn.Linear(n_stats, dim)
        layer = nn.TransformerEncoderLayer(dim, n_heads, 2 * dim, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.each = nn.Linear(dim, dim)
        self.all = nn.Linear(dim, dim)

    def forward(self, kinds: Tensor, owners: Tensor, stats: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (batch, units, dim) and (batch, dim); a unit of kind zero is not there."""
        there = (kinds > 0).unsqueeze(-1)
        x = self.kind(kinds) + self.owner(owners) + self.stats(stats)
        x = F.relu(self.transformer(x, src_key_padding_mask=~there.squeeze(-1)))
        mean = (x * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)
        return F.relu(self.each(x)) * there, F.relu(self.all(mean))


class MapResidual(nn.Module):
    """Two convolutions of a map, beside what came in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, channels, height, width)."""
        return x + self.second(F.relu(self.first(F.relu(x))))


class MapEncoder(nn.Module):
    """The map of a game with the units written at their places, at a quarter of its size, and a vector of it."""

    def __init__(self, n_planes: int, unit_dim: int, written: int, channels: int, side: int, dim: int) -> None:
        super().__init__()
        self.to_written = nn.Linear(unit_dim, written)
        self.project = nn.Conv2d(n_planes + written, channels, 1)
        self.downsample = nn.ModuleList(nn.Conv2d(channels, channels, 4, stride=2, padding=1) for _ in range(2))
        self.residuals = nn.ModuleList(MapResidual(channels) for _ in range(2))
        self.to_vector = nn.Linear(channels * (side // 4) ** 2, dim)

    def write_units(self, units: Tensor, places: Tensor, side: int) -> Tensor:
        """A map with the sum of the units at each place."""
        flat = places[..., 1] * side + places[..., 0]
        rows = self.to_written(units)
        empty = rows.new_zeros(rows.size(0), side * side, rows.size(2))
        written = empty.scatter_add(1, flat.unsqueeze(-1).expand_as(rows), rows)
        return written.transpose(1, 2).unflatten(2, (side, side))

    def forward(self, planes: Tensor, units: Tensor, places: Tensor) -> tuple[list[Tensor], Tensor]:
        """Maps after each block, which help to find a place later, and the vector."""
        x = F.relu(self.project(torch.cat([planes, self.write_units(units, places, planes.size(-1))], dim=1)))
        for downsample in self.downsample:
            x = F.relu(downsample(x))
        maps = []
        for residual in self.residuals:
            x = residual(x)
            maps.append(x)
        return maps, F.relu(self.to_vector(x.flatten(1)))


class ChoiceHead(nn.Module):
    """A choice among a few, and the summary of all choices so far, to which it is added."""

    def __init__(self, dim: int, n_choices: int, context_dim: int) -> None:
        super().__init__()
        self.read = nn.Linear(dim, dim)
        self.residual = nn.Sequential(nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.logits = nn.Linear(dim, n_choices)
        self.gate = nn.Linear(context_dim, n_choices)
        self.embed = nn.Embedding(n_choices, dim)

    def forward(self, summary: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (batch, choices), the best of them, and the summary that knows of it."""
        x = self.read(summary)
        logits = self.logits(F.relu(x + self.residual(x))) * torch.sigmoid(self.gate(context))
        chosen = logits.argmax(dim=1)
        return logits, chosen, summary + self.embed(chosen)


class UnitPointer(nn.Module):
    """Units that are chosen one after another, each time with what was chosen before in mind."""

    def __init__(self, dim: int, unit_dim: int, key_dim: int, most: int) -> None:
        super().__init__()
        self.most = most
        self.keys = nn.Linear(unit_dim, key_dim)
        self.stop = nn.Parameter(torch.randn(1, 1, key_dim) / math.sqrt(key_dim))
        self.query = nn.Sequential(nn.Linear(dim, 2 * key_dim), nn.ReLU(), nn.Linear(2 * key_dim, key_dim))
        self.cell = nn.LSTMCell(key_dim, key_dim)
        self.to_summary = nn.Linear(key_dim, dim)

    def forward(self, summary: Tensor, units: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (batch, most, units + 1), the choices, and the summary; the choice after all units is to stop."""
        keys = torch.cat([self.keys(units), self.stop.expand(len(units), -1, -1)], dim=1)
        allowed = F.pad(allowed, (0, 1), value=True)
        h = c = summary.new_zeros(len(summary), keys.size(2))
        logits, chosen = [], []
        for _ in range(self.most):
            h, c = self.cell(self.query(summary), (h, c))
            scores = torch.einsum("bk,buk->bu", h, keys).masked_fill(~allowed, -1e9)
            choice = scores.argmax(dim=1, keepdim=True)
            key = keys.take_along_dim(choice.unsqueeze(-1), dim=1).squeeze(1)
            goes_on = choice < units.size(1)
            summary = summary + self.to_summary(key) * goes_on
            allowed = allowed.scatter(1, choice, ~goes_on)  # no unit twice, but to stop is always allowed
            logits.append(scores)
            chosen.append(choice)
        return torch.stack(logits, dim=1), torch.cat(chosen, dim=1), summary


class PlaceHead(nn.Module):
    """A place of the map where something is done."""

    def __init__(self, dim: int, channels: int, side: int) -> None:
        super().__init__()
        self.side = side // 4
        self.spread = nn.Linear(dim, 4 * self.side**2)
        self.join = nn.Conv2d(channels + 4, channels, 1)
        self.residuals = nn.ModuleList(MapResidual(channels) for _ in range(2))
        self.enlarge = nn.Sequential(
            nn.ConvTranspose2d(channels, channels // 2, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(channels // 2, 1, 4, stride=2, padding=1),
        )  # fmt: skip

    def forward(self, summary: Tensor, maps: Sequence[Tensor]) -> Tensor:
        """Logits (batch, height * width)."""
        spread = self.spread(summary).unflatten(1, (4, self.side, self.side))
        x = F.relu(self.join(torch.cat([maps[-1], spread], dim=1)))
        for residual, skip in zip(self.residuals, reversed(maps), strict=True):
            x = residual(x + skip)
        return self.enlarge(F.relu(x)).flatten(1)


class StrategyAgent(nn.Module):
    """The next action of a player of a strategy game, part after part, and how well the game goes."""

    def __init__(
        self, n_kinds: int = 40, n_stats: int = 9, n_planes: int = 5, n_scalars: int = 16, n_actions: int = 24,
        n_delays: int = 16, side: int = 32, unit_dim: int = 48, channels: int = 24, written: int = 8, dim: int = 96,
        n_heads: int = 4, n_unit_layers: int = 2, n_core_layers: int = 2, most_units: int = 4,
    ) -> None:  # fmt: skip
        super().__init__()
        self.units = UnitEncoder(n_kinds, n_stats, unit_dim, n_heads, n_unit_layers)
        self.map = MapEncoder(n_planes, unit_dim, written, channels, side, dim)
        self.scalars = nn.Sequential(nn.Linear(n_scalars, dim), nn.ReLU())
        self.last_action = nn.Embedding(n_actions, dim)
        self.core = nn.LSTM(3 * dim + unit_dim, dim, n_core_layers, batch_first=True)
        self.action = ChoiceHead(dim, n_actions, dim)
        self.delay = ChoiceHead(dim, n_delays, dim)
        self.queued = ChoiceHead(dim, 2, dim)
        self.selected = UnitPointer(dim, unit_dim, unit_dim, most_units)
        self.target_query, self.target_key = nn.Linear(dim, unit_dim), nn.Linear(unit_dim, unit_dim)
        self.place = PlaceHead(dim, channels, side)
        self.value = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(
        self, observation: Mapping[str, Tensor], state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[dict[str, Tensor], Tensor, tuple[Tensor, Tensor]]:
        """Logits of all parts of the action with the chosen units, the value (batch), and the state of the core."""
        kinds, owners = observation["kinds"], observation["owners"]
        units, army = self.units(kinds, owners, observation["stats"])
        maps, terrain = self.map(observation["planes"], units, observation["places"])
        scalars = self.scalars(observation["scalars"])
        before = self.last_action(observation["last_action"])
        x = torch.cat([scalars, before, terrain, army], dim=1)
        core, state = self.core(x.unsqueeze(1), state)
        summary = core = core.squeeze(1)
        parts = {}
        parts["action"], _, summary = self.action(summary, scalars)
        parts["delay"], _, summary = self.delay(summary, scalars)
        parts["queued"], _, summary = self.queued(summary, scalars)
        own = (kinds > 0) & (owners == 0)
        parts["selected"], parts["chosen"], summary = self.selected(summary, units, own)
        target = torch.einsum("bd,bud->bu", F.relu(self.target_query(summary)), self.target_key(units))
        parts["target"] = target.masked_fill(kinds == 0, -1e9)
        parts["place"] = self.place(summary, maps)
        return parts, self.value(torch.cat([core, scalars], dim=1)).squeeze(1), state


class TalkingStep(nn.Module):
    """One round in which all agents hear the mean of what the others say."""

    def __init__(self, dim: int, skip: bool) -> None:
        super().__init__()
        self.own = nn.Linear(dim, dim)
        self.heard = nn.Linear(dim, dim, bias=False)
        self.seen = nn.Linear(dim, dim, bias=False) if skip else None

    def forward(self, hidden: Tensor, seen: Tensor, alive: Tensor) -> Tensor:
        """Hidden states (batch, agents, dim)."""
        said = hidden * alive.unsqueeze(-1)
        n_others = (alive.sum(dim=1, keepdim=True) - 1).clamp(min=1).unsqueeze(-1)
        message = (said.sum(dim=1, keepdim=True) - said) / n_others
        x = self.own(hidden) + self.heard(message)
        if self.seen is not None:
            x = x + self.seen(seen)
        return torch.tanh(x) * alive.unsqueeze(-1)


class TrafficTeam(nn.Module):
    """Actions of cars at a junction, which see little themselves and talk to one another."""

    def __init__(
        self, n_ids: int = 12, n_routes: int = 3, grid: tuple[int, int] = (7, 7), n_actions: int = 2, dim: int = 64,
        n_rounds: int = 3, skip: bool = True, recurrent: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.dim = dim
        self.ids = nn.Embedding(n_ids, dim)
        self.routes = nn.Embedding(n_routes, dim)
        self.rows, self.columns = nn.Embedding(grid[0], dim), nn.Embedding(grid[1], dim)
        self.around = nn.Embedding(n_ids, dim // 4, padding_idx=0)  # of who is in the cells that a car sees
        self.look = nn.Sequential(nn.Linear(9 * (dim // 4), dim), nn.ReLU())
        self.encode = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.memory = nn.GRUCell(dim, dim) if recurrent else None
        self.rounds = nn.ModuleList(TalkingStep(dim, skip) for _ in range(n_rounds))
        self.policy = nn.Linear(dim, n_actions)
        self.value = nn.Linear(dim, 1)

    def see(self, cars: Tensor, around: Tensor) -> Tensor:
        """Features of each car by itself (batch, agents, dim)."""
        who, route, row, column = cars.unbind(dim=-1)
        place = self.rows(row) + self.columns(column)
        return self.encode(self.ids(who) + self.routes(route) + place + self.look(self.around(around).flatten(2)))

    def forward(
        self, cars: Tensor, around: Tensor, alive: Tensor, hidden: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the actions (batch, agents, actions), values of the states, and the hidden states.

        Cars are a number, a route, a row and a column; around them are the numbers in nine cells.
        """
        seen = self.see(cars, around)
        x = seen
        if self.memory is not None:
            if hidden is None:
                hidden = seen.new_zeros(seen.shape)
            x = self.memory(seen.flatten(0, 1), hidden.flatten(0, 1)).view_as(seen)
        for talk in self.rounds:
            x = talk(x, seen, alive)
        return self.policy(x).log_softmax(dim=-1), self.value(x).squeeze(-1), x


class FactorProduct(nn.Module):
    """Products of the factors of a user and an item, which a layer after it weighs."""

    def __init__(self, n_users: int, n_items: int, factors: int) -> None:
        super().__init__()
        self.user_factors = nn.Embedding(n_users, factors)
        self.item_factors = nn.Embedding(n_items, factors)
        self.n_out = factors

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """Features (..., n_out)."""
        return self.user_factors(users) * self.item_factors(items)


class ProfileTower(nn.Module):
    """A perceptron of the profiles of a user and an item, each layer of which is half as wide as the one before."""

    def __init__(self, n_users: int, n_items: int, width: int, n_layers: int, dropout: float) -> None:
        super().__init__()
        self.user_profile = nn.Embedding(n_users, width)
        self.item_profile = nn.Embedding(n_items, width)
        self.entrance = nn.Linear(2 * width, width)
        widths = [width // 2**depth for depth in range(n_layers)]
        self.layers = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(widths))
        self.dropout = nn.Dropout(dropout)
        self.n_out = widths[-1]

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """Features (..., n_out)."""
        x = torch.cat([self.user_profile(users), self.item_profile(items)], dim=-1)
        x = F.relu(self.entrance(x))
        for layer in self.layers:
            x = F.relu(layer(self.dropout(x)))
        return x


class PreferenceNet(nn.Module):
    """The chance that a user likes an item, by a product of factors and a perceptron beside it."""

    def __init__(
        self, n_users: int, n_items: int, factors: int = 16, width: int = 32, n_layers: int = 3, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.product = FactorProduct(n_users, n_items, factors)
        self.tower = ProfileTower(n_users, n_items, width, n_layers, dropout)
        self.item_bias = nn.Embedding(n_items, 1)
        nn.init.zeros_(self.item_bias.weight)
        self.output = nn.Linear(self.product.n_out + self.tower.n_out, 1)

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        """Logits of pairs, of whatever shape both have."""
        features = torch.cat([self.product(users, items), self.tower(users, items)], dim=-1)
        return (self.output(features) + self.item_bias(items)).squeeze(-1)

    @torch.no_grad()
    def recommend(self, user: int, seen: Tensor, count: int = 10) -> Tensor:
        """The best items for a user, without those that the user has seen."""
        items = torch.arange(self.item_bias.num_embeddings, device=seen.device)
        scores = self.score(torch.full_like(items, user), items)
        return scores.index_fill(0, seen, -math.inf).topk(count).indices

    def forward(self, users: Tensor, liked: Tensor, others: Tensor) -> dict[str, Tensor]:
        """Chances of an item that each user liked and of some others, the rank of the former, and the loss."""
        items = torch.cat([liked.unsqueeze(1), others], dim=1)
        logits = self.score(users.unsqueeze(1).expand_as(items), items)
        wanted = torch.zeros_like(logits)
        wanted[:, 0] = 1
        rank = 1 + (logits[:, 1:] > logits[:, :1]).sum(dim=1)
        loss = F.binary_cross_entropy_with_logits(logits, wanted)
        return {"chances": logits.sigmoid(), "rank": rank, "loss": loss}


def _jets(jets: int = 3, particles: int = 16) -> Tensor:
    momentum = torch.randn(jets, particles, 3)
    return torch.cat([momentum, momentum.norm(dim=-1, keepdim=True) + 0.1], dim=-1)


def _others() -> Tensor:
    return torch.randint(0, 90, (3, 4))


def _boxes(count: int = 6) -> Tensor:
    low = 0.6 * torch.rand(count, 2)
    return torch.cat([low, low + 0.2 + 0.2 * torch.rand(count, 2)], dim=1)


def _game(batch: int = 2, units: int = 12, side: int = 32) -> dict[str, Tensor]:
    kinds = torch.randint(1, 40, (batch, units))
    kinds[-1, -3:] = 0
    return {
        "kinds": kinds,
        "owners": torch.randint(0, 3, (batch, units)),
        "stats": torch.randn(batch, units, 9),
        "places": torch.randint(0, side, (batch, units, 2)),
        "planes": torch.rand(batch, 5, side, side),
        "scalars": torch.randn(batch, 16),
        "last_action": torch.randint(0, 24, (batch,)),
    }


NETS = [
    Entry(
        "own/particle_transformer",
        JetTagger,
        given(numbers(3, 16, 7), _jets, lambda: torch.arange(16) < torch.tensor([[16], [11], [8]])),
    ),
    Entry("own/neural_motifs", SceneGraphNet, given(numbers(1, 3, 96, 96), _boxes)),
    Entry(
        "own/gqn",
        SceneRenderer,
        given(lambda: torch.rand(2, 3, 3, 32, 32), numbers(2, 3, 7), numbers(2, 7), lambda: torch.rand(2, 3, 32, 32)),
    ),
    Entry("own/alphastar", StrategyAgent, given(_game)),
    Entry(
        "own/commnet",
        TrafficTeam,
        given(
            lambda: torch.randint(0, 3, (2, 5, 4)),
            lambda: torch.randint(0, 12, (2, 5, 9)),
            lambda: torch.arange(5) < torch.tensor([[5], [3]]),
        ),
    ),
    Entry("own/ncf", lambda: PreferenceNet(60, 90), given(whole(3, 14, 15), whole(9, 26, 53), _others)),
]
