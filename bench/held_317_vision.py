"""Nets of images as repositories write them, of the eighth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(317)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_317_sequences.py`; `tcn`, which a test of proofs
has, gives way to the next.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import functools
from argparse import Namespace
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers

TOPICS = (
    "cyclegan moco csrnet i3d craft prototypical_network siamrpn restormer",
    "tacotron_gst diffusion_policy han graphcast bert4rec stgcn alphazero",
)


def get_norm_layer(norm_type: str = "instance") -> Callable[[int], nn.Module]:
    """A norm by name."""
    if norm_type == "batch":
        return functools.partial(nn.BatchNorm2d, affine=True, track_running_stats=True)
    if norm_type == "instance":
        return functools.partial(nn.InstanceNorm2d, affine=False, track_running_stats=False)
    if norm_type == "none":
        return lambda _: nn.Identity()
    raise NotImplementedError(f"normalization layer [{norm_type}] is not found")


class ResnetBlock(nn.Module):
    """Two convolutions with reflected edges, and what came in."""

    def __init__(self, dim: int, padding_type: str, norm_layer: Callable[[int], nn.Module], use_dropout: bool) -> None:
        super().__init__()
        self.conv_block = self.build_conv_block(dim, padding_type, norm_layer, use_dropout)

    def build_conv_block(
        self, dim: int, padding_type: str, norm_layer: Callable[[int], nn.Module], use_dropout: bool
    ) -> nn.Sequential:
        """The layers."""
        conv_block: list[nn.Module] = []
        for last in (False, True):
            p = 0
            if padding_type == "reflect":
                conv_block += [nn.ReflectionPad2d(1)]
            elif padding_type == "replicate":
                conv_block += [nn.ReplicationPad2d(1)]
            else:
                p = 1
            conv_block += [nn.Conv2d(dim, dim, kernel_size=3, padding=p), norm_layer(dim)]
            if not last:
                conv_block += [nn.ReLU(True)]
                if use_dropout:
                    conv_block += [nn.Dropout(0.5)]
        return nn.Sequential(*conv_block)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same size."""
        return x + self.conv_block(x)


class ResnetGenerator(nn.Module):
    """An image of the other domain: downsampled twice, residual blocks, upsampled twice."""

    def __init__(
        self, input_nc: int, output_nc: int, ngf: int = 8, norm: str = "instance",
        use_dropout: bool = False, n_blocks: int = 3, padding_type: str = "reflect",
    ) -> None:  # fmt: skip
        super().__init__()
        norm_layer = get_norm_layer(norm)
        model: list[nn.Module] = [nn.ReflectionPad2d(3), nn.Conv2d(input_nc, ngf, kernel_size=7, padding=0)]
        model += [norm_layer(ngf), nn.ReLU(True)]
        n_downsampling = 2
        for i in range(n_downsampling):
            mult = 2**i
            model += [
                nn.Conv2d(ngf * mult, ngf * mult * 2, kernel_size=3, stride=2, padding=1),
                norm_layer(ngf * mult * 2),
                nn.ReLU(True),
            ]
        mult = 2**n_downsampling
        for _ in range(n_blocks):
            model += [ResnetBlock(ngf * mult, padding_type, norm_layer, use_dropout)]
        for i in range(n_downsampling):
            mult = 2 ** (n_downsampling - i)
            half = int(ngf * mult / 2)
            model += [
                nn.ConvTranspose2d(ngf * mult, half, kernel_size=3, stride=2, padding=1, output_padding=1),
                norm_layer(half),
                nn.ReLU(True),
            ]
        model += [nn.ReflectionPad2d(3), nn.Conv2d(ngf, output_nc, kernel_size=7, padding=0), nn.Tanh()]
        self.model = nn.Sequential(*model)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The image, between -1 and 1."""
        return self.model(input)


class NLayerDiscriminator(nn.Module):
    """Whether each patch of an image looks real."""

    def __init__(self, input_nc: int, ndf: int = 8, n_layers: int = 3, norm: str = "instance") -> None:
        super().__init__()
        norm_layer, kw, padw = get_norm_layer(norm), 4, 1
        sequence = [nn.Conv2d(input_nc, ndf, kernel_size=kw, stride=2, padding=padw), nn.LeakyReLU(0.2, True)]
        nf_mult = 1
        for n in range(1, n_layers + 1):
            nf_mult_prev, nf_mult = nf_mult, min(2**n, 8)
            stride = 2 if n < n_layers else 1
            sequence += [
                nn.Conv2d(ndf * nf_mult_prev, ndf * nf_mult, kernel_size=kw, stride=stride, padding=padw),
                norm_layer(ndf * nf_mult),
                nn.LeakyReLU(0.2, True),
            ]
        sequence += [nn.Conv2d(ndf * nf_mult, 1, kernel_size=kw, stride=1, padding=padw)]
        self.model = nn.Sequential(*sequence)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """A score of each patch."""
        return self.model(input)


class GANLoss(nn.Module):
    """How far scores are from those of real or of made images."""

    real_label: Tensor
    fake_label: Tensor

    def __init__(self, gan_mode: str, target_real_label: float = 1.0, target_fake_label: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("real_label", torch.tensor(target_real_label))
        self.register_buffer("fake_label", torch.tensor(target_fake_label))
        self.gan_mode = gan_mode
        self.loss: nn.Module | None = {"lsgan": nn.MSELoss(), "vanilla": nn.BCEWithLogitsLoss()}.get(gan_mode)

    def get_target_tensor(self, prediction: Tensor, target_is_real: bool) -> Tensor:
        """The label, in the size of the scores."""
        target_tensor = self.real_label if target_is_real else self.fake_label
        return target_tensor.expand_as(prediction)

    def __call__(self, prediction: Tensor, target_is_real: bool) -> Tensor:
        """The loss."""
        if self.loss is not None:
            return self.loss(prediction, self.get_target_tensor(prediction, target_is_real))
        return -prediction.mean() if target_is_real else prediction.mean()


class CycleGANModel(nn.Module):
    """Two generators that undo each other, two discriminators, and the losses of the generators."""

    def __init__(self, opt: Namespace) -> None:
        super().__init__()
        self.opt = opt
        self.netG_A = ResnetGenerator(opt.input_nc, opt.output_nc, opt.ngf, opt.norm, not opt.no_dropout, opt.n_blocks)
        self.netG_B = ResnetGenerator(opt.output_nc, opt.input_nc, opt.ngf, opt.norm, not opt.no_dropout, opt.n_blocks)
        self.netD_A = NLayerDiscriminator(opt.output_nc, opt.ndf, opt.n_layers_D, opt.norm)
        self.netD_B = NLayerDiscriminator(opt.input_nc, opt.ndf, opt.n_layers_D, opt.norm)
        self.criterionGAN, self.criterionCycle, self.criterionIdt = GANLoss(opt.gan_mode), nn.L1Loss(), nn.L1Loss()

    def forward(self, real_a: Tensor, real_b: Tensor) -> dict[str, Tensor]:
        """Both images in the other domain, both brought back, and the loss."""
        fake_b = self.netG_A(real_a)
        rec_a = self.netG_B(fake_b)
        fake_a = self.netG_B(real_b)
        rec_b = self.netG_A(fake_a)
        loss_idt_a: Tensor | float = 0
        loss_idt_b: Tensor | float = 0
        if self.opt.lambda_identity > 0:
            idt_a = self.netG_A(real_b)
            loss_idt_a = self.criterionIdt(idt_a, real_b) * self.opt.lambda_B * self.opt.lambda_identity
            idt_b = self.netG_B(real_a)
            loss_idt_b = self.criterionIdt(idt_b, real_a) * self.opt.lambda_A * self.opt.lambda_identity
        loss_g_a = self.criterionGAN(self.netD_A(fake_b), True)
        loss_g_b = self.criterionGAN(self.netD_B(fake_a), True)
        loss_cycle_a = self.criterionCycle(rec_a, real_a) * self.opt.lambda_A
        loss_cycle_b = self.criterionCycle(rec_b, real_b) * self.opt.lambda_B
        loss_g = loss_g_a + loss_g_b + loss_cycle_a + loss_cycle_b + loss_idt_a + loss_idt_b
        return {"fake_B": fake_b, "rec_A": rec_a, "fake_A": fake_a, "rec_B": rec_b, "loss_G": loss_g}


CYCLE_OPT = Namespace(
    **{"input_nc": 3, "output_nc": 3, "ngf": 8, "ndf": 8, "n_blocks": 3, "n_layers_D": 3, "norm": "instance"},
    **{"no_dropout": True, "gan_mode": "lsgan", "lambda_A": 10.0, "lambda_B": 10.0, "lambda_identity": 0.5},
)


class BasicBlock(nn.Module):
    """A residual block of two convolutions."""

    expansion = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(planes), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, padding=1, bias=False)
        self.bn2, self.downsample, self.stride = nn.BatchNorm2d(planes), downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNetEncoder(nn.Module):
    """A residual net, whose last layer gives the vector that is compared."""

    def __init__(self, layers: Sequence[int] = (1, 1, 1), width: int = 16, num_classes: int = 32) -> None:
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for i, blocks in enumerate(layers):
            setattr(self, f"layer{i + 1}", self._make_layer(width * 2**i, blocks, stride=1 if i == 0 else 2))
        self.num_layers, self.avgpool = len(layers), nn.AdaptiveAvgPool2d((1, 1))
        self.fc: nn.Module = nn.Linear(width * 2 ** (len(layers) - 1), num_classes)

    def _make_layer(self, planes: int, blocks: int, stride: int) -> nn.Sequential:
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
        """A vector of each image."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for i in range(self.num_layers):
            x = getattr(self, f"layer{i + 1}")(x)
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


