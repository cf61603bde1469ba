"""What is noted of a run, on every Python there is; no torch is needed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchrecorder.trace import trace

CORE = Path(__file__).parents[3] / "core"
SCRIPT = """
import json, os, sys
sys.path[:0] = [sys.argv[1]]
from torchrecorder.trace.trace import Trace
stat, getitem = os.stat, type(os.environ).__getitem__
trace = Trace()
trace.start()
try:
    import trc_pkg
    trc_pkg.run()
finally:
    trace.stop()
assert os.stat is stat and type(os.environ).__getitem__ is getitem and sys.gettrace() is None
from importlib.machinery import SourceFileLoader
assert "exec_module" not in vars(SourceFileLoader)
assert all("torchrecorder" not in type(finder).__module__ for finder in sys.meta_path)
print(json.dumps(trace.result().to_json()))
"""
PACKAGE = {
    "trc_pkg/__init__.py": "from trc_pkg import a, lib\n\ndef run():\n    return a.later()\n",
    "trc_pkg/lib.py": "def both(): return 1\ndef never(): return 2\nclass C:\n    x = [i for i in range(3)]\nboth()\n",
    "trc_pkg/a.py": """
import os, threading, pkgutil, json
from pathlib import Path
try:
    import trc_nowhere
except ImportError:
    pass
from trc_pkg import lib
HERE = Path(__file__).parent
import sys, types
class Lazy(types.ModuleType):
    def __getattr__(self, name): raise ImportError("what it stands for is not installed")
sys.modules["trc_lazy"] = Lazy("trc_lazy")

def at_import(): return 1
at_import()

def in_thread(): return 1

def later():
    lib.both()
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    (HERE / "data.txt").read_text()
    pkgutil.get_data("trc_pkg", "packed.txt")
    os.listdir(HERE / "folder")
    (HERE / "absent.txt").exists()
    try:
        open(HERE / "gone.txt")
    except OSError:
        pass
    (HERE / "made.txt").write_text("x")
    (HERE / "made.txt").read_text()
    os.environ.get("TRC_SET"), os.getenv("TRC_UNSET"), "TRC_ASKED" in os.environ
    os.path.expandvars("$TRC_EXPANDED/x")
    os.system("true")
    return [x for x in map(lambda y: y, [1])]
""",
    "trc_pkg/data.txt": "1",
    "trc_pkg/packed.txt": "1",
    "trc_pkg/folder/x.txt": "1",
}


def interpreters() -> list[Any]:
    found = [pytest.param(sys.executable, id="this one")]
    for version in ("3.12", "3.13"):
        others = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
        found += [pytest.param(str(python), id=version) for python in others[-1:]]
    return found


@pytest.fixture(scope="module", params=interpreters())
def noted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("traced")
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    env = {**os.environ, "PYTHONPATH": str(CORE), "TRC_SET": "1"}
    done = subprocess.run(
        [request.param, "-c", SCRIPT, str(folder)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "trc_pkg", json.loads(done.stdout)


def test_modules_and_functions(noted: tuple[Path, dict[str, Any]]) -> None:
    folder, notes = noted
    assert notes["modules"] == {
        "trc_pkg": str(folder / "__init__.py"),
        "trc_pkg.a": str(folder / "a.py"),
        "trc_pkg.lib": str(folder / "lib.py"),
    }
    executed = {
        Path(file).name: [{name for name in names if not name.endswith(".")} for names in both]
        for file, both in notes["executed"].items()
    }
    assert executed["__init__.py"] == [{""}, {"run"}]
    assert executed["a.py"][0] == {"", "at_import"}
    assert executed["a.py"][1] == {"later", "in_thread"}
    assert executed["lib.py"][0] == {"", "both"}
    assert executed["lib.py"][1] == {"both"}, "it ran at import and again later"


def test_files(noted: tuple[Path, dict[str, Any]]) -> None:
    folder, notes = noted
    read = {Path(path).name: seen is not None for path, seen in notes["read"].items()}
    assert read == {"data.txt": True, "packed.txt": True, "gone.txt": False}
    assert [*notes["listed"]] == [str(folder / "folder")]
    assert notes["looked_for"][str(folder / "absent.txt")] is None
    assert set(notes["sources"]) == {str(folder / name) for name in ("__init__.py", "a.py", "lib.py")}


def test_the_rest(noted: tuple[Path, dict[str, Any]]) -> None:
    _, notes = noted
    asked = ("TRC_ASKED", "TRC_EXPANDED", "TRC_SET", "TRC_UNSET")
    assert notes["environment"] == dict.fromkeys(asked, "user")
    assert notes["missing"] == ["trc_nowhere"]
    assert notes["untracked"] == ["starts true"]


def test_versions_that_were_looked_up_are_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def version(name: str) -> str:
        asked.append(name)
        return "1.2.3"

    monkeypatch.setattr(trace, "_version", functools.cache(version))
    monkeypatch.setattr(
        trace, "distribution_names", lambda: {"pytest": ["pytest"], "torch": ["torch"], "away": ["away"]}
    )
    trace.look_up_versions()
    assert "pytest" in asked
    assert "away" not in asked, "nothing of it is imported"
    known = len(asked)
    found = trace.Trace().result(["pytest"]).distributions
    assert found["pytest"] == "1.2.3"
    assert len(asked) - known <= 1, "at most torch, which a trace always has"
