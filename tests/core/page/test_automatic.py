"""What a build says of diagrams that were only tried, and which of them pages leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import (
    EngineNotFound,
    ForwardError,
    InputError,
    LeftOut,
    NotAModule,
    OutOfDate,
    TargetBuildFailed,
    TargetNotFound,
    TorchMissing,
    TorchRecorderError,
    WorkerTimeout,
)
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.page import Diagram, Outcome
from torchrecorder.page.remarks import Message, log_entries
from torchrecorder.request import read_request


def no_graph() -> Graph:
    raise AssertionError("the Graph is not needed")


def diagram(height: float = 100) -> Diagram:
    return Diagram(Drawing(Layout(1, height * 0.75), "", ""), load_graph=no_graph)


def tried(name: str, error: TorchRecorderError | None = None) -> Outcome:
    request = replace(read_request(f"pkg.{name}", {}), is_tried=True, pattern="*")
    return Outcome(request, None if error else diagram(), error)


def entries(*outcomes: Outcome) -> list[Message]:
    return list(log_entries([("place", outcome) for outcome in outcomes], {}, "", str))


def test_what_was_tried_in_vain_is_one_line_of_information() -> None:
    (entry,) = entries(
        tried("A"),
        tried("B"),
        tried("C", InputError("no guess was accepted")),
        *(tried(f"D{i}", TargetBuildFailed(f"pkg.D{i}", "its constructor needs width")) for i in range(7)),
        tried("G(width=3)", TargetBuildFailed("pkg.G(width=3)", "ValueError: no rate")),
        tried("E", NotAModule("pkg.E")),
        tried("F", WorkerTimeout("pkg.F", 2.0)),
        tried("H", LeftOut("pkg.H", "it is a loss")),
    )
    assert (entry.kind, entry.place) == ("", "")
    assert entry.text == (
        "automatic diagrams: 2 drawn, 11 not: no inputs found for pkg.C; cannot be built without arguments:"
        " pkg.D0, pkg.D1, pkg.D2, pkg.D3, pkg.D4 and 2 more; cannot be built with these arguments: pkg.G;"
        " too slow: pkg.F; little to show in pkg.H; `torchrecorder suggest docs` prints settings with which more can be"
        " drawn"
    )
    assert "pkg.H: it is a loss" in entry.details
    assert "pkg.D6: cannot build pkg.D6: its constructor needs width" in entry.details
    assert "pkg.E" not in entry.details


def test_what_was_tried_and_drawn_is_counted() -> None:
    assert [entry.text for entry in entries(tried("A"), tried("B"))] == ["automatic diagrams: 2 drawn"]
    assert entries(Outcome(read_request("pkg.Net", {}), diagram())) == []


def test_what_a_pattern_names_is_a_warning_that_says_how_to_leave_it_out() -> None:
    request = replace(read_request("pkg.Net(width=3)", {}), pattern="pkg.*")
    (entry,) = entries(Outcome(request, None, TargetNotFound("pkg.Net(width=3)", "pkg", "Net")))
    assert (entry.kind, entry.place) == ("target", "place")
    assert entry.text.endswith("""\nthe pattern 'pkg.*' asks for it; "pkg.Net": False leaves it out""")


def test_no_torch_is_said_once_unless_what_was_drawn_elsewhere_is_there() -> None:
    missing = [tried(name, TorchMissing(f"pkg.{name}", "python")) for name in "AB"]
    assert [entry.text.partition(":")[0] for entry in entries(*missing) if entry.kind] == ["2 diagrams are missing"]
    (entry,) = entries(*missing, tried("C"))
    assert entry.text == (
        "automatic diagrams: 1 drawn, 2 not: not recorded before, and no torch is here for pkg.A, pkg.B"
    )


@pytest.mark.parametrize(
    ("error", "skips"),
    [
        (ForwardError("Net", "ValueError: no"), True),
        (TargetNotFound("pkg.Net", "pkg", "Net"), True),
        (TorchMissing("pkg.Net", "python"), True),
        (OutOfDate("pkg.Net", ("nets.py changed",)), False),
        (EngineNotFound("auto", "it is not there"), False),
    ],
)
def test_a_page_shows_nothing_of_what_was_tried_in_vain(error: TorchRecorderError, skips: bool) -> None:
    assert tried("Net", error).is_skipped is skips
    assert not Outcome(read_request("pkg.Net", {}), None, error).is_skipped


def test_a_pattern_of_a_package_passes_over_classes_that_are_no_modules() -> None:
    outcome = Outcome(read_request("pkg.Config", {}), None, NotAModule("pkg.Config"))
    assert not outcome.is_skipped
    assert not replace(outcome, request=replace(outcome.request, pattern="pkg.Config")).is_skipped
    of_many = replace(outcome, request=replace(outcome.request, pattern="pkg.*"))
    assert of_many.is_skipped
    assert entries(of_many) == []


@pytest.mark.parametrize(
    ("place", "height", "closed"),
    [("auto", 600, False), ("auto", 601, True), ("summary", 10, True), ("end", 5000, False)],
)
def test_tall_pictures_are_closed(place: str, height: float, closed: bool) -> None:
    assert Outcome(read_request("pkg.Net", {}), diagram(height)).is_closed(place) is closed
