"""Operators that a torchvision built for CUDA does not bring along beside a torch built for the CPU."""

from __future__ import annotations

import importlib.util
from typing import Any

import torch
from torch import Tensor

_kept: list[Any] = []
"""The library that defines them lives as long as this."""


def define_missing_operators() -> None:
    """Let such a torchvision be imported, with a slow `nms`. Nothing happens where nothing is missing."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        _ = torch.ops.torchvision.nms
    except (AttributeError, RuntimeError):
        library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.impl("nms", _nms, "CPU")
        _kept.append(library)


def _nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    waiting = scores.argsort(descending=True)
    kept = []
    while waiting.numel():
        best, rest = waiting[0], waiting[1:]
        kept.append(best)
        corner = torch.maximum(boxes[best, :2], boxes[rest, :2])
        common = (torch.minimum(boxes[best, 2:], boxes[rest, 2:]) - corner).clamp(min=0).prod(1)
        waiting = rest[common / (areas[best] + areas[rest] - common) <= threshold]
    return torch.stack(kept) if kept else torch.empty(0, dtype=torch.long)
