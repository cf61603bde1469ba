"""`update` with several processes and on a cluster: what all of them record meets in one cache."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.entries import entries, facts_of
from tests.folders import contents
from torchrecorder.cli import main
from torchrecorder.cli.projects import update
from torchrecorder.pipeline import Pipeline
from torchrecorder.pipeline.collecting import Collected
from torchrecorder.request import Settings, read_request
from torchrecorder.trace.freshness import Verdict

COUNT = 6
NETS = "from torch import nn\n" + "".join(
    f"class Net{n}(nn.Linear):\n    def __init__(self): super().__init__(3, {n + 1})\n" for n in range(COUNT)
)
REQUESTS = tuple(read_request(f"many_nets.Net{n}", {"shape": "1,3"}) for n in range(COUNT))
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra dask")


@pytest.fixture
def found(tmp_path: Path) -> Collected:
    """A project with several models and a committed cache."""
    (tmp_path / "many_nets.py").write_text(NETS)
    settings = Settings.for_project(tmp_path, path=["."], cache="diagrams")
    return Collected(settings, REQUESTS)


def fresh(found: Collected) -> int:
    recordings = Pipeline(found.settings).recordings()
    return sum(recordings.look(r.recording)[1].verdict is Verdict.FRESH for r in found.requests)


def spawning() -> Executor:
    return ProcessPoolExecutor(2, get_context("spawn"))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: ThreadPoolExecutor(3), id="threads"),
        pytest.param(spawning, id="processes", marks=pytest.mark.soak),  # each process imports torch for itself
    ],
)
def test_any_executor(found: Collected, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    alone = Path(found.settings.root, "alone")
    with ThreadPoolExecutor(1) as executor:
        assert update(found, executor, jobs=1).errors == {}
    assert found.settings.committed is not None
    shutil.move(found.settings.committed, alone)
    with make() as executor:
        assert update(found, executor, jobs=3).errors == {}
    assert fresh(found) == COUNT
    assert contents(found.settings.committed) == contents(alone), "however many record, the cache is the same"


def test_the_bar_counts_what_is_recorded(
    found: Collected, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is fresh takes no time, so it would make the rest look short."""
    with ThreadPoolExecutor(1) as executor:
        assert update(replace(found, requests=REQUESTS[:4]), executor, jobs=1).errors == {}
        capsys.readouterr()
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert update(found, executor, jobs=1).errors == {}
    said = capsys.readouterr().err
    assert "6 recordings, 2 to be recorded" in said
    assert "] 2/2, about 0 s left" in said
    assert "/6," not in said


class Loses(ThreadPoolExecutor):
    """Has no luck with what holds the last model."""

    def submit(self, function: Any, /, *args: Any, **more: Any) -> Any:
        def run(part: Collected) -> Any:
            if REQUESTS[-1] in part.requests:
                raise RuntimeError("a worker was lost")
            return function(part)

        return super().submit(run, *args, **more)


def test_what_an_executor_loses_is_told_and_the_rest_kept(found: Collected) -> None:
    with Loses(1) as executor:
        done = update(found, executor, jobs=COUNT)
    assert done.errors == {"many_nets.Net5": "the executor lost it: RuntimeError: a worker was lost"}
    assert fresh(found) == COUNT - 1


class Elsewhere(ThreadPoolExecutor):
    """Records where nobody sees the results, as a cluster without a shared disk does."""

    def submit(self, function: Any, /, *args: Any, **more: Any) -> Any:
        def run(part: Collected) -> Any:
            done = function(part)
            shutil.rmtree(part.settings.committed or "")
            return done

        return super().submit(run, *args, **more)


def test_results_that_stay_elsewhere_are_told(found: Collected) -> None:
    with Elsewhere(1) as executor:
        done = update(found, executor, jobs=1)
    assert len(done.errors) == COUNT
    assert "do not share the folder of the cache" in done.errors["many_nets.Net0"]


def test_no_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", str(tmp_path), "--jobs", "0"]) == 2
    assert "--jobs: write 1 or more" in capsys.readouterr().err


@pytest.fixture
def docs(found: Collected, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project with documentation for it."""
    root = Path(__file__).parents[3]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root / "core"), str(root), *filter(None, sys.path)]))
    directives = "\n".join(f".. torchrecorder:: {r.recording.target}\n   :shape: 1,3\n" for r in REQUESTS)
    (found.settings.root / "index.rst").write_text(f"Nets\n====\n\n{directives}")
    (found.settings.root / "conf.py").write_text(
        textwrap.dedent(
            """
            extensions = ["sphinx_torchrecorder"]
            torchrecorder_path = ["."]
            torchrecorder_cache = "diagrams"
            """
        )
    )
    return found.settings.root


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two workers on this machine, each a process."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    path = os.pathsep.join(filter(None, sys.path))
    monkeypatch.setenv("PYTHONPATH", path)
    made: AbstractContextManager[Any] = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    )
    with made as running:
        yield running.scheduler_address


@pytest.mark.soak
@needs_dask
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster(docs: Path, found: Collected, cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", str(docs), "--dask", cluster]) == 0, capsys.readouterr().err
    assert len(list((docs / "diagrams" / "rec").glob("*/*"))) == COUNT
    assert main(["update", str(docs), "--dask", cluster]) == 0
    assert ", 0 to be recorded" in capsys.readouterr().err
    (docs / "many_nets.py").write_text(NETS.replace("3, 1)", "3, 1); raise ValueError('no')"))
    assert main(["update", str(docs), "--dask", cluster]) == 1
    said = capsys.readouterr().err
    assert "error: many_nets.Net0: cannot build" in said
    assert said.count("error:") == 1


@pytest.mark.soak
@needs_dask
@pytest.mark.filterwarnings("default")
def test_a_cluster_that_is_not_there(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        assert main(["update", str(docs), "--dask", address]) == 1
    assert f"cannot record on the dask cluster {address}" in capsys.readouterr().err


def test_without_dask_the_extra_is_named(
    docs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["update", str(docs), "--dask", "tcp://127.0.0.1:1"]) == 1
    assert 'pip install "torchrecorder-docs[dask]"' in capsys.readouterr().err


def test_remote(docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("aiohttp", reason="needs the extra remote")
    assert main(["update", str(docs), "--remote", str(tmp_path / "team")]) == 0
    assert len([*filter(facts_of, entries(tmp_path / "team"))]) == COUNT
    shutil.rmtree(docs / "diagrams")
    shutil.rmtree(docs / ".torchrecorder", ignore_errors=True)
    capsys.readouterr()
    with (docs / "conf.py").open("a") as conf:
        conf.write("torchrecorder_remote = 'team'\n")
    assert main(["update", str(docs)]) == 0
    assert ", 0 to be recorded" in capsys.readouterr().err
    assert main(["check", str(docs)]) == 0, "what came from the team is in the committed cache"
