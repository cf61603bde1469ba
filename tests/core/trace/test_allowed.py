"""Whose functions a page may call, and with which arguments, by what is installed."""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from torchrecorder.request import parse_target
from torchrecorder.trace import allowed
from torchrecorder.trace.trace import distribution_names

Install = Callable[..., None]

MODULE = """
import os
from torch import nn

class Net(nn.Module):
    def __init__(self, name="", trust_remote_code=False, **options):
        super().__init__()

    @classmethod
    def from_pretrained(cls, name):
        os.system(name)

    @classmethod
    def from_name(cls, name):
        return cls(name)

class Any(nn.Module):
    def __init__(self, *args, **options):
        super().__init__()

def make(): pass
def _hidden(): pass
BUILT = {"net": make}
class Tool: pass
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def install(name: str, text: str = MODULE) -> None:
        (folder / f"alw_{name}.py").write_text(text)
        allowed._files.cache_clear()
        importlib.invalidate_caches()

    yield install
    for name in [name for name in sys.modules if name.startswith("alw_")]:
        del sys.modules[name]


@pytest.fixture
def zoo(install: Install) -> Any:
    install("zoo")
    return importlib.import_module("alw_zoo")


def may(found: object, *allow: str) -> bool:
    return allowed.may_call("alw_zoo.make", found, allow)


def test_an_installed_package_builds_its_classes_of_modules_and_calls_nothing(zoo: Any) -> None:
    assert allowed.builds(zoo.Net)
    for found in (zoo.make, zoo.Tool, zoo.Net.from_pretrained, zoo.Net().load_state_dict, zoo.Net.from_name, os.system):
        assert not allowed.builds(found)
        assert not may(found)


@pytest.mark.parametrize("entry", ["alw_zoo:make", "alw_zoo:BUILT", "alw_zoo:*"])
def test_functions_of_the_table_build(entry: str, zoo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "BUILDERS", {entry: "", "alw_zoo:gone.since": "", "not_imported:x": ""})
    assert allowed.builds(zoo.make)
    assert allowed.builds(functools.partial(zoo.make, 1))
    assert not allowed.builds(zoo.Net.from_pretrained)
    assert allowed.builds(zoo._hidden) is (entry == "alw_zoo:*")


def test_a_method_of_the_table_builds_for_each_class(zoo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "BUILDERS", {"alw_zoo:Net.from_name": ""})
    own: Any = type("Own", (zoo.Net,), {})
    assert allowed.builds(zoo.Net.from_name)
    assert allowed.builds(own.from_name)
    assert not allowed.builds(own.from_pretrained)


def test_a_star_is_not_for_what_a_module_took_from_another(
    zoo: Any, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("other", "from alw_zoo import make\nfrom os import system\n")
    monkeypatch.setattr(allowed, "BUILDERS", {"alw_other:*": ""})
    other = importlib.import_module("alw_other")
    assert not allowed.builds(other.make)
    assert not allowed.builds(other.system)


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ({"url": "file://{project}", "dir_info": {}}, True),
        ({"url": "file://{project}/packages/a%20b", "dir_info": {"editable": False}}, True),
        ({"url": "file://{project}/../other", "dir_info": {}}, False),
        ({"url": "file://{project}/zoo.whl", "archive_info": {}}, False),
        ({"url": "https://evil.example/{project}", "vcs_info": {}}, False),
        (["dir_info"], False),
        (None, False),
    ],
)
def test_the_projects_own_package_may_be_installed(
    origin: Any, is_own: bool, zoo: Any, project: Path, tmp_path: Path
) -> None:
    info = tmp_path / "site-packages" / "alw_zoo-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alw_zoo\nVersion: 1\n")
    (info / "RECORD").write_text("alw_zoo.py,,\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin).replace("{project}", str(project)))
    distribution_names.cache_clear()
    assert may(zoo.make) is is_own
    assert not may(os.system)
    distribution_names.cache_clear()


def test_each_entry_of_the_table_has_a_module_a_name_and_a_reason() -> None:
    for entry, reason in allowed.BUILDERS.items():
        module, _, name = entry.partition(":")
        assert module
        assert name
        assert reason


def test_a_function_counts_where_it_is_defined(zoo: Any) -> None:
    assert not may(zoo.make)
    assert not allowed.may_call("alw_zoo.tools.make", os.system, ("alw_zoo",))
    for allow in ("alw_zoo", "alw_zoo.make", "*"):
        assert may(zoo.make, allow)


@pytest.mark.parametrize("name", ["antigravity.fly", "os.system", "builtins.exec", "idlelib.idle.x", "sys.exit"])
def test_modules_of_python_are_not_even_imported(name: str) -> None:
    assert not allowed.may_import(name, ())
    assert allowed.may_import(name, (name.partition(".")[0],))


def test_a_program_is_not_imported() -> None:
    assert not allowed.may_import("pytest.__main__.x", ())


def test_a_module_of_the_project_may_have_a_name_of_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "antigravity.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    allowed._files.cache_clear()
    assert allowed.may_import("antigravity.Net", ())
    allowed._files.cache_clear()


REFUSED = {
    "('name', True)": "trust_remote_code=True may run code",
    "(trust_remote_code=1)": "trust_remote_code=1 may run code",
    "(model_kwargs={'trust_remote_code': True})": "trust_remote_code=True may run code",
    "(kinds=[{'a': ({'_target_': 'os.system'},)}])": "_target_: 'os.system' names what the library calls",
    "({'class_path': 'subprocess.Popen'})": "names what the library calls",
    "(weights_only=False)": "weights_only=False has code unpickled",
    "('https://evil.example/net.pth')": "is an address",
    "('hf-hub:evil/repo')": "is an address",
    "('local-dir:evil')": "is an address",
    "(b'file:///etc/passwd')": "is an address",
    "('/etc/passwd')": "is a path outside of the project",
    "('~/.ssh/id_rsa')": "is a path outside of the project",
    "('../../secret')": "is a path outside of the project",
    "('a/../../../x')": "is a path outside of the project",
    r"('C:\\Users\\x')": "is a path outside of the project",
    r"('..\\x')": "is a path outside of the project",
    "('link')": "is a path outside of the project",
    "('x\\0y')": "is a path outside of the project",
    "(pretrained='evil.PTH')": "is a file",
    "('model.pkl')": "is a file",
    "('docs/conf.yaml')": "is a file",
    "('docs/evil')": "is a file",
    "({'act': 'eval(\"1\")'})": "is code",
    "('os.system (1)')": "is code",
    "('x): pass; import os #')": "is code",
    "('a.__class__')": "is code",
    "({'lambda x: x': 1})": "is code",
}
HARMLESS = (
    "()",
    "('resnet18', True)",
    "(trust_remote_code=False)",
    "(device='cuda:0', dtype='float32')",
    "('b (h w) c -> b c h w', h=2)",
    "('b c ... -> b ...', 'x, edge_index -> x')",
    "(pretrained=None, weights=None, encoder_weights='imagenet')",
    "('vit_b_16', features=(64, 128), options={'act': ('RELU', {'inplace': True})})",
    "('timm/resnet18.a1_in1k', 'docs')",
    "('efficientnet-b0', weights_only=True)",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "docs" / "evil").mkdir(parents=True)
    (folder / "docs" / "conf.yaml").write_text("")
    (folder / "pyproject.toml").write_text("")
    (folder / "link").symlink_to("/etc/passwd")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("arguments", REFUSED)
@pytest.mark.usefixtures("project")
def test_arguments_that_make_more_of_it_are_refused(arguments: str, zoo: Any) -> None:
    assert REFUSED[arguments] in allowed.refused_argument(parse_target(f"alw_zoo.Net{arguments}"), zoo.Net)


@pytest.mark.parametrize("arguments", HARMLESS)
@pytest.mark.usefixtures("project")
def test_arguments_that_say_how_a_model_is_built_are_not(arguments: str, zoo: Any) -> None:
    assert not allowed.refused_argument(parse_target(f"alw_zoo.Any{arguments}"), zoo.Any)


def test_a_file_that_is_loaded_may_lie_anywhere_in_the_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.chdir(project / "docs")
    for file, is_refused in (("net.pt2", False), ("../net.pt2", False), ("../../net.pt2", True), ("/net.pt2", True)):
        reason = allowed.refused_argument(parse_target(f"torch.jit.load({file!r})"), torch.jit.load)
        assert bool(reason) is is_refused, file
