from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest
from docutils import nodes

from mkdocs_torchrecorder.figure import PageFiller
from mkdocs_torchrecorder.site import FenceSite
from sphinx_torchrecorder.figure import add_lines
from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import (
    EngineNotFound,
    ForwardError,
    NotDrawn,
    OptionError,
    OutOfDate,
    TargetImportFailed,
    TargetNotFound,
    TorchMissing,
    TorchRecorderError,
    WorkerCrashed,
)
from torchrecorder.graph import Graph
from torchrecorder.layout.model import Layout
from torchrecorder.page import Diagram, Outcome
from torchrecorder.page.remarks import (
    Message,
    fatal_messages,
    is_build_wide,
    log_entries,
    message,
    slowest,
    with_places,
    with_setting,
)
from torchrecorder.page.words import translation, with_code
from torchrecorder.request import Body, read_request

FILLER = PageFiller(Mock(FenceSite), scripts=("", ""))


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
    drawing = Drawing(Layout(1, 1), "", "", {"guessed": "the shape is a guess"}, ("a note",))
    error = ForwardError("Net", "ValueError: no")
    request = read_request("pkg.Net", {})
    failed = Outcome(request, Diagram(drawing, load_graph=no_graph), error)
    assert failed.reader_line() == "This diagram is not complete: the forward of Net failed: ValueError: no"
    assert failed.about() == ("the shape is a guess", "a note")
    assert (Outcome(request, None, error).reader_line(), Outcome(request, None, error).about()) == ("", ())
    graded = replace(drawing, facts={"guessed": "1,7, from fc (Linear)", "grade": "layer"}, notes=())
    found = Outcome(request, Diagram(graded, load_graph=no_graph))
    assert found.about() == ("inputs guessed from its first layers: 1,7, from fc (Linear)",)
    assert found.about(translation("de")) == ("Eingaben erraten aus seinen ersten Schichten: 1,7, aus fc (Linear)",)


@pytest.mark.parametrize(
    ("grade", "line"),
    [
        ("layer", "Sizes for an example input: x N×7"),
        ("model", "Sizes for an example input: x N×7"),
        ("names", "Drawn for an example input, without sizes."),
        ("declared", ""),
        (None, ""),
    ],
)
def test_a_reader_gets_one_line(grade: str | None, line: str) -> None:
    facts = {"input": "x N×7"} | ({} if grade is None else {"guessed": "1,7, from fc (Linear)", "grade": grade})
    drawing = Drawing(Layout(1, 1), "", "", facts, ("a note", "another"))
    drawn = Outcome(read_request("pkg.Net", {}), Diagram(drawing, load_graph=no_graph))
    assert drawn.reader_line() == line
    shown = FILLER.figure(drawn)
    assert shown.count("torchrecorder-remark") == bool(line)
    assert shown.index("<details") < shown.index("another") < shown.index("</details>")
    assert "<details open" not in shown


def test_a_reader_is_not_told_what_only_the_author_can_use() -> None:
    own = ("one branch of `if y > 0:` was taken, pkg/net.py:7", "values left PyTorch through numpy() at data.py:3")
    library = (
        "one branch of `if not (a and b):` was taken, transformers/masking_utils.py:367",
        "values left PyTorch through item() at torchaudio/models/conformer.py:11",
        "the forward ran on fake tensors, because it is large",
        "cpu stands for cuda, which this machine does not have: lib/net.py:3",
    )
    others = ("not drawn: 2 operations that nothing reads", "values left PyTorch through item() in encoder.0")
    drawing = Drawing(Layout(1, 1), "", "", notes=(*own, *library, *others), weakened=("layered, since …",))
    found = Outcome(read_request("pkg.Net(3)", {}), Diagram(drawing, load_graph=no_graph))
    assert found.about() == (*own, *others)
    all_notes = (*own, *library, *others, "layered, since …")
    assert found.author_notes() == tuple(f"pkg.Net(3): {note}" for note in all_notes)
    assert outcome().author_notes() == ()


def outcome(error: TorchRecorderError | None = None, info: str = "") -> Outcome:
    return Outcome(read_request("pkg.Net", {}), None, error, info=info)


def test_one_cause_is_one_warning_with_its_places() -> None:
    def broken(module: str, origin: str = "pkg/__init__.py:3") -> Outcome:
        return outcome(TargetImportFailed(f"{module}.Net", module, "RuntimeError: no", origin))

    def absent(name: str) -> Outcome:
        return outcome(TargetNotFound(f"gone.{name}", "", "gone"))

    typo = TargetNotFound("pkg.Nett", "pkg", "Nett")
    results: list[tuple[str, Outcome]] = [
        ("a:1", broken("pkg.a")),
        ("a:2", outcome(typo)),
        ("a:3", absent("One")),
        ("b:1", broken("pkg.b")),
        ("b:2", broken("pkg.b", "other.py:1")),
        ("b:3", outcome(typo)),
        ("b:4", absent("Two")),
        ("b:5", broken("pkg.b")),
    ]
    found = []
    for entry in log_entries(results, {}, "", str):
        text, _, also = entry.text.partition("\nthe same at\n  ")
        found.append((entry.place, tuple(also.split("\n  ")) if also else (), text.partition("\n")[0]))
    assert found == [
        ("a:1", ("b:1", "b:5"), "cannot import pkg.a: RuntimeError: no (pkg/__init__.py:3)"),
        ("a:2", (), "cannot find pkg.Nett: pkg has no 'Nett'"),
        ("a:3", ("b:4",), "cannot find gone.One: no module 'gone'"),
        ("b:2", (), "cannot import pkg.b: RuntimeError: no (other.py:1)"),
        ("b:3", (), "cannot find pkg.Nett: pkg has no 'Nett'"),
    ]


