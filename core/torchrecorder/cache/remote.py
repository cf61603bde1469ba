"""A cache that a team shares behind a URL. It saves time, is never needed, and is never trusted.

A process of its own connects to it (`remote_process`). After the first error or time-out the build no longer uses it,
because a network that is slow for one file is slow for a thousand; the build goes on as if none were configured.
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
from urllib.parse import parse_qsl, unquote, urlsplit

from torchrecorder.cache.store import (
    OBJECTS,
    Entry,
    Kind,
    divided,
    entry_name,
    entry_of,
    entry_text,
    object_name,
    object_of,
    packed,
)
from torchrecorder.errors import FormatError, shown_text
from torchrecorder.processes import LineProcess, import_path, tail

_START_TIMEOUT_S = 30.0  # for a Python that imports fsspec and the library of the protocol, on a busy machine
_SECRETS = re.compile(r"(?<=://)[^/@]*@|[?#].*")
_ADDRESS = re.compile(r"\w[\w+.-]*://[^\s'\"<>]*")
_SHORTEST = 4
"""Characters of a value in the address that may be a secret; the `1` of `?v=1` is not, and stands in every text."""
_PACKAGE = Path(__file__).resolve().parents[1]
_OURS = re.compile("No module named 'fsspec'|\"aiohttp\"")


class Remote:
    """The shared cache of one build. Not thread-safe."""

    def __init__(self, url: str, *, timeout_s: float = 10.0, patience_s: float = 120.0) -> None:
        self._url = url
        self._timeout_s = timeout_s  # for one file
        self._patience_s = patience_s  # for all files of a build together
        self._process: LineProcess | None = None
        self._log: Path | None = None
        self._entries: dict[str, Entry | None] = {}
        self._is_written = True
        self.behind: dict[str, bytes] = {}
        """The objects that came with entries, by their hashes."""
        self.problem = ""
        """What is wrong with the installation or the setting, which a user can put right: worth a warning."""
        self.notice = ""
        """What went wrong on the way, though nothing is wrong here; worth a line in the log."""

    def entry(self, kind: Kind, key: str) -> Entry | None:
        name = entry_name(kind, key)
        if name not in self._entries:
            data = self._read(name)
            self._entries[name] = entry = entry_of(data)
            digest = "" if entry is None else str(entry.get(OBJECTS[kind]))
            if (found := self._object(name, divided(data or b"")[1], digest)) is not None:
                self.behind[digest] = found
        return self._entries[name]

    def asked(self, kind: Kind, key: str) -> Entry | None:
        return self._entries.get(entry_name(kind, key))

    def object(self, digest: str) -> bytes | None:
        name = object_name(digest)
        return None if name is None else self._object(name, self._read(name), digest)

    def _object(self, name: str, data: bytes | None, digest: str) -> bytes | None:
        try:
            return object_of(data, digest)
        except FormatError as error:
            self.notice = self.notice or f"{name} of the remote cache {self._shown()} is not used: {error}"
            return None

    def put_entry(self, kind: Kind, key: str, entry: Entry, data: bytes) -> None:
        self._entries.pop(entry_name(kind, key), None)
        self._write(entry_name(kind, key), entry_text(entry) + packed(data))

    def put_object(self, digest: str, data: bytes) -> None:
        if (name := object_name(digest)) is not None:
            self._write(name, packed(data))

    def close(self) -> None:
        if self._process is not None:
            self._process.end(grace_s=0.2)
            self._process = None
        if self._log is not None:
            self._log.unlink(missing_ok=True)
            self._log = None

    def _read(self, name: str) -> bytes | None:
        answer = self._ask({"read": name})
        if "error" in answer:
            self._give_up(f"cannot read {name}: {self._without_secrets(str(answer['error']))}")
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
            why = self._without_secrets(str(answer["error"]))
            self.notice = self.notice or f"the remote cache {self._shown()} cannot be written to: {why}"

    def _ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The answer; empty once it has been given up."""
        if self.problem or self._patience_s <= 0:
            return {}
        start = time.monotonic()
        try:
            if (process := self._started()) is not None:
                process.send(job)
                return process.next(min(self._timeout_s, self._patience_s))
        except TimeoutError:
            self._give_up("no answer in time")
        except (EOFError, FormatError, OSError):
            words = "" if self._log is None else tail(self._log).rpartition("\n")[2]
            self._give_up(self._without_secrets(words) or "the process that connects to it ended")
        finally:
            self._patience_s -= time.monotonic() - start
        return {}

    def _started(self) -> LineProcess | None:
        """The process; None if it cannot serve, which is the problem then."""
        if self._process is not None:
            return self._process
        handle, log = tempfile.mkstemp(prefix="torchrecorder-")
        os.close(handle)
        self._log = Path(log)
        self._process = LineProcess(
            [sys.executable, "-P", "-m", "torchrecorder.cache.remote_process", self._url],
            {**os.environ, "PYTHONPATH": import_path(str(_PACKAGE.parent))},
            self._log,
        )
        greeting = self._process.next(_START_TIMEOUT_S)
        if "cannot" not in greeting:
            return self._process
        cause = self._without_secrets(str(greeting["cannot"]))
        hint = 'install the extra "remote": pip install "torchrecorder-docs[remote]"' if _OURS.search(cause) else ""
        self.problem = f"cannot use the remote cache {self._shown()}: {cause}" + (f"; {hint}" if hint else "")
        self.close()
        return None

    def _give_up(self, why: str) -> None:
        self.notice = f"the remote cache {self._shown()} is not used in this build: {why}"
        self._patience_s = 0
        self.close()

    def _shown(self) -> str:
        return _SECRETS.sub("", self._url)

    def _without_secrets(self, text: str) -> str:
        """Text of a library or a server, without the parts of the address other than host and path."""
        shown = text
        url = urlsplit(self._url)
        parts = {url.query, url.fragment, url.username or "", url.password or "", *dict(parse_qsl(url.query)).values()}
        for part in sorted({*parts, *map(unquote, parts)}, key=len, reverse=True):
            if len(part) >= _SHORTEST:
                shown = shown.replace(part, "…")
        return shown_text(_ADDRESS.sub(lambda found: _SECRETS.sub("", found[0]), shown))
