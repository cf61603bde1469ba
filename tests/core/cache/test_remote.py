"""A cache that a team shares behind a URL: it saves recordings, and nothing it does can stop a build."""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.core.answering import NoTorch
from tests.entries import behind, compressed, entries, facts_of, harm, rewrite
from tests.models.one_layer import net
from torchrecorder.cache.remote import Remote
from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import TorchMissing
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request
from torchrecorder.worker.client import Worker

pytestmark = pytest.mark.skipif(find_spec("aiohttp") is None, reason="needs the extra remote")

REQUEST = read_request("rem_net.Net", {"shape": "1,3"})
KEY = "ab" + "0" * 62


def project(root: Path) -> Path:
    root.mkdir()
    (root / "rem_net.py").write_text(net())
    return root


class SharedWorker(Worker):
    """Records for all tests of this file."""

    one: SharedWorker

    def open(self, settings: Settings) -> AbstractContextManager[Worker]:
        self._path = list(settings.path)
        return nullcontext(self)


@pytest.fixture(scope="module", autouse=True)
def worker() -> Iterator[Worker]:
    SharedWorker.one = SharedWorker([])
    with SharedWorker.one as opened:
        yield opened


def pipeline(root: Path, remote: str, *, has_torch: bool = False, **more: Any) -> Pipeline:
    settings = Settings.for_project(
        root, path=["."], remote=remote, engine="auto" if has_torch else "no-such-engine", **more
    )
    return Pipeline(settings, SharedWorker.one.open) if has_torch else Pipeline(settings, NoTorch.of)


def build(root: Path, remote: str, **more: Any) -> tuple[Outcome, Pipeline]:
    made = pipeline(root, remote, **more)
    return made.run([REQUEST])[REQUEST], made


