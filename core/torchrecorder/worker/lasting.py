"""Workers that last longer than a build: of a server, of a process that does not know its last page, of a thread."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from torchrecorder.cache.index import Stamp, stamp_of
from torchrecorder.request.settings import Settings
from torchrecorder.worker.client import Worker


class PersistentWorker:
    """Opens the same worker for one build after the other. Not thread-safe.

    For a server that builds again at every edit, because importing torch takes seconds. What lasts is the process that
    imported torch and never computes; a preloaded process with the package of the user is of one build. The worker is
    replaced when something is installed or removed where it imports from, when the settings change, and after a build
    that found no torch. It ends with the server, whose end closes its standard input.
    """

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._made_for: object = None

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Worker]:
        now = _made_of(settings, settings.path), _stamps([*settings.path, *sys.path])
        if self._worker is None or not self._worker.is_running or now != self._made_for:
            self.close()
            self._worker = Worker.of(settings)
            self._made_for = now
        yield self._worker

    @staticmethod
    @contextmanager
    def of_process(settings: Settings) -> Iterator[Worker]:
        """The one worker of this process, given to one thread at a time.

        For a caller that is made anew for each page and does not know which is the last. It ends with the process; if
        that is killed, at the end of its own input.
        """
        with _turn:
            pid = os.getpid()
            if (lasting := _of_process.get(pid)) is None:  # a forked child shares nothing with it
                lasting = _of_process[pid] = PersistentWorker()
                atexit.register(lambda: lasting.close() if os.getpid() == pid else None)
            with lasting.open(settings) as worker:
                yield worker

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


_of_process: dict[int, PersistentWorker] = {}
_turn = threading.Lock()


def _stamps(path: Sequence[str]) -> dict[str, Stamp | None]:
    installed = [folder for folder in path if folder.rstrip(os.sep).endswith("-packages") and os.path.isdir(folder)]
    return {folder: stamp_of(folder) for folder in installed}


def _made_of(settings: Settings, path: Sequence[str]) -> tuple[object, ...]:
    """Settings that a worker is made of: another one serves other settings."""
    return (*path, settings.python, settings.memory_bytes, settings.jobs, settings.allow)


_here = threading.local()


def worker_of_thread(settings: Settings) -> Callable[[Sequence[str]], AbstractContextManager[Worker]]:
    """A function that gives a pipeline the worker of this thread, so that a thread of an executor imports torch once.

    The worker ends with the thread, or with the process, also with one that an executor forked.
    """

    def open_worker(path: Sequence[str]) -> AbstractContextManager[Worker]:
        key = _made_of(settings, path)
        if getattr(_here, "opened", None) is None or _here.opened.key != key:
            _here.opened = _ThreadWorker(key, Worker.of(settings, path))
        return nullcontext(_here.opened.worker)

    return open_worker


class _ThreadWorker:
    """Ends its worker when it is collected or the process ends, however that was started."""

    def __init__(self, key: tuple[object, ...], worker: Worker) -> None:
        # `weakref.finalize` needs atexit, which children of multiprocessing skip.
        from multiprocessing.util import Finalize

        self.key = key
        self.worker = worker
        Finalize(self, worker.close, exitpriority=0)
