"""Automatic diagrams in the documentation of other libraries: `nox -s bench -- others [LIBRARY …] [sources=FOLDER]`.

Each is built twice, as its authors configured it and with the few lines that a maintainer writes for us, on a part of
its pages. Printed are how many of the documented `nn.Module` classes have a picture, the warnings that we add, and the
time by the clock, cold and when nothing changed. The sources are cloned, or taken from `sources=FOLDER/LIBRARY`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bs4 import BeautifulSoup

_SHIM = Path(__file__).parents[1] / "tests" / "corpus" / "torchvision_ops.py"


@dataclass(frozen=True)
class Library:
    name: str
    repository: str
    """Where it is cloned from."""
    docs: str
    """The folder of its conf.py."""
    pages: tuple[str, ...]
    """Those that are built, below a page of contents of ours."""
    ours: str
    """What a maintainer adds to conf.py."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Texts of its conf.py that need the network or other repositories, with what stands there instead."""


_FORGE = "https://github.com/"
_LIBRARIES = (
    Library(
        "segmentation_models.pytorch",
        f"{_FORGE}qubvel-org/segmentation_models.pytorch",
        "docs",
        ("models",),
        'extensions.append("sphinx_torchrecorder")\ntorchrecorder_autodoc = True\n',
    ),
    Library(
        "braindecode",
        f"{_FORGE}braindecode/braindecode",
        "docs",
        ("api",),
        "import mne\n"
        'extensions.append("sphinx_torchrecorder")\n'
        'eeg = mne.create_info(mne.channels.make_standard_montage("biosemi32").ch_names[:22], 250, "eeg")\n'
        'places = [{"ch_name": it["ch_name"], "loc": it["loc"][:6]} for it in eeg.set_montage("biosemi32")["chs"]]\n'
        'eeg = {"n_outputs": 4, "n_times": 1000, "sfreq": 250, "chs_info": places}\n'
        'torchrecorder_autodoc = {"braindecode.mod*": {"shape": "1,22,1000", "quiet": True, "arguments": eeg}}\n',
    ),
    Library(
        "kornia",
        f"{_FORGE}kornia/kornia",
        "docs/source",
        ("feature", "contrib", "filters"),
        'extensions.append("sphinx_torchrecorder")\ntorchrecorder_autodoc = True\n',
        tuple(
            (f"{call}\n", "")
            for name in ("examples", "benchmarks")
            for call in (f"spec.loader.exec_module(generate_{name})", f"generate_{name}.main()")
        ),
    ),
    Library(
        "pytorch_geometric",
        f"{_FORGE}pyg-team/pytorch_geometric",
        "docs/source",
        ("modules/nn",),
        'extensions.append("sphinx_torchrecorder")\ntorchrecorder_autodoc = True\n',
        (
            ("import pyg_sphinx_theme\n", ""),
            ("sys.path.append(osp.join(osp.dirname(pyg_sphinx_theme.__file__), 'extension'))\n", ""),
            ("html_theme = 'pyg_sphinx_theme'", "html_theme = 'sphinx_rtd_theme'  # on which its own theme stands"),
        ),
    ),
)
_BESIDE_CPU_TORCH = """
import sys
class _BeforeTorchvision:
    '''Registers what a torchvision made for CUDA needs, before it is imported beside a CPU build of torch.'''
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import importlib.util
            spec = importlib.util.spec_from_file_location("torchvision_ops", {file!r})
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.define_missing_operators()
sys.meta_path.insert(0, _BeforeTorchvision())
"""
_REDUCED = """
import importlib.util
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
globals().get("html_theme_options", {{}}).pop("secondary_sidebar_items", None)  # those of sphinx-gallery
html_extra_path, html_js_files, exclude_patterns, include_patterns = [], [], [], {pages!r}
autosummary_generate = True
"""


@dataclass
class Build:
    seconds: float
    warnings: set[str] = field(default_factory=set)
    log: str = ""


def main() -> int:
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    failed = False
    for library in _LIBRARIES:
        if not words or library.name in words:
            with tempfile.TemporaryDirectory(prefix="docs-of-others-") as folder:
                given = options.get("sources")
                source = _source(library, Path(given) if given else None, Path(folder))
                if source is None:
                    print(f"{library.name}: cannot be cloned, and no sources=FOLDER has it")
                    failed = True
                    continue
                for row in _rows(library, source, Path(folder)):
                    print(row, flush=True)
    return int(failed)


