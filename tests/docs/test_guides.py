"""The blocks of the guides, the landing page and the README: each runs, or is built by the tool that reads it.

Those of the pages for who comes from another recorder are Python alone, and run in `tests/parity`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
import yaml

import torchrecorder
from mkdocs_torchrecorder.plugin import TorchRecorderConfig
from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.project import Project
from torchrecorder.request import SETTINGS

PAGES = ["../README.md", "index.md", *(f"guide/{page.name}" for page in sorted((ROOT / "docs" / "guide").glob("*.md")))]
BLOCKS = [block for page in PAGES for block in blocks(page)]
TYPES = {f"torchrecorder_{it.name}": type(it.default) for it in SETTINGS if it.in_sphinx}

NETS = '''
import torch
from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3)
        self.head = nn.Linear(width, 2)

    def forward(self, x, mask=None):
        x = self.conv(x).mean((2, 3))
        return self.head(x if mask is None else x * mask)


class WiderNet(Net):
    """The same, wider."""

    def __init__(self):
        super().__init__(16)


class Tagger(nn.Module):
    """Reads words."""

    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Embedding(1000, width)

    def forward(self, ids):
        return self.embed(ids)
'''
"""What the pages call `pkg`; its models are in `pkg.models` too."""

SITE = """
extensions = ["sphinx_torchrecorder", "sphinx.ext.autodoc"]
torchrecorder_path = ["../src"]
torchrecorder_cache = "../diagrams"
numfig = True
"""


def of(*languages: str) -> list[Block]:
    """The blocks in some languages, in order."""
    return [block for block in BLOCKS if block.language in languages]


def place(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.fixture
def pkg(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the package of the pages, in its folder."""
    for name in ("src/pkg/__init__.py", "src/pkg/models.py"):
        project.write(name, NETS)
    monkeypatch.chdir(project.folder)
    monkeypatch.syspath_prepend(str(project.folder / "src"))
    return project


def test_every_block_has_its_test() -> None:
    known = {"python", "rst", "markdown", "yaml", "sh"}
    others = {"torchrecorder": "drawn where the site is built", "text": "printed", "latex": "see `tests/core/drawing`"}
    others |= {"torchrecorder-models": others["torchrecorder"]}
    assert {block.language for block in BLOCKS} <= {*known, *others}


@pytest.mark.parametrize("page", sorted({block.page for block in of("python") if "/from-" not in block.page}))
def test_python_runs(page: str, pkg: Project) -> None:
    import pkg as nets  # type: ignore[import-not-found]  # made for this test

    net, old, new = nets.Net(), nets.Net(), nets.WiderNet()
    names: dict[str, Any] = {"torchrecorder": torchrecorder, "torch": torch, "nn": torch.nn, "net": net}
    names |= {"old": old, "new": new, "x": torch.ones(1, 3, 16, 16), "mask": torch.ones(1, 8)}
    for block in of("python"):
        if block.page == page:
            exec(compile(block.text, place(block), "exec"), names)
    for name, value in names.items():
        if name.startswith("torchrecorder_"):
            assert isinstance(value, (TYPES[name], dict) if name == "torchrecorder_autodoc" else TYPES[name]), name


def test_directives_are_drawn(pkg: Project) -> None:
    """All in one build by Sphinx, each on a page of its own."""
    pkg.write("docs/conf.py", SITE)
    rows = []
    for number, block in enumerate(of("rst")):
        text = block.text
        if text.startswith(":"):
            text = ".. torchrecorder:: pkg.Net\n" + re.sub("^", "   ", text, flags=re.MULTILINE)
        elif text.startswith(".. torchrecorder::\n"):
            text = ".. autoclass:: pkg.Net\n\n" + re.sub("^", "   ", text, flags=re.MULTILINE)
        pkg.write(f"docs/page{number}.rst", f"Page\n====\n\n{text}\n")
        rows.append(f"   page{number}\n")
    pkg.write("docs/index.rst", f"Pages\n=====\n\n.. toctree::\n\n{''.join(rows)}")
    machine = pkg.machine(".", "torchrecorder-docs[sphinx,torch]")
    done = machine.run("sphinx-build -q -W --keep-going docs out")
    assert done.returncode == 0, done.stdout
    for number, block in enumerate(of("rst")):
        assert "<svg" in (pkg.folder / f"out/page{number}.html").read_text(encoding="utf-8"), place(block)


