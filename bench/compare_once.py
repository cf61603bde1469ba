"""Runs one tool on a list of models, each in a child of its own, and prints a line of JSON for each.

A model that crashes the child or takes too long costs its own line. `main` of `compare` starts this, once for a tool.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

import torch  # noqa: E402

from bench import compare_layers  # noqa: E402
from bench.compare_tools import TOOLS, Tool  # noqa: E402

PATIENCE = 60
"""Seconds for a model."""
ROUNDS, ENOUGH = 3, 6.0
"""How often a model is timed, unless that takes more than so many seconds."""
Row = dict[str, Any]


def apart(work: Callable[[], Row]) -> Row:
    """What a forked child finds out, or why it found nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(PATIENCE)
        try:
            with redirect_stdout(sys.stderr):
                row = work()
        except BaseException as error:  # whatever a tool raises
            row = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(row))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return dict(json.loads(text))
    number = os.waitstatus_to_exitcode(status)
    return {"error": "took too long" if number == -signal.SIGALRM else f"ended with {number}"}


def true(tool: Tool, case: Any) -> Row:
    """Whether the layer calls of a truth case are right, and what feeds what."""
    torch.manual_seed(0)
    model, ran = case.build().train(case.train), case.build().train(case.train)
    args, kwargs = case.inputs()
    with torch.set_grad_enabled(tool.needs_grad):
        recorded = tool.record(model, args, kwargs)
    again, named = case.inputs()
    ran(*again, **named)  # it may make layers of which the truth knows
    is_ours = tool.seen is None
    found = compare_layers.of_graph(recorded, ran) if is_ours else compare_layers.layers(tool.seen(recorded))
    expected = compare_layers.truth(case, ran)
    return {"calls": compare_layers.same_calls(expected, found), "flow": compare_layers.same_flow(expected, found)}


def drawn(tool: Tool, entry: Any, to: str) -> Row:
    """The bytes of the picture of a model."""
    model, args, kwargs = entry.load()
    with torch.set_grad_enabled(tool.needs_grad):
        ending, text = tool.picture(tool.record(model, args, kwargs))
    if to:
        Path(f"{to}.{ending}").write_bytes(text)
    return {"bytes": len(text)}


def cost(tool: Tool, entry: Any) -> Row:
    """Time and memory of recording beside a plain forward, in the same process."""
    model, args, kwargs = entry.load()
    with torch.set_grad_enabled(tool.needs_grad):
        plain, plain_peak = _least(lambda: model(*args, **kwargs))
        time_of_it, peak = _least(lambda: tool.record(model, args, kwargs))
    return {"plain_ms": round(plain * 1e3, 2), "ratio": time_of_it / plain, "extra_mb": max(0.0, peak - plain_peak)}


def _least(run: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds, and how many MB the first run took at its peak."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _status("VmRSS")
    run()
    peak = _status("VmHWM") - before
    times: list[float] = []
    while len(times) < ROUNDS and sum(times) < ENOUGH:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times), peak


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def main(kind: str, name: str, folders: dict[str, str], models: list[str], to: str) -> None:
    """Print a line for each model: its name and what was found."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tool = TOOLS[name](folders)
    for model, work in _works(kind, tool, models, to):
        print(json.dumps([model, apart(work)]), flush=True)


def _works(kind: str, tool: Tool, models: list[str], to: str) -> list[tuple[str, Callable[[], Row]]]:
    if kind == "truth":
        from tests.truth.all import CASES

        return [(case.name, lambda case=case: true(tool, case)) for case in CASES if _has_flow(case)]
    from bench.picture_models import MODELS

    for model in models:
        with suppress(Exception):  # the child tells; here it is for what loading imports, once for all children
            MODELS[model].load()
    if kind == "times":
        return [(model, lambda model=model: cost(tool, MODELS[model])) for model in models]
    return [(model, lambda model=model: drawn(tool, MODELS[model], to and f"{to}/{model}")) for model in models]


def _has_flow(case: Any) -> bool:
    """Whether there are two layer calls, so that something can be said of what feeds what."""
    return sum(1 for node in case.nodes if node.startswith("m:")) > 1


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.path.append(given["folders"]["peers"])
    main(given["kind"], given["tool"], given["folders"], given["models"], given["to"])
