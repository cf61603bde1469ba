"""What recording costs beside the tools that others wrote, in ratios to the plain forward: `nox -s bench -- peers`.

    python bench/peers.py FOLDER            # all of the list; FOLDER holds the tools, the wheel of one has a `tests`
    python bench/peers.py FOLDER NAME …     # those of its models whose names have one of these in them
    python bench/peers.py FOLDER draw 29 50 # so many models by a seed; once: the list is frozen

`peers.tsv` is the list: of the corpus and of all models that `unseen.tsv` had when it was drawn, in an order by chance,
the first that are built and recorded on numbers and whose plain forward takes a second at most. Inputs are those of the
corpus, or guessed, with no gradients, on one thread. Each model has a process of its own, in which the plain forward
and all tools take turns; each runs a model of its own, since torchview leaves its tensors in what a model keeps. The
figure is the least CPU time of all turns. Only recording is measured: torchview, at full depth, and torchvista draw
nothing. Where a tool cannot record a model, it is not the fastest; torchlens takes some hundred forwards (`compare`).
"""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import importlib.metadata
import math
import multiprocessing
import os
import random
import signal
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
sys.path[:0] = [str(Path(__file__).parent.parent)]

import torch  # noqa: E402
from torch import nn  # noqa: E402

from bench.figures import Figure, show  # noqa: E402
from bench.unseen import LIBRARIES, NETS  # noqa: E402
from bench.unseen import names as unseen_names  # noqa: E402
from bench.zoo.libraries import LIBRARIES as ZOO  # noqa: E402
from tests.corpus import science, text, vision  # noqa: E402
from tests.corpus.torchvision_ops import define_missing_operators  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.recording.guess.search import record_guessed  # noqa: E402
from torchrecorder.recording.names import public_functions  # noqa: E402

LIST = Path(__file__).with_suffix(".tsv")
CORPUS = {entry.name: entry for entry in (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES, *NETS)}
Case = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
Record = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], object]
"""Runs a model on its arguments."""
Seconds = dict[str, float]
"""By tool; `plain` is the forward alone."""
SIZES = {"all": 0.0, ">= 10 ms": 0.01, ">= 30 ms": 0.03}
"""The rows of the table: how long a plain forward takes at least, in seconds."""
GOALS = {"all": 9.0, ">= 10 ms": 1.8, ">= 30 ms": 1.5}
SLOWER = 10
"""Models of 50 that another tool may record faster."""
LONGEST_S = 1.0
"""Of a plain forward in the list."""
TURNS, ENOUGH_S = range(3, 15), 9.0
"""How often all tools take turns, and the seconds after which they have had enough, all together."""
FIRST_S = 20.0
"""CPU time of a tool's first run, after which it counts as one that cannot record the model."""
PATIENCE_S = 600.0
"""For one model, by the clock."""


def main(arguments: list[str]) -> None:
    """Measure each model in its process, and print the table."""
    _prepare()
    match arguments:
        case ["draw", seed, count]:
            LIST.write_text("".join(f"{name}\n" for name in _drawn(int(seed), int(count))), encoding="utf-8")
            return
    names = LIST.read_text(encoding="utf-8").split()
    chosen = [name for name in names if not arguments or any(part in name for part in arguments)]
    found: dict[str, Seconds] = {}
    for name in chosen:
        seconds = _in_child(_measured, name)
        if isinstance(seconds, str) or not {"plain", "ours"} <= seconds.keys():
            print(f"{name}: not measured: {seconds}", flush=True)
            continue
        found[name] = seconds
        ratios = (f"{tool} {seconds[tool] / seconds['plain']:7.2f}" for tool in TOOLS if tool in seconds)
        print(f"{name:52} {seconds['plain'] * 1e3:7.1f} ms ", *ratios, flush=True)
    versions = (f"{tool} {importlib.metadata.version(tool)}" for tool in ("torch", "torchview", "torchvista"))
    print(f"\n{', '.join(versions)}; record / plain forward")
    show(_rows(found))


