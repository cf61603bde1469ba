"""The originals, which `nox -s tests -- -m parity` installs aside: some have our names, and nothing else needs one.

`PARITY_TORCHVIEW` and its like name the folder that one was installed into; without it nothing is compared.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import pytest


def folder_of(seed: str) -> str:
    """Where the original is; skips the module that asks if it is nowhere."""
    folder = os.environ.get(f"PARITY_{seed.upper()}", "")
    if not folder:
        pytest.skip(f"{seed} is not installed; nox -s tests -- -m parity does it", allow_module_level=True)
    return folder


def original(seed: str, module: str) -> Any:
    """A module of the original."""
    folder = folder_of(seed)
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(module)
