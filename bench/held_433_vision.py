"""Nets of images, sounds, points, tables and robots as repositories write them, of the eleventh list kept from rules.

Their topics were drawn before any net was written: of the `TOPICS` of the tenth list, without the fifteen that its own
seed drew, `random.Random(433).sample(that, 12)`:

    deepsleepnet sparse_rcnn nrms awd_lstm attention_model_tsp node rt1 kpconv gru4rec spliceai conve open_unmix

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from bench.held_397_vision import TOPICS as _OF_TWO_LISTS
from tests.corpus.entry import Entry, given, numbers

_DRAWN_BEFORE = random.Random(397).sample(_OF_TWO_LISTS.split(), 15)
TOPICS = random.Random(433).sample([topic for topic in _OF_TWO_LISTS.split() if topic not in _DRAWN_BEFORE], 12)


class WaveBranch(nn.Sequential):
    """Features of half a minute of brain waves, through windows of one length."""

    def __init__(self, window: int, hop: int, pools: tuple[int, int], width: int, channels: tuple[int, int]) -> None:
        first, later = channels
        layers = [*self.layer(1, first, window, hop), nn.MaxPool1d(pools[0]), nn.Dropout(0.5)]
        for n_in in (first, later, later):
            layers += self.layer(n_in, later, width)
        super().__init__(*layers, nn.MaxPool1d(pools[1]), nn.Flatten())
        self.shrink = hop * pools[0] * pools[1]
        self.channels = later

    @staticmethod
    def layer(n_in: int, n_out: int, width: int, hop: int = 1) -> list[nn.Module]:
        """A convolution with its norm."""
        pad = nn.ConstantPad1d(((width - hop) // 2, width - hop - (width - hop) // 2), 0.0)
        return [pad, nn.Conv1d(n_in, n_out, width, hop, bias=False), nn.BatchNorm1d(n_out), nn.ReLU()]

    def n_features(self, samples: int) -> int:
        """The length of the vector that so many samples become."""
        return self.channels * (samples // self.shrink)


class SleepScorer(nn.Module):
    """Stages of sleep through a night, from one channel of brain waves cut into pieces of half a minute."""

    def __init__(
        self, samples: int = 3000, channels: tuple[int, int] = (16, 32), hidden_dim: int = 48, n_stages: int = 5,
        dropout: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        # short windows tell when something happens, long ones which rhythm there is
        self.when = WaveBranch(50, 6, (8, 4), 8, channels)
        self.rhythm = WaveBranch(400, 50, (4, 2), 6, channels)
        n_features = self.when.n_features(samples) + self.rhythm.n_features(samples)
        self.dropout = nn.Dropout(dropout)
        self.history = nn.LSTM(n_features, hidden_dim, 2, batch_first=True, dropout=dropout, bidirectional=True)
        self.by_itself = nn.Sequential(nn.Linear(n_features, 2 * hidden_dim), nn.BatchNorm1d(2 * hidden_dim), nn.ReLU())
        self.stage = nn.Linear(2 * hidden_dim, n_stages)

    def forward(self, waves: Tensor) -> Tensor:
        """Logits (nights, pieces, stages) of waves (nights, pieces, samples)."""
        pieces = waves.flatten(0, 1).unsqueeze(1)
        features = self.dropout(torch.cat([self.when(pieces), self.rhythm(pieces)], dim=1))
        alone = self.by_itself(features).unflatten(0, waves.shape[:2])
        together, _ = self.history(features.unflatten(0, waves.shape[:2]))
        return self.stage(self.dropout(together + alone))


class ResidualStage(nn.Module):
    """Features at half the size."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, 2, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        self.keep = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(n_in, n_out, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        return F.relu(self.change(x) + self.keep(x))


