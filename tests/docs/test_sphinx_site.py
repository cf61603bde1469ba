"""Our own site by Sphinx: the same pages, without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
SHOWN = re.compile(r"^(`{4,}).*?^\1$", re.MULTILINE | re.DOTALL)
"""Markdown that is only shown."""


def pages(entry: Any) -> Iterator[str]:
    """The pages in a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(part)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the site lies; a warning would have ended its build."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(ROOT / "docs" / "sphinx")]
    command += ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_page_is_there_with_its_pictures(built: Path) -> None:
    for page in pages(NAV):
        html = (built / page).with_suffix(".html").read_text(encoding="utf-8")
        source = (ROOT / "docs" / page).read_text(encoding="utf-8")
        text = SHOWN.sub("", source)
        assert html.count("<figure") >= len(re.findall(r"^```torchrecorder$", text, re.MULTILINE))
        lists = len(re.findall(r"^```torchrecorder-models$", text, re.MULTILINE))
        assert html.count('<div class="torchrecorder-models ') == lists
        assert html.count("::: ") == sum(it[0].count("::: ") for it in SHOWN.finditer(source))
        assert "--8&lt;--" not in html


def test_every_page_has_its_place() -> None:
    hidden = re.compile(r"(demo|sphinx|pictures)/|design/(2026-.*|README)\.md")
    files = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {file for file in files if not hidden.match(file)} == {*pages(NAV)}
