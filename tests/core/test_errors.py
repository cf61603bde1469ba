"""Errors keep their facts on every way they travel."""

from __future__ import annotations

import json
import pickle

import pytest

from torchrecorder import errors

EXAMPLES = [
    errors.OptionError(("shape: 'a' is no size", "unknown option 'dept', did you mean depth?")),
    errors.TargetNotFound("pkg.Nett", "pkg", "Nett", ("pkg.Net",)),
    errors.TargetImportFailed("pkg.Net", "pkg", "RuntimeError: no", "pkg/__init__.py:3", "install it", "Traceback …"),
    errors.TargetBuildFailed("pkg.Net", "TypeError: no", "pkg.py:3"),
    errors.InputError("there is no input", "give one", ("1,3: too small",)),
    errors.ForwardError("Net", "RuntimeError: no", "fc (Linear)", "1×3", "pkg.py:3"),
    errors.TorchMissing("pkg.Net", "python"),
    errors.WorkerTimeout("pkg.Net", 5.0, "printed"),
    errors.WorkerCrashed("pkg.Net", "signal SIGSEGV"),
    errors.EngineError("dot", "it stopped"),
    errors.EngineNotFound("auto", "none is installed"),
    errors.FormatError("a Graph", "it is empty"),
    errors.NotRecordable("3"),
    errors.NotRecorded("Linear"),
    errors.NothingToConnect("Tensor", "NoneType"),
    errors.BadInputs("'abc' is no shape and no list of shapes", "give one"),
    errors.OutOfDate("pkg.Net", ("pkg/net.py: Net.forward changed", "$WIDTH appeared"), is_fatal=True),
    errors.CollectFailed("docs", "there is none of conf.py, mkdocs.yml"),
    errors.ClusterFailed("tcp://host:8786", "no answer", "is its scheduler running there?"),
    errors.NotDrawn(),
    errors.StylerError("pkg.Mine", ("style_node for 'fc' raised ValueError: no",), "Traceback …"),
    errors.TorchBroken("pkg.Net", "python", "OSError: no such file"),
    errors.TorchTooOld("pkg.Net", "python", version="1.13.1", oldest="2.8"),
    errors.WorkerNotStarted("pkg.Net", "python", "exit status 1"),
    errors.FailedInside("pkg.Net", "AttributeError: no", "torchrecorder/recording/ops.py:1", "2.15.0"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_travels_by_pickle_and_by_json(error: errors.TorchRecorderError) -> None:
    for copy in (
        pickle.loads(pickle.dumps(error)),
        errors.TorchRecorderError.from_json(json.loads(json.dumps(error.to_json()))),
    ):
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert copy.to_json() == error.to_json()


def test_every_error_is_tried_here() -> None:
    families = {errors.TorchRecorderError, errors.TargetError, errors.WorkerError, errors.RecorderError}
    classes = {
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.TorchRecorderError) and cls not in families
    }
    assert classes == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (EXAMPLES[0], ValueError),
        (EXAMPLES[1], ImportError),
        (EXAMPLES[5], RuntimeError),
        (EXAMPLES[11], ValueError),
        (EXAMPLES[12], RuntimeError),
        (EXAMPLES[13], KeyError),
        (EXAMPLES[14], AssertionError),
        (EXAMPLES[15], TypeError),
    ],
)
def test_is_caught_as_the_builtin_a_caller_expects(error: errors.TorchRecorderError, builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise error


def test_says_what_happened_and_what_to_do_next() -> None:
    assert str(EXAMPLES[1]) == "cannot find pkg.Nett: pkg has no 'Nett'\ndid you mean pkg.Net?"
    assert str(EXAMPLES[5]) == (
        "the forward of Net failed in layer fc (Linear) called with 1×3: RuntimeError: no (pkg.py:3)"
    )


def test_unreadable_messages_are_told_apart() -> None:
    for data in ({"type": "Nothing"}, {"type": "EngineError"}, {}, {"type": "OptionError", "wrong": 1}):
        with pytest.raises(errors.FormatError, match="cannot read an error message"):
            errors.TorchRecorderError.from_json(data)
