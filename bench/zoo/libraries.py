"""The libraries of the zoo, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.zoo import pictures, science, sound, words
from bench.zoo.entry import Entry

LIBRARIES: dict[str, Callable[[], Iterator[Entry]]] = {
    "torchvision": pictures.torchvision,
    "timm": pictures.timm,
    "segmentation_models_pytorch": pictures.segmentation_models_pytorch,
    "kornia": pictures.kornia,
    "transformers": words.transformers,
    "x_transformers": words.x_transformers,
    "diffusers": science.diffusers,
    "torch_geometric": science.torch_geometric,
    "monai": science.monai,
    "torchaudio": sound.torchaudio,
    "speechbrain": sound.speechbrain,
}
