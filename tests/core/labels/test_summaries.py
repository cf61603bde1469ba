"""What a layer says of itself, in the words of papers."""

from __future__ import annotations

import pytest

from torchrecorder.labels.summaries import summary
from torchrecorder.view import Span
from torchrecorder.view.settings import read

CASES = [
    ("Conv2d", "8, 16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False", "Conv2d 3×3 /2 · 8→16"),
    ("Conv2d", "8, 16, kernel_size=(3, 1), stride=(1, 1)", "Conv2d 3×1 · 8→16"),
    ("Conv2d", "8, 16, kernel_size=(3, 3), stride=(2, 1)", "Conv2d 3×3 /2×1 · 8→16"),
    ("Conv2d", "32, 32, kernel_size=(7, 7), stride=(1, 1), groups=32", "Conv2d 7×7 · 32→32 · depthwise"),
    ("Conv2d", "32, 64, kernel_size=(3, 3), stride=(1, 1), groups=4", "Conv2d 3×3 · 32→64 · 4 groups"),
    ("Conv1d", "4, 8, kernel_size=(2,), stride=(1,), dilation=(4,)", "Conv1d 2 · 4→8 · dilation 4"),
    ("ConvTranspose2d", "64, 32, kernel_size=(2, 2), stride=(2, 2)", "ConvTranspose2d 2×2 /2 · 64→32"),
    ("Quantize", "scale=tensor([0.0079]), zero_point=tensor([0]), dtype=torch.quint8", "Quantize"),
    ("Linear", "in_features=16, out_features=32, bias=True", "Linear 16→32"),
    ("Bilinear", "in1_features=2, in2_features=3, out_features=4, bias=True", "Bilinear 2, 3→4"),
    ("BatchNorm2d", "16, eps=1e-05, momentum=0.1, affine=True", "BatchNorm2d"),
    ("LayerNorm", "(768,), eps=1e-12, elementwise_affine=True", "LayerNorm"),
    ("GroupNorm", "32, 256, eps=1e-05, affine=True", "GroupNorm 32 groups"),
    ("GroupNorm", "1, 256, eps=1e-05, affine=True", "GroupNorm 1 group"),
    ("Embedding", "30522, 768, padding_idx=0", "Embedding 30522×768"),
    ("LSTM", "64, 128, num_layers=2, batch_first=True, bidirectional=True", "LSTM 64→128 · 2 layers · both ways"),
    ("GRU", "64, 128", "GRU 64→128"),
    ("Dropout", "p=0.1, inplace=False", "Dropout p=0.1"),
    ("MaxPool2d", "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False", "MaxPool2d 2×2"),
    ("MaxPool2d", "kernel_size=3, stride=2, padding=1", "MaxPool2d 3×3 /2"),
    ("AvgPool2d", "kernel_size=(3, 2), stride=(3, 2), padding=0", "AvgPool2d 3×2"),
    ("MaxPool1d", "kernel_size=2, stride=2", "MaxPool1d 2"),
    ("MaxPool1d", "kernel_size=3, stride=2", "MaxPool1d 3 /2"),
    ("MaxPool3d", "kernel_size=3, stride=2, padding=1", "MaxPool3d 3×3×3 /2"),
    ("AvgPool3d", "kernel_size=(1, 2, 2), stride=(1, 2, 2)", "AvgPool3d 1×2×2"),
    ("AdaptiveMaxPool3d", "output_size=2", "AdaptiveMaxPool3d → 2×2×2"),
    ("AdaptiveAvgPool2d", "output_size=(1, 1)", "AdaptiveAvgPool2d → 1×1"),
    ("AdaptiveAvgPool2d", "output_size=7", "AdaptiveAvgPool2d → 7×7"),
    ("AdaptiveAvgPool1d", "output_size=1", "AdaptiveAvgPool1d → 1"),
    ("Upsample", "scale_factor=2.0, mode='bilinear'", "Upsample by 2 bilinear"),
    ("Upsample", "size=(8, 8), mode='nearest'", "Upsample → 8×8 nearest"),
    ("PixelShuffle", "upscale_factor=2", "PixelShuffle by 2"),
    ("PixelUnshuffle", "downscale_factor=2", "PixelUnshuffle by 2"),
    ("LeakyReLU", "negative_slope=0.2, inplace=True", "LeakyReLU 0.2"),
    ("ReLU", "inplace=True", "ReLU"),
    ("ZeroPad2d", "(1, 1, 1, 1)", "ZeroPad2d (1, 1, 1, 1)"),
    ("Fold", "output_size=(8, 8), kernel_size=(3, 3), dilation=1", "Fold output_size=(8, 8), kernel_…"),
    ("Conv2d", "", "Conv2d"),
    ("Linear", "anything (at all", "Linear anything (at all"),
]


@pytest.mark.parametrize(("cls", "said", "text"), CASES, ids=[f"{cls}-{said[:30]}" for cls, said, _ in CASES])
def test_summary(cls: str, said: str, text: str) -> None:
    assert summary(cls, said) == text


def test_reading_is_not_confused_by_brackets() -> None:
    said = read("3, (1, [2, 3]), name=f(x, y), last='a=b'")
    assert said.unnamed == ("3", "(1, [2, 3])")
    assert said.named == {"name": "f(x, y)", "last": "'a=b'"}


@pytest.mark.parametrize("said", [")))", "(((", ",,,", "=", "a=" * 5000, "\n\n", "(" * 100_000])
def test_reading_survives_anything(said: str) -> None:
    for cls in ("Conv2d", "Linear", "MaxPool2d", "AdaptiveAvgPool2d", "LSTM", "Upsample", "Other"):
        assert len(summary(cls, said)) < 2200


def test_paddings_of_several_layers_are_not_read_as_two_sides() -> None:
    said, spans = "padding=(22, 22), value=0.0", (Span("padding", ("(22, 22)", "(3, 4)", "(3, 4)")),)
    assert summary("ConstantPad1d", said, spans) == "ConstantPad1d padding 22 or (3, 4) · value=0.0"


def test_of_several_classes_the_settings_are_said_only_where_they_are_known() -> None:
    said, classes = "8, 8, kernel_size=(3, 3), stride=(1, 1)", Span("class", ("Conv2d", "Conv2dSame"))
    assert summary("Conv2d", said, (classes,)) == "Conv2d or Conv2dSame"
    spans = (classes, Span("kernel_size", ("(3, 3)", "(5, 5)")))
    assert summary("Conv2d", said, spans) == "Conv2d or Conv2dSame 3×3 or 5×5 · 8→8"
