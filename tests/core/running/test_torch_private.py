from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchrecorder.running import torch_private

ROOT = Path(__file__).parents[3]
OURS = ROOT / "core" / "torchrecorder"

LAYERS_OF_MODES = {torch_private.DISPATCH_MODE.path, torch_private.SCHEMA.path}
WRITES = {"real 1", "fake 1", "meta 1", "classic 1"}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    program = Path(__file__).with_name("without_parts.py")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'core'}:{ROOT}"}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


def test_nothing_is_missing_here(outcomes: dict[str, Any]) -> None:
    assert "error" not in outcomes[""], outcomes[""]["error"]
    assert outcomes[""]["notes"] == []


@pytest.mark.parametrize("path", torch_private.PARTS)
def test_without_it_everything_is_recorded_and_a_note_says_what_is_lost(path: str, outcomes: dict[str, Any]) -> None:
    found = outcomes[path]
    assert "error" not in found, found["error"]
    (note,) = found.pop("notes")
    assert note.startswith("torch ")
    assert note.endswith(torch_private.PARTS[path].lost)
    for net, (calls, ops) in found.items():
        whole_calls, whole_ops = outcomes[""][net]
        assert calls == whole_calls
        assert ops == whole_ops or (net in WRITES and path in LAYERS_OF_MODES) or path == torch_private.VERSION.path


def test_all_that_is_lost_is_said_differently() -> None:
    assert len({part.lost for part in torch_private.PARTS.values()}) == len(torch_private.PARTS) > 20


def private_uses(file: Path) -> Iterator[str]:
    """What a file takes from torch that begins with an underscore, as far as can be read."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        for name in names:
            first, *rest = name.split(".")
            if first in ("torch", "nn", "Tensor") and any(
                part.startswith("_") and not part.endswith("__") for part in rest
            ):
                yield f"{file.relative_to(OURS)}: {name}"


def test_private_parts_are_used_in_one_file() -> None:
    mine = OURS / "running" / "torch_private.py"
    used = [use for file in sorted(OURS.rglob("*.py")) if file != mine for use in private_uses(file)]
    assert used == []
    assert list(private_uses(mine)) != []
