"""Workers that last longer than a build: of a server, of a process that does not know its last page, of a thread."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from torchrecorder.cache.index import stamp_of
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
        self._held: list[Worker] = []
        self._made_for: object = None

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Worker]:
        made_of = settings.path, settings.python, settings.memory_bytes, settings.jobs, settings.allow
        folders = [folder for folder in (*settings.path, *sys.path) if folder.rstrip(os.sep).endswith("-packages")]
        now = made_of, {folder: stamp_of(folder) for folder in folders if os.path.isdir(folder)}
        if not self._held or not self._held[0].is_running or now != self._made_for:
            self.close()
            self._held.append(Worker.of(settings))
            self._made_for = now
        yield self._held[0]

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

    @staticmethod
    def of_thread(settings: Settings) -> AbstractContextManager[Worker]:
        """The one worker of this thread, so that a thread of an executor imports torch once.

        It ends with the thread, or with the process, also with one that an executor forked.
        """
        lasting: PersistentWorker | None = getattr(_here, "lasting", None)
        if lasting is None:
            # `weakref.finalize` needs atexit, which children of multiprocessing skip.
            from multiprocessing.util import Finalize

            lasting = _here.lasting = PersistentWorker()
            Finalize(lasting, _close, (lasting._held,), exitpriority=0)
        return lasting.open(settings)

    def close(self) -> None:
        _close(self._held)


_of_process: dict[int, PersistentWorker] = {}
_turn = threading.Lock()
_here = threading.local()


def _close(held: list[Worker]) -> None:
    while held:
        held.pop().close()
