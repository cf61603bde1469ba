"""All duties of the project, one session each: `python -m nox -l` lists them."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"  # the first that reads dependency groups
nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["contracts", "lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
DEMO = ROOT / "docs" / "demo"
BUILT = DEMO / "_build"
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PARALLEL = ("--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile")

ORIGINALS = {
    "torchrecorder": ["torchrecorder==1.0.3"],
    "torchview": ["torchview==0.2.7"],
    "torchfunc": ["torchfunc==0.2.0"],
    "scio": ["scio-pypi==1.1.0", "lazy-loader"],
}
"""The releases that our recorders are ports of. scio needs Python 3.12."""

PEERS = ["torchview==0.2.7", "torchvista==0.2.13", "torchlens==2.36.1"]
"""Tools of others that record a model, too."""

MARKS = ("soak", "browser", "node", "site", "transformers", "parity")
UNMARKED = f"not ({' or '.join(MARKS)})"
"""The marks of tests that the session `tests` leaves out; `pyproject.toml` says what they are."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""What builds documentation, with torch or without."""


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


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests but for those behind a mark, on up to four cores at once; arguments go to pytest."""
    install(session, *group("test"))
    session.run("pytest", *PARALLEL, "-m", UNMARKED, *session.posargs)


@nox.session
def marked(session: nox.Session) -> None:
    """Run the tests behind marks, which need more; arguments go to pytest, `-- -m browser` chooses one."""
    install(session, *group("marked"))
    session.run("pytest", *PARALLEL, "-m", " or ".join(mark for mark in MARKS if mark != "soak"), *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Try edits, bad models, kills and damaged caches against what is promised, and print a table of it.

    Arguments go to pytest; `-- -k "not in_a_page"` leaves out the edits that whole builds are run for.
    """
    install(session, *group("marked"))
    session.run("pytest", *PARALLEL, "--dist=worksteal", "-m", "soak", *session.posargs)


@nox.session
def corpus(session: nox.Session) -> None:
    """Record 68 real models of other people and compute them again from their graphs; arguments go to pytest.

    `-- bench` measures them instead.
    """
    install_libraries(session)
    if "bench" in session.posargs:
        session.run("python", "bench/record.py", "corpus")
    else:
        session.run("pytest", "tests/corpus", *session.posargs, env={"TORCHRECORDER_CORPUS": "1"})


@nox.session
def zoo(session: nox.Session) -> None:
    """Record two thousand models of other people with no input given; `-- timm resnet` chooses a library and names.

    `-- every=8` takes one model in eight, `-- to=new.json against=old.json` compares with an earlier run, `-- sample`
    records 60 small ones, which all have to succeed.
    """
    if "sample" in session.posargs:
        install(session, *group("test"), "transformers")
        session.install("pillow", "psutil", "requests", "xxhash")
        session.install("--no-deps", *(line for line in requirements() if line.startswith(SAMPLED)))
    else:
        install_libraries(session)
    session.run("python", "bench/zoo/run.py", *session.posargs)


