"""Where another Python imports from is asked once, until it or one of its folders changes."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import pytest

from torchrecorder.cache.store import Store
from torchrecorder.worker.client import ask


def path_of(python: str, machine: Store) -> list[str] | None:
    found = ask(python, machine)
    return None if found is None else found[0]


@pytest.fixture
def machine(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A program that says what a Python would, and counts how often it was asked."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    file = tmp_path / "python"
    answer = json.dumps([["", str(packages), str(tmp_path / "absent")], "3.9.1"])
    file.write_text(f"#!/bin/sh\necho >> {tmp_path / 'asked'}\necho '{answer}'\n")
    file.chmod(0o755)
    return file


def asked(python: Path) -> int:
    return len(python.with_name("asked").read_text())


pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script is the program")


def test_it_is_asked_again_only_when_something_changed(python: Path, machine: Store) -> None:
    packages = python.with_name("site-packages")
    path = [str(packages), str(python.with_name("absent"))]
    assert path_of(str(python), machine) == path_of(str(python), machine) == path
    assert asked(python) == 1
    (packages / "new.pth").write_text("")
    assert path_of(str(python), machine) == path
    assert asked(python) == 2
    python.with_name("absent").mkdir()
    assert path_of(str(python), machine) == path
    assert asked(python) == 3
    python.write_text(python.read_text().replace("absent", "other"))
    assert path_of(str(python), machine) == [str(packages), str(python.with_name("other"))]


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"check": 1}'])
def test_a_damaged_index_knows_nothing(python: Path, machine: Store, damage: bytes) -> None:
    path = path_of(str(python), machine)
    (machine.folder / "interpreters.json").write_bytes(damage)
    assert path_of(str(python), machine) == path
    assert asked(python) == 2


def test_one_that_cannot_be_asked(python: Path, machine: Store, tmp_path: Path) -> None:
    assert path_of(str(tmp_path / "none"), machine) is None
    python.write_text("#!/bin/sh\nexit 1\n")
    assert path_of(str(python), machine) is None


def test_this_python(machine: Store) -> None:
    found = ask(sys.executable, machine)
    assert found is not None
    assert os.path.dirname(os.__file__) in found[0]
    assert found[1] == platform.python_version()
    assert ask(sys.executable, machine) == found
