"""A cache that a team shares behind a URL. It saves time, is never needed, and is never trusted.

Another process speaks to it (`remote_process`). The first thing that goes wrong ends that for the whole build,
because a network that is slow once is slow a thousand times; a build then does what it would do without.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchrecorder.cache.store import Shelf, entry_name, entry_of, entry_text, object_name, object_of
from torchrecorder.errors import FormatError
from torchrecorder.line_process import LineProcess, import_path

_START_TIMEOUT_S = 30.0
_SECRETS = re.compile(r"(?<=://)[^/@]*@|[?#].*")
_PACKAGE = Path(__file__).resolve().parents[1]
_OURS = re.compile("No module named 'fsspec'|\"aiohttp\"")
"""Which libraries are missing where the extra helps; fsspec alone comes with torch."""


class Remote:
    """The shared cache of one build. Not thread-safe."""

    def __init__(self, url: str, *, timeout_s: float = 10.0, patience_s: float = 120.0) -> None:
        """Make it ready; nothing is started or looked up yet.

        Args:
            url: Of the cache's folder.
            timeout_s: How long one file may take.
            patience_s: How long all files of a build may take together.
        """
        self._url = url
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._process: LineProcess | None = None
        self._log: Path | None = None
        self._entries: dict[str, dict[str, Any] | None] = {}
        self._is_written = True
        self.problem = ""
        """What is wrong with the installation or the setting; to be mended, so it is worth a warning."""
        self.notice = ""
        """What went wrong on the way, though nothing is wrong here; worth a line in the log."""

    def entry(self, shelf: Shelf, key: str) -> dict[str, Any] | None:
        """The entry of that key; asked for once in a build."""
        name = entry_name(shelf, key)
        if name not in self._entries:
            self._entries[name] = entry_of(self._read(name))
        return self._entries[name]

    def known(self, shelf: Shelf, key: str) -> Mapping[str, Any] | None:
        """What `entry` gave for that key; None if it was not asked."""
        return self._entries.get(entry_name(shelf, key))

    def object(self, digest: str) -> bytes | None:
        """The object of that hash; None if there is none or it is damaged."""
        name = object_name(digest)
        return None if name is None else object_of(self._read(name), digest)

    def put_entry(self, shelf: Shelf, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry for the others of the team."""
        self._entries.pop(entry_name(shelf, key), None)
        self._write(entry_name(shelf, key), entry_text(entry))

    def put_object(self, digest: str, data: bytes) -> None:
        """Keep an object for the others of the team."""
        if (name := object_name(digest)) is not None:
            self._write(name, data)

    def close(self) -> None:
        """End the process; the next question would start it again."""
        if self._process is not None:
            self._process.end(grace_s=0.2)
            self._process = None
        if self._log is not None:
            self._log.unlink(missing_ok=True)
            self._log = None

    def _read(self, name: str) -> bytes | None:
        answer = self._ask({"read": name})
        if "error" in answer:
            self._give_up(f"cannot read {name}: {answer['error']}")
        try:
            return base64.b64decode(answer.get("data") or "", validate=True) or None
        except (ValueError, TypeError):
            return None

    def _write(self, name: str, data: bytes) -> None:
        if not self._is_written:
            return
        answer = self._ask({"write": name, "data": base64.b64encode(data).decode("ascii")})
        if "error" in answer:  # most often one that is only read from here
            self._is_written = False
            self.notice = self.notice or f"the remote cache {self._shown()} is not written: {answer['error']}"

    def _ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The answer; empty once it has been given up."""
        if self.problem or self._patience_s <= 0:
            return {}
        start = time.monotonic()
        try:
            return self._started().ask(job, min(self._timeout_s, self._patience_s)) if self._can_start() else {}
        except TimeoutError:
            self._give_up("no answer in time")
        except (EOFError, FormatError, OSError):
            self._give_up(self._last_words() or "the process that asks it ended")
        finally:
            self._patience_s -= time.monotonic() - start
        return {}

    def _can_start(self) -> bool:
        greeting = {} if self._process is not None else self._start().next(_START_TIMEOUT_S)
        if "cannot" not in greeting:
            return True
        cause = str(greeting["cannot"])
        hint = 'install the extra "remote": pip install "torchrecorder-docs[remote]"' if _OURS.search(cause) else ""
        self.problem = f"cannot use the remote cache {self._shown()}: {cause}" + (f"; {hint}" if hint else "")
        self.close()
        return False

    def _started(self) -> LineProcess:
        assert self._process is not None
        return self._process

    def _start(self) -> LineProcess:
        handle, log = tempfile.mkstemp(prefix="torchrecorder-")
        os.close(handle)
        self._log = Path(log)
        environment = {**os.environ, "PYTHONPATH": import_path(str(_PACKAGE.parent))}
        self._process = LineProcess(
            [sys.executable, "-P", "-m", "torchrecorder.cache.remote_process", self._url], environment, self._log
        )
        return self._process

    def _give_up(self, why: str) -> None:
        self.notice = f"the remote cache {self._shown()} is left aside: {why}"
        self._patience_s = 0
        self.close()

    def _last_words(self) -> str:
        if self._log is None:
            return ""
        return self._log.read_bytes()[-2000:].decode(errors="replace").strip().rpartition("\n")[2]

    def _shown(self) -> str:
        """The URL without passwords and keys."""
        return _SECRETS.sub("", self._url)
