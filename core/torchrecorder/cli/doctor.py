"""`torchrecorder doctor`: what a person who asks for help is asked first."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from torchrecorder import __version__
from torchrecorder.cli.shared import FAILED, Commands
from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineNotFound, TorchMissing
from torchrecorder.old import old_distribution
from torchrecorder.request import RecordingRequest, Settings
from torchrecorder.worker.client import Worker


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "doctor",
        help="tell whether all that is needed is there",
        description="Tell versions, layout engine, worker and cache, and what is wrong with them.",
        allow_abbrev=False,
    )
    parser.add_argument("--python", default="", help="the Python that records, if it is another")
    parser.add_argument("--cache", default="", metavar="FOLDER", help="the cache (default: .torchrecorder)")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Tell, and give the exit status: 1 if something is wrong."""
    settings = Settings.for_project(Path.cwd(), cache=arguments.cache, python=arguments.python)
    findings = [*_versions(), _engine(), _worker(settings), *_caches(settings)]
    for is_good, what in findings:
        print(f"{'ok   ' if is_good else 'WRONG'} {what}")
    return 0 if all(is_good for is_good, _ in findings) else FAILED


def _versions() -> Iterator[tuple[bool, str]]:
    yield True, f"torchrecorder {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    for name in ("sphinx", "mkdocs"):
        if (version := _version(name)) is not None:
            yield True, f"{name} {version}"
    if old := old_distribution():
        yield False, old


def _engine() -> tuple[bool, str]:
    try:
        return True, f"layout engine: {find_engine('auto').identity}"
    except EngineNotFound as error:
        return False, str(error)


def _worker(settings: Settings) -> tuple[bool, str]:
    """Whether models can be recorded, proved with a small one of torch's own."""
    with Worker(settings.path, python=settings.python, memory_bytes=settings.memory_bytes) as worker:
        answer = worker.record(RecordingRequest("torch.nn.Linear(3, 4)", "1,3"), timeout_s=60)
    if isinstance(answer.error, TorchMissing):
        return False, f"worker: {answer.error}"
    if answer.error is not None:
        return False, f"worker: {answer.error}\n{answer.error.details()}"
    assert answer.trace is not None
    torch = answer.trace.distributions["torch"]
    return True, f"worker: {settings.python or sys.executable} records, torch {torch}"


def _caches(settings: Settings) -> Iterator[tuple[bool, str]]:
    if not settings.cache.is_dir():
        yield True, f"cache: {settings.cache.name} is not there yet"
        return
    counts = {shelf: sum(1 for _ in (settings.cache / shelf).glob("*/*")) for shelf in ("rec", "ren", "obj")}
    yield True, f"cache: {counts['rec']} recordings, {counts['ren']} drawings, {counts['obj']} objects"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
