"""A cache that is committed with the project: read without torch, written by `update` alone, and not trusted."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.core.answering import NoTorch
from tests.core.write.safe import is_safe
from tests.entries import behind, entries, facts_of, harm, rewrite
from tests.folders import contents
from tests.models.one_layer import net
from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import OutOfDate, TorchMissing
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings, read_request

NET = net(imports="from lay_pkg import spare")
REQUEST = read_request("lay_pkg.net.Net", {"shape": "1,3"})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a committed cache."""
    root = tmp_path_factory.mktemp("layers") / "project"
    for name, text in (("__init__", ""), ("spare", "X = 1\n"), ("net", NET)):
        file = root / "lay_pkg" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    outcome = Pipeline(settings(root), writes_committed=True).run([REQUEST])[REQUEST]
    assert outcome.error is None, outcome.error
    return root


@pytest.fixture
def project(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "checkout"))


def settings(root: Path, **more: Any) -> Settings:
    return Settings.for_project(root, path=["."], cache="diagrams", **more)


def build(root: Path, **more: Any) -> Outcome:
    """As on a builder that has neither torch nor Graphviz."""
    pipeline = Pipeline(settings(root, engine="no-such-engine", **more), NoTorch.of)
    return pipeline.run([REQUEST])[REQUEST]


def test_it_is_enough(project: Path) -> None:
    outcome = build(project)
    assert outcome.error is None
    assert outcome.diagram is not None
    assert "fc" in outcome.diagram.svg
    assert outcome.diagram.graph.modules["fc"].params.total == 16


def test_it_holds_nothing_of_this_machine(recorded: Path) -> None:
    files = [file for file in (recorded / "diagrams").rglob("*") if file.is_file()]
    assert {file.relative_to(recorded / "diagrams").parts[0] for file in files} == {
        "rec",
        "ren",
        "README",
        ".gitattributes",
    }
    assert not [file for file in files if str(recorded).encode() in file.read_bytes()]


def test_it_is_the_same_wherever_it_was_made(recorded: Path, tmp_path: Path) -> None:
    again = Path(shutil.copytree(recorded, tmp_path / "again"))
    shutil.rmtree(again / "diagrams")
    Pipeline(settings(again), writes_committed=True).run([REQUEST])
    assert contents(again / "diagrams") == contents(recorded / "diagrams")


def test_a_build_does_not_write_to_it(project: Path) -> None:
    before = contents(project / "diagrams")
    (project / "lay_pkg/net.py").write_text(NET.replace("3, 4", "3, 5"))
    Pipeline(settings(project)).run([REQUEST])
    assert contents(project / "diagrams") == before
    assert (project / ".torchrecorder" / "rec").is_dir()


def edit(project: Path, name: str, text: str) -> None:
    (project / "lay_pkg" / name).write_text(text)


def test_what_changed_is_told(project: Path) -> None:
    edit(project, "net.py", NET.replace("self.fc(x)", "self.fc(x).relu()"))
    warned = build(project)
    assert isinstance(warned.error, OutOfDate)
    assert "lay_pkg/net.py: Net.forward changed" in str(warned.error)
    assert "torchrecorder update" in str(warned.error)
    assert not warned.error.is_fatal
    assert warned.diagram is not None

    hidden = build(project, on_stale="placeholder")
    assert isinstance(hidden.error, OutOfDate)
    assert hidden.diagram is None

    failed = build(project, on_stale="error")
    assert isinstance(failed.error, OutOfDate)
    assert failed.error.is_fatal


def test_what_only_ran_at_import_is_shown_with_a_line_in_the_log(project: Path) -> None:
    edit(project, "spare.py", "X = 2\n")
    outcome = build(project, on_stale="error")
    assert outcome.error is None
    assert outcome.diagram is not None
    assert "lay_pkg/spare.py changed outside its functions" in outcome.info


EVIL = [
    "<script>alert(1)</script>",
    '<g onload="alert(1)"/>',
    '<image href="https://example.org/x.png"/>',
    '<a href="javascript:alert(1)"><text>x</text></a>',
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>',
    "<style>@import 'https://example.org/x.css'</style>",
    '<rect fill="url(https://example.org/x)"/>',
    '<rect style="background:url(x)"/>',
    "<title><g/></title>",
    "<!-- --!><script>alert(1)</script> -->",
    '<g xmlns="http://www.w3.org/1999/xhtml"/>',
]


def test_a_damaged_graph_and_picture_are_missing_and_not_out_of_date(project: Path) -> None:
    harm(project / "diagrams", lambda data: data.replace(b"Linear", b"Lineal"))
    outcome = build(project)
    assert outcome.diagram is None
    assert isinstance(outcome.error, TorchMissing)


@pytest.mark.parametrize("evil", EVIL)
def test_a_picture_that_does_more_than_show_is_not_shown(project: Path, evil: str) -> None:
    outcome = build(project)
    assert outcome.diagram is not None
    assert is_safe(outcome.diagram.svg)
    assert not is_safe(outcome.diagram.svg.replace("</svg>", f"{evil}</svg>"))
    forge(project, evil)
    forged = build(project)
    assert forged.diagram is None or evil not in forged.diagram.svg


def forge(project: Path, evil: str) -> None:
    """Put another picture into the cache, with a hash that is right."""
    (entry,) = entries(project / "diagrams", "ren")
    drawing = Drawing.from_bytes(behind(entry))
    assert drawing is not None
    node, *others = drawing.layout.nodes
    word = node.words[0]._replace(text=evil)
    nodes = [node._replace(words=(word,), reference=evil), *others]
    data = replace(drawing, layout=replace(drawing.layout, nodes=nodes, description=evil)).to_bytes()
    assert Drawing.from_bytes(data) is not None
    rewrite(entry, {**facts_of(entry), "drawing": hashlib.sha256(data).hexdigest()}, data)


ODD: list[dict[str, Any]] = [
    {},
    {"modules": "../x"},
    {"files": []},
    {"ran": {"a": 1}},
    {"files": {"../../x": "y", "/dev/zero": "z"}},
    {"odd": 1},
]
OURS = {"torchrecorder_manifest": 2, "graph": "../../../etc/passwd"}
ENTRIES: list[dict[str, Any]] = [{"torchrecorder_manifest": 99}, {"torchrecorder_manifest": 2, "graph": 3}]


@pytest.mark.parametrize("facts", ENTRIES + [{**OURS, **odd} for odd in ODD])
def test_an_entry_that_is_none_of_ours_is_a_miss(project: Path, facts: dict[str, Any]) -> None:
    (entry,) = entries(project / "diagrams")
    rewrite(entry, facts)
    assert isinstance(build(project).error, TorchMissing)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, "\x00", '{"graph": 3}', '{\n "check": "' + "0" * 64 + '",\n }']
)
def test_what_is_no_entry_is_a_miss(project: Path, text: str) -> None:
    (entry,) = entries(project / "diagrams")
    entry.write_text(text)
    assert isinstance(build(project).error, TorchMissing)


def test_damaged_objects_are_a_miss(project: Path) -> None:
    harm(project / "diagrams", lambda data: data[:-1])
    assert isinstance(build(project).error, TorchMissing)
