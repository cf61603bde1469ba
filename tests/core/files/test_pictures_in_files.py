"""Pictures and tables in the files of a project: `torchrecorder update` and `check` without a documentation."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.files.conftest import MODELS, NETS, write
from torchrecorder.cache.store import sweep
from torchrecorder.cli import main

ROOT = Path(__file__).parents[3]
CONFIGURATION = """[project]
name = "filed"

[tool.torchrecorder.pictures]
"docs/img/net.svg" = { target = "filed.nets.Net", shape = "1,3", dark = "docs/img/net-dark.svg" }
"paper/fig2.tex" = { target = "filed.nets.Net", shape = "1,3", width = "3.25in", grey = true }
"MODELS.md" = { table = "filed.models.*", shape = "1,3", pictures = "docs/models" }
"""
README = (
    b"\xef\xbb\xbf<!-- torchrecorder: filed.nets.Net(5) shape=1,3 align=right -->\r\n<!-- /torchrecorder -->\r\n"
    b"between \xc3\xa4\t \r\n\r\n"
    b"```markdown\r\n<!-- torchrecorder: filed.nets.Net -->\r\n```\r\n"
    b"<!-- torchrecorder: filed.nets.Net shape=1,3 as=mermaid -->\r\nold\r\n<!-- /torchrecorder -->"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose pictures have been written."""
    root = tmp_path_factory.mktemp("projects") / "filed"
    with pytest.MonkeyPatch.context() as patch:
        root.mkdir()
        patch.chdir(root)
        write({"pyproject.toml": CONFIGURATION, "src/filed/__init__.py": "", "src/filed/nets.py": NETS})
        write({"src/filed/models.py": MODELS, "README.md": README.replace(b"old\r\n", b"")})
        assert main(["update", "--jobs", "2"]) == 0
    return root


