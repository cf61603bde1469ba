"""Workers that answer without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from torchrecorder.errors import TorchMissing
from torchrecorder.request import RecordingRequest
from torchrecorder.worker.client import Request, RequestT, Worker
from torchrecorder.worker.messages import Answer


class OneByOne(Worker):
    """Answers each request by its method `record`, which is to be written."""

    def record_all(
        self,
        requests: Mapping[RequestT, float],
        on_start: Callable[[RequestT], object] = lambda request: None,
    ) -> Iterator[tuple[RequestT, Answer]]:
        for request, timeout_s in requests.items():
            on_start(request)
            assert isinstance(request, RecordingRequest)
            yield request, self.record(request, timeout_s=timeout_s)


class NoTorch(OneByOne):
    def record(self, request: Request, *, timeout_s: float) -> Answer:
        return Answer(error=TorchMissing(request.target, "python"))
