"""`torchrecorder doctor`: the facts that a bug report needs first."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from torchrecorder import __version__
from torchrecorder.cli.projects import checked
from torchrecorder.cli.shared import FAILED, Commands, add_command, add_json, add_setting, print_json
from torchrecorder.engine import find_engine
from torchrecorder.errors import EngineNotFound
from torchrecorder.installation import legacy_install
from torchrecorder.pipeline.collecting import Collected, collect
from torchrecorder.request import RecordingRequest, Settings
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.worker.client import Worker


def add_to(commands: Commands) -> None:
    parser = add_command(
        commands,
        "doctor",
        run,
        help="check that everything needed is installed",
        description="Check versions, layout engine, worker and cache, and say what is wrong with them. With DOCS, check"
        " them as its\nconfiguration has them, and print the folders of the models that it draws, as options for"
        " sphinx-autobuild.",
    )
    parser.add_argument("docs", nargs="?", metavar="DOCS", help="folder of conf.py or mkdocs.yml, or such a file")
    add_setting(parser, "python", "PYTHON")
    help_ = "the cache (default: that of DOCS, or .torchrecorder)"
    parser.add_argument("--cache", default="", metavar="FOLDER", help=help_)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    nothing = Collected(Settings.for_project(Path.cwd()), ())
    collected = nothing if arguments.docs is None else collect(Path(arguments.docs))
    settings = collected.settings
    cache = Path(arguments.cache).absolute() if arguments.cache else settings.cache
    settings = replace(settings, cache=cache, python=arguments.python or settings.python)
    findings: list[_Finding] = []
    for finding in _findings(settings, collected):
        findings.append(finding)
        if not arguments.json:
            print(f"{'ok   ' if finding.is_good else 'WRONG'} {finding.text}")
    folders = [os.path.relpath(folder) for folder in watched(collected)]
    is_good = all(finding.is_good for finding in findings)
    if arguments.json:
        rows = [{"about": finding.about, "ok": finding.is_good, "text": finding.text} for finding in findings]
        print_json({"ok": is_good, "findings": rows, "watch": folders})
    else:
        for folder in folders:
            print(f"--watch {shlex.quote(folder)}")
    return 0 if is_good else FAILED


def watched(collected: Collected) -> list[Path]:
    """The folders and files, outside of what is installed, that the models of a documentation are imported from."""
    finder = ModuleFinder(collected.settings.path)
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    places: set[Path] = set()
    for name in {request.recording.root_module() for request in collected.requests}:
        if (file := finder.file(name)) is not None:
            place = file.parent if finder.is_package(name) else file
            if not any(place.is_relative_to(folder) for folder in installed):
                places.add(place)
        else:  # a namespace package has folders alone
            places.update(place / name for place, is_folder in finder.anchors(name) if is_folder)
    return sorted(places)


class _Finding(NamedTuple):
    about: str
    text: str
    is_good: bool = True


def _findings(settings: Settings, collected: Collected) -> Iterator[_Finding]:
    machine = f"Python {platform.python_version()}, {platform.platform(terse=True)}"
    yield _Finding("torchrecorder", f"torchrecorder {__version__}, {machine}")
    for name in ("sphinx", "mkdocs"):
        with suppress(PackageNotFoundError):
            yield _Finding(name, f"{name} {version(name)}")
    if legacy := legacy_install():
        yield _Finding("install", legacy, False)
    try:
        yield _Finding("engine", f"layout engine: {find_engine('auto').identity}")
    except EngineNotFound as error:
        yield _Finding("engine", str(error), False)
    wanted = checked(replace(collected, settings=settings))[0] if collected.requests else []
    n_fresh = sum(not row.is_wrong for row in wanted)
    with Worker.of(settings) as worker:
        answer = worker.record(RecordingRequest("torch.nn.Linear(3, 4)", "1,3"), timeout_s=60)
    if answer.error is not None:
        serves = "; it is not needed, because all that is drawn is recorded" if n_fresh == len(wanted) > 0 else ""
        details = "" if serves else f"\n{answer.error.details()}".rstrip()
        yield _Finding("worker", f"worker: {answer.error}{serves}{details}", bool(serves))
    else:
        assert answer.trace is not None
        torch = answer.trace.distributions["torch"]
        yield _Finding("worker", f"worker: {settings.python or sys.executable} records, torch {torch}")
    for name, folder in (("cache", settings.cache), ("committed cache", settings.committed)):
        if folder is not None:
            yield _Finding(name, f"{name}: {_held(folder)}")
    if wanted:
        yield _Finding("recordings", f"recordings: {n_fresh} of {len(wanted)} are there and up to date")


def _held(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder.name} does not exist yet"
    counts = {kind: sum(1 for _ in (folder / kind).glob("*/*")) for kind in ("rec", "fail", "ren", "obj")}
    text = f"{counts['rec']} recordings, {counts['ren']} drawings, {counts['obj']} objects"
    return text + (f", {counts['fail']} failures" if counts["fail"] else "")
