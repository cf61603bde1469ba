"""Digests of drawings beside the REVISION that they were made at: `python -m tests.core.drawing.golden_drawings`
renews them.

Each is of all that a cache keeps of a drawing: the layout, what opens in it, the words and the table. They are small,
and chosen so that each theme, layout, direction, fact, sign and way to fold is in one of them. Colours and strokes are
in none, since pictures are written anew from what a cache keeps.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.core.graph.building import chain, mlp, nested, residual_block, transformer
from tests.core.pipeline.fuzzing import TARGETS, graph_of
from torchrecorder.comparison.compared import Diff
from torchrecorder.drawing import REVISION
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.graph import Graph, from_json
from torchrecorder.request import read_drawing

FILE = Path(__file__).parents[2] / "golden" / "drawings.json"
COMMAND = "python -m tests.core.drawing.golden_drawings"
OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"depth": "all", "fold": False},
    {"depth": 1, "direction": "LR"},
    {"layout": "layered"},
    {"layout": "layered", "direction": "LR", "depth": "all"},
    {"theme": "classic"},
    {"grey": True, "show": "flops,memory,dtypes"},
    {"show": "weights", "depth": "all"},
    {"hide": "shapes,params", "table": True},
    {"width": "300px"},
)


def graphs() -> dict[str, Graph]:
    """Graphs that no recorder makes, and two of the cache that is committed for the tests."""
    made = {"mlp": mlp(), "block": residual_block(), "encoder": transformer(4), "chain": chain(5), "nested": nested(4)}
    return {**made, **{target: from_json(graph_of(target)) for target in TARGETS}}


def jobs() -> dict[str, DrawJob]:
    """Each Graph with each of the options, and a diff, by what is drawn."""
    found: dict[str, DrawJob] = {}
    for name, graph in graphs().items():
        for options in OPTIONS:
            said = " ".join([name, *(f"{option}={value}" for option, value in options.items())])
            found[said] = DrawJob(graph, hashlib.sha256(said.encode()).hexdigest(), read_drawing(options))
    job = Diff(transformer(3), transformer(4)).job
    return {**found, "diff": job(hashlib.sha256(b"diff").hexdigest(), read_drawing({}))}


def digests() -> dict[str, str]:
    """The digest of each drawing, by what it is of."""
    wanted = jobs()
    found: dict[str, str] = {}
    for name, drawing in zip(wanted, draw([*wanted.values()], find_engine("pure")), strict=True):
        assert isinstance(drawing, Drawing), f"{name}: {drawing}"
        found[name] = hashlib.sha256(drawing.to_bytes()).hexdigest()[:16]
    return found


def engine() -> str:
    """The engine that the layered ones depend on."""
    return find_engine("pure").identity


if __name__ == "__main__":
    text = json.dumps({"REVISION": REVISION, "engine": engine(), "drawings": digests()}, indent=1)
    FILE.write_text(f"{text}\n", encoding="utf-8")
