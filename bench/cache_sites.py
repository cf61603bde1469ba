"""What is our own of a site's build in which nothing changed: `nox -s bench -- cache_sites`.

100 different diagrams on ten pages, each of a model in a file of its own, built by Sphinx and by MkDocs themselves,
each build in a new process, from compiled modules, as an installer leaves them. Everything that the tool calls of ours
is timed where it enters, in CPU time, and so is importing it; the least of several builds. What the tool spends on its
own pages is not in it. How fast the machine is just now is said beside it, for one that is busy takes twice the time.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show

PAGES, DIAGRAMS = 10, 10
_REPEAT = 7
_NETS = """from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8)) for _ in range(depth)))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.blocks(x))
"""
_ONCE: dict[str, Any] = {"number": 1, "repeat": 20, "timer": time.process_time}
_WATCHED = ("torch", "graphviz", "nets", "numpy")


class Clock:
    """Sums up the CPU time of functions; of one that calls another of them, once."""

    def __init__(self) -> None:
        self.spent = Counter[str]()
        self._is_running = False

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time noted under a name."""

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if self._is_running:
                return function(*args, **kwargs)
            self._is_running = True
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[name] += time.process_time() - start
                self._is_running = False

        return run

    def watch(self, owner: Any, *names: str) -> None:
        """Time methods of a class."""
        for name in names:
            setattr(owner, name, self.timed(f"{owner.__name__}.{name}", getattr(owner, name)))


def main() -> None:
    """Print the figures."""
    show(rows())


