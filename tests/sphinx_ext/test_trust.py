"""Text in a page runs no commands."""

from __future__ import annotations

from tests.sphinx_ext.project import Project

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
