"""What a user's styler answers for a picture, asked in a process of its own.

A styler often lives beside the model, so importing it imports torch, which a documentation build must not; and a styler
that hangs or prints must not stop or disturb the build either. The answer is plain data and is checked on this side.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from torchrecorder.errors import LOG_LIMIT, StylerError, shown_text
from torchrecorder.line_process import tail
from torchrecorder.request import Settings, parse_target
from torchrecorder.trace.digests import source_digest
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.worker.interpreter import environment, foreign_path

if TYPE_CHECKING:
    from torchrecorder.drawing.styler import StylerInput
    from torchrecorder.layout.model import Styles

TIMEOUT_S = 120.0
"""Importing a styler may import torch."""


def source_of(styler: str, finder: ModuleFinder) -> str:
    """The digest of the file that the styler is written in; empty if there is none."""
    parts = parse_target(styler).dotted.split(".")
    names = [".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
    return next((digest for name in names if (digest := _digest(name, finder))), "")


def modules_changed(modules: object, finder: ModuleFinder) -> bool:
    """Whether any module that a styler's process had imported is not as it was."""
    if not isinstance(modules, dict):
        return True
    return any(not digest or _digest(str(name), finder) != digest for name, digest in modules.items())


def _digest(module: str, finder: ModuleFinder) -> str:
    try:
        file = finder.file(module)
        return "" if file is None else source_digest(file.read_bytes())
    except (OSError, ValueError):
        return ""


def styles_by(styler: object, given: StylerInput) -> Styles:
    from torchrecorder.drawing.styler import StylerRaised, run_styler

    name = f"{getattr(styler, '__module__', '')}.{getattr(styler, '__qualname__', type(styler).__qualname__)}"
    try:
        answer = run_styler(styler, given)
    except StylerRaised as error:
        raise StylerError(name, (error.reason,), error.trace) from error
    return _checked(name, answer, given)


def styles_by_name(
    styler: str,
    given: Sequence[StylerInput],
    settings: Settings,
    timeout_s: float = TIMEOUT_S,
    on_modules: Callable[[str, Mapping[str, str]], None] | None = None,
) -> list[Styles | StylerError]:
    """What the styler of a dotted name answers for each picture, or why there is no answer.

    One process is asked about all of them, because importing a styler may import torch; `timeout_s` is for all of that.
    `on_modules` gets the styler and the digests of the user's modules that the process imported, by name.
    """
    job = {
        "styler": styler,
        "path": list(settings.path) if not settings.python else foreign_path(settings.path),
        "allow": settings.allow,
        "pictures": [asdict(picture) for picture in given],
    }
    try:
        answers, modules = _asked(styler, json.dumps(job), settings.python, timeout_s)
        if on_modules is not None:
            on_modules(styler, modules)
    except StylerError as error:
        return [error] * len(given)
    found: list[Styles | StylerError] = []
    for answer, picture in zip(answers, given, strict=True):
        rows = answer if isinstance(answer, dict) else {}
        try:
            if "reason" in rows:
                raise StylerError(
                    styler, (shown_text(str(rows["reason"])),), shown_text(str(rows.get("trace", "")), LOG_LIMIT)
                )
            found.append(_checked(styler, rows.get("styles"), picture))
        except StylerError as error:
            found.append(error)
    return found


def _checked(name: str, answer: object, given: StylerInput) -> Styles:
    from torchrecorder.drawing.styles import check_styles

    styles, problems = check_styles(answer, given)
    if problems:
        raise StylerError(name, tuple(problems))
    return styles


def _asked(styler: str, job: str, python: str, timeout_s: float) -> tuple[list[object], dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="torchrecorder-") as folder:
        answer, log = Path(folder, "answer.json"), Path(folder, "log")
        with log.open("wb") as output:
            command = [python or sys.executable, "-P", "-m", "torchrecorder.drawing.styler_child", str(answer)]
            ending = _run(command, environment(python, Path(folder)), job, output, timeout_s)
        printed = tail(log)
        try:
            found = json.loads(answer.read_bytes())
            return list(found["answers"]), dict(found["modules"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StylerError(styler, (ending or "its process returned no answer",), shown_text(printed)) from error


def _run(command: list[str], variables: dict[str, str], job: str, output: BinaryIO, timeout_s: float) -> str:
    from torchrecorder.engine.process import kill_group

    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
    except OSError as error:
        return f"{command[0]} cannot be started: {error.strerror or error}"
    try:
        process.communicate(job.encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return f"it took longer than {timeout_s:g} s"
    finally:
        kill_group(process)
    return f"its process ended with status {process.returncode}" if process.returncode else ""
