"""The program that answers mystmd and Jupyter Book 2: asked as they ask, and by mystmd itself."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT
from tests.node import node_with

NETS = """from torch import nn
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, width, 3), nn.Linear(width, 10)
    def forward(self, x):
        return self.head(self.stem(x).mean((2, 3)))
"""
PROGRAM = "#!{}\nfrom torchrecorder.myst import plugin\n\nplugin(path=['src'], {})\n"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "mystnets.py").write_text(NETS, encoding="utf-8")
    return tmp_path


def program(book: Path, settings: str = "") -> Path:
    file = book / "diagrams.py"
    file.write_text(PROGRAM.format(sys.executable, settings), encoding="utf-8")
    file.chmod(0o755)
    return file


def ask(book: Path, *arguments: str, settings: str = "", **directive: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "core", ROOT)))}
    return subprocess.run(
        [program(book, settings), *arguments],
        input=json.dumps(directive),
        capture_output=True,
        text=True,
        env=environment,
        cwd=book.parent,
        check=False,
    )


def nodes(book: Path, settings: str = "", **directive: Any) -> list[dict[str, Any]]:
    done = ask(book, "--directive", "torchrecorder", settings=settings, **directive)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def within(node: Any) -> Iterator[dict[str, Any]]:
    for each in node if isinstance(node, list) else [node]:
        yield each
        yield from within(each.get("children", []))


def texts(node: Any) -> str:
    return " ".join(each["value"] for each in within(node) if "value" in each)


def test_the_program_offers_every_option_of_a_diagram(book: Path) -> None:
    (offered,) = json.loads(ask(book).stdout)["directives"]
    assert offered["name"] == "torchrecorder"
    assert {"shape", "depth", "caption", "name", "alt"} <= offered["options"].keys()
    assert all(option["doc"] for option in offered["options"].values())


def test_a_directive_becomes_a_figure(book: Path) -> None:
    caption = [{"type": "strong", "children": [{"type": "text", "value": "bold"}]}]
    options = {"shape": "1,3,8,8", "name": "The-net", "class": "wide", "caption": caption, "alt": "A net."}
    (figure,) = nodes(book, arg="mystnets.Net(width=4)", options=options, body="A text behind.")
    assert (figure["kind"], figure["label"], figure["identifier"]) == ("figure", "The-net", "the-net")
    assert figure["class"].split() == ["torchrecorder", "wide"]
    image, said, legend = figure["children"]
    kind, data = image["url"].split("base64,")
    svg = base64.b64decode(data).decode()
    assert (kind, image["alt"]) == ("data:image/svg+xml;", "A net.")
    assert [part in svg for part in ("<svg", "3→4", "stem")] == [True] * 3
    assert said["children"][0]["children"] == caption
    assert texts(legend) == "A text behind."


def test_the_model_and_its_options_may_stand_in_the_body(book: Path) -> None:
    (figure,) = nodes(book, body="mystnets.Net\n:shape: 1,3,8,8\n:caption: Plain.", options={})
    image, said = figure["children"]
    assert "input" in image["alt"]
    assert texts(said) == "Plain."


def test_what_cannot_be_drawn_is_a_box_with_the_reason(book: Path) -> None:
    (box,) = nodes(book, arg="mystnets.Nett")
    assert (box["type"], box["kind"]) == ("admonition", "error")
    assert "No diagram of mystnets.Nett" in texts(box)
    assert "did you mean mystnets.Net" in texts(box)
    (box,) = nodes(book, arg="", body="")
    assert "no model is named" in texts(box)


def test_a_failure_ends_the_page_where_the_settings_say_so(book: Path) -> None:
    done = ask(book, "--directive", "torchrecorder", settings="on_error='raise'", arg="mystnets.Nett")
    assert done.returncode == 1
    assert "did you mean mystnets.Net" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unchanged_model_is_not_recorded_again_and_a_changed_one_is(book: Path) -> None:
    directive: dict[str, Any] = {"arg": "mystnets.Net", "options": {"shape": "1,3,8,8"}}
    (first,) = nodes(book, **directive)
    assert "recording" not in ask(book, "--directive", "torchrecorder", **directive).stderr
    assert nodes(book, **directive) == [first]
    source = book / "src" / "mystnets.py"
    source.write_text(NETS.replace("width=8", "width=16"), encoding="utf-8")
    (changed,) = nodes(book, **directive)
    svg = base64.b64decode(changed["children"][0]["url"].partition("base64,")[2]).decode()
    assert "3→16" in svg


@pytest.mark.node
def test_mystmd_itself_puts_the_figure_into_its_page(book: Path) -> None:
    node = node_with(book, "mystmd@1")
    program(book)
    (book / "myst.yml").write_text(
        "version: 1\nproject:\n  plugins:\n    - {type: executable, path: diagrams.py}\n  toc:\n    - file: index.md\n"
        "site:\n  template: book-theme\n",
        encoding="utf-8",
    )
    (book / "index.md").write_text(
        "# Net\n\n```{torchrecorder} mystnets.Net\n:shape: 1,3,8,8\n:name: net\n:caption: The **net**.\n```\n\n"
        "[](#net)\n\n```{torchrecorder} mystnets.Nett\n```\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "core", ROOT)))}
    command = [node, "node_modules/mystmd/dist/myst.cjs", "build", "--site", "--ci"]
    done = subprocess.run(command, cwd=book, env=environment, capture_output=True, text=True, check=False)
    written = book / "_build" / "site" / "content" / "index.json"  # HTML is made by a theme from the network
    assert written.exists(), done.stdout + done.stderr
    page = [*within(json.loads(written.read_text(encoding="utf-8"))["mdast"])]
    (figure,) = [each for each in page if each["type"] == "container"]
    (image,) = [each for each in within(figure) if each["type"] == "image"]
    (reference,) = [each for each in page if each["type"] == "crossReference"]
    assert "stem" in (book / "_build" / "site" / "public" / image["url"].strip("/")).read_text(encoding="utf-8")
    assert "The net" in texts(figure).replace("  ", " ")
    assert texts(reference).split() == ["Figure", "1"]
    assert "did you mean mystnets.Net" in texts([each for each in page if each["type"] == "admonition"])
