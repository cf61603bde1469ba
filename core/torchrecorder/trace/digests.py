"""Digests of contents and of texts, taken after a recording and compared by later builds."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_DIGITS = 32
"""Hexadecimal digits kept of a SHA-256: changes are found by it, not attacks, and manifests are kept in git."""

_ROUNDS = 10_000


def source_digest(source: bytes) -> str:
    """The digest of a text, the same for every kind of line end."""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]


def data_digest(data: bytes) -> str:
    """The digest of a file of either kind: a text if it has no NUL, as git decides."""
    return source_digest(data) if b"\0" not in data else hashlib.sha256(data).hexdigest()[:_DIGITS]


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
