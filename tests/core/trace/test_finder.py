"""Modules are found where importing would find them, and nothing is imported."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from torchrecorder.trace.finder import ModuleFinder


def write(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("raise RuntimeError('imported')")


def test_walks_packages_without_importing_them(tmp_path: Path) -> None:
    write(tmp_path, "found_pkg/__init__.py", "found_pkg/sub/__init__.py", "found_pkg/sub/mod.py", "found_alone.py")
    finder = ModuleFinder([str(tmp_path)])
    for name, file in {
        "found_pkg": "found_pkg/__init__.py",
        "found_pkg.sub": "found_pkg/sub/__init__.py",
        "found_pkg.sub.mod": "found_pkg/sub/mod.py",
        "found_alone": "found_alone.py",
    }.items():
        assert finder.file(name) == tmp_path / file
    assert not [name for name in sys.modules if name.startswith("found_")]


def test_namespace_packages_of_several_folders(tmp_path: Path) -> None:
    write(tmp_path, "one/found_ns/deep/a.py", "two/found_ns/deep/b.py")
    finder = ModuleFinder([str(tmp_path / "one"), str(tmp_path / "two")])
    assert finder.file("found_ns.deep.a") == tmp_path / "one/found_ns/deep/a.py"
    assert finder.file("found_ns.deep.b") == tmp_path / "two/found_ns/deep/b.py"
    assert finder.file("found_ns") is None


def test_the_first_folder_wins_and_a_package_wins_over_a_module(tmp_path: Path) -> None:
    write(tmp_path, "one/found_x.py", "two/found_x.py", "two/found_y.py", "two/found_y/__init__.py")
    finder = ModuleFinder([str(tmp_path / "one"), str(tmp_path / "two")])
    assert finder.file("found_x") == tmp_path / "one/found_x.py"
    assert finder.file("found_y") == tmp_path / "two/found_y/__init__.py"


@pytest.mark.parametrize("name", ["found_nowhere", "found_nowhere.sub", "json.nothing", "sys", "os.path.deeper"])
def test_what_does_not_exist_or_has_no_file(name: str) -> None:
    assert ModuleFinder([]).file(name) is None


def test_agrees_with_the_import_system() -> None:
    for name in ("json", "json.decoder", "graphviz", "graphviz.backend.execute"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        assert ModuleFinder([]).file(name) == Path(spec.origin)


def test_asks_the_hooks_of_editable_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "elsewhere/found_hooked.py")

    class Hook:
        @staticmethod
        def find_spec(name: str, path: object, target: object = None) -> ModuleSpec | None:
            file = tmp_path / "elsewhere" / f"{name}.py"
            return importlib.util.spec_from_file_location(name, file) if file.exists() else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook])
    assert ModuleFinder([]).file("found_hooked") == tmp_path / "elsewhere/found_hooked.py"
