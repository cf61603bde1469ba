"""The pages of the gallery, written from what was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.gallery.entries import FIGURES, PAGES, Entry

_MADE = "<!-- made by `nox -s bench -- gallery` from docs/gallery/entries.py and docs/gallery/facts.json -->\n"
_ABOUT = """\
# Gallery

{models} models of {libraries} libraries, each drawn by the directive that is shown above it, with `depth: auto` and
nothing made up afterwards. Sizes are those of the papers or of the library, weights are random. Pictures take the
colours of this page: switch it to dark, and they are dark. Hover a layer to see what it is, click a `+` to look
into it.

{grid}

## How it is made

None of these libraries, and no torch, has to be there when this page is built: the recordings are
[committed](../guide/caching.md) with the project, {megabytes:.1f} MB for all. Targets that begin with `gallery.models`
are functions of a few lines, shown under [what is called](#what-is-called): a target takes literals, and these
models take a configuration.

FLOPs are those of the forward that was recorded, a product and a sum counted as two. The seconds beside a model are
those of the recording by the clock, with the import of the library and building the model, on the machine that made
these pages.

## Their numbers

{table}
"""

_CALLED = """
## What is called

`docs/gallery/models.py`, whole:

```python
--8<-- "docs/gallery/models.py"
```
"""


def write_pages(folder: Path, known: Mapping[str, Any], size: int) -> None:
    """Write the index, and a page for each group; `size` is that of all recordings in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    facts: Mapping[str, Mapping[str, Any]] = known["models"]
    for page, (title, entries) in PAGES.items():
        sections = [_section(entry, facts[entry.name]) for entry in entries if entry.name in facts]
        text = "\n".join((_MADE, f"# {title}\n", *sections))
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    shown = [entry for _, entries in PAGES.values() for entry in entries if entry.name in facts]
    lines = "\n".join(map(_line, shown))
    about = _ABOUT.format(
        models=len(shown),
        libraries=len({entry.package for entry in shown}),
        megabytes=size / 1e6,
        grid=f"```torchrecorder-models\n:as: grid\n:columns: name picture parameters\n{lines}\n```",
        table=f"```torchrecorder-models\n:columns: name tags parameters flops memory depth\n{lines}\n```",
    )
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    text = "\n".join((_MADE + "\n" + about, f"Recorded with {versions}.", _CALLED))
    (folder / "index.md").write_text(text, encoding="utf-8")


def _line(entry: Entry) -> str:
    """The model in a list of models."""
    options = {**entry.written(), "title": entry.name, "tags": f"{entry.kinds}, {entry.package}"}
    return " ".join((entry.target, *(f'{name}="{value}"' for name, value in options.items())))


def _name(entry: Entry) -> str:
    """The name of its figure, to which the list leads."""
    return re.sub(r"[^\w\s-]", "", entry.name.lower()).replace(" ", "-")


def _section(entry: Entry, facts: Mapping[str, Any]) -> str:
    options = "".join(f":{line}\n" for line in (*entry.options.splitlines(), f"name: {_name(entry)}-figure"))
    fence = f"```torchrecorder\n{entry.target}\n{options}```"
    told = [f"{facts['parameters']} parameters", f"{_giga(facts)} GFLOPs", f"recorded in {facts['seconds']:.1f} s"]
    if not {"shape", "inputs"} & entry.written().keys():
        told.append("no shape given")
    if facts["run"] != "real":
        told.append(f"followed by shape on {facts['run']} tensors")
    parts = [f"## {entry.name}\n", f"{entry.kinds} · {entry.package} · {', '.join(told)}\n"]
    parts += [f"````markdown\n{fence}\n````\n", f"{fence}\n"]
    if entry.name in FIGURES:
        parts.append(f"**Beside the figure of the paper.** {FIGURES[entry.name]}\n")
    return "\n".join(parts)


def _giga(facts: Mapping[str, Any]) -> str:
    flops = int(facts.get("flops", "0").replace(",", ""))
    return f"{flops / 1e9:,.3g}" if flops < 1e12 else f"{flops / 1e9:,.0f}"
