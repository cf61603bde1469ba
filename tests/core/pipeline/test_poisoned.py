"""Caches that were made to deceive or to hang, with right hashes; each was seen to do so."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.core.pipeline.fuzzing import FuzzedSite, Recorded, limited
from tests.entries import entries, facts_of
from torchrecorder.drawing.model import Drawing, NestedDrawing
from torchrecorder.pipeline import Pipeline


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> FuzzedSite:
    return FuzzedSite(tmp_path_factory.mktemp("poisoned"))


@pytest.fixture
def site(made: FuzzedSite) -> FuzzedSite:
    made.heal()
    return made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("folders", {"a\0b": "x"}),
        ("files", {"a\0b": "x"}),
        ("files", {"x" * 100_000: "x"}),
        ("files", {"x" * 300: None}),
        ("files", {"a\ud800": "x"}),
        ("folders", {"a\ud800": "x"}),
        ("environment", {"a\ud800": "x"}),
        ("environment", {"a\0=b": "x"}),
        ("environment", {"HOME": "\ud800$x"}),
        ("missing", [".".join(["a"] * 3000)]),
        ("missing", ["a\0b", "\ud800", "", ".", "..a"]),
        ("ran", {".".join(["a"] * 3000): {"f": "x"}}),
        ("distributions", {"a\0/../b": "1"}),
        ("modules", "../../../etc/passwd"),
    ],
)
def test_names_that_no_system_has(site: FuzzedSite, field: str, value: object) -> None:
    site.change("recording", lambda entry: entry.update({field: value}))
    with limited(30):
        pages = site.shown()
    assert pages[site.good] == site.picture


@pytest.mark.parametrize("is_apart", [True, False])
def test_a_table_of_names_that_no_module_has(site: FuzzedSite, is_apart: bool) -> None:
    for name in (".".join(["a"] * 3000), "a\0b", "\ud800", "/etc/passwd", ""):
        rows = {name: ["x"]}
        table = {"modules": site.put(rows)} if is_apart else {"table": rows}
        site.change("recording", partial(dict.update, **table))
        assert site.shown()[site.good] == site.picture


@pytest.mark.parametrize(
    "name",
    [
        "/proc/kmsg",
        "/proc/self/../kmsg",
        "../../../../../../../proc/kmsg",
        "{fuz_nets}../../../../../../proc/kmsg",
        "link",
    ],
)
def test_no_file_outside_of_the_project_is_read(site: FuzzedSite, name: str) -> None:
    link = site.root / "link"
    link.unlink(missing_ok=True)
    link.symlink_to("/proc/kmsg")
    site.change("recording", lambda entry: entry["files"].update({name: "x"}))
    with limited(20):
        pages = site.shown()
    assert pages == site.whole


def in_a_circle(one: NestedDrawing) -> tuple[NestedDrawing, ...]:
    return (replace(one, parent=one.call),)


def in_a_larger_circle(one: NestedDrawing) -> tuple[NestedDrawing, ...]:
    return replace(one, call=998, parent=999), replace(one, call=999, parent=998)


def twice(one: NestedDrawing) -> tuple[NestedDrawing, ...]:
    return one, one


@pytest.mark.parametrize("change", [in_a_circle, in_a_larger_circle, twice])
def test_closed_layers_in_a_circle(
    site: FuzzedSite, change: Callable[[NestedDrawing], tuple[NestedDrawing, ...]]
) -> None:
    whole = Drawing.from_bytes(site.drawing())
    assert whole is not None
    data = replace(whole, nested=change(whole.nested[0])).to_bytes()
    assert Drawing.from_bytes(data) is None
    site.change("drawing", lambda entry: entry.update(drawing=hashlib.sha256(data).hexdigest()), data)
    with limited(30):
        pages = site.shown()
    assert pages == site.whole, "the picture was drawn again"


@pytest.mark.parametrize("folder", ["rec", "ren"])
def test_entries_that_changed_places_show_no_other_model(site: FuzzedSite, folder: str) -> None:
    one, other = entries(site.root / "diagrams", folder)
    texts = one.read_bytes(), other.read_bytes()
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])
    # Without torch nothing can be recorded, but what was recorded can be drawn again.
    assert site.shown() == (site.whole if folder == "ren" else dict.fromkeys(site.requests, ""))


def test_a_committed_manifest_says_nothing_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: FuzzedSite
) -> None:
    outside = tmp_path / "outside" / "x.txt"
    outside.parent.mkdir()
    outside.write_text("data")
    monkeypatch.setattr("tests.core.pipeline.fuzzing.EXTRA", str(outside))
    monkeypatch.setenv("FUZ_SECRET", "hunter2")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))  # nothing below is a dependency
    texts, digests = [], set[str]()
    for name in ("one", "other"):
        site = FuzzedSite(tmp_path / name)
        shutil.rmtree(site.root / "diagrams")
        Pipeline(site.settings("first"), lambda path: Recorded(path), writes_committed=True).run(site.requests)
        files = [file for folder in ("rec", "ren") for file in entries(site.root / "diagrams", folder)]
        digests |= {facts_of(file).get("environment", {}).get("FUZ_SECRET") for file in files} - {None}
        texts += [file.read_text() for file in files]
        local = [file.read_text() for file in (site.root / "first").rglob("*") if file.is_file()]
        assert not any("hunter2" in text for text in [*texts, *local])
    assert not any(str(tmp_path) in text or 'x.txt":' in text for text in texts)
    assert any('"reads x.txt, which lies outside of the project"' in text for text in texts)
    assert len(digests) == 2, "each cache has its own salt"
    assert "f52fbd32b2b3b86ff88ef6c490628285" not in "".join(texts), "the bare digest"
