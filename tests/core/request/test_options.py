"""The one schema of options."""

from __future__ import annotations

import pytest

from torchrecorder.errors import OptionError
from torchrecorder.request import OPTIONS, read_drawing, read_request, read_values, site_options


def problems_of(target: str | None, **written: str) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        read_request(target, {name.rstrip("_"): text for name, text in written.items()})
    return caught.value.problems


@pytest.mark.parametrize("name", ["grey", "fold", "zoom", "links", "table", "foot"])
def test_an_empty_value_of_yaml_is_a_yes_as_in_a_directive(name: str) -> None:
    good, wrong = site_options({name: None})
    assert wrong == []
    assert read_values(good)[name] is True
    assert read_request("pkg.Net", {name: None}) == read_request("pkg.Net", good)


def test_an_empty_value_that_means_nothing_is_named() -> None:
    assert site_options({"depth": None, "theme": None}) == (
        {},
        [
            "depth: '' is not a valid depth: write 0 for the model as one box, 1 for its children, …, auto or all, or"
            " 1-3 to let readers switch",
            "theme: '' is none of modern, classic",
        ],
    )


def test_reads_what_a_directive_says() -> None:
    request = read_request("pkg.Net", {"shape": " (1, 3) ", "depth": "2", "caption": "A net.", "class": "wide, dark"})
    assert request.recording.target == "pkg.Net"
    assert request.recording.shape == "1,3"
    assert request.drawing.depth == 2
    assert request.figure.caption == "A net."
    assert request.figure.classes == ("wide", "dark")


def test_the_same_request_however_it_is_spelled() -> None:
    one = read_request("pkg.mod:Net(width = 64)", {"shape": "[(1, 3), (1, 8)]"})
    other = read_request(" pkg.mod:Net(width=64) ", {"shape": "1, 3;1,8;"})
    assert one == other
    assert one.recording.key() == other.recording.key()


def test_drawing_options_leave_the_recording_alone() -> None:
    plain = read_request("pkg.Net", {})
    for name, text in (("depth", "3"), ("direction", "lr"), ("fold", "no"), ("caption", "x"), ("timeout", "5")):
        assert read_request("pkg.Net", {name: text}).recording.key() == plain.recording.key()
    for name, text in (("shape", "1,3"), ("mode", "train"), ("run", "fake"), ("seed", "1"), ("inputs", "pkg.make")):
        assert read_request("pkg.Net", {name: text}).recording.key() != plain.recording.key()


def test_all_problems_at_once() -> None:
    found = problems_of("Net", shape="1,a", dept="2", depth="deep", mode="evil")
    assert len(found) == 5
    text = "\n".join(found)
    assert "'Net' names no module" in text
    assert "shape: 'a' in '1,a' is not a valid size" in text
    assert "unknown option 'dept', did you mean depth?" in text
    assert "depth: 'deep' is not a valid depth" in text
    assert "mode: 'evil' is none of eval, train; did you mean eval?" in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("depth", "-1"),
        ("depth", ""),
        ("depth", "1.5"),
        ("depth", "0-5"),
        ("depth", "1-2-3"),
        ("zoom", "a bit"),
        ("table", "big"),
        ("seed", "x"),
        ("timeout", "0"),
        ("timeout", "nan"),
        ("timeout", "soon"),
        ("fold", "maybe"),
        ("direction", "up"),
        ("width", "wide"),
        ("width", "1px;color:red"),
        ("width", "3.25"),
        ("height", "8"),
        ("figwidth", "3"),
        ("height", "80%"),
        ("scale", "0"),
        ("scale", "half"),
        ("figwidth", "picture"),
        ("loading", "late"),
        ("align", "justify"),
        ("caption", ""),
        ("inputs", "make"),
    ],
)
def test_a_bad_value_is_named(name: str, text: str) -> None:
    (problem,) = problems_of("pkg.Net", **{name: text})
    assert problem.startswith(f"{name}: ")


