"""Nets of images as repositories write them, of the ninth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(359)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_359_sequences.py`; `pixelcnn`, which a test of
proofs has, gives way to the next.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from argparse import Namespace
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole

TOPICS = (
    "superpoint nvae zero_dce protopnet fcos rife darts monodepth2",
    "tabnet egnn painn decision_transformer diffpool eegnet timesnet",
)


def simple_nms(scores: Tensor, nms_radius: int) -> Tensor:
    """Scores that are the largest of what is near them; all others are zero."""
    assert nms_radius >= 0

    def max_pool(x: Tensor) -> Tensor:
        return F.max_pool2d(x, kernel_size=nms_radius * 2 + 1, stride=1, padding=nms_radius)

    zeros = torch.zeros_like(scores)
    max_mask = scores == max_pool(scores)
    for _ in range(2):
        supp_mask = max_pool(max_mask.float()) > 0
        supp_scores = torch.where(supp_mask, zeros, scores)
        new_max_mask = supp_scores == max_pool(supp_scores)
        max_mask = max_mask | (new_max_mask & (~supp_mask))
    return torch.where(max_mask, scores, zeros)


def remove_borders(keypoints: Tensor, scores: Tensor, border: int, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Points that are not too near an edge, and their scores."""
    mask_h = (keypoints[:, 0] >= border) & (keypoints[:, 0] < (height - border))
    mask_w = (keypoints[:, 1] >= border) & (keypoints[:, 1] < (width - border))
    mask = mask_h & mask_w
    return keypoints[mask], scores[mask]