def rows() -> Iterator[Figure | str]:
    """The figures, each beside its goal."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        root = Path(folder)
        write(root)
        for tool in _ROWS:
            _built(tool, root)
            builds = [_built(tool, root) for _ in range(_REPEAT)]
            own = min(sum(it["spent"].values()) for it in builds) * 1e3
            importing = min(it["importing"] for it in builds) * 1e3
            yield Figure(_ROWS[tool], own + importing, "ms", 40 if tool in _GOALS else None)
            yield Figure("    of it importing", importing, "ms")
            yield f"    loaded: {builds[0]['loaded']}"
        million = min(timeit.repeat("for i in range(1_000_000): i + i", **_ONCE)) * 1e3
        yield Figure("a million additions, which say how fast the machine is", million, "ms")


_ROWS = {
    "sphinx": "100 diagrams: own share of Sphinx, nothing changed",
    "sphinx-all": "100 diagrams: of Sphinx, every page read and written (-E -a)",
    "mkdocs": "100 diagrams: of MkDocs, which reads and writes all pages",
}
_GOALS = ("sphinx", "mkdocs")


def write(root: Path) -> None:
    """The project: models, and the same pages for both tools."""
    names = [f"page{i}" for i in range(PAGES)]
    models = {
        name: [f"nets.net{i * DIAGRAMS + n}.Net({2 + i})" for n in range(DIAGRAMS)] for i, name in enumerate(names)
    }
    toc = "\n".join(f"   {name}" for name in names)
    rst = {
        name: [f".. torchrecorder:: {model}\n   :shape: 1,8\n" for model in targets] for name, targets in models.items()
    }
    fences = {
        name: [f"```torchrecorder\n{model}\n:shape: 1,8\n```\n" for model in targets]
        for name, targets in models.items()
    }
    files = {
        "src/nets/__init__.py": "",
        **{f"src/nets/net{number}.py": _NETS for number in range(PAGES * DIAGRAMS)},
        "sphinx/conf.py": 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = ["../src"]\n',
        "sphinx/index.rst": f"Site\n====\n\n.. toctree::\n\n{toc}\n",
        **{f"sphinx/{name}.rst": f"{name}\n=====\n\n" + "\n".join(parts) for name, parts in rst.items()},
        "mkdocs/docs/index.md": "# Site\n",
        **{f"mkdocs/docs/{name}.md": f"# {name}\n\n" + "\n".join(parts) for name, parts in fences.items()},
    }
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _built(tool: str, root: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, tool, str(root)]
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(root / "compiled")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **compiled})
    assert not done.returncode, done.stderr
    reading: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert reading["figures"] == PAGES * DIAGRAMS, reading
    return reading


def build(tool: str, root: Path) -> None:
    """Build in this process, and print what it took."""
    clock = Clock()
    importing, out = (_sphinx if tool.startswith("sphinx") else _mkdocs)(root, clock, tool.endswith("all"))
    figures = sum(file.read_text().count("<figure") for file in out.rglob("page*/index.html")) + sum(
        file.read_text().count("<figure") for file in out.glob("page*.html")
    )
    loaded = ", ".join(sorted(set(_WATCHED) & set(sys.modules))) or f"none of {', '.join(_WATCHED)}"
    print(json.dumps({"spent": clock.spent, "importing": importing, "loaded": loaded, "figures": figures}))


def _sphinx(root: Path, clock: Clock, everything: bool) -> tuple[float, Path]:
    from sphinx.application import Sphinx, builtin_extensions

    for name in builtin_extensions:  # what Sphinx has loaded before it comes to ours
        import_module(name)
    start = time.process_time()
    from sphinx_torchrecorder import build, directive, extension

    importing = time.process_time() - start
    clock.watch(directive.DiagramDirective, "run")
    clock.watch(directive.ShowDiagrams, "run")
    clock.watch(build.RequestCollector, "process_doc", "clear_doc", "merge_other")
    clock.watch(extension, "setup_extension")
    source, out = root / "sphinx", root / "out-sphinx"
    quiet = {"status": io.StringIO(), "warning": sys.stderr}
    app = Sphinx(source, source, out, root / "trees", "html", freshenv=everything, **quiet)  # type: ignore[arg-type]
    for event, listeners in app.events.listeners.items():
        for i, listener in enumerate(listeners):
            if str(getattr(listener.handler, "__module__", "")).startswith("sphinx_torchrecorder"):
                name = f"{event}: {listener.handler.__name__}"
                listeners[i] = listener._replace(handler=clock.timed(name, listener.handler))
    for handlers in app.registry.translation_handlers.values():
        for name, (visit, depart) in handlers.items():
            if visit.__module__.startswith("sphinx_torchrecorder"):
                handlers[name] = (clock.timed(name, visit), depart)
    app.build(force_all=everything)
    assert not app.statuscode
    return importing, out


def _mkdocs(root: Path, clock: Clock, _: bool) -> tuple[float, Path]:
    import mkdocs.commands.build
    from mkdocs.config.defaults import MkDocsConfig

    for name in ("mkdocs.contrib.search", "mkdocs.livereload", "markdown.extensions.toc"):
        import_module(name)
    start = time.process_time()
    from mkdocs_torchrecorder import extension, page, plugin

    importing = time.process_time() - start
    clock.watch(extension.TorchRecorderExtension, "__init__", "extendMarkdown")
    steps = (extension.TakeFences, extension.SplitParagraphs, extension.ShowIndented, extension.FillMarkers)
    for owner in (page.KeepSource, *steps):
        clock.watch(owner, "run", *(["test"] if hasattr(owner, "test") else []))
    for name in [name for name in vars(plugin.TorchRecorderPlugin) if name.startswith("on_")]:
        priority = getattr(getattr(plugin.TorchRecorderPlugin, name), "mkdocs_priority", None)
        clock.watch(plugin.TorchRecorderPlugin, name)
        if priority is not None:
            getattr(plugin.TorchRecorderPlugin, name).mkdocs_priority = priority
    config = MkDocsConfig(config_file_path=str(root / "mkdocs" / "mkdocs.yml"))
    places = {"docs_dir": str(root / "mkdocs" / "docs"), "site_dir": str(root / "out-mkdocs")}
    config.load_dict({"site_name": "Site", "plugins": ["search"], **places})
    config.validate()
    ours = plugin.TorchRecorderPlugin()
    ours.load_config({"path": ["../src"]}, config_file_path=config.config_file_path)
    config.plugins["torchrecorder"] = ours
    config.plugins.on_startup(command="build", dirty=False)
    mkdocs.commands.build.build(config)
    return importing, root / "out-mkdocs"


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else build(sys.argv[1], Path(sys.argv[2]))
