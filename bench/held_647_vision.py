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


class Attention(nn.Module):
    """Attention of every patch to every other."""

    def __init__(self, dim: int, num_heads: int, qkv_bias: bool = True, proj_drop: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape (batch, patches, dim)."""
        B, N, C = x.shape  # noqa: N806
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        x = (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(x))


class ExpertMlps(nn.Module):
    """As many small networks as there are experts, all computed at once from weights with an axis of experts."""

    def __init__(self, n_experts: int, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(n_experts, dim, hidden_dim) / math.sqrt(dim))
        self.b1 = nn.Parameter(torch.zeros(n_experts, 1, hidden_dim))
        self.w2 = nn.Parameter(torch.randn(n_experts, hidden_dim, dim) / math.sqrt(hidden_dim))
        self.b2 = nn.Parameter(torch.zeros(n_experts, 1, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the same shape as what each expert is given (batch, experts, slots, dim)."""
        hidden = F.gelu(torch.einsum("bnsd,ndh->bnsh", x, self.w1) + self.b1)
        return torch.einsum("bnsh,nhd->bnsd", hidden, self.w2) + self.b2


class SoftMoELayerWrapper(nn.Module):
    """A layer of experts, each of which is given mixtures of all patches and gives its share to all of them."""

    def __init__(self, dim: int, num_experts: int, slots_per_expert: int, layer: nn.Module, normalize: bool) -> None:
        super().__init__()
        self.normalize = normalize
        self.phi = nn.Parameter(torch.randn(dim, num_experts, slots_per_expert) / math.sqrt(dim))
        self.scale = nn.Parameter(torch.ones(1))
        self.experts = layer

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape (batch, patches, dim)."""
        if self.normalize:
            phi = self.scale * F.normalize(self.phi, dim=0)
            logits = torch.einsum("bmd,dnp->bmnp", F.normalize(x, dim=2), phi)
        else:
            logits = torch.einsum("bmd,dnp->bmnp", x, self.phi)
        dispatch = logits.softmax(dim=1)
        combine = logits.flatten(2).softmax(dim=-1).view_as(logits)
        slots = torch.einsum("bmd,bmnp->bnpd", x, dispatch)
        return torch.einsum("bnpd,bmnp->bmd", self.experts(slots), combine)


class SoftMoEBlock(nn.Module):
    """A block of a vision transformer whose network is a layer of experts or a plain one."""

    def __init__(self, dim: int, num_heads: int, mlp: nn.Module, drop: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, num_heads, proj_drop=drop)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = mlp

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def sincos_2d(height: int, width: int, dim: int, temperature: float = 10_000.0) -> Tensor:
    """Places of patches in rows and columns, as sines and cosines (height * width, dim)."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    omega = temperature ** (-torch.arange(dim // 4) / (dim // 4 - 1))
    y, x = y.flatten()[:, None] * omega, x.flatten()[:, None] * omega
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)


