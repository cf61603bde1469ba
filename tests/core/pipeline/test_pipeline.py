"""The path of a batch: what is kept, what is made again, and what an error leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.pipeline.sites import Counted, Site, ask, svg_of
from tests.entries import entries, harm
from torchrecorder.drawing.model import CachedDrawing
from torchrecorder.errors import (
    EngineNotFound,
    ForwardError,
    OptionError,
    StylerError,
    TargetNotFound,
    TorchMissing,
)
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import Settings


@pytest.fixture(scope="module", autouse=True)
def _one_process() -> Iterator[None]:
    yield
    Counted.end()


LOOK = """
from pip_nets.palette import LINEAR

class Look:
    def style_node(self, node):
        return {"fillcolor": LINEAR} if node.kind == "linear" else {}
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_what_is_unchanged_needs_no_worker(site: Site) -> None:
    other = ask("pip_nets.other.Other(5, 7)", "2,5")
    first = site.build(ask(), other)
    assert (Counted.starts, Counted.jobs) == (1, 2)
    again = site.build(ask(), other)
    assert (Counted.starts, Counted.jobs) == (0, 0)
    assert [svg_of(outcome) for outcome in again] == [svg_of(outcome) for outcome in first]
    assert "fc" in svg_of(again[0])
    assert again[0].diagram is not None
    assert again[0].diagram.graph.modules["fc"].params.total == 16
    assert site.root / "src/pip_nets/parts.py" in again[0].sources


def test_a_styler_is_asked_again_when_what_it_imports_changed(site: Site) -> None:
    site.write("look.py", LOOK)
    site.write("palette.py", "from pip_nets.colours import LINEAR\n")
    site.write("colours.py", 'LINEAR = "#ff0000"\n')
    styled = ask(styler="pip_nets.look.Look")
    assert 'fill="#ff0000"' in svg_of(site.build(styled)[0])
    (same,) = site.build(styled)
    assert same.diagram is not None
    assert isinstance(same.diagram.origin, CachedDrawing)
    site.edit("colours.py", "#ff0000", "#00ff00")
    assert 'fill="#00ff00"' in svg_of(site.build(styled)[0])
    (site.root / "src/pip_nets/colours.py").unlink()
    (broken,) = site.build(styled)
    assert isinstance(broken.error, StylerError)
    assert Counted.jobs == 0, "a look is no matter of recordings"


def test_one_worker_records_and_asks_the_styler_and_none_starts_where_all_is_kept(site: Site) -> None:
    site.write("look.py", LOOK)
    site.write("palette.py", 'LINEAR = "#ff0000"\n')
    styled = ask(styler="pip_nets.look.Look")
    assert 'fill="#ff0000"' in svg_of(site.build(styled)[0])
    assert (Counted.starts, Counted.jobs) == (1, 1)
    site.edit("palette.py", "#ff0000", "#0000ff")
    assert 'fill="#0000ff"' in svg_of(site.build(styled)[0])
    assert (Counted.starts, Counted.jobs) == (1, 0)
    assert 'fill="#0000ff"' in svg_of(site.build(styled)[0])
    assert Counted.starts == 0


@pytest.mark.parametrize("harm", ["remove", "flip", "all"])
def test_a_picture_that_goes_between_finding_and_showing_is_drawn_again(site: Site, harm: str) -> None:
    """As `gc` or another build may take it; nothing of it may be known from before, either."""
    (first,) = site.build(ask())
    site.build(ask())  # examines the picture, so that the next one need not read it
    (found,) = site.build(ask())
    assert (Counted.starts, Counted.jobs) == (0, 0)
    assert found.diagram is not None
    cache = site.root / ".torchrecorder"
    (file,) = entries(cache, "ren")
    if harm == "all":
        shutil.rmtree(cache)
    elif harm == "remove":
        file.unlink()
    else:
        date = file.stat()
        file.write_bytes(file.read_bytes().replace(b"Linear", b"linear", 1))
        os.utime(file, ns=(date.st_atime_ns, date.st_mtime_ns))
    assert svg_of(found.loaded()) == svg_of(first)
    assert Counted.jobs == (harm == "all")


def test_a_picture_that_goes_and_cannot_be_made_again_is_an_error(site: Site) -> None:
    site.build(ask())
    site.build(ask())
    (found,) = site.build(ask(), engine="/nowhere")
    shutil.rmtree(site.root / ".torchrecorder")
    missing = found.loaded()
    assert missing.diagram is None
    assert isinstance(missing.error, EngineNotFound)


def test_a_changed_source_changes_exactly_its_diagram(site: Site) -> None:
    other = ask("pip_nets.other.Other(5, 7)", "2,5")
    before = site.build(ask(), other)
    site.edit("parts.py", "4", "6")
    after = site.build(ask(), other)
    assert Counted.jobs == 1
    assert svg_of(after[0]) != svg_of(before[0])
    assert before[0].signature() != after[0].signature()
    assert before[1].signature() == after[1].signature()


def test_code_that_gives_the_same_graph_is_recorded_but_not_drawn_again(site: Site) -> None:
    before = site.build(ask())
    site.edit("parts.py", "4", "2 + 2")
    after = site.build(ask())
    assert Counted.jobs == 1
    assert before[0].signature() == after[0].signature()


def test_line_ends_and_dates_do_not_count(site: Site) -> None:
    site.build(ask())
    file = site.root / "src/pip_nets/net.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    os.utime(file, (1, 1))
    site.build(ask())
    assert Counted.jobs == 0


