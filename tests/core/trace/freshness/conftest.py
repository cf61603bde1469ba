"""Projects that are built, edited and built again; one process records for all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from torchrecorder.page import Diagram
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
from torchrecorder.trace.freshness import Finding
from torchrecorder.worker.client import RequestT, Worker
from torchrecorder.worker.messages import Answer


class SharedWorker(Worker):
    """Counts its jobs."""

    jobs = 0

    def record_all(
        self,
        requests: Mapping[RequestT, float],
        on_start: Callable[[RequestT], object] = lambda request: None,
    ) -> Iterator[tuple[RequestT, Answer]]:
        self.jobs += len(requests)
        return super().record_all(requests, on_start)

    def open(self, settings: Settings) -> AbstractContextManager[Worker]:
        self._path = list(settings.path)
        return nullcontext(self)


class Project:
    """A folder with models; `path` is where they are imported from."""

    def __init__(self, root: Path, worker: SharedWorker) -> None:
        self.root = root
        self.worker = worker
        self.path = ["src"]

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new))

    def move(self, to: Path) -> None:
        self.root.rename(to)
        self.root = to

    def settings(self, cache: str = "") -> Settings:
        return Settings.for_project(self.root, path=self.path, machine_cache=cache)

    def draw(self, target: str = "pkg.Net", cache: str = "", **options: str) -> tuple[Diagram, int]:
        """The diagram as a build shows it, and how many recordings that took."""
        before = self.worker.jobs
        request = read_request(target, {"shape": "1,3", **options})
        outcome = Pipeline(self.settings(cache), self.worker.open).run([request])[request]
        assert outcome.error is None, outcome.error.details() or outcome.error
        assert outcome.diagram is not None
        return outcome.diagram, self.worker.jobs - before

    def truth(self, target: str = "pkg.Net", **options: str) -> Diagram:
        """The diagram as it is without any cache."""
        shutil.rmtree(self.root.parent / "truth", ignore_errors=True)
        return self.draw(target, cache="../truth", **options)[0]

    def finding(self, target: str = "pkg.Net", **options: str) -> Finding:
        recordings = Pipeline(self.settings(), self.worker.open).recordings()
        return recordings.look(read_request(target, {"shape": "1,3", **options}).recording)[1]


@pytest.fixture(scope="session")
def shared_worker() -> Iterator[SharedWorker]:
    worker = SharedWorker([])
    with worker:
        yield worker


@pytest.fixture
def make_project(tmp_path: Path, shared_worker: SharedWorker) -> Callable[..., Project]:
    def make(files: dict[str, str | bytes]) -> Project:
        project = Project(tmp_path / "project", shared_worker)
        project.write(files)
        return project

    return make
