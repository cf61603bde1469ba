"""Every block of the how-to pages, carried out in a small project as a reader would, from top to bottom.

A block whose first line names a file is written, a `sh` block is run, a `text` block is what was printed last (`…`
stands for anything), a Python block without a file runs as it stands. A fence or a directive takes the place of the
page's text. Workflow files are run in `test_workflows`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.project import Project
from tests.docs.test_workflows import WORKFLOWS

pytestmark = pytest.mark.site

PAGES = sorted(f"howto/{page.name}" for page in (ROOT / "docs" / "howto").glob("*.md") if "```" in page.read_text())
PAGE_OF = {"rst": ("docs/index.rst", "Net\n===\n\n"), "markdown": ("docs/index.md", "# Net\n\n")}
"""Where a block of a markup goes that names no file, and what stands above it."""

AFTER_RECORDING = ("howto/pull-requests.md",)
"""Pages that begin where recordings are committed already."""


def carry_out(project: Project, blocks: list[Block]) -> None:
    machine = project.machine(".[docs]", "mkdocstrings[python]", "myst-parser")
    printed = ""
    for block in blocks:
        where = f"{block.page}:{block.line}"
        if block.file:
            project.configure(block.file, block.text)
        elif block.language in PAGE_OF:
            file, title = PAGE_OF[block.language]
            project.write(file, title + block.text)
        elif block.language == "sh":
            done = machine.run(block.text)
            printed = done.stdout
            is_shown = [it.language for it in blocks[blocks.index(block) + 1 :][:1]] == ["text"]
            assert is_shown or (done.returncode == 0 and "WARNING" not in printed), f"{where}: {printed}"
        elif block.language == "text":
            said = ".*".join(map(re.escape, block.text.strip().split("…")))
            assert re.search(said, printed, re.DOTALL), f"{where}: {printed}"
        elif block.language == "python":
            script = f"import sys\nsys.path.insert(0, 'src')\nimport torch\nimport torchrecorder\n{block.text}"
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=project.folder, env=environment(), capture_output=True, text=True
            )
            assert done.returncode == 0, f"{where}: {done.stderr}"
            printed = done.stdout
        else:
            raise AssertionError(f"{where} is neither a file nor something to run")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "core", ROOT)))}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_works(page: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue("committed" if page in AFTER_RECORDING else "project")
    project.git("init")
    workflows = set(WORKFLOWS.values())
    carry_out(project, [block for block in blocks(page) if block not in workflows])
