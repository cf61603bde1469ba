"""Nets of images and scenes as repositories write them, of the fifth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance: `TOPICS`, written down before any net, none of them of an earlier list. Of `random.Random(211)`,
which shuffles first the words of the one string and then those of the other, the first eight are the nets of this file
and the first seven those of `held_211_sequences.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

from collections import OrderedDict
from math import log, pi, sqrt
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, words

TOPICS = (
    """
fcos retinaface ocrnet csrnet siamrpn loftr capsnet dann spade stargan zero_dce restormer rife two_stream dgcnn votenet
pixelnerf pixelcnn vqgan nvae cyclegan centernet openpose monodepth2 psmnet pointpillars deepsdf bisenet hmr film
relation_network tsm
""",
    """
tree_lstm retnet colbert convs2s latent_ode grud saint bert4rec lightgcn ple impala icm diffusion_policy painn compgcn
diffpool graphrnn graphcast panns qanet memn2n han biaffine_parser sasrec xdeepfm mmoe qmix deeponet enformer
social_gan vectornet melgan
""",
)


def knn(x: Tensor, k: int) -> Tensor:
    """Indices of the points that are nearest to each."""
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x**2, dim=1, keepdim=True)
    pairwise_distance = -xx - inner - xx.transpose(2, 1)
    return pairwise_distance.topk(k=k, dim=-1)[1]


def get_graph_feature(x: Tensor, k: int = 20, idx: Tensor | None = None, dim9: bool = False) -> Tensor:
    """For each point and each of its neighbours: how they differ, and the point."""
    batch_size, num_points = x.size(0), x.size(2)
    x = x.view(batch_size, -1, num_points)
    if idx is None:
        idx = knn(x, k=k) if not dim9 else knn(x[:, 6:], k=k)
    idx_base = torch.arange(0, batch_size, device=x.device).view(-1, 1, 1) * num_points
    idx = (idx + idx_base).view(-1)
    _, num_dims, _ = x.size()
    x = x.transpose(2, 1).contiguous()
    feature = x.view(batch_size * num_points, -1)[idx, :]
    feature = feature.view(batch_size, num_points, k, num_dims)
    x = x.view(batch_size, num_points, 1, num_dims).repeat(1, 1, k, 1)
    return torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()


class TransformNet(nn.Module):
    """A matrix that turns the points into a pose of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(16), nn.BatchNorm2d(32), nn.BatchNorm1d(128)
        self.conv1 = nn.Sequential(nn.Conv2d(6, 16, kernel_size=1, bias=False), self.bn1, nn.LeakyReLU(0.2))
        self.conv2 = nn.Sequential(nn.Conv2d(16, 32, kernel_size=1, bias=False), self.bn2, nn.LeakyReLU(0.2))
        self.conv3 = nn.Sequential(nn.Conv1d(32, 128, kernel_size=1, bias=False), self.bn3, nn.LeakyReLU(0.2))
        self.linear1, self.bn4 = nn.Linear(128, 64, bias=False), nn.BatchNorm1d(64)
        self.linear2, self.bn5 = nn.Linear(64, 32, bias=False), nn.BatchNorm1d(32)
        self.transform = nn.Linear(32, 3 * 3)
        nn.init.constant_(self.transform.weight, 0)
        nn.init.eye_(self.transform.bias.view(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        """One for each cloud."""
        batch_size = x.size(0)
        x = self.conv2(self.conv1(x))
        x = x.max(dim=-1, keepdim=False)[0]
        x = self.conv3(x)
        x = x.max(dim=-1, keepdim=False)[0]
        x = F.leaky_relu(self.bn4(self.linear1(x)), negative_slope=0.2)
        x = F.leaky_relu(self.bn5(self.linear2(x)), negative_slope=0.2)
        return self.transform(x).view(batch_size, 3, 3)


class DGCNNPartSeg(nn.Module):
    """Parts of objects: each layer looks for neighbours anew, in what the layer before made of the points."""

    def __init__(self, seg_num_all: int = 10, k: int = 8, emb_dims: int = 128, num_categories: int = 16) -> None:
        super().__init__()
        self.k, self.transform_net = k, TransformNet()
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(16), nn.BatchNorm2d(16), nn.BatchNorm2d(16)
        self.bn4, self.bn5, self.bn6 = nn.BatchNorm2d(16), nn.BatchNorm2d(16), nn.BatchNorm1d(emb_dims)
        self.bn7, self.bn8, self.bn9 = nn.BatchNorm1d(32), nn.BatchNorm1d(64), nn.BatchNorm1d(64)
        self.bn10 = nn.BatchNorm1d(32)
        self.conv1 = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), self.bn1, nn.LeakyReLU(negative_slope=0.2))
        self.conv2 = nn.Sequential(nn.Conv2d(16, 16, 1, bias=False), self.bn2, nn.LeakyReLU(negative_slope=0.2))
        self.conv3 = nn.Sequential(nn.Conv2d(16 * 2, 16, 1, bias=False), self.bn3, nn.LeakyReLU(negative_slope=0.2))
        self.conv4 = nn.Sequential(nn.Conv2d(16, 16, 1, bias=False), self.bn4, nn.LeakyReLU(negative_slope=0.2))
        self.conv5 = nn.Sequential(nn.Conv2d(16 * 2, 16, 1, bias=False), self.bn5, nn.LeakyReLU(negative_slope=0.2))
        self.conv6 = nn.Sequential(nn.Conv1d(48, emb_dims, 1, bias=False), self.bn6, nn.LeakyReLU(0.2))
        self.conv7 = nn.Sequential(nn.Conv1d(num_categories, 32, 1, bias=False), self.bn7, nn.LeakyReLU(0.2))
        self.conv8 = nn.Sequential(nn.Conv1d(emb_dims + 32 + 48, 64, 1, bias=False), self.bn8, nn.LeakyReLU(0.2))
        self.dp1, self.dp2 = nn.Dropout(p=0.5), nn.Dropout(p=0.5)
        self.conv9 = nn.Sequential(nn.Conv1d(64, 64, 1, bias=False), self.bn9, nn.LeakyReLU(0.2))
        self.conv10 = nn.Sequential(nn.Conv1d(64, 32, 1, bias=False), self.bn10, nn.LeakyReLU(0.2))
        self.conv11 = nn.Conv1d(32, seg_num_all, kernel_size=1, bias=False)

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        """Scores of each point; the label is the kind of object, as ones and zeros."""
        batch_size, num_points = x.size(0), x.size(2)
        x0 = get_graph_feature(x, k=self.k)
        t = self.transform_net(x0)
        x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        x = get_graph_feature(x, k=self.k)
        x = self.conv2(self.conv1(x))
        x1 = x.max(dim=-1, keepdim=False)[0]
        x = get_graph_feature(x1, k=self.k)
        x = self.conv4(self.conv3(x))
        x2 = x.max(dim=-1, keepdim=False)[0]
        x = get_graph_feature(x2, k=self.k)
        x = self.conv5(x)
        x3 = x.max(dim=-1, keepdim=False)[0]
        x = self.conv6(torch.cat((x1, x2, x3), dim=1))
        x = x.max(dim=-1, keepdim=True)[0]
        label = self.conv7(label.view(batch_size, -1, 1))
        x = torch.cat((x, label), dim=1).repeat(1, 1, num_points)
        x = torch.cat((x, x1, x2, x3), dim=1)
        x = self.dp1(self.conv8(x))
        x = self.dp2(self.conv9(x))
        return self.conv11(self.conv10(x))


