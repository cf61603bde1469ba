"""Edits at exact moments of a recording: what was asked before them must not be served as what is there after."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.core.trace.freshness.cases import Edit, each, link, put, remove, touch
from tests.models.one_layer import net
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request

MakeProject = Callable[[dict[str, str | bytes]], Any]
SEED = 20261125
STOPS = """
import os
from pathlib import Path
HERE = Path(__file__).parent
def stop(number):
    with open(f"PIPES/begun{number}", "w"): pass
    with open(f"PIPES/end{number}"): pass
def text():
    try: return (HERE / "a").read_text()
    except OSError: return ""
"""
"""A model that stops at pipes, before it asks and after that, until the test has made its edit."""
DEVICES = Path("/dev/shm")
"""What lies there is no file of a project."""
pytestmark = pytest.mark.skipif(not DEVICES.is_dir(), reason="this system has no /dev/shm")
ASKS = {
    "exists": ("6 if os.path.exists(HERE / 'a') else 4", ("create", "remove")),
    "is file": ("6 if (HERE / 'a').is_file() else 4", ("create", "remove")),
    "read": ("len(text()) + 3", ("rewrite", "remove", "moved there")),
    "listing": ("len(os.listdir(HERE / 'd')) + 3", ("list", "unlist", "rename")),
    "glob": ("len([*(HERE / 'd').glob('*')]) + 3", ("list", "unlist")),
    "size": ("os.path.getsize(HERE / 'a') + 3", ("rewrite",)),
    "date": ("int(os.path.getmtime(HERE / 'a')) % 97 + 1", ("touch",)),
    "link": ("len(os.readlink(HERE / 'l')) + 3", ("symlink",)),
    "behind a link": ("len((HERE / 'l').read_text()) + 3", ("symlink",)),
    "import": ("W", ("import", "import of a package")),
    "import of a module": ("V", ("module",)),
    "import of a namespace": ("U", ("namespace",)),
}
IMPORTS = """
def asked():
    W = V = U = 4
    try: from pkg.new import W
    except ImportError: pass
    try: from pkg.old import V
    except ImportError: pass
    import pkg.space; U = getattr(pkg.space, "U", 4)
    return {}
"""


HERE = "src/pkg/"
EDITS: dict[str, Edit] = {
    "create": put({f"{HERE}a": "123456"}),
    "remove": remove(f"{HERE}a"),
    "rewrite": put({f"{HERE}a": "12345678"}),
    "moved there": lambda project: os.replace(project.root / HERE / "target-2", project.root / HERE / "a"),
    "list": put({f"{HERE}d/new": ""}),
    "unlist": remove(f"{HERE}d/x"),
    "rename": each(remove(f"{HERE}d/x"), put({f"{HERE}d/z": "", f"{HERE}d/w": ""})),
    "touch": touch(f"{HERE}a", 1_700_000_000),
    "symlink": link(f"{HERE}l", "target-2"),
    "import": put({f"{HERE}new.py": "W = 6\n"}),
    "import of a package": put({f"{HERE}new/__init__.py": "W = 6\n"}),
    "module": put({f"{HERE}old.py": "V = 7\n"}),
    "namespace": put({f"{HERE}space/__init__.py": "U = 6\n"}),
}


def moments() -> list[tuple[str, str, int]]:
    """Thirty edits: what the model asks, what is edited, and at which of its stops."""
    drawn = random.Random(SEED)
    pairs = [(ask, edit) for ask, (_, kinds) in ASKS.items() for edit in kinds]
    return [(*pair, drawn.randrange(3)) for pair in [*pairs, *drawn.choices(pairs, k=30 - len(pairs))]]


@pytest.fixture
def pipes() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=DEVICES) as folder:
        for number in range(3):
            os.mkfifo(f"{folder}/begun{number}")
            os.mkfifo(f"{folder}/end{number}")
        yield Path(folder)


@contextmanager
def at_stop(pipes: Path, number: int, edit: Callable[[], object]) -> Iterator[None]:
    """Make an edit while a model stands at one of its stops."""

    def run() -> None:
        for stop in range(3):
            (pipes / f"begun{stop}").open().close()
            if stop == number:
                edit()
            (pipes / f"end{stop}").open("w").close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join(timeout=60)


def build(project: Any, cache: str = "") -> Outcome:
    request = read_request("pkg.Net", {"shape": "1,3"})
    outcome: Outcome = Pipeline(project.settings(cache), project.worker.open).run([request])[request]
    return outcome


@pytest.mark.parametrize(("ask", "edit", "stop"), moments())
def test_no_edit_is_lost(ask: str, edit: str, stop: int, make_project: MakeProject, pipes: Path) -> None:
    stops = "stop(0)\nWIDTH = asked()\nstop(1)\nAGAIN = asked() if {} else 0\nstop(2)"
    code = IMPORTS.format(ASKS[ask][0]) + stops.format(int("import" not in ask and stop == 1 and len(edit) % 2))
    project = make_project({"src/pkg/__init__.py": net("WIDTH", STOPS.replace("PIPES", str(pipes)) + code)})
    folder = project.root / "src" / "pkg"
    files = {"d/x": "", "d/y": "", "target-1": "1", "target-2": "123456", "old.py": "V = 4\n", "space/x": ""}
    files |= {"a": "123"} if edit not in ("create",) else {}
    project.write({f"src/pkg/{name}": text for name, text in files.items()})
    (folder / "l").symlink_to("target-1")
    with at_stop(pipes, stop, lambda: EDITS[edit](project)):
        first = build(project)
    with at_stop(pipes, -1, lambda: None):
        truth = build(project, "../truth")
    assert first.diagram is not None, first.error
    assert truth.diagram is not None, truth.error
    is_kept = project.finding().verdict.value == "fresh"
    assert not is_kept or first.diagram.svg == truth.diagram.svg, "stale for ever"
    if stop == 0:
        assert is_kept, "it was edited before it was asked for"
    assert is_kept != ("changed while it was recorded" in first.info), first.info


def test_what_comes_and_goes_in_a_listed_folder_is_no_change(make_project: MakeProject, pipes: Path) -> None:
    code = "import os\nstop(0)\nWIDTH = len(os.listdir(HERE)) + 3\nstop(1)\nstop(2)"
    project = make_project({"src/pkg/__init__.py": net("WIDTH", STOPS.replace("PIPES", str(pipes)) + code)})
    with at_stop(pipes, 1, lambda: put({f"{HERE}.torchrecorder/README": "", f"{HERE}.a.swp": ""})(project)):
        outcome = build(project)
    assert outcome.info == ""
    assert project.finding().verdict.value == "fresh"


def test_what_the_recording_writes_itself_is_no_change(make_project: MakeProject) -> None:
    code = "import os\nfrom pathlib import Path\nHERE = Path(__file__).parent\nWIDTH = len(os.listdir(HERE)) + 3\n"
    code += "(HERE / 'new').write_text('1')\nos.replace(HERE / 'new', HERE / 'made')\n"
    code += "(HERE / 'd').mkdir(exist_ok=True)\nos.path.exists(HERE / 'made')\nlen(os.listdir(HERE))"
    project = make_project({"src/pkg/__init__.py": net("WIDTH", code)})
    assert build(project).info == ""
    assert project.finding().verdict.value == "fresh"