class PyramidBackbone(nn.Module):
    """Features of an image at several sizes, each of which knows of the coarser ones."""

    def __init__(self, widths: Sequence[int], dim: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.stages = nn.ModuleList(map(ResidualStage, widths[:-1], widths[1:]))
        self.across = nn.ModuleList(nn.Conv2d(width, dim, 1) for width in widths[1:])
        self.smooth = nn.ModuleList(nn.Conv2d(dim, dim, 3, padding=1) for _ in widths[1:])

    def forward(self, images: Tensor) -> list[Tensor]:
        """Features, the finest first."""
        features = [self.stem(images)]
        for stage in self.stages:
            features.append(stage(features[-1]))
        levels, coarser = list[Tensor](), None
        for across, smooth in zip(reversed(self.across), reversed(self.smooth), strict=True):
            x = across(features.pop())
            if coarser is not None:
                x = x + F.interpolate(coarser, scale_factor=2)
            levels.insert(0, smooth(x))
            coarser = x
        return levels


def look_into(boxes: Tensor, levels: Sequence[Tensor], size: int) -> Tensor:
    """Features of size x size places in each box (batch, boxes, places, channels), from the level that fits its area.

    Boxes are a centre, a width and a height, in parts of the image.
    """
    steps = (torch.arange(size, device=boxes.device) + 0.5) / size - 0.5
    places = torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1).flatten(0, 1)
    where = boxes[:, :, None, :2] + places * boxes[:, :, None, 2:]
    seen = [F.grid_sample(level, 2 * where - 1, align_corners=False) for level in levels]
    reach = boxes[..., 2:].prod(dim=-1).sqrt() * 2 ** (len(levels) - 1)
    best = reach.clamp(min=1).log2().floor().long().clamp(max=len(levels) - 1)
    chosen = F.one_hot(best, len(levels)).to(boxes.dtype)
    return torch.einsum("lbcnp,bnl->bnpc", torch.stack(seen), chosen)


class OwnFilters(nn.Module):
    """Features of objects in their boxes, by two layers whose weights each object makes itself."""

    def __init__(self, dim: int, inner_dim: int, size: int) -> None:
        super().__init__()
        self.shapes = [(dim, inner_dim), (inner_dim, dim)]
        self.make_weights = nn.Linear(dim, 2 * dim * inner_dim)
        self.norms = nn.ModuleList([nn.LayerNorm(inner_dim), nn.LayerNorm(dim)])
        self.summarize = nn.Sequential(nn.Linear(dim * size**2, dim), nn.LayerNorm(dim), nn.ReLU())

    def forward(self, objects: Tensor, seen: Tensor) -> Tensor:
        """Features of the objects (batch, objects, dim)."""
        weights = self.make_weights(objects).chunk(2, dim=-1)
        for weight, shape, norm in zip(weights, self.shapes, self.norms, strict=True):
            seen = F.relu(norm(seen @ weight.unflatten(-1, shape)))
        return self.summarize(seen.flatten(2))


class RefiningStage(nn.Module):
    """Objects that look at one another and into their boxes, and then draw better boxes."""

    def __init__(self, dim: int, n_heads: int, ff_dim: int, size: int, n_classes: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.among = nn.MultiheadAttention(dim, n_heads, dropout, batch_first=True)
        self.inside = OwnFilters(dim, dim // 4, size)
        self.think = nn.Sequential(nn.Linear(dim, ff_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ff_dim, dim))
        self.norm_among, self.norm_inside, self.norm_think = (nn.LayerNorm(dim) for _ in range(3))
        score = nn.Linear(dim, n_classes)
        nn.init.constant_(score.bias, -math.log(99))  # of a hundred boxes, one has an object
        self.to_class = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim), nn.ReLU(), score)
        self.to_move = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, objects: Tensor, boxes: Tensor, levels: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """The objects, their logits and their boxes."""
        objects = self.norm_among(objects + self.among(objects, objects, objects)[0])
        objects = self.norm_inside(objects + self.inside(objects, look_into(boxes, levels, self.size)))
        objects = self.norm_think(objects + self.think(objects))
        move, grow = self.to_move(objects).split(2, dim=-1)
        centre, extent = boxes.split(2, dim=-1)
        boxes = torch.cat([centre + 0.5 * move * extent, extent * grow.clamp(max=4.0).exp()], dim=-1)
        return objects, self.to_class(objects), boxes


