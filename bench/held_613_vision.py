"""Nets of images, scans, points and fields as repositories write them, of the sixteenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the five lists after it, `random.Random(613).sample(that, 12)`:

    maskgit deepmedic deepar trrosetta siren sqlnet lama adabins randla_net autovc megabyte pinn

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.distributions import Categorical

from bench.held_397_vision import TOPICS as _OF_SEVEN_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from bench.held_541_vision import TOPICS as _OF_SEED_541
from bench.held_577_vision import TOPICS as _OF_SEED_577
from tests.corpus.entry import Entry, given, numbers, whole

_OF_SEED_397 = random.Random(397).sample(_OF_SEVEN_LISTS.split(), 15)
_DRAWN_BEFORE = {*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503, *_OF_SEED_541, *_OF_SEED_577}
TOPICS = random.Random(613).sample([it for it in sorted(_OF_SEVEN_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


class TextureUnit(nn.Module):
    """Two convolutions of normalised features, added to the input."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(4, n_in), nn.SiLU(), nn.Conv2d(n_in, n_out, 3, padding=1))
        self.second = nn.Sequential(nn.GroupNorm(4, n_out), nn.SiLU(), nn.Conv2d(n_out, n_out, 3, padding=1))
        self.match = nn.Conv2d(n_in, n_out, 1, bias=False) if n_in != n_out else None

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, height, width)."""
        change = self.second(self.first(x))
        return change + (x if self.match is None else self.match(x))


class Palette(nn.Module):
    """A book of visual words, each of which stands for a square of pixels."""

    def __init__(self, n_words: int, dim: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(n_words, dim).uniform_(-1 / n_words, 1 / n_words))

    def nearest(self, features: Tensor) -> Tensor:
        """Words (batch, height, width) whose vectors are nearest to features (batch, dim, height, width)."""
        cells = features.permute(0, 2, 3, 1)
        return torch.cdist(cells.flatten(1, 2), self.vectors).argmin(dim=-1).view(cells.shape[:-1])

    def forward(self, words: Tensor) -> Tensor:
        """Vectors of words, as a map (batch, dim, height, width)."""
        return F.embedding(words, self.vectors).permute(0, 3, 1, 2)


class ImageTokenizer(nn.Module):
    """Images as maps of words, and images of such maps."""

    def __init__(self, widths: Sequence[int], n_words: int, word_dim: int) -> None:
        super().__init__()
        first, last = widths[0], widths[-1]
        shrink, grow = list[nn.Module](), list[nn.Module]()
        for a, b in pairwise(widths):
            shrink += [TextureUnit(a, b), nn.AvgPool2d(2)]
            grow = [nn.Upsample(scale_factor=2, mode="nearest"), TextureUnit(b, a), *grow]
        self.encoder = nn.Sequential(
            nn.Conv2d(3, first, 3, padding=1), *shrink, TextureUnit(last, last), nn.Conv2d(last, word_dim, 1)
        )
        self.palette = Palette(n_words, word_dim)
        self.decoder = nn.Sequential(
            nn.Conv2d(word_dim, last, 3, padding=1), TextureUnit(last, last), *grow,
            nn.GroupNorm(4, first), nn.SiLU(), nn.Conv2d(first, 3, 3, padding=1),
        )  # fmt: skip

    def encode(self, image: Tensor) -> Tensor:
        """Words (batch, height / 2^n, width / 2^n)."""
        return self.palette.nearest(self.encoder(image))

    def decode(self, words: Tensor) -> Tensor:
        """An image of words."""
        return self.decoder(self.palette(words)).tanh()


class WordGuesser(nn.Module):
    """A transformer that sees all words of an image at once, and says what the hidden ones may be."""

    def __init__(
        self, n_words: int, n_kinds: int, n_cells: int, dim: int, n_heads: int, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.n_words = n_words
        # one vector for each word, then one for a hidden word, then those of what an image is of
        self.vectors = nn.Embedding(n_words + 1 + n_kinds, dim)
        self.places = nn.Parameter(0.02 * torch.randn(1 + n_cells, dim))
        self.prepare = nn.Sequential(nn.LayerNorm(dim), nn.Dropout(dropout))
        layer = nn.TransformerEncoderLayer(dim, n_heads, 4 * dim, dropout, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.offset = nn.Parameter(torch.zeros(n_words))

    def forward(self, words: Tensor, hidden: Tensor, kind: Tensor) -> Tensor:
        """Logits (batch, cells, words), of which those of words that are not hidden are of little use."""
        shown = words.masked_fill(hidden, self.n_words)
        sequence = torch.cat([self.n_words + 1 + kind[:, None], shown], dim=1)
        x = self.layers(self.prepare(self.vectors(sequence) + self.places))
        return F.linear(self.readout(x[:, 1:]), self.vectors.weight[: self.n_words], self.offset)


class ImageEditor(nn.Module):
    """An editor that fills a part of an image anew in few steps, and keeps in each what it is surest of."""

    def __init__(
        self, size: int = 32, widths: Sequence[int] = (16, 24, 32), n_words: int = 128, word_dim: int = 8,
        n_kinds: int = 10, dim: int = 48, n_heads: int = 4, n_layers: int = 3, dropout: float = 0.1,
        n_steps: int = 4, heat: float = 4.5,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_steps, self.heat = n_steps, heat
        self.cell = 2 ** (len(widths) - 1)
        self.tokenizer = ImageTokenizer(widths, n_words, word_dim)
        self.guesser = WordGuesser(n_words, n_kinds, (size // self.cell) ** 2, dim, n_heads, n_layers, dropout)

    def guess_loss(self, image: Tensor, kind: Tensor) -> Tensor:
        """The loss of words that are hidden by chance: of some images few, of others nearly all."""
        with torch.no_grad():
            words = self.tokenizer.encode(image).flatten(1)
        share = (torch.rand(len(words), 1, device=words.device) * math.pi / 2).cos()
        hidden = torch.rand(words.shape, device=words.device) < share
        logits = self.guesser(words, hidden, kind)
        return F.cross_entropy(logits[hidden], words[hidden], label_smoothing=0.1)

    def fill(self, words: Tensor, hidden: Tensor, kind: Tensor) -> Tensor:
        """Words (batch, cells) of which none is hidden any more."""
        n_hidden = hidden.sum(dim=1, keepdim=True)
        for step in range(1, self.n_steps + 1):
            chances = Categorical(logits=self.guesser(words, hidden, kind))
            words = torch.where(hidden, chances.sample(), words)
            done = step / self.n_steps
            noise = -torch.empty_like(words, dtype=torch.float32).exponential_().log()
            sureness = chances.log_prob(words) + self.heat * (1 - done) * noise
            order = sureness.masked_fill(~hidden, math.inf).argsort(dim=1)
            n_left = (n_hidden * math.cos(done * math.pi / 2)).floor()
            least_sure = torch.arange(words.size(1), device=words.device) < n_left
            hidden = torch.zeros_like(hidden).scatter(1, order, least_sure)
        return words

    def forward(self, image: Tensor, part: Tensor, kind: Tensor) -> Tensor:
        """Images (batch, 3, height, width) that are as before outside of a part (batch, 1, height, width)."""
        words = self.tokenizer.encode(image)
        hidden = F.max_pool2d(part, self.cell).flatten(1) > 0
        filled = self.fill(words.flatten(1), hidden, kind).view_as(words)
        return torch.lerp(image, self.tokenizer.decode(filled), part)


def middle_of(scan: Tensor, size: int) -> Tensor:
    """The cube of that size in the middle of a scan."""
    for axis in (-3, -2, -1):
        scan = scan.narrow(axis, (scan.size(axis) - size) // 2, size)
    return scan


class TissueConv(nn.Module):
    """Two convolutions that lose four voxels at the borders, added to the middle of the input."""

    def __init__(self, n_in: int, n_out: int, dropout: float) -> None:
        super().__init__()
        self.n_new = n_out - n_in
        layers = list[nn.Module]()
        for n in (n_in, n_out):
            layers += [nn.BatchNorm3d(n), nn.PReLU(n), nn.Dropout3d(dropout), nn.Conv3d(n, n_out, 3, bias=False)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, size - 4, size - 4, size - 4)."""
        change = self.layers(x)
        kept = middle_of(x, change.size(-1))
        return change + F.pad(kept, (0, 0, 0, 0, 0, 0, 0, self.n_new))  # the new channels are of the change alone


