"""What the extension alone does for Zensical, which is played here: `nox -t sites` builds with Zensical itself."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import SimpleTextInlineProcessor
from markdown.preprocessors import Preprocessor

from mkdocs_torchrecorder import TorchRecorderExtension, extension
from mkdocs_torchrecorder.site import DiagramsFailed
from mkdocs_torchrecorder.zensical import ZensicalPage
from tests.mkdocs_ext.nets import write_nets
from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.seeing import see


class Context(Extension):
    """Leaves the page and the configuration where Zensical does."""

    def __init__(self, root: Path, *, has_references: bool = False, **config: Any) -> None:
        super().__init__()
        self._config = {"root_dir": str(root), "docs_dir": "docs", **config}
        self._has_references = has_references

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        context = Preprocessor(md)
        context.run = lambda lines: lines  # type: ignore[method-assign]
        context.page = SimpleNamespace(path="sub/page.md", meta={"torchrecorder": {"depth": 0}})  # type: ignore[attr-defined]
        context.config = self._config  # type: ignore[attr-defined]
        md.preprocessors.register(context, "rendering_context", 0)
        if self._has_references:
            md.inlinePatterns.register(SimpleTextInlineProcessor("(never)"), "mkdocs-autorefs", 168)


@pytest.fixture
def root(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with its models in `src`; the current folder is another."""
    root = tmp_path / "project"
    write_nets(root / "src")
    (root / ".torchrecorder").symlink_to(cache)
    cache.mkdir(exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(extension, "_said", set())
    return root


def convert(root: Path, text: str = FENCE, *, on_error: str = "warn", path: str = "src", **config: Any) -> str:
    ours = TorchRecorderExtension(path=[path], on_error=on_error)
    return Markdown(extensions=[Context(root, **config), ours]).convert(text)


def test_paths_begin_at_the_configuration_file_and_front_matter_counts(root: Path) -> None:
    seen = see(convert(root, watch=["src"]))
    assert len(seen.figures) == 1
    assert ", ReLU" in seen.figures[0].text


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({}, "`watch: [src]` in mkdocs.yml"),
        ({"watch": ["docs", "not/there"]}, "`watch: [docs, not/there, src]` in mkdocs.yml"),
    ],
)
def test_a_file_that_is_not_watched_is_one_warning(
    root: Path, config: dict[str, Any], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        convert(root, **config)
    said = "torchrecorder: src/nets/__init__.py is not watched, so Zensical keeps pictures when it changes: write "
    assert [record.getMessage() for record in caplog.records if "watched" in record.getMessage()] == [said + line]


def test_a_name_without_a_file_is_not_to_be_watched(root: Path) -> None:
    page = ZensicalPage("page.md", {}, {"root_dir": str(root)}, has_references=False)
    assert page.unwatched([root / "torch-git"], []) == ""


def test_zensical_toml_is_written_otherwise(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    (root / "zensical.toml").touch()
    convert(root)
    assert caplog.messages[-1].endswith('write `watch = ["src"]` under [project] in zensical.toml')


def test_not_the_whole_project_is_watched(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    (root / "src" / "nets").rename(root / "nets")
    convert(root, path=".")
    assert caplog.messages[-1].endswith("write `watch: [nets]` in mkdocs.yml")


@pytest.mark.parametrize("name", ["watch", "watched_files"])
def test_a_file_that_is_watched_is_no_warning(root: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    file = root / "src" / "nets" / "__init__.py"
    config: dict[str, Any] = {"watch": {"watch": ["src"]}, "watched_files": {"watched_files": [(str(file), 1)]}}
    convert(root, **config[name])
    assert [text for text in caplog.messages if "watched" in text] == []
    assert str(file) in (root / ".torchrecorder" / "traced").read_text().splitlines()


def test_what_is_raised_names_page_and_line_first(root: Path) -> None:
    page = root / "docs" / "sub" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Net\n\n" + FENCE.replace("nets.Net", "nets.Nett"))
    with pytest.raises(DiagramsFailed, match=r"\Asub/page.md:3: torchrecorder: cannot find nets.Nett"):
        convert(root, page.read_text(), on_error="raise", watch=["src"])
    with pytest.raises(DiagramsFailed, match=r"\Atorchrecorder: src/nets/__init__.py is not watched"):
        convert(root, on_error="raise")


def test_references_stand_beside_the_picture(root: Path) -> None:
    seen = see(convert(root, FENCE.replace(":shape", ":depth: 1\n:shape"), watch=["src"], has_references=True))
    wanted = {it.attributes["identifier"]: it.inside for it in seen.all("autoref")}
    assert "svg" not in {tag for inside in wanted.values() for tag in inside}
    assert {"nets.Net", "torch.nn.modules.linear.Linear", "torch.nn.Linear"} < set(wanted)
    marked = {it.attributes["data-class"] for it in seen.all("a") if "data-class" in it.attributes}
    assert marked == {"nets.Net", "torch.nn.modules.linear.Linear"}
    assert "autoref" not in convert(root, watch=["src"])


def test_a_page_brings_its_own_style_and_script(root: Path) -> None:
    seen = see(convert(root, FENCE + "\n\n" + FENCE.replace(":shape", ":depth: 0-1\n:shape"), watch=["src"]))
    assert [len(seen.all(tag)) for tag in ("style", "script")] == [1, 1]
    assert [it.inside[-1] for it in (*seen.all("style"), *seen.all("script"))] == ["figure", "figure"]
    assert len([it for it in seen.all("input") if it.attributes.get("type") == "radio"]) == 2
    assert json.loads(seen.all("div", "torchrecorder-picture")[0].attributes["data-details"] or "") != {}
    assert "<legend>Tiefe</legend>" in convert(
        root, FENCE.replace(":shape", ":depth: 0-1\n:shape"), theme={"language": "de"}
    )
    still = see(convert(root, FENCE.replace(":shape", ":zoom: no\n:shape"), watch=["src"]))
    assert [len(still.all(tag)) for tag in ("style", "script")] == [1, 0]
