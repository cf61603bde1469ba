"""Nets of images, points and scenes as repositories write them, of the second list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn


def coords_grid(batch: int, ht: int, wd: int) -> Tensor:
    """The place of each pixel, x first."""
    coords = torch.meshgrid(torch.arange(ht), torch.arange(wd), indexing="ij")
    return torch.stack(coords[::-1], dim=0).float()[None].repeat(batch, 1, 1, 1)


def bilinear_sampler(img: Tensor, coords: Tensor) -> Tensor:
    """Values of an image between its pixels."""
    h, w = img.shape[-2:]
    xgrid, ygrid = coords.chunk(2, dim=-1)
    grid = torch.cat([2 * xgrid / (w - 1) - 1, 2 * ygrid / (h - 1) - 1], dim=-1)
    return F.grid_sample(img, grid, align_corners=True)


class CorrBlock:
    """All pairs of pixels, at several sizes of the second image (RAFT). It has no weights."""

    def __init__(self, fmap1: Tensor, fmap2: Tensor, num_levels: int = 3, radius: int = 2) -> None:
        self.num_levels, self.radius = num_levels, radius
        batch, dim, h, w = fmap1.shape
        corr = torch.matmul(fmap1.view(batch, dim, h * w).transpose(1, 2), fmap2.view(batch, dim, h * w))
        corr = (corr / dim**0.5).reshape(batch * h * w, 1, h, w)
        self.corr_pyramid = [corr]
        for _ in range(num_levels - 1):
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.corr_pyramid.append(corr)

    def __call__(self, coords: Tensor) -> Tensor:
        """Those around where each pixel is thought to be."""
        r = self.radius
        coords = coords.permute(0, 2, 3, 1)
        batch, h, w, _ = coords.shape
        dy = dx = torch.linspace(-r, r, 2 * r + 1)
        delta = torch.stack(torch.meshgrid(dy, dx, indexing="ij"), dim=-1).view(1, 2 * r + 1, 2 * r + 1, 2)
        out = []
        for i in range(self.num_levels):
            centroid = coords.reshape(batch * h * w, 1, 1, 2) / 2**i
            corr = bilinear_sampler(self.corr_pyramid[i], centroid + delta)
            out.append(corr.view(batch, h, w, -1))
        return torch.cat(out, dim=-1).permute(0, 3, 1, 2).contiguous()


class ResidualBlock(nn.Module):
    """Of both encoders."""

    def __init__(self, in_planes: int, planes: int, norm_fn: str = "instance", stride: int = 1) -> None:
        super().__init__()
        norm: Any = nn.BatchNorm2d if norm_fn == "batch" else nn.InstanceNorm2d
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, padding=1, stride=stride)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.norm1, self.norm2 = norm(planes), norm(planes)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride), norm(planes))

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.relu(self.norm2(self.conv2(y)))
        if self.downsample is not None:
            x = self.downsample(x)
        return self.relu(x + y)


class BasicEncoder(nn.Module):
    """An eighth of the size; a pair of images goes through as one batch."""

    def __init__(self, output_dim: int = 64, norm_fn: str = "batch") -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=7, stride=2, padding=3)
        self.norm1: nn.Module = nn.BatchNorm2d(32) if norm_fn == "batch" else nn.InstanceNorm2d(32)
        self.relu1 = nn.ReLU(inplace=True)
        self.in_planes, self.norm_fn = 32, norm_fn
        self.layer1, self.layer2 = self._make_layer(32, stride=1), self._make_layer(48, stride=2)
        self.layer3 = self._make_layer(64, stride=2)
        self.conv2 = nn.Conv2d(64, output_dim, kernel_size=1)

    def _make_layer(self, dim: int, stride: int) -> nn.Sequential:
        layers = (ResidualBlock(self.in_planes, dim, self.norm_fn, stride), ResidualBlock(dim, dim, self.norm_fn))
        self.in_planes = dim
        return nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        """Features of one image, or of each of two."""
        is_list = isinstance(x, (tuple, list))
        if is_list:
            batch_dim = x[0].shape[0]
            x = torch.cat(x, dim=0)
        x = self.relu1(self.norm1(self.conv1(x)))
        x = self.conv2(self.layer3(self.layer2(self.layer1(x))))
        return torch.split(x, [batch_dim, batch_dim], dim=0) if is_list else x


class SepConvGRU(nn.Module):
    """A recurrent cell of convolutions, first along rows and then along columns."""

    def __init__(self, hidden_dim: int, input_dim: int) -> None:
        super().__init__()
        both = hidden_dim + input_dim
        self.convz1, self.convr1, self.convq1 = (nn.Conv2d(both, hidden_dim, (1, 5), padding=(0, 2)) for _ in range(3))
        self.convz2, self.convr2, self.convq2 = (nn.Conv2d(both, hidden_dim, (5, 1), padding=(2, 0)) for _ in range(3))

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        """The next state."""
        hx = torch.cat([h, x], dim=1)
        z, r = torch.sigmoid(self.convz1(hx)), torch.sigmoid(self.convr1(hx))
        h = (1 - z) * h + z * torch.tanh(self.convq1(torch.cat([r * h, x], dim=1)))
        hx = torch.cat([h, x], dim=1)
        z, r = torch.sigmoid(self.convz2(hx)), torch.sigmoid(self.convr2(hx))
        return (1 - z) * h + z * torch.tanh(self.convq2(torch.cat([r * h, x], dim=1)))


class BasicUpdateBlock(nn.Module):
    """One step towards the flow."""

    def __init__(self, corr_planes: int, hidden_dim: int = 32) -> None:
        super().__init__()
        self.convc1, self.convc2 = nn.Conv2d(corr_planes, 64, 1), nn.Conv2d(64, 48, 3, padding=1)
        self.convf1, self.convf2 = nn.Conv2d(2, 32, 7, padding=3), nn.Conv2d(32, 16, 3, padding=1)
        self.conv = nn.Conv2d(64, 32 - 2, 3, padding=1)
        self.gru = SepConvGRU(hidden_dim, input_dim=32 + hidden_dim)
        self.flow_head = nn.Sequential(
            nn.Conv2d(hidden_dim, 64, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(64, 2, 3, padding=1)
        )
        self.mask = nn.Sequential(
            nn.Conv2d(hidden_dim, 64, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(64, 64 * 9, 1)
        )

    def forward(self, net: Tensor, inp: Tensor, corr: Tensor, flow: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The state, weights to upsample with, and a change of the flow."""
        cor = F.relu(self.convc2(F.relu(self.convc1(corr))))
        flo = F.relu(self.convf2(F.relu(self.convf1(flow))))
        out = F.relu(self.conv(torch.cat([cor, flo], dim=1)))
        net = self.gru(net, torch.cat([inp, out, flow], dim=1))
        return net, 0.25 * self.mask(net), self.flow_head(net)