def squash(tensor: Tensor, dim: int = -1) -> Tensor:
    """Vectors shorter than one, in the same direction."""
    squared_norm = (tensor**2).sum(dim=dim, keepdim=True)
    return (squared_norm / (1 + squared_norm)) * tensor / torch.sqrt(squared_norm + 1e-8)


class PrimaryCaps(nn.Module):
    """Capsules of a convolution: one convolution for each of their numbers."""

    def __init__(
        self, num_capsules: int = 8, in_channels: int = 32, out_channels: int = 8, kernel_size: int = 9
    ) -> None:
        super().__init__()
        self.num_routes = out_channels * 6 * 6
        self.capsules = nn.ModuleList([
            nn.Conv2d(in_channels, out_channels, kernel_size=kernel_size, stride=2, padding=0)
            for _ in range(num_capsules)
        ])  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """All places as vectors."""
        u = [capsule(x) for capsule in self.capsules]
        stacked = torch.stack(u, dim=1)
        stacked = stacked.view(x.size(0), self.num_routes, -1)
        return squash(stacked)


class DigitCaps(nn.Module):
    """A capsule for each digit, of those capsules that agree with it."""

    def __init__(
        self, num_capsules: int, num_routes: int, in_channels: int, out_channels: int, routings: int = 3
    ) -> None:
        super().__init__()
        self.num_routes, self.num_capsules, self.routings = num_routes, num_capsules, routings
        self.W = nn.Parameter(0.01 * torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x: Tensor) -> Tensor:
        """Vectors whose length is a probability."""
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)
        w = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(w, x)
        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1)
        v_j = u_hat.new_zeros(())
        for iteration in range(self.routings):
            c_ij = F.softmax(b_ij, dim=1)
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
            v_j = squash(s_j, dim=-2)
            if iteration < self.routings - 1:
                a_ij = torch.matmul(u_hat.transpose(3, 4), torch.cat([v_j] * self.num_routes, dim=1))
                b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)
        return v_j.squeeze(1)


