"""Entries of caches: read once, known afterwards, and read again when their files are others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchrecorder.cache.index import StampedIndex, stamp_of
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store

KEY = "ab" * 32


@pytest.fixture
def own(tmp_path: Path) -> Store:
    return Store(tmp_path / "own")


@pytest.fixture
def shared(tmp_path: Path) -> Store:
    store = Store(tmp_path / "shared", is_shared=True)
    store.put_entry("recording", KEY, {"graph": "1"})
    return store


@pytest.fixture
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written just now counts as old."""
    monkeypatch.setattr("torchrecorder.cache.index.SETTLED_NS", -1)


def seen(own: Store, shared: Store) -> object:
    cache = LayeredCache(own, [shared])
    entry = next((entry for entry, _ in cache.entries("recording", KEY)), None)
    cache.save_index()
    return entry


@pytest.mark.usefixtures("_settled")
def test_what_is_known_is_not_read_again(own: Store, shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(own, shared) == {"graph": "1"}
    monkeypatch.setattr(Store, "entry", _never)
    assert seen(own, shared) == {"graph": "1"}


def _never(*args: object) -> None:
    raise AssertionError("it was read again")


def test_what_may_still_change_is_read_again(own: Store, shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(own, shared) == {"graph": "1"}
    assert own.read_index("entries.json") == {}


@pytest.mark.usefixtures("_settled")
def test_another_entry_and_none(own: Store, shared: Store) -> None:
    assert seen(own, shared) == {"graph": "1"}
    shared.put_entry("recording", KEY, {"graph": "2"})
    assert seen(own, shared) == {"graph": "2"}
    os.unlink(shared.entry_file("recording", KEY))
    assert seen(own, shared) is None


@pytest.mark.usefixtures("_settled")
@pytest.mark.parametrize("keeps_date", [False, True])
def test_a_damaged_file_is_no_entry(own: Store, shared: Store, keeps_date: bool) -> None:
    assert seen(own, shared) == {"graph": "1"}
    file = Path(shared.entry_file("recording", KEY))
    found = file.stat()
    file.write_bytes(file.read_bytes().replace(b'"1"', b'"2"'))
    if keeps_date:
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert seen(own, shared) is None


@pytest.mark.usefixtures("_settled")
def test_a_damaged_note_knows_nothing(own: Store, shared: Store) -> None:
    """A flipped bit in it would else be a flipped bit in every entry."""
    assert seen(own, shared) == {"graph": "1"}
    note = own.folder / "entries.json"
    for harmed in (note.read_bytes().replace(b'"1"', b'"3"'), note.read_bytes()[:-9], b"{}", b""):
        note.write_bytes(harmed)
        assert seen(own, shared) == {"graph": "1"}


@pytest.mark.usefixtures("_settled")
def test_caches_are_told_apart(own: Store, shared: Store) -> None:
    assert seen(own, shared) == {"graph": "1"}
    assert list(LayeredCache(own).entries("recording", KEY)) == []


def test_an_index_gives_a_value_only_for_its_stamp(own: Store) -> None:
    index = StampedIndex(own, "some.json")
    index.put("a", [1, 2, 3, 4], {"x": [1]})
    index.put("b", "digest", None)
    assert index.get("a", [1, 2, 3, 4]) == {"x": [1]}
    assert index.get("a", [1, 2, 3, 5]) is None
    index.save(lambda name: name == "a")
    again = StampedIndex(own, "some.json")
    assert again.get("a", [1, 2, 3, 4]) == {"x": [1]}
    again.forget("a")
    again.forget("never")
    assert again.get("a", [1, 2, 3, 4]) is None


@pytest.mark.parametrize("row", [3, [], [[1, 2, 3, 4]], [[1, 2, 3, 4], True, ["pkg.Net"]], [1, 2, 3, 4, "digest"]])
def test_rows_of_another_version_are_misses(own: Store, row: object) -> None:
    own.write_index("some.json", {"a": row})
    assert StampedIndex(own, "some.json").get("a", [1, 2, 3, 4]) is None


def test_a_file_moved_there_with_the_same_date_and_size_is_another(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    for path, text in ((file, "1"), (other, "2")):
        path.write_text(text)
        os.utime(path, (1e9, 1e9))
    stamp = stamp_of(file)
    other.replace(file)
    assert stamp is not None
    assert stamp_of(file) not in (None, stamp)
    assert stamp_of(tmp_path / "gone") is None
