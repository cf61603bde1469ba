"""Ours beside the original, where that is installed: `nox -s parity`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parity.originals import original
from tests.parity.torchview_nets import sources
from torchrecorder import torchview as ours

pytestmark = pytest.mark.parity

torchview = original("torchview", "torchview")
GOLDEN = Path(__file__).parent / "golden_torchview"


def test_draws_the_same_text() -> None:
    assert sources(ours.draw_graph) == sources(torchview.draw_graph)


def test_the_golden_texts_are_its_texts() -> None:
    assert sources(torchview.draw_graph) == {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.iterdir()}


def names() -> list[tuple[str, Any]]:
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "torchview"]
    found = {name: thing for module in modules for name, thing in vars(module).items() if not name.startswith("_")}
    return [(name, thing) for name, thing in found.items() if getattr(thing, "__module__", "").startswith("torchview")]


def test_every_name_is_there_with_its_signature() -> None:
    for name, theirs in names():
        if not callable(theirs) or name in {"L", "T"}:
            continue
        mine = getattr(ours, name)
        assert inspect.signature(mine) == inspect.signature(theirs), name
        methods = [method for method, what in vars(theirs).items() if inspect.isfunction(what)]
        for method in methods:
            assert inspect.signature(getattr(mine, method)) == inspect.signature(getattr(theirs, method)), method
