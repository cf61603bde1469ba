"""Digests of contents and of texts, taken after a recording and compared by later builds."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import BinaryIO

_DIGITS = 32
"""Hexadecimal digits kept of a SHA-256: changes are found by it, not attacks, and manifests are kept in git."""

_ROUNDS = 10_000
_PIECE = 1 << 20
"""Bytes of a file that are in memory at once; reading it in larger pieces takes as long."""
_PASSING = re.compile(
    r"__pycache__|\.torchrecorder|\.git|.*\.py[co]|\..*\.(?:sw[a-z]|kate-swp|un~)|.*~|\.#.*|#.*#|4913"
    r"|\.goutputstream-.*|\.DS_Store|Thumbs\.db|desktop\.ini"
    r"|\.(?:ruff|mypy|pytest)_cache|\.hypothesis|\.coverage(?:\..*)?|\.ipynb_checkpoints",
    re.DOTALL,
)
"""What importing, drawing, editors, desktops and checkers of code leave in a folder does not count."""


def source_digest(source: bytes) -> str:
    """The digest of a text, the same for every kind of line end."""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]


def file_digest(file: BinaryIO) -> str:
    """The digest of a file: of a text, which has no NUL, as git decides, the same for every kind of line end.

    It is read in pieces, for a model may look into a file of many gigabytes.
    """
    data, text = hashlib.sha256(), hashlib.sha256()
    is_text, rest = True, b""
    while piece := file.read(_PIECE):
        data.update(piece)
        if is_text := is_text and b"\0" not in piece:
            piece, rest = rest + piece, b"\r" if piece.endswith(b"\r") else b""
            text.update(piece.removesuffix(rest).replace(b"\r\n", b"\n"))
    text.update(rest)
    return (text if is_text else data).hexdigest()[:_DIGITS]


def is_passing(name: str) -> bool:
    """Whether a name in a folder comes and goes without a meaning."""
    return _PASSING.fullmatch(name) is not None


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@lru_cache(maxsize=256)  # the diagrams of a site ask for the same variables
def salted_digest(text: str, salt: str) -> str:
    """The digest of a text that must not be readable, such as the value of a variable; it names its salt.

    It takes milliseconds to make, so that trying texts takes long.
    """
    digest = hashlib.pbkdf2_hmac("sha256", text.encode("utf-8", "surrogatepass"), salt.encode(), _ROUNDS)
    return f"{salt}${digest.hex()[:_DIGITS]}"


def is_salted_of(text: str, digest: str) -> bool:
    """Whether the digest is of that text; one that an earlier version made has no salt."""
    salt, sign, _ = digest.partition("$")
    return (salted_digest(text, salt) if sign else text_digest(text)) == digest
