from __future__ import annotations

import pytest

from torchrecorder.errors import OptionError
from torchrecorder.request import Body


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("pkg.Net", Body("pkg.Net", {})),
        ("\n  pkg.mod:Net\n", Body("pkg.mod:Net", {})),
        ("pkg.Net\n:shape: 1,3\ndepth: 2", Body("pkg.Net", {"shape": "1,3", "depth": "2"})),
        ("pkg.Net\n:fold:\n:Depth: 2", Body("pkg.Net", {"fold": None, "depth": "2"})),
        ("  :shape: ids=int64[1,16]<100\n  pkg.Net", Body("pkg.Net", {"shape": "ids=int64[1,16]<100"})),
        (
            "pkg.Net\n:caption: A text\n   that goes on:\n\t and on",
            Body("pkg.Net", {"caption": "A text that goes on: and on"}),
        ),
        ("pkg.Net\n:caption:\n   below", Body("pkg.Net", {"caption": "below"})),
        ("", Body("", {})),
        (
            "pkg.Net\n:depth: 2\n\nA legend.\n\n  depth: 3\n",
            Body("pkg.Net", {"depth": "2"}, legend=("A legend.", "", "  depth: 3", "")),
        ),
        ("pkg.Net\n\n:depth: 2\n\nNote: a legend", Body("pkg.Net", {"depth": "2"}, legend=("Note: a legend",))),
    ],
)
def test_body(text: str, body: Body) -> None:
    assert Body.read(text.split("\n")) == body


def test_what_stands_above_counts() -> None:
    body = Body.read(["depth: 2", "pkg.Other"], "pkg.Net", {"depth": "1"})
    assert body.target == "pkg.Net"
    assert body.problems == (
        "depth is given twice",
        "cannot read 'pkg.Other': the model is pkg.Net, and an option is written `:depth: 2`",
    )


def test_all_problems_of_a_request_are_told_at_once() -> None:
    body = Body.read(["depht: 2", "shape: x", "shape: y"])
    with pytest.raises(OptionError) as caught:
        body.request({"fold": "yes"})
    assert len(caught.value.problems) == 4
    with pytest.raises(OptionError, match=r"^depth is given twice$"):
        Body.read(["pkg.Net", "depth: 1", "depth: 2"]).request()


def test_a_wrong_option_of_the_look_is_left_out() -> None:
    request = Body.read(["pkg.Net", "dpeth: 2", "width: broad", "fold: no"]).request()
    assert request.left_out == (
        "unknown option 'dpeth', did you mean depth?",
        "width: 'broad' is not a valid width: write 400px or 80%",
    )
    assert (request.drawing.depth, request.drawing.fold, request.figure.width) == ("auto", False, "")


@pytest.mark.parametrize("line", ["shpae: 1,3", "shape: 1,x", "mode: evil", "timeout: soon"])
def test_a_wrong_option_of_the_recording_is_not(line: str) -> None:
    with pytest.raises(OptionError) as caught:
        Body.read(["pkg.Net", line, "zzz: 2"]).request()
    assert len(caught.value.problems) == 2


def test_the_legend_is_a_part_of_the_figure() -> None:
    request = Body.read(["pkg.Net", "", "One.", "", "Two."]).request()
    assert request.figure.legend == "One.\n\nTwo."


def test_a_site_says_what_the_body_does_not() -> None:
    request = Body.read(["pkg.Net", "depth: 1"]).request({"depth": "2", "fold": "no"})
    assert (request.drawing.depth, request.drawing.fold) == (1, False)
