"""Recordings of the models that pictures are judged on, kept between runs while nothing changes that made them.

A folder of recordings is named by a digest of the recorder's sources, of the lists of models, and of the versions of
their libraries. Where all are there, torch is not loaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from torchrecorder.graph import Graph, from_json, to_json  # noqa: E402

KEPT = ROOT / ".torchrecorder" / "pictures"
ROOMS = ("graph", "recording", "running", "trace")
"""What of the core a recording depends on."""


def graphs(names: Sequence[str], kept: Path = KEPT) -> dict[str, Graph]:
    """The Graphs of the models, of all if none is named; why one cannot be recorded is printed."""
    folder = kept / key(ROOMS)
    known = _index(folder)
    if any(name not in known for name in names or ["*"]):
        for old in kept.glob("*/index.json"):
            if old.parent != folder:
                shutil.rmtree(old.parent)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, __file__, str(folder), *names], check=True)
        known = _index(folder)
    known.pop("*", None)
    found = {}
    for name in names or known:
        if known[name]:
            print(f"{name} is left out: {known[name]}", file=sys.stderr)
        else:
            found[name] = from_json((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _index(folder: Path) -> dict[str, str]:
    """What was recorded, each with why it failed, or nothing; `*` if that is all there is."""
    file = folder / "index.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def key(rooms: Sequence[str] = ()) -> str:
    """Names what depends on the models, on their libraries, and on rooms of the core."""
    sources = [ROOT / "bench" / "picture_models.py", *sorted((ROOT / "tests" / "corpus").glob("*.py"))]
    sources += [file for room in rooms for file in sorted((ROOT / "core" / "torchrecorder" / room).rglob("*.py"))]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    libraries = sorted(f"{one.name} {one.version}" for one in importlib.metadata.distributions())
    digest.update("\n".join(libraries).encode())
    return digest.hexdigest()[:12]


def record(folder: Path, names: Sequence[str]) -> None:
    """Record the models that are not there yet, all if none is named."""
    import torch

    from bench.picture_models import MODELS
    from torchrecorder import capture

    if unknown := [name for name in names if name not in MODELS]:
        sys.exit(f"no such models: {', '.join(unknown)}; there are {', '.join(MODELS)}")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name in names or MODELS:
        known = _index(folder)
        if name in known:
            continue
        try:
            model, args, kwargs = MODELS[name].load()
            with torch.no_grad():
                text = to_json(capture(model, args, kwargs))
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
            known[name] = ""
        except Exception as error:  # whatever a library raises
            known[name] = f"{type(error).__name__}: {error}"[:200]
        print(f"recorded {name} {known[name]}", file=sys.stderr)
        _write(folder, known)
    if not names:
        _write(folder, {name: _index(folder)[name] for name in MODELS} | {"*": ""})


def _write(folder: Path, known: dict[str, str]) -> None:
    (folder / "index.json").write_text(json.dumps(known, indent=1), encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2:])
