"""Nets of images and scenes as repositories write them, of the seventh list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(283)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_283_sequences.py`; one that a test of proofs has
would give way to the next.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from argparse import Namespace
from collections import OrderedDict, namedtuple
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from tests.corpus.entry import Entry, given, numbers, whole

TOPICS = (
    "spade pixelnerf openpose ocrnet arcface tsm two_stream deepsdf",
    "deeponet impala tree_lstm qanet convs2s graphrnn panns",
)


class SPADE(nn.Module):
    """A norm without weights of its own: scale and shift of each pixel come from the map of labels."""

    def __init__(self, norm_type: str, ks: int, norm_nc: int, label_nc: int, nhidden: int = 16) -> None:
        super().__init__()
        norms = {"instance": nn.InstanceNorm2d, "batch": nn.BatchNorm2d}
        self.param_free_norm = norms[norm_type](norm_nc, affine=False)
        pw = ks // 2
        self.mlp_shared = nn.Sequential(nn.Conv2d(label_nc, nhidden, kernel_size=ks, padding=pw), nn.ReLU())
        self.mlp_gamma = nn.Conv2d(nhidden, norm_nc, kernel_size=ks, padding=pw)
        self.mlp_beta = nn.Conv2d(nhidden, norm_nc, kernel_size=ks, padding=pw)

    def forward(self, x: Tensor, segmap: Tensor) -> Tensor:
        """The normed features."""
        normalized = self.param_free_norm(x)
        segmap = F.interpolate(segmap, size=x.size()[2:], mode="nearest")
        actv = self.mlp_shared(segmap)
        gamma, beta = self.mlp_gamma(actv), self.mlp_beta(actv)
        return normalized * (1 + gamma) + beta


class SPADEResnetBlock(nn.Module):
    """A residual block whose norms see the map of labels, with a learned shortcut where channels change."""

    def __init__(self, fin: int, fout: int, opt: Namespace) -> None:
        super().__init__()
        self.learned_shortcut = fin != fout
        fmiddle = min(fin, fout)
        self.conv_0 = spectral_norm(nn.Conv2d(fin, fmiddle, kernel_size=3, padding=1))
        self.conv_1 = spectral_norm(nn.Conv2d(fmiddle, fout, kernel_size=3, padding=1))
        if self.learned_shortcut:
            self.conv_s = spectral_norm(nn.Conv2d(fin, fout, kernel_size=1, bias=False))
        self.norm_0 = SPADE(opt.norm_G, 3, fin, opt.semantic_nc)
        self.norm_1 = SPADE(opt.norm_G, 3, fmiddle, opt.semantic_nc)
        if self.learned_shortcut:
            self.norm_s = SPADE(opt.norm_G, 3, fin, opt.semantic_nc)

    def forward(self, x: Tensor, seg: Tensor) -> Tensor:
        """Features of the same size."""
        x_s = self.shortcut(x, seg)
        dx = self.conv_0(self.actvn(self.norm_0(x, seg)))
        dx = self.conv_1(self.actvn(self.norm_1(dx, seg)))
        return x_s + dx

    def shortcut(self, x: Tensor, seg: Tensor) -> Tensor:
        """The input, projected if it must be."""
        return self.conv_s(self.norm_s(x, seg)) if self.learned_shortcut else x

    def actvn(self, x: Tensor) -> Tensor:
        """The rectified features."""
        return F.leaky_relu(x, 2e-1)


class SPADEGenerator(nn.Module):
    """An image from a style and a map of labels."""

    def __init__(self, opt: Namespace) -> None:
        super().__init__()
        self.opt, nf = opt, opt.ngf
        self.sw = self.sh = opt.crop_size // 2**4
        self.fc = nn.Linear(opt.z_dim, 8 * nf * self.sw * self.sh)
        self.head_0 = SPADEResnetBlock(8 * nf, 8 * nf, opt)
        self.G_middle_0 = SPADEResnetBlock(8 * nf, 8 * nf, opt)
        self.G_middle_1 = SPADEResnetBlock(8 * nf, 8 * nf, opt)
        self.up_0 = SPADEResnetBlock(8 * nf, 4 * nf, opt)
        self.up_1 = SPADEResnetBlock(4 * nf, 2 * nf, opt)
        self.up_2 = SPADEResnetBlock(2 * nf, 1 * nf, opt)
        self.conv_img = nn.Conv2d(nf, 3, 3, padding=1)
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, seg: Tensor, z: Tensor) -> Tensor:
        """The image, between -1 and 1."""
        x = self.fc(z)
        x = x.view(-1, 8 * self.opt.ngf, self.sh, self.sw)
        x = self.head_0(x, seg)
        x = self.up(x)
        x = self.G_middle_0(x, seg)
        x = self.G_middle_1(x, seg)
        for block in (self.up_0, self.up_1, self.up_2):
            x = self.up(x)
            x = block(x, seg)
        x = self.conv_img(F.leaky_relu(x, 2e-1))
        return torch.tanh(x)


class StyleEncoder(nn.Module):
    """The style of an image, as a mean and a logarithm of a variance."""

    def __init__(self, opt: Namespace, layers: int = 3) -> None:
        super().__init__()
        ndf, size = opt.ngf, opt.crop_size // 2**layers
        self.layers = nn.ModuleList()
        for i in range(layers):
            conv = spectral_norm(nn.Conv2d(3 if i == 0 else ndf * 2 ** (i - 1), ndf * 2**i, 3, stride=2, padding=1))
            self.layers.append(nn.Sequential(conv, nn.InstanceNorm2d(ndf * 2**i, affine=False)))
        features = ndf * 2 ** (layers - 1) * size * size
        self.fc_mu, self.fc_var = nn.Linear(features, opt.z_dim), nn.Linear(features, opt.z_dim)
        self.actvn = nn.LeakyReLU(0.2, False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the logarithm of the variance."""
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else self.actvn(x))
        x = self.actvn(x)
        x = x.view(x.size(0), -1)
        return self.fc_mu(x), self.fc_var(x)


