"""Nets of images and scenes as repositories write them, of the third list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list, split into words
and shuffled by `random.Random(131)`; the first fifteen are the nets of this file and of `held_131_sequences.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole, words

TOPICS = """
centernet cornernet openpose hmr cyclegan biggan esrgan monodepth2 psmnet mvsnet pointpillars instant_ngp deepsdf tsm
i3d bisenet refinenet ladder_vae film mac relation_network show_attend_tell darts prototypical_network nonlocal arcface
listen_attend_spell wave_u_net qanet esim han vdcnn universal_transformer hyena s4 biaffine_parser memn2n ntm lstnet
graph_wavenet stgcn sasrec xdeepfm mmoe sr_gnn egnn rainbow qmix soft_actor_critic deeponet enformer flamingo
hypernetwork social_gan vectornet melgan
"""


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, bias: bool = False) -> nn.Conv2d:
    """A padded convolution."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=bias)


class BasicBlock(nn.Module):
    """The block of the backbone."""

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inplanes, planes, stride), nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv3x3(planes, planes), nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class ResidualConvUnit(nn.Module):
    """Two convolutions with their activations in front (RCU)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = conv3x3(features, features, bias=True), conv3x3(features, features)
        self.relu = nn.ReLU(inplace=False)

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        out = self.conv1(self.relu(x))
        out = self.conv2(self.relu(out))
        return out + x


class MultiResolutionFusion(nn.Module):
    """A sum of paths, each as large as the largest (MRF)."""

    def __init__(self, out_feats: int, *shapes: tuple[int, int]) -> None:
        super().__init__()
        _, max_size = max(shapes, key=lambda shape: shape[1])
        self.scale_factors = []
        for i, (feat, size) in enumerate(shapes):
            if max_size % size != 0:
                raise ValueError("max_size not divisible by shape")
            self.scale_factors.append(max_size // size)
            self.add_module(f"resolve{i}", conv3x3(feat, out_feats))

    def forward(self, *xs: Tensor) -> Tensor:
        """Their sum."""
        output: Any = 0
        for i, (x, scale) in enumerate(zip(xs, self.scale_factors, strict=True)):
            path = getattr(self, f"resolve{i}")(x)
            if scale != 1:
                path = F.interpolate(path, scale_factor=scale, mode="bilinear", align_corners=True)
            output = output + path
        return output


class ChainedResidualPool(nn.Module):
    """A chain of pools, all of which are added to what comes in (CRP)."""

    def __init__(self, feats: int, stages: int = 4) -> None:
        super().__init__()
        self.relu, self.stages = nn.ReLU(inplace=True), stages
        for i in range(1, stages + 1):
            pool = nn.MaxPool2d(kernel_size=5, stride=1, padding=2)
            self.add_module(f"block{i}", nn.Sequential(pool, conv3x3(feats, feats)))

    def forward(self, x: Tensor) -> Tensor:
        """The same size."""
        x = self.relu(x)
        path = x
        for i in range(1, self.stages + 1):
            path = getattr(self, f"block{i}")(path)
            x = x + path
        return x


class RefineNetBlock(nn.Module):
    """One step up: the coarse path and the features of a stage."""

    def __init__(self, features: int, *shapes: tuple[int, int]) -> None:
        super().__init__()
        for i, (feats, _) in enumerate(shapes):
            self.add_module(f"rcu{i}", nn.Sequential(ResidualConvUnit(feats), ResidualConvUnit(feats)))
        self.mrf = MultiResolutionFusion(features, *shapes) if len(shapes) != 1 else None
        self.crp, self.output_conv = ChainedResidualPool(features), ResidualConvUnit(features)

    def forward(self, *xs: Tensor) -> Tensor:
        """As large as the larger of both."""
        xs = tuple(getattr(self, f"rcu{i}")(x) for i, x in enumerate(xs))
        out = self.mrf(*xs) if self.mrf is not None else xs[0]
        return self.output_conv(self.crp(out))


class RefineNet4Cascade(nn.Module):
    """Segmentation by four blocks, from the coarsest features of a residual net to the finest."""

    def __init__(self, input_size: int = 64, num_classes: int = 6, features: int = 32) -> None:
        super().__init__()
        self.inplanes = 16
        self.conv1, self.bn1 = nn.Conv2d(3, 16, kernel_size=7, stride=2, padding=3, bias=False), nn.BatchNorm2d(16)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1, self.layer2 = self._make_layer(16, 2), self._make_layer(32, 2, stride=2)
        self.layer3, self.layer4 = self._make_layer(64, 2, stride=2), self._make_layer(128, 2, stride=2)
        self.layer1_rn, self.layer2_rn = conv3x3(16, features), conv3x3(32, features)
        self.layer3_rn, self.layer4_rn = conv3x3(64, features), conv3x3(128, 2 * features)
        self.refinenet4 = RefineNetBlock(2 * features, (2 * features, input_size // 32))
        self.refinenet3 = RefineNetBlock(features, (2 * features, input_size // 32), (features, input_size // 16))
        self.refinenet2 = RefineNetBlock(features, (features, input_size // 16), (features, input_size // 8))
        self.refinenet1 = RefineNetBlock(features, (features, input_size // 8), (features, input_size // 4))
        self.output_conv = nn.Sequential(
            ResidualConvUnit(features), ResidualConvUnit(features), nn.Conv2d(features, num_classes, kernel_size=1)
        )

    def _make_layer(self, planes: int, blocks: int, stride: int = 1) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes)
            )
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers += [BasicBlock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of each class, a quarter of the size."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        layer_1 = self.layer1(x)
        layer_2 = self.layer2(layer_1)
        layer_3 = self.layer3(layer_2)
        layer_4 = self.layer4(layer_3)
        path_4 = self.refinenet4(self.layer4_rn(layer_4))
        path_3 = self.refinenet3(path_4, self.layer3_rn(layer_3))
        path_2 = self.refinenet2(path_3, self.layer2_rn(layer_2))
        path_1 = self.refinenet1(path_2, self.layer1_rn(layer_1))
        return self.output_conv(path_1)


class ConvBnReLU(nn.Module):
    """A convolution of two or three axes, its norm and its activation."""

    def __init__(self, in_channels: int, out_channels: int, k: int = 3, stride: int = 1, pad: int = 1, d: int = 2):
        super().__init__()
        conv, norm = (nn.Conv2d, nn.BatchNorm2d) if d == 2 else (nn.Conv3d, nn.BatchNorm3d)
        self.conv = conv(in_channels, out_channels, k, stride=stride, padding=pad, bias=False)
        self.bn = norm(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Never negative."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


def deconv3d(in_channels: int, out_channels: int) -> nn.Sequential:
    """Twice the size."""
    conv = nn.ConvTranspose3d(in_channels, out_channels, 3, padding=1, output_padding=1, stride=2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm3d(out_channels), nn.ReLU(inplace=True))


class FeatureNet(nn.Module):
    """Features of one view, a quarter of its size."""

    def __init__(self, base: int = 8) -> None:
        super().__init__()
        self.inplanes = base
        self.conv0, self.conv1 = ConvBnReLU(3, base), ConvBnReLU(base, base)
        self.conv2 = ConvBnReLU(base, 2 * base, 5, 2, 2)
        self.conv3, self.conv4 = ConvBnReLU(2 * base, 2 * base), ConvBnReLU(2 * base, 2 * base)
        self.conv5, self.conv6 = ConvBnReLU(2 * base, 4 * base, 5, 2, 2), ConvBnReLU(4 * base, 4 * base)
        self.feature = nn.Conv2d(4 * base, 4 * base, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Neither normed nor activated in the end."""
        x = self.conv1(self.conv0(x))
        x = self.conv4(self.conv3(self.conv2(x)))
        return self.feature(self.conv6(self.conv5(x)))


