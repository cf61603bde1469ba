"""Builds and serves a site with one tool that reads Markdown, as users do: on its command line, over HTTP, with edits.

`python tests/versions/sites.py TOOL PYTHON`: TOOL is mkdocs, properdocs or zensical, each in an environment of its own,
because what a documentation tool brings along must not help another one. PYTHON records, so only that one needs torch.
Needs Linux, and no test tools.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.mkdocs_ext.nets import write_nets  # noqa: E402
from tests.mkdocs_ext.placements import DRAWN, EXTENSIONS, FENCE, SHOWN, SUPERFENCES, WRONG  # noqa: E402
from tests.mkdocs_ext.seeing import see  # noqa: E402

SETTLE_S = 1.1
"""Zensical sees whole seconds of mtimes."""
WAIT_S = 90.0
TIMES_BROKEN = 10
DATA = (
    "\nimport json, pathlib\nWIDTH = json.loads((pathlib.Path(__file__).parent / 'size.json').read_text())['width']\n"
)


class Project:
    """A site in a folder, and the commands of its tool."""

    def __init__(self, folder: Path, tool: str, python: str) -> None:
        self.folder, self.tool, self._python = folder, tool, python
        self.is_zensical = tool == "zensical"
        package = write_nets(folder / "src") / "nets"
        init = package / "__init__.py"
        text = init.read_text(encoding="utf-8").replace("width=8", "width=WIDTH")
        init.write_text(text.replace("from torch import nn", "from torch import nn\n" + DATA, 1), encoding="utf-8")
        (package / "size.json").write_text('{"width": 8}', encoding="utf-8")
        (folder / "docs").mkdir()

    def configure(self, *plugins: str, **settings: str) -> None:
        """Write the configuration, with settings of ours and with other plugins."""
        settings = {"path": "[src]", "python": self._python, **settings}
        ours = "".join(f"\n      {name}: {value}" for name, value in settings.items())
        extensions = [*EXTENSIONS, *SUPERFENCES, *([f"torchrecorder:{ours}"] if self.is_zensical else [])]
        lines = ["site_name: Site", "use_directory_urls: false", "markdown_extensions:"]
        lines += [f"  - {name}" for name in extensions]
        if self.is_zensical:
            lines += ["watch: [src, .torchrecorder/stamp]"]
        else:
            lines += ["theme: mkdocs", "plugins:", f"  - torchrecorder:{ours}", *(f"  - {name}" for name in plugins)]
        (self.folder / "mkdocs.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        (self.folder / "docs" / name).write_text(text, encoding="utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        """Edit a source of the package."""
        time.sleep(SETTLE_S)
        file = self.folder / "src" / "nets" / name
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{name} does not hold {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)

    def build(self, *, strict: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(self.tool, "build", *(["--strict"] if strict else []))

    def page(self, name: str) -> str:
        return (self.folder / "site" / name).read_text(encoding="utf-8")


def placements(project: Project) -> None:
    """Every place where a fence may stand, and where it is only shown or a mistake."""
    project.configure()
    project.write("index.md", "# Home\n")
    for kind, texts in {"drawn": DRAWN, "shown": SHOWN}.items():
        for i, text in enumerate(texts.values()):
            project.write(f"{kind}{i}.md", f"# Page\n\n{text}")
    done = project.build()
    assert done.returncode == 0, done.stdout + done.stderr
    for kind, texts in {"drawn": DRAWN, "shown": SHOWN}.items():
        for i, name in enumerate(texts):
            seen = see(project.page(f"{kind}{i}.html"))
            assert (len(seen.figures), len(seen.boxes)) == (int(kind == "drawn"), 0), f"{kind}: {name}"
    for i, (_, text, _) in enumerate(WRONG.values()):
        project.write(f"wrong{i}.md", "# Page\n" + text)
    done = project.build()
    said = done.stdout + done.stderr
    for i, (line, _, problem) in enumerate(WRONG.values()):
        assert f"wrong{i}.md:{line}: torchrecorder: {problem}" in said, f"wrong{i}.md is not warned of:\n{said}"
    if not project.is_zensical:  # which fails on exceptions only
        assert done.returncode == 1, said
    for i in range(1, len(WRONG)):
        (project.folder / "docs" / f"wrong{i}.md").unlink()
    project.configure(on_error="raise")
    done = project.build(strict=False)
    first = next(line for line in (done.stdout + done.stderr).splitlines() if "torchrecorder:" in line)
    assert done.returncode != 0
    assert "wrong0.md:2: torchrecorder:" in first, first
    for file in (project.folder / "docs").glob("*.md"):
        file.unlink()
    print("placements: as they should be", flush=True)


def stale(project: Project) -> None:
    """One build after the other, each with something edited."""
    project.configure()
    project.write("index.md", FENCE)

    def built() -> str:
        if project.is_zensical:
            assert project.run("torchrecorder", "stamp").returncode == 0
        assert (done := project.build()).returncode == 0, done.stderr
        return see(project.page("index.html")).figures[0].text

    assert "first" in built()
    for file, old, new, word in EDITS:
        project.replace(file, old, new)
        assert word in built(), f"stale after {file}"
    for file, old, new, _ in reversed(EDITS):
        project.replace(file, new, old)
    print("builds: never stale", flush=True)


def printed(project: Project) -> None:
    """The page of print-site, which joins all pages behind the back of other plugins."""
    project.configure("print-site")
    project.write("index.md", "# Net\n\n" + FENCE.replace(":shape", ":depth: 0-1\n:shape"))
    project.write("other.md", "# Net\n\n" + FENCE)
    done = project.build()
    assert done.returncode == 0, done.stderr
    seen = see(project.page("print_page.html"))
    assert (len(seen.figures), seen.twice & {it.attributes.get("id") for it in seen.all("svg")}) == (2, set())
    assert [", ReLU" not in figure.text for figure in seen.figures] == [False, True]
    print("print-site", importlib.metadata.version("mkdocs-print-site-plugin"), "has the figures", flush=True)


EDITS = [
    ("__init__.py", "self.first", "self.renamed", "renamed"),
    ("size.json", "8", "9", "3→9"),
    ("__init__.py", "nn.ReLU()", "nn.Tanh()", "Tanh"),
]


def serve(project: Project) -> None:
    """The server of the tool, twice at once, with edits and with a model that breaks again and again."""
    project.configure()
    project.write("index.md", "# Net\n\n" + FENCE)
    with ExitStack() as stack:
        # A second one of Zensical ends with a panic when both clean the folder of the site.
        servers = [stack.enter_context(server(project)) for _ in range(1 if project.is_zensical else 2)]

        def wait(word: str, what: str) -> None:
            deadline = time.monotonic() + WAIT_S
            for process, address in servers:
                while word not in read(address):
                    assert process.poll() is None, f"the server ended: {what}"
                    assert time.monotonic() < deadline, f"{word!r} was not shown within {WAIT_S:g} s: {what}"
                    time.sleep(0.1)

        wait("first", "the first build")
        for file, old, new, word in EDITS:
            project.replace(file, old, new)
            wait(word, f"{file} was edited")
        for i in range(TIMES_BROKEN):
            project.replace("__init__.py", "class Net(", "class Net((")
            wait("torchrecorder-error", f"broken for the {i}. time")
            project.replace("__init__.py", "class Net((", "class Net(")
            wait("Tanh", f"mended for the {i}. time")
        workers = [pid for process, _ in servers for pid in children(process.pid)]
    deadline = time.monotonic() + 20
    while (left := [pid for pid in workers if Path("/proc", str(pid)).exists()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers, "no worker was seen"
    assert not left, f"left behind: {left}"
    print("servers: follow edits, live through errors, leave nothing behind", flush=True)


@contextmanager
def server(project: Project) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", project.tool, "serve", "--dev-addr", f"localhost:{port}"]
    with subprocess.Popen(command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process, f"http://localhost:{port}/index.html"
        finally:
            process.send_signal(signal.SIGINT)  # as Ctrl-C does
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def read(address: str) -> str:
    with suppress(OSError), urllib.request.urlopen(address, timeout=10) as answer:
        text: str = answer.read().decode()
        return text
    return ""


def children(parent: int) -> list[int]:
    """The processes that another one has started."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(file.parent.name))
    return found


def main(tool: str, python: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have servers ignore Ctrl-C
    os.environ |= {"PYTHONPATH": f"{ROOT / 'core'}{os.pathsep}{ROOT}", "NO_MKDOCS_2_WARNING": "1"}
    print(tool, importlib.metadata.version(tool), flush=True)
    if tool == "properdocs":
        assert importlib.util.find_spec("mkdocs") is None, "MkDocs is installed beside ProperDocs"
    checks = [placements, stale, serve]
    if importlib.util.find_spec("mkdocs_print_site_plugin") is not None:
        checks.append(printed)
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(Project(Path(folder), tool, python))


if __name__ == "__main__":
    main(*sys.argv[1:])
