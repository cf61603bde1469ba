"""Packages of npm in a folder of a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def node_with(folder: Path, *packages: str) -> str:
    """Node.js for a folder that has some packages now; a test without it, or without the registry, is skipped."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not on the PATH: install Node.js")
    if subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=folder, check=False
    ).returncode:
        pytest.skip(f"npm cannot fetch {', '.join(packages)}")
    return node