def test_fences_are_drawn(pkg: Project) -> None:
    """All in one build by MkDocs, each on a page of its own."""
    for number, block in enumerate(of("markdown")):
        pkg.write(f"docs/page{number}.md", f"# Page\n\n{block.text}\n")
    pkg.write("docs/demo_nets/encoder.py", NETS + "\n\nTransformerEncoder = Tagger\n")
    pkg.write(
        "mkdocs.yml", ("site_name: Pages\ntheme: mkdocs\nplugins:\n  - torchrecorder:\n      path: [src, docs]\n")
    )
    done = pkg.machine("torchrecorder-docs[mkdocs,torch]").run("mkdocs build -q --strict")
    assert done.returncode == 0, done.stdout
    for number, block in enumerate(of("markdown")):
        html = (pkg.folder / f"site/page{number}/index.html").read_text(encoding="utf-8")
        assert html.count("<figure") == len(re.findall(r"^```\S*torchrecorder", block.text, re.MULTILINE)), place(block)


@pytest.mark.parametrize("block", of("yaml"), ids=place)
def test_settings_are_known(block: Block) -> None:
    read = next(iter(yaml.safe_load_all(block.text)))
    if "torchrecorder" in read:  # front matter
        torchrecorder.request.read_drawing({name: str(value) for name, value in read["torchrecorder"].items()})
        return
    found = [entry for key in ("plugins", "markdown_extensions") for entry in read.get(key, [])]
    ours = [entry["torchrecorder"] for entry in found if isinstance(entry, dict) and "torchrecorder" in entry]
    ours += [{}] * found.count("torchrecorder") + [read] * ("autodoc" in read)
    assert ours or "mkdocs_torchrecorder.automatic" in json.dumps(found)
    for settings in ours:
        config = TorchRecorderConfig()
        config.load_dict(settings)
        assert config.validate() == ([], [])


COMMANDS = """
set -x
lpr() { cat > printed; }
python() { :; }
python3() { mkdir -p .venv/bin; touch .venv/bin/activate; }
sphinx-autobuild() { [ -d "$2" ]; }
zensical() { [ -e .torchrecorder/stamp ]; }
torchrecorder draw pkg.Net --shape 1,3,8,8 -o old.json
torchrecorder draw pkg.WiderNet --shape 1,3,8,8 -o new.json
"""
"""What stands for the commands of others that are not installed, and the files that commands take."""


def test_commands_run(pkg: Project) -> None:
    """All in one shell, in a project with committed recordings."""
    pkg.write("docs/conf.py", SITE)
    pkg.write("README.md", "<!-- torchrecorder: pkg.Net shape=1,3,8,8 -->\n<!-- /torchrecorder -->\n")
    pkg.write("used.py", "import scio.recorder, torchfunc, torchview\n")
    machine = pkg.machine(".", "torchrecorder-docs[sphinx,torch]")
    assert (done := machine.run("torchrecorder update docs")).returncode == 0, done.stdout
    pkg.git("init", "add .", "commit -m one")
    done = machine.run("\n".join([COMMANDS, *(f": {place(block)}\n{block.text}" for block in of("sh"))]))
    assert done.returncode == 0, done.stdout
    used = "import torchrecorder.scio.recorder, torchrecorder.torchfunc, torchrecorder.torchview\n"
    assert (pkg.folder / "used.py").read_text(encoding="utf-8") == used


def test_every_session_that_is_named_is_there() -> None:
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md", "docs/explanation/recording.md", "docs/comparison.md"):
        named = re.findall(r"nox(?: [^-\s]\S+)* -s ([\w-]+)", (ROOT / page).read_text(encoding="utf-8"))
        assert {name.replace("-", "_") for name in named} <= sessions, page
