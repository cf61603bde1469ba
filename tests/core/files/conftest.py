"""A small project whose files ask for pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

NETS = """from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Linear(3, width)

    def forward(self, x):
        return self.stem(x).relu()
"""
MODELS = """from filed.nets import Net

class Wide(Net):
    def __init__(self):
        super().__init__(16)

class Needs(Net):
    def __init__(self, amount):
        super().__init__(amount)
"""


def write(files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without pictures."""
    monkeypatch.chdir(tmp_path)
    write({"src/filed/__init__.py": "", "src/filed/nets.py": NETS, "src/filed/models.py": MODELS})
    return tmp_path
