"""Nets of lips, videos, streets, borders and photos as repositories write them, of the fifteenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the four lists after it, `random.Random(577).sample(that, 12)`:

    mind lipnet stm cpc lift_splat option_critic mult_vae crepe pointrend partial_conv i2a fractalnet

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bench.held_397_vision import TOPICS as _OF_SIX_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from bench.held_541_vision import TOPICS as _OF_SEED_541
from tests.corpus.entry import Entry, given, numbers, whole

_OF_SEED_397 = random.Random(397).sample(_OF_SIX_LISTS.split(), 15)
_DRAWN_BEFORE = {*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503, *_OF_SEED_541}
TOPICS = random.Random(577).sample([it for it in sorted(_OF_SIX_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


class FrameConv(nn.Module):
    """A convolution of each frame with those before and after it, with a pooling of places but not of times."""

    def __init__(self, n_in: int, n_out: int, width: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.conv = nn.Conv3d(n_in, n_out, (3, width, width), (1, stride, stride), (1, width // 2, width // 2))
        self.norm = nn.BatchNorm3d(n_out)
        self.dropout = nn.Dropout3d(dropout)

    def forward(self, clip: Tensor) -> Tensor:
        """Features (batch, n_out, frames, height / 2 / stride, width / 2 / stride)."""
        clip = F.gelu(self.norm(self.conv(clip)))
        return self.dropout(F.avg_pool3d(clip, (1, 2, 2)))


class LipReader(nn.Module):
    """A reader of sentences from a mouth, letter by letter, that is not told when each of them is spoken."""

    def __init__(
        self, letters: str = "abcdefghijklmnopqrstuvwxyz ", size: tuple[int, int] = (32, 64),
        widths: Sequence[int] = (12, 24, 32), hidden_dim: int = 40, dropout: float = 0.3, stutter: float = 0.05,
    ) -> None:  # fmt: skip
        super().__init__()
        self.letters, self.stutter = letters, stutter
        self.lips = nn.Sequential()
        for i, (n_in, n_out) in enumerate(pairwise([3, *widths])):
            self.lips.append(FrameConv(n_in, n_out, 3 if i else 5, 1 if i else 2, dropout))
        cells = math.prod(side >> len(widths) + 1 for side in size)
        self.bottleneck = nn.Linear(widths[-1] * cells, hidden_dim)
        self.sentence = nn.GRU(hidden_dim, hidden_dim, 2, batch_first=True, dropout=dropout, bidirectional=True)
        self.letter = nn.Linear(2 * hidden_dim, 1 + len(letters))  # the first is for no letter

    def hesitate(self, clips: Tensor) -> Tensor:
        """The clips, of which some frames are skipped and others shown twice, so that speed is not learned."""
        n_frames = clips.size(1)
        skipped, repeated = (torch.rand(2, n_frames) < self.stutter).long()
        order = (torch.arange(n_frames) + skipped - repeated).clamp(0, n_frames - 1)
        return clips[:, order.to(clips.device)]

    @torch.no_grad()
    def read(self, clips: Tensor, n_frames: Tensor) -> list[str]:
        """The likeliest letters of each frame, without those that only go on."""
        best = self(clips, n_frames)["log_probs"].argmax(dim=-1)
        lines = []
        for row, length in zip(best.tolist(), n_frames.tolist(), strict=True):
            shown = [now for before, now in pairwise([0, *row[:length]]) if now not in (0, before)]
            lines.append("".join(self.letters[i - 1] for i in shown))
        return lines

    def forward(
        self, clips: Tensor, n_frames: Tensor, text: Tensor | None = None, n_letters: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Logarithms of how likely each letter is in each frame (batch, frames, letters), and the loss of a text.

        Clips are (batch, frames, 3, height, width), of which `n_frames` are not padding.
        """
        if self.training:
            clips = self.hesitate(clips)
        features = self.lips(clips.transpose(1, 2))
        frames = self.bottleneck(features.transpose(1, 2).flatten(2))
        packed = pack_padded_sequence(frames, n_frames.cpu(), batch_first=True, enforce_sorted=False)
        context, _ = pad_packed_sequence(self.sentence(packed)[0], batch_first=True, total_length=frames.size(1))
        log_probs = self.letter(context).log_softmax(dim=-1)
        found = {"log_probs": log_probs}
        if text is not None and n_letters is not None:
            found["loss"] = F.ctc_loss(log_probs.transpose(0, 1), text, n_frames, n_letters, zero_infinity=True)
        return found


