"""Builds a site with Sphinx and one with MkDocs, strictly, and looks for the picture in both.

`python build.py PYTHON`: PYTHON records; the one that runs this needs no torch.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

NETS = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
"""
CONF = """
extensions = ["sphinx_torchrecorder"]
torchrecorder_path = ["../src"]
torchrecorder_python = {python!r}
"""
MKDOCS = """
site_name: versions
docs_dir: pages
plugins:
  - torchrecorder:
      path: [src]
      python: {python}
"""
FILES = {
    "src/nets.py": NETS,
    "docs/conf.py": CONF,
    "docs/index.rst": "Net\n===\n\n.. torchrecorder:: nets.Net\n   :shape: 2,3\n",
    "mkdocs.yml": MKDOCS,
    "pages/index.md": "# Net\n\n```torchrecorder\nnets.Net\n:shape: 2,3\n```\n",
}
BUILDS = {
    "sphinx/index.html": ["sphinx", "-W", "--keep-going", "-b", "html", "docs", "sphinx"],
    "mkdocs/index.html": ["mkdocs", "build", "--strict", "--site-dir", "mkdocs"],
}


def main(python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.replace("{python!r}", repr(python)).replace("{python}", python), encoding="utf-8")
        for page, (tool, *arguments) in BUILDS.items():
            subprocess.run([sys.executable, "-m", tool, *arguments], cwd=folder, check=True)
            html = Path(folder, page).read_text(encoding="utf-8")
            assert html.count("<svg") == 1, f"{page} has no picture"
            assert "torchrecorder-error" not in html, f"{page} has an error in place of the picture"
            print(tool, importlib.metadata.version(tool), "has drawn it", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