class ScanPath(nn.Module):
    """Features of voxels from a scan at one resolution, repeated until they are as many as those of the finest."""

    def __init__(self, n_in: int, widths: Sequence[int], factor: int, dropout: float) -> None:
        super().__init__()
        self.factor = factor
        self.first = nn.Conv3d(n_in, widths[0], 3, bias=False)
        self.second = nn.Conv3d(widths[0], widths[0], 3, bias=False)
        self.rest = nn.Sequential(*(TissueConv(a, b, dropout) for a, b in pairwise(widths)))
        self.lost = 4 * len(widths)

    def seen(self, n_voxels: int) -> int:
        """The voxels along an edge that this path must see, at its own resolution, for so many to be classified."""
        return math.ceil(n_voxels / self.factor) + self.lost

    def forward(self, scan: Tensor, n_voxels: int) -> Tensor:
        """Features (batch, widths[-1], n_voxels, n_voxels, n_voxels)."""
        if self.factor > 1:
            scan = F.avg_pool3d(scan, self.factor)
        x = self.second(self.first(middle_of(scan, self.seen(n_voxels))))
        x = self.rest(x)
        if self.factor > 1:
            for axis in (2, 3, 4):
                x = x.repeat_interleave(self.factor, dim=axis)
        return middle_of(x, n_voxels)


