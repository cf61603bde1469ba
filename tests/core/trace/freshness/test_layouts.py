"""A cache holds wherever the same code lies, however it is installed and whichever Python checks it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.one_layer import net

NET = net("int((Path(__file__).parent / 'width.txt').read_text())", "from pathlib import Path")
CORE = str(Path(__file__).parents[4] / "core")


def files(folder: str, package: str = "pkg") -> dict[str, str]:
    return {f"{folder}{package}/net.py": NET, f"{folder}{package}/width.txt": "4"}


@pytest.mark.parametrize("init", [True, False], ids=["package", "namespace package"])
@pytest.mark.parametrize("folder", ["", "src/", "../elsewhere/"])
def test_fresh_after_a_move_and_stale_after_an_edit(
    make_project: Callable[..., Any], tmp_path: Path, folder: str, init: bool
) -> None:
    project = make_project(files(folder) | ({f"{folder}pkg/__init__.py": ""} if init else {}))
    project.path = [folder or "."]
    project.draw("pkg.net.Net")
    (tmp_path / "there").mkdir()
    if folder.startswith(".."):
        (tmp_path / "elsewhere").rename(tmp_path / "there" / "elsewhere")
    project.move(tmp_path / "there" / "moved")
    assert project.draw("pkg.net.Net")[1] == 0, project.finding("pkg.net.Net")
    project.write({f"{folder}pkg/width.txt": "5"})
    assert "pkg/width.txt changed" in str(project.finding("pkg.net.Net"))
    assert project.draw("pkg.net.Net")[1] == 1


def test_a_module_beside_the_project_reads_what_lies_beside_it(make_project: Callable[..., Any]) -> None:
    project = make_project({"../shared/nets.py": NET, "../shared/width.txt": "4"})
    project.path = ["../shared"]
    project.draw("nets.Net")
    assert project.draw("nets.Net")[1] == 0
    project.write({"../shared/width.txt": "5"})
    assert "width.txt changed" in str(project.finding("nets.Net"))


def test_a_finder_hook_of_an_editable_install(
    make_project: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded from a folder on the path, checked where only a hook knows the package."""
    project = make_project(files("src/") | {"src/pkg/__init__.py": ""})
    project.draw("pkg.net.Net")

    class Hook:
        @staticmethod
        def find_spec(name: str, path: object, target: object = None) -> ModuleSpec | None:
            folder = tmp_path / "project" / "src" / "pkg"
            locations = [str(folder)]
            init = folder / "__init__.py"
            return (
                importlib.util.spec_from_file_location(name, init, submodule_search_locations=locations)
                if name == "pkg"
                else None
            )

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook])
    project.path = []
    assert project.draw("pkg.net.Net")[1] == 0
    project.edit("src/pkg/net.py", "self.fc(x)", "self.fc(x).relu()")
    assert str(project.finding("pkg.net.Net")) == "pkg/net.py: Net.forward changed"


def test_a_pth_file(make_project: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a .pth file adds to the path of the running Python."""
    project = make_project(files("src/") | {"src/pkg/__init__.py": ""})
    project.path = []
    monkeypatch.syspath_prepend(str(tmp_path / "project" / "src"))
    project.draw("pkg.net.Net")
    assert project.draw("pkg.net.Net")[1] == 0
    project.edit("src/pkg/net.py", "self.fc(x)", "self.fc(x).relu()")
    assert project.draw("pkg.net.Net")[1] == 1


BUILD = """
import hashlib, sys; from pathlib import Path
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
settings = Settings.for_project(Path(sys.argv[1]))
request = read_request("pkg.net.Net", {"shape": "1,3"})
print(Pipeline(settings).recordings().look(request.recording)[1])
outcome = Pipeline(settings).run([request])[request]
print(outcome.error or hashlib.sha256(outcome.diagram.svg.encode()).hexdigest())
"""
HOOK = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pkg":
            return importlib.util.spec_from_file_location(
                name, {folder!r} + "/pkg/__init__.py", submodule_search_locations=[{folder!r} + "/pkg"]
            )
sys.meta_path.append(Finder)
"""


@pytest.mark.skipif(os.name == "nt", reason="its environments lie otherwise")
@pytest.mark.parametrize("kind", ["pth", "hook"])
def test_a_real_editable_install(make_project: Callable[..., Any], tmp_path: Path, kind: str) -> None:
    """In an environment of its own, where nothing but the install knows the package, neither here nor in the worker."""
    project = make_project(files("src/") | {"src/pkg/__init__.py": ""})
    venv.create(tmp_path / "venv", symlinks=True)
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "torch.pth").write_text(str(Path(torch.__file__).parents[1]))
    source = str(project.root / "src")
    (site / "__editable___pkg_finder.py").write_text(HOOK.format(folder=source))
    (site / "pkg.pth").write_text(source if kind == "pth" else "import __editable___pkg_finder")

    def build() -> list[str]:
        command = [str(tmp_path / "venv" / "bin" / "python"), "-P", "-c", BUILD, str(project.root)]
        env = {**os.environ, "PYTHONPATH": CORE}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()

    found, picture = build()
    assert found == "it was never recorded"
    assert build() == ["fresh", picture]
    project.edit("src/pkg/net.py", "self.fc(x)", "self.fc(x).relu()")
    found, other = build()
    assert found == "pkg/net.py: Net.forward changed"
    assert other != picture
    assert len(other) == len(picture) == 64
    assert build() == ["fresh", other]


def python(version: str) -> Path | None:
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return found[-1] if found else None


CHECK = """
import sys; from pathlib import Path
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
settings = Settings.for_project(Path(sys.argv[1]), path=["src"])
print(Pipeline(settings).recordings().look(read_request("pkg.net.Net", {"shape": "1,3"}).recording)[1])
"""


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_another_python_without_torch_comes_to_the_same_finding(make_project: Callable[..., Any], version: str) -> None:
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} here")
    project = make_project(files("src/") | {"src/pkg/__init__.py": ""})
    project.draw("pkg.net.Net")

    def finding() -> str:
        (project.root / ".torchrecorder" / "blocks.json").unlink(missing_ok=True)  # it must parse for itself
        command = [str(interpreter), "-c", CHECK, str(project.root)]
        env = {**os.environ, "PYTHONPATH": CORE}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert finding() == "fresh"
    project.edit("src/pkg/net.py", "    def forward", "    # called\n    def forward")
    assert finding() == "fresh"
    project.edit("src/pkg/net.py", "self.fc(x)", "self.fc(x).relu()")
    assert finding() == "pkg/net.py: Net.forward changed"
