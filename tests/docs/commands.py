"""The commands that a throw-away project has, offline: each stands in `bin` as a script that calls `main`.

`pip` installs nothing: it checks that every extra it is asked for exists, and makes what it would bring visible,
which is hidden until then. The tools themselves are the real ones. `gh` and `curl` keep what they would send.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.blocks import ROOT
from tests.forking.client import divert

HIDDEN = {
    "furo": "furo",
    "mkdocs": "mkdocs",
    "mkdocs-material": "material",
    "mkdocstrings": "mkdocstrings",
    "myst-parser": "myst_parser",
    "sphinx": "sphinx",
    "torch": "torch",
}
"""Distributions, and the module of each that cannot be imported until it is installed."""
BROUGHT = {"mkdocs": "mkdocs", "sphinx": "sphinx-build", "torchrecorder-docs": "torchrecorder"}
"""Distributions, and the command of each that is not there until then."""
SENT = "SENT"
"""The variable that names the file where `gh` and `curl` keep what they would send."""


def main(name: str, arguments: list[str]) -> int:
    folder = Path(sys.argv[0]).parent
    if name == "pip":
        return pip(arguments, folder)
    if name in ("gh", "curl"):
        return sent(arguments)
    divert(None)
    if name == "torchrecorder":
        from torchrecorder.cli import main as run

        return run(arguments)
    return subprocess.call([sys.executable, "-m", name.removesuffix("-build"), *arguments])


def pip(arguments: list[str], folder: Path) -> int:
    """Check what `pip install` is asked for, and let it be seen."""
    command, *asked = [it for it in arguments if it not in ("-e", "--upgrade")]
    if command != "install" or not asked or any(it.startswith("-") for it in asked):
        print(f"pip {' '.join(arguments)} is not known to this test", file=sys.stderr)
        return 1
    try:
        found = set(everything(asked))
    except LookupError as error:
        print(f"pip: {error.args[0]}", file=sys.stderr)
        return 1
    with (folder.parent / "path").open("a", encoding="utf-8") as path:
        path.writelines(f"{Path(it.partition('[')[0], 'src').resolve()}\n" for it in asked if it.startswith("."))
    for name in found:
        if name in HIDDEN:
            (folder.parent / "hidden" / f"{HIDDEN[name]}.py").unlink(missing_ok=True)
        if name in BROUGHT:
            shutil.copy(folder / "pip", folder / BROUGHT[name])
    return 0


def everything(asked: Sequence[str]) -> Iterator[str]:
    """The names of what is asked for and of all that it needs, as the environment of the tests knows it."""
    left, seen = list(asked), set[str]()
    while left:
        text = left.pop()
        if text in seen:
            continue
        seen.add(text)
        if text.startswith("."):
            path, _, extras = text.rstrip("]").partition("[")
            name, needed = of_project(Path(path) / "pyproject.toml", extras.split(",") if extras else [])
        else:
            requirement = Requirement(text)
            name, extras = canonicalize_name(requirement.name), ",".join(sorted(requirement.extras))
            if name == "torchrecorder-docs":
                _, needed = of_project(ROOT / "pyproject.toml", sorted(requirement.extras))
            else:
                needed = list(of_installed(name, requirement.extras))
        yield name
        left += needed


def of_project(file: Path, extras: Sequence[str]) -> tuple[str, list[str]]:
    """The name of a project and what it needs; a LookupError for an extra that it does not have."""
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    known = project.get("optional-dependencies", {})
    if unknown := [extra for extra in extras if extra not in known]:
        raise LookupError(f"{project['name']} has no extra {', '.join(unknown)}")
    return project["name"], [*project.get("dependencies", []), *(it for extra in extras for it in known[extra])]


def of_installed(name: str, extras: set[str]) -> Iterator[str]:
    """What an installed distribution needs; nothing is known of one that is not there."""
    try:
        needed = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for requirement in map(Requirement, needed):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": it}) for it in (*extras, "")):
            yield f"{requirement.name}[{','.join(requirement.extras)}]" if requirement.extras else requirement.name


def sent(arguments: list[str]) -> int:
    """Keep the arguments, and the text of the file that they name."""
    files = [it.rpartition("@")[2] for it in arguments if it.endswith(".md")]
    with Path(os.environ[SENT]).open("a", encoding="utf-8") as kept:
        kept.write("\n".join([*arguments, *(Path(file).read_text(encoding="utf-8") for file in files)]) + "\n")
    return 0
