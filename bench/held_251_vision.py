"""Nets of images and scenes as repositories write them, of the sixth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list. Of `random.Random(251)`,
which shuffles first the words of the one string and then those of the other, the first eight are the nets of this file
and the first seven those of `held_251_sequences.py`; `tcn`, which a test of proofs has, is left out.
"""

# mypy: disable-error-code="no-any-return, index"
# a call of a module has no type, nor has a module of a list of lists

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers

TOPICS = (
    """
fcos ocrnet csrnet siamrpn dann spade zero_dce restormer rife two_stream votenet pixelnerf pixelcnn vqgan nvae cyclegan
centernet cornernet openpose monodepth2 psmnet deepsdf bisenet tsm i3d darts arcface prototypical_network moco protopnet
videopose3d nafnet superpoint point_transformer craft edvr
""",
    """
tree_lstm colbert convs2s latent_ode saint bert4rec ple impala diffusion_policy painn compgcn diffpool graphrnn
graphcast panns qanet memn2n han biaffine_parser sasrec deeponet social_gan vectornet melgan s4 stgcn egnn lstnet
tacotron_gst timesnet tcn tabnet alphazero hamiltonian_nn eegnet scvi anomaly_transformer fno decision_transformer
""",
)


class LayerNormFunction(torch.autograd.Function):
    """A norm over the channels of an image, with a gradient by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        """The normed image."""
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        y = (x - mu) / (var + eps).sqrt()
        ctx.save_for_backward(y, var, weight)
        ctx.eps = eps
        c = x.shape[1]
        return weight.view(1, c, 1, 1) * y + bias.view(1, c, 1, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of the image, the weight and the bias."""
        y, var, weight = ctx.saved_tensors
        (grad,) = grads
        g = grad * weight.view(1, -1, 1, 1)
        gx = (g - y * (g * y).mean(1, keepdim=True) - g.mean(1, keepdim=True)) / torch.sqrt(var + ctx.eps)
        return gx, (grad * y).sum((0, 2, 3)), grad.sum((0, 2, 3)), None


class LayerNorm2d(nn.Module):
    """A norm over the channels of an image."""

    def __init__(self, channels: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels)), eps

    def forward(self, x: Tensor) -> Tensor:
        """The normed image."""
        return LayerNormFunction.apply(x, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]


class SimpleGate(nn.Module):
    """A product of both halves of the channels."""

    def forward(self, x: Tensor) -> Tensor:
        """Half of the channels."""
        x1, x2 = x.chunk(2, dim=1)
        return x1 * x2


