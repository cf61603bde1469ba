"""Stylers of a dotted name: asked in a process of their own, and a part of the key."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.graph.building import mlp
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.drawing.styler import styler_input, styles_by_name
from torchrecorder.engine import find_engine
from torchrecorder.errors import OptionError, StylerError, TorchMissing
from torchrecorder.labels.labels import Labels
from torchrecorder.pipeline.drawings import RenderKey, source_of
from torchrecorder.request import DrawingOptions, RecordingRequest, Settings, read_drawing
from torchrecorder.request.stylers import StylerInput
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.view import make_view
from torchrecorder.worker.client import Worker
from torchrecorder.worker.messages import Answer

CODE = """
print("printed while it is imported")

class Red:
    def __init__(self, colour="#ff0000"):
        self.colour = colour

    def style_node(self, node):
        print("printed while it is asked")
        return {"fillcolor": self.colour} if node.kind == "linear" else {}

class Wrong:
    def style_node(self, node):
        return {"image": "/etc/passwd", "fillcolor": object()}

class Raises:
    def style_edge(self, tail, head):
        return 1 / 0

class Slow:
    def style_node(self, node):
        import time
        time.sleep(60)

class Dies:
    def style_node(self, node):
        import os
        os._exit(3)

class Loops:
    def style_node(self, node):
        found = {}
        found["label"] = found
        return found

class Keys:
    def style_node(self, node):
        return {(1, 2): 3}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "__init__.py").touch()
    (tmp_path / "looks" / "mine.py").write_text(CODE)
    (tmp_path / "looks" / "broken.py").write_text("import nothing_of_that_name")
    return tmp_path


def asked() -> StylerInput:
    view = make_view(mlp())
    return styler_input(view, Labels(view))


def settings(folder: Path) -> Settings:
    return Settings(folder / "cache", (str(folder),))


def worker(folder: Path) -> Callable[[], Worker]:
    return lambda: Worker.of(settings(folder))


def one(styler: str, folder: Path) -> Drawing:
    (drawing,) = draw([DrawJob(mlp(), "a" * 64, DrawingOptions(styler=styler))], find_engine(), worker(folder))
    assert isinstance(drawing, Drawing), drawing
    return drawing


def failing(styler: str, folder: Path, timeout_s: float = 60) -> StylerError:
    (error,) = styles_by_name(styler, [asked()], worker(folder), timeout_s=timeout_s)
    assert isinstance(error, StylerError), error
    return error


def test_a_styler_by_name(folder: Path) -> None:
    assert one("looks.mine.Red", folder).svg.count('fill="#ff0000"') == 1


def test_a_styler_with_arguments(folder: Path) -> None:
    assert one("looks.mine:Red(colour='teal')", folder).svg.count('fill="#008080"') == 1


def test_its_error_stays_with_its_picture(folder: Path) -> None:
    orders = [DrawJob(mlp(), "a" * 64, DrawingOptions(styler=styler)) for styler in ("", "looks.mine.Raises", "")]
    good, bad, other = draw(orders, find_engine(), worker(folder))
    assert isinstance(good, Drawing)
    assert isinstance(bad, StylerError)
    assert good == other


@pytest.mark.parametrize(
    ("styler", "said"),
    [
        ("nothing_here.Red", "no module 'nothing_here': is its folder on the Python path of the build?"),
        ("looks.mine.Rad", "looks.mine has no 'Rad'; did you mean Red?"),
        ("looks.broken.Red", "importing looks.broken raised ModuleNotFoundError: No module named 'nothing_of_that"),
        ("looks.mine.Red(size=3)", "creating looks.mine.Red(size=3) raised TypeError"),
        ("looks.mine.Raises", "raised ZeroDivisionError: division by zero"),
        ("looks.mine.Wrong", "gave the attribute 'image', the known ones are"),
        ("looks.mine.Wrong", "gave fillcolor='<object>': write #rrggbb"),
        ("looks.mine.Loops", "its answer cannot be written as JSON"),
        ("looks.mine.Keys", "its answer cannot be written as JSON"),
        ("looks.mine.Dies", "its process ended with status 3"),
        ("looks.mine.CODE", "looks.mine has no 'CODE'"),
        ("subprocess.Popen(['true'])", "subprocess.Popen(['true']) is not called: a page may call"),
        ("subprocess.CompletedProcess", "add 'subprocess.CompletedProcess' to the setting `allow`"),
    ],
)
def test_what_goes_wrong_is_said(styler: str, said: str, folder: Path) -> None:
    error = failing(styler, folder)
    assert said in str(error)
    assert str(error).startswith(f"styler {styler}: ")


