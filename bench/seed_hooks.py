"""Time and memory of the recorders of layers against those they are ports of: `python bench/seed_hooks.py`.

One run prints each pair side by side. An original that is not installed is left out. Rounds alternate between the two,
so that other work on the machine falls on both; the time is the median, the memory the peak of Python's own allocations
and what is held by tensors that live on. torchfunc's BackwardInput is no equal measure: it keeps the gradients of
biases, which are smaller than those of inputs.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from torchrecorder.activations import Recorder
from torchrecorder.hooks import recorders

ROUNDS = 9
Job = Callable[[], Any]


def tower(blocks: int, width: int) -> nn.Sequential:
    """Linear layers and activations, `2 * blocks` of them."""
    return nn.Sequential(*(layer for _ in range(blocks) for layer in (nn.Linear(width, width), nn.ReLU())))


def hook_jobs(room: Any) -> dict[str, Job]:
    """Ten passes under each recorder of a room."""

    def job(name: str, backward: bool) -> Job:
        def run() -> Any:
            net, x = tower(30, 64), torch.randn(32, 64, requires_grad=True)
            recorder = getattr(room, name)().children(net)
            for _ in range(10):
                out = net(x)
                if backward:
                    out.sum().backward()
            return recorder

        return run

    forward = {f"{name}": job(name, False) for name in ("ForwardPre", "ForwardInput", "ForwardOutput")}
    return forward | {name: job(name, True) for name in ("BackwardInput", "BackwardOutput")}


def activation_jobs(cls: Any) -> dict[str, Job]:
    """Making a recorder, and a hundred passes with one."""
    net, x = tower(30, 64), torch.randn(32, 64)
    rnet = cls(net, input_size=(32, 64))
    rnet.record(*((1, place) for place in range(1, 61, 3)))

    def passes() -> Any:
        for _ in range(100):
            rnet(x)
        return rnet

    return {"Recorder(net)": lambda: cls(tower(30, 64), input_size=(32, 64)), "rnet(x)": passes}


def seconds(job: Job) -> float:
    """One run; what it leaves is thrown away later, as the originals' cycles would be."""
    gc.collect()
    start = time.perf_counter()
    kept = job()
    passed = time.perf_counter() - start
    del kept
    return passed


def python_kib(job: Job) -> float:
    """The peak of Python's allocations in one run."""
    gc.collect()
    tracemalloc.start()
    kept = job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak / 1024


def tensor_kib(job: Job) -> float:
    """What tensors hold after one run that are not there before, while its recorder lives."""
    gc.collect()
    before = _tensor_bytes()
    kept = job()
    gc.collect()
    grown = _tensor_bytes() - before
    del kept
    return grown / 1024


def _tensor_bytes() -> int:
    storages = {}
    for one in gc.get_objects():
        if type(one) in (torch.Tensor, nn.Parameter):
            storage = one.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def compare(title: str, mine: dict[str, Job], theirs: dict[str, Job]) -> None:
    """Print a line for each job."""
    print(f"\n{title:16}  {'ours ms':>9} {'theirs ms':>9} {'time':>6}  {'Python KiB':>17} {'tensor KiB':>17}")
    for name, job in mine.items():
        other = theirs[name]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            times[0].append(seconds(job))
            times[1].append(seconds(other))
        ours, original = (statistics.median(one) * 1000 for one in times)
        memory = f"{python_kib(job):8.0f} {python_kib(other):8.0f} {tensor_kib(job):8.0f} {tensor_kib(other):8.0f}"
        print(f"{name:16}  {ours:9.2f} {original:9.2f} {ours / original:6.2f}  {memory}")


def main() -> None:
    """Compare with what is installed."""
    warnings.simplefilter("ignore")  # torchfunc's backward hooks are deprecated
    torch.set_num_threads(1)
    if hooks := _installed("torchfunc.hooks"):
        compare("torchfunc", hook_jobs(recorders), hook_jobs(hooks.recorders))
    if scio := _installed("scio.recorder"):
        compare("scio", activation_jobs(Recorder), activation_jobs(scio.Recorder))


def _installed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        print(f"\n{module} is left out: {error}")
        return None


if __name__ == "__main__":
    main()
