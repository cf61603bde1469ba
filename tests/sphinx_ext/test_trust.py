"""Text in a page runs no commands, and no model ends a build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sphinx_ext.project import Built, Project

COMMANDS = (
    "os.system('touch touched')",
    "subprocess.check_output(['touch', 'touched'])",
    "builtins.exec('open(\\'touched\\', \\'w\\')')",
    "nets.os.system('touch touched')",
)


def test_commands_in_a_page_are_refused_before_they_run(project: Project) -> None:
    directives = [f".. torchrecorder:: {command}\n\n" for command in COMMANDS]
    directives += [
        ".. torchrecorder:: nets.Net\n   :shape: 4,3\n   :styler: subprocess.Popen(['touch', 'touched'])\n\n"
    ]
    directives += [".. torchrecorder:: nets.Net\n   :inputs: os.system('touch touched')\n"]
    project.write("src/nets.py", "import os\n" + (project.root / "src/nets.py").read_text())
    project.write("docs/index.rst", "Index\n=====\n\n" + "".join(directives))
    built = project.build()
    assert not list(project.root.rglob("touched"))
    assert built.warnings.count("is not called: a page may call classes of nn.Module") == len(directives)
    assert built.warnings.count("[torchrecorder.refused]") == len(directives) - 1
    assert "to allow it, add 'subprocess.check_output' to `torchrecorder_allow` in conf.py" in built.warnings
    assert built.warnings.count("WARNING") == len(directives)


def test_what_the_site_allows_is_called(project: Project) -> None:
    project.configure('torchrecorder_allow = ["copy.deepcopy"]')
    project.write("docs/index.rst", "Index\n=====\n\n.. torchrecorder:: copy.deepcopy('no module')\n")
    assert "calling it gave an object of class str, not a torch.nn.Module" in project.build().warnings


BAD = ("HalfPair", "HalfPairs", "Scribbles", "Tidies", "Shouts", "Clears", "Falls")
MISBEHAVING = Path(__file__).parents[1] / "models" / "misbehaving.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A site with bad models, each followed by the good one."""
    project = Project(tmp_path_factory.mktemp("bad"))
    project.write("src/bad_nets.py", MISBEHAVING.read_text())
    directive = ".. torchrecorder:: bad_nets.{}\n   :shape: 1,3\n   :run: real\n\n"
    pages = "".join(directive.format(name) + directive.format("Net") for name in BAD)
    project.write("docs/index.rst", "Index\n=====\n\n" + pages)
    return project.build()


def test_a_bad_model_costs_its_own_diagram_and_one_warning(built: Built) -> None:
    assert built.status == 0
    assert built.warnings.count("WARNING") == 5, built.warnings
    assert len(re.findall(r"<title[^>]*>Net</title>", built.text("index.html"))) == len(BAD), "the good one each time"


def test_what_a_model_says_acts_nowhere(built: Built) -> None:
    assert len(built.text("index.html")) < 1_000_000
    assert len(built.warnings) < 200_000
    for text in (built.text("index.html"), built.warnings, built.output):
        assert not {"\x1b", "\x07", "\0", "\u202e"} & {*text}
