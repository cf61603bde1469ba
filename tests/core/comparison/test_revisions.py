"""`torchrecorder diff --git`, on repositories made here."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from torch import nn

from tests.core.comparison.edits import Convs, inserted, recorded
from tests.entries import behind, compressed, entries, facts_of, rewrite
from torchrecorder.cache.store import Store
from torchrecorder.cli import main
from torchrecorder.graph import to_json
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.manifest import Manifest

REQUEST = RecordingRequest("pkg.Convs", "2,3,16,16")


def git(*command: str) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *names, *command], check=True, capture_output=True)


def put(folder: Path, net: nn.Module, request: RecordingRequest = REQUEST) -> None:
    """A recording in a committed cache."""
    store = Store(folder, is_committed=True)
    data = to_json(recorded(net)).encode()
    manifest = Manifest(sha256(data).hexdigest(), request.to_json())
    store.put_entry("recording", request.key(), manifest.to_json(), data)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init")
    put(tmp_path / "docs" / "diagrams", Convs())
    Path("net.json").write_text(to_json(recorded(Convs())), encoding="utf-8")
    git("add", ".")
    git("commit", "-m", "one")
    return tmp_path


def test_recordings_are_compared_with_those_of_now(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--git", "main"]) == 0
    assert capsys.readouterr().out == "Nothing has changed of what the models compute.\n"
    put(repository / "docs" / "diagrams", inserted(Convs(), 2, nn.BatchNorm2d(8)))
    put(repository / "docs" / "diagrams", Convs(), RecordingRequest("pkg.Other"))
    assert main(["diff", "--git", "main"]) == 0
    out = capsys.readouterr().out
    assert "+ 2: BatchNorm2d added, after ReLU" in out
    assert "pkg.Other: recorded in this checkout only" in out
    git("add", ".")
    git("commit", "-m", "two")
    assert main(["diff", "--git", "main~1", "main", "--format", "md"]) == 0
    assert "- **added** `2`: BatchNorm2d, after ReLU (+16 parameters)" in capsys.readouterr().out
    assert main(["diff", "pkg.Convs", "--git", "main~1", "-o", "diff.svg"]) == 0
    assert "<title>added</title>" in Path("diff.svg").read_text(encoding="utf-8")


def test_recordings_are_compared_though_they_are_compressed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "docs" / "diagrams", Convs(kernel=5))
    (file,) = entries(repository / "docs" / "diagrams")
    rewrite(file, facts_of(file), compressed(behind(file)))
    assert main(["diff", "--git", "main"]) == 0
    assert "kernel_size 3×3 → 5×5" in capsys.readouterr().out


def test_a_recording_that_unpacks_to_all_memory_is_refused(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "docs" / "diagrams", Convs(kernel=5))
    (file,) = entries(repository / "docs" / "diagrams")
    rewrite(file, facts_of(file), compressed(bytes((64 << 20) + 1)))
    assert main(["diff", "--git", "main"]) == 1
    assert "more than the 64 MB that an object may have\n`torchrecorder update DOCS`" in capsys.readouterr().err


EVIL = "pkg.Net\x1b[2J\x07\r\n\n# @everyone `x` \u202e\u2028https://evil.example |#1"


def evil(net: nn.Module, name: str) -> str:
    """The JSON of a Graph of a cache that others wrote, in which each name of a layer holds more than a name."""
    graph = json.loads(to_json(recorded(net)))
    for row in graph["modules"]:
        row[0] = row[0] and f"{row[0]}{name}"
        row[1] = f"{row[1]}{name}"
        row[4] = name
    for call in graph["calls"]:
        call[1] = call[1] and f"{call[1]}{name}"
    return json.dumps(graph)


@pytest.mark.parametrize("name", ["txt", "md"])
def test_names_of_others_do_nothing_to_a_terminal_or_a_pull_request(
    repository: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for file, net in (("old.json", Convs()), ("new.json", inserted(Convs(), 2, nn.BatchNorm2d(8)))):
        Path(file).write_text(evil(net, EVIL), encoding="utf-8")
    put(repository / "docs" / "diagrams", Convs(kernel=5), replace(REQUEST, target=f"pkg.Net('{EVIL}')"))
    written = ""
    for arguments in (["old.json", "new.json"], ["--git", "main"]):
        assert main(["diff", *arguments, "--format", name]) == 0
        written += capsys.readouterr().out
    assert "everyone" in written
    assert not set(written) & {"\x1b", "\x07", "\r", "\u202e", "\u2028"}
    assert not [line for line in written.splitlines() if line.lstrip().startswith(("# ", "@", "http"))]
    if name == "md":
        outside = re.sub(r"`[^`]*`", "", re.sub(r"\\.", "", written))
        assert not re.search(r"@|://|#\d|evil\.example", outside)


@pytest.mark.parametrize("arguments", [["pkg.Other", "--git", "main"], ["bad.json", "net.json"]])
def test_errors_show_no_control_characters(
    repository: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    put(repository / "docs" / "diagrams", Convs(), replace(REQUEST, target=f"pkg.Net('{EVIL}')"))
    git("add", ".")
    git("commit", "-m", "two")
    Path("bad.json").write_text(json.dumps({"torchrecorder_graph": EVIL}))
    assert main(["diff", *arguments]) != 0
    assert not set(capsys.readouterr().err) & {"\x1b", "\x07", "\r", "\u202e"}


def test_a_file_is_compared_with_itself(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.json").write_text(to_json(recorded(Convs(kernel=5))), encoding="utf-8")
    assert main(["diff", "net.json", "--git", "HEAD"]) == 0
    assert "~ 0, 2, 4: kernel_size 3×3 → 5×5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--git", "nowhere"], "git does not know the revision 'nowhere'\n`git fetch origin nowhere` may"),
        (["--git", "HEAD", "pkg.Net"], "'pkg.Net'\n`git fetch origin pkg.Net` may"),
        (["--git", "HEAD", "pkg.Net"], "the names of models stand before --git"),
        (["pkg.Net", "--git", "main"], "does not have a recording of pkg.Net\nit has those of pkg.Convs"),
        (["gone.json", "--git", "main"], "gone.json is not in the revision main\n"),
        (["net.json", "README"], "'README' names no module"),
        (["net.json"], "name two models, the old and the new one, or a revision"),
        (["--git", "a", "b", "c"], "--git takes one revision or two, and c stands behind them"),
        (["net.json", "bad.json"], "bad.json is not the file of a Graph: "),
        (["net.json", "none.json"], "cannot read none.json: No such file or directory\n`torchrecorder draw"),
        (["net.json", "other.json"], "net.json and other.json have no layers in common"),
        (["net.json", "net.json", "-o", "x.docx"], "a diff cannot be written as 'docx'; there are txt, md, svg"),
        (["--git", "main", "-o", "x.svg"], "svg is one picture, and nothing has changed"),
    ],
)
def test_what_cannot_be_compared(
    arguments: list[str], message: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.json").write_text("{}", encoding="utf-8")
    Path("other.json").write_text(to_json(recorded(nn.Sequential(nn.LayerNorm(16)))), encoding="utf-8")
    assert main(["diff", *arguments]) in (1, 2)
    assert message in capsys.readouterr().err


def test_there_must_be_a_repository_with_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert main(["diff", "--git", "main"]) == 1
    assert "is not in a git repository\nrun it in a checkout" in capsys.readouterr().err
    git("init")
    git("commit", "--allow-empty", "-m", "one")
    assert main(["diff", "--git", "main"]) == 1
    assert "the revision main does not have committed recordings\n`torchrecorder update" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert main(["diff", "--git", "main"]) == 1
    assert "git is not installed" in capsys.readouterr().err
