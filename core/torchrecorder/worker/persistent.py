"""A worker that outlives a build, for a server that builds again at every edit: importing torch takes seconds.

What lasts is the process that imported torch and never computes; a layer with the package of the user is of one build.
The process is given up when something is installed or taken away where it imports from, when the settings change, and
after a build that found no torch. It ends with the server, whose end closes its standard input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torchrecorder.request.settings import Settings
from torchrecorder.worker.client import Worker


class LastingWorker:
    """Opens the same worker for one build after the other. Not thread-safe."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._made_for: Any = None

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Worker]:
        """The worker, for a build."""
        now = (settings.path, settings.python, settings.memory_bytes, _stamps([*settings.path, *sys.path]))
        if self._worker is None or not self._worker.is_running or now != self._made_for:
            self.close()
            self._worker = Worker(settings.path, python=settings.python, memory_bytes=settings.memory_bytes)
            self._made_for = now
        yield self._worker

    def close(self) -> None:
        """End the process, if there is one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _stamps(folders: Sequence[str]) -> list[tuple[str, int]]:
    """Change when something is installed into a folder of installed packages."""
    installed = [folder for folder in dict.fromkeys(folders) if folder.rstrip(os.sep).endswith("-packages")]
    return [(folder, os.stat(folder).st_mtime_ns) for folder in installed if os.path.isdir(folder)]
