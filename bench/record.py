"""What a recording costs, in ratios to the plain forward of the same run: `nox -s bench -- record`.

Nothing here is a test. The figures depend on the machine and on what else it does; the ratios do less so.
"""

from __future__ import annotations

import importlib
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

sys.path[:0] = [str(Path(__file__).parent.parent)]

from bench.figures import Figure, show  # noqa: E402
from tests.corpus import science, text, vision  # noqa: E402
from tests.corpus.torchvision_ops import define_missing_operators  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.graph import from_json, to_json  # noqa: E402

GROWTH = "Own time for each op, by the length of a chain of ops"

Case = tuple[str, nn.Module, tuple[Any, ...], dict[str, Any]]


def main() -> None:
    """Print a table of goals and of what was reached; arguments choose parts of it."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        show(figure for name in sys.argv[1:] or PARTS for figure in PARTS[name]())


def _ratios(rounds: int = 5) -> Iterator[Figure]:
    ratios: list[float] = []
    for name, model, args, kwargs in _models():
        model.eval()
        ops = len(capture(model, args, kwargs).ops)
        times = [_both(model, args, kwargs) for _ in range(rounds)]
        plain, recorded = (min(column) for column in zip(*times, strict=True))
        ratios.append(recorded / plain)
        print(f"{name:10} {ops:5} ops  plain {plain * 1e3:6.0f} ms  record / plain {ratios[-1]:.2f}", flush=True)
    yield Figure("record / forward, five large models, median", statistics.median(ratios), "×", 1.3)


def _models() -> Iterator[Case]:
    define_missing_operators()
    transformers, vision = importlib.import_module("transformers"), importlib.import_module("torchvision.models")
    ids = {"input_ids": torch.randint(0, 30000, (1, 128))}
    yield "BERT", transformers.BertModel(transformers.BertConfig()), (), ids
    yield "GPT-2", transformers.GPT2LMHeadModel(transformers.GPT2Config()), (), ids
    for name in ("vit_b_16", "resnet50", "swin_t"):
        yield name, getattr(vision, name)(weights=None), (torch.randn(1, 3, 224, 224),), {}


class _Chain(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.length):
            x = x + 1
        return x


class _Functions(TorchFunctionMode):
    """Costs what torch takes for calling a mode of Python at each function."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class _Kernels(TorchDispatchMode):
    """The same for each kernel."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _growth(rounds: int = 5) -> Iterator[Figure]:
    for length in (1_000, 10_000, 100_000):
        model, args = _Chain(length), (torch.ones(2, 3),)
        times = [(_in_modes(model, args), *_both(model, args, {})) for _ in range(rounds if length < 100_000 else 1)]
        modes, plain, recorded = (min(column) for column in zip(*times, strict=True))
        own, all_of_it = ((recorded - base) / length * 1e6 for base in (modes, plain))
        yield Figure(f"own, for each of {length:,} ops", own, "µs", 40, GROWTH, length)
        yield Figure("    with torch's modes", all_of_it, "µs")


class _Writes(nn.Module):
    """Writes into one tensor, a piece after the other."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: Tensor) -> Tensor:
        kept = torch.zeros(self.length)
        for i in range(self.length):
            kept[i] = x[0, 0]
        return kept


def _exponents() -> Iterator[Figure]:
    """How time grows with writes into one tensor, and that of the JSON with modules; 1 is linear."""
    writes: list[float] = []
    texts: list[float] = []
    lengths = (2_000, 8_000)
    for length in lengths:
        model, args = _Writes(length), (torch.ones(2, 3),)
        writes.append(min(_seconds(lambda run=model, given=args: capture(run, given)) for _ in range(3)))
        graph = capture(nn.Sequential(*(nn.Sequential(nn.ReLU()) for _ in range(length))), args)
        texts.append(min(_seconds(lambda graph=graph: from_json(to_json(graph))) for _ in range(3)))
    for what, seconds in {"writes into one tensor": writes, "JSON, by modules": texts}.items():
        exponent = math.log(seconds[1] / seconds[0]) / math.log(lengths[1] / lengths[0])
        yield Figure(f"exponent of the time: {what}", exponent, "", 1.1)


def _in_modes(model: nn.Module, args: tuple[Any, ...]) -> float:
    with _Functions(), _Kernels():
        return _seconds(lambda: model(*args))


def _large() -> Iterator[Figure]:
    found = _fresh("large")
    yield Figure(f"Llama 70B on {found['on']}", found["cpu"], "s", 3)
    yield Figure("Llama 70B, more at the peak", found["mib"], "MiB", 50)
    yield Figure("Llama 70B, JSON", found["mb"], "MB", 2)


def _memory(rounds: int = 3) -> Iterator[Figure]:
    for name in ("bert", "resnet50"):
        peaks = [[_fresh("peak", name, variant) for variant in ("plain", "record")] for _ in range(rounds)]
        plain, recorded = (statistics.median(column) for column in zip(*peaks, strict=True))
        yield Figure(f"{name}, peak of memory to the forward's", recorded / plain, "×", 1.01)


def _corpus(rounds: int = 5) -> Iterator[Figure]:
    """Ratios over the models of other people whose forward takes 30 ms or more."""
    ratios: list[float] = []
    for entry in (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES):
        try:
            model, args, kwargs = entry.load()
        except ImportError:
            continue
        times = [_both(model, args, kwargs) for _ in range(rounds)]
        plain, recorded = (min(column) for column in zip(*times, strict=True))
        if plain >= 0.03:
            ratios.append(recorded / plain)
            print(f"{entry.name:20} plain {plain * 1e3:4.0f} ms  record / plain {ratios[-1]:.2f}", flush=True)
    if len(ratios) > 1:
        p90 = statistics.quantiles(ratios, n=10, method="inclusive")[-1]
        yield Figure(f"record / forward, p90 of {len(ratios)} models of 30 ms or more", p90, "×", 2)


def _fresh(*arguments: str) -> Any:
    """A figure from a process of its own."""
    command = [sys.executable, str(Path(__file__).parent / "fresh.py"), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def _both(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float]:
    return _seconds(lambda: model(*args, **kwargs)), _seconds(lambda: capture(model, args, kwargs))


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


PARTS = {
    "ratios": _ratios,
    "growth": _growth,
    "exponents": _exponents,
    "memory": _memory,
    "large": _large,
    "corpus": _corpus,
}

if __name__ == "__main__":
    main()
