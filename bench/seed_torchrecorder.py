"""Our classic recorder beside torchrecorder 1.0.3: time and peak memory of recording and drawing, each in its process.

    python bench/seed_torchrecorder.py FOLDER_WITH_THE_ORIGINAL

The folder is what `pip install --no-deps --target FOLDER torchrecorder==1.0.3` makes. Processes take turns, and the
best of several runs counts, so that other work on the machine disturbs both alike. Depth 1 is drawn: at its default
depth the original fails on these networks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS, REPEATS = 3, 7


def main(original: str) -> None:
    """Print a line per network."""
    ours = str(Path(__file__).parent.parent / "core")
    best: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for who, folder in (("ours", ours), ("theirs", original)):
            for name in ("residual", "wide", "thin"):
                _keep_best(best.setdefault(name, {}), who, _measured(folder, name))
    for name, of in best.items():
        for position, what in enumerate(("record ms", "make_dot ms", "peak MiB")):
            mine, other = of["ours"][position], of["theirs"][position]
            print(f"{name:10} {what:12} {mine:9.1f} {other:9.1f}  ratio {mine / other:.2f}")


def _keep_best(best: dict[str, list[float]], who: str, found: list[float]) -> None:
    best[who] = [min(pair) for pair in zip(best.get(who, found), found, strict=True)]


def _measured(folder: str, name: str) -> list[float]:
    env = {**os.environ, "PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, "--child", name], env=env, capture_output=True, check=True)
    return list(json.loads(done.stdout))


def measure(name: str) -> list[float]:
    """Milliseconds to record and to draw, best of several, and MiB that the process grew by at its peak."""
    import resource

    import torch

    import torchrecorder

    net, shape = network(name)
    net(torch.ones(shape))
    torchrecorder.make_dot(torchrecorder.record(net, "Net", shape), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    recorded = [_timed(lambda: torchrecorder.record(net, "Net", shape)) for _ in range(REPEATS)]
    rec = torchrecorder.record(net, "Net", shape)
    drawn = [_timed(lambda: torchrecorder.make_dot(rec, 1).source) for _ in range(REPEATS)]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return [min(recorded), min(drawn), max((after - before) / 1024, 1.0)]


def _timed(run: Callable[[], Any]) -> float:
    from time import process_time

    start = process_time()
    run()
    return 1000 * (process_time() - start)


def network(name: str) -> tuple[Any, tuple[int, ...]]:
    """A residual network of convolutions, one of few wide layers, and one of many that compute next to nothing."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(width, width, 3, padding=1)
            self.norm, self.relu = nn.BatchNorm2d(width), nn.ReLU()
            self.two = nn.Conv2d(width, width, 3, padding=1)

        def forward(self, x: torch.Tensor) -> Any:
            return self.relu(self.two(self.relu(self.norm(self.one(x)))) + x)

    torch.manual_seed(0)
    if name == "residual":
        return nn.Sequential(*[Block(32) for _ in range(12)]), (1, 32, 56, 56)
    if name == "wide":
        return nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(1024, 1024), nn.ReLU())]), (64, 1024)
    return nn.Sequential(*[layer for _ in range(100) for layer in (nn.Linear(64, 64), nn.ReLU())]), (8, 64)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(sys.argv[1])