class CostRegNet(nn.Module):
    """A small U-Net of three axes, over the volume of costs."""

    def __init__(self, in_channels: int = 32, base: int = 8) -> None:
        super().__init__()
        self.conv0 = ConvBnReLU(in_channels, base, d=3)
        self.conv1, self.conv2 = ConvBnReLU(base, 2 * base, stride=2, d=3), ConvBnReLU(2 * base, 2 * base, d=3)
        self.conv3, self.conv4 = ConvBnReLU(2 * base, 4 * base, stride=2, d=3), ConvBnReLU(4 * base, 4 * base, d=3)
        self.conv5, self.conv6 = ConvBnReLU(4 * base, 8 * base, stride=2, d=3), ConvBnReLU(8 * base, 8 * base, d=3)
        self.conv7, self.conv9 = deconv3d(8 * base, 4 * base), deconv3d(4 * base, 2 * base)
        self.conv11, self.prob = deconv3d(2 * base, base), nn.Conv3d(base, 1, 3, stride=1, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """A score for each depth of each pixel."""
        conv0 = self.conv0(x)
        conv2 = self.conv2(self.conv1(conv0))
        conv4 = self.conv4(self.conv3(conv2))
        x = self.conv6(self.conv5(conv4))
        x = conv4 + self.conv7(x)
        x = conv2 + self.conv9(x)
        x = conv0 + self.conv11(x)
        return self.prob(x)


class DepthRefinement(nn.Module):
    """A change of the depths that the image makes likely."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = ConvBnReLU(4, 32), ConvBnReLU(32, 32)
        self.conv3, self.res = ConvBnReLU(32, 32), nn.Conv2d(32, 1, 3, padding=1)

    def forward(self, img: Tensor, depth_init: Tensor) -> Tensor:
        """The depths, corrected."""
        concat = torch.cat((img, depth_init), dim=1)
        depth_residual = self.res(self.conv3(self.conv2(self.conv1(concat))))
        return depth_init + depth_residual


def homo_warping(src_fea: Tensor, src_proj: Tensor, ref_proj: Tensor, depth_values: Tensor) -> Tensor:
    """Features of another view as the reference would see them at each depth."""
    batch, channels, height, width = src_fea.shape
    num_depth = depth_values.shape[1]
    with torch.no_grad():
        proj = torch.matmul(src_proj, torch.inverse(ref_proj))
        rot, trans = proj[:, :3, :3], proj[:, :3, 3:4]
        y, x = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
        xyz = torch.stack((x.reshape(-1), y.reshape(-1), torch.ones(height * width)))
        rot_xyz = torch.matmul(rot, xyz.unsqueeze(0).repeat(batch, 1, 1))
        rot_depth_xyz = rot_xyz.unsqueeze(2).repeat(1, 1, num_depth, 1) * depth_values.view(batch, 1, num_depth, 1)
        proj_xyz = rot_depth_xyz + trans.view(batch, 3, 1, 1)
        proj_xy = proj_xyz[:, :2] / proj_xyz[:, 2:3].clamp(min=1e-3)
        grid_x = proj_xy[:, 0] / ((width - 1) / 2) - 1
        grid_y = proj_xy[:, 1] / ((height - 1) / 2) - 1
        grid = torch.stack((grid_x, grid_y), dim=3).view(batch, num_depth * height, width, 2)
    warped = F.grid_sample(src_fea, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
    return warped.view(batch, channels, num_depth, height, width)


class MVSNet(nn.Module):
    """Depths of a picture from others of the same scene: the variance of their features at each depth."""

    def __init__(self, refine: bool = True) -> None:
        super().__init__()
        self.refine = refine
        self.feature, self.cost_regularization = FeatureNet(), CostRegNet()
        if self.refine:
            self.refine_network = DepthRefinement()

    def forward(self, imgs: Tensor, proj_matrices: Tensor, depth_values: Tensor) -> dict[str, Tensor]:
        """Depths, and how sure they are."""
        views, num_depth = torch.unbind(imgs, 1), depth_values.shape[1]
        features = [self.feature(img) for img in views]
        projections = torch.unbind(proj_matrices, 1)
        ref_feature, src_features = features[0], features[1:]
        volume_sum = ref_feature.unsqueeze(2).repeat(1, 1, num_depth, 1, 1)
        volume_sq_sum = volume_sum**2
        for src_fea, src_proj in zip(src_features, projections[1:], strict=True):
            warped_volume = homo_warping(src_fea, src_proj, projections[0], depth_values)
            volume_sum = volume_sum + warped_volume
            volume_sq_sum = volume_sq_sum + warped_volume**2
        volume_variance = volume_sq_sum / len(views) - (volume_sum / len(views)) ** 2
        prob_volume = F.softmax(self.cost_regularization(volume_variance).squeeze(1), dim=1)
        depth = torch.sum(prob_volume * depth_values[:, :, None, None], 1)
        with torch.no_grad():
            padded = F.pad(prob_volume.unsqueeze(1), pad=(0, 0, 0, 0, 1, 2))
            prob_volume_sum4 = 4 * F.avg_pool3d(padded, (4, 1, 1), stride=1).squeeze(1)
            indices = torch.arange(num_depth, dtype=torch.float).view(1, -1, 1, 1)
            depth_index = torch.sum(prob_volume * indices, 1, keepdim=True).long()
            confidence = torch.gather(prob_volume_sum4, 1, depth_index).squeeze(1)
        if not self.refine:
            return {"depth": depth, "photometric_confidence": confidence}
        ref_img = F.interpolate(views[0], scale_factor=0.25, mode="bilinear", align_corners=False)
        refined_depth = self.refine_network(ref_img, depth.unsqueeze(1))
        return {"depth": depth, "refined_depth": refined_depth, "photometric_confidence": confidence}


class CaptionEncoder(nn.Module):
    """A grid of features of an image."""

    def __init__(self, encoded_image_size: int = 6) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        in_channels = 3
        for v in (16, 16, "M", 32, 32, "M", 64, 64, "M"):
            if isinstance(v, str):
                layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
                continue
            layers += [nn.Conv2d(in_channels, v, kernel_size=3, padding=1), nn.ReLU(inplace=True)]
            in_channels = v
        self.cnn = nn.Sequential(*layers)
        self.adaptive_pool = nn.AdaptiveAvgPool2d((encoded_image_size, encoded_image_size))

    def forward(self, images: Tensor) -> Tensor:
        """Channels last."""
        out = self.adaptive_pool(self.cnn(images))
        return out.permute(0, 2, 3, 1)


class SoftAttention(nn.Module):
    """Places of the image, weighed by the state of the decoder."""

    def __init__(self, encoder_dim: int, decoder_dim: int, attention_dim: int) -> None:
        super().__init__()
        self.encoder_att = nn.Linear(encoder_dim, attention_dim)
        self.decoder_att = nn.Linear(decoder_dim, attention_dim)
        self.full_att = nn.Linear(attention_dim, 1)
        self.relu, self.softmax = nn.ReLU(), nn.Softmax(dim=1)

    def forward(self, encoder_out: Tensor, decoder_hidden: Tensor) -> tuple[Tensor, Tensor]:
        """A vector, and the weights."""
        att1, att2 = self.encoder_att(encoder_out), self.decoder_att(decoder_hidden)
        att = self.full_att(self.relu(att1 + att2.unsqueeze(1))).squeeze(2)
        alpha = self.softmax(att)
        return (encoder_out * alpha.unsqueeze(2)).sum(dim=1), alpha


class DecoderWithAttention(nn.Module):
    """A recurrent cell that looks at the image before each word."""

    def __init__(self, attention_dim: int, embed_dim: int, decoder_dim: int, vocab_size: int, encoder_dim: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.attention = SoftAttention(encoder_dim, decoder_dim, attention_dim)
        self.embedding, self.dropout = nn.Embedding(vocab_size, embed_dim), nn.Dropout(p=0.5)
        self.decode_step = nn.LSTMCell(embed_dim + encoder_dim, decoder_dim, bias=True)
        self.init_h, self.init_c = nn.Linear(encoder_dim, decoder_dim), nn.Linear(encoder_dim, decoder_dim)
        self.f_beta, self.sigmoid = nn.Linear(decoder_dim, encoder_dim), nn.Sigmoid()
        self.fc = nn.Linear(decoder_dim, vocab_size)
        self.init_weights()

    def init_weights(self) -> None:
        """Small and even."""
        self.embedding.weight.data.uniform_(-0.1, 0.1)
        self.fc.bias.data.fill_(0)
        self.fc.weight.data.uniform_(-0.1, 0.1)

    def init_hidden_state(self, encoder_out: Tensor) -> tuple[Tensor, Tensor]:
        """A state from the mean of the image."""
        mean_encoder_out = encoder_out.mean(dim=1)
        return self.init_h(mean_encoder_out), self.init_c(mean_encoder_out)

    def forward(self, encoder_out: Tensor, captions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of the words, where was looked, and the order of the captions, the longest first."""
        batch_size, encoder_dim = encoder_out.size(0), encoder_out.size(-1)
        encoder_out = encoder_out.reshape(batch_size, -1, encoder_dim)
        lengths, sort_ind = lengths.sort(dim=0, descending=True)
        encoder_out, captions = encoder_out[sort_ind], captions[sort_ind]
        embeddings = self.embedding(captions)
        h, c = self.init_hidden_state(encoder_out)
        decode_lengths = (lengths - 1).tolist()
        predictions = torch.zeros(batch_size, max(decode_lengths), self.vocab_size)
        alphas = torch.zeros(batch_size, max(decode_lengths), encoder_out.size(1))
        for t in range(max(decode_lengths)):
            batch_size_t = sum(length > t for length in decode_lengths)
            attention_weighted_encoding, alpha = self.attention(encoder_out[:batch_size_t], h[:batch_size_t])
            gate = self.sigmoid(self.f_beta(h[:batch_size_t]))
            attention_weighted_encoding = gate * attention_weighted_encoding
            h, c = self.decode_step(
                torch.cat([embeddings[:batch_size_t, t, :], attention_weighted_encoding], dim=1),
                (h[:batch_size_t], c[:batch_size_t]),
            )
            predictions[:batch_size_t, t, :] = self.fc(self.dropout(h))
            alphas[:batch_size_t, t, :] = alpha
        return predictions, alphas, sort_ind


class ShowAttendTell(nn.Module):
    """Captions of images."""

    def __init__(self, vocab_size: int = 80, embed_dim: int = 32, decoder_dim: int = 48, attention_dim: int = 40):
        super().__init__()
        self.encoder = CaptionEncoder()
        self.decoder = DecoderWithAttention(attention_dim, embed_dim, decoder_dim, vocab_size, encoder_dim=64)

    def forward(self, images: Tensor, captions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As of the decoder."""
        return self.decoder(self.encoder(images), captions, lengths)


class HyperNetwork(nn.Module):
    """Kernels of a convolution from a vector, by two linear maps."""

    def __init__(self, f_size: int = 3, z_dim: int = 32, out_size: int = 8, in_size: int = 8) -> None:
        super().__init__()
        self.z_dim, self.f_size, self.out_size, self.in_size = z_dim, f_size, out_size, in_size
        self.w1 = nn.Parameter(torch.randn(z_dim, out_size * f_size * f_size) * 0.1)
        self.b1 = nn.Parameter(torch.zeros(out_size * f_size * f_size))
        self.w2 = nn.Parameter(torch.randn(z_dim, in_size * z_dim) * 0.1)
        self.b2 = nn.Parameter(torch.zeros(in_size * z_dim))

    def forward(self, z: Tensor) -> Tensor:
        """One kernel of the basic size."""
        h_in = torch.matmul(z, self.w2) + self.b2
        h_in = h_in.view(self.in_size, self.z_dim)
        h_final = torch.matmul(h_in, self.w1) + self.b1
        return h_final.view(self.out_size, self.in_size, self.f_size, self.f_size)


class KernelEmbedding(nn.Module):
    """The vectors of one layer, one for each tile of its kernel."""

    def __init__(self, z_num: tuple[int, int], z_dim: int) -> None:
        super().__init__()
        self.z_num, self.z_dim = z_num, z_dim
        h, k = z_num
        self.z_list = nn.ParameterList(nn.Parameter(torch.randn(z_dim) * 0.1) for _ in range(h * k))

    def forward(self, hyper_net: nn.Module) -> Tensor:
        """A kernel, tile by tile."""
        ww = []
        h, k = self.z_num
        for i in range(h):
            w = [hyper_net(self.z_list[i * k + j]) for j in range(k)]
            ww.append(torch.cat(w, dim=1))
        return torch.cat(ww, dim=0)


class HyperResNetBlock(nn.Module):
    """A residual block that is given its kernels."""

    def __init__(self, in_size: int, out_size: int, downsample: bool = False) -> None:
        super().__init__()
        self.in_size, self.out_size, self.stride1 = in_size, out_size, 2 if downsample else 1
        self.reslayer: nn.Module = nn.Identity()
        if downsample:
            self.reslayer = nn.Conv2d(in_size, out_size, stride=2, kernel_size=1)
        self.bn1, self.bn2 = nn.BatchNorm2d(out_size), nn.BatchNorm2d(out_size)

    def forward(self, x: Tensor, conv1_w: Tensor, conv2_w: Tensor) -> Tensor:
        """With a skip."""
        residual = self.reslayer(x)
        out = F.relu(self.bn1(F.conv2d(x, conv1_w, stride=self.stride1, padding=1)), inplace=True)
        out = self.bn2(F.conv2d(out, conv2_w, padding=1))
        return F.relu(out + residual)


class PrimaryNetwork(nn.Module):
    """A residual net whose kernels are made by another net that all its layers share."""

    def __init__(self, z_dim: int = 32, unit: int = 8) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, unit, 3, padding=1), nn.BatchNorm2d(unit)
        self.hope = HyperNetwork(z_dim=z_dim, out_size=unit, in_size=unit)
        self.filter_size = [[1, 1], [1, 1], [1, 2], [2, 2], [2, 4], [4, 4]]
        self.res_net, self.zs = nn.ModuleList(), nn.ModuleList()
        for i, (before, after) in enumerate(self.filter_size):
            self.res_net.append(HyperResNetBlock(before * unit, after * unit, downsample=i in (2, 4)))
            self.zs.append(KernelEmbedding((after, before), z_dim))
            self.zs.append(KernelEmbedding((after, after), z_dim))
        self.global_avg, self.final = nn.AvgPool2d(8), nn.Linear(4 * unit, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of ten classes."""
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(len(self.res_net)):
            w1 = self.zs[2 * i](self.hope)
            w2 = self.zs[2 * i + 1](self.hope)
            x = self.res_net[i](x, w1, w2)
        x = self.global_avg(x)
        return self.final(x.view(-1, x.shape[1]))


BOX_OFFSETS = torch.tensor([[[i, j, k] for i, j, k in product((0, 1), repeat=3)]])


def spatial_hash(coords: Tensor, log2_hashmap_size: int) -> Tensor:
    """A row of the table for each corner."""
    primes = (1, 2654435761, 805459861)
    xor_result = torch.zeros_like(coords)[..., 0]
    for i in range(coords.shape[-1]):
        xor_result ^= coords[..., i] * primes[i]
    return torch.tensor((1 << log2_hashmap_size) - 1) & xor_result


class HashEmbedder(nn.Module):
    """Features of a place from tables of several grids, the cells of which are hashed."""

    box_min: Tensor
    box_max: Tensor

    def __init__(self, bound: float, n_levels: int = 8, n_features: int = 2, log2_size: int = 10, finest: int = 128):
        super().__init__()
        self.register_buffer("box_min", torch.full((3,), -bound))
        self.register_buffer("box_max", torch.full((3,), bound))
        self.n_levels, self.log2_hashmap_size, self.base = n_levels, log2_size, 8
        self.b = math.exp((math.log(finest) - math.log(self.base)) / (n_levels - 1))
        self.out_dim = n_levels * n_features
        self.embeddings = nn.ModuleList([nn.Embedding(2**log2_size, n_features) for _ in range(n_levels)])
        for weight in self.embeddings.parameters():
            nn.init.uniform_(weight, a=-0.0001, b=0.0001)

    def get_voxel_vertices(self, xyz: Tensor, resolution: int) -> tuple[Tensor, Tensor, Tensor]:
        """Corners of the cell that a place is in, their rows, and where in the cell."""
        xyz = torch.clamp(xyz, min=self.box_min, max=self.box_max)
        grid_size = (self.box_max - self.box_min) / resolution
        bottom_left_idx = torch.floor((xyz - self.box_min) / grid_size).int()
        voxel_min_vertex = bottom_left_idx * grid_size + self.box_min
        weights = (xyz - voxel_min_vertex) / grid_size
        voxel_indices = bottom_left_idx.unsqueeze(1) + BOX_OFFSETS
        return voxel_min_vertex, spatial_hash(voxel_indices.long(), self.log2_hashmap_size), weights

    def trilinear_interp(self, weights: Tensor, voxel_embedds: Tensor) -> Tensor:
        """Eight corners to one value, axis by axis."""
        c00 = voxel_embedds[:, 0] * (1 - weights[:, 0][:, None]) + voxel_embedds[:, 4] * weights[:, 0][:, None]
        c01 = voxel_embedds[:, 1] * (1 - weights[:, 0][:, None]) + voxel_embedds[:, 5] * weights[:, 0][:, None]
        c10 = voxel_embedds[:, 2] * (1 - weights[:, 0][:, None]) + voxel_embedds[:, 6] * weights[:, 0][:, None]
        c11 = voxel_embedds[:, 3] * (1 - weights[:, 0][:, None]) + voxel_embedds[:, 7] * weights[:, 0][:, None]
        c0 = c00 * (1 - weights[:, 1][:, None]) + c10 * weights[:, 1][:, None]
        c1 = c01 * (1 - weights[:, 1][:, None]) + c11 * weights[:, 1][:, None]
        return c0 * (1 - weights[:, 2][:, None]) + c1 * weights[:, 2][:, None]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Features of all levels, and whether a place is in the box."""
        x_embedded_all = []
        for i in range(self.n_levels):
            resolution = int(self.base * self.b**i)
            _, hashed_voxel_indices, weights = self.get_voxel_vertices(x, resolution)
            voxel_embedds = self.embeddings[i](hashed_voxel_indices)
            x_embedded_all.append(self.trilinear_interp(weights, voxel_embedds))
        keep_mask = torch.all((x >= self.box_min) & (x <= self.box_max), dim=-1)
        return torch.cat(x_embedded_all, dim=-1), keep_mask


class SHEncoder(nn.Module):
    """Spherical harmonics of a direction."""

    def __init__(self) -> None:
        super().__init__()
        self.out_dim = 9

    def forward(self, d: Tensor) -> Tensor:
        """Of the degrees 0, 1 and 2."""
        x, y, z = d.unbind(-1)
        result = torch.empty((*d.shape[:-1], self.out_dim), dtype=d.dtype)
        result[..., 0] = 0.28209479177387814
        result[..., 1] = -0.4886025119029199 * y
        result[..., 2] = 0.4886025119029199 * z
        result[..., 3] = -0.4886025119029199 * x
        result[..., 4] = 1.0925484305920792 * x * y
        result[..., 5] = -1.0925484305920792 * y * z
        result[..., 6] = 0.31539156525252005 * (2.0 * z * z - x * x - y * y)
        result[..., 7] = -1.0925484305920792 * x * z
        result[..., 8] = 0.5462742152960396 * (x * x - y * y)
        return result


class InstantNGP(nn.Module):
    """A field of density and colour in tables and two small perceptrons, and the colours of rays through it."""

    def __init__(self, hidden_dim: int = 64, geo_feat_dim: int = 15, n_samples: int = 16) -> None:
        super().__init__()
        self.n_samples = n_samples
        self.embed_fn, self.embeddirs_fn = HashEmbedder(bound=1.5), SHEncoder()
        self.sigma_net = self._build(self.embed_fn.out_dim, hidden_dim, 1 + geo_feat_dim, num_layers=2)
        self.color_net = self._build(self.embeddirs_fn.out_dim + geo_feat_dim, hidden_dim, 3, num_layers=3)

    @staticmethod
    def _build(in_dim: int, hidden_dim: int, out_dim: int, num_layers: int) -> nn.ModuleList:
        dims = [in_dim] + [hidden_dim] * (num_layers - 1) + [out_dim]
        return nn.ModuleList([nn.Linear(dims[i], dims[i + 1], bias=False) for i in range(num_layers)])

    def query(self, pts: Tensor, dirs: Tensor) -> tuple[Tensor, Tensor]:
        """Density and colour of points."""
        h, keep_mask = self.embed_fn(pts)
        for i, layer in enumerate(self.sigma_net):
            h = layer(h)
            if i != len(self.sigma_net) - 1:
                h = F.relu(h, inplace=True)
        sigma, geo_feat = F.softplus(h[..., 0]) * keep_mask, h[..., 1:]
        h = torch.cat([self.embeddirs_fn(dirs), geo_feat], dim=-1)
        for i, layer in enumerate(self.color_net):
            h = layer(h)
            if i != len(self.color_net) - 1:
                h = F.relu(h, inplace=True)
        return sigma, torch.sigmoid(h)

    def forward(self, rays_o: Tensor, rays_d: Tensor) -> tuple[Tensor, Tensor]:
        """Colours and depths."""
        z_vals = torch.linspace(1.0, 4.0, steps=self.n_samples).expand(rays_o.shape[0], self.n_samples)
        viewdirs = F.normalize(rays_d, dim=-1)
        pts = rays_o[:, None] + viewdirs[:, None] * z_vals[..., None]
        sigma, rgb = self.query(pts.reshape(-1, 3), viewdirs.repeat_interleave(self.n_samples, 0))
        sigma, rgb = sigma.view(z_vals.shape), rgb.view(*z_vals.shape, 3)
        alpha = 1.0 - torch.exp(-sigma * (3.0 / self.n_samples))
        transmittance = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha], -1), -1)[:, :-1]
        weights = alpha * transmittance
        return (weights[..., None] * rgb).sum(-2), (weights * z_vals).sum(-1)


class ControlUnit(nn.Module):
    """Attention over the words of the question, for one step."""

    def __init__(self, dim: int, max_step: int) -> None:
        super().__init__()
        self.position_aware = nn.ModuleList([nn.Linear(dim * 2, dim) for _ in range(max_step)])
        self.control_question, self.attn = nn.Linear(dim * 2, dim), nn.Linear(dim, 1)

    def forward(self, step: int, context: Tensor, question: Tensor, control: Tensor) -> Tensor:
        """The control of this step."""
        position_aware = self.position_aware[step](question)
        control_question = self.control_question(torch.cat([control, position_aware], 1))
        attn_weight = self.attn(control_question.unsqueeze(1) * context)
        return (F.softmax(attn_weight, 1) * context).sum(1)


class ReadUnit(nn.Module):
    """Attention over the places of the image, for one step."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mem, self.concat, self.attn = nn.Linear(dim, dim), nn.Linear(dim * 2, dim), nn.Linear(dim, 1)

    def forward(self, memory: list[Tensor], know: Tensor, control: list[Tensor]) -> Tensor:
        """The features that are read, a weighted sum over the places."""
        mem = self.mem(memory[-1]).unsqueeze(2)
        concat = self.concat(torch.cat([mem * know, know], 1).permute(0, 2, 1))
        attn = F.softmax(self.attn(concat * control[-1].unsqueeze(1)).squeeze(2), 1).unsqueeze(1)
        return (attn * know).sum(2)


class WriteUnit(nn.Module):
    """The next memory, from what was read and from earlier steps that were alike."""

    def __init__(self, dim: int, self_attention: bool = True, memory_gate: bool = True) -> None:
        super().__init__()
        self.concat = nn.Linear(dim * 2, dim)
        if self_attention:
            self.attn, self.mem = nn.Linear(dim, 1), nn.Linear(dim, dim)
        if memory_gate:
            self.control = nn.Linear(dim, 1)
        self.self_attention, self.memory_gate = self_attention, memory_gate

    def forward(self, memories: list[Tensor], retrieved: Tensor, controls: list[Tensor]) -> Tensor:
        """Gated."""
        prev_mem = memories[-1]
        concat = self.concat(torch.cat([retrieved, prev_mem], 1))
        next_mem = concat
        if self.self_attention:
            controls_cat = torch.stack(controls[:-1], 2)
            attn = controls[-1].unsqueeze(2) * controls_cat
            attn = F.softmax(self.attn(attn.permute(0, 2, 1)), 1).permute(0, 2, 1)
            attn_mem = (attn * torch.stack(memories, 2)).sum(2)
            next_mem = self.mem(attn_mem) + concat
        if self.memory_gate:
            gate = torch.sigmoid(self.control(controls[-1]))
            next_mem = gate * prev_mem + (1 - gate) * next_mem
        return next_mem


class MACUnit(nn.Module):
    """Steps of reasoning, each with a control and a memory."""

    def __init__(self, dim: int, max_step: int = 4) -> None:
        super().__init__()
        self.control, self.read, self.write = ControlUnit(dim, max_step), ReadUnit(dim), WriteUnit(dim)
        self.mem_0, self.control_0 = nn.Parameter(torch.zeros(1, dim)), nn.Parameter(torch.zeros(1, dim))
        self.dim, self.max_step = dim, max_step

    def forward(self, context: Tensor, question: Tensor, knowledge: Tensor) -> Tensor:
        """The last memory."""
        b_size = question.size(0)
        control, memory = self.control_0.expand(b_size, self.dim), self.mem_0.expand(b_size, self.dim)
        controls, memories = [control], [memory]
        for i in range(self.max_step):
            control = self.control(i, context, question, control)
            controls.append(control)
            read = self.read(memories, knowledge, controls)
            memory = self.write(memories, read, controls)
            memories.append(memory)
        return memory


class MACNetwork(nn.Module):
    """Answers to questions about an image (compositional attention)."""

    def __init__(self, n_vocab: int = 99, dim: int = 48, embed_hidden: int = 32, classes: int = 28) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(64, dim, 3, padding=1), nn.ELU(), nn.Conv2d(dim, dim, 3, padding=1), nn.ELU()
        )
        self.embed = nn.Embedding(n_vocab, embed_hidden)
        self.lstm = nn.LSTM(embed_hidden, dim, batch_first=True, bidirectional=True)
        self.lstm_proj, self.mac = nn.Linear(dim * 2, dim), MACUnit(dim)
        self.classifier = nn.Sequential(nn.Linear(dim * 3, dim), nn.ELU(), nn.Linear(dim, classes))

    def forward(self, image: Tensor, question: Tensor) -> Tensor:
        """Scores of the answers; the image is features of another net."""
        b_size = question.size(0)
        img = self.conv(image).view(b_size, self.mac.dim, -1)
        lstm_out, (h, _) = self.lstm(self.embed(question))
        lstm_out = self.lstm_proj(lstm_out)
        h = h.permute(1, 0, 2).contiguous().view(b_size, -1)
        memory = self.mac(lstm_out, h, img)
        return self.classifier(torch.cat([memory, h], 1))


def exists(val: Any) -> bool:
    """Whether there is a value."""
    return val is not None


def feed_forward(dim: int, mult: int = 4) -> nn.Sequential:
    """Of all layers."""
    inner = dim * mult
    return nn.Sequential(
        nn.LayerNorm(dim), nn.Linear(dim, inner, bias=False), nn.GELU(), nn.Linear(inner, dim, bias=False)
    )


def split_heads(*tensors: Tensor, heads: int) -> Iterator[Tensor]:
    """Heads before the places."""
    return (t.reshape(*t.shape[:-1], heads, -1).transpose(-2, -3) for t in tensors)


class PerceiverAttention(nn.Module):
    """Latents that attend to the media and to themselves."""

    def __init__(self, *, dim: int, dim_head: int = 16, heads: int = 4) -> None:
        super().__init__()
        inner_dim = dim_head * heads
        self.scale, self.heads = dim_head**-0.5, heads
        self.norm_media, self.norm_latents = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(dim, inner_dim * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x: Tensor, latents: Tensor) -> Tensor:
        """Without the skip."""
        x, latents = self.norm_media(x), self.norm_latents(latents)
        q = self.to_q(latents)
        k, v = self.to_kv(torch.cat((x, latents), dim=-2)).chunk(2, dim=-1)
        q, k, v = split_heads(q, k, v, heads=self.heads)
        sim = torch.einsum("...id,...jd->...ij", q * self.scale, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        out = torch.einsum("...ij,...jd->...id", sim.softmax(dim=-1), v)
        return self.to_out(out.transpose(-2, -3).flatten(-2))


class PerceiverResampler(nn.Module):
    """A few tokens for each image, however large it is."""

    def __init__(self, *, dim: int, depth: int = 2, num_latents: int = 8, max_num_media: int = 4) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(num_latents, dim))
        self.media_time_embs = nn.Parameter(torch.randn(max_num_media, 1, dim))
        self.layers: Any = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([PerceiverAttention(dim=dim), feed_forward(dim)]))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens of each image."""
        b, times = x.shape[:2]
        x = x + self.media_time_embs[:times]
        latents = self.latents.expand(b, times, *self.latents.shape)
        for attn, ff in self.layers:
            latents = attn(x, latents) + latents
            latents = ff(latents) + latents
        return self.norm(latents)


class MaskedCrossAttention(nn.Module):
    """Words that attend to the image before them, and to no other."""

    def __init__(self, *, dim: int, dim_head: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.scale, self.heads, inner_dim = dim_head**-0.5, heads, dim_head * heads
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(dim, inner_dim * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x: Tensor, media: Tensor, media_locations: Tensor | None = None) -> Tensor:
        """Nothing for words before the first image."""
        times, n = media.shape[1:3]
        q = self.to_q(self.norm(x))
        k, v = self.to_kv(media.flatten(1, 2)).chunk(2, dim=-1)
        q, k, v = split_heads(q * self.scale, k, v, heads=self.heads)
        sim = torch.einsum("bhid,bhjd->bhij", q, k)
        if exists(media_locations):
            assert media_locations is not None
            text_time = media_locations.cumsum(dim=-1)
            media_time = torch.arange(times) + 1
            text_to_media_mask = text_time[:, None, :, None] == media_time.repeat_interleave(n)[None, None, None]
            sim = sim.masked_fill(~text_to_media_mask, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        if exists(media_locations):
            text_without_media_mask = (text_time == 0)[:, None, :, None]
            attn = attn.masked_fill(text_without_media_mask, 0.0)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(out.transpose(1, 2).flatten(2))


class GatedCrossAttentionBlock(nn.Module):
    """What is put between layers of a language model; at first its gates are shut."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.attn, self.attn_gate = MaskedCrossAttention(dim=dim), nn.Parameter(torch.tensor([0.0]))
        self.ff, self.ff_gate = feed_forward(dim), nn.Parameter(torch.tensor([0.0]))

    def forward(self, x: Tensor, media: Tensor, media_locations: Tensor) -> Tensor:
        """With skips."""
        x = self.attn(x, media, media_locations=media_locations) * self.attn_gate.tanh() + x
        return self.ff(x) * self.ff_gate.tanh() + x


