"""The text of a module with a model of one layer, for the projects that tests write, edit and record."""

from __future__ import annotations

_TEXT = """import torch
from torch import nn
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, {width})

    def forward(self, x):
        return self.fc(x)
{more}
"""


def net(width: object = 4, imports: str = "", more: str = "") -> str:
    """The text of a module with `Net`, a linear layer from 3 to as many as the code for `width` gives."""
    return _TEXT.format(width=width, imports=imports, more=more)
