"""The generated part of `docs/comparison.md`: tables of what `compare` found, and pictures side by side."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOOLS = ("torchrecorder-docs", "torchview", "torchvista", "torchlens", "torchviz", "torchrecorder 1.0.3")
OURS = TOOLS[0]
PICTURED = ("lightning_ae", "own_heads", "tv_resnet18")
"""Models whose pictures stand side by side."""
START, END = "<!-- written by nox -s bench -- compare: start -->", "<!-- written by nox -s bench -- compare: end -->"
Rows = Mapping[str, Mapping[str, Any]]
Part = Mapping[str, Rows]


def page(text: str, found: Mapping[str, Any], pictures: Path) -> str:
    """The page with its generated part written anew."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    parts = [_truth(found.get("truth", {})), _drawn(found.get("drawn", {})), _times(found.get("times", {}))]
    parts += [_better(found), _pictures(pictures), _versions(found.get("versions", {}))]
    return f"{before}{START}\n\n" + "\n\n".join(filter(None, parts)) + f"\n\n{END}{after}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _good(rows: Rows) -> Rows:
    return {model: row for model, row in rows.items() if "error" not in row}


def _truth(part: Part) -> str:
    if not part:
        return ""
    rows = []
    for tool, models in part.items():
        good, of = _good(models).values(), len(models)
        calls, flow = (f"{sum(row[what] for row in good)} of {of}" for what in ("calls", "flow"))
        rows.append((tool, f"{len(good)} of {of}", calls, flow))
    return (
        "## Which layers feed which\n\n"
        "The small nets of our truth set in which two layers or more are called, each with a graph written by hand. "
        "Each tool's data is reduced to the calls of torch's own layers, and to which of them feeds which, with the "
        "operations between them left out. A net that a tool fails on counts as not right. The nets were written to "
        "find faults of ours, so they are odd ones; that ours gets them right is what it was made to do. torchviz "
        "draws the functions of autograd, in which there are no layers, and cannot be judged by this.\n\n"
        + _table(("tool", "recorded", "layer calls right", "and what feeds what"), rows)
    )


def _drawn(part: Part) -> str:
    if not part:
        return ""
    models = part[OURS]
    rows = []
    for model in models:
        cells = (_size(part[tool].get(model, {"error": "not run"})) for tool in part)
        rows.append((f"`{model}`", *cells))
    counts = (f"{len(_good(part[tool]))} of {len(models)}" for tool in part)
    return (
        "## Drawn or not, and how large\n\n"
        "The size of the finished picture in kB: for ours as a page shows it, for the others with everything that they "
        "record, as SVG by the same Graphviz; torchvista's is a page of HTML with its scripts. 1.0.3 draws to "
        "depth 1. A dash is a picture that was not made, by an error or in 40 seconds of layout.\n\n"
        + _table(("model", *part), [*rows, ("drawn", *counts)])
    )


def _size(row: Mapping[str, Any]) -> str:
    return "–" if "error" in row else f"{row['bytes'] / 1000:,.0f}"


def _times(part: Part) -> str:
    if not part:
        return ""
    rows = []
    for tool, models in part.items():
        good = _good(models)
        if good:
            ratio, memory = (statistics.median(row[what] for row in good.values()) for what in ("ratio", "extra_mb"))
            worst = max(row["ratio"] for row in good.values())
            rows.append((tool, f"{len(good)} of {len(models)}", f"{ratio:.3g}", f"{worst:.3g}", f"{memory:.0f} MB"))
    return (
        "## Time and memory of one recording\n\n"
        "CPU time as a multiple of a plain forward in the same process, and how much more memory the first recording "
        "takes at its peak than the first plain forward. The models of the table above, on the CPU of a machine of two "
        "cores, on one thread; medians over what each tool records. torchview's and torchviz' time includes "
        "writing DOT.\n\n" + _table(("tool", "recorded", "time", "largest", "memory"), rows)
    )


def _better(found: Mapping[str, Any]) -> str:
    """Says of each figure which other tool is better than ours in it."""
    said = []
    for what, title in (
        ("bytes", "Smaller pictures than ours"),
        ("ratio", "Faster than ours"),
        ("extra_mb", "Less memory"),
    ):
        part = found.get("drawn" if what == "bytes" else "times", {})
        ours = _good(part.get(OURS, {}))
        for tool in (tool for tool in part if tool != OURS):
            both = [model for model in _good(part[tool]) if model in ours]
            less = [model for model in both if part[tool][model][what] < ours[model][what]]
            if less:
                said.append(f"- {title}: {tool}, for {len(less)} of the {len(both)} models that both have.")
    truth = found.get("truth", {})
    for model, row in truth.get(OURS, {}).items():
        right = [tool for tool in truth if tool != OURS and truth[tool].get(model, {}).get("flow")]
        if not row.get("flow") and right:
            said.append(f"- Right where ours is not: {', '.join(right)}, on `{model}`.")
    return "## Where another is better by these figures\n\n" + ("\n".join(said) or "Nowhere in this run.")


def _pictures(folder: Path) -> str:
    said = ["## Side by side"]
    for model in PICTURED:
        files = {tool: folder / f"{model}-{tool.replace(' ', '-')}.svg" for tool in TOOLS}
        shown = {tool: f"![{model}, {tool}]({folder.name}/{it.name})" for tool, it in files.items() if it.exists()}
        if shown:
            rows = (shown, ["---"] * len(shown), shown.values())
            said.append(f"`{model}`:\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(said) if len(said) > 1 else ""


def _versions(parts: Mapping[str, Mapping[str, str]]) -> str:
    if not parts:
        return ""
    told = {", ".join(f"{name} {version}" for name, version in versions.items()) for versions in parts.values()}
    return f"Versions: {'; '.join(sorted(told))}."
