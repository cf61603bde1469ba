"""Machines and shells that builds run on, as data, and what becomes of a small site of two diagrams there.

The list was written before it was run for the first time.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MS_RDONLY, _MS_REMOUNT, _MS_BIND = 1, 32, 1 << 12
_CLONE_NEWNS, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 1 << 17, 2, 4, 8, 1 << 14, 1 << 18
ROOT = Path(__file__).parents[1]
NETS = """from torch import nn

class Net(nn.Sequential):
    def __init__(self, width=4):
        super().__init__(nn.Linear(3, width), nn.ReLU())
"""
FILES = {
    "sphinx": {
        "docs/conf.py": "extensions = ['sphinx_torchrecorder']\ntorchrecorder_path = ['../src']\n",
        "docs/index.rst": (
            "Site\n====\n\n.. torchrecorder:: host_nets.Net\n   :shape: 1,3\n\n"
            ".. torchrecorder:: host_nets.Net(5)\n   :shape: 1,3\n"
        ),
    },
    "mkdocs": {
        "mkdocs.yml": "site_name: Site\nplugins:\n  - torchrecorder:\n      path: [src]\n",
        "docs/index.md": (
            "# Site\n\n```torchrecorder host_nets.Net\n:shape: 1,3\n```\n\n"
            "```torchrecorder host_nets.Net(5)\n:shape: 1,3\n```\n"
        ),
    },
}
COMMANDS = {
    "sphinx": ["-m", "sphinx", "-b", "html", "docs", "{out}"],
    "mkdocs": ["-m", "mkdocs", "build", "-d", "{out}"],
}
PLUGIN = "[mkdocs.plugins]\ntorchrecorder = mkdocs_torchrecorder:TorchRecorderPlugin\n"


@dataclass(frozen=True)
class Host:
    """How a build is started; both diagrams are drawn, or with `may_fail` each is a picture or a box with a warning."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables besides those of the test; None for one that is not set. `{root}` is the project."""
    flags: tuple[str, ...] = ()
    """Of Python."""
    limits: Mapping[int, int] = field(default_factory=dict)
    before: Callable[[Path], object] = lambda root: None
    inside: Callable[[], object] = lambda: None
    """Called in the process before it becomes Python."""
    may_fail: bool = False
    only: str = ""
    """The tool that is tried, if not both."""


def _aged(seconds: float) -> Callable[[Path], None]:
    """Set the clock of all files of the project."""

    def set_times(root: Path) -> None:
        for file in root.rglob("*"):
            os.utime(file, (time.time() + seconds, time.time() + seconds))

    return set_times


def _close(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


def _beside(root: Path) -> None:
    """Have what is built lie beside the project."""
    (root.parent / "written").mkdir()
    (root / "out").symlink_to(root.parent / "written")


def _read_only() -> None:
    """Mount the project so that it is only read, in a name space of this process's own."""
    libc, here = ctypes.CDLL(None), os.fsencode(os.getcwd())
    for failed in (
        libc.unshare(_CLONE_NEWNS),
        libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None),
        libc.mount(here, here, None, _MS_BIND, None),
        libc.mount(b"none", here, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY, None),
    ):
        if failed:
            raise PermissionError("only root can mount")
    os.chdir(here)


def _ignore() -> None:
    for ignored in (signal.SIGPIPE, signal.SIGHUP, signal.SIGUSR1, signal.SIGTTOU):
        signal.signal(ignored, signal.SIG_IGN)


def _noexec() -> None:
    """Mount a file system that runs no programs on the temporary folder, in a name space of this process's own."""
    libc, folder = ctypes.CDLL(None), os.fsencode(os.path.join(os.getcwd(), "tmp"))
    for failed in (
        libc.unshare(_CLONE_NEWNS),
        libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None),
        libc.mount(b"tmpfs", folder, b"tmpfs", _MS_NOEXEC | _MS_NOSUID | _MS_NODEV, b"size=64m"),
    ):
        if failed:
            raise PermissionError("only root can mount")


def _folder(name: bytes) -> Callable[[Path], None]:
    return lambda root: os.makedirs(os.path.join(os.fsencode(root), name))


