"""What lies outside of a project: packages, variables, files of the machine, and what differs from run to run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.entries import entries, facts_of
from tests.models.one_layer import net
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request

MakeProject = Callable[[dict[str, str | bytes]], Any]

SETTINGS = """
import os
def by_name(name):
    return int(os.environ.get(name, 4))
def by_scan(name):
    return int({key.lower(): value for key, value in os.environ.items()}.get(name.lower(), 4))
os.environ.get("ASKED_AT_IMPORT")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packages are installed, beside those of this Python."""
    folder = tmp_path / "env" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("NET_WIDTH", raising=False)
    return folder


def install(site: Path, name: str, version: str, code: str = "") -> Path:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if code:
        (site / f"{name}.py").write_text(code)
    return info


def project_of(make_project: MakeProject, site: Path, width: str, imports: str = "") -> Any:
    project = make_project({"src/pkg.py": net(width, imports)})
    project.path = ["src", str(site)]
    assert project.draw()[1] == 1
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"
    return project


def is_shown_right(project: Any) -> None:
    drawn, recorded = project.draw()
    assert recorded == 1
    assert drawn.svg == project.truth().svg
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"


FIND = """
from importlib.metadata import version, PackageNotFoundError
def width():
    try:
        return 4 + len(version("fastlib").split("."))
    except PackageNotFoundError:
        return 4
"""


def test_a_package_of_which_only_the_version_was_asked(make_project: MakeProject, site: Path) -> None:
    project = project_of(make_project, site, "width()", FIND)
    info = install(site, "fastlib", "1.0")
    assert "fastlib 1.0 was installed" in str(project.finding())
    is_shown_right(project)
    info.rename(site / "fastlib-1.0.1.dist-info")
    (site / "fastlib-1.0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: fastlib\nVersion: 1.0.1\n")
    assert "fastlib 1.0 became 1.0.1" in str(project.finding())
    is_shown_right(project)


def test_a_package_that_is_removed(make_project: MakeProject, site: Path) -> None:
    info = install(site, "gonelib", "1.0", "WIDTH = 6\n")
    project = project_of(
        make_project, site, "W", "try:\n    from gonelib import WIDTH as W\nexcept ImportError:\n    W = 4"
    )
    (site / "gonelib.py").unlink()
    (info / "METADATA").unlink()
    info.rmdir()
    assert "gonelib 1.0 was removed" in str(project.finding())
    is_shown_right(project)


def test_a_module_of_the_project_that_hides_an_installed_one(make_project: MakeProject, site: Path) -> None:
    install(site, "widths", "1.0", "WIDTH = 6\n")
    project = project_of(make_project, site, "WIDTH", "from widths import WIDTH")
    project.write({"src/widths.py": "WIDTH = 7\n"})
    assert "widths hides an installed one" in str(project.finding())
    is_shown_right(project)


def test_packages_do_not_decide_where_there_is_no_torch(
    make_project: MakeProject, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(make_project, site, "4")
    monkeypatch.setattr("sys.path", [str(site)])
    assert project.finding().verdict.value == "fresh"


@pytest.mark.parametrize("how", ["by_name", "by_scan"])
def test_a_variable_that_a_package_asks_for(
    make_project: MakeProject, site: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    install(site, "settingslib", "1.0", SETTINGS)
    project = project_of(make_project, site, f"settingslib.{how}('NET_WIDTH')", "import settingslib")
    monkeypatch.setenv("ASKED_AT_IMPORT", "1" if how == "by_name" else "")
    if how == "by_scan":
        monkeypatch.delenv("ASKED_AT_IMPORT")
    monkeypatch.setenv("SHLVL", "7")
    assert project.draw()[1] == 0, f"no model is built by these, but {project.finding()}"
    monkeypatch.setenv("NET_WIDTH", "6")
    assert str(project.finding()) == ("$NET_WIDTH appeared" if how == "by_name" else "the environment changed")
    is_shown_right(project)


def test_a_look_for_proxies_is_no_question(
    make_project: MakeProject, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed download asks so for the whole environment, in which Sphinx sets a variable while it reads pages."""
    monkeypatch.setenv("DOCUTILSCONFIG", "docutils.conf")
    project = project_of(make_project, site, "4 + 0 * len(urllib.request.getproxies())", "import urllib.request")
    monkeypatch.delenv("DOCUTILSCONFIG")
    assert project.draw()[1] == 0, project.finding()


