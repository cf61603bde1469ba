"""Nets of images as repositories write them, of a list of models that no rule of pictures may be tuned on.

They were written before those rules were changed, and without a look at what is drawn of them. The list is in
`unseen.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn


def conv_bn_act(inp: int, oup: int, k: int = 3, s: int = 1, act: type[nn.Module] = nn.SiLU) -> nn.Sequential:
    """The block that every repository of detectors has."""
    return nn.Sequential(nn.Conv2d(inp, oup, k, s, k // 2, bias=False), nn.BatchNorm2d(oup), act())


class BiFPNLayer(nn.Module):
    """Top-down and bottom-up fusion with learnt weights (EfficientDet)."""

    def __init__(self, channels: int, levels: int = 4, eps: float = 1e-4) -> None:
        super().__init__()
        self.eps, self.levels = eps, levels
        self.td_w = nn.ParameterList(nn.Parameter(torch.ones(2)) for _ in range(levels - 1))
        self.bu_w = nn.ParameterList(nn.Parameter(torch.ones(3)) for _ in range(levels - 1))
        self.td_convs = nn.ModuleList(conv_bn_act(channels, channels) for _ in range(levels - 1))
        self.bu_convs = nn.ModuleList(conv_bn_act(channels, channels) for _ in range(levels - 1))

    def fuse(self, weights: Tensor, *features: Tensor) -> Tensor:
        """A weighted mean."""
        w = F.relu(weights)[: len(features)]
        w = w / (w.sum() + self.eps)
        return sum(w[i] * feature for i, feature in enumerate(features))  # type: ignore[return-value]

    def forward(self, feats: list[Tensor]) -> list[Tensor]:
        """The levels again."""
        td = [feats[-1]]
        for i in range(self.levels - 2, -1, -1):
            up = F.interpolate(td[0], size=feats[i].shape[-2:], mode="nearest")
            td.insert(0, self.td_convs[i](self.fuse(self.td_w[i], feats[i], up)))
        out = [td[0]]
        for i in range(1, self.levels):
            down = F.max_pool2d(out[-1], 3, 2, 1)
            out.append(self.bu_convs[i - 1](self.fuse(self.bu_w[i - 1], feats[i], td[i], down)))
        return out


class EfficientDetLite(nn.Module):
    """A detector with two BiFPN layers and heads that all levels share."""

    def __init__(self, num_classes: int = 20, width: int = 64) -> None:
        super().__init__()
        self.stem = conv_bn_act(3, 32, s=2)
        self.stages = nn.ModuleList(
            nn.Sequential(conv_bn_act(c, d, s=2), conv_bn_act(d, d))
            for c, d in ((32, 64), (64, 96), (96, 160), (160, 224))
        )
        self.lateral = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (64, 96, 160, 224))
        self.bifpn = nn.ModuleList(BiFPNLayer(width) for _ in range(2))
        self.class_head = nn.Sequential(conv_bn_act(width, width), nn.Conv2d(width, 9 * num_classes, 3, padding=1))
        self.box_head = nn.Sequential(conv_bn_act(width, width), nn.Conv2d(width, 36, 3, padding=1))

    def forward(self, images: Tensor) -> dict[str, list[Tensor]]:
        """Scores and boxes of each level."""
        x, feats = self.stem(images), []
        for stage, lateral in zip(self.stages, self.lateral, strict=True):
            x = stage(x)
            feats.append(lateral(x))
        for layer in self.bifpn:
            feats = layer(feats)
        return {"cls_logits": [self.class_head(f) for f in feats], "bbox_regression": [self.box_head(f) for f in feats]}


class CSP(nn.Module):
    """A cross-stage partial block."""

    def __init__(self, c1: int, c2: int, n: int = 1, shortcut: bool = True) -> None:
        super().__init__()
        c = c2 // 2
        self.cv1, self.cv2 = conv_bn_act(c1, c, 1), conv_bn_act(c1, c, 1)
        self.cv3 = conv_bn_act(2 * c, c2, 1)
        self.m = nn.ModuleList(nn.Sequential(conv_bn_act(c, c, 1), conv_bn_act(c, c, 3)) for _ in range(n))
        self.add = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Half of the channels go by."""
        y = self.cv1(x)
        for m in self.m:
            y = y + m(y) if self.add else m(y)
        return self.cv3(torch.cat((y, self.cv2(x)), 1))


