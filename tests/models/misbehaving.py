"""Models that do what a worker must survive; each fails, or leaves something behind, in its forward."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


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
