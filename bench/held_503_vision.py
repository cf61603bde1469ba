"""Nets of images, videos, questions and tables as repositories write them, of the thirteenth list kept from all rules.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the eleventh and the twelfth list,
`random.Random(503).sample(that, 12)`:

    eqtransformer draw_rnn neural_additive fibinet onsets_and_frames mcan deepdta adain_style autoint pointer_network
    music_transformer bmn

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from bench.held_397_vision import TOPICS as _OF_FOUR_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from tests.corpus.entry import Entry, given, numbers, whole

_DRAWN_BEFORE = {*random.Random(397).sample(_OF_FOUR_LISTS.split(), 15), *_OF_SEED_433, *_OF_SEED_467}
TOPICS = random.Random(503).sample([it for it in sorted(_OF_FOUR_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


class Lens(NamedTuple):
    """A view of a part of an image: the weights of rows and columns for each cell of a grid, and a gain."""

    rows: Tensor
    columns: Tensor
    gain: Tensor

    def look(self, image: Tensor) -> Tensor:
        """The view that the cells have of an image (batch, channels, cells, cells)."""
        return self.gain * (self.rows @ image @ self.columns.mT)

    def project(self, patch: Tensor) -> Tensor:
        """An image (batch, channels, height, width) that is empty but for what the cells show."""
        return self.rows.mT @ patch @ self.columns / self.gain


class LensMaker(nn.Module):
    """Lenses of which the place, the distance of the cells, the blur and the gain are chosen from a state."""

    pixels: Tensor
    cells: Tensor

    def __init__(self, state_dim: int, size: int, n_cells: int) -> None:
        super().__init__()
        self.middle = (size - 1) / 2
        self.widest = (size - 1) / (n_cells - 1)
        self.aim = nn.Linear(state_dim, 5)
        self.register_buffer("pixels", torch.arange(size, dtype=torch.float32))
        self.register_buffer("cells", torch.arange(n_cells) - (n_cells - 1) / 2)

    def bumps(self, centre: Tensor, distance: Tensor, blur: Tensor) -> Tensor:
        """Weights (batch, 1, cells, pixels) along a side of the image, those of a cell are one in sum."""
        places = (centre + distance * self.cells).unsqueeze(-1)
        off = (self.pixels - places) / blur.unsqueeze(-1)
        return (-0.5 * off.square()).softmax(dim=-1).unsqueeze(1)

    def forward(self, state: Tensor) -> Lens:
        """The lens for a state (batch, state_dim)."""
        across, down, distance, blur, gain = self.aim(state).split(1, dim=1)
        distance, blur = self.widest * distance.sigmoid(), F.softplus(blur) + 0.1
        rows = self.bumps(self.middle * (1 + down), distance, blur)
        columns = self.bumps(self.middle * (1 + across), distance, blur)
        return Lens(rows, columns, gain.exp()[..., None, None])


class Impression(nn.Module):
    """A normal distribution of codes, given what was seen."""

    def __init__(self, n_in: int, code_dim: int) -> None:
        super().__init__()
        self.mean = nn.Linear(n_in, code_dim)
        self.log_variance = nn.Linear(n_in, code_dim)

    def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """A code (batch, code_dim), and its divergence from a code of noise (batch)."""
        mean, log_variance = self.mean(seen), self.log_variance(seen)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return code, 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(dim=1)


class PatientPainter(nn.Module):
    """Images that are painted in several strokes, each after a look at what is still wrong."""

    def __init__(
        self, size: int = 28, channels: int = 1, n_strokes: int = 5, look_cells: int = 4, paint_cells: int = 5,
        hidden_dim: int = 64, code_dim: int = 12,
    ) -> None:  # fmt: skip
        super().__init__()
        self.hidden_dim, self.code_dim, self.n_strokes = hidden_dim, code_dim, n_strokes
        self.shape = (channels, size, size)
        self.look_lens = LensMaker(hidden_dim, size, look_cells)
        self.paint_lens = LensMaker(hidden_dim, size, paint_cells)
        self.viewer = nn.LSTMCell(2 * channels * look_cells**2 + hidden_dim, hidden_dim)
        self.impression = Impression(hidden_dim, code_dim)
        self.painter = nn.LSTMCell(code_dim, hidden_dim)
        self.to_patch = nn.Sequential(
            nn.Linear(hidden_dim, channels * paint_cells**2), nn.Unflatten(1, (channels, paint_cells, paint_cells))
        )
        self.paper = nn.Parameter(torch.zeros(channels, 1, 1))

    def stroke(self, painter: Tensor) -> Tensor:
        """The patch that is added to the canvas."""
        return self.paint_lens(painter).project(self.to_patch(painter))

    @torch.no_grad()
    def imagine(self, count: int) -> Tensor:
        """New images, painted of codes of noise."""
        h = c = self.paper.new_zeros(count, self.hidden_dim)
        canvas = self.paper.expand(count, *self.shape)
        for _ in range(self.n_strokes):
            h, c = self.painter(torch.randn(count, self.code_dim, device=h.device), (h, c))
            canvas = canvas + self.stroke(h)
        return canvas.sigmoid()

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        """The canvas after each stroke (batch, strokes, channels, height, width), and a bound of how likely it is."""
        n_images = image.size(0)
        viewer = view_cell = painter = paint_cell = image.new_zeros(n_images, self.hidden_dim)
        canvas = self.paper.expand_as(image)
        canvases, divergence = [], image.new_zeros(n_images)
        for _ in range(self.n_strokes):
            wrong = image - canvas.sigmoid()
            glimpse = self.look_lens(painter).look(torch.cat([image, wrong], dim=1)).flatten(1)
            viewer, view_cell = self.viewer(torch.cat([glimpse, painter], dim=1), (viewer, view_cell))
            code, surprise = self.impression(viewer)
            painter, paint_cell = self.painter(code, (painter, paint_cell))
            canvas = canvas + self.stroke(painter)
            divergence = divergence + surprise
            canvases.append(canvas)
        error = F.binary_cross_entropy_with_logits(canvas, image, reduction="none").flatten(1).sum(dim=1)
        strokes = torch.stack(canvases, dim=1).sigmoid()
        return {"strokes": strokes, "divergence": divergence, "bound": error + divergence}


class Tone(NamedTuple):
    """The mean and the deviation of each channel of some features, which a style is made of."""

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, features: Tensor, eps: float = 1e-5) -> Tone:
        """The tone of features, of which the last two axes are the place."""
        variance, mean = torch.var_mean(features, dim=(-2, -1), keepdim=True, unbiased=False)
        return cls(mean, torch.sqrt(variance + eps))

    def distance(self, other: Tone) -> Tensor:
        """The distance of two tones."""
        return F.mse_loss(self.mean, other.mean) + F.mse_loss(self.deviation, other.deviation)


class Brush(nn.Sequential):
    """A convolution that sees a reflection of the image beyond its border."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(nn.Conv2d(n_in, n_out, 3, padding=1, padding_mode="reflect"), nn.ReLU())


