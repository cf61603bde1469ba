"""The index of the design pages has them all, each with a status, and names what takes the place of one."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "design"
ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\((?P<file>[^)]+)\) \| (?P<date>[\d-]+) \| (?P<status>.+) \|$", re.MULTILINE)


def test_each_page_has_a_row_with_its_date_and_a_status() -> None:
    rows = [*ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))]
    assert [row["file"] for row in rows] == sorted(page.name for page in FOLDER.glob("2026-*.md"))
    assert [row["file"] for row in rows if not row["file"].startswith(f"{row['date']}-")] == []
    status = re.compile(r"(holds|superseded by|goals withdrawn|withdrawn)\b")
    assert [row["file"] for row in rows if not status.match(row["status"])] == []


def test_what_is_not_true_any_more_names_the_page_that_is() -> None:
    rows = ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))
    superseded = [row for row in rows if not row["status"].startswith("holds")]
    assert len(superseded) >= 3
    assert [row["file"] for row in superseded if "](2026-" not in row["status"]] == []
