"""Models of timm, whose `default_cfg` has the size of their images, as that of resnet50d has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import nn

from tests.core.recording.test_guesses import guess


def test_a_timm_model_has_a_default_size() -> None:
    class FromTimm(nn.Sequential):
        default_cfg: dict[str, Any]

    FromTimm.__module__ = "timm.models.some"
    model = FromTimm(nn.Conv2d(3, 4, 3))
    model.__dict__["default_cfg"] = {"input_size": (3, 40, 48)}
    assert guess(model).guessed == "1,3,40,48, from the default_cfg of FromTimm"


def test_the_patch_embedding_of_a_vit_has_the_size_that_was_asked_for() -> None:
    class Vit(nn.Sequential):
        pretrained_cfg: Any
        patch_embed: Any

    Vit.__module__ = "timm.models.vision_transformer"
    model = Vit(nn.Conv2d(1, 4, 3))
    model.__dict__ |= {
        "pretrained_cfg": SimpleNamespace(input_size=(1, 40, 48)),
        "patch_embed": SimpleNamespace(img_size=(20, 24)),
    }
    assert guess(model).guessed == "1,1,20,24, from the patch embedding"
