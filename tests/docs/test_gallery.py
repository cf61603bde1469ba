"""The gallery is shown from its recordings alone, without the libraries of its models."""

from __future__ import annotations

from pathlib import Path

from docs.gallery.entries import FIGURES, PAGES
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request
from torchrecorder.request.settings import Settings
from torchrecorder.trace.freshness import Verdict

DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = [entry for _, entries in PAGES.values() for entry in entries]
KINDS = {
    *("classification", "detection", "segmentation", "U-Net", "encoder", "decoder", "encoder-decoder", "MoE", "GAN"),
    *("multimodal", "speech", "diffusion", "graph", "recommender", "recurrent", "state space"),
}


def test_every_recording_is_fresh(tmp_path: Path) -> None:
    settings = Settings(tmp_path, (str(DOCS),), committed=DOCS / "gallery" / "recordings", project=DOCS.parent)
    recordings = Pipeline(settings).recordings()
    found = {e.name: recordings.look(read_request(e.target, e.written()).recording)[1] for e in ENTRIES}
    # If one is not: nox -s bench -- gallery
    assert {name: str(it) for name, it in found.items() if it.verdict is not Verdict.FRESH} == {}
    pages = "".join((DOCS / "gallery" / f"{page}.md").read_text("utf-8") for page in PAGES)
    assert [entry.name for entry in ENTRIES if f"\n{entry.target}\n" not in pages] == []


def test_all_kinds_and_many_libraries_are_there() -> None:
    assert len(ENTRIES) >= 40
    assert len({entry.package for entry in ENTRIES}) >= 10
    kinds = {kind for entry in ENTRIES for kind in entry.kinds.split(", ")}
    assert kinds >= KINDS
    assert len(FIGURES) == 10
    assert FIGURES.keys() <= {entry.name for entry in ENTRIES}
