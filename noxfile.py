"""The duties of the project, one session each: `python -m nox -l` lists them. `bench` is the laboratory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"  # the first that reads dependency groups
nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
DEMO = ROOT / "docs" / "demo"
BUILT = DEMO / "_build"
SOURCES = ("core", "sphinx_torchrecorder", "mkdocs_torchrecorder")
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PARALLEL = (f"--numprocesses={min(4, (os.cpu_count() or 1) + 1)}", "--dist=loadfile", "--no-loadscope-reorder")
"""One process more than there are cores, because a third of the time of tests is spent waiting for other processes."""

ORIGINALS = {
    "torchrecorder": ["torchrecorder==1.0.3"],
    "torchview": ["torchview==0.2.7"],
    "torchfunc": ["torchfunc==0.2.0"],
    "scio": ["scio-pypi==1.1.0", "lazy-loader"],
}
"""The releases that our recorders are ports of. scio needs Python 3.12."""

MARKS = ("soak", "browser", "node", "site", "transformers", "parity")
UNMARKED = f"not ({' or '.join(MARKS)})"
"""The marks of tests that need more than others, or minutes; `pyproject.toml` says what they are."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""What builds documentation, with torch or without."""
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"

SITES = {
    "mkdocs 1.5.3": ["mkdocs==1.5.3"],
    "mkdocs 1.6.1": ["mkdocs==1.6.1", "mkdocs-print-site-plugin==2.9"],
    "properdocs": ["properdocs", "properdocs-theme-mkdocs"],
    "zensical 0.0.73": ["zensical==0.0.73"],
    "zensical": ["zensical"],
}
"""The tools that read Markdown, each with what its session installs; without a number the newest that installs."""


def install(session: nox.Session, *packages: str) -> None:
    """Install packages beside the pinned torch.

    torch goes first and alone: asked for by another package, pip may choose a build with gigabytes of CUDA libraries.
    """
    session.install(f"torch=={pinned('torch')}")
    if packages:
        session.install("-c", "constraints.txt", *packages)


def group(name: str) -> tuple[str, ...]:
    """The project, editable, and a dependency group of pyproject.toml; read here because only pip 25.1 can."""
    return "-e", ".", *nox.project.dependency_groups(PROJECT, name)