class CapsDecoder(nn.Module):
    """The image again, from the capsule of the digit alone."""

    def __init__(self, num_classes: int, capsule_dim: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.reconstruction_layers = nn.Sequential(
            nn.Linear(capsule_dim * num_classes, 64), nn.ReLU(inplace=True), nn.Linear(64, 128), nn.ReLU(inplace=True),
            nn.Linear(128, 784), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The image, and which digits were kept: the true ones, or the longest."""
        if target is None:
            classes = torch.sqrt((x**2).sum(2))
            classes = F.softmax(classes, dim=1)
            target = classes.max(dim=1)[1].squeeze(-1)
        masked = torch.eye(self.num_classes).index_select(dim=0, index=target)
        t = (x * masked[:, :, None, None]).view(x.size(0), -1)
        return self.reconstruction_layers(t).view(-1, 1, 28, 28), masked


class CapsNet(nn.Module):
    """Digits, and the loss of their lengths and of the image."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv_layer = nn.Sequential(nn.Conv2d(1, 32, kernel_size=9, stride=1), nn.ReLU())
        self.primary_capsules = PrimaryCaps()
        self.digit_capsules = DigitCaps(num_classes, self.primary_capsules.num_routes, 8, 16)
        self.decoder, self.mse_loss = CapsDecoder(num_classes, 16), nn.MSELoss()

    def margin_loss(self, x: Tensor, labels: Tensor) -> Tensor:
        """How far lengths are from nine tenths and from one tenth."""
        batch_size = x.size(0)
        v_c = torch.sqrt((x**2).sum(dim=2, keepdim=True))
        left = F.relu(0.9 - v_c).view(batch_size, -1)
        right = F.relu(v_c - 0.1).view(batch_size, -1)
        loss = labels * left + 0.5 * (1.0 - labels) * right
        return loss.sum(dim=1).mean()

    def forward(self, data: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Capsules, the image, and the loss."""
        output = self.digit_capsules(self.primary_capsules(self.conv_layer(data)))
        reconstructions, masked = self.decoder(output, target)
        reconstruction_loss = self.mse_loss(reconstructions.view(data.size(0), -1), data.view(data.size(0), -1))
        return output, reconstructions, self.margin_loss(output, masked) + reconstruction_loss * 0.0005


def rot6d_to_rotmat(x: Tensor) -> Tensor:
    """Rotations from the first two columns of their matrices, which need not be orthogonal yet."""
    x = x.view(-1, 3, 2)
    a1, a2 = x[:, :, 0], x[:, :, 1]
    b1 = F.normalize(a1)
    b2 = F.normalize(a2 - torch.einsum("bi,bi->b", b1, a2).unsqueeze(-1) * b1)
    b3 = torch.cross(b1, b2, dim=1)
    return torch.stack((b1, b2, b3), dim=-1)


class HMRBottleneck(nn.Module):
    """The block of ResNet-50."""

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False), nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = nn.Conv2d(planes, planes * 4, kernel_size=1, bias=False), nn.BatchNorm2d(planes * 4)
        self.relu, self.downsample, self.stride = nn.ReLU(inplace=True), downsample, stride

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


class HMR(nn.Module):
    """Pose and shape of a body and the camera, from an image: corrected three times, beginning with a mean body."""

    init_pose: Tensor
    init_shape: Tensor
    init_cam: Tensor

    def __init__(self, layers: tuple[int, ...] = (1, 2, 2, 1), base: int = 8, n_joints: int = 24) -> None:
        super().__init__()
        self.inplanes, npose = base, n_joints * 6
        self.conv1 = nn.Conv2d(3, base, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(base), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(base, layers[0])
        self.layer2 = self._make_layer(base * 2, layers[1], stride=2)
        self.layer3 = self._make_layer(base * 4, layers[2], stride=2)
        self.layer4 = self._make_layer(base * 8, layers[3], stride=2)
        self.avgpool = nn.AvgPool2d(2, stride=1)
        features = base * 8 * HMRBottleneck.expansion
        self.fc1, self.drop1 = nn.Linear(features + npose + 13, 128), nn.Dropout()
        self.fc2, self.drop2 = nn.Linear(128, 128), nn.Dropout()
        self.decpose, self.decshape, self.deccam = nn.Linear(128, npose), nn.Linear(128, 10), nn.Linear(128, 3)
        for layer in (self.decpose, self.decshape, self.deccam):
            nn.init.xavier_uniform_(layer.weight, gain=0.01)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, sqrt(2.0 / n))
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()
        self.register_buffer("init_pose", torch.eye(3)[:, :2].reshape(1, -1).repeat(1, n_joints))
        self.register_buffer("init_shape", torch.zeros(1, 10))
        self.register_buffer("init_cam", torch.tensor([[0.9, 0.0, 0.0]]))

    def _make_layer(self, planes: int, blocks: int, stride: int = 1) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes * HMRBottleneck.expansion:
            outplanes = planes * HMRBottleneck.expansion
            conv = nn.Conv2d(self.inplanes, outplanes, kernel_size=1, stride=stride, bias=False)
            downsample = nn.Sequential(conv, nn.BatchNorm2d(outplanes))
        layers = [HMRBottleneck(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * HMRBottleneck.expansion
        layers += [HMRBottleneck(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(
        self, x: Tensor, init_pose: Tensor | None = None, init_shape: Tensor | None = None,
        init_cam: Tensor | None = None, n_iter: int = 3,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Rotations of the joints, the shape, the camera."""
        batch_size = x.shape[0]
        if init_pose is None:
            init_pose = self.init_pose.expand(batch_size, -1)
        if init_shape is None:
            init_shape = self.init_shape.expand(batch_size, -1)
        if init_cam is None:
            init_cam = self.init_cam.expand(batch_size, -1)
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x1 = self.layer1(x)
        x2 = self.layer2(x1)
        x3 = self.layer3(x2)
        x4 = self.layer4(x3)
        xf = self.avgpool(x4)
        xf = xf.view(xf.size(0), -1)
        pred_pose, pred_shape, pred_cam = init_pose, init_shape, init_cam
        for _ in range(n_iter):
            xc = torch.cat([xf, pred_pose, pred_shape, pred_cam], 1)
            xc = self.drop1(self.fc1(xc))
            xc = self.drop2(self.fc2(xc))
            pred_pose = self.decpose(xc) + pred_pose
            pred_shape = self.decshape(xc) + pred_shape
            pred_cam = self.deccam(xc) + pred_cam
        pred_rotmat = rot6d_to_rotmat(pred_pose).view(batch_size, 24, 3, 3)
        return pred_rotmat, pred_shape, pred_cam


class PFNLayer(nn.Module):
    """Points of a pillar: a layer, the largest of the pillar, and beside each point if another layer follows."""

    def __init__(self, in_channels: int, out_channels: int, use_norm: bool = True, last_layer: bool = False) -> None:
        super().__init__()
        self.last_vfe, self.use_norm = last_layer, use_norm
        if not self.last_vfe:
            out_channels = out_channels // 2
        if self.use_norm:
            self.linear = nn.Linear(in_channels, out_channels, bias=False)
            self.norm = nn.BatchNorm1d(out_channels, eps=1e-3, momentum=0.01)
        else:
            self.linear = nn.Linear(in_channels, out_channels, bias=True)
        self.part = 50000

    def forward(self, inputs: Tensor) -> Tensor:
        """Of each point, or of each pillar."""
        if inputs.shape[0] > self.part:
            num_parts = inputs.shape[0] // self.part
            parts = [self.linear(inputs[n * self.part : (n + 1) * self.part]) for n in range(num_parts + 1)]
            x = torch.cat(parts, dim=0)
        else:
            x = self.linear(inputs)
        x = self.norm(x.permute(0, 2, 1)).permute(0, 2, 1) if self.use_norm else x
        x = F.relu(x)
        x_max = torch.max(x, dim=1, keepdim=True)[0]
        if self.last_vfe:
            return x_max
        x_repeat = x_max.repeat(1, inputs.shape[1], 1)
        return torch.cat([x, x_repeat], dim=2)


class PillarVFE(nn.Module):
    """Features of pillars: points beside their mean and beside the middle of the pillar."""

    def __init__(self, num_filters: list[int], voxel_size: list[float], point_cloud_range: list[float]) -> None:
        super().__init__()
        num_filters = [4 + 6, *num_filters]
        self.pfn_layers = nn.ModuleList([
            PFNLayer(num_filters[i], num_filters[i + 1], True, last_layer=(i >= len(num_filters) - 2))
            for i in range(len(num_filters) - 1)
        ])  # fmt: skip
        self.voxel_x, self.voxel_y, self.voxel_z = voxel_size
        self.x_offset = self.voxel_x / 2 + point_cloud_range[0]
        self.y_offset = self.voxel_y / 2 + point_cloud_range[1]
        self.z_offset = self.voxel_z / 2 + point_cloud_range[2]

    @staticmethod
    def get_paddings_indicator(actual_num: Tensor, max_num: int, axis: int = 0) -> Tensor:
        """A mask of the places of a pillar that have a point."""
        actual_num = torch.unsqueeze(actual_num, axis + 1)
        max_num_shape = [1] * len(actual_num.shape)
        max_num_shape[axis + 1] = -1
        max_nums = torch.arange(max_num, dtype=torch.int).view(max_num_shape)
        return actual_num.int() > max_nums

    def forward(self, batch_dict: dict[str, Any]) -> dict[str, Any]:
        """The batch, with the features of its pillars."""
        voxel_features, coords = batch_dict["voxels"], batch_dict["voxel_coords"]
        voxel_num_points = batch_dict["voxel_num_points"]
        points_mean = voxel_features[:, :, :3].sum(dim=1, keepdim=True) / voxel_num_points.type_as(voxel_features).view(
            -1, 1, 1
        )
        f_cluster = voxel_features[:, :, :3] - points_mean
        f_center = torch.zeros_like(voxel_features[:, :, :3])
        f_center[:, :, 0] = voxel_features[:, :, 0] - (
            coords[:, 3].to(voxel_features.dtype).unsqueeze(1) * self.voxel_x + self.x_offset
        )
        f_center[:, :, 1] = voxel_features[:, :, 1] - (
            coords[:, 2].to(voxel_features.dtype).unsqueeze(1) * self.voxel_y + self.y_offset
        )
        f_center[:, :, 2] = voxel_features[:, :, 2] - (
            coords[:, 1].to(voxel_features.dtype).unsqueeze(1) * self.voxel_z + self.z_offset
        )
        features = torch.cat([voxel_features, f_cluster, f_center], dim=-1)
        mask = self.get_paddings_indicator(voxel_num_points, features.shape[1], axis=0)
        features *= torch.unsqueeze(mask, -1).type_as(voxel_features)
        for pfn in self.pfn_layers:
            features = pfn(features)
        batch_dict["pillar_features"] = features.squeeze(1)
        return batch_dict


class PointPillarScatter(nn.Module):
    """A map seen from above, with each pillar at its place."""

    def __init__(self, num_bev_features: int, grid_size: tuple[int, int, int]) -> None:
        super().__init__()
        self.num_bev_features, (self.nx, self.ny, self.nz) = num_bev_features, grid_size

    def forward(self, batch_dict: dict[str, Any]) -> dict[str, Any]:
        """One for each scene."""
        pillar_features, coords = batch_dict["pillar_features"], batch_dict["voxel_coords"]
        batch_spatial_features = []
        batch_size = coords[:, 0].max().int().item() + 1
        for batch_idx in range(batch_size):
            spatial_feature = torch.zeros(self.num_bev_features, self.nz * self.nx * self.ny)
            batch_mask = coords[:, 0] == batch_idx
            this_coords = coords[batch_mask, :]
            indices = this_coords[:, 1] + this_coords[:, 2] * self.nx + this_coords[:, 3]
            spatial_feature[:, indices.type(torch.long)] = pillar_features[batch_mask, :].t()
            batch_spatial_features.append(spatial_feature)
        stacked = torch.stack(batch_spatial_features, 0)
        batch_dict["spatial_features"] = stacked.view(batch_size, self.num_bev_features * self.nz, self.ny, self.nx)
        return batch_dict


class BaseBEVBackbone(nn.Module):
    """Smaller and smaller maps, all of them enlarged to one size."""

    def __init__(self, cfg: dict[str, Any], input_channels: int) -> None:
        super().__init__()
        c_in_list = [input_channels, *cfg["num_filters"][:-1]]
        self.blocks, self.deblocks = nn.ModuleList(), nn.ModuleList()
        for idx, (layers, stride, filters) in enumerate(
            zip(cfg["layer_nums"], cfg["layer_strides"], cfg["num_filters"], strict=True)
        ):
            cur_layers: list[nn.Module] = [
                nn.ZeroPad2d(1), nn.Conv2d(c_in_list[idx], filters, 3, stride=stride, padding=0, bias=False),
                nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01), nn.ReLU(),
            ]  # fmt: skip
            for _ in range(layers):
                cur_layers.extend([
                    nn.Conv2d(filters, filters, kernel_size=3, padding=1, bias=False),
                    nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01), nn.ReLU(),
                ])  # fmt: skip
            self.blocks.append(nn.Sequential(*cur_layers))
            up, out = cfg["upsample_strides"][idx], cfg["num_upsample_filters"][idx]
            self.deblocks.append(
                nn.Sequential(
                    nn.ConvTranspose2d(filters, out, up, stride=up, bias=False),
                    nn.BatchNorm2d(out, eps=1e-3, momentum=0.01), nn.ReLU(),
                )
            )  # fmt: skip
        self.num_bev_features = sum(cfg["num_upsample_filters"])

    def forward(self, data_dict: dict[str, Any]) -> dict[str, Any]:
        """What there was and all maps in one."""
        ups, x = [], data_dict["spatial_features"]
        for i, block in enumerate(self.blocks):
            x = block(x)
            ups.append(self.deblocks[i](x))
        data_dict["spatial_features_2d"] = torch.cat(ups, dim=1) if len(ups) > 1 else ups[0]
        return data_dict


class AnchorHeadSingle(nn.Module):
    """Classes, boxes and directions of anchors at each place."""

    def __init__(self, input_channels: int, num_class: int, num_anchors: int = 2, code_size: int = 7) -> None:
        super().__init__()
        self.num_class, self.code_size, self.num_anchors = num_class, code_size, num_anchors * num_class
        self.conv_cls = nn.Conv2d(input_channels, self.num_anchors * num_class, kernel_size=1)
        self.conv_box = nn.Conv2d(input_channels, self.num_anchors * code_size, kernel_size=1)
        self.conv_dir_cls = nn.Conv2d(input_channels, self.num_anchors * 2, kernel_size=1)
        nn.init.constant_(self.conv_cls.bias, -log((1 - 0.01) / 0.01))
        nn.init.normal_(self.conv_box.weight, mean=0, std=0.001)

    def generate_anchors(self, ny: int, nx: int) -> Tensor:
        """Boxes of each class, along and across."""
        sizes = torch.tensor([[3.9, 1.6, 1.56], [0.8, 0.6, 1.73], [1.76, 0.6, 1.73]])[: self.num_class]
        ys, xs = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
        centers = torch.stack((xs, ys, torch.zeros_like(xs)), -1).float()
        rotations = torch.tensor([0.0, 1.57]).repeat(self.num_class)[:, None]
        boxes = torch.cat((sizes.repeat_interleave(2, 0), rotations), 1)
        shape = ny, nx, self.num_anchors
        return torch.cat((centers[:, :, None].expand(*shape, 3), boxes.expand(*shape, 4)), -1).view(-1, 7)

    def forward(self, data_dict: dict[str, Any]) -> dict[str, Any]:
        """What there was and the boxes."""
        features = data_dict["spatial_features_2d"]
        cls_preds = self.conv_cls(features).permute(0, 2, 3, 1).contiguous()
        box_preds = self.conv_box(features).permute(0, 2, 3, 1).contiguous()
        dir_cls_preds = self.conv_dir_cls(features).permute(0, 2, 3, 1).contiguous()
        batch_size, ny, nx = cls_preds.shape[:3]
        anchors = self.generate_anchors(ny, nx)
        xt, yt, zt, dxt, dyt, dzt, rt = torch.split(box_preds.view(batch_size, -1, self.code_size), 1, dim=-1)
        xa, ya, za, dxa, dya, dza, ra = torch.split(anchors[None], 1, dim=-1)
        diagonal = torch.sqrt(dxa**2 + dya**2)
        boxes = [xt * diagonal + xa, yt * diagonal + ya, zt * dza + za]
        boxes += [torch.exp(dxt) * dxa, torch.exp(dyt) * dya, torch.exp(dzt) * dza]
        dir_labels = torch.max(dir_cls_preds.view(batch_size, -1, 2), dim=-1, keepdim=True)[1]
        period, val = pi, rt + ra - 0.78539
        rot = val - torch.floor(val / period) * period
        boxes.append(rot + 0.78539 + period * dir_labels.to(rot.dtype))
        data_dict["batch_cls_preds"] = cls_preds.view(batch_size, -1, self.num_class).float()
        data_dict["batch_box_preds"] = torch.cat(boxes, dim=-1)
        return data_dict


POINTPILLAR = {
    "voxel_size": [0.5, 0.5, 4.0],
    "point_cloud_range": [0.0, -8.0, -3.0, 16.0, 8.0, 1.0],
    "num_class": 3,
    "vfe": [32],
    "backbone_2d": {
        "layer_nums": [2, 3, 3],
        "layer_strides": [2, 2, 2],
        "num_filters": [16, 32, 64],
        "upsample_strides": [1, 2, 4],
        "num_upsample_filters": [32, 32, 32],
    },
}


class PointPillar(nn.Module):
    """Cars and people among the points of a laser."""

    def __init__(self, cfg: dict[str, Any] = POINTPILLAR) -> None:
        super().__init__()
        low, high = cfg["point_cloud_range"][:3], cfg["point_cloud_range"][3:]
        nx, ny, nz = (round((b - a) / v) for a, b, v in zip(low, high, cfg["voxel_size"], strict=True))
        self.vfe = PillarVFE(cfg["vfe"], cfg["voxel_size"], cfg["point_cloud_range"])
        self.map_to_bev = PointPillarScatter(cfg["vfe"][-1], (nx, ny, nz))
        self.backbone_2d = BaseBEVBackbone(cfg["backbone_2d"], cfg["vfe"][-1])
        self.dense_head = AnchorHeadSingle(self.backbone_2d.num_bev_features, cfg["num_class"])
        self.module_list = [self.vfe, self.map_to_bev, self.backbone_2d, self.dense_head]

    def forward(self, batch_dict: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Scores and boxes."""
        for cur_module in self.module_list:
            batch_dict = cur_module(batch_dict)
        return torch.sigmoid(batch_dict["batch_cls_preds"]), batch_dict["batch_box_preds"]


def _pillars() -> dict[str, Tensor]:
    num_points = torch.randint(1, 9, (40,))
    coords = torch.stack([torch.arange(40) // 20, torch.zeros(40), *torch.randint(0, 32, (2, 40))], 1)
    filled = torch.arange(8) < num_points[:, None]
    voxels = torch.rand(40, 8, 4) * filled[:, :, None]
    return {"voxels": voxels, "voxel_coords": coords, "voxel_num_points": num_points}


class ConvInputModel(nn.Module):
    """An image as places."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.batchNorm1 = nn.Conv2d(3, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)
        self.conv2, self.batchNorm2 = nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)
        self.conv3, self.batchNorm3 = nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)
        self.conv4, self.batchNorm4 = nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)

    def forward(self, img: Tensor) -> Tensor:
        """A sixteenth in both directions."""
        x = self.batchNorm1(F.relu(self.conv1(img)))
        x = self.batchNorm2(F.relu(self.conv2(x)))
        x = self.batchNorm3(F.relu(self.conv3(x)))
        return self.batchNorm4(F.relu(self.conv4(x)))


