"""One real use of each extra, by the Python of an environment that the wheel was installed into.

python -I use.py EXTRA          `bare` is the wheel without extras and without torch
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

NETS = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.first(x).relu())
"""
DRAW = ("torchrecorder", "draw", "nets.Net", "--shape", "1,8")


def main(extra: str) -> None:
    os.environ.pop("PYTHONPATH", None)
    for package in ("torchrecorder", "sphinx_torchrecorder", "mkdocs_torchrecorder"):
        found = find_spec(package)
        assert found is not None, package
        assert Path(str(found.origin)).is_relative_to(sys.prefix), f"{found.origin} is not of the wheel"
    for use in USES[extra]:
        with tempfile.TemporaryDirectory() as folder, backport():
            os.chdir(folder)
            Path("nets.py").write_text(NETS)
            use()
            os.chdir("/")
        print(f"{extra}: {use.__name__.removeprefix('use_')} works")


@contextlib.contextmanager
def backport() -> Iterator[None]:
    """A module of the standard library is installed as well, by an old package; it must not come first anywhere."""
    shadow = Path(sysconfig.get_path("purelib"), "dataclasses.py")
    shadow.write_text("raise ImportError('a backport is imported in place of the standard library')")
    try:
        yield
    finally:
        shadow.unlink()


def run(*command: str, status: int = 0, **environment: str) -> str:
    """Run a command of the environment's, and give what it printed."""
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [program, *command[1:]],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == status, f"{' '.join(command)} gave {done.returncode}:\n{done.stdout}"
    return done.stdout


def use_bare() -> None:
    import torchrecorder

    assert torchrecorder.__version__ == importlib.metadata.version("torchrecorder-docs")
    assert torchrecorder.__version__ in run("torchrecorder", "--version")
    assert "draw models" in run("torchrecorder", "--help")
    assert "ok    layout engine: graphviz-pure" in run("torchrecorder", "doctor", status=1)
    assert "install torch" in run(*DRAW, status=1)
    ask = "import torchrecorder; torchrecorder.draw"
    assert "pip install 'torchrecorder-docs[torch]'" in run("python", "-c", ask, status=1)


def use_torch() -> None:
    """Alone: what other extras bring is not there, and is named where it is needed."""
    assert not any(map(find_spec, ("numpy", "torchinfo", "pypdfium2", "aiohttp", "distributed", "sphinx", "mkdocs")))
    run(*DRAW, "-o", "net.svg")
    assert "first" in Path("net.svg").read_text(encoding="utf-8")
    run(*DRAW, "-o", "net.pdf")
    assert b"+TorchrecorderSansBold" in Path("net.pdf").read_bytes()
    assert "docs[png]" in run(*DRAW, "-o", "net.png", status=2)
    assert "docs[remote]" in run(*DRAW, "--cache", "other", "--remote", "http://127.0.0.1:9")

    import torch

    import torchrecorder

    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    assert "Linear 8→4" in torchrecorder.draw(net, shape=(1, 8)).text
    assert [op.name for op in torchrecorder.capture(net, (torch.ones(1, 8),)).ops] == ["linear", "relu"]
    ask = "import nets; from torchrecorder.scio.recorder import Recorder; Recorder(nets.Net(), input_size=(1, 8))"
    assert "pip install 'torchrecorder-docs[scio]'" in run("python", "-c", ask, status=1)


def use_sphinx() -> None:
    Path("docs").mkdir()
    Path("docs/conf.py").write_text('extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = [".."]\n')
    Path("docs/index.rst").write_text("Nets\n====\n\n.. torchrecorder:: nets.Net\n   :shape: 1,8\n")
    run("sphinx-build", "-W", "-b", "html", "docs", "site")
    assert_drawn("site/_static")


def use_wasm() -> None:
    run(*DRAW, "--engine", "wasm", "-o", "net.svg")
    assert "first" in Path("net.svg").read_text(encoding="utf-8")


def use_mkdocs() -> None:
    write_mkdocs()
    run("mkdocs", "build", "--strict")
    assert_drawn("site/assets")


def use_png() -> None:
    run(*DRAW, "-o", "net.png")
    data = Path("net.png").read_bytes()
    assert data[:16] == b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    assert min(width, height) > 100
    start = data.index(b"IDAT")
    pixels = zlib.decompressobj().decompress(data[start + 4 :])
    assert len(set(pixels)) > 10, "the picture is blank"


def use_remote() -> None:
    """Recorded into a folder, and drawn from a server of it where torch cannot be imported."""
    run(*DRAW, "--remote", "team")
    Path("bare").mkdir()
    Path("bare/sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")
    bare = os.path.abspath("bare")
    assert "install torch" in run(*DRAW, "--cache", "without", status=1, PYTHONPATH=bare)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(SimpleHTTPRequestHandler, directory="team")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        run(*DRAW, "--cache", "with", "--remote", url, "-o", "net.svg", PYTHONPATH=bare)
        server.shutdown()
    assert "first" in Path("net.svg").read_text(encoding="utf-8")


def use_hub() -> None:
    """A hub that nothing listens at is asked, and that it does not answer is said."""
    said = run("torchrecorder", "draw", "hf:owner/net", status=1, HF_ENDPOINT="http://127.0.0.1:9", HF_HOME="home")
    assert "http://127.0.0.1:9 does not give it" in said


def use_dask() -> None:
    from distributed import LocalCluster

    write_mkdocs("cache: diagrams")
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call]
        command = ("torchrecorder", "update", "mkdocs.yml", "--dask", cluster.scheduler_address)
        assert "1 recording, 1 to be recorded" in run(*command)
        assert "1 recording, 0 to be recorded" in run(*command)


def use_scio() -> None:
    import torch

    from torchrecorder.scio.recorder import Recorder

    net = Recorder(torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()), input_size=(1, 8))
    net.record((1, 2))
    out = net(torch.ones(1, 8))
    assert torch.equal(net.activations[1, 2], out)
    assert "Linear (0): 1-1" in repr(net)


def write_mkdocs(setting: str = "engine: auto") -> None:
    Path("docs").mkdir()
    plugin = f"  - torchrecorder:\n      path: [.]\n      {setting}\n"
    Path("mkdocs.yml").write_text(f"site_name: nets\nplugins:\n{plugin}")
    Path("docs/index.md").write_text("# Nets\n\n```torchrecorder\nnets.Net\n:shape: 1,8\n```\n")


def assert_drawn(assets: str) -> None:
    page = Path("site/index.html").read_text(encoding="utf-8")
    assert page.count('class="torchrecorder" role="img"') == 1
    assert ">first<" in page
    assert any(Path(assets).rglob("torchrecorder*.css")), "the page's style sheet is missing"


USES: dict[str, tuple[Callable[[], None], ...]] = {
    "bare": (use_bare,),
    "torch": (use_torch,),
    "sphinx": (use_sphinx,),
    "mkdocs": (use_mkdocs,),
    "png": (use_png,),
    "remote": (use_remote,),
    "hub": (use_hub,),
    "dask": (use_dask,),
    "scio": (use_scio,),
    "wasm": (use_wasm,),
    "all": (use_sphinx, use_mkdocs, use_png, use_remote, use_hub, use_scio),
}


if __name__ == "__main__":
    main(sys.argv[1])