def test_a_warning_as_a_tool_writes_it() -> None:
    assert with_places("no", ()) == "no"
    assert with_places("no", ("a:1", "b:2")) == "no\nthe same at\n  a:1\n  b:2"
    many = with_places("no", tuple(f"a:{i}" for i in range(30)))
    assert many.endswith("\n  a:19 and 10 more")
    hint = with_setting(message(TorchMissing("pkg.Net", "python")), "`torchrecorder_{}` in conf.py")
    assert "name another Python with `torchrecorder_python` in conf.py" in hint


def test_the_slowest_of_many_recordings() -> None:
    seconds = {f"pkg.Net{i}": i / 4 for i in range(11)}
    assert slowest({name: time for name, time in seconds.items() if name != "pkg.Net0"}) == ""
    assert slowest(seconds).splitlines() == [
        "the slowest of 11 recordings, 13.8 s in all:",
        "    2.50 s  pkg.Net10",
        *(f"    {i / 4:.2f} s  pkg.Net{i}" for i in (9, 8, 7, 6)),
    ]


def test_a_wrong_option_of_a_diagram_that_is_drawn_is_a_warning() -> None:
    drawn = Outcome(Body("pkg.Net", {"dpeth": "2"}).request(), None)
    text = "unknown option 'dpeth', did you mean depth?\nthe diagram is drawn without it"
    assert list(log_entries([("a:1", drawn)], {}, "", str)) == [Message(text, "option", "a:1")]


def test_a_failure_is_logged_at_its_place_and_what_no_page_can_be_blamed_for_once() -> None:
    engine, missing = EngineNotFound("auto", "it is not there"), TorchMissing("pkg.Net", "python")
    crashed = WorkerCrashed("pkg.Net", "signal 11", "the log")
    results: list[tuple[str, Outcome]] = [
        ("a:1", outcome(engine)),
        ("a:2", Outcome.refused(Body("pkg.Net"), OptionError(("unknown option 'x'",)))),
        ("b:1", outcome(missing)),
        ("b:2", outcome(crashed)),
        ("b:3", outcome(engine)),
    ]
    assert list(log_entries(results, {}, "", str)) == [
        Message("unknown option 'x'", "option", "a:2"),
        Message(message(crashed), crashed.kind, "b:2", "the log"),
        Message(message(engine, missing=2), engine.kind),
        Message(message(missing, missing=1), missing.kind),
    ]


def test_what_is_drawn_or_only_collected_is_not_logged() -> None:
    assert list(log_entries([("a:1", outcome()), ("a:2", outcome(NotDrawn()))], {}, "", str)) == []


def test_information_comes_once_and_the_cache_after_the_diagrams() -> None:
    error = Outcome.refused(Body("pkg.Net"), OptionError(("no model is named",)))
    results: list[tuple[str, Outcome]] = [
        ("a:1", outcome(info="it may be old")),
        ("a:2", error),
        ("a:3", outcome(info="it may be old")),
    ]
    assert list(log_entries(results, {"cache": "cannot write"}, "the remote cache is slow", str)) == [
        Message("it may be old"),
        Message("no model is named", "option", "a:2"),
        Message("cannot write", "cache"),
        Message("the remote cache is slow"),
    ]


def test_only_what_is_out_of_date_and_must_not_be_ends_a_build() -> None:
    fatal = OutOfDate("pkg.Net", ("net.py changed",), is_fatal=True)
    results = [outcome(fatal), outcome(OutOfDate("pkg.Old", ("old.py changed",))), outcome(fatal), outcome()]
    assert fatal_messages([*results, Outcome.refused(Body("pkg.Net"), OptionError(("a",)))]) == [message(fatal)]


def test_code_in_a_note_stands_between_backticks() -> None:
    assert with_code("one branch of `if x:` was taken") == [
        ("one branch of ", False),
        ("if x:", True),
        (" was taken", False),
    ]
    assert with_code("nothing") == [("nothing", False)]
    assert with_code("one branch of `if x == '`':` was taken") == [("one branch of `if x == '`':` was taken", False)]


def test_both_front_ends_show_it_as_code() -> None:
    drawing = Drawing(Layout(1, 1), "", "", {}, ("one branch of `if x < 1:` was taken",))
    outcome = Outcome(read_request("pkg.Net", {}), Diagram(drawing, load_graph=no_graph))
    failed = replace(outcome, error=ForwardError("Net", "`if x < 1:` is wrong"))
    frame = nodes.figure()
    frame += nodes.image()
    frame += nodes.legend("", nodes.paragraph("", "of the author"))
    add_lines(frame, failed)
    assert str(frame).index("of the author") < str(frame).index("torchrecorder-remark") < str(frame).index("</legend>")
    assert "<literal>if x < 1:</literal>" in str(frame)
    assert "one branch of <code>if x &lt; 1:</code> was taken" in FILLER.figure(outcome)