def _prepare() -> None:
    """Import what the models and the tools need; nothing computes in this process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    define_missing_operators()
    for name in (*LIBRARIES, "transformers.models.auto.modeling_auto"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    public_functions()


def _rows(found: Mapping[str, Seconds]) -> Iterator[Figure]:
    """The medians, with the goals of ours."""
    for what, least in SIZES.items():
        models = [seconds for seconds in found.values() if seconds["plain"] >= least]
        for tool in TOOLS:
            ratios = sorted(seconds[tool] / seconds["plain"] for seconds in models if tool in seconds)
            if len(ratios) > 1 and tool != "plain":
                goal = GOALS[what] if tool == "ours" else None
                title = f"record / forward, {len(ratios)} models, {what}: {tool}"
                yield Figure(f"{title}, median", statistics.median(ratios), "×", goal)
                p90 = statistics.quantiles(ratios, n=10, method="inclusive")[-1]
                yield Figure(f"{title}, nine of ten below", p90, "×")
    peers = [tool for tool in TOOLS if tool not in ("plain", "ours")]
    slower = [
        name for name, seconds in found.items() if any(seconds.get(it, math.inf) < seconds["ours"] for it in peers)
    ]
    for tool in peers:
        lost = sum(tool not in seconds for seconds in found.values())
        yield Figure(f"of {len(found)} models, those that {tool} cannot record", lost)
    yield Figure(f"of {len(found)} models, those that another tool records faster", len(slower), "", SLOWER)


def _drawn(seed: int, count: int) -> Iterator[str]:
    names = sorted({*CORPUS, *unseen_names()})
    random.Random(seed).shuffle(names)
    taken = 0
    for name in names:
        seconds = _in_child(_tried, name)
        fits = isinstance(seconds, dict) and seconds["plain"] <= LONGEST_S
        print(f"{name}: {'taken' if fits else 'passed over'}: {seconds}", flush=True)
        taken += fits
        if fits:
            yield name
        if taken == count:
            return


def _in_child(measure: Callable[[str], Iterator[Seconds]], name: str) -> Seconds | str:
    """Figures of a model, from a process that may crash, or a sentence why there are none."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_sent, args=(measure, name, theirs))
    child.start()
    theirs.close()
    found: Seconds | str = "it ended"
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.suppress(EOFError):
        while ours.poll(max(0.0, deadline - time.monotonic())):
            found = ours.recv()  # the figures so far
    child.kill()
    child.join()
    return found


def _sent(measure: Callable[[str], Iterator[Seconds]], name: str, pipe: Connection) -> None:
    try:
        for seconds in measure(name):
            pipe.send(seconds)
    except BaseException as error:
        pipe.send(traceback.format_exception_only(error)[-1].strip()[:200])
    finally:
        pipe.close()
        os._exit(0)


def _tried(name: str) -> Iterator[Seconds]:
    model, args, kwargs = _cases(name)()
    with torch.no_grad():
        graph = capture(model, args, kwargs)
        if graph.info.executed != "real" or any(parameter.is_meta for parameter in model.parameters()):
            raise ValueError("it was not computed")
        yield {"plain": min(_seconds(lambda: model(*args, **kwargs)) for _ in range(2))}


def _cases(name: str) -> Callable[[], Case]:
    """Makes the model, always the same, with the inputs that are given or were found."""
    if name in CORPUS:
        return CORPUS[name].load
    build = next(entry.build for entry in ZOO[name.partition("/")[0]]() if entry.name == name)

    def built() -> nn.Module:
        torch.manual_seed(0)
        random.seed(0)
        return build().eval()

    model, found = built(), []

    def record(inputs: Any, run: Any) -> Any:
        found[:] = [inputs]
        return capture(model, inputs.args, inputs.kwargs, run=run, guessed=inputs.guessed)

    with torch.no_grad():
        record_guessed(model, record, run="auto", seed=0)
    return lambda: (built(), *copy.deepcopy((found[0].args, found[0].kwargs)))


def _measured(name: str) -> Iterator[Seconds]:
    """The CPU seconds of each tool that can record the model, after each turn of all."""
    signal.signal(signal.SIGPROF, _too_long)
    make, least = _cases(name), dict[str, float]()
    ready: dict[str, tuple[Record, Case]] = {}
    start = time.process_time()
    with torch.no_grad():
        for tool, record in TOOLS.items():
            case = make()
            with contextlib.suppress(Exception):  # whatever a tool raises
                signal.setitimer(signal.ITIMER_PROF, FIRST_S)
                run = record()
                run(*case)  # what is made once, for the first run
                ready[tool] = run, case
            signal.setitimer(signal.ITIMER_PROF, 0)
        gc.collect()
        gc.freeze()
        start = time.process_time()
        for turn in range(TURNS.stop):
            if turn >= TURNS.start and time.process_time() - start > ENOUGH_S:
                break
            for tool, (record, case) in ready.items():
                gc.collect()  # what one tool leaves is not for the next one
                least[tool] = min(least.get(tool, math.inf), _seconds(lambda run=record, case=case: run(*case)))
            yield least


def _too_long(*_: object) -> None:
    raise TimeoutError(f"it took more than {FIRST_S:.0f} s")


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


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


TOOLS: dict[str, Callable[[], Record]] = {
    "plain": lambda: lambda model, args, kwargs: model(*args, **kwargs),
    "ours": lambda: capture,
    "torchview": _torchview,
    "torchvista": _torchvista,
}

if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    main(sys.argv[2:])
