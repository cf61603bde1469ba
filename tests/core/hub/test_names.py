"""Names of models in a library: each is short for a call of the function that knows them."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from torch import nn

from torchrecorder.recording.target import load_model


@pytest.mark.parametrize(("library", "builder"), [("timm", "timm.create_model"), ("torchvision", "models.get_model")])
def test_a_name_is_given_to_the_builder_of_its_library(
    library: str, builder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def build(name: str, **more: object) -> nn.Module:
        asked.append((name, more))
        return nn.Linear(2, 3)

    package, models = ModuleType(library), ModuleType(f"{library}.models")
    monkeypatch.setitem(sys.modules, library, package)
    monkeypatch.setitem(sys.modules, f"{library}.models", models)
    vars(package)["models"] = models
    vars(models if "models" in builder else package)[builder.rpartition(".")[2]] = build
    assert isinstance(load_model(f"{library}:tiny", 0), nn.Linear)
    load_model(f"{library}:tiny_9(num_classes=3)", 0)
    assert asked == [("tiny", {}), ("tiny_9", {"num_classes": 3})]
