"""Models of libraries for pictures."""

from __future__ import annotations

import importlib
import operator
import sys
from typing import Any

import torch
from torch import nn

from tests.corpus.entry import Entry, given, numbers

_SMALL = given(numbers(1, 3, 64, 64))
_TINY = given(numbers(1, 3, 32, 32))
_FULL = given(numbers(1, 3, 224, 224))
_DETECTION = {
    "weights_backbone": None, "min_size": 64, "max_size": 64, "rpn_pre_nms_top_n_test": 40,
    "rpn_post_nms_top_n_test": 8, "box_detections_per_img": 4, "num_classes": 5,
}  # fmt: skip


def by_name(module: str, function: str, /, **options: Any) -> Any:
    def build() -> nn.Module:
        found: nn.Module = getattr(importlib.import_module(module), function)(**options)
        return found

    return build


def _torchvision(name: str, **options: Any) -> Any:
    def build() -> nn.Module:
        models = importlib.import_module("torchvision.models")
        boxes = importlib.import_module("torchvision.ops.boxes")
        align: Any = sys.modules["torchvision.ops.roi_align"]
        boxes._assert_has_ops = lambda: None  # type: ignore[attr-defined]
        align._roi_align = getattr(align._roi_align, "__wrapped__", align._roi_align)  # written in torch, uncompiled
        found: nn.Module = operator.attrgetter(name)(models)(weights=None, **options)
        return found

    return build


def _timm(name: str, **options: Any) -> Any:
    return by_name("timm", "create_model", model_name=name, pretrained=False, **options)


def _sam() -> nn.Module:
    module = importlib.import_module("segment_anything.modeling")
    found: nn.Module = module.ImageEncoderViT(
        img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=2, out_chans=16, use_rel_pos=True,
        window_size=2, global_attn_indexes=(1,),
    )  # fmt: skip
    return found


def _efficientnet() -> nn.Module:
    found: nn.Module = importlib.import_module("efficientnet_pytorch").EfficientNet.from_name("efficientnet-b0")
    return found


_VIT = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 32}
_SMP = {"encoder_name": "resnet18", "encoder_weights": None}
_PCV = "pytorchcv.model_provider"

ENTRIES = [
    Entry("tv_alexnet", _torchvision("alexnet"), _SMALL),
    Entry("tv_resnet18", _torchvision("resnet18"), _SMALL),
    Entry("tv_densenet121", _torchvision("densenet121"), _SMALL),
    Entry("tv_googlenet", _torchvision("googlenet", init_weights=False, aux_logits=True), _SMALL),
    Entry("tv_mobilenet_v3", _torchvision("mobilenet_v3_small"), _SMALL),
    Entry("tv_shufflenet", _torchvision("shufflenet_v2_x0_5"), _SMALL),
    Entry("tv_convnext_tiny", _torchvision("convnext_tiny"), _SMALL),
    Entry("tv_swin_v2_t", _torchvision("swin_v2_t"), _SMALL),
    Entry("tv_fcn", _torchvision("segmentation.fcn_resnet50", weights_backbone=None), _SMALL),
    Entry("tv_r3d", _torchvision("video.r3d_18"), given(numbers(1, 3, 4, 32, 32))),
    Entry(
        "tv_fasterrcnn",
        _torchvision("detection.fasterrcnn_mobilenet_v3_large_320_fpn", **_DETECTION),
        given(lambda: [torch.randn(3, 64, 64)]),
        same_inputs=True,
    ),
    Entry("timm_vit_tiny", _timm("vit_tiny_patch16_224", depth=3), _FULL),
    Entry("timm_mixer", _timm("mixer_s32_224"), _FULL),
    Entry("timm_levit", _timm("levit_128s"), _FULL),
    Entry("timm_hrnet", _timm("hrnet_w18_small"), _SMALL),
    Entry("timm_res2net", _timm("res2net50_26w_4s"), _SMALL),
    Entry("timm_feat_pyramid", _timm("resnet18", features_only=True), _SMALL),
    Entry("pcv_seresnet", by_name(_PCV, "get_model", name="seresnet10", pretrained=False), _FULL),
    Entry("pcv_dla", by_name(_PCV, "get_model", name="dla34", pretrained=False), _FULL),
    Entry("pcv_peleenet", by_name(_PCV, "get_model", name="peleenet", pretrained=False), _FULL),
    Entry("smp_unet", by_name("segmentation_models_pytorch", "Unet", **_SMP), _SMALL),
    Entry("smp_manet", by_name("segmentation_models_pytorch", "MAnet", **_SMP), _SMALL),
    Entry("vp_vit", by_name("vit_pytorch", "ViT", **_VIT), _TINY),
    Entry("vp_simplevit", by_name("vit_pytorch", "SimpleViT", **_VIT), _TINY),
    Entry("effnet_lukemelas", _efficientnet, _SMALL),
    Entry("kornia_hardnet", by_name("kornia.feature", "HardNet", pretrained=False), given(numbers(2, 1, 32, 32))),
    Entry("segment_anything_enc", _sam, _SMALL),
]
