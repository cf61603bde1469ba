"""A drawing that comes out otherwise than before raises REVISION: else all that lie in caches stay as they were."""

from __future__ import annotations

import json

import pytest

from tests.core.drawing.golden_drawings import COMMAND, FILE, digests, engine, jobs
from torchrecorder.drawing import REVISION, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.write import look


def complaint(kept: dict[str, object], revision: int, now: dict[str, str]) -> str:
    """What is to be done about drawings that are not those of the file; nothing if they are."""
    then = kept["drawings"]
    assert isinstance(then, dict)
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    renew = f"`{COMMAND}` renews {FILE.name}"
    if changed and revision == kept["REVISION"]:
        shown = ", ".join(changed[:5])
        return (
            f"{len(changed)} of {len(now)} drawings come out otherwise than before: {shown}. If that is meant, raise"
            f" REVISION in torchrecorder/drawing/__init__.py, or caches go on showing the old ones; then {renew}"
        )
    return f"REVISION is {revision} now: {renew}" if changed or revision != kept["REVISION"] else ""


def test_drawings_that_change_raise_the_revision() -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    if kept["engine"] != engine():
        pytest.skip(
            f"made with {kept['engine']}, and another engine lays out otherwise, which is in the key of a drawing"
        )
    assert complaint(kept, REVISION, digests()) == ""


def test_what_is_said() -> None:
    kept: dict[str, object] = {"REVISION": 7, "drawings": {"a": "1", "b": "2"}}
    assert complaint(kept, 7, {"a": "1", "b": "2"}) == ""
    assert complaint(kept, 7, {"a": "1", "b": "3"}).startswith("1 of 2 drawings come out otherwise than before: b. If")
    assert "raise REVISION in torchrecorder/drawing/__init__.py" in complaint(kept, 7, {"a": "1"})
    assert complaint(kept, 8, {"a": "1", "b": "3"}) == f"REVISION is 8 now: `{COMMAND}` renews drawings.json"
    assert complaint(kept, 8, {"a": "1", "b": "2"}) == f"REVISION is 8 now: `{COMMAND}` renews drawings.json"


def test_a_word_is_seen_and_a_colour_needs_no_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour of a theme once changed all pictures but those in caches; they are written from what caches keep now."""
    before = digests()
    (drawing,) = draw.draw([jobs()["mlp"]], find_engine("pure"))
    assert isinstance(drawing, Drawing)
    picture = drawing.svg
    with monkeypatch.context() as patch:
        patch.setitem(look.COLOURS, "linear", "#7c6cd7")
        assert digests() == before
        assert drawing.svg != picture
    monkeypatch.setattr(draw, "tree", lambda *_, **__: "a tree")
    assert not set(digests().values()) & set(before.values())
