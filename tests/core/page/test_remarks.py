from __future__ import annotations

from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import EngineNotFound, ForwardError, TargetNotFound, TorchMissing, WorkerCrashed
from torchrecorder.graph import Graph
from torchrecorder.page import Diagram, Outcome, is_build_wide, message, reader_notes
from torchrecorder.request import read_request


def no_graph() -> Graph:
    raise AssertionError("nobody asked for the Graph")


def test_what_no_page_can_be_blamed_for() -> None:
    assert is_build_wide(EngineNotFound("auto", "it is not there"))
    assert is_build_wide(TorchMissing("pkg.Net", "python"))
    assert not is_build_wide(TargetNotFound("pkg.Net", "pkg", "Net"))


def test_last_words_are_part_of_the_message() -> None:
    error = WorkerCrashed("pkg.Net", "signal 11", "\n".join(f"line {i}" for i in range(9)))
    assert message(error).splitlines() == [str(error), *(f"line {i}" for i in range(4, 9))]


def test_one_message_for_many() -> None:
    error = EngineNotFound("auto", "it is not there")
    assert message(error, missing=1).startswith("1 diagram is missing: no layout engine")
    assert message(error, missing=3).startswith("3 diagrams are missing: no layout engine")


def test_remarks() -> None:
    drawing = Drawing("<svg/>", 1, 1, "", "", {"guessed": "the shape is a guess"}, ("a note",))
    error = ForwardError("Net", "ValueError: no")
    request = read_request("pkg.Net", {})
    assert reader_notes(Outcome(request, Diagram(drawing, load_graph=no_graph), error)) == (
        "This diagram is not complete: the forward of Net failed: ValueError: no",
        "the shape is a guess",
        "a note",
    )
    assert reader_notes(Outcome(request, None, error)) == ()
