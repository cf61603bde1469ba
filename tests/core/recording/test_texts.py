"""Each text of exceptions that guessing knows, raised by torch or Python, or as a library or a model writes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from torchrecorder.recording.blame import TEXTS, all_said, says

X = torch.ones
N = torch.ones(2, 3, dtype=torch.int64)
NOTHING: dict[str, Any] = {}
NONE: Any = None
Raises = Callable[[], Any]


def raised(call: Raises | str) -> str:
    """The exception as `Type: message`; a text is what a library or a model writes."""
    if isinstance(call, str):
        return call
    with pytest.raises(Exception) as caught:  # noqa: PT011 - it is what is looked at
        call()
    return f"{type(caught.value).__name__}: {caught.value}".partition("\n")[0]


def fake(call: Raises) -> Raises:
    def in_mode() -> Any:
        with FakeTensorMode(allow_non_fake_inputs=True):
            return call()

    return in_mode


def unpacked(sizes: list[int]) -> Any:
    first, second = sizes
    return first, second


LINEAR: Raises = lambda: nn.Linear(3, 2)(N)  # noqa: E731
CONV: Raises = lambda: nn.Conv2d(3, 2, 1)(X(1, 4, 5, 5))  # noqa: E731
ROW: Raises = lambda: X(6).view(-1, 4)  # noqa: E731
BESIDE: Raises = lambda: torch.cat([X(2, 3), X(3, 2)])  # noqa: E731
SUM: Raises = lambda: X(2, 3) + X(2, 2)  # noqa: E731
KERNEL: Raises = lambda: nn.Conv2d(3, 2, 9)(X(1, 3, 4, 4))  # noqa: E731
BATCHED: Raises = lambda: nn.Conv2d(3, 2, 1)(X(2, 3))  # noqa: E731
HALVED = "ValueError: height and width have to be divisible by 8 but are 30 and 30."

RAISED: dict[str, list[Raises | str]] = {
    "wants integers": [
        lambda: functional.embedding(X(2), X(3, 3)),
        lambda: X(3)[X(2)],
        "RuntimeError: expected target dtype to be Long or Byte, but got Int",  # cross entropy; 2.8 says it otherwise
        lambda: X(2, 3).index_fill(1, X(2), 0),
    ],
    "wants numbers": [
        lambda: nn.BatchNorm1d(3)(N),
        LINEAR,
        lambda: torch.bmm(X(1, 2, 3), X(1, 3, 2).long()),
        lambda: N.mean(),
        lambda: nn.Conv1d(3, 2, 1)(N[None].mT),
        lambda: torch.softmax(N.int(), 1),
        lambda: functional.one_hot(X(2), 3),
        lambda: functional.dropout(N, 0.5),
    ],
    "integer": ["TypeError: `ids` has to be a tensor of integers"],
    "beyond": [lambda: functional.embedding(N * 9, X(3, 3)), lambda: X(3)[N * 9]],
    "wants booleans": [lambda: X(3).masked_fill(X(3), 0)],
    "has booleans": [lambda: torch.bincount(N[0].bool()), "TypeError: mask is bool"],
    "counts": [lambda: torch.bincount(X(2))],
    "dtypes differ": [LINEAR],
    "row of a table": [lambda: functional.embedding(N * 9, X(3, 3))],
    "names axes": ["ValueError: `hidden` has to be of shape (batch, frames, 3)"],
    "unpacks": [lambda: unpacked([1, 2, 3]), lambda: unpacked([1])],
    "permutes": [lambda: X(2, 3).permute(0, 1, 2)],
    "one of two": [lambda: nn.AdaptiveAvgPool2d(2)(X(2, 3))],
    "wants axes": [BATCHED],
    "must have axes": [
        lambda: X(2, 3).permute(0, 1, 2),
        fake(lambda: torch.bmm(X(2, 3), X(2, 3))),
        lambda: functional.conv1d(X(1, 3, 5), X(2, 3, 2, 2)),
        "TypeError: Shape dimension mismatch: expected 4 dimensions, got 2.",
    ],
    "batched": [BATCHED],
    "lacks an axis": [lambda: X(2).size(5), lambda: X(2, 3)[0, 0, 0], lambda: X(2).shape[4]],
    "has no axis": [lambda: len(torch.tensor(1.0))],
    "no such axis": [lambda: X(2, 3).expand(-1, -1, -1)],
    "two beside three": [lambda: torch.cat([X(2, 3), X(2, 3, 2)], 1), BESIDE],
    "axes differ": [
        lambda: torch.cat([X(2, 3), X(2, 3, 2)], 1),
        fake(lambda: torch.cat([X(2, 3), X(2, 3, 2)])),
    ],
    "one axis": [lambda: unpacked([1]), lambda: X(2)[N.bool()]],
    "wants a size": [
        lambda: X(2, 3) @ X(2, 3),
        fake(lambda: X(2, 3) @ X(2, 3)),
        CONV,
        lambda: nn.LSTM(3, 2)(X(2, 2, 5)),
        lambda: nn.LayerNorm(3)(X(2, 4)),
        lambda: nn.LSTM(3, 2)(X(2, 3, 3), (X(1, 9, 2), X(1, 9, 2))),
    ],
    "names an axis": ["TypeError: Shape mismatch at dimension 1: expected 3, got 4."],
    "sizes differ": [SUM, BESIDE],
    "does not broadcast": [fake(SUM)],
    "must match": [SUM, BESIDE],
    "match": [SUM],
    "does not fit a row": [ROW],
    "resizes": [lambda: functional.interpolate(X(1, 2, 3), size=[4, 4])],
    "names channels": ["ValueError: Number of audio channels must be 2, but got 1"],
    "says sides": [
        "AssertionError: Input height (32) and width (32) don't match those of the model",
        "ValueError: Input image size (32*32) doesn't match model (224*224).",
    ],
    "numbers": ["ValueError: expected 3 columns, got 4"],
    "names attributes": ["ValueError: `hidden_size` is wrong", "ValueError: dim is wrong", "ValueError: channels"],
    "small": [
        lambda: nn.MaxPool2d(9)(X(1, 2, 3, 3)),
        KERNEL,
        lambda: torch.linalg.cholesky(X(2)),
        lambda: nn.InstanceNorm1d(3).train()(X(1, 3, 1)),
        lambda: functional.one_hot(N * 5, 3),
        lambda: functional.pad(X(1, 2, 3), (4, 4), mode="reflect"),
        "RuntimeError: maximum size for tensor at dimension 0 is 2 but size is larger than it",
        lambda: nn.MaxPool2d(2)(X(2, 3)),
    ],
    "film": [lambda: torch.unflatten(X(2, 7), 1, (2, 4)), ROW, KERNEL, HALVED],
    "sides": [HALVED, "ValueError: not a multiple of 32", SUM, BESIDE, ROW],
    "divides": [HALVED, "ValueError: not a multiple of 32"],
    "wants two examples": ["ValueError: it needs at least two samples"],
    "left out": [
        lambda: functional.embedding_bag(X(2), X(3, 3)),
        "UnboundLocalError: cannot access local variable 'places' where it is not associated with a value",
        "ValueError: You must give `places`",
        "ValueError: places are required",
        "TypeError: Net.forward() missing 1 argument: 'places'",
        "ValueError: You have to specify either input_ids or inputs_embeds",
        "ValueError: places were not provided",
        lambda: nn.MultiheadAttention(4, 1)(X(1, 2, 4), X(1, 2, 4), X(1, 2, 5)),
        lambda: NOTHING["pixels"],
        "ValueError: both of them are wanted",
        "TypeError: forward expected at least 2 arguments, got 1",
    ],
    "key": [lambda: NOTHING["pixels"]],
    "quotes": ["KeyError: 'pixels'", "ValueError: `pixels` are not there"],
    "asks for names": [
        lambda: "a" in X(2),
        lambda: cast(Any, X(2)).keys(),
        "TypeError: new(): data must be a sequence (got str)",
    ],
    "mapping": [lambda: dict(**NONE)],
    "list ends": [lambda: [1][3]],
    "one part": [lambda: X(3)[N * 9], BATCHED, CONV],
    "counts placeholders": [
        "ValueError: Image features and image tokens do not match, tokens: 8, features: 4",
        "ValueError: Placeholder tokens (8) and features (4) do not match for token id 7",
    ],
    "lists choices": ["ValueError: `scale` has to be one of [2, 4]"],
    "lists words": ["ValueError: mode must be either 'default' or 'GDL'", "ValueError: 'x' is not in ['a', 'b']"],
    "shapes do not say": [
        fake(lambda: torch.nonzero(X(2))),
        fake(lambda: X(2).sum().item()),
        "UnsupportedOperatorException: library.op.default",
        fake(lambda: X(2).numpy()),
    ],
    "not the inputs": [
        "ImportError: this needs another package",
        "ModuleNotFoundError: No module named 'other'",
        "RuntimeError: Expected inputs of BF16 type",
    ],
}


def test_every_row_has_its_texts() -> None:
    assert RAISED.keys() == TEXTS.keys()


@pytest.mark.parametrize("name", RAISED)
def test_a_row_is_what_is_raised(name: str) -> None:
    causes = [raised(call) for call in RAISED[name]]
    assert [cause for cause in causes if not says(name, cause)] == []
    by, *patterns = TEXTS[name]
    assert by
    assert [pattern for pattern in patterns if not any(re.search(pattern, cause) for cause in causes)] == []


def test_what_else_is_said_is_no_row() -> None:
    assert not says("wants axes", raised(SUM))
    assert not says("left out", "RuntimeError: mat1 and mat2 must have the same dtype")
    assert all_said("quotes", "KeyError: 'a' `b` 'a'") == ["a", "b"]
    assert all_said("numbers", "Conv2d wants 3 and 4, not 3x") == ["3", "4"]
