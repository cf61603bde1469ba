"""`recorder: classic` with `theme: classic`: the picture of torchrecorder 1.0.3, in a page of Sphinx."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Built, Project

INDEX = """
Index
=====

.. torchrecorder:: nets.Net
   :shape: 4,3
   :recorder: classic
   :theme: classic
   :depth: 2

.. torchrecorder:: nets.Net
   :shape: 4,3
   :recorder: classic
   :run: fake
   :depth: 2

.. torchrecorder:: broken.Broken
   :shape: 4,3
   :recorder: classic
"""

BROKEN = """
from torch import nn


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(3, 8), nn.Linear(9, 2)

    def forward(self, x):
        return self.leave(self.enter(x))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Built:
    project = Project(tmp_path_factory.mktemp("classic"), cache)
    project.write("docs/index.rst", INDEX)
    project.write("src/broken.py", BROKEN)
    return project.build("html")


def words_by_colour(svg: str) -> dict[str, list[str]]:
    """The first line of each node, by what it is painted with."""
    found: dict[str, list[str]] = {}
    for colour, name in re.findall(r'<g class="\w+"[^>]*><\w+[^>]* fill="(#\w{6})".*?<text[^>]*>([^<]*)</text>', svg):
        found.setdefault(colour, []).append(name)
    return {colour: sorted(names) for colour, names in found.items()}


def test_the_directive_draws_what_1_0_3_would_have_drawn(built: Built) -> None:
    svg = built.svgs("index.html")[0]
    assert words_by_colour(svg) == {
        "#add8e6": ["Input", "Output", "Tensor-2", "Tensor-3"],
        "#556b2f": ["bias", "bias", "weight", "weight"],
        "#ffa500": ["AddmmBackward0", "AddmmBackward0-2", "ReluBackward0", "TBackward0", "TBackward0-2"],
    }
    assert re.findall(r'font-weight="600">([^<]*)</tspan>', svg) == ["Net", "enter (Linear)", "leave (Linear)"]


def test_the_modern_look_of_a_classic_recording(built: Built) -> None:
    svg = built.svgs("index.html")[1]
    assert "AddmmBackward0" in svg
    assert "#ffa500" not in svg


def test_an_error_names_the_layer(built: Built) -> None:
    (warning,) = [line for line in built.warnings.splitlines() if "WARNING" in line]
    assert "leave (Linear)" in warning
    assert "broken.py:11" in built.warnings
    assert built.status == 0
