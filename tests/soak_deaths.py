"""Processes of a build that are killed by others, at some moment: a system out of memory does so, and people do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.soak_hosts import COMMANDS, ROOT, HostBuilt
from torchrecorder.processes import children, descendants

SERVER = b"torchrecorder.worker.server"
SLOW = """
import time

time.sleep(5)
"""
"""The end of a module, so that a worker is there still at the latest moment at which it is killed."""


@dataclass(frozen=True)
class Death:
    """Which process is killed, and when."""

    of: bytes = SERVER
    """What its command has; empty for every child of the builder."""
    after_s: float = 0.0
    """Since it was seen."""
    by: signal.Signals = signal.SIGKILL
    times: int = 1
    of_children: bool = False
    """Whether its children are killed, and not itself."""
    costs_diagrams: bool = False
    """Whether a diagram may be a box with a warning, because nothing could be done."""


DEATHS = {
    "the worker as it starts": Death(costs_diagrams=True),
    "the worker while it imports torch": Death(after_s=0.7, costs_diagrams=True),
    "the worker later": Death(after_s=2.0, costs_diagrams=True),
    "the worker while it records": Death(after_s=3.5, costs_diagrams=True),
    "the worker each time": Death(after_s=0.2, times=50, costs_diagrams=True),
    "the worker each time, later": Death(after_s=4.0, times=50, costs_diagrams=True),
    "the worker, asked to end": Death(by=signal.SIGTERM, after_s=2.5, costs_diagrams=True),
    "the worker, interrupted": Death(by=signal.SIGINT, after_s=2.5, costs_diagrams=True),
    "the worker hangs up": Death(by=signal.SIGHUP, after_s=2.5, costs_diagrams=True),
    "a recording": Death(of_children=True, costs_diagrams=True),
    "each recording": Death(of_children=True, times=50, costs_diagrams=True),
    "a recording by a fault": Death(of_children=True, by=signal.SIGSEGV, costs_diagrams=True),
    "all children": Death(b"", after_s=0.5, costs_diagrams=True),
    "all children, each time": Death(b"", after_s=0.1, times=200, costs_diagrams=True),
}


class Killer(threading.Thread):
    """Kills processes of a builder while it runs."""

    def __init__(self, builder: int, death: Death) -> None:
        super().__init__(daemon=True)
        self._builder, self._death = builder, death
        self.killed = 0
        self.ended = threading.Event()

    def run(self) -> None:
        seen: dict[int, float] = {}
        while not self.ended.wait(0.02) and self.killed < self._death.times:
            for pid in self._candidates():
                if time.monotonic() - seen.setdefault(pid, time.monotonic()) >= self._death.after_s:
                    with suppress(OSError):
                        os.kill(pid, self._death.by)
                        self.killed += 1
                        seen[pid] = float("inf")  # it is dead, or ignores the signal

    def _candidates(self) -> Iterator[int]:
        for pid in [*descendants(self._builder)]:
            with suppress(OSError):
                if self._death.of in Path(f"/proc/{pid}/cmdline").read_bytes():
                    is_child = not self._death.of or pid in children(self._builder)
                    if is_child is not self._death.of_children:
                        yield pid


def build(root: Path, tool: str, death: Death) -> tuple[HostBuilt, int]:
    """Build a site while its processes are killed; how many were."""
    path = os.pathsep.join(map(str, (ROOT / "core", ROOT, root / "site-of-ours")))
    out = root / "out" / tool
    command = [sys.executable, *(part.replace("{out}", str(out)) for part in COMMANDS[tool])]
    environment = {**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as builder:
        killer = Killer(builder.pid, death)
        killer.start()
        output, _ = builder.communicate(timeout=300)
        killer.ended.set()
        killer.join()
    page = out / "index.html"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return HostBuilt(builder.returncode, output.decode(errors="replace"), text), killer.killed
