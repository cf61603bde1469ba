"""Digests of a module's parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchrecorder.trace.digests import Blocks, read_blocks

CORE = Path(__file__).parents[3] / "core"
SOURCE = '''"""Module."""
import math

WIDTH = 4

@math.cos
def outer(a, b=WIDTH, *rest, c: int = 1, **more) -> int:
    """Text."""
    def inner():
        return [x for x in rest]
    return inner() + (lambda: b)()

class Net(object, metaclass=type):
    """Text."""
    depth = 2

    def forward(self, x):
        return f"{x!r:>{self.depth}} \\u00e9" "b" 'c' * 10_000

    class Inner:
        def deep(self): return -0.0, 1j, b"x", ..., 10 ** 3

if WIDTH:
    def twice(): return 1
else:
    def twice(): return 2
'''


def blocks(text: str) -> Blocks:
    found = read_blocks(text.encode())
    assert found is not None
    return found


def test_names_functions_as_python_does() -> None:
    assert sorted(blocks(SOURCE).functions) == [
        "Net.Inner.deep",
        "Net.forward",
        "outer",
        "outer.<locals>.inner",
        "twice",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Module."""\n', ""),
        ('    """Text."""\n    depth', "    depth"),
        ("WIDTH = 4", "# why\nWIDTH   =  4  # so"),
        ("10_000", "10000"),
        ("return f", "return  f"),
        ("'c'", '"c"'),
        ("\n", "\r\n"),
        ("def forward(self, x):", "def forward(\n        self,\n        x,\n    ):"),
    ],
)
def test_what_does_not_count(old: str, new: str) -> None:
    assert old in SOURCE
    assert blocks(SOURCE.replace(old, new)) == blocks(SOURCE)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("WIDTH = 4", "WIDTH = 4.0", ""),
        ("@math.cos", "@math.sin", ""),
        ("c: int = 1", "c: int = 2", ""),
        ("def inner", "def renamed", "outer"),
        ("depth = 2", "depth = 3", ""),
        ("metaclass=type", "metaclass=object", ""),
        ("for x in rest", "for x in more", "outer.<locals>.inner"),
        ("lambda: b", "lambda: a", "outer"),
        ("-0.0", "0.0", "Net.Inner.deep"),
        ("1j", "1.0", "Net.Inner.deep"),
        ("return 2", "return 3", "twice"),
        ("else:", "elif 1:", ""),
    ],
)
def test_what_counts_and_where(old: str, new: str, changed: str) -> None:
    before, after = blocks(SOURCE), blocks(SOURCE.replace(old, new, 1))
    assert (before.skeleton != after.skeleton) == (not changed)
    differing = {name for name in before.functions if before.functions[name] != after.functions.get(name)}
    assert (changed in differing) == bool(changed)


def test_what_ran() -> None:
    found = blocks(SOURCE)
    assert found.ran(["", "Net.", "Net.forward.", "outer.<locals>.inner."]) == {
        "Net.forward": found.functions["Net.forward"],
        "outer.<locals>.inner": found.functions["outer.<locals>.inner"],
    }
    assert found.ran(["made_by_global"]) is None


@pytest.mark.parametrize("source", [b"def f(:", b"\x00", b"\xff\xfe", b"(" * 5000, b"x = " + b"-" * 100_000 + b"1"])
def test_what_cannot_be_parsed(source: bytes) -> None:
    assert read_blocks(source) is None


def test_an_endless_number_is_no_problem() -> None:
    assert read_blocks(b"x = 0x" + b"f" * 20_000) is not None


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_equal_on_every_python(version: str) -> None:
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here")
    script = (
        "import json, sys, pathlib; from torchrecorder.trace.digests import read_blocks;"
        "names = json.load(sys.stdin);"
        "print(json.dumps({n: (b.skeleton, b.functions) for n in names"
        " if (b := read_blocks(pathlib.Path(n).read_bytes()))}))"
    )
    names = [str(file) for file in sorted(Path(os.__file__).parent.glob("[a-d]*.py"))]
    answers = [
        subprocess.run(
            [python, "-W", "ignore", "-c", script],
            input=json.dumps(names),
            env={**os.environ, "PYTHONPATH": str(CORE)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for python in (sys.executable, str(found[-1]))
    ]
    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])) > 20


BODY = "def f(self, x):\n    {}\n    def g(): return y\n    class C:\n        {}\n    return x\n"


@pytest.mark.parametrize("old", ["y = 4", "self.y = 4", "y = self.z = 4", "y = f(x)"])
def test_annotations_of_local_variables_do_not_count(old: str) -> None:
    target, _, value = old.rpartition(" = ")
    if " = " in target:
        assert blocks(BODY.format(old, "z = 1")) != blocks(
            BODY.format(f"{target.partition(' = ')[0]}: int = 4", "z = 1")
        )
        return
    before = blocks(BODY.format(old, "z = 1"))
    assert blocks(BODY.format(f"{target}: int = {value}", "z = 1")) == before
    assert blocks(BODY.format(f"{target}: int", "z = 1")) != before
    assert blocks(BODY.format(old, "z: int = 1")) != before, "a class keeps its own"


def test_annotations_of_a_module_count() -> None:
    assert blocks("x: int = 4\n") != blocks("x = 4\n")
