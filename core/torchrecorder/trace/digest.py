"""Digests, taken by the worker that records and again by the build that checks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

DIGITS = 32
"""Hexadecimal digits kept of a SHA-256: changes are found by it, not attacks, and manifests are kept in git."""

_PASSING = (".pyc", ".pyo")
_PASSING_FOLDERS = {"__pycache__", ".torchrecorder", ".git"}


def source_digest(source: bytes) -> str:
    """The digest of a text, the same for every kind of line end."""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()[:DIGITS]


def data_digest(data: bytes) -> str:
    """The digest of a file of either kind: a text if it has no NUL, as git decides."""
    return source_digest(data) if b"\0" not in data else hashlib.sha256(data).hexdigest()[:DIGITS]


def text_digest(text: str) -> str:
    """The digest of a value that must not be readable, such as that of an environment variable."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]


def folder_digest(names: Iterable[str]) -> str:
    """The digest of what lies in a folder, but for what importing and drawing leave there."""
    kept = sorted(name for name in names if name not in _PASSING_FOLDERS and not name.endswith(_PASSING))
    return text_digest("\n".join(kept))