class MoCo(nn.Module):
    """Vectors of two views of an image, beside a queue of vectors of others from an encoder that follows slowly."""

    queue: Tensor
    queue_ptr: Tensor

    def __init__(
        self, base_encoder: Callable[..., nn.Module], dim: int = 32, K: int = 64,  # noqa: N803
        m: float = 0.999, T: float = 0.07, mlp: bool = False,  # noqa: N803
    ) -> None:  # fmt: skip
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base_encoder(num_classes=dim), base_encoder(num_classes=dim)
        if mlp:  # hack: brute-force replacement
            for encoder in (self.encoder_q, self.encoder_k):
                dim_mlp = encoder.fc.weight.shape[1]  # type: ignore[union-attr, index]
                encoder.fc = nn.Sequential(nn.Linear(dim_mlp, dim_mlp), nn.ReLU(), encoder.fc)  # type: ignore[arg-type]
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self) -> None:
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys: Tensor) -> None:
        batch_size, ptr = keys.shape[0], int(self.queue_ptr)
        assert self.K % batch_size == 0  # for simplicity
        self.queue[:, ptr : ptr + batch_size] = keys.T
        self.queue_ptr[0] = (ptr + batch_size) % self.K

    @torch.no_grad()
    def _batch_shuffle(self, x: Tensor) -> tuple[Tensor, Tensor]:
        idx_shuffle = torch.randperm(x.shape[0])
        return x[idx_shuffle], torch.argsort(idx_shuffle)

    def forward(self, im_q: Tensor, im_k: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the other view and of the queue, and which of them is right."""
        q = self.encoder_q(im_q)
        q = nn.functional.normalize(q, dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            im_k, idx_unshuffle = self._batch_shuffle(im_k)
            k = self.encoder_k(im_k)
            k = nn.functional.normalize(k, dim=1)
            k = k[idx_unshuffle]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1)
        logits /= self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def make_layers(
    cfg: Sequence[int | str], in_channels: int = 3, batch_norm: bool = False, dilation: bool = False
) -> nn.Sequential:
    """Convolutions of so many channels each, and pools."""
    d_rate = 2 if dilation else 1
    layers: list[nn.Module] = []
    for v in cfg:
        if isinstance(v, str):
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            continue
        conv2d = nn.Conv2d(in_channels, v, kernel_size=3, padding=d_rate, dilation=d_rate)
        layers += [conv2d, nn.BatchNorm2d(v), nn.ReLU(inplace=True)] if batch_norm else [conv2d, nn.ReLU(inplace=True)]
        in_channels = v
    return nn.Sequential(*layers)


class CSRNet(nn.Module):
    """The density of a crowd: the front of VGG-16 and dilated convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.frontend_feat: list[int | str] = [8, 8, "M", 16, 16, "M", 32, 32, 32, "M", 64, 64, 64]
        self.backend_feat: list[int | str] = [64, 64, 64, 32, 16, 8]
        self.frontend = make_layers(self.frontend_feat)
        self.backend = make_layers(self.backend_feat, in_channels=64, dilation=True)
        self.output_layer = nn.Conv2d(8, 1, kernel_size=1)
        self._initialize_weights()

    def _initialize_weights(self) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.normal_(m.weight, std=0.01)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """The density, in the size of the image."""
        x = self.frontend(x)
        x = self.backend(x)
        x = self.output_layer(x)
        return F.interpolate(x, scale_factor=8)


class CrowdCounter(nn.Module):
    """A net that counts, and its loss."""

    def __init__(self, model_name: str = "CSRNet", log_para: float = 100.0) -> None:
        super().__init__()
        self.CCN, self.loss_mse_fn, self.log_para = {"CSRNet": CSRNet}[model_name](), nn.MSELoss(), log_para
        self.loss_mse: Tensor | None = None

    @property
    def loss(self) -> Tensor | None:
        """The loss of the last images."""
        return self.loss_mse

    def forward(self, img: Tensor, gt_map: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The density, how many there are in each image, and the loss where the truth is given."""
        density_map = self.CCN(img)
        if gt_map is not None:
            self.loss_mse = self.build_loss(density_map.squeeze(), gt_map.squeeze())
        return density_map, density_map.sum(dim=(1, 2, 3)) / self.log_para, self.loss

    def build_loss(self, density_map: Tensor, gt_data: Tensor) -> Tensor:
        """The squared error."""
        return self.loss_mse_fn(density_map, gt_data * self.log_para)


class MaxPool3dSamePadding(nn.MaxPool3d):
    """A pool that pads as TensorFlow does."""

    def compute_pad(self, dim: int, s: int) -> int:
        """How much is padded along a dimension."""
        kernel, stride = self.kernel_size[dim], self.stride[dim]  # type: ignore[index]
        if s % stride == 0:
            return max(kernel - stride, 0)
        return max(kernel - (s % stride), 0)

    def forward(self, x: Tensor) -> Tensor:
        """The largest values."""
        _, _, t, h, w = x.size()
        pad_t, pad_h, pad_w = self.compute_pad(0, t), self.compute_pad(1, h), self.compute_pad(2, w)
        pad_t_f, pad_h_f, pad_w_f = pad_t // 2, pad_h // 2, pad_w // 2
        pad = (pad_w_f, pad_w - pad_w_f, pad_h_f, pad_h - pad_h_f, pad_t_f, pad_t - pad_t_f)
        x = F.pad(x, pad)
        return super().forward(x)


class Unit3D(nn.Module):
    """A convolution that pads as TensorFlow does, a norm and an activation."""

    def __init__(
        self, in_channels: int, output_channels: int, kernel_shape: tuple[int, int, int] = (1, 1, 1),
        stride: tuple[int, int, int] = (1, 1, 1), activation_fn: Callable[[Tensor], Tensor] | None = F.relu,
        use_batch_norm: bool = True, use_bias: bool = False, name: str = "unit_3d",
    ) -> None:  # fmt: skip
        super().__init__()
        self._kernel_shape, self._stride, self._use_batch_norm = kernel_shape, stride, use_batch_norm
        self._activation_fn, self.name = activation_fn, name
        # always pad with 0 here, the padding depends on the size of the input
        self.conv3d = nn.Conv3d(in_channels, output_channels, kernel_shape, stride=stride, padding=0, bias=use_bias)
        if self._use_batch_norm:
            self.bn = nn.BatchNorm3d(output_channels, eps=0.001, momentum=0.01)

    def compute_pad(self, dim: int, s: int) -> int:
        """How much is padded along a dimension."""
        if s % self._stride[dim] == 0:
            return max(self._kernel_shape[dim] - self._stride[dim], 0)
        return max(self._kernel_shape[dim] - (s % self._stride[dim]), 0)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        _, _, t, h, w = x.size()
        pad_t, pad_h, pad_w = self.compute_pad(0, t), self.compute_pad(1, h), self.compute_pad(2, w)
        pad_t_f, pad_h_f, pad_w_f = pad_t // 2, pad_h // 2, pad_w // 2
        pad = (pad_w_f, pad_w - pad_w_f, pad_h_f, pad_h - pad_h_f, pad_t_f, pad_t - pad_t_f)
        x = F.pad(x, pad)
        x = self.conv3d(x)
        if self._use_batch_norm:
            x = self.bn(x)
        if self._activation_fn is not None:
            x = self._activation_fn(x)
        return x


class InceptionModule(nn.Module):
    """Four branches side by side: one, three and three again, and a pool."""

    def __init__(self, in_channels: int, out_channels: Sequence[int], name: str) -> None:
        super().__init__()
        self.b0 = Unit3D(in_channels, out_channels[0], name=name + "/Branch_0/Conv3d_0a_1x1")
        self.b1a = Unit3D(in_channels, out_channels[1], name=name + "/Branch_1/Conv3d_0a_1x1")
        self.b1b = Unit3D(out_channels[1], out_channels[2], (3, 3, 3), name=name + "/Branch_1/Conv3d_0b_3x3")
        self.b2a = Unit3D(in_channels, out_channels[3], name=name + "/Branch_2/Conv3d_0a_1x1")
        self.b2b = Unit3D(out_channels[3], out_channels[4], (3, 3, 3), name=name + "/Branch_2/Conv3d_0b_3x3")
        self.b3a = MaxPool3dSamePadding(kernel_size=(3, 3, 3), stride=(1, 1, 1), padding=0)
        self.b3b = Unit3D(in_channels, out_channels[5], name=name + "/Branch_3/Conv3d_0b_1x1")
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        """The branches, joined."""
        b0 = self.b0(x)
        b1 = self.b1b(self.b1a(x))
        b2 = self.b2b(self.b2a(x))
        b3 = self.b3b(self.b3a(x))
        return torch.cat([b0, b1, b2, b3], dim=1)


class InceptionI3d(nn.Module):
    """Inception v1, inflated to videos."""

    VALID_ENDPOINTS = (
        *("Conv3d_1a_7x7", "MaxPool3d_2a_3x3", "Conv3d_2b_1x1", "Conv3d_2c_3x3", "MaxPool3d_3a_3x3", "Mixed_3b"),
        *("Mixed_3c", "MaxPool3d_4a_3x3", "Mixed_4b", "Mixed_4c", "Mixed_4d", "Mixed_4e", "Mixed_4f"),
        *("MaxPool3d_5a_2x2", "Mixed_5b", "Mixed_5c", "Logits", "Predictions"),
    )
    MIXED: ClassVar = OrderedDict(
        Mixed_3b=(24, (8, 12, 16, 2, 4, 4)),
        Mixed_3c=(32, (16, 16, 24, 4, 12, 8)),
        Mixed_4b=(60, (24, 12, 26, 2, 6, 8)),
        Mixed_4c=(64, (20, 14, 28, 3, 8, 8)),
        Mixed_4d=(64, (16, 16, 32, 3, 8, 8)),
        Mixed_4e=(64, (14, 18, 36, 4, 8, 8)),
        Mixed_4f=(66, (32, 20, 40, 4, 16, 16)),
        Mixed_5b=(104, (32, 20, 40, 4, 16, 16)),
        Mixed_5c=(104, (48, 24, 48, 6, 16, 16)),
    )
    POOLS: ClassVar[dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]]] = {
        "MaxPool3d_2a_3x3": ((1, 3, 3), (1, 2, 2)),
        "MaxPool3d_3a_3x3": ((1, 3, 3), (1, 2, 2)),
        "MaxPool3d_4a_3x3": ((3, 3, 3), (2, 2, 2)),
        "MaxPool3d_5a_2x2": ((2, 2, 2), (2, 2, 2)),
    }

    def __init__(
        self, num_classes: int = 20, spatial_squeeze: bool = True, final_endpoint: str = "Logits",
        name: str = "inception_i3d", in_channels: int = 3, dropout_keep_prob: float = 0.5,
    ) -> None:  # fmt: skip
        if final_endpoint not in self.VALID_ENDPOINTS:
            raise ValueError(f"Unknown final endpoint {final_endpoint}")
        super().__init__()
        self._spatial_squeeze, self._final_endpoint = spatial_squeeze, final_endpoint
        self.end_points: dict[str, nn.Module] = {
            "Conv3d_1a_7x7": Unit3D(in_channels, 8, (7, 7, 7), (2, 2, 2), name=name + "Conv3d_1a_7x7"),
            "Conv3d_2b_1x1": Unit3D(8, 8, (1, 1, 1), name=name + "Conv3d_2b_1x1"),
            "Conv3d_2c_3x3": Unit3D(8, 24, (3, 3, 3), name=name + "Conv3d_2c_3x3"),
        }
        for end_point, (kernel_size, stride) in self.POOLS.items():
            self.end_points[end_point] = MaxPool3dSamePadding(kernel_size=kernel_size, stride=stride, padding=0)
        for end_point, (channels, out_channels) in self.MIXED.items():
            self.end_points[end_point] = InceptionModule(channels, out_channels, name + end_point)
        self.avg_pool = nn.AvgPool3d(kernel_size=(2, 2, 2), stride=(1, 1, 1))
        self.dropout = nn.Dropout(dropout_keep_prob)
        self.logits = Unit3D(128, num_classes, activation_fn=None, use_batch_norm=False, use_bias=True, name="logits")
        self.build()

    def build(self) -> None:
        """The layers become part of the net."""
        for k in self.VALID_ENDPOINTS:
            if k in self.end_points:
                self.add_module(k, self.end_points[k])

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the actions, at each time."""
        for end_point in self.VALID_ENDPOINTS:
            if end_point in self.end_points:
                x = self._modules[end_point](x)  # type: ignore[misc]
        x = self.logits(self.dropout(self.avg_pool(x)))
        logits = x
        if self._spatial_squeeze:
            logits = x.squeeze(3).squeeze(3)
        return logits


VggOutputs = namedtuple("VggOutputs", ["fc7", "relu5_3", "relu4_3", "relu3_2", "relu2_2"])


class vgg16_bn(nn.Module):  # noqa: N801 - its name in the repository
    """Features of five depths of VGG-16, the last of dilated convolutions."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        w, features = width, list[nn.Module]()
        in_channels = 3
        for v in (w, w, 0, 2 * w, 2 * w, 0, 4 * w, 4 * w, 4 * w, 0, 8 * w, 8 * w, 8 * w, 0, 8 * w, 8 * w):
            if v == 0:
                features.append(nn.MaxPool2d(kernel_size=2, stride=2))
                continue
            features += [nn.Conv2d(in_channels, v, kernel_size=3, padding=1), nn.BatchNorm2d(v), nn.ReLU(inplace=True)]
            in_channels = v
        self.slice1, self.slice2, self.slice3, self.slice4 = (nn.Sequential() for _ in range(4))
        ends = (0, 12, 19, 29, 39)
        for i, piece in enumerate((self.slice1, self.slice2, self.slice3, self.slice4)):
            for x in range(ends[i], ends[i + 1]):
                piece.add_module(str(x), features[x])
        # fc6, fc7 without atrous conv
        self.slice5 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1),
            nn.Conv2d(8 * w, 16 * w, kernel_size=3, padding=6, dilation=6),
            nn.Conv2d(16 * w, 16 * w, kernel_size=1),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """The features, by name."""
        h = self.slice1(x)
        h_relu2_2 = h
        h = self.slice2(h)
        h_relu3_2 = h
        h = self.slice3(h)
        h_relu4_3 = h
        h = self.slice4(h)
        h_relu5_3 = h
        h = self.slice5(h)
        h_fc7 = h
        return VggOutputs(h_fc7, h_relu5_3, h_relu4_3, h_relu3_2, h_relu2_2)


class double_conv(nn.Module):  # noqa: N801 - its name in the repository
    """Two convolutions of joined features."""

    def __init__(self, in_ch: int, mid_ch: int, out_ch: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch + mid_ch, mid_ch, kernel_size=1),
            nn.BatchNorm2d(mid_ch),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_ch, out_ch, kernel_size=3, padding=1),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        return self.conv(x)


class CRAFT(nn.Module):
    """Where letters of a text are and where they are linked: VGG-16 and a way back up."""

    def __init__(self, w: int = 8) -> None:
        super().__init__()
        self.basenet = vgg16_bn(w)
        self.upconv1 = double_conv(16 * w, 8 * w, 4 * w)
        self.upconv2 = double_conv(8 * w, 4 * w, 2 * w)
        self.upconv3 = double_conv(4 * w, 2 * w, 2 * w)
        self.upconv4 = double_conv(2 * w, 2 * w, w)
        num_class = 2
        self.conv_cls = nn.Sequential(
            *(nn.Conv2d(w, w, kernel_size=3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(w, w, kernel_size=3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(w, w // 2, kernel_size=3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(w // 2, w // 2, kernel_size=1), nn.ReLU(inplace=True)),
            nn.Conv2d(w // 2, num_class, kernel_size=1),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both maps, and the features they come from."""
        sources = self.basenet(x)
        y = torch.cat([sources[0], sources[1]], dim=1)
        y = self.upconv1(y)
        y = F.interpolate(y, size=sources[2].size()[2:], mode="bilinear", align_corners=False)
        y = torch.cat([y, sources[2]], dim=1)
        y = self.upconv2(y)
        y = F.interpolate(y, size=sources[3].size()[2:], mode="bilinear", align_corners=False)
        y = torch.cat([y, sources[3]], dim=1)
        y = self.upconv3(y)
        y = F.interpolate(y, size=sources[4].size()[2:], mode="bilinear", align_corners=False)
        y = torch.cat([y, sources[4]], dim=1)
        feature = self.upconv4(y)
        y = self.conv_cls(feature)
        return y.permute(0, 2, 3, 1), feature


class LinkRefiner(nn.Module):
    """A better map of links, from both maps and the features."""

    aspp1: nn.Module
    aspp2: nn.Module
    aspp3: nn.Module
    aspp4: nn.Module

    def __init__(self, channels: int = 8, width: int = 16) -> None:
        super().__init__()
        in_channels, last_conv = channels + 2, list[nn.Module]()
        for _ in range(3):
            last_conv += [nn.Conv2d(in_channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            in_channels = width
        self.last_conv = nn.Sequential(*last_conv)
        for i, rate in enumerate((6, 12, 18, 24)):
            aspp = nn.Sequential(
                *(nn.Conv2d(width, 2 * width, 3, dilation=rate, padding=rate), nn.BatchNorm2d(2 * width), nn.ReLU()),
                *(nn.Conv2d(2 * width, 2 * width, 1), nn.BatchNorm2d(2 * width), nn.ReLU()),
                nn.Conv2d(2 * width, 1, 1),
            )
            self.add_module(f"aspp{i + 1}", aspp)

    def forward(self, y: Tensor, upconv4: Tensor) -> Tensor:
        """The map."""
        refine = torch.cat([y.permute(0, 3, 1, 2), upconv4], dim=1)
        refine = self.last_conv(refine)
        aspp1 = self.aspp1(refine)
        aspp2 = self.aspp2(refine)
        aspp3 = self.aspp3(refine)
        aspp4 = self.aspp4(refine)
        out = aspp1 + aspp2 + aspp3 + aspp4
        return out.permute(0, 2, 3, 1)


class TextDetector(nn.Module):
    """CRAFT, with or without a refiner of its links."""

    def __init__(self, refine: bool = True) -> None:
        super().__init__()
        self.net, self.refine_net = CRAFT(), LinkRefiner() if refine else None

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of letters and of links."""
        y, feature = self.net(image)
        score_text, score_link = y[..., 0], y[..., 1]
        if self.refine_net is not None:
            y_refiner = self.refine_net(y, feature)
            score_link = y_refiner[..., 0]
        return score_text, score_link


MODELS: dict[str, Callable[..., nn.Module]] = {}


def register_model(model_name: str) -> Callable[[Callable[..., nn.Module]], Callable[..., nn.Module]]:
    """A maker of models becomes known by a name."""

    def decorator(f: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        MODELS[model_name] = f
        return f

    return decorator


def get_model(model_name: str, model_opt: dict[str, Any]) -> nn.Module:
    """A model by name."""
    if model_name in MODELS:
        return MODELS[model_name](**model_opt)
    raise ValueError(f"Unknown model {model_name}")


class Flatten(nn.Module):
    """All numbers of each image in a row."""

    def forward(self, x: Tensor) -> Tensor:
        """The rows."""
        return x.view(x.size(0), -1)


def euclidean_dist(x: Tensor, y: Tensor) -> Tensor:
    """The squared distance of each of the one to each of the other."""
    n, m, d = x.size(0), y.size(0), x.size(1)
    assert d == y.size(1)
    x = x.unsqueeze(1).expand(n, m, d)
    y = y.unsqueeze(0).expand(n, m, d)
    return torch.pow(x - y, 2).sum(2)


class Protonet(nn.Module):
    """Classes that a few images show, each the mean of their vectors; others belong to the nearest."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, sample: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of an episode, and beside it how many are right."""
        xs, xq = sample["xs"], sample["xq"]  # support, query
        n_class = xs.size(0)
        assert xq.size(0) == n_class
        n_support, n_query = xs.size(1), xq.size(1)
        target_inds = torch.arange(0, n_class).view(n_class, 1, 1).expand(n_class, n_query, 1).long()
        x = torch.cat([xs.view(n_class * n_support, *xs.size()[2:]), xq.view(n_class * n_query, *xq.size()[2:])], 0)
        z = self.encoder.forward(x)
        z_dim = z.size(-1)
        z_proto = z[: n_class * n_support].view(n_class, n_support, z_dim).mean(1)
        zq = z[n_class * n_support :]
        dists = euclidean_dist(zq, z_proto)
        log_p_y = F.log_softmax(-dists, dim=1).view(n_class, n_query, -1)
        loss_val = -log_p_y.gather(2, target_inds).squeeze().view(-1).mean()
        _, y_hat = log_p_y.max(2)
        acc_val = torch.eq(y_hat, target_inds.squeeze()).float().mean()
        return loss_val, {"loss": loss_val, "acc": acc_val}


@register_model("protonet_conv")
def load_protonet_conv(**kwargs: Any) -> nn.Module:
    """Four blocks of a convolution and a pool."""
    x_dim, hid_dim, z_dim = kwargs["x_dim"], kwargs["hid_dim"], kwargs["z_dim"]

    def conv_block(in_channels: int, out_channels: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(), nn.MaxPool2d(2)
        )

    encoder = nn.Sequential(
        conv_block(x_dim[0], hid_dim),
        conv_block(hid_dim, hid_dim),
        conv_block(hid_dim, hid_dim),
        conv_block(hid_dim, z_dim),
        Flatten(),
    )
    return Protonet(encoder)


def _episode() -> dict[str, Tensor]:
    return {"xs": torch.rand(4, 2, 1, 28, 28), "xq": torch.rand(4, 3, 1, 28, 28)}


class AtrousBottleneck(nn.Module):
    """A residual block whose 3 × 3 convolution may be dilated, or strides without a pad."""

    expansion = 4

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None, dilation: int = 1
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False), nn.BatchNorm2d(planes)
        padding = 2 - stride
        if downsample is not None and dilation > 1:
            dilation = dilation // 2
            padding = dilation
        assert stride == 1 or dilation == 1, "stride and dilation must have one equals to zero at least"
        if dilation > 1:
            padding = dilation
        self.conv2 = nn.Conv2d(
            planes, planes, kernel_size=3, stride=stride, padding=padding, bias=False, dilation=dilation
        )
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * 4, kernel_size=1, bias=False)
        self.bn3, self.relu, self.downsample = nn.BatchNorm2d(planes * 4), nn.ReLU(inplace=True), downsample

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        return self.relu(out)


class AtrousResNet(nn.Module):
    """A residual net that keeps the size of its second depth, and gives those of its depths that are asked for."""

    def __init__(self, layers: Sequence[int], used_layers: Sequence[int], width: int = 8) -> None:
        super().__init__()
        self.inplanes, self.used_layers = width, used_layers
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=0, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(width, layers[0])
        self.layer2 = self._make_layer(width * 2, layers[1], stride=2)
        layer3, layer4 = 3 in used_layers, 4 in used_layers
        self.layer3 = self._make_layer(width * 4, layers[2], dilation=2) if layer3 else nn.Identity()
        self.layer4 = self._make_layer(width * 8, layers[3], dilation=4) if layer4 else nn.Identity()

    def _make_layer(self, planes: int, blocks: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
        downsample, dd = None, dilation
        if stride != 1 or self.inplanes != planes * 4:
            if stride == 1 and dilation == 1:
                conv = nn.Conv2d(self.inplanes, planes * 4, kernel_size=1, bias=False)
            else:
                dd, padding = (dilation // 2, dilation // 2) if dilation > 1 else (1, 0)
                conv = nn.Conv2d(
                    self.inplanes, planes * 4, kernel_size=3, stride=stride, bias=False, padding=padding, dilation=dd
                )
            downsample = nn.Sequential(conv, nn.BatchNorm2d(planes * 4))
        layers = [AtrousBottleneck(self.inplanes, planes, stride, downsample, dilation=dilation)]
        self.inplanes = planes * 4
        layers += [AtrousBottleneck(self.inplanes, planes, dilation=dilation) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor | list[Tensor]:
        """Features of the depths, or of the only one."""
        x = self.conv1(x)
        x = self.bn1(x)
        x_ = self.relu(x)
        x = self.maxpool(x_)
        p1 = self.layer1(x)
        p2 = self.layer2(p1)
        p3 = self.layer3(p2)
        p4 = self.layer4(p3)
        out = [x_, p1, p2, p3, p4]
        out = [out[i] for i in self.used_layers]
        return out[0] if len(out) == 1 else out


class AdjustLayer(nn.Module):
    """Features with fewer channels, of a template only its middle."""

    def __init__(self, in_channels: int, out_channels: int, center_size: int = 4) -> None:
        super().__init__()
        self.downsample = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False), nn.BatchNorm2d(out_channels)
        )
        self.center_size = center_size

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        x = self.downsample(x)
        if x.size(3) < 12:
            left = (x.size(3) - self.center_size) // 2
            right = left + self.center_size
            x = x[:, :, left:right, left:right]
        return x


class AdjustAllLayer(nn.Module):
    """The same of all depths."""

    def __init__(self, in_channels: Sequence[int], out_channels: Sequence[int], center_size: int = 4) -> None:
        super().__init__()
        self.num = len(out_channels)
        if self.num == 1:
            self.downsample = AdjustLayer(in_channels[0], out_channels[0], center_size)
        else:
            for i in range(self.num):
                self.add_module("downsample" + str(i + 2), AdjustLayer(in_channels[i], out_channels[i], center_size))

    def forward(self, features: Any) -> Any:
        """Features of each depth."""
        if self.num == 1:
            return self.downsample(features)
        out = []
        for i in range(self.num):
            adj_layer = getattr(self, "downsample" + str(i + 2))
            out.append(adj_layer(features[i]))
        return out


def xcorr_depthwise(x: Tensor, kernel: Tensor) -> Tensor:
    """A correlation of each channel with its own kernel, of each image its own."""
    batch, channel = kernel.size(0), kernel.size(1)
    x = x.view(1, batch * channel, x.size(2), x.size(3))
    kernel = kernel.view(batch * channel, 1, kernel.size(2), kernel.size(3))
    out = F.conv2d(x, kernel, groups=batch * channel)
    return out.view(batch, channel, out.size(2), out.size(3))


class DepthwiseXCorr(nn.Module):
    """Where the template is in the search region."""

    def __init__(self, in_channels: int, hidden: int, out_channels: int, kernel_size: int = 3) -> None:
        super().__init__()
        self.conv_kernel, self.conv_search = (
            nn.Sequential(
                nn.Conv2d(in_channels, hidden, kernel_size=kernel_size, bias=False),
                nn.BatchNorm2d(hidden),
                nn.ReLU(inplace=True),
            )
            for _ in range(2)
        )
        self.head = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel_size=1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU(inplace=True),
            nn.Conv2d(hidden, out_channels, kernel_size=1),
        )

    def forward(self, kernel: Tensor, search: Tensor) -> Tensor:
        """Numbers at each place."""
        kernel = self.conv_kernel(kernel)
        search = self.conv_search(search)
        feature = xcorr_depthwise(search, kernel)
        return self.head(feature)


class DepthwiseRPN(nn.Module):
    """Scores and boxes of anchors."""

    def __init__(self, anchor_num: int = 5, in_channels: int = 16, out_channels: int = 16) -> None:
        super().__init__()
        self.cls = DepthwiseXCorr(in_channels, out_channels, 2 * anchor_num)
        self.loc = DepthwiseXCorr(in_channels, out_channels, 4 * anchor_num)

    def forward(self, z_f: Tensor, x_f: Tensor) -> tuple[Tensor, Tensor]:
        """Both."""
        return self.cls(z_f, x_f), self.loc(z_f, x_f)


class MultiRPN(nn.Module):
    """Scores and boxes of all depths, averaged with learned weights."""

    def __init__(self, anchor_num: int, in_channels: Sequence[int], weighted: bool = False) -> None:
        super().__init__()
        self.weighted = weighted
        for i in range(len(in_channels)):
            self.add_module("rpn" + str(i + 2), DepthwiseRPN(anchor_num, in_channels[i], in_channels[i]))
        if self.weighted:
            self.cls_weight = nn.Parameter(torch.ones(len(in_channels)))
            self.loc_weight = nn.Parameter(torch.ones(len(in_channels)))

    def forward(self, z_fs: list[Tensor], x_fs: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Both."""
        cls, loc = [], []
        for idx, (z_f, x_f) in enumerate(zip(z_fs, x_fs, strict=True), start=2):
            rpn = getattr(self, "rpn" + str(idx))
            c, b = rpn(z_f, x_f)
            cls.append(c)
            loc.append(b)
        if self.weighted:
            cls_weight, loc_weight = F.softmax(self.cls_weight, 0), F.softmax(self.loc_weight, 0)

        def avg(lst: list[Tensor]) -> Tensor:
            return sum(lst[1:], lst[0]) / len(lst)

        def weighted_avg(lst: list[Tensor], weight: Tensor) -> Tensor:
            s: Tensor | float = 0
            for i in range(len(weight)):
                s = s + lst[i] * weight[i]
            assert isinstance(s, Tensor)
            return s

        if self.weighted:
            return weighted_avg(cls, cls_weight), weighted_avg(loc, loc_weight)
        return avg(cls), avg(loc)


def get_cls_loss(pred: Tensor, label: Tensor, select: Tensor) -> Tensor:
    """The loss of those that are chosen."""
    if len(select.size()) == 0 or select.size() == torch.Size([0]):
        return pred.new_zeros(())
    pred = torch.index_select(pred, 0, select)
    label = torch.index_select(label, 0, select)
    return F.nll_loss(pred, label)


def select_cross_entropy_loss(pred: Tensor, label: Tensor) -> Tensor:
    """The loss of scores, half of anchors on the target and half of the others."""
    pred, label = pred.view(-1, 2), label.view(-1)
    pos, neg = label.data.eq(1).nonzero().squeeze(), label.data.eq(0).nonzero().squeeze()
    return get_cls_loss(pred, label, pos) * 0.5 + get_cls_loss(pred, label, neg) * 0.5


def weight_l1_loss(pred_loc: Tensor, label_loc: Tensor, loss_weight: Tensor) -> Tensor:
    """The loss of boxes."""
    b, _, sh, sw = pred_loc.size()
    pred_loc = pred_loc.view(b, 4, -1, sh, sw)
    diff = (pred_loc - label_loc).abs()
    diff = diff.sum(dim=1).view(b, -1, sh, sw)
    return (diff * loss_weight).sum().div(b)


class SiamRPNModelBuilder(nn.Module):
    """A tracker: one backbone for what is tracked and where it is sought, and their losses."""

    def __init__(self, cfg: Namespace) -> None:
        super().__init__()
        self.cfg = cfg
        self.backbone = AtrousResNet(cfg.layers, cfg.used_layers)
        if cfg.adjust:
            self.neck = AdjustAllLayer(cfg.adjust_in, cfg.adjust_out)
        self.rpn_head = MultiRPN(cfg.anchor_num, cfg.adjust_out, cfg.weighted)

    def log_softmax(self, cls: Tensor) -> Tensor:
        """Scores of each anchor, the last axis being whether it is on the target."""
        b, a2, h, w = cls.size()
        cls = cls.view(b, 2, a2 // 2, h, w)
        cls = cls.permute(0, 2, 3, 4, 1).contiguous()
        return F.log_softmax(cls, dim=4)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        """The losses."""
        template, search = data["template"], data["search"]
        zf, xf = self.backbone(template), self.backbone(search)
        if self.cfg.adjust:
            zf, xf = self.neck(zf), self.neck(xf)
        cls, loc = self.rpn_head(zf, xf)
        cls = self.log_softmax(cls)
        cls_loss = select_cross_entropy_loss(cls, data["label_cls"])
        loc_loss = weight_l1_loss(loc, data["label_loc"], data["label_loc_weight"])
        outputs = {"total_loss": self.cfg.cls_weight * cls_loss + self.cfg.loc_weight * loc_loss}
        outputs["cls_loss"], outputs["loc_loss"] = cls_loss, loc_loss
        return outputs


SIAM_CFG = Namespace(
    **{"layers": (1, 2, 2, 1), "used_layers": (2, 3, 4), "adjust": True, "adjust_in": (64, 128, 256)},
    **{"adjust_out": (16, 16, 16), "anchor_num": 5, "weighted": True, "cls_weight": 1.0, "loc_weight": 1.2},
)


def _track() -> dict[str, Tensor]:
    side = 12
    return {
        **{"template": torch.rand(1, 3, 63, 63) * 255, "search": torch.rand(1, 3, 127, 127) * 255},
        **{"label_cls": torch.randint(-1, 2, (1, 5, side, side)), "label_loc": torch.randn(1, 4, 5, side, side)},
        "label_loc_weight": torch.rand(1, 5, side, side),
    }


def to_3d(x: Tensor) -> Tensor:
    """Pixels in a row, channels last."""
    b, c, h, w = x.shape
    return x.permute(0, 2, 3, 1).reshape(b, h * w, c)


def to_4d(x: Tensor, h: int, w: int) -> Tensor:
    """An image again."""
    return x.transpose(1, 2).reshape(x.shape[0], -1, h, w)


class BiasFree_LayerNorm(nn.Module):  # noqa: N801 - its name in the repository
    """A norm without a shift."""

    def __init__(self, normalized_shape: int) -> None:
        super().__init__()
        self.weight, self.normalized_shape = nn.Parameter(torch.ones(normalized_shape)), (normalized_shape,)

    def forward(self, x: Tensor) -> Tensor:
        """The normed features."""
        sigma = x.var(-1, keepdim=True, unbiased=False)
        return x / torch.sqrt(sigma + 1e-5) * self.weight


class WithBias_LayerNorm(nn.Module):  # noqa: N801 - its name in the repository
    """A norm."""

    def __init__(self, normalized_shape: int) -> None:
        super().__init__()
        self.weight, self.normalized_shape = nn.Parameter(torch.ones(normalized_shape)), (normalized_shape,)
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x: Tensor) -> Tensor:
        """The normed features."""
        mu = x.mean(-1, keepdim=True)
        sigma = x.var(-1, keepdim=True, unbiased=False)
        return (x - mu) / torch.sqrt(sigma + 1e-5) * self.weight + self.bias


class ImageLayerNorm(nn.Module):
    """A norm over the channels of an image, of one of both kinds."""

    def __init__(self, dim: int, layer_norm_type: str) -> None:
        super().__init__()
        self.body = BiasFree_LayerNorm(dim) if layer_norm_type == "BiasFree" else WithBias_LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        """The normed image."""
        h, w = x.shape[-2:]
        return to_4d(self.body(to_3d(x)), h, w)


class GatedFeedForward(nn.Module):
    """A feed-forward layer with depthwise convolutions, one half of which gates the other."""

    def __init__(self, dim: int, ffn_expansion_factor: float, bias: bool) -> None:
        super().__init__()
        hidden = int(dim * ffn_expansion_factor)
        self.project_in = nn.Conv2d(dim, hidden * 2, kernel_size=1, bias=bias)
        self.dwconv = nn.Conv2d(hidden * 2, hidden * 2, kernel_size=3, padding=1, groups=hidden * 2, bias=bias)
        self.project_out = nn.Conv2d(hidden, dim, kernel_size=1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = self.project_in(x)
        x1, x2 = self.dwconv(x).chunk(2, dim=1)
        x = F.gelu(x1) * x2
        return self.project_out(x)


class TransposedAttention(nn.Module):
    """Attention of channels to channels."""

    def __init__(self, dim: int, num_heads: int, bias: bool) -> None:
        super().__init__()
        self.num_heads, self.temperature = num_heads, nn.Parameter(torch.ones(num_heads, 1, 1))
        self.qkv = nn.Conv2d(dim, dim * 3, kernel_size=1, bias=bias)
        self.qkv_dwconv = nn.Conv2d(dim * 3, dim * 3, kernel_size=3, padding=1, groups=dim * 3, bias=bias)
        self.project_out = nn.Conv2d(dim, dim, kernel_size=1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        b, c, h, w = x.shape
        qkv = self.qkv_dwconv(self.qkv(x))
        q, k, v = (t.reshape(b, self.num_heads, c // self.num_heads, h * w) for t in qkv.chunk(3, dim=1))
        q = F.normalize(q, dim=-1)
        k = F.normalize(k, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        attn = attn.softmax(dim=-1)
        out = attn @ v
        out = out.reshape(b, c, h, w)
        return self.project_out(out)


class RestormerBlock(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside what came in."""

    def __init__(self, dim: int, num_heads: int, ffn_expansion_factor: float, bias: bool, layer_norm_type: str) -> None:
        super().__init__()
        self.norm1, self.attn = ImageLayerNorm(dim, layer_norm_type), TransposedAttention(dim, num_heads, bias)
        self.norm2 = ImageLayerNorm(dim, layer_norm_type)
        self.ffn = GatedFeedForward(dim, ffn_expansion_factor, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class OverlapPatchEmbed(nn.Module):
    """First features of an image."""

    def __init__(self, in_c: int = 3, embed_dim: int = 8, bias: bool = False) -> None:
        super().__init__()
        self.proj = nn.Conv2d(in_c, embed_dim, kernel_size=3, stride=1, padding=1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        return self.proj(x)


class Resample(nn.Module):
    """An image of half or of twice the size, by pixels that become channels or the other way round."""

    def __init__(self, n_feat: int, up: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_feat, n_feat * 2 if up else n_feat // 2, kernel_size=3, padding=1, bias=False),
            nn.PixelShuffle(2) if up else nn.PixelUnshuffle(2),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The image."""
        return self.body(x)


class Restormer(nn.Module):
    """A sharp image from a blurred one, or from both halves of its pixels."""

    def __init__(
        self, inp_channels: int = 3, out_channels: int = 3, dim: int = 8, num_blocks: Sequence[int] = (1, 2, 2, 2),
        num_refinement_blocks: int = 2, heads: Sequence[int] = (1, 2, 4, 8), ffn_expansion_factor: float = 2.66,
        bias: bool = False, layer_norm_type: str = "WithBias", dual_pixel_task: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()

        def blocks(level: int, scale: int, number: int) -> nn.Sequential:
            args = (dim * scale, heads[level], ffn_expansion_factor, bias, layer_norm_type)
            return nn.Sequential(*[RestormerBlock(*args) for _ in range(number)])

        self.patch_embed = OverlapPatchEmbed(inp_channels, dim)
        self.encoder_level1 = blocks(0, 1, num_blocks[0])
        self.down1_2 = Resample(dim, up=False)
        self.encoder_level2 = blocks(1, 2, num_blocks[1])
        self.down2_3 = Resample(dim * 2, up=False)
        self.encoder_level3 = blocks(2, 4, num_blocks[2])
        self.down3_4 = Resample(dim * 4, up=False)
        self.latent = blocks(3, 8, num_blocks[3])
        self.up4_3 = Resample(dim * 8, up=True)
        self.reduce_chan_level3 = nn.Conv2d(dim * 8, dim * 4, kernel_size=1, bias=bias)
        self.decoder_level3 = blocks(2, 4, num_blocks[2])
        self.up3_2 = Resample(dim * 4, up=True)
        self.reduce_chan_level2 = nn.Conv2d(dim * 4, dim * 2, kernel_size=1, bias=bias)
        self.decoder_level2 = blocks(1, 2, num_blocks[1])
        self.up2_1 = Resample(dim * 2, up=True)  # from level 2 to level 1, without a 1 × 1 convolution
        self.decoder_level1 = blocks(0, 2, num_blocks[0])
        self.refinement = blocks(0, 2, num_refinement_blocks)
        self.dual_pixel_task = dual_pixel_task
        if self.dual_pixel_task:
            self.skip_conv = nn.Conv2d(dim, dim * 2, kernel_size=1, bias=bias)
        self.output = nn.Conv2d(dim * 2, out_channels, kernel_size=3, padding=1, bias=bias)

    def forward(self, inp_img: Tensor) -> Tensor:
        """The image."""
        inp_enc_level1 = self.patch_embed(inp_img)
        out_enc_level1 = self.encoder_level1(inp_enc_level1)
        inp_enc_level2 = self.down1_2(out_enc_level1)
        out_enc_level2 = self.encoder_level2(inp_enc_level2)
        inp_enc_level3 = self.down2_3(out_enc_level2)
        out_enc_level3 = self.encoder_level3(inp_enc_level3)
        inp_enc_level4 = self.down3_4(out_enc_level3)
        latent = self.latent(inp_enc_level4)
        inp_dec_level3 = self.up4_3(latent)
        inp_dec_level3 = torch.cat([inp_dec_level3, out_enc_level3], 1)
        inp_dec_level3 = self.reduce_chan_level3(inp_dec_level3)
        out_dec_level3 = self.decoder_level3(inp_dec_level3)
        inp_dec_level2 = self.up3_2(out_dec_level3)
        inp_dec_level2 = torch.cat([inp_dec_level2, out_enc_level2], 1)
        inp_dec_level2 = self.reduce_chan_level2(inp_dec_level2)
        out_dec_level2 = self.decoder_level2(inp_dec_level2)
        inp_dec_level1 = self.up2_1(out_dec_level2)
        inp_dec_level1 = torch.cat([inp_dec_level1, out_enc_level1], 1)
        out_dec_level1 = self.decoder_level1(inp_dec_level1)
        out_dec_level1 = self.refinement(out_dec_level1)
        if self.dual_pixel_task:
            out_dec_level1 = out_dec_level1 + self.skip_conv(inp_enc_level1)
            return self.output(out_dec_level1)
        return self.output(out_dec_level1) + inp_img


def _moco() -> nn.Module:
    return MoCo(ResNetEncoder, dim=32, K=64, m=0.999, T=0.2, mlp=True)


def _protonet() -> nn.Module:
    return get_model("protonet_conv", {"x_dim": (1, 28, 28), "hid_dim": 16, "z_dim": 16})


def _restormer() -> nn.Module:
    return Restormer(inp_channels=6, dual_pixel_task=True)


NETS = [
    Entry("own/cyclegan", lambda: CycleGANModel(CYCLE_OPT), given(numbers(1, 3, 32, 32), numbers(1, 3, 32, 32))),
    Entry("own/moco", _moco, given(numbers(4, 3, 32, 32), numbers(4, 3, 32, 32))),
    Entry("own/csrnet", CrowdCounter, given(numbers(2, 3, 48, 64), numbers(2, 48, 64))),
    Entry("own/i3d", InceptionI3d, given(numbers(1, 3, 24, 64, 64))),
    Entry("own/craft", TextDetector, given(numbers(1, 3, 64, 96))),
    Entry("own/prototypical_network", _protonet, given(_episode)),
    Entry("own/siamrpn", lambda: SiamRPNModelBuilder(SIAM_CFG), given(_track)),
    Entry("own/restormer", _restormer, given(numbers(1, 6, 32, 48))),
]
