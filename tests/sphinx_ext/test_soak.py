"""A site of bad models, each with a good one after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import soak_caches
from tests.soak_caches import NOWHERE, make, mark, shown, spoilt
from tests.soak_models import BAD, Page, judge, write_models
from tests.soak_pages import Scripts, requests, write_texts
from tests.soaked import Tally
from tests.sphinx_ext.project import Project

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("real_processes")]


def test_each_bad_model_costs_its_own_diagram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally) -> None:
    monkeypatch.setenv("SOAK_MARK", mark := f"soak-sphinx-{os.getpid()}")
    project = Project(tmp_path)
    modules = write_models(tmp_path / "src")
    bad = ".. torchrecorder:: {}.Net\n   :shape: 1,3\n   :run: real\n   :timeout: {}\n\n"
    good = ".. torchrecorder:: soak_good.Good({})\n   :shape: 1,3\n\n"
    for width, (name, module) in enumerate(modules.items(), 4):
        text = f"{name}\n{'=' * len(name)}\n\n" + bad.format(module, BAD[name].timeout_s) + good.format(width)
        project.write(f"docs/{module}.rst", text)
    project.write("docs/index.rst", "Site\n====\n\n.. toctree::\n   :glob:\n\n   soak_*\n")
    built = project.build()
    tally.add("builds ended", built.status != 0)
    tally.add("uncaught exceptions", built.output.count("Traceback"))
    assert built.status == 0, built.warnings[-3000:]
    wrong = judge([Page(name, built.text(f"{modules[name]}.html")) for name in BAD], mark, tally)
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_no_text_in_a_page_runs(tmp_path: Path, tally: Tally) -> None:
    project, file = Project(tmp_path), tmp_path / "touched"
    write_texts(tmp_path / "src", file)
    # docutils makes a link of `javascript:` in every paragraph, so in a caption too, which is the author's own text
    given = [one for one in requests(file, tmp_path / "src") if "javascript:" not in one[1].get("caption", "")]
    for number, (target, options) in enumerate(given):
        lines = "".join(f"   :{name}: {value}\n" for name, value in options.items())
        project.write(f"docs/page{number}.rst", f":orphan:\n\nPage\n====\n\n.. torchrecorder:: {target}\n{lines}\n")
    project.write("docs/index.rst", "Site\n====\n")
    built = project.build()
    scripts = [found for page in built.folder.glob("page*.html") for found in Scripts(page.read_text()).found]
    tally.add("injections", len(given))
    tally.add("builds ended", built.status != 0)
    tally.add("commands run from a page", file.exists())
    tally.add("scripts in a page", len(scripts))
    assert (built.status, file.exists(), scripts) == (0, False, []), built.warnings[-2000:]


@pytest.mark.parametrize("seed", range(6))
def test_a_spoilt_cache_ends_no_build(tmp_path: Path, tally: Tally, seed: int) -> None:
    project, made = Project(tmp_path), make(tmp_path)
    project.configure(
        f"torchrecorder_path = ['../src']\ntorchrecorder_cache = '../diagrams'\ntorchrecorder_python = {NOWHERE!r}"
    )
    for first in range(0, len(made), 25):
        directives = (
            f"{mark(row.number)}\n\n.. torchrecorder:: {row.request.recording.target}\n{row.options('   ')}\n"
            for row in made[first : first + 25]
        )
        project.write(f"docs/page{first}.rst", f":orphan:\n\nPage\n====\n\n{''.join(directives)}")
    project.write("docs/index.rst", "Site\n====\n")
    said = spoilt(tmp_path, made, seed)
    built = project.build()
    found = [one for page in sorted(built.folder.glob("page*.html")) for one in shown(page.read_text(encoding="utf-8"))]
    wrong, silent = soak_caches.judge(found, said, built.warnings)
    tally.add("hostile entries, built by Sphinx or MkDocs", len(said))
    tally.add("silent of these", silent)
    tally.add("builds ended", built.status != 0)
    tally.add("uncaught exceptions", (built.output + built.warnings).count("Traceback"))
    assert built.status == 0, built.warnings[-3000:]
    assert len(found) == len(made)
    assert not wrong, "\n".join(wrong[:20])
