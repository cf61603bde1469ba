"""The cache on disk."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entries import compressed
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store, divided, sweep

KEY = "ab" + "0" * 62


def test_gives_back_what_was_put(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    digest = store.put_object(b"graph")
    store.put_entry("recording", KEY, {"graph": digest})
    again = Store(tmp_path / "cache")
    assert again.entry("recording", KEY) == {"graph": digest}
    assert again.object(digest) == b"graph"
    assert store.problem == ""


def test_a_miss_is_none_and_makes_no_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    assert store.entry("recording", KEY) is None
    assert store.object(KEY) is None
    assert not store.folder.exists()


def test_the_folder_says_what_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put_object(b"x")
    assert (store.folder / ".gitignore").read_text() == "*\n"
    assert (store.folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert "torchrecorder" in (store.folder / "README").read_text()


@given(data=st.binary(min_size=1, max_size=200), place=st.integers(0, 199), flip=st.integers(1, 255))
@settings(max_examples=30)
def test_a_damaged_object_is_a_miss_and_is_mended(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, place: int, flip: int
) -> None:
    store = Store(tmp_path_factory.mktemp("cache"))
    digest = store.put_object(data)
    file = store.folder / "obj" / digest[:2] / digest
    damaged = bytearray(data)
    damaged[place % len(data)] ^= flip
    file.write_bytes(damaged)
    assert store.object(digest) is None
    store.put_object(data)
    assert store.object(digest) == data


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_an_entry_that_is_none_is_a_miss(tmp_path: Path, text: bytes) -> None:
    store = Store(tmp_path)
    store.put_entry("recording", KEY, {})
    (tmp_path / "rec" / KEY[:2] / KEY).write_bytes(text)
    assert store.entry("recording", KEY) is None


def test_no_half_written_file_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put_object(b"x" * 1000)
    store.put_entry("drawing", KEY, {"a": 1})
    assert not [name for _, _, files in os.walk(tmp_path) for name in files if name.startswith(".new-")]


def test_a_cache_that_cannot_be_written_is_told_and_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file")
    digest = store.put_object(b"x")
    store.put_entry("recording", KEY, {})
    assert "cannot write to the cache" in store.problem
    assert store.object(digest) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put_object(b"x")
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert store.object(digest) == b"x"


def test_an_object_lies_behind_its_entry(tmp_path: Path) -> None:
    entry = {"graph": hashlib.sha256(b"graph\n}\n").hexdigest()}
    Store(tmp_path).put_entry("recording", KEY, entry, b"graph\n}\n")
    assert [file.name for file in (tmp_path / "rec").glob("*/*")] == [KEY]
    store = Store(tmp_path)
    assert store.object(entry["graph"]) is None, "nothing led to it yet"
    assert store.entry("recording", KEY) == entry
    assert store.object(entry["graph"]) == b"graph\n}\n"


def test_an_entry_that_only_names_the_object_of_another_does_not_hide_it(tmp_path: Path) -> None:
    entry, lying = {"graph": hashlib.sha256(b"x").hexdigest()}, "cd" * 32
    Store(tmp_path).put_entry("recording", KEY, entry, b"x")
    Store(tmp_path).put_entry("recording", lying, entry)
    for keys in ((KEY, lying), (lying, KEY)):
        store = Store(tmp_path)
        assert [store.entry("recording", key) for key in keys] == [entry, entry]
        assert store.object(entry["graph"]) == b"x"


def test_a_cache_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = {"graph": store.put_object(b"x")}
    store.put_entry("recording", KEY, entry)
    file = Path(store.entry_file("recording", KEY))
    file.rename(file.with_suffix(".json"))
    ((found, _),) = (cache := LayeredCache(Store(tmp_path))).entries("recording", KEY)
    assert (found, cache.object(found["graph"])) == (entry, b"x")


def test_a_file_that_is_too_large_is_refused_in_words(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put_entry("recording", KEY, {"graph": ""})
    file = Path(store.entry_file("recording", KEY))
    with file.open("ab") as large:
        large.truncate((64 << 20) + 1)
    again = Store(tmp_path / "cache")
    assert again.entry("recording", KEY) is None
    assert f"{file} has 64 MB, and a cache keeps no more than 64 MB in a file" in again.problem
    cache = LayeredCache(Store(tmp_path / "own"), [again])
    assert [*cache.entries("recording", KEY)] == []
    assert "no more than 64 MB" in cache.problem


def test_an_object_that_is_too_large_is_not_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put_entry("recording", KEY, {"graph": ""}, bytes((64 << 20) + 1))
    assert "no more than 64 MB" in store.problem
    assert store.entry("recording", KEY) is None


LARGE = b'{"ops": %s}' % str([*range(3000)]).encode()


@cache
def bomb() -> bytes:
    """What unpacks to a byte more than an object may have."""
    return compressed(bytes((64 << 20) + 1))


def test_a_large_object_is_compressed_and_a_small_one_is_not(tmp_path: Path) -> None:
    for name, data in (("small", b"{}" * 2000), ("large", LARGE)):
        store = Store(tmp_path / name)
        entry = {"graph": hashlib.sha256(data).hexdigest()}
        store.put_entry("recording", KEY, entry, data)
        written = Path(store.entry_file("recording", KEY)).read_bytes()
        assert (data in written) is (name == "small")
        assert len(written) < 9000
        again = Store(tmp_path / name)
        assert again.entry("recording", KEY) == entry
        assert again.object(entry["graph"]) == data
        assert again.object(again.put_object(data[:-1] + b"\n")) == data[:-1] + b"\n"


@pytest.mark.parametrize("size", [0, 5000])
def test_an_object_that_begins_as_a_compressed_one_does_comes_back(tmp_path: Path, size: int) -> None:
    store = Store(tmp_path)
    data = compressed(b"x")[:9] + bytes(size)
    digest = store.put_object(data)
    assert Store(tmp_path).object(digest) == data


def test_a_large_object_that_an_earlier_version_wrote_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = {"graph": hashlib.sha256(LARGE).hexdigest()}
    store.put_entry("recording", KEY, entry)
    with Path(store.entry_file("recording", KEY)).open("ab") as file:
        file.write(LARGE)
    assert store.object(entry["graph"]) == LARGE


def test_what_another_zlib_packed_otherwise_is_not_a_change(tmp_path: Path) -> None:
    store = Store(tmp_path, is_committed=True)
    entry = {"graph": hashlib.sha256(LARGE).hexdigest()}
    store.put_entry("recording", KEY, entry, LARGE)
    file = Path(store.entry_file("recording", KEY))
    head, _ = divided(file.read_bytes())
    other = head + compressed(LARGE, level=9)
    assert other != file.read_bytes()
    file.write_bytes(other)
    store.put_entry("recording", KEY, entry, LARGE)
    assert file.read_bytes() == other
    store.put_entry("recording", KEY, {**entry, "target": "nets.Net"}, LARGE)
    assert file.read_bytes() != other


def test_the_same_again_on_this_machine_is_no_second_variant(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = {"graph": hashlib.sha256(LARGE).hexdigest()}
    for _ in range(2):
        store.put_entry("recording", KEY, entry, LARGE)
    assert [file.name for file in (tmp_path / "rec").glob("*/*")] == [KEY]


@pytest.mark.parametrize("size", [(64 << 20) + 1, 256 << 20])
def test_a_compressed_object_that_is_too_large_is_refused_in_words(tmp_path: Path, size: int) -> None:
    behind = compressed(bytes(size), level=1)
    entry = {"graph": "ab" * 32}
    store = Store(tmp_path, is_committed=True)
    store.put_entry("recording", KEY, entry)
    file = Path(store.entry_file("recording", KEY))
    file.write_bytes(file.read_bytes() + behind)
    again = Store(tmp_path, is_committed=True)
    assert again.entry("recording", KEY) == entry
    tracemalloc.start()
    assert again.object(entry["graph"]) is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 200 << 20, "of the 64 MB, a few copies"
    assert "it has more than the 64 MB that an object may have" in again.problem
    assert str(file) in again.problem
    again.put_entry("recording", KEY, entry, b"made anew")
    assert behind not in file.read_bytes()


def test_an_object_of_its_own_that_is_too_large_is_refused_in_words(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put_object(LARGE)
    (tmp_path / "obj" / digest[:2] / digest).write_bytes(bomb())
    assert store.object(digest) is None
    assert "it has more than the 64 MB" in store.problem


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[:-5],
        lambda data: data[:20],
        lambda data: data + b"\0",
        lambda data: data + b"AAAA",
        lambda data: data[:9] + b"z" * 9,
    ],
)
def test_a_damaged_compressed_object_is_a_miss(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    store = Store(tmp_path)
    digest = store.put_object(LARGE)
    file = tmp_path / "obj" / digest[:2] / digest
    file.write_bytes(harm(file.read_bytes()))
    assert store.object(digest) is None
    assert store.problem == ""
    store.put_object(LARGE)
    assert store.object(digest) == LARGE


def test_a_sweep_keeps_compressed_objects_and_removes_those_that_are_too_large(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = {"graph": hashlib.sha256(LARGE).hexdigest(), "modules": store.put_object(LARGE + b"\n")}
    store.put_entry("recording", KEY, entry, LARGE)
    later = time.time() + 7200
    assert (sweep(tmp_path, now=later).files, sweep(tmp_path, now=later).kept) == (0, 2)
    file = Path(store.entry_file("recording", KEY))
    file.write_bytes(divided(file.read_bytes())[0] + bomb())
    assert (sweep(tmp_path, now=later).files, file.exists()) == (2, False)
