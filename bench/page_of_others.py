"""The page on real libraries, written from the figures that `docs_of_others.py` keeps beside it."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.docs_of_others import Library

BENCH = Path(__file__).parent
FOLDER = BENCH.parent / "docs" / "bench"
_FIGURES = "real-libraries.json"
_UNCHANGED = 1.03
"""How many times the plain build of an unchanged site one of ours may take."""
_PEAK = 2.5e9
"""Bytes that a build may take at most: a runner of a forge has 7 GB, and others work there, too."""
_INTRODUCTION = """# On real libraries

What the one line for [automatic diagrams](../howto/automatic-diagrams.md) does to the documentation of libraries that
were not written with it in mind. Each is built without us and with us, from the same commit, on the pages that
document its models; what needs a network (intersphinx, galleries, notebooks) is left out of both. `nox -s bench --
others` does it again.
"""
_DRAWN = """## What is drawn

*Models* are what a reader of the library would call one, if autodoc or mkdocstrings documents it; the list was
written by hand before anything was measured. *Modules* are all documented `nn.Module` classes: layers, losses and
transforms too, of which most get no picture by intent. A reader who did not write the code looked at pictures: *worth
having* says something that the text beside it does not, *misleading* says something untrue.

| library | models | drawn | modules | with a picture | looked at | worth having | misleading | new warnings |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""
_COSTS = """
## What it costs

By the clock, *cold* with nothing recorded before, *unchanged* when a second build finds nothing to do. Memory is that
of all processes at once. What misses its goal is in bold: twice the plain build cold (1.4 times where the library
says so), 1.03 times unchanged, 2.5 GB.

| library | plain | cold | times | unchanged, plain | unchanged | times | peak, plain | peak |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""
_BEFORE = """
## Before

The same line with the version of 23 November, which drew what it could build without arguments and did not choose.
Costs are seconds of the processor, and pictures those of all documented modules.

| library | pictures then | now | plain then | cold then | times then | times now | peak then | now |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


def read() -> dict[str, Any]:
    """The figures of each library that was measured."""
    file = FOLDER / _FIGURES
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def write(figures: Mapping[str, Any], libraries: Mapping[str, Library]) -> None:
    """Keep the figures, and write the page of them."""
    figures = {name: figures[name] for name in libraries if name in figures}
    text = json.dumps(figures, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / _FIGURES).write_text(text, encoding="utf-8")
    (FOLDER / "real-libraries.md").write_text(page(figures, libraries, read_verdicts()), encoding="utf-8")


def read_verdicts() -> dict[tuple[str, str], str]:
    """Verdict on each picture, by library and class: worth, trivial or misleading."""
    with (BENCH / "pictures_of_others.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["library"], row["class"]): row["verdict"] for row in rows}


def page(figures: Mapping[str, Any], libraries: Mapping[str, Library], verdicts: Mapping[tuple[str, str], str]) -> str:
    """The page, in Markdown."""
    text = [_INTRODUCTION, _DRAWN]
    text += [_drawn(name, measured, verdicts) for name, measured in figures.items()]
    text.append(_COSTS)
    text += [_costs(name, measured, libraries[name].most) for name, measured in figures.items()]
    if before := {name: libraries[name].before for name in figures if libraries[name].before}:
        text.append(_BEFORE)
        text += [_before(name, figures[name], then) for name, then in before.items()]
    text.append(
        "\n## Not drawn\n\nModels of the list that the one line leaves out, each with what the build says of it.\n"
    )
    text += [line for name, measured in figures.items() for line in _left_out(name, measured)]
    text.append(_circumstances(figures))
    return "\n".join(text)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _drawn(name: str, measured: Mapping[str, Any], verdicts: Mapping[tuple[str, str], str]) -> str:
    pictures = measured["pictures"]
    said = [verdict for picture in pictures if (verdict := verdicts.get((name, picture)))]
    judged = [len(said), said.count("worth"), said.count("misleading")] if said else ["", "", ""]
    drawn = sum(not why for why in measured["models"].values())
    warnings = f"{len(measured['warnings'])}{', **breaks it**' if measured['is_broken'] else ''}"
    return _row(name, len(measured["models"]), drawn, measured["modules"], len(pictures), *judged, warnings)


def _costs(name: str, measured: Mapping[str, Any], most: float) -> str:
    plain, ours = measured["plain"], measured["ours"]
    return _row(
        name,
        *(f"{plain['seconds']:.1f} s", f"{ours['seconds']:.1f} s", _times(ours, plain, "seconds", most)),
        *(f"{plain['again']:.1f} s", f"{ours['again']:.1f} s", _times(ours, plain, "again", _UNCHANGED)),
        *(_size(plain["peak"]), _size(ours["peak"])),
    )


def _times(ours: Mapping[str, float], plain: Mapping[str, float], how: str, most: float) -> str:
    share = round(ours[how] / plain[how], 2)
    return f"**{share:g} ×**" if share > most else f"{share:g} ×"


def _size(size: float) -> str:
    text = f"{size / 1e9:.1f} GB"
    return f"**{text}**" if size > _PEAK else text


def _before(name: str, measured: Mapping[str, Any], then: Mapping[str, float]) -> str:
    plain, ours = measured["plain"], measured["ours"]
    return _row(
        name,
        *(f"{then['pictures']} of {then['modules']}", f"{len(measured['pictures'])} of {measured['modules']}"),
        *(f"{then['plain']:g} s", f"{then['cold']:g} s", f"{then['cold'] / then['plain']:.3g} ×"),
        f"{ours['cpu'] / plain['cpu']:.3g} ×",
        f"{then['peak']} GB" if "peak" in then else "",
        f"{ours['peak'] / 1e9:.1f} GB",
    )


def _left_out(name: str, measured: Mapping[str, Any]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for model, why in measured["models"].items():
        if why:
            reasons.setdefault(why.replace(f" {model}", ""), []).append(f"`{model.rpartition('.')[2]}`")
    lines = [f"- {name}, {', '.join(models)}: {why.replace('<', '&lt;')}" for why, models in reasons.items()]
    if undocumented := [f"`{model}`" for model in measured["undocumented"]]:
        lines.append(f"- {name}: its pages describe {', '.join(undocumented)} without autodoc")
    return lines


def _circumstances(figures: Mapping[str, Any]) -> str:
    if not figures:
        return "\nNothing is measured yet.\n"
    each = (f"{name} {m['source']} on {m['date']} with {m['commit']}" for name, m in figures.items())
    machine = next(iter(figures.values()))
    where = f"{machine['processors']} processors, Python {machine['python']}"
    return f"\nMeasured with {where}, all figures in [a file]({_FIGURES}): {'; '.join(each)}.\n"
