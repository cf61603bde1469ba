"""The layout engine: where it is found; `process` keeps its process in bounds.

`graphviz-pure` comes first: it is a dependency, so every machine has the same one and draws the same bytes. A system's
`dot` is often years old and measures text with whatever fonts are installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from torchrecorder.engine.process import Engine
from torchrecorder.errors import EngineNotFound

__all__ = ["Engine", "find_engine"]

_PURE = "graphviz-pure"


def find_engine(setting: str = "auto") -> Engine:
    """The engine that a setting names.

    Args:
        setting: `auto` (graphviz-pure, else the system's dot), `pure`, `dot`, or the path of a program.

    Raises:
        EngineNotFound: It is not there; the reason says where it was looked for.
    """
    if setting == "pure":
        return _pure()
    if setting == "dot":
        return _system_dot()
    if setting != "auto":
        found = shutil.which(setting) or shutil.which(str(Path(setting).expanduser()))
        if not found:
            raise EngineNotFound(engine=setting, reason=f"{setting} is not a program")
        return Engine(Path(found).resolve(), _asked(found))
    try:
        return _pure()
    except EngineNotFound as error:
        first = error.reason
    try:
        return _system_dot()
    except EngineNotFound as error:
        raise EngineNotFound(engine="auto", reason=f"{first}; {error.reason}") from None


def _pure() -> Engine:
    try:
        distribution: metadata.Distribution | None = metadata.distribution(_PURE)
    except metadata.PackageNotFoundError:
        distribution = None
    looked = []
    for path in _places_of_pure(distribution):
        if path.is_file():  # not started: a build with every picture in the cache starts no process
            return Engine(path.resolve(), f"{_PURE} {'unknown' if distribution is None else _version(distribution)}")
        looked.append(str(path))
    places = ", ".join(dict.fromkeys(looked))
    raise EngineNotFound(engine=_PURE, reason=f"{_PURE} is neither at {places} nor on the PATH")


def _places_of_pure(distribution: metadata.Distribution | None) -> Iterator[Path]:
    """Where pip puts a program: next to its record, next to Python, in the script folders, on the PATH."""
    program = _PURE + (".exe" if sys.platform == "win32" else "")
    files = [] if distribution is None else distribution.files or []
    yield from (Path(str(file.locate())) for file in files if file.name == program)
    yield Path(sys.executable).parent / program
    yield Path(sysconfig.get_path("scripts")) / program
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / program
    if found := shutil.which(_PURE):
        yield Path(found)


def _version(distribution: metadata.Distribution) -> str:
    # `version` parses all of the metadata as an e-mail, which takes longer than the rest of the search.
    found = re.search(r"^Version: *(\S+)", distribution.read_text("METADATA") or "", re.MULTILINE)
    return found[1] if found else distribution.version


def _system_dot() -> Engine:
    found = shutil.which("dot")
    if not found:
        raise EngineNotFound(engine="dot", reason="dot is not on the PATH")
    return Engine(Path(found), _asked(found))


@lru_cache(maxsize=8)
def _asked(program: str) -> str:
    """Name and version as the program says them."""
    try:
        run = subprocess.run([program, "-V"], capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineNotFound(engine=program, reason=f"{program} -V fails: {error}") from error
    output = (run.stderr + run.stdout).decode("utf-8", "replace")
    match = re.search(r"version (\S+(?: \([^)]*\))?)", output)
    return f"{Path(program).name} {match[1] if match else 'unknown'}"
