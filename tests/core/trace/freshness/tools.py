"""The project of an edit as a site of Sphinx or MkDocs, built by the tool itself in a forked process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.core.trace.freshness.conftest import Project
from tests.entries import entries

Tool = Literal["sphinx", "mkdocs"]


@dataclass(frozen=True)
class Site:
    project: Project
    tool: Tool

    def __post_init__(self) -> None:
        _, site = self.project.path
        files = {
            "docs/conf.py": f'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = ["../src", {site!r}]\n',
            "docs/index.rst": "Site\n====\n\n.. torchrecorder:: pkg.Net\n   :shape: 1,3\n",
        }
        if self.tool == "mkdocs":
            files = {
                "mkdocs.yml": f"site_name: Site\nplugins:\n  - torchrecorder:\n      path: [src, {site}]\n",
                "docs/index.md": "# Site\n\n```torchrecorder\npkg.Net\n:shape: 1,3\n```\n",
            }
        self.project.write({**files})

    def draw(self) -> tuple[tuple[str, ...], bool]:
        """What the picture of the page says, and whether that took a recording."""
        before = self._recorded()
        done = subprocess.run(self._command(), env=self._environment(), cwd=self.project.root, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return said((self._out / "index.html").read_text(encoding="utf-8")), self._recorded() != before

    @property
    def cache(self) -> Path:
        return self._out.parent / "trees" / "torchrecorder" if self.tool == "sphinx" else Path(".torchrecorder")

    @property
    def _out(self) -> Path:
        return self.project.root.parent / self.tool / "out"

    def _command(self) -> list[str]:
        if self.tool == "sphinx":
            trees = str(self.cache.parent)
            return [sys.executable, "-m", "sphinx", "-q", "-d", trees, "docs", str(self._out)]
        return [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(self._out)]

    def _environment(self) -> dict[str, str]:
        path = filter(None, (self.project.path[1], os.environ.get("PYTHONPATH"), *sys.path))
        return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "NO_MKDOCS_2_WARNING": "1"}

    def _recorded(self) -> list[tuple[Path, int]]:
        return [(file, file.stat().st_mtime_ns) for file in entries(self.project.root / self.cache)]


def said(page: str) -> tuple[str, ...]:
    """The words of the first picture."""
    picture = re.search(r"<svg.*?</svg>", page, re.DOTALL)
    assert picture is not None, page[:2000]
    return tuple(re.findall(r">([^<]+)<", picture[0]))