class ShrinkUnit(nn.Module):
    """Two convolutions at half the size or at the same, added to the input."""

    def __init__(self, n_in: int, n_out: int, stride: int = 1) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        same = stride == 1 and n_in == n_out
        self.keep = nn.Identity() if same else nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, height / stride, width / stride)."""
        return torch.relu(self.keep(x) + self.change(x))


class Glance(nn.Module):
    """Features of a frame at a quarter, an eighth and a sixteenth of its size."""

    def __init__(self, n_in: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(n_in, widths[0], 5, 2, 2), nn.ReLU())
        self.steps = nn.ModuleList(
            nn.Sequential(ShrinkUnit(a, b, stride=2), ShrinkUnit(b, b)) for a, b in pairwise(widths)
        )

    def forward(self, frame: Tensor) -> list[Tensor]:
        """The features, the finest first."""
        x, levels = self.stem(frame), []
        for step in self.steps:
            x = step(x)
            levels.append(x)
        return levels


class Album(NamedTuple):
    """Keys and values of each cell of the frames that are remembered, (objects, dim, cells)."""

    keys: Tensor
    values: Tensor

    def plus(self, other: Album) -> Album:
        """The frames of both."""
        return Album(torch.cat([self.keys, other.keys], dim=2), torch.cat([self.values, other.values], dim=2))

    def lookup(self, queries: Tensor) -> Tensor:
        """Values of the cells that are most like those of a frame (objects, dim, height, width)."""
        likeness = torch.einsum("okm,okq->omq", self.keys, queries.flatten(2)) / queries.size(1) ** 0.5
        found = torch.einsum("ovm,omq->ovq", self.values, likeness.softmax(dim=1))
        return found.unflatten(2, queries.shape[2:])


class FinerMask(nn.Module):
    """A step of the decoder to twice the size, with features of the frame at that size."""

    def __init__(self, n_skip: int, dim: int) -> None:
        super().__init__()
        self.skip = ShrinkUnit(n_skip, dim)
        self.merge = ShrinkUnit(dim, dim)

    def forward(self, coarse: Tensor, skip: Tensor) -> Tensor:
        """Features of the size of `skip`."""
        skip = self.skip(skip)
        return self.merge(skip + F.interpolate(coarse, skip.shape[-2:], mode="bilinear", align_corners=False))


class ObjectTracker(nn.Module):
    """A tracker of objects through a video from their masks in its first frame, by a memory of frames and masks."""

    def __init__(
        self, widths: Sequence[int] = (12, 16, 24, 32), key_dim: int = 8, value_dim: int = 24, remember_every: int = 2
    ) -> None:
        super().__init__()
        self.remember_every = remember_every
        self.watch = Glance(3, widths)
        self.recall = Glance(5, widths)  # colours, the mask of the object, and that of all others
        self.query = nn.Conv2d(widths[-1], key_dim, 3, padding=1)
        self.appearance = nn.Conv2d(widths[-1], value_dim, 3, padding=1)
        self.key = nn.Conv2d(widths[-1], key_dim, 3, padding=1)
        self.value = nn.Conv2d(widths[-1], value_dim, 3, padding=1)
        self.fuse = nn.Conv2d(2 * value_dim, value_dim, 1)
        self.finer = nn.ModuleList(FinerMask(width, value_dim) for width in reversed(widths[1:-1]))
        self.mask = nn.Conv2d(value_dim, 1, 3, padding=1)

    def remember(self, frame: Tensor, masks: Tensor) -> Album:
        """An album of a frame (3, height, width) with the masks of its objects (objects, height, width)."""
        others = (masks.sum(dim=0) - masks).clamp(0, 1)
        seen = torch.cat([frame.expand(len(masks), -1, -1, -1), torch.stack([masks, others], dim=1)], dim=1)
        deepest = self.recall(seen)[-1]
        return Album(self.key(deepest).flatten(2), self.value(deepest).flatten(2))

    def segment(self, frame: Tensor, album: Album) -> Tensor:
        """Logits (objects, height, width) of where each object is in a frame."""
        *finer, deepest = self.watch(frame.unsqueeze(0))
        queries, looks = (layer(deepest).expand(len(album.keys), -1, -1, -1) for layer in (self.query, self.appearance))
        x = self.fuse(torch.cat([album.lookup(queries), looks], dim=1))
        for step, skip in zip(self.finer, reversed(finer), strict=True):
            x = step(x, skip)
        logits = self.mask(torch.relu(x))
        return F.interpolate(logits, frame.shape[-2:], mode="bilinear", align_corners=False).squeeze(1)

    def forward(self, video: Tensor, masks: Tensor) -> Tensor:
        """Shares (frames, 1 + objects, height, width) of the background and each object in each pixel.

        The video is (frames, 3, height, width), the masks of the first frame (objects, height, width).
        """
        lasting = latest = self.remember(video[0], masks)
        shares = [torch.cat([1 - masks.amax(dim=0, keepdim=True), masks])]
        for i, frame in enumerate(video[1:], 1):
            album = lasting if latest is lasting else lasting.plus(latest)
            logits = self.segment(frame, album)
            # an object is where it is likelier than that there is none of them
            none = F.logsigmoid(-logits).sum(dim=0, keepdim=True)
            shares.append(torch.cat([none, F.logsigmoid(logits)]).softmax(dim=0))
            latest = self.remember(frame, shares[-1][1:])
            if i % self.remember_every == 0:
                lasting = lasting.plus(latest)
        return torch.stack(shares)


class Rig(NamedTuple):
    """Cameras of a car: lenses and turns (batch, cameras, 3, 3), and where they are (batch, cameras, 3)."""

    lens: Tensor
    turn: Tensor
    place: Tensor

    def locate(self, rays: Tensor, distances: Tensor) -> Tensor:
        """Points in the frame of the car (batch, cameras, distances, pixels, 3), of pixels (pixels, 3) with a one."""
        directions = self.turn @ torch.linalg.solve(self.lens, rays.T.expand(*self.lens.shape[:2], -1, -1))
        points = distances[:, None, None] * directions.mT.unsqueeze(2)
        return points + self.place[:, :, None, None]


class CameraLift(nn.Module):
    """Features of all places that a pixel may be of, by how likely each distance is."""

    def __init__(self, widths: Sequence[int], n_distances: int, dim: int) -> None:
        super().__init__()
        self.split = [n_distances, dim]
        self.trunk = nn.Sequential(*(ShrinkUnit(a, b, stride=2) for a, b in pairwise([3, *widths])))
        self.wide = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(widths[-1], widths[-1], 1), nn.Sigmoid())
        self.both = nn.Conv2d(widths[-1], n_distances + dim, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Features (images, distances, cells, dim), and how likely the distances are (images, distances, cells)."""
        features = self.trunk(images)
        features = features * self.wide(features)
        distance, content = self.both(features).flatten(2).split(self.split, dim=1)
        likely = distance.softmax(dim=1)
        return likely.unsqueeze(-1) * content.mT.unsqueeze(1), likely


