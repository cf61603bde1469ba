"""The page on other generators: addresses in their pages lead to files that `torchrecorder update` has written."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.project import Project

pytestmark = pytest.mark.site

PAGE = "howto/any-other-generator.md"
ADDRESS = re.compile(
    r"""!\[[^]]*\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"|from '([^']+)'|\{figure\} (\S+)|\\input\{(\w+)\}"""
)
PUBLIC = "docs/public"
"""The folder that VitePress serves as it is: the address of a file in it begins with `/`."""


@pytest.fixture
def written(project: Project) -> Project:
    """The project of the page, with its pictures."""
    for block in blocks(PAGE):
        if block.file and block.language != "yaml":
            project.write(block.file, block.text)
    machine = project.machine("torchrecorder-docs[torch]")
    done = machine.run("torchrecorder update")
    assert done.returncode == 0, done.stdout
    return project


def test_every_address_leads_to_a_file(written: Project) -> None:
    pages = [block for block in blocks(PAGE) if block.language in ("markdown", "latex", "python")]
    assert len(pages) == 6
    for block in pages:
        page = written.folder / block.file
        found = ["".join(groups) for groups in ADDRESS.findall(block.text)]
        assert found, block.file
        for address in found:
            name = address if "." in Path(address).name else f"{address}.tex"
            file = written.folder / PUBLIC / name[1:] if name.startswith("/") else page.parent / name
            assert file.is_file(), f"{block.file}: {address}"


@pytest.mark.skipif(importlib.util.find_spec("pdoc") is None, reason="needs pdoc")
def test_pdoc_puts_the_picture_into_the_page(written: Project) -> None:
    command = [sys.executable, "-m", "pdoc", "src/pkg/images.py", "-o", "out"]
    subprocess.run(command, cwd=written.folder, check=True, capture_output=True)
    pages = "".join(page.read_text(encoding="utf-8") for page in (written.folder / "out").rglob("*.html"))
    assert "data:image/svg+xml;base64," in pages


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_paper_compiles(written: Project) -> None:
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=written.folder / "paper", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
