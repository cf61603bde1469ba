"""A notebook that nbconvert runs and converts, and JupyterLab shows, light, dark, and without trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.sites import NETS, ROOT

HAS_IT = "python -m nox -s tests -- -m browser has it"
nbformat: Any = pytest.importorskip("nbformat", reason=f"jupyterlab and nbconvert[webpdf]: {HAS_IT}")
pytest.importorskip("jupyterlab", reason=f"jupyterlab: {HAS_IT}")
pytest.importorskip("nbconvert", reason=f"nbconvert[webpdf]: {HAS_IT}")

pytestmark = pytest.mark.browser

CELLS = (
    "import torchrecorder, demo_nets.resnet, demo_nets.encoder",
    "resnet = torchrecorder.draw(demo_nets.resnet.ResNet(), (1, 3, 32, 32)); resnet",
    "torchrecorder.draw(demo_nets.encoder.TransformerEncoder(), 'ids=int64[1,32]<1000')",
    "resnet",
)
LIVE = "[...document.querySelectorAll('.torchrecorder-views[data-ready]')].map((it) => it.id)"
IMAGES = "document.querySelectorAll('figure.torchrecorder img').length"


def jupyter(*arguments: str, folder: Path) -> str:
    """What `jupyter` says; it has to end well."""
    path = os.pathsep.join((str(ROOT / "core"), str(NETS)))
    command = [sys.executable, "-m", "jupyter", *arguments]
    ran = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a notebook that was run."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, CELLS)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "net.ipynb")
    jupyter("nbconvert", "--to", "notebook", "--inplace", "--execute", "net.ipynb", folder=folder)
    return folder


def test_one_cell_has_the_script(folder: Path) -> None:
    cells = nbformat.read(folder / "net.ipynb", 4).cells[1:]
    (outputs,) = zip(*(cell.outputs for cell in cells), strict=True)
    assert ["DecompressionStream" in it.data["text/html"] for it in outputs] == [True, False, False]
    assert all(it.metadata["application/pdf"]["alt"] for it in outputs)


def test_html_is_the_figure_of_a_page(folder: Path, browser: Any) -> None:
    assert "lternative text" not in jupyter("nbconvert", "--to", "html", "net.ipynb", folder=folder)
    page = browser.new_page()
    page.goto((folder / "net.html").as_uri(), wait_until="commit")
    page.wait_for_function(f"{LIVE}.length == 3")
    assert page.evaluate(LIVE) == ["ResNet:", "TransformerEncoder:", "ResNet-2:"]
    ids = page.evaluate("[...document.querySelectorAll('.torchrecorder [id]')].map((it) => it.id)")
    assert len(ids) == len(set(ids))
    page.locator("[id='ResNet-2:'] a.door").first.click()
    assert page.locator("[id='ResNet-2:'] .torchrecorder-inside:visible").count() == 1
    assert page.locator("[id='ResNet:'] .torchrecorder-inside:visible").count() == 0
    page.close()


def test_latex_needs_no_inkscape(folder: Path) -> None:
    jupyter("nbconvert", "--to", "latex", "net.ipynb", folder=folder)
    assert len([*(folder / "net_files").glob("*.pdf")]) == 3


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab."""
    options = ("--allow-root", "--no-browser", "--port=8979", "--ServerApp.token=", "--ServerApp.port_retries=0")
    program = [sys.executable, "-m", "jupyter", "lab", *options, f"--ServerApp.root_dir={folder}"]
    started = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen("http://127.0.0.1:8979/api", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        yield "http://127.0.0.1:8979/lab"
    finally:
        started.terminate()
        try:
            started.wait(timeout=30)
        except subprocess.TimeoutExpired:  # it sometimes waits for ever for what a page left open
            started.kill()
            started.wait()


@pytest.mark.parametrize("is_trusted", [True, False])
def test_jupyterlab_shows_it(folder: Path, lab: str, browser: Any, is_trusted: bool) -> None:
    name = f"trusted-{is_trusted}.ipynb"
    notebook = json.loads((folder / "net.ipynb").read_text("utf-8"))
    notebook["metadata"]["title"] = name  # trust is in what a notebook says, not in its file
    (folder / name).write_text(json.dumps(notebook), encoding="utf-8")
    if is_trusted:
        jupyter("trust", name, folder=folder)
    page = browser.new_page()
    page.goto(f"{lab}/tree/{name}?reset", wait_until="commit")
    page.locator("figure.torchrecorder").first.wait_for(timeout=60_000)
    if is_trusted:
        page.wait_for_function(f"{LIVE}.length > 0 && {IMAGES} == 0")  # cells come live one after another
    else:
        image = page.locator("figure.torchrecorder img").first
        assert image.evaluate("async (it) => { await it.decode(); return it.naturalWidth }") > 100
        assert page.evaluate(LIVE) == []
    page.close()
