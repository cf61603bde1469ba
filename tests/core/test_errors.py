"""Errors keep their facts on every way they travel, and say in one plain sentence what happened."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

from tests.words import ODD_WORDS
from torchrecorder import errors

SENTENCES: list[tuple[errors.TorchRecorderError, str]] = [
    (
        errors.OptionError(("shape: 'a' is not a valid size", "unknown option 'dept', did you mean depth?")),
        "shape: 'a' is not a valid size\nunknown option 'dept', did you mean depth?",
    ),
    (
        errors.TargetNotFound("pkg.Nett", "pkg", "Nett", ("pkg.Net",)),
        "cannot find pkg.Nett: pkg has no 'Nett'\ndid you mean pkg.Net?",
    ),
    (
        errors.TargetImportFailed("pkg.Net", "pkg", "RuntimeError: no", "pkg/__init__.py:3", "install it", "Trace …"),
        "cannot import pkg: RuntimeError: no (pkg/__init__.py:3)\ninstall it",
    ),
    (
        errors.TargetBuildFailed("pkg.Net", "TypeError: no", "pkg.py:3"),
        "cannot build pkg.Net: TypeError: no (pkg.py:3)",
    ),
    (
        errors.NotAModule("pkg.Config"),
        "cannot build pkg.Config: it is a class, but not a subclass of torch.nn.Module",
    ),
    (
        errors.TargetRefused("os.system('ls')", "os.system"),
        "os.system('ls') is not called: a page may call classes of nn.Module, functions of the project, and known"
        " builders of models\nto allow it, add 'os.system' to the setting `allow`",
    ),
    (
        errors.HubFailed("hf:owner/net", "it is gated", "set HF_TOKEN"),
        "cannot draw hf:owner/net: it is gated\nset HF_TOKEN",
    ),
    (
        errors.InputError("the inputs were not found", "give one", ("1,3: too small",)),
        "the inputs were not found\ngive one\ntried 1,3: too small",
    ),
    (
        errors.ForwardError("Net", "RuntimeError: no", "fc (Linear)", "1×3", "pkg.py:3"),
        "the forward of Net failed in layer fc (Linear), called with 1×3: RuntimeError: no (pkg.py:3)",
    ),
    (
        errors.TorchMissing("pkg.Net", "python"),
        "cannot record pkg.Net: python cannot import torch\n"
        "install torch there, python -m pip install torch (a CPU build is enough), name another Python with"
        " the setting `python`, or build with a cache made on a machine that has it",
    ),
    (
        errors.TorchBroken("pkg.Net", "python", "OSError: no such file"),
        "cannot record pkg.Net: python cannot import torch (OSError: no such file)\n"
        "python -m pip install --force-reinstall torch repairs it",
    ),
    (
        errors.TorchTooOld("pkg.Net", "python", version="1.13.1", oldest="2.8"),
        "cannot record pkg.Net: python has torch 1.13.1, older than 2.8\n"
        "python -m pip install 'torch>=2.8' installs one that is supported",
    ),
    (
        errors.WorkerNotStarted("pkg.Net", "python", "exit status 1"),
        "cannot record pkg.Net: python ended before it could record: exit status 1",
    ),
    (
        errors.FailedInside("pkg.Net", "AttributeError: no", "torchrecorder/recording/ops.py:1", "2.15.0"),
        "cannot record pkg.Net: torchrecorder failed inside, with torch 2.15.0: AttributeError: no"
        " (torchrecorder/recording/ops.py:1)\nplease report it",
    ),
    (
        errors.WorkerTimeout("pkg.Net", 5.0, "printed"),
        "recording pkg.Net took longer than 5 s and was stopped\n"
        "a larger `timeout` gives it more time, unless a loop in it never ends",
    ),
    (errors.WorkerCrashed("pkg.Net", "signal SIGSEGV"), "recording pkg.Net ended its process: signal SIGSEGV"),
    (errors.EngineError("dot", "it stopped"), "layout engine dot failed: it stopped"),
    (
        errors.EngineNotFound("auto", "none is installed"),
        "no layout engine: none is installed\npython -m pip install graphviz-pure installs one that needs nothing else;"
        " where that has none for the machine, the extra `wasm` of torchrecorder-docs does",
    ),
    (errors.FormatError("a Graph", "it is empty"), "cannot read a Graph: it is empty"),
    (
        errors.NotRecordable("3"),
        "Cannot create node for 3\na node is made for a module, a tensor, a parameter or the grad_fn of a tensor",
    ),
    (errors.NotRecorded("Linear"), "this Linear was not recorded, so nothing can point to it"),
    (errors.NothingToConnect("Tensor", "NoneType"), "Cannot draw edge involving(Tensor, NoneType)"),
    (
        errors.BadInputs("'abc' is neither a shape nor a list of shapes", "give one"),
        "'abc' is neither a shape nor a list of shapes\ngive one",
    ),
    (
        errors.OutOfDate("pkg.Net", ("net.py: Net.forward changed", "$A appeared", "$B changed", "$C changed"), True),
        "the diagram of pkg.Net is out of date: net.py: Net.forward changed; $A appeared; $B changed and 1 more\n"
        "record it on a machine that has torch and the model's packages: torchrecorder update docs",
    ),
    (
        errors.CollectFailed("docs", "it has neither conf.py nor mkdocs.yml"),
        "cannot find the diagrams of docs: it has neither conf.py nor mkdocs.yml",
    ),
    (
        errors.ClusterFailed("tcp://host:8786", "no answer", "is its scheduler running there?"),
        "cannot record on the dask cluster tcp://host:8786: no answer\nis its scheduler running there?",
    ),
    (
        errors.CannotCompare("git does not know the revision 'x'", "`git fetch origin x` may bring it here"),
        "git does not know the revision 'x'\n`git fetch origin x` may bring it here",
    ),
    (errors.NotDrawn(), "nothing is drawn while requests are collected"),
    (
        errors.LeftOut("pkg.Loss", "it is a loss"),
        'pkg.Loss gets no picture unasked: it is a loss\na pattern with its name asks for it: "pkg.Loss": True',
    ),
    (
        errors.StylerError("pkg.Mine", ("style_node for 'fc' raised ValueError: no",), "Trace …"),
        "styler pkg.Mine: style_node for 'fc' raised ValueError: no",
    ),
]
"""Every error, and what a user reads: read them all once more when one is added."""

EXAMPLES = [error for error, _ in SENTENCES]


@pytest.mark.parametrize(("error", "text"), SENTENCES, ids=lambda value: type(value).__name__)
def test_says_what_happened_and_what_to_do_next(error: errors.TorchRecorderError, text: str) -> None:
    assert str(error) == text
    assert not ODD_WORDS.search(text)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.TargetNotFound("pkg.Net", "", "pkg"), "cannot find pkg.Net: no module 'pkg'\nis it installed where"),
        (errors.ForwardError("Net", "E: no"), "the forward of Net failed: E: no"),
        (errors.ForwardError("Net", "E: [a] {b}", shapes="{'x': [1]}"), "called with {'x': [1]}: E: [a] {b}"),
        (errors.TorchMissing("pkg.Net", "python", "no such program"), "cannot import torch (no such program)\n"),
    ],
)
def test_empty_facts_are_left_out_and_brackets_of_facts_stay(error: errors.TorchRecorderError, text: str) -> None:
    assert text in str(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_travels_by_pickle_and_by_json(error: errors.TorchRecorderError) -> None:
    for copy in (
        pickle.loads(pickle.dumps(error)),
        errors.TorchRecorderError.from_json(json.loads(json.dumps(error.to_json()))),
    ):
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert copy.to_json() == error.to_json()


def test_of_a_target_with_a_table_the_beginning_is_shown() -> None:
    error = errors.TargetBuildFailed(f"pkg.Net(table={list(range(999))})", "no")
    assert str(error).startswith("cannot build pkg.Net(table=[0, 1, ")
    assert len(str(error)) < 200


def test_every_error_is_tried_here() -> None:
    families = {errors.TorchRecorderError, errors.TargetError, errors.WorkerError, errors.RecorderError}
    classes = {
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.TorchRecorderError) and cls not in families
    }
    assert classes == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.OptionError, ValueError),
        (errors.TargetNotFound, ImportError),
        (errors.ForwardError, RuntimeError),
        (errors.FormatError, ValueError),
        (errors.NotRecordable, RuntimeError),
        (errors.NotRecorded, KeyError),
        (errors.NothingToConnect, AssertionError),
        (errors.BadInputs, TypeError),
    ],
)
def test_is_caught_as_the_builtin_a_caller_expects(
    kind: type[errors.TorchRecorderError], builtin: type[Exception]
) -> None:
    (error,) = (example for example in EXAMPLES if type(example) is kind)
    with pytest.raises(builtin):
        raise error


def test_the_guide_explains_every_kind_of_warning() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "errors.md").read_text(encoding="utf-8")
    kinds = {error.kind for error in EXAMPLES} - {
        "error",
        "collect",
        "cluster",
        "recorder",
    }  # builds never warn of these
    assert {f"| `torchrecorder.{kind}` |" for kind in kinds} == set(
        re.findall(r"\| `torchrecorder\.\w+` \|", guide)
    ) - {"| `torchrecorder.install` |"}


def test_unreadable_messages_are_format_errors() -> None:
    for data in ({"type": "Nothing"}, {"type": "EngineError"}, {}, {"type": "OptionError", "wrong": 1}):
        with pytest.raises(errors.FormatError, match="cannot read an error message"):
            errors.TorchRecorderError.from_json(data)
