"""A project whose builds count what they ask of the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, RecordingRequest, Settings, read_request
from torchrecorder.worker.client import RequestT, Worker
from torchrecorder.worker.messages import Answer

NET = """from torch import nn

from pip_nets.parts import WIDTH

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, WIDTH)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x))
"""


class Counted(Worker):
    """Counts what it records, and passes its process on to the next build, because importing torch takes seconds."""

    jobs = 0
    starts = 0
    _running: ClassVar[list[Worker]] = []

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.path)
        Counted.starts += 1
        if self._running:
            before = self._running.pop()
            self._process, before._process = before._process, None
            self._is_greeted = before._is_greeted
            Worker.__exit__(before, None, None, None)

    def __exit__(self, *exception: object) -> None:
        self._running.append(self)

    def record_all(
        self,
        requests: Mapping[RequestT, float],
        on_start: Callable[[RequestT], object] = lambda request: None,
    ) -> Iterator[tuple[RequestT, Answer]]:
        Counted.jobs += sum(isinstance(request, RecordingRequest) for request in requests)
        return super().record_all(requests, on_start)

    @classmethod
    def end(cls) -> None:
        while cls._running:
            Worker.__exit__(cls._running.pop(), None, None, None)


class Site:
    """A project with one package, and builds of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("__init__.py", "")
        self.write("parts.py", "WIDTH = 4\n")
        self.write("net.py", NET)
        self.write("other.py", "from torch import nn\n\nclass Other(nn.Linear):\n    pass\n")

    def write(self, name: str, text: str) -> None:
        file = self.root / "src" / "pip_nets" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / "src" / "pip_nets" / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def build(
        self, *requests: DiagramRequest, engine: str = "auto", committed: str = "", retries: bool = False
    ) -> list[Outcome]:
        """The outcomes of a build; `jobs` and `starts` say how much of the worker it needed."""
        Counted.jobs = Counted.starts = 0
        settings = Settings.for_project(self.root, path=["src"], engine=engine, cache=committed)
        outcomes = Pipeline(settings, open_worker=Counted, retries=retries).run(requests)
        return [outcomes[request] for request in requests]


def ask(target: str = "pip_nets.net.Net", shape: str = "1,3", **options: str) -> DiagramRequest:
    return read_request(target, {"shape": shape, **options} if shape else options)


def svg_of(outcome: Outcome) -> str:
    assert outcome.error is None
    assert outcome.diagram is not None
    return outcome.diagram.svg
