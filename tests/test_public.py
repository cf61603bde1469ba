"""Every public name has a docstring; internal names have one where it says more than the name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest

PUBLIC = [
    "torchrecorder",
    "torchrecorder.scio.recorder",
    "torchrecorder.drawing",
    "torchrecorder.errors",
    "torchrecorder.errors.base",
    "torchrecorder.graph",
    "torchrecorder.helpers",
    "torchrecorder.torchfunc.hooks.recorders",
    "torchrecorder.torchfunc.hooks.registrators",
    "torchrecorder.nodes",
    "torchrecorder.recorder",
    "torchrecorder.torchview",
    "torchrecorder.torchview.computation_graph",
    "torchrecorder.torchview.computation_node",
    "torchrecorder.torchview.recorder_tensor",
    "torchrecorder.torchview.torchview",
    "torchrecorder.torchview.utils",
    "torchrecorder.renderer",
    "torchrecorder.renderer.base",
    "torchrecorder.renderer.gv",
]
"""The modules whose names users import."""


def public_names(module: ModuleType) -> Iterator[str]:
    """What `__all__` lists, else the classes and functions that the module defines."""
    if hasattr(module, "__all__"):
        yield from module.__all__
        return
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield name


def undocumented(module: ModuleType) -> list[str]:
    """The public classes, functions and methods of a module that have no docstring."""
    missing = [] if module.__doc__ else [module.__name__]
    for name in public_names(module):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        members = inspect.getmembers(value, inspect.isroutine) if inspect.isclass(value) else []
        own = [(f"{name}.{m}", f) for m, f in members if not m.startswith("_") and _is_ours(f)]
        missing += [path for path, one in [(name, value), *own] if not inspect.getdoc(one)]
    return missing


def _is_ours(function: object) -> bool:
    return str(getattr(function, "__module__", "")).startswith("torchrecorder")


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_docstrings(name: str) -> None:
    assert undocumented(importlib.import_module(name)) == []


def test_the_test_above_can_fail() -> None:
    module = ModuleType("torchrecorder.example", "An example.")

    class Bare:
        def run(self) -> None: ...

    Bare.__module__ = Bare.run.__module__ = module.__name__
    vars(module)["Bare"] = Bare
    assert undocumented(module) == ["Bare", "Bare.run"]
