"""The grammar of targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrecorder.request import Target, parse_target

READ = {
    "pkg.Net": Target("pkg.Net", None),
    " pkg.mod:Net ": Target("pkg.mod.Net", "pkg.mod"),
    "pkg.mod:Outer.Inner": Target("pkg.mod.Outer.Inner", "pkg.mod"),
    "pkg.Net()": Target("pkg.Net", None, called=True),
    "pkg.Net(3, width=64)": Target("pkg.Net", None, (3,), {"width": 64}, called=True),
    "pkg.Net(sizes=(1, [2]), name='a, b')": Target(
        "pkg.Net", None, (), {"sizes": (1, [2]), "name": "a, b"}, called=True
    ),
    "pkg.Net(scale=-0.5)": Target("pkg.Net", None, (), {"scale": -0.5}, called=True),
}

REFUSED = {
    "": "names no model",
    "Net": "names no module",
    "pkg..Net": "names no model",
    "pkg.Net(": "names no model",
    "pkg.Net(width=)": "are not valid Python",
    "pkg.Net(nn.ReLU)": "nn.ReLU is not a literal",
    "pkg.Net(**{})": "`**` cannot be used",
    "pkg.Net(1)(2)": "is not a list of arguments",
    "pkg.Net; import os": "names no model",
    "pkg/net.py": "names no model",
}


@pytest.mark.parametrize("text", READ)
def test_reads(text: str) -> None:
    assert parse_target(text) == READ[text]
    assert parse_target(str(READ[text])) == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared below)
        parse_target(text)
    assert REFUSED[text] in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        target = parse_target(text)
    except ValueError:
        return
    assert parse_target(str(target)) == target
