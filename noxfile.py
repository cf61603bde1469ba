"""All duties of the project, one session each: `python -m nox -l` lists them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["contracts", "lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
DEMO = ROOT / "docs" / "demo"
BUILT = DEMO / "_build"


ORIGINALS = {
    "torchrecorder": ["torchrecorder==1.0.3"],
    "torchview": ["torchview==0.2.7"],
    "torchfunc": ["torchfunc==0.2.0"],
    "scio": ["scio-pypi==1.1.0", "lazy-loader"],
}
"""The releases that our recorders are ports of. scio needs Python 3.12."""

MARKS = ("soak", "browser", "transformers", "parity")
"""The marks of tests that the session `tests` leaves out; `pyproject.toml` says what they are."""

AT_ONCE = ("--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile")


def install(session: nox.Session, *packages: str) -> None:
    """Install packages beside the pinned torch.

    torch goes first and alone: asked for by another package, pip may choose a build with gigabytes of CUDA libraries.
    """
    session.install(f"torch=={pinned('torch')}")
    session.install("-c", "constraints.txt", *packages)


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
    install(session, "-e", ".[docs]", "transformers")
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", str(DEMO / "sphinx"), str(BUILT / "sphinx"))
    session.run("mkdocs", "build", "--strict", "-f", str(DEMO / "mkdocs" / "mkdocs.yml"), env=quiet)
    session.log("Sphinx: %s", BUILT / "sphinx" / "index.html")
    session.log("MkDocs: %s", BUILT / "mkdocs" / "index.html")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests but for those behind a mark, on up to four cores at once; arguments go to pytest."""
    install(session, "-e", ".[test]")
    session.run("pytest", *AT_ONCE, "-m", f"not ({' or '.join(MARKS)})", *session.posargs)


@nox.session
def marked(session: nox.Session) -> None:
    """Run the tests behind marks, which take long or need more; arguments go to pytest, `-- -m soak` chooses one."""
    install(session, "-e", ".[test,browser]", "transformers")
    session.run("pytest", *AT_ONCE, "-m", " or ".join(MARKS), *session.posargs)


@nox.session
def corpus(session: nox.Session) -> None:
    """Record 68 real models of other people and compute them again from their graphs; arguments go to pytest.

    `-- bench` measures them instead.
    """
    install(session, "-e", ".[test]", "transformers")
    session.install(
        "aiohttp", "joblib", "pandas", "pillow", "psutil", "requests", "scipy", "sentencepiece", "soundfile", "xxhash"
    )
    session.install("--no-deps", "-r", "tests/corpus/requirements.txt")
    for library in Path(session.virtualenv.location).glob("lib/python*/site-packages/torchaudio/lib/*.so"):
        library.unlink()  # made for CUDA; without them torchaudio does all it can in Python
    if "bench" in session.posargs:
        session.run("python", "bench/record.py", "corpus")
    else:
        session.run("pytest", "tests/corpus", *session.posargs, env={"TORCHRECORDER_CORPUS": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; `-- record` the recorder, in ratios to the plain forward of the same run, `-- cache` the cache,
    `-- seeds` the four ports, `-- house` how simple the source is.
    """
    if "seeds" in session.posargs:
        session.notify("bench_seeds", posargs=[])
        return
    install(session, "-e", ".[test]", "transformers", "numpy")
    session.install("--no-deps", "torchvision==0.28.0", "pillow")
    for name in session.posargs or ["record"]:
        session.run("python", f"bench/{name}.py")


@nox.session
@nox.parametrize(
    "python,seed", [("3.11", "torchrecorder"), ("3.11", "torchview"), ("3.11", "torchfunc"), ("3.12", "scio")]
)
def parity(session: nox.Session, seed: str) -> None:
    """Compare a recorder with the original that it is a port of; arguments go to pytest."""
    install(session, "-e", ".[test]")
    folder = {f"PARITY_{seed.upper()}": aside(session, seed)}
    session.run("pytest", f"tests/parity/test_against_{seed}.py", *session.posargs, env=folder)


@nox.session(python="3.12")
def bench_seeds(session: nox.Session) -> None:
    """Measure the recorders beside their originals; `bench -- seeds` comes here, because scio needs this Python."""
    install(session, "-e", ".[test]")
    session.run("python", "bench/seeds.py", *(f"{seed}={aside(session, seed)}" for seed in ORIGINALS))


def aside(session: nox.Session, seed: str) -> str:
    """Install an original into a folder of its own, where nothing finds it by chance: one has our package's name."""
    folder = str(Path(session.create_tmp()) / seed)
    session.run("python", "-m", "pip", "install", "--no-deps", "--upgrade", "--target", folder, *ORIGINALS[seed])
    return folder


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of the code."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy and pyright."""
    install(session, "-e", ".[test]", "mypy", "nox", "pyright[nodejs]", "types-Markdown", "types-docutils")
    session.run("mypy")
    session.run("pyright")


@nox.session
def contracts(session: nox.Session) -> None:
    """Check that imports point the way the house is built."""
    session.install("-c", "constraints.txt", "import-linter", "-e", ".[sphinx,mkdocs]")
    session.run("lint-imports")
