"""Drawings of a cache: examined once, known afterwards, and never shown when they are not what they were."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.answering import NoTorch
from tests.core.graph.building import mlp, transformer
from tests.core.pipeline.fuzzing import FuzzedSite
from torchrecorder import __version__
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import FormatError
from torchrecorder.page.diagram import Diagram
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.drawings import DrawingIndex
from torchrecorder.request import DrawingOptions
from torchrecorder.write import links


@pytest.fixture
def drawing() -> Drawing:
    (drawn,) = draw([DrawJob(mlp(), "a" * 64, DrawingOptions())], find_engine())
    assert isinstance(drawn, Drawing)
    return drawn


@pytest.fixture
def shared(tmp_path: Path) -> Store:
    return Store(tmp_path / "diagrams", is_shared=True)


@pytest.fixture
def own(tmp_path: Path) -> Store:
    return Store(tmp_path / "own")


def kept(own: Store, shared: Store) -> DrawingIndex:
    return DrawingIndex(LayeredCache(own, [shared]), own)


def file_of(store: Store, digest: str) -> Path:
    return store.folder / "obj" / digest[:2] / digest


def test_what_is_known_is_not_read_again(
    own: Store, shared: Store, drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = shared.put_object(drawing.to_bytes())
    first = kept(own, shared)
    assert first.find(digest) is not None
    first.save()
    monkeypatch.setattr(Store, "object", _never)
    found = kept(own, shared).find(digest)
    assert found is not None
    assert found.digest == digest
    assert found.classes == tuple(dict.fromkeys(links.classes(drawing.layout))) != ()


def _never(*args: object) -> None:
    raise AssertionError("it was looked at again")


def test_it_is_the_drawing(own: Store, shared: Store, drawing: Drawing) -> None:
    found = kept(own, shared).find(own.put_object(drawing.to_bytes()))
    assert found is not None
    assert found.load() == drawing
    assert Diagram(found, load_graph=mlp).digest == Diagram(drawing, load_graph=mlp).digest


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_file_that_changed_is_looked_at(own: Store, shared: Store, drawing: Drawing, harm: str) -> None:
    digest = shared.put_object(drawing.to_bytes())
    first = kept(own, shared)
    first.find(digest)
    first.save()
    known, file = kept(own, shared), file_of(shared, digest)
    found = known.find(digest)
    data = file.read_bytes()
    file.unlink()
    if harm != "remove":
        file.write_bytes(data[:-9] if harm == "cut" else data.replace(b"Linear", b"linear", 1))
    assert kept(own, shared).find(digest) is None
    assert found is not None
    with pytest.raises(FormatError, match="during the build"):
        found.load()


@pytest.mark.parametrize("length", ["12", None, 1.5, [3]])
def test_a_length_that_is_none(own: Store, shared: Store, length: object) -> None:
    (drawn,) = draw([DrawJob(transformer(3), "a" * 64, DrawingOptions(depth=1))], find_engine())
    assert isinstance(drawn, Drawing)
    facts = json.loads(drawn.to_bytes())
    facts["nested"][0][4] = length
    assert kept(own, shared).find(own.put_object(json.dumps(facts).encode())) is None


def test_an_evil_layout_is_refused_wherever_it_lies(own: Store, shared: Store, drawing: Drawing) -> None:
    node = drawing.layout.nodes[0]._replace(key='"><script>alert(1)</script>')
    evil = replace(drawing, layout=replace(drawing.layout, nodes=[node])).to_bytes()
    for store in (own, shared):
        digest = store.put_object(evil)
        for _ in range(2):
            drawings = kept(own, shared)
            assert drawings.find(digest) is None
            drawings.save()


@pytest.mark.parametrize("note", ["{}", '{"DIGEST": 3}', '{"DIGEST": []}', '{"DIGEST": [1, 2, 3]}'])
def test_a_note_that_says_nothing(own: Store, shared: Store, drawing: Drawing, note: str) -> None:
    digest = own.put_object(drawing.to_bytes())
    own.write_index("layouts.json", json.loads(note.replace("DIGEST", digest)))
    assert kept(own, shared).find(digest) is not None


def test_no_drawing(own: Store, shared: Store) -> None:
    assert kept(own, shared).find("../../../etc/passwd") is None
    assert kept(own, shared).find(own.put_object(b"{}")) is None
    assert kept(own, shared).find(own.put_object(b"\xff")) is None


NEXT = "2.1.0"
OLD_WORDS = "an older picture"


@pytest.fixture
def upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FuzzedSite:
    """A project whose drawings were made by a version that drew otherwise; the machine keeps them too."""
    site = FuzzedSite(tmp_path)
    site.change("recording", lambda entry: entry.pop("distributions"))  # else it is also out of date
    older = Drawing.from_bytes(site.drawing())
    assert older is not None
    data = replace(older, layout=replace(older.layout, title=OLD_WORDS)).to_bytes()
    assert OLD_WORDS.encode() in data
    site.change("drawing", lambda entry: entry.update(drawing=hashlib.sha256(data).hexdigest()), data)
    assert OLD_WORDS in picture(site)
    monkeypatch.setattr("torchrecorder.pipeline.drawings.__version__", NEXT)
    return site


def picture(site: FuzzedSite, *, engine: str = "auto") -> str:
    """The picture that is shown of the request where nothing can be recorded."""
    pipeline = Pipeline(replace(site.settings("machine"), engine=engine), NoTorch.of)
    diagram = pipeline.run([site.spoilt])[site.spoilt].diagram
    return "" if diagram is None else diagram.svg


def test_another_version_draws_again_without_torch_and_once(
    upgraded: FuzzedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = picture(upgraded)
    assert OLD_WORDS not in drawn
    assert ">Residual<" in drawn
    monkeypatch.setattr("torchrecorder.pipeline.drawings.Drawings.make", _never)
    assert picture(upgraded) == drawn


def test_without_an_engine_the_drawing_of_another_version_serves(upgraded: FuzzedSite) -> None:
    assert OLD_WORDS in picture(upgraded, engine="no-such-engine")


def test_without_its_graph_the_drawing_of_another_version_serves(upgraded: FuzzedSite) -> None:
    upgraded.change("recording", lambda _: None, b"")
    assert OLD_WORDS in picture(upgraded)


def test_a_drawing_that_does_not_say_its_version_is_of_the_first(tmp_path: Path) -> None:
    """What was committed before drawings said it serves until the next version."""
    site = FuzzedSite(tmp_path)
    site.change("drawing", lambda entry: entry.pop("version"))
    assert __version__ == "2.0.0.dev0", "then this test has done its work"
    pipeline = Pipeline(site.settings("machine"), NoTorch.of)
    pipeline.run([site.spoilt])
    assert not pipeline.cache._first.folder.joinpath("ren").exists(), "nothing was drawn"
