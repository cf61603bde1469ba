"""Ours beside the original, where that is installed: `nox -s tests -- -m parity`."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.parity.originals import original
from tests.parity.test_torchview import NAMES
from tests.parity.torchview_nets import sources
from torchrecorder import torchview as ours

pytestmark = pytest.mark.parity

torchview = original("torchview", "torchview")
GOLDEN = Path(__file__).parent / "golden_torchview"


def test_draws_the_same_text() -> None:
    assert sources(ours.draw_graph) == sources(torchview.draw_graph)


def test_the_golden_texts_are_its_texts() -> None:
    assert sources(torchview.draw_graph) == {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.iterdir()}


def defined() -> list[tuple[str, str, Any]]:
    """Each public name of torchview's own making, with each module that has it."""
    modules = [(name, module) for name, module in sys.modules.items() if name.partition(".")[0] == "torchview"]
    values = {id(value) for _, module in modules for value in vars(module).values() if _is_of(value, "torchview")}
    return [
        (path, name, value)
        for path, module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and (id(value) in values or name in LISTED.get(path, ()))
    ]


def _is_of(value: Any, package: str) -> bool:
    return not isinstance(value, TypeVar) and str(getattr(value, "__module__", "")).partition(".")[0] == package


LISTED = {module: names.split() for module, names in NAMES.items()}


def test_the_list_of_names_is_its_own() -> None:
    found = {(path, name) for path, name, value in defined() if getattr(value, "__module__", path) == path}
    listed = {(path, name) for path, names in LISTED.items() for name in names}
    assert found <= listed
    assert {pair for pair in listed if not hasattr(sys.modules[pair[0]], pair[1])} == set()
    assert sorted(LISTED["torchview"]) == sorted(torchview.__all__)


def test_every_name_is_in_its_place() -> None:
    for path, name, _ in defined():
        assert hasattr(import_module(f"torchrecorder.{path}"), name), f"{path}.{name}"


def test_every_signature() -> None:
    for path, name, theirs in defined():
        if not callable(theirs) or not _is_of(theirs, "torchview"):
            continue
        mine = getattr(import_module(f"torchrecorder.{path}"), name)
        assert inspect.signature(mine) == inspect.signature(theirs), name
        methods = [method for method, what in vars(theirs).items() if inspect.isfunction(what)]
        for method in methods:
            assert inspect.signature(getattr(mine, method)) == inspect.signature(getattr(theirs, method)), method
