"""Searches for examples, as they would end now: known again without a look at texts, as long as none has changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from torchrecorder.cache.index import SETTLED_NS
from torchrecorder.cache.store import Store
from torchrecorder.trace import mentions
from torchrecorder.trace.mentions import SEPARATOR, Place, Searches


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src/pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/pkg/net.py").write_text("class Net: ...\n")
    for name in ("one", "two"):
        (root / f"tests/test_{name}.py").write_text("from pkg.net import Net\nNet()\n")
    _settle(root)
    return root


def _settle(root: Path) -> None:
    """Have all files be old enough; their ctime cannot be set."""
    then = time.time() - 60
    for file in root.rglob("*.py"):
        os.utime(file, (then, then))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    data = mentions._data

    def noted(path: str) -> bytes:
        found.append(path)
        return data(path)

    monkeypatch.setattr(mentions, "_data", noted)
    monkeypatch.setattr(mentions, "SETTLED_NS", -1)
    return found


def question(root: Path, word: str = "Net") -> str:
    return SEPARATOR.join((str(root), str(root / "src/pkg"), word))


def digest(root: Path, store: Store, word: str = "Net") -> str | None:
    searches = Searches(store)
    found = searches.digest(question(root, word))
    searches.save()
    return found


def test_the_second_build_reads_no_text(project: Path, tmp_path: Path, reads: list[str]) -> None:
    store = Store(tmp_path / "cache")
    first = digest(project, store)
    assert len(reads) == 2
    assert first == Place(project, project / "src/pkg").digest("Net")
    reads.clear()
    assert digest(project, store) == first
    assert reads == []


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_what_changed_is_seen(project: Path, tmp_path: Path, reads: list[str], change: str) -> None:
    store = Store(tmp_path / "cache")
    first = digest(project, store)
    if change == "removed":
        (project / "tests/test_one.py").unlink()
    else:
        (project / f"tests/test_{'one' if change == 'edited' else 'three'}.py").write_text(
            "from pkg import Net\nNet(1)\n"
        )
    assert digest(project, store) not in (first, None)
    assert reads


def test_a_module_is_none_of_the_texts(project: Path, tmp_path: Path, reads: list[str]) -> None:
    store = Store(tmp_path / "cache")
    first = digest(project, store)
    (project / "src/pkg/net.py").write_text("class Net:\n    pass\n")
    reads.clear()
    assert digest(project, store) == first
    assert reads == []


def test_what_a_recording_found_is_kept_if_no_text_changed_since(
    project: Path, tmp_path: Path, reads: list[str]
) -> None:
    store = Store(tmp_path / "cache")
    searches = Searches(store)
    now = time.time_ns()
    searches.keep({question(project): "found"}, now)
    searches.keep({question(project, "Other"): "found"}, now - 10_000_000_000)  # the texts are younger
    searches.save()
    assert digest(project, store) == "found"
    assert digest(project, store, "Other") != "found"


def test_a_text_that_was_just_written_may_change_again(
    project: Path, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "SETTLED_NS", 60 * SETTLED_NS)
    store = Store(tmp_path / "cache")
    digest(project, store)
    reads.clear()
    digest(project, store)
    assert len(reads) == 2


def test_a_project_that_is_gone(project: Path, tmp_path: Path) -> None:
    assert digest(tmp_path / "gone", Store(tmp_path / "cache")) is None