@pytest.fixture(scope="module")
def recorded(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a build has written through to."""
    root = tmp_path_factory.mktemp("remote")
    outcome, made = build(project(root / "first"), (root / "team").as_uri(), has_torch=True)
    assert outcome.error is None
    assert made.cache.problem + made.cache.notice == ""
    return root / "team"


@pytest.fixture
def team(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "team"))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return project(tmp_path / "here")


def test_what_one_machine_recorded_another_shows(team: Path, here: Path) -> None:
    outcome, made = build(here, team.as_uri())
    assert outcome.error is None
    assert outcome.diagram is not None
    assert "fc" in outcome.diagram.svg
    assert made.cache.problem + made.cache.notice == ""


def test_what_came_is_kept_and_not_asked_for_again(team: Path, here: Path) -> None:
    build(here, team.as_uri())
    shutil.rmtree(team)
    outcome, made = build(here, team.as_uri())
    assert outcome.error is None
    assert outcome.diagram is not None
    assert outcome.diagram.graph.modules["fc"].params.total == 16
    assert made.cache._remote is not None
    assert made.cache._remote._entries == {}, "nothing was asked for"
    assert (here / ".torchrecorder" / "remote" / ".gitignore").exists()


def test_a_folder_will_do(team: Path, here: Path) -> None:
    assert build(here, "../team")[0].error is None


def test_update_brings_it_into_the_committed_cache(team: Path, here: Path) -> None:
    settings = Settings.for_project(here, path=["."], remote=str(team), cache="diagrams", engine="no-such-engine")
    assert Pipeline(settings, NoTorch.of, writes_committed=True).run([REQUEST])[REQUEST].error is None
    alone, _ = build(here, "", cache="diagrams")
    assert alone.error is None
    assert alone.diagram is not None
    assert alone.diagram.graph.modules["fc"].params.total == 16


def test_an_edit_is_recorded_and_shared(team: Path, here: Path) -> None:
    (here / "rem_net.py").write_text(net(5))
    assert isinstance(build(here, str(team), on_stale="placeholder")[0].diagram, type(None))
    assert build(here, str(team), has_torch=True)[0].error is None
    there = project(here.parent / "there")
    (there / "rem_net.py").write_text(net(5))
    outcome, _ = build(there, str(team))
    assert outcome.error is None
    assert outcome.diagram is not None
    assert outcome.diagram.graph.modules["fc"].params.total == 20


Serve = Callable[[type[BaseHTTPRequestHandler] | partial[Any]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ThreadingHTTPServer] = []

    def start(handler: Any) -> str:
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        servers[-1].daemon_threads = True
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}/cache"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class Files(Quiet, SimpleHTTPRequestHandler):
    """A web server of files, as they are: it reads only."""


def test_http_that_is_only_read(team: Path, here: Path, serve: Serve) -> None:
    team.rename(team.parent / "cache")
    url = serve(partial(Files, directory=str(team.parent)))
    assert build(here, url)[0].error is None
    (here / "rem_net.py").write_text(net(5))
    outcome, made = build(here, url, has_torch=True)
    assert outcome.error is None
    assert made.cache.problem == ""
    assert "cannot be written to" in made.cache.notice


class Hangs(Quiet):
    def do_GET(self) -> None:
        threading.Event().wait(60)


class Trickles(Quiet):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" ")
                threading.Event().wait(0.05)
        except OSError:
            return


class Floods(Quiet):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"[" * 1_000_000)
        except OSError:
            return


class Breaks(Quiet):
    def do_GET(self) -> None:
        self.send_error(500)


class Forbids(Quiet):
    def do_GET(self) -> None:
        self.send_error(403)


class Speaks(Quiet):
    """No HTTP at all."""

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example.org ESMTP\r\n" * 100)


class Cuts(Quiet):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"{")


SERVERS = [Hangs, Trickles, Floods, Breaks, Forbids, Speaks, Cuts]


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_fails_is_left_aside_with_one_line(
    here: Path, serve: Serve, server: type[Quiet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchrecorder.cache.remote.Remote", partial(Remote, timeout_s=2))
    outcome, made = build(here, serve(server), has_torch=True)
    assert outcome.error is None
    assert outcome.diagram is not None
    assert made.cache.problem == ""
    assert made.cache.notice.startswith("the remote cache http://127.0.0.1:")
    assert "is not used in this build: " in made.cache.notice
    assert made.cache.notice.count("\n") == 0


GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"torchrecorder_manifest": 99, "graph": "x"}']


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_server_that_gives_garbage_gives_nothing(here: Path, serve: Serve, garbage: bytes) -> None:
    class Garbage(Quiet):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(garbage)))
            self.end_headers()
            self.wfile.write(garbage)

    outcome, made = build(here, serve(Garbage), has_torch=True)
    assert outcome.error is None
    assert outcome.diagram is not None
    assert made.cache.problem == ""


@pytest.mark.parametrize("size", [1.0, 0.5, 0.0])
def test_objects_that_are_not_what_their_names_say(team: Path, here: Path, size: float) -> None:
    harm(team, lambda data: bytes([data[0] ^ 1]) + data[1 : int(len(data) * size)])
    assert isinstance(build(here, str(team))[0].error, TorchMissing)
    assert not any(map(behind, entries(here / ".torchrecorder" / "remote")))


def test_objects_that_unpack_to_more_than_a_cache_may_hold(team: Path, here: Path) -> None:
    bomb = compressed(bytes((64 << 20) + 1))
    harm(team, lambda data: bomb)
    outcome, made = build(here, str(team))
    assert isinstance(outcome.error, TorchMissing)
    assert re.search(r"rec/\S+ of the remote cache \S+ is not used: .* more than the 64 MB", made.cache.notice)
    assert not any(map(behind, entries(here / ".torchrecorder" / "remote")))
    assert build(here, str(team), has_torch=True)[0].error is None


def test_an_evil_picture_is_not_shown(team: Path, here: Path) -> None:
    """With a hash that is right, and again from the copy."""
    (entry,) = entries(team, "ren")
    drawing = Drawing.from_bytes(behind(entry))
    assert drawing is not None
    evil = replace(drawing, layout=replace(drawing.layout, description="</desc><script>alert(1)</script>")).to_bytes()
    assert Drawing.from_bytes(evil) is not None
    rewrite(entry, {**facts_of(entry), "drawing": hashlib.sha256(evil).hexdigest()}, evil)
    for _ in range(2):
        outcome, _made = build(here, str(team))
        assert outcome.diagram is None or "<script" not in outcome.diagram.svg


def test_paths_that_leave_the_cache_are_never_asked_for(team: Path, here: Path, tmp_path: Path) -> None:
    (entry,) = entries(team)
    facts = facts_of(entry)
    (tmp_path / "secret").write_text("{}")
    for path in ("../secret", "../../secret", str(tmp_path / "secret"), "%2e%2e/secret", "file:///etc/passwd", 3, None):
        rewrite(entry, {**facts, "modules": path, "graph": path})
        assert isinstance(build(here, str(team))[0].error, TorchMissing)
    assert Remote(str(team)).object("../../secret") is None


@pytest.mark.parametrize(
    ("url", "word"), [("nosuch://bucket/cache", "nosuch"), ("s3://bucket/cache", "s3fs"), ("gs://bucket/x", "gcsfs")]
)
def test_a_url_that_nothing_here_can_open_is_one_warning(here: Path, url: str, word: str) -> None:
    outcome, made = build(here, url, has_torch=True)
    assert outcome.error is None
    assert made.cache.problem.startswith("cannot use the remote cache ")
    assert word in made.cache.problem
    assert made.cache.notice == ""


@pytest.mark.parametrize(("library", "url"), [("fsspec", "s3://bucket/cache"), ("aiohttp", "http://127.0.0.1:9/cache")])
def test_without_a_library_one_warning_names_the_extra(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, url: str
) -> None:
    (tmp_path / f"{library}.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{library}'\", name='{library}')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcome, made = build(here, url, has_torch=True)
    assert outcome.error is None
    assert 'pip install "torchrecorder-docs[remote]"' in made.cache.problem
    assert made.cache.problem.count("\n") == 0


def test_nobody_is_there(here: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://user:secret@127.0.0.1:{free.getsockname()[1]}/cache?key=secret"
        outcome, made = build(here, url, has_torch=True)
    assert outcome.error is None
    assert "is not used" in made.cache.notice
    assert "secret" not in made.cache.notice


@pytest.mark.parametrize("status", [401, 403, 500])
@pytest.mark.parametrize("can_read", [False, True])
def test_a_token_in_the_address_is_in_no_log(here: Path, serve: Serve, status: int, can_read: bool) -> None:
    """The library's exceptions say the whole address, and the server may say it too."""

    class Denies(Quiet):
        def do_GET(self) -> None:
            self.send_error(404 if can_read else status, f"not for {self.path}\x1b[2J")

        def do_PUT(self) -> None:
            self.send_error(status, f"not for {self.path}")

        do_POST = do_PUT  # noqa: N815 (the server's name)

    url = serve(Denies).replace("://", "://me:s3cretword@") + "?token=T0K%2FEN-of-mine&x=1#frag-T0KEN"
    outcome, made = build(here, url, has_torch=True)
    assert outcome.error is None
    said = made.cache.notice + made.cache.problem
    assert "the remote cache http://127.0.0.1:" in said
    assert not [word for word in ("T0K", "s3cret", "frag-", "\x1b") if word in said], said


def test_all_files_together_may_not_take_longer_than_a_build_has_patience(serve: Serve) -> None:
    class Slow(Quiet):
        def do_GET(self) -> None:
            threading.Event().wait(0.3)
            self.send_error(404)

    remote = Remote(serve(Slow), timeout_s=5, patience_s=3)
    for number in range(100):
        remote.entry("recording", f"{number:064}")
    remote.close()
    assert "no answer in time" in remote.notice


def test_it_starts_nothing_until_something_is_missing(team: Path, here: Path) -> None:
    build(here, str(team))
    made = pipeline(here, str(team))
    assert made.run([REQUEST])[REQUEST].error is None
    assert made.cache._remote is not None
    assert made.cache._remote._process is None


def test_a_link_in_a_cache_is_not_followed(team: Path, here: Path) -> None:
    """A committed or shared folder may hold links to anything."""
    for shelf in ("rec", "ren", "obj"):
        for file in list((team / shelf).glob("*/*")):
            file.unlink()
            file.symlink_to("/dev/zero")
    assert isinstance(build(here, "", cache=str(team))[0].error, TorchMissing)
