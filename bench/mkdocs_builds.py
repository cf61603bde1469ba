"""What diagrams cost a build of MkDocs in which nothing changed: `nox -s bench -- mkdocs`.

100 fences on 50 pages, beside the same text as code, mkdocs-graphviz and markdown-exec with graphs of that size, all
built in turn, each in a new process, on Material. CPU time with that of children; the least of several builds. A tool
that is not installed is left out. Another name than the package's, which Python would look for here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show

PAGES, EACH = 50, 2
_REPEAT = int(os.environ.get("BENCH_REPEAT", "5"))
_NETS = """from torch import nn

class Net(nn.Module):
    def __init__(self, number, depth=3):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8)) for _ in range(depth)))
        self.head = nn.Linear(8, number)

    def forward(self, x):
        return self.head(self.blocks(x))
"""
_GRAPH = "digraph {{ x -> l{0} -> r{0} -> n{0} -> head -> out; subgraph cluster {{ l{0} r{0} n{0} }} }}"
_OURS = "```torchrecorder\nnets.Net({0})\n:shape: 1,8\n```\n"
_EXEC = """```python exec="on" html="on"
import subprocess
print(subprocess.run(["dot", "-Tsvg"], input={graph!r}, capture_output=True, text=True).stdout)
```
"""
_TOOLS = {
    "the text as code": ("", "", _OURS),
    "ours": ("", "  - torchrecorder: {path: [../src]}\n", _OURS),
    "mkdocs-graphviz": ("mkdocs-graphviz", "  - mkdocs_graphviz\n", "```dot\n{graph}\n```\n"),
    "markdown-exec": ("markdown-exec", "  - markdown-exec\n", _EXEC),
}
"""What each needs to be installed, its line under `plugins`, and what it writes for a number."""


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        show(rows(Path(folder)))


def rows(root: Path) -> Iterator[Figure | str]:
    """The figures, as ratios to the same text as code."""
    (root / "src").mkdir()
    (root / "src" / "nets.py").write_text(_NETS)
    tools = [tool for tool, (needed, _, _) in _TOOLS.items() if not needed or _is_installed(needed)]
    for tool in tools:
        _write(root / tool, tool)
    cold = {tool: _built(root / tool) for tool in tools}
    found = {tool: cold[tool] for tool in tools}
    for _ in range(_REPEAT):
        for tool in tools:
            found[tool] = tuple(map(min, zip(found[tool], _built(root / tool), strict=True)))
    plain = found["the text as code"]
    for tool, (seconds, mib) in found.items():
        ratio, more = seconds / plain[0], mib - plain[1]
        yield f"{tool:18}{seconds:6.2f} CPU s, {more:+.0f} MiB, cold {cold[tool][0]:.2f}"
        if tool != "the text as code":
            is_ours = tool == "ours"
            yield Figure(f"MkDocs with {tool}, to the text as code", ratio, "×", 1.1 if is_ours else None)
            yield Figure(f"MkDocs with {tool}, more memory", more, "MiB", 4 if is_ours else None)
    yield f"not installed: {', '.join(_TOOLS.keys() - set(tools)) or 'nothing'}"


def _is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def _write(root: Path, tool: str) -> None:
    _, plugin, text = _TOOLS[tool]
    (root / "docs").mkdir(parents=True)
    extensions = "  - pymdownx.superfences\n"
    (root / "mkdocs.yml").write_text(
        f"site_name: Site\ntheme: material\nplugins:\n  - search\n{plugin}markdown_extensions:\n{extensions}"
    )
    for page in range(PAGES):
        numbers = range(page * EACH + 1, (page + 1) * EACH + 1)
        parts = [f"# Page {page}\n", *(text.format(number, graph=_GRAPH.format(number)) for number in numbers)]
        (root / "docs" / f"{'index' if page == 0 else f'page{page}'}.md").write_text("\n".join(parts))


def _built(root: Path) -> tuple[float, float]:
    """CPU seconds of a build with all that it started, and the MiB of its largest process."""
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "assert not done.returncode, done.stderr\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))\n"
    )
    command = [
        sys.executable,
        "-c",
        code,
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-f",
        str(root / "mkdocs.yml"),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is compiled at each build is not a cost of diagrams
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    seconds, mib = (float(part) for part in done.stdout.strip(" []\n").split(","))
    return seconds, mib


if __name__ == "__main__":
    main()
