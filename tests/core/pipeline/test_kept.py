"""Drawings of a cache: examined once, known afterwards, and never shown when they are not what they were."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.graph.building import mlp
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store
from torchrecorder.drawing import svg
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import FormatError
from torchrecorder.page.diagram import Diagram
from torchrecorder.pipeline.drawings import DrawingIndex
from torchrecorder.request import DrawingOptions


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
    assert first.find(digest, is_trusted=False) is not None
    first.save()
    monkeypatch.setattr(Store, "object", _never)
    monkeypatch.setattr(svg, "is_safe", _never)
    found = kept(own, shared).find(digest, is_trusted=False)
    assert found is not None
    assert found.digest == digest
    assert found.classes == svg.classes(drawing.svg) != ()


def _never(*args: object) -> None:
    raise AssertionError("it was looked at again")


def test_it_is_the_drawing(own: Store, shared: Store, drawing: Drawing) -> None:
    found = kept(own, shared).find(own.put_object(drawing.to_bytes()), is_trusted=True)
    assert found is not None
    assert found.load() == drawing
    assert Diagram(found, load_graph=mlp).digest == Diagram(drawing, load_graph=mlp).digest


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_file_that_changed_is_looked_at(own: Store, shared: Store, drawing: Drawing, harm: str) -> None:
    digest = shared.put_object(drawing.to_bytes())
    first = kept(own, shared)
    first.find(digest, is_trusted=False)
    first.save()
    known, file = kept(own, shared), file_of(shared, digest)
    found = known.find(digest, is_trusted=False)
    data = file.read_bytes()
    file.unlink()
    if harm != "remove":
        file.write_bytes(data[:-9] if harm == "cut" else data.replace(b"Linear", b"linear", 1))
    assert kept(own, shared).find(digest, is_trusted=False) is None
    assert found is not None
    with pytest.raises(FormatError, match="during the build"):
        found.load()


@pytest.mark.parametrize("sizes", [[], [1], [-1, 1, 0], ["1"], [10**9, 0, 0], 3, None])
def test_sizes_that_do_not_fit(own: Store, shared: Store, drawing: Drawing, sizes: object) -> None:
    head, _, texts = drawing.to_bytes().partition(b"\n")
    lying = json.dumps({**json.loads(head), "sizes": sizes}).encode() + b"\n" + texts
    assert kept(own, shared).find(own.put_object(lying), is_trusted=True) is None


def test_trust_is_no_matter_of_the_file(own: Store, shared: Store, drawing: Drawing) -> None:
    evil = replace(drawing, svg=drawing.svg.replace("</svg>", "<script>alert(1)</script></svg>"))
    digest = shared.put_object(evil.to_bytes())
    for is_trusted in (False, True, False, True):
        drawings = kept(own, shared)
        assert (drawings.find(digest, is_trusted=is_trusted) is not None) is is_trusted
        drawings.save()


@pytest.mark.parametrize("note", ["{}", '{"DIGEST": 3}', '{"DIGEST": []}', '{"DIGEST": [1, 2, 3]}'])
def test_a_note_that_says_nothing(own: Store, shared: Store, drawing: Drawing, note: str) -> None:
    digest = own.put_object(drawing.to_bytes())
    own.write_index("drawings.json", json.loads(note.replace("DIGEST", digest)))
    assert kept(own, shared).find(digest, is_trusted=True) is not None


def test_no_drawing(own: Store, shared: Store) -> None:
    assert kept(own, shared).find("../../../etc/passwd", is_trusted=True) is None
    assert kept(own, shared).find(own.put_object(b"{}"), is_trusted=True) is None
    assert kept(own, shared).find(own.put_object(b"\xff"), is_trusted=True) is None