class RAFT(nn.Module):
    """Optical flow that a recurrent cell corrects again and again."""

    def __init__(self, iters: int = 4, hidden_dim: int = 32) -> None:
        super().__init__()
        self.iters, self.hidden_dim = iters, hidden_dim
        self.fnet = BasicEncoder(output_dim=64, norm_fn="instance")
        self.cnet = BasicEncoder(output_dim=2 * hidden_dim, norm_fn="batch")
        self.update_block = BasicUpdateBlock(3 * 5**2, hidden_dim)

    def upsample_flow(self, flow: Tensor, mask: Tensor) -> Tensor:
        """Each fine pixel is a convex combination of nine coarse ones."""
        n, _, h, w = flow.shape
        mask = torch.softmax(mask.view(n, 1, 9, 8, 8, h, w), dim=2)
        up_flow = F.unfold(8 * flow, (3, 3), padding=1).view(n, 2, 9, 1, 1, h, w)
        up_flow = torch.sum(mask * up_flow, dim=2).permute(0, 1, 4, 2, 5, 3)
        return up_flow.reshape(n, 2, 8 * h, 8 * w)

    def forward(self, image1: Tensor, image2: Tensor) -> list[Tensor]:
        """The flow after each step."""
        image1, image2 = 2 * (image1 / 255.0) - 1.0, 2 * (image2 / 255.0) - 1.0
        fmap1, fmap2 = self.fnet([image1, image2])
        corr_fn = CorrBlock(fmap1, fmap2)
        net, inp = torch.split(self.cnet(image1), [self.hidden_dim, self.hidden_dim], dim=1)
        net, inp = torch.tanh(net), torch.relu(inp)
        coords0 = coords_grid(fmap1.shape[0], *fmap1.shape[-2:])
        coords1, flow_predictions = coords0.clone(), []
        for _ in range(self.iters):
            coords1 = coords1.detach()
            net, up_mask, delta_flow = self.update_block(net, inp, corr_fn(coords1), coords1 - coords0)
            coords1 = coords1 + delta_flow
            flow_predictions.append(self.upsample_flow(coords1 - coords0, up_mask))
        return flow_predictions


class Embedder:
    """Waves of higher and higher frequency, as a repository of NeRF has them: a list of functions."""

    def __init__(self, input_dims: int, num_freqs: int) -> None:
        self.embed_fns: list[Any] = [lambda x: x]
        for freq in 2.0 ** torch.linspace(0.0, num_freqs - 1, num_freqs):
            for fn in (torch.sin, torch.cos):
                self.embed_fns.append(lambda x, fn=fn, freq=freq: fn(x * freq))
        self.out_dim = input_dims * len(self.embed_fns)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Joined."""
        return torch.cat([fn(inputs) for fn in self.embed_fns], -1)


class NeRFMLP(nn.Module):
    """Density from a place, colour from a place and a direction."""

    def __init__(self, depth: int, width: int, ch: int, ch_views: int, skips: tuple[int, ...] = (4,)) -> None:
        super().__init__()
        self.skips, self.ch, self.ch_views = skips, ch, ch_views
        self.pts_linears = nn.ModuleList(
            [nn.Linear(ch, width)]
            + [nn.Linear(width + ch if i in skips else width, width) for i in range(depth - 1)]
        )  # fmt: skip
        self.views_linears = nn.ModuleList([nn.Linear(ch_views + width, width // 2)])
        self.feature_linear, self.alpha_linear = nn.Linear(width, width), nn.Linear(width, 1)
        self.rgb_linear = nn.Linear(width // 2, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Colour and density in one tensor."""
        input_pts, input_views = torch.split(x, [self.ch, self.ch_views], dim=-1)
        h = input_pts
        for i, layer in enumerate(self.pts_linears):
            h = F.relu(layer(h))
            if i in self.skips:
                h = torch.cat([input_pts, h], -1)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), input_views], -1)
        for layer in self.views_linears:
            h = F.relu(layer(h))
        return torch.cat([self.rgb_linear(h), alpha], -1)


