"""The digest of a source file, taken by the worker that records and again by the build that checks."""

from __future__ import annotations

import hashlib


def source_digest(source: bytes) -> str:
    """SHA-256 in hexadecimal digits, the same for every kind of line end."""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()
