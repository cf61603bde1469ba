"""Processes of our modules are forked from one that has imported torch, Sphinx, MkDocs or fsspec already.

What costs in these tests is starting Pythons: importing torch takes four seconds, Sphinx half a one. Each process is
still one of its own, with its pid, pipes and exit status; only its first imports were made before. A process is started
for real where the import path holds another module of a name that the host has imported, and in tests that use the
fixture `real_processes`, because starting is what they prove.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VARIABLE = "TORCHRECORDER_TEST_HOSTS"
"""Names the folder of the hosts' sockets; without it, all processes are started for real."""

IMPORTED = {
    "torchrecorder.worker.server": ("torchrecorder", "torch", "numpy"),
    "torchrecorder.drawing.apart": ("torchrecorder",),
    "torchrecorder.cache.remote_process": ("torchrecorder", "fsspec", "aiohttp"),
    "sphinx": ("sphinx_torchrecorder", "torchrecorder", "sphinx", "docutils"),
    "mkdocs": ("mkdocs", "markdown"),
}
"""What the host of each module imports, which a test may put another module in the place of."""
OURS = {str(ROOT / "core"), str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
"""Where the hosts import from."""
WORKER_VARIABLES = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
"""Variables of the worker that are read when Python starts or torch is imported."""


@dataclass
class Hosts:
    """The processes to fork from; they are started when they are first needed, and end with this object."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, module: str) -> None:
        """Start the host of a module, and that of the worker beside those of documentation tools."""
        if module in self.running:
            return
        address = _address(self.folder, module)
        variables = WORKER_VARIABLES if module == "torchrecorder.worker.server" else {}
        path = os.pathsep.join(map(str, (ROOT / "core", ROOT)))
        with (self.folder / f"{module}.log").open("wb") as log:
            self.running[module] = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("host.py")), module, str(address)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, **variables, "PYTHONPATH": path},
                start_new_session=True,
            )
        while not address.exists():
            assert self.running[module].poll() is None, (self.folder / f"{module}.log").read_text()
            time.sleep(0.002)
        if module in ("sphinx", "mkdocs"):  # a fork of theirs can start a worker, but no host of workers
            self.start("torchrecorder.worker.server")

    def end(self) -> None:
        for host in self.running.values():
            assert host.stdin is not None
            host.stdin.close()
            host.wait()


def divert(hosts: Hosts | None) -> None:
    """Have `subprocess` fork what it starts; without hosts to start, from those that are running."""
    plain = subprocess.Popen.__init__

    def start(self: subprocess.Popen[Any], args: Any, *more: Any, **options: Any) -> None:
        environment = options.get("env") or os.environ
        if VARIABLE in environment and (module := _module(args, environment)):
            folder = Path(environment[VARIABLE])
            if hosts is not None:
                hosts.start(module)
            if (address := _address(folder, module)).exists():
                args = [sys.executable, "-I", "-S", str(Path(__file__).with_name("stub.py")), str(address), *args[1:]]
        plain(self, args, *more, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]


def _address(folder: Path, module: str) -> Path:
    return folder / f"{module.rpartition('.')[2]}.sock"  # the system takes about 100 characters


def _module(command: object, environment: Mapping[str, str]) -> str:
    """The module that a command runs, if a fork of its host would be the same; else nothing."""
    if not isinstance(command, Sequence) or isinstance(command, str):
        return ""
    program, *rest = (*command, "", "", "")
    options = rest[:1] if rest[0] == "-P" else []
    dash_m, module = rest[len(options) : len(options) + 2]
    if program != sys.executable or dash_m != "-m" or module not in IMPORTED:
        return ""
    others = {os.path.abspath(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry} - OURS
    shadows = (Path(entry, f"{name}{end}") for entry in others for name in IMPORTED[module] for end in (".py", ""))
    return "" if any(file.exists() for file in shadows) else module