class PictureEncoder(nn.Module):
    """Features of pictures at several depths, each at half the size of the one before."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.colours = nn.Conv2d(3, 3, 1)
        self.entrance = Brush(3, widths[0])
        self.deeper = nn.ModuleList(
            nn.Sequential(Brush(n_in, n_in), nn.MaxPool2d(2), Brush(n_in, n_out)) for n_in, n_out in pairwise(widths)
        )

    def forward(self, picture: Tensor) -> list[Tensor]:
        """The features, the finest first."""
        levels = [self.entrance(self.colours(picture))]
        for block in self.deeper:
            levels.append(block(levels[-1]))
        return levels


class PictureDecoder(nn.Sequential):
    """A decoder of the deepest features to a picture, without norms, which would remove the style."""

    def __init__(self, widths: Sequence[int]) -> None:
        layers = list[nn.Module]()
        for n_in, n_out in pairwise(reversed(widths)):
            layers += [Brush(n_in, n_out), nn.Upsample(scale_factor=2), Brush(n_out, n_out)]
        super().__init__(*layers, nn.Conv2d(widths[0], 3, 3, padding=1, padding_mode="reflect"))


class StyleMixer(nn.Module):
    """A picture that is painted again in a mix of the styles of others."""

    def __init__(self, widths: Sequence[int] = (16, 24, 32, 48), style_weight: float = 10.0) -> None:
        super().__init__()
        self.style_weight = style_weight
        self.encoder = PictureEncoder(widths).requires_grad_(False)  # it has learned to see before
        self.decoder = PictureDecoder(widths)

    def tones(self, styles: Tensor, shares: Tensor) -> list[Tone]:
        """The tones of all depths (batch, channels, 1, 1), as means over the styles by their shares."""
        mixed = []
        for level in self.encoder(styles.flatten(0, 1)):
            mean, deviation = Tone.of(level.unflatten(0, styles.shape[:2]))
            weights = shares[..., None, None, None]
            mixed.append(Tone((weights * mean).sum(dim=1), (weights * deviation).sum(dim=1)))
        return mixed

    def repaint(self, content: Tensor, tone: Tone) -> Tensor:
        """The same features in another tone."""
        own = Tone.of(content)
        return (content - own.mean) / own.deviation * tone.deviation + tone.mean

    def forward(self, picture: Tensor, styles: Tensor, shares: Tensor, strength: float = 1.0) -> dict[str, Tensor]:
        """The new picture (batch, 3, height, width), and how far it is from the content and from the style.

        Styles are (batch, styles, 3, height, width), and their shares (batch, styles) are one in sum.
        """
        wanted = self.tones(styles, shares)
        content = self.encoder(picture)[-1]
        goal = torch.lerp(content, self.repaint(content, wanted[-1]), strength)
        painted = self.decoder(goal)
        seen = self.encoder(painted)
        content_error = F.mse_loss(seen[-1], goal)
        errors = [Tone.of(level).distance(tone) for level, tone in zip(seen, wanted, strict=True)]
        style_error = torch.stack(errors).sum()
        return {
            "picture": painted,
            "content_error": content_error,
            "style_error": style_error,
            "loss": content_error + self.style_weight * style_error,
        }


class QuestionReader(nn.Module):
    """Vectors of the words of a question, each of which knows the words before it."""

    def __init__(self, n_words: int, word_dim: int, dim: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_words, word_dim, padding_idx=0)
        self.gru = nn.GRU(word_dim, dim, batch_first=True)

    def forward(self, question: Tensor) -> Tensor:
        """Vectors (batch, words, dim)."""
        outputs, _ = self.gru(self.embed(question))
        return outputs


class LookUp(nn.Module):
    """An attention of some vectors to a memory, added to them and normed."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, n_heads, dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, memory: Tensor, absent: Tensor) -> Tensor:
        """The vectors; what is absent of the memory is not seen."""
        found, _ = self.attention(x, memory, memory, key_padding_mask=absent, need_weights=False)
        return self.norm(x + self.dropout(found))