class SPPF(nn.Module):
    """Three pools one after another."""

    def __init__(self, c1: int, c2: int, k: int = 5) -> None:
        super().__init__()
        self.cv1, self.cv2 = conv_bn_act(c1, c1 // 2, 1), conv_bn_act(2 * c1, c2, 1)
        self.m = nn.MaxPool2d(k, 1, k // 2)

    def forward(self, x: Tensor) -> Tensor:
        """All of them joined."""
        x = self.cv1(x)
        y1 = self.m(x)
        y2 = self.m(y1)
        return self.cv2(torch.cat([x, y1, y2, self.m(y2)], 1))


class DecoupledHead(nn.Module):
    """Class, box and objectness apart."""

    def __init__(self, c: int, nc: int) -> None:
        super().__init__()
        self.stem = conv_bn_act(c, 64, 1)
        self.cls = nn.Sequential(conv_bn_act(64, 64), nn.Conv2d(64, nc, 1))
        self.reg = conv_bn_act(64, 64)
        self.box, self.obj = nn.Conv2d(64, 4, 1), nn.Conv2d(64, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Joined along the channels."""
        x = self.stem(x)
        r = self.reg(x)
        return torch.cat([self.box(r), self.obj(r).sigmoid(), self.cls(x).sigmoid()], 1)


class PANDetector(nn.Module):
    """CSP backbone, path aggregation, three heads."""

    def __init__(self, nc: int = 80) -> None:
        super().__init__()
        self.b1 = nn.Sequential(conv_bn_act(3, 32, 3, 2), conv_bn_act(32, 64, 3, 2), CSP(64, 64))
        self.b2 = nn.Sequential(conv_bn_act(64, 128, 3, 2), CSP(128, 128, 2))
        self.b3 = nn.Sequential(conv_bn_act(128, 256, 3, 2), CSP(256, 256, 3))
        self.b4 = nn.Sequential(conv_bn_act(256, 512, 3, 2), CSP(512, 512), SPPF(512, 512))
        self.up = nn.Upsample(scale_factor=2)
        self.l4, self.l3 = conv_bn_act(512, 256, 1), conv_bn_act(256, 128, 1)
        self.t3, self.t2 = CSP(512, 256, shortcut=False), CSP(256, 128, shortcut=False)
        self.d2, self.d3 = conv_bn_act(128, 128, 3, 2), conv_bn_act(256, 256, 3, 2)
        self.p3, self.p4 = CSP(256, 256, shortcut=False), CSP(512, 512, shortcut=False)
        self.heads = nn.ModuleList(DecoupledHead(c, nc) for c in (128, 256, 512))

    def forward(self, x: Tensor) -> list[Tensor]:
        """Predictions at three strides."""
        c2 = self.b2(self.b1(x))
        c3 = self.b3(c2)
        c4 = self.b4(c3)
        l4 = self.l4(c4)
        m3 = self.t3(torch.cat([self.up(l4), c3], 1))
        l3 = self.l3(m3)
        n2 = self.t2(torch.cat([self.up(l3), c2], 1))
        n3 = self.p3(torch.cat([self.d2(n2), l3], 1))
        n4 = self.p4(torch.cat([self.d3(n3), l4], 1))
        return [head(n).flatten(2).transpose(1, 2) for head, n in zip(self.heads, (n2, n3, n4), strict=True)]


class Residual(nn.Module):
    """Of the hourglass: bottleneck before activation."""

    def __init__(self, inp: int, out: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inp), nn.Conv2d(inp, out // 2, 1)
        self.bn2, self.conv2 = nn.BatchNorm2d(out // 2), nn.Conv2d(out // 2, out // 2, 3, padding=1)
        self.bn3, self.conv3 = nn.BatchNorm2d(out // 2), nn.Conv2d(out // 2, out, 1)
        self.skip = nn.Conv2d(inp, out, 1) if inp != out else None

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        residual = x if self.skip is None else self.skip(x)
        out = self.conv1(F.relu(self.bn1(x)))
        out = self.conv2(F.relu(self.bn2(out)))
        return self.conv3(F.relu(self.bn3(out))) + residual


class Hourglass(nn.Module):
    """Contains itself."""

    def __init__(self, n: int, f: int) -> None:
        super().__init__()
        self.up1, self.low1 = Residual(f, f), Residual(f, f)
        self.low2: nn.Module = Hourglass(n - 1, f) if n > 1 else Residual(f, f)
        self.low3 = Residual(f, f)

    def forward(self, x: Tensor) -> Tensor:
        """Down, and up again."""
        low = self.low3(self.low2(self.low1(F.max_pool2d(x, 2))))
        return self.up1(x) + F.interpolate(low, scale_factor=2)


class PoseNet(nn.Module):
    """Stacked hourglasses, each supervised."""

    def __init__(self, nstack: int = 2, inp_dim: int = 64, oup_dim: int = 16) -> None:
        super().__init__()
        self.nstack = nstack
        self.pre = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), Residual(32, inp_dim), nn.MaxPool2d(2))
        self.hgs = nn.ModuleList(Hourglass(3, inp_dim) for _ in range(nstack))
        self.features = nn.ModuleList(
            nn.Sequential(Residual(inp_dim, inp_dim), nn.Conv2d(inp_dim, inp_dim, 1), nn.ReLU()) for _ in range(nstack)
        )
        self.outs = nn.ModuleList(nn.Conv2d(inp_dim, oup_dim, 1) for _ in range(nstack))
        self.merge_features = nn.ModuleList(nn.Conv2d(inp_dim, inp_dim, 1) for _ in range(nstack - 1))
        self.merge_preds = nn.ModuleList(nn.Conv2d(oup_dim, inp_dim, 1) for _ in range(nstack - 1))

    def forward(self, imgs: Tensor) -> Tensor:
        """Heat maps of all stacks."""
        x, combined_hm_preds = self.pre(imgs), []
        for i in range(self.nstack):
            feature = self.features[i](self.hgs[i](x))
            preds = self.outs[i](feature)
            combined_hm_preds.append(preds)
            if i < self.nstack - 1:
                x = x + self.merge_preds[i](preds) + self.merge_features[i](feature)
        return torch.stack(combined_hm_preds, 1)


class PPM(nn.Module):
    """Pyramid pooling."""

    def __init__(self, in_dim: int, reduction_dim: int, bins: tuple[int, ...] = (1, 2, 3, 6)) -> None:
        super().__init__()
        self.features = nn.ModuleList(
            nn.Sequential(
                nn.AdaptiveAvgPool2d(b), nn.Conv2d(in_dim, reduction_dim, 1, bias=False), nn.BatchNorm2d(reduction_dim),
                nn.ReLU(inplace=True),
            )
            for b in bins
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """The features, and four averages of them."""
        size = x.shape[-2:]
        return torch.cat(
            [x] + [F.interpolate(f(x), size, mode="bilinear", align_corners=True) for f in self.features], 1
        )


class PSPNet(nn.Module):
    """With the auxiliary head that only training uses."""

    def __init__(self, classes: int = 19) -> None:
        super().__init__()
        widths = (64, 128, 256, 512)
        self.layer0 = nn.Sequential(conv_bn_act(3, 64, s=2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1))
        for i, (c, d) in enumerate(zip((64, *widths), widths, strict=False), 1):
            setattr(self, f"layer{i}", conv_bn_act(c, d, s=2 if i == 2 else 1, act=nn.ReLU))
        self.ppm = PPM(512, 128)
        self.cls = nn.Sequential(conv_bn_act(1024, 512, act=nn.ReLU), nn.Dropout2d(0.1), nn.Conv2d(512, classes, 1))
        self.aux = nn.Sequential(conv_bn_act(256, 256, act=nn.ReLU), nn.Dropout2d(0.1), nn.Conv2d(256, classes, 1))

    def forward(self, x: Tensor) -> Any:
        """Classes of pixels."""
        h, w = x.shape[-2:]
        x = self.layer2(self.layer1(self.layer0(x)))
        x_tmp = self.layer3(x)
        x = self.cls(self.ppm(self.layer4(x_tmp)))
        x = F.interpolate(x, size=(h, w), mode="bilinear", align_corners=True)
        if self.training:
            return x, self.aux(x_tmp)
        return x


class STN(nn.Module):
    """The tutorial of spatial transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, kernel_size=5), nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=7), nn.MaxPool2d(2, stride=2), nn.ReLU(True), nn.Conv2d(8, 10, kernel_size=5),
            nn.MaxPool2d(2, stride=2), nn.ReLU(True),
        )  # fmt: skip
        self.fc_loc = nn.Sequential(nn.Linear(10 * 3 * 3, 32), nn.ReLU(True), nn.Linear(32, 3 * 2))

    def stn(self, x: Tensor) -> Tensor:
        """The image, turned."""
        xs = self.localization(x).view(-1, 10 * 3 * 3)
        theta = self.fc_loc(xs).view(-1, 2, 3)
        return F.grid_sample(x, F.affine_grid(theta, list(x.size()), align_corners=False), align_corners=False)

    def forward(self, x: Tensor) -> Tensor:
        """Digits."""
        x = F.relu(F.max_pool2d(self.conv1(self.stn(x)), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2)).view(-1, 320)
        return F.log_softmax(self.fc2(F.dropout(F.relu(self.fc1(x)), training=self.training)), dim=1)


