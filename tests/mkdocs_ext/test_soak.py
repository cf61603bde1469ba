"""A site of bad models, each with a good one after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.mkdocs_ext.site import Site
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
        bad = fence.format(f"{module}.Net", ":run: real\n:timeout: 4\n")
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
