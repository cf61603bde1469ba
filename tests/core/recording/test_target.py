"""From the name of a model to the model, and every way in which that fails."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from torchrecorder.errors import TargetBuildFailed, TargetImportFailed, TargetNotFound, TargetRefused
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.run import capture
from torchrecorder.recording.target import load_arguments, load_model

NETS = """
import functools
import os
import pathlib
import subprocess

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.fc = nn.Linear(width, width)

class Needs(nn.Module):
    def __init__(self, width):
        super().__init__()

class Outer:
    class Inner(Net):
        pass

def make_net(width=3):
    return Net(width)

def reads():
    return pathlib.Path("no.txt").read_text()

def broken():
    raise OSError("no such weights")

def other():
    return {"a": 1}

instance = Net(5)
number = 5
wide = functools.partial(Net, 9)
linear = functools.partial(nn.Linear, 9)
touch = functools.partial(subprocess.check_call, ["touch"])
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    files = {
        "tgt_pkg/__init__.py": "from tgt_pkg.nets import Net",
        "tgt_pkg/nets.py": NETS,
        "tgt_pkg/raises.py": "import torch\n\nraise RuntimeError('no GPU here')",
        "tgt_pkg/needs.py": "import not_installed_anywhere",
        "tgt_pkg/vision.py": "raise RuntimeError('operator torchvision::nms does not exist')",
        "tgt_pkg/version.py": "import importlib.metadata\nimportlib.metadata.version(__name__)",
        "tgt_pkg/typo.py": "def f(:\n    pass",
        "tgt_pkg/sub/__init__.py": "",
        "tgt_pkg/sub/deep.py": "from tgt_pkg.nets import Net",
        "tgt_pkg/lazy.py": "def __getattr__(name):\n    raise RuntimeError('lazily broken')",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield
    for name in [name for name in sys.modules if name.startswith("tgt_pkg")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("target", "width"),
    [
        ("tgt_pkg.Net", 2),
        ("tgt_pkg.nets.Net", 2),
        ("tgt_pkg.nets:Net", 2),
        ("tgt_pkg.nets.Net()", 2),
        ("tgt_pkg.nets.Net(width=7)", 7),
        ("tgt_pkg.nets:Net(7)", 7),
        ("tgt_pkg.nets.wide", 9),
        ("tgt_pkg.nets.make_net", 3),
        ("tgt_pkg.nets.Outer.Inner", 2),
        ("tgt_pkg.nets.instance", 5),
    ],
)
def test_builds_the_model(target: str, width: int) -> None:
    model = load_model(target, seed=0)
    assert isinstance(model.fc, nn.Linear)
    assert model.fc.in_features == width


def test_a_module_of_a_package_that_was_imported_without_it() -> None:
    importlib.import_module("tgt_pkg.sub")
    assert isinstance(load_model("tgt_pkg.sub.deep.Net", seed=0), nn.Module)


def test_weights_come_from_the_seed_and_the_global_one_stays() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, same, other = (load_model("tgt_pkg.Net", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    weights = [next(model.parameters()) for model in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("target", "parent", "missing", "near"),
    [
        ("tgt_pkg.Nett", "tgt_pkg", "Nett", "tgt_pkg.Net"),
        ("tgt_pkg.nets.net", "tgt_pkg.nets", "net", "tgt_pkg.nets.Net"),
        ("tgt_pkg.net.Net", "tgt_pkg", "net", "tgt_pkg.nets"),
        ("tgt_pkg.net:Net", "tgt_pkg", "net", "tgt_pkg.nets"),
        ("tgt_pgk.Net", "", "tgt_pgk", "tgt_pkg.Net"),
        ("tgt_pgk.Nothing", "", "tgt_pgk", "tgt_pkg"),
        ("tgt_pkg.nets.Outer.Iner", "tgt_pkg.nets.Outer", "Iner", "tgt_pkg.nets.Outer.Inner"),
    ],
)
def test_a_missing_part_is_named_with_the_near_miss(target: str, parent: str, missing: str, near: str) -> None:
    with pytest.raises(TargetNotFound) as caught:
        load_model(target, seed=0)
    assert (caught.value.parent, caught.value.missing) == (parent, missing)
    assert near in caught.value.near


@pytest.mark.parametrize(
    ("target", "module", "cause", "origin"),
    [
        ("tgt_pkg.raises.Net", "tgt_pkg.raises", "RuntimeError: no GPU here", "tgt_pkg/raises.py:3"),
        ("tgt_pkg.needs.Net", "tgt_pkg.needs", "No module named 'not_installed_anywhere'", "tgt_pkg/needs.py:1"),
        ("tgt_pkg.version.Net", "tgt_pkg.version", "No package metadata was found", "tgt_pkg/version.py:2"),
        ("tgt_pkg.typo.Net", "tgt_pkg.typo", "SyntaxError", "typo.py:1"),
        ("tgt_pkg.lazy.Net", "tgt_pkg.lazy", "RuntimeError: lazily broken", "tgt_pkg/lazy.py:2"),
    ],
)
def test_an_import_that_raises_is_not_a_missing_module(target: str, module: str, cause: str, origin: str) -> None:
    with pytest.raises(TargetImportFailed) as caught:
        load_model(target, seed=0)
    assert caught.value.module.startswith(module)
    assert cause in caught.value.cause
    assert caught.value.origin == origin
    assert "Traceback" in caught.value.details()


def test_a_torchvision_of_another_torch_is_explained() -> None:
    with pytest.raises(
        TargetImportFailed, match="the installed torchvision was built for another torch than"
    ) as caught:
        load_model("tgt_pkg.vision.Net", seed=0)
    assert "install the torchvision build that matches it" in str(caught.value)


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("tgt_pkg.nets.Needs", "missing 1 required positional argument: 'width'"),
        ("tgt_pkg.nets.broken", "OSError: no such weights (tgt_pkg/nets.py:"),
        ("tgt_pkg.nets.reads", "No such file or directory: 'no.txt' (tgt_pkg/nets.py:"),
        ("tgt_pkg.nets.other", "calling it gave an object of class dict, not a torch.nn.Module"),
        ("tgt_pkg.nets.number", "it is an object of class int, not a module"),
        ("tgt_pkg.nets", "it is the module tgt_pkg.nets, not a module or something that builds one"),
        ("tgt_pkg.nets.Net(1, 2, 3)", "TypeError"),
        ("tgt_pkg.nets.instance(1)", "cannot build"),
    ],
)
def test_what_gives_no_module_is_told(target: str, cause: str) -> None:
    with pytest.raises(TargetBuildFailed) as caught:
        load_model(target, seed=0)
    assert cause in str(caught.value)


def test_missing_arguments_come_with_the_way_to_give_them() -> None:
    with pytest.raises(TargetBuildFailed, match=r"as in tgt_pkg\.nets\.Needs\(width=…\)"):
        load_model("tgt_pkg.nets.Needs", seed=0)


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_a_saved_program_is_a_model_that_knows_its_inputs(tmp_path: Path) -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (torch.ones(5, 3),))
    torch.export.save(program, tmp_path / "net.pt2")
    model = load_model(f"torch.export.load('{tmp_path}/net.pt2')", seed=0, allow=())
    graph = record_guessed(model, lambda chosen, run: capture(model, chosen.args, chosen.kwargs), run="auto", seed=0)
    assert [call.module for call in graph.calls if call.module.isdigit()] == ["0", "1"]
    assert [graph.values[value].meta.shape for value in graph.inputs.values()] == [(5, 3)]  # type: ignore[union-attr]


