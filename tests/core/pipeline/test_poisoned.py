"""Caches that were made to deceive or to hang, with right hashes; each was seen to do so."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.core.answering import NoTorch
from tests.core.pipeline.fuzzing import TARGETS, FuzzedSite, Recorded, graph_of, limited
from tests.entries import entries, facts_of
from torchrecorder.drawing.model import Drawing, NestedDrawing
from torchrecorder.pipeline import Pipeline, _Batch


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


@pytest.mark.parametrize("is_remote", [False, True], ids=["committed", "remote"])
@pytest.mark.parametrize("digest", ["", "0" * 64, "../x", "\ud800", "x" * 100_000])
def test_a_recording_without_a_graph_is_none(site: FuzzedSite, digest: str, is_remote: bool) -> None:
    """It was taken for a fresh one, so that a page said "It was not drawn." and no log said anything."""

    def change(entry: dict[str, Any]) -> None:
        for field in entry.keys() - {"torchrecorder_manifest", "request"}:
            del entry[field]  # nothing is left that could have changed
        entry["graph"] = digest

    site.change("recording", change)
    assert site.shown(is_remote=is_remote) == {**site.whole, site.spoilt: ""}


@pytest.mark.parametrize("field", ["name of a value", "class", "operation", "note"])
@pytest.mark.parametrize("half", ["\ud800", "a\udfffb", "\udc41\ud841"])
def test_a_graph_with_half_a_surrogate_pair(site: FuzzedSite, field: str, half: str) -> None:
    """No file can hold it, so it ended the build where the picture was written."""
    graph = json.loads(graph_of(TARGETS[1]))
    if field == "name of a value":
        graph["values"][1][4] = half
    elif field == "class":
        graph["modules"][0][1] = half
    elif field == "operation":
        graph["ops"][0][0] = half
    else:
        graph["info"]["notes"] = [half]
    for text in (json.dumps(graph).encode(), json.dumps(graph, ensure_ascii=False).encode("utf-8", "surrogatepass")):
        digest = hashlib.sha256(text).hexdigest()
        site.change("recording", partial(dict.update, graph=digest), text)
        assert site.shown() == {**site.whole, site.spoilt: ""}


def test_what_no_check_foresees_costs_its_own_diagram(site: FuzzedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever raises between a Graph and the page, the other diagram is drawn and the log has a sentence."""
    shutil.rmtree(site.root / "diagrams" / "ren")
    site.change("recording", lambda entry: entry.pop("distributions"))  # else it is also out of date
    real = Drawing.to_bytes

    def fail(drawing: Drawing) -> bytes:
        if str(drawing.facts["model"]) in site.spoilt.recording.target:
            raise UnicodeError("unforeseen")
        return real(drawing)

    monkeypatch.setattr(Drawing, "to_bytes", fail)
    pipeline = Pipeline(site.settings("machine"), NoTorch.of)
    outcomes = pipeline.run(site.requests)
    assert outcomes[site.good].diagram is not None
    assert outcomes[site.spoilt].diagram is None
    assert "cannot draw nets.Residual: torchrecorder failed inside" in str(outcomes[site.spoilt].error)


def test_what_no_check_foresees_of_a_key_costs_its_own_diagram(
    site: FuzzedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _Batch._key

    def fail(batch: _Batch, item: Any) -> Any:
        if item.request == site.spoilt:
            raise LookupError("unforeseen")
        return real(batch, item)

    monkeypatch.setattr(_Batch, "_key", fail)
    outcomes = Pipeline(site.settings("machine"), NoTorch.of).run(site.requests)
    assert outcomes[site.good].diagram is not None
    assert "unforeseen" in str(outcomes[site.spoilt].error)


@pytest.mark.parametrize("where", ["recordings.Recordings.kept", "drawings.Drawings.kept", "_Batch._outcome"])
def test_what_no_check_foresees_anywhere_is_an_error_of_each_diagram(
    site: FuzzedSite, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise LookupError("unforeseen")

    monkeypatch.setattr(f"torchrecorder.pipeline.{where}", fail)
    outcomes = Pipeline(site.settings("machine"), NoTorch.of).run(site.requests)
    assert all("unforeseen" in str(outcome.error) for outcome in outcomes.values())


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


@pytest.mark.parametrize("is_nested", [False, True])
def test_details_with_half_a_surrogate_pair(site: FuzzedSite, is_nested: bool) -> None:
    """They go into an attribute of the page as they are."""
    details = '{"a": ["\ud800"]}'
    facts = json.loads(site.drawing())
    if is_nested:
        facts["nested"][0][-1] = details
    else:
        facts["details"] = details
    data = json.dumps(facts).encode()
    assert Drawing.from_bytes(data) is None
    site.change("drawing", lambda entry: entry.update(drawing=hashlib.sha256(data).hexdigest()), data)
    assert site.shown() == site.whole, "the picture was drawn again"


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
        Pipeline(site.settings("first"), Recorded.of, writes_committed=True).run(site.requests)
        files = [file for folder in ("rec", "ren") for file in entries(site.root / "diagrams", folder)]
        digests |= {facts_of(file).get("environment", {}).get("FUZ_SECRET") for file in files} - {None}
        texts += [file.read_text() for file in files]
        local = [file.read_text() for file in (site.root / "first").rglob("*") if file.is_file()]
        assert not any("hunter2" in text for text in [*texts, *local])
    assert not any(str(tmp_path) in text or 'x.txt":' in text for text in texts)
    assert any('"reads x.txt, which lies outside of the project"' in text for text in texts)
    assert len(digests) == 2, "each cache has its own salt"
    assert "f52fbd32b2b3b86ff88ef6c490628285" not in "".join(texts), "the bare digest"
