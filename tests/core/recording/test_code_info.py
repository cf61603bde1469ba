"""Whose code it is, and where it lies."""

from __future__ import annotations

from pathlib import Path

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
    ],
)
def test_no_path_begins_at_the_root(file: str, name: str, path: str) -> None:
    assert import_path(file, {"__name__": name}) == path