class SRResNet(nn.Module):
    """Super-resolution: a global skip over sixteen blocks."""

    class Block(nn.Module):
        """Two convolutions."""

        def __init__(self, nf: int) -> None:
            super().__init__()
            self.conv1, self.bn1, self.prelu = nn.Conv2d(nf, nf, 3, 1, 1), nn.BatchNorm2d(nf), nn.PReLU()
            self.conv2, self.bn2 = nn.Conv2d(nf, nf, 3, 1, 1), nn.BatchNorm2d(nf)

        def forward(self, x: Tensor) -> Tensor:
            """With a skip."""
            return torch.add(self.bn2(self.conv2(self.prelu(self.bn1(self.conv1(x))))), x)

    def __init__(self, nf: int = 64, nb: int = 16, upscale: int = 4) -> None:
        super().__init__()
        self.conv_first = nn.Sequential(nn.Conv2d(3, nf, 9, 1, 4), nn.PReLU())
        self.trunk = nn.Sequential(*[self.Block(nf) for _ in range(nb)])
        self.conv_mid = nn.Sequential(nn.Conv2d(nf, nf, 3, 1, 1), nn.BatchNorm2d(nf))
        layers: list[nn.Module] = []
        for _ in range(int(math.log2(upscale))):
            layers += [nn.Conv2d(nf, nf * 4, 3, 1, 1), nn.PixelShuffle(2), nn.PReLU()]
        self.upsampling, self.conv_last = nn.Sequential(*layers), nn.Conv2d(nf, 3, 9, 1, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Four times as large, in 0 to 1."""
        out1 = self.conv_first(x)
        out = self.conv_mid(self.trunk(out1))
        return torch.clamp_(self.conv_last(self.upsampling(out1 + out)), 0.0, 1.0)


class ModulatedConv(nn.Module):
    """A convolution whose weights a style scales (StyleGAN2)."""

    def __init__(self, cin: int, cout: int, style: int, up: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, 3, 3))
        self.affine, self.noise = nn.Linear(style, cin), nn.Parameter(torch.zeros(1))
        self.bias, self.up = nn.Parameter(torch.zeros(cout)), up

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Noise is added."""
        b = x.shape[0]
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear")
        weight = self.weight[None] * (self.affine(w) + 1)[:, None, :, None, None]
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        h, wd = x.shape[-2:]
        y = F.conv2d(x.reshape(1, -1, h, wd), weight.flatten(0, 1), padding=1, groups=b).view(b, -1, h, wd)
        y = y + self.noise * torch.randn(b, 1, h, wd, device=x.device)
        return F.leaky_relu(y + self.bias.view(1, -1, 1, 1), 0.2)


class StyleGenerator(nn.Module):
    """Mapping and synthesis, with an image at each size."""

    def __init__(self, z_dim: int = 64, w_dim: int = 64, channels: tuple[int, ...] = (128, 64, 32)) -> None:
        super().__init__()
        self.mapping = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(z_dim, z_dim), nn.LeakyReLU(0.2))])
        self.const = nn.Parameter(torch.randn(1, channels[0], 4, 4))
        self.convs, self.to_rgb = nn.ModuleList(), nn.ModuleList()
        for cin, cout in pairwise(channels):
            self.convs.append(
                nn.ModuleList([ModulatedConv(cin, cout, w_dim, up=True), ModulatedConv(cout, cout, w_dim)])
            )
            self.to_rgb.append(nn.Conv2d(cout, 3, 1))

    def forward(self, z: Tensor) -> Tensor:
        """An image."""
        w = self.mapping(F.normalize(z, dim=1))
        x, img = self.const.repeat(z.shape[0], 1, 1, 1), None
        for (conv0, conv1), to_rgb in zip(self.convs, self.to_rgb, strict=True):  # type: ignore[misc]
            x = conv1(conv0(x, w), w)
            y = to_rgb(x)
            img = y if img is None else F.interpolate(img, scale_factor=2, mode="bilinear") + y
        assert img is not None
        return img.tanh()