class GroundMap(nn.Module):
    """Sums of the features of all points above each cell of the ground, on a square around the car."""

    def __init__(self, reach: float, n_cells: int, heights: tuple[float, float]) -> None:
        super().__init__()
        self.reach, self.n_cells, self.heights = reach, n_cells, heights

    def forward(self, features: Tensor, points: Tensor) -> Tensor:
        """A map (batch, dim, cells, cells) of features (batch, points, dim) at points (batch, points, 3)."""
        batch, dim = features.size(0), features.size(-1)
        cells = ((points[..., :2] + self.reach) * (self.n_cells / (2 * self.reach))).floor().long()
        low, high = self.heights
        inside = ((cells >= 0) & (cells < self.n_cells)).all(dim=-1) & (points[..., 2] > low) & (points[..., 2] < high)
        which = torch.arange(batch, device=cells.device)[:, None] * self.n_cells + cells[..., 0]
        which = which * self.n_cells + cells[..., 1]
        ground = features.new_zeros(batch * self.n_cells**2, dim)
        ground = ground.index_add(0, which[inside], features[inside])
        return ground.view(batch, self.n_cells, self.n_cells, dim).permute(0, 3, 1, 2)


class StreetMapper(nn.Module):
    """A map of the street around a car, from the images of all its cameras."""

    rays: Tensor
    distances: Tensor

    def __init__(
        self, image_size: tuple[int, int] = (64, 96), widths: Sequence[int] = (12, 16, 24), dim: int = 16,
        nearest: float = 2.0, farthest: float = 18.0, n_distances: int = 12, reach: float = 16.0, n_cells: int = 32,
        n_classes: int = 4,
    ) -> None:  # fmt: skip
        super().__init__()
        self.lift = CameraLift(widths, n_distances, dim)
        self.ground = GroundMap(reach, n_cells, (-3.0, 3.0))
        self.near = ShrinkUnit(dim, dim)
        self.far = nn.Sequential(ShrinkUnit(dim, 2 * dim, stride=2), ShrinkUnit(2 * dim, 2 * dim))
        self.head = nn.Sequential(ShrinkUnit(3 * dim, dim), nn.Conv2d(dim, n_classes, 1))
        stride = 2 ** len(widths)
        rows, columns = (torch.arange(stride / 2, side, stride) for side in image_size)
        grid = torch.cartesian_prod(rows, columns)
        self.register_buffer("rays", F.pad(grid.flip(1), (0, 1), value=1.0), persistent=False)
        self.register_buffer("distances", torch.linspace(nearest, farthest, n_distances), persistent=False)

    def forward(self, images: Tensor, rig: Rig) -> dict[str, Tensor]:
        """Logits (batch, classes, cells, cells) of the ground, and mean distances of pixels (batch, cameras, cells).

        Images are (batch, cameras, 3, height, width).
        """
        batch, n_cameras = images.shape[:2]
        lifted, likely = self.lift(images.flatten(0, 1))
        points = rig.locate(self.rays, self.distances)
        ground = self.ground(lifted.reshape(batch, -1, lifted.size(-1)), points.flatten(1, 3))
        near = self.near(ground)
        far = F.interpolate(self.far(near), scale_factor=2.0, mode="bilinear", align_corners=False)
        mean = torch.einsum("idp,d->ip", likely, self.distances)
        return {"ground": self.head(torch.cat([near, far], dim=1)), "distance": mean.unflatten(0, (batch, n_cameras))}


