"""The command `torchrecorder`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchrecorder.cli import main
from torchrecorder.graph import from_json
from torchrecorder.page.files import FILE_TYPES
from torchrecorder.request import OPTIONS

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

class Needs(Net):
    def __init__(self, amount):
        super().__init__(amount)
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


NET = ("cli_nets.Net", "--shape", "1,3")


def test_writes_what_the_ending_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("net.svg", "net.txt", "net.json"):
        assert run("cli_nets.Net", "--shape", "1,3", "-o", name) == 0
    assert (folder / "net.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "Linear 3→2" in (folder / "net.txt").read_text(encoding="utf-8")
    assert from_json((folder / "net.json").read_bytes()).ops[0].name == "linear"
    assert capsys.readouterr().out == ""


def test_prints_the_tree_without_a_file(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("cli_nets.Net(width=5)", "--shape", "(1, 3)", "--depth", "1", "--show", "flops", "--hide", "params") == 0
    printed = capfdbinary.readouterr().out.decode()
    assert [line.split() for line in printed.splitlines()] == [
        ["Net", "N×5", "30", "FLOPs"],
        ["└─", "fc", "Linear", "3→5", "N×5", "30", "FLOPs"],
    ]


@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("dot", b"digraph"), ("json", b"{")])
def test_standard_output_takes_every_format(
    kind: str, begins: bytes, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(*NET, "-o", "-", "--format", kind) == 0
    assert run(*NET, "-o", f"same.{kind}") == 0
    printed = capfdbinary.readouterr().out
    assert printed.startswith(begins)
    assert printed == (folder / f"same.{kind}").read_bytes()


def test_a_page_has_what_only_readers_of_pages_can_use(folder: Path) -> None:
    assert run(*NET, "--depth", "0-1", "--table", "-o", "net.html") == 0
    page = (folder / "net.html").read_text(encoding="utf-8")
    assert page.count('type="radio"') == 2
    assert "<table>" in page


def test_a_column_of_print(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*NET, "-o", "net.svg", "--grey", "--width", "3.25in") == 0
    assert "in, with letters of 9.0 pt" in capsys.readouterr().err
    assert 'pt" fill="#1f2328"' in (folder / "net.svg").read_text()
    assert "#7c6cd6" not in (folder / "net.svg").read_text()
    assert run(*NET, "-o", "narrow.svg", "--width", "4mm") == 1
    assert "at a width of 4mm the letters would be" in capsys.readouterr().err
    assert not Path("narrow.svg").exists()
    assert run(*NET, "-o", "net.svg", "--width", "80%") == 2
    assert "write 3.25in or 8cm" in capsys.readouterr().err


def test_a_flag_that_may_stand_alone_takes_no_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--grey", "cli_nets.Net", "--shape", "1,3", "--fold", "no", "-o", "grey.svg") == 0
    assert capsys.readouterr().err == ""


def test_several_models_go_into_a_folder(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    targets = ("cli_nets.Net", "cli_nets.Net(width=7)", "cli_nets.Net")
    assert run(*targets, "--shape", "1,3", "-o", "new/deep/") == 0
    assert {it.name for it in (folder / "new" / "deep").iterdir()} == {"cli_nets.Net.svg", "cli_nets.Net-width=7.svg"}
    assert run(*targets, "cli_nets.No", "--shape", "1,3") == 1
    printed = capfdbinary.readouterr()
    assert [tree.splitlines()[0].split()[1] for tree in printed.out.decode().split("\n\n")] == ["N×2", "N×7"]
    assert b"error: cli_nets.No: cannot find cli_nets.No" in printed.err


def test_a_file_that_cannot_be_written_costs_no_other(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "cli_hebrew.py").write_text(
        "from torch import nn\nnet = nn.Sequential()\nnet.add_module('\u05e9', nn.Linear(3, 2))\n"
    )
    assert (
        run("cli_hebrew:net", "cli_nets.Net", "--shape", "1,3", "--depth", "1", "--format", "pdf", "-o", "signs/") == 1
    )
    assert [it.name for it in (folder / "signs").iterdir()] == ["cli_nets.Net.pdf"]
    assert capfdbinary.readouterr().err.startswith(b"torchrecorder: error: cli_hebrew:net: ")


def test_a_pattern_stands_for_all_models_that_match(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("cli_nets.*", "--shape", "1,3", "-o", "all/") == 0
    assert [it.name for it in (folder / "all").iterdir()] == ["cli_nets.Net.svg"]
    note = b"torchrecorder: note: cli_nets.Needs is left out: it needs amount\n"
    assert capfdbinary.readouterr().err == note
    assert run("cli_nets.Need*") == 2
    assert b"none of the models that match can be drawn" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cli_nets.*", "-o", "net.svg"], "-o net.svg is one file for several models; write a folder"),
        (["--depth", "1-3", "-o", "net.svg"], "depth: 1-3 lets readers of a page switch; one picture has one depth"),
        (["-o", "net"], "-o net does not say what to write; write net.svg, or net/ for a folder"),
        (["--path", "nowhere"], "--path nowhere is not a folder"),
        (["--format", "pgn"], "--format: 'pgn' is not a type of file; did you mean png?"),
        (["--format", "svg", "-o", "net.pdf"], "the ending of net.pdf says pdf, and --format says svg"),
        (["cli_nets.B", "-o", "net.svg"], "-o net.svg is one file for several models; write a folder"),
        (["cli_nets.B", "--format", "svg"], "-o - is one file for several models; write a folder"),
    ],
)
def test_what_is_unclear_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets.Net", *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table"], "--table changes nothing in txt, only in html"),
        (["--direction", "LR"], "--direction changes nothing in txt, only in svg"),
        (["--show", "weights,flops"], "--show weights changes nothing in txt"),
        (["--depth", "1", "-o", "net.json"], "--depth changes nothing in json, only in svg"),
        (["--width", "3in", "-o", "net.mmd"], "--width changes nothing in mmd, only in svg"),
        (["--width", "80ch", "-o", "net.html"], "--width changes nothing in html, only in svg"),
    ],
)
def test_what_has_no_effect_is_a_note(arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(*NET, *arguments) == 0
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"torchrecorder: note: {said}")


def test_a_module_is_answered_with_its_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets") == 2
    said = "cli_nets is a module; write one of its classes: cli_nets.Needs, cli_nets.Net, or 'cli_nets.*' for all"
    assert said in capsys.readouterr().err


def test_a_folder_that_is_not_on_the_path_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    member = folder / "members" / "one" / "src" / "cli_member"
    member.mkdir(parents=True)
    (member / "__init__.py").write_text(NETS)
    assert run("cli_member.Net") == 1
    advice = "members/one/src holds it, and is not on the Python path: name that folder with --path"
    assert advice in capsys.readouterr().err
    assert run("cli_member.Net", "--path", "members/one/src", "--shape", "1,3") == 0


def test_guessed_sizes_are_marked(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets.Net") == 0
    guess = "torchrecorder: note: inputs guessed from its first layers: 1,3, from fc (Linear)\n"
    assert capfd.readouterr().err == guess


@pytest.mark.parametrize(
    ("inputs", "said"), [('{"x": 1}', "name a function that gives it"), ("1,3", "write shape: 1,3")]
)
def test_an_input_is_not_the_name_of_one(inputs: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cli_nets.Net", "--inputs", inputs) == 2
    assert f"inputs: {inputs!r} is an input, not the name of one: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["cli_nets.Nett", "--shape", "1,3"], 1, ["cli_nets has no 'Nett'", "did you mean cli_nets.Net?"]),
        (["cli_nets.Needs"], 1, ["give the arguments in the target, as in cli_nets.Needs(amount=…)"]),
        (["cli_nets.Net", "--shape", "1,5"], 1, ["in layer fc (Linear)", "Traceback", "cli_nets.py"]),
        (
            ["cli_nets.Net", "--shape", "1,a", "--depth", "x"],
            2,
            ["'a' in '1,a' is not a valid size", "'x' is not a valid depth"],
        ),
        (
            ["cli_nets.Net", "--shape", "1,3", "-o", "net.gif"],
            2,
            ["the ending 'gif' is not a type of file; there are svg"],
        ),
        (["cli_nets.Net", "--shape", "1,3", "-o", "nowhere/net.svg"], 2, ["cannot write nowhere/net.svg"]),
        (["cli_nets.Net", "--shape", "1,3", "--engine", "none", "--fold", "no"], 1, ["no layout engine"]),
    ],
    ids=["target", "arguments", "forward", "options", "ending", "folder", "engine"],
)
def test_failures(arguments: list[str], status: int, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == status
    said = capsys.readouterr().err
    for word in words:
        assert word in said
    assert said.startswith("torchrecorder: error: ")


def test_what_a_file_needs_is_asked_before_a_model_is_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert run("cli_nets.Nett", "-o", "net.png") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "torchrecorder: error: a .png needs pypdfium2: pip install 'torchrecorder-docs[png]'"


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
        (["more"], "'more' names no module"),
    ],
)
def test_unknown_flags_are_told_with_what_may_be_meant(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", "a.b", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_call_with_several_mistakes_hears_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["draw", "x.Y", "--shape", "a;;b", "--depth", "two", "--timeout", "never", "--height", "3", "--dept", "2"]
    assert main(call) == 2
    assert capsys.readouterr().err.splitlines() == [
        "torchrecorder: error: unknown option --dept, did you mean --depth?",
        "--height is an option of pages, in a directive or a fence; this command makes no page",
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
        (["--height", "3", "a.b"], "--height is an option of pages"),
        (["--height=3", "a.b"], "--height is an option of pages"),
        (["a.b", "--zoom"], "--zoom is an option of pages"),
        (["a.b", "--diff", "a.c"], "--diff is an option of pages, in a directive or a fence; here it is a command: "),
        (["a.b", "--heihgt", "3"], "unknown option --heihgt, did you mean --height? That is an option of pages"),
    ],
)
def test_an_option_of_pages_is_named_as_that(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"torchrecorder: error: {said}")


def test_help_is_made_from_the_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        main(["draw", "--help"])
    shown = re.sub(r"\[(\{yes,no[^]]*)\]", r"\1", capsys.readouterr().out)  # which may be left out
    for option in OPTIONS:
        is_there = f"\n  --{option.name} {option.written()}" in shown
        assert is_there == (option.stage == "recording" or any(option.name in it.heeds for it in FILE_TYPES))
    assert "--mode {eval,train}   whether the model runs in 'eval' or 'train' mode (default: eval)" in shown
    assert all(f".{it.name} (" in shown for it in FILE_TYPES)
    assert shown.partition("examples:")[2].count("torchrecorder draw ") >= 2


def test_is_also_a_module() -> None:
    path = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "torchrecorder", "--version"], capture_output=True, text=True, env=path
    )
    assert done.returncode == 0
    assert done.stdout.startswith("torchrecorder 2.")
