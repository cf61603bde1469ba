"""The examples in the docstrings of public names run, and every class and function of the reference has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

from tests.test_public import PUBLIC, public_names

IN_GUIDES = {
    "torchrecorder",
    "torchrecorder.drawing",
    "torchrecorder.errors",
    "torchrecorder.errors.base",
    "torchrecorder.graph",
}
"""Modules whose names are described in guides; every other public module has its place in `docs/reference`."""

DOORS = [name for name in PUBLIC if name not in IN_GUIDES]


def public(modules: list[str]) -> dict[str, object]:
    """What users can import from modules, by where they do."""
    found = [importlib.import_module(name) for name in modules]
    return {f"{module.__name__}.{name}": getattr(module, name) for module in found for name in public_names(module)}


def members(cls: type) -> dict[str, object]:
    """The public methods and properties of a class, inherited ones too if they are ours.

    One without a docstring does what the inherited one says, and that one stands for it.
    """
    ours = [base for base in reversed(cls.__mro__) if base.__module__.startswith("torchrecorder")]
    every = [(name, value) for base in ours for name, value in vars(base).items() if not name.startswith("_")]
    return dict(every) | {name: value for name, value in every if value.__doc__}


def examples(path: str, value: object) -> list[doctest.DocTest]:
    """The examples in the docstrings of a name and of what is in it; each begins without any name."""
    parser, inside = doctest.DocTestParser(), members(value) if inspect.isclass(value) else {}
    documented = [(path, value), *((f"{path}.{name}", member) for name, member in inside.items())]
    texts = [(name, inspect.cleandoc(str(one.__doc__ or ""))) for name, one in documented]
    found = [parser.get_doctest(text, {}, name, None, None) for name, text in texts]
    return [test for test in found if test.examples]


def failures(tests: list[doctest.DocTest]) -> str:
    """What doctest says of examples that do not give what they show."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test, out=said.append)
    return "".join(said)


EVERYWHERE = {**{name: importlib.import_module(name) for name in PUBLIC}, **public(PUBLIC)}
NEED_ONE = {path: one for path, one in public(DOORS).items() if inspect.isclass(one) or inspect.isfunction(one)}


@pytest.mark.parametrize("path", [path for path, one in EVERYWHERE.items() if examples(path, one)])
def test_examples_run(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert failures(examples(path, EVERYWHERE[path])) == ""


def test_every_class_and_function_of_the_reference_has_an_example() -> None:
    assert [path for path, one in NEED_ONE.items() if not examples(path, one)] == []


def test_a_wrong_example_is_found() -> None:
    def double(number: int) -> int:
        """Twice the number.

        >>> 2 * 2
        5
        """
        return 2 * number

    assert "Expected:\n    5\nGot:\n    4\n" in failures(examples("double", double))