def test_the_users_traceback_is_kept(folder: Path) -> None:
    assert "return 1 / 0" in failing("looks.mine.Raises", folder).details()


def test_a_styler_that_hangs_is_ended(folder: Path) -> None:
    begun = time.monotonic()
    assert "it took longer than 2 s" in str(failing("looks.mine.Slow", folder, timeout_s=2))
    assert time.monotonic() - begun < 30


def test_the_key_has_the_source(folder: Path) -> None:
    file = folder / "looks" / "mine.py"
    options = DrawingOptions(styler="looks.mine.Red")
    keys = []
    for text in (CODE, CODE.replace("#ff0000", "#00ff00")):
        file.write_text(text)
        source = source_of("looks.mine.Red", ModuleFinder([str(folder)]))
        keys.append(RenderKey("g", options, source).digest())
    assert keys[0] != keys[1]
    assert source_of("nothing_here.Red", ModuleFinder([str(folder)])) == ""
    assert RenderKey("g", DrawingOptions()).digest() != RenderKey("g", options).digest()


def test_the_option_is_a_dotted_name() -> None:
    assert read_drawing({"styler": "looks.mine.Red"}).styler == "looks.mine.Red"
    with pytest.raises(OptionError, match=r"styler: 'a b' names no model|styler: "):
        read_drawing({"styler": "a b"})


def test_asking_imports_nothing_here(folder: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from tests.core.drawing.test_styling import asked, worker
from torchrecorder.drawing.styler import styles_by_name
styles_by_name("looks.mine.Red", [asked()], worker(Path({str(folder)!r})))
assert "looks" not in sys.modules and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_torch_a_styler_that_needs_none_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, real_processes: None
) -> None:
    (folder / "absent").mkdir()
    (folder / "absent" / "torch.py").write_text("raise ImportError('there is no torch')")
    monkeypatch.setenv("PYTHONPATH", str(folder / "absent"), prepend=os.pathsep)
    with worker(folder)() as opened:
        before = opened.record(RecordingRequest("looks.mine.Net", "1,3"), timeout_s=60)
        assert isinstance(before.error, TorchMissing)
        for _ in range(2):
            (styles,) = styles_by_name("looks.mine.Red", [asked()], lambda: nullcontext(opened))
            assert not isinstance(styles, StylerError), styles
        again = opened.record(RecordingRequest("looks.mine.Other", "1,3"), timeout_s=60)
        assert isinstance(again.error, TorchMissing)
        assert "looks.mine.Other" in str(again.error)


def test_the_process_goes_on_after_a_styler_that_dies_or_hangs(folder: Path) -> None:
    with worker(folder)() as opened:
        for styler, timeout_s in (("looks.mine.Dies", 60), ("looks.mine.Slow", 1)):
            (error,) = styles_by_name(styler, [asked()], lambda: nullcontext(opened), timeout_s)
            assert isinstance(error, StylerError)
        (styles,) = styles_by_name("looks.mine.Red", [asked()], lambda: nullcontext(opened))
        assert not isinstance(styles, StylerError)


def test_what_a_styler_printed_before_it_died_is_in_the_log(folder: Path) -> None:
    assert "printed while it is imported" in failing("looks.mine.Dies", folder).details()


def test_a_python_that_is_not_there_is_said(folder: Path) -> None:
    absent = replace(settings(folder), python="no-such-python")
    (error,) = styles_by_name("looks.mine.Red", [asked()], lambda: Worker.of(absent))
    assert isinstance(error, StylerError)
    assert "there is no such program" in str(error)


def test_an_answer_that_is_not_one_is_an_error() -> None:
    class Scribbling(Worker):
        def record(self, request: object, *, timeout_s: float) -> Answer:
            return Answer(styles=("[1]",))

    (error,) = styles_by_name("looks.mine.Red", [asked()], lambda: Scribbling([]))
    assert "its process returned no answer" in str(error)