class NLayerDiscriminator(nn.Module):
    """Scores of patches, with the features of each layer."""

    def __init__(self, opt: Namespace, n_layers: int = 3) -> None:
        super().__init__()
        nf, input_nc = opt.ndf, opt.semantic_nc + 3
        sequence = [[nn.Conv2d(input_nc, nf, 4, stride=2, padding=2), nn.LeakyReLU(0.2, False)]]
        for n in range(1, n_layers):
            nf_prev, nf = nf, min(nf * 2, 512)
            conv = spectral_norm(nn.Conv2d(nf_prev, nf, 4, stride=1 if n == n_layers - 1 else 2, padding=2))
            sequence += [[conv, nn.InstanceNorm2d(nf, affine=False), nn.LeakyReLU(0.2, False)]]
        sequence += [[nn.Conv2d(nf, 1, kernel_size=4, stride=1, padding=2)]]
        for n, modules in enumerate(sequence):
            self.add_module("model" + str(n), nn.Sequential(*modules))

    def forward(self, x: Tensor) -> list[Tensor]:
        """Features of all layers, the scores last."""
        results = [x]
        for submodel in self.children():
            results.append(submodel(results[-1]))
        return results[1:]


class Pix2PixModel(nn.Module):
    """An image from a map of labels in the style of another, with what the discriminators see in both."""

    def __init__(self, opt: Namespace) -> None:
        super().__init__()
        self.opt, self.netG, self.netE = opt, SPADEGenerator(opt), StyleEncoder(opt)
        self.netD = nn.ModuleDict({f"discriminator_{i}": NLayerDiscriminator(opt) for i in range(opt.num_D)})

    def discriminate(self, semantics: Tensor, fake: Tensor, real: Tensor) -> list[list[Tensor]]:
        """Features of both images in one batch, at each scale."""
        fake_and_real = torch.cat([torch.cat([semantics, fake], dim=1), torch.cat([semantics, real], dim=1)], dim=0)
        result = []
        for discriminator in self.netD.values():
            result.append(discriminator(fake_and_real))
            fake_and_real = F.avg_pool2d(fake_and_real, 3, stride=2, padding=[1, 1], count_include_pad=False)
        return result

    def forward(self, label: Tensor, real_image: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The image and the losses of the generator."""
        bs, _, h, w = label.size()
        semantics = torch.zeros(bs, self.opt.semantic_nc, h, w).scatter_(1, label, 1.0)
        mu, logvar = self.netE(real_image)
        z = torch.randn_like(logvar).mul(torch.exp(0.5 * logvar)) + mu
        fake_image, losses = self.netG(semantics, z), {}
        losses["KLD"] = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) * 0.05
        feat = torch.zeros(1)
        gan = torch.zeros(1)
        for pred in self.discriminate(semantics, fake_image, real_image):
            gan = gan - pred[-1][:bs].mean()
            for layer in pred[:-1]:
                feat = feat + F.l1_loss(layer[:bs], layer[bs:].detach()) * 10.0 / self.opt.num_D
        losses["GAN"], losses["GAN_Feat"] = gan / self.opt.num_D, feat
        return fake_image, losses


SPADE_OPT = Namespace(ngf=8, ndf=8, norm_G="instance", semantic_nc=6, crop_size=32, z_dim=16, num_D=2)


def _labels() -> Tensor:
    return torch.randint(0, 6, (1, 1, 32, 32))


class PositionalEncoding(nn.Module):
    """Sines of a place at growing frequencies, behind the place."""

    _freqs: Tensor
    _phases: Tensor

    def __init__(self, num_freqs: int = 6, d_in: int = 3, freq_factor: float = math.pi) -> None:
        super().__init__()
        self.num_freqs, self.d_in, self.d_out = num_freqs, d_in, num_freqs * 2 * d_in + d_in
        freqs = freq_factor * 2.0 ** torch.arange(0, num_freqs)
        self.register_buffer("_freqs", torch.repeat_interleave(freqs, 2).view(1, -1, 1))
        _phases = torch.zeros(2 * num_freqs)
        _phases[1::2] = math.pi * 0.5
        self.register_buffer("_phases", _phases.view(1, -1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The code of each place."""
        embed = x.unsqueeze(1).repeat(1, self.num_freqs * 2, 1)
        embed = torch.sin(torch.addcmul(self._phases, embed, self._freqs))
        return torch.cat((x, embed.view(x.shape[0], -1)), dim=-1)


class EncoderBlock(nn.Module):
    """A basic block of a small residual net."""

    def __init__(self, inp: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or inp != out:
            self.downsample = nn.Sequential(nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        """Features, of half the size if there is a stride."""
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + identity)


class SpatialEncoder(nn.Module):
    """A pyramid of features, all upsampled to one size, that can be read at any pixel."""

    latent: Tensor
    latent_scaling: Tensor

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.latent_size = width + width + 2 * width + 4 * width
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(EncoderBlock(width, width, 1), EncoderBlock(width, width, 1))
        self.layer2 = nn.Sequential(EncoderBlock(width, 2 * width, 2), EncoderBlock(2 * width, 2 * width, 1))
        self.layer3 = nn.Sequential(EncoderBlock(2 * width, 4 * width, 2), EncoderBlock(4 * width, 4 * width, 1))
        self.register_buffer("latent", torch.empty(1, 1, 1, 1), persistent=False)
        self.register_buffer("latent_scaling", torch.empty(2), persistent=False)

    def index(self, uv: Tensor, image_size: Tensor) -> Tensor:
        """Features at pixels."""
        scale = self.latent_scaling / image_size
        uv = (uv * scale - 1.0).unsqueeze(2)
        samples = F.grid_sample(self.latent, uv, align_corners=True, mode="bilinear", padding_mode="border")
        return samples[:, :, :, 0]

    def forward(self, x: Tensor) -> Tensor:
        """The pyramid."""
        x = self.relu(self.bn1(self.conv1(x)))
        latents = [x]
        x = self.maxpool(x)
        for layer in (self.layer1, self.layer2, self.layer3):
            x = layer(x)
            latents.append(x)
        latent_sz = latents[0].shape[-2:]
        for i in range(len(latents)):
            latents[i] = F.interpolate(latents[i], latent_sz, mode="bilinear", align_corners=True)
        self.latent = torch.cat(latents, dim=1)
        w, h = float(self.latent.shape[-1]), float(self.latent.shape[-2])
        self.latent_scaling = torch.tensor([w, h]) / (torch.tensor([w, h]) - 1) * 2.0
        return self.latent


class ResnetBlockFC(nn.Module):
    """A residual block of two layers, activations first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.fc_0, self.fc_1, self.activation = nn.Linear(size, size), nn.Linear(size, size), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same size."""
        net = self.fc_0(self.activation(x))
        dx = self.fc_1(self.activation(net))
        return x + dx


class ResnetFC(nn.Module):
    """Blocks to each of which features of the images are added; after some, the views become one."""

    def __init__(self, d_in: int, d_out: int = 4, n_blocks: int = 5, d_latent: int = 0, d_hidden: int = 32) -> None:
        super().__init__()
        self.lin_in, self.lin_out = nn.Linear(d_in, d_hidden), nn.Linear(d_hidden, d_out)
        self.n_blocks, self.d_latent, self.combine_layer = n_blocks, d_latent, 3
        self.blocks = nn.ModuleList([ResnetBlockFC(d_hidden) for _ in range(n_blocks)])
        n_lin_z = min(self.combine_layer, n_blocks)
        self.lin_z = nn.ModuleList([nn.Linear(d_latent, d_hidden) for _ in range(n_lin_z)])
        self.activation = nn.ReLU()

    def forward(self, zx: Tensor, num_views: int) -> Tensor:
        """Colour and density of each place."""
        z, x = zx[..., : self.d_latent], zx[..., self.d_latent :]
        x = self.lin_in(x)
        for blkid in range(self.n_blocks):
            if blkid == self.combine_layer:
                x = x.reshape(-1, num_views, *x.shape[1:]).mean(dim=1)
            if blkid < self.combine_layer:
                x = x + self.lin_z[blkid](z)
            x = self.blocks[blkid](x)
        return self.lin_out(self.activation(x))


class PixelNeRF(nn.Module):
    """Colours of rays through a scene of which a few images are given."""

    image_shape: Tensor

    def __init__(self, n_coarse: int = 8, z_near: float = 0.8, z_far: float = 1.8) -> None:
        super().__init__()
        self.n_coarse, self.z_near, self.z_far = n_coarse, z_near, z_far
        self.encoder, self.code = SpatialEncoder(), PositionalEncoding()
        d_in = self.code.d_out + 3
        self.mlp_coarse = ResnetFC(d_in, d_latent=self.encoder.latent_size)
        self.register_buffer("image_shape", torch.empty(2), persistent=False)

    def field(self, xyz: Tensor, viewdirs: Tensor, poses: Tensor, focal: Tensor) -> Tensor:
        """Colour and density at places, seen from somewhere."""
        ns, b = poses.shape[0], xyz.shape[0]
        rot = poses[:, :3, :3].transpose(1, 2)
        trans = -torch.bmm(rot, poses[:, :3, 3:])
        xyz = xyz.unsqueeze(0).expand(ns, -1, -1)
        xyz_rot = torch.matmul(rot[:, None], xyz.unsqueeze(-1))[..., 0]
        xyz_cam = xyz_rot + trans[:, None, :3, 0]
        z_feature = self.code(xyz_rot.reshape(-1, 3))
        viewdirs = torch.matmul(rot[:, None], viewdirs[None, :, :, None].expand(ns, -1, -1, -1)).reshape(-1, 3)
        z_feature = torch.cat((z_feature, viewdirs), dim=1)
        uv = -xyz_cam[:, :, :2] / xyz_cam[:, :, 2:]
        uv = uv * focal.view(1, 1, 2) + (self.image_shape * 0.5).view(1, 1, 2)
        latent = self.encoder.index(uv, self.image_shape).transpose(1, 2).reshape(ns * b, -1)
        out = self.mlp_coarse(torch.cat((latent, z_feature), dim=-1), ns)
        return torch.cat([torch.sigmoid(out[..., :3]), torch.relu(out[..., 3:4])], dim=-1)

    def forward(self, images: Tensor, poses: Tensor, focal: Tensor, rays: Tensor) -> tuple[Tensor, Tensor]:
        """Colour and depth of each ray."""
        self.encoder(images)
        self.image_shape = torch.tensor([float(images.shape[-1]), float(images.shape[-2])])
        origins, dirs = rays[:, :3], rays[:, 3:6]
        step = 1.0 / self.n_coarse
        z_steps = torch.linspace(0, 1 - step, self.n_coarse).unsqueeze(0).repeat(rays.shape[0], 1)
        z_steps = z_steps + torch.rand_like(z_steps) * step
        z_samp = self.z_near * (1 - z_steps) + self.z_far * z_steps
        points = origins[:, None] + z_samp.unsqueeze(2) * dirs[:, None]
        viewdirs = dirs[:, None].expand(-1, self.n_coarse, -1).reshape(-1, 3)
        out = self.field(points.reshape(-1, 3), viewdirs, poses, focal).view(rays.shape[0], self.n_coarse, 4)
        deltas = torch.cat([z_samp[:, 1:] - z_samp[:, :-1], self.z_far - z_samp[:, -1:]], -1)
        alphas = 1 - torch.exp(-deltas * out[..., 3])
        shifted = torch.cat([torch.ones_like(alphas[:, :1]), 1 - alphas + 1e-10], -1)
        weights = alphas * torch.cumprod(shifted, -1)[:, :-1]
        return torch.sum(weights.unsqueeze(-1) * out[..., :3], -2), torch.sum(weights * z_samp, -1)


def _poses() -> Tensor:
    poses = torch.eye(4).repeat(2, 1, 1)
    poses[:, 2, 3] = 2.0
    return poses


def make_layers(block: dict[str, Sequence[int]], no_relu_layers: Sequence[str]) -> nn.Sequential:
    """Layers by name, each with a rectifier but for those of a list."""
    layers: list[tuple[str, nn.Module]] = []
    for layer_name, v in block.items():
        if "pool" in layer_name:
            layers.append((layer_name, nn.MaxPool2d(kernel_size=v[0], stride=v[1], padding=v[2])))
        else:
            conv2d = nn.Conv2d(in_channels=v[0], out_channels=v[1], kernel_size=v[2], stride=v[3], padding=v[4])
            layers.append((layer_name, conv2d))
            if layer_name not in no_relu_layers:
                layers.append(("relu_" + layer_name, nn.ReLU(inplace=True)))
    return nn.Sequential(OrderedDict(layers))


class BodyPose(nn.Module):
    """Joints and limbs of all bodies, by six stages each of which sees what the one before it found."""

    def __init__(self, paf: int = 38, heat: int = 19, c: int = 8, stages: int = 6) -> None:
        super().__init__()
        no_relu_layers = [f"conv5_5_CPM_L{branch}" for branch in (1, 2)]
        no_relu_layers += [f"Mconv7_stage{i}_L{branch}" for i in range(2, stages + 1) for branch in (1, 2)]
        block0: dict[str, Sequence[int]] = {
            **{"conv1_1": [3, c, 3, 1, 1], "conv1_2": [c, c, 3, 1, 1], "pool1_stage1": [2, 2, 0]},
            **{"conv2_1": [c, 2 * c, 3, 1, 1], "conv2_2": [2 * c, 2 * c, 3, 1, 1], "pool2_stage1": [2, 2, 0]},
            **{"conv3_1": [2 * c, 4 * c, 3, 1, 1], "conv3_2": [4 * c, 4 * c, 3, 1, 1]},
            **{"conv3_3": [4 * c, 4 * c, 3, 1, 1], "conv3_4": [4 * c, 4 * c, 3, 1, 1], "pool3_stage1": [2, 2, 0]},
            **{"conv4_1": [4 * c, 8 * c, 3, 1, 1], "conv4_2": [8 * c, 8 * c, 3, 1, 1]},
            **{"conv4_3_CPM": [8 * c, 4 * c, 3, 1, 1], "conv4_4_CPM": [4 * c, 2 * c, 3, 1, 1]},
        }
        blocks: dict[str, dict[str, Sequence[int]]] = {}
        for branch, out in ((1, paf), (2, heat)):
            first: dict[str, Sequence[int]] = {
                f"conv5_{i}_CPM_L{branch}": [2 * c if i == 1 else 4 * c, 4 * c, 3, 1, 1] for i in range(1, 4)
            }
            first[f"conv5_4_CPM_L{branch}"] = [4 * c, 8 * c, 1, 1, 0]
            first[f"conv5_5_CPM_L{branch}"] = [8 * c, out, 1, 1, 0]
            blocks[f"block1_{branch}"] = first
        self.model0 = make_layers(block0, no_relu_layers)
        for i in range(2, stages + 1):
            for branch, out in ((1, paf), (2, heat)):
                later: dict[str, Sequence[int]] = {
                    f"Mconv{j}_stage{i}_L{branch}": [paf + heat + 2 * c if j == 1 else 4 * c, 4 * c, 7, 1, 3]
                    for j in range(1, 6)
                }
                later[f"Mconv6_stage{i}_L{branch}"] = [4 * c, 4 * c, 1, 1, 0]
                later[f"Mconv7_stage{i}_L{branch}"] = [4 * c, out, 1, 1, 0]
                blocks[f"block{i}_{branch}"] = later
        for name, block in blocks.items():
            setattr(self, name.replace("block", "model"), make_layers(block, no_relu_layers))
        self.stages = stages

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Fields of the limbs and heats of the joints."""
        out1 = self.model0(x)
        out_1, out_2 = self.get_submodule("model1_1")(out1), self.get_submodule("model1_2")(out1)
        for i in range(2, self.stages + 1):
            out = torch.cat([out_1, out_2, out1], 1)
            out_1 = self.get_submodule(f"model{i}_1")(out)
            out_2 = self.get_submodule(f"model{i}_2")(out)
        return out_1, out_2


class ModuleHelper:
    """Norms as the whole repository has them."""

    @staticmethod
    def bn_relu(num_features: int) -> nn.Sequential:
        """A norm with its rectifier."""
        return nn.Sequential(nn.BatchNorm2d(num_features), nn.ReLU(inplace=True))


class SpatialGatherModule(nn.Module):
    """Features of each class: those of pixels, weighted by how likely they are of it."""

    def __init__(self, cls_num: int = 0, scale: int = 1) -> None:
        super().__init__()
        self.cls_num, self.scale = cls_num, scale

    def forward(self, feats: Tensor, probs: Tensor) -> Tensor:
        """A vector for each class."""
        batch_size, c = probs.size(0), probs.size(1)
        probs = probs.view(batch_size, c, -1)
        feats = feats.view(batch_size, feats.size(1), -1)
        feats = feats.permute(0, 2, 1)
        probs = F.softmax(self.scale * probs, dim=2)
        return torch.matmul(probs, feats).permute(0, 2, 1).unsqueeze(3)


class ObjectAttentionBlock(nn.Module):
    """Attention of pixels to classes."""

    def __init__(self, in_channels: int, key_channels: int, scale: int = 1) -> None:
        super().__init__()
        self.scale, self.in_channels, self.key_channels = scale, in_channels, key_channels
        self.pool = nn.MaxPool2d(kernel_size=(scale, scale))
        self.f_pixel, self.f_object = (
            nn.Sequential(
                nn.Conv2d(in_channels, key_channels, 1, bias=False), ModuleHelper.bn_relu(key_channels),
                nn.Conv2d(key_channels, key_channels, 1, bias=False), ModuleHelper.bn_relu(key_channels),
            ) for _ in range(2)
        )  # fmt: skip
        self.f_down = nn.Sequential(
            nn.Conv2d(in_channels, key_channels, 1, bias=False), ModuleHelper.bn_relu(key_channels)
        )
        self.f_up = nn.Sequential(
            nn.Conv2d(key_channels, in_channels, 1, bias=False), ModuleHelper.bn_relu(in_channels)
        )

    def forward(self, x: Tensor, proxy: Tensor) -> Tensor:
        """The context of each pixel from the features of the classes."""
        batch_size, h, w = x.size(0), x.size(2), x.size(3)
        if self.scale > 1:
            x = self.pool(x)
        query = self.f_pixel(x).view(batch_size, self.key_channels, -1)
        query = query.permute(0, 2, 1)
        key = self.f_object(proxy).view(batch_size, self.key_channels, -1)
        value = self.f_down(proxy).view(batch_size, self.key_channels, -1)
        value = value.permute(0, 2, 1)
        sim_map = torch.matmul(query, key)
        sim_map = (self.key_channels**-0.5) * sim_map
        sim_map = F.softmax(sim_map, dim=-1)
        context = torch.matmul(sim_map, value)
        context = context.permute(0, 2, 1).contiguous()
        context = self.f_up(context.view(batch_size, self.key_channels, *x.size()[2:]))
        if self.scale > 1:
            context = F.interpolate(input=context, size=(h, w), mode="bilinear", align_corners=True)
        return context


class SpatialOCRModule(nn.Module):
    """Features of pixels with those of the classes beside them."""

    def __init__(self, in_channels: int, key_channels: int, out_channels: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.object_context_block = ObjectAttentionBlock(in_channels, key_channels)
        self.conv_bn_dropout = nn.Sequential(
            nn.Conv2d(2 * in_channels, out_channels, kernel_size=1, padding=0, bias=False),
            ModuleHelper.bn_relu(out_channels),
            nn.Dropout2d(dropout),
        )

    def forward(self, feats: Tensor, proxy_feats: Tensor) -> Tensor:
        """Features of the pixels."""
        context = self.object_context_block(feats, proxy_feats)
        return self.conv_bn_dropout(torch.cat([context, feats], 1))


class DilatedBottleneck(nn.Module):
    """A bottleneck that may look further instead of becoming smaller."""

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, dilation: int = 1, project: bool = False) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, padding=dilation, dilation=dilation, bias=False)
        self.bn2, self.relu = nn.BatchNorm2d(planes), nn.ReLU(inplace=False)
        self.conv3, self.bn3 = nn.Conv2d(planes, planes * 4, 1, bias=False), nn.BatchNorm2d(planes * 4)
        self.downsample: nn.Module | None = None
        if project:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes * 4, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes * 4)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        return self.relu(out + residual)


class SpatialOCRNet(nn.Module):
    """Classes of pixels, from a first guess of them and from features of each class in the image."""

    def __init__(self, num_classes: int = 7, width: int = 8, layers: Sequence[int] = (2, 2, 3, 2)) -> None:
        super().__init__()
        self.num_classes, self.inplanes = num_classes, 2 * width
        stem: list[tuple[str, nn.Module]] = []
        for i, (inp, out, stride) in enumerate([(3, width, 2), (width, width, 1), (width, 2 * width, 1)], 1):
            stem += [(f"conv{i}", nn.Conv2d(inp, out, 3, stride, 1, bias=False)), (f"bn{i}", nn.BatchNorm2d(out))]
            stem += [(f"relu{i}", nn.ReLU(inplace=False))]
        self.resinit = nn.Sequential(OrderedDict(stem))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True)
        self.layer1, self.layer2 = self._make_layer(width, layers[0]), self._make_layer(2 * width, layers[1], stride=2)
        self.layer3 = self._make_layer(4 * width, layers[2], dilation=2)
        self.layer4 = self._make_layer(8 * width, layers[3], dilation=4)
        in_channels, mid = [16 * width, 32 * width], 8 * width
        self.conv_3x3 = nn.Sequential(nn.Conv2d(in_channels[1], mid, 3, 1, 1), ModuleHelper.bn_relu(mid))
        self.spatial_context_head = SpatialGatherModule(num_classes)
        self.spatial_ocr_head = SpatialOCRModule(mid, mid // 2, mid, 0.05)
        self.head = nn.Conv2d(mid, num_classes, kernel_size=1, stride=1, padding=0, bias=True)
        self.dsn_head = nn.Sequential(
            nn.Conv2d(in_channels[0], mid, kernel_size=3, stride=1, padding=1), ModuleHelper.bn_relu(mid),
            nn.Dropout2d(0.05), nn.Conv2d(mid, num_classes, kernel_size=1),
        )  # fmt: skip

    def _make_layer(self, planes: int, blocks: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
        layers = [DilatedBottleneck(self.inplanes, planes, stride, dilation, project=True)]
        self.inplanes = planes * DilatedBottleneck.expansion
        layers += [DilatedBottleneck(self.inplanes, planes, dilation=dilation) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x_: Tensor) -> tuple[Tensor, Tensor]:
        """The first guess and the better one, in the size of the image."""
        x = self.maxpool(self.resinit(x_))
        x = self.layer2(self.layer1(x))
        x_dsn = self.layer3(x)
        x = self.conv_3x3(self.layer4(x_dsn))
        x_dsn = self.dsn_head(x_dsn)
        context = self.spatial_context_head(x, x_dsn)
        x = self.head(self.spatial_ocr_head(x, context))
        size = (x_.size(2), x_.size(3))
        x_dsn = F.interpolate(x_dsn, size=size, mode="bilinear", align_corners=True)
        return x_dsn, F.interpolate(x, size=size, mode="bilinear", align_corners=True)


def l2_norm(x: Tensor, axis: int = 1) -> Tensor:
    """Vectors of length one."""
    return torch.div(x, torch.norm(x, 2, axis, True))


class SEModule(nn.Module):
    """Channels weighed by what all of the image says."""

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, channels // reduction, kernel_size=1, padding=0, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.fc2 = nn.Conv2d(channels // reduction, channels, kernel_size=1, padding=0, bias=False)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        """The weighed channels."""
        module_input = x
        x = self.avg_pool(x)
        x = self.relu(self.fc1(x))
        x = self.sigmoid(self.fc2(x))
        return module_input * x


class BottleneckIRSE(nn.Module):
    """A residual block that begins with a norm and ends with a squeeze."""

    def __init__(self, in_channel: int, depth: int, stride: int) -> None:
        super().__init__()
        if in_channel == depth:
            self.shortcut_layer: nn.Module = nn.MaxPool2d(1, stride)
        else:
            conv = nn.Conv2d(in_channel, depth, (1, 1), stride, bias=False)
            self.shortcut_layer = nn.Sequential(conv, nn.BatchNorm2d(depth))
        self.res_layer = nn.Sequential(
            nn.BatchNorm2d(in_channel), nn.Conv2d(in_channel, depth, (3, 3), (1, 1), 1, bias=False), nn.PReLU(depth),
            nn.Conv2d(depth, depth, (3, 3), stride, 1, bias=False), nn.BatchNorm2d(depth), SEModule(depth, 4),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        shortcut = self.shortcut_layer(x)
        res = self.res_layer(x)
        return res + shortcut


Bottleneck = namedtuple("Bottleneck", ["in_channel", "depth", "stride"])


def get_block(in_channel: int, depth: int, num_units: int, stride: int = 2) -> list[Bottleneck]:
    """Settings of a stage's blocks, of which the first is the one with a stride."""
    return [Bottleneck(in_channel, depth, stride)] + [Bottleneck(depth, depth, 1) for _ in range(num_units - 1)]


class FaceBackbone(nn.Module):
    """A vector of length one for each face."""

    def __init__(self, units: Sequence[int] = (3, 4, 14, 3), c: int = 8, size: int = 32, dim: int = 32) -> None:
        super().__init__()
        self.input_layer = nn.Sequential(nn.Conv2d(3, c, (3, 3), 1, 1, bias=False), nn.BatchNorm2d(c), nn.PReLU(c))
        last = c * 2 ** (len(units) - 1)
        self.output_layer = nn.Sequential(
            nn.BatchNorm2d(last), nn.Dropout(0.4), nn.Flatten(),
            nn.Linear(last * (size // 2 ** len(units)) ** 2, dim), nn.BatchNorm1d(dim),
        )  # fmt: skip
        blocks = [get_block(c * 2 ** max(0, i - 1), c * 2**i, n) for i, n in enumerate(units)]
        modules: list[nn.Module] = []
        for block in blocks:
            modules += [BottleneckIRSE(unit.in_channel, unit.depth, unit.stride) for unit in block]
        self.body = nn.Sequential(*modules)

    def forward(self, x: Tensor) -> Tensor:
        """The vector."""
        x = self.input_layer(x)
        x = self.body(x)
        x = self.output_layer(x)
        return l2_norm(x)


class Arcface(nn.Module):
    """Cosines between faces and people, with a margin for the angle to the right one."""

    def __init__(self, embedding_size: int = 32, classnum: int = 20, s: float = 64.0, m: float = 0.5) -> None:
        super().__init__()
        self.classnum, self.m, self.s = classnum, m, s
        self.kernel = nn.Parameter(torch.empty(embedding_size, classnum).uniform_(-1, 1))
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)
        self.mm = self.sin_m * m
        self.threshold = math.cos(math.pi - m)

    def forward(self, embbedings: Tensor, label: Tensor) -> Tensor:
        """Scaled cosines."""
        n_b = len(embbedings)
        kernel_norm = l2_norm(self.kernel, axis=0)
        cos_theta = torch.mm(embbedings, kernel_norm).clamp(-1, 1)
        sin_theta = torch.sqrt(1 - torch.pow(cos_theta, 2))
        cos_theta_m = cos_theta * self.cos_m - sin_theta * self.sin_m
        cond_mask = cos_theta - self.threshold <= 0
        cos_theta_m = torch.where(cond_mask, cos_theta - self.mm, cos_theta_m)
        output = cos_theta * 1.0
        idx_ = torch.arange(0, n_b, dtype=torch.long)
        output[idx_, label] = cos_theta_m[idx_, label]
        return output * self.s


class FaceLearner(nn.Module):
    """A classifier of faces by person."""

    def __init__(self, classnum: int = 20) -> None:
        super().__init__()
        self.model, self.head = FaceBackbone(), Arcface(classnum=classnum)

    def forward(self, imgs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors and the loss."""
        embeddings = self.model(imgs)
        thetas = self.head(embeddings, labels)
        return embeddings, F.cross_entropy(thetas, labels)


class TemporalShift(nn.Module):
    """A layer before which some channels come from the frame before and some from the next."""

    def __init__(self, net: nn.Module, n_segment: int = 3, n_div: int = 8) -> None:
        super().__init__()
        self.net, self.n_segment, self.fold_div = net, n_segment, n_div

    def forward(self, x: Tensor) -> Tensor:
        """The output of the layer for shifted frames."""
        x = self.shift(x, self.n_segment, fold_div=self.fold_div)
        return self.net(x)

    @staticmethod
    def shift(x: Tensor, n_segment: int, fold_div: int = 3) -> Tensor:
        """The frames with channels of their neighbours."""
        nt, c, h, w = x.size()
        n_batch = nt // n_segment
        x = x.view(n_batch, n_segment, c, h, w)
        fold = c // fold_div
        out = torch.zeros_like(x)
        out[:, :-1, :fold] = x[:, 1:, :fold]
        out[:, 1:, fold : 2 * fold] = x[:, :-1, fold : 2 * fold]
        out[:, :, 2 * fold :] = x[:, :, 2 * fold :]
        return out.view(nt, c, h, w)


class FrameResNet(nn.Module):
    """A residual net for single frames."""

    def __init__(self, layers: Sequence[int] = (2, 2, 3, 2), width: int = 16) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        inp = width
        for i, blocks in enumerate(layers):
            out = width * 2**i
            stage = [EncoderBlock(inp if j == 0 else out, out, 2 if i and j == 0 else 1) for j in range(blocks)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*stage))
            inp = out
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inp, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """The output of the last layer."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


def make_temporal_shift(net: FrameResNet, n_segment: int, n_div: int = 8) -> None:
    """A shift put before the first convolution of every block, or of every second one of a deep net."""
    n_round = 2 if len(list(net.get_submodule("layer3").children())) >= 23 else 1
    for name in ("layer1", "layer2", "layer3", "layer4"):
        blocks: list[Any] = list(net.get_submodule(name).children())
        for i, b in enumerate(blocks):
            if i % n_round == 0:
                blocks[i].conv1 = TemporalShift(b.conv1, n_segment=n_segment, n_div=n_div)
        setattr(net, name, nn.Sequential(*blocks))


class ConsensusModule(nn.Module):
    """What the frames of a film say together."""

    def __init__(self, consensus_type: str, dim: int = 1) -> None:
        super().__init__()
        self.consensus_type, self.dim = consensus_type if consensus_type != "rnn" else "identity", dim

    def forward(self, x: Tensor) -> Tensor:
        """Their mean."""
        return x.mean(dim=self.dim, keepdim=True) if self.consensus_type == "avg" else x


class TSN(nn.Module):
    """The action of a film from a few of its frames."""

    def __init__(self, num_class: int = 12, num_segments: int = 4, shift_div: int = 8, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_segments, self.reshape = num_segments, True
        self.base_model = FrameResNet()
        make_temporal_shift(self.base_model, num_segments, n_div=shift_div)
        feature_dim = self.base_model.fc.in_features
        self.base_model.fc = nn.Dropout(p=dropout)  # type: ignore[assignment]
        self.new_fc = nn.Linear(feature_dim, num_class)
        nn.init.normal_(self.new_fc.weight, 0, 0.001)
        self.consensus = ConsensusModule("avg")

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the actions."""
        sample_len = 3
        base_out = self.base_model(x.view((-1, sample_len, *x.size()[-2:])))
        base_out = self.new_fc(base_out)
        if self.reshape:
            base_out = base_out.view((-1, self.num_segments, *base_out.size()[1:]))
        output = self.consensus(base_out)
        return output.squeeze(1)


CFG: dict[str, list[int | str]] = {"small": [8, "M", 16, "M", 32, 32, "M", 64, 64]}


def make_features(cfg: Sequence[int | str], in_channels: int, batch_norm: bool = True) -> nn.Sequential:
    """Convolutions and pools as a list says."""
    layers: list[nn.Module] = []
    for v in cfg:
        if isinstance(v, str):
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            continue
        layers += [nn.Conv2d(in_channels, v, kernel_size=3, padding=1)]
        layers += [nn.BatchNorm2d(v), nn.ReLU(inplace=True)] if batch_norm else [nn.ReLU(inplace=True)]
        in_channels = v
    return nn.Sequential(*layers)


class ConvFusion(nn.Module):
    """Features of both streams, channel beside channel, and a convolution over space and time that joins them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(2 * channels, channels, kernel_size=3, padding=1)
        eye = torch.zeros(channels, 2 * channels)
        for i in range(channels):
            eye[i, 2 * i] = eye[i, 2 * i + 1] = 0.5
        with torch.no_grad():
            self.conv.weight.mul_(0.01)
            self.conv.weight[:, :, 1, 1, 1] += eye
        self.pool = nn.MaxPool3d(kernel_size=(3, 2, 2), stride=(3, 2, 2))

    def forward(self, appearance: Tensor, motion: Tensor) -> Tensor:
        """Features of a piece of the film."""
        b, c, t, h, w = appearance.shape
        x = torch.stack([appearance, motion], dim=2).view(b, 2 * c, t, h, w)
        return self.pool(F.relu(self.conv(x)))


class TwoStreamFusion(nn.Module):
    """An action from frames and from the optical flow around each, joined late and judged twice."""

    def __init__(self, num_classes: int = 10, flow_frames: int = 5, size: int = 32, cfg: str = "small") -> None:
        super().__init__()
        self.spatial = make_features(CFG[cfg], in_channels=3)
        self.temporal = make_features(CFG[cfg], in_channels=2 * flow_frames)
        channels, left = 64, size // 16
        self.fusion = ConvFusion(channels)
        self.motion_pool = nn.MaxPool3d(kernel_size=(3, 2, 2), stride=(3, 2, 2))
        self.fused_classifier, self.motion_classifier = (
            nn.Sequential(
                nn.Linear(channels * left * left, 64), nn.ReLU(True), nn.Dropout(0.85),
                nn.Linear(64, 64), nn.ReLU(True), nn.Dropout(0.85), nn.Linear(64, num_classes),
            ) for _ in range(2)
        )  # fmt: skip

    def stream(self, net: nn.Module, clip: Tensor) -> Tensor:
        """Features of each frame, with time behind the channels."""
        b, t = clip.shape[:2]
        x = net(clip.flatten(0, 1))
        return x.view(b, t, *x.shape[1:]).transpose(1, 2).contiguous()

    def forward(self, rgb: Tensor, flow: Tensor) -> Tensor:
        """How likely each action is."""
        appearance, motion = self.stream(self.spatial, rgb), self.stream(self.temporal, flow)
        fused = self.fusion(appearance, motion)
        fused = self.fused_classifier(fused.flatten(1))
        motion = self.motion_classifier(self.motion_pool(motion).flatten(1))
        return (F.softmax(fused, dim=1) + F.softmax(motion, dim=1)) / 2


class SDFDecoder(nn.Module):
    """How far a place is from a surface that a code stands for."""

    def __init__(
        self, latent_size: int, dims: Sequence[int], dropout: Sequence[int] | None = None, dropout_prob: float = 0.0,
        norm_layers: Sequence[int] = (), latent_in: Sequence[int] = (), weight_norm_: bool = False,
        xyz_in_all: bool = False, use_tanh: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        dims = [latent_size + 3, *dims, 1]
        self.num_layers, self.norm_layers, self.latent_in = len(dims), norm_layers, latent_in
        self.xyz_in_all, self.weight_norm = xyz_in_all, weight_norm_
        for layer in range(self.num_layers - 1):
            if layer + 1 in latent_in:
                out_dim = dims[layer + 1] - dims[0]
            else:
                out_dim = dims[layer + 1]
                if self.xyz_in_all and layer != self.num_layers - 2:
                    out_dim -= 3
            lin = nn.Linear(dims[layer], out_dim)
            if weight_norm_ and layer in self.norm_layers:
                setattr(self, "lin" + str(layer), weight_norm(lin))
            else:
                setattr(self, "lin" + str(layer), lin)
            if not weight_norm_ and layer in self.norm_layers:
                setattr(self, "bn" + str(layer), nn.LayerNorm(out_dim))
        self.use_tanh = use_tanh
        if use_tanh:
            self.tanh = nn.Tanh()
        self.relu, self.dropout_prob, self.dropout, self.th = nn.ReLU(), dropout_prob, dropout, nn.Tanh()

    def forward(self, inp: Tensor) -> Tensor:
        """The distance, less than zero inside."""
        xyz, x = inp[:, -3:], inp
        for layer in range(self.num_layers - 1):
            lin = getattr(self, "lin" + str(layer))
            if layer in self.latent_in:
                x = torch.cat([x, inp], 1)
            elif layer != 0 and self.xyz_in_all:
                x = torch.cat([x, xyz], 1)
            x = lin(x)
            if layer == self.num_layers - 2 and self.use_tanh:
                x = self.tanh(x)
            if layer < self.num_layers - 2:
                if self.norm_layers is not None and layer in self.norm_layers and not self.weight_norm:
                    x = getattr(self, "bn" + str(layer))(x)
                x = self.relu(x)
                if self.dropout is not None and layer in self.dropout:
                    x = F.dropout(x, p=self.dropout_prob, training=self.training)
        return self.th(x)


SPECS: dict[str, Any] = {
    "CodeLength": 24,
    "ClampingDistance": 0.1,
    "CodeRegularizationLambda": 1e-4,
    "NetworkSpecs": {
        **{"dims": [64] * 8, "dropout": list(range(8)), "dropout_prob": 0.2, "norm_layers": list(range(8))},
        **{"latent_in": [4], "xyz_in_all": False, "use_tanh": False, "weight_norm_": True},
    },
}


class AutoDecoder(nn.Module):
    """A code for each known shape, learned together with the net that reads it."""

    def __init__(self, specs: dict[str, Any], num_scenes: int = 6) -> None:
        super().__init__()
        self.clamp_dist, self.reg = specs["ClampingDistance"], specs["CodeRegularizationLambda"]
        self.lat_vecs = nn.Embedding(num_scenes, specs["CodeLength"], max_norm=1.0)
        nn.init.normal_(self.lat_vecs.weight, 0.0, 1.0 / math.sqrt(specs["CodeLength"]))
        self.decoder = SDFDecoder(specs["CodeLength"], **specs["NetworkSpecs"])

    def forward(self, indices: Tensor, sdf_data: Tensor) -> tuple[Tensor, Tensor]:
        """Distances of places, and how far they are from the true ones."""
        sdf_data = sdf_data.reshape(-1, 4)
        num_sdf_samples = sdf_data.shape[0]
        xyz, sdf_gt = sdf_data[:, 0:3], torch.clamp(sdf_data[:, 3:], -self.clamp_dist, self.clamp_dist)
        indices = indices.unsqueeze(-1).repeat(1, num_sdf_samples // indices.shape[0]).view(-1)
        batch_vecs = self.lat_vecs(indices)
        pred_sdf = self.decoder(torch.cat([batch_vecs, xyz], dim=1))
        pred_sdf = torch.clamp(pred_sdf, -self.clamp_dist, self.clamp_dist)
        chunk_loss = F.l1_loss(pred_sdf, sdf_gt, reduction="sum") / num_sdf_samples
        l2_size_loss = torch.sum(torch.norm(batch_vecs, dim=1))
        return pred_sdf, chunk_loss + self.reg * l2_size_loss / num_sdf_samples


NETS = [
    Entry("own/spade", lambda: Pix2PixModel(SPADE_OPT), given(_labels, numbers(1, 3, 32, 32))),
    Entry("own/pixelnerf", PixelNeRF, given(numbers(2, 3, 32, 32), _poses, whole(30.0, -30.0), numbers(12, 6))),
    Entry("own/openpose", BodyPose, given(numbers(1, 3, 64, 64))),
    Entry("own/ocrnet", SpatialOCRNet, given(numbers(1, 3, 64, 64))),
    Entry("own/arcface", FaceLearner, given(numbers(2, 3, 32, 32), whole(3, 11))),
    Entry("own/tsm", TSN, given(numbers(1, 12, 64, 64))),
    Entry("own/two_stream", TwoStreamFusion, given(numbers(2, 3, 3, 32, 32), numbers(2, 3, 10, 32, 32))),
    Entry("own/deepsdf", lambda: AutoDecoder(SPECS), given(whole(2, 5), numbers(2, 8, 4))),
]