class SoftMoEVisionTransformer(nn.Module):
    """A classifier of images whose later blocks have many experts that none of the patches is refused by."""

    pos_embed: Tensor

    def __init__(
        self, img_size: int = 32, patch_size: int = 4, in_chans: int = 3, num_classes: int = 10, embed_dim: int = 64,
        depth: int = 6, num_heads: int = 4, mlp_ratio: float = 4.0, num_experts: int = 8, slots_per_expert: int = 4,
        moe_layer_index: int | Sequence[int] = 3, normalize: bool = True, drop_rate: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        hidden_dim = int(embed_dim * mlp_ratio)
        if isinstance(moe_layer_index, int):
            moe_layer_index = range(moe_layer_index, depth)
        self.patch_embed = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)
        grid = img_size // patch_size
        self.register_buffer("pos_embed", sincos_2d(grid, grid, embed_dim), persistent=False)
        self.pos_drop = nn.Dropout(drop_rate)
        blocks = []
        for i in range(depth):
            if i in moe_layer_index:
                experts = ExpertMlps(num_experts, embed_dim, hidden_dim)
                mlp: nn.Module = SoftMoELayerWrapper(embed_dim, num_experts, slots_per_expert, experts, normalize)
            else:
                mlp = nn.Sequential(
                    nn.Linear(embed_dim, hidden_dim), nn.GELU(), nn.Dropout(drop_rate),
                    nn.Linear(hidden_dim, embed_dim), nn.Dropout(drop_rate),
                )  # fmt: skip
            blocks.append(SoftMoEBlock(embed_dim, num_heads, mlp, drop_rate))
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.fc_norm = nn.Identity()
        self.head = nn.Linear(embed_dim, num_classes) if num_classes > 0 else nn.Identity()

    def forward_features(self, x: Tensor) -> Tensor:
        """Features of patches (batch, patches, dim)."""
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = self.pos_drop(x + self.pos_embed)
        return self.norm(self.blocks(x))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (batch, classes)."""
        x = self.forward_features(x).mean(dim=1)
        return self.head(self.fc_norm(x))


class EarthAttention3D(nn.Module):
    """Attention within windows of the air, with biases of their own for each height and latitude.

    Windows at different longitudes share them, since the earth turns under the same sun.
    """

    position_index: Tensor

    def __init__(self, dim: int, heads: int, window: Sequence[int], n_types: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.n_types = heads, n_types
        z, h, w = window
        self.linear1 = nn.Linear(dim, 3 * dim)
        self.linear2 = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(dropout)
        self.earth_specific_bias = nn.Parameter(torch.zeros(z * z * h * h * (2 * w - 1), n_types, heads))
        nn.init.trunc_normal_(self.earth_specific_bias, std=0.02)
        self.register_buffer("position_index", self._index(z, h, w), persistent=False)

    @staticmethod
    def _index(z: int, h: int, w: int) -> Tensor:
        # pairs of heights and of latitudes are told apart as they are, of longitudes only by their difference
        cells = torch.cartesian_prod(torch.arange(z), torch.arange(h), torch.arange(w))
        one, other = cells[:, None], cells[None, :]
        height = one[..., 0] + z * other[..., 0]
        latitude = one[..., 1] + h * other[..., 1]
        longitude = one[..., 2] - other[..., 2] + w - 1
        return ((height * h * h + latitude) * (2 * w - 1) + longitude).flatten()

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Features (batch * longitudes, types, cells, dim); the mask is (longitudes, types, cells, cells)."""
        b, t, n, c = x.shape
        q, k, v = self.linear1(x).view(b, t, n, 3, self.heads, c // self.heads).permute(3, 0, 1, 4, 2, 5)
        attention = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        bias = self.earth_specific_bias[self.position_index].view(n, n, t, self.heads)
        attention = attention + bias.permute(2, 3, 0, 1).unsqueeze(0)
        if mask is not None:
            attention = attention.unflatten(0, (-1, len(mask))) + mask[:, :, None]
            attention = attention.flatten(0, 1)
        out = self.dropout(attention.softmax(dim=-1)) @ v
        return self.dropout(self.linear2(out.transpose(2, 3).flatten(3)))


class EarthSpecificBlock(nn.Module):
    """Attention of windows, which every other block shifts by half their size, and a network of two layers."""

    mask: Tensor | None

    def __init__(
        self, dim: int, heads: int, resolution: tuple[int, int, int], window: tuple[int, int, int], roll: bool,
        drop_path: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.resolution, self.window, self.drop_path = resolution, window, drop_path
        self.shift = tuple(it // 2 for it in window) if roll else None
        n_types = (resolution[0] // window[0]) * (resolution[1] // window[1])
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = EarthAttention3D(dim, heads, window, n_types, 0.0)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.register_buffer("mask", self._mask() if roll else None, persistent=False)

    def _mask(self) -> Tensor:
        # the top of the air and its bottom are apart, so are the poles; but the last longitude is next to the first
        part = torch.zeros(1, *self.resolution, 1)
        for axis in (0, 1):
            edges = [-self.window[axis], -(self.window[axis] // 2)]
            for edge in edges:
                part.narrow(axis + 1, edge, -edge).add_(10**axis)
        part = self.to_windows(part).squeeze(-1)
        return (part.unsqueeze(2) != part.unsqueeze(3)) * -100.0

    def to_windows(self, x: Tensor) -> Tensor:
        """Windows (batch * longitudes, types, cells, dim) of features (batch, heights, latitudes, longitudes, dim)."""
        b, z, h, w, c = x.shape
        wz, wh, ww = self.window
        x = x.view(b, z // wz, wz, h // wh, wh, w // ww, ww, c).permute(0, 5, 1, 3, 2, 4, 6, 7)
        return x.reshape(b * (w // ww), -1, wz * wh * ww, c)

    def from_windows(self, x: Tensor) -> Tensor:
        """Features (batch, heights, latitudes, longitudes, dim) of windows."""
        (z, h, w), (wz, wh, ww) = self.resolution, self.window
        x = x.view(-1, w // ww, z // wz, h // wh, wz, wh, ww, x.shape[-1])
        return x.permute(0, 2, 4, 3, 5, 1, 6, 7).reshape(-1, z, h, w, x.shape[-1])

    def skip_some(self, x: Tensor) -> Tensor:
        """A change to add, which is dropped for some of the batch while training."""
        if not self.training or self.drop_path == 0:
            return x
        keep = torch.rand(x.shape[0], 1, 1, device=x.device) >= self.drop_path
        return x * keep / (1 - self.drop_path)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape (batch, cells of the air, dim)."""
        shortcut = x
        x = x.unflatten(1, self.resolution)
        if self.shift is not None:
            x = torch.roll(x, [-it for it in self.shift], dims=(1, 2, 3))
        x = self.from_windows(self.attention(self.to_windows(x), self.mask))
        if self.shift is not None:
            x = torch.roll(x, list(self.shift), dims=(1, 2, 3))
        x = shortcut + self.skip_some(self.norm1(x.flatten(1, 3)))
        return x + self.skip_some(self.norm2(self.mlp(x)))


class DownSample(nn.Module):
    """Four neighbours of the same height in one, with twice the features."""

    def __init__(self, dim: int, resolution: tuple[int, int, int]) -> None:
        super().__init__()
        self.resolution = resolution
        self.norm = nn.LayerNorm(4 * dim)
        self.linear = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, cells / 4, 2 * dim)."""
        z, h, w = self.resolution
        x = x.reshape(-1, z, h // 2, 2, w // 2, 2, x.shape[-1])
        x = x.permute(0, 1, 2, 4, 3, 5, 6).reshape(x.shape[0], z * (h // 2) * (w // 2), -1)
        return self.linear(self.norm(x))


class UpSample(nn.Module):
    """Each cell as four neighbours of the same height, with fewer features."""

    def __init__(self, n_in: int, n_out: int, resolution: tuple[int, int, int]) -> None:
        super().__init__()
        self.resolution = resolution
        self.linear1 = nn.Linear(n_in, 4 * n_out, bias=False)
        self.linear2 = nn.Linear(n_out, n_out, bias=False)
        self.norm = nn.LayerNorm(n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, cells, n_out)."""
        z, h, w = self.resolution
        x = self.linear1(x).view(x.shape[0], z, h // 2, w // 2, 2, 2, -1)
        x = x.permute(0, 1, 2, 4, 3, 5, 6).reshape(x.shape[0], z * h * w, -1)
        return self.linear2(self.norm(x))


class PanguModel(nn.Module):
    """The weather of some hours later, of the air at several heights and of the ground, from that of now."""

    constants: Tensor
    weather_mean: Tensor
    weather_std: Tensor

    def __init__(
        self, n_upper: int = 5, n_surface: int = 4, levels: int = 6, size: tuple[int, int] = (32, 64), dim: int = 32,
        patch: tuple[int, int, int] = (2, 4, 4), depths: Sequence[int] = (2, 4, 4, 2), heads: Sequence[int] = (2, 4),
        window: tuple[int, int, int] = (2, 4, 4), drop_path: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        fine = (1 + levels // patch[0], size[0] // patch[1], size[1] // patch[2])
        coarse = (fine[0], fine[1] // 2, fine[2] // 2)
        self.register_buffer("constants", torch.randn(1, 3, *size))  # land and sea, kinds of soil, heights of mountains
        self.register_buffer("weather_mean", torch.zeros(n_upper, 1, 1, 1))
        self.register_buffer("weather_std", torch.ones(n_upper, 1, 1, 1))
        self.fine = fine
        self.conv = nn.Conv3d(n_upper, dim, patch, patch)
        self.conv_surface = nn.Conv2d(n_surface + 3, dim, patch[1:], patch[1:])
        rates = iter(torch.linspace(0, drop_path, depths[0] + depths[1]).tolist() * 2)
        places = [
            (dim, heads[0], fine),
            (2 * dim, heads[1], coarse),
            (2 * dim, heads[1], coarse),
            (dim, heads[0], fine),
        ]
        self.layers = nn.ModuleList(
            nn.ModuleList(
                EarthSpecificBlock(width, n_heads, grid, window, i % 2 == 1, next(rates)) for i in range(depth)
            )
            for depth, (width, n_heads, grid) in zip(depths, places, strict=True)
        )
        self.downsample = DownSample(dim, fine)
        self.upsample = UpSample(2 * dim, dim, fine)
        self.deconv = nn.ConvTranspose3d(2 * dim, n_upper, patch, patch)
        self.deconv_surface = nn.ConvTranspose2d(2 * dim, n_surface, patch[1:], patch[1:])

    def embed(self, upper: Tensor, surface: Tensor) -> Tensor:
        """Cells (batch, cells, dim) of the air, of which those of the ground are the lowest."""
        air = self.conv((upper - self.weather_mean) / self.weather_std)
        ground = self.conv_surface(torch.cat([surface, self.constants.expand(len(surface), -1, -1, -1)], dim=1))
        return torch.cat([ground.unsqueeze(2), air], dim=2).flatten(2).transpose(1, 2)

    def recover(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The weather of the air and of the ground from cells (batch, cells, 2 * dim)."""
        x = x.transpose(1, 2).unflatten(2, self.fine)
        upper = self.deconv(x[:, :, 1:]) * self.weather_std + self.weather_mean
        return upper, self.deconv_surface(x[:, :, 0])

    def forward(self, upper: Tensor, surface: Tensor) -> tuple[Tensor, Tensor]:
        """The later weather: upper (batch, n_upper, levels, latitudes, longitudes), and surface without levels."""
        x = self.embed(upper, surface)
        skip = x
        for i, layer in enumerate(self.layers):
            if i == 1:
                skip, x = x, self.downsample(x)
            if i == 3:
                x = self.upsample(x)
            for block in layer:  # type: ignore[attr-defined]
                x = block(x)
        return self.recover(torch.cat([skip, x], dim=-1))


class MLP(nn.Module):
    """Two layers with exponential units and a norm over all samples and nodes."""

    def __init__(self, n_in: int, n_hid: int, n_out: int, do_prob: float = 0.0) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(n_in, n_hid), nn.Linear(n_hid, n_out)
        self.bn = nn.BatchNorm1d(n_out)
        self.dropout_prob = do_prob
        for layer in (self.fc1, self.fc2):
            nn.init.xavier_normal_(layer.weight)
            nn.init.constant_(layer.bias, 0.1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Features (samples, nodes, n_out)."""
        x = F.elu(self.fc1(inputs))
        x = F.dropout(x, self.dropout_prob, training=self.training)
        x = F.elu(self.fc2(x))
        return self.bn(x.view(-1, x.size(-1))).view_as(x)


class RelationEncoder(nn.Module):
    """Kinds of the relations between particles, from how they moved: messages to edges, to nodes and back."""

    def __init__(self, n_in: int, n_hid: int, n_out: int, do_prob: float, factor: bool) -> None:
        super().__init__()
        self.factor = factor
        self.mlp1 = MLP(n_in, n_hid, n_hid, do_prob)
        self.mlp2 = MLP(n_hid * 2, n_hid, n_hid, do_prob)
        self.mlp3 = MLP(n_hid, n_hid, n_hid, do_prob)
        self.mlp4 = MLP(n_hid * 3 if factor else n_hid * 2, n_hid, n_hid, do_prob)
        self.fc_out = nn.Linear(n_hid, n_out)

    def edge2node(self, x: Tensor, rel_rec: Tensor) -> Tensor:
        """Means of the edges that each node receives."""
        incoming = torch.matmul(rel_rec.t(), x)
        return incoming / incoming.size(1)

    def node2edge(self, x: Tensor, rel_rec: Tensor, rel_send: Tensor) -> Tensor:
        """Features of the senders and receivers of edges."""
        return torch.cat([torch.matmul(rel_send, x), torch.matmul(rel_rec, x)], dim=2)

    def forward(self, inputs: Tensor, rel_rec: Tensor, rel_send: Tensor) -> Tensor:
        """Logits (samples, edges, kinds) of trajectories (samples, particles, steps, dims)."""
        x = inputs.view(inputs.size(0), inputs.size(1), -1)
        x = self.mlp1(x)
        x = self.node2edge(x, rel_rec, rel_send)
        x = self.mlp2(x)
        x_skip = x
        if self.factor:
            x = self.edge2node(x, rel_rec)
            x = self.mlp3(x)
            x = self.node2edge(x, rel_rec, rel_send)
            x = torch.cat((x, x_skip), dim=2)
        else:
            x = torch.cat((self.mlp3(x), x_skip), dim=2)
        x = self.mlp4(x)
        return self.fc_out(x)


class TrajectoryDecoder(nn.Module):
    """A recurrent network of particles, which send each other messages of as many kinds as there are relations."""

    def __init__(self, n_in_node: int, edge_types: int, n_hid: int, do_prob: float, skip_first: bool) -> None:
        super().__init__()
        self.msg_fc1 = nn.ModuleList([nn.Linear(2 * n_hid, n_hid) for _ in range(edge_types)])
        self.msg_fc2 = nn.ModuleList([nn.Linear(n_hid, n_hid) for _ in range(edge_types)])
        self.n_hid, self.skip_first_edge_type, self.dropout_prob = n_hid, skip_first, do_prob
        self.hidden_r = nn.Linear(n_hid, n_hid, bias=False)
        self.hidden_i = nn.Linear(n_hid, n_hid, bias=False)
        self.hidden_h = nn.Linear(n_hid, n_hid, bias=False)
        self.input_r = nn.Linear(n_in_node, n_hid)
        self.input_i = nn.Linear(n_in_node, n_hid)
        self.input_n = nn.Linear(n_in_node, n_hid)
        self.out_fc1 = nn.Linear(n_hid, n_hid)
        self.out_fc2 = nn.Linear(n_hid, n_hid)
        self.out_fc3 = nn.Linear(n_hid, n_in_node)

    def single_step_forward(
        self, inputs: Tensor, rel_rec: Tensor, rel_send: Tensor, rel_type: Tensor, hidden: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The next places of particles (samples, particles, dims) and the next hidden states."""
        receivers = torch.matmul(rel_rec, hidden)
        senders = torch.matmul(rel_send, hidden)
        pre_msg = torch.cat([senders, receivers], dim=-1)
        all_msgs = torch.zeros(*pre_msg.shape[:2], self.n_hid, device=inputs.device)
        start_idx = 1 if self.skip_first_edge_type else 0  # the first kind stands for no relation
        norm = float(len(self.msg_fc2) - start_idx)
        for i in range(start_idx, len(self.msg_fc2)):
            msg = torch.tanh(self.msg_fc1[i](pre_msg))
            msg = F.dropout(msg, p=self.dropout_prob, training=self.training)
            msg = torch.tanh(self.msg_fc2[i](msg))
            msg = msg * rel_type[:, :, i : i + 1]
            all_msgs += msg / norm
        agg_msgs = all_msgs.transpose(-2, -1).matmul(rel_rec).transpose(-2, -1) / inputs.size(2)
        r = torch.sigmoid(self.input_r(inputs) + self.hidden_r(agg_msgs))
        keep = torch.sigmoid(self.input_i(inputs) + self.hidden_i(agg_msgs))
        n = torch.tanh(self.input_n(inputs) + r * self.hidden_h(agg_msgs))
        hidden = (1 - keep) * n + keep * hidden
        pred = F.dropout(F.relu(self.out_fc1(hidden)), p=self.dropout_prob, training=self.training)
        pred = F.dropout(F.relu(self.out_fc2(pred)), p=self.dropout_prob, training=self.training)
        return inputs + self.out_fc3(pred), hidden

    def forward(self, data: Tensor, rel_type: Tensor, rel_rec: Tensor, rel_send: Tensor, burn_in_steps: int) -> Tensor:
        """Places one step later (samples, particles, steps - 1, dims); after the first steps, of what was predicted."""
        inputs = data.transpose(1, 2).contiguous()
        hidden = torch.zeros(inputs.size(0), inputs.size(2), self.n_hid, device=inputs.device)
        pred_all: list[Tensor] = []
        for step in range(inputs.size(1) - 1):
            ins = inputs[:, step] if step <= burn_in_steps else pred_all[step - 1]
            pred, hidden = self.single_step_forward(ins, rel_rec, rel_send, rel_type, hidden)
            pred_all.append(pred)
        return torch.stack(pred_all, dim=1).transpose(1, 2)


class NeuralRelationalInference(nn.Module):
    """A model of particles whose relations nobody knows: kinds of edges are found that explain how they move on."""

    rel_rec: Tensor
    rel_send: Tensor
    log_prior: Tensor

    def __init__(
        self, num_atoms: int = 5, timesteps: int = 10, dims: int = 4, hidden: int = 32,
        prior: Sequence[float] = (0.9, 0.1), temp: float = 0.5, dropout: float = 0.0, burn_in_steps: int = 4,
        var: float = 5e-5, factor: bool = True, skip_first: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.temp, self.burn_in_steps, self.var = temp, burn_in_steps, var
        off_diag = torch.ones(num_atoms, num_atoms) - torch.eye(num_atoms)
        rec, send = off_diag.nonzero(as_tuple=True)
        self.register_buffer("rel_rec", F.one_hot(rec, num_atoms).float())
        self.register_buffer("rel_send", F.one_hot(send, num_atoms).float())
        self.register_buffer("log_prior", torch.tensor(prior).log().view(1, 1, -1))
        self.encoder = RelationEncoder(timesteps * dims, hidden, len(prior), dropout, factor)
        self.decoder = TrajectoryDecoder(dims, len(prior), hidden, dropout, skip_first)

    def forward(self, data: Tensor) -> dict[str, Tensor]:
        """Predicted trajectories, kinds of edges as shares, and the losses of both."""
        logits = self.encoder(data, self.rel_rec, self.rel_send)
        edges = F.gumbel_softmax(logits, tau=self.temp, hard=not self.training)
        prob = F.softmax(logits, dim=-1)
        output = self.decoder(data, edges, self.rel_rec, self.rel_send, self.burn_in_steps)
        target = data[:, :, 1:, :]
        loss_nll = ((output - target) ** 2 / (2 * self.var)).sum() / (target.size(0) * target.size(1))
        kl = prob * (torch.log(prob + 1e-16) - self.log_prior)
        loss_kl = kl.sum() / (data.size(1) * prob.size(0))
        return {"output": output, "edges": prob, "nll": loss_nll, "kl": loss_kl, "loss": loss_nll + loss_kl}


Geometric = tuple[Tensor, Tensor]
"""Scalars (n, scalars), and vectors (n, vectors, 3) that turn as the protein is turned."""


def norm_no_nan(x: Tensor, axis: int = -1, keepdims: bool = False, eps: float = 1e-8) -> Tensor:
    """Lengths that are never quite zero."""
    return x.square().sum(axis, keepdim=keepdims).clamp(min=eps).sqrt()


def tuple_sum(*args: Geometric) -> Geometric:
    """Sums of scalars and of vectors."""
    scalars, vectors = zip(*args, strict=True)
    return sum(scalars[1:], scalars[0]), sum(vectors[1:], vectors[0])


def tuple_cat(*args: Geometric) -> Geometric:
    """Scalars side by side, and vectors side by side."""
    scalars, vectors = zip(*args, strict=True)
    return torch.cat(scalars, dim=-1), torch.cat(vectors, dim=-2)


class GVP(nn.Module):
    """A layer of scalars and vectors: the lengths of vectors tell on scalars, and scalars gate the vectors."""

    def __init__(self, in_dims: tuple[int, int], out_dims: tuple[int, int], activate: bool = True) -> None:
        super().__init__()
        (self.si, self.vi), (self.so, self.vo) = in_dims, out_dims
        self.activate = activate
        h_dim = max(self.vi, self.vo)
        self.wh = nn.Linear(self.vi, h_dim, bias=False)
        self.ws = nn.Linear(h_dim + self.si, self.so)
        if self.vo:
            self.wv = nn.Linear(h_dim, self.vo, bias=False)
            self.wsv = nn.Linear(self.so, self.vo)

    def forward(self, x: Geometric) -> Geometric:
        """Scalars (n, so) and vectors (n, vo, 3)."""
        s, v = x
        vh = self.wh(v.transpose(-1, -2))
        s = self.ws(torch.cat([s, norm_no_nan(vh, axis=-2)], dim=-1))
        if self.vo:
            v = self.wv(vh).transpose(-1, -2)
            v = v * torch.sigmoid(self.wsv(F.relu(s) if self.activate else s)).unsqueeze(-1)
        else:
            v = v.new_zeros(len(s), 0, 3)
        return (F.relu(s) if self.activate else s), v


class GeometricNorm(nn.Module):
    """A norm of scalars, and vectors by the mean of their lengths."""

    def __init__(self, dims: tuple[int, int]) -> None:
        super().__init__()
        self.scalar_norm = nn.LayerNorm(dims[0])

    def forward(self, x: Geometric) -> Geometric:
        """Scalars and vectors of the same shapes."""
        s, v = x
        vn = norm_no_nan(v, keepdims=True).square().mean(dim=-2, keepdim=True).sqrt()
        return self.scalar_norm(s), v / vn


class GeometricDropout(nn.Module):
    """Scalars and whole vectors that are left out by chance."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.sdropout = nn.Dropout(rate)
        self.vdropout = nn.Dropout1d(rate)

    def forward(self, x: Geometric) -> Geometric:
        """Scalars and vectors of the same shapes."""
        return self.sdropout(x[0]), self.vdropout(x[1])


class GVPConvLayer(nn.Module):
    """Messages of edges, their means added to the nodes, and a small network of each node."""

    def __init__(self, node_dims: tuple[int, int], edge_dims: tuple[int, int], n_message: int, drop: float) -> None:
        super().__init__()
        (sn, vn), (se, ve) = node_dims, edge_dims
        message = [GVP((2 * sn + se, 2 * vn + ve), node_dims)]
        message += [GVP(node_dims, node_dims, activate=i < n_message - 2) for i in range(n_message - 1)]
        self.message_func = nn.Sequential(*message)
        hid = (4 * sn, 2 * vn)
        self.ff_func = nn.Sequential(GVP(node_dims, hid), GVP(hid, node_dims, activate=False))
        self.norm = nn.ModuleList([GeometricNorm(node_dims) for _ in range(2)])
        self.dropout = nn.ModuleList([GeometricDropout(drop) for _ in range(2)])

    def forward(self, x: Geometric, edge_index: Tensor, edge_attr: Geometric) -> Geometric:
        """Nodes of the same shapes; edges are (2, edges), of their senders and receivers."""
        src, dst = edge_index
        s, v = x
        message = self.message_func(tuple_cat((s[src], v[src]), edge_attr, (s[dst], v[dst])))
        count = torch.zeros(len(s), device=s.device).index_add(0, dst, torch.ones_like(dst, dtype=s.dtype)).clamp(min=1)
        ms = torch.zeros_like(s).index_add(0, dst, message[0]) / count[:, None]
        mv = torch.zeros_like(v).index_add(0, dst, message[1]) / count[:, None, None]
        x = self.norm[0](tuple_sum(x, self.dropout[0]((ms, mv))))
        return self.norm[1](tuple_sum(x, self.dropout[1](self.ff_func(x))))


def dihedrals(coords: Tensor) -> Tensor:
    """Sines and cosines (residues, 6) of the angles of a backbone (residues, 3, 3) around its bonds."""
    atoms = coords.flatten(0, 1)
    bonds = F.normalize(atoms[1:] - atoms[:-1], dim=-1)
    u_2, u_1, u_0 = bonds[:-2], bonds[1:-1], bonds[2:]
    n_2 = F.normalize(torch.linalg.cross(u_2, u_1), dim=-1)
    n_1 = F.normalize(torch.linalg.cross(u_1, u_0), dim=-1)
    cos = (n_2 * n_1).sum(-1).clamp(-1 + 1e-7, 1 - 1e-7)
    angle = torch.sign((u_2 * n_1).sum(-1)) * torch.acos(cos)
    angle = F.pad(angle, (1, 2)).view(-1, 3)
    return torch.cat([angle.cos(), angle.sin()], dim=1)


def orientations(ca: Tensor) -> Tensor:
    """Unit vectors (residues, 2, 3) to the next residue and the one before."""
    forward = F.pad(F.normalize(ca[1:] - ca[:-1], dim=-1), (0, 0, 0, 1))
    backward = F.pad(F.normalize(ca[:-1] - ca[1:], dim=-1), (0, 0, 1, 0))
    return torch.stack([forward, backward], dim=1)


def sidechains(coords: Tensor) -> Tensor:
    """Unit vectors (residues, 1, 3) to where a side chain would be."""
    n, origin, c = coords.unbind(dim=1)
    c, n = F.normalize(c - origin, dim=-1), F.normalize(n - origin, dim=-1)
    bisector = F.normalize(c + n, dim=-1)
    perp = F.normalize(torch.linalg.cross(c, n), dim=-1)
    return (-bisector * math.sqrt(1 / 3) - perp * math.sqrt(2 / 3)).unsqueeze(1)


def rbf(distance: Tensor, d_max: float = 20.0, count: int = 16) -> Tensor:
    """Distances (edges) as heights of bells around so many centres."""
    mu = torch.linspace(0, d_max, count, device=distance.device)
    return torch.exp(-(((distance.unsqueeze(-1) - mu) / (d_max / count)) ** 2))


class ProteinModel(nn.Module):
    """A model of the residues that fit a backbone, and of the quality of a guessed structure."""

    def __init__(
        self, node_h_dim: tuple[int, int] = (40, 8), edge_h_dim: tuple[int, int] = (16, 1), num_layers: int = 3,
        n_message: int = 3, top_k: int = 8, n_residues: int = 20, num_rbf: int = 16, drop_rate: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.top_k, self.num_rbf = top_k, num_rbf
        self.W_v = nn.Sequential(GVP((6, 3), node_h_dim, activate=False), GeometricNorm(node_h_dim))
        self.W_e = nn.Sequential(GVP((2 * num_rbf, 1), edge_h_dim, activate=False), GeometricNorm(edge_h_dim))
        self.layers = nn.ModuleList(
            [GVPConvLayer(node_h_dim, edge_h_dim, n_message, drop_rate) for _ in range(num_layers)]
        )
        self.W_out = GVP(node_h_dim, (n_residues, 0), activate=False)
        self.pool = nn.Sequential(GeometricNorm(node_h_dim), GVP(node_h_dim, (node_h_dim[0], 0)))
        self.dense = nn.Sequential(
            nn.Linear(node_h_dim[0], 2 * node_h_dim[0]), nn.ReLU(), nn.Dropout(drop_rate),
            nn.Linear(2 * node_h_dim[0], 1), nn.Sigmoid(),
        )  # fmt: skip

    def knn_graph(self, ca: Tensor) -> Tensor:
        """Edges (2, residues * top_k) from the nearest residues of each."""
        distance = torch.cdist(ca, ca)
        distance.fill_diagonal_(math.inf)
        src = distance.topk(self.top_k, largest=False).indices
        dst = torch.arange(len(ca), device=ca.device).unsqueeze(1).expand_as(src)
        return torch.stack([src.flatten(), dst.flatten()])

    def positional(self, edge_index: Tensor) -> Tensor:
        """Distances in the chain between the residues of edges, as sines and cosines (edges, num_rbf)."""
        d = edge_index[0] - edge_index[1]
        frequency = torch.exp(torch.arange(0, self.num_rbf, 2, device=d.device) * -(math.log(10_000.0) / self.num_rbf))
        angles = d.unsqueeze(-1) * frequency
        return torch.cat([angles.cos(), angles.sin()], dim=-1)

    def forward(self, coords: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (residues, kinds) and one quality, of the atoms N, CA and C of residues (residues, 3, 3)."""
        ca = coords[:, 1]
        edge_index = self.knn_graph(ca)
        h_v = self.W_v((dihedrals(coords), torch.cat([orientations(ca), sidechains(coords)], dim=1)))
        offset = ca[edge_index[0]] - ca[edge_index[1]]
        e_s = torch.cat([rbf(offset.norm(dim=-1), count=self.num_rbf), self.positional(edge_index)], dim=-1)
        h_e = self.W_e((e_s, F.normalize(offset, dim=-1).unsqueeze(-2)))
        for layer in self.layers:
            h_v = layer(h_v, edge_index, h_e)
        logits, _ = self.W_out(h_v)
        pooled, _ = self.pool(h_v)
        return logits, self.dense(pooled.mean(dim=0, keepdim=True)).squeeze(-1)


def _backbone() -> Tensor:
    # a chain of atoms one and a half ångström apart
    return F.normalize(torch.randn(72, 3) + 0.8, dim=-1).mul(1.5).cumsum(dim=0).view(24, 3, 3)


NETS = [
    Entry("own/solov2", SOLOv2, given(numbers(1, 3, 128, 160))),
    Entry("own/soft_moe", SoftMoEVisionTransformer, given(numbers(2, 3, 32, 32))),
    Entry("own/neural_relational_inference", NeuralRelationalInference, given(numbers(2, 5, 10, 4))),
    Entry("own/gvp", ProteinModel, given(_backbone)),
    Entry("own/pangu_weather", PanguModel, given(numbers(1, 5, 6, 32, 64), numbers(1, 4, 32, 64))),
    Entry("own/pranet", PraNet, given(numbers(2, 3, 96, 96), lambda: (torch.rand(2, 1, 96, 96) > 0.7).float())),
]
