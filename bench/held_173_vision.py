"""Nets of images and scenes as repositories write them, of the fourth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list, split into words
and shuffled by `random.Random(173)`; the first fifteen are the nets of this file and of `held_173_sequences.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

from collections import OrderedDict
from enum import IntEnum
from itertools import product
from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch import distributions as dist
from torch.nn.utils.parametrizations import weight_norm

from tests.corpus.entry import Entry, given, numbers

TOPICS = """
fcos yolact retinaface dbnet ocrnet modnet csrnet siamrpn loftr capsnet moco protopnet dann spade stargan rcan zero_dce
restormer rife two_stream videopose3d dgcnn votenet occupancy_network pixelnerf pcn meshcnn realnvp pixelcnn vqgan nvae
wavenet tacotron_gst glow_tts soundstream rnnt sincnet panns wav2lip bilstm_crf tree_lstm retnet retro colbert convs2s
hred timesnet tcn latent_ode grud anomaly_transformer tabnet saint bert4rec lightgcn dcn_v2 ple impala alphazero icm
diffusion_policy painn mpnn compgcn diffpool graphrnn hamiltonian_nn eegnet proteinmpnn graphcast scvi butd
tensor_fusion
"""


class MaskType(IntEnum):
    """Mask of the part that a coupling keeps."""

    CHECKERBOARD = 0
    CHANNEL_WISE = 1


def checkerboard_mask(height: int, width: int, reverse: bool = False) -> Tensor:
    """Ones and zeros in turn."""
    mask = [[((i % 2) + j) % 2 for j in range(width)] for i in range(height)]
    tensor = torch.tensor(mask, dtype=torch.float32).view(1, 1, height, width)
    return 1 - tensor if reverse else tensor


def squeeze_2x2(x: Tensor, reverse: bool = False, alt_order: bool = False) -> Tensor:
    """Squares of four pixels as channels; in the other order the halves of a checkerboard stay together."""
    block_size = 2
    if reverse:
        if alt_order:
            b, c, h, w = x.size()
            x = x.view(b, 4, c // 4, h, w)[:, [0, 2, 3, 1]].transpose(1, 2).reshape(b, c, h, w)
        return F.pixel_shuffle(x, block_size)
    x = F.pixel_unshuffle(x, block_size)
    if alt_order:
        b, c, h, w = x.size()
        x = x.view(b, c // 4, 4, h, w)[:, :, [0, 3, 1, 2]].transpose(1, 2).reshape(b, c, h, w)
    return x


class WNConv2d(nn.Module):
    """A convolution whose weight has a norm of its own."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int, bias: bool = True) -> None:
        super().__init__()
        self.conv = weight_norm(nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, bias=bias))

    def forward(self, x: Tensor) -> Tensor:
        """The same size."""
        return self.conv(x)


class STResidualBlock(nn.Module):
    """Norms and activations in front of two convolutions."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_norm, self.in_conv = nn.BatchNorm2d(in_channels), WNConv2d(in_channels, out_channels, 3, 1, bias=False)
        self.out_norm, self.out_conv = nn.BatchNorm2d(out_channels), WNConv2d(out_channels, out_channels, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        skip = x
        x = self.in_conv(F.relu(self.in_norm(x)))
        x = self.out_conv(F.relu(self.out_norm(x)))
        return x + skip


class STResNet(nn.Module):
    """Scale and translation: a residual net, all of whose blocks are added to what comes out."""

    def __init__(self, in_channels: int, mid_channels: int, out_channels: int, num_blocks: int, double: bool) -> None:
        super().__init__()
        kernel_size, padding = (3, 1) if double else (1, 0)
        self.in_norm, self.double_after_norm = nn.BatchNorm2d(in_channels), double
        self.in_conv = WNConv2d(2 * in_channels, mid_channels, kernel_size, padding)
        self.in_skip = WNConv2d(mid_channels, mid_channels, kernel_size=1, padding=0)
        self.blocks = nn.ModuleList([STResidualBlock(mid_channels, mid_channels) for _ in range(num_blocks)])
        self.skips = nn.ModuleList([WNConv2d(mid_channels, mid_channels, 1, 0) for _ in range(num_blocks)])
        self.out_norm, self.out_conv = nn.BatchNorm2d(mid_channels), WNConv2d(mid_channels, out_channels, 1, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Two maps in one."""
        x = self.in_norm(x)
        if self.double_after_norm:
            x *= 2.0
        x = torch.cat((x, -x), dim=1)
        x = F.relu(x)
        x = self.in_conv(x)
        x_skip = self.in_skip(x)
        for block, skip in zip(self.blocks, self.skips, strict=True):
            x = block(x)
            x_skip += skip(x)
        return self.out_conv(F.relu(self.out_norm(x_skip)))


