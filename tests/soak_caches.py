"""A documentation whose committed cache is spoilt, each diagram's entry in a way of its own, built by both tools."""

from __future__ import annotations

import html
import random
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from tests.core.pipeline.fuzzing import PARTS, TARGETS, Recorded, spoil
from tests.entries import behind, entries, facts_of
from torchrecorder.drawing.model import Drawing
from torchrecorder.graph import from_json, to_json
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, Settings, read_request
from torchrecorder.worker.client import Request
from torchrecorder.worker.messages import Answer

DIAGRAMS = 300
"""Of a build; each has a recording and a drawing that it shares with no other."""
NOWHERE = "/nowhere/python"


class Numbered(Recorded):
    """Answers each request with a Graph of its own, which needs nothing that could have changed."""

    def record(self, request: Request, *, timeout_s: float) -> Answer:
        answer = super().record(request, timeout_s=timeout_s)
        graph = from_json(answer.graph or "")
        assert answer.trace is not None
        info = replace(graph.info, notes=(f"number {request.seed}",))
        trace = replace(answer.trace, distributions={}, untracked=())
        return replace(answer, graph=to_json(replace(graph, info=info)), trace=trace)


@dataclass(frozen=True)
class Row:
    """One diagram of the site."""

    number: int
    request: DiagramRequest

    def options(self, colon: str) -> str:
        """Its options as a directive or a fence has them."""
        return f"{colon}:shape: 1,3\n{colon}:seed: {self.number}\n{colon}:depth: 1\n"


def rows() -> list[Row]:
    """The diagrams: two models in turn."""
    found = []
    for number in range(DIAGRAMS):
        target = TARGETS[number % len(TARGETS)]
        found.append(Row(number, read_request(target, {"shape": "1,3", "seed": str(number), "depth": "1"})))
    return found


def make(root: Path) -> list[Row]:
    """A project with a whole cache, kept in the folder `whole`."""
    (root / "src").mkdir(parents=True, exist_ok=True)
    (root / "src" / "fuz_nets.py").write_text("def make(): pass\ndef run(): pass\n")
    (root / "data.yaml").write_text("width: 3\n")
    made = rows()
    settings = Settings.for_project(root, path=["src"], machine_cache="first", cache="whole")
    outcomes = Pipeline(settings, Numbered.of, writes_committed=True).run([it.request for it in made])
    assert all(outcome.diagram is not None for outcome in outcomes.values())
    assert len(entries(root / "whole", "ren")) == DIAGRAMS, "each drawing is of its own"
    return made


def spoilt(root: Path, made: list[Row], seed: int) -> dict[int, str]:
    """Spoil an entry of each diagram but every tenth; says how, by the number of the diagram."""
    shutil.rmtree(root / "diagrams", ignore_errors=True)
    shutil.copytree(root / "whole", root / "diagrams")
    by_key = {file.name: file for file in entries(root / "diagrams")}
    drawings: dict[str, Path] = {}
    for file in entries(root / "diagrams", "ren"):
        drawing = Drawing.from_bytes(behind(file))
        assert drawing is not None
        number = next(re.findall(r"number (\d+)", note)[0] for note in drawing.notes if "number" in note)
        drawings[number] = file
    said: dict[int, str] = {}
    for row in made:
        if row.number % 10 == 0:
            continue
        chance = random.Random(f"{seed} {row.number}")
        part = chance.choice((*PARTS, "graph"))
        recording, drawing_file = by_key[row.request.recording.key()], drawings[str(row.number)]
        said[row.number] = f"seed {seed}, {row.number}: {spoil_one(recording, drawing_file, part, chance)}"
    return said


def spoil_one(recording: Path, drawing: Path, part: str, chance: random.Random) -> str:
    """Spoil an entry; where the Graph is, its drawing goes too, so that it is drawn anew."""
    if part == "table" and "table" not in facts_of(recording):
        part = "recording"
    if part == "graph":
        drawing.unlink()
    return spoil(drawing if part in ("drawing", "picture") else recording, part, chance)


@dataclass(frozen=True)
class Shown:
    """What a page shows of one diagram: HTML between two marks."""

    number: int
    html: str

    @property
    def is_drawn(self) -> bool:
        return "<svg" in self.html and "</svg>" in self.html

    @property
    def reason(self) -> str:
        """The words of the box; empty if there is none."""
        text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.html)).split())
        return text.partition("No diagram of ")[2]


def mark(number: int) -> str:
    return f"soak-mark-{number}-"


def shown(page: str) -> list[Shown]:
    """What stands behind each mark of a page."""
    parts = re.split(r"soak-mark-(\d+)-", page)
    return [Shown(int(number), part) for number, part in zip(parts[1::2], parts[2::2], strict=True)]


def judge(found: list[Shown], said: dict[int, str], log: str) -> tuple[list[str], int]:
    """What is wrong with what became of the diagrams, and how many were neither shown nor explained."""
    wrong, silent = [], 0
    for one in found:
        how = said.get(one.number, "whole")
        if one.is_drawn:
            if "<script" in one.html.partition("<svg")[2].partition("</svg>")[0]:
                wrong.append(f"{how}: a script")
            continue
        if how == "whole":
            wrong.append(f"a whole one is lost: {one.reason[:200]}")
        if not one.reason or "It was not drawn" in one.reason:
            silent += 1
            wrong.append(f"silent: {how}")
        elif "report it" in one.reason:
            wrong.append(f"taken for a fault of ours: {how}: {one.reason[:300]}")
    if any(not one.is_drawn for one in found) and "torchrecorder" not in log:
        silent += 1
        wrong.append("boxes, and no warning")
    return wrong, silent