@pytest.fixture
def project(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as another machine checks it out."""
    shutil.copytree(written, tmp_path / "filed", ignore=shutil.ignore_patterns(".torchrecorder", "__pycache__"))
    monkeypatch.chdir(tmp_path / "filed")
    return tmp_path / "filed"


def contents(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(root)): file.read_bytes() for file in files if ".torchrecorder" not in file.parts}


def test_every_entry_and_comment_has_its_picture(project: Path) -> None:
    light, dark = Path("docs/img/net.svg").read_text(), Path("docs/img/net-dark.svg").read_text()
    assert light.startswith("<svg")
    assert "Linear 3→8" in light
    assert "Linear 3→8" in dark
    assert "#16181d" in dark
    assert "#16181d" not in light
    tex = Path("paper/fig2.tex").read_text()
    assert "tikzpicture" in tex
    assert "Linear" in tex
    table = Path("MODELS.md").read_text()
    assert re.search(r"^\| Net \| .*docs/models/filed.models.Net.svg.* \| 32 \| .* \| N×8 \|$", table, re.MULTILINE)
    assert re.search(r"^\| Wide \| .* \| 64 \| .* \| N×16 \|$", table, re.MULTILINE)
    assert "Needs" not in table, "it needs an argument"
    assert "Linear 3→16" in Path("docs/models/filed.models.Wide.svg").read_text()


def test_nothing_else_in_a_markdown_file_is_touched(project: Path) -> None:
    now = Path("README.md").read_bytes()
    first, second = re.findall(rb"(?s) -->\r\n(\r\n[<`].*?\r\n\r\n)<!-- /t", now)
    assert now.replace(first, b"").replace(second, b"") == README.replace(b"old\r\n", b"")
    assert b"\n" not in now.replace(b"\r\n", b""), "all line ends are those of the file"
    assert first.decode() == (
        '\r\n<picture>\r\n  <source media="(prefers-color-scheme: dark)" srcset="diagrams/filed.nets.Net-5-dark.svg">'
        '\r\n  <img src="diagrams/filed.nets.Net-5.svg" alt="Net. 1 layer, 20 parameters; input N×3, output N×5; N = 1"'
        ' align="right">\r\n</picture>\r\n\r\n'
    )
    assert second.startswith(b"\r\n```mermaid\r\nflowchart TB")
    assert b"Linear 3" in second
    assert "Linear 3→5" in Path("diagrams/filed.nets.Net-5.svg").read_text()


def test_check_sees_what_changed_and_needs_no_torch(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "5 pictures, all fresh\n"
    write({"src/filed/nets.py": NETS + "# a remark\n"})
    assert main(["check"]) == 0
    write({"src/filed/nets.py": NETS.replace("relu", "tanh")})
    Path("docs/models/filed.models.Wide.svg").unlink()
    capsys.readouterr()
    script = "import sys; sys.modules['torch'] = None\nfrom torchrecorder.cli import main; sys.exit(main(['check']))"
    path = os.pathsep.join(map(str, (ROOT / "core", ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        "STALE    docs/img/net.svg (pyproject.toml:5): filed.nets.Net: filed/nets.py: Net.forward changed"
        in done.stdout
    )
    assert "STALE    README.md:1: filed.nets.Net(5): filed/nets.py: Net.forward changed" in done.stdout
    assert done.stdout.endswith("5 pictures, 5 to be written\n")
    assert main(["check", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["out_of_date"] == len(said["files"]) == 10
    assert said["files"][0] == {
        "file": "docs/img/net.svg",
        "place": "pyproject.toml:5",
        "verdict": "stale",
        "reason": "filed.nets.Net: filed/nets.py: Net.forward changed",
    }


def test_update_writes_only_what_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(project)
    assert main(["update"]) == 0
    assert capsys.readouterr().out == "5 pictures, all fresh\n"
    assert contents(project) == before
    write({"src/filed/models.py": MODELS.replace("16", "24")})
    os.chdir("docs/img")
    assert main(["update"]) == 0
    assert [*capsys.readouterr().out.splitlines()] == [
        "wrote MODELS.md",
        "wrote docs/models/filed.models.Wide.svg",
        "5 pictures, all fresh",
    ]
    changed = {name for name, content in contents(project).items() if before.get(name) != content}
    assert {name for name in changed if not name.startswith(("diagrams/", "src/"))} == {
        "MODELS.md",
        "docs/models/filed.models.Wide.svg",
    }
    assert main(["check"]) == 0


def test_a_picture_that_shows_the_same_has_the_same_bytes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines have moved and a constant is new, so the model is recorded again, but nothing of it has changed."""
    write({"src/filed/nets.py": f"WIDTH = 8\n# a remark\n{NETS.replace('width=8', 'width=WIDTH')}"})
    assert main(["check"]) == 1
    assert main(["update"]) == 0
    assert "wrote" not in capsys.readouterr().out.partition("to be written")[2]
    assert main(["check"]) == 0


def test_a_new_model_and_another_option_are_out_of_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write({"src/filed/models.py": MODELS + "\nclass Deep(Net):\n    pass\n"})
    write({"pyproject.toml": CONFIGURATION.replace("grey = true", "grey = false")})
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert "MODELS.md (pyproject.toml:7): filed.models.*: filed/models.py changed outside its functions" in said
    assert "STALE    paper/fig2.tex (pyproject.toml:6): something else is asked for now" in said
    assert main(["update"]) == 0
    assert "| Deep | " in Path("MODELS.md").read_text()
    assert main(["check"]) == 0


def test_what_was_edited_by_hand_is_overwritten_only_by_force(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = Path("README.md").read_bytes().replace(b'align="right"', b'align="left"')
    write({"README.md": edited, "docs/img/net.svg": b"<svg/>"})
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert (
        "EDITED   README.md:1: it was edited since it was written; torchrecorder update --force overwrites it" in said
    )
    assert "EDITED   docs/img/net.svg (pyproject.toml:5): it was edited" in said
    assert main(["update"]) == 1
    assert "error: README.md:1: it was edited since it was written, or is not ours: --force" in capsys.readouterr().err
    assert (Path("README.md").read_bytes(), Path("docs/img/net.svg").read_bytes()) == (edited, b"<svg/>")
    assert main(["update", "--force"]) == 0
    assert b'align="right"' in Path("README.md").read_bytes()
    assert main(["check"]) == 0


def test_a_file_that_is_not_ours_stays(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        {"pyproject.toml": '[tool.torchrecorder.pictures]\n"mine.txt" = { target = "filed.nets.Net", shape = "1,3" }\n'}
    )
    write({"mine.txt": "by hand\n"})
    assert main(["check"]) == 1
    assert main(["update"]) == 1
    assert Path("mine.txt").read_text() == "by hand\n"
    capsys.readouterr()
    assert main(["update", "--force"]) == 0
    assert "Linear 3→8" in Path("mine.txt").read_text()


def test_what_is_lost_of_the_cache_is_found_again(project: Path) -> None:
    before = contents(project)
    shutil.rmtree("diagrams/own")
    assert main(["check"]) == 1
    assert main(["update"]) == 0
    assert contents(project) == before
    for file in Path("diagrams").rglob("*"):
        os.utime(file, (1, 1))
    assert sweep(Path("diagrams")).files == 0
    assert main(["check"]) == 0


def test_a_model_that_fails_leaves_its_picture_and_the_others_are_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(project)
    broken = NETS.replace("return", "if self.stem.out_features == 5: raise ValueError('no five')\n        return")
    write({"src/filed/nets.py": broken.replace("relu", "tanh")})
    assert main(["update"]) == 1
    said = capsys.readouterr()
    assert "torchrecorder: error: README.md:1: the forward of Net failed" in said.err
    assert "no five" in said.err
    assert "what was there stays" in said.err
    assert "wrote docs/img/net.svg" in said.out
    assert said.out.endswith("5 pictures, 1 failed and left as they were\n")
    now = contents(project)
    assert now["diagrams/filed.nets.Net-5.svg"] == before["diagrams/filed.nets.Net-5.svg"]
    assert b"Net-5-dark.svg" in now["README.md"]
    assert b"tanh" in now["docs/img/net.svg"].lower()
    assert main(["check"]) == 1
    assert "FAILED   README.md:1: filed.nets.Net(5): the forward of Net failed" in capsys.readouterr().out


def test_a_documentation_of_the_same_project_records_nothing_twice(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT / "core", ROOT))))
    conf = (
        "extensions = ['sphinx_torchrecorder']\ntorchrecorder_path = ['../src']\ntorchrecorder_cache = '../diagrams'\n"
    )
    page = "Nets\n====\n\n.. torchrecorder:: filed.nets.Net\n   :shape: 1,3\n"
    write({"docs/conf.py": conf, "docs/index.rst": page})
    assert main(["update", "docs"]) == 0
    assert "1 recording, 0 to be recorded" in capsys.readouterr().err


