"""Children forked from a process that imports but never computes, each with a pipe to bring lines."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence

from torchrecorder.processes import bound, children, ending, kill, kill_group

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # of linux/prctl.h
_stat, _clock = os.stat, getattr(time, "clock_gettime", None)
"""Bound when they are imported: a trace covers them later, and would take our questions for the model's."""
_SCHED_CLOCK = 2  # of `clock_getcpuclockid`: the time that all threads of a process ran
_TIDIED_S = 10.0
"""Seconds that a builder that closed its pipe may take to end; the kernel closes the pipes of a killed one before."""
_DESCRIPTORS = 256  # more than a server has open: two for each job, and as many for its packages
MUTE = 117
"""The exit status of a child that could not answer."""


def fork(run: Callable[[int], None], *, not_theirs: Sequence[int]) -> tuple[int, int]:
    """The pid of a forked child that runs a function in a process group of its own, and the end of its pipe to read.

    The child gets the other end, closes the descriptors in `not_theirs`, and ends when the function returns.
    """
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            die_with(parent)
            for theirs in (reader, *not_theirs):
                os.close(theirs)
            run(writer)
            os._exit(0)
        finally:
            os._exit(1)  # whatever happened, a second server must not come out of this
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # both sides do it, because either may come first
    return pid, reader


def end(pid: int, *, by_itself: bool = False) -> str:
    """Kill a child with all that it started, and say how it ended.

    If its pipe has come to an end, it ends `by_itself`, and only what it started must be killed.
    """
    status = wait_a_moment(pid) if by_itself else None
    kill_group(pid)
    if status is None:
        _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return "its code closed the descriptors of the process" if code == MUTE else ending(code)


def wait_a_moment(pid: int) -> int | None:
    """The status of a child that is about to end; None if it does not, having closed its pipe for another reason."""
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    return None


def prepare(log: str, memory_bytes: int | None) -> None:
    """Send what this process prints to a log, bound its address space, and let it leave no core file behind."""
    try:
        file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    except OSError:  # a program that tidies temporary folders was faster
        file = os.open(os.devnull, os.O_WRONLY)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what a model printed before it ended the process is in the log
    faulthandler.enable()
    bound(CORE=0, **({} if memory_bytes is None else {"AS": memory_bytes}))


def adopt() -> None:
    """Become the parent of processes that this one's children leave behind, on Linux; elsewhere they get away."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_adopted(own: Collection[int]) -> None:
    """Kill the children of this process that are not its own, and those that they leave in their turn."""
    while left := children(os.getpid()).difference(own):
        for pid in left:
            kill(pid)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


def tidy_after(builder: int, folder: str = "") -> None:
    """Have a child that outlives this process remove the folder of its builder, if that was killed.

    A builder that ends the process removes its folder itself, and what is left of the session with it.
    """
    if folder and os.fork() == 0:
        try:
            os.closerange(0, _DESCRIPTORS)
            until = time.monotonic() + _TIDIED_S
            while os.path.isdir(folder) and time.monotonic() < until:
                if _is_gone(builder):
                    shutil.rmtree(folder, ignore_errors=True)
                time.sleep(0.02)
        finally:
            os._exit(0)


def _is_gone(pid: int) -> bool:
    """Whether a process has ended, also one that is not waited for yet."""
    try:
        if sys.platform == "linux":
            with open(f"/proc/{pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] == b"Z"
        os.kill(pid, 0)
    except OSError:
        return True
    return False


def used(pid: int) -> tuple[float, int]:
    """Seconds that a process has computed, and the bytes of memory that it fills; 0 where nothing tells them."""
    if sys.platform != "linux" or _clock is None:
        return 0.0, 0
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            pages = int(file.read().split()[1])
        return _clock(~pid << 3 | _SCHED_CLOCK), pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):  # it has just ended
        return 0.0, 0


def threads() -> int:
    """Number of threads of this process, also of those that Python does not know of; 1 where nothing tells it."""
    try:
        return _stat("/proc/self/task").st_nlink - 2
    except OSError:
        return 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose pid is given, is gone, however that happened."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os.kill(os.getpid(), signal.SIGKILL)
