"""The examples of the guides for those who come from another recorder, run as they stand."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import torch
from torch import nn

from tests.parity.classic_nets import SampleNet

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guide"
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def given(page: str) -> dict[str, Any]:
    """What a page takes for granted."""
    names = {
        "torch": torch,
        "pathlib": pathlib,
        **{name: getattr(nn, name) for name in ("Sequential", "Linear", "ReLU")},
    }
    if page == "from-torchview":
        return {**names, "net": nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())}
    if page == "from-torchfunc":
        layers = [nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)]
        return {**names, "model": nn.Sequential(*layers), "x": torch.ones(2, 8)}
    return {**names, "net": SampleNet()}


@pytest.mark.parametrize("page", ["from-torchrecorder", "from-torchview", "from-torchfunc", "from-scio"])
def test_the_examples_of_a_guide_run(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "analysis").mkdir()
    examples = CODE.findall((GUIDE / f"{page}.md").read_text(encoding="utf-8"))
    assert examples
    names = given(page)
    for example in examples:
        exec(compile(example, f"{page}.md", "exec"), names)
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    assert written == {
        "from-torchrecorder": ["Sample Net-1.svg"],
        "from-torchfunc": ["analysis/0.pt", "analysis/1.pt"],
    }.get(page, [])
