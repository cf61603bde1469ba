"""`update`, `check`, `gc` and `doctor`, with projects of both documentation tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.answering import NoTorch
from tests.entries import entries
from torchrecorder.cache.store import sweep
from torchrecorder.cli import main
from torchrecorder.cli.doctor import watched
from torchrecorder.cli.projects import update
from torchrecorder.errors import CollectFailed
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.collecting import Collected, collect
from torchrecorder.request import Settings, read_request

NETS = """from torch import nn

class Net(nn.Linear):
    def __init__(self, width=2):
        super().__init__(3, width)
"""
FILES = {
    "sphinx": {
        "docs/conf.py": (
            "extensions = ['sphinx_torchrecorder']\n"
            "torchrecorder_path = ['../src']\ntorchrecorder_cache = '../diagrams'\n"
        ),
        "docs/index.rst": (
            "Nets\n====\n\n.. torchrecorder:: zoo_nets.Net\n   :shape: 1,3\n\n"
            ".. torchrecorder:: zoo_nets.Net(5)\n   :shape: 1,3\n\n"
            ".. torchrecorder:: zoo_nets.Net(5)\n   :shape: 1,3\n   :depth: 0\n"
        ),
    },
    "mkdocs": {
        "mkdocs.yml": ("site_name: Nets\nplugins:\n  - torchrecorder:\n      path: [src]\n      cache: diagrams\n"),
        "docs/index.md": (
            "# Nets\n\n```torchrecorder\nzoo_nets.Net\n:shape: 1,3\n```\n\n"
            "```torchrecorder\nzoo_nets.Net(5)\n:shape: 1,3\n```\n"
        ),
    },
}
DOCS = {"sphinx": "docs", "mkdocs": "."}
ROOT = Path(__file__).parents[3]
PLUGIN = "[mkdocs.plugins]\ntorchrecorder = mkdocs_torchrecorder:TorchRecorderPlugin\n"


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Everything can be imported by the tools, and MkDocs finds the plugin, also where only the sources lie."""
    site = tmp_path_factory.mktemp("site")
    info = site / "ours-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1\n")
    (info / "entry_points.txt").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT / "core", ROOT, site))))
        yield


@pytest.fixture(scope="module", params=FILES)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose diagrams have been recorded, in a folder named after its tool."""
    root = tmp_path_factory.mktemp("projects") / str(request.param)
    for name, text in {**FILES[request.param], "src/zoo_nets.py": NETS}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert main(["update", str(root / DOCS[request.param]), "--jobs", "2"]) == 0
    return root


@pytest.fixture
def docs(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The documentation of a copy of the project."""
    shutil.copytree(recorded, tmp_path / recorded.name)
    monkeypatch.chdir(tmp_path / recorded.name)
    return Path(DOCS[recorded.name])


