"""Edits of every day that change no picture, of one project as real ones are."""

from __future__ import annotations

from tests.core.trace.freshness.cases import (
    Case,
    Edit,
    Files,
    each,
    installed,
    link,
    put,
    remove,
    replace,
    rewrite,
    touch,
    variables,
)
from tests.core.trace.freshness.test_needless import HARMLESS, INIT, NEEDLESS, PARTS, edit
from tests.core.trace.freshness.test_needless import Edits as Texts

FILES: Files = {
    "src/pkg/__init__.py": INIT,
    "src/pkg/parts.py": PARTS,
    "src/pkg/spare.py": "def unused():\n    return 1\n",
    "src/pkg/conf/a.yaml": "a: 1\n",
    "docs/conf.py": "project = 'x'\n",
    "tests/test_net.py": "def test(): pass\n",
    "README.md": "# Net\n",
    "pyproject.toml": "[project]\nname = 'pkg'\nversion = '1.0'\n",
}


def by(texts: Texts) -> Edit:
    return lambda project: edit(project, texts)


def moved(project: object) -> None:
    """The whole project lies elsewhere."""
    project.move(project.root.with_name("moved"))  # type: ignore[attr-defined]


def back(project: object) -> None:
    """A branch is checked out and left again."""
    text = (project.root / "src/pkg/parts.py").read_text()  # type: ignore[attr-defined]
    each(replace("parts.py", "rest = 0", "rest = 1"), put({"src/pkg/parts.py": text}))(project)


def mode(project: object) -> None:
    (project.root / "src/pkg/parts.py").chmod(0o755)  # type: ignore[attr-defined]


LAYOUT: dict[str, Edit] = {
    "comment": replace("parts.py", "    rest = 0", "    # nothing\n    rest = 0  # noqa"),
    "comment at the end": replace("parts.py", "return number + rest\n", "return number + rest\n# end\n"),
    "docstring of a module": put({"src/pkg/parts.py": f'"""Parts."""\n\n{PARTS}'}),
    "docstring of a function": replace("parts.py", "    number", '    """How wide."""\n    number'),
    "docstring of a class": replace("__init__.py", "Module):\n", 'Module):\n    """Made of one layer."""\n\n'),
    "docstring changed": replace("__init__.py", '"""A package."""', '"""Our package."""'),
    "licence": rewrite(".py", lambda text: b"# SPDX-License-Identifier: MIT\n" + text),
    "quotes": replace("__init__.py", '"built %s"', "'built %s'"),
    "wrapped call": replace(
        "__init__.py", "nn.Linear(3, size)", "nn.Linear(\n            3,\n            size,\n        )"
    ),
    "parentheses": replace("parts.py", "return number + rest", "return (number + rest)"),
    "number written otherwise": replace("__init__.py", "> 100", "> 1_00"),
    "line ends": rewrite(".py", lambda text: text.replace(b"\n", b"\r\n")),
    "byte order mark": rewrite(".py", lambda text: b"\xef\xbb\xbf" + text),
    "coding line": rewrite(".py", lambda text: b"# -*- coding: utf-8 -*-\n" + text),
    "indent of two": rewrite("parts.py", lambda text: text.replace(b"    ", b"  ")),
    "tabs": rewrite("parts.py", lambda text: text.replace(b"    ", b"\t")),
    "blank lines": rewrite(".py", lambda text: text.replace(b"\n\n\n", b"\n\n\n\n")),
    "no line end at the end": rewrite("parts.py", bytes.rstrip),
    "text in two parts": replace("__init__.py", 'width("4")', 'width("" "4")'),
    "two imports on one line": replace("__init__.py", "import logging\nimport os\n", "import logging, os\n"),
}
FOLDERS: dict[str, Edit] = {
    "date of a file": touch("src/pkg/parts.py", 1_800_000_000),
    "mode of a file": mode,
    "text of the readme": put({"README.md": "# Our net\n"}),
    "test": put({"tests/test_net.py": "def test(): assert True\n"}),
    "settings of the documentation": put({"docs/conf.py": "project = 'y'\n"}),
    "settings of the project": put({"pyproject.toml": "[project]\nname = 'pkg'\nversion = '1.1'\n"}),
    "module that nothing imports": put({"src/pkg/more.py": "X = 1\n"}),
    "module that nothing imports is edited": replace("spare.py", "1", "2"),
    "module that nothing imports goes": remove("src/pkg/spare.py"),
    "bytecode": put({"src/pkg/__pycache__/spare.cpython-311.pyc": b"x"}),
    "folder of git": put({".git/HEAD": "ref: refs/heads/main\n", ".git/index": b"x"}),
    "notebook": put({"notebooks/a.ipynb": "{}"}),
    "stub": put({"src/pkg/parts.pyi": "def width(text: str) -> int: ...\n"}),
    "marker of types": put({"src/pkg/py.typed": ""}),
    "data that nothing reads": put({"src/pkg/data/b.json": "{}"}),
    "link that nothing follows": link("src/latest", "pkg"),
    "project elsewhere": moved,
    "branch left and back": back,
    "other variable": variables(NET_OTHER="1", CI="true"),
    "variable of a terminal": variables(TERM="dumb", COLUMNS="100"),
    "file of Finder": put({"src/pkg/conf/.DS_Store": b"x"}),
    "lock of an editor": put({"src/pkg/conf/.#a.yaml": "x"}),
}
KNOWN: dict[str, Edit] = {
    "comment in data": put({"src/pkg/conf/a.yaml": "a: 1  # one\n"}),
    "other package": put(installed("otherlib", "1.0")),
}
WITHOUT_EFFECT: dict[str, Case] = {
    name: Case(FILES, change)
    for name, change in (
        *LAYOUT.items(),
        *FOLDERS.items(),
        *KNOWN.items(),
        *((name, by(texts)) for name, texts in {**HARMLESS, **NEEDLESS}.items()),
    )
}
