"""A documentation project in a temporary folder, built by `sphinx-build` in a process of its own, as users do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]

NETS = '''
import torch
from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width=8):
        super().__init__()
        self.enter = nn.Linear(3, width)
        self.leave = nn.Linear(width, 2)

    def forward(self, x):
        return self.leave(self.enter(x).relu())
'''

DETOUR = """
import torch
from torch import nn


class Detour(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(torch.from_numpy(self.layer(x).detach().numpy()))
"""
"""A net that leaves PyTorch on its way."""

CONF = """
extensions = ["sphinx_torchrecorder"]
torchrecorder_path = ["../src"]
exclude_patterns = ["*.inc"]
show_warning_types = True  # as Sphinx 8 does by itself
"""

# Each Python process of a build tells how it was started and which modules it had loaded in the end.
_WATCH = """
import atexit, json, os, sys
def tell():
    seen = {"argv": sys.orig_argv, "modules": sorted(name for name in sys.modules if "." not in name)}
    with open(os.environ["WATCH_LOG"], "a") as log:
        log.write(json.dumps(seen) + "\\n")
atexit.register(tell)
own, leave = os.getpid(), os._exit
def leave_at_once(status):
    if os.getpid() == own:
        tell()
    leave(status)
os._exit = leave_at_once
"""


@dataclass(frozen=True)
class Process:
    """A Python process of a build."""

    argv: list[str]
    modules: list[str]


@dataclass(frozen=True)
class Built:
    """What a build left behind."""

    folder: Path
    status: int
    output: str
    warnings: str
    processes: list[Process] = field(default_factory=list)

    @property
    def workers(self) -> list[Process]:
        return [process for process in self.processes if "torchrecorder.worker.server" in process.argv]

    @property
    def builder(self) -> Process:
        return next(process for process in self.processes if "sphinx" in process.argv)

    def text(self, name: str) -> str:
        return Path(self.folder, name).read_text(encoding="utf-8")

    def svgs(self, name: str) -> list[str]:
        return re.findall(r"<svg.*?</svg>", self.text(name), re.DOTALL)

    def ok(self) -> Built:
        """Itself, if nothing went wrong."""
        assert (self.status, self.warnings) == (0, ""), f"{self.output}\n{self.warnings}"
        return self


class Project:
    """Sources of documentation and of models, side by side."""

    def __init__(self, root: Path, cache: Path | None = None) -> None:
        """A project that keeps its recordings in a cache of others too, if one is given."""
        self.root = root
        if cache is not None:
            (root / "out" / "doctrees").mkdir(parents=True)
            (root / "out" / "doctrees" / "torchrecorder").symlink_to(cache)
        self.write("docs/conf.py", CONF)
        self.write("src/nets.py", NETS)
        self.write("watch/sitecustomize.py", _WATCH)

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def with_pages(self, pages: Mapping[str, str]) -> Project:
        """Itself with pages in reStructuredText and Markdown, with numbers for figures, and with `detour.Detour`."""
        self.configure('numfig = True\nextensions.append("myst_parser")')
        self.write("src/detour.py", DETOUR)
        for name, text in pages.items():
            self.write(f"docs/{name}", text)
        return self

    def configure(self, text: str) -> None:
        with Path(self.root, "docs/conf.py").open("a", encoding="utf-8") as conf:
            conf.write("\n" + dedent(text))

    def build(self, builder: str = "html", *options: str, only: str = "", path: str = "") -> Built:
        log = self.root / "watch.log"
        log.unlink(missing_ok=True)
        out = self.root / "out" / builder
        doctrees = self.root / "out" / ("doctrees-gettext" if builder == "gettext" else "doctrees")
        command = [sys.executable, "-m", "sphinx", "-b", builder, "-d", str(doctrees), *options, "docs", str(out)]
        command += [only] if only else []
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, **self._environment(log, path)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
        )
        seen = log.read_text().splitlines() if log.exists() else []
        return Built(out, done.returncode, done.stdout, done.stderr, [Process(**json.loads(line)) for line in seen])

    def _environment(self, log: Path, first: str) -> dict[str, str]:
        path = [*([self.root / first] if first else []), ROOT / "core", ROOT, self.root / "watch"]
        return {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "WATCH_LOG": str(log),
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
