"""How much memory a forward on numbers may still take: of this process, of its control group, of the machine.

A forward that keeps what it makes and does not end fills all of it, and the kernel then kills a process, not always
this one. Only Linux says what is left; elsewhere such a forward ends when torch cannot allocate, or with the time-out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

OWN = 4096
"""Bytes that a recording and Python take for each tensor, besides its data."""
_FIRST_LOOK = 64 << 20
"""Bytes that are made before it is worth to look for the first time; most forwards make less."""
_MIB = 1 << 20  # bytes
_ROOT = Path("/")
_OF_ITS_OWN = 3 / 4
"""Of what a trial may fill: a forward ends there, before the process is ended, and is followed by shape instead. It has
a quarter for itself, whatever has been imported."""
_bounds: list[int] = []
"""Bytes that this process may fill, if it may not fill what there is."""


def bound(resident: int) -> None:
    """Have this process count as left only what it may fill; 0 for all that there is."""
    with suppress(OSError):  # a jail without /proc
        _bounds[:] = [max(int(resident * _OF_ITS_OWN), _resident() + resident // 4)] if resident else []


class Room:
    """The memory that was left when a forward had begun to take some."""

    def __init__(self) -> None:
        self.until = _FIRST_LOOK if sys.platform == "linux" else sys.maxsize
        """Bytes that the forward may make in all until `taken` is to be asked."""
        self._left = self._resident = 0

    def taken(self, made: int) -> str:
        """Sentence of what the forward has taken, if little is left and most of the rest is its own; else empty."""
        try:
            now_left, resident = left(), _resident()
        except OSError:  # a jail without /proc
            self.until = sys.maxsize
            return ""
        self._left = self._left or now_left
        self._resident = self._resident or resident
        self.until = made + max(now_left // 2, _MIB)
        grown = resident - self._resident
        # Another process may have taken it: then this forward is not to blame.
        if now_left > self._left // 8 or grown < self._left // 2:
            return ""
        return f"it keeps {_amount(grown)} of the {_amount(self._left)} of memory that were left"


def left() -> int:
    """The memory that is left for this process, where that can be said."""
    return min(_of_addresses(), _of_machine(_ROOT), *_of_groups(_ROOT), *(most - _resident() for most in _bounds))


def most() -> int:
    """The memory that this process may fill, as far as it is bounded by us."""
    return min(_bounds, default=sys.maxsize)


def _pages(column: int) -> int:
    return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def _resident() -> int:
    return _pages(1)


def _of_addresses() -> int:
    """The room that a limit of the address space leaves, which is how a worker bounds its jobs."""
    import resource

    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if bound == resource.RLIM_INFINITY else bound - _pages(0)


def _of_machine(root: Path) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return sys.maxsize


def _of_groups(root: Path) -> Iterator[int]:
    """The room in the control groups of this process, of both versions; none is left in one by those around it."""
    yield sys.maxsize
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            top, bound, usage, cached = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top, bound, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        folder = root / top / path.lstrip("/")
        while folder != (root / top).parent:
            with suppress(OSError):  # the topmost one has none; one in a container may not be shown
                limit = (folder / bound).read_text().strip()
                used = int((folder / usage).read_text())
                facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                if limit != "max":  # the kernel gives up pages of files that are not in use before it kills a process
                    yield int(limit) - used + int(facts.get(cached, 0))
            folder = folder.parent


def _amount(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / _MIB:.0f} MiB"
