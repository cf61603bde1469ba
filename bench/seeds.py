"""The four recorders beside those they are ports of, in one table: `nox -s bench -- seeds`.

    python bench/seeds.py torchrecorder=FOLDER torchview=FOLDER torchfunc=FOLDER scio=FOLDER

Each folder is what `pip install --no-deps --target FOLDER …` made of an original. A case runs in a process of its own,
ours and theirs in turn, so that other work on the machine falls on both. The time is processor time, the least of all
runs; the memory is what the process grew by at its peak in a first run, the least of all processes. The goal is a ratio
of at most 1.05, or half a MiB, that being what a run differs from the next one by.

While memory is measured, malloc maps each large buffer by itself. Left alone, it begins to cut them from the heap after
the first was freed, and the heap's gaps are several buffers wide, other ones in each process: the original alone varied
from 42 to 58 MiB.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from bench.figures import Figure, hand_over

ROUNDS, REPEATS = 3, 9
GOAL, SLACK_MIB = 1.05, 0.5
OURS = str(Path(__file__).parent.parent / "core")
DOORS = {
    "torchrecorder": ("torchrecorder", "torchrecorder"),
    "torchview": ("torchview", "torchrecorder.torchview"),
    "torchfunc": ("torchfunc.hooks.recorders", "torchrecorder.torchfunc.hooks.recorders"),
    "scio": ("scio.recorder", "torchrecorder.scio.recorder"),
}
"""Where the names of each seed are: the original's module, and ours."""
Job = Callable[[], Any]


def main(folders: dict[str, str]) -> None:
    """Print a line for each case, and how many reached the goal."""
    print(f"{'':38}{'ours ms':>9}{'theirs':>9}{'ratio':>7}{'ours MiB':>10}{'theirs':>8}  goal")
    reached = []
    for seed, folder in folders.items():
        for case in CASES[seed]:
            found = [[_measured(seed, case, ours, folder) for ours in (True, False)] for _ in range(ROUNDS)]
            (ms, mib), (their_ms, their_mib) = (map(min, zip(*side, strict=True)) for side in zip(*found, strict=True))
            good = ms <= GOAL * their_ms, mib <= max(GOAL * their_mib, their_mib + SLACK_MIB)
            reached += good
            words = "reached" if all(good) else f"missed: {' and '.join(_missed(*good))}"
            line = f"{ms:9.2f}{their_ms:9.2f}{ms / their_ms:7.2f}{mib:10.1f}{their_mib:8.1f}  {words}"
            print(f"{seed + ': ' + case:38}{line}", flush=True)
            hand_over(Figure(f"{seed}: {case}, time to the original's", ms / their_ms, "×", GOAL))
            hand_over(Figure(f"{seed}: {case}, more memory than the original", mib - their_mib, "MiB", SLACK_MIB))
    print(f"{sum(reached)} of {len(reached)} goals reached")


def _missed(in_time: bool, in_memory: bool) -> list[str]:
    return [*([] if in_time else ["time"]), *([] if in_memory else ["memory"])]


def _measured(seed: str, case: str, ours: bool, folder: str) -> list[float]:
    path = os.pathsep.join([OURS] if ours else [folder])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, "--child", seed, case, DOORS[seed][ours]]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def measure(seed: str, case: str, module: str) -> list[float]:
    """Milliseconds of processor time of the fastest run, and MiB that the first one added at its peak."""
    import torch

    torch.set_num_threads(1)
    room = import_module(module)
    job = CASES[seed][case](room)
    WARM[seed](room)()
    peak = _peak_of(job)
    return [min(_milliseconds(job) for _ in range(REPEATS)), peak / 1024]


def _peak_of(job: Job) -> int:
    """KiB that a run adds at its peak. Linux only."""
    _allocate(map_from=1 << 20, keep=1 << 17)
    gc.collect()
    # Makes the peak begin again at what is in use now.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _peak_kib()
    kept = job()
    peak = _peak_kib() - before
    del kept
    _allocate(map_from=1 << 25, keep=1 << 28)  # so that times are not those of asking for memory
    return peak


