"""The starts, carried out from top to bottom on a machine that has nothing: every file is written, every command runs.

Zensical is played by the Markdown extension that it calls; `nox -t sites` runs the tool itself. Jupyter Book 2 is
played too; `tests/core/test_myst.py` runs mystmd. LaTeX runs where it is.
"""

from __future__ import annotations

import shlex
import shutil
import sys

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.docs.project import Machine, Project

GIVES = {
    "sphinx": "docs/_build/html/index.html",
    "mkdocs": "site/index.html",
    "zensical": "site/index.html",
    "myst": "_build/html/net.svg",
    "notebook": "net.pdf",
    "paper": "net.tex",
    "command-line": "diff.svg",
}
"""What each start ends with."""
ZENSICAL = """
import markdown, pathlib, yaml
config = yaml.safe_load(pathlib.Path("mkdocs.yml").read_text())
assert [path for path in config["watch"] if not pathlib.Path(path).exists()] == []
((name, options),) = config["markdown_extensions"][0].items()
page = pathlib.Path("docs/index.md").read_text()
OURS = "mkdocs_torchrecorder:TorchRecorderExtension"
html = markdown.markdown(page, extensions=[OURS], extension_configs={OURS: options})
pathlib.Path("site").mkdir()
pathlib.Path("site/index.html").write_text(html)
"""
JUPYTER_BOOK = """
import base64, json, pathlib, re, subprocess, sys, yaml
(plugin,) = yaml.safe_load(pathlib.Path("myst.yml").read_text())["project"]["plugins"]
program = pathlib.Path(plugin["path"]).resolve()
(offered,) = json.loads(subprocess.check_output([sys.executable, program]))["directives"]
name, target, options = re.search(r"```{(.*?)} (.*)\\n((?::.*\\n)*)```", pathlib.Path("index.md").read_text()).groups()
written = dict(re.findall(r":(.*?): (.*)", options))
assert name == offered["name"] and written.keys() <= offered["options"].keys()
directive = json.dumps({"name": name, "arg": target, "options": written}).encode()
(figure,) = json.loads(subprocess.check_output([sys.executable, program, "--directive", name], input=directive))
data = figure["children"][0]["url"].partition("base64,")[2]
pathlib.Path("_build/html").mkdir(parents=True)
pathlib.Path("_build/html/net.svg").write_bytes(base64.b64decode(data))
"""


def run(machine: Machine, script: str) -> None:
    python = f"{shlex.quote(sys.executable)} -c"
    played = (
        f"zensical() {{ {python} {shlex.quote(ZENSICAL)}; }}; jupyter() {{ {python} {shlex.quote(JUPYTER_BOOK)}; }}"
    )
    done = machine.run(f'{played}; cells() {{ {python} "$@"; }}\n{script}')
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


@pytest.mark.parametrize("page", GIVES)
def test_a_start_ends_with_a_picture(page: str, project: Project) -> None:
    machine, cells = project.machine(), ""
    project.write("nets.py", (ROOT / "docs/start/nets.py").read_text(encoding="utf-8"))
    for block in blocks(f"start/{page}.md"):
        if block.file:
            project.write(block.file, block.text)
            if block.language == "latex" and shutil.which("pdflatex"):
                run(machine, f"pdflatex -interaction=nonstopmode -halt-on-error {block.file}")
        elif block.language == "python":
            cells += block.text
        elif block.language == "sh":
            run(machine, block.text)
        else:
            assert block.language == "torchrecorder", block  # drawn where the site is built
    if cells:
        run(machine, f"cells {shlex.quote(cells)}")
    found = (project.folder / GIVES[page]).read_bytes()
    assert found.startswith(b"%PDF") or b"Residual" in found


def test_every_start_is_carried_out() -> None:
    assert {page.stem for page in (ROOT / "docs" / "start").glob("*.md")} == {*GIVES, "index"}
