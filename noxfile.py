"""All duties of the project, one session each: `python -m nox -l` lists them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["tests", "lint", "types", "contracts"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
DEMO = ROOT / "docs" / "demo"
BUILT = DEMO / "_build"


ORIGINALS = {"torchrecorder": "torchrecorder==1.0.3"}
"""The releases that our classic names are compared with."""


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
    """Run the tests; arguments go to pytest."""
    install(session, "-e", ".[test]", "transformers")
    session.run("pytest", *session.posargs)


@nox.session
def corpus(session: nox.Session) -> None:
    """Record 68 real models of other people and compute them again from their graphs; arguments go to pytest."""
    install(session, "-e", ".[test]", "transformers")
    session.install(
        "aiohttp", "joblib", "pandas", "pillow", "psutil", "requests", "scipy", "sentencepiece", "soundfile", "xxhash"
    )
    session.install("--no-deps", "-r", "tests/corpus/requirements.txt")
    for library in Path(session.virtualenv.location).glob("lib/python*/site-packages/torchaudio/lib/*.so"):
        library.unlink()  # made for CUDA; without them torchaudio does all it can in Python
    session.run("pytest", "tests/corpus", *session.posargs, env={"TORCHRECORDER_CORPUS": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; `-- record` the recorder, in ratios to the plain forward of the same run; `-- cache` the cache."""
    install(session, "-e", ".[test]", "transformers", "numpy")
    session.install("--no-deps", "torchvision==0.28.0", "pillow")
    for name in session.posargs or ["record"]:
        session.run("python", f"bench/{name}.py")


@nox.session
@nox.parametrize("seed", ["torchrecorder"])
def parity(session: nox.Session, seed: str) -> None:
    """Compare with the original of a seed, which is installed aside: it may have our package's name."""
    install(session, "-e", ".[test]")
    aside = session.create_tmp()
    session.run("python", "-m", "pip", "install", "--no-deps", "--upgrade", "--target", aside, ORIGINALS[seed])
    folder = {f"PARITY_{seed.upper()}": aside}
    session.run("pytest", "tests/parity", "-k", seed, *session.posargs, env=folder)


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


@nox.session
def parity_torchview(session: nox.Session) -> None:
    """Compare torchrecorder.recorder_tensor with the torchview that it follows; `-- bench` measures both."""
    install(session, "-e", ".[test]")
    session.install("--no-deps", "torchview==0.2.7")
    if "bench" in session.posargs:
        session.run("python", "bench/seed_torchview.py")
    else:
        session.run("pytest", "tests/parity/test_against_torchview.py", *session.posargs)


@nox.session
def parity_torchfunc(session: nox.Session) -> None:
    """Compare the value recorders with torchfunc's own."""
    install(session, "-e", ".[test]")
    session.install("--no-deps", "torchfunc==0.2.0")
    session.run("pytest", "tests/parity/test_against_torchfunc.py", *session.posargs)


@nox.session(python="3.12")
def parity_scio(session: nox.Session) -> None:
    """Compare the activation recorder with scio's own, which needs Python 3.12."""
    install(session, "-e", ".[test]")
    session.install("--no-deps", "scio-pypi==1.1.0", "lazy-loader")
    session.run("pytest", "tests/parity/test_against_scio.py", *session.posargs)
