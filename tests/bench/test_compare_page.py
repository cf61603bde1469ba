from __future__ import annotations

from pathlib import Path

from bench.compare import rows_of
from bench.compare_page import END, OURS, START, page

FOUND = {
    "truth": {OURS: {"A": {"calls": True, "flow": False}}, "torchview": {"A": {"calls": True, "flow": True}}},
    "drawn": {
        OURS: {"net": {"bytes": 9000}},
        "torchview": {"net": {"bytes": 4000}},
        "torchviz": {"net": {"error": "x"}},
    },
    "times": {OURS: {"net": {"ratio": 2.0, "extra_mb": 3.0}}, "torchview": {"net": {"ratio": 4.0, "extra_mb": 1.0}}},
}


def test_only_the_generated_part_changes(tmp_path: Path) -> None:
    written = page(f"before\n{START}old{END}\nafter", FOUND, tmp_path)
    assert written.startswith("before\n")
    assert written.endswith("\nafter")
    assert "old" not in written
    assert page(written, FOUND, tmp_path) == written


def test_tables_tell_what_was_found(tmp_path: Path) -> None:
    written = page(f"{START}{END}", FOUND, tmp_path)
    assert "| torchview | 1 of 1 | 1 of 1 | 1 of 1 |" in written
    assert "| `net` | 9 | 4 | – |" in written
    assert "| torchview | 1 of 1 | 4 | 4 | 1 MB |" in written


def test_the_page_says_where_another_is_better(tmp_path: Path) -> None:
    written = page(f"{START}{END}", FOUND, tmp_path)
    assert "Smaller pictures than ours: torchview, for 1 of the 1" in written
    assert "Less memory: torchview" in written
    assert "Right where ours is not: torchview, on `A`" in written
    assert "Faster than ours" not in written


def test_rows_are_found_among_what_a_tool_prints() -> None:
    assert rows_of('hello\n["net", {"bytes": 1}]\n') == {"net": {"bytes": 1}}