class FlowNetC(nn.Module):
    """Two images through one tower, their correlation, and flow that is refined on the way up."""

    def __init__(self, c: int = 32, radius: int = 2) -> None:
        super().__init__()
        self.radius = radius
        self.conv1, self.conv2, self.conv3 = (conv_bn_act(i, o, s=2, act=nn.ReLU) for i, o in ((3, c), (c, c), (c, c)))
        self.conv_redir = nn.Conv2d(c, 16, 1)
        self.conv4 = conv_bn_act(16 + (2 * radius + 1) ** 2, 64, s=2, act=nn.ReLU)
        self.predict_flow4, self.predict_flow3 = nn.Conv2d(64, 2, 3, padding=1), nn.Conv2d(c + 32 + 2, 2, 3, padding=1)
        self.predict_flow2 = nn.Conv2d(c + 16 + 2, 2, 3, padding=1)
        self.deconv3, self.deconv2 = nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ConvTranspose2d(c + 34, 16, 4, 2, 1)
        self.up4, self.up3 = nn.ConvTranspose2d(2, 2, 4, 2, 1), nn.ConvTranspose2d(2, 2, 4, 2, 1)

    def correlate(self, a: Tensor, b: Tensor) -> Tensor:
        """The cost volume."""
        r, (h, w) = self.radius, a.shape[-2:]
        padded, costs = F.pad(b, [r] * 4), []
        for dy in range(2 * r + 1):
            for dx in range(2 * r + 1):
                costs.append((a * padded[:, :, dy : dy + h, dx : dx + w]).mean(1, keepdim=True))  # noqa: PERF401
        return torch.cat(costs, 1)

    def forward(self, img1: Tensor, img2: Tensor) -> tuple[Tensor, ...]:
        """Flow at three sizes."""
        a2 = self.conv2(self.conv1(img1))
        a3, b3 = self.conv3(a2), self.conv3(self.conv2(self.conv1(img2)))
        x = torch.cat([self.conv_redir(a3), F.relu(self.correlate(a3, b3))], 1)
        x = self.conv4(x)
        flow4 = self.predict_flow4(x)
        x3 = torch.cat((a3, F.relu(self.deconv3(x)), self.up4(flow4)), 1)
        flow3 = self.predict_flow3(x3)
        x2 = torch.cat((a2, F.relu(self.deconv2(x3)), self.up3(flow3)), 1)
        return self.predict_flow2(x2), flow3, flow4


