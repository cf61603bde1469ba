"""What the cache and the worker cost, and what they survive: `nox -s bench -- cache`.

Times are those of the processor where one process works, and of the clock where the gain is
that several do.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show
from tests.core.cache.soaking import EDITED, KEPT, WIDTHS, Soak, fresh
from torchrecorder.cli.projects import connected, update
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.collecting import Collected
from torchrecorder.request import Settings, read_request
from torchrecorder.trace.freshness import Verdict
from torchrecorder.worker.client import Worker

MODELS = 50
KILLS = 200
REAL_KILLS = 20
DAMAGES = 400
NETS = "from torch import nn\n" + "".join(
    f"class Net{n}(nn.Module):\n"
    f"    def __init__(self):\n        super().__init__()\n        self.a, self.b = nn.Linear(8, {n + 1}), nn.ReLU()\n"
    "    def forward(self, x): return self.b(self.a(x))\n"
    for n in range(MODELS)
)
NAMES = [f"zoo_small.Net{n}" for n in range(MODELS)]
REQUESTS = tuple(read_request(name, {"shape": "1,8"}) for name in NAMES)


def main() -> None:
    """Measure one part after another, each in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as name:
        scratch = Path(name)
        for part in (recording, jobs, kills, real_kills, together, damage, full_disk):
            folder = scratch / part.__name__
            folder.mkdir()
            show(part(folder))


def recording(folder: Path) -> Iterator[Figure]:
    """Small models, one after another in one worker; the processor's time of all its processes."""
    (folder / "zoo_small.py").write_text(NETS)
    with Worker([str(folder)]) as worker:
        worker.expect([request.recording for request in REQUESTS])
        first, _ = _timed(lambda: worker.record(REQUESTS[0].recording, timeout_s=60))
        each = [_timed(lambda r=r: worker.record(r.recording, timeout_s=60))[0] for r in REQUESTS[1:]]
        errors = [worker.record(REQUESTS[0].recording, timeout_s=60).error]
    assert errors == [None]
    middle = statistics.median(each) * 1e3
    yield Figure("first of 50 small models, with the import of torch, by the clock", first, "s")
    yield Figure("each further one, by the clock", middle, "ms", 80)
    few, many = _spent(folder, 1), _spent(folder, MODELS)
    yield Figure("each further one, time of the processor", (many - few) / (MODELS - 1) * 1e3, "ms", 80)


