"""Entries of caches: read once, known afterwards, and read again when their files are others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchrecorder.cache.index import KnownEntries
from torchrecorder.cache.store import Store

KEY = "ab" * 32


@pytest.fixture
def own(tmp_path: Path) -> Store:
    return Store(tmp_path / "own")


@pytest.fixture
def shared(tmp_path: Path) -> Store:
    store = Store(tmp_path / "shared", is_shared=True)
    store.put_entry("rec", KEY, {"graph": "1"})
    return store


@pytest.fixture
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written just now counts as old."""
    monkeypatch.setattr("torchrecorder.cache.store._SETTLED_NS", -1)


def seen(own: Store, shared: Store) -> object:
    entries = KnownEntries(own)
    entry = entries.entry(shared, "rec", KEY)
    entries.save()
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
    assert own.note("entries.json") == {}


@pytest.mark.usefixtures("_settled")
def test_another_entry_and_none(own: Store, shared: Store) -> None:
    assert seen(own, shared) == {"graph": "1"}
    shared.put_entry("rec", KEY, {"graph": "2"})
    assert seen(own, shared) == {"graph": "2"}
    os.unlink(shared.entry_file("rec", KEY))
    assert seen(own, shared) is None


@pytest.mark.usefixtures("_settled")
@pytest.mark.parametrize("keeps_date", [False, True])
def test_a_damaged_file_is_no_entry(own: Store, shared: Store, keeps_date: bool) -> None:
    assert seen(own, shared) == {"graph": "1"}
    file = Path(shared.entry_file("rec", KEY))
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
    assert KnownEntries(own).entry(own, "rec", KEY) is None