ASKED = {
    "HOME": ("len(os.path.expanduser('~'))", "import os"),
    "TMPDIR": ("len(tempfile._candidate_tempdir_list()[0])", "import tempfile"),
    "LOGNAME": ("len(getpass.getuser())", "import getpass"),
    "NET_WIDTH": ("len(os.environb.get(b'NET_WIDTH', b'1234'))", "import os"),
    "LC_ALL": ("4 + ('de' in str(locale.getlocale()))", "import locale"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_variable_of_this_machine(
    make_project: MakeProject, site: Path, monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Path
) -> None:
    monkeypatch.setenv(name, str(tmp_path)[:9] if name != "LC_ALL" else "C")
    project = project_of(make_project, site, *ASKED[name])
    monkeypatch.setenv(name, str(tmp_path) if name != "LC_ALL" else "de_DE.UTF-8")
    assert str(project.finding()) == f"${name} changed"
    assert project.draw()[1] == 1
    for file in entries(project.root / ".torchrecorder"):
        assert str(tmp_path) not in file.read_text()


def test_files_outside_of_the_project(make_project: MakeProject, site: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    width = f"4 + len(os.listdir({str(outside)!r})) + os.path.exists({str(tmp_path / 'flag')!r})"
    project = project_of(make_project, site, width, "import os")
    (outside / "new.txt").write_text("")
    assert "elsewhere/ changed" in str(project.finding())
    is_shown_right(project)
    (tmp_path / "flag").write_text("")
    assert "flag appeared" in str(project.finding())
    is_shown_right(project)


def test_size_date_and_link_of_a_file(make_project: MakeProject, site: Path) -> None:
    folder = "os.path.dirname(__file__)"
    width = f"os.path.getsize({folder} + '/data.bin') + len(os.readlink({folder} + '/latest'))"
    project = make_project({"src/pkg.py": net(width, "import os"), "src/data.bin": b"1234"})
    (project.root / "src" / "latest").symlink_to("step1")
    assert project.draw()[1] == 1
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"
    project.write({"src/data.bin": b"123456"})
    assert "data.bin changed" in str(project.finding())
    is_shown_right(project)
    (project.root / "src" / "latest").unlink()
    (project.root / "src" / "latest").symlink_to("step20")
    assert str(project.finding()) == "the link src/latest changed"
    is_shown_right(project)


def test_what_the_kernel_says_is_no_file(make_project: MakeProject, site: Path) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system has no /proc")
    project_of(make_project, site, "4 + 0 * len(open('/proc/self/statm').read())")


def test_a_database(make_project: MakeProject, site: Path) -> None:
    imports = """
import os, sqlite3
def width():
    with sqlite3.connect(os.path.join(os.path.dirname(__file__), "nets.db")) as nets:
        return nets.execute("select width from nets").fetchone()[0]
"""
    project = make_project({"src/pkg.py": net("width()", imports)})
    nets = sqlite3.connect(project.root / "src" / "nets.db")
    nets.execute("create table nets (width int)")
    nets.execute("insert into nets values (4)")
    nets.commit()
    assert project.draw()[1] == 1
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"
    nets.execute("update nets set width = 6")
    nets.commit()
    nets.close()
    assert "nets.db changed" in str(project.finding())
    is_shown_right(project)


def test_weights_that_compiled_code_opens(make_project: MakeProject, site: Path, tmp_path: Path) -> None:
    (site / "safetensors").mkdir()
    (site / "safetensors" / "__init__.py").write_text("def safe_open(filename, framework):\n    return 4\n")
    width = "safe_open(os.path.dirname(__file__) + '/net.safetensors', 'pt')"
    project = make_project({"src/pkg.py": net(width, "import os\nfrom safetensors import safe_open")})
    project.path = ["src", str(site)]
    project.write({"src/net.safetensors": b"1"})
    assert project.draw()[1] == 1
    project.write({"src/net.safetensors": b"2"})
    assert str(project.finding()) == "src/net.safetensors changed"


def test_random_numbers_of_every_kind_start_from_the_seed(make_project: MakeProject) -> None:
    width = "random.randint(1, 1000) + numpy.random.randint(1000)"
    project = make_project({"src/pkg.py": net(width, "import random, numpy")})
    assert project.draw()[0].svg == project.truth().svg


NOT_PROVABLE = {
    "asks for the date or the time": ("4 + 0 * int(time.time())", "import time"),
    "forks a process": (
        "4 + 0 * run()",
        "import os\ndef run():\n    if not (pid := os.fork()):\n        os._exit(0)\n    return os.waitpid(pid, 0)[1]",
    ),
    "asks for the current folder": ("4 + 0 * len(os.getcwd())", "import os"),
    "reads the whole environment": ("4 + 0 * len(dict(os.environ))", "import os"),
}
NOT_PROVABLE_EITHER = ("4 + 0 * datetime.datetime.now().year", "import datetime")


@pytest.mark.parametrize(
    ("told", "code"), [*NOT_PROVABLE.items(), ("asks for the date or the time", NOT_PROVABLE_EITHER)]
)
def test_what_cannot_be_followed_is_told(
    make_project: MakeProject, site: Path, told: str, code: tuple[str, str]
) -> None:
    project = project_of(make_project, site, *code)
    (file,) = entries(project.root / ".torchrecorder")
    assert facts_of(file)["untracked"] == [told]


def test_what_means_something_here_only_is_not_shared(make_project: MakeProject, site: Path, tmp_path: Path) -> None:
    (tmp_path / "secret-place").write_text("4")
    width = f"int(open({str(tmp_path / 'secret-place')!r}).read()) + 0 * len(os.path.expanduser('~'))"
    project = make_project({"src/pkg.py": net(width, "import os")})
    committed = project.root / "diagrams"
    request = read_request("pkg.Net", {"shape": "1,3"})
    settings = replace(project.settings(), committed=committed)
    pipeline = Pipeline(settings, project.worker.open, writes_committed=True)
    assert pipeline.run([request])[request].error is None
    (file,) = entries(committed)
    kept = facts_of(file)
    assert "machine" not in kept
    assert "installed" not in kept
    assert kept["untracked"] == ["reads secret-place, which lies outside of the project"]
    assert "HOME" not in kept.get("environment", {})
    assert str(tmp_path) not in file.read_text()
