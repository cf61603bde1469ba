"""A fault of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["coverage", "not drawn", "flow", "counts", "sameness"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What a View says of its Graph that is not so, or does not say."""

    kind: FaultKind
    words: str
    """A sentence for the log."""
    calls: tuple[int, ...]
    """Ids of the calls in which less should be drawn as one."""