class Ponder(nn.Module):
    """A perceptron of each vector, added to it and normed."""

    def __init__(self, dim: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(dim, ratio * dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ratio * dim, dim),
            nn.Dropout(dropout),
        )  # fmt: skip
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        """The vectors."""
        return self.norm(x + self.layers(x))


class WordLayer(nn.Module):
    """One layer of a question that thinks about itself."""

    def __init__(self, dim: int, n_heads: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.among_words = LookUp(dim, n_heads, dropout)
        self.ponder = Ponder(dim, ratio, dropout)

    def forward(self, words: Tensor, absent: Tensor) -> Tensor:
        """The words (batch, words, dim)."""
        return self.ponder(self.among_words(words, words, absent))


class RegionLayer(nn.Module):
    """One layer of an image: its regions look at one another, and then at the question."""

    def __init__(self, dim: int, n_heads: int, ratio: int, dropout: float) -> None:
        super().__init__()
        self.among_regions = LookUp(dim, n_heads, dropout)
        self.at_words = LookUp(dim, n_heads, dropout)
        self.ponder = Ponder(dim, ratio, dropout)

    def forward(self, regions: Tensor, words: Tensor, no_region: Tensor, no_word: Tensor) -> Tensor:
        """The regions (batch, regions, dim)."""
        regions = self.among_regions(regions, regions, no_region)
        return self.ponder(self.at_words(regions, words, no_word))


class Digest(nn.Module):
    """One vector of many, as a mean whose weights are learned."""

    def __init__(self, dim: int, n_out: int, dropout: float) -> None:
        super().__init__()
        self.weigh = nn.Sequential(nn.Linear(dim, dim // 2), nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim // 2, 1))
        self.to_joint = nn.Linear(dim, n_out)

    def forward(self, x: Tensor, absent: Tensor) -> Tensor:
        """The vector (batch, n_out)."""
        scores = self.weigh(x).squeeze(-1).masked_fill(absent, -math.inf)
        return self.to_joint(torch.einsum("bn,bnd->bd", scores.softmax(dim=1), x))


class ImageQuestioner(nn.Module):
    """Answers to questions about images, of which the regions with objects are known."""

    def __init__(
        self, n_words: int = 80, n_answers: int = 40, region_dim: int = 96, word_dim: int = 32, dim: int = 48,
        n_heads: int = 4, n_layers: int = 3, ratio: int = 4, joint_dim: int = 64, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.reader = QuestionReader(n_words, word_dim, dim)
        self.look = nn.Linear(region_dim, dim)
        self.where = nn.Linear(4, dim)
        self.word_layers = nn.ModuleList(WordLayer(dim, n_heads, ratio, dropout) for _ in range(n_layers))
        self.region_layers = nn.ModuleList(RegionLayer(dim, n_heads, ratio, dropout) for _ in range(n_layers))
        self.question_digest = Digest(dim, joint_dim, dropout)
        self.image_digest = Digest(dim, joint_dim, dropout)
        self.answer = nn.Sequential(nn.LayerNorm(joint_dim), nn.Linear(joint_dim, n_answers))

    def forward(self, regions: Tensor, boxes: Tensor, n_regions: Tensor, question: Tensor) -> Tensor:
        """Logits of the answers (batch, answers).

        Regions are (batch, regions, region_dim), of which so many are there; a word of number zero is none.
        """
        no_word = question == 0
        no_region = torch.arange(regions.size(1), device=regions.device) >= n_regions.unsqueeze(1)
        words = self.reader(question)
        for word_layer in self.word_layers:
            words = word_layer(words, no_word)
        objects = self.look(regions) + self.where(boxes)
        for region_layer in self.region_layers:
            objects = region_layer(objects, words, no_region, no_word)
        return self.answer(self.question_digest(words, no_word) + self.image_digest(objects, no_region))


class SpanSampler(nn.Module):
    """Features at a few points of each span of time, and a little before and after it.

    A point is the mean of some places that are close together, and a place between two times has part of both.
    """

    weights: Tensor
    possible: Tensor

    def __init__(self, n_times: int, longest: int, n_points: int, per_point: int = 3, margin: float = 0.5) -> None:
        super().__init__()
        times = torch.arange(n_times)
        lengths = torch.arange(1, longest + 1).unsqueeze(1)
        along = torch.linspace(-margin, 1 + margin, n_points * per_point)
        places = times.view(1, -1, 1) + lengths.unsqueeze(-1) * along  # of each length from each time on
        near = F.relu(1 - (places.unsqueeze(-1) - times).abs())
        weights = near.unflatten(2, (n_points, per_point)).mean(dim=3)
        possible = times + lengths <= n_times
        self.register_buffer("weights", weights * possible[..., None, None])
        self.register_buffer("possible", possible)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, channels, points, lengths, times) of a video (batch, channels, times)."""
        return torch.einsum("bct,lspt->bcpls", x, self.weights)


class TimeStep(nn.Module):
    """Features of each time from those beside it, in groups of channels."""

    def __init__(self, n_in: int, n_out: int, groups: int) -> None:
        super().__init__()
        self.convolve = nn.Conv1d(n_in, n_out, 3, padding="same", groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, n_out, times)."""
        return F.relu(self.convolve(x))


class EdgeHead(nn.Module):
    """The chance of each time that something begins or ends there."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.step = TimeStep(channels, channels, groups)
        self.to_chance = nn.Linear(channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Chances (batch, times)."""
        return torch.sigmoid(self.to_chance(self.step(x).mT).squeeze(-1))


class SpanHead(nn.Module):
    """The fit of each span to what happens in a video, by two measures."""

    def __init__(self, sampler: SpanSampler, channels: int, n_points: int, wide: int, narrow: int, depth: int) -> None:
        super().__init__()
        self.sampler = sampler
        self.before = TimeStep(channels, narrow, 1)
        self.over_points = nn.Conv3d(narrow, wide, (n_points, 1, 1))
        self.narrow = nn.Conv2d(wide, narrow, 1)
        self.over_spans = nn.ModuleList(nn.Conv2d(narrow, narrow, 3, padding=1) for _ in range(depth))
        self.to_fit = nn.Conv2d(narrow, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Both measures (batch, 2, lengths, times)."""
        spans = self.over_points(self.sampler(self.before(x))).squeeze(2)
        x = F.relu(self.narrow(F.relu(spans)))
        for convolve in self.over_spans:
            x = F.relu(convolve(x))
        return self.to_fit(x).sigmoid()


class MomentFinder(nn.Module):
    """Spans of a video in which something happens."""

    def __init__(
        self, feature_dim: int = 64, n_times: int = 32, longest: int = 16, channels: int = 48, groups: int = 4,
        n_points: int = 8, wide: int = 64, narrow: int = 24, depth: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.base = nn.Sequential(TimeStep(feature_dim, channels, groups), TimeStep(channels, channels, groups))
        self.begin, self.end = EdgeHead(channels, groups), EdgeHead(channels, groups)
        self.sampler = SpanSampler(n_times, longest, n_points)
        self.spans = SpanHead(self.sampler, channels, n_points, wide, narrow, depth)

    def scores(self, begin: Tensor, end: Tensor, fit: Tensor) -> Tensor:
        """The chance that something happens in exactly this span (batch, lengths, times)."""
        longest = fit.size(2)
        end_of = F.pad(end, (0, longest - 1)).unfold(1, longest, 1).transpose(1, 2)
        return begin.unsqueeze(1) * end_of * fit.prod(dim=1) * self.sampler.possible

    def forward(self, video: Tensor) -> dict[str, Tensor]:
        """Chances of the edges (batch, times), the fit of the spans and their scores (batch, lengths, times)."""
        x = self.base(video.transpose(1, 2))
        begin, end, fit = self.begin(x), self.end(x), self.spans(x)
        return {"begin": begin, "end": end, "fit": fit, "scores": self.scores(begin, end, fit)}


class SteepUnits(nn.Module):
    """Units of one number that can jump: their slopes are exponents, and what they give is from zero to one."""

    def __init__(self, n_units: int) -> None:
        super().__init__()
        self.log_slope = nn.Parameter(4 + 0.5 * torch.randn(n_units))
        self.threshold = nn.Parameter(torch.empty(n_units).uniform_(-1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Values (batch, units) of a number (batch, 1)."""
        return torch.clamp(self.log_slope.exp() * (x - self.threshold), 0, 1)


class NumberCurve(nn.Module):
    """The share of one number in the logits, by a net that sees nothing else."""

    def __init__(self, n_out: int, n_units: int, widths: Sequence[int], dropout: float, steep: bool) -> None:
        super().__init__()
        self.first = SteepUnits(n_units) if steep else nn.Sequential(nn.Linear(1, n_units), nn.ReLU())
        self.rest = nn.Sequential()
        for n_before, n_after in pairwise([n_units, *widths]):
            self.rest.extend([nn.Dropout(dropout), nn.Linear(n_before, n_after), nn.ReLU()])
        self.effect = nn.Linear([n_units, *widths][-1], n_out, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Effects (batch, n_out)."""
        return self.effect(self.rest(self.first(x.unsqueeze(1))))


class KindEffect(nn.Embedding):
    """The share of a kind in the logits."""

    def __init__(self, n_kinds: int, n_out: int) -> None:
        super().__init__(n_kinds, n_out)
        nn.init.normal_(self.weight, std=0.01)


class AdditiveRisk(nn.Module):
    """The risks of a person as a sum of effects, one of each column of a table, so that each can be shown."""

    usual: Tensor

    def __init__(
        self, steep: Sequence[bool], kinds: Sequence[int], n_risks: int = 2, n_units: int = 32,
        widths: Sequence[int] = (16, 16), dropout: float = 0.1, column_dropout: float = 0.05,
    ) -> None:  # fmt: skip
        super().__init__()
        self.curves = nn.ModuleList(NumberCurve(n_risks, n_units, widths, dropout, jumps) for jumps in steep)
        self.kinds = nn.ModuleList(KindEffect(n_kinds, n_risks) for n_kinds in kinds)
        self.drop_columns = nn.Dropout1d(column_dropout)
        self.base = nn.Parameter(torch.zeros(n_risks))
        self.register_buffer("usual", torch.zeros(len(steep) + len(kinds), n_risks))

    def effects(self, numbers: Tensor, kinds: Tensor) -> Tensor:
        """The share of each column (batch, columns, risks)."""
        of_numbers = [curve(column) for curve, column in zip(self.curves, numbers.unbind(dim=1), strict=True)]
        of_kinds = [effect(column) for effect, column in zip(self.kinds, kinds.unbind(dim=1), strict=True)]
        return torch.stack(of_numbers + of_kinds, dim=1)

    @torch.no_grad()
    def centre(self, numbers: Tensor, kinds: Tensor) -> None:
        """Move what is usual of each column to the base, so that an effect of zero says nothing."""
        usual = self.effects(numbers, kinds).mean(dim=0)
        self.base.add_((usual - self.usual).sum(dim=0))
        self.usual.copy_(usual)

    def forward(self, numbers: Tensor, kinds: Tensor) -> dict[str, Tensor]:
        """Logits of the risks (batch, risks), the effects they are a sum of, and how large these are."""
        effects = self.drop_columns(self.effects(numbers, kinds) - self.usual)
        return {"logits": self.base + effects.sum(dim=1), "effects": effects, "size": effects.square().mean()}


class FieldGate(nn.Module):
    """Fields of a click, each made stronger or weaker by how much it matters beside the others."""

    def __init__(self, n_fields: int, n_topics: int) -> None:
        super().__init__()
        self.to_topics = nn.Linear(2 * n_fields, n_topics)
        self.to_fields = nn.Linear(n_topics, n_fields)

    def forward(self, fields: Tensor) -> Tensor:
        """Fields (batch, fields, dim)."""
        summary = torch.cat([fields.mean(dim=-1), fields.amax(dim=-1)], dim=1)
        strength = F.relu(self.to_fields(F.relu(self.to_topics(summary))))
        return torch.einsum("bfd,bf->bfd", fields, strength)


class PairProducts(nn.Module):
    """Products of all pairs of fields, of which the first is turned by a matrix: one of all, or one of each pair."""

    first: Tensor
    second: Tensor

    def __init__(self, n_fields: int, dim: int, one_matrix: bool) -> None:
        super().__init__()
        first, second = torch.combinations(torch.arange(n_fields)).unbind(dim=1)
        self.register_buffer("first", first)
        self.register_buffer("second", second)
        self.turn = nn.Parameter(torch.randn(1 if one_matrix else len(first), dim, dim) / math.sqrt(dim))

    def forward(self, fields: Tensor) -> Tensor:
        """Products (batch, pairs, dim)."""
        turned = (fields[:, self.first].unsqueeze(2) @ self.turn).squeeze(2)
        return turned * fields[:, self.second]


class ClickForecast(nn.Module):
    """The chance that an advertisement is clicked, from pairs of what is known of it, of its page and its reader."""

    def __init__(
        self, fields: Mapping[str, int], dim: int = 16, n_topics: int = 4, one_matrix: bool = False,
        widths: Sequence[int] = (64, 32), dropout: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embed = nn.ModuleDict({name: nn.Embedding(count, dim) for name, count in fields.items()})
        self.alone = nn.ModuleDict({name: nn.Embedding(count, 1) for name, count in fields.items()})
        self.gate = FieldGate(len(fields), n_topics)
        self.plain_pairs = PairProducts(len(fields), dim, one_matrix)
        self.gated_pairs = PairProducts(len(fields), dim, one_matrix)
        n_in = 2 * len(self.plain_pairs.first) * dim
        self.deep = nn.Sequential(nn.Flatten())
        for n_before, n_after in pairwise([n_in, *widths]):
            self.deep.extend([nn.Linear(n_before, n_after), nn.BatchNorm1d(n_after), nn.ReLU(), nn.Dropout(dropout)])
        self.deep.append(nn.Linear(widths[-1], 1))

    def forward(self, click: Mapping[str, Tensor]) -> Tensor:
        """Chances (batch)."""
        fields = torch.stack([embed(click[name]) for name, embed in self.embed.items()], dim=1)
        alone = sum(effect(click[name]) for name, effect in self.alone.items())
        pairs = torch.cat([self.plain_pairs(fields), self.gated_pairs(self.gate(fields))], dim=1)
        return torch.sigmoid(self.deep(pairs) + alone).squeeze(1)


FIELDS = {"advertisement": 50, "campaign": 12, "page": 30, "reader": 80, "device": 5, "hour": 24}


def _shares() -> Tensor:
    return torch.tensor([[0.7, 0.3], [0.2, 0.8]])


def _questions() -> Tensor:
    return torch.randint(1, 80, (2, 9)).masked_fill(torch.arange(9) >= torch.tensor([[9], [6]]), 0)


NETS = [
    Entry("own/draw_rnn", PatientPainter, given(lambda: torch.rand(2, 1, 28, 28))),
    Entry(
        "own/adain_style",
        StyleMixer,
        given(lambda: torch.rand(2, 3, 64, 64), lambda: torch.rand(2, 2, 3, 64, 64), _shares),
    ),
    Entry(
        "own/mcan",
        ImageQuestioner,
        given(numbers(2, 10, 96), lambda: torch.rand(2, 10, 4), whole(10, 7), _questions),
    ),
    Entry("own/bmn", MomentFinder, given(numbers(2, 32, 64))),
    Entry(
        "own/neural_additive",
        lambda: AdditiveRisk([True, False, False, True], [3, 6]),
        given(numbers(5, 4), lambda: torch.randint(0, 3, (5, 2))),
    ),
    Entry(
        "own/fibinet",
        lambda: ClickForecast(FIELDS),
        given(lambda: {name: torch.randint(0, count, (4,)) for name, count in FIELDS.items()}),
    ),
]
