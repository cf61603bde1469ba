"""A file that changes when anything does that was noted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchrecorder.cli import main
from torchrecorder.trace.digests import note_traced, write_stamp


def test_the_stamp_follows_what_was_noted(tmp_path: Path) -> None:
    cache, data, installed = tmp_path / "cache", tmp_path / "size.json", tmp_path / "site-packages"
    stamp = cache / "stamp"
    data.write_text("1")
    (installed / "net-1.0.dist-info").mkdir(parents=True)
    assert write_stamp(cache)
    note_traced(cache, [data, installed, data])
    note_traced(cache, [data, tmp_path / "not there yet"])
    assert (cache / "traced").read_text().splitlines() == list(map(str, (data, installed, tmp_path / "not there yet")))
    seen = {stamp.read_text()}

    def changes() -> bool:
        second = int(stamp.stat().st_mtime)
        changed = write_stamp(cache)
        assert (int(stamp.stat().st_mtime) > second) == changed  # for tools that compare whole seconds
        assert (stamp.read_text() not in seen) == changed
        seen.add(stamp.read_text())
        return changed

    assert [changes(), changes()] == [True, False]
    data.write_text("2")
    assert [changes(), changes()] == [True, False]
    os.utime(data, (1, 1))
    assert not changes()
    (installed / "net-1.0.dist-info").rename(installed / "net-1.1.dist-info")
    assert [changes(), changes()] == [True, False]
    (tmp_path / "not there yet").touch()
    assert [changes(), changes()] == [True, False]
    data.unlink()
    assert [changes(), changes()] == [True, False]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert (main(["stamp"]), main(["stamp", ".torchrecorder"])) == (0, 0)
    assert capsys.readouterr().out.splitlines() == [
        ".torchrecorder/stamp is new: pages are drawn again",
        ".torchrecorder/stamp is as it was",
    ]
    assert main(["stamp", "no/where"]) == 2
    assert capsys.readouterr().err == "torchrecorder: error: there is no folder no for the cache where\n"
