"""Source to Graph: the kept Graph of a model while its code is as it was, else a new recording."""

from __future__ import annotations

import hashlib
import re
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from torchrecorder.diagram.finder import ModuleFinder
from torchrecorder.diagram.manifest import Freshness, Manifest
from torchrecorder.diagram.store import Store
from torchrecorder.diagram.worker import Answer, Worker
from torchrecorder.errors import FormatError, TorchRecorderError
from torchrecorder.graph import Graph, from_json
from torchrecorder.request import RecordingRequest


@dataclass(slots=True)
class Recording:
    """What is known of the Graph of one request."""

    digest: str = ""
    """Hash of the Graph's JSON; empty if there is none."""
    text: bytes | None = None
    """The JSON itself, once somebody needed it."""
    error: TorchRecorderError | None = None
    """Why there is no Graph, or only the part of one that ran."""
    sources: tuple[Path, ...] = ()

    def graph(self) -> Graph:
        """The Graph, from its text.

        Raises:
            FormatError: There is no text, or it is no Graph.
        """
        if self.text is None:
            raise FormatError("a Graph of the cache", f"the object {self.digest} is missing or damaged")
        return from_json(self.text)


class Recordings:
    """Finds and makes recordings for one build."""

    def __init__(
        self,
        store: Store,
        path: Sequence[str],
        open_worker: Callable[[Sequence[str]], AbstractContextManager[Worker]],
    ) -> None:
        self._store = store
        self._path = path
        self._open_worker = open_worker
        self._freshness = Freshness(ModuleFinder(path))

    def kept(self, request: RecordingRequest) -> Recording | None:
        """The kept recording; None if there is none or its sources have changed."""
        manifest = Manifest.from_json(self._store.entry("rec", request.key()))
        if manifest is None or self._freshness.why_stale(manifest):
            return None
        return Recording(manifest.graph, sources=self._freshness.files(manifest))

    def make(
        self, requests: Mapping[RecordingRequest, float], on_each: Callable[[str, int, int], None]
    ) -> dict[RecordingRequest, Recording]:
        """New recordings.

        Args:
            requests: The requests, each with its time-out in seconds.
            on_each: Called before each with its target, how many are done, and how many there are.
        """
        made: dict[RecordingRequest, Recording] = {}
        if not requests:
            return made
        with self._open_worker(self._path) as worker:
            for request, timeout_s in requests.items():
                on_each(request.target, len(made), len(requests))
                made[request] = self._keep(worker.record(request, timeout_s=timeout_s))
        return made

    def load(self, recording: Recording) -> bool:
        """Have the text of a Graph at hand; False if the cache has lost it."""
        if recording.text is None:
            recording.text = self._store.object(recording.digest)
        return recording.text is not None

    def _keep(self, answer: Answer) -> Recording:
        sources = tuple(map(Path, answer.dependencies.get("files", ())))
        if answer.graph is None:
            return Recording(error=answer.error, sources=(*sources, *_files_of(answer.error)))
        text = answer.graph.encode()
        digest = hashlib.sha256(text).hexdigest()
        if answer.error is None:  # what failed half-way is shown once and tried again
            self._store.put_object(text)
            facts = {name: answer.dependencies[name] for name in ("modules", "distributions")}
            self._store.put_entry("rec", answer.request.key(), Manifest(digest, **facts).to_json())
        return Recording(digest, text, answer.error, sources)


_FRAME = re.compile(r'^ *File "(.+)", line \d', re.MULTILINE)
_NOT_THE_USERS = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
_OURS = Path(__file__).parents[1]


def _files_of(error: TorchRecorderError | None) -> tuple[Path, ...]:
    """The user's files in the traceback of an error.

    A module that raises when it is imported is not among the modules, and a server must watch it for being mended.
    """
    named = map(Path, _FRAME.findall(error.details() if error else ""))
    return tuple(
        file
        for file in dict.fromkeys(named)
        if not any(file.is_relative_to(folder) for folder in (*_NOT_THE_USERS, _OURS)) and file.is_file()
    )
