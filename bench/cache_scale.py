"""What 2,000 diagrams cost, each of a model in a file of its own: `nox -s bench -- cache_scale`.

Recordings are given, so that only our own work is measured. Each build is a process of its own; times are those of the
processor, memory is the most that the process had.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cache_warm import pictures

from bench.figures import Figure, show
from tests.core.answering import NoTorch, OneByOne
from torchrecorder.cache.index import stamp_of
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import RecordingRequest, Settings, read_request
from torchrecorder.trace.observed import TraceResult
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

SIZES = (100, 300, 1000, 2000)
DRAWN = "Time to draw a diagram from its recording, by the number of diagrams"
FOUND = "Time to find that a diagram is as it was, by the number of diagrams"
MEMORY = "Memory of a build in which nothing changed, by the number of diagrams"
_NET = """from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, {width})

    def forward(self, x):
        return self.last(self.act(self.first(x)))
"""


def main() -> None:
    """Print the figures."""
    show(rows())


def rows() -> Iterator[Figure]:
    """The figures, each beside its goal."""
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="scale-") as folder:
            root = Path(folder)
            _write(root, size)
            cold, _, first, warm = [_built(root, size, name) for name in ("cold", "settle", "warm", "warm")]
            files = [file for file in (root / ".torchrecorder").rglob("*") if file.is_file()]
            mib = sum(file.stat().st_size for file in files) / 2**20
            yield Figure(f"{size} diagrams: files of the cache, for each", len(files) / size, goal=5)
            yield Figure(f"{size} diagrams: size of the cache", mib, "MiB")
            yield Figure(f"{size} diagrams: drawn, each", cold["seconds"] / size * 1e3, "ms", None, DRAWN, size)
            seconds, memory = min(first["seconds"], warm["seconds"]), max(first["memory"], warm["memory"])
            yield Figure(f"{size} diagrams: nothing changed, each", seconds / size * 1e3, "ms", 0.4, FOUND, size)
            yield Figure(f"{size} diagrams: nothing changed, memory", memory, "MiB", 50, MEMORY, size)


class Given(OneByOne):
    """Answers with one Graph for all, in which only the name of the model differs."""

    def record(self, request: RecordingRequest, *, timeout_s: float) -> Answer:
        root = Path(self._path[0])
        module = request.target.rpartition(".")[0]
        source = str(root / f"{module}.py")
        graph = (root / "graph.json").read_text().replace("scale0", module)
        ran = {source: (["Net.__init__"], ["Net.__init__", "Net.forward"])}
        nothing: dict[str, None] = {}
        trace = TraceResult(
            {module: source}, {source: stamp_of(source)}, ran, nothing, nothing, {}, {}, (), (), {"torch": "2.13.0"}
        )
        return Answer(graph, trace=trace)


def _write(root: Path, size: int) -> None:
    for number in range(size):
        (root / f"scale{number}.py").write_text(_NET.format(width=number + 1))
    with Worker([str(root)]) as worker:
        answer = worker.record(RecordingRequest("scale0.Net", "1,8"), timeout_s=60)
    assert answer.graph is not None, answer.error
    (root / "graph.json").write_text(answer.graph)


def _built(root: Path, size: int, name: str) -> dict[str, float]:
    if name == "settle":
        time.sleep(2.1)  # what changed a moment ago may change again, and is not noted
    command = [sys.executable, __file__, str(root), str(size), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    reading: dict[str, float] = json.loads(done.stdout)
    return reading


def build(root: Path, size: int, is_cold: bool) -> None:
    """Build in this process, and print what it took."""
    settings = Settings.for_project(root, path=["."])
    start = time.process_time()
    requests = [read_request(f"scale{number}.Net", {"shape": "1,8"}) for number in range(size)]
    pipeline = Pipeline(settings, lambda path: nullcontext(Given(path)) if is_cold else NoTorch(path))
    pictures(pipeline.run(requests))
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert "torch" not in sys.modules
    print(json.dumps({"seconds": seconds, "memory": memory}))


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else build(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "cold")
