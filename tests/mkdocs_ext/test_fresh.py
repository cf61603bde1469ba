"""A diagram follows its model, and only its own model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.livereload import LiveReloadServer

from tests.mkdocs_ext.nets import write_nets
from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.seeing import see
from tests.mkdocs_ext.site import Built, Site

ROOT = Path(__file__).parents[2]


def test_a_served_site_follows_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_nets(tmp_path / "src")
    code = {name: folder / "nets" / f"{name}.py" for name in ("__init__", "other", "broken")}
    site = Site(tmp_path / "site", folder, tmp_path / "cache")
    site.write("index.md", FENCE)
    site.write("other.md", FENCE.replace("nets.Net", "nets.other.Other"))
    site.write("broken.md", FENCE.replace("nets.Net", "nets.broken.Other"))
    site.plugin.on_startup(command="serve", dirty=False)
    first = site.rebuild(site.config())
    assert steps(first) == ["recording 1/3", "recording 2/3", "recording 3/3", "drawing 2 diagrams"]
    before = pictures(first)
    assert "Linear 3→5" in before["other/"]
    assert "the weights are elsewhere" in before["broken/"]

    server = LiveReloadServer(lambda: None, "127.0.0.1", 0, str(tmp_path))
    server.server_close()
    site.plugin.on_serve(server, config=site.config(), builder=lambda: None)
    assert set(map(str, code.values())) <= set(server._watched_paths)

    changed = code["other"].read_text(encoding="utf-8").replace("nn.Linear(3, 5)", "nn.Linear(3, 7)")
    code["other"].write_text(changed, encoding="utf-8")
    code["broken"].write_text(changed, encoding="utf-8")
    second = site.rebuild(site.config())
    assert steps(second) == ["recording 1/2", "recording 2/2", "drawing 2 diagrams"]
    after = pictures(second)
    assert after[""] == before[""]
    assert "Linear 3→7" in after["other/"]
    assert after["broken/"] == after["other/"]

    monkeypatch.setattr(subprocess, "Popen", no_process)
    third = site.rebuild(site.config())
    assert third.progress == []
    assert pictures(third) == after
    site.plugin.on_shutdown()


def test_the_builds_of_a_server_share_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a package that two diagrams share is imported anew by each build: it reads a file that nobody watches."""
    folder = write_nets(tmp_path / "src")
    code = folder / "nets" / "__init__.py"
    width = folder / "nets" / "width.txt"
    width.write_text("4")
    text = code.read_text() + "\nWIDTH = int(open(__file__.replace('__init__.py', 'width.txt')).read())\n"
    code.write_text(text.replace("width=8):", "width=None):").replace("(3, width)", "(3, width or WIDTH)"))
    started = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: object) -> None:
            super().__init__(command, **options)  # type: ignore[call-overload]
            if "torchrecorder.worker.server" in command:
                started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    site = Site(tmp_path / "site", folder, tmp_path / "cache")
    site.write("index.md", FENCE + "\n" + FENCE.replace("nets.Net", "nets.other.Other"))
    site.plugin.on_startup(command="serve", dirty=False)
    assert "Linear 3→4" in site.rebuild(site.config()).page()
    width.write_text("6")
    assert "Linear 3→6" in site.rebuild(site.config()).page()
    code.write_text(code.read_text().replace("(3, width or WIDTH)", "(3, 7)"))
    assert "Linear 3→7" in site.rebuild(site.config()).page()
    assert len(started) == 1
    assert started[0].poll() is None

    started[0].kill()
    started[0].wait()
    code.write_text(code.read_text().replace("(3, 7)", "(3, 9)"))
    assert "Linear 3→9" in site.rebuild(site.config()).page()
    assert len(started) == 2
    site.plugin.on_shutdown()
    assert started[1].poll() is not None


def steps(built: Built) -> list[str]:
    return [line.partition(":")[0] for line in built.progress]


def pictures(built: Built) -> dict[str, str]:
    """The words in the picture of each page, or in the box in its place."""
    pages = {name: see(built.page(f"{name}index.html")) for name in ("", "other/", "broken/")}
    return {name: (page.figures or page.boxes)[0].text for name, page in pages.items()}


def no_process(*args: object, **kwargs: object) -> None:
    raise AssertionError(f"started {args}")


SCRIPT = """
import sys
from pathlib import Path
from tests.mkdocs_ext.site import Site

site = Site(Path({folder!r}), Path({nets!r}), Path({cache!r}))
site.write("index.md", {text!r})
built = site.build()
assert built.warnings == [], built.warnings
assert "<figure" in built.page()
print(bool(built.progress), *sorted({{"torch", "numpy", "graphviz"}} & set(sys.modules)))
"""


def test_the_process_of_mkdocs_never_loads_torch(tmp_path: Path, nets: Path) -> None:
    """And loads Graphviz's package only to draw."""
    said = []
    for run in ("first", "second"):
        script = SCRIPT.format(folder=str(tmp_path / run), nets=str(nets), cache=str(tmp_path / "cache"), text=FENCE)
        path = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said.append(done.stdout.split() or [done.stderr])
    assert said == [["True", "graphviz"], ["False"]]


def test_the_extension_does_without_mkdocs() -> None:
    script = "import mkdocs_torchrecorder, sys; print([m for m in ('mkdocs', 'torch', 'graphviz') if m in sys.modules])"
    path = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
