"""What the house promises: cheap imports, and names that lead where they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIGHT = [
    "torchrecorder",
    "torchrecorder.cli",
    "torchrecorder.cache.remote",
    "torchrecorder.comparison.compared",
    "torchrecorder.drawing",
    "torchrecorder.page",
    "torchrecorder.pipeline",
    "torchrecorder.trace.freshness",
    "torchrecorder.trace.trace",
    "torchrecorder.view",
    "torchrecorder.worker.client",
    "torchrecorder.errors",
    "torchrecorder.graph",
    "torchrecorder.nodes",
    "torchrecorder.renderer",
    "torchrecorder.renderer.base",
    "torchrecorder.request",
    "torchrecorder.hub.files",
    "sphinx_torchrecorder",
    "mkdocs_torchrecorder",
]
HEAVY = ("torch", "numpy", "graphviz", "huggingface_hub", "transformers")


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after the statement."""
    path = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    script = f"{statement}\nimport sys; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", LIGHT)
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}").isdisjoint(HEAVY)


def test_using_plain_data_loads_nothing_heavy() -> None:
    statement = (
        "import torchrecorder; torchrecorder.Graph; torchrecorder.Diagram; dir(torchrecorder);"
        "from torchrecorder.pipeline import Pipeline; from torchrecorder.request import Settings, read_request;"
        "from pathlib import Path;"
        "Pipeline(Settings.for_project(Path('nowhere'))).run([])"
    )
    assert loaded_by(statement).isdisjoint(HEAVY)


def test_the_classic_renderer_needs_graphviz_but_no_torch() -> None:
    loaded = loaded_by(
        "from torchrecorder.renderer import GraphvizStyler; import torchrecorder; torchrecorder.GraphvizRenderer"
    )
    assert "graphviz" in loaded
    assert loaded.isdisjoint({"torch", "numpy"})


def test_the_tests_above_can_fail() -> None:
    assert {"torch", "numpy"} <= loaded_by("import torchrecorder; torchrecorder.capture")
    assert "graphviz" in loaded_by("import torchrecorder.layout.dot")


def test_every_public_name_is_there() -> None:
    import torchrecorder

    for name in torchrecorder.__all__:
        assert getattr(torchrecorder, name) is not None
        assert name in dir(torchrecorder)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = torchrecorder.nothing


def test_public_functions_stay_functions_whatever_is_imported_first() -> None:
    statement = (
        "import torchrecorder.worker.server, torchrecorder.live; from torchrecorder import capture, draw;"
        "assert callable(capture) and callable(draw) and callable(torchrecorder.capture)"
    )
    assert "torch" in loaded_by(statement)


@pytest.mark.parametrize("first", ["torchrecorder.recorder", "torchrecorder.helpers", "torchrecorder.renderer.gv"])
def test_record_is_a_function_and_recorder_a_module_whatever_is_imported_first(first: str) -> None:
    statement = (
        f"import {first}, torchrecorder, types; from torchrecorder import record, recorder, nodes, renderer, helpers;"
        "assert isinstance(record, types.FunctionType) and isinstance(recorder, types.ModuleType);"
        "assert torchrecorder.recorder.Recorder is torchrecorder.Recorder and torchrecorder.record is helpers.record;"
        "assert renderer.base.BaseRenderer is torchrecorder.BaseRenderer and nodes.OpNode"
    )
    assert "torch" in loaded_by(statement)


def test_without_numpy_all_but_the_port_of_scio_works(tmp_path: Path) -> None:
    """In this process's children and in theirs; torch itself warns, and works."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules.update(dict.fromkeys(['numpy', 'torchinfo']))")
    (tmp_path / "bare.py").write_text(
        "import sys\n"
        "from torch import nn\n"
        "assert sys.modules['numpy'] is None\n"
        "def net(): return nn.Sequential(nn.Linear(3, 4), nn.ReLU())\n"
    )
    draw = "from torchrecorder.cli import main; assert main(['draw', 'bare.net', '--shape', '2,3']) == 0;"
    live = "import bare, torchrecorder as t; assert 'Linear 3→4' in t.draw(bare.net(), shape=(2, 3)).text;"
    port = "from torchrecorder.scio.recorder import Recorder; Recorder(bare.net(), input_size=(2, 3))"
    done = subprocess.run(
        [sys.executable, "-c", draw + live + port],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT / "core")))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Linear 3→4" in done.stdout
    assert done.stderr.splitlines()[-1] == (
        "ImportError: torchrecorder.scio.recorder.Recorder needs torchinfo and numpy; "
        "python -m pip install 'torchrecorder-docs[scio]' gives you both"
    )