COMMANDS = (
    "os.system('touch {}')",
    "subprocess.check_output(['touch', '{}'])",
    'builtins.exec(\'open("{}", "w")\')',
    "builtins.open('{}', 'w')",
    "pathlib.Path('{}')",
    "tgt_pkg.nets.os.system('touch {}')",
    "tgt_pkg.nets.subprocess.Popen(['touch', '{}'])",
    "tgt_pkg.nets.touch(['touch', '{}'])",
    "tgt_pkg.nets.make_net.__globals__.__setitem__('Net', '{}')",
    "tgt_pkg.nets.Net.__subclasses__",
    "torch.utils.collect_env.run('touch {}')",
    "torch.os.system('touch {}')",
    "torch.hub.load('{}', 'net', source='local')",
    "pytest.main(['{}'])",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_gives_no_module_is_refused_before_it_runs(command: str, tmp_path: Path) -> None:
    target = command.format(tmp_path / "touched")
    for load in (load_model, load_arguments):
        with pytest.raises(TargetRefused, match=r"is not called: a page may call classes of nn\.Module") as refused:
            load(target, **({"seed": 0} if load is load_model else {}), allow=())
    dotted = target.partition("(")[0]
    assert f"add {dotted!r} to the setting `allow`" in refused.value.hint()
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    "target",
    ["tgt_pkg.nets.make_net", "tgt_pkg.nets.wide", "tgt_pkg.nets.linear(4)", "tgt_pkg.Net(3)", "torch.nn.Linear(3, 4)"],
)
def test_what_gives_a_module_is_called(target: str) -> None:
    assert isinstance(load_model(target, seed=0, allow=()), nn.Module)