def _timed(do: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = do()
    return time.perf_counter() - start, result


def _spent(folder: Path, count: int) -> float:
    """The processor's time of a worker and all its jobs; without a layer, which is not waited for when it ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Worker([str(folder)]) as worker:
        for request in REQUESTS[:count]:
            worker.record(request.recording, timeout_s=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def jobs(folder: Path) -> Iterator[Figure]:
    """A larger zoo by one process, by two, and by the two workers of a cluster."""
    times = {1: _updated(folder / "1", 1), 2: _updated(folder / "2", 2)}
    yield Figure(f"update of {MODELS} models of 0.5 s, by the clock", times[1], "s")
    yield Figure(f"--jobs 2 to --jobs 1, on {os.cpu_count()} processors", times[2] / times[1], "×", 1)
    with cluster(2) as address:
        seconds = _updated(folder / "dask", 2, address)
    yield Figure("--dask with two workers on this machine to --jobs 1", seconds / times[1], "×", 1)


def _updated(root: Path, at_once: int, address: str = "") -> float:
    """How long an update takes in a new project, by the clock."""
    root.mkdir()
    (root / "zoo_small.py").write_text(NETS.replace("super().__init__()", "super().__init__(); sum(range(20_000_000))"))
    settings = Settings.for_project(root, path=["."], cache="diagrams")
    found = Collected(settings if address else replace(settings, jobs=at_once), REQUESTS)
    with connected(address) if address else nullcontext((ThreadPoolExecutor(1), 1)) as (executor, threads):
        seconds, done = _timed(partial(update, found, executor, jobs=threads))
    assert not done.errors  # type: ignore[attr-defined]
    recordings = Pipeline(found.settings).recordings()
    assert all(recordings.look(r.recording)[1].verdict is Verdict.FRESH for r in REQUESTS)
    return seconds


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a cluster on this machine, each worker a process."""
    from distributed import LocalCluster

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as running:
        yield running.scheduler_address


def kills(folder: Path) -> Iterator[Figure | str]:
    """Builds that replay recordings, so that most of their time is the cache's."""
    soak, chance, seen = Soak.make(folder / "project"), random.Random(3), Counter[str]()
    for _ in range(KILLS):
        seen += soak.kill_one(chance)
    soak.heal()
    yield from _wrong(f"wrong after {KILLS} builds killed at any instant", seen)


def real_kills(folder: Path) -> Iterator[Figure | str]:
    """`update` as users start it, with torch, killed anywhere between its start and its end."""
    soak, chance, seen = Soak.make(folder / "project"), random.Random(4), Counter[str]()
    for number in range(REAL_KILLS):
        soak.edit("soak_edited", WIDTHS[number % 2])
        soak.forget_edited()
        process = soak.start("update")
        try:
            process.wait(chance.uniform(0.2, 4))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        log = process.communicate()[1]
        seen += Counter(
            {
                "killed" if process.returncode < 0 else "had ended": 1,
                f"edited model: {soak.check(EDITED)}": 1,
                f"other model: {soak.check(KEPT)}": 1,
                "tracebacks": log.count("Traceback"),
                "damaged files": len(soak.damaged()),
            }
        )
    soak.heal()
    yield from _wrong(f"wrong after {REAL_KILLS} updates with torch killed at any instant", seen)


def together(folder: Path) -> Iterator[Figure | str]:
    """Two builds on one cache, which share half of their work."""
    soak = Soak.make(folder / "project")
    processes = [soak.start("many", *map(str, span)) for span in ((1, 201), (101, 301))]
    log = [process.communicate()[1] for process in processes]
    found = fresh(soak, soak.requests(1, 301))
    bad = 300 - found + len(soak.damaged()) + sum(map(bool, log))
    yield Figure("wrong after two builds at once, 200 recordings each", bad, goal=0)


def damage(folder: Path) -> Iterator[Figure | str]:
    """Bits flipped and ends cut off, in every kind of file."""
    soak, chance, seen = Soak.make(folder / "project"), random.Random(5), Counter[str]()
    while seen["damages"] < DAMAGES:
        for file in soak.files():
            if file.exists() and file.stat().st_size and seen["damages"] < DAMAGES:
                seen += soak.damage_one(file, chance)
    yield f"    {dict(seen)}"
    wrong = sum(count for name, count in seen.items() if name.endswith("wrong"))
    yield Figure(f"wrong pictures after {DAMAGES} flipped or truncated files", wrong, goal=0)


def full_disk(folder: Path) -> Iterator[Figure | str]:
    """No file may become larger than a limit, in steps of 200 bytes."""
    soak, seen = Soak.make(folder / "project"), Counter[str]()
    for largest in range(0, 8000, 200):
        soak.edit("soak_edited", WIDTHS[largest // 200 % 2])
        shutil.rmtree(soak.cache)
        process = soak.start("limited", str(largest))
        _, log = process.communicate()
        seen += Counter(
            {
                "builds": 1,
                f"model: {soak.check(EDITED)}": 1,
                f"model: {soak.check(KEPT)}": 1,
                "tracebacks": log.count("Traceback"),
                "damaged files": len(soak.damaged()),
            }
        )
        soak.heal()
    yield from _wrong("wrong after 40 builds on a disk that is full sooner or later", seen)


def _wrong(what: str, seen: Counter[str]) -> Iterator[Figure | str]:
    """How many wrong pictures, tracebacks and damaged files were seen, and what else."""
    yield f"    {', '.join(f'{count} {name}' for name, count in sorted(seen.items()) if count)}"
    bad = sum(count for name, count in seen.items() if name.endswith(("wrong", "tracebacks", "damaged files")))
    yield Figure(what, bad, goal=0)


if __name__ == "__main__":
    main()
