from __future__ import annotations

import pytest

from mkdocs_torchrecorder.fence import read_fence
from torchrecorder.request import Body


def read(header: str, body: str = "") -> Body:
    return read_fence(header, body.split("\n"))


@pytest.mark.parametrize(
    ("header", "target", "options"),
    [
        (" pkg.Net", "pkg.Net", {}),
        (" pkg.Net shape=1,3 depth=2", "pkg.Net", {"shape": "1,3", "depth": "2"}),
        (' shape="1,3; 1,8" pkg.Net', "pkg.Net", {"shape": "1,3; 1,8"}),
        (" shape='1,3; 1,8'", "", {"shape": "1,3; 1,8"}),
        (" {shape=1,3 Depth=2}", "", {"shape": "1,3", "depth": "2"}),
        ("{shape=1,3}", "", {"shape": "1,3"}),
        (" #net .wide .tall depth=2}", "", {"name": "net", "class": "wide tall", "depth": "2"}),
        (
            " pkg.Net(width=64, depth=[1, 2], name='a b') depth=2",
            "pkg.Net(width=64, depth=[1, 2], name='a b')",
            {"depth": "2"},
        ),
        (" pkg.make({'a': 1})", "pkg.make({'a': 1})", {}),
        (" pkg.Net shape=ids=int64[1,16]<100", "pkg.Net", {"shape": "ids=int64[1,16]<100"}),
        (' target="pkg.Net" shape="1,3"', "pkg.Net", {"shape": "1,3"}),
        (" pkg.Net caption=Don't alt='it is'", "pkg.Net", {"caption": "Don't", "alt": "it is"}),
        ("} pkg.Net", "pkg.Net", {}),
    ],
)
def test_header(header: str, target: str, options: dict[str, str | None]) -> None:
    assert read(header) == Body(target, options)


def test_header_and_body_complete_one_another() -> None:
    assert read(" pkg.Net depth=2", ":shape: 1,3\n\nfold: no") == Body(
        "pkg.Net", {"depth": "2", "shape": "1,3", "fold": "no"}
    )
    assert read(" depth=2", "pkg.mod:Net\n:fold:") == Body("pkg.mod:Net", {"depth": "2", "fold": None})
    assert read("", "target: pkg.Net") == Body("pkg.Net", {})


def test_problems_of_header_and_body_are_told_together() -> None:
    body = read(" pkg.Net depth=1 depth=2 pkg.Other", "depth: 3\nnonsense\ntarget: pkg.Third")
    assert body.problems == (
        "depth is given twice",
        "cannot read 'pkg.Other': the model is pkg.Net, and an option is written `depth=2`",
        "depth is given twice",
        "cannot read 'nonsense': the model is pkg.Net, and an option is written `:depth: 2`",
        "two models are named, pkg.Net and pkg.Third",
    )
