"""Which documented classes get a diagram, and with which options."""

from __future__ import annotations

import re

import pytest

from torchrecorder.errors import OptionError
from torchrecorder.request import DiagramRequest, DocstringField, Rules, why_not_tried


def rules(written: object) -> Rules:
    found, problems = Rules.read(written)
    assert problems == ()
    return found


def requested(rules: Rules, name: str, own: str | None) -> DiagramRequest | None:
    body = rules.body((name,), own)
    return None if body is None else body.request()


def asked(written: object, name: str, own: str | None = None) -> tuple[str, str, int | str, bool] | None:
    """The target, shape and depth that a class asks for, and whether it is only tried."""
    request = requested(rules(written), name, own)
    if request is None:
        return None
    return request.recording.target, request.recording.shape, request.drawing.depth, request.is_tried


PATTERNS = {
    "*": True,
    "pkg.models.*": {"arguments": "n_chans=22, n_outputs=4", "shape": "1,22,1000"},
    "pkg.models.functional.*": False,
    "pkg.models.*Net": {"shape": (1, 3), "depth": 2},
    "pkg.zoo.*": {"shape": "1,3", "quiet": True},
    "pkg.models.BigNet": {"arguments": {"width": 64, "kind": "a b"}},
}


@pytest.mark.parametrize(
    ("name", "own", "expected"),
    [
        ("other.Net", None, ("other.Net", "", "auto", True)),
        ("pkg.models.Small", None, ("pkg.models.Small(n_chans=22, n_outputs=4)", "1,22,1000", "auto", False)),
        ("pkg.models.SmallNet", None, ("pkg.models.SmallNet", "1,3", 2, False)),
        ("pkg.models.BigNet", None, ("pkg.models.BigNet(width=64, kind='a b')", "", "auto", False)),
        ("pkg.zoo.Net", None, ("pkg.zoo.Net", "1,3", "auto", True)),
        ("pkg.zoo.Net", "depth=2", ("pkg.zoo.Net", "1,3", 2, False)),
        ("pkg.models.functional.Relu", None, None),
        ("pkg.models.functional.Relu", "", ("pkg.models.functional.Relu", "", "auto", False)),
        ("pkg.models.functional.Relu", "shape=4", ("pkg.models.functional.Relu", "4", "auto", False)),
        ("pkg.models.SmallNet", "depth=3", ("pkg.models.SmallNet", "1,3", 3, False)),
        ("pkg.models.SmallNet", "no", None),
        ("other.Net", "yes", ("other.Net", "", "auto", False)),
    ],
)
def test_the_most_exact_pattern_wins_and_a_class_has_the_last_word(
    name: str, own: str | None, expected: tuple[str, str, int | str, bool] | None
) -> None:
    assert asked(PATTERNS, name, own) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (True, (True, True, 15)),
        ({"*": True}, (True, True, 15)),
        ({"pkg.losses.*": True}, (True, False, 15)),
        ({"pkg.*": {"quiet": True, "shape": "1,3"}}, (True, True, 15)),
        ({"pkg.*": {"quiet": True, "timeout": 60}}, (True, True, 60)),
        ({"pkg.losses.Net": True}, (True, False, 120)),
        ({"pkg.losses.Net": {"quiet": True}}, (True, False, 120)),
        ({"pkg.*": {"shape": "1,3"}}, (False, False, 120)),
    ],
)
def test_the_less_exactly_a_class_is_asked_for_the_less_is_done_for_it(
    written: object, expected: tuple[bool, bool, float]
) -> None:
    request = requested(rules(written), "pkg.losses.Net", None)
    assert request is not None
    assert (request.is_tried, request.is_ranked, request.timeout_s) == expected
    named = requested(rules(written), "pkg.losses.Net", "shape=1,3")
    assert named is not None
    assert (named.is_tried, named.is_ranked) == (False, False)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["pkg.losses.focal.Focal"], "a loss"),
        (["pkg.Focal", "pkg.focal.Focal", "torch.nn.modules.loss._Loss", "torch.nn.modules.module.Module"], "a loss"),
        (["pkg.nets.DiceLoss"], "a loss"),
        (["pkg.criterion.SetCriterion"], "a loss"),
        (["pkg.Accuracy", "torchmetrics.metric.Metric"], "a metric"),
        (["pkg.augmentation.Mixup"], "an augmentation"),
        (["pkg.optim.Lion"], "an optimizer"),
        (["pkg.solvers.Cosine", "pkg.solvers.base.LRScheduler"], "a scheduler"),
        (["pkg.lossless.Coder"], ""),
        (["pkg.models.Lossy"], ""),
        (["pkg.transforms.Coupling"], ""),
        (["pkg.Attention", "torch.nn.modules.activation.MultiheadAttention"], ""),
        (["losses.Focal"], "a loss"),
    ],
)
def test_a_class_is_of_a_kind_by_its_names_and_those_of_its_bases(names: list[str], kind: str) -> None:
    assert why_not_tried(names) == (f"it is {kind}" if kind else "")


