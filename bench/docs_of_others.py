"""Automatic diagrams in the documentation of other libraries: `nox -s bench -- others [LIBRARY …]`.

Each is built as its authors configured it and with the few lines that a maintainer writes for us, on a part of its
pages, cold and when nothing changed. `docs_of_others.toml` says how; sources are cloned, or copied from
`sources=FOLDER/LIBRARY`. `pictures=FOLDER` keeps each figure as a page, for a reader who fills in
`pictures_of_others.tsv`. Figures are kept per library in `docs/bench/real-libraries.json`, and the page is written from
them: `rest` goes on with the libraries that have none of the present commit, `page` writes the page alone. With
`suggested` a library is built with what `torchrecorder suggest docs` prints for it, unchanged, and no figures are kept.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import page_of_others  # noqa: E402

BENCH = ROOT / "bench"
_FORGE = "https://github.com/"
_SHIM = ROOT / "tests" / "corpus" / "torchvision_ops.py"
_OURS = 'extensions.append("sphinx_torchrecorder")\ntorchrecorder_autodoc = True\n'
_OURS_MKDOCS = "  - torchrecorder:\n      path: [{path}]\n      autodoc: true\n"
_AGAIN = 3
"""Builds in which nothing changed, of which the fastest counts: they take seconds, so other work is seen in each."""
_SAMPLED = 0.2
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Library:
    """A library, as `docs_of_others.toml` describes it."""

    name: str
    repository: str
    docs: str
    pages: tuple[str, ...]
    path: str = "."
    ours: str = ""
    drop: tuple[tuple[str, str], ...] = ()
    config: str = ""
    most: float = 2
    before: Mapping[str, float] = field(default_factory=dict)

    @property
    def lines(self) -> str:
        """Lines that a maintainer adds."""
        return (self.ours or (_OURS_MKDOCS.format(path=self.path) if self.config else _OURS)).lstrip("\n")


_BESIDE_CPU_TORCH = f"""
import sys
class _BeforeTorchvision:
    '''Registers what a torchvision made for CUDA needs, before it is imported beside a CPU build of torch.'''
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import importlib.util
            spec = importlib.util.spec_from_file_location("torchvision_ops", {str(_SHIM)!r})
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.define_missing_operators()
sys.meta_path.insert(0, _BeforeTorchvision())
"""
_REDUCED = """
import importlib.util, os
from docutils import nodes as _nodes
from docutils.parsers.rst import roles as _roles
def _is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
extensions = [name for name in extensions if "gallery" not in name and "intersphinx" not in name and _is_there(name)]
for _name in ("pyg", "fa", "gh"):
    _roles.register_local_role(_name, lambda name, raw, text, *more, **also: ([_nodes.inline(raw, text)], []))
if html_theme.endswith("_theme") and not _is_there(html_theme):
    html_theme, html_theme_options = "sphinx_rtd_theme", {{}}
