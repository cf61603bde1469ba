"""Entries of a cache and the objects behind them, as a test reads them or a bad disk and an attacker change them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torchrecorder.cache.store import divided, entry_of, entry_text, unpacked


def entries(cache: Path, folder: str = "rec") -> list[Path]:
    """The files of recordings or drawings; of one request, the last one first."""
    return sorted((cache / folder).glob("*/*"), key=lambda file: (len(file.name), file.name))


def facts_of(file: Path) -> dict[str, Any]:
    """What an entry says; nothing if it is damaged."""
    return dict(entry_of(file.read_bytes()) or {})


def behind(file: Path) -> bytes:
    """The object behind an entry."""
    return unpacked(divided(file.read_bytes())[1]) or b""


def compressed(data: bytes, level: int = 6) -> bytes:
    """An object as a cache keeps a large one."""
    return b"zlib64:" + base64.b64encode(zlib.compress(data, level))


def rewrite(file: Path, facts: Mapping[str, Any], data: bytes | None = None) -> None:
    """Have an entry say something else under a right checksum, and have another object behind it, if one is given."""
    file.write_bytes(entry_text(facts) + (behind(file) if data is None else data))


def harm(cache: Path, change: Callable[[bytes], bytes]) -> None:
    """Change every object of a cache."""
    for file in (file for folder in ("rec", "ren", "fail") for file in entries(cache, folder)):
        text, data = divided(file.read_bytes())
        file.write_bytes(text + change(unpacked(data) or b""))
    for file in (cache / "obj").glob("*/*"):
        file.write_bytes(change(unpacked(file.read_bytes()) or b""))
