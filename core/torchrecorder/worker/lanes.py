"""Worker processes that outlive one part of the work, so that torch is imported once in a lane and not once in a part.

A lane is a thread of an executor, here or on a cluster. Its worker ends with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.util import Finalize

from torchrecorder.request import Settings
from torchrecorder.worker.client import Worker

_here = threading.local()


def open_lane(settings: Settings) -> Callable[[Sequence[str]], AbstractContextManager[Worker]]:
    """What gives a pipeline the worker of this thread."""

    def open_worker(path: Sequence[str]) -> AbstractContextManager[Worker]:
        key = (*path, settings.python, settings.memory_bytes)
        if getattr(_here, "lane", None) is None or _here.lane.key != key:
            _here.lane = _Lane(key, Worker(path, python=settings.python, memory_bytes=settings.memory_bytes))
        return nullcontext(_here.lane.worker)

    return open_worker


class _Lane:
    """A worker that ends when nobody holds the lane, or with the process, also with one that an executor forked."""

    def __init__(self, key: tuple[object, ...], worker: Worker) -> None:
        self.key = key
        self.worker = worker
        Finalize(self, worker.__exit__, (None, None, None), exitpriority=0)