class LesionSegmenter(nn.Module):
    """Kinds of tissue in the middle of a scan, from fine paths that see little and coarse ones that see far around."""

    def __init__(
        self, n_modalities: int = 2, n_classes: int = 5, widths: Sequence[int] = (8, 12, 16, 16),
        factors: Sequence[int] = (1, 3, 5), hidden_dim: int = 32, n_voxels: int = 9, dropout: float = 0.02,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_voxels = n_voxels
        self.paths = nn.ModuleList(ScanPath(n_modalities, widths, factor, dropout) for factor in factors)
        self.merge = nn.Sequential(
            nn.Dropout3d(dropout), nn.Conv3d(len(factors) * widths[-1], hidden_dim, 1), nn.PReLU(hidden_dim)
        )
        self.hidden = nn.Sequential(
            nn.Dropout3d(0.5), nn.Conv3d(hidden_dim, hidden_dim, 3, padding=1), nn.PReLU(hidden_dim)
        )
        self.tissue = nn.Sequential(nn.Dropout3d(0.5), nn.Conv3d(hidden_dim, n_classes, 1))

    def losses(self, logits: Tensor, tissue: Tensor) -> dict[str, Tensor]:
        """The loss of each voxel, and one minus the overlap of each class, which does not mind how rare it is."""
        shares = logits.softmax(dim=1).flatten(2)
        wanted = F.one_hot(tissue.flatten(1), logits.size(1)).mT.to(shares)
        overlap = 2 * (shares * wanted).sum(dim=(0, 2)) / (shares + wanted).sum(dim=(0, 2)).clamp(min=1e-6)
        return {"voxels": F.cross_entropy(logits, tissue), "overlap": 1 - overlap[1:].mean()}

    def forward(self, scan: Tensor, tissue: Tensor | None = None) -> dict[str, Tensor]:
        """Logits (batch, classes, n_voxels, n_voxels, n_voxels), and losses if the tissue there is known.

        The scan is (batch, modalities, depth, height, width), and large enough for the coarsest path.
        """
        features = torch.cat([path(scan, self.n_voxels) for path in self.paths], dim=1)
        x = self.merge(features)
        logits = self.tissue(x + self.hidden(x))
        found = {"logits": logits}
        if tissue is not None:
            found |= self.losses(logits, tissue)
        return found


class SineUnit(nn.Module):
    """A layer whose outputs swing: sines of weighted sums, with weights that keep their spread from layer to layer."""

    def __init__(self, n_in: int, n_out: int, speed: float, spread: float) -> None:
        super().__init__()
        self.speed = speed
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-spread, spread))
        self.phase = nn.Parameter(torch.empty(n_out).uniform_(-math.pi, math.pi) / speed)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (…, n_out) from -1 to 1."""
        return torch.sin(self.speed * F.linear(x, self.weight, self.phase))


class SurfaceField(nn.Module):
    """How far each point is from the surface of a thing, as a function that is smooth however often it is derived.

    It is learned from points with normals alone, without a grid: where the surface is, which way it faces, and that a
    step away from it is as long as the distance grows by.
    """

    def __init__(
        self, n_axes: int = 3, dim: int = 64, n_layers: int = 4, first_speed: float = 30.0, speed: float = 30.0,
        margin: float = 100.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.margin = margin
        later = math.sqrt(6 / dim) / speed
        units = [SineUnit(n_axes, dim, first_speed, 1 / n_axes)]
        units += [SineUnit(dim, dim, speed, later) for _ in range(n_layers - 1)]
        self.units = nn.Sequential(*units)
        self.distance = nn.Linear(dim, 1)
        nn.init.uniform_(self.distance.weight, -later, later)

    def slope(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Distances of points (n, 1), and the direction in which each grows most (n, axes)."""
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            distance = self.distance(self.units(points))
            (slope,) = torch.autograd.grad(distance.sum(), points, create_graph=True)
        return distance, slope

    def forward(self, points: Tensor, normals: Tensor, n_anywhere: int = 64) -> dict[str, Tensor]:
        """Distances of the points on the surface (n, 1) and losses, also of points anywhere in the box around it."""
        anywhere = 2 * torch.rand(n_anywhere, points.size(1), device=points.device) - 1
        distance, slope = self.slope(torch.cat([points, anywhere]))
        near, far = distance.split([len(points), n_anywhere])
        return {
            "distance": near,
            "on_surface": near.abs().mean(),
            "off_surface": torch.exp(-self.margin * far.abs()).mean(),
            "facing": (1 - F.cosine_similarity(slope[: len(points)], normals, dim=1)).mean(),
            "even": (slope.norm(dim=1) - 1).abs().mean(),
        }