def top_k_keypoints(keypoints: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The best points, and their scores."""
    if k >= len(keypoints):
        return keypoints, scores
    scores, indices = torch.topk(scores, k, dim=0)
    return keypoints[indices], scores


def sample_descriptors(keypoints: Tensor, descriptors: Tensor, s: int = 8) -> Tensor:
    """Vectors at points, from vectors of cells."""
    b, c, h, w = descriptors.shape
    keypoints = keypoints - s / 2 + 0.5
    keypoints /= torch.tensor([(w * s - s / 2 - 0.5), (h * s - s / 2 - 0.5)]).to(keypoints)[None]
    keypoints = keypoints * 2 - 1  # normalize to (-1, 1)
    descriptors = F.grid_sample(descriptors, keypoints.view(b, 1, -1, 2), mode="bilinear", align_corners=True)
    return F.normalize(descriptors.reshape(b, c, -1), p=2, dim=1)


class SuperPoint(nn.Module):
    """Points of interest in an image and a vector of each, by one encoder and two heads."""

    default_config: ClassVar[dict[str, Any]] = {
        "descriptor_dim": 64,
        "nms_radius": 4,
        "keypoint_threshold": 0.005,
        "max_keypoints": -1,
        "remove_borders": 4,
    }

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = {**self.default_config, **config}
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        c1, c2, c3, c4, c5 = 16, 16, 32, 32, 64

        self.conv1a = nn.Conv2d(1, c1, kernel_size=3, stride=1, padding=1)
        self.conv1b = nn.Conv2d(c1, c1, kernel_size=3, stride=1, padding=1)
        self.conv2a = nn.Conv2d(c1, c2, kernel_size=3, stride=1, padding=1)
        self.conv2b = nn.Conv2d(c2, c2, kernel_size=3, stride=1, padding=1)
        self.conv3a = nn.Conv2d(c2, c3, kernel_size=3, stride=1, padding=1)
        self.conv3b = nn.Conv2d(c3, c3, kernel_size=3, stride=1, padding=1)
        self.conv4a = nn.Conv2d(c3, c4, kernel_size=3, stride=1, padding=1)
        self.conv4b = nn.Conv2d(c4, c4, kernel_size=3, stride=1, padding=1)

        self.convPa = nn.Conv2d(c4, c5, kernel_size=3, stride=1, padding=1)
        self.convPb = nn.Conv2d(c5, 65, kernel_size=1, stride=1, padding=0)

        self.convDa = nn.Conv2d(c4, c5, kernel_size=3, stride=1, padding=1)
        self.convDb = nn.Conv2d(c5, self.config["descriptor_dim"], kernel_size=1, stride=1, padding=0)

        mk = self.config["max_keypoints"]
        if mk == 0 or mk < -1:
            raise ValueError('"max_keypoints" must be positive or "-1"')

    def forward(self, data: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """Points, scores and vectors of each image."""
        # shared encoder
        x = self.relu(self.conv1a(data["image"]))
        x = self.relu(self.conv1b(x))
        x = self.pool(x)
        x = self.relu(self.conv2a(x))
        x = self.relu(self.conv2b(x))
        x = self.pool(x)
        x = self.relu(self.conv3a(x))
        x = self.relu(self.conv3b(x))
        x = self.pool(x)
        x = self.relu(self.conv4a(x))
        x = self.relu(self.conv4b(x))

        # the dense keypoint scores
        cPa = self.relu(self.convPa(x))  # noqa: N806 - its name in the repository
        scores = self.convPb(cPa)
        scores = F.softmax(scores, 1)[:, :-1]
        b, _, h, w = scores.shape
        scores = scores.permute(0, 2, 3, 1).reshape(b, h, w, 8, 8)
        scores = scores.permute(0, 1, 3, 2, 4).reshape(b, h * 8, w * 8)
        scores = simple_nms(scores, self.config["nms_radius"])

        keypoints: Any = [torch.nonzero(s > self.config["keypoint_threshold"]) for s in scores]
        scores = [s[tuple(k.t())] for s, k in zip(scores, keypoints, strict=True)]
        keypoints, scores = zip(
            *[
                remove_borders(k, s, self.config["remove_borders"], h * 8, w * 8)
                for k, s in zip(keypoints, scores, strict=True)
            ],
            strict=True,
        )
        if self.config["max_keypoints"] >= 0:
            keypoints, scores = zip(
                *[top_k_keypoints(k, s, self.config["max_keypoints"]) for k, s in zip(keypoints, scores, strict=True)],
                strict=True,
            )
        # (h, w) to (x, y)
        keypoints = [torch.flip(k, [1]).float() for k in keypoints]

        # the dense descriptors
        cDa = self.relu(self.convDa(x))  # noqa: N806 - its name in the repository
        descriptors = self.convDb(cDa)
        descriptors = F.normalize(descriptors, p=2, dim=1)
        descriptors = [sample_descriptors(k[None], d[None], 8)[0] for k, d in zip(keypoints, descriptors, strict=True)]
        return {"keypoints": keypoints, "scores": list(scores), "descriptors": descriptors}


def soft_clamp5(x: Tensor) -> Tensor:
    """A value between -5 and 5, softly."""
    return x.div(5.0).tanh_().mul(5.0)


class SwishFN(torch.autograd.Function):
    """Swish that keeps only what came in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """The activated features."""
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """The gradient."""
        (x,) = ctx.saved_tensors
        sig = torch.sigmoid(x)
        return grads[0] * (sig * (1 + x * (1 - sig)))


class SwishAct(nn.Module):
    """Swish as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        """The activated features."""
        return SwishFN.apply(x)  # type: ignore[no-untyped-call]


class Normal:
    """A normal distribution whose mean and logarithm of the deviation are clamped softly."""

    def __init__(self, mu: Tensor, log_sigma: Tensor, temp: float = 1.0) -> None:
        self.mu = soft_clamp5(mu)
        self.sigma = torch.exp(soft_clamp5(log_sigma)) + 1e-2
        if temp != 1.0:
            self.sigma *= temp

    def sample(self) -> tuple[Tensor, Tensor]:
        """A sample, and the noise of which it was made."""
        eps = self.mu.mul(0).normal_()
        return eps.mul_(self.sigma).add_(self.mu), eps

    def log_p(self, samples: Tensor) -> Tensor:
        """How likely samples are."""
        normalized_samples = (samples - self.mu) / self.sigma
        return -0.5 * normalized_samples * normalized_samples - 0.5 * np.log(2 * np.pi) - torch.log(self.sigma)

    def kl(self, normal_dist: Normal) -> Tensor:
        """How far this is from another."""
        term1 = (self.mu - normal_dist.mu) / normal_dist.sigma
        term2 = self.sigma / normal_dist.sigma
        return 0.5 * (term1 * term1 + term2 * term2) - 0.5 - torch.log(term2)


class Conv2DWN(nn.Conv2d):
    """A convolution whose weight is normed, with the logarithm of the norm as parameter."""

    def __init__(
        self, C_in: int, C_out: int, kernel_size: int, stride: int = 1, padding: int = 0,  # noqa: N803
        groups: int = 1, bias: bool = True, weight_norm: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(C_in, C_out, kernel_size, stride, padding, 1, groups, bias)
        self.log_weight_norm: nn.Parameter | None = None
        if weight_norm:
            init = self.weight.data.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
            self.log_weight_norm = nn.Parameter(torch.log(init + 1e-2))

    def normalize_weight(self) -> Tensor:
        """The normed weight."""
        if self.log_weight_norm is None:
            return self.weight
        wn = torch.sqrt(torch.sum(self.weight * self.weight, dim=[1, 2, 3], keepdim=True))
        return torch.exp(self.log_weight_norm) * self.weight / (wn + 1e-5)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Features."""
        self.weight_normalized = self.normalize_weight()
        bias = self.bias
        return F.conv2d(input, self.weight_normalized, bias, self.stride, self.padding, self.dilation, self.groups)


class BNSwishConv(nn.Module):
    """A norm, Swish and a convolution."""

    def __init__(self, C_in: int, C_out: int, kernel_size: int, stride: int, padding: int) -> None:  # noqa: N803
        super().__init__()
        self.upsample = stride == -1
        stride = abs(stride)
        self.bn_act = nn.Sequential(nn.BatchNorm2d(C_in, eps=1e-5, momentum=0.05), SwishAct())
        self.conv_0 = Conv2DWN(C_in, C_out, kernel_size, stride, padding)

    def forward(self, x: Tensor) -> Tensor:
        """Features, twice as large or half as large where asked."""
        out = self.bn_act(x)
        if self.upsample:
            out = F.interpolate(out, scale_factor=2, mode="nearest")
        return self.conv_0(out)


class FactorizedReduce(nn.Module):
    """Four convolutions with a stride of two, each shifted by one."""

    def __init__(self, C_in: int, C_out: int) -> None:  # noqa: N803
        super().__init__()
        assert C_out % 4 == 0
        self.swish = SwishAct()
        self.conv_1 = Conv2DWN(C_in, C_out // 4, 1, stride=2)
        self.conv_2 = Conv2DWN(C_in, C_out // 4, 1, stride=2)
        self.conv_3 = Conv2DWN(C_in, C_out // 4, 1, stride=2)
        self.conv_4 = Conv2DWN(C_in, C_out - 3 * (C_out // 4), 1, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Features, half as large."""
        out = self.swish(x)
        conv1 = self.conv_1(out)
        conv2 = self.conv_2(out[:, :, 1:, 1:])
        conv3 = self.conv_3(out[:, :, :, 1:])
        conv4 = self.conv_4(out[:, :, 1:, :])
        return torch.cat([conv1, conv2, conv3, conv4], dim=1)


class UpSampleSkip(nn.Module):
    """A convolution after bilinear interpolation."""

    def __init__(self, C_in: int, C_out: int) -> None:  # noqa: N803
        super().__init__()
        self.conv = Conv2DWN(C_in, C_out, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features, twice as large."""
        return self.conv(F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True))


class ChannelSE(nn.Module):
    """A weight of each channel, from the means of all."""

    def __init__(self, C_in: int, C_out: int) -> None:  # noqa: N803
        super().__init__()
        num_hidden = max(C_out // 16, 4)
        self.se = nn.Sequential(
            nn.Linear(C_in, num_hidden), nn.ReLU(inplace=True), nn.Linear(num_hidden, C_out), nn.Sigmoid()
        )

    def forward(self, x: Tensor) -> Tensor:
        """The weighted features."""
        se = torch.mean(x, dim=[2, 3])
        se = se.view(se.size(0), -1)
        se = self.se(se)
        se = se.view(se.size(0), -1, 1, 1)
        return x * se


class InvertedResidual(nn.Module):
    """More channels, a depthwise convolution, fewer channels."""

    def __init__(self, C_in: int, C_out: int, stride: int, ex: int, k: int = 5) -> None:  # noqa: N803
        super().__init__()
        self.stride, hidden_dim = stride, round(C_in * ex)
        layers0: list[nn.Module] = [nn.UpsamplingNearest2d(scale_factor=2)] if stride == -1 else []
        layers = [
            nn.BatchNorm2d(C_in, momentum=0.05),
            Conv2DWN(C_in, hidden_dim, 1, bias=False, weight_norm=False),
            nn.BatchNorm2d(hidden_dim, momentum=0.05),
            SwishAct(),
            Conv2DWN(hidden_dim, hidden_dim, k, abs(stride), k // 2, hidden_dim, bias=False, weight_norm=False),
            nn.BatchNorm2d(hidden_dim, momentum=0.05),
            SwishAct(),
            Conv2DWN(hidden_dim, C_out, 1, bias=False, weight_norm=False),
            nn.BatchNorm2d(C_out, momentum=0.05),
        ]
        layers0.extend(layers)
        self.conv = nn.Sequential(*layers0)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.conv(x)


OPS: dict[str, Callable[[int, int, int], nn.Module]] = {
    "res_bnswish": lambda Cin, Cout, stride: BNSwishConv(Cin, Cout, 3, stride, 1),  # noqa: N803
    "mconv_e6k5g0": lambda Cin, Cout, stride: InvertedResidual(Cin, Cout, stride, ex=3),  # noqa: N803
}


def get_skip_connection(C: int, stride: int, channel_mult: int) -> nn.Module:  # noqa: N803
    """What goes beside a cell."""
    if stride == 1:
        return nn.Identity()
    if stride == 2:
        return FactorizedReduce(C, int(channel_mult * C))
    if stride == -1:
        return UpSampleSkip(C, int(C / channel_mult))
    raise ValueError(f"stride {stride}")


class NVAECell(nn.Module):
    """Operations of a kind, and what came in beside them."""

    def __init__(self, Cin: int, Cout: int, cell_type: str, arch: Sequence[str], use_se: bool) -> None:  # noqa: N803
        super().__init__()
        self.cell_type = cell_type
        stride = {"down": 2, "up": -1}.get(cell_type.split("_")[0], 1)
        self.skip, self.use_se, self._num_nodes = get_skip_connection(Cin, stride, 2), use_se, len(arch)
        self._ops = nn.ModuleList()
        for i in range(self._num_nodes):
            C = Cin if i == 0 else Cout  # noqa: N806
            self._ops.append(OPS[arch[i]](C, Cout, stride if i == 0 else 1))
        if self.use_se:
            self.se = ChannelSE(Cout, Cout)

    def forward(self, s: Tensor) -> Tensor:
        """Features."""
        skip = self.skip(s)
        for i in range(self._num_nodes):
            s = self._ops[i](s)
        s = self.se(s) if self.use_se else s
        return skip + 0.1 * s


class EncCombinerCell(nn.Module):
    """Features of the encoder and of the decoder, added."""

    def __init__(self, Cin1: int, Cin2: int, Cout: int, cell_type: str) -> None:  # noqa: N803
        super().__init__()
        self.cell_type = cell_type
        self.conv = Conv2DWN(Cin2, Cout, kernel_size=1)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The sum."""
        x2 = self.conv(x2)
        return x1 + x2


class DecCombinerCell(nn.Module):
    """Features of the decoder and a sample, joined."""

    def __init__(self, Cin1: int, Cin2: int, Cout: int, cell_type: str) -> None:  # noqa: N803
        super().__init__()
        self.cell_type = cell_type
        self.conv = Conv2DWN(Cin1 + Cin2, Cout, kernel_size=1)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The joined features."""
        out = torch.cat([x1, x2], dim=1)
        return self.conv(out)


class AutoEncoder(nn.Module):
    """An image and how likely it is, by groups of samples at several scales, each given those before it."""

    def __init__(self, args: Namespace) -> None:
        super().__init__()
        self.use_se, self.res_dist = args.use_se, args.res_dist
        self.num_latent_scales, self.groups_per_scale = args.num_latent_scales, args.groups_per_scale
        self.num_latent_per_group, self.num_bits = args.num_latent_per_group, args.num_x_bits
        self.num_cell_per_cond_enc, self.num_cell_per_cond_dec = args.num_cell_per_cond_enc, args.num_cell_per_cond_dec
        self.num_channels_enc, self.num_channels_dec = args.num_channels_enc, args.num_channels_dec
        self.stem = Conv2DWN(3, self.num_channels_enc, 3, padding=1, bias=True)
        self.pre_process, mult = self.init_pre_process(args.num_preprocess_cells, 1)
        self.enc_tower, mult = self.init_encoder_tower(mult)
        size = args.size // 2**self.num_latent_scales
        self.prior_ftr0 = nn.Parameter(torch.rand(int(mult * self.num_channels_dec), size, size))
        self.enc0 = nn.Sequential(
            nn.ELU(), Conv2DWN(self.num_channels_enc * mult, self.num_channels_enc * mult, kernel_size=1), nn.ELU()
        )
        self.enc_sampler, self.dec_sampler = self.init_normal_sampler(mult)
        self.dec_tower, mult = self.init_decoder_tower(mult)
        self.post_process, mult = self.init_post_process(args.num_postprocess_cells, mult)
        C_out = 3 * 2  # noqa: N806 - a mean and a scale of each channel
        self.image_conditional = nn.Sequential(
            nn.ELU(), Conv2DWN(int(self.num_channels_dec * mult), C_out, 3, padding=1, bias=True)
        )

    def init_pre_process(self, cells: int, mult: int) -> tuple[nn.ModuleList, int]:
        """Cells before the first scale; the last one halves the size."""
        pre_process = nn.ModuleList()
        for c in range(cells):
            num_ci = self.num_channels_enc * mult
            if c == cells - 1:
                pre_process.append(NVAECell(num_ci, 2 * num_ci, "down_pre", ("res_bnswish",) * 2, self.use_se))
                mult *= 2
            else:
                pre_process.append(NVAECell(num_ci, num_ci, "normal_pre", ("res_bnswish",) * 2, self.use_se))
        return pre_process, mult

    def init_encoder_tower(self, mult: int) -> tuple[nn.ModuleList, int]:
        """Cells and combiners, from the largest scale to the smallest."""
        enc_tower = nn.ModuleList()
        for s in range(self.num_latent_scales):
            for g in range(self.groups_per_scale[s]):
                num_ce = self.num_channels_enc * mult
                for _ in range(self.num_cell_per_cond_enc):
                    enc_tower.append(NVAECell(num_ce, num_ce, "normal_enc", ("res_bnswish",) * 2, self.use_se))
                if not (s == self.num_latent_scales - 1 and g == self.groups_per_scale[s] - 1):
                    num_cd = self.num_channels_dec * mult
                    enc_tower.append(EncCombinerCell(num_ce, num_cd, num_ce, cell_type="combiner_enc"))
            if s < self.num_latent_scales - 1:
                num_ci = self.num_channels_enc * mult
                enc_tower.append(NVAECell(num_ci, 2 * num_ci, "down_enc", ("res_bnswish",) * 2, self.use_se))
                mult *= 2
        return enc_tower, mult

    def init_normal_sampler(self, mult: int) -> tuple[nn.ModuleList, nn.ModuleList]:
        """What gives means and deviations, of the encoder and of the decoder; the first prior is standard."""
        enc_sampler, dec_sampler = nn.ModuleList(), nn.ModuleList()
        for s in range(self.num_latent_scales):
            for g in range(self.groups_per_scale[self.num_latent_scales - s - 1]):
                num_c = self.num_channels_enc * mult
                enc_sampler.append(Conv2DWN(num_c, 2 * self.num_latent_per_group, kernel_size=3, padding=1))
                if not (s == 0 and g == 0):
                    num_c = self.num_channels_dec * mult
                    cell = Conv2DWN(num_c, 2 * self.num_latent_per_group, kernel_size=1)
                    dec_sampler.append(nn.Sequential(nn.ELU(), cell))
            mult = mult // 2
        return enc_sampler, dec_sampler

    def init_decoder_tower(self, mult: int) -> tuple[nn.ModuleList, int]:
        """Cells and combiners, from the smallest scale to the largest."""
        dec_tower, arch = nn.ModuleList(), ("mconv_e6k5g0",)
        for s in range(self.num_latent_scales):
            for g in range(self.groups_per_scale[self.num_latent_scales - s - 1]):
                num_c = self.num_channels_dec * mult
                if not (s == 0 and g == 0):
                    for _ in range(self.num_cell_per_cond_dec):
                        dec_tower.append(NVAECell(num_c, num_c, "normal_dec", arch, self.use_se))
                dec_tower.append(DecCombinerCell(num_c, self.num_latent_per_group, num_c, cell_type="combiner_dec"))
            if s < self.num_latent_scales - 1:
                num_ci = self.num_channels_dec * mult
                dec_tower.append(NVAECell(num_ci, num_ci // 2, "up_dec", arch, self.use_se))
                mult = mult // 2
        return dec_tower, mult

    def init_post_process(self, cells: int, mult: int) -> tuple[nn.ModuleList, int]:
        """Cells after the last scale; the first one doubles the size."""
        post_process, arch = nn.ModuleList(), ("mconv_e6k5g0",)
        for c in range(cells):
            num_ci = self.num_channels_dec * mult
            if c == 0:
                post_process.append(NVAECell(num_ci, num_ci // 2, "up_post", arch, self.use_se))
                mult //= 2
            else:
                post_process.append(NVAECell(num_ci, num_ci, "normal_post", arch, self.use_se))
        return post_process, mult

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, list[Tensor], list[Tensor]]:
        """Parameters of the image's distribution, likelihoods, and how far the samples are from the prior."""
        s = self.stem(2 * x - 1.0)
        for cell in self.pre_process:
            s = cell(s)

        combiner_cells_enc, combiner_cells_s = [], []
        for cell in self.enc_tower:
            if cell.cell_type == "combiner_enc":
                combiner_cells_enc.append(cell)
                combiner_cells_s.append(s)
            else:
                s = cell(s)
        combiner_cells_enc.reverse()
        combiner_cells_s.reverse()

        idx_dec = 0
        ftr = self.enc0(s)
        param0 = self.enc_sampler[idx_dec](ftr)
        mu_q, log_sig_q = torch.chunk(param0, 2, dim=1)
        dist = Normal(mu_q, log_sig_q)
        z, _ = dist.sample()
        all_q, all_log_q = [dist], [dist.log_p(z)]

        dist = Normal(mu=torch.zeros_like(z), log_sigma=torch.zeros_like(z))
        all_p, all_log_p = [dist], [dist.log_p(z)]

        s = self.prior_ftr0.unsqueeze(0)
        batch_size = z.size(0)
        s = s.expand(batch_size, -1, -1, -1)
        for cell in self.dec_tower:
            if cell.cell_type == "combiner_dec":
                if idx_dec > 0:
                    # the prior
                    param = self.dec_sampler[idx_dec - 1](s)
                    mu_p, log_sig_p = torch.chunk(param, 2, dim=1)
                    # the posterior
                    ftr = combiner_cells_enc[idx_dec - 1](combiner_cells_s[idx_dec - 1], s)
                    param = self.enc_sampler[idx_dec](ftr)
                    mu_q, log_sig_q = torch.chunk(param, 2, dim=1)
                    res = self.res_dist
                    dist = Normal(mu_p + mu_q, log_sig_p + log_sig_q) if res else Normal(mu_q, log_sig_q)
                    z, _ = dist.sample()
                    all_log_q.append(dist.log_p(z))
                    all_q.append(dist)
                    dist = Normal(mu_p, log_sig_p)
                    all_p.append(dist)
                    all_log_p.append(dist.log_p(z))
                s = cell(s, z)
                idx_dec += 1
            else:
                s = cell(s)

        for cell in self.post_process:
            s = cell(s)
        logits = self.image_conditional(s)

        kl_all, kl_diag = [], []
        log_p: Tensor | float = 0.0
        log_q: Tensor | float = 0.0
        for q, p, log_q_conv, log_p_conv in zip(all_q, all_p, all_log_q, all_log_p, strict=True):
            kl_per_var = q.kl(p)
            kl_diag.append(torch.mean(torch.sum(kl_per_var, dim=[2, 3]), dim=0))
            kl_all.append(torch.sum(kl_per_var, dim=[1, 2, 3]))
            log_q = log_q + torch.sum(log_q_conv, dim=[1, 2, 3])
            log_p = log_p + torch.sum(log_p_conv, dim=[1, 2, 3])
        return logits, torch.as_tensor(log_q), torch.as_tensor(log_p), kl_all, kl_diag


NVAE_ARGS = Namespace(
    **{"use_se": True, "res_dist": True, "num_latent_scales": 2, "groups_per_scale": [2, 1], "num_x_bits": 8},
    **{"num_latent_per_group": 4, "num_cell_per_cond_enc": 1, "num_cell_per_cond_dec": 1, "size": 32},
    **{"num_channels_enc": 8, "num_channels_dec": 8, "num_preprocess_cells": 2, "num_postprocess_cells": 2},
)


class CSDN_Tem(nn.Module):  # noqa: N801 - its name in the repository
    """A depthwise convolution and one of points."""

    def __init__(self, in_ch: int, out_ch: int) -> None:
        super().__init__()
        self.depth_conv = nn.Conv2d(in_ch, in_ch, kernel_size=3, stride=1, padding=1, groups=in_ch)
        self.point_conv = nn.Conv2d(in_ch, out_ch, kernel_size=1, stride=1, padding=0, groups=1)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Features."""
        out = self.depth_conv(input)
        return self.point_conv(out)


class enhance_net_nopool(nn.Module):  # noqa: N801 - its name in the repository
    """A brighter image, by a curve of each pixel that is applied eight times."""

    def __init__(self, scale_factor: int) -> None:
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.scale_factor = scale_factor
        self.upsample = nn.UpsamplingBilinear2d(scale_factor=self.scale_factor)
        number_f = 16
        self.e_conv1 = CSDN_Tem(3, number_f)
        self.e_conv2 = CSDN_Tem(number_f, number_f)
        self.e_conv3 = CSDN_Tem(number_f, number_f)
        self.e_conv4 = CSDN_Tem(number_f, number_f)
        self.e_conv5 = CSDN_Tem(number_f * 2, number_f)
        self.e_conv6 = CSDN_Tem(number_f * 2, number_f)
        self.e_conv7 = CSDN_Tem(number_f * 2, 3)

    def enhance(self, x: Tensor, x_r: Tensor) -> Tensor:
        """The image after the curve was applied eight times."""
        x = x + x_r * (torch.pow(x, 2) - x)
        x = x + x_r * (torch.pow(x, 2) - x)
        x = x + x_r * (torch.pow(x, 2) - x)
        enhance_image_1 = x + x_r * (torch.pow(x, 2) - x)
        x = enhance_image_1 + x_r * (torch.pow(enhance_image_1, 2) - enhance_image_1)
        x = x + x_r * (torch.pow(x, 2) - x)
        x = x + x_r * (torch.pow(x, 2) - x)
        return x + x_r * (torch.pow(x, 2) - x)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The brighter image, and the curve."""
        x_down = x if self.scale_factor == 1 else F.interpolate(x, scale_factor=1 / self.scale_factor, mode="bilinear")
        x1 = self.relu(self.e_conv1(x_down))
        x2 = self.relu(self.e_conv2(x1))
        x3 = self.relu(self.e_conv3(x2))
        x4 = self.relu(self.e_conv4(x3))
        x5 = self.relu(self.e_conv5(torch.cat([x3, x4], 1)))
        x6 = self.relu(self.e_conv6(torch.cat([x2, x5], 1)))
        x_r = torch.tanh(self.e_conv7(torch.cat([x1, x6], 1)))
        if self.scale_factor != 1:
            x_r = self.upsample(x_r)
        return self.enhance(x, x_r), x_r


class L_color(nn.Module):  # noqa: N801 - its name in the repository
    """How far the means of the colours are from one another."""

    def forward(self, x: Tensor) -> Tensor:
        """The loss."""
        mean_rgb = torch.mean(x, [2, 3], keepdim=True)
        mr, mg, mb = torch.split(mean_rgb, 1, dim=1)
        Drg = torch.pow(mr - mg, 2)  # noqa: N806
        Drb = torch.pow(mr - mb, 2)  # noqa: N806
        Dgb = torch.pow(mb - mg, 2)  # noqa: N806
        return torch.pow(torch.pow(Drg, 2) + torch.pow(Drb, 2) + torch.pow(Dgb, 2), 0.5)


class L_spa(nn.Module):  # noqa: N801 - its name in the repository
    """How far differences of neighbours are from those in the dark image."""

    def __init__(self) -> None:
        super().__init__()
        kernel_left = torch.tensor([[0, 0, 0], [-1, 1, 0], [0, 0, 0]]).float()[None, None]
        kernel_right = torch.tensor([[0, 0, 0], [0, 1, -1], [0, 0, 0]]).float()[None, None]
        kernel_up = torch.tensor([[0, -1, 0], [0, 1, 0], [0, 0, 0]]).float()[None, None]
        kernel_down = torch.tensor([[0, 0, 0], [0, 1, 0], [0, -1, 0]]).float()[None, None]
        self.weight_left = nn.Parameter(data=kernel_left, requires_grad=False)
        self.weight_right = nn.Parameter(data=kernel_right, requires_grad=False)
        self.weight_up = nn.Parameter(data=kernel_up, requires_grad=False)
        self.weight_down = nn.Parameter(data=kernel_down, requires_grad=False)
        self.pool = nn.AvgPool2d(4)

    def forward(self, org: Tensor, enhance: Tensor) -> Tensor:
        """The loss of each place."""
        org_mean = torch.mean(org, 1, keepdim=True)
        enhance_mean = torch.mean(enhance, 1, keepdim=True)
        org_pool, enhance_pool = self.pool(org_mean), self.pool(enhance_mean)
        D_org_left = F.conv2d(org_pool, self.weight_left, padding=1)  # noqa: N806
        D_org_right = F.conv2d(org_pool, self.weight_right, padding=1)  # noqa: N806
        D_org_up = F.conv2d(org_pool, self.weight_up, padding=1)  # noqa: N806
        D_org_down = F.conv2d(org_pool, self.weight_down, padding=1)  # noqa: N806
        D_enhance_left = F.conv2d(enhance_pool, self.weight_left, padding=1)  # noqa: N806
        D_enhance_right = F.conv2d(enhance_pool, self.weight_right, padding=1)  # noqa: N806
        D_enhance_up = F.conv2d(enhance_pool, self.weight_up, padding=1)  # noqa: N806
        D_enhance_down = F.conv2d(enhance_pool, self.weight_down, padding=1)  # noqa: N806
        D_left = torch.pow(D_org_left - D_enhance_left, 2)  # noqa: N806
        D_right = torch.pow(D_org_right - D_enhance_right, 2)  # noqa: N806
        D_up = torch.pow(D_org_up - D_enhance_up, 2)  # noqa: N806
        D_down = torch.pow(D_org_down - D_enhance_down, 2)  # noqa: N806
        return D_left + D_right + D_up + D_down


class L_exp(nn.Module):  # noqa: N801 - its name in the repository
    """How far the light of patches is from what is wished for."""

    def __init__(self, patch_size: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(patch_size)

    def forward(self, x: Tensor, mean_val: float) -> Tensor:
        """The loss."""
        x = torch.mean(x, 1, keepdim=True)
        mean = self.pool(x)
        return torch.mean(torch.pow(mean - torch.FloatTensor([mean_val]), 2))


class L_TV(nn.Module):  # noqa: N801 - its name in the repository
    """How rough a curve is."""

    def __init__(self, TVLoss_weight: int = 1) -> None:  # noqa: N803
        super().__init__()
        self.TVLoss_weight = TVLoss_weight

    def forward(self, x: Tensor) -> Tensor:
        """The loss."""
        batch_size, _, h_x, w_x = x.size()
        count_h, count_w = (h_x - 1) * w_x, h_x * (w_x - 1)
        h_tv = torch.pow((x[:, :, 1:, :] - x[:, :, : h_x - 1, :]), 2).sum()
        w_tv = torch.pow((x[:, :, :, 1:] - x[:, :, :, : w_x - 1]), 2).sum()
        return self.TVLoss_weight * 2 * (h_tv / count_h + w_tv / count_w) / batch_size


class ZeroDCE(nn.Module):
    """The net and its losses, which need no bright image."""

    def __init__(self, scale_factor: int = 2, exposure: float = 0.6) -> None:
        super().__init__()
        self.DCE_net, self.E = enhance_net_nopool(scale_factor), exposure
        self.L_color, self.L_spa, self.L_exp, self.L_TV = L_color(), L_spa(), L_exp(16), L_TV()

    def forward(self, img_lowlight: Tensor) -> tuple[Tensor, Tensor]:
        """The brighter image, and the loss."""
        enhanced_image, A = self.DCE_net(img_lowlight)  # noqa: N806
        loss_tv = 1600 * self.L_TV(A)
        loss_spa = torch.mean(self.L_spa(enhanced_image, img_lowlight))
        loss_col = 5 * torch.mean(self.L_color(enhanced_image))
        loss_exp = 10 * torch.mean(self.L_exp(enhanced_image, self.E))
        return enhanced_image, loss_tv + loss_spa + loss_col + loss_exp


class ProtoBasicBlock(nn.Module):
    """Two convolutions and what came in."""

    expansion = 1
    num_layers = 2

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(planes), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2, self.downsample, self.stride = nn.BatchNorm2d(planes), downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        # the residual connection
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)

    def block_conv_info(self) -> tuple[list[int], list[int], list[int]]:
        """Sizes of kernels, strides and paddings."""
        return [3, 3], [self.stride, 1], [1, 1]


class ResNet_features(nn.Module):  # noqa: N801 - its name in the repository
    """The convolutional layers of a ResNet, which know what each has seen of the image."""

    def __init__(self, block: type[ProtoBasicBlock], layers: Sequence[int], width: int = 8) -> None:
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.kernel_sizes, self.strides, self.paddings = [7, 3], [2, 2], [3, 1]
        self.block, self.layers = block, layers
        self.layer1 = self._make_layer(block, width, self.layers[0])
        self.layer2 = self._make_layer(block, width * 2, self.layers[1], stride=2)
        self.layer3 = self._make_layer(block, width * 4, self.layers[2], stride=2)
        self.layer4 = self._make_layer(block, width * 8, self.layers[3], stride=2)

    def _make_layer(self, block: type[ProtoBasicBlock], planes: int, num_blocks: int, stride: int = 1) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes) for _ in range(1, num_blocks)]
        for each_block in layers:
            for own, new in zip(
                (self.kernel_sizes, self.strides, self.paddings), each_block.block_conv_info(), strict=True
            ):
                own.extend(new)
        return nn.Sequential(*layers)

    def conv_info(self) -> tuple[list[int], list[int], list[int]]:
        """Sizes of kernels, strides and paddings."""
        return self.kernel_sizes, self.strides, self.paddings

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.maxpool(x)
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        return self.layer4(x)


def compute_proto_layer_rf_info(
    img_size: int, layer_filter_sizes: list[int], layer_strides: list[int], layer_paddings: list[int]
) -> list[float]:
    """How many places there are, how far apart, and how much of the image each has seen."""
    n, j, r, start = float(img_size), 1.0, 1.0, 0.5
    for k, s, p in zip(layer_filter_sizes, layer_strides, layer_paddings, strict=True):
        n_out = math.floor((n - k + 2 * p) / s) + 1
        pad = (n_out - 1) * s - n + k
        r, start = r + (k - 1) * j, start + ((k - 1) / 2 - math.floor(pad / 2)) * j
        n, j = float(n_out), j * s
    return [n, j, r, start]


class PPNet(nn.Module):
    """Scores of birds, from how near parts of the image are to prototypes of each kind."""

    ones: Tensor

    def __init__(
        self, features: ResNet_features, img_size: int, prototype_shape: tuple[int, int, int, int],
        num_classes: int, prototype_activation_function: str | Callable[[Tensor], Tensor] = "log",
        add_on_layers_type: str = "bottleneck",
    ) -> None:  # fmt: skip
        super().__init__()
        self.img_size, self.prototype_shape, self.num_classes = img_size, prototype_shape, num_classes
        self.num_prototypes, self.epsilon = prototype_shape[0], 1e-4
        self.prototype_activation_function = prototype_activation_function
        assert self.num_prototypes % self.num_classes == 0
        # a onehot indication matrix for each prototype's class identity
        self.prototype_class_identity = torch.zeros(self.num_prototypes, self.num_classes)
        num_prototypes_per_class = self.num_prototypes // self.num_classes
        for j in range(self.num_prototypes):
            self.prototype_class_identity[j, j // num_prototypes_per_class] = 1
        self.proto_layer_rf_info = compute_proto_layer_rf_info(img_size, *features.conv_info())
        self.features = features  # this has to be named features to allow the precise loading
        first_add_on_layer_in_channels = [i for i in features.modules() if isinstance(i, nn.Conv2d)][-1].out_channels
        if add_on_layers_type == "bottleneck":
            add_on_layers: list[nn.Module] = []
            current_in_channels = first_add_on_layer_in_channels
            while (current_in_channels > self.prototype_shape[1]) or (len(add_on_layers) == 0):
                current_out_channels = max(self.prototype_shape[1], (current_in_channels // 2))
                add_on_layers.append(nn.Conv2d(current_in_channels, current_out_channels, kernel_size=1))
                add_on_layers.append(nn.ReLU())
                add_on_layers.append(nn.Conv2d(current_out_channels, current_out_channels, kernel_size=1))
                if current_out_channels > self.prototype_shape[1]:
                    add_on_layers.append(nn.ReLU())
                else:
                    assert current_out_channels == self.prototype_shape[1]
                    add_on_layers.append(nn.Sigmoid())
                current_in_channels = current_in_channels // 2
            self.add_on_layers = nn.Sequential(*add_on_layers)
        else:
            self.add_on_layers = nn.Sequential(
                nn.Conv2d(first_add_on_layer_in_channels, self.prototype_shape[1], kernel_size=1),
                nn.ReLU(),
                nn.Conv2d(self.prototype_shape[1], self.prototype_shape[1], kernel_size=1),
                nn.Sigmoid(),
            )
        self.prototype_vectors = nn.Parameter(torch.rand(self.prototype_shape), requires_grad=True)
        self.ones = nn.Parameter(torch.ones(self.prototype_shape), requires_grad=False)
        self.last_layer = nn.Linear(self.num_prototypes, self.num_classes, bias=False)
        self.set_last_layer_incorrect_connection(incorrect_strength=-0.5)

    def set_last_layer_incorrect_connection(self, incorrect_strength: float) -> None:
        """Each prototype speaks for its kind and against all others."""
        positive = torch.t(self.prototype_class_identity)
        negative = 1 - positive
        self.last_layer.weight.data.copy_(1 * positive + incorrect_strength * negative)

    def conv_features(self, x: Tensor) -> Tensor:
        """The feature input to the prototype layer."""
        x = self.features(x)
        return self.add_on_layers(x)

    def _l2_convolution(self, x: Tensor) -> Tensor:
        x2 = x**2
        x2_patch_sum = F.conv2d(input=x2, weight=self.ones)
        p2 = self.prototype_vectors**2
        p2 = torch.sum(p2, dim=(1, 2, 3))
        p2_reshape = p2.view(-1, 1, 1)
        xp = F.conv2d(input=x, weight=self.prototype_vectors)
        intermediate_result = -2 * xp + p2_reshape  # use broadcast
        return F.relu(x2_patch_sum + intermediate_result)

    def prototype_distances(self, x: Tensor) -> Tensor:
        """How far each place is from each prototype."""
        conv_features = self.conv_features(x)
        return self._l2_convolution(conv_features)

    def distance_2_similarity(self, distances: Tensor) -> Tensor:
        """How near they are."""
        if self.prototype_activation_function == "log":
            return torch.log((distances + 1) / (distances + self.epsilon))
        if self.prototype_activation_function == "linear":
            return -distances
        assert callable(self.prototype_activation_function)
        return self.prototype_activation_function(distances)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scores, and the distance of the nearest place to each prototype."""
        distances = self.prototype_distances(x)
        # global min pooling
        min_distances = -F.max_pool2d(-distances, kernel_size=(distances.size()[2], distances.size()[3]))
        min_distances = min_distances.view(-1, self.num_prototypes)
        prototype_activations = self.distance_2_similarity(min_distances)
        logits = self.last_layer(prototype_activations)
        return logits, min_distances


class Bottleneck(nn.Module):
    """A block of a ResNet with a narrow middle."""

    def __init__(self, in_channels: int, bottleneck_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        self.downsample = None
        if in_channels != out_channels or stride != 1:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )
        self.conv1, self.bn1 = (
            nn.Conv2d(in_channels, bottleneck_channels, 1, bias=False),
            nn.BatchNorm2d(bottleneck_channels),
        )
        self.conv2 = nn.Conv2d(bottleneck_channels, bottleneck_channels, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(bottleneck_channels)
        self.conv3 = nn.Conv2d(bottleneck_channels, out_channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        identity = x
        out = F.relu_(self.bn1(self.conv1(x)))
        out = F.relu_(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return F.relu_(out)


class ResNetBody(nn.Module):
    """Features of three strides."""

    def __init__(self, cfg: SimpleNamespace) -> None:
        super().__init__()
        width = cfg.STEM_OUT_CHANNELS
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        in_channels, self.stages = width, list[str]()
        for index, (block_count, return_features) in enumerate(cfg.STAGES, 1):
            name, out_channels = "layer" + str(index), 2 * width * 2 ** (index - 1)
            blocks = []
            for i in range(block_count):
                stride = 2 if i == 0 and index > 1 else 1
                blocks.append(Bottleneck(in_channels, out_channels // 4, out_channels, stride))
                in_channels = out_channels
            self.add_module(name, nn.Sequential(*blocks))
            self.stages.append(name)
            setattr(self, name + "_returned", return_features)

    def forward(self, x: Tensor) -> list[Tensor]:
        """The features, from large to small."""
        outputs = []
        x = self.stem(x)
        for stage_name in self.stages:
            x = getattr(self, stage_name)(x)
            if getattr(self, stage_name + "_returned"):
                outputs.append(x)
        return outputs


class LastLevelP6P7(nn.Module):
    """Two levels more, each half as large."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        self.use_P5 = in_channels == out_channels

    def forward(self, c5: Tensor, p5: Tensor) -> list[Tensor]:
        """The levels."""
        x = p5 if self.use_P5 else c5
        p6 = self.p6(x)
        p7 = self.p7(F.relu(p6))
        return [p6, p7]


class FPN(nn.Module):
    """A pyramid of features, from the smallest to the largest."""

    def __init__(self, in_channels_list: Sequence[int], out_channels: int, top_blocks: nn.Module | None = None) -> None:
        super().__init__()
        self.inner_blocks: list[str] = []
        self.layer_blocks: list[str] = []
        for idx, in_channels in enumerate(in_channels_list, 1):
            inner_block, layer_block = f"fpn_inner{idx}", f"fpn_layer{idx}"
            self.add_module(inner_block, nn.Conv2d(in_channels, out_channels, 1))
            self.add_module(layer_block, nn.Conv2d(out_channels, out_channels, 3, 1, 1))
            self.inner_blocks.append(inner_block)
            self.layer_blocks.append(layer_block)
        self.top_blocks = top_blocks

    def forward(self, x: list[Tensor]) -> tuple[Tensor, ...]:
        """The levels, from large to small."""
        last_inner = getattr(self, self.inner_blocks[-1])(x[-1])
        results = [getattr(self, self.layer_blocks[-1])(last_inner)]
        for feature, inner_block, layer_block in zip(
            x[:-1][::-1], self.inner_blocks[:-1][::-1], self.layer_blocks[:-1][::-1], strict=True
        ):
            inner_lateral = getattr(self, inner_block)(feature)
            inner_top_down = F.interpolate(last_inner, size=tuple(inner_lateral.shape[-2:]), mode="nearest")
            last_inner = inner_lateral + inner_top_down
            results.insert(0, getattr(self, layer_block)(last_inner))
        if self.top_blocks is not None:
            results.extend(self.top_blocks(x[-1], results[-1]))
        return tuple(results)


class Scale(nn.Module):
    """A number that is learned."""

    def __init__(self, init_value: float = 1.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.FloatTensor([init_value]))

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The product."""
        return input * self.scale


class FCOSHead(nn.Module):
    """Kinds, boxes and centres at each place, by two towers that all levels share."""

    def __init__(self, cfg: SimpleNamespace, in_channels: int) -> None:
        super().__init__()
        num_classes = cfg.NUM_CLASSES - 1
        self.fpn_strides, self.norm_reg_targets = cfg.FPN_STRIDES, cfg.NORM_REG_TARGETS
        self.centerness_on_reg = cfg.CENTERNESS_ON_REG
        cls_tower, bbox_tower = nn.Sequential(), nn.Sequential()
        for _ in range(cfg.NUM_CONVS):
            for tower in (cls_tower, bbox_tower):
                tower.append(nn.Conv2d(in_channels, in_channels, kernel_size=3, stride=1, padding=1, bias=True))
                tower.append(nn.GroupNorm(8, in_channels))
                tower.append(nn.ReLU())
        self.cls_tower, self.bbox_tower = cls_tower, bbox_tower
        self.cls_logits = nn.Conv2d(in_channels, num_classes, kernel_size=3, stride=1, padding=1)
        self.bbox_pred = nn.Conv2d(in_channels, 4, kernel_size=3, stride=1, padding=1)
        self.centerness = nn.Conv2d(in_channels, 1, kernel_size=3, stride=1, padding=1)
        for modules in [self.cls_tower, self.bbox_tower, self.cls_logits, self.bbox_pred, self.centerness]:
            for m in modules.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.normal_(m.weight, std=0.01)
                    assert m.bias is not None
                    nn.init.constant_(m.bias, 0)
        assert self.cls_logits.bias is not None
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - cfg.PRIOR_PROB) / cfg.PRIOR_PROB))
        self.scales = nn.ModuleList([Scale(init_value=1.0) for _ in range(5)])

    def forward(self, x: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """The three, of each level."""
        logits, bbox_reg, centerness = [], [], []
        for level, feature in enumerate(x):
            cls_tower = self.cls_tower(feature)
            box_tower = self.bbox_tower(feature)
            logits.append(self.cls_logits(cls_tower))
            if self.centerness_on_reg:
                centerness.append(self.centerness(box_tower))
            else:
                centerness.append(self.centerness(cls_tower))
            bbox_pred = self.scales[level](self.bbox_pred(box_tower))
            if self.norm_reg_targets:
                bbox_pred = F.relu(bbox_pred)
                bbox_reg.append(bbox_pred if self.training else bbox_pred * self.fpn_strides[level])
            else:
                bbox_reg.append(torch.exp(bbox_pred))
        return logits, bbox_reg, centerness


class FCOSPostProcessor(nn.Module):
    """The best boxes of all levels, of each image."""

    def __init__(self, pre_nms_thresh: float, pre_nms_top_n: int, fpn_post_nms_top_n: int) -> None:
        super().__init__()
        self.pre_nms_thresh, self.pre_nms_top_n = pre_nms_thresh, pre_nms_top_n
        self.fpn_post_nms_top_n = fpn_post_nms_top_n

    def forward_for_single_feature_map(
        self, locations: Tensor, box_cls: Tensor, box_regression: Tensor, centerness: Tensor
    ) -> list[dict[str, Tensor]]:
        """Boxes of a level."""
        N, C, H, W = box_cls.shape  # noqa: N806
        box_cls = box_cls.view(N, C, H, W).permute(0, 2, 3, 1)
        box_cls = box_cls.reshape(N, -1, C).sigmoid()
        box_regression = box_regression.view(N, 4, H, W).permute(0, 2, 3, 1)
        box_regression = box_regression.reshape(N, -1, 4)
        centerness = centerness.view(N, 1, H, W).permute(0, 2, 3, 1)
        centerness = centerness.reshape(N, -1).sigmoid()
        # multiply the classification scores with centerness scores
        box_cls = box_cls * centerness[:, :, None]
        results = []
        for i in range(N):
            per_box_cls, top_k_indices = box_cls[i].flatten().topk(min(self.pre_nms_top_n, H * W * C))
            per_box_loc, per_class = top_k_indices // C, top_k_indices % C + 1
            per_box_regression, per_locations = box_regression[i][per_box_loc], locations[per_box_loc]
            detections = torch.stack(
                [
                    per_locations[:, 0] - per_box_regression[:, 0],
                    per_locations[:, 1] - per_box_regression[:, 1],
                    per_locations[:, 0] + per_box_regression[:, 2],
                    per_locations[:, 1] + per_box_regression[:, 3],
                ],
                dim=1,
            )
            results.append({"boxes": detections, "labels": per_class, "scores": torch.sqrt(per_box_cls)})
        return results

    def forward(
        self, locations: list[Tensor], box_cls: list[Tensor], box_regression: list[Tensor], centerness: list[Tensor]
    ) -> list[dict[str, Tensor]]:
        """Boxes of each image."""
        sampled_boxes = [
            self.forward_for_single_feature_map(*args)
            for args in zip(locations, box_cls, box_regression, centerness, strict=True)
        ]
        boxlists = []
        for of_image in zip(*sampled_boxes, strict=True):
            result = {key: torch.cat([one[key] for one in of_image]) for key in ("boxes", "labels", "scores")}
            keep = result["scores"].topk(min(self.fpn_post_nms_top_n, len(result["scores"]))).indices
            boxlists.append({key: value[keep] for key, value in result.items()})
        return boxlists


class FCOSModule(nn.Module):
    """A head and what makes boxes of it; without anchors."""

    def __init__(self, cfg: SimpleNamespace, in_channels: int) -> None:
        super().__init__()
        self.head = FCOSHead(cfg, in_channels)
        self.box_selector_test = FCOSPostProcessor(cfg.INFERENCE_TH, cfg.PRE_NMS_TOP_N, cfg.DETECTIONS_PER_IMG)
        self.fpn_strides = cfg.FPN_STRIDES

    def forward(self, features: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        """Boxes of each image."""
        box_cls, box_regression, centerness = self.head(features)
        locations = self.compute_locations(features)
        return self.box_selector_test(locations, box_cls, box_regression, centerness)

    def compute_locations(self, features: Sequence[Tensor]) -> list[Tensor]:
        """Where in the image the places of each level are."""
        locations = []
        for level, feature in enumerate(features):
            h, w = feature.size()[-2:]
            locations.append(self.compute_locations_per_level(h, w, self.fpn_strides[level]))
        return locations

    def compute_locations_per_level(self, h: int, w: int, stride: int) -> Tensor:
        """Where the places of one level are."""
        shifts_x = torch.arange(0, w * stride, step=stride, dtype=torch.float32)
        shifts_y = torch.arange(0, h * stride, step=stride, dtype=torch.float32)
        shift_y, shift_x = torch.meshgrid(shifts_y, shifts_x, indexing="ij")
        shift_x, shift_y = shift_x.reshape(-1), shift_y.reshape(-1)
        return torch.stack((shift_x, shift_y), dim=1) + stride // 2


class GeneralizedRCNN(nn.Module):
    """A backbone, and the head of an architecture of detectors."""

    def __init__(self, cfg: SimpleNamespace) -> None:
        super().__init__()
        width, out_channels = cfg.STEM_OUT_CHANNELS, cfg.BACKBONE_OUT_CHANNELS
        body = ResNetBody(cfg)
        fpn = FPN([4 * width, 8 * width, 16 * width], out_channels, LastLevelP6P7(out_channels, out_channels))
        self.backbone = nn.Sequential(OrderedDict([("body", body), ("fpn", fpn)]))
        self.rpn = FCOSModule(cfg, out_channels)
        self.pixel_mean = torch.tensor(cfg.PIXEL_MEAN).view(-1, 1, 1)
        self.size_divisible = cfg.SIZE_DIVISIBILITY

    def to_image_list(self, tensors: Sequence[Tensor]) -> Tensor:
        """Images of several sizes in one tensor, with zeros beside the smaller ones."""
        max_size = [max(s) for s in zip(*[img.shape for img in tensors], strict=True)]
        max_size[1:] = [math.ceil(size / self.size_divisible) * self.size_divisible for size in max_size[1:]]
        batched_imgs = tensors[0].new_zeros(len(tensors), *max_size)
        for img, pad_img in zip(tensors, batched_imgs, strict=True):
            pad_img[: img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
        return batched_imgs

    def forward(self, images: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        """Boxes of each image."""
        batched = self.to_image_list([image - self.pixel_mean for image in images])
        features = self.backbone(batched)
        return self.rpn(features)


FCOS_CFG = SimpleNamespace(
    **{"STEM_OUT_CHANNELS": 8, "STAGES": ((1, False), (2, True), (2, True), (1, True)), "BACKBONE_OUT_CHANNELS": 32},
    **{"NUM_CLASSES": 21, "NUM_CONVS": 4, "FPN_STRIDES": [8, 16, 32, 64, 128], "NORM_REG_TARGETS": True},
    **{"CENTERNESS_ON_REG": True, "PRIOR_PROB": 0.01, "INFERENCE_TH": 0.05, "PRE_NMS_TOP_N": 50},
    **{"DETECTIONS_PER_IMG": 20, "PIXEL_MEAN": (0.4, 0.45, 0.48), "SIZE_DIVISIBILITY": 32},
)


backwarp_tenGrid: dict[str, Tensor] = {}  # noqa: N816 - its name in the repository


def warp(tenInput: Tensor, tenFlow: Tensor) -> Tensor:  # noqa: N803
    """An image whose pixels are moved along a flow."""
    k = str(tenFlow.device) + str(tenFlow.size())
    if k not in backwarp_tenGrid:
        b, _, h, w = tenFlow.shape
        tenHorizontal = torch.linspace(-1.0, 1.0, w).view(1, 1, 1, w).expand(b, -1, h, -1)  # noqa: N806
        tenVertical = torch.linspace(-1.0, 1.0, h).view(1, 1, h, 1).expand(b, -1, -1, w)  # noqa: N806
        backwarp_tenGrid[k] = torch.cat([tenHorizontal, tenVertical], 1)
    tenFlow = torch.cat(  # noqa: N806
        [
            tenFlow[:, 0:1, :, :] / ((tenInput.shape[3] - 1.0) / 2.0),
            tenFlow[:, 1:2, :, :] / ((tenInput.shape[2] - 1.0) / 2.0),
        ],
        1,
    )
    g = (backwarp_tenGrid[k] + tenFlow).permute(0, 2, 3, 1)
    return F.grid_sample(input=tenInput, grid=g, mode="bilinear", padding_mode="border", align_corners=True)


def conv(in_planes: int, out_planes: int, kernel_size: int = 3, stride: int = 1, padding: int = 1) -> nn.Sequential:
    """A convolution and PReLU."""
    return nn.Sequential(nn.Conv2d(in_planes, out_planes, kernel_size, stride, padding), nn.PReLU(out_planes))


def deconv(in_planes: int, out_planes: int) -> nn.Sequential:
    """A transposed convolution and PReLU."""
    return nn.Sequential(nn.ConvTranspose2d(in_planes, out_planes, 4, 2, 1), nn.PReLU(out_planes))


class IFBlock(nn.Module):
    """A flow and a mask, or what is added to them, at a scale."""

    def __init__(self, in_planes: int, c: int = 16) -> None:
        super().__init__()
        self.conv0 = nn.Sequential(conv(in_planes, c // 2, 3, 2, 1), conv(c // 2, c, 3, 2, 1))
        self.convblock = nn.Sequential(conv(c, c), conv(c, c), conv(c, c), conv(c, c))
        self.lastconv = nn.ConvTranspose2d(c, 5, 4, 2, 1)

    def forward(self, x: Tensor, flow: Tensor | None, scale: int) -> tuple[Tensor, Tensor]:
        """The flow and the mask."""
        if scale != 1:
            x = F.interpolate(x, scale_factor=1.0 / scale, mode="bilinear", align_corners=False)
        if flow is not None:
            flow = F.interpolate(flow, scale_factor=1.0 / scale, mode="bilinear", align_corners=False) * 1.0 / scale
            x = torch.cat((x, flow), 1)
        x = self.conv0(x)
        x = self.convblock(x) + x
        tmp = self.lastconv(x)
        tmp = F.interpolate(tmp, scale_factor=scale * 2, mode="bilinear", align_corners=False)
        flow = tmp[:, :4] * scale * 2
        mask = tmp[:, 4:5]
        return flow, mask


class Conv2(nn.Module):
    """Two convolutions, the first of which halves the size."""

    def __init__(self, in_planes: int, out_planes: int, stride: int = 2) -> None:
        super().__init__()
        self.conv1 = conv(in_planes, out_planes, 3, stride, 1)
        self.conv2 = conv(out_planes, out_planes, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.conv2(self.conv1(x))


class Contextnet(nn.Module):
    """Features of an image at four scales, each moved along the flow."""

    def __init__(self, c: int = 4) -> None:
        super().__init__()
        self.conv1, self.conv2 = Conv2(3, c), Conv2(c, 2 * c)
        self.conv3, self.conv4 = Conv2(2 * c, 4 * c), Conv2(4 * c, 8 * c)

    def forward(self, x: Tensor, flow: Tensor) -> list[Tensor]:
        """The features."""
        x = self.conv1(x)
        flow = F.interpolate(flow, scale_factor=0.5, mode="bilinear", align_corners=False) * 0.5
        f1 = warp(x, flow)
        x = self.conv2(x)
        flow = F.interpolate(flow, scale_factor=0.5, mode="bilinear", align_corners=False) * 0.5
        f2 = warp(x, flow)
        x = self.conv3(x)
        flow = F.interpolate(flow, scale_factor=0.5, mode="bilinear", align_corners=False) * 0.5
        f3 = warp(x, flow)
        x = self.conv4(x)
        flow = F.interpolate(flow, scale_factor=0.5, mode="bilinear", align_corners=False) * 0.5
        f4 = warp(x, flow)
        return [f1, f2, f3, f4]


class Unet(nn.Module):
    """What is added to the frame between, from both images and their features."""

    def __init__(self, c: int = 4) -> None:
        super().__init__()
        self.down0 = Conv2(17, 2 * c)
        self.down1 = Conv2(4 * c, 4 * c)
        self.down2 = Conv2(8 * c, 8 * c)
        self.down3 = Conv2(16 * c, 16 * c)
        self.up0 = deconv(32 * c, 8 * c)
        self.up1 = deconv(16 * c, 4 * c)
        self.up2 = deconv(8 * c, 2 * c)
        self.up3 = deconv(4 * c, c)
        self.conv = nn.Conv2d(c, 3, 3, 1, 1)

    def forward(
        self, img0: Tensor, img1: Tensor, warped_img0: Tensor, warped_img1: Tensor, mask: Tensor, flow: Tensor,
        c0: list[Tensor], c1: list[Tensor],
    ) -> Tensor:  # fmt: skip
        """The addition, between 0 and 1."""
        s0 = self.down0(torch.cat((img0, img1, warped_img0, warped_img1, mask, flow), 1))
        s1 = self.down1(torch.cat((s0, c0[0], c1[0]), 1))
        s2 = self.down2(torch.cat((s1, c0[1], c1[1]), 1))
        s3 = self.down3(torch.cat((s2, c0[2], c1[2]), 1))
        x = self.up0(torch.cat((s3, c0[3], c1[3]), 1))
        x = self.up1(torch.cat((x, s2), 1))
        x = self.up2(torch.cat((x, s1), 1))
        x = self.up3(torch.cat((x, s0), 1))
        x = self.conv(x)
        return torch.sigmoid(x)


class IFNet(nn.Module):
    """The frame between two images, by flows that three blocks refine; a fourth block sees it and teaches."""

    def __init__(self) -> None:
        super().__init__()
        self.block0 = IFBlock(6, c=24)
        self.block1 = IFBlock(13 + 4, c=16)
        self.block2 = IFBlock(13 + 4, c=12)
        self.block_tea = IFBlock(16 + 4, c=12)
        self.contextnet = Contextnet()
        self.unet = Unet()

    def forward(
        self, x: Tensor, scale: Sequence[int] = (4, 2, 1)
    ) -> tuple[list[Tensor], Tensor, list[Tensor], Tensor | None, Tensor | None, Tensor | float]:
        """Flows, the last mask, the frame after each block, what the teacher makes of it, and how far it is."""
        img0 = x[:, :3]
        img1 = x[:, 3:6]
        gt = x[:, 6:]  # In inference time, gt is None
        flow_list, merged, mask_list = [], [], []
        warped_img0, warped_img1 = img0, img1
        flow: Any = None
        mask: Any = None
        loss_distill: Tensor | float = 0
        stu = [self.block0, self.block1, self.block2]
        for i in range(3):
            if flow is not None:
                flow_d, mask_d = stu[i](torch.cat((img0, img1, warped_img0, warped_img1, mask), 1), flow, scale[i])
                flow = flow + flow_d
                mask = mask + mask_d
            else:
                flow, mask = stu[i](torch.cat((img0, img1), 1), None, scale[i])
            mask_list.append(torch.sigmoid(mask))
            flow_list.append(flow)
            warped_img0 = warp(img0, flow[:, :2])
            warped_img1 = warp(img1, flow[:, 2:4])
            merged.append((warped_img0, warped_img1))
        flow_teacher: Any = None
        merged_teacher: Any = None
        if gt.shape[1] == 3:
            flow_d, mask_d = self.block_tea(
                torch.cat((img0, img1, warped_img0, warped_img1, mask, gt), 1), flow, scale=1
            )
            flow_teacher = flow + flow_d
            warped_img0_teacher = warp(img0, flow_teacher[:, :2])
            warped_img1_teacher = warp(img1, flow_teacher[:, 2:4])
            mask_teacher = torch.sigmoid(mask + mask_d)
            merged_teacher = warped_img0_teacher * mask_teacher + warped_img1_teacher * (1 - mask_teacher)
        out = []
        for i in range(3):
            merged_i = merged[i][0] * mask_list[i] + merged[i][1] * (1 - mask_list[i])
            out.append(merged_i)
            if gt.shape[1] == 3:
                loss_mask = (merged_i - gt).abs().mean(1, True) > (merged_teacher - gt).abs().mean(1, True) + 0.01
                loss_mask = loss_mask.float().detach()
                distance = ((flow_teacher.detach() - flow_list[i]) ** 2).mean(1, True) ** 0.5
                loss_distill = loss_distill + (distance * loss_mask).mean()
        c0 = self.contextnet(img0, flow[:, :2])
        c1 = self.contextnet(img1, flow[:, 2:4])
        tmp = self.unet(img0, img1, warped_img0, warped_img1, mask, flow, c0, c1)
        res = tmp[:, :3] * 2 - 1
        out[2] = torch.clamp(out[2] + res, 0, 1)
        return flow_list, mask_list[2], out, flow_teacher, merged_teacher, loss_distill


class ReLUConvBN(nn.Module):
    """ReLU, a convolution and a norm."""

    def __init__(self, C_in: int, C_out: int, kernel_size: int, stride: int, padding: int) -> None:  # noqa: N803
        super().__init__()
        self.op = nn.Sequential(
            nn.ReLU(inplace=False),
            nn.Conv2d(C_in, C_out, kernel_size, stride=stride, padding=padding, bias=False),
            nn.BatchNorm2d(C_out, affine=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.op(x)


class DilConv(nn.Module):
    """A separable convolution with gaps."""

    def __init__(self, C: int, kernel_size: int, stride: int, padding: int, dilation: int) -> None:  # noqa: N803
        super().__init__()
        self.op = nn.Sequential(
            nn.ReLU(inplace=False),
            nn.Conv2d(C, C, kernel_size, stride, padding, dilation=dilation, groups=C, bias=False),
            nn.Conv2d(C, C, kernel_size=1, padding=0, bias=False),
            nn.BatchNorm2d(C, affine=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.op(x)


class SepConv(nn.Module):
    """Two separable convolutions."""

    def __init__(self, C: int, kernel_size: int, stride: int, padding: int) -> None:  # noqa: N803
        super().__init__()
        self.op = nn.Sequential(
            nn.ReLU(inplace=False),
            nn.Conv2d(C, C, kernel_size=kernel_size, stride=stride, padding=padding, groups=C, bias=False),
            nn.Conv2d(C, C, kernel_size=1, padding=0, bias=False),
            nn.BatchNorm2d(C, affine=False),
            nn.ReLU(inplace=False),
            nn.Conv2d(C, C, kernel_size=kernel_size, stride=1, padding=padding, groups=C, bias=False),
            nn.Conv2d(C, C, kernel_size=1, padding=0, bias=False),
            nn.BatchNorm2d(C, affine=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.op(x)


class Zero(nn.Module):
    """Nothing."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Zeros."""
        if self.stride == 1:
            return x.mul(0.0)
        return x[:, :, :: self.stride, :: self.stride].mul(0.0)


class HalvingReduce(nn.Module):
    """Two convolutions with a stride of two, the second shifted by one."""

    def __init__(self, C_in: int, C_out: int) -> None:  # noqa: N803
        super().__init__()
        assert C_out % 2 == 0
        self.relu = nn.ReLU(inplace=False)
        self.conv_1 = nn.Conv2d(C_in, C_out // 2, 1, stride=2, padding=0, bias=False)
        self.conv_2 = nn.Conv2d(C_in, C_out // 2, 1, stride=2, padding=0, bias=False)
        self.bn = nn.BatchNorm2d(C_out, affine=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features, half as large."""
        x = self.relu(x)
        out = torch.cat([self.conv_1(x), self.conv_2(x[:, :, 1:, 1:])], dim=1)
        return self.bn(out)


DartsGenotype = namedtuple("DartsGenotype", "normal normal_concat reduce reduce_concat")

PRIMITIVES: dict[str, Callable[[int, int], nn.Module]] = {
    "none": lambda _, stride: Zero(stride),
    "max_pool_3x3": lambda C, stride: nn.MaxPool2d(3, stride=stride, padding=1),  # noqa: N803
    "avg_pool_3x3": lambda C, stride: nn.AvgPool2d(3, stride, 1, count_include_pad=False),  # noqa: N803
    "skip_connect": lambda C, stride: nn.Identity() if stride == 1 else HalvingReduce(C, C),  # noqa: N803
    "sep_conv_3x3": lambda C, stride: SepConv(C, 3, stride, 1),  # noqa: N803
    "sep_conv_5x5": lambda C, stride: SepConv(C, 5, stride, 2),  # noqa: N803
    "dil_conv_3x3": lambda C, stride: DilConv(C, 3, stride, 2, 2),  # noqa: N803
    "dil_conv_5x5": lambda C, stride: DilConv(C, 5, stride, 4, 2),  # noqa: N803
}


class MixedOp(nn.Module):
    """All operations that an edge may become, by weights."""

    def __init__(self, C: int, stride: int) -> None:  # noqa: N803
        super().__init__()
        self._ops = nn.ModuleList()
        for primitive, make in PRIMITIVES.items():
            op = make(C, stride)
            if "pool" in primitive:
                op = nn.Sequential(op, nn.BatchNorm2d(C, affine=False))
            self._ops.append(op)

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        """Their sum."""
        out: Any = sum(w * op(x) for w, op in zip(weights, self._ops, strict=True))
        return out


class SearchCell(nn.Module):
    """Nodes, each of which has an edge from both inputs and from all nodes before it."""

    def __init__(
        self, steps: int, multiplier: int, C_prev_prev: int, C_prev: int, C: int,  # noqa: N803
        reduction: bool, reduction_prev: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.reduction = reduction
        self.preprocess0: nn.Module
        if reduction_prev:
            self.preprocess0 = HalvingReduce(C_prev_prev, C)
        else:
            self.preprocess0 = ReLUConvBN(C_prev_prev, C, 1, 1, 0)
        self.preprocess1 = ReLUConvBN(C_prev, C, 1, 1, 0)
        self._steps, self._multiplier = steps, multiplier
        self._ops = nn.ModuleList()
        for i in range(self._steps):
            self._ops.extend(MixedOp(C, stride=2 if reduction and j < 2 else 1) for j in range(2 + i))

    def forward(self, s0: Tensor, s1: Tensor, weights: Tensor) -> Tensor:
        """The last nodes, joined."""
        s0 = self.preprocess0(s0)
        s1 = self.preprocess1(s1)
        states = [s0, s1]
        offset = 0
        for _ in range(self._steps):
            s: Any = sum(self._ops[offset + j](h, weights[offset + j]) for j, h in enumerate(states))
            offset += len(states)
            states.append(s)
        return torch.cat(states[-self._multiplier :], dim=1)


class DartsNetwork(nn.Module):
    """Scores of small images, by cells whose edges are searched; both kinds of cells have weights of their own."""

    def __init__(
        self, C: int, num_classes: int, layers: int, steps: int = 4, multiplier: int = 4,  # noqa: N803
        stem_multiplier: int = 3,
    ) -> None:  # fmt: skip
        super().__init__()
        self._C, self._layers, self._steps, self._multiplier = C, layers, steps, multiplier
        self._criterion = nn.CrossEntropyLoss()
        C_curr = stem_multiplier * C  # noqa: N806
        self.stem = nn.Sequential(nn.Conv2d(3, C_curr, 3, padding=1, bias=False), nn.BatchNorm2d(C_curr))
        C_prev_prev, C_prev, C_curr = C_curr, C_curr, C  # noqa: N806
        self.cells = nn.ModuleList()
        reduction_prev = False
        for i in range(layers):
            if i in [layers // 3, 2 * layers // 3]:
                C_curr *= 2  # noqa: N806
                reduction = True
            else:
                reduction = False
            self.cells += [SearchCell(steps, multiplier, C_prev_prev, C_prev, C_curr, reduction, reduction_prev)]
            reduction_prev = reduction
            C_prev_prev, C_prev = C_prev, multiplier * C_curr  # noqa: N806
        self.global_pooling = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(C_prev, num_classes)
        self._initialize_alphas()

    def _initialize_alphas(self) -> None:
        k = sum(2 + i for i in range(self._steps))
        self.alphas_normal = nn.Parameter(1e-3 * torch.randn(k, len(PRIMITIVES)))
        self.alphas_reduce = nn.Parameter(1e-3 * torch.randn(k, len(PRIMITIVES)))

    def genotype(self) -> DartsGenotype:
        """The two strongest edges into each node."""

        def _parse(weights: Tensor) -> list[tuple[str, int]]:
            gene, n, start, names = [], 2, 0, [*PRIMITIVES]
            for _ in range(self._steps):
                W = weights[start : start + n, 1:]  # noqa: N806
                chosen = W.max(dim=1).values.topk(2).indices.tolist()
                gene += [(names[1 + int(W[j].argmax())], j) for j in chosen]
                start, n = start + n, n + 1
            return gene

        concat = range(2 + self._steps - self._multiplier, self._steps + 2)
        gene_normal = _parse(F.softmax(self.alphas_normal, dim=-1).data)
        gene_reduce = _parse(F.softmax(self.alphas_reduce, dim=-1).data)
        return DartsGenotype(normal=gene_normal, normal_concat=concat, reduce=gene_reduce, reduce_concat=concat)

    def forward(self, input: Tensor, target: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:  # noqa: A002
        """Scores, and the loss where the kinds are known."""
        s0 = s1 = self.stem(input)
        for cell in self.cells:
            weights = F.softmax(self.alphas_reduce if cell.reduction else self.alphas_normal, dim=-1)
            s0, s1 = s1, cell(s0, s1, weights)
        out = self.global_pooling(s1)
        logits = self.classifier(out.view(out.size(0), -1))
        if target is None:
            return logits
        return logits, self._criterion(logits, target)


class DepthBasicBlock(nn.Module):
    """Two convolutions and what came in."""

    def __init__(self, inplanes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(planes), nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + identity)


class ResNetMultiImageInput(nn.Module):
    """A ResNet for several images that are stacked."""

    def __init__(self, layers: Sequence[int], num_ch_enc: Sequence[int], num_input_images: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(num_input_images * 3, num_ch_enc[0], kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(num_ch_enc[0]), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.inplanes = num_ch_enc[0]
        self.layer1 = self._make_layer(num_ch_enc[1], layers[0])
        self.layer2 = self._make_layer(num_ch_enc[2], layers[1], stride=2)
        self.layer3 = self._make_layer(num_ch_enc[3], layers[2], stride=2)
        self.layer4 = self._make_layer(num_ch_enc[4], layers[3], stride=2)
        self.fc = nn.Linear(self.inplanes, 1000)

    def _make_layer(self, planes: int, blocks: int, stride: int = 1) -> nn.Sequential:
        first = DepthBasicBlock(self.inplanes, planes, stride)
        self.inplanes = planes
        return nn.Sequential(first, *[DepthBasicBlock(planes, planes) for _ in range(1, blocks)])


class ResnetEncoder(nn.Module):
    """Features of five sizes."""

    def __init__(self, num_layers: int, num_input_images: int = 1) -> None:
        super().__init__()
        self.num_ch_enc = np.array([8, 8, 16, 32, 64])
        blocks = {18: [2, 2, 2, 2], 34: [3, 4, 6, 3]}[num_layers]
        self.encoder = ResNetMultiImageInput(blocks, self.num_ch_enc.tolist(), num_input_images)

    def forward(self, input_image: Tensor) -> list[Tensor]:
        """The features, from large to small."""
        self.features = []
        x = (input_image - 0.45) / 0.225
        x = self.encoder.conv1(x)
        x = self.encoder.bn1(x)
        self.features.append(self.encoder.relu(x))
        self.features.append(self.encoder.layer1(self.encoder.maxpool(self.features[-1])))
        self.features.append(self.encoder.layer2(self.features[-1]))
        self.features.append(self.encoder.layer3(self.features[-1]))
        self.features.append(self.encoder.layer4(self.features[-1]))
        return self.features


class Conv3x3(nn.Module):
    """A convolution with reflected edges."""

    def __init__(self, in_channels: int, out_channels: int, use_refl: bool = True) -> None:
        super().__init__()
        self.pad = nn.ReflectionPad2d(1) if use_refl else nn.ZeroPad2d(1)
        self.conv = nn.Conv2d(int(in_channels), int(out_channels), 3)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        out = self.pad(x)
        return self.conv(out)


class ConvBlock(nn.Module):
    """A convolution and ELU."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv, self.nonlin = Conv3x3(in_channels, out_channels), nn.ELU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.nonlin(self.conv(x))


class DepthDecoder(nn.Module):
    """Disparities of four sizes."""

    def __init__(
        self, num_ch_enc: np.ndarray[Any, Any], scales: Sequence[int] = range(4), num_output_channels: int = 1,
        use_skips: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_output_channels, self.use_skips, self.scales = num_output_channels, use_skips, scales
        self.num_ch_enc, self.num_ch_dec = num_ch_enc, np.array([4, 4, 8, 16, 32])
        self.convs: OrderedDict[tuple[str, int] | tuple[str, int, int], nn.Module] = OrderedDict()
        for i in range(4, -1, -1):
            # upconv_0
            num_ch_in = self.num_ch_enc[-1] if i == 4 else self.num_ch_dec[i + 1]
            num_ch_out = self.num_ch_dec[i]
            self.convs[("upconv", i, 0)] = ConvBlock(num_ch_in, num_ch_out)
            # upconv_1
            num_ch_in = self.num_ch_dec[i]
            if self.use_skips and i > 0:
                num_ch_in += self.num_ch_enc[i - 1]
            num_ch_out = self.num_ch_dec[i]
            self.convs[("upconv", i, 1)] = ConvBlock(num_ch_in, num_ch_out)
        for s in self.scales:
            self.convs[("dispconv", s)] = Conv3x3(self.num_ch_dec[s], self.num_output_channels)
        self.decoder = nn.ModuleList(list(self.convs.values()))
        self.sigmoid = nn.Sigmoid()

    def forward(self, input_features: list[Tensor]) -> dict[tuple[str, int], Tensor]:
        """The disparities."""
        self.outputs = {}
        x = input_features[-1]
        for i in range(4, -1, -1):
            x = self.convs[("upconv", i, 0)](x)
            xs = [F.interpolate(x, scale_factor=2, mode="nearest")]
            if self.use_skips and i > 0:
                xs += [input_features[i - 1]]
            x = torch.cat(xs, 1)
            x = self.convs[("upconv", i, 1)](x)
            if i in self.scales:
                self.outputs[("disp", i)] = self.sigmoid(self.convs[("dispconv", i)](x))
        return self.outputs


class PoseDecoder(nn.Module):
    """How the camera moved, as an axis and a way."""

    def __init__(
        self, num_ch_enc: np.ndarray[Any, Any], num_input_features: int, num_frames_to_predict_for: int | None = None
    ) -> None:
        super().__init__()
        if num_frames_to_predict_for is None:
            num_frames_to_predict_for = num_input_features - 1
        self.num_frames_to_predict_for = num_frames_to_predict_for
        self.convs: OrderedDict[str | tuple[str, int], nn.Module] = OrderedDict()
        self.convs["squeeze"] = nn.Conv2d(int(num_ch_enc[-1]), 32, 1)
        self.convs[("pose", 0)] = nn.Conv2d(num_input_features * 32, 32, 3, 1, 1)
        self.convs[("pose", 1)] = nn.Conv2d(32, 32, 3, 1, 1)
        self.convs[("pose", 2)] = nn.Conv2d(32, 6 * num_frames_to_predict_for, 1)
        self.relu, self.net = nn.ReLU(), nn.ModuleList(list(self.convs.values()))

    def forward(self, input_features: list[list[Tensor]]) -> tuple[Tensor, Tensor]:
        """The axis and the way."""
        last_features = [f[-1] for f in input_features]
        cat_features = [self.relu(self.convs["squeeze"](f)) for f in last_features]
        out = torch.cat(cat_features, 1)
        for i in range(3):
            out = self.convs[("pose", i)](out)
            if i != 2:
                out = self.relu(out)
        out = out.mean(3).mean(2)
        out = 0.01 * out.view(-1, self.num_frames_to_predict_for, 1, 6)
        axisangle = out[..., :3]
        translation = out[..., 3:]
        return axisangle, translation


def disp_to_depth(disp: Tensor, min_depth: float, max_depth: float) -> tuple[Tensor, Tensor]:
    """A disparity within limits, and the depth."""
    min_disp, max_disp = 1 / max_depth, 1 / min_depth
    scaled_disp = min_disp + (max_disp - min_disp) * disp
    return scaled_disp, 1 / scaled_disp


def rot_from_axisangle(vec: Tensor) -> Tensor:
    """Matrices that turn around an axis."""
    angle = torch.norm(vec, 2, 2, True)
    axis = vec / (angle + 1e-7)
    ca, sa = torch.cos(angle), torch.sin(angle)
    C = 1 - ca  # noqa: N806
    x, y, z = (axis[..., i].unsqueeze(1) for i in range(3))
    xs, ys, zs = x * sa, y * sa, z * sa
    xyC, yzC, zxC = x * y * C, y * z * C, z * x * C  # noqa: N806
    rot = torch.zeros((vec.shape[0], 4, 4))
    rot[:, 0, 0] = torch.squeeze(x * x * C + ca)
    rot[:, 0, 1] = torch.squeeze(xyC - zs)
    rot[:, 0, 2] = torch.squeeze(zxC + ys)
    rot[:, 1, 0] = torch.squeeze(xyC + zs)
    rot[:, 1, 1] = torch.squeeze(y * y * C + ca)
    rot[:, 1, 2] = torch.squeeze(yzC - xs)
    rot[:, 2, 0] = torch.squeeze(zxC - ys)
    rot[:, 2, 1] = torch.squeeze(yzC + xs)
    rot[:, 2, 2] = torch.squeeze(z * z * C + ca)
    rot[:, 3, 3] = 1
    return rot


def transformation_from_parameters(axisangle: Tensor, translation: Tensor, invert: bool = False) -> Tensor:
    """The matrix of a move, or of its inverse."""
    R, t = rot_from_axisangle(axisangle), translation.clone()  # noqa: N806
    if invert:
        R = R.transpose(1, 2)  # noqa: N806
        t *= -1
    T = torch.zeros(t.shape[0], 4, 4)  # noqa: N806
    T[:, 0, 0] = T[:, 1, 1] = T[:, 2, 2] = T[:, 3, 3] = 1
    T[:, :3, 3, None] = t.contiguous().view(-1, 3, 1)
    return torch.matmul(R, T) if invert else torch.matmul(T, R)


class BackprojectDepth(nn.Module):
    """Points in space, from a depth image."""

    def __init__(self, batch_size: int, height: int, width: int) -> None:
        super().__init__()
        self.batch_size, self.height, self.width = batch_size, height, width
        meshgrid = np.meshgrid(range(self.width), range(self.height), indexing="xy")
        self.id_coords = nn.Parameter(torch.from_numpy(np.stack(meshgrid, axis=0).astype(np.float32)), False)
        self.ones = nn.Parameter(torch.ones(self.batch_size, 1, self.height * self.width), requires_grad=False)
        pix_coords = torch.stack([self.id_coords[0].view(-1), self.id_coords[1].view(-1)], 0)
        pix_coords = torch.unsqueeze(pix_coords, 0).repeat(batch_size, 1, 1)
        self.pix_coords = nn.Parameter(torch.cat([pix_coords, self.ones], 1), requires_grad=False)

    def forward(self, depth: Tensor, inv_K: Tensor) -> Tensor:  # noqa: N803
        """The points."""
        cam_points = torch.matmul(inv_K[:, :3, :3], self.pix_coords)
        cam_points = depth.view(self.batch_size, 1, -1) * cam_points
        return torch.cat([cam_points, self.ones], 1)


class Project3D(nn.Module):
    """Where a moved camera sees points."""

    def __init__(self, batch_size: int, height: int, width: int, eps: float = 1e-7) -> None:
        super().__init__()
        self.batch_size, self.height, self.width, self.eps = batch_size, height, width, eps

    def forward(self, points: Tensor, K: Tensor, T: Tensor) -> Tensor:  # noqa: N803
        """Places in the image, between -1 and 1."""
        P = torch.matmul(K, T)[:, :3, :]  # noqa: N806
        cam_points = torch.matmul(P, points)
        pix_coords = cam_points[:, :2, :] / (cam_points[:, 2, :].unsqueeze(1) + self.eps)
        pix_coords = pix_coords.view(self.batch_size, 2, self.height, self.width)
        pix_coords = pix_coords.permute(0, 2, 3, 1)
        pix_coords[..., 0] /= self.width - 1
        pix_coords[..., 1] /= self.height - 1
        return (pix_coords - 0.5) * 2


class SSIM(nn.Module):
    """How unlike two images are, in structure."""

    def __init__(self) -> None:
        super().__init__()
        self.mu_x_pool, self.mu_y_pool = nn.AvgPool2d(3, 1), nn.AvgPool2d(3, 1)
        self.sig_x_pool, self.sig_y_pool, self.sig_xy_pool = (nn.AvgPool2d(3, 1) for _ in range(3))
        self.refl = nn.ReflectionPad2d(1)
        self.C1, self.C2 = 0.01**2, 0.03**2

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The loss of each pixel."""
        x = self.refl(x)
        y = self.refl(y)
        mu_x = self.mu_x_pool(x)
        mu_y = self.mu_y_pool(y)
        sigma_x = self.sig_x_pool(x**2) - mu_x**2
        sigma_y = self.sig_y_pool(y**2) - mu_y**2
        sigma_xy = self.sig_xy_pool(x * y) - mu_x * mu_y
        SSIM_n = (2 * mu_x * mu_y + self.C1) * (2 * sigma_xy + self.C2)  # noqa: N806
        SSIM_d = (mu_x**2 + mu_y**2 + self.C1) * (sigma_x + sigma_y + self.C2)  # noqa: N806
        return torch.clamp((1 - SSIM_n / SSIM_d) / 2, 0, 1)


def get_smooth_loss(disp: Tensor, img: Tensor) -> Tensor:
    """How rough a disparity is where the image is smooth."""
    grad_disp_x = torch.abs(disp[:, :, :, :-1] - disp[:, :, :, 1:])
    grad_disp_y = torch.abs(disp[:, :, :-1, :] - disp[:, :, 1:, :])
    grad_img_x = torch.mean(torch.abs(img[:, :, :, :-1] - img[:, :, :, 1:]), 1, keepdim=True)
    grad_img_y = torch.mean(torch.abs(img[:, :, :-1, :] - img[:, :, 1:, :]), 1, keepdim=True)
    grad_disp_x *= torch.exp(-grad_img_x)
    grad_disp_y *= torch.exp(-grad_img_y)
    return grad_disp_x.mean() + grad_disp_y.mean()


class Monodepth2(nn.Module):
    """Depth from one image, learned by how well its neighbours in the video are made of it."""

    def __init__(self, opt: Namespace) -> None:
        super().__init__()
        self.opt, self.num_scales = opt, len(opt.scales)
        self.models = nn.ModuleDict()
        encoder = ResnetEncoder(opt.num_layers)
        pose_encoder = ResnetEncoder(opt.num_layers, num_input_images=2)
        self.models["encoder"] = encoder
        self.models["depth"] = DepthDecoder(encoder.num_ch_enc, opt.scales)
        self.models["pose_encoder"] = pose_encoder
        self.models["pose"] = PoseDecoder(pose_encoder.num_ch_enc, num_input_features=1, num_frames_to_predict_for=2)
        self.backproject_depth = BackprojectDepth(opt.batch_size, opt.height, opt.width)
        self.project_3d = Project3D(opt.batch_size, opt.height, opt.width)
        if not opt.no_ssim:
            self.ssim = SSIM()

    def forward(self, inputs: dict[Any, Tensor]) -> tuple[dict[Any, Tensor], dict[str, Tensor]]:
        """Depths, moves and images made of neighbours, and the losses."""
        features = self.models["encoder"](inputs[("color_aug", 0, 0)])
        outputs = self.models["depth"](features)
        outputs.update(self.predict_poses(inputs))
        self.generate_images_pred(inputs, outputs)
        return outputs, self.compute_losses(inputs, outputs)

    def predict_poses(self, inputs: dict[Any, Tensor]) -> dict[Any, Tensor]:
        """Moves from this frame to each neighbour."""
        outputs = {}
        pose_feats = {f_i: inputs[("color_aug", f_i, 0)] for f_i in self.opt.frame_ids}
        for f_i in self.opt.frame_ids[1:]:
            # to maintain ordering we always pass frames in temporal order
            pose_inputs = [pose_feats[f_i], pose_feats[0]] if f_i < 0 else [pose_feats[0], pose_feats[f_i]]
            feats = [self.models["pose_encoder"](torch.cat(pose_inputs, 1))]
            axisangle, translation = self.models["pose"](feats)
            outputs[("axisangle", 0, f_i)] = axisangle
            outputs[("translation", 0, f_i)] = translation
            outputs[("cam_T_cam", 0, f_i)] = transformation_from_parameters(
                axisangle[:, 0], translation[:, 0], invert=(f_i < 0)
            )
        return outputs

    def generate_images_pred(self, inputs: dict[Any, Tensor], outputs: dict[Any, Tensor]) -> None:
        """This frame, made of its neighbours, at each scale."""
        for scale in self.opt.scales:
            disp = outputs[("disp", scale)]
            disp = F.interpolate(disp, [self.opt.height, self.opt.width], mode="bilinear", align_corners=False)
            _, depth = disp_to_depth(disp, self.opt.min_depth, self.opt.max_depth)
            outputs[("depth", 0, scale)] = depth
            for frame_id in self.opt.frame_ids[1:]:
                T = outputs[("cam_T_cam", 0, frame_id)]  # noqa: N806
                cam_points = self.backproject_depth(depth, inputs[("inv_K", 0)])
                pix_coords = self.project_3d(cam_points, inputs[("K", 0)], T)
                outputs[("sample", frame_id, scale)] = pix_coords
                outputs[("color", frame_id, scale)] = F.grid_sample(
                    inputs[("color", frame_id, 0)], pix_coords, padding_mode="border", align_corners=True
                )

    def compute_reprojection_loss(self, pred: Tensor, target: Tensor) -> Tensor:
        """How unlike two images are."""
        l1_loss = torch.abs(target - pred).mean(1, True)
        if self.opt.no_ssim:
            return l1_loss
        ssim_loss = self.ssim(pred, target).mean(1, True)
        return 0.85 * ssim_loss + 0.15 * l1_loss

    def compute_losses(self, inputs: dict[Any, Tensor], outputs: dict[Any, Tensor]) -> dict[str, Tensor]:
        """The losses of the scales, and all."""
        losses: dict[str, Tensor] = {}
        total_loss: Tensor | float = 0
        target = inputs[("color", 0, 0)]
        for scale in self.opt.scales:
            disp, color = outputs[("disp", scale)], inputs[("color", 0, scale)]
            reprojection_losses = torch.cat(
                [self.compute_reprojection_loss(outputs[("color", f, scale)], target) for f in self.opt.frame_ids[1:]],
                1,
            )
            # automasking
            identity_reprojection_losses = torch.cat(
                [self.compute_reprojection_loss(inputs[("color", f, 0)], target) for f in self.opt.frame_ids[1:]], 1
            )
            # add random numbers to break ties
            identity_reprojection_losses += torch.randn(identity_reprojection_losses.shape) * 0.00001
            combined = torch.cat((identity_reprojection_losses, reprojection_losses), dim=1)
            to_optimise, idxs = torch.min(combined, dim=1)
            outputs[f"identity_selection/{scale}"] = (idxs > identity_reprojection_losses.shape[1] - 1).float()
            loss = to_optimise.mean()
            mean_disp = disp.mean(2, True).mean(3, True)
            norm_disp = disp / (mean_disp + 1e-7)
            smooth_loss = get_smooth_loss(norm_disp, color)
            loss = loss + self.opt.disparity_smoothness * smooth_loss / (2**scale)
            total_loss = total_loss + loss
            losses[f"loss/{scale}"] = loss
        losses["loss"] = torch.as_tensor(total_loss / self.num_scales)
        return losses


DEPTH_OPT = Namespace(
    **{"num_layers": 18, "scales": [0, 1, 2, 3], "frame_ids": [0, -1, 1], "batch_size": 2, "height": 64, "width": 96},
    **{"min_depth": 0.1, "max_depth": 100.0, "no_ssim": False, "disparity_smoothness": 1e-3},
)


def _frames() -> dict[Any, Tensor]:
    inputs: dict[Any, Tensor] = {}
    for frame_id in (0, -1, 1):
        image = torch.rand(2, 3, 64, 96)
        inputs[("color", frame_id, 0)], inputs[("color_aug", frame_id, 0)] = image, (image * 1.1).clamp(0, 1)
    for scale in (1, 2, 3):
        inputs[("color", 0, scale)] = F.avg_pool2d(inputs[("color", 0, 0)], 2**scale)
    K = torch.tensor([[55.0, 0, 48, 0], [0, 122, 32, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).repeat(2, 1, 1)  # noqa: N806
    inputs[("K", 0)], inputs[("inv_K", 0)] = K, torch.linalg.inv(K)
    return inputs


def _ppnet() -> nn.Module:
    return PPNet(ResNet_features(ProtoBasicBlock, [2, 2, 2, 2]), 64, (20, 16, 1, 1), num_classes=10)


def _superpoint() -> nn.Module:
    return SuperPoint({"max_keypoints": 40})


NETS = [
    Entry("own/superpoint", _superpoint, given(lambda: {"image": torch.rand(2, 1, 64, 96)}), same_inputs=True),
    Entry("own/nvae", lambda: AutoEncoder(NVAE_ARGS), given(lambda: torch.rand(2, 3, 32, 32)), same_inputs=True),
    Entry("own/zero_dce", ZeroDCE, given(lambda: torch.rand(2, 3, 64, 64))),
    Entry("own/protopnet", _ppnet, given(numbers(2, 3, 64, 64))),
    Entry(
        "own/fcos", lambda: GeneralizedRCNN(FCOS_CFG), given(lambda: [torch.rand(3, 96, 128), torch.rand(3, 90, 64)])
    ),
    Entry("own/rife", IFNet, given(lambda: torch.rand(1, 9, 64, 64))),
    Entry(
        "own/darts", lambda: DartsNetwork(4, 10, 3, steps=3, multiplier=3), given(numbers(2, 3, 16, 16), whole(3, 7))
    ),
    Entry("own/monodepth2", lambda: Monodepth2(DEPTH_OPT), given(_frames)),
]
