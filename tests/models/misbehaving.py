"""Models that do what a worker must survive; each fails, or leaves something behind, in its forward."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

SLEEP = [sys.executable, "-c", "import time; time.sleep(1000)", os.environ.get("LIM_MARK", "")]
"""A process that is found by its mark."""


class Net(nn.Module):
    """The one that does nothing wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x).relu()


class Exits(Net):
    def forward(self, x: Tensor) -> Any:
        os._exit(3)


class SysExits(Net):
    def forward(self, x: Tensor) -> Any:
        sys.exit(4)


class Stops(Net):
    def forward(self, x: Tensor) -> Any:
        raise SystemExit


class Interrupts(Net):
    def forward(self, x: Tensor) -> Any:
        raise KeyboardInterrupt


class Segfaults(Net):
    def forward(self, x: Tensor) -> Any:
        print("about to fall", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


class Falls(Net):
    def forward(self, x: Tensor) -> Any:
        ctypes.string_at(0)


class Loops(Net):
    def forward(self, x: Tensor) -> Any:
        print("round and round", flush=True)
        while True:
            pass


class Recurses(Net):
    def forward(self, x: Tensor) -> Any:
        return self.forward(x)


class Native(Net):
    """Loops in C, where no signal is handled."""

    def forward(self, x: Tensor) -> Any:
        print("deep down", flush=True)
        re.match(r"(a|a)*$", "a" * 60 + "b")


class Hoards(Net):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x) + len(bytearray(64 << 30))


class HoardsTensor(Net):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x) + torch.empty(64 << 30, dtype=torch.uint8)[0]


class Keeps(Net):
    def forward(self, x: Tensor) -> Any:
        with Path(__file__).with_name("lim_keeps").open("a") as count:
            count.write("x")
        kept = []
        while True:
            kept.append(self.fc(x) + torch.zeros(1 << 22, 2))


class Closes(Net):
    def forward(self, x: Tensor) -> Any:
        os.closerange(3, 1000)
        return super().forward(x)


class Unserialisable(Net):
    def forward(self, x: Tensor) -> Any:
        return {"net": (lambda: 1), "x": super().forward(x), 3: object(), "s": "\udcff"}


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unsaid(Net):
    def forward(self, x: Tensor) -> Any:
        raise Unspeakable


class Prints(Net):
    def forward(self, x: Tensor) -> Any:
        print("{not json")
        os.write(1, b"raw\n")
        os.system("echo shell")
        return super().forward(x)


class LeavesThread(Net):
    def forward(self, x: Tensor) -> Any:
        threading.Thread(target=time.sleep, args=(1000,)).start()
        return super().forward(x)


class Forks(Net):
    def forward(self, x: Tensor) -> Any:
        if os.fork() == 0:
            time.sleep(1000)
        return super().forward(x)


class ChangesFolder(Net):
    def forward(self, x: Tensor) -> Any:
        os.chdir("/")
        sys.path.clear()
        os.environ.clear()
        return super().forward(x)


class Leaves(Prints, LeavesThread, Forks, ChangesFolder):
    """All of that, and a process."""

    def forward(self, x: Tensor) -> Any:
        subprocess.Popen(["sleep", "1000"])
        return super().forward(x)


class LeavesAndLoops(Net):
    def forward(self, x: Tensor) -> Any:
        if os.fork() == 0:
            time.sleep(1000)
        Path(os.environ["LIM_COUNT"]).write_text("running")
        while True:
            pass


class HalfPair(Net):
    """What `os.fsdecode` gives for a name that is not UTF-8."""

    def __init__(self) -> None:
        super().__init__()
        self.add_module("a\ud800", nn.Linear(3, 3))

    def extra_repr(self) -> str:
        return "of \udcff"

    def forward(self, x: Tensor) -> Any:
        super().forward(self.get_submodule("a\ud800")(x))
        raise ValueError("no file \udcff")


class HalfPairs(HalfPair):
    def forward(self, x: Tensor) -> Any:
        return super(HalfPair, self).forward(self.get_submodule("a\ud800")(x))


class Scribbles(Net):
    def forward(self, x: Tensor) -> Any:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"garbage\n")
            except OSError:
                continue
        return super().forward(x)


class Tidies(Net):
    """Removes the folders of temporary files that its own process did not make."""

    def forward(self, x: Tensor) -> Any:
        for folder in Path(tempfile.gettempdir()).glob("torchrecorder-*"):
            shutil.rmtree(folder, ignore_errors=True)
        return super().forward(x)


class LeavesDaemons(Net):
    """One process in a session of its own, and one whose parent has ended too."""

    def forward(self, x: Tensor) -> Any:
        subprocess.Popen([*SLEEP, "setsid"], start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [*SLEEP, "daemon"])
            os._exit(0)
        time.sleep(0.2)
        return super().forward(x)


class DaemonsAndExits(LeavesDaemons):
    def forward(self, x: Tensor) -> Any:
        super().forward(x)
        os._exit(3)


class Floods(Net):
    def forward(self, x: Tensor) -> Any:
        for _ in range(300):
            os.write(1, b"x" * (1 << 20))
        os._exit(3)


class Shouts(Net):
    def forward(self, x: Tensor) -> Any:
        raise ValueError("no! " * 2_500_000)


class Clears(Net):
    """Writes what clears a terminal, rings its bell and turns the direction of a line."""

    def forward(self, x: Tensor) -> Any:
        raise ValueError("\x1b[2J\x07\0\u202eback")
