"""Folders compared."""

from __future__ import annotations

from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by their paths in it."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
