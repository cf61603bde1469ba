"""The requests of a whole documentation project, found by letting its own tool read it.

`TORCHRECORDER_COLLECT` names a file. While it is set, a pipeline draws nothing: it writes there what it was asked for.
So a command learns what Sphinx or MkDocs would ask, with its settings, extensions and macros, and needs none of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from torchrecorder.errors import CollectFailed
from torchrecorder.request import DiagramRequest, DrawingOptions, RecordingRequest
from torchrecorder.request.settings import CACHE_FOLDER, Settings

VARIABLE = "TORCHRECORDER_COLLECT"
_CONFIGURATIONS = ("conf.py", "mkdocs.yml", "mkdocs.yaml")
_SUFFIXES = {Path(name).suffix for name in _CONFIGURATIONS}
_ERROR = re.compile(r"ERROR\b|[\w.]*(Error|Exception)\b")
_NOT_IMPORTED = re.compile(r"autodoc: failed to import ([^;\n\[]+)")
_PATHS = ("cache", "committed", "project")


@dataclass(frozen=True, slots=True)
class Collected:
    settings: Settings
    requests: tuple[DiagramRequest, ...]
    retries: bool = False
    """Whether what failed before is tried again, though nothing that it read has changed."""
    asks_hub: bool = False
    """Whether the hub is asked if it has another commit of what is shown."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """The variables that its configuration sets, as `conf.py` may; None for one that it removes."""
    remark: str = ""
    """Warning of how the requests were found."""

    @contextmanager
    def as_in_a_build(self) -> Iterator[None]:
        """Have this process see the variables that a build of the project sees."""
        before = {name: os.environ.get(name) for name in self.environment}
        _set(self.environment)
        try:
            yield
        finally:
            _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def collect(docs: Path) -> Collected:
    """Requests of the documentation in a folder, or of a configuration file.

    Raises:
        CollectFailed: There is no documentation, its tool failed, or it asked for nothing.
    """
    configuration = configuration_of(docs)
    if configuration is None:
        raise CollectFailed(str(docs), f"there is none of {', '.join(_CONFIGURATIONS)}")
    if configuration.suffix not in _SUFFIXES:
        raise CollectFailed(str(docs), "it is not a configuration file; leave out DOCS for pictures in files")
    with tempfile.TemporaryDirectory(prefix="torchrecorder-") as scratch:
        collected = Path(scratch, "requests.jsonl")
        environment = {**os.environ, VARIABLE: str(collected), "NO_MKDOCS_2_WARNING": "1"}
        command = _command(configuration, Path(scratch))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if not collected.exists():
            lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            reason = "\n".join([line for line in lines if _ERROR.match(line)][-3:] or lines[-5:])
            raise CollectFailed(str(docs), reason if done.returncode else "it has no diagrams, or not our extension")
        rows = [json.loads(line) for line in collected.read_text(encoding="utf-8").splitlines()]
        is_passing = Path(rows[0]["settings"]["cache"]).resolve().is_relative_to(Path(scratch).resolve())
    requests = [_request_from_json(request) for row in rows for request in row["requests"]]
    plain: dict[str, Any] = rows[0]["settings"]
    paths = {name: Path(plain[name]) for name in _PATHS if plain[name] is not None}
    settings = Settings(**{**plain, "path": tuple(plain["path"]), "allow": tuple(plain["allow"]), **paths})
    if is_passing:  # Sphinx keeps it beside its doctrees, and where those of its own builds lie is not known
        settings = replace(settings, cache=settings.root / CACHE_FOLDER)
    ours = {VARIABLE, "NO_MKDOCS_2_WARNING"}
    now: dict[str, str] = rows[0]["environment"]
    changed = {name: now.get(name) for name in {*now, *environment} - ours if now.get(name) != environment.get(name)}
    return Collected(settings, tuple(dict.fromkeys(requests)), environment=changed, remark=_unseen(done.stderr))


def configuration_of(docs: Path) -> Path | None:
    """The file that configures the documentation in a folder, which MkDocs keeps one folder up; None without one."""
    if docs.is_file():
        return docs
    places = [*(docs / name for name in _CONFIGURATIONS)]
    if docs.is_dir():
        places += [docs.absolute().parent / name for name in _CONFIGURATIONS if name != "conf.py"]
    return next((file for file in places if file.is_file()), None)


def write_requests(file: str, settings: Settings, requests: Sequence[DiagramRequest]) -> None:
    """Write down what a pipeline is asked for, as one line."""
    named = {one.name: getattr(settings, one.name) for one in fields(settings)}
    del named["rules"]  # which have become requests
    plain = {key: os.path.abspath(value) if isinstance(value, Path) else value for key, value in named.items()}
    row = {
        "settings": {**plain, "options": dict(settings.options)},
        "requests": [asdict(request) for request in requests],
        "environment": {**os.environ},
    }
    with open(file, "a", encoding="utf-8") as collected:
        collected.write(json.dumps(row) + "\n")


def _command(configuration: Path, scratch: Path) -> list[str]:
    if configuration.name == "conf.py":
        places = ["-d", str(scratch / "trees"), str(configuration.parent), str(scratch / "out")]
        return [sys.executable, "-m", "sphinx", "-b", "html", "-q", *places]  # what is `only:: html` counts
    return [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(configuration), "-d", str(scratch / "site")]


def _unseen(log: str) -> str:
    """Warning for autodoc targets that failed to import; empty if there are none."""
    names = ", ".join(dict.fromkeys(name.strip() for name in _NOT_IMPORTED.findall(log)))
    advice = 'where torch is not installed, write autodoc_mock_imports = ["torch"] in conf.py'
    return (
        f"autodoc could not import {names}, so diagrams of what is in them are not counted; {advice}" if names else ""
    )


def _request_from_json(data: Mapping[str, Any]) -> DiagramRequest:
    drawing: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data["drawing"].items()
    }
    return DiagramRequest(
        RecordingRequest.from_json(data["recording"]),
        DrawingOptions(**drawing),
        timeout_s=data["timeout_s"],
        **{name: data[name] for name in ("pattern", "is_tried", "is_ranked", "defined")},
    )
