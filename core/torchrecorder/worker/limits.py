"""What keeps somebody else's code from harming the machine it runs on."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def limit(memory_bytes: int | None) -> None:
    """Bound the address space of this process, and let it leave no core file behind."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no limits, macOS not this one
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes is not None:
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            bound = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
            resource.setrlimit(resource.RLIMIT_AS, (bound, hard))


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose id is given, is gone, however that happened."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os.kill(os.getpid(), signal.SIGKILL)