def read_at(features: Tensor, points: Tensor) -> Tensor:
    """Features (batch, dim, points) at points (batch, points, 2), which are from 0 to 1: across and down."""
    return F.grid_sample(features, points.unsqueeze(1) * 2 - 1, align_corners=False).squeeze(2)


def margin(logits: Tensor) -> Tensor:
    """The lead of the best class over the next best, which is small where it is not clear what there is."""
    best, next_best = logits.topk(2, dim=1).values.unbind(dim=1)
    return best - next_best


class PointDecider(nn.Module):
    """Classes of single points, from fine features there and what was thought of them before."""

    def __init__(self, fine_dim: int, n_classes: int, hidden_dim: int, n_layers: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(fine_dim + n_classes, hidden_dim, 1)
        self.later = nn.ModuleList(nn.Conv1d(hidden_dim + n_classes, hidden_dim, 1) for _ in range(n_layers - 1))
        self.decide = nn.Conv1d(hidden_dim + n_classes, n_classes, 1)

    def forward(self, fine: Tensor, rough: Tensor) -> Tensor:
        """Logits (batch, classes, points)."""
        x = self.first(torch.cat([fine, rough], dim=1)).relu()
        for layer in self.later:
            x = layer(torch.cat([x, rough], dim=1)).relu()
        return self.decide(torch.cat([x, rough], dim=1))


class BorderSegmenter(nn.Module):
    """Classes of pixels, first roughly and then anew at the points along borders, each time on a finer grid."""

    def __init__(
        self, n_classes: int = 6, widths: Sequence[int] = (12, 16, 24, 32), hidden_dim: int = 32, n_layers: int = 3,
        n_points: int = 96, n_halvings: int = 3, spare: int = 3, doubtful: float = 0.75,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_points, self.n_halvings, self.spare, self.doubtful = n_points, n_halvings, spare, doubtful
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 2, 1), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.quarter, self.eighth, self.sixteenth = (ShrinkUnit(a, b, stride=2) for a, b in pairwise(widths))
        self.side = nn.Conv2d(widths[2], widths[3], 1)
        self.rough = nn.Sequential(ShrinkUnit(widths[3], widths[3]), nn.Conv2d(widths[3], n_classes, 1))
        self.decider = PointDecider(widths[1], n_classes, hidden_dim, n_layers)

    def features(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Fine features at a quarter of the size, and rough logits at an eighth of it."""
        fine = self.quarter(self.stem(image))
        middle = self.eighth(fine)
        above = F.interpolate(self.sixteenth(middle), middle.shape[-2:], mode="nearest")
        return fine, self.rough(self.side(middle) + above)

    @torch.no_grad()
    def practice_points(self, rough: Tensor) -> Tensor:
        """Points to learn from, most of them where the rough logits are close and the others anywhere."""
        tried = torch.rand(rough.size(0), self.spare * self.n_points, 2, device=rough.device)
        n_close = int(self.doubtful * self.n_points)
        closest = margin(read_at(rough, tried)).topk(n_close, largest=False).indices
        anywhere = torch.rand(rough.size(0), self.n_points - n_close, 2, device=rough.device)
        return torch.cat([tried.take_along_dim(closest.unsqueeze(-1), dim=1), anywhere], dim=1)

    def halve(self, logits: Tensor, fine: Tensor, rough: Tensor) -> Tensor:
        """Logits on a grid of half the distance, decided anew where they are closest."""
        logits = F.interpolate(logits, scale_factor=2.0, mode="bilinear", align_corners=False)
        height, width = logits.shape[-2:]
        cells = margin(logits).flatten(1).topk(min(self.n_points, height * width), largest=False).indices
        across, down = (cells % width + 0.5) / width, (cells // width + 0.5) / height
        points = torch.stack([across, down], dim=-1)
        decided = self.decider(read_at(fine, points), read_at(rough, points))
        return logits.flatten(2).scatter(2, cells.unsqueeze(1).expand_as(decided), decided).view_as(logits)

    def forward(self, image: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        """Logits (batch, classes, height, width), or the losses if labels (batch, height, width) are given."""
        fine, rough = self.features(image)
        if labels is not None:
            points = self.practice_points(rough)
            wanted = F.grid_sample(labels.unsqueeze(1).float(), points.unsqueeze(1) * 2 - 1, mode="nearest")
            decided = self.decider(read_at(fine, points), read_at(rough, points))
            full = F.interpolate(rough, labels.shape[-2:], mode="bilinear", align_corners=False)
            point_loss = F.cross_entropy(decided, wanted.flatten(1).long())
            return {"rough_loss": F.cross_entropy(full, labels), "point_loss": point_loss}
        logits = rough
        for _ in range(self.n_halvings):
            logits = self.halve(logits, fine, rough)
        return {"rough": rough, "logits": logits}


class HoleAwareConv(nn.Module):
    """A convolution of the known pixels in its window alone, after which a pixel is known if one in the window was."""

    def __init__(self, n_in: int, n_out: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.width, self.stride = width, stride
        self.weigh = nn.Conv2d(n_in, n_out, width, stride, width // 2, bias=False)
        self.offset = nn.Parameter(torch.zeros(n_out, 1, 1))

    def forward(self, x: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Features with zeros where nothing is known, and what is known now (batch, 1, height, width)."""
        share = F.avg_pool2d(known.mean(dim=1, keepdim=True), self.width, self.stride, self.width // 2)
        now = (share > 0).to(x.dtype)
        scaled = self.weigh(x * known) / share.masked_fill(share == 0, 1.0)
        return (scaled + self.offset) * now, now


class Descend(nn.Module):
    """A step of the encoder to half the size."""

    def __init__(self, n_in: int, n_out: int, width: int, norm: bool) -> None:
        super().__init__()
        self.conv = HoleAwareConv(n_in, n_out, width, stride=2)
        self.norm = nn.BatchNorm2d(n_out) if norm else None

    def forward(self, x: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Features and what is known of them."""
        x, known = self.conv(x, known)
        return torch.relu(x if self.norm is None else self.norm(x)), known


class Ascend(nn.Module):
    """A step of the decoder to the size of the encoder's features, which it gets as well, with their own holes."""

    def __init__(self, n_in: int, n_skip: int, n_out: int, is_last: bool) -> None:
        super().__init__()
        self.conv = HoleAwareConv(n_in + n_skip, n_out, 3)
        self.after = nn.Identity() if is_last else nn.Sequential(nn.BatchNorm2d(n_out), nn.LeakyReLU(0.2))

    def forward(self, x: Tensor, known: Tensor, skip: Tensor, skip_known: Tensor) -> tuple[Tensor, Tensor]:
        """Features and what is known of them, at the size of `skip`."""
        x, known = (F.interpolate(it, skip.shape[-2:], mode="nearest") for it in (x, known))
        holes = torch.cat([known.expand_as(x), skip_known.expand_as(skip)], dim=1)
        x, known = self.conv(torch.cat([x, skip], dim=1), holes)
        return self.after(x), known


class PhotoRepair(nn.Module):
    """Photos of which holes of any form are filled."""

    def __init__(self, widths: Sequence[int] = (12, 16, 24, 32, 32), hole_weight: float = 6.0) -> None:
        super().__init__()
        self.hole_weight = hole_weight
        channels = [3, *widths]
        self.down = nn.ModuleList(
            Descend(n_in, n_out, width=(7, 5)[i] if i < 2 else 3, norm=i > 0)
            for i, (n_in, n_out) in enumerate(pairwise(channels))
        )
        self.up = nn.ModuleList(
            Ascend(deep, skip, max(skip, 3), is_last=skip == 3) for deep, skip in pairwise(reversed(channels))
        )

    def losses(self, painted: Tensor, filled: Tensor, photo: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Errors inside and outside of the holes, and how rough the filled photo is."""
        error = (painted - photo).abs()
        inside, outside = ((error * part).mean() for part in (1 - known, known))
        rough = filled.diff(dim=-1).abs().mean() + filled.diff(dim=-2).abs().mean()
        return {"holes": self.hole_weight * inside, "rest": outside, "rough": 0.1 * rough}

    def forward(self, photo: Tensor, known: Tensor, whole_photo: Tensor | None = None) -> dict[str, Tensor]:
        """The filled photo (batch, 3, height, width), and losses if the whole one is given.

        `known` (batch, 1, height, width) is one where the photo is to be trusted and zero in its holes.
        """
        x, seen = photo, known.expand_as(photo)
        passed = []
        for step in self.down:
            passed.append((x, seen))
            x, seen = step(x, seen)
        for step in self.up:
            x, seen = step(x, seen, *passed.pop())
        painted = x.sigmoid()
        filled = torch.where(known > 0, photo, painted)
        result = {"painted": painted, "filled": filled}
        return result if whole_photo is None else result | self.losses(painted, filled, whole_photo, known)


class ColumnMean(nn.Module):
    """A mean of the columns of a fractal, of which some are left out in training but never all."""

    def __init__(self, drop: float) -> None:
        super().__init__()
        self.drop = drop

    def forward(self, columns: list[Tensor]) -> Tensor:
        """Features of the shape of each column."""
        if self.training and len(columns) > 1:
            kept = [column for column in columns if random.random() > self.drop]
            columns = kept or [random.choice(columns)]
        return torch.stack(columns).mean(dim=0)


class Fractal(nn.Module):
    """A convolution beside two smaller fractals one after the other, of which the smallest are convolutions alone."""

    def __init__(self, n_in: int, n_out: int, order: int, drop: float) -> None:
        super().__init__()
        self.shallow = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)
        )
        self.order = order
        if order > 1:
            self.former = Fractal(n_in, n_out, order - 1, drop)
            self.mean = ColumnMean(drop)
            self.latter = Fractal(n_out, n_out, order - 1, drop)

    def forward(self, x: Tensor, only: int | None = None) -> list[Tensor]:
        """The columns that end here, the shallowest first, or `only` the one of that number."""
        if self.order == 1 or only == 0:
            return [self.shallow(x)]
        if only is not None:
            (halfway,) = self.former(x, only - 1)
            return self.latter(halfway, only - 1)
        return [self.shallow(x), *self.latter(self.mean(self.former(x)))]


class FractalClassifier(nn.Module):
    """Classes of images without residuals: paths of many lengths through the same fractal."""

    def __init__(
        self, n_classes: int = 10, widths: Sequence[int] = (16, 24, 32), order: int = 3, drop_path: float = 0.15,
        dropouts: Sequence[float] = (0.0, 0.1, 0.2), whole_share: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        self.order, self.whole_share = order, whole_share
        self.fractals = nn.ModuleList(Fractal(a, b, order, drop_path) for a, b in pairwise([3, *widths]))
        self.mean = ColumnMean(drop_path)
        self.dropouts = nn.ModuleList(nn.Dropout(share) for share in dropouts)
        self.pool = nn.MaxPool2d(2)
        self.classify = nn.Linear(widths[-1], n_classes)

    def pick_column(self) -> int | None:
        """The one column that is trained now, or None if all are; so that each is of use by itself."""
        if not self.training or random.random() < self.whole_share:
            return None
        return random.randrange(self.order)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (batch, classes)."""
        only, x = self.pick_column(), images
        for fractal, dropout in zip(self.fractals, self.dropouts, strict=True):
            x = self.pool(dropout(self.mean(fractal(x, only))))
        return self.classify(x.mean(dim=(-2, -1)))


def _discs() -> Tensor:
    rows, columns = torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij")
    near = (rows - 20) ** 2 + (columns - 24) ** 2 < 100, (rows - 44) ** 2 + (columns - 40) ** 2 < 64
    return torch.stack(near).float()


def _cameras() -> Rig:
    lens = torch.tensor([[60.0, 0.0, 48.0], [0.0, 60.0, 32.0], [0.0, 0.0, 1.0]]).expand(2, 2, 3, 3)
    ahead = torch.tensor([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    back = ahead * torch.tensor([[-1.0], [-1.0], [1.0]])
    place = torch.tensor([[1.5, 0.0, 1.2], [-1.0, 0.0, 1.2]])
    return Rig(lens.contiguous(), torch.stack([ahead, back]).repeat(2, 1, 1, 1), place.repeat(2, 1, 1))


def _holes() -> Tensor:
    known = torch.ones(1, 1, 64, 64)
    known[..., 20:44, 16:40] = known[..., 50:, 5:60] = 0
    return known


NETS = [
    Entry(
        "own/lipnet",
        LipReader,
        given(lambda: torch.rand(2, 12, 3, 32, 64), whole(12, 9), lambda: torch.randint(1, 28, (2, 5)), whole(5, 3)),
    ),
    Entry("own/stm", ObjectTracker, given(lambda: torch.rand(4, 3, 64, 64), _discs)),
    Entry("own/lift_splat", StreetMapper, given(lambda: torch.rand(2, 2, 3, 64, 96), _cameras)),
    Entry("own/pointrend", BorderSegmenter, given(lambda: torch.rand(1, 3, 64, 96))),
    Entry(
        "own/partial_conv",
        PhotoRepair,
        given(lambda: torch.rand(1, 3, 64, 64), _holes, lambda: torch.rand(1, 3, 64, 64)),
    ),
    Entry("own/fractalnet", FractalClassifier, given(numbers(2, 3, 32, 32))),
]