class BYOL(nn.Module):
    """An online and a target network, which learns nothing itself."""

    def __init__(self, dim: int = 64) -> None:
        super().__init__()

        def encoder() -> nn.Sequential:
            return nn.Sequential(
                conv_bn_act(3, 32, s=2), conv_bn_act(32, 64, s=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, dim),
            )  # fmt: skip

        self.online, self.target = encoder(), encoder()
        self.target.load_state_dict(self.online.state_dict())
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Sequential(nn.Linear(dim, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, dim))

    @staticmethod
    def loss_fn(x: Tensor, y: Tensor) -> Tensor:
        """Two minus twice the cosine."""
        return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)

    def forward(self, view1: Tensor, view2: Tensor) -> Tensor:
        """The loss of two views of the same pictures."""
        p1, p2 = self.predictor(self.online(view1)), self.predictor(self.online(view2))
        with torch.no_grad():
            z1, z2 = self.target(view1), self.target(view2)
        return (self.loss_fn(p1, z2.detach()) + self.loss_fn(p2, z1.detach())).mean()


class SlotAttention(nn.Module):
    """Slots compete for places, three rounds with the same weights."""

    def __init__(self, num_slots: int = 5, dim: int = 64, iters: int = 3, eps: float = 1e-8) -> None:
        super().__init__()
        self.num_slots, self.iters, self.eps, self.scale = num_slots, iters, eps, dim**-0.5
        self.slots_mu = nn.Parameter(torch.randn(1, 1, dim))
        self.slots_sigma = nn.Parameter(torch.rand(1, 1, dim))
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.gru = nn.GRUCell(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.norm_input, self.norm_slots, self.norm_pre_ff = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, inputs: Tensor) -> Tensor:
        """The slots."""
        b, _, d = inputs.shape
        mu, sigma = self.slots_mu.expand(b, self.num_slots, -1), self.slots_sigma.expand(b, self.num_slots, -1)
        slots = torch.normal(mu, sigma.abs())
        inputs = self.norm_input(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)
        for _ in range(self.iters):
            slots_prev = slots
            q = self.to_q(self.norm_slots(slots))
            attn = (torch.einsum("bid,bjd->bij", q, k) * self.scale).softmax(dim=1) + self.eps
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum("bjd,bij->bid", v, attn)
            slots = self.gru(updates.reshape(-1, d), slots_prev.reshape(-1, d)).reshape(b, -1, d)
            slots = slots + self.fc2(F.relu(self.fc1(self.norm_pre_ff(slots))))
        return slots


