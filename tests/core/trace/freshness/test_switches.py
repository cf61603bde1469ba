"""The variables by which Python itself is switched, whether a model's code asks for them or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.entries import entries, facts_of
from tests.models.one_layer import net
from tests.soaked import Tally
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request
from torchrecorder.trace.freshness import Verdict

MakeProject = Callable[[dict[str, str | bytes]], Any]
CAUGHT = (
    "import warnings\ndef width():\n    try:\n        warnings.warn('soak', UserWarning)\n        return 4\n"
    "    except UserWarning:\n        return 6"
)
CASES = {
    "debug": ("4 if __debug__ else 6", "", {"PYTHONOPTIMIZE": "1"}),
    "assert": (
        "width()",
        "def width():\n    F = [0]\n    assert F.pop() == 0\n    return 4 + len(F)",
        {"PYTHONOPTIMIZE": "1"},
    ),
    "docstrings": ("len(width.__doc__ or '123456')", "def width(): 'abcd'", {"PYTHONOPTIMIZE": "2"}),
    "flags": ("sys.flags.utf8_mode + 4", "import sys", {"PYTHONUTF8": "1"}),
    "warnings": ("width()", CAUGHT, {"PYTHONWARNINGS": "error::UserWarning"}),
    "development": ("4 + sys.flags.dev_mode", "import sys", {"PYTHONDEVMODE": "1"}),
    "digits": ("sys.get_int_max_str_digits() // 700", "import sys", {"PYTHONINTMAXSTRDIGITS": "4900"}),
}


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in {name for _, _, values in CASES.values() for name in values}:
        monkeypatch.delenv(name, raising=False)
    return make_project({"src/pkg/__init__.py": net()})


@pytest.mark.parametrize("name", ["PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONWARNINGS", "PYTHONDEVMODE"])
def test_a_switch_counts_on_the_machine_of_the_recording(
    project: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.draw()
    monkeypatch.setenv(name, "")
    assert project.finding().verdict is Verdict.FRESH, "Python takes it for one that is not set"
    monkeypatch.setenv(name, "1")
    assert project.finding().verdict is Verdict.STALE
    project.draw()
    assert project.finding().verdict is Verdict.FRESH
    monkeypatch.delenv(name)
    assert project.finding().verdict is Verdict.FRESH, "the recording before is still there"


def test_only_what_makes_another_program_counts_in_a_committed_cache(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = read_request("pkg.Net", {"shape": "1,3"})
    settings = project.settings()
    committed = project.root / "diagrams"
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    object.__setattr__(settings, "committed", committed)
    Pipeline(settings, project.worker.open, writes_committed=True).run([request])
    (file,) = entries(committed)
    assert "PYTHON" not in str(facts_of(file))
    assert not (committed / "salt").exists()

    def finding() -> object:
        return Pipeline(settings, project.worker.open).recordings().look(request.recording)[1]

    monkeypatch.setenv("PYTHONUTF8", "1")
    assert str(finding()) == "fresh"
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    assert str(finding()) == "$PYTHONOPTIMIZE appeared"


@pytest.mark.soak
@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("name", CASES)
def test_what_a_switch_changes_is_shown(name: str, project: Any, monkeypatch: pytest.MonkeyPatch, tally: Tally) -> None:
    width, imports, values = CASES[name]
    project.write({"src/pkg/__init__.py": net(width, imports)})
    request = read_request("pkg.Net", {"shape": "1,3"})

    def drawn(cache: str = "") -> str:
        outcome = Pipeline(project.settings(cache)).run([request])[request]
        assert outcome.diagram is not None, outcome.error
        return outcome.diagram.svg

    before = drawn()
    for variable, value in values.items():
        monkeypatch.setenv(variable, value)
    after, truth = drawn(), drawn("../truth")
    assert before != truth
    tally.add("edits that change something")
    tally.add("stale and untold", after != truth)
    assert after == truth