class QuestionEmbedModel(nn.Module):
    """The last state of a question, whose end is padded."""

    def __init__(self, in_size: int, embed: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.wembedding = nn.Embedding(in_size + 1, embed)
        self.lstm, self.hidden = nn.LSTM(embed, hidden, batch_first=True), hidden

    def forward(self, question: Tensor) -> Tensor:
        """One vector."""
        wembed = self.wembedding(question)
        self.lstm.flatten_parameters()
        _, hidden = self.lstm(wembed)
        return hidden[0][0]


class RelationalLayer(nn.Module):
    """The sum of what a net says of all pairs of places, with the question put in at one of its layers."""

    def __init__(self, in_size: int, out_size: int, qst_size: int, g_layers: list[int], f_layers: list[int]) -> None:
        super().__init__()
        self.quest_inject_position, self.in_size = 2, in_size
        self.g_layers = nn.ModuleList()
        for idx, g_layer_size in enumerate(g_layers):
            in_s = in_size if idx == 0 else g_layers[idx - 1]
            out_s = g_layer_size
            if idx == self.quest_inject_position:
                in_s += qst_size
            self.g_layers.append(nn.Linear(in_s, out_s))
        self.f_fc1 = nn.Linear(g_layers[-1], f_layers[0])
        self.f_fc2, self.f_fc3 = nn.Linear(f_layers[0], f_layers[1]), nn.Linear(f_layers[1], out_size)
        self.dropout = nn.Dropout(p=0.5)

    def forward(self, x: Tensor, qst: Tensor) -> Tensor:
        """Logarithms of the probabilities of answers."""
        b, d, _ = x.size()
        qst_size = qst.size()[1]
        qst = torch.unsqueeze(qst, 1)
        qst = qst.repeat(1, d, 1)
        qst = torch.unsqueeze(qst, 2)
        x_i = torch.unsqueeze(x, 1).repeat(1, d, 1, 1)
        x_j = torch.unsqueeze(x, 2).repeat(1, 1, d, 1)
        x_full = torch.cat([x_i, x_j], 3)
        x_ = x_full.view(b * d**2, self.in_size)
        for idx, g_layer in enumerate(self.g_layers):
            if idx == self.quest_inject_position:
                in_size = x_.size(1)
                x_img = x_.view(b, d, d, in_size)
                q = qst.repeat(1, 1, d, 1)
                x_concat = torch.cat([x_img, q], 3)
                x_ = x_concat.view(b * (d**2), in_size + qst_size)
                x_ = F.relu(g_layer(x_))
            else:
                x_ = F.relu(g_layer(x_))
        x_g = x_.view(b, d**2, x_.size(1))
        x_g = x_g.sum(1).squeeze(1)
        x_f = F.relu(self.f_fc1(x_g))
        x_f = F.relu(self.dropout(self.f_fc2(x_f)))
        return F.log_softmax(self.f_fc3(x_f), dim=1)


class RN(nn.Module):
    """Answers to questions about objects in an image."""

    def __init__(self, hyp: dict[str, Any], num_words: int = 80, num_answers: int = 28) -> None:
        super().__init__()
        self.coord_tensor: Tensor | None = None
        self.conv, self.text = ConvInputModel(), QuestionEmbedModel(num_words, hidden=hyp["lstm_hidden"])
        self.rl = RelationalLayer((24 + 2) * 2, num_answers, hyp["lstm_hidden"], hyp["g_layers"], hyp["f_fc_layers"])

    def build_coord_tensor(self, b: int, d: int) -> None:
        """Where places are, made once."""
        coords = torch.linspace(-d / 2.0, d / 2.0, d)
        x = coords.unsqueeze(0).repeat(d, 1)
        y = coords.unsqueeze(1).repeat(1, d)
        ct = torch.stack((x, y))
        self.coord_tensor = ct.unsqueeze(0).repeat(b, 1, 1, 1)

    def forward(self, img: Tensor, qst_idxs: Tensor) -> Tensor:
        """Logarithms of probabilities."""
        x = self.conv(img)
        b, k, d, _ = x.size()
        qst = self.text(qst_idxs)
        if self.coord_tensor is None or self.coord_tensor.size(0) != b:
            self.build_coord_tensor(b, d)
        x = torch.cat([x, self.coord_tensor], 1)
        x = x.view(b, k + 2, d * d).permute(0, 2, 1)
        return self.rl(x, qst)


RN_HYP = {"g_layers": [64, 64, 64, 64], "f_fc_layers": [64, 128], "lstm_hidden": 48}


def conv_bn(inp: int, oup: int, stride: int = 1, leaky: float = 0) -> nn.Sequential:
    """A convolution, norm and activation."""
    return nn.Sequential(
        nn.Conv2d(inp, oup, 3, stride, 1, bias=False), nn.BatchNorm2d(oup),
        nn.LeakyReLU(negative_slope=leaky, inplace=True),
    )  # fmt: skip


def conv_bn_no_relu(inp: int, oup: int, stride: int) -> nn.Sequential:
    """A convolution and norm."""
    return nn.Sequential(nn.Conv2d(inp, oup, 3, stride, 1, bias=False), nn.BatchNorm2d(oup))


def conv_bn1x1(inp: int, oup: int, stride: int, leaky: float = 0) -> nn.Sequential:
    """Of one pixel."""
    return nn.Sequential(
        nn.Conv2d(inp, oup, 1, stride, padding=0, bias=False), nn.BatchNorm2d(oup),
        nn.LeakyReLU(negative_slope=leaky, inplace=True),
    )  # fmt: skip


def conv_dw(inp: int, oup: int, stride: int, leaky: float = 0.1) -> nn.Sequential:
    """Of each channel, then of one pixel."""
    return nn.Sequential(
        nn.Conv2d(inp, inp, 3, stride, 1, groups=inp, bias=False), nn.BatchNorm2d(inp),
        nn.LeakyReLU(negative_slope=leaky, inplace=True),
        nn.Conv2d(inp, oup, 1, 1, 0, bias=False), nn.BatchNorm2d(oup),
        nn.LeakyReLU(negative_slope=leaky, inplace=True),
    )  # fmt: skip


class MobileNetV1(nn.Module):
    """The backbone, an eighth as wide."""

    def __init__(self) -> None:
        super().__init__()
        self.stage1 = nn.Sequential(
            conv_bn(3, 8, 2, leaky=0.1), conv_dw(8, 16, 1), conv_dw(16, 32, 2), conv_dw(32, 32, 1), conv_dw(32, 64, 2),
            conv_dw(64, 64, 1),
        )  # fmt: skip
        self.stage2 = nn.Sequential(conv_dw(64, 128, 2), *(conv_dw(128, 128, 1) for _ in range(5)))
        self.stage3 = nn.Sequential(conv_dw(128, 256, 2), conv_dw(256, 256, 1))
        self.avg, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(256, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """Classes, for training the backbone."""
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.fc(self.avg(x).view(-1, 256))


class IntermediateLayerGetter(nn.ModuleDict):
    """The stages of a backbone up to the last that is asked for, as torchvision has them."""

    def __init__(self, model: nn.Module, return_layers: dict[str, int]) -> None:
        waiting, layers = {*return_layers}, OrderedDict[str, nn.Module]()
        for name, module in model.named_children():
            layers[name] = module
            waiting.discard(name)
            if not waiting:
                break
        super().__init__(layers)
        self.return_layers = {name: str(out) for name, out in return_layers.items()}

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        """By the new names."""
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


class SSH(nn.Module):
    """Three fields of view, of which the larger two share a layer."""

    def __init__(self, in_channel: int, out_channel: int) -> None:
        super().__init__()
        assert out_channel % 4 == 0
        leaky = 0.1 if out_channel <= 64 else 0
        self.conv3X3 = conv_bn_no_relu(in_channel, out_channel // 2, stride=1)
        self.conv5X5_1 = conv_bn(in_channel, out_channel // 4, stride=1, leaky=leaky)
        self.conv5X5_2 = conv_bn_no_relu(out_channel // 4, out_channel // 4, stride=1)
        self.conv7X7_2 = conv_bn(out_channel // 4, out_channel // 4, stride=1, leaky=leaky)
        self.conv7x7_3 = conv_bn_no_relu(out_channel // 4, out_channel // 4, stride=1)

    def forward(self, x: Tensor) -> Tensor:
        """In one."""
        conv3x3 = self.conv3X3(x)
        conv5x5_1 = self.conv5X5_1(x)
        conv5x5 = self.conv5X5_2(conv5x5_1)
        conv7x7_2 = self.conv7X7_2(conv5x5_1)
        conv7x7 = self.conv7x7_3(conv7x7_2)
        return F.relu(torch.cat([conv3x3, conv5x5, conv7x7], dim=1))


class FaceFPN(nn.Module):
    """Three scales, the smaller added to the larger."""

    def __init__(self, in_channels_list: list[int], out_channels: int) -> None:
        super().__init__()
        leaky = 0.1 if out_channels <= 64 else 0
        self.output1 = conv_bn1x1(in_channels_list[0], out_channels, stride=1, leaky=leaky)
        self.output2 = conv_bn1x1(in_channels_list[1], out_channels, stride=1, leaky=leaky)
        self.output3 = conv_bn1x1(in_channels_list[2], out_channels, stride=1, leaky=leaky)
        self.merge1 = conv_bn(out_channels, out_channels, leaky=leaky)
        self.merge2 = conv_bn(out_channels, out_channels, leaky=leaky)

    def forward(self, input: dict[str, Tensor]) -> list[Tensor]:  # noqa: A002 - the repository's name
        """The same channels everywhere."""
        values = list(input.values())
        output1, output2, output3 = self.output1(values[0]), self.output2(values[1]), self.output3(values[2])
        up3 = F.interpolate(output3, size=[output2.size(2), output2.size(3)], mode="nearest")
        output2 = self.merge2(output2 + up3)
        up2 = F.interpolate(output2, size=[output1.size(2), output1.size(3)], mode="nearest")
        output1 = self.merge1(output1 + up2)
        return [output1, output2, output3]


class ClassHead(nn.Module):
    """Whether an anchor is a face."""

    def __init__(self, inchannels: int = 64, num_anchors: int = 2) -> None:
        super().__init__()
        self.num_anchors = num_anchors
        self.conv1x1 = nn.Conv2d(inchannels, num_anchors * 2, kernel_size=(1, 1), stride=1, padding=0)

    def forward(self, x: Tensor) -> Tensor:
        """Anchors in a row."""
        out = self.conv1x1(x)
        out = out.permute(0, 2, 3, 1).contiguous()
        return out.view(out.shape[0], -1, 2)


class BboxHead(nn.Module):
    """Where its face is."""

    def __init__(self, inchannels: int = 64, num_anchors: int = 2) -> None:
        super().__init__()
        self.conv1x1 = nn.Conv2d(inchannels, num_anchors * 4, kernel_size=(1, 1), stride=1, padding=0)

    def forward(self, x: Tensor) -> Tensor:
        """Anchors in a row."""
        out = self.conv1x1(x)
        out = out.permute(0, 2, 3, 1).contiguous()
        return out.view(out.shape[0], -1, 4)


class LandmarkHead(nn.Module):
    """Where eyes, nose and mouth are."""

    def __init__(self, inchannels: int = 64, num_anchors: int = 2) -> None:
        super().__init__()
        self.conv1x1 = nn.Conv2d(inchannels, num_anchors * 10, kernel_size=(1, 1), stride=1, padding=0)

    def forward(self, x: Tensor) -> Tensor:
        """Anchors in a row."""
        out = self.conv1x1(x)
        out = out.permute(0, 2, 3, 1).contiguous()
        return out.view(out.shape[0], -1, 10)


class RetinaFace(nn.Module):
    """Faces in an image."""

    def __init__(self, cfg: dict[str, Any], phase: str = "train") -> None:
        super().__init__()
        self.phase = phase
        self.body = IntermediateLayerGetter(MobileNetV1(), cfg["return_layers"])
        in_channels_stage2 = cfg["in_channel"]
        in_channels_list = [in_channels_stage2 * 2, in_channels_stage2 * 4, in_channels_stage2 * 8]
        out_channels = cfg["out_channel"]
        self.fpn = FaceFPN(in_channels_list, out_channels)
        self.ssh1, self.ssh2 = SSH(out_channels, out_channels), SSH(out_channels, out_channels)
        self.ssh3 = SSH(out_channels, out_channels)
        self.ClassHead = self._make_head(ClassHead, inchannels=out_channels)
        self.BboxHead = self._make_head(BboxHead, inchannels=out_channels)
        self.LandmarkHead = self._make_head(LandmarkHead, inchannels=out_channels)

    @staticmethod
    def _make_head(head: type[nn.Module], fpn_num: int = 3, inchannels: int = 64, anchor_num: int = 2) -> nn.ModuleList:
        heads = nn.ModuleList()
        for _ in range(fpn_num):
            heads.append(head(inchannels, anchor_num))
        return heads

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Boxes, classes and landmarks of all anchors."""
        out = self.body(inputs)
        fpn = self.fpn(out)
        feature1, feature2, feature3 = self.ssh1(fpn[0]), self.ssh2(fpn[1]), self.ssh3(fpn[2])
        features = [feature1, feature2, feature3]
        bbox_regressions = torch.cat([self.BboxHead[i](feature) for i, feature in enumerate(features)], dim=1)
        classifications = torch.cat([self.ClassHead[i](feature) for i, feature in enumerate(features)], dim=1)
        ldm_regressions = torch.cat([self.LandmarkHead[i](feature) for i, feature in enumerate(features)], dim=1)
        if self.phase == "train":
            return bbox_regressions, classifications, ldm_regressions
        return bbox_regressions, F.softmax(classifications, dim=-1), ldm_regressions


CFG_MNET = {"return_layers": {"stage1": 1, "stage2": 2, "stage3": 3}, "in_channel": 32, "out_channel": 64}


def coord_map(shape: tuple[int, int], start: float = -1, end: float = 1) -> Tensor:
    """Where pixels are."""
    m, n = shape
    x_coord_row, y_coord_row = torch.linspace(start, end, steps=n), torch.linspace(start, end, steps=m)
    x_coords = x_coord_row.unsqueeze(0).expand(torch.Size((m, n))).unsqueeze(0)
    y_coords = y_coord_row.unsqueeze(1).expand(torch.Size((m, n))).unsqueeze(0)
    return torch.cat([x_coords, y_coords], 0)


class FiLM(nn.Module):
    """A scale and a shift of each channel."""

    def forward(self, x: Tensor, gammas: Tensor, betas: Tensor) -> Tensor:
        """The same shape."""
        gammas = gammas.unsqueeze(2).unsqueeze(3).expand_as(x)
        betas = betas.unsqueeze(2).unsqueeze(3).expand_as(x)
        return (gammas * x) + betas


class FiLMGen(nn.Module):
    """Scales and shifts for all blocks from the last word of a question."""

    def __init__(self, vocab: int, wordvec_dim: int, hidden_dim: int, num_modules: int, module_dim: int) -> None:
        super().__init__()
        self.num_modules, self.module_dim, self.null = num_modules, module_dim, 0
        self.cond_feat_size = 2 * module_dim
        self.encoder_embed = nn.Embedding(vocab, wordvec_dim)
        self.encoder_rnn = nn.GRU(wordvec_dim, hidden_dim, 1, batch_first=True)
        self.decoder_linear = nn.Linear(hidden_dim, num_modules * self.cond_feat_size)

    def before_rnn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The question, and where its last word is."""
        not_null = x.ne(self.null)
        idx = not_null.sum(1) - 1
        return x, idx.long()

    def forward(self, x: Tensor) -> Tensor:
        """For each block; scales are around one."""
        x, idx = self.before_rnn(x)
        embed = self.encoder_embed(x)
        n, d = embed.size(0), self.encoder_rnn.hidden_size
        out, _ = self.encoder_rnn(embed, torch.zeros(1, n, d))
        idx = idx.view(n, 1, 1).expand(n, 1, d)
        encoded = out.gather(1, idx).view(n, d)
        film_pre_mod = self.decoder_linear(encoded).view(n, self.num_modules, self.cond_feat_size)
        gammas, betas = torch.split(film_pre_mod, self.module_dim, dim=-1)
        return torch.cat([gammas + 1, betas], -1)


class FiLMedResBlock(nn.Module):
    """A projection and a convolution that the question changes, with a skip around the latter."""

    def __init__(self, in_dim: int, with_residual: bool = True, num_extra_channels: int = 2) -> None:
        super().__init__()
        self.with_residual = with_residual
        self.input_proj = nn.Conv2d(in_dim + num_extra_channels, in_dim, kernel_size=1, padding=0)
        self.conv1 = nn.Conv2d(in_dim, in_dim, kernel_size=3, padding=1)
        self.bn1, self.film = nn.BatchNorm2d(in_dim, affine=False), FiLM()

    def forward(self, x: Tensor, gammas: Tensor, betas: Tensor, extra_channels: Tensor | None = None) -> Tensor:
        """The same shape."""
        if extra_channels is not None:
            x = torch.cat([x, extra_channels], 1)
        x = F.relu(self.input_proj(x))
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.film(out, gammas, betas)
        out = F.relu(out)
        return x + out if self.with_residual else out


class FiLMedNet(nn.Module):
    """Answers from an image, each of whose blocks hears the question."""

    coords: Tensor

    def __init__(
        self, vocab: int = 60, feature_dim: tuple[int, int, int] = (3, 32, 32), module_dim: int = 32,
        num_modules: int = 4, num_answers: int = 28,
    ) -> None:  # fmt: skip
        super().__init__()
        self.module_dim, self.num_modules = module_dim, num_modules
        self.question = FiLMGen(vocab, 24, 64, num_modules, module_dim)
        self.stem = self.build_stem(feature_dim[0] + 2, module_dim)
        module_h, module_w = feature_dim[1] // 4, feature_dim[2] // 4
        self.register_buffer("coords", coord_map((module_h, module_w)))
        self.register_buffer("image_coords", coord_map((feature_dim[1], feature_dim[2])))
        self.function_modules = {}
        for fn_num in range(num_modules):
            mod = FiLMedResBlock(module_dim)
            self.add_module(str(fn_num), mod)
            self.function_modules[fn_num] = mod
        self.classifier = self.build_classifier(module_dim + 2, module_h, module_w, num_answers)

    @staticmethod
    def build_stem(feature_dim: int, module_dim: int, num_layers: int = 2) -> nn.Sequential:
        """A quarter in both directions."""
        layers: list[nn.Module] = []
        prev_dim = feature_dim
        for _ in range(num_layers):
            layers.append(nn.Conv2d(prev_dim, module_dim, kernel_size=4, stride=2, padding=1))
            layers.append(nn.BatchNorm2d(module_dim))
            layers.append(nn.ReLU(inplace=True))
            prev_dim = module_dim
        return nn.Sequential(*layers)

    @staticmethod
    def build_classifier(module_c: int, module_h: int, module_w: int, num_answers: int) -> nn.Sequential:
        """The largest of each channel, and two layers."""
        return nn.Sequential(
            nn.Conv2d(module_c, 64, kernel_size=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=(module_h, module_w), stride=(module_h, module_w)), nn.Flatten(),
            nn.Linear(64, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU(inplace=True), nn.Linear(128, num_answers),
        )  # fmt: skip

    def forward(self, x: Tensor, questions: Tensor) -> Tensor:
        """Scores of answers."""
        film = self.question(questions)
        gammas, betas = torch.split(film[:, :, : 2 * self.module_dim], self.module_dim, dim=-1)
        batch_coords = self.coords.unsqueeze(0).expand(torch.Size((x.size(0), *self.coords.size())))
        image_coords = self.image_coords.unsqueeze(0).expand(x.size(0), -1, -1, -1)
        feats = self.stem(torch.cat([x, image_coords], 1))
        module_inputs = feats
        for fn_num in range(self.num_modules):
            layer_output = self.function_modules[fn_num](
                module_inputs, gammas[:, fn_num, :], betas[:, fn_num, :], batch_coords
            )
            module_inputs = layer_output
        final_module_output = torch.cat([module_inputs, batch_coords], 1)
        return self.classifier(final_module_output)


def _questions() -> Tensor:
    return torch.randint(1, 60, (2, 9)) * (torch.arange(9) < torch.tensor([[9], [6]]))


class StarResidualBlock(nn.Module):
    """Two convolutions with norms of each image."""

    def __init__(self, dim_in: int, dim_out: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(dim_in, dim_out, kernel_size=3, stride=1, padding=1, bias=False),
            nn.InstanceNorm2d(dim_out, affine=True, track_running_stats=True), nn.ReLU(inplace=True),
            nn.Conv2d(dim_out, dim_out, kernel_size=3, stride=1, padding=1, bias=False),
            nn.InstanceNorm2d(dim_out, affine=True, track_running_stats=True),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """With a skip."""
        return x + self.main(x)


class StarGenerator(nn.Module):
    """A face with other attributes."""

    def __init__(self, conv_dim: int = 16, c_dim: int = 5, repeat_num: int = 6) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        layers.append(nn.Conv2d(3 + c_dim, conv_dim, kernel_size=7, stride=1, padding=3, bias=False))
        layers.append(nn.InstanceNorm2d(conv_dim, affine=True, track_running_stats=True))
        layers.append(nn.ReLU(inplace=True))
        curr_dim = conv_dim
        for _ in range(2):
            layers.append(nn.Conv2d(curr_dim, curr_dim * 2, kernel_size=4, stride=2, padding=1, bias=False))
            layers.append(nn.InstanceNorm2d(curr_dim * 2, affine=True, track_running_stats=True))
            layers.append(nn.ReLU(inplace=True))
            curr_dim = curr_dim * 2
        layers += [StarResidualBlock(dim_in=curr_dim, dim_out=curr_dim) for _ in range(repeat_num)]
        for _ in range(2):
            layers.append(nn.ConvTranspose2d(curr_dim, curr_dim // 2, kernel_size=4, stride=2, padding=1, bias=False))
            layers.append(nn.InstanceNorm2d(curr_dim // 2, affine=True, track_running_stats=True))
            layers.append(nn.ReLU(inplace=True))
            curr_dim = curr_dim // 2
        layers.append(nn.Conv2d(curr_dim, 3, kernel_size=7, stride=1, padding=3, bias=False))
        layers.append(nn.Tanh())
        self.main = nn.Sequential(*layers)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        """The same size."""
        c = c.view(c.size(0), c.size(1), 1, 1)
        c = c.repeat(1, 1, x.size(2), x.size(3))
        return self.main(torch.cat([x, c], dim=1))


class StarDiscriminator(nn.Module):
    """Whether patches are real, and which attributes the face has."""

    def __init__(self, image_size: int = 32, conv_dim: int = 16, c_dim: int = 5, repeat_num: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        layers.append(nn.Conv2d(3, conv_dim, kernel_size=4, stride=2, padding=1))
        layers.append(nn.LeakyReLU(0.01))
        curr_dim = conv_dim
        for _ in range(1, repeat_num):
            layers.append(nn.Conv2d(curr_dim, curr_dim * 2, kernel_size=4, stride=2, padding=1))
            layers.append(nn.LeakyReLU(0.01))
            curr_dim = curr_dim * 2
        kernel_size = int(image_size / 2**repeat_num)
        self.main = nn.Sequential(*layers)
        self.conv1 = nn.Conv2d(curr_dim, 1, kernel_size=3, stride=1, padding=1, bias=False)
        self.conv2 = nn.Conv2d(curr_dim, c_dim, kernel_size=kernel_size, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scores."""
        h = self.main(x)
        out_src = self.conv1(h)
        out_cls = self.conv2(h)
        return out_src, out_cls.view(out_cls.size(0), out_cls.size(1))


class StarGAN(nn.Module):
    """A step of the generator: there, judged, and back again."""

    def __init__(self, lambda_cls: float = 1, lambda_rec: float = 10) -> None:
        super().__init__()
        self.lambda_cls, self.lambda_rec = lambda_cls, lambda_rec
        self.G, self.D = StarGenerator(), StarDiscriminator()

    def forward(self, x_real: Tensor, c_org: Tensor, c_trg: Tensor) -> dict[str, Tensor]:
        """The new face and the losses."""
        x_fake = self.G(x_real, c_trg)
        out_src, out_cls = self.D(x_fake)
        g_loss_fake = -torch.mean(out_src)
        g_loss_cls = F.binary_cross_entropy_with_logits(out_cls, c_trg, reduction="sum") / out_cls.size(0)
        x_reconst = self.G(x_fake, c_org)
        g_loss_rec = torch.mean(torch.abs(x_real - x_reconst))
        g_loss = g_loss_fake + self.lambda_rec * g_loss_rec + self.lambda_cls * g_loss_cls
        return {"fake": x_fake, "G/loss": g_loss, "G/loss_rec": g_loss_rec, "G/loss_cls": g_loss_cls}


def _attributes() -> Tensor:
    return torch.randint(0, 2, (2, 5)).float()


NETS = [
    Entry("own/dgcnn", DGCNNPartSeg, given(numbers(2, 3, 64), lambda: torch.eye(16)[[3, 7]])),
    Entry("own/capsnet", CapsNet, given(lambda: torch.rand(2, 1, 28, 28))),
    Entry("own/hmr", HMR, given(numbers(2, 3, 64, 64))),
    Entry("own/pointpillars", PointPillar, given(_pillars)),
    Entry("own/relation_network", lambda: RN(RN_HYP), given(numbers(2, 3, 64, 64), words(2, 10, 80))),
    Entry("own/retinaface", lambda: RetinaFace(CFG_MNET), given(numbers(1, 3, 128, 128))),
    Entry("own/film", FiLMedNet, given(numbers(2, 3, 32, 32), _questions)),
    Entry("own/stargan", StarGAN, given(numbers(2, 3, 32, 32), _attributes, _attributes)),
]
