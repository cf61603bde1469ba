"""A cache under attack: builds that are killed, run at once, on a full disk, over damaged files.

Real recordings are made once. Afterwards builds replay them, so that a build takes milliseconds and hundreds of them
fit into a test; all else, from the check to the picture, is as in any build. After each attack one question counts:
does a build without torch show, for the code as it is, the right picture or none?
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.core.answering import NoTorch, OneByOne
from tests.entries import behind, entries, facts_of
from tests.models.one_layer import net
from torchrecorder.cache.index import stamp_of
from torchrecorder.cli.projects import update
from torchrecorder.errors import OutOfDate, TorchMissing
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.collecting import Collected
from torchrecorder.pipeline.recordings import Recordings
from torchrecorder.request import DiagramRequest, RecordingRequest, Settings, read_request
from torchrecorder.worker.client import Request, Worker
from torchrecorder.worker.messages import Answer

WIDTHS = (4, 5)
KEPT = read_request("soak_kept.Net", {"shape": "1,3"})
"""A model that nobody edits: its entry must never be lost."""
EDITED = read_request("soak_edited.Net", {"shape": "1,3"})


class Replaying(OneByOne):
    """Answers as a real worker did for the code as it is now."""

    def __init__(self, root: Path) -> None:
        super().__init__([])
        self._root = root

    def record(self, request: Request, *, timeout_s: float) -> Answer:
        name = request.target.partition(".")[0]
        width = (self._root / f"{name}.py").read_text().partition("Linear(3, ")[2].partition(")")[0]
        answer = json.loads((self._root / f"answer{width}.json").read_text().replace("NAME", name))
        trace = answer["trace"]
        trace["sources"] = {file: stamp_of(file) for file in trace["sources"]}
        return Answer.from_json(answer)


@dataclass(frozen=True)
class Soak:
    """A project with one model that is edited and one that is not."""

    root: Path
    truths: dict[str, str]
    """The picture of each source text."""

    @staticmethod
    def make(root: Path) -> Soak:
        """Record for real what is replayed later."""
        root.mkdir()
        answers: dict[int, Answer] = {}
        with Worker([str(root)]) as worker:
            for width in WIDTHS:
                (root / f"soak{width}.py").write_text(net(width))
                answers[width] = worker.record(RecordingRequest(f"soak{width}.Net", "1,3"), timeout_s=60)
        for width, answer in answers.items():
            assert answer.error is None, answer.error
            text = json.dumps(answer.to_json())
            (root / f"answer{width}.json").write_text(text.replace(f"soak{width}", "NAME"))
            (root / f"soak{width}.py").unlink()
        soak = Soak(root, {})
        for width in WIDTHS:
            for request, name in ((EDITED, "soak_edited"), (KEPT, "soak_kept")):
                soak.edit(name, width if request is EDITED else WIDTHS[0])
                outcome = soak.pipeline().run([request])[request]
                assert outcome.diagram is not None, outcome.error
                soak.truths[soak.source(request)] = outcome.diagram.svg
        assert len({*soak.truths.values()}) == 3
        assert soak.check(EDITED) == soak.check(KEPT) == "right"
        return soak

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    def edit(self, name: str, width: int) -> None:
        """Change the code at one stroke."""
        new = self.root / f".{name}.new"
        new.write_text(net(width))
        new.replace(self.root / f"{name}.py")

    def forget_edited(self) -> None:
        """Remove the recordings of the edited model, of which a cache keeps several, so that the next build writes."""
        for file in entries(self.cache):
            if facts_of(file).get("request", {}).get("target") == EDITED.recording.target:
                file.unlink()

    def settings(self) -> Settings:
        return Settings(self.cache, (str(self.root),), project=self.root)

    def pipeline(self) -> Pipeline:
        return Pipeline(self.settings(), lambda path: nullcontext(Replaying(self.root)))

    def check(self, request: DiagramRequest) -> str:
        """What a build without torch shows: `right`, `wrong`, or `nothing`, which is recorded again where torch is."""
        outcome = Pipeline(self.settings(), NoTorch.of).run([request])[request]
        if outcome.error is not None:
            assert isinstance(outcome.error, OutOfDate | TorchMissing), outcome.error
            return "nothing"
        assert outcome.diagram is not None
        return "right" if outcome.diagram.svg == self.truths[self.source(request)] else "wrong"

    def source(self, request: DiagramRequest) -> str:
        """The file that holds the model, with its text."""
        name = request.recording.target.partition(".")[0]
        return name + (self.root / f"{name}.py").read_text()

    def heal(self) -> None:
        """A build with torch, after which everything must be right again."""
        self.pipeline().run([EDITED, KEPT])
        assert (self.check(EDITED), self.check(KEPT)) == ("right", "right")

    def kill_one(self, chance: random.Random) -> Counter[str]:
        """Kill a process that edits and builds for ever, at any instant, and look at what it left."""
        process = self.start("for ever")
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(chance.uniform(0, 0.25))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        said = process.communicate()[1]
        assert process.returncode == -signal.SIGKILL, said
        return Counter(
            {
                "kills": 1,
                f"edited model: {self.check(EDITED)}": 1,
                f"other model: {self.check(KEPT)}": 1,
                "tracebacks": said.count("Traceback"),
                "damaged files": len(self.damaged()),
            }
        )

    def start(self, task: str, *more: str) -> subprocess.Popen[str]:
        """A process that builds in this project."""
        path = os.pathsep.join(filter(None, sys.path))
        return subprocess.Popen(
            [sys.executable, "-m", "tests.core.cache.soaking", str(self.root), task, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def damaged(self) -> list[Path]:
        """Files under final names that are not whole."""
        found = [f for f in (*entries(self.cache), *entries(self.cache, "ren")) if not f.name.startswith(".new-")]
        named = {f: {*map(str, facts_of(f).values())} for f in found}
        return [f for f in found if hashlib.sha256(behind(f)).hexdigest() not in named[f]]

    def files(self) -> list[Path]:
        """Every file of the cache."""
        return sorted(file for file in self.cache.rglob("*") if file.is_file())

    def damage_one(self, file: Path, chance: random.Random) -> Counter[str]:
        """Flip a bit of a file, or cut it off; look, heal, look again."""
        whole = file.read_bytes()
        harmed = bytearray(whole)
        place = chance.randrange(len(whole))
        if chance.random() < 0.5:
            harmed[place] ^= 1 << chance.randrange(8)
        else:
            del harmed[place:]
        file.write_bytes(harmed)
        seen = Counter({"damages": 1, f"model: {self.check(EDITED)}": 1, f"model: {self.check(KEPT)}": 1})
        self.heal()
        return seen

    def requests(self, first: int, last: int) -> list[DiagramRequest]:
        """Different requests for the same model."""
        requests = [replace(KEPT.recording, seed=seed) for seed in range(first, last)]
        return [replace(KEPT, recording=recording) for recording in requests]


def fresh(soak: Soak, requests: Sequence[DiagramRequest]) -> int:
    """How many of the requests have a whole recording."""
    recordings: Recordings = Pipeline(soak.settings(), NoTorch.of).recordings()
    found = [recordings.kept(request.recording) for request in requests]
    return sum(recording is not None and recordings.load(recording) for recording in found)


def main(root: Path, task: str, *more: str) -> None:
    soak = Soak(root, {})
    if task == "for ever":
        print("begun", flush=True)
        for number in range(1_000_000):
            soak.edit("soak_edited", WIDTHS[number % 2])
            soak.forget_edited()
            pipeline = soak.pipeline()
            pipeline.run([EDITED, KEPT])
            assert pipeline.seconds, "nothing was recorded, so no write could be interrupted"
    elif task == "many":
        print("begun", flush=True)
        for request in soak.requests(int(more[0]), int(more[1])):
            soak.pipeline().run([request])
    elif task == "update":
        with ThreadPoolExecutor(1) as executor:
            update(Collected(soak.settings(), (EDITED, KEPT)), executor, jobs=1)
    elif task == "limited":  # no file may become larger than this
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(more[0]), int(more[0])))
        pipeline = soak.pipeline()
        outcomes: dict[DiagramRequest, Any] = pipeline.run([EDITED, KEPT])
        drawn = sum(outcome.diagram is not None and outcome.error is None for outcome in outcomes.values())
        print(json.dumps([drawn, pipeline.cache.problem]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