class SparseDetector(nn.Module):
    """Objects in images, from a few learned guesses that are refined again and again."""

    def __init__(
        self, n_classes: int = 20, n_objects: int = 12, dim: int = 32, widths: Sequence[int] = (16, 24, 32, 48),
        n_stages: int = 3, n_heads: int = 4, ff_dim: int = 64, size: int = 5, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.backbone = PyramidBackbone(widths, dim)
        self.guesses = nn.Embedding(n_objects, dim)
        self.first_boxes = nn.Parameter(torch.tensor([0.5, 0.5, 1.0, 1.0]).repeat(n_objects, 1))
        self.stages = nn.ModuleList(
            RefiningStage(dim, n_heads, ff_dim, size, n_classes, dropout) for _ in range(n_stages)
        )

    def forward(self, images: Tensor) -> dict[str, Tensor | list[dict[str, Tensor]]]:
        """Logits and boxes of the objects, and those of the earlier stages, which are trained as well."""
        levels = self.backbone(images)
        objects = self.guesses.weight.expand(images.size(0), -1, -1)
        boxes = self.first_boxes.expand(images.size(0), -1, -1)
        by_stage = []
        for stage in self.stages:
            objects, logits, boxes = stage(objects, boxes, levels)
            by_stage.append({"logits": logits, "boxes": boxes})
            boxes = boxes.detach()
        return {**by_stage[-1], "earlier": by_stage[:-1]}


def _raise_floor(scores: Tensor, floor: Tensor) -> Tensor:
    """A better floor, by a step of Newton: what is above it shall have squares whose sum is one."""
    above = F.relu(scores - floor)
    return floor + (above.square().sum(dim=-1, keepdim=True) - 1) / (2 * above.sum(dim=-1, keepdim=True))


def sparse_shares(scores: Tensor, n_steps: int = 6) -> Tensor:
    """Shares between softmax and sparsemax (an entmax of 1.5), many of which are zero."""
    scores = scores / 2
    with torch.no_grad():
        floor = scores.amax(dim=-1, keepdim=True) - 1
        for _ in range(n_steps):
            floor = _raise_floor(scores, floor)
    # where the floor is right, the gradient of one more step is the gradient of the floor
    return F.relu(scores - _raise_floor(scores, floor)).square()


class ObliviousTrees(nn.Module):
    """Soft trees that ask the same question in all nodes of a depth."""

    def __init__(self, n_columns: int, n_trees: int, depth: int, n_out: int) -> None:
        super().__init__()
        self.which_column = nn.Parameter(torch.rand(n_trees, depth, n_columns))
        self.cut = nn.Parameter(torch.zeros(n_trees, depth))
        self.log_sharpness = nn.Parameter(torch.zeros(n_trees, depth))
        self.leaves = nn.Parameter(torch.randn(n_trees, 2**depth, n_out))

    def asked(self, x: Tensor) -> Tensor:
        """The numbers (rows, trees, depth) that the questions are about."""
        return torch.einsum("rc,tdc->rtd", x, sparse_shares(self.which_column))

    @torch.no_grad()
    def start_from(self, x: Tensor) -> None:
        """Cuts where some rows are on either side, so that each question tells something at first."""
        asked = self.asked(x)
        row = torch.randint(len(x), self.cut.shape, device=x.device)
        self.cut.copy_(asked.gather(0, row.unsqueeze(0)).squeeze(0))
        self.log_sharpness.copy_(-(asked - self.cut).abs().median(dim=0).values.clamp(min=1e-3).log())

    def forward(self, x: Tensor) -> Tensor:
        """An answer of each tree (rows, trees, n_out)."""
        margin = (self.asked(x) - self.cut) * self.log_sharpness.exp()
        sides = sparse_shares(torch.stack([-margin, margin], dim=-1))
        reached, *deeper = sides.unbind(dim=2)
        for side in deeper:
            reached = torch.einsum("rtn,rts->rtns", reached, side).flatten(2)
        return torch.einsum("rtl,tlo->rto", reached, self.leaves)


class ObliviousForest(nn.Module):
    """Classes of the rows of a table, by layers of trees each of which sees the answers of all before it."""

    def __init__(
        self, n_columns: int, n_classes: int, n_layers: int = 3, n_trees: int = 16, depth: int = 4, n_extra: int = 1,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_classes = n_classes
        self.norm = nn.BatchNorm1d(n_columns, affine=False)
        self.dropout = nn.Dropout(dropout)
        n_out = n_classes + n_extra  # what is extra is for later trees alone
        self.layers = nn.ModuleList(
            ObliviousTrees(n_columns + layer * n_trees * n_out, n_trees, depth, n_out) for layer in range(n_layers)
        )

    @torch.no_grad()
    def start_from(self, table: Tensor) -> ObliviousForest:
        """The same forest, with cuts that fit to some rows."""
        x = self.norm(table)
        for layer in cast("list[ObliviousTrees]", self.layers):
            layer.start_from(x)
            x = torch.cat([x, layer(x).flatten(1)], dim=1)
        return self

    def forward(self, table: Tensor) -> Tensor:
        """Logits (rows, classes)."""
        x, votes = self.norm(table), []
        for layer in self.layers:
            answers = layer(self.dropout(x))
            votes.append(answers[..., : self.n_classes])
            x = torch.cat([x, answers.flatten(1)], dim=1)
        return torch.cat(votes, dim=1).mean(dim=1)


class ObeyText(nn.Module):
    """Channels that an instruction makes stronger or weaker; at first it changes nothing."""

    def __init__(self, channels: int, text_dim: int) -> None:
        super().__init__()
        self.by_text = nn.Linear(text_dim, 2 * channels)
        nn.init.zeros_(self.by_text.weight)
        nn.init.zeros_(self.by_text.bias)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        """Features (frames, channels, height, width)."""
        scale, shift = self.by_text(text)[..., None, None].chunk(2, dim=1)
        return torch.addcmul(x + shift, x, scale)


class InvertedBlock(nn.Module):
    """A convolution of each channel by itself, between a layer to more channels and one to fewer."""

    def __init__(self, n_in: int, n_out: int, stride: int, text_dim: int, widen: int = 4) -> None:
        super().__init__()
        wide = n_in * widen
        self.enter = nn.Sequential(nn.Conv2d(n_in, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
        self.mix_places = nn.Sequential(
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU()
        )
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(wide, n_in // 2, 1),
            nn.SiLU(),
            nn.Conv2d(n_in // 2, wide, 1),
            nn.Sigmoid(),
        )
        self.leave = nn.Sequential(nn.Conv2d(wide, n_out, 1, bias=False), nn.BatchNorm2d(n_out))
        self.obey = ObeyText(n_out, text_dim)
        self.same = n_in == n_out and stride == 1

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        """Features."""
        wide = self.mix_places(self.enter(x))
        y = self.leave(wide * self.weigh(wide))
        return self.obey(x + y if self.same else y, text)


class FewTokens(nn.Module):
    """A few tokens in place of many, each a mean of all, with weights of its own."""

    def __init__(self, dim: int, n_tokens: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, dim // 2), nn.GELU(), nn.Dropout(dropout), nn.Linear(dim // 2, n_tokens)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """The tokens (frames, n_tokens, dim)."""
        return self.attention(tokens).softmax(dim=1).transpose(1, 2) @ tokens


class RobotPolicy(nn.Module):
    """The next action of a robot, from the last frames of its camera and an instruction."""

    limits: Tensor

    def __init__(
        self, limits: Sequence[tuple[float, float]], text_dim: int = 64, widths: Sequence[int] = (16, 24, 32, 48),
        n_frames: int = 4, n_tokens: int = 4, dim: int = 48, n_heads: int = 4, n_layers: int = 3, n_bins: int = 32,
        n_modes: int = 3, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_tokens, self.n_bins = n_tokens, n_bins
        self.register_buffer("limits", torch.tensor(limits))
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.SiLU())
        self.blocks = nn.ModuleList()
        for n_in, n_out in pairwise(widths):
            self.blocks += [InvertedBlock(n_in, n_out, 2, text_dim), InvertedBlock(n_out, n_out, 1, text_dim)]
        self.to_dim = nn.Conv2d(widths[-1], dim, 1)
        self.few_tokens = FewTokens(dim, n_tokens, dropout)
        self.places = nn.Parameter(0.02 * torch.randn(n_frames * n_tokens, dim))
        layer = nn.TransformerEncoderLayer(dim, n_heads, 2 * dim, dropout, "gelu", batch_first=True, norm_first=True)
        self.transformer = nn.TransformerEncoder(layer, n_layers, nn.LayerNorm(dim), enable_nested_tensor=False)
        self.to_bins = nn.Linear(dim, len(limits) * n_bins)
        self.to_mode = nn.Linear(dim, n_modes)

    def see(self, frames: Tensor, text: Tensor) -> Tensor:
        """Tokens of each frame (frames, n_tokens, dim)."""
        x = self.stem(frames)
        for block in self.blocks:
            x = block(x, text)
        return self.few_tokens(self.to_dim(x).flatten(2).transpose(1, 2))

    def forward(self, video: Tensor, text: Tensor) -> dict[str, Tensor]:
        """Logits of the bins of each number and of the mode, after each frame, and the action after the last."""
        n_frames = video.size(1)
        tokens = self.see(video.flatten(0, 1), text.repeat_interleave(n_frames, dim=0))
        tokens = tokens.unflatten(0, (-1, n_frames)).flatten(1, 2)
        time = torch.arange(n_frames, device=video.device).repeat_interleave(self.n_tokens)
        later = time > time.unsqueeze(1)
        x = self.transformer(tokens + self.places[: len(time)], mask=later)
        x = x.unflatten(1, (n_frames, self.n_tokens)).mean(dim=2)
        bins, mode = self.to_bins(x).unflatten(-1, (-1, self.n_bins)), self.to_mode(x)
        low, high = self.limits.unbind(dim=1)
        part = (bins[:, -1].argmax(dim=-1) + 0.5) / self.n_bins
        return {"bins": bins, "mode": mode, "action": torch.lerp(low, high, part), "ends": mode[:, -1].argmax(dim=-1)}


Near = tuple[Tensor, Tensor]
"""Numbers of the points near each of some others (points, most), and which of them are near enough."""


@dataclass
class CloudLevel:
    """Points of one density, and how they lie among themselves and below the points of the next level."""

    points: Tensor
    coarse: Tensor
    near: Near
    below: Near
    above: Tensor


def find_near(centres: Tensor, points: Tensor, apart: Tensor, radius: float, most: int) -> Near:
    """The nearest points of each centre, but for those that are apart, as they are of another cloud."""
    distance = torch.cdist(centres, points).masked_fill(apart, math.inf)
    nearest, index = distance.topk(min(most, len(points)), dim=1, largest=False)
    return index, nearest <= radius


def thin_out(points: Tensor, cloud: Tensor, cell: float) -> tuple[Tensor, Tensor]:
    """The mean of the points in each cell of a grid, and of which clouds the means are."""
    cells = torch.cat([cloud.unsqueeze(1), (points / cell).floor().long()], dim=1)
    used, of_cell = cells.unique(dim=0, return_inverse=True)
    total = points.new_zeros(len(used), 4).index_add(0, of_cell, F.pad(points, (0, 1), value=1.0))
    return total[:, :3] / total[:, 3:], used[:, 0]


@torch.no_grad()
def levels_of(points: Tensor, cloud: Tensor, cells: Sequence[float], most: int) -> list[CloudLevel]:
    """Levels of clouds, of which each has fewer points than the one before; what is near grows with the cells."""
    levels = []
    for cell in cells:
        radius = 1.25 * cell
        coarse, coarse_cloud = thin_out(points, cloud, cell)
        near = find_near(points, points, cloud != cloud.unsqueeze(1), radius, most)
        apart = cloud != coarse_cloud.unsqueeze(1)
        below = find_near(coarse, points, apart, 2 * cell, most)
        above = torch.cdist(points, coarse).masked_fill(apart.t(), math.inf).argmin(dim=1)
        levels.append(CloudLevel(points, coarse, near, below, above))
        points, cloud = coarse, coarse_cloud
    return levels


class BallConv(nn.Module):
    """A convolution of points, whose weights lie at places of a ball; these can move to where there is more to see."""

    places: Tensor

    def __init__(self, n_in: int, n_out: int, radius: float, n_places: int = 13, moves: bool = False) -> None:
        super().__init__()
        self.reach = 0.6 * radius
        turn = math.pi * (3 - math.sqrt(5)) * torch.arange(n_places - 1)
        height = torch.linspace(-1, 1, n_places + 1)[1:-1]
        width = (1 - height.square()).sqrt()
        shell = torch.stack([width * turn.cos(), width * turn.sin(), height], dim=1)
        self.register_buffer("places", torch.cat([torch.zeros(1, 3), 0.7 * radius * shell]))
        self.weight = nn.Parameter(torch.randn(n_places, n_in, n_out) / math.sqrt(n_in * n_places))
        self.move = BallConv(n_in, 3 * n_places, radius, n_places) if moves else None

    def forward(self, x: Tensor, centres: Tensor, points: Tensor, near: Near) -> Tensor:
        """Features of the centres."""
        index, is_near = near
        places = self.places
        if self.move is not None:
            moves = self.move(x, centres, points, near).unflatten(1, (-1, 3))
            places = (places + self.reach * torch.tanh(moves)).unsqueeze(1)
        offset = points[index] - centres.unsqueeze(1)
        share = F.relu(1 - (offset.unsqueeze(2) - places).norm(dim=-1) / self.reach)
        share = share * is_near.unsqueeze(-1)
        return torch.einsum("cnp,cni,pio->co", share, x[index], self.weight)


class PointLayer(nn.Sequential):
    """A layer of each point by itself."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(nn.Linear(n_in, n_out, bias=False), nn.BatchNorm1d(n_out), nn.LeakyReLU(0.1))


class BallBlock(nn.Module):
    """A convolution between two layers to fewer and more channels, beside what came in."""

    def __init__(self, n_in: int, n_out: int, radius: float, moves: bool = False) -> None:
        super().__init__()
        inner = n_out // 4
        self.fewer = PointLayer(n_in, inner)
        self.conv = BallConv(inner, inner, radius, moves=moves)
        self.norm = nn.BatchNorm1d(inner)
        self.more = nn.Linear(inner, n_out)
        self.keep = nn.Linear(n_in, n_out, bias=False) if n_in != n_out else nn.Identity()

    def forward(self, x: Tensor, level: CloudLevel, descend: bool = False) -> Tensor:
        """Features of the points of the level, or of those of the next."""
        centres, near = (level.coarse, level.below) if descend else (level.points, level.near)
        y = F.leaky_relu(self.norm(self.conv(self.fewer(x), centres, level.points, near)), 0.1)
        if descend:
            index, is_near = near
            x = x[index].masked_fill(~is_near.unsqueeze(-1), -math.inf).amax(dim=1)
        return F.leaky_relu(self.more(y) + self.keep(x), 0.1)


class CloudSegmenter(nn.Module):
    """Classes of the points of clouds."""

    def __init__(
        self, n_features: int = 3, n_classes: int = 8, width: int = 16, cells: Sequence[float] = (0.2, 0.4, 0.8),
        most: int = 16,
    ) -> None:  # fmt: skip
        super().__init__()
        self.cells, self.most = cells, most
        widths = [width * 2**depth for depth in range(len(cells))]
        self.enter = BallConv(1 + n_features, width, 1.25 * cells[0])
        self.stay, self.descend, self.ascend = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for depth, (cell, here) in enumerate(zip(cells, widths, strict=True)):
            moves = depth > 0  # the places of the finest level stay, as there are too few points in a ball
            self.stay.append(BallBlock(here, here, 1.25 * cell, moves))
            self.descend.append(BallBlock(here, 2 * here, 2 * cell, moves))
            self.ascend.append(PointLayer(3 * here, here))
        self.classify = nn.Sequential(PointLayer(width, width), nn.Linear(width, n_classes))

    def forward(self, points: Tensor, features: Tensor, cloud: Tensor) -> Tensor:
        """Logits of the points (points, classes) of all clouds, each of which has a number."""
        levels = levels_of(points, cloud, self.cells, self.most)
        x = F.pad(features, (1, 0), value=1.0)  # a one tells that there is a point, where nothing else is known
        x = self.enter(x, points, points, levels[0].near)
        before = []
        for level, stay, descend in zip(levels, self.stay, self.descend, strict=True):
            x = stay(x, level)
            before.append(x)
            x = descend(x, level, descend=True)
        for depth, level in reversed([*enumerate(levels)]):
            x = self.ascend[depth](torch.cat([x[level.above], before[depth]], dim=1))
        return self.classify(x)


class Spectra(nn.Module):
    """Spectra of windows of a sound, and the sound of such spectra."""

    window: Tensor

    def __init__(self, n_fft: int, hop: int) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, sound: Tensor) -> Tensor:
        """Complex spectra (..., bins, times)."""
        spectra = torch.stft(sound.flatten(0, -2), self.n_fft, self.hop, window=self.window, return_complex=True)
        return spectra.unflatten(0, sound.shape[:-1])

    def back(self, spectra: Tensor, samples: int) -> Tensor:
        """The sound (..., samples)."""
        sound = torch.istft(spectra.flatten(0, -3), self.n_fft, self.hop, window=self.window, length=samples)
        return sound.unflatten(0, spectra.shape[:-2])


class BinAffine(nn.Module):
    """A shift and a scale of each bin, which start from what is known of the music."""

    def __init__(self, n_bins: int, shift: float = 0.0, scale: float = 1.0) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.full((n_bins, 1), shift))
        self.scale = nn.Parameter(torch.full((n_bins, 1), scale))

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, channels, bins, times)."""
        return torch.addcmul(self.shift, x, self.scale)


def normed(n_in: int, n_out: int, *after: nn.Module) -> nn.Sequential:
    """A layer of each time by itself (batch, features, times), with its norm."""
    return nn.Sequential(nn.Conv1d(n_in, n_out, 1, bias=False), nn.BatchNorm1d(n_out), *after)


class InstrumentNet(nn.Module):
    """Magnitudes of one instrument, out of those of a mixture."""

    def __init__(
        self, n_bins: int, seen_bins: int, n_channels: int, hidden_dim: int, n_layers: int = 3, dropout: float = 0.4
    ) -> None:
        super().__init__()
        self.seen_bins, self.n_channels = seen_bins, n_channels
        self.standardize = BinAffine(seen_bins)
        self.squeeze = normed(n_channels * seen_bins, hidden_dim, nn.Tanh())
        self.lstm = nn.LSTM(hidden_dim, hidden_dim // 2, n_layers, dropout=dropout, bidirectional=True)
        self.widen = nn.Sequential(
            normed(2 * hidden_dim, hidden_dim, nn.ReLU()), normed(hidden_dim, n_channels * n_bins)
        )
        self.to_mask = nn.Sequential(BinAffine(n_bins, shift=1.0), nn.ReLU())

    def forward(self, magnitude: Tensor) -> Tensor:
        """Magnitudes (batch, channels, bins, times); high bins are not looked at, but masked like the others."""
        x = self.standardize(magnitude[:, :, : self.seen_bins])
        x = self.squeeze(x.flatten(1, 2))
        over_time, _ = self.lstm(x.permute(2, 0, 1))
        x = self.widen(torch.cat([x, over_time.permute(1, 2, 0)], dim=1))
        return magnitude * self.to_mask(x.unflatten(1, (self.n_channels, -1)))


def share_out(mixture: Tensor, sources: Tensor, eps: float = 1e-6) -> Tensor:
    """Sources that add up to the mixture, by the filter that is best for how loud each is and where it is heard.

    The mixture is (batch, channels, bins, times), and the sources have their number before that.
    """
    loudness = sources.abs().square().mean(dim=2)
    together = torch.einsum("sbift,sbjft->sbijf", sources, sources.conj())
    heard_at = together / (loudness.sum(dim=-1)[:, :, None, None] + eps)
    parts = torch.einsum("sbft,sbijf->sbftij", loudness.to(heard_at.dtype), heard_at)
    of_all = parts.sum(dim=0) + eps * torch.eye(mixture.size(1), device=mixture.device)
    whitened = torch.linalg.solve(of_all, mixture.permute(0, 2, 3, 1))
    return torch.einsum("sbftij,bftj->sbift", parts, whitened)


class MusicSplitter(nn.Module):
    """The instruments of a piece of music, each as a sound of its own."""

    def __init__(
        self, names: Sequence[str] = ("vocals", "drums", "bass", "other"), n_fft: int = 256, seen_bins: int = 96,
        n_channels: int = 2, hidden_dim: int = 48, n_rounds: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_rounds = n_rounds
        self.spectra = Spectra(n_fft, n_fft // 4)
        self.instruments = nn.ModuleDict(
            {name: InstrumentNet(n_fft // 2 + 1, seen_bins, n_channels, hidden_dim) for name in names}
        )

    def forward(self, sound: Tensor) -> Mapping[str, Tensor]:
        """The sounds (batch, channels, samples), by the name of the instrument."""
        mixture = self.spectra(sound)
        magnitude = mixture.abs()
        sources = torch.stack([net(magnitude) for net in self.instruments.values()])
        sources = torch.polar(sources, mixture.angle().expand_as(sources))
        for _ in range(self.n_rounds):
            sources = share_out(mixture, sources)
        return dict(zip(self.instruments, self.spectra.back(sources, sound.size(-1)), strict=True))


LIMITS = [(-0.2, 0.2)] * 3 + [(-1.6, 1.6)] * 3 + [(0.0, 1.0)] + [(-0.5, 0.5)] * 3
"""Of the arm, of how it turns, of the gripper, and of the base."""


def _in_two_clouds() -> Tensor:
    return torch.arange(240) // 130


NETS = [
    Entry("own/deepsleepnet", SleepScorer, given(numbers(2, 5, 3000))),
    Entry("own/sparse_rcnn", SparseDetector, given(numbers(2, 3, 96, 96))),
    Entry("own/node", lambda: ObliviousForest(12, 3).start_from(torch.randn(64, 12)), given(numbers(6, 12))),
    Entry("own/rt1", lambda: RobotPolicy(LIMITS), given(numbers(2, 4, 3, 64, 64), numbers(2, 64))),
    Entry("own/kpconv", CloudSegmenter, given(lambda: torch.rand(240, 3), lambda: torch.rand(240, 3), _in_two_clouds)),
    Entry("own/open_unmix", MusicSplitter, given(numbers(1, 2, 4096))),
]