GIB = 1 << 30
HOSTS: dict[str, Host] = {
    "optimised": Host({"PYTHONOPTIMIZE": "1"}),
    "optimised twice": Host(flags=("-OO",)),
    "-O as a flag": Host(flags=("-O",)),
    "UTF-8 mode": Host({"PYTHONUTF8": "1"}),
    "no UTF-8 mode, C locale": Host({"PYTHONUTF8": "0", "LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0"}),
    "Latin-1 for streams": Host({"PYTHONIOENCODING": "latin-1"}),
    "ASCII for streams": Host({"PYTHONIOENCODING": "ascii:strict"}),
    "files an hour in the future": Host(before=_aged(3600)),
    "files a year in the future": Host(before=_aged(366 * 86400)),
    "files of 1970": Host(before=lambda root: _aged(-time.time())(root)),
    "no HOME": Host({"HOME": None, "XDG_CACHE_HOME": None}),
    "HOME that is not there": Host({"HOME": "/nonexistent/home", "XDG_CACHE_HOME": None}),
    "HOME that is a file": Host({"HOME": "{root}/docs/../src/host_nets.py", "XDG_CACHE_HOME": None}),
    "TMPDIR that is not there": Host({"TMPDIR": "/nonexistent/tmp"}),
    "TMPDIR with a space and a quote": Host({"TMPDIR": "{root}/a b'c\""}, before=_folder(b"a b'c\"")),
    "TMPDIR that is not UTF-8": Host({"TMPDIR": "{root}/t\udcff"}, before=_folder(b"t\xff")),
    "TMPDIR within the project": Host({"TMPDIR": "{root}/docs/tmp"}, before=_folder(b"docs/tmp")),
    "empty PATH": Host({"PATH": ""}),
    "no PATH": Host({"PATH": None}),
    "no variables but PYTHONPATH": Host({name: None for name in os.environ if name != "PYTHONPATH"}),
    "a variable that is not UTF-8": Host({"ODD": "a\udcff\udcfe"}),
    "a variable of 100 KB": Host({"ODD": "x" * 100_000}),
    "development mode": Host(flags=("-X", "dev")),
    "warnings as errors in what is imported": Host({"PYTHONWARNINGS": "error::SyntaxWarning"}),
    "no bytecode": Host({"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/nonexistent"}),
    "safe path": Host({"PYTHONSAFEPATH": "1"}),
    "no user's site": Host(flags=("-s",)),
    "import times": Host({"PYTHONPROFILEIMPORTTIME": "1"}),
    "debugging memory": Host({"PYTHONMALLOC": "debug"}),
    "tracing memory": Host({"PYTHONTRACEMALLOC": "5"}),
    "another hash seed": Host({"PYTHONHASHSEED": "12345"}),
    "verbose faults": Host({"PYTHONFAULTHANDLER": "1", "TORCH_SHOW_CPP_STACKTRACES": "1"}),
    "no standard input": Host(inside=_close(0)),
    "no standard streams but errors": Host(inside=_close(0, 1), only="sphinx"),  # MkDocs asks the terminal
    "mask that leaves nothing to others": Host(inside=lambda: os.umask(0o077)),
    "64 descriptors": Host(limits={resource.RLIMIT_NOFILE: 64}),
    "24 descriptors": Host(limits={resource.RLIMIT_NOFILE: 24}, may_fail=True),
    "4 GiB of addresses": Host(limits={resource.RLIMIT_AS: 4 * GIB}),
    "1 GiB of addresses": Host(limits={resource.RLIMIT_AS: GIB}, may_fail=True),
    "512 MiB of addresses": Host(limits={resource.RLIMIT_AS: GIB // 2}, may_fail=True),
    "files of at most 1 MB": Host(limits={resource.RLIMIT_FSIZE: 1_000_000}),
    "a stack of 1 MB": Host(limits={resource.RLIMIT_STACK: 1 << 20}, may_fail=True),
    "seconds of a processor": Host(limits={resource.RLIMIT_CPU: 600}),
    "a checkout that is only read": Host(before=_beside, inside=_read_only),
    "signals that are ignored": Host(inside=_ignore),
    "a temporary folder that runs nothing": Host(
        {"TMPDIR": "{root}/docs/../tmp"}, before=_folder(b"tmp"), inside=_noexec
    ),
    "a terminal of one column": Host({"COLUMNS": "1", "LINES": "1", "TERM": "dumb"}),
    "a reproducible build": Host({"SOURCE_DATE_EPOCH": "0", "TZ": "Asia/Kathmandu"}),
    "another language": Host({"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}, only="mkdocs"),
    "threads of its own": Host({"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "64"}),
    "a graphics card that is hidden": Host({"CUDA_VISIBLE_DEVICES": ""}),
    "PYTHONPATH with what is not there": Host({"PYTHONPATH": "/nonexistent:{path}:{root}/none.zip:relative"}),
}


def write_project(root: Path, tool: str) -> None:
    """A site of two diagrams, with the plugin where MkDocs looks for it."""
    info = root / "site-of-ours" / "ours-1.dist-info"
    for name, text in {**FILES[tool], "src/host_nets.py": NETS}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1\n")
    (info / "entry_points.txt").write_text(PLUGIN)


@dataclass(frozen=True)
class HostBuilt:
    """What came of a build."""

    status: int
    output: str
    page: str

    def wrong(self, host: Host) -> str:
        """What is wrong with it; empty if nothing is."""
        pictures, boxes = self.page.count("<title"), self.page.count("No diagram of ")
        drawn = self.page.count('class="torchrecorder-picture')
        said = f"status {self.status}, {drawn} pictures, {boxes} boxes: {self.output[-700:]}"
        if self.status or "Traceback" in self.output:
            return said
        if host.may_fail:
            is_right = drawn + boxes >= 2 and (not boxes or "torchrecorder" in self.output)
        else:
            is_right = drawn >= 2 and not boxes and pictures > 0
        return "" if is_right else said


def build(root: Path, tool: str, host: Host) -> HostBuilt:
    """Build the site, twice: what the first has left must not harm the second."""
    host.before(root)
    path = os.pathsep.join(map(str, (ROOT / "core", ROOT, root / "site-of-ours")))
    given: dict[str, str | None] = {**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    for name, value in host.environment.items():
        given[name] = None if value is None else value.replace("{root}", str(root)).replace("{path}", path)

    def inside() -> None:
        for kind, limit in host.limits.items():
            resource.setrlimit(kind, (limit, limit))
        host.inside()

    out = root / "out" / tool
    command = [sys.executable, *host.flags, *(part.replace("{out}", str(out)) for part in COMMANDS[tool])]
    for _ in range(2):
        done = subprocess.run(
            command,
            cwd=root,
            env={name: value for name, value in given.items() if value is not None},
            preexec_fn=inside,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        page = out / "index.html"
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        built = HostBuilt(done.returncode, done.stdout.decode(errors="replace"), text)
        if built.wrong(host):
            break
    return built
