"""Where the documentation of a class is looked for."""

from __future__ import annotations

import pytest

from torchrecorder.page.diagram import names_of_class


@pytest.mark.parametrize(
    ("cls", "others"),
    [
        ("torch.nn.modules.linear.Linear", ("torch.nn.modules.Linear", "torch.nn.Linear", "torch.Linear")),
        ("pkg.nets.Net", ("pkg.Net",)),
        ("nets.Net", ()),
    ],
)
def test_the_class_itself_comes_first(cls: str, others: tuple[str, ...]) -> None:
    assert names_of_class(cls) == (cls, *others)
