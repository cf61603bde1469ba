"""Libraries for pictures: torchvision, timm, segmentation_models_pytorch, kornia."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from torch import nn

from bench.zoo.entry import Entry, classes, filled, small_or_meta


def torchvision() -> Iterator[Entry]:
    """Every builder of torchvision."""
    models = importlib.import_module("torchvision.models")
    boxes = importlib.import_module("torchvision.ops.boxes")
    align: Any = sys.modules["torchvision.ops.roi_align"]
    boxes._assert_has_ops = lambda: None  # type: ignore[attr-defined]
    align._roi_align = getattr(align._roi_align, "__wrapped__", align._roi_align)  # written in torch, uncompiled
    for name in models.list_models():
        builder = models.get_model_builder(name)
        known = inspect.signature(builder).parameters
        given: dict[str, Any] = {"weights": None}
        given |= {"weights_backbone": None} if "weights_backbone" in known else {}
        given |= {"init_weights": False} if name in ("googlenet", "inception_v3") else {}  # takes half a minute
        yield Entry(f"torchvision/{name}", partial(builder, **given))


def timm() -> Iterator[Entry]:
    """The first model of each family, and one in three of the others."""
    library = importlib.import_module("timm")
    chosen: set[str] = set()
    for family in library.list_modules():
        members = library.list_models(module=family)
        chosen.update(members[:2])
        chosen.update(members[::3])
    for name in sorted(chosen):
        build = partial(library.create_model, name, pretrained=False)
        yield Entry(f"timm/{name}", partial(small_or_meta, build))


def segmentation_models_pytorch() -> Iterator[Entry]:
    """Each decoder with three encoders, and the U-Net with all."""
    library = importlib.import_module("segmentation_models_pytorch")
    for name, cls in classes(library).items():
        for encoder in ("resnet18", "mobilenet_v2", "efficientnet-b0", "mit_b0"):
            build = partial(cls, encoder_name=encoder, encoder_weights=None)
            yield Entry(f"segmentation_models_pytorch/{name}.{encoder}", partial(small_or_meta, build))
    for encoder in library.encoders.get_encoder_names():
        build = partial(library.Unet, encoder_name=encoder, encoder_weights=None)
        yield Entry(f"segmentation_models_pytorch/Unet+{encoder}", partial(small_or_meta, build))


_KORNIA = {
    "kernel_size": (3, 3), "sigma": (1.5, 1.5), "angle": 10.0, "direction": 0.5, "brightness_factor": 0.3,
    "factor": 0.5, "contrast_factor": 0.5, "gamma": 1.2, "gain": 1.0, "hue_factor": 0.2, "saturation_factor": 1.2,
    "num_features": 32, "size": (32, 32), "sigma_color": 0.1, "sigma_space": (1.5, 1.5), "d": 3, "radius": 2,
    "eps": 0.01, "image_size": 32, "patch_size": 8, "in_channels": 3, "embed_dim": 32, "num_classes": 5,
    "crop_size": (16, 16), "alpha": 0.5, "beta": 0.5, "mean": 0.5, "std": 0.5, "num_bins": 8, "group": 4,
    "height": 32, "width": 32, "in_features": 16, "hidden_features": 8, "alpha_val": 0.5, "k": 0.04, "thresh": 0.5,
    "window_size": (8, 8), "original_size": (32, 32), "lower": (0.1,) * 3, "upper": (0.9,) * 3, "num_in_ch": 3,
    "num_out_ch": 3, "num_feat": 8, "num_block": 2,
}  # fmt: skip


def kornia() -> Iterator[Entry]:
    """Detectors, descriptors and backbones, and the filters and colour spaces, which have no weights."""
    importlib.import_module("kornia")
    seen: set[type] = set()
    for room in ("feature", "contrib", "filters", "color", "enhance", "models"):
        try:
            module = importlib.import_module(f"kornia.{room}")
        except ImportError:
            continue
        for name, cls in classes(module).items():
            if cls not in seen and cls.__module__.startswith("kornia") and not inspect.isabstract(cls):
                seen.add(cls)
                given = (
                    {"pretrained": None if name == "LoFTR" else False}
                    if "pretrained" in inspect.signature(cls).parameters
                    else {}
                )
                yield Entry(f"kornia/{room}.{name}", partial(_kornia, cls, given))


def _kornia(cls: type[nn.Module], given: dict[str, Any]) -> nn.Module:
    parameters = inspect.signature(cls).parameters
    if "include_fit" in parameters:
        given["include_fit"] = True
    if "kernel_size" in parameters and parameters["kernel_size"].annotation in (int, "int"):
        given["kernel_size"] = 3
    return filled(cls, _KORNIA, **given)