def sample_pdf(bins: Tensor, weights: Tensor, n_samples: int) -> Tensor:
    """Places along a ray, more of them where there is something."""
    pdf = (weights + 1e-5) / torch.sum(weights + 1e-5, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0.0, 1.0, steps=n_samples).expand([*cdf.shape[:-1], n_samples]).contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[-1] - 1)
    cdf_below, cdf_above = torch.gather(cdf, -1, below), torch.gather(cdf, -1, above)
    bins_below, bins_above = torch.gather(bins, -1, below), torch.gather(bins, -1, above)
    denom = cdf_above - cdf_below
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    return bins_below + (u - cdf_below) / denom * (bins_above - bins_below)


class NeRF(nn.Module):
    """Rays through a scene: a coarse net finds where to look, a fine one looks."""

    def __init__(self, n_samples: int = 16, n_importance: int = 16, near: float = 2.0, far: float = 6.0) -> None:
        super().__init__()
        self.n_samples, self.n_importance, self.near, self.far = n_samples, n_importance, near, far
        self.embed_fn, self.embeddirs_fn = Embedder(3, 10), Embedder(3, 4)
        self.coarse = NeRFMLP(8, 64, self.embed_fn.out_dim, self.embeddirs_fn.out_dim)
        self.fine = NeRFMLP(8, 64, self.embed_fn.out_dim, self.embeddirs_fn.out_dim)

    def run_network(self, network: nn.Module, pts: Tensor, viewdirs: Tensor) -> Tensor:
        """A net at all points at once."""
        flat = pts.reshape(-1, pts.shape[-1])
        dirs = viewdirs[:, None].expand(pts.shape).reshape(-1, 3)
        outputs = network(torch.cat([self.embed_fn(flat), self.embeddirs_fn(dirs)], -1))
        return outputs.view(*pts.shape[:-1], -1)

    @staticmethod
    def raw2outputs(raw: Tensor, z_vals: Tensor, rays_d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Colours, depths and weights along rays, as a camera sees them."""
        dists = z_vals[..., 1:] - z_vals[..., :-1]
        dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1) * rays_d.norm(dim=-1, keepdim=True)
        rgb, alpha = torch.sigmoid(raw[..., :3]), 1.0 - torch.exp(-F.relu(raw[..., 3]) * dists)
        ones = torch.ones_like(alpha[..., :1])
        weights = alpha * torch.cumprod(torch.cat([ones, 1.0 - alpha + 1e-10], -1), -1)[..., :-1]
        return torch.sum(weights[..., None] * rgb, -2), torch.sum(weights * z_vals, -1), weights

    def forward(self, rays_o: Tensor, rays_d: Tensor) -> dict[str, Tensor]:
        """Colours of both nets, and the depth."""
        viewdirs = rays_d / torch.norm(rays_d, dim=-1, keepdim=True)
        t_vals = torch.linspace(0.0, 1.0, steps=self.n_samples)
        z_vals = (self.near * (1.0 - t_vals) + self.far * t_vals).expand(rays_o.shape[0], self.n_samples)
        pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
        rgb0, _, weights = self.raw2outputs(self.run_network(self.coarse, pts, viewdirs), z_vals, rays_d)
        z_mid = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
        z_samples = sample_pdf(z_mid, weights[..., 1:-1], self.n_importance).detach()
        z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
        pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
        rgb, depth, _ = self.raw2outputs(self.run_network(self.fine, pts, viewdirs), z_vals, rays_d)
        return {"rgb_map": rgb, "depth_map": depth, "rgb0": rgb0}


def square_distance(src: Tensor, dst: Tensor) -> Tensor:
    """Of every point from every other."""
    dist = -2 * torch.matmul(src, dst.permute(0, 2, 1))
    return dist + torch.sum(src**2, -1).unsqueeze(2) + torch.sum(dst**2, -1).unsqueeze(1)


def index_points(points: Tensor, idx: Tensor) -> Tensor:
    """Those points of each cloud."""
    batch = torch.arange(points.shape[0]).view(-1, *[1] * (idx.dim() - 1)).expand_as(idx)
    return points[batch, idx, :]


def farthest_point_sample(xyz: Tensor, npoint: int) -> Tensor:
    """One point after another, each as far as can be from those before."""
    b, n, _ = xyz.shape
    centroids = torch.zeros(b, npoint, dtype=torch.long)
    distance, farthest = torch.full((b, n), 1e10), torch.zeros(b, dtype=torch.long)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[torch.arange(b), farthest, :].view(b, 1, 3)
        distance = torch.minimum(distance, torch.sum((xyz - centroid) ** 2, -1))
        farthest = torch.max(distance, -1)[1]
    return centroids


class PointNetSetAbstraction(nn.Module):
    """Fewer points, each of which knows its neighbourhoods of several sizes."""

    def __init__(self, npoint: int, nsamples: list[int], in_channel: int, mlps: list[list[int]]) -> None:
        super().__init__()
        self.npoint, self.nsamples = npoint, nsamples
        self.conv_blocks, self.bn_blocks = nn.ModuleList(), nn.ModuleList()
        for mlp in mlps:
            convs, bns, last_channel = nn.ModuleList(), nn.ModuleList(), in_channel + 3
            for out_channel in mlp:
                convs.append(nn.Conv2d(last_channel, out_channel, 1))
                bns.append(nn.BatchNorm2d(out_channel))
                last_channel = out_channel
            self.conv_blocks.append(convs)
            self.bn_blocks.append(bns)

    def forward(self, xyz: Tensor, points: Tensor | None) -> tuple[Tensor, Tensor]:
        """The points that are kept, and their features."""
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        new_points_list = []
        scales: Any = zip(self.nsamples, self.conv_blocks, self.bn_blocks, strict=True)
        for nsample, convs, bns in scales:
            idx = square_distance(new_xyz, xyz).topk(nsample, dim=-1, largest=False)[1]
            grouped = index_points(xyz, idx) - new_xyz.unsqueeze(2)
            if points is not None:
                grouped = torch.cat([index_points(points, idx), grouped], dim=-1)
            grouped = grouped.permute(0, 3, 2, 1)
            for conv, bn in zip(convs, bns, strict=True):
                grouped = F.relu(bn(conv(grouped)))
            new_points_list.append(torch.max(grouped, 2)[0])
        return new_xyz, torch.cat(new_points_list, dim=1).permute(0, 2, 1)


class PointNetFeaturePropagation(nn.Module):
    """Features of few points handed to the many, by distance."""

    def __init__(self, in_channel: int, mlp: list[int]) -> None:
        super().__init__()
        sizes = [in_channel, *mlp]
        self.mlp_convs = nn.ModuleList(nn.Conv1d(sizes[i], sizes[i + 1], 1) for i in range(len(mlp)))
        self.mlp_bns = nn.ModuleList(nn.BatchNorm1d(size) for size in mlp)

    def forward(self, xyz1: Tensor, xyz2: Tensor, points1: Tensor | None, points2: Tensor) -> Tensor:
        """Beside those that the many had."""
        dists, idx = square_distance(xyz1, xyz2).sort(dim=-1)
        weight = 1.0 / (dists[:, :, :3].clamp(min=0) + 1e-8)
        weight = weight / weight.sum(dim=2, keepdim=True)
        new_points = torch.sum(index_points(points2, idx[:, :, :3]) * weight.unsqueeze(-1), dim=2)
        if points1 is not None:
            new_points = torch.cat([points1, new_points], dim=-1)
        new_points = new_points.permute(0, 2, 1)
        for conv, bn in zip(self.mlp_convs, self.mlp_bns, strict=True):
            new_points = F.relu(bn(conv(new_points)))
        return new_points.permute(0, 2, 1)


class PointNet2PartSeg(nn.Module):
    """The part of an object that each point belongs to."""

    def __init__(self, num_classes: int = 50) -> None:
        super().__init__()
        self.sa1 = PointNetSetAbstraction(64, [8, 16], 0, [[16, 16, 32], [32, 32, 64]])
        self.sa2 = PointNetSetAbstraction(16, [8, 16], 32 + 64, [[64, 64, 128], [64, 96, 128]])
        self.sa3 = PointNetSetAbstraction(4, [8], 256, [[256, 512]])
        self.fp3 = PointNetFeaturePropagation(512 + 256, [256, 256])
        self.fp2 = PointNetFeaturePropagation(256 + 96, [256, 128])
        self.fp1 = PointNetFeaturePropagation(128, [128, 128])
        self.conv1, self.bn1 = nn.Conv1d(128, 128, 1), nn.BatchNorm1d(128)
        self.drop1, self.conv2 = nn.Dropout(0.5), nn.Conv1d(128, num_classes, 1)

    def forward(self, xyz: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities, and the global feature."""
        l0_xyz = xyz.permute(0, 2, 1)
        l1_xyz, l1_points = self.sa1(l0_xyz, None)
        l2_xyz, l2_points = self.sa2(l1_xyz, l1_points)
        l3_xyz, l3_points = self.sa3(l2_xyz, l2_points)
        l2_points = self.fp3(l2_xyz, l3_xyz, l2_points, l3_points)
        l1_points = self.fp2(l1_xyz, l2_xyz, l1_points, l2_points)
        l0_points = self.fp1(l0_xyz, l1_xyz, None, l1_points)
        x = self.drop1(F.relu(self.bn1(self.conv1(l0_points.permute(0, 2, 1)))))
        return F.log_softmax(self.conv2(x), dim=1).permute(0, 2, 1), l3_points


class Quantize(nn.Module):
    """The nearest of the codes, with gradients that go straight through."""

    embed: Tensor

    def __init__(self, dim: int, n_embed: int, decay: float = 0.99) -> None:
        super().__init__()
        self.dim, self.n_embed, self.decay = dim, n_embed, decay
        embed = torch.randn(dim, n_embed)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Codes, how far they were, and their numbers."""
        flatten = inputs.reshape(-1, self.dim)
        dist = flatten.pow(2).sum(1, keepdim=True) - 2 * flatten @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
        embed_ind = (-dist).max(1)[1].view(*inputs.shape[:-1])
        quantize = F.embedding(embed_ind, self.embed.transpose(0, 1))
        diff = (quantize.detach() - inputs).pow(2).mean()
        return inputs + (quantize - inputs).detach(), diff, embed_ind


class ResBlock(nn.Module):
    """Two convolutions, activations first."""

    def __init__(self, in_channel: int, channel: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(), nn.Conv2d(in_channel, channel, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        out = self.conv(x)
        out += x
        return out


def vq_encoder(in_channel: int, channel: int, n_res_block: int, n_res_channel: int, stride: int) -> nn.Sequential:
    """Half or a quarter of the size."""
    blocks: list[nn.Module] = [nn.Conv2d(in_channel, channel // 2, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
    if stride == 4:
        blocks += [nn.Conv2d(channel // 2, channel, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
    blocks += [nn.Conv2d(channel if stride == 4 else channel // 2, channel, 3, padding=1)]
    blocks += [ResBlock(channel, n_res_channel) for _ in range(n_res_block)]
    return nn.Sequential(*blocks, nn.ReLU(inplace=True))


def vq_decoder(
    in_channel: int, out_channel: int, channel: int, n_res_block: int, n_res_channel: int, stride: int
) -> nn.Sequential:
    """Twice or four times the size."""
    blocks: list[nn.Module] = [nn.Conv2d(in_channel, channel, 3, padding=1)]
    blocks += [ResBlock(channel, n_res_channel) for _ in range(n_res_block)] + [nn.ReLU(inplace=True)]
    if stride == 4:
        blocks += [nn.ConvTranspose2d(channel, channel // 2, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
    blocks += [nn.ConvTranspose2d(channel // 2 if stride == 4 else channel, out_channel, 4, stride=2, padding=1)]
    return nn.Sequential(*blocks)


class VQVAE2(nn.Module):
    """Two levels of codes: the lower ones are chosen in sight of the upper ones."""

    def __init__(self, channel: int = 64, n_res_block: int = 2, n_res_channel: int = 16, dim: int = 32) -> None:
        super().__init__()
        res = (n_res_block, n_res_channel)
        self.enc_b = vq_encoder(3, channel, *res, stride=4)
        self.enc_t = vq_encoder(channel, channel, *res, stride=2)
        self.quantize_conv_t, self.quantize_t = nn.Conv2d(channel, dim, 1), Quantize(dim, 128)
        self.dec_t = vq_decoder(dim, dim, channel, *res, stride=2)
        self.quantize_conv_b, self.quantize_b = nn.Conv2d(dim + channel, dim, 1), Quantize(dim, 128)
        self.upsample_t = nn.ConvTranspose2d(dim, dim, 4, stride=2, padding=1)
        self.dec = vq_decoder(dim + dim, 3, channel, *res, stride=4)

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Codes of both levels, and the distance from them."""
        enc_b = self.enc_b(inputs)
        enc_t = self.enc_t(enc_b)
        quant_t, diff_t, _ = self.quantize_t(self.quantize_conv_t(enc_t).permute(0, 2, 3, 1))
        quant_t = quant_t.permute(0, 3, 1, 2)
        enc_b = torch.cat([self.dec_t(quant_t), enc_b], 1)
        quant_b, diff_b, _ = self.quantize_b(self.quantize_conv_b(enc_b).permute(0, 2, 3, 1))
        return quant_t, quant_b.permute(0, 3, 1, 2), diff_t.unsqueeze(0) + diff_b.unsqueeze(0)

    def decode(self, quant_t: Tensor, quant_b: Tensor) -> Tensor:
        """An image."""
        return self.dec(torch.cat([self.upsample_t(quant_t), quant_b], 1))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The image again, and the loss of the codes."""
        quant_t, quant_b, diff = self.encode(inputs)
        return self.decode(quant_t, quant_b), diff


class Bottleneck3d(nn.Module):
    """With or without a look at frames before and after."""

    def __init__(self, inplanes: int, planes: int, stride: int = 1, temporal: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(inplanes, planes, (temporal, 1, 1), padding=(temporal // 2, 0, 0), bias=False)
        self.bn1 = nn.BatchNorm3d(planes)
        self.conv2 = nn.Conv3d(planes, planes, (1, 3, 3), stride=(1, stride, stride), padding=(0, 1, 1), bias=False)
        self.bn2 = nn.BatchNorm3d(planes)
        self.conv3, self.bn3 = nn.Conv3d(planes, planes * 4, 1, bias=False), nn.BatchNorm3d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or inplanes != planes * 4:
            self.downsample = nn.Sequential(
                nn.Conv3d(inplanes, planes * 4, 1, stride=(1, stride, stride), bias=False), nn.BatchNorm3d(planes * 4)
            )

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        return self.relu(out + residual)


class SlowFast(nn.Module):
    """Few frames with many channels, many frames with few, and links from the latter to the former."""

    def __init__(self, layers: tuple[int, ...] = (2, 2, 2, 2), class_num: int = 10, width: int = 16) -> None:
        super().__init__()
        self.alpha, beta, ratio = 4, 8, 2
        self.fast_inplanes, self.slow_inplanes = width // beta, width + width // beta * ratio
        self.fast_conv1 = self._stem(width // beta, 5)
        self.slow_conv1 = self._stem(width, 1)
        self.maxpool = nn.MaxPool3d((1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))
        self.lateral_p1 = self._lateral(width // beta, ratio)
        self.fast_res, self.slow_res, self.laterals = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for i, blocks in enumerate(layers):
            planes, stride = width * 2**i, 1 if i == 0 else 2
            self.fast_res.append(self._make_layer("fast_inplanes", planes // beta, blocks, stride, 3))
            self.slow_res.append(self._make_layer("slow_inplanes", planes, blocks, stride, 1 if i < 2 else 3))
            if i < len(layers) - 1:
                self.laterals.append(self._lateral(planes // beta * 4, ratio))
                self.slow_inplanes += planes // beta * 4 * ratio
        self.dp, self.fc = nn.Dropout(0.5), nn.Linear(self.fast_inplanes + self.slow_inplanes, class_num, bias=False)

    @staticmethod
    def _stem(planes: int, temporal: int) -> nn.Sequential:
        conv = nn.Conv3d(3, planes, (temporal, 7, 7), stride=(1, 2, 2), padding=(temporal // 2, 3, 3), bias=False)
        return nn.Sequential(conv, nn.BatchNorm3d(planes), nn.ReLU(inplace=True))

    def _lateral(self, planes: int, ratio: int) -> nn.Conv3d:
        stride, padding = (self.alpha, 1, 1), (2, 0, 0)
        return nn.Conv3d(planes, planes * ratio, (5, 1, 1), stride=stride, padding=padding, bias=False)

    def _make_layer(self, which: str, planes: int, blocks: int, stride: int, temporal: int) -> nn.Sequential:
        layers = [Bottleneck3d(getattr(self, which), planes, stride, temporal)]
        setattr(self, which, planes * 4)
        layers += [Bottleneck3d(planes * 4, planes, 1, temporal) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, clip: Tensor) -> Tensor:
        """What is done in a clip."""
        fast, lateral = self.fast_path(clip)
        slow = self.slow_path(clip[:, :, :: self.alpha], lateral)
        return self.fc(self.dp(torch.cat([slow, fast], dim=1)))

    def fast_path(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """A vector, and what the slow path takes over."""
        x = self.maxpool(self.fast_conv1(x))
        lateral = [self.lateral_p1(x)]
        for i, res in enumerate(self.fast_res):
            x = res(x)
            if i < len(self.laterals):
                lateral.append(self.laterals[i](x))
        return F.adaptive_avg_pool3d(x, 1).flatten(1), lateral

    def slow_path(self, x: Tensor, lateral: list[Tensor]) -> Tensor:
        """A vector."""
        x = self.maxpool(self.slow_conv1(x))
        for res, side in zip(self.slow_res, lateral, strict=True):
            x = res(torch.cat([x, side], dim=1))
        return F.adaptive_avg_pool3d(x, 1).flatten(1)


def mlp1d(channels: list[int], do_bn: bool = True) -> nn.Sequential:
    """Layers that each keypoint goes through by itself."""
    layers: list[nn.Module] = []
    for i in range(1, len(channels)):
        layers.append(nn.Conv1d(channels[i - 1], channels[i], kernel_size=1, bias=True))
        if i < len(channels) - 1:
            layers += [nn.BatchNorm1d(channels[i])] * do_bn + [nn.ReLU()]
    return nn.Sequential(*layers)


class AttentionalPropagation(nn.Module):
    """Messages from other keypoints (SuperGlue)."""

    def __init__(self, d: int, num_heads: int) -> None:
        super().__init__()
        self.dim, self.num_heads = d // num_heads, num_heads
        self.merge = nn.Conv1d(d, d, kernel_size=1)
        self.proj = nn.ModuleList([nn.Conv1d(d, d, kernel_size=1) for _ in range(3)])
        self.mlp = mlp1d([d * 2, d * 2, d])

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        """A change, which its user adds."""
        b = x.size(0)
        query, key, value = (
            layer(t).view(b, self.dim, self.num_heads, -1)
            for layer, t in zip(self.proj, (x, source, source), strict=True)
        )
        prob = F.softmax(torch.einsum("bdhn,bdhm->bhnm", query, key) / self.dim**0.5, dim=-1)
        message = torch.einsum("bhnm,bdhm->bdhn", prob, value)
        message = self.merge(message.contiguous().view(b, self.dim * self.num_heads, -1))
        return self.mlp(torch.cat([x, message], dim=1))


class AttentionalGNN(nn.Module):
    """Within an image and across, in turn."""

    def __init__(self, feature_dim: int, layer_names: list[str]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([AttentionalPropagation(feature_dim, 4) for _ in layer_names])
        self.names = layer_names

    def forward(self, desc0: Tensor, desc1: Tensor) -> tuple[Tensor, Tensor]:
        """Descriptors that know what they could be mistaken for."""
        for layer, name in zip(self.layers, self.names, strict=True):
            src0, src1 = (desc1, desc0) if name == "cross" else (desc0, desc1)
            delta0, delta1 = layer(desc0, src0), layer(desc1, src1)
            desc0, desc1 = (desc0 + delta0), (desc1 + delta1)
        return desc0, desc1


def log_optimal_transport(scores: Tensor, alpha: Tensor, iters: int) -> Tensor:
    """Sinkhorn's rounds, with a bin for what has no match."""
    b, m, n = scores.shape
    bins0, bins1 = alpha.expand(b, m, 1), alpha.expand(b, 1, n)
    couplings = torch.cat([torch.cat([scores, bins0], -1), torch.cat([bins1, alpha.expand(b, 1, 1)], -1)], 1)
    norm = -torch.tensor(float(m + n)).log()
    log_mu = torch.cat([norm.expand(m), torch.tensor(float(n)).log()[None] + norm])[None].expand(b, -1)
    log_nu = torch.cat([norm.expand(n), torch.tensor(float(m)).log()[None] + norm])[None].expand(b, -1)
    u, v = torch.zeros_like(log_mu), torch.zeros_like(log_nu)
    for _ in range(iters):
        u = log_mu - torch.logsumexp(couplings + v.unsqueeze(1), dim=2)
        v = log_nu - torch.logsumexp(couplings + u.unsqueeze(2), dim=1)
    return couplings + u.unsqueeze(2) + v.unsqueeze(1) - norm


class SuperGlue(nn.Module):
    """Which keypoint of one image is which of the other."""

    def __init__(self, d: int = 64, rounds: int = 4, sinkhorn_iterations: int = 5, threshold: float = 0.2) -> None:
        super().__init__()
        self.d, self.iters, self.threshold = d, sinkhorn_iterations, threshold
        self.kenc = mlp1d([3, 32, 64, d])
        self.gnn = AttentionalGNN(d, ["self", "cross"] * rounds)
        self.final_proj = nn.Conv1d(d, d, kernel_size=1, bias=True)
        self.bin_score = nn.Parameter(torch.tensor(1.0))

    def encode(self, kpts: Tensor, scores: Tensor, size: tuple[int, int]) -> Tensor:
        """Where a keypoint is, and how sure the detector was."""
        h, w = size
        kpts = (kpts - torch.tensor([w / 2, h / 2])) / (max(h, w) * 0.7)
        return self.kenc(torch.cat([kpts.transpose(1, 2), scores.unsqueeze(1)], dim=1))

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        """Matches both ways, and how good they are."""
        desc0 = data["descriptors0"] + self.encode(data["keypoints0"], data["scores0"], (480, 640))
        desc1 = data["descriptors1"] + self.encode(data["keypoints1"], data["scores1"], (480, 640))
        desc0, desc1 = self.gnn(desc0, desc1)
        mdesc0, mdesc1 = self.final_proj(desc0), self.final_proj(desc1)
        scores = torch.einsum("bdn,bdm->bnm", mdesc0, mdesc1) / self.d**0.5
        scores = log_optimal_transport(scores, self.bin_score, iters=self.iters)
        max0, max1 = scores[:, :-1, :-1].max(2), scores[:, :-1, :-1].max(1)
        indices0, indices1 = max0.indices, max1.indices
        mutual0 = torch.arange(indices0.shape[1])[None] == indices1.gather(1, indices0)
        mutual1 = torch.arange(indices1.shape[1])[None] == indices0.gather(1, indices1)
        mscores0 = torch.where(mutual0, max0.values.exp(), scores.new_tensor(0))
        valid0 = mutual0 & (mscores0 > self.threshold)
        valid1 = mutual1 & valid0.gather(1, indices1)
        return {
            "matches0": torch.where(valid0, indices0, indices0.new_tensor(-1)),
            "matches1": torch.where(valid1, indices1, indices1.new_tensor(-1)),
            "matching_scores0": mscores0,
        }


class REBNCONV(nn.Module):
    """A convolution with its norm, dilated if need be."""

    def __init__(self, in_ch: int, out_ch: int, dirate: int = 1) -> None:
        super().__init__()
        self.conv_s1 = nn.Conv2d(in_ch, out_ch, 3, padding=dirate, dilation=dirate)
        self.bn_s1, self.relu_s1 = nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """The same size."""
        return self.relu_s1(self.bn_s1(self.conv_s1(x)))


def upsample_like(src: Tensor, tar: Tensor) -> Tensor:
    """As large as another."""
    return F.interpolate(src, size=tar.shape[2:], mode="bilinear", align_corners=False)


class RSU(nn.Module):
    """A small U-Net in place of a block (U²-Net)."""

    def __init__(self, depth: int, in_ch: int, mid_ch: int, out_ch: int) -> None:
        super().__init__()
        self.rebnconvin = REBNCONV(in_ch, out_ch)
        self.encoders = nn.ModuleList(REBNCONV(out_ch if i == 0 else mid_ch, mid_ch) for i in range(depth - 1))
        self.pool = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.bottom = REBNCONV(mid_ch, mid_ch, dirate=2)
        self.decoders = nn.ModuleList(
            REBNCONV(2 * mid_ch, out_ch if i == depth - 2 else mid_ch) for i in range(depth - 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        hxin = self.rebnconvin(x)
        hx, kept = hxin, []
        for i, enc in enumerate(self.encoders):
            hx = enc(hx if i == 0 else self.pool(hx))
            kept.append(hx)
        hx = self.bottom(hx)
        for dec in self.decoders:
            skip = kept.pop()
            hx = dec(torch.cat((hx if hx.shape[2:] == skip.shape[2:] else upsample_like(hx, skip), skip), 1))
        return hx + hxin


class RSU4F(nn.Module):
    """The same without pools, for maps that are small already."""

    def __init__(self, in_ch: int, mid_ch: int, out_ch: int) -> None:
        super().__init__()
        self.rebnconvin = REBNCONV(in_ch, out_ch)
        self.rebnconv1, self.rebnconv2 = REBNCONV(out_ch, mid_ch), REBNCONV(mid_ch, mid_ch, dirate=2)
        self.rebnconv3, self.rebnconv4 = REBNCONV(mid_ch, mid_ch, dirate=4), REBNCONV(mid_ch, mid_ch, dirate=8)
        self.rebnconv3d, self.rebnconv2d = (
            REBNCONV(mid_ch * 2, mid_ch, dirate=4),
            REBNCONV(mid_ch * 2, mid_ch, dirate=2),
        )
        self.rebnconv1d = REBNCONV(mid_ch * 2, out_ch)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        hxin = self.rebnconvin(x)
        hx1 = self.rebnconv1(hxin)
        hx2 = self.rebnconv2(hx1)
        hx3 = self.rebnconv3(hx2)
        hx4 = self.rebnconv4(hx3)
        hx3d = self.rebnconv3d(torch.cat((hx4, hx3), 1))
        hx2d = self.rebnconv2d(torch.cat((hx3d, hx2), 1))
        return self.rebnconv1d(torch.cat((hx2d, hx1), 1)) + hxin


class U2NetSmall(nn.Module):
    """A U of Us, with a map of salience from each stage and one from all of them."""

    def __init__(self, out_ch: int = 1) -> None:
        super().__init__()
        self.stage1, self.stage2 = RSU(6, 3, 8, 32), RSU(5, 32, 8, 32)
        self.stage3, self.stage4 = RSU(4, 32, 8, 32), RSU4F(32, 8, 32)
        self.stage5 = RSU4F(32, 8, 32)
        self.pool = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.stage4d, self.stage3d = RSU4F(64, 8, 32), RSU(4, 64, 8, 32)
        self.stage2d, self.stage1d = RSU(5, 64, 8, 32), RSU(6, 64, 8, 32)
        for i in range(1, 6):
            setattr(self, f"side{i}", nn.Conv2d(32, out_ch, 3, padding=1))
        self.outconv = nn.Conv2d(5 * out_ch, out_ch, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Six maps."""
        hx1 = self.stage1(x)
        hx2 = self.stage2(self.pool(hx1))
        hx3 = self.stage3(self.pool(hx2))
        hx4 = self.stage4(self.pool(hx3))
        hx5 = self.stage5(self.pool(hx4))
        hx4d = self.stage4d(torch.cat((upsample_like(hx5, hx4), hx4), 1))
        hx3d = self.stage3d(torch.cat((upsample_like(hx4d, hx3), hx3), 1))
        hx2d = self.stage2d(torch.cat((upsample_like(hx3d, hx2), hx2), 1))
        hx1d = self.stage1d(torch.cat((upsample_like(hx2d, hx1), hx1), 1))
        maps = [getattr(self, f"side{i}")(h) for i, h in enumerate((hx1d, hx2d, hx3d, hx4d, hx5), 1)]
        sides = [maps[0], *(upsample_like(m, maps[0]) for m in maps[1:])]
        d0 = self.outconv(torch.cat(sides, 1))
        return tuple(torch.sigmoid(d) for d in (d0, *sides))