class WaveMixer(nn.Module):
    """A mixer of channels at each frequency of a map, so that all places of it matter to each."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.mix = nn.Conv2d(2 * channels, 2 * channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """A map of the same shape."""
        waves = torch.view_as_real(torch.fft.rfft2(x, norm="ortho"))
        parts = torch.cat(waves.unbind(dim=-1), dim=1)
        parts = torch.relu(self.norm(self.mix(parts)))
        return torch.fft.irfft2(torch.complex(*parts.chunk(2, dim=1)), s=x.shape[-2:], norm="ortho")


class WholeAndQuarters(nn.Module):
    """Two mixers of waves, one of the map as it is and one of its four quarters laid on one another."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        dim = n_out // 2
        self.squeeze = nn.Sequential(nn.Conv2d(n_in, dim, 1, bias=False), nn.BatchNorm2d(dim), nn.ReLU())
        self.whole = WaveMixer(dim)
        self.quarters = WaveMixer(dim)
        self.widen = nn.Conv2d(dim, n_out, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """A map (batch, n_out, height, width)."""
        x = self.squeeze(x)
        top, bottom = x[:, : x.size(1) // 4].chunk(2, dim=2)
        quarters = self.quarters(torch.cat([*top.chunk(2, dim=3), *bottom.chunk(2, dim=3)], dim=1))
        return self.widen(x + self.whole(x) + quarters.tile(1, 1, 2, 2))


class NearFarConv(nn.Module):
    """A convolution of channels that know what is near and of such that know the whole image, which tell each other."""

    def __init__(self, near: tuple[int, int], far: tuple[int, int]) -> None:
        super().__init__()
        conv = partial(nn.Conv2d, kernel_size=3, padding=1, padding_mode="reflect", bias=False)
        self.near_near, self.near_far = conv(near[0], near[1]), conv(near[0], far[1])
        self.far_near, self.far_far = conv(far[0], near[1]), WholeAndQuarters(*far)
        self.near_norm, self.far_norm = nn.BatchNorm2d(near[1]), nn.BatchNorm2d(far[1])

    def forward(self, near: Tensor, far: Tensor) -> tuple[Tensor, Tensor]:
        """Both kinds of channels, of the same height and width."""
        near, far = self.near_near(near) + self.far_near(far), self.near_far(near) + self.far_far(far)
        return self.near_norm(near).relu(), self.far_norm(far).relu()


class NearFarUnit(nn.Module):
    """Two such convolutions, added to what they are given."""

    def __init__(self, near: int, far: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(NearFarConv((near, near), (far, far)) for _ in range(2))

    def forward(self, near: Tensor, far: Tensor) -> tuple[Tensor, Tensor]:
        """Both kinds of channels, of the same shapes."""
        new_near, new_far = near, far
        for conv in self.convs:
            new_near, new_far = conv(new_near, new_far)
        return near + new_near, far + new_far


class HoleFiller(nn.Module):
    """Photos whose large holes are filled by patterns that repeat across the whole of them."""

    def __init__(self, width: int = 12, n_halvings: int = 3, n_units: int = 3, far_share: float = 0.75) -> None:
        super().__init__()
        widths = [width * 2**i for i in range(n_halvings + 1)]
        self.start = nn.Sequential(
            nn.Conv2d(4, width, 7, padding=3, padding_mode="reflect", bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.smaller = nn.Sequential()
        for a, b in pairwise(widths):
            self.smaller.extend([nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()])
        n_far = int(far_share * widths[-1])
        self.parts = [widths[-1] - n_far, n_far]
        self.units = nn.ModuleList(NearFarUnit(*self.parts) for _ in range(n_units))
        self.larger = nn.Sequential()
        for a, b in pairwise(reversed(widths)):
            self.larger.extend([nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()])
        self.paint = nn.Conv2d(width, 3, 7, padding=3, padding_mode="reflect")

    def forward(self, photo: Tensor, hole: Tensor) -> dict[str, Tensor]:
        """Painted and filled photos (batch, 3, height, width), of holes (batch, 1, height, width) that are one."""
        seen = torch.cat([photo * (1 - hole), hole], dim=1)
        near, far = self.smaller(self.start(seen)).split(self.parts, dim=1)
        for unit in self.units:
            near, far = unit(near, far)
        painted = torch.sigmoid(self.paint(self.larger(torch.cat([near, far], dim=1))))
        return {"painted": painted, "filled": torch.where(hole > 0.5, painted, photo)}


class ThinBlock(nn.Module):
    """A wide convolution of each channel for itself between two of single pixels, with a gate of channels."""

    def __init__(self, n_in: int, n_out: int, stride: int, times: int = 4) -> None:
        super().__init__()
        dim = times * n_in
        self.expand = nn.Sequential(nn.Conv2d(n_in, dim, 1, bias=False), nn.BatchNorm2d(dim), nn.SiLU())
        self.space = nn.Sequential(
            nn.Conv2d(dim, dim, 5, stride, 2, groups=dim, bias=False), nn.BatchNorm2d(dim), nn.SiLU()
        )
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(dim, n_in // 2, 1), nn.SiLU(), nn.Conv2d(n_in // 2, dim, 1), nn.Sigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(dim, n_out, 1, bias=False), nn.BatchNorm2d(n_out))
        self.adds = stride == 1 and n_in == n_out

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, height / stride, width / stride)."""
        wide = self.space(self.expand(x))
        out = self.project(wide * self.gate(wide))
        return x + out if self.adds else out


class Refine(nn.Module):
    """A step of the decoder to the size of features of the encoder, which are added as far as a gate lets them."""

    def __init__(self, n_deep: int, n_skip: int, n_out: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(n_deep, n_out, 1)
        self.skip = nn.Conv2d(n_skip, 2 * n_out, 1)
        self.smooth = nn.Sequential(nn.GroupNorm(4, n_out), nn.SiLU(), nn.Conv2d(n_out, n_out, 3, padding=1))

    def forward(self, deep: Tensor, skip: Tensor) -> Tensor:
        """Features (batch, n_out, height, width) of the size of `skip`."""
        x = F.interpolate(self.narrow(deep), skip.shape[-2:], mode="bilinear", align_corners=False)
        x = x + F.glu(self.skip(skip), dim=1)
        return x + self.smooth(x)


class RangePlanner(nn.Module):
    """A planner of ranges of depth that an image is best cut into, by a small transformer of its patches.

    The first tokens that come out of it tell, besides, how like each of them a pixel is.
    """

    def __init__(self, n_in: int, dim: int, patch: int, n_queries: int, n_heads: int, n_layers: int) -> None:
        super().__init__()
        self.n_queries = n_queries
        self.patches = nn.Conv2d(n_in, dim, patch, stride=patch)
        self.places = nn.Parameter(0.02 * torch.randn(256, dim))
        layers = [nn.TransformerEncoderLayer(dim, n_heads, 4 * dim, batch_first=True) for _ in range(n_layers)]
        self.layers = nn.Sequential(*layers)
        self.pixels = nn.Conv2d(n_in, dim, 3, padding=1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The token of the ranges (batch, dim), and likenesses (batch, queries, height, width)."""
        tokens = self.patches(features).flatten(2).mT
        tokens = self.layers(tokens + self.places[: tokens.size(1)])
        queries = tokens[:, 1 : 1 + self.n_queries]
        return tokens[:, 0], torch.einsum("bqd,bdhw->bqhw", queries, self.pixels(features))


class DepthEstimator(nn.Module):
    """Depth of pixels as a mean of the middles of ranges, which are narrow where an image has much at that depth."""

    def __init__(
        self, nearest: float = 0.5, farthest: float = 20.0, n_ranges: int = 24, stages: Sequence[int] = (1, 2, 2, 1),
        widths: Sequence[int] = (12, 16, 24, 40), dim: int = 32, patch: int = 4, n_queries: int = 12, n_heads: int = 4,
    ) -> None:  # fmt: skip
        super().__init__()
        self.nearest, self.farthest = nearest, farthest
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.SiLU())
        self.stages = nn.ModuleList()
        for n_in, n_out, n_blocks in zip([widths[0], *widths], widths, stages, strict=False):
            blocks = [ThinBlock(n_in, n_out, 1 if n_in == n_out else 2)]
            blocks += [ThinBlock(n_out, n_out, 1) for _ in range(n_blocks - 1)]
            self.stages.append(nn.Sequential(*blocks))
        self.deepest = nn.Conv2d(widths[-1], 2 * dim, 1)
        self.refine = nn.ModuleList()
        for i, skip in enumerate(reversed(widths[:-1])):
            self.refine.append(Refine(2 * dim if i == 0 else dim, skip, dim))
        self.planner = RangePlanner(dim, dim, patch, n_queries, n_heads, n_layers=2)
        self.lengths = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, n_ranges), nn.Softplus()
        )
        self.shares = nn.Sequential(nn.Conv2d(n_queries, n_ranges, 1), nn.Softmax(dim=1))

    def features(self, image: Tensor) -> Tensor:
        """Features of pixels at half the size."""
        x = self.stem(image)
        seen = []
        for stage in self.stages:
            x = stage(x)
            seen.append(x)
        x = self.deepest(seen.pop())
        for step in self.refine:
            x = step(x, seen.pop())
        return x

    def losses(self, depth: Tensor, edges: Tensor, truth: Tensor) -> dict[str, Tensor]:
        """How far off depths are but for a common factor, and how far middles of ranges are from depths that occur."""
        known = truth > self.nearest
        gap = depth[known].log() - truth[known].log()
        ratio = (gap.square().mean() - 0.85 * gap.mean().square()).clamp(min=0).sqrt()
        middles = edges.unfold(1, 2, 1).mean(dim=2)
        apart = (truth.flatten(1).unsqueeze(2) - middles.unsqueeze(1)).square()
        apart = apart.masked_fill(~known.flatten(1).unsqueeze(2), math.inf)
        to_truth = apart.amin(dim=1).mean()
        to_middle = apart.amin(dim=2)
        return {"ratio": 10 * ratio, "ranges": to_truth + to_middle[to_middle.isfinite()].mean()}

    def forward(self, image: Tensor, truth: Tensor | None = None) -> dict[str, Tensor]:
        """Depths (batch, height, width), edges of ranges (batch, ranges + 1), and losses if the true depth is given."""
        ranges, likeness = self.planner(self.features(image))
        reach = F.pad(self.lengths(ranges), (1, 0)).cumsum(dim=1)
        edges = self.nearest + (self.farthest - self.nearest) * reach / reach[:, -1:]
        middles = edges.unfold(1, 2, 1).mean(dim=2)
        depth = torch.einsum("brhw,br->bhw", self.shares(likeness), middles)
        depth = F.interpolate(depth[:, None], image.shape[-2:], mode="bilinear", align_corners=False)[:, 0]
        found = {"depth": depth, "edges": edges}
        return found if truth is None else found | self.losses(depth, edges, truth)


def near_ones(points: Tensor, others: Tensor, k: int) -> Tensor:
    """Numbers of the `k` of `others` (batch, n, 3) that are nearest to each point (batch, m, 3), the nearest first."""
    return torch.cdist(points, others).topk(k, dim=-1, largest=False).indices


def pick(values: Tensor, which: Tensor) -> Tensor:
    """Rows of values (batch, n, dim) by their numbers (batch, …), as (batch, …, dim)."""
    rows = which.flatten(1).unsqueeze(-1).expand(-1, -1, values.size(-1))
    return values.gather(1, rows).view(*which.shape, -1)


class PerPoint(nn.Module):
    """A linear layer of each point, with a normalisation over all of them."""

    def __init__(self, n_in: int, n_out: int, slope: float = 0.2) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=False)
        self.norm = nn.BatchNorm1d(n_out, momentum=0.01)
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        """Features (…, n_out)."""
        x = self.linear(x)
        normed = self.norm(x.reshape(-1, x.size(-1))).view_as(x)
        return F.leaky_relu(normed, self.slope)


class Surroundings(nn.Module):
    """The neighbours of a point, weighed by a score of each of their features."""

    def __init__(self, dim: int, n_out: int) -> None:
        super().__init__()
        self.where = PerPoint(10, dim)
        self.score = nn.Linear(2 * dim, 2 * dim, bias=False)
        self.out = PerPoint(2 * dim, n_out)

    def forward(self, points: Tensor, features: Tensor, neighbours: Tensor) -> Tensor:
        """Features (batch, points, n_out)."""
        there = pick(points, neighbours)
        here = points.unsqueeze(2).expand_as(there)
        offset = there - here
        place = self.where(torch.cat([here, there, offset, offset.norm(dim=-1, keepdim=True)], dim=-1))
        around = torch.cat([pick(features, neighbours), place], dim=-1)
        return self.out((self.score(around).softmax(dim=2) * around).sum(dim=2))


class WiderView(nn.Module):
    """Two rounds of surroundings, after which a point knows neighbours of its neighbours, added to its features."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.narrow = PerPoint(n_in, n_out // 4)
        self.once = Surroundings(n_out // 4, n_out // 4)
        self.twice = Surroundings(n_out // 4, n_out // 2)
        self.widen = PerPoint(n_out // 2, n_out, slope=1.0)
        self.shortcut = PerPoint(n_in, n_out, slope=1.0)

    def forward(self, points: Tensor, features: Tensor, neighbours: Tensor) -> Tensor:
        """Features (batch, points, n_out)."""
        x = self.narrow(features)
        for around in (self.once, self.twice):
            x = around(points, x, neighbours)
        return F.leaky_relu(self.widen(x) + self.shortcut(features), 0.01)


class StreetScanLabeller(nn.Module):
    """Classes of the points of a large scan, of which each layer keeps some by chance alone since that is quick."""

    def __init__(
        self, n_features: int = 3, n_classes: int = 8, widths: Sequence[int] = (16, 32, 48, 64), n_neighbours: int = 8,
        keep: int = 4, dropout: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_neighbours, self.keep = n_neighbours, keep
        self.lift = PerPoint(3 + n_features, 8)
        sizes = [8, *widths]
        self.views = nn.ModuleList(WiderView(a, b) for a, b in pairwise(sizes))
        self.turn = PerPoint(widths[-1], widths[-1])
        steps, dim = [], widths[-1]
        for skip in reversed([widths[0], *widths[:-1]]):
            steps.append(PerPoint(dim + skip, skip))
            dim = skip
        self.steps = nn.ModuleList(steps)
        self.label = nn.Sequential(
            PerPoint(dim, 32), PerPoint(32, 16), nn.Dropout(dropout), nn.Linear(16, n_classes)
        )  # fmt: skip

    def forward(self, points: Tensor, colours: Tensor) -> Tensor:
        """Logits (batch, points, classes) of points (batch, points, 3) and their colours (batch, points, features)."""
        shuffle = torch.randperm(points.size(1), device=points.device)
        points, x = points[:, shuffle], self.lift(torch.cat([points, colours], dim=-1))[:, shuffle]
        finer = list[tuple[Tensor, Tensor]]()
        for i, view in enumerate(self.views):
            # all points come in a chance order, so the first of them are as good a choice as any
            x = view(points, x, near_ones(points, points, min(self.n_neighbours, points.size(1))))
            if i == 0:
                finer.append((points, x))
            n_kept = points.size(1) // self.keep
            points, x = points[:, :n_kept], x[:, :n_kept]
            finer.append((points, x))
        points, x = finer.pop()
        x = self.turn(x)
        for step in self.steps:
            wanted, skip = finer.pop()
            closest = near_ones(wanted, points, 1).squeeze(-1)
            x = step(torch.cat([pick(x, closest), skip], dim=-1))
            points = wanted
        return self.label(x[:, shuffle.argsort()])


def _square() -> Tensor:
    part = torch.zeros(2, 1, 32, 32)
    part[0, :, 8:24, 4:20] = part[1, :, 16:, :] = 1
    return part


def _ball() -> Tensor:
    return 0.6 * F.normalize(torch.randn(96, 3), dim=1)


def _hole() -> Tensor:
    hole = torch.zeros(1, 1, 64, 96)
    hole[..., 12:40, 20:60] = 1
    return hole


NETS = [
    Entry("own/maskgit", ImageEditor, given(lambda: 2 * torch.rand(2, 3, 32, 32) - 1, _square, whole(3, 7))),
    Entry("own/deepmedic", LesionSegmenter, given(numbers(1, 2, 90, 90, 90))),
    Entry("own/siren", SurfaceField, given(_ball, lambda: F.normalize(torch.randn(96, 3), dim=1))),
    Entry("own/lama", HoleFiller, given(lambda: torch.rand(1, 3, 64, 96), _hole)),
    Entry("own/adabins", DepthEstimator, given(lambda: torch.rand(1, 3, 64, 96))),
    Entry("own/randla_net", StreetScanLabeller, given(lambda: 10 * torch.rand(1, 1024, 3), numbers(1, 1024, 3))),
]
