"""No wrong picture, no lost entry and no traceback, whatever happens to a cache; with more rounds in `nox -s bench`."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.cache.soaking import EDITED, KEPT, WIDTHS, Soak, fresh
from tests.entries import entries, facts_of, rewrite
from tests.soaked import Tally
from torchrecorder.cache.store import Store

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Soak:
    soak = Soak.make(tmp_path_factory.mktemp("soak") / "project")
    shutil.copytree(soak.cache, soak.root / "whole")
    return soak


@pytest.fixture
def soak(made: Soak) -> Iterator[Soak]:
    """The project with its cache as it was when it was whole."""
    made.edit("soak_edited", WIDTHS[0])
    shutil.copytree(made.root / "whole", made.cache, dirs_exist_ok=True)
    made.heal()
    yield made
    shutil.rmtree(made.cache, ignore_errors=True)


@pytest.mark.skipif(os.name == "nt", reason="has no such signal")
def test_killed_at_any_instant(soak: Soak, tally: Tally) -> None:
    chance, seen = random.Random(1), Counter[str]()
    for _ in range(12):
        seen += soak.kill_one(chance)
    tally.add("kills", seen["kills"])
    tally.add("uncaught exceptions", seen["tracebacks"])
    assert seen["kills"] == seen["other model: right"] == 12, seen
    assert not seen["edited model: wrong"], seen
    assert not seen["tracebacks"] + seen["damaged files"], seen
    soak.heal()


def test_two_builds_at_once(soak: Soak) -> None:
    """They share half of what they are asked for."""
    processes = [soak.start("many", *map(str, span)) for span in ((1, 31), (16, 46))]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert said == ["", ""]
    assert fresh(soak, soak.requests(1, 46)) == 45
    assert soak.damaged() == []
    assert soak.check(KEPT) == "right"


def test_damage_to_every_kind_of_file(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrecorder.cache.index.SETTLED_NS", -1)  # indexes are written at once
    soak.heal()
    chance, seen = random.Random(2), Counter[str]()
    names = [file.relative_to(soak.cache) for file in soak.files() if file.stat().st_size]
    assert {name.parts[0] for name in names} >= {"rec", "ren", "stats.json"}
    for name in names * 3:
        if (soak.cache / name).exists() and (soak.cache / name).stat().st_size:  # one may be cut to nothing, and stay
            seen += soak.damage_one(soak.cache / name, chance)
    assert seen["damages"] >= 20
    assert not seen["model: wrong"], seen


@pytest.mark.skipif(os.name == "nt", reason="has no such limit")
@pytest.mark.parametrize("largest", [0, 100, 700, 3000, 200_000])
def test_a_disk_that_takes_no_more(soak: Soak, largest: int) -> None:
    soak.edit("soak_edited", WIDTHS[1])
    shutil.rmtree(soak.cache)
    process = soak.start("limited", str(largest))
    output, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    drawn, problem = json.loads(output)
    assert drawn == 2 if largest > 5000 else "cannot write to the cache" in problem or not drawn
    assert soak.damaged() == []
    assert soak.check(EDITED) != "wrong"
    soak.heal()


@pytest.fixture
def small(soak: Soak) -> Iterator[Soak]:
    """With the cache on a disk of 96 KiB."""
    shutil.rmtree(soak.cache)
    soak.cache.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(soak.cache)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount")
    yield soak
    subprocess.run(["umount", str(soak.cache)], check=True)
    soak.cache.rmdir()
    soak.heal()


def test_a_full_disk(small: Soak) -> None:
    filling = small.cache / "filling"
    for left in (0, 4096, 8192, 16384, 32768):
        with filling.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        os.truncate(filling, max(0, filling.stat().st_size - left))
        for width in WIDTHS:
            small.edit("soak_edited", width)
            pipeline = small.pipeline()
            outcomes = pipeline.run([EDITED, KEPT])
            assert all(outcome.diagram is not None for outcome in outcomes.values())
            assert left or "No space left" in pipeline.cache.problem
            assert small.damaged() == []
            assert small.check(EDITED) != "wrong"
        filling.unlink()


def test_a_disk_that_is_only_read(small: Soak) -> None:
    small.heal()
    subprocess.run(["mount", "-o", "remount,ro", str(small.cache)], check=True)
    try:
        assert small.check(EDITED) == "right"
        small.edit("soak_edited", WIDTHS[1])
        pipeline = small.pipeline()
        outcome = pipeline.run([EDITED])[EDITED]
        assert outcome.diagram is not None
        assert outcome.diagram.svg == small.truths[small.source(EDITED)]
        assert "cannot write to the cache" in pipeline.cache.problem
        assert pipeline.cache.problem.count("\n") == 0
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small.cache)], check=True)


def test_links_are_neither_read_nor_written_through(soak: Soak, tmp_path: Path) -> None:
    """Of files to a device, of folders to elsewhere, and in circles."""
    for file in soak.files():
        file.unlink()
        file.symlink_to("/dev/zero")
    assert soak.check(EDITED) == "nothing"
    soak.heal()
    outside = tmp_path / "outside"
    outside.mkdir()
    for shelf in ("rec", "ren"):
        shutil.rmtree(soak.cache / shelf)
        (soak.cache / shelf).symlink_to(outside, target_is_directory=True)
    store = Store(soak.cache)
    store.put_entry("drawing", "ab" * 32, {}, b"x")
    assert "is a symbolic link" in store.problem
    assert soak.check(EDITED) == "nothing"
    soak.pipeline().run([EDITED, KEPT])
    assert list(outside.iterdir()) == []
    for shelf in ("rec", "ren"):
        (soak.cache / shelf).unlink()
        (soak.cache / shelf).symlink_to(shelf)
    assert soak.check(EDITED) == "nothing"
    assert soak.pipeline().run([EDITED])[EDITED].diagram is not None
    for shelf in ("rec", "ren"):
        (soak.cache / shelf).unlink()
    soak.heal()


def test_folders_and_pipes_where_files_should_be(soak: Soak) -> None:
    for number, file in enumerate(soak.files()):
        file.unlink()
        os.mkfifo(file) if number % 2 and hasattr(os, "mkfifo") else file.mkdir()
    assert soak.check(EDITED) == "nothing"
    outcomes = soak.pipeline().run([EDITED, KEPT])
    assert all(outcome.diagram is not None for outcome in outcomes.values())
    shutil.rmtree(soak.cache)
    soak.heal()


def test_a_cache_from_a_newer_version(soak: Soak) -> None:
    for file in entries(soak.cache):
        rewrite(file, {**facts_of(file), "torchrecorder_manifest": 99, "more": [1]})
    assert soak.check(EDITED) == "nothing"
    soak.heal()
