"""draw_graph beside torchview's: time and peak memory, measured in one run of one process each.

    python bench/seed_torchview.py            # needs torchview and graphviz besides torch

Each figure is the smallest of the rounds, the two taking turns; the ratio is ours / theirs.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

ROUNDS = 5
DOORS = {"theirs": "torchview", "ours": "torchrecorder.recorder_tensor"}


def tower(layers: int, width: int) -> nn.Module:
    """Many small modules: what recording costs."""
    blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True)) for _ in range(layers)]
    return nn.Sequential(*blocks)


def encoder() -> nn.Module:
    """Functions on nested modules."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)


def images() -> nn.Module:
    """Large activations: what recording keeps alive."""
    blocks = [nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()) for _ in range(12)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *blocks)


CASES: dict[str, tuple[Callable[[], nn.Module], dict[str, Any]]] = {
    "tower of 600 modules": (lambda: tower(200, 8), {"input_size": (1, 8)}),
    "encoder, all open": (
        encoder,
        {"input_size": (2, 16, 64), "depth": 9, "expand_nested": True, "hide_module_functions": False},
    ),
    "encoder, rolled": (encoder, {"input_size": (2, 16, 64), "depth": 9, "roll": True}),
    "convolutions, 256 x 256": (images, {"input_size": (2, 3, 256, 256)}),
}


def seconds(door: str, case: str) -> float:
    """Seconds for one drawing."""
    make, options = CASES[case]
    net, draw = make(), importlib.import_module(DOORS[door]).draw_graph
    started = time.perf_counter()
    draw(net, device="cpu", **options)
    return time.perf_counter() - started


def megabytes(door: str, case: str) -> float:
    """Peak memory that a drawing adds to a fresh process, in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_added, (door, case))


def _added(door: str, case: str) -> float:
    torch.set_num_threads(1)
    seconds(door, "tower of 600 modules")
    # Linux only: makes the peak begin again at what is in use now.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _peak_kb()
    seconds(door, case)
    return (_peak_kb() - before) / 1024


def _peak_kb() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    """Print a line for each case."""
    torch.set_num_threads(1)
    for door in DOORS:
        seconds(door, "encoder, rolled")
    print(f"{'':26}{'theirs s':>10}{'ours s':>10}{'ratio':>8}{'theirs MB':>12}{'ours MB':>10}")
    for case in CASES:
        taken: dict[str, list[float]] = {door: [] for door in DOORS}
        for _ in range(ROUNDS):
            for door in DOORS:
                taken[door].append(seconds(door, case))
        theirs, ours = (min(taken[door]) for door in DOORS)
        memory = [megabytes(door, case) for door in DOORS]
        print(f"{case:26}{theirs:10.3f}{ours:10.3f}{ours / theirs:8.2f}{memory[0]:12.1f}{memory[1]:10.1f}")


if __name__ == "__main__":
    main()
