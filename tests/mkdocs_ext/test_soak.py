"""A site of bad models, each with a good one after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import soak_caches
from tests.mkdocs_ext.site import Site
from tests.soak_caches import NOWHERE, make, mark, shown, spoilt
from tests.soak_models import BAD, Page, judge, write_models
from tests.soak_pages import Scripts, requests, write_texts
from tests.soaked import Tally

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("real_processes")]


def test_each_bad_model_costs_its_own_diagram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally) -> None:
    monkeypatch.setenv("SOAK_MARK", mark := f"soak-mkdocs-{os.getpid()}")
    nets = tmp_path / "nets"
    nets.mkdir()
    modules = write_models(nets)
    site = Site(tmp_path / "site", nets, tmp_path / "cache")
    fence = "```torchrecorder {}\n:shape: 1,3\n{}```\n\n"
    for width, (name, module) in enumerate(modules.items(), 4):
        bad = fence.format(f"{module}.Net", f":run: real\n:timeout: {BAD[name].timeout_s}\n")
        site.write(f"{module}.md", f"# {name}\n\n{bad}{fence.format(f'soak_good.Good({width})', '')}")
    site.write("index.md", "# Site\n")
    built = site.build(use_directory_urls=False)
    tally.add("builds ended", bool(built.aborted))
    assert not built.aborted
    wrong = judge([Page(name, built.page(f"{modules[name]}.html")) for name in BAD], mark, tally)
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_no_text_in_a_page_runs(tmp_path: Path, tally: Tally) -> None:
    nets, file = tmp_path / "nets", tmp_path / "touched"
    nets.mkdir()
    write_texts(nets, file)
    site, given = Site(tmp_path / "site", nets, tmp_path / "cache"), requests(file, nets)
    for number, (target, options) in enumerate(given):
        lines = "".join(f":{name}: {value}\n" for name, value in options.items())
        site.write(f"page{number}.md", f"# Page\n\n```torchrecorder {target}\n{lines}```\n")
    site.write("index.md", "# Site\n")
    built = site.build(use_directory_urls=False)
    scripts = [found for page in built.folder.glob("page*.html") for found in Scripts(page.read_text()).found]
    tally.add("injections", len(given))
    tally.add("builds ended", bool(built.aborted))
    tally.add("commands run from a page", file.exists())
    tally.add("scripts in a page", len(scripts))
    assert (built.aborted, file.exists(), scripts) == ("", False, [])


@pytest.mark.parametrize("seed", range(100, 106))
def test_a_spoilt_cache_ends_no_build(tmp_path: Path, tally: Tally, seed: int) -> None:
    folder = tmp_path / "site"
    made = make(folder)
    site = Site(folder, folder / "src", tmp_path / "cache")
    site.settings |= {"cache": "diagrams", "python": NOWHERE}
    for first in range(0, len(made), 25):
        fences = (
            f"{mark(row.number)}\n\n```torchrecorder {row.request.recording.target}\n{row.options('')}```\n\n"
            for row in made[first : first + 25]
        )
        site.write(f"page{first}.md", f"# Page\n\n{''.join(fences)}")
    site.write("index.md", "# Site\n")
    said = spoilt(folder, made, seed)
    built = site.build(use_directory_urls=False)
    pages = [page.read_text(encoding="utf-8") for page in sorted(built.folder.glob("page*.html"))]
    found = [one for page in pages for one in shown(page)]
    wrong, silent = soak_caches.judge(found, said, "\n".join(built.warnings))
    tally.add("hostile entries, built by Sphinx or MkDocs", len(said))
    tally.add("silent of these", silent)
    tally.add("builds ended", bool(built.aborted))
    assert not built.aborted
    assert len(found) == len(made)
    assert not wrong, "\n".join(wrong[:20])