def test_a_moved_checkout_is_fresh(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    site.build(ask())
    moved = tmp_path_factory.mktemp("elsewhere") / "project"
    site.root.rename(moved)
    site.root = moved
    site.build(ask())
    assert Counted.jobs == 0


def test_a_removed_module_is_noticed(site: Site) -> None:
    site.build(ask())
    (site.root / "src/pip_nets/net.py").unlink()
    (outcome,) = site.build(ask())
    assert isinstance(outcome.error, TargetNotFound)


def test_drawing_options_need_no_worker(site: Site) -> None:
    plain, shallow = site.build(ask(), ask(depth="0"))
    assert Counted.jobs == 1
    (sideways,) = site.build(ask(direction="LR"))
    assert Counted.jobs == 0
    assert len({svg_of(plain), svg_of(shallow), svg_of(sideways)}) == 3


def test_errors_are_told_each_time_and_harm_nobody(site: Site) -> None:
    requests = [ask("pip_nets.net.Nett"), ask(), ask(shape="1,5"), ask(focus="fcc")]
    for jobs in (3, 0):
        missing, good, wrong, nowhere = site.build(*requests)
        assert isinstance(missing.error, TargetNotFound)
        assert missing.error.near == ("pip_nets.net.Net",)
        assert "fc" in svg_of(good)
        assert isinstance(wrong.error, ForwardError)
        assert isinstance(nowhere.error, OptionError)
        assert "did you mean fc" in str(nowhere.error)
        assert Counted.jobs == jobs


def test_a_failed_forward_shows_what_ran(site: Site) -> None:
    (outcome,) = site.build(ask(shape="1,5"))
    assert outcome.diagram is not None
    assert outcome.diagram.graph.info.failure is not None
    assert site.root / "src/pip_nets/net.py" in outcome.sources


def test_a_mended_model_is_drawn(site: Site) -> None:
    site.edit("net.py", "self.act(", "self.relu(")
    (broken,) = site.build(ask())
    assert isinstance(broken.error, ForwardError)
    site.edit("net.py", "self.relu(", "self.act(")
    (mended,) = site.build(ask())
    assert "fc" in svg_of(mended)


def test_a_missing_engine_fails_what_was_not_drawn_before(site: Site) -> None:
    site.build(ask())
    drawn, missing = site.build(ask(), ask(depth="0"), engine="no-such-engine")
    assert "fc" in svg_of(drawn)
    assert isinstance(missing.error, EngineNotFound)
    (mended,) = site.build(ask(depth="0"))
    assert "Net" in svg_of(mended)


def test_a_damaged_cache_is_mended(site: Site) -> None:
    (before,) = site.build(ask())
    harm(site.root / ".torchrecorder", lambda data: data[:-1])
    (after,) = site.build(ask())
    assert Counted.jobs == 1
    assert svg_of(after) == svg_of(before)
    site.build(ask())
    assert Counted.jobs == 0


def test_without_torch_what_was_recorded_is_shown(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.build(ask())
    (site.root / "no" / "torch").mkdir(parents=True)
    (site.root / "no" / "torch" / "__init__.py").write_text("raise ImportError('none here')")
    monkeypatch.setenv("PYTHONPATH", str(site.root / "no"))
    Counted.end()
    shown, new = site.build(ask(), ask("pip_nets.other.Other(5, 7)", "2,5"))
    assert "fc" in svg_of(shown)
    assert isinstance(new.error, TorchMissing)


def test_progress_names_each_recording(site: Site) -> None:
    seen: list[tuple[str, str, int, int]] = []
    settings = Settings.for_project(site.root, path=["src"])
    Pipeline(settings, open_worker=Counted).run(
        [ask(), ask(depth="0"), ask("pip_nets.other.Other(5, 7)", "2,5")], lambda *step: seen.append(step)
    )
    recordings = [step[1:] for step in seen if step[0] == "recording"]
    assert recordings == [("pip_nets.net.Net", 0, 2), ("pip_nets.other.Other(5, 7)", 1, 2)]
    assert [step[2:] for step in seen if step[0] == "drawing"] == [(0, 3)]


def test_equal_in_every_process(site: Site) -> None:
    """Same model, same input, another hash seed: byte-identical Graph and SVG."""
    script = (
        "import sys; from tests.forking.client import divert; divert(None);"  # every worker has the hash seed 0 anyway
        "from pathlib import Path; from torchrecorder.pipeline import *;"
        "from torchrecorder.request import *; import hashlib;"
        "r = read_request('pip_nets.net.Net', {'shape': '1,3'});"
        "s = Settings.for_project(Path(sys.argv[1]), path=['src'], machine_cache=sys.argv[2]);"
        "d = Pipeline(s).run([r])[r].diagram; from torchrecorder.graph import to_json;"
        "print(hashlib.sha256((to_json(d.graph) + d.svg + d.text).encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(site.root), f"cache{seed}"]
        digests.add(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1


def test_a_warm_build_loads_neither_torch_nor_graphviz_nor_the_package(site: Site) -> None:
    site.build(ask())
    script = (
        "import sys; from pathlib import Path; from torchrecorder.pipeline import *;"
        "from torchrecorder.request import *;"
        "r = read_request('pip_nets.net.Net', {'shape': '1,3'});"
        "d = Pipeline(Settings.for_project(Path(sys.argv[1]), path=['src'])).run([r])[r].diagram;"
        "assert 'fc' in d.svg; print(sorted({'torch', 'graphviz', 'numpy', 'pip_nets'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(site.root)]
    assert subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip() == "[]"