SAMPLED = (
    "einops",
    "einx",
    "frozendict",
    "loguru",
    "timm",
    "torch-einops",
    "torch-geometric",
    "torchvision",
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


@nox.session
def gallery(session: nox.Session) -> None:
    """Record and draw what is out of date in the gallery and write its pages; `-- again` all, `-- ResNet-50` one.

    `-- sheet=FILE.html` puts all pictures on one page, to look at.
    """
    install_libraries(session)
    session.run("python", "docs/gallery/run.py", *session.posargs)


@nox.session(name="docs-of-others")
def docs_of_others(session: nox.Session) -> None:
    """Build parts of other libraries' documentation with automatic diagrams; arguments name libraries.

    Their repositories are cloned; `sources=FOLDER` has copies of them.
    """
    install_libraries(session)
    session.install(*OTHERS_TOOLS)
    session.install("--no-deps", *OTHERS_PACKAGES)
    session.run("python", "bench/docs_of_others.py", *session.posargs)


OTHERS_TOOLS = (
    *("beautifulsoup4", "furo", "matplotlib", "nbsphinx", "numpydoc", "onnx", "onnxruntime", "pydata-sphinx-theme"),
    *("sphinx-autodoc-defaultargs", "sphinx-autodoc-typehints", "sphinx-book-theme", "sphinx-copybutton"),
    *("sphinx-design", "sphinx-gallery", "sphinx-notfound-page", "sphinx-rtd-theme", "sphinx-sitemap"),
    *("sphinxcontrib-bibtex", "sphinxcontrib-youtube", "sphinxext-opengraph"),
    *("h5py", "lazy-loader", "mat73", "mne-bids", "pooch", "pydantic", "scikit-learn", "tabulate", "torchinfo"),
)
"""What the documentation of other libraries is written with, and what they import."""
OTHERS_PACKAGES = (
    *("braindecode==1.8.1", "mne", "skorch", "docstring-inheritance", "rotary-embedding-torch", "wfdb"),
    *("linear-attention-transformer", "local-attention", "hyper-connections", "axial-positional-embedding"),
    *("product-key-memory", "linformer", "colt5-attention"),
)
"""Of these, what asks for another torch."""


BENCHMARKS = (
    *("record", "draw", "cache_warm", "cache_sites", "cache_scale", "cache", "sphinx", "mkdocs", "house"),
    *("peers", "pictures", "proofs", "seeds"),
)
"""The last four run in sessions of their own."""


@nox.session
def bench(session: nox.Session) -> None:
    """Measure all, which takes an hour, or some of it, and write the page of it; `-- record` the recorder.

    `record`, in ratios to the plain forward of the same run, `draw` pictures beside those of other tools, `cache_warm`,
    `cache_sites`, `cache_scale` and `cache` the cache, `sphinx` and `mkdocs` whole builds, `house` how simple the
    source is, `peers` the recorder beside other tools, `pictures` pictures of real models, `proofs` whether they are
    true, `seeds` the four ports.
    """
    names = [name for name in BENCHMARKS if name in session.posargs] or BENCHMARKS
    given = [word for word in session.posargs if word not in BENCHMARKS]
    for apart in BENCHMARKS[-4:]:
        if apart in names:
            session.notify(f"bench_{apart}", posargs=given)
    here = [name for name in names if name not in BENCHMARKS[-4:]]
    if here:
        install(session, *group("test"), "transformers")
        session.install("--no-deps", "torchvision==0.28.0", "pillow")
    if "mkdocs" in here:
        session.install("markdown-exec==1.12.6", "mkdocs-graphviz==2.0.2")
    for name in here:
        # Beside a sphinx.py nothing could import Sphinx.
        measure(session, f"{name}_builds" if name in ("sphinx", "mkdocs") else name)


def measure(session: nox.Session, name: str, *arguments: str) -> None:
    """Run a benchmark and put its figures into the page; one that gives none keeps those of before."""
    file = Path(session.create_tmp(), f"{name}.jsonl")
    file.unlink(missing_ok=True)
    session.run(
        "python", f"bench/{name}.py", *arguments, env={"TORCHRECORDER_FIGURES": str(file)}, success_codes=[0, 1]
    )
    session.run("python", "bench/table.py", str(file))


@nox.session
@nox.parametrize(
    "python,seed", [("3.11", "torchrecorder"), ("3.11", "torchview"), ("3.11", "torchfunc"), ("3.12", "scio")]
)
def parity(session: nox.Session, seed: str) -> None:
    """Compare a recorder with the original that it is a port of; arguments go to pytest."""
    install(session, *group("test"))
    folder = {f"PARITY_{seed.upper()}": aside(session, seed, ORIGINALS[seed])}
    session.run("pytest", f"tests/parity/test_against_{seed}.py", *session.posargs, env=folder)


@nox.session(python="3.12")
def bench_seeds(session: nox.Session) -> None:
    """Measure the recorders beside their originals; `bench -- seeds` comes here, because scio needs this Python."""
    install(session, *group("test"))
    measure(session, "seeds", *(f"{seed}={aside(session, seed, packages)}" for seed, packages in ORIGINALS.items()))


@nox.session
def bench_peers(session: nox.Session) -> None:
    """Measure the recorder beside other tools; `bench -- peers` comes here, further arguments name models."""
    install_libraries(session)
    session.install("graphviz", "ipython", "safetensors", "tqdm")  # what the tools import
    measure(session, "peers", aside(session, "peers", PEERS), *session.posargs)


@nox.session
def compare(session: nox.Session) -> None:
    """Compare with five other tools and write `docs/comparison.md`; arguments are those of `bench/compare.py`."""
    install_libraries(session)
    session.install("graphviz", "ipython", "networkx", "safetensors", "setuptools<81", "tqdm")
    peers = aside(session, "peers", [*PEERS, "torchviz==0.0.3"])
    old = aside(session, "old", ORIGINALS["torchrecorder"])
    readers = {"COMPARE_PEERS": peers, "COMPARE_OLD": old}
    session.run("pytest", "-q", "tests/bench", env=readers)  # that no wrong reader is blamed on a tool
    session.run("python", "bench/compare.py", peers, old, *session.posargs)


@nox.session
def bench_pictures(session: nox.Session) -> None:
    """Judge pictures; `bench -- pictures` comes here. Further arguments are those of `bench/pictures.py`."""
    install_libraries(session)
    beside = aside(session, "torchview", ORIGINALS["torchview"])
    measure(session, "pictures", f"beside={beside}", *session.posargs)


@nox.session
def bench_proofs(session: nox.Session) -> None:
    """Prove pictures; `bench -- proofs` comes here. Arguments are folders of Graphs as JSON."""
    install_libraries(session)
    measure(session, "proofs", *session.posargs)


def aside(session: nox.Session, name: str, packages: list[str]) -> str:
    """Install packages into a folder of their own, where nothing finds them by chance: one has our package's name."""
    folder = str(Path(session.create_tmp()) / name)
    session.run("python", "-m", "pip", "install", "--no-deps", "--upgrade", "--target", folder, *packages)
    return folder


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
    "python,torch",
    [
        nox.param("3.11", "oldest", id="oldest", tags=["oldest"]),
        nox.param("3.11", "pinned", id="pinned", tags=["pinned"]),
        nox.param("3.11", "newest", id="newest", tags=["newest"]),
        *(nox.param(python, "", id=f"no torch, {python}", tags=["bare"]) for python in PYTHONS),
    ],
)
def versions(session: nox.Session, torch: str) -> None:
    """Try the versions that pyproject.toml promises, or one of them: `nox -t oldest`, `pinned`, `newest`, `bare`.

    The oldest torch goes with the lowest of all others, the newest with the newest that the index has. Each records the
    truth and builds a site with Sphinx and with MkDocs. A Python without torch lets the one of `oldest`, which comes
    first, record for it. What is not there is skipped.
    """
    others = ["sphinx", "mkdocs", "graphviz"]
    if torch == "oldest":
        others = [f"{name}=={lowest(name)}" for name in others]
    wanted = {"oldest": f"torch=={lowest('torch')}.*", "pinned": f"torch=={pinned('torch')}", "newest": "torch"}
    if torch:
        session.install("--upgrade", wanted[torch])
        session.install("--upgrade", "-e", ".[sphinx,mkdocs]", "hypothesis", "numpy", "pytest", "pytest-xdist", *others)
        session.run("python", "-c", "import torch; print('torch', torch.__version__)")
        truth = ("tests/truth/test_truth.py", "tests/core/recording")
        session.run("pytest", "--numprocesses=2", "-m", UNMARKED, *truth, *session.posargs)
        python = str(Path(session.bin, "python"))
    else:
        session.install("--upgrade", "-e", ".[sphinx,mkdocs]", *others)
        found = [str(file) for file in Path(session.virtualenv.location).parent.glob("versions-*oldest*/bin/python")]
        if not found:
            session.skip("nothing records for it: nox -t oldest comes first")
        (python,) = found
    session.run("python", "tests/versions/build.py", python)


