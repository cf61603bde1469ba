"""Whose functions a page may call, by what is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from torchrecorder.trace import allowed
from torchrecorder.trace.trace import distribution_names

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def install(name: str, *requires: str) -> None:
        (folder / f"alw_{name}.py").write_text("def make(): pass\n")
        metadata = folder / f"alw_{name}-1.dist-info"
        metadata.mkdir()
        lines = [f"Metadata-Version: 2.1\nName: alw_{name}\nVersion: 1", *(f"Requires-Dist: {it}" for it in requires)]
        (metadata / "METADATA").write_text("\n".join(lines) + "\n")
        (metadata / "top_level.txt").write_text(f"alw_{name}\n")
        (metadata / "RECORD").write_text(f"alw_{name}.py,,\n")
        for known in (distribution_names, allowed._files, allowed._depends_on_torch):
            known.cache_clear()
        importlib.invalidate_caches()

    return install


def may_call(name: str) -> bool:
    dotted = f"alw_{name}.make"
    return allowed.may_call(dotted, importlib.import_module(f"alw_{name}").make, ())


@pytest.mark.parametrize(
    ("requires", "is_allowed"),
    [
        (["torch"], True),
        (["numpy", "torch (>=2.1,<3) ; python_version >= '3.8'"], True),
        (['torch>=2; extra == "all"'], True),
        (["alw_zoo>=1"], True),
        (["alw-Lazy[gpu,all]"], True),
        (["alw-Lazy"], False),
        (["alw_circle"], False),
        (["torchless", "pytorch-like"], False),
        ([], False),
    ],
)
def test_a_package_that_depends_on_torch(requires: list[str], is_allowed: bool, install: Install) -> None:
    install("zoo", "torch==2.13")
    install("lazy", "torch; extra == 'all'")
    install("circle", "alw_asked")
    install("asked", *requires)
    assert may_call("asked") is is_allowed


def test_a_package_that_does_not_say_that_it_depends_on_torch(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("audio")
    monkeypatch.setattr(allowed, "_SILENT", (*allowed._SILENT, "alw_audio"))
    assert may_call("audio")
    assert "torchaudio" in allowed._SILENT


def test_a_function_counts_where_it_is_defined(install: Install) -> None:
    install("zoo", "torch")
    install("tools")
    tools = importlib.import_module("alw_tools")
    assert not allowed.may_call("alw_zoo.tools.make", tools.make, ())
    assert not allowed.may_call("alw_zoo.tools.make", tools.make, ("alw_zoo",))
    assert allowed.may_call("alw_zoo.tools.make", tools.make, ("alw_tools",))
    assert allowed.may_call("alw_zoo.tools.make", tools.make, ("alw_zoo.tools.make",))
    assert allowed.may_call("alw_zoo.tools.make", tools.make, ("*",))


@pytest.mark.parametrize("name", ["antigravity.fly", "os.system", "builtins.exec", "idlelib.idle.x", "sys.exit"])
def test_modules_of_python_are_not_even_imported(name: str) -> None:
    assert not allowed.may_import(name, ())
    assert allowed.may_import(name, (name.partition(".")[0],))


def test_a_module_of_the_project_may_have_a_name_of_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "antigravity.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    allowed._files.cache_clear()
    assert allowed.may_import("antigravity.Net", ())
    allowed._files.cache_clear()
