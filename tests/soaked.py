"""The table of what was tried against the promises of trust, beside its goals: printed and kept after `-m soak`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[1] / "soak.json"
PREFIX = "soak: "
GOALS = {
    "edits that change something": "900",
    "of these, built by Sphinx or MkDocs": "600",
    "needless of these": "",
    "stale and told": "",
    "stale and untold": "= 0",
    "harmless edits": "60",
    "recorded again for nothing": "",
    "bad models": "120",
    "bad models wholly right": "",
    "builds ended": "= 0",
    "later diagrams lost": "= 0",
    "processes left": "= 0",
    "injections": "",
    "commands run from a page": "= 0",
    "scripts in a page": "= 0",
    "fuzzed caches": "2000",
    "hostile entries, built by Sphinx or MkDocs": "3000",
    "silent of these": "= 0",
    "builds in odd environments": "100",
    "deaths during a build": "",
    "wrong settings": "",
    "kills": "",
    "uncaught exceptions": "= 0",
}


@dataclass(frozen=True)
class Tally:
    """Counts into the row of a table; the report of a test carries it, also from another process."""

    properties: list[tuple[str, object]]

    def add(self, row: str, count: int = 1) -> None:
        assert row in GOALS
        self.properties.append((f"{PREFIX}{row}", int(count)))


def summed(properties: Iterable[tuple[str, object]]) -> dict[str, int]:
    """The rows of the table, from the reports of all tests."""
    counts = Counter[str]()
    for name, count in properties:
        if name.startswith(PREFIX) and isinstance(count, int):
            counts[name.removeprefix(PREFIX)] += count
    return {row: counts[row] for row in GOALS if row in counts}


def keep(rows: dict[str, int]) -> None:
    """Write the rows, into those of other runs of a part."""
    try:
        kept = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    FILE.write_text(json.dumps({**kept, **rows}, indent=2) + "\n", encoding="utf-8")