def test_a_width_of_few_pixels_was_meant_in_another_unit() -> None:
    (problem,) = problems_of("pkg.Net", width="3.25")
    assert problem.endswith("'3.25' has no unit, and 3.25 pixels show nothing: write 3.25in, 3.25cm or 3.25em")
    assert read_request("pkg.Net", {"width": "3.25px"}).figure.width == "3.25px"  # said so
    assert read_request("pkg.Net", {"width": "16"}).figure.width == "16px"


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ({}, ("", "")),
        ({"width": "80%"}, ("80%", "")),
        ({"scale": "50"}, ("150px", "")),
        ({"scale": "50%", "width": "33.5em"}, ("16.75em", "")),
        ({"scale": "200", "height": "40"}, ("", "80px")),
        ({"width": "10cm", "height": "4cm"}, ("10cm", "4cm")),
    ],
)
def test_the_size_of_a_picture(written: dict[str, str], size: tuple[str, str]) -> None:
    assert read_request("pkg.Net", written).figure.size(300) == size


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("3-1", "did you mean 1-3?"),
        ("1-", "did you mean 1-3?"),
        ("1–3", "did you mean 1-3?"),
        ("1..3", "did you mean 1-3?"),
        ("1:3", "did you mean 1-3?"),
        ("1 to 3", "did you mean 1-3?"),
        ("0-9", "10 depths, and readers switch between at most 5: write 0-4"),
        ("atuo", "did you mean auto?"),
        ("a-b", "1-3 to let readers switch"),
        ("9999999999", "is not a valid depth"),
    ],
)
def test_a_bad_range_of_depths_is_told_with_what_may_be_meant(text: str, near: str) -> None:
    (problem,) = problems_of("pkg.Net", depth=text)
    assert problem.startswith(f"depth: '{text}'")
    assert near in problem


def test_a_range_of_depths() -> None:
    request = read_request("pkg.Net", {"depth": "1-3"})
    assert (request.depths, request.drawing.depth) == ((1, 2, 3), 1)
    assert [one.drawing.depth for one in request.singles()] == [1, 2, 3]
    assert {one.recording for one in request.singles()} == {request.recording}
    assert not any(one.depths for one in request.singles())
    same = read_request("pkg.Net", {"depth": "2-2"})
    assert (same.depths, same.singles()) == ((), (same,))
    assert read_request("pkg.Net", {}, {"depth": "0 - 4"}).depths == (0, 1, 2, 3, 4)


def test_one_picture_has_one_depth() -> None:
    with pytest.raises(OptionError, match="1-3 lets readers of a page switch"):
        read_drawing({"depth": "1-3"})


def test_no_target() -> None:
    assert problems_of(None) == problems_of("  ") == ("no model is named: write its dotted name, as in pkg.Net",)


def test_shape_and_inputs_together() -> None:
    (problem,) = problems_of("pkg.Net", shape="1,3", inputs="pkg.make")
    assert problem.startswith("shape and inputs both")


def test_the_directive_wins_over_the_site() -> None:
    site = {"depth": "1", "direction": "LR"}
    request = read_request("pkg.Net", {"depth": "3"}, site)
    assert (request.drawing.depth, request.drawing.direction) == (3, "LR")


def test_a_wrong_site_value_is_told_and_left_out() -> None:
    good, wrong = site_options({"depth": 2, "fold": False, "mode": "evil", "caption": "x", "dept": 1})
    assert good == {"depth": "2", "fold": "false"}
    assert len(wrong) == 3
    assert read_request("pkg.Net", {}, good).drawing.fold is False


def test_site_values_are_written_as_python_or_yaml_has_them() -> None:
    good, wrong = site_options({"expand": ["encoder", "decoder.*"], "shape": (1, 3), "class": "wide", "seed": 3})
    assert not wrong
    request = read_request("pkg.Net", {}, good)
    assert request.drawing.expand == ("encoder", "decoder.*")
    assert (request.recording.shape, request.figure.classes, request.recording.seed) == ("1,3", ("wide",), 3)


def test_every_option_is_explained_and_has_a_default_that_is_used() -> None:
    request = read_request("pkg.Net", {})
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    for option in OPTIONS:
        assert option.help.endswith(".")
    assert request.timeout_s == next(option.default for option in OPTIONS if option.name == "timeout")
