"""Whose code it is, and where it lies."""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchrecorder
from tests.core.recording.nets import record
from torchrecorder.recording.code_info import import_path, is_user_file

TORCH = str(Path(torch.__file__).parent)
OURS = str(Path(torchrecorder.__file__).parent)


@pytest.mark.parametrize("file", [f"{TORCH}/nn/modules/conv.py", f"{OURS}/recording/run.py", "<string>", "<frozen os>"])
def test_code_of_torch_and_of_the_recorder_is_not_the_users(file: str) -> None:
    assert not is_user_file(file)


@pytest.mark.parametrize("file", [f"{TORCH}vision/models/resnet.py", f"{TORCH}_geometric/nn.py", f"{OURS}_nets/net.py"])
def test_a_package_whose_name_begins_with_torch_is_the_users(file: str) -> None:
    assert is_user_file(file)


def test_operations_of_such_a_package_have_sources() -> None:
    code = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    namespace: dict[str, type[torch.nn.Module]] = {"__name__": "torchnets.plain"}  # type: ignore[dict-item]
    exec(compile(code, f"{TORCH}nets/plain.py", "exec"), namespace)
    (op,) = record(namespace["Net"](), torch.ones(2)).ops
    assert op.source == "torchnets/plain.py:4"


@pytest.mark.parametrize(
    ("file", "name", "path"),
    [
        ("/home/me/pkg/sub/mod.py", "pkg.sub.mod", "pkg/sub/mod.py"),
        ("/home/me/pkg/sub/__init__.py", "pkg.sub", "pkg/sub/__init__.py"),
        ("/home/me/script.py", "__main__", "script.py"),
        ("/mod.py", "a.b.c.mod", "mod.py"),
        ("{temporary}/a.b.made_x1_z9qwe.py", "a.b.made", "a/b/made.py"),
        ("{temporary}/a.py", "a", "a.py"),
    ],
)
def test_no_path_begins_at_the_root(file: str, name: str, path: str) -> None:
    assert import_path(file.format(temporary=tempfile.gettempdir()), {"__name__": name}) == path


def test_what_is_defined_again_is_looked_at_again() -> None:
    """The functions of all these nets are equal, also as code, and lie in different files."""
    code = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    for file in ("first", "second"):
        namespace: dict[str, type[torch.nn.Module]] = {"__name__": file}  # type: ignore[dict-item]
        exec(compile(code, f"/nets/{file}.py", "exec"), namespace)
        model = namespace["Net"]()
        assert [record(model, torch.ones(2)).ops[0].source for _ in range(2)] == [f"{file}.py:4"] * 2


def test_one_code_in_two_modules() -> None:
    code = compile("def add(x):\n    return x + 1\n", "/nets/one/add.py", "exec")

    class Net(torch.nn.Module):
        def __init__(self, add: Callable[[torch.Tensor], torch.Tensor]) -> None:
            super().__init__()
            self.add = add

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.add(x)

    namespaces: list[dict[str, Any]] = [{"__name__": name} for name in ("add", "one.add")]
    for namespace in namespaces:
        exec(code, namespace)
    models = [Net(namespace["add"]) for namespace in namespaces]
    assert [record(model, torch.ones(2)).ops[0].source for model in models * 2] == ["add.py:2", "one/add.py:2"] * 2


def test_code_is_not_kept_alive_by_what_is_known_of_it() -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def add(x):\n    return x + 1\n", "/nets/add.py", "exec"), namespace)

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return namespace["add"](x)

    assert record(Net(), torch.ones(2)).ops[0].source == "add.py:2"
    code = weakref.ref(namespace["add"].__code__)
    namespace.clear()
    gc.collect()
    assert code() is None