class ObjectDiscovery(nn.Module):
    """An autoencoder whose code is slots."""

    def __init__(self, dim: int = 64) -> None:
        super().__init__()
        self.encoder_cnn = nn.Sequential(
            *[m for c in (3, dim, dim) for m in (nn.Conv2d(c, dim, 5, padding=2), nn.ReLU())]
        )
        self.pos = nn.Linear(4, dim)
        self.slot_attention = SlotAttention(dim=dim)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(dim, dim, 5, 2, 2, 1), nn.ReLU(), nn.ConvTranspose2d(dim, dim, 5, 2, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(dim, 4, 3, 1, 1),
        )  # fmt: skip

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The image again, masks and slots."""
        x = self.encoder_cnn(image).permute(0, 2, 3, 1)
        h, w = x.shape[1:3]
        y, z = torch.meshgrid(torch.linspace(0, 1, h), torch.linspace(0, 1, w), indexing="ij")
        x = x + self.pos(torch.stack([y, z, 1 - y, 1 - z], -1))
        slots = self.slot_attention(x.flatten(1, 2))
        s = slots.reshape(-1, 1, 1, slots.shape[-1]).repeat(1, 4, 4, 1).permute(0, 3, 1, 2)
        recons, masks = self.decoder(s).view(image.shape[0], -1, 4, 16, 16).split([3, 1], dim=2)
        masks = masks.softmax(1)
        return (recons * masks).sum(1), masks, slots


@dataclass
class DiffusionConfig:
    """The configuration file of such a repository."""

    in_channels: int = 3
    ch: int = 32
    ch_mult: tuple[int, ...] = (1, 2, 2)
    num_res_blocks: int = 2
    attn_resolutions: tuple[int, ...] = field(default=(8,))
    resolution: int = 16


def nonlinearity(x: Tensor) -> Tensor:
    """Swish."""
    return x * torch.sigmoid(x)


def get_timestep_embedding(timesteps: Tensor, dim: int) -> Tensor:
    """Sines and cosines."""
    half = dim // 2
    emb = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10000) / (half - 1)))
    emb = timesteps.float()[:, None] * emb[None, :]
    return torch.cat([torch.sin(emb), torch.cos(emb)], dim=1)


class ResnetBlock(nn.Module):
    """With the embedding of time."""

    def __init__(self, cin: int, cout: int, temb: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.temb_proj = nn.Linear(temb, cout)
        self.norm2, self.conv2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.nin_shortcut = nn.Conv2d(cin, cout, 1) if cin != cout else None

    def forward(self, x: Tensor, temb: Tensor) -> Tensor:
        """With a skip."""
        h = self.conv1(nonlinearity(self.norm1(x)))
        h = h + self.temb_proj(nonlinearity(temb))[:, :, None, None]
        h = self.conv2(nonlinearity(self.norm2(h)))
        return h + (x if self.nin_shortcut is None else self.nin_shortcut(x))


class AttnBlock(nn.Module):
    """Attention among pixels, by 1×1 convolutions."""

    def __init__(self, c: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, c)
        self.q, self.k, self.v, self.proj_out = (nn.Conv2d(c, c, 1) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        h_ = self.norm(x)
        q, k, v = self.q(h_), self.k(h_), self.v(h_)
        b, c, h, w = q.shape
        w_ = torch.bmm(q.reshape(b, c, h * w).permute(0, 2, 1), k.reshape(b, c, h * w)) * int(c) ** -0.5
        w_ = F.softmax(w_, dim=2)
        return x + self.proj_out(torch.bmm(v.reshape(b, c, h * w), w_.permute(0, 2, 1)).reshape(b, c, h, w))


class DiffusionUNet(nn.Module):
    """The U-Net of DDPM as its ports write it: lists of levels, and a stack of skips."""

    def __init__(self, config: DiffusionConfig | None = None) -> None:
        super().__init__()
        config = config or DiffusionConfig()
        ch, mult, self.n = config.ch, config.ch_mult, config.num_res_blocks
        self.ch, temb = ch, 4 * ch
        self.temb = nn.ModuleDict({"dense": nn.ModuleList([nn.Linear(ch, temb), nn.Linear(temb, temb)])})
        self.conv_in = nn.Conv2d(config.in_channels, ch, 3, padding=1)
        res, cin, skips = config.resolution, ch, [ch]
        self.down = nn.ModuleList()
        for i, m in enumerate(mult):
            level = nn.Module()
            level.block, level.attn = nn.ModuleList(), nn.ModuleList()
            for _ in range(self.n):
                level.block.append(ResnetBlock(cin, ch * m, temb))
                cin = ch * m
                skips.append(cin)
                if res in config.attn_resolutions:
                    level.attn.append(AttnBlock(cin))
            if i != len(mult) - 1:
                level.downsample = nn.Conv2d(cin, cin, 3, 2, 1)
                skips.append(cin)
                res //= 2
            self.down.append(level)
        self.mid = nn.Module()
        self.mid.block_1, self.mid.attn_1 = ResnetBlock(cin, cin, temb), AttnBlock(cin)
        self.mid.block_2 = ResnetBlock(cin, cin, temb)
        self.up = nn.ModuleList()
        for i, m in reversed([*enumerate(mult)]):
            level = nn.Module()
            level.block, level.attn = nn.ModuleList(), nn.ModuleList()
            for _ in range(self.n + 1):
                level.block.append(ResnetBlock(cin + skips.pop(), ch * m, temb))
                cin = ch * m
                if res in config.attn_resolutions:
                    level.attn.append(AttnBlock(cin))
            if i != 0:
                level.upsample = nn.Conv2d(cin, cin, 3, padding=1)
                res *= 2
            self.up.insert(0, level)
        self.norm_out, self.conv_out = nn.GroupNorm(8, cin), nn.Conv2d(cin, config.in_channels, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """The noise in it."""
        dense: Any = self.temb["dense"]
        temb = dense[1](nonlinearity(dense[0](get_timestep_embedding(t, self.ch))))
        hs = [self.conv_in(x)]
        for level in self.down:
            for i in range(self.n):
                h = level.block[i](hs[-1], temb)  # type: ignore[index,operator,union-attr]
                if len(level.attn) > 0:  # type: ignore[arg-type]
                    h = level.attn[i](h)  # type: ignore[index,operator,union-attr]
                hs.append(h)
            if hasattr(level, "downsample"):
                hs.append(level.downsample(hs[-1]))  # type: ignore[operator]
        mid: Any = self.mid
        h = mid.block_2(mid.attn_1(mid.block_1(hs[-1], temb)), temb)
        for level in reversed(self.up):  # type: ignore[call-overload]
            for i in range(self.n + 1):
                h = level.block[i](torch.cat([h, hs.pop()], dim=1), temb)
                if len(level.attn) > 0:
                    h = level.attn[i](h)
            if hasattr(level, "upsample"):
                h = level.upsample(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        return self.conv_out(nonlinearity(self.norm_out(h)))


class ConvLSTMCell(nn.Module):
    """Gates by one convolution."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.conv = nn.Conv2d(input_dim + hidden_dim, 4 * hidden_dim, 3, padding=1)

    def forward(self, x: Tensor, cur_state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The next state."""
        h_cur, c_cur = cur_state
        cc_i, cc_f, cc_o, cc_g = torch.split(self.conv(torch.cat([x, h_cur], dim=1)), self.hidden_dim, dim=1)
        c_next = torch.sigmoid(cc_f) * c_cur + torch.sigmoid(cc_i) * torch.tanh(cc_g)
        return torch.sigmoid(cc_o) * torch.tanh(c_next), c_next


class VideoPredictor(nn.Module):
    """Two layers of it over the frames of a video, then over those to come."""

    def __init__(self, channels: int = 1, hidden: int = 16, future: int = 3) -> None:
        super().__init__()
        self.future = future
        self.encoder_1, self.encoder_2 = ConvLSTMCell(channels, hidden), ConvLSTMCell(hidden, hidden)
        self.decoder_1, self.decoder_2 = ConvLSTMCell(hidden, hidden), ConvLSTMCell(hidden, hidden)
        self.decoder_cnn = nn.Conv3d(hidden, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """The frames to come."""
        b, steps, _, h, w = x.size()
        zeros = torch.zeros(b, self.encoder_1.hidden_dim, h, w)
        h1, c1, h2, c2 = zeros, zeros, zeros, zeros
        for t in range(steps):
            h1, c1 = self.encoder_1(x[:, t], (h1, c1))
            h2, c2 = self.encoder_2(h1, (h2, c2))
        vector, h3, c3, h4, c4, outputs = h2, zeros, zeros, zeros, zeros, []
        for _ in range(self.future):
            h3, c3 = self.decoder_1(vector, (h3, c3))
            h4, c4 = self.decoder_2(h3, (h4, c4))
            vector = h4
            outputs.append(h4)
        return self.decoder_cnn(torch.stack(outputs, 1).permute(0, 2, 1, 3, 4)).sigmoid()


class LinkNet(nn.Module):
    """A U whose skips are added."""

    class Decoder(nn.Module):
        """Squeeze, enlarge, widen."""

        def __init__(self, cin: int, cout: int) -> None:
            super().__init__()
            self.block = nn.Sequential(
                nn.Conv2d(cin, cin // 4, 1), nn.BatchNorm2d(cin // 4), nn.ReLU(True),
                nn.ConvTranspose2d(cin // 4, cin // 4, 3, 2, 1, 1), nn.BatchNorm2d(cin // 4), nn.ReLU(True),
                nn.Conv2d(cin // 4, cout, 1), nn.BatchNorm2d(cout), nn.ReLU(True),
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            """Twice as large."""
            return self.block(x)

    def __init__(self, n_classes: int = 11) -> None:
        super().__init__()
        self.init_block = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2))
        self.encoder1, self.encoder2, self.encoder3, self.encoder4 = (
            nn.Sequential(conv_bn_act(c, d, s=s, act=nn.ReLU), conv_bn_act(d, d, act=nn.ReLU))
            for c, d, s in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
        )
        self.decoder4, self.decoder3 = self.Decoder(512, 256), self.Decoder(256, 128)
        self.decoder2, self.decoder1 = self.Decoder(128, 64), self.Decoder(64, 64)
        self.final = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 3, 2, 1, 1), nn.ReLU(), nn.Conv2d(32, n_classes, 3, padding=1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Classes of pixels."""
        e1 = self.encoder1(self.init_block(x))
        e2 = self.encoder2(e1)
        e3 = self.encoder3(e2)
        e4 = self.encoder4(e3)
        d4 = self.decoder4(e4) + e3
        d3 = self.decoder3(d4) + e2
        d2 = self.decoder2(d3) + e1
        return self.final(self.decoder1(d2))


class SpatialGatingUnit(nn.Module):
    """Half of the channels gate the other."""

    def __init__(self, d_ffn: int, seq_len: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_ffn)
        self.spatial_proj = nn.Conv1d(seq_len, seq_len, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        """Half as wide."""
        u, v = x.chunk(2, dim=-1)
        return u * self.spatial_proj(self.norm(v))


class GMLPBlock(nn.Module):
    """A block without attention."""

    def __init__(self, d_model: int, d_ffn: int, seq_len: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.channel_proj1, self.channel_proj2 = nn.Linear(d_model, d_ffn * 2), nn.Linear(d_ffn, d_model)
        self.sgu = SpatialGatingUnit(d_ffn, seq_len)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        return x + self.channel_proj2(self.sgu(F.gelu(self.channel_proj1(self.norm(x)))))


class GMLPVision(nn.Module):
    """Patches, blocks, mean."""

    def __init__(self, image: int = 32, patch: int = 4, d: int = 64, layers: int = 8, classes: int = 10) -> None:
        super().__init__()
        n = (image // patch) ** 2
        self.patcher = nn.Conv2d(3, d, kernel_size=patch, stride=patch)
        self.model = nn.Sequential(*[GMLPBlock(d, 2 * d, n) for _ in range(layers)])
        self.classifier = nn.Linear(d, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Classes."""
        patches = self.patcher(x)
        b, c = patches.shape[:2]
        return self.classifier(self.model(patches.permute(0, 2, 3, 1).view(b, -1, c)).mean(dim=1))


class JEPA(nn.Module):
    """Predicts the code of parts of an image that it does not see from those that it does."""

    def __init__(self, image: int = 32, patch: int = 8, d: int = 64, depth: int = 4, heads: int = 4) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, d, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, (image // patch) ** 2, d))

        def blocks(width: int, n: int) -> nn.TransformerEncoder:
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            return nn.TransformerEncoder(layer, n, nn.LayerNorm(width), enable_nested_tensor=False)

        self.context_encoder, self.target_encoder, self.predictor = (
            blocks(d, depth),
            blocks(d, depth),
            blocks(d // 2, 2),
        )
        self.target_encoder.requires_grad_(False)
        self.predictor_embed, self.predictor_proj = nn.Linear(d, d // 2), nn.Linear(d // 2, d)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, d // 2))
        self.predictor_pos = nn.Parameter(torch.zeros(1, (image // patch) ** 2, d // 2))

    def forward(self, imgs: Tensor, context: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Predictions and what they should be."""
        x = self.patch_embed(imgs).flatten(2).transpose(1, 2) + self.pos_embed
        with torch.no_grad():
            h = F.layer_norm(self.target_encoder(x), (x.size(-1),))[:, target]
        z = self.predictor_embed(self.context_encoder(x[:, context])) + self.predictor_pos[:, context]
        tokens = self.mask_token + self.predictor_pos[:, target]
        z = self.predictor(torch.cat([z, tokens.expand(z.size(0), -1, -1)], dim=1))
        return self.predictor_proj(z[:, context.size(0) :]), h
