"""Files and functions that the build of a small page enters, in all processes, and objects that cross between rooms.

`measured` builds a page with a net of two layers by Sphinx three times. Each Python that is started imports this module
through a `sitecustomize` and writes what it sees for the first time as a line of JSON into one file; children that are
forked go on with what their parent has seen.

- A function is entered if it is called; lambdas and comprehensions are no functions, and what runs while one of our
  modules is imported (decorators, class bodies) is left out.
- An object crosses a border if a function of one room gives it to a function of another, as an argument or a result,
  alone or in a list, a tuple or a mapping. A room is a folder of the core or a front end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

PACKAGES = ("core/torchrecorder", "sphinx_torchrecorder", "mkdocs_torchrecorder")
NET = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x))
"""
_START = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("house_build", {file!r})
sys.modules["house_build"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.start({root!r}, {log!r})
"""


@dataclass(frozen=True, slots=True)
class Entered:
    """Files and functions that one build entered."""

    files: set[str]
    functions: set[tuple[str, str, int]]
    in_sphinx: set[str]
    """The files that the process of Sphinx entered."""
    carriers: set[str]
    """The classes whose objects crossed a border."""


def measured(root: Path) -> tuple[Entered, Entered]:
    """Files and functions of a first build, and of one where nothing has changed for two builds."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        project = Path(folder)
        (project / "docs").mkdir()
        (project / "two_layers.py").write_text(NET, encoding="utf-8")
        settings = 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = [".."]\n'
        (project / "docs" / "conf.py").write_text(settings, encoding="utf-8")
        (project / "docs" / "index.rst").write_text("Net\n===\n\n.. torchrecorder:: two_layers.Net\n", encoding="utf-8")
        cold, _, warm = (_built(root, project, number) for number in range(3))
        return cold, warm


def _built(root: Path, project: Path, number: int) -> Entered:
    log, start = project / f"entered-{number}", project / f"start-{number}"
    start.mkdir()
    text = _START.format(file=__file__, root=str(root), log=str(log))
    (start / "sitecustomize.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join(map(str, (start, root / "core", root)))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", "out"]
    subprocess.run(command, check=True, cwd=project, env={**os.environ, "PYTHONPATH": path}, stdout=sys.stderr)
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    calls = [row for row in rows if row[0] == "call"]
    first = calls[0][1]  # Sphinx is there before a worker
    return Entered(
        {file for _, _, file, *_ in calls},
        {(file, name, line) for _, _, file, name, line in calls if not name.startswith("<")},
        {file for _, pid, file, *_ in calls if pid == first},
        {name for kind, _, name, *_ in rows if kind == "carrier"},
    )


def start(root: str, log: str) -> None:
    """Begin to note, in this process and in those that it forks."""
    watch = _Watch(root, os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    threading.setprofile(watch.note)
    sys.setprofile(watch.note)


class _Watch:
    def __init__(self, root: str, log: int) -> None:
        self._root = root + os.sep
        self._packages = tuple(os.path.join(root, package) + os.sep for package in PACKAGES)
        self._log = log
        self._seen: set[CodeType | str] = set()

    def note(self, frame: FrameType, event: str, given: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self._packages):
            return
        if code not in self._seen and event == "call" and not self._is_imported(frame):
            self._seen.add(code)
            self._write("call", code.co_filename.removeprefix(self._root), code.co_name, code.co_firstlineno)
        caller = frame.f_back
        if caller is None or not caller.f_code.co_filename.startswith(self._packages):
            return
        if self._room(code) != self._room(caller.f_code):
            for value in _arguments(frame) if event == "call" else (given,):
                self._note_carriers(value)

    def _note_carriers(self, value: object) -> None:
        for one in (value, *_inside(value)):
            kind = type(one)
            name = f"{kind.__module__}.{kind.__qualname__}"
            if name in self._seen or "torchrecorder" not in name.partition(".")[0] or isinstance(one, BaseException):
                continue
            self._seen.add(name)
            self._write("carrier", name)

    def _room(self, code: CodeType) -> str:
        """The folder of the core, or the front end; what lies at the top of the core is a room of its own."""
        parts = code.co_filename.removeprefix(self._root).split(os.sep)
        return parts[2] if parts[0] == "core" else parts[0]

    def _is_imported(self, frame: FrameType | None) -> bool:
        """Whether a frame runs because one of our modules is being imported."""
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self._packages):
                return bool(frame.f_globals.get("__name__") != "__main__")
            frame = frame.f_back
        return False

    def _write(self, *row: object) -> None:
        kind, *rest = row
        os.write(self._log, (json.dumps([kind, os.getpid(), *rest]) + "\n").encode())


def _arguments(frame: FrameType) -> Iterator[object]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    local = frame.f_locals
    yield from (local[name] for name in names if name not in ("self", "cls") and name in local)


def _inside(value: object) -> Iterator[object]:
    """The first of a container of Python's own; what it holds is of one kind."""
    if type(value) in (list, tuple):
        yield from value[:3]  # type: ignore[index]
    elif type(value) is dict and value:
        yield from next(iter(value.items()))
