"""A small hub on this machine: files of repositories by revision, and what the hub says of a repository."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

FIRST, SECOND = "a" * 40, "b" * 40
"""Two commits."""


@dataclass
class Hub:
    """The repositories of a hub, and the requests that it was asked."""

    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Text by path in the repository, by its name."""
    commits: dict[str, str] = field(default_factory=dict)
    """The commit of the branch `main`, where it is not the first one."""
    gated: set[str] = field(default_factory=set)
    datasets: set[str] = field(default_factory=set)
    delay_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and text for a path of an address."""
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            return self._facts(parts[1], parts[2:])
        at = parts.index("resolve")
        name, revision, file = "/".join(parts[:at]), parts[at + 1], "/".join(parts[at + 2 :])
        if name in self.gated:
            return 401, {"X-Error-Code": "GatedRepo"}, b""
        if name not in self.files:
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        if (commit := self._commit(name, revision)) is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if file not in self.files[name]:
            return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b""
        text = self.files[name][file].encode()
        return 200, {"X-Repo-Commit": commit, "ETag": f'"{abs(hash(text)):x}"'}, text

    def _facts(self, kind: str, rest: list[str]) -> tuple[int, dict[str, str], bytes]:
        name, *revision = "/".join(rest).split("/revision/")
        known = {"datasets": self.datasets, "models": {*self.files}}.get(kind, set())
        if name not in known:
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        commit = self._commit(name, *revision)
        if commit is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        return 200, {}, json.dumps({"id": name, "sha": commit, "tags": [], "siblings": []}).encode()

    def _commit(self, name: str, revision: str = "main") -> str | None:
        now = self.commits.get(name, FIRST)
        return {"main": now, "v1": FIRST, FIRST: FIRST, SECOND: SECOND}.get(revision)


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            if path != "/api/agent-harnesses":  # the library asks it once for itself
                hub.asked.append(f"{self.command} {path}")
            time.sleep(hub.delay_s)
            status, headers, text = hub.answer(path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(text)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