def pinned(name: str) -> str:
    """The version that constraints.txt gives a distribution."""
    found = re.search(rf"^{name}==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"constraints.txt does not pin {name}"
    return found[1]


def aside(session: nox.Session, name: str, packages: list[str]) -> str:
    """Install packages into a folder of their own, where nothing finds them by chance: one has our package's name."""
    folder = str(Path(session.create_tmp()) / name)
    session.run("python", "-m", "pip", "install", "--no-deps", "--upgrade", "--target", folder, *packages)
    return folder


def originals(session: nox.Session, *seeds: str) -> dict[str, str]:
    """The variables that name the folders of originals, which are installed there."""
    return {f"PARITY_{seed.upper()}": aside(session, seed, ORIGINALS[seed]) for seed in seeds}


@nox.session
def demo(session: nox.Session) -> None:
    """Build the demo with Sphinx and with MkDocs; `-- fresh` forgets what was drawn before."""
    if "fresh" in session.posargs:
        shutil.rmtree(BUILT, ignore_errors=True)
    install(session, *group("docs"))
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", str(DEMO / "sphinx"), str(BUILT / "sphinx"))
    session.run("mkdocs", "build", "--strict", "-f", str(DEMO / "mkdocs" / "mkdocs.yml"), env=quiet)
    session.log("Sphinx: %s", BUILT / "sphinx" / "index.html")
    session.log("MkDocs: %s", BUILT / "mkdocs" / "index.html")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, several files at once; arguments go to pytest, `-- -m "site or browser"` chooses marked ones.

    Without `-m`, all are run that have no mark. What marked ones need is added to the environment.
    """
    marks = " ".join(after for word, after in zip(session.posargs, session.posargs[1:], strict=False) if word == "-m")
    wanted = [mark for mark in MARKS if re.search(rf"\b{mark}\b", marks)]
    install(session, *group("marked" if wanted else "test"))
    # Hundreds of processes of these tests import the project, and some machines let no Python keep what it compiled.
    session.run("python", "-m", "compileall", "-q", "-j", "0", *SOURCES)
    folders = originals(session, *(seed for seed in ORIGINALS if seed != "scio")) if "parity" in wanted else {}
    chosen = () if wanted else ("-m", UNMARKED)
    spread = ("--dist=worksteal",) if wanted == ["soak"] else ()  # its files are few, and its tests long
    session.run("pytest", *PARALLEL, *spread, *chosen, *session.posargs, env=folders)


@nox.session
def soak(session: nox.Session) -> None:
    """Try edits, bad models, kills and damaged caches against what is promised, and print a table of it.

    Arguments go to pytest; `-- -k "not in_a_page"` leaves out the edits that whole builds are run for.
    """
    install(session, *group("marked"))
    session.run("pytest", *PARALLEL, "--dist=worksteal", "-m", "soak", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check that imports point the way the house is built, the style of the code, and its types by mypy and pyright."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    stubs = ("types-Markdown", "types-PyYAML", "types-docutils")
    install(session, *group("test"), "import-linter", "mypy", "nox", "pyright[nodejs]", *stubs)
    session.run("lint-imports")
    session.run("mypy")
    session.run("pyright")


@nox.session
def docs(session: nox.Session) -> None:
    """Build our own site from the same pages with Sphinx and with MkDocs; a warning is an error."""
    install(session, *group("docs"))
    session.run(
        *("sphinx-build", "-W", "--keep-going", "-b", "html", "-c", "docs/sphinx", "-d", "site/.doctrees"),
        *("docs", "site/sphinx"),
    )
    session.run("mkdocs", "build", "--strict", "--site-dir", "site/mkdocs", env={"NO_MKDOCS_2_WARNING": "1"})
    session.log("Sphinx: %s", ROOT / "site" / "sphinx" / "index.html")
    session.log("MkDocs: %s", ROOT / "site" / "mkdocs" / "index.html")


@nox.session(reuse_venv=False)
def dist(session: nox.Session) -> None:
    """Build the sdist and from it the wheel, check what is in them, and use each extra of the wheel once.

    The environment has nothing else in it: no checkout, and beside torch nothing that another extra has brought.
    """
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    with only_now(session, "build", "twine", "readme_renderer[md]"):  # without it twine does not look at Markdown
        session.run("python", "-m", "build", "--outdir", "dist")
        session.run("python", "tests/wheel/contents.py", "dist")
        (wheel,), (sdist,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
        session.run("twine", "check", "--strict", str(wheel), str(sdist))
    with only_now(session, str(wheel)):
        session.run("python", "-I", "tests/wheel/use.py", "bare")
    install(session)
    for extra in PROJECT["project"]["optional-dependencies"]:
        asked = "dask,mkdocs" if extra == "dask" else extra  # a cluster records what a documentation asks for
        with only_now(session, f"{wheel}[{asked}]"):
            session.run("python", "-I", "tests/wheel/use.py", extra)


@contextlib.contextmanager
def only_now(session: nox.Session, *packages: str) -> Iterator[None]:
    """Packages that are gone again afterwards, with all that they brought."""
    before = installed(session)
    session.install("-c", "constraints.txt", *packages)
    yield
    session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", *sorted(installed(session) - before))


def installed(session: nox.Session) -> set[str]:
    """The distributions of a session's environment."""
    listed = session.run("python", "-m", "pip", "list", "--format=freeze", silent=True, log=False, stderr=None)
    return {line.partition("==")[0] for line in str(listed).splitlines()}


@nox.session
@nox.parametrize(
    "python,what",
    [
        *(nox.param("3.11", which, id=which, tags=[which]) for which in ("oldest", "pinned", "newest")),
        *(nox.param(python, "bare", id=f"no torch, {python}", tags=["bare"]) for python in PYTHONS),
        *(nox.param(HERE, tool, id=tool, tags=["sites"]) for tool in SITES),
        nox.param("3.12", "scio", id="scio", tags=["scio"]),
    ],
)
def versions(session: nox.Session, what: str) -> None:
    """Try the versions that are promised: `nox -t oldest`, `pinned`, `newest`, `bare`, `sites`, `scio` are a part each.

    The oldest torch goes with the lowest of all others, the newest with the newest that the index has. Each records the
    truth and builds a site with Sphinx and with MkDocs. A Python without torch lets the one of `oldest`, which comes
    first, record for it. `sites` builds and serves with each tool that reads Markdown, in environments of their own;
    `scio` is the recorder beside its original, which needs this Python. What does not install here is skipped.
    """
    match what:
        case "bare":
            build_without_torch(session)
        case "scio":
            install(session, *group("test"))
            session.run("pytest", "tests/parity/test_against_scio.py", *session.posargs, env=originals(session, "scio"))
        case "oldest" | "pinned" | "newest":
            try_torch(session, what)
        case tool:
            try_tool(session, tool)


def try_torch(session: nox.Session, which: str) -> None:
    """The truth and the recordings with a torch, then a site by each tool."""
    others = ["sphinx", "mkdocs", "graphviz"]
    if which == "oldest":
        others = [f"{name}=={lowest(name)}" for name in others]
    wanted = {"oldest": f"torch=={lowest('torch')}.*", "pinned": f"torch=={pinned('torch')}", "newest": "torch"}
    session.install("--upgrade", wanted[which])
    session.install("--upgrade", "-e", ".[sphinx,mkdocs]", "hypothesis", "numpy", "pytest", "pytest-xdist", *others)
    session.run("python", "-c", "import torch; print('torch', torch.__version__)")
    chosen = ("-m", UNMARKED, "tests/truth/test_truth.py", "tests/core/recording")
    session.run("pytest", "--numprocesses=2", *chosen, *session.posargs)
    session.run("python", "tests/versions/build.py", str(Path(session.bin, "python")))


def build_without_torch(session: nox.Session) -> None:
    """A site by each tool, recorded by the Python of `oldest`."""
    session.install("--upgrade", "-e", ".[sphinx,mkdocs]", "sphinx", "mkdocs", "graphviz")
    found = sorted(Path(session.virtualenv.location).parent.glob("versions-*oldest*/bin/python"))
    if not found:
        session.skip("nothing records for it: nox -t oldest comes first")
    session.run("python", "tests/versions/build.py", str(found[0]))


def try_tool(session: nox.Session, tool: str) -> None:
    """Sites by a tool that reads Markdown; the Python of `tests` records for it where there is one."""
    recorder = Path(session.virtualenv.location).parent / "tests" / "bin" / "python"
    if not recorder.exists():
        install(session)
        recorder = Path(session.bin, "python")
    session.install("-c", "constraints.txt", "-e", ".")
    try:
        session.install("--upgrade", *SITES[tool], "pymdown-extensions")
    except nox.command.CommandFailed:
        session.skip(f"{tool} does not install here")
    session.run("python", "tests/versions/sites.py", tool.split()[0], str(recorder))


def lowest(name: str) -> str:
    """The lowest version that pyproject.toml promises to work with."""
    found = re.search(rf'"{name}>=([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None, f"pyproject.toml does not ask for {name}"
    return found[1]


# The laboratory: what measures, records models of other people, and writes pages of what came of it.


@nox.session
def bench(session: nox.Session) -> None:
    """Measure all, which takes an hour, or what NAMES say, and write the page of it; other NAMES are larger works.

    On the page: `record`, in ratios to the plain forward of the same run, `draw` pictures beside those of other tools,
    `cache_warm`, `cache_sites`, `cache_scale` and `cache` the cache, `sphinx` and `mkdocs` whole builds, `house` how
    simple the source is, `peers` the recorder beside other tools, `pictures` pictures of real models, `proofs` whether
    they are true, `seeds` the four recorders beside the originals (scio's with `--force-python 3.12`).

    Others, which take arguments behind their name: `tuning NAME=VALUE` which pictures a number moves; `zoo` records
    two thousand models of 11 libraries, `zoo sample` 60 that all have to succeed; `guesses` judges the inputs that were
    found for them; `corpus` records 68 models and computes them again; `gallery` writes the site's; `compare` writes
    docs/comparison.md; `others` builds the documentation of other libraries and writes docs/bench/real-libraries.md.
    """
    name, *given = session.posargs or [""]
    if name in WORKS:
        WORKS[name](session, *given)
        return
    names = [word for word in session.posargs if word in PAGE]
    for name in names or PAGE:
        measure(session, name, *(word for word in session.posargs if word not in PAGE))


PAGE = (
    *("record", "draw", "cache_warm", "cache_sites", "cache_scale", "cache", "sphinx", "mkdocs", "house"),
    *("peers", "pictures", "proofs", "seeds"),
)
"""What the page of benchmarks shows."""
PEERS = ["torchview==0.2.7", "torchvista==0.2.13", "torchlens==2.36.1"]
"""Tools of others that record a model, too."""


def measure(session: nox.Session, name: str, *arguments: str) -> None:
    """Run a benchmark and put its figures into the page; one that gives none keeps those of before."""
    given = [*arguments]
    if name in ("peers", "pictures", "proofs"):
        install_libraries(session)
    else:
        install(session, *group("test"), "transformers")
        session.install("--no-deps", "torchvision==0.28.0", "pillow")
    if name == "mkdocs":
        session.install("markdown-exec==1.12.6", "mkdocs-graphviz==2.0.2")
    elif name == "peers":
        session.install("graphviz", "ipython", "safetensors", "tqdm")  # what the tools import
        given = [aside(session, "peers", PEERS), *given]
    elif name == "pictures":
        given = [f"beside={aside(session, 'torchview', ORIGINALS['torchview'])}", *given]
    elif name == "seeds":
        python = tuple(map(int, str(session.python or HERE).split(".")))
        seeds = [seed for seed in ORIGINALS if seed != "scio" or python >= (3, 12)]
        given = [f"{seed}={aside(session, seed, ORIGINALS[seed])}" for seed in seeds]
    file = Path(session.create_tmp(), f"{name}.jsonl")
    file.unlink(missing_ok=True)
    script = f"bench/{name}_builds.py" if name in ("sphinx", "mkdocs") else f"bench/{name}.py"  # no sphinx.py: it hides
    session.run("python", script, *given, env={"TORCHRECORDER_FIGURES": str(file)}, success_codes=[0, 1])
    session.run("python", "bench/table.py", str(file))


def tuning(session: nox.Session, *given: str) -> None:
    """The pictures that change with a number."""
    install(session, *group("test"))
    session.run("python", "bench/tuning.py", *given)


def zoo(session: nox.Session, *given: str) -> None:
    """Models of other people's libraries, recorded with no input given."""
    if "sample" in given:
        install(session, *group("test"), "transformers")
        session.install("pillow", "psutil", "requests", "xxhash")
        session.install("--no-deps", *(line for line in requirements() if line.startswith(SAMPLED)))
    else:
        install_libraries(session)
    session.run("python", "bench/zoo/run.py", *given)


SAMPLED = (
    *("einops", "einx", "frozendict", "loguru", "timm", "torch-einops", "torch-geometric", "torchvision"),
    "x-transformers",
)
"""What of the libraries a sample of the zoo needs."""


def requirements() -> list[str]:
    """The libraries that real models come from, each with the version that is pinned."""
    return (ROOT / "tests" / "corpus" / "requirements.txt").read_text(encoding="utf-8").splitlines()


def install_libraries(session: nox.Session) -> None:
    """The libraries that real models come from, beside the pinned torch."""
    install(session, *group("test"), "transformers")
    session.install(
        "aiohttp", "joblib", "pandas", "pillow", "psutil", "requests", "scipy", "sentencepiece", "soundfile", "xxhash"
    )
    session.install("--no-deps", "-r", "tests/corpus/requirements.txt")
    for library in Path(session.virtualenv.location).glob("lib/python*/site-packages/torchaudio/lib/*.so"):
        library.unlink()  # made for CUDA; without them torchaudio does all it can in Python


def guesses(session: nox.Session, *given: str) -> None:
    """The inputs that are found for 200 models of the zoo, judged."""
    install_libraries(session)
    session.run("python", "bench/guesses.py", *given)


def corpus(session: nox.Session, *given: str) -> None:
    """68 real models recorded, and computed again from their Graphs; `record` measures them instead."""
    install_libraries(session)
    if given[:1] == ("record",):
        session.run("python", "bench/record.py", "corpus")
    else:
        session.run("pytest", "tests/corpus", *given, env={"TORCHRECORDER_CORPUS": "1"})


def gallery(session: nox.Session, *given: str) -> None:
    """The gallery of the site: what is out of date is recorded, all pages are written."""
    install_libraries(session)
    session.run("python", "docs/gallery/run.py", *given)


def compare(session: nox.Session, *given: str) -> None:
    """The same models by five other tools, and the page of it."""
    install_libraries(session)
    session.install("graphviz", "ipython", "networkx", "safetensors", "setuptools<81", "tqdm")
    peers = aside(session, "peers", [*PEERS, "torchviz==0.0.3"])
    old = aside(session, "old", ORIGINALS["torchrecorder"])
    readers = {"COMPARE_PEERS": peers, "COMPARE_OLD": old}
    session.run("pytest", "-q", "tests/bench", env=readers)  # that no wrong reader is blamed on a tool
    session.run("python", "bench/compare.py", peers, old, *given)


def others(session: nox.Session, *given: str) -> None:
    """Parts of other libraries' documentation, built with automatic diagrams.

    Their repositories are cloned; `sources=FOLDER` has copies of them. `rest` goes on where a run was stopped,
    `pictures=FOLDER` keeps the pictures.
    """
    install_libraries(session)
    session.install("--no-deps", "-r", "bench/requirements_of_others.txt")
    session.run("python", "bench/docs_of_others.py", *given)


WORKS: dict[str, Callable[..., None]] = {
    work.__name__: work for work in (tuning, zoo, guesses, corpus, gallery, compare, others)
}
"""What the laboratory does besides; arguments follow the name."""
