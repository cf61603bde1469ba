"""Forwards annotated with jaxtyping."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.core.recording.test_guesses import guess


class Annotation:
    """What jaxtyping makes of `Float[Tensor, "batch 3 time"]`."""

    def __init__(self, dim_str: str, *dtypes: str) -> None:
        self.dim_str = dim_str
        self.dtypes = dtypes


def test_annotations_tell_shapes_and_types() -> None:
    class Annotated(nn.Module):
        def forward(self, x: Any, ids: Any) -> Any:
            return x.sum(-1) + ids.sum(-1)

    Annotated.forward.__annotations__ = {
        "x": Annotation("*rest batch 3 width=8", "float16", "float32"),
        "ids": Annotation("batch 3 time", "int32", "int64"),
    }
    found = guess(Annotated())
    assert {name: (t.shape, t.dtype) for name, t in found.kwargs.items()} == {
        "x": ((1, 3, 8), torch.float32),
        "ids": ((1, 3, 16), torch.int64),
    }
    assert found.guessed == "x=1,3,8; ids=int64[1,3,16]<2, from the annotations of its forward"