def test_check_finds_all_fresh_and_then_what_changed(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(docs)]) == 0
    assert capsys.readouterr().out == "2 recordings, all fresh\n"
    Path("src/zoo_nets.py").write_text(NETS.replace("3, width", "3, width + 1"))
    assert main(["check", str(docs)]) == 1
    said = capsys.readouterr().out
    assert "STALE       zoo_nets.Net(5): zoo_nets.py: Net.__init__ changed" in said
    assert "2 recordings, 2 to be recorded\n" in said
    assert main(["check", str(docs), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["to_be_recorded"] == 2
    assert [(it["target"], it["shape"], it["verdict"]) for it in found["recordings"]] == [
        ("zoo_nets.Net", "1,3", "stale"),
        ("zoo_nets.Net(5)", "1,3", "stale"),
    ]
    assert all("zoo_nets.py: Net.__init__ changed" in it["reason"] for it in found["recordings"])


def test_update_makes_only_what_is_missing(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", str(docs)]) == 0
    assert ", 0 to be recorded" in capsys.readouterr().err
    shutil.rmtree("diagrams")
    assert main(["check", str(docs)]) == 1
    assert "MISSING     zoo_nets.Net: it was never recorded" in capsys.readouterr().out
    assert main(["update", str(docs), "--json"]) == 0
    done = {"errors": {}, "remarks": [], "recordings": 2, "to_be_recorded": 2}
    assert json.loads(capsys.readouterr().out) == done


def test_commands_see_the_variables_that_a_build_sees(
    docs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if docs.name != "docs":
        pytest.skip("mkdocs.yml sets no variables")
    monkeypatch.setenv("ZOO_REMOVED", "9")
    code = NETS.replace("width=2", "width=int(__import__('os').environ.get('ZOO_WIDTH', 4))")
    Path("src/zoo_nets.py").write_text(code.replace("super()", "__import__('os').environ.get('ZOO_REMOVED'); super()"))
    with Path("docs/conf.py").open("a") as conf:
        conf.write("\nimport os\nos.environ['ZOO_WIDTH'] = '6'\ndel os.environ['ZOO_REMOVED']\n")
    assert main(["update", "docs"]) == 0
    assert main(["check", "docs"]) == 0
    assert ("ZOO_WIDTH" in os.environ, os.environ["ZOO_REMOVED"]) == (False, "9")
    assert "2 recordings, all fresh" in capsys.readouterr().out
    build = [sys.executable, "-m", "sphinx", "-W", "-q", "docs", "out", "-D", "torchrecorder_python=/nowhere/python"]
    built = subprocess.run(build, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    assert "3→6" in Path("out/index.html").read_text()


def test_the_folder_of_the_pages_stands_for_mkdocs_yml(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if docs.name == "docs":
        pytest.skip("conf.py lies among the pages")
    assert main(["check", "docs" if Path("docs").is_dir() else "pages"]) == 0
    assert "2 recordings, all fresh" in capsys.readouterr().out
    assert main(["check", "nowhere"]) != 0


@pytest.mark.parametrize("recorded", ["sphinx"], indirect=True)
def test_what_autodoc_could_not_import_is_not_passed_over(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (docs / "conf.py").open("a") as conf:
        conf.write("extensions.append('sphinx.ext.autodoc')\n")
    with (docs / "index.rst").open("a") as page:
        page.write("\n.. automodule:: has_no_torch\n")
    assert main(["check", str(docs)]) == 0
    said = capsys.readouterr()
    assert "autodoc could not import 'has_no_torch', so diagrams of what is in them are not counted" in said.err
    assert "autodoc_mock_imports" in said.err


def test_a_stale_warning_names_the_command_with_its_argument(docs: Path) -> None:
    Path("src/zoo_nets.py").write_text(NETS.replace("3, width", "3, width + 1"))
    project = collect(docs)
    pipeline = Pipeline(project.settings, NoTorch.of)
    errors = {str(outcome.error) for outcome in pipeline.run(project.requests).values()}
    argument = "docs" if docs.name == "docs" else "."
    assert all(
        error.endswith(f"on a machine that has torch and the model's packages: torchrecorder update {argument}")
        for error in errors
    )


def test_update_takes_any_executor_and_tells_errors(docs: Path) -> None:
    Path("src/zoo_nets.py").write_text(NETS.replace("super()", "raise ValueError('too wide'); super()"))
    with ThreadPoolExecutor(1) as executor:
        errors = update(collect(docs), executor, jobs=1).errors
    assert set(errors) == {"zoo_nets.Net", "zoo_nets.Net(5)"}
    assert all("too wide" in error for error in errors.values())


def test_what_failed_is_told_again_and_tried_again_on_request(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("diagrams")
    raises = "raise ValueError(__import__('os').getpid()); super()"
    Path("src/zoo_nets.py").write_text(NETS.replace("super()", raises))
    said: list[str] = []
    for arguments in ([], [], ["--retry"]):
        assert main(["update", str(docs), *arguments]) == 1
        said.append(capsys.readouterr().err)
    first, second, third = said
    assert "2 recordings, 2 to be recorded\n" in first
    assert "2 recordings, 0 to be recorded, 2 failed before and are as they were (--retry" in second
    assert first.partition("\n")[2] == second.partition("\n")[2], "the same errors"
    assert third.partition("\n")[0] == first.partition("\n")[0]
    assert third.partition("\n")[2] != first.partition("\n")[2], "it ran again, in another process"
    assert main(["check", str(docs)]) == 1
    assert "FAILED      zoo_nets.Net: cannot build zoo_nets.Net: ValueError: " in capsys.readouterr().out
    assert not [*Path("diagrams").rglob("*.json")]


def test_what_pages_may_not_call_is_refused_and_not_missing(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, is_rst = Path("docs/index.rst"), Path("docs/index.rst").exists()
    page = page if is_rst else Path("docs/index.md")
    call = "os.getenv('HOME')"
    page.write_text(f".. torchrecorder:: {call}\n" if is_rst else f"```torchrecorder\n{call}\n```\n")
    assert main(["update", str(docs)]) == 1
    assert main(["check", str(docs)]) == 1
    assert f"FAILED      {call}: {call} is not called: a page may call" in capsys.readouterr().out
    project = collect(docs)
    (request,) = {request.recording for request in project.requests}
    for allow, is_known in (((), True), (("os.getenv",), False)):
        recordings = Pipeline(replace(project.settings, allow=allow)).recordings()
        assert (recordings.failed(request) is not None) is is_known


def test_what_was_only_tried_and_fails_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    raising = NETS.partition("\n")[2].replace("Net", "Raises").replace("super()", "raise ValueError(width); super()")
    conf = FILES["sphinx"]["docs/conf.py"] + (
        "extensions += ['sphinx.ext.autodoc']\nautodoc_mock_imports = ['torch']\ntorchrecorder_autodoc = True\n"
    )
    page = "Nets\n====\n\n.. automodule:: zoo_nets\n   :members:\n   :undoc-members:\n"
    for name, text in {"docs/conf.py": conf, "docs/index.rst": page, "src/zoo_nets.py": NETS + raising}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "src"), os.environ["PYTHONPATH"])))
    assert main(["update", "docs"]) == 0
    assert "error" not in capsys.readouterr().err
    assert main(["check", "docs"]) == 0
    assert capsys.readouterr().out == "1 recording, all fresh\n"

    monkeypatch.chdir("src")
    Path("zoo_nets.py").write_text((NETS + raising).replace("3, width", "3, width + 1"))
    assert main(["check", "../docs"]) == 1
    assert "STALE       zoo_nets.Net: " in capsys.readouterr().out


def test_failures_are_kept_and_counted_as_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zoo_nets.py").write_text(NETS.replace("super()", "raise ValueError(width); super()"))
    for width in (2, 3):
        assert main(["draw", f"zoo_nets.Net({width})", "--shape", "1,3"]) == 1
    cache = Path(".torchrecorder")
    lost, kept = entries(cache, "fail")
    lost.write_bytes(lost.read_bytes()[:-9])
    for file in cache.rglob("*"):
        os.utime(file, (1, 1))
    swept = sweep(cache)
    assert (swept.files, swept.kept) == (1, 1), "the damaged one goes; the other stays"
    assert kept.exists()
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "0 recordings, 0 drawings, 0 objects, 1 failures" in capsys.readouterr().out


def test_without_a_committed_cache_failures_of_mkdocs_are_tried_again(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sphinx keeps them beside doctrees that the command does not know, and has `-E` for that."""
    shutil.copytree(recorded, tmp_path / recorded.name)
    monkeypatch.chdir(tmp_path / recorded.name)
    _without_cache()
    is_sphinx = recorded.name == "sphinx"
    assert main(["update", DOCS[recorded.name], "--retry"]) == (2 if is_sphinx else 0)
    assert ("with -E" if is_sphinx else "2 recordings, 2 to be recorded") in capsys.readouterr().err


def test_nothing_is_left_in_the_folder_for_passing_files(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passing = Path("passing").absolute()
    passing.mkdir()
    monkeypatch.setenv("TMPDIR", str(passing))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main(["check", str(docs)]) == 0
    assert not [*passing.iterdir()]


def test_verify_records_again(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(docs), "--verify"]) == 0
    assert "all fresh" in capsys.readouterr().out


def test_verify_finds_what_comes_out_otherwise(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("src/zoo_nets.py").write_text(NETS.replace("3, width", "3, width + __import__('os').getpid()"))
    assert main(["update", str(docs)]) == 0
    assert main(["check", str(docs), "--verify", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["recordings"]
    assert {(it["verdict"], it["reason"]) for it in found} == {("differs", "recorded again, it gives another graph")}


def test_a_project_without_a_cache(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(recorded, tmp_path / recorded.name)
    monkeypatch.chdir(tmp_path / recorded.name)
    _without_cache()
    for command in ("update", "check"):
        assert main([command, DOCS[recorded.name], "--json"]) == 2
        said = capsys.readouterr()
        assert "does not set a cache: write torchrecorder_cache" in said.err
        assert json.loads(said.out)["error"] in said.err


def _without_cache() -> None:
    for name in ("docs/conf.py", "mkdocs.yml"):
        if (file := Path(name)).exists():
            lines = file.read_text().splitlines()
            file.write_text("\n".join(line for line in lines if "cache" not in line))


def test_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 1
    assert "there is none of conf.py, mkdocs.yml" in capsys.readouterr().err
    (tmp_path / "conf.py").write_text("1 / 0")
    with pytest.raises(CollectFailed, match="division by zero"):
        collect(tmp_path)
    (tmp_path / "conf.py").write_text("")
    (tmp_path / "index.rst").write_text("x")
    with pytest.raises(CollectFailed, match="it is not a configuration file; leave out DOCS for pictures in files"):
        collect(tmp_path / "index.rst")
    with pytest.raises(CollectFailed, match="not our extension"):
        collect(tmp_path)


def test_gc_removes_what_nothing_leads_to(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Path("diagrams")
    kept = {file for file in cache.rglob("*") if file.is_file()}
    orphan = cache / "obj" / "ab" / ("ab" + "0" * 62)
    orphan.parent.mkdir(parents=True)
    orphan.write_text("x")
    (orphan.parent / ".new-1").write_text("half")
    (cache / "rec" / "ff").mkdir(exist_ok=True)
    (cache / "rec" / "ff" / "ff").write_text("{")
    assert main(["gc", str(cache)]) == 0
    said = capsys.readouterr().out
    assert "removed 0 files" in said, "they may be part of a build that is running"
    assert "left 3 that were written within the hour" in said
    for file in cache.rglob("*"):
        os.utime(file, (1, 1))
    assert sweep(cache).files == 3
    assert {file for file in cache.rglob("*") if file.is_file()} == kept
    assert main(["gc", str(docs / "nothing")]) == 2


def test_doctor_prints_the_folders_to_watch(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(recorded)
    assert main(["doctor", DOCS[recorded.name]]) == 0
    watched = [line for line in capsys.readouterr().out.splitlines() if line.startswith("--watch")]
    assert watched == ["--watch src/zoo_nets.py"]


def test_doctor_sees_what_a_build_sees(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without torch, nothing is wrong as long as what is committed serves."""
    assert main(["doctor", str(docs), "--python", "no-such-python"]) == 0
    said = capsys.readouterr().out
    assert "it is not needed, because all that is drawn is recorded\n" in said
    assert re.search(r"ok    committed cache: 2 recordings, [1-9]", said)
    assert "recordings: 2 of 2 are there and up to date" in said
    Path("src/zoo_nets.py").write_text(NETS.replace("3, width", "3, width + 1"))
    assert main(["doctor", str(docs), "--python", "no-such-python"]) == 1
    said = capsys.readouterr().out
    assert "WRONG worker: " in said
    assert "not needed" not in said


def test_packages_are_watched_whole_and_what_is_installed_is_not(tmp_path: Path) -> None:
    for name in ("whole/__init__.py", "whole/nets.py", "parts/nets.py", "alone.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    settings = Settings(tmp_path / "cache", (str(tmp_path), *sys.path))
    targets = ("whole.nets.Net", "parts.nets.Net", "alone.Net", "torch.nn.Linear(1, 1)", "json.Net", "absent.Net")
    requests = tuple(read_request(target, {}) for target in targets)
    assert watched(Collected(settings, requests)) == [tmp_path / name for name in ("alone.py", "parts", "whole")]


def test_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"{sys.executable} records, torch " in said
    assert "layout engine: " in said
    assert main(["doctor", "--python", "no-such-python"]) == 1
    assert "WRONG worker" in capsys.readouterr().out
    assert main(["doctor", "--python", "no-such-python", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [it["about"] for it in found["findings"] if not it["ok"]] == ["worker"]
    assert (found["ok"], found["watch"]) == (False, [])
