"""What is measured of other libraries' documentation: whose picture a page has, why a model has none, and the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from bench import docs_of_others, page_of_others
from bench.docs_of_others import Library, read_documented, read_libraries, read_models, why_not_drawn

FIGURE = '<figure class="torchrecorder"><svg><title>{}</title></svg></figure>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a built site of two generators, whose package can be imported."""
    (tmp_path / "others_pkg.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    class Head(nn.Module): ...\n"
        "class Loss(nn.Module): ...\nclass Config: ...\nclass Wide(Net): ...\n",
        encoding="utf-8",
    )
    (tmp_path / "html").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("others_pkg", None)


def test_a_picture_belongs_to_the_class_in_whose_description_it_stands(built: Path) -> None:
    (built / "html" / "sphinx.html").write_text(
        f'<dl class="py class"><dt id="others_pkg.Net">Net</dt><dd><p>A net.</p>'
        f'<dl class="py class"><dt id="others_pkg.Net.Head">Head</dt><dd>{FIGURE.format("head")}</dd></dl></dd></dl>'
        '<dl class="py class"><dt id="others_pkg.Config">Config</dt><dd></dd></dl>'
        '<dl class="py class"><dt id="others_pkg.Gone">Gone</dt><dd></dd></dl>',
        encoding="utf-8",
    )
    (built / "html" / "mkdocs.html").write_text(
        '<div class="doc doc-object doc-class"><h2 id="others_pkg.Wide" class="doc doc-heading">Wide</h2>'
        f'<div class="doc doc-contents"><details>{FIGURE.format("wide")}</details></div></div>'
        '<div class="doc doc-object doc-class"><a id="others_pkg.Loss"></a>'
        '<div class="torchrecorder torchrecorder-error">No diagram</div></div>',
        encoding="utf-8",
    )
    documented = read_documented(built, [built])
    drawn = {name: "<title>" in entry.figure for name, entry in documented.items()}
    nets = {"others_pkg.Net": False, "others_pkg.Net.Head": True}
    assert drawn == {**nets, "others_pkg.Wide": True, "others_pkg.Loss": False}


def test_a_model_that_is_not_drawn_has_the_reason_that_the_build_gives(built: Path) -> None:
    (built / "html" / "page.html").write_text(
        "".join(f'<dl class="py class"><dt id="others_pkg.{name}"></dt></dl>' for name in ("Net", "Wide")),
        encoding="utf-8",
    )
    documented = read_documented(built, [built])
    log = "…\n  others_pkg.Net: its constructor needs width\nothers_pkg.Network: no\n"
    assert why_not_drawn(["others_pkg.Net", "others_pkg.Wide", "others_pkg.Loss"], documented, log) == {
        "others_pkg.Net": "its constructor needs width",
        "others_pkg.Wide": "nothing is said of it",
    }


def test_each_library_of_the_hand_written_list_is_described() -> None:
    libraries = read_libraries()
    listed = [name for name in libraries if read_models(name)]
    assert len(listed) == 9
    rows = (docs_of_others.BENCH / "models_of_others.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert {row.split("\t")[0] for row in rows} == {*listed}
    for library in libraries.values():
        assert "torchrecorder" in library.lines
        assert not library.config or library.config.rstrip().rpartition("plugins:")[2].startswith("\n  - ")


def costs(seconds: float, again: float, peak: float) -> dict[str, float]:
    return {"seconds": seconds, "cpu": seconds, "again": again, "again_cpu": again, "peak": peak}


def measured(**more: Any) -> dict[str, Any]:
    return {
        **{"commit": "c0ffee", "source": "beef", "date": "2026-11-26", "processors": 2, "python": "3.11.7", "lines": 2},
        **{"modules": 9, "pictures": ["lib.A", "lib.B"], "warnings": [], "is_broken": False, "said": []},
        "models": {"lib.A": "", "lib.C": "cannot build lib.C: its constructor needs <width>"},
        "undocumented": ["lib.D"],
        "plain": costs(10, 2, 5e8),
        "ours": costs(15, 2.2, 2.6e9),
        **more,
    }


def test_the_page_marks_what_misses_its_goal_and_leaves_open_what_nobody_looked_at() -> None:
    library = Library("lib", "owner/lib", "docs", (), before={"pictures": 6, "modules": 9, "plain": 5, "cold": 30})
    page = page_of_others.page({"lib": measured()}, {"lib": library}, {})
    assert "| lib | 2 | 1 | 9 | 2 |  |  |  | 0 |" in page
    assert "| lib | 10.0 s | 15.0 s | 1.5 × | 2.0 s | 2.2 s | **1.1 ×** | 0.5 GB | **2.6 GB** |" in page
    assert "| lib | 6 of 9 | 2 of 9 | 5 s | 30 s | 6 × | 1.5 × |  | 2.6 GB |" in page
    assert "- lib, `C`: cannot build: its constructor needs &lt;width>" in page
    assert "`lib.D` without autodoc" in page


def test_verdicts_count_for_pictures_that_are_still_there() -> None:
    library = Library("lib", "owner/lib", "docs", (), most=1.4)
    verdicts = {("lib", "lib.A"): "worth", ("lib", "lib.B"): "misleading", ("lib", "lib.Z"): "worth"}
    figures = {"lib": measured(warnings=["WARNING: new"], is_broken=True)}
    page = page_of_others.page(figures, {"lib": library}, verdicts)
    assert "| 2 | 2 | 1 | 1 | 1, **breaks it** |" in page
    assert "**1.5 ×**" in page
    assert "## Before" not in page


def test_figures_are_kept_per_library_in_the_order_of_the_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_others, "FOLDER", tmp_path)
    libraries = {name: Library(name, f"owner/{name}", "docs", ()) for name in ("first", "second")}
    page_of_others.write({}, libraries)
    assert "Nothing is measured yet." in (tmp_path / "real-libraries.md").read_text(encoding="utf-8")
    page_of_others.write({"second": measured()}, libraries)
    page_of_others.write({**page_of_others.read(), "first": measured()}, libraries)
    assert [*page_of_others.read()] == ["first", "second"]
    page = (tmp_path / "real-libraries.md").read_text(encoding="utf-8")
    assert page.index("| first |") < page.index("| second |")


@pytest.mark.parametrize("name", ["torch_ecg", "refiners"])
def test_what_is_suggested_is_pasted_as_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = read_libraries()[name]
    printed = {
        "torch_ecg": 'torchrecorder_autodoc = {\n    # all\n    "*": True,\n}\n',
        "refiners": 'plugins:\n  - torchrecorder:\n      autodoc:\n        # all\n        "*": true\n',
    }[name]
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command[2:])
        return SimpleNamespace(stdout=printed)

    monkeypatch.setattr("subprocess.run", run)
    text = docs_of_others._suggested(library, Path())
    assert asked == [["torchrecorder", "suggest", "docs", "--format", "mkdocs" if library.config else "sphinx"]]
    if library.config:
        (plugin,) = yaml.safe_load(f"plugins:\n{text}")["plugins"]
        assert plugin == {"torchrecorder": {"path": ["src"], "autodoc": {"*": True}}}
    else:
        assert text == f'extensions.append("sphinx_torchrecorder")\n{printed}'
