"""What no check foresees, raised in each step between a Graph and a finished page: it costs its own diagram at most."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mkdocs.plugins import BasePlugin

from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.site import Built, Site
from tests.unforeseen import NO_DIAGRAM, raising


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, nets: Path) -> Path:
    """A cache of this machine with the recordings of the site."""
    root = tmp_path_factory.mktemp("unforeseen")
    assert undrawn(root / "cache", Site(root / "site", nets, root / "cache")).build().warnings == []
    return root / "cache"


def undrawn(cache: Path, site: Site) -> Site:
    """A site of two diagrams, recorded before and not drawn."""
    shutil.rmtree(cache / "ren", ignore_errors=True)
    site.write("index.md", f"{FENCE}\n{FENCE.replace('nets.Net', 'nets.Net(width=5)')}")
    return site


def warned(built: Built) -> list[str]:
    return [text for text in built.warnings if "torchrecorder failed inside" in text]


@pytest.mark.parametrize(
    ("step", "number", "boxes", "where"),
    [
        ("torchrecorder.drawing.model:Drawing.to_bytes", 0, 2, "index.md:"),
        ("torchrecorder.pipeline:_Batch._load", 1, 1, ""),
        ("torchrecorder.pipeline:_Batch.outcomes", 0, 2, "index.md:"),
        ("mkdocs_torchrecorder.figure:PageFiller.figure", 2, 1, "index.md:"),
        ("torchrecorder.site:log_entries", 1, 2, ""),
        ("torchrecorder.site:slowest", 1, 2, ""),
        ("torchrecorder.pipeline.recordings:Recordings.kept", 1, 0, None),
    ],
)
def test_a_step_that_raises_is_one_warning(
    tmp_path: Path,
    nets: Path,
    recorded: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    boxes: int,
    where: str | None,
) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(recorded, cache)
    site = undrawn(cache, Site(tmp_path / "site", nets, cache))
    raising(step, number, monkeypatch.setattr)
    built = site.build()
    assert not built.aborted
    assert built.page().count(NO_DIAGRAM) == boxes
    expected = 0 if where is None else boxes if step.endswith(("to_bytes", "outcomes")) else 1
    assert len(warned(built)) == expected, built.warnings
    assert all((where or "") in text and "unforeseen" in text for text in warned(built))


class Prints(BasePlugin):  # type: ignore[type-arg, no-untyped-call]
    """Another plugin, which writes all pages into one file that is not in the encoding that it says."""

    def on_post_build(self, config: Any) -> None:
        page = Path(config.site_dir, "index.html").read_bytes()
        Path(config.site_dir, "print.html").write_bytes(page)


def test_a_file_of_another_plugin_that_cannot_be_filled(
    tmp_path: Path, nets: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = undrawn(recorded, Site(tmp_path / "site", nets, recorded))
    raising("mkdocs_torchrecorder.plugin:TorchRecorderPlugin._fill_file", 0, monkeypatch.setattr)
    built = site.build({"prints": Prints()})
    assert not built.aborted
    assert [name for text in warned(built) for name in ("404.html", "print.html") if name in text] == [
        "404.html",
        "print.html",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_site_in_a_folder_whose_name_is_not_text(
    tmp_path: Path, nets: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mkdocs", "torchrecorder"):  # pytest's workers cannot report such a name
        monkeypatch.setattr(logging.getLogger(name), "propagate", False)
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff b")
    site = undrawn(recorded, Site(Path(folder), nets, recorded))
    for _ in range(2):
        built = site.build()
        assert not built.aborted
        assert built.warnings == []
        assert NO_DIAGRAM not in built.page()
    subprocess.run(["rm", "-r", folder], check=True)  # what removes temporary folders may not know such names
