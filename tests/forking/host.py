"""A Python that has imported what a kind of process needs, and forks itself for each: `host.py KIND ADDRESS`.

It imports and never computes, so that a fork of it is what a new process is after its first imports. A fork has the
directory, the variables, the import path and the pipes of the stub that asked; it is killed when the stub is.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import locale
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.forking.client import divert  # a fork may have no path to it


def _worker() -> None:
    for name in ("torch", "torchrecorder.worker.serving"):
        importlib.import_module(name)
    from torchrecorder.trace.trace import distribution_names

    distribution_names()


def _sphinx() -> None:
    for name in ("application", "builders.html", "cmd.build", "environment", "ext.autodoc", "util.parallel"):
        importlib.import_module(f"sphinx.{name}")
    importlib.import_module("sphinx_torchrecorder.extension")


def _mkdocs() -> None:
    importlib.import_module("mkdocs.commands.build")


def _apart() -> None:
    for name in ("drawing.draw", "drawing.model", "engine", "graph"):
        importlib.import_module(f"torchrecorder.{name}")


def _remote() -> None:
    importlib.import_module("fsspec.implementations.http")


IMPORTS: dict[str, Callable[[], None]] = {
    "torchrecorder.worker.server": _worker,
    "torchrecorder.drawing.apart": _apart,
    "torchrecorder.cache.remote_process": _remote,
    "sphinx": _sphinx,
    "mkdocs": _mkdocs,
}
"""What is imported before the forks, by the module that they run."""


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    stub: socket.socket


def main(kind: str, address: str) -> None:
    """Serve until the standard input closes; in a fork, run what was asked."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}.new")
        listener.listen(64)
        os.rename(f"{address}.new", address)  # a stub that sees the address is not refused
        own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = [entry for entry in sys.path if entry not in own]
        IMPORTS[kind]()
        gc.collect()
        gc.freeze()
        job = _serve(listener)
    _become(job, path)


def _serve(listener: socket.socket) -> dict[str, Any]:
    """Fork for each stub; returns in the forks only, with the job."""
    with selectors.DefaultSelector() as events:
        events.register(listener, selectors.EVENT_READ)
        events.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in events.select():
                if key.fd == 0:
                    _end(events)
                elif key.data is None:
                    if job := _fork(listener, events):
                        return job
                elif isinstance(key.fileobj, socket.socket):  # its stub was killed
                    events.unregister(key.fileobj)
                    _kill(key.data)
                else:
                    events.unregister(key.fileobj)
                    os.close(key.fd)
                    _report(key.data, events)


def _fork(listener: socket.socket, events: selectors.BaseSelector) -> dict[str, Any] | None:
    """The job, in the fork; nothing in the host."""
    stub, _ = listener.accept()
    text, descriptors, _, _ = socket.recv_fds(stub, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += stub.recv(1 << 16)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for place, descriptor in enumerate(descriptors):
            os.dup2(descriptor, place)
            os.close(descriptor)
        for key in events.get_map().values():
            if isinstance(key.data, _Child):
                key.fileobj.close() if isinstance(key.fileobj, socket.socket) else os.close(key.fd)
        stub.close()
        return dict(json.loads(text))
    for descriptor in descriptors:
        os.close(descriptor)
    child = _Child(pid, stub)
    events.register(stub, selectors.EVENT_READ, child)
    events.register(os.pidfd_open(pid), selectors.EVENT_READ, child)
    return None


def _report(child: _Child, events: selectors.BaseSelector) -> None:
    """Tell the stub how its fork ended."""
    _, status = os.waitpid(child.pid, 0)
    with suppress(KeyError):
        events.unregister(child.stub)
    with child.stub, suppress(OSError):
        child.stub.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _kill(child: _Child) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(events: selectors.BaseSelector) -> None:
    for key in events.get_map().values():
        if isinstance(key.data, _Child):
            _kill(key.data)
    os._exit(0)


def _become(job: dict[str, Any], path: list[str]) -> None:
    """Be the process that was asked for."""
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    with suppress(locale.Error):
        locale.setlocale(locale.LC_CTYPE, "")
    options, module, *arguments = _split(job["command"])
    sys.orig_argv = [sys.executable, *job["command"]]
    sys.argv = [module, *arguments]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    first = [] if "-P" in options else [job["cwd"]]
    sys.path[:] = [*first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *path]
    importlib.invalidate_caches()
    for name in ("sitecustomize", "tests", "tests.forking", "tests.forking.client"):  # a project may have its own
        sys.modules.pop(name, None)
    if importlib.util.find_spec("sitecustomize"):
        importlib.import_module("sitecustomize")
    if module in ("sphinx", "mkdocs"):
        divert(None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _split(command: list[str]) -> tuple[list[str], str, *tuple[str, ...]]:
    place = command.index("-m")
    return command[:place], command[place + 1], *command[place + 2 :]


if __name__ == "__main__":
    main(*sys.argv[1:])
