"""The package of small nets that the sites of these tests document."""

from __future__ import annotations

from pathlib import Path

_INIT = """
from torch import nn


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.ReLU()

    def forward(self, x):
        return self.second(self.first(x))


class Mismatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(3, 8)
        self.narrow = nn.Linear(9, 2)

    def forward(self, x):
        return self.narrow(self.wide(x))
"""
_BROKEN = "raise RuntimeError('the weights are elsewhere')\n"
_OTHER = """
from torch import nn


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.only = nn.Linear(3, 5)

    def forward(self, x):
        return self.only(x)
"""


def write_nets(folder: Path) -> Path:
    """Write the package; gives the folder to import it from."""
    package = folder / "nets"
    package.mkdir(parents=True)
    for name, text in {"__init__": _INIT, "broken": _BROKEN, "other": _OTHER}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    return folder