def _source(library: Library, given: Path | None, folder: Path) -> Path | None:
    to = folder / library.name
    if given is not None and (given / library.name).is_dir():
        shutil.copytree(given / library.name, to, symlinks=True)
        return to
    done = subprocess.run(["git", "clone", "-q", "--depth", "1", library.repository, str(to)], check=False)
    return to if done.returncode == 0 else None


def _rows(library: Library, source: Path, folder: Path) -> Iterator[str]:
    docs = source / library.docs
    _reduce(library, docs)
    theirs = (docs / "conf.py").read_text(encoding="utf-8")
    plain, plain_again = _twice(docs, folder / "plain")
    (docs / "conf.py").write_text(theirs + library.ours, encoding="utf-8")
    ours, ours_again = _twice(docs, folder / "ours")
    classes = _documented(folder / "ours", source)
    drawn = sum(classes.values())
    share = drawn / max(1, len(classes))
    yield f"{library.name}: {drawn} of {len(classes)} documented nn.Module classes drawn, {share:.0%}"
    yield f"  lines written: {len(library.ours.splitlines())}"
    yield f"  cold {ours.seconds:.1f} s, plain {plain.seconds:.1f} s: {ours.seconds / plain.seconds - 1:+.0%}"
    share = ours_again.seconds / plain_again.seconds - 1
    yield f"  nothing changed {ours_again.seconds:.1f} s, plain {plain_again.seconds:.1f} s: {share:+.0%}"
    new = sorted(ours.warnings - plain.warnings)
    yield f"  new warnings: {len(new)}"
    yield from (f"    {one[:240]}" for one in new[:10])
    yield from (f"  {line[:600]}" for line in ours.log.splitlines() if "drawn, " in line)
    if missing := [name for name, is_drawn in classes.items() if not is_drawn]:
        yield f"  not drawn: {', '.join(sorted(missing))}"


def _reduce(library: Library, docs: Path) -> None:
    """Leave of the documentation what we build, and of its configuration what needs no network."""
    shutil.rmtree(docs / "generated", ignore_errors=True)  # some publish what their builds have made
    conf = docs / "conf.py"
    text = conf.read_text(encoding="utf-8")
    for old, new in library.left_out:
        text = text.replace(old, new)
    pages = ["index.rst", *(f"{page}.*" for page in library.pages), "generated/**"]
    conf.write_text(text + _REDUCED.format(pages=pages), encoding="utf-8")
    contents = "".join(f"   {page}\n" for page in library.pages)
    title = library.name
    (docs / "index.rst").write_text(f"{title}\n{'=' * len(title)}\n\n.. toctree::\n\n{contents}", encoding="utf-8")


def _twice(docs: Path, to: Path) -> tuple[Build, Build]:
    return _build(docs, to), _build(docs, to)


def _build(docs: Path, to: Path) -> Build:
    command = [sys.executable, "-m", "sphinx", "-d", str(to / "trees"), str(docs), str(to / "html")]
    start = time.monotonic()
    site = to.parent / "site"
    site.mkdir(exist_ok=True)
    text = _BESIDE_CPU_TORCH.format(file=str(_SHIM))
    (site / "sitecustomize.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=docs)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise SystemExit(f"{docs} cannot be built: {done.stderr[-2000:]}")
    warnings = {re.sub(r"0x[0-9a-f]+", "0x", line) for line in done.stderr.splitlines() if "WARNING" in line}
    return Build(seconds, warnings, done.stdout)


def _documented(to: Path, source: Path) -> dict[str, bool]:
    """Whether each documented class that is an `nn.Module` has a picture, by its name."""
    from torch import nn

    sys.path.insert(0, str(source))
    exec(_BESIDE_CPU_TORCH.format(file=str(_SHIM)), {})
    found: dict[str, bool] = {}
    for file in sorted((to / "html").rglob("*.html")):
        page = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        for description in page.select("dl.py.class"):
            signature = description.find("dt")
            name = signature.get("id") if signature is not None else None
            cls = _named(str(name)) if name else None
            if not (inspect.isclass(cls) and issubclass(cls, nn.Module)):
                continue
            body = description.find("dd", recursive=False)
            own = [] if body is None else body.select("figure.torchrecorder svg, .torchrecorder svg")
            found[str(name)] = found.get(str(name), False) or bool(own)
    return found


def _named(name: str) -> object:
    """The object of a dotted name; None if there is none."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        return found
    return None


if __name__ == "__main__":
    sys.exit(main())