SITES = {
    "mkdocs 1.5.3": ["mkdocs==1.5.3"],
    "mkdocs 1.6.1": ["mkdocs==1.6.1", "mkdocs-print-site-plugin==2.9"],
    "properdocs": ["properdocs", "properdocs-theme-mkdocs"],
    "zensical 0.0.73": ["zensical==0.0.73"],
    "zensical": ["zensical"],
}
"""The tools that read Markdown, each with what its session installs; without a number the newest that installs."""


@nox.session
@nox.parametrize("tool", [nox.param(tool, id=tool) for tool in SITES])
def sites(session: nox.Session, tool: str) -> None:
    """Build and serve sites with each tool that reads Markdown, in environments of their own; three minutes each.

    A tool that does not install here is skipped. `-k properdocs` chooses one.
    """
    install(session, "-e", ".")
    try:
        session.install("--upgrade", *SITES[tool], "pymdown-extensions")
    except nox.command.CommandFailed:
        session.skip(f"{tool} does not install here")
    session.run("python", "tests/versions/sites.py", tool.split()[0])


def lowest(name: str) -> str:
    """The lowest version that pyproject.toml promises to work with."""
    found = re.search(rf'"{name}>=([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None, f"pyproject.toml does not ask for {name}"
    return found[1]


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of the code."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy and pyright."""
    install(
        session, *group("test"), "mypy", "nox", "pyright[nodejs]", "types-Markdown", "types-PyYAML", "types-docutils"
    )
    session.run("mypy")
    session.run("pyright")


@nox.session
def contracts(session: nox.Session) -> None:
    """Check that imports point the way the house is built."""
    session.install("-c", "constraints.txt", "import-linter", "-e", ".[sphinx,mkdocs]")
    session.run("lint-imports")
