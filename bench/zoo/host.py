"""One library of the zoo: `python bench/zoo/host.py timm 1 "" [NAME …]` prints a JSON line for each model named.

This process imports the library and never computes; each model is built and recorded in a fork of it, with a limit of
time and of memory, so that a model which takes all of either, or crashes, costs only itself.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import re
import select
import socket
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT)]

import torch  # noqa: E402
from torch import nn  # noqa: E402

from bench.zoo.entry import Entry  # noqa: E402
from tests.corpus.torchvision_ops import define_missing_operators  # noqa: E402
from tests.truth.other_inputs import other_inputs  # noqa: E402
from tests.truth.replay import replay  # noqa: E402
from torchrecorder.errors import ForwardError, InputError, TorchRecorderError  # noqa: E402
from torchrecorder.graph import Graph, to_json  # noqa: E402
from torchrecorder.graph.codec import problems  # noqa: E402
from torchrecorder.recording.guess.search import has_forward, record_guessed  # noqa: E402
from torchrecorder.recording.inputs import Inputs  # noqa: E402
from torchrecorder.recording.names import public_functions  # noqa: E402
from torchrecorder.recording.run import Run, capture  # noqa: E402
from torchrecorder.worker import fork  # noqa: E402

SECONDS = 240.0
"""For building, for recording, and for the replay of a model, each."""
MEMORY = 9 << 30
REPLAYED = 6
"""One model in so many is computed again from its graph."""

Result = dict[str, Any]


class NoNetwork(OSError):
    """A constructor asked for the network."""


def main() -> None:
    """Print what came of each model."""
    library, every, folder, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    define_missing_operators()
    for name in ("torch._dynamo", "torch._subclasses.fake_tensor", "torch._decomp.decompositions", "sympy"):
        importlib.import_module(name)  # what most of the children would import, each for itself
    public_functions()
    from bench.zoo.libraries import LIBRARIES

    try:
        entries = list(LIBRARIES[library]())
    except ImportError as error:
        print(json.dumps({"name": library, "skipped": str(error)}), flush=True)
        return
    known = sorted(entries, key=lambda entry: entry.name)
    gc.collect()
    gc.freeze()
    for entry in known:
        if zlib.crc32(entry.name[::-1].encode()) % int(every):
            continue
        if not names or any(name == entry.name if "/" in name else name in entry.name for name in names):
            print(json.dumps({"name": entry.name, **_in_child(entry, folder)}), flush=True)


def _in_child(entry: Entry, folder: str) -> Result:
    result, died = in_child(lambda: _phases(entry, folder), {"built": False, "recorded": "", "reason": ""})
    if died:
        result["replay" if result["recorded"] else "reason"] = died
    return result


def in_child(phases: Callable[[], Iterator[Result]], result: Result) -> tuple[Result, str]:
    """Facts that a child brings in phases, the last with `done`, added to a result; and how it died before that.

    The child has no network, no output, one thread, and limits of time and of memory.
    """

    def run(writer: int) -> None:
        fork.prepare(os.devnull, MEMORY)
        _cut_network()
        torch.set_num_threads(1)
        with os.fdopen(writer, "w") as pipe:
            for phase in phases():
                pipe.write(json.dumps(phase) + "\n")
                pipe.flush()

    pid, reader = fork.fork(run, not_theirs=())
    ending = "line"
    while ending == "line" and not result.get("done"):
        lines, ending = _read_line(reader)
        for line in lines.splitlines():
            result |= json.loads(line)
    os.close(reader)
    how = fork.end(pid, by_itself=ending == "end")
    died = f"it took more than {SECONDS:.0f} s" if ending == "timeout" else how
    return result, "" if result.pop("done", False) else died


def _read_line(reader: int) -> tuple[bytes, str]:
    """What a child says next, and why no more is waited for: a line, its end, or the time that it took."""
    deadline = time.monotonic() + SECONDS
    data = bytearray()
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(reader, 1 << 16) if ready else b""
        if not chunk:
            return b"", "end" if ready else "timeout"
        data += chunk
    return bytes(data), "line"


def _phases(entry: Entry, folder: str) -> Iterator[Result]:
    """Facts after building the model, after recording it, and after computing it again.

    Args:
        entry: The model.
        folder: Where its Graph is kept; nowhere, if this is empty.
    """
    torch.manual_seed(0)
    random.seed(0)
    start = time.perf_counter()
    try:
        model = entry.build().eval()
    except Exception as error:
        yield {"done": True, "network": _is_network(error), "reason": _line(error)}
        return
    if not has_forward(model):
        yield {"done": True, "reason": "it has no forward"}
        return
    count = sum(p.numel() for p in model.parameters() if not isinstance(p, nn.parameter.UninitializedParameter))
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    yield {"built": True, "class": kind, "parameters": count, "build_s": round(time.perf_counter() - start, 2)}
    start = time.perf_counter()
    try:
        inputs, graph = recorded(model)
    except BaseException as error:
        yield {
            "done": True,
            "built": not (_lacks_package(error) or _is_a_part(error)),
            "record_s": round(time.perf_counter() - start, 2),
            "reason": _line(error),
            "advice": error.advice if isinstance(error, InputError) else "",
            "tried": error.tried if isinstance(error, InputError) else (),
            "trace": "" if isinstance(error, TorchRecorderError) else traceback.format_exc()[-1500:],
        }
        return
    if folder:
        Path(folder, f"{entry.name.replace('/', '.')}.json").write_text(to_json(graph), encoding="utf-8")
    found = {
        "recorded": _way(graph.info),
        "guessed": graph.info.guessed,
        "grade": graph.info.grade,
        "notes": graph.info.notes,
        "ops": len(graph.ops),
        "layers": sum(module.params.own > 0 for module in graph.modules.values()),
        "problems": problems(graph),
        "record_s": round(time.perf_counter() - start, 2),
    }
    chosen = graph.info.executed == "real" and zlib.crc32(entry.name.encode()) % REPLAYED == 0
    yield {**found, "done": not chosen}
    if chosen:
        yield {"done": True, "replay": _replayed(model, inputs)}


def recorded(model: nn.Module) -> tuple[Inputs, Graph]:
    """What a builder of documentation does with a model of which only the name is given."""
    chosen: list[Inputs] = []

    def record(inputs: Inputs, run: Run) -> Graph:
        chosen[:] = [inputs]
        return capture(model, inputs.args, inputs.kwargs, run=run, guessed=inputs.guessed)

    with torch.no_grad():
        graph = record_guessed(model, record, run="auto", seed=0)
    return chosen[0], graph


def _way(info: Any) -> str:
    return "bfloat16" if any("bfloat16" in note for note in info.notes) else str(info.executed)


def _replayed(model: nn.Module, inputs: Inputs) -> str:
    """`exact` on other inputs; `exact on the same` for models that choose by value what they compute."""
    attempts: list[tuple[str, Callable[[], Any]]] = [
        ("exact", lambda: other_inputs(inputs.args, inputs.kwargs)),
        ("exact on the same", lambda: None),
    ]
    said = ""
    for answer, other in attempts:
        try:
            replay(model, inputs.args, inputs.kwargs, other())
        except Exception as error:
            said = said or _line(error)
        else:
            return answer
    return said


def _cut_network() -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NoNetwork("the zoo has no network")

    socket.getaddrinfo = refuse
    socket.socket.connect = refuse  # type: ignore[method-assign]


def _is_network(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, NoNetwork) or re.search(r"offline|huggingface\.co|the zoo has no network", str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _lacks_package(error: BaseException) -> bool:
    """Whether a package is missing that the forward imports."""
    return isinstance(error, ForwardError) and error.cause.startswith(("ImportError", "ModuleNotFoundError"))


def _is_a_part(error: BaseException) -> bool:
    """Whether the forward exists only to say that another model calls what the module holds."""
    tried = error.tried if isinstance(error, InputError) else ()
    return bool(tried) and all("cannot be run by itself" in reason for reason in tried)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]


if __name__ == "__main__":
    main()
