"""Records and draws the models of the gallery, and writes its pages: `nox -s bench -- gallery`.

What is fresh is not recorded again; `again` records all, names of models choose some. Recordings and drawings go into
the committed cache `docs/gallery/recordings`, from which the site is built without any of the libraries, and what was
measured into `docs/gallery/facts.json`. `sheet=FILE.html` puts all pictures on one page, to look at.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from bench.picture_sheet import sheet  # noqa: E402
from docs.gallery.entries import PAGES, Entry  # noqa: E402
from docs.gallery.pages import write_pages  # noqa: E402
from torchrecorder.page import Outcome  # noqa: E402
from torchrecorder.pipeline import Pipeline  # noqa: E402
from torchrecorder.request import read_request  # noqa: E402
from torchrecorder.request.settings import Settings  # noqa: E402
from torchrecorder.worker.lasting import PersistentWorker  # noqa: E402

RECORDINGS, FACTS = HERE / "recordings", HERE / "facts.json"
LONGEST = "600"
"""Seconds that a recording may take; pages do not say it, because it does not decide what is drawn."""


def main(arguments: Sequence[str]) -> int:
    """Make the gallery; the exit status is 1 if a model could not be drawn."""
    options = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    names = [argument for argument in arguments if "=" not in argument and argument != "again"]
    entries = [entry for _, group in PAGES.values() for entry in group]
    if unknown := set(names) - {entry.name for entry in entries}:
        sys.exit(f"no such models: {', '.join(sorted(unknown))}; there are {', '.join(e.name for e in entries)}")
    if "again" in arguments:
        shutil.rmtree(RECORDINGS, ignore_errors=True)
    # The operators of a torchvision for CUDA are missing here; models see no files of the network.
    os.environ |= {"PYTHONPATH": f"{HERE / 'operators'}{os.pathsep}{ROOT}", "HF_HUB_OFFLINE": "1"}
    known: dict[str, Any] = json.loads(FACTS.read_text("utf-8")) if FACTS.exists() else {"models": {}}
    pictures, failed = {}, 0
    for number, (entry, outcome, seconds) in enumerate(_outcomes([e for e in entries if e.name in names or not names])):
        print(f"{number + 1:3} {entry.name}: {_said(outcome, seconds)}", file=sys.stderr, flush=True)
        if outcome.diagram is None or outcome.error is not None:
            failed += 1
            continue
        facts = dict(outcome.diagram.facts)
        before = known["models"].get(entry.name, {})
        known["models"][entry.name] = facts | {"seconds": before.get("seconds", 0.0) if seconds is None else seconds}
        pictures[entry.name] = (outcome.diagram.svg, outcome.diagram.size[0], _said(outcome, seconds))
    known["models"] = {e.name: known["models"][e.name] for e in entries if e.name in known["models"]}
    known["versions"] = {name: importlib.metadata.version(name) for name in _distributions(entries)}
    FACTS.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_pages(HERE, known, _bytes(RECORDINGS))
    if "sheet" in options:
        Path(options["sheet"]).write_text(sheet(pictures), encoding="utf-8")
    print(f"{len(known['models'])} models, {_bytes(RECORDINGS) / 1e6:.1f} MB in {RECORDINGS.relative_to(ROOT)}")
    return int(failed > 0)


def _outcomes(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Outcome, float | None]]:
    """What became of each, and the seconds that its recording took if it was recorded now."""
    path = (str(ROOT / "docs" / "reference"), str(ROOT / "docs"))
    settings = Settings(ROOT / ".torchrecorder", path, committed=RECORDINGS, project=ROOT, jobs=1)
    for entry in entries:
        request = read_request(entry.target, entry.written() | {"timeout": LONGEST})
        pipeline = Pipeline(settings, PersistentWorker.of_thread, writes_committed=True, retries=True)
        outcome = pipeline.run([request])[request]
        seconds = pipeline.seconds.get(request.recording.target)
        yield entry, outcome, None if seconds is None else round(seconds, 2)


def _said(outcome: Outcome, seconds: float | None) -> str:
    if outcome.diagram is None or outcome.error is not None:
        return f"failed: {outcome.error}"
    facts = outcome.diagram.facts
    told = (f"{facts['parameters']} parameters", f"{len(outcome.diagram.svg) / 1000:.0f} kB")
    return ", ".join((*told, "fresh" if seconds is None else f"recorded in {seconds} s", *outcome.diagram.notes))


def _distributions(entries: Sequence[Entry]) -> list[str]:
    offered: Mapping[str, list[str]] = importlib.metadata.packages_distributions()
    return sorted({offered[entry.package][0] for entry in entries})


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
