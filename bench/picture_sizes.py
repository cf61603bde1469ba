"""Bytes of torchview's pictures of the models that ours are judged on, at full depth."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from torchrecorder.engine import find_engine  # noqa: E402

LONG = 120
"""Seconds that the engine has for a picture; what takes longer is left out."""


def sizes(folder: Path, kept: Path) -> dict[str, int]:
    """Bytes by model, of those that torchview can draw; it lies in a folder of its own, because it is not ours.

    They are kept in a file, since they take minutes.
    """
    if not kept.exists():
        subprocess.run([sys.executable, __file__, str(folder), str(kept)], check=True)
    return {name: size for name, size in json.loads(kept.read_text(encoding="utf-8")).items() if size}


def measure(kept: Path) -> None:
    """Draw all models with torchview; 0 is written where it cannot."""
    import torch

    from bench.picture_models import MODELS

    draw_graph = importlib.import_module("torchview").draw_graph
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {}
    engine = str(find_engine().path)
    for name, entry in MODELS.items():
        try:
            model, args, kwargs = entry.load()
            with torch.no_grad():
                options = {"depth": 20, "expand_nested": True, "device": "cpu", "mode": "eval"}
                source = draw_graph(model, input_data=[*args], **options, **kwargs).visual_graph.source
            command = [engine, "-Tsvg"]
            done = subprocess.run(command, input=source.encode(), capture_output=True, check=True, timeout=LONG)
            found[name] = len(done.stdout)
            print(f"torchview: {name} {found[name] / 1000:.0f} kB", file=sys.stderr)
        except Exception as error:  # whatever torchview or a library raises
            found[name] = 0
            print(f"torchview: {name} is left out: {type(error).__name__}: {error}"[:200], file=sys.stderr)
    kept.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    measure(Path(sys.argv[2]))
