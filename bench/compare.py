"""The same models through ours and five other tools, in one run: `nox -s bench -- compare`.

Each tool runs in a process of its own, each model in a child of that; a crash or too long a wait costs one row. What
is found goes to `bench/compare_found.json`, with all versions, and from there into `docs/comparison.md`. Arguments are
names of models, and

- `times` measures only time and memory again, in some minutes, and keeps the rest;
- `truth`, `drawn` do the same for the other two parts;
- `again` starts from nothing; without it parts that are there are kept;
- `page` measures nothing and writes the page anew.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from bench.compare_page import PICTURED, TOOLS, page  # noqa: E402

FOUND, PAGE = ROOT / "bench" / "compare_found.json", ROOT / "docs" / "comparison.md"
PICTURES = ROOT / "docs" / "compare"
MODELS = (
    *("tv_resnet18", "tv_mobilenet_v3", "tv_swin_v2_t", "timm_vit_tiny", "smp_unet", "monai_unet", "hf_bert"),
    *("hf_gpt2", "hf_llama", "hf_t5", "df_unet2d", "pyg_gcn", "ta_conformer", "nn_lstm", "lightning_ae", "own_heads"),
)
PARTS = ("truth", "drawn", "times")
MOST_BYTES = 150_000
"""Of a picture in the documentation."""


def main(folders: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Measure what is asked for or missing, and write the page."""
    found: dict[str, Any] = {} if "again" in arguments or not FOUND.exists() else json.loads(FOUND.read_text("utf-8"))
    names = [argument for argument in arguments if argument not in (*PARTS, "again", "page")]
    asked = [part for part in PARTS if part in arguments]
    parts = [] if "page" in arguments else asked or [part for part in PARTS if names or part not in found]
    for part in parts:
        found[part] = {tool: _run(part, tool, folders, names or MODELS) for tool in TOOLS if _tells(part, tool)}
        found.setdefault("versions", {})[part] = _versions(folders)
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text("utf-8"), found, PICTURES), encoding="utf-8")


def _tells(part: str, tool: str) -> bool:
    """False of torchviz, which draws what autograd kept, in which there are no layers."""
    return (part, tool) != ("truth", "torchviz")


def _run(part: str, tool: str, folders: Mapping[str, str], models: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as to:
        given = {"kind": part, "tool": tool, "folders": {**folders}, "models": [*models], "to": to}
        command = [sys.executable, str(ROOT / "bench" / "compare_once.py"), json.dumps(given)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
        rows = rows_of(done.stdout)
        print(f"{part}: {tool}: {sum('error' not in row for row in rows.values())} of {len(rows)}", file=sys.stderr)
        if part == "drawn":
            _keep(tool, Path(to))
    return rows


def rows_of(text: str) -> dict[str, Any]:
    """The rows by model; tools print lines of their own between them."""
    lines = [line for line in text.splitlines() if line.startswith('["')]
    return dict(json.loads(line) for line in lines)


def _keep(tool: str, drawn: Path) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for model in PICTURED:
        kept, new = PICTURES / f"{model}-{tool.replace(' ', '-')}.svg", drawn / f"{model}.svg"
        if new.exists():
            kept.unlink(missing_ok=True)
            if new.stat().st_size <= MOST_BYTES:
                shutil.copy(new, kept)


def _versions(folders: Mapping[str, str]) -> dict[str, str]:
    """Of each tool, torch and Python."""
    found = {"Python": platform.python_version(), "torch": importlib.metadata.version("torch")}
    for name in TOOLS:
        distribution, _, version = name.partition(" ")
        if not version:
            beside = importlib.metadata.distributions(path=[folders["peers"]])
            theirs = {one.metadata["Name"]: one.version for one in beside}
            version = theirs.get(distribution) or importlib.metadata.version(distribution)
        found[distribution] = version
    return found


if __name__ == "__main__":
    main({"peers": sys.argv[1], "old": sys.argv[2]}, sys.argv[3:])
