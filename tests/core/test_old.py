"""torchrecorder 1.0.3 installed over this package: whatever is started says so, and how to repair it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLD = {
    "torchrecorder/__init__.py": "from .helpers import record\nfrom .renderer import GraphvizStyler\n",
    "torchrecorder/helpers.py": "from .recorder import Recorder\ndef record(net, inputs): ...\n",
    "torchrecorder/recorder.py": "from .nodes import BaseNode\nclass Recorder: ...\n",
    "torchrecorder/nodes.py": "class BaseNode: ...\n",
    "torchrecorder/renderer/__init__.py": "from .gv import GraphvizRenderer, GraphvizStyler\n",
    "torchrecorder/renderer/gv.py": "class GraphvizRenderer: ...\nclass GraphvizStyler: ...\n",
    "torchrecorder-1.0.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: torchrecorder\nVersion: 1.0.3\n",
}
"""What the old distribution writes, as far as it matters here."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our packages, over which the old one has been installed."""
    folder = tmp_path_factory.mktemp("site-packages")
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("core/torchrecorder", "sphinx_torchrecorder", "mkdocs_torchrecorder"):
        shutil.copytree(ROOT / package, folder / Path(package).name, ignore=ignored)
    for name, text in OLD.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(packages: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(packages), "NO_COLOR": "1"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, cwd=cwd)


def says_it(text: str) -> bool:
    return (
        text.count("the old distribution torchrecorder 1.0.3 is installed too") == 1
        and "pip uninstall -y torchrecorder && " in text
        and "pip install --force-reinstall --no-deps torchrecorder-docs" in text
    )


def test_the_command(packages: Path) -> None:
    done = run(packages, "-m", "torchrecorder", "doctor")
    assert done.returncode == 1
    assert says_it(done.stderr)
    assert done.stderr.count("\n") == 1


def test_sphinx(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text('extensions = ["sphinx_torchrecorder"]\n')
    (tmp_path / "index.rst").write_text("Site\n====\n")
    done = run(packages, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "out"))
    assert done.returncode
    assert "Configuration error" in done.stderr
    assert says_it(done.stderr)
    assert "REVISION" not in done.stderr, "no traceback of the import is shown"


@pytest.mark.parametrize(
    ("before", "error"), [("import mkdocs", "mkdocs.exceptions.ConfigurationError"), ("", "ImportError")]
)
def test_mkdocs_and_markdown_alone(packages: Path, before: str, error: str) -> None:
    done = run(packages, "-c", f"{before}\nimport mkdocs_torchrecorder")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{error}: ")
    assert says_it(last)


def test_files_that_went_with_the_old_one(packages: Path, tmp_path: Path) -> None:
    shutil.copytree(packages / "torchrecorder", tmp_path / "torchrecorder")
    for name in OLD:
        (tmp_path / name).unlink(missing_ok=True)
    message = run_path(str(tmp_path / "torchrecorder" / "installation.py"))["broken_install_message"]()
    assert message.startswith("files of torchrecorder-docs are missing")
    assert "renderer/gv.py" in message
    assert message.endswith("python -m pip install --force-reinstall --no-deps torchrecorder-docs")


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert run_path(str(ROOT / "core" / "torchrecorder" / "installation.py"))["broken_install_message"]() == ""
