"""What a page gets of a model whose inputs can be guessed from names alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Counted, Site, ask, svg_of
from torchrecorder.errors import LeftOut

BARE = """from torch import nn

class Bare(nn.Module):
    def forward(self, x):
        return x.relu()
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write("bare.py", BARE)
    yield made
    Counted.end()


def test_none_is_drawn_unasked_but_where_a_page_asks_for_it(site: Site) -> None:
    asked = ask("pip_nets.bare.Bare", shape="")
    tried = replace(asked, is_tried=True, is_ranked=True)
    for _ in range(2):  # the second build reads what the first has kept
        (left_out,) = site.build(tried)
        assert left_out.diagram is None
        assert isinstance(left_out.error, LeftOut)
        assert left_out.error.reason == "its inputs can be guessed from the names of its parameters alone"
        (drawn,) = site.build(asked)
        assert "3×64×64" not in svg_of(drawn)
        assert drawn.about()[0] == (
            "inputs guessed from names alone, so no sizes are shown: "
            "x=1,3,64,64, from nothing but the names of its parameters"
        )
    assert Counted.jobs == 0
    both = site.build(tried, asked)
    assert [outcome.diagram is None for outcome in both] == [True, False]


def test_a_guess_from_a_layer_is_drawn_with_its_sizes(site: Site) -> None:
    (drawn,) = site.build(replace(ask(shape=""), is_tried=True))
    assert "1×4" in svg_of(drawn) or "N×4" in svg_of(drawn)
    assert drawn.about()[0] == "inputs guessed from its first layers: 1,3, from fc (Linear)"