class ParallelTransformerBlock(nn.Module):
    """A layer of the language model, attention and feed-forward side by side."""

    def __init__(self, *, dim: int, dim_head: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.norm, self.heads, self.scale = nn.LayerNorm(dim), heads, dim_head**-0.5
        self.fused_dims = (dim_head * heads, dim_head, dim_head, dim * 8)
        self.fused_attn_ff_proj = nn.Linear(dim, sum(self.fused_dims), bias=False)
        self.attn_out, self.ff_out = nn.Linear(dim_head * heads, dim, bias=False), nn.Linear(dim * 4, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Without the skip; all heads share keys and values."""
        q, k, v, ff = self.fused_attn_ff_proj(self.norm(x)).split(self.fused_dims, dim=-1)
        (q,) = split_heads(q * self.scale, heads=self.heads)
        sim = torch.einsum("bhid,bjd->bhij", q, k)
        causal_mask = torch.ones(sim.shape[-2:], dtype=torch.bool).triu(1)
        attn = sim.masked_fill(causal_mask, -torch.finfo(sim.dtype).max).softmax(dim=-1)
        out = torch.einsum("bhij,bjd->bhid", attn, v).transpose(1, 2).flatten(2)
        ff, gate = ff.chunk(2, dim=-1)
        return self.attn_out(out) + self.ff_out(F.silu(gate) * ff)


class PatchEncoder(nn.Module):
    """The frozen net of images."""

    def __init__(self, dim: int, patch_size: int = 8, image_size: int = 32, depth: int = 2) -> None:
        super().__init__()
        self.patchify = nn.Conv2d(3, dim, patch_size, stride=patch_size)
        self.pos_embedding = nn.Parameter(torch.randn(1, (image_size // patch_size) ** 2, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 4, batch_first=True, norm_first=True, activation="gelu")
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, images: Tensor) -> Tensor:
        """A token for each patch."""
        return self.transformer(self.patchify(images).flatten(2).transpose(1, 2) + self.pos_embedding)


class Flamingo(nn.Module):
    """A frozen language model that reads images between its words."""

    def __init__(
        self, *, dim: int = 64, num_tokens: int = 100, depth: int = 4, media_token_id: int = 3, every: int = 2
    ) -> None:
        super().__init__()
        self.token_emb, self.media_token_id = nn.Embedding(num_tokens, dim), media_token_id
        self.img_encoder, self.perceiver_resampler = PatchEncoder(dim), PerceiverResampler(dim=dim)
        self.layers: Any = nn.ModuleList([])
        for ind in range(depth):
            cross: Any = GatedCrossAttentionBlock(dim=dim) if not ind % every else None
            self.layers.append(nn.ModuleList([ParallelTransformerBlock(dim=dim), cross]))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens, bias=False))
        nn.init.normal_(self.token_emb.weight, std=0.02)
        self.freeze()

    def freeze(self) -> None:
        """Only what is new learns."""
        for module in (self.img_encoder, self.token_emb, *(lm for lm, _ in self.layers)):
            module.requires_grad_(False)

    def forward(self, text: Tensor, images: Tensor) -> Tensor:
        """Scores of the next words."""
        media_locations = text == self.media_token_id
        with torch.no_grad():
            image_embeds = self.img_encoder(images.flatten(0, 1))
        image_embeds = self.perceiver_resampler(image_embeds.unflatten(0, images.shape[:2]))
        x = self.token_emb(text)
        for attn_ff, flamingo_cross_attn in self.layers:
            if exists(flamingo_cross_attn):
                x = flamingo_cross_attn(x, image_embeds, media_locations=media_locations)
            x = attn_ff(x) + x
        return self.to_logits(x)


def _cameras(views: int) -> Tensor:
    """Projections of cameras side by side."""
    proj = torch.eye(4).repeat(1, views, 1, 1)
    proj[:, :, :2, :2] *= 20.0
    proj[:, :, :2, 2] = 8.0
    proj[:, :, 0, 3] = torch.linspace(0.0, 20.0, views)
    return proj


def _captions() -> Tensor:
    """Words up to the length of each caption."""
    captions = torch.randint(3, 80, (3, 7))
    return captions.masked_fill(torch.arange(7) >= torch.tensor([[5], [7], [6]]), 0)


def _texts_of_images() -> Tensor:
    """Words with the sign of an image in two places."""
    text = torch.randint(4, 100, (2, 14))
    text[:, [1, 8]] = 3
    return text


NETS = [
    Entry("own/refinenet", RefineNet4Cascade, given(numbers(1, 3, 64, 64))),
    Entry(
        "own/mvsnet",
        MVSNet,
        given(numbers(1, 3, 3, 64, 64), lambda: _cameras(3), lambda: torch.linspace(2.0, 6.0, 16)[None]),
    ),
    Entry("own/show_attend_tell", ShowAttendTell, given(numbers(3, 3, 48, 48), _captions, whole(5, 7, 6))),
    Entry("own/hypernetwork", PrimaryNetwork, given(numbers(1, 3, 32, 32))),
    Entry("own/instant_ngp", InstantNGP, given(numbers(24, 3), numbers(24, 3))),
    Entry("own/mac", MACNetwork, given(numbers(2, 64, 8, 8), words(2, 10))),
    Entry("own/flamingo", Flamingo, given(_texts_of_images, numbers(2, 2, 3, 32, 32))),
]
