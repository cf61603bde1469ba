"""The collection of garbage is kept out of steps that make none, and only as long as they last."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.core.drawing.engines import laid_out
from tests.core.graph.building import transformer
from torchrecorder.drawing.dot import to_dot
from torchrecorder.drawing.svg import finish
from torchrecorder.garbage import no_garbage_collection
from torchrecorder.view.viewer import Viewer, Wish

VIEWER = Viewer(transformer(40), Wish(everything=True, fold=False))
VIEW = VIEWER.view(9)
LAYOUT = laid_out(to_dot(VIEW).source)
STEPS: dict[str, Callable[[], object]] = {
    "view": lambda: VIEWER.view(9),
    "text": lambda: to_dot(VIEW),
    "picture": lambda: finish(LAYOUT, uid="p1", title="t", desc="d"),
}


@contextmanager
def collecting(is_on: bool) -> Iterator[None]:
    before = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("is_on", [True, False])
def test_it_is_afterwards_as_it_was_before(is_on: bool) -> None:
    with collecting(is_on):
        with no_garbage_collection(), no_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == is_on
        with pytest.raises(ZeroDivisionError), no_garbage_collection():
            _ = 1 / 0
        assert gc.isenabled() == is_on


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_drawing_is_not_interrupted(step: str) -> None:
    with collecting(True):
        gc.collect()
        passes = sum(generation["collections"] for generation in gc.get_stats())
        STEPS[step]()
        assert gc.isenabled()
        assert sum(generation["collections"] for generation in gc.get_stats()) <= passes + 1  # before or after it


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_drawing_leaves_no_garbage(step: str) -> None:
    with collecting(False):
        STEPS[step]()
        gc.collect()
        STEPS[step]()
        assert gc.collect() == 0
