"""What recording costs beside the tools that others wrote, in ratios to the plain forward: `nox -s bench -- peers`.

The tools lie in a folder of their own, the first argument, because the wheel of one has a package `tests`. Real models
of `tests/corpus`, or those that are named, without gradients, on one thread. A figure is the least CPU time of a few
runs; each tool runs in a process of its own, because some of them change torch for good. Only recording is measured:
torchview, at full depth, and torchvista draw nothing. A model that one of the tools cannot record is left out, and why
is printed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path[:0] = [str(Path(__file__).parent.parent)]

from bench.figures import Figure, show  # noqa: E402
from tests.corpus import science, text, vision  # noqa: E402
from torchrecorder import capture  # noqa: E402

ENTRIES = (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES)
Record = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], object]
"""Runs a model on its arguments."""
SIZES = {"all": 0.0, ">= 10 ms": 0.01, ">= 30 ms": 0.03}
"""The rows of the table: how long a plain forward takes at least, in seconds."""
GOALS = {"all": 9.0, ">= 10 ms": 1.8, ">= 30 ms": 1.5}
SLOWER = 20.0
"""Percent of the models that another tool may record faster."""
ROUNDS, ENOUGH = 5, 10.0
"""How often a model is run, unless that takes more than so many seconds."""


def main(arguments: list[str]) -> None:
    """Measure each tool in its process, and print the table."""
    found = {tool: _measured_apart(tool, arguments) for tool in TOOLS}
    plain = found.pop("plain")
    common = [name for name in plain if all(name in seconds for seconds in found.values())]
    rows = {what: [name for name in common if plain[name] >= least] for what, least in SIZES.items()}
    heads = (f"{what} ({len(models)})" for what, models in rows.items())
    print(f"\ntorch {torch.__version__}, record / plain forward: median, p90")
    print(f"{'':28}", *(f"{head:16}" for head in heads))
    show(_rows(found, plain, rows))
    for tool, seconds in found.items():
        figures = (_figures([seconds[name] / plain[name] for name in models]) for models in rows.values())
        distribution = "torchrecorder-docs" if tool == "torchrecorder" else tool
        print(f"{tool + ' ' + importlib.metadata.version(distribution):28}", *(f"{figure:16}" for figure in figures))


def _rows(
    found: Mapping[str, Mapping[str, float]], plain: Mapping[str, float], rows: Mapping[str, list[str]]
) -> Iterator[Figure]:
    """The medians, with the goals of ours."""
    for what, models in rows.items():
        for tool, seconds in found.items() if len(models) > 1 else ():
            middle = statistics.median(seconds[name] / plain[name] for name in models)
            name = "ours" if tool == "torchrecorder" else tool
            goal = GOALS[what] if name == "ours" else None
            yield Figure(f"record / forward, {len(models)} models, {what}: {name}", middle, "×", goal)
    models = rows["all"]
    faster = sum(min(found, key=lambda tool: found[tool][name]) != "torchrecorder" for name in models)
    share = 100 * faster / max(len(models), 1)
    yield Figure(f"of {len(models)} models, those that another tool records faster", share, "%", SLOWER)


def _measured_apart(tool: str, arguments: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, *arguments, f"--{tool}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _figures(ratios: list[float]) -> str:
    if len(ratios) < 2:
        return "too few"
    p90 = statistics.quantiles(ratios, n=10, method="inclusive")[-1]
    return f"{statistics.median(ratios):.2f}, {p90:.2f}"


def measure(tool: str, names: list[str]) -> dict[str, float]:
    """The CPU seconds that a tool takes for each model that it can record."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {}
    record = TOOLS[tool]()
    for entry in ENTRIES:
        if names and entry.name not in names:
            continue
        try:
            model, args, kwargs = entry.load()
            with torch.no_grad():
                found[entry.name] = _least(lambda run=(model, args, kwargs): record(*run))
            print(f"{tool}: {entry.name} {found[entry.name] * 1e3:.1f} ms", file=sys.stderr)
        except Exception as error:  # whatever the tool raises
            print(f"{tool}: {entry.name} is left out: {type(error).__name__}: {error}"[:200], file=sys.stderr)
    return found


def _least(run: Callable[[], object]) -> float:
    run()  # what is made once, for the first run
    times: list[float] = []
    while len(times) < ROUNDS and sum(times) < ENOUGH:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def _torchview() -> Record:
    tool = importlib.import_module("torchview")
    tool.ComputationGraph.fill_visual_graph = lambda graph: None

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return tool.draw_graph(model, input_data=[*args], depth=math.inf, device="cpu", mode="eval", **kwargs)

    return record


class _Called(nn.Module):
    """For torchvista, which takes positional arguments only."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return self.model(*args, **kwargs)


def _torchvista() -> Record:
    tracer = importlib.import_module("torchvista.tracer")
    tracer.plot_graph = lambda *args, **kwargs: None
    return lambda model, args, kwargs: tracer.trace_model(_Called(model).eval(), (args, kwargs))


def _torchlens() -> Record:
    tool = importlib.import_module("torchlens")
    return lambda model, args, kwargs: tool.trace(model, [*args], kwargs)


TOOLS: dict[str, Callable[[], Record]] = {
    "plain": lambda: lambda model, args, kwargs: model(*args, **kwargs),
    "torchrecorder": lambda: capture,
    "torchview": _torchview,
    "torchvista": _torchvista,
    "torchlens": _torchlens,
}

if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    if sys.argv[-1].startswith("--"):
        print("\n" + json.dumps(measure(sys.argv[-1].removeprefix("--"), sys.argv[2:-1])))
    else:
        main(sys.argv[1:])