class NAFBlock(nn.Module):
    """A block without activations: gated convolutions with an attention of channels, then a gated layer."""

    def __init__(self, c: int, dw_expand: int = 2, ffn_expand: int = 2, drop_out_rate: float = 0.0) -> None:
        super().__init__()
        dw, ffn = c * dw_expand, c * ffn_expand
        self.conv1, self.conv2 = nn.Conv2d(c, dw, 1), nn.Conv2d(dw, dw, 3, padding=1, groups=dw)
        self.conv3 = nn.Conv2d(dw // 2, c, 1)
        self.sca = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(dw // 2, dw // 2, 1))
        self.sg = SimpleGate()
        self.conv4, self.conv5 = nn.Conv2d(c, ffn, 1), nn.Conv2d(ffn // 2, c, 1)
        self.norm1, self.norm2 = LayerNorm2d(c), LayerNorm2d(c)
        self.dropout1 = nn.Dropout(drop_out_rate) if drop_out_rate > 0.0 else nn.Identity()
        self.dropout2 = nn.Dropout(drop_out_rate) if drop_out_rate > 0.0 else nn.Identity()
        self.beta = nn.Parameter(torch.full((1, c, 1, 1), 0.1))
        self.gamma = nn.Parameter(torch.full((1, c, 1, 1), 0.1))

    def forward(self, inp: Tensor) -> Tensor:
        """Features of the same shape."""
        x = self.sg(self.conv2(self.conv1(self.norm1(inp))))
        x = x * self.sca(x)
        y = inp + self.dropout1(self.conv3(x)) * self.beta
        x = self.conv5(self.sg(self.conv4(self.norm2(y))))
        return y + self.dropout2(x) * self.gamma


class NAFNet(nn.Module):
    """A sharp image from a blurred one, by a U-Net of blocks without activations."""

    def __init__(
        self, img_channel: int = 3, width: int = 8, middle_blk_num: int = 2,
        enc_blk_nums: Sequence[int] = (1, 1, 4), dec_blk_nums: Sequence[int] = (1, 1, 1),
    ) -> None:  # fmt: skip
        super().__init__()
        self.intro = nn.Conv2d(img_channel, width, kernel_size=3, padding=1)
        self.ending = nn.Conv2d(width, img_channel, kernel_size=3, padding=1)
        self.encoders, self.decoders, self.ups, self.downs = (nn.ModuleList() for _ in range(4))
        chan = width
        for num in enc_blk_nums:
            self.encoders.append(nn.Sequential(*[NAFBlock(chan) for _ in range(num)]))
            self.downs.append(nn.Conv2d(chan, 2 * chan, 2, 2))
            chan = chan * 2
        self.middle_blks = nn.Sequential(*[NAFBlock(chan) for _ in range(middle_blk_num)])
        for num in dec_blk_nums:
            self.ups.append(nn.Sequential(nn.Conv2d(chan, chan * 2, 1, bias=False), nn.PixelShuffle(2)))
            chan = chan // 2
            self.decoders.append(nn.Sequential(*[NAFBlock(chan) for _ in range(num)]))
        self.padder_size = 2 ** len(self.encoders)

    def check_image_size(self, x: Tensor) -> Tensor:
        """The image, padded to a multiple of what the levels divide by."""
        _, _, h, w = x.size()
        mod_pad_h = (self.padder_size - h % self.padder_size) % self.padder_size
        mod_pad_w = (self.padder_size - w % self.padder_size) % self.padder_size
        return F.pad(x, (0, mod_pad_w, 0, mod_pad_h))

    def forward(self, inp: Tensor) -> Tensor:
        """The sharp image."""
        _, _, h, w = inp.shape
        inp = self.check_image_size(inp)
        x = self.intro(inp)
        encs = []
        for encoder, down in zip(self.encoders, self.downs, strict=True):
            x = encoder(x)
            encs.append(x)
            x = down(x)
        x = self.middle_blks(x)
        for decoder, up, enc_skip in zip(self.decoders, self.ups, encs[::-1], strict=True):
            x = up(x)
            x = x + enc_skip
            x = decoder(x)
        x = self.ending(x)
        x = x + inp
        return x[:, :, :h, :w]


def square_distance(src: Tensor, dst: Tensor) -> Tensor:
    """Squared distances of all pairs of points."""
    return torch.sum((src[:, :, None] - dst[:, None]) ** 2, dim=-1)


def index_points(points: Tensor, idx: Tensor) -> Tensor:
    """Points, or their features, at indices of any shape."""
    raw_size = idx.size()
    idx = idx.reshape(raw_size[0], -1)
    res = torch.gather(points, 1, idx[..., None].expand(-1, -1, points.size(-1)))
    return res.reshape(*raw_size, -1)


def farthest_point_sample(xyz: Tensor, npoint: int) -> Tensor:
    """Indices of points of which each is the farthest from those before it."""
    b, n, _ = xyz.shape
    centroids = torch.zeros(b, npoint, dtype=torch.long)
    distance = torch.ones(b, n) * 1e10
    farthest = torch.zeros(b, dtype=torch.long)
    batch_indices = torch.arange(b)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[batch_indices, farthest, :].view(b, 1, 3)
        distance = torch.min(distance, torch.sum((xyz - centroid) ** 2, -1))
        farthest = torch.max(distance, -1)[1]
    return centroids


class PointAttention(nn.Module):
    """A vector attention of each point to its nearest neighbours."""

    def __init__(self, d_points: int, d_model: int, k: int) -> None:
        super().__init__()
        self.fc1, self.fc2, self.k = nn.Linear(d_points, d_model), nn.Linear(d_model, d_points), k
        self.fc_delta = nn.Sequential(nn.Linear(3, d_model), nn.ReLU(), nn.Linear(d_model, d_model))
        self.fc_gamma = nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, d_model))
        self.w_qs, self.w_ks, self.w_vs = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))

    def forward(self, xyz: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the same shape, and the weights of the neighbours."""
        knn_idx = square_distance(xyz, xyz).argsort()[:, :, : self.k]
        knn_xyz = index_points(xyz, knn_idx)
        pre = features
        x = self.fc1(features)
        q, k, v = self.w_qs(x), index_points(self.w_ks(x), knn_idx), index_points(self.w_vs(x), knn_idx)
        pos_enc = self.fc_delta(xyz[:, :, None] - knn_xyz)
        attn = self.fc_gamma(q[:, :, None] - k + pos_enc)
        attn = F.softmax(attn / k.size(-1) ** 0.5, dim=-2)
        res = torch.einsum("bmnf,bmnf->bmf", attn, v + pos_enc)
        return self.fc2(res) + pre, attn


class TransitionDown(nn.Module):
    """A quarter of the points, each with the largest features of its neighbours."""

    def __init__(self, npoint: int, nsample: int, in_channel: int, channels: list[int]) -> None:
        super().__init__()
        self.npoint, self.nsample = npoint, nsample
        self.mlp_convs, self.mlp_bns = nn.ModuleList(), nn.ModuleList()
        last_channel = in_channel + 3
        for out_channel in channels:
            self.mlp_convs.append(nn.Conv2d(last_channel, out_channel, 1))
            self.mlp_bns.append(nn.BatchNorm2d(out_channel))
            last_channel = out_channel

    def forward(self, xyz: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """The places that are kept and their features."""
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        idx = square_distance(new_xyz, xyz).argsort()[:, :, : self.nsample]
        grouped = torch.cat([index_points(xyz, idx) - new_xyz[:, :, None], index_points(points, idx)], dim=-1)
        new_points = grouped.permute(0, 3, 2, 1)
        for i, conv in enumerate(self.mlp_convs):
            new_points = F.relu(self.mlp_bns[i](conv(new_points)))
        return new_xyz, torch.max(new_points, 2)[0].transpose(1, 2)


class SwapAxes(nn.Module):
    """Channels in front of points, or behind them again."""

    def forward(self, x: Tensor) -> Tensor:
        """The tensor with both axes swapped."""
        return x.transpose(1, 2)


class TransitionUp(nn.Module):
    """Features of few points, interpolated to many, and added to theirs."""

    def __init__(self, dim1: int, dim2: int, dim_out: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = (
            nn.Sequential(nn.Linear(dim, dim_out), SwapAxes(), nn.BatchNorm1d(dim_out), SwapAxes(), nn.ReLU())
            for dim in (dim1, dim2)
        )

    def forward(self, xyz1: Tensor, points1: Tensor, xyz2: Tensor, points2: Tensor) -> Tensor:
        """Features of the many points."""
        feats1, feats2 = self.fc1(points1), self.fc2(points2)
        dists, idx = square_distance(xyz2, xyz1).sort(dim=-1)
        dists, idx = dists[:, :, :3], idx[:, :, :3]
        dist_recip = 1.0 / (dists + 1e-8)
        weight = dist_recip / torch.sum(dist_recip, dim=2, keepdim=True)
        return torch.sum(index_points(feats1, idx) * weight[..., None], dim=2) + feats2


class PointTransformerSeg(nn.Module):
    """The class of each point of a cloud."""

    def __init__(self, cfg: SimpleNamespace) -> None:
        super().__init__()
        self.nblocks, dim = cfg.nblocks, cfg.dim
        self.fc1 = nn.Sequential(nn.Linear(cfg.input_dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.transformer1 = PointAttention(dim, cfg.transformer_dim, cfg.nneighbor)
        self.transition_downs, self.transformers = nn.ModuleList(), nn.ModuleList()
        for i in range(cfg.nblocks):
            channel = dim * 2 ** (i + 1)
            down = TransitionDown(cfg.num_point // 4 ** (i + 1), cfg.nneighbor, channel // 2, [channel, channel])
            self.transition_downs.append(down)
            self.transformers.append(PointAttention(channel, cfg.transformer_dim, min(cfg.nneighbor, down.npoint)))
        top = dim * 2**cfg.nblocks
        self.fc2 = nn.Sequential(nn.Linear(top, 2 * top), nn.ReLU(), nn.Linear(2 * top, top))
        self.transformer2 = PointAttention(top, cfg.transformer_dim, 4)
        self.transition_ups, self.transformers_up = nn.ModuleList(), nn.ModuleList()
        for i in reversed(range(cfg.nblocks)):
            channel = dim * 2**i
            self.transition_ups.append(TransitionUp(channel * 2, channel, channel))
            self.transformers_up.append(PointAttention(channel, cfg.transformer_dim, cfg.nneighbor))
        self.fc3 = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, cfg.num_class))

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the classes of each point."""
        xyz = x[..., :3]
        points = self.transformer1(xyz, self.fc1(x))[0]
        xyz_and_feats = [(xyz, points)]
        for i in range(self.nblocks):
            xyz, points = self.transition_downs[i](xyz, points)
            points = self.transformers[i](xyz, points)[0]
            xyz_and_feats.append((xyz, points))
        points = self.transformer2(xyz, self.fc2(points))[0]
        for i in range(self.nblocks):
            fine_xyz, fine = xyz_and_feats[-i - 2]
            points = self.transition_ups[i](xyz, points, fine_xyz, fine)
            xyz = fine_xyz
            points = self.transformers_up[i](xyz, points)[0]
        return self.fc3(points)


SHAPES = SimpleNamespace(num_point=64, nblocks=2, nneighbor=8, input_dim=6, dim=16, transformer_dim=32, num_class=9)


class DCNv2Pack(nn.Module):
    """A convolution whose samples are moved and weighed by other features; slow, but it needs no extension."""

    base: Tensor

    def __init__(self, channels: int, deformable_groups: int = 4, kernel: int = 3) -> None:
        super().__init__()
        self.g, self.k = deformable_groups, kernel * kernel
        self.weight = nn.Parameter(torch.randn(channels, channels, self.k) * 0.05)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.conv_offset = nn.Conv2d(channels, deformable_groups * 3 * self.k, 3, 1, 1)
        ys, xs = torch.meshgrid(torch.arange(kernel), torch.arange(kernel), indexing="ij")
        self.register_buffer("base", torch.stack([ys, xs], -1).view(1, self.k, 1, 1, 2) - kernel // 2)

    def forward(self, x: Tensor, feat: Tensor) -> Tensor:
        """Features of the same shape."""
        b, c, h, w = x.shape
        o1, o2, mask = torch.chunk(self.conv_offset(feat), 3, dim=1)
        offset = torch.stack([o1, o2], -1).view(b * self.g, self.k, h, w, 2)
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        where = offset + self.base + torch.stack([ys, xs], -1)
        where = 2 * where.flip(-1) / torch.tensor([max(w - 1, 1), max(h - 1, 1)]) - 1
        x = x.reshape(b * self.g, c // self.g, h, w)
        x = F.grid_sample(x, where.reshape(b * self.g, self.k * h, w, 2), align_corners=True)
        x = x.view(b, self.g, c // self.g, self.k, h, w) * mask.sigmoid().view(b, self.g, 1, self.k, h, w)
        x = torch.einsum("bckhw,ock->bohw", x.reshape(b, c, self.k, h, w), self.weight)
        return x + self.bias[:, None, None]


class PCDAlignment(nn.Module):
    """Features of a frame, aligned with those of another: a pyramid of deformed convolutions, then one more."""

    def __init__(self, nf: int) -> None:
        super().__init__()
        self.offset_conv1, self.offset_conv2, self.offset_conv3 = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
        self.dcn_pack, self.feat_conv = nn.ModuleDict(), nn.ModuleDict()
        for i in range(3, 0, -1):
            level = f"l{i}"
            self.offset_conv1[level] = nn.Conv2d(nf * 2, nf, 3, 1, 1)
            self.offset_conv2[level] = nn.Conv2d(nf if i == 3 else nf * 2, nf, 3, 1, 1)
            if i < 3:
                self.offset_conv3[level] = nn.Conv2d(nf, nf, 3, 1, 1)
                self.feat_conv[level] = nn.Conv2d(nf * 2, nf, 3, 1, 1)
            self.dcn_pack[level] = DCNv2Pack(nf)
        self.cas_offset_conv1, self.cas_offset_conv2 = nn.Conv2d(nf * 2, nf, 3, 1, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.cas_dcnpack = DCNv2Pack(nf)
        self.upsample = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.lrelu = nn.LeakyReLU(negative_slope=0.1, inplace=True)

    def forward(self, nbr_feat_l: list[Tensor], ref_feat_l: list[Tensor]) -> Tensor:
        """Aligned features of the finest level."""
        upsampled_offset, upsampled_feat = None, None
        for i in range(3, 0, -1):
            level = f"l{i}"
            offset = torch.cat([nbr_feat_l[i - 1], ref_feat_l[i - 1]], dim=1)
            offset = self.lrelu(self.offset_conv1[level](offset))
            if upsampled_offset is None:
                offset = self.lrelu(self.offset_conv2[level](offset))
            else:
                offset = self.lrelu(self.offset_conv2[level](torch.cat([offset, upsampled_offset], dim=1)))
                offset = self.lrelu(self.offset_conv3[level](offset))
            feat = self.dcn_pack[level](nbr_feat_l[i - 1], offset)
            if upsampled_feat is not None:
                feat = self.feat_conv[level](torch.cat([feat, upsampled_feat], dim=1))
            if i > 1:
                feat = self.lrelu(feat)
                upsampled_offset, upsampled_feat = self.upsample(offset) * 2, self.upsample(feat)
        offset = torch.cat([feat, ref_feat_l[0]], dim=1)
        offset = self.lrelu(self.cas_offset_conv2(self.lrelu(self.cas_offset_conv1(offset))))
        return self.lrelu(self.cas_dcnpack(feat, offset))


class TSAFusion(nn.Module):
    """All frames in one: weighed by how much they are like the middle one, then by place."""

    def __init__(self, nf: int, num_frame: int, center: int) -> None:
        super().__init__()
        self.center = center
        self.temporal_attn1, self.temporal_attn2 = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.feat_fusion, self.spatial_attn1 = nn.Conv2d(num_frame * nf, nf, 1), nn.Conv2d(num_frame * nf, nf, 1)
        self.max_pool, self.avg_pool = nn.MaxPool2d(3, stride=2, padding=1), nn.AvgPool2d(3, stride=2, padding=1)
        self.spatial_attn2, self.spatial_attn3 = nn.Conv2d(nf * 2, nf, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.spatial_attn_add1, self.spatial_attn_add2 = nn.Conv2d(nf, nf, 1), nn.Conv2d(nf, nf, 1)
        self.lrelu = nn.LeakyReLU(negative_slope=0.1, inplace=True)
        self.upsample = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)

    def forward(self, aligned_feat: Tensor) -> Tensor:
        """Features of the middle frame."""
        b, t, c, h, w = aligned_feat.size()
        embedding_ref = self.temporal_attn1(aligned_feat[:, self.center].clone())
        embedding = self.temporal_attn2(aligned_feat.view(-1, c, h, w)).view(b, t, -1, h, w)
        corr_l = [torch.sum(embedding[:, i] * embedding_ref, 1).unsqueeze(1) for i in range(t)]
        corr_prob = torch.sigmoid(torch.cat(corr_l, dim=1))
        corr_prob = corr_prob.unsqueeze(2).expand(b, t, c, h, w).contiguous().view(b, -1, h, w)
        aligned = aligned_feat.view(b, -1, h, w) * corr_prob
        feat = self.lrelu(self.feat_fusion(aligned))
        attn = self.lrelu(self.spatial_attn1(aligned))
        attn = self.lrelu(self.spatial_attn2(torch.cat([self.max_pool(attn), self.avg_pool(attn)], dim=1)))
        attn = self.upsample(self.lrelu(self.spatial_attn3(attn)))
        attn_add = self.spatial_attn_add2(self.lrelu(self.spatial_attn_add1(attn)))
        return feat * torch.sigmoid(attn) * 2 + attn_add


class ResidualBlockNoBN(nn.Module):
    """Two convolutions with a skip."""

    def __init__(self, num_feat: int, res_scale: float = 1.0) -> None:
        super().__init__()
        self.res_scale = res_scale
        self.conv1, self.conv2 = nn.Conv2d(num_feat, num_feat, 3, 1, 1), nn.Conv2d(num_feat, num_feat, 3, 1, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        return x + self.conv2(self.relu(self.conv1(x))) * self.res_scale


def make_layer(block: type[nn.Module], num: int, **kwarg: Any) -> nn.Sequential:
    """Equal blocks in a row."""
    return nn.Sequential(*[block(**kwarg) for _ in range(num)])


class EDVR(nn.Module):
    """A larger frame of a film from it and its neighbours."""

    def __init__(self, nf: int = 16, nframes: int = 3, front_rbs: int = 2, back_rbs: int = 4) -> None:
        super().__init__()
        self.center = nframes // 2
        self.conv_first = nn.Conv2d(3, nf, 3, 1, 1)
        self.feature_extraction = make_layer(ResidualBlockNoBN, front_rbs, num_feat=nf)
        self.conv_l2_1, self.conv_l2_2 = nn.Conv2d(nf, nf, 3, 2, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.conv_l3_1, self.conv_l3_2 = nn.Conv2d(nf, nf, 3, 2, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.pcd_align, self.fusion = PCDAlignment(nf), TSAFusion(nf, nframes, self.center)
        self.reconstruction = make_layer(ResidualBlockNoBN, back_rbs, num_feat=nf)
        self.upconv1, self.upconv2 = nn.Conv2d(nf, nf * 4, 3, 1, 1), nn.Conv2d(nf, nf * 4, 3, 1, 1)
        self.pixel_shuffle = nn.PixelShuffle(2)
        self.conv_hr, self.conv_last = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, 3, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(negative_slope=0.1, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """The middle frame, four times as large."""
        b, t, c, h, w = x.size()
        x_center = x[:, self.center, :, :, :].contiguous()
        feat_l1 = self.feature_extraction(self.lrelu(self.conv_first(x.view(-1, c, h, w))))
        feat_l2 = self.lrelu(self.conv_l2_2(self.lrelu(self.conv_l2_1(feat_l1))))
        feat_l3 = self.lrelu(self.conv_l3_2(self.lrelu(self.conv_l3_1(feat_l2))))
        pyramid = [f.view(b, t, -1, h // 2**i, w // 2**i) for i, f in enumerate((feat_l1, feat_l2, feat_l3))]
        ref_feat_l = [f[:, self.center].clone() for f in pyramid]
        aligned_feat = []
        for i in range(t):
            nbr_feat_l = [f[:, i].clone() for f in pyramid]
            aligned_feat.append(self.pcd_align(nbr_feat_l, ref_feat_l))
        feat = self.fusion(torch.stack(aligned_feat, dim=1))
        out = self.reconstruction(feat)
        out = self.lrelu(self.pixel_shuffle(self.upconv1(out)))
        out = self.lrelu(self.pixel_shuffle(self.upconv2(out)))
        out = self.conv_last(self.lrelu(self.conv_hr(out)))
        base = F.interpolate(x_center, scale_factor=4, mode="bilinear", align_corners=False)
        return out + base


def convbn(in_planes: int, out_planes: int, kernel_size: int, stride: int, pad: int, dilation: int) -> nn.Sequential:
    """A convolution of images and its norm."""
    pad = dilation if dilation > 1 else pad
    conv = nn.Conv2d(in_planes, out_planes, kernel_size, stride, pad, dilation, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_planes))


def convbn_3d(in_planes: int, out_planes: int, kernel_size: int, stride: int, pad: int) -> nn.Sequential:
    """A convolution of volumes and its norm."""
    conv = nn.Conv3d(in_planes, out_planes, kernel_size, stride, pad, bias=False)
    return nn.Sequential(conv, nn.BatchNorm3d(out_planes))


class StereoBlock(nn.Module):
    """Two convolutions with a skip, and nothing after the sum."""

    def __init__(self, inplanes: int, planes: int, stride: int, downsample: nn.Module | None, dilation: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(convbn(inplanes, planes, 3, stride, 1, dilation), nn.ReLU(inplace=True))
        self.conv2, self.downsample = convbn(planes, planes, 3, 1, 1, dilation), downsample

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        out = self.conv2(self.conv1(x))
        if self.downsample is not None:
            x = self.downsample(x)
        out += x
        return out


class FeatureExtraction(nn.Module):
    """Features of a quarter of the size that see regions of four sizes."""

    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.inplanes = c
        firsts = [convbn(3 if i == 0 else c, c, 3, 2 if i == 0 else 1, 1, 1) for i in range(3)]
        self.firstconv = nn.Sequential(*[layer for conv in firsts for layer in (conv, nn.ReLU(inplace=True))])
        self.layer1, self.layer2 = self._make_layer(c, 2, 1, 1), self._make_layer(2 * c, 3, 2, 1)
        self.layer3, self.layer4 = self._make_layer(4 * c, 2, 1, 1), self._make_layer(4 * c, 2, 1, 2)
        for i, size in enumerate((8, 4, 2, 1), 1):
            pool = nn.AvgPool2d((size, size), stride=(size, size))
            setattr(self, f"branch{i}", nn.Sequential(pool, convbn(4 * c, c, 1, 1, 0, 1), nn.ReLU(inplace=True)))
        last = nn.Conv2d(4 * c, c, kernel_size=1, padding=0, stride=1, bias=False)
        self.lastconv = nn.Sequential(convbn(10 * c, 4 * c, 3, 1, 1, 1), nn.ReLU(inplace=True), last)

    def _make_layer(self, planes: int, blocks: int, stride: int, dilation: int) -> nn.Sequential:
        down = convbn(self.inplanes, planes, 1, stride, 0, 1) if stride != 1 or self.inplanes != planes else None
        layers = [StereoBlock(self.inplanes, planes, stride, down, dilation)]
        self.inplanes = planes
        layers += [StereoBlock(planes, planes, 1, None, dilation) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features of one image."""
        output_raw = self.layer2(self.layer1(self.firstconv(x)))
        output_skip = self.layer4(self.layer3(output_raw))
        size = output_skip.shape[2:]
        branches = [
            F.interpolate(getattr(self, f"branch{i}")(output_skip), size, mode="bilinear", align_corners=False)
            for i in (4, 3, 2, 1)
        ]
        return self.lastconv(torch.cat([output_raw, output_skip, *branches], 1))


class VolumeHourglass(nn.Module):
    """A volume at half and a quarter of its size and back, with features of the hourglass before."""

    def __init__(self, c: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(convbn_3d(c, c * 2, 3, 2, 1), nn.ReLU(inplace=True))
        self.conv2 = convbn_3d(c * 2, c * 2, 3, 1, 1)
        self.conv3 = nn.Sequential(convbn_3d(c * 2, c * 2, 3, 2, 1), nn.ReLU(inplace=True))
        self.conv4 = nn.Sequential(convbn_3d(c * 2, c * 2, 3, 1, 1), nn.ReLU(inplace=True))
        up5, up6 = (nn.ConvTranspose3d(c * 2, o, 3, 2, 1, output_padding=1, bias=False) for o in (c * 2, c))
        self.conv5 = nn.Sequential(up5, nn.BatchNorm3d(c * 2))
        self.conv6 = nn.Sequential(up6, nn.BatchNorm3d(c))

    def forward(self, x: Tensor, presqu: Tensor | None, postsqu: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The volume, and what the next hourglass adds on its way down and up."""
        out = self.conv1(x)
        pre = self.conv2(out)
        pre = F.relu(pre + postsqu, inplace=True) if postsqu is not None else F.relu(pre, inplace=True)
        out = self.conv4(self.conv3(pre))
        skip = pre if presqu is None else presqu
        post = F.relu(self.conv5(out) + skip, inplace=True)
        return self.conv6(post), pre, post


class PSMNet(nn.Module):
    """Disparities of two images, from a volume of their features at all shifts."""

    def __init__(self, maxdisp: int = 32, c: int = 8) -> None:
        super().__init__()
        self.maxdisp, self.feature_extraction = maxdisp, FeatureExtraction(c)
        relu = nn.ReLU(inplace=True)
        self.dres0 = nn.Sequential(convbn_3d(c * 2, c, 3, 1, 1), relu, convbn_3d(c, c, 3, 1, 1), relu)
        self.dres1 = nn.Sequential(convbn_3d(c, c, 3, 1, 1), relu, convbn_3d(c, c, 3, 1, 1))
        self.dres2, self.dres3, self.dres4 = VolumeHourglass(c), VolumeHourglass(c), VolumeHourglass(c)
        self.classif1, self.classif2, self.classif3 = (
            nn.Sequential(convbn_3d(c, c, 3, 1, 1), nn.ReLU(inplace=True), nn.Conv3d(c, 1, 3, padding=1, bias=False))
            for _ in range(3)
        )

    def disparity(self, cost: Tensor, size: torch.Size) -> Tensor:
        """The expected shift of each pixel."""
        cost = F.interpolate(cost, [self.maxdisp, size[2], size[3]], mode="trilinear", align_corners=False)
        pred = F.softmax(torch.squeeze(cost, 1), dim=1)
        return torch.sum(pred * torch.arange(self.maxdisp, dtype=pred.dtype).view(1, -1, 1, 1), 1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Disparities of the left image."""
        ref, target = self.feature_extraction(left), self.feature_extraction(right)
        b, ch, h, w = ref.shape
        cost = ref.new_zeros(b, ch * 2, self.maxdisp // 4, h, w)
        for i in range(self.maxdisp // 4):
            if i > 0:
                cost[:, :ch, i, :, i:] = ref[:, :, :, i:]
                cost[:, ch:, i, :, i:] = target[:, :, :, :-i]
            else:
                cost[:, :ch, i, :, :], cost[:, ch:, i, :, :] = ref, target
        cost0 = self.dres0(cost.contiguous())
        cost0 = self.dres1(cost0) + cost0
        out1, pre1, post1 = self.dres2(cost0, None, None)
        out1 = out1 + cost0
        out2, _, post2 = self.dres3(out1, pre1, post1)
        out2 = out2 + cost0
        out3, _, _ = self.dres4(out2, pre1, post2)
        out3 = out3 + cost0
        cost1 = self.classif1(out1)
        cost2 = self.classif2(out2) + cost1
        cost3 = self.classif3(out3) + cost2
        if self.training:
            return tuple(self.disparity(c, left.size()) for c in (cost1, cost2, cost3))
        return self.disparity(cost3, left.size())


def nonlinearity(x: Tensor) -> Tensor:
    """A number times its sigmoid."""
    return x * torch.sigmoid(x)


def normalize(in_channels: int) -> nn.GroupNorm:
    """A norm of groups of channels."""
    return nn.GroupNorm(num_groups=8, num_channels=in_channels, eps=1e-6, affine=True)


class ResnetBlock(nn.Module):
    """Two convolutions, each behind its norm, with a skip."""

    def __init__(self, *, in_channels: int, out_channels: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        out_channels = in_channels if out_channels is None else out_channels
        self.in_channels, self.out_channels = in_channels, out_channels
        self.norm1, self.conv1 = normalize(in_channels), nn.Conv2d(in_channels, out_channels, 3, 1, 1)
        self.norm2, self.conv2 = normalize(out_channels), nn.Conv2d(out_channels, out_channels, 3, 1, 1)
        self.dropout = nn.Dropout(dropout)
        if in_channels != out_channels:
            self.nin_shortcut = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        h = self.conv1(nonlinearity(self.norm1(x)))
        h = self.conv2(self.dropout(nonlinearity(self.norm2(h))))
        if self.in_channels != self.out_channels:
            x = self.nin_shortcut(x)
        return x + h


class AttnBlock(nn.Module):
    """Attention of each place of an image to all others."""

    def __init__(self, c: int) -> None:
        super().__init__()
        self.norm, self.q, self.k, self.v = normalize(c), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.proj_out = nn.Conv2d(c, c, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        h_ = self.norm(x)
        q, k, v = self.q(h_), self.k(h_), self.v(h_)
        b, c, h, w = q.shape
        q, k = q.reshape(b, c, h * w).permute(0, 2, 1), k.reshape(b, c, h * w)
        w_ = F.softmax(torch.bmm(q, k) * (int(c) ** (-0.5)), dim=2)
        h_ = torch.bmm(v.reshape(b, c, h * w), w_.permute(0, 2, 1)).reshape(b, c, h, w)
        return x + self.proj_out(h_)


class CoderHalf(nn.Module):
    """An encoder or a decoder: blocks at each resolution, with attention at the coarsest."""

    def __init__(
        self, *, ch: int, ch_mult: tuple[int, ...], num_res_blocks: int, attn_resolutions: list[int],
        resolution: int, z_channels: int, decode: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.decode, self.stages = decode, nn.ModuleList()
        top, last = ch * ch_mult[-1], len(ch_mult) - 1
        block_in = top if decode else ch
        self.conv_in = nn.Conv2d(z_channels if decode else 3, block_in, 3, 1, 1)
        curr_res = resolution // 2**last if decode else resolution
        for i_level in reversed(range(last + 1)) if decode else range(last + 1):
            stage = nn.Module()
            stage.block, stage.attn = nn.ModuleList(), nn.ModuleList()
            for _ in range(num_res_blocks + decode):
                stage.block.append(ResnetBlock(in_channels=block_in, out_channels=ch * ch_mult[i_level]))
                block_in = ch * ch_mult[i_level]
                if curr_res in attn_resolutions:
                    stage.attn.append(AttnBlock(block_in))
            if decode and i_level > 0:
                stage.resample, curr_res = nn.Conv2d(block_in, block_in, 3, 1, 1), curr_res * 2
            elif not decode and i_level < last:
                stage.resample, curr_res = nn.Conv2d(block_in, block_in, 3, 2, 0), curr_res // 2
            self.stages.append(stage)
        self.mid = nn.Module()
        self.mid.block_1, self.mid.attn_1 = ResnetBlock(in_channels=top), AttnBlock(top)
        self.mid.block_2 = ResnetBlock(in_channels=top)
        self.norm_out = normalize(block_in)
        self.conv_out = nn.Conv2d(block_in, 3 if decode else z_channels, 3, 1, 1)

    def middle(self, h: Tensor) -> Tensor:
        """Features of the coarsest resolution."""
        return self.mid.block_2(self.mid.attn_1(self.mid.block_1(h)))  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        """A code from an image, or an image from a code."""
        h = self.conv_in(x)
        if self.decode:
            h = self.middle(h)
        stage: Any
        for stage in self.stages:
            for i, block in enumerate(stage.block):
                h = block(h)
                h = stage.attn[i](h) if len(stage.attn) > 0 else h
            if hasattr(stage, "resample"):
                h = F.interpolate(h, scale_factor=2.0) if self.decode else F.pad(h, (0, 1, 0, 1))
                h = stage.resample(h)
        if not self.decode:
            h = self.middle(h)
        return self.conv_out(nonlinearity(self.norm_out(h)))


class VectorQuantizer(nn.Module):
    """The nearest of some codes, whose gradient passes straight through."""

    def __init__(self, n_e: int, e_dim: int, beta: float) -> None:
        super().__init__()
        self.e_dim, self.beta, self.embedding = e_dim, beta, nn.Embedding(n_e, e_dim)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Codes, their loss and their indices."""
        z = z.permute(0, 2, 3, 1).contiguous()
        flat, codes = z.view(-1, self.e_dim), self.embedding.weight
        d = flat.pow(2).sum(1, keepdim=True) + codes.pow(2).sum(1) - 2 * torch.einsum("bd,nd->bn", flat, codes)
        indices = torch.argmin(d, dim=1)
        z_q = self.embedding(indices).view(z.shape)
        loss = self.beta * torch.mean((z_q.detach() - z) ** 2) + torch.mean((z_q - z.detach()) ** 2)
        z_q = z + (z_q - z).detach()
        return z_q.permute(0, 3, 1, 2).contiguous(), loss, indices


class VQModel(nn.Module):
    """An image in codes and back, which a discriminator of patches judges."""

    def __init__(self, ddconfig: dict[str, Any], n_embed: int = 64, embed_dim: int = 16, ndf: int = 16) -> None:
        super().__init__()
        self.encoder, self.decoder = CoderHalf(**ddconfig, decode=False), CoderHalf(**ddconfig, decode=True)
        self.quantize = VectorQuantizer(n_embed, embed_dim, beta=0.25)
        self.quant_conv = nn.Conv2d(ddconfig["z_channels"], embed_dim, 1)
        self.post_quant_conv = nn.Conv2d(embed_dim, ddconfig["z_channels"], 1)
        sequence: list[nn.Module] = [nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2, True)]
        for n in range(1, 3):
            conv = nn.Conv2d(ndf * n, ndf * 2 * n, 4, stride=2 if n < 2 else 1, padding=1, bias=False)
            sequence += [conv, nn.BatchNorm2d(ndf * 2 * n), nn.LeakyReLU(0.2, True)]
        self.discriminator = nn.Sequential(*sequence, nn.Conv2d(ndf * 4, 1, 4, 1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The image again, the loss of the generator and the codes."""
        quant, emb_loss, indices = self.quantize(self.quant_conv(self.encoder(x)))
        xrec = self.decoder(self.post_quant_conv(quant))
        rec_loss = torch.abs(x.contiguous() - xrec.contiguous()).mean()
        g_loss = -torch.mean(self.discriminator(xrec.contiguous()))
        return xrec, rec_loss + 0.8 * g_loss + emb_loss, indices


DDCONFIG = {
    **{"ch": 16, "ch_mult": (1, 2, 4), "num_res_blocks": 2, "attn_resolutions": [8]},
    **{"resolution": 32, "z_channels": 16},
}


class CornerConv(nn.Module):
    """A convolution with a norm, if it has one, and a rectifier."""

    def __init__(self, k: int, inp_dim: int, out_dim: int, stride: int = 1, with_bn: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inp_dim, out_dim, (k, k), stride, (k - 1) // 2, bias=not with_bn)
        self.bn = nn.BatchNorm2d(out_dim) if with_bn else nn.Sequential()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.relu(self.bn(self.conv(x)))


class CornerResidual(nn.Module):
    """Two convolutions with a skip that is projected where it must be."""

    def __init__(self, inp_dim: int, out_dim: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inp_dim, out_dim, 3, stride, 1, bias=False), nn.BatchNorm2d(out_dim)
        self.conv2, self.bn2 = nn.Conv2d(out_dim, out_dim, 3, padding=1, bias=False), nn.BatchNorm2d(out_dim)
        self.skip = nn.Sequential()
        if stride != 1 or inp_dim != out_dim:
            self.skip = nn.Sequential(nn.Conv2d(inp_dim, out_dim, 1, stride, bias=False), nn.BatchNorm2d(out_dim))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + self.skip(x))


class KpModule(nn.Module):
    """An hourglass with an hourglass inside."""

    def __init__(self, n: int, dims: list[int], modules: list[int]) -> None:
        super().__init__()
        curr, nxt = dims[0], dims[1]
        same = [CornerResidual(curr, curr) for _ in range(modules[0])]
        self.up1 = nn.Sequential(*same)
        rest = [CornerResidual(nxt, nxt) for _ in range(modules[0] - 1)]
        self.low1 = nn.Sequential(CornerResidual(curr, nxt, 2), *rest)
        inner = [CornerResidual(nxt, nxt) for _ in range(modules[1])]
        self.low2 = KpModule(n - 1, dims[1:], modules[1:]) if n > 1 else nn.Sequential(*inner)
        self.low3 = nn.Sequential(CornerResidual(nxt, nxt), CornerResidual(nxt, curr))
        self.up2 = nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        up1 = self.up1(x)
        return up1 + self.up2(self.low3(self.low2(self.low1(x))))


def directed_pool(x: Tensor, dim: int, to_end: bool) -> Tensor:
    """At each place the largest number from there to one side."""
    return x.cummax(dim)[0] if to_end else x.flip(dim).cummax(dim)[0].flip(dim)


class CornerPool(nn.Module):
    """Features of a corner: the largest to the one side plus the largest to the other, with a skip."""

    def __init__(self, dim: int, bottom_right: bool, mid: int = 16) -> None:
        super().__init__()
        self.bottom_right = bottom_right
        self.p1_conv1, self.p2_conv1 = CornerConv(3, dim, mid), CornerConv(3, dim, mid)
        self.p_conv1, self.p_bn1 = nn.Conv2d(mid, dim, 3, padding=1, bias=False), nn.BatchNorm2d(dim)
        self.conv1, self.bn1 = nn.Conv2d(dim, dim, 1, bias=False), nn.BatchNorm2d(dim)
        self.relu1, self.conv2 = nn.ReLU(inplace=True), CornerConv(3, dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same shape."""
        pool1 = directed_pool(self.p1_conv1(x), 2, self.bottom_right)
        pool2 = directed_pool(self.p2_conv1(x), 3, self.bottom_right)
        p_bn1 = self.p_bn1(self.p_conv1(pool1 + pool2))
        return self.conv2(self.relu1(p_bn1 + self.bn1(self.conv1(x))))


def tranpose_and_gather_feat(feat: Tensor, ind: Tensor) -> Tensor:
    """Features at indices of places."""
    feat = feat.permute(0, 2, 3, 1).contiguous()
    feat = feat.view(feat.size(0), -1, feat.size(3))
    return feat.gather(1, ind.unsqueeze(2).expand(ind.size(0), ind.size(1), feat.size(2)))


class CornerNet(nn.Module):
    """Boxes by their corners: where they are, which belong together, and how far they are off the grid."""

    def __init__(self, nstack: int = 2, dims: Sequence[int] = (24, 32, 48), classes: int = 10) -> None:
        super().__init__()
        self.nstack, d = nstack, dims[0]
        self.pre = nn.Sequential(CornerConv(7, 3, 16, stride=2), CornerResidual(16, d, stride=2))
        self.kps = nn.ModuleList([KpModule(2, [*dims], [2, 2, 4]) for _ in range(nstack)])
        self.cnvs = nn.ModuleList([CornerConv(3, d, d) for _ in range(nstack)])
        self.corners = nn.ModuleDict({
            corner: nn.ModuleList([CornerPool(d, corner == "br") for _ in range(nstack)]) for corner in ("tl", "br")
        })  # fmt: skip
        self.heads = nn.ModuleDict()
        for corner in ("tl", "br"):
            for kind, out in (("heats", classes), ("tags", 1), ("regrs", 2)):
                last = [nn.Sequential(CornerConv(3, d, d, with_bn=False), nn.Conv2d(d, out, 1)) for _ in range(nstack)]
                self.heads[f"{corner}_{kind}"] = nn.ModuleList(last)
        between = range(nstack - 1)
        self.inters = nn.ModuleList([CornerResidual(d, d) for _ in between])
        self.inters_, self.cnvs_ = (
            nn.ModuleList([nn.Sequential(nn.Conv2d(d, d, 1, bias=False), nn.BatchNorm2d(d)) for _ in between])
            for _ in range(2)
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, image: Tensor, tl_inds: Tensor, br_inds: Tensor) -> list[Tensor]:
        """Heats of all corners, and tags and offsets of those that are given, of each hourglass."""
        inter, outs = self.pre(image), []
        for ind in range(self.nstack):
            cnv = self.cnvs[ind](self.kps[ind](inter))
            for corner, inds in (("tl", tl_inds), ("br", br_inds)):
                pooled = self.corners[corner][ind](cnv)
                heat, tag, regr = (self.heads[f"{corner}_{k}"][ind](pooled) for k in ("heats", "tags", "regrs"))
                outs += [torch.clamp(heat.sigmoid(), min=1e-4, max=1 - 1e-4)]
                outs += [tranpose_and_gather_feat(tag, inds), tranpose_and_gather_feat(regr, inds)]
            if ind < self.nstack - 1:
                inter = self.relu(self.inters_[ind](inter) + self.cnvs_[ind](cnv))
                inter = self.inters[ind](inter)
        return outs


def _corners() -> Tensor:
    return torch.randint(0, 16 * 16, (1, 5))


class TemporalModel(nn.Module):
    """Poses in space from those in a film, by convolutions whose dilation grows."""

    def __init__(
        self, num_joints_in: int, in_features: int, num_joints_out: int, filter_widths: list[int],
        causal: bool = False, dropout: float = 0.25, channels: int = 64,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_joints_in, self.in_features, self.num_joints_out = num_joints_in, in_features, num_joints_out
        self.filter_widths, self.drop, self.relu = filter_widths, nn.Dropout(dropout), nn.ReLU(inplace=True)
        self.pad, self.expand_bn = [filter_widths[0] // 2], nn.BatchNorm1d(channels, momentum=0.1)
        self.shrink = nn.Conv1d(channels, num_joints_out * 3, 1)
        self.expand_conv = nn.Conv1d(num_joints_in * in_features, channels, filter_widths[0], bias=False)
        self.causal_shift, layers_conv, layers_bn = [filter_widths[0] // 2 if causal else 0], [], []
        next_dilation = filter_widths[0]
        for width in filter_widths[1:]:
            self.pad.append((width - 1) * next_dilation // 2)
            self.causal_shift.append(width // 2 * next_dilation if causal else 0)
            layers_conv.append(nn.Conv1d(channels, channels, width, dilation=next_dilation, bias=False))
            layers_bn.append(nn.BatchNorm1d(channels, momentum=0.1))
            layers_conv.append(nn.Conv1d(channels, channels, 1, dilation=1, bias=False))
            layers_bn.append(nn.BatchNorm1d(channels, momentum=0.1))
            next_dilation *= width
        self.layers_conv, self.layers_bn = nn.ModuleList(layers_conv), nn.ModuleList(layers_bn)

    def _forward_blocks(self, x: Tensor) -> Tensor:
        x = self.drop(self.relu(self.expand_bn(self.expand_conv(x))))
        for i in range(len(self.pad) - 1):
            pad, shift = self.pad[i + 1], self.causal_shift[i + 1]
            res = x[:, :, pad + shift : x.shape[2] - pad + shift]
            x = self.drop(self.relu(self.layers_bn[2 * i](self.layers_conv[2 * i](x))))
            x = res + self.drop(self.relu(self.layers_bn[2 * i + 1](self.layers_conv[2 * i + 1](x))))
        return self.shrink(x)

    def forward(self, x: Tensor) -> Tensor:
        """Places of the joints in the frames that are left."""
        assert len(x.shape) == 4
        assert x.shape[-2] == self.num_joints_in
        assert x.shape[-1] == self.in_features
        sz = x.shape[:3]
        x = x.view(x.shape[0], x.shape[1], -1)
        x = x.permute(0, 2, 1)
        x = self._forward_blocks(x)
        x = x.permute(0, 2, 1)
        return x.view(sz[0], -1, self.num_joints_out, 3)


def project_to_2d(x: Tensor, camera_params: Tensor) -> Tensor:
    """Points of the image plane, with the distortion of the lens."""
    while len(camera_params.shape) < len(x.shape):
        camera_params = camera_params.unsqueeze(1)
    f, c, k, p = (camera_params[..., i:j] for i, j in ((0, 2), (2, 4), (4, 7), (7, 9)))
    xx = torch.clamp(x[..., :2] / x[..., 2:], min=-1, max=1)
    r2 = torch.sum(xx[..., :2] ** 2, dim=len(xx.shape) - 1, keepdim=True)
    radial = 1 + torch.sum(k * torch.cat((r2, r2**2, r2**3), dim=len(r2.shape) - 1), dim=-1, keepdim=True)
    tan = torch.sum(p * xx, dim=len(xx.shape) - 1, keepdim=True)
    return f * (xx * (radial + tan) + p * r2) + c


class SemiSupervised(nn.Module):
    """Poses and the way of the body, projected back into the film they come from."""

    def __init__(self, joints: int = 17, widths: Sequence[int] = (3, 3, 3)) -> None:
        super().__init__()
        self.model_pos = TemporalModel(joints, 2, joints, [*widths])
        self.model_traj = TemporalModel(joints, 2, 1, [*widths])

    def forward(self, inputs_2d: Tensor, cam: Tensor) -> tuple[Tensor, Tensor]:
        """The poses, and how far their projections are off."""
        predicted_3d = self.model_pos(inputs_2d)
        predicted_traj = self.model_traj(inputs_2d)
        pad = (inputs_2d.shape[1] - predicted_3d.shape[1]) // 2
        target = inputs_2d[:, pad:-pad, :, :2]
        reconstruction = project_to_2d(predicted_3d + predicted_traj, cam)
        return predicted_3d, torch.mean(torch.norm(reconstruction - target, dim=-1))


class SharedMLP(nn.Sequential):
    """Layers for each neighbour of each point."""

    def __init__(self, channels: list[int]) -> None:
        super().__init__()
        for i in range(len(channels) - 1):
            self.add_module(f"conv{i}", nn.Conv2d(channels[i], channels[i + 1], 1, bias=False))
            self.add_module(f"bn{i}", nn.BatchNorm2d(channels[i + 1]))
            self.add_module(f"act{i}", nn.ReLU(inplace=True))


class SAModuleVotes(nn.Module):
    """Some of the points, each with features of its neighbourhood."""

    def __init__(self, npoint: int, nsample: int, mlp: list[int]) -> None:
        super().__init__()
        self.npoint, self.nsample = npoint, nsample
        self.mlp_module = SharedMLP([mlp[0] + 3, *mlp[1:]])

    def forward(self, xyz: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Places, features, and indices of the points that are kept."""
        inds = farthest_point_sample(xyz, self.npoint)
        new_xyz = index_points(xyz, inds)
        idx = square_distance(new_xyz, xyz).topk(self.nsample, dim=-1, largest=False)[1]
        grouped_xyz = index_points(xyz, idx) - new_xyz.unsqueeze(2)
        grouped = index_points(features.transpose(1, 2).contiguous(), idx)
        new_features = self.mlp_module(torch.cat([grouped_xyz, grouped], -1).permute(0, 3, 1, 2))
        return new_xyz, F.max_pool2d(new_features, kernel_size=[1, new_features.size(3)]).squeeze(-1), inds


class FPModule(nn.Module):
    """Features of few points given to many."""

    def __init__(self, mlp: list[int]) -> None:
        super().__init__()
        self.mlp = SharedMLP(mlp)

    def forward(self, unknown: Tensor, known: Tensor, unknow_feats: Tensor, known_feats: Tensor) -> Tensor:
        """Features of the many points."""
        dist, idx = square_distance(unknown, known).topk(3, dim=-1, largest=False)
        dist_recip = 1.0 / (dist + 1e-8)
        weight = dist_recip / torch.sum(dist_recip, dim=2, keepdim=True)
        interpolated = torch.sum(index_points(known_feats.transpose(1, 2), idx) * weight.unsqueeze(-1), dim=2)
        new_features = torch.cat([interpolated.transpose(1, 2), unknow_feats], dim=1)
        return self.mlp(new_features.unsqueeze(-1)).squeeze(-1)


class VoteNet(nn.Module):
    """Boxes in a cloud of points, each of whose seeds votes for a centre."""

    def __init__(self, num_class: int = 5, num_heading_bin: int = 4, num_proposal: int = 4, dim: int = 32) -> None:
        super().__init__()
        self.num_class, self.num_heading_bin, self.vote_factor = num_class, num_heading_bin, 1
        self.sa1, self.sa2 = SAModuleVotes(32, 8, [1, 16, 16, 32]), SAModuleVotes(16, 8, [32, 32, 32, dim])
        self.sa3 = SAModuleVotes(8, 4, [dim, 32, 32, dim])
        self.fp1 = FPModule([dim + dim, dim, dim])
        self.vgen_conv1, self.vgen_conv2 = nn.Conv1d(dim, dim, 1), nn.Conv1d(dim, dim, 1)
        self.vgen_conv3 = nn.Conv1d(dim, (3 + dim) * self.vote_factor, 1)
        self.vgen_bn1, self.vgen_bn2 = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)
        self.vote_aggregation = SAModuleVotes(num_proposal, 4, [dim, 32, 32, 32])
        self.conv1, self.conv2 = nn.Conv1d(32, 32, 1), nn.Conv1d(32, 32, 1)
        self.conv3 = nn.Conv1d(32, 2 + 3 + num_heading_bin * 2 + num_class * 4 + num_class, 1)
        self.bn1, self.bn2 = nn.BatchNorm1d(32), nn.BatchNorm1d(32)

    def backbone(self, pointcloud: Tensor) -> dict[str, Tensor]:
        """Seeds and their features."""
        xyz, features = pointcloud[..., 0:3].contiguous(), pointcloud[..., 3:].transpose(1, 2).contiguous()
        sa1_xyz, features, _ = self.sa1(xyz, features)
        sa2_xyz, sa2_features, _ = self.sa2(sa1_xyz, features)
        sa3_xyz, sa3_features, _ = self.sa3(sa2_xyz, sa2_features)
        return {"seed_xyz": sa2_xyz, "seed_features": self.fp1(sa2_xyz, sa3_xyz, sa2_features, sa3_features)}

    def vote(self, seed_xyz: Tensor, seed_features: Tensor) -> tuple[Tensor, Tensor]:
        """The centre of a box that each seed votes for, and features of the vote."""
        batch_size, num_seed = seed_xyz.shape[:2]
        net = F.relu(self.vgen_bn1(self.vgen_conv1(seed_features)))
        net = F.relu(self.vgen_bn2(self.vgen_conv2(net)))
        net = self.vgen_conv3(net).transpose(2, 1).view(batch_size, num_seed, self.vote_factor, -1)
        vote_xyz = (seed_xyz.unsqueeze(2) + net[..., 0:3]).contiguous().view(batch_size, -1, 3)
        vote_features = (seed_features.transpose(2, 1).unsqueeze(2) + net[..., 3:]).contiguous()
        return vote_xyz, vote_features.view(batch_size, vote_xyz.size(1), -1).transpose(2, 1).contiguous()

    def decode_scores(self, net: Tensor, end_points: dict[str, Tensor]) -> dict[str, Tensor]:
        """Parts of each box by name."""
        net, (bins, n) = net.transpose(2, 1), (self.num_heading_bin, self.num_class)
        end_points["objectness_scores"] = net[:, :, 0:2]
        end_points["center"] = end_points["aggregated_vote_xyz"] + net[:, :, 2:5]
        end_points["heading_scores"] = net[:, :, 5 : 5 + bins]
        end_points["heading_residuals"] = net[:, :, 5 + bins : 5 + bins * 2] * (torch.pi / bins)
        end_points["size_scores"] = net[:, :, 5 + bins * 2 : 5 + bins * 2 + n]
        residuals = net[:, :, 5 + bins * 2 + n : 5 + bins * 2 + n * 4]
        end_points["size_residuals"] = residuals.view(*net.shape[:2], n, 3)
        end_points["sem_cls_scores"] = net[:, :, 5 + bins * 2 + n * 4 :]
        return end_points

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Seeds, votes and boxes."""
        end_points = self.backbone(inputs["point_clouds"])
        xyz, features = self.vote(end_points["seed_xyz"], end_points["seed_features"])
        features_norm = torch.norm(features, p=2, dim=1)
        features = features.div(features_norm.unsqueeze(1))
        end_points["vote_xyz"], end_points["vote_features"] = xyz, features
        xyz, features, _ = self.vote_aggregation(xyz, features)
        end_points["aggregated_vote_xyz"] = xyz
        net = F.relu(self.bn1(self.conv1(features)))
        net = F.relu(self.bn2(self.conv2(net)))
        return self.decode_scores(self.conv3(net), end_points)


def _cloud() -> dict[str, Tensor]:
    xyz = torch.rand(2, 64, 3)
    return {"point_clouds": torch.cat([xyz, xyz[..., 2:]], -1)}


NETS = [
    Entry("own/nafnet", NAFNet, given(numbers(1, 3, 30, 32))),
    Entry("own/point_transformer", lambda: PointTransformerSeg(SHAPES), given(numbers(2, 64, 6))),
    Entry("own/edvr", EDVR, given(numbers(1, 3, 3, 16, 16))),
    Entry("own/psmnet", PSMNet, given(numbers(1, 3, 32, 64), numbers(1, 3, 32, 64))),
    Entry("own/vqgan", lambda: VQModel(DDCONFIG), given(numbers(1, 3, 32, 32))),
    Entry("own/cornernet", CornerNet, given(numbers(1, 3, 64, 64), _corners, _corners)),
    Entry("own/videopose3d", SemiSupervised, given(numbers(2, 31, 17, 2), numbers(2, 9))),
    Entry("own/votenet", VoteNet, given(_cloud)),
]