def test_what_a_pattern_says_of_several_classes_is_marked_so() -> None:
    common = [requested(rules(PATTERNS), f"pkg.{name}", own) for name, own in COMMON]
    assert [it is not None and it.recording.is_common for it in common] == [True, True, False, False, False]


COMMON = [("models.Small", None), ("zoo.Net", None), ("models.BigNet", None), ("zoo.Net", "shape=4"), ("other", None)]


def test_arrays_that_a_configuration_computes_are_lists() -> None:
    written = {"pkg.Net": {"arguments": {"places": [{"at": Array(), "name": "Fp1"}], "sizes": (3, 4)}}}
    found = asked(written, "pkg.Net")
    assert found is not None
    assert found[0] == "pkg.Net(places=[{'at': [0.5, 1.0], 'name': 'Fp1'}], sizes=(3, 4))"


class Array:
    """As numpy's."""

    def tolist(self) -> list[float]:
        return [0.5, 1.0]


def test_inputs_of_a_class_take_the_place_of_the_shape_of_its_pattern() -> None:
    request = requested(rules(PATTERNS), "pkg.models.Small", "inputs=pkg.make")
    assert request is not None
    assert (request.recording.inputs, request.recording.shape) == ("pkg.make", "")


@pytest.mark.parametrize(
    ("written", "name", "is_drawn"),
    [(True, "pkg.Net", True), (False, "pkg.Net", False), ({}, "pkg.Net", False), ({"pkg.*": {}}, "pkgs.Net", False)],
)
def test_without_patterns(written: object, name: str, is_drawn: bool) -> None:
    assert (asked(written, name) is not None) is is_drawn


@pytest.mark.parametrize(
    ("own", "target", "shape"),
    [
        ("shape=1,3,32,32 depth=2", "pkg.Net", "1,3,32,32"),
        ("shape=1,3; 1,8 depth=2", "pkg.Net", "1,3; 1,8"),
        ('shape="1,3; 1,8" depth=2', "pkg.Net", "1,3; 1,8"),
        ("shape=x=1,3; ids=int64[1,16]<100 depth=2", "pkg.Net", "x=1,3; ids=int64[1,16]<100"),
        ("arguments=n_chans=22, n_outputs=4 shape=1,22 depth=2", "pkg.Net(n_chans=22, n_outputs=4)", "1,22"),
        ("arguments=(3, 4), 'a b' shape=1 depth=2", "pkg.Net((3, 4), 'a b')", "1"),
    ],
)
def test_values_of_a_field_go_on_after_a_comma(own: str, target: str, shape: str) -> None:
    assert asked(False, "pkg.Net", own) == (target, shape, 2, False)


@pytest.mark.parametrize(
    ("own", "problems"),
    [
        ("1,3,32,32", "cannot read '1,3,32,32': write options as in shape=1,3 depth=2, or no"),
        ("shap=1,3", "unknown option 'shap', did you mean shape?"),
        ("shape=1,3 shape=1,4", "shape is given twice"),
        ("shape=1,3 caption=Net", "caption: write a directive for it"),
        ("arguments=os.getcwd()", "arguments: the argument os.getcwd() is not a literal"),
    ],
)
def test_what_is_wrong_in_a_field_is_said(own: str, problems: str) -> None:
    with pytest.raises(OptionError, match=re.escape(problems)):
        requested(rules(False), "pkg.Net", own)