globals().get("html_theme_options", {{}}).pop("secondary_sidebar_items", None)  # those of sphinx-gallery
html_extra_path, html_js_files, exclude_patterns, include_patterns = [], [], [], {pages!r}
autosummary_generate = True
exec(os.environ["LINES_OF_OURS"])
"""


@dataclass
class Build:
    seconds: float
    cpu: float
    """Seconds of the processor."""
    peak: int
    """Bytes of all its processes at once, those that they share counted once."""
    status: int
    log: str
    warnings: set[str]


def main() -> int:
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    libraries = read_libraries()
    figures = page_of_others.read()
    wanted = [name for name in libraries if name in words] or [*libraries]
    if "rest" in words:
        wanted = [name for name in wanted if figures.get(name, {}).get("commit") != _commit(ROOT)]
    failed = False
    for name in [] if "page" in words else wanted:
        with tempfile.TemporaryDirectory(prefix="docs-of-others-") as folder:
            source = _source(libraries[name], options.get("sources"), Path(folder))
            library = libraries[name]
            if source and "suggested" in words:
                library = replace(library, ours=_suggested(library, source))
            measured = source and measure(library, source, Path(folder), options.get("pictures"))
        if measured:
            figures |= {} if "suggested" in words else {name: measured}
            _print(name, measured)
        else:
            failed = True
            print(f"{name}: cannot be cloned, or its documentation cannot be built without us")
        page_of_others.write(figures, libraries)
    page_of_others.write(figures, libraries)
    return int(failed)


def read_libraries() -> dict[str, Library]:
    read = tomllib.loads((BENCH / "docs_of_others.toml").read_text(encoding="utf-8"))
    return {
        name: Library(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in each.items()})
        for name, each in read.items()
    }


def _commit(repository: Path) -> str:
    command = ["git", "-C", str(repository), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _source(library: Library, given: str | None, folder: Path) -> Path | None:
    to = folder / library.name
    if given is not None and (copied := Path(given, library.name)).is_dir():
        shutil.copytree(copied, to, symlinks=True)
        return to
    command = ["git", "clone", "-q", "--depth", "1", _FORGE + library.repository, str(to)]
    return to if subprocess.run(command, check=False).returncode == 0 else None


def _suggested(library: Library, source: Path) -> str:
    """Lines with the settings that our command prints for a library, as a maintainer pastes them."""
    tool = "mkdocs" if library.config else "sphinx"
    command = [sys.executable, "-m", "torchrecorder", "suggest", "docs", "--format", tool]
    text = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True).stdout
    if tool == "sphinx":
        return _OURS.partition("torchrecorder_autodoc")[0] + text
    return (
        _OURS_MKDOCS.format(path=library.path).partition("      autodoc")[0] + text.partition("  - torchrecorder:\n")[2]
    )


def measure(library: Library, source: Path, folder: Path, pictures: str | None) -> dict[str, Any]:
    """Figures of a library; empty if its documentation cannot be built without us."""
    docs = Docs(library, source, folder)
    plain = docs.build("plain")
    if plain.status and not any((folder / "plain").rglob("*.html")):
        print(plain.log[-3000:])
        return {}
    ours = docs.build("ours")
    again = [(docs.build("plain"), docs.build("ours")) for _ in range(_AGAIN)]
    documented = read_documented(folder / "ours", [source / library.path])
    if pictures:
        _keep(documented, folder / "ours", Path(pictures, library.name))
    models = why_not_drawn(listed := read_models(library.name), documented, ours.log)
    new = sorted(ours.warnings - plain.warnings)
    return {
        "commit": _commit(ROOT),
        "source": _commit(source),
        "date": datetime.now(UTC).date().isoformat(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "lines": len(library.lines.splitlines()),
        "modules": len(documented),
        "pictures": sorted(name for name, each in documented.items() if each.figure),
        "models": models,
        "undocumented": [model for model in listed if model not in models],
        "warnings": new,
        "is_broken": bool(ours.status) and not plain.status,
        "plain": _costs(plain, [each for each, _ in again]),
        "ours": _costs(ours, [each for _, each in again]),
        "said": [line for line in ours.log.splitlines() if "automatic diagrams: " in line],
    }


def _costs(cold: Build, again: list[Build]) -> dict[str, float]:
    return {
        "seconds": round(cold.seconds, 2),
        "cpu": round(cold.cpu, 2),
        "again": round(min(build.seconds for build in again), 2),
        "again_cpu": round(min(build.cpu for build in again), 2),
        "peak": max(build.peak for build in (cold, *again)),
    }


_HOW = (
    *(("cold", "seconds"), ("nothing changed", "again")),
    *(("cold, of the processor", "cpu"), ("nothing changed, of the processor", "again_cpu")),
)


def _print(name: str, measured: Mapping[str, Any]) -> None:
    plain, ours = measured["plain"], measured["ours"]
    drawn = [model for model, why in measured["models"].items() if not why]
    print(f"{name}: {len(drawn)} of {len(measured['models'])} models drawn")
    print(f"  {len(measured['pictures'])} of {measured['modules']} documented nn.Module classes")
    for what, how in _HOW:
        print(f"  {what} {ours[how]:.1f} s, plain {plain[how]:.1f} s: {ours[how] / plain[how]:.3g} times")
    print(f"  peak {ours['peak'] / 1e9:.2f} GB, plain {plain['peak'] / 1e9:.2f} GB")
    print(f"  new warnings: {len(measured['warnings'])}{', ends the build' if measured['is_broken'] else ''}")
    print(*(f"    {text[:240]}" for text in measured["warnings"][:10]), sep="\n", end="")
    print(*(f"  {text[:600]}" for text in measured["said"]), sep="\n")
    print(*(f"  not drawn: {model}: {why[:300]}" for model, why in measured["models"].items() if why), sep="\n")


class Docs:
    """The documentation of a library, reduced to what we build and to what needs no network.

    It is built `plain` or with lines of `ours`, each into a folder of its own.
    """

    def __init__(self, library: Library, source: Path, folder: Path) -> None:
        self._library, self._source, self._folder = library, source, folder
        self._docs = source / library.docs
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(_BESIDE_CPU_TORCH, encoding="utf-8")
        path = [str(site), str(source / library.path), os.environ.get("PYTHONPATH", "")]
        self._environment = {
            **os.environ,
            "PYTHONWARNINGS": "ignore",
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
        }
        if library.config:
            self._reduce_mkdocs()
        else:
            self._reduce_sphinx()

    def _reduce_sphinx(self) -> None:
        library, docs = self._library, self._docs
        for published in docs.rglob("generated"):  # some publish what their builds have made
            shutil.rmtree(published)
        conf = docs / "conf.py"
        text = conf.read_text(encoding="utf-8")
        for old, new in library.drop:
            if old not in text:
                print(f"{library.name}: its conf.py no longer has {old!r}")
            text = text.replace(old, new)
        pages = ["index.rst", *(f"{page}.*" for page in library.pages), "**/generated/**", "generated/**"]
        conf.write_text(text + _REDUCED.format(pages=pages), encoding="utf-8")
        files = sorted(file for page in library.pages for file in docs.glob(f"{page}.rst"))
        contents = "".join(f"   {file.relative_to(docs).with_suffix('')}\n" for file in files)
        title = f"{library.name}\n{'=' * len(library.name)}"
        (docs / "index.rst").write_text(f"{title}\n\n.. toctree::\n\n{contents}", encoding="utf-8")

    def _reduce_mkdocs(self) -> None:
        library, docs = self._library, self._docs
        for file in [*docs.rglob("*.md"), *docs.rglob("*.ipynb")]:
            if str(file.relative_to(docs)) not in library.pages:
                file.unlink()
        text = f"INHERIT: mkdocs.yml\nnav: {json.dumps(library.pages)}\n{library.config}"
        (self._source / "plain.yml").write_text(text, encoding="utf-8")
        (self._source / "ours.yml").write_text(text + library.lines, encoding="utf-8")

    def build(self, which: str) -> Build:
        lines = self._library.lines if which == "ours" else ""
        to = self._folder / which
        if self._library.config:
            file = str(self._source / f"{which}.yml")
            command = ["mkdocs", "build", "-v", "-f", file, "--site-dir", str(to / "html")]
        else:
            command = ["sphinx", "-v", "-d", str(to / "trees"), str(self._docs), str(to / "html")]
        environment = {**self._environment, "LINES_OF_OURS": lines}
        before, start = _processor(), time.monotonic()
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], stdout=log, stderr=log, env=environment, cwd=self._source
            )
            peaks = [0]
            threading.Thread(target=_watch, args=(process.pid, peaks), daemon=True).start()
            status = process.wait()
            seconds = time.monotonic() - start
            log.seek(0)
            text = log.read()
        warnings = {re.sub(r"0x[0-9a-f]+", "0x", line) for line in text.splitlines() if "WARNING" in line}
        return Build(seconds, _processor() - before, max(peaks), status, text, warnings)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(pid: int, peaks: list[int]) -> None:
    """Note the memory of a process and its descendants until it ends."""
    import psutil  # the tests do without

    while psutil.pid_exists(pid):
        together = 0
        try:
            root = psutil.Process(pid)
            processes = [root, *root.children(recursive=True)]
        except psutil.Error:
            return
        for process in processes:
            try:
                together += process.memory_full_info().pss
            except psutil.Error:  # it ended
                continue
        peaks.append(together)
        time.sleep(_SAMPLED)


@dataclass
class Documented:
    cls: type
    figure: str = ""
    """HTML; empty if it has none."""


def read_documented(to: Path, path: list[Path]) -> dict[str, Documented]:
    """The documented classes that are an `nn.Module`, by their names."""
    from torch import nn

    sys.path[:0] = map(str, path)
    exec(_BESIDE_CPU_TORCH, {})
    documented: dict[str, Documented] = {}
    for file in sorted((to / "html").rglob("*.html")):
        page = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        for name, description in _descriptions(page):
            if not (inspect.isclass(cls := _named(name)) and issubclass(cls, nn.Module)):
                continue
            entry = documented.setdefault(name, Documented(cls))
            for figure in description.select(".torchrecorder"):
                is_own = figure.find_parent(_is_class) is description and figure.find("svg") is not None
                entry.figure = entry.figure or (str(figure) if is_own else "")
    return documented


def _is_class(tag: Tag) -> bool:
    """Whether an element is the description of a class: of Sphinx, or of mkdocstrings."""
    kinds = set(tag.get_attribute_list("class"))
    return kinds >= {"py", "class"} if tag.name == "dl" else "doc-class" in kinds and tag.name == "div"


def _descriptions(page: BeautifulSoup) -> Iterator[tuple[str, Tag]]:
    for description in page.find_all(_is_class):
        named = description.find(id=re.compile(r"\."))
        if named is not None:
            yield str(named["id"]), description


def _named(name: str) -> object:
    """The object of a dotted name; None if there is none."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        for part in parts[count:]:
            value = getattr(value, part, None)
        return value
    return None


