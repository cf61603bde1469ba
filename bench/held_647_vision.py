"""Nets of images, weather, particles and proteins as repositories write them, of the seventeenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the six lists after it, `random.Random(647).sample(that, 12)`:

    solov2 quartznet levenshtein_transformer soft_moe code2vec neural_relational_inference omnianomaly gvp da_rnn
    pangu_weather feudal_network pranet

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from bench.held_397_vision import TOPICS as _OF_SEVEN_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from bench.held_541_vision import TOPICS as _OF_SEED_541
from bench.held_577_vision import TOPICS as _OF_SEED_577
from bench.held_613_vision import TOPICS as _OF_SEED_613
from tests.corpus.entry import Entry, given, numbers

_OF_SEED_397 = random.Random(397).sample(_OF_SEVEN_LISTS.split(), 15)
_DRAWN_BEFORE = {
    *(*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503),
    *(*_OF_SEED_541, *_OF_SEED_577, *_OF_SEED_613),
}
TOPICS = random.Random(647).sample([it for it in sorted(_OF_SEVEN_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


def conv_norm(
    n_in: int, n_out: int, kernel: int | tuple[int, int] = 3, stride: int = 1, dilation: int = 1
) -> nn.Sequential:
    """A convolution that keeps the size but for its stride, and its norm."""
    height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = (dilation * (height // 2), dilation * (width // 2))
    conv = nn.Conv2d(n_in, n_out, (height, width), stride, padding, dilation, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(n_out))


class BasicBlock(nn.Module):
    """Two convolutions added to their input."""

    def __init__(self, inplanes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = conv_norm(inplanes, planes, 1, stride) if stride > 1 or inplanes != planes else None

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, planes, height / stride, width / stride)."""
        identity = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += identity
        return F.relu(out)


class ResNetFPN(nn.Module):
    """A residual network and the pyramid on top of it, of features at strides 4, 8, 16, 32 and 64."""

    def __init__(self, layers: Sequence[int], base: int, out_channels: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, base, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.stages, self.lateral_convs, self.fpn_convs = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        inplanes = base
        for i, n_blocks in enumerate(layers):
            planes = base * 2**i
            blocks = [BasicBlock(inplanes, planes, 1 if i == 0 else 2)]
            blocks += [BasicBlock(planes, planes) for _ in range(1, n_blocks)]
            self.stages.append(nn.Sequential(*blocks))
            self.lateral_convs.append(nn.Conv2d(planes, out_channels, 1))
            self.fpn_convs.append(nn.Conv2d(out_channels, out_channels, 3, padding=1))
            inplanes = planes

    def forward(self, x: Tensor) -> list[Tensor]:
        """Five maps, the finest first."""
        x = self.stem(x)
        laterals = []
        for stage, lateral in zip(self.stages, self.lateral_convs, strict=True):
            x = stage(x)
            laterals.append(lateral(x))
        for i in range(len(laterals) - 1, 0, -1):
            laterals[i - 1] = laterals[i - 1] + F.interpolate(laterals[i], size=laterals[i - 1].shape[-2:])
        outs = [conv(lateral) for conv, lateral in zip(self.fpn_convs, laterals, strict=True)]
        outs.append(F.max_pool2d(outs[-1], 1, stride=2))
        return outs


def with_coordinates(x: Tensor) -> Tensor:
    """Features and two more channels, of x and y from -1 to 1."""
    rows = torch.linspace(-1, 1, x.shape[-2], device=x.device)
    columns = torch.linspace(-1, 1, x.shape[-1], device=x.device)
    y, x_range = torch.meshgrid(rows, columns, indexing="ij")
    coord = torch.stack([x_range, y]).expand(x.shape[0], -1, -1, -1)
    return torch.cat([x, coord], dim=1)


def conv_gn(n_in: int, n_out: int, kernel: int = 3) -> nn.Sequential:
    """A convolution, a norm of groups of channels, and an activation."""
    conv = nn.Conv2d(n_in, n_out, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.GroupNorm(4, n_out), nn.ReLU(inplace=True))


class MaskFeatHead(nn.Module):
    """Features of the masks of all instances, from all levels at the size of the finest."""

    def __init__(self, in_channels: int, out_channels: int, n_levels: int) -> None:
        super().__init__()
        self.convs_all_levels = nn.ModuleList()
        for level in range(n_levels):
            convs = nn.Sequential()
            if level == 0:
                convs.append(conv_gn(in_channels, in_channels))
            for j in range(level):
                coords = 2 if j == 0 and level == n_levels - 1 else 0
                convs.append(conv_gn(in_channels + coords, in_channels))
                convs.append(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False))
            self.convs_all_levels.append(convs)
        self.conv_pred = conv_gn(in_channels, out_channels, 1)

    def forward(self, feats: Sequence[Tensor]) -> Tensor:
        """Features (batch, out_channels, height / 4, width / 4)."""
        merged = self.convs_all_levels[0](feats[0])
        for i, convs in enumerate(self.convs_all_levels[1:], start=1):
            level = with_coordinates(feats[i]) if i == len(self.convs_all_levels) - 1 else feats[i]
            merged = merged + convs(level)
        return self.conv_pred(merged)