def test_what_the_site_allows_is_called(tmp_path: Path) -> None:
    target = f"os.system('touch {tmp_path}/touched')"
    for allow in (("os.systems",), ("tgt_pkg",), ("o",)):
        with pytest.raises(TargetRefused):
            load_model(target, seed=0, allow=allow)
    with pytest.raises(TargetBuildFailed, match="gave an object of class int"):
        load_model(target, seed=0, allow=("os.system",))
    assert (tmp_path / "touched").exists()


EVIL = """
import os
from transformers import PretrainedConfig, PreTrainedModel

os.mkdir("{}")

class Config(PretrainedConfig):
    model_type = "evil"

class Model(PreTrainedModel):
    config_class = Config
"""
SHELL = """
import os
from torch import nn

def sync(local, remote):
    os.system(f"touch {local}")

def build(name):
    sync(name, "")
    return nn.ReLU()
"""


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that code of a repository makes, and commands of an installed package."""
    touched, folder, installed = tmp_path / "touched", tmp_path / "evil", tmp_path / "site-packages"
    folder.mkdir()
    names = {"AutoConfig": "net.Config", "AutoModel": "net.Model"}
    (folder / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": names}))
    (folder / "net.py").write_text(EVIL.format(touched))
    installed.mkdir()
    (installed / "tgt_pkg_shell.py").write_text(SHELL)
    (tmp_path / "tgt_pkg" / "again.py").write_text(
        "from tgt_pkg_shell import build, sync\nimport tgt_pkg_shell as shell\n"
    )
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return touched


OF_THE_HUB = (
    "transformers.AutoModel.from_pretrained('evil', trust_remote_code=True)",
    "transformers.AutoModel.from_pretrained('evil')",
    "transformers.AutoModelForCausalLM.from_pretrained(pretrained_model_name_or_path='evil', trust_remote_code=True)",
    "transformers.AutoConfig.from_pretrained('evil', trust_remote_code=True)",
    "transformers.pipeline('text-generation', 'evil', trust_remote_code=True)",
    "transformers.dynamic_module_utils.get_class_from_dynamic_module('net.Model', 'evil')",
    "transformers.BertModel.from_pretrained('evil')",
)
SHELLS = (
    "tgt_pkg_shell.sync('{}', 's3://evil')",
    "tgt_pkg_shell.build('{}')",
    "tgt_pkg.again.sync('{}', 's3://evil')",
    "tgt_pkg.again.build('{}')",
    "tgt_pkg.again.shell.os.system('touch {}')",
)


@pytest.mark.parametrize(
    "target", [*SHELLS, *(pytest.param(target, marks=pytest.mark.transformers) for target in OF_THE_HUB)]
)
def test_functions_of_installed_packages_are_not_called(target: str, evil: Path) -> None:
    with pytest.raises(TargetRefused, match="known builders of models"):
        load_model(target.format(evil), seed=0, allow=())
    assert not evil.exists()


@pytest.mark.transformers
def test_what_is_refused_runs_code_where_the_site_allows_it(evil: Path) -> None:
    with pytest.raises(TargetBuildFailed):
        load_model(OF_THE_HUB[0], seed=0, allow=("transformers",))
    assert evil.exists()


def test_a_saved_program_with_a_pickle_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"net": nn.Linear(2, 2)}, "net.pt2")
    for target in (
        "torch.export.load('net.pt2')",
        "torch.export.load(f='net.pt2')",
        "torch.jit.load('net.pt2', map_location='cpu')",
    ):
        with pytest.raises(TargetRefused, match=r"'net.pt2' is "):
            load_model(target, seed=0, allow=())
    with pytest.raises(TargetRefused, match="is not the name of a file"):
        load_model("torch.jit.load(3)", seed=0, allow=())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("torch.export.load('/etc/net.pt2')", "'/etc/net.pt2' is a path outside of the project"),
        ("torch.nn.Transformer(activation='eval(1)')", "'eval(1)' is code"),
        ("tgt_pkg.nets.linear('https://evil')", "'https://evil' is an address"),
        ("torch.nn.Linear(2, 2, device={'trust_remote_code': True})", "trust_remote_code=True may run code"),
    ],
)
def test_an_argument_that_does_more_is_named(target: str, reason: str) -> None:
    with pytest.raises(TargetRefused, match=re.escape(f"is not called: {reason}")) as refused:
        load_model(target, seed=0, allow=())
    assert refused.value.hint().startswith("to allow it, add ")
    assert load_model("tgt_pkg.nets.Net(width=2)", seed=0, allow=())


def test_a_name_in_the_project_is_not_allowed_by_the_name_of_the_project() -> None:
    with pytest.raises(TargetRefused):
        load_model("tgt_pkg.nets.os.system('true')", seed=0, allow=("tgt_pkg",))
