"""Puts figures of benchmarks into the page of them: `python bench/table.py FIGURES`; `nox -s bench` does it.

`docs/bench/figures.json` keeps all figures, each with when it was measured; those of a benchmark take the place of its
earlier ones. The page and the pictures of growth are made from it.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.figures import Figure, number  # noqa: E402

FOLDER = ROOT / "docs" / "bench"
TITLES = {
    "record": "Recording",
    "peers": "Recording, beside other tools",
    "seeds": "The four recorders, beside the originals",
    "pictures": "Pictures of 100 real models",
    "proofs": "Proofs of pictures",
    "draw": "Drawing",
    "sphinx_builds": "Builds with Sphinx",
    "mkdocs_builds": "Builds with MkDocs",
    "cache_sites": "A build in which nothing changed",
    "cache_warm": "Finding what is fresh",
    "cache_scale": "Many diagrams",
    "cache": "Worker, several processes, kills and bad disks",
    "house": "How simple the source is",
}
"""The benchmarks, in the order of the page."""
INTRODUCTION = """# Benchmarks

What `nox -s bench` measured, as ratios to the same work without us where that is possible. A goal is the most that we
allow ourselves; what misses it is in bold. `nox -s bench -- NAME` measures one part again. Machines differ, and so do
days: compare figures of one run. All are in [one file](figures.json), with versions and dates.
"""
NAMES = ("torch", "sphinx", "mkdocs", "torchview", "torchvista", "torchlens", "transformers", "timm")
"""Distributions whose versions say something."""
WIDE, HIGH, LEFT, TOP, RIGHT, BOTTOM = 480, 240, 64, 16, 24, 44
GREY, BLUE = "#818b98", "#4a84c4"
"""Readable on white and on black."""


def main(file: Path) -> None:
    """Take in the figures of a file, a line of JSON each, and write the page anew."""
    kept = _read()
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        row = json.loads(line)
        kept.setdefault("new", {}).setdefault(row.pop("benchmark"), []).append(row)
    for name, rows in kept.pop("new", {}).items():
        kept["benchmarks"][name] = {"measured": _circumstances(), "figures": rows}
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / "figures.json").write_text(text, encoding="utf-8")
    figures = {name: [Figure(**row) for row in part["figures"]] for name, part in kept["benchmarks"].items()}
    curves = _curves([figure for part in figures.values() for figure in part])
    for number_, (title, points) in enumerate(curves.items()):
        (FOLDER / f"growth-{number_ + 1}.svg").write_text(plot(title, points), encoding="utf-8")
    (FOLDER / "index.md").write_text(page(kept["benchmarks"], figures, [*curves]), encoding="utf-8")


def _read() -> dict[str, Any]:
    try:
        return dict(json.loads((FOLDER / "figures.json").read_text(encoding="utf-8")))
    except OSError:
        return {"benchmarks": {}}


def _circumstances() -> dict[str, Any]:
    found = {it.name.lower(): it.version for it in distributions()}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: found[name] for name in NAMES if name in found},
    }


def page(parts: Mapping[str, Any], figures: Mapping[str, Sequence[Figure]], curves: Sequence[str]) -> str:
    """The page, in Markdown."""
    text = [INTRODUCTION]
    if curves:
        text.append("## Growth\n")
        text += [f"![{title}](growth-{position + 1}.svg)\n" for position, title in enumerate(curves)]
    for name in (name for name in TITLES if name in figures):
        measured = parts[name]["measured"]
        versions = ", ".join(f"{key} {version}" for key, version in measured["versions"].items())
        text.append(f"## {TITLES[name]}\n")
        text.append("| figure | reached | goal |\n|---|--:|--:|")
        text += [_row(figure) for figure in figures[name]]
        where = f"{measured['processors']} processors, Python {measured['python']}, {versions}"
        text.append(f"\nMeasured on {measured['date']}: {where}.\n")
    return "\n".join(text)


def _row(figure: Figure) -> str:
    reached = f"{number(figure.reached)} {figure.unit}".rstrip()
    goal = "" if figure.goal is None else number(figure.goal)
    what = figure.what.strip().replace("|", "\\|").replace("<", "&lt;")
    return f"| {what} | {reached if figure.is_met else f'**{reached}**'} | {goal} |"


def _curves(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    curves: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.curve:
            curves.setdefault(figure.curve, []).append(figure)
    return {title: points for title, points in curves.items() if len(points) > 1}


def plot(title: str, points: Sequence[Figure]) -> str:
    """An SVG of figures over their numbers, these as powers of ten."""
    goal, unit = points[0].goal, points[0].unit
    highest = _round_up(1.1 * max([*(point.reached for point in points), goal or 0]))
    low, high = (math.log10(end(point.at for point in points)) for end in (min, max))

    def x(at: float) -> float:
        return LEFT + (WIDE - LEFT - RIGHT) * (math.log10(at) - low) / (high - low)

    def y(value: float) -> float:
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * value / highest

    parts = [f"<title>{escape(title)}</title>"]
    for step in range(5):
        value = highest * step / 4
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDE - RIGHT}" stroke="{GREY}" stroke-opacity=".35"/>')
        parts.append(_text(LEFT - 8, y(value) + 4, f"{number(value)} {unit}".rstrip(), "end"))
    parts += [_text(x(point.at), HIGH - BOTTOM + 18, f"{point.at:,.0f}", "middle") for point in points]
    parts.append(_text((LEFT + WIDE - RIGHT) / 2, HIGH - 6, title, "middle"))
    if goal:
        parts.append(f'<path d="M{LEFT} {y(goal):.1f}H{WIDE - RIGHT}" stroke="{GREY}" stroke-dasharray="5 4"/>')
        parts.append(_text(WIDE - RIGHT, y(goal) - 5, f"goal {number(goal)}", "end"))
    line = "L".join(f"{x(point.at):.1f} {y(point.reached):.1f}" for point in points)
    parts.append(f'<path d="M{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>')
    parts += [f'<circle cx="{x(p.at):.1f}" cy="{y(p.reached):.1f}" r="3.5" fill="{BLUE}"/>' for p in points]
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    size = f'viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n' + "\n".join(parts) + "\n</svg>\n"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{GREY}" text-anchor="{anchor}">{escape(text)}</text>'


def _round_up(value: float) -> float:
    """The next that is easily divided by four."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if step * power >= value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