def test_what_is_wrong_in_a_setting_is_said_and_left_out() -> None:
    found, problems = Rules.read(
        {
            "pkg.models.*": {"shap": "1,3", "depth": 2, "arguments": "width="},
            "pkg models": True,
            "pkg.Net": "1,3",
            "pkg.Alt": {"alt": "a net"},
            "pkg.Loud": {"quiet": "no"},
        }
    )
    assert [problem.partition(":")[0] for problem in problems] == [
        "'pkg.models.*'",
        "'pkg.models.*'",
        "'pkg models' is not a valid pattern",
        "'pkg.Net'",
        "'pkg.Alt'",
        "'pkg.Loud'",
    ]
    assert "'pkg.models.*': unknown option 'shap', did you mean shape?" in problems
    request = requested(found, "pkg.models.Net", None)
    assert request is not None
    assert (request.recording.target, request.drawing.depth, request.pattern) == ("pkg.models.Net", 2, "pkg.models.*")
    assert requested(found, "pkg.Net", None) is None
    assert Rules.read("pkg.*")[1] == ("""'pkg.*' is not valid: write True, or {"pkg.models.*": {"shape": "1,3"}}""",)


CLASSES = {"pkg.models.Net": True, "pkg.models.unet.UNet": True, "pkg.Config": False, "pkg.Other": False}


@pytest.mark.parametrize(
    ("pattern", "value", "problems"),
    [
        ("pkg.models.*", {}, []),
        ("*", True, []),
        ("pkg.model.*", {}, ["'pkg.model.*' matches no documented class; did you mean 'pkg.models.*'?"]),
        ("pkg.models", {}, ["'pkg.models' matches no documented class; did you mean 'pkg.models.*'?"]),
        ("pkg.models.Nett", False, ["'pkg.models.Nett' matches no documented class; did you mean 'pkg.models.Net'?"]),
        ("zoo.*", True, ["'zoo.*' matches no documented class"]),
        ("pkg.Config", {}, ["pkg.Config is something else than a torch.nn.Module"]),
        ("pkg.Config", False, []),
        ("pkg.?", {}, []),
        ("pkg.*o*e*", {}, []),
        ("pkg.[A-Z]*", {}, []),
    ],
)
def test_patterns_that_match_nothing(pattern: str, value: object, problems: list[str]) -> None:
    found, wrong = Rules.read({pattern: value})
    assert list(found.problems(CLASSES)) == problems
    assert bool(wrong) is ("?" in pattern or "[" in pattern)


def test_patterns_of_classes_that_are_no_modules_and_without_classes() -> None:
    found = rules({"pkg.*": {}})
    assert list(found.problems({"pkg.A": False, "pkg.B": False})) == [
        "each of the 2 classes of 'pkg.*' is something else than a torch.nn.Module"
    ]
    assert list(found.problems({})) == ["'pkg.*' matches no documented class: autodoc documents no class"]
    found = rules({"pkg.*": {}, "pkg.a.*": {}, "pkg.b.*": False, "zoo.Net": {}})
    assert list(found.problems({"zoo.Net": True})) == [
        "'pkg.*', 'pkg.a.*' and 'pkg.b.*' match no documented class",
    ], "a package that cannot be imported is one cause"


def test_a_field_is_taken_out_of_a_docstring() -> None:
    lines = ["A net.", "", ":torchrecorder: shape=1,3", "  depth=2", ":param x: what", "", "    :torchrecorder: no"]
    field = DocstringField.take(lines)
    assert field is not None
    assert (field.text, field.line) == ("shape=1,3 depth=2", 2)
    assert lines == ["A net.", "", "", "", ":param x: what", "", "    :torchrecorder: no"]
    assert DocstringField.take(lines) is None
    bare = DocstringField.take([":torchrecorder:"])
    assert bare is not None
    assert bare.text == ""