class Rescale(nn.Module):
    """A factor for each channel."""

    def __init__(self, num_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(num_channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return self.weight * x


class CouplingLayer(nn.Module):
    """Half of the values changed by the other half."""

    def __init__(
        self, in_channels: int, mid_channels: int, num_blocks: int, mask_type: MaskType, reverse_mask: bool
    ) -> None:
        super().__init__()
        self.mask_type, self.reverse_mask = mask_type, reverse_mask
        if mask_type == MaskType.CHANNEL_WISE:
            in_channels //= 2
        double = mask_type == MaskType.CHECKERBOARD
        self.st_net = STResNet(in_channels, mid_channels, 2 * in_channels, num_blocks, double)
        self.rescale = weight_norm(Rescale(in_channels))

    def forward(self, x: Tensor, sldj: Tensor | None = None, reverse: bool = True) -> tuple[Tensor, Tensor | None]:
        """Forth or back, and the logarithm of the determinant up to here."""
        if self.mask_type == MaskType.CHECKERBOARD:
            b = checkerboard_mask(x.size(2), x.size(3), self.reverse_mask)
            s, t = self.st_net(x * b).chunk(2, dim=1)
            s = self.rescale(torch.tanh(s))
            s, t = s * (1 - b), t * (1 - b)
            if reverse:
                return x * s.mul(-1).exp() - t, sldj
            return (x + t) * s.exp(), sldj + s.reshape(s.size(0), -1).sum(-1)
        if self.reverse_mask:
            x_id, x_change = x.chunk(2, dim=1)
        else:
            x_change, x_id = x.chunk(2, dim=1)
        s, t = self.st_net(x_id).chunk(2, dim=1)
        s = self.rescale(torch.tanh(s))
        if reverse:
            x_change = x_change * s.mul(-1).exp() - t
        else:
            x_change = (x_change + t) * s.exp()
            sldj = sldj + s.reshape(s.size(0), -1).sum(-1)
        return torch.cat((x_id, x_change) if self.reverse_mask else (x_change, x_id), dim=1), sldj


class RealNVPScale(nn.Module):
    """A scale, and in it the next: half of the channels go on to it."""

    def __init__(self, scale_idx: int, num_scales: int, in_channels: int, mid_channels: int, num_blocks: int) -> None:
        super().__init__()
        self.is_last_block = scale_idx == num_scales - 1
        couplings = 4 if self.is_last_block else 3
        self.in_couplings = nn.ModuleList([
            CouplingLayer(in_channels, mid_channels, num_blocks, MaskType.CHECKERBOARD, reverse_mask=i % 2 == 1)
            for i in range(couplings)
        ])  # fmt: skip
        if not self.is_last_block:
            self.out_couplings = nn.ModuleList([
                CouplingLayer(4 * in_channels, 2 * mid_channels, num_blocks, MaskType.CHANNEL_WISE, i % 2 == 1)
                for i in range(3)
            ])  # fmt: skip
            self.next_block = RealNVPScale(scale_idx + 1, num_scales, 2 * in_channels, 2 * mid_channels, num_blocks)

    def forward(self, x: Tensor, sldj: Tensor | None, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """As deep as there are scales."""
        if reverse:
            if not self.is_last_block:
                x = squeeze_2x2(x, alt_order=True)
                x, x_split = x.chunk(2, dim=1)
                x, sldj = self.next_block(x, sldj, reverse)
                x = squeeze_2x2(torch.cat((x, x_split), dim=1), reverse=True, alt_order=True)
                x = squeeze_2x2(x)
                for coupling in reversed(self.out_couplings):
                    x, sldj = coupling(x, sldj, reverse)
                x = squeeze_2x2(x, reverse=True)
            for coupling in reversed(self.in_couplings):
                x, sldj = coupling(x, sldj, reverse)
            return x, sldj
        for coupling in self.in_couplings:
            x, sldj = coupling(x, sldj, reverse)
        if not self.is_last_block:
            x = squeeze_2x2(x, reverse=False)
            for coupling in self.out_couplings:
                x, sldj = coupling(x, sldj, reverse)
            x = squeeze_2x2(x, reverse=True)
            x = squeeze_2x2(x, reverse=False, alt_order=True)
            x, x_split = x.chunk(2, dim=1)
            x, sldj = self.next_block(x, sldj, reverse)
            x = torch.cat((x, x_split), dim=1)
            x = squeeze_2x2(x, reverse=True, alt_order=True)
        return x, sldj


class RealNVP(nn.Module):
    """A flow of images."""

    data_constraint: Tensor

    def __init__(self, num_scales: int = 2, in_channels: int = 3, mid_channels: int = 16, num_blocks: int = 2) -> None:
        super().__init__()
        self.register_buffer("data_constraint", torch.tensor([0.9], dtype=torch.float32))
        self.flows = RealNVPScale(0, num_scales, in_channels, mid_channels, num_blocks)

    def _pre_process(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = (x * 255.0 + torch.rand_like(x)) / 256.0
        y = (2 * y - 1) * self.data_constraint
        y = (y + 1) / 2
        y = y.log() - (1.0 - y).log()
        ldj = (
            F.softplus(y) + F.softplus(-y) - F.softplus((1.0 - self.data_constraint).log() - self.data_constraint.log())
        )
        return y, ldj.view(ldj.size(0), -1).sum(-1)

    def forward(self, x: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor | None]:
        """A code of the same size and how the volume changes; or the image of a code."""
        sldj = None
        if not reverse:
            x, sldj = self._pre_process(x)
        return self.flows(x, sldj, reverse)


class IBNorm(nn.Module):
    """Half of the channels normed over the batch, half over each picture."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.bnorm_channels = in_channels // 2
        self.inorm_channels = in_channels - self.bnorm_channels
        self.bnorm = nn.BatchNorm2d(self.bnorm_channels, affine=True)
        self.inorm = nn.InstanceNorm2d(self.inorm_channels, affine=False)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        bn_x = self.bnorm(x[:, : self.bnorm_channels, ...].contiguous())
        in_x = self.inorm(x[:, self.bnorm_channels :, ...].contiguous())
        return torch.cat((bn_x, in_x), 1)


class Conv2dIBNormRelu(nn.Module):
    """A convolution, with norm and activation if they are asked for."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
        with_ibn: bool = True, with_relu: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)]
        if with_ibn:
            layers.append(IBNorm(out_channels))
        if with_relu:
            layers.append(nn.ReLU(inplace=True))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """As large as the stride leaves."""
        return self.layers(x)


class InvertedResidual(nn.Module):
    """The block of MobileNetV2."""

    def __init__(self, inp: int, oup: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden_dim = round(inp * expansion)
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = []
        if expansion != 1:
            layers += [nn.Conv2d(inp, hidden_dim, 1, bias=False), nn.BatchNorm2d(hidden_dim), nn.ReLU6(inplace=True)]
        layers += [
            nn.Conv2d(hidden_dim, hidden_dim, 3, stride, 1, groups=hidden_dim, bias=False), nn.BatchNorm2d(hidden_dim),
            nn.ReLU6(inplace=True), nn.Conv2d(hidden_dim, oup, 1, bias=False), nn.BatchNorm2d(oup),
        ]  # fmt: skip
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip where the shape stays."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2Backbone(nn.Module):
    """Features at five scales."""

    enc_channels = (8, 12, 16, 48, 160)

    def __init__(self, in_channels: int = 3) -> None:
        super().__init__()
        features: list[nn.Module] = [
            nn.Sequential(nn.Conv2d(in_channels, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(inplace=True))
        ]
        input_channel = 16
        for t, c, n, s in ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 2, 2), (6, 32, 2, 2), (6, 48, 1, 1), (6, 64, 2, 2)):
            for i in range(n):
                features.append(InvertedResidual(input_channel, c, s if i == 0 else 1, expansion=t))
                input_channel = c
        features.append(nn.Sequential(nn.Conv2d(64, 160, 1, bias=False), nn.BatchNorm2d(160), nn.ReLU6(inplace=True)))
        self.features = nn.Sequential(*features)
        self.stages = (2, 4, 6, 9, len(features))

    def forward(self, x: Tensor) -> list[Tensor]:
        """The last of each stage."""
        outs, start = [], 0
        for end in self.stages:
            for i in range(start, end):
                x = self.features[i](x)
            outs.append(x)
            start = end
        return outs


class MattingSE(nn.Module):
    """Weights of channels."""

    def __init__(self, in_channels: int, out_channels: int, reduction: int = 1) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(in_channels, int(in_channels // reduction), bias=False), nn.ReLU(inplace=True),
            nn.Linear(int(in_channels // reduction), out_channels, bias=False), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        b, c, _, _ = x.size()
        w = self.pool(x).view(b, c)
        w = self.fc(w).view(b, c, 1, 1)
        return x * w.expand_as(x)


def up2(x: Tensor) -> Tensor:
    """Twice as large."""
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class LRBranch(nn.Module):
    """Where the person is, coarsely."""

    def __init__(self, backbone: MobileNetV2Backbone) -> None:
        super().__init__()
        enc_channels = backbone.enc_channels
        self.backbone, self.se_block = backbone, MattingSE(enc_channels[4], enc_channels[4], reduction=4)
        self.conv_lr16x = Conv2dIBNormRelu(enc_channels[4], enc_channels[3], 5, stride=1, padding=2)
        self.conv_lr8x = Conv2dIBNormRelu(enc_channels[3], enc_channels[2], 5, stride=1, padding=2)
        self.conv_lr = Conv2dIBNormRelu(enc_channels[2], 1, 3, stride=2, padding=1, with_ibn=False, with_relu=False)

    def forward(self, img: Tensor, inference: bool) -> tuple[Tensor | None, Tensor, list[Tensor]]:
        """A coarse matte for the loss, features, and those of the two largest scales."""
        enc_features = self.backbone(img)
        enc2x, enc4x, enc32x = enc_features[0], enc_features[1], enc_features[4]
        enc32x = self.se_block(enc32x)
        lr16x = self.conv_lr16x(up2(enc32x))
        lr8x = self.conv_lr8x(up2(lr16x))
        pred_semantic = None
        if not inference:
            lr = self.conv_lr(lr8x)
            pred_semantic = torch.sigmoid(lr)
        return pred_semantic, lr8x, [enc2x, enc4x]


class HRBranch(nn.Module):
    """The rim, finely."""

    def __init__(self, hr_channels: int, enc_channels: tuple[int, ...]) -> None:
        super().__init__()
        self.tohr_enc2x = Conv2dIBNormRelu(enc_channels[0], hr_channels, 1, stride=1, padding=0)
        self.conv_enc2x = Conv2dIBNormRelu(hr_channels + 3, hr_channels, 3, stride=2, padding=1)
        self.tohr_enc4x = Conv2dIBNormRelu(enc_channels[1], hr_channels, 1, stride=1, padding=0)
        self.conv_enc4x = Conv2dIBNormRelu(2 * hr_channels, 2 * hr_channels, 3, stride=1, padding=1)
        self.conv_hr4x = nn.Sequential(
            Conv2dIBNormRelu(2 * hr_channels + enc_channels[2] + 3, 2 * hr_channels, 3, padding=1),
            Conv2dIBNormRelu(2 * hr_channels, 2 * hr_channels, 3, padding=1),
            Conv2dIBNormRelu(2 * hr_channels, hr_channels, 3, padding=1),
        )
        self.conv_hr2x = nn.Sequential(
            Conv2dIBNormRelu(2 * hr_channels, 2 * hr_channels, 3, padding=1),
            Conv2dIBNormRelu(2 * hr_channels, hr_channels, 3, padding=1),
            Conv2dIBNormRelu(hr_channels, hr_channels, 3, padding=1),
        )
        self.conv_hr = nn.Sequential(
            Conv2dIBNormRelu(hr_channels + 3, hr_channels, 3, stride=1, padding=1),
            Conv2dIBNormRelu(hr_channels, 1, 1, with_ibn=False, with_relu=False),
        )

    def forward(
        self, img: Tensor, enc2x: Tensor, enc4x: Tensor, lr8x: Tensor, inference: bool
    ) -> tuple[Tensor | None, Tensor]:
        """A matte of the rim for the loss, and features."""
        img2x = F.interpolate(img, scale_factor=1 / 2, mode="bilinear", align_corners=False)
        img4x = F.interpolate(img, scale_factor=1 / 4, mode="bilinear", align_corners=False)
        enc2x = self.tohr_enc2x(enc2x)
        hr4x = self.conv_enc2x(torch.cat((img2x, enc2x), dim=1))
        enc4x = self.tohr_enc4x(enc4x)
        hr4x = self.conv_enc4x(torch.cat((hr4x, enc4x), dim=1))
        lr4x = up2(lr8x)
        hr4x = self.conv_hr4x(torch.cat((hr4x, lr4x, img4x), dim=1))
        hr2x = up2(hr4x)
        hr2x = self.conv_hr2x(torch.cat((hr2x, enc2x), dim=1))
        pred_detail = None
        if not inference:
            hr = up2(hr2x)
            hr = self.conv_hr(torch.cat((hr, img), dim=1))
            pred_detail = torch.sigmoid(hr)
        return pred_detail, hr2x


class FusionBranch(nn.Module):
    """Both branches in one matte."""

    def __init__(self, hr_channels: int, enc_channels: tuple[int, ...]) -> None:
        super().__init__()
        self.conv_lr4x = Conv2dIBNormRelu(enc_channels[2], hr_channels, 5, stride=1, padding=2)
        self.conv_f2x = Conv2dIBNormRelu(2 * hr_channels, hr_channels, 3, stride=1, padding=1)
        self.conv_f = nn.Sequential(
            Conv2dIBNormRelu(hr_channels + 3, int(hr_channels / 2), 3, stride=1, padding=1),
            Conv2dIBNormRelu(int(hr_channels / 2), 1, 1, with_ibn=False, with_relu=False),
        )

    def forward(self, img: Tensor, lr8x: Tensor, hr2x: Tensor) -> Tensor:
        """How much of each pixel is the person."""
        lr4x = self.conv_lr4x(up2(lr8x))
        lr2x = up2(lr4x)
        f2x = self.conv_f2x(torch.cat((lr2x, hr2x), dim=1))
        f = self.conv_f(torch.cat((up2(f2x), img), dim=1))
        return torch.sigmoid(f)


class MODNet(nn.Module):
    """The matte of a portrait, from a coarse branch, a fine branch, and both."""

    def __init__(self, in_channels: int = 3, hr_channels: int = 16) -> None:
        super().__init__()
        backbone = MobileNetV2Backbone(in_channels)
        self.lr_branch, self.hr_branch = LRBranch(backbone), HRBranch(hr_channels, backbone.enc_channels)
        self.f_branch = FusionBranch(hr_channels, backbone.enc_channels)

    def forward(self, img: Tensor, inference: bool = False) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """The coarse matte, the rim, and the whole."""
        pred_semantic, lr8x, [enc2x, enc4x] = self.lr_branch(img, inference)
        pred_detail, hr2x = self.hr_branch(img, enc2x, enc4x, lr8x, inference)
        pred_matte = self.f_branch(img, lr8x, hr2x)
        return pred_semantic, pred_detail, pred_matte


class PCN(nn.Module):
    """The rest of a shape: few points for the whole, and a folded sheet about each."""

    folding_seed: Tensor

    def __init__(self, num_dense: int = 1024, latent_dim: int = 128, grid_size: int = 4) -> None:
        super().__init__()
        self.num_dense, self.latent_dim, self.grid_size = num_dense, latent_dim, grid_size
        self.num_coarse = self.num_dense // (self.grid_size**2)
        self.first_conv = nn.Sequential(
            nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(inplace=True), nn.Conv1d(64, 64, 1)
        )
        self.second_conv = nn.Sequential(
            nn.Conv1d(128, 128, 1), nn.BatchNorm1d(128), nn.ReLU(inplace=True), nn.Conv1d(128, self.latent_dim, 1)
        )
        self.mlp = nn.Sequential(
            nn.Linear(self.latent_dim, 128), nn.ReLU(inplace=True), nn.Linear(128, 128), nn.ReLU(inplace=True),
            nn.Linear(128, 3 * self.num_coarse),
        )  # fmt: skip
        self.final_conv = nn.Sequential(
            nn.Conv1d(self.latent_dim + 3 + 2, 64, 1), nn.BatchNorm1d(64), nn.ReLU(inplace=True),
            nn.Conv1d(64, 64, 1), nn.BatchNorm1d(64), nn.ReLU(inplace=True), nn.Conv1d(64, 3, 1),
        )  # fmt: skip
        a = torch.linspace(-0.05, 0.05, steps=grid_size).view(1, grid_size).expand(grid_size, grid_size).reshape(1, -1)
        b = torch.linspace(-0.05, 0.05, steps=grid_size).view(grid_size, 1).expand(grid_size, grid_size).reshape(1, -1)
        self.register_buffer("folding_seed", torch.cat([a, b], dim=0).view(1, 2, grid_size**2))

    def forward(self, xyz: Tensor) -> tuple[Tensor, Tensor]:
        """The few points and all."""
        b, n, _ = xyz.shape
        feature = self.first_conv(xyz.transpose(2, 1))
        feature_global = torch.max(feature, dim=2, keepdim=True)[0]
        feature = torch.cat([feature_global.expand(-1, -1, n), feature], dim=1)
        feature = self.second_conv(feature)
        feature_global = torch.max(feature, dim=2, keepdim=False)[0]
        coarse = self.mlp(feature_global).reshape(-1, self.num_coarse, 3)
        point_feat = coarse.unsqueeze(2).expand(-1, -1, self.grid_size**2, -1)
        point_feat = point_feat.reshape(-1, self.num_dense, 3).transpose(2, 1)
        seed = self.folding_seed.unsqueeze(2).expand(b, -1, self.num_coarse, -1)
        seed = seed.reshape(b, -1, self.num_dense)
        feature_global = feature_global.unsqueeze(2).expand(-1, -1, self.num_dense)
        feat = torch.cat([feature_global, seed, point_feat], dim=1)
        fine = self.final_conv(feat) + point_feat
        return coarse.contiguous(), fine.transpose(1, 2).contiguous()


def chamfer(p1: Tensor, p2: Tensor) -> Tensor:
    """How far the points of either cloud are from the other."""
    d = torch.cdist(p1, p2)
    return (d.min(dim=2)[0].mean() + d.min(dim=1)[0].mean()) / 2


class CompletionTrainer(nn.Module):
    """The net and its losses."""

    def __init__(self, alpha: float = 0.5) -> None:
        super().__init__()
        self.model, self.alpha = PCN(), alpha

    def forward(self, partial: Tensor, gt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Both losses, and the points."""
        coarse, fine = self.model(partial)
        loss_coarse, loss_fine = chamfer(coarse, gt), chamfer(fine, gt)
        return loss_coarse + self.alpha * loss_fine, loss_fine, fine


def default_conv(in_channels: int, out_channels: int, kernel_size: int, bias: bool = True) -> nn.Conv2d:
    """A convolution that keeps the size."""
    return nn.Conv2d(in_channels, out_channels, kernel_size, padding=(kernel_size // 2), bias=bias)


class MeanShift(nn.Conv2d):
    """The mean color taken away or added, as a convolution that does not learn."""

    def __init__(self, rgb_range: int, rgb_mean: Any, rgb_std: Any, sign: int = -1) -> None:
        super().__init__(3, 3, kernel_size=1)
        std = torch.Tensor(rgb_std)
        self.weight.data = torch.eye(3).view(3, 3, 1, 1) / std.view(3, 1, 1, 1)
        assert self.bias is not None
        self.bias.data = sign * rgb_range * torch.Tensor(rgb_mean) / std
        self.requires_grad_(False)


class Upsampler(nn.Sequential):
    """Twice the size as often as it takes."""

    def __init__(self, conv: Any, scale: int, n_feats: int) -> None:
        m: list[nn.Module] = []
        while scale > 1:
            m.append(conv(n_feats, 4 * n_feats, 3, True))
            m.append(nn.PixelShuffle(2))
            scale //= 2
        super().__init__(*m)


class CALayer(nn.Module):
    """Attention to channels."""

    def __init__(self, channel: int, reduction: int = 16) -> None:
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.conv_du = nn.Sequential(
            nn.Conv2d(channel, channel // reduction, 1, padding=0, bias=True), nn.ReLU(inplace=True),
            nn.Conv2d(channel // reduction, channel, 1, padding=0, bias=True), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        y = self.avg_pool(x)
        y = self.conv_du(y)
        return x * y


class RCAB(nn.Module):
    """Two convolutions, and weights of their channels."""

    def __init__(self, conv: Any, n_feat: int, kernel_size: int, reduction: int, act: nn.Module) -> None:
        super().__init__()
        modules_body: list[nn.Module] = []
        for i in range(2):
            modules_body.append(conv(n_feat, n_feat, kernel_size, bias=True))
            if i == 0:
                modules_body.append(act)
        modules_body.append(CALayer(n_feat, reduction))
        self.body = nn.Sequential(*modules_body)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        res = self.body(x)
        res += x
        return res


class ResidualGroup(nn.Module):
    """Blocks, a convolution, and a skip over all of them."""

    def __init__(self, conv: Any, n_feat: int, kernel_size: int, reduction: int, act: nn.Module, n: int) -> None:
        super().__init__()
        modules_body: list[nn.Module] = [RCAB(conv, n_feat, kernel_size, reduction, act) for _ in range(n)]
        modules_body.append(conv(n_feat, n_feat, kernel_size))
        self.body = nn.Sequential(*modules_body)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        res = self.body(x)
        res += x
        return res


class RCAN(nn.Module):
    """An image four times as large, by residuals in residuals."""

    def __init__(
        self, n_resgroups: int = 3, n_resblocks: int = 4, n_feats: int = 32, reduction: int = 8, scale: int = 4
    ) -> None:
        super().__init__()
        conv, act = default_conv, nn.ReLU(True)
        rgb_mean, rgb_std = (0.4488, 0.4371, 0.4040), (1.0, 1.0, 1.0)
        self.sub_mean = MeanShift(255, rgb_mean, rgb_std)
        modules_head = [conv(3, n_feats, 3)]
        modules_body: list[nn.Module] = [
            ResidualGroup(conv, n_feats, 3, reduction, act=act, n=n_resblocks) for _ in range(n_resgroups)
        ]
        modules_body.append(conv(n_feats, n_feats, 3))
        modules_tail = [Upsampler(conv, scale, n_feats), conv(n_feats, 3, 3)]
        self.add_mean = MeanShift(255, rgb_mean, rgb_std, 1)
        self.head, self.body = nn.Sequential(*modules_head), nn.Sequential(*modules_body)
        self.tail = nn.Sequential(*modules_tail)

    def forward(self, x: Tensor) -> Tensor:
        """The large image."""
        x = self.sub_mean(x)
        x = self.head(x)
        res = self.body(x)
        res += x
        x = self.tail(res)
        return self.add_mean(x)


def maxpool(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    """The largest value."""
    out, _ = x.max(dim=dim, keepdim=keepdim)
    return out


class ResnetBlockFC(nn.Module):
    """Two linear layers with activations in front."""

    def __init__(self, size_in: int, size_out: int | None = None, size_h: int | None = None) -> None:
        super().__init__()
        size_out = size_in if size_out is None else size_out
        size_h = min(size_in, size_out) if size_h is None else size_h
        self.fc_0, self.fc_1, self.actvn = nn.Linear(size_in, size_h), nn.Linear(size_h, size_out), nn.ReLU()
        self.shortcut = None if size_in == size_out else nn.Linear(size_in, size_out, bias=False)
        nn.init.zeros_(self.fc_1.weight)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        net = self.fc_0(self.actvn(x))
        dx = self.fc_1(self.actvn(net))
        x_s = self.shortcut(x) if self.shortcut is not None else x
        return x_s + dx


class ResnetPointnet(nn.Module):
    """A code of a cloud of points, which each layer joins to each point."""

    def __init__(self, c_dim: int = 64, dim: int = 3, hidden_dim: int = 64) -> None:
        super().__init__()
        self.fc_pos = nn.Linear(dim, 2 * hidden_dim)
        self.block_0 = ResnetBlockFC(2 * hidden_dim, hidden_dim)
        self.block_1 = ResnetBlockFC(2 * hidden_dim, hidden_dim)
        self.block_2 = ResnetBlockFC(2 * hidden_dim, hidden_dim)
        self.block_3 = ResnetBlockFC(2 * hidden_dim, hidden_dim)
        self.block_4 = ResnetBlockFC(2 * hidden_dim, hidden_dim)
        self.fc_c, self.actvn = nn.Linear(hidden_dim, c_dim), nn.ReLU()

    def forward(self, p: Tensor) -> Tensor:
        """A vector for each cloud."""
        net = self.fc_pos(p)
        net = self.block_0(net)
        pooled = maxpool(net, dim=1, keepdim=True).expand(net.size())
        net = torch.cat([net, pooled], dim=2)
        net = self.block_1(net)
        pooled = maxpool(net, dim=1, keepdim=True).expand(net.size())
        net = torch.cat([net, pooled], dim=2)
        net = self.block_2(net)
        pooled = maxpool(net, dim=1, keepdim=True).expand(net.size())
        net = torch.cat([net, pooled], dim=2)
        net = self.block_3(net)
        pooled = maxpool(net, dim=1, keepdim=True).expand(net.size())
        net = torch.cat([net, pooled], dim=2)
        net = self.block_4(net)
        net = maxpool(net, dim=1)
        return self.fc_c(self.actvn(net))


class EncoderLatent(nn.Module):
    """What the points and their occupancies say beyond the code."""

    def __init__(self, z_dim: int = 32, c_dim: int = 64, dim: int = 3) -> None:
        super().__init__()
        self.fc_pos, self.fc_0 = nn.Linear(dim, 64), nn.Linear(1, 64)
        self.fc_c = nn.Linear(c_dim, 64)
        self.fc_1, self.fc_2 = nn.Linear(64, 64), nn.Linear(128, 64)
        self.fc_mean, self.fc_logstd = nn.Linear(64, z_dim), nn.Linear(64, z_dim)
        self.actvn = nn.ReLU()

    def forward(self, p: Tensor, x: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the spread."""
        net = self.fc_0(x.unsqueeze(-1))
        net = net + self.fc_pos(p)
        net = net + self.fc_c(c).unsqueeze(1)
        net = self.fc_1(self.actvn(net))
        pooled = maxpool(net, dim=1, keepdim=True).expand(net.size())
        net = torch.cat([net, pooled], dim=2)
        net = self.fc_2(self.actvn(net))
        net = maxpool(net, dim=1)
        return self.fc_mean(net), self.fc_logstd(net)


class CBatchNorm1d(nn.Module):
    """A norm whose scale and shift come from the code."""

    def __init__(self, c_dim: int, f_dim: int) -> None:
        super().__init__()
        self.conv_gamma, self.conv_beta = nn.Conv1d(c_dim, f_dim, 1), nn.Conv1d(c_dim, f_dim, 1)
        self.bn = nn.BatchNorm1d(f_dim, affine=False)
        nn.init.zeros_(self.conv_gamma.weight)
        nn.init.zeros_(self.conv_beta.weight)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        """The same shape."""
        if len(c.size()) == 2:
            c = c.unsqueeze(2)
        gamma, beta = self.conv_gamma(c), self.conv_beta(c)
        net = self.bn(x)
        return gamma * net + beta


class CResnetBlockConv1d(nn.Module):
    """A residual block that knows the code."""

    def __init__(self, c_dim: int, size: int) -> None:
        super().__init__()
        self.bn_0, self.bn_1 = CBatchNorm1d(c_dim, size), CBatchNorm1d(c_dim, size)
        self.fc_0, self.fc_1, self.actvn = nn.Conv1d(size, size, 1), nn.Conv1d(size, size, 1), nn.ReLU()

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        """With a skip."""
        net = self.fc_0(self.actvn(self.bn_0(x, c)))
        dx = self.fc_1(self.actvn(self.bn_1(net, c)))
        return x + dx


class DecoderCBatchNorm(nn.Module):
    """Whether a point is inside."""

    def __init__(self, dim: int = 3, z_dim: int = 32, c_dim: int = 64, hidden_size: int = 64) -> None:
        super().__init__()
        self.z_dim = z_dim
        if z_dim != 0:
            self.fc_z = nn.Linear(z_dim, hidden_size)
        self.fc_p = nn.Conv1d(dim, hidden_size, 1)
        self.block0, self.block1 = CResnetBlockConv1d(c_dim, hidden_size), CResnetBlockConv1d(c_dim, hidden_size)
        self.block2, self.block3 = CResnetBlockConv1d(c_dim, hidden_size), CResnetBlockConv1d(c_dim, hidden_size)
        self.block4, self.bn = CResnetBlockConv1d(c_dim, hidden_size), CBatchNorm1d(c_dim, hidden_size)
        self.fc_out, self.actvn = nn.Conv1d(hidden_size, 1, 1), F.relu

    def forward(self, p: Tensor, z: Tensor, c: Tensor) -> Tensor:
        """A score of each point."""
        net = self.fc_p(p.transpose(1, 2))
        if self.z_dim != 0:
            net = net + self.fc_z(z).unsqueeze(2)
        net = self.block0(net, c)
        net = self.block1(net, c)
        net = self.block2(net, c)
        net = self.block3(net, c)
        net = self.block4(net, c)
        return self.fc_out(self.actvn(self.bn(net, c))).squeeze(1)


class OccupancyNetwork(nn.Module):
    """A shape as a function of space, of which a cloud of points is known."""

    p0_z_mean: Tensor

    def __init__(self, z_dim: int = 32) -> None:
        super().__init__()
        self.decoder, self.encoder_latent, self.encoder = DecoderCBatchNorm(), EncoderLatent(), ResnetPointnet()
        self.register_buffer("p0_z_mean", torch.zeros(z_dim))

    def encode_inputs(self, inputs: Tensor) -> Tensor:
        """The code."""
        return self.encoder(inputs)

    def decode(self, p: Tensor, z: Tensor, c: Tensor) -> dist.Bernoulli:
        """Occupancies of points."""
        return dist.Bernoulli(logits=self.decoder(p, z, c))  # type: ignore[no-untyped-call]

    def infer_z(self, p: Tensor, occ: Tensor, c: Tensor) -> dist.Normal:
        """What the occupancies say."""
        mean_z, logstd_z = self.encoder_latent(p, occ, c)
        return dist.Normal(mean_z, torch.exp(logstd_z))

    def forward(self, p: Tensor, occ: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The bound of the likelihood and its two parts."""
        c = self.encode_inputs(inputs)
        q_z = self.infer_z(p, occ, c)
        z = q_z.rsample()
        p_r = self.decode(p, z, c)
        rec_error: Tensor = -p_r.log_prob(occ).sum(dim=-1)  # type: ignore[no-untyped-call]
        p0_z = dist.Normal(self.p0_z_mean, torch.ones_like(self.p0_z_mean))
        kl = dist.kl_divergence(q_z, p0_z).sum(dim=-1)
        elbo = -rec_error - kl
        return elbo, rec_error, kl


class LipConv(nn.Module):
    """A convolution with norm, activation and maybe a skip; of all three nets."""

    def __init__(
        self, cin: int, cout: int, kernel_size: Any, stride: Any, padding: Any, residual: bool = False
    ) -> None:
        super().__init__()
        self.conv_block = nn.Sequential(nn.Conv2d(cin, cout, kernel_size, stride, padding), nn.BatchNorm2d(cout))
        self.act, self.residual = nn.ReLU(), residual

    def forward(self, x: Tensor) -> Tensor:
        """Never negative."""
        out = self.conv_block(x)
        if self.residual:
            out += x
        return self.act(out)


class LipConvTranspose(nn.Module):
    """Twice the size."""

    def __init__(self, cin: int, cout: int, kernel_size: int, stride: int, padding: int, output_padding: int = 0):
        super().__init__()
        conv = nn.ConvTranspose2d(cin, cout, kernel_size, stride, padding, output_padding)
        self.conv_block, self.act = nn.Sequential(conv, nn.BatchNorm2d(cout)), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """Never negative."""
        return self.act(self.conv_block(x))


def same(c: int) -> LipConv:
    """A residual layer of the same size."""
    return LipConv(c, c, kernel_size=3, stride=1, padding=1, residual=True)


class Wav2Lip(nn.Module):
    """A face whose lips move as a sound says."""

    def __init__(self) -> None:
        super().__init__()
        self.face_encoder_blocks = nn.ModuleList([
            nn.Sequential(LipConv(6, 8, kernel_size=7, stride=1, padding=3)),
            nn.Sequential(LipConv(8, 16, kernel_size=3, stride=2, padding=1), same(16), same(16)),
            nn.Sequential(LipConv(16, 32, kernel_size=3, stride=2, padding=1), same(32), same(32), same(32)),
            nn.Sequential(LipConv(32, 64, kernel_size=3, stride=2, padding=1), same(64), same(64)),
            nn.Sequential(LipConv(64, 128, kernel_size=3, stride=2, padding=1), same(128), same(128)),
            nn.Sequential(LipConv(128, 128, kernel_size=3, stride=2, padding=1), same(128)),
            nn.Sequential(LipConv(128, 128, 3, stride=1, padding=0), LipConv(128, 128, 1, stride=1, padding=0)),
        ])  # fmt: skip
        self.audio_encoder = nn.Sequential(
            LipConv(1, 16, kernel_size=3, stride=1, padding=1), same(16), same(16),
            LipConv(16, 32, kernel_size=3, stride=(3, 1), padding=1), same(32), same(32),
            LipConv(32, 64, kernel_size=3, stride=3, padding=1), same(64), same(64),
            LipConv(64, 128, kernel_size=3, stride=(3, 2), padding=1), same(128),
            LipConv(128, 128, 3, stride=1, padding=0), LipConv(128, 128, 1, stride=1, padding=0),
        )  # fmt: skip
        self.face_decoder_blocks = nn.ModuleList([
            nn.Sequential(LipConv(128, 128, kernel_size=1, stride=1, padding=0)),
            nn.Sequential(LipConvTranspose(256, 128, kernel_size=3, stride=1, padding=0), same(128)),
            nn.Sequential(LipConvTranspose(256, 128, 3, stride=2, padding=1, output_padding=1), same(128), same(128)),
            nn.Sequential(LipConvTranspose(256, 96, 3, stride=2, padding=1, output_padding=1), same(96), same(96)),
            nn.Sequential(LipConvTranspose(160, 64, 3, stride=2, padding=1, output_padding=1), same(64), same(64)),
            nn.Sequential(LipConvTranspose(96, 32, 3, stride=2, padding=1, output_padding=1), same(32), same(32)),
            nn.Sequential(LipConvTranspose(48, 16, 3, stride=2, padding=1, output_padding=1), same(16), same(16)),
        ])  # fmt: skip
        self.output_block = nn.Sequential(
            LipConv(24, 8, kernel_size=3, stride=1, padding=1), nn.Conv2d(8, 3, 1, stride=1, padding=0), nn.Sigmoid()
        )

    def forward(self, audio_sequences: Tensor, face_sequences: Tensor) -> Tensor:
        """Frames, as many as come in."""
        batch = audio_sequences.size(0)
        input_dim_size = len(face_sequences.size())
        if input_dim_size > 4:
            audio_sequences = torch.cat([audio_sequences[:, i] for i in range(audio_sequences.size(1))], dim=0)
            face_sequences = torch.cat([face_sequences[:, :, i] for i in range(face_sequences.size(2))], dim=0)
        audio_embedding = self.audio_encoder(audio_sequences)
        feats = []
        x = face_sequences
        for f in self.face_encoder_blocks:
            x = f(x)
            feats.append(x)
        x = audio_embedding
        for f in self.face_decoder_blocks:
            x = f(x)
            x = torch.cat((x, feats[-1]), dim=1)
            feats.pop()
        x = self.output_block(x)
        if input_dim_size > 4:
            frames = torch.split(x, batch, dim=0)
            return torch.stack(frames, dim=2)
        return x


class Bottleneck(nn.Module):
    """The block of the backbone."""

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False), nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn2, self.bn3 = nn.BatchNorm2d(planes), nn.BatchNorm2d(planes * 4)
        self.conv3 = nn.Conv2d(planes, planes * 4, kernel_size=1, bias=False)
        self.relu, self.downsample = nn.ReLU(inplace=True), downsample

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        return self.relu(out)


class ResNetBackbone(nn.Module):
    """Features of four stages."""

    def __init__(self, layers: tuple[int, ...], base: int = 8) -> None:
        super().__init__()
        self.inplanes, self.channels = base, []
        self.conv1 = nn.Conv2d(3, base, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(base), nn.ReLU(inplace=True)
        self.maxpool, self.layers = nn.MaxPool2d(kernel_size=3, stride=2, padding=1), nn.ModuleList()
        for i, blocks in enumerate(layers):
            self._make_layer(base * 2**i, blocks, stride=1 if i == 0 else 2)

    def _make_layer(self, planes: int, blocks: int, stride: int) -> None:
        outplanes = planes * Bottleneck.expansion
        conv = nn.Conv2d(self.inplanes, outplanes, kernel_size=1, stride=stride, bias=False)
        downsample = nn.Sequential(conv, nn.BatchNorm2d(outplanes))
        layers = [Bottleneck(self.inplanes, planes, stride, downsample)]
        self.inplanes = outplanes
        layers += [Bottleneck(self.inplanes, planes) for _ in range(1, blocks)]
        self.channels.append(outplanes)
        self.layers.append(nn.Sequential(*layers))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """From the largest to the smallest."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        outs = []
        for layer in self.layers:
            x = layer(x)
            outs.append(x)
        return tuple(outs)


class SegDetector(nn.Module):
    """Text: maps of probabilities and of thresholds, and their difference made steep (differentiable binarization)."""

    def __init__(self, in_channels: list[int], inner_channels: int = 64, k: int = 50, adaptive: bool = True) -> None:
        super().__init__()
        self.k, self.adaptive = k, adaptive
        self.up5, self.up4 = nn.Upsample(scale_factor=2, mode="nearest"), nn.Upsample(scale_factor=2, mode="nearest")
        self.up3 = nn.Upsample(scale_factor=2, mode="nearest")
        self.in5 = nn.Conv2d(in_channels[-1], inner_channels, 1, bias=False)
        self.in4 = nn.Conv2d(in_channels[-2], inner_channels, 1, bias=False)
        self.in3 = nn.Conv2d(in_channels[-3], inner_channels, 1, bias=False)
        self.in2 = nn.Conv2d(in_channels[-4], inner_channels, 1, bias=False)
        quarter = inner_channels // 4
        self.out5 = nn.Sequential(
            nn.Conv2d(inner_channels, quarter, 3, padding=1, bias=False), nn.Upsample(scale_factor=8, mode="nearest")
        )
        self.out4 = nn.Sequential(
            nn.Conv2d(inner_channels, quarter, 3, padding=1, bias=False), nn.Upsample(scale_factor=4, mode="nearest")
        )
        self.out3 = nn.Sequential(
            nn.Conv2d(inner_channels, quarter, 3, padding=1, bias=False), nn.Upsample(scale_factor=2, mode="nearest")
        )
        self.out2 = nn.Conv2d(inner_channels, quarter, 3, padding=1, bias=False)
        self.binarize = self._init_head(inner_channels)
        if adaptive:
            self.thresh = self._init_head(inner_channels)

    @staticmethod
    def _init_head(inner_channels: int) -> nn.Sequential:
        quarter = inner_channels // 4
        return nn.Sequential(
            nn.Conv2d(inner_channels, quarter, 3, padding=1, bias=False), nn.BatchNorm2d(quarter), nn.ReLU(True),
            nn.ConvTranspose2d(quarter, quarter, 2, 2), nn.BatchNorm2d(quarter), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(quarter, 1, 2, 2), nn.Sigmoid(),
        )  # fmt: skip

    def step_function(self, x: Tensor, y: Tensor) -> Tensor:
        """Nearly zero or one."""
        return torch.reciprocal(1 + torch.exp(-self.k * (x - y)))

    def forward(self, features: tuple[Tensor, ...]) -> OrderedDict[str, Tensor]:
        """The maps, as large as the image."""
        c2, c3, c4, c5 = features
        in5, in4, in3, in2 = self.in5(c5), self.in4(c4), self.in3(c3), self.in2(c2)
        out4 = self.up5(in5) + in4
        out3 = self.up4(out4) + in3
        out2 = self.up3(out3) + in2
        p5, p4, p3, p2 = self.out5(in5), self.out4(out4), self.out3(out3), self.out2(out2)
        fuse = torch.cat((p5, p4, p3, p2), 1)
        binary = self.binarize(fuse)
        result = OrderedDict(binary=binary)
        if self.adaptive:
            thresh = self.thresh(fuse)
            result.update(thresh=thresh, thresh_binary=self.step_function(binary, thresh))
        return result


class DBNet(nn.Module):
    """Where there is text in an image."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = ResNetBackbone((2, 2, 2, 2))
        self.decoder = SegDetector(self.backbone.channels)

    def forward(self, data: Tensor) -> OrderedDict[str, Tensor]:
        """The maps."""
        return self.decoder(self.backbone(data))


def center_size_to_corners(loc: Tensor, priors: Tensor) -> Tensor:
    """Boxes from what is predicted of their priors."""
    variances = (0.1, 0.2)
    boxes = torch.cat(
        (
            priors[:, :2] + loc[:, :2] * variances[0] * priors[:, 2:],
            priors[:, 2:] * torch.exp(loc[:, 2:] * variances[1]),
        ),
        1,
    )
    boxes[:, :2] -= boxes[:, 2:] / 2
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def jaccard(box_a: Tensor, box_b: Tensor) -> Tensor:
    """How much boxes of a class overlap."""
    max_xy = torch.min(box_a[:, :, None, 2:], box_b[:, None, :, 2:])
    min_xy = torch.max(box_a[:, :, None, :2], box_b[:, None, :, :2])
    inter = torch.clamp(max_xy - min_xy, min=0).prod(3)
    area_a = ((box_a[:, :, 2] - box_a[:, :, 0]) * (box_a[:, :, 3] - box_a[:, :, 1])).unsqueeze(2)
    area_b = ((box_b[:, :, 2] - box_b[:, :, 0]) * (box_b[:, :, 3] - box_b[:, :, 1])).unsqueeze(1)
    return inter / (area_a + area_b - inter)


class Detect:
    """The boxes that are left of all, by the fast suppression of the paper."""

    def __init__(self, top_k: int = 20, conf_thresh: float = 0.05, nms_thresh: float = 0.5, max_num: int = 10) -> None:
        self.top_k, self.conf_thresh, self.nms_thresh, self.max_num_detections = top_k, conf_thresh, nms_thresh, max_num

    def __call__(self, predictions: dict[str, Tensor]) -> list[dict[str, Tensor]]:
        """For each image."""
        conf_preds = predictions["conf"].transpose(2, 1).contiguous()
        out = []
        for batch_idx in range(predictions["loc"].size(0)):
            decoded_boxes = center_size_to_corners(predictions["loc"][batch_idx], predictions["priors"])
            cur_scores = conf_preds[batch_idx, 1:, :]
            conf_scores, _ = torch.max(cur_scores, dim=0)
            keep = conf_scores > self.conf_thresh
            result = self.fast_nms(decoded_boxes[keep, :], predictions["mask"][batch_idx, keep, :], cur_scores[:, keep])
            out.append({**result, "proto": predictions["proto"][batch_idx]})
        return out

    def fast_nms(self, boxes: Tensor, masks: Tensor, scores: Tensor) -> dict[str, Tensor]:
        """A box goes if a better of its class overlaps with it, even if that goes, too."""
        scores, idx = scores.sort(1, descending=True)
        idx, scores = idx[:, : self.top_k].contiguous(), scores[:, : self.top_k]
        num_classes, num_dets = idx.size()
        boxes = boxes[idx.view(-1), :].view(num_classes, num_dets, 4)
        masks = masks[idx.view(-1), :].view(num_classes, num_dets, -1)
        iou = jaccard(boxes, boxes).triu_(diagonal=1)
        iou_max, _ = iou.max(dim=1)
        keep = iou_max <= self.nms_thresh
        classes = torch.arange(num_classes)[:, None].expand_as(keep)[keep]
        boxes, masks, scores = boxes[keep], masks[keep], scores[keep]
        scores, idx = scores.sort(0, descending=True)
        idx, scores = idx[: self.max_num_detections], scores[: self.max_num_detections]
        return {"box": boxes[idx], "mask": masks[idx], "class": classes[idx], "score": scores}


class YolactFPN(nn.Module):
    """Features of all stages with as many channels, and two smaller ones."""

    def __init__(self, in_channels: list[int], num_features: int = 32, num_downsample: int = 2) -> None:
        super().__init__()
        self.num_downsample = num_downsample
        self.lat_layers = nn.ModuleList([nn.Conv2d(x, num_features, kernel_size=1) for x in reversed(in_channels)])
        self.pred_layers = nn.ModuleList([nn.Conv2d(num_features, num_features, 3, padding=1) for _ in in_channels])
        self.downsample_layers = nn.ModuleList(
            [nn.Conv2d(num_features, num_features, 3, padding=1, stride=2) for _ in range(num_downsample)]
        )

    def forward(self, convouts: list[Tensor]) -> list[Tensor]:
        """From the largest to the smallest."""
        out: list[Any] = [None] * len(convouts)
        x = torch.zeros(1)
        j = len(convouts)
        for lat_layer in self.lat_layers:
            j -= 1
            if j < len(convouts) - 1:
                _, _, h, w = convouts[j].size()
                x = F.interpolate(x, size=(h, w), mode="bilinear", align_corners=False)
            x = x + lat_layer(convouts[j])
            out[j] = x
        j = len(convouts)
        for pred_layer in self.pred_layers:
            j -= 1
            out[j] = F.relu(pred_layer(out[j]))
        for downsample_layer in self.downsample_layers:
            out.append(downsample_layer(out[-1]))
        return out


class PredictionModule(nn.Module):
    """Boxes, classes and coefficients of masks; all scales share the layers of the first."""

    def __init__(
        self, in_channels: int, scale: float, num_classes: int, mask_dim: int, parent: PredictionModule | None
    ) -> None:
        super().__init__()
        self.num_classes, self.mask_dim, self.aspect_ratios = num_classes, mask_dim, (1.0, 0.5, 2.0)
        self.num_priors, self.scale, self.parent = len(self.aspect_ratios), scale, [parent]
        if parent is None:
            self.upfeature = nn.Sequential(nn.Conv2d(in_channels, in_channels, 3, padding=1), nn.ReLU(inplace=True))
            self.bbox_layer = nn.Conv2d(in_channels, self.num_priors * 4, 3, padding=1)
            self.conf_layer = nn.Conv2d(in_channels, self.num_priors * self.num_classes, 3, padding=1)
            self.mask_layer = nn.Conv2d(in_channels, self.num_priors * self.mask_dim, 3, padding=1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Of all places of a scale."""
        src = self if self.parent[0] is None else self.parent[0]
        conv_h, conv_w = x.size(2), x.size(3)
        x = src.upfeature(x)
        bbox = src.bbox_layer(x).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1, 4)
        conf = src.conf_layer(x).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1, self.num_classes)
        mask = src.mask_layer(x).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1, self.mask_dim)
        mask = torch.tanh(mask)
        return {"loc": bbox, "conf": conf, "mask": mask, "priors": self.make_priors(conv_h, conv_w)}

    def make_priors(self, conv_h: int, conv_w: int) -> Tensor:
        """Boxes at each place, one for each ratio."""
        prior_data: list[float] = []
        for j, i in product(range(conv_h), range(conv_w)):
            x, y = (i + 0.5) / conv_w, (j + 0.5) / conv_h
            for ar in self.aspect_ratios:
                prior_data += [x, y, self.scale * sqrt(ar), self.scale / sqrt(ar)]
        return torch.tensor(prior_data).view(-1, 4)


class Yolact(nn.Module):
    """Instances of objects: masks that all share, and how much of each an object has."""

    def __init__(self, num_classes: int = 6, mask_dim: int = 16, features: int = 32) -> None:
        super().__init__()
        self.backbone, self.selected_layers = ResNetBackbone((2, 2, 2, 2)), (1, 2, 3)
        self.fpn = YolactFPN([self.backbone.channels[i] for i in self.selected_layers], features)
        self.proto_net = nn.Sequential(
            nn.Conv2d(features, features, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(features, features, 3, padding=1), nn.ReLU(inplace=True),
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.ReLU(inplace=True),
            nn.Conv2d(features, features, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(features, mask_dim, 1),
        )  # fmt: skip
        self.prediction_layers: Any = nn.ModuleList()
        for idx in range(len(self.selected_layers) + 2):
            parent = self.prediction_layers[0] if idx > 0 else None
            self.prediction_layers.append(PredictionModule(features, 0.1 * 1.5**idx, num_classes, mask_dim, parent))
        self.detect = Detect()

    def forward(self, x: Tensor) -> list[dict[str, Tensor]]:
        """Boxes, classes, scores and masks of each image."""
        outs = self.backbone(x)
        outs = self.fpn([outs[i] for i in self.selected_layers])
        proto_out = F.relu(self.proto_net(outs[0]))
        proto_out = proto_out.permute(0, 2, 3, 1).contiguous()
        pred_outs: dict[str, Any] = {"loc": [], "conf": [], "mask": [], "priors": []}
        for idx, pred_layer in enumerate(self.prediction_layers):
            p = pred_layer(outs[idx])
            for k, v in p.items():
                pred_outs[k].append(v)
        for k, v in pred_outs.items():
            pred_outs[k] = torch.cat(v, -2)
        pred_outs["proto"] = proto_out
        pred_outs["conf"] = F.softmax(pred_outs["conf"], -1)
        dets = self.detect(pred_outs)
        for det in dets:
            det["masks"] = torch.sigmoid(det.pop("proto") @ det["mask"].t())
        return dets


NETS = [
    Entry("own/realnvp", RealNVP, given(lambda: torch.rand(2, 3, 16, 16))),
    Entry("own/modnet", MODNet, given(numbers(1, 3, 64, 64))),
    Entry("own/pcn", CompletionTrainer, given(numbers(2, 128, 3), numbers(2, 256, 3))),
    Entry("own/rcan", RCAN, given(numbers(1, 3, 16, 16))),
    Entry(
        "own/occupancy_network",
        OccupancyNetwork,
        given(numbers(2, 64, 3), lambda: torch.randint(0, 2, (2, 64)).float(), numbers(2, 80, 3)),
    ),
    Entry("own/wav2lip", Wav2Lip, given(numbers(2, 3, 1, 80, 16), numbers(2, 6, 3, 96, 96))),
    Entry("own/dbnet", DBNet, given(numbers(1, 3, 64, 64))),
    Entry("own/yolact", Yolact, given(numbers(1, 3, 128, 128))),
]