def read_models(library: str) -> list[str]:
    """Models of a library, as its readers would call them; the list was written by hand before any measurement."""
    with (BENCH / "models_of_others.tsv").open(encoding="utf-8") as file:
        return [row["model"] for row in csv.DictReader(file, delimiter="\t") if row["library"] == library]


def why_not_drawn(listed: list[str], documented: Mapping[str, Documented], log: str) -> dict[str, str]:
    """Why each model that is documented has no picture; empty for those that have one."""
    reasons = {}
    for model in listed:
        names = [name for name, entry in documented.items() if entry.cls is _named(model)]
        said = [line.strip() for line in log.splitlines() if line.strip().startswith(tuple(f"{it}: " for it in names))]
        why = said[0].partition(": ")[2] if said else "nothing is said of it"
        if any(documented[name].figure for name in names):
            why = ""
        if names:
            reasons[model] = why
    return reasons


def _keep(documented: Mapping[str, Documented], to: Path, folder: Path) -> None:
    """Each figure as a page that a browser shows, with our style sheet in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    style = "".join(file.read_text(encoding="utf-8") for file in sorted((to / "html").rglob("*torchrecorder*.css")))
    for name, entry in documented.items():
        if entry.figure:
            text = f"<!doctype html><meta charset=utf-8><title>{name}</title><style>{style}</style><h1>{name}</h1>"
            (folder / f"{name}.html").write_text(f"{text}{entry.figure}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
