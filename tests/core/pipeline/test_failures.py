"""Failures are told at every build, and run into again only when something that they read has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Counted, Site, ask
from tests.entries import entries, facts_of, harm, rewrite
from torchrecorder.drawing.model import CachedDrawing
from torchrecorder.errors import (
    ForwardError,
    InputError,
    OptionError,
    TargetBuildFailed,
    TargetImportFailed,
    TargetNotFound,
    TorchRecorderError,
    WorkerCrashed,
    WorkerTimeout,
)
from torchrecorder.pipeline.failures import TRIES
from torchrecorder.request import DiagramRequest

FAILING = """
import json, os
from pathlib import Path
from torch import nn

HERE = Path(__file__).parent

class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("not today")

class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, json.loads((HERE / "width.json").read_text()))

class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, int(os.environ["PIP_WIDTH"]))

class Wrong(nn.Linear):
    def __init__(self):
        super().__init__(3, 4)

    def forward(self, x):
        return super().forward(x) @ x

class Strange(nn.Module):
    def forward(self, a, b, /):
        raise TypeError("never")
"""
CASES: dict[str, tuple[DiagramRequest, type[TorchRecorderError]]] = {
    "name": (ask("pip_nets.failing.Raise"), TargetNotFound),
    "package": (ask("pip_netz.failing.Raises"), TargetNotFound),
    "constructor": (ask("pip_nets.failing.Raises"), TargetBuildFailed),
    "missing file": (ask("pip_nets.failing.Reads"), TargetBuildFailed),
    "variable": (ask("pip_nets.failing.Asks"), TargetBuildFailed),
    "import": (ask("pip_nets.broken.Net"), TargetImportFailed),
    "import not found": (ask("pip_nets.lonely.Net"), TargetImportFailed),
    "syntax": (ask("pip_nets.typo.Net"), TargetImportFailed),
    "forward": (ask("pip_nets.failing.Wrong"), ForwardError),
    "no inputs found": (ask("pip_nets.failing.Strange", shape=""), InputError),
    "inputs": (ask("pip_nets.failing.Wrong", shape="", inputs="pip_nets.failing.nothing"), InputError),
}


@pytest.fixture(scope="module", autouse=True)
def _one_process() -> Iterator[None]:
    yield
    Counted.end()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.delenv("PIP_WIDTH", raising=False)
    site = Site(tmp_path)
    site.write("failing.py", FAILING)
    site.write("broken.py", "from torch import nn\n\nraise RuntimeError('this module is broken')\n")
    site.write("lonely.py", "from torch import nn\nimport nothing_like_this\n\nNet = nn.ReLU\n")
    site.write("typo.py", "class Net(:\n")
    return site


def failure(site: Site, request: DiagramRequest) -> TorchRecorderError:
    (outcome,) = site.build(request)
    assert outcome.error is not None
    return outcome.error


@pytest.mark.parametrize("case", CASES)
def test_the_same_words_without_the_worker(site: Site, case: str) -> None:
    request, kind = CASES[case]
    first = failure(site, request)
    assert isinstance(first, kind)
    assert Counted.starts == 1
    (again,) = site.build(request)
    assert (Counted.starts, Counted.jobs) == (0, 0)
    assert type(again.error) is kind
    assert (str(again.error), again.error.details()) == (str(first), first.details())


def test_what_ran_is_shown_again_as_it_was_drawn(site: Site) -> None:
    first, again = (site.build(CASES["forward"][0])[0] for _ in range(2))
    assert first.diagram is not None
    assert again.diagram is not None
    assert isinstance(again.diagram.origin, CachedDrawing)
    assert again.diagram.svg == first.diagram.svg
    assert again.signature() == first.signature()
    assert {*first.sources} <= {*again.sources}, "a server watches the same files"
    assert again.diagram.graph == first.diagram.graph


def test_options_that_do_not_fit_the_model(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = failure(site, ask(focus="fcc"))
    assert isinstance(first, OptionError)
    with monkeypatch.context() as patch:
        patch.setattr("torchrecorder.pipeline.drawings.Drawings.make", lambda *_: pytest.fail("it was tried again"))
        again = failure(site, ask(focus="fcc"))
    assert str(again) == str(first)
    assert isinstance(again, OptionError)
    site.edit("net.py", "self.fc = ", "self.fcc = ")
    site.edit("net.py", "self.fc(", "self.fcc(")
    assert site.build(ask(focus="fcc"))[0].error is None


MENDED = "from torch import nn\n\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(3, 4)\n"
CHANGES = {
    "name": ("failing.py", FAILING + "\nRaise = nn.Identity\n"),
    "constructor": ("failing.py", FAILING.replace('raise ValueError("not today")', "self.fc = nn.Linear(3, 3)")),
    "missing file": ("width.json", "4"),
    "import": ("broken.py", MENDED),
    "import not found": ("../nothing_like_this.py", ""),
    "syntax": ("typo.py", MENDED),
    "package": ("../pip_netz/failing.py", FAILING),
    "inputs": ("failing.py", FAILING + "\nnothing = 3\n"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_it_is_tried_again_when_what_it_read_has_changed(site: Site, case: str) -> None:
    request, _ = CASES[case]
    before = failure(site, request)
    place = (site.root / "src/pip_nets" / CHANGES[case][0]).resolve()
    place.parent.mkdir(exist_ok=True)
    place.write_text(CHANGES[case][1])
    (after,) = site.build(request)
    assert Counted.jobs == 1
    assert str(after.error) != str(before)
    site.build(request)
    assert Counted.jobs == 0


def test_a_variable_that_is_set(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    failure(site, CASES["variable"][0])
    monkeypatch.setenv("PIP_WIDTH", "nine")
    assert "nine" in str(failure(site, CASES["variable"][0]))
    assert Counted.jobs == 1


def test_a_line_that_moves_is_said_where_it_is(site: Site) -> None:
    request, _ = CASES["constructor"]
    before = failure(site, request)
    site.write("failing.py", "# a comment\n" + FAILING)
    after = failure(site, request)
    assert (str(before).count("failing.py:11"), str(after).count("failing.py:12")) == (1, 1)


def test_another_file_does_not_matter(site: Site) -> None:
    failure(site, CASES["constructor"][0])
    site.edit("other.py", "pass", "x = 1")
    failure(site, CASES["constructor"][0])
    assert Counted.jobs == 0


def test_on_request_it_is_tried_again(site: Site) -> None:
    failure(site, CASES["constructor"][0])
    (outcome,) = site.build(CASES["constructor"][0], retries=True)
    assert Counted.jobs == 1
    assert isinstance(outcome.error, TargetBuildFailed)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.kill(os.getpid(), 9)",
        "import sys\nsys.exit(3)",
        "raise MemoryError('no more')",
        "raise RuntimeError('[enforce fail] DefaultCPUAllocator: can\\'t allocate memory: you tried')",
        "import socket\nsocket.create_connection(('127.0.0.1', 1), timeout=1)",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/weights.pt', timeout=1)",
    ],
)
def test_what_may_end_otherwise_is_never_remembered(site: Site, text: str) -> None:
    site.write("broken.py", text)
    for _ in range(2):
        assert isinstance(failure(site, CASES["import"][0]), TargetImportFailed | WorkerCrashed)
        assert Counted.jobs == 1


def test_a_time_out_is_never_remembered(site: Site) -> None:
    site.write("broken.py", "import time\ntime.sleep(60)")
    request = ask("pip_nets.broken.Net", timeout="1")
    for _ in range(2):
        assert isinstance(failure(site, request), WorkerTimeout)
        assert Counted.jobs == 1


@pytest.mark.parametrize(
    "text", ["import socket\nsocket.create_connection(('127.0.0.1', 1), timeout=1)", "import time\ntime.sleep(60)"]
)
def test_what_a_site_only_tries_costs_time_once(site: Site, text: str) -> None:
    site.write("broken.py", text)
    asked = ask("pip_nets.broken.Net", timeout="1")
    first = failure(site, replace(asked, is_tried=True))
    assert str(failure(site, replace(asked, is_tried=True))) == str(first)
    assert Counted.jobs == 0
    failure(site, asked)
    assert Counted.jobs == 1, "a directive asks for it now"
    site.write("broken.py", "from pip_nets.net import Net\n")
    assert site.build(replace(asked, is_tried=True))[0].error is None


def test_another_torchrecorder_tries_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    failure(site, CASES["constructor"][0])
    monkeypatch.setattr("torchrecorder.pipeline.failures._recorder", lambda: "another")
    failure(site, CASES["constructor"][0])
    assert Counted.jobs == 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"not today", b"not todax"),
        lambda data: b"[" * 50000,
        lambda data: b'{"torchrecorder_failure": 1}',
    ],
)
def test_a_damaged_entry_is_a_miss(site: Site, harm: object) -> None:
    failure(site, CASES["constructor"][0])
    (file,) = entries(site.root / ".torchrecorder", "fail")
    assert callable(harm)
    file.write_bytes(harm(file.read_bytes()))
    assert "not today" in str(failure(site, CASES["constructor"][0]))
    assert Counted.jobs == 1
    failure(site, CASES["constructor"][0])
    assert Counted.jobs == 0


@pytest.mark.parametrize(
    "change",
    [
        {"error": {"type": "WorkerTimeout", "target": "x", "timeout_s": 1.0}},
        {"error": {"type": "Nonsense"}},
        {"error": 3},
        {"torchrecorder_failure": 99},
        {"modules": "../../etc/passwd"},
        {"graph": 3},
    ],
)
def test_an_entry_with_other_fields_is_a_miss(site: Site, change: dict[str, object]) -> None:
    failure(site, CASES["constructor"][0])
    (file,) = entries(site.root / ".torchrecorder", "fail")
    rewrite(file, {**facts_of(file), **change})
    assert "not today" in str(failure(site, CASES["constructor"][0]))
    assert Counted.jobs == 1


def test_a_lost_part_of_a_graph_is_made_again(site: Site) -> None:
    (first,) = site.build(CASES["forward"][0])
    assert first.diagram is not None
    harm(site.root / ".torchrecorder", lambda data: b"")
    (again,) = site.build(CASES["forward"][0])
    assert Counted.jobs == 1
    assert again.diagram is not None
    assert again.diagram.svg == first.diagram.svg


def test_a_committed_cache_gets_nothing_of_it(site: Site) -> None:
    site.build(*(request for request, _ in CASES.values()), committed="diagrams")
    assert not [*(site.root / "diagrams").rglob("*.json")]
    site.build(*(request for request, _ in CASES.values()), committed="diagrams")
    assert Counted.jobs == 0


def test_a_model_that_goes_back_and_forth(site: Site) -> None:
    """Each state is known once it was seen."""
    good = (site.root / "src/pip_nets/net.py").read_text()
    for jobs in (1, 0):
        site.write("net.py", good)
        assert site.build(ask())[0].error is None
        assert Counted.jobs == jobs
        site.write("net.py", good.replace("self.act(", "self.relu("))
        assert isinstance(failure(site, ask()), ForwardError)
        assert Counted.jobs == jobs


UNSEEN = {
    "program": ("import subprocess\nsubprocess.check_output(['soak-prog'])", "soak-prog"),
    "library": ("import ctypes\nctypes.CDLL('libsoak.so')", "libsoak"),
    "file of compiled code": ("raise RuntimeError('No such file or directory (os error 2)')", "os error"),
    "time": ("import time\nif time.time() > 0: raise ValueError('too late')", "too late"),
}


@pytest.mark.parametrize("case", UNSEEN)
def test_what_failed_for_a_cause_that_was_not_seen_is_tried_by_each_build(site: Site, case: str) -> None:
    text, said = UNSEEN[case]
    site.write("broken.py", text)
    for _ in range(3):
        assert said in str(failure(site, CASES["import"][0]))
        assert Counted.jobs == 1
    failure(site, replace(CASES["import"][0], is_tried=True))
    failure(site, replace(CASES["import"][0], is_tried=True))
    assert Counted.jobs == 0, "a class that a site only tries costs time once"


@pytest.mark.parametrize("text", ["open(HERE / 'gone.txt')", "os.listdir(HERE / 'gone')", "(HERE / 'gone').stat()"])
def test_a_file_that_was_seen_to_be_missing_is_waited_for(site: Site, text: str) -> None:
    site.write("broken.py", f"import os\nfrom pathlib import Path\nHERE = Path(__file__).parent\n{text}\n")
    failure(site, CASES["import"][0])
    failure(site, CASES["import"][0])
    assert Counted.jobs == 0


def test_a_build_tries_some_of_them_the_oldest_first(site: Site) -> None:
    names = [f"broken{number}" for number in range(TRIES + 3)]
    requests = [ask(f"pip_nets.{name}.Net") for name in names]
    for name in names:
        site.write(f"{name}.py", "import ctypes\nctypes.CDLL('libsoak.so')\n")
    site.build(*requests)
    assert Counted.jobs == len(names)
    outcomes = site.build(*requests)
    assert Counted.jobs == TRIES
    said = [outcome.info for outcome in outcomes if outcome.info]
    assert len(said) == 3
    assert "--retry` tries all" in said[0]
    left = [request for request, outcome in zip(requests, outcomes, strict=True) if outcome.info]
    for request in left:
        name = request.recording.target.split(".")[1]
        site.write(f"{name}.py", "from torch import nn\nNet = nn.ReLU\n")
    assert sum(outcome.error is None for outcome in site.build(*requests)) == 3
    site.build(*requests, retries=True)
    assert Counted.jobs == TRIES
