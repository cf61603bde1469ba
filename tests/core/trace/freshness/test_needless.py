"""Edits that change nothing and record nothing, and those beside them that do change something."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.core.trace.freshness.conftest import Project
from torchrecorder.trace.freshness import Verdict

INIT = '''"""A package."""
import logging
import os
from pathlib import Path
import torch
from torch import nn
from pkg.parts import width

__version__ = "1.0"
__all__ = ["Net"]
log = logging.getLogger(__name__)
CONF = os.listdir(Path(__file__).parent / "conf")


def helper(x: int = 3) -> int:
    return x


def other(x):
    return [x]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        size = width("4")
        spare = size + 1
        log.info("built %s", size)
        self.fc = nn.Linear(3, size)

    def forward(self, x):
        y = self.fc(x)
        if y.numel() > 100:
            y = -y
        return y
'''
PARTS = """def width(text):
    number = int(text)
    rest = 0
    return number + rest
"""
Edits = dict[str, tuple[str, str]]
"""Old and new text, by file; an empty old one writes a file."""

HARMLESS: dict[str, Edits] = {
    "type of a local variable": {"parts": ("number = int", "number: int = int")},
    "swap file": {"conf/.a.yaml.swp": ("", "x")},
    "backup": {"conf/a.yaml~": ("", "x")},
    "folder of a linter": {"conf/.ruff_cache/x": ("", "x")},
    "folder of a type checker": {"conf/.mypy_cache/x": ("", "x")},
    "folder of tests": {"conf/.pytest_cache/x": ("", "x")},
    "folder of a notebook": {"conf/.ipynb_checkpoints/x": ("", "x")},
    "data of coverage": {"conf/.coverage": ("", "x")},
    "data of coverage by process": {"conf/.coverage.host.1.x": ("", "x")},
}
NEEDLESS: dict[str, Edits] = {
    "local variable renamed": {"__init__": ("spare = size", "kept = size")},
    "used local variable renamed": {
        "parts": ("number = int(text)\n    rest = 0\n    return number", "n = int(text)\n    rest = 0\n    return n")
    },
    "log text": {"__init__": ("built %s", "made %s")},
    "new function": {"__init__": ("class Net", "def extra(x: int, y: str = 'a') -> int:\n    return x\n\n\nclass Net")},
    "new function elsewhere": {"parts": ("def width", "def more(): return 3\n\ndef width")},
    "order of functions": {
        "__init__": (
            "def helper(x: int = 3) -> int:\n    return x\n\n\ndef other(x):\n    return [x]\n",
            "def other(x):\n    return [x]\n\n\ndef helper(x: int = 3) -> int:\n    return x\n",
        )
    },
    "import order": {
        "__init__": (
            "import logging\nimport os\nfrom pathlib import Path\nimport torch\nfrom torch import nn\n",
            "import os\nimport torch\nfrom torch import nn\nimport logging\nfrom pathlib import Path\n",
        )
    },
    "version": {"__init__": ('"1.0"', '"1.1"')},
    "list of names": {"__init__": ('["Net"]', '["Net", "helper"]')},
    "new method": {"__init__": ("    def forward", "    def extra(self): return 1\n\n    def forward")},
    "annotation": {"__init__": ("def forward(self, x):", "def forward(self, x: object):")},
    "unused import": {"__init__": ("import torch\n", "import torch\nimport json\n")},
}
"""Recorded again for nothing: code may see each of them."""
CHANGING: dict[str, Edits] = {
    "number": {"parts": ("rest = 0", "rest = 1")},
    "other variable": {"parts": ("return number + rest", "return number + number")},
    "variable in a condition": {
        "__init__": (
            "y = self.fc(x)\n        if y.numel() > 100:\n            y = -y\n        return y",
            "z = self.fc(x)\n        if z.numel() > 100:\n            z = -z\n        return z",
        )
    },
    "argument renamed": {"parts": ("(text):\n    number = int(text)", "(string):\n    number = int(string)")},
    "new file": {"conf/b.yaml": ("", "x")},
    "what is logged": {"__init__": ('log.info("built %s", size)', 'log.info("built %s", width("5"))')},
    "method of no log": {"__init__": ('log.info("built %s", size)', 'log.setLevel("INFO")')},
    "function of the name of a builtin": {"parts": ("def width", "def int(x): return 5\n\ndef width")},
    "function of the name of a module": {"__init__": ("class Net", "def parts(): return 5\n\n\nclass Net")},
    "default of a function": {"__init__": ("x: int = 3", "x: int = 4")},
    "decorator": {"__init__": ("def other", "@torch.no_grad()\ndef other")},
}
SEEN: dict[str, tuple[Edits, Edits]] = {
    "hasattr": (
        {"parts": ("rest = 0", "rest = hasattr(__import__('pkg'), 'extra')")},
        NEEDLESS["new function"],
    ),
    "getattr": (
        {"parts": ("rest = 0", "rest = len(getattr(__import__('pkg'), 'ext' + 'ra', ''))")},
        NEEDLESS["new function"],
    ),
    "names of a module": ({"parts": ("rest = 0", "rest = len(dir(__import__('pkg')))")}, NEEDLESS["new function"]),
    "order of a module": (
        {"parts": ("rest = 0", "rest = 'h' in str(__import__('pkg').__dict__)")},
        NEEDLESS["order of functions"],
    ),
    "version read": ({"parts": ("rest = 0", "rest = len(__import__('pkg').__version__)")}, NEEDLESS["version"]),
    "list of names read": (
        {"parts": ("rest = 0", "rest = len(getattr(__import__('pkg'), '__all__'))")},
        NEEDLESS["list of names"],
    ),
    "locals": (
        {"parts": ("return number + rest", "return number + ('numb' + 'er' not in locals())")},
        {"parts": ("number = int(text)\n    rest = 0\n    return number", "n = int(text)\n    rest = 0\n    return n")},
    ),
    "name in a text": (
        {"parts": ("return number + rest", "return number + len(f'{number=}')")},
        {
            "parts": (
                "number = int(text)\n    rest = 0\n    return number + len(f'{number=}",
                "n = int(text)\n    rest = 0\n    return n + len(f'{n=}",
            )
        },
    ),
    "imports of one name": (
        {"__init__": ("import torch\n", "from math import floor as f\nfrom math import ceil as f\nimport torch\n")},
        {
            "__init__": (
                "from math import floor as f\nfrom math import ceil as f\n",
                "from math import ceil as f\nfrom math import floor as f\n",
            )
        },
    ),
    "own log": (
        {"__init__": ("log = logging.getLogger(__name__)", "class log:\n    info = print\n")},
        NEEDLESS["log text"],
    ),
}
"""A change to begin with, after which an edit that nothing saw changes the picture."""


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project({"src/pkg/__init__.py": INIT, "src/pkg/parts.py": PARTS, "src/pkg/conf/a.yaml": "a: 1\n"})


def edit(project: Project, edits: Edits) -> None:
    for name, (old, new) in edits.items():
        if old:
            project.edit(f"src/pkg/{name}.py", old, new)
        else:
            project.write({f"src/pkg/{name}": new})


@pytest.mark.parametrize("name", HARMLESS)
def test_what_nothing_sees_is_not_recorded_again(name: str, project: Project) -> None:
    before = project.draw()[0]
    edit(project, HARMLESS[name])
    assert project.finding().verdict is Verdict.FRESH, project.finding()
    assert project.truth().svg == before.svg


@pytest.mark.parametrize("edits", [*CHANGING.values(), *NEEDLESS.values()], ids=[*CHANGING, *NEEDLESS])
def test_what_may_be_seen_is(edits: Edits, project: Project) -> None:
    project.draw()
    edit(project, edits)
    assert project.finding().verdict is not Verdict.FRESH


@pytest.mark.parametrize("name", SEEN)
def test_what_changes_nothing_until_code_looks_for_it(name: str, project: Project) -> None:
    first, second = SEEN[name]
    edit(project, first)
    project.draw()
    edit(project, second)
    assert project.finding().verdict is not Verdict.FRESH
