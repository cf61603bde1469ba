"""What diagrams cost a build of Sphinx by the clock: `nox -s bench -- sphinx`.

50 small models in 25 pages, beside the same pages with no diagram, with graphs for sphinx.ext.graphviz, and with those
of sphinx.ext.inheritance_diagram, which imports the models and draws their base classes; all built in turn, each in a
new process. By the clock, because the processor's time of forked children is in no parent's account: so
measure on a quiet machine. Each figure is the least of several builds. Another name than the package's, which
Python would look for here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Worker

PAGES, EACH = 25, 2
_REPEAT = int(os.environ.get("BENCH_REPEAT", "3"))
_NET = """from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(8, {width}), nn.ReLU(), nn.Linear({width}, 2)

    def forward(self, x):
        return self.last(self.act(self.first(x)))
"""
_CONF = {
    "plain": "",
    "graphviz": 'extensions = ["sphinx.ext.graphviz"]\ngraphviz_output_format = "svg"\n',
    "inheritance": (
        'import os, sys\nsys.path.insert(0, os.path.abspath("../src"))\n'
        'extensions = ["sphinx.ext.inheritance_diagram"]\ngraphviz_output_format = "svg"\n'
    ),
    "ours": 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = ["../src"]\n',
    "ours, 3 fail": 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = ["../src"]\n',
}
_NEED_DOT = ("graphviz", "inheritance")
_SHOWN = {"graphviz": "sphinx.ext.graphviz", "inheritance": "inheritance_diagram"}
_STEPS = ("cold", "nothing changed", "one edit", "cold, -j2")


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        show(rows(Path(folder)))


def rows(root: Path) -> Iterator[Figure | str]:
    """The figures, with their goals."""
    tools = [tool for tool in _CONF if tool not in _NEED_DOT or shutil.which("dot")]
    for tool in tools:
        _write(root / tool, tool)
    found: dict[tuple[str, str], float] = {}
    for _ in range(_REPEAT):
        for tool in tools:
            for step, seconds in _round(root / tool):
                found[tool, step] = min(seconds, found.get((tool, step), seconds))
    importing = min(_timed([sys.executable, "-c", "import torch"]) for _ in range(_REPEAT))
    yield f"{'seconds by the clock':18}" + "".join(f"{step:>18}" for step in _STEPS)
    for tool in tools:
        yield f"{tool:18}" + "".join(f"{found[tool, step]:18.2f}" for step in _STEPS)
    for tool in tools:
        if tool not in ("plain", "ours, 3 fail"):
            for step in _STEPS:
                what = f"50 models: Sphinx with {_SHOWN.get(tool, tool)}, {step}, to plain"
                yield Figure(what, found[tool, step] / found["plain", step], "×")
    yield f"import torch: {importing:.2f}; load of the machine: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}"
    if "graphviz" in tools:
        goal = found["graphviz", "cold"] + importing + 2
        yield Figure("50 models, cold; goal: graphviz + import torch + 2 s", found["ours", "cold"], "s", goal)
    ratio = found["ours, 3 fail", "nothing changed"] / found["ours", "nothing changed"]
    yield Figure("50 models, nothing changed: three that fail, to none", ratio, "×", 1.2)
    more = _one_more(root / "ours" / "src") * 1e3
    yield Figure("one more small model of a package that is loaded", more, "ms", 100)


def _write(root: Path, tool: str) -> None:
    names = [f"page{number:02}" for number in range(PAGES)]
    files = {
        "docs/conf.py": _CONF[tool],
        "docs/index.rst": "Site\n====\n\n.. toctree::\n\n" + "".join(f"   {name}\n" for name in names),
        "src/site_nets/__init__.py": "",
    }
    for page, name in enumerate(names):
        parts = [f"{name}\n======\n"]
        for number in range(page * EACH, (page + 1) * EACH):
            files[f"src/site_nets/net{number}.py"] = _NET.format(width=number + 3)
            shape = "1,9" if number < 3 and tool.endswith("fail") else "1,8"
            parts.append(_part(tool, number, shape))
        files[f"docs/{name}.rst"] = "\n".join(parts)
    for place, text in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text)


def _part(tool: str, number: int, shape: str) -> str:
    if tool == "plain":
        return f"The model number {number}.\n"
    if tool == "graphviz":
        return f'.. digraph:: net{number}\n\n   x -> "Linear {number}" -> ReLU -> Linear -> out;\n'
    if tool == "inheritance":
        return f".. inheritance-diagram:: site_nets.net{number}.Net\n"
    return f".. torchrecorder:: site_nets.net{number}.Net\n   :shape: {shape}\n"


def _round(root: Path) -> Iterator[tuple[str, float]]:
    model = root / "src" / "site_nets" / "net7.py"
    model.write_text(_NET.format(width=10))
    yield "cold", _built(root, "one", is_new=True)
    yield "nothing changed", _built(root, "one")
    model.write_text(_NET.format(width=99))
    yield "one edit", _built(root, "one")
    yield "cold, -j2", _built(root, "two", "-j2", is_new=True)


def _built(root: Path, out: str, *options: str, is_new: bool = False) -> float:
    if is_new:
        shutil.rmtree(root / out, ignore_errors=True)
    return _timed([sys.executable, "-m", "sphinx", "-q", *options, str(root / "docs"), str(root / out)])


def _timed(command: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    assert not done.returncode, done.stderr
    return seconds


def _one_more(src: Path) -> float:
    """Recorded by a worker that has served another one of its package."""
    requests = [RecordingRequest(f"site_nets.net{number}.Net", "1,8") for number in range(10, 21)]
    with Worker([str(src)]) as worker:
        worker.expect(requests)
        worker.record(requests[0], timeout_s=60)
        times: list[float] = []
        for request in requests[1:]:
            start = time.perf_counter()
            assert worker.record(request, timeout_s=60).error is None
            times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