def _allocate(map_from: int, keep: int) -> None:
    """From how many bytes on a buffer is mapped by itself (32 MiB at most), and how many free ones the heap keeps."""
    libc = ctypes.CDLL(None)
    for option, size in ((-3, map_from), (-1, keep)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
        libc.mallopt(option, size)


def _milliseconds(job: Job) -> float:
    gc.collect()
    start = process_time()
    kept = job()
    passed = 1000 * (process_time() - start)
    del kept
    return passed


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def residual(blocks: int = 12) -> Any:
    """A residual network of convolutions."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(width, width, 3, padding=1)
            self.norm, self.relu = nn.BatchNorm2d(width), nn.ReLU()
            self.two = nn.Conv2d(width, width, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return self.relu(self.two(self.relu(self.norm(self.one(x)))) + x)

    return nn.Sequential(*[Block(32) for _ in range(blocks)])


def tower(blocks: int, width: int) -> Any:
    """Linear layers and activations in turn: what recording costs, where the network computes next to nothing."""
    from torch import nn

    return nn.Sequential(*(layer for _ in range(blocks) for layer in (nn.Linear(width, width), nn.ReLU())))


def encoder() -> Any:
    """Functions on nested modules."""
    from torch import nn

    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)


def images() -> Any:
    """Large activations: what recording keeps alive."""
    from torch import nn

    blocks = [nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()) for _ in range(12)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *blocks)


def _record(make: Callable[[], Any], shape: tuple[int, ...]) -> Callable[[Any], Job]:
    def job(room: Any) -> Job:
        net = make()
        return lambda: room.record(net, "Net", shape)

    return job


def _make_dot(make: Callable[[], Any], shape: tuple[int, ...]) -> Callable[[Any], Job]:
    def job(room: Any) -> Job:
        rec = room.record(make(), "Net", shape)
        return lambda: room.make_dot(rec, 1).source  # at its default depth the original fails on these networks

    return job


def _draw(make: Callable[[], Any], size: tuple[int, ...], **options: Any) -> Callable[[Any], Job]:
    def job(room: Any) -> Job:
        net = make()
        return lambda: room.draw_graph(net, input_size=size, device="cpu", **options).visual_graph.source

    return job


def _hooks(name: str) -> Callable[[Any], Job]:
    def job(room: Any) -> Job:
        def run() -> Any:
            import torch

            net, x = tower(30, 64), torch.randn(32, 64, requires_grad=True)
            recorder = getattr(room, name)().children(net)
            for _ in range(10):
                out = net(x)
                if name.startswith("Backward"):
                    out.sum().backward()
            return recorder

        return run

    return job


def _making(room: Any) -> Job:
    return lambda: room.Recorder(tower(30, 64), input_size=(32, 64))


def _passes(room: Any) -> Job:
    import torch

    rnet, x = room.Recorder(tower(30, 64), input_size=(32, 64)), torch.randn(32, 64)
    rnet.record(*((1, place) for place in range(1, 61, 3)))

    def run() -> Any:
        for _ in range(30):
            rnet(x)
        return rnet

    return run


IMAGE, ROWS, WORDS = (1, 32, 56, 56), (8, 64), (2, 16, 64)
OPEN = {"depth": 9, "expand_nested": True, "hide_module_functions": False}
CASES: dict[str, dict[str, Callable[[Any], Job]]] = {
    "torchrecorder": {
        "record, residual": _record(residual, IMAGE),
        "record, 200 tiny layers": _record(lambda: tower(100, 64), ROWS),
        "make_dot, residual": _make_dot(residual, IMAGE),
        "make_dot, 200 tiny layers": _make_dot(lambda: tower(100, 64), ROWS),
    },
    "torchview": {
        "tower of 200 modules": _draw(lambda: tower(100, 8), (1, 8)),
        "encoder, all open": _draw(encoder, WORDS, **OPEN),
        "encoder, rolled": _draw(encoder, WORDS, depth=9, roll=True),
        "convolutions, 256 x 256": _draw(images, (2, 3, 256, 256)),
    },
    "torchfunc": {
        name: _hooks(name)
        for name in ("ForwardPre", "ForwardInput", "ForwardOutput", "BackwardInput", "BackwardOutput")
    },
    "scio": {"Recorder(net)": _making, "rnet(x), 30 passes": _passes},
}
"""torchfunc's BackwardInput is no equal measure: it keeps the gradients of biases, and those of inputs are larger."""
WARM: dict[str, Callable[[Any], Job]] = {
    "torchrecorder": _make_dot(lambda: residual(1), (1, 32, 8, 8)),
    "torchview": _draw(lambda: tower(2, 8), (1, 8)),
    "torchfunc": _hooks("BackwardOutput"),
    "scio": _making,
}


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main(dict(argument.split("=", 1) for argument in sys.argv[1:]))
