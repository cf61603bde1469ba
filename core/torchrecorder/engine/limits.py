"""Limits on what a process may use, where the system has them."""

from __future__ import annotations

import contextlib
import math
import sys

MEMORY_BYTES = 2 << 30
OUTPUT_BYTES = 256 << 20


def limit(pid: int, timeout_s: float) -> None:
    """Limits memory, processor time and size of files of a running process.

    Set from outside, because code between fork and exec is unsafe in a parent with threads, and documentation is built
    in one. Only Linux can do that; elsewhere the time-out is what holds.
    """
    if sys.platform != "linux":
        return
    import resource

    seconds = math.ceil(timeout_s) + 1
    limits = (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
    )
    with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
        for kind, value in limits:
            resource.prlimit(pid, kind, (value, value))
