"""The page on other generators: its pages are built by them from the files that `torchrecorder update` has written."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.project import Project
from tests.node import node_with

pytestmark = pytest.mark.site

PAGE = "howto/any-other-generator.md"
ADDRESS = re.compile(
    r"""!\[[^]]*\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"|from '([^']+)'|\{figure\} (\S+)|\\input\{(\w+)\}"""
)
PUBLIC = "docs/public"
"""The folder that VitePress serves as it is: the address of a file in it begins with `/`."""


@pytest.fixture
def written(project: Project) -> Project:
    """The project of the page, with its pictures."""
    for block in blocks(PAGE):
        if block.file and block.language != "yaml":
            project.write(block.file, block.text)
    machine = project.machine("torchrecorder-docs[torch]")
    done = machine.run("torchrecorder update")
    assert done.returncode == 0, done.stdout
    return project


def test_every_address_leads_to_a_file(written: Project) -> None:
    pages = [block for block in blocks(PAGE) if block.language in ("markdown", "latex", "python")]
    assert len(pages) == 6
    for block in pages:
        page = written.folder / block.file
        found = ["".join(groups) for groups in ADDRESS.findall(block.text)]
        assert found, block.file
        for address in found:
            name = address if "." in Path(address).name else f"{address}.tex"
            file = written.folder / PUBLIC / name[1:] if name.startswith("/") else page.parent / name
            assert file.is_file(), f"{block.file}: {address}"


@pytest.mark.skipif(importlib.util.find_spec("pdoc") is None, reason="needs pdoc")
def test_pdoc_puts_the_picture_into_the_page(written: Project) -> None:
    command = [sys.executable, "-m", "pdoc", "src/pkg/images.py", "-o", "out"]
    subprocess.run(command, cwd=written.folder, check=True, capture_output=True)
    pages = "".join(page.read_text(encoding="utf-8") for page in (written.folder / "out").rglob("*.html"))
    assert "data:image/svg+xml;base64," in pages


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_paper_compiles(written: Project) -> None:
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=written.folder / "paper", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alone(written: Project, page: str) -> None:
    """Leave one page of those in `docs`: a generator reads all."""
    for file in (written.folder / "docs").glob("*.*"):
        if file.name != page:
            file.unlink()


@pytest.mark.node
def test_vitepress_puts_the_pictures_into_the_page(written: Project) -> None:
    alone(written, "vitepress.md")
    node = node_with(written.folder, "vitepress@1")
    run(written.folder, node, "node_modules/vitepress/bin/vitepress.js", "build", "docs")
    built = written.folder / "docs" / ".vitepress" / "dist"
    page = (built / "vitepress.html").read_text(encoding="utf-8")
    assert len(re.findall(r'<img src="data:image/svg\+xml;base64,[^"]+" alt="The net">', page)) == 2
    assert '<source media="(prefers-color-scheme: dark)" srcset="data:image/svg+xml;base64,' in page
    assert '<iframe src="/diagrams/net.html" title="The net"' in page
    assert (built / "diagrams" / "net.html").is_file()


@pytest.mark.node
def test_the_language_of_docusaurus_and_its_component_read_page_and_picture(written: Project) -> None:
    """Docusaurus itself is 290 MB; these are its parts that read MDX, and make a component of an SVG."""
    node = node_with(written.folder, "@mdx-js/mdx@3", "@svgr/core@8", "@svgr/plugin-svgo@8", "@svgr/plugin-jsx@8")
    script = """
    import { readFileSync } from "node:fs";
    import { compile } from "@mdx-js/mdx";
    import { transform } from "@svgr/core";
    console.log(String(await compile(readFileSync("docs/docusaurus.mdx"))));
    const options = { titleProp: true, plugins: ["@svgr/plugin-svgo", "@svgr/plugin-jsx"] };
    console.log(await transform(readFileSync("docs/diagrams/net.svg", "utf8"), options, { componentName: "Net" }));
    """
    (written.folder / "build.mjs").write_text(script, encoding="utf-8")
    made = run(written.folder, node, "build.mjs")
    assert "import Net from './diagrams/net.svg'" in made
    assert 'src: "./diagrams/net.svg"' in made
    assert "_jsx(Net, {" in made
    assert "const Net = (" in made
    assert re.search(r"<tspan[^>]*>\{?\W*stem|>\s*\{?\W*stem", made)


@pytest.mark.node
def test_mystmd_numbers_the_figure(written: Project) -> None:
    alone(written, "myst.md")
    node = node_with(written.folder, "mystmd@1")
    (written.folder / "myst.yml").write_text(
        "version: 1\nproject:\n  toc:\n    - file: docs/myst.md\nsite:\n  template: book-theme\n", encoding="utf-8"
    )
    command = [node, "node_modules/mystmd/dist/myst.cjs", "build", "--site", "--ci"]
    done = subprocess.run(command, cwd=written.folder, capture_output=True, text=True, check=False)
    built = written.folder / "_build" / "site"  # HTML is made by a theme from the network
    pages = [*(built / "content").glob("*.json")]
    assert len(pages) == 1, done.stdout + done.stderr
    text = json.dumps(json.loads(pages[0].read_text(encoding="utf-8")))
    (image,) = re.findall(r'"type": "image", "url": "/([^"]+)"', text)
    assert "stem" in (built / "public" / image).read_text(encoding="utf-8")
    assert '"kind": "figure"' in text
    assert '"enumerator": "1"' in text


@pytest.mark.skipif(importlib.util.find_spec("pypandoc") is None, reason="needs pypandoc_binary")
def test_pandoc_reads_the_page_of_quarto(written: Project) -> None:
    """Quarto itself is on no index of packages; what reads its pages is pandoc, and it leaves out one of the two."""
    import pypandoc

    page = (written.folder / "docs" / "quarto.qmd").read_text(encoding="utf-8")
    read = pypandoc.convert_text(page, "html", format="markdown+implicit_figures")
    for form, file, name in (("html", "net.svg", "fig-net"), ("pdf", "net.pdf", "fig-net-print")):
        block = read.partition(f'<div class="content-visible" data-when-format="{form}">')[2].partition("</div>")[0]
        assert f'id="{name}"' in block
        assert f'src="diagrams/{file}"' in block
        assert "<figcaption" in block
