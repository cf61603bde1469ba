"""A small package with its documentation, in a throw-away folder, on a machine of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT
from tests.docs.commands import HIDDEN, SENT

NETS = '''"""Nets of the pages."""

from torch import nn


class Block(nn.Module):
    """A step with a way around it."""

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return x + self.norm(self.conv(x)).relu()


class Net(nn.Module):
    """A net for small pictures."""

    def __init__(self, width=8, blocks=2):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Tagger(nn.Module):
    """A class for each word that the mask does not hide."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, ids, mask):
        return self.head(self.words(ids)) * mask[..., None]
'''
FILES = {
    "pyproject.toml": (
        '[project]\nname = "pkg"\nversion = "1"\ndependencies = ["torch"]\n\n[project.optional-dependencies]\n'
        'docs = ["torchrecorder-docs[sphinx,mkdocs]", "furo"]\n'
    ),
    ".gitignore": "__pycache__/\n.torchrecorder/\n_build/\n/site/\n",
    "src/pkg/__init__.py": NETS,
    "packages/vision/src/vision/__init__.py": NETS,
    "packages/text/src/text/__init__.py": (
        "from torch import nn\n\n\nclass Net(nn.Sequential):\n    def __init__(self):\n"
        "        super().__init__(nn.Embedding(1000, 8), nn.Linear(8, 4))\n"
    ),
    "docs/conf.py": 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = ["../src"]\nhtml_theme = "furo"\n',
    "docs/index.rst": "Net\n===\n\n.. torchrecorder:: pkg.Net\n   :shape: 1,3,32,32\n",
    "mkdocs.yml": ("site_name: Net\ntheme: mkdocs\nplugins:\n  - torchrecorder:\n      path: [src]\n"),
    "docs/index.md": "# Net\n\n```torchrecorder\npkg.Net\n:shape: 1,3,32,32\n```\n",
}
_COMMAND = """#!{python}
import sys
from pathlib import Path
from tests.docs.commands import main
sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
"""


class Machine:
    """A folder of commands that the tests own, and nothing installed but what `pip` was asked for."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.folder, self.project = folder, project
        for name in ("bin", "hidden"):
            (folder / name).mkdir(parents=True)
        for name in ("pip", "gh", "curl"):
            command = folder / "bin" / name
            command.write_text(_COMMAND.format(python=sys.executable), encoding="utf-8")
            command.chmod(0o755)
        (folder / "path").touch()
        for module in HIDDEN.values():
            (folder / "hidden" / f"{module}.py").write_text(f"raise ImportError('{module} is not installed')\n")

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """What a shell of a workflow does with a script: it ends at the first command that fails."""
        found = (shutil.which("git"), shutil.which("bash"))
        folders = [self.folder / "bin", *dict.fromkeys(Path(it).parent for it in found if it)]
        path = os.pathsep.join(str(it) for it in folders)
        imported = [self.folder / "hidden", ROOT / "core", ROOT, *(self.folder / "path").read_text().splitlines()]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CI"))}
        environment |= {
            "PATH": path,
            "PYTHONPATH": os.pathsep.join(map(str, imported)),
            "HOME": str(self.folder),
            "NO_COLOR": "1",
            "NO_MKDOCS_2_WARNING": "1",
            SENT: str(self.folder / "sent.txt"),
            **variables,
        }
        shell = ["bash", "--noprofile", "--norc", "-e", "-c", script]
        return subprocess.run(
            shell,
            cwd=self.project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    @property
    def sent(self) -> str:
        """What `gh` and `curl` would have sent."""
        file = self.folder / "sent.txt"
        return file.read_text(encoding="utf-8") if file.exists() else ""


class Project:
    """The files of a package and of its documentation with Sphinx and with MkDocs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.machines = folder / "machines"
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def configure(self, name: str, text: str) -> None:
        """Write a file of a page: lines of `conf.py` stand below ours, `mkdocs.yml` takes the place of ours."""
        if name.endswith("conf.py") and name in FILES:
            text = FILES[name] + text
        if name.endswith("mkdocs.yml"):
            text = FILES["mkdocs.yml"].partition("plugins:")[0] + text
        self.write(name, text)

    def edit(self, width: int) -> None:
        """Make the net as wide as this."""
        net = self.folder / "src/pkg/__init__.py"
        net.write_text(re.sub(r"width=\d+", f"width={width}", net.read_text(encoding="utf-8")), encoding="utf-8")

    def machine(self, *packages: str) -> Machine:
        """A new machine with some packages."""
        made = Machine(self.machines / str(len(list(self.machines.glob("*")))), self.folder)
        if packages:
            done = made.run("pip install " + " ".join(f"'{it}'" for it in packages))
            assert done.returncode == 0, done.stdout
        return made

    def next_checkout(self, keeps: str) -> None:
        """Have nothing left but the sources, written anew, and a folder that a service keeps between runs."""
        old = self.folder.rename(self.folder.with_name("old"))
        for name in FILES:
            self.write(name, (old / name).read_text(encoding="utf-8"))
        shutil.copytree(old / keeps, self.folder / keeps)

    def git(self, *commands: str) -> None:
        names = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
        for command in commands:
            subprocess.run(["git", *names, *command.split()], cwd=self.folder, check=True, capture_output=True)
