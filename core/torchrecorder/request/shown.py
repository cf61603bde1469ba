"""What a picture says besides names and classes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

Fact = Literal["shapes", "params", "flops", "memory", "dtypes", "weights"]
FACTS: tuple[Fact, ...] = ("shapes", "params", "flops", "memory", "dtypes", "weights")
"""`memory` is that of a tensor, said with its shape; `weights` draws each parameter as a node."""
USUAL: tuple[Fact, ...] = ("shapes", "params")


def shown(show: Collection[str], hide: Collection[str]) -> tuple[Fact, ...]:
    """What is said: the usual and what is asked for, without what is not wanted, in a fixed order."""
    return tuple(fact for fact in FACTS if (fact in USUAL or fact in show) and fact not in hide)
