"""The command `torchrecorder`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchrecorder.cli import main
from torchrecorder.graph import from_json

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.fc = nn.Linear(3, width)
    def forward(self, x):
        print("the model prints")
        return self.fc(x).relu()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "cli_nets.py").write_text(NETS)
    return folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(*arguments: str) -> int:
    return main(["draw", *arguments])


def test_a_file_shows_one_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets.Net", "--shape", "1,3", "--depth", "1-3", "-o", "never.svg") == 2
    assert "depth: 1-3 lets readers of a page switch; one picture has one depth, as 3" in capsys.readouterr().err


def test_writes_what_the_ending_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("net.svg", "net.txt", "net.json"):
        assert run("cli_nets.Net", "--shape", "1,3", "-o", name) == 0
    assert (folder / "net.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "Linear 3→2" in (folder / "net.txt").read_text(encoding="utf-8")
    assert from_json((folder / "net.json").read_bytes()).ops[0].name == "linear"
    assert capsys.readouterr().out == ""


def test_prints_the_tree_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets.Net(width=5)", "--shape", "(1, 3)", "--depth", "1") == 0
    printed = capsys.readouterr().out
    assert "Linear 3→5" in printed
    assert "the model prints" not in printed


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["cli_nets.Nett", "--shape", "1,3"], 1, ["cli_nets has no 'Nett'", "did you mean cli_nets.Net?"]),
        (["cli_nets.Net", "--shape", "1,5"], 1, ["in layer fc (Linear)", "Traceback", "cli_nets.py"]),
        (
            ["cli_nets.Net", "--shape", "1,a", "--depth", "x"],
            2,
            ["'a' in '1,a' is not a valid size", "'x' is not a valid depth"],
        ),
        (["cli_nets.Net", "--shape", "1,3", "-o", "net.gif"], 2, ["its name must end with .svg"]),
        (["cli_nets.Net", "--shape", "1,3", "-o", "nowhere/net.svg"], 2, ["cannot write nowhere/net.svg"]),
        (["cli_nets.Net", "--shape", "1,3", "--engine", "none", "--direction", "LR"], 1, ["no layout engine"]),
    ],
    ids=["target", "forward", "options", "ending", "folder", "engine"],
)
def test_failures(arguments: list[str], status: int, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == status
    said = capsys.readouterr().err
    for word in words:
        assert word in said
    assert said.startswith("torchrecorder: error: ")


def test_wrong_calls_are_argparse_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["draw"], ["paint"], []):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    assert "usage: torchrecorder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dept", "2"], "unknown option --dept, did you mean --depth?"),
        (["--dept=2", "--zzz"], "did you mean --depth?\nunknown option --zzz, `torchrecorder draw --help` lists"),
        (["more", "words"], "torchrecorder draw does not take 'more words'"),
    ],
)
def test_unknown_flags_are_told_with_what_may_be_meant(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", "a.b", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_call_with_several_mistakes_hears_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["draw", "x.Y", "--shape", "a;;b", "--depth", "two", "--timeout", "never", "--width", "3", "--dept", "2"]
    assert main(call) == 2
    assert capsys.readouterr().err.splitlines() == [
        "torchrecorder: error: unknown option --dept, did you mean --depth?",
        "--width is an option of pages, in a directive or a fence; this command makes no page",
        "shape: 'a' has no sizes: write a[1,3], or […[]] for a scalar",
        "timeout: 'never' is not a valid number of seconds",
        "depth: 'two' is not a valid depth: write 0 for the model as one box, 1 for its children, …, auto or all,"
        " or 1-3 to let readers switch",
    ]
    assert main(["update", "docs", "--jobs", "0", "--job=3"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "torchrecorder: error: unknown option --job, did you mean --jobs?",
        "--jobs: write 1 or more",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--width", "3", "a.b"], "--width is an option of pages"),
        (["--width=3", "a.b"], "--width is an option of pages"),
        (["a.b", "--zoom"], "--zoom is an option of pages"),
        (["a.b", "--widht", "3"], "unknown option --widht, did you mean --width? That is an option of pages"),
    ],
)
def test_an_option_of_pages_is_named_as_that(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"torchrecorder: error: {said}")


def test_help_lists_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["draw", "--help"])
    shown = capsys.readouterr().out
    assert "--depth" in shown
    assert "--width" not in shown


def test_is_also_a_module() -> None:
    path = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "torchrecorder", "--version"], capture_output=True, text=True, env=path
    )
    assert done.returncode == 0
    assert done.stdout.startswith("torchrecorder 2.")