class SOLOv2Head(nn.Module):
    """Classes of the cells of a grid, and the kernel that makes the mask of the instance in each cell."""

    def __init__(
        self, num_classes: int, in_channels: int, feat_channels: int, kernel_channels: int, stacked_convs: int,
        num_grids: Sequence[int],
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_grids = num_grids
        self.cate_convs, self.kernel_convs = nn.ModuleList(), nn.ModuleList()
        for i in range(stacked_convs):
            chn = in_channels if i == 0 else feat_channels
            self.cate_convs.append(conv_gn(chn, feat_channels))
            self.kernel_convs.append(conv_gn(chn + 2 if i == 0 else chn, feat_channels))
        self.solo_cate = nn.Conv2d(feat_channels, num_classes, 3, padding=1)
        self.solo_kernel = nn.Conv2d(feat_channels, kernel_channels, 3, padding=1)
        nn.init.constant_(self.solo_cate.bias, -math.log(99))  # type: ignore[arg-type]

    def split_feats(self, feats: Sequence[Tensor]) -> list[Tensor]:
        """The levels of the pyramid, of which the outermost are brought nearer to the others."""
        first = F.interpolate(feats[0], scale_factor=0.5, mode="bilinear", recompute_scale_factor=True)
        last = F.interpolate(feats[4], size=feats[3].shape[-2:], mode="bilinear")
        return [first, feats[1], feats[2], feats[3], last]

    def forward_single(self, x: Tensor, num_grid: int) -> tuple[Tensor, Tensor]:
        """Scores (batch, cells, classes) and kernels (batch, cells, kernel_channels) of one level."""
        kernel = F.interpolate(with_coordinates(x), size=num_grid, mode="bilinear")
        cate = kernel[:, :-2]
        for conv in self.kernel_convs:
            kernel = conv(kernel)
        for conv in self.cate_convs:
            cate = conv(cate)
        score = self.solo_cate(cate).sigmoid()
        # only the peaks among neighbouring cells are kept
        peak = F.max_pool2d(score, 2, stride=1, padding=1)[:, :, :-1, :-1]
        score = score * (peak == score)
        return score.flatten(2).mT, self.solo_kernel(kernel).flatten(2).mT

    def forward(self, feats: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Scores and kernels of the cells of all levels."""
        outs = [self.forward_single(x, grid) for x, grid in zip(self.split_feats(feats), self.num_grids, strict=True)]
        scores, kernels = zip(*outs, strict=True)
        return torch.cat(scores, dim=1), torch.cat(kernels, dim=1)


def matrix_nms(masks: Tensor, labels: Tensor, scores: Tensor, sigma: float = 2.0) -> Tensor:
    """Scores (n) that are lowered as far as a mask (n, height, width) of a higher one covers the same pixels."""
    flat = masks.flatten(1).float()
    inter = flat @ flat.T
    area = flat.sum(dim=1)
    iou = inter / (area[:, None] + area[None, :] - inter).clamp(min=1)
    same_label = labels[:, None] == labels[None, :]
    iou = (iou * same_label).triu(diagonal=1)
    compensate = iou.amax(dim=0)
    decay = torch.exp(-sigma * iou**2) / torch.exp(-sigma * compensate[:, None] ** 2)
    return scores * decay.amin(dim=0)


class SOLOv2(nn.Module):
    """Instances in images without boxes: each cell of a grid gives the filter that finds its own instance."""

    def __init__(
        self, num_classes: int = 8, layers: Sequence[int] = (1, 2, 2, 1), base: int = 16, fpn_channels: int = 32,
        feat_channels: int = 32, mask_channels: int = 16, stacked_convs: int = 2,
        num_grids: Sequence[int] = (12, 10, 8, 6, 4), nms_pre: int = 20, max_per_img: int = 5, mask_thr: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        self.nms_pre, self.max_per_img, self.mask_thr = nms_pre, max_per_img, mask_thr
        self.backbone = ResNetFPN(layers, base, fpn_channels)
        self.mask_feat_head = MaskFeatHead(fpn_channels, mask_channels, n_levels=4)
        self.bbox_head = SOLOv2Head(num_classes, fpn_channels, feat_channels, mask_channels, stacked_convs, num_grids)

    def get_seg_single(self, score: Tensor, kernel: Tensor, feature: Tensor, size: torch.Size) -> dict[str, Tensor]:
        """The surest instances of one image: masks (instances, height, width), labels and scores."""
        best, index = score.flatten().topk(self.nms_pre)
        cell, label = index // score.shape[1], index % score.shape[1]
        soft = F.conv2d(feature[None], kernel[cell][:, :, None, None])[0].sigmoid()
        hard = soft > self.mask_thr
        # the score of a mask also tells how clearly its pixels belong to it
        best = best * (soft * hard).sum(dim=(1, 2)) / hard.sum(dim=(1, 2)).clamp(min=1)
        order = best.argsort(descending=True)
        soft, hard, label, best = soft[order], hard[order], label[order], best[order]
        best, keep = matrix_nms(hard, label, best).topk(self.max_per_img)
        masks = F.interpolate(soft[keep][None], size=size, mode="bilinear", align_corners=False)[0]
        return {"masks": masks > self.mask_thr, "labels": label[keep], "scores": best}

    def forward(self, img: Tensor) -> list[dict[str, Tensor]]:
        """Instances of each image."""
        feats = self.backbone(img)
        mask_feat = self.mask_feat_head(feats[:-1])
        scores, kernels = self.bbox_head(feats)
        return [self.get_seg_single(scores[i], kernels[i], mask_feat[i], img.shape[-2:]) for i in range(img.shape[0])]


class Bottle2neck(nn.Module):
    """A bottleneck whose middle convolution is a row of small ones, each of which also sees what the one before did."""

    expansion = 2

    def __init__(self, inplanes: int, planes: int, stride: int, scale: int = 4, stype: str = "normal") -> None:
        super().__init__()
        self.scale, self.stype = scale, stype
        self.width = planes // scale
        self.conv1 = conv_norm(inplanes, self.width * scale, 1)
        self.convs = nn.ModuleList(conv_norm(self.width, self.width, 3, stride) for _ in range(scale - 1))
        self.pool = nn.AvgPool2d(3, stride, 1)
        self.conv3 = conv_norm(self.width * scale, planes * self.expansion, 1)
        self.downsample = None
        if stype == "stage":
            self.downsample = nn.Sequential(
                nn.AvgPool2d(stride, stride, ceil_mode=True, count_include_pad=False),
                conv_norm(inplanes, planes * self.expansion, 1),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, planes * expansion, height / stride, width / stride)."""
        spx = torch.split(self.conv1(x).relu(), self.width, dim=1)
        out = sp = spx[0]
        for i, conv in enumerate(self.convs):
            sp = spx[i] if i == 0 or self.stype == "stage" else sp + spx[i]
            sp = conv(sp).relu()
            out = sp if i == 0 else torch.cat((out, sp), 1)
        last = self.pool(spx[-1]) if self.stype == "stage" else spx[-1]
        out = self.conv3(torch.cat((out, last), 1))
        out += x if self.downsample is None else self.downsample(x)
        return out.relu()


class Res2Net(nn.Module):
    """A backbone of such bottlenecks, of whose features those of the last three stages are given."""

    def __init__(self, layers: Sequence[int], planes: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(conv_norm(3, planes, 3, 2), nn.ReLU(), conv_norm(planes, planes), nn.ReLU())
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.inplanes = planes
        self.layer1 = self._make_layer(planes, layers[0], 1)
        self.layer2 = self._make_layer(planes * 2, layers[1], 2)
        self.layer3 = self._make_layer(planes * 4, layers[2], 2)
        self.layer4 = self._make_layer(planes * 8, layers[3], 2)

    def _make_layer(self, planes: int, blocks: int, stride: int) -> nn.Sequential:
        layers = [Bottle2neck(self.inplanes, planes, stride, stype="stage")]
        self.inplanes = planes * Bottle2neck.expansion
        layers += [Bottle2neck(self.inplanes, planes, 1) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Features at strides 8, 16 and 32."""
        x = self.layer1(self.maxpool(self.conv1(x)))
        x2 = self.layer2(x)
        x3 = self.layer3(x2)
        return x2, x3, self.layer4(x3)


class RFBModified(nn.Module):
    """Four branches that see ever wider fields, put together and added to a shortcut."""

    def __init__(self, in_channel: int, out_channel: int) -> None:
        super().__init__()
        self.branch0 = conv_norm(in_channel, out_channel, 1)
        self.branch1, self.branch2, self.branch3 = (
            nn.Sequential(
                conv_norm(in_channel, out_channel, 1),
                conv_norm(out_channel, out_channel, (1, k)),
                conv_norm(out_channel, out_channel, (k, 1)),
                conv_norm(out_channel, out_channel, 3, dilation=k),
            )
            for k in (3, 5, 7)
        )
        self.conv_cat = conv_norm(4 * out_channel, out_channel)
        self.conv_res = conv_norm(in_channel, out_channel, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, out_channel, height, width)."""
        x0, x1, x2, x3 = self.branch0(x), self.branch1(x), self.branch2(x), self.branch3(x)
        x_cat = self.conv_cat(torch.cat((x0, x1, x2, x3), 1))
        return F.relu(x_cat + self.conv_res(x))


class PartialDecoder(nn.Module):
    """A first map of what is looked for, from the three deepest features, which multiply one another."""

    def __init__(self, channel: int) -> None:
        super().__init__()
        self.upsample = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv_upsample1, self.conv_upsample2, self.conv_upsample3, self.conv_upsample4 = (
            conv_norm(channel, channel) for _ in range(4)
        )
        self.conv_upsample5 = conv_norm(2 * channel, 2 * channel)
        self.conv_concat2 = conv_norm(2 * channel, 2 * channel)
        self.conv_concat3 = conv_norm(3 * channel, 3 * channel)
        self.conv4 = conv_norm(3 * channel, 3 * channel)
        self.conv5 = nn.Conv2d(3 * channel, 1, 1)

    def forward(self, x1: Tensor, x2: Tensor, x3: Tensor) -> Tensor:
        """A map (batch, 1, height, width) of the size of `x3`; `x1` is the deepest."""
        up = self.upsample
        x2_1 = self.conv_upsample1(up(x1)) * x2
        x3_1 = self.conv_upsample2(up(up(x1))) * self.conv_upsample3(up(x2)) * x3
        x2_2 = self.conv_concat2(torch.cat((x2_1, self.conv_upsample4(up(x1))), 1))
        x3_2 = self.conv_concat3(torch.cat((x3_1, self.conv_upsample5(up(x2_2))), 1))
        return self.conv5(self.conv4(x3_2))


class ReverseAttention(nn.Module):
    """A correction of a coarse map from what it has not found yet."""

    def __init__(self, in_channel: int, channel: int, kernel_size: int, depth: int) -> None:
        super().__init__()
        self.reduce = conv_norm(in_channel, channel, 1)
        self.convs = nn.ModuleList(conv_norm(channel, channel, kernel_size) for _ in range(depth))
        self.predict = conv_norm(channel, 1, 1 if kernel_size > 3 else 3)

    def forward(self, coarse: Tensor, feature: Tensor) -> Tensor:
        """A map (batch, 1, height, width) of the size of the features."""
        crop = F.interpolate(coarse, size=feature.shape[-2:], mode="bilinear")
        x = (1 - torch.sigmoid(crop)) * feature
        x = self.reduce(x)
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.predict(x) + crop


def structure_loss(pred: Tensor, mask: Tensor) -> Tensor:
    """Cross entropy and overlap, in which pixels count more the less they are like those around them."""
    weit = 1 + 5 * torch.abs(F.avg_pool2d(mask, 31, stride=1, padding=15) - mask)
    wbce = F.binary_cross_entropy_with_logits(pred, mask, reduction="none")
    wbce = (weit * wbce).sum(dim=(2, 3)) / weit.sum(dim=(2, 3))
    pred = torch.sigmoid(pred)
    inter = (pred * mask * weit).sum(dim=(2, 3))
    union = ((pred + mask) * weit).sum(dim=(2, 3))
    return (wbce + 1 - (inter + 1) / (union - inter + 1)).mean()


class PraNet(nn.Module):
    """Polyps in images of a bowel: a rough map of the deepest features, and three steps that find its borders."""

    def __init__(self, channel: int = 16, planes: int = 16, layers: Sequence[int] = (1, 2, 2, 1)) -> None:
        super().__init__()
        self.resnet = Res2Net(layers, planes)
        n2, n3, n4 = (planes * 2**i * Bottle2neck.expansion for i in (1, 2, 3))
        self.rfb2_1 = RFBModified(n2, channel)
        self.rfb3_1 = RFBModified(n3, channel)
        self.rfb4_1 = RFBModified(n4, channel)
        self.agg1 = PartialDecoder(channel)
        self.ra4 = ReverseAttention(n4, 4 * channel, 5, 3)
        self.ra3 = ReverseAttention(n3, channel, 3, 2)
        self.ra2 = ReverseAttention(n2, channel, 3, 2)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor]:
        """Logits (batch, 1, height, width) of the four maps, the finest last, and the sum of their losses."""
        size = x.shape[-2:]
        x2, x3, x4 = self.resnet(x)
        coarse = self.agg1(self.rfb4_1(x4), self.rfb3_1(x3), self.rfb2_1(x2))
        map_4 = self.ra4(coarse, x4)
        map_3 = self.ra3(map_4, x3)
        map_2 = self.ra2(map_3, x2)
        lateral = [F.interpolate(it, size=size, mode="bilinear") for it in (coarse, map_4, map_3, map_2)]
        loss = torch.stack([structure_loss(it, mask) for it in lateral]).sum()
        return lateral, loss


NETS = [
    Entry("own/solov2", SOLOv2, given(numbers(1, 3, 128, 160))),
    Entry("own/pranet", PraNet, given(numbers(2, 3, 96, 96), lambda: (torch.rand(2, 1, 96, 96) > 0.7).float())),
]
