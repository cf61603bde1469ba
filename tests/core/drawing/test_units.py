"""Numbers and shapes as text."""

from __future__ import annotations

import pytest

from torchrecorder.labels.names import count, parameters, shape


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1 k"),
        (3680, "3.68 k"),
        (12_704, "12.7 k"),
        (999_499, "999 k"),
        (999_500, "1 M"),
        (11_689_512, "11.7 M"),
        (68_976_648_192, "69 B"),
        (1_000_000_000_000, "1 T"),
    ],
)
def test_counts_have_three_digits(number: int, text: str) -> None:
    assert count(number) == text


def test_parameters() -> None:
    assert parameters(1) == "1 param"
    assert parameters(12_704) == "12.7 k params"


def test_shapes() -> None:
    assert shape((1, 3, 224, 224)) == "1×3×224×224"
    assert shape(("s0", 4)) == "s0×4"
    assert shape(()) == "scalar"