BAD = {
    "a table too": ('"a.md" = { target = "filed.nets.Net", table = "filed.*" }', ":2: a.md: name one model"),
    "an ending": (
        '"a.gif" = { target = "filed.nets.Net" }',
        ":2: cannot write 'a.gif': the ending 'gif' is not a type",
    ),
    "an option": ('"a.svg" = { target = "f.N", shap = "1,3" }', ":2: unknown option 'shap', did you mean shape?"),
    "the target": ('"a.svg" = { targt = "f.N" }', "did you mean target, not targt?"),
    "of a page": ('"a.svg" = { target = "f.N", caption = "x" }', ":2: caption changes nothing in svg"),
    "a width": ('"a.pdf" = { target = "f.N", width = "80%" }', ":2: width: a file has no page around it"),
    "two files": (
        '"a.svg" = { target = "f.N" }\n"./b/../a.svg" = { target = "f.M" }',
        ":3: a.svg is written by pyproject.toml:2, too",
    ),
    "the dark file": (
        '"a.svg" = { target = "f.N", dark = "a.svg" }',
        ":2: a.svg is written by pyproject.toml:2, too",
    ),
    "outside": ('"../a.svg" = { target = "f.N" }', ":2: ../a.svg lies outside of the project"),
    "absolute": ('"/a.svg" = { target = "f.N" }', ":2: /a.svg lies outside of the project"),
    "a folder": ('"src" = { target = "f.N" }', ":2: src is a folder"),
    "no columns": (
        '"a.md" = { table = "f.*", columns = "nam" }',
        ":2: columns: unknown column 'nam', did you mean name?",
    ),
    "no table": ('"a.svg" = "f.N"', ':2: a.svg: write what is drawn: "a.svg" = { target = "pkg.Net" }'),
    "no TOML": ('"a.svg" = {', "pyproject.toml: it cannot be read: "),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_entry_is_told_with_its_line(what: str, bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry, said = BAD[what]
    write({"pyproject.toml": f"[tool.torchrecorder.pictures]\n{entry}\n"})
    for command in ("check", "update"):
        assert main([command]) == 2
        assert said in capsys.readouterr().err
    assert not Path("a.svg").exists()


COMMENTS = {
    "not closed": (b"\n<!-- torchrecorder: filed.nets.Net -->\n", "README.md:2: the comment has no end"),
    "nested": (
        b"<!-- torchrecorder: f.N -->\n<!-- torchrecorder: f.N -->\n<!-- /torchrecorder -->\n",
        "README.md:2: it begins within that of line 1",
    ),
    "not opened": (b"<!-- /torchrecorder -->\n", "README.md:1: nothing is open that"),
    "not UTF-8": (b"a\n\xff\n<!-- torchrecorder: f.N -->\n", "README.md:2: it is not in UTF-8"),
    "UTF-16": ("<!-- torchrecorder: f.N -->\n".encode("utf-16"), "README.md:1: it is not in UTF-8"),
    "no colon": (b"<!-- torchrecorder f.N -->\n<!-- /torchrecorder -->", "README.md:1: this comment is written"),
    "no form": (
        b"<!-- torchrecorder: f.N as=mermad -->\n<!-- /torchrecorder -->",
        "README.md:1: as: 'mermad' is none of picture, mermaid, table; did you mean mermaid?",
    ),
    "option": (
        b"<!-- torchrecorder: f.N dpeth=2 -->\n<!-- /torchrecorder -->",
        "README.md:1: unknown option 'dpeth', did you mean depth?",
    ),
    "no picture": (
        b"<!-- torchrecorder: f.N file=a.txt -->\n<!-- /torchrecorder -->",
        "README.md:1: a.txt cannot be shown here",
    ),
    "a switch": (
        b"<!-- torchrecorder: f.N depth=1-3 -->\n<!-- /torchrecorder -->",
        "README.md:1: depth: 1-3 lets readers of a page switch",
    ),
    "outside": (
        b"<!-- torchrecorder: f.N file=../a.svg -->\n<!-- /torchrecorder -->",
        "README.md:1: ../a.svg lies outside of the project",
    ),
}


@pytest.mark.parametrize("what", COMMENTS)
def test_a_wrong_comment_is_told_with_its_line(what: str, bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comment, said = COMMENTS[what]
    write({"pyproject.toml": "", "README.md": comment})
    assert main(["update"]) == 2
    assert said in capsys.readouterr().err
    assert Path("README.md").read_bytes() == comment


def test_all_problems_are_told_at_once(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = '\n[tool.torchrecorder.pictures]\n"a.gif" = { target = "f.N" }\n"../b.svg" = { target = "f.N" }\n'
    write({"pyproject.toml": f'[tool.torchrecorder]\npaht = ["src"]\nmarkdown = ["*.md", "no/*.md"]\n{entries}'})
    write({"README.md": b"<!-- torchrecorder: f.N -->\n"})
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    for problem in (
        "pyproject.toml:2: paht: there is no such setting; did you mean the setting `path`?",
        "pyproject.toml:3: no file matches no/*.md",
        "pyproject.toml:6: ",
        "pyproject.toml:7: ",
        "README.md:1: ",
    ):
        assert problem in said


def test_a_markdown_file_is_written_whole_or_between_comments(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        {"pyproject.toml": '[tool.torchrecorder]\ncache = ""\npictures = {"README.md" = {table = "filed.models.*"}}\n'}
    )
    write({"README.md": b"\n<!-- torchrecorder: filed.nets.Net -->\n<!-- /torchrecorder -->\n"})
    assert main(["check"]) == 2
    assert "README.md:2: pyproject.toml:3 has all of README.md written; leave out one" in capsys.readouterr().err


def test_a_link_out_of_the_project_is_not_followed(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = b"<!-- torchrecorder: filed.nets.Net -->\n<!-- /torchrecorder -->\n"
    write({"inside/pyproject.toml": "", "README.md": text, "elsewhere/net.svg": b"theirs"})
    os.symlink("../README.md", "inside/README.md")
    os.symlink("../elsewhere", "inside/docs")
    write({"inside/pyproject.toml": '[tool.torchrecorder.pictures]\n"docs/net.svg" = { target = "filed.nets.Net" }\n'})
    os.chdir("inside")
    assert main(["update", "--force"]) == 2
    said = capsys.readouterr().err
    assert "README.md lies outside of the project inside" in said
    assert "pyproject.toml:2: docs/net.svg lies outside of the project inside" in said
    assert (bare / "README.md").read_bytes() == text


def test_a_folder_without_pictures_says_how_to_ask_for_one(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "there is no pyproject.toml" in capsys.readouterr().err
    write(
        {
            "pyproject.toml": "",
            "README.md": b"about torchrecorder\n",
            "OLD.md": "<!-- é --> torchrecorder".encode("cp1252"),
        }
    )
    assert main(["check"]) == 2
    assert "no picture is asked for: write one under [tool.torchrecorder.pictures]" in capsys.readouterr().err
    assert main(["update", "docs", "--force"]) == 2


def test_a_target_or_a_pattern_that_is_not_there(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = '"a.svg" = { target = "filed.nets.Nte" }\n"b.md" = { table = "filed.nothing.*" }\n'
    write({"pyproject.toml": f"[tool.torchrecorder.pictures]\n{entries}"})
    write({"README.md": b"<!-- torchrecorder: filed.nets.Net shape=1,3 dark=no -->\n<!-- /torchrecorder -->\n"})
    assert main(["update"]) == 1
    said = capsys.readouterr()
    assert "error: pyproject.toml:2: " in said.err
    assert "did you mean" in said.err
    assert "error: pyproject.toml:3: " in said.err
    assert "filed.nothing" in said.err
    assert (
        said.out == "wrote diagrams/filed.nets.Net.svg\nwrote README.md\n3 pictures, 2 failed and left as they were\n"
    )
    assert b"<source" not in Path("README.md").read_bytes()


def test_a_pattern_leaves_out_what_cannot_be_drawn(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "\nclass Bad(Net):\n    def forward(self, x):\n        raise ValueError('never')\n"
    write({"src/filed/models.py": MODELS + bad})
    write({"pyproject.toml": '[tool.torchrecorder]\npath = ["src"]\n'})
    write({"README.md": b"<!-- torchrecorder: filed.models.* shape=1,3 -->\n<!-- /torchrecorder -->\n"})
    assert main(["update"]) == 0
    assert "note: filed.models.Bad is left out: the forward of Bad failed" in capsys.readouterr().err
    text = Path("README.md").read_text()
    assert "| Wide | 64 |" in text
    assert "Bad" not in text
    assert main(["check"]) == 0
    shutil.rmtree(".torchrecorder")
    assert main(["check"]) == 0, "another machine does not know what failed here"
    write({"src/filed/models.py": MODELS + "\nclass Bad(Net):\n    pass\n"})
    assert main(["update"]) == 0
    assert "| Bad | 32 |" in (text := Path("README.md").read_text())

    write({"src/filed/models.py": MODELS + bad})
    for _ in range(2):  # the second time its failure is known
        capsys.readouterr()
        assert main(["update"]) == 1
        said = capsys.readouterr().err
        assert "error: README.md:1: filed.models.Bad has a row and cannot be drawn now: the forward of Bad" in said
        assert Path("README.md").read_text() == text
        assert main(["check"]) == 1
    assert main(["update", "--force"]) == 0
    assert "Bad" not in Path("README.md").read_text()


def test_a_list_of_models_stands_in_a_comment_of_more_lines(bare: Path) -> None:
    write({"pyproject.toml": "[tool.torchrecorder.options]\nshape = '1,3'\n"})
    lines = b"filed.nets.Net(4) title='four | wide'\nfiled.models.Wide tags=large\n-->"
    write(
        {
            "README.md": b"<!-- torchrecorder: as=table columns=name,parameters,tags\n"
            + lines
            + b"\n<!-- /torchrecorder -->"
        }
    )
    assert main(["update"]) == 0
    text = Path("README.md").read_text()
    assert "| Model | Parameters | Tags |\n|---|---:|---|\n| four \\| wide | 16 |  |\n| Wide | 64 | large |\n" in text


def test_two_comments_may_have_the_same_text(bare: Path) -> None:
    comment = "<!-- torchrecorder: filed.nets.Net shape=1,3 as=mermaid{} -->\n<!-- /torchrecorder -->\n"
    write({"pyproject.toml": "", "README.md": comment.format("") + comment.format(" depth=auto")})
    assert main(["update"]) == 0
    first, second = Path("README.md").read_text().split("<!-- /torchrecorder -->\n")[:2]
    assert first.partition("-->")[2] == second.partition("-->")[2]
    assert main(["check"]) == 0
    write({"README.md": Path("README.md").read_text().replace("depth=auto", "depth=0")})
    assert main(["check"]) == 1
    assert main(["update"]) == 0
    assert main(["check"]) == 0


def test_rows_of_one_target_have_a_picture_each(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = "filed.nets.Net shape=1,3"
    table = f'table = ["{row}", "{row} title=deep depth=0"], pictures = "img"'
    write({"pyproject.toml": f'[tool.torchrecorder.pictures]\n"M.md" = {{ {table} }}\n'})
    assert main(["update"]) == 0
    assert main(["check"]) == 0
    first, second = (Path("img", f"filed.nets.Net{number}.svg").read_text() for number in ("", "-2"))
    assert first != second
    assert "img/filed.nets.Net-2.svg" in Path("M.md").read_text()
    with Path("pyproject.toml").open("a") as file:
        file.write('"img/filed.nets.Net.svg" = { target = "filed.nets.Net(3)", shape = "1,3" }\n')
    capsys.readouterr()
    assert main(["check"]) == 2
    assert "img/filed.nets.Net.svg is written by pyproject.toml:2, too" in capsys.readouterr().err


def test_five_hundred_rows(bare: Path) -> None:
    """Of one recording: what is asked for is read, looked at and written in a second or two."""
    rows = ", ".join(f"\"filed.nets.Net(8) title='{i}' shape=1,3\"" for i in range(500))
    write({"pyproject.toml": f'[tool.torchrecorder.pictures]\n"M.md" = {{ table = [{rows}] }}\n'})
    assert main(["update"]) == 0
    assert Path("M.md").read_text().count("| 32 |") == 500
    assert main(["check"]) == 0


def test_a_readme_with_five_pictures_is_checked_fast_and_loads_no_torch(bare: Path) -> None:
    blocks = [f"<!-- torchrecorder: filed.nets.Net({i}) shape=1,3 -->\n<!-- /torchrecorder -->\n" for i in range(2, 7)]
    write({"pyproject.toml": "", "README.md": "\n".join(blocks)})
    assert main(["update"]) == 0
    path = os.pathsep.join(map(str, (ROOT / "core", ROOT)))
    for command in ("check", "update"):
        script = (
            f"import sys; from torchrecorder.cli import main; status = main(['{command}'])\n"
            "print(*sys.modules); sys.exit(status)"
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0
        assert "5 pictures, all fresh" in done.stdout
        modules = set(done.stdout.split())
        assert modules.isdisjoint(
            {"torch", "numpy", "graphviz", "email", "concurrent.futures.thread", "torchrecorder.view"}
        )
        spent_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        assert spent_s < 0.6, "0.2 as a rule; the limit leaves room for a busy machine"
